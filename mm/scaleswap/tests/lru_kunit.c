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
	const unsigned long mask = (1UL << 20) - 1, batch = SCALESWAP_LRU_BATCH;
	const unsigned long all = 8 * (mask + 1);
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

/* Pages that come and go by the batch are counted by their CPU alone; none is lost. */
static void ssw_test_lru_vmstat(struct kunit *test)
{
	long all = 0, sum = 0, n;
	s8 diff = 0;

	for (n = 0; n < 4; n++) {
		KUNIT_EXPECT_EQ(test, ssw_lru_vmstat(&diff, 30, 64), 0);
		KUNIT_EXPECT_EQ(test, diff, 64);
		KUNIT_EXPECT_EQ(test, ssw_lru_vmstat(&diff, 30, -31), 0);
		KUNIT_EXPECT_EQ(test, ssw_lru_vmstat(&diff, 30, -33), 0);
		KUNIT_EXPECT_EQ(test, diff, 0);
	}
	/* It is four times vmstat's threshold; beyond it all is for all. */
	KUNIT_EXPECT_EQ(test, ssw_lru_vmstat(&diff, 30, -120), 0);
	KUNIT_EXPECT_EQ(test, ssw_lru_vmstat(&diff, 30, -1), -121);
	KUNIT_EXPECT_EQ(test, diff, 0);
	/* However high vmstat's is, it fits, and so do large folios. */
	for (n = 1; n < 4096; n += 1 + n / 8) {
		all += ssw_lru_vmstat(&diff, 125, n);
		sum += n;
		KUNIT_EXPECT_EQ(test, all + diff, sum);
	}
	for (; n > 0; n -= 1 + n / 8) {
		all += ssw_lru_vmstat(&diff, 125, -n);
		sum -= n;
		KUNIT_EXPECT_EQ(test, all + diff, sum);
	}
}

/* Each shard has CPUs that are neighbours, about as many as others; CPUs added later have one. */
static void ssw_test_lru_place(struct kunit *test)
{
	unsigned int cpus, nr, cpu;

	for (cpus = 1; cpus <= 40; cpus++) {
		for (nr = 1; nr <= cpus; nr++) {
			unsigned int last = 1, with = 0;

			for (cpu = 0; cpu < cpus; cpu++) {
				unsigned int id = ssw_lru_place(cpu, cpus, nr);

				if (id != last) {
					KUNIT_EXPECT_EQ(test, id, last + 1);
					KUNIT_EXPECT_GE(test, with, cpus / nr);
					with = 0;
				}
				KUNIT_EXPECT_LE(test, ++with, DIV_ROUND_UP(cpus, nr));
				last = id;
			}
			KUNIT_EXPECT_EQ(test, last, nr);
			KUNIT_EXPECT_EQ(test, ssw_lru_place(cpus, cpus, nr), 1);
			KUNIT_EXPECT_LE(test, ssw_lru_place(8191, cpus, nr), nr);
		}
	}
}

/* An evictor swaps out in the place of the CPUs of a shard, each as often as the others. */
static void ssw_test_lru_member(struct kunit *test)
{
	unsigned int cpus, nr, id, cpu, turn;

	for (cpus = 1; cpus <= 40; cpus++) {
		for (nr = 1; nr <= cpus; nr++) {
			unsigned int all = 0;

			for (id = 1; id <= nr; id++) {
				unsigned int first = ssw_lru_member(id, cpus, nr, 0);

				for (turn = 0; !turn || cpu != first; turn++) {
					cpu = ssw_lru_member(id, cpus, nr, turn);
					KUNIT_EXPECT_EQ(test, ssw_lru_place(cpu, cpus, nr), id);
					cpu = ssw_lru_member(id, cpus, nr, turn + 1);
				}
				all += turn;
			}
			KUNIT_EXPECT_EQ(test, all, cpus);
		}
	}
	/* More shards than CPUs: some have none. */
	KUNIT_EXPECT_EQ(test, ssw_lru_member(2, 1, 2, 0), UINT_MAX);
}

/* A shard's number and a stray's fit, or there are none for strays. */
static void ssw_test_lru_spare(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_lru_spare(1, 7), 1);
	KUNIT_EXPECT_EQ(test, ssw_lru_spare(31, 63), 31);
	KUNIT_EXPECT_EQ(test, ssw_lru_spare(32, 63), 0);
	KUNIT_EXPECT_EQ(test, ssw_lru_spare(127, 255), 127);
	KUNIT_EXPECT_EQ(test, ssw_lru_spare(255, 255), 0);
}

/* Both kinds of shadow nodes get what is due to them. */
static void ssw_test_shadow_share(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(128, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(128, 0, 1000), 0);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(128, 1000, 0), 128);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(128, 1000, 1000), 64);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(128, 1, 1000000), 1);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(0, 1000, 1000), 0);
	KUNIT_EXPECT_EQ(test, ssw_shadow_share(1UL << 40, 1UL << 20, 3UL << 20), 1UL << 38);
}

/* Costs of both types are halved at once, and keep their ratio, however large the one is. */
static void ssw_test_lru_costs(struct kunit *test)
{
	struct scaleswap_shards *shards = kunit_kzalloc(test, sizeof(*shards), GFP_KERNEL);
	const long most = 4096;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, shards);
	ssw_cost_add(shards, false, 3000, most);
	ssw_cost_add(shards, true, 1000, most);
	KUNIT_EXPECT_EQ(test, 3000, atomic_long_read(&shards->anon_cost));
	KUNIT_EXPECT_EQ(test, 1000, atomic_long_read(&shards->file_cost));
	ssw_cost_add(shards, true, 200, most);
	KUNIT_EXPECT_EQ(test, 1500, atomic_long_read(&shards->anon_cost));
	KUNIT_EXPECT_EQ(test, 600, atomic_long_read(&shards->file_cost));
	/* From now on page cache costs seven times as much. */
	for (i = 0; i < 8000; i++) {
		ssw_cost_add(shards, i % 8, 32, most);
		KUNIT_EXPECT_GE(test, most, atomic_long_read(&shards->anon_cost) +
					    atomic_long_read(&shards->file_cost));
	}
	KUNIT_EXPECT_LE(test, 6 * atomic_long_read(&shards->anon_cost),
			atomic_long_read(&shards->file_cost));
	KUNIT_EXPECT_GE(test, 8 * atomic_long_read(&shards->anon_cost),
			atomic_long_read(&shards->file_cost));
	/* What is not reclaimed any more counts for nothing in the end. */
	for (i = 0; i < 8000; i++)
		ssw_cost_add(shards, true, 32, most);
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&shards->anon_cost));
	KUNIT_EXPECT_LE(test, most / 2, atomic_long_read(&shards->file_cost));
}

static struct kunit_case ssw_test_lru_cases[] = {
	KUNIT_CASE(ssw_test_lru_distance),
	KUNIT_CASE(ssw_test_lru_distance_order),
	KUNIT_CASE(ssw_test_lru_vmstat),
	KUNIT_CASE(ssw_test_lru_place),
	KUNIT_CASE(ssw_test_lru_member),
	KUNIT_CASE(ssw_test_lru_spare),
	KUNIT_CASE(ssw_test_shadow_share),
	KUNIT_CASE(ssw_test_lru_costs),
	{}
};

static struct kunit_suite ssw_test_lru_suite = {
	.name = "scaleswap_lru",
	.test_cases = ssw_test_lru_cases,
};

kunit_test_suite(ssw_test_lru_suite);
