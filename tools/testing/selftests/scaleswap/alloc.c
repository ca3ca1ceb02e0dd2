// SPDX-License-Identifier: GPL-2.0
/*
 * Where a page goes: to an area of the CPU that swaps it out, and when that
 * is full to the next one in its node, to another node, to a plain area, and
 * then nowhere. Every step has its counter.
 */
#include <sys/stat.h>

#include "harness.h"

SSW_FIXTURE(alloc, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

static const char * const counters[] = {
	"alloc_own", "alloc_node", "alloc_remote", "alloc_plain", "alloc_fail",
	"fallback/own_full", "fallback/no_area", "fallback/no_block", "fallback/all_full",
};

enum { OWN, NODE, REMOTE, PLAIN, FAIL, OWN_FULL, NO_AREA, NO_BLOCK, ALL_FULL, NCOUNTERS };

struct counts { long long v[NCOUNTERS]; };

static struct counts count_all(void)
{
	struct counts c;

	for (int i = 0; i < NCOUNTERS; i++)
		c.v[i] = ssw_stat(counters[i]);
	return c;
}

static struct counts since(struct counts before)
{
	struct counts now = count_all();

	for (int i = 0; i < NCOUNTERS; i++)
		now.v[i] -= before.v[i];
	return now;
}

/* The counters of @mask have moved, those of @may might have, and no others. */
static void expect_only(struct __test_metadata *_metadata, struct counts d, unsigned int mask,
			unsigned int may)
{
	for (int i = 0; i < NCOUNTERS; i++) {
		if (may & 1u << i)
			continue;
		if (mask & 1u << i) {
			EXPECT_LT(0, d.v[i]) TH_LOG("%s did not count", counters[i]);
		} else {
			EXPECT_EQ(0, d.v[i]) TH_LOG("%s counted", counters[i]);
		}
	}
}

SSW_TEST_F(alloc, counters_are_there)
{
	struct stat st;
	char path[256];

	for (int i = 0; i < NCOUNTERS; i++) {
		snprintf(path, sizeof(path), SSW_SYS "/stats/%s", counters[i]);
		EXPECT_LE(0, ssw_num(path)) TH_LOG("%s", path);
		ASSERT_EQ(0, stat(path, &st)) TH_LOG("%s", path);
		EXPECT_EQ(0444, st.st_mode & 07777) TH_LOG("%s", path);
	}
}

/* Each CPU in turn swaps some pages: all of them land in its own area. */
SSW_TEST_F(alloc, own_area)
{
	int cpus = ssw_nr_possible(), types[16];
	const size_t n = 300;

	if (cpus > 16)
		cpus = 16;
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(c), 2048));
		/* Last CPU first: type and CPU number differ. */
		types[cpus - 1 - c] = ssw_on_cpu(ssw_file(c), cpus - 1 - c);
		ASSERT_LE(0, types[cpus - 1 - c]);
	}
	for (int c = 0; c < cpus; c++) {
		long long home[16], foreign[16];
		char *p = ssw_map(n, false);
		struct counts before;
		long per[258];

		ASSERT_EQ(0, ssw_pin(c));
		ssw_stamp(p, n, c + 1);
		for (int i = 0; i < cpus; i++) {
			home[i] = ssw_area(types[i], "allocs_home");
			foreign[i] = ssw_area(types[i], "allocs_foreign");
		}
		before = count_all();
		ASSERT_EQ(n, ssw_pageout(p, n));
		expect_only(_metadata, since(before), 1 << OWN, 0);
		EXPECT_LE(n, since(before).v[OWN]);
		ASSERT_EQ(0, ssw_where(p, n, per));
		EXPECT_EQ(n, per[types[c]]) TH_LOG("CPU %d", c);
		for (int i = 0; i < cpus; i++) {
			long long dh = ssw_area(types[i], "allocs_home") - home[i];

			if (i == c) {
				EXPECT_LE(n, dh) TH_LOG("CPU %d", c);
			} else {
				EXPECT_EQ(0, dh) TH_LOG("CPU %d used the area of CPU %d", c, i);
			}
			EXPECT_EQ(foreign[i], ssw_area(types[i], "allocs_foreign"))
				TH_LOG("CPU %d, area of CPU %d", c, i);
		}
		EXPECT_EQ(0, ssw_wrong(p, n, c + 1));
		munmap(p, n * SSW_PAGE);
	}
}

/* With two own areas the one of higher priority fills first, then the other. */
SSW_TEST_F(alloc, own_areas_by_priority)
{
	char *p = ssw_map(700, false);
	struct counts before;
	int low, high;
	long per[258];

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 500));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 500));
	ASSERT_EQ(0, ssw_bind("0"));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(0), 5));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(1), 9));
	ASSERT_EQ(0, ssw_bind("off"));
	low = ssw_type_of(ssw_file(0));
	high = ssw_type_of(ssw_file(1));
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 700, 1);
	ASSERT_EQ(300, ssw_pageout(p, 300));
	ASSERT_EQ(0, ssw_where(p, 300, per));
	EXPECT_EQ(300, per[high]);
	before = count_all();
	ASSERT_EQ(400, ssw_pageout(p + 300 * SSW_PAGE, 400));
	ASSERT_EQ(0, ssw_where(p, 700, per));
	EXPECT_LE(500 - SSW_SLACK, per[high]);
	EXPECT_EQ(700, per[high] + per[low]);
	EXPECT_LE(400, since(before).v[OWN]);
	EXPECT_EQ(0, since(before).v[FAIL]);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 700, 1));
}

/* A CPU without an area uses the others', and says so. */
SSW_TEST_F(alloc, no_own_area)
{
	char *p = ssw_map(200, false);
	struct counts before;
	long per[258];
	int t;

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 1000));
	t = ssw_on_cpu(ssw_file(0), 1);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 200, 1);
	before = count_all();
	ASSERT_EQ(200, ssw_pageout(p, 200));
	expect_only(_metadata, since(before),
		    1 << NO_AREA | 1 << (ssw_node_of(0) == ssw_node_of(1) ? NODE : REMOTE), 0);
	EXPECT_LE(200, since(before).v[NO_AREA]);
	ASSERT_EQ(0, ssw_where(p, 200, per));
	EXPECT_EQ(200, per[t]);
	EXPECT_LE(200, ssw_area(t, "allocs_foreign"));
	EXPECT_EQ(0, ssw_area(t, "allocs_home"));
	EXPECT_EQ(0, ssw_wrong(p, 200, 1));
}

/*
 * Full areas, one after the other: own, the node's starting after the own CPU,
 * other nodes, plain, nothing. One small area a CPU, a process on the second
 * CPU that swaps ever more.
 */
SSW_TEST_F(alloc, spill_order)
{
	const int room = 256, me = 1;
	int cpus = ssw_nr_possible(), order[17], norder = 0, types[17], filled = 0;
	struct counts before, d;
	size_t total, at = 0;
	long per[258];
	char *p;

	if (cpus < 2)
		SKIP(return, "needs two CPUs");
	if (cpus > 16)
		SKIP(return, "needs 16 CPUs at most");
	/* The order to expect: own, own node cyclic, the other nodes in any order. */
	for (int local = 1; local >= 0; local--)
		for (int i = 0; i < cpus; i++) {
			int c = (me + i) % cpus;

			if ((ssw_node_of(c) == ssw_node_of(me)) == local)
				order[norder++] = c;
		}
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(c), room));
		types[c] = ssw_on_cpu(ssw_file(c), c);
		ASSERT_LE(0, types[c]);
	}
	ASSERT_EQ(0, ssw_mkfile(ssw_file(cpus), room));
	types[cpus] = ssw_on(ssw_file(cpus), "off");
	ASSERT_LE(0, types[cpus]);
	order[cpus] = cpus;

	total = (cpus + 2) * room;
	p = ssw_map(total, false);
	ASSERT_EQ(0, ssw_pin(me));
	ssw_stamp(p, total, 1);

	/* In steps that end within an area, so that each step has a clear order. */
	while (at + 64 <= total) {
		ssw_pageout(p + at * SSW_PAGE, 64);
		at += 64;
		ASSERT_EQ(0, ssw_where(p, total, per));
		filled = 0;
		for (int i = 0; i < cpus + 1; i++) {
			if (!per[types[order[i]]])
				continue;
			filled++;
			/* Those before it are full; but on other nodes any may come first. */
			for (int j = 0; j < i; j++) {
				if (i < cpus && ssw_node_of(order[i]) != ssw_node_of(me) &&
				    ssw_node_of(order[j]) != ssw_node_of(me))
					continue;
				EXPECT_LE(room - SSW_SLACK, per[types[order[j]]])
					TH_LOG("area %d of the order used before area %d was full",
					       i, j);
			}
		}
		if (!__test_passed(_metadata))
			break;
	}
	EXPECT_EQ(cpus + 1, filled) TH_LOG("%d of %d areas got pages", filled, cpus + 1);
	for (int i = 0; i < cpus + 1; i++) {
		EXPECT_LE(room - SSW_SLACK, ssw_area(types[order[i]], "used"))
			TH_LOG("area of CPU %d is not full at the end", order[i]);
	}

	/* All full: the page stays, and that counts too. */
	before = count_all();
	ssw_pageout(p, total);
	d = since(before);
	EXPECT_LT(0, d.v[FAIL]) TH_LOG("alloc_fail did not count");

	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, total, 1));

	/* Room again: own area again. */
	munmap(p, total * SSW_PAGE);
	p = ssw_map(64, false);
	ssw_stamp(p, 64, 2);
	before = count_all();
	ASSERT_EQ(64, ssw_pageout(p, 64));
	ASSERT_EQ(0, ssw_where(p, 64, per));
	EXPECT_LE(64 - SSW_SLACK, per[types[me]]);
	EXPECT_LT(0, per[types[me]]) TH_LOG("freed room in the own area is not used again");
	EXPECT_EQ(0, ssw_wrong(p, 64, 2));
}

/* The counters of each step, with just the areas it takes. */
static void spill(struct __test_metadata *_metadata, int second_cpu, unsigned int mask)
{
	char *p = ssw_map(500, false);
	struct counts before;
	int own, next;
	long per[258];

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 200));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 1000));
	own = ssw_on_cpu(ssw_file(0), 0);
	next = second_cpu < 0 ? ssw_on(ssw_file(1), "off") : ssw_on_cpu(ssw_file(1), second_cpu);
	ASSERT_LE(0, own);
	ASSERT_LE(0, next);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 500, 1);
	before = count_all();
	ASSERT_EQ(500, ssw_pageout(p, 500));
	/* A page that ends in a plain area is all_full's; own_full may have it too. */
	expect_only(_metadata, since(before), mask, second_cpu < 0 ? 1 << OWN_FULL : 0);
	ASSERT_EQ(0, ssw_where(p, 500, per));
	EXPECT_LE(200 - SSW_SLACK, per[own]);
	EXPECT_EQ(500, per[own] + per[next]);
	/* The pages that did not fit are those that fell back. */
	EXPECT_LE(per[next], since(before).v[mask & 1 << ALL_FULL ? ALL_FULL : OWN_FULL]);
	EXPECT_LE(per[own], ssw_area(own, "allocs_home"));
	if (second_cpu < 0) {
		EXPECT_LE(per[next], ssw_area(next, "allocs_home"));
		EXPECT_EQ(0, ssw_area(next, "allocs_foreign"));
	} else {
		EXPECT_LE(per[next], ssw_area(next, "allocs_foreign"));
		EXPECT_EQ(0, ssw_area(next, "allocs_home"));
	}
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 500, 1));
}

static int cpu_on_node(bool same)
{
	for (int c = 1; c < ssw_nr_possible(); c++)
		if ((ssw_node_of(c) == ssw_node_of(0)) == same)
			return c;
	return -1;
}

SSW_TEST_F(alloc, full_goes_to_node)
{
	if (cpu_on_node(true) < 0)
		SKIP(return, "needs two CPUs on one node");
	spill(_metadata, cpu_on_node(true), 1 << OWN | 1 << NODE | 1 << OWN_FULL);
}

SSW_TEST_F(alloc, full_goes_to_other_node)
{
	if (cpu_on_node(false) < 0)
		SKIP(return, "needs two nodes");
	spill(_metadata, cpu_on_node(false), 1 << OWN | 1 << REMOTE | 1 << OWN_FULL);
}

SSW_TEST_F(alloc, full_goes_to_plain)
{
	spill(_metadata, -1, 1 << OWN | 1 << PLAIN | 1 << ALL_FULL);
}

/* The near node before the far one, whatever the order of swapon. */
SSW_TEST_F(alloc, node_before_distance)
{
	int near = 0, me = 0, far = cpu_on_node(false), tn, tf;
	char *p = ssw_map(600, false);
	long per[258];

	/* By number the far one is next to the last CPU of the first node. */
	for (int c = 1; c < ssw_nr_possible(); c++)
		if (ssw_node_of(c) == ssw_node_of(0))
			me = c;
	if (!me || far < 0)
		SKIP(return, "needs two nodes with two CPUs");
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 200));
	}
	tf = ssw_on_cpu(ssw_file(0), far);
	tn = ssw_on_cpu(ssw_file(1), near);
	ASSERT_LE(0, ssw_on_cpu(ssw_file(2), me));
	ASSERT_EQ(0, ssw_pin(me));
	ssw_stamp(p, 600, 1);
	ASSERT_EQ(300, ssw_pageout(p, 300));
	ASSERT_EQ(0, ssw_where(p, 300, per));
	EXPECT_LT(0, per[tn]);
	EXPECT_EQ(0, per[tf]) TH_LOG("the far node was used while the near one had room");
	ssw_pageout(p, 600);
	ASSERT_EQ(0, ssw_where(p, 600, per));
	EXPECT_LT(0, per[tf]);
	EXPECT_EQ(0, ssw_wrong(p, 600, 1));
}

/* Only plain areas: allocation as in the base kernel, so no fallback is counted. */
SSW_TEST_F(alloc, plain_only)
{
	char *p = ssw_map(200, false);
	struct counts before;
	int t;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 1000));
	t = ssw_on(ssw_file(0), "off");
	ASSERT_LE(0, t);
	ssw_stamp(p, 200, 1);
	before = count_all();
	ASSERT_EQ(200, ssw_pageout(p, 200));
	/* alloc_plain may count only what falls back from per-core areas. */
	expect_only(_metadata, since(before), 0, 1 << PLAIN);
	EXPECT_LE(200, ssw_area(t, "used"));
	EXPECT_EQ(0, ssw_area(t, "allocs_foreign"));
	EXPECT_EQ(0, ssw_wrong(p, 200, 1));
}

/* A freed slot is free at once: no per-CPU cache of another CPU holds it back. */
SSW_TEST_F(alloc, freed_at_once)
{
	char *p = ssw_map(40, false), *q = ssw_map(100, false);
	long long used;
	int t;

	/* The base's cache of slots wakes up when a large plain area is used. */
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 16000));
	ASSERT_LE(0, ssw_on(ssw_file(1), "off"));
	ssw_stamp(q, 100, 1);
	ASSERT_EQ(100, ssw_pageout(q, 100));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 500));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 40, 1);
	ASSERT_EQ(40, ssw_pageout(p, 40));
	ssw_evict("ssw");
	/* Other pages of this process may have gone out, too. */
	used = ssw_area(t, "used");
	ASSERT_LE(40, used);
	/* One at a time: many in a row are never cached. */
	for (int i = 0; i < 40; i++)
		madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	/* Pages that are just being written keep their slot until that is done. */
	ssw_for_looks(i) {
		if (ssw_area(t, "used") <= used - 30)
			break;
		usleep(20000);
	}
	EXPECT_GE(used - 30, ssw_area(t, "used"));
}

/*
 * A group's limit of swap: the slot is taken, then the charge fails, and the
 * slot has to go back where it came from.
 */
SSW_TEST_F(alloc, limit_of_a_group)
{
	const long limit = 300;
	char *p = ssw_map(1000, false);
	long per[258], out;
	int t, round;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2000));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.swap.max", limit * SSW_PAGE));
	for (round = 1; round <= 4; round++) {
		ssw_stamp(p, 1000, round);
		out = ssw_pageout(p, 1000);
		EXPECT_GE(limit, out) TH_LOG("round %d", round);
		/* Slots of pages still being written are uncharged a little later. */
		EXPECT_LE(limit - SSW_SLACK, out) TH_LOG("round %d", round);
		ASSERT_EQ(0, ssw_where(p, 1000, per));
		EXPECT_EQ(out, per[t]);
		EXPECT_GE(limit + SSW_SLACK, ssw_area(t, "used"))
			TH_LOG("slots leak when the group is at its limit");
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, 1000, round));
		/* And what is given back is uncharged. */
		munmap(p, 1000 * SSW_PAGE);
		ssw_evict("ssw");
		p = ssw_map(1000, false);
	}
	EXPECT_EQ(0, ssw_cgroup_set("ssw", "memory.swap.max", -1));
	ssw_stamp(p, 1000, 9);
	EXPECT_EQ(1000, ssw_pageout(p, 1000));
	EXPECT_EQ(0, ssw_wrong(p, 1000, 9));
}

/* No area at all: swap-out fails cleanly. */
SSW_TEST_F(alloc, no_area_at_all)
{
	char *p = ssw_map(50, false);

	ssw_stamp(p, 50, 1);
	EXPECT_EQ(0, ssw_pageout(p, 50));
	EXPECT_EQ(0, ssw_wrong(p, 50, 1));
}

TEST_HARNESS_MAIN
