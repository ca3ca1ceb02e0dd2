// SPDX-License-Identifier: GPL-2.0
/*
 * Stocks of swap charges: groups of cgroup v2 see no difference to counters without stocks,
 * but in memory.swap.peak. So that is how these tests see a stock: the peak is that of the
 * counter, which a stock makes too high, and reading it leaves stocks as they are.
 */
#include "harness.h"
#include "cg_util.h"

SSW_FIXTURE(stock, SSW_NEED_ON | SSW_NEED_DIR)

/* As in mm/scaleswap/stock.c, in pages: taken at a time, and nearer to a limit none. */
#define BATCH	32
#define NEAR	(4 * 2 * BATCH * ssw_nr_possible())
#define PAGES	500
#define TOP	"ssw-top"
#define OTHER	"ssw-other"

/* A file of a group that has bytes, in pages. memory.swap.current empties stocks. */
static long long pages_of(const char *group, const char *file)
{
	return cg(group, file, NULL) / (long long)SSW_PAGE;
}

static long long dying(void)
{
	return cg(TOP, "cgroup.stat", "nr_dying_descendants");
}

/*
 * Swap pages of a process out and wait until they are written: a page that is dropped before
 * keeps its slot until reclaim meets it, on whatever CPU.
 */
static bool out(struct member *m, size_t from, size_t nr)
{
	if (!member_part(m, OUT, from, nr))
		return false;
	ssw_for_looks(i) {
		if (!ssw_vmstat("nr_writeback"))
			return true;
		usleep(2000);
	}
	return false;
}

/* Wait until groups that were removed are freed. How many are not. */
static long long still_dying(void)
{
	/* A CPU that has no charges left may have a reference. */
	if (cg_make(OTHER) || ssw_charge_on_each_cpu(SSW_CG "/" OTHER "/cgroup.procs") ||
	    cg_remove(OTHER))
		return -1;
	ssw_for_looks(i) {
		if (!dying())
			break;
		/* Their last pages may wait in a CPU's batch for the LRU, or for reclaim. */
		cg_reclaim(TOP);
		ssw_write("/proc/sys/vm/drop_caches", "1");
		usleep(20000);
	}
	return dying();
}

/* TOP/NAME, and TOP above it. */
static int make(const char *name)
{
	char path[64];
	int ret = cg_make(TOP);

	if (!ret)
		ret = ssw_write(SSW_CG "/" TOP "/cgroup.subtree_control", "+memory");
	snprintf(path, sizeof(path), TOP "/%s", name);
	return ret ?: cg_make(path);
}

/*
 * A group and a process on each CPU but the first, which swaps one page out and so leaves a
 * batch in the stock of its CPU. How many pages these stocks have, or -1.
 */
static long long stock_others(const struct ssw_areas *a, struct member *m)
{
	char name[64];

	for (int i = 1; i < a->n; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		if (make(name))
			return -1;
		snprintf(name, sizeof(name), TOP "/c%d", i);
		m[i] = member_start(name, a->cpu[i], 8, i);
		member_step(&m[i], STAMP);
		ssw_for_looks(l) {
			member_part(&m[i], OUT, 0, 1);
			if (pages_of(name, "memory.swap.peak"))
				break;
		}
		if (pages_of(name, "memory.swap.peak") != BATCH + 1)
			return -1;
	}
	return (a->n - 1) * BATCH;
}

static void leave_others(struct __test_metadata *_metadata, const struct ssw_areas *a,
			 struct member *m)
{
	char name[64];

	for (int i = 1; i < a->n; i++) {
		EXPECT_TRUE(member_part(&m[i], CHECK, 0, 8)) TH_LOG("a page is wrong");
		EXPECT_FALSE(member_step(&m[i], LEAVE));
		EXPECT_EQ(0, m[i].status);
		snprintf(name, sizeof(name), TOP "/c%d", i);
		EXPECT_EQ(0, cg_remove(name));
	}
}

static void leave(struct __test_metadata *_metadata, struct member *m, const char *group)
{
	EXPECT_FALSE(member_step(m, LEAVE));
	EXPECT_EQ(0, m->status);
	EXPECT_EQ(0, cg_left(TOP));
	if (group) {
		EXPECT_EQ(0, cg_remove(group));
	}
}

/* Charges come from a stock, but not near a limit; what is read has no stocks in it. */
SSW_BODY(stock, taken_and_not_seen)
{
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, 1));
	ASSERT_EQ(0, make("a"));
	m = member_start(TOP "/a", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	member_part(&m, OUT, 0, 1);
	EXPECT_EQ(BATCH + 1, pages_of(TOP "/a", "memory.swap.peak")) TH_LOG("no stock");
	EXPECT_EQ(BATCH + 1, pages_of(TOP, "memory.swap.peak"));
	member_part(&m, OUT, 1, BATCH);
	EXPECT_EQ(BATCH + 1, pages_of(TOP, "memory.swap.peak")) TH_LOG("the stock is not used");
	member_part(&m, OUT, 1 + BATCH, 1);
	EXPECT_EQ(2 * BATCH + 2, pages_of(TOP, "memory.swap.peak"));
	EXPECT_EQ(BATCH + 2, pages_of(TOP, "memory.swap.current"));
	EXPECT_EQ(BATCH + 2, pages_of(TOP "/a", "memory.swap.current"));
	member_step(&m, OUT);
	EXPECT_EQ(0, cg_disagrees(TOP));
	EXPECT_EQ(0, cg_disagrees(TOP "/a"));
	EXPECT_GE(ssw_sum("used") + 2 * BATCH * ssw_nr_possible(),
		  pages_of(TOP, "memory.swap.peak"));
	member_part(&m, DROP, 0, PAGES - 100);
	EXPECT_EQ(0, cg_disagrees(TOP "/a"));
	EXPECT_EQ(0, cg_disagrees(TOP));
	EXPECT_TRUE(member_part(&m, CHECK, PAGES - 100, 100)) TH_LOG("a page is wrong");
	leave(_metadata, &m, TOP "/a");

	/* A group with so little swap has no stocks. Nor have those in it. */
	ASSERT_EQ(0, make("b"));
	ASSERT_EQ(0, ssw_cgroup_set(TOP, "memory.swap.high", (NEAR - 1) * (long long)SSW_PAGE));
	m = member_start(TOP "/b", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	member_part(&m, OUT, 0, 1);
	EXPECT_EQ(1, pages_of(TOP "/b", "memory.swap.peak")) TH_LOG("a stock near a limit");
	leave(_metadata, &m, TOP "/b");
	EXPECT_EQ(0, cg_remove(TOP));
}

/* Slots are freed on other CPUs than those that allocated them, at all levels of groups. */
SSW_BODY(stock, freed_elsewhere)
{
	struct member m[SSW_MANY];
	struct ssw_areas a;
	char name[64];

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, make("mid"));
	ASSERT_EQ(0, ssw_write(SSW_CG "/" TOP "/mid/cgroup.subtree_control", "+memory"));
	for (int i = 0; i < a.n; i++) {
		snprintf(name, sizeof(name), TOP "/mid/c%d", i);
		ASSERT_EQ(0, cg_make(name));
		m[i] = member_start(name, a.cpu[i], PAGES, i);
		member_step(&m[i], STAMP);
		member_step(&m[i], OUT);
	}
	for (int round = 1; round <= a.n; round++) {
		for (int i = 0; i < a.n; i++) {
			member_part(&m[i], PIN, a.cpu[(i + round) % a.n], 0);
			member_part(&m[i], DROP, 0, PAGES / 2);
		}
		EXPECT_EQ(0, cg_disagrees(TOP "/mid")) TH_LOG("round %d", round);
		EXPECT_EQ(0, cg_disagrees(TOP)) TH_LOG("round %d", round);
		for (int i = 0; i < a.n; i++) {
			member_part(&m[i], STAMP, 0, PAGES / 2);
			member_part(&m[i], OUT, 0, PAGES / 2);
			EXPECT_TRUE(member_step(&m[i], CHECK)) TH_LOG("a page is wrong");
			member_step(&m[i], OUT);
		}
		EXPECT_EQ(0, cg_disagrees(TOP)) TH_LOG("round %d", round);
	}
	for (int i = 0; i < a.n; i++) {
		EXPECT_FALSE(member_step(&m[i], LEAVE));
		EXPECT_EQ(0, m[i].status);
	}
	for (int i = 0; i < a.n; i++) {
		snprintf(name, sizeof(name), TOP "/mid/c%d", i);
		EXPECT_EQ(0, cg_left(name));
		EXPECT_EQ(0, cg_remove(name));
	}
	EXPECT_EQ(0, cg_left(TOP));
	EXPECT_EQ(0, cg_remove(TOP "/mid"));
	EXPECT_EQ(0, still_dying());
	EXPECT_EQ(0, cg_remove(TOP));
}

/* Pages in stocks of other CPUs, and other groups, do not count for a limit above them. */
SSW_BODY(stock, limit_is_reached)
{
	long long limit = NEAR + 2 * PAGES, others;
	struct member m[SSW_MANY];
	struct ssw_areas a;

	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	ASSERT_EQ(0, make("a"));
	ASSERT_EQ(0, ssw_cgroup_set(TOP, "memory.swap.max", limit * SSW_PAGE));
	m[0] = member_start(TOP "/a", a.cpu[0], limit + PAGES, 100);
	member_step(&m[0], STAMP);
	others = stock_others(&a, m);
	ASSERT_LE(0, others) TH_LOG("no stocks");
	member_part(&m[0], OUT, 0, limit - others - a.n - BATCH);
	EXPECT_EQ(0, cg(TOP, "memory.swap.events", "max"));
	EXPECT_EQ(0, cg(TOP "/a", "memory.swap.events", "fail"));
	member_step(&m[0], OUT);
	EXPECT_EQ(limit, ssw_sum("used")) TH_LOG("the limit is not used to its end, or exceeded");
	EXPECT_EQ(limit, pages_of(TOP, "memory.swap.current"));
	EXPECT_EQ(limit, pages_of(TOP, "memory.swap.peak"));
	EXPECT_LE(1, cg(TOP, "memory.swap.events", "max"));
	EXPECT_TRUE(member_step(&m[0], CHECK)) TH_LOG("a page is wrong");
	leave_others(_metadata, &a, m);
	leave(_metadata, &m[0], TOP "/a");
	EXPECT_EQ(0, still_dying());
	EXPECT_EQ(0, cg_remove(TOP));
}

/*
 * Use up a limit but for what stocks of other CPUs have, and reclaim. Return false if some of these
 * were given back before, so that there was nothing to see: reclaim of the whole machine does so if
 * it asks how much swap is left, or needs the stock for pages of others.
 */
static bool left_for_reclaim(struct __test_metadata *_metadata, const struct ssw_areas *a)
{
	long long limit = NEAR + 2 * PAGES, others, at;
	struct member m[SSW_MANY];
	bool there;

	ASSERT_EQ(0, make("a"));
	ASSERT_EQ(0, ssw_cgroup_set(TOP, "memory.swap.max", limit * SSW_PAGE));
	m[0] = member_start(TOP "/a", a->cpu[0], limit + PAGES, 100);
	member_step(&m[0], STAMP);
	others = stock_others(a, m);
	ASSERT_LE(0, others) TH_LOG("no stocks");
	at = limit - others - a->n - BATCH;
	member_part(&m[0], OUT, 0, at);
	while (at < limit && pages_of(TOP, "memory.swap.peak") < limit)
		member_part(&m[0], OUT, at++, 1);
	ASSERT_EQ(limit, pages_of(TOP, "memory.swap.peak"));
	there = ssw_sum("used") == limit - others;
	if (!there)
		TH_LOG("%lld pages of %lld are used: stocks are gone", ssw_sum("used"), limit);
	for (int i = 0; i < 100 && ssw_sum("used") < limit; i++)
		cg_reclaim(TOP);
	EXPECT_EQ(limit, ssw_sum("used")) TH_LOG("pages in stocks keep reclaim from swapping");
	EXPECT_TRUE(member_step(&m[0], CHECK)) TH_LOG("a page is wrong");
	leave_others(_metadata, a, m);
	leave(_metadata, &m[0], TOP "/a");
	EXPECT_EQ(0, cg_remove(TOP));
	return there;
}

/* Reclaim goes on as long as there is swap for it, though stocks have all of it. */
SSW_BODY(stock, left_for_reclaim)
{
	struct ssw_areas a;
	bool there = false;

	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	for (int i = 0; i < 5 && !there; i++)
		there = left_for_reclaim(_metadata, &a);
	EXPECT_TRUE(there) TH_LOG("stocks are given back before a charge is refused");
}

/* A limit that is set below what is in use lets nothing more out, stock or not. */
SSW_BODY(stock, limit_is_lowered)
{
	struct ssw_areas a;
	long long used;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, 1));
	ASSERT_EQ(0, make("a"));
	m = member_start(TOP "/a", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	member_part(&m, OUT, 0, BATCH + 2);
	used = ssw_sum("used");
	ASSERT_EQ(BATCH + 2, used);
	ASSERT_EQ(2 * BATCH + 2, pages_of(TOP "/a", "memory.swap.peak")) TH_LOG("no stock");
	ASSERT_EQ(0, ssw_cgroup_set(TOP "/a", "memory.swap.max", BATCH * SSW_PAGE));
	member_part(&m, OUT, BATCH + 2, BATCH / 2);
	EXPECT_EQ(used, ssw_sum("used")) TH_LOG("a stock was charged that the limit forbids");
	EXPECT_LE(1, cg(TOP "/a", "memory.swap.events", "max"));
	ASSERT_EQ(0, ssw_cgroup_set(TOP "/a", "memory.swap.max", -1));
	member_part(&m, OUT, BATCH + 2, BATCH / 2);
	EXPECT_EQ(used + BATCH / 2, ssw_sum("used"));
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	leave(_metadata, &m, TOP "/a");
	EXPECT_EQ(0, cg_remove(TOP));
}

/* memory.swap.high counts and throttles what is swapped, not what is in stocks. */
SSW_BODY(stock, high)
{
	long long high = NEAR + 2 * PAGES, others;
	struct member m[SSW_MANY];
	struct ssw_areas a;

	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	ASSERT_EQ(0, make("a"));
	ASSERT_EQ(0, ssw_cgroup_set(TOP, "memory.swap.high", high * SSW_PAGE));
	m[0] = member_start(TOP "/a", a.cpu[0], high + 3 * PAGES, 100);
	member_part(&m[0], STAMP, 0, high + PAGES);
	others = stock_others(&a, m);
	ASSERT_LE(0, others) TH_LOG("no stocks");
	member_part(&m[0], OUT, 0, high - 10);
	ASSERT_LT(high, pages_of(TOP, "memory.swap.peak"));
	ASSERT_GE(high, ssw_sum("used"));
	/* The throttling is looked at when memory is charged. */
	member_part(&m[0], STAMP, high + PAGES, PAGES);
	EXPECT_EQ(0, cg(TOP, "memory.swap.events", "high")) TH_LOG("stocks count for high");
	member_part(&m[0], OUT, 0, high + 100);
	member_part(&m[0], STAMP, high + 2 * PAGES, PAGES);
	EXPECT_LE(1, cg(TOP, "memory.swap.events", "high"));
	leave_others(_metadata, &a, m);
	leave(_metadata, &m[0], TOP "/a");
	EXPECT_EQ(0, cg_remove(TOP));
}

/* A stock does not keep a group that is removed. */
SSW_BODY(stock, removed)
{
	struct member m[SSW_MANY];
	struct ssw_areas a;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_LE(0, stock_others(&a, m)) TH_LOG("no stocks");
	leave_others(_metadata, &a, m);
	EXPECT_EQ(0, still_dying()) TH_LOG("groups without pages are not freed");
	EXPECT_EQ(0, cg_left(TOP));
	EXPECT_EQ(0, cg_remove(TOP));
}

/* The slots of a group that has been removed are freed: that makes no stock of its own. */
SSW_BODY(stock, removed_with_slots)
{
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, make("a"));
	ASSERT_EQ(0, make("b"));
	m = member_start(TOP "/a", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	EXPECT_TRUE(out(&m, 0, PAGES));
	ASSERT_EQ(0, cg_move(TOP "/b", m.pid));
	EXPECT_EQ(0, cg_remove(TOP "/a"));
	EXPECT_EQ(1, dying());
	/* Its slots are charged to it, and to those above it. */
	EXPECT_EQ(0, cg_disagrees(TOP));
	EXPECT_TRUE(member_part(&m, CHECK, 0, 10)) TH_LOG("a page is wrong");
	member_part(&m, PIN, a.cpu[a.n - 1], 0);
	member_part(&m, DROP, 0, PAGES / 2);
	EXPECT_EQ(0, cg_disagrees(TOP));
	member_part(&m, DROP, PAGES / 2, PAGES / 2);
	/* Pages that it has had from the beginning, such as its stack, are charged to the group. */
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
	EXPECT_EQ(0, still_dying()) TH_LOG("a stock of a group that was removed");
	EXPECT_EQ(0, cg_left(TOP));
	EXPECT_EQ(0, cg_remove(TOP "/b"));
	EXPECT_EQ(0, cg_remove(TOP));
}

/* The stock of a CPU that has gone offline is found by the others. */
SSW_BODY(stock, cpu_offline)
{
	struct ssw_areas a;
	struct member m;
	int last;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	last = a.cpu[a.n - 1];
	if (!last || ssw_set_online(last, false) || ssw_set_online(last, true))
		SKIP(return, "CPU %d cannot be taken offline", last);
	ASSERT_EQ(0, make("a"));
	m = member_start(TOP "/a", last, PAGES, 1);
	member_step(&m, STAMP);
	member_part(&m, OUT, 0, BATCH + 2);
	ASSERT_EQ(2 * BATCH + 2, pages_of(TOP "/a", "memory.swap.peak")) TH_LOG("no stock");
	member_part(&m, PIN, a.cpu[0], 0);
	ASSERT_EQ(0, ssw_set_online(last, false));
	EXPECT_EQ(BATCH + 2, pages_of(TOP "/a", "memory.swap.current"));
	EXPECT_EQ(BATCH + 2, pages_of(TOP, "memory.swap.current"));
	EXPECT_TRUE(member_part(&m, CHECK, 0, PAGES)) TH_LOG("a page is wrong");
	ASSERT_EQ(0, ssw_set_online(last, true));

	/* Such a stock does not keep the group either. */
	member_part(&m, PIN, last, 0);
	EXPECT_TRUE(out(&m, 0, PAGES));
	EXPECT_EQ(0, cg_disagrees(TOP));
	member_step(&m, DROP);
	member_part(&m, PIN, a.cpu[0], 0);
	ASSERT_EQ(0, ssw_set_online(last, false));
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
	EXPECT_EQ(0, cg_remove(TOP "/a"));
	EXPECT_EQ(0, still_dying());
	EXPECT_EQ(0, ssw_set_online(last, true));
	EXPECT_EQ(0, cg_left(TOP));
	EXPECT_EQ(0, cg_remove(TOP));
}

/* The root has no counter of its own, but its id has references. */
SSW_BODY(stock, root)
{
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	m = member_start("", a.cpu[0], PAGES, 1);
	for (int i = 0; i < 2 * a.n; i++) {
		member_part(&m, PIN, a.cpu[i % a.n], 0);
		member_step(&m, STAMP);
		member_step(&m, OUT);
		EXPECT_LE(PAGES - SSW_SLACK, ssw_sum("used"));
		EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
		member_part(&m, DROP, 0, PAGES / 2);
	}
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
}

/* Processes on all CPUs, in two levels of groups, at the limit of the one above. */
SSW_BODY(stock, crowd)
{
	long long limit = NEAR + PAGES, current, over = 0;
	pid_t pid[2 * SSW_MANY];
	struct ssw_areas a;
	char name[64];
	int n = 0, left;

	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(TOP));
	ASSERT_EQ(0, ssw_cgroup_set(TOP, "memory.swap.max", limit * SSW_PAGE));
	for (int i = 0; i < 2 * a.n; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		ASSERT_EQ(0, make(name));
		snprintf(name, sizeof(name), TOP "/c%d", i);
		pid[i] = ssw_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			const size_t pages = 3 * limit / (2 * a.n) / 2;
			char *p = ssw_map(pages, false);
			long bad = 0;

			if (cg_move(name, getpid()))
				_exit(50);
			for (int round = 0; round < 8; round++) {
				ssw_pin(a.cpu[(i + round) % a.n]);
				ssw_stamp(p, pages, i);
				madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
				ssw_pin(a.cpu[(i + round + 1) % a.n]);
				bad += ssw_wrong(p, pages / 2, i);
				madvise(p + pages / 2 * SSW_PAGE, pages / 4 * SSW_PAGE,
					MADV_DONTNEED);
			}
			_exit(bad ? 1 : 0);
		}
		n++;
	}
	for (left = n; left; usleep(5000)) {
		current = pages_of(TOP, "memory.swap.current");
		/* Each CPU counts a charge before it sees that it is refused. */
		if (current > limit + a.n && current > over)
			over = current;
		for (int i = 0; i < n; i++) {
			int status;

			if (pid[i] && waitpid(pid[i], &status, WNOHANG) == pid[i]) {
				EXPECT_EQ(0, status);
				pid[i] = 0;
				left--;
			}
		}
	}
	EXPECT_EQ(0, over) TH_LOG("%lld pages are above the limit of %lld", over, limit);
	EXPECT_EQ(0, cg_left(TOP));
	EXPECT_LE(1, cg(TOP, "memory.swap.events", "max")) TH_LOG("the limit was not met");
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), TOP "/c%d", i);
		EXPECT_EQ(0, cg_remove(name));
	}
	EXPECT_EQ(0, still_dying());
	EXPECT_EQ(0, cg_remove(TOP));
}

TEST_HARNESS_MAIN
