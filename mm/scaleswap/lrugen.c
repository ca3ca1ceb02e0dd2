// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: generations of LRU shards.
 */

/**
 * DOC: Generations of LRU shards
 *
 * The multi-generational LRU (MGLRU) keeps folios in generations, by when they were last used.
 * With shards, what counts generations stays one for a memcg and node, in the memcg's lruvec:
 * ``max_seq``, ``min_seq``, when generations began, statistics of refaults, walks over page tables
 * with their Bloom filters, and the place among memcgs. A shard has lists of its own, with their
 * lock. So a generation number means the same in each shard, for anonymous memory and page cache.
 *
 * A shard's ``max_seq`` and ``min_seq`` are copies, so that functions which add folios to lists or
 * take them off need not know of shards.
 */

/**
 * DOC: Order within a generation
 *
 * Generations are few, and one generation may hold most pages of a busy memcg. A single list evicts
 * these in the order in which they came. Each shard has its own pages in order, too, but reclaim
 * has to know which shard's tail is the oldest. So a shard notes at a few times how many pages have
 * come to a generation, and counts those that have left it. ssw_gen_age() takes from that how long
 * ago the page at the tail came, as if pages left in their order.
 *
 * - A CPU that replaces its pages all the time has freed most of a generation before it is the
 *   oldest. Only the newest are left.
 * - A CPU that sleeps has all of its pages. So the tail is as old as the first one.
 * - A walk over page tables promotes pages. For the generation that they leave they are not gone:
 *   they did not leave from the tail. To the other one they come now.
 * - Pages that reclaim has written come back to the tail. They have not gone yet.
 * - Pages that reclaim moves from the end of a generation to the end of the next one, such as all
 *   when there have to be fewer generations, are as old as they were.
 */

/**
 * DOC: Invariants of generations
 *
 * 1. ``max_seq`` of a shard is that of the memcg's lruvec, or one more while a CPU is in
 *    inc_max_seq(): that begins with the shards. A folio is promoted to the generation that the
 *    memcg's lruvec has as the youngest. So a shard never takes it for the oldest.
 * 2. ``min_seq`` of the memcg's lruvec is that of a shard, or one less while a CPU ends a
 *    generation: that begins with the shards, too. It is never more. So if there is room for
 *    another generation in the memcg's lruvec, there is in all shards. In a shard, too, that of
 *    anonymous memory is never more than that of page cache, which seq_is_valid() checks.
 * 3. ``nr_pages`` is right as a sum over all shards and the memcg's own lists. A walk over page
 *    tables promotes folios of all shards, and counts them in the lruvec whose lock it holds. So
 *    that of a single shard may be wrong, and negative. ``pages`` and ``promoted`` of a shard,
 *    together, are right.
 */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>

#include "internal.h"

/**
 * ssw_lru_gen_init - set the generations of a new shard
 * @shard: the shard
 *
 * Context: under the lock of the memcg's lruvec.
 */
void ssw_lru_gen_init(struct scaleswap_shard *shard)
{
	struct lru_gen_folio *to = &shard->lruvec.lrugen, *from = &shard->mlruvec->lrugen;
	int type;

	to->max_seq = from->max_seq;
	for (type = 0; type < ANON_AND_FILE; type++)
		to->min_seq[type] = from->min_seq[type];
	to->enabled = from->enabled;
}

/**
 * ssw_lru_gen_pages - count the pages that a shard has of a generation
 * @shard: the shard
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Context: any; a hint without the lock of the shard's lruvec.
 * Return: pages.
 */
unsigned int ssw_lru_gen_pages(struct scaleswap_shard *shard, int gen, int type)
{
	long pages = READ_ONCE(shard->gen[gen][type].pages) +
		     atomic_long_read(&shard->promoted[gen][type]);

	return clamp(pages, 0L, (long)INT_MAX);
}

/* How many of the @came pages that have come had come before the one at the tail. */
static u32 ssw_gen_tail(const struct scaleswap_gen *g, unsigned int pages, u32 came)
{
	int gone = READ_ONCE(g->gone);

	/* Those that walks have promoted came among all others. */
	return gone <= 0 ? 0 : div_u64((u64)came * gone, (u32)gone + pages);
}

/**
 * ssw_gen_age - estimate how long ago the oldest page of a generation came
 * @g: the generation in a shard
 * @pages: its pages
 * @now: jiffies
 *
 * Context: any; a hint without the lock of the shard's lruvec.
 * Return: jiffies.
 */
u32 ssw_gen_age(const struct scaleswap_gen *g, unsigned int pages, u32 now)
{
	u32 marks = min(READ_ONCE(g->marks), SCALESWAP_GEN_MARKS), came = READ_ONCE(g->came);
	u32 tail = ssw_gen_tail(g, pages, came), i, before, nr, from, to;

	if (!marks)
		return 0;
	for (i = marks - 1; i && READ_ONCE(g->mark[i].came) > tail; i--)
		;
	from = now - READ_ONCE(g->mark[i].at);
	before = READ_ONCE(g->mark[i].came);
	if (i + 1 < marks) {
		to = now - READ_ONCE(g->mark[i + 1].at);
		nr = READ_ONCE(g->mark[i + 1].came) - before;
	} else {
		to = now - READ_ONCE(g->last);
		nr = came - before;
	}
	/* These came from the one time to the other at an even pace. */
	if (from <= to || !nr)
		return from;
	return from - (u32)div_u64((u64)(from - to) * min(tail - before, nr), nr);
}

/*
 * Make room for another mark: drop those of pages that have gone, or else each other one. @came is
 * what @g->came was: walks change that without the lock. Return what it is now.
 */
static u32 ssw_gen_room(struct scaleswap_gen *g, unsigned int pages, u32 came)
{
	u32 tail = ssw_gen_tail(g, pages, came), drop, base, i;

	for (drop = 0; drop + 1 < g->marks && g->mark[drop + 1].came <= tail; drop++)
		;
	if (!drop) {
		for (i = 1; 2 * i < SCALESWAP_GEN_MARKS; i++)
			g->mark[i] = g->mark[2 * i];
		g->marks = i;
		return came;
	}
	base = g->mark[drop].came;
	for (i = drop; i < g->marks; i++) {
		g->mark[i - drop].at = g->mark[i].at;
		g->mark[i - drop].came = g->mark[i].came - base;
	}
	g->marks -= drop;
	/* Such that the same page is at the tail */
	g->gone = came > tail ? div_u64((u64)pages * (tail - base), came - tail) : 0;
	WRITE_ONCE(g->came, came - base);
	return came - base;
}

/**
 * ssw_gen_mark - note when pages come to a generation
 * @g: the generation in a shard
 * @pages: its pages, without those
 * @now: jiffies
 *
 * Until a batch has come, that counts as coming when its last page does: a single early page says
 * nothing of all others.
 *
 * Context: under the lock of the shard's lruvec.
 */
void ssw_gen_mark(struct scaleswap_gen *g, unsigned int pages, u32 now)
{
	u32 came = READ_ONCE(g->came), marks;

	if (!pages) {
		*g = (struct scaleswap_gen){ .pages = g->pages };
		came = 0;
	} else if (came < g->next) {
		return;
	}
	if (g->marks >= SCALESWAP_GEN_MARKS)
		came = ssw_gen_room(g, pages, came);
	marks = min(g->marks, SCALESWAP_GEN_MARKS - 1);
	if (marks && came < SCALESWAP_LRU_BATCH)
		marks = 0;
	g->mark[marks].came = marks ? came : 0;
	g->mark[marks].at = now;
	WRITE_ONCE(g->marks, marks + 1);
	if (came >= SCALESWAP_LRU_BATCH)
		g->next = came + max(pages / SCALESWAP_GEN_MARKS, SCALESWAP_LRU_BATCH);
}

/**
 * ssw_gen_moved - note that the oldest pages of one generation join the end of another one
 * @g: that one, in the same shard
 * @pages: its pages, without those
 * @at: when these came, at first; jiffies
 * @nr_pages: how many they are
 * @left: pages that are left where they were
 *
 * Context: under the lock of the shard's lruvec.
 */
void ssw_gen_moved(struct scaleswap_gen *g, unsigned int pages, u32 at, int nr_pages,
		   unsigned int left)
{
	u32 i;

	if (!pages || !g->marks) {
		*g = (struct scaleswap_gen){ .marks = 2, .last = at, .pages = g->pages };
		g->mark[0].at = at;
		g->mark[1].at = at;
	} else if (time_before32(at, g->mark[0].at)) {
		/* From the first one to the second one of these */
		for (i = min(g->marks, SCALESWAP_GEN_MARKS - 2); i--; )
			g->mark[i + 2] = g->mark[i];
		g->marks = min(g->marks + 2, SCALESWAP_GEN_MARKS);
		g->mark[0].at = at;
		g->mark[0].came = 0;
		g->mark[1] = g->mark[0];
	}
	for (i = 1; i < g->marks; i++)
		g->mark[i].came += nr_pages;
	g->came += nr_pages;
	g->next += nr_pages;
	/* A few late ones do not make all others younger. */
	if (g->marks > 1 && left >= g->mark[1].came / 8 && time_after32(at, g->mark[1].at) &&
	    (g->marks == 2 || time_before32(at, g->mark[2].at)))
		g->mark[1].at = at;
	if (g->marks == 2)
		g->last = g->mark[1].at;
}

void __scaleswap_lru_gen_mark(struct scaleswap_shard *shard, int gen, int type)
{
	ssw_gen_mark(&shard->gen[gen][type], ssw_lru_gen_pages(shard, gen, type), jiffies);
}

void __scaleswap_lru_gen_moved(struct scaleswap_shard *shard, int old_gen, int new_gen, int type,
			       int nr_pages)
{
	unsigned int left = ssw_lru_gen_pages(shard, old_gen, type);

	ssw_gen_moved(&shard->gen[new_gen][type], ssw_lru_gen_pages(shard, new_gen, type),
		      (u32)jiffies - ssw_lru_gen_age(shard, old_gen, type), nr_pages, left);
}

void __scaleswap_lru_gen_promote(struct folio *folio, int old_gen, int new_gen)
{
	struct scaleswap_shard *shard = folio_lruvec(folio)->shard;
	int type = folio_is_file_lru(folio);
	long nr_pages = folio_nr_pages(folio);
	struct scaleswap_gen *g;
	unsigned long flags;

	if (!shard)
		return;
	atomic_long_sub(nr_pages, &shard->promoted[old_gen][type]);
	g = &shard->gen[new_gen][type];
	/* Marks change under the lock only. A walk does not wait for it. */
	if ((READ_ONCE(g->came) >= READ_ONCE(g->next) ||
	     !ssw_lru_gen_pages(shard, new_gen, type)) &&
	    spin_trylock_irqsave(&shard->lruvec.lru_lock, flags)) {
		__scaleswap_lru_gen_mark(shard, new_gen, type);
		spin_unlock_irqrestore(&shard->lruvec.lru_lock, flags);
	}
	/* These are hints: an update that is lost makes ages wrong for a while. */
	WRITE_ONCE(g->last, jiffies);
	WRITE_ONCE(g->came, READ_ONCE(g->came) + nr_pages);
	atomic_long_add(nr_pages, &shard->promoted[new_gen][type]);
}

/**
 * ssw_lru_gen_age - estimate how long ago the oldest page of a generation came
 * @shard: the shard
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Context: any; a hint without the lock of the shard's lruvec.
 * Return: jiffies.
 */
u32 ssw_lru_gen_age(struct scaleswap_shard *shard, int gen, int type)
{
	return ssw_gen_age(&shard->gen[gen][type], ssw_lru_gen_pages(shard, gen, type), jiffies);
}

/* Sum up a generation, but for what each shard has not posted. @shards may be NULL. */
static long ssw_gen_posted(struct lruvec *mlruvec, struct scaleswap_shards *shards, int gen,
			   int type)
{
	long size = shards ? atomic_long_read(&shards->gen[gen][type]) : 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		size += READ_ONCE(mlruvec->lrugen.nr_pages[gen][type][zone]);
	return size;
}

/**
 * scaleswap_lru_gen_size - sum up a generation over all shards
 * @mlruvec: lruvec of a memcg and node
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Context: any.
 * Return: pages; off by less than %SCALESWAP_LRU_BATCH a shard if they are many.
 */
unsigned long scaleswap_lru_gen_size(struct lruvec *mlruvec, int gen, int type)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	long size = ssw_gen_posted(mlruvec, shards, gen, type);
	struct scaleswap_shard *shard;

	/* As in __scaleswap_lru_total(). */
	if (shards && size < 2L * SCALESWAP_LRU_BATCH * READ_ONCE(shards->nr)) {
		llist_for_each_entry(shard, READ_ONCE(shards->list.first), node)
			size += READ_ONCE(shard->gen_unposted[gen][type]);
	}
	return max(size, 0L);
}

/**
 * ssw_lru_gen_posted - sum up all generations of a memcg and node, roughly
 * @mlruvec: lruvec of the memcg and node, with shards
 *
 * Context: any.
 * Return: pages, but for what each shard has not posted.
 */
long ssw_lru_gen_posted(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	int gen, type;
	long pages = 0;

	for (gen = 0; gen < MAX_NR_GENS; gen++)
		for (type = 0; type < ANON_AND_FILE; type++)
			pages += ssw_gen_posted(mlruvec, shards, gen, type);
	return pages;
}

/**
 * ssw_lru_gen_is_empty - check whether a lruvec has no folios in its oldest generation
 * @lruvec: lruvec of a shard or a memcg's
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Context: any; a hint without @lruvec's lock.
 * Return: true if there are none.
 */
bool ssw_lru_gen_is_empty(struct lruvec *lruvec, int type)
{
	int zone, gen = lru_gen_from_seq(READ_ONCE(lruvec->lrugen.min_seq[type]));

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		if (!list_empty(&lruvec->lrugen.folios[gen][type][zone]))
			return false;
	return true;
}

/**
 * ssw_lru_gen_has_ended - check whether a shard is ahead of the oldest generation of its memcg
 * @mlruvec: lruvec of the memcg and node
 * @l: lruvec of the shard
 * @ends: for which types
 *
 * Several CPUs find that a generation has no folios, and need not all lock all shards. A shard that
 * is seen to be ahead stays ahead until the caller has caught up.
 *
 * Context: any.
 * Return: true if so.
 */
bool ssw_lru_gen_has_ended(struct lruvec *mlruvec, struct lruvec *l, const bool *ends)
{
	int type;

	for (type = 0; type < ANON_AND_FILE; type++) {
		if (ends[type] && READ_ONCE(l->lrugen.min_seq[type]) ==
				  READ_ONCE(mlruvec->lrugen.min_seq[type]))
			return false;
	}
	return true;
}

/**
 * ssw_lru_gen_end - end the oldest generation of a memcg and node in one shard
 * @mlruvec: lruvec of the memcg and node
 * @l: lruvec of the shard
 * @ends: for which types
 *
 * Page cache comes first, since anonymous memory must not get ahead of it: seq_is_valid(). A folio
 * may have come since the caller looked. Or another CPU is done with this generation, and
 * @mlruvec has the next one, of one type or both.
 *
 * Context: process context, without a lruvec's lock.
 * Return: false if the generation cannot end: the shard has folios of it, or of page cache in the
 * same generation.
 */
bool ssw_lru_gen_end(struct lruvec *mlruvec, struct lruvec *l, const bool *ends)
{
	bool success = true;
	int type;

	spin_lock_irq(&l->lru_lock);
	for (type = ANON_AND_FILE - 1; type >= 0; type--) {
		unsigned long min_seq = l->lrugen.min_seq[type];

		/* Another CPU may have been here, or a new generation needed room. */
		if (!ends[type] || min_seq != READ_ONCE(mlruvec->lrugen.min_seq[type]) ||
		    l->lrugen.max_seq < min_seq + MIN_NR_GENS)
			continue;
		if (ssw_lru_gen_is_empty(l, type) &&
		    (type == LRU_GEN_FILE || min_seq < l->lrugen.min_seq[LRU_GEN_FILE]))
			WRITE_ONCE(l->lrugen.min_seq[type], min_seq + 1);
		else
			success = false;
	}
	spin_unlock_irq(&l->lru_lock);
	return success;
}

/**
 * scaleswap_lru_gen_fold - add up the sizes of generations in the memcg's lruvec
 * @mlruvec: lruvec of a memcg and node that has no folios any more
 *
 * So they are 0 if nothing was lost: see the third invariant.
 *
 * Context: any; nobody else uses @mlruvec.
 */
void scaleswap_lru_gen_fold(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	struct scaleswap_shard *shard;
	int gen, type, zone;

	if (!scaleswap_lru_on() || !shards)
		return;
	llist_for_each_entry(shard, READ_ONCE(shards->list.first), node) {
		for (gen = 0; gen < MAX_NR_GENS; gen++)
			for (type = 0; type < ANON_AND_FILE; type++)
				for (zone = 0; zone < MAX_NR_ZONES; zone++)
					mlruvec->lrugen.nr_pages[gen][type][zone] +=
						shard->lruvec.lrugen.nr_pages[gen][type][zone];
	}
}

/**
 * ssw_lru_gen_count - count the folios of a lruvec's generations
 * @lruvec: lruvec of a shard or a memcg's
 * @size: by list; increased
 *
 * Context: any; a hint.
 * Return: of a shard, how many of these pages the totals of the memcg and node contain; of the
 * memcg's lruvec, the sum of these totals.
 */
long ssw_lru_gen_count(struct lruvec *lruvec, long size[NR_LRU_LISTS])
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	int gen, type, zone;
	long posted = 0;

	for (gen = 0; gen < MAX_NR_GENS; gen++) {
		for (type = 0; type < ANON_AND_FILE; type++) {
			int lru = type * LRU_INACTIVE_FILE + lru_gen_is_active(lruvec, gen);
			long pages = 0;

			for (zone = 0; zone < MAX_NR_ZONES; zone++)
				pages += READ_ONCE(lruvec->lrugen.nr_pages[gen][type][zone]);
			size[lru] += pages;
			if (lruvec->shard)
				posted += pages - READ_ONCE(lruvec->shard->gen_unposted[gen][type]);
			else if (shards)
				posted += atomic_long_read(&shards->gen[gen][type]);
		}
	}
	return posted;
}
