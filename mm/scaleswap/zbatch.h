/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: zswap in batches, between its files.
 */
#ifndef _MM_SCALESWAP_ZBATCH_H
#define _MM_SCALESWAP_ZBATCH_H

#include "internal.h"

/*
 * Pages that are stored at a time, at most: an IAA device has as many engines, and Intel's white
 * paper on zswap with IAA found no gain beyond.
 */
#define SSW_ZBATCH_MAX	8

/* Pages that readahead puts aside, at most */
#define SSW_ZLOAD_MAX	32

extern unsigned int ssw_zbatch_store;
extern unsigned int ssw_zbatch_load;
extern struct workqueue_struct *ssw_zload_wq;

#endif /* _MM_SCALESWAP_ZBATCH_H */
