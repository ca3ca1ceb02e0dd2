// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap in batches: whether it is on, and its tunables.
 *
 * zswap-batch.c, a part of mm/zswap.c, does the work.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/init.h>
#include <linux/workqueue.h>

#include "zbatch.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_zbatch_key);

/* Pages that are stored at a time, from 1 to %SSW_ZBATCH_MAX */
unsigned int ssw_zbatch_store __read_mostly = SSW_ZBATCH_MAX;

/* Pages that readahead puts aside, from 1, which is none, to %SSW_ZLOAD_MAX */
unsigned int ssw_zbatch_load __read_mostly = SSW_ZLOAD_MAX;

/* Loads what a task that sleeps has put aside. If there was no memory for it, nothing is. */
struct workqueue_struct *ssw_zload_wq;

/* An initcall before anything is swapped: what an entry's length means changes. */
static int __init ssw_zbatch_init(void)
{
	if (ssw_boot_has(SSW_MECH_ZBATCH) && scaleswap_on())
		static_branch_enable(&scaleswap_zbatch_key);
	return 0;
}
fs_initcall(ssw_zbatch_init);

static int __init ssw_zload_init(void)
{
	if (!scaleswap_zbatch_on())
		return 0;
	/* Others may wait for these pages, and reclaim for them. */
	ssw_zload_wq = alloc_workqueue("scaleswap_zload", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI,
				       0);
	if (!ssw_zload_wq)
		pr_warn("no memory for a workqueue: zswap loads pages one by one\n");
	return 0;
}
late_initcall(ssw_zload_init);
