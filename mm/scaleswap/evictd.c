// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the pool of evictors, when they evict, and who waits for them.
 *
 * evict.c has the pipeline of one.
 */

/**
 * DOC: Pool of evictors
 *
 * Evictors are kthreads of each memory node. They keep room below the limit of a memcg, and memory
 * of their node free, so that a task that needs memory finds it. The task does not reclaim, and
 * does not interrupt other CPUs. For memcgs:
 *
 * - A charge that leaves less than the headroom below memory.max or memory.high queues the memcg,
 *   and wakes an evictor. The evictor goes on until there is half as much room more, or 64 pages
 *   or a batch: ssw_headroom_end().
 * - The less of the headroom is left, the more evictors there are for the memcg; all that it may
 *   have, when half is left.
 * - A charge at the limit waits, for evict/wait_ms at most. Then there are as many evictors as the
 *   memcg may have, and its headroom grows. They make room for all that wait besides the headroom:
 *   ssw_evict_demand().
 * - Each CPU has an evictor of its own, as far as there are as many. It runs on that CPU, if it may
 *   and no other one is idle, and evicts pages of the CPU that it runs on first. So it is about as
 *   near to these as the tasks would be, and takes no time from tasks that have nothing to do with
 *   it.
 * - A task that waited charges %SWAP_CLUSTER_MAX pages, what it would have reclaimed by itself, and
 *   one is woken for as many pages that are freed. Or each page would have a wait and a wakeup. If
 *   others have taken some before it gets a CPU, it goes on with what it needs.
 * - CPUs stock fewer charges of a small memcg than else, and fewer where nobody waits:
 *   ssw_charge_batch(). Or most of the room would be in their stocks.
 * - A memcg of which evictors can free nothing is left alone for a while: it is stuck. Nobody waits
 *   for it then. It is not stuck while an evictor has writes of it under way that took too long for
 *   their batch: reclaim by tasks would only give that device more to do.
 * - Who did not get memory by waiting reclaims as without evictors, and counts why
 *   (stats/fallback/evict_*). That code alone decides that a memcg is out of memory, and only when
 *   evictors hold no pages of it, or did not let go of them in time.
 *
 * evictnode.c says what is different for a node as a whole. kswapd is as it was.
 */

/**
 * DOC: Invariants of the pool
 *
 * 1. A memcg or node that is queued is looked at by an evictor after that, or by each evictor that
 *    holds pages of it, once it holds none any more. So none stays queued while all evictors sleep.
 *    An evictor that was woken for one, and takes another, or may not run, wakes another evictor.
 * 2. An evictor sleeps, freezes and ends with an empty pipeline only.
 * 3. A wait never counts as progress: it succeeds if there is room for the charge, or a page.
 * 4. Evictors are not stopped, nor parked, as one may be in a device. Those that are too many idle.
 * 5. Nothing is queued while no evictor may run: a memcg that is queued has a reference, and would
 *    stay when it is removed.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cgroup.h>
#include <linux/cpuhotplug.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/memory.h>
#include <linux/nodemask.h>
#include <linux/psi.h>
#include <linux/sched/isolation.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/topology.h>

#include "evict.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

/**
 * struct ssw_pool - evictors of a node
 * @cpus: CPUs that evictors may run on; a hint
 * @nr_cpus: CPUs of the node, at most as many as there may be evictors
 * @cpu: these CPUs, by the number of their own evictor
 * @idle: a bit for each evictor that waits for work; a hint
 * @evictor: all, the first %ssw_evict_threads of which may run
 */
struct ssw_pool {
	struct cpumask cpus;
	unsigned int nr_cpus;
	unsigned int cpu[SSW_EVICT_THREADS_MAX];
	DECLARE_BITMAP(idle, SSW_EVICT_THREADS_MAX);
	struct scaleswap_evictor evictor[SSW_EVICT_THREADS_MAX];
};

static struct ssw_pool *ssw_pools[MAX_NUMNODES];
/* Evictors that may not run, since they are too many */
static DECLARE_WAIT_QUEUE_HEAD(ssw_evict_surplus);
/* Serializes changes of threads and CPUs */
static DEFINE_MUTEX(ssw_evict_mutex);
/* CPUs that the user wants evictors on; empty for those of their nodes */
static struct cpumask ssw_evict_cpumask;

/* The number of each CPU among those of its node: that of its own evictor, if there are as many */
static DEFINE_PER_CPU(unsigned int, ssw_evict_own);
/* Tasks that began to wait for evictors on each CPU */
static DEFINE_PER_CPU(atomic_t, ssw_evict_waiting);
/* Evictors that are not idle */
atomic_t ssw_evict_awake;
unsigned int ssw_evict_batch __read_mostly = SSW_BATCH_PAGES;
/* Whether evictors free pages to the CPU that used them */
bool ssw_evict_circulate __read_mostly;
/* For tests: evictors take nothing while it is set. */
bool ssw_evict_paused;

/* --- evictors ------------------------------------------------------------------------ */

/**
 * ssw_evictor_busy - note that an evictor is not idle any more
 * @ev: the evictor
 *
 * Context: this evictor.
 * Return: what it was woken for, see @wanted of &struct scaleswap_evictor.
 */
const struct scaleswap_evict_target *ssw_evictor_busy(struct scaleswap_evictor *ev)
{
	const struct scaleswap_evict_target *wanted = xchg(&ev->wanted, NULL);

	if (wanted)
		clear_bit(ev->id, ssw_pools[ev->nid]->idle);
	return wanted;
}

/**
 * ssw_evict_cpu_waits - note that a task of this CPU is about to wait for evictors
 *
 * That CPU may be idle then, but not for long.
 *
 * Context: any.
 * Return: the CPU, for ssw_evict_cpu_waited().
 */
int ssw_evict_cpu_waits(void)
{
	int cpu = raw_smp_processor_id();

	atomic_inc(per_cpu_ptr(&ssw_evict_waiting, cpu));
	return cpu;
}

/**
 * ssw_evict_cpu_waited - note that a task does not wait for evictors any more
 * @cpu: from ssw_evict_cpu_waits()
 *
 * Context: any.
 */
void ssw_evict_cpu_waited(int cpu)
{
	atomic_dec(per_cpu_ptr(&ssw_evict_waiting, cpu));
}

/* Make an evictor busy that is idle. Return false if it is not. */
static bool ssw_evictor_claim(struct scaleswap_evictor *ev, struct scaleswap_evict_target *t)
{
	/* Its bit is left to it: it may be idle again before this CPU gets to clear that. */
	if (cmpxchg(&ev->wanted, SSW_EVICTOR_IDLE, t) != SSW_EVICTOR_IDLE)
		return false;
	WRITE_ONCE(ev->since, jiffies);
	WRITE_ONCE(t->woken, ev);
	return true;
}

/*
 * Have an evictor that is awake do something next. Return false if another one is to: it has, or
 * was asked for, something else.
 */
static bool ssw_evictor_ask(struct scaleswap_evictor *ev, struct scaleswap_evict_target *t)
{
	const struct scaleswap_evict_target *busy_with = READ_ONCE(ev->target), *wanted;

	if (!busy_with) {
		/*
		 * It looks for more to do, or was just woken. Full barrier: pairs with that in
		 * ssw_evict_next(). Either it sees this, or its target is seen here.
		 */
		wanted = cmpxchg(&ev->wanted, NULL, t);
		if (wanted && wanted != t)
			return false;
		busy_with = READ_ONCE(ev->target);
	}
	/* If it may not run any more, either that is seen here, or it sees this: it gives up. */
	return (!busy_with || busy_with == t) && ev->id < READ_ONCE(ssw_evict_threads);
}

/*
 * Find an evictor that is idle, and whose CPU has nothing to do, also not soon, and does not go
 * offline. That is a hint. Some CPUs are looked at, all over the node. Return NULL if none of these
 * is idle.
 */
static struct scaleswap_evictor *ssw_evict_spare(struct ssw_pool *pool, unsigned int own,
						 unsigned int most)
{
	unsigned int nr = min(READ_ONCE(pool->nr_cpus), most), i;

	for (i = 1; i <= ssw_spare_tries(nr); i++) {
		unsigned int id = ssw_spare_id(own, i, nr), cpu = READ_ONCE(pool->cpu[id]);

		if (READ_ONCE(pool->evictor[id].wanted) == SSW_EVICTOR_IDLE &&
		    cpumask_test_cpu(cpu, &pool->cpus) &&
		    cpu_active(cpu) && idle_cpu(cpu) &&
		    !atomic_read(per_cpu_ptr(&ssw_evict_waiting, cpu)))
			return &pool->evictor[id];
	}
	return NULL;
}

/* Wake an evictor of a node for a memcg or node. Return false if none is idle. */
static bool ssw_evict_wake_on(int nid, struct scaleswap_evict_target *t)
{
	struct ssw_pool *pool = READ_ONCE(ssw_pools[nid]);
	unsigned int i, own, most = READ_ONCE(ssw_evict_threads);
	struct scaleswap_evictor *ev;

	if (!pool || !most)
		return false;
	/* Pairs with that of the evictor that goes to sleep. */
	smp_mb();
	own = raw_cpu_read(ssw_evict_own) % most;
	ev = ssw_evict_spare(pool, own, most);
	if (ev && ssw_evictor_claim(ev, t)) {
		wake_up(&ev->wait);
		return true;
	}
	ev = &pool->evictor[own];
	if (ssw_evictor_claim(ev, t)) {
		__wake_up_on_current_cpu(&ev->wait, TASK_NORMAL, NULL);
		return true;
	}
	/* Another one would only take time from other tasks. */
	if (ssw_evictor_is_prompt(ev) && ssw_evictor_ask(ev, t)) {
		WRITE_ONCE(t->woken, ev);
		return true;
	}
	for_each_set_bit_wrap(i, pool->idle, most, own) {
		ev = &pool->evictor[i];
		if (ssw_evictor_claim(ev, t)) {
			wake_up(&ev->wait);
			return true;
		}
	}
	return false;
}

/**
 * ssw_evict_wake - wake an evictor
 * @t: what for: a memcg, for which it is one of this node if possible, or a node
 *
 * Each CPU has an evictor of its own, which runs on that CPU, unless another one is idle. If each
 * evictor ran where the scheduler finds a CPU idle for a moment, it would be in the way of the task
 * that waits there for its own evictor, while that one is in the way of others.
 *
 * Context: any but with a runqueue locked.
 */
void ssw_evict_wake(struct scaleswap_evict_target *t)
{
	int nid = t->nid;

	if (ssw_evict_wake_on(nid == NUMA_NO_NODE ? numa_mem_id() : nid, t) || nid != NUMA_NO_NODE)
		return;
	for_each_node(nid) {
		if (ssw_evict_wake_on(nid, t))
			return;
	}
}

/* Evict some pages of a memcg or node. Return 0 if there was nothing to evict. */
static unsigned long ssw_evictor_some(struct scaleswap_evictor *ev,
				      struct scaleswap_evict_target *t, unsigned long nr_pages)
{
	if (t->nid != NUMA_NO_NODE)
		return ssw_evict_node_some(ev->pipe, t->nid, nr_pages);
	return ssw_evict_some(ev->pipe, container_of(t, struct mem_cgroup, evict), nr_pages);
}

/*
 * Check, when nothing could be freed, whether that is for a slow device: this is not nothing to
 * evict. If so, wait for it. Tasks that wait for the memcg or node do so for evict/wait_ms at most,
 * and then it is stuck. If there are none, it is late no longer than this evictor's writes are.
 */
static bool ssw_evict_is_late(struct scaleswap_evictor *ev, struct scaleswap_evict_target *t)
{
	if (!READ_ONCE(t->late))
		return false;
	/* A hint: who begins to wait meanwhile finds it stuck at worst. */
	if (!ssw_evict_await_late(ev->pipe, ssw_evict_is_only()) && !atomic_read(&t->waiting))
		WRITE_ONCE(t->late, false);
	return true;
}

/*
 * Evict from a memcg or node, until it has room, or it is the turn of another one. Return false if
 * nothing could be freed.
 */
static bool ssw_evict_until(struct scaleswap_evictor *ev, struct scaleswap_evict_target *t)
{
	unsigned long taken = 0;

	while (!freezing(current) && !READ_ONCE(ssw_evict_paused)) {
		unsigned long over = ssw_evict_over(t), held = ssw_evict_in_flight(t);
		unsigned long nr, freed = atomic_long_read(&t->freed);

		WRITE_ONCE(ev->since, jiffies);
		if (!over) {
			ssw_evict_done(t);
			return true;
		}
		if (over <= held) {
			/* What is held may be enough, but has to come to its end. */
			if (!ssw_evict_await(ev->pipe))
				return true;
			continue;
		}
		nr = ssw_evictor_some(ev, t, min(over - held, SWAP_CLUSTER_MAX));
		if (!nr || ssw_evict_is_vain(t)) {
			ssw_evict_drain(ev->pipe);
			if (atomic_long_read(&t->freed) == freed)
				return ssw_evict_is_late(ev, t);
		}
		taken += nr;
		if (taken >= SSW_BATCH_PAGES && !ssw_evict_is_only())
			return true;
		cond_resched();
	}
	return true;
}

/* The same. That a node is short of memory counts as pressure, as it does when kswapd runs. */
static bool ssw_evict_turn(struct scaleswap_evictor *ev, struct scaleswap_evict_target *t)
{
	unsigned long pflags;
	bool good;

	if (t->nid == NUMA_NO_NODE)
		return ssw_evict_until(ev, t);
	psi_memstall_enter(&pflags);
	ssw_evict_node_begin(t->nid);
	good = ssw_evict_until(ev, t);
	psi_memstall_leave(&pflags);
	return good;
}

/* Choose a memcg or node for an evictor. NULL if there is nothing for it to do. */
static struct scaleswap_evict_target *ssw_evictor_next(struct scaleswap_evictor *ev)
{
	if (ev->id >= READ_ONCE(ssw_evict_threads) || READ_ONCE(ssw_evict_paused))
		return NULL;
	return ssw_evict_next(ev);
}

/* The same, for one that is about to sleep. If there is nothing, it may be woken from then on. */
static struct scaleswap_evict_target *ssw_evictor_idles(struct scaleswap_evictor *ev)
{
	const struct scaleswap_evict_target *wanted;
	struct scaleswap_evict_target *t;

	for (;;) {
		/* It may be asked for something at the same time. */
		cmpxchg(&ev->wanted, NULL, SSW_EVICTOR_IDLE);
		wanted = READ_ONCE(ev->wanted);
		if (wanted == SSW_EVICTOR_IDLE)
			set_bit(ev->id, ssw_pools[ev->nid]->idle);
		/* Pairs with the barrier in ssw_evict_wake_on(). */
		smp_mb__after_atomic();
		t = ssw_evictor_next(ev);
		if (t || READ_ONCE(ev->wanted) == SSW_EVICTOR_IDLE ||
		    ev->id >= READ_ONCE(ssw_evict_threads))
			return t;
		/* Others have done what it was woken for, unless that is something else by now. */
		if (cmpxchg(&ev->wanted, wanted, NULL) == wanted)
			clear_bit(ev->id, ssw_pools[ev->nid]->idle);
	}
}

/* Sleep until there is something to do. Return what it is, or NULL to look again. */
static struct scaleswap_evict_target *ssw_evict_wait_work(struct scaleswap_evictor *ev)
{
	struct scaleswap_evict_target *t = NULL;

	atomic_dec(&ssw_evict_awake);
	if (ev->id >= READ_ONCE(ssw_evict_threads)) {
		/* It may have been woken for something. */
		ssw_evict_give_up(ev);
		wait_event_freezable(ssw_evict_surplus, ev->id < READ_ONCE(ssw_evict_threads));
	} else {
		wait_event_freezable(ev->wait, (t = ssw_evictor_idles(ev)) ||
				     ev->id >= READ_ONCE(ssw_evict_threads));
	}
	atomic_inc(&ssw_evict_awake);
	return t;
}

static int ssw_evictor(void *arg)
{
	struct scaleswap_evictor *ev = arg;

	/* As kswapd: what it needs to free memory, it gets. */
	memalloc_noreclaim_save();
	set_freezable();
	atomic_inc(&ssw_evict_awake);
	for (;;) {
		struct scaleswap_evict_target *t = ssw_evictor_next(ev);
		bool done, last;

		/* Pages that come back may leave a memcg without room. */
		while (!t && !freezing(current) && ssw_evict_await(ev->pipe)) {
			WRITE_ONCE(ev->since, jiffies);
			t = ssw_evictor_next(ev);
		}
		if (!t) {
			/* Invariant 2 */
			ssw_evict_drain(ev->pipe);
			try_to_freeze();
			t = ssw_evict_wait_work(ev);
		}
		if (!t)
			continue;
		if (trace_scaleswap_evict_take_enabled())
			trace_scaleswap_evict_take(ssw_evict_ino(t), t->nid, ev->nid, ev->id);
		done = ssw_evict_turn(ev, t);
		WRITE_ONCE(ev->target, NULL);
		last = ssw_evict_leave(t);
		if (!done && last && !ssw_evict_in_flight(t)) {
			ssw_evict_set_stuck(t);
			ssw_evict_dequeue(t);
		} else if (!done) {
			/* Others that hold pages of it, or age it, may free some yet. */
			schedule_timeout_idle(1);
		}
		ssw_evict_put(t);
		if (freezing(current)) {
			ssw_evict_drain(ev->pipe);
			try_to_freeze();
		}
		cond_resched();
	}
	return 0;
}

/* --- threads ------------------------------------------------------------------------- */

/* Choose the CPUs of a node's evictors: what the user says, or the node's, less isolated ones. */
static void ssw_evict_cpus_of(int nid, struct cpumask *mask)
{
	const struct cpumask *keep = housekeeping_cpumask(HK_TYPE_KTHREAD);

	if (cpumask_and(mask, &ssw_evict_cpumask, cpu_online_mask))
		return;
	if (!cpumask_and(mask, cpumask_of_node(nid), keep) ||
	    !cpumask_intersects(mask, cpu_online_mask))
		cpumask_copy(mask, keep);
}

/* Let evictors run where they are to. Needed again when CPUs come online. */
static int ssw_evict_place(void)
{
	struct cpumask *mask;
	struct ssw_pool *pool;
	unsigned int i, cpu;
	int nid;

	lockdep_assert_held(&ssw_evict_mutex);
	mask = kmalloc(sizeof(*mask), GFP_KERNEL);
	if (!mask)
		return -ENOMEM;
	for_each_node(nid) {
		pool = ssw_pools[nid];
		if (!pool)
			continue;
		i = 0;
		for_each_possible_cpu(cpu) {
			if (cpu_to_mem(cpu) != nid)
				continue;
			if (i < SSW_EVICT_THREADS_MAX)
				WRITE_ONCE(pool->cpu[i], cpu);
			per_cpu(ssw_evict_own, cpu) = i++;
		}
		WRITE_ONCE(pool->nr_cpus, min(i, SSW_EVICT_THREADS_MAX));
		ssw_evict_cpus_of(nid, mask);
		cpumask_copy(&pool->cpus, mask);
		for (i = 0; i < SSW_EVICT_THREADS_MAX; i++) {
			struct scaleswap_evictor *ev = &pool->evictor[i];

			if (ev->task)
				set_cpus_allowed_ptr(ev->task, mask);
		}
	}
	kfree(mask);
	return 0;
}

static int ssw_evictor_start(struct scaleswap_evictor *ev)
{
	struct task_struct *task;

	if (ev->task)
		return 0;
	task = kthread_create_on_node(ssw_evictor, ev, ev->nid, "ssw_evict%d:%u", ev->nid, ev->id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ev->pipe = ssw_pipe_create(task);
	if (!ev->pipe) {
		kthread_stop(task);
		return -ENOMEM;
	}
	ev->task = task;
	wake_up_process(task);
	return 0;
}

/* Have as many evictors on each memory node as may run. */
static int ssw_evict_start(void)
{
	struct ssw_pool *pool;
	unsigned int i;
	int nid, placed, err = 0;

	lockdep_assert_held(&ssw_evict_mutex);
	for_each_node_state(nid, N_MEMORY) {
		pool = ssw_pools[nid];
		if (!pool) {
			pool = kzalloc_node(sizeof(*pool), GFP_KERNEL, nid);
			if (!pool) {
				err = -ENOMEM;
				break;
			}
			for (i = 0; i < SSW_EVICT_THREADS_MAX; i++) {
				init_waitqueue_head(&pool->evictor[i].wait);
				pool->evictor[i].nid = nid;
				pool->evictor[i].id = i;
			}
			/* Pairs with readers that do not hold the mutex. */
			smp_store_release(&ssw_pools[nid], pool);
		}
		if (!err)
			err = ssw_node_init(nid);
		for (i = 0; i < ssw_evict_threads && !err; i++)
			err = ssw_evictor_start(&pool->evictor[i]);
	}
	/* Also if not all could be started */
	placed = ssw_evict_place();
	return err ?: placed;
}

/**
 * ssw_evict_set_threads - set how many evictors a node has
 * @nr: from 0, for none, to %SSW_EVICT_THREADS_MAX
 *
 * Context: process context, may sleep.
 * Return: 0; -ENOMEM if there are fewer now.
 */
int ssw_evict_set_threads(unsigned int nr)
{
	unsigned int i;
	int nid, err;

	mutex_lock(&ssw_evict_mutex);
	ssw_evict_allow(nr);
	err = ssw_evict_start();
	wake_up_all(&ssw_evict_surplus);
	/* Those that are too many find out. */
	for_each_node(nid) {
		for (i = nr; ssw_pools[nid] && i < SSW_EVICT_THREADS_MAX; i++)
			wake_up(&ssw_pools[nid]->evictor[i].wait);
	}
	mutex_unlock(&ssw_evict_mutex);
	return err;
}

/**
 * ssw_evict_set_cpus - set the CPUs that evictors run on
 * @mask: CPUs; none for those of each evictor's node
 *
 * Context: process context, may sleep.
 * Return: 0; -EINVAL if none of them is online; -ENOMEM.
 */
int ssw_evict_set_cpus(const struct cpumask *mask)
{
	int err;

	if (!cpumask_empty(mask) && !cpumask_intersects(mask, cpu_online_mask))
		return -EINVAL;
	mutex_lock(&ssw_evict_mutex);
	cpumask_copy(&ssw_evict_cpumask, mask);
	err = ssw_evict_place();
	mutex_unlock(&ssw_evict_mutex);
	return err;
}

/**
 * ssw_evict_show_cpus - print the CPUs that evictors run on, as a list
 * @buf: a page of sysfs
 *
 * Context: process context, may sleep.
 * Return: characters printed.
 */
int ssw_evict_show_cpus(char *buf)
{
	int len;

	mutex_lock(&ssw_evict_mutex);
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(&ssw_evict_cpumask));
	mutex_unlock(&ssw_evict_mutex);
	return len;
}

static int ssw_evict_cpu_online(unsigned int cpu)
{
	mutex_lock(&ssw_evict_mutex);
	ssw_evict_place();
	mutex_unlock(&ssw_evict_mutex);
	return 0;
}

/* A node that gets its first memory gets evictors. */
static int ssw_evict_memory(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct memory_notify *arg = data;

	if (action == MEM_ONLINE && arg->status_change_nid >= 0) {
		mutex_lock(&ssw_evict_mutex);
		ssw_evict_start();
		mutex_unlock(&ssw_evict_mutex);
	}
	return NOTIFY_OK;
}

/*
 * As many evictors as CPUs, of the node that has most: all of these may swap at the same time. CPUs
 * that are not there yet are not counted, since more evictors begin earlier: ssw_node_headroom().
 */
static unsigned int __init ssw_evict_default(void)
{
	unsigned int most = 1;
	int nid;

	for_each_node_state(nid, N_MEMORY)
		most = max(most, cpumask_weight(cpumask_of_node(nid)));
	return min(most, SSW_EVICT_THREADS_MAX);
}

/**
 * ssw_evictd_init - start the pool of evictors
 *
 * Context: boot, process context.
 * Return: 0 or a negative errno; then there are fewer than there should be.
 */
int __init ssw_evictd_init(void)
{
	int err;

	err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "mm/scaleswap/evict:online",
					ssw_evict_cpu_online, NULL);
	if (err < 0)
		return err;
	hotplug_memory_notifier(ssw_evict_memory, DEFAULT_CALLBACK_PRI);
	return ssw_evict_set_threads(ssw_evict_default());
}
