/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: calls from the memory controller; a part of hooks.h.
 */
#ifndef _MM_SCALESWAP_MEMCG_HOOKS_H
#define _MM_SCALESWAP_MEMCG_HOOKS_H

#include <linux/memcontrol.h>
#include <linux/page_counter.h>
#include <linux/scaleswap.h>

/* --- stocks of swap charges ------------------------------------------------------ */

#ifdef CONFIG_MEMCG

bool __scaleswap_stock_take(struct mem_cgroup *memcg, unsigned int nr);
bool __scaleswap_stock_charge(struct mem_cgroup *memcg, unsigned int nr);
bool __scaleswap_stock_put(struct mem_cgroup *memcg, unsigned int nr);
unsigned long __scaleswap_stock_usage(struct mem_cgroup *memcg, unsigned long limit);
void __scaleswap_stock_drain(struct mem_cgroup *memcg);

/**
 * scaleswap_stock_take - charge swap to a memcg from this CPU's stock
 * @memcg: the memcg, also if it is offline
 * @nr: pages
 *
 * Context: any but interrupts; memory controller of cgroup v2.
 * Return: true if @memcg is charged and has @nr more references on its id. False if
 * the stock does not have that much.
 */
static inline bool scaleswap_stock_take(struct mem_cgroup *memcg, unsigned int nr)
{
	return scaleswap_on() && __scaleswap_stock_take(memcg, nr);
}

/**
 * scaleswap_stock_charge - charge swap to a memcg, and stock some
 * @memcg: the memcg; the caller has a reference on its id
 * @nr: pages
 *
 * As page_counter_try_charge() for @memcg->swap, which it calls unless @memcg is the
 * root. The stocks of all CPUs are drained before a charge is refused.
 *
 * Context: any but interrupts; memory controller of cgroup v2.
 * Return: true if @memcg is charged. False if a limit does not allow it.
 */
static inline bool scaleswap_stock_charge(struct mem_cgroup *memcg, unsigned int nr)
{
	struct page_counter *fail;

	if (scaleswap_on())
		return __scaleswap_stock_charge(memcg, nr);
	return mem_cgroup_is_root(memcg) ||
	       page_counter_try_charge(&memcg->swap, nr, &fail);
}

/**
 * scaleswap_stock_put - leave a swap charge in this CPU's stock
 * @memcg: the memcg that is charged
 * @nr: pages, and references on its id
 *
 * Context: RCU read side; any but interrupts.
 * Return: true if the stock has them. False if the caller has to uncharge the pages,
 * and put the references: with cgroup v1, if @memcg is being removed or is near a
 * limit, or @nr is large.
 */
static inline bool scaleswap_stock_put(struct mem_cgroup *memcg, unsigned int nr)
{
	return scaleswap_on() && __scaleswap_stock_put(memcg, nr);
}

/**
 * scaleswap_stock_usage - read the swap usage of a memcg to compare it with a limit
 * @memcg: the memcg
 * @limit: the limit in pages; 0 to have the usage without any stock
 *
 * Context: any but interrupts. @memcg cannot go away.
 * Return: pages. Too high by what is in stocks if it is far below @limit.
 */
static inline unsigned long scaleswap_stock_usage(struct mem_cgroup *memcg,
						  unsigned long limit)
{
	if (scaleswap_on())
		return __scaleswap_stock_usage(memcg, limit);
	return page_counter_read(&memcg->swap);
}

/**
 * scaleswap_stock_drain - empty the stocks of a memcg that goes offline or gets a limit
 * @memcg: the memcg; those below it are drained as well
 *
 * Stocks that are begun meanwhile respect the new state.
 *
 * Context: any but interrupts. @memcg cannot go away.
 */
static inline void scaleswap_stock_drain(struct mem_cgroup *memcg)
{
	if (scaleswap_on())
		__scaleswap_stock_drain(memcg);
}

#endif /* CONFIG_MEMCG */

/* --- reclaim of a memcg ---------------------------------------------------------- */

/**
 * scaleswap_is_leaf - check whether reclaim of a memcg has only that one to look at
 * @memcg: what is reclaimed; NULL for all memory
 *
 * Reclaim of several memcgs has a position in the hierarchy that all CPUs share, so that
 * each goes on where another one stopped. In a memcg without children there is nothing to
 * share, but CPUs set that position, and set it back, for each batch of pages.
 *
 * Context: any; @memcg cannot go away. A child may come or go meanwhile; then this pass is
 * as if it had come later, or gone later.
 * Return: true if @memcg has no children.
 */
#ifdef CONFIG_MEMCG
static inline bool scaleswap_is_leaf(const struct mem_cgroup *memcg)
{
	return scaleswap_on() && memcg && list_empty(&memcg->css.children);
}
#else
static inline bool scaleswap_is_leaf(const struct mem_cgroup *memcg)
{
	return false;
}
#endif

/* --- evictors ---------------------------------------------------------------------- */

#ifdef CONFIG_MEMCG

void __scaleswap_evict_init(struct mem_cgroup *memcg);
void __scaleswap_evict_mark(struct mem_cgroup *memcg);
unsigned int __scaleswap_charge_batch(struct mem_cgroup *memcg);
unsigned long __scaleswap_evict_wait(struct mem_cgroup *memcg, unsigned long nr_pages,
				     gfp_t gfp_mask, bool high);

/**
 * scaleswap_evict_init - initialize what a memcg has for evictors
 * @memcg: a new memcg
 *
 * Context: before anyone else can see @memcg, also while booting.
 */
static inline void scaleswap_evict_init(struct mem_cgroup *memcg)
{
	if (IS_ENABLED(CONFIG_SCALESWAP_EVICTOR))
		__scaleswap_evict_init(memcg);
}

/**
 * scaleswap_evict_mark - wake an evictor if a memcg has little room below its limits
 * @memcg: the memcg, which was charged
 *
 * Context: any but with a runqueue locked.
 */
static inline void scaleswap_evict_mark(struct mem_cgroup *memcg)
{
	if (scaleswap_evict_on())
		__scaleswap_evict_mark(memcg);
}

/**
 * scaleswap_charge_batch - how many pages a CPU charges at a time, for its stock
 * @memcg: the memcg
 *
 * Context: any.
 * Return: pages, from 1 to %MEMCG_CHARGE_BATCH; that without evictors.
 */
static inline unsigned int scaleswap_charge_batch(struct mem_cgroup *memcg)
{
	return scaleswap_evict_on() ? __scaleswap_charge_batch(memcg) : MEMCG_CHARGE_BATCH;
}

/**
 * scaleswap_drains_empty - check whether stocks of charges without pages are to be drained, too
 * @memcg: the memcg; those below it are drained as well
 *
 * Such a stock still has a reference to its memcg. Where a CPU stocks one or two pages, it mostly
 * ends without any, and if it charges nothing later, a memcg that was removed would stay.
 *
 * Context: any. @memcg cannot go away.
 * Return: true if @memcg is being removed.
 */
static inline bool scaleswap_drains_empty(struct mem_cgroup *memcg)
{
	return scaleswap_evict_on() && css_is_dying(&memcg->css);
}

/**
 * scaleswap_charge_reclaim - make room for a charge, by evictors or by reclaim
 * @memcg: the memcg that is at its limit
 * @nr_pages: pages to be charged
 * @batch: pages that the caller tries to charge next, for this CPU's stock, too
 * @gfp_mask: of the charge
 * @options: as for try_to_free_mem_cgroup_pages()
 *
 * Context: process context, may sleep.
 * Return: pages that were freed; @nr_pages if evictors made room.
 */
static inline unsigned long scaleswap_charge_reclaim(struct mem_cgroup *memcg,
						     unsigned int nr_pages, unsigned int *batch,
						     gfp_t gfp_mask, unsigned int options)
{
	unsigned long nr = 0;

	/* Evictors swap. */
	if (scaleswap_evict_on() && (options & MEMCG_RECLAIM_MAY_SWAP))
		nr = __scaleswap_evict_wait(memcg, nr_pages, gfp_mask, false);
	if (nr) {
		/* Or each page would wait. */
		*batch = max(SWAP_CLUSTER_MAX, nr_pages);
		return nr;
	}
	return try_to_free_mem_cgroup_pages(memcg, nr_pages, gfp_mask, options, NULL);
}

/**
 * scaleswap_high_reclaim - have pages of a memcg above memory.high freed, by evictors or by reclaim
 * @memcg: the memcg
 * @nr_pages: how many
 * @gfp_mask: limits of reclaim
 *
 * Context: process context, may sleep.
 * Return: pages that were freed; @nr_pages if evictors freed as many, or @memcg is not above its
 * limit any more.
 */
static inline unsigned long scaleswap_high_reclaim(struct mem_cgroup *memcg,
						   unsigned long nr_pages, gfp_t gfp_mask)
{
	unsigned long nr = 0;

	if (scaleswap_evict_on())
		nr = __scaleswap_evict_wait(memcg, nr_pages, gfp_mask, true);
	return nr ?: try_to_free_mem_cgroup_pages(memcg, nr_pages, gfp_mask,
						  MEMCG_RECLAIM_MAY_SWAP, NULL);
}

#endif /* CONFIG_MEMCG */

/* --- memory pressure ------------------------------------------------------------- */

void __scaleswap_pressure_add(unsigned long *window, unsigned long *scanned,
			      unsigned long *reclaimed, unsigned long full);

/**
 * scaleswap_pressure_add - add what reclaim has done to a window of vmpressure, without a lock
 * @window: both sums of the window; with ScaleSwap on it is only used here
 * @scanned: pages to add; set to the sum
 * @reclaimed: pages to add; set to the sum
 * @full: pages that have to be scanned for the window to end, that is, to begin at 0 again
 *
 * Context: any.
 * Return: true if it was added. False with ScaleSwap off, nothing having changed.
 */
static inline bool scaleswap_pressure_add(unsigned long *window, unsigned long *scanned,
					  unsigned long *reclaimed, unsigned long full)
{
	if (!scaleswap_on())
		return false;
	__scaleswap_pressure_add(window, scanned, reclaimed, full);
	return true;
}

#endif /* _MM_SCALESWAP_MEMCG_HOOKS_H */
