// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of evictors: how many there are, how much room they leave, how they end a walk.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "../evict.h"

/* A 256th of the limit at first, within bounds, and a 32nd at most. */
static void ssw_test_headroom_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, 256, false), 16);
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, 4096, false), 16);
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, 32768, false), 128);
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, 1UL << 21, false), 8192);
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, 1UL << 30, false), 8192);
	KUNIT_EXPECT_EQ(test, ssw_headroom(0, LONG_MAX / PAGE_SIZE, true), 8192);
	KUNIT_EXPECT_EQ(test, ssw_headroom(1 << 20, LONG_MAX / PAGE_SIZE, true), 131072);
}

/* It grows while tasks wait, to eight times that, and shrinks again when none does. */
static void ssw_test_headroom_follows(struct kunit *test)
{
	const unsigned long limit = 1UL << 16;
	unsigned int was, part, h = ssw_headroom(0, limit, false);

	for (part = 256; part > 32; part /= 2) {
		KUNIT_EXPECT_EQ(test, h, limit / part);
		h = ssw_headroom(h, limit, true);
	}
	KUNIT_EXPECT_EQ(test, h, limit / 32);
	KUNIT_EXPECT_EQ(test, ssw_headroom(h, limit, true), limit / 32);
	do {
		was = h;
		h = ssw_headroom(h, limit, false);
		KUNIT_EXPECT_LE(test, h, was);
	} while (h < was);
	KUNIT_EXPECT_EQ(test, h, limit / 256);
	/* The limit was lowered. */
	KUNIT_EXPECT_EQ(test, ssw_headroom(limit / 32, 1024, false), 32);
	/* Small limits have what is needed for a batch of a task or two, at most a sixteenth. */
	KUNIT_EXPECT_EQ(test, ssw_headroom(16, 512, true), 16);
}

/*
 * Evictors evict as much as is worth the flush of TLBs each time, and leave no more free than
 * programs count on that have a limit: test_memcg_swap_max_peak wants 94 % of it.
 */
static void ssw_test_headroom_end(struct kunit *test)
{
	unsigned long limit;
	unsigned int h, i;

	KUNIT_EXPECT_EQ(test, ssw_headroom_end(16), 32);
	KUNIT_EXPECT_EQ(test, ssw_headroom_end(64), 128);
	KUNIT_EXPECT_EQ(test, ssw_headroom_end(100), 164);
	KUNIT_EXPECT_EQ(test, ssw_headroom_end(240), 360);
	KUNIT_EXPECT_EQ(test, ssw_headroom_end(131072), 131072 + SSW_BATCH_PAGES);
	for (limit = 4096; limit < 1UL << 24; limit += limit / 8) {
		h = ssw_headroom(0, limit, false);
		for (i = 0; i < 8; i++, h = ssw_headroom(h, limit, true))
			KUNIT_ASSERT_LE(test, ssw_headroom_end(h), limit * 3 / 64);
	}
}

/* As much as tasks that wait charge, but many tasks do not have a small group evicted. */
static void ssw_test_demand(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(0, 32768), 0);
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(1, 32768), SWAP_CLUSTER_MAX);
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(64, 32768), 64 * SWAP_CLUSTER_MAX);
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(65, 32768), 2048);
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(64, 256), 16);
	KUNIT_EXPECT_EQ(test, ssw_evict_demand(1 << 20, 1UL << 30), 1UL << 25);
}

/* All stocks are at most half of the headroom, or a page each. */
static void ssw_test_charge_batch(struct kunit *test)
{
	unsigned int cpus, h;

	KUNIT_EXPECT_EQ(test, ssw_charge_batch(8192, 64), MEMCG_CHARGE_BATCH);
	KUNIT_EXPECT_EQ(test, ssw_charge_batch(4096, 64), MEMCG_CHARGE_BATCH / 2);
	KUNIT_EXPECT_EQ(test, ssw_charge_batch(131072, 1), MEMCG_CHARGE_BATCH);
	KUNIT_EXPECT_EQ(test, ssw_charge_batch(16, 0), 8);
	KUNIT_EXPECT_EQ(test, ssw_charge_batch(16, 64), 1);
	for (h = 16; h <= 131072; h += h / 8) {
		for (cpus = 1; cpus <= 4096; cpus *= 2) {
			KUNIT_ASSERT_GE(test, ssw_charge_batch(h, cpus), 1);
			KUNIT_ASSERT_LE(test, ssw_charge_batch(h, cpus) * cpus, max(h / 2, cpus));
		}
	}
}

/* One evictor has large batches. Others come as the headroom is used up, not at once. */
static void ssw_test_evictors(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(256, 64, 1), 1);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(4096, 64, 1), 8);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(1UL << 20, 64, 1), 64);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(1UL << 20, 4, 1), 4);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(1UL << 20, 4, 2), 8);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(1UL << 20, 64, 2), 64);
	KUNIT_EXPECT_EQ(test, ssw_evictors_of(1UL << 20, 0, 1), 1);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 1000), 1);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 97), 1);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 96), 2);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 65), 3);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 64), 4);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 128, 0), 4);
	KUNIT_EXPECT_EQ(test, ssw_evictors_for(4, 0, 0), 1);
}

/* KUnit runs in a kernel thread: it does not wait instead of reclaim, but before it kills. */
static void ssw_test_who_waits(struct kunit *test)
{
	unsigned int flags;

	KUNIT_EXPECT_FALSE(test, ssw_evict_may_wait(GFP_KERNEL, false));
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_wait(GFP_KERNEL, true));
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_wait(GFP_NOIO, true));
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_wait(GFP_KERNEL | __GFP_NORETRY, true));
	flags = memalloc_noreclaim_save();
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_wait(GFP_KERNEL, true));
	memalloc_noreclaim_restore(flags);
}

/* Evictors of a node stay below its low watermarks while nobody waits. */
static void ssw_test_node_below_low(struct kunit *test)
{
	unsigned long gap;
	unsigned int n;

	for (gap = 0; gap < 1UL << 20; gap += 1 + gap / 8) {
		for (n = 1; n <= SSW_EVICT_THREADS_MAX; n++)
			KUNIT_ASSERT_LE(test, ssw_node_headroom(gap, n) + ssw_node_above(gap, 0),
					gap);
	}
	KUNIT_EXPECT_EQ(test, ssw_node_headroom(1 << 20, 1), 512);
	KUNIT_EXPECT_EQ(test, ssw_node_headroom(1 << 20, 64), 8192);
	KUNIT_EXPECT_EQ(test, ssw_node_above(1 << 20, 0), 512);
}

/* Each task that waits is to have as much as it would reclaim, however small the watermarks are. */
static void ssw_test_node_waiting(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ssw_node_above(0, 16), 512);
	KUNIT_EXPECT_EQ(test, ssw_node_above(1 << 20, 64) - ssw_node_above(1 << 20, 0), 2048);
}

struct ssw_test_walk {
	atomic_t evictors;
	struct completion ended;
};

static int ssw_test_walker(void *arg)
{
	struct ssw_test_walk *walk = arg;

	ssw_walk_leave(&walk->evictors, MAX_SCHEDULE_TIMEOUT);
	complete(&walk->ended);
	return 0;
}

/* Who is done with its part of a walk goes on when the other one is, too, and not before. */
static void ssw_test_walk_together(struct kunit *test)
{
	struct ssw_test_walk walk = { .evictors = ATOMIC_INIT(2) };
	struct task_struct *first;

	init_completion(&walk.ended);
	first = kthread_create(ssw_test_walker, &walk, "ssw_test_walk");
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	get_task_struct(first);
	wake_up_process(first);
	while (!completion_done(&walk.ended) &&
	       (atomic_read(&walk.evictors) != 1 || READ_ONCE(first->__state) == TASK_RUNNING))
		usleep_range(100, 200);
	KUNIT_EXPECT_FALSE(test, completion_done(&walk.ended));
	KUNIT_EXPECT_TRUE(test, ssw_walk_leave(&walk.evictors, MAX_SCHEDULE_TIMEOUT));
	wait_for_completion(&walk.ended);
	put_task_struct(first);
	KUNIT_EXPECT_EQ(test, atomic_read(&walk.evictors), 0);
	KUNIT_EXPECT_TRUE(test, ssw_walk_wait(&walk.evictors, 1));
}

/* One that takes too long does not stop others for good. */
static void ssw_test_walk_is_left(struct kunit *test)
{
	atomic_t evictors = ATOMIC_INIT(2);

	KUNIT_EXPECT_FALSE(test, ssw_walk_leave(&evictors, 1));
	KUNIT_EXPECT_FALSE(test, ssw_walk_wait(&evictors, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&evictors), 1);
}

/* A walk right after another one is of no use. */
static void ssw_test_walk_is_new(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ssw_walk_is_new(0, 0));
	KUNIT_EXPECT_TRUE(test, ssw_walk_is_new(SWAP_CLUSTER_MAX - 1, SSW_WALK_NEW));
	/* Pages have come since, or time has passed in which pages may have been used. */
	KUNIT_EXPECT_FALSE(test, ssw_walk_is_new(SWAP_CLUSTER_MAX, 0));
	KUNIT_EXPECT_FALSE(test, ssw_walk_is_new(0, SSW_WALK_NEW + 1));
}

/* Each CPU is looked at once, and not the own one; of few, all others are. */
static void ssw_test_spare(struct kunit *test)
{
	for (unsigned int nr = 0; nr <= SSW_EVICT_THREADS_MAX; nr++) {
		unsigned int tries = ssw_spare_tries(nr), own = nr / 3;
		DECLARE_BITMAP(seen, SSW_EVICT_THREADS_MAX) = {};

		KUNIT_EXPECT_EQ(test, tries, nr ? min(nr - 1, SSW_SPARE_TRIES) : 0);
		for (unsigned int i = 1; i <= tries; i++) {
			unsigned int id = ssw_spare_id(own, i, nr);

			KUNIT_ASSERT_LT(test, id, nr);
			KUNIT_EXPECT_NE_MSG(test, id, own, "of %u CPUs", nr);
			KUNIT_EXPECT_FALSE(test, __test_and_set_bit(id, seen));
		}
	}
}

/* Which evictor is about to come is for others to respect, for as long as it is prompt. */
static void ssw_test_expected(struct kunit *test)
{
	struct scaleswap_evict_target t = { .nid = NUMA_NO_NODE }, other = t;
	struct scaleswap_evictor own = { .id = 1 }, ev = { .id = 0 };

	/* Nobody was woken */
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
	/* One was woken for this, and has not come yet: it may itself look for any. */
	t.woken = &own;
	own.wanted = &t;
	own.since = jiffies + HZ;
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_help(&t, &ev, false, 2));
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_help(&t, &ev, true, 2));
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &own, false, 2));
	/* It is one too many */
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 1));
	/* It gets no CPU */
	own.since = jiffies - 2 * SSW_PROMPT;
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
	/* It looks for more to do */
	own.since = jiffies + HZ;
	own.wanted = NULL;
	KUNIT_EXPECT_FALSE(test, ssw_evict_may_help(&t, &ev, true, 2));
	/* It has something else, or was woken for that, or is idle */
	own.target = &other;
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
	own.target = NULL;
	own.wanted = &other;
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
	own.wanted = SSW_EVICTOR_IDLE;
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
}

/* Where another evictor is at work, one helps that has nothing else on its CPU, or was there. */
static void ssw_test_help(struct kunit *test)
{
	struct scaleswap_evict_target t = { .nid = NUMA_NO_NODE, .evictors = 1 };
	struct scaleswap_evictor ev = { .id = 2 };

	KUNIT_EXPECT_FALSE(test, ssw_evict_may_help(&t, &ev, false, 2));
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, true, 2));
	ev.last = &t;
	KUNIT_EXPECT_TRUE(test, ssw_evict_may_help(&t, &ev, false, 2));
}

/* A task waits for a batch, but if others have taken that, for what it needs alone. */
static void ssw_test_room(struct kunit *test)
{
	struct mem_cgroup *memcg = kunit_kzalloc(test, sizeof(*memcg), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memcg);
	memcg->memory.max = 1 << 16;
	memcg->memory.high = PAGE_COUNTER_MAX;
	KUNIT_EXPECT_EQ(test, ssw_evict_room(memcg, 1, false), SWAP_CLUSTER_MAX);
	KUNIT_EXPECT_EQ(test, ssw_evict_room(memcg, 100, false), 100);
	KUNIT_EXPECT_EQ(test, ssw_evict_room(memcg, 1, true), 1);
	KUNIT_EXPECT_EQ(test, ssw_evict_room(memcg, 100, true), 100);
}

static struct kunit_case ssw_evict_cases[] = {
	KUNIT_CASE(ssw_test_headroom_first),
	KUNIT_CASE(ssw_test_headroom_follows),
	KUNIT_CASE(ssw_test_headroom_end),
	KUNIT_CASE(ssw_test_demand),
	KUNIT_CASE(ssw_test_charge_batch),
	KUNIT_CASE(ssw_test_evictors),
	KUNIT_CASE(ssw_test_who_waits),
	KUNIT_CASE(ssw_test_node_below_low),
	KUNIT_CASE(ssw_test_node_waiting),
	KUNIT_CASE(ssw_test_spare),
	KUNIT_CASE(ssw_test_room),
	KUNIT_CASE(ssw_test_expected),
	KUNIT_CASE(ssw_test_help),
	KUNIT_CASE(ssw_test_walk_together),
	KUNIT_CASE(ssw_test_walk_is_left),
	KUNIT_CASE(ssw_test_walk_is_new),
	{}
};

static struct kunit_suite ssw_evict_suite = {
	.name = "scaleswap_evict",
	.test_cases = ssw_evict_cases,
};

kunit_test_suite(ssw_evict_suite);
