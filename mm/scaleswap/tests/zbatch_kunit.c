// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of several items that go to a list_lru, and leave it, at a time: what it counts, and
 * their order.
 */
#include <kunit/test.h>
#include <linux/list_lru.h>
#include <linux/nodemask.h>

#include "../zbatch.h"

#define SSW_TEST_ITEMS	8

struct ssw_test_item {
	struct list_head lru;
	int nr;
};

struct ssw_test_lru {
	struct list_lru lru;
	struct ssw_test_item item[SSW_TEST_ITEMS];
	int nid;	/* that of all items, wherever the test runs */
	int seen[SSW_TEST_ITEMS], n;
};

/* Add items from @first to @last at a time. */
static void ssw_test_add(struct ssw_test_lru *t, int first, int last)
{
	LIST_HEAD(items);

	for (int i = first; i <= last; i++) {
		t->item[i].nr = i;
		list_add_tail(&t->item[i].lru, &items);
	}
	scaleswap_list_lru_add(&t->lru, &items, last - first + 1, t->nid, NULL);
}

static enum lru_status ssw_test_see(struct list_head *item, struct list_lru_one *list,
				    spinlock_t *lock, void *arg)
{
	struct ssw_test_lru *t = arg;

	if (t->n < SSW_TEST_ITEMS)
		t->seen[t->n++] = container_of(item, struct ssw_test_item, lru)->nr;
	return LRU_SKIP;
}

/* Expect so many items, and which. */
static void ssw_test_has(struct kunit *test, struct ssw_test_lru *t, const int *nrs, int n)
{
	unsigned long walk = SSW_TEST_ITEMS;

	KUNIT_EXPECT_EQ(test, list_lru_count_node(&t->lru, t->nid), n);
	KUNIT_EXPECT_EQ(test, list_lru_count_one(&t->lru, t->nid, NULL), n);
	t->n = 0;
	list_lru_walk_node(&t->lru, t->nid, ssw_test_see, t, &walk);
	KUNIT_ASSERT_EQ(test, t->n, n);
	for (int i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, t->seen[i], nrs[i], "item %d of %d", i, n);
}

static void ssw_test_list_lru(struct kunit *test)
{
	static const int all[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, some[] = { 1, 2, 4, 5, 6 };
	struct ssw_test_lru *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct list_head *gone[3];

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->nid = first_online_node;
	KUNIT_ASSERT_EQ(test, list_lru_init(&t->lru), 0);
	ssw_test_add(t, 0, 0);
	ssw_test_has(test, t, all, 1);
	ssw_test_add(t, 1, 7);
	ssw_test_has(test, t, all, SSW_TEST_ITEMS);
	gone[0] = &t->item[7].lru;
	gone[1] = &t->item[0].lru;
	gone[2] = &t->item[3].lru;
	scaleswap_list_lru_del(&t->lru, gone, 3, t->nid, NULL);
	ssw_test_has(test, t, some, 5);
	for (int i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, list_empty(gone[i]));
	for (int i = 0; i < 5; i++) {
		gone[0] = &t->item[some[i]].lru;
		scaleswap_list_lru_del(&t->lru, gone, 1, t->nid, NULL);
	}
	ssw_test_has(test, t, all, 0);
	list_lru_destroy(&t->lru);
}

static struct kunit_case ssw_test_zbatch_cases[] = {
	KUNIT_CASE(ssw_test_list_lru),
	{}
};

static struct kunit_suite ssw_test_zbatch_suite = {
	.name = "scaleswap_zbatch",
	.test_cases = ssw_test_zbatch_cases,
};

kunit_test_suite(ssw_test_zbatch_suite);
