/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An area for the tests: its slots, set up as mm/scaleswap/space.c does it, and
 * what the calls of alloc.c and swapmap.c come down to.
 */
#ifndef _SSW_TEST_AREA_H
#define _SSW_TEST_AREA_H

#include "slot.h"

struct ssw_slots *test_slots_new(unsigned int nr_slots, const unsigned int *bad,
				 unsigned int nr_bad);
void test_slots_free(struct ssw_slots *slots);

/* Slots that can ever be allocated. */
unsigned int test_slots_capacity(const struct ssw_slots *slots);

/* Take the token, however long it takes. */
void test_token_get(struct ssw_slots *slots);

/* As ssw_area_alloc() does it; @meanwhile as of ssw_request_delegate(). RCU read side. */
enum ssw_result test_alloc(struct ssw_slots *slots, bool home, unsigned int order,
			   unsigned int lane, u64 word, unsigned int *slot,
			   void (*meanwhile)(void *), void *arg);

/* Until the queue is empty. */
void test_drain(struct ssw_slots *slots);

/*
 * All that slot_types.h promises of a space that nobody is working on just now. Stops
 * the program where it does not hold.
 */
void test_slots_check(struct ssw_slots *slots);

#endif
