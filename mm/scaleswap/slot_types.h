/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: the slots of one per-core area: structures, and the rules for them.
 */

/**
 * DOC: Owner of an area
 *
 * Two kinds of work are done on slots. References come and go on any CPU, by a
 * compare-and-exchange of the slot's word (slot.h). The choice of free slots, and all
 * that is on a list, belongs to the *owner*: the CPU that holds the area's token. No CPU
 * sleeps for the token. A CPU that does not get it queues a request, and the owner
 * drains the queue.
 */

/**
 * DOC: Invariants of slots
 *
 * 1. Only the owner takes a word out of *free*, gives a cluster a table or takes it away,
 *    and touches the fields that are marked "owner" below.
 * 2. The token is held with preemption off and for a bounded amount of work. Under it no
 *    lock is taken, no memory is allocated, and nothing sleeps. lockdep sees the token as
 *    a raw spinlock that is only tried for, so it reports what is taken under it.
 * 3. ``used`` of a cluster is at least the number of words that are neither free nor bad.
 *    The owner raises it before it takes words out of *free*. A CPU that frees lowers it
 *    after the words are free. So at 0 all words are free, and the table can go.
 * 4. The owner learns of each free slot: its cluster is on a list, or in the queue, or the
 *    CPU that freed the slot is about to queue it. Otherwise the slot would be lost until
 *    swapoff. A held cluster, and the reserve, count as on a list: whoever holds a cluster gives
 *    it back, and the owner takes both before it finds that the area is full.
 * 5. A queued request is completed by an owner, or by the requester if no other CPU holds
 *    the token. So waiting for it never depends on a thread being scheduled, nor on a lock
 *    that the requester holds. The queue is served in order. So only what was queued
 *    earlier comes first: at most one entry for each waiting requester and for each cluster.
 */

/**
 * DOC: Memory barriers of slots
 *
 * **A**: the teardown of a slot is complete before the slot's next use begins.
 *
 * - The CPU that frees, ssw_slot_free(): the word becomes *free* by a release.
 * - The owner, ssw_cluster_take(): takes the word out of *free* by an acquire.
 *
 * When the owner takes a table away, the history of its words goes with it. So the owner
 * reads ``used`` by an acquire to see that it is 0. That pairs with the full barrier of
 * the CPU that lowered it to 0.
 *
 * **B**: a slot that becomes free while its cluster leaves the lists is not lost.
 *
 * - The owner, ssw_cluster_fill(): ``state`` = FULL; smp_mb(); read ``used``.
 * - The CPU that frees, ssw_cluster_freed(): lower ``used`` by atomic_sub_return(), a
 *   full barrier; read ``state``.
 *
 * Either the owner sees the lower count and keeps the cluster on a list, or the CPU that
 * frees sees FULL and queues the cluster (invariant 4).
 *
 * **C**: a slot that becomes free while its cluster leaves the queue is not lost.
 *
 * - The owner, ssw_cluster_returned(): ``queued`` = 0, by a release, since the node may be
 *   reused from then on; smp_mb(); read ``used`` and ``state``.
 * - The CPU that frees, ssw_cluster_freed() and then ssw_cluster_queue(): lower ``used``,
 *   a full barrier; atomic_xchg() of ``queued`` with 1.
 *
 * Either the owner sees the lower count, or the cluster is queued again (invariant 4).
 *
 * **D**: a requester sees all of the result.
 *
 * - The owner, ssw_drain(): write the result; smp_store_release() of ``done``.
 * - The requester, ssw_request_delegate(): smp_load_acquire() of ``done``; read the result.
 *
 * After the release the owner does not touch the request: its stack frame may be gone.
 *
 * **E**: an area is not marked as full while a cluster is in its queue.
 *
 * - The owner, ssw_cluster_alloc(): ``full`` = 1; smp_mb(); look into the queue.
 * - The CPU that frees, ssw_cluster_queue(): llist_add() or atomic_xchg(), each a full
 *   barrier; read ``full``.
 *
 * ``full`` is a hint. It spares CPUs the way to an area without room. A cluster on a list
 * always has a free slot. So ``full`` is set only while no list has a cluster, and then
 * each slot that is freed comes through the queue.
 *
 * **F**: a block that becomes free is not overlooked for long.
 *
 * - The owner, ssw_slots_search(): ``quiet`` = 1; smp_mb(); read ``used`` and words of
 *   clusters, and note in these the number of the search.
 * - The CPU that frees, ssw_cluster_freed(): lower ``used``, a full barrier; read
 *   ``quiet``, and clear it.
 *
 * Either the owner sees the free slot, or the next request begins a new search. ``quiet``
 * is a hint: a CPU that is preempted before it clears ``quiet`` delays the next search,
 * and a large folio is split meanwhile.
 *
 * **G**: a thread that finds a moved page's new slot in use finds there what was moved.
 *
 * - The mover, ssw_slot_arrive(): what belongs to the slot; its word, by a release.
 * - Every other CPU, ssw_slot_update(): a compare-and-exchange of the word, a full barrier; what
 *   belongs to the slot.
 *
 * **H**: defragd (defragd.c) does not overlook that a cluster has become sparse, or that few
 * clusters are left.
 *
 * - The CPU that frees, ssw_cluster_freed(): lower ``used``, a full barrier; read ``sparse`` of the
 *   cluster. If it is not set, ssw_cluster_sparse(): set it; smp_mb(); read ``sparse`` of the area,
 *   and if that is not set: set it; smp_mb(); read ``kick_sparse``.
 * - defragd, ssw_sparse_clear(): ``sparse`` of a cluster = 0; smp_mb(); read ``used``, or words.
 * - defragd, ssw_defrag_pass(): ``sparse`` of the area = 0; smp_mb(); read ``sparse`` of the
 *   clusters.
 * - defragd before it sleeps, ssw_defrag_arm(): ``kick_sparse`` = 1; smp_mb(); read ``sparse`` of
 *   the area. Or ``kick_at``; smp_mb(); read ``nr_tables``.
 * - The owner, ssw_cluster_begin(): raise ``nr_tables``; smp_mb(); read ``kick_at``.
 */
#ifndef _MM_SCALESWAP_SLOT_TYPES_H
#define _MM_SCALESWAP_SLOT_TYPES_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct ssw_area;

/* Slots of a cluster, 2 MiB: a table of words is a page, a huge folio fits. */
#define SSW_CLUSTER_SHIFT	9
#define SSW_CLUSTER_SLOTS	512U
#define SSW_NR_ORDERS		(SSW_CLUSTER_SHIFT + 1)
/*
 * Cursors of the owner: one per order, one per lane for other CPUs' pages, and one for what is
 * moved out of other clusters
 */
#define SSW_NR_LANES		4
#define SSW_CURSOR_MOVE		(SSW_NR_ORDERS + SSW_NR_LANES)
#define SSW_NR_CURSORS		(SSW_CURSOR_MOVE + 1)
/* An area with at least so many clusters keeps one of them for moves. */
#define SSW_RESERVE_MIN		32U
/* A cluster with at most so many slots in use is sparse: half of them. */
#define SSW_SPARSE		(SSW_CLUSTER_SLOTS / 2)

/**
 * struct ssw_table - the words of one cluster
 * @word: SSW_CLUSTER_SLOTS words, a page
 * @cache: by slot, its folio in the swap cache, a shadow entry or NULL, a page
 * @next: in ssw_slots.dead, the list of tables to be freed
 * @rcu: to free it after its last reader
 * @memcg: by slot, the id of the memory cgroup that its swap is charged to
 */
struct ssw_table {
	atomic64_t *word;
	void **cache;
	struct ssw_table *next;
	struct rcu_head rcu;
#ifdef CONFIG_MEMCG
	u16 memcg[SSW_CLUSTER_SLOTS];
#endif
};

/**
 * struct ssw_node - an entry of an area's queue
 * @link: in ssw_slots.queue
 * @is_request: true in a struct ssw_request, false in a struct ssw_cluster
 */
struct ssw_node {
	struct llist_node link;
	bool is_request;
};

/**
 * enum ssw_state - where a cluster is
 * @SSW_CL_FREE: on ssw_slots.free, has no table
 * @SSW_CL_NONFULL: on ssw_slots.nonfull or .frag, has a table
 * @SSW_CL_FULL: on no list, has a table without a free word
 * @SSW_CL_DISCARD: on ssw_slots.discard, waits for its discard, has no table
 * @SSW_CL_DISCARDING: on no list, is being discarded, has no table
 * @SSW_CL_HELD: on ssw_slots.held, has a table; a mover empties it, or fills it
 * @SSW_CL_RESERVE: ssw_slots.reserve, on no list, has no table
 */
enum ssw_state {
	SSW_CL_FREE,
	SSW_CL_NONFULL,
	SSW_CL_FULL,
	SSW_CL_DISCARD,
	SSW_CL_DISCARDING,
	SSW_CL_HELD,
	SSW_CL_RESERVE,
};

/**
 * struct ssw_cluster - SSW_CLUSTER_SLOTS slots, in a cache line of their own
 * @table: their words, NULL if all are free; written by the owner, read under RCU
 * @used: how many are neither free nor bad; any CPU lowers it
 * @queued: whether @node is in the queue; see barrier C
 * @state: enum ssw_state; owner, and see barrier B
 * @order: owner; the order that it serves, set when the empty cluster comes into use
 * @nr_bad: how many are bad; fixed
 * @seen: owner; the last search that found no block of @order here
 * @node: in the queue, to notify the owner of free slots
 * @list: owner
 * @looked: how many were in use when defragd last looked, which the owner resets; a hint
 * @sparse: a hint that at most SSW_SPARSE are in use; who frees sets it, defragd clears it,
 *          barrier H
 */
struct ssw_cluster {
	struct ssw_table __rcu *table;
	atomic_t used;
	atomic_t queued;
	u8 state;
	u8 order;
	u16 nr_bad;
	u32 seen;
	struct ssw_node node;
	struct list_head list;
	u16 looked;
	bool sparse;
} ____cacheline_aligned;

/**
 * struct ssw_token - the token of an area; its holder is the owner
 * @held: 0 or 1
 * @dep_map: for lockdep
 */
struct ssw_token {
	atomic_t held;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map dep_map;
#endif
};

/**
 * struct ssw_cursor - where the owner allocates next
 * @cluster: the cluster, NULL if there is none
 * @next: the slot in it
 */
struct ssw_cursor {
	struct ssw_cluster *cluster;
	unsigned int next;
};

/**
 * struct ssw_slots - the slots of one per-core area
 * @area: the area; not used by cluster.c, slot.c and deleg.c
 * @nr_slots: all slots, bad ones included; fixed
 * @nr_clusters: fixed
 * @cluster: fixed
 * @bad: the numbers of bad slots, sorted; fixed
 * @nr_bad: length of @bad; fixed
 * @use_discard: whether emptied clusters are discarded before they are used again;
 *           set before the area is enabled
 * @use_reserve: whether an empty cluster is kept for moves; fixed
 * @closed: no more allocation; swapoff sets it and then waits an RCU grace period
 * @full: a hint that no slot is free; the owner sets it, barrier E
 * @quiet: a hint that no slot was freed since the current search for blocks began;
 *         the owner sets it, barrier F
 * @sparse: a hint that a cluster has become sparse since defragd last looked; barrier H
 * @kick_sparse: whether defragd waits for @sparse
 * @kick_at: defragd waits for so many clusters to be in use; barrier H
 * @token: see the top of this file
 * @queue: requests, and clusters that got free slots; any CPU adds, the owner takes
 * @nr_queued: clusters in @queue and @backlog
 * @backlog: owner; taken from @queue, but not drained yet
 * @free: owner; clusters that are SSW_CL_FREE
 * @nonfull: owner; by order, SSW_CL_NONFULL
 * @frag: owner; the same, but without a block of their order when last searched
 * @discard: owner; SSW_CL_DISCARD
 * @held: owner; SSW_CL_HELD
 * @reserve: owner; SSW_CL_RESERVE, or NULL
 * @cursor: owner; by order, then by lane, then %SSW_CURSOR_MOVE
 * @dead: owner; tables to be freed after the token is released
 * @allocated: owner; slots ever allocated
 * @nr_tables: owner; tables in use
 * @queue_max: owner; most entries ever found in @queue
 * @search: owner; number of the current search for blocks, see @quiet
 * @no_blocks: owner; how often there was no block of the order that was asked for
 * @scanned: owner; words read since the current drain of the queue began
 */
struct ssw_slots {
	struct ssw_area *area;
	unsigned int nr_slots;
	unsigned int nr_clusters;
	struct ssw_cluster *cluster;
	unsigned int *bad;
	unsigned int nr_bad;
	bool use_discard;
	bool use_reserve;
	bool closed;
	int full;
	int quiet;
	int sparse;
	int kick_sparse;
	unsigned int kick_at;

	struct llist_head queue ____cacheline_aligned_in_smp;
	atomic_t nr_queued;

	struct ssw_token token ____cacheline_aligned_in_smp;
	struct llist_node *backlog;
	struct list_head free;
	struct list_head discard;
	struct list_head nonfull[SSW_NR_ORDERS];
	struct list_head frag[SSW_NR_ORDERS];
	struct list_head held;
	struct ssw_cluster *reserve;
	struct ssw_cursor cursor[SSW_NR_CURSORS];
	struct ssw_table *dead;
	u64 allocated;
	unsigned int nr_tables;
	unsigned int queue_max;
	u32 search;
	unsigned int no_blocks;
	unsigned int scanned;
};

/**
 * enum ssw_by - which thread served a request
 * @SSW_BY_REQUESTER: the thread that queued it
 * @SSW_BY_HOLDER: another CPU, which took the token for work of its own
 * @SSW_BY_DELEGATOR: a delegator kthread
 * @SSW_NR_BY: number of the above
 */
enum ssw_by {
	SSW_BY_REQUESTER,
	SSW_BY_HOLDER,
	SSW_BY_DELEGATOR,
	SSW_NR_BY,
};

/**
 * enum ssw_result - outcome of an allocation from one area
 * @SSW_OK: got slots
 * @SSW_FULL: no free slot, or the area is closed
 * @SSW_NO_BLOCK: free slots, but no block of the order
 * @SSW_NO_TABLE: a cluster is available, but needs a table
 */
enum ssw_result {
	SSW_OK,
	SSW_FULL,
	SSW_NO_BLOCK,
	SSW_NO_TABLE,
};

/**
 * struct ssw_request - a request for slots, on the requester's stack
 * @node: in the queue
 * @word: what the slots' words become
 * @order: how many slots, as a power of two
 * @lane: 1 to SSW_NR_LANES, by CPU, if another CPU than the home CPU is likely to
 *        want the page back; else 0
 * @table: in: a table that may be used, or NULL; out: NULL if it was taken
 * @no_table: no table could be allocated; use only clusters that have one
 * @result: outcome
 * @slot: the first slot
 * @by: which thread served it
 * @done: 1 when all of the above is final; barrier D
 */
struct ssw_request {
	struct ssw_node node;
	u64 word;
	unsigned int order;
	unsigned int lane;
	struct ssw_table *table;
	bool no_table;
	enum ssw_result result;
	unsigned int slot;
	enum ssw_by by;
	int done;
};

#endif /* _MM_SCALESWAP_SLOT_TYPES_H */
