/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: the pipeline of an evictor. See evict.c.
 */
#ifndef _MM_SCALESWAP_EVICT_H
#define _MM_SCALESWAP_EVICT_H

#include <linux/atomic.h>
#include <linux/cpumask_types.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmzone.h>
#include <linux/scaleswap_evict.h>
#include <linux/swap.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/wait.h>

#ifdef CONFIG_SCALESWAP_EVICTOR
#include <asm/tlb_async.h>

#include "evict_hooks.h"
#include "stat.h"

struct lruvec;
struct mem_cgroup;
struct scaleswap_evictor;
struct task_struct;

/* Batches of a pipeline: one is being filled, others are flushed or written */
#define SSW_PIPE_BATCHES	4
/*
 * Pages after which a batch is flushed, at most; see evict/batch. A batch is over it by less than
 * one isolation.
 */
#define SSW_BATCH_PAGES		256
/* Lists of folios, after which a batch is flushed */
#define SSW_BATCH_SEGS		16
/* A batch is flushed if so many times the pages were isolated that it is to have. */
#define SSW_BATCH_TRIES		8
/* Pages that are put back, and none freed, after which there is nothing to evict */
#define SSW_STUCK_PAGES		(2 * SSW_PIPE_BATCHES * SSW_BATCH_PAGES)
/* Folios that are put back at a time, as others need the lock of the list */
#define SSW_BACK_FOLIOS		SWAP_CLUSTER_MAX
/* How long a batch waits for its writes at most, where the pipeline has no other to fill */
#define SSW_BATCH_IO_MS		100

/**
 * struct ssw_seg - folios of one list
 * @lruvec: where they were isolated; they all go back there
 * @memcg: its memcg, with a reference; NULL if the memory controller is off
 * @target: memcg that is reclaimed from, as in struct scan_control; the evictor has a reference
 * @held: folios that are to be evicted, each with the reference of its isolation
 * @back: folios that are not, but that may be in TLBs: they go back when these are flushed
 * @nr_taken: pages of both, at first
 * @nr_freed: pages that were freed
 * @nr_io: pages that were written
 */
struct ssw_seg {
	struct lruvec *lruvec;
	struct mem_cgroup *memcg;
	struct mem_cgroup *target;
	struct list_head held;
	struct list_head back;
	unsigned long nr_taken;
	unsigned long nr_freed;
	unsigned long nr_io;
};

/**
 * enum ssw_batch_state - where a batch is in the pipeline
 * @SSW_BATCH_FREE: it has no folios, and may be filled
 * @SSW_BATCH_FILLING: folios are unmapped and added
 * @SSW_BATCH_FLUSHING: CPUs flush TLBs
 * @SSW_BATCH_WRITING: devices write folios
 * @SSW_BATCH_LATE: it has no folios any more, but bios of it are not done
 */
enum ssw_batch_state {
	SSW_BATCH_FREE,
	SSW_BATCH_FILLING,
	SSW_BATCH_FLUSHING,
	SSW_BATCH_WRITING,
	SSW_BATCH_LATE,
};

/**
 * struct scaleswap_span - bios of a batch
 * @bios: those that are not done, and one more while there may come others
 * @pipe: the pipeline. Each bio has a reference.
 */
struct scaleswap_span {
	atomic_t bios;
	struct scaleswap_pipe *pipe;
};

/**
 * struct ssw_batch - folios that are flushed by the same interrupts, and written together
 * @state: where it is
 * @nr_segs: how many of @seg are in use
 * @nr_pages: pages of these
 * @seq: which batch of the pipeline this is, counted when it leaves %SSW_BATCH_FILLING
 * @isolated: pages that were isolated since its first, also those that are not in it
 * @flush: whether any CPU has to flush
 * @unsent: jiffies at which the flush is to be sent, for tests; 0 if it is sent
 * @tlb: CPUs to flush
 * @req: the flush
 * @span: the bios
 * @seg: folios, by where they were isolated
 */
struct ssw_batch {
	enum ssw_batch_state state;
	unsigned int nr_segs;
	unsigned int nr_pages;
	unsigned int seq;
	unsigned long isolated;
	bool flush;
	unsigned long unsent;
	struct arch_tlbflush_unmap_batch tlb;
	struct arch_tlbbatch_req req;
	struct scaleswap_span span;
	struct ssw_seg seg[SSW_BATCH_SEGS];
};

/**
 * struct scaleswap_pipe - pipeline of an evictor
 * @ref: the evictor, and each bio
 * @task: the evictor, with a reference: bios wake it when they may be done with it
 * @filling: the batch that is filled, or NULL: no folios are held then
 * @held: folios of this isolation that are to be evicted
 * @back: folios of this isolation that are not
 * @nr_held: pages of @held
 * @isolated: pages of this isolation that count as held, but are in no batch
 * @span: bios of the batch that is written now, or NULL
 * @unmapping: folio that was unmapped last, or at least in part
 * @other: a folio was unmapped that is not held, so TLBs are flushed at once
 * @taken: pages that were to be evicted so far
 * @freed: pages that were freed so far
 * @vain: pages that were put back since any were freed
 * @seq: batches sent so far
 * @batch: the batches
 */
struct scaleswap_pipe {
	struct kref ref;
	struct task_struct *task;
	struct ssw_batch *filling;
	struct list_head held;
	struct list_head back;
	unsigned long nr_held;
	unsigned long isolated;
	struct scaleswap_span *span;
	struct folio *unmapping;
	bool other;
	unsigned long taken;
	unsigned long freed;
	unsigned long vain;
	unsigned int seq;
	struct ssw_batch batch[SSW_PIPE_BATCHES];
};

/* evict.c */
struct scaleswap_pipe *ssw_pipe_create(struct task_struct *task);
void ssw_pipe_put(struct scaleswap_pipe *pipe);
void ssw_batch_send(struct ssw_batch *batch);
bool ssw_batch_flushed(struct ssw_batch *batch);
void ssw_batch_wait_flushed(struct ssw_batch *batch);
void ssw_span_begin(struct scaleswap_span *span);
void ssw_span_get(struct scaleswap_span *span);
void ssw_span_put(struct scaleswap_span *span);
bool ssw_span_done(const struct scaleswap_span *span);
void ssw_span_wait(const struct scaleswap_span *span);

/* Jiffies after a walk of page tables in which an evictor does not repeat it */
#define SSW_WALK_NEW	2

/**
 * ssw_walk_is_new - check whether page tables were walked so recently that it is of no use again
 * @young: pages of the youngest generation, which began after the last walk
 * @age: how long ago that was, in jiffies
 *
 * When nothing is left of old generations, and a walk finds that all pages are young, two
 * generations have to begin before any can be evicted. While a task ages, its process does not run.
 * With an evictor it does, and a second walk looks at its page tables, and finds nothing young.
 * That would leave the filter of the next walk empty, which then does not look at them at all.
 * Without the second walk, the next one has no filter, and looks at all of them.
 *
 * Context: any.
 * Return: true if the generation began %SSW_WALK_NEW jiffies ago at most, and has hardly any pages.
 */
static inline bool ssw_walk_is_new(unsigned long young, unsigned long age)
{
	return young < SWAP_CLUSTER_MAX && age <= SSW_WALK_NEW;
}

/* Jiffies that an evictor waits for others to end a walk of page tables */
#define SSW_WALK_WAIT	HZ
bool ssw_walk_wait(atomic_t *evictors, long timeout);
bool ssw_walk_leave(atomic_t *evictors, long timeout);

/**
 * ssw_span_current - find out for which batch this task writes
 *
 * Context: process context.
 * Return: where to count its bios; NULL if nobody wants to know.
 */
static inline struct scaleswap_span *ssw_span_current(void)
{
	return scaleswap_evicts() ? current->reclaim_state->pipe->span : NULL;
}

/* vmscan-evict.c */
long ssw_evict_memcg(struct mem_cgroup *memcg, unsigned long nr_pages);
unsigned long ssw_evict_some(struct scaleswap_pipe *pipe, struct mem_cgroup *memcg,
			     unsigned long nr_pages);
unsigned long ssw_evict_node_some(struct scaleswap_pipe *pipe, int nid, unsigned long nr_pages);
void ssw_evict_node_begin(int nid);
bool ssw_evict_node_is_kswapds(void);
bool ssw_evict_await(struct scaleswap_pipe *pipe);
bool ssw_evict_await_late(struct scaleswap_pipe *pipe, bool patient);
void ssw_evict_drain(struct scaleswap_pipe *pipe);

/* How long an allocation waits for evictors, in milliseconds: at first, and at most */
#define SSW_EVICT_WAIT_MS	200
#define SSW_EVICT_WAIT_MS_MAX	60000

/**
 * struct ssw_evict_wait - what a task waits for
 * @target: memcg or node to be evicted from
 * @over: tells whether what the task waits for is there; it may not sleep
 * @gfp_mask: what the task may do to get memory
 * @held: whether to wait until evictors hold no pages
 * @why: why it is not there
 * @freed: pages of @target that evictors had freed when the task began to wait
 * @began: whether the task has waited; the others are valid then
 * @overtaken: whether it was woken in vain: others took what there was
 * @end: jiffies at which the task has waited long enough
 * @start: local_clock() when the task began to wait, for the trace event
 */
struct ssw_evict_wait {
	struct scaleswap_evict_target *target;
	bool (*over)(const struct ssw_evict_wait *w);
	gfp_t gfp_mask;
	bool held;
	enum ssw_fallback why;
	unsigned long freed;
	bool began;
	bool overtaken;
	unsigned long end;
	u64 start;
};

/* evictroom.c */
extern unsigned int ssw_evict_threads;

static inline bool ssw_evict_is_node(const struct scaleswap_evict_target *t)
{
	return t->nid != NUMA_NO_NODE;
}

#define ssw_evict_memcg_of(t)	container_of(t, struct mem_cgroup, evict)

unsigned long ssw_evict_limit(struct mem_cgroup *memcg);
bool ssw_evict_has_room(struct mem_cgroup *memcg, unsigned long nr_pages);
unsigned long ssw_evict_room(struct mem_cgroup *memcg, unsigned long nr_pages, bool overtaken);
unsigned long ssw_evict_ino(struct scaleswap_evict_target *t);
unsigned long ssw_evict_over(struct scaleswap_evict_target *t);
unsigned long ssw_evict_in_flight(struct scaleswap_evict_target *t);
bool ssw_evict_is_vain(struct scaleswap_evict_target *t);
bool ssw_evict_is_stuck(struct scaleswap_evict_target *t);
void ssw_evict_set_stuck(struct scaleswap_evict_target *t);
void ssw_evict_hold(struct mem_cgroup *memcg, int nid, long nr_pages);
void ssw_evict_freed(struct mem_cgroup *memcg, int nid, unsigned long freed, unsigned long back);
void ssw_evict_was_late(struct mem_cgroup *memcg, int nid);
unsigned int ssw_charge_batch(unsigned int headroom, unsigned int cpus);
unsigned int ssw_headroom(unsigned int headroom, unsigned long limit, bool more);
unsigned long ssw_headroom_end(unsigned int headroom);
unsigned long ssw_evict_demand(unsigned int waiting, unsigned long limit);
unsigned int ssw_evictors_for(unsigned int most, unsigned long headroom, unsigned long left);
unsigned int ssw_evictors_of(unsigned long limit, unsigned int threads, unsigned int nodes);
void ssw_evict_request(struct scaleswap_evict_target *t);
struct scaleswap_evict_target *ssw_evict_next(struct scaleswap_evictor *ev);
void ssw_evict_give_up(struct scaleswap_evictor *ev);
bool ssw_evict_may_help(const struct scaleswap_evict_target *t, const struct scaleswap_evictor *ev,
			bool alone, unsigned int threads);
bool ssw_evict_leave(struct scaleswap_evict_target *t);
void ssw_evict_put(struct scaleswap_evict_target *t);
void ssw_evict_dequeue(struct scaleswap_evict_target *t);
void ssw_evict_done(struct scaleswap_evict_target *t);
bool ssw_evict_is_only(void);
void ssw_evict_allow(unsigned int nr);
void ssw_evict_target_init(struct scaleswap_evict_target *t, int nid);

/* evictwait.c */
extern unsigned int ssw_evict_wait_ms;
bool ssw_evict_may_wait(gfp_t gfp_mask, bool held);
bool ssw_evict_wait(struct ssw_evict_wait *w);
void ssw_evict_waited(struct ssw_evict_wait *w, unsigned long nr_pages, bool good);
unsigned long ssw_evict_wait_held(struct mem_cgroup *memcg, gfp_t gfp_mask, bool writes);

/* page_alloc-evict.c */
long ssw_zone_usable(struct zone *zone, bool cma);

/* evictnode.c */
struct scaleswap_evict_target *ssw_node_target(int nid);
int ssw_node_init(int nid);
unsigned long ssw_node_headroom(unsigned long gap, unsigned int threads);
unsigned long ssw_node_above(unsigned long gap, unsigned int waiting);
long ssw_node_lacks(int nid);
unsigned long ssw_node_over(int nid);
unsigned int ssw_node_allowed(int nid, unsigned int most);
bool ssw_node_serves(int nid, enum zone_type highest_zoneidx);

/* evictd.c */
/* Evictors of a node at most */
#define SSW_EVICT_THREADS_MAX	64

/**
 * struct scaleswap_evictor - an evictor
 * @task: the kthread, or NULL
 * @pipe: its pipeline
 * @wait: where it is idle
 * @wanted: what it was woken for, until it looks for that, which is a hint, and no reference;
 *	%SSW_EVICTOR_IDLE if it may be woken; NULL if it may not
 * @target: what it evicts from, or NULL; a hint, as @wanted
 * @last: what it evicted from last; a hint, too
 * @since: when it was woken, or went on with @target, in jiffies
 * @nid: its node
 * @id: its number there, from 0
 */
struct scaleswap_evictor {
	struct task_struct *task;
	struct scaleswap_pipe *pipe;
	wait_queue_head_t wait;
	const struct scaleswap_evict_target *wanted;
	const struct scaleswap_evict_target *target;
	const struct scaleswap_evict_target *last;
	unsigned long since;
	int nid;
	unsigned int id;
};

#define SSW_EVICTOR_IDLE	((const struct scaleswap_evict_target *)1)

static inline bool ssw_evictor_is_wanted(const struct scaleswap_evict_target *wanted)
{
	return wanted && wanted != SSW_EVICTOR_IDLE;
}

/* Jiffies in which an evictor is to go on: real-time tasks may keep it off its CPU. */
#define SSW_PROMPT		1

static inline bool ssw_evictor_is_prompt(const struct scaleswap_evictor *ev)
{
	return time_before_eq(jiffies, READ_ONCE(ev->since) + SSW_PROMPT);
}

/* CPUs of a node that are looked at for one that is idle, at most */
#define SSW_SPARE_TRIES		8U

static inline unsigned int ssw_spare_tries(unsigned int nr)
{
	return nr ? min(nr - 1, SSW_SPARE_TRIES) : 0;
}

/*
 * Which of @nr CPUs to look at next, for i from 1 to ssw_spare_tries(): all but @own if there are
 * few, and else some all over the node.
 */
static inline unsigned int ssw_spare_id(unsigned int own, unsigned int i, unsigned int nr)
{
	return (own + i * nr / (ssw_spare_tries(nr) + 1)) % nr;
}

extern atomic_t ssw_evict_awake;
extern unsigned int ssw_evict_batch;
extern bool ssw_evict_circulate;
extern bool ssw_evict_paused;
const struct scaleswap_evict_target *ssw_evictor_busy(struct scaleswap_evictor *ev);
void ssw_evict_wake(struct scaleswap_evict_target *t);
int ssw_evict_cpu_waits(void);
void ssw_evict_cpu_waited(int cpu);
int ssw_evict_set_threads(unsigned int nr);
int ssw_evict_set_cpus(const struct cpumask *mask);
int ssw_evict_show_cpus(char *buf);
int ssw_evictd_init(void);

#else /* CONFIG_SCALESWAP_EVICTOR */

struct scaleswap_span;

static inline struct scaleswap_span *ssw_span_current(void)
{
	return NULL;
}

static inline void ssw_span_get(struct scaleswap_span *span)
{
}

static inline void ssw_span_put(struct scaleswap_span *span)
{
}

#endif /* CONFIG_SCALESWAP_EVICTOR */
#endif /* _MM_SCALESWAP_EVICT_H */
