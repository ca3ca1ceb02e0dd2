/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: zswap in batches, between its files.
 */
#ifndef _MM_SCALESWAP_ZBATCH_H
#define _MM_SCALESWAP_ZBATCH_H

#include <linux/scatterlist.h>

#include "internal.h"

/*
 * Pages that are stored at a time, at most: an IAA device has as many engines, and Intel's white
 * paper on zswap with IAA found no gain beyond.
 */
#define SSW_ZBATCH_MAX	8

/* Pages that readahead puts aside, at most */
#define SSW_ZLOAD_MAX	32

/**
 * struct scaleswap_zunits - what zswap needs to give several pages to a compressor
 * @in: source of the request
 * @out: its destination
 * @buffer: for what is compressed, a page each
 *
 * A pool has one for each CPU. The lock of zswap's context for that CPU protects it.
 */
struct scaleswap_zunits {
	struct scatterlist in[SSW_ZBATCH_MAX];
	struct scatterlist out[SSW_ZBATCH_MAX];
	u8 *buffer[SSW_ZBATCH_MAX];
};

/* Microseconds that a task spins at most for a batch before it sleeps */
#define SSW_ZSPIN_MAX	1000

extern unsigned int ssw_zbatch_store;
extern unsigned int ssw_zbatch_load;
extern unsigned int ssw_zbatch_spin;
extern struct workqueue_struct *ssw_zload_wq;

#endif /* _MM_SCALESWAP_ZBATCH_H */
