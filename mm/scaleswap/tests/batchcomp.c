// SPDX-License-Identifier: GPL-2.0
/*
 * A compressor for tests: it takes batches as a device does, and works in software.
 *
 * Nothing of a batch is done when it is submitted. Each poll ends one unit, from the first to the
 * last or the other way round, after some that end none. Until then a unit's destination has other
 * bytes in it. Parameters, in /sys/module/batchcomp/parameters, say what fails.
 */
#define pr_fmt(fmt) "scaleswap: batchcomp: " fmt

#include <crypto/acompress-batch.h>
#include <crypto/internal/acompress.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#define BATCHCOMP_UNITS	8

static unsigned int polls;
module_param(polls, uint, 0644);
MODULE_PARM_DESC(polls, "polls in vain before each unit ends");

static bool backwards;
module_param(backwards, bool, 0644);
MODULE_PARM_DESC(backwards, "the last unit of a batch ends first");

static int fail_unit = -1;
module_param(fail_unit, int, 0644);
MODULE_PARM_DESC(fail_unit, "which unit of a batch fails, or -1");

static bool fail_submit;
module_param(fail_submit, bool, 0644);
MODULE_PARM_DESC(fail_submit, "whether batches cannot be submitted");

static bool fail_one;
module_param(fail_one, bool, 0644);
MODULE_PARM_DESC(fail_one, "whether requests that are no batch fail");

static atomic_t batches, units, largest;

static int batchcomp_show(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(kp->arg));
}

static const struct kernel_param_ops batchcomp_count = { .get = batchcomp_show };

module_param_cb(batches, &batchcomp_count, &batches, 0444);
MODULE_PARM_DESC(batches, "batches submitted");
module_param_cb(units, &batchcomp_count, &units, 0444);
MODULE_PARM_DESC(units, "units in these");
module_param_cb(largest, &batchcomp_count, &largest, 0444);
MODULE_PARM_DESC(largest, "units in the largest of these");

/**
 * struct batchcomp - a handle
 * @lock: of @req and @room
 * @soft: does the work
 * @req: for @soft
 * @room: for what @soft compresses, which does not look how much there is
 */
struct batchcomp {
	struct mutex lock;	/* of @req and @room */
	struct crypto_acomp *soft;
	struct acomp_req *req;
	u8 *room;
};

/**
 * struct batchcomp_req - a request
 * @nr: units, 0 if no batch was submitted
 * @ended: how many of them have ended
 * @vain: polls in vain since the last one
 * @compress: or decompress
 */
struct batchcomp_req {
	unsigned int nr, ended, vain;
	bool compress;
};

/* Compress or decompress a unit. Return its length, or an error. */
static int batchcomp_do(struct batchcomp *bc, const struct scatterlist *from, unsigned int slen,
			struct scatterlist *to, unsigned int dlen, bool compress)
{
	struct scatterlist in, out;
	int err;

	sg_init_table(&in, 1);
	sg_set_page(&in, sg_page((struct scatterlist *)from), slen, from->offset);
	sg_init_one(&out, bc->room, 2 * PAGE_SIZE);
	mutex_lock(&bc->lock);
	acomp_request_set_params(bc->req, &in, &out, slen, compress ? 2 * PAGE_SIZE : dlen);
	err = compress ? crypto_acomp_compress(bc->req) : crypto_acomp_decompress(bc->req);
	if (!err && bc->req->dlen > dlen)
		err = -ENOSPC;
	if (!err) {
		err = bc->req->dlen;
		memcpy_to_page(sg_page(to), to->offset, bc->room, err);
	}
	mutex_unlock(&bc->lock);
	return err;
}

static int batchcomp_submit(struct acomp_req *req, bool compress)
{
	struct batchcomp *bc = acomp_tfm_ctx(crypto_acomp_reqtfm(req));
	struct batchcomp_req *br = acomp_request_ctx(req);
	struct scatterlist *to;
	int i, len;

	/* A request in flight is used for another one. */
	if (WARN_ON_ONCE(br->nr))
		return -EBUSY;
	if (!req->unit_size) {
		if (WARN_ON_ONCE(sg_nents(req->src) != 1 || sg_nents(req->dst) != 1))
			return -EINVAL;
		len = fail_one ? -EIO : batchcomp_do(bc, req->src, req->slen, req->dst, req->dlen,
						     compress);
		if (len < 0)
			return len;
		req->dlen = len;
		return 0;
	}
	if (fail_submit)
		return -ENODEV;
	if (WARN_ON_ONCE(sg_nents(req->src) != sg_nents(req->dst) || req->unit_size != PAGE_SIZE))
		return -EINVAL;
	br->nr = sg_nents(req->dst);
	br->ended = 0;
	br->vain = 0;
	br->compress = compress;
	for_each_sg(req->dst, to, br->nr, i)
		memset_page(sg_page(to), to->offset, 0x5a, to->length);
	atomic_inc(&batches);
	atomic_add(br->nr, &units);
	if (br->nr > atomic_read(&largest))
		atomic_set(&largest, br->nr);
	return -EINPROGRESS;
}

static int batchcomp_compress(struct acomp_req *req)
{
	return batchcomp_submit(req, true);
}

static int batchcomp_decompress(struct acomp_req *req)
{
	return batchcomp_submit(req, false);
}

static int batchcomp_poll(struct acomp_req *req)
{
	struct batchcomp *bc = acomp_tfm_ctx(crypto_acomp_reqtfm(req));
	struct batchcomp_req *br = acomp_request_ctx(req);
	struct scatterlist *from = req->src, *to = req->dst;
	int unit;

	if (br->vain++ < polls)
		return -EAGAIN;
	br->vain = 0;
	unit = backwards ? br->nr - 1 - br->ended : br->ended;
	for (int i = 0; i < unit; i++) {
		from = sg_next(from);
		to = sg_next(to);
	}
	if (unit == fail_unit)
		to->length = -EIO;
	else
		to->length = batchcomp_do(bc, from, from->length, to, to->length, br->compress);
	if (++br->ended < br->nr)
		return -EAGAIN;
	br->nr = 0;
	acomp_request_complete(req, 0);
	return 0;
}

static void batchcomp_exit(struct crypto_acomp *tfm)
{
	struct batchcomp *bc = acomp_tfm_ctx(tfm);

	if (bc->req)
		acomp_request_free(bc->req);
	crypto_free_acomp(bc->soft);
	kfree(bc->room);
}

static int batchcomp_init(struct crypto_acomp *tfm)
{
	struct batchcomp *bc = acomp_tfm_ctx(tfm);

	bc->soft = crypto_alloc_acomp("lzo-rle", 0, CRYPTO_ALG_ASYNC);
	if (IS_ERR(bc->soft))
		return PTR_ERR(bc->soft);
	mutex_init(&bc->lock);
	bc->req = acomp_request_alloc(bc->soft);
	bc->room = kmalloc(2 * PAGE_SIZE, GFP_KERNEL);
	if (bc->req && bc->room)
		return 0;
	batchcomp_exit(tfm);
	return -ENOMEM;
}

static struct acomp_alg batchcomp_alg = {
	.init = batchcomp_init,
	.exit = batchcomp_exit,
	.compress = batchcomp_compress,
	.decompress = batchcomp_decompress,
	.poll = batchcomp_poll,
	.batch_size = BATCHCOMP_UNITS,
	.reqsize = sizeof(struct batchcomp_req),
	.base = {
		.cra_name = "batchcomp",
		.cra_driver_name = "batchcomp-test",
		.cra_flags = CRYPTO_ALG_ASYNC,
		.cra_ctxsize = sizeof(struct batchcomp),
		.cra_priority = 1,
		.cra_module = THIS_MODULE,
	},
};

static int __init batchcomp_start(void)
{
	int err = crypto_register_acomp(&batchcomp_alg);

	if (err)
		pr_err("cannot be registered: error %d\n", err);
	return err;
}
late_initcall(batchcomp_start);

MODULE_DESCRIPTION("A compressor that takes batches, for tests of zswap");
MODULE_LICENSE("GPL");
