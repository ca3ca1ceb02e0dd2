/* SPDX-License-Identifier: GPL-2.0 */
/*
 * util.h - what all ScaleSwap selftests share: small files, CPUs, cgroups, processes
 *
 * The functions of the *_util files return a value or a negative errno and judge nothing:
 * the tests do. None of them needs kselftest_harness.h, whose variables exist once in each
 * file that includes it; so stress and fault_load, which are no tests, use them as well.
 * What needs the harness is in harness.h.
 */
#ifndef SSW_UTIL_H
#define SSW_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define SSW_SYS		"/sys/kernel/mm/scaleswap"
#define SSW_CPUS	"/sys/devices/system/cpu"
#define SSW_NODES	"/sys/devices/system/node"
#define SSW_THP		"/sys/kernel/mm/transparent_hugepage"
#define SSW_CG		"/sys/fs/cgroup"

/*
 * How many seconds a test waits for a page to be written or freed, or for an event to be
 * counted. This is a guard against hangs. A busy host makes all of these slow, so it is
 * long. It is shorter than the guard of the script that boots guests, so that the test can
 * say what is missing.
 */
#define SSW_PATIENCE	300

/* Repeat the body until it breaks or returns, for SSW_PATIENCE seconds; at least once. */
#define ssw_for_looks(i)						\
	for (long i = 0, i##_end = ssw_seconds() + SSW_PATIENCE;	\
	     !i || ssw_seconds() < i##_end; i++)

long ssw_seconds(void);

/* --- small files --------------------------------------------------------- */

#define SSW_NO_VALUE	(-9999LL)	/* the file is not there, or no number */

int ssw_write_n(const char *path, const char *val, size_t n);
int ssw_write(const char *path, const char *val);
int ssw_read(const char *path, char *buf, size_t len);
long long ssw_num(const char *path);
long long ssw_stat(const char *name);
long long ssw_proc_num(const char *file, const char *key);

bool ssw_generations(void);

#define ssw_vmstat(key)		ssw_proc_num("/proc/vmstat", key)
#define ssw_meminfo(key)	ssw_proc_num("/proc/meminfo", key)

/* --- CPUs and nodes ------------------------------------------------------ */

int ssw_cpulist(const char *path, cpu_set_t *set);
int ssw_online(cpu_set_t *set);
int ssw_nr_possible(void);
int ssw_node_of(int cpu);
int ssw_set_online(int cpu, bool on);
void ssw_all_online(void);
int ssw_pin(int cpu);
int ssw_pin_task(pid_t pid, int cpu);
pid_t ssw_task(const char *comm);

/* --- memory control groups ----------------------------------------------- */

int ssw_cgroup_enter(const char *name);
void ssw_cgroup_leave(const char *name);
int ssw_cgroup_set(const char *name, const char *file, long long bytes);
long long ssw_cgroup_stat(const char *name, const char *key);
void ssw_evict(const char *cgroup);

/* --- processes ----------------------------------------------------------- */

pid_t ssw_fork(void);
int ssw_join(pid_t pid);
int ssw_charge_on_each_cpu(const char *procs);
void *ssw_shared(size_t bytes);
uint64_t ssw_random(uint64_t *state);

/* --- the kernel log and traces ------------------------------------------- */

#define SSW_TRACE	"/sys/kernel/tracing/"

int ssw_log_from_here(void);
int ssw_splats(int fd);
void ssw_trace_empty(const char *path);
int ssw_trace_start(const char *const *events);
void ssw_trace_stop(void);

#endif /* SSW_UTIL_H */
