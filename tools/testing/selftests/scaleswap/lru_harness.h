/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lru_harness.h - what tests of LRU shards need and judge; see harness.h
 */
#ifndef SSW_LRU_HARNESS_H
#define SSW_LRU_HARNESS_H

#include "harness.h"
#include "lru_util.h"

#define NEED_SHARDS()				\
	do {					\
		const char *_why = cannot();	\
						\
		if (_why)			\
			SKIP(return, "%s", _why); \
	} while (0)

/* Active and inactive lists, and the clocks or tracepoints that go with these */
#define NEED_LISTS()							\
	do {								\
		NEED_SHARDS();						\
		if (ssw_generations())					\
			SKIP(return, "generations are on");		\
	} while (0)

#define NEED_TWO(a, b)							\
	do {								\
		if (!two_cpus(&(a), &(b)))				\
			SKIP(return, "all CPUs share one shard");	\
	} while (0)

#define NEED_FOUR(cpu)							\
	do {								\
		if (!four_cpus(cpu))					\
			SKIP(return, "needs four CPUs with a shard each"); \
	} while (0)

#define NEED_AREAS(a)							\
	do {								\
		if (!ssw_bdev(0))					\
			SKIP(return, "SSW_BDEVS names no spare block device"); \
		ASSERT_EQ(0, ssw_areas_on(a, 30000, SSW_MANY));		\
	} while (0)

#define NEED_INSTANT(a, pages, node)	NEED_NULLB(a, pages, node, NULL)

#define NEED_NULLB(a, pages, node, ns)					\
	do {								\
		if (access("/sys/kernel/config/nullb", F_OK))		\
			SKIP(return, "a kernel without null_blk");	\
		ASSERT_EQ(0, instant_on(a, pages, node, ns));		\
	} while (0)

#define EXPECT_ABOUT(n, seen)					\
	do {							\
		long _n = (n), _seen = (seen);			\
								\
		EXPECT_LE(_n - OWN, _seen);			\
		EXPECT_GE(_n + OWN, _seen);			\
		if (_seen < _n - OWN || _seen > _n + OWN)	\
			show_group();				\
	} while (0)

/* The processes have ended: nothing is left on any list, and the group goes. */
static inline void group_ends(struct __test_metadata *_metadata)
{
	long left = 0;

	ssw_for_looks(i) {
		left = at(ANY, ANON | LOCKED);
		if (!left)
			break;
		cg_reclaim(GROUP, 256);
		usleep(20000);
	}
	EXPECT_EQ(0, left) TH_LOG("%ld pages stay on lists of a group without processes", left);
	if (left)
		show_group();
	EXPECT_EQ(0, cg_remove(GROUP));
}

#endif /* SSW_LRU_HARNESS_H */
