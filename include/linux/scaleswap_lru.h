/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: core-affine LRU shards, as <linux/memcontrol.h> sees them.
 *
 * A memcg and node has one lruvec, the memcg's, and with scaleswap=lru up to one more for
 * each CPU, the shards. A number in the folio's flags tells which of them the folio is in; 0
 * is the memcg's. The memcg's lruvec keeps all that is counted per memcg and node
 * (statistics, workingset ages, congestion). A shard has lists, their lock, their sizes, and
 * the cost of reclaiming from them.
 *
 * <linux/memcontrol.h> includes this file. The rules are in mm/scaleswap/lru.c.
 */
#ifndef _LINUX_SCALESWAP_LRU_H
#define _LINUX_SCALESWAP_LRU_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

struct folio;

#ifdef CONFIG_SCALESWAP_LRU

/**
 * struct scaleswap_list_size - size of one list of a shard
 * @zone: pages by zone, under the lock of the shard's lruvec
 * @unposted: of @zone, what &struct scaleswap_shards.total does not have yet; from
 *            -%SCALESWAP_LRU_BATCH + 1 to %SCALESWAP_LRU_BATCH - 1
 *
 * Each list has a cache line: CPUs look at lists that hardly change, such as empty ones.
 */
struct scaleswap_list_size {
	unsigned long zone[MAX_NR_ZONES];
	s8 unposted[MAX_NR_ZONES];
} ____cacheline_aligned_in_smp;

/**
 * struct scaleswap_shard - LRU lists of one memcg and node for one or several CPUs
 * @lruvec: lists, their lock and cost of reclaim; what is kept per memcg and node is unused
 * @mlruvec: lruvec of the memcg and node
 * @id: number in the folios' flags, from 1
 * @clock: how often the lists were scanned, see ssw_lru_scanned()
 * @seen: pages when @clock was last updated
 * @cost: cost of reclaim at the last turn, see ssw_costs_forget()
 * @size: pages by list
 *
 * In @lruvec, nonresident_age is what has not been added to that of @mlruvec yet.
 */
struct scaleswap_shard {
	struct lruvec lruvec;
	struct lruvec *mlruvec;
	unsigned int id;
	/* End of the fields that all CPUs read */
	unsigned long clock ____cacheline_aligned_in_smp;
	unsigned long seen;
	unsigned long cost;
	struct scaleswap_list_size size[NR_LRU_LISTS];
};

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
 * struct scaleswap_shards - the shards of a memcg and node
 * @cursor: shard that direct reclaim last compared with its own, or that was the oldest
 * @aged: last shard that had its turn to have active pages deactivated
 * @forget: last shard that had its turn in ssw_costs_forget()
 * @newest: the clock that is furthest ahead
 * @clock: as in struct scaleswap_shard, of the memcg's own lists
 * @seen: as in struct scaleswap_shard, of the memcg's own lists
 * @cost: as in struct scaleswap_shard, of the memcg's own lists
 * @anon_cost: of all shards together, without the memcg's own lists
 * @file_cost: of all shards together, without the memcg's own lists
 * @total: pages by zone and list in all shards, but for what each of them has not posted
 * @shard: shards by number, from 1; NULL where none was needed yet. Once set, a shard stays
 *         until the memcg is freed
 */
struct scaleswap_shards {
	unsigned int cursor;
	unsigned int aged;
	unsigned int forget;
	unsigned long newest;
	unsigned long clock;
	unsigned long seen;
	unsigned long cost;
	/* Each noted cost changes these, once for a batch of pages. */
	atomic_long_t anon_cost ____cacheline_aligned_in_smp;
	atomic_long_t file_cost;
	struct scaleswap_zone_total total[MAX_NR_ZONES];
	/* Read for every folio, while reclaim writes the fields above. */
	struct scaleswap_shard *shard[] ____cacheline_aligned_in_smp;
};

DECLARE_STATIC_KEY_FALSE(scaleswap_lru_key);

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
 * scaleswap_lru_resize - return where the size of a list is kept that is about to change
 * @lruvec: lruvec of a shard or a memcg's
 * @zid: zone
 * @lru: list
 * @nr_pages: pages that the caller adds to the size
 * @own: where the size is kept if @lruvec is a memcg's
 *
 * The totals of the memcg and node get to know, in batches: CPUs would otherwise fetch the
 * sizes of all shards from each other, for each batch of pages that they reclaim.
 *
 * Context: under @lruvec's lock.
 * Return: pointer to the number of pages in this list alone.
 */
static inline unsigned long *scaleswap_lru_resize(struct lruvec *lruvec, int zid, enum lru_list lru,
						  int nr_pages, unsigned long *own)
{
	struct scaleswap_shard *shard = lruvec->shard;
	struct scaleswap_list_size *size;
	int unposted;

	if (!scaleswap_lru_on() || !shard)
		return own;
	size = &shard->size[lru];
	unposted = size->unposted[zid] + nr_pages;
	if (abs(unposted) >= SCALESWAP_LRU_BATCH) {
		atomic_long_add(unposted, &shard->mlruvec->shards->total[zid].lru[lru]);
		unposted = 0;
	}
	size->unposted[zid] = unposted;
	return &size->zone[zid];
}

#ifdef CONFIG_LRU_GEN
/* mm/vmscan.c has it, for mm/scaleswap/lru.c alone. */
void scaleswap_lru_gen_off(void);
#else
static inline void scaleswap_lru_gen_off(void)
{
}
#endif

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

static inline unsigned long *scaleswap_lru_resize(struct lruvec *lruvec, int zid, enum lru_list lru,
						  int nr_pages, unsigned long *own)
{
	return own;
}

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _LINUX_SCALESWAP_LRU_H */
