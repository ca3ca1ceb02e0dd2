// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: slot words and the tables that hold them.
 *
 * A table is a page of words for one cluster. The cluster gets it for its first slot
 * in use and loses it after the last one, so memory follows what is swapped out.
 * Words change by compare-and-exchange, without a lock, on any CPU. slot.h says
 * what a word may become, and slot_types.h which CPU may change it.
 *
 * This file, cluster.c and deleg.c also build in user space, where they run
 * under ThreadSanitizer: see tools/testing/scaleswap.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "slot.h"

static_assert(SSW_CLUSTER_SLOTS * sizeof(atomic64_t) == PAGE_SIZE);

static struct kmem_cache *ssw_table_cachep;

/**
 * ssw_table_init - create the slab cache of tables
 *
 * Context: boot.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_table_init(void)
{
	ssw_table_cachep = KMEM_CACHE(ssw_table, 0);
	return ssw_table_cachep ? 0 : -ENOMEM;
}

/**
 * ssw_table_alloc - allocate a table with all words free
 * @more: what is allowed beside %GFP_NOWAIT
 *
 * Swap space is allocated to free memory, so this must not wait for memory to become free. For
 * that it may use the reserves (%__GFP_HIGH), as the rest of swap-out does. A mover may not.
 *
 * Context: any but with a token held; does not sleep, unless @more says so.
 * Return: the table, or NULL.
 */
struct ssw_table *ssw_table_alloc(gfp_t more)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_ZERO | more;
	struct ssw_table *table;

	table = kmem_cache_alloc(ssw_table_cachep, gfp);
	if (!table)
		return NULL;
	table->word = (atomic64_t *)__get_free_page(gfp);
	table->cache = (void **)__get_free_page(gfp);
	if (!table->word || !table->cache) {
		ssw_table_free(table);
		return NULL;
	}
	return table;
}

/**
 * ssw_table_free - free a table that no other CPU can see
 * @table: the table, or NULL
 *
 * Context: any but with a token held.
 */
void ssw_table_free(struct ssw_table *table)
{
	if (!table)
		return;
	free_page((unsigned long)table->word);
	free_page((unsigned long)table->cache);
	kmem_cache_free(ssw_table_cachep, table);
}

static void ssw_table_rcu(struct rcu_head *rcu)
{
	ssw_table_free(container_of(rcu, struct ssw_table, rcu));
}

/**
 * ssw_table_free_rcu - free a table after its last reader
 * @table: the table, no longer reachable
 *
 * Readahead looks at slots that it holds no reference on. So a table must not
 * serve another cluster before these readers are done.
 *
 * Context: any but with a token held.
 */
void ssw_table_free_rcu(struct ssw_table *table)
{
	call_rcu(&table->rcu, ssw_table_rcu);
}

/**
 * ssw_slot_next - find the next slot that is in use
 * @slots: the area's slots
 * @slot: where to begin
 *
 * Context: RCU read side. Looks at one cluster at most, so that the caller can
 * leave the read side in between.
 * Return: the slot, or the first of the next cluster if there is none in this
 * one. The slot may be free by now, or not exist: ssw_slot_read() tells.
 */
unsigned long ssw_slot_next(struct ssw_slots *slots, unsigned long slot)
{
	struct ssw_table *table = ssw_slot_table(slots, slot);
	unsigned int at = slot % SSW_CLUSTER_SLOTS;
	unsigned long base = slot - at;

	for (; table && at < SSW_CLUSTER_SLOTS; at++) {
		u64 word = atomic64_read(&table->word[at]);

		if (word != SSW_WORD_FREE && word != SSW_WORD_BAD)
			return base + at;
	}
	return base + SSW_CLUSTER_SLOTS;
}
