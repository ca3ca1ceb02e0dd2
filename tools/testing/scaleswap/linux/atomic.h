/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's atomics, with the ordering that Documentation/atomic_t.txt
 * promises and no more: what returns a value and succeeds is fully ordered
 * unless its name says otherwise, what returns none is not ordered at all.
 */
#ifndef _SSW_TEST_ATOMIC_H
#define _SSW_TEST_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

/*
 * Now and then let others run first, where it matters. The scheduler alone would
 * stop a thread between two given instructions very seldom.
 */
extern unsigned int ssw_noise_nth;
void ssw_noise_yield(void);
extern __thread unsigned int ssw_noise_left;

static inline void ssw_noise(void)
{
	if (ssw_noise_nth && !ssw_noise_left--)
		ssw_noise_yield();
}

#define ATOMIC_INIT(i)			{ (i) }

#define atomic_read(v)			__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_read_acquire(v)		__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_set(v, i)		__atomic_store_n(&(v)->counter, (i), __ATOMIC_RELAXED)
/* What was done before is seen by who acquires it. */
#define atomic_set_release(v, i)	smp_store_release(&(v)->counter, (i))
#define atomic64_read(v)		atomic_read(v)
#define atomic64_set(v, i)		atomic_set(v, i)
#define atomic64_set_release(v, i)	atomic_set_release(v, i)

#define atomic_add(i, v)		\
	((void)__atomic_fetch_add(&(v)->counter, (i), __ATOMIC_RELAXED))
#define atomic_inc(v)			atomic_add(1, v)
#define atomic_dec(v)			atomic_add(-1, v)
#define atomic_add_return(i, v)		\
	__atomic_add_fetch(&(v)->counter, (i), __ATOMIC_SEQ_CST)
#define atomic_inc_return(v)		atomic_add_return(1, v)
#define atomic_sub_return(i, v)		\
	(ssw_noise(), __atomic_sub_fetch(&(v)->counter, (i), __ATOMIC_SEQ_CST))
#define atomic_xchg(v, i)		\
	(ssw_noise(), __atomic_exchange_n(&(v)->counter, (i), __ATOMIC_SEQ_CST))

static inline int atomic_cmpxchg_acquire(atomic_t *v, int old, int new)
{
	ssw_noise();
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	return old;
}

/* Relaxed forms are for mutants. */
static inline int atomic_cmpxchg_relaxed(atomic_t *v, int old, int new)
{
	ssw_noise();
	__atomic_compare_exchange_n(&v->counter, &old, new, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

static inline bool atomic64_try_cmpxchg_relaxed(atomic64_t *v, s64 *old, s64 new)
{
	return __atomic_compare_exchange_n(&v->counter, old, new, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 new)
{
	ssw_noise();
	return __atomic_compare_exchange_n(&v->counter, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static inline bool atomic64_try_cmpxchg_acquire(atomic64_t *v, s64 *old, s64 new)
{
	ssw_noise();
	return __atomic_compare_exchange_n(&v->counter, old, new, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

#define xchg(ptr, v)			\
	(ssw_noise(), __atomic_exchange_n((ptr), (typeof(*(ptr)))(v), __ATOMIC_SEQ_CST))
#define try_cmpxchg(ptr, old, new)	\
	(ssw_noise(), __atomic_compare_exchange_n((ptr), (old), (new), false,	\
						  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))

/* The two pair with each other. */
#define smp_load_acquire(p)		__atomic_load_n((p), __ATOMIC_ACQUIRE)
/* As above. */
#define smp_store_release(p, v)		\
	(ssw_noise(), __atomic_store_n((p), (v), __ATOMIC_RELEASE))

/*
 * ThreadSanitizer does not know fences, but an exchange. It is one of a variable
 * of the thread's own: a barrier orders, but by itself passes nothing on, so a
 * plain access that relies on one alone is reported.
 */
extern __thread int ssw_fence;
/* Pairs with full barriers only. */
#define smp_mb()	\
	(ssw_noise(), (void)__atomic_exchange_n(&ssw_fence, 0, __ATOMIC_SEQ_CST))

#endif
