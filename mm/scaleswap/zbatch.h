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

extern unsigned int ssw_zbatch_store;

#endif /* _MM_SCALESWAP_ZBATCH_H */
