/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: core-affine LRU shards, as <linux/memcontrol.h> sees them.
 *
 * A memcg and node has one lruvec, the memcg's, and with scaleswap=lru up to one
 * more for each CPU, the shards. A number in the folio's flags says in which of
 * them the folio is; 0 is the memcg's. All that is counted per memcg and node
 * (statistics, workingset ages, congestion) stays with the memcg's; a shard has
 * lists, their lock, their sizes, and the cost of reclaiming from them.
 *
 * Included by <linux/memcontrol.h>. The rules are in mm/scaleswap/lru.c.
 */
#ifndef _LINUX_SCALESWAP_LRU_H
#define _LINUX_SCALESWAP_LRU_H

#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

struct folio;

#ifdef CONFIG_SCALESWAP_LRU

/**
 * struct scaleswap_shard - LRU lists of one memcg and node for one CPU or some
 * @lruvec: lists and lock; everything else in it that is not per list is unused
 * @mlruvec: lruvec of the memcg and node
 * @id: number in the folios' flags, from 1
 * @clock: how often the lists were scanned, see ssw_lru_scanned()
 * @seen: pages at the last look
 * @cost: cost of reclaim at the last look, see ssw_costs_forget()
 * @size: pages by zone and list, under @lruvec's lock
 */
struct scaleswap_shard {
	struct lruvec lruvec;
	struct lruvec *mlruvec;
	unsigned int id;
	/* What all CPUs read ends here. */
	unsigned long clock ____cacheline_aligned_in_smp;
	unsigned long seen;
	unsigned long cost;
	unsigned long size[MAX_NR_ZONES][NR_LRU_LISTS];
};

/**
 * struct scaleswap_shards - the shards of a memcg and node
 * @cursor: which one direct reclaim compared its own with last, or was the oldest
 * @aged: the last one whose turn it was to have active pages deactivated
 * @forget: which one's cost of reclaim is looked at next
 * @newest: the clock that is furthest ahead
 * @clock: as in struct scaleswap_shard, of the memcg's own lists
 * @seen: as in struct scaleswap_shard, of the memcg's own lists
 * @cost: as in struct scaleswap_shard, of the memcg's own lists
 * @shard: by number, from 1; NULL where no folio was yet. Once set it stays,
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
	/* Read with every folio, the above is written by reclaim. */
	struct scaleswap_shard *shard[] ____cacheline_aligned_in_smp;
};

DECLARE_STATIC_KEY_FALSE(scaleswap_lru_key);

/**
 * scaleswap_lru_on - are LRU lists sharded?
 *
 * Context: any.
 * Return: true from late in boot on, with scaleswap=lru.
 */
static inline bool scaleswap_lru_on(void)
{
	return static_branch_unlikely(&scaleswap_lru_key);
}

/**
 * scaleswap_lru_id - which shard a folio belongs to
 * @folio: the folio
 *
 * Context: any. It changes only off the lists and off batches on the way to one.
 * Return: the shard's number; 0 if it is none's, or not yet.
 */
static inline unsigned int scaleswap_lru_id(const struct folio *folio)
{
	return (READ_ONCE(folio->flags) & SCALESWAP_LRU_MASK) >> SCALESWAP_LRU_PGOFF;
}

/**
 * scaleswap_memcg_lruvec - lruvec of the memcg and node that a lruvec is of
 * @lruvec: that, or a shard of it
 *
 * Context: any.
 * Return: where statistics and the memcg are found.
 */
static inline struct lruvec *scaleswap_memcg_lruvec(struct lruvec *lruvec)
{
	if (scaleswap_lru_on() && lruvec->shard)
		return lruvec->shard->mlruvec;
	return lruvec;
}

/**
 * scaleswap_lruvec_of - lruvec that a folio is in, or goes to
 * @folio: the folio
 * @mlruvec: lruvec of its memcg and node
 *
 * Context: any in which the folio's memcg is stable. For a folio that is on a
 * list the shard exists: see __scaleswap_lru_assign().
 * Return: a shard, or @mlruvec.
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
	/* Address dependencies; pair with the cmpxchg() of ssw_shard_create(). */
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
 * scaleswap_lru_matches - does a lruvec have the lists that a folio is in?
 * @folio: the folio
 * @lruvec: of the folio's memcg and node
 *
 * Context: any in which the folio's memcg is stable.
 * Return: true if so.
 */
static inline bool scaleswap_lru_matches(const struct folio *folio,
					 struct lruvec *lruvec)
{
	if (!scaleswap_lru_on())
		return true;
	return scaleswap_lruvec_of(folio, scaleswap_memcg_lruvec(lruvec)) == lruvec;
}

/**
 * scaleswap_lru_size - where the size of a list is kept
 * @lruvec: a shard or a memcg's
 * @zid: zone
 * @lru: list
 * @own: where it is if @lruvec is a memcg's
 *
 * Context: any; writers hold @lruvec's lock.
 * Return: pointer to the number of pages in this list alone.
 */
static inline unsigned long *scaleswap_lru_size(struct lruvec *lruvec, int zid,
						enum lru_list lru, unsigned long *own)
{
	if (scaleswap_lru_on() && lruvec->shard)
		return &lruvec->shard->size[zid][lru];
	return own;
}

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

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _LINUX_SCALESWAP_LRU_H */
