// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: references on shrinkers, counted by each CPU.
 */

/**
 * DOC: References on shrinkers
 *
 * After each pass over a memory cgroup, reclaim calls the shrinkers that may have something of
 * that cgroup. It takes a reference on each and drops it afterwards. The base kernel has one
 * count a shrinker for all CPUs, so CPUs that reclaim meet there twice for every few pages.
 *
 * Here a shrinker has a count for each CPU. A reference may be dropped on another CPU than the
 * one that took it, so only the sum of these counts has a meaning. The base kernel's count
 * stays 1 from shrinker_register() until shrinker_free() drops it. Reclaim only reads it.
 *
 * Reclaim adds 1 and then looks whether the base kernel's count is still 1. shrinker_free()
 * drops that count and then waits until the sum is 0. With a full barrier between the two
 * steps on both sides, at least one sees the other:
 *
 * 1. A reference that was given out while the count was 1 is in the sum. It leaves the sum when
 *    it is dropped, so a sum of 0 means that no callback of the shrinker runs.
 * 2. A reference that came too late is taken back on the same CPU, so it never makes the sum
 *    smaller, and whoever waits for the sum is woken.
 *
 * A shrinker takes 4 bytes more for each possible CPU. Each mounted file system has one.
 *
 * percpu_ref and percpu_rw_semaphore have no barrier for readers, but shrinker_free() would
 * have to wait for an RCU grace period. It is called whenever a file system is unmounted.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/shrinker.h>
#include <linux/wait_bit.h>

#include "shrinkref.h"

/* See scaleswap_shrinker_init(). */
bool __scaleswap_shrinker_init(struct shrinker *shrinker)
{
	shrinker->scaleswap_refs = alloc_percpu(unsigned int);
	return shrinker->scaleswap_refs;
}

/* See scaleswap_shrinker_exit(). */
void __scaleswap_shrinker_exit(struct shrinker *shrinker)
{
	free_percpu(shrinker->scaleswap_refs);
}

static unsigned int ssw_shrinker_refs(struct shrinker *shrinker)
{
	unsigned int sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(shrinker->scaleswap_refs, cpu));
	return sum;
}

/*
 * A count has become smaller. Under RCU, but with preemption on: the lock of the queue sleeps
 * with PREEMPT_RT.
 */
static void ssw_shrinker_wake(struct shrinker *shrinker)
{
	/* Pairs with the barrier in wait_var_event(): that sees the sum, or this sees who waits. */
	smp_mb();
	if (unlikely(!refcount_read(&shrinker->refcount)))
		wake_up_var(shrinker);
}

/* See scaleswap_shrinker_try_get(). */
bool __scaleswap_shrinker_try_get(struct shrinker *shrinker)
{
	bool live;

	/* A reference that is taken back leaves the count that it entered. */
	preempt_disable();
	this_cpu_inc(*shrinker->scaleswap_refs);
	/* A: either this sees that the shrinker goes away, or B is followed by a sum with this. */
	smp_mb();
	live = refcount_read(&shrinker->refcount);
	if (!live)
		this_cpu_dec(*shrinker->scaleswap_refs);
	preempt_enable();
	if (!live)
		ssw_shrinker_wake(shrinker);
	return live;
}

/* See scaleswap_shrinker_put(). */
void __scaleswap_shrinker_put(struct shrinker *shrinker)
{
	/* The shrinker is freed after an RCU grace period, so not before this ends. */
	rcu_read_lock();
	/* C: pairs with D. Who does not see the reference sees what was done with it. */
	smp_mb();
	this_cpu_dec(*shrinker->scaleswap_refs);
	ssw_shrinker_wake(shrinker);
	rcu_read_unlock();
}

/* See scaleswap_shrinker_drain(). */
void __scaleswap_shrinker_drain(struct shrinker *shrinker)
{
	/* B: pairs with A. */
	smp_mb();
	wait_var_event(shrinker, !ssw_shrinker_refs(shrinker));
	/* D: pairs with C. */
	smp_mb();
}
