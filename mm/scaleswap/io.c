// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: one bio for pages that are adjacent on the device.
 *
 * Ultraswap keeps interrupts for reads and writes that no thread waits for, and has no use
 * for merging.
 */

/**
 * DOC: Bios of several pages
 *
 * Reclaim writes pages one after the other under a plug, and readahead reads them so. A core
 * fills its own clusters in order, so most of these pages are adjacent on the device. The
 * base kernel makes a bio and a request of each page and has the plug merge them again. Here
 * the pages are collected in one bio, which waits in the plug as a merged request would.
 */

/**
 * DOC: Rules of bios of several pages
 *
 * 1. A bio that is being filled is in the plug of its task and nowhere else. The callback
 *    &ssw_bio_batch.cb is in the plug's list, and the code that takes it out submits the
 *    bio. So the bio goes when a plugged request would go: at the end of the plug, or when
 *    the task sleeps. Code that may sleep may thus lose the bio, and has to look for it
 *    again.
 * 2. A plug has at most one such bio, whatever the area. A flush of the plug moves all
 *    callbacks to a list of its own and calls them one by one. If submit_bio() sleeps in
 *    one of them, no other code reaches the rest.
 * 3. A task that is about to sleep cannot submit, since submit_bio() may sleep. A worker
 *    does it then, with a work item for each bio: one device may be frozen and others not.
 * 4. A page is under writeback, or locked, from before it is added to a bio until that bio
 *    completes. So neither its slot nor its area goes meanwhile.
 * 5. If a bio of several pages fails, each page is retried by itself. So an error affects
 *    only the bad page: an unreadable page is lost, an unwritable one stays dirty in memory.
 *    The retry goes to the area's device, at the slot's sector, charged to the page's group.
 *    The failed bio can no longer tell: a driver may have changed its device and sector, and
 *    its completion drops the group.
 * 6. Only a device with a blk-mq queue gets bios of several pages, since they save requests.
 *    A driver that passes bios on to other devices has always got swap's pages one by one,
 *    and may rely on it. The device mapper's limit of swap_bios does.
 * 7. Pages of a plain area are collected with scaleswap=fault only, whose reads are for any
 *    area. The rest of ScaleSwap leaves plain areas to the base kernel. The hook,
 *    scaleswap_write_submit(), decides that.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bio.h>
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/ioprio.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/workqueue.h>
#include <linux/writeback.h>

#include "../swap.h"
#include "evict.h"
#include "internal.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_io_key);

unsigned int ssw_bio_pages = SSW_BIO_PAGES;

/**
 * struct ssw_bio_batch - a bio for pages that are adjacent on the device
 * @cb: in the plug of the task that fills it; @cb.data is the area, a swap_info_struct
 * @work: submits the bio, or retries its pages, where that may sleep
 * @memcg: its pages' memcg, charged with the write, if they are written
 * @span: where an evictor wants to know that it is done, or NULL
 * @max: the most pages that it can take
 * @bio: the bio; its last reference frees all of this
 */
struct ssw_bio_batch {
	struct blk_plug_cb cb;
	struct work_struct work;
	struct mem_cgroup *memcg;
	struct scaleswap_span *span;
	unsigned int max;
	struct bio bio;
};

static struct bio_set ssw_bio_batch_bios;
/* Of one page, for reads that another way has failed to do */
static struct bio_set ssw_retry_bios;
/* Separate workqueues, so that retries after an error never block submission. */
static struct workqueue_struct *ssw_bio_batch_wq;
static struct workqueue_struct *ssw_io_retry_wq;

static void ssw_submit(struct ssw_bio_batch *batch)
{
	unsigned int flags;

	if (!op_is_write(bio_op(&batch->bio))) {
		submit_bio(&batch->bio);
		return;
	}
	/* Writing is part of reclaim: it may use reserves, and must not wait for reclaim. */
	flags = memalloc_noreclaim_save();
	submit_bio(&batch->bio);
	memalloc_noreclaim_restore(flags);
}

static void ssw_bio_batch_work(struct work_struct *work)
{
	ssw_submit(container_of(work, struct ssw_bio_batch, work));
}

static void ssw_submit_later(struct ssw_bio_batch *batch)
{
	INIT_WORK(&batch->work, ssw_bio_batch_work);
	queue_work(ssw_bio_batch_wq, &batch->work);
}

static void ssw_bio_batch_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ssw_bio_batch *batch = container_of(cb, struct ssw_bio_batch, cb);

	if (from_schedule)
		ssw_submit_later(batch);
	else
		ssw_submit(batch);
}

static struct ssw_bio_batch *ssw_bio_batch_find(void)
{
	struct blk_plug_cb *cb;

	list_for_each_entry(cb, &current->plug->cb_list, list)
		if (cb->callback == ssw_bio_batch_unplug)
			return container_of(cb, struct ssw_bio_batch, cb);
	return NULL;
}

static void ssw_bio_batch_submit(struct ssw_bio_batch *batch)
{
	list_del(&batch->cb.list);
	ssw_submit(batch);
}

/**
 * ssw_bio_batch_flush - submit this task's batch before the end of its plug
 * @sleep: true to submit here, which may sleep; false to have a worker submit
 *
 * Context: process context, in a plug or not; may sleep if @sleep is true.
 */
void ssw_bio_batch_flush(bool sleep)
{
	struct ssw_bio_batch *batch = current->plug ? ssw_bio_batch_find() : NULL;

	if (!batch)
		return;
	if (sleep) {
		ssw_bio_batch_submit(batch);
	} else {
		list_del(&batch->cb.list);
		ssw_submit_later(batch);
	}
}

/* Find or allocate a bio in this task's plug to which @folio can be added. */
static struct ssw_bio_batch *ssw_bio_batch_get(struct folio *folio, struct swap_info_struct *si,
					       blk_opf_t opf, struct mem_cgroup *memcg,
					       bio_end_io_t *end_io, unsigned int max)
{
	struct request_queue *q = bdev_get_queue(si->bdev);
	struct queue_limits *lim = &q->limits;
	sector_t sector = swap_folio_sector(folio);
	struct scaleswap_span *span = ssw_span_current();
	struct ssw_bio_batch *batch;
	struct bio *bio;

	batch = ssw_bio_batch_find();
	if (batch) {
		if (batch->cb.data == si && bio_end_sector(&batch->bio) == sector &&
		    batch->memcg == memcg && batch->span == span &&
		    bio_op(&batch->bio) == (opf & REQ_OP_MASK) &&
		    (batch->bio.bi_opf & opf) == opf)
			return batch;
		ssw_bio_batch_submit(batch);
	}

	/* An I/O scheduler may know better which requests to merge. Bios of a page are merged. */
	if (!q->elevator && max > 1)
		opf |= REQ_NOMERGE;

	max = min3(max, (unsigned int)lim->max_segments, lim->max_sectors >> PAGE_SECTORS_SHIFT);
	max = clamp(max, 1U, (unsigned int)BIO_MAX_VECS);
	bio = bio_alloc_bioset(si->bdev, max, opf, GFP_NOIO, &ssw_bio_batch_bios);
	bio->bi_iter.bi_sector = sector;
	bio->bi_end_io = end_io;
	/* This task's priority, whichever thread submits the bio. */
	bio->bi_ioprio = get_current_ioprio();
	batch = container_of(bio, struct ssw_bio_batch, bio);
	batch->memcg = memcg;
	batch->span = span;
	ssw_span_get(span);
	batch->max = max;
	batch->cb.callback = ssw_bio_batch_unplug;
	batch->cb.data = si;
	list_add(&batch->cb.list, &current->plug->cb_list);
	if (max > 1)
		ssw_stat_add(SSW_IO_BATCHES, 1);
	return batch;
}

/*
 * Count a page that bio_add_folio_nofail() has added, and submit a full bio. By then the
 * bio's completion must be able to finish the folio.
 */
static void ssw_bio_batch_added(struct ssw_bio_batch *batch)
{
	if (batch->max > 1)
		ssw_stat_add(SSW_IO_BATCHED, 1);
	if (batch->bio.bi_vcnt == batch->max)
		ssw_bio_batch_submit(batch);
}

/*
 * How many pages a bio of the device may have, by the rules above. Return 0 if the caller has to
 * make the bio. An evictor wants to know when its bios are done, also if they have one page.
 */
static __always_inline unsigned int ssw_can_batch(struct folio *folio, struct swap_info_struct *si)
{
	unsigned int max = READ_ONCE(ssw_bio_pages);

	if (!current->plug || folio_test_large(folio))
		return 0;
	/* Rule 6 */
	if (max > 1 && !queue_is_mq(bdev_get_queue(si->bdev))) {
		ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_BATCH, 0);
		max = 1;
	}
	return max > 1 || ssw_span_current() ? max : 0;
}

/* Charge a bio to the group of its page, which is locked or under writeback. */
static void ssw_charge(struct bio *bio, struct folio *folio)
{
#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
	struct mem_cgroup *memcg;

	/* A page that is not locked may be moved to another group (cgroup v1). */
	rcu_read_lock();
	memcg = folio_memcg_rcu(folio);
	if (memcg)
		bio_associate_blkg_from_css(bio, cgroup_e_css(memcg->css.cgroup,
							      &io_cgrp_subsys));
	rcu_read_unlock();
#endif
}

/* --- writes ------------------------------------------------------------------ */

static void ssw_write_failed(struct folio *folio, struct bio *bio)
{
	pr_alert_ratelimited("write error on swap device (%u:%u:%llu)\n",
			     MAJOR(bio_dev(bio)), MINOR(bio_dev(bio)),
			     (unsigned long long)bio->bi_iter.bi_sector);
	folio_mark_dirty(folio);
	/* Keep it off the tail of the LRU list: it cannot be freed. */
	folio_clear_reclaim(folio);
}

static void ssw_write_alone_end(struct bio *bio)
{
	struct folio *folio = bio_first_folio_all(bio);

	if (bio->bi_status)
		ssw_write_failed(folio, bio);
	folio_end_writeback(folio);
	bio_put(bio);
}

static void ssw_writes_retry(struct work_struct *work)
{
	struct ssw_bio_batch *batch = container_of(work, struct ssw_bio_batch, work);
	unsigned int flags = memalloc_noreclaim_save();
	/* Each page that is still under writeback keeps the area: rule 4. */
	struct swap_info_struct *si = batch->cb.data;
	struct folio_iter fi;

	bio_for_each_folio_all(fi, &batch->bio) {
		struct bio *bio;

		/* Rule 5 */
		bio = bio_alloc(si->bdev, 1, REQ_OP_WRITE | REQ_SWAP, GFP_NOIO);
		bio->bi_iter.bi_sector = swap_folio_sector(fi.folio);
		bio->bi_end_io = ssw_write_alone_end;
		ssw_charge(bio, fi.folio);
		bio_add_folio_nofail(bio, fi.folio, PAGE_SIZE, 0);
		submit_bio(bio);
	}
	memalloc_noreclaim_restore(flags);
	bio_put(&batch->bio);
}

static void ssw_writes_end(struct bio *bio)
{
	struct ssw_bio_batch *batch = container_of(bio, struct ssw_bio_batch, bio);
	struct scaleswap_span *span = batch->span;
	struct folio_iter fi;

	if (unlikely(bio->bi_status) && bio->bi_vcnt > 1) {
		INIT_WORK(&batch->work, ssw_writes_retry);
		queue_work(ssw_io_retry_wq, &batch->work);
		ssw_span_put(span);
		return;
	}
	bio_for_each_folio_all(fi, bio) {
		if (unlikely(bio->bi_status))
			ssw_write_failed(fi.folio, bio);
		folio_end_writeback(fi.folio);
	}
	bio_put(bio);
	ssw_span_put(span);
}

/*
 * See scaleswap_write_submit().
 */
bool __scaleswap_write_submit(struct folio *folio, struct writeback_control *wbc,
			      struct swap_info_struct *si)
{
	blk_opf_t opf = REQ_OP_WRITE | REQ_SWAP | wbc_to_write_flags(wbc);
	struct mem_cgroup *memcg = folio_memcg(folio);
	unsigned int max = ssw_can_batch(folio, si);
	struct ssw_bio_batch *batch;

	if (!max)
		return false;
	batch = ssw_bio_batch_get(folio, si, opf, memcg, ssw_writes_end, max);
	if (!batch->bio.bi_vcnt)
		ssw_charge(&batch->bio, folio);
	bio_add_folio_nofail(&batch->bio, folio, PAGE_SIZE, 0);
	/* As the base kernel's count_swpout_vm_event() */
	count_vm_event(PSWPOUT);
	folio_start_writeback(folio);
	folio_unlock(folio);
	ssw_bio_batch_added(batch);
	return true;
}

/* --- reads ------------------------------------------------------------------- */

#ifdef CONFIG_SCALESWAP_FAULT

/**
 * ssw_read_ended - complete the read of a page by a bio of its own
 * @folio: the page
 * @bio: the bio, which is done
 *
 * Context: any in which a folio can be unlocked.
 */
void ssw_read_ended(struct folio *folio, struct bio *bio)
{
	if (bio->bi_status)
		pr_alert_ratelimited("read error on swap device (%u:%u:%llu)\n",
				     MAJOR(bio_dev(bio)), MINOR(bio_dev(bio)),
				     (unsigned long long)bio->bi_iter.bi_sector);
	else
		folio_mark_uptodate(folio);
	folio_unlock(folio);
}

static void ssw_read_retry_end(struct bio *bio)
{
	ssw_read_ended(bio_first_folio_all(bio), bio);
	bio_put(bio);
}

/**
 * scaleswap_read_retry - read a page by an ordinary bio, after another way failed
 * @folio: as submitted, locked and in the swap cache; the driver no longer uses it
 *
 * Context: process context, may sleep, also until a queue is no longer frozen. So
 * the caller must hold nothing that a reset or removal of the device waits for.
 */
void scaleswap_read_retry(struct folio *folio)
{
	struct swap_info_struct *si = swp_swap_info(folio->swap);
	struct bio *bio;

	ssw_stat_add(SSW_READ_RETRIED, 1);
	bio = bio_alloc_bioset(si->bdev, 1, REQ_OP_READ, GFP_NOIO, &ssw_retry_bios);
	bio->bi_iter.bi_sector = swap_folio_sector(folio);
	bio->bi_end_io = ssw_read_retry_end;
	ssw_charge(bio, folio);
	bio_add_folio_nofail(bio, folio, folio_size(folio), 0);
	submit_bio(bio);
}
EXPORT_SYMBOL_GPL(scaleswap_read_retry);

static void ssw_reads_retry(struct work_struct *work)
{
	struct ssw_bio_batch *batch = container_of(work, struct ssw_bio_batch, work);
	struct folio_iter fi;

	bio_for_each_folio_all(fi, &batch->bio)
		scaleswap_read_retry(fi.folio);
	bio_put(&batch->bio);
}

static void ssw_reads_end(struct bio *bio)
{
	struct ssw_bio_batch *batch = container_of(bio, struct ssw_bio_batch, bio);
	struct folio_iter fi;

	if (unlikely(bio->bi_status)) {
		INIT_WORK(&batch->work, ssw_reads_retry);
		queue_work(ssw_io_retry_wq, &batch->work);
		return;
	}
	bio_for_each_folio_all(fi, bio) {
		folio_mark_uptodate(fi.folio);
		folio_unlock(fi.folio);
	}
	bio_put(bio);
}

/**
 * ssw_read_batched - read a page that no thread waits for yet
 * @folio: locked and in the swap cache, to be read from a device
 * @si: its area
 *
 * Context: process context, may sleep.
 * Return: true if the page is in a bio, false if the caller has to read it.
 */
bool ssw_read_batched(struct folio *folio, struct swap_info_struct *si)
{
	unsigned int max = ssw_can_batch(folio, si);
	struct ssw_bio_batch *batch;

	if (!max)
		return false;
	batch = ssw_bio_batch_get(folio, si, REQ_OP_READ, NULL, ssw_reads_end, max);
	bio_add_folio_nofail(&batch->bio, folio, PAGE_SIZE, 0);
	count_vm_event(PSWPIN);
	ssw_bio_batch_added(batch);
	return true;
}

#endif /* CONFIG_SCALESWAP_FAULT */

/* Set up bios of several pages, after the block layer and before fault.c. */
static int __init ssw_io_init(void)
{
	int err;

	if (!scaleswap_on())
		return 0;
	err = bioset_init(&ssw_bio_batch_bios, BIO_POOL_SIZE, offsetof(struct ssw_bio_batch, bio),
			  BIOSET_NEED_BVECS);
	if (err)
		goto err;
	err = bioset_init(&ssw_retry_bios, BIO_POOL_SIZE, 0, BIOSET_NEED_BVECS);
	if (err)
		goto err_bios;
	/* Reclaim waits for this work. */
	err = -ENOMEM;
	ssw_bio_batch_wq = alloc_workqueue("scaleswap_io",
					   WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!ssw_bio_batch_wq)
		goto err_retry_bios;
	ssw_io_retry_wq = alloc_workqueue("scaleswap_io_retry", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ssw_io_retry_wq)
		goto err_wq;
	static_branch_enable(&scaleswap_io_key);
	return 0;

err_wq:
	destroy_workqueue(ssw_bio_batch_wq);
err_retry_bios:
	bioset_exit(&ssw_retry_bios);
err_bios:
	bioset_exit(&ssw_bio_batch_bios);
err:
	pr_err("swapped out pages are written one by one: %d\n", err);
	return err;
}
fs_initcall(ssw_io_init);
