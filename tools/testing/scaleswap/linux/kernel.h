/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_KERNEL_H
#define _SSW_TEST_KERNEL_H

#include "tools/include/linux/kernel.h"

/* The tests have one that works. */
#undef synchronize_rcu

#define swap(a, b)	\
	do { typeof(a) __tmp = (a); (a) = (b); (b) = __tmp; } while (0)

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

#endif
