// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how much swap space is left, counted without a shared cache line.
 */

/**
 * DOC: Counting free swap space
 *
 * The base kernel changes the one atomic nr_swap_pages with each page. For per-core areas
 * each CPU keeps up to 64 pages, allocated or freed, to itself and then passes them on. So
 * get_nr_swap_pages() and vm_swap_full() stay one read, and may be off by that much for each
 * possible CPU. /proc/meminfo adds what has not been passed on.
 *
 * When little is left, no CPU keeps anything back: then one page more or less decides
 * between swapping and the OOM killer.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/swap.h>

#include "internal.h"

/* Pages that a CPU keeps to itself at most. */
#define SSW_NR_SWAP_BATCH		64

static DEFINE_PER_CPU(atomic_long_t, ssw_nr_swap);

static long ssw_nr_swap_low(void)
{
	return 4L * SSW_NR_SWAP_BATCH * nr_cpu_ids;
}

/**
 * ssw_nr_swap_flush - pass on what all CPUs have kept back
 *
 * Context: any but interrupts.
 */
void ssw_nr_swap_flush(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		atomic_long_t *count = per_cpu_ptr(&ssw_nr_swap, cpu);

		if (atomic_long_read(count))
			atomic_long_add(atomic_long_xchg(count, 0), &nr_swap_pages);
	}
}

/**
 * ssw_nr_swap_check - ensure that CPUs keep nothing back when little is left
 *
 * For allocations from plain areas, which do not go through ssw_nr_swap_add().
 * These happen without any per-core area, or after ssw_nr_swap_flush(), when all of
 * them are full. The check covers CPUs that have freed in per-core areas since.
 *
 * Context: any but interrupts.
 */
void ssw_nr_swap_check(void)
{
	static bool was_low;
	bool low = atomic_long_read(&nr_swap_pages) < ssw_nr_swap_low();

	if (low == READ_ONCE(was_low))
		return;
	WRITE_ONCE(was_low, low);
	if (low)
		ssw_nr_swap_flush();
}

/**
 * ssw_nr_swap_add - count swap pages that were freed or allocated
 * @pages: number freed, or if negative, allocated
 *
 * Context: any but interrupts; the task may move to another CPU meanwhile.
 */
void ssw_nr_swap_add(long pages)
{
	atomic_long_t *count = raw_cpu_ptr(&ssw_nr_swap);
	long kept = atomic_long_add_return(pages, count);
	long low = ssw_nr_swap_low();
	long left;

	/*
	 * Either this CPU sees that little is left, or the CPU that made it
	 * little sees in ssw_nr_swap_flush() what was added above: both are
	 * full barriers.
	 */
	if (abs(kept) < SSW_NR_SWAP_BATCH && atomic_long_read(&nr_swap_pages) >= low)
		return;
	kept = atomic_long_xchg(count, 0);
	if (!kept)
		return;
	left = atomic_long_add_return(kept, &nr_swap_pages);
	if (left < low && left - kept >= low)
		ssw_nr_swap_flush();
}

/*
 * See scaleswap_free_pages(). Pages that move from a CPU to nr_swap_pages meanwhile
 * may be missed or counted twice.
 */
unsigned long __scaleswap_free_pages(unsigned long free, unsigned long total)
{
	long sum = free + ssw_drain_withheld();
	int cpu;

	for_each_possible_cpu(cpu)
		sum += atomic_long_read(per_cpu_ptr(&ssw_nr_swap, cpu));
	return clamp_t(long, sum, 0, total);
}
