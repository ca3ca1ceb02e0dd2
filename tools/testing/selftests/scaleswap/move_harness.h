/* SPDX-License-Identifier: GPL-2.0 */
/*
 * move_harness.h - what the selftests of moving slots share
 *
 * One area of 32 clusters. Pages that are swapped out fill some, and few of these are left.
 */
#ifndef SSW_MOVE_HARNESS_H
#define SSW_MOVE_HARNESS_H

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "dm_util.h"
#include "harness.h"
#include "page_util.h"

#define SLOTS	512
/* 32 clusters, with a reserve */
#define AREA	(32 * SLOTS)
#define PAGES	(8 * SLOTS)
/* One page of so many stays. */
#define NTH	10
/* of a device that dm_linear() makes */
#define SECTORS	(8 * (AREA + 64))
#define KEPT	((PAGES + NTH - 1) / NTH)
#define DEFRAG	SSW_SYS "/defrag/"
#define SKIPPED	DEFRAG "skipped/"
#define POWER	"/sys/power/"

static char dev[64];
static int type;

static inline int compact(const char *val)
{
	char path[128];

	ssw_area_path(path, sizeof(path), type, "compact");
	return ssw_write(path, val);
}

static inline void *run_compact(void *arg)
{
	*(int *)arg = compact("1");
	return NULL;
}

/* Suspend the device, and begin a pass that has places for what it moves, and waits for that. */
static inline void compact_waits(struct __test_metadata *_metadata, pthread_t *mover, int *err)
{
	long long used = ssw_area(type, "used");

	ASSERT_EQ(0, dm_suspend(true));
	ASSERT_EQ(0, pthread_create(mover, NULL, run_compact, err));
	ssw_for_looks(i) {
		if (ssw_area(type, "used") > used)
			break;
		usleep(1000);
	}
	EXPECT_LT(used, ssw_area(type, "used"));
}

/* A thread that reads a byte */
static inline void *look(void *arg)
{
	return (void *)(long)*(volatile char *)arg;
}

/* Turn an area on for this task's CPU. */
static inline void area_on(struct __test_metadata *_metadata, const char *path)
{
	snprintf(dev, sizeof(dev), "%s", path);
	ASSERT_EQ(0, ssw_mkswap(dev, AREA - 1));
	type = ssw_on_cpu(dev, 0);
	ASSERT_LE(0, type);
	ASSERT_EQ(0, ssw_pin(0));
}

/* Swap pages out, and see that they are nowhere else. */
static inline void out(struct __test_metadata *_metadata, char *p, size_t pages)
{
	ASSERT_EQ(pages, ssw_pageout(p, pages));
	ssw_evict("ssw");
}

/* Keep each NTH page. */
static inline void thin(char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		if (i % NTH)
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
}

/* Wait until there were so many major faults. */
static inline bool major_faults(long long n)
{
	/* So many looks, not so long: mutants would take hours. */
	for (int i = 0; i < 1000; i++) {
		if (ssw_vmstat("pgmajfault") >= n)
			return true;
		usleep(10000);
	}
	return false;
}

/* The first page from @i on that thin() has kept */
static inline char *kept(char *p, size_t i)
{
	return p + (i + NTH - 1) / NTH * NTH * SSW_PAGE;
}

static inline long thin_wrong(const char *p, size_t pages, uint64_t gen)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i += NTH)
		wrong += ssw_wrong(p + i * SSW_PAGE, 1, gen);
	return wrong;
}

/* Stamped pages, swapped out, of which each NTH is left */
static inline char *sparse(struct __test_metadata *_metadata, uint64_t gen)
{
	char *p = ssw_map(PAGES, false);

	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, gen);
	out(_metadata, p, PAGES);
	thin(p, PAGES);
	return p;
}

/* How many of the pages left are in other slots now */
static inline long moved(const char *p, const uint64_t *was)
{
	long n = 0;

	for (size_t i = 0; i < PAGES; i += NTH)
		n += ssw_pm_offset(ssw_pagemap(p + i * SSW_PAGE)) != was[i / NTH];
	return n;
}

static inline void where(const char *p, uint64_t *was)
{
	for (size_t i = 0; i < PAGES; i += NTH)
		was[i / NTH] = ssw_pm_offset(ssw_pagemap(p + i * SSW_PAGE));
}

static inline long long count(void)
{
	return ssw_num(DEFRAG "moved");
}

/* Wait until so many were moved. */
static inline bool moves(long long n)
{
	ssw_for_looks(i) {
		if (count() >= n)
			return true;
		usleep(10000);
	}
	return false;
}

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Freeze tasks while slots are being moved, slowly, for longer than all would take. Nothing is
 * moved between freezing and thawing; in the end, so many are.
 */
static inline void frozen(struct __test_metadata *_metadata, long long all)
{
	static const char * const events[] = {
		"power/suspend_resume", "scaleswap/scaleswap_move", NULL,
	};
	int before = 0, within = 0, after = 0, where = 0;
	char buf[512];
	FILE *f;

	ASSERT_EQ(0, ssw_trace_start(events));
	ssw_trace_empty(SSW_TRACE "set_event_pid");
	/* Frozen for longer than it would take to move all of them */
	ssw_write("/sys/module/suspend/parameters/pm_test_delay", "5");
	ssw_write(POWER "sync_on_suspend", "0");
	ASSERT_EQ(0, ssw_write(POWER "pm_test", "freezer"));
	EXPECT_TRUE(moves(count() + 16));
	EXPECT_EQ(0, ssw_write(POWER "state", "mem"));
	EXPECT_EQ(0, ssw_write(POWER "pm_test", "none"));
	EXPECT_TRUE(moves(all));
	ssw_trace_stop();
	f = fopen(SSW_TRACE "trace", "r");
	ASSERT_NE(NULL, f);
	while (fgets(buf, sizeof(buf), f)) {
		if (strstr(buf, "suspend_resume: freeze_processes[0] end"))
			where = 1;
		else if (strstr(buf, "suspend_resume: thaw_processes[0] begin"))
			where = 2;
		else if (strstr(buf, "scaleswap_move: "))
			(*(where == 0 ? &before : where == 1 ? &within : &after))++;
	}
	fclose(f);
	TH_LOG("%d moved before it was frozen, %d within, %d after", before, within, after);
	EXPECT_EQ(2, where);
	EXPECT_LT(0, before);
	EXPECT_EQ(0, within);
	EXPECT_LT(0, after);
}

#define HUNG	"/proc/sys/kernel/hung_task_timeout_secs"

/*
 * A device does not answer a thread that moves slots. The thread counts as no hung task, of which
 * the kernel would warn, and does not keep the machine from being suspended.
 */
static inline void stalled(struct __test_metadata *_metadata)
{
	char was[32];
	int had = ssw_read(HUNG, was, sizeof(was));

	ASSERT_LE(0, had < 0 ? 0 : ssw_write(HUNG, "4"));
	if (!access(POWER "pm_test", W_OK)) {
		ssw_write("/sys/module/suspend/parameters/pm_test_delay", "1");
		ssw_write(POWER "sync_on_suspend", "0");
		ASSERT_EQ(0, ssw_write(POWER "pm_test", "freezer"));
		EXPECT_EQ(0, ssw_write(POWER "state", "mem"));
		EXPECT_EQ(0, ssw_write(POWER "pm_test", "none"));
	}
	sleep(12);
	if (had >= 0)
		ASSERT_EQ(0, ssw_write(HUNG, was));
}

/* Have all writes to a device that dm_linear() has made fail. */
static inline int fail_writes(const char *over, long long sectors)
{
	char params[128];

	snprintf(params, sizeof(params), "%s 64 0 3600 1 error_writes", over);
	return dm_load("flakey", params, sectors);
}

static inline int heal(const char *over, long long sectors)
{
	char params[128];

	snprintf(params, sizeof(params), "%s 64", over);
	return dm_load("linear", params, sectors);
}

#endif /* SSW_MOVE_HARNESS_H */
