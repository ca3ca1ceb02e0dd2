/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: a call from mm/rmap.c.
 */
#ifndef _MM_SCALESWAP_ANON_VMA_H
#define _MM_SCALESWAP_ANON_VMA_H

#include <linux/osq_lock.h>
#include <linux/rmap.h>
#include <linux/rwsem.h>
#include <linux/scaleswap.h>

/**
 * scaleswap_anon_vma_awaited - does a task wait for the lock of an anon_vma, asleep or spinning?
 * @root: the root of an anon_vma; it may have been freed and be another one's root by now
 *
 * Context: RCU read side. The answer may be out of date.
 * Return: true if a task waits.
 */
static inline bool scaleswap_anon_vma_awaited(struct anon_vma *root)
{
#if defined(CONFIG_RWSEM_SPIN_ON_OWNER) && !defined(CONFIG_PREEMPT_RT)
	/* A writer spins before it sleeps, and readers that come one after another keep it out. */
	if (osq_is_locked(&root->rwsem.osq))
		return true;
#endif
	return rwsem_is_contended(&root->rwsem);
}

/**
 * scaleswap_anon_vma_trylock - as anon_vma_trylock_read(), without a loop
 * @root: the root of an anon_vma; it may have been freed and be another one's root by now
 *
 * Threads that share a VMA have one anon_vma for all their pages there. Whoever reclaims one of
 * these pages takes this lock for reading, twice for a page. down_read_trylock() reads the count
 * and exchanges it, again and again until no other CPU came in between. With 64 CPUs that is the
 * longest wait of a fault. down_read_trylock_once() adds to the count, as down_read() does.
 *
 * A try that fails writes, too, and is a reader for an instant. Reclaim that does not wait for the
 * lock goes on to the next page, which may have the same one. So with many CPUs there would always
 * be such a reader, and a writer that waits would never get the lock. Therefore no CPU tries
 * while a task waits.
 *
 * Context: RCU read side; task context, interrupts on.
 * Return: 1 if the caller has the lock, 0 if a task has it for writing or waits for it.
 */
static inline int scaleswap_anon_vma_trylock(struct anon_vma *root)
{
	if (scaleswap_on())
		return !scaleswap_anon_vma_awaited(root) && down_read_trylock_once(&root->rwsem);
	return down_read_trylock(&root->rwsem);
}

#endif /* _MM_SCALESWAP_ANON_VMA_H */
