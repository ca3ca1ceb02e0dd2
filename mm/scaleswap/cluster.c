// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: which slots to hand out; the owner's part.
 *
 * Slots are handed out one after the other within a cluster, so that what is
 * swapped out together is written and read together. A cluster serves one
 * order at a time, so that small blocks do not break up large ones. Single pages
 * that other CPUs are likely to want back have clusters of their own, some CPUs
 * one together, a lane: a cluster is a part of the swap cache with a lock, and
 * these CPUs would meet the owner there in the one that it fills. From full
 * clusters nothing can be had, so they are on no list until a slot is freed,
 * and then whoever freed it queues them to the owner.
 *
 * All functions but ssw_cluster_freed(), ssw_cluster_queue() and
 * ssw_cluster_discarded() need the token.
 * They allocate nothing and take no lock; a table for a new cluster has to be
 * brought along.
 */
#include <linux/bug.h>
#include <linux/gcd.h>
#include <linux/kernel.h>

#include "space.h"

/*
 * How many clusters that may have no block of the order to look through. More
 * would keep the token for too long; a large folio is split instead.
 */
#define SSW_FRAG_TRIES		8

static unsigned int ssw_cluster_base(const struct ssw_space *space,
				     const struct ssw_cluster *ci)
{
	return (ci - space->cluster) << SSW_CLUSTER_SHIFT;
}

static unsigned int ssw_cluster_capacity(const struct ssw_cluster *ci)
{
	return SSW_CLUSTER_SLOTS - ci->nr_bad;
}

/*
 * That a slot is free is counted after its word says so, so when the count says
 * it there is a free word; the acquire lets the owner see it. The owner may have
 * used a word before it was counted, and the count is higher than the capacity.
 */
static bool ssw_cluster_has_free(const struct ssw_cluster *ci)
{
	return atomic_read_acquire(&ci->used) < (int)ssw_cluster_capacity(ci);
}

static struct ssw_table *ssw_cluster_table(struct ssw_space *space,
					   struct ssw_cluster *ci)
{
	return rcu_dereference_protected(ci->table,
					 lockdep_is_held(&space->token));
}

/**
 * ssw_space_lists_init - put all clusters on the list of free ones
 * @space: the area's slots, zeroed but for what is marked fixed in it
 *
 * In steps of about the golden section, so that each cluster is far away from
 * those that come into use before and after it: consecutive ones are likely to
 * share a chip in the device and a lock of the swap cache.
 *
 * Context: before anybody else can see @space.
 */
void ssw_space_lists_init(struct ssw_space *space)
{
	unsigned int n = space->nr_clusters;
	unsigned int step = max(1U, (unsigned int)((u64)n * 618 / 1000));
	unsigned int i, at = 0;

	while (gcd(step, n) != 1)
		step++;

	INIT_LIST_HEAD(&space->free);
	INIT_LIST_HEAD(&space->stale);
	for (i = 0; i < SSW_NR_ORDERS; i++) {
		INIT_LIST_HEAD(&space->part[i]);
		INIT_LIST_HEAD(&space->frag[i]);
	}
	for (i = 0; i < n; i++, at = ((u64)at + step) % n) {
		struct ssw_cluster *ci = &space->cluster[at];

		/* Of a cluster without a good slot nothing is ever heard. */
		ci->state = SSW_CL_FULL;
		INIT_LIST_HEAD(&ci->list);
		if (!ssw_cluster_capacity(ci))
			continue;
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_add_tail(&ci->list, &space->free);
	}
}

/* Mark the bad slots in the table that a cluster is about to get. */
static void ssw_cluster_mark_bad(struct ssw_space *space,
				 struct ssw_cluster *ci,
				 struct ssw_table *table)
{
	unsigned int base = ssw_cluster_base(space, ci);
	unsigned int lo = 0, hi = space->nr_bad;
	unsigned int i;

	if (!ci->nr_bad)
		return;
	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (space->bad[mid] < base)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < space->nr_bad && space->bad[lo] < base + SSW_CLUSTER_SLOTS; lo++)
		atomic64_set(&table->word[space->bad[lo] - base], SSW_WORD_BAD);
	/* What is left of the last cluster beyond the end of the area. */
	for (i = min(space->nr_slots - base, SSW_CLUSTER_SLOTS); i < SSW_CLUSTER_SLOTS; i++)
		atomic64_set(&table->word[i], SSW_WORD_BAD);
}

/* A free cluster comes into use. */
static void ssw_cluster_begin(struct ssw_space *space, struct ssw_cluster *ci,
			      unsigned int order, struct ssw_table *table)
{
	ssw_cluster_mark_bad(space, ci, table);
	WRITE_ONCE(ci->state, SSW_CL_PART);
	ci->order = order;
	list_move_tail(&ci->list, &space->part[order]);
	WRITE_ONCE(space->nr_tables, space->nr_tables + 1);
	rcu_assign_pointer(ci->table, table);
}

static struct ssw_cursor *ssw_task_cursor(struct ssw_space *space,
					  const struct ssw_task *task)
{
	return &space->cursor[task->lane && !task->order ? SSW_NR_ORDERS + task->lane - 1 :
							   task->order];
}

static bool ssw_cluster_current(const struct ssw_space *space,
				const struct ssw_cluster *ci)
{
	unsigned int i;

	for (i = SSW_NR_ORDERS; i < SSW_NR_CURSORS; i++) {
		if (space->cursor[i].cluster == ci)
			return true;
	}
	/* Order 0 also takes slots of clusters that are of another order. */
	return space->cursor[ci->order].cluster == ci ||
	       space->cursor[0].cluster == ci;
}

/* The last slot of a cluster has been freed. */
static void ssw_cluster_end(struct ssw_space *space, struct ssw_cluster *ci)
{
	struct ssw_table *table = ssw_cluster_table(space, ci);
	unsigned int i;

	for (i = 0; i < SSW_NR_CURSORS; i++) {
		if (space->cursor[i].cluster == ci)
			space->cursor[i].cluster = NULL;
	}

	RCU_INIT_POINTER(ci->table, NULL);
	table->next = space->dead;
	space->dead = table;
	WRITE_ONCE(space->nr_tables, space->nr_tables - 1);

	/* Not the header, and not what is bad. */
	if (space->discard && !ci->nr_bad && !READ_ONCE(space->closed)) {
		WRITE_ONCE(ci->state, SSW_CL_STALE);
		list_move_tail(&ci->list, &space->stale);
	} else {
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_move_tail(&ci->list, &space->free);
	}
}

/* No list finds it until ssw_cluster_returned(). */
static void ssw_cluster_fill(struct ssw_space *space, struct ssw_cluster *ci)
{
	list_del_init(&ci->list);
	WRITE_ONCE(ci->state, SSW_CL_FULL);
	/* Barrier B. */
	smp_mb();
	if (ssw_cluster_has_free(ci)) {
		WRITE_ONCE(ci->state, SSW_CL_PART);
		list_add_tail(&ci->list, &space->part[ci->order]);
	}
}

/*
 * Take 1 << order free words that follow each other, aligned, not before
 * @from. Returns the first, or SSW_CLUSTER_SLOTS.
 */
static unsigned int ssw_cluster_take(struct ssw_space *space,
				     struct ssw_cluster *ci, unsigned int from,
				     unsigned int order, u64 new)
{
	atomic64_t *word = ssw_cluster_table(space, ci)->word;
	unsigned int nr = 1U << order;
	unsigned int at, i;

	if (!order) {
		for (at = from; at < SSW_CLUSTER_SLOTS; at++) {
			if (atomic64_read(&word[at]) == SSW_WORD_FREE)
				break;
		}
	} else {
		/* Do not read words of which too few can be free. */
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
	space->scanned += min(at + nr, SSW_CLUSTER_SLOTS) - from;
	if (at >= SSW_CLUSTER_SLOTS)
		return SSW_CLUSTER_SLOTS;

	atomic_add(nr, &ci->used);
	for (i = 0; i < nr; i++) {
		s64 old = SSW_WORD_FREE;

		/* Barrier A. Nobody but the owner takes a word out of free. */
		WARN_ON_ONCE(!atomic64_try_cmpxchg_acquire(&word[at + i], &old, new));
	}
	WRITE_ONCE(space->allocated, space->allocated + nr);
	return at;
}

/* Allocate from one cluster, and remember where to go on. */
static bool ssw_cluster_try(struct ssw_space *space, struct ssw_cluster *ci,
			    unsigned int from, struct ssw_task *task)
{
	struct ssw_cursor *cursor = ssw_task_cursor(space, task);
	unsigned int at;

	at = ssw_cluster_take(space, ci, from, task->order, task->word);
	if (at == SSW_CLUSTER_SLOTS)
		return false;
	task->slot = ssw_cluster_base(space, ci) + at;
	task->result = SSW_OK;
	cursor->cluster = ci;
	cursor->next = at + (1U << task->order);
	if (!ssw_cluster_has_free(ci)) {
		ssw_cluster_fill(space, ci);
		cursor->cluster = NULL;
	}
	return true;
}

/* Begin a new search for blocks if a slot was freed since the last one began. */
static void ssw_space_search(struct ssw_space *space)
{
	if (READ_ONCE(space->quiet))
		return;
	space->search++;
	WRITE_ONCE(space->quiet, 1);
	/* Barrier F. */
	smp_mb();
}

/*
 * The cluster of a cursor has nothing more for it. That it was current may be all
 * that kept it when it became empty.
 */
static void ssw_cursor_leave(struct ssw_space *space, struct ssw_cursor *cursor)
{
	struct ssw_cluster *ci = cursor->cluster;

	cursor->cluster = NULL;
	/* If it is queued, it is looked after when its turn comes. */
	if (!atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued) &&
	    !ssw_cluster_current(space, ci))
		ssw_cluster_end(space, ci);
}

/*
 * Look through at most SSW_FRAG_TRIES clusters of a list. One that has no
 * block of the order goes to the end of @park. If @park begins with one that this
 * search has seen, it has seen them all, and they are not read again.
 */
static bool ssw_cluster_try_list(struct ssw_space *space, struct list_head *list,
				 struct list_head *park, struct ssw_task *task)
{
	struct ssw_cluster *first = NULL;
	unsigned int i;

	ssw_space_search(space);
	for (i = 0; i < SSW_FRAG_TRIES && !list_empty(list); i++) {
		struct ssw_cluster *ci;
		bool seen;

		ci = list_first_entry(list, struct ssw_cluster, list);
		/* A single slot may be had from a cluster without a block. */
		seen = ci->seen == space->search && ci->order == task->order;
		if (ci == first || (seen && list == park))
			break;
		if (!seen && ssw_cluster_try(space, ci, 0, task))
			return true;
		ci->seen = space->search;
		if (list == park && !first)
			first = ci;
		list_move_tail(&ci->list, park);
	}
	return false;
}

/*
 * An empty cluster of a list. Blocks are not taken from one with bad slots, so
 * that it needs no table unless there is something to put into it.
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

/* An empty cluster: a clean one, or else one that still waits for its discard. */
static struct ssw_cluster *ssw_cluster_empty(struct ssw_space *space,
					     unsigned int order)
{
	struct ssw_cluster *ci = ssw_cluster_first(&space->free, order);

	return ci ? ci : ssw_cluster_first(&space->stale, order);
}

/* Is there any cluster from which at least a single slot could be had? */
static bool ssw_space_has_room(const struct ssw_space *space)
{
	unsigned int order;

	if (!list_empty(&space->free) || !list_empty(&space->stale))
		return true;
	for (order = 0; order < SSW_NR_ORDERS; order++) {
		if (!list_empty(&space->part[order]) || !list_empty(&space->frag[order]))
			return true;
	}
	return false;
}

/**
 * ssw_cluster_alloc - allocate slots
 * @space: the area's slots
 * @task: what is wanted; the outcome
 *
 * First where the last allocation of the kind left off, then an empty
 * cluster, then what others have freed in clusters of the order; a single slot
 * is also taken from clusters of other orders.
 *
 * Context: token held.
 */
void ssw_cluster_alloc(struct ssw_space *space, struct ssw_task *task)
{
	struct ssw_cursor *cursor = ssw_task_cursor(space, task);
	unsigned int order = task->order;
	struct ssw_cluster *ci;

	lockdep_assert_held(&space->token);

	task->result = SSW_FULL;
	if (READ_ONCE(space->closed))
		return;

	if (cursor->cluster) {
		if (ssw_cluster_try(space, cursor->cluster, cursor->next, task))
			return;
		ssw_cursor_leave(space, cursor);
	}

	ci = ssw_cluster_empty(space, order);
	if (ci && !task->no_table) {
		if (!task->table) {
			task->result = SSW_NO_TABLE;
			return;
		}
		ssw_cluster_begin(space, ci, order, task->table);
		task->table = NULL;
		WARN_ON_ONCE(!ssw_cluster_try(space, ci, 0, task));
		return;
	}

	if (ssw_cluster_try_list(space, &space->part[order],
				 &space->frag[order], task) ||
	    ssw_cluster_try_list(space, &space->frag[order],
				 &space->frag[order], task))
		return;
	if (order && ssw_space_has_room(space)) {
		task->result = SSW_NO_BLOCK;
		return;
	}
	for (order = 1; order < SSW_NR_ORDERS && !task->order; order++) {
		if (ssw_cluster_try_list(space, &space->frag[order],
					 &space->frag[order], task) ||
		    ssw_cluster_try_list(space, &space->part[order],
					 &space->part[order], task))
			return;
	}
	/* Without a table for it. */
	if (ci)
		return;

	WRITE_ONCE(space->full, 1);
	/* Barrier E. */
	smp_mb();
	if (!llist_empty(&space->queue) || space->backlog)
		WRITE_ONCE(space->full, 0);
}

/**
 * ssw_cluster_returned - look after a cluster that came through the queue
 * @space: the area's slots
 * @ci: the cluster, not in the queue any more
 *
 * Context: token held.
 */
void ssw_cluster_returned(struct ssw_space *space, struct ssw_cluster *ci)
{
	lockdep_assert_held(&space->token);

	/* The node is not read any more, and may be queued again. */
	atomic_set_release(&ci->queued, 0);
	/* Barrier C. */
	smp_mb();
	switch (ci->state) {
	case SSW_CL_DISCARD:
		WRITE_ONCE(ci->state, SSW_CL_FREE);
		list_add_tail(&ci->list, &space->free);
		break;
	case SSW_CL_PART:
	case SSW_CL_FULL:
		/* If it is current, it is soon used again, left, or trimmed. */
		if (!atomic_read_acquire(&ci->used) && !ssw_cluster_current(space, ci)) {
			ssw_cluster_end(space, ci);
		} else if (ci->state == SSW_CL_FULL && ssw_cluster_has_free(ci)) {
			WRITE_ONCE(ci->state, SSW_CL_PART);
			list_add_tail(&ci->list, &space->part[ci->order]);
		}
		break;
	default:
		/* It was queued again before the last time was looked after. */
		break;
	}
	WRITE_ONCE(space->full, 0);
}

/**
 * ssw_space_trim - give up empty clusters that were kept for the next allocation
 * @space: the area's slots
 *
 * An area that swaps single pages in and out would get and lose a table with
 * each, so ssw_cluster_returned() keeps the one in use. This is for when it has
 * not been used for a while.
 *
 * Context: token held.
 */
void ssw_space_trim(struct ssw_space *space)
{
	unsigned int i;

	lockdep_assert_held(&space->token);

	for (i = 0; i < SSW_NR_CURSORS; i++) {
		struct ssw_cluster *ci = space->cursor[i].cluster;

		/* A queued one is looked after when its turn comes. */
		if (ci && !atomic_read_acquire(&ci->used) && !atomic_read(&ci->queued))
			ssw_cluster_end(space, ci);
	}
}

/**
 * ssw_cluster_stale - take a cluster to be discarded
 * @space: the area's slots
 *
 * Context: token held.
 * Return: the cluster, to be given back by ssw_cluster_discarded(), or NULL.
 */
struct ssw_cluster *ssw_cluster_stale(struct ssw_space *space)
{
	unsigned int i;

	lockdep_assert_held(&space->token);

	for (i = 0; i < SSW_FRAG_TRIES && !list_empty(&space->stale); i++) {
		struct ssw_cluster *ci;

		ci = list_first_entry(&space->stale, struct ssw_cluster, list);
		/*
		 * Whoever freed the last slot, or the one before, may be late in
		 * queueing the cluster. That must not look as if the discard were
		 * over, so the node is taken for the time of the discard.
		 */
		if (!atomic_xchg(&ci->queued, 1)) {
			list_del_init(&ci->list);
			WRITE_ONCE(ci->state, SSW_CL_DISCARD);
			return ci;
		}
		list_move_tail(&ci->list, &space->stale);
	}
	return NULL;
}

/**
 * ssw_cluster_discarded - give a cluster back that has been discarded
 * @space: the area's slots
 * @ci: the cluster, from ssw_cluster_stale()
 *
 * The caller has to ssw_drain() then, so that an area that seemed to be full
 * does not any more.
 *
 * Context: process context; the area cannot go away.
 */
void ssw_cluster_discarded(struct ssw_space *space, struct ssw_cluster *ci)
{
	ci->node.task = false;
	atomic_inc(&space->nr_queued);
	llist_add(&ci->node.link, &space->queue);
}

/**
 * ssw_cluster_queue - tell the owner to look after a cluster
 * @space: the area's slots
 * @ci: the cluster
 *
 * Context: any but interrupts. RCU read side, or the cluster cannot go away.
 * Return: how many clusters are queued now if it has been queued here, else 0.
 */
unsigned int ssw_cluster_queue(struct ssw_space *space, struct ssw_cluster *ci)
{
	unsigned int queued = 0;

	/* Barrier C. */
	if (!atomic_xchg(&ci->queued, 1)) {
		ci->node.task = false;
		queued = atomic_inc_return(&space->nr_queued);
		llist_add(&ci->node.link, &space->queue);
	}
	/* Barrier E: llist_add() or atomic_xchg(), either is a full one. */
	if (READ_ONCE(space->full))
		WRITE_ONCE(space->full, 0);
	return queued;
}

/**
 * ssw_cluster_freed - count slots that have become free
 * @space: the area's slots
 * @ci: their cluster
 * @nr: how many
 *
 * The owner needs to hear only of a cluster that is empty now, or that no list
 * leads to. Others it finds when it needs them.
 *
 * Context: any but interrupts, RCU read side.
 * Return: how many clusters are queued now if this one has been queued, else 0.
 */
unsigned int ssw_cluster_freed(struct ssw_space *space, struct ssw_cluster *ci,
			       unsigned int nr)
{
	/* Barriers B, C and F. */
	int left = atomic_sub_return(nr, &ci->used);

	if (READ_ONCE(space->quiet))
		WRITE_ONCE(space->quiet, 0);
	if (!left || READ_ONCE(ci->state) == SSW_CL_FULL)
		return ssw_cluster_queue(space, ci);
	/* A slot of a cluster that some list leads to: not full any more. */
	if (READ_ONCE(space->full))
		WRITE_ONCE(space->full, 0);
	return 0;
}
