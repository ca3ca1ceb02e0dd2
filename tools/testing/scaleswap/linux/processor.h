/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_PROCESSOR_H
#define _SSW_TEST_PROCESSOR_H

/* Whom this one waits for may not be running, unlike in the kernel. */
void cpu_relax(void);

#endif
