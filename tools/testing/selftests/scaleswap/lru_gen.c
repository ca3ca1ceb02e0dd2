// SPDX-License-Identifier: GPL-2.0
/*
 * Generations (MGLRU) of LRU shards.
 */
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "lru_harness.h"

SSW_FIXTURE(lru_gen, 0)

#define NEED_GENERATIONS()						\
	do {								\
		NEED_SHARDS();						\
		if (access(GEN, F_OK))					\
			SKIP(return, "a kernel without CONFIG_LRU_GEN"); \
	} while (0)

/* For what comes after this in the same guest. */
SSW_TEST_F(lru_gen, turned_on)
{
	NEED_GENERATIONS();
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	EXPECT_TRUE(ssw_generations());
}

/* Pages that come back, on another CPU, go to their shard, and count as refaults of their group. */
SSW_BODY(lru_gen, refaults_are_counted)
{
	const long pages = 1500;
	bool was = ssw_generations();
	struct ssw_areas areas;
	long long before, seen;
	struct mate m;
	int a, b;

	NEED_GENERATIONS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, pages, false));
	/* What comes back to another node is no refault to MGLRU. */
	ASSERT_EQ(0, tell(&m, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell_all(&m, STAMP, 1));
	EXPECT_EQ(pages, tell_all(&m, OUT, 0));
	EXPECT_GE(OWN, evict(OWN / 2));
	before = cg(GROUP, "memory.stat", "workingset_refault_anon");
	tell_all(&m, PIN, b);
	ASSERT_EQ(0, tell_all(&m, CHECK, 1));
	EXPECT_TRUE(stats_caught_up());
	seen = cg(GROUP, "memory.stat", "workingset_refault_anon") - before;
	EXPECT_ABOUT(pages, at(a, ANON));
	EXPECT_ABOUT(0, at(b, ANON));
	/* And pages of its stack */
	EXPECT_LE(pages, seen);
	EXPECT_GE(pages + OWN, seen);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
}

/*
 * MGLRU is turned on and off, while four CPUs need more memory than their group shall have. All
 * of it is still there, and counted. With memory.max, a process would be killed, with one
 * list, too: folios are still on the lists of the one kind when reclaim looks at the other.
 */
SSW_BODY(lru_gen, switched_under_load)
{
	const long each = 1500, high = 3600, piece = 100, until = ssw_seconds() + 60;
	struct ssw_areas areas;
	bool was = ssw_generations();
	struct mate m[4];
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", high * SSW_PAGE));
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
	}
	/* Fewer where it takes minutes, as with a debug kernel. */
	for (int round = 0; round < (round % 2 || ssw_seconds() < until ? 40 : 8); round++) {
		const long from = round * piece % each;

		for (int i = 0; i < 4; i++)
			ask(&m[i], CHECK, 0, each, i);
		EXPECT_EQ(0, ssw_write(GEN, round % 2 ? "n" : "y"));
		EXPECT_EQ(!(round % 2), ssw_generations());
		for (int i = 0; i < 4; i++)
			ASSERT_EQ(0, answer(&m[i]));
		/* Some are freed, and others come. */
		for (int i = 0; i < 4; i++) {
			ASSERT_EQ(0, tell(&m[i], DROP, from, piece, 0));
			ASSERT_EQ(0, tell(&m[i], STAMP, from, piece, i));
		}
		/* What moves pages from one list to another meanwhile. */
		if (round % 8 == 5)
			cg_reclaim(GROUP, 256);
	}
	/* The last round turned it off: each list has what is on it. */
	drain();
	ASSERT_EQ(0, dump());
	show_group();
	EXPECT_EQ(0, sums_differ(true));
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

/* --- debugfs --------------------------------------------------------------- */

#define GENS	"/sys/kernel/debug/lru_gen"
#define THREADS	SSW_SYS "/evict/threads"
/* The number of a group's directory, and how many pages to evict from it */
#define EVICT	"/sys/kernel/debug/scaleswap/evict"

struct gen {
	int nid;
	unsigned long seq;
	long anon;
};

/* The generations of GROUP on all nodes, from the oldest to the youngest of each. */
static int gens(struct gen *g, int most)
{
	int n = 0, id = -1, nid = -1;
	unsigned long seq;
	char line[4096];
	long anon;
	FILE *f = fopen(GENS, "re");

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " memcg %d", &id) == 1 || sscanf(line, " node %d", &nid) == 1)
			continue;
		if (id != memcg || n == most || sscanf(line, "%lu %*u %ld", &seq, &anon) != 2)
			continue;
		g[n++] = (struct gen){ nid, seq, anon };
	}
	fclose(f);
	return n;
}

/* Do something to the youngest generation but @back of GROUP on each node. 0 or -errno. */
static int gens_do(char what, int back, const char *options)
{
	struct gen g[64];
	int n = gens(g, ARRAY_SIZE(g)), ret = n < 0 ? n : 0;
	char cmd[96];

	for (int i = 0; i < n && !ret; i++) {
		if (i + 1 < n && g[i + 1].nid == g[i].nid)
			continue;
		snprintf(cmd, sizeof(cmd), "%c %d %d %lu %s", what, memcg, g[i].nid,
			 g[i].seq - back, options);
		ret = ssw_write(GENS, cmd);
	}
	return ret;
}

/* The youngest generation of GROUP on a node, or -errno */
static long youngest(int nid)
{
	struct gen g[64];
	int n = gens(g, ARRAY_SIZE(g));
	long seq = n < 0 ? n : -ENOENT;

	for (int i = 0; i < n; i++) {
		if (g[i].nid == nid)
			seq = g[i].seq;
	}
	return seq;
}

/*
 * Go over memory that does not fit, beside another CPU, whose memory is replaced. Return how many
 * generations are made meanwhile.
 */
static long generations_made(struct __test_metadata *_metadata, const char *threads, int a, int b)
{
	const long max = 5120, stream = 7000, chunk = 64, live = 16, rounds = 4, per = 128;
	long at = 0, had, made;
	struct mate p, q;

	ASSERT_EQ(0, ssw_write(THREADS, threads));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	ASSERT_TRUE(mate_start(&p, a, stream, false));
	ASSERT_TRUE(mate_start(&q, b, live * chunk, false));
	ASSERT_EQ(0, tell(&p, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell(&q, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell_all(&p, STAMP, 1));
	had = youngest(ssw_node_of(a));
	ASSERT_LT(0, had);
	for (long s = 0; s < rounds * stream / per; s++) {
		const long from = s % live * chunk;

		ASSERT_EQ(0, stamp_on(&p, &at, per, stream, 1));
		ASSERT_EQ(0, tell(&q, DROP, from, chunk, 0));
		ASSERT_EQ(0, tell(&q, STAMP, from, chunk, 2));
	}
	made = youngest(ssw_node_of(a)) - had;
	EXPECT_EQ(0, tell_all(&p, CHECK, 1));
	EXPECT_EQ(0, mate_end(&p));
	EXPECT_EQ(0, mate_end(&q));
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
	return made;
}

/*
 * Evictors have time, and try again before they age: once they made twice as many generations as
 * tasks do, so that pages were old too early. How many these are depends on how far each CPU is at
 * the time, so it is tried three times.
 */
SSW_BODY(lru_gen, evictors_age_late)
{
	struct ssw_areas areas;
	long with, without;
	char had[32];
	int a, b;

	NEED_GENERATIONS();
	NEED_TWO(a, b);
	if (ssw_read(THREADS, had, sizeof(had)) <= 0 || !atoi(had))
		SKIP(return, "no evictors");
	NEED_INSTANT(&areas, 8000, ssw_node_of(a));
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	for (int i = 0; i < 3; i++) {
		without = generations_made(_metadata, "0", a, b);
		with = generations_made(_metadata, had, a, b);
		TH_LOG("%ld generations with evictors, %ld without", with, without);
		EXPECT_LT(4, without);
		if (with <= without)
			break;
	}
	EXPECT_GE(without, with);
}

/*
 * What is on the lists of the one kind when MGLRU is turned on or off can be evicted afterwards,
 * from all shards, and of all ages.
 */
SSW_BODY(lru_gen, evicts_after_a_switch)
{
	const long each = 1000;
	struct ssw_areas areas;
	bool was = ssw_generations();
	struct mate m[4];
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 4; i++)
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
	for (int on = 0; on < 2; on++) {
		ASSERT_EQ(0, ssw_write(GEN, on ? "n" : "y"));
		for (long at = 0; at < each; at += 100)
			for (int i = 0; i < 4; i++)
				ASSERT_EQ(0, tell(&m[i], STAMP, at, 100, i));
		drain();
		ASSERT_EQ(0, ssw_write(GEN, on ? "y" : "n"));
		EXPECT_GE(OWN, evict(OWN / 2)) TH_LOG("turned %s", on ? "on" : "off");
		for (int i = 0; i < 4; i++)
			EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
	}
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, mate_end(&m[i]));
	group_ends(_metadata);
}

/*
 * min_ttl_ms: kswapd kills a process where all memory has been used within that time, and only
 * there. Nearly all of the memory is in shards.
 */
SSW_BODY(lru_gen, min_ttl_is_for_all_shards)
{
	static const char ttl[] = "/sys/kernel/mm/lru_gen/min_ttl_ms";
	const long cold = 3000, enough = 500;
	bool was = ssw_generations();
	char path[64], had[32];
	struct ssw_areas areas;
	struct mate m[4], hog;
	int cpu[4], node;
	long room, most, locked;

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK))
		SKIP(return, "there is no " GENS);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_LT(0, ssw_read(ttl, had, sizeof(had)));
	node = roomy_node(cpu);
	snprintf(path, sizeof(path), SSW_NODES "/node%d/vmstat", node);
	room = ssw_proc_num(path, "nr_free_pages");
	ASSERT_LT(cold * 6, room);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], cold, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	/* More than what is free now: memory of others that kswapd takes is locked, too. */
	most = room + 4 * cold;
	ASSERT_TRUE(mate_start(&hog, cpu[0], most, false));
	ASSERT_EQ(0, tell(&hog, NODE, 0, 0, node));
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", hog.pid);
	ASSERT_EQ(0, ssw_write(path, "1000"));
	locked = crowd(&hog, node, room, m, cold);
	ASSERT_LT(0, locked);
	/*
	 * The group's pages become two generations old. If kswapd had to do that, it would find,
	 * with one list, too, that the oldest generation has just been made, and kill a process.
	 */
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, gens_do('+', 0, "1 1"));
	usleep(50000);
	/* A time that has passed for all pages, and then one that has for none */
	for (int young = 0; young < 2; young++) {
		long long took = ssw_vmstat("pgsteal_kswapd");

		ASSERT_EQ(0, ssw_write(ttl, young ? "100000000" : "1"));
		while (locked + 50 <= most &&
		       (young || ssw_vmstat("pgsteal_kswapd") - took < enough)) {
			if (tell(&hog, LOCK_NEW, locked, 50, 7))
				break;
			locked += 50;
			usleep(20000);
		}
		took = ssw_vmstat("pgsteal_kswapd") - took;
		TH_LOG("min_ttl_ms %s: %ld pages locked of which %ld were free, kswapd took %lld, %lld killed",
		       young ? "above" : "below", locked, room, took, kills());
		EXPECT_EQ(young, kills());
		EXPECT_EQ(young, !hog.pid);
		if (!young)
			EXPECT_LE(enough, took);
	}
	EXPECT_EQ(0, ssw_write(ttl, had));
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
	EXPECT_EQ(0, mate_end(&hog));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
	/* kswapd also swapped out pages of the processes that run here: these are not left over. */
	ssw_swapoff_all();
	EXPECT_EQ(0, ssw_meminfo("SwapTotal"));
}

/*
 * /sys/kernel/debug/lru_gen shows, ages and evicts the pages of all shards: those that B has not
 * used for two generations go, and those that A uses stay.
 */
SSW_BODY(lru_gen, debugfs_is_for_all_shards)
{
	bool was = ssw_generations();
	struct ssw_areas areas;
	struct mate ma, mb;
	struct gen g[64];
	long sum = 0;
	int a, b, n;

	NEED_GENERATIONS();
	NEED_TWO(a, b);
	if (access(GENS, W_OK))
		SKIP(return, "there is no " GENS);
	NEED_INSTANT(&areas, 4 * PAGES, ssw_node_of(a));
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&ma, a, PAGES, false));
	ASSERT_TRUE(mate_start(&mb, b, PAGES, false));
	ASSERT_EQ(0, tell_all(&ma, STAMP, 1));
	ASSERT_EQ(0, tell_all(&mb, STAMP, 2));
	EXPECT_ABOUT(PAGES, at(a, ANON));
	EXPECT_ABOUT(PAGES, at(b, ANON));
	n = gens(g, ARRAY_SIZE(g));
	ASSERT_LE(2, n);
	for (int i = 0; i < n; i++)
		sum += g[i].anon;
	EXPECT_ABOUT(2 * PAGES, sum);
	/* Only the youngest can be followed by a new one, and the two youngest are not evicted. */
	EXPECT_EQ(-EINVAL, gens_do('+', -1, "1 1"));
	EXPECT_EQ(-EINVAL, gens_do('-', 1, "200"));
	/* What was used since the last walk is of the youngest generation. Now all is; then A's. */
	EXPECT_EQ(0, gens_do('+', 0, "1 1"));
	/* The walk has not flushed TLBs: an access that hits there sets no accessed bit. */
	EXPECT_EQ(0, tell_all(&ma, FLUSH_TLB, 0));
	EXPECT_EQ(0, tell_all(&ma, CHECK, 1));
	EXPECT_EQ(0, gens_do('+', 0, "1 1"));
	/* Pages that were promoted to an active generation, and others that have become inactive */
	EXPECT_EQ(0, sums_differ(true));
	EXPECT_ABOUT(PAGES, at(a, ANON));
	EXPECT_ABOUT(PAGES, at(b, ANON));
	EXPECT_EQ(0, gens_do('-', 2, "200"));
	/* One command has unmapped all of B's pages and none of A's. */
	EXPECT_LE(PAGES - OWN, tell_all(&ma, RESIDENT, 0));
	EXPECT_GE(OWN, tell_all(&mb, RESIDENT, 0));
	/*
	 * Some are in the swap cache still, with one list, too: 555 with both. If writes are late,
	 * all may be: the next command frees them.
	 */
	ssw_for_looks(i) {
		if (at(b, ANON) <= PAGES / 2)
			break;
		usleep(20000);
		gens_do('-', 2, "200");
	}
	EXPECT_ABOUT(PAGES, at(a, ANON));
	EXPECT_GE(PAGES / 2, at(b, ANON));
	EXPECT_EQ(0, tell_all(&ma, CHECK, 1));
	EXPECT_EQ(0, tell_all(&mb, CHECK, 2));
	EXPECT_EQ(0, mate_end(&ma));
	EXPECT_EQ(0, mate_end(&mb));
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/*
 * Anonymous memory and page cache leave their oldest generation at different times, while others
 * are made and ended by command: no page is lost, and all are counted.
 */
SSW_BODY(lru_gen, types_end_together)
{
	const long each = 500, high = 1600, files = 400;
	const int file = 910;
	int made = 0, ended = 0;
	struct ssw_areas areas;
	bool was = ssw_generations();
	struct mate m[4];
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK))
		SKIP(return, "there is no " GENS);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", high * SSW_PAGE));
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		ASSERT_EQ(0, tell(&m[i], FILE_NEW, 0, files, file + i));
	}
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 4; i++) {
			if ((i + round) % 2)
				ask(&m[i], CHECK, 0, each, i);
			else
				ask(&m[i], FILE_READ, 0, files, file + i);
		}
		/* A generation may be gone by the time the command comes. */
		made += !gens_do('+', 0, round % 4 ? "1 0" : "0 0");
		ended += !gens_do('-', 2, round % 3 ? "100 200" : "0 200");
		for (int i = 0; i < 4; i++)
			ASSERT_EQ(0, answer(&m[i]));
	}
	TH_LOG("on all nodes generations were made %d times, and evicted %d times", made, ended);
	EXPECT_LT(0, made);
	EXPECT_LT(0, ended);
	EXPECT_EQ(0, sums_differ(true));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
		unlink(ssw_file(file + i));
	}
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/*
 * Reclaim that frees all that it has isolated does not lock the shard again. What it has freed is
 * counted nevertheless.
 */
SSW_BODY(lru_gen, counts_without_the_lock)
{
	const long files = 400, wanted = 300;
	const int file = 910;
	struct ssw_areas areas;
	bool was = ssw_generations();
	long long gone, group, all;
	struct mate m[2];
	int cpu[2];

	NEED_GENERATIONS();
	NEED_TWO(cpu[0], cpu[1]);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], 100, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		ASSERT_EQ(0, tell(&m[i], FILE_NEW, 0, files, file + i));
	}
	gone = cg(GROUP, "memory.stat", "file");
	group = cg(GROUP, "memory.stat", "pgsteal");
	all = ssw_vmstat("pgsteal_file");
	cg_reclaim_as(GROUP, wanted, 0);
	EXPECT_TRUE(stats_caught_up());
	gone = (gone - cg(GROUP, "memory.stat", "file")) / SSW_PAGE;
	group = cg(GROUP, "memory.stat", "pgsteal") - group;
	all = ssw_vmstat("pgsteal_file") - all;
	TH_LOG("%lld pages of the files gone, %lld reclaimed of the group, %lld of all", gone,
	       group, all);
	EXPECT_LE(wanted, gone);
	/* And pages of programs */
	EXPECT_LE(gone, group);
	EXPECT_LE(gone, all);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
		unlink(ssw_file(file + i));
	}
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/* Anonymous pages that this process' reclaim isolated, by the trace */
struct isolated {
	long most;		/* at a time */
	long first;		/* in all, at the first priority at which any were */
};

static int isolate_start(void)
{
	static const char *const events[] = {
		"vmscan/mm_vmscan_lru_isolate",
		"vmscan/mm_vmscan_lru_shrink_inactive",
		NULL,
	};

	return ssw_trace_start(events);
}

static int isolate_read(struct isolated *r)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	int priority = -1;
	char line[512];
	long taken = 0;

	memset(r, 0, sizeof(*r));
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *nr = strstr(line, "nr_taken="), *p = strstr(line, "priority=");

		if (strstr(line, ": mm_vmscan_lru_isolate:") && nr && strstr(line, "_anon")) {
			taken = atol(nr + strlen("nr_taken="));
			if (taken > r->most)
				r->most = taken;
		} else if (p && strstr(line, "RECLAIM_WB_ANON")) {
			/* What became of those that were isolated just now */
			if (taken && priority < 0)
				priority = atoi(p + strlen("priority="));
			if (priority == atoi(p + strlen("priority=")))
				r->first += taken;
			taken = 0;
		}
	}
	return fclose(f) ? -errno : 0;
}

/*
 * Of small shards a batch is made up of parts, so that it has the oldest pages of each, not all
 * pages of one. But it is as large as that of one list: no priority is used up for less.
 */
SSW_BODY(lru_gen, parts_of_small_shards)
{
	/* Shards of less than 320 pages give 4 at a time. */
	const long each = 128, part = 4, batch = sizeof(long) * 8;
	bool was = ssw_generations();
	struct ssw_areas areas;
	struct isolated r;
	struct mate m[4];
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK))
		SKIP(return, "there is no " GENS);
	if (access(SSW_TRACE "events/vmscan", R_OK))
		SKIP(return, "the kernel has no tracing");
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, ssw_node_of(cpu[0])));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
	}
	drain();
	/* They are of the third generation then. */
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, gens_do('+', 0, "1 1"));
	ssw_pin(cpu[0]);
	ASSERT_EQ(0, isolate_start());
	cg_reclaim_as(GROUP, batch, 200);
	ssw_trace_stop();
	ASSERT_EQ(0, isolate_read(&r));
	TH_LOG("%ld pages isolated at a time, %ld at one priority", r.most, r.first);
	EXPECT_LT(0, r.most);
	EXPECT_GE(part, r.most);
	EXPECT_LE(batch, r.first);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/* What GROUP has on a node of a generation, and of all */
static long of_generation(int nid, unsigned long seq, long *all)
{
	struct gen g[64];
	int n = gens(g, ARRAY_SIZE(g));
	long pages = 0;

	*all = 0;
	for (int i = 0; i < n; i++) {
		if (g[i].nid != nid)
			continue;
		*all += g[i].anon;
		if (g[i].seq == seq)
			pages = g[i].anon;
	}
	return pages;
}

/* Trace walks of page tables by this process as an evictor. */
static int walks_start(void)
{
	static const char *const events[] = { "scaleswap/scaleswap_evict_walk", NULL };

	return ssw_trace_start(events);
}

/* How many there were, or -errno; and how many others walked at the same time, in all */
static long walks_read(long *others)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	char line[512];
	long n = 0;

	*others = 0;
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *key = strstr(line, ": scaleswap_evict_walk: others=");

		if (!key)
			continue;
		*others += labs(atol(strchr(key, '=') + 1));
		n++;
	}
	return fclose(f) ? -errno : n;
}

/*
 * An evictor ages a small group when few pages are left of the oldest generation, as a task does,
 * not when all of these are gone: then it would have evicted some that are used.
 */
SSW_BODY(lru_gen, evictors_age_in_time)
{
	/* Nothing of it is scanned at the default priority, and a bit at the next one. */
	const long each = 900, batch = 32;
	bool was = ssw_generations();
	long old = 0, all, seq, node;
	struct ssw_areas areas;
	struct mate m[4];
	char val[48];
	struct stat st;
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK) || access(EVICT, W_OK))
		SKIP(return, "no debugfs, CONFIG_SCALESWAP_EVICTOR, or not booted with evict");
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		drain();
		/* Those of the first two become the oldest generation of three. */
		for (int j = 0; i == 1 && j < 2; j++)
			ASSERT_EQ(0, gens_do('+', 0, "1 1"));
	}
	ASSERT_EQ(0, stat(SSW_CG "/" GROUP, &st));
	snprintf(val, sizeof(val), "%lu %ld", (unsigned long)st.st_ino, batch);
	seq = youngest(node);
	for (long left = 4 * each; left > 0 && youngest(node) == seq; left -= batch) {
		old = of_generation(node, seq - 2, &all);
		EXPECT_EQ(0, ssw_write(EVICT, val));
	}
	TH_LOG("aged when %ld of %ld pages were of the oldest generation", old, all);
	EXPECT_LT(seq, youngest(node));
	/* Two thirds are young then, but for a batch or two. */
	EXPECT_LE(all / 4, old);
	/* With the limits of tasks it would be half of all: at once. */
	EXPECT_GE(2 * all / 5, old);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/*
 * When all pages are young, two generations begin before any page is evicted. An evictor walks page
 * tables for the first one, and not again right after that. If the host stops the guest in between,
 * it may, so there are several tries.
 */
SSW_BODY(lru_gen, evictors_walk_once)
{
	const long each = 900, batch = 32, tries = 20;
	long seq, begun = 0, walks = 0, others, node;
	bool was = ssw_generations();
	struct ssw_areas areas;
	struct mate m[4];
	struct stat st;
	char val[48];
	int cpu[4];

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK) || access(EVICT, W_OK))
		SKIP(return, "no debugfs, CONFIG_SCALESWAP_EVICTOR, or not booted with evict");
	if (access(SSW_TRACE "events/scaleswap", R_OK))
		SKIP(return, "the kernel has no tracing");
	node = ssw_node_of(cpu[0]);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	for (int i = 0; i < tries && walks == begun; i++) {
		ASSERT_EQ(0, cg_fresh());
		for (int j = 0; j < 4; j++) {
			ASSERT_TRUE(mate_start(&m[j], cpu[j], each, false));
			ASSERT_EQ(0, tell(&m[j], NODE, 0, 0, node));
			ASSERT_EQ(0, tell_all(&m[j], STAMP, j));
		}
		drain();
		ASSERT_EQ(0, stat(SSW_CG "/" GROUP, &st));
		snprintf(val, sizeof(val), "%lu %ld", (unsigned long)st.st_ino, batch);
		seq = youngest(node);
		ASSERT_EQ(0, walks_start());
		EXPECT_EQ(0, ssw_write(EVICT, val));
		ssw_trace_stop();
		begun = youngest(node) - seq;
		walks = walks_read(&others);
		TH_LOG("%ld generations begun, %ld walks", begun, walks);
		EXPECT_LT(1, begun);
		/* Only this process evicts, and has none to wait for. */
		EXPECT_LT(0, walks);
		EXPECT_EQ(0, others);
		for (int j = 0; j < 4; j++) {
			EXPECT_EQ(0, tell_all(&m[j], CHECK, j));
			EXPECT_EQ(0, mate_end(&m[j]));
		}
		group_ends(_metadata);
	}
	EXPECT_GT(begun, walks);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

/* What the two processes share, that of slow_evictor() and its parent */
struct evicting {
	/* 1, or why it can't evict slowly */
	int begins;
	/* CPU time, in microseconds */
	long took;
};

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/*
 * A process that evicts once. So that it does not stay on its CPU meanwhile, it is a deadline task
 * which has @us microseconds in four seconds.
 */
static pid_t slow_evictor(const char *what, long us, volatile struct evicting *e)
{
	/* struct sched_attr, whose header can't be had together with glibc's <sched.h> */
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} slow = { sizeof(slow), SCHED_DEADLINE, .runtime = 1000UL * us,
		   .deadline = 4000UL * 1000 * 1000, .period = 4000UL * 1000 * 1000 };
	pid_t pid = ssw_fork();
	cpu_set_t all;
	long since;

	if (pid)
		return pid;
	since = cpu_us();
	/* One that may not run everywhere can't be a deadline task. */
	e->begins = ssw_online(&all) || sched_setaffinity(0, sizeof(all), &all) ||
		    syscall(SYS_sched_setattr, 0, &slow, 0) ? -errno : 1;
	/* It may find fewer pages than that. */
	ssw_write(EVICT, what);
	e->took = cpu_us() - since;
	_exit(0);
}

/*
 * An evictor that gets to the end of the processes waits for another one, but for a second only.
 * Then the generation begins, and it is counted. Where the other one stops is up to the scheduler,
 * so there are many tries, which give it parts of the time that it takes.
 */
SSW_BODY(lru_gen, evictors_go_on_without_one)
{
	const long each = 4000, batch = 32, tries = 1000;
	const struct sched_param none = { 0 };
	const char *counter = SSW_SYS "/stats/fallback/evict_walk";
	volatile struct evicting *e = ssw_shared(sizeof(*e));
	bool was = ssw_generations();
	long long before, waited = 0;
	long node, us = 1000000;
	struct ssw_areas areas;
	struct mate m[4];
	struct stat st;
	char val[48];
	int cpu[4], i;
	pid_t slow;

	NEED_GENERATIONS();
	NEED_FOUR(cpu);
	NEED_AREAS(&areas);
	if (access(GENS, W_OK) || access(EVICT, W_OK))
		SKIP(return, "no debugfs, CONFIG_SCALESWAP_EVICTOR, or not booted with evict");
	node = ssw_node_of(cpu[0]);
	before = ssw_num(counter);
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, cg_fresh());
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], each, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
	}
	drain();
	ASSERT_EQ(0, stat(SSW_CG "/" GROUP, &st));
	snprintf(val, sizeof(val), "%lu %ld", (unsigned long)st.st_ino, batch);
	for (i = 0; i < tries && !waited; i++) {
		for (int j = 0; j < 4; j++)
			EXPECT_EQ(0, tell_all(&m[j], CHECK, j));
		e->begins = 0;
		slow = slow_evictor(val, i ? us * (1 + i % 16) / 16 : us, e);
		ASSERT_LT(0, slow);
		while (!e->begins)
			usleep(100);
		ASSERT_EQ(1, e->begins);
		ssw_write(EVICT, val);
		waited = ssw_num(counter) - before;
		/* It goes on at once. */
		sched_setscheduler(slow, SCHED_OTHER, &none);
		EXPECT_EQ(0, ssw_join(slow));
		us = i && us > e->took ? us : e->took;
	}
	TH_LOG("%lld waited in vain, after %d tries; an evictor took %ld us", waited, i, us);
	EXPECT_LT(0, waited);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
	EXPECT_EQ(0, ssw_write(GEN, was ? "y" : "n"));
}

TEST_HARNESS_MAIN
