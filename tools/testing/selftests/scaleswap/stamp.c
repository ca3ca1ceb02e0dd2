// SPDX-License-Identifier: GPL-2.0
/*
 * stamp - a memory workload whose every page names its owner
 *
 * A swap path that mixes pages up goes unseen by workloads that fill all pages with the
 * same byte. Here each page carries its writer, its address and its generation, several
 * times over, and is checked each time the workload comes back to it.
 *
 * Results are key=value lines on stdout. Exit status: 0 all pages right, 1 at least one
 * wrong page (the first few are decoded), 2 the workload could not run (bad options, no
 * memory, a worker killed).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#endif

#define PAGE		4096UL
#define WORDS		(PAGE / sizeof(uint64_t))
#define STAMP_WORDS	4
#define HUGE		(2UL << 20)
#define MAX_WORKERS	1024
#define MAX_SHOWN	8	/* mismatches decoded a worker */
#define MAGIC		0x53535741u	/* "SSWA" */

/*
 * A stamp is four words: magic and generation, owner, address, and a check
 * over the three and the seed. It is put at these words of the page, so that
 * the first and the last word of a page and of each of its 512-byte sectors'
 * neighbourhoods are covered; --full fills the rest from the same three.
 */
static const unsigned int stamp_at[] = { 0, 60, 124, 252, 380, WORDS - STAMP_WORDS };
#define NSTAMPS (sizeof(stamp_at) / sizeof(stamp_at[0]))

static struct {
	size_t bytes;
	unsigned int workers;
	unsigned int passes;
	unsigned int seconds;
	uint64_t seed;
	bool procs, pin, random, full, rewrite, shmem, thp, quiet, cow, spoil;
} opt = { .passes = 2, .seed = 1 };

/* One a worker, in memory shared with the parent. */
struct result {
	uint64_t written, verified, wrong, passes;
	int error;
	char what[64];
} __attribute__((aligned(64)));

struct worker {
	unsigned int nr;
	uint32_t pid;
	char *base;
	size_t pages;
	uint32_t *gen;
	struct result *res;
};

static struct result *results;
static pthread_barrier_t *start_line;
static char *region;
static uint32_t parent_pid;

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "stamp: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(2);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

static uint64_t check_word(uint64_t a, uint64_t owner, uint64_t addr)
{
	return mix(a ^ mix(owner ^ mix(addr ^ mix(opt.seed))));
}

static void make_stamp(uint64_t st[STAMP_WORDS], uint64_t owner, uint64_t addr, uint32_t gen)
{
	st[0] = (uint64_t)MAGIC << 32 | gen;
	st[1] = owner;
	st[2] = addr;
	st[3] = check_word(st[0], owner, addr);
}

static bool is_stamp_word(unsigned int w)
{
	for (unsigned int i = 0; i < NSTAMPS; i++)
		if (w >= stamp_at[i] && w < stamp_at[i] + STAMP_WORDS)
			return true;
	return false;
}

static void write_page(char *page, uint64_t owner, uint64_t addr, uint32_t gen)
{
	uint64_t *w = (uint64_t *)page;
	uint64_t st[STAMP_WORDS];

	make_stamp(st, owner, addr, gen);
	for (unsigned int i = 0; i < NSTAMPS; i++)
		memcpy(w + stamp_at[i], st, sizeof(st));
	if (!opt.full)
		return;
	for (unsigned int i = 0; i < WORDS; i++)
		if (!is_stamp_word(i))
			w[i] = st[3] + i * 0x9e3779b97f4a7c15ULL;
}

/* The first word that differs, or -1. */
static int check_page(const char *page, uint64_t owner, uint64_t addr, uint32_t gen)
{
	const uint64_t *w = (const uint64_t *)page;
	uint64_t st[STAMP_WORDS];

	make_stamp(st, owner, addr, gen);
	for (unsigned int i = 0; i < NSTAMPS; i++)
		for (unsigned int j = 0; j < STAMP_WORDS; j++)
			if (w[stamp_at[i] + j] != st[j])
				return stamp_at[i] + j;
	if (!opt.full)
		return -1;
	for (unsigned int i = 0; i < WORDS; i++)
		if (!is_stamp_word(i) && w[i] != st[3] + i * 0x9e3779b97f4a7c15ULL)
			return i;
	return -1;
}

static void show_wrong(const struct worker *wk, const char *page, uint64_t owner, uint64_t addr,
		       uint32_t gen, int word)
{
	const uint64_t *w = (const uint64_t *)page;
	unsigned int at = 0;
	uint64_t st[STAMP_WORDS];
	char seen[160];

	/* The stamp in which, or before which, the difference lies. */
	for (unsigned int i = 0; i < NSTAMPS; i++)
		if ((int)stamp_at[i] <= word)
			at = stamp_at[i];
	memcpy(st, w + at, sizeof(st));
	if (!st[0] && !st[1] && !st[2] && !st[3])
		snprintf(seen, sizeof(seen), "zeroes");
	else if (st[0] >> 32 != MAGIC)
		snprintf(seen, sizeof(seen), "no stamp: %016llx %016llx %016llx",
			 (unsigned long long)st[0], (unsigned long long)st[1],
			 (unsigned long long)st[2]);
	else
		snprintf(seen, sizeof(seen), "pid=%u worker=%u addr=%#llx gen=%u%s",
			 (unsigned int)(st[1] >> 32), (unsigned int)st[1],
			 (unsigned long long)st[2], (unsigned int)st[0],
			 st[3] == check_word(st[0], st[1], st[2]) ? "" :
			 " (torn: its check word is wrong)");
	printf("wrong_page worker=%u page=%zu word=%d expected: pid=%u worker=%u addr=%#llx gen=%u found: %s\n",
	       wk->nr, (size_t)(page - wk->base) / PAGE, word, (unsigned int)(owner >> 32),
	       (unsigned int)owner, (unsigned long long)addr, gen, seen);
	fflush(stdout);
}

static void verify(struct worker *wk, size_t i, uint64_t owner, uint32_t gen)
{
	char *page = wk->base + i * PAGE;
	int word = check_page(page, owner, (uint64_t)(uintptr_t)page, gen);

	wk->res->verified++;
	if (word < 0)
		return;
	if (wk->res->wrong++ < MAX_SHOWN)
		show_wrong(wk, page, owner, (uint64_t)(uintptr_t)page, gen, word);
}

static void stamp_page(struct worker *wk, size_t i, uint64_t owner)
{
	char *page = wk->base + i * PAGE;

	write_page(page, owner, (uint64_t)(uintptr_t)page, ++wk->gen[i]);
	wk->res->written++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void pin_to(unsigned int nr)
{
	cpu_set_t have, one;
	unsigned int left;

	if (sched_getaffinity(0, sizeof(have), &have))
		return;
	left = nr % CPU_COUNT(&have);
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &have) || left--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

/*
 * Visit every page once. In random order the step is odd and the number of
 * positions a power of two, so that each page comes exactly once without a
 * table that would itself be swapped.
 */
static size_t next_pow2(size_t n)
{
	size_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static void run_worker(struct worker *wk)
{
	uint64_t owner = (uint64_t)wk->pid << 32 | wk->nr;
	size_t span = opt.random ? next_pow2(wk->pages) : wk->pages;
	double end = now() + opt.seconds;

	if (opt.pin)
		pin_to(wk->nr);
	pthread_barrier_wait(start_line);

	if (opt.cow) {
		/* What the parent stamped before the fork is still the parent's. */
		for (size_t i = 0; i < wk->pages; i++) {
			verify(wk, i, (uint64_t)parent_pid << 32 | wk->nr, 1);
			wk->gen[i] = 1;
		}
	}
	for (size_t i = 0; i < wk->pages; i++)
		stamp_page(wk, i, owner);
	wk->res->passes = 1;
	if (opt.spoil && wk->pages > 1) {
		/* What a mixed-up swap path would do: one page in two places. */
		memcpy(wk->base, wk->base + PAGE, PAGE);
	}

	for (unsigned int pass = 1; pass < opt.passes || (opt.seconds && now() < end); pass++) {
		uint64_t rnd = mix(opt.seed ^ mix(owner ^ pass));
		size_t step = opt.random ? (rnd | 1) & (span - 1) : 1;
		size_t pos = opt.random ? (rnd >> 32) & (span - 1) : 0;

		if (opt.random && step < 3 && span > 8)
			step = 5;
		for (size_t n = 0; n < span; n++, pos = (pos + step) % span) {
			if (pos >= wk->pages)
				continue;
			verify(wk, pos, owner, wk->gen[pos]);
			if (opt.rewrite || mix(rnd ^ pos) % 4 == 0)
				stamp_page(wk, pos, owner);
		}
		wk->res->passes++;
		/* A broken kernel must not flood the console for minutes. */
		if (wk->res->wrong > 1000)
			break;
	}
	for (size_t i = 0; i < wk->pages; i++)
		verify(wk, i, owner, wk->gen[i]);
}

static void *thread_main(void *arg)
{
	run_worker(arg);
	return NULL;
}

static void *map_shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("cannot map %zu bytes of shared memory: %s", len, strerror(errno));
	return p;
}

static char *map_region(size_t len)
{
	int flags = (opt.shmem ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", len, strerror(errno));
	p = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	if (opt.thp && madvise(p, len, MADV_HUGEPAGE))
		die("MADV_HUGEPAGE: %s (does the kernel have transparent huge pages?)",
		    strerror(errno));
	return p;
}

static void usage(FILE *f)
{
	fprintf(f,
		"usage: stamp --size MB (--threads N | --procs N) [options]\n"
		"  --passes P    visit every page P times (default 2)\n"
		"  --seconds T   go on visiting for at least T seconds\n"
		"  --pin         worker n runs on the n-th allowed CPU\n"
		"  --random      visit in random order\n"
		"  --rewrite     rewrite every page at every visit (else one in four)\n"
		"  --full        stamp whole pages (else 24 words a page)\n"
		"  --shmem       shared memory instead of private\n"
		"  --thp         ask for huge pages\n"
		"  --cow         with --procs: the parent stamps first, the children inherit\n"
		"  --spoil       mix two pages up on purpose: must end with status 1\n"
		"  --seed S      (default 1)\n"
		"  --quiet       print only wrong pages and, at the end, the counts\n");
}

static unsigned long number(const char *name, const char *s, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 0);
	if (errno || *end || end == s || *s == '-' || v < min || v > max)
		die("--%s: '%s' is not a number from %lu to %lu", name, s, min, max);
	return v;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "size", 1, 0, 's' }, { "threads", 1, 0, 't' }, { "procs", 1, 0, 'p' },
		{ "passes", 1, 0, 'n' }, { "seconds", 1, 0, 'T' }, { "pin", 0, 0, 'P' },
		{ "random", 0, 0, 'r' }, { "rewrite", 0, 0, 'w' }, { "full", 0, 0, 'f' },
		{ "shmem", 0, 0, 'm' }, { "thp", 0, 0, 'h' }, { "cow", 0, 0, 'c' },
		{ "seed", 1, 0, 'S' }, { "quiet", 0, 0, 'q' },
		{ "spoil", 0, 0, 'x' }, { "help", 0, 0, '?' }, { }
	};
	bool threads = false;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.bytes = number("size", optarg, 1, 1UL << 24) << 20;
			break;
		case 't':
		case 'p':
			if (opt.workers)
				die("give one of --threads and --procs");
			threads = c == 't';
			opt.procs = !threads;
			opt.workers = number(threads ? "threads" : "procs", optarg, 1, MAX_WORKERS);
			break;
		case 'n':
			opt.passes = number("passes", optarg, 1, 1000000);
			break;
		case 'T':
			opt.seconds = number("seconds", optarg, 0, 1000000);
			break;
		case 'S':
			opt.seed = number("seed", optarg, 0, ~0UL);
			break;
		case 'P':
			opt.pin = true;
			break;
		case 'r':
			opt.random = true;
			break;
		case 'w':
			opt.rewrite = true;
			break;
		case 'f':
			opt.full = true;
			break;
		case 'm':
			opt.shmem = true;
			break;
		case 'h':
			opt.thp = true;
			break;
		case 'c':
			opt.cow = true;
			break;
		case 'x':
			opt.spoil = true;
			break;
		case 'q':
			opt.quiet = true;
			break;
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc)
		die("what is '%s'?", argv[optind]);
	if (!opt.bytes || !opt.workers) {
		usage(stderr);
		exit(2);
	}
	if (opt.cow && (!opt.procs || opt.shmem))
		die("--cow needs --procs, and private memory");
	if (opt.bytes / PAGE < opt.workers)
		die("--size is too small for %u workers", opt.workers);
}

static void wait_children(pid_t *pids, unsigned int n)
{
	bool stopped = false;

	for (unsigned int left = n; left; left--) {
		int status = 0;
		pid_t pid = wait(&status);
		unsigned int i;

		if (pid < 0)
			die("wait: %s", strerror(errno));
		for (i = 0; i < n && pids[i] != pid; i++)
			;
		if (i == n)
			continue;
		if (WIFSIGNALED(status)) {
			results[i].error = 1;
			snprintf(results[i].what, sizeof(results[i].what), "killed by signal %d",
				 WTERMSIG(status));
		} else if (WEXITSTATUS(status)) {
			results[i].error = 1;
			snprintf(results[i].what, sizeof(results[i].what), "exit status %d",
				 WEXITSTATUS(status));
		}
		/* The others may be waiting for it at the start line: stop them. */
		if (results[i].error && !stopped) {
			stopped = true;
			for (unsigned int j = 0; j < n; j++)
				if (!results[j].error)
					kill(pids[j], SIGKILL);
		}
	}
}

int main(int argc, char **argv)
{
	struct result sum = { };
	pthread_barrierattr_t attr;
	struct worker *wks, whole;
	size_t per;
	double t0, secs;
	int bad = 0;

	parse(argc, argv);
	per = opt.bytes / PAGE / opt.workers;
	parent_pid = getpid();

	results = map_shared(opt.workers * sizeof(*results));
	start_line = map_shared(sizeof(*start_line));
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (pthread_barrier_init(start_line, &attr, opt.workers))
		die("cannot make a barrier");

	region = map_region(per * opt.workers * PAGE);
	wks = calloc(opt.workers, sizeof(*wks));
	if (!wks)
		die("no memory");
	for (unsigned int i = 0; i < opt.workers; i++) {
		wks[i].nr = i;
		wks[i].pid = parent_pid;
		wks[i].base = region + i * per * PAGE;
		wks[i].pages = per;
		wks[i].res = &results[i];
		wks[i].gen = map_shared(per * sizeof(uint32_t));
	}

	t0 = now();
	if (opt.procs) {
		pid_t *pids = calloc(opt.workers, sizeof(*pids));

		if (!pids)
			die("no memory");
		if (opt.cow) {
			for (unsigned int i = 0; i < opt.workers; i++) {
				for (size_t j = 0; j < per; j++)
					stamp_page(&wks[i], j, (uint64_t)parent_pid << 32 | i);
				results[i].written = 0;
			}
		}
		fflush(stdout);
		for (unsigned int i = 0; i < opt.workers; i++) {
			pids[i] = fork();
			if (pids[i] < 0) {
				int err = errno;

				while (i--)
					kill(pids[i], SIGKILL);
				die("fork: %s", strerror(err));
			}
			if (!pids[i]) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				if (getppid() != (pid_t)parent_pid)
					_exit(2);
				wks[i].pid = getpid();
				run_worker(&wks[i]);
				fflush(stdout);
				_exit(0);
			}
		}
		wait_children(pids, opt.workers);
		if (opt.shmem) {
			/* What the children left must be what the parent sees. */
			for (unsigned int i = 0; i < opt.workers; i++) {
				wks[i].pid = pids[i];
				for (size_t j = 0; j < per && !results[i].error; j++)
					verify(&wks[i], j, (uint64_t)pids[i] << 32 | i,
					       wks[i].gen[j]);
			}
		} else if (opt.cow) {
			/* And the parent's own pages are as it left them. */
			whole = wks[0];
			for (unsigned int i = 0; i < opt.workers; i++) {
				whole = wks[i];
				for (size_t j = 0; j < per; j++)
					verify(&whole, j, (uint64_t)parent_pid << 32 | i, 1);
			}
		}
	} else {
		pthread_t *th = calloc(opt.workers, sizeof(*th));

		if (!th)
			die("no memory");
		for (unsigned int i = 0; i < opt.workers; i++)
			if (pthread_create(&th[i], NULL, thread_main, &wks[i]))
				die("cannot start thread %u", i);
		for (unsigned int i = 0; i < opt.workers; i++)
			pthread_join(th[i], NULL);
	}
	secs = now() - t0;

	for (unsigned int i = 0; i < opt.workers; i++) {
		const struct result *r = &results[i];

		if (!opt.quiet)
			printf("worker=%u written=%llu verified=%llu wrong=%llu passes=%llu%s%s\n",
			       i,
			       (unsigned long long)r->written, (unsigned long long)r->verified,
			       (unsigned long long)r->wrong, (unsigned long long)r->passes,
			       r->error ? " error=" : "", r->error ? r->what : "");
		if (r->error) {
			fprintf(stderr, "stamp: worker %u: %s\n", i, r->what);
			bad = 2;
		}
		sum.written += r->written;
		sum.verified += r->verified;
		sum.wrong += r->wrong;
		sum.passes += r->passes;
	}
	printf("workers=%u\nkind=%s\npages=%zu\nwritten=%llu\nverified=%llu\nwrong=%llu\npasses=%llu\nseconds=%.3f\n",
	       opt.workers, opt.procs ? "procs" : "threads", per * opt.workers,
	       (unsigned long long)sum.written, (unsigned long long)sum.verified,
	       (unsigned long long)sum.wrong, (unsigned long long)sum.passes, secs);
	if (sum.wrong)
		return 1;
	return bad;
}
