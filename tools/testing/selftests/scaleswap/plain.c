// SPDX-License-Identifier: GPL-2.0
/*
 * Plain areas, with whatever is the most of them: on a kernel booted with and
 * without scaleswap, and on the base kernel, the results are the same.
 */
#include "harness.h"

SSW_FIXTURE(plain, SSW_NEED_DIR | SSW_NEED_CG)

/* 247, or what the base kernel allows. */
static int areas_max(void)
{
	long long max = ssw_num(SSW_SYS "/areas_max");

	return max > 0 ? max : 23;
}

SSW_TEST_F(plain, as_many_as_fit)
{
	static struct ssw_swap s[300];
	int max = areas_max();
	const size_t total = max * WIDE_PAGES - WIDE_PAGES / 2;
	bool base = access(SSW_SYS, F_OK);
	long per[258], empty = 0;
	char *p;

	ASSERT_EQ(0, wide_files(max + 1));
	for (int i = 0; i < max; i++) {
		ASSERT_EQ(0, ssw_swapon(wide_file(i))) TH_LOG("area %d", i);
	}
	ASSERT_EQ(max, ssw_proc_swaps(s, 300));
	EXPECT_EQ(-EPERM, ssw_swapon(wide_file(max)));
	for (int i = 0; i < max; i++) {
		EXPECT_STREQ(wide_file(i), s[i].path);
		EXPECT_EQ(WIDE_PAGES * 4, s[i].kb);
	}
	p = ssw_map(total, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, total, 1);
	ssw_pageout(p, total);
	ASSERT_EQ(0, ssw_where(p, total, per));
	for (int t = 0; t < max; t++)
		empty += !per[t];
	EXPECT_LE(total - total / 20, total - per[256])
		TH_LOG("%ld of %zu pages would not go out", per[256], total);
	/* The base's priorities fall with every swapon: the last may be empty. */
	EXPECT_GE(1, empty) TH_LOG("%ld areas got no page", empty);
	EXPECT_EQ(0, per[257]);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, total, 1));
	for (int t = 0; t < max; t += base ? 1 : 5) {
		EXPECT_EQ(0, ssw_swapoff(wide_file(t)));
	}
	EXPECT_EQ(0, ssw_wrong(p, total, 1));
}

SSW_TEST_F(plain, priorities)
{
	char *p = ssw_map(600, false);
	long per[258];

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 512));
	}
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(0), 1));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(1), 100));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(2), 50));
	ssw_stamp(p, 600, 1);
	ASSERT_EQ(300, ssw_pageout(p, 300));
	ASSERT_EQ(0, ssw_where(p, 600, per));
	EXPECT_EQ(300, per[1]);
	ASSERT_EQ(600, ssw_pageout(p, 600));
	ASSERT_EQ(0, ssw_where(p, 600, per));
	EXPECT_LE(512 - SSW_SLACK, per[1]);
	EXPECT_EQ(600, per[1] + per[2]);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 600, 1));
}

/* With equal priorities the kernel swaps to a fixed set round-robin. */
SSW_TEST_F(plain, equal_priorities_share)
{
	char *p = ssw_map(1200, false);
	long per[258];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 1024));
		ASSERT_EQ(0, ssw_swapon_prio(ssw_file(i), 10));
	}
	ssw_stamp(p, 1200, 1);
	ASSERT_EQ(1200, ssw_pageout(p, 1200));
	ASSERT_EQ(0, ssw_where(p, 1200, per));
	EXPECT_EQ(1200, per[0] + per[1]);
	EXPECT_LT(100, per[0]);
	EXPECT_LT(100, per[1]);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 1200, 1));
}

TEST_HARNESS_MAIN
