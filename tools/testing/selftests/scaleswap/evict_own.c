// SPDX-License-Identifier: GPL-2.0
/*
 * Which evictor takes a cgroup: that of the CPU which needs memory, as long as no CPU is idle.
 */
#include <sched.h>
#include <sys/stat.h>

#include "evict_harness.h"

#define GROUP	"ssw-own"
#define CPUS	4
#define PAGES	1200
#define LIMIT	800

FIXTURE(evict_own) { struct ssw_areas areas; long long threads; };

FIXTURE_SETUP(evict_own)
{
	const char *why = pool_start("4", &self->threads);

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
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		if (!access(SSW_CG "/" GROUP "0", F_OK) && cg_remove(name))
			break;
	}
	ssw_end();
}

/* How often each evictor took the group with that number, since the trace was begun */
static int turns_of(unsigned long ino, long turns[CPUS])
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	unsigned long cgroup;
	char line[512];
	int node, nr;

	memset(turns, 0, CPUS * sizeof(*turns));
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, ": scaleswap_evict_take: ");

		if (at && sscanf(at, ": scaleswap_evict_take: cgroup=%lu node=%*d evictor=%d:%d",
				 &cgroup, &node, &nr) == 3 && cgroup == ino && nr < CPUS)
			turns[nr]++;
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

/* A CPU is not idle, also while its other tasks wait: these come before the one here. */
static pid_t spin_on(int cpu)
{
	const struct sched_param none = { 0 };
	pid_t pid = ssw_fork();

	if (!pid) {
		ssw_pin(cpu);
		sched_setscheduler(0, SCHED_IDLE, &none);
		for (;;)
			;
	}
	return pid;
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
 * its CPU. Some turns are others', which help when that one is not there for a tick.
 */
SSW_BODY(evict_own, a_group_each)
{
	volatile int *stamped = ssw_shared(sizeof(*stamped));
	pid_t pid[CPUS], busy[CPUS];
	unsigned long ino[CPUS];
	long turns[CPUS];
	char name[32];

	*stamped = CPUS;
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		ino[i] = group_new(name);
		ASSERT_NE(0, ino[i]);
		busy[i] = spin_on(i);
		ASSERT_LT(0, busy[i]);
	}
	ASSERT_EQ(0, turns_start());
	for (int i = 0; i < CPUS; i++) {
		snprintf(name, sizeof(name), GROUP "%d", i);
		pid[i] = turns_beside(name, i, PAGES, 20, stamped);
		ASSERT_LT(0, pid[i]);
	}
	for (int i = 0; i < CPUS; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	ssw_trace_stop();
	for (int i = 0; i < CPUS; i++) {
		kill(busy[i], SIGKILL);
		ssw_join(busy[i]);
	}
	for (int i = 0; i < CPUS; i++) {
		ASSERT_EQ(0, turns_of(ino[i], turns));
		TH_LOG("group of CPU %d: %ld, %ld, %ld and %ld turns of evictors 0 to 3", i,
		       turns[0], turns[1], turns[2], turns[3]);
		EXPECT_LT(0, turns[i]);
		EXPECT_LT(3 * (turns[0] + turns[1] + turns[2] + turns[3] - turns[i]), turns[i]);
		snprintf(name, sizeof(name), GROUP "%d", i);
		EXPECT_EQ(0, cg_remove(name));
	}
	settled(_metadata);
}

/*
 * A process takes turns with the evictor of its CPU if all other CPUs are busy. If one is not, its
 * evictor evicts.
 */
SSW_BODY(evict_own, busy_and_idle_cpus)
{
	unsigned long ino = group_new(GROUP "0");
	long turns[CPUS], others;
	pid_t busy[CPUS], pid;

	ASSERT_NE(0, ino);
	for (int idle = 0; idle < 2; idle++) {
		for (int i = 1; i < CPUS; i++) {
			busy[i] = idle ? 0 : spin_on(i);
			ASSERT_LE(0, busy[i]);
		}
		ASSERT_EQ(0, turns_start());
		pid = turns_in(GROUP "0", 0, PAGES, 10);
		EXPECT_EQ(0, ssw_join(pid));
		ssw_trace_stop();
		for (int i = 1; !idle && i < CPUS; i++) {
			kill(busy[i], SIGKILL);
			ssw_join(busy[i]);
		}
		ASSERT_EQ(0, turns_of(ino, turns));
		others = turns[1] + turns[2] + turns[3];
		TH_LOG("other CPUs %s: %ld turns of its evictor, %ld of others",
		       idle ? "idle" : "busy", turns[0], others);
		if (idle) {
			EXPECT_LT(turns[0], others);
		} else {
			EXPECT_LT(others, turns[0]);
		}
	}
	EXPECT_EQ(0, cg_remove(GROUP "0"));
	settled(_metadata);
}

TEST_HARNESS_MAIN
