// SPDX-License-Identifier: GPL-2.0
/*
 * Memory control groups and per-core areas: limits are kept and counted, every slot is
 * charged to its owner's group and uncharged once, and groups that are removed with pages
 * in swap do no harm.
 */
#include "harness.h"
#include "cg_util.h"

SSW_FIXTURE(group, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	500

/* Its processes are gone, and so, after a while, is its swap. */
static void uncharged(struct __test_metadata *_metadata, const char *group)
{
	long long left = cg_left(group);

	EXPECT_EQ(0, left) TH_LOG("%lld bytes of swap stay charged to %s", left, group);
}

/* The swap charged is the swap in the areas: after swap-out, swap-in, fork and drop. */
SSW_BODY(group, current_is_what_is_in_swap)
{
	struct ssw_areas a;
	pid_t pid;
	char *p;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	EXPECT_EQ(0, cg_disagrees("ssw"));
	for (int i = 0; i < a.n; i++) {
		ssw_pin(a.cpu[i]);
		p = ssw_map(PAGES, false);
		ssw_stamp(p, PAGES, 1);
		ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
		EXPECT_EQ(0, cg_disagrees("ssw")) TH_LOG("after swapping out");
		ssw_evict("ssw");
		EXPECT_EQ(0, cg_disagrees("ssw"));
		EXPECT_LE(PAGES * (long long)SSW_PAGE, cg("ssw", "memory.swap.current", NULL));
		EXPECT_EQ(0, ssw_wrong(p, PAGES / 2, 1));
		EXPECT_EQ(0, cg_disagrees("ssw")) TH_LOG("after swapping in");
		ssw_pageout(p, PAGES);
		pid = ssw_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			ssw_pin(a.cpu[(i + 1) % a.n]);
			ssw_stamp(p, PAGES / 3, 2);
			_exit(0);
		}
		EXPECT_EQ(0, ssw_join(pid));
		EXPECT_EQ(0, cg_disagrees("ssw")) TH_LOG("after a fork");
		munmap(p, PAGES * SSW_PAGE);
		EXPECT_EQ(0, cg_disagrees("ssw")) TH_LOG("after munmap");
	}
}

/* memory.swap.max is kept, and memory.swap.events counts the refused pages. */
SSW_BODY(group, limit_and_events)
{
	const long limit = 200;
	long long max, fail;
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, cg_make("ssw-a"));
	ASSERT_EQ(0, ssw_cgroup_set("ssw-a", "memory.swap.max", limit * SSW_PAGE));
	m = member_start("ssw-a", a.cpu[a.n - 1], PAGES, 1);
	member_step(&m, STAMP);
	max = cg("ssw-a", "memory.swap.events", "max");
	fail = cg("ssw-a", "memory.swap.events", "fail");
	EXPECT_EQ(0, max);
	EXPECT_EQ(0, fail);
	member_step(&m, OUT);
	EXPECT_GE(limit * (long long)SSW_PAGE, cg("ssw-a", "memory.swap.current", NULL));
	EXPECT_LE((limit - SSW_SLACK) * (long long)SSW_PAGE,
		  cg("ssw-a", "memory.swap.current", NULL));
	EXPECT_LE(1, cg("ssw-a", "memory.swap.events", "max") - max);
	EXPECT_LE(1, cg("ssw-a", "memory.swap.events", "fail") - fail);
	EXPECT_EQ(0, cg_disagrees("ssw-a")) TH_LOG("slots leak when the group is at its limit");
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	/* No swap at all for it. */
	ASSERT_EQ(0, ssw_cgroup_set("ssw-a", "memory.swap.max", 0));
	member_step(&m, STAMP);
	member_step(&m, OUT);
	EXPECT_EQ(0, cg_disagrees("ssw-a"));
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	ASSERT_EQ(0, ssw_cgroup_set("ssw-a", "memory.swap.max", -1));
	fail = cg("ssw-a", "memory.swap.events", "fail");
	member_step(&m, STAMP);
	member_step(&m, OUT);
	EXPECT_EQ(fail, cg("ssw-a", "memory.swap.events", "fail"));
	EXPECT_LE((PAGES - SSW_SLACK) * (long long)SSW_PAGE,
		  cg("ssw-a", "memory.swap.current", NULL));
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
	uncharged(_metadata, "ssw-a");
	EXPECT_EQ(0, cg_remove("ssw-a"));
}

/*
 * A page that comes back keeps its slot, unless half of memory.swap.max is used up: the group's own
 * or that of one above.
 */
SSW_BODY(group, half_of_the_limit)
{
	static const char * const limited[] = { "ssw-a", "ssw-a/b" };
	const long long half = PAGES / 2 * (long long)SSW_PAGE;
	const long long all = (PAGES - SSW_SLACK) * (long long)SSW_PAGE;
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, cg_make("ssw-a"));
	ASSERT_EQ(0, ssw_write(SSW_CG "/ssw-a/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, cg_make("ssw-a/b"));
	m = member_start("ssw-a/b", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	member_step(&m, OUT);
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	EXPECT_LE(all, cg("ssw-a", "memory.swap.current", NULL)) TH_LOG("no limit");
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_cgroup_set(limited[i], "memory.swap.max", 2 * half));
		member_step(&m, STAMP);
		member_step(&m, OUT);
		EXPECT_LE(all, cg("ssw-a", "memory.swap.current", NULL));
		EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
		EXPECT_GT(half, cg("ssw-a", "memory.swap.current", NULL))
			TH_LOG("limit of %s", limited[i]);
		ASSERT_EQ(0, ssw_cgroup_set(limited[i], "memory.swap.max", -1));
	}
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
	uncharged(_metadata, "ssw-a");
	EXPECT_EQ(0, cg_remove("ssw-a/b"));
	EXPECT_EQ(0, cg_remove("ssw-a"));
}

/* All areas full: that is a failure too, and counted. */
SSW_BODY(group, full_counts_as_failure)
{
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 200, 2));
	ASSERT_EQ(0, cg_make("ssw-a"));
	m = member_start("ssw-a", a.cpu[0], 1000, 1);
	member_step(&m, STAMP);
	member_step(&m, OUT);
	EXPECT_LT(0, cg("ssw-a", "memory.swap.events", "fail"));
	EXPECT_EQ(0, cg("ssw-a", "memory.swap.events", "max"));
	EXPECT_EQ(0, cg_disagrees("ssw-a"));
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
	uncharged(_metadata, "ssw-a");
	EXPECT_EQ(0, cg_remove("ssw-a"));
}

/* A group removed while its pages are in swap, their process being in another. */
SSW_BODY(group, removed)
{
	struct ssw_areas a;
	struct member m[3];

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, cg_make("ssw-top"));
	ASSERT_EQ(0, ssw_write(SSW_CG "/ssw-top/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, cg_make("ssw-top/a"));
	ASSERT_EQ(0, cg_make("ssw-top/b"));
	for (int i = 0; i < 3; i++) {
		m[i] = member_start("ssw-top/a", a.cpu[i % a.n], PAGES, i + 1);
		member_step(&m[i], STAMP);
		member_step(&m[i], OUT);
	}
	cg_reclaim("ssw-top");
	EXPECT_EQ(0, cg_disagrees("ssw-top"));
	EXPECT_LE(2 * PAGES * (long long)SSW_PAGE, cg("ssw-top/a", "memory.swap.current", NULL));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, cg_move("ssw-top/b", m[i].pid));
	}
	EXPECT_EQ(0, cg_remove("ssw-top/a")) TH_LOG("a group with pages in swap cannot be removed");
	/* Its charges are still counted in its parent. */
	EXPECT_EQ(0, cg_disagrees("ssw-top"));
	/* Read, dropped, ended with. */
	EXPECT_TRUE(member_step(&m[0], CHECK)) TH_LOG("a page is wrong");
	member_step(&m[1], DROP_HALF);
	EXPECT_TRUE(member_step(&m[1], CHECK)) TH_LOG("a page is wrong");
	EXPECT_EQ(0, cg_disagrees("ssw-top"));
	member_step(&m[0], STAMP);
	member_step(&m[0], OUT);
	EXPECT_TRUE(member_step(&m[0], CHECK)) TH_LOG("a page is wrong");
	for (int i = 0; i < 3; i++) {
		EXPECT_FALSE(member_step(&m[i], LEAVE));
		EXPECT_EQ(0, m[i].status);
	}
	uncharged(_metadata, "ssw-top");
	EXPECT_EQ(0, cg_remove("ssw-top/b"));
	EXPECT_EQ(0, cg_remove("ssw-top"));
}

/* The same, and then swapoff brings the orphans back. */
SSW_BODY(group, removed_then_swapoff)
{
	struct ssw_areas a;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, cg_make("ssw-a"));
	m = member_start("ssw-a", a.cpu[0], PAGES, 1);
	member_step(&m, STAMP);
	member_step(&m, OUT);
	cg_reclaim("ssw-a");
	ASSERT_EQ(0, cg_move("ssw", m.pid));
	EXPECT_EQ(0, cg_remove("ssw-a"));
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, ssw_swapoff(a.path[i]));
	}
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	EXPECT_FALSE(member_step(&m, LEAVE));
	EXPECT_EQ(0, m.status);
}

/* Many groups come and go, each with pages in swap to the end. */
SSW_BODY(group, many)
{
	struct ssw_areas a;
	char name[32];

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, cg_make("ssw-top"));
	ASSERT_EQ(0, ssw_write(SSW_CG "/ssw-top/cgroup.subtree_control", "+memory"));
	for (int i = 0; i < 40; i++) {
		struct member m;

		snprintf(name, sizeof(name), "ssw-top/g%d", i);
		ASSERT_EQ(0, cg_make(name));
		m = member_start(name, a.cpu[i % a.n], 60, i);
		member_step(&m, STAMP);
		member_step(&m, OUT);
		if (i % 2) {
			EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
		}
		kill(m.pid, SIGKILL);
		ssw_join(m.pid);
		EXPECT_EQ(0, cg_remove(name));
	}
	/* Orphans of groups that are gone belong to the one above. */
	uncharged(_metadata, "ssw-top");
	EXPECT_EQ(0, cg_remove("ssw-top"));
}

TEST_HARNESS_MAIN
