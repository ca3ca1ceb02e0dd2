/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the rest of mm asks about LRU shards; a part of hooks.h.
 */
#ifndef _MM_SCALESWAP_LRU_HOOKS_H
#define _MM_SCALESWAP_LRU_HOOKS_H

#include <linux/memcontrol.h>
#include <linux/mm_types.h>
#include <linux/scaleswap_lru.h>
#include <linux/types.h>

#ifdef CONFIG_SCALESWAP_LRU

/* The number of a shard is in the top bits of a shadow entry, which an eviction leaves free. */
#define SCALESWAP_LRU_SHADOW	(BITS_PER_XA_VALUE - SCALESWAP_LRU_WIDTH)

void __scaleswap_lru_assign(struct folio *folio);
void __scaleswap_lru_refault(struct folio *folio, void *shadow);
void __scaleswap_lru_free(struct lruvec *mlruvec);
unsigned long __scaleswap_lru_total(struct lruvec *lruvec, enum lru_list lru,
				    int zone_idx);
void __scaleswap_lru_age(struct lruvec *lruvec, unsigned long nr_pages);
unsigned long __scaleswap_lru_age_read(struct lruvec *mlruvec);
void scaleswap_lru_costs(struct lruvec *mlruvec, unsigned long *anon,
			 unsigned long *file);
void scaleswap_lru_note_cost(struct lruvec *lruvec, bool file, unsigned long cost);
void scaleswap_lru_shadow_limits(unsigned int *timestamp_bits, unsigned int *max_order);

/**
 * scaleswap_lru_total - sum up the size of a list over all shards
 * @lruvec: lruvec of a memcg and node
 * @lru: list
 * @zone_idx: highest zone to count
 * @own: pages in @lruvec's own list
 *
 * Context: any.
 * Return: pages. Of a memcg and node with few pages, exact if no page moves meanwhile. Of others
 * off by less than %SCALESWAP_LRU_BATCH pages for each shard, and at most by half.
 */
static inline unsigned long scaleswap_lru_total(struct lruvec *lruvec, enum lru_list lru,
						int zone_idx, unsigned long own)
{
	if (scaleswap_lru_on())
		return own + __scaleswap_lru_total(lruvec, lru, zone_idx);
	return own;
}

/**
 * scaleswap_lru_assign - assign a shard to a folio before it joins a list
 * @folio: charged, on no list
 *
 * Context: any but interrupts; may hold spinlocks with interrupts off, and does
 * not sleep.
 */
static inline void scaleswap_lru_assign(struct folio *folio)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_assign(folio);
}

/**
 * scaleswap_lru_copy - copy a folio's shard to the folio that replaces it
 * @new: on no list yet
 * @old: the folio that it replaces
 *
 * Context: both locked.
 */
static inline void scaleswap_lru_copy(struct folio *new, const struct folio *old)
{
	/* Drivers do not clear the flags of their pages before they use them again. */
	if (scaleswap_lru_on() && !folio_is_zone_device(new))
		set_mask_bits(&new->flags, SCALESWAP_LRU_MASK,
			      READ_ONCE(old->flags) & SCALESWAP_LRU_MASK);
}

/**
 * scaleswap_lru_inherit - copy a folio's shard to a folio that replaces several
 * @new: on no list yet
 * @old: one of those that it replaces, off the lists
 *
 * The first of them counts that has a shard. So khugepaged does not make all that it collapses
 * its own CPU's.
 *
 * Context: any.
 */
static inline void scaleswap_lru_inherit(struct folio *new, const struct folio *old)
{
	if (scaleswap_lru_on() && !scaleswap_lru_id(new))
		scaleswap_lru_copy(new, old);
}

/**
 * scaleswap_lru_shadow - note the shard of a folio that is evicted
 * @folio: the folio
 * @shadow: the shadow entry to leave in its place
 *
 * Context: any.
 * Return: the shadow entry to leave instead.
 */
static inline void *scaleswap_lru_shadow(struct folio *folio, void *shadow)
{
	unsigned long value = xa_to_value(shadow) & GENMASK(SCALESWAP_LRU_SHADOW - 1, 0);

	if (scaleswap_lru_on())
		return xa_mk_value(value |
				   (unsigned long)scaleswap_lru_id(folio) << SCALESWAP_LRU_SHADOW);
	return shadow;
}

/**
 * scaleswap_lru_refault - return an evicted folio to its shard
 * @folio: locked, charged, on no list
 * @shadow: the shadow entry that was left in its place
 *
 * Context: does not sleep.
 */
static inline void scaleswap_lru_refault(struct folio *folio, void *shadow)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_refault(folio, shadow);
}

/**
 * scaleswap_lru_age - count pages that were evicted from a memcg and node, or activated
 * @lruvec: its lruvec, or that of a shard
 * @nr_pages: how many pages
 *
 * Context: any. The task may move to another CPU meanwhile, and interrupts may come.
 * Return: true if they are counted, now or with others later; false if the caller has to.
 */
static inline bool scaleswap_lru_age(struct lruvec *lruvec, unsigned long nr_pages)
{
	if (!scaleswap_lru_on())
		return false;
	__scaleswap_lru_age(lruvec, nr_pages);
	return true;
}

/**
 * scaleswap_lru_age_read - read what scaleswap_lru_age() has counted
 * @mlruvec: lruvec of a memcg and node
 *
 * Context: any.
 * Return: the count, with what this CPU's shard has collected. What other shards have
 * collected is missing, less than %SCALESWAP_LRU_BATCH pages each. It is missing both when a
 * page is evicted and when it returns, and only the difference matters.
 */
static inline unsigned long scaleswap_lru_age_read(struct lruvec *mlruvec)
{
	if (scaleswap_lru_on())
		return __scaleswap_lru_age_read(mlruvec);
	return atomic_long_read(&mlruvec->nonresident_age);
}

/**
 * scaleswap_lru_distance - return how far a refault is from the eviction
 * @distance: difference of two values of scaleswap_lru_age_read(), the one of the eviction
 *            without its last @order bits
 * @mask: bits of the eviction's value that a shadow entry has
 * @order: what bucket_order is
 *
 * The number of the shard takes bits from the entry. So an entry lives longer than distances
 * without the last @order bits would be told apart, and these count.
 *
 * If the CPU that evicted had collected more pages than the one that refaults has, and few
 * have left since, then the difference is below 0. Without this it would be the longest of
 * all distances.
 *
 * Context: any.
 * Return: the distance in pages.
 */
static inline unsigned long scaleswap_lru_distance(unsigned long distance, unsigned long mask,
						   unsigned int order)
{
	if (!scaleswap_lru_on())
		return distance & mask;
	mask = ((mask + 1) << order) - 1;
	distance &= mask;
	return distance > mask - SCALESWAP_LRU_BATCH ? 0 : distance;
}

/**
 * scaleswap_lru_shadow_bits - return the bits of a shadow entry that the shard's number takes
 *
 * Context: any.
 * Return: 0 if LRU lists are not sharded: the time of eviction has these bits as well, then.
 */
static inline unsigned int scaleswap_lru_shadow_bits(void)
{
	return scaleswap_lru_on() ? SCALESWAP_LRU_WIDTH : 0;
}

/**
 * scaleswap_lru_free - free the shards of a memcg and node
 * @mlruvec: its lruvec, with all lists empty
 *
 * Context: any but interrupts.
 */
static inline void scaleswap_lru_free(struct lruvec *mlruvec)
{
	if (scaleswap_lru_on())
		__scaleswap_lru_free(mlruvec);
}

#else /* CONFIG_SCALESWAP_LRU */

static inline unsigned long scaleswap_lru_total(struct lruvec *lruvec, enum lru_list lru,
						int zone_idx, unsigned long own)
{
	return own;
}

static inline void scaleswap_lru_assign(struct folio *folio)
{
}

static inline void scaleswap_lru_copy(struct folio *new, const struct folio *old)
{
}

static inline void scaleswap_lru_inherit(struct folio *new, const struct folio *old)
{
}

static inline void *scaleswap_lru_shadow(struct folio *folio, void *shadow)
{
	return shadow;
}

static inline void scaleswap_lru_refault(struct folio *folio, void *shadow)
{
}

static inline bool scaleswap_lru_age(struct lruvec *lruvec, unsigned long nr_pages)
{
	return false;
}

static inline unsigned long scaleswap_lru_age_read(struct lruvec *mlruvec)
{
	return atomic_long_read(&mlruvec->nonresident_age);
}

static inline unsigned long scaleswap_lru_distance(unsigned long distance, unsigned long mask,
						   unsigned int order)
{
	return distance & mask;
}

static inline unsigned int scaleswap_lru_shadow_bits(void)
{
	return 0;
}

static inline void scaleswap_lru_shadow_limits(unsigned int *timestamp_bits,
					       unsigned int *max_order)
{
}

static inline void scaleswap_lru_free(struct lruvec *mlruvec)
{
}

static inline void scaleswap_lru_costs(struct lruvec *mlruvec, unsigned long *anon,
				       unsigned long *file)
{
}

static inline void scaleswap_lru_note_cost(struct lruvec *lruvec, bool file,
					   unsigned long cost)
{
}

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _MM_SCALESWAP_LRU_HOOKS_H */
