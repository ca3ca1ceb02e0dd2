/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cg_util.h - memory control groups of a test's own, and processes in them
 *
 * A group is named by its path below the root of the hierarchy.
 */
#ifndef SSW_CG_UTIL_H
#define SSW_CG_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

long long cg(const char *group, const char *file, const char *key);
int cg_make(const char *group);
int cg_remove(const char *group);
int cg_move(const char *group, pid_t pid);
void cg_reclaim(const char *group);
long long cg_disagrees(const char *group);
long long cg_left(const char *group);

/* A process in a group, told by a number what to do next. */
struct member {
	pid_t pid;
	volatile int *step;
	volatile size_t *part;	/* the first page, and how many */
	char *p;
	int status;		/* when it has left */
};

/* PIN: to the CPU that @from of member_part() names. CLEAR: write zeroes, which need no I/O. */
enum { REST, STAMP, CLEAR, OUT, CHECK, DROP_HALF, DROP, PIN, LEAVE };

bool member_part(struct member *m, int step, size_t from, size_t nr);
bool member_step(struct member *m, int step);
struct member member_start(const char *group, int cpu, size_t pages, uint64_t gen);

#endif /* SSW_CG_UTIL_H */
