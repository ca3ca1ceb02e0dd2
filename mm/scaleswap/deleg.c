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

#include "space.h"

/* How many entries of a queue to drain while the token is held, at most. */
unsigned int ssw_batch = SSW_BATCH_DEFAULT;

/**
 * ssw_token_init - make the token of an area, not held
 * @space: the area's slots
 *
 * To lockdep it is a raw spinlock that is only tried for, so that with
 * CONFIG_PROVE_RAW_LOCK_NESTING a spinlock or mutex taken under it is reported.
 *
 * Context: before anybody else can see @space.
 */
void ssw_token_init(struct ssw_space *space)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	static struct lock_class_key key;

	lockdep_init_map_wait(&space->token.dep_map, "ssw_token", &key, 0,
			      LD_WAIT_SPIN);
#endif
	atomic_set(&space->token.held, 0);
	init_llist_head(&space->queue);
}

/**
 * ssw_token_trylock - try to become the owner
 * @space: the area's slots
 *
 * Context: any but interrupts. With success, preemption is off until
 * ssw_token_release().
 * Return: whether the caller is the owner now.
 */
bool ssw_token_trylock(struct ssw_space *space)
{
	preempt_disable();
	if (!atomic_read(&space->token.held) &&
	    !atomic_cmpxchg_acquire(&space->token.held, 0, 1)) {
		lock_map_acquire_try(&space->token.dep_map);
		return true;
	}
	preempt_enable();
	return false;
}

/**
 * ssw_token_release - stop being the owner
 * @space: the area's slots
 *
 * Context: token held; preemption is as it was before ssw_token_trylock().
 */
void ssw_token_release(struct ssw_space *space)
{
	struct ssw_table *dead = space->dead;

	space->dead = NULL;
	lock_map_release(&space->token.dep_map);
	atomic_set_release(&space->token.held, 0);
	preempt_enable();

	while (dead) {
		struct ssw_table *table = dead;

		dead = table->next;
		ssw_table_free_rcu(table);
	}
}

static struct llist_node *ssw_queue_take(struct ssw_space *space)
{
	struct llist_node *first = llist_del_all(&space->queue);
	unsigned int nr = 0;

	/* The list is last in, first out; requests are served in order. */
	first = llist_reverse_order(first);
	for (struct llist_node *node = first; node; node = node->next)
		nr++;
	if (nr > space->queue_max)
		WRITE_ONCE(space->queue_max, nr);
	return first;
}

/**
 * ssw_drain - work off the queue of an area
 * @space: the area's slots
 * @own: the caller's own task if it has one in the queue, or NULL
 * @by: as whom the caller does the others' tasks
 *
 * Context: token held. A bounded amount of work, in entries and in words that are
 * read for them; the rest stays for the next time.
 * Return: how many entries were worked off.
 */
unsigned int ssw_drain(struct ssw_space *space, const struct ssw_task *own,
		       enum ssw_by by)
{
	unsigned int batch = READ_ONCE(ssw_batch);
	unsigned int nr;

	lockdep_assert_held(&space->token);

	space->scanned = 0;
	for (nr = 0; nr < batch && space->scanned < SSW_DRAIN_WORDS; nr++) {
		struct llist_node *link = space->backlog;
		struct ssw_node *node;

		if (!link) {
			if (llist_empty(&space->queue))
				break;
			link = ssw_queue_take(space);
		}
		/* Before the entry is done, as then it may be queued again. */
		space->backlog = link->next;
		node = llist_entry(link, struct ssw_node, link);
		if (node->task) {
			struct ssw_task *task = container_of(node, struct ssw_task, node);

			ssw_cluster_alloc(space, task);
			task->by = task == own ? SSW_BY_REQUESTER : by;
			/* Barrier D. */
			smp_store_release(&task->done, 1);
		} else {
			atomic_dec(&space->nr_queued);
			ssw_cluster_returned(space, container_of(node, struct ssw_cluster, node));
		}
	}
	return nr;
}

/**
 * ssw_task_delegate - have a task done by whoever owns the area
 * @space: the area's slots
 * @task: what is wanted; the outcome
 * @meanwhile: called again and again while another holds the token, or NULL
 * @arg: for @meanwhile
 *
 * Spins until the task is done; see invariant 5 in space.h for why that is
 * bounded.
 *
 * Context: any but interrupts, RCU read side. Preemption may be off and
 * spinlocks may be held. No token held.
 * Return: whether it had to wait for another owner.
 */
bool ssw_task_delegate(struct ssw_space *space, struct ssw_task *task,
		       void (*meanwhile)(void *), void *arg)
{
	bool waited = false;

	task->done = 0;
	task->node.task = true;
	llist_add(&task->node.link, &space->queue);

	for (;;) {
		/* Barrier D. */
		if (smp_load_acquire(&task->done))
			return waited;
		if (ssw_token_trylock(space)) {
			ssw_drain(space, task, SSW_BY_HOLDER);
			ssw_token_release(space);
			continue;
		}
		waited = true;
		if (meanwhile)
			meanwhile(arg);
		cpu_relax();
	}
}
