/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IAA driver with requests of several units
 *
 * iaa_batch_main.c has devices, queues and what is registered; iaa_batch.c what happens to
 * requests; iaa_inflate.c decompresses in software what devices do not; iaa_canned.c has codes for
 * all pages.
 */
#ifndef _IAA_BATCH_H
#define _IAA_BATCH_H

#include <crypto/acompress-batch.h>
#include <linux/completion.h>
#include <linux/percpu-refcount.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include "idxd.h"
#include "iaa_crypto.h"

/* Units of a request that are submitted at a time. More gain little: a device has eight engines. */
#define IAA_UNITS	8

/* How long a unit may take before its queue is aborted, in ms: at first, and what can be set */
#define IAA_ABORT_MS		100
#define IAA_ABORT_MS_MIN	10
#define IAA_ABORT_MS_MAX	60000

/* How long until nobody waits any more for a device that has not even aborted the queue, in ms */
#define IAA_DEAD_MS		5000
#define IAA_DEAD_MS_MIN		1000
#define IAA_DEAD_MS_MAX		600000

/* Modes beside IAA_MODE_FIXED: another one with tables, and one that needs none */
#define IAA_MODE_CANNED		(IAA_MODE_FIXED + 1)
#define IAA_MODE_DYNAMIC	IAA_COMP_MODES_MAX

/*
 * A device reads a header, and writes its decompressor's state: to the first of two places, as it
 * would read from the other one.
 */
#define IAA_HEADER_FLAGS	(IAA_DECOMP_ENABLE | IAA_DECOMP_SUPPRESS_OUTPUT)
#define IAA_WRITE_STATE		(IDXD_OP_FLAG_WR_SRC2_AECS_COMP | BIT(22))

/* How long that state is, of devices whose decompressor has the first or the second format */
#define IAA_STATE_1	1088
#define IAA_STATE_2	1248

/* Flags of a compression that makes its own codes, beside IAA_COMP_FLAGS */
#define IAA_COMP_MADE	(BIT(12) | BIT(13))

/**
 * struct iaa_batch_device - a device
 * @iaa: what the driver's statistics look at
 * @state: two places for its decompressor's state after the header of canned pages, which is its
 *	own business
 * @state_dma: where the device finds them
 * @state_size: how long one is
 * @canned: whether the device has written it
 * @stop: keeps the device off memory, as it does not answer
 * @dead: that was done
 */
struct iaa_batch_device {
	struct iaa_device iaa;
	void *state;
	dma_addr_t state_dma;
	unsigned int state_size;
	bool canned;
	struct work_struct stop;
	bool dead;
};

/**
 * struct iaa_queue - a queue of a device
 * @iaa: what the driver's statistics look at; the queue itself is @iaa.wq
 * @users: requests that have units in it
 * @unused: there are none, and there will be none
 * @epoch: grows with each abort that has ended: what was submitted before does not access memory
 *	any more
 * @aborting: nothing is to be submitted
 * @late: the epoch of what does not end
 * @abort: aborts the queue, unless that was done since @late
 * @commanded: the device was told to, and has not answered
 * @since: when it was told, in jiffies
 * @node: the device's memory node
 */
struct iaa_queue {
	struct iaa_wq iaa;
	struct percpu_ref users;
	struct completion unused;
	unsigned int epoch;
	bool aborting;
	unsigned int late;
	struct work_struct abort;
	bool commanded;
	unsigned long since;
	int node;
};

/**
 * enum iaa_slot_state - what is with a unit
 * @IAA_FREE: there is none
 * @IAA_WAITS: it was not submitted, as all descriptors are taken, or the queue is being aborted
 * @IAA_SUBMITTED: a device has it
 * @IAA_SOFTWARE: it is to be decompressed in software
 */
enum iaa_slot_state { IAA_FREE, IAA_WAITS, IAA_SUBMITTED, IAA_SOFTWARE };

/**
 * struct iaa_slot - a unit of a request that is under way
 * @state: what is with it
 * @verify: whether it is compressed, and is decompressed to see whether that is right
 * @src: its input
 * @dst: its output; the length is the room, and then the result
 * @len: how long the output is, once it is compressed
 * @crc: checksum of its input, once it is compressed
 * @desc: its descriptor, while it has one
 * @src_dma: where the device finds @src
 * @dst_dma: where the device finds @dst
 * @epoch: of the queue, when it was submitted
 * @began: when it began to wait, or was submitted, in jiffies
 */
struct iaa_slot {
	enum iaa_slot_state state;
	bool verify;
	struct scatterlist *src;
	struct scatterlist *dst;
	unsigned int len;
	u32 crc;
	struct idxd_desc *desc;
	dma_addr_t src_dma;
	dma_addr_t dst_dma;
	unsigned int epoch;
	unsigned long began;
};

/**
 * struct iaa_req - a request that is under way
 * @queue: where it is submitted, or NULL if there is none
 * @mode: how to compress
 * @compress: or decompress
 * @prepare: neither: the device is to read the header of canned pages
 * @verify: whether what is compressed is decompressed, and compared
 * @left: units that have no slot yet
 * @busy: units that have one
 * @src: input of the next one
 * @dst: its output
 * @in: input of a request without units
 * @out: its output
 * @slot: units under way
 */
struct iaa_req {
	struct iaa_queue *queue;
	enum iaa_mode mode;
	bool compress;
	bool prepare;
	bool verify;
	unsigned int left;
	unsigned int busy;
	struct scatterlist *src;
	struct scatterlist *dst;
	struct scatterlist in;
	struct scatterlist out;
	struct iaa_slot slot[IAA_UNITS];
};

/* Whether what a device compresses is decompressed at once, and compared. Set without devices. */
extern bool iaa_verify_compress;

/* How long a unit may take before its queue is aborted, in ms */
extern unsigned int iaa_abort_ms;

/* How long until nobody waits for the device any more, in ms */
extern unsigned int iaa_dead_ms;

/* Submitters read under it, so that an abort does not overtake them. */
extern struct srcu_struct iaa_srcu;

struct iaa_queue *iaa_queue_get(enum iaa_mode mode);
void iaa_queue_abort(struct iaa_queue *queue, unsigned int epoch);
void iaa_queue_stop(struct iaa_queue *queue);

static inline struct device *iaa_queue_dev(const struct iaa_queue *queue)
{
	return &queue->iaa.wq->idxd->pdev->dev;
}

static inline struct iaa_batch_device *iaa_queue_device(const struct iaa_queue *queue)
{
	return container_of(queue->iaa.iaa_device, struct iaa_batch_device, iaa);
}

/**
 * iaa_queue_is_on() - check whether a queue's device works
 * @queue: the queue
 *
 * Context: any.
 * Return: false if it was halted, disabled or reset, or does not answer. Then it does not access
 * memory.
 */
static inline bool iaa_queue_is_on(const struct iaa_queue *queue)
{
	return READ_ONCE(queue->iaa.wq->idxd->state) == IDXD_DEV_ENABLED &&
	       !READ_ONCE(iaa_queue_device(queue)->dead);
}

int iaa_compress(struct acomp_req *req);
int iaa_decompress(struct acomp_req *req);
int iaa_poll(struct acomp_req *req);
int iaa_prepare(struct iaa_queue *queue);

extern const u8 *const iaa_header;
extern const unsigned int iaa_header_size;
int iaa_canned_init(void);
void iaa_canned_exit(void);

int iaa_inflate_init(void);
void iaa_inflate_exit(void);
int iaa_inflate(struct scatterlist *src, struct scatterlist *dst, bool canned);

#endif /* _IAA_BATCH_H */
