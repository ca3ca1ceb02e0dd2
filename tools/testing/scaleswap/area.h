/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An area for the tests: its slots, set up as mm/scaleswap/area.c does it, and the
 * core of the calls of alloc.c and swapmap.c.
 */
#ifndef _SSW_TEST_AREA_H
#define _SSW_TEST_AREA_H

#include "slot.h"

struct ssw_slots *test_slots_new(unsigned int nr_slots, const unsigned int *bad,
				 unsigned int nr_bad);
void test_slots_free(struct ssw_slots *slots);

/* Count the slots that can ever be allocated. */
unsigned int test_slots_capacity(const struct ssw_slots *slots);

/* Take the token, however long it takes. */

/* Allocate as ssw_area_alloc(); @meanwhile as in ssw_request_delegate(). RCU read side. */
enum ssw_result test_alloc(struct ssw_slots *slots, bool home, unsigned int order,
			   unsigned int lane, u64 word, unsigned int *slot,
			   void (*meanwhile)(void *), void *arg);

/* Drain the queue until it is empty. */
void test_drain(struct ssw_slots *slots);

/*
 * Check all that slot_types.h promises of slots that no thread is working on. Stop
 * the program if it does not hold.
 */
void test_slots_check(struct ssw_slots *slots);

#endif
