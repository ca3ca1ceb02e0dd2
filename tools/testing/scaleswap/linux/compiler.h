/* SPDX-License-Identifier: GPL-2.0 */
/*
 * READ_ONCE() and WRITE_ONCE() as relaxed atomics, so that sanitizers know them
 * for what they are.
 */
#ifndef _SSW_TEST_COMPILER_H
#define _SSW_TEST_COMPILER_H

#include "tools/include/linux/compiler.h"

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)

#define __init
#ifndef ____cacheline_aligned
#define ____cacheline_aligned		__attribute__((aligned(64)))
#endif
#ifndef ____cacheline_aligned_in_smp
#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))
#endif

#endif
