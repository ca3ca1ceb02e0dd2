// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the swap cache of per-core areas, in the tables of their clusters.
 */

/**
 * DOC: The swap cache of per-core areas
 *
 * The base kernel keeps folios in the swap cache, and the shadow entries of evicted ones, in
 * an xarray for each address space. A per-core area has one address space for each cluster,
 * and a cluster in use has a table. So the table can have one pointer for each slot: to the
 * folio, or a shadow entry, or NULL. Nothing is allocated for it when a page is swapped, it
 * has no nodes to be shrunk, and its end is that of the table.
 *
 * 1. Only the thread that set SSW_WORD_CACHE in the slot's word adds a folio. It has the
 *    folio locked. As long as the folio is in the swap cache, only a thread that has it
 *    locked changes the pointer. So changes need no lock, and i_pages stays empty.
 * 2. Readers hold no lock, either. They get a reference on the folio, and then see that the
 *    pointer is still the same, as filemap_get_entry() does. A folio whose references are
 *    frozen has none to give; they try again until the pointer has changed. Therefore
 *    interrupts are off while a folio is frozen.
 * 3. A slot that becomes free has no pointer: its last user clears the shadow entry,
 *    ssw_cache_clear().
 * 4. The table stays as long as a slot of it is in use; RCU keeps it for readers that have
 *    no slot.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/xarray.h>

#include "../swap.h"
#include "internal.h"

static_assert(SCALESWAP_SWAPCACHE_SHIFT == SSW_CLUSTER_SHIFT);
static_assert(SSW_CLUSTER_SLOTS * sizeof(void *) <= PAGE_SIZE);

/* Get the pointers of an entry's slots. The slots are in use. */
static void **ssw_cache(swp_entry_t entry)
{
	struct ssw_slots *slots = ssw_area_held(swp_type(entry))->slots;
	struct ssw_cluster *ci = ssw_slot_cluster(slots, swp_offset(entry));

	return rcu_dereference_raw(ci->table)->cache + swp_offset(entry) % SSW_CLUSTER_SLOTS;
}

/**
 * ssw_cache_init - connect the address spaces of an area with its clusters
 * @area: a per-core area that is about to be enabled
 *
 * Context: process context; no slot was allocated yet, or this was done before.
 */
void ssw_cache_init(struct ssw_area *area)
{
	struct address_space *space = swapper_spaces[area->si->type];

	for (unsigned int i = 0; i < area->slots->nr_clusters; i++)
		space[i].i_private_data = &area->slots->cluster[i];
}

/* See scaleswap_cache_get(). */
void *__scaleswap_cache_get(struct address_space *mapping, pgoff_t index)
{
	struct ssw_cluster *ci = mapping->i_private_data;
	struct ssw_table *table;
	void *at = NULL;

	rcu_read_lock();
	table = rcu_dereference(ci->table);
	while (table) {
		at = READ_ONCE(table->cache[index]);
		if (!at || xa_is_value(at))
			break;
		if (likely(folio_try_get(at))) {
			if (likely(at == READ_ONCE(table->cache[index])))
				break;
			folio_put(at);
		}
		cpu_relax();
	}
	rcu_read_unlock();
	return at;
}

/**
 * ssw_cache_shadow - look up the shadow entry of a slot
 * @slots: the area's slots
 * @slot: a slot, in use or not
 *
 * Context: any.
 * Return: the shadow entry, or NULL.
 */
void *ssw_cache_shadow(struct ssw_slots *slots, unsigned long slot)
{
	struct ssw_table *table;
	void *at = NULL;

	rcu_read_lock();
	/* cachestat() has only seen the entry, so the whole cluster may have become free since. */
	table = ssw_slot_table(slots, slot);
	if (table)
		at = READ_ONCE(table->cache[slot % SSW_CLUSTER_SLOTS]);
	rcu_read_unlock();
	return xa_is_value(at) ? at : NULL;
}

/* See scaleswap_cache_shadow(). */
void *__scaleswap_cache_shadow(swp_entry_t entry)
{
	return ssw_cache_shadow(ssw_area_held(swp_type(entry))->slots, swp_offset(entry));
}

/**
 * scaleswap_cache_add - add a folio to the swap cache of a per-core area
 * @folio: locked, not in the swap cache
 * @entry: its first slot; the caller has set SWAP_HAS_CACHE for all of them
 * @shadowp: set to a shadow entry if there is one; may be NULL
 *
 * As add_to_swap_cache(), but it cannot fail.
 *
 * Context: process context, interrupts on.
 */
void scaleswap_cache_add(struct folio *folio, swp_entry_t entry, void **shadowp)
{
	long nr = folio_nr_pages(folio);
	void **at = ssw_cache(entry);

	folio_ref_add(folio, nr);
	folio_set_swapcache(folio);
	folio->swap = entry;
	for (long i = 0; i < nr; i++) {
		void *old = at[i];

		if (shadowp && old)
			*shadowp = old;
		/* Rule 3: a slot that was free a moment ago has none. */
		WARN_ON_ONCE(!shadowp && old);
		/* Readers see a folio that is locked and has its flags. */
		smp_store_release(&at[i], folio);
	}
	local_irq_disable();
	__node_stat_mod_folio(folio, NR_FILE_PAGES, nr);
	__lruvec_stat_mod_folio(folio, NR_SWAPCACHE, nr);
	local_irq_enable();
}

/**
 * scaleswap_cache_delete - take a folio out of the swap cache of a per-core area
 * @folio: locked, in the swap cache
 * @entry: its first slot
 * @shadow: what to leave in its place, or NULL
 *
 * As __delete_from_swap_cache().
 *
 * Context: interrupts off.
 */
void scaleswap_cache_delete(struct folio *folio, swp_entry_t entry, void *shadow)
{
	long nr = folio_nr_pages(folio);
	void **at = ssw_cache(entry);

	for (long i = 0; i < nr; i++) {
		VM_WARN_ON_ONCE_FOLIO(at[i] != folio, folio);
		WRITE_ONCE(at[i], shadow);
	}
	folio->swap.val = 0;
	folio_clear_swapcache(folio);
	__node_stat_mod_folio(folio, NR_FILE_PAGES, -nr);
	__lruvec_stat_mod_folio(folio, NR_SWAPCACHE, -nr);
}

/* See scaleswap_cache_replace(). */
void __scaleswap_cache_replace(struct address_space *mapping, pgoff_t index,
			       struct folio *folio, long nr)
{
	struct ssw_cluster *ci = mapping->i_private_data;
	/* The folio that is replaced keeps the slots in use. */
	void **at = rcu_dereference_raw(ci->table)->cache + index;

	for (long i = 0; i < nr; i++) {
		/* As in scaleswap_cache_add(): readers see what the caller has set. */
		smp_store_release(&at[i], folio);
	}
}
