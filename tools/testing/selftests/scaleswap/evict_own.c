// SPDX-License-Identifier: GPL-2.0
/*
 * Which evictor takes a cgroup, and where: that of the CPU which needs memory, as long as no CPU is
 * idle, and it gets that CPU. And what is left there: nothing.
 */
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#include "evict_harness.h"

#define GEN	"/sys/kernel/mm/lru_gen/enabled"
#define GROUP	"ssw-own"
#define CPUS	4
#define PAGES	1200
#define LIMIT	800

FIXTURE(evict_own) { struct ssw_areas areas; long long threads, wait_ms; bool generations; };

FIXTURE_SETUP(evict_own)
{
	const char *why = pool_start("4", &self->threads);

	self->wait_ms = ssw_num(EVICT "wait_ms");
	self->generations = ssw_generations();
	if (why)
		SKIP(return, "%s", why);
	if (access(SSW_TRACE "events/scaleswap", R_OK))
		SKIP(return, "the kernel has no tracing");
	if (sysconf(_SC_NPROCESSORS_ONLN) != CPUS || ssw_node_of(CPUS - 1))
		SKIP(return, "for four CPUs of one node");
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 30000, SSW_MANY));
}

FIXTURE_TEARDOWN(evict_own)
{
	char name[32];

	put("threads", self->threads);
	put("wait_ms", self->wait_ms);
	ssw_write(EVICT "cpus", "\n");
	ssw_write(PAUSE, "N");
	ssw_write(GEN, self->generations ? "y" : "n");
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		if (!access(SSW_CG "/" GROUP "0", F_OK) && cg_remove(name))
			break;
	}
	ssw_end();
}

/*
 * How often each evictor took the group with that number since the trace was begun, and how often
 * one did on the CPU whose evictor it is
 */
static int turns_of(unsigned long ino, long turns[CPUS], long *at_home)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	unsigned long cgroup;
	char line[512];
	int node, nr, cpu;

	memset(turns, 0, CPUS * sizeof(*turns));
	*at_home = 0;
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, ": scaleswap_evict_take: ");

		if (at && sscanf(at, ": scaleswap_evict_take: cgroup=%lu node=%*d evictor=%d:%d",
				 &cgroup, &node, &nr) == 3 && cgroup == ino && nr < CPUS) {
			turns[nr]++;
			*at_home += sscanf(line, " %*s [%d]", &cpu) == 1 && cpu == nr;
		}
	}
	return fclose(f) ? -errno : 0;
}

/* Trace which evictor takes what. */
static int turns_start(void)
{
	static const char *const events[] = { "scaleswap/scaleswap_evict_take", NULL };
	int ret = ssw_trace_start(events);

	/* Not of this process alone */
	ssw_trace_empty(SSW_TRACE "set_event_pid");
	return ret;
}

/* A CPU is not idle, also while its other tasks wait. */
static pid_t spin_on(int cpu, int policy, int prio)
{
	const struct sched_param param = { .sched_priority = prio };
	pid_t pid = ssw_fork();

	if (!pid) {
		ssw_pin(cpu);
		if (sched_setscheduler(0, policy, &param))
			_exit(7);
		for (;;)
			;
	}
	return pid;
}

/* Keep CPUs busy from @first on. Other tasks come before those here. */
static bool busy_begin(pid_t busy[CPUS], int first)
{
	for (int i = first; i < CPUS; i++) {
		busy[i] = spin_on(i, SCHED_IDLE, 0);
		if (busy[i] <= 0)
			return false;
	}
	return true;
}

static void busy_end(pid_t busy[CPUS], int first)
{
	for (int i = first; i < CPUS; i++) {
		kill(busy[i], SIGKILL);
		ssw_join(busy[i]);
	}
}

/* Make a group; its number, or 0. */
static unsigned long group_new(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	if (cg_make(name) || ssw_cgroup_set(name, "memory.max", LIMIT * SSW_PAGE) ||
	    stat(path, &st))
		return 0;
	return st.st_ino;
}

/*
 * Four CPUs have a process in a group of its own each. Each group is evicted from by the evictor of
 * its CPU, on that CPU. Some turns are others', which take it when that one is not there for a
 * tick.
 */
SSW_BODY(evict_own, a_group_each)
{
	volatile int *stamped = ssw_shared(sizeof(*stamped));
	long turns[CPUS], at_home, all;
	pid_t pid[CPUS], busy[CPUS];
	unsigned long ino[CPUS];
	char name[32];

	*stamped = CPUS;
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		ino[i] = group_new(name);
		ASSERT_NE(0, ino[i]);
	}
	ASSERT_TRUE(busy_begin(busy, 0));
	ASSERT_EQ(0, turns_start());
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		pid[i] = turns_beside(name, i, PAGES, 20, stamped);
		ASSERT_LT(0, pid[i]);
	}
	for (int i = 0; i < CPUS; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	ssw_trace_stop();
	busy_end(busy, 0);
	for (int i = 0; i < CPUS; i++) {
		ASSERT_EQ(0, turns_of(ino[i], turns, &at_home));
		all = turns[0] + turns[1] + turns[2] + turns[3];
		TH_LOG("CPU %d: %ld, %ld, %ld and %ld turns of evictors 0 to 3, %ld at home", i,
		       turns[0], turns[1], turns[2], turns[3], at_home);
		EXPECT_LT(0, turns[i]);
		EXPECT_LT(3 * (all - turns[i]), turns[i]);
		snprintf(name, sizeof(name), GROUP "%d", i);
		EXPECT_EQ(0, cg_remove(name));
	}
	settled(_metadata);
}

/*
 * A process takes turns with the evictor of its CPU, on that CPU, if all other CPUs are busy. If
 * one is not, its evictor evicts.
 */
SSW_BODY(evict_own, busy_and_idle_cpus)
{
	unsigned long ino = group_new(GROUP "0");
	long turns[CPUS], others, at_home;
	pid_t busy[CPUS], pid;

	ASSERT_NE(0, ino);
	for (int idle = 0; idle < 2; idle++) {
		ASSERT_TRUE(idle || busy_begin(busy, 1));
		ASSERT_EQ(0, turns_start());
		pid = turns_in(GROUP "0", 0, PAGES, 10);
		EXPECT_EQ(0, ssw_join(pid));
		ssw_trace_stop();
		if (!idle)
			busy_end(busy, 1);
		ASSERT_EQ(0, turns_of(ino, turns, &at_home));
		others = turns[1] + turns[2] + turns[3];
		TH_LOG("other CPUs %s: %ld turns of its evictor, %ld of others, %ld at home",
		       idle ? "idle" : "busy", turns[0], others, at_home);
		if (idle) {
			EXPECT_LT(turns[0], others);
		} else {
			EXPECT_LT(others, turns[0]);
			EXPECT_LT(turns[0], 2 * at_home);
		}
	}
	EXPECT_EQ(0, cg_remove(GROUP "0"));
	settled(_metadata);
}

/*
 * A real-time task takes the CPU whenever the process waits, so that its evictor, which may not run
 * elsewhere, has few turns. Others have it, as soon as the process asks again.
 */
SSW_BODY(evict_own, kept_off)
{
	const struct sched_param param = { .sched_priority = 2 };
	unsigned long ino = group_new(GROUP "0");
	long turns[CPUS], at_home;
	pid_t busy[CPUS], rt, pid, own = ssw_task("ssw_evict0:0");
	cpu_set_t all, first;

	ASSERT_NE(0, ino);
	/* 0 would be this process. */
	ASSERT_LT(0, own);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	ASSERT_EQ(0, sched_getaffinity(own, sizeof(all), &all));
	ASSERT_EQ(0, sched_setaffinity(own, sizeof(first), &first));
	ASSERT_TRUE(busy_begin(busy, 1));
	ASSERT_EQ(0, turns_start());
	pid = turns_in(GROUP "0", 0, PAGES, 2);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, sched_setscheduler(pid, SCHED_FIFO, &param));
	rt = spin_on(0, SCHED_FIFO, 1);
	ASSERT_LT(0, rt);
	EXPECT_EQ(0, ssw_join(pid));
	ssw_trace_stop();
	kill(rt, SIGKILL);
	ssw_join(rt);
	busy_end(busy, 1);
	EXPECT_EQ(0, sched_setaffinity(own, sizeof(all), &all));
	ASSERT_EQ(0, turns_of(ino, turns, &at_home));
	TH_LOG("%ld, %ld, %ld and %ld turns of evictors 0 to 3", turns[0], turns[1], turns[2],
	       turns[3]);
	EXPECT_LT(0, turns[1] + turns[2] + turns[3]);
	EXPECT_EQ(0, cg_remove(GROUP "0"));
	settled(_metadata);
}

static bool waits(pid_t pid)
{
	char path[32], buf[256];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (ssw_read(path, buf, sizeof(buf)) <= 0)
		return false;
	at = strrchr(buf, ')');
	return at && !strncmp(at, ") D", 3);
}

/* Have a real-time task take a CPU, but for moments. It counts 300 ms of its time. */
static pid_t hog(int cpu, volatile int *counted)
{
	const struct sched_param param = { .sched_priority = 1 };
	struct timespec t;
	pid_t pid = ssw_fork();

	if (pid)
		return pid;
	ssw_pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(7);
	for (;;) {
		do {
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < 300 * (*counted + 1));
		(*counted)++;
		usleep(1000);
	}
}

/*
 * A real-time task has the CPU of a task that waits, but for moments. The wait is over after 3 s
 * all the same. Were only the time counted in which the task sleeps, each of its short sleeps might
 * be followed by 300 ms in which it has no CPU.
 */
SSW_BODY(evict_own, waits_without_a_cpu)
{
	volatile int *counted = ssw_shared(sizeof(*counted));
	long long late;
	int looks = 0, at;
	pid_t pid, rt;

	if (access(PAUSE, F_OK))
		SKIP(return, "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS");
	ASSERT_NE(0, group_new(GROUP "0"));
	put("wait_ms", 3000);
	ASSERT_EQ(0, ssw_write(PAUSE, "Y"));
	late = ssw_stat("fallback/evict_late");
	pid = turns_in(GROUP "0", 0, PAGES, 1);
	ASSERT_LT(0, pid);
	/* It waits, not for I/O. */
	ssw_for_looks(i) {
		looks = waits(pid) ? looks + 1 : 0;
		if (looks == 3)
			break;
		usleep(10000);
	}
	rt = hog(0, counted);
	ASSERT_LT(0, rt);
	ssw_for_looks(i) {
		if (ssw_stat("fallback/evict_late") > late)
			break;
		/* Seldom: an emulator has CPUs take turns. */
		usleep(50000);
	}
	at = *counted;
	kill(rt, SIGKILL);
	ssw_join(rt);
	ASSERT_EQ(0, ssw_write(PAUSE, "N"));
	TH_LOG("%d ms of the real-time task", 300 * at);
	EXPECT_LT(late, ssw_stat("fallback/evict_late"));
	EXPECT_LT(0, at);
	EXPECT_GT(16, at);
	EXPECT_EQ(0, ssw_join(pid)) TH_LOG("1: a page is wrong");
	EXPECT_EQ(0, cg_remove(GROUP "0"));
	settled(_metadata);
}

/* A process of a group that uses its pages in no order, as many times as it has pages */
static pid_t uses_pages(const char *group, int cpu, long pages, int times)
{
	uint64_t rnd = cpu + 1;
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid;
	p = stamp_in(group, cpu, pages);
	for (long i = 0; i < times * pages; i++) {
		char *one = p + ssw_random(&rnd) % pages * SSW_PAGE;

		if (ssw_wrong(one, 1, 1))
			_exit(1);
		ssw_stamp(one, 1, 1);
	}
	_exit(0);
}

/*
 * Evictors have CPUs of their own, which do nothing else, and so do not let go of pages that they
 * refer to. When the processes of a group have ended, its pages can be freed all the same.
 */
SSW_BODY(evict_own, nothing_is_kept)
{
	const long pages = 500, limit = 300;
	pid_t pid[2 * CPUS];
	long long left;

	if (access(GEN, F_OK))
		SKIP(return, "a kernel without CONFIG_LRU_GEN");
	ASSERT_EQ(0, ssw_write(GEN, "y"));
	ASSERT_EQ(0, ssw_write(EVICT "cpus", "2-3"));
	for (int round = 0; round < 6; round++) {
		ASSERT_NE(0, group_new(GROUP "0"));
		ASSERT_EQ(0, ssw_cgroup_set(GROUP "0", "memory.max", limit * SSW_PAGE));
		for (int i = 0; i < 2 * CPUS; i++) {
			pid[i] = uses_pages(GROUP "0", i % 2, pages, 4);
			ASSERT_LT(0, pid[i]);
		}
		for (int i = 0; i < 2 * CPUS; i++)
			EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("1: a page is wrong");
		settled(_metadata);
		/* This process frees what its own CPU refers to, but not what others do. */
		for (int i = 0; i < 10; i++) {
			ssw_cgroup_set(GROUP "0", "memory.max", 0);
			left = cg(GROUP "0", "memory.stat", "active_anon") +
			       cg(GROUP "0", "memory.stat", "inactive_anon");
			if (!left)
				break;
			usleep(50000);
		}
		EXPECT_EQ(0, left) TH_LOG("round %d: %lld KB are left", round, left / 1024);
		EXPECT_EQ(0, cg_remove(GROUP "0"));
	}
}

/* /proc/vmstat has totals: what evictors free, how often tasks wait, or reclaim all the same. */
SSW_BODY(evict_own, totals_in_vmstat)
{
	static const char * const why[] = { "stuck", "late", "unfit", "killed" };
	long long late, waited, freed, fallbacks = 0;

	if (access(PAUSE, F_OK))
		SKIP(return, "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS");
	ASSERT_NE(0, group_new(GROUP "0"));
	late = ssw_stat("fallback/evict_late");
	waited = ssw_vmstat("scaleswap_evict_wait");
	freed = ssw_vmstat("scaleswap_evict_freed");
	/*
	 * Evictors at work come first: after tasks have waited in vain, they reclaim for a while,
	 * and an emulated CPU may be done with all of its pages before an evictor's has its turn.
	 */
	for (int paused = 0; paused <= 1; paused++) {
		if (paused)
			put("wait_ms", 50);
		ASSERT_EQ(0, ssw_write(PAUSE, paused ? "Y" : "N"));
		EXPECT_EQ(0, ssw_join(turns_in(GROUP "0", 0, PAGES, paused ? 1 : 4)))
			TH_LOG("1: a page is wrong");
	}
	ASSERT_EQ(0, ssw_write(PAUSE, "N"));
	EXPECT_EQ(0, cg_remove(GROUP "0"));
	settled(_metadata);
	EXPECT_LT(late, ssw_stat("fallback/evict_late"));
	EXPECT_LT(waited, ssw_vmstat("scaleswap_evict_wait"));
	EXPECT_LT(freed, ssw_vmstat("scaleswap_evict_freed"));
	for (int i = 0; i < 4; i++) {
		char name[32];

		snprintf(name, sizeof(name), "fallback/evict_%s", why[i]);
		fallbacks += ssw_stat(name);
	}
	EXPECT_EQ(fallbacks, ssw_vmstat("scaleswap_evict_fallback"));
	EXPECT_EQ(counter("freed"), ssw_vmstat("scaleswap_evict_freed"));
	EXPECT_LE(counter("waits") + counter("held_waits") + ssw_stat("fallback/evict_late"),
		  ssw_vmstat("scaleswap_evict_wait"));
}

/*
 * Tasks that may use a twentieth of a CPU: evictors, which are charged to nobody, free their pages
 * as they do others'.
 */
SSW_BODY(evict_own, throttled_group)
{
	static const char * const groups[] = { GROUP "0", GROUP "1" };
	const long pages = LIMIT;
	long long freed = counter("freed");
	pid_t pid[CPUS];

	if (ssw_write(SSW_CG "/cgroup.subtree_control", "+cpu"))
		SKIP(return, "a kernel without CONFIG_CGROUP_SCHED");
	for (int g = 0; g < 2; g++)
		ASSERT_NE(0, group_new(groups[g]));
	if (ssw_write(SSW_CG "/" GROUP "0/cpu.max", "5000 100000")) {
		ssw_write(SSW_CG "/cgroup.subtree_control", "-cpu");
		SKIP(return, "a kernel without CONFIG_CFS_BANDWIDTH");
	}
	for (int i = 0; i < CPUS; i++) {
		pid[i] = turns_in(groups[i % 2], i, pages, 1 + i % 2 * 3);
		ASSERT_LT(0, pid[i]);
	}
	for (int i = 0; i < CPUS; i++)
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("1: a page is wrong");
	freed = counter("freed") - freed;
	TH_LOG("throttled %lld times; %lld pages freed by evictors",
	       cg(GROUP "0", "cpu.stat", "nr_throttled"), freed);
	EXPECT_LT(0, cg(GROUP "0", "cpu.stat", "nr_throttled"));
	EXPECT_LT(2 * pages, freed);
	for (int g = 0; g < 2; g++) {
		EXPECT_EQ(0, cg(groups[g], "memory.events", "oom_kill"));
		EXPECT_EQ(0, cg_remove(groups[g]));
	}
	settled(_metadata);
	EXPECT_EQ(0, ssw_write(SSW_CG "/cgroup.subtree_control", "-cpu"));
}

TEST_HARNESS_MAIN
