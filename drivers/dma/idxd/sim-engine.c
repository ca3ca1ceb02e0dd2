// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated IAA device: its queues, and engines that take descriptors from them. See sim.h
 *
 * An engine reads all input before it works, and writes all output after it, as what a descriptor
 * points to may change meanwhile: whoever submits too little care is to get wrong data, but not to
 * damage the simulation.
 */
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/timex.h>

#include "idxd.h"
#include "registers.h"
#include "sim.h"

/* What the compressor's state looks like, as drivers/crypto/intel/iaa has it */
struct sim_aecs {
	u32 crc;
	u32 xor_checksum;
	u32 reserved[5];
	u32 num_output_accum_bits;
	u8 output_accum[256];
	u32 ll_sym[SIM_LL];
	u32 reserved2[2];
	u32 d_sym[SIM_DIST];
	u32 padding[2];
} __packed;

/*
 * The decompressor's state between two descriptors, as this simulation writes it: what a device
 * writes is its own. It has to come back as it was, which @sum tells.
 */
struct sim_state {
	u32 sum;
	u8 last;
	u8 ll[SIM_LL_MOST];
	u8 dist[SIM_DIST_MOST];
} __packed;

/* Room for it: of a device whose decompressor has its first format */
#define SIM_STATE	1088

/* Flags of all descriptors, of compression and of decompression that there are */
#define SIM_FLAGS	(IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR | IDXD_OP_FLAG_RCI | IDXD_OP_FLAG_CC)
#define SIM_COMP	(BIT(1) | BIT(2))
#define SIM_COMP_MADE	(BIT(12) | BIT(13))
#define SIM_DECOMP	(BIT(0) | BIT(1) | BIT(2) | BIT(3))
#define SIM_DECOMP_SUPPRESS	BIT(9)
#define SIM_DECOMP_HEADER	(BIT(0) | SIM_DECOMP_SUPPRESS)

/* Of two states at src2, with SIM_OTHER the first one is written, and the second one read. */
#define SIM_OTHER	BIT(22)
#define SIM_WRITE_STATE	(IDXD_OP_FLAG_WR_SRC2_AECS_COMP | SIM_OTHER)

/* Error codes of an analytics error */
#define SIM_ERR_DATA	0x02
#define SIM_ERR_ROOM	0x19

/* --- memory ------------------------------------------------------------------- */

/*
 * Where memory is that the device calls @addr, or NULL if it was not given that. Without an IOMMU
 * it may access whatever is memory.
 */
static void *sim_address(struct idxd_sim *sim, u64 addr)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&sim->pdev->dev);
	phys_addr_t phys = domain ? iommu_iova_to_phys(domain, addr) : addr;

	if (!phys || !pfn_valid(PHYS_PFN(phys)) || !page_is_ram(PHYS_PFN(phys)))
		return NULL;
	return phys_to_virt(phys);
}

/* Copy between the device and memory, a page at a time. Return false if it may not. */
static bool sim_dma(struct idxd_sim *sim, u64 addr, void *data, u32 len, bool write)
{
	/* It was told to keep off the bus. */
	if (!sim->pdev->is_busmaster)
		return false;
	while (len) {
		u32 n = min_t(u32, len, PAGE_SIZE - offset_in_page(addr));
		void *at = sim_address(sim, addr);

		if (!at) {
			sim_count(sim, SIM_BAD_DMA);
			return false;
		}
		if (write)
			memcpy(at, data, n);
		else
			memcpy(data, at, n);
		addr += n;
		data += n;
		len -= n;
	}
	return true;
}

/* --- descriptors -------------------------------------------------------------- */

static u8 sim_compress(struct sim_engine *engine, const struct iax_hw_desc *desc,
		       struct iax_completion_record *record)
{
	struct sim_buf buf = {
		.src = engine->src, .slen = desc->src1_size,
		.dst = engine->dst, .room = min_t(u32, desc->max_dst_size, SIM_XFER),
	};
	bool made = desc->compr_flags & SIM_COMP_MADE;
	struct sim_aecs aecs;
	int err;

	if (desc->compr_flags != (made ? SIM_COMP | SIM_COMP_MADE : SIM_COMP))
		return IAX_COMP_INVALID_COMP_FLAG;
	/* Codes are either given, or made. */
	if (made != !(desc->flags & IDXD_OP_FLAG_RD_SRC2_AECS) || desc->flags & SIM_WRITE_STATE)
		return IAX_COMP_INVALID_FLAGS;
	if (made) {
		err = sim_deflate_dynamic(&buf, &engine->codes, &engine->work);
	} else {
		if (desc->src2_size != sizeof(aecs))
			return IAX_COMP_INVALID_SIZE;
		if (!sim_dma(engine->sim, desc->src2_addr, &aecs, sizeof(aecs), false))
			return IAX_COMP_TRANSLATION_FAIL;
		if (aecs.num_output_accum_bits > 8 * sizeof(aecs.output_accum))
			return IAX_COMP_INVALID_SIZE;
		memcpy(engine->codes.ll, aecs.ll_sym, sizeof(engine->codes.ll));
		memcpy(engine->codes.dist, aecs.d_sym, sizeof(engine->codes.dist));
		err = sim_deflate(&buf, &engine->codes, aecs.output_accum,
				  aecs.num_output_accum_bits, &engine->work);
	}
	record->crc = crc32_le(0, engine->src, desc->src1_size);
	record->output_size = buf.len;
	if (!err)
		return IAX_COMP_SUCCESS;
	record->error_code = err == -ENOSPC ? SIM_ERR_ROOM : SIM_ERR_DATA;
	return IAX_COMP_ANALYTICS_ERROR;
}

static u32 sim_sum(const struct sim_state *state)
{
	return crc32_le(~0, &state->last, sizeof(*state) - offsetof(struct sim_state, last));
}

/* Write the state after a block's header, for other descriptors to begin with. */
static u8 sim_write_state(struct sim_engine *engine, const struct iax_hw_desc *desc)
{
	struct sim_state state = { .last = engine->inflate.last };
	u8 filler[SIM_STATE - sizeof(state)] = { };

	sim_inflate_save(&engine->inflate, state.ll, state.dist);
	state.sum = sim_sum(&state);
	if (!sim_dma(engine->sim, desc->src2_addr, &state, sizeof(state), true) ||
	    !sim_dma(engine->sim, desc->src2_addr + sizeof(state), filler, sizeof(filler), true))
		return IAX_COMP_TRANSLATION_FAIL;
	return IAX_COMP_SUCCESS;
}

/* Begin with the state that a descriptor gives, if it does. */
static u8 sim_read_state(struct sim_engine *engine, const struct iax_hw_desc *desc)
{
	struct sim_state state;

	memset(&engine->inflate, 0, sizeof(engine->inflate));
	if (!(desc->flags & (IDXD_OP_FLAG_RD_SRC2_AECS | SIM_WRITE_STATE)))
		return IAX_COMP_SUCCESS;
	if (desc->src2_size != SIM_STATE)
		return IAX_COMP_INVALID_SIZE;
	if (!(desc->flags & IDXD_OP_FLAG_RD_SRC2_AECS))
		return IAX_COMP_SUCCESS;
	if (!sim_dma(engine->sim, desc->src2_addr, &state, sizeof(state), false))
		return IAX_COMP_TRANSLATION_FAIL;
	if (state.sum != sim_sum(&state) ||
	    sim_inflate_load(&engine->inflate, state.ll, state.dist))
		return IAX_COMP_ANALYTICS_ERROR;
	engine->inflate.last = state.last;
	return IAX_COMP_SUCCESS;
}

static u8 sim_decompress(struct sim_engine *engine, const struct iax_hw_desc *desc,
			 struct iax_completion_record *record)
{
	struct sim_buf buf = {
		.src = engine->src, .slen = desc->src1_size,
		.dst = engine->dst, .room = min_t(u32, desc->max_dst_size, SIM_XFER),
	};
	u32 state = desc->flags & (IDXD_OP_FLAG_RD_SRC2_AECS | SIM_WRITE_STATE);
	bool header = state == SIM_WRITE_STATE;
	u8 status;
	int err;

	if (state && !header && state != IDXD_OP_FLAG_RD_SRC2_AECS)
		return IAX_COMP_INVALID_FLAGS;
	if (header ? desc->decompr_flags != SIM_DECOMP_HEADER :
	    (desc->decompr_flags & ~SIM_DECOMP_SUPPRESS) != SIM_DECOMP)
		return IAX_COMP_INVALID_COMP_FLAG;
	status = sim_read_state(engine, desc);
	if (status != IAX_COMP_SUCCESS)
		return status;
	err = sim_inflate(&buf, &engine->inflate, header);
	if (!err && header)
		return sim_write_state(engine, desc);
	record->crc = crc32_le(0, engine->dst, buf.len);
	record->output_size = buf.len;
	if (!err)
		return IAX_COMP_SUCCESS;
	if (err == -ENOSPC)
		return IAX_COMP_OUTBUF_OVERFLOW;
	record->error_code = SIM_ERR_DATA;
	return IAX_COMP_ANALYTICS_ERROR;
}

/* Do what a descriptor says. Return its status. */
static u8 sim_work(struct sim_engine *engine, const struct iax_hw_desc *desc,
		   struct iax_completion_record *record)
{
	struct idxd_sim *sim = engine->sim;
	u32 flags = SIM_FLAGS | IDXD_OP_FLAG_RD_SRC2_AECS | SIM_WRITE_STATE;
	bool writes = true;
	u8 status;

	if (desc->opcode == IAX_OPCODE_NOOP || desc->opcode == IAX_OPCODE_DRAIN)
		return IAX_COMP_SUCCESS;
	if (desc->opcode != IAX_OPCODE_COMPRESS && desc->opcode != IAX_OPCODE_DECOMPRESS)
		return IAX_COMP_BAD_OPCODE;
	if (desc->flags & ~flags) {
		record->invalid_flags = desc->flags & ~flags;
		return IAX_COMP_INVALID_FLAGS;
	}
	if (!desc->src1_size || desc->src1_size > SIM_XFER)
		return IAX_COMP_INVALID_SIZE;
	if (!sim_dma(sim, desc->src1_addr, engine->src, desc->src1_size, false))
		return IAX_COMP_TRANSLATION_FAIL;
	if (desc->opcode == IAX_OPCODE_COMPRESS) {
		status = sim_compress(engine, desc, record);
	} else {
		status = sim_decompress(engine, desc, record);
		writes = !(desc->decompr_flags & SIM_DECOMP_SUPPRESS);
	}
	if (!writes)
		return status;
	if (record->output_size && sim_should(sim, SIM_FLIP)) {
		sim_count(sim, SIM_FLIPPED);
		engine->dst[record->output_size / 2] ^= 0x10;
	}
	/* Output that has no room is written as far as it has, and so is damaged data's. */
	if (!sim_dma(sim, desc->dst_addr, engine->dst, record->output_size, true))
		return IAX_COMP_TRANSLATION_FAIL;
	return status;
}

/**
 * sim_leave - count how a descriptor leaves the device
 * @sim: the device
 * @how: how
 *
 * Context: any; before anybody can see that it has.
 */
void sim_leave(struct idxd_sim *sim, enum sim_count how)
{
	sim_count(sim, how);
	atomic_dec(&sim->now);
}

/**
 * sim_end - write how a descriptor has ended
 * @sim: the device
 * @desc: the descriptor
 * @record: what to write but for the status
 * @status: that, which is written last, as the driver looks at it alone
 *
 * Context: any.
 */
void sim_end(struct idxd_sim *sim, const struct iax_hw_desc *desc,
	     struct iax_completion_record *record, u8 status)
{
	struct iax_completion_record *at = sim_address(sim, desc->completion_addr);

	sim_leave(sim, status == IAX_COMP_SUCCESS ? SIM_DONE : SIM_FAILED);
	if (!sim->pdev->is_busmaster)
		return;
	if (desc->flags & IDXD_OP_FLAG_CRAV) {
		if (!at || !IS_ALIGNED(desc->completion_addr, sizeof(*at))) {
			sim_count(sim, SIM_BAD_DMA);
			return;
		}
		record->status = 0;
		memcpy(at, record, sizeof(*at));
		/* Pairs with the driver's reading the status before all else. */
		smp_store_release((u8 *)&at->status, status);
	}
	if (desc->flags & IDXD_OP_FLAG_RCI)
		sim_interrupt(sim, desc->int_handle);
}

/* A descriptor has ended, or will have. */
static void sim_ends(struct sim_engine *engine, struct sim_queue *queue,
		     const struct iax_hw_desc *desc, struct iax_completion_record *record,
		     u8 status, bool at_once)
{
	struct idxd_sim *sim = engine->sim;
	struct sim_held held = { .desc = *desc, .record = *record, .status = status };

	if (at_once && sim->latency)
		sim_hold(sim, queue, engine->arrived, &held);
	else
		sim_end(sim, desc, record, status);
}

/* Work for a descriptor, unless it goes wrong on demand. With @at_once nothing is delayed. */
static void sim_descriptor(struct sim_engine *engine, struct sim_queue *queue,
			   const struct iax_hw_desc *desc, bool at_once)
{
	struct iax_completion_record record = { };
	struct idxd_sim *sim = engine->sim;
	u8 status;

	if (!at_once && sim_should(sim, SIM_DELAY))
		wait_event_timeout(sim->ended, READ_ONCE(queue->aborting),
				   msecs_to_jiffies(READ_ONCE(sim->delay_ms)));
	if (READ_ONCE(queue->aborting)) {
		sim_leave(sim, SIM_ABORTED);
	} else if (sim_should(sim, SIM_LOSE)) {
		WRITE_ONCE(queue->lost, true);
		sim_leave(sim, SIM_LOST);
	} else if (sim_should(sim, SIM_FAIL)) {
		u32 how = READ_ONCE(sim->status);

		status = how;
		record.error_code = how >> 8;
		/* It looks as if it had been done, or is said to be. */
		if (status != IAX_COMP_SUCCESS)
			record.output_size = desc->opcode == IAX_OPCODE_COMPRESS ?
					     desc->src1_size / 2 : desc->max_dst_size;
		sim_ends(engine, queue, desc, &record, status, at_once);
	} else {
		status = sim_work(engine, desc, &record);
		sim_ends(engine, queue, desc, &record, status, at_once);
	}
}

/* --- engines and queues -------------------------------------------------------- */

/* Take a descriptor for an engine. */
static struct sim_queue *sim_take(struct sim_engine *engine, unsigned int id,
				  struct iax_hw_desc *desc)
{
	struct idxd_sim *sim = engine->sim;

	lockdep_assert_held(&sim->lock);
	/* Each engine begins with another queue, so that all are served. */
	for (unsigned int i = 0; i < SIM_QUEUES; i++) {
		struct sim_queue *queue = &sim->queue[(i + id) % SIM_QUEUES];

		if (queue->engines & BIT(id) && queue->head != queue->tail) {
			*desc = queue->ring[queue->head++ % SIM_DEPTH];
			queue->busy++;
			return queue;
		}
	}
	return NULL;
}

static void sim_engine_work(struct work_struct *work)
{
	struct sim_engine *engine = container_of(work, struct sim_engine, run);
	struct idxd_sim *sim = engine->sim;
	struct sim_queue *queue;
	struct iax_hw_desc desc;
	unsigned int id = 0;

	while (sim->engine[id] != engine)
		id++;
	for (;;) {
		spin_lock_irq(&sim->lock);
		queue = sim_take(engine, id, &desc);
		if (!queue)
			engine->running = false;
		spin_unlock_irq(&sim->lock);
		if (!queue)
			break;
		sim_descriptor(engine, queue, &desc, false);
		spin_lock_irq(&sim->lock);
		queue->busy--;
		spin_unlock_irq(&sim->lock);
		wake_up_all(&sim->ended);
		cond_resched();
	}
}

/* Work for a descriptor at its doorbell, and take the time. */
static void sim_at_once(struct idxd_sim *sim, struct sim_queue *queue,
			const struct iax_hw_desc *desc)
{
	struct sim_engine *engine = sim->engine[SIM_ENGINES];
	u64 start = get_cycles();

	lockdep_assert_held(&sim->lock);
	engine->arrived = start - sim->at_once_cycles;
	sim_held_stop(sim);
	sim_descriptor(engine, queue, desc, true);
	sim_held_go(sim, engine->arrived);
	sim->at_once_cycles += get_cycles() - start;
}

/**
 * sim_queue_push - a descriptor comes at a queue's portal
 * @sim: the device
 * @id: which queue
 * @desc: the descriptor, which is copied
 *
 * As a device's, a dedicated queue drops what it has no room for.
 *
 * Context: any.
 */
void sim_queue_push(struct idxd_sim *sim, unsigned int id, const struct iax_hw_desc *desc)
{
	struct sim_queue *queue = &sim->queue[id];
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&sim->lock, flags);
	if (queue->tail - queue->head >= queue->size) {
		sim_count(sim, SIM_DROPPED);
		goto unlock;
	}
	sim->most = max_t(u32, sim->most, atomic_inc_return(&sim->now));
	if (sim->at_once) {
		sim_at_once(sim, queue, desc);
	} else {
		queue->ring[queue->tail++ % SIM_DEPTH] = *desc;
		for_each_set_bit(i, &queue->engines, SIM_ENGINES) {
			if (sim->engine[i]->running)
				continue;
			sim->engine[i]->running = true;
			queue_work(sim->wq, &sim->engine[i]->run);
			break;
		}
	}
unlock:
	spin_unlock_irqrestore(&sim->lock, flags);
}

/**
 * idxd_sim_submit - the driver submits a descriptor
 * @wq: its queue
 * @desc: the descriptor
 *
 * Context: any.
 * Return: false if the device is not simulated: it is to write to the queue's portal.
 */
bool idxd_sim_submit(struct idxd_wq *wq, const void *desc)
{
	struct idxd_sim *sim = wq->idxd->sim;

	if (!sim)
		return false;
	/* As long as the queue is referred to, it stays what it is. */
	if (READ_ONCE(sim->stall_ms))
		mdelay(READ_ONCE(sim->stall_ms));
	if (WARN_ON_ONCE(!wq_dedicated(wq)))
		sim_count(sim, SIM_DROPPED);
	else
		sim_queue_push(sim, wq->id, desc);
	return true;
}

static bool sim_queue_is_empty(struct idxd_sim *sim, struct sim_queue *queue)
{
	bool empty;

	spin_lock_irq(&sim->lock);
	empty = queue->head == queue->tail && !queue->busy;
	spin_unlock_irq(&sim->lock);
	return empty;
}

/**
 * sim_queue_drain - wait until a queue is empty
 * @sim: the device
 * @id: which queue
 *
 * Context: may sleep.
 */
void sim_queue_drain(struct idxd_sim *sim, unsigned int id)
{
	wait_event(sim->ended, sim_queue_is_empty(sim, &sim->queue[id]));
}

/**
 * sim_queue_abort - empty a queue
 * @sim: the device
 * @id: which queue
 *
 * Descriptors that engines have taken may end, or not. After this there is no access to memory for
 * any that came before.
 *
 * Context: may sleep.
 */
void sim_queue_abort(struct idxd_sim *sim, unsigned int id)
{
	struct sim_queue *queue = &sim->queue[id];

	spin_lock_irq(&sim->lock);
	WRITE_ONCE(queue->aborting, true);
	for (; queue->head != queue->tail; queue->head++)
		sim_leave(sim, SIM_ABORTED);
	sim_held_drop(sim, queue);
	spin_unlock_irq(&sim->lock);
	wake_up_all(&sim->ended);
	sim_queue_drain(sim, id);
	WRITE_ONCE(queue->aborting, false);
}

/**
 * sim_queue_count_abort - see whether the abort of a queue is for anything
 * @sim: the device
 * @id: which queue
 *
 * Context: any; before the abort.
 */
void sim_queue_count_abort(struct idxd_sim *sim, unsigned int id)
{
	struct sim_queue *queue = &sim->queue[id];

	if (sim_queue_is_empty(sim, queue) && !READ_ONCE(queue->lost))
		sim_count(sim, SIM_NEEDLESS);
	WRITE_ONCE(queue->lost, false);
}

/**
 * sim_engines_init - make a device's engines
 * @sim: the device
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM. sim_engines_exit() has to be called in any case.
 */
int sim_engines_init(struct idxd_sim *sim)
{
	for (unsigned int i = 0; i <= SIM_ENGINES; i++) {
		struct sim_engine *engine = kvzalloc(sizeof(*engine), GFP_KERNEL);

		if (!engine)
			return -ENOMEM;
		engine->sim = sim;
		INIT_WORK(&engine->run, sim_engine_work);
		sim->engine[i] = engine;
	}
	return 0;
}

/**
 * sim_engines_exit - free a device's engines
 * @sim: the device, whose queues are empty and disabled
 *
 * Context: may sleep.
 */
void sim_engines_exit(struct idxd_sim *sim)
{
	for (unsigned int i = 0; i <= SIM_ENGINES; i++)
		kvfree(sim->engine[i]);
}
