// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap in batches: whether it is on, and its tunables.
 *
 * zswap-batch.c, a part of mm/zswap.c, does the work.
 */
#include <linux/init.h>

#include "zbatch.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_zbatch_key);

/* Pages of a large folio that are stored at a time, from 1 to %SSW_ZBATCH_MAX */
unsigned int ssw_zbatch_store __read_mostly = SSW_ZBATCH_MAX;

/* An initcall before anything is swapped: what an entry's length means changes. */
static int __init ssw_zbatch_init(void)
{
	if (ssw_boot_has(SSW_MECH_ZBATCH) && scaleswap_on())
		static_branch_enable(&scaleswap_zbatch_key);
	return 0;
}
fs_initcall(ssw_zbatch_init);
