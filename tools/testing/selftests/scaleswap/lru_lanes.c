// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes: where in an area pages go, by the shard that they are in.
 */
#include "lru_harness.h"

SSW_FIXTURE(lru_lanes, 0)

/* SSW_CLUSTER_SLOTS and SSW_NR_LANES of mm/scaleswap/slot_types.h */
#define CLUSTER	512
#define LANES	4
/* Pages of each process: more than a cluster, and the clusters of all are in a mask. */
#define LANE_PAGES	800
#define LANE_PIECE	40

/* The clusters of area @type that a process' pages are in; 0 if one is elsewhere. */
static uint64_t clusters_of(const struct mate *m, int type)
{
	uint64_t mask = 0, e;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", m->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	for (size_t i = 0; i < m->pages; i++) {
		if (pread(fd, &e, 8, ((uintptr_t)m->p / SSW_PAGE + i) * 8) != 8 ||
		    !(e & SSW_PM_SWAP) || ssw_pm_type(e) != type ||
		    ssw_pm_offset(e) / CLUSTER >= 64) {
			printf("# process %d, page %zu: pagemap says %#llx\n", m->pid, i,
			       (unsigned long long)e);
			mask = 0;
			break;
		}
		mask |= 1ULL << ssw_pm_offset(e) / CLUSTER;
	}
	close(fd);
	return mask;
}

/* Round-robin, a few pages each, so that with one lane for all they are mixed. */
static void out_in_turns(struct __test_metadata *_metadata, struct mate *m, int n)
{
	for (size_t from = 0; from < LANE_PAGES; from += LANE_PIECE)
		for (int i = 0; i < n; i++)
			EXPECT_EQ(LANE_PIECE, tell(&m[i], OUT, from, LANE_PIECE, 0));
}

/*
 * One CPU swaps out pages of all shards. The pages of each shard go to clusters of their
 * own in that CPU's area, whichever pages are already in swap.
 */
SSW_BODY(lru_lanes, foreign_pages_apart)
{
	uint64_t in[LANES];
	struct ssw_areas areas;
	struct mate m[LANES];
	int cpu[LANES];
	cpu_set_t set;
	int n = 0;

	NEED_SHARDS();
	NEED_AREAS(&areas);
	ASSERT_EQ(0, ssw_online(&set));
	/* Each with another lane than the others. */
	for (int c = 0; c < CPU_SETSIZE && n < LANES; c++) {
		bool other = CPU_ISSET(c, &set);

		for (int i = 0; i < n; i++)
			other = other && shard_of(c) % LANES != shard_of(cpu[i]) % LANES;
		if (other)
			cpu[n++] = c;
	}
	if (n < 2)
		SKIP(return, "all CPUs share one lane");
	/* The first one swaps out, then the last one. */
	for (int round = 0; round < 2; round++) {
		int own = round ? n - 1 : 0, type = -1;

		for (int i = 0; i < areas.n; i++)
			if (areas.cpu[i] == cpu[own])
				type = areas.type[i];
		ASSERT_LE(0, type);
		ASSERT_EQ(0, cg_fresh());
		for (int i = 0; i < n; i++) {
			ASSERT_TRUE(mate_start(&m[i], cpu[i], LANE_PAGES, false));
			ASSERT_EQ(0, tell_all(&m[i], STAMP, i + 1));
		}
		drain();
		for (int i = 0; i < n; i++)
			ASSERT_EQ(0, tell_all(&m[i], PIN, cpu[own]));
		out_in_turns(_metadata, m, n);
		for (int i = 0; i < n; i++) {
			in[i] = clusters_of(&m[i], type);
			TH_LOG("shard %d, by CPU %d: clusters %#llx", shard_of(cpu[i]), cpu[own],
			       (unsigned long long)in[i]);
			EXPECT_NE(0, in[i]);
			for (int j = 0; j < i; j++) {
				EXPECT_EQ(0, in[i] & in[j])
					TH_LOG("pages of shards %d and %d share a cluster",
					       shard_of(cpu[j]), shard_of(cpu[i]));
			}
		}
		for (int i = 0; i < n; i++) {
			EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
			EXPECT_EQ(0, mate_end(&m[i]));
		}
		group_ends(_metadata);
	}
}

/* CPUs that have no area swap out to another's: its own pages are in other clusters. */
SSW_BODY(lru_lanes, askers_apart)
{
	struct ssw_areas areas;
	struct mate m[2];
	uint64_t in[2];
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ASSERT_EQ(0, ssw_areas_on(&areas, 30000, 1));
	ASSERT_EQ(areas.cpu[0], a);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], i ? b : a, LANE_PAGES, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i + 1));
	}
	drain();
	out_in_turns(_metadata, m, 2);
	for (int i = 0; i < 2; i++) {
		in[i] = clusters_of(&m[i], areas.type[0]);
		TH_LOG("by CPU %d: clusters %#llx", i ? b : a, (unsigned long long)in[i]);
		EXPECT_NE(0, in[i]);
	}
	EXPECT_EQ(0, in[0] & in[1]) TH_LOG("pages of CPUs %d and %d share a cluster", a, b);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

TEST_HARNESS_MAIN
