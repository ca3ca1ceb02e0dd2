/* SPDX-License-Identifier: GPL-2.0 */
/*
 * evict_harness.h - what tests of the pool of evictors set, load and judge; see harness.h
 */
#ifndef SSW_EVICT_HARNESS_H
#define SSW_EVICT_HARNESS_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"
#include "cg_util.h"

#define EVICT	SSW_SYS "/evict/"
#define PAUSE	"/sys/kernel/debug/scaleswap/evict_pause"
/* The longest wait that can be set; no test is to depend on how fast its host is. */
#define PATIENT	"60000"

static inline void put_in(const char *path, long long value)
{
	char val[24];

	snprintf(val, sizeof(val), "%lld", value);
	ssw_write(path, val);
}

static inline void put(const char *file, long long value)
{
	char path[96];

	snprintf(path, sizeof(path), EVICT "%s", file);
	put_in(path, value);
}

static inline long long counter(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), EVICT "%s", name);
	return ssw_num(path);
}

/* Have so many evictors. Return NULL, and how many there were; or why there can't be any. */
static inline const char *pool_start(const char *threads, long long *were)
{
	const char *why = ssw_start(SSW_NEED_ON);

	*were = ssw_num(EVICT "threads");
	if (why)
		return why;
	if (*were < 0)
		return "a kernel without CONFIG_SCALESWAP_EVICTOR";
	return ssw_write(EVICT "threads", threads) ? "not booted with evict" : NULL;
}

/* What evictors held has come to its end, and nothing is isolated: at some time, if they go on. */
static inline void settled(struct __test_metadata *_metadata)
{
	long long left = -1, isolated = -1;

	ssw_for_looks(i) {
		ssw_write("/proc/sys/vm/stat_refresh", "1");
		isolated = ssw_vmstat("nr_isolated_anon");
		left = counter("held") - counter("freed") - counter("put_back");
		if (!isolated && !left)
			break;
		usleep(20000);
	}
	EXPECT_EQ(0, left);
	EXPECT_EQ(0, isolated);
}

/* Have a new process join @group, stay on a CPU, and stamp pages, which it returns. */
static inline char *stamp_in(const char *group, int cpu, long pages)
{
	char *p;

	if (!group)
		ssw_write("/proc/self/oom_score_adj", "1000");
	else if (cg_move(group, getpid()))
		_exit(9);
	ssw_pin(cpu);
	p = ssw_map(pages, false);
	if (!p)
		_exit(8);
	ssw_stamp(p, pages, 1);
	return p;
}

/*
 * A process that has pages of its own, and checks and stamps them in turn. It is in @group or, if
 * that is NULL, the first to be killed where memory is short. It only goes on when *@stamped
 * processes have stamped theirs, if not NULL, or none is left to wait for: it is below 1 then.
 */
static inline pid_t turns_beside(const char *group, int cpu, long pages, int rounds,
				 volatile int *stamped)
{
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid;
	p = stamp_in(group, cpu, pages);
	if (stamped)
		__sync_fetch_and_sub(stamped, 1);
	while (stamped && *stamped > 0)
		usleep(1000);
	for (int i = 1; i <= rounds; i++) {
		if (ssw_wrong(p, pages, i))
			_exit(1);
		ssw_stamp(p, pages, i + 1);
	}
	_exit(0);
}

static inline pid_t turns_in(const char *group, int cpu, long pages, int rounds)
{
	return turns_beside(group, cpu, pages, rounds, NULL);
}

/*
 * Have @n processes go round their pages, on CPUs with areas. Return the worst of their ends. An
 * emulator runs a CPU for 100 ms before it turns to the next one, in which a process may have come
 * to its end, and all would have had room one after the other. So all have their pages at first.
 */
static inline int all_turn_in(const char *group, const struct ssw_areas *areas, int n, long pages,
			      int rounds)
{
	volatile int *stamped = ssw_shared(sizeof(*stamped));
	pid_t pid[SSW_MANY];
	siginfo_t info;
	int worst = 0;

	*stamped = n;
	for (int i = 0; i < n; i++)
		pid[i] = turns_beside(group, areas->cpu[i % areas->n], pages, rounds, stamped);
	while (*stamped > 0) {
		usleep(1000);
		/* One that cannot start, or is killed, is not waited for. */
		for (int i = 0; i < n; i++) {
			info.si_pid = 0;
			if (pid[i] <= 0 ||
			    waitid(P_PID, pid[i], &info, WEXITED | WNOHANG | WNOWAIT) ||
			    info.si_pid)
				*stamped = 0;
		}
	}
	for (int i = 0; i < n; i++) {
		int status = pid[i] > 0 ? ssw_join(pid[i]) : -1;

		if (status)
			worst = status;
	}
	return worst;
}

/* Have a process in a group lock more than it may have. Return how it ended. */
static inline int lock_all(const char *group)
{
	int status = -1;
	pid_t pid = ssw_fork();

	if (!pid) {
		if (cg_move(group, getpid()) || mlockall(MCL_CURRENT | MCL_FUTURE))
			_exit(9);
		ssw_map(4096, false);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

#endif /* SSW_EVICT_HARNESS_H */
