// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's references on shrinkers: a shrinker is there as long as somebody
 * has a reference, on whatever CPU it was taken and dropped.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/smp.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "../../internal.h"
#include "../shrinkref.h"

/* For what has to come. A busy host may take its time. */
#define SSW_TEST_PATIENCE	(120 * HZ)
/* For what must not come. Too short a time finds less, but does not fail. */
#define SSW_TEST_MOMENT		(HZ / 20)

struct ssw_test_shrinkref {
	struct shrinker *shrinker;
	struct completion entered, leave, shrunk, freed;
	struct work_struct shrink, free;
	int got;
};

/* As a shrinker that waits for a lock. */
static unsigned long ssw_test_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ssw_test_shrinkref *t = shrinker->private_data;

	complete(&t->entered);
	wait_for_completion(&t->leave);
	return 0;
}

static unsigned long ssw_test_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	return SHRINK_STOP;
}

static void ssw_test_shrink(struct work_struct *work)
{
	struct ssw_test_shrinkref *t = container_of(work, struct ssw_test_shrinkref, shrink);
	struct mem_cgroup *root = mem_cgroup_iter(NULL, NULL, NULL);

	shrink_slab(GFP_KERNEL, 0, root, DEF_PRIORITY);
	mem_cgroup_iter_break(NULL, root);
	complete(&t->shrunk);
}

static void ssw_test_free(struct work_struct *work)
{
	struct ssw_test_shrinkref *t = container_of(work, struct ssw_test_shrinkref, free);

	shrinker_free(t->shrinker);
	complete(&t->freed);
}

static struct ssw_test_shrinkref *ssw_test_shrinkref(struct kunit *test)
{
	struct ssw_test_shrinkref *t;

	/* The base kernel gives references out as long as there is one. */
	if (!scaleswap_on())
		kunit_skip(test, "ScaleSwap is off");
	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	init_completion(&t->entered);
	init_completion(&t->leave);
	init_completion(&t->shrunk);
	init_completion(&t->freed);
	INIT_WORK(&t->shrink, ssw_test_shrink);
	INIT_WORK(&t->free, ssw_test_free);
	t->shrinker = shrinker_alloc(0, "scaleswap-kunit");
	KUNIT_ASSERT_NOT_NULL(test, t->shrinker);
	t->shrinker->count_objects = ssw_test_count;
	t->shrinker->scan_objects = ssw_test_scan;
	t->shrinker->private_data = t;
	return t;
}

static int ssw_test_get(void *data)
{
	struct ssw_test_shrinkref *t = data;

	rcu_read_lock();
	t->got += scaleswap_shrinker_try_get(t->shrinker);
	rcu_read_unlock();
	return 0;
}

static int ssw_test_put(void *data)
{
	struct ssw_test_shrinkref *t = data;

	scaleswap_shrinker_put(t->shrinker);
	return 0;
}

/* The caller has a reference, so the shrinker is there. Wait until it gives out no more. */
static bool ssw_test_gives_no_more(struct ssw_test_shrinkref *t)
{
	unsigned long end = jiffies + SSW_TEST_PATIENCE;

	while (time_before(jiffies, end)) {
		t->got = 0;
		ssw_test_get(t);
		if (!t->got)
			return true;
		ssw_test_put(t);
		usleep_range(1000, 2000);
	}
	return false;
}

/* References are given out from registration on. They may be dropped on another CPU. */
static void ssw_test_shrinkref_cpus(struct kunit *test)
{
	struct ssw_test_shrinkref *t = ssw_test_shrinkref(test);
	int cpu, nr = 0;

	ssw_test_get(t);
	KUNIT_EXPECT_EQ_MSG(test, t->got, 0, "a reference before the shrinker is registered");
	shrinker_register(t->shrinker);
	/* So that no reclaim of this guest waits. */
	complete_all(&t->leave);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(cpu, ssw_test_get, t, false), 0);
		KUNIT_EXPECT_EQ(test, t->got, ++nr);
	}
	queue_work(system_unbound_wq, &t->free);
	KUNIT_EXPECT_TRUE(test, ssw_test_gives_no_more(t));
	for (; nr; nr--) {
		KUNIT_EXPECT_EQ_MSG(test, wait_for_completion_timeout(&t->freed, SSW_TEST_MOMENT),
				    0, "freed with %d references", nr);
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(cpumask_first(cpu_online_mask),
						      ssw_test_put, t, false), 0);
	}
	KUNIT_EXPECT_NE_MSG(test, wait_for_completion_timeout(&t->freed, SSW_TEST_PATIENCE), 0,
			    "not freed without references");
}

/* shrinker_free() waits for a callback that runs. */
static void ssw_test_shrinkref_callback(struct kunit *test)
{
	struct ssw_test_shrinkref *t = ssw_test_shrinkref(test);

	shrinker_register(t->shrinker);
	queue_work(system_unbound_wq, &t->shrink);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&t->entered, SSW_TEST_PATIENCE), 0);
	queue_work(system_unbound_wq, &t->free);
	KUNIT_EXPECT_TRUE(test, ssw_test_gives_no_more(t));
	KUNIT_EXPECT_EQ_MSG(test, wait_for_completion_timeout(&t->freed, SSW_TEST_MOMENT), 0,
			    "freed while a callback runs");
	complete_all(&t->leave);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&t->shrunk, SSW_TEST_PATIENCE), 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&t->freed, SSW_TEST_PATIENCE), 0);
}

/* What a CPU has counted stays in the sum while it is offline. */
static void ssw_test_shrinkref_offline(struct kunit *test)
{
	struct ssw_test_shrinkref *t = ssw_test_shrinkref(test);
	int first = cpumask_first(cpu_online_mask), last = cpumask_last(cpu_online_mask);
	bool gone;

	if (first == last || !cpu_is_hotpluggable(last)) {
		shrinker_free(t->shrinker);
		kunit_skip(test, "no CPU can go offline");
	}
	shrinker_register(t->shrinker);
	/* So that no reclaim of this guest waits. */
	complete_all(&t->leave);
	/* Two are taken on that CPU, and one is dropped on it. */
	for (int i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(last, ssw_test_get, t, false), 0);
	KUNIT_EXPECT_EQ(test, t->got, 2);
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(last, ssw_test_put, t, false), 0);
	gone = !remove_cpu(last);
	KUNIT_EXPECT_TRUE_MSG(test, gone, "CPU %d stays", last);
	queue_work(system_unbound_wq, &t->free);
	KUNIT_EXPECT_TRUE(test, ssw_test_gives_no_more(t));
	KUNIT_EXPECT_EQ_MSG(test, wait_for_completion_timeout(&t->freed, SSW_TEST_MOMENT), 0,
			    "freed with a reference of CPU %d", last);
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(first, ssw_test_put, t, false), 0);
	KUNIT_EXPECT_NE_MSG(test, wait_for_completion_timeout(&t->freed, SSW_TEST_PATIENCE), 0,
			    "not freed without references");
	if (gone)
		KUNIT_EXPECT_EQ(test, add_cpu(last), 0);
}

struct ssw_test_waker {
	struct wait_bit_queue_entry entry;
	struct task_struct *task;
	void *var;
	int preempt, nr;
};

/* As somebody who waits for the sum: in which context is it woken, and how often? */
static int ssw_test_woken(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct ssw_test_waker *w = container_of(entry, struct ssw_test_waker, entry.wq_entry);

	/* Reclaim of this guest may take references and take them back. */
	if (((struct wait_bit_key *)key)->flags == w->var && current == w->task) {
		w->preempt = preempt_count();
		w->nr++;
	}
	return 0;
}

/* A reference that is dropped, and one that is taken back, wake; that takes a sleeping lock. */
static void ssw_test_shrinkref_wake(struct kunit *test)
{
	struct ssw_test_shrinkref *t = ssw_test_shrinkref(test);
	struct ssw_test_waker w = { .task = current, .var = t->shrinker };
	wait_queue_head_t *queue = __var_waitqueue(t->shrinker);
	int preempt;

	shrinker_register(t->shrinker);
	complete_all(&t->leave);
	ssw_test_get(t);
	queue_work(system_unbound_wq, &t->free);
	KUNIT_EXPECT_TRUE(test, ssw_test_gives_no_more(t));

	init_wait_var_entry(&w.entry, t->shrinker, 0);
	w.entry.wq_entry.func = ssw_test_woken;
	add_wait_queue(queue, &w.entry.wq_entry);
	rcu_read_lock();
	wake_up_var(t->shrinker);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, w.nr, 1);
	preempt = w.preempt;
	w.nr = 0;
	t->got = 0;
	ssw_test_get(t);
	KUNIT_EXPECT_EQ(test, t->got, 0);
	KUNIT_EXPECT_EQ_MSG(test, w.nr, 1, "not woken by a reference that is taken back");
	KUNIT_EXPECT_EQ_MSG(test, w.preempt, preempt, "woken with preemption off");
	w.nr = 0;
	ssw_test_put(t);
	KUNIT_EXPECT_EQ_MSG(test, w.nr, 1, "not woken by a reference that is dropped");
	KUNIT_EXPECT_EQ_MSG(test, w.preempt, preempt, "woken with preemption off");
	remove_wait_queue(queue, &w.entry.wq_entry);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&t->freed, SSW_TEST_PATIENCE), 0);
}

static struct kunit_case ssw_test_shrinkref_cases[] = {
	KUNIT_CASE(ssw_test_shrinkref_cpus),
	KUNIT_CASE(ssw_test_shrinkref_callback),
	KUNIT_CASE(ssw_test_shrinkref_offline),
	KUNIT_CASE(ssw_test_shrinkref_wake),
	{}
};

static struct kunit_suite ssw_test_shrinkref_suite = {
	.name = "scaleswap_shrinkref",
	.test_cases = ssw_test_shrinkref_cases,
};

kunit_test_suite(ssw_test_shrinkref_suite);
