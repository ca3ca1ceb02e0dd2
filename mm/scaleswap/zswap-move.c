// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: entries of zswap move with their slots.
 *
 * mm/zswap.c includes this file, which uses its static functions.
 *
 * The slot to which an entry moves is the mover's alone, so its place in a tree is reserved
 * beforehand, where memory may be allocated. Writeback that has looked at an entry before it was
 * moved finds the old slot free, or in use for something else, and the entry not in its tree.
 */

#ifdef CONFIG_SCALESWAP_DEFRAG

#include "move.h"

/**
 * scaleswap_zswap_has - check whether zswap has the page of a slot
 * @entry: the slot
 *
 * Context: any; the slot is in use.
 * Return: true if it has.
 */
bool scaleswap_zswap_has(swp_entry_t entry)
{
	return xa_load(swap_zswap_tree(entry), swap_cache_index(entry));
}

/**
 * scaleswap_zswap_reserve - make sure that an entry can be moved to a slot
 * @entry: the slot, in use by nobody else
 *
 * Context: process context; allocates without waiting.
 * Return: 0 or -ENOMEM.
 */
int scaleswap_zswap_reserve(swp_entry_t entry)
{
	return xa_reserve(swap_zswap_tree(entry), swap_cache_index(entry),
			  GFP_NOWAIT | __GFP_NOWARN);
}

/**
 * scaleswap_zswap_unreserve - give back what scaleswap_zswap_reserve() has made sure of
 * @entry: the slot
 *
 * Context: process context.
 */
void scaleswap_zswap_unreserve(swp_entry_t entry)
{
	xa_release(swap_zswap_tree(entry), swap_cache_index(entry));
}

/**
 * scaleswap_zswap_move - move an entry to another slot
 * @from: its slot, which the caller is about to free
 * @to: a slot that was reserved
 *
 * Context: any but interrupts; a page table lock may be held. Nobody else uses either slot.
 */
void scaleswap_zswap_move(swp_entry_t from, swp_entry_t to)
{
	struct zswap_entry *entry = xa_erase(swap_zswap_tree(from), swap_cache_index(from));

	if (WARN_ON_ONCE(!entry))
		return;
	/* Writeback reads it under the lock of its LRU list only. */
	WRITE_ONCE(entry->swpentry, to);
	/* It allocates nothing, as the place is reserved. */
	WARN_ON_ONCE(xa_is_err(xa_store(swap_zswap_tree(to), swap_cache_index(to), entry, 0)));
}

#endif /* CONFIG_SCALESWAP_DEFRAG */
