// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: setting up the slots of a per-core area, and letting them go.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "internal.h"

static int ssw_bad_cmp(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Slot 0 is the header; the rest is what the header says. Duplicates count once. */
static int ssw_space_bad(struct ssw_space *space, const u32 *bad,
			 unsigned int nr_bad)
{
	unsigned int i, nr = 0;

	space->bad = kvmalloc_array(nr_bad + 1, sizeof(*space->bad), GFP_KERNEL);
	if (!space->bad)
		return -ENOMEM;
	space->bad[nr++] = 0;
	for (i = 0; i < nr_bad; i++) {
		if (bad[i] < space->nr_slots)
			space->bad[nr++] = bad[i];
	}
	sort(space->bad, nr, sizeof(*space->bad), ssw_bad_cmp, NULL);
	for (i = 0; i < nr; i++) {
		if (i && space->bad[i] == space->bad[i - 1])
			continue;
		space->bad[space->nr_bad++] = space->bad[i];
		ssw_slot_cluster(space, space->bad[i])->nr_bad++;
	}
	/* The last cluster is counted as whole. */
	i = space->nr_slots % SSW_CLUSTER_SLOTS;
	if (i)
		space->cluster[space->nr_clusters - 1].nr_bad += SSW_CLUSTER_SLOTS - i;
	return 0;
}

/**
 * ssw_space_alloc - set up the slots of an area, all free
 * @nr_slots: how many, with the header and bad ones
 * @bad: numbers of bad slots, in any order
 * @nr_bad: how many
 *
 * Context: process context, may sleep.
 * Return: the slots, or ERR_PTR(-ENOMEM).
 */
struct ssw_space *ssw_space_alloc(unsigned int nr_slots, const u32 *bad,
				  unsigned int nr_bad)
{
	struct ssw_space *space;

	space = kzalloc(sizeof(*space), GFP_KERNEL);
	if (!space)
		return ERR_PTR(-ENOMEM);
	space->nr_slots = nr_slots;
	space->nr_clusters = DIV_ROUND_UP(nr_slots, SSW_CLUSTER_SLOTS);
	space->cluster = kvcalloc(space->nr_clusters, sizeof(*space->cluster),
				  GFP_KERNEL);
	if (!space->cluster || ssw_space_bad(space, bad, nr_bad)) {
		ssw_space_free(space);
		return ERR_PTR(-ENOMEM);
	}
	/* Until it is enabled. */
	space->closed = true;
	ssw_space_lists_init(space);
	ssw_token_init(space);
	return space;
}

/**
 * ssw_space_free - free the slots of an area
 * @space: the slots, that nobody can see any more; or NULL
 *
 * Context: process context.
 */
void ssw_space_free(struct ssw_space *space)
{
	unsigned int i, used = 0;

	if (!space)
		return;
	for (i = 0; space->cluster && i < space->nr_clusters; i++) {
		struct ssw_cluster *ci = &space->cluster[i];

		used += atomic_read(&ci->used);
		ssw_table_free(rcu_dereference_protected(ci->table, 1));
	}
	WARN_ONCE(used, "scaleswap: %u slots still in use\n", used);
	kvfree(space->cluster);
	kvfree(space->bad);
	kfree(space);
}

/**
 * ssw_space_bytes - how much memory the slots of an area take
 * @space: the slots
 *
 * Context: any in which @space cannot go away.
 * Return: bytes, with the bitmap of zero-filled slots and the heads of the swap
 * cache that each area has.
 */
size_t ssw_space_bytes(const struct ssw_space *space)
{
	size_t table = sizeof(struct ssw_table) +
		       SSW_CLUSTER_SLOTS * sizeof(atomic64_t);

	return sizeof(*space) + space->nr_clusters * sizeof(*space->cluster) +
	       (space->nr_bad + 1) * sizeof(*space->bad) +
	       BITS_TO_LONGS(space->nr_slots) * sizeof(long) +
	       space->nr_clusters * sizeof(struct address_space) +
	       READ_ONCE(space->nr_tables) * table;
}
