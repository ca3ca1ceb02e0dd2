// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: reading the page that a fault waits for (Ultraswap).
 */

/**
 * DOC: Critical reads
 *
 * The page that a fault is for is *critical*: a thread waits for it. Its neighbours are read
 * on the chance that they are wanted soon. So the critical page is submitted first and by
 * itself. Then come the neighbours, without reclaim, and without waiting for a slot that
 * another thread is busy with. Then the thread polls for its page, for a limited time. On a
 * fast device that is cheaper than an interrupt and a wake-up. If the page is not there by
 * then, a worker polls on, and the thread sleeps as in the base kernel.
 *
 * There are three ways to read. The device decides at swapon which ones an area has, and
 * ``fault/mode`` decides at each fault which one is tried first:
 *
 * - directly, on private queues of the driver, without bio and request (struct
 *   scaleswap_read_ops);
 * - by a polled bio;
 * - by an ordinary bio that ends with an interrupt, as in the base kernel.
 */

/**
 * DOC: Rules of critical reads
 *
 * 1. A critical folio is locked and in the swap cache until its read completes. The code
 *    that finds the completion unlocks it. That is the thread that polls, another thread
 *    that polls the same queue, the worker or the driver. If the read is given up, the bio
 *    of rule 3 does so. The thread that faulted only looks on. After polling it locks the
 *    folio as if it had not polled. So it may be killed in the middle: nothing of the read
 *    belongs to it. As the folio is locked, its slot stays while the read is in flight. So
 *    do the area and the block device.
 * 2. The thread holds a reference on the area (si->users), or is swapoff itself. The worker
 *    holds references of its own for the reads that are handed over to it. Once swapoff
 *    waits for these references, none of the area's pages is in the swap cache or being
 *    read. A thread that sleeps before it polls, as readahead may, hands its read to the
 *    worker first. The sleep may be a wait for that very read.
 * 3. A read that fails in a driver is retried by an ordinary bio. So is a read that a queue
 *    refuses since it can no longer poll. The folio stays locked. So errors and messages
 *    are the base kernel's. The retry may sleep until a queue is no longer frozen, and a
 *    queue may be frozen until the worker has found a read complete. So the worker does not
 *    retry, and does not share bios with the code that does.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/delayacct.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/percpu-refcount.h>
#include <linux/psi.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/task_io_accounting_ops.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../swap.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

DEFINE_STATIC_KEY_FALSE(scaleswap_fault_key);

unsigned int ssw_fault_mode = SSW_FAULT_AUTO;
unsigned int ssw_fault_poll_us = SSW_FAULT_POLL_US;
bool ssw_fault_readahead = true;

/* The worker's pause between two rounds, in microseconds: the first, and the longest. */
#define SSW_REAP_US		20
#define SSW_REAP_MAX_US		1000

/**
 * struct ssw_read - a critical read, on the stack of the fault
 * @plug: SSW_CRITICAL, by which scaleswap_read_submit() recognizes the read
 * @area: the page's area
 * @mode: ssw_fault_mode, read once for each fault
 * @how: how it was submitted: SSW_FAULT_DIRECT, SSW_FAULT_BIO, or SSW_FAULT_OFF if
 *       there is nothing to poll for
 * @cookie: the driver's, for SSW_FAULT_DIRECT
 * @rb: the polled bio, with a reference, for SSW_FAULT_BIO
 * @cb: in the thread's plug during readahead, to notice when the thread sleeps
 * @handed: already handed over to the worker
 */
struct ssw_read {
	struct swap_iocb *plug;
	struct ssw_area *area;
	enum ssw_fault_mode mode;
	enum ssw_fault_mode how;
	u64 cookie;
	struct ssw_read_bio *rb;
	struct blk_plug_cb cb;
	bool handed;
};

/**
 * struct ssw_read_bio - a polled bio and its state
 * @node: in the list of bios handed over to the worker
 * @retry: retries the read if the bio was refused
 * @si: the area, with a reference on its users, if handed over
 * @done: the bio has completed
 * @bio: the bio; its last reference frees all of this
 */
struct ssw_read_bio {
	struct llist_node node;
	struct work_struct retry;
	struct swap_info_struct *si;
	bool done;
	struct bio bio;
};

static struct bio_set ssw_read_bios;
static struct workqueue_struct *ssw_reap_wq;
static struct workqueue_struct *ssw_retry_wq;
/* Handed over to the worker: polled bios, and areas with direct reads */
static LLIST_HEAD(ssw_reap_bios);
static LLIST_HEAD(ssw_reap_areas);

static void ssw_reap_work_fn(struct work_struct *work);
static DECLARE_WORK(ssw_reap_work, ssw_reap_work_fn);

/* Wakes the worker between two rounds when a read is handed over. */
static DECLARE_WAIT_QUEUE_HEAD(ssw_reap_wait);
static bool ssw_reap_fresh;

static void ssw_reap_kick(void)
{
	WRITE_ONCE(ssw_reap_fresh, true);
	queue_work(ssw_reap_wq, &ssw_reap_work);
	if (wq_has_sleeper(&ssw_reap_wait))
		wake_up(&ssw_reap_wait);
}

/**
 * scaleswap_read_done - complete a direct read that has brought its page
 * @folio: as submitted
 *
 * Context: any in which a folio can be unlocked; the driver does not touch @folio
 * from here on.
 */
void scaleswap_read_done(struct folio *folio)
{
	folio_mark_uptodate(folio);
	folio_unlock(folio);
}
EXPORT_SYMBOL_GPL(scaleswap_read_done);

/* --- polled bios ------------------------------------------------------------ */

/* Each bio has its own work item: one device may be frozen, and others not. */
static void ssw_read_bio_retry(struct work_struct *work)
{
	struct ssw_read_bio *rb = container_of(work, struct ssw_read_bio, retry);
	struct folio *folio = bio_first_folio_all(&rb->bio);

	ssw_fallback(raw_smp_processor_id(), SSW_FB_POLL_UNFIT, 0);
	scaleswap_read_retry(folio);
	/* Not before, or a new item at this address would wait for this one. */
	bio_put(&rb->bio);
}

static void ssw_read_bio_end(struct bio *bio)
{
	struct ssw_read_bio *rb = container_of(bio, struct ssw_read_bio, bio);
	struct folio *folio = bio_first_folio_all(bio);

	if (unlikely(bio->bi_status == BLK_STS_NOTSUPP)) {
		/* The queue can no longer poll. Retry where sleeping is allowed. */
		bio_get(bio);
		INIT_WORK(&rb->retry, ssw_read_bio_retry);
		queue_work(ssw_retry_wq, &rb->retry);
	} else {
		ssw_read_ended(folio, bio);
	}
	/* Pairs with the acquire in ssw_read_bio_done(). */
	smp_store_release(&rb->done, true);
	bio_put(bio);
}

static bool ssw_read_bio_done(struct ssw_read_bio *rb)
{
	struct request_queue *q = bdev_get_queue(rb->bio.bi_bdev);

	/* All three acquires pair with the release in ssw_read_bio_end(). */
	if (smp_load_acquire(&rb->done))
		return true;
	/*
	 * The bio has the number of a hardware queue, and a reset may leave the device with
	 * fewer of them. The reset waits for the bio's request to complete, and for this
	 * reference. So while the bio is not done, the queue of that number exists.
	 */
	if (!percpu_ref_tryget(&q->q_usage_counter))
		return false;
	/* As above */
	if (!smp_load_acquire(&rb->done))
		bio_poll(&rb->bio, NULL, BLK_POLL_ONESHOT);
	percpu_ref_put(&q->q_usage_counter);
	/* As above */
	return smp_load_acquire(&rb->done);
}

static void ssw_submit_bio(struct ssw_read *read, struct folio *folio,
			   struct swap_info_struct *si)
{
	struct blk_plug *plug = current->plug;
	struct ssw_read_bio *rb;
	struct bio *bio;

	/* From a list of this CPU, as the task that polls mostly puts it back there. */
	bio = bio_alloc_bioset(si->bdev, 1, REQ_OP_READ | REQ_POLLED | REQ_NOMERGE |
			       REQ_ALLOC_CACHE, GFP_KERNEL, &ssw_read_bios);
	bio->bi_iter.bi_sector = swap_folio_sector(folio);
	bio->bi_end_io = ssw_read_bio_end;
	bio_add_folio_nofail(bio, folio, PAGE_SIZE, 0);
	rb = container_of(bio, struct ssw_read_bio, bio);
	rb->done = false;
	bio_get(bio);
	read->rb = rb;
	/*
	 * In a plug this bio would wait for an unplug that comes after the polling. I/O
	 * that is in the plug already must not wait for this bio, which may wait for a
	 * frozen queue. Nor must this bio wait for that I/O.
	 */
	ssw_bio_batch_flush(false);
	blk_flush_plug(plug, false);
	current->plug = NULL;
	submit_bio(bio);
	current->plug = plug;
}

/* --- direct reads ----------------------------------------------------------- */

static bool ssw_submit_direct(struct ssw_read *read, struct folio *folio,
			      struct swap_info_struct *si)
{
	enum ssw_fallback why;
	int err;

	if (unlikely(blk_queue_limited(bdev_get_queue(si->bdev)))) {
		why = SSW_FB_POLL_LIMITED;
		goto fallback;
	}
	err = read->area->read_ops->submit(si->bdev, swap_folio_sector(folio), folio,
					   &read->cookie);
	if (likely(!err)) {
		/* As submit_bio() */
		task_io_account_read(PAGE_SIZE);
		count_vm_events(PGPGIN, PAGE_SECTORS);
		return true;
	}
	why = err == -EBUSY ? SSW_FB_POLL_BUSY :
	      err == -ENODEV ? SSW_FB_POLL_DOWN : SSW_FB_POLL_UNFIT;
fallback:
	ssw_fallback(raw_smp_processor_id(), why, 0);
	return false;
}

/* --- submit and wait -------------------------------------------------------- */

/*
 * See scaleswap_read_submit(). Only swap_read_folio() calls it, and only for pages
 * that have to be read from the device.
 */
bool __scaleswap_read_submit(struct folio *folio, struct swap_info_struct *si,
			     struct swap_iocb **plug)
{
	unsigned long slot = swp_offset(folio->swap);
	struct ssw_read *read;
	bool direct, bio;

	if (!plug || *plug != SSW_CRITICAL)
		return ssw_read_batched(folio, si);
	read = container_of(plug, struct ssw_read, plug);
	direct = read->mode != SSW_FAULT_BIO && read->area->read_ops;
	bio = read->mode != SSW_FAULT_DIRECT && read->area->can_bio;

	if (direct && ssw_submit_direct(read, folio, si)) {
		read->how = SSW_FAULT_DIRECT;
		ssw_stat_add(SSW_READ_DIRECT, 1);
	} else if (bio) {
		ssw_submit_bio(read, folio, si);
		read->how = SSW_FAULT_BIO;
		ssw_stat_add(SSW_READ_BIO, 1);
	} else {
		ssw_stat_add(SSW_READ_IRQ, 1);
		/* ssw_submit_direct() has counted why a direct read failed. */
		if (!direct)
			ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_POLL, 0);
	}
	/* By now the read may be complete, and the folio may have left its slot. */
	trace_scaleswap_read(si->type, slot, read->how);
	if (read->how == SSW_FAULT_OFF)
		return false;
	count_vm_event(PSWPIN);
	return true;
}

static bool ssw_read_done(struct ssw_read *read)
{
	if (read->how == SSW_FAULT_BIO)
		return ssw_read_bio_done(read->rb);
	return read->area->read_ops->poll(read->area->si->bdev, read->cookie);
}

static void ssw_hand_over(struct ssw_read *read)
{
	struct ssw_area *area = read->area;

	if (read->handed)
		return;
	read->handed = true;
	ssw_stat_add(SSW_READ_LATE, 1);
	/* Rule 2: this thread has a reference, or is swapoff and waits for the folio. */
	if (read->how == SSW_FAULT_BIO) {
		percpu_ref_get(&area->si->users);
		bio_get(&read->rb->bio);
		read->rb->si = area->si;
		llist_add(&read->rb->node, &ssw_reap_bios);
	} else if (!atomic_xchg(&area->reap_queued, 1)) {
		percpu_ref_get(&area->si->users);
		llist_add(&area->reap_node, &ssw_reap_areas);
	}
	ssw_reap_kick();
}

static void ssw_read_sleeps(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ssw_read *read = container_of(cb, struct ssw_read, cb);

	INIT_LIST_HEAD(&cb->list);
	ssw_hand_over(read);
}

/* Read ahead; rule 2. Readahead finds the critical page in the swap cache. */
static void ssw_read_ahead(struct ssw_read *read, swp_entry_t entry, gfp_t gfp,
			   struct mempolicy *mpol, pgoff_t ilx, struct vm_fault *vmf,
			   ssw_readahead_fn vma_readahead)
{
	struct blk_plug plug;
	struct folio *folio;

	/* Reclaim writes, and may wait for long; see also scaleswap_skip_busy(). */
	gfp = (gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_NOWARN;

	/* If the task has a plug already, that one is used. */
	blk_start_plug(&plug);
	read->cb.callback = ssw_read_sleeps;
	INIT_LIST_HEAD(&read->cb.list);
	if (read->how != SSW_FAULT_OFF)
		list_add_tail(&read->cb.list, &current->plug->cb_list);
	folio = vma_readahead ? vma_readahead(entry, gfp, mpol, ilx, vmf) :
				swap_cluster_readahead(entry, gfp, mpol, ilx);
	if (folio)
		folio_put(folio);
	/* Submit the batch before polling. That may sleep, and hand the read over. */
	ssw_bio_batch_flush(true);
	list_del(&read->cb.list);
	/*
	 * Requests in the plug wait for no queue: they have entered theirs. A callback in the
	 * plug submits bios, which may wait; md leaves one in a plug of an outer caller. It
	 * is called with the plug's list empty, and would not find this read there.
	 */
	if (read->how != SSW_FAULT_OFF && !list_empty(&current->plug->cb_list))
		ssw_hand_over(read);
	blk_flush_plug(current->plug, false);
	blk_finish_plug(&plug);
}

/*
 * Poll for a limited time. Stop if the scheduler asks for the CPU (need_resched()), or if
 * another task can run here. The scheduler would let that task wait until this one's time
 * slice ends, which is longer than most reads.
 */
static void ssw_read_wait(struct ssw_read *read, struct folio *folio)
{
	u64 limit = local_clock() + (u64)READ_ONCE(ssw_fault_poll_us) * NSEC_PER_USEC;
	bool workingset = folio_test_workingset(folio);
	bool in_thrashing, done;
	unsigned long pflags;

	/* Polling is a stall, as sleeping is: see folio_wait_bit_common(). */
	if (workingset) {
		delayacct_thrashing_start(&in_thrashing);
		psi_memstall_enter(&pflags);
	}
	while (!(done = ssw_read_done(read))) {
		if (need_resched() || !single_task_running() || local_clock() > limit)
			break;
		cpu_relax();
	}
	if (!done)
		ssw_hand_over(read);
	if (workingset) {
		delayacct_thrashing_end(&in_thrashing);
		psi_memstall_leave(&pflags);
	}
	if (read->how == SSW_FAULT_BIO)
		bio_put(&read->rb->bio);
}

/*
 * See scaleswap_swapin().
 */
struct folio *__scaleswap_swapin(swp_entry_t entry, gfp_t gfp, struct mempolicy *mpol,
				 pgoff_t ilx, struct vm_fault *vmf,
				 ssw_readahead_fn vma_readahead)
{
	struct ssw_area *area = ssw_area_held(swp_type(entry));
	struct ssw_read read = {
		.plug = SSW_CRITICAL,
		.area = area,
		.mode = READ_ONCE(ssw_fault_mode),
	};
	struct folio *folio;
	bool allocated;

	/*
	 * An entry without an area is bad, which readahead detects. A fault that
	 * must not wait must not poll, either: it only starts the read.
	 */
	if (!area || read.mode == SSW_FAULT_OFF ||
	    (vmf && vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return vma_readahead ? vma_readahead(entry, gfp, mpol, ilx, vmf) :
				       swap_cluster_readahead(entry, gfp, mpol, ilx);

	folio = __read_swap_cache_async(entry, gfp, mpol, ilx, &allocated, false);
	/* If another task has already begun the read, it also reads ahead. */
	if (!folio || !allocated)
		return folio;
	/* A file system that does its own I/O collects pages in the plug. */
	swap_read_folio(folio, area->fs_ops ? NULL : &read.plug);

	if (READ_ONCE(page_cluster) && READ_ONCE(ssw_fault_readahead))
		ssw_read_ahead(&read, entry, gfp, mpol, ilx, vmf, vma_readahead);
	if (read.how != SSW_FAULT_OFF)
		ssw_read_wait(&read, folio);
	return folio;
}

/* --- the worker ------------------------------------------------------------- */

/* Poll each bio once. Return true if any is left. */
static bool ssw_reap_bios_once(void)
{
	struct llist_node *first = llist_del_all(&ssw_reap_bios);
	struct ssw_read_bio *rb, *next;
	bool left = false;

	llist_for_each_entry_safe(rb, next, first, node) {
		if (ssw_read_bio_done(rb)) {
			struct swap_info_struct *si = rb->si;

			bio_put(&rb->bio);
			percpu_ref_put(&si->users);
		} else {
			llist_add(&rb->node, &ssw_reap_bios);
			left = true;
		}
	}
	return left;
}

static bool ssw_reap_areas_once(void)
{
	struct llist_node *first = llist_del_all(&ssw_reap_areas);
	struct ssw_area *area, *next;
	bool left = false;

	llist_for_each_entry_safe(area, next, first, reap_node) {
		struct swap_info_struct *si = area->si;

		/*
		 * A thread that hands over a read after this finds the area not queued.
		 * The full barrier lets reap() see the reads of threads that found it
		 * queued. Pairs with the atomic_xchg() in ssw_hand_over().
		 */
		atomic_xchg(&area->reap_queued, 0);
		/*
		 * reap() counts other areas' reads, too. Swapoff must not wait for those:
		 * rule 2.
		 */
		if (area->read_ops->reap(si->bdev) && !percpu_ref_is_dying(&si->users)) {
			left = true;
			if (!atomic_xchg(&area->reap_queued, 1)) {
				/* The area keeps its reference on si->users. */
				llist_add(&area->reap_node, &ssw_reap_areas);
				continue;
			}
		}
		percpu_ref_put(&si->users);
	}
	return left;
}

static void ssw_reap_work_fn(struct work_struct *work)
{
	unsigned int us = SSW_REAP_US;

	for (;;) {
		bool left;

		left = ssw_reap_bios_once();
		left |= ssw_reap_areas_once();
		if (!left)
			return;
		/*
		 * A read that has taken long may take longer, so the pause grows until a new
		 * one comes. The sleep is interruptible, though no signal comes: an idle
		 * worker is no load.
		 */
		wait_event_interruptible_hrtimeout(ssw_reap_wait, READ_ONCE(ssw_reap_fresh),
						   us * NSEC_PER_USEC);
		/* Each round may find new reads. */
		cond_resched();
		if (xchg(&ssw_reap_fresh, false))
			us = SSW_REAP_US;
		else
			us = min(us + us / 4 + 1, SSW_REAP_MAX_US);
	}
}

/* --- areas ------------------------------------------------------------------ */

/**
 * ssw_fault_area_init - find out how pages of an area can be read
 * @area: a new area, not in use yet
 *
 * Context: process context, may sleep.
 */
void ssw_fault_area_init(struct ssw_area *area)
{
	struct swap_info_struct *si = area->si;
	const struct scaleswap_read_ops *ops = NULL;
	const struct block_device_operations *fops;
	struct request_queue *q;
	int err = -EOPNOTSUPP;

	if (!static_key_enabled(&scaleswap_fault_key))
		return;
	area->fs_ops = si->flags & SWP_FS_OPS;
	if (area->fs_ops || !si->bdev)
		goto out;
	q = bdev_get_queue(si->bdev);
	/* A device that only passes bios on inherits the flag, but does not poll. */
	area->can_bio = queue_is_mq(q) && (q->limits.features & BLK_FEAT_POLL) &&
			q->mq_ops->poll;
	fops = si->bdev->bd_disk->fops;
	if (fops->swap_read_ops)
		ops = fops->swap_read_ops(si->bdev);
	if (ops)
		err = ops->probe(si->bdev);
	if (!err)
		area->read_ops = ops;
out:
	if (!area->can_bio && !area->read_ops)
		pr_info_once("swap area %u is on a device without queues to poll (%d), so its reads end by interrupt; see nvme.swap_queues and nvme.poll_queues\n",
			     si->type, err);
}

/**
 * scaleswap_fault_wanted - tell drivers whether to set up queues for direct reads
 *
 * Context: any, from early in boot on.
 * Return: true with scaleswap=on or scaleswap=fault.
 */
bool scaleswap_fault_wanted(void)
{
	return static_key_enabled(&scaleswap_fault_key);
}
EXPORT_SYMBOL_GPL(scaleswap_fault_wanted);

/* Set up critical reads, after the block layer has made its caches and before drivers ask. */
static int __init ssw_fault_init(void)
{
	int err;

	if (!ssw_boot_has(SSW_MECH_FAULT) || !scaleswap_on())
		return 0;
	/* Reads that fail are retried there. */
	err = -ENOMEM;
	if (!static_key_enabled(&scaleswap_io_key))
		goto err;
	err = bioset_init(&ssw_read_bios, BIO_POOL_SIZE, offsetof(struct ssw_read_bio, bio),
			  BIOSET_NEED_BVECS | BIOSET_PERCPU_CACHE);
	if (err)
		goto err;
	/* Faults wait for this work, and it may be needed to free memory. */
	err = -ENOMEM;
	ssw_reap_wq = alloc_workqueue("scaleswap_read", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI,
				      1);
	if (!ssw_reap_wq)
		goto err_bios;
	ssw_retry_wq = alloc_workqueue("scaleswap_retry", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ssw_retry_wq)
		goto err_wq;
	static_branch_enable(&scaleswap_fault_key);
	return 0;

err_wq:
	destroy_workqueue(ssw_reap_wq);
err_bios:
	bioset_exit(&ssw_read_bios);
err:
	pr_err("pages that faults wait for are read as without scaleswap=fault: %d\n", err);
	return err;
}
fs_initcall(ssw_fault_init);
