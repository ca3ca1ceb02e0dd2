/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_PREEMPT_H
#define _SSW_TEST_PREEMPT_H

/* Only counted. It is on exactly where a token is held, so shim.c can tell. */
extern __thread int ssw_preempt;

static inline void preempt_disable(void)
{
	ssw_preempt++;
}

static inline void preempt_enable(void)
{
	ssw_preempt--;
}

#endif
