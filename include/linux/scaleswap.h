/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the rest of the kernel may call.
 *
 * Every call into mm/scaleswap is behind a static key that is off unless the
 * kernel was booted with scaleswap=on, and is an empty stub when
 * CONFIG_SCALESWAP is not set, so callers need no #ifdef.
 */
#ifndef _LINUX_SCALESWAP_H
#define _LINUX_SCALESWAP_H

#include <linux/jump_label.h>
#include <linux/scaleswap_fault.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/types.h>

struct folio;
struct mm_struct;
union swap_header;

/*
 * /proc/PID/pagemap has had a 5-bit swap type in bits 0-4 and a 50-bit offset
 * in bits 5-54 for a long time, and programs know it. An offset never needs
 * more than 47 bits with an 8-bit type, so bits 52-54 are free for the rest.
 */
#define PAGEMAP_SWP_TYPE_BITS	5
#define PAGEMAP_SWP_HIGH_SHIFT	52

/* log2 of the slots that share a swap address space, with its lock: a cluster */
#define SCALESWAP_SWAPCACHE_SHIFT	9

/**
 * scaleswap_pagemap_code - swap type as /proc/PID/pagemap shows it
 * @type: swap type, 0 to (1 << MAX_SWAPFILES_SHIFT) - 1; the ones from
 *        MAX_SWAPFILES on are not swap areas (migration entries and so on)
 *
 * Codes 0 to 31 mean what they mean in a kernel with a 5-bit type, so no
 * reader has to change to understand what it understood before: the low ones
 * are areas, the top ones the special entries. All further areas get codes
 * from 32 up, which no such kernel shows.
 *
 * Context: any.
 * Return: the code, 0 to 255.
 */
static inline unsigned int scaleswap_pagemap_code(unsigned int type)
{
	const unsigned int nr_special = (1 << MAX_SWAPFILES_SHIFT) - MAX_SWAPFILES;
	const unsigned int nr_codes = 1 << PAGEMAP_SWP_TYPE_BITS;

	if (type < nr_codes - nr_special)
		return type;
	if (type < MAX_SWAPFILES)
		return type + nr_special;
	return type - (1 << MAX_SWAPFILES_SHIFT) + nr_codes;
}

/**
 * scaleswap_pagemap_frame - low 55 bits of a pagemap entry for a swap entry
 * @type: swap type
 * @offset: swap offset in pages, below 2^47
 *
 * Context: any.
 * Return: the bits, as Documentation/admin-guide/mm/pagemap.rst has them.
 */
static inline u64 scaleswap_pagemap_frame(unsigned int type, u64 offset)
{
	const unsigned int mask = (1 << PAGEMAP_SWP_TYPE_BITS) - 1;
	unsigned int code = scaleswap_pagemap_code(type);

	return (code & mask) | offset << PAGEMAP_SWP_TYPE_BITS |
	       (u64)(code >> PAGEMAP_SWP_TYPE_BITS) << PAGEMAP_SWP_HIGH_SHIFT;
}

/*
 * What the swap code does for a per-core area: for types of which
 * scaleswap_bound() is true. Without CONFIG_SCALESWAP it never is, and then
 * these are declared but not called.
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

#ifdef CONFIG_SCALESWAP

DECLARE_STATIC_KEY_FALSE(scaleswap_key);
extern s16 scaleswap_home[];

int __scaleswap_swapon(struct swap_info_struct *si, const union swap_header *header);
void __scaleswap_enabled(struct swap_info_struct *si);
void __scaleswap_close(struct swap_info_struct *si);
void __scaleswap_swapoff(struct swap_info_struct *si);
int __scaleswap_dup_mapped(swp_entry_t entry, struct mm_struct *mm,
			   unsigned long addr);
unsigned int __scaleswap_inuse(const struct swap_info_struct *si);
bool __scaleswap_shown(const struct swap_info_struct *si);
unsigned long __scaleswap_free_pages(unsigned long free, unsigned long total);
bool __scaleswap_has_areas(void);
void __scaleswap_mm_init(struct mm_struct *mm);
void __scaleswap_mm_free(struct mm_struct *mm);
bool __scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry);
void __scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry);
void __scaleswap_table_full(void);
bool __scaleswap_throttle(void);

/* mm/swapfile.c, for ScaleSwap alone */
int swap_area_reclaim(struct swap_info_struct *si, unsigned long offset);
void swap_area_discard(struct swap_info_struct *si, pgoff_t start, pgoff_t nr);

/**
 * scaleswap_on - was the kernel booted with scaleswap=on?
 *
 * Context: any.
 * Return: true if so; the same from early boot on.
 */
static inline bool scaleswap_on(void)
{
	return static_branch_unlikely(&scaleswap_key);
}

/**
 * scaleswap_bound - has this area a home CPU?
 * @type: swap type of an area that is on or being turned on or off
 *
 * A bound area is found through the per-CPU search orders and never stands on
 * the base kernel's list of available areas.
 *
 * Context: any; a stable answer from swapon's __scaleswap_swapon() to
 * swapoff's __scaleswap_swapoff().
 * Return: true for a per-core area, false for a plain one.
 */
static inline bool scaleswap_bound(unsigned int type)
{
	return static_branch_unlikely(&scaleswap_key) &&
	       READ_ONCE(scaleswap_home[type]) >= 0;
}

/**
 * scaleswap_swapcache_shift - size of a swap address space
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
 * scaleswap_swapcache_pages - size of a swap address space
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
 * scaleswap_swapcache_index - in which swap address space of its area a slot is
 * @offset: the slot
 * @shift: log2 of the slots of one without ScaleSwap
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
 * @header: what is written in its first page
 *
 * A per-core area, of which scaleswap_bound() is true from here on, gets
 * everything that it needs instead of a swap map and of clusters.
 *
 * Context: process context, may sleep.
 * Return: 0, or a negative errno (-ENOMEM, -EINVAL if the header lists
 * impossible bad pages) and swapon has to fail. Undone by scaleswap_swapoff(),
 * which may be called whether this was or not.
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
 * Also for an area that has been enabled again because swapoff failed.
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
 * When it returns, no more slots are taken. Undone by scaleswap_enabled_area().
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
 * swap_duplicate(), and for a per-core area it is noted who refers to the slot.
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
 * scaleswap_inuse - how many pages of an area are in use
 * @si: the area
 *
 * Context: any. Zero is exact once nothing is allocated any more.
 * Return: pages.
 */
static inline unsigned int scaleswap_inuse(const struct swap_info_struct *si)
{
	if (scaleswap_bound(si->type))
		return __scaleswap_inuse(si);
	return READ_ONCE(si->inuse_pages);
}

/**
 * scaleswap_shown - is an area to be shown in /proc/swaps?
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
 * scaleswap_slot_cached - is a slot in the swap cache, or about to be?
 * @si: the area
 * @offset: the slot
 *
 * Context: any in which the area cannot go away.
 * Return: true if so; it may change at once if the caller does not prevent it.
 */
static inline bool scaleswap_slot_cached(const struct swap_info_struct *si,
					 unsigned long offset)
{
	if (scaleswap_bound(si->type))
		return scaleswap_has_cache(swp_entry(si->type, offset));
	return READ_ONCE(si->swap_map[offset]) & SWAP_HAS_CACHE;
}

/**
 * scaleswap_free_pages - swap pages that are free, exactly
 * @free: what nr_swap_pages says, which CPUs may not have told everything yet
 * @total: all swap pages
 *
 * Context: any. May be off while pages are swapped.
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
 * scaleswap_has_areas - are there per-core areas?
 *
 * Counting what is in use takes a while for a per-core area, and mms go on being
 * swapped out meanwhile. So drain_mmlist() does not count, and keeps the mms.
 *
 * Context: swapon_mutex held, so that none comes.
 * Return: true if so, also if the only one is being turned off.
 */
static inline bool scaleswap_has_areas(void)
{
	return scaleswap_on() && __scaleswap_has_areas();
}

/**
 * scaleswap_mm_init - a new mm has no number
 * @mm: the mm, maybe copied from another
 *
 * Context: any.
 */
static inline void scaleswap_mm_init(struct mm_struct *mm)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_mm_init(mm);
}

/**
 * scaleswap_mm_free - forget an mm that is being freed
 * @mm: the mm, without page tables
 *
 * Context: any but interrupts.
 */
static inline void scaleswap_mm_free(struct mm_struct *mm)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_mm_free(mm);
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
 * @entry: where the first slot goes; .val is 0 if none was to be had
 *
 * Context: process context, may sleep.
 * @entry->val has to be 0.
 *
 * Return: true if @entry is the answer, and 0 is one. False if there is no
 * per-core area, or none has room and there are plain ones: then the caller has
 * to go on as the base kernel does.
 */
static inline bool scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry)
{
	if (static_branch_unlikely(&scaleswap_key))
		return __scaleswap_alloc_swap(folio, entry);
	return false;
}

/**
 * scaleswap_alloc_plain - count what an allocation got after
 * scaleswap_alloc_swap() had returned false
 * @folio: the folio to swap out
 * @entry: its first slot, .val is 0 if there was none
 *
 * Context: process context. The slots are still the caller's, so the area
 * cannot go away.
 */
static inline void scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_alloc_plain(folio, entry);
}

/**
 * scaleswap_throttle - slow a task down whose cgroup does too much swap I/O
 *
 * Schedules the throttling against the device that the CPU would swap to. The
 * base kernel takes the first one on its list of available areas, where
 * per-core areas are not.
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
 * scaleswap_table_full - say that swapon fails because all types are in use
 *
 * The errno for it is EPERM, which sounds like something else.
 *
 * Context: any.
 */
static inline void scaleswap_table_full(void)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_table_full();
}

#else /* CONFIG_SCALESWAP */

static inline bool scaleswap_on(void)
{
	return false;
}

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

static inline unsigned int scaleswap_inuse(const struct swap_info_struct *si)
{
	return READ_ONCE(si->inuse_pages);
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

static inline void scaleswap_mm_init(struct mm_struct *mm)
{
}

static inline void scaleswap_mm_free(struct mm_struct *mm)
{
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

#endif /* _LINUX_SCALESWAP_H */
