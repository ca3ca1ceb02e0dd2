/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An area for the tests: its slots, set up as mm/scaleswap/space.c does it, and
 * what the calls of alloc.c and swapmap.c come down to.
 */
#ifndef _SSW_TEST_AREA_H
#define _SSW_TEST_AREA_H

#include "space.h"

struct ssw_space *test_space_new(unsigned int nr_slots, const unsigned int *bad,
				 unsigned int nr_bad);
void test_space_free(struct ssw_space *space);

/* Slots that can ever be allocated. */
unsigned int test_space_capacity(const struct ssw_space *space);

/* Take the token, however long it takes. */
void test_token_get(struct ssw_space *space);

/* As ssw_area_alloc() does it; @meanwhile as of ssw_task_delegate(). RCU read side. */
enum ssw_result test_alloc(struct ssw_space *space, bool home, unsigned int order,
			   unsigned int lane, u64 word, unsigned int *slot,
			   void (*meanwhile)(void *), void *arg);

/* Until the queue is empty. */
void test_drain(struct ssw_space *space);

/*
 * All that space.h promises of a space that nobody is working on just now. Stops
 * the program where it does not hold.
 */
void test_space_check(struct ssw_space *space);

#endif
