/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault_harness.h - what tests of critical faults need and judge; see harness.h
 */
#ifndef SSW_FAULT_HARNESS_H
#define SSW_FAULT_HARNESS_H

#include "fault_util.h"
#include "harness.h"

/* The fixture of these tests: defaults before and after. */
#define FAULT_FIXTURE(name, needs)				\
FIXTURE(name) { int unused; };					\
FIXTURE_SETUP(name)						\
{								\
	const char *why = ssw_start(needs);			\
								\
	if (why)						\
		SKIP(return, "%s", why);			\
	fault_defaults();					\
}								\
FIXTURE_TEARDOWN(name)						\
{								\
	fault_defaults();					\
	ssw_end();						\
}

/* An area on the first spare drive, and the process on its CPU. */
#define ON_ONE_DRIVE()								\
	do {									\
		ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 8000));			\
		ASSERT_LE(0, ssw_on_cpu(ssw_bdev(0), 0));			\
		ASSERT_EQ(0, ssw_pin(0));					\
	} while (0)

/* A file in /sys/kernel/mm/scaleswap that refuses a value, and keeps the one it has. */
static inline void ssw_refused(struct __test_metadata *_metadata, const char *file,
			       const char *value, int err)
{
	char path[128], before[32], after[32];

	snprintf(path, sizeof(path), SSW_SYS "/%s", file);
	ASSERT_LT(0, ssw_read(path, before, sizeof(before)));
	EXPECT_EQ(-err, ssw_write(path, value)) TH_LOG("%s: '%s'", file, value);
	ASSERT_LT(0, ssw_read(path, after, sizeof(after)));
	EXPECT_STREQ(before, after) TH_LOG("%s: '%s'", file, value);
}

/* One that takes it. */
static inline void ssw_taken(struct __test_metadata *_metadata, const char *file,
			     const char *value, const char *shown)
{
	char path[128], after[32];

	snprintf(path, sizeof(path), SSW_SYS "/%s", file);
	EXPECT_EQ(0, ssw_write(path, value)) TH_LOG("%s: '%s'", file, value);
	ASSERT_LT(0, ssw_read(path, after, sizeof(after)));
	EXPECT_STREQ(shown, after) TH_LOG("%s: '%s'", file, value);
}

#define NEED_FAULT()					\
	do {						\
		const char *_why = fault_cannot();	\
							\
		if (_why)				\
			SKIP(return, "%s", _why);	\
	} while (0)

/* Drives with private queues, and with poll queues for bios. */
#define NEED_QUEUES()							\
	do {								\
		NEED_FAULT();						\
		if (fault_booted_with("nvme.swap_queues=0"))		\
			SKIP(return, "booted with nvme.swap_queues=0");	\
		ASSERT_TRUE(fault_can_direct(ssw_bdev(0)))		\
			TH_LOG("%s has no private queues", ssw_bdev(0)); \
		ASSERT_TRUE(fault_can_bio(ssw_bdev(0)))			\
			TH_LOG("%s has no poll queues", ssw_bdev(0));	\
	} while (0)

#define FAULT_PAGES	256
/* Faults that other processes, such as a shell, may add to the counters. */
#define FAULT_OTHERS	16

#define EXPECT_ABOUT(want, seen)						\
	do {									\
		EXPECT_LE((long long)(want), (long long)(seen));		\
		EXPECT_GE((long long)(want) + FAULT_OTHERS, (long long)(seen));	\
	} while (0)

/*
 * End the processes and judge them. Pages may be lost only if @may_lose, where a drive is
 * gone; none may be wrong, and no fault may take too long.
 */
static inline void fault_judge(struct __test_metadata *_metadata, const char *what,
			       struct fault_load *l, int n, bool may_lose)
{
	long long longest = fault_load_longest(l, n);

	EXPECT_EQ(0, fault_load_stop(l, n)) TH_LOG("%s", what);
	if (fault_load_longest(l, n) > longest)
		longest = fault_load_longest(l, n);
	fault_load_print(what, l, n);
	EXPECT_EQ(0, FAULT_SUM(l, n, wrong)) TH_LOG("%s: wrong pages", what);
	if (!may_lose) {
		EXPECT_EQ(0, FAULT_SUM(l, n, lost)) TH_LOG("%s: pages not to be read", what);
	}
	EXPECT_GT(FAULT_HANG_NS, longest) TH_LOG("%s: a fault took too long", what);
}

struct fault_way {
	const char *mode;
	bool direct, bio, irq, no_poll;
};

/* Read from an area on @dev in several modes, and expect the way that @ways says for each. */
static inline void fault_reads(struct __test_metadata *_metadata, const char *dev,
			       const struct fault_way *ways, size_t n)
{
	ASSERT_LE(0, ssw_on_cpu(dev, 0)) TH_LOG("%s", dev);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t i = 0; i < n; i++) {
		struct fault_count c;
		char *p;

		ASSERT_EQ(0, fault_set("mode", ways[i].mode));
		for (int shared = 0; shared <= 1; shared++) {
			p = fault_out(FAULT_PAGES, i + 1, shared);
			ASSERT_NE(NULL, p);
			fault_read(&c, "");
			EXPECT_EQ(0, ssw_wrong(p, FAULT_PAGES, i + 1)) TH_LOG("%s", dev);
			c = fault_since(&c, "");
			TH_LOG("%s, %s%s", dev, ways[i].mode, shared ? ", shared" : "");
			fault_print(ways[i].mode, &c);
			EXPECT_LE(FAULT_PAGES * 9 / 10, c.major);
			EXPECT_ABOUT(ways[i].direct ? c.major : 0, c.direct);
			EXPECT_ABOUT(ways[i].bio ? c.major : 0, c.bio);
			EXPECT_ABOUT(ways[i].irq ? c.major : 0, c.irq);
			EXPECT_ABOUT(ways[i].no_poll ? c.major : 0, c.no_poll);
			EXPECT_EQ(0, c.again + c.unfit);
			munmap(p, FAULT_PAGES * SSW_PAGE);
		}
	}
	EXPECT_EQ(0, fault_swapoff(dev, 120));
}

#endif /* SSW_FAULT_HARNESS_H */
