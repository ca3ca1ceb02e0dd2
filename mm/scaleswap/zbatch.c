// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap in batches: whether it is on, and its tunables.
 *
 * zswap-batch.c, a part of mm/zswap.c, does the work.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <crypto/acompress-batch.h>
#include <linux/init.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "zbatch.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_zbatch_key);

/* Pages that are stored at a time, from 1 to %SSW_ZBATCH_MAX */
unsigned int ssw_zbatch_store __read_mostly = SSW_ZBATCH_MAX;

/* Pages that readahead puts aside, from 1, which is none, to %SSW_ZLOAD_MAX */
unsigned int ssw_zbatch_load __read_mostly = SSW_ZLOAD_MAX;

/* Microseconds that a task spins for a batch before it sleeps, up to %SSW_ZSPIN_MAX */
unsigned int ssw_zbatch_spin __read_mostly = 50;

/* Loads what a task that sleeps has put aside. If there was no memory for it, nothing is. */
struct workqueue_struct *ssw_zload_wq;

/**
 * scaleswap_zunits_alloc - have what a compressor needs that takes batches
 * @units: set to that, or to NULL if it takes none, or zswap uses none
 * @acomp: the compressor
 * @node: where the memory is to be
 *
 * Context: process context; sleeps.
 * Return: 0 or -ENOMEM.
 */
int scaleswap_zunits_alloc(struct scaleswap_zunits **units, const struct crypto_acomp *acomp,
			   int node)
{
	struct scaleswap_zunits *new;

	*units = NULL;
	if (!scaleswap_zbatch_on() || crypto_acomp_batch_size(acomp) < 2)
		return 0;
	new = kzalloc_node(sizeof(*new), GFP_KERNEL, node);
	if (!new)
		return -ENOMEM;
	for (int i = 0; i < SSW_ZBATCH_MAX; i++) {
		new->buffer[i] = kmalloc_node(PAGE_SIZE, GFP_KERNEL, node);
		if (!new->buffer[i]) {
			scaleswap_zunits_free(new);
			return -ENOMEM;
		}
	}
	*units = new;
	return 0;
}

/**
 * scaleswap_zunits_free - free what scaleswap_zunits_alloc() has set
 * @units: that, or NULL
 *
 * Context: any.
 */
void scaleswap_zunits_free(struct scaleswap_zunits *units)
{
	for (int i = 0; units && i < SSW_ZBATCH_MAX; i++)
		kfree(units->buffer[i]);
	kfree(units);
}

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
