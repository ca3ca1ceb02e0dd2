// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: delegator kthreads.
 *
 * One per CPU. They service areas whose home CPU does not swap at the moment: a
 * delegator drains the area's queue, frees the tables of clusters that other CPUs
 * have emptied, and queues the area's discards. If the home CPU is offline, the
 * delegator of the CPU that noticed services the area.
 *
 * CPU offline, and with it suspend, waits until a delegator parks. So a
 * delegator never does I/O, nor anything else that waits for a device: discards
 * are work items (discard.c). All that it waits for is a token, which another
 * CPU holds for microseconds.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smpboot.h>
#include <linux/timer.h>

#include "internal.h"

#include <trace/events/scaleswap.h>

/* Number of clusters queued on an area at which its delegator is woken at once. */
unsigned int ssw_wake_threshold = SSW_WAKE_DEFAULT;

/*
 * From this length of a queue on, a CPU that adds to it also tries to drain it. The
 * owner reverses the queue with preemption off, so the queue must not get much longer.
 */
#define SSW_QUEUE_LONG		1024

/* How long freed clusters of an idle area may lie in its queue. */
#define SSW_IDLE_DELAY		(HZ / 10)

/**
 * struct ssw_delegator - a delegator kthread
 * @task: the thread
 * @pending: types of the areas to service
 */
struct ssw_delegator {
	struct task_struct *task;
	DECLARE_BITMAP(pending, MAX_SWAPFILES);
};

static DEFINE_PER_CPU(struct ssw_delegator, ssw_delegators);

static void ssw_delegd_wake(unsigned int type)
{
	int cpu = READ_ONCE(scaleswap_home[type]);
	struct ssw_delegator *d;

	/* If the CPU goes offline now, ssw_delegd_park() or the timer passes the area on. */
	if (cpu < 0 || !cpu_online(cpu))
		cpu = raw_smp_processor_id();
	d = per_cpu_ptr(&ssw_delegators, cpu);
	set_bit(type, d->pending);
	if (d->task)
		wake_up_process(d->task);
}

static void ssw_area_timer(struct timer_list *timer)
{
	struct ssw_area *area = from_timer(area, timer, timer);
	struct ssw_slots *slots = area->slots;

	ssw_delegd_wake(area->si->type);
	/* In case the thread has missed it, because its CPU is going offline. */
	if (atomic_read(&slots->nr_queued) || !list_empty(&slots->discard))
		mod_timer(timer, jiffies + HZ);
}

/**
 * ssw_delegd_area_init - prepare an area to be serviced
 * @area: the area
 *
 * Context: before any other CPU can see @area.
 */
void ssw_delegd_area_init(struct ssw_area *area)
{
	timer_setup(&area->timer, ssw_area_timer, 0);
}

/**
 * ssw_delegd_notify - ensure that an area is serviced
 * @area: the area; RCU read side
 * @queued: how many clusters are queued there, including the new one
 *
 * Context: any but interrupts.
 */
void ssw_delegd_notify(struct ssw_area *area, unsigned int queued)
{
	struct ssw_slots *slots = area->slots;

	ssw_deleg_add(SSW_DELEG_FREES);
	/* Always: another CPU may have counted its cluster, but not queued it yet. */
	if (!timer_pending(&area->timer))
		mod_timer(&area->timer, jiffies + SSW_IDLE_DELAY);
	if (queued == READ_ONCE(ssw_wake_threshold))
		ssw_delegd_wake(area->si->type);
	if (queued >= SSW_QUEUE_LONG && ssw_token_trylock(slots)) {
		ssw_drain(slots, NULL, SSW_BY_HOLDER);
		ssw_token_release(slots);
	}
}

static void ssw_area_work(struct ssw_area *area)
{
	struct ssw_slots *slots = area->slots;
	unsigned int nr;

	do {
		ssw_token_get(slots);
		nr = ssw_drain(slots, NULL, SSW_BY_DELEGATOR);
		ssw_slots_trim(slots);
		ssw_token_release(slots);
		if (nr)
			trace_scaleswap_drain(area->si->type, nr);
		cond_resched();
	} while (nr && !kthread_should_park());
	if (!list_empty(&slots->discard))
		ssw_discard_queue(area);
	/* If the CPU goes offline, ssw_delegd_park() finds what is left. */
	if (kthread_should_park())
		set_bit(area->si->type, this_cpu_ptr(&ssw_delegators)->pending);
}

static int ssw_delegd_should_run(unsigned int cpu)
{
	return !bitmap_empty(per_cpu(ssw_delegators, cpu).pending, MAX_SWAPFILES);
}

static void ssw_delegd_fn(unsigned int cpu)
{
	struct ssw_delegator *d = per_cpu_ptr(&ssw_delegators, cpu);
	unsigned int type;

	for_each_set_bit(type, d->pending, MAX_SWAPFILES) {
		struct swap_info_struct *si;
		struct ssw_area *area;

		clear_bit(type, d->pending);
		/* The reference keeps a swapoff from completing meanwhile. */
		si = swp_swap_info(swp_entry(type, 0));
		if (!si || !percpu_ref_tryget_live(&si->users))
			continue;
		area = ssw_area_held(type);
		if (area && area->slots)
			ssw_area_work(area);
		percpu_ref_put(&si->users);
	}
}

/* Pass on what is left to other CPUs: this one goes offline. */
static void ssw_delegd_park(unsigned int cpu)
{
	struct ssw_delegator *d = per_cpu_ptr(&ssw_delegators, cpu);
	unsigned int type;

	for_each_set_bit(type, d->pending, MAX_SWAPFILES) {
		struct ssw_area *area;

		rcu_read_lock();
		area = rcu_dereference(ssw_areas[type]);
		if (area && area->slots && test_and_clear_bit(type, d->pending))
			mod_timer(&area->timer, jiffies + SSW_IDLE_DELAY);
		rcu_read_unlock();
	}
}

static struct smp_hotplug_thread ssw_delegd_threads = {
	.store			= &ssw_delegators.task,
	.thread_should_run	= ssw_delegd_should_run,
	.thread_fn		= ssw_delegd_fn,
	.park			= ssw_delegd_park,
	.thread_comm		= "ssw_deleg/%u",
};

/**
 * ssw_delegd_init - start the delegator kthreads
 *
 * Context: boot, process context.
 * Return: 0 or a negative errno.
 */
int __init ssw_delegd_init(void)
{
	return smpboot_register_percpu_thread(&ssw_delegd_threads);
}
