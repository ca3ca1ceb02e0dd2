// SPDX-License-Identifier: GPL-2.0
/*
 * lru_util.c - LRU shards for the ScaleSwap selftests: the dump in debugfs, a group, and
 * processes in it that do what they are told
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "lru_util.h"

/* --- the dump ------------------------------------------------------------ */

const char * const list_name[LISTS] = {
	"inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable",
};

struct row *rows;
int nr_rows;
static int max_rows;

int dump(void)
{
	FILE *f = fopen(DUMP, "re");
	char line[512];
	int ret = 0;

	nr_rows = 0;
	if (!f)
		return getenv("SSW_LRU_ANYWAY") ? 0 : -errno;
	/* The header */
	if (!fgets(line, sizeof(line), f))
		ret = -EIO;
	while (!ret && fgets(line, sizeof(line), f)) {
		struct row *r;

		if (nr_rows == max_rows) {
			max_rows = max_rows * 2 + 256;
			rows = realloc(rows, max_rows * sizeof(*rows));
			if (!rows)
				abort();
		}
		r = &rows[nr_rows++];
		if (sscanf(line, "%d %d %d %ld %ld %ld %ld %ld %ld %d %d %d %d", &r->memcg,
			   &r->nid, &r->shard, &r->size[0], &r->size[1], &r->size[2], &r->size[3],
			   &r->size[4], &r->posted, &r->age[0], &r->age[1], &r->age[2],
			   &r->age[3]) != 13)
			ret = -EINVAL;
	}
	fclose(f);
	return ret;
}

/* Pages in the last dump; @lists is a mask, the others may be ANY. */
long in_dump(int memcg, int nid, int shard, unsigned int lists)
{
	long sum = 0;

	for (int i = 0; i < nr_rows; i++) {
		if ((memcg != ANY && rows[i].memcg != memcg) ||
		    (nid != ANY && rows[i].nid != nid) ||
		    (shard != ANY && rows[i].shard != shard))
			continue;
		for (int l = 0; l < LISTS; l++)
			if (lists & 1 << l)
				sum += rows[i].size[l];
	}
	return sum;
}

long long value(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), LRU "%s", name);
	return ssw_num(path);
}

const char *cannot(void)
{
	if (getenv("SSW_LRU_ANYWAY"))
		return NULL;
	if (value("shards") <= 0)
		return "LRU lists are not sharded here";
	return access(DUMP, R_OK) ? "there is no " DUMP : NULL;
}

int shard_of(int cpu)
{
	long long n = value("shards");

	return 1 + (n > 0 ? cpu % n : cpu);
}

/* Age of the oldest pages that GROUP has on a list of a CPU's shard, in the last dump. */
int age_of(int cpu, int list)
{
	int oldest = -1;

	for (int i = 0; i < nr_rows; i++)
		if (rows[i].memcg == memcg && rows[i].shard == shard_of(cpu) &&
		    rows[i].size[list] && rows[i].age[list] > oldest)
			oldest = rows[i].age[list];
	return oldest;
}

/* Drain the per-CPU batches onto the lists. This drops clean caches, too. */
void drain(void)
{
	static bool quiet;

	/* 4 alone: no more lines in the log. It takes no 5, which would be both. */
	if (!quiet)
		ssw_write("/proc/sys/vm/drop_caches", "4");
	quiet = true;
	ssw_write("/proc/sys/vm/drop_caches", "1");
}

/* Two CPUs with different shards, on different nodes if there are some. */
bool two_cpus(int *a, int *b)
{
	cpu_set_t online;

	*a = *b = -1;
	if (ssw_online(&online))
		return false;
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &online))
			continue;
		if (*a < 0)
			*a = c;
		else if (shard_of(c) != shard_of(*a))
			*b = c;
	}
	return *b >= 0;
}

/*
 * Four CPUs with a shard each, in the order in which reclaim goes round from the first:
 * between them are no shards that have pages.
 */
bool four_cpus(int cpu[4])
{
	cpu_set_t online;
	int n = 0;

	if (ssw_online(&online))
		return false;
	for (int c = 0; c < CPU_SETSIZE && n < 4; c++) {
		bool other = CPU_ISSET(c, &online);

		for (int i = 0; i < n; i++)
			other = other && shard_of(c) > shard_of(cpu[i]);
		if (other)
			cpu[n++] = c;
	}
	return n == 4;
}

/* --- a group ------------------------------------------------------------- */

int memcg;

long long cg(const char *group, const char *file, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s/%s", group, file);
	return key ? ssw_proc_num(path, key) : ssw_num(path);
}

void cg_reclaim(const char *group, long pages)
{
	char path[256], val[32];

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	snprintf(val, sizeof(val), "%ld", pages * (long)SSW_PAGE);
	ssw_write(path, val);
}

/* Reclaim @pages by one write, with a swappiness for this write only. */
void cg_reclaim_as(const char *group, long pages, int swappiness)
{
	char path[256], val[64];

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	snprintf(val, sizeof(val), "%ld swappiness=%d", pages * (long)SSW_PAGE, swappiness);
	ssw_write(path, val);
}

int cg_remove(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s", group);
	ssw_for_looks(i) {
		if (!rmdir(path) || errno == ENOENT)
			return 0;
		usleep(20000);
	}
	return -errno;
}

/* Make GROUP anew, and find its number: the one that is new in the dump. */
int cg_fresh(void)
{
	static char had[65536];
	int ret = 0;

	/*
	 * The number may be that of a group that is just going away: then try again. One that
	 * has lost its number already has 0, which may be new, too.
	 */
	ssw_for_looks(i) {
		ret = cg_remove(GROUP);
		if (!ret)
			ret = dump();
		if (ret)
			break;
		memset(had, 0, sizeof(had));
		for (int j = 0; j < nr_rows; j++)
			had[rows[j].memcg & 65535] = 1;
		if (mkdir(SSW_CG "/" GROUP, 0755))
			return -errno;
		ret = dump();
		memcg = -1;
		for (int j = 0; j < nr_rows; j++)
			if (rows[j].memcg && !had[rows[j].memcg & 65535])
				memcg = rows[j].memcg;
		if (ret || memcg >= 0 || getenv("SSW_LRU_ANYWAY"))
			return ret;
		ret = -EAGAIN;
		usleep(50000);
	}
	return ret;
}

/* GROUP's pages in a CPU's shard, after a drain. @cpu ANY: in all shards, and in none. */
long at(int cpu, unsigned int lists)
{
	drain();
	if (dump())
		return -1;
	return in_dump(memcg, ANY, cpu == ANY ? ANY : shard_of(cpu), lists);
}

void show_group(void)
{
	if (dump())
		return;
	for (int i = 0; i < nr_rows; i++)
		if (rows[i].memcg == memcg)
			printf("# node %d shard %d: anon %ld+%ld file %ld+%ld unevictable %ld, ages %d+%d %d+%d\n",
			       rows[i].nid, rows[i].shard, rows[i].size[0], rows[i].size[1],
			       rows[i].size[2], rows[i].size[3], rows[i].size[4],
			       rows[i].age[0], rows[i].age[1], rows[i].age[2], rows[i].age[3]);
}

/* Wait until memory.stat agrees with the lists: reclaim decides by it what to age. */
bool stats_caught_up(void)
{
	ssw_for_looks(i) {
		bool same = !dump();

		for (int l = INACTIVE_ANON; l <= ACTIVE_ANON; l++)
			same = same && ssw_cgroup_stat(GROUP, list_name[l]) ==
			       in_dump(memcg, ANY, ANY, 1 << l) * (long long)SSW_PAGE;
		if (same)
			return true;
		usleep(100000);
	}
	return false;
}

/*
 * Reclaim until GROUP has at most @most pages of anonymous memory on lists. Return: the
 * pages that it still has.
 */
long evict(long most)
{
	long left = 0;

	/* Active ones go only when statistics show them, which may be two seconds old. */
	for (int i = 0; i < 200; i++) {
		left = at(ANY, ANON);
		if (left <= most)
			break;
		cg_reclaim(GROUP, left);
		usleep(20000);
	}
	return left;
}

/* Processes of the group that were killed for lack of memory */
long long kills(void)
{
	return cg(GROUP, "memory.events", "oom_kill");
}

/* --- processes in it ----------------------------------------------------- */

static long majflt(void)
{
	char buf[1024], *s;
	long v = -1;

	if (ssw_read("/proc/self/stat", buf, sizeof(buf)) <= 0)
		return -1;
	s = strrchr(buf, ')');
	if (!s || sscanf(s + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %ld", &v) != 1)
		return -1;
	return v;
}

/* Have the pages marked as accessed, as by I/O: twice makes them active. */
static long use(char *p, size_t pages)
{
	static char buf[64 * SSW_PAGE];

	for (size_t i = 0; i < pages; i += 64) {
		size_t n = pages - i < 64 ? pages - i : 64;
		struct iovec to = { buf, n * SSW_PAGE }, from = { p + i * SSW_PAGE, n * SSW_PAGE };

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)(n * SSW_PAGE))
			return -errno;
	}
	return 0;
}

/* To node @node. How many did not get there. */
static long move_to(char *p, size_t pages, int node)
{
	long bad = 0;

	for (size_t i = 0; i < pages; i += 256) {
		size_t n = pages - i < 256 ? pages - i : 256;
		int nodes[256], status[256];
		void *at[256];

		for (size_t j = 0; j < n; j++) {
			at[j] = p + (i + j) * SSW_PAGE;
			nodes[j] = node;
			status[j] = -1;
		}
		if (syscall(SYS_move_pages, 0, n, at, nodes, status, 2 /* MPOL_MF_MOVE */) < 0)
			return -errno;
		for (size_t j = 0; j < n; j++)
			bad += status[j] != node;
	}
	return bad;
}

/* Have new pages on node @node, whichever CPU asks. */
static long stay_on(int node)
{
	unsigned long mask = 1UL << node;

	return syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &mask, 64UL) ? -errno : 0;
}

/* The pages of a file are stamped as if they were at this address. */
#define FILE_AS(page)	((const char *)((1UL << 20) + (page) * SSW_PAGE))

/* Write the pages to disk, or read and check them, one by one; -errno or wrong pages. */
static long file_pages(int file, size_t from, size_t n, bool fresh)
{
	static char page[SSW_PAGE] __attribute__((aligned(8)));
	int fd = open(ssw_file(file), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	long wrong = 0;

	if (fd < 0)
		return -errno;
	/* No readahead: only pages asked for are read. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (size_t i = from; i < from + n && wrong >= 0; i++) {
		if (fresh) {
			ssw_stamp_as(page, 1, 1, FILE_AS(i));
			if (pwrite(fd, page, SSW_PAGE, i * SSW_PAGE) != SSW_PAGE)
				wrong = -EIO;
		} else if (pread(fd, page, SSW_PAGE, i * SSW_PAGE) != SSW_PAGE) {
			wrong = -EIO;
		} else {
			wrong += ssw_wrong_as(page, 1, 1, FILE_AS(i));
		}
	}
	/* Clean pages alone can be dropped at once. */
	if (fresh && !wrong && fsync(fd))
		wrong = -errno;
	close(fd);
	return wrong;
}

/* Read and check @n of a file's first @pages pages, some twice and some not; as file_pages(). */
static long file_random(int file, size_t pages, size_t n)
{
	static uint64_t x = 12345;
	long wrong = 0;

	for (size_t i = 0; i < n && wrong >= 0; i++) {
		long ret;

		x = x * 6364136223846793005UL + 1442695040888963407UL;
		ret = file_pages(file, (x >> 33) % pages, 1, false);
		wrong = ret < 0 ? ret : wrong + ret;
	}
	return wrong;
}

/*
 * Put pages of memory, or of a file if @p is NULL, into pipes. A page in a pipe has a
 * reference, so reclaim scans it and has to leave it. Pipes of a few pages, since a large
 * one needs much contiguous memory.
 */
#define HOLD_PAGES	256

static long hold(char *p, int file, size_t pages)
{
	size_t left = pages * SSW_PAGE, room = 0;
	int ends[2], fd = -1;
	ssize_t n = 0;

	if (!p) {
		fd = open(ssw_file(file), O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	}
	for (; left; left -= n, room -= n) {
		struct iovec v = { p, left };

		/* Never closed: until the process ends. */
		if (!room) {
			room = HOLD_PAGES * SSW_PAGE;
			if (pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETPIPE_SZ, (int)room) < 0)
				return -errno;
		}
		v.iov_len = left < room ? left : room;
		n = p ? vmsplice(ends[1], &v, 1, SPLICE_F_NONBLOCK) :
			splice(fd, NULL, ends[1], NULL, v.iov_len, SPLICE_F_NONBLOCK);
		if (n <= 0)
			return n ? -errno : -EIO;
		p = p ? p + n : p;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

/* How many of a file's first pages are in memory. */
long file_cached(int file, size_t n)
{
	int fd = open(ssw_file(file), O_RDWR | O_CLOEXEC);
	unsigned char in[4096];
	long sum = 0;
	void *p;

	if (fd < 0 || n > sizeof(in))
		return -1;
	p = mmap(NULL, n * SSW_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -1;
	if (mincore(p, n * SSW_PAGE, in))
		sum = -1;
	for (size_t i = 0; i < n && sum >= 0; i++)
		sum += in[i] & 1;
	munmap(p, n * SSW_PAGE);
	return sum;
}

static int break_slabs(bool on)
{
	return ssw_write("/proc/self/make-it-fail", on ? "1" : "0");
}

static long mate_do(struct mate *m)
{
	char *p = m->p + m->c->from * SSW_PAGE, text[96];
	size_t n = m->c->n, len = n * SSW_PAGE;
	long arg = m->c->arg, per[258], wrong = 0;

	switch (m->c->op) {
	case PIN:
		return ssw_pin(arg);
	case STAMP:
		ssw_stamp(p, n, arg);
		return 0;
	case CHECK:
		return ssw_wrong(p, n, arg);
	case OUT:
		return ssw_pageout(p, n);
	case COLD:
		return madvise(p, len, MADV_COLD) ? -errno : 0;
	case LOCK_NEW:
		/* Locked before there are pages: they are new and locked at once. */
		if (syscall(SYS_mlock2, p, len, 1 /* MLOCK_ONFAULT */))
			return -errno;
		ssw_stamp(p, n, arg);
		return 0;
	case LOCK:
		return mlock(p, len) ? -errno : 0;
	case UNLOCK:
		return munlock(p, len) ? -errno : 0;
	case USE:
		return use(p, n) ?: use(p, n);
	case DROP:
		return madvise(p, len, MADV_DONTNEED) ? -errno : 0;
	case BREAK:
		return break_slabs(arg);
	case MOVE:
		return move_to(p, n, arg);
	case SPLIT:
		snprintf(text, sizeof(text), "%d,0x%lx,0x%lx", getpid(), (unsigned long)p,
			 (unsigned long)p + len);
		return ssw_write("/sys/kernel/debug/split_huge_pages", text);
	case RESIDENT:
		return ssw_where(p, n, per) ? -1 : per[256];
	case IN_AREA:
		return ssw_where(p, n, per) ? -1 : per[arg];
	case FAULTS:
		return majflt();
	case HOLES:
		for (size_t i = 1; i < n; i += 2)
			if (madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED))
				return -errno;
		return 0;
	case EVEN:
		/* What HOLES leaves */
		for (size_t i = 0; i < n; i += 2)
			wrong += ssw_wrong(p + i * SSW_PAGE, 1, arg);
		return wrong;
	case NODE:
		return stay_on(arg);
	case WHERE:
		return sched_getcpu();
	case FILE_NEW:
	case FILE_READ:
		return file_pages(arg, m->c->from, n, m->c->op == FILE_NEW);
	case FILE_RANDOM:
		return file_random(arg, m->c->from, n);
	case HOLD:
		return hold(p, 0, n);
	case FILE_HOLD:
		return hold(NULL, arg, n);
	case COLLAPSE:
		return madvise(p, len, MADV_HUGEPAGE) || madvise(p, len, 25 /* MADV_COLLAPSE */) ?
			-errno : 0;
	case FLUSH_TLB:
		/* The kernel flushes it whenever access is restricted. */
		return mprotect(p, len, PROT_READ) || mprotect(p, len, PROT_READ | PROT_WRITE) ?
			-errno : 0;
	}
	return -EINVAL;
}

bool mate_start(struct mate *m, int cpu, size_t pages, bool huge)
{
	char pid[16];

	m->pages = pages;
	m->p = ssw_map(pages, huge);
	m->c = ssw_shared(SSW_PAGE);
	if (!m->p || !m->c)
		return false;
	m->pid = ssw_fork();
	if (m->pid)
		return m->pid > 0;
	snprintf(pid, sizeof(pid), "%d", getpid());
	/* In this order, or a page of its own gives the group a shard of another CPU. */
	if (ssw_pin(cpu) || ssw_write(SSW_CG "/" GROUP "/cgroup.procs", pid))
		_exit(50);
	for (;;) {
		if (m->c->op == REST) {
			usleep(1000);
			continue;
		}
		if (m->c->op == LEAVE)
			_exit(0);
		m->c->ret = mate_do(m);
		fflush(stdout);
		m->c->op = REST;
	}
}

void ask(struct mate *m, int op, size_t from, size_t n, long arg)
{
	m->c->from = from;
	m->c->n = n;
	m->c->arg = arg;
	m->c->op = op;
}

long answer(struct mate *m)
{
	while (m->c->op != REST) {
		int status;

		if (waitpid(m->pid, &status, WNOHANG) == m->pid) {
			printf("# process %d ended with status %#x\n", m->pid, status);
			m->pid = 0;
			return DIED;
		}
		usleep(500);
	}
	return m->c->ret;
}

long tell(struct mate *m, int op, size_t from, size_t n, long arg)
{
	if (!m->pid)
		return DIED;
	ask(m, op, from, n, arg);
	return answer(m);
}

long tell_all(struct mate *m, int op, long arg)
{
	return tell(m, op, 0, m->pages, arg);
}

/* Stamp @nr of @pages pages from *@at on, which goes round. Return 0 or -errno. */
long stamp_on(struct mate *m, long *at, long nr, long pages, long gen)
{
	while (nr) {
		long n = pages - *at < nr ? pages - *at : nr;
		long ret = tell(m, STAMP, *at, n, gen);

		if (ret)
			return ret;
		*at = (*at + n) % pages;
		nr -= n;
	}
	return 0;
}

int mate_end(struct mate *m)
{
	int status = 0;

	if (m->pid) {
		m->c->op = LEAVE;
		status = ssw_join(m->pid);
	}
	munmap(m->p, m->pages * SSW_PAGE);
	munmap(m->c, SSW_PAGE);
	return status;
}

/* Free pages of a node above the low watermarks: of ZONE_MOVABLE, or of the zones below */
static long zones_free(int node, bool movable)
{
	char line[256], zone[32];
	long pages, low, sum = 0;
	bool here = false;
	int n;
	FILE *f = fopen("/proc/zoneinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %d, zone %31s", &n, zone) == 2)
			here = n == node && !strcmp(zone, "Movable") == movable;
		else if (here && sscanf(line, " pages free %ld", &pages) == 1)
			sum += pages;
		else if (here && sscanf(line, " low %ld", &low) == 1)
			sum -= low;
	}
	if (f)
		fclose(f);
	return sum;
}

/*
 * Free pages of ZONE_MOVABLE on a node above the low watermark, where allocations go on with the
 * zone below; 0 if it has no such zone.
 */
static long movable_free(int node)
{
	return zones_free(node, true);
}

/*
 * Of the nodes of four CPUs, the one that has most room below ZONE_MOVABLE, where crowd() has the
 * cold pages. The files of the initial ramdisk, tens of MiB that cannot be reclaimed, are on one
 * node, as it happens at boot.
 */
int roomy_node(const int cpu[4])
{
	int node = -1;
	long most = -1;

	for (int i = 0; i < 4; i++) {
		int n = ssw_node_of(cpu[i]);
		long free = zones_free(n, false);

		if (n != node && free > most) {
			node = n;
			most = free;
		}
	}
	return node;
}

/*
 * Fill @node, which has @room free pages: @hog locks most of them, and four processes stamp @cold
 * each, in turns, with their number from 1. Returns how many are locked, or -1.
 *
 * Page tables come from the zone below ZONE_MOVABLE, which fills up first. If the zone below has
 * locked pages only, nothing can be reclaimed there, and a process is killed. So the locked
 * ones come first, and fill ZONE_MOVABLE: the cold pages come to the zone below. Reclaim for that
 * zone alone moves pages of ZONE_MOVABLE to the front of their list, as on the base kernel.
 */
long crowd(struct mate *hog, int node, long room, struct mate m[4], long cold)
{
	/* What stays free: more than high watermarks and lists of CPUs, or kswapd has work. */
	const long rest = 8000;
	long locked = 0;

	while (locked < room - cold * 4 - rest || movable_free(node) > 200) {
		if (locked + 200 > room || tell(hog, LOCK_NEW, locked, 200, 7))
			return -1;
		locked += 200;
	}
	for (long at = 0; at < cold; at += 50)
		for (int i = 0; i < 4; i++)
			if (tell(&m[i], STAMP, at, 50, i + 1))
				return -1;
	return locked;
}

/* --- areas whose writes are done at once --------------------------------- */

void instant_gone(void)
{
	char path[128];

	ssw_swapoff_all();
	for (int i = 0; i < SSW_MANY; i++) {
		snprintf(path, sizeof(path), INSTANT "%d/power", i);
		if (access(path, F_OK))
			continue;
		ssw_write(path, "0");
		snprintf(path, sizeof(path), INSTANT "%d", i);
		rmdir(path);
	}
}

/*
 * One for each online CPU of node @node. It completes a request @ns nanoseconds after it came;
 * NULL: before it returns. 0 or -errno.
 */
int instant_on(struct ssw_areas *a, unsigned int pages, int node, const char *ns)
{
	const char * const set[][2] = {
		{ "blocksize", "4096" }, { "memory_backed", "1" },
		{ "irqmode", ns ? "2" : "0" }, { "completion_nsec", ns ?: "0" },
		{ "size", NULL }, { "power", "1" },
	};
	char path[128], val[16];
	cpu_set_t online;
	int ret;

	instant_gone();
	memset(a, 0, sizeof(*a));
	ret = ssw_online(&online);
	snprintf(val, sizeof(val), "%u", (pages >> 8) + 1);
	for (int c = 0; c < CPU_SETSIZE && a->n < SSW_MANY && ret >= 0; c++) {
		if (!CPU_ISSET(c, &online) || ssw_node_of(c) != node)
			continue;
		snprintf(path, sizeof(path), INSTANT "%d", a->n);
		ret = mkdir(path, 0755) ? -errno : 0;
		for (size_t i = 0; i < ARRAY_SIZE(set) && !ret; i++) {
			snprintf(path, sizeof(path), INSTANT "%d/%s", a->n, set[i][0]);
			ret = ssw_write(path, set[i][1] ?: val);
		}
		snprintf(a->path[a->n], sizeof(a->path[0]), "/dev/sswram%d", a->n);
		ret = ret ?: ssw_mkswap(a->path[a->n], pages) ?: ssw_on_cpu(a->path[a->n], c);
		a->cpu[a->n] = c;
		a->type[a->n] = ret;
		a->n += ret >= 0;
	}
	if (ret < 0)
		instant_gone();
	return ret < 0 ? ret : 0;
}

/* --- sums ---------------------------------------------------------------- */

/* memory.numa_stat: "inactive_anon N0=1 N1=2", in bytes. In pages. */
static long numa_stat(const char *key, int nid)
{
	char line[512], want[16], *s;
	FILE *f = fopen(SSW_CG "/" GROUP "/memory.numa_stat", "re");
	long v = -1;

	if (!f)
		return -1;
	snprintf(want, sizeof(want), " N%d=", nid);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) || line[strlen(key)] != ' ')
			continue;
		s = strstr(line, want);
		if (s)
			v = atol(s + strlen(want)) / SSW_PAGE;
	}
	fclose(f);
	return v;
}

static long node_stat(const char *key, int nid)
{
	char path[128], k[64];

	snprintf(path, sizeof(path), SSW_NODES "/node%d/vmstat", nid);
	snprintf(k, sizeof(k), "nr_%s", key);
	return ssw_proc_num(path, k);
}

int nodes(void)
{
	cpu_set_t set;

	/* The list has the same form as that of CPUs. */
	if (ssw_cpulist(SSW_NODES "/has_memory", &set))
		return 1;
	for (int n = CPU_SETSIZE - 1; n >= 0; n--)
		if (CPU_ISSET(n, &set))
			return n + 1;
	return 1;
}

/*
 * Wait until GROUP's statistics, and those of all nodes, agree with the lists. The number
 * that do not. If it takes long, it says which these are from time to time: a guest without any
 * output is ended.
 *
 * With generations, only active and inactive pages together: a walk counts what it promotes in the
 * lruvec of the memcg, which has fewer than no active or inactive pages then. The dump has no
 * number below 0.
 */
int sums_differ(bool say)
{
	long said = ssw_seconds();
	int bad = 0;

	/* Memory statistics of a group may be two seconds old. */
	ssw_for_looks(i) {
		bool tell_now = say && ssw_seconds() >= said + 30;

		drain();
		ssw_write("/proc/sys/vm/stat_refresh", "1");
		bad = 0;
		for (int l = 0; l < LISTS; l++) {
			bool both = ssw_generations() && l != UNEVICTABLE;
			unsigned int lists = both ? 3 << l : 1 << l;

			for (int n = 0; n < nodes(); n++) {
				long group, all, stat, node;

				if (dump())
					return -1;
				group = in_dump(memcg, n, ANY, lists);
				all = in_dump(ANY, n, ANY, lists);
				stat = numa_stat(list_name[l], n);
				node = node_stat(list_name[l], n);
				if (both) {
					stat += numa_stat(list_name[l + 1], n);
					node += node_stat(list_name[l + 1], n);
				}
				if (group == stat && all == node)
					continue;
				bad++;
				if (tell_now)
					printf("# %s%s of node %d: group %ld on lists, %ld counted; all %ld on lists, %ld counted\n",
					       list_name[l], both ? " and active" : "", n, group,
					       stat, all, node);
			}
			l += both;
		}
		if (!bad)
			break;
		if (tell_now) {
			fflush(stdout);
			said = ssw_seconds();
		}
		usleep(100000);
	}
	return bad;
}
