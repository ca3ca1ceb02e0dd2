/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_SCHED_H
#define _SSW_TEST_SCHED_H

/* cpu_relax() yields. */
static inline void cond_resched(void)
{
}

#endif
