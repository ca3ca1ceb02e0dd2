// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: tasks that wait until evictors have freed memory.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cgroup.h>
#include <linux/delayacct.h>
#include <linux/freezer.h>
#include <linux/memcontrol.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>

#include "evict.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

/* How often a task that waits looks, and asks again, if nobody wakes it */
#define SSW_POLL		((long)DIV_ROUND_UP(HZ, 50))
/* How long reclaim that has freed nothing waits for pages that are being written, each time */
#define SSW_WRITES		((long)DIV_ROUND_UP(HZ, 10))

unsigned int ssw_evict_wait_ms __read_mostly = SSW_EVICT_WAIT_MS;

/* Check whether evictors are frozen, or about to be. */
static bool ssw_evict_is_frozen(void)
{
#ifdef CONFIG_FREEZER
	return READ_ONCE(pm_nosig_freezing);
#else
	return false;
#endif
}

/**
 * ssw_evict_may_wait - check whether a task may wait for I/O and locks of file systems
 * @gfp_mask: what it may do to get memory
 * @held: whether it has reclaimed in vain, and waits for what evictors hold
 *
 * Others may wait for a kernel thread, so it reclaims by itself. Reclaim does not throttle it,
 * though: where evictors have isolated much, all its tries are over before a page is written. So
 * it waits before it has processes killed.
 *
 * Context: process context.
 * Return: true if so.
 */
bool ssw_evict_may_wait(gfp_t gfp_mask, bool held)
{
	const unsigned int never = PF_MEMALLOC | PF_LOCAL_THROTTLE;

	gfp_mask = current_gfp_context(gfp_mask);
	return (gfp_mask & (__GFP_IO | __GFP_FS)) == (__GFP_IO | __GFP_FS) &&
	       !(gfp_mask & __GFP_NORETRY) && !ssw_evict_is_frozen() &&
	       !(current->flags & (held ? never : never | PF_KTHREAD));
}

/* What a wait ends by, but for the target: false if it has to go on */
static bool ssw_evict_gives_up(struct ssw_evict_wait *w)
{
	if (fatal_signal_pending(current))
		w->why = SSW_FB_EVICT_KILLED;
	else if (w->held ? !ssw_evict_in_flight(w->target) :
		 ssw_evict_is_stuck(w->target) || !READ_ONCE(ssw_evict_threads))
		w->why = SSW_FB_EVICT_STUCK;
	else if (time_after_eq(jiffies, w->end))
		w->why = SSW_FB_EVICT_LATE;
	else
		return false;
	return true;
}

/* Wait until what the task waits for is there. Return false, and why in @w->why, if it is not. */
static bool ssw_evict_sleep(struct ssw_evict_wait *w)
{
	struct scaleswap_evict_target *t = w->target;
	int cpu = ssw_evict_cpu_waits();
	bool good, again = false;
	DEFINE_WAIT(wait);

	if (!w->held)
		atomic_inc(&t->waiting);
	for (;;) {
		/* Who was woken is not queued any more, and need not lock the queue again. */
		good = w->over(w);
		if (good)
			break;
		/* It was woken, so there was room, which others took before it got a CPU. */
		if (again && list_empty_careful(&wait.entry))
			w->overtaken = true;
		again = true;
		prepare_to_wait_exclusive(&t->waiters, &wait, TASK_KILLABLE);
		good = w->over(w);
		if (good || ssw_evict_gives_up(w))
			break;
		if (!w->held)
			ssw_evict_request(t);
		/*
		 * Memory of a node may be freed by others, too, and of other nodes. A task that
		 * waits for what evictors hold is only told when they hold nothing. The evictor
		 * that was woken may not get a CPU; another one may.
		 */
		schedule_timeout(clamp((long)(w->end - jiffies), 1L, SSW_POLL));
	}
	finish_wait(&t->waiters, &wait);
	ssw_evict_cpu_waited(cpu);
	if (!w->held)
		atomic_dec(&t->waiting);
	return good;
}

/**
 * ssw_evict_wait - wait until evictors have freed what a task needs, or for evict/wait_ms
 * @w: what it needs: @w->target, @w->freed, @w->over, @w->gfp_mask; whether it is @w->held
 *
 * Time counts in which the task could run but has no CPU: evictors may have one.
 *
 * Context: process context, sleeps. May be called again if somebody else took what there was; then
 * it only waits for what is left of the time.
 * Return: true if it is there. Else @w->why says why not.
 */
bool ssw_evict_wait(struct ssw_evict_wait *w)
{
	struct scaleswap_evict_target *t = w->target;
	bool good;

	if (!w->began) {
		w->began = true;
		w->end = jiffies + msecs_to_jiffies(READ_ONCE(ssw_evict_wait_ms));
		w->start = trace_scaleswap_evict_wait_enabled() ? local_clock() : 0;
	}
	delayacct_freepages_start();
	fs_reclaim_acquire(w->gfp_mask);
	good = ssw_evict_sleep(w);
	fs_reclaim_release(w->gfp_mask);
	delayacct_freepages_end();
	/* If nothing was freed all the time, others need not wait as long to learn that. */
	if (!good && w->why == SSW_FB_EVICT_LATE && !w->held &&
	    atomic_long_read(&t->freed) == w->freed)
		ssw_evict_set_stuck(t);
	return good;
}

/**
 * ssw_evict_waited - count a wait
 * @w: what a task waited for, or would have. If that was held, it is no fallback: the task has
 *	reclaimed before.
 * @nr_pages: pages that it needs
 * @good: whether it got them; else @w->why says why not
 *
 * Context: process context.
 */
void ssw_evict_waited(struct ssw_evict_wait *w, unsigned long nr_pages, bool good)
{
	if (w->began) {
		trace_scaleswap_evict_wait(ssw_evict_ino(w->target), w->target->nid, nr_pages,
					   good ? SSW_NR_FALLBACKS : w->why, w->held,
					   w->start ? local_clock() - w->start : 0);
	}
	if (w->began)
		count_vm_event(SCALESWAP_EVICT_WAIT);
	if (w->held) {
		ssw_stat_add(SSW_EVICT_HELD_WAITS, 1);
	} else if (good) {
		ssw_stat_add(SSW_EVICT_WAITS, 1);
	} else {
		ssw_fallback(raw_smp_processor_id(), w->why, 0);
		count_vm_event(SCALESWAP_EVICT_FALLBACK);
	}
}

/**
 * struct ssw_memcg_wait - a charge that waits
 * @wait: until there is room
 * @nr_pages: pages to be charged
 * @high: whether memory.high is the limit, or else memory.max
 */
struct ssw_memcg_wait {
	struct ssw_evict_wait wait;
	unsigned long nr_pages;
	bool high;
};

static bool ssw_memcg_wait_over(const struct ssw_evict_wait *wait)
{
	const struct ssw_memcg_wait *w = container_of(wait, struct ssw_memcg_wait, wait);
	struct mem_cgroup *memcg = ssw_evict_memcg_of(wait->target);

	if (w->high)
		return page_counter_read(&memcg->memory) <= READ_ONCE(memcg->memory.high) ||
		       atomic_long_read(&wait->target->freed) - wait->freed >= w->nr_pages;
	return ssw_evict_has_room(memcg, ssw_evict_room(memcg, w->nr_pages, wait->overtaken));
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
	struct ssw_memcg_wait w = {
		.wait.target = &memcg->evict,
		.wait.freed = atomic_long_read(&memcg->evict.freed),
		.wait.over = ssw_memcg_wait_over,
		.wait.gfp_mask = gfp_mask,
		.wait.why = SSW_FB_EVICT_UNFIT,
		.nr_pages = nr_pages,
		.high = high,
	};
	bool good = false;

	if (!READ_ONCE(ssw_evict_threads))
		return 0;
	if (ssw_evict_is_stuck(&memcg->evict)) {
		w.wait.why = SSW_FB_EVICT_STUCK;
	} else if (ssw_evict_limit(memcg) && ssw_evict_may_wait(gfp_mask, false) &&
		   (high || nr_pages <= SWAP_CLUSTER_MAX)) {
		/* Pages that only this CPU knows of */
		lru_add_drain();
		atomic_inc(&memcg->evict.waits);
		good = ssw_evict_wait(&w.wait);
	}
	ssw_evict_waited(&w.wait, nr_pages, good);
	return good ? nr_pages : 0;
}

/* Whether as much was freed as reclaim takes at a time */
static bool ssw_held_wait_over(const struct ssw_evict_wait *w)
{
	return atomic_long_read(&w->target->freed) - w->freed >= SWAP_CLUSTER_MAX;
}

/*
 * How many pages of a memcg are being written. mem_cgroup_flush_stats() would leave out up to
 * MEMCG_CHARGE_BATCH changes a CPU: more than a small memcg has pages, or writes that are over.
 */
static unsigned long ssw_memcg_writes(struct mem_cgroup *memcg)
{
	cgroup_rstat_flush(memcg->css.cgroup);
	return memcg_page_state(memcg, NR_WRITEBACK);
}

/*
 * Wait until some pages of a memcg were written, if any are being written. Reclaim does not wait
 * for writes to swap. If a device stalls, evictors and tasks soon have all pages of the memcg
 * written, and all tries of a task are over before the device goes on.
 */
static void ssw_evict_wait_written(struct mem_cgroup *memcg)
{
	unsigned long before = ssw_memcg_writes(memcg), end = jiffies + SSW_WRITES;

	/* Most devices need less than a jiffy. */
	for (long nap = 1; before && time_before(jiffies, end); nap *= 2) {
		schedule_timeout_killable(clamp((long)(end - jiffies), 1L, nap));
		if (fatal_signal_pending(current) || ssw_memcg_writes(memcg) < before)
			break;
	}
}

/**
 * ssw_evict_wait_held - wait for what evictors hold of a memcg
 * @memcg: the memcg, of which reclaim has freed nothing
 * @gfp_mask: of the reclaim
 * @writes: whether to wait for pages of it that are being written, if evictors hold none:
 *	%SSW_WRITES at most
 *
 * Context: process context, may sleep, evict/wait_ms at most.
 * Return: pages that evictors have freed meanwhile; 0 if they hold none, or the task may not wait.
 */
unsigned long ssw_evict_wait_held(struct mem_cgroup *memcg, gfp_t gfp_mask, bool writes)
{
	struct ssw_evict_wait w = {
		.target = &memcg->evict,
		.freed = atomic_long_read(&memcg->evict.freed),
		.over = ssw_held_wait_over,
		.gfp_mask = gfp_mask,
		.held = true,
	};

	if (!ssw_evict_may_wait(gfp_mask, true))
		return 0;
	if (!ssw_evict_in_flight(w.target)) {
		if (writes)
			ssw_evict_wait_written(memcg);
		return 0;
	}
	ssw_evict_waited(&w, SWAP_CLUSTER_MAX, ssw_evict_wait(&w));
	return atomic_long_read(&memcg->evict.freed) - w.freed;
}
