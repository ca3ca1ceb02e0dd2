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
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(0, mask, 0), 0);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(batch, mask, 0), batch);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(0 - 1UL, mask, 0), 0);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(0 - batch + 1, mask, 0), 0);
	/* The longest that there is: no CPU counts a whole batch for itself. */
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(mask - batch, mask, 0), mask - batch);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(mask + 1 + batch, mask, 0), batch);
}

/* In units of eight pages, the entry's bits tell eight times the distance apart. */
static void ssw_test_lru_distance_order(struct kunit *test)
{
	const unsigned long mask = (1UL << 20) - 1, all = 8 * (mask + 1), batch = SCALESWAP_LRU_BATCH;
	unsigned long evicted, left;

	if (!scaleswap_lru_on())
		kunit_skip(test, "LRU shards are off");
	for (evicted = 0; evicted < 3 * all; evicted += all / 7 + 3) {
		/* What workingset_eviction() stores, and what is read back */
		unsigned long kept = (evicted >> 3 & mask) << 3;

		for (left = 8; left < all - 8 - batch; left += all / 5 + 1) {
			unsigned long d = scaleswap_lru_distance(evicted + left - kept, mask, 3);

			KUNIT_EXPECT_GE(test, d, left);
			KUNIT_EXPECT_LT(test, d, left + 8);
		}
		KUNIT_EXPECT_EQ(test, scaleswap_lru_distance(kept - batch + 1 - kept, mask, 3), 0);
	}
}

static struct kunit_case ssw_test_lru_cases[] = {
	KUNIT_CASE(ssw_test_lru_distance),
	KUNIT_CASE(ssw_test_lru_distance_order),
	{}
};

static struct kunit_suite ssw_test_lru_suite = {
	.name = "scaleswap_lru",
	.test_cases = ssw_test_lru_cases,
};

kunit_test_suite(ssw_test_lru_suite);
