/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: critical reads first, and polled for, as the rest of mm sees it.
 *
 * Included by <linux/scaleswap.h>. The rules are in mm/scaleswap/fault.c.
 */
#ifndef _LINUX_SCALESWAP_FAULT_H
#define _LINUX_SCALESWAP_FAULT_H

#include <linux/gfp_types.h>
#include <linux/jump_label.h>
#include <linux/mm_types.h>

struct folio;
struct mempolicy;
struct swap_info_struct;
struct swap_iocb;
struct vm_fault;
struct writeback_control;

/* swap_vma_readahead(), which only its own file knows */
typedef struct folio *(*ssw_readahead_fn)(swp_entry_t entry, gfp_t gfp,
					  struct mempolicy *mpol, pgoff_t ilx,
					  struct vm_fault *vmf);

#ifdef CONFIG_SCALESWAP_POLL

DECLARE_STATIC_KEY_FALSE(scaleswap_poll_key);

struct folio *__scaleswap_swapin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
				 pgoff_t ilx, struct vm_fault *vmf,
				 ssw_readahead_fn vma_readahead);
bool __scaleswap_read_submit(struct folio *folio, struct swap_info_struct *si,
			     struct swap_iocb **plug);
bool __scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
			      struct swap_info_struct *si);
bool scaleswap_poll_wanted(void);

/**
 * scaleswap_poll_on - are critical reads treated apart?
 *
 * Context: any.
 * Return: true with scaleswap=on or scaleswap=poll, from early in boot on.
 */
static inline bool scaleswap_poll_on(void)
{
	return static_branch_unlikely(&scaleswap_poll_key);
}

#else /* CONFIG_SCALESWAP_POLL */

static inline bool scaleswap_poll_on(void)
{
	return false;
}

static inline struct folio *__scaleswap_swapin(swp_entry_t entry, gfp_t gfp,
					       struct mempolicy *mpol, pgoff_t ilx,
					       struct vm_fault *vmf,
					       ssw_readahead_fn vma_readahead)
{
	return NULL;
}

static inline bool __scaleswap_read_submit(struct folio *folio,
					   struct swap_info_struct *si,
					   struct swap_iocb **plug)
{
	return false;
}

static inline bool __scaleswap_write_submit(struct folio *folio,
					    struct writeback_control *wbc,
					    struct swap_info_struct *si)
{
	return false;
}

static inline bool scaleswap_poll_wanted(void)
{
	return false;
}

#endif /* CONFIG_SCALESWAP_POLL */

/**
 * scaleswap_swapin - swap in a page that a fault waits for, and its neighbours
 * @entry: where it is
 * @gfp: for the page; neighbours are read without direct reclaim
 * @mpol: policy of the pages' memory
 * @ilx: for interleaving
 * @vmf: the fault if neighbours are to be found by address, or NULL
 * @vma_readahead: swap_vma_readahead() then, or NULL for swap_cluster_readahead()
 *
 * To be called where scaleswap_poll_on(). The page is read first, then come
 * neighbours, then the page is polled for, for a limited time.
 *
 * Context: process context, may sleep; no folio is locked. The caller has a
 * reference on the area's users, or is its swapoff.
 * Return: the folio, with a reference, maybe still locked and being read; NULL if
 * there is no memory or the entry is not in use any more.
 */
static inline struct folio *scaleswap_swapin(swp_entry_t entry, gfp_t gfp,
					     struct mempolicy *mpol, pgoff_t ilx,
					     struct vm_fault *vmf,
					     ssw_readahead_fn vma_readahead)
{
	return __scaleswap_swapin(entry, gfp, mpol, ilx, vmf, vma_readahead);
}

/**
 * scaleswap_skip_busy - is a page that somebody is busy with not worth a wait?
 * @gfp: what swap-in of it would be called with
 *
 * Context: any.
 * Return: true for neighbours of a page that a thread waits for.
 */
static inline bool scaleswap_skip_busy(gfp_t gfp)
{
	return scaleswap_poll_on() && !(gfp & __GFP_DIRECT_RECLAIM);
}

/**
 * scaleswap_read_submit - submit a critical read on a queue that is polled, or
 *                         collect pages that nobody waits for in one bio
 * @folio: locked, in the swap cache, to be read from the device
 * @si: its area
 * @plug: as given to swap_read_folio(); says whether the page is critical
 *
 * Context: process context, may sleep.
 * Return: false if the caller has to read it.
 */
static inline bool scaleswap_read_submit(struct folio *folio, struct swap_info_struct *si,
					 struct swap_iocb **plug)
{
	return scaleswap_poll_on() && __scaleswap_read_submit(folio, si, plug);
}

/**
 * scaleswap_write_submit - collect pages that are to be written in one bio
 * @folio: locked, in the swap cache, dirty; unlocked and under writeback if taken
 * @wbc: who writes it
 * @si: its area
 *
 * Without a plug nothing is collected.
 *
 * Context: process context, may sleep.
 * Return: false if the caller has to write it.
 */
static inline bool scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
					  struct swap_info_struct *si)
{
	return scaleswap_poll_on() && __scaleswap_write_submit(folio, wbc, si);
}

#endif /* _LINUX_SCALESWAP_FAULT_H */
