// SPDX-License-Identifier: GPL-2.0
/*
 * fault_util.c - critical faults for the ScaleSwap selftests: tunables, counters, interrupts,
 * pages that are really out, and processes that fault on their pages and look at the clock
 */
#include <dirent.h>
#include <limits.h>
#include <linux/kernel-page-flags.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "fault_util.h"

#ifndef MADV_REMOVE
#define MADV_REMOVE	9
#endif

/* --- tunables and counters ----------------------------------------------- */

static int set_in(const char *dir, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	return ssw_write(path, value);
}

static long long num_in(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	return ssw_num(path);
}

int fault_set(const char *name, const char *value)
{
	return set_in(FAULT, name, value);
}

long long fault_num(const char *name)
{
	return num_in(FAULT, name);
}

int io_set(const char *name, const char *value)
{
	return set_in(IO, name, value);
}

long long io_num(const char *name)
{
	return num_in(IO, name);
}

bool fault_is(const char *mode)
{
	char now[32];

	return ssw_read(FAULT "mode", now, sizeof(now)) > 0 && !strcmp(now, mode);
}

/* The mode stays off if the kernel was booted without the mechanism. */
void fault_defaults(void)
{
	fault_set("mode", "auto");
	fault_set("poll_us", "100");
	fault_set("readahead", "1");
	io_set("bio_pages", "128");
	ssw_write(CLUSTER, "3");
	ssw_write(VMA_RA, "true");
}

/* Interrupts of the I/O queues of a controller ("nvme1"), or of all (""). */
long long fault_irqs(const char *ctrl)
{
	FILE *f = fopen("/proc/interrupts", "re");
	static char line[16384];
	long long sum = 0;

	if (!f)
		return SSW_NO_VALUE;
	while (fgets(line, sizeof(line), f)) {
		char *name = strrchr(line, ' '), *q, *p, *end;

		if (!name || strncmp(name + 1, "nvme", 4))
			continue;
		name++;
		name[strcspn(name, "\n")] = 0;
		q = strchr(name, 'q');
		/* Queue 0 takes commands for the controller. */
		if (!q || !strcmp(q, "q0"))
			continue;
		if (*ctrl && ((size_t)(q - name) != strlen(ctrl) ||
			      strncmp(name, ctrl, q - name)))
			continue;
		p = strchr(line, ':');
		if (!p)
			continue;
		for (p++;; p = end) {
			long long v = strtoll(p, &end, 10);

			if (end == p || (*end != ' ' && *end != '\t'))
				break;
			sum += v;
		}
	}
	fclose(f);
	return sum;
}

void fault_read(struct fault_count *c, const char *ctrl)
{
	struct rusage u;

	c->direct = fault_num("reads_direct");
	c->bio = fault_num("reads_bio");
	c->irq = fault_num("reads_irq");
	c->late = fault_num("reads_late");
	c->again = fault_num("reads_retried");
	c->no_poll = ssw_stat("fallback/no_poll");
	c->busy = ssw_stat("fallback/poll_busy");
	c->down = ssw_stat("fallback/poll_down");
	c->unfit = ssw_stat("fallback/poll_unfit");
	c->limited = ssw_stat("fallback/poll_limited");
	c->pswpin = ssw_vmstat("pswpin");
	c->irqs = fault_irqs(ctrl);
	getrusage(RUSAGE_SELF, &u);
	c->major = u.ru_majflt;
}

/* All counts since @from was read. */
struct fault_count fault_since(const struct fault_count *from, const char *ctrl)
{
	struct fault_count c;

	fault_read(&c, ctrl);
	c.direct -= from->direct;
	c.bio -= from->bio;
	c.irq -= from->irq;
	c.late -= from->late;
	c.again -= from->again;
	c.no_poll -= from->no_poll;
	c.busy -= from->busy;
	c.down -= from->down;
	c.unfit -= from->unfit;
	c.limited -= from->limited;
	c.pswpin -= from->pswpin;
	c.irqs -= from->irqs;
	c.major -= from->major;
	return c;
}

void fault_print(const char *what, const struct fault_count *c)
{
	printf("# %s: %lld major faults, %lld pages read, %lld interrupts; direct %lld, bio %lld, irq %lld",
	       what, c->major, c->pswpin, c->irqs, c->direct, c->bio, c->irq);
	printf(", late %lld, again %lld; no_poll %lld, busy %lld, down %lld, unfit %lld, limited %lld\n",
	       c->late, c->again, c->no_poll, c->busy, c->down, c->unfit, c->limited);
}

/* --- devices ------------------------------------------------------------- */

/*
 * The controller of an NVMe drive or partition, such as "nvme1"; "" for any other device.
 * With CONFIG_NVME_MULTIPATH the drive's name begins with the number of its subsystem.
 */
const char *fault_ctrl(const char *dev)
{
	static char buf[4][32];
	static int at;
	char path[128], real[PATH_MAX];
	const char *name = strrchr(dev, '/');
	int nr;

	at = (at + 1) % 4;
	buf[at][0] = 0;
	name = name ? name + 1 : dev;
	snprintf(path, sizeof(path), "/sys/class/block/%s/device", name);
	if (access(path, F_OK))
		snprintf(path, sizeof(path), "/sys/class/block/%s/../device", name);
	if (!realpath(path, real))
		return buf[at];
	if (sscanf(strrchr(real, '/'), "/nvme%d", &nr) == 1)
		snprintf(buf[at], sizeof(buf[at]), "nvme%d", nr);
	return buf[at];
}

/* A file of /sys/class/block/DEV/; a number, or SSW_NO_VALUE. */
long long fault_dev(const char *dev, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/block/%s/%s", strrchr(dev, '/') + 1, file);
	return ssw_num(path);
}

/* A path below /sys/class/nvme/, such as "nvme1/serial"; without the spaces at its end. */
int fault_nvme_str(const char *ctrl, const char *file, char *buf, size_t len)
{
	char path[320];
	int ret;

	snprintf(path, sizeof(path), "/sys/class/nvme/%s/%s", ctrl, file);
	ret = ssw_read(path, buf, len);
	while (ret > 0 && buf[ret - 1] == ' ')
		buf[--ret] = 0;
	return ret;
}

long long fault_nvme_num(const char *ctrl, const char *file)
{
	char buf[32];

	return fault_nvme_str(ctrl, file, buf, sizeof(buf)) > 0 ? atoll(buf) : SSW_NO_VALUE;
}

/* Find the drive with this serial number: the guest "stack" has some with faults. */
bool fault_drive(const char *serial, char *dev, size_t len)
{
	char its[64];

	for (int i = 0; ssw_bdev(i); i++) {
		snprintf(dev, len, "%s", ssw_bdev(i));
		if (fault_nvme_str(fault_ctrl(dev), "serial", its, sizeof(its)) > 0 &&
		    !strcmp(its, serial))
			return true;
	}
	return false;
}

bool fault_can_direct(const char *dev)
{
	return fault_dev(dev, "device/swap_queues") > 0;
}

bool fault_can_bio(const char *dev)
{
	return fault_dev(dev, "queue/io_poll") == 1;
}

bool fault_booted_with(const char *word)
{
	char line[4096];

	return ssw_read("/proc/cmdline", line, sizeof(line)) > 0 && strstr(line, word);
}

/* How many lines of the kernel log have @a, and behind it @b. */
int fault_said(const char *a, const char *b)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), found = 0;
	char line[8192], *p;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = 0;
		/* Cut the key=value lines off, which are no text of the message. */
		line[strcspn(line, "\n")] = 0;
		p = strstr(line, a);
		found += p && strstr(p + strlen(a), b);
	}
	close(fd);
	return found;
}

int fault_reset(const char *ctrl)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/nvme/%s/reset_controller", ctrl);
	return ssw_write(path, "1");
}

/* A swapoff that must end, whether it succeeds or not: 0, -errno, or -ETIMEDOUT. */
int fault_swapoff(const char *path, int seconds)
{
	pid_t pid = ssw_fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-ssw_swapoff(path));
	for (int i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	return -ETIMEDOUT;
}

/* A value of a group's io.stat for a device; 0 while there is none. */
long long fault_group_io(const char *group, const char *dev, const char *key)
{
	char path[256], line[512], id[32], *p;
	long long found = 0;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), SSW_CG "/%s/io.stat", group);
	if (stat(dev, &st))
		return SSW_NO_VALUE;
	f = fopen(path, "re");
	if (!f)
		return SSW_NO_VALUE;
	snprintf(id, sizeof(id), "%u:%u ", major(st.st_rdev), minor(st.st_rdev));
	while (fgets(line, sizeof(line), f)) {
		p = strncmp(line, id, strlen(id)) ? NULL : strstr(line, key);
		if (p)
			found = atoll(p + strlen(key));
	}
	fclose(f);
	return found;
}

/* Why a test of polled reads cannot run here. What should be there and is not, fails. */
const char *fault_cannot(void)
{
	if (access(FAULT "mode", F_OK))
		return "the kernel has no CONFIG_SCALESWAP_FAULT";
	if (fault_is("off"))
		return "the kernel was booted without fault in scaleswap=";
	if (!ssw_bdev(0))
		return "SSW_BDEVS names no spare block device";
	return NULL;
}

/* --- RAM devices with poll queues ---------------------------------------- */

int fault_nullb_set(const char *name, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), FAULT_NULLB_DIR "%s/%s", name, file);
	return ssw_write(path, value);
}

void fault_nullb_gone_at(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/%s", name);
	swapoff(path);
	fault_nullb_set(name, "power", "0");
	snprintf(path, sizeof(path), FAULT_NULLB_DIR "%s", name);
	rmdir(path);
}

void fault_nullb_gone(void)
{
	fault_nullb_gone_at("sswpoll");
}

/*
 * A small one, /dev/@name, with @poll poll queues. The other queue has room for @depth
 * requests, and takes @ns for each; NULL: as null_blk does by itself.
 */
int fault_nullb_at(const char *name, const char *poll, const char *depth, const char *ns)
{
	const char * const set[][2] = {
		{ "size", "32" }, { "blocksize", "4096" }, { "memory_backed", "1" },
		{ "poll_queues", poll }, { "hw_queue_depth", depth },
		{ "irqmode", ns ? "2" : NULL }, { "completion_nsec", ns }, { "power", "1" },
	};
	char path[128];
	int ret = 0;

	fault_nullb_gone_at(name);
	snprintf(path, sizeof(path), FAULT_NULLB_DIR "%s", name);
	if (mkdir(path, 0755))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(set) && !ret; i++)
		if (set[i][1])
			ret = fault_nullb_set(name, set[i][0], set[i][1]);
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (!ret)
		ret = ssw_mkswap(path, 4000);
	if (ret)
		fault_nullb_gone_at(name);
	return ret;
}

int fault_nullb(const char *poll, const char *depth, const char *ns)
{
	return fault_nullb_at("sswpoll", poll, depth, ns);
}

/* --- pages that are out -------------------------------------------------- */

/* Out of the swap cache, too. Pages under writeback take their time to go. */
long long fault_evict(const char *group)
{
	long long left = 0;

	for (int i = 0; i < 100; i++) {
		ssw_evict(group);
		left = ssw_cgroup_stat(group, "swapcached");
		if (left <= 0)
			return 0;
		usleep(20000);
	}
	return left;
}

/*
 * Memory whose readahead state is its own: a mapping that has no neighbour to be merged
 * with. In one page table; @pages is a power of two.
 */
char *fault_map_alone(size_t pages, bool shared)
{
	size_t len = pages * SSW_PAGE;
	char *p = mmap(NULL, 3 * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + len) & ~(len - 1));
	p = mmap(p, len, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	if (p == MAP_FAILED || madvise(p, len, MADV_NOHUGEPAGE))
		return NULL;
	return p;
}

/* Pages as of ssw_map(); @shared: of shared memory, which lies in a tmpfs. */
static char *fault_map(size_t pages, bool shared)
{
	void *p;

	if (!shared)
		return ssw_map(pages, false);
	p = mmap(NULL, pages * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/*
 * Stamped pages of which none is in memory. The process' other pages stay where they
 * are, so that each fault is one of these.
 */
char *fault_out(size_t pages, uint64_t gen, bool shared)
{
	char *p;

	mlockall(MCL_CURRENT);
	p = fault_map(pages, shared);
	if (!p)
		return NULL;
	ssw_stamp(p, pages, gen);
	if (ssw_pageout(p, pages) < 0)
		return NULL;
	if (fault_evict("ssw") > 0)
		printf("# %lld bytes stay in the swap cache\n",
		       ssw_cgroup_stat("ssw", "swapcached"));
	return p;
}

/* @pages of @gen, touched and swapped out by @cpu. Are all of them in area @type? */
bool fault_out_by(int cpu, int type, char *p, size_t pages, uint64_t gen)
{
	long per[258];

	if (ssw_pin(cpu))
		return false;
	ssw_stamp(p, pages, gen);
	ssw_pageout(p, pages);
	return !ssw_where(p, pages, per) && per[type] == (long)pages;
}

/* Which of the pages is in @slot, or -1. */
long fault_in_slot(const char *p, size_t pages, unsigned long slot)
{
	for (size_t i = 0; i < pages; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if ((e & SSW_PM_SWAP) && ssw_pm_offset(e) == slot)
			return i;
	}
	return -1;
}

/* Pages of the machine that have all of these flags (bits KPF_...). */
static long fault_kpages(uint64_t flags)
{
	int fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	static uint64_t buf[4096];
	long found = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (size_t i = 0; i < n / sizeof(*buf); i++)
			found += (buf[i] & flags) == flags;
	close(fd);
	return found;
}

/*
 * Swap out, and wait until all writes have completed. The number of pages that could not be
 * written.
 */
long fault_write_out(char *p, size_t pages)
{
	if (ssw_pageout(p, pages) != (long)pages)
		return -1;
	for (int i = 0; i < 1000 && fault_kpages(1 << KPF_SWAPCACHE | 1 << KPF_WRITEBACK); i++)
		usleep(10000);
	return fault_kpages(1 << KPF_SWAPCACHE | 1 << KPF_DIRTY);
}

/* --- what tasks do ------------------------------------------------------- */

/* The state of a process: 'R', 'S', 'D' ...; 0 if there is none. */
char fault_state(pid_t pid)
{
	char path[64], line[512], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (ssw_read(path, line, sizeof(line)) <= 0)
		return 0;
	p = strrchr(line, ')');
	return p && p[1] ? p[2] : 0;
}

/* The worker that executes an item of the workqueue @wq, or 0. */
pid_t fault_worker(const char *wq)
{
	DIR *d = opendir("/proc");
	char path[300], comm[64], end[64];
	struct dirent *e;
	pid_t found = 0;

	snprintf(end, sizeof(end), "+%s", wq);
	while (d && !found && (e = readdir(d))) {
		size_t n, m = strlen(end);

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    ssw_read(path, comm, sizeof(comm)) <= 0)
			continue;
		n = strlen(comm);
		if (n > m && !strcmp(comm + n - m, end))
			found = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* How many of the pages are read, be it only to the swap cache. */
int fault_in_cache(char *p, size_t pages)
{
	unsigned char vec[256];
	int n = 0;

	if (pages > sizeof(vec) || mincore(p, pages * SSW_PAGE, vec))
		return -errno;
	for (size_t i = 0; i < pages; i++)
		n += vec[i] & 1;
	return n;
}

/* --- processes that look at the clock ------------------------------------ */

long long fault_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct fault_load *fault_me;
static char *fault_first, *fault_end;
static sigjmp_buf fault_env;

static void fault_bus(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	(void)sig;
	(void)context;
	/* Any other page is an error. */
	if (at < fault_first || at >= fault_end)
		_exit(77);
	siglongjmp(fault_env, 1);
}

/* Touch a page: stamp it or look at it. False if it was lost; it is empty then. */
bool fault_touch(char *page, uint64_t gen, bool write, bool shared)
{
	struct fault_load *l = fault_me;
	long long ns;
	bool good;

	l->since = fault_now();
	if (!sigsetjmp(fault_env, 1)) {
		if (write)
			ssw_stamp(page, 1, gen);
		else if (ssw_wrong(page, 1, gen))
			l->wrong++;
		good = true;
	} else {
		l->lost++;
		good = false;
	}
	ns = fault_now() - l->since;
	l->since = 0;
	if (ns > l->max_ns)
		l->max_ns = ns;
	l->touched++;
	if (!good)
		madvise(page, SSW_PAGE, shared ? MADV_REMOVE : MADV_DONTNEED);
	return good;
}

static size_t fault_gcd(size_t a, size_t b)
{
	return b ? fault_gcd(b, a % b) : a;
}

/* From here on this process may lose the pages between @p and @end, and no others. */
void fault_may_lose(struct fault_load *l, char *p, char *end)
{
	struct sigaction act = { .sa_sigaction = fault_bus, .sa_flags = SA_SIGINFO };

	fault_me = l;
	fault_first = p;
	fault_end = end;
	sigaction(SIGBUS, &act, NULL);
}

/* As the process: for ever, until told to stop. */
static void fault_load_run(struct fault_load *l, int cpu, size_t pages, bool shared,
			   const char *group)
{
	bool *good = calloc(pages, sizeof(*good));
	uint64_t rnd = getpid();
	char path[256], size[32], *p;
	size_t step;

	if (cpu >= 0)
		ssw_pin(cpu);
	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	snprintf(size, sizeof(size), "%zu", pages * SSW_PAGE);
	mlockall(MCL_CURRENT);
	p = fault_map(pages, shared);
	if (!good || !p)
		_exit(78);
	fault_may_lose(l, p, p + pages * SSW_PAGE);
	while (!l->stop && !l->wrong) {
		uint64_t gen = l->rounds + 1;

		/* Every other round with new pages, so that they get new slots. */
		if (gen % 2)
			madvise(p, pages * SSW_PAGE, shared ? MADV_REMOVE : MADV_DONTNEED);
		for (size_t i = 0; i < pages; i++)
			good[i] = fault_touch(p + i * SSW_PAGE, gen, true, shared);
		madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
		/* And out of the swap cache. */
		ssw_write(path, size);
		/* In an order that reaches every page, and that readahead does not guess. */
		do {
			step = 1 + ssw_random(&rnd) % (pages - 1);
		} while (fault_gcd(step, pages) != 1);
		for (size_t i = 0, at = ssw_random(&rnd) % pages; i < pages && !l->stop; i++) {
			if (good[at])
				fault_touch(p + at * SSW_PAGE, gen, false, shared);
			at = (at + step) % pages;
		}
		l->rounds++;
	}
	fflush(stdout);
	_exit(l->wrong ? 1 : 0);
}

/* Start @n of them; @l comes from ssw_shared(). 0 or -errno. */
int fault_load_start(struct fault_load *l, int n, bool pin, size_t pages, const char *group)
{
	int cpus = ssw_nr_possible();

	for (int i = 0; i < n; i++) {
		pid_t pid;

		memset(&l[i], 0, sizeof(l[i]));
		pid = ssw_fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			fault_load_run(&l[i], pin ? i % cpus : -1, pages, i % 3 == 2, group);
		l[i].pid = pid;
	}
	return 0;
}

/* The longest touch of all so far, including those in flight. */
long long fault_load_longest(const struct fault_load *l, int n)
{
	long long longest = 0, now = fault_now();

	for (int i = 0; i < n; i++) {
		long long since = l[i].since;

		if (l[i].max_ns > longest)
			longest = l[i].max_ns;
		if (since && now - since > longest)
			longest = now - since;
	}
	return longest;
}

long fault_load_sum(const struct fault_load *l, int n, size_t field)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += *(volatile long *)((const char *)&l[i] + field);
	return sum;
}

/* Wait until each has done @rounds more. False: one ended or got stuck. */
bool fault_load_more(struct fault_load *l, int n, long rounds)
{
	for (int i = 0; i < n; i++) {
		long target = l[i].rounds + rounds;

		/* Five minutes: a guard against hangs, not a measure. */
		for (int j = 0; j < 30000 && l[i].rounds < target; j++) {
			if (waitpid(l[i].pid, NULL, WNOHANG))
				return false;
			usleep(10000);
		}
		if (l[i].rounds < target)
			return false;
	}
	return true;
}

/* End them. How many ended otherwise than by themselves and well. */
int fault_load_stop(struct fault_load *l, int n)
{
	int bad = 0, status;

	for (int i = 0; i < n; i++)
		l[i].stop = 1;
	for (int i = 0; i < n; i++) {
		pid_t pid = 0;

		if (l[i].pid <= 0)
			continue;
		for (int j = 0; j < 6000 && !pid; j++) {
			pid = waitpid(l[i].pid, &status, WNOHANG);
			if (!pid)
				usleep(10000);
		}
		if (pid == l[i].pid && WIFEXITED(status) && !WEXITSTATUS(status))
			continue;
		bad++;
		printf("# process %d %s (status %#x)\n", i, pid ? "ended badly" : "does not end",
		       pid ? status : 0);
		if (!pid)
			kill(l[i].pid, SIGKILL);
	}
	return bad;
}

/* What all of them saw; judged by the caller. */
void fault_load_print(const char *what, const struct fault_load *l, int n)
{
	printf("# %s: %ld rounds, %ld pages touched, %ld wrong, %ld lost, longest %lld ms\n", what,
	       FAULT_SUM(l, n, rounds), FAULT_SUM(l, n, touched), FAULT_SUM(l, n, wrong),
	       FAULT_SUM(l, n, lost), fault_load_longest(l, n) / 1000000);
}
