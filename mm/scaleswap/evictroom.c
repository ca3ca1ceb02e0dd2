// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how much room evictors are to make, and of which memcg or node.
 *
 * evictd.c says when evictors evict, evictnode.c what room a node is to have, and evictwait.c who
 * waits.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cache.h>
#include <linux/cgroup.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/sched/stat.h>
#include <linux/swap.h>

#include "evict.h"
#include "internal.h"

/* Limits below this are too small to leave room below them. In pages. */
#define SSW_EVICT_LIMIT_MIN	256
/* A limit's part that is the headroom at first, and at most */
#define SSW_HEADROOM_PART	256
#define SSW_HEADROOM_PART_MAX	32
/* Pages of headroom at least; of large limits, at first and at most */
#define SSW_HEADROOM_MIN	16
#define SSW_HEADROOM_FIRST	8192
#define SSW_HEADROOM_MAX	131072
/* Pages that evictors make room for beyond the headroom at least, if it has as many */
#define SSW_BEYOND_MIN		64
/* A limit's part that evictors make room for because tasks wait, at most */
#define SSW_DEMAND_PART		16
/* Pages of a memcg's limit for each evictor that it may have at a time, as a power of two */
#define SSW_EVICTOR_SHIFT	9
/* All stocks of charges together are at most this part of the headroom, or a page a CPU */
#define SSW_STOCK_PART		2
/* How long a memcg is left alone of which nothing can be freed, at first and at most */
#define SSW_STUCK_FIRST		(HZ / 10)
#define SSW_STUCK_MAX		(4 * HZ)

/* What to evict from, by turns */
static LIST_HEAD(ssw_evict_list);
static DEFINE_SPINLOCK(ssw_evict_lock);

unsigned int ssw_evict_threads __read_mostly;

/* All that counts pages of a memcg reads @nodeinfo. Tasks and evictors write @evict all along. */
static_assert(offsetof(struct mem_cgroup, nodeinfo) % SMP_CACHE_BYTES == 0);

/* --- how much of a memcg to evict ---------------------------------------------------- */

/**
 * ssw_evict_limit - find out below which limit evictors leave room
 * @memcg: the memcg
 *
 * Context: any.
 * Return: the limit, in pages; 0 if there is none, or it is too small.
 */
unsigned long ssw_evict_limit(struct mem_cgroup *memcg)
{
	unsigned long limit = min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));

	return limit >= SSW_EVICT_LIMIT_MIN && limit < PAGE_COUNTER_MAX ? limit : 0;
}

/**
 * ssw_headroom - compute how far below a limit evictors begin
 * @headroom: what it is now; 0 at first
 * @limit: the limit, in pages
 * @more: whether tasks have waited, so that it is to grow; else it shrinks
 *
 * It is a 256th of the limit, from 16 pages to 32 MB. It grows to a 32nd, 512 MB at most.
 *
 * Context: any.
 * Return: pages.
 */
unsigned int ssw_headroom(unsigned int headroom, unsigned long limit, bool more)
{
	unsigned int least = clamp(limit / SSW_HEADROOM_PART, SSW_HEADROOM_MIN, SSW_HEADROOM_FIRST);
	unsigned int most = clamp(limit / SSW_HEADROOM_PART_MAX, least, SSW_HEADROOM_MAX);

	if (more)
		return clamp(2 * headroom, least, most);
	return clamp(headroom - headroom / 8, least, most);
}

/**
 * ssw_headroom_end - compute how far below a limit evictors end
 * @headroom: how far below it they begin
 *
 * It is half of that more. That is what they evict each time, so it is not less than 64 pages, if
 * the headroom has as many; 1 MB is enough. A limit of 16 MB or more thus has at most three 64ths
 * free, and what tasks have waited for, but not taken yet: ssw_evict_demand().
 *
 * Context: any.
 * Return: pages.
 */
unsigned long ssw_headroom_end(unsigned int headroom)
{
	unsigned int more = clamp(headroom / 2, SSW_BEYOND_MIN, SSW_BATCH_PAGES);

	return headroom + min(headroom, more);
}

/**
 * ssw_evict_demand - compute how much room tasks that wait are about to use
 * @waiting: how many
 * @limit: the limit, in pages
 *
 * Evictors make that room besides the headroom, as it is gone as soon as they have: each task takes
 * %SWAP_CLUSTER_MAX pages. Pages that evictors hold count as room to come, so they hold no more
 * than the headroom and this. Each of them is held until its batch is written. With many CPUs the
 * headroom alone would limit how many are freed in that time, and most tasks and evictors would
 * sleep.
 *
 * Context: any.
 * Return: pages, at most a 16th of the limit.
 */
unsigned long ssw_evict_demand(unsigned int waiting, unsigned long limit)
{
	return min(waiting * SWAP_CLUSTER_MAX, limit / SSW_DEMAND_PART);
}

/* The headroom of a memcg, also if it never had any or its limit was changed */
static unsigned int ssw_evict_headroom(struct mem_cgroup *memcg, unsigned long limit)
{
	unsigned int most = clamp(limit / SSW_HEADROOM_PART_MAX, SSW_HEADROOM_MIN,
				  SSW_HEADROOM_MAX);

	return clamp(READ_ONCE(memcg->evict.headroom), ssw_headroom(0, limit, false), most);
}

/**
 * ssw_evict_ino - find out the number by which a user knows a cgroup
 * @t: a memcg or node
 *
 * Context: any.
 * Return: the number of its directory; 0 if it is a node.
 */
unsigned long ssw_evict_ino(struct scaleswap_evict_target *t)
{
	return ssw_evict_is_node(t) ? 0 : cgroup_ino(ssw_evict_memcg_of(t)->css.cgroup);
}

/* Check whether there is less room than evictors leave. */
static bool ssw_evict_is_due(struct scaleswap_evict_target *t)
{
	struct mem_cgroup *memcg = ssw_evict_memcg_of(t);
	unsigned long limit;

	if (ssw_evict_is_node(t))
		return ssw_node_lacks(t->nid) > 0;
	limit = ssw_evict_limit(memcg);
	return limit && page_counter_read(&memcg->memory) +
			ssw_evict_headroom(memcg, limit) > limit;
}

/**
 * ssw_evict_over - count the pages that evictors are to free
 * @t: a memcg or node
 *
 * Context: any.
 * Return: pages, or 0 if there is as much room as there is to be.
 */
unsigned long ssw_evict_over(struct scaleswap_evict_target *t)
{
	struct mem_cgroup *memcg = ssw_evict_memcg_of(t);
	unsigned long limit, usage;

	if (ssw_evict_is_node(t))
		return ssw_node_over(t->nid);
	limit = ssw_evict_limit(memcg);
	usage = page_counter_read(&memcg->memory);
	if (!limit)
		return 0;
	/* A hint, no barrier: who begins to wait asks again. */
	usage += ssw_evict_demand(atomic_read(&t->waiting), limit);
	limit -= ssw_headroom_end(ssw_evict_headroom(memcg, limit));
	return usage > limit ? usage - limit : 0;
}

/**
 * ssw_evict_in_flight - count the pages that evictors hold
 * @t: a memcg or node
 *
 * Context: any.
 * Return: pages of it and, if it is a memcg, all below it.
 */
unsigned long ssw_evict_in_flight(struct scaleswap_evict_target *t)
{
	return max(atomic_long_read(&t->in_flight), 0);
}

/**
 * ssw_evict_is_stuck - check whether evictors leave a memcg or node alone
 * @t: the memcg or node
 *
 * Context: any.
 * Return: true if nothing of it could be freed a short time ago.
 */
bool ssw_evict_is_stuck(struct scaleswap_evict_target *t)
{
	unsigned long stuck = READ_ONCE(t->stuck);

	return stuck && time_before(jiffies, stuck);
}

/**
 * ssw_evict_set_stuck - leave a memcg or node alone for a while
 * @t: the memcg or node, of which nothing could be freed
 *
 * Context: any.
 */
void ssw_evict_set_stuck(struct scaleswap_evict_target *t)
{
	unsigned long backoff = clamp(2 * READ_ONCE(t->backoff), SSW_STUCK_FIRST, SSW_STUCK_MAX);

	/* Tasks may have freed what was late. */
	WRITE_ONCE(t->late, false);
	WRITE_ONCE(t->backoff, backoff);
	WRITE_ONCE(t->stuck, (jiffies + backoff) | 1);
	wake_up_all(&t->waiters);
}

/* --- what evictors tell -------------------------------------------------------------- */

/**
 * ssw_evict_has_room - check whether there is room below memory.max
 * @memcg: the memcg
 * @nr_pages: for how many pages
 *
 * Context: any.
 * Return: true if so.
 */
bool ssw_evict_has_room(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	return page_counter_read(&memcg->memory) + nr_pages <= READ_ONCE(memcg->memory.max);
}

/**
 * ssw_evict_room - compute for how much room a task waits
 * @memcg: the memcg
 * @nr_pages: pages that it needs
 * @overtaken: whether others have taken what it was woken for
 *
 * Context: any.
 * Return: pages: %SWAP_CLUSTER_MAX; fewer if the memcg is never to have as much. @nr_pages if it
 * needs more, or else tasks that run might take each page before there are as many.
 */
unsigned long ssw_evict_room(struct mem_cgroup *memcg, unsigned long nr_pages, bool overtaken)
{
	unsigned long limit = ssw_evict_limit(memcg), most = SWAP_CLUSTER_MAX;

	if (overtaken)
		return nr_pages;
	return max(nr_pages, min(most, ssw_headroom_end(ssw_evict_headroom(memcg, limit))));
}

/* Wake as many tasks as there are batches in pages that were freed, if there is room for one. */
static void ssw_evict_wake_waiters(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	if (wq_has_sleeper(&memcg->evict.waiters) &&
	    ssw_evict_has_room(memcg, ssw_evict_room(memcg, 1, false)))
		wake_up_nr(&memcg->evict.waiters, DIV_ROUND_UP(nr_pages, SWAP_CLUSTER_MAX));
}

static void ssw_evict_add_held(struct scaleswap_evict_target *t, long nr_pages)
{
	atomic_long_add(nr_pages, &t->in_flight);
	if (nr_pages < 0 && wq_has_sleeper(&t->waiters) && !ssw_evict_in_flight(t))
		wake_up_all(&t->waiters);
}

/**
 * ssw_evict_hold - count pages that an evictor takes, or that come to their end
 * @memcg: their memcg, or NULL
 * @nid: their node
 * @nr_pages: how many; negative if they were freed or put back
 *
 * Context: any.
 */
void ssw_evict_hold(struct mem_cgroup *memcg, int nid, long nr_pages)
{
	struct scaleswap_evict_target *t = ssw_node_target(nid);

	if (t)
		ssw_evict_add_held(t, nr_pages);
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		ssw_evict_add_held(&memcg->evict, nr_pages);
}

/* Count what was freed, or put back. Return true if any was freed. */
static bool ssw_evict_add_freed(struct scaleswap_evict_target *t, unsigned long freed,
				unsigned long back)
{
	if (!freed) {
		atomic_long_add(back, &t->vain);
		return false;
	}
	atomic_long_add(freed, &t->freed);
	atomic_long_set(&t->vain, 0);
	/* Each charge reads that line. */
	if (READ_ONCE(t->late))
		WRITE_ONCE(t->late, false);
	if (READ_ONCE(t->backoff))
		WRITE_ONCE(t->backoff, 0);
	return true;
}

/**
 * ssw_evict_freed - tell that pages were freed, or not
 * @memcg: their memcg, or NULL
 * @nid: their node; %NUMA_NO_NODE if they are of several
 * @freed: pages that were freed
 * @back: pages that were put back
 *
 * Context: any.
 */
void ssw_evict_freed(struct mem_cgroup *memcg, int nid, unsigned long freed, unsigned long back)
{
	struct scaleswap_evict_target *t = ssw_node_target(nid);

	if (t && ssw_evict_add_freed(t, freed, back) && wq_has_sleeper(&t->waiters))
		wake_up_nr(&t->waiters, DIV_ROUND_UP(freed, SWAP_CLUSTER_MAX));
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		if (ssw_evict_add_freed(&memcg->evict, freed, back))
			ssw_evict_wake_waiters(memcg, freed);
	}
}

/**
 * ssw_evict_was_late - tell that pages are put back because they are still being written
 * @memcg: their memcg, or NULL
 * @nid: their node
 *
 * Until others of the memcg or node are freed, it is the device that keeps evictors from it.
 *
 * Context: any.
 */
void ssw_evict_was_late(struct mem_cgroup *memcg, int nid)
{
	struct scaleswap_evict_target *t = ssw_node_target(nid);

	if (t)
		WRITE_ONCE(t->late, true);
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		WRITE_ONCE(memcg->evict.late, true);
}

/* --- requests ------------------------------------------------------------------------ */

/**
 * ssw_evictors_for - compute how many evictors a memcg or node is to have, if nobody waits
 * @most: evictors that it may have
 * @headroom: pages of room at which they begin
 * @left: pages that are left of these
 *
 * Each evictor sends the flushes of its own pages. So there are not more than are needed. Those
 * that begin have pages only when their first batch is written, and tasks go on meanwhile. So all
 * evict while half of the headroom is left.
 *
 * Context: any.
 * Return: from 1, if the whole headroom is left, to @most, if at most half is.
 */
unsigned int ssw_evictors_for(unsigned int most, unsigned long headroom, unsigned long left)
{
	unsigned long used = headroom - min(left, headroom);

	return headroom ? clamp(2 * most * used / headroom, 1, most) : 1;
}

/**
 * ssw_evictors_of - compute how many evictors a memcg may have at a time
 * @limit: its limit, in pages
 * @threads: evictors that a node has
 * @nodes: nodes that have evictors: all of these evict from a memcg
 *
 * Context: any.
 * Return: one for each 512 pages of the limit; at least one, at most as many as there are, or
 * %SSW_EVICT_THREADS_MAX.
 */
unsigned int ssw_evictors_of(unsigned long limit, unsigned int threads, unsigned int nodes)
{
	return clamp(limit >> SSW_EVICTOR_SHIFT, 1,
		     clamp(threads * nodes, 1, SSW_EVICT_THREADS_MAX));
}

/*
 * How many evictors a memcg is to have: the more, the less is left of its headroom. As many as its
 * size allows, if tasks wait.
 */
static unsigned int ssw_evict_memcg_allowed(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg), usage = page_counter_read(&memcg->memory);
	unsigned int most = ssw_evictors_of(limit, READ_ONCE(ssw_evict_threads),
					    num_node_state(N_MEMORY));

	/* A hint, no barrier: who begins to wait asks again. */
	if (waitqueue_active(&memcg->evict.waiters))
		return most;
	return ssw_evictors_for(most, ssw_evict_headroom(memcg, limit),
				usage < limit ? limit - usage : 0);
}

/* The same for a memcg or node */
static unsigned int ssw_evict_allowed(struct scaleswap_evict_target *t)
{
	if (!ssw_evict_is_node(t))
		return ssw_evict_memcg_allowed(ssw_evict_memcg_of(t));
	/* A hint, no barrier, as above. As many as tasks would reclaim. */
	if (waitqueue_active(&t->waiters))
		return clamp(DIV_ROUND_UP(ssw_evict_over(t), SWAP_CLUSTER_MAX), 1,
			     SSW_EVICT_THREADS_MAX);
	return ssw_node_allowed(t->nid, READ_ONCE(ssw_evict_threads));
}

/* Get a reference to a memcg. Return false if it goes away. Nodes stay. */
static bool ssw_evict_get(struct scaleswap_evict_target *t)
{
	return ssw_evict_is_node(t) || css_tryget_online(&ssw_evict_memcg_of(t)->css);
}

/**
 * ssw_evict_put - drop a reference to a memcg; nothing if it is a node
 * @t: the memcg or node
 *
 * Context: any.
 */
void ssw_evict_put(struct scaleswap_evict_target *t)
{
	if (!ssw_evict_is_node(t))
		css_put(&ssw_evict_memcg_of(t)->css);
}

/*
 * Check whether evictors hold all that is to be freed. They look again when they hold none. Who
 * asks has a full barrier before it: in page_counter_try_charge(), scaleswap_evict_low(), or
 * prepare_to_wait_exclusive(). It pairs with that in ssw_evict_wait_work().
 */
static bool ssw_evict_is_enough(struct scaleswap_evict_target *t)
{
	unsigned long over = ssw_evict_over(t);

	return over && over <= ssw_evict_in_flight(t);
}

/*
 * Check whether an evictor is about to come for a memcg or node: since it was woken for that, or
 * looks for more to do before it sleeps. A hint: if it takes something else, others may take this
 * one, and who needs it asks again.
 */
static bool ssw_evict_is_expected(const struct scaleswap_evict_target *t, unsigned int threads)
{
	const struct scaleswap_evictor *ev = READ_ONCE(t->woken);
	const struct scaleswap_evict_target *wanted;

	if (!ev || ev->id >= threads || !ssw_evictor_is_prompt(ev))
		return false;
	/* Pairs with the full barrier in ssw_evict_next(): its target is set first. */
	wanted = smp_load_acquire(&ev->wanted);
	return wanted == t || (!wanted && !READ_ONCE(ev->target));
}

/**
 * ssw_evict_request - have evictors look at a memcg or node
 * @t: the memcg or node
 *
 * Context: any but with a runqueue locked.
 */
void ssw_evict_request(struct scaleswap_evict_target *t)
{
	unsigned int threads = READ_ONCE(ssw_evict_threads);
	bool queued = !list_empty_careful(&t->queue);
	unsigned long flags;

	if (ssw_evict_is_stuck(t))
		return;
	if (!queued) {
		spin_lock_irqsave(&ssw_evict_lock, flags);
		/* Invariant 5 */
		if (ssw_evict_threads && list_empty(&t->queue) && ssw_evict_get(t))
			list_add_tail(&t->queue, &ssw_evict_list);
		spin_unlock_irqrestore(&ssw_evict_lock, flags);
	} else if (atomic_read(&ssw_evict_awake) &&
		   (READ_ONCE(t->evictors) + ssw_evict_is_expected(t, threads) >=
		    ssw_evict_allowed(t) || ssw_evict_is_enough(t))) {
		return;
	}
	ssw_evict_wake(t);
}

/**
 * ssw_charge_batch - compute how many pages a CPU charges at a time
 * @headroom: how far below the limit evictors begin, in pages
 * @cpus: CPUs that use memory below the limit
 *
 * What is charged and not used yet is in a stock of the CPU. At a limit there is nothing to stock:
 * each charge finds the limit, and then is for one page. Where evictors leave room below it, each
 * CPU would always have up to %MEMCG_CHARGE_BATCH pages. With many CPUs that is a large part of a
 * small limit. So it is half of the headroom, all CPUs together: more where tasks have waited, so
 * that many CPUs charge often, and little elsewhere. What a task charges that has just waited,
 * %SWAP_CLUSTER_MAX pages, may be more.
 *
 * Context: any.
 * Return: pages, from 1 to %MEMCG_CHARGE_BATCH.
 */
unsigned int ssw_charge_batch(unsigned int headroom, unsigned int cpus)
{
	return clamp(headroom / SSW_STOCK_PART / max(cpus, 1U), 1U, MEMCG_CHARGE_BATCH);
}

/* About how many CPUs use memory of a memcg: as many as have a shard here, on each node */
static unsigned int ssw_evict_cpus(struct mem_cgroup *memcg)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(numa_mem_id()));
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	unsigned int nr;

	/* None yet, or evictors run without shards: there are none to divide CPUs by. */
	if (!shards)
		return 1;
	/* Several CPUs may share one. */
	nr = READ_ONCE(shards->nr) *
	     DIV_ROUND_UP(num_possible_cpus(), READ_ONCE(ssw_lru_shards));
	return min(nr * num_node_state(N_MEMORY), num_online_cpus());
}

/**
 * __scaleswap_charge_batch - see scaleswap_charge_batch()
 * @memcg: the memcg
 *
 * Context: any.
 * Return: pages, from 1 to %MEMCG_CHARGE_BATCH.
 */
unsigned int __scaleswap_charge_batch(struct mem_cgroup *memcg)
{
	unsigned int batch = MEMCG_CHARGE_BATCH;
	unsigned long limit;

	if (!READ_ONCE(ssw_evict_threads))
		return batch;
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		limit = ssw_evict_limit(memcg);
		if (limit)
			batch = min(batch, ssw_charge_batch(ssw_evict_headroom(memcg, limit),
							    ssw_evict_cpus(memcg)));
	}
	return batch;
}

/**
 * __scaleswap_evict_mark - see scaleswap_evict_mark()
 * @memcg: the memcg
 */
void __scaleswap_evict_mark(struct mem_cgroup *memcg)
{
	if (READ_ONCE(ssw_evict_threads) && ssw_evict_is_due(&memcg->evict))
		ssw_evict_request(&memcg->evict);
}

/* Check whether an evictor is to take a memcg or node that is queued. */
static bool ssw_evict_is_open(struct scaleswap_evict_target *t, const struct scaleswap_evictor *ev)
{
	if (ssw_evict_is_node(t) && t->nid != ev->nid)
		return false;
	if (t->evictors && t->evictors >= ssw_evict_allowed(t))
		return false;
	/* Invariant 1 */
	return !ssw_evict_is_enough(t);
}

/**
 * ssw_evict_may_help - check whether an evictor may take what it was not woken for
 * @t: a memcg or node
 * @ev: the evictor
 * @alone: whether there is nothing else to do on its CPU
 * @threads: evictors of a node that may run
 *
 * Context: any; a hint without the lock of @evictors.
 * Return: false if the one that was woken for it is about to come; and if others have it already,
 * and this one would take time from tasks that may have nothing to do with it.
 */
bool ssw_evict_may_help(const struct scaleswap_evict_target *t, const struct scaleswap_evictor *ev,
			bool alone, unsigned int threads)
{
	if (READ_ONCE(t->woken) != ev && ssw_evict_is_expected(t, threads))
		return false;
	return !t->evictors || t == ev->last || alone;
}

/* Find what an evictor is to take: what it was woken for; or else, if @wanted is NULL, any. */
static struct scaleswap_evict_target *ssw_evict_find(const struct scaleswap_evictor *ev,
						     const struct scaleswap_evict_target *wanted)
{
	bool alone = single_task_running();
	struct scaleswap_evict_target *t;

	lockdep_assert_held(&ssw_evict_lock);
	list_for_each_entry(t, &ssw_evict_list, queue) {
		if ((wanted ? t == wanted : ssw_evict_may_help(t, ev, alone, ssw_evict_threads)) &&
		    ssw_evict_is_open(t, ev))
			return t;
	}
	return NULL;
}

/* Let another evictor do what one was woken for, if that is still to be done; or if NULL, any. */
static void ssw_evict_pass(const struct scaleswap_evictor *ev,
			   const struct scaleswap_evict_target *wanted)
{
	struct scaleswap_evict_target *t = ssw_evict_find(ev, wanted);

	if (t)
		ssw_evict_wake(t);
}

/**
 * ssw_evict_next - choose a memcg or node for an evictor
 * @ev: the evictor
 *
 * What it was woken for comes first. Other evictors leave that alone until it has come. Or one that
 * is awake would take the memcg of another CPU, and so would the evictor of that CPU in turn: each
 * would take time from a task that does not wait, while the CPU of the task that waits is idle.
 *
 * Context: an evictor.
 * Return: the memcg, with a reference, or node, with the evictor counted; NULL if there is nothing
 * to do.
 */
struct scaleswap_evict_target *ssw_evict_next(struct scaleswap_evictor *ev)
{
	const struct scaleswap_evict_target *wanted = READ_ONCE(ev->wanted);
	struct scaleswap_evict_target *t = NULL;

	spin_lock_irq(&ssw_evict_lock);
	if (ssw_evictor_is_wanted(wanted))
		t = ssw_evict_find(ev, wanted);
	if (!t)
		t = ssw_evict_find(ev, NULL);
	if (t) {
		if (!ssw_evict_is_node(t))
			css_get(&ssw_evict_memcg_of(t)->css);
		WRITE_ONCE(t->evictors, t->evictors + 1);
		ev->last = t;
		WRITE_ONCE(ev->target, t);
		list_move_tail(&t->queue, &ssw_evict_list);
		/*
		 * It may have been woken for something else meanwhile. Full barrier: pairs with
		 * that in ssw_evict_wake_on(), which sees a busy evictor's target.
		 */
		wanted = ssw_evictor_busy(ev);
		if (wanted != t && ssw_evictor_is_wanted(wanted))
			ssw_evict_pass(ev, wanted);
	}
	spin_unlock_irq(&ssw_evict_lock);
	return t;
}

/**
 * ssw_evict_give_up - leave to others what an evictor was woken for, since it may not run
 * @ev: the evictor
 *
 * Others may have left more to it, as it was about to look. One of them finds all of that.
 *
 * Context: an evictor.
 */
void ssw_evict_give_up(struct scaleswap_evictor *ev)
{
	const struct scaleswap_evict_target *wanted = ssw_evictor_busy(ev);

	spin_lock_irq(&ssw_evict_lock);
	if (ssw_evictor_is_wanted(wanted))
		ssw_evict_pass(ev, wanted);
	ssw_evict_pass(ev, NULL);
	spin_unlock_irq(&ssw_evict_lock);
}

/**
 * ssw_evict_dequeue - leave a memcg or node: it has room, or cannot have any
 * @t: the memcg or node
 *
 * Context: an evictor.
 */
void ssw_evict_dequeue(struct scaleswap_evict_target *t)
{
	bool was;

	spin_lock_irq(&ssw_evict_lock);
	was = !list_empty(&t->queue);
	list_del_init(&t->queue);
	spin_unlock_irq(&ssw_evict_lock);
	if (was)
		ssw_evict_put(t);
}

/**
 * ssw_evict_leave - count that an evictor leaves a memcg or node
 * @t: the memcg or node, from ssw_evict_next()
 *
 * Context: an evictor.
 * Return: true if no other evictor has it.
 */
bool ssw_evict_leave(struct scaleswap_evict_target *t)
{
	bool last;

	spin_lock_irq(&ssw_evict_lock);
	last = t->evictors == 1;
	WRITE_ONCE(t->evictors, t->evictors - 1);
	spin_unlock_irq(&ssw_evict_lock);
	return last;
}

/* The headroom of a memcg grows if tasks have waited. */
static void ssw_evict_adapt(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg);
	bool waited = atomic_xchg(&memcg->evict.waits, 0);
	unsigned int headroom;

	if (!limit)
		return;
	headroom = ssw_headroom(ssw_evict_headroom(memcg, limit), limit, waited);
	if (headroom != READ_ONCE(memcg->evict.headroom))
		WRITE_ONCE(memcg->evict.headroom, headroom);
}

/**
 * ssw_evict_done - note that a memcg or node has as much room as it is to have
 * @t: the memcg or node
 *
 * Context: an evictor.
 */
void ssw_evict_done(struct scaleswap_evict_target *t)
{
	if (!ssw_evict_is_node(t))
		ssw_evict_adapt(ssw_evict_memcg_of(t));
	ssw_evict_dequeue(t);
	wake_up_all(&t->waiters);
	/*
	 * A charge or allocation that came meanwhile may have seen it queued, and not asked. Pairs
	 * with the full barrier in page_counter_try_charge(), and in scaleswap_evict_low().
	 */
	smp_mb();
	if (READ_ONCE(ssw_evict_threads) && ssw_evict_is_due(t))
		ssw_evict_request(t);
}

/**
 * ssw_evict_is_vain - check whether so many pages were put back that no more will be freed
 * @t: a memcg or node
 *
 * Context: any.
 * Return: true if so.
 */
bool ssw_evict_is_vain(struct scaleswap_evict_target *t)
{
	unsigned long most = SSW_STUCK_PAGES;

	if (!ssw_evict_is_node(t))
		most = min(page_counter_read(&ssw_evict_memcg_of(t)->memory), most);
	return atomic_long_read(&t->vain) > most;
}

/**
 * ssw_evict_is_only - check whether there is but one memcg or node to evict from
 *
 * Context: any; a hint.
 * Return: true if so.
 */
bool ssw_evict_is_only(void)
{
	return data_race(list_is_singular(&ssw_evict_list));
}

/**
 * ssw_evict_allow - note how many evictors a node has
 * @nr: how many. If 0, all is left to reclaim, and nothing is queued any more.
 *
 * Context: process context.
 */
void ssw_evict_allow(unsigned int nr)
{
	struct scaleswap_evict_target *t, *next;

	spin_lock_irq(&ssw_evict_lock);
	WRITE_ONCE(ssw_evict_threads, nr);
	list_for_each_entry_safe(t, next, &ssw_evict_list, queue) {
		if (nr)
			break;
		list_del_init(&t->queue);
		wake_up_all(&t->waiters);
		ssw_evict_put(t);
	}
	spin_unlock_irq(&ssw_evict_lock);
}

/* --- begin ---------------------------------------------------------------------------- */

/**
 * ssw_evict_target_init - initialize what evictors need to know
 * @t: of a memcg or node
 * @nid: the node, or %NUMA_NO_NODE
 *
 * Context: any.
 */
void ssw_evict_target_init(struct scaleswap_evict_target *t, int nid)
{
	t->nid = nid;
	INIT_LIST_HEAD(&t->queue);
	init_waitqueue_head(&t->waiters);
}

/**
 * __scaleswap_evict_init - see scaleswap_evict_init()
 * @memcg: the memcg
 */
void __scaleswap_evict_init(struct mem_cgroup *memcg)
{
	ssw_evict_target_init(&memcg->evict, NUMA_NO_NODE);
}
