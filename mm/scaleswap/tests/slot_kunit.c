// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's slots: what a word may become, and what the owner
 * of an area hands out. All but one run in one thread; tools/testing/scaleswap tests
 * in user space what many threads do at once.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../internal.h"
#include "../move.h"

#define W_NONE		SSW_WORD_FREE
#define W_CACHE		SSW_WORD_CACHE
#define W_FREEING	SSW_WORD_FREEING
#define W_BAD		SSW_WORD_BAD
#define W_SHMEM		SSW_WORD_SHMEM
#define W_NOTED		ssw_word_shmem(7, 0x1234)
#define W_EXCL		ssw_word_excl(7, 0x1234)
#define W_SHARED(n)	((u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT | \
			 (u64)(n) << SSW_WORD_DATA_SHIFT)
#define W_PAIR		(W_EXCL | SSW_WORD_PAIR)
#define W_MOVING	(W_EXCL | SSW_WORD_MOVING)
#define W_ILLEGAL	~0ULL

enum ssw_test_op {
	OP_DUP_ONE,
	OP_DUP_EXCL,
	OP_DUP_SHMEM,
	OP_PUT,
	OP_CACHE,
	OP_UNCACHE,
	OP_TAG,
};

static int ssw_test_apply(enum ssw_test_op op, u64 old, u64 *new)
{
	switch (op) {
	case OP_DUP_ONE:
		return ssw_word_dup(old, SSW_WORD_ONE, new);
	case OP_DUP_EXCL:
		return ssw_word_dup(old, W_EXCL, new);
	case OP_DUP_SHMEM:
		return ssw_word_dup(old, W_NOTED, new);
	case OP_PUT:
		return ssw_word_put(old, new);
	case OP_CACHE:
		return ssw_word_cache(old, new);
	case OP_UNCACHE:
		return ssw_word_uncache(old, new);
	case OP_TAG:
		return ssw_word_tag(old, new);
	}
	return -EOPNOTSUPP;
}

static const enum ssw_test_op ssw_test_ops[] = {
	OP_DUP_ONE, OP_DUP_EXCL, OP_DUP_SHMEM, OP_PUT, OP_CACHE, OP_UNCACHE, OP_TAG,
};

/* A state, and by operation the next one, or the errno */
struct ssw_test_row {
	u64 old;
	struct {
		int err;
		u64 new;
	} next[ARRAY_SIZE(ssw_test_ops)];
};

static void ssw_test_rows(struct kunit *test, const struct ssw_test_row *row, unsigned int rows)
{
	for (; rows; rows--, row++) {
		for (int j = 0; j < ARRAY_SIZE(ssw_test_ops); j++) {
			u64 new = W_ILLEGAL;
			int err = ssw_test_apply(ssw_test_ops[j], row->old, &new);

			KUNIT_EXPECT_EQ_MSG(test, err, row->next[j].err, "word %llx op %d",
					    row->old, j);
			KUNIT_EXPECT_EQ_MSG(test, new, err ? W_ILLEGAL : row->next[j].new,
					    "word %llx op %d", row->old, j);
		}
	}
}

/* Every state under every operation. */
static void ssw_test_word_transitions(struct kunit *test)
{
	const u64 max = W_SHARED(SSW_WORD_COUNT_MAX);
	const u64 excl = W_EXCL, pair = W_PAIR, c = W_CACHE, moving = W_MOVING;
	const struct ssw_test_row table[] = {
		{ W_NONE, { { -ENOENT }, { -ENOENT }, { -ENOENT },
			    { -ENOENT }, { -ENOENT }, { -ENOENT }, { -ENOENT } } },
		{ W_CACHE, { { 0, W_SHARED(1) | c }, { 0, excl | c }, { 0, W_NOTED | c },
			     { -ENOENT }, { -EEXIST }, { 0, W_FREEING }, { -EEXIST } } },
		{ W_FREEING, { { -ENOENT }, { -ENOENT }, { -ENOENT },
			       { -ENOENT }, { -ENOENT }, { -ENOENT }, { -ENOENT } } },
		{ W_BAD, { { -ENOENT }, { -ENOENT }, { -ENOENT },
			   { -ENOENT }, { -ENOENT }, { -ENOENT }, { -ENOENT } } },
		{ excl, { { 0, pair }, { 0, pair }, { -EINVAL },
			  { 0, W_FREEING }, { 0, excl | c }, { -ENOENT }, { 0, moving } } },
		{ excl | c, { { 0, pair | c }, { 0, pair | c }, { -EINVAL },
			      { 0, c }, { -EEXIST }, { 0, excl }, { -EEXIST } } },
		/* Whatever is done to a slot that is to be moved takes the tag away. */
		{ moving, { { 0, pair }, { 0, pair }, { -EINVAL },
			    { 0, W_FREEING }, { 0, excl | c }, { -ENOENT }, { -EALREADY } } },
		{ pair, { { 0, W_SHARED(3) }, { 0, W_SHARED(3) }, { -EINVAL },
			  { 0, excl }, { 0, pair | c }, { -ENOENT }, { -EMLINK } } },
		{ pair | c, { { 0, W_SHARED(3) | c }, { 0, W_SHARED(3) | c }, { -EINVAL },
			      { 0, excl | c }, { -EEXIST }, { 0, pair }, { -EEXIST } } },
		{ W_SHARED(1), { { 0, W_SHARED(2) }, { 0, W_SHARED(2) }, { -EINVAL },
				 { 0, W_FREEING }, { 0, W_SHARED(1) | c }, { -ENOENT },
				 { -ENOENT } } },
		{ W_SHARED(1) | c, { { 0, W_SHARED(2) | c }, { 0, W_SHARED(2) | c }, { -EINVAL },
				     { 0, c }, { -EEXIST }, { 0, W_SHARED(1) }, { -EEXIST } } },
		{ W_SHARED(70000), { { 0, W_SHARED(70001) }, { 0, W_SHARED(70001) }, { -EINVAL },
				     { 0, W_SHARED(69999) }, { 0, W_SHARED(70000) | c },
				     { -ENOENT }, { -EMLINK } } },
		{ W_SHARED(2) | c, { { 0, W_SHARED(3) | c }, { 0, W_SHARED(3) | c }, { -EINVAL },
				     { 0, W_SHARED(1) | c }, { -EEXIST }, { 0, W_SHARED(2) },
				     { -EEXIST } } },
		{ max, { { -EOVERFLOW }, { -EOVERFLOW }, { -EINVAL },
			 { 0, W_SHARED(SSW_WORD_COUNT_MAX - 1) }, { 0, max | c },
			 { -ENOENT }, { -EMLINK } } },
	};

	ssw_test_rows(test, table, ARRAY_SIZE(table));
}

/* The same of slots of shmem. */
static void ssw_test_word_transitions_shmem(struct kunit *test)
{
	const u64 noted = W_NOTED, noted_moving = noted | SSW_WORD_MOVING, c = W_CACHE;
	const struct ssw_test_row table[] = {
		{ W_SHMEM, { { -EINVAL }, { -EINVAL }, { -EINVAL },
			     { 0, W_FREEING }, { 0, W_SHMEM | c }, { -ENOENT }, { -ENOENT } } },
		{ W_SHMEM | c, { { -EINVAL }, { -EINVAL }, { -EINVAL },
				 { 0, c }, { -EEXIST }, { 0, W_SHMEM }, { -EEXIST } } },
		{ noted, { { -EINVAL }, { -EINVAL }, { -EINVAL },
			   { 0, W_FREEING }, { 0, noted | c }, { -ENOENT }, { 0, noted_moving } } },
		{ noted | c, { { -EINVAL }, { -EINVAL }, { -EINVAL },
			       { 0, c }, { -EEXIST }, { 0, noted }, { -EEXIST } } },
		{ noted_moving, { { -EINVAL }, { -EINVAL }, { -EINVAL },
				  { 0, W_FREEING }, { 0, noted | c }, { -ENOENT },
				  { -EALREADY } } },
	};

	ssw_test_rows(test, table, ARRAY_SIZE(table));
}

/* An exclusive word gives back what was put in, and refuses what does not fit. */
static void ssw_test_word_excl(struct kunit *test)
{
	static const u32 mms[] = { 1, 2, 0x155555, SSW_WORD_MM_MAX };
	static const u64 vpns[] = { 0, 1, 0x7ffffffffULL, (1ULL << 36) - 1 };

	for (int i = 0; i < ARRAY_SIZE(mms); i++) {
		for (int j = 0; j < ARRAY_SIZE(vpns); j++) {
			u64 word = ssw_word_excl(mms[i], vpns[j]) | SSW_WORD_CACHE;

			KUNIT_EXPECT_EQ(test, (int)ssw_word_kind(word), (int)SSW_KIND_EXCL);
			KUNIT_EXPECT_EQ(test, ssw_word_mm(word), mms[i]);
			KUNIT_EXPECT_EQ(test, ssw_word_vpn(word), vpns[j]);
			KUNIT_EXPECT_EQ(test, ssw_word_count(word), 1);

			/* A slot that is to be moved has the same note, and so has a pair. */
			word |= SSW_WORD_MOVING;
			KUNIT_EXPECT_EQ(test, (int)ssw_word_kind(word), (int)SSW_KIND_EXCL);
			KUNIT_EXPECT_EQ(test, ssw_word_mm(word), mms[i]);
			KUNIT_EXPECT_EQ(test, ssw_word_vpn(word), vpns[j]);
			KUNIT_EXPECT_EQ(test, ssw_word_count(word), 1);

			word &= ~SSW_WORD_MOVING;
			word |= SSW_WORD_PAIR;
			KUNIT_EXPECT_EQ(test, (int)ssw_word_kind(word), (int)SSW_KIND_EXCL);
			KUNIT_EXPECT_EQ(test, ssw_word_mm(word), mms[i]);
			KUNIT_EXPECT_EQ(test, ssw_word_vpn(word), vpns[j]);
			KUNIT_EXPECT_EQ(test, ssw_word_count(word), 2);
		}
	}
	KUNIT_EXPECT_EQ(test, ssw_word_excl(0, 1), SSW_WORD_ONE);
	KUNIT_EXPECT_EQ(test, ssw_word_excl(SSW_WORD_MM_MAX + 1, 1), SSW_WORD_ONE);
	KUNIT_EXPECT_EQ(test, ssw_word_excl(1, 1ULL << 36), SSW_WORD_ONE);
}

/* So does one of shmem. */
static void ssw_test_word_shmem(struct kunit *test)
{
	static const u32 inodes[] = { 1, 2, 0x155555, SSW_WORD_MM_MAX };
	static const u64 indices[] = { 0, 1, 0x7ffffffffULL, (1ULL << 36) - 1 };

	for (int i = 0; i < ARRAY_SIZE(inodes); i++) {
		for (int j = 0; j < ARRAY_SIZE(indices); j++) {
			u64 word = ssw_word_shmem(inodes[i], indices[j]) | SSW_WORD_CACHE;

			for (int moving = 0; moving < 2; moving++, word |= SSW_WORD_MOVING) {
				KUNIT_EXPECT_EQ(test, (int)ssw_word_kind(word),
						(int)SSW_KIND_SHMEM);
				KUNIT_EXPECT_EQ(test, ssw_word_mm(word), inodes[i]);
				KUNIT_EXPECT_EQ(test, ssw_word_vpn(word), indices[j]);
				KUNIT_EXPECT_EQ(test, ssw_word_count(word), 1);
				KUNIT_EXPECT_TRUE(test, ssw_word_has_note(word));
			}
		}
	}
	KUNIT_EXPECT_EQ(test, ssw_word_shmem(0, 1), SSW_WORD_SHMEM);
	KUNIT_EXPECT_EQ(test, ssw_word_shmem(SSW_WORD_MM_MAX + 1, 1), SSW_WORD_SHMEM);
	KUNIT_EXPECT_EQ(test, ssw_word_shmem(1, 1ULL << 36), SSW_WORD_SHMEM);
	KUNIT_EXPECT_FALSE(test, ssw_word_has_note(SSW_WORD_SHMEM));
}

static void ssw_test_slots_free(void *slots)
{
	ssw_slots_free(slots);
}

static struct ssw_slots *ssw_test_space(struct kunit *test, unsigned int nr,
					const u32 *bad, unsigned int nr_bad)
{
	struct ssw_slots *slots = ssw_slots_alloc(nr, bad, nr_bad);

	KUNIT_ASSERT_FALSE(test, IS_ERR(slots));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ssw_test_slots_free, slots));
	slots->closed = false;
	return slots;
}

/* Serve a request as ssw_area_alloc() does for the home CPU. */
static enum ssw_result ssw_test_do(struct kunit *test, struct ssw_slots *slots,
				   struct ssw_request *req, unsigned int *slot)
{
	for (;;) {
		KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
		ssw_drain(slots, NULL, SSW_BY_HOLDER);
		ssw_cluster_alloc(slots, req);
		ssw_token_release(slots);
		if (req->result != SSW_NO_TABLE)
			break;
		req->table = ssw_table_alloc(__GFP_HIGH);
		KUNIT_ASSERT_NOT_NULL(test, req->table);
	}
	KUNIT_EXPECT_NULL(test, req->table);
	*slot = req->slot;
	return req->result;
}

static enum ssw_result ssw_test_alloc(struct kunit *test, struct ssw_slots *slots,
				      unsigned int order, unsigned int *slot)
{
	struct ssw_request req = { .order = order, .word = SSW_WORD_CACHE };

	return ssw_test_do(test, slots, &req, slot);
}

static void ssw_test_free(struct kunit *test, struct ssw_slots *slots,
			  unsigned int slot, unsigned int nr)
{
	u64 word;

	rcu_read_lock();
	for (unsigned int i = 0; i < nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, ssw_slot_uncache(slots, slot + i, &word));
		KUNIT_ASSERT_EQ(test, word, SSW_WORD_FREEING);
		ssw_slot_free(slots, slot + i);
	}
	ssw_cluster_freed(slots, ssw_slot_cluster(slots, slot), nr);
	rcu_read_unlock();
}

static u64 ssw_test_read(struct ssw_slots *slots, unsigned int slot)
{
	u64 word;

	rcu_read_lock();
	word = ssw_slot_read(slots, slot);
	rcu_read_unlock();
	return word;
}

static void ssw_test_settle(struct kunit *test, struct ssw_slots *slots)
{
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	while (ssw_drain(slots, NULL, SSW_BY_DELEGATOR))
		;
	ssw_slots_trim(slots);
	ssw_token_release(slots);
}

/* Each good slot is allocated once, and no bad one. Then all are freed. */
static void ssw_test_slots_fill(struct kunit *test)
{
	/* With a duplicate and the header. The last cluster is not a whole one. */
	static const u32 bad[] = { 5000, 700, 513, 513, 0, 1030, 511 };
	const unsigned int nr = 10 * SSW_CLUSTER_SLOTS + 100;
	struct ssw_slots *slots = ssw_test_space(test, nr, bad, ARRAY_SIZE(bad));
	unsigned long *seen = kunit_kzalloc(test, BITS_TO_LONGS(nr) * sizeof(long), GFP_KERNEL);
	unsigned int slot, n;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	KUNIT_EXPECT_EQ(test, slots->nr_bad, 6);
	for (int round = 0; round < 3; round++) {
		bitmap_zero(seen, nr);
		for (n = 0; ssw_test_alloc(test, slots, 0, &slot) == SSW_OK; n++) {
			KUNIT_ASSERT_LT(test, slot, nr);
			KUNIT_ASSERT_FALSE(test, test_and_set_bit(slot, seen));
		}
		KUNIT_EXPECT_EQ(test, n, nr - 6);
		KUNIT_EXPECT_TRUE(test, slots->full);
		for (int i = 0; i < ARRAY_SIZE(bad); i++)
			KUNIT_EXPECT_FALSE(test, test_bit(bad[i], seen));
		for_each_set_bit(slot, seen, nr)
			ssw_test_free(test, slots, slot, 1);
		KUNIT_EXPECT_FALSE(test, slots->full);
		ssw_test_settle(test, slots);
		KUNIT_EXPECT_EQ(test, slots->nr_tables, 0);
		KUNIT_EXPECT_EQ(test, slots->queue_max >= slots->nr_clusters - 1, true);
	}
}

/* Blocks of all orders are aligned, do not overlap, and are freed whole. */
static void ssw_test_slots_orders(struct kunit *test)
{
	const unsigned int nr = 64 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, NULL, 0);
	unsigned long *seen = kunit_kzalloc(test, BITS_TO_LONGS(nr) * sizeof(long), GFP_KERNEL);
	unsigned int got[SSW_NR_ORDERS * 3];
	unsigned int slot;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (unsigned int i = 0; i < ARRAY_SIZE(got); i++) {
		unsigned int order = i % SSW_NR_ORDERS;

		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, order, &slot), (int)SSW_OK);
		KUNIT_EXPECT_EQ(test, slot % (1U << order), 0);
		KUNIT_ASSERT_EQ(test, find_next_bit(seen, slot + (1U << order), slot),
				slot + (1U << order));
		bitmap_set(seen, slot, 1U << order);
		got[i] = slot;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(got); i++)
		ssw_test_free(test, slots, got[i], 1U << (i % SSW_NR_ORDERS));
	ssw_test_settle(test, slots);
	KUNIT_EXPECT_EQ(test, slots->nr_tables, 0);
}

/* Slots of a cluster are handed out in sequence, and the next cluster is not adjacent. */
static void ssw_test_slots_sequential(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 32 * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int slot, prev, jumps = 0;

	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &prev), (int)SSW_OK);
	for (unsigned int i = 1; i < 8 * SSW_CLUSTER_SLOTS; i++, prev = slot) {
		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
		if (slot == prev + 1)
			continue;
		jumps++;
		KUNIT_EXPECT_GT(test, abs((int)(slot - prev)), 2 * (int)SSW_CLUSTER_SLOTS);
	}
	/* The first cluster lacks the header's slot. */
	KUNIT_EXPECT_EQ(test, jumps, 8);
	for (slot = 1; slot < slots->nr_slots; slot++) {
		if (ssw_test_read(slots, slot) == SSW_WORD_CACHE)
			ssw_test_free(test, slots, slot, 1);
	}
}

/* A lane shares no cluster with the CPU's own pages, nor with another lane. */
static void ssw_test_slots_lanes(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 8 * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned long clusters[SSW_NR_LANES + 1] = {};

	for (unsigned int i = 0; i < 4 * SSW_CLUSTER_SLOTS; i++) {
		struct ssw_request req = { .word = SSW_WORD_CACHE, .lane = i % (SSW_NR_LANES + 1) };
		unsigned int slot;

		KUNIT_ASSERT_EQ(test, (int)ssw_test_do(test, slots, &req, &slot), (int)SSW_OK);
		__set_bit(slot / SSW_CLUSTER_SLOTS, &clusters[req.lane]);
	}
	for (unsigned int i = 0; i <= SSW_NR_LANES; i++) {
		KUNIT_EXPECT_NE(test, clusters[i], 0UL);
		for (unsigned int j = 0; j < i; j++)
			KUNIT_EXPECT_EQ(test, clusters[i] & clusters[j], 0UL);
	}
	for (unsigned int slot = 0; slot < slots->nr_slots; slot++) {
		if (ssw_test_read(slots, slot) == SSW_WORD_CACHE)
			ssw_test_free(test, slots, slot, 1);
	}
}

/* With free slots but no block, the result says so, and single slots are allocated. */
static void ssw_test_slots_no_block(struct kunit *test)
{
	const unsigned int nr = 4 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, NULL, 0);
	unsigned int slot, n;

	while (ssw_test_alloc(test, slots, 0, &slot) == SSW_OK)
		;
	for (slot = 1; slot < nr; slot += 2)
		ssw_test_free(test, slots, slot, 1);
	KUNIT_EXPECT_EQ(test, (int)ssw_test_alloc(test, slots, 1, &slot), (int)SSW_NO_BLOCK);
	KUNIT_EXPECT_EQ(test, (int)ssw_test_alloc(test, slots, 9, &slot), (int)SSW_NO_BLOCK);
	for (n = 0; n < nr / 2; n++)
		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	KUNIT_EXPECT_FALSE(test, slots->full);
	/* Full, even before a single slot is refused. */
	KUNIT_EXPECT_EQ(test, (int)ssw_test_alloc(test, slots, 1, &slot), (int)SSW_FULL);
	for (slot = 1; slot < nr; slot++)
		ssw_test_free(test, slots, slot, 1);
}

/* Without memory for a table, only clusters that have one serve. */
static void ssw_test_slots_no_table(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 4 * SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_request req = { .word = SSW_WORD_CACHE, .no_table = true };
	unsigned int slot, other;

	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	ssw_cluster_alloc(slots, &req);
	ssw_token_release(slots);
	KUNIT_EXPECT_EQ(test, (int)req.result, (int)SSW_FULL);
	KUNIT_EXPECT_FALSE(test, slots->full);

	/* A cluster of another order is better than none. */
	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 4, &other), (int)SSW_OK);
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	ssw_cluster_alloc(slots, &req);
	ssw_token_release(slots);
	KUNIT_EXPECT_EQ(test, (int)req.result, (int)SSW_OK);
	slot = req.slot;
	KUNIT_EXPECT_EQ(test, slot / SSW_CLUSTER_SLOTS, other / SSW_CLUSTER_SLOTS);
	ssw_test_free(test, slots, slot, 1);
	ssw_test_free(test, slots, other, 16);
}

/* Who only read a swap entry may look for a shadow entry when the slot's cluster is free. */
static void ssw_test_slots_shadow(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 4 * SSW_CLUSTER_SLOTS, NULL, 0);
	void *shadow = xa_mk_value(17), **at;
	unsigned int slot;

	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	KUNIT_EXPECT_PTR_EQ(test, ssw_cache_shadow(slots, slot), NULL);
	at = rcu_dereference_raw(ssw_slot_cluster(slots, slot)->table)->cache +
	     slot % SSW_CLUSTER_SLOTS;
	*at = shadow;
	KUNIT_EXPECT_PTR_EQ(test, ssw_cache_shadow(slots, slot), shadow);
	*at = NULL;
	ssw_test_free(test, slots, slot, 1);
	slots->closed = true;
	ssw_test_settle(test, slots);
	KUNIT_ASSERT_EQ(test, slots->nr_tables, 0);
	KUNIT_EXPECT_PTR_EQ(test, ssw_cache_shadow(slots, slot), NULL);
	KUNIT_EXPECT_PTR_EQ(test, ssw_cache_shadow(slots, slots->nr_slots), NULL);
}

/* A closed area hands out nothing, and its slots can be freed. */
static void ssw_test_slots_closed(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 4 * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int slot, other;

	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	slots->closed = true;
	KUNIT_EXPECT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &other), (int)SSW_FULL);
	ssw_test_free(test, slots, slot, 1);
	ssw_test_settle(test, slots);
	KUNIT_EXPECT_EQ(test, slots->nr_tables, 0);
}

/* An emptied cluster is discarded before it is used again, unless it is needed. */
static void ssw_test_slots_discard(struct kunit *test)
{
	static const u32 bad[] = { SSW_CLUSTER_SLOTS + 3 };
	const unsigned int nr = 6 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, bad, 1);
	struct ssw_cluster *ci;
	unsigned int slot, n = 0;

	slots->use_discard = true;
	while (ssw_test_alloc(test, slots, 0, &slot) == SSW_OK)
		n++;
	KUNIT_EXPECT_EQ(test, n, nr - 2);
	for (slot = 1; slot < nr; slot++) {
		if (slot != bad[0])
			ssw_test_free(test, slots, slot, 1);
	}
	ssw_test_settle(test, slots);

	/* Not the clusters with the header and with the bad slot. */
	n = 0;
	for (;;) {
		KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
		ci = ssw_cluster_to_discard(slots);
		ssw_token_release(slots);
		if (!ci)
			break;
		KUNIT_EXPECT_GE(test, (int)(ci - slots->cluster), 2);
		/* Two are given back, the others are "being discarded". */
		if (n++ < 2)
			ssw_cluster_discarded(slots, ci);
	}
	KUNIT_EXPECT_EQ(test, n, 4);
	for (n = 0; ssw_test_alloc(test, slots, 0, &slot) == SSW_OK; n++)
		;
	KUNIT_EXPECT_EQ(test, n, 4 * SSW_CLUSTER_SLOTS - 2);
	for (slot = 1; slot < nr; slot++) {
		if (ssw_test_read(slots, slot) == SSW_WORD_CACHE)
			ssw_test_free(test, slots, slot, 1);
	}
}

/* Take slots for moves as move.c does. */
static unsigned int ssw_test_alloc_moved(struct kunit *test, struct ssw_slots *slots,
					 unsigned int nr, unsigned int *slot)
{
	struct ssw_table *table = ssw_table_alloc(__GFP_HIGH);
	unsigned int got;

	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	got = ssw_cluster_alloc_moved(slots, nr, &table, slot);
	ssw_token_release(slots);
	ssw_table_free(table);
	return got;
}

static bool ssw_test_hold(struct kunit *test, struct ssw_slots *slots, unsigned int slot,
			  unsigned int cap)
{
	bool held;

	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	held = ssw_cluster_hold(slots, ssw_slot_cluster(slots, slot), cap);
	ssw_token_release(slots);
	return held;
}

static void ssw_test_unhold(struct kunit *test, struct ssw_slots *slots, unsigned int slot)
{
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	ssw_cluster_unhold(slots, ssw_slot_cluster(slots, slot));
	ssw_token_release(slots);
}

/* Free slots that were allocated for moves. */
static void ssw_test_free_moved(struct ssw_slots *slots, unsigned int slot, unsigned int nr)
{
	rcu_read_lock();
	for (unsigned int i = 0; i < nr; i++)
		ssw_slot_free(slots, slot + i);
	ssw_cluster_freed(slots, ssw_slot_cluster(slots, slot), nr);
	rcu_read_unlock();
}

/*
 * Nothing is allocated from a held cluster, nor from the reserve, while there is anything else; and
 * both are used before an area is full.
 */
static void ssw_test_slots_held(struct kunit *test)
{
	const unsigned int nr = 4 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, NULL, 0);
	unsigned int slot, n, held;

	/* As an area has it that is large enough; the first cluster has the header. */
	slots->use_reserve = true;
	ssw_slots_lists_init(slots);
	KUNIT_ASSERT_NOT_NULL(test, slots->reserve);
	KUNIT_EXPECT_EQ(test, slots->reserve->state, SSW_CL_RESERVE);
	for (n = 0; n < 3 * SSW_CLUSTER_SLOTS - 1; n++) {
		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
		KUNIT_ASSERT_PTR_NE(test, ssw_slot_cluster(slots, slot), slots->reserve);
	}
	/* One is full but for ten slots; it can be held, if that is few enough. */
	held = slots->reserve == &slots->cluster[1] ? 2 * SSW_CLUSTER_SLOTS : SSW_CLUSTER_SLOTS;
	ssw_test_free(test, slots, held, SSW_CLUSTER_SLOTS - 10);
	ssw_test_settle(test, slots);
	KUNIT_EXPECT_FALSE(test, ssw_test_hold(test, slots, held, 9));
	KUNIT_EXPECT_FALSE(test, ssw_test_hold(test, slots, 0, SSW_CLUSTER_SLOTS));
	KUNIT_EXPECT_TRUE(test, ssw_test_hold(test, slots, held, 10));
	KUNIT_EXPECT_FALSE(test, ssw_test_hold(test, slots, held, 10));
	ssw_test_free(test, slots, 1, 20);
	ssw_test_settle(test, slots);
	for (n = 0; n < 20; n++) {
		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
		KUNIT_ASSERT_LT(test, slot, 21);
	}
	/* Now there is nothing else. */
	for (; n < 20 + 2 * SSW_CLUSTER_SLOTS - 10; n++)
		KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	KUNIT_EXPECT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_FULL);
	KUNIT_EXPECT_NULL(test, slots->reserve);
	KUNIT_EXPECT_TRUE(test, list_empty(&slots->held));
	/* It was given back already. */
	ssw_test_unhold(test, slots, held);
	KUNIT_EXPECT_EQ(test, ssw_slot_cluster(slots, held)->state, SSW_CL_FULL);
	for (slot = 1; slot < nr; slot++)
		ssw_test_free(test, slots, slot, 1);
	ssw_test_settle(test, slots);
	/* The next cluster that has become empty is the reserve. */
	KUNIT_EXPECT_NOT_NULL(test, slots->reserve);
	KUNIT_EXPECT_EQ(test, slots->nr_tables, 0);
}

/* What is moved gets slots in a row, of a cluster that nothing else is allocated from. */
static void ssw_test_slots_moved(struct kunit *test)
{
	const unsigned int nr = 3 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, NULL, 0);
	unsigned int at, slot, first, got = 0;

	KUNIT_ASSERT_EQ(test, ssw_test_alloc_moved(test, slots, 100, &first), 100);
	KUNIT_EXPECT_EQ(test, first % SSW_CLUSTER_SLOTS, 0);
	KUNIT_EXPECT_NE(test, first, 0);
	for (slot = first; slot < first + 100; slot++)
		KUNIT_ASSERT_EQ(test, ssw_test_read(slots, slot), SSW_WORD_FREEING);
	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	KUNIT_EXPECT_NE(test, slot / SSW_CLUSTER_SLOTS, first / SSW_CLUSTER_SLOTS);
	ssw_test_free(test, slots, slot, 1);
	KUNIT_ASSERT_EQ(test, ssw_test_alloc_moved(test, slots, 1, &at), 1);
	KUNIT_EXPECT_EQ(test, at, first + 100);
	/* The rest of the cluster, then another one */
	KUNIT_ASSERT_EQ(test, ssw_test_alloc_moved(test, slots, 500, &at),
			SSW_CLUSTER_SLOTS - 101);
	KUNIT_EXPECT_EQ(test, at, first + 101);
	KUNIT_EXPECT_EQ(test, ssw_slot_cluster(slots, first)->state, SSW_CL_FULL);
	ssw_test_free_moved(slots, first, SSW_CLUSTER_SLOTS);
	ssw_test_settle(test, slots);
	/* One that is empty again stays for the next moves, until it is given back. */
	KUNIT_ASSERT_EQ(test, ssw_test_alloc_moved(test, slots, 3, &at), 3);
	ssw_test_free_moved(slots, at, 3);
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	ssw_drain(slots, NULL, SSW_BY_HOLDER);
	KUNIT_EXPECT_EQ(test, ssw_slot_cluster(slots, at)->state, SSW_CL_HELD);
	ssw_cluster_end_moves(slots);
	ssw_token_release(slots);
	KUNIT_EXPECT_EQ(test, ssw_slot_cluster(slots, at)->state, SSW_CL_FREE);
	KUNIT_EXPECT_TRUE(test, list_empty(&slots->held));
	/* None with bad slots; but in one that is sparse */
	while (ssw_test_alloc(test, slots, 9, &slot) == SSW_OK)
		got++;
	KUNIT_EXPECT_EQ(test, got, 2);
	KUNIT_EXPECT_EQ(test, ssw_test_alloc_moved(test, slots, 8, &at), 0);
	ssw_test_free(test, slots, SSW_CLUSTER_SLOTS + 3, 300);
	ssw_test_settle(test, slots);
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	KUNIT_EXPECT_FALSE(test, ssw_cluster_begin_moves(slots, &slots->cluster[2],
							 SSW_CLUSTER_SLOTS));
	KUNIT_EXPECT_TRUE(test, ssw_cluster_begin_moves(slots, &slots->cluster[1],
							SSW_CLUSTER_SLOTS));
	ssw_token_release(slots);
	KUNIT_ASSERT_EQ(test, ssw_test_alloc_moved(test, slots, 500, &at), 300);
	KUNIT_EXPECT_EQ(test, at, SSW_CLUSTER_SLOTS + 3);
	KUNIT_EXPECT_EQ(test, ssw_test_alloc_moved(test, slots, 8, &at), 0);
	ssw_test_free_moved(slots, SSW_CLUSTER_SLOTS + 3, 300);
	ssw_test_free(test, slots, SSW_CLUSTER_SLOTS, 3);
	ssw_test_free(test, slots, SSW_CLUSTER_SLOTS + 303, SSW_CLUSTER_SLOTS - 303);
	ssw_test_free(test, slots, 2 * SSW_CLUSTER_SLOTS, SSW_CLUSTER_SLOTS);
	/* None of a closed area */
	ssw_test_settle(test, slots);
	slots->closed = true;
	KUNIT_EXPECT_EQ(test, ssw_test_alloc_moved(test, slots, 8, &at), 0);
}

/* What a page table entry says beside the slot goes along. */
static void ssw_test_pte_moved(struct kunit *test)
{
	const swp_entry_t from = swp_entry(3, 1000), to = swp_entry(5, 77);

	for (int bits = 0; bits < 8; bits++) {
		pte_t pte = swp_entry_to_pte(from), new;

		if (bits & 1)
			pte = pte_swp_mkexclusive(pte);
		if (bits & 2)
			pte = pte_swp_mksoft_dirty(pte);
		if (bits & 4)
			pte = pte_swp_mkuffd_wp(pte);
		new = ssw_pte_moved(pte, to);
		KUNIT_EXPECT_EQ(test, pte_to_swp_entry(new).val, to.val);
		KUNIT_EXPECT_EQ(test, !!pte_swp_exclusive(new), !!(bits & 1));
		KUNIT_EXPECT_EQ(test, pte_swp_soft_dirty(new), pte_swp_soft_dirty(pte));
		KUNIT_EXPECT_EQ(test, pte_swp_uffd_wp(new), pte_swp_uffd_wp(pte));
	}
}

/* Requests are served in the order in which they were queued, a batch at a time. */
static void ssw_test_queue_order(struct kunit *test)
{
	struct ssw_slots *slots = ssw_test_space(test, 4 * SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_request *req = kunit_kcalloc(test, 150, sizeof(*req), GFP_KERNEL);
	unsigned int batch = ssw_deleg_batch;

	KUNIT_ASSERT_NOT_NULL(test, req);
	req[0].table = ssw_table_alloc(__GFP_HIGH);
	KUNIT_ASSERT_NOT_NULL(test, req[0].table);
	for (int i = 0; i < 150; i++) {
		req[i].word = SSW_WORD_CACHE;
		req[i].node.is_request = true;
		llist_add(&req[i].node.link, &slots->queue);
	}
	KUNIT_ASSERT_TRUE(test, ssw_token_trylock(slots));
	KUNIT_EXPECT_FALSE(test, ssw_token_trylock(slots));
	KUNIT_EXPECT_EQ(test, ssw_drain(slots, &req[1], SSW_BY_HOLDER), batch);
	KUNIT_EXPECT_TRUE(test, req[batch - 1].done);
	KUNIT_EXPECT_FALSE(test, req[batch].done);
	while (ssw_drain(slots, NULL, SSW_BY_DELEGATOR))
		;
	ssw_token_release(slots);
	KUNIT_EXPECT_EQ(test, slots->queue_max, 150);
	KUNIT_EXPECT_EQ(test, (int)req[0].by, (int)SSW_BY_HOLDER);
	KUNIT_EXPECT_EQ(test, (int)req[1].by, (int)SSW_BY_REQUESTER);
	KUNIT_EXPECT_EQ(test, (int)req[149].by, (int)SSW_BY_DELEGATOR);
	for (int i = 0; i < 150; i++) {
		KUNIT_EXPECT_TRUE(test, req[i].done);
		KUNIT_ASSERT_EQ(test, (int)req[i].result, (int)SSW_OK);
		if (i)
			KUNIT_EXPECT_EQ(test, req[i].slot, req[i - 1].slot + 1);
	}
	for (int i = 0; i < 150; i++)
		ssw_test_free(test, slots, req[i].slot, 1);
}

/* At most one byte per slot while none is in use, and 24 for each in use. */
static void ssw_test_slots_memory(struct kunit *test)
{
	const unsigned int nr = 256 * SSW_CLUSTER_SLOTS;
	struct ssw_slots *slots = ssw_test_space(test, nr, NULL, 0);
	unsigned int slot, n = 0;

	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		kunit_skip(test, "lockdep makes structures larger");
	KUNIT_EXPECT_LE(test, ssw_slots_bytes(slots), nr);
	while (n < 2000 && ssw_test_alloc(test, slots, 0, &slot) == SSW_OK)
		n++;
	KUNIT_EXPECT_LE(test, ssw_slots_bytes(slots) - nr / 8, 24 * n + nr);
	KUNIT_EXPECT_LE(test, (sizeof(struct ssw_table) + 2 * PAGE_SIZE) / SSW_CLUSTER_SLOTS, 24);
	for (slot = 1; slot < nr; slot++) {
		if (ssw_test_read(slots, slot) == SSW_WORD_CACHE)
			ssw_test_free(test, slots, slot, 1);
	}
}

#ifdef CONFIG_MEMCG
#define MEMCG_FROM	1
#define MEMCG_TO	2

struct ssw_test_mover {
	swp_entry_t entry;
	unsigned long moves;
};

/* Moves a slot's charge whenever it can, like cgroup v1. */
static int ssw_test_move(void *arg)
{
	struct ssw_test_mover *mover = arg;

	while (!kthread_should_stop()) {
		if (scaleswap_cgroup_cmpxchg(mover->entry, MEMCG_FROM, MEMCG_TO))
			WRITE_ONCE(mover->moves, mover->moves + 1);
		cpu_relax();
		cond_resched();
	}
	return 0;
}

static void ssw_test_hide_slots(void *type)
{
	RCU_INIT_POINTER(ssw_area_slots[(unsigned long)type], NULL);
	synchronize_rcu();
}
#endif

/*
 * A CPU records memory cgroups while another moves the charge. Who records gets the id
 * that the move left; otherwise it gives the charge back to the wrong cgroup. And what
 * is not charged any more does not move.
 */
static void ssw_test_memcg_moved(struct kunit *test)
{
#ifdef CONFIG_MEMCG
	/* No swap area ever has this type. */
	const unsigned long type = ARRAY_SIZE(ssw_area_slots) - 1;
	struct ssw_slots *slots = ssw_test_space(test, SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_test_mover mover = {};
	struct task_struct *task;
	unsigned long seen = 0, late = 0;
	unsigned int slot;

	BUILD_BUG_ON(ARRAY_SIZE(ssw_area_slots) <= MAX_SWAPFILES);
	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU");
	KUNIT_ASSERT_EQ(test, (int)ssw_test_alloc(test, slots, 0, &slot), (int)SSW_OK);
	mover.entry = swp_entry(type, slot);
	rcu_assign_pointer(ssw_area_slots[type], slots);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ssw_test_hide_slots,
							   (void *)type));
	task = kthread_run(ssw_test_move, &mover, "ssw_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	/* Far more turns than it takes, so that a mover that never moves fails the test. */
	for (int i = 0; i < 10000000 && READ_ONCE(mover.moves) < 1000; i++) {
		late += scaleswap_cgroup_record(mover.entry, MEMCG_FROM, 1) != 0;
		/* An emulator may switch CPUs here; let it move before the record, or in it. */
		if (i % 2)
			cpu_relax();
		seen += scaleswap_cgroup_record(mover.entry, 0, 1) == MEMCG_TO;
		cpu_relax();
		cond_resched();
	}
	kthread_stop(task);
	late += scaleswap_cgroup_record(mover.entry, 0, 1) != 0;
	KUNIT_EXPECT_GE(test, mover.moves, 1000);
	KUNIT_EXPECT_EQ(test, seen, mover.moves);
	KUNIT_EXPECT_EQ(test, late, 0);
	ssw_test_free(test, slots, slot, 1);
#else
	kunit_skip(test, "no memory controller");
#endif
}

static struct kunit_case ssw_slots_test_cases[] = {
	KUNIT_CASE(ssw_test_word_transitions),
	KUNIT_CASE(ssw_test_word_transitions_shmem),
	KUNIT_CASE(ssw_test_word_excl),
	KUNIT_CASE(ssw_test_word_shmem),
	KUNIT_CASE(ssw_test_slots_fill),
	KUNIT_CASE(ssw_test_slots_orders),
	KUNIT_CASE(ssw_test_slots_sequential),
	KUNIT_CASE(ssw_test_slots_lanes),
	KUNIT_CASE(ssw_test_slots_no_block),
	KUNIT_CASE(ssw_test_slots_no_table),
	KUNIT_CASE(ssw_test_slots_shadow),
	KUNIT_CASE(ssw_test_slots_closed),
	KUNIT_CASE(ssw_test_slots_discard),
	KUNIT_CASE(ssw_test_slots_held),
	KUNIT_CASE(ssw_test_slots_moved),
	KUNIT_CASE(ssw_test_pte_moved),
	KUNIT_CASE(ssw_test_queue_order),
	KUNIT_CASE(ssw_test_slots_memory),
	KUNIT_CASE(ssw_test_memcg_moved),
	{}
};

static struct kunit_suite ssw_slots_test_suite = {
	.name = "scaleswap_slots",
	.test_cases = ssw_slots_test_cases,
};

kunit_test_suite(ssw_slots_test_suite);
