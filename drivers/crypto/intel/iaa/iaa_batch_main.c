// SPDX-License-Identifier: GPL-2.0
/*
 * IAA driver with requests of several units: devices, queues, what is registered. See iaa_batch.h
 *
 * A request takes a queue of its CPU's node, or another one, from a table that is read under RCU.
 * A queue goes when no request has it any more: it leaves the table, its users end by themselves,
 * as units do not stay with a device for ever, and only then its descriptors are freed.
 *
 * Algorithms are registered with the first queue, and stay: what has been compressed has to be
 * read. Without a queue nothing is compressed, and software decompresses.
 */
#include <crypto/internal/acompress.h>
#include <kunit/static_stub.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "iaa_batch.h"
#include "iaa_crypto_stats.h"

#undef pr_fmt
#define pr_fmt(fmt) "idxd: " IDXD_SUBDRIVER_NAME ": " fmt

#define IAA_PRIORITY	300

/* Devices with queues that are bound */
LIST_HEAD(iaa_devices);

/* Of that list and what hangs on it, of modes, and of who replaces the table of queues */
DEFINE_MUTEX(iaa_devices_lock);

DEFINE_SRCU(iaa_srcu);

/**
 * struct iaa_table - queues that requests take
 * @rcu: to free it
 * @nr: how many
 * @queue: which
 */
struct iaa_table {
	struct rcu_head rcu;
	unsigned int nr;
	struct iaa_queue *queue[] __counted_by(nr);
};

static struct iaa_table __rcu *iaa_table;
static struct iaa_compression_mode *iaa_modes[IAA_COMP_MODES_MAX];

/* Two, each with a thread for when memory is short: an abort may not end, and is then stopped. */
static struct workqueue_struct *iaa_abort_wq, *iaa_stop_wq;

bool iaa_verify_compress = true;

unsigned int iaa_abort_ms __read_mostly = IAA_ABORT_MS;

static int iaa_abort_ms_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint_minmax(val, kp, IAA_ABORT_MS_MIN, IAA_ABORT_MS_MAX);

	if (err)
		pr_err_ratelimited("abort_ms: write %u to %u\n", IAA_ABORT_MS_MIN,
				   IAA_ABORT_MS_MAX);
	return err;
}

static const struct kernel_param_ops iaa_abort_ms_ops = {
	.set = iaa_abort_ms_set,
	.get = param_get_uint,
};
module_param_cb(abort_ms, &iaa_abort_ms_ops, &iaa_abort_ms, 0644);
MODULE_PARM_DESC(abort_ms, "how long a unit may take before its queue is aborted, in ms");

unsigned int iaa_dead_ms __read_mostly = IAA_DEAD_MS;

static int iaa_dead_ms_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint_minmax(val, kp, IAA_DEAD_MS_MIN, IAA_DEAD_MS_MAX);

	if (err)
		pr_err_ratelimited("dead_ms: write %u to %u\n", IAA_DEAD_MS_MIN, IAA_DEAD_MS_MAX);
	return err;
}

static const struct kernel_param_ops iaa_dead_ms_ops = {
	.set = iaa_dead_ms_set,
	.get = param_get_uint,
};
module_param_cb(dead_ms, &iaa_dead_ms_ops, &iaa_dead_ms, 0644);
MODULE_PARM_DESC(dead_ms, "how long an abort may take before the device is kept off memory, in ms");

/* What was registered. Several queues may come at a time. */
static DEFINE_MUTEX(iaa_register_lock);
static bool iaa_has_fixed, iaa_has_canned, iaa_has_dynamic;

/* --- modes ------------------------------------------------------------------- */

static void iaa_mode_free(struct iaa_compression_mode *mode)
{
	kfree(mode->d_table);
	kfree(mode->ll_table);
	kfree(mode->name);
	kfree(mode);
}

/**
 * remove_iaa_compression_mode - remove what add_iaa_compression_mode() has added
 * @name: its name
 *
 * Context: may sleep. Without effect while there are devices.
 */
void remove_iaa_compression_mode(const char *name)
{
	mutex_lock(&iaa_devices_lock);
	for (unsigned int i = 0; list_empty(&iaa_devices) && i < IAA_COMP_MODES_MAX; i++) {
		struct iaa_compression_mode *mode = iaa_modes[i];

		if (!mode || strcmp(mode->name, name))
			continue;
		iaa_modes[i] = NULL;
		iaa_mode_free(mode);
	}
	mutex_unlock(&iaa_devices_lock);
}
EXPORT_SYMBOL_GPL(remove_iaa_compression_mode);

/**
 * add_iaa_compression_mode - add a way to compress
 * @name: its name
 * @ll_table: codes of literals and lengths
 * @ll_table_size: their size in bytes
 * @d_table: codes of distances
 * @d_table_size: their size in bytes
 * @init: fills in the rest of what the device is given, or NULL
 * @free: the reverse of @init, or NULL
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, -ENOSPC if there are too many, or -EBUSY while there are devices.
 */
int add_iaa_compression_mode(const char *name, const u32 *ll_table, int ll_table_size,
			     const u32 *d_table, int d_table_size, iaa_dev_comp_init_fn_t init,
			     iaa_dev_comp_free_fn_t free)
{
	struct iaa_compression_mode *mode = kzalloc(sizeof(*mode), GFP_KERNEL);
	int err = -ENOMEM, i = 0;

	if (!mode)
		return -ENOMEM;
	mode->name = kstrdup(name, GFP_KERNEL);
	mode->ll_table = kmemdup(ll_table, ll_table_size, GFP_KERNEL);
	mode->ll_table_size = ll_table_size;
	mode->d_table = kmemdup(d_table, d_table_size, GFP_KERNEL);
	mode->d_table_size = d_table_size;
	mode->init = init;
	mode->free = free;
	mutex_lock(&iaa_devices_lock);
	while (i < IAA_COMP_MODES_MAX && iaa_modes[i])
		i++;
	if (mode->name && mode->ll_table && mode->d_table)
		err = !list_empty(&iaa_devices) ? -EBUSY : i == IAA_COMP_MODES_MAX ? -ENOSPC : 0;
	if (!err)
		iaa_modes[i] = mode;
	mutex_unlock(&iaa_devices_lock);
	if (err)
		iaa_mode_free(mode);
	return err;
}
EXPORT_SYMBOL_GPL(add_iaa_compression_mode);

static void iaa_device_free_mode(struct iaa_device *device, unsigned int i)
{
	struct iaa_device_compression_mode *mode = device->compression_modes[i];

	if (!mode)
		return;
	device->compression_modes[i] = NULL;
	if (iaa_modes[i]->free)
		iaa_modes[i]->free(mode);
	if (mode->aecs_comp_table)
		dma_free_coherent(&device->idxd->pdev->dev, sizeof(*mode->aecs_comp_table),
				  mode->aecs_comp_table, mode->aecs_comp_table_dma_addr);
	kfree(mode);
}

/* Give a device the tables of a mode. */
static int iaa_device_add_mode(struct iaa_device *device, unsigned int i)
{
	const struct iaa_compression_mode *from = iaa_modes[i];
	struct iaa_device_compression_mode *mode = kzalloc(sizeof(*mode), GFP_KERNEL);
	struct aecs_comp_table_record *aecs;

	if (!mode)
		return -ENOMEM;
	device->compression_modes[i] = mode;
	mode->name = from->name;
	aecs = dma_alloc_coherent(&device->idxd->pdev->dev, sizeof(*aecs),
				  &mode->aecs_comp_table_dma_addr, GFP_KERNEL);
	if (!aecs)
		return -ENOMEM;
	mode->aecs_comp_table = aecs;
	memset(aecs, 0, sizeof(*aecs));
	memcpy(aecs->ll_sym, from->ll_table,
	       min_t(size_t, from->ll_table_size, sizeof(aecs->ll_sym)));
	memcpy(aecs->d_sym, from->d_table, min_t(size_t, from->d_table_size, sizeof(aecs->d_sym)));
	return from->init ? from->init(mode) : 0;
}

/* --- devices ------------------------------------------------------------------ */

static void iaa_stop_work(struct work_struct *work)
{
	struct iaa_batch_device *device = container_of(work, struct iaa_batch_device, stop);
	struct idxd_device *idxd = device->iaa.idxd;
	struct pci_dev *pdev = idxd->pdev;
	u16 command;

	/* It has answered, and it is the driver that has not run since. */
	if (device->dead ||
	    !(ioread32(idxd->reg_base + IDXD_CMDSTS_OFFSET) & IDXD_CMDSTS_ACTIVE))
		return;
	/* It cannot write after that, nor what it has begun to write after the reply to a read. */
	pci_clear_master(pdev);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	dev_err(&pdev->dev, "does not answer, and was kept off memory: it is not used any more\n");
	/* Pairs with iaa_look(). */
	smp_store_release(&device->dead, true);
}

/**
 * iaa_queue_stop - give up on a device that does not even abort a queue
 * @queue: the queue
 *
 * Context: any. When it is over, iaa_queue_is_on() says no, for all queues of the device.
 */
void iaa_queue_stop(struct iaa_queue *queue)
{
	KUNIT_STATIC_STUB_REDIRECT(iaa_queue_stop, queue);
	queue_work(iaa_stop_wq, &iaa_queue_device(queue)->stop);
}

static void iaa_device_put(struct iaa_device *iaa)
{
	struct iaa_batch_device *device = container_of(iaa, struct iaa_batch_device, iaa);

	lockdep_assert_held(&iaa_devices_lock);
	if (--iaa->n_wq)
		return;
	list_del(&iaa->list);
	cancel_work_sync(&device->stop);
	for (unsigned int i = 0; i < IAA_COMP_MODES_MAX; i++)
		iaa_device_free_mode(iaa, i);
	if (device->state)
		dma_free_coherent(&iaa->idxd->pdev->dev, 2 * device->state_size, device->state,
				  device->state_dma);
	kfree(device);
}

/* Get memory for what a device's decompressor is to begin with. */
static int iaa_device_add_state(struct iaa_batch_device *device, struct idxd_device *idxd)
{
	device->state_size = idxd->hw.iaa_cap.dec_aecs_format_ver ? IAA_STATE_2 : IAA_STATE_1;
	device->state = dma_alloc_coherent(&idxd->pdev->dev, 2 * device->state_size,
					   &device->state_dma, GFP_KERNEL);
	return device->state ? 0 : -ENOMEM;
}

/* Find what the driver knows of a device, or make it. */
static struct iaa_device *iaa_device_get(struct idxd_device *idxd)
{
	struct iaa_batch_device *device;
	struct iaa_device *iaa;
	int err;

	lockdep_assert_held(&iaa_devices_lock);
	list_for_each_entry(iaa, &iaa_devices, list) {
		if (iaa->idxd == idxd) {
			iaa->n_wq++;
			return iaa;
		}
	}
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return NULL;
	iaa = &device->iaa;
	iaa->idxd = idxd;
	iaa->n_wq = 1;
	INIT_LIST_HEAD(&iaa->wqs);
	INIT_WORK(&device->stop, iaa_stop_work);
	list_add_tail(&iaa->list, &iaa_devices);
	err = iaa_device_add_state(device, idxd);
	for (unsigned int i = 0; !err && i < IAA_COMP_MODES_MAX; i++)
		if (iaa_modes[i])
			err = iaa_device_add_mode(iaa, i);
	if (!err)
		return iaa;
	iaa_device_put(iaa);
	return NULL;
}

/* --- queues ------------------------------------------------------------------- */

/* Whether a queue's device works, in a mode */
static bool iaa_queue_can(const struct iaa_queue *queue, enum iaa_mode mode)
{
	if (!iaa_queue_is_on(queue))
		return false;
	/* Pairs with iaa_canned_add(): the device has written what it is to read. */
	return mode != IAA_MODE_CANNED || smp_load_acquire(&iaa_queue_device(queue)->canned);
}

/**
 * iaa_queue_get - take a queue for a request
 * @mode: how it compresses, or decompresses
 *
 * Context: any.
 * Return: a queue of this CPU's node, or else another one, with a reference of @users; NULL if no
 * device works.
 */
struct iaa_queue *iaa_queue_get(enum iaa_mode mode)
{
	unsigned int cpu = raw_smp_processor_id();
	struct iaa_queue *queue = NULL;
	struct iaa_table *table;
	bool near;

	rcu_read_lock();
	table = rcu_dereference(iaa_table);
	for (unsigned int i = 0; table && i < 2 * table->nr; i++) {
		struct iaa_queue *q = table->queue[(cpu + i) % table->nr];

		near = q->node == numa_node_id();
		/* In the first round the near ones, in the second the others */
		if (near != i / table->nr && iaa_queue_can(q, mode) &&
		    percpu_ref_tryget_live_rcu(&q->users)) {
			queue = q;
			break;
		}
	}
	rcu_read_unlock();
	return queue;
}

static void iaa_abort_work(struct work_struct *work)
{
	struct iaa_queue *queue = container_of(work, struct iaa_queue, abort);
	struct device *dev = iaa_queue_dev(queue);
	bool stopped;
	int err;

	/* Who polls asks again while this runs. What has been submitted since is not late. */
	if (READ_ONCE(queue->late) != queue->epoch)
		return;
	WRITE_ONCE(queue->aborting, true);
	/* Pairs with those that submit under it: they are done, or see that they must not. */
	synchronize_srcu(&iaa_srcu);
	WRITE_ONCE(queue->since, jiffies);
	/* Pairs with iaa_is_dead(). */
	smp_store_release(&queue->commanded, true);
	err = iaa_queue_is_on(queue) ? idxd_wq_abort(queue->iaa.wq) : -ENODEV;
	WRITE_ONCE(queue->commanded, false);
	/* A device that has stopped executes no commands, and need not. */
	stopped = err && !iaa_queue_is_on(queue);
	if (!err)
		dev_err_ratelimited(dev, "queue %d was aborted: a descriptor took above %u ms\n",
				    queue->iaa.wq->id, READ_ONCE(iaa_abort_ms));
	else if (!stopped)
		dev_err_ratelimited(dev, "queue %d cannot be aborted (%d): reset the device\n",
				    queue->iaa.wq->id, err);
	if (!err || stopped) {
		/* Pairs with iaa_look(): the device's writes are over. */
		smp_store_release(&queue->epoch, queue->epoch + 1);
	}
	update_completion_timeout_errs();
	/* Pairs with iaa_send(): whoever submits now sees the new epoch. */
	smp_store_release(&queue->aborting, false);
}

/**
 * iaa_queue_abort - have a queue aborted, as a descriptor does not end
 * @queue: the queue
 * @epoch: of the descriptor
 *
 * Context: any. When it is over, @queue->epoch is another one.
 */
void iaa_queue_abort(struct iaa_queue *queue, unsigned int epoch)
{
	KUNIT_STATIC_STUB_REDIRECT(iaa_queue_abort, queue, epoch);
	WRITE_ONCE(queue->late, epoch);
	queue_work(iaa_abort_wq, &queue->abort);
}

static void iaa_queue_is_unused(struct percpu_ref *ref)
{
	struct iaa_queue *queue = container_of(ref, struct iaa_queue, users);

	complete(&queue->unused);
}

/* Make the table anew, of the queues in the list of devices. */
static void iaa_table_update(void)
{
	struct iaa_table *table = NULL, *old;
	struct iaa_device *device;
	struct iaa_wq *iaa;
	unsigned int nr = 0;

	lockdep_assert_held(&iaa_devices_lock);
	list_for_each_entry(device, &iaa_devices, list)
		list_for_each_entry(iaa, &device->wqs, list)
			nr++;
	if (nr) {
		/* A queue that goes must not stay in it. */
		table = kzalloc(struct_size(table, queue, nr), GFP_KERNEL | __GFP_NOFAIL);
		table->nr = nr;
		nr = 0;
		list_for_each_entry(device, &iaa_devices, list)
			list_for_each_entry(iaa, &device->wqs, list)
				table->queue[nr++] = container_of(iaa, struct iaa_queue, iaa);
	}
	old = rcu_replace_pointer(iaa_table, table, lockdep_is_held(&iaa_devices_lock));
	if (old)
		kfree_rcu(old, rcu);
}

static struct iaa_queue *iaa_queue_add(struct idxd_wq *wq)
{
	struct iaa_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	if (!queue || percpu_ref_init(&queue->users, iaa_queue_is_unused, 0, GFP_KERNEL))
		goto free;
	init_completion(&queue->unused);
	INIT_WORK(&queue->abort, iaa_abort_work);
	queue->node = dev_to_node(&wq->idxd->pdev->dev);
	queue->iaa.wq = wq;
	mutex_lock(&iaa_devices_lock);
	queue->iaa.iaa_device = iaa_device_get(wq->idxd);
	if (queue->iaa.iaa_device) {
		list_add_tail(&queue->iaa.list, &queue->iaa.iaa_device->wqs);
		idxd_wq_set_private(wq, &queue->iaa);
		iaa_table_update();
	}
	mutex_unlock(&iaa_devices_lock);
	if (queue->iaa.iaa_device)
		return queue;
	percpu_ref_exit(&queue->users);
free:
	kfree(queue);
	return NULL;
}

/* Remove a queue, when requests that have it have ended. */
static void iaa_queue_remove(struct idxd_wq *wq)
{
	struct iaa_wq *iaa = idxd_wq_get_private(wq);
	struct iaa_queue *queue = container_of(iaa, struct iaa_queue, iaa);
	struct iaa_device *device = iaa->iaa_device;

	mutex_lock(&iaa_devices_lock);
	list_del(&iaa->list);
	iaa_table_update();
	mutex_unlock(&iaa_devices_lock);
	/* Who still has the table gets no reference, or has ended before it is unused. */
	percpu_ref_kill(&queue->users);
	wait_for_completion(&queue->unused);
	cancel_work_sync(&queue->abort);
	synchronize_rcu();
	mutex_lock(&iaa_devices_lock);
	iaa_device_put(device);
	mutex_unlock(&iaa_devices_lock);
	percpu_ref_exit(&queue->users);
	kfree(queue);
	idxd_wq_set_private(wq, NULL);
}

/* --- algorithms ---------------------------------------------------------------- */

static int iaa_init_fixed(struct crypto_acomp *tfm)
{
	struct iaa_compression_ctx *ctx = acomp_tfm_ctx(tfm);

	ctx->mode = IAA_MODE_FIXED;
	return 0;
}

static int iaa_init_canned(struct crypto_acomp *tfm)
{
	struct iaa_compression_ctx *ctx = acomp_tfm_ctx(tfm);

	ctx->mode = IAA_MODE_CANNED;
	return 0;
}

static int iaa_init_dynamic(struct crypto_acomp *tfm)
{
	struct iaa_compression_ctx *ctx = acomp_tfm_ctx(tfm);

	ctx->mode = IAA_MODE_DYNAMIC;
	return 0;
}

static struct acomp_alg iaa_fixed = {
	.init = iaa_init_fixed,
	.compress = iaa_compress,
	.decompress = iaa_decompress,
	.poll = iaa_poll,
	.batch_size = IAA_UNITS,
	.reqsize = sizeof(struct iaa_req),
	.base = {
		.cra_name = "deflate",
		.cra_driver_name = "deflate-iaa",
		.cra_flags = CRYPTO_ALG_ASYNC,
		.cra_ctxsize = sizeof(struct iaa_compression_ctx),
		.cra_module = THIS_MODULE,
		.cra_priority = IAA_PRIORITY,
	},
};

/* What it writes has no header: nobody else is to read it. */
static struct acomp_alg iaa_canned = {
	.init = iaa_init_canned,
	.compress = iaa_compress,
	.decompress = iaa_decompress,
	.poll = iaa_poll,
	.batch_size = IAA_UNITS,
	.reqsize = sizeof(struct iaa_req),
	.base = {
		.cra_name = "deflate-canned",
		.cra_driver_name = "deflate-iaa-canned",
		.cra_flags = CRYPTO_ALG_ASYNC,
		.cra_ctxsize = sizeof(struct iaa_compression_ctx),
		.cra_module = THIS_MODULE,
		.cra_priority = IAA_PRIORITY,
	},
};

/* Shorter, and slower: the device passes over its input twice. */
static struct acomp_alg iaa_dynamic = {
	.init = iaa_init_dynamic,
	.compress = iaa_compress,
	.decompress = iaa_decompress,
	.poll = iaa_poll,
	.batch_size = IAA_UNITS,
	.reqsize = sizeof(struct iaa_req),
	.base = {
		.cra_name = "deflate",
		.cra_driver_name = "deflate-iaa-dynamic",
		.cra_flags = CRYPTO_ALG_ASYNC,
		.cra_ctxsize = sizeof(struct iaa_compression_ctx),
		.cra_module = THIS_MODULE,
		.cra_priority = IAA_PRIORITY - 1,
	},
};

/* Wait for an algorithm's tests. Return 0 if it can be used. */
static int iaa_try_out(const struct acomp_alg *alg)
{
	struct crypto_acomp *tfm = crypto_alloc_acomp(alg->base.cra_driver_name, 0, 0);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	crypto_free_acomp(tfm);
	return 0;
}

/*
 * Register an algorithm, unless that was done before. Of one that has failed its tests nothing is
 * left: another device, or this one the next time, may pass. While tests go on it stays.
 */
static int iaa_register_one(struct acomp_alg *alg, bool *has)
{
	bool anew = false;
	int err;

	do {
		if (!*has) {
			err = crypto_register_acomp(alg);
			if (err)
				break;
			*has = true;
			anew = true;
		}
		/* The queue must not go before the tests are over. */
		err = iaa_try_out(alg);
		/* Only one that has failed them has no users. */
		if (err != -ELIBBAD)
			break;
		crypto_unregister_acomp(alg);
		*has = false;
	} while (!anew);
	if (err)
		pr_err("%s cannot be used: error %d\n", alg->base.cra_driver_name, err);
	return err;
}

/* Have a device read the header of canned pages, unless it has. Without that it does the rest. */
static void iaa_canned_add(struct iaa_queue *queue)
{
	struct iaa_batch_device *device = iaa_queue_device(queue);
	int err;

	lockdep_assert_held(&iaa_register_lock);
	if (!device->canned) {
		err = iaa_prepare(queue);
		if (err) {
			dev_warn(iaa_queue_dev(queue), "does not read the header of %s: error %d\n",
				 iaa_canned.base.cra_driver_name, err);
			return;
		}
		/* Pairs with iaa_queue_can(). */
		smp_store_release(&device->canned, true);
	}
	iaa_register_one(&iaa_canned, &iaa_has_canned);
}

/* Register what a queue's device can do, unless that was done before. */
static int iaa_register(struct iaa_queue *queue)
{
	const struct idxd_device *idxd = queue->iaa.wq->idxd;
	int err;

	mutex_lock(&iaa_register_lock);
	err = iaa_register_one(&iaa_fixed, &iaa_has_fixed);
	/* Without the others the device does the rest. */
	if (!err)
		iaa_canned_add(queue);
	if (!err && idxd->hw.version >= DEVICE_VERSION_2 && idxd->hw.iaa_cap.header_gen)
		iaa_register_one(&iaa_dynamic, &iaa_has_dynamic);
	mutex_unlock(&iaa_register_lock);
	return err;
}

static void iaa_unregister(void)
{
	if (iaa_has_dynamic)
		crypto_unregister_acomp(&iaa_dynamic);
	if (iaa_has_canned)
		crypto_unregister_acomp(&iaa_canned);
	if (iaa_has_fixed)
		crypto_unregister_acomp(&iaa_fixed);
}

/* --- the driver ----------------------------------------------------------------- */

static void iaa_crypto_remove(struct idxd_dev *idxd_dev)
{
	struct idxd_wq *wq = idxd_dev_to_wq(idxd_dev);

	/* An abort needs the thread of the device's interrupt, which takes the lock at a halt. */
	iaa_queue_remove(wq);
	mutex_lock(&wq->wq_lock);
	__idxd_wq_quiesce(wq);
	idxd_drv_disable_wq(wq);
	mutex_unlock(&wq->wq_lock);
}

static int iaa_crypto_probe(struct idxd_dev *idxd_dev)
{
	struct idxd_wq *wq = idxd_dev_to_wq(idxd_dev);
	struct idxd_device *idxd = wq->idxd;
	struct iaa_queue *queue;
	int err;

	if (idxd->state != IDXD_DEV_ENABLED)
		return -ENXIO;
	if (idxd->data->type != IDXD_TYPE_IAX)
		return -ENODEV;
	/* See iaa_stop_work(). */
	if (!idxd->pdev->is_busmaster) {
		dev_err(&idxd->pdev->dev,
			"did not answer before: take the function from idxd, and give it back\n");
		return -ENXIO;
	}
	mutex_lock(&wq->wq_lock);
	if (!idxd_wq_driver_name_match(wq, &idxd_dev->conf_dev)) {
		idxd->cmd_status = IDXD_SCMD_WQ_NO_DRV_NAME;
		err = -ENODEV;
		goto unlock;
	}
	wq->type = IDXD_WQT_KERNEL;
	if (idxd_drv_enable_wq(wq) < 0) {
		err = -ENXIO;
		goto none;
	}
	queue = iaa_queue_add(wq);
	if (!queue) {
		idxd_drv_disable_wq(wq);
		err = -ENOMEM;
		goto none;
	}
	mutex_unlock(&wq->wq_lock);
	/* Algorithms are tested on the device, so this may wait for an abort: see the removal. */
	err = iaa_register(queue);
	if (err)
		iaa_crypto_remove(idxd_dev);
	return err;
none:
	wq->type = IDXD_WQT_NONE;
unlock:
	mutex_unlock(&wq->wq_lock);
	return err;
}

/* No descriptor asks for an interrupt. */
static void iaa_desc_complete(struct idxd_desc *desc, enum idxd_complete_type type,
			      bool free_desc, void *ctx, u32 *status)
{
}

static ssize_t verify_compress_show(struct device_driver *driver, char *buf)
{
	return sysfs_emit(buf, "%d\n", iaa_verify_compress);
}

static ssize_t verify_compress_store(struct device_driver *driver, const char *buf, size_t count)
{
	int err = -EBUSY;

	mutex_lock(&iaa_devices_lock);
	if (list_empty(&iaa_devices))
		err = kstrtobool(buf, &iaa_verify_compress);
	mutex_unlock(&iaa_devices_lock);
	return err ?: count;
}
static DRIVER_ATTR_RW(verify_compress);

static ssize_t sync_mode_show(struct device_driver *driver, char *buf)
{
	return sysfs_emit(buf, "sync\n");
}

static ssize_t sync_mode_store(struct device_driver *driver, const char *buf, size_t count)
{
	if (sysfs_streq(buf, "sync"))
		return count;
	pr_err_ratelimited("sync_mode is sync alone: requests of several units are polled\n");
	return -EINVAL;
}
static DRIVER_ATTR_RW(sync_mode);

static enum idxd_dev_type dev_types[] = {
	IDXD_DEV_WQ,
	IDXD_DEV_NONE,
};

static struct idxd_device_driver iaa_crypto_driver = {
	.probe = iaa_crypto_probe,
	.remove = iaa_crypto_remove,
	.name = IDXD_SUBDRIVER_NAME,
	.type = dev_types,
	.desc_complete = iaa_desc_complete,
};

static int __init iaa_crypto_init_module(void)
{
	int err;

	/* What frees memory waits for it, and may run on the CPU that asks for it. */
	iaa_abort_wq = alloc_workqueue("iaa_abort", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!iaa_abort_wq)
		return -ENOMEM;
	iaa_stop_wq = alloc_workqueue("iaa_stop", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	err = iaa_stop_wq ? iaa_inflate_init() : -ENOMEM;
	if (err)
		goto wq;
	err = iaa_aecs_init_fixed();
	if (err)
		goto inflate;
	err = iaa_canned_init();
	if (err)
		goto fixed;
	err = idxd_driver_register(&iaa_crypto_driver);
	if (err)
		goto modes;
	err = driver_create_file(&iaa_crypto_driver.drv, &driver_attr_verify_compress);
	if (err)
		goto driver;
	err = driver_create_file(&iaa_crypto_driver.drv, &driver_attr_sync_mode);
	if (err)
		goto attr;
	if (iaa_crypto_debugfs_init())
		pr_warn("debugfs init failed, stats not available\n");
	return 0;
attr:
	driver_remove_file(&iaa_crypto_driver.drv, &driver_attr_verify_compress);
driver:
	idxd_driver_unregister(&iaa_crypto_driver);
	iaa_unregister();
modes:
	iaa_canned_exit();
fixed:
	iaa_aecs_cleanup_fixed();
inflate:
	iaa_inflate_exit();
wq:
	if (iaa_stop_wq)
		destroy_workqueue(iaa_stop_wq);
	destroy_workqueue(iaa_abort_wq);
	return err;
}

static void __exit iaa_crypto_cleanup_module(void)
{
	iaa_unregister();
	iaa_crypto_debugfs_cleanup();
	driver_remove_file(&iaa_crypto_driver.drv, &driver_attr_sync_mode);
	driver_remove_file(&iaa_crypto_driver.drv, &driver_attr_verify_compress);
	idxd_driver_unregister(&iaa_crypto_driver);
	iaa_canned_exit();
	iaa_aecs_cleanup_fixed();
	iaa_inflate_exit();
	destroy_workqueue(iaa_stop_wq);
	destroy_workqueue(iaa_abort_wq);
}

MODULE_IMPORT_NS(IDXD);
MODULE_LICENSE("GPL");
MODULE_ALIAS_IDXD_DEVICE(0);
MODULE_DESCRIPTION("IAA compression, several units in one request");

module_init(iaa_crypto_init_module);
module_exit(iaa_crypto_cleanup_module);
