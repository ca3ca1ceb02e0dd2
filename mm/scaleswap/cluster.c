// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: which slots to hand out; the owner's part.
 *
 * The owner hands out slots one after the other within a cluster, so that pages
 * swapped out together are written and read together. A cluster serves one
 * order at a time, so that small blocks do not break up large ones.
 *
 * Single pages that other CPUs are likely to want back have clusters of their own.
 * Some CPUs share one: a lane. A cluster is a part of the swap cache with its own
 * lock. In the cluster that the owner fills, these CPUs would contend with it.
 *
 * A mover empties clusters that have few slots in use (move.c). It holds these, and the cluster
 * that it fills, so that nothing is allocated there meanwhile. Large areas keep an empty cluster
 * for it.
 *
 * A full cluster has no slot to hand out, so it is on no list until a slot is freed.
 * Then the CPU that freed the slot queues the cluster to the owner.
 *
 * All functions but ssw_slots_lists_init(), ssw_cluster_freed(), ssw_cluster_queue()
 * and ssw_cluster_discarded() need the token. They allocate no memory and take no
 * lock; the caller brings the table for a new cluster.
 */
#include <linux/bug.h>
#include <linux/gcd.h>
#include <linux/kernel.h>

#include "slot.h"

/*
 * How many clusters of a list to search for a block. More would hold the token
 * for too long; a large folio is split instead.
 */
#define SSW_FRAG_TRIES		8

static unsigned int ssw_cluster_base(const struct ssw_slots *slots,
				     const struct ssw_cluster *ci)
{
	return (ci - slots->cluster) << SSW_CLUSTER_SHIFT;
}

static unsigned int ssw_cluster_capacity(const struct ssw_cluster *ci)
{
	return SSW_CLUSTER_SLOTS - ci->nr_bad;
}

/*
 * Return true if a cluster has a free slot. A CPU that frees lowers the count after
 * the word is free. So below the capacity there is a free word, and the acquire lets
 * the owner see it. The owner may take a freed word before the free is counted.
 * Then the count may exceed the capacity.
 */
static bool ssw_cluster_has_free(const struct ssw_cluster *ci)
{
	return atomic_read_acquire(&ci->used) < (int)ssw_cluster_capacity(ci);
}

static struct ssw_table *ssw_cluster_table(struct ssw_slots *slots,
					   struct ssw_cluster *ci)
{
	return rcu_dereference_protected(ci->table,
					 lockdep_is_held(&slots->token));
}

/**
 * ssw_slots_lists_init - put all clusters on the list of free ones
 * @slots: the area's slots, zeroed except for the fields marked fixed
 *
 * The list steps by about the golden section, so that each cluster is far away from
 * those used before and after it: adjacent ones are likely to share a chip in the
 * device.
 *
 * Context: before any other CPU can see @slots.
 */
void ssw_slots_lists_init(struct ssw_slots *slots)
{
	unsigned int n = slots->nr_clusters;
	unsigned int step = max(1U, (unsigned int)((u64)n * 618 / 1000));
	unsigned int i, at = 0;

	while (gcd(step, n) != 1)
		step++;

	INIT_LIST_HEAD(&slots->free);
	INIT_LIST_HEAD(&slots->discard);
	INIT_LIST_HEAD(&slots->held);
	for (i = 0; i < SSW_NR_ORDERS; i++) {
		INIT_LIST_HEAD(&slots->nonfull[i]);
		INIT_LIST_HEAD(&slots->frag[i]);
	}
	for (i = 0; i < n; i++, at = ((u64)at + step) % n) {
		struct ssw_cluster *ci = &slots->cluster[at];

		/* A cluster without a good slot stays full, on no list. */
		ci->state = SSW_CL_FULL;
		INIT_LIST_HEAD(&ci->list);
		if (!ssw_cluster_capacity(ci))
			continue;
		if (slots->use_reserve && !slots->reserve && !ci->nr_bad) {
			ci->state = SSW_CL_RESERVE;
			slots->reserve = ci;
			continue;
		}
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_add_tail(&ci->list, &slots->free);
	}
}

/* Mark the bad slots in the table that a cluster is about to get. */
static void ssw_cluster_mark_bad(struct ssw_slots *slots,
				 struct ssw_cluster *ci,
				 struct ssw_table *table)
{
	unsigned int base = ssw_cluster_base(slots, ci);
	unsigned int lo = 0, hi = slots->nr_bad;
	unsigned int i;

	if (!ci->nr_bad)
		return;
	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (slots->bad[mid] < base)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < slots->nr_bad && slots->bad[lo] < base + SSW_CLUSTER_SLOTS; lo++)
		atomic64_set(&table->word[slots->bad[lo] - base], SSW_WORD_BAD);
	/* So is the part of the last cluster beyond the end of the area. */
	for (i = min(slots->nr_slots - base, SSW_CLUSTER_SLOTS); i < SSW_CLUSTER_SLOTS; i++)
		atomic64_set(&table->word[i], SSW_WORD_BAD);
}

/* Take a free cluster into use, with a table. */
static void ssw_cluster_begin(struct ssw_slots *slots, struct ssw_cluster *ci,
			      unsigned int order, struct ssw_table *table)
{
	unsigned int kick_at;

	ssw_cluster_mark_bad(slots, ci, table);
	WRITE_ONCE(ci->state, SSW_CL_NONFULL);
	ci->order = order;
	list_move_tail(&ci->list, &slots->nonfull[order]);
	ci->looked = 0;
	WRITE_ONCE(ci->sparse, false);
	WRITE_ONCE(slots->nr_tables, slots->nr_tables + 1);
	rcu_assign_pointer(ci->table, table);
	/* Barrier H. */
	smp_mb();
	kick_at = READ_ONCE(slots->kick_at);
	if (kick_at && slots->nr_tables >= kick_at)
		ssw_slots_kick(slots);
}

static struct ssw_cursor *ssw_request_cursor(struct ssw_slots *slots,
					     const struct ssw_request *req)
{
	return &slots->cursor[req->lane && !req->order ? SSW_NR_ORDERS + req->lane - 1 :
							   req->order];
}

static bool ssw_cluster_current(const struct ssw_slots *slots,
				const struct ssw_cluster *ci)
{
	unsigned int i;

	for (i = SSW_NR_ORDERS; i < SSW_NR_CURSORS; i++) {
		if (slots->cursor[i].cluster == ci)
			return true;
	}
	/* Order 0 also takes slots from clusters of other orders. */
	return slots->cursor[ci->order].cluster == ci ||
	       slots->cursor[0].cluster == ci;
}

/* Take a cluster out of use, with its table: its last slot has been freed. */
static void ssw_cluster_end(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	struct ssw_table *table = ssw_cluster_table(slots, ci);
	unsigned int i;

	for (i = 0; i < SSW_NR_CURSORS; i++) {
		if (slots->cursor[i].cluster == ci)
			slots->cursor[i].cluster = NULL;
	}

	RCU_INIT_POINTER(ci->table, NULL);
	table->next = slots->dead;
	slots->dead = table;
	WRITE_ONCE(slots->nr_tables, slots->nr_tables - 1);

	/* The reserve was given up, or moves have used it. */
	if (slots->use_reserve && !slots->reserve && !ci->nr_bad && !READ_ONCE(slots->closed)) {
		WRITE_ONCE(ci->state, SSW_CL_RESERVE);
		list_del_init(&ci->list);
		slots->reserve = ci;
		return;
	}
	/* Do not discard the header, nor bad slots. */
	if (slots->use_discard && !ci->nr_bad && !READ_ONCE(slots->closed)) {
		WRITE_ONCE(ci->state, SSW_CL_DISCARD);
		list_move_tail(&ci->list, &slots->discard);
	} else {
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_move_tail(&ci->list, &slots->free);
	}
}

/* Take a full cluster off its list, until ssw_cluster_returned(). */
static void ssw_cluster_fill(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	list_del_init(&ci->list);
	WRITE_ONCE(ci->state, SSW_CL_FULL);
	/* Barrier B. */
	smp_mb();
	if (ssw_cluster_has_free(ci)) {
		WRITE_ONCE(ci->state, SSW_CL_NONFULL);
		list_add_tail(&ci->list, &slots->nonfull[ci->order]);
	}
}

/*
 * Take 1 << order consecutive free words, aligned, not before @from. Return
 * the first, or SSW_CLUSTER_SLOTS.
 */
static unsigned int ssw_cluster_take(struct ssw_slots *slots,
				     struct ssw_cluster *ci, unsigned int from,
				     unsigned int order, u64 new)
{
	atomic64_t *word = ssw_cluster_table(slots, ci)->word;
	unsigned int nr = 1U << order;
	unsigned int at, i;

	if (!order) {
		for (at = from; at < SSW_CLUSTER_SLOTS; at++) {
			if (atomic64_read(&word[at]) == SSW_WORD_FREE)
				break;
		}
	} else {
		/* Do not read the words if too few of them can be free. */
		if (atomic_read_acquire(&ci->used) + nr > SSW_CLUSTER_SLOTS)
			return SSW_CLUSTER_SLOTS;
		for (at = from; at < SSW_CLUSTER_SLOTS; at += nr) {
			for (i = 0; i < nr; i++) {
				if (atomic64_read(&word[at + i]) != SSW_WORD_FREE)
					break;
			}
			if (i == nr)
				break;
		}
	}
	slots->scanned += min(at + nr, SSW_CLUSTER_SLOTS) - from;
	if (at >= SSW_CLUSTER_SLOTS)
		return SSW_CLUSTER_SLOTS;

	atomic_add(nr, &ci->used);
	for (i = 0; i < nr; i++) {
		s64 old = SSW_WORD_FREE;

		/* Barrier A. Only the owner takes a word out of free. */
		WARN_ON_ONCE(!atomic64_try_cmpxchg_acquire(&word[at + i], &old, new));
	}
	WRITE_ONCE(slots->allocated, slots->allocated + nr);
	return at;
}

/* Allocate from one cluster, and remember where to go on. */
static bool ssw_cluster_try(struct ssw_slots *slots, struct ssw_cluster *ci,
			    unsigned int from, struct ssw_request *req)
{
	struct ssw_cursor *cursor = ssw_request_cursor(slots, req);
	unsigned int at;

	at = ssw_cluster_take(slots, ci, from, req->order, req->word);
	if (at == SSW_CLUSTER_SLOTS)
		return false;
	req->slot = ssw_cluster_base(slots, ci) + at;
	req->result = SSW_OK;
	cursor->cluster = ci;
	cursor->next = at + (1U << req->order);
	if (!ssw_cluster_has_free(ci)) {
		ssw_cluster_fill(slots, ci);
		cursor->cluster = NULL;
	}
	return true;
}

/* Begin a new search for blocks if a slot was freed since the last one began. */
static void ssw_slots_search(struct ssw_slots *slots)
{
	if (READ_ONCE(slots->quiet))
		return;
	slots->search++;
	WRITE_ONCE(slots->quiet, 1);
	/* Barrier F. */
	smp_mb();
}

/*
 * Leave the cluster of a cursor, which has nothing more for it. If the cluster has
 * become empty, it may have kept its table only because it was current.
 */
static void ssw_cursor_leave(struct ssw_slots *slots, struct ssw_cursor *cursor)
{
	struct ssw_cluster *ci = cursor->cluster;

	cursor->cluster = NULL;
	/* If it is queued, ssw_cluster_returned() services it. */
	if (!atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued) &&
	    !ssw_cluster_current(slots, ci))
		ssw_cluster_end(slots, ci);
}

/*
 * Look through at most SSW_FRAG_TRIES clusters of a list. A cluster without a
 * block of the order goes to the end of @park. If this search has seen the first
 * cluster of @park, it has seen all of them, and does not read them again.
 */
static bool ssw_cluster_try_list(struct ssw_slots *slots, struct list_head *list,
				 struct list_head *park, struct ssw_request *req)
{
	struct ssw_cluster *first = NULL;
	unsigned int i;

	ssw_slots_search(slots);
	for (i = 0; i < SSW_FRAG_TRIES && !list_empty(list); i++) {
		struct ssw_cluster *ci;
		bool seen;

		ci = list_first_entry(list, struct ssw_cluster, list);
		/* A cluster without a block may still have a single slot. */
		seen = ci->seen == slots->search && ci->order == req->order;
		if (ci == first || (seen && list == park))
			break;
		if (!seen && ssw_cluster_try(slots, ci, 0, req))
			return true;
		ci->seen = slots->search;
		if (list == park && !first)
			first = ci;
		list_move_tail(&ci->list, park);
	}
	return false;
}

/*
 * Find an empty cluster on a list. A cluster with bad slots serves no blocks, so
 * that it gets a table only if the table is used.
 */
static struct ssw_cluster *ssw_cluster_first(struct list_head *list,
					     unsigned int order)
{
	unsigned int i;

	for (i = 0; i < SSW_FRAG_TRIES && !list_empty(list); i++) {
		struct ssw_cluster *ci;

		ci = list_first_entry(list, struct ssw_cluster, list);
		if (!order || !ci->nr_bad)
			return ci;
		list_move_tail(&ci->list, list);
	}
	return NULL;
}

/* Find an empty cluster: a clean one, or else one that waits for its discard. */
static struct ssw_cluster *ssw_cluster_empty(struct ssw_slots *slots,
					     unsigned int order)
{
	struct ssw_cluster *ci = ssw_cluster_first(&slots->free, order);

	return ci ? ci : ssw_cluster_first(&slots->discard, order);
}

/* Return true if there is a cluster with room for at least a single slot. */
static bool ssw_slots_have_room(const struct ssw_slots *slots)
{
	unsigned int order;

	if (!list_empty(&slots->free) || !list_empty(&slots->discard))
		return true;
	for (order = 0; order < SSW_NR_ORDERS; order++) {
		if (!list_empty(&slots->nonfull[order]) || !list_empty(&slots->frag[order]))
			return true;
	}
	return false;
}

/*
 * Give up what is kept for moves, as an area is about to be full. Return true if there was any.
 * Whoever holds a cluster finds that out when it gives the cluster back.
 */
static bool ssw_slots_give_up(struct ssw_slots *slots)
{
	struct ssw_cluster *ci = slots->reserve;
	bool any = ci;

	if (ci) {
		slots->reserve = NULL;
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_add_tail(&ci->list, &slots->free);
	}
	while (!list_empty(&slots->held)) {
		ssw_cluster_unhold(slots, list_first_entry(&slots->held, struct ssw_cluster, list));
		any = true;
	}
	return any;
}

/**
 * ssw_cluster_alloc - allocate slots
 * @slots: the area's slots
 * @req: the request; gets the outcome
 *
 * Tries the cluster where the last allocation of the kind left off, then an empty
 * cluster, and then clusters of the order with freed slots. A single slot may also
 * come from a cluster of another order.
 *
 * Context: token held.
 */
void ssw_cluster_alloc(struct ssw_slots *slots, struct ssw_request *req)
{
	struct ssw_cursor *cursor = ssw_request_cursor(slots, req);
	unsigned int order = req->order;
	struct ssw_cluster *ci;

	lockdep_assert_held(&slots->token);

	req->result = SSW_FULL;
	if (READ_ONCE(slots->closed))
		return;

	if (cursor->cluster) {
		if (ssw_cluster_try(slots, cursor->cluster, cursor->next, req))
			return;
		ssw_cursor_leave(slots, cursor);
	}

again:
	ci = ssw_cluster_empty(slots, order);
	if (ci && !req->no_table) {
		if (!req->table) {
			req->result = SSW_NO_TABLE;
			return;
		}
		ssw_cluster_begin(slots, ci, order, req->table);
		req->table = NULL;
		WARN_ON_ONCE(!ssw_cluster_try(slots, ci, 0, req));
		return;
	}

	if (ssw_cluster_try_list(slots, &slots->nonfull[order],
				 &slots->frag[order], req) ||
	    ssw_cluster_try_list(slots, &slots->frag[order],
				 &slots->frag[order], req))
		return;
	if (order && ssw_slots_have_room(slots)) {
		WRITE_ONCE(slots->no_blocks, slots->no_blocks + 1);
		req->result = SSW_NO_BLOCK;
		return;
	}
	for (unsigned int other = 1; other < SSW_NR_ORDERS && !order; other++) {
		if (ssw_cluster_try_list(slots, &slots->frag[other],
					 &slots->frag[other], req) ||
		    ssw_cluster_try_list(slots, &slots->nonfull[other],
					 &slots->nonfull[other], req))
			return;
	}
	/* Not full: an empty cluster is left, but there is no table for it. */
	if (ci)
		return;
	if (ssw_slots_give_up(slots))
		goto again;

	WRITE_ONCE(slots->full, 1);
	/* Barrier E. */
	smp_mb();
	if (!llist_empty(&slots->queue) || slots->backlog)
		WRITE_ONCE(slots->full, 0);
}

/**
 * ssw_cluster_returned - service a cluster that came through the queue
 * @slots: the area's slots
 * @ci: the cluster, not in the queue any more
 *
 * Context: token held.
 */
void ssw_cluster_returned(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	lockdep_assert_held(&slots->token);

	/* The node is not read any more, and may be queued again. */
	atomic_set_release(&ci->queued, 0);
	/* Barrier C. */
	smp_mb();
	switch (ci->state) {
	case SSW_CL_DISCARDING:
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_add_tail(&ci->list, &slots->free);
		break;
	case SSW_CL_NONFULL:
	case SSW_CL_FULL:
	case SSW_CL_HELD:
		/* A current cluster is soon used again, left, or trimmed. */
		if (!atomic_read_acquire(&ci->used) && !ssw_cluster_current(slots, ci)) {
			ssw_cluster_end(slots, ci);
		} else if (ci->state == SSW_CL_FULL && ssw_cluster_has_free(ci)) {
			WRITE_ONCE(ci->state, SSW_CL_NONFULL);
			list_add_tail(&ci->list, &slots->nonfull[ci->order]);
		}
		break;
	default:
		/* An earlier entry has serviced what this one was queued for. */
		break;
	}
	WRITE_ONCE(slots->full, 0);
}

/**
 * ssw_slots_trim - release empty clusters that were kept for the next allocation
 * @slots: the area's slots
 *
 * An area that swaps single pages in and out would allocate and free a table for
 * each. So ssw_cluster_returned() keeps the table of a current cluster. Trim it
 * when it has not been used for a while.
 *
 * Context: token held.
 */
void ssw_slots_trim(struct ssw_slots *slots)
{
	unsigned int i;

	lockdep_assert_held(&slots->token);

	for (i = 0; i < SSW_NR_CURSORS; i++) {
		struct ssw_cluster *ci = slots->cursor[i].cluster;

		/* ssw_cluster_returned() services a queued one. */
		if (ci && !atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued))
			ssw_cluster_end(slots, ci);
	}
}

/* --- clusters for moves ------------------------------------------------------- */

/**
 * ssw_cluster_can_hold - check whether a cluster can be held, to empty it
 * @slots: the area's slots
 * @ci: the cluster
 * @cap: the most slots in use that it may have
 *
 * Context: token held.
 * Return: false if it is empty or has more slots in use, is current, full, or held.
 */
bool ssw_cluster_can_hold(const struct ssw_slots *slots, const struct ssw_cluster *ci,
			  unsigned int cap)
{
	unsigned int used = atomic_read(&ci->used);

	lockdep_assert_held(&slots->token);

	return ci->state == SSW_CL_NONFULL && used && used <= cap &&
	       !ssw_cluster_current(slots, ci);
}

/**
 * ssw_cluster_hold - keep a cluster from being allocated from, to empty it
 * @slots: the area's slots
 * @ci: the cluster
 * @cap: the most slots in use that it may have
 *
 * It stays held until ssw_cluster_unhold(), or its last slot is freed, or the area has no other
 * slot.
 *
 * Context: token held.
 * Return: false if it cannot be held.
 */
bool ssw_cluster_hold(struct ssw_slots *slots, struct ssw_cluster *ci, unsigned int cap)
{
	if (!ssw_cluster_can_hold(slots, ci, cap))
		return false;
	WRITE_ONCE(ci->state, SSW_CL_HELD);
	list_move_tail(&ci->list, &slots->held);
	return true;
}

/**
 * ssw_cluster_unhold - give back a cluster
 * @slots: the area's slots
 * @ci: the cluster, from ssw_cluster_hold(). It may have been given back meanwhile
 *
 * Context: token held.
 */
void ssw_cluster_unhold(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	lockdep_assert_held(&slots->token);

	if (ci->state != SSW_CL_HELD)
		return;
	WRITE_ONCE(ci->state, SSW_CL_NONFULL);
	list_move_tail(&ci->list, &slots->nonfull[ci->order]);
	if (!ssw_cluster_has_free(ci))
		ssw_cluster_fill(slots, ci);
	else if (!atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued) &&
		 !ssw_cluster_current(slots, ci))
		/* ssw_cluster_returned() services a queued one. */
		ssw_cluster_end(slots, ci);
}

/* Take the cluster to which slots are moved next. */
static struct ssw_cluster *ssw_cluster_for_moves(struct ssw_slots *slots)
{
	/* As for a block, one without bad slots. */
	struct ssw_cluster *ci = ssw_cluster_empty(slots, 1);

	return ci ? ci : slots->reserve;
}

/**
 * ssw_cluster_begin_moves - begin with a sparse cluster if there is no empty one
 * @slots: the area's slots
 * @ci: the sparse cluster, which is not emptied then
 * @cap: the most slots in use that it may have
 *
 * In an area that was full each cluster may have a slot in use. What fills up the rest of one
 * empties others, which are there for the next moves.
 *
 * Context: token held; before ssw_cluster_alloc_moved().
 * Return: true if slots are moved to @ci first.
 */
bool ssw_cluster_begin_moves(struct ssw_slots *slots, struct ssw_cluster *ci, unsigned int cap)
{
	struct ssw_cursor *cursor = &slots->cursor[SSW_CURSOR_MOVE];

	if (cursor->cluster || ssw_cluster_for_moves(slots) || !ssw_cluster_hold(slots, ci, cap))
		return false;
	cursor->cluster = ci;
	cursor->next = 0;
	return true;
}

/**
 * ssw_cluster_alloc_moved - allocate slots to which others are moved
 * @slots: the area's slots
 * @nr: how many, at most
 * @table: a table that may be used; set to NULL if it was taken
 * @slot: set to the first of them
 *
 * They come from a cluster of their own, one after the other: an empty one, or else the reserve,
 * or what ssw_cluster_begin_moves() was given. So a mover writes sequentially, and never fills up
 * the clusters that it is to empty. Their words become SSW_KIND_FREEING, which every other
 * operation refuses: nobody waits for them.
 *
 * Context: token held.
 * Return: how many; 0 if there are none, or a table is needed and there is none.
 */
unsigned int ssw_cluster_alloc_moved(struct ssw_slots *slots, unsigned int nr,
				     struct ssw_table **table, unsigned int *slot)
{
	struct ssw_cursor *cursor = &slots->cursor[SSW_CURSOR_MOVE];
	struct ssw_cluster *ci = cursor->cluster;
	unsigned int at, got = 1;
	atomic64_t *word;

	lockdep_assert_held(&slots->token);

	if (READ_ONCE(slots->closed))
		return 0;
	at = ci ? ssw_cluster_take(slots, ci, cursor->next, 0, SSW_WORD_FREEING) :
		  SSW_CLUSTER_SLOTS;
	if (at == SSW_CLUSTER_SLOTS) {
		ssw_cluster_end_moves(slots);
		ci = ssw_cluster_for_moves(slots);
		if (!ci || !*table)
			return 0;
		if (ci == slots->reserve)
			slots->reserve = NULL;
		ssw_cluster_begin(slots, ci, 0, *table);
		*table = NULL;
		WRITE_ONCE(ci->state, SSW_CL_HELD);
		list_move_tail(&ci->list, &slots->held);
		cursor->cluster = ci;
		at = ssw_cluster_take(slots, ci, 0, 0, SSW_WORD_FREEING);
	}
	*slot = ssw_cluster_base(slots, ci) + at;
	word = ssw_cluster_table(slots, ci)->word;
	while (got < nr && at + got < SSW_CLUSTER_SLOTS &&
	       atomic64_read(&word[at + got]) == SSW_WORD_FREE &&
	       ssw_cluster_take(slots, ci, at + got, 0, SSW_WORD_FREEING) < SSW_CLUSTER_SLOTS)
		got++;
	cursor->next = at + got;
	if (!ssw_cluster_has_free(ci)) {
		ssw_cluster_fill(slots, ci);
		cursor->cluster = NULL;
	}
	return got;
}

/**
 * ssw_cluster_end_moves - give back the cluster to which slots were moved
 * @slots: the area's slots
 *
 * Context: token held.
 */
void ssw_cluster_end_moves(struct ssw_slots *slots)
{
	struct ssw_cursor *cursor = &slots->cursor[SSW_CURSOR_MOVE];
	struct ssw_cluster *ci = cursor->cluster;

	lockdep_assert_held(&slots->token);

	if (!ci)
		return;
	cursor->cluster = NULL;
	if (ci->state == SSW_CL_HELD)
		ssw_cluster_unhold(slots, ci);
	else if (!atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued) &&
		 !ssw_cluster_current(slots, ci))
		ssw_cluster_end(slots, ci);
}

/**
 * ssw_cluster_to_discard - take a cluster to be discarded
 * @slots: the area's slots
 *
 * Context: token held.
 * Return: the cluster, to be given back with ssw_cluster_discarded(), or NULL.
 */
struct ssw_cluster *ssw_cluster_to_discard(struct ssw_slots *slots)
{
	unsigned int i;

	lockdep_assert_held(&slots->token);

	for (i = 0; i < SSW_FRAG_TRIES && !list_empty(&slots->discard); i++) {
		struct ssw_cluster *ci;

		ci = list_first_entry(&slots->discard, struct ssw_cluster, list);
		/*
		 * A CPU that freed one of the last slots may be late in queueing
		 * the cluster. That must not look like the end of the discard, so
		 * the node is taken until the discard is complete.
		 */
		if (!atomic_xchg(&ci->queued, 1)) {
			list_del_init(&ci->list);
			WRITE_ONCE(ci->state, SSW_CL_DISCARDING);
			return ci;
		}
		list_move_tail(&ci->list, &slots->discard);
	}
	return NULL;
}

/**
 * ssw_cluster_discarded - give back a cluster that has been discarded
 * @slots: the area's slots
 * @ci: the cluster, from ssw_cluster_to_discard()
 *
 * The caller then has to call ssw_drain(), so that an area that seemed full no
 * longer does.
 *
 * Context: process context; the area cannot go away.
 */
void ssw_cluster_discarded(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	ci->node.is_request = false;
	atomic_inc(&slots->nr_queued);
	llist_add(&ci->node.link, &slots->queue);
}

/**
 * ssw_cluster_queue - queue a cluster, to be serviced by the owner
 * @slots: the area's slots
 * @ci: the cluster
 *
 * Context: any but interrupts. RCU read side, or the cluster cannot go away.
 * Return: how many clusters are queued now if this call queued it, else 0.
 */
unsigned int ssw_cluster_queue(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	unsigned int queued = 0;

	/* Barrier C. */
	if (!atomic_xchg(&ci->queued, 1)) {
		ci->node.is_request = false;
		queued = atomic_inc_return(&slots->nr_queued);
		llist_add(&ci->node.link, &slots->queue);
	}
	/* Barrier E: llist_add() or atomic_xchg(), either is a full one. */
	if (READ_ONCE(slots->full))
		WRITE_ONCE(slots->full, 0);
	return queued;
}

/* Note that a cluster has few slots in use, and tell defragd if it waits for that. */
static void ssw_cluster_sparse(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	WRITE_ONCE(ci->sparse, true);
	/* Barrier H. */
	smp_mb();
	if (READ_ONCE(slots->sparse))
		return;
	WRITE_ONCE(slots->sparse, 1);
	/* Barrier H. */
	smp_mb();
	if (READ_ONCE(slots->kick_sparse))
		ssw_slots_kick(slots);
}

/**
 * ssw_cluster_freed - count slots that have become free
 * @slots: the area's slots
 * @ci: their cluster
 * @nr: how many
 *
 * The owner is notified only of a cluster that is empty now or is on no list. It
 * finds the others when it needs them. The mark of a sparse cluster is in the cache line of the
 * count, so it costs a CPU that frees next to nothing.
 *
 * Context: any but interrupts, RCU read side.
 * Return: how many clusters are queued now if this call queued @ci, else 0.
 */
unsigned int ssw_cluster_freed(struct ssw_slots *slots, struct ssw_cluster *ci,
			       unsigned int nr)
{
	/* Barriers B, C, F and H. */
	int left = atomic_sub_return(nr, &ci->used);

	if (READ_ONCE(slots->quiet))
		WRITE_ONCE(slots->quiet, 0);
	if (left && left <= (int)SSW_SPARSE && !READ_ONCE(ci->sparse))
		ssw_cluster_sparse(slots, ci);
	if (!left || READ_ONCE(ci->state) == SSW_CL_FULL)
		return ssw_cluster_queue(slots, ci);
	/* The cluster is on a list, so the area is not full any more. */
	if (READ_ONCE(slots->full))
		WRITE_ONCE(slots->full, 0);
	return 0;
}
