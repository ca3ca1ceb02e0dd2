/* SPDX-License-Identifier: GPL-2.0 */
/*
 * evict_harness.h - what tests of the pool of evictors set, load and judge; see harness.h
 */
#ifndef SSW_EVICT_HARNESS_H
#define SSW_EVICT_HARNESS_H

#include "harness.h"
#include "cg_util.h"

#define EVICT	SSW_SYS "/evict/"
#define PAUSE	"/sys/kernel/debug/scaleswap/evict_pause"
/* The longest wait that can be set; no test is to depend on how fast its host is. */
#define PATIENT	"10000"

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

/*
 * A process that has pages of its own, and checks and stamps them in turn. It is in @group or, if
 * that is NULL, the first to be killed where memory is short.
 */
static inline pid_t turns_in(const char *group, int cpu, long pages, int rounds)
{
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid;
	if (!group)
		ssw_write("/proc/self/oom_score_adj", "1000");
	else if (cg_move(group, getpid()))
		_exit(9);
	ssw_pin(cpu);
	p = ssw_map(pages, false);
	if (!p)
		_exit(8);
	ssw_stamp(p, pages, 1);
	for (int i = 1; i <= rounds; i++) {
		if (ssw_wrong(p, pages, i))
			_exit(1);
		ssw_stamp(p, pages, i + 1);
	}
	_exit(0);
}

/* Have @n processes go round their pages, on CPUs with areas. Return the worst of their ends. */
static inline int all_turn_in(const char *group, const struct ssw_areas *areas, int n, long pages,
			      int rounds)
{
	pid_t pid[SSW_MANY];
	int worst = 0;

	for (int i = 0; i < n; i++)
		pid[i] = turns_in(group, areas->cpu[i % areas->n], pages, rounds);
	for (int i = 0; i < n; i++) {
		int status = pid[i] > 0 ? ssw_join(pid[i]) : -1;

		if (status)
			worst = status;
	}
	return worst;
}

#endif /* SSW_EVICT_HARNESS_H */
