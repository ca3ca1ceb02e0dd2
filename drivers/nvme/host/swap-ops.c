// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: direct reads of a namespace, handed on to its transport.
 *
 * core.c includes this file. All namespaces have the same block device operations,
 * whatever their controllers are, so a step in between is needed. The multipath head
 * has other operations, without these: it does not know its path.
 */
#ifdef CONFIG_SCALESWAP_FAULT

#include <linux/scaleswap.h>

static const struct scaleswap_read_ops *nvme_swap_ops(struct block_device *bdev)
{
	struct nvme_ns *ns = bdev->bd_disk->private_data;

	return ns->ctrl->ops->scaleswap;
}

static int nvme_bdev_swap_probe(struct block_device *bdev)
{
	const struct scaleswap_read_ops *ops = nvme_swap_ops(bdev);

	return ops ? ops->probe(bdev) : -EOPNOTSUPP;
}

/* The others are called only after probe() has returned 0, so there are operations. */
static int nvme_bdev_swap_submit(struct block_device *bdev, sector_t sector,
				 struct folio *folio, u64 *cookie)
{
	return nvme_swap_ops(bdev)->submit(bdev, sector, folio, cookie);
}

static bool nvme_bdev_swap_poll(struct block_device *bdev, u64 cookie)
{
	return nvme_swap_ops(bdev)->poll(bdev, cookie);
}

static unsigned int nvme_bdev_swap_reap(struct block_device *bdev)
{
	return nvme_swap_ops(bdev)->reap(bdev);
}

static const struct scaleswap_read_ops nvme_bdev_swap_ops = {
	.probe	= nvme_bdev_swap_probe,
	.submit	= nvme_bdev_swap_submit,
	.poll	= nvme_bdev_swap_poll,
	.reap	= nvme_bdev_swap_reap,
};

#endif /* CONFIG_SCALESWAP_FAULT */
