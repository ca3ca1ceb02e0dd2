// SPDX-License-Identifier: GPL-2.0
/*
 * Who takes the room that evictors leave below a cgroup's limit: CPUs that stock charges, which are
 * not to take most of it, and tasks that wait. Whether a new limit is reached where evictors were.
 * And whether a task of a small group waits for a slow device.
 */
#include <fcntl.h>

#include "dm_util.h"
#include "evict_harness.h"
#include "fault_util.h"

#define GEN	"/sys/kernel/mm/lru_gen/enabled"
#define GROUP	"ssw-stock"
#define CHILD	GROUP "/below"
#define BATCH	64	/* what a CPU charges at a time where it may */
#define CLUSTER	32	/* what an evictor isolates at a time */

FIXTURE(evict_stock) { long long threads, wait_ms; bool generations; };

FIXTURE_SETUP(evict_stock)
{
	const char *why = pool_start("2", &self->threads);

	self->wait_ms = ssw_num(EVICT "wait_ms");
	self->generations = ssw_generations();
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(evict_stock)
{
	put("threads", self->threads);
	put("wait_ms", self->wait_ms);
	ssw_write(GEN, self->generations ? "y" : "n");
	if (!access(SSW_CG "/" CHILD, F_OK))
		cg_remove(CHILD);
	if (!access(SSW_CG "/" GROUP, F_OK))
		cg_remove(GROUP);
	ssw_end();
	fault_nullb_gone();
	dm_gone();
}

static long usage(int fd)
{
	char val[24] = "";

	return pread(fd, val, sizeof(val) - 1, 0) > 0 ? atol(val) / (long)SSW_PAGE : -1;
}

/* Have a process on a CPU write a page of its own at a time. Return the most that one charged. */
static long largest_charge(const char *group, int cpu)
{
	const int pages = 2 * BATCH + 20;
	volatile long *most = ssw_shared(sizeof(*most));
	char path[128];
	int fd, status;
	pid_t pid;

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.current", group);
	/* What it needs to be read is charged to this process, at the first time. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	usage(fd);
	pid = ssw_fork();
	if (!pid) {
		long was;
		char *p;

		if (cg_move(group, getpid()))
			_exit(9);
		ssw_pin(cpu);
		p = ssw_map(pages, false);
		for (int i = 0; p && i < pages; i++) {
			was = usage(fd);
			p[i * SSW_PAGE] = 1;
			was = usage(fd) - was;
			/* The first ones are also for its page tables. */
			if (i > 8 && was > *most)
				*most = was;
		}
		_exit(p ? 0 : 8);
	}
	status = ssw_join(pid);
	close(fd);
	return status ? -1 : *most;
}

/* On four CPUs, when all of them have a shard. */
static void expect_charges(struct __test_metadata *_metadata, const char *group, long least,
			   long most)
{
	for (int round = 0; round < 2; round++) {
		for (int cpu = 0; cpu < 4; cpu++) {
			long n = largest_charge(group, cpu);

			TH_LOG("%s, CPU %d: up to %ld pages at a time", group, cpu, n);
			ASSERT_LT(0, n);
			if (!round)
				continue;
			EXPECT_LE(least, n);
			EXPECT_GE(most, n);
		}
	}
}

/* All CPUs stock a 64th of a limit at most, also of one above, or of memory.high. */
SSW_BODY(evict_stock, small_limits)
{
	const long limit = 2048, part = limit / 64 / 4;

	if (sysconf(_SC_NPROCESSORS_ONLN) != 4)
		SKIP(return, "for four CPUs");
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_write(SSW_CG "/" GROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, cg_make(CHILD));
	/* It has all memory that there is to have. */
	expect_charges(_metadata, CHILD, BATCH, BATCH + 1);
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", limit * SSW_PAGE));
	expect_charges(_metadata, CHILD, 2, part + 1);
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", limit / 2 * SSW_PAGE));
	expect_charges(_metadata, CHILD, 2, part / 2 + 1);
	/* Without evictors a group is at its limit, and has none. */
	put("threads", 0);
	expect_charges(_metadata, CHILD, BATCH, BATCH + 1);
	EXPECT_EQ(0, cg_remove(CHILD));
	EXPECT_EQ(0, cg_remove(GROUP));
}

/*
 * Have a process charge some pages on a CPU where nothing else charges any, and end on another one.
 * Return its exit status.
 */
static int charge_and_leave(const char *group, int cpu, int pages)
{
	pid_t pid = ssw_fork();

	if (!pid) {
		char *p;

		ssw_pin(cpu);
		if (cg_move(group, getpid()))
			_exit(9);
		p = ssw_map(pages, false);
		for (int i = 0; p && i < pages; i++)
			p[i * SSW_PAGE] = 1;
		ssw_pin(0);
		_exit(p ? 0 : 8);
	}
	return ssw_join(pid);
}

/* A stock has a reference to its group, also when no pages are left in it. */
SSW_BODY(evict_stock, removed)
{
	const char *key = "nr_dying_subsys_memory";
	long long was = ssw_proc_num(SSW_CG "/cgroup.stat", key), now = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	for (int pages = 1; pages <= 32; pages++) {
		ASSERT_EQ(0, cg_make(GROUP));
		ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", 1024 * SSW_PAGE));
		ASSERT_EQ(0, charge_and_leave(GROUP, 1, pages));
		/* Or pages stay that CPU 1 has not put on their lists yet. */
		ASSERT_EQ(0, ssw_write("/proc/sys/vm/drop_caches", "1"));
		ASSERT_EQ(0, cg_remove(GROUP));
		ssw_for_looks(i) {
			now = ssw_proc_num(SSW_CG "/cgroup.stat", key);
			if (now <= was)
				break;
			usleep(20000);
		}
		ASSERT_GE(was, now) TH_LOG("a group that charged %d pages is not freed", pages);
	}
}

/*
 * The device stalls, so an evictor holds as many pages as it is to evict: with tasks that wait
 * these are more than the headroom. A 32nd of the limit and 64 pages are the most that this may be,
 * and one isolation more. The tasks are to take 32 pages each, a 16th of the limit all together.
 */
SSW_BODY(evict_stock, tasks_that_wait)
{
	const long max = 4096, headroom = max / 32 + 64 + CLUSTER - 1;
	volatile int *stamped = ssw_shared(sizeof(*stamped));
	long long late, held;
	char dev[32];
	pid_t pid[12];
	int err;

	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	err = dm_linear(ssw_bdev(0), 128 << 20 >> 9, dev, sizeof(dev));
	if (err)
		SKIP(return, "no dm-linear over a spare device (%s)", strerror(-err));
	ASSERT_EQ(0, ssw_mkswap(dev, 4 * max));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	put("threads", 1);
	ASSERT_EQ(0, ssw_write(EVICT "wait_ms", PATIENT));
	late = counter("late");
	held = counter("held");
	ASSERT_EQ(0, dm_suspend(true));
	/* None ends before all have their pages. */
	*stamped = 12;
	for (int i = 0; i < 12; i++)
		pid[i] = turns_beside(GROUP, 0, max / 8, 0, stamped);
	/* When it puts back what it held, it takes no more until that is written. */
	ssw_for_looks(i) {
		if (counter("late") > late)
			break;
		usleep(20000);
	}
	held = counter("held") - held;
	ASSERT_EQ(0, dm_suspend(false));
	for (int i = 0; i < 12; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	TH_LOG("%lld pages held, %lld late", held, counter("late") - late);
	EXPECT_LT(headroom, held);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	EXPECT_EQ(0, dm_gone());
}

/* A process of the group uses its pages in no order, a few times each, and sleeps. */
static pid_t uses_and_sleeps(volatile int *done, long pages)
{
	pid_t pid = ssw_fork();
	uint64_t rnd = 1;
	char *p;

	if (pid)
		return pid;
	p = stamp_in(GROUP, 0, pages);
	for (long i = 0; i < 6 * pages; i++) {
		if (ssw_wrong(p + ssw_random(&rnd) % pages * SSW_PAGE, 1, 1))
			_exit(1);
	}
	*done = 1;
	for (;;)
		pause();
}

/*
 * Evictors keep lists so that just enough pages are inactive. A task that reclaims far more in one
 * go, as who sets a limit does, has to see that they are not any more: by statistics, which are
 * some seconds old, it would deactivate none, and give up with the active pages left.
 */
SSW_BODY(evict_stock, limit_is_reached)
{
	volatile int *done = ssw_shared(sizeof(*done));
	const long max = 2000, high = 300;
	struct ssw_areas areas;
	pid_t pid;

	if (ssw_generations())
		ASSERT_EQ(0, ssw_write(GEN, "n"));
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 1));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, cg_make(GROUP));
		ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
		*done = 0;
		pid = uses_and_sleeps(done, max * 5 / 4);
		ASSERT_LT(0, pid);
		while (!*done && !waitpid(pid, NULL, WNOHANG))
			usleep(1000);
		ASSERT_TRUE(*done) TH_LOG("a page is wrong, or it was killed");
		settled(_metadata);
		/* To look makes statistics new. */
		TH_LOG("%lld KB active, %lld KB inactive",
		       cg(GROUP, "memory.stat", "active_anon") / 1024,
		       cg(GROUP, "memory.stat", "inactive_anon") / 1024);
		EXPECT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", high * SSW_PAGE));
		TH_LOG("%lld KB left", cg(GROUP, "memory.current", NULL) / 1024);
		EXPECT_GT((high + 100) * (long long)SSW_PAGE, cg(GROUP, "memory.current", NULL));
		kill(pid, SIGKILL);
		ssw_join(pid);
		settled(_metadata);
		EXPECT_EQ(0, cg_remove(GROUP));
	}
}

/*
 * A device that takes half a second, and a group of a few pages, all of which are soon being
 * written: no task is killed before it has waited for them.
 */
SSW_BODY(evict_stock, few_are_written)
{
	const long max = BATCH + 16, pages = 3 * BATCH;
	int err = fault_nullb("0", "1024", "500000000");

	if (err)
		SKIP(return, "no null_blk (%s)", strerror(-err));
	ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	/* Evictors hold nothing, so the task reclaims as soon as there is no room. */
	put("wait_ms", 1);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, ssw_join(turns_in(GROUP, 0, pages, 0)));
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

TEST_HARNESS_MAIN
