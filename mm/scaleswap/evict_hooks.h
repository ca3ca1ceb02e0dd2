/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the rest of mm asks about evictors; a part of hooks.h.
 */
#ifndef _MM_SCALESWAP_EVICT_HOOKS_H
#define _MM_SCALESWAP_EVICT_HOOKS_H

#include <linux/jump_label.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/types.h>

#ifdef CONFIG_SCALESWAP_EVICTOR

DECLARE_STATIC_KEY_FALSE(scaleswap_evict_key);

/**
 * scaleswap_evict_on - check whether there may be evictors
 *
 * If so, a folio that is neither locked nor mapped may be in TLBs, until
 * flush_tlb_batched_pending() has returned for each mm that it was mapped in.
 *
 * Context: any. Changes only at boot.
 * Return: true with scaleswap=evict.
 */
static inline bool scaleswap_evict_on(void)
{
	return static_branch_unlikely(&scaleswap_evict_key);
}

/**
 * scaleswap_evicts - check whether the calling task is an evictor
 *
 * Context: any.
 * Return: true while the task reclaims with a pipeline.
 */
static inline bool scaleswap_evicts(void)
{
	return scaleswap_evict_on() && current->reclaim_state && current->reclaim_state->pipe;
}

void ssw_circulate(struct folio_batch *folios);

/**
 * scaleswap_circulate - free folios to the CPU that used them, if an evictor frees them
 * @folios: what free_unref_folios() is about to free; it frees what is left
 *
 * Context: process context.
 */
static inline void scaleswap_circulate(struct folio_batch *folios)
{
	if (scaleswap_evicts())
		ssw_circulate(folios);
}

#else

static inline bool scaleswap_evict_on(void)
{
	return false;
}

static inline bool scaleswap_evicts(void)
{
	return false;
}

static inline void scaleswap_circulate(struct folio_batch *folios)
{
}

#endif /* CONFIG_SCALESWAP_EVICTOR */

#endif /* _MM_SCALESWAP_EVICT_HOOKS_H */
