/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the ScaleSwap selftests share: areas, sysfs, cgroups, pages.
 *
 * The helpers return a value or a negative errno and judge nothing: the
 * tests do. They make swap headers themselves and call swapon(2) directly,
 * because 247 areas made by mkswap(8) and swapon(8) would take minutes in an
 * emulated guest.
 */
#ifndef SSW_TEST_H
#define SSW_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"

/*
 * A guard against hangs only, for where nothing outside watches: no test passes or fails
 * by its speed. Hours, because alarm() goes by a clock that does not stop while an emulated
 * guest waits for a busy host.
 */
#define SSW_TIMEOUT	7200
#define SSW_TEST_F(fixture, name) TEST_F_TIMEOUT(fixture, name, SSW_TIMEOUT)

/*
 * How long to wait, in seconds, for what comes of itself: written, freed, counted. Another
 * guard against hangs. It is long, as a host that is busy makes all of that slow, and
 * shorter than that of the script that boots guests, so that a test can say what did not come.
 */
#define SSW_PATIENCE	300

static inline long ssw_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Look again and again, at least once; the body leaves when it has seen enough. */
#define ssw_for_looks(i)						\
	for (long i = 0, i##_end = ssw_seconds() + SSW_PATIENCE;	\
	     !i || ssw_seconds() < i##_end; i++)

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE	14
#endif
#ifndef MADV_NOHUGEPAGE
#define MADV_NOHUGEPAGE	15
#endif

#define SSW_PAGE	4096UL
#define SSW_SYS		"/sys/kernel/mm/scaleswap"
#define SSW_BIND	"/proc/sys/vm/scaleswap/bind"
#define SSW_CPUS	"/sys/devices/system/cpu"
#define SSW_NODES	"/sys/devices/system/node"
#define SSW_THP		"/sys/kernel/mm/transparent_hugepage"
#define SSW_CG		"/sys/fs/cgroup"
#define SSW_MAX_AREAS	247

/*
 * How many slots may be neither in a page table nor free when an area counts
 * as full or as empty: a kernel may keep freed slots back for a while in the
 * per-CPU caches (SWAP_SLOTS_CACHE_SIZE a CPU and direction).
 */
#define SSW_SLACK	64

/* --- small files ------------------------------------------------------- */

static inline int ssw_write_n(const char *path, const char *val, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, val, n) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static inline int ssw_write(const char *path, const char *val)
{
	return ssw_write_n(path, val, strlen(val));
}

/* Read a whole small file without its last newline. */
static inline int ssw_read(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, got = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + got, len - 1 - got)) > 0)
		got += n;
	if (n < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	if (got && buf[got - 1] == '\n')
		got--;
	buf[got] = 0;
	return got;
}

#define SSW_NO_VALUE	(-9999LL)	/* the file is not there, or no number */

static inline long long ssw_num(const char *path)
{
	char buf[64], *end;
	long long v;

	if (ssw_read(path, buf, sizeof(buf)) <= 0)
		return SSW_NO_VALUE;
	v = strtoll(buf, &end, 10);
	return *end ? SSW_NO_VALUE : v;
}

static inline long long ssw_stat(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_SYS "/stats/%s", name);
	return ssw_num(path);
}

/* --- areas ------------------------------------------------------------- */

static inline void ssw_area_path(char *buf, size_t len, int type, const char *attr)
{
	snprintf(buf, len, SSW_SYS "/areas/%d%s%s", type, attr ? "/" : "", attr ? attr : "");
}

static inline bool ssw_area_exists(int type)
{
	char path[256];
	struct stat st;

	ssw_area_path(path, sizeof(path), type, NULL);
	return !stat(path, &st);
}

static inline long long ssw_area(int type, const char *attr)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, attr);
	return ssw_num(path);
}

static inline int ssw_area_str(int type, const char *attr, char *buf, size_t len)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, attr);
	return ssw_read(path, buf, len);
}

static inline int ssw_rehome(int type, const char *cpu)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, "cpu");
	return ssw_write(path, cpu);
}

static inline int ssw_area_count(void)
{
	DIR *d = opendir(SSW_SYS "/areas");
	struct dirent *e;
	int n = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			n++;
	closedir(d);
	return n;
}

/* The type of the area on @file, from sysfs; -1: there is none. */
static inline int ssw_type_of(const char *file)
{
	char path[512];

	for (int t = 0; t < 256; t++) {
		if (ssw_area_str(t, "path", path, sizeof(path)) > 0 && !strcmp(path, file))
			return t;
	}
	return -1;
}

static inline int ssw_swapon_flags(const char *path, int flags)
{
	return swapon(path, flags) ? -errno : 0;
}

static inline int ssw_swapon(const char *path)
{
	return ssw_swapon_flags(path, 0);
}

static inline int ssw_swapon_prio(const char *path, int prio)
{
	return ssw_swapon_flags(path, SWAP_FLAG_PREFER | (prio & SWAP_FLAG_PRIO_MASK));
}

static inline int ssw_swapoff(const char *path)
{
	return swapoff(path) ? -errno : 0;
}

static inline int ssw_bind(const char *val)
{
	return ssw_write(SSW_BIND, val);
}

static inline int ssw_bind_cpu(int cpu)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", cpu);
	return ssw_bind(buf);
}

/* swapon with bind set to @bind for this one call. The type, or -errno. */
static inline int ssw_on(const char *path, const char *bind)
{
	int ret = ssw_bind(bind);

	if (!ret)
		ret = ssw_swapon(path);
	ssw_bind("off");
	return ret ? ret : ssw_type_of(path);
}

static inline int ssw_on_cpu(const char *path, int cpu)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", cpu);
	return ssw_on(path, buf);
}

struct ssw_swap {
	char path[256];
	char kind[32];
	long long kb, used_kb;
	int prio;
};

/* /proc/swaps. The number of lines, or -errno. */
static inline int ssw_proc_swaps(struct ssw_swap *s, int max)
{
	FILE *f = fopen("/proc/swaps", "re");
	char line[512];
	int n = 0;

	if (!f)
		return -errno;
	if (!fgets(line, sizeof(line), f))
		n = -EIO;
	while (n >= 0 && fgets(line, sizeof(line), f)) {
		if (n == max ||
		    sscanf(line, "%255s %31s %lld %lld %d", s[n].path, s[n].kind, &s[n].kb,
			   &s[n].used_kb, &s[n].prio) != 5)
			n = -EIO;
		else
			n++;
	}
	fclose(f);
	return n;
}

/* Index in @s of the area on @path, or -1. */
static inline int ssw_find_swap(const struct ssw_swap *s, int n, const char *path)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(s[i].path, path))
			return i;
	return -1;
}

static inline void ssw_swapoff_all(void)
{
	static struct ssw_swap s[300];
	int n = ssw_proc_swaps(s, 300);

	for (int i = 0; i < n; i++)
		swapoff(s[i].path);
}

/* --- swap files and devices -------------------------------------------- */

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

static inline void ssw_fill_header(struct ssw_header *h, unsigned int last_page)
{
	memset(h, 0, sizeof(*h));
	h->version = 1;
	h->last_page = last_page;
	memcpy(h->magic, "SWAPSPACE2", 10);
}

static inline int ssw_put_header(const char *path, const struct ssw_header *h)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	/* No fsync: swapon(2) reads it through the page cache. */
	if (pwrite(fd, h, sizeof(*h), 0) != sizeof(*h))
		ret = -errno;
	close(fd);
	return ret;
}

/* Format @path so that @pages pages of it can be used. */
static inline int ssw_mkswap(const char *path, unsigned int pages)
{
	struct ssw_header h;

	ssw_fill_header(&h, pages);
	return ssw_put_header(path, &h);
}

/* A new swap file with @pages usable pages. */
static inline int ssw_mkfile(const char *path, unsigned int pages)
{
	int fd, ret = 0;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fallocate(fd, 0, 0, (off_t)(pages + 1) * SSW_PAGE))
		ret = -errno;
	close(fd);
	return ret ? ret : ssw_mkswap(path, pages);
}

static inline const char *ssw_dir(void)
{
	const char *d = getenv("SSW_DIR");

	return d ? d : "/mnt/scaleswap";
}

/* The path of swap file @nr; valid until the eighth call from now. */
static inline const char *ssw_file(int nr)
{
	static char buf[8][256];
	static int at;

	at = (at + 1) % 8;
	snprintf(buf[at], sizeof(buf[at]), "%s/swap%03d", ssw_dir(), nr);
	return buf[at];
}

/* The @nr-th spare block device (SSW_BDEVS, separated by spaces), or NULL. */
static inline const char *ssw_bdev(int nr)
{
	static char buf[8][64];
	static int at;
	const char *s = getenv("SSW_BDEVS");
	char *p, *copy, *save = NULL, *tok;

	if (!s)
		return NULL;
	at = (at + 1) % 8;
	copy = strdup(s);
	p = copy;
	for (tok = strtok_r(p, " ", &save); tok && nr--; tok = strtok_r(NULL, " ", &save))
		;
	if (tok)
		snprintf(buf[at], sizeof(buf[at]), "%s", tok);
	free(copy);
	return tok ? buf[at] : NULL;
}

/* Add (length 0: delete) partition @nr of a whole disk, without a table. */
static inline int ssw_partition(const char *disk, int nr, long long start, long long length)
{
	struct blkpg_partition part = { .start = start, .length = length, .pno = nr };
	struct blkpg_ioctl_arg arg = {
		.op = length ? BLKPG_ADD_PARTITION : BLKPG_DEL_PARTITION,
		.datalen = sizeof(part), .data = &part,
	};
	int fd = open(disk, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = ioctl(fd, BLKPG, &arg) ? -errno : 0;
	close(fd);
	return ret;
}

/* --- CPUs and nodes ---------------------------------------------------- */

/* Read a list like 0-3,5 into @set. */
static inline int ssw_cpulist(const char *path, cpu_set_t *set)
{
	char buf[4096], *p = buf;
	int ret = ssw_read(path, buf, sizeof(buf));

	CPU_ZERO(set);
	if (ret < 0)
		return ret;
	while (*p) {
		long a = strtol(p, &p, 10), b = a;

		if (*p == '-')
			b = strtol(p + 1, &p, 10);
		for (; a <= b; a++)
			CPU_SET(a, set);
		if (*p == ',')
			p++;
		else if (*p)
			return -EINVAL;
	}
	return 0;
}

static inline int ssw_online(cpu_set_t *set)
{
	return ssw_cpulist(SSW_CPUS "/online", set);
}

/* One more than the highest possible CPU. */
static inline int ssw_nr_possible(void)
{
	cpu_set_t set;

	if (ssw_cpulist(SSW_CPUS "/possible", &set))
		return 0;
	for (int c = CPU_SETSIZE - 1; c >= 0; c--)
		if (CPU_ISSET(c, &set))
			return c + 1;
	return 0;
}

static inline int ssw_node_of(int cpu)
{
	char path[128];
	struct stat st;

	for (int n = 0; n < 64; n++) {
		snprintf(path, sizeof(path), SSW_CPUS "/cpu%d/node%d", cpu, n);
		if (!stat(path, &st))
			return n;
	}
	/* The links go with the CPU when it is offline; the lists too. */
	return -1;
}

static inline int ssw_set_online(int cpu, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), SSW_CPUS "/cpu%d/online", cpu);
	return ssw_write(path, on ? "1" : "0");
}

static inline void ssw_all_online(void)
{
	for (int c = 1; c < ssw_nr_possible(); c++)
		ssw_set_online(c, true);
}

static inline int ssw_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/*
 * What `auto` has to choose: among the online CPUs with the fewest areas, one
 * on the device's node, then the lowest.
 */
static inline int ssw_auto_choice(const int *areas, int device_node)
{
	int best = -1, best_local = 0;
	cpu_set_t online;

	ssw_online(&online);
	for (int c = 0; c < CPU_SETSIZE; c++) {
		int local;

		if (!CPU_ISSET(c, &online))
			continue;
		local = device_node >= 0 && ssw_node_of(c) == device_node;
		if (best < 0 || areas[c] < areas[best] ||
		    (areas[c] == areas[best] && local > best_local)) {
			best = c;
			best_local = local;
		}
	}
	return best;
}

/* --- memory control groups --------------------------------------------- */

/* Make group @name and move the caller into it. */
static inline int ssw_cgroup_enter(const char *name)
{
	char path[256], pid[16];
	int ret;

	ret = ssw_write(SSW_CG "/cgroup.subtree_control", "+memory");
	if (ret)
		return ret;
	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), SSW_CG "/%s/cgroup.procs", name);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return ssw_write(path, pid);
}

static inline void ssw_cgroup_leave(const char *name)
{
	char path[256], pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	ssw_write(SSW_CG "/cgroup.procs", pid);
	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	rmdir(path);
}

static inline int ssw_cgroup_set(const char *name, const char *file, long long bytes)
{
	char path[256], val[32];

	snprintf(path, sizeof(path), SSW_CG "/%s/%s", name, file);
	if (bytes < 0)
		strcpy(val, "max");
	else
		snprintf(val, sizeof(val), "%lld", bytes);
	return ssw_write(path, val);
}

/* A line of memory.stat, in bytes. */
static inline long long ssw_cgroup_stat(const char *name, const char *key)
{
	char path[256], line[256], k[64];
	long long v, found = SSW_NO_VALUE;
	FILE *f;

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.stat", name);
	f = fopen(path, "re");
	if (!f)
		return SSW_NO_VALUE;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld", k, &v) == 2 && !strcmp(k, key))
			found = v;
	fclose(f);
	return found;
}

/*
 * Push what is swapped out, but still cached, out of memory, so that the next
 * access reads the device. As good as it gets: other pages may go too.
 */
static inline void ssw_evict(const char *cgroup)
{
	char path[256], val[32];

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", cgroup);
	for (int i = 0; i < 10; i++) {
		long long cached = ssw_cgroup_stat(cgroup, "swapcached");

		if (cached <= 0)
			break;
		snprintf(val, sizeof(val), "%lld", cached);
		ssw_write(path, val);
	}
}

/* --- pages ------------------------------------------------------------- */

/* Pages of anonymous memory; order 0 unless @huge asks for more. */
static inline char *ssw_map(size_t pages, bool huge)
{
	size_t len = pages * SSW_PAGE, align = 2UL << 20;
	char *p = mmap(NULL, len + align, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	/* Fails where the kernel has no huge pages: then there is nothing to ask. */
	madvise(p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return p;
}

static inline uint64_t ssw_word(const char *page, uint64_t gen)
{
	uint64_t x = (uintptr_t)page ^ (gen << 48) ^ 0x5353575355ULL;

	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static const uint16_t ssw_words[] = { 0, 1, 63, 64, 200, 256, 400, 510, 511 };

/* Stamp pages with their own address and @gen. */
static inline void ssw_stamp(char *p, size_t pages, uint64_t gen)
{
	for (size_t i = 0; i < pages; i++, p += SSW_PAGE)
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++)
			((uint64_t *)p)[ssw_words[w]] = ssw_word(p, gen) + w;
}

/* How many pages do not carry their stamp; says which, for the first few. */
static inline long ssw_wrong(const char *p, size_t pages, uint64_t gen)
{
	const char *base = p;
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE) {
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++) {
			uint64_t want = ssw_word(p, gen) + w;
			uint64_t seen = ((const uint64_t *)p)[ssw_words[w]];

			if (want == seen)
				continue;
			if (wrong++ < 3) {
				printf("# page %zu word %u: %#llx where %#llx was written", i,
				       ssw_words[w], (unsigned long long)seen,
				       (unsigned long long)want);
				for (size_t j = 0; j < pages; j++)
					if (seen == ssw_word(base + j * SSW_PAGE, gen) + w)
						printf(" (the stamp of page %zu)", j);
				printf("\n");
			}
			break;
		}
	}
	return wrong;
}

#define SSW_PM_SWAP	(1ULL << 62)
#define SSW_PM_PRESENT	(1ULL << 63)

static inline uint64_t ssw_pagemap(const void *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t e = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &e, 8, (uintptr_t)addr / SSW_PAGE * 8) != 8)
		e = 0;
	close(fd);
	return e;
}

/* The documented encoding: 8 bits in bits 0-4 and 52-54. */
static inline unsigned int ssw_pm_code(uint64_t e)
{
	return (e & 31) | ((e >> 52) & 7) << 5;
}

/* The swap type, or -1 for the codes that are no area's. */
static inline int ssw_pm_type(uint64_t e)
{
	unsigned int code = ssw_pm_code(e);

	if (code < 23)
		return code;
	return code >= 32 ? (int)code - 9 : -1;
}

static inline uint64_t ssw_pm_offset(uint64_t e)
{
	return (e >> 5) & ((1ULL << 47) - 1);
}

/*
 * How many of the pages are in which area: @per[type], present ones in
 * @per[256], anything else in @per[257].
 */
static inline int ssw_where(const char *p, size_t pages, long per[258])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t e[512];

	memset(per, 0, 258 * sizeof(*per));
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < pages; ) {
		size_t n = pages - i < 512 ? pages - i : 512;

		if (pread(fd, e, n * 8, ((uintptr_t)p / SSW_PAGE + i) * 8) != (ssize_t)(n * 8)) {
			close(fd);
			return -EIO;
		}
		for (size_t j = 0; j < n; j++) {
			if (e[j] & SSW_PM_PRESENT)
				per[256]++;
			else if ((e[j] & SSW_PM_SWAP) && ssw_pm_type(e[j]) >= 0)
				per[ssw_pm_type(e[j])]++;
			else
				per[257]++;
		}
		i += n;
	}
	close(fd);
	return 0;
}

/*
 * Swap the pages out, as far as it goes. The number of pages not in memory.
 *
 * Pages that were read back keep their slots as long as these are in the swap
 * cache: a test of where pages go needs a fresh mapping.
 */
static inline long ssw_pageout(char *p, size_t pages)
{
	long per[258];

	/* A page that is just being looked at is passed over: so, some tries. */
	for (int i = 0; i < 3; i++) {
		madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
		if (ssw_where(p, pages, per))
			return -1;
		if (!per[256])
			break;
		/*
		 * Pages that were touched on another CPU may wait there to be
		 * put on the LRU, where alone reclaim finds them. Dropping
		 * clean caches is what drains these queues on all CPUs.
		 */
		ssw_write("/proc/sys/vm/drop_caches", "1");
	}
	return pages - per[256];
}

/* --- load in the background --------------------------------------------- */

struct ssw_load {
	volatile int stop;
	volatile long rounds;	/* stamped, swapped out and verified so often */
	volatile long out;	/* pages swapped out */
	volatile long wrong;	/* pages that came back wrong */
	pid_t pid;
};

static inline struct ssw_load *ssw_loads(int n)
{
	void *p = mmap(NULL, n * sizeof(struct ssw_load), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Swap @pages out and in for ever, on @cpu (-1: anywhere), until told to stop. */
static inline int ssw_load_start(struct ssw_load *l, int cpu, size_t pages)
{
	pid_t parent = getpid(), pid;
	char *p;

	memset(l, 0, sizeof(*l));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		l->pid = pid;
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (cpu >= 0)
		ssw_pin(cpu);
	p = ssw_map(pages, false);
	if (!p)
		_exit(1);
	while (!l->stop) {
		long wrong, out;

		ssw_stamp(p, pages, l->rounds + 1);
		out = ssw_pageout(p, pages);
		if (out > 0)
			l->out += out;
		wrong = ssw_wrong(p, pages, l->rounds + 1);
		l->wrong += wrong;
		/* A page that was read back keeps its slot: now and then, new ones. */
		if (l->rounds % 2 == 0)
			madvise(p, pages * SSW_PAGE, MADV_DONTNEED);
		l->rounds++;
		if (wrong)
			break;
	}
	fflush(stdout);
	_exit(l->wrong ? 1 : 0);
}

/* Wait until it did @rounds more. False: it ended, or got stuck. */
static inline bool ssw_load_more(struct ssw_load *l, long rounds)
{
	long target = l->rounds + rounds;

	/* Ten minutes: a guard against hangs, not a measure. */
	for (int i = 0; i < 60000 && l->rounds < target; i++) {
		if (kill(l->pid, 0) || waitpid(l->pid, NULL, WNOHANG) == l->pid)
			return false;
		usleep(10000);
	}
	return l->rounds >= target;
}

/* The number of wrong pages it saw, or -1 when it was killed. */
static inline long ssw_load_stop(struct ssw_load *l)
{
	int status;

	l->stop = 1;
	if (waitpid(l->pid, &status, 0) == l->pid && WIFSIGNALED(status))
		return -1;
	return l->wrong;
}

/* --- the state every test starts from and leaves ------------------------ */

#define SSW_NEED_ON	1	/* booted with scaleswap=on */
#define SSW_NEED_DIR	2	/* SSW_DIR on a file system that takes swap files */
#define SSW_NEED_BDEV	4	/* a spare block device */
#define SSW_NEED_CG	8	/* cgroup v2 with memory; the caller is moved into "ssw" */

static inline void ssw_clean(void)
{
	ssw_all_online();
	ssw_swapoff_all();
	if (!access(SSW_BIND, F_OK))
		ssw_bind("off");
}

/* Start clean. NULL, or why the test cannot run here. */
static inline const char *ssw_start(int need)
{
	struct stat st, up;
	char path[300];

	if (geteuid())
		return "needs root";
	if ((need & SSW_NEED_ON) && ssw_num(SSW_SYS "/enabled") != 1)
		return "the kernel was not booted with scaleswap=on";
	ssw_clean();
	if (need & SSW_NEED_DIR) {
		snprintf(path, sizeof(path), "%s/..", ssw_dir());
		if (stat(ssw_dir(), &st) || stat(path, &up) || st.st_dev == up.st_dev)
			return "SSW_DIR is not a mounted ext4 of its own (see run-in-guest.sh)";
	}
	if ((need & SSW_NEED_BDEV) && !ssw_bdev(0))
		return "SSW_BDEVS names no spare block device";
	if ((need & SSW_NEED_CG) && ssw_cgroup_enter("ssw"))
		return "no memory controller of cgroup v2 at " SSW_CG;
	return NULL;
}

static inline void ssw_end(void)
{
	ssw_clean();
	ssw_cgroup_leave("ssw");
}

/* The fixture that most tests use; @needs is a mask of SSW_NEED_*. */
#define SSW_FIXTURE(name, needs)				\
FIXTURE(name) { int unused; };					\
FIXTURE_SETUP(name)						\
{								\
	const char *why = ssw_start(needs);			\
								\
	if (why)						\
		SKIP(return, "%s", why);			\
}								\
FIXTURE_TEARDOWN(name)						\
{								\
	ssw_end();						\
}

#endif /* SSW_TEST_H */
