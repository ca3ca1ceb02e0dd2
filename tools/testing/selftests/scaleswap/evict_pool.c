// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of evictors: memory below a cgroup's limits is made by kernel threads, before tasks need
 * it. Tasks wait, and reclaim only where waiting is of no use.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "dm_util.h"
#include "evict_harness.h"
#include "fault_util.h"

#define GROUP	"ssw-pool"
#define LOCKED	"ssw-locked"

FIXTURE(evict_pool) { long long threads, wait_ms; };

FIXTURE_SETUP(evict_pool)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (why)
		SKIP(return, "%s", why);
	self->threads = ssw_num(EVICT "threads");
	self->wait_ms = ssw_num(EVICT "wait_ms");
	if (self->threads < 0)
		SKIP(return, "a kernel without CONFIG_SCALESWAP_EVICTOR");
	if (ssw_write(EVICT "threads", "2"))
		SKIP(return, "not booted with evict");
	ASSERT_EQ(0, ssw_write(EVICT "wait_ms", PATIENT));
}

FIXTURE_TEARDOWN(evict_pool)
{
	ssw_write(PAUSE, "N");
	put("threads", self->threads);
	put("wait_ms", self->wait_ms);
	ssw_write(EVICT "cpus", "\n");
	if (!access(SSW_CG "/" GROUP, F_OK))
		cg_remove(GROUP);
	if (!access(SSW_CG "/" LOCKED, F_OK))
		cg_remove(LOCKED);
	ssw_end();
	fault_nullb_gone();
	dm_gone();
}

/* Why tasks have reclaimed at a limit */
struct ways_out {
	long long waits, stuck, late, unfit, killed, direct;
};

static struct ways_out ways_out(const char *group)
{
	return (struct ways_out) {
		.waits = counter("waits"),
		.stuck = ssw_stat("fallback/evict_stuck"),
		.late = ssw_stat("fallback/evict_late"),
		.unfit = ssw_stat("fallback/evict_unfit"),
		.killed = ssw_stat("fallback/evict_killed"),
		.direct = cg(group, "memory.stat", "pgscan_direct"),
	};
}

static struct ways_out ways_out_since(struct __test_metadata *_metadata, const char *group,
				      const struct ways_out *was)
{
	struct ways_out w = ways_out(group);

	w.waits -= was->waits;
	w.stuck -= was->stuck;
	w.late -= was->late;
	w.unfit -= was->unfit;
	w.killed -= was->killed;
	w.direct -= was->direct;
	TH_LOG("%lld waits; reclaimed as stuck %lld, late %lld, unfit %lld, killed %lld; direct scans %lld",
	       w.waits, w.stuck, w.late, w.unfit, w.killed, w.direct);
	return w;
}

/*
 * Remove the group. A page that is being written when its process ends stays in the swap cache, and
 * charged, until it is reclaimed.
 */
static void leave(struct __test_metadata *_metadata)
{
	ssw_for_looks(i) {
		if (!ssw_vmstat("nr_writeback"))
			break;
		usleep(100000);
	}
	cg_reclaim(GROUP);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* Groups that were removed and are not gone */
static long long dying(void)
{
	return ssw_proc_num(SSW_CG "/cgroup.stat", "nr_dying_subsys_memory");
}

static void gone(struct __test_metadata *_metadata, long long was)
{
	ssw_for_looks(i) {
		/* Reclaim finds pages that were being written when a process ended. */
		ssw_write(SSW_CG "/memory.reclaim", "4M");
		if (dying() <= was)
			break;
		usleep(20000);
	}
	EXPECT_GE(was, dying()) TH_LOG("a group is not freed");
}

static void limit(struct __test_metadata *_metadata, const char *file, long pages)
{
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, file, pages < 0 ? -1 : pages * (long long)SSW_PAGE));
}

/* At memory.max and at memory.high no task reclaims. All pages come back right. */
static void no_task_reclaims(struct __test_metadata *_metadata, const char *file)
{
	const long pages = 1500;
	struct ssw_areas areas;
	struct ways_out w;
	long long freed;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, file, 2048);
	w = ways_out(GROUP);
	freed = counter("freed");
	EXPECT_EQ(0, all_turn_in(GROUP, &areas, areas.n, pages, 3)) TH_LOG("1: a page is wrong");
	w = ways_out_since(_metadata, GROUP, &w);
	freed = counter("freed") - freed;
	TH_LOG("%lld pages freed by evictors", freed);
	EXPECT_LT(3 * (areas.n * pages - 2048), freed);
	EXPECT_EQ(0, w.direct);
	EXPECT_EQ(0, w.late + w.stuck + w.unfit + w.killed);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	leave(_metadata);
}

SSW_BODY(evict_pool, at_the_maximum)
{
	no_task_reclaims(_metadata, "memory.max");
}

SSW_BODY(evict_pool, at_high)
{
	no_task_reclaims(_metadata, "memory.high");
}

/* Nobody is at the limit yet: evictors make room nevertheless, and no more than they should. */
SSW_BODY(evict_pool, before_the_limit)
{
	/*
	 * What else is charged besides page tables, and what a CPU charges in advance, is less
	 * than the headroom.
	 */
	const long max = 32768, headroom = max / 256, tables = max / 512, end = headroom * 3 / 2;
	struct ssw_areas areas;
	struct ways_out w;
	long long now = 0;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 1));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", max);
	w = ways_out(GROUP);
	m = member_start(GROUP, areas.cpu[0], max - headroom - tables + 8, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	ssw_for_looks(i) {
		now = cg(GROUP, "memory.current", NULL) / SSW_PAGE;
		if (now <= max - end)
			break;
		usleep(10000);
	}
	settled(_metadata);
	now = cg(GROUP, "memory.current", NULL) / SSW_PAGE;
	TH_LOG("%lld pages of %ld", now, max);
	EXPECT_GE(max - end, now);
	/* Half as much more is left, and at most a batch is on its way. */
	EXPECT_LE(max - end - 256, now);
	EXPECT_LT(0, cg(GROUP, "memory.swap.current", NULL));
	EXPECT_EQ(0, cg(GROUP, "memory.events", "max"));
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_EQ(0, w.waits + w.direct);
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	leave(_metadata);
}

/* Without evictors the same goes well, and tasks reclaim as ever. */
SSW_BODY(evict_pool, none)
{
	struct ssw_areas areas;
	struct ways_out w;
	long long held;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	put("threads", 0);
	w = ways_out(GROUP);
	held = counter("held");
	EXPECT_EQ(0, all_turn_in(GROUP, &areas, areas.n, 1500, 1)) TH_LOG("1: a page is wrong");
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_LT(0, w.direct);
	EXPECT_EQ(0, w.waits + w.late + w.stuck + w.unfit + w.killed);
	EXPECT_EQ(held, counter("held"));
	leave(_metadata);
}

/* Evictors that do nothing: tasks wait in vain, reclaim, and count why. It ends well. */
SSW_BODY(evict_pool, paused)
{
	struct ssw_areas areas;
	struct ways_out w;

	if (access(PAUSE, F_OK))
		SKIP(return, "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS");
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	put("wait_ms", 20);
	ASSERT_EQ(0, ssw_write(PAUSE, "Y"));
	w = ways_out(GROUP);
	EXPECT_EQ(0, all_turn_in(GROUP, &areas, areas.n, 1500, 2)) TH_LOG("1: a page is wrong");
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_LT(0, w.late);
	EXPECT_LT(0, w.stuck);
	EXPECT_LT(0, w.direct);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	/* And they go on. */
	ASSERT_EQ(0, ssw_write(PAUSE, "N"));
	ASSERT_EQ(0, ssw_write(EVICT "wait_ms", PATIENT));
	leave(_metadata);
	ssw_swapoff_all();
	no_task_reclaims(_metadata, "memory.max");
}

/* The areas of CPUs that are equally busy are equally full, wherever evictors run. */
SSW_BODY(evict_pool, areas_of_home_cpus)
{
	const long pages = 3000;
	struct ssw_areas areas;
	long long used, sum = 0, least = LLONG_MAX, most = 0;
	pid_t pid[SSW_MANY];
	volatile int *go;
	char *p;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	if (areas.n < 2)
		SKIP(return, "one CPU");
	go = ssw_shared(sizeof(*go));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 1024);
	put("threads", 1);
	for (int i = 0; i < areas.n; i++) {
		pid[i] = ssw_fork();
		if (pid[i])
			continue;
		if (cg_move(GROUP, getpid()))
			_exit(9);
		ssw_pin(areas.cpu[i]);
		p = ssw_map(pages, false);
		ssw_stamp(p, pages, 1);
		__sync_fetch_and_add(go, 1);
		while (*go <= areas.n)
			usleep(10000);
		_exit(0);
	}
	ssw_for_looks(i) {
		if (*go == areas.n)
			break;
		usleep(10000);
	}
	EXPECT_EQ(areas.n, *go);
	for (int i = 0; i < areas.n; i++) {
		used = ssw_area(areas.type[i], "used");
		TH_LOG("CPU %d: %lld pages", areas.cpu[i], used);
		sum += used;
		least = least < used ? least : used;
		most = most > used ? most : used;
	}
	/* What stays in memory is 1,024 pages at most of them all, and of any one. */
	EXPECT_LE((areas.n * pages - 1024) * 1LL, sum);
	EXPECT_LE(pages - 1024, least);
	EXPECT_GE(pages + 100, most);
	*go = areas.n + 1;
	for (int i = 0; i < areas.n; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	leave(_metadata);
}

/* A file that is four times as large as the group, written and read: its pages make room, too. */
SSW_BODY(evict_pool, page_cache)
{
	const long pages = 8192;
	char path[300], page[SSW_PAGE];
	struct ssw_areas areas;
	struct ways_out w;
	pid_t pid;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 2));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	snprintf(path, sizeof(path), "%s/evict-pool", ssw_dir());
	w = ways_out(GROUP);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		if (cg_move(GROUP, getpid()) || fd < 0)
			_exit(9);
		for (int round = 0; round < 3; round++) {
			lseek(fd, 0, SEEK_SET);
			for (long i = 0; i < pages; i++) {
				memset(page, i * 7 + 1, sizeof(page));
				if (!round) {
					if (write(fd, page, sizeof(page)) != sizeof(page))
						_exit(8);
					continue;
				}
				if (read(fd, page, sizeof(page)) != sizeof(page) ||
				    page[0] != (char)(i * 7 + 1) || page[4095] != page[0])
					_exit(1);
			}
		}
		_exit(0);
	}
	EXPECT_EQ(0, ssw_join(pid));
	unlink(path);
	w = ways_out_since(_metadata, GROUP, &w);
	TH_LOG("%lld pages of page cache reclaimed by evictors",
	       cg(GROUP, "memory.stat", "pgsteal_kswapd"));
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	EXPECT_LT(pages / 2, cg(GROUP, "memory.stat", "pgsteal_kswapd"));
	settled(_metadata);
	leave(_metadata);
}

/* --- ways out --------------------------------------------------------------------------- */

/* Memory that cannot be reclaimed: the group is out of memory as ever. */
SSW_BODY(evict_pool, locked_memory)
{
	struct ssw_areas areas;
	struct ways_out w;
	int status;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 1));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 1024);
	w = ways_out(GROUP);
	status = lock_all(GROUP);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_EQ(1, cg(GROUP, "memory.events", "oom_kill"));
	EXPECT_LT(0, w.stuck);
	settled(_metadata);
	leave(_metadata);
}

/*
 * Lock @most pages, a few at a time, but only while the group is more than @left pages below its
 * limit.
 */
static void lock_until(long most, long limit, volatile long *left)
{
	const long chunk = 16;

	for (long locked = 0;;) {
		long now = cg(GROUP, "memory.current", NULL) / (long long)SSW_PAGE;

		if (locked >= most || now + *left >= limit) {
			usleep(10000);
			continue;
		}
		if (mmap(NULL, chunk * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0) == MAP_FAILED)
			_exit(1);
		locked += chunk;
	}
}

/*
 * A group that memory.low protects, and beside it memory that cannot be reclaimed. Evictors do not
 * take of the former to have room. When there is none left, tasks do.
 */
SSW_BODY(evict_pool, protected_child)
{
	const long most = 20480, mine = 6000;
	struct ssw_areas areas;
	volatile long *left = ssw_shared(sizeof(*left));
	long long lost = 0;
	struct member m;
	pid_t pid;

	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 2));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_write(SSW_CG "/" GROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, cg_make(GROUP "/low"));
	ASSERT_EQ(0, cg_make(GROUP "/locks"));
	limit(_metadata, "memory.max", most);
	/* Only what is protected above counts. */
	limit(_metadata, "memory.low", 2 * mine);
	ASSERT_EQ(0, ssw_cgroup_set(GROUP "/low", "memory.low", 2 * mine * (long long)SSW_PAGE));
	m = member_start(GROUP "/low", areas.cpu[0], mine, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	/* Evictors begin at 320 pages. */
	*left = 120;
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (cg_move(GROUP "/locks", getpid()))
			_exit(9);
		lock_until(most - mine + 300, most, left);
	}
	ssw_for_looks(i) {
		if (cg(GROUP, "memory.current", NULL) >= (most - *left) * (long long)SSW_PAGE)
			break;
		usleep(20000);
	}
	/* As long as evictors need to look, and to take some if they do */
	for (int i = 0; i < 20 && !lost; i++) {
		usleep(20000);
		lost = cg(GROUP "/low", "memory.swap.current", NULL);
	}
	EXPECT_EQ(0, lost);
	EXPECT_EQ(0, cg(GROUP "/low", "memory.events", "low"));
	*left = -1;
	ssw_for_looks(i) {
		lost = cg(GROUP "/low", "memory.swap.current", NULL);
		if (lost)
			break;
		usleep(20000);
	}
	EXPECT_LT(0, lost);
	EXPECT_LT(0, cg(GROUP "/low", "memory.events", "low"));
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP "/locks"));
	cg_reclaim(GROUP);
	EXPECT_EQ(0, cg_remove(GROUP "/low"));
	leave(_metadata);
}

/* Groups of 2 MB with a process on each CPU, and room in swap: none is killed. */
SSW_BODY(evict_pool, small_group)
{
	struct ssw_areas areas;
	struct ways_out w;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 512);
	w = ways_out(GROUP);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(0, all_turn_in(GROUP, &areas, 2 * areas.n, 200, 2));
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	leave(_metadata);
}

/* A huge page is more than evictors keep room for: its charge does not wait. */
SSW_BODY(evict_pool, huge_page)
{
	static const char * const thp[] = { SSW_THP "/enabled", SSW_THP "/defrag" };
	const long pages = 4096;
	char was[2][64], *now;
	struct ssw_areas areas;
	struct ways_out w;
	pid_t pid;

	/* The kernel turns both off where memory is small. */
	for (size_t i = 0; i < ARRAY_SIZE(thp); i++) {
		if (ssw_read(thp[i], was[i], sizeof(was[i])) < 0 || ssw_write(thp[i], "madvise"))
			SKIP(return, "a kernel without transparent huge pages");
	}
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 1));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	w = ways_out(GROUP);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		char *p;

		if (cg_move(GROUP, getpid()))
			_exit(9);
		p = ssw_map(pages, true);
		if (!p || madvise(p, pages * SSW_PAGE, MADV_HUGEPAGE))
			_exit(8);
		ssw_stamp(p, pages, 1);
		_exit(ssw_wrong(p, pages, 1) ? 1 : 0);
	}
	EXPECT_EQ(0, ssw_join(pid));
	/* What is in use is in brackets. */
	for (size_t i = 0; i < ARRAY_SIZE(thp); i++) {
		now = strchr(was[i], '[');
		if (now)
			ssw_write(thp[i], strtok(now + 1, "]"));
	}
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_LT(0, w.unfit);
	settled(_metadata);
	leave(_metadata);
}

/*
 * A device that takes half a second: tasks wait no longer than they are to, and none is killed for
 * it. One that is killed does not wait.
 */
SSW_BODY(evict_pool, slow_device)
{
	const long pages = 1600;
	struct ways_out w, late;
	pid_t pid;
	int err;

	err = fault_nullb("0", "1024", "500000000");
	if (err)
		SKIP(return, "no null_blk (%s)", strerror(-err));
	ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 1024);
	put("wait_ms", 50);
	w = ways_out(GROUP);
	pid = turns_in(GROUP, 0, pages, 0);
	ASSERT_LT(0, pid);
	ssw_for_looks(i) {
		late = ways_out(GROUP);
		if (late.late > w.late)
			break;
		usleep(100000);
	}
	EXPECT_LT(w.late, late.late);
	/* It reclaims by itself, and waits for what it has written before it is killed. */
	EXPECT_EQ(0, ssw_join(pid));
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	/* One that waits for long is killed. */
	put("wait_ms", atoi(PATIENT));
	ssw_for_looks(i) {
		pid = turns_in(GROUP, 0, pages, 0);
		ASSERT_LT(0, pid);
		usleep(500000 + i % 10 * 100000);
		kill(pid, SIGKILL);
		ssw_join(pid);
		if (ssw_stat("fallback/evict_killed") > w.killed)
			break;
	}
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_LT(0, w.killed);
	settled(_metadata);
	leave(_metadata);
}

/* A device that takes 50 ms: tasks wait, and have room in time. */
SSW_BODY(evict_pool, device_with_latency)
{
	struct ways_out w;
	int err;

	err = fault_nullb("0", "1024", "50000000");
	if (err)
		SKIP(return, "no null_blk (%s)", strerror(-err));
	ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 1024);
	w = ways_out(GROUP);
	EXPECT_EQ(0, ssw_join(turns_in(GROUP, 0, 1600, 0)));
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_LT(0, w.waits);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	leave(_metadata);
}

/*
 * A device that stalls. All that evictors would take of a group is being written, and they wait for
 * it: that is not nothing to evict. So tasks do not reclaim, which would give the device more to
 * do. Of another group there is nothing: its tasks need not wait for that device.
 */
SSW_BODY(evict_pool, device_stalls)
{
	const long max = 8192;
	struct ways_out w, lw;
	char dev[32];
	long long late, scanned;
	int err, status;
	pid_t pid;

	err = dm_linear(ssw_bdev(0), 128 << 20 >> 9, dev, sizeof(dev));
	if (err)
		SKIP(return, "no dm-linear over a spare device (%s)", strerror(-err));
	ASSERT_EQ(0, ssw_mkswap(dev, 2 * max));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", max);
	ASSERT_EQ(0, cg_make(LOCKED));
	ASSERT_EQ(0, ssw_cgroup_set(LOCKED, "memory.max", 512 * SSW_PAGE));
	/* One that has to do with both groups */
	put("threads", 1);
	late = counter("late");
	w = ways_out(GROUP);
	ASSERT_EQ(0, dm_suspend(true));
	pid = turns_in(GROUP, 0, max + max / 2, 0);
	/* The evictor has put back pages, and has time to give up. */
	ssw_for_looks(i) {
		if (counter("late") > late)
			break;
		usleep(20000);
	}
	for (int i = 0; i < 20 && ways_out(GROUP).stuck == w.stuck; i++)
		usleep(50000);
	EXPECT_EQ(w.stuck, ways_out(GROUP).stuck);
	/* Nor does it look at the same pages again and again. */
	scanned = cg(GROUP, "memory.stat", "pgscan_kswapd");
	TH_LOG("%lld pages scanned", scanned);
	EXPECT_GT(4 * max, scanned);
	lw = ways_out(LOCKED);
	status = lock_all(LOCKED);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	lw = ways_out_since(_metadata, LOCKED, &lw);
	EXPECT_LT(0, lw.stuck);
	EXPECT_EQ(0, lw.late);
	ASSERT_EQ(0, dm_suspend(false));
	EXPECT_EQ(0, ssw_join(pid));
	w = ways_out_since(_metadata, GROUP, &w);
	late = counter("late") - late;
	TH_LOG("%lld pages late", late);
	EXPECT_LT(0, late);
	EXPECT_LT(0, w.waits);
	EXPECT_EQ(0, w.direct);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(LOCKED));
	leave(_metadata);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	EXPECT_EQ(0, dm_gone());
}

/* --- suspend ---------------------------------------------------------------------------- */

#define POWER	"/sys/power/"

/*
 * Suspended down to a level, and resumed, while tasks wait for evictors. Before drives are,
 * evictors have ended what they held and sleep. For an image memory is reclaimed, without them.
 */
SSW_BODY(evict_pool, suspended)
{
	static const struct {
		const char *level, *state;
	} ways[] = {
		{ "freezer", "mem" }, { "devices", "mem" }, { "freezer", "disk" },
		{ "devices", "freeze" }, { "devices", "disk" }, { "processors", "mem" },
	};
	struct ssw_areas areas;
	pid_t pid[SSW_MANY];
	char states[64];
	struct ways_out w;

	if (access(POWER "pm_test", W_OK))
		SKIP(return, "no /sys/power/pm_test (CONFIG_SUSPEND, CONFIG_PM_DEBUG)");
	ASSERT_LT(0, ssw_read(POWER "state", states, sizeof(states)));
	ssw_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	w = ways_out(GROUP);
	for (int i = 0; i < areas.n; i++)
		pid[i] = turns_in(GROUP, areas.cpu[i], 1500, 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		long long freed = counter("freed");
		int ret;

		if (!strstr(states, ways[i].state)) {
			TH_LOG("this machine does not know '%s'", ways[i].state);
			continue;
		}
		ASSERT_EQ(0, ssw_write(POWER "pm_test", ways[i].level));
		ret = ssw_write(POWER "state", ways[i].state);
		EXPECT_EQ(0, ssw_write(POWER "pm_test", "none"));
		EXPECT_EQ(0, ret) TH_LOG("%s, %s", ways[i].level, ways[i].state);
		/* They go on. */
		ssw_for_looks(n) {
			if (counter("freed") > freed + 1000)
				break;
			usleep(20000);
		}
		EXPECT_LT(freed + 1000, counter("freed"))
			TH_LOG("%s, %s", ways[i].level, ways[i].state);
	}
	for (int i = 0; i < areas.n; i++) {
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG)) TH_LOG("a page is wrong, or it was killed");
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	w = ways_out_since(_metadata, GROUP, &w);
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	leave(_metadata);
}

/*
 * Hibernated to an image in an area, while tasks wait for evictors, and back. The kernel's own test
 * mode writes it, reads it again and resumes from it. Or it is refused, and all go on. Only when
 * asked for (SSW_HIBERNATE=1): it takes minutes in an emulated guest.
 */
SSW_BODY(evict_pool, hibernated_and_back)
{
	char states[64] = "", disk[128] = "", dev[32];
	struct ssw_areas areas;
	pid_t pid[SSW_MANY];
	long long freed;
	struct stat st;
	int ret;

	if (!getenv("SSW_HIBERNATE"))
		SKIP(return, "set SSW_HIBERNATE=1 for it");
	ssw_read(POWER "state", states, sizeof(states));
	ssw_read(POWER "disk", disk, sizeof(disk));
	if (!strstr(states, "disk") || !strstr(disk, "test_resume"))
		SKIP(return, "the kernel cannot hibernate (CONFIG_HIBERNATION)");
	ASSERT_EQ(0, ssw_areas_on(&areas, 60000, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	ASSERT_EQ(0, stat(areas.path[0], &st));
	snprintf(dev, sizeof(dev), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	/* It also looks for an image there, and finds none. */
	ssw_write(POWER "resume", dev);
	ssw_write(POWER "image_size", "0");
	ssw_write("/proc/sys/vm/drop_caches", "3");
	for (int i = 0; i < areas.n; i++)
		pid[i] = turns_in(GROUP, areas.cpu[i], 1500, 1000000);
	freed = counter("freed");
	ssw_for_looks(n) {
		if (counter("freed") > freed + 1000)
			break;
		usleep(20000);
	}
	ASSERT_EQ(0, ssw_write(POWER "disk", "test_resume"));
	ret = ssw_write(POWER "state", "disk");
	TH_LOG("%s", ret ? strerror(-ret) : "hibernated and back");
	EXPECT_TRUE(!ret || ret == -ENODEV || ret == -ENOSPC || ret == -EOPNOTSUPP ||
		    ret == -EPERM);
	freed = counter("freed");
	ssw_for_looks(n) {
		if (counter("freed") > freed + 1000)
			break;
		usleep(20000);
	}
	EXPECT_LT(freed + 1000, counter("freed"));
	for (int i = 0; i < areas.n; i++) {
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG))
			TH_LOG("a page is wrong, or it was killed");
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	leave(_metadata);
}

/* --- threads ---------------------------------------------------------------------------- */

/* Read a line of /proc/PID/status of the evictors: how many there are, and if all say the same. */
static int evictors(const char *key, const char *value)
{
	int n = 0;
	struct dirent *d;
	DIR *dir = opendir("/proc");

	if (!dir)
		return -1;
	while ((d = readdir(dir))) {
		char path[300], buf[4096], line[96];

		snprintf(path, sizeof(path), "/proc/%s/status", d->d_name);
		if (atoi(d->d_name) <= 0 || ssw_read(path, buf, sizeof(buf)) < 0 ||
		    !strstr(buf, "ssw_evict"))
			continue;
		n++;
		snprintf(line, sizeof(line), "%s:\t%s\n", key, value);
		if (value && !strstr(buf, line)) {
			n = -1;
			break;
		}
	}
	closedir(dir);
	return n;
}

/* evict/cpus is where they run, also if a CPU goes and comes back. */
SSW_BODY(evict_pool, cpus)
{
	struct ssw_areas areas;
	char buf[64];
	int n;

	if (ssw_nr_possible() < 3)
		SKIP(return, "fewer than three CPUs");
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 2));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 1024);
	n = evictors(NULL, NULL);
	EXPECT_LE(2, n);
	ASSERT_EQ(0, ssw_write(EVICT "cpus", "1-2"));
	ASSERT_LE(0, ssw_read(EVICT "cpus", buf, sizeof(buf)));
	EXPECT_STREQ("1-2", strtok(buf, "\n"));
	EXPECT_EQ(n, evictors("Cpus_allowed_list", "1-2"));
	ASSERT_EQ(0, ssw_write(EVICT "cpus", "2"));
	EXPECT_EQ(n, evictors("Cpus_allowed_list", "2"));
	if (!ssw_set_online(2, false)) {
		EXPECT_EQ(-EINVAL, ssw_write(EVICT "cpus", "2"));
		/* Those that run have to do so elsewhere. */
		EXPECT_EQ(0, all_turn_in(GROUP, &areas, areas.n, 1500, 1));
		ASSERT_EQ(0, ssw_set_online(2, true));
		EXPECT_EQ(n, evictors("Cpus_allowed_list", "2"));
	}
	EXPECT_EQ(0, ssw_write(EVICT "cpus", "\n"));
	EXPECT_EQ(-1, evictors("Cpus_allowed_list", "2"));
	leave(_metadata);
}

/* More evictors and fewer, again and again, while they are needed. They work, if there are any. */
SSW_BODY(evict_pool, number_changes)
{
	static const int number[] = { 0, 3, 1, 16, 2, 0, 4 };
	struct ssw_areas areas;
	long long was = dying();
	pid_t pid[4];

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	limit(_metadata, "memory.max", 2048);
	/* These go on until they are told to end: how fast a CPU is decides nothing. */
	for (int i = 0; i < areas.n; i++)
		pid[i] = turns_in(GROUP, areas.cpu[i], 1500, 1000000);
	for (int i = 0; i < areas.n; i++)
		ASSERT_LT(0, pid[i]);
	for (int i = 0; i < 3 * ARRAY_SIZE(number); i++) {
		int n = number[i % ARRAY_SIZE(number)];
		long long freed;

		put("threads", n);
		EXPECT_EQ(n, counter("threads"));
		freed = counter("freed");
		ssw_for_looks(j) {
			usleep(50000);
			if (!n || counter("freed") > freed)
				break;
		}
		if (n)
			EXPECT_LT(freed, counter("freed")) TH_LOG("%d evictors", n);
	}
	for (int i = 0; i < areas.n; i++) {
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG)) TH_LOG("a page is wrong, or it was killed");
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill"));
	settled(_metadata);
	/* A group that waits for an evictor when the last one goes is forgotten, not kept. */
	put("threads", 0);
	leave(_metadata);
	gone(_metadata, was);
}

#define OTHER	"ssw-pool-b"

/* A group that waits for the only evictor, which has another one, when there is to be none. */
SSW_BODY(evict_pool, none_while_a_group_waits)
{
	long long was = dying();
	pid_t pid, other;
	int err;

	err = fault_nullb("0", "1024", "50000000");
	if (err)
		SKIP(return, "no null_blk (%s)", strerror(-err));
	ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, cg_make(OTHER));
	limit(_metadata, "memory.max", 1024);
	ASSERT_EQ(0, ssw_cgroup_set(OTHER, "memory.max", 1024 * SSW_PAGE));
	put("threads", 1);
	pid = turns_in(GROUP, 0, 2000, 0);
	ASSERT_LT(0, pid);
	ssw_for_looks(i) {
		if (cg(GROUP, "memory.swap.current", NULL) > 0)
			break;
		usleep(1000);
	}
	other = ssw_fork();
	ASSERT_LE(0, other);
	if (!other) {
		char *p = ssw_map(1500, false);

		if (cg_move(OTHER, getpid()))
			_exit(9);
		ssw_stamp(p, 1500, 1);
		_exit(ssw_wrong(p, 1500, 1) ? 1 : 0);
	}
	/* It has less room than evictors leave. */
	ssw_for_looks(i) {
		if (cg(OTHER, "memory.current", NULL) > (1024 - 8) * (long long)SSW_PAGE)
			break;
		usleep(1000);
	}
	put("threads", 0);
	EXPECT_EQ(0, ssw_join(pid));
	EXPECT_EQ(0, ssw_join(other));
	settled(_metadata);
	leave(_metadata);
	cg_reclaim(OTHER);
	EXPECT_EQ(0, cg_remove(OTHER));
	gone(_metadata, was);
}

/* A group that is removed, and processes that leave it, while evictors are at it */
SSW_BODY(evict_pool, group_goes)
{
	long long was = dying();
	struct ssw_areas areas;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 4));
	for (int i = 0; i < 10; i++) {
		pid_t pid;

		ASSERT_EQ(0, cg_make(GROUP));
		limit(_metadata, "memory.max", 1024);
		pid = turns_in(GROUP, areas.cpu[i % areas.n], 3000, 5);
		ASSERT_LT(0, pid);
		ssw_for_looks(j) {
			if (cg(GROUP, "memory.swap.current", NULL) > 0)
				break;
			usleep(1000);
		}
		if (i % 2)
			kill(pid, SIGKILL);
		else
			cg_move("ssw", pid);
		ssw_for_looks(j) {
			if (!cg_remove(GROUP))
				break;
			usleep(1000);
		}
		EXPECT_NE(0, access(SSW_CG "/" GROUP, F_OK));
		EXPECT_EQ(i % 2 ? 1000 + SIGKILL : 0, ssw_join(pid)) TH_LOG("round %d", i);
	}
	settled(_metadata);
	/* Swap of those that were moved is charged to the group until they end: they have. */
	gone(_metadata, was);
}

/* Bad input is refused. */
SSW_TEST_F(evict_pool, bad_input)
{
	static const char * const bad[][2] = {
		{ "threads", "65" }, { "threads", "-1" }, { "threads", "x" },
		{ "batch", "0" }, { "batch", "257" }, { "batch", "x" },
		{ "wait_ms", "0" }, { "wait_ms", "60001" }, { "wait_ms", "1 2" },
		{ "cpus", "x" }, { "cpus", "9999" }, { "cpus", "2-1" },
		{ "circulate", "2" }, { "circulate", "x" },
	};
	char path[96];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(path, sizeof(path), EVICT "%s", bad[i][0]);
		EXPECT_GT(0, ssw_write(path, bad[i][1])) {
			TH_LOG("%s: '%s'", bad[i][0], bad[i][1]);
		}
	}
	EXPECT_EQ(2, counter("threads"));
	EXPECT_EQ(atoi(PATIENT), counter("wait_ms"));
	EXPECT_EQ(0, counter("circulate"));
}

TEST_HARNESS_MAIN
