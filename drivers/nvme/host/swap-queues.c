// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the private poll queues of a controller, from asking for them to
 * freeing them.
 *
 * swap.c includes this file, and describes the locking.
 */

/*
 * Return how many private queues to ask for. Also called before there is a struct
 * nvme_swap. The result may become 0 once quirks are known.
 */
static unsigned int nvme_swap_wanted(struct nvme_dev *dev)
{
	if (!scaleswap_fault_wanted())
		return 0;
	if (dev->ctrl.quirks & (NVME_QUIRK_SHARED_TAGS | NVME_QUIRK_QDEPTH_ONE))
		return 0;
	return min_t(unsigned int, swap_queues, num_possible_cpus());
}

static void nvme_swap_alloc(struct nvme_dev *dev, unsigned int max)
{
	int node = dev_to_node(dev->dev);
	struct nvme_swap *swap;
	unsigned int i, s;

	swap = kvzalloc_node(struct_size(swap, queue, max), GFP_KERNEL, node);
	if (!swap)
		return;
	swap->max = max;
	swap->dev = dev;
	swap->map.mq_map = kcalloc_node(nr_cpu_ids, sizeof(*swap->map.mq_map), GFP_KERNEL, node);
	if (!swap->map.mq_map)
		goto free_swap;
	swap->wq = alloc_workqueue("nvme%d-swap", WQ_UNBOUND | WQ_MEM_RECLAIM, 1,
				   dev->ctrl.instance);
	if (!swap->wq)
		goto free_map;
	INIT_WORK(&swap->retry_work, nvme_swap_retry);
	INIT_DELAYED_WORK(&swap->watch, nvme_swap_watch);
	init_llist_head(&swap->retry);
	for (i = 0; i < max; i++) {
		struct nvme_swap_queue *q = &swap->queue[i];

		q->swap = swap;
		q->nvmeq.dev = dev;
		spin_lock_init(&q->nvmeq.sq_lock);
		spin_lock_init(&q->nvmeq.cq_poll_lock);
		for (s = 0; s < NVME_SWAP_SLOTS; s++)
			q->slot[s].q = q;
	}
	nvme_swap_fail_init(swap);
	/* Readers without a lock find it complete: nvme_swap_submit() and the like. */
	smp_store_release(&dev->swap, swap);
	return;

free_map:
	kfree(swap->map.mq_map);
free_swap:
	kvfree(swap);
}

/*
 * Return how many of the @granted I/O queues are ordinary ones: up to the number that the
 * base driver would have requested. So it loses none.
 */
static unsigned int nvme_swap_grant(struct nvme_dev *dev, unsigned int granted)
{
	unsigned int wanted = nvme_swap_wanted(dev);

	if (!wanted)
		return granted;
	if (!dev->swap)
		nvme_swap_alloc(dev, wanted);
	if (dev->swap)
		dev->swap->granted = granted;
	return min(granted, min(nvme_max_io_queues(dev), dev->nr_allocated_queues - 1) - wanted);
}

/* Map doorbells for private queues, too, where the BAR has them. */
static void nvme_swap_remap_bar(struct nvme_dev *dev, unsigned int nr_io_queues)
{
	struct nvme_swap *swap = dev->swap;
	unsigned int nr;

	if (!swap)
		return;
	nr = min(swap->granted, nr_io_queues + swap->max);
	while (nr > nr_io_queues &&
	       db_bar_size(dev, nr) > pci_resource_len(to_pci_dev(dev->dev), 0))
		nr--;
	/* If that fails, nothing is mapped, and the caller tries with fewer doorbells. */
	if (nvme_remap_bar(dev, db_bar_size(dev, nr)))
		nr = nr_io_queues;
	swap->granted = nr;
}

/*
 * Allocate the rings, but not in the controller's memory, which is divided among the
 * ordinary queues.
 */
static bool nvme_swap_alloc_queue(struct nvme_dev *dev, struct nvme_swap_queue *q)
{
	struct nvme_queue *nvmeq = &q->nvmeq;

	if (nvmeq->cqes)
		return true;
	nvmeq->sqes = dev->io_sqes;
	nvmeq->q_depth = min_t(u32, NVME_SWAP_DEPTH, dev->q_depth);
	nvmeq->cqes = dma_alloc_coherent(dev->dev, CQ_SIZE(nvmeq), &nvmeq->cq_dma_addr,
					 GFP_KERNEL);
	if (!nvmeq->cqes)
		return false;
	nvmeq->sq_cmds = dma_alloc_coherent(dev->dev, SQ_SIZE(nvmeq), &nvmeq->sq_dma_addr,
					    GFP_KERNEL);
	if (!nvmeq->sq_cmds) {
		nvme_free_queue(nvmeq);
		nvmeq->cqes = NULL;
		return false;
	}
	bitmap_set(q->free, 0, nvmeq->q_depth - 1);
	return true;
}

/* Create a queue as nvme_create_queue() does; < 0 if the controller went away meanwhile. */
static int nvme_swap_create_queue(struct nvme_dev *dev, struct nvme_swap_queue *q, u16 qid)
{
	struct nvme_queue *nvmeq = &q->nvmeq;
	int ret;

	nvmeq->qid = qid;
	clear_bit(NVMEQ_DELETE_ERROR, &nvmeq->flags);
	set_bit(NVMEQ_POLLED, &nvmeq->flags);
	ret = adapter_alloc_cq(dev, qid, nvmeq, 0);
	if (ret)
		return ret;
	ret = adapter_alloc_sq(dev, qid, nvmeq);
	if (ret > 0)
		adapter_delete_cq(dev, qid);
	if (ret)
		return ret;

	ret = nvme_setup_io_queues_trylock(dev);
	if (ret)
		return ret;
	nvme_init_queue(nvmeq, qid);
	/* It is not in dev->queues[], which online_queues counts. */
	dev->online_queues--;
	set_bit(NVMEQ_ENABLED, &nvmeq->flags);

	spin_lock(&nvmeq->cq_poll_lock);
	WRITE_ONCE(q->up, true);
	spin_unlock(&nvmeq->cq_poll_lock);
	spin_lock(&nvmeq->sq_lock);
	WRITE_ONCE(q->open, true);
	spin_unlock(&nvmeq->sq_lock);
	mutex_unlock(&dev->shutdown_lock);
	return 0;
}

/*
 * Create the private queues, after all ordinary ones. Return less than 0 as
 * nvme_swap_create_queue() does.
 */
static int nvme_swap_create_queues(struct nvme_dev *dev)
{
	struct nvme_swap *swap = dev->swap;
	unsigned int i, nr = 0;
	int ret = 0;

	if (!swap)
		return 0;
	/* There may have been fewer vectors than the controller has queues. */
	if (swap->granted > dev->max_qid)
		nr = min(swap->max, swap->granted - dev->max_qid);
	for (i = 0; i < nr; i++) {
		u16 qid = dev->max_qid + 1 + i;

		if (db_bar_size(dev, qid) > dev->bar_mapped_size ||
		    !nvme_swap_alloc_queue(dev, &swap->queue[i]))
			break;
		ret = nvme_swap_create_queue(dev, &swap->queue[i], qid);
		if (ret)
			break;
	}
	if (ret < 0)
		return ret;

	if (i && i != swap->map.nr_queues) {
		swap->map.nr_queues = i;
		blk_mq_map_queues(&swap->map);
	}
	if (i)
		dev_info(dev->ctrl.device, "%u poll queues for swap\n", i);
	else
		dev_info(dev->ctrl.device, "no queue to spare for swap\n");
	return 0;
}

static void nvme_swap_dbbuf_free(struct nvme_dev *dev)
{
	unsigned int i;

	for (i = 0; dev->swap && i < dev->swap->max; i++)
		nvme_dbbuf_free(&dev->swap->queue[i].nvmeq);
}

/* Stop submission: no read is submitted once this returns. Reads in flight go on. */
static void nvme_swap_close(struct nvme_dev *dev)
{
	unsigned int i;

	lockdep_assert_held(&dev->shutdown_lock);

	for (i = 0; dev->swap && i < dev->swap->max; i++) {
		struct nvme_swap_queue *q = &dev->swap->queue[i];

		spin_lock(&q->nvmeq.sq_lock);
		WRITE_ONCE(q->open, false);
		spin_unlock(&q->nvmeq.sq_lock);
	}
}

/* Delete queues as __nvme_delete_io_queues() does, with one timeout for all of them. */
static bool nvme_swap_delete(struct nvme_swap *swap, u8 opcode)
{
	unsigned long timeout = NVME_ADMIN_TIMEOUT;
	unsigned int i = 0, end = 0;

	while (i < swap->max && test_bit(NVMEQ_ENABLED, &swap->queue[i].nvmeq.flags)) {
		for (; end < swap->max && end < i + NVME_SWAP_DELETES; end++)
			if (!test_bit(NVMEQ_ENABLED, &swap->queue[end].nvmeq.flags) ||
			    nvme_delete_queue(&swap->queue[end].nvmeq, opcode))
				break;
		if (end == i)
			return false;
		for (; i < end; i++) {
			timeout = wait_for_completion_io_timeout(&swap->queue[i].nvmeq.delete_done,
								 timeout);
			if (!timeout)
				return false;
		}
	}
	return true;
}

/*
 * Delete the private queues. Disabling the controller is enough for a reset. A shutdown
 * leaves it enabled, and needs the queues deleted before. Deleting a submission queue ends
 * its commands.
 */
static void nvme_swap_delete_queues(struct nvme_dev *dev)
{
	struct nvme_swap *swap = dev->swap;
	unsigned int i;

	if (!swap || !nvme_swap_delete(swap, nvme_admin_delete_sq))
		return;
	/* Let no CPU write the doorbell of a deleted queue. */
	for (i = 0; i < swap->max; i++) {
		struct nvme_swap_queue *q = &swap->queue[i];

		spin_lock(&q->nvmeq.cq_poll_lock);
		nvme_swap_reap_locked(q);
		WRITE_ONCE(q->up, false);
		spin_unlock(&q->nvmeq.cq_poll_lock);
	}
	nvme_swap_delete(swap, nvme_admin_delete_cq);
}

/*
 * Reap completed reads, and give up the others. The controller no longer writes to memory.
 * This CPU sees all submissions, since nvme_swap_close() had sq_lock after them. A late
 * completion of a read given up matches nothing: the completion queue is not read until it
 * is created again.
 */
static void nvme_swap_cancel(struct nvme_dev *dev)
{
	struct nvme_swap *swap = dev->swap;
	unsigned int i, s;

	lockdep_assert_held(&dev->shutdown_lock);

	for (i = 0; swap && i < swap->max; i++) {
		struct nvme_swap_queue *q = &swap->queue[i];

		spin_lock(&q->nvmeq.cq_poll_lock);
		nvme_swap_reap_locked(q);
		WRITE_ONCE(q->up, false);
		for (s = 0; s < NVME_SWAP_SLOTS; s++)
			if (READ_ONCE(q->slot[s].state) == NVME_SWAP_READ)
				nvme_swap_end(&q->slot[s], false);
		spin_unlock(&q->nvmeq.cq_poll_lock);
		clear_bit(NVMEQ_ENABLED, &q->nvmeq.flags);
	}
}

/*
 * Stop the watchdog on removal, after nvme_dev_disable(). It is not armed any more, but may
 * be about to disable the controller once more. That needs the admin queue, which goes next.
 */
static void nvme_swap_stop(struct nvme_dev *dev)
{
	if (dev->swap)
		cancel_delayed_work_sync(&dev->swap->watch);
}

/* Free the rings, after nvme_swap_stop(). Poll and reap may still be called. */
static void nvme_swap_free_queues(struct nvme_dev *dev)
{
	struct nvme_swap *swap = dev->swap;
	unsigned int i;

	if (!swap)
		return;
	/* Pairs with rcu_read_lock() in nvme_swap_reap_queue(): ->up was cleared long ago. */
	synchronize_rcu();
	for (i = 0; i < swap->max; i++) {
		struct nvme_queue *nvmeq = &swap->queue[i].nvmeq;

		if (!nvmeq->cqes)
			continue;
		nvme_free_queue(nvmeq);
		nvmeq->cqes = NULL;
		nvmeq->sq_cmds = NULL;
	}
}

/*
 * Free struct nvme_swap with the controller. No read is in flight, or its block device would
 * be open.
 */
static void nvme_swap_free(struct nvme_dev *dev)
{
	struct nvme_swap *swap = dev->swap;

	if (!swap)
		return;
	destroy_workqueue(swap->wq);
	kfree(swap->map.mq_map);
	kvfree(swap);
}

static ssize_t swap_queues_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct nvme_swap *swap = READ_ONCE(to_nvme_dev(dev_get_drvdata(dev))->swap);
	unsigned int i, nr = 0;

	for (i = 0; swap && i < swap->max; i++)
		nr += READ_ONCE(swap->queue[i].open);
	return sysfs_emit(buf, "%u\n", nr);
}
static DEVICE_ATTR_RO(swap_queues);

/* Define a file with the sum of a counter over all queues. */
#define NVME_SWAP_SUM_ATTR(name, counter)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{											\
	struct nvme_swap *swap = READ_ONCE(to_nvme_dev(dev_get_drvdata(dev))->swap);	\
	unsigned long sum = 0;								\
	unsigned int i;									\
											\
	for (i = 0; swap && i < swap->max; i++)						\
		sum += READ_ONCE(swap->queue[i].counter);				\
	return sysfs_emit(buf, "%lu\n", sum);						\
}											\
static DEVICE_ATTR_RO(name)

NVME_SWAP_SUM_ATTR(swap_reads, over);
NVME_SWAP_SUM_ATTR(swap_retries, retries);
NVME_SWAP_SUM_ATTR(swap_timeouts, timeouts);

static struct attribute *nvme_swap_attrs[] = {
	&dev_attr_swap_queues.attr,
	&dev_attr_swap_reads.attr,
	&dev_attr_swap_retries.attr,
	&dev_attr_swap_timeouts.attr,
	NULL,
};

static const struct attribute_group nvme_swap_attrs_group = {
	.attrs	= nvme_swap_attrs,
};
