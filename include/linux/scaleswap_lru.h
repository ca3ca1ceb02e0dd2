/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: core-affine LRU shards, as <linux/memcontrol.h> sees them.
 *
 * A memcg and node has one lruvec, the memcg's, and with scaleswap=lru up to one more for
 * each CPU, the shards. A number in the folio's flags tells which of them the folio is in; 0
 * is the memcg's. The memcg's lruvec keeps all that is counted per memcg and node
 * (statistics, workingset ages, congestion, costs of reclaim). A shard has lists, their lock and
 * their sizes.
 *
 * <linux/memcontrol.h> includes this file. The rules are in mm/scaleswap/lru.c.
 */
#ifndef _LINUX_SCALESWAP_LRU_H
#define _LINUX_SCALESWAP_LRU_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

struct folio;

/* In mm/memcontrol.c: the part of __mod_lruvec_state() that is the memcg's */
void __mod_memcg_lruvec_state(struct lruvec *lruvec, enum node_stat_item idx, int val);

#ifdef CONFIG_SCALESWAP_LRU

/* Ages of a list that a shard tells apart */
#define SCALESWAP_LRU_AGES	20
/* Parts of an age that are told apart while reclaim looks at its pages */
#define SCALESWAP_LRU_STEPS	16

/**
 * struct scaleswap_age - ages of the pages of one list, see mm/scaleswap/lruage.c
 * @seq: age of the pages that join now
 * @oldest: age of the oldest pages; from @seq - %SCALESWAP_LRU_AGES + 1 to @seq. Other CPUs
 *          read it without the lock, as a hint
 * @came: pages that have joined since @seq began, less @joined; see lruage.c
 * @taken: pages of @oldest that reclaim has taken
 * @cursor: other shard that reclaimers whose own shard this is looked at last
 * @other: oldest of those that they looked at
 * @part: how much of @oldest was taken, in %SCALESWAP_LRU_STEPS parts; a hint, as @oldest is
 * @joined: pages that have joined, and that no other CPU knows of yet; less than
 *          %SCALESWAP_LRU_BATCH
 * @has_next: there are folios that shall leave before all others. A hint for other CPUs
 * @begun: age in which CPUs whose own shard this is have last reclaimed, modulo 256; a hint
 */
struct scaleswap_age {
	unsigned int seq;
	unsigned int oldest;
	unsigned int came;
	unsigned int taken;
	u16 cursor;
	u16 other;
	u8 part;
	u8 joined;
	bool has_next;
	u8 begun;
};

/**
 * struct scaleswap_older - folios of a list that are not of the age of those that join now
 * @age: by age, modulo %SCALESWAP_LRU_AGES
 * @came: how many pages came there
 * @next: those that shall leave before all others
 */
struct scaleswap_older {
	struct list_head age[SCALESWAP_LRU_AGES];
	unsigned int came[SCALESWAP_LRU_AGES];
	struct list_head next;
};

/**
 * struct scaleswap_list_size - size of one list of a shard
 * @zone: pages by zone, under the lock of the shard's lruvec
 * @unposted: of @zone, what &struct scaleswap_shards.total does not have yet; from
 *            -%SCALESWAP_LRU_BATCH + 1 to %SCALESWAP_LRU_BATCH - 1
 * @age: ages of its pages, under that lock
 *
 * Each list has a cache line: CPUs look at lists that hardly change, such as empty ones.
 */
struct scaleswap_list_size {
	unsigned long zone[MAX_NR_ZONES];
	s8 unposted[MAX_NR_ZONES];
	struct scaleswap_age age;
} ____cacheline_aligned_in_smp;

/* Times that are kept of when pages of a generation came to a shard */
#define SCALESWAP_GEN_MARKS	4

/**
 * struct scaleswap_gen - a generation in a shard, of anonymous memory or page cache
 * @mark: how many pages had come, and when that was, in jiffies; first ones first
 * @marks: how many of these there are
 * @next: pages that have come when there shall be another one
 * @came: pages that have come since the first one of @mark
 * @last: when the last ones of them came; jiffies
 * @gone: pages of @came that have left, but for those that walks have promoted. Less than 0 for
 *        those that were put back, and have not left again
 * @pages: its pages, but for those that walks over page tables have promoted: see
 *         &struct scaleswap_shard.promoted
 *
 * All under the lock of the shard's lruvec, and a hint without it.
 */
struct scaleswap_gen {
	struct {
		u32 came;
		u32 at;
	} mark[SCALESWAP_GEN_MARKS];
	u32 marks;
	u32 next;
	u32 came;
	u32 last;
	int gone;
	int pages;
} ____cacheline_aligned_in_smp;

/**
 * struct scaleswap_shard - LRU lists of one memcg and node for one or several CPUs
 * @lruvec: lists and their lock; what is kept per memcg and node is unused.
 *          A list has the pages that joined it last
 * @mlruvec: lruvec of the memcg and node
 * @id: number in the folios' flags, from 1
 * @node: in &struct scaleswap_shards.list
 * @stats_held: statistics of the lists wait for scaleswap_lru_stats_end()
 * @stats_waiting: for which lists they do, a bit each
 * @stats: by how much, by zone and list
 * @gen_unposted: of lrugen.nr_pages, what &struct scaleswap_shards.gen does not have yet; as in
 *                struct scaleswap_list_size
 * @gen: generations, by number and type
 * @promoted: by generation and type, pages that walks over page tables have promoted to it, less
 *            those promoted from it. With @gen that is what the shard has
 * @size: pages by list, of all ages
 * @older: older pages by list
 *
 * In @lruvec, nonresident_age is what has not been added to that of @mlruvec yet.
 */
struct scaleswap_shard {
	struct lruvec lruvec;
	struct lruvec *mlruvec;
	unsigned int id;
	struct llist_node node;
	/* End of the fields that all CPUs read */
	bool stats_held ____cacheline_aligned_in_smp;
	u32 stats_waiting;
	int stats[MAX_NR_ZONES * NR_LRU_LISTS];
#ifdef CONFIG_LRU_GEN
	s8 gen_unposted[MAX_NR_GENS][ANON_AND_FILE];
	struct scaleswap_gen gen[MAX_NR_GENS][ANON_AND_FILE];
	/* Changed by CPUs that walk. */
	atomic_long_t promoted[MAX_NR_GENS][ANON_AND_FILE] ____cacheline_aligned_in_smp;
#endif
	struct scaleswap_list_size size[NR_LRU_LISTS];
	struct scaleswap_older older[LRU_UNEVICTABLE];
};

static_assert(MAX_NR_ZONES * NR_LRU_LISTS <= 32);

/* Pages of a list that a shard keeps out of the memcg's totals at most, less one. */
#define SCALESWAP_LRU_BATCH	32

/**
 * struct scaleswap_zone_total - pages of a zone in all shards
 * @lru: by list
 */
struct scaleswap_zone_total {
	atomic_long_t lru[NR_LRU_LISTS];
} ____cacheline_aligned_in_smp;

/**
 * struct scaleswap_clock - what ages of one type are measured by, for a memcg and node
 * @joined: pages that have joined the inactive and the active list, in any shard, since the age
 *          last changed
 */
struct scaleswap_clock {
	atomic_long_t joined[2];
} ____cacheline_aligned_in_smp;

/**
 * struct scaleswap_shards - the shards of a memcg and node
 * @age: as in struct scaleswap_list_size, of the memcg's own lists
 * @older: as in struct scaleswap_shard, of the memcg's own lists
 * @anon_cost: cost of reclaiming anonymous memory, from all lists
 * @file_cost: cost of reclaiming page cache, from all lists
 * @clock: of anonymous memory and page cache
 * @gen: pages by generation and type in all shards, but for what each of them has not posted
 * @total: pages by zone and list in all shards, but for what each of them has not posted
 * @seq: age of the pages that join a list now, by list
 * @nr: how many shards there are; changes under the lock of the memcg's own lists
 * @list: all of them, the newest one first; changes under that lock. One may be on it before
 *        @nr counts it
 * @shard: shards by number, from 1; NULL where none was needed yet. Once set, a shard stays
 *         until the memcg is freed
 */
struct scaleswap_shards {
	struct scaleswap_age age[LRU_UNEVICTABLE];
	struct scaleswap_older older[LRU_UNEVICTABLE];
	/* Each noted cost changes one of these, once for a batch of pages. */
	atomic_long_t anon_cost ____cacheline_aligned_in_smp;
	atomic_long_t file_cost;
	struct scaleswap_clock clock[ANON_AND_FILE];
#ifdef CONFIG_LRU_GEN
	atomic_long_t gen[MAX_NR_GENS][ANON_AND_FILE] ____cacheline_aligned_in_smp;
#endif
	struct scaleswap_zone_total total[MAX_NR_ZONES];
	/* Read for every folio; @seq changes a few times while all pages of a list do, @nr less. */
	unsigned int seq[LRU_UNEVICTABLE] ____cacheline_aligned_in_smp;
	unsigned int nr;
	struct llist_head list;
	struct scaleswap_shard *shard[];
};

DECLARE_STATIC_KEY_FALSE(scaleswap_lru_key);

void __scaleswap_lru_resize(struct lruvec *lruvec, enum lru_list lru, int zid, int nr_pages,
			    unsigned long *own);
struct list_head *__scaleswap_lru_tail(struct lruvec *lruvec, enum lru_list lru);
struct list_head *__scaleswap_lru_last(struct lruvec *lruvec, enum lru_list lru);
void __scaleswap_lru_front(struct lruvec *lruvec, enum lru_list lru);
bool __scaleswap_lru_next(struct lruvec *lruvec, enum lru_list lru, struct list_head **tail,
			  unsigned long scanned);
void __scaleswap_lru_took(struct lruvec *lruvec, enum lru_list lru, struct list_head *tail,
			  unsigned long nr_pages, long left, unsigned int *nr_short);

/**
 * scaleswap_lru_on - check whether LRU lists are sharded
 *
 * Context: any.
 * Return: true from late in boot on, with scaleswap=lru.
 */
static inline bool scaleswap_lru_on(void)
{
	return static_branch_unlikely(&scaleswap_lru_key);
}

/**
 * scaleswap_lru_id - return the number of a folio's shard
 * @folio: the folio
 *
 * Context: any. The number changes only while the folio is on no list, and in no batch on
 * its way to one.
 * Return: the number; 0 if the folio belongs to no shard, or to none yet.
 */
static inline unsigned int scaleswap_lru_id(const struct folio *folio)
{
	return (READ_ONCE(folio->flags) & SCALESWAP_LRU_MASK) >> SCALESWAP_LRU_PGOFF;
}

/**
 * scaleswap_memcg_lruvec - return the memcg's lruvec of a lruvec
 * @lruvec: the memcg's lruvec itself, or that of a shard
 *
 * Context: any.
 * Return: the lruvec that has the statistics and leads to the memcg.
 */
static inline struct lruvec *scaleswap_memcg_lruvec(struct lruvec *lruvec)
{
	if (scaleswap_lru_on() && lruvec->shard)
		return lruvec->shard->mlruvec;
	return lruvec;
}

/**
 * scaleswap_lruvec_of - return the lruvec that a folio is in, or goes to
 * @folio: the folio
 * @mlruvec: lruvec of its memcg and node
 *
 * Context: any in which the folio's memcg is stable. If the folio is on a list, its shard
 * exists: see __scaleswap_lru_assign().
 * Return: the lruvec of a shard, or @mlruvec.
 */
static inline struct lruvec *scaleswap_lruvec_of(const struct folio *folio,
						 struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards;
	struct scaleswap_shard *shard;
	unsigned int id;

	if (!scaleswap_lru_on())
		return mlruvec;
	id = scaleswap_lru_id(folio);
	if (!id)
		return mlruvec;
	/*
	 * Address dependencies; pair with the cmpxchg() of ssw_shards_create() and of
	 * ssw_shard_create().
	 */
	shards = READ_ONCE(mlruvec->shards);
	if (!shards)
		return mlruvec;
	shard = READ_ONCE(shards->shard[id]);
	if (!shard)
		return mlruvec;
	/* As in mem_cgroup_lruvec(). */
	if (unlikely(shard->lruvec.pgdat != mlruvec->pgdat))
		shard->lruvec.pgdat = mlruvec->pgdat;
	return &shard->lruvec;
}

/**
 * scaleswap_lru_matches - check whether a folio is in the lists of a lruvec
 * @folio: the folio
 * @lruvec: a lruvec of the folio's memcg and node
 *
 * Context: any in which the folio's memcg is stable.
 * Return: true if @lruvec has the lists that the folio is in.
 */
static inline bool scaleswap_lru_matches(const struct folio *folio,
					 struct lruvec *lruvec)
{
	if (!scaleswap_lru_on())
		return true;
	return scaleswap_lruvec_of(folio, scaleswap_memcg_lruvec(lruvec)) == lruvec;
}

/**
 * scaleswap_lru_size - return where the size of a list is kept
 * @lruvec: lruvec of a shard or a memcg's
 * @zid: zone
 * @lru: list
 * @own: where the size is kept if @lruvec is a memcg's
 *
 * Context: any; writers hold @lruvec's lock.
 * Return: pointer to the number of pages in this list alone.
 */
static inline unsigned long *scaleswap_lru_size(struct lruvec *lruvec, int zid,
						enum lru_list lru, unsigned long *own)
{
	if (scaleswap_lru_on() && lruvec->shard)
		return &lruvec->shard->size[lru].zone[zid];
	return own;
}

/**
 * scaleswap_lru_resize - change the size of a list
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list
 * @zid: zone
 * @nr_pages: pages to add to the size
 * @own: where the size is kept if @lruvec is a memcg's
 *
 * The totals of the memcg and node get to know, in batches: CPUs would otherwise fetch the
 * sizes of all shards from each other, for each batch of pages that they reclaim. So do ages
 * of pages, if pages are added: the caller puts these on @lruvec's own list.
 *
 * Context: under @lruvec's lock.
 * Return: false if shards are off, and the caller is to change *@own.
 */
static inline bool scaleswap_lru_resize(struct lruvec *lruvec, enum lru_list lru, int zid,
					int nr_pages, unsigned long *own)
{
	if (!scaleswap_lru_on())
		return false;
	__scaleswap_lru_resize(lruvec, lru, zid, nr_pages, own);
	return true;
}

/**
 * scaleswap_lru_tail - return the part of a list that has its oldest folios
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * Context: under @lruvec's lock.
 * Return: the list that folios leave first; @lruvec's own list if there are no older ones. It
 * is empty only if the list has no folios at all.
 */
static inline struct list_head *scaleswap_lru_tail(struct lruvec *lruvec, enum lru_list lru)
{
	if (!scaleswap_lru_on())
		return &lruvec->lists[lru];
	return __scaleswap_lru_tail(lruvec, lru);
}

/**
 * scaleswap_lru_front - return where to put folios that leave a list after all others
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * For those that are moved there within the list, and so do not join it.
 *
 * Context: under @lruvec's lock.
 * Return: the list to whose head the folios go.
 */
static inline struct list_head *scaleswap_lru_front(struct lruvec *lruvec, enum lru_list lru)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_front(lruvec, lru);
	return &lruvec->lists[lru];
}

/**
 * scaleswap_lru_last - return where to put a folio that shall leave a list before all others
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * They are apart from those of all ages. CPUs whose shard it is, or who were here last, take
 * them next; see ssw_lru_begin().
 *
 * Context: under @lruvec's lock.
 * Return: the list to whose tail the folio goes.
 */
static inline struct list_head *scaleswap_lru_last(struct lruvec *lruvec, enum lru_list lru)
{
	if (!scaleswap_lru_on())
		return &lruvec->lists[lru];
	return __scaleswap_lru_last(lruvec, lru);
}

/**
 * scaleswap_lru_more - check whether to take more folios from the end of a list
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 * @tail: what scaleswap_lru_tail() returned; moved on to the next age if that is empty, and
 * @scanned is 0 or no other shard has pages of the list
 * @scanned: pages that the caller has looked at
 *
 * Context: under @lruvec's lock.
 * Return: true if @tail is not empty.
 */
static inline bool scaleswap_lru_more(struct lruvec *lruvec, enum lru_list lru,
				      struct list_head **tail, unsigned long scanned)
{
	if (likely(!list_empty(*tail)))
		return true;
	return scaleswap_lru_on() && __scaleswap_lru_next(lruvec, lru, tail, scanned);
}

/**
 * scaleswap_lru_took - note how many pages were taken from the end of a list
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 * @tail: where the last ones were, as scaleswap_lru_more() has left it
 * @nr_pages: how many
 * @left: how many more the caller was to take, or less than 0 if it took too many
 * @nr_short: @left is added to it if the list has more pages, but of a newer age
 *
 * Context: under @lruvec's lock.
 */
static inline void scaleswap_lru_took(struct lruvec *lruvec, enum lru_list lru,
				      struct list_head *tail, unsigned long nr_pages, long left,
				      unsigned int *nr_short)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_took(lruvec, lru, tail, nr_pages, left, nr_short);
}

/**
 * scaleswap_lru_is_shard - check whether a lruvec is one of several of a memcg and node
 * @lruvec: lruvec of a shard or a memcg's
 *
 * Context: any.
 * Return: true if it is that of a shard.
 */
static inline bool scaleswap_lru_is_shard(struct lruvec *lruvec)
{
	return scaleswap_lru_on() && lruvec->shard;
}

void __scaleswap_lru_stat(struct scaleswap_shard *shard, enum lru_list lru, int zid, int nr_pages);
void __scaleswap_lru_stats_post(struct scaleswap_shard *shard);

/**
 * scaleswap_lru_stat - count pages of a shard's list, at the latest when its lock is dropped
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list
 * @zid: zone
 * @nr_pages: pages that join the list; less than 0 for those that leave
 *
 * Whoever holds the lock for many folios counts them at once: for each there are counters of the
 * node, the zone, the memcg, and the memcg on the node.
 *
 * Context: under @lruvec's lock.
 * Return: false if the caller has to count them.
 */
static inline bool scaleswap_lru_stat(struct lruvec *lruvec, enum lru_list lru, int zid,
				      int nr_pages)
{
	struct scaleswap_shard *shard = lruvec->shard;
	unsigned int i = zid * NR_LRU_LISTS + lru;

	if (!scaleswap_lru_is_shard(lruvec))
		return false;
	if (shard->stats_held) {
		shard->stats_waiting |= BIT(i);
		shard->stats[i] += nr_pages;
	} else {
		__scaleswap_lru_stat(shard, lru, zid, nr_pages);
	}
	return true;
}

/**
 * scaleswap_lru_stats_begin - begin to let statistics of lists wait
 * @lruvec: lruvec of a shard or a memcg's
 *
 * Context: under @lruvec's lock. scaleswap_lru_stats_end() has to follow before it is dropped.
 */
static inline void scaleswap_lru_stats_begin(struct lruvec *lruvec)
{
	if (scaleswap_lru_is_shard(lruvec))
		lruvec->shard->stats_held = true;
}

/**
 * scaleswap_lru_stats_end - count what scaleswap_lru_stat() let wait
 * @lruvec: lruvec of a shard or a memcg's
 *
 * Context: under @lruvec's lock, also without scaleswap_lru_stats_begin().
 */
static inline void scaleswap_lru_stats_end(struct lruvec *lruvec)
{
	struct scaleswap_shard *shard = lruvec->shard;

	if (!scaleswap_lru_is_shard(lruvec) || !shard->stats_held)
		return;
	shard->stats_held = false;
	if (shard->stats_waiting)
		__scaleswap_lru_stats_post(shard);
}

#ifdef CONFIG_LRU_GEN

unsigned long scaleswap_lru_gen_size(struct lruvec *lruvec, int gen, int type);
void scaleswap_lru_gen_fold(struct lruvec *mlruvec);
void __scaleswap_lru_flatten(struct lruvec *lruvec);
void __scaleswap_lru_gen_mark(struct scaleswap_shard *shard, int gen, int type);
void __scaleswap_lru_gen_moved(struct scaleswap_shard *shard, int old_gen, int new_gen, int type,
			       int nr_pages);
void __scaleswap_lru_gen_promote(struct folio *folio, int old_gen, int new_gen);

static inline void __scaleswap_lru_gen_post(struct scaleswap_shard *shard, int gen, int type,
					    int nr_pages)
{
	int unposted = shard->gen_unposted[gen][type] + nr_pages;

	if (abs(unposted) >= SCALESWAP_LRU_BATCH) {
		atomic_long_add(unposted, &shard->mlruvec->shards->gen[gen][type]);
		unposted = 0;
	}
	shard->gen_unposted[gen][type] = unposted;
}

/* Before the size of the generation changes */
static inline void scaleswap_lru_gen_came(struct scaleswap_shard *shard, int gen, int type,
					  int nr_pages)
{
	struct scaleswap_gen *g = &shard->gen[gen][type];

	if (g->came >= g->next || g->pages <= 0)
		__scaleswap_lru_gen_mark(shard, gen, type);
	g->last = jiffies;
	g->came += nr_pages;
}

static inline void __scaleswap_lru_gen_add(struct scaleswap_shard *shard, int gen, int type,
					   int nr_pages, bool back)
{
	if (back)
		shard->gen[gen][type].gone -= nr_pages;
	else
		scaleswap_lru_gen_came(shard, gen, type, nr_pages);
}

/**
 * scaleswap_lru_gen_resize - note that the sizes of generations change
 * @lruvec: lruvec of a shard or a memcg's
 * @old_gen: generation that the pages are no longer of, or -1
 * @new_gen: generation that they are of now, or -1
 * @type: 0 for anonymous memory, 1 for page cache
 * @nr_pages: how many pages
 *
 * The totals of the memcg and node get to know, in batches.
 *
 * Context: under @lruvec's lock.
 */
static inline void scaleswap_lru_gen_resize(struct lruvec *lruvec, int old_gen, int new_gen,
					    int type, int nr_pages)
{
	struct scaleswap_shard *shard = lruvec->shard;

	if (!scaleswap_lru_is_shard(lruvec))
		return;
	if (old_gen >= 0) {
		if (new_gen >= 0)
			__scaleswap_lru_gen_moved(shard, old_gen, new_gen, type, nr_pages);
		__scaleswap_lru_gen_post(shard, old_gen, type, -nr_pages);
		shard->gen[old_gen][type].pages -= nr_pages;
		shard->gen[old_gen][type].gone += nr_pages;
	}
	if (new_gen >= 0) {
		__scaleswap_lru_gen_post(shard, new_gen, type, nr_pages);
		shard->gen[new_gen][type].pages += nr_pages;
	}
}

/**
 * scaleswap_lru_gen_add - note that a folio is about to join a generation, from no other
 * @lruvec: lruvec of a shard or a memcg's
 * @folio: the folio
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 * @tail: it joins at the end, to leave before all others
 *
 * Reclaim puts a folio that is being written back into a younger generation, and at the end of the
 * oldest one when it has been written. Neither counts as coming.
 *
 * Context: under @lruvec's lock, before scaleswap_lru_gen_resize().
 */
static inline void scaleswap_lru_gen_add(struct lruvec *lruvec, struct folio *folio, int gen,
					 int type, bool tail)
{
	if (!scaleswap_lru_is_shard(lruvec))
		return;
	__scaleswap_lru_gen_add(lruvec->shard, gen, type, folio_nr_pages(folio),
				tail || (folio_test_reclaim(folio) && folio_test_writeback(folio)));
}

/**
 * scaleswap_lru_gen_batch - note that the totals of generations change
 * @lruvec: lruvec of a shard or a memcg's, in which a walk counts folios of all shards
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 * @nr_pages: pages that have been promoted to it; less than 0 for those promoted from it
 *
 * scaleswap_lru_gen_promote() has counted them where they are.
 *
 * Context: under @lruvec's lock.
 */
static inline void scaleswap_lru_gen_batch(struct lruvec *lruvec, int gen, int type, int nr_pages)
{
	if (scaleswap_lru_is_shard(lruvec))
		__scaleswap_lru_gen_post(lruvec->shard, gen, type, nr_pages);
}

/**
 * scaleswap_lru_gen_promote - note that a walk over page tables promotes a folio
 * @folio: the folio
 * @old_gen: its generation before
 * @new_gen: its generation now
 *
 * Context: any in which the folio's memcg is stable.
 */
static inline void scaleswap_lru_gen_promote(struct folio *folio, int old_gen, int new_gen)
{
	if (scaleswap_lru_on() && scaleswap_lru_id(folio))
		__scaleswap_lru_gen_promote(folio, old_gen, new_gen);
}

/**
 * scaleswap_lru_flatten - put folios of all ages on a lruvec's own lists
 * @lruvec: lruvec of a shard or a memcg's
 *
 * MGLRU takes folios from there when it is turned on.
 *
 * Context: under @lruvec's lock.
 */
static inline void scaleswap_lru_flatten(struct lruvec *lruvec)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_flatten(lruvec);
}

#endif /* CONFIG_LRU_GEN */

#else /* CONFIG_SCALESWAP_LRU */

static inline bool scaleswap_lru_on(void)
{
	return false;
}

static inline struct lruvec *scaleswap_memcg_lruvec(struct lruvec *lruvec)
{
	return lruvec;
}

static inline struct lruvec *scaleswap_lruvec_of(const struct folio *folio,
						 struct lruvec *mlruvec)
{
	return mlruvec;
}

static inline bool scaleswap_lru_matches(const struct folio *folio,
					 struct lruvec *lruvec)
{
	return true;
}

static inline unsigned long *scaleswap_lru_size(struct lruvec *lruvec, int zid,
						enum lru_list lru, unsigned long *own)
{
	return own;
}

static inline bool scaleswap_lru_resize(struct lruvec *lruvec, enum lru_list lru, int zid,
					int nr_pages, unsigned long *own)
{
	return false;
}

static inline struct list_head *scaleswap_lru_tail(struct lruvec *lruvec, enum lru_list lru)
{
	return &lruvec->lists[lru];
}

static inline struct list_head *scaleswap_lru_front(struct lruvec *lruvec, enum lru_list lru)
{
	return &lruvec->lists[lru];
}

static inline struct list_head *scaleswap_lru_last(struct lruvec *lruvec, enum lru_list lru)
{
	return &lruvec->lists[lru];
}

static inline bool scaleswap_lru_more(struct lruvec *lruvec, enum lru_list lru,
				      struct list_head **tail, unsigned long scanned)
{
	return !list_empty(*tail);
}

static inline void scaleswap_lru_took(struct lruvec *lruvec, enum lru_list lru,
				      struct list_head *tail, unsigned long nr_pages, long left,
				      unsigned int *nr_short)
{
}

static inline bool scaleswap_lru_is_shard(struct lruvec *lruvec)
{
	return false;
}

static inline bool scaleswap_lru_stat(struct lruvec *lruvec, enum lru_list lru, int zid,
				      int nr_pages)
{
	return false;
}

static inline void scaleswap_lru_stats_begin(struct lruvec *lruvec)
{
}

static inline void scaleswap_lru_stats_end(struct lruvec *lruvec)
{
}

static inline unsigned long scaleswap_lru_gen_size(struct lruvec *lruvec, int gen, int type)
{
	return 0;
}

static inline void scaleswap_lru_gen_fold(struct lruvec *mlruvec)
{
}

static inline void scaleswap_lru_gen_resize(struct lruvec *lruvec, int old_gen, int new_gen,
					    int type, int nr_pages)
{
}

static inline void scaleswap_lru_gen_add(struct lruvec *lruvec, struct folio *folio, int gen,
					 int type, bool tail)
{
}

static inline void scaleswap_lru_gen_batch(struct lruvec *lruvec, int gen, int type, int nr_pages)
{
}

static inline void scaleswap_lru_gen_promote(struct folio *folio, int old_gen, int new_gen)
{
}

static inline void scaleswap_lru_flatten(struct lruvec *lruvec)
{
}

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _LINUX_SCALESWAP_LRU_H */
