// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of several items that go to a list_lru, and leave it, at a time: what it counts, and
 * their order. And of several pages in one request to a compressor.
 */
#include <crypto/acompress-batch.h>
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

/* A compressor, a request, and what is in it */
struct ssw_test_comp {
	struct crypto_acomp *acomp;
	struct acomp_req *req;
	struct crypto_wait wait;
	struct scaleswap_zunits *units;
	struct scatterlist in[SSW_ZBATCH_MAX], out[SSW_ZBATCH_MAX];
	u8 *data[SSW_ZBATCH_MAX], *buffer[SSW_ZBATCH_MAX];
};

static struct ssw_test_comp *ssw_test_comp(struct kunit *test, const char *name)
{
	struct ssw_test_comp *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->acomp = crypto_alloc_acomp(name, 0, 0);
	if (IS_ERR(c->acomp))
		kunit_skip(test, "there is no compressor %s", name);
	c->req = acomp_request_alloc(c->acomp);
	KUNIT_ASSERT_NOT_NULL(test, c->req);
	crypto_init_wait(&c->wait);
	acomp_request_set_callback(c->req, 0, crypto_req_done, &c->wait);
	KUNIT_ASSERT_EQ(test, scaleswap_zunits_alloc(&c->units, c->acomp, NUMA_NO_NODE), 0);
	for (int i = 0; i < SSW_ZBATCH_MAX; i++) {
		c->data[i] = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, c->data[i]);
		c->buffer[i] = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, c->buffer[i]);
	}
	return c;
}

static void ssw_test_comp_end(struct ssw_test_comp *c)
{
	scaleswap_zunits_free(c->units);
	acomp_request_free(c->req);
	crypto_free_acomp(c->acomp);
}

/* Have units compressed, or decompressed, and wait for them. Return how many polls were in vain. */
static int ssw_test_units(struct kunit *test, struct ssw_test_comp *c, int nr, bool compress)
{
	int vain = 0;

	acomp_request_set_params(c->req, c->in, c->out, nr * PAGE_SIZE, nr * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, c->req->unit_size, 0);
	acomp_request_set_unit_size(c->req, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, compress ? crypto_acomp_compress(c->req) :
					 crypto_acomp_decompress(c->req), -EINPROGRESS);
	while (crypto_acomp_poll(c->req) == -EAGAIN)
		KUNIT_ASSERT_LT(test, vain++, 1000);
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&c->wait.completion));
	KUNIT_EXPECT_EQ(test, c->wait.err, 0);
	return vain;
}

/* Each number of units comes back as it was, and an ordinary request works afterwards. */
static void ssw_test_one_request(struct kunit *test)
{
	struct ssw_test_comp *c = ssw_test_comp(test, "batchcomp");
	struct scatterlist in, out;

	KUNIT_EXPECT_EQ(test, crypto_acomp_batch_size(c->acomp), SSW_ZBATCH_MAX);
	KUNIT_EXPECT_EQ(test, !!c->units, scaleswap_zbatch_on());
	for (int nr = 1; nr <= SSW_ZBATCH_MAX; nr++) {
		int len[SSW_ZBATCH_MAX];

		sg_init_table(c->in, nr);
		sg_init_table(c->out, nr);
		for (int i = 0; i < nr; i++) {
			memset(c->data[i], nr * 16 + i, PAGE_SIZE);
			sg_set_buf(&c->in[i], c->data[i], PAGE_SIZE);
			sg_set_buf(&c->out[i], c->buffer[i], PAGE_SIZE);
		}
		KUNIT_EXPECT_EQ(test, ssw_test_units(test, c, nr, true), nr - 1);
		for (int i = 0; i < nr; i++) {
			len[i] = acomp_unit_result(&c->out[i]);
			KUNIT_ASSERT_GT(test, len[i], 0);
			KUNIT_ASSERT_LT(test, len[i], PAGE_SIZE);
		}
		sg_init_table(c->in, nr);
		sg_init_table(c->out, nr);
		for (int i = 0; i < nr; i++) {
			memset(c->data[i], 0, PAGE_SIZE);
			sg_set_buf(&c->in[i], c->buffer[i], len[i]);
			sg_set_buf(&c->out[i], c->data[i], PAGE_SIZE);
		}
		KUNIT_EXPECT_EQ(test, ssw_test_units(test, c, nr, false), nr - 1);
		for (int i = 0; i < nr; i++) {
			KUNIT_EXPECT_EQ(test, acomp_unit_result(&c->out[i]), PAGE_SIZE);
			KUNIT_EXPECT_NULL(test, memchr_inv(c->data[i], nr * 16 + i, PAGE_SIZE));
		}
	}
	sg_init_one(&in, c->data[0], PAGE_SIZE);
	sg_init_one(&out, c->buffer[0], PAGE_SIZE);
	acomp_request_set_params(c->req, &in, &out, PAGE_SIZE, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, crypto_acomp_compress(c->req), 0);
	KUNIT_EXPECT_LT(test, c->req->dlen, PAGE_SIZE);
	ssw_test_comp_end(c);
}

/* A compressor that takes one page at a time is given no more, and has no buffers for it. */
static void ssw_test_one_unit(struct kunit *test)
{
	struct ssw_test_comp *c = ssw_test_comp(test, "lzo-rle");

	KUNIT_EXPECT_EQ(test, crypto_acomp_batch_size(c->acomp), 1);
	KUNIT_EXPECT_NULL(test, c->units);
	ssw_test_comp_end(c);
}

static struct kunit_case ssw_test_zbatch_cases[] = {
	KUNIT_CASE(ssw_test_list_lru),
	KUNIT_CASE(ssw_test_one_request),
	KUNIT_CASE(ssw_test_one_unit),
	{}
};

static struct kunit_suite ssw_test_zbatch_suite = {
	.name = "scaleswap_zbatch",
	.test_cases = ssw_test_zbatch_cases,
};

kunit_test_suite(ssw_test_zbatch_suite);
