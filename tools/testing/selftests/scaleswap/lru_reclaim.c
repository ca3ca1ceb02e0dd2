// SPDX-License-Identifier: GPL-2.0
/*
 * LRU shards: which pages reclaim takes, and from which shard. Page cache and anonymous
 * memory in proportion, ageing as with one list, costs, kswapd. That reclaim visits all
 * shards, and shards that come and go, are in lru_pressure.c.
 */
#include <sys/stat.h>

#include "lru_harness.h"

/* The number of a group's directory, and how many pages to evict from it */
#define EVICT	"/sys/kernel/debug/scaleswap/evict"

SSW_FIXTURE(lru_reclaim, 0)

static int trace_start(void)
{
	static const char *const events[] = {
		"vmscan/mm_vmscan_memcg_reclaim_begin",
		"vmscan/mm_vmscan_lru_shrink_active",
		"vmscan/mm_vmscan_lru_shrink_inactive",
		NULL,
	};

	return ssw_trace_start(events);
}

/* The pages that this process' reclaim scanned on a node, by the trace. */
struct reclaimed {
	long calls;
	/*
	 * Batches of active anonymous pages that were scanned. Only whole ones: a small
	 * goal makes a smaller one.
	 */
	long batches;		/* in all */
	long most;		/* in one call at one priority */
	long pages;		/* that were made inactive */
	/* Inactive pages scanned, anonymous ones and page cache */
	long scanned[2], reclaimed[2];
	/* At the last priority of the last call */
	long last[2];		/* scanned */
	long enough;		/* anonymous ones reclaimed, but for the last batch */
	/* Whole batches of inactive anonymous pages */
	long whole;		/* where active ones were scanned at the same priority */
	long row;		/* of these, one after the other with no active ones between */
	/* Inactive anonymous pages scanned at each priority, before it is raised for a new try */
	long first[13];
	/* Batches of them that did not end where a batch of 32 does that began in another shard */
	long crossed;
};

static int trace_read(struct reclaimed *r, int node)
{
	int priority, nid, last = -1;
	char line[512], *s, *v;
	FILE *f = fopen(SSW_TRACE "trace", "re");
	bool first = true;
	long batches = 0, taken = 0, sum = 0, n, whole = 0, row = 0, most = 0;

	memset(r, 0, sizeof(*r));
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		bool active = strstr(line, ": mm_vmscan_lru_shrink_active:");
		bool file = !strstr(line, "RECLAIM_WB_ANON");

		if (strstr(line, ": mm_vmscan_memcg_reclaim_begin:")) {
			r->calls++;
			last = -1;
		}
		s = strstr(line, "nid=");
		v = strstr(line, "priority=");
		if (!s || !v)
			continue;
		nid = atoi(s + 4);
		priority = atoi(v + 9);
		if (priority != last) {
			first = first && r->calls == 1 && (last < 0 || priority < last);
			last = priority;
			batches = 0;
			taken = 0;
			memset(r->last, 0, sizeof(r->last));
			sum = 0;
			whole = 0;
			row = 0;
			most = 0;
		}
		if (nid != node)
			continue;
		v = strstr(line, active ? "nr_deactivated=" : "nr_scanned=");
		if (!v) {
			fclose(f);
			return -EINVAL;
		}
		if (!active) {
			v += strlen("nr_scanned=");
			r->scanned[file] += atol(v);
			r->last[file] += atol(v);
			if (!file && (r->last[0] - atol(v)) % 32 + atol(v) > 32)
				r->crossed++;
			if (!file && first && priority < 13)
				r->first[priority] += atol(v);
			if (!file && atol(v) == 32) {
				whole++;
				row++;
				if (row > most)
					most = row;
			}
			v = strstr(v, "nr_reclaimed=");
			n = v ? atol(v + strlen("nr_reclaimed=")) : 0;
			r->reclaimed[file] += n;
			if (!file) {
				r->enough = sum;
				sum += n;
			}
		} else if (!file) {
			r->pages += atol(v + strlen("nr_deactivated="));
			r->whole += whole;
			whole = 0;
			row = 0;
			if (most > r->row)
				r->row = most;
			v = strstr(line, "nr_taken=");
			/* With the few pages here, goals are larger from this priority on. */
			if (!v || priority < 6)
				continue;
			/* Several shards may have a part of a batch. */
			taken += atol(v + strlen("nr_taken="));
			if (taken < 32)
				continue;
			taken -= 32;
			r->batches++;
			if (++batches > r->most)
				r->most = batches;
		}
	}
	fclose(f);
	return 0;
}

/* Processes 1 to 3 read files of @files pages, @piece by turns: pages of all are equally old. */
static void three_caches(struct __test_metadata *_metadata, struct mate m[4], const int cpu[4],
			 long files, long piece)
{
	int node = ssw_node_of(cpu[0]);

	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], 3000, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		if (i)
			unlink(ssw_file(910 + i));
	}
	for (long at = 0; at < files; at += piece)
		for (int i = 1; i < 4; i++)
			ASSERT_EQ(0, tell(&m[i], FILE_NEW, at, piece, 910 + i));
	for (int i = 1; i < 4; i++)
		EXPECT_EQ(files, file_cached(910 + i, files));
}

/* They lost at least @least pages, none much more than another. */
static void three_lost_alike(struct __test_metadata *_metadata, struct mate m[4], long files,
			     long least)
{
	long lost[4] = {}, sum = 0;

	show_group();
	for (int i = 1; i < 4; i++) {
		lost[i] = files - file_cached(910 + i, files);
		sum += lost[i];
	}
	TH_LOG("CPUs lost %ld, %ld and %ld of %ld pages of files each", lost[1], lost[2], lost[3],
	       files);
	EXPECT_LE(least, sum);
	for (int i = 1; i < 4; i++) {
		EXPECT_LE(sum / 6, lost[i]);
		EXPECT_GE(sum / 2, lost[i]);
		EXPECT_EQ(0, tell(&m[i], FILE_READ, 0, files, 910 + i));
		unlink(ssw_file(910 + i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
}

/*
 * A CPU that has only anonymous pages, and no swap, takes page cache: from all CPUs' shards
 * alike, not from the next one's alone.
 */
SSW_BODY(lru_reclaim, cache_of_all_gives_way)
{
	const long files = 900, taken = 900, piece = 30;
	struct mate m[4];
	int cpu[4];

	NEED_SHARDS();
	NEED_FOUR(cpu);
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.swap.max", 0));
	three_caches(_metadata, m, cpu, files, piece);
	/* Full from here on. */
	ASSERT_EQ(0, tell(&m[0], STAMP, 0, 500, 1));
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", cg(GROUP, "memory.current", NULL)));
	for (long at = 0; at < taken; at += piece)
		ASSERT_EQ(0, tell(&m[0], STAMP, 500 + at, piece, 1));
	EXPECT_EQ(0, kills());
	three_lost_alike(_metadata, m, files, taken - OWN);
	EXPECT_EQ(0, tell(&m[0], CHECK, 0, 500 + taken, 1));
	EXPECT_EQ(0, mate_end(&m[0]));
	group_ends(_metadata);
}

/*
 * So does a lower limit, of which a large part is reclaimed at once: it gets to another shard when
 * pages of the first one are newer than those of others.
 */
SSW_BODY(lru_reclaim, lower_limit_takes_from_all)
{
	const long files = 2100, taken = 2100, piece = 30;
	struct mate m[4];
	int cpu[4];

	NEED_SHARDS();
	NEED_FOUR(cpu);
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	ASSERT_EQ(0, cg_fresh());
	three_caches(_metadata, m, cpu, files, piece);
	/* This CPU has no pages of page cache. */
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max",
				    cg(GROUP, "memory.current", NULL) - taken * SSW_PAGE));
	EXPECT_EQ(0, kills());
	three_lost_alike(_metadata, m, files, taken - OWN);
	EXPECT_EQ(0, mate_end(&m[0]));
	group_ends(_metadata);
}

/* Page cache that its CPU goes on reading outlives that of CPUs that are idle. */
SSW_BODY(lru_reclaim, idle_cache_gives_way)
{
	const long files = 920, taken = 1200, piece = 40;
	long lost[4] = {}, again = 0;
	int cpu[4], node;
	struct mate m[4];

	NEED_SHARDS();
	NEED_FOUR(cpu);
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.swap.max", 0));
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], 3000, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		if (i)
			unlink(ssw_file(910 + i));
	}
	/* By turns: pages of all are equally old. */
	for (long at = 0; at < files; at += piece)
		for (int i = 1; i < 4; i++)
			ASSERT_EQ(0, tell(&m[i], FILE_NEW, at, piece, 910 + i));
	for (int i = 1; i < 4; i++)
		EXPECT_EQ(files, file_cached(910 + i, files));
	ASSERT_EQ(0, tell(&m[0], STAMP, 0, 500, 1));
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", cg(GROUP, "memory.current", NULL)));
	for (long at = 0; at < taken; at += piece) {
		ASSERT_EQ(0, tell(&m[0], STAMP, 500 + at, piece, 1));
		lost[1] = files - file_cached(911, files);
		again += lost[1];
		ASSERT_EQ(0, tell(&m[1], FILE_READ, 0, files, 911));
	}
	EXPECT_EQ(0, kills());
	show_group();
	for (int i = 2; i < 4; i++)
		lost[i] = files - file_cached(910 + i, files);
	TH_LOG("of %ld pages each, idle CPUs lost %ld and %ld; the next one lost %ld, %ld at last",
	       files, lost[2], lost[3], again, lost[1]);
	for (int i = 2; i < 4; i++) {
		EXPECT_LT(lost[1], lost[i]);
		EXPECT_LE(taken / 3, lost[i]);
	}
	for (int i = 0; i < 4; i++) {
		if (i) {
			EXPECT_EQ(0, tell(&m[i], FILE_READ, 0, files, 910 + i));
			unlink(ssw_file(910 + i));
		} else {
			EXPECT_EQ(0, tell(&m[0], CHECK, 0, 500 + taken, 1));
		}
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

/*
 * Anonymous memory is the own CPU's and the next one's, page cache that of another one, and
 * @thin pages the own CPU's. Something is reclaimed: @r.
 *
 * That one sort is behind when there is enough happens where much is scanned at once. Here
 * priority has to fall for that: nothing can be reclaimed of the page cache, and of the
 * first @held pages that are looked at.
 */
static void in_proportion(struct __test_metadata *_metadata, long held, long thin,
			  struct reclaimed *r)
{
	const long anon = 4000, next = 800, files = 6000;
	int cpu[4], node;
	struct mate m[3];

	ASSERT_TRUE(four_cpus(cpu));
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], anon, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	/* Cold, and in swap already: reclaim can free them at once. */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tell(&m[i], STAMP, 0, i ? next : anon, i + 1));
		EXPECT_EQ(i ? next : anon, tell(&m[i], OUT, 0, i ? next : anon, 0));
	}
	EXPECT_GE(OWN, evict(OWN / 2));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tell(&m[i], CHECK, 0, i ? next : anon, i + 1));
		ASSERT_EQ(0, tell(&m[i], COLD, 0, i ? next : anon, 0));
	}
	ASSERT_EQ(0, tell(&m[0], HOLD, 0, held, 0));
	drain();
	/* From here on none, which would drop the page cache. */
	for (int i = 0; i < 3; i += 2) {
		unlink(ssw_file(910 + i));
		if (!i && !thin)
			continue;
		ASSERT_EQ(0, tell(&m[i], FILE_NEW, 0, i ? files : thin, 910 + i));
		ASSERT_EQ(0, tell(&m[i], FILE_HOLD, 0, i ? files : thin, 910 + i));
	}
	ASSERT_EQ(0, dump());
	EXPECT_LE(files - OWN, in_dump(memcg, node, shard_of(cpu[2]), 1 << INACTIVE_FILE));
	EXPECT_LE(anon - OWN, in_dump(memcg, node, shard_of(cpu[0]), 1 << INACTIVE_ANON));
	if (!__test_passed(_metadata))
		show_group();
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, trace_start());
	cg_reclaim_as(GROUP, 32, 100);
	ssw_trace_stop();
	ASSERT_EQ(0, trace_read(r, node));
	TH_LOG("%ld pages held, %ld thin: scanned %ld anonymous ones and %ld of page cache, at last %ld and %ld, reclaimed %ld and %ld, %ld before the last batch",
	       held, thin, r->scanned[0], r->scanned[1], r->last[0], r->last[1],
	       r->reclaimed[0], r->reclaimed[1], r->enough);
	EXPECT_EQ(0, tell(&m[0], CHECK, 0, anon, 1));
	EXPECT_EQ(0, tell(&m[1], CHECK, 0, next, 2));
	EXPECT_EQ(0, tell(&m[2], FILE_READ, 0, files, 912));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, mate_end(&m[i]));
	unlink(ssw_file(910));
	unlink(ssw_file(912));
	group_ends(_metadata);
}

SSW_BODY(lru_reclaim, both_sorts_in_proportion)
{
	static const long held[] = { 110, 130, 270, 300 }, more[] = { 230, 260, 290, 320 };
	struct ssw_areas areas;
	long scanned[2] = {};
	struct reclaimed r;
	int cpu[4];

	NEED_LISTS();
	NEED_FOUR(cpu);
	if (access(SSW_TRACE "events/vmscan", R_OK))
		SKIP(return, "the kernel has no tracing");
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	NEED_AREAS(&areas);
	/*
	 * When enough was reclaimed of the own pages, page cache is scanned, too, and no more
	 * of them.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		in_proportion(_metadata, held[i], 0, &r);
		EXPECT_GT(32, r.enough);
		for (int sort = 0; sort < 2; sort++)
			scanned[sort] += r.last[sort];
	}
	TH_LOG("at the last priorities %ld anonymous pages and %ld of page cache", scanned[0],
	       scanned[1]);
	/*
	 * Their goals are 4800 to 6000. As in one list, page cache has no more to be scanned
	 * where it happens that the very last page of the others' goal was.
	 */
	EXPECT_LT(0, scanned[0]);
	EXPECT_LT(scanned[0], scanned[1]);
	/* Nor if it has a bit of page cache: the goals of both are not its own. */
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		in_proportion(_metadata, more[i], 100, &r);
		EXPECT_LE(32, r.reclaimed[0]);
		EXPECT_GT(32, r.enough);
	}
}

/*
 * That reclaim of page cache was in vain on CPUs which have been idle since counts less and
 * less, as it does in one list, while another CPU reclaims anonymous memory.
 */
static void forget_costs(struct __test_metadata *_metadata, const int *cpu)
{
	const long anon = 2000, files = 1000;
	long out = 0, cache = 0, asked = 0;
	int node = ssw_node_of(cpu[0]);
	struct mate m, idle[4];

	ASSERT_EQ(0, cg_fresh());
	drain();
	/* Nothing can be reclaimed of it, so all that is scanned is cost. */
	for (int i = 1; i < 4; i++) {
		unlink(ssw_file(910 + i));
		ASSERT_TRUE(mate_start(&idle[i], cpu[i], 10, false));
		ASSERT_EQ(0, tell(&idle[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell(&idle[i], FILE_NEW, 0, files, 910 + i));
		ASSERT_EQ(0, tell(&idle[i], FILE_HOLD, 0, files, 910 + i));
	}
	ssw_pin(cpu[0]);
	cg_reclaim_as(GROUP, 32, 0);
	for (int i = 1; i < 4; i++) {
		EXPECT_EQ(files, file_cached(910 + i, files));
		EXPECT_EQ(0, mate_end(&idle[i]));
	}
	drain();
	EXPECT_EQ(0, file_cached(911, files));
	/* Anonymous memory alone, on this CPU: written anew each time, so it costs I/O. */
	ASSERT_TRUE(mate_start(&m, cpu[0], anon, false));
	ASSERT_EQ(0, tell(&m, NODE, 0, 0, node));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, tell_all(&m, STAMP, i));
		ASSERT_EQ(0, tell_all(&m, COLD, 0));
		cg_reclaim_as(GROUP, anon - 2 * OWN, 200);
		EXPECT_EQ(0, tell_all(&m, CHECK, i));
	}
	/* The pages in memory are clean now, and cost nothing. */
	ASSERT_EQ(0, tell_all(&m, COLD, 0));
	for (int i = 1; i < 4; i++) {
		ASSERT_TRUE(mate_start(&idle[i], cpu[i], 10, false));
		ASSERT_EQ(0, tell(&idle[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell(&idle[i], FILE_NEW, 0, files, 910 + i));
	}
	show_group();
	for (out = 0, cache = 0; out + cache < 400 && asked < 2000; asked += 32) {
		cg_reclaim_as(GROUP, 32, 100);
		out = anon - tell_all(&m, RESIDENT, 0);
		cache = 3 * files;
		for (int i = 1; i < 4; i++)
			cache -= file_cached(910 + i, files);
	}
	show_group();
	TH_LOG("of %ld pages, %ld are page cache", out + cache, cache);
	EXPECT_LE(400, out + cache);
	/* Were neither dearer than the other, it would be 60 of 100. */
	EXPECT_LE((out + cache) * 7 / 10, cache);
	EXPECT_EQ(0, tell_all(&m, CHECK, 2));
	EXPECT_EQ(0, mate_end(&m));
	for (int i = 1; i < 4; i++) {
		EXPECT_EQ(0, mate_end(&idle[i]));
		unlink(ssw_file(910 + i));
	}
	group_ends(_metadata);
}

SSW_BODY(lru_reclaim, costs_are_forgotten)
{
	struct ssw_areas areas;
	int cpu[4];

	NEED_SHARDS();
	NEED_FOUR(cpu);
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	NEED_AREAS(&areas);
	/* Where reclaim sees much more page cache than it needs, it takes that alone. */
	for (int round = 0; round < 3; round++)
		forget_costs(_metadata, cpu);
}

/*
 * Active pages are deactivated as in one list: by a call of reclaim at a priority a batch, if
 * in all there are too many, and none else, whatever a shard has and however many are looked
 * into. @cold: have so many inactive ones.
 */
static void age(struct __test_metadata *_metadata, const int *cpu, long cold)
{
	const long busy = 500;
	int node = ssw_node_of(cpu[0]);
	long was[4], lost[4] = {};
	struct reclaimed r;
	struct mate m[4];

	ASSERT_EQ(0, cg_fresh());
	for (int i = 1; i < 4; i++) {
		long n = i == 3 && cold ? cold : busy;

		ASSERT_TRUE(mate_start(&m[i], cpu[i], n, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		drain();
		ASSERT_EQ(0, n == busy ? tell(&m[i], USE, 20, n - 20, 0) :
					 tell_all(&m[i], COLD, 0));
	}
	drain();
	EXPECT_TRUE(stats_caught_up());
	for (int i = 1; i < 4; i++)
		was[i] = in_dump(memcg, node, shard_of(cpu[i]), 1 << ACTIVE_ANON);
	EXPECT_LE(busy - 20 - OWN, was[1]);
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, trace_start());
	cg_reclaim(GROUP, cold ? 400 : 32);
	ssw_trace_stop();
	ASSERT_EQ(0, trace_read(&r, node));
	ASSERT_EQ(0, dump());
	for (int i = 1; i < 4; i++)
		lost[i] = was[i] - in_dump(memcg, node, shard_of(cpu[i]), 1 << ACTIVE_ANON);
	TH_LOG("%ld calls, %ld batches of active pages, at most %ld at a priority; %ld pages were made inactive (%ld, %ld, %ld)",
	       r.calls, r.batches, r.most, r.pages, lost[1], lost[2], lost[3]);
	EXPECT_LE(1, r.calls);
	if (cold) {
		EXPECT_EQ(0, r.batches);
	} else {
		EXPECT_LE(1, r.batches);
		EXPECT_EQ(1, r.most);
	}
	for (int i = 1; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

SSW_BODY(lru_reclaim, aged_as_one_list)
{
	struct ssw_areas areas;
	int cpu[4];

	NEED_LISTS();
	NEED_FOUR(cpu);
	if (access(SSW_TRACE "events/vmscan", R_OK))
		SKIP(return, "the kernel has no tracing");
	/* Pages that are still being written are activated, as in one list: soon most would be. */
	NEED_INSTANT(&areas, 6000, ssw_node_of(cpu[0]));
	age(_metadata, cpu, 4500);
	age(_metadata, cpu, 0);
}

/*
 * A batch of active pages is scanned after each one of inactive pages, not after all of them: pages
 * that are kept, since they were used, and those that are deactivated join the same lists.
 */
SSW_BODY(lru_reclaim, deactivated_by_turns)
{
	const long kept = 300, busy = 2500;
	struct ssw_areas areas;
	struct reclaimed r;
	struct mate m[4];
	int cpu[4], node;

	NEED_LISTS();
	NEED_FOUR(cpu);
	if (access(SSW_TRACE "events/vmscan", R_OK))
		SKIP(return, "the kernel has no tracing");
	NEED_AREAS(&areas);
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 3; i > 0; i--) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], i == 3 ? busy : kept, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		drain();
		if (i == 3)
			ASSERT_EQ(0, tell_all(&m[i], USE, 0));
	}
	drain();
	EXPECT_TRUE(stats_caught_up());
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, trace_start());
	cg_reclaim(GROUP, 32);
	ssw_trace_stop();
	ASSERT_EQ(0, trace_read(&r, node));
	TH_LOG("%ld whole batches of inactive pages, at most %ld without active ones between",
	       r.whole, r.row);
	EXPECT_LE(4, r.whole);
	EXPECT_EQ(1, r.row);
	for (int i = 1; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

/*
 * A batch ends where newer pages begin. Reclaim scans its goal all the same, if each shard has just
 * a few pages of each age.
 */
SSW_BODY(lru_reclaim, goal_of_small_batches)
{
	const long pages = 40, piece = 4;
	struct ssw_areas areas;
	struct reclaimed r;
	struct mate m[4];
	int cpu[4], node;
	long inactive;

	/* Generations have no such batches. */
	NEED_LISTS();
	NEED_FOUR(cpu);
	if (access(SSW_TRACE "events/vmscan", R_OK))
		SKIP(return, "the kernel has no tracing");
	NEED_AREAS(&areas);
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 1; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], pages, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	for (long at = 0; at < pages; at += piece) {
		for (int i = 1; i < 4; i++)
			ASSERT_EQ(0, tell(&m[i], STAMP, at, piece, i));
		drain();
	}
	ASSERT_EQ(0, dump());
	inactive = in_dump(memcg, node, ANY, 1 << INACTIVE_ANON);
	EXPECT_LE(3 * pages, inactive);
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, trace_start());
	cg_reclaim(GROUP, 32);
	ssw_trace_stop();
	ASSERT_EQ(0, trace_read(&r, node));
	TH_LOG("of %ld inactive pages %ld, %ld and %ld were scanned at the last priorities",
	       inactive, r.first[2], r.first[1], r.first[0]);
	/*
	 * All are young, and none is evicted before it is seen for the second time. So the last
	 * priority, of which they all are the goal, sees nearly all of them before it has enough.
	 */
	EXPECT_LE(3 * pages * 3 / 4, r.first[0]);
	/* And a batch is 32 pages, also where several shards have a part of it. */
	EXPECT_EQ(0, r.crossed);
	for (int i = 1; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

/*
 * An evictor that evicts much deactivates until there are as many inactive pages as active ones. It
 * does not go on for as long as statistics are old.
 */
SSW_BODY(lru_reclaim, evictor_sees_what_it_deactivates)
{
	const long cold = 1000, busy = 1400, less = 300;
	long active, inactive;
	struct ssw_areas areas;
	struct mate m[2];
	struct stat st;
	char val[64];
	int cpu[4], node;

	NEED_LISTS();
	NEED_FOUR(cpu);
	if (access(EVICT, W_OK))
		SKIP(return, "no debugfs, CONFIG_SCALESWAP_EVICTOR, or not booted with evict");
	NEED_AREAS(&areas);
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], i ? busy : cold, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i + 1));
		drain();
		ASSERT_EQ(0, i ? tell_all(&m[i], USE, 0) : tell_all(&m[i], COLD, 0));
	}
	drain();
	EXPECT_TRUE(stats_caught_up());
	EXPECT_LE(busy - OWN, in_dump(memcg, node, ANY, 1 << ACTIVE_ANON));
	ASSERT_EQ(0, stat(SSW_CG "/" GROUP, &st));
	snprintf(val, sizeof(val), "%lu %ld", (unsigned long)st.st_ino, less);
	EXPECT_EQ(0, ssw_write(EVICT, val));
	ASSERT_EQ(0, dump());
	active = in_dump(memcg, node, ANY, 1 << ACTIVE_ANON);
	inactive = in_dump(memcg, node, ANY, 1 << INACTIVE_ANON);
	TH_LOG("%ld of %ld pages are active, %ld inactive", active, busy, inactive);
	/* Some reclaim took from inactive ones since. */
	EXPECT_LE(inactive - OWN, active);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

/*
 * The pages of a CPU that sleeps are all active, those of another one inactive, so that in
 * all there are not too many active ones. The other one has more and more pages that
 * cannot be reclaimed: the sleeper's are, before the group is out of memory.
 */
SSW_BODY(lru_reclaim, active_shards_give_way)
{
	const long max = 10240, asleep = 3072, stream = 12288, fill = max - asleep - 1024;
	const long held = 9024, step = 64;
	long at, had, left = -1;
	struct ssw_areas areas;
	struct mate m[2];
	int cpu[4], node;

	NEED_LISTS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], i ? asleep : stream, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	ASSERT_EQ(0, tell_all(&m[1], STAMP, 1));
	drain();
	ASSERT_EQ(0, tell_all(&m[1], USE, 0));
	drain();
	/* It has to answer no more: with a page in use it would have an inactive one at times. */
	ASSERT_EQ(0, kill(m[1].pid, SIGSTOP));
	/*
	 * The inactive pages that it has, such as of its stack, go. Its active ones stay as long
	 * as reclaim sees fewer of these than of inactive ones. So the other CPU's pages are new
	 * each time, since refaults would be active, and statistics know of them before reclaim
	 * begins.
	 */
	for (int i = 0; i < 8 && left; i++) {
		ASSERT_EQ(0, tell_all(&m[0], DROP, 0));
		ASSERT_EQ(0, tell(&m[0], STAMP, 0, fill, 2));
		ASSERT_TRUE(stats_caught_up());
		ASSERT_EQ(0, tell(&m[0], STAMP, fill, stream - fill, 2));
		ASSERT_EQ(0, dump());
		left = in_dump(memcg, node, shard_of(cpu[1]), 1 << INACTIVE_ANON | FILES);
	}
	had = in_dump(memcg, node, shard_of(cpu[1]), 1 << ACTIVE_ANON);
	TH_LOG("asleep: %ld active pages, %ld others", had, left);
	ASSERT_EQ(0, left) TH_LOG("nothing is tested");
	EXPECT_LE(max - held, had) TH_LOG("nothing is tested");
	ASSERT_EQ(0, tell_all(&m[0], DROP, 0));
	for (at = 0; at < held; at += step) {
		if (tell(&m[0], STAMP, at, step, 3) || tell(&m[0], COLD, at, step, 0) ||
		    tell(&m[0], HOLD, at, step, 0))
			break;
		/*
		 * Wait until the pages under writeback can be reclaimed: that wait is not
		 * under test.
		 */
		usleep(20000);
	}
	ASSERT_EQ(0, dump());
	left = in_dump(memcg, node, shard_of(cpu[1]), ANON);
	TH_LOG("%ld of %ld pages held; asleep: %ld pages", at, held, left);
	show_group();
	EXPECT_EQ(held, at);
	EXPECT_EQ(0, kills());
	EXPECT_GT(had, left);
	EXPECT_EQ(0, kill(m[1].pid, SIGCONT));
	EXPECT_EQ(0, tell(&m[0], CHECK, 0, at, 3));
	/* The pages of both do not fit beside the held ones. */
	EXPECT_EQ(0, mate_end(&m[0]));
	EXPECT_EQ(0, tell_all(&m[1], CHECK, 1));
	EXPECT_EQ(0, mate_end(&m[1]));
	group_ends(_metadata);
}

/*
 * Pages that were away for longer than they could have stayed are not activated when they
 * return, those that have just left are. Twice what memory holds is read in a circle, by two
 * CPUs: each page comes back when all others have left.
 */
SSW_BODY(lru_reclaim, long_gone_is_inactive)
{
	const long pages = 2000, max = 2000;
	long long refaults, activated;
	struct ssw_areas areas;
	struct mate m[2];
	int cpu[2];

	/* Generations know no distances. */
	NEED_LISTS();
	NEED_TWO(cpu[0], cpu[1]);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], pages, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
	}
	refaults = cg(GROUP, "memory.stat", "workingset_refault_anon");
	activated = cg(GROUP, "memory.stat", "workingset_activate_anon");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, tell_all(&m[i], CHECK, i));
	refaults = cg(GROUP, "memory.stat", "workingset_refault_anon") - refaults;
	activated = cg(GROUP, "memory.stat", "workingset_activate_anon") - activated;
	TH_LOG("%lld of %lld pages that returned were activated", activated, refaults);
	EXPECT_LT(3 * pages, refaults);
	EXPECT_GT(refaults / 10, activated);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, mate_end(&m[i]));
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

/*
 * What was written leaves first, but draws nobody to the CPU whose page it was: pages of others are
 * as old. If a device is done before reclaim has come to the end of a batch, it finds such pages
 * after each batch.
 */
SSW_BODY(lru_reclaim, written_pages_draw_nobody)
{
	const long cold = 2400, take = 3600;
	long lost[4] = { }, sum = 0;
	struct ssw_areas areas;
	struct mate m[4];
	int cpu[4];

	NEED_SHARDS();
	NEED_FOUR(cpu);
	NEED_NULLB(&areas, 6000, ssw_node_of(cpu[0]), "100000");
	ASSERT_EQ(0, cg_fresh());
	for (int i = 1; i < 4; i++)
		ASSERT_TRUE(mate_start(&m[i], cpu[i], cold, false));
	for (long at = 0; at < cold; at += 50)
		for (int i = 1; i < 4; i++)
			ASSERT_EQ(0, tell(&m[i], STAMP, at, 50, i));
	drain();
	ASSERT_EQ(0, ssw_pin(cpu[0]));
	cg_reclaim(GROUP, take);
	for (int i = 1; i < 4; i++) {
		lost[i] = cold - tell_all(&m[i], RESIDENT, 0);
		sum += lost[i];
	}
	dump();
	show_group();
	TH_LOG("processes lost %ld, %ld and %ld of %ld each", lost[1], lost[2], lost[3], cold);
	EXPECT_LE(take / 2, sum);
	for (int i = 1; i < 4; i++) {
		EXPECT_LE(sum / 6, lost[i]) TH_LOG("process %d", i);
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

/*
 * kswapd evicts no CPU's pages first, wherever it runs: all shards lose some, and none loses most
 * of what it takes.
 */
SSW_BODY(lru_reclaim, kswapd_takes_from_all)
{
	static const char factor[] = "/proc/sys/vm/watermark_scale_factor";
	const long cold = 4000, enough = 3600;
	long locked, lost[4], had_then[4], sum = 0, room, most;
	char path[64], val[32], had[32];
	long long before, direct, seen = 0;
	struct ssw_areas areas;
	struct mate m[4], hog;
	int cpu[4], node;
	cpu_set_t had_cpus;
	pid_t kswapd;

	NEED_SHARDS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	node = roomy_node(cpu);
	snprintf(path, sizeof(path), SSW_NODES "/node%d/vmstat", node);
	room = ssw_proc_num(path, "nr_free_pages");
	ASSERT_LT(cold * 6, room);
	ASSERT_LT(0, ssw_read(factor, had, sizeof(had)));
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], cold, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	/* More than what is free now: memory of others that kswapd takes is locked, too. */
	most = room + 4 * cold;
	ASSERT_TRUE(mate_start(&hog, cpu[0], most, false));
	ASSERT_EQ(0, tell(&hog, NODE, 0, 0, node));
	locked = crowd(&hog, node, room, m, cold);
	ASSERT_LT(0, locked);
	for (long at = 0; at < cold; at += 50)
		for (int i = 0; i < 4; i++)
			ASSERT_EQ(0, tell(&m[i], COLD, at, 50, 0));
	drain();
	dump();
	show_group();
	snprintf(val, sizeof(val), "kswapd%d", node);
	kswapd = ssw_task(val);
	ASSERT_LT(0, kswapd);
	ASSERT_EQ(0, sched_getaffinity(kswapd, sizeof(had_cpus), &had_cpus));
	ASSERT_EQ(0, ssw_pin_task(kswapd, cpu[1]));
	/*
	 * Lock memory until it gets to work, and then little by little: between the marks
	 * are some 300 pages, so it begins anew for these, many times. Its first run, which
	 * is longer, does not count.
	 */
	snprintf(val, sizeof(val), "%ld", 1 + 10000 * 300 / room);
	EXPECT_EQ(0, ssw_write(factor, val));
	for (int phase = 0; phase < 2; phase++) {
		seen = 0;
		before = ssw_vmstat("pgsteal_kswapd");
		direct = ssw_vmstat("pgsteal_direct");
		while (phase ? seen < enough : !seen) {
			long chunk = phase ? 50 : 200;

			if (locked + chunk > most || tell(&hog, LOCK_NEW, locked, chunk, 7))
				break;
			locked += chunk;
			usleep(phase ? 20000 : 2000);
			seen = ssw_vmstat("pgsteal_kswapd") - before;
		}
		/* Until it sleeps again */
		for (int i = 0; i < 100; i++) {
			usleep(50000);
			if (seen == ssw_vmstat("pgsteal_kswapd") - before)
				break;
			seen = ssw_vmstat("pgsteal_kswapd") - before;
		}
		direct = ssw_vmstat("pgsteal_direct") - direct;
		for (int i = 0; i < 4; i++) {
			long have = tell_all(&m[i], RESIDENT, 0);

			lost[i] = phase ? had_then[i] - have : 0;
			sum += lost[i];
			had_then[i] = have;
		}
		TH_LOG("after phase %d processes have %ld, %ld, %ld and %ld", phase, had_then[0],
		       had_then[1], had_then[2], had_then[3]);
		dump();
		show_group();
	}
	EXPECT_EQ(0, ssw_write(factor, had));
	EXPECT_EQ(0, sched_setaffinity(kswapd, sizeof(had_cpus), &had_cpus));
	TH_LOG("%ld pages locked of which %ld were free, kswapd took %lld, others %lld; processes lost %ld, %ld, %ld and %ld of %ld each",
	       locked, room, seen, direct, lost[0], lost[1], lost[2], lost[3], cold);
	EXPECT_LE(enough, seen) TH_LOG("kswapd hardly ran: nothing is tested");
	EXPECT_LE(enough / 2, sum);
	/* How much is a matter of when each ran: within a second, one that is used stays longer. */
	for (int i = 0; i < 4; i++) {
		EXPECT_LT(0, lost[i]) TH_LOG("process %d", i);
		EXPECT_GE(sum / 2, lost[i]) TH_LOG("process %d", i);
	}
	EXPECT_EQ(0, mate_end(&hog));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
	/* kswapd also swapped out pages of the processes that run here: these are not left over. */
	ssw_swapoff_all();
	EXPECT_EQ(0, ssw_meminfo("SwapTotal"));
}

TEST_HARNESS_MAIN
