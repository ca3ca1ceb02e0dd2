// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the owner's token, the queue of an area, and delegation.
 */

/**
 * DOC: Delegation
 *
 * The lists of an area belong to the CPU that holds its token. The token is only ever tried
 * for. The home CPU nearly always gets it at once. A CPU that wants slots of another CPU's
 * area queues a request and then tries for the token as well. With the token it drains the
 * queue, its own request included. Without it, the holder or the next owner completes the
 * request.
 *
 * So a CPU that can complete the request is always running: the holder cannot be preempted,
 * and if there is no holder the requester gets the token. No thread has to be woken. This
 * makes delegation safe under spinlocks and with preemption off.
 *
 * The published design (ScaleSwap, FAST '26) delegates to a thread that is bound to the home
 * CPU. There a requester that cannot sleep may wait for a thread that cannot run.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>

#include "slot.h"

/* How many entries of a queue to drain while the token is held, at most. */
unsigned int ssw_deleg_batch = SSW_DELEG_BATCH_DEFAULT;

/**
 * ssw_token_init - initialize the token of an area, not held
 * @slots: the area's slots
 *
 * To lockdep it is a raw spinlock that is only tried for, so that with
 * CONFIG_PROVE_RAW_LOCK_NESTING a spinlock or mutex taken under it is reported.
 *
 * Context: before any other CPU can see @slots.
 */
void ssw_token_init(struct ssw_slots *slots)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	static struct lock_class_key key;

	lockdep_init_map_wait(&slots->token.dep_map, "ssw_token", &key, 0,
			      LD_WAIT_SPIN);
#endif
	atomic_set(&slots->token.held, 0);
	init_llist_head(&slots->queue);
}

/**
 * ssw_token_trylock - try to become the owner
 * @slots: the area's slots
 *
 * Context: any but interrupts. On success, preemption is off until
 * ssw_token_release().
 * Return: true if the caller is the owner now.
 */
bool ssw_token_trylock(struct ssw_slots *slots)
{
	preempt_disable();
	if (!atomic_read(&slots->token.held) &&
	    !atomic_cmpxchg_acquire(&slots->token.held, 0, 1)) {
		lock_map_acquire_try(&slots->token.dep_map);
		return true;
	}
	preempt_enable();
	return false;
}

/**
 * ssw_token_get - become the owner
 * @slots: the area's slots
 *
 * Another owner holds the token for microseconds, with preemption off.
 *
 * Context: process context, may sleep before it has the token. Preemption is off
 * from then on until ssw_token_release().
 */
void ssw_token_get(struct ssw_slots *slots)
{
	while (!ssw_token_trylock(slots)) {
		cpu_relax();
		cond_resched();
	}
}

/**
 * ssw_token_release - stop being the owner
 * @slots: the area's slots
 *
 * Context: token held; preemption is as it was before ssw_token_trylock().
 */
void ssw_token_release(struct ssw_slots *slots)
{
	struct ssw_table *dead = slots->dead;

	slots->dead = NULL;
	lock_map_release(&slots->token.dep_map);
	atomic_set_release(&slots->token.held, 0);
	preempt_enable();

	while (dead) {
		struct ssw_table *table = dead;

		dead = table->next;
		ssw_table_free_rcu(table);
	}
}

static struct llist_node *ssw_queue_take(struct ssw_slots *slots)
{
	struct llist_node *first = llist_del_all(&slots->queue);
	unsigned int nr = 0;

	/* The list is last in, first out; requests are served in order. */
	first = llist_reverse_order(first);
	for (struct llist_node *node = first; node; node = node->next)
		nr++;
	if (nr > slots->queue_max)
		WRITE_ONCE(slots->queue_max, nr);
	return first;
}

/**
 * ssw_drain - drain the queue of an area
 * @slots: the area's slots
 * @own: the caller's own request if it has one in the queue, or NULL
 * @by: what to record in the other requests: as what the caller serves them
 *
 * The number of entries, and of words read for them, is bounded. The rest stays for
 * the next drain.
 *
 * Context: token held.
 * Return: how many entries were drained.
 */
unsigned int ssw_drain(struct ssw_slots *slots, const struct ssw_request *own,
		       enum ssw_by by)
{
	unsigned int batch = READ_ONCE(ssw_deleg_batch);
	unsigned int nr;

	lockdep_assert_held(&slots->token);

	slots->scanned = 0;
	for (nr = 0; nr < batch && slots->scanned < SSW_DRAIN_WORDS; nr++) {
		struct llist_node *link = slots->backlog;
		struct ssw_node *node;

		if (!link) {
			if (llist_empty(&slots->queue))
				break;
			link = ssw_queue_take(slots);
		}
		/* Before the entry is done, since from then on it may be queued again. */
		slots->backlog = link->next;
		node = llist_entry(link, struct ssw_node, link);
		if (node->is_request) {
			struct ssw_request *req = container_of(node, struct ssw_request, node);

			ssw_cluster_alloc(slots, req);
			req->by = req == own ? SSW_BY_REQUESTER : by;
			/* Barrier D. */
			smp_store_release(&req->done, 1);
		} else {
			atomic_dec(&slots->nr_queued);
			ssw_cluster_returned(slots, container_of(node, struct ssw_cluster, node));
		}
	}
	return nr;
}

/**
 * ssw_request_delegate - have the owner of an area complete a request
 * @slots: the area's slots
 * @req: the request; gets the outcome
 * @meanwhile: called repeatedly while another CPU holds the token, or NULL
 * @arg: for @meanwhile
 *
 * Spins until the request is complete; see invariant 5 in slot_types.h for why that
 * is bounded.
 *
 * Context: any but interrupts, RCU read side. Preemption may be off and
 * spinlocks may be held. No token held.
 * Return: true if it had to wait for another owner.
 */
bool ssw_request_delegate(struct ssw_slots *slots, struct ssw_request *req,
			  void (*meanwhile)(void *), void *arg)
{
	bool waited = false;

	req->done = 0;
	req->node.is_request = true;
	llist_add(&req->node.link, &slots->queue);

	for (;;) {
		/* Barrier D. */
		if (smp_load_acquire(&req->done))
			return waited;
		if (ssw_token_trylock(slots)) {
			ssw_drain(slots, req, SSW_BY_HOLDER);
			ssw_token_release(slots);
			continue;
		}
		waited = true;
		if (meanwhile)
			meanwhile(arg);
		cpu_relax();
	}
}
