/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: reading a page that a fault waits for, without bio and request
 * (Ultraswap); what a driver offers, and what it calls.
 */
#ifndef _LINUX_SCALESWAP_READ_H
#define _LINUX_SCALESWAP_READ_H

#include <linux/blk_types.h>
#include <linux/types.h>

struct folio;

/**
 * struct scaleswap_read_ops - direct reads, in struct block_device_operations
 * @probe: may reads of @bdev be tried at all? Asked at swapon, which may sleep;
 *         0 if so, -EOPNOTSUPP if this device never can, -ENOSPC if the controller
 *         has no queues to spare
 * @submit: have a page of @bdev read. @sector is of @bdev, which may be a
 *         partition. @folio is locked, of order 0, in the swap cache, and stays
 *         so until the driver calls scaleswap_read_done(), or has
 *         scaleswap_read_retry() called. Preemption may be on; does not sleep.
 *         0 if so, and @cookie is set, for @poll; -EBUSY if the queue is full,
 *         -ENODEV if the controller is not live or the disk goes away or is
 *         frozen, -EOPNOTSUPP if it cannot after all, -EIO if the page could not
 *         be mapped for DMA. After an error nothing has happened to @folio
 * @poll: look for completed reads on the queue of @cookie, and complete all that
 *         there are. Does not sleep; interrupts are on. True if the read of @cookie
 *         is over (this or another call has completed it, or it was given up and is
 *         read again)
 * @reap: the same on all queues of @bdev's controller, for reads that nobody polls
 *         for any more. May be called as long as @bdev is open, also while the
 *         controller is being reset or removed. May sleep. How many reads are under
 *         way
 *
 * All but @probe are called only after that has said yes. @bdev is open for as long
 * as any of these may be called.
 */
struct scaleswap_read_ops {
	int (*probe)(struct block_device *bdev);
	int (*submit)(struct block_device *bdev, sector_t sector,
		      struct folio *folio, u64 *cookie);
	bool (*poll)(struct block_device *bdev, u64 cookie);
	unsigned int (*reap)(struct block_device *bdev);
};

#ifdef CONFIG_SCALESWAP_POLL
/* mm/scaleswap/fault.c */
void scaleswap_read_done(struct folio *folio);
void scaleswap_read_retry(struct folio *folio);
#endif

#endif /* _LINUX_SCALESWAP_READ_H */
