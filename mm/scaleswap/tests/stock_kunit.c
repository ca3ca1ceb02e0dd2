// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's stocks of swap charges: when one may be begun, and what it takes
 * and gives back. The root's id stands for a slot's charge: nothing swaps yet. And of windows
 * of memory pressure.
 */
#include <kunit/test.h>
#include <linux/memcontrol.h>
#include <linux/page_counter.h>
#include <linux/preempt.h>
#include <linux/refcount.h>

#include "../../memcontrol-v1.h"
#include "../internal.h"

/* As in stock.c. */
#define SSW_TEST_BATCH	32
#define SSW_TEST_MAX	64

/* Both limits of all levels count, and the last page that is allowed. */
static void ssw_test_stock_room(struct kunit *test)
{
	struct page_counter *c = kunit_kcalloc(test, 3, sizeof(*c), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < 3; i++) {
		page_counter_init(&c[i], i ? &c[i - 1] : NULL, false);
		page_counter_set_high(&c[i], PAGE_COUNTER_MAX);
	}
	page_counter_charge(&c[2], 10);
	KUNIT_EXPECT_TRUE(test, ssw_stock_room(&c[2], 100));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, page_counter_set_max(&c[i], 110), 0);
		KUNIT_EXPECT_TRUE_MSG(test, ssw_stock_room(&c[2], 100), "max of level %d", i);
		KUNIT_EXPECT_FALSE_MSG(test, ssw_stock_room(&c[2], 101), "max of level %d", i);
		page_counter_set_max(&c[i], PAGE_COUNTER_MAX);
		page_counter_set_high(&c[i], 110);
		KUNIT_EXPECT_TRUE_MSG(test, ssw_stock_room(&c[2], 100), "high of level %d", i);
		KUNIT_EXPECT_FALSE_MSG(test, ssw_stock_room(&c[2], 101), "high of level %d", i);
		page_counter_set_high(&c[i], PAGE_COUNTER_MAX);
	}
	/* Used up, and above it. */
	page_counter_set_high(&c[0], 10);
	KUNIT_EXPECT_TRUE(test, ssw_stock_room(&c[2], 0));
	page_counter_charge(&c[2], 1);
	KUNIT_EXPECT_FALSE(test, ssw_stock_room(&c[2], 0));
}

/* A charge brings a batch, an overfull stock gives all but a batch back, a drain gives all. */
static void ssw_test_stock_batches(struct kunit *test)
{
	struct mem_cgroup *root = root_mem_cgroup;
	unsigned int refs, want;
	int i;

	if (mem_cgroup_disabled() || do_memsw_account())
		kunit_skip(test, "no memory controller of cgroup v2");
	migrate_disable();
	rcu_read_lock();
	__scaleswap_stock_drain(root);
	refs = refcount_read(&root->id.ref);
	KUNIT_EXPECT_FALSE(test, __scaleswap_stock_take(root, 1));

	mem_cgroup_id_get_many(root, 1);
	KUNIT_EXPECT_TRUE(test, __scaleswap_stock_charge(root, 1));
	want = refs + 1 + SSW_TEST_BATCH;
	KUNIT_EXPECT_EQ(test, refcount_read(&root->id.ref), want);
	KUNIT_EXPECT_FALSE(test, __scaleswap_stock_take(root, SSW_TEST_BATCH + 1));
	for (i = 0; i < SSW_TEST_BATCH; i++)
		KUNIT_EXPECT_TRUE(test, __scaleswap_stock_take(root, 1));
	KUNIT_EXPECT_FALSE(test, __scaleswap_stock_take(root, 1));
	KUNIT_EXPECT_EQ(test, refcount_read(&root->id.ref), want);

	/* More slots than one stock takes; the first 33 are those from above. */
	mem_cgroup_id_get_many(root, SSW_TEST_MAX - SSW_TEST_BATCH);
	want += SSW_TEST_MAX - SSW_TEST_BATCH;
	KUNIT_EXPECT_FALSE(test, __scaleswap_stock_put(root, SSW_TEST_BATCH + 1));
	for (i = 0; i < SSW_TEST_MAX; i++)
		KUNIT_EXPECT_TRUE(test, __scaleswap_stock_put(root, 1));
	KUNIT_EXPECT_EQ(test, refcount_read(&root->id.ref), want);
	KUNIT_EXPECT_TRUE(test, __scaleswap_stock_put(root, 1));
	KUNIT_EXPECT_EQ(test, refcount_read(&root->id.ref), refs + SSW_TEST_BATCH);

	__scaleswap_stock_drain(root);
	KUNIT_EXPECT_EQ(test, refcount_read(&root->id.ref), refs);
	KUNIT_EXPECT_FALSE(test, __scaleswap_stock_take(root, 1));
	rcu_read_unlock();
	migrate_enable();
}

/* One word has both sums, each for itself; a window ends when it is full, not before. */
static void ssw_test_pressure(struct kunit *test)
{
	unsigned long window = 0, scanned = 500, reclaimed = 700;

	__scaleswap_pressure_add(&window, &scanned, &reclaimed, 512);
	KUNIT_EXPECT_EQ(test, scanned, 500);
	KUNIT_EXPECT_EQ(test, reclaimed, 700);
	scanned = 11;
	reclaimed = 0;
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, 512);
	KUNIT_EXPECT_EQ(test, scanned, 511);
	KUNIT_EXPECT_EQ(test, reclaimed, 700);
	scanned = 1;
	reclaimed = 2;
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, 512);
	KUNIT_EXPECT_EQ(test, scanned, 512);
	KUNIT_EXPECT_EQ(test, reclaimed, 702);
	KUNIT_EXPECT_EQ(test, window, 0);

	/* Never full: until it is taken. Sums stay at the highest value. */
	scanned = U32_MAX;
	reclaimed = U32_MAX;
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, ULONG_MAX);
	scanned = 3;
	reclaimed = ULONG_MAX / 4;
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, ULONG_MAX);
	KUNIT_EXPECT_EQ(test, scanned, U32_MAX);
	KUNIT_EXPECT_EQ(test, reclaimed, U32_MAX);
	scanned = 0;
	reclaimed = 0;
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, 0);
	KUNIT_EXPECT_EQ(test, scanned, U32_MAX);
	KUNIT_EXPECT_EQ(test, reclaimed, U32_MAX);
	KUNIT_EXPECT_EQ(test, window, 0);
	__scaleswap_pressure_add(&window, &scanned, &reclaimed, 0);
	KUNIT_EXPECT_EQ(test, window, 0);
}

static struct kunit_case ssw_test_stock_cases[] = {
	KUNIT_CASE(ssw_test_stock_room),
	KUNIT_CASE(ssw_test_stock_batches),
	KUNIT_CASE(ssw_test_pressure),
	{}
};

static struct kunit_suite ssw_test_stock_suite = {
	.name = "scaleswap_stock",
	.test_cases = ssw_test_stock_cases,
};

kunit_test_suite(ssw_test_stock_suite);
