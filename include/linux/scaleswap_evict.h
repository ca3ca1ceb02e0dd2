/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what evictors need to know of a memcg. <linux/memcontrol.h> includes this file; the
 * rules are in mm/scaleswap/evictroom.c.
 */
#ifndef _LINUX_SCALESWAP_EVICT_H
#define _LINUX_SCALESWAP_EVICT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

#ifdef CONFIG_SCALESWAP_EVICTOR

struct scaleswap_evictor;

/**
 * struct scaleswap_evict_target - what evictors and their waiters know of a memcg, or of a node
 * @nid: the memory node; %NUMA_NO_NODE for a memcg
 * @headroom: pages below the limit at which evictors begin; 0 before that was needed, and for nodes
 * @stuck: jiffies until which evictors leave it alone, or 0: they could not free anything
 * @backoff: how long that was, in jiffies
 * @late: whether some of @vain were still being written
 * @queue: in a list while there is too much of it to leave it alone, under the lock of that
 * @evictors: evictors that have it as theirs, under the same lock
 * @woken: the evictor that was woken for it last; a hint
 * @vain: pages that evictors have put back since they last freed some
 * @in_flight: pages that evictors have isolated or hold, of it and all memcgs below it
 * @freed: pages that evictors have freed, of it and all memcgs below it; wraps
 * @waits: waits since @headroom was looked at
 * @waiting: how many tasks wait for memory of it
 * @waiters: these tasks
 *
 * Each charge reads what comes first, which hardly ever changes. The others have a cache line for
 * each of those who write them: who asks for evictors, evictors, and who waits. In struct
 * mem_cgroup the pointers to the nodes come next: they need a line that nobody writes.
 */
struct scaleswap_evict_target {
	int nid;
	unsigned int headroom;
	unsigned long stuck;
	unsigned long backoff;
	bool late;

	struct list_head queue ____cacheline_aligned_in_smp;
	unsigned int evictors;
	const struct scaleswap_evictor *woken;

	atomic_long_t vain ____cacheline_aligned_in_smp;
	atomic_long_t in_flight;
	atomic_long_t freed;

	atomic_t waits ____cacheline_aligned_in_smp;
	atomic_t waiting;
	wait_queue_head_t waiters;
};

#endif /* CONFIG_SCALESWAP_EVICTOR */
#endif /* _LINUX_SCALESWAP_EVICT_H */
