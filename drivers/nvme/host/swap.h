/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: functions of swap.c that pci.c calls, or stubs where it is configured out.
 *
 * pci.c includes this file, before it defines struct nvme_dev.
 */
#ifndef _NVME_HOST_SWAP_H
#define _NVME_HOST_SWAP_H

#ifdef CONFIG_SCALESWAP_FAULT

static const struct attribute_group nvme_swap_attrs_group;

static unsigned int nvme_swap_wanted(struct nvme_dev *dev);
static unsigned int nvme_swap_grant(struct nvme_dev *dev, unsigned int granted);
static void nvme_swap_remap_bar(struct nvme_dev *dev, unsigned int nr_io_queues);
static int nvme_swap_create_queues(struct nvme_dev *dev);
static void nvme_swap_dbbuf_free(struct nvme_dev *dev);
static void nvme_swap_close(struct nvme_dev *dev);
static void nvme_swap_delete_queues(struct nvme_dev *dev);
static void nvme_swap_cancel(struct nvme_dev *dev);
static void nvme_swap_stop(struct nvme_dev *dev);
static void nvme_swap_free_queues(struct nvme_dev *dev);
static void nvme_swap_free(struct nvme_dev *dev);

#else /* CONFIG_SCALESWAP_FAULT */

static inline unsigned int nvme_swap_wanted(struct nvme_dev *dev)
{
	return 0;
}

static inline unsigned int nvme_swap_grant(struct nvme_dev *dev, unsigned int granted)
{
	return granted;
}

static inline void nvme_swap_remap_bar(struct nvme_dev *dev, unsigned int nr_io_queues)
{
}

static inline int nvme_swap_create_queues(struct nvme_dev *dev)
{
	return 0;
}

static inline void nvme_swap_dbbuf_free(struct nvme_dev *dev)
{
}

static inline void nvme_swap_close(struct nvme_dev *dev)
{
}

static inline void nvme_swap_delete_queues(struct nvme_dev *dev)
{
}

static inline void nvme_swap_cancel(struct nvme_dev *dev)
{
}

static inline void nvme_swap_stop(struct nvme_dev *dev)
{
}

static inline void nvme_swap_free_queues(struct nvme_dev *dev)
{
}

static inline void nvme_swap_free(struct nvme_dev *dev)
{
}

#endif /* CONFIG_SCALESWAP_FAULT */

#endif /* _NVME_HOST_SWAP_H */
