/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_GFP_H
#define _SSW_TEST_GFP_H

#include <linux/types.h>

#define GFP_NOWAIT	((gfp_t)0)
#define __GFP_HIGH	((gfp_t)0)
#define __GFP_NOWARN	((gfp_t)0)
#define __GFP_ZERO	((gfp_t)0x100)

#ifndef PAGE_SIZE
#define PAGE_SIZE	4096
#endif

unsigned long __get_free_page(gfp_t gfp);
void free_page(unsigned long addr);

#endif
