// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's ages of pages in LRU shards, on shards that no memcg has.
 */
#include <kunit/test.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/prandom.h>

#include "../internal.h"

#define SSW_TEST_LRU	LRU_INACTIVE_ANON
#define SSW_TEST_SHARDS	3
#define SSW_TEST_PAGES	1024

/* Stands for a page on a list. */
struct ssw_test_page {
	struct list_head lru;
	int shard;		/* from 1; 0 if it is on no list */
	unsigned long joined;	/* when, in pages that joined any shard */
	int seq;		/* the age that pages had then */
};

struct ssw_test_lru {
	struct mem_cgroup_per_node mz;
	struct scaleswap_shards *shards;
	struct scaleswap_shard *shard[SSW_TEST_SHARDS + 1];
	struct ssw_test_page page[SSW_TEST_PAGES];
	long nr[SSW_TEST_SHARDS + 1];
	unsigned long joined;
};

static struct ssw_test_lru *ssw_test_lru(struct kunit *test)
{
	struct ssw_test_lru *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->shards = kunit_kzalloc(test, struct_size(t->shards, shard, SSW_TEST_SHARDS + 1),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->shards);
	ssw_lru_ages_init(t->shards->age, sizeof(t->shards->age[0]), t->shards->older,
			  t->shards->seq);
	t->mz.lruvec.shards = t->shards;
	for (i = 1; i <= SSW_TEST_SHARDS; i++) {
		struct scaleswap_shard *shard = kunit_kzalloc(test, sizeof(*shard), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, shard);
		INIT_LIST_HEAD(&shard->lruvec.lists[SSW_TEST_LRU]);
		spin_lock_init(&shard->lruvec.lru_lock);
		shard->lruvec.shard = shard;
		shard->mlruvec = &t->mz.lruvec;
		shard->id = i;
		ssw_lru_ages_init(&shard->size[0].age, sizeof(shard->size[0]), shard->older,
				  t->shards->seq);
		llist_add(&shard->node, &t->shards->list);
		t->shards->nr++;
		t->shards->shard[i] = shard;
		t->shard[i] = shard;
	}
	return t;
}

/* As lruvec_add_folio() does. */
static void ssw_test_join(struct ssw_test_lru *t, int id, struct ssw_test_page *p)
{
	ssw_lru_join(&t->shard[id]->lruvec, SSW_TEST_LRU, 1);
	atomic_long_inc(&t->shards->total[0].lru[SSW_TEST_LRU]);
	t->shard[id]->size[SSW_TEST_LRU].zone[0]++;
	p->shard = id;
	p->joined = t->joined++;
	p->seq = t->shards->seq[SSW_TEST_LRU];
	list_add(&p->lru, &t->shard[id]->lruvec.lists[SSW_TEST_LRU]);
	t->nr[id]++;
}

static void ssw_test_leave(struct ssw_test_lru *t, struct ssw_test_page *p)
{
	list_del(&p->lru);
	atomic_long_dec(&t->shards->total[0].lru[SSW_TEST_LRU]);
	t->shard[p->shard]->size[SSW_TEST_LRU].zone[0]--;
	t->nr[p->shard]--;
	p->shard = 0;
}

/* Reclaim has taken a whole batch of a shard. */
static void ssw_test_took(struct ssw_test_lru *t, int id, struct list_head *tail, int nr_pages)
{
	unsigned int nr_short = 0;

	__scaleswap_lru_took(&t->shard[id]->lruvec, SSW_TEST_LRU, tail, nr_pages, 0, &nr_short);
}

static struct ssw_test_page *ssw_test_oldest(struct ssw_test_lru *t, int id)
{
	struct ssw_test_page *oldest = NULL;
	int i;

	for (i = 0; i < SSW_TEST_PAGES; i++) {
		struct ssw_test_page *p = &t->page[i];

		if (p->shard == id && (!oldest || p->joined < oldest->joined))
			oldest = p;
	}
	return oldest;
}

/* Check that the page that would leave first is the oldest, and has the age that it should. */
static bool ssw_test_tail_is_right(struct kunit *test, struct ssw_test_lru *t, int id)
{
	struct ssw_test_page *p = ssw_test_oldest(t, id);
	struct list_head *tail = __scaleswap_lru_tail(&t->shard[id]->lruvec, SSW_TEST_LRU);
	int seq = t->shard[id]->size[SSW_TEST_LRU].age.seq - (SCALESWAP_LRU_AGES - 1);
	int behind = t->shards->seq[SSW_TEST_LRU];

	KUNIT_EXPECT_EQ(test, list_empty(tail), !p);
	if (!p)
		return list_empty(tail);
	/* Ages that cannot be told apart from the oldest one that can count as that. */
	behind -= max(seq, p->seq);
	KUNIT_EXPECT_PTR_EQ(test, tail->prev, &p->lru);
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(&t->shard[id]->lruvec, SSW_TEST_LRU), behind);
	return tail->prev == &p->lru &&
	       ssw_lru_behind(&t->shard[id]->lruvec, SSW_TEST_LRU) == behind;
}

static unsigned int ssw_test_came(struct ssw_test_lru *t, int id, unsigned int seq)
{
	return t->shard[id]->older[SSW_TEST_LRU].came[seq % SCALESWAP_LRU_AGES];
}

/* Check that no age has more pages than have come to it, and that none counts that is not there. */
static bool ssw_test_came_is_right(struct kunit *test, struct ssw_test_lru *t, int id)
{
	struct scaleswap_age *age = &t->shard[id]->size[SSW_TEST_LRU].age;
	struct scaleswap_older *older = &t->shard[id]->older[SSW_TEST_LRU];
	unsigned int i, wrong = 0;

	for (i = 0; i < SCALESWAP_LRU_AGES; i++) {
		unsigned int seq = age->oldest + i;
		size_t pages = list_count_nodes(&older->age[seq % SCALESWAP_LRU_AGES]);

		if (i < age->seq - age->oldest)
			wrong += ssw_test_came(t, id, seq) < pages;
		else
			wrong += ssw_test_came(t, id, seq) > 0;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	return !wrong;
}

/* Pages join and leave at random, and shards rest for long: all are found, in order. */
static void ssw_test_ages_in_order(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct rnd_state rnd;
	int busy = 1, round;

	prandom_seed_state(&rnd, 42);
	for (round = 0; round < 40000; round++) {
		struct ssw_test_page *p = &t->page[prandom_u32_state(&rnd) % SSW_TEST_PAGES];
		int id = 1 + prandom_u32_state(&rnd) % SSW_TEST_SHARDS;

		/* Most of the time one shard is busy, and the others hardly are. */
		if (!(prandom_u32_state(&rnd) % 2000))
			busy = id;
		if (prandom_u32_state(&rnd) % 64)
			id = busy;
		if (p->shard) {
			/* Freed, or used: from anywhere in the list. */
			if (p->shard == id)
				ssw_test_leave(t, p);
		} else {
			ssw_test_join(t, id, p);
		}
		if (round % 16 || !t->nr[id])
			continue;
		/* Reclaim */
		if (!ssw_test_tail_is_right(test, t, id))
			break;
		ssw_test_leave(t, ssw_test_oldest(t, id));
		if (!ssw_test_tail_is_right(test, t, id) || !ssw_test_came_is_right(test, t, id))
			break;
	}
	/* It was not for nothing: pages of all ages were seen. */
	KUNIT_EXPECT_GT(test, t->shards->seq[SSW_TEST_LRU], 50);
	for (round = 1; round <= SSW_TEST_SHARDS; round++) {
		while (t->nr[round] && ssw_test_tail_is_right(test, t, round))
			ssw_test_leave(t, ssw_test_oldest(t, round));
		KUNIT_EXPECT_EQ(test, t->nr[round], 0);
	}
}

/* A shard that only loses pages gets older by what joins the others. */
static void ssw_test_ages_idle(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	unsigned int was = 0, behind;
	int i, j;

	for (i = 0; i < 64; i++)
		ssw_test_join(t, 1, &t->page[i]);
	for (j = 0; j < 20; j++) {
		for (i = 64; i < 64 + SCALESWAP_LRU_BATCH * 2; i++)
			ssw_test_join(t, 2, &t->page[i]);
		behind = ssw_lru_behind(&t->shard[1]->lruvec, SSW_TEST_LRU);
		KUNIT_EXPECT_GE(test, behind, was);
		was = behind;
		for (i = 64; i < 64 + SCALESWAP_LRU_BATCH * 2; i++)
			ssw_test_leave(t, &t->page[i]);
	}
	KUNIT_EXPECT_GE(test, was, 20);
	/* No older than what cannot be told apart in a shard that pages join. */
	KUNIT_EXPECT_EQ(test, ssw_lru_steps(&t->shard[1]->lruvec, SSW_TEST_LRU),
			SCALESWAP_LRU_AGES * SCALESWAP_LRU_STEPS);
	/* The other one has replaced its memory all the time, so that is new. */
	for (i = 64; i < 96; i++)
		ssw_test_join(t, 2, &t->page[i]);
	KUNIT_EXPECT_LE(test, ssw_lru_behind(&t->shard[2]->lruvec, SSW_TEST_LRU), 1);
}

/* What shall leave next is taken first, and what comes after it keeps its age. */
static void ssw_test_ages_last(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	unsigned int behind;
	struct ssw_test_page last[2];
	int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 40; i++)
			ssw_test_join(t, 1, &t->page[40 * round + i]);
		behind = ssw_lru_behind(lruvec, SSW_TEST_LRU);
		KUNIT_EXPECT_FALSE(test, ssw_lru_has_next(lruvec, SSW_TEST_LRU));
		for (i = 0; i < 2; i++)
			list_add_tail(&last[i].lru, __scaleswap_lru_last(lruvec, SSW_TEST_LRU));
		KUNIT_EXPECT_TRUE(test, ssw_lru_has_next(lruvec, SSW_TEST_LRU));
		KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), behind);
		for (i = 1; i >= 0; i--) {
			KUNIT_EXPECT_PTR_EQ(test, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU)->prev,
					    &last[i].lru);
			list_del(&last[i].lru);
		}
		KUNIT_EXPECT_FALSE(test, ssw_lru_has_next(lruvec, SSW_TEST_LRU));
		KUNIT_EXPECT_TRUE(test, ssw_test_tail_is_right(test, t, 1));
	}
	/* They stay the first when many others come. */
	list_add_tail(&last[0].lru, __scaleswap_lru_last(lruvec, SSW_TEST_LRU));
	for (i = 120; i < SSW_TEST_PAGES; i++)
		ssw_test_join(t, 1, &t->page[i]);
	KUNIT_EXPECT_PTR_EQ(test, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU)->prev, &last[0].lru);
	list_del(&last[0].lru);
	KUNIT_EXPECT_TRUE(test, ssw_test_tail_is_right(test, t, 1));
}

/*
 * A batch ends with an age, and with those that shall leave next. An empty one begins at the next
 * age.
 */
static void ssw_test_ages_batch(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	struct ssw_test_page *p = &t->page[0];
	struct list_head *tail, *newer;
	LIST_HEAD(last);

	/* An older page, and many newer ones; another shard has some, too */
	ssw_test_join(t, 1, p);
	ssw_test_join(t, 2, &t->page[SSW_TEST_PAGES - 1]);
	for (int i = 1; t->shards->seq[SSW_TEST_LRU] < 3; i++)
		ssw_test_join(t, 1, &t->page[i]);
	newer = &lruvec->lists[SSW_TEST_LRU];
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	KUNIT_EXPECT_PTR_EQ(test, tail->prev, &p->lru);
	KUNIT_ASSERT_PTR_NE(test, tail, newer);
	while (!list_empty(tail))
		ssw_test_leave(t, ssw_test_oldest(t, 1));
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 1));
	KUNIT_EXPECT_TRUE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 0));
	KUNIT_EXPECT_PTR_EQ(test, tail, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU));
	/* A page that shall leave next */
	list_add(&last, __scaleswap_lru_last(lruvec, SSW_TEST_LRU));
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	KUNIT_EXPECT_PTR_EQ(test, tail->prev, &last);
	list_del(&last);
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 1));
	KUNIT_EXPECT_TRUE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 0));
}

/* A batch goes on with newer pages if no other shard has any that could be older. */
static void ssw_test_ages_alone(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	struct scaleswap_list_size *size = &t->shard[1]->size[SSW_TEST_LRU];
	struct ssw_test_page *other = &t->page[SSW_TEST_PAGES - 1];
	unsigned long nr, *own = &t->mz.lru_zone_size[0][SSW_TEST_LRU];
	atomic_long_t *total = &t->shards->total[0].lru[SSW_TEST_LRU];
	struct list_head *tail, *was;
	unsigned int nr_short = 0;
	LIST_HEAD(last);

	for (int i = 0; t->shards->seq[SSW_TEST_LRU] < 2; i++)
		ssw_test_join(t, 1, &t->page[i]);
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	while (!list_empty(tail))
		ssw_test_leave(t, ssw_test_oldest(t, 1));
	was = tail;
	ssw_test_join(t, 2, other);
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 10));
	ssw_test_leave(t, other);
	/* The memcg's own lists count, and what this shard has not posted does not. */
	*own = 1;
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 10));
	*own = 0;
	atomic_long_sub(5, total);
	size->unposted[0] = 5;
	ssw_test_join(t, 2, other);
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 10));
	ssw_test_leave(t, other);
	/* Nor can a shard tell that has not posted any of its pages. */
	nr = size->zone[0];
	size->unposted[0] = 0;
	size->zone[0] = 0;
	atomic_long_set(total, 0);
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 10));
	size->zone[0] = nr;
	atomic_long_set(total, nr);
	KUNIT_EXPECT_PTR_EQ(test, tail, was);
	KUNIT_EXPECT_TRUE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 10));
	KUNIT_EXPECT_PTR_EQ(test, tail, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU));
	KUNIT_EXPECT_PTR_NE(test, tail, was);
	/* Ten of them were of the age before. */
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 12, 0, &nr_short);
	KUNIT_EXPECT_EQ(test, size->age.taken, 2);
	KUNIT_EXPECT_EQ(test, nr_short, 0);
	/* But not after those that shall leave next: what follows may be the newest of all. */
	list_add(&last, __scaleswap_lru_last(lruvec, SSW_TEST_LRU));
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	list_del(&last);
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 1));
	/* If nothing follows, they were of this age. */
	while (ssw_test_oldest(t, 1))
		ssw_test_leave(t, ssw_test_oldest(t, 1));
	size->zone[0] = SCALESWAP_LRU_BATCH;
	atomic_long_set(total, SCALESWAP_LRU_BATCH);
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	size->age.taken = 0;
	KUNIT_EXPECT_FALSE(test, __scaleswap_lru_next(lruvec, SSW_TEST_LRU, &tail, 7));
	KUNIT_EXPECT_EQ(test, size->age.taken, 0);
}

/* What a batch is short of is left to scan, if the list has more pages and some were scanned. */
static void ssw_test_ages_short(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	unsigned int nr, nr_short = 0;
	struct list_head *tail;
	LIST_HEAD(last);

	for (nr = 0; t->shards->seq[SSW_TEST_LRU] < 3; nr++)
		ssw_test_join(t, 1, &t->page[nr]);
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 32, 0, &nr_short);
	/* A large folio at the end of a batch is more than was asked for. */
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 40, -8, &nr_short);
	/* No progress: it would be asked for again and again. */
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 0, 32, &nr_short);
	KUNIT_EXPECT_EQ(test, nr_short, 0);
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 3, 29, &nr_short);
	KUNIT_EXPECT_EQ(test, nr_short, 29);
	list_add(&last, __scaleswap_lru_last(lruvec, SSW_TEST_LRU));
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	list_del(&last);
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 1, 31, &nr_short);
	KUNIT_EXPECT_EQ(test, nr_short, 60);
	while (nr--)
		ssw_test_leave(t, &t->page[nr]);
	tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	__scaleswap_lru_took(lruvec, SSW_TEST_LRU, tail, 3, 29, &nr_short);
	KUNIT_EXPECT_EQ(test, nr_short, 60);
}

/* Pages of a shard do not count as older than they are, once somebody wants to know. */
static void ssw_test_ages_settle(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	int i, nr;

	for (nr = 0; t->shards->seq[SSW_TEST_LRU] < 3; nr++)
		ssw_test_join(t, 1, &t->page[nr]);
	KUNIT_EXPECT_FALSE(test, ssw_lru_settle(lruvec, SSW_TEST_LRU));
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), 3);
	for (i = 0; i < nr; i++) {
		if (t->page[i].seq <= 1)
			ssw_test_leave(t, &t->page[i]);
	}
	KUNIT_EXPECT_TRUE(test, ssw_lru_settle(lruvec, SSW_TEST_LRU));
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), 1);
	KUNIT_EXPECT_FALSE(test, ssw_lru_settle(lruvec, SSW_TEST_LRU));
	KUNIT_EXPECT_TRUE(test, ssw_test_tail_is_right(test, t, 1));
}

/* Pages that are moved to the front are as old as those that join now, not as the last ones. */
static void ssw_test_ages_front(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	LIST_HEAD(moved);
	int i;

	for (i = 0; i < 8; i++)
		ssw_test_join(t, 1, &t->page[i]);
	for (; t->shards->seq[SSW_TEST_LRU] < 3; i++)
		ssw_test_join(t, 2, &t->page[i]);
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), 3);
	for (i = 0; i < 4; i++)
		list_move(&t->page[i].lru, &moved);
	__scaleswap_lru_front(lruvec, SSW_TEST_LRU);
	list_splice(&moved, &lruvec->lists[SSW_TEST_LRU]);
	/* The others are older. */
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), 3);
	for (; i < 8; i++) {
		KUNIT_EXPECT_PTR_EQ(test, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU)->prev,
				    &t->page[i].lru);
		ssw_test_leave(t, &t->page[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU)->prev,
			    &t->page[0].lru);
	KUNIT_EXPECT_EQ(test, ssw_lru_behind(lruvec, SSW_TEST_LRU), 0);
}

/* An age is a part of all pages, however many CPUs they are from. */
static void ssw_test_ages_by_size(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	unsigned int *seq = &t->shards->seq[SSW_TEST_LRU];
	unsigned int was;
	int i;

	atomic_long_set(&t->shards->total[0].lru[SSW_TEST_LRU], 1000 * SCALESWAP_LRU_BATCH);
	was = *seq;
	for (i = 0; *seq == was && i < 1000; i++)
		ssw_lru_join(&t->shard[1 + i % SSW_TEST_SHARDS]->lruvec, SSW_TEST_LRU,
			     SCALESWAP_LRU_BATCH);
	KUNIT_EXPECT_EQ(test, *seq, was + 1);
	KUNIT_EXPECT_EQ(test, i, 1000 / SSW_LRU_PARTS);
	/* And of those that there are now. */
	for (i = 0; i < 1000 / SSW_LRU_PARTS / 2; i++)
		ssw_lru_join(&t->shard[1]->lruvec, SSW_TEST_LRU, SCALESWAP_LRU_BATCH);
	KUNIT_EXPECT_EQ(test, *seq, was + 1);
	atomic_long_set(&t->shards->total[0].lru[SSW_TEST_LRU], 100 * SCALESWAP_LRU_BATCH);
	ssw_lru_join(&t->shard[1]->lruvec, SSW_TEST_LRU, SCALESWAP_LRU_BATCH);
	KUNIT_EXPECT_EQ(test, *seq, was + 2);
}

/* Within an age pages are the newer the more of it reclaim has taken. */
static void ssw_test_ages_part(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	struct list_head *tail = __scaleswap_lru_tail(lruvec, SSW_TEST_LRU);
	unsigned int from, steps, i, j, of[2] = { };

	for (i = 0; t->shards->seq[SSW_TEST_LRU] < 2; i++) {
		ssw_test_join(t, 1, &t->page[i]);
		if (t->page[i].seq < 2)
			of[t->page[i].seq]++;
	}
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 0), of[0]);
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 1), of[1]);
	from = ssw_lru_position(lruvec, SSW_TEST_LRU);
	steps = ssw_lru_steps(lruvec, SSW_TEST_LRU);
	KUNIT_EXPECT_EQ(test, steps, 3 * SCALESWAP_LRU_STEPS);
	/* What shall leave before all others is of no age. */
	ssw_test_took(t, 1, &t->shard[1]->older[SSW_TEST_LRU].next, of[0]);
	KUNIT_EXPECT_EQ(test, ssw_lru_steps(lruvec, SSW_TEST_LRU), steps);
	for (j = 1; j <= of[0]; j++) {
		unsigned int part = j * SCALESWAP_LRU_STEPS / of[0];

		ssw_test_took(t, 1, tail, 1);
		part = min(part, SCALESWAP_LRU_STEPS - 1U);
		KUNIT_EXPECT_EQ(test, ssw_lru_steps(lruvec, SSW_TEST_LRU), steps - part);
		KUNIT_EXPECT_EQ(test, ssw_lru_position(lruvec, SSW_TEST_LRU), from + part);
	}
	/* Pages of another shard have nothing to do with it. */
	ssw_test_join(t, 2, &t->page[i++]);
	KUNIT_EXPECT_EQ(test, ssw_lru_steps(&t->shard[2]->lruvec, SSW_TEST_LRU),
			SCALESWAP_LRU_STEPS);
	/* The next age begins with nothing taken, and what was taken of the last one is over. */
	for (j = 0; j < i; j++) {
		if (t->page[j].shard == 1 && !t->page[j].seq)
			ssw_test_leave(t, &t->page[j]);
	}
	KUNIT_EXPECT_TRUE(test, ssw_lru_settle(lruvec, SSW_TEST_LRU));
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, ssw_lru_position(lruvec, SSW_TEST_LRU), SCALESWAP_LRU_STEPS);
	ssw_test_took(t, 1, tail, of[1]);
	KUNIT_EXPECT_EQ(test, ssw_lru_position(lruvec, SSW_TEST_LRU), 2 * SCALESWAP_LRU_STEPS - 1);
}

/* Ages that cannot be told apart any more are one, of which as much is taken as of both. */
static void ssw_test_ages_part_of_all(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->shard[1]->lruvec;
	unsigned int *seq = &t->shards->seq[SSW_TEST_LRU];
	unsigned int came, at = 0, j;

	/* Some that no other CPU knows of yet do not count twice. */
	for (; at < 8; at++)
		ssw_test_join(t, 1, &t->page[at]);
	for (; !*seq; at++)
		ssw_test_join(t, 2, &t->page[at]);
	for (; *seq < 2; at++)
		ssw_test_join(t, 1, &t->page[at]);
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 0), 8);
	/* The last one has begun the next age. */
	came = t->nr[1] - 1;
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 0) + ssw_test_came(t, 1, 1), came);
	ssw_test_took(t, 1, __scaleswap_lru_tail(lruvec, SSW_TEST_LRU), 8);
	KUNIT_EXPECT_EQ(test, ssw_lru_position(lruvec, SSW_TEST_LRU), SCALESWAP_LRU_STEPS - 1);
	while (*seq < SCALESWAP_LRU_AGES) {
		struct ssw_test_page *p = &t->page[at++];

		KUNIT_ASSERT_LT(test, at, SSW_TEST_PAGES);
		ssw_test_join(t, 1, p);
		if (p->seq != 2)	/* so that the list stays small */
			ssw_test_leave(t, p);
	}
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 1), came);
	KUNIT_EXPECT_EQ(test, ssw_lru_position(lruvec, SSW_TEST_LRU),
			SCALESWAP_LRU_STEPS + 8 * SCALESWAP_LRU_STEPS / came);
	KUNIT_EXPECT_TRUE(test, ssw_test_came_is_right(test, t, 1));
	/* Also if none has joined for so long that all of its ages become one at once. */
	came = t->shard[1]->size[SSW_TEST_LRU].age.joined;
	for (j = 0; j < SCALESWAP_LRU_AGES; j++)
		came += ssw_test_came(t, 1, j);
	came += t->shard[1]->size[SSW_TEST_LRU].age.came;
	ssw_test_leave(t, &t->page[0]);
	while (*seq < 3 * SCALESWAP_LRU_AGES) {
		ssw_test_join(t, 2, &t->page[0]);
		ssw_test_leave(t, &t->page[0]);
	}
	ssw_test_join(t, 1, &t->page[0]);
	KUNIT_EXPECT_EQ(test, ssw_test_came(t, 1, 2 * SCALESWAP_LRU_AGES + 1), came);
	KUNIT_EXPECT_TRUE(test, ssw_test_came_is_right(test, t, 1));
}

/* CPUs that reclaim are a batch apart; pages of an idle one go as soon as they are older. */
static void ssw_test_ages_stay(struct kunit *test)
{
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *mine = &t->shard[1]->lruvec, *other = &t->shard[2]->lruvec;
	unsigned int *seq = &t->shards->seq[SSW_TEST_LRU];

	t->shard[1]->size[SSW_TEST_LRU].age.came = 2 * SWAP_CLUSTER_MAX;
	KUNIT_EXPECT_EQ(test, ssw_lru_stay(other, mine, SSW_TEST_LRU), 1);
	ssw_lru_begun(other, SSW_TEST_LRU);
	KUNIT_EXPECT_EQ(test, ssw_lru_stay(other, mine, SSW_TEST_LRU),
			1 + SCALESWAP_LRU_STEPS / 2);
	/* Of fewer pages a batch is all. */
	KUNIT_EXPECT_EQ(test, ssw_lru_stay(other, &t->shard[3]->lruvec, SSW_TEST_LRU),
			1 + SCALESWAP_LRU_STEPS);
	/* The other one is idle again when the list has been replaced. */
	*seq += SSW_LRU_PARTS - 1;
	KUNIT_EXPECT_LT(test, 1, ssw_lru_stay(other, mine, SSW_TEST_LRU));
	*seq += 1;
	KUNIT_EXPECT_EQ(test, ssw_lru_stay(other, mine, SSW_TEST_LRU), 1);
	ssw_lru_begun(mine, SSW_TEST_LRU);
	KUNIT_EXPECT_EQ(test, ssw_lru_stay(other, mine, SSW_TEST_LRU), 1);
	ssw_lru_begun(other, SSW_TEST_LRU);
	KUNIT_EXPECT_LT(test, 1, ssw_lru_stay(other, mine, SSW_TEST_LRU));
}

/* A list has the pages of all shards; if they have posted many, these. */
static void ssw_test_lru_total(struct kunit *test)
{
	const long enough = 2 * SCALESWAP_LRU_BATCH * SSW_TEST_SHARDS;
	struct ssw_test_lru *t = ssw_test_lru(test);
	struct lruvec *lruvec = &t->mz.lruvec;
	atomic_long_t *posted = &t->shards->total[0].lru[SSW_TEST_LRU];
	unsigned long sum = 0;
	int i;

	lruvec->pgdat = NODE_DATA(first_online_node);
	KUNIT_EXPECT_EQ(test, __scaleswap_lru_total(lruvec, SSW_TEST_LRU, MAX_NR_ZONES), 0);
	for (i = 1; i <= SSW_TEST_SHARDS; i++) {
		t->shard[i]->size[SSW_TEST_LRU].zone[0] = 20 + i;
		sum += 20 + i;
		KUNIT_EXPECT_EQ(test, sum,
				__scaleswap_lru_total(lruvec, SSW_TEST_LRU, MAX_NR_ZONES));
	}
	atomic_long_set(posted, enough - 1);
	KUNIT_EXPECT_EQ(test, __scaleswap_lru_total(lruvec, SSW_TEST_LRU, MAX_NR_ZONES), sum);
	atomic_long_set(posted, enough);
	KUNIT_EXPECT_EQ(test, __scaleswap_lru_total(lruvec, SSW_TEST_LRU, MAX_NR_ZONES),
			enough);
}

static struct kunit_case ssw_test_lruage_cases[] = {
	KUNIT_CASE(ssw_test_lru_total),
	KUNIT_CASE(ssw_test_ages_in_order),
	KUNIT_CASE(ssw_test_ages_idle),
	KUNIT_CASE(ssw_test_ages_last),
	KUNIT_CASE(ssw_test_ages_batch),
	KUNIT_CASE(ssw_test_ages_alone),
	KUNIT_CASE(ssw_test_ages_short),
	KUNIT_CASE(ssw_test_ages_settle),
	KUNIT_CASE(ssw_test_ages_front),
	KUNIT_CASE(ssw_test_ages_by_size),
	KUNIT_CASE(ssw_test_ages_part),
	KUNIT_CASE(ssw_test_ages_part_of_all),
	KUNIT_CASE(ssw_test_ages_stay),
	{}
};

static struct kunit_suite ssw_test_lruage_suite = {
	.name = "scaleswap_lruage",
	.test_cases = ssw_test_lruage_cases,
};

kunit_test_suite(ssw_test_lruage_suite);
