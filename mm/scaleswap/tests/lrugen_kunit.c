// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the order of LRU shards within a generation: when the page at a tail came.
 */
#include <kunit/test.h>
#include <linux/memcontrol.h>

#include "../internal.h"

#define SSW_TEST_PAGES	4096

/* The pages of a generation in a shard, in the order in which they came */
struct ssw_test_gen {
	struct scaleswap_gen g;
	u32 came[SSW_TEST_PAGES];
	unsigned int head, tail;
	u32 now;
};

static struct ssw_test_gen *ssw_test_gen(struct kunit *test)
{
	struct ssw_test_gen *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	/* Jiffies wrap soon. */
	t->now = -300U;
	return t;
}

static void ssw_test_comes(struct ssw_test_gen *t, unsigned int n)
{
	for (; n; n--) {
		if (t->g.came >= t->g.next || t->head == t->tail)
			ssw_gen_mark(&t->g, t->head - t->tail, t->now);
		t->g.last = t->now;
		t->g.came++;
		t->came[t->head++ % SSW_TEST_PAGES] = t->now;
	}
}

static void ssw_test_goes(struct ssw_test_gen *t, unsigned int n)
{
	t->tail += n;
	t->g.gone += n;
}

/* How far the estimate is from how old the page at the tail is. */
static unsigned int ssw_test_off(struct ssw_test_gen *t)
{
	s32 off = ssw_gen_age(&t->g, t->head - t->tail, t->now) -
		  (t->now - t->came[t->tail % SSW_TEST_PAGES]);

	return abs(off);
}

/* Pages come at an even pace, and reclaim takes them. */
static void ssw_test_gen_even(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);
	int i;

	for (i = 0; i < 1000; i++, t->now++)
		ssw_test_comes(t, 4);
	KUNIT_EXPECT_LE(test, ssw_test_off(t), SCALESWAP_LRU_BATCH / 4);
	for (i = 0; i < 999; i++) {
		ssw_test_goes(t, 4);
		KUNIT_EXPECT_LE(test, ssw_test_off(t), SCALESWAP_LRU_BATCH / 4);
	}
}

/* A CPU replaces its pages all the time: those that it has are new. */
static void ssw_test_gen_replaced(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);
	int i;

	for (i = 0; i < 200; i++, t->now++)
		ssw_test_comes(t, 4);
	for (i = 0; i < 20000; i++, t->now++) {
		ssw_test_goes(t, 4);
		ssw_test_comes(t, 4);
		KUNIT_EXPECT_LE(test, ssw_test_off(t), 12);
	}
	/* It does so four times as fast from now on. The pace that was is forgotten. */
	for (i = 0; i < 1000; i++, t->now++) {
		ssw_test_goes(t, 16);
		ssw_test_comes(t, 16);
	}
	KUNIT_EXPECT_LE(test, ssw_test_off(t), 20);
}

/* Marks are dropped while the tail is between two of those that stay: it stays there. */
static void ssw_test_gen_dropped(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);
	int i;

	for (i = 0; i < 250; i++, t->now++)
		ssw_test_comes(t, 4);
	ssw_test_goes(t, 350);
	for (i = 0; i < 2000; i++, t->now++) {
		ssw_test_comes(t, 4);
		if (i % 8 == 7)
			ssw_test_goes(t, 33);
		KUNIT_EXPECT_LE(test, ssw_test_off(t), 12);
	}
}

/* Nothing has gone: the tail is as old as the first page, whenever others came. */
static void ssw_test_gen_idle(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);

	ssw_test_comes(t, 1000);
	t->now += 100000;
	ssw_test_comes(t, 1);
	KUNIT_EXPECT_EQ(test, 0, ssw_test_off(t));
}

/* All have gone: the next page is the first one. */
static void ssw_test_gen_emptied(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);

	ssw_test_comes(t, 100);
	t->now += 1000;
	ssw_test_comes(t, 100);
	ssw_test_goes(t, 200);
	t->now += 1000;
	ssw_test_comes(t, 1);
	KUNIT_EXPECT_EQ(test, 0, ssw_test_off(t));
	KUNIT_EXPECT_EQ(test, 0, t->g.gone);
}

/* A few pages that come late do not make all others young. */
static void ssw_test_gen_late(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);
	int i;

	for (i = 0; i < 400; i++, t->now++)
		ssw_test_comes(t, 10);
	t->now += 20000;
	ssw_test_comes(t, 7);
	for (i = 0; i < 50; i++) {
		ssw_test_goes(t, 60);
		KUNIT_EXPECT_LE(test, ssw_test_off(t), 5);
	}
}

/* A single page that came early does not make all others old. */
static void ssw_test_gen_stray(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);
	int i;

	ssw_test_comes(t, 1);
	t->now += 20000;
	for (i = 0; i < 400; i++, t->now++)
		ssw_test_comes(t, 10);
	for (i = 0; i < 50; i++) {
		ssw_test_goes(t, 60);
		KUNIT_EXPECT_LE(test, ssw_test_off(t), 5);
	}
}

/* A quarter of the pages come much later than all others. */
static void ssw_test_gen_bursts(struct kunit *test)
{
	struct ssw_test_gen *t = ssw_test_gen(test);

	ssw_test_comes(t, 3000);
	t->now += 10000;
	ssw_test_comes(t, 1000);
	/* Not where the one part ends and the other one begins: marks are few. */
	ssw_test_goes(t, 1000);
	KUNIT_EXPECT_EQ(test, 0, ssw_test_off(t));
	ssw_test_goes(t, 2800);
	KUNIT_EXPECT_EQ(test, 0, ssw_test_off(t));
}

/*
 * All pages of a generation join the next one, several times. They keep their ages, also where a
 * few have come before them.
 */
static void ssw_test_gen_folded(struct kunit *test)
{
	struct ssw_test_gen *old = ssw_test_gen(test), *next = NULL;
	unsigned int round, i, pages = 1000;
	u32 first = old->now;

	for (i = 0; i < 100; i++, old->now++)
		ssw_test_comes(old, 10);
	for (round = 0; round < 5; round++) {
		next = ssw_test_gen(test);
		next->now = old->now + 1000;
		if (round == 3)
			ssw_test_comes(next, 60);
		for (i = 0; i < pages; i++) {
			u32 age = ssw_gen_age(&old->g, pages - i, next->now);

			ssw_gen_moved(&next->g, next->head - next->tail, next->now - age, 1,
				      pages - i - 1);
			next->head++;
			old->g.gone++;
		}
		pages = next->head - next->tail;
		old = next;
	}
	KUNIT_ASSERT_EQ(test, 1060, pages);
	for (i = 0; i < 10; i++) {
		u32 came;

		next->g.gone = 80 * i;
		came = next->now - ssw_gen_age(&next->g, pages - 80 * i, next->now);
		KUNIT_EXPECT_LE(test, came - first, 8 * i + 10);
		KUNIT_EXPECT_GE(test, came - first + 50, 8 * i);
	}
}

/* A shard with @pages that came from @since jiffies ago on, in @span jiffies */
static struct scaleswap_shard *ssw_test_shard(struct kunit *test, u32 since, u32 span, int pages)
{
	struct scaleswap_shard *shard = kunit_kzalloc(test, sizeof(*shard), GFP_KERNEL);
	u32 first = (u32)jiffies - since;

	KUNIT_ASSERT_NOT_NULL(test, shard);
	shard->gen[2][LRU_GEN_ANON] = (struct scaleswap_gen) {
		.mark[0].at = first, .marks = 1, .next = 2 * pages, .last = first + span,
		.pages = pages, .came = pages,
	};
	return shard;
}

/* Reclaim writes pages. They come back to the tail, and go for good: they are gone once. */
static void ssw_test_gen_written(struct kunit *test)
{
	struct scaleswap_shard *shard = ssw_test_shard(test, 1000, 800, 400);
	struct scaleswap_gen *g = &shard->gen[2][LRU_GEN_ANON];
	u32 first = g->mark[0].at, now = first + 1000;
	int i;

	g->pages -= 100;
	g->gone += 100;
	KUNIT_EXPECT_EQ(test, 800, ssw_gen_age(g, 300, now));
	for (i = 0; i < 100; i++, g->pages++)
		__scaleswap_lru_gen_add(shard, 2, LRU_GEN_ANON, 1, true);
	KUNIT_EXPECT_EQ(test, 0, g->gone);
	KUNIT_EXPECT_EQ(test, 1000, ssw_gen_age(g, 400, now));
	/* In the generation that they are in while they are written, none has gone after that. */
	for (i = 0; i < 2; i++) {
		__scaleswap_lru_gen_add(shard, 2, LRU_GEN_ANON, 1, true);
		KUNIT_EXPECT_EQ(test, -1, g->gone);
		KUNIT_EXPECT_EQ(test, 1000, ssw_gen_age(g, 401, now));
		g->gone++;
	}
	KUNIT_EXPECT_EQ(test, 400, g->came);
	/* A page that is used joins at the other end. */
	__scaleswap_lru_gen_add(shard, 2, LRU_GEN_ANON, 1, false);
	KUNIT_EXPECT_EQ(test, 401, g->came);
	KUNIT_EXPECT_EQ(test, first, g->mark[0].at);
}

/* A shard counts its pages by itself, also those that a walk has promoted. */
static void ssw_test_gen_counts(struct kunit *test)
{
	struct scaleswap_shard *shard = ssw_test_shard(test, 1000, 800, 300);
	struct scaleswap_gen *g = &shard->gen[2][LRU_GEN_ANON];

	/* 100 of 400 have gone; or of 200, as a walk has promoted 200. */
	g->gone = 100;
	KUNIT_EXPECT_LE(test, 800, ssw_lru_gen_age(shard, 2, LRU_GEN_ANON));
	KUNIT_EXPECT_GE(test, 900, ssw_lru_gen_age(shard, 2, LRU_GEN_ANON));
	atomic_long_set(&shard->promoted[2][LRU_GEN_ANON], -200);
	KUNIT_EXPECT_LE(test, 600, ssw_lru_gen_age(shard, 2, LRU_GEN_ANON));
	KUNIT_EXPECT_GE(test, 700, ssw_lru_gen_age(shard, 2, LRU_GEN_ANON));
	/* The first page of a generation begins it, but not if walks have filled that before. */
	g->gone = 0;
	g->pages = 0;
	atomic_long_set(&shard->promoted[2][LRU_GEN_ANON], 200);
	__scaleswap_lru_gen_add(shard, 2, LRU_GEN_ANON, 1, false);
	KUNIT_EXPECT_EQ(test, 301, g->came);
	atomic_long_set(&shard->promoted[2][LRU_GEN_ANON], 0);
	__scaleswap_lru_gen_add(shard, 2, LRU_GEN_ANON, 1, false);
	KUNIT_EXPECT_EQ(test, 1, g->came);
	KUNIT_EXPECT_GE(test, 10, ssw_lru_gen_age(shard, 2, LRU_GEN_ANON));
}

/* The pages of a shard's generation join the next one, a few at a time: they get no younger. */
static void ssw_test_gen_shard_folded(struct kunit *test)
{
	struct scaleswap_shard *shard = ssw_test_shard(test, 1000, 800, 400);
	struct scaleswap_gen *old = &shard->gen[2][LRU_GEN_ANON];
	struct scaleswap_gen *g = &shard->gen[3][LRU_GEN_ANON];
	int i, n = 4;

	for (i = 0; i < 400; i += n) {
		/* As scaleswap_lru_gen_resize() does */
		__scaleswap_lru_gen_moved(shard, 2, 3, LRU_GEN_ANON, n);
		old->pages -= n;
		old->gone += n;
		g->pages += n;
	}
	KUNIT_EXPECT_LE(test, 950, ssw_lru_gen_age(shard, 3, LRU_GEN_ANON));
	g->pages -= 200;
	g->gone += 200;
	KUNIT_EXPECT_LE(test, 550, ssw_lru_gen_age(shard, 3, LRU_GEN_ANON));
	KUNIT_EXPECT_GE(test, 800, ssw_lru_gen_age(shard, 3, LRU_GEN_ANON));
}

static void ssw_test_lruvec_init(struct lruvec *l)
{
	int gen, type, zone;

	spin_lock_init(&l->lru_lock);
	for (gen = 0; gen < MAX_NR_GENS; gen++)
		for (type = 0; type < ANON_AND_FILE; type++)
			for (zone = 0; zone < MAX_NR_ZONES; zone++)
				INIT_LIST_HEAD(&l->lrugen.folios[gen][type][zone]);
}

static struct lruvec *ssw_test_lruvec(struct kunit *test)
{
	struct lruvec *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	ssw_test_lruvec_init(l);
	return l;
}

/* A generation's size is that of all shards, and exact if it is small. */
static void ssw_test_gen_sizes(struct kunit *test)
{
	struct scaleswap_shards *shards;
	struct lruvec *l = ssw_test_lruvec(test);
	unsigned int nr = ssw_lru_shards;

	shards = kunit_kzalloc(test, struct_size(shards, shard, nr + 1), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, shards);
	l->lrugen.nr_pages[2][LRU_GEN_ANON][0] = 7;
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 7);
	l->shards = shards;
	atomic_long_set(&shards->gen[2][LRU_GEN_ANON], 20);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 27);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_FILE), 0);
	if (nr) {
		shards->shard[nr] = ssw_test_shard(test, 1000, 800, 0);
		shards->nr = 1;
		llist_add(&shards->shard[nr]->node, &shards->list);
		shards->shard[nr]->gen_unposted[2][LRU_GEN_ANON] = -3;
		KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 24);
	}
	/* A walk has promoted pages, and counted them elsewhere. */
	l->lrugen.nr_pages[2][LRU_GEN_ANON][0] = -30;
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 0);
	/* Of so many, what the one shard has not posted yet does not count. */
	atomic_long_set(&shards->gen[2][LRU_GEN_ANON], 30 + 2 * SCALESWAP_LRU_BATCH);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 2 * SCALESWAP_LRU_BATCH);
	atomic_long_set(&shards->gen[2][LRU_GEN_ANON], 1000000);
	KUNIT_EXPECT_EQ(test, scaleswap_lru_gen_size(l, 2, LRU_GEN_ANON), 1000000 - 30);
}

/* Evictors age if more than two thirds are young, or less than a fifth is old. */
static void ssw_test_gen_is_low(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, ssw_gen_is_low(0, 0, 0));
	KUNIT_EXPECT_FALSE(test, ssw_gen_is_low(2000, 600, 3000));
	KUNIT_EXPECT_TRUE(test, ssw_gen_is_low(2001, 600, 3000));
	KUNIT_EXPECT_TRUE(test, ssw_gen_is_low(0, 599, 3000));
	KUNIT_EXPECT_FALSE(test, ssw_gen_is_low(1501, 749, 3000));
}

/* A 64th of a small shard, but for very small ones, and a batch of a large one */
static void ssw_test_gen_share(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_gen_share(0), 4);
	KUNIT_EXPECT_EQ(test, ssw_gen_share(319), 4);
	KUNIT_EXPECT_EQ(test, ssw_gen_share(320), 5);
	KUNIT_EXPECT_EQ(test, ssw_gen_share(511), 7);
	KUNIT_EXPECT_EQ(test, ssw_gen_share(512), MIN_LRU_BATCH);
	KUNIT_EXPECT_EQ(test, ssw_gen_share(INT_MAX), MIN_LRU_BATCH);
}

static void ssw_test_seqs(struct lruvec *l, unsigned long anon, unsigned long file)
{
	l->lrugen.min_seq[LRU_GEN_ANON] = anon;
	l->lrugen.min_seq[LRU_GEN_FILE] = file;
	l->lrugen.max_seq = max(anon, file) + MIN_NR_GENS;
}

static void ssw_expect_seqs(struct kunit *test, struct lruvec *l, unsigned long anon,
			    unsigned long file)
{
	KUNIT_EXPECT_EQ(test, l->lrugen.min_seq[LRU_GEN_ANON], anon);
	KUNIT_EXPECT_EQ(test, l->lrugen.min_seq[LRU_GEN_FILE], file);
}

/* However the memcg's lruvec changes meanwhile, anonymous memory is not ahead of page cache. */
static void ssw_test_gen_ends(struct kunit *test)
{
	struct lruvec *m = ssw_test_lruvec(test), *l = ssw_test_lruvec(test);
	static const bool both[] = { true, true };
	static const bool anon[] = { true, false }, file[] = { false, true };
	LIST_HEAD(folio);

	ssw_test_seqs(m, 5, 5);
	ssw_test_seqs(l, 5, 5);
	KUNIT_EXPECT_FALSE(test, ssw_lru_gen_has_ended(m, l, both));
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_end(m, l, both));
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_has_ended(m, l, both));
	ssw_expect_seqs(test, l, 6, 6);
	/* One of them is enough to have to lock it, unless it is not to end. */
	ssw_test_seqs(l, 6, 5);
	KUNIT_EXPECT_FALSE(test, ssw_lru_gen_has_ended(m, l, both));
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_has_ended(m, l, anon));
	ssw_test_seqs(l, 6, 6);
	/* Others have not: it is done already. */
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_end(m, l, both));
	ssw_expect_seqs(test, l, 6, 6);
	/* Between the two writes of another CPU, which is done */
	ssw_test_seqs(l, 6, 6);
	ssw_test_seqs(m, 6, 5);
	KUNIT_EXPECT_FALSE(test, ssw_lru_gen_end(m, l, both));
	ssw_expect_seqs(test, l, 6, 6);
	/* A folio of page cache has come, or the generation is the next one already. */
	ssw_test_seqs(m, 6, 6);
	list_add(&folio, &l->lrugen.folios[lru_gen_from_seq(6)][LRU_GEN_FILE][0]);
	KUNIT_EXPECT_FALSE(test, ssw_lru_gen_end(m, l, both));
	ssw_expect_seqs(test, l, 6, 6);
	list_del(&folio);
	/* Page cache may be ahead. */
	list_add(&folio, &l->lrugen.folios[lru_gen_from_seq(6)][LRU_GEN_ANON][0]);
	KUNIT_EXPECT_FALSE(test, ssw_lru_gen_end(m, l, both));
	ssw_expect_seqs(test, l, 6, 7);
	list_del(&folio);
	ssw_test_seqs(m, 6, 7);
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_end(m, l, anon));
	ssw_expect_seqs(test, l, 7, 7);
	/* Without swap, alone */
	ssw_test_seqs(m, 7, 7);
	ssw_test_seqs(l, 7, 7);
	KUNIT_EXPECT_TRUE(test, ssw_lru_gen_end(m, l, file));
	ssw_expect_seqs(test, l, 7, 8);
}

/* The shard that is chosen when the CPU has looked at each other one */
static struct lruvec *ssw_test_begin(struct lruvec *m, struct lruvec *mine)
{
	struct scaleswap_age looked = { };
	struct lruvec *l = NULL;
	int i;

	for (i = 0; i < 4; i++)
		l = ssw_gen_begin(m, mine, &looked, LRU_GEN_ANON);
	return l;
}

/* Reclaim leaves a locked shard for one of about the same age, not for much younger pages. */
static void ssw_test_gen_locked(struct kunit *test)
{
	/* So much that no stall of the test makes these more alike */
	static const u32 ages[] = { 1000000, 100000, 99000 };
	struct scaleswap_shards *shards;
	struct lruvec *m = ssw_test_lruvec(test), *l[3];
	struct list_head folios[3];
	int i;

	shards = kunit_kzalloc(test, struct_size(shards, shard, 4), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, shards);
	m->shards = shards;
	ssw_test_seqs(m, 2, 2);
	for (i = 0; i < 3; i++) {
		struct scaleswap_shard *shard = ssw_test_shard(test, ages[i], 10, 100);

		l[i] = &shard->lruvec;
		ssw_test_lruvec_init(l[i]);
		l[i]->shard = shard;
		shard->id = i + 1;
		shards->shard[i + 1] = shard;
		llist_add(&shard->node, &shards->list);
		shards->nr++;
		ssw_test_seqs(l[i], 2, 2);
		list_add(&folios[i], &l[i]->lrugen.folios[2][LRU_GEN_ANON][0]);
	}
	KUNIT_EXPECT_PTR_EQ(test, l[0], ssw_test_begin(m, l[1]));
	KUNIT_EXPECT_PTR_EQ(test, l[0], ssw_test_begin(m, NULL));
	spin_lock(&l[0]->lru_lock);
	KUNIT_EXPECT_PTR_EQ(test, l[0], ssw_test_begin(m, l[1]));
	KUNIT_EXPECT_PTR_EQ(test, l[0], ssw_test_begin(m, NULL));
	spin_unlock(&l[0]->lru_lock);
	/* It is older than others, but by a fifth only. */
	container_of(l[0], struct scaleswap_shard, lruvec)->gen[2][LRU_GEN_ANON].mark[0].at +=
		880000;
	KUNIT_EXPECT_PTR_EQ(test, l[0], ssw_test_begin(m, l[1]));
	spin_lock(&l[0]->lru_lock);
	KUNIT_EXPECT_PTR_EQ(test, l[1], ssw_test_begin(m, l[1]));
	KUNIT_EXPECT_PTR_NE(test, l[0], ssw_test_begin(m, NULL));
	spin_lock_nested(&l[1]->lru_lock, SINGLE_DEPTH_NESTING);
	KUNIT_EXPECT_PTR_EQ(test, l[2], ssw_test_begin(m, l[1]));
	/* All are locked: wait for one. */
	spin_lock_nested(&l[2]->lru_lock, SINGLE_DEPTH_NESTING + 1);
	KUNIT_EXPECT_NOT_NULL(test, ssw_test_begin(m, l[1]));
	spin_unlock(&l[2]->lru_lock);
	spin_unlock(&l[1]->lru_lock);
	spin_unlock(&l[0]->lru_lock);
}

static struct kunit_case ssw_gen_cases[] = {
	KUNIT_CASE(ssw_test_gen_even),
	KUNIT_CASE(ssw_test_gen_replaced),
	KUNIT_CASE(ssw_test_gen_dropped),
	KUNIT_CASE(ssw_test_gen_idle),
	KUNIT_CASE(ssw_test_gen_emptied),
	KUNIT_CASE(ssw_test_gen_late),
	KUNIT_CASE(ssw_test_gen_stray),
	KUNIT_CASE(ssw_test_gen_bursts),
	KUNIT_CASE(ssw_test_gen_folded),
	KUNIT_CASE(ssw_test_gen_written),
	KUNIT_CASE(ssw_test_gen_counts),
	KUNIT_CASE(ssw_test_gen_shard_folded),
	KUNIT_CASE(ssw_test_gen_ends),
	KUNIT_CASE(ssw_test_gen_sizes),
	KUNIT_CASE(ssw_test_gen_is_low),
	KUNIT_CASE(ssw_test_gen_share),
	KUNIT_CASE(ssw_test_gen_locked),
	{}
};

static struct kunit_suite ssw_gen_suite = {
	.name = "scaleswap_lrugen",
	.test_cases = ssw_gen_cases,
};

kunit_test_suite(ssw_gen_suite);
