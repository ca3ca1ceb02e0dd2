/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault_util.h - critical faults for the ScaleSwap selftests: tunables, counters, interrupts,
 * pages that are really out, and processes that fault on their pages and look at the clock
 */
#ifndef SSW_FAULT_UTIL_H
#define SSW_FAULT_UTIL_H

#include <stddef.h>

#include "area_util.h"

#define FAULT		SSW_SYS "/fault/"
#define IO		SSW_SYS "/io/"
#define CLUSTER		"/proc/sys/vm/page-cluster"
#define VMA_RA		"/sys/kernel/mm/swap/vma_ra_enabled"

/* --- tunables and counters ----------------------------------------------- */

/* All counters at one time; the difference of two is what happened between them. */
struct fault_count {
	long long direct, bio, irq, late, again;
	long long no_poll, busy, down, unfit, limited;
	long long pswpin, major, irqs;
};

int fault_set(const char *name, const char *value);
long long fault_num(const char *name);
int io_set(const char *name, const char *value);
long long io_num(const char *name);
bool fault_is(const char *mode);
void fault_defaults(void);
long long fault_irqs(const char *ctrl);
void fault_read(struct fault_count *c, const char *ctrl);
struct fault_count fault_since(const struct fault_count *from, const char *ctrl);
void fault_print(const char *what, const struct fault_count *c);

/* --- devices ------------------------------------------------------------- */

const char *fault_ctrl(const char *dev);
long long fault_dev(const char *dev, const char *file);
int fault_nvme_str(const char *ctrl, const char *file, char *buf, size_t len);
long long fault_nvme_num(const char *ctrl, const char *file);
bool fault_drive(const char *serial, char *dev, size_t len);
bool fault_can_direct(const char *dev);
bool fault_can_bio(const char *dev);
bool fault_booted_with(const char *word);
int fault_said(const char *a, const char *b);
int fault_reset(const char *ctrl);
int fault_swapoff(const char *path, int seconds);
long long fault_group_io(const char *group, const char *dev, const char *key);
const char *fault_cannot(void);

/* --- RAM devices with poll queues ---------------------------------------- */

#define FAULT_NULLB	"/dev/sswpoll"
#define FAULT_NULLB_DIR	"/sys/kernel/config/nullb/"

int fault_nullb_set(const char *name, const char *file, const char *value);
void fault_nullb_gone_at(const char *name);
void fault_nullb_gone(void);
int fault_nullb_at(const char *name, const char *poll, const char *depth, const char *ns);
int fault_nullb(const char *poll, const char *depth, const char *ns);

/* --- pages that are out -------------------------------------------------- */

long long fault_evict(const char *group);
char *fault_map_alone(size_t pages, bool shared);
char *fault_out(size_t pages, uint64_t gen, bool shared);
bool fault_out_by(int cpu, int type, char *p, size_t pages, uint64_t gen);
long fault_in_slot(const char *p, size_t pages, unsigned long slot);
long fault_write_out(char *p, size_t pages);

/* --- what tasks do ------------------------------------------------------- */

char fault_state(pid_t pid);
pid_t fault_worker(const char *wq);
int fault_in_cache(char *p, size_t pages);

/* --- processes that look at the clock ------------------------------------ */

/*
 * No fault may take longer, whatever happens to the device. NVMe aborts a command after
 * 30 s, so a fault whose completion goes unnoticed takes longer than this; a fault on a busy
 * host does not.
 */
#define FAULT_HANG_NS	25000000000LL

/**
 * struct fault_load - a process that has its pages swapped out and touches them
 * @stop: told to end
 * @rounds: of stamping, swapping out and looking
 * @touched: pages touched
 * @wrong: pages that came back wrong
 * @lost: pages that could not be read (SIGBUS), as the device was gone
 * @max_ns: the longest that touching a page took
 * @since: when the touch that is under way began; 0: none is
 * @pid: of the process
 */
struct fault_load {
	volatile int stop;
	volatile long rounds, touched, wrong, lost;
	volatile long long max_ns, since;
	pid_t pid;
};

long long fault_now(void);
bool fault_touch(char *page, uint64_t gen, bool write, bool shared);
void fault_may_lose(struct fault_load *l, char *p, char *end);
int fault_load_start(struct fault_load *l, int n, bool pin, size_t pages, const char *group);
long long fault_load_longest(const struct fault_load *l, int n);
long fault_load_sum(const struct fault_load *l, int n, size_t field);
bool fault_load_more(struct fault_load *l, int n, long rounds);
int fault_load_stop(struct fault_load *l, int n);
void fault_load_print(const char *what, const struct fault_load *l, int n);

#define FAULT_SUM(l, n, field)	fault_load_sum(l, n, offsetof(struct fault_load, field))

#endif /* SSW_FAULT_UTIL_H */
