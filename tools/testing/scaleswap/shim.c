// SPDX-License-Identifier: GPL-2.0
/*
 * The little of the kernel that slot.c, cluster.c and deleg.c need, for user
 * space: memory, RCU, and a way to fail.
 *
 * RCU: a reader notes the number of the grace period that it began in. A grace
 * period ends when no reader of an earlier one is left. Memory is really
 * freed, so that AddressSanitizer sees a use after it. Nothing here is more
 * ordered than it has to be. Otherwise ThreadSanitizer would miss ordering that
 * the code under test lacks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "shim.h"

__thread int ssw_fence;
__thread int ssw_preempt;
__thread int ssw_rcu_nest;

void ssw_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	_exit(1);
}

void cpu_relax(void)
{
	sched_yield();
}

/* Noise */

unsigned int ssw_noise_nth;
__thread unsigned int ssw_noise_left;

void ssw_noise_yield(void)
{
	static __thread unsigned int rand;

	if (!rand)
		rand = (unsigned int)(unsigned long)&rand | 1;
	rand = rand * 1664525 + 1013904223;
	ssw_noise_left = (rand >> 8) % (2 * ssw_noise_nth);
	sched_yield();
}

/* Memory */

unsigned int ssw_fail_nth;
static __thread unsigned int ssw_nth;
static long ssw_live;

struct kmem_cache {
	size_t size;
};

static void *ssw_get(size_t size)
{
	ssw_check(!ssw_preempt, "allocation with a token held");
	if (ssw_fail_nth && !(++ssw_nth % ssw_fail_nth))
		return NULL;
	__atomic_fetch_add(&ssw_live, 1, __ATOMIC_RELAXED);
	return calloc(1, size);
}

static void ssw_put(void *p)
{
	ssw_check(!ssw_preempt, "freeing with a token held");
	__atomic_fetch_sub(&ssw_live, 1, __ATOMIC_RELAXED);
	free(p);
}

long ssw_allocated(void)
{
	return __atomic_load_n(&ssw_live, __ATOMIC_RELAXED);
}

struct kmem_cache *ssw_cache_create(size_t size)
{
	static struct kmem_cache cache;

	cache.size = size;
	return &cache;
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	return ssw_get(cache->size);
}

void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	ssw_put(p);
}

unsigned long __get_free_page(gfp_t gfp)
{
	return (unsigned long)ssw_get(PAGE_SIZE);
}

void free_page(unsigned long addr)
{
	if (addr)
		ssw_put((void *)addr);
}

/* RCU */

#define SSW_MAX_THREADS		64

struct ssw_reader {
	unsigned long since;
	int used;
	char pad[64 - sizeof(long) - sizeof(int)];
};

static struct ssw_reader ssw_reader[SSW_MAX_THREADS];

static unsigned long ssw_period = 1;
static pthread_mutex_t ssw_period_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcu_head *ssw_callbacks;
static __thread int ssw_reader_at = -1;

void ssw_thread_begin(void)
{
	int i, free;

	for (i = 0; i < SSW_MAX_THREADS; i++) {
		free = 0;
		if (__atomic_compare_exchange_n(&ssw_reader[i].used, &free, 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			break;
	}
	ssw_check(i < SSW_MAX_THREADS, "too many threads");
	ssw_reader_at = i;
}

void ssw_thread_end(void)
{
	ssw_check(!ssw_rcu_nest && !ssw_preempt, "unbalanced");
	__atomic_store_n(&ssw_reader[ssw_reader_at].used, 0, __ATOMIC_RELEASE);
	ssw_reader_at = -1;
}

void rcu_read_lock(void)
{
	if (ssw_rcu_nest++)
		return;
	ssw_check(ssw_reader_at >= 0, "thread is not known");
	/* Full barrier: the reader notes the period before it reads anything. */
	__atomic_exchange_n(&ssw_reader[ssw_reader_at].since,
			    __atomic_load_n(&ssw_period, __ATOMIC_RELAXED),
			    __ATOMIC_SEQ_CST);
}

void rcu_read_unlock(void)
{
	if (!--ssw_rcu_nest)
		__atomic_store_n(&ssw_reader[ssw_reader_at].since, 0, __ATOMIC_RELEASE);
}

void synchronize_rcu(void)
{
	unsigned long now;
	int i;

	ssw_check(!ssw_rcu_nest && !ssw_preempt, "in a read side");
	pthread_mutex_lock(&ssw_period_lock);
	now = __atomic_add_fetch(&ssw_period, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < SSW_MAX_THREADS; i++) {
		for (;;) {
			unsigned long since;

			since = __atomic_load_n(&ssw_reader[i].since, __ATOMIC_ACQUIRE);
			if (!since || since >= now)
				break;
			sched_yield();
		}
	}
	pthread_mutex_unlock(&ssw_period_lock);
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	ssw_check(!ssw_preempt, "call_rcu() with a token held");
	head->func = func;
	head->next = __atomic_load_n(&ssw_callbacks, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&ssw_callbacks, &head->next, head, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Wait for a grace period and run the callbacks that had been queued before. */
void rcu_barrier(void)
{
	struct rcu_head *head;

	head = __atomic_exchange_n(&ssw_callbacks, NULL, __ATOMIC_ACQUIRE);
	synchronize_rcu();
	while (head) {
		struct rcu_head *next = head->next;

		head->func(head);
		head = next;
	}
}
