// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: counters.
 *
 * Counters are per CPU, because swapping pages out increments them. They are summed up only
 * when they are read.
 */
#include <linux/percpu.h>

#include "internal.h"

#include <trace/events/scaleswap.h>

DEFINE_PER_CPU(u64 [SSW_NR_STAT_ITEMS], ssw_stat);
DEFINE_PER_CPU(u64 [SSW_NR_FALLBACKS], ssw_fallback_stat);
DEFINE_PER_CPU(u64 [SSW_NR_DELEG_ITEMS], ssw_deleg_stat);

/* Longest queue of the areas that have been turned off; under ssw_mutex. */
static unsigned int ssw_queue_max;

/**
 * ssw_stat_read - sum up a counter over all CPUs
 * @item: the counter
 *
 * Context: any. Concurrent increments may be missed.
 * Return: pages or events since boot.
 */
u64 ssw_stat_read(enum ssw_stat_item item)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += data_race(per_cpu(ssw_stat[item], cpu));
	return sum;
}

/**
 * ssw_fallback_read - sum up the counter of a fallback over all CPUs
 * @reason: reason of the fallback
 *
 * Context: any. Concurrent increments may be missed.
 * Return: pages since boot; folios for SSW_FB_NO_SHARD.
 */
u64 ssw_fallback_read(enum ssw_fallback reason)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += data_race(per_cpu(ssw_fallback_stat[reason], cpu));
	return sum;
}

/**
 * ssw_deleg_read - sum up a counter of delegation over all CPUs
 * @item: the counter
 *
 * Context: any. Concurrent increments may be missed.
 * Return: events since boot.
 */
u64 ssw_deleg_read(enum ssw_deleg_item item)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += data_race(per_cpu(ssw_deleg_stat[item], cpu));
	return sum;
}

/**
 * ssw_queue_max_keep - remember the longest queue of an area that goes away
 * @nr: entries
 *
 * Context: ssw_mutex held.
 */
void ssw_queue_max_keep(unsigned int nr)
{
	lockdep_assert_held(&ssw_mutex);
	ssw_queue_max = max(ssw_queue_max, nr);
}

/**
 * ssw_queue_max_read - return the most entries ever found in the queue of an area
 *
 * Context: takes ssw_mutex.
 * Return: entries, since boot.
 */
unsigned int ssw_queue_max_read(void)
{
	unsigned int nr, type;

	mutex_lock(&ssw_mutex);
	nr = ssw_queue_max;
	for (type = 0; type < MAX_SWAPFILES; type++) {
		const struct ssw_area *area = ssw_area_locked(type);

		if (area && area->slots)
			nr = max(nr, READ_ONCE(area->slots->queue_max));
	}
	mutex_unlock(&ssw_mutex);
	return nr;
}

/**
 * ssw_area_stat_read - sum up an area's counters of allocation over all CPUs
 * @area: the area
 * @sum: its home and foreign are set, in pages since swapon
 *
 * Context: any in which @area cannot go away. Concurrent increments may be missed.
 */
void ssw_area_stat_read(const struct ssw_area *area, struct ssw_area_stat *sum)
{
	int cpu;

	sum->home = 0;
	sum->foreign = 0;
	for_each_possible_cpu(cpu) {
		const struct ssw_area_stat *s = per_cpu_ptr(area->stat, cpu);

		sum->home += data_race(s->home);
		sum->foreign += data_race(s->foreign);
	}
}

/**
 * ssw_fallback - count and trace a fallback
 * @cpu: the CPU that fell back
 * @reason: why
 * @order: order of the folio
 *
 * Context: any.
 */
void ssw_fallback(int cpu, enum ssw_fallback reason, unsigned int order)
{
	this_cpu_add(ssw_fallback_stat[reason], 1UL << order);
	trace_scaleswap_fallback(cpu, reason, order);
}
