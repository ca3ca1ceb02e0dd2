// SPDX-License-Identifier: GPL-2.0
/*
 * Generations (MGLRU) of LRU shards.
 */
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
	EXPECT_TRUE(generations());
}

/* Pages that come back to a shard count as refaults of their group. */
SSW_BODY(lru_gen, refaults_are_counted)
{
	const long pages = 1500;
	bool was = generations();
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
	ASSERT_EQ(0, tell_all(&m, STAMP, 1));
	EXPECT_EQ(pages, tell_all(&m, OUT, 0));
	EXPECT_GE(OWN, evict(OWN / 2));
	before = cg(GROUP, "memory.stat", "workingset_refault_anon");
	ASSERT_EQ(0, tell_all(&m, CHECK, 1));
	EXPECT_TRUE(stats_caught_up());
	seen = cg(GROUP, "memory.stat", "workingset_refault_anon") - before;
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
	const long each = 1500, high = 3600, piece = 100;
	struct ssw_areas areas;
	bool was = generations();
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
	for (int round = 0; round < 40; round++) {
		const long from = round * piece % each;

		for (int i = 0; i < 4; i++)
			ask(&m[i], CHECK, 0, each, i);
		EXPECT_EQ(0, ssw_write(GEN, round % 2 ? "n" : "y"));
		EXPECT_EQ(!(round % 2), generations());
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

TEST_HARNESS_MAIN
