// SPDX-License-Identifier: GPL-2.0
/*
 * area_util.c - swap areas for the ScaleSwap selftests: made, turned on, looked at
 */
#include <dirent.h>
#include <linux/blkpg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "area_util.h"

/* --- areas in sysfs ------------------------------------------------------ */

void ssw_area_path(char *buf, size_t len, int type, const char *attr)
{
	snprintf(buf, len, SSW_SYS "/areas/%d%s%s", type, attr ? "/" : "", attr ? attr : "");
}

bool ssw_area_exists(int type)
{
	char path[256];
	struct stat st;

	ssw_area_path(path, sizeof(path), type, NULL);
	return !stat(path, &st);
}

long long ssw_area(int type, const char *attr)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, attr);
	return ssw_num(path);
}

int ssw_area_str(int type, const char *attr, char *buf, size_t len)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, attr);
	return ssw_read(path, buf, len);
}

int ssw_rehome(int type, const char *cpu)
{
	char path[256];

	ssw_area_path(path, sizeof(path), type, "cpu");
	return ssw_write(path, cpu);
}

int ssw_area_count(void)
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

/* The sum of one value over all areas. */
long long ssw_sum(const char *attr)
{
	DIR *d = opendir(SSW_SYS "/areas");
	struct dirent *e;
	long long sum = 0, v;

	if (!d)
		return SSW_NO_VALUE;
	while ((e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		v = ssw_area(atoi(e->d_name), attr);
		if (v != SSW_NO_VALUE)
			sum += v;
	}
	closedir(d);
	return sum;
}

/* The type of the area on @file, from sysfs; -1: there is none. */
int ssw_type_of(const char *file)
{
	char path[512];

	for (int t = 0; t < 256; t++) {
		if (ssw_area_str(t, "path", path, sizeof(path)) > 0 && !strcmp(path, file))
			return t;
	}
	return -1;
}

/* The kernel has delegation, and so its files (see the ABI document). */
bool ssw_has_deleg(void)
{
	return !access(SSW_SYS "/deleg", F_OK);
}

/*
 * The CPU that `auto` has to choose: of the online CPUs with the fewest areas, one on the
 * device's node, then the lowest.
 */
int ssw_auto_choice(const int *areas, int device_node)
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

/* --- swapon and swapoff -------------------------------------------------- */

int ssw_swapon_flags(const char *path, int flags)
{
	return swapon(path, flags) ? -errno : 0;
}

int ssw_swapon(const char *path)
{
	return ssw_swapon_flags(path, 0);
}

int ssw_swapon_prio(const char *path, int prio)
{
	return ssw_swapon_flags(path, SWAP_FLAG_PREFER | (prio & SWAP_FLAG_PRIO_MASK));
}

int ssw_swapoff(const char *path)
{
	return swapoff(path) ? -errno : 0;
}

int ssw_bind(const char *val)
{
	return ssw_write(SSW_BIND, val);
}

int ssw_bind_cpu(int cpu)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", cpu);
	return ssw_bind(buf);
}

/* swapon with bind set to @bind for this one call. The type, or -errno. */
int ssw_on(const char *path, const char *bind)
{
	int ret = ssw_bind(bind);

	if (!ret)
		ret = ssw_swapon(path);
	ssw_bind("off");
	return ret ? ret : ssw_type_of(path);
}

int ssw_on_cpu(const char *path, int cpu)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", cpu);
	return ssw_on(path, buf);
}

/* An area of @pages pages for each online CPU, at most @max. 0 or -errno. */
int ssw_areas_on(struct ssw_areas *a, unsigned int pages, int max)
{
	cpu_set_t online;
	int ret;

	memset(a, 0, sizeof(*a));
	ret = ssw_online(&online);
	if (ret)
		return ret;
	for (int c = 0; c < CPU_SETSIZE && a->n < max && a->n < SSW_MANY; c++) {
		const char *dev = ssw_bdev(a->n);

		if (!CPU_ISSET(c, &online))
			continue;
		strcpy(a->path[a->n], dev ? dev : ssw_file(a->n));
		ret = dev ? ssw_mkswap(dev, pages) : ssw_mkfile(a->path[a->n], pages);
		if (!ret)
			ret = ssw_on_cpu(a->path[a->n], c);
		if (ret < 0)
			return ret;
		a->cpu[a->n] = c;
		a->type[a->n++] = ret;
	}
	return a->n ? 0 : -ENODEV;
}

/* --- /proc/swaps --------------------------------------------------------- */

/* /proc/swaps. The number of lines, or -errno. */
int ssw_proc_swaps(struct ssw_swap *s, int max)
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
int ssw_find_swap(const struct ssw_swap *s, int n, const char *path)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(s[i].path, path))
			return i;
	return -1;
}

void ssw_swapoff_all(void)
{
	static struct ssw_swap s[300];
	int n = ssw_proc_swaps(s, 300);

	for (int i = 0; i < n; i++)
		swapoff(s[i].path);
}

/* --- swap files and devices ---------------------------------------------- */

void ssw_fill_header(struct ssw_header *h, unsigned int last_page)
{
	memset(h, 0, sizeof(*h));
	h->version = 1;
	h->last_page = last_page;
	memcpy(h->magic, "SWAPSPACE2", 10);
}

int ssw_put_header(const char *path, const struct ssw_header *h)
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
int ssw_mkswap(const char *path, unsigned int pages)
{
	struct ssw_header h;

	ssw_fill_header(&h, pages);
	return ssw_put_header(path, &h);
}

/* A new swap file with @pages usable pages. */
int ssw_mkfile(const char *path, unsigned int pages)
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

const char *ssw_dir(void)
{
	const char *d = getenv("SSW_DIR");

	return d ? d : "/mnt/scaleswap";
}

/* The path of swap file @nr; valid until the eighth call from now. */
const char *ssw_file(int nr)
{
	static char buf[8][256];
	static int at;

	at = (at + 1) % 8;
	snprintf(buf[at], sizeof(buf[at]), "%s/swap%03d", ssw_dir(), nr);
	return buf[at];
}

/* The @nr-th spare block device (SSW_BDEVS, separated by spaces), or NULL. */
const char *ssw_bdev(int nr)
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

/*
 * 512-byte sectors that a drive has discarded. The block layer counts them before it ends the
 * bio, and requests after that: who waited for a discard may not find its request counted yet.
 */
long long ssw_discarded(const char *dev)
{
	char path[128], buf[512], *p = buf;
	long long v = SSW_NO_VALUE;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", strrchr(dev, '/') + 1);
	if (ssw_read(path, buf, sizeof(buf)) <= 0)
		return SSW_NO_VALUE;
	for (int i = 0; i < 14; i++)
		v = strtoll(p, &p, 10);
	return v;
}

/* Add (length 0: delete) partition @nr of a whole disk, without a table. */
int ssw_partition(const char *disk, int nr, long long start, long long length)
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

/* --- 247 small areas ----------------------------------------------------- */

const char *wide_file(int nr)
{
	static char buf[8][256];
	static int at;

	at = (at + 1) % 8;
	snprintf(buf[at], sizeof(buf[at]), "%s/wide%03d", ssw_dir(), nr);
	return buf[at];
}

/* Make the files, once: making them takes longer than using them. */
int wide_files(int n)
{
	for (int i = 0; i < n; i++) {
		struct stat st;
		int ret;

		if (!stat(wide_file(i), &st) && st.st_size == (WIDE_PAGES + 1) * SSW_PAGE)
			continue;
		ret = ssw_mkfile(wide_file(i), WIDE_PAGES);
		if (ret) {
			printf("# cannot make %s: %s\n", wide_file(i), strerror(-ret));
			return ret;
		}
	}
	return 0;
}

/* All of them on, bound to @bind. 0, or the errno of the first that fails. */
int wide_on(int n, const char *bind)
{
	int ret = ssw_bind(bind);

	for (int i = 0; i < n && !ret; i++) {
		ret = ssw_swapon(wide_file(i));
		if (ret)
			printf("# swapon of area %d: %s\n", i, strerror(-ret));
	}
	ssw_bind("off");
	return ret;
}

/* --- everything given back ----------------------------------------------- */

/* Pages that all processes have in swap: those of the test itself, the shell. */
static long long ssw_all_vmswap(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	long long sum = 0, kb;
	char path[300];

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
		kb = ssw_proc_num(path, "VmSwap");
		if (kb > 0)
			sum += kb / 4;
	}
	closedir(d);
	return sum;
}

/*
 * Wait until nothing is in swap: 0, or the pages left after @seconds.
 *
 * A page that was under writeback when its process ended stays in the swap cache until
 * reclaim meets it, as in the base kernel: hence the reclaim. @group is the group that is
 * charged for it. A guest that was short of memory has swapped out pages of running
 * processes, which are not left over. If these have used them since, they keep their slots
 * all the same until reclaim meets them: then they are out again, and counted.
 */
long long ssw_left_in_swap(const char *group, int seconds)
{
	char path[256];
	long long left = 0;

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	for (int i = 0; i < seconds * 10; i++) {
		left = (ssw_meminfo("SwapTotal") - ssw_meminfo("SwapFree")) / 4;
		if (!left)
			left = ssw_sum("used");
		if (!left && ssw_has_deleg())
			left = ssw_sum("tables");
		if (!left)
			return 0;
		if (i >= 30 && ssw_sum("used") <= ssw_all_vmswap()) {
			printf("# %lld slots belong to processes that go on\n", ssw_sum("used"));
			return 0;
		}
		ssw_write(path, "16M");
		if (i >= 30)
			ssw_write(SSW_CG "/memory.reclaim", "16M");
		usleep(100000);
	}
	printf("# left: SwapTotal %lld kB, SwapFree %lld kB, SwapCached %lld kB, used %lld pages, %lld of processes, tables %lld\n",
	       ssw_meminfo("SwapTotal"), ssw_meminfo("SwapFree"), ssw_meminfo("SwapCached"),
	       ssw_sum("used"), ssw_all_vmswap(), ssw_has_deleg() ? ssw_sum("tables") : 0);
	return left;
}

/*
 * Wait until not more than @max slots are in use: for a body, whose own pages may be in
 * swap. Slots of pages under writeback are freed late.
 */
long long ssw_used_at_most(long long max)
{
	long long used = 0;

	ssw_for_looks(i) {
		used = ssw_sum("used");
		if (used <= max)
			break;
		/* In a small group a reclaim takes long: not every time. */
		if (i % 10 == 5)
			ssw_write(SSW_CG "/ssw/memory.reclaim", "4M");
		usleep(20000);
	}
	return used;
}

/* --- the state every test starts from and leaves ------------------------- */

void ssw_clean(void)
{
	ssw_all_online();
	ssw_swapoff_all();
	if (!access(SSW_BIND, F_OK))
		ssw_bind("off");
}

/* Start clean. NULL, or why the test cannot run here. */
const char *ssw_start(int need)
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

void ssw_end(void)
{
	ssw_clean();
	ssw_cgroup_leave("ssw");
}
