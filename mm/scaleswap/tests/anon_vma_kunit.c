// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of down_read_trylock_once(), by which reclaim locks an anon_vma: readers do not keep
 * each other out, writers do, and no writer waits for a reader that has failed. Nor do readers
 * that would fail keep a writer out.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/osq_lock.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>

#include "../anon_vma.h"

/* For what has to come. A busy host may take its time. */
#define SSW_TEST_PATIENCE	(120 * HZ)
#define SSW_TEST_READERS	3
#define SSW_TEST_WRITES		400
#define SSW_TEST_LOOKS		400
#define SSW_TEST_LOOK_EVERY	ns_to_ktime(200 * NSEC_PER_USEC)

struct ssw_test_rwsem {
	struct anon_vma root;
	struct completion waits, wrote, done;
	atomic_t left;
	bool stop;
	/* Two that writers change one after the other, and what readers found. */
	unsigned int first, second;
	atomic_t torn;
	/* How often an interrupt looked at the lock, and saw another count than this. */
	struct hrtimer look;
	long count;
	atomic_t looked, saw;
};

static struct ssw_test_rwsem *ssw_test_rwsem(struct kunit *test)
{
	struct ssw_test_rwsem *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	init_rwsem(&t->root.rwsem);
	init_completion(&t->waits);
	init_completion(&t->wrote);
	init_completion(&t->done);
	return t;
}

/* Somebody has it for reading, or for writing, or nobody. */
static void ssw_test_rwsem_alone(struct kunit *test)
{
	struct ssw_test_rwsem *t = ssw_test_rwsem(test);

	KUNIT_ASSERT_EQ(test, down_read_trylock_once(&t->root.rwsem), 1);
	KUNIT_EXPECT_EQ(test, down_write_trylock(&t->root.rwsem), 0);
	KUNIT_ASSERT_EQ(test, down_read_trylock_once(&t->root.rwsem), 1);
	up_read(&t->root.rwsem);
	KUNIT_EXPECT_EQ(test, down_write_trylock(&t->root.rwsem), 0);
	up_read(&t->root.rwsem);

	KUNIT_ASSERT_EQ(test, down_write_trylock(&t->root.rwsem), 1);
	for (int i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, down_read_trylock_once(&t->root.rwsem), 0);
	up_write(&t->root.rwsem);
	/* Those that failed have left nothing behind. */
	KUNIT_ASSERT_EQ(test, down_write_trylock(&t->root.rwsem), 1);
	up_write(&t->root.rwsem);
	KUNIT_EXPECT_FALSE(test, rwsem_is_locked(&t->root.rwsem));
}

static int ssw_test_write_once(void *arg)
{
	struct ssw_test_rwsem *t = arg;

	complete(&t->waits);
	down_write(&t->root.rwsem);
	up_write(&t->root.rwsem);
	complete(&t->wrote);
	return 0;
}

/* A writer that waits comes next. */
static void ssw_test_rwsem_waiter(struct kunit *test)
{
	struct ssw_test_rwsem *t = ssw_test_rwsem(test);
	struct task_struct *writer;
	unsigned long end = jiffies + SSW_TEST_PATIENCE;
	int got;

	KUNIT_ASSERT_EQ(test, down_read_trylock_once(&t->root.rwsem), 1);
	writer = kthread_run(ssw_test_write_once, t, "ssw_test_rwsem");
	if (IS_ERR(writer)) {
		up_read(&t->root.rwsem);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	wait_for_completion(&t->waits);
	while ((got = down_read_trylock_once(&t->root.rwsem)) && time_before(jiffies, end)) {
		up_read(&t->root.rwsem);
		msleep(20);
	}
	KUNIT_EXPECT_EQ_MSG(test, got, 0, "readers come before a writer that waits");
	if (got)
		up_read(&t->root.rwsem);
	up_read(&t->root.rwsem);
	KUNIT_EXPECT_NE_MSG(test, wait_for_completion_timeout(&t->wrote, SSW_TEST_PATIENCE), 0,
			    "the writer still waits");
}

static int ssw_test_read(void *arg)
{
	struct ssw_test_rwsem *t = arg;

	while (!READ_ONCE(t->stop)) {
		if (down_read_trylock_once(&t->root.rwsem)) {
			if (READ_ONCE(t->first) != READ_ONCE(t->second))
				atomic_inc(&t->torn);
			up_read(&t->root.rwsem);
		}
		cond_resched();
	}
	if (atomic_dec_and_test(&t->left))
		complete(&t->done);
	return 0;
}

static int ssw_test_write(void *arg)
{
	struct ssw_test_rwsem *t = arg;

	for (int i = 0; i < SSW_TEST_WRITES; i++) {
		down_write(&t->root.rwsem);
		WRITE_ONCE(t->first, t->first + 1);
		cond_resched();
		WRITE_ONCE(t->second, t->second + 1);
		up_write(&t->root.rwsem);
		cond_resched();
	}
	complete(&t->wrote);
	return 0;
}

/* With readers that mostly fail, a writer gets through, and is alone. */
static void ssw_test_rwsem_stress(struct kunit *test)
{
	struct ssw_test_rwsem *t = ssw_test_rwsem(test);
	bool wrote = false;
	int readers = 0;

	for (int i = 0; i < SSW_TEST_READERS; i++)
		readers += !IS_ERR(kthread_run(ssw_test_read, t, "ssw_test_rwsem"));
	/* None of them ends before it is told to, so the last one sees the number of all. */
	atomic_set(&t->left, readers);
	if (!IS_ERR(kthread_run(ssw_test_write, t, "ssw_test_rwsem")))
		wrote = wait_for_completion_timeout(&t->wrote, SSW_TEST_PATIENCE);
	WRITE_ONCE(t->stop, true);
	/* Not by what is left: the last one may be about to complete it. */
	if (readers)
		wait_for_completion(&t->done);
	KUNIT_EXPECT_TRUE_MSG(test, wrote, "a writer waits");
	KUNIT_EXPECT_EQ(test, atomic_read(&t->torn), 0);
	if (wrote)
		KUNIT_EXPECT_FALSE(test, rwsem_is_locked(&t->root.rwsem));
}

static long ssw_test_count(struct ssw_test_rwsem *t)
{
#ifdef CONFIG_PREEMPT_RT
	return atomic_read(&t->root.rwsem.rwbase.readers);
#else
	return atomic_long_read(&t->root.rwsem.count);
#endif
}

static enum hrtimer_restart ssw_test_look(struct hrtimer *timer)
{
	struct ssw_test_rwsem *t = container_of(timer, struct ssw_test_rwsem, look);

	if (ssw_test_count(t) != t->count)
		atomic_inc(&t->saw);
	atomic_inc(&t->looked);
	hrtimer_forward_now(timer, SSW_TEST_LOOK_EVERY);
	return HRTIMER_RESTART;
}

/*
 * Reclaim that does not wait for the lock tries again with the next page. A writer that waits gets
 * the lock in an instant without readers, and with many CPUs that try there is none, if those that
 * fail are readers meanwhile. An interrupt sees it between the two writes of such a try.
 */
static void ssw_test_rwsem_quiet(struct kunit *test)
{
	struct ssw_test_rwsem *t = ssw_test_rwsem(test);
	unsigned long end = jiffies + SSW_TEST_PATIENCE;
	struct task_struct *writer;
	int got = 0;

	down_read(&t->root.rwsem);
	writer = kthread_run(ssw_test_write_once, t, "ssw_test_rwsem");
	if (IS_ERR(writer)) {
		up_read(&t->root.rwsem);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	/* It has counted itself when it sleeps for the lock. */
	while (!(rwsem_is_contended(&t->root.rwsem) &&
		 wait_task_inactive(writer, TASK_UNINTERRUPTIBLE)) && time_before(jiffies, end))
		msleep(20);
	t->count = ssw_test_count(t);
	hrtimer_init(&t->look, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	t->look.function = ssw_test_look;
	hrtimer_start(&t->look, SSW_TEST_LOOK_EVERY, HRTIMER_MODE_REL_HARD);
	while (!got && atomic_read(&t->looked) < SSW_TEST_LOOKS && time_before(jiffies, end)) {
		rcu_read_lock();
		for (int i = 0; i < 1000 && !got; i++)
			got = scaleswap_anon_vma_trylock(&t->root);
		rcu_read_unlock();
		cond_resched();
	}
	hrtimer_cancel(&t->look);
	KUNIT_EXPECT_EQ_MSG(test, got, 0, "a reader came before a writer that waits");
	KUNIT_EXPECT_GE(test, atomic_read(&t->looked), SSW_TEST_LOOKS);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&t->saw), 0, "tries that fail are readers");
	if (got)
		up_read(&t->root.rwsem);
	up_read(&t->root.rwsem);
	KUNIT_EXPECT_NE_MSG(test, wait_for_completion_timeout(&t->wrote, SSW_TEST_PATIENCE), 0,
			    "the writer still waits");
}

/* Nor does reclaim come before a writer that spins. */
static void ssw_test_rwsem_spinner(struct kunit *test)
{
#if defined(CONFIG_RWSEM_SPIN_ON_OWNER) && !defined(CONFIG_PREEMPT_RT)
	struct ssw_test_rwsem *t = ssw_test_rwsem(test);
	int beside, after;

	if (!scaleswap_on())
		kunit_skip(test, "ScaleSwap is off");
	rcu_read_lock();
	preempt_disable();
	KUNIT_EXPECT_TRUE(test, osq_lock(&t->root.rwsem.osq));
	beside = scaleswap_anon_vma_trylock(&t->root);
	osq_unlock(&t->root.rwsem.osq);
	preempt_enable();
	after = scaleswap_anon_vma_trylock(&t->root);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, beside, 0);
	KUNIT_EXPECT_EQ(test, after, 1);
	for (int i = 0; i < beside + after; i++)
		up_read(&t->root.rwsem);
#else
	kunit_skip(test, "writers do not spin");
#endif
}

static struct kunit_case ssw_test_rwsem_cases[] = {
	KUNIT_CASE(ssw_test_rwsem_alone),
	KUNIT_CASE(ssw_test_rwsem_waiter),
	KUNIT_CASE(ssw_test_rwsem_quiet),
	KUNIT_CASE(ssw_test_rwsem_spinner),
	KUNIT_CASE(ssw_test_rwsem_stress),
	{}
};

static struct kunit_suite ssw_test_rwsem_suite = {
	.name = "scaleswap_anon_vma",
	.test_cases = ssw_test_rwsem_cases,
};

kunit_test_suite(ssw_test_rwsem_suite);
