// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how much room evictors are to make, in which memcg, and who waits for it.
 *
 * evictd.c says when evictors evict.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cgroup.h>
#include <linux/delayacct.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>

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

/* Memcgs to evict from, by turns */
static LIST_HEAD(ssw_evict_list);
static DEFINE_SPINLOCK(ssw_evict_lock);

unsigned int ssw_evict_threads __read_mostly;
unsigned int ssw_evict_wait_ms __read_mostly = SSW_EVICT_WAIT_MS;

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

/**
 * ssw_evict_over - count the pages that evictors are to free
 * @memcg: the memcg
 *
 * Context: any.
 * Return: pages, or 0 if there is as much room as there is to be.
 */
unsigned long ssw_evict_over(struct mem_cgroup *memcg)
{
	unsigned long limit = ssw_evict_limit(memcg), usage = page_counter_read(&memcg->memory);
	unsigned int headroom;

	if (!limit)
		return 0;
	headroom = ssw_evict_headroom(memcg, limit);
	limit -= headroom + min(headroom, SSW_BATCH_PAGES);
	return usage > limit ? usage - limit : 0;
}

/**
 * ssw_evict_in_flight - count the pages that evictors hold
 * @memcg: the memcg
 *
 * Context: any.
 * Return: pages of @memcg and all below it.
 */
unsigned long ssw_evict_in_flight(struct mem_cgroup *memcg)
{
	return max(atomic_long_read(&memcg->evict.in_flight), 0);
}

static bool ssw_evict_is_stuck(struct mem_cgroup *memcg)
{
	unsigned long stuck = READ_ONCE(memcg->evict.stuck);

	return stuck && time_before(jiffies, stuck);
}

/**
 * ssw_evict_set_stuck - leave a memcg alone for a while
 * @memcg: the memcg, of which nothing could be freed
 *
 * Context: any.
 */
void ssw_evict_set_stuck(struct mem_cgroup *memcg)
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

/**
 * ssw_evict_next - choose a memcg for an evictor
 *
 * Context: an evictor.
 * Return: the memcg, with a reference and the evictor counted; NULL if there is nothing to do.
 */
struct mem_cgroup *ssw_evict_next(void)
{
	struct mem_cgroup *memcg = NULL;
	struct scaleswap_memcg_evict *e;

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

/**
 * ssw_evict_dequeue - leave a memcg: it has room, or cannot have any
 * @memcg: the memcg
 *
 * Context: an evictor.
 */
void ssw_evict_dequeue(struct mem_cgroup *memcg)
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

/**
 * ssw_evict_leave - count that an evictor leaves a memcg
 * @memcg: the memcg, from ssw_evict_next()
 *
 * Context: an evictor.
 * Return: true if no other evictor has it.
 */
bool ssw_evict_leave(struct mem_cgroup *memcg)
{
	bool last;

	spin_lock_irq(&ssw_evict_lock);
	last = memcg->evict.evictors == 1;
	WRITE_ONCE(memcg->evict.evictors, memcg->evict.evictors - 1);
	spin_unlock_irq(&ssw_evict_lock);
	return last;
}

/**
 * ssw_evict_done - note that a memcg has as much room as it is to have
 * @memcg: the memcg
 *
 * Its headroom grows if tasks have waited.
 *
 * Context: an evictor.
 */
void ssw_evict_done(struct mem_cgroup *memcg)
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

/**
 * ssw_evict_is_vain - check whether so many pages were put back that no more will be freed
 * @memcg: the memcg
 *
 * Context: any.
 * Return: true if so.
 */
bool ssw_evict_is_vain(struct mem_cgroup *memcg)
{
	return atomic_long_read(&memcg->evict.vain) >
	       min(page_counter_read(&memcg->memory), SSW_STUCK_PAGES);
}

/**
 * ssw_evict_is_only - check whether there is but one memcg to evict from
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
 * @nr: how many. If 0, all memcgs are left to reclaim, and nothing is queued any more.
 *
 * Context: process context.
 */
void ssw_evict_allow(unsigned int nr)
{
	struct scaleswap_memcg_evict *e;

	spin_lock_irq(&ssw_evict_lock);
	WRITE_ONCE(ssw_evict_threads, nr);
	while (!nr && (e = list_first_entry_or_null(&ssw_evict_list, struct scaleswap_memcg_evict,
						    queue))) {
		struct mem_cgroup *memcg = container_of(e, struct mem_cgroup, evict);

		list_del_init(&e->queue);
		wake_up_all(&e->waiters);
		css_put(&memcg->css);
	}
	spin_unlock_irq(&ssw_evict_lock);
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
