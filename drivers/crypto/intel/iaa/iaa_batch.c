// SPDX-License-Identifier: GPL-2.0
/*
 * IAA driver with requests of several units: what happens to requests. See iaa_batch.h
 *
 * Who has submitted a request polls until all units have ended. No interrupt is used, and nobody
 * else looks at the request, so nothing of it is locked.
 *
 * 1. A unit that a device has ends by its status, or as its queue was aborted, or its device
 *    stopped: never by the clock alone. Until then its pages are mapped, and its descriptor is
 *    taken, as the device may write.
 * 2. Nothing is submitted while an abort is under way (iaa_srcu). So what has the epoch of before
 *    does not get to the device after it.
 * 3. A status is read before what else the device writes (dma_rmb()), and pages are unmapped
 *    before anybody looks at them: there may be bounce buffers.
 */
#include <crypto/internal/acompress.h>
#include <kunit/static_stub.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>

#include "iaa_batch.h"
#include "iaa_crypto_stats.h"

/* How a task waits for a request without units, in us: it spins so long, then sleeps */
#define IAA_SPIN_US	50

/* The time, in jiffies */
static unsigned long iaa_now(void)
{
	KUNIT_STATIC_STUB_REDIRECT(iaa_now);
	return jiffies;
}

/* Whether something has begun so long ago that its queue is to be aborted, or @times as long */
static bool iaa_is_late(unsigned long began, unsigned int times)
{
	return time_after(iaa_now(), began + times * msecs_to_jiffies(READ_ONCE(iaa_abort_ms)));
}

/* Whether a device was told to abort a queue long ago. A unit's own time says nothing of that. */
static bool iaa_is_dead(const struct iaa_queue *queue)
{
	/* Pairs with iaa_abort_work(): the time is that of this abort. */
	return smp_load_acquire(&queue->commanded) &&
	       time_after(iaa_now(), READ_ONCE(queue->since) +
			  msecs_to_jiffies(READ_ONCE(iaa_dead_ms)));
}

/* The device writes what is compressed, and reads it again if that is verified. */
static enum dma_data_direction iaa_dst_direction(const struct iaa_req *ir)
{
	return ir->verify ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

static void iaa_unmap(const struct iaa_req *ir, const struct iaa_slot *slot)
{
	struct device *dev = iaa_queue_dev(ir->queue);

	dma_unmap_page(dev, slot->dst_dma, slot->dst->length, iaa_dst_direction(ir));
	dma_unmap_page(dev, slot->src_dma, slot->src->length, DMA_TO_DEVICE);
}

static int iaa_map(const struct iaa_req *ir, struct iaa_slot *slot)
{
	struct device *dev = iaa_queue_dev(ir->queue);

	slot->src_dma = dma_map_page(dev, sg_page(slot->src), slot->src->offset, slot->src->length,
				     DMA_TO_DEVICE);
	if (dma_mapping_error(dev, slot->src_dma))
		return -EIO;
	slot->dst_dma = dma_map_page(dev, sg_page(slot->dst), slot->dst->offset, slot->dst->length,
				     iaa_dst_direction(ir));
	if (!dma_mapping_error(dev, slot->dst_dma))
		return 0;
	dma_unmap_page(dev, slot->src_dma, slot->src->length, DMA_TO_DEVICE);
	return -EIO;
}

/* Have a descriptor begin with the state that was written for canned pages, or write that. */
static void iaa_describe_state(const struct iaa_req *ir, struct iax_hw_desc *hw, u32 flags)
{
	const struct iaa_batch_device *device = iaa_queue_device(ir->queue);

	hw->flags |= flags;
	hw->src2_addr = device->state_dma;
	hw->src2_size = device->state_size;
}

/* Fill in a unit's descriptor. */
static void iaa_describe(const struct iaa_req *ir, struct iaa_slot *slot)
{
	struct iaa_device *device = ir->queue->iaa.iaa_device;
	struct iax_hw_desc *hw = slot->desc->iax_hw;

	hw->flags = IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR | IDXD_OP_FLAG_CC;
	hw->completion_addr = slot->desc->compl_dma;
	if (slot->verify) {
		/* The output is where the input was, and is not written. */
		hw->opcode = IAX_OPCODE_DECOMPRESS;
		hw->decompr_flags = IAA_DECOMP_FLAGS | IAA_DECOMP_SUPPRESS_OUTPUT;
		hw->src1_addr = slot->dst_dma;
		hw->src1_size = slot->len;
		hw->dst_addr = slot->src_dma;
		hw->max_dst_size = slot->src->length;
		if (ir->mode == IAA_MODE_CANNED)
			iaa_describe_state(ir, hw, IDXD_OP_FLAG_RD_SRC2_AECS);
		return;
	}
	hw->src1_addr = slot->src_dma;
	hw->src1_size = slot->src->length;
	hw->dst_addr = slot->dst_dma;
	hw->max_dst_size = slot->dst->length;
	if (ir->prepare) {
		hw->dst_addr = 0;
		hw->max_dst_size = 0;
		hw->opcode = IAX_OPCODE_DECOMPRESS;
		hw->decompr_flags = IAA_HEADER_FLAGS;
		iaa_describe_state(ir, hw, IAA_WRITE_STATE);
		return;
	}
	if (!ir->compress) {
		hw->opcode = IAX_OPCODE_DECOMPRESS;
		hw->decompr_flags = IAA_DECOMP_FLAGS;
		if (ir->mode == IAA_MODE_CANNED)
			iaa_describe_state(ir, hw, IDXD_OP_FLAG_RD_SRC2_AECS);
		return;
	}
	hw->opcode = IAX_OPCODE_COMPRESS;
	hw->compr_flags = IAA_COMP_FLAGS;
	if (ir->mode == IAA_MODE_DYNAMIC) {
		hw->compr_flags |= IAA_COMP_MADE;
	} else {
		hw->flags |= IDXD_OP_FLAG_RD_SRC2_AECS;
		hw->src2_addr = device->compression_modes[ir->mode]->aecs_comp_table_dma_addr;
		hw->src2_size = sizeof(struct aecs_comp_table_record);
	}
}

/*
 * Give a unit that has a descriptor to the device. Return 0, -EAGAIN if its queue is being aborted,
 * or another error.
 */
static int iaa_send(const struct iaa_req *ir, struct iaa_slot *slot)
{
	int err;

	/*
	 * Of what is submitted while an abort is under way nobody knows whether it was dropped.
	 * Pairs with iaa_abort_work(): without an abort this is the epoch that there is.
	 */
	if (smp_load_acquire(&ir->queue->aborting))
		return -EAGAIN;
	iaa_describe(ir, slot);
	slot->began = jiffies;
	slot->epoch = READ_ONCE(ir->queue->epoch);
	err = idxd_submit_desc(ir->queue->iaa.wq, slot->desc);
	if (!err)
		slot->state = IAA_SUBMITTED;
	return err;
}

static void iaa_count_call(const struct iaa_req *ir)
{
	struct idxd_wq *wq = ir->queue->iaa.wq;

	if (ir->prepare)
		return;
	if (ir->compress) {
		update_total_comp_calls();
		update_wq_comp_calls(wq);
	} else {
		update_total_decomp_calls();
		update_wq_decomp_calls(wq);
	}
}

/*
 * Submit a unit. Return 0, -EAGAIN if it has to wait, or another error: it is not to be tried
 * again. Units that wait hold nothing that others wait for.
 */
static int iaa_start(const struct iaa_req *ir, struct iaa_slot *slot)
{
	struct idxd_wq *wq;
	int err;

	KUNIT_STATIC_STUB_REDIRECT(iaa_start, ir, slot);
	if (!ir->queue || !iaa_queue_is_on(ir->queue))
		return -ENODEV;
	/* iaa_send() looks, too. This is not to take a descriptor in vain. */
	if (READ_ONCE(ir->queue->aborting))
		return -EAGAIN;
	wq = ir->queue->iaa.wq;
	slot->desc = idxd_alloc_desc(wq, IDXD_OP_NONBLOCK);
	if (IS_ERR(slot->desc))
		return PTR_ERR(slot->desc);
	err = iaa_map(ir, slot);
	if (err)
		goto free;
	err = iaa_send(ir, slot);
	if (err)
		goto unmap;
	iaa_count_call(ir);
	return 0;
unmap:
	iaa_unmap(ir, slot);
free:
	idxd_free_desc(wq, slot->desc);
	return err;
}

/* A unit has ended. */
static void iaa_end(struct iaa_req *ir, struct iaa_slot *slot, int result)
{
	slot->dst->length = result;
	slot->state = IAA_FREE;
	ir->busy--;
}

/* No device compresses or decompresses a unit. */
static void iaa_give_up(struct iaa_req *ir, struct iaa_slot *slot, int err)
{
	if (ir->compress || ir->prepare)
		iaa_end(ir, slot, err);
	else
		slot->state = IAA_SOFTWARE;
}

/* A device has ended a unit that has to be verified: submit that. Return false if that fails. */
static bool iaa_verify(const struct iaa_req *ir, struct iaa_slot *slot)
{
	struct idxd_desc *desc = slot->desc;

	slot->len = desc->iax_completion->output_size;
	slot->crc = desc->iax_completion->crc;
	slot->verify = true;
	memset(desc->hw, 0, sizeof(*desc->hw));
	memset(desc->iax_completion, 0, sizeof(*desc->iax_completion));
	return !iaa_send(ir, slot);
}

/* What a status says of a unit: its length, or an error */
static int iaa_result(const struct iaa_req *ir, const struct iaa_slot *slot)
{
	const struct iax_completion_record *record = slot->desc->iax_completion;

	if (slot->verify) {
		if (record->status == IAX_COMP_SUCCESS && record->crc == slot->crc &&
		    record->output_size == slot->src->length)
			return slot->len;
		update_completion_einval_errs();
		return -EIO;
	}
	if (record->status == IAX_COMP_SUCCESS && ir->prepare)
		return 0;
	if (record->status == IAX_COMP_SUCCESS) {
		unsigned int len = record->output_size;

		if (slot->src == &ir->in)
			return len && len <= slot->dst->length ? len : -EIO;
		/* The contract of units: what got no shorter has failed, and what is no unit. */
		if (ir->compress)
			return !len ? -EIO : len < slot->src->length ? len : -ENOSPC;
		return len == slot->dst->length ? len : -EIO;
	}
	if (ir->compress && record->status == IAA_ANALYTICS_ERROR &&
	    record->error_code == IAA_ERROR_COMP_BUF_OVERFLOW) {
		update_completion_comp_buf_overflow_errs();
		return -ENOSPC;
	}
	update_completion_einval_errs();
	return -EIO;
}

/* A unit is not with a device any more; @ended: it has a status. */
static void iaa_retire(struct iaa_req *ir, struct iaa_slot *slot, bool ended)
{
	struct idxd_wq *wq = ir->queue->iaa.wq;
	int result = -EIO;

	if (ended) {
		/* Pairs with the device's writing the status last. */
		dma_rmb();
		result = iaa_result(ir, slot);
		if (result >= 0 && ir->verify && !slot->verify) {
			if (iaa_verify(ir, slot))
				return;
			result = -EIO;
		}
	}
	iaa_unmap(ir, slot);
	idxd_free_desc(wq, slot->desc);
	slot->desc = NULL;
	if (result < 0) {
		iaa_give_up(ir, slot, result);
		return;
	}
	if (ir->compress) {
		update_total_comp_bytes_out(result);
		update_wq_comp_bytes(wq, result);
	} else if (!ir->prepare) {
		update_total_decomp_bytes_in(slot->src->length);
		update_wq_decomp_bytes(wq, slot->src->length);
	}
	iaa_end(ir, slot, result);
}

/* Look whether a device has ended a unit. */
static void iaa_look(struct iaa_req *ir, struct iaa_slot *slot)
{
	const struct iax_completion_record *record = slot->desc->iax_completion;
	struct iaa_queue *queue = ir->queue;
	bool gone;

	if (record->status) {
		iaa_retire(ir, slot, true);
		return;
	}
	/* Pairs with iaa_abort_work(): what has ended before the abort has its status. */
	gone = smp_load_acquire(&queue->epoch) != slot->epoch;
	if (!gone && !iaa_queue_is_on(queue)) {
		/* The driver has seen, or made, the device stop, and so its last writes. */
		smp_rmb();
		gone = true;
	}
	if (gone)
		iaa_retire(ir, slot, record->status);
	else if (iaa_is_dead(queue))
		iaa_queue_stop(queue);
	else if (iaa_is_late(slot->began, 1))
		iaa_queue_abort(queue, slot->epoch);
}

/* Submit a unit that has waited, or will have to. */
static void iaa_try(struct iaa_req *ir, struct iaa_slot *slot)
{
	int err = iaa_start(ir, slot);

	if (!err)
		return;
	/* Who has the descriptors has them back by then, if need be by an abort. */
	if (err == -EAGAIN && !iaa_is_late(slot->began, 2))
		return;
	/* -EBUSY would be taken for a request that is queued, and ends later. */
	iaa_give_up(ir, slot, err == -EAGAIN ? -ETIMEDOUT : err);
}

static void iaa_soft(struct iaa_req *ir, struct iaa_slot *slot)
{
	int result = iaa_inflate(slot->src, slot->dst, ir->mode == IAA_MODE_CANNED);

	if (result == -EAGAIN)
		return;
	update_total_sw_decomp_calls();
	iaa_end(ir, slot, result < 0 ? -EIO : result);
}

/* Take units that have no slot, as far as there are slots. */
static void iaa_take(struct iaa_req *ir)
{
	for (unsigned int i = 0; i < IAA_UNITS && ir->left; i++) {
		struct iaa_slot *slot = &ir->slot[i];

		if (slot->state != IAA_FREE)
			continue;
		*slot = (struct iaa_slot){
			.state = IAA_WAITS, .src = ir->src, .dst = ir->dst, .began = jiffies,
		};
		ir->busy++;
		if (--ir->left) {
			ir->src = sg_next(ir->src);
			ir->dst = sg_next(ir->dst);
		}
		iaa_try(ir, slot);
	}
}

/* Look at all units. Return false if some have not ended. */
static bool iaa_advance(struct iaa_req *ir)
{
	int idx = srcu_read_lock(&iaa_srcu);

	for (unsigned int i = 0; i < IAA_UNITS; i++) {
		struct iaa_slot *slot = &ir->slot[i];

		if (slot->state == IAA_SUBMITTED)
			iaa_look(ir, slot);
		else if (slot->state == IAA_WAITS)
			iaa_try(ir, slot);
		if (slot->state == IAA_SOFTWARE)
			iaa_soft(ir, slot);
	}
	iaa_take(ir);
	srcu_read_unlock(&iaa_srcu, idx);
	if (ir->busy || ir->left)
		return false;
	if (ir->queue)
		percpu_ref_put(&ir->queue->users);
	ir->queue = NULL;
	return true;
}

/* Begin with a request of @nr units. */
static int iaa_begin(struct iaa_req *ir, struct acomp_req *req, unsigned int nr, bool compress)
{
	int idx;

	ir->mode = ((struct iaa_compression_ctx *)
		    acomp_tfm_ctx(crypto_acomp_reqtfm(req)))->mode;
	ir->queue = iaa_queue_get(ir->mode);
	/* What cannot be compressed goes elsewhere. What was compressed has to be read. */
	if (!ir->queue && compress)
		return -ENODEV;
	ir->compress = compress;
	ir->prepare = false;
	ir->verify = compress && iaa_verify_compress;
	ir->left = nr;
	ir->busy = 0;
	for (unsigned int i = 0; i < IAA_UNITS; i++)
		ir->slot[i].state = IAA_FREE;
	idx = srcu_read_lock(&iaa_srcu);
	iaa_take(ir);
	srcu_read_unlock(&iaa_srcu, idx);
	return 0;
}

/* Wait until a request has ended. */
static void iaa_wait(struct iaa_req *ir)
{
	ktime_t start = ktime_get();

	while (!iaa_advance(ir)) {
		if (!need_resched() && ktime_us_delta(ktime_get(), start) < IAA_SPIN_US)
			cpu_relax();
		else
			usleep_range(IAA_SPIN_US, 2 * IAA_SPIN_US);
	}
}

/* A request without units: one that is waited for. */
static int iaa_one(struct acomp_req *req, bool compress)
{
	struct iaa_req *ir = acomp_request_ctx(req);
	int err, len;

	might_sleep();
	/* One piece of memory each, as the device has one address for each. */
	if (sg_nents_for_len(req->src, req->slen) != 1 ||
	    sg_nents_for_len(req->dst, req->dlen) != 1)
		return -EINVAL;
	sg_init_table(&ir->in, 1);
	sg_init_table(&ir->out, 1);
	sg_set_page(&ir->in, sg_page(req->src), req->slen, req->src->offset);
	sg_set_page(&ir->out, sg_page(req->dst), req->dlen, req->dst->offset);
	ir->src = &ir->in;
	ir->dst = &ir->out;
	err = iaa_begin(ir, req, 1, compress);
	if (err)
		return err;
	iaa_wait(ir);
	len = acomp_unit_result(&ir->out);
	if (len < 0)
		return len;
	req->dlen = len;
	return 0;
}

static int iaa_submit(struct acomp_req *req, bool compress)
{
	struct iaa_req *ir = acomp_request_ctx(req);
	int nr, err;

	if (!req->src || !req->dst || !req->slen)
		return -EINVAL;
	if (!req->unit_size)
		return iaa_one(req, compress);
	nr = sg_nents(req->src);
	if (nr != sg_nents(req->dst))
		return -EINVAL;
	ir->src = req->src;
	ir->dst = req->dst;
	err = iaa_begin(ir, req, nr, compress);
	return err ?: -EINPROGRESS;
}

/**
 * iaa_compress - compress
 * @req: a request, with or without units
 *
 * Context: task; may sleep if @req has no units.
 * Return: what acompress-batch.h says. Without units, 0 if it is compressed. -ENODEV if there is no
 * device, -ENOSPC if there is not enough room, -EIO if a device has failed or lost it, or the
 * result is wrong; -ETIMEDOUT if all descriptors were taken for long.
 */
int iaa_compress(struct acomp_req *req)
{
	return iaa_submit(req, true);
}

/**
 * iaa_decompress - decompress, by a device if there is one
 * @req: a request, with or without units
 *
 * Context: task; may sleep if @req has no units.
 * Return: what acompress-batch.h says. Without units, 0 if it is decompressed, -EIO if it is not
 * valid.
 */
int iaa_decompress(struct acomp_req *req)
{
	return iaa_submit(req, false);
}

/**
 * iaa_poll - look for units that have ended
 * @req: a request with units that was submitted
 *
 * Context: who has submitted it; does not sleep.
 * Return: 0 if all have ended, or -EAGAIN.
 */
int iaa_poll(struct acomp_req *req)
{
	if (!iaa_advance(acomp_request_ctx(req)))
		return -EAGAIN;
	acomp_request_complete(req, 0);
	return 0;
}

/**
 * iaa_prepare - have a queue's device read the header of canned pages
 * @queue: the queue
 *
 * Its decompressor's state after that is written to what all its queues read.
 *
 * Context: may sleep; nobody else does the same for that device.
 * Return: 0, -ENOMEM, -ENODEV if the queue goes, or an error of the device as of iaa_compress().
 */
int iaa_prepare(struct iaa_queue *queue)
{
	struct iaa_req *ir = kzalloc(sizeof(*ir), GFP_KERNEL);
	u8 *page = (u8 *)__get_free_page(GFP_KERNEL);
	int err = -ENOMEM;

	if (!ir || !page)
		goto free;
	err = -ENODEV;
	if (!percpu_ref_tryget_live(&queue->users))
		goto free;
	memcpy(page, iaa_header, iaa_header_size);
	sg_init_one(&ir->in, page, iaa_header_size);
	/* Nothing is written here. */
	sg_init_one(&ir->out, page + PAGE_SIZE / 2, PAGE_SIZE / 2);
	ir->queue = queue;
	ir->mode = IAA_MODE_CANNED;
	ir->prepare = true;
	ir->src = &ir->in;
	ir->dst = &ir->out;
	ir->left = 1;
	iaa_wait(ir);
	err = acomp_unit_result(&ir->out);
free:
	free_page((unsigned long)page);
	kfree(ir);
	return err;
}

#ifdef CONFIG_CRYPTO_DEV_IAA_BATCH_KUNIT_TEST
#include "iaa_batch_kunit.c"
#endif
