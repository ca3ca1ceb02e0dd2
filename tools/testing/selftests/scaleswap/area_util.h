/* SPDX-License-Identifier: GPL-2.0 */
/*
 * area_util.h - swap areas for the ScaleSwap selftests: made, turned on, looked at
 *
 * The functions write swap headers themselves and call swapon(2) directly: mkswap(8) and
 * swapon(8) for each of 247 areas would take minutes in an emulated guest.
 */
#ifndef SSW_AREA_UTIL_H
#define SSW_AREA_UTIL_H

#include <sys/swap.h>

#include "page_util.h"

#define SSW_BIND	"/proc/sys/vm/scaleswap/bind"
#define SSW_MAX_AREAS	247

/*
 * How many slots may be neither in a page table nor free when an area counts
 * as full or as empty: a kernel may keep freed slots back for a while in the
 * per-CPU caches (SWAP_SLOTS_CACHE_SIZE a CPU and direction).
 */
#define SSW_SLACK	64

/* --- areas in sysfs ------------------------------------------------------ */

void ssw_area_path(char *buf, size_t len, int type, const char *attr);
bool ssw_area_exists(int type);
long long ssw_area(int type, const char *attr);
int ssw_area_str(int type, const char *attr, char *buf, size_t len);
int ssw_rehome(int type, const char *cpu);
int ssw_area_count(void);
long long ssw_sum(const char *attr);
int ssw_type_of(const char *file);
bool ssw_has_deleg(void);
int ssw_auto_choice(const int *areas, int device_node);

/* --- swapon and swapoff -------------------------------------------------- */

#define SSW_MANY	16

/* One area on each of the first CPUs: on spare devices first, then on files. */
struct ssw_areas {
	int n;
	int cpu[SSW_MANY], type[SSW_MANY];
	char path[SSW_MANY][256];
};

int ssw_swapon_flags(const char *path, int flags);
int ssw_swapon(const char *path);
int ssw_swapon_prio(const char *path, int prio);
int ssw_swapoff(const char *path);
int ssw_bind(const char *val);
int ssw_bind_cpu(int cpu);
int ssw_on(const char *path, const char *bind);
int ssw_on_cpu(const char *path, int cpu);
int ssw_areas_on(struct ssw_areas *a, unsigned int pages, int max);

/* --- /proc/swaps --------------------------------------------------------- */

struct ssw_swap {
	char path[256];
	char kind[32];
	long long kb, used_kb;
	int prio;
};

int ssw_proc_swaps(struct ssw_swap *s, int max);
int ssw_find_swap(const struct ssw_swap *s, int n, const char *path);
void ssw_swapoff_all(void);

/* --- swap files and devices ---------------------------------------------- */

struct ssw_header {
	char bootbits[1024];
	uint32_t version, last_page, nr_badpages;
	uint8_t uuid[16];
	char label[16];
	uint32_t padding[117];
	uint32_t badpages[637];
	char gap[2];
	char magic[10];
} __attribute__((packed));

_Static_assert(sizeof(struct ssw_header) == SSW_PAGE, "a swap header is one page");

void ssw_fill_header(struct ssw_header *h, unsigned int last_page);
int ssw_put_header(const char *path, const struct ssw_header *h);
int ssw_mkswap(const char *path, unsigned int pages);
int ssw_mkfile(const char *path, unsigned int pages);
const char *ssw_dir(void);
const char *ssw_file(int nr);
const char *ssw_bdev(int nr);
long long ssw_discarded(const char *dev);
int ssw_partition(const char *disk, int nr, long long start, long long length);

/* --- 247 small areas, for the tests that need types beyond 127 ------------ */

#define WIDE_PAGES	63	/* usable pages of each area */

const char *wide_file(int nr);
int wide_files(int n);
int wide_on(int n, const char *bind);

/* --- everything given back ----------------------------------------------- */

long long ssw_left_in_swap(const char *group, int seconds);
long long ssw_used_at_most(long long max);

/* --- the state every test starts from and leaves ------------------------- */

#define SSW_NEED_ON	1	/* booted with scaleswap=on */
#define SSW_NEED_DIR	2	/* SSW_DIR on a file system that takes swap files */
#define SSW_NEED_BDEV	4	/* a spare block device */
#define SSW_NEED_CG	8	/* cgroup v2 with memory; the caller is moved into "ssw" */

void ssw_clean(void);
const char *ssw_start(int need);
void ssw_end(void);

#endif /* SSW_AREA_UTIL_H */
