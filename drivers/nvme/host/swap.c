// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: direct reads for swap, on poll queues of their own.
 *
 * pci.c includes this file, which needs functions and structs that are private there.
 */

/**
 * DOC: Direct reads of the NVMe driver
 *
 * If a fault waits for a page on a fast SSD, then bio, request, interrupt and wake-up take
 * longer than the device. So mm hands such a page to the driver as it is. The driver maps
 * it and puts its command into the ring, and the thread that waits looks for the completion
 * itself. Errors, resets and removals are not handled here: the page goes back to mm, which
 * retries it by a bio.
 *
 * The queues are not blk-mq's. They stand outside dev->queues[], which queue_count,
 * online_queues and the tags index, and have the IDs after those. The driver asks the
 * controller for more queues than the base driver does. These queues get only what the base
 * driver would not have had.
 *
 * *Life of a read.* nvme_swap_submit() takes a reference to the request queue. So freezing
 * it (for a change of format, suspend, removal) waits for the read. The function maps the
 * page, takes a slot and rings the doorbell. nvme_swap_end() undoes that in the opposite
 * order. The states of a slot::
 *
 *   free -> in flight -> free              scaleswap_read_done() has notified mm
 *   free -> in flight -> given up -> free  scaleswap_read_retry() has, called by a
 *                                          work item, since it may sleep
 *
 * *Life of a queue.* It is created at the end of nvme_setup_io_queues(). It goes in
 * nvme_dev_disable(), which reset, suspend, shutdown, removal and error recovery all call::
 *
 *   nvme_swap_close()          no further read is submitted
 *   nvme_swap_delete_queues()  where the controller still answers
 *                              then the controller is disabled, and bus mastering turned
 *                              off: the device writes to no page any more
 *   nvme_swap_cancel()         reap completed reads, give up the others
 *
 * Memory of a queue is freed with that of the other queues. struct nvme_swap is freed with
 * the controller, to which an open block device holds a reference.
 */

/**
 * DOC: Locks of direct reads of the NVMe driver
 *
 * Outermost first::
 *
 *   dev->shutdown_lock    queues come and go, and with them the BAR
 *     nvmeq.sq_lock       ->open, ->watched, submission queue, taking of slots
 *     nvmeq.cq_poll_lock  ->up, completion queue, end of reads in flight
 *
 * The last two are never held together, and not in interrupts. With ->open false no
 * submitter writes the queue's doorbell. With ->up false no reaper writes it or reads an
 * entry. So once both are false no code touches BAR or ring, and no other wait is needed.
 */
#include <linux/bitfield.h>
#include <linux/fault-inject.h>
#include <linux/llist.h>
#include <linux/scaleswap.h>
#include <linux/workqueue.h>

#define NVME_SWAP_DEPTH		64
/* A ring of n entries is full with n - 1 */
#define NVME_SWAP_SLOTS		(NVME_SWAP_DEPTH - 1)
/* How often the watchdog reaps reads that no thread polls for, and checks their age */
#define NVME_SWAP_PERIOD	(HZ / 10)
/* The most admin commands in flight; fewer than the admin queue has tags */
#define NVME_SWAP_DELETES	16

/* A cookie has queue, slot and generation. The command ID has 4 bits of the generation. */
#define NVME_SWAP_COOKIE_QUEUE	GENMASK_ULL(63, 40)
#define NVME_SWAP_COOKIE_SLOT	GENMASK_ULL(39, 32)
#define NVME_SWAP_COOKIE_GEN	GENMASK_ULL(31, 0)

static int swap_queues = -1;
module_param(swap_queues, int, 0444);
MODULE_PARM_DESC(swap_queues,
		 "Private poll queues for swap, of those to spare; default -1: one per CPU");

enum nvme_swap_state {
	NVME_SWAP_FREE,
	NVME_SWAP_READ,		/* in flight */
	NVME_SWAP_AGAIN,	/* given up, mm is to be notified */
};

/**
 * struct nvme_swap_slot - a read
 * @folio: page to read into; locked
 * @bdev: device to read from; open as long as @folio is locked
 * @q: the queue that it is on
 * @dma: @folio's address for the device
 * @start: when it was submitted, in jiffies
 * @node: on &nvme_swap.retry
 * @gen: counts reads completed or given up; compared with a cookie's
 * @state: an enum nvme_swap_state
 * @acct: true if the read is in the disk's statistics
 *
 * While @state is free, one submitter writes it under sq_lock. After that the
 * holder of cq_poll_lock writes it, or the work item once the read is given up.
 */
struct nvme_swap_slot {
	struct folio *folio;
	struct block_device *bdev;
	struct nvme_swap_queue *q;
	dma_addr_t dma;
	unsigned long start;
	struct llist_node node;
	u32 gen;
	u8 state;
	bool acct;
} ____cacheline_aligned_in_smp;

/**
 * struct nvme_swap_queue - a private poll queue
 * @nvmeq: state in common with ordinary queues; in flags only NVMEQ_POLLED,
 *         NVMEQ_ENABLED if the controller has it, and NVMEQ_DELETE_ERROR
 * @swap: the controller's private queues
 * @open: true if reads may be submitted
 * @watched: true if the watchdog services the queue
 * @seen: @reads when the watchdog last serviced it
 * @reads: reads ever submitted
 * @free: free slots; taken under sq_lock, released without
 * @up: true if the completion queue may be read
 * @over: reads no longer in flight, of @reads
 * @retries: reads given up, of @over
 * @timeouts: reads that took too long, of @retries
 * @slot: the reads
 *
 * sq_lock protects @open to @reads, and cq_poll_lock protects @up to @retries.
 * Only the watchdog writes @timeouts. All may be read without a lock.
 */
struct nvme_swap_queue {
	struct nvme_queue nvmeq;
	struct nvme_swap *swap ____cacheline_aligned_in_smp;
	bool open;
	bool watched;
	unsigned long seen;
	unsigned long reads;
	DECLARE_BITMAP(free, NVME_SWAP_DEPTH);
	bool up ____cacheline_aligned_in_smp;
	unsigned long over;
	unsigned long retries;
	unsigned long timeouts;
	struct nvme_swap_slot slot[NVME_SWAP_SLOTS];
};

/**
 * struct nvme_swap - the private poll queues of a controller
 * @dev: the controller
 * @max: size of @queue
 * @granted: number of I/O queues, of all kinds, that the controller grants and
 *           that have doorbells
 * @map: which of @queue a CPU uses
 * @wq: for @retry_work, which may block as long as a disk is frozen. The watchdog,
 *      which may have to end that, runs on another workqueue
 * @retry_work: notifies mm of the slots on @retry
 * @retry: slots given up
 * @watch: the watchdog, on nvme_reset_wq; armed while there are reads
 * @fail: makes reads fail, for tests
 * @queue: the queues; which of them exist differs from one reset to the next
 */
struct nvme_swap {
	struct nvme_dev *dev;
	unsigned int max;
	unsigned int granted;
	struct blk_mq_queue_map map;
	struct workqueue_struct *wq;
	struct work_struct retry_work;
	struct llist_head retry;
	struct delayed_work watch;
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
	struct fault_attr fail;
#endif
	struct nvme_swap_queue queue[] __counted_by(max);
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
/* Create a directory beside the controller's fault_inject; both are removed together. */
static void nvme_swap_fail_init(struct nvme_swap *swap)
{
	swap->fail = (struct fault_attr)FAULT_ATTR_INITIALIZER;
	fault_create_debugfs_attr("fail_scaleswap_read",
				  swap->dev->ctrl.fault_inject.parent, &swap->fail);
}

static bool nvme_swap_should_fail(struct nvme_swap *swap)
{
	return should_fail(&swap->fail, PAGE_SIZE);
}
#else
static void nvme_swap_fail_init(struct nvme_swap *swap)
{
}

static bool nvme_swap_should_fail(struct nvme_swap *swap)
{
	return false;
}
#endif

static void nvme_swap_put_slot(struct nvme_swap_slot *slot)
{
	struct nvme_swap_queue *q = slot->q;

	WRITE_ONCE(slot->state, NVME_SWAP_FREE);
	/*
	 * Finish with the slot before a submitter takes it. Pairs with the barrier after
	 * the bit was cleared in nvme_swap_submit().
	 */
	smp_mb__before_atomic();
	set_bit(slot - q->slot, q->free);
}

/*
 * End a read: the device no longer refers to the page. If the read was not good, mm retries
 * it by a bio. Before that the reference to the request queue must be dropped: a freeze
 * waits for it, and the bio for the end of the freeze. The folio is still locked, which
 * keeps the block device open until mm is notified.
 */
static void nvme_swap_end(struct nvme_swap_slot *slot, bool good)
{
	struct nvme_swap_queue *q = slot->q;
	struct nvme_swap *swap = q->swap;
	u32 gen = slot->gen + 1;

	lockdep_assert_held(&q->nvmeq.cq_poll_lock);

	dma_unmap_page(swap->dev->dev, slot->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	if (slot->acct)
		bdev_end_io_acct(slot->bdev, REQ_OP_READ, PAGE_SECTORS, slot->start);
	percpu_ref_put(&bdev_get_queue(slot->bdev)->q_usage_counter);
	WRITE_ONCE(q->over, q->over + 1);

	if (likely(good)) {
		scaleswap_read_done(slot->folio);
		/* Pairs with nvme_swap_done(), which then finds the folio up to date. */
		smp_store_release(&slot->gen, gen);
		nvme_swap_put_slot(slot);
		return;
	}

	WRITE_ONCE(q->retries, q->retries + 1);
	WRITE_ONCE(slot->state, NVME_SWAP_AGAIN);
	/* Pairs with nvme_swap_done(), as above. */
	smp_store_release(&slot->gen, gen);
	llist_add(&slot->node, &swap->retry);
	queue_work(swap->wq, &swap->retry_work);
}

static void nvme_swap_retry(struct work_struct *work)
{
	struct nvme_swap *swap = container_of(work, struct nvme_swap, retry_work);
	struct nvme_swap_slot *slot, *next;

	llist_for_each_entry_safe(slot, next, llist_del_all(&swap->retry), node) {
		struct folio *folio = slot->folio;

		nvme_swap_put_slot(slot);
		scaleswap_read_retry(folio);
	}
}

static void nvme_swap_complete(struct nvme_swap_queue *q, struct nvme_completion *cqe)
{
	u16 cid = READ_ONCE(cqe->command_id);
	u16 status = le16_to_cpu(READ_ONCE(cqe->status)) >> 1;
	struct nvme_swap_slot *slot;

	if (unlikely(nvme_tag_from_cid(cid) >= NVME_SWAP_SLOTS))
		goto invalid;
	slot = &q->slot[nvme_tag_from_cid(cid)];
	if (unlikely(READ_ONCE(slot->state) != NVME_SWAP_READ ||
		     nvme_genctr_from_cid(cid) != nvme_genctr_mask(slot->gen)))
		goto invalid;
	nvme_swap_end(slot, likely(!status) && !nvme_swap_should_fail(q->swap));
	return;

invalid:
	dev_warn_ratelimited(q->nvmeq.dev->ctrl.device,
			     "invalid id %d completed on swap queue %d\n", cid, q->nvmeq.qid);
}

/* Reap completions, as nvme_poll_cq() does. */
static void nvme_swap_reap_locked(struct nvme_swap_queue *q)
{
	struct nvme_queue *nvmeq = &q->nvmeq;
	bool found = false;

	lockdep_assert_held(&nvmeq->cq_poll_lock);

	while (q->up && nvme_cqe_pending(nvmeq)) {
		found = true;
		/* Read the entry after its phase. Pairs with the device's order of writes. */
		dma_rmb();
		nvme_swap_complete(q, &nvmeq->cqes[nvmeq->cq_head]);
		nvme_update_cq_head(nvmeq);
	}
	if (found)
		nvme_ring_cq_doorbell(nvmeq);
}

/*
 * Reap a queue. If the lock is taken, its holder reaps for the caller. With PREEMPT_RT the
 * caller waits for the lock instead, and lends the holder its priority: it may have
 * preempted the holder.
 */
static void nvme_swap_reap_queue(struct nvme_swap_queue *q)
{
	struct nvme_queue *nvmeq = &q->nvmeq;

	/*
	 * For the accesses without the lock. Pairs with synchronize_rcu() in
	 * nvme_swap_free_queues().
	 */
	rcu_read_lock();
	if (!READ_ONCE(q->up) || !nvme_cqe_pending(nvmeq))
		goto out;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		spin_lock(&nvmeq->cq_poll_lock);
	else if (!spin_trylock(&nvmeq->cq_poll_lock))
		goto out;
	nvme_swap_reap_locked(q);
	spin_unlock(&nvmeq->cq_poll_lock);
out:
	rcu_read_unlock();
}

/*
 * Check that the format allows direct reads. Normally it changes only while the request
 * queue is frozen, and so not under a caller that has a reference to that queue.
 * With nvme_core.multipath=N the namespaces of two controllers share @head, and only the one
 * that is revalidated is frozen. A command of the other one may be set up with the old
 * format, as in nvme_setup_rw().
 */
static bool nvme_swap_format_ok(const struct nvme_ns_head *head)
{
	/* A page is one PRP entry. */
	BUILD_BUG_ON(PAGE_SIZE != NVME_CTRL_PAGE_SIZE);
	/* Metadata and protection would need more than the page. */
	return !head->ms && !head->pi_type && head->lba_shift <= PAGE_SHIFT;
}

static struct nvme_dev *nvme_swap_dev(struct block_device *bdev)
{
	struct nvme_ns *ns = bdev->bd_disk->private_data;

	return to_nvme_dev(ns->ctrl);
}

static int nvme_swap_probe(struct block_device *bdev)
{
	struct nvme_ns *ns = bdev->bd_disk->private_data;
	struct nvme_swap *swap = READ_ONCE(nvme_swap_dev(bdev)->swap);

	if (!nvme_swap_format_ok(ns->head))
		return -EOPNOTSUPP;
	/*
	 * Queues are created in order, so if there was any, the first one has its ring.
	 * During a reset it is not open, but keeps the ring.
	 */
	if (!swap || !READ_ONCE(swap->queue[0].nvmeq.cqes))
		return -ENOSPC;
	return 0;
}

static int nvme_swap_submit(struct block_device *bdev, sector_t sector,
			    struct folio *folio, u64 *cookie)
{
	struct request_queue *rq = bdev_get_queue(bdev);
	struct nvme_ns *ns = bdev->bd_disk->private_data;
	struct nvme_ns_head *head = ns->head;
	struct nvme_dev *dev = to_nvme_dev(ns->ctrl);
	struct nvme_swap *swap = READ_ONCE(dev->swap);
	struct nvme_command cmd = { };
	struct nvme_swap_slot *slot;
	struct nvme_swap_queue *q;
	unsigned int index, nr;
	dma_addr_t dma;
	u64 lba;
	int ret;

	if (!swap || nvme_ctrl_state(&dev->ctrl) != NVME_CTRL_LIVE ||
	    !percpu_ref_tryget_live(&rq->q_usage_counter))
		return -ENODEV;

	ret = -EOPNOTSUPP;
	if (!nvme_swap_format_ok(head) || sector + PAGE_SECTORS > bdev_nr_sectors(bdev))
		goto put;
	sector += bdev->bd_start_sect;
	lba = nvme_sect_to_lba(head, sector);
	if (nvme_lba_to_sect(head, lba) != sector)
		goto put;

	ret = -EIO;
	dma = dma_map_page_attrs(dev->dev, folio_page(folio, 0), 0, PAGE_SIZE,
				 DMA_FROM_DEVICE, DMA_ATTR_NO_WARN);
	if (dma_mapping_error(dev->dev, dma))
		goto put;

	index = swap->map.mq_map[raw_smp_processor_id()];
	q = &swap->queue[index];
	spin_lock(&q->nvmeq.sq_lock);
	/* A reset may have reopened the queue, and not be done with shared state yet. */
	ret = -ENODEV;
	if (!q->open || nvme_ctrl_state(&dev->ctrl) != NVME_CTRL_LIVE)
		goto unlock;
	ret = -EBUSY;
	nr = find_first_bit(q->free, NVME_SWAP_SLOTS);
	if (nr == NVME_SWAP_SLOTS)
		goto unlock;
	clear_bit(nr, q->free);
	/* Pairs with nvme_swap_put_slot(), which had finished with the slot. */
	smp_mb__after_atomic();

	slot = &q->slot[nr];
	slot->folio = folio;
	slot->bdev = bdev;
	slot->dma = dma;
	slot->start = jiffies;
	slot->acct = blk_queue_io_stat(rq);
	if (slot->acct)
		bdev_start_io_acct(bdev, REQ_OP_READ, slot->start);
	WRITE_ONCE(slot->state, NVME_SWAP_READ);
	WRITE_ONCE(q->reads, q->reads + 1);
	*cookie = FIELD_PREP(NVME_SWAP_COOKIE_QUEUE, index) |
		  FIELD_PREP(NVME_SWAP_COOKIE_SLOT, nr) |
		  FIELD_PREP(NVME_SWAP_COOKIE_GEN, slot->gen);

	cmd.rw.opcode = nvme_cmd_read;
	cmd.rw.command_id = nvme_cid_install_genctr(slot->gen) | nr;
	cmd.rw.nsid = cpu_to_le32(head->ns_id);
	cmd.rw.dptr.prp1 = cpu_to_le64(dma);
	cmd.rw.slba = cpu_to_le64(lba);
	cmd.rw.length = cpu_to_le16((PAGE_SIZE >> head->lba_shift) - 1);
	nvme_sq_copy_cmd(&q->nvmeq, &cmd);
	/* Has the barrier that lets the device, and so the CPU that reaps, see all that. */
	nvme_write_sq_db(&q->nvmeq, true);

	if (unlikely(!q->watched)) {
		q->watched = true;
		queue_delayed_work(nvme_reset_wq, &swap->watch, NVME_SWAP_PERIOD);
	}
	spin_unlock(&q->nvmeq.sq_lock);
	return 0;

unlock:
	spin_unlock(&q->nvmeq.sq_lock);
	dma_unmap_page(dev->dev, dma, PAGE_SIZE, DMA_FROM_DEVICE);
put:
	percpu_ref_put(&rq->q_usage_counter);
	return ret;
}

static bool nvme_swap_done(struct nvme_swap_queue *q, u64 cookie)
{
	struct nvme_swap_slot *slot = &q->slot[FIELD_GET(NVME_SWAP_COOKIE_SLOT, cookie)];

	/* Pairs with the releases in nvme_swap_end(). */
	return smp_load_acquire(&slot->gen) != FIELD_GET(NVME_SWAP_COOKIE_GEN, cookie);
}

static bool nvme_swap_poll(struct block_device *bdev, u64 cookie)
{
	struct nvme_swap *swap = READ_ONCE(nvme_swap_dev(bdev)->swap);
	struct nvme_swap_queue *q = &swap->queue[FIELD_GET(NVME_SWAP_COOKIE_QUEUE, cookie)];

	if (nvme_swap_done(q, cookie))
		return true;
	nvme_swap_reap_queue(q);
	return nvme_swap_done(q, cookie);
}

/* Count the reads in flight, never too few. Reads given up are mm's. */
static unsigned int nvme_swap_under_way(const struct nvme_swap_queue *q)
{
	unsigned long over = READ_ONCE(q->over);

	/*
	 * Read ->over first, or a read that begins and ends in between hides another.
	 * Pairs with the order of the two writes: a read ends after it began.
	 */
	smp_rmb();
	return READ_ONCE(q->reads) - over;
}

static unsigned int nvme_swap_reap(struct block_device *bdev)
{
	struct nvme_swap *swap = READ_ONCE(nvme_swap_dev(bdev)->swap);
	unsigned int i, left = 0;

	if (!swap)
		return 0;
	for (i = 0; i < swap->max; i++) {
		if (!nvme_swap_under_way(&swap->queue[i]))
			continue;
		nvme_swap_reap_queue(&swap->queue[i]);
		left += nvme_swap_under_way(&swap->queue[i]);
	}
	return left;
}

static const struct scaleswap_read_ops nvme_swap_read_ops = {
	.probe	= nvme_swap_probe,
	.submit	= nvme_swap_submit,
	.poll	= nvme_swap_poll,
	.reap	= nvme_swap_reap,
};

static unsigned int nvme_swap_late(struct nvme_swap_queue *q)
{
	unsigned int i, late = 0;

	lockdep_assert_held(&q->nvmeq.sq_lock);

	for (i = 0; i < NVME_SWAP_SLOTS; i++)
		if (READ_ONCE(q->slot[i].state) == NVME_SWAP_READ &&
		    time_after(jiffies, q->slot[i].start + NVME_IO_TIMEOUT))
			late++;
	return late;
}

/* Recover as nvme_timeout() does, without the attempt to abort: mm can retry the read. */
static void nvme_swap_recover(struct nvme_swap_queue *q, unsigned int late)
{
	struct nvme_swap *swap = q->swap;
	struct nvme_dev *dev = swap->dev;
	struct pci_dev *pdev = to_pci_dev(dev->dev);
	u32 csts;

	/*
	 * The holder of the lock is about to end the reads. An earlier holder may have
	 * unmapped the BAR, and has closed the queues then.
	 */
	if (!mutex_trylock(&dev->shutdown_lock))
		return;
	if (!swap->queue[0].open) {
		mutex_unlock(&dev->shutdown_lock);
		return;
	}
	csts = readl(dev->bar + NVME_REG_CSTS);
	mutex_unlock(&dev->shutdown_lock);

	if (pci_dev_is_disconnected(pdev))
		nvme_change_ctrl_state(&dev->ctrl, NVME_CTRL_DELETING);
	if (!nvme_state_terminal(&dev->ctrl)) {
		/* PCI error recovery resets the controller; an earlier reset would fail. */
		if (pci_channel_offline(pdev))
			return;
		if (nvme_should_reset(dev, csts))
			nvme_warn_reset(dev, csts);
	}
	/*
	 * The reset work disables the controller itself, and unfreezes the request queues
	 * that it has frozen.
	 */
	if (nvme_reset_ctrl(&dev->ctrl)) {
		if (nvme_state_terminal(&dev->ctrl))
			nvme_dev_disable(dev, true);
		return;
	}
	WRITE_ONCE(q->timeouts, q->timeouts + late);
	dev_warn(dev->ctrl.device, "%u swap reads on QID %d timeout, reset controller\n",
		 late, q->nvmeq.qid);
}

static void nvme_swap_watch(struct work_struct *work)
{
	struct nvme_swap *swap = container_of(to_delayed_work(work), struct nvme_swap, watch);
	bool more = false;
	unsigned int i;

	for (i = 0; i < swap->max; i++) {
		struct nvme_swap_queue *q = &swap->queue[i];
		unsigned int late = 0;

		nvme_swap_reap_queue(q);
		spin_lock(&q->nvmeq.sq_lock);
		if (q->watched) {
			late = nvme_swap_late(q);
			q->watched = q->reads != q->seen || nvme_swap_under_way(q);
			q->seen = q->reads;
			more |= q->watched;
		}
		spin_unlock(&q->nvmeq.sq_lock);
		if (late)
			nvme_swap_recover(q, late);
	}
	if (more)
		queue_delayed_work(nvme_reset_wq, &swap->watch, NVME_SWAP_PERIOD);
}

#include "swap-queues.c"
