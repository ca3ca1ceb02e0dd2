/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lru_util.h - LRU shards for the ScaleSwap selftests: the dump in debugfs, a group, and
 * processes in it that do what they are told
 */
#ifndef SSW_LRU_UTIL_H
#define SSW_LRU_UTIL_H

#include "area_util.h"

#define LRU	SSW_SYS "/lru/"
#define DUMP	"/sys/kernel/debug/scaleswap/lru"
#define GEN	"/sys/kernel/mm/lru_gen/enabled"
#define FAIL	"/sys/kernel/debug/failslab/"
#define BLOCKS	"/sys/devices/system/memory"
#define GROUP	"ssw-lru"
#define PAGES	1500
/* Pages that a process has besides, such as its stack. Far fewer than are counted. */
#define OWN	100

/* --- the dump ------------------------------------------------------------ */

enum { INACTIVE_ANON, ACTIVE_ANON, INACTIVE_FILE, ACTIVE_FILE, UNEVICTABLE, LISTS };
#define ANON	(1 << INACTIVE_ANON | 1 << ACTIVE_ANON)
#define FILES	(1 << INACTIVE_FILE | 1 << ACTIVE_FILE)
#define LOCKED	(1 << UNEVICTABLE)
#define ANY	-1

struct row {
	int memcg, nid, shard;
	long size[LISTS];
	long posted;
	int age[UNEVICTABLE];	/* of the oldest pages, by list */
};

extern const char * const list_name[LISTS];
/* What dump() found last. */
extern struct row *rows;
extern int nr_rows;

int dump(void);
long in_dump(int memcg, int nid, int shard, unsigned int lists);
long long value(const char *name);
const char *cannot(void);
int shard_of(int cpu);
int age_of(int cpu, int list);
void drain(void);
bool two_cpus(int *a, int *b);
bool four_cpus(int cpu[4]);

/* --- a group ------------------------------------------------------------- */

extern int memcg;	/* the number of GROUP in the dump */

long long cg(const char *group, const char *file, const char *key);
void cg_reclaim(const char *group, long pages);
void cg_reclaim_as(const char *group, long pages, int swappiness);
int cg_remove(const char *group);
int cg_fresh(void);
long at(int cpu, unsigned int lists);
void show_group(void);
bool stats_caught_up(void);
long evict(long most);
long long kills(void);

/* --- processes in it ----------------------------------------------------- */

enum op {
	REST, PIN, STAMP, CHECK, OUT, COLD, LOCK, UNLOCK, LOCK_NEW, USE, DROP, BREAK, MOVE,
	SPLIT, RESIDENT, IN_AREA, FAULTS, HOLES, EVEN, NODE, WHERE, FILE_NEW, FILE_READ,
	HOLD, FILE_HOLD, FILE_RANDOM, COLLAPSE, FLUSH_TLB, LEAVE,
};

/* A process that carries out an op at a time, with pages that only it touches. */
struct mate {
	pid_t pid;
	char *p;
	size_t pages;
	struct {
		volatile int op;
		volatile size_t from, n;
		volatile long arg, ret;
	} *c;
};

#define DIED	(-9999)		/* instead of an answer */

long file_cached(int file, size_t n);
bool mate_start(struct mate *m, int cpu, size_t pages, bool huge);
void ask(struct mate *m, int op, size_t from, size_t n, long arg);
long answer(struct mate *m);
long tell(struct mate *m, int op, size_t from, size_t n, long arg);
long tell_all(struct mate *m, int op, long arg);
long stamp_on(struct mate *m, long *at, long nr, long pages, long gen);
int mate_end(struct mate *m);
int roomy_node(const int cpu[4]);
long crowd(struct mate *hog, int node, long room, struct mate m[4], long cold);

/*
 * --- areas whose writes are done when they are submitted ------------------
 *
 * RAM that null_blk keeps, without an interrupt. On a drive the number of pages that are
 * still under writeback when reclaim meets them again depends on the speed of the host;
 * reclaim then takes other pages instead: those of other CPUs.
 */

#define INSTANT	"/sys/kernel/config/nullb/sswram"

void instant_gone(void);
int instant_on(struct ssw_areas *a, unsigned int pages, int node, const char *ns);

/* --- sums ---------------------------------------------------------------- */

int nodes(void);
int sums_differ(bool say);

#endif /* SSW_LRU_UTIL_H */
