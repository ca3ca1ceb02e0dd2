/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: the lists of counters and of reasons to fall back.
 *
 * These lists are the only ones. Each line defines a value of an enum and a file in
 * /sys/kernel/mm/scaleswap. For a reason, it also defines the name that the trace event
 * scaleswap_fallback shows. In X(ITEM, name), ITEM is the enum's value without its prefix,
 * and name is the file. A new line needs a description in
 * Documentation/ABI/testing/sysfs-kernel-mm-scaleswap and in the admin guide, and a place in
 * tools/mm/scaleswap/ssw_status.py.
 */
#ifndef _MM_SCALESWAP_STAT_H
#define _MM_SCALESWAP_STAT_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "slot_types.h"

/* In stats/: where swap slots came from, in pages */
#define SSW_ALLOC_STATS(X)						\
	/* an area homed on the allocating CPU */			\
	X(ALLOC_OWN, alloc_own)						\
	/* another CPU's area, same node */				\
	X(ALLOC_NODE, alloc_node)					\
	/* another CPU's area, other node */				\
	X(ALLOC_REMOTE, alloc_remote)					\
	/* a plain area */						\
	X(ALLOC_PLAIN, alloc_plain)					\
	/* none: every area was full, or no plain one had a block */	\
	X(ALLOC_FAIL, alloc_fail)

/* In stats/: what reclaim did, in events */
#define SSW_RECLAIM_STATS(X)						\
	/* reclaim of a memcg that made no progress by statistics, and	\
	 * was retried by the sizes of the lists			\
	 */								\
	X(RECLAIM_RETRIED, reclaim_retried)

/* In stats/: how swapoff found the pages of per-core areas, in pages */
#define SSW_SWAPOFF_STATS(X)						\
	/* by the note in a slot's word */				\
	X(SWAPOFF_NOTED, swapoff_noted)					\
	/* notes that named a place where the slot was not */		\
	X(SWAPOFF_STALE, swapoff_stale)					\
	/* left to the scan of all mms and of shmem */			\
	X(SWAPOFF_SCANNED, swapoff_scanned)

/* In lru/ */
#define SSW_LRU_STATS(X)						\
	/* refaults that found the number of their shard, in pages */	\
	X(LRU_RETURNED, returned)					\
	/* refaults that moved to the shard of the CPU that swapped them in, in pages */ \
	X(LRU_MOVED, moved)						\
	/* direct reclaim that began at another shard than its CPU's,	\
	 * since the other one was behind; in events			\
	 */								\
	X(LRU_FOREIGN, foreign)						\
	/* folios for which a memcg is too small for one more shard */	\
	X(LRU_SMALL, small)

/* In evict/, in pages unless noted */
#define SSW_EVICT_STATS(X)						\
	/* batches of unmapped pages */					\
	X(EVICT_BATCHES, flushed)					\
	/* pages in these batches, all of them unmapped or in part */	\
	X(EVICT_HELD, held)						\
	/* of these, freed */						\
	X(EVICT_FREED, freed)						\
	/* of these, put back on the LRU lists */			\
	X(EVICT_BACK, put_back)						\
	/* of those put back, still being written */			\
	X(EVICT_LATE, late)						\
	/* freed by evictors to the CPU that used them, page cache, too */ \
	X(EVICT_GIVEN, given)						\
	/* waits for evictors that ended with room; in events */	\
	X(EVICT_WAITS, waits)						\
	/* waits for what evictors held, when reclaim had freed nothing;	\
	 * in events							\
	 */								\
	X(EVICT_HELD_WAITS, held_waits)

/* In zbatch/, in pages except groups, lanes, load_groups and those that say so */
#define SSW_ZBATCH_STATS(X)						\
	/* of large folios, stored in zswap */				\
	X(ZBATCH_STORED, stored)					\
	/* groups of pages in which they were stored */			\
	X(ZBATCH_GROUPS, groups)					\
	/* of those stored, kept as they are since they get no shorter */ \
	X(ZBATCH_RAW, raw)						\
	/* times that reclaim stored what it had put aside; in events */ \
	X(ZBATCH_LANES, lanes)						\
	/* single pages that it had put aside */			\
	X(ZBATCH_LANE_PAGES, lane_pages)				\
	/* of these, stored in zswap */					\
	X(ZBATCH_LANE_STORED, lane_stored)				\
	/* put aside by readahead and loaded */				\
	X(ZBATCH_LOADED, loaded)					\
	/* groups in which they were loaded; in events */		\
	X(ZBATCH_LOAD_GROUPS, load_groups)				\
	/* of these, by a worker, as their task slept */		\
	X(ZBATCH_LOAD_LATE, load_late)					\
	/* requests of several pages to a compressor; in events */	\
	X(ZBATCH_REQUESTS, requests)					\
	/* pages in these, to be compressed or decompressed */		\
	X(ZBATCH_UNITS, units)							\
	/* times that a task slept until one ended; in events */	\
	X(ZBATCH_SLEEPS, sleeps)

/* In defrag/, in pages except those that say so */
#define SSW_DEFRAG_STATS(X)						\
	/* moved to another slot */					\
	X(MOVE_MOVED, moved)						\
	/* of these, filled with zeros */				\
	X(MOVE_MOVED_ZERO, moved_zero)					\
	/* of these, in zswap */					\
	X(MOVE_MOVED_ZSWAP, moved_zswap)				\
	/* read from a device to be moved, in bytes */			\
	X(MOVE_READ, bytes_read)					\
	/* written to a device to be moved, in bytes */			\
	X(MOVE_WRITTEN, bytes_written)					\
	/* clusters that moves have emptied */				\
	X(MOVE_FREED, clusters_freed)					\
	/* freed in sparse clusters, as only the swap cache had them */	\
	X(MOVE_CACHE_FREED, cached_freed)				\
	/* of those moved, to another area from one that is drained */	\
	X(DRAIN_MOVED, drained)						\
	/* of an area that is drained, and in memory now */		\
	X(DRAIN_MAPPED, drained_in)					\
	/* of an area that is drained, and cannot be read */		\
	X(DRAIN_UNREAD, drain_unreadable)

/* In defrag/skipped/: why a slot was not moved, in pages */
#define SSW_SKIP_STATS(X)						\
	/* it was used meanwhile */					\
	X(MOVE_RACED, raced)						\
	/* its entry is not where the note says */			\
	X(MOVE_STALE, stale)						\
	/* it has several references, or one and no note */		\
	X(MOVE_SHARED, shared)						\
	/* it is part of a large entry of shmem, or shmem's without a note */\
	X(MOVE_SHMEM, shmem)						\
	/* its page is in the swap cache */				\
	X(MOVE_CACHED, cached)						\
	/* the mm, or shmem inode, that its note names has gone */	\
	X(MOVE_MM_GONE, mm_gone)					\
	/* the mm was locked */						\
	X(MOVE_MM_BUSY, mm_busy)					\
	/* there was no empty cluster to move it to */			\
	X(MOVE_NO_SLOT, no_slot)					\
	/* there was no memory */					\
	X(MOVE_NO_MEMORY, no_memory)					\
	/* the device failed to read it, two times */			\
	X(MOVE_READ_ERROR, read_error)					\
	/* the device failed to write it, two times */			\
	X(MOVE_WRITE_ERROR, write_error)

/* In io/, in pages except batches */
#define SSW_IO_STATS(X)							\
	/* bios made for adjacent pages, written or read ahead */	\
	X(IO_BATCHES, batches)						\
	/* pages in these bios */					\
	X(IO_BATCHED, batched)

/* In fault/, in pages */
#define SSW_FAULT_STATS(X)						\
	/* read on a private queue of the driver */			\
	X(READ_DIRECT, reads_direct)					\
	/* read by a polled bio */					\
	X(READ_BIO, reads_bio)						\
	/* read from a device in another way */				\
	X(READ_IRQ, reads_irq)						\
	/* polled for in vain, and handed to the worker */		\
	X(READ_LATE, reads_late)					\
	/* retried by an ordinary bio, since the first read failed */	\
	X(READ_RETRIED, reads_retried)

/* In stats/: what happened in the queues of areas, in events */
#define SSW_DELEG_STATS(X)						\
	/* a queued allocation, served by the CPU that requested it */	\
	X(DELEG_REQUESTER, deleg_requester)				\
	/* the same, by another CPU that held the token */		\
	X(DELEG_HOLDER, deleg_holder)					\
	/* the same, by a delegator kthread */				\
	X(DELEG_DELEGATOR, deleg_delegator)				\
	/* a queued allocation that waited for another owner */		\
	X(DELEG_WAITS, deleg_waits)					\
	/* a cluster handed back to its owner */			\
	X(DELEG_FREES, deleg_frees)

/* In stats/fallback/: reasons to fall back, in pages unless noted */
#define SSW_FALLBACKS(X)						\
	/* the CPU's own areas had no room */				\
	X(OWN_FULL, own_full)						\
	/* the CPU has no area of its own */				\
	X(NO_AREA, no_area)						\
	/* areas had room, but no free block of the folio's order;	\
	 * nothing was allocated, and the caller splits the folio	\
	 */								\
	X(NO_BLOCK, no_block)						\
	/* all per-core areas were full; plain ones were tried next */	\
	X(ALL_FULL, all_full)						\
	/* allocation of a table of words failed; partly used clusters	\
	 * or other areas were tried instead				\
	 */								\
	X(NO_TABLE, no_table)						\
	/* a slot's word counts a reference instead of naming the page	\
	 * table entry: no number for the mm, or an address of over 48	\
	 * bits								\
	 */								\
	X(NO_RMAP, no_rmap)						\
	/* allocation of an LRU shard failed; the folio went to the	\
	 * memcg's lruvec, which all CPUs share; in folios		\
	 */								\
	X(NO_SHARD, no_shard)						\
	/* the device of the area has no queues to poll */		\
	X(NO_POLL, no_poll)						\
	/* the driver's queue was full */				\
	X(POLL_BUSY, poll_busy)						\
	/* the controller was reset or removed, or its queues frozen */	\
	X(POLL_DOWN, poll_down)						\
	/* the device could not do the polled read after all */		\
	X(POLL_UNFIT, poll_unfit)					\
	/* a limit of bandwidth or latency is set for the device; a	\
	 * direct read would not respect it				\
	 */								\
	X(POLL_LIMITED, poll_limited)					\
	/* the device passes bios on, so each page has its own bio */	\
	X(NO_BATCH, no_batch)						\
	/* all batches of an evictor wait for late writes, and it evicts	\
	 * without one; in isolations					\
	 */								\
	X(PIPE_FULL, pipe_full)						\
	/* reclaim at a memcg's limit, as evictors could free nothing;	\
	 * this and the next ones in events				\
	 */								\
	X(EVICT_STUCK, evict_stuck)					\
	/* the same, as there was no room in time */			\
	X(EVICT_LATE, evict_late)					\
	/* the same, as this charge may not wait for others */		\
	X(EVICT_UNFIT, evict_unfit)					\
	/* the same, as the task was killed while it waited */		\
	X(EVICT_KILLED, evict_killed)					\
	/* an evictor goes on though another one still walks page tables	\
	 * for the same generation					\
	 */								\
	X(EVICT_WALK, evict_walk)					\
	/* a page does not get shorter, or more of a large folio than	\
	 * zswap keeps; it went to its area, and so in the next two	\
	 */								\
	X(ZBATCH_POOR, zbatch_poor)					\
	/* zswap, or a memcg's memory.zswap.max, was full */		\
	X(ZBATCH_LIMIT, zbatch_limit)					\
	/* there was no memory for it in zswap */			\
	X(ZBATCH_NO_MEMORY, zbatch_no_memory)				\
	/* there was no memory to put a page aside that is read ahead */ \
	X(ZBATCH_ALONE, zbatch_alone)					\
	/* decompressed alone, as it failed with others */		\
	X(ZBATCH_UNIT, zbatch_unit)

#define SSW_STAT_ENUM(_item, _name)	SSW_##_item,
#define SSW_FB_ENUM(_item, _name)	SSW_FB_##_item,

/* Counters of pages and events; see the lists above. */
enum ssw_stat_item {
	SSW_ALLOC_STATS(SSW_STAT_ENUM)
	SSW_LRU_STATS(SSW_STAT_ENUM)
	SSW_EVICT_STATS(SSW_STAT_ENUM)
	SSW_ZBATCH_STATS(SSW_STAT_ENUM)
	SSW_DEFRAG_STATS(SSW_STAT_ENUM)
	SSW_SKIP_STATS(SSW_STAT_ENUM)
	SSW_IO_STATS(SSW_STAT_ENUM)
	SSW_FAULT_STATS(SSW_STAT_ENUM)
	SSW_RECLAIM_STATS(SSW_STAT_ENUM)
	SSW_SWAPOFF_STATS(SSW_STAT_ENUM)
	SSW_NR_STAT_ITEMS,
};

/* Counters of delegation; the first three are in the order of enum ssw_by. */
enum ssw_deleg_item {
	SSW_DELEG_STATS(SSW_STAT_ENUM)
	SSW_NR_DELEG_ITEMS,
};

static_assert((int)SSW_DELEG_REQUESTER == (int)SSW_BY_REQUESTER);
static_assert((int)SSW_DELEG_HOLDER == (int)SSW_BY_HOLDER);
static_assert((int)SSW_DELEG_DELEGATOR == (int)SSW_BY_DELEGATOR);

/* Reasons to fall back; see SSW_FALLBACKS() above. */
enum ssw_fallback {
	SSW_FALLBACKS(SSW_FB_ENUM)
	SSW_NR_FALLBACKS,
};

/**
 * struct ssw_area_stat - slots taken from one area by one CPU, in pages
 * @home: taken while that CPU was the area's home; for a plain area, all
 * @foreign: taken while that CPU was not the area's home
 * @freed: slots freed by that CPU; per-core areas only
 */
struct ssw_area_stat {
	u64 home;
	u64 foreign;
	u64 freed;
};

DECLARE_PER_CPU(u64 [SSW_NR_STAT_ITEMS], ssw_stat);
DECLARE_PER_CPU(u64 [SSW_NR_FALLBACKS], ssw_fallback_stat);
DECLARE_PER_CPU(u64 [SSW_NR_DELEG_ITEMS], ssw_deleg_stat);
u64 ssw_deleg_read(enum ssw_deleg_item item);
unsigned int ssw_queue_max_read(void);
void ssw_queue_max_keep(unsigned int nr);
u64 ssw_stat_read(enum ssw_stat_item item);
u64 ssw_fallback_read(enum ssw_fallback reason);
void ssw_area_stat_read(const struct ssw_area *area, struct ssw_area_stat *sum);
void ssw_fallback(int cpu, enum ssw_fallback reason, unsigned int order);

static inline void ssw_stat_add(enum ssw_stat_item item, unsigned int pages)
{
	this_cpu_add(ssw_stat[item], pages);
}

static inline void ssw_deleg_add(enum ssw_deleg_item item)
{
	this_cpu_inc(ssw_deleg_stat[item]);
}

#endif /* _MM_SCALESWAP_STAT_H */
