/* SPDX-License-Identifier: GPL-2.0 */
/* Just enough of lockdep to know which thread holds a token. */
#ifndef _SSW_TEST_LOCKDEP_H
#define _SSW_TEST_LOCKDEP_H

#include <linux/bug.h>
#include <linux/preempt.h>

struct lock_class_key { };

struct lockdep_map {
	void *holder;
};

#define LD_WAIT_SPIN	0
#define lockdep_init_map_wait(map, name, key, sub, wait)	\
	((void)(name), (void)(key), (void)(sub), (void)(wait), (map)->holder = NULL)
#define lock_map_acquire_try(map)	((map)->holder = &ssw_preempt)
#define lock_map_release(map)	\
	do { ssw_check((map)->holder == &ssw_preempt, "not the holder"); \
	     (map)->holder = NULL; } while (0)
#define lockdep_is_held(lock)	((lock)->dep_map.holder == &ssw_preempt)
#define lockdep_assert_held(lock)	\
	ssw_check(lockdep_is_held(lock), "token is not held")

#endif
