// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's LRU shards: arithmetic on what CPUs count in batches.
 */
#include <kunit/test.h>

#include "../internal.h"

/* A page that comes back at once is never far, though one CPU may have counted less. */
static void ssw_test_lru_distance(struct kunit *test)
{
	const unsigned long mask = (1UL << 20) - 1, batch = SCALESWAP_LRU_BATCH;

	if (!scaleswap_lru_on())
		kunit_skip(test, "LRU shards are off");
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(0, mask), 0);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(batch, mask), batch);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance((0 - 1UL) & mask, mask), 0);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance((0 - batch + 1) & mask, mask), 0);
	/* The longest that there is: no CPU counts a whole batch for itself. */
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(mask - batch, mask), mask - batch);
}

static struct kunit_case ssw_test_lru_cases[] = {
	KUNIT_CASE(ssw_test_lru_distance),
	{}
};

static struct kunit_suite ssw_test_lru_suite = {
	.name = "scaleswap_lru",
	.test_cases = ssw_test_lru_cases,
};

kunit_test_suite(ssw_test_lru_suite);
