/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: moving slots while they are in use.
 */
#ifndef _MM_SCALESWAP_MOVE_H
#define _MM_SCALESWAP_MOVE_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/swapops.h>
#include <linux/types.h>

#include "slot_types.h"

struct folio;
struct ssw_area;

/* Slots that are moved at a time */
#define SSW_MOVE_BATCH		128
#define SSW_MOVE_BATCH_MIN	16U
#define SSW_MOVE_BATCH_MAX	512U
/* Clusters that they come from, at most */
#define SSW_MOVE_CLUSTERS	64

/**
 * enum ssw_move_kind - where a slot's page is
 * @SSW_MOVE_DATA: on the device
 * @SSW_MOVE_ZSWAP: in zswap
 * @SSW_MOVE_ZERO: nowhere, it is filled with zeros
 */
enum ssw_move_kind {
	SSW_MOVE_DATA,
	SSW_MOVE_ZSWAP,
	SSW_MOVE_ZERO,
};

/**
 * enum ssw_move_state - how far a move has got
 * @SSW_MOVE_READY: nothing has stopped it
 * @SSW_MOVE_FAILED: the device has failed to read or to write it
 * @SSW_MOVE_SKIPPED: it stays where it is
 * @SSW_MOVE_DONE: it is where it was to go
 */
enum ssw_move_state {
	SSW_MOVE_READY,
	SSW_MOVE_FAILED,
	SSW_MOVE_SKIPPED,
	SSW_MOVE_DONE,
};

/**
 * struct ssw_move - a slot that is moved
 * @word: its word, with the tag
 * @from: where it is
 * @to: where it goes; 0, the slot of the header, until there is a place
 * @kind: enum ssw_move_kind
 * @state: enum ssw_move_state
 */
struct ssw_move {
	u64 word;
	unsigned int from;
	unsigned int to;
	u8 kind;
	u8 state;
};

/**
 * struct ssw_mover - what moves a batch of slots
 * @area: the area
 * @table: for the next cluster that is filled, or NULL
 * @batch: most slots at a time
 * @nr: slots of the batch in work
 * @nr_held: clusters that are being emptied
 * @held: these clusters
 * @pending: bios under way, and one more while some are submitted
 * @done: when there are none
 * @folio: for each slot the page through which it goes
 * @move: the slots
 */
struct ssw_mover {
	struct ssw_area *area;
	struct ssw_table *table;
	unsigned int batch;
	unsigned int nr;
	unsigned int nr_held;
	struct ssw_cluster *held[SSW_MOVE_CLUSTERS];
	atomic_t pending;
	struct completion done;
	struct folio *folio[SSW_MOVE_BATCH_MAX];
	struct ssw_move move[SSW_MOVE_BATCH_MAX];
};

/**
 * ssw_pte_moved - make the page table entry of a page that was moved
 * @old: its entry so far, a swap entry
 * @to: where it is now
 *
 * Context: any.
 * Return: the entry, with all that @old says beside the slot.
 */
static inline pte_t ssw_pte_moved(pte_t old, swp_entry_t to)
{
	pte_t new = swp_entry_to_pte(to);

	if (pte_swp_exclusive(old))
		new = pte_swp_mkexclusive(new);
	if (pte_swp_soft_dirty(old))
		new = pte_swp_mksoft_dirty(new);
	if (pte_swp_uffd_wp(old))
		new = pte_swp_mkuffd_wp(new);
	return new;
}

/* zswap-move.c */
#ifdef CONFIG_ZSWAP
bool scaleswap_zswap_has(swp_entry_t entry);
int scaleswap_zswap_reserve(swp_entry_t entry);
void scaleswap_zswap_unreserve(swp_entry_t entry);
void scaleswap_zswap_move(swp_entry_t from, swp_entry_t to);
#else
static inline bool scaleswap_zswap_has(swp_entry_t entry)
{
	return false;
}

static inline int scaleswap_zswap_reserve(swp_entry_t entry)
{
	return 0;
}

static inline void scaleswap_zswap_unreserve(swp_entry_t entry)
{
}

static inline void scaleswap_zswap_move(swp_entry_t from, swp_entry_t to)
{
}
#endif

/* move.c */
int ssw_move_init(void);
struct ssw_mover *ssw_mover_alloc(struct ssw_area *area, unsigned int batch);
void ssw_mover_free(struct ssw_mover *m);
int ssw_move_cluster(struct ssw_mover *m, struct ssw_cluster *ci, unsigned int cap);
int ssw_move_flush(struct ssw_mover *m);

/* defrag.c */
extern bool ssw_defrag_on;
extern unsigned int ssw_move_batch;
int ssw_compact(struct ssw_area *area);
void ssw_clusters_count(const struct ssw_slots *slots, unsigned int *empty, unsigned int *sparse);
unsigned int ssw_frag_index(const struct ssw_area *area);

#endif /* _MM_SCALESWAP_MOVE_H */
