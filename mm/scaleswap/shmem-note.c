// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: where slots of shmem are.
 *
 * mm/shmem.c includes this file, which uses its static functions.
 *
 * An inode gets a small number when a page of it is first swapped out to a per-core area, and keeps
 * it until it is evicted. The word of a slot has that number, and the index of the page in the file
 * (slot.h). Unlike the note of a page table entry it mostly stays right: nothing moves an entry to
 * another index or file. But a large entry is that of its first page, and a page that was freed may
 * have left a number behind. So whoever follows a note looks if the entry is there.
 */

#ifdef CONFIG_SCALESWAP

#include "internal.h"

static DEFINE_XARRAY_ALLOC1(ssw_inodes);
static u32 ssw_inode_next;

static u32 ssw_inode_id(struct shmem_inode_info *info)
{
	lockdep_assert_held(&shmem_swaplist_mutex);
	/* The value is 1, no error, when numbers begin at 1 again. */
	if (!info->scaleswap_id &&
	    xa_alloc_cyclic(&ssw_inodes, &info->scaleswap_id, info, XA_LIMIT(1, SSW_WORD_MM_MAX),
			    &ssw_inode_next, GFP_NOWAIT | __GFP_HIGH | __GFP_NOWARN) < 0)
		info->scaleswap_id = 0;
	return info->scaleswap_id;
}

/* See scaleswap_shmem_alloc(). */
void __scaleswap_shmem_alloc(swp_entry_t entry, int nr, struct inode *inode, pgoff_t index)
{
	u32 id = ssw_inode_id(SHMEM_I(inode));

	/* No number, or an index that does not fit */
	if (!ssw_word_has_note(ssw_word_shmem(id, index + nr - 1)))
		ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_RMAP, 0);
	ssw_dup_shmem(entry, nr, id, index);
}

/* See scaleswap_shmem_evict(). */
void __scaleswap_shmem_evict(struct inode *inode)
{
	struct shmem_inode_info *info = SHMEM_I(inode);

	if (!info->scaleswap_id)
		return;
	xa_erase(&ssw_inodes, info->scaleswap_id);
	/* Nobody finds it any more. Who has found it may be at work. */
	wait_var_event(&info->stop_eviction, !atomic_read(&info->stop_eviction));
}

/**
 * scaleswap_shmem_swapin - get a page of shmem into memory that a slot's note names
 * @entry: the slot
 * @word: its word
 *
 * As shmem_unuse() does for all pages: the page cache gets it, and the slot is freed. If the device
 * fails to read it, a marker is put in its place.
 *
 * Context: process context, sleeps.
 * Return: 0; -ENOENT if there is no such inode any more; -EEXIST if the entry is not there;
 * -ENOMEM; -EIO.
 */
int scaleswap_shmem_swapin(swp_entry_t entry, u64 word)
{
	struct folio *folio = swp_to_radix_entry(entry);
	struct shmem_inode_info *info;
	struct inode *inode;
	int err;

	xa_lock(&ssw_inodes);
	info = xa_load(&ssw_inodes, ssw_word_mm(word));
	if (info)
		atomic_inc(&info->stop_eviction);
	xa_unlock(&ssw_inodes);
	if (!info)
		return -ENOENT;
	inode = &info->vfs_inode;
	err = shmem_swapin_folio(inode, ssw_word_vpn(word), &folio, SGP_CACHE,
				 mapping_gfp_mask(inode->i_mapping), NULL, NULL);
	if (!err) {
		folio_unlock(folio);
		folio_put(folio);
	}
	/* The inode may be gone after that: only the address is used. */
	if (atomic_dec_and_test(&info->stop_eviction))
		wake_up_var(&info->stop_eviction);
	return err;
}

#ifdef CONFIG_SCALESWAP_DEFRAG
/**
 * scaleswap_shmem_replace - have a file refer to another slot
 * @from: the slot that it refers to
 * @to: the other one
 * @word: the word of @from
 * @claim: called when it does refer to @from, with the lock of the page cache held and interrupts
 *	   off; returns false to leave it so
 * @arg: for @claim
 *
 * A fault that has found @from in the page cache, and then that the slot is not in use, looks again
 * under that lock (scaleswap_shmem_settle()).
 *
 * Context: process context.
 * Return: 0; -ENOENT if there is no such inode any more; -EEXIST if the entry is not there; -EMLINK
 * if it is a large one; -EAGAIN if @claim said no.
 */
int scaleswap_shmem_replace(swp_entry_t from, swp_entry_t to, u64 word, bool (*claim)(void *arg),
			    void *arg)
{
	struct shmem_inode_info *info;
	int err = 0;

	/* It keeps the inode: __scaleswap_shmem_evict() takes it, too. */
	xa_lock(&ssw_inodes);
	info = xa_load(&ssw_inodes, ssw_word_mm(word));
	if (info) {
		XA_STATE(xas, &info->vfs_inode.i_mapping->i_pages, ssw_word_vpn(word));
		void *entry;

		xas_lock_irq(&xas);
		entry = xas_load(&xas);
		/* One for several pages says where the first one is. */
		if (xa_is_value(entry) && xas_get_order(&xas))
			err = -EMLINK;
		else if (entry != swp_to_radix_entry(from))
			err = -EEXIST;
		else if (!claim(arg))
			err = -EAGAIN;
		else
			xas_store(&xas, swp_to_radix_entry(to));
		xas_unlock_irq(&xas);
	} else {
		err = -ENOENT;
	}
	xa_unlock(&ssw_inodes);
	return err;
}
#endif /* CONFIG_SCALESWAP_DEFRAG */

#endif /* CONFIG_SCALESWAP */
