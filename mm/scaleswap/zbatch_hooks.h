/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the rest of mm asks about batches of zswap; a part of hooks.h.
 */
#ifndef _MM_SCALESWAP_ZBATCH_HOOKS_H
#define _MM_SCALESWAP_ZBATCH_HOOKS_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/swapops.h>
#include <linux/types.h>
#include <linux/zswap.h>

struct crypto_acomp;
struct folio;
struct list_lru;
struct mem_cgroup;
struct reclaim_stat;
struct scaleswap_zunits;
struct scan_control;
struct swap_iocb;

#ifdef CONFIG_SCALESWAP_ZBATCH

DECLARE_STATIC_KEY_FALSE(scaleswap_zbatch_key);

/**
 * scaleswap_zbatch_on - check whether zswap works in batches
 *
 * If so, an entry of zswap whose length is %PAGE_SIZE is a page that was not compressed.
 *
 * Context: any. Changes only at boot.
 * Return: true with scaleswap=zbatch.
 */
static inline bool scaleswap_zbatch_on(void)
{
	return static_branch_unlikely(&scaleswap_zbatch_key);
}

void scaleswap_list_lru_add(struct list_lru *lru, struct list_head *items, long nr, int nid,
			    struct mem_cgroup *memcg);
void scaleswap_list_lru_del(struct list_lru *lru, struct list_head **items, unsigned int nr,
			    int nid, struct mem_cgroup *memcg);
int scaleswap_zunits_alloc(struct scaleswap_zunits **units, const struct crypto_acomp *acomp,
			   int node);
void scaleswap_zunits_free(struct scaleswap_zunits *units);
void scaleswap_zswap_store_some(struct list_head *folios, struct list_head *stored);
void __scaleswap_zswap_flush(void);
bool __scaleswap_zswap_defer(struct folio *folio, struct swap_iocb **plug);

/**
 * scaleswap_zswap_invalidate - forget what zswap has of a large folio whose slots are freed
 * @entry: the first slot, of a plain area
 * @nr: how many
 *
 * The base's zswap has none of a large folio.
 *
 * Context: any but interrupts; si->lock may be held. Nobody else uses the slots.
 */
static inline void scaleswap_zswap_invalidate(swp_entry_t entry, unsigned int nr)
{
	if (!scaleswap_zbatch_on())
		return;
	for (unsigned int i = 0; i < nr; i++)
		zswap_invalidate(swp_entry(swp_type(entry), swp_offset(entry) + i));
}

/**
 * scaleswap_zswap_defer - put a folio aside that zswap has
 * @folio: locked, in the swap cache, to be read
 * @plug: as for swap_read_folio(). If not NULL, the caller calls swap_read_unplug() afterwards.
 *
 * Context: process context, as swap_read_folio(). May sleep.
 * Return: true if it will be loaded, at the latest when this task sleeps or ends its plug.
 */
static inline bool scaleswap_zswap_defer(struct folio *folio, struct swap_iocb **plug)
{
	return scaleswap_zbatch_on() && plug && __scaleswap_zswap_defer(folio, plug);
}

/**
 * scaleswap_zswap_flush - load what this task has put aside
 *
 * Context: process context; may sleep.
 */
static inline void scaleswap_zswap_flush(void)
{
	if (scaleswap_zbatch_on() && current->plug)
		__scaleswap_zswap_flush();
}

/**
 * struct scaleswap_lane - folios that reclaim has put aside, to store them in zswap together
 * @folios: the folios, of one page each, unmapped and unlocked. TLBs may not be flushed yet.
 * @nr: how many they are
 * @again: where those go that can be freed now
 * @back: where those go that reclaim is done with
 * @sc: of this reclaim
 * @stat: of this reclaim
 * @plug: of this reclaim, for what zswap does not take
 */
struct scaleswap_lane {
	struct list_head folios;
	unsigned int nr;
	struct list_head *again;
	struct list_head *back;
	struct scan_control *sc;
	struct reclaim_stat *stat;
	struct swap_iocb **plug;
};

#define SCALESWAP_LANE(_lane, _again, _back, _sc, _stat, _plug) {		\
	.folios = LIST_HEAD_INIT((_lane).folios),				\
	.again = (_again), .back = (_back),					\
	.sc = (_sc), .stat = (_stat), .plug = (_plug),				\
}

#else

static inline int scaleswap_zunits_alloc(struct scaleswap_zunits **units,
					 const struct crypto_acomp *acomp, int node)
{
	return 0;
}

static inline void scaleswap_zunits_free(struct scaleswap_zunits *units)
{
}

static inline void scaleswap_zswap_invalidate(swp_entry_t entry, unsigned int nr)
{
}

static inline bool scaleswap_zswap_defer(struct folio *folio, struct swap_iocb **plug)
{
	return false;
}

static inline void scaleswap_zswap_flush(void)
{
}

struct scaleswap_lane { };

#define SCALESWAP_LANE(...) { }

static inline bool scaleswap_zbatch_on(void)
{
	return false;
}

#endif

#endif /* _MM_SCALESWAP_ZBATCH_HOOKS_H */
