// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated IAA device: descriptors that take as long as is asked for. See sim.h
 *
 * A descriptor is worked for at its doorbell, and withheld until engines that took @latency for
 * each would have done it. The clock has stopped whenever the simulation works. So a bench sees how
 * much of a device's time a driver uses, on one CPU that does all.
 */
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <asm/tsc.h>

#include "idxd.h"
#include "registers.h"
#include "sim.h"

/* Set the timer for what ends next; @now by the clock without the simulation. */
static void sim_held_start(struct idxd_sim *sim, u64 now)
{
	u64 due = sim->held[sim->held_head % SIM_DEPTH].due;
	u64 cycles = due > now ? due - now : 0;

	hrtimer_start(&sim->timer, ns_to_ktime(div_u64(cycles * USEC_PER_SEC, tsc_khz)),
		      HRTIMER_MODE_REL);
}

static enum hrtimer_restart sim_held_timer(struct hrtimer *timer)
{
	struct idxd_sim *sim = container_of(timer, struct idxd_sim, timer);
	u64 start = get_cycles(), now;
	unsigned long flags;

	spin_lock_irqsave(&sim->lock, flags);
	now = start - sim->at_once_cycles;
	while (sim->held_head != sim->held_tail) {
		struct sim_held *held = &sim->held[sim->held_head % SIM_DEPTH];

		if (held->due > now)
			break;
		sim->held_head++;
		held->queue->busy--;
		sim_end(sim, &held->desc, &held->record, held->status);
	}
	/* Those that wait look at queues under the lock that is held here. */
	if (waitqueue_active(&sim->ended))
		wake_up_all(&sim->ended);
	if (sim->held_head != sim->held_tail)
		sim_held_start(sim, now);
	/* Without a simulation there would be no interrupt. */
	sim->at_once_cycles += get_cycles() - start + sim->irq_cycles;
	spin_unlock_irqrestore(&sim->lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * sim_held_calibrate - see what an interrupt costs before and after its handler
 * @sim: the device, which nobody uses
 *
 * Its timer interrupts a loop, in which that is the longest turn. The least of several is taken, as
 * other interrupts may come meanwhile.
 *
 * Context: may sleep.
 */
void sim_held_calibrate(struct idxd_sim *sim)
{
	u64 least = U64_MAX, had, last, most, normal, now, start;

	sim->irq_cycles = 0;
	for (int i = 0; i < 16; i++) {
		preempt_disable();
		had = READ_ONCE(sim->at_once_cycles);
		hrtimer_start(&sim->timer, ns_to_ktime(10 * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED);
		most = 0;
		normal = U64_MAX;
		start = get_cycles();
		last = start;
		do {
			now = get_cycles();
			most = max(most, now - last);
			normal = min(normal, now - last);
			last = now;
		} while (READ_ONCE(sim->at_once_cycles) == had || now - start < tsc_khz / 10);
		preempt_enable();
		most -= min(most, normal + READ_ONCE(sim->at_once_cycles) - had);
		least = min(least, most);
	}
	sim->irq_cycles = least;
}

/**
 * sim_hold - withhold how a descriptor has ended
 * @sim: the device, locked
 * @queue: where it came from
 * @arrived: when, in cycles without those of the simulation
 * @held: the descriptor, and how it has ended, which are copied
 *
 * Context: any, while the clock stands still.
 */
void sim_hold(struct idxd_sim *sim, struct sim_queue *queue, u64 arrived,
	      const struct sim_held *held)
{
	struct sim_held *at = &sim->held[sim->held_tail % SIM_DEPTH];
	unsigned int best = SIM_ENGINES, i;

	lockdep_assert_held(&sim->lock);
	for_each_set_bit(i, &queue->engines, SIM_ENGINES)
		if (best == SIM_ENGINES || sim->free_at[i] < sim->free_at[best])
			best = i;
	*at = *held;
	at->queue = queue;
	at->due = max(arrived, sim->free_at[best]) + sim->latency;
	sim->free_at[best] = at->due;
	sim->held_tail++;
	queue->busy++;
}

/**
 * sim_held_stop - let the clock stand still
 * @sim: the device, locked
 *
 * Context: any.
 */
void sim_held_stop(struct idxd_sim *sim)
{
	lockdep_assert_held(&sim->lock);
	if (sim->held_head != sim->held_tail)
		hrtimer_try_to_cancel(&sim->timer);
}

/**
 * sim_held_go - let the clock go on, and see that what is withheld ends in time
 * @sim: the device, locked
 * @now: what the clock says
 *
 * Context: any.
 */
void sim_held_go(struct idxd_sim *sim, u64 now)
{
	lockdep_assert_held(&sim->lock);
	if (sim->held_head != sim->held_tail)
		sim_held_start(sim, now);
}

/**
 * sim_held_drop - forget what is withheld
 * @sim: the device, locked
 * @queue: of which queue
 *
 * Context: any.
 */
void sim_held_drop(struct idxd_sim *sim, struct sim_queue *queue)
{
	unsigned int to = sim->held_head;

	lockdep_assert_held(&sim->lock);
	for (unsigned int i = to; i != sim->held_tail; i++) {
		struct sim_held *held = &sim->held[i % SIM_DEPTH];

		if (held->queue == queue) {
			queue->busy--;
			sim_leave(sim, SIM_ABORTED);
		} else {
			sim->held[to++ % SIM_DEPTH] = *held;
		}
	}
	sim->held_tail = to;
}

/**
 * sim_held_init - make room for what is withheld
 * @sim: the device
 *
 * Context: probe.
 * Return: 0, or -ENOMEM.
 */
int sim_held_init(struct idxd_sim *sim)
{
	sim->held = kvcalloc(SIM_DEPTH, sizeof(*sim->held), GFP_KERNEL);
	hrtimer_init(&sim->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	sim->timer.function = sim_held_timer;
	return sim->held ? 0 : -ENOMEM;
}

/**
 * sim_held_exit - free that
 * @sim: the device, whose queues are empty and disabled
 *
 * Context: may sleep.
 */
void sim_held_exit(struct idxd_sim *sim)
{
	if (sim->held)
		hrtimer_cancel(&sim->timer);
	kvfree(sim->held);
}
