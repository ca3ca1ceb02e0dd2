/* SPDX-License-Identifier: GPL-2.0 */
/* RCU of the tests' own, in shim.c: readers count, call_rcu() really frees. */
#ifndef _SSW_TEST_RCUPDATE_H
#define _SSW_TEST_RCUPDATE_H

#include <linux/bug.h>
#include <linux/compiler.h>

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

extern __thread int ssw_rcu_nest;

void rcu_read_lock(void);
void rcu_read_unlock(void);
void synchronize_rcu(void);
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));

#define rcu_dereference(p)						\
({									\
	ssw_check(ssw_rcu_nest, "not in a read side");			\
	__atomic_load_n(&(p), __ATOMIC_CONSUME);			\
})
#define rcu_dereference_protected(p, cond)				\
({									\
	ssw_check(cond, "unprotected");					\
	__atomic_load_n(&(p), __ATOMIC_RELAXED);			\
})
#define rcu_assign_pointer(p, v)	__atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
#define RCU_INIT_POINTER(p, v)		__atomic_store_n(&(p), (v), __ATOMIC_RELAXED)

#endif
