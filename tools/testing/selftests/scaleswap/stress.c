// SPDX-License-Identifier: GPL-2.0
/*
 * stress - everything that swaps, at the same time, with areas and CPUs that
 * come and go.
 *
 * A worker a CPU (or --workers) allocates, stamps, swaps out, reads, drops and
 * forks; all of them move between CPUs; some let what one CPU swapped out be
 * freed by another. Meanwhile CPUs go offline and online, areas are turned off
 * and on and get new homes, and reclaim and process_madvise() push pages out
 * from other CPUs. With --soak also: zswap on and off, KSM, huge pages, limits
 * of groups, tmpfs, fork storms, compaction.
 *
 * Every page says whose it is, where, and of which generation, and is checked
 * at each visit. A line a minute tells how far it is. At the end everything
 * is given up, and nothing may be left in swap.
 *
 * --spoil mixes two pages up on purpose: it has to end with status 1.
 *
 * Exit status: 0 good; 1 a wrong page, a splat in the kernel log, or slots left
 * over; 2 it could not run; 3 no progress (what hangs is shown).
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "area_util.h"

#define MAX_WORKERS	64
#define MAGIC		0x53535753u
#define TOP		"ssw-stress"
#define ZSWAP		"/sys/module/zswap/parameters/"
#define KSM		"/sys/kernel/mm/ksm/"
#define TMPFS		"/tmp/ssw-stress"

static struct {
	unsigned int seconds, workers, pages, area_pages, watchdog;
	uint64_t seed;
	bool soak, spoil;
} opt = { .seconds = 20, .pages = 768, .area_pages = 8192, .watchdog = 180 };

/* A worker is of one kind all its life. */
enum kind { ANON, FORK, REMOTE, SHMEM, HUGE, MERGED, TMPFILE, STORM, NKINDS };
static const char * const kinds[] = {
	"anon", "fork", "remote", "shmem", "huge", "merged", "tmpfile", "storm",
};

struct slot {
	volatile pid_t pid;
	volatile enum kind kind;
	volatile uint64_t beat, verified, out;
	volatile uint64_t wrong;
	char *volatile base;		/* for process_madvise() */
	volatile size_t bytes;
	const char *group;
	uint64_t last_beat;		/* of the watchdog */
	time_t last_time;
};

static struct shared {
	volatile bool stop;
	volatile uint64_t hotplugs, swapoffs, swapoff_errors, rehomes, reclaims, advised, switches;
	volatile uint64_t forks, kills;
	volatile int broken;		/* a disturber failed: how it says itself */
	struct slot slot[MAX_WORKERS];
} *sh;

static struct {
	int n, cpus;
	char path[SSW_MANY][256];
} areas;

static uint64_t rnd;			/* this process's own stream */

static uint64_t pick(uint64_t n)
{
	return n ? ssw_random(&rnd) % n : 0;
}

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

static void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "stress: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(2);
}

/* --- pages ----------------------------------------------------------------- */

/* The worker that stamped a page last, and its generation; 0 is never stamped. */
struct meta {
	uint32_t owner, gen;
};

struct region {
	char *p;
	size_t n;
	struct meta *m;
	bool shared;		/* memory of a file or shared: REMOVE, not DONTNEED */
	bool merged;		/* few different contents, for KSM */
};

static const uint16_t stamp_at[] = { 0, 252, 508 };

static void make_stamp(const struct region *r, size_t i, uint64_t w[4])
{
	const struct meta *m = &r->m[i];

	w[0] = (uint64_t)MAGIC << 32 | m->gen;
	w[1] = m->owner;
	w[2] = r->merged ? i % 8 : (uintptr_t)(r->p + i * SSW_PAGE);
	w[3] = (w[0] ^ w[1] * 0x9e3779b97f4a7c15ULL ^ w[2]) * 0xff51afd7ed558ccdULL;
}

static void stamp(struct region *r, size_t i)
{
	uint64_t w[4], *page = (uint64_t *)(r->p + i * SSW_PAGE);

	r->m[i].owner = r->merged ? 1 : getpid();
	r->m[i].gen = r->merged ? r->m[i].gen % 3 + 1 : r->m[i].gen + 1;
	make_stamp(r, i, w);
	for (size_t s = 0; s < ARRAY_SIZE(stamp_at); s++)
		memcpy(page + stamp_at[s], w, sizeof(w));
}

static void verify(struct slot *me, const struct region *r, size_t i)
{
	const uint64_t *page = (const uint64_t *)(r->p + i * SSW_PAGE);
	uint64_t w[4] = { };

	if (r->m[i].gen)
		make_stamp(r, i, w);
	me->verified++;
	for (size_t s = 0; s < ARRAY_SIZE(stamp_at); s++) {
		const uint64_t *seen = page + stamp_at[s];

		if (!memcmp(seen, w, sizeof(w)))
			continue;
		if (__sync_fetch_and_add(&me->wrong, 1) < 8)
			say("wrong_page kind=%s page=%zu word=%u pid=%d expected: owner=%u addr=%#llx gen=%u found: magic=%#llx owner=%llu addr=%#llx gen=%u",
			    kinds[me->kind], i, stamp_at[s], getpid(), r->m[i].owner,
			    (unsigned long long)w[2], r->m[i].gen,
			    (unsigned long long)seen[0] >> 32, (unsigned long long)seen[1],
			    (unsigned long long)seen[2], (unsigned int)seen[0]);
		break;
	}
}

static void verify_all(struct slot *me, const struct region *r)
{
	for (size_t i = 0; i < r->n; i++)
		verify(me, r, i);
}

static bool map_region(struct slot *me, struct region *r, size_t pages, enum kind kind, int fd)
{
	memset(r, 0, sizeof(*r));
	r->n = pages;
	r->shared = kind == SHMEM || kind == TMPFILE;
	r->merged = kind == MERGED;
	r->m = calloc(pages, sizeof(*r->m));
	if (r->shared)
		r->p = mmap(NULL, pages * SSW_PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	else
		r->p = ssw_map(pages, kind == HUGE);
	if (!r->m || !r->p || r->p == MAP_FAILED)
		return false;
	if (kind == MERGED)
		madvise(r->p, pages * SSW_PAGE, 12 /* MADV_MERGEABLE */);
	me->base = r->p;
	me->bytes = pages * SSW_PAGE;
	return true;
}

static void unmap_region(struct slot *me, struct region *r)
{
	me->bytes = 0;
	munmap(r->p, r->n * SSW_PAGE);
	free(r->m);
}

/* Somewhere else; where exactly a CPU may just be going offline does not matter. */
static void migrate(void)
{
	ssw_pin(pick(areas.cpus));
}

/* One thing at random with some of the pages. */
static void step(struct slot *me, struct region *r)
{
	size_t at = pick(r->n), n = 1 + pick(pick(4) ? 32 : 256);
	char *p = r->p + at * SSW_PAGE;

	if (n > r->n - at)
		n = r->n - at;
	me->beat++;
	switch (pick(20)) {
	case 0 ... 4:
		for (size_t i = at; i < at + n; i++)
			stamp(r, i);
		break;
	case 5 ... 8:
		if (!madvise(p, n * SSW_PAGE, MADV_PAGEOUT))
			me->out += n;
		break;
	case 9 ... 12:
		for (size_t i = at; i < at + n; i++)
			verify(me, r, i);
		break;
	case 13:
		if (!madvise(p, n * SSW_PAGE, r->shared ? MADV_REMOVE : MADV_DONTNEED))
			for (size_t i = at; i < at + n; i++)
				r->m[i].gen = 0;
		break;
	case 14:
		migrate();
		break;
	case 15:
		madvise(p, n * SSW_PAGE, MADV_WILLNEED);
		break;
	case 16:
		if (!mlock(p, (n < 16 ? n : 16) * SSW_PAGE)) {
			verify(me, r, at);
			munlock(p, (n < 16 ? n : 16) * SSW_PAGE);
		}
		break;
	case 17:
		if (!mprotect(p, n * SSW_PAGE, PROT_READ)) {
			verify(me, r, at);
			if (mprotect(r->p, r->n * SSW_PAGE, PROT_READ | PROT_WRITE))
				_exit(40);
		}
		break;
	case 18:
		madvise(p, n * SSW_PAGE, pick(2) ? MADV_PAGEOUT : 20 /* MADV_COLD */);
		break;
	default:
		verify_all(me, r);
	}
}

/* --- workers ---------------------------------------------------------------- */

/* Wait for a child. A child killed by the OOM killer under a limit is no error. */
static void reap(struct slot *me, pid_t pid)
{
	int ret = ssw_join(pid);

	if (ret == 1000 + SIGKILL && opt.soak)
		__sync_fetch_and_add(&sh->kills, 1);
	else if (ret == 41)
		;	/* no memory for its own */
	else if (ret) {
		say("child of %s ended with status %d", kinds[me->kind], ret);
		me->wrong++;
	}
}

static pid_t clone_worker(uint64_t salt)
{
	uint64_t s = ssw_random(&rnd) ^ salt;
	pid_t pid = ssw_fork();

	if (!pid)
		rnd = s;
	else if (pid > 0)
		__sync_fetch_and_add(&sh->forks, 1);
	return pid;
}

/* Children that share what is in swap, and all go on with it. */
static void work_fork(struct slot *me, struct region *r)
{
	pid_t kids[4];
	int n = 1 + pick(4);

	for (int i = 0; i < 6; i++)
		step(me, r);
	for (int i = 0; i < n; i++) {
		kids[i] = clone_worker(i);
		if (!kids[i]) {
			uint64_t before = me->wrong;

			migrate();
			for (int j = pick(12); j > 0; j--)
				step(me, r);
			if (pick(3))
				verify_all(me, r);
			_exit(me->wrong > before ? 1 : 0);
		}
	}
	for (int i = 0; i < 6; i++)
		step(me, r);
	for (int i = 0; i < n; i++)
		if (kids[i] > 0)
			reap(me, kids[i]);
}

/* Swapped out on one CPU, freed on another: by ending, unmapping, dropping, reading. */
static void work_remote(struct slot *me)
{
	pid_t pid = clone_worker(7);

	me->beat++;
	if (pid > 0)
		reap(me, pid);
	if (pid)
		return;
	struct region r;
	size_t pages = 64 + pick(512);

	migrate();
	if (!map_region(me, &r, pages, ANON, -1))
		_exit(41);
	for (size_t i = 0; i < pages; i++)
		stamp(&r, i);
	madvise(r.p, pages * SSW_PAGE, MADV_PAGEOUT);
	me->out += pages;
	migrate();
	me->beat++;
	switch (pick(4)) {
	case 0:
		verify_all(me, &r);
		break;
	case 1:
		for (size_t i = pick(3); i < pages; i += 3) {
			madvise(r.p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
			r.m[i].gen = 0;
		}
		verify_all(me, &r);
		break;
	case 2:
		munmap(r.p, pages / 2 * SSW_PAGE);
		for (size_t i = pages / 2; i < pages; i++)
			verify(me, &r, i);
		break;
	}
	me->bytes = 0;
	_exit(0);
}

/* Many at once, each with a look at a few pages. */
static void work_storm(struct slot *me, struct region *r)
{
	pid_t kids[40];
	int n = 10 + pick(30);

	madvise(r->p, r->n * SSW_PAGE, MADV_PAGEOUT);
	for (int i = 0; i < n; i++) {
		kids[i] = clone_worker(i);
		if (!kids[i]) {
			migrate();
			for (int j = 0; j < 16; j++)
				verify(me, r, pick(r->n));
			for (int j = 0; j < 8; j++)
				stamp(r, pick(r->n));
			_exit(0);
		}
		me->beat++;
	}
	for (int i = 0; i < n; i++)
		if (kids[i] > 0)
			reap(me, kids[i]);
	for (int i = 0; i < 4; i++)
		step(me, r);
}

/* A file in tmpfs, cut and grown beside what is done to its mapping. */
static int tmpfile_open(int nr, size_t pages)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), TMPFS "/%d", nr);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, pages * SSW_PAGE)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void cut_and_grow(struct region *r, int fd)
{
	size_t to = pick(r->n);

	if (ftruncate(fd, to * SSW_PAGE) || ftruncate(fd, r->n * SSW_PAGE))
		return;
	for (size_t i = to; i < r->n; i++)
		r->m[i].gen = 0;
}

static void worker(int nr, enum kind kind, uint64_t life)
{
	struct slot *me = &sh->slot[nr];
	size_t pages = kind == HUGE ? (opt.pages + 511) & ~511UL : opt.pages;
	char path[128], pid[16];
	struct region r;
	int fd = -1;

	prctl(PR_SET_NAME, kinds[kind]);
	rnd = opt.seed ^ (uint64_t)nr << 40 ^ life << 20 ^ kind;
	snprintf(path, sizeof(path), SSW_CG "/%s/cgroup.procs", me->group);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (ssw_write(path, pid))
		_exit(42);
	migrate();
	if (kind == TMPFILE) {
		fd = tmpfile_open(nr, pages);
		if (fd < 0)
			_exit(43);
	}
	if (!map_region(me, &r, pages, kind, fd))
		_exit(41);
	if (opt.spoil && !nr) {
		/* The effect of a mixed-up swap path: one page in two places. */
		stamp(&r, 0);
		stamp(&r, 1);
		memcpy(r.p, r.p + SSW_PAGE, SSW_PAGE);
		verify_all(me, &r);
	}
	while (!sh->stop && !me->wrong) {
		switch (kind) {
		case FORK:
			work_fork(me, &r);
			break;
		case REMOTE:
			work_remote(me);
			break;
		case STORM:
			work_storm(me, &r);
			break;
		case TMPFILE:
			if (!pick(64))
				cut_and_grow(&r, fd);
			__attribute__((__fallthrough__));
		default:
			step(me, &r);
		}
		/* Give it all up now and then, wherever it is. */
		if (!pick(kind == FORK || kind == STORM ? 40 : 400)) {
			unmap_region(me, &r);
			if (fd >= 0) {
				close(fd);
				fd = tmpfile_open(nr, pages);
			}
			if ((kind == TMPFILE && fd < 0) || !map_region(me, &r, pages, kind, fd))
				_exit(41);
		}
	}
	verify_all(me, &r);
	fflush(stdout);
	_exit(me->wrong ? 1 : 0);
}

/* --- disturbances --------------------------------------------------------------- */

static void pause_ms(unsigned int most)
{
	usleep(1000 * (1 + pick(most)));
}

static void disturb_cpus(void)
{
	while (!sh->stop) {
		int cpu = 1 + pick(areas.cpus - 1);

		if (ssw_set_online(cpu, false)) {
			pause_ms(200);
			continue;
		}
		pause_ms(150);
		while (ssw_set_online(cpu, true))
			pause_ms(20);
		sh->hotplugs++;
		pause_ms(opt.soak ? 1500 : 300);
	}
}

static void area_on(int i, int cpu)
{
	int ret;

	/* Right after swapoff a device may be open for a moment. */
	for (int tries = 0; tries < 200; tries++) {
		ret = ssw_on_cpu(areas.path[i], cpu);
		if (ret >= 0)
			return;
		usleep(20000);
	}
	say("cannot turn %s on again: %s", areas.path[i], strerror(-ret));
	sh->broken = 1;
}

static void disturb_areas(void)
{
	while (!sh->stop) {
		int i = pick(areas.n), ret, t;
		char cpu[16];

		switch (pick(3)) {
		case 0:
			t = ssw_type_of(areas.path[i]);
			snprintf(cpu, sizeof(cpu), "%d", (int)pick(areas.cpus));
			if (t >= 0 && !ssw_rehome(t, cpu))
				sh->rehomes++;
			break;
		default:
			ret = ssw_swapoff(areas.path[i]);
			if (ret) {
				/* ENOMEM is the kernel's answer when it might not fit. */
				sh->swapoff_errors++;
				if (ret != -ENOMEM && ret != -EINTR) {
					say("swapoff of %s: %s", areas.path[i], strerror(-ret));
					sh->broken = 1;
				}
				break;
			}
			sh->swapoffs++;
			pause_ms(100);
			area_on(i, pick(3) ? i % areas.cpus : (int)pick(areas.cpus));
		}
		pause_ms(opt.soak ? 2000 : 400);
	}
}

/* From other CPUs than the pages' users: whole groups, and single processes. */
static void disturb_memory(void)
{
	while (!sh->stop) {
		struct slot *s = &sh->slot[pick(opt.workers)];
		struct iovec iov = { s->base, s->bytes };
		int fd, t = pick(4) ? -1 : ssw_type_of(areas.path[pick(areas.n)]);
		char amount[32], path[128];

		migrate();
		if (t >= 0) {
			/* The area may be off again; a kernel without moves has no such file. */
			ssw_area_path(path, sizeof(path), t, "compact");
			ssw_write(path, "1");
		} else if (pick(2)) {
			snprintf(amount, sizeof(amount), "%dK", (int)(64 + pick(4096)));
			ssw_write(SSW_CG "/" TOP "/memory.reclaim", amount);
			sh->reclaims++;
		} else if (s->pid > 0 && iov.iov_len) {
			fd = syscall(SYS_pidfd_open, s->pid, 0);
			if (fd >= 0) {
				if (syscall(SYS_process_madvise, fd, &iov, 1, MADV_PAGEOUT, 0) > 0)
					sh->advised++;
				close(fd);
			}
		}
		pause_ms(100);
	}
}

static void limit(const char *file, long long bytes)
{
	ssw_cgroup_set(TOP "/b", file, bytes);
}

static void disturb_switches(void)
{
	static const char * const thp[] = { "never", "madvise" };

	while (!sh->stop) {
		long long now;

		sh->switches++;
		switch (pick(10)) {
		case 0:
		case 1:
			ssw_write(ZSWAP "enabled", pick(2) ? "1" : "0");
			break;
		case 2:
			/* 2 takes all merged pages apart, which are partly in swap */
			ssw_write(KSM "run", pick(3) ? "1" : "2");
			break;
		case 3:
			ssw_write(SSW_THP "/hugepages-64kB/enabled", thp[pick(2)]);
			ssw_write(SSW_THP "/hugepages-2048kB/enabled", thp[pick(2)]);
			break;
		case 4:
			ssw_write("/proc/sys/vm/compact_memory", "1");
			break;
		case 5:
			ssw_write("/proc/sys/vm/drop_caches", pick(2) ? "1" : "2");
			break;
		case 6:
			/* Half of what it has; not so little that all is under writeback. */
			now = ssw_num(SSW_CG "/" TOP "/b/memory.current");
			limit("memory.max", now / 2 > 24 << 20 ? now / 2 : 24 << 20);
			pause_ms(2000);
			limit("memory.max", -1);
			break;
		case 7:
			now = ssw_num(SSW_CG "/" TOP "/b/memory.swap.current");
			limit("memory.swap.max", now / 2);
			pause_ms(2000);
			limit("memory.swap.max", -1);
			break;
		case 8:
			limit("memory.high", 16 << 20);
			pause_ms(500);
			limit("memory.high", -1);
			break;
		case 9:
			limit("memory.zswap.max", pick(2) ? 1 << 20 : -1);
			break;
		}
		pause_ms(1000);
	}
	limit("memory.max", -1);
	limit("memory.swap.max", -1);
	limit("memory.high", -1);
	limit("memory.zswap.max", -1);
	ssw_write(ZSWAP "enabled", "0");
	ssw_write(KSM "run", "2");
	ssw_write(KSM "run", "0");
}

/* --- in charge --------------------------------------------------------------------- */

static time_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void show_file(const char *fmt, int pid)
{
	char path[64], buf[4096];

	snprintf(path, sizeof(path), fmt, pid);
	if (ssw_read(path, buf, sizeof(buf)) > 0)
		say("--- %s\n%s", path, buf);
}

static void hang(const char *what, pid_t pid)
{
	say("HANG %s pid %d made no progress for %u s", what, pid, opt.watchdog);
	show_file("/proc/%d/status", pid);
	show_file("/proc/%d/wchan", pid);
	show_file("/proc/%d/stack", pid);
	show_file("/proc/%d/syscall", pid);
	/* Blocked tasks and what each CPU does, into the kernel log. */
	ssw_write("/proc/sysrq-trigger", "w");
	ssw_write("/proc/sysrq-trigger", "l");
	sleep(2);
	exit(3);
}

static pid_t start(void (*fn)(void), uint64_t salt)
{
	pid_t pid = ssw_fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		rnd = opt.seed ^ salt << 8;
		fn();
		fflush(stdout);
		_exit(0);
	}
	return pid;
}

static void start_worker(int nr, uint64_t life)
{
	/* In order of kind, so that a run with few workers has the most important. */
	int n = opt.soak ? NKINDS : HUGE;
	struct slot *s = &sh->slot[nr];
	pid_t pid;

	s->kind = (nr + life) % n;
	s->group = nr % 2 ? TOP "/b" : TOP "/a";
	s->bytes = 0;
	s->last_time = now_s();
	pid = ssw_fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		worker(nr, s->kind, life);
	s->pid = pid;
}

static long long oom_kills(void)
{
	return ssw_proc_num(SSW_CG "/" TOP "/b/memory.events", "oom_kill");
}

/* One pass over the workers. False: something is wrong. */
static bool service(uint64_t *lives)
{
	bool good = true;

	for (unsigned int i = 0; i < opt.workers; i++) {
		struct slot *s = &sh->slot[i];
		int status;

		if (s->wrong)
			good = false;
		if (s->pid > 0 && waitpid(s->pid, &status, WNOHANG) == s->pid) {
			bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

			if (status && !s->wrong &&
			    (killed ? !opt.soak || i % 2 == 0 : WEXITSTATUS(status) != 41)) {
				say("worker %u (%s) ended with status %#x", i,
				    kinds[s->kind], status);
				good = false;
			}
			s->pid = 0;
			if (killed)
				__sync_fetch_and_add(&sh->kills, 1);
			if (good && !sh->stop)
				start_worker(i, ++lives[i]);
		}
		if (s->pid > 0) {
			if (s->beat != s->last_beat) {
				s->last_beat = s->beat;
				s->last_time = now_s();
			} else if (now_s() - s->last_time > opt.watchdog) {
				hang(kinds[s->kind], s->pid);
			}
		}
	}
	return good && !sh->broken;
}

static void status_line(time_t t0, const char *what)
{
	uint64_t beat = 0, verified = 0, out = 0, wrong = 0;

	for (unsigned int i = 0; i < opt.workers; i++) {
		beat += sh->slot[i].beat;
		verified += sh->slot[i].verified;
		out += sh->slot[i].out;
		wrong += sh->slot[i].wrong;
	}
	say("%s t=%lds steps=%llu verified=%llu wrong=%llu pswpout=%lld zswpout=%lld forks=%llu offlines=%llu swapoffs=%llu (refused %llu) rehomes=%llu reclaims=%llu advised=%llu switches=%llu killed=%llu oom_kill=%lld swap_used=%lldkB deleg_allocs=%lld deleg_frees=%lld waits=%lld no_table=%lld moved=%lld",
	    what, (long)(now_s() - t0), (unsigned long long)beat, (unsigned long long)verified,
	    (unsigned long long)wrong, ssw_vmstat("pswpout"), ssw_vmstat("zswpout"),
	    (unsigned long long)sh->forks,
	    (unsigned long long)sh->hotplugs, (unsigned long long)sh->swapoffs,
	    (unsigned long long)sh->swapoff_errors, (unsigned long long)sh->rehomes,
	    (unsigned long long)sh->reclaims, (unsigned long long)sh->advised,
	    (unsigned long long)sh->switches, (unsigned long long)sh->kills, oom_kills(),
	    ssw_meminfo("SwapTotal") - ssw_meminfo("SwapFree"), ssw_stat("deleg_allocs"),
	    ssw_stat("deleg_frees"), ssw_stat("deleg_waits"), ssw_stat("fallback/no_table"),
	    ssw_num(SSW_SYS "/defrag/moved"));
}

static unsigned long number(const char *s, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long v = strtoul(s, &end, 0);

	if (*end || end == s || *s == '-' || v < min || v > max)
		die("'%s' is not a number from %lu to %lu", s, min, max);
	return v;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seconds", 1, 0, 's' }, { "workers", 1, 0, 'w' }, { "pages", 1, 0, 'p' },
		{ "area-pages", 1, 0, 'a' }, { "seed", 1, 0, 'S' }, { "watchdog", 1, 0, 'W' },
		{ "soak", 0, 0, 'k' }, { "spoil", 0, 0, 'x' }, { }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.seconds = number(optarg, 1, 1000000);
			break;
		case 'w':
			opt.workers = number(optarg, 1, MAX_WORKERS);
			break;
		case 'p':
			opt.pages = number(optarg, 64, 1 << 20);
			break;
		case 'a':
			opt.area_pages = number(optarg, 64, 1 << 24);
			break;
		case 'S':
			opt.seed = number(optarg, 0, ~0UL);
			break;
		case 'W':
			opt.watchdog = number(optarg, 5, 100000);
			break;
		case 'k':
			opt.soak = true;
			break;
		case 'x':
			opt.spoil = true;
			break;
		default:
			fprintf(stderr, "usage: stress [--seconds N] [--seed N] [--workers N] [--pages N] [--area-pages N] [--watchdog S] [--soak] [--spoil]\n");
			exit(2);
		}
	}
	if (optind < argc)
		die("what is '%s'?", argv[optind]);
}

static void make_group(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	if (mkdir(path, 0755) && errno != EEXIST)
		die("cannot make the group %s: %s", path, strerror(errno));
}

static void remove_group(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	for (int i = 0; i < 100 && rmdir(path) && errno == EBUSY; i++)
		usleep(50000);
}

static void set_up(void)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);
	int ret;

	if (why) {
		say("stress: cannot run: %s", why);
		exit(2);
	}
	areas.cpus = ssw_nr_possible();
	if (areas.cpus < 2)
		die("needs two CPUs");
	areas.n = areas.cpus < SSW_MANY ? areas.cpus : SSW_MANY;
	for (int i = 0; i < areas.n; i++) {
		const char *dev = ssw_bdev(i);

		strcpy(areas.path[i], dev ? dev : ssw_file(i));
		ret = dev ? ssw_mkswap(dev, opt.area_pages) :
			    ssw_mkfile(areas.path[i], opt.area_pages);
		if (!ret)
			ret = ssw_on_cpu(areas.path[i], i);
		if (ret < 0)
			die("cannot turn %s on: %s", areas.path[i], strerror(-ret));
	}
	ssw_write(SSW_CG "/cgroup.subtree_control", "+memory");
	make_group(TOP);
	if (ssw_write(SSW_CG "/" TOP "/cgroup.subtree_control", "+memory"))
		die("no memory controller of cgroup v2 at " SSW_CG);
	make_group(TOP "/a");
	make_group(TOP "/b");
	if (!opt.soak)
		return;
	mkdir(TMPFS, 0700);
	if (mount("ssw", TMPFS, "tmpfs", 0, "size=128m"))
		die("cannot mount a tmpfs: %s", strerror(errno));
	ssw_write(KSM "pages_to_scan", "500");
	ssw_write(KSM "sleep_millisecs", "50");
	ssw_write(KSM "run", "1");
	ssw_write(SSW_THP "/hugepages-64kB/enabled", "madvise");
	ssw_write(SSW_THP "/hugepages-2048kB/enabled", "madvise");
}

/* Everybody has ended: is everything given back? Prints why not. */
static bool all_given_back(void)
{
	bool good = true;

	if (opt.soak) {
		umount2(TMPFS, 0);
		rmdir(TMPFS);
	}
	ssw_all_online();
	if (ssw_left_in_swap(TOP, 60))
		good = false;
	say("SwapTotal=%lldkB SwapFree=%lldkB used=%lld tables=%lld", ssw_meminfo("SwapTotal"),
	    ssw_meminfo("SwapFree"), ssw_sum("used"),
	    ssw_has_deleg() ? ssw_sum("tables") : 0);
	for (int i = 0; i < areas.n; i++) {
		int ret = ssw_swapoff(areas.path[i]);

		if (ret) {
			say("swapoff of %s at the end: %s", areas.path[i], strerror(-ret));
			good = false;
		}
	}
	if (ssw_meminfo("SwapTotal") || ssw_meminfo("SwapFree")) {
		say("without areas SwapTotal is %lld kB, SwapFree %lld kB",
		    ssw_meminfo("SwapTotal"), ssw_meminfo("SwapFree"));
		good = false;
	}
	remove_group(TOP "/a");
	remove_group(TOP "/b");
	remove_group(TOP);
	return good;
}

int main(int argc, char **argv)
{
	static uint64_t lives[MAX_WORKERS];
	time_t t0, minute = 0;
	pid_t disturbers[8];
	int log, n = 0, splats;
	struct timespec ts;
	bool good = true;

	clock_gettime(CLOCK_REALTIME, &ts);
	opt.seed = ts.tv_nsec ^ ts.tv_sec << 20;
	parse(argc, argv);
	log = ssw_log_from_here();
	set_up();
	if (!opt.workers)
		opt.workers = areas.cpus < 16 ? areas.cpus : 16;
	if (opt.soak && opt.workers < NKINDS)
		opt.workers = NKINDS;
	sh = ssw_shared(sizeof(*sh));
	if (!sh)
		die("no memory");
	say("stress seed=%llu seconds=%u cpus=%d areas=%d workers=%u pages=%u soak=%d",
	    (unsigned long long)opt.seed, opt.seconds, areas.cpus, areas.n, opt.workers,
	    opt.pages, opt.soak);

	t0 = now_s();
	for (unsigned int i = 0; i < opt.workers; i++)
		start_worker(i, lives[i]);
	disturbers[n++] = start(disturb_cpus, 101);
	disturbers[n++] = start(disturb_areas, 102);
	disturbers[n++] = start(disturb_memory, 103);
	if (opt.soak)
		disturbers[n++] = start(disturb_switches, 104);
	while (good && now_s() - t0 < opt.seconds) {
		usleep(500000);
		good = service(lives);
		if ((now_s() - t0) / 60 != minute) {
			minute = (now_s() - t0) / 60;
			status_line(t0, "minute");
		}
	}
	sh->stop = true;
	/* First those that disturb: they leave everything on, and without limits. */
	for (int i = 0; i < n; i++) {
		time_t from = now_s();

		while (waitpid(disturbers[i], NULL, WNOHANG) == 0) {
			if (now_s() - from > opt.watchdog)
				hang("disturber", disturbers[i]);
			usleep(20000);
		}
	}
	for (unsigned int i = 0; i < opt.workers; i++) {
		time_t from = now_s();

		while (sh->slot[i].pid > 0) {
			good = service(lives) && good;
			if (now_s() - from > opt.watchdog)
				hang(kinds[sh->slot[i].kind], sh->slot[i].pid);
			usleep(20000);
		}
	}
	status_line(t0, "end");
	good = all_given_back() && good;
	splats = ssw_splats(log);
	if (splats) {
		say("%d bad lines in the kernel log", splats);
		good = false;
	}
	say("stress %s seed=%llu", good ? "good" : "BAD", (unsigned long long)opt.seed);
	return good ? 0 : 1;
}
