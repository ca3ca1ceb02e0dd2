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
struct mutex;
struct ssw_area;
struct task_struct;

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
 * struct ssw_pick - a cluster that could be emptied
 * @cluster: its number
 * @used: its slots in use
 */
struct ssw_pick {
	unsigned int cluster;
	unsigned int used;
};

/**
 * struct ssw_picks - clusters that are to be emptied
 * @cap: the most slots in use that one may have
 * @wanted: the most clusters to gain
 * @by_itself: defragd asks: only clusters that are marked as sparse, and whose slots in use are as
 *	       many as at its last look
 * @used_lately: set if there were others
 * @max: length of @pick
 * @nr: how many there are
 * @pick: these, the cheapest first
 */
struct ssw_picks {
	unsigned int cap;
	unsigned int wanted;
	bool by_itself;
	bool used_lately;
	unsigned int max;
	unsigned int nr;
	struct ssw_pick pick[] __counted_by(max);
};

/**
 * enum ssw_defrag_state - what defragd does about an area, from least to most
 * @SSW_DEFRAG_OFF: nothing, it is not enabled, or the area's slots cannot be moved
 * @SSW_DEFRAG_ENOUGH: nothing, there are enough free clusters
 * @SSW_DEFRAG_NOTHING: nothing, no clusters can be gained at the moment
 * @SSW_DEFRAG_BLIND: nothing, it cannot see whether the device is idle
 * @SSW_DEFRAG_WATCHING: it waits until the device has been idle for a while
 * @SSW_DEFRAG_MOVING: it moves slots
 * @SSW_NR_DEFRAG_STATES: number of the above
 */
enum ssw_defrag_state {
	SSW_DEFRAG_OFF,
	SSW_DEFRAG_ENOUGH,
	SSW_DEFRAG_NOTHING,
	SSW_DEFRAG_BLIND,
	SSW_DEFRAG_WATCHING,
	SSW_DEFRAG_MOVING,
	SSW_NR_DEFRAG_STATES,
};

/**
 * struct ssw_look - what was to be seen of an area's device at a time
 * @when: that time, in jiffies
 * @ios: requests that the whole disk has completed
 * @slots: slots of the area that were allocated, and freed, which is all there is to see of a
 *	   device that counts nothing
 */
struct ssw_look {
	unsigned long when;
	unsigned long ios;
	unsigned long slots;
};

/**
 * struct ssw_defrag - what defragd keeps of an area; its own, but for @state, which others read
 * @state: enum ssw_defrag_state
 * @cap: as struct ssw_picks has it, as high as it ever had to be since there were enough clusters
 * @no_blocks: ssw_slots.no_blocks, when there were enough
 * @idle: for how many looks the device has been idle
 * @again: jiffies, not to try before: nothing could be gained; 0 for none
 * @failures: how often in a row the device has failed all of a batch
 * @changes: ssw_defrag_changes, when @again was set
 * @look: the last look
 */
struct ssw_defrag {
	enum ssw_defrag_state state;
	unsigned int cap;
	unsigned int no_blocks;
	unsigned int idle;
	unsigned long again;
	unsigned int failures;
	unsigned int changes;
	struct ssw_look look;
};

/**
 * struct ssw_mover - what moves a batch of slots
 * @area: the area that slots leave
 * @to: the area that those of the batch in work go to; the same one without @place
 * @broken: an area of which the device failed to write all of a batch; the caller may set it to
 *	    NULL
 * @place: called to get a slot in another area, @to, which is NULL for the first one of a batch,
 *	   and is set with its si->users held; returns 1, -ENOSPC or -ENOMEM. NULL to stay in the
 *	   area
 * @unreadable: called for each slot that the device fails to read; or NULL
 * @pause: called after each batch, for what comes between them; an error ends the pass. Or NULL
 * @begun: when the last batch was begun, in jiffies
 * @bytes: what it has read and written
 * @moved: how many slots were moved; the caller may set it to 0
 * @placed: for how many there was a place; as @moved
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
	struct ssw_area *to;
	const struct ssw_area *broken;
	int (*place)(struct ssw_mover *m, unsigned int *slot);
	void (*unreadable)(struct ssw_mover *m, const struct ssw_move *mv);
	int (*pause)(struct ssw_mover *m);
	unsigned long begun;
	u64 bytes;
	unsigned long moved;
	unsigned long placed;
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
struct ssw_mover *ssw_mover_alloc(unsigned int batch);
void ssw_mover_set_batch(struct ssw_mover *m, unsigned int batch);
void ssw_mover_free(struct ssw_mover *m);
int ssw_move_slot(struct ssw_mover *m, unsigned long slot);
int ssw_move_cluster(struct ssw_mover *m, struct ssw_cluster *ci, unsigned int cap);
int ssw_move_flush(struct ssw_mover *m);

/* defrag.c */
extern bool ssw_defrag_on;
extern struct mutex ssw_move_mutex;
extern unsigned int ssw_move_batch;
int ssw_compact(struct ssw_area *area);
bool ssw_compact_waits(void);
int ssw_defrag_pass(struct ssw_mover *m, struct ssw_picks *p);
void ssw_clusters_count(const struct ssw_slots *slots, unsigned int *empty, unsigned int *sparse);
unsigned int ssw_frag_index(const struct ssw_area *area);

/* defragd.c */
#define SSW_DEFRAG_IDLE_MS_MIN	100U
#define SSW_DEFRAG_IDLE_MS_MAX	600000U
#define SSW_DEFRAG_IDLE_IOS_MAX	100000U
#define SSW_DEFRAG_MB_S_MAX	65536U
extern unsigned int ssw_defrag_free_low, ssw_defrag_free_high;
extern unsigned int ssw_defrag_idle_ms, ssw_defrag_idle_ios, ssw_defrag_mb_s;
bool ssw_defrag_stops(const struct ssw_area *area);
bool ssw_defrag_enabled(void);
int ssw_defrag_enable(bool enable);
void ssw_defrag_changed(void);
const char *ssw_defrag_state_name(const struct ssw_area *area);

#endif /* _MM_SCALESWAP_MOVE_H */
