/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of shim.c for the tests, beside those that the kernel's own headers declare. */
#ifndef _SSW_TEST_SHIM_H
#define _SSW_TEST_SHIM_H

/* Every thread that uses RCU calls these at its beginning and its end. */
void ssw_thread_begin(void);
void ssw_thread_end(void);

/* Wait until all callbacks given to call_rcu() have run. */
void rcu_barrier(void);

/* One in so many allocations fails; 0 for none. */
extern unsigned int ssw_fail_nth;

/* Count the pages and objects that have not been freed. */
long ssw_allocated(void);

#endif
