// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the pool of evictors, when they evict, and who waits for them.
 *
 * evict.c has the pipeline of one.
 */

/**
 * DOC: Pool of evictors
 *
 * Evictors are kthreads of each memory node. They keep room below the limit of a memcg, so that a
 * task that needs memory finds it. The task does not reclaim, and does not interrupt other CPUs.
 *
 * - A charge that leaves less than the headroom below memory.max or memory.high queues the memcg,
 *   and wakes an evictor. The evictor goes on until there is twice as much room, or a batch more.
 * - The less of the headroom is left, the more evictors there are for the memcg.
 * - A charge at the limit waits, for evict/wait_ms at most. Then there are as many evictors as the
 *   memcg may have, and its headroom grows. Evictors run where tasks wait, and evict pages of that
 *   CPU first; so they are about as near to these as the tasks would be.
 * - A task that waited charges %SWAP_CLUSTER_MAX pages, what it would have reclaimed by itself, and
 *   one is woken for as many pages that are freed. Or each page would have a wait and a wakeup.
 * - A memcg of which evictors can free nothing is left alone for a while: it is stuck. Nobody waits
 *   for it then.
 * - Who did not get memory by waiting reclaims as without evictors, and counts why
 *   (stats/fallback/evict_*). That code alone decides that a memcg is out of memory, and only when
 *   evictors hold no pages of it, or did not let go of them in time.
 *
 * kswapd is as it was.
 */

/**
 * DOC: Invariants of the pool
 *
 * 1. A memcg that is queued is looked at by an evictor after that, or by each evictor that holds
 *    pages of it, once it holds none any more. So none stays queued while all evictors sleep.
 * 2. An evictor sleeps, freezes and ends with an empty pipeline only.
 * 3. A wait never counts as progress: it succeeds if there is room for the charge.
 * 4. Evictors are not stopped, nor parked, as one may be in a device. Those that are too many idle.
 * 5. Nothing is queued while no evictor may run: a memcg that is queued has a reference, and would
 *    stay when it is removed.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cgroup.h>
#include <linux/cpuhotplug.h>
#include <linux/delayacct.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/memory.h>
#include <linux/nodemask.h>
#include <linux/sched/clock.h>
#include <linux/sched/isolation.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/topology.h>

#include "evict.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

/* Limits below this are too small to leave room below them. In pages. */
#define SSW_EVICT_LIMIT_MIN	256
/* A limit's part that is the headroom at first, and at most */
#define SSW_HEADROOM_PART	64
#define SSW_HEADROOM_PART_MAX	32
/* Pages of headroom at least; of large limits, at first and at most */
#define SSW_HEADROOM_MIN	16
#define SSW_HEADROOM_FIRST	8192
#define SSW_HEADROOM_MAX	131072
/* Pages of a memcg's limit for each evictor that it may have at a time, as a power of two */
#define SSW_EVICTOR_SHIFT	9
/* How long a memcg is left alone of which nothing can be freed, at first and at most */
#define SSW_STUCK_FIRST		(HZ / 10)
#define SSW_STUCK_MAX		(4 * HZ)

/**
 * struct ssw_evictor - an evictor
 * @task: the kthread, or NULL
 * @pipe: its pipeline
 * @nid: its node
 * @id: its number there, from 0
 */
struct ssw_evictor {
	struct task_struct *task;
	struct scaleswap_pipe *pipe;
	int nid;
	unsigned int id;
};

/**
 * struct ssw_pool - evictors of a node
 * @idle: those that wait for work
 * @evictor: all, the first %ssw_evict_threads of which may run
 */
struct ssw_pool {
	wait_queue_head_t idle;
	struct ssw_evictor evictor[SSW_EVICT_THREADS_MAX];
};

/* Memcgs to evict from, by turns */
static LIST_HEAD(ssw_evict_list);
static DEFINE_SPINLOCK(ssw_evict_lock);
static struct ssw_pool *ssw_pools[MAX_NUMNODES];
/* Evictors that may not run, since they are too many */
static DECLARE_WAIT_QUEUE_HEAD(ssw_evict_surplus);
/* Evictors that are not idle */
static atomic_t ssw_evict_awake;
/* Serializes changes of threads and CPUs */
static DEFINE_MUTEX(ssw_evict_mutex);
/* CPUs that the user wants evictors on; empty for those of their nodes */
static struct cpumask ssw_evict_cpumask;

unsigned int ssw_evict_threads __read_mostly;
unsigned int ssw_evict_wait_ms __read_mostly = SSW_EVICT_WAIT_MS;
unsigned int ssw_evict_batch __read_mostly = SSW_BATCH_PAGES;

/* --- how much of a memcg to evict ---------------------------------------------------- */

/* The limit that evictors leave room below, in pages; 0 if there is none */
static unsigned long ssw_evict_limit(struct mem_cgroup *memcg)
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
 * It is a 64th of the limit, from 16 pages to 32 MB. It grows to a 32nd, 512 MB at most.
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

/* The headroom of a memcg, also if it never had any or its limit was changed */
static unsigned int ssw_evict_headroom(struct mem_cgroup *memcg, unsigned long limit)
{
	unsigned int most = clamp(limit / SSW_HEADROOM_PART_MAX, SSW_HEADROOM_MIN,
				  SSW_HEADROOM_MAX);

	return clamp(READ_ONCE(memcg->evict.headroom), ssw_headroom(0, limit, false), most);
}

/* Check whether there is less room below the limit than evictors leave. */
static bool ssw_evict_is_due(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg);

	return limit && page_counter_read(&memcg->memory) +
			ssw_evict_headroom(memcg, limit) > limit;
}

/* Count the pages that evictors are to free, or 0. */
static unsigned long ssw_evict_over(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg), usage = page_counter_read(&memcg->memory);
	unsigned int headroom;

	if (!limit)
		return 0;
	headroom = ssw_evict_headroom(memcg, limit);
	limit -= headroom + min(headroom, SSW_BATCH_PAGES);
	return usage > limit ? usage - limit : 0;
}

static unsigned long ssw_evict_in_flight(struct mem_cgroup *memcg)
{
	return max(atomic_long_read(&memcg->evict.in_flight), 0);
}

static bool ssw_evict_is_stuck(struct mem_cgroup *memcg)
{
	unsigned long stuck = READ_ONCE(memcg->evict.stuck);

	return stuck && time_before(jiffies, stuck);
}

/* Leave a memcg alone for a while. */
static void ssw_evict_set_stuck(struct mem_cgroup *memcg)
{
	struct scaleswap_memcg_evict *e = &memcg->evict;
	unsigned long backoff = clamp(2 * READ_ONCE(e->backoff), SSW_STUCK_FIRST, SSW_STUCK_MAX);

	WRITE_ONCE(e->backoff, backoff);
	WRITE_ONCE(e->stuck, (jiffies + backoff) | 1);
	wake_up_all(&e->waiters);
}

/* --- what evictors tell -------------------------------------------------------------- */

static bool ssw_evict_has_room(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	return page_counter_read(&memcg->memory) + nr_pages <= READ_ONCE(memcg->memory.max);
}

/* Pages of room that a task waits for; fewer if the memcg is never to have as much */
static unsigned long ssw_evict_room(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg);

	return min(SWAP_CLUSTER_MAX, 2 * ssw_evict_headroom(memcg, limit));
}

/* Wake as many tasks as there are batches in pages that were freed, if there is room for one. */
static void ssw_evict_wake_waiters(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	if (wq_has_sleeper(&memcg->evict.waiters) &&
	    ssw_evict_has_room(memcg, ssw_evict_room(memcg)))
		wake_up_nr(&memcg->evict.waiters, DIV_ROUND_UP(nr_pages, SWAP_CLUSTER_MAX));
}

/**
 * ssw_evict_hold - count pages of a memcg that an evictor takes, or that come to their end
 * @memcg: their memcg, or NULL
 * @nr_pages: how many; negative if they were freed or put back
 *
 * Context: any.
 */
void ssw_evict_hold(struct mem_cgroup *memcg, long nr_pages)
{
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		atomic_long_add(nr_pages, &memcg->evict.in_flight);
		if (nr_pages > 0)
			continue;
		if (wq_has_sleeper(&memcg->evict.waiters) && !ssw_evict_in_flight(memcg))
			wake_up_all(&memcg->evict.waiters);
	}
}

/**
 * ssw_evict_freed - tell that pages of a memcg were freed, or not
 * @memcg: their memcg, or NULL
 * @freed: pages that were freed
 * @back: pages that were put back
 *
 * Context: any.
 */
void ssw_evict_freed(struct mem_cgroup *memcg, unsigned long freed, unsigned long back)
{
	for (; memcg && !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		struct scaleswap_memcg_evict *e = &memcg->evict;

		if (!freed) {
			atomic_long_add(back, &e->vain);
			continue;
		}
		atomic_long_add(freed, &e->freed);
		atomic_long_set(&e->vain, 0);
		WRITE_ONCE(e->backoff, 0);
		ssw_evict_wake_waiters(memcg, freed);
	}
}

/* --- requests ------------------------------------------------------------------------ */

/* Wake an evictor of a node. Return false if there is none, or none is idle. */
static bool ssw_evict_wake_on(int nid)
{
	struct ssw_pool *pool = READ_ONCE(ssw_pools[nid]);

	/* Full barrier: pairs with that of the evictor that goes to sleep. */
	if (!pool || !wq_has_sleeper(&pool->idle))
		return false;
	wake_up(&pool->idle);
	return true;
}

/* Wake an evictor, of this node if possible. */
static void ssw_evict_wake(void)
{
	int nid;

	if (ssw_evict_wake_on(numa_mem_id()))
		return;
	for_each_node(nid) {
		if (ssw_evict_wake_on(nid))
			return;
	}
}

/*
 * How many evictors a memcg is to have: one at first, and the more, the less is left of its
 * headroom. As many as its size allows if tasks wait.
 */
static unsigned int ssw_evict_allowed(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg), usage = page_counter_read(&memcg->memory);
	unsigned int most = clamp(limit >> SSW_EVICTOR_SHIFT, 1, SSW_EVICT_THREADS_MAX);
	unsigned int headroom = ssw_evict_headroom(memcg, limit);
	unsigned long left = usage < limit ? limit - usage : 0;

	/* A hint, no barrier: who begins to wait asks again. */
	if (waitqueue_active(&memcg->evict.waiters))
		return most;
	return max(most * (headroom - min(left, headroom)) / headroom, 1);
}

/* Have evictors look at a memcg. */
static void ssw_evict_request(struct mem_cgroup *memcg)
{
	struct scaleswap_memcg_evict *e = &memcg->evict;
	bool queued = !list_empty_careful(&e->queue);
	unsigned long flags;

	if (ssw_evict_is_stuck(memcg))
		return;
	if (!queued) {
		spin_lock_irqsave(&ssw_evict_lock, flags);
		/* Invariant 5 */
		if (ssw_evict_threads && list_empty(&e->queue) && css_tryget_online(&memcg->css))
			list_add_tail(&e->queue, &ssw_evict_list);
		spin_unlock_irqrestore(&ssw_evict_lock, flags);
	} else if (atomic_read(&ssw_evict_awake) &&
		   READ_ONCE(e->evictors) >= ssw_evict_allowed(memcg)) {
		return;
	}
	ssw_evict_wake();
}

/**
 * __scaleswap_evict_mark - see scaleswap_evict_mark()
 * @memcg: the memcg
 */
void __scaleswap_evict_mark(struct mem_cgroup *memcg)
{
	if (READ_ONCE(ssw_evict_threads) && ssw_evict_is_due(memcg))
		ssw_evict_request(memcg);
}

/* Choose a memcg for an evictor, which gets a reference. NULL if there is nothing for it to do. */
static struct mem_cgroup *ssw_evict_next(struct ssw_evictor *ev)
{
	struct mem_cgroup *memcg = NULL;
	struct scaleswap_memcg_evict *e;

	if (ev->id >= READ_ONCE(ssw_evict_threads))
		return NULL;
	spin_lock_irq(&ssw_evict_lock);
	list_for_each_entry(e, &ssw_evict_list, queue) {
		struct mem_cgroup *m = container_of(e, struct mem_cgroup, evict);
		unsigned long over;

		if (e->evictors && e->evictors >= ssw_evict_allowed(m))
			continue;
		/* Those who hold pages look again when they hold none: invariant 1. */
		over = ssw_evict_over(m);
		if (over && over <= ssw_evict_in_flight(m))
			continue;
		memcg = m;
		css_get(&m->css);
		WRITE_ONCE(e->evictors, e->evictors + 1);
		list_move_tail(&e->queue, &ssw_evict_list);
		break;
	}
	spin_unlock_irq(&ssw_evict_lock);
	return memcg;
}

/* A memcg has room, or cannot have any: leave it. */
static void ssw_evict_dequeue(struct mem_cgroup *memcg)
{
	struct scaleswap_memcg_evict *e = &memcg->evict;
	bool was;

	spin_lock_irq(&ssw_evict_lock);
	was = !list_empty(&e->queue);
	list_del_init(&e->queue);
	spin_unlock_irq(&ssw_evict_lock);
	if (was)
		css_put(&memcg->css);
}

/* An evictor leaves a memcg. Return true if no other one has it. */
static bool ssw_evict_leave(struct mem_cgroup *memcg)
{
	bool last;

	spin_lock_irq(&ssw_evict_lock);
	last = memcg->evict.evictors == 1;
	WRITE_ONCE(memcg->evict.evictors, memcg->evict.evictors - 1);
	spin_unlock_irq(&ssw_evict_lock);
	return last;
}

/* There is as much room as there is to be: tasks have waited for it, or not. */
static void ssw_evict_done(struct mem_cgroup *memcg)
{
	struct scaleswap_memcg_evict *e = &memcg->evict;
	unsigned long limit = ssw_evict_limit(memcg);
	bool waited = atomic_xchg(&e->waits, 0);

	if (limit)
		WRITE_ONCE(e->headroom, ssw_headroom(ssw_evict_headroom(memcg, limit), limit,
						     waited));
	ssw_evict_dequeue(memcg);
	wake_up_all(&e->waiters);
	/*
	 * A charge that came meanwhile may have seen it queued, and not asked. Pairs with the full
	 * barrier in page_counter_try_charge().
	 */
	smp_mb();
	__scaleswap_evict_mark(memcg);
}

/* --- evictors ------------------------------------------------------------------------ */

/* Check whether so many pages were put back that no more will be freed. */
static bool ssw_evict_is_vain(struct mem_cgroup *memcg)
{
	return atomic_long_read(&memcg->evict.vain) >
	       min(page_counter_read(&memcg->memory), SSW_STUCK_PAGES);
}

/*
 * Evict from a memcg, until it has room, or it is the turn of another one. Return false if nothing
 * could be freed.
 */
static bool ssw_evict_turn(struct ssw_evictor *ev, struct mem_cgroup *memcg)
{
	struct scaleswap_memcg_evict *e = &memcg->evict;
	unsigned long taken = 0;

	while (!freezing(current)) {
		unsigned long over = ssw_evict_over(memcg), held = ssw_evict_in_flight(memcg);
		unsigned long nr, freed = atomic_long_read(&e->freed);

		if (!over) {
			ssw_evict_done(memcg);
			return true;
		}
		if (over <= held) {
			/* What is held may be enough, but has to come to its end. */
			if (!ssw_evict_await(ev->pipe))
				return true;
			continue;
		}
		nr = ssw_evict_some(ev->pipe, memcg, min(over - held, SWAP_CLUSTER_MAX));
		if (!nr || ssw_evict_is_vain(memcg)) {
			ssw_evict_drain(ev->pipe);
			if (atomic_long_read(&e->freed) == freed)
				return false;
		}
		taken += nr;
		if (taken >= SSW_BATCH_PAGES && !data_race(list_is_singular(&ssw_evict_list)))
			return true;
		cond_resched();
	}
	return true;
}

/* Sleep until there is something to do. Return the memcg, or NULL to look again. */
static struct mem_cgroup *ssw_evict_wait_work(struct ssw_evictor *ev)
{
	struct ssw_pool *pool = ssw_pools[ev->nid];
	struct mem_cgroup *memcg = NULL;

	atomic_dec(&ssw_evict_awake);
	/* Pairs with the barrier in ssw_evict_wake_on(). */
	smp_mb__after_atomic();
	if (ev->id >= READ_ONCE(ssw_evict_threads)) {
		/* It may have been woken for something. */
		wake_up(&pool->idle);
		wait_event_freezable(ssw_evict_surplus, ev->id < READ_ONCE(ssw_evict_threads));
	} else {
		wait_event_freezable_exclusive(pool->idle,
					       (memcg = ssw_evict_next(ev)) ||
					       ev->id >= READ_ONCE(ssw_evict_threads));
	}
	atomic_inc(&ssw_evict_awake);
	return memcg;
}

static int ssw_evictor(void *arg)
{
	struct ssw_evictor *ev = arg;

	/* As kswapd: what it needs to free memory, it gets. */
	memalloc_noreclaim_save();
	set_freezable();
	atomic_inc(&ssw_evict_awake);
	for (;;) {
		struct mem_cgroup *memcg = ssw_evict_next(ev);
		bool done, last;

		if (!memcg) {
			/* Invariant 2. Pages that come back may leave a memcg without room. */
			ssw_evict_drain(ev->pipe);
			try_to_freeze();
			memcg = ssw_evict_wait_work(ev);
		}
		if (!memcg)
			continue;
		done = ssw_evict_turn(ev, memcg);
		last = ssw_evict_leave(memcg);
		if (!done && last && !ssw_evict_in_flight(memcg)) {
			ssw_evict_set_stuck(memcg);
			ssw_evict_dequeue(memcg);
		} else if (!done) {
			/* Others that hold pages of it, or age it, may free some yet. */
			schedule_timeout_idle(1);
		}
		css_put(&memcg->css);
		if (freezing(current)) {
			ssw_evict_drain(ev->pipe);
			try_to_freeze();
		}
		cond_resched();
	}
	return 0;
}

/* --- waiting ------------------------------------------------------------------------- */

/* Check whether a task may wait for others to do I/O and take locks of file systems. */
static bool ssw_evict_may_wait(gfp_t gfp_mask)
{
	gfp_mask = current_gfp_context(gfp_mask);
	return (gfp_mask & (__GFP_IO | __GFP_FS)) == (__GFP_IO | __GFP_FS) &&
	       !(gfp_mask & __GFP_NORETRY) &&
	       !(current->flags & (PF_KTHREAD | PF_MEMALLOC | PF_LOCAL_THROTTLE));
}

/**
 * struct ssw_evict_wait - what a task waits for
 * @memcg: a memcg
 * @nr_pages: pages to be charged
 * @high: whether memory.high is the limit, or else memory.max
 * @freed: evict.freed of @memcg when the task began to wait
 * @held: whether to wait until evictors hold no pages
 */
struct ssw_evict_wait {
	struct mem_cgroup *memcg;
	unsigned long nr_pages;
	bool high;
	bool held;
	unsigned long freed;
};

static bool ssw_evict_wait_over(const struct ssw_evict_wait *w)
{
	struct mem_cgroup *memcg = w->memcg;

	if (w->high)
		return page_counter_read(&memcg->memory) <= READ_ONCE(memcg->memory.high) ||
		       atomic_long_read(&memcg->evict.freed) - w->freed >= w->nr_pages;
	return ssw_evict_has_room(memcg, w->held ? w->nr_pages :
				  max(w->nr_pages, ssw_evict_room(memcg)));
}

/* Wait. Return false, and why in *@why, if there is not what the task waits for. */
static bool ssw_evict_sleep(struct ssw_evict_wait *w, enum ssw_fallback *why)
{
	struct scaleswap_memcg_evict *e = &w->memcg->evict;
	long left = msecs_to_jiffies(READ_ONCE(ssw_evict_wait_ms));
	DEFINE_WAIT(wait);
	bool good;

	w->freed = atomic_long_read(&e->freed);
	delayacct_freepages_start();
	for (;;) {
		prepare_to_wait_exclusive(&e->waiters, &wait, TASK_KILLABLE);
		good = ssw_evict_wait_over(w);
		if (good)
			break;
		if (fatal_signal_pending(current)) {
			*why = SSW_FB_EVICT_KILLED;
			break;
		}
		if (w->held ? !ssw_evict_in_flight(w->memcg) :
		    ssw_evict_is_stuck(w->memcg) || !READ_ONCE(ssw_evict_threads)) {
			*why = SSW_FB_EVICT_STUCK;
			break;
		}
		if (!left) {
			*why = SSW_FB_EVICT_LATE;
			break;
		}
		if (!w->held)
			ssw_evict_request(w->memcg);
		left = schedule_timeout(left);
	}
	finish_wait(&e->waiters, &wait);
	delayacct_freepages_end();
	/* If nothing was freed all the time, others need not wait as long to learn that. */
	if (!good && !left && !w->held && atomic_long_read(&e->freed) == w->freed)
		ssw_evict_set_stuck(w->memcg);
	return good;
}

/**
 * __scaleswap_evict_wait - wait until evictors have made room below a limit of a memcg
 * @memcg: the memcg
 * @nr_pages: pages to be charged
 * @gfp_mask: of the charge
 * @high: whether memory.high is the limit, or else memory.max
 *
 * Context: process context, may sleep, evict/wait_ms at most.
 * Return: @nr_pages if there is room. 0 if the task has to reclaim; why is counted.
 */
unsigned long __scaleswap_evict_wait(struct mem_cgroup *memcg, unsigned long nr_pages,
				     gfp_t gfp_mask, bool high)
{
	struct ssw_evict_wait w = { .memcg = memcg, .nr_pages = nr_pages, .high = high };
	enum ssw_fallback why = SSW_FB_EVICT_UNFIT;
	u64 start = 0;
	bool good = false;

	if (!READ_ONCE(ssw_evict_threads))
		return 0;
	if (ssw_evict_is_stuck(memcg)) {
		why = SSW_FB_EVICT_STUCK;
	} else if (ssw_evict_limit(memcg) && ssw_evict_may_wait(gfp_mask) &&
		   (high || nr_pages <= SWAP_CLUSTER_MAX)) {
		if (trace_scaleswap_evict_wait_enabled())
			start = local_clock();
		/* Pages that only this CPU knows of */
		lru_add_drain();
		atomic_inc(&memcg->evict.waits);
		fs_reclaim_acquire(gfp_mask);
		good = ssw_evict_sleep(&w, &why);
		fs_reclaim_release(gfp_mask);
		trace_scaleswap_evict_wait(cgroup_ino(memcg->css.cgroup), nr_pages,
					   good ? SSW_NR_FALLBACKS : why,
					   start ? local_clock() - start : 0);
	}
	if (good)
		ssw_stat_add(SSW_EVICT_WAITS, 1);
	else
		ssw_fallback(raw_smp_processor_id(), why, 0);
	return good ? nr_pages : 0;
}

/**
 * __scaleswap_evict_last - wait for what evictors hold, before a memcg is out of memory
 * @memcg: the memcg, of which reclaim has freed nothing
 * @nr_pages: pages to be charged
 *
 * Context: process context, may sleep, evict/wait_ms at most.
 * Return: @nr_pages if there is room, or 0.
 */
unsigned long __scaleswap_evict_last(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	struct ssw_evict_wait w = { .memcg = memcg, .nr_pages = nr_pages, .held = true };
	enum ssw_fallback why;

	if (!ssw_evict_in_flight(memcg))
		return 0;
	return ssw_evict_sleep(&w, &why) ? nr_pages : 0;
}

/**
 * __scaleswap_evict_init - see scaleswap_evict_init()
 * @memcg: the memcg
 */
void __scaleswap_evict_init(struct mem_cgroup *memcg)
{
	INIT_LIST_HEAD(&memcg->evict.queue);
	init_waitqueue_head(&memcg->evict.waiters);
}

/* --- threads ------------------------------------------------------------------------- */

/* Choose the CPUs of a node's evictors: what the user says, or the node's, less isolated ones. */
static void ssw_evict_cpus_of(int nid, struct cpumask *mask)
{
	const struct cpumask *keep = housekeeping_cpumask(HK_TYPE_KTHREAD);

	if (cpumask_and(mask, &ssw_evict_cpumask, cpu_online_mask))
		return;
	if (!cpumask_and(mask, cpumask_of_node(nid), keep) ||
	    !cpumask_intersects(mask, cpu_online_mask))
		cpumask_copy(mask, keep);
}

/* Let evictors run where they are to. Needed again when CPUs come online. */
static int ssw_evict_place(void)
{
	struct cpumask *mask;
	unsigned int i;
	int nid;

	lockdep_assert_held(&ssw_evict_mutex);
	mask = kmalloc(sizeof(*mask), GFP_KERNEL);
	if (!mask)
		return -ENOMEM;
	for_each_node(nid) {
		if (!ssw_pools[nid])
			continue;
		ssw_evict_cpus_of(nid, mask);
		for (i = 0; i < SSW_EVICT_THREADS_MAX; i++) {
			struct ssw_evictor *ev = &ssw_pools[nid]->evictor[i];

			if (ev->task)
				set_cpus_allowed_ptr(ev->task, mask);
		}
	}
	kfree(mask);
	return 0;
}

static int ssw_evictor_start(struct ssw_evictor *ev)
{
	struct task_struct *task;

	if (ev->task)
		return 0;
	task = kthread_create_on_node(ssw_evictor, ev, ev->nid, "ssw_evict%d:%u", ev->nid, ev->id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ev->pipe = ssw_pipe_create(task);
	if (!ev->pipe) {
		kthread_stop(task);
		return -ENOMEM;
	}
	ev->task = task;
	wake_up_process(task);
	return 0;
}

/* Have as many evictors on each memory node as may run. */
static int ssw_evict_start(void)
{
	struct ssw_pool *pool;
	unsigned int i;
	int nid, placed, err = 0;

	lockdep_assert_held(&ssw_evict_mutex);
	for_each_node_state(nid, N_MEMORY) {
		pool = ssw_pools[nid];
		if (!pool) {
			pool = kzalloc_node(sizeof(*pool), GFP_KERNEL, nid);
			if (!pool) {
				err = -ENOMEM;
				break;
			}
			init_waitqueue_head(&pool->idle);
			for (i = 0; i < SSW_EVICT_THREADS_MAX; i++) {
				pool->evictor[i].nid = nid;
				pool->evictor[i].id = i;
			}
			/* Pairs with readers that do not hold the mutex. */
			smp_store_release(&ssw_pools[nid], pool);
		}
		for (i = 0; i < ssw_evict_threads && !err; i++)
			err = ssw_evictor_start(&pool->evictor[i]);
	}
	/* Also if not all could be started */
	placed = ssw_evict_place();
	return err ?: placed;
}

/* Leave all memcgs to reclaim. Nothing is queued any more. */
static void ssw_evict_forget(void)
{
	struct scaleswap_memcg_evict *e;

	spin_lock_irq(&ssw_evict_lock);
	while ((e = list_first_entry_or_null(&ssw_evict_list, struct scaleswap_memcg_evict,
					     queue))) {
		struct mem_cgroup *memcg = container_of(e, struct mem_cgroup, evict);

		list_del_init(&e->queue);
		wake_up_all(&e->waiters);
		css_put(&memcg->css);
	}
	spin_unlock_irq(&ssw_evict_lock);
}

/**
 * ssw_evict_set_threads - set how many evictors a node has
 * @nr: from 0, for none, to %SSW_EVICT_THREADS_MAX
 *
 * Context: process context, may sleep.
 * Return: 0; -ENOMEM if there are fewer now.
 */
int ssw_evict_set_threads(unsigned int nr)
{
	int nid, err;

	mutex_lock(&ssw_evict_mutex);
	spin_lock_irq(&ssw_evict_lock);
	WRITE_ONCE(ssw_evict_threads, nr);
	spin_unlock_irq(&ssw_evict_lock);
	if (!nr)
		ssw_evict_forget();
	err = ssw_evict_start();
	wake_up_all(&ssw_evict_surplus);
	/* Those that are too many find out. */
	for_each_node(nid) {
		if (ssw_pools[nid])
			wake_up_all(&ssw_pools[nid]->idle);
	}
	mutex_unlock(&ssw_evict_mutex);
	return err;
}

/**
 * ssw_evict_set_cpus - set the CPUs that evictors run on
 * @mask: CPUs; none for those of each evictor's node
 *
 * Context: process context, may sleep.
 * Return: 0; -EINVAL if none of them is online; -ENOMEM.
 */
int ssw_evict_set_cpus(const struct cpumask *mask)
{
	int err;

	if (!cpumask_empty(mask) && !cpumask_intersects(mask, cpu_online_mask))
		return -EINVAL;
	mutex_lock(&ssw_evict_mutex);
	cpumask_copy(&ssw_evict_cpumask, mask);
	err = ssw_evict_place();
	mutex_unlock(&ssw_evict_mutex);
	return err;
}

/**
 * ssw_evict_show_cpus - print the CPUs that evictors run on, as a list
 * @buf: a page of sysfs
 *
 * Context: process context, may sleep.
 * Return: characters printed.
 */
int ssw_evict_show_cpus(char *buf)
{
	int len;

	mutex_lock(&ssw_evict_mutex);
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(&ssw_evict_cpumask));
	mutex_unlock(&ssw_evict_mutex);
	return len;
}

static int ssw_evict_cpu_online(unsigned int cpu)
{
	mutex_lock(&ssw_evict_mutex);
	ssw_evict_place();
	mutex_unlock(&ssw_evict_mutex);
	return 0;
}

/* A node that gets its first memory gets evictors. */
static int ssw_evict_memory(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct memory_notify *arg = data;

	if (action == MEM_ONLINE && arg->status_change_nid >= 0) {
		mutex_lock(&ssw_evict_mutex);
		ssw_evict_start();
		mutex_unlock(&ssw_evict_mutex);
	}
	return NOTIFY_OK;
}

/* As many evictors as CPUs, of the node that has most: all of these may swap at the same time. */
static unsigned int __init ssw_evict_default(void)
{
	unsigned int most = 1;
	int nid;

	for_each_node_state(nid, N_MEMORY)
		most = max(most, cpumask_weight(cpumask_of_node(nid)));
	return min(most, SSW_EVICT_THREADS_MAX);
}

/**
 * ssw_evictd_init - start the pool of evictors
 *
 * Context: boot, process context.
 * Return: 0 or a negative errno; then there are fewer than there should be.
 */
int __init ssw_evictd_init(void)
{
	int err;

	err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "mm/scaleswap/evict:online",
					ssw_evict_cpu_online, NULL);
	if (err < 0)
		return err;
	hotplug_memory_notifier(ssw_evict_memory, DEFAULT_CALLBACK_PRI);
	return ssw_evict_set_threads(ssw_evict_default());
}
