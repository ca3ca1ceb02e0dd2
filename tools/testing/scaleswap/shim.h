/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests need of shim.c, beside what the kernel's own headers declare. */
#ifndef _SSW_TEST_SHIM_H
#define _SSW_TEST_SHIM_H

/* Every thread that uses RCU, from its beginning to its end. */
void ssw_thread_begin(void);
void ssw_thread_end(void);

/* Until all that was given to call_rcu() is done. */
void rcu_barrier(void);

/* One in so many allocations fails; 0 for none. */
extern unsigned int ssw_fail_nth;

/* Pages and objects that have not been freed. */
long ssw_allocated(void);

#endif
