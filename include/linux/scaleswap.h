/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: calls from outside of mm/, and operations of a driver.
 *
 * Every call into mm/scaleswap is behind a static key, which is off unless the
 * boot parameter scaleswap= turns it on. Without CONFIG_SCALESWAP it is an
 * empty stub, so callers need no #ifdef. The calls of mm/ are in
 * mm/scaleswap/hooks.h.
 */
#ifndef _LINUX_SCALESWAP_H
#define _LINUX_SCALESWAP_H

#include <linux/jump_label.h>
#include <linux/swap.h>
#include <linux/types.h>

struct block_device;
struct folio;
struct mm_struct;

/*
 * /proc/PID/pagemap has had a 5-bit swap type in bits 0-4 and a 50-bit offset
 * in bits 5-54 for a long time, and programs know it. An offset never needs
 * more than 47 bits with an 8-bit type, so bits 52-54 are free for the rest.
 */
#define PAGEMAP_SWP_TYPE_BITS	5
#define PAGEMAP_SWP_HIGH_SHIFT	52

/**
 * scaleswap_pagemap_code - encode a swap type as /proc/PID/pagemap shows it
 * @type: swap type, 0 to (1 << MAX_SWAPFILES_SHIFT) - 1; the ones from
 *        MAX_SWAPFILES on are not swap areas (migration entries and so on)
 *
 * Codes 0 to 31 mean the same as in a kernel with a 5-bit type. The low ones
 * are areas, the top ones the special entries. So no reader has to change to
 * understand these. All further areas get codes from 32 up, which no such
 * kernel shows.
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
 * scaleswap_pagemap_frame - make the low 55 bits of a pagemap entry for a swap entry
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

#ifdef CONFIG_SCALESWAP

DECLARE_STATIC_KEY_FALSE(scaleswap_key);

void __scaleswap_mm_init(struct mm_struct *mm);
void __scaleswap_mm_free(struct mm_struct *mm);

/**
 * scaleswap_on - check whether ScaleSwap is on
 *
 * Context: any.
 * Return: true with scaleswap=on or a mechanism in scaleswap=; the same from
 * early boot on.
 */
static inline bool scaleswap_on(void)
{
	return static_branch_unlikely(&scaleswap_key);
}

/**
 * scaleswap_mm_init - clear the number of a new mm
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
 * scaleswap_mm_free - release the number of an mm that is being freed
 * @mm: the mm, without page tables
 *
 * Context: any but interrupts.
 */
static inline void scaleswap_mm_free(struct mm_struct *mm)
{
	if (static_branch_unlikely(&scaleswap_key))
		__scaleswap_mm_free(mm);
}

#else /* CONFIG_SCALESWAP */

static inline bool scaleswap_on(void)
{
	return false;
}

static inline void scaleswap_mm_init(struct mm_struct *mm)
{
}

static inline void scaleswap_mm_free(struct mm_struct *mm)
{
}

#endif /* CONFIG_SCALESWAP */

/**
 * struct scaleswap_read_ops - direct reads; swapon asks for them by ->swap_read_ops() of
 *                             struct block_device_operations
 * @probe: check whether reads of @bdev can be tried at all. Called at swapon, may
 *         sleep. Returns 0 if so, -EOPNOTSUPP if this device never can, -ENOSPC if
 *         the controller has no queues to spare
 * @submit: submit the read of a page of @bdev. @sector is relative to @bdev, which
 *         may be a partition. @folio is locked, of order 0, and in the swap cache.
 *         It stays so until the driver calls scaleswap_read_done(), or has
 *         scaleswap_read_retry() called. Preemption may be on; does not sleep.
 *         Returns 0 and sets @cookie, for @poll. Or -EBUSY if the queue is full,
 *         -ENODEV if the controller is not live or the disk goes away or is
 *         frozen, -EOPNOTSUPP if it cannot after all, -EIO if the page could not
 *         be mapped for DMA. After an error nothing has happened to @folio
 * @poll: look for completed reads on the queue of @cookie, and complete them all.
 *         Does not sleep; interrupts are on. Returns true if the read of @cookie is
 *         complete, by this or another call, or was given up and is retried
 * @reap: do the same on all queues of @bdev's controller, for reads that no thread
 *         polls for any more. May be called as long as @bdev is open, also while
 *         the controller is being reset or removed. May sleep. Returns the number
 *         of reads in flight
 *
 * All but @probe are called only after @probe has returned 0. @bdev is open for as
 * long as any of these may be called.
 */
struct scaleswap_read_ops {
	int (*probe)(struct block_device *bdev);
	int (*submit)(struct block_device *bdev, sector_t sector,
		      struct folio *folio, u64 *cookie);
	bool (*poll)(struct block_device *bdev, u64 cookie);
	unsigned int (*reap)(struct block_device *bdev);
};

#ifdef CONFIG_SCALESWAP_FAULT
/* mm/scaleswap/fault.c */
bool scaleswap_fault_wanted(void);
void scaleswap_read_done(struct folio *folio);
void scaleswap_read_retry(struct folio *folio);
#else
static inline bool scaleswap_fault_wanted(void)
{
	return false;
}
#endif

#endif /* _LINUX_SCALESWAP_H */
