// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: memory pressure, measured without a lock.
 */

/**
 * DOC: Memory pressure
 *
 * After each pass over a memory cgroup, reclaim tells vmpressure() how many pages it has
 * scanned and reclaimed. Once 512 are scanned, the window is full: the ratio of the two tells
 * the pressure. The base kernel adds them up under a lock of the cgroup. With LRU shards CPUs
 * reclaim pages of one cgroup at the same time, and meet there.
 *
 * Both sums of a window fit into one word, so one exchange adds to them, and one exchange takes
 * them and begins the next window. No page is counted late or twice, so windows are those of
 * the base kernel. A sum stays at 2^32 - 1 pages, should the work that takes it be late by 16
 * TiB.
 */
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "internal.h"

/* See scaleswap_pressure_add(). */
void __scaleswap_pressure_add(unsigned long *window, unsigned long *scanned,
			      unsigned long *reclaimed, unsigned long full)
{
	unsigned long old = READ_ONCE(*window), new;
	u64 sum_scanned, sum_reclaimed;

	BUILD_BUG_ON(sizeof(*window) != sizeof(u64));
	do {
		sum_scanned = min_t(u64, lower_32_bits(old) + (u64)*scanned, U32_MAX);
		sum_reclaimed = min_t(u64, upper_32_bits(old) + (u64)*reclaimed, U32_MAX);
		new = sum_scanned < full ? sum_reclaimed << 32 | sum_scanned : 0;
	} while (!try_cmpxchg(window, &old, new));
	*scanned = sum_scanned;
	*reclaimed = sum_reclaimed;
}
