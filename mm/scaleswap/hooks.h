/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: calls from the rest of mm; included by mm/internal.h and mm/swap.h.
 *
 * A call costs one static branch where ScaleSwap is off, and nothing without
 * CONFIG_SCALESWAP. <linux/scaleswap.h> is for the kernel outside of mm/, and
 * <linux/scaleswap_lru.h> has what <linux/memcontrol.h> needs inline.
 */
#ifndef _MM_SCALESWAP_HOOKS_H
#define _MM_SCALESWAP_HOOKS_H

#include <linux/gfp_types.h>
#include <linux/jump_label.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/mm_types.h>
#include <linux/scaleswap.h>
#include <linux/scaleswap_lru.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "evict_hooks.h"
#include "lru_hooks.h"
#include "zbatch_hooks.h"

struct inode;
struct mempolicy;
struct swap_iocb;
struct vm_fault;
struct writeback_control;
union swap_header;

/* --- areas and slots --------------------------------------------------------- */

/* log2 of the slots that share a swap address space and its lock: a cluster */
#define SCALESWAP_SWAPCACHE_SHIFT	9

/*
 * Operations of the swap code on per-core areas: on types for which
 * scaleswap_bound() is true. Without CONFIG_SCALESWAP it never is, so these are
 * declared but not called.
 */
void scaleswap_uncache(swp_entry_t entry, unsigned int nr);
int scaleswap_duplicate(swp_entry_t entry, unsigned char usage, int nr);
bool scaleswap_free(swp_entry_t entry, unsigned int nr);
int scaleswap_count(swp_entry_t entry);
bool scaleswap_has_cache(swp_entry_t entry);
bool scaleswap_only_cache(swp_entry_t entry, unsigned int nr);
bool scaleswap_swapped(swp_entry_t entry, unsigned int nr);
unsigned int scaleswap_next_inuse(struct swap_info_struct *si, unsigned int prev);
swp_entry_t scaleswap_alloc_type(unsigned int type);
unsigned short scaleswap_cgroup_record(swp_entry_t entry, unsigned short id,
				       unsigned int nr);
unsigned short scaleswap_cgroup_cmpxchg(swp_entry_t entry, unsigned short old,
					unsigned short new);
unsigned short scaleswap_cgroup_id(swp_entry_t entry);

void scaleswap_cache_add(struct folio *folio, swp_entry_t entry, void **shadowp);
void scaleswap_cache_delete(struct folio *folio, swp_entry_t entry, void *shadow);
void *__scaleswap_cache_get(struct address_space *mapping, pgoff_t index);
void *__scaleswap_cache_shadow(swp_entry_t entry);
void __scaleswap_cache_replace(struct address_space *mapping, pgoff_t index,
			       struct folio *folio, long nr);

#ifdef CONFIG_SCALESWAP

extern s16 scaleswap_home[];

int __scaleswap_swapon(struct swap_info_struct *si, const union swap_header *header);
void __scaleswap_enabled(struct swap_info_struct *si);
void __scaleswap_close(struct swap_info_struct *si);
void __scaleswap_swapoff(struct swap_info_struct *si);
int __scaleswap_dup_mapped(swp_entry_t entry, struct mm_struct *mm,
			   unsigned long addr);
void __scaleswap_shmem_alloc(swp_entry_t entry, int nr, struct inode *inode, pgoff_t index);
void __scaleswap_shmem_evict(struct inode *inode);
int __scaleswap_unuse(struct swap_info_struct *si);
unsigned int __scaleswap_inuse(const struct swap_info_struct *si);
bool __scaleswap_shown(const struct swap_info_struct *si);
unsigned long __scaleswap_free_pages(unsigned long free, unsigned long total);
bool __scaleswap_has_areas(void);
bool __scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry);
void __scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry);
void __scaleswap_table_full(void);
bool __scaleswap_throttle(void);

/* mm/swapfile.c, for ScaleSwap alone */
int swap_area_reclaim(struct swap_info_struct *si, unsigned long offset);
void swap_area_discard(struct swap_info_struct *si, pgoff_t start, pgoff_t nr);
int swap_area_unuse(struct mm_struct *mm, unsigned int type, unsigned long start,
		    unsigned long end);

/**
 * scaleswap_bound - check whether an area has a home CPU
 * @type: swap type of an area that is on or being turned on or off
 *
 * CPUs find a bound area through their area lists. It is never on the base
 * kernel's list of available areas.
 *
 * Context: any; the answer is stable from swapon's __scaleswap_swapon() to
 * swapoff's __scaleswap_swapoff().
 * Return: true for a per-core area, false for a plain one.
 */
static inline bool scaleswap_bound(unsigned int type)
{
	return static_branch_unlikely(&scaleswap_key) &&
	       READ_ONCE(scaleswap_home[type]) >= 0;
}

/**
 * scaleswap_swapcache_shift - get log2 of the slots of a swap address space
 * @shift: log2 of its slots without ScaleSwap
 *
 * Context: any. Changes only at boot, before there are areas.
 * Return: log2 of its slots.
 */
static inline unsigned int scaleswap_swapcache_shift(unsigned int shift)
{
	if (static_branch_unlikely(&scaleswap_key))
		return SCALESWAP_SWAPCACHE_SHIFT;
	return shift;
}

/**
 * scaleswap_swapcache_pages - get the number of slots of a swap address space
 * @pages: its slots without ScaleSwap
 *
 * Context: any. Changes only at boot, before there are areas.
 * Return: its slots.
 */
static inline unsigned long scaleswap_swapcache_pages(unsigned long pages)
{
	if (static_branch_unlikely(&scaleswap_key))
		return 1UL << SCALESWAP_SWAPCACHE_SHIFT;
	return pages;
}

/**
 * scaleswap_swapcache_index - find a slot's swap address space in its area
 * @offset: the slot
 * @shift: log2 of the slots of an address space without ScaleSwap
 *
 * As @offset >> scaleswap_swapcache_shift(@shift), but with ScaleSwap off the
 * shift is by a constant, as before.
 *
 * Context: any. Changes only at boot, before there are areas.
 * Return: the index.
 */
static inline pgoff_t scaleswap_swapcache_index(pgoff_t offset, unsigned int shift)
{
	if (static_branch_unlikely(&scaleswap_key))
		return offset >> SCALESWAP_SWAPCACHE_SHIFT;
	return offset >> shift;
}

/**
 * scaleswap_swapon - bind a new area as vm.scaleswap.bind says
 * @si: the area, its size known but without a swap map yet; its inode may be
 *      locked
 * @header: the contents of its first page
 *
 * scaleswap_bound() is true for a per-core area from here on. The area gets
 * everything that it needs instead of a swap map and of clusters.
 *
 * Context: process context, may sleep.
 * Return: 0, or a negative errno with which swapon has to fail. It is -ENOMEM, or
 * -EINVAL if the header lists impossible bad pages or leaves no good page.
 * scaleswap_swapoff() undoes this, and may be called whether this was or not.
 */
static inline int scaleswap_swapon(struct swap_info_struct *si,
				   const union swap_header *header)
{
	if (static_branch_unlikely(&scaleswap_key))
		return __scaleswap_swapon(si, header);
	return 0;
}

/**
 * scaleswap_enabled_area - let CPUs find an area that has just been enabled
 * @si: the area, SWP_WRITEOK set and its priority known
 *
 * Also called for an area that has been enabled again because swapoff failed.
 *
 * Context: process context, may sleep.
 */
static inline void scaleswap_enabled_area(struct swap_info_struct *si)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_enabled(si);
}

/**
 * scaleswap_close - stop allocation from an area that is being turned off
 * @si: the area, no longer SWP_WRITEOK
 *
 * Once it returns, no CPU takes a slot. scaleswap_enabled_area() undoes this.
 *
 * Context: process context, may sleep.
 */
static inline void scaleswap_close(struct swap_info_struct *si)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_close(si);
}

/**
 * scaleswap_dup_mapped - add a reference that a page table entry is to hold
 * @entry: the entry
 * @mm: the mm
 * @addr: the address in it
 *
 * As swap_duplicate(). For a per-core area it also notes the mm and address that
 * refer to the slot.
 *
 * Context: page table lock held.
 * Return: 0; for a plain area what swap_duplicate() returns.
 */
static inline int scaleswap_dup_mapped(swp_entry_t entry, struct mm_struct *mm,
				       unsigned long addr)
{
	if (scaleswap_bound(swp_type(entry)))
		return __scaleswap_dup_mapped(entry, mm, addr);
	return swap_duplicate(entry);
}

/**
 * scaleswap_shmem_alloc - add references that a shmem inode is to hold
 * @entry: the first entry
 * @nr: how many
 * @inode: the inode
 * @index: index of the first page in the file
 *
 * As swap_shmem_alloc(). For a per-core area it also notes the inode and index that refer to each
 * slot.
 *
 * Context: shmem_swaplist_mutex held. The slots are in the swap cache on behalf of the caller.
 */
static inline void scaleswap_shmem_alloc(swp_entry_t entry, int nr, struct inode *inode,
					 pgoff_t index)
{
	if (scaleswap_bound(swp_type(entry)))
		__scaleswap_shmem_alloc(entry, nr, inode, index);
	else
		swap_shmem_alloc(entry, nr);
}

/**
 * scaleswap_shmem_evict - forget the number of a shmem inode, and wait for who has found it by that
 * @inode: the inode, which has no pages any more
 *
 * Context: process context, may sleep.
 */
static inline void scaleswap_shmem_evict(struct inode *inode)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_shmem_evict(inode);
}

/**
 * scaleswap_shmem_settle - wait for a move of a slot that a file refers to
 * @mapping: the file's page cache
 *
 * After that, whoever has found a slot not in use finds another entry in the page cache than that
 * slot's.
 *
 * Context: process context.
 */
static inline void scaleswap_shmem_settle(struct address_space *mapping)
{
	if (static_branch_unlikely(&scaleswap_key)) {
		xa_lock_irq(&mapping->i_pages);
		xa_unlock_irq(&mapping->i_pages);
	}
}

/**
 * scaleswap_inuse - count the pages of an area that are in use
 * @si: the area
 *
 * Context: any. Zero is exact once no slot is allocated any more.
 * Return: pages.
 */
static inline unsigned int scaleswap_inuse(const struct swap_info_struct *si)
{
	if (scaleswap_bound(si->type))
		return __scaleswap_inuse(si);
	return READ_ONCE(si->inuse_pages);
}

/**
 * scaleswap_unuse - map the pages of an area for swapoff, where words say who refers to them
 * @si: the area, which is not allocated from any more
 *
 * What it leaves is found by the scan of all mms.
 *
 * Context: process context, sleeps.
 * Return: 0; -EINTR if the task has a signal and pages are left; -ENOMEM.
 */
static inline int scaleswap_unuse(struct swap_info_struct *si)
{
	return scaleswap_bound(si->type) ? __scaleswap_unuse(si) : 0;
}

/**
 * scaleswap_drains - check whether pages of an area are mapped while it stays on
 * @si: the area
 *
 * Then only those are that are in the swap cache: who drains it has read them, with the memory that
 * there is. One that could not be read stays where it is.
 *
 * Context: swapoff, or draining (drain.c).
 * Return: true if so; false in swapoff.
 */
static inline bool scaleswap_drains(const struct swap_info_struct *si)
{
	return scaleswap_bound(si->type) && (data_race(si->flags) & SWP_WRITEOK);
}

/**
 * scaleswap_shown - check whether to show an area in /proc/swaps
 * @si: the area
 *
 * Context: swapon_mutex held.
 * Return: true from when it is enabled until it is torn down.
 */
static inline bool scaleswap_shown(const struct swap_info_struct *si)
{
	if (scaleswap_bound(si->type))
		return __scaleswap_shown(si);
	return si->swap_map;
}

/**
 * scaleswap_slot_cached - check whether a slot is in the swap cache, or about to be
 * @si: the area
 * @offset: the slot
 *
 * Context: any in which the area cannot go away.
 * Return: true if it is; this may change at once unless the caller prevents it.
 */
static inline bool scaleswap_slot_cached(const struct swap_info_struct *si,
					 unsigned long offset)
{
	if (scaleswap_bound(si->type))
		return scaleswap_has_cache(swp_entry(si->type, offset));
	return READ_ONCE(si->swap_map[offset]) & SWAP_HAS_CACHE;
}

/**
 * scaleswap_free_pages - count free swap pages, with those that CPUs keep back
 * @free: nr_swap_pages, to which CPUs may not have passed on all pages yet
 * @total: all swap pages
 *
 * Context: any. The result may be off while pages are swapped.
 * Return: pages, at most @total.
 */
static inline unsigned long scaleswap_free_pages(unsigned long free,
						 unsigned long total)
{
	if (static_branch_unlikely(&scaleswap_key))
		return __scaleswap_free_pages(free, total);
	return free;
}

/**
 * scaleswap_has_areas - check whether there are per-core areas
 *
 * Counting the used slots of a per-core area takes a while, and mms go on being
 * swapped out meanwhile. So drain_mmlist() does not count, and keeps the mms.
 *
 * Context: swapon_mutex held, so that none is added.
 * Return: true if there are, also if the only one is being turned off.
 */
static inline bool scaleswap_has_areas(void)
{
	return scaleswap_on() && __scaleswap_has_areas();
}

/**
 * scaleswap_swapoff - forget an area
 * @si: the area, out of use but still SWP_USED and with its file open
 *
 * Context: process context, may sleep.
 */
static inline void scaleswap_swapoff(struct swap_info_struct *si)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_swapoff(si);
}

/**
 * scaleswap_alloc_swap - allocate swap space for a folio, own area first
 * @folio: the folio to swap out
 * @entry: set to the first slot; .val stays 0 if there is none
 *
 * Context: process context, may sleep.
 * @entry->val has to be 0.
 *
 * Return: true if @entry is final, even if .val is 0. False if there is no
 * per-core area, or if none has room and there are plain ones. Then the caller
 * has to go on as the base kernel does.
 */
static inline bool scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry)
{
	if (static_branch_unlikely(&scaleswap_key))
		return __scaleswap_alloc_swap(folio, entry);
	return false;
}

/**
 * scaleswap_alloc_plain - count an allocation that was made after
 * scaleswap_alloc_swap() had returned false
 * @folio: the folio to swap out
 * @entry: its first slot, .val is 0 if there was none
 *
 * Context: process context. The caller still holds the slots, so the area
 * cannot go away.
 */
static inline void scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_alloc_plain(folio, entry);
}

/**
 * scaleswap_throttle - throttle a task whose cgroup does too much swap I/O
 *
 * Schedules the throttling against the device that the CPU would swap to. The
 * base kernel takes the first area on its list of available areas. Per-core
 * areas are not on that list.
 *
 * Context: process context, does not sleep. For CONFIG_MEMCG with
 * CONFIG_BLK_CGROUP only.
 * Return: true if done, false if no per-core area has a device and room.
 */
static inline bool scaleswap_throttle(void)
{
	if (static_branch_unlikely(&scaleswap_key))
		return __scaleswap_throttle();
	return false;
}

/**
 * scaleswap_table_full - log that swapon fails because all types are in use
 *
 * The errno for it is EPERM, which suggests another cause.
 *
 * Context: any.
 */
static inline void scaleswap_table_full(void)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_table_full();
}

#else /* CONFIG_SCALESWAP */

static inline unsigned int scaleswap_swapcache_shift(unsigned int shift)
{
	return shift;
}

static inline unsigned long scaleswap_swapcache_pages(unsigned long pages)
{
	return pages;
}

static inline pgoff_t scaleswap_swapcache_index(pgoff_t offset, unsigned int shift)
{
	return offset >> shift;
}

static inline bool scaleswap_bound(unsigned int type)
{
	return false;
}

static inline int scaleswap_swapon(struct swap_info_struct *si,
				   const union swap_header *header)
{
	return 0;
}

static inline void scaleswap_enabled_area(struct swap_info_struct *si)
{
}

static inline void scaleswap_close(struct swap_info_struct *si)
{
}

static inline void scaleswap_swapoff(struct swap_info_struct *si)
{
}

static inline int scaleswap_dup_mapped(swp_entry_t entry, struct mm_struct *mm,
				       unsigned long addr)
{
	return swap_duplicate(entry);
}

static inline void scaleswap_shmem_alloc(swp_entry_t entry, int nr, struct inode *inode,
					 pgoff_t index)
{
	swap_shmem_alloc(entry, nr);
}

static inline void scaleswap_shmem_evict(struct inode *inode)
{
}

static inline void scaleswap_shmem_settle(struct address_space *mapping)
{
}

static inline unsigned int scaleswap_inuse(const struct swap_info_struct *si)
{
	return READ_ONCE(si->inuse_pages);
}

static inline int scaleswap_unuse(struct swap_info_struct *si)
{
	return 0;
}

static inline bool scaleswap_drains(const struct swap_info_struct *si)
{
	return false;
}

static inline bool scaleswap_shown(const struct swap_info_struct *si)
{
	return si->swap_map;
}

static inline bool scaleswap_slot_cached(const struct swap_info_struct *si,
					 unsigned long offset)
{
	return READ_ONCE(si->swap_map[offset]) & SWAP_HAS_CACHE;
}

static inline unsigned long scaleswap_free_pages(unsigned long free,
						 unsigned long total)
{
	return free;
}

static inline bool scaleswap_has_areas(void)
{
	return false;
}

static inline bool scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry)
{
	return false;
}

static inline void scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry)
{
}

static inline bool scaleswap_throttle(void)
{
	return false;
}

static inline void scaleswap_table_full(void)
{
}

#endif /* CONFIG_SCALESWAP */

#include "memcg_hooks.h"

/* --- the swap cache of per-core areas --------------------------------------------- */

/**
 * scaleswap_cached - check whether a mapping is a part of a per-core area's swap cache
 * @mapping: any mapping
 *
 * Such a mapping has no inode, and nothing in its i_pages.
 *
 * Context: any in which the mapping cannot go away.
 * Return: true if it is.
 */
static inline bool scaleswap_cached(const struct address_space *mapping)
{
	return scaleswap_on() && !mapping->host && mapping->i_private_data;
}

/**
 * scaleswap_cache_shadow - look up the shadow entry of a slot
 * @entry: its swap entry, of a per-core area
 *
 * Context: any in which the area cannot go away. The slot may be free.
 * Return: the shadow entry, or NULL.
 */
static inline void *scaleswap_cache_shadow(swp_entry_t entry)
{
	return __scaleswap_cache_shadow(entry);
}

/**
 * scaleswap_cache_get - look up a slot, as filemap_get_entry()
 * @mapping: scaleswap_cached()
 * @index: of the slot in it
 *
 * Context: any in which the mapping cannot go away.
 * Return: a folio with a reference, a shadow entry, or NULL.
 */
static inline void *scaleswap_cache_get(struct address_space *mapping, pgoff_t index)
{
	return __scaleswap_cache_get(mapping, index);
}

/**
 * scaleswap_cache_replace - replace a folio in the swap cache
 * @mapping: the mapping of the folio that is replaced, any
 * @index: its index there
 * @folio: the new one
 * @nr: its pages
 *
 * Context: both locked, nothing else has a reference on the old one; interrupts off.
 * Return: @nr if done, 0 if the mapping is another and the caller has to do it.
 */
static inline long scaleswap_cache_replace(struct address_space *mapping, pgoff_t index,
					   struct folio *folio, long nr)
{
	if (!scaleswap_cached(mapping))
		return 0;
	__scaleswap_cache_replace(mapping, index, folio, nr);
	return nr;
}

/* --- shadow nodes of the swap cache -------------------------------------------- */

struct list_lru *__scaleswap_shadow_lru(const struct address_space *mapping);
unsigned long __scaleswap_shadow_count(struct shrink_control *sc);
unsigned long __scaleswap_shadow_scan(struct shrink_control *sc, struct list_lru *others,
				      list_lru_walk_cb isolate);

/**
 * scaleswap_shadow_lru - find the list for a mapping's shadow nodes
 * @mapping: of a file, or a swap address space, which has no inode
 * @lru: the list without ScaleSwap
 *
 * Context: any.
 * Return: the list; the same for as long as @mapping exists.
 */
static inline struct list_lru *scaleswap_shadow_lru(const struct address_space *mapping,
						    struct list_lru *lru)
{
	if (scaleswap_on() && !mapping->host)
		return __scaleswap_shadow_lru(mapping);
	return lru;
}

/**
 * scaleswap_shadow_count - count the shadow nodes on ScaleSwap's lists
 * @sc: as the shrinker got it
 *
 * Context: a shrinker's count callback.
 * Return: tree nodes.
 */
static inline unsigned long scaleswap_shadow_count(struct shrink_control *sc)
{
	return scaleswap_on() ? __scaleswap_shadow_count(sc) : 0;
}

/**
 * scaleswap_shadow_scan - free shadow nodes from ScaleSwap's lists
 * @sc: as the shrinker got it; nr_to_scan is left for @others
 * @others: list of the other shadow nodes
 * @isolate: frees one node
 *
 * Context: a shrinker's scan callback.
 * Return: tree nodes freed.
 */
static inline unsigned long scaleswap_shadow_scan(struct shrink_control *sc,
						  struct list_lru *others,
						  list_lru_walk_cb isolate)
{
	return scaleswap_on() ? __scaleswap_shadow_scan(sc, others, isolate) : 0;
}

/* --- critical reads --------------------------------------------------------------- */

/* swap_vma_readahead(), which is static */
typedef struct folio *(*ssw_readahead_fn)(swp_entry_t entry, gfp_t gfp,
					  struct mempolicy *mpol, pgoff_t ilx,
					  struct vm_fault *vmf);

#ifdef CONFIG_SCALESWAP_FAULT

DECLARE_STATIC_KEY_FALSE(scaleswap_fault_key);

struct folio *__scaleswap_swapin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
				 pgoff_t ilx, struct vm_fault *vmf,
				 ssw_readahead_fn vma_readahead);
bool __scaleswap_read_submit(struct folio *folio, struct swap_info_struct *si,
			     struct swap_iocb **plug);

/**
 * scaleswap_fault_on - check whether critical reads are treated apart
 *
 * Context: any.
 * Return: true with scaleswap=on or scaleswap=fault, from early in boot on.
 */
static inline bool scaleswap_fault_on(void)
{
	return static_branch_unlikely(&scaleswap_fault_key);
}

#else /* CONFIG_SCALESWAP_FAULT */

static inline bool scaleswap_fault_on(void)
{
	return false;
}

static inline struct folio *__scaleswap_swapin(swp_entry_t entry, gfp_t gfp,
					       struct mempolicy *mpol, pgoff_t ilx,
					       struct vm_fault *vmf,
					       ssw_readahead_fn vma_readahead)
{
	return NULL;
}

static inline bool __scaleswap_read_submit(struct folio *folio,
					   struct swap_info_struct *si,
					   struct swap_iocb **plug)
{
	return false;
}

#endif /* CONFIG_SCALESWAP_FAULT */

/**
 * scaleswap_swapin - swap in a page that a fault waits for, and its neighbours
 * @entry: its swap entry
 * @gfp: for the page; neighbours are read without direct reclaim
 * @mpol: policy of the pages' memory
 * @ilx: index for interleaving
 * @vmf: the fault if neighbours are to be found by address, or NULL
 * @vma_readahead: swap_vma_readahead() then, or NULL for swap_cluster_readahead()
 *
 * To be called where scaleswap_fault_on(). It reads the page first, then the
 * neighbours, and then polls for the page for a limited time.
 *
 * Context: process context, may sleep; no folio is locked. The caller has a
 * reference on the area's users, or is its swapoff.
 * Return: the folio, with a reference, maybe still locked and being read; NULL if
 * there is no memory or the entry is not in use any more.
 */
static inline struct folio *scaleswap_swapin(swp_entry_t entry, gfp_t gfp,
					     struct mempolicy *mpol, pgoff_t ilx,
					     struct vm_fault *vmf,
					     ssw_readahead_fn vma_readahead)
{
	return __scaleswap_swapin(entry, gfp, mpol, ilx, vmf, vma_readahead);
}

/**
 * scaleswap_skip_busy - check whether to skip a page that another thread is busy with
 * @gfp: flags that its swap-in would be called with
 *
 * Context: any.
 * Return: true for neighbours of a page that a thread waits for.
 */
static inline bool scaleswap_skip_busy(gfp_t gfp)
{
	return scaleswap_fault_on() && !(gfp & __GFP_DIRECT_RECLAIM);
}

/**
 * scaleswap_read_submit - submit a critical read on a queue that is polled, or
 *                         collect pages that no thread waits for in one bio
 * @folio: locked, in the swap cache, to be read from the device
 * @si: its area
 * @plug: as passed to swap_read_folio(); tells whether the page is critical
 *
 * Context: process context, may sleep.
 * Return: true if the page was taken, false if the caller has to read it.
 */
static inline bool scaleswap_read_submit(struct folio *folio, struct swap_info_struct *si,
					 struct swap_iocb **plug)
{
	return scaleswap_fault_on() && __scaleswap_read_submit(folio, si, plug);
}

/* --- writes of several pages ------------------------------------------------------ */

#ifdef CONFIG_SCALESWAP

DECLARE_STATIC_KEY_FALSE(scaleswap_io_key);

bool __scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
			      struct swap_info_struct *si);

/**
 * scaleswap_write_submit - collect pages that are to be written in one bio
 * @folio: locked, in the swap cache, dirty; unlocked and under writeback if taken
 * @wbc: writeback control of the write
 * @si: its area
 *
 * Without a plug it collects nothing, nor for a plain area without scaleswap=fault.
 *
 * Context: process context, may sleep.
 * Return: true if the page was taken, false if the caller has to write it.
 */
static inline bool scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
					  struct swap_info_struct *si)
{
	return static_branch_unlikely(&scaleswap_io_key) &&
	       (scaleswap_fault_on() || scaleswap_bound(si->type)) &&
	       __scaleswap_write_submit(folio, wbc, si);
}

#else /* CONFIG_SCALESWAP */

static inline bool scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
					  struct swap_info_struct *si)
{
	return false;
}

#endif /* CONFIG_SCALESWAP */

#endif /* _MM_SCALESWAP_HOOKS_H */
