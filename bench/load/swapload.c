// SPDX-License-Identifier: GPL-2.0
/*
 * swapload - the workload of bench/scale.py and bench/fault.py: processes that swap, phase by
 * phase.
 *
 * Each worker is a process (with --threads a thread of one process) on a CPU of its own
 * with the same number of pages. All workers do a phase, then the parent prints what it moved and how long the faults
 * took. Every page carries a stamp of its owner, number and generation, which is
 * checked at each visit.
 *
 * How a fault is timed: the worker reads the time stamp counter before and after the
 * one access that may fault. Of all accesses timed in a phase, the slowest F are taken
 * as the faults, F being the number of faults the kernel counted for the worker: an
 * access without a fault is two orders of magnitude faster than one with a fault, so
 * they do not mix. Nothing is traced, no system call is added. Likewise for the faults
 * that had to wait for a read ("major"), which are the slowest of them. With --cpu-time it
 * reads the clock of its own time on a CPU instead, which costs a system call.
 *
 * Exit status: 0 all is right, 1 wrong pages, 2 it could not run, or a worker was killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PAGE		4096UL
#define WORDS		(PAGE / 8)
#define MAX_WORKERS	256
#define MAX_WINDOW	29
#define MAX_PHASES	64
#define LOCK_STAT	"/proc/lock_stat"
/* Latencies: SUB buckets for each power of two, so within 1/SUB of the truth. */
#define SUB_BITS	6
#define SUB		(1u << SUB_BITS)
#define BUCKETS		((64 - SUB_BITS) * SUB)

static const unsigned int stamp_at[] = { 0, 130, 300, WORDS - 1 };
#define NSTAMPS (sizeof(stamp_at) / sizeof(stamp_at[0]))
/* The word that a visit writes first, and times; no part of a stamp. */
#define TOUCH_WORD	8

enum kind { FILL, READ, SHUFFLE, MIX, REWRITE, OUT };

static const char *const kinds[] = { "fill", "read", "shuffle", "mix", "rewrite", "out" };

struct phase {
	enum kind kind;
	unsigned int passes;
	unsigned int part;	/* of a pass: 1, or 1/part of the pages */
	unsigned int window;	/* for the instruction counter; 0: none */
	char name[32];
};

/* One a worker, in memory shared with the parent and locked. */
struct result {
	uint64_t touches, faults, majors, wrong, verified;
	uint64_t start_ns, end_ns, start_tsc, end_tsc;
	uint32_t hist[BUCKETS];
} __attribute__((aligned(64)));

static struct {
	unsigned int workers, first_cpu;
	bool threads, cpu_time;
	size_t pages;
	bool parts;		/* some phase is a part of a pass, so pages differ in generation */
	uint64_t seed;
	const char *cgroup, *cgroup_each, *fill_area, *read_before, *lock_stat;
	struct phase phases[MAX_PHASES];
	unsigned int nphases;
} opt = { .workers = 1, .seed = 1 };

static struct result *results;
static pthread_barrier_t *barrier;
/* Workers in the window, or on their way; 0 again once the last one has left it. */
static unsigned int *inside;

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "swapload: ERROR: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(2);
}

/*
 * What the instruction counter (insncount.c) looks for: an instruction with a constant
 * that occurs nowhere else. Windows 0: none; 255: write the result.
 */
#define MARK(n) asm volatile("movabs $0x5353574d41524b00 + " #n ", %%rax" ::: "rax", "memory")

static void mark(unsigned int window)
{
#define CASE(n)		case n: MARK(n); break
#define CASES(n)	CASE(n##0); CASE(n##1); CASE(n##2); CASE(n##3); CASE(n##4); \
			CASE(n##5); CASE(n##6); CASE(n##7); CASE(n##8); CASE(n##9)
	switch (window) {
	CASE(0); CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); CASE(9);
	CASES(1);
	CASES(2);
	CASE(255);
	default: die("no such window: %u", window);
	}
}

static inline uint64_t tsc(void)
{
	uint32_t lo, hi;

	asm volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi) :: "memory");
	return (uint64_t)hi << 32 | lo;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* What an access is timed with: the time stamp counter, or nanoseconds. */
static inline uint64_t ticks(void)
{
	struct timespec ts;

	if (!opt.cpu_time)
		return tsc();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

static uint64_t stamp_of(unsigned int worker, size_t page, unsigned int gen)
{
	return mix64(opt.seed ^ mix64((uint64_t)worker << 48 | (uint64_t)gen << 32 | page));
}

static void stamp(uint64_t *w, unsigned int worker, size_t page, unsigned int gen)
{
	uint64_t s = stamp_of(worker, page, gen);

	for (unsigned int i = 0; i < NSTAMPS; i++)
		w[stamp_at[i]] = s + i;
}

static bool stamp_right(const uint64_t *w, unsigned int worker, size_t page, unsigned int gen)
{
	uint64_t s = stamp_of(worker, page, gen);

	for (unsigned int i = 0; i < NSTAMPS; i++)
		if (w[stamp_at[i]] != s + i)
			return false;
	return true;
}

static unsigned int bucket(uint64_t v)
{
	unsigned int shift;

	if (v < SUB)
		return v;
	shift = 63 - __builtin_clzll(v) - SUB_BITS;
	return (shift + 1) * SUB + ((v >> shift) - SUB);
}

/* The middle of a bucket. */
static double bucket_value(unsigned int b)
{
	unsigned int shift;

	if (b < SUB)
		return b;
	shift = b / SUB - 1;
	return ((double)(b % SUB + SUB) + 0.5) * (double)(1ULL << shift);
}

static uint64_t faults_so_far(uint64_t *majors)
{
	struct rusage u;

	getrusage(opt.threads ? RUSAGE_THREAD : RUSAGE_SELF, &u);
	*majors = u.ru_majflt;
	return u.ru_minflt + u.ru_majflt;
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %u: %s", cpu, strerror(errno));
}

static void meet(void)
{
	pthread_barrier_wait(barrier);
}

/* Of all that a worker charges, only its code and its stack are in the parent's group. */
static void own_group(unsigned int nr)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/cgroup.procs", opt.cgroup_each, nr);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/*
 * Open the window when all workers run, and close it when the last one has ended. A worker
 * that sleeps at the barrier wakes up later than others; so they wait for each other once
 * more, without sleep. Each has a CPU to itself.
 */
static void enter_window(unsigned int window, unsigned int nr)
{
	unsigned int n;

	if (!window)
		return;
	__atomic_add_fetch(inside, 1, __ATOMIC_SEQ_CST);
	/* twice their number: the window is open */
	for (;;) {
		n = __atomic_load_n(inside, __ATOMIC_SEQ_CST);
		if (!nr && n == opt.workers) {
			mark(window);
			__atomic_add_fetch(inside, opt.workers, __ATOMIC_SEQ_CST);
			return;
		}
		if (n > opt.workers)
			return;
		__builtin_ia32_pause();
	}
}

static void leave_window(unsigned int window)
{
	if (window && __atomic_sub_fetch(inside, 1, __ATOMIC_SEQ_CST) == opt.workers) {
		mark(0);
		__atomic_store_n(inside, 0, __ATOMIC_SEQ_CST);
	}
}

static void run_phase(const struct phase *p, unsigned int nr, char *base, unsigned int *gen,
		      unsigned int *gens, struct result *r, unsigned int phase_nr)
{
	bool writes = p->kind == FILL || p->kind == MIX || p->kind == REWRITE;
	bool shuffled = p->kind == SHUFFLE || p->kind == MIX;
	size_t span = 1;

	while (span < opt.pages)
		span <<= 1;
	if (!shuffled)
		span = opt.pages;
	for (unsigned int pass = 0; pass < p->passes; pass++) {
		uint64_t rnd = mix64(opt.seed ^ mix64((uint64_t)nr << 32 | phase_nr << 8 | pass));
		/* An odd factor modulo a power of two: each page once, in no order. */
		uint64_t factor = shuffled ? (rnd >> 20 | 1) | 8 : 1;
		uint64_t offset = shuffled ? rnd : 0;

		for (size_t i = 0; i < span / p->part; i++) {
			unsigned int *g;
			size_t page = shuffled ? (i * factor + offset) & (span - 1) : i;
			volatile uint64_t *w;
			uint64_t t;

			if (page >= opt.pages)
				continue;
			w = (uint64_t *)(base + page * PAGE);
			g = gens ? &gens[page] : gen;
			t = ticks();
			if (writes)
				w[TOUCH_WORD] = i;
			else
				(void)w[TOUCH_WORD];
			t = ticks() - t;
			r->hist[bucket(t)]++;
			r->touches++;
			if (p->kind != FILL) {
				r->verified++;
				if (!stamp_right((uint64_t *)w, nr, page, *g))
					r->wrong++;
			}
			if (writes)
				stamp((uint64_t *)w, nr, page, *g + 1);
			if (writes && gens)
				(*g)++;
		}
		if (writes && !gens)
			(*gen)++;
	}
}

static void worker(unsigned int nr)
{
	struct result *r = &results[nr];
	unsigned int gen = 0, *gens = NULL;
	char *base;

	pin(opt.first_cpu + nr);
	if (opt.threads) {
		meet();			/* all stacks are there */
		meet();			/* and locked, by the parent */
	} else {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (opt.cgroup_each)
			own_group(nr);
		/* Our own code, stack and results stay: only the pages below are swapped. */
		if (mlockall(MCL_CURRENT))
			die("mlockall: %s", strerror(errno));
	}
	base = mmap(NULL, opt.pages * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(base, opt.pages * PAGE, MADV_NOHUGEPAGE);
	if (opt.parts) {
		gens = mmap(NULL, opt.pages * sizeof(*gens), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (gens == MAP_FAILED || mlock(gens, opt.pages * sizeof(*gens)))
			die("memory for generations: %s", strerror(errno));
	}
	for (unsigned int i = 0; i < opt.nphases; i++) {
		uint64_t f, m0, m1;

		meet();			/* the parent is ready */
		if (opt.phases[i].kind != OUT) {
			memset(r->hist, 0, sizeof(r->hist));
			r->touches = 0;
			f = faults_so_far(&m0);
			meet();		/* everybody is */
			enter_window(opt.phases[i].window, nr);
			/* our own clock: the parent may be late where CPUs are few */
			r->start_ns = now_ns();
			r->start_tsc = tsc();
			run_phase(&opt.phases[i], nr, base, &gen, gens, r, i);
			r->end_tsc = tsc();
			r->end_ns = now_ns();
			leave_window(opt.phases[i].window);
			meet();
			r->faults = faults_so_far(&m1) - f;
			r->majors = m1 - m0;
		} else {
			meet();
			meet();
		}
		meet();			/* results are complete */
	}
}

static void *thread(void *nr)
{
	worker((uintptr_t)nr);
	return NULL;
}

/* --- the parent ------------------------------------------------------------------ */

static int vmstat_fd = -1, read_before_fd = -1;
static char file_text[65536];

static void vmstat(uint64_t *in, uint64_t *out)
{
	ssize_t n = pread(vmstat_fd, file_text, sizeof(file_text) - 1, 0);
	char *p;

	if (n <= 0)
		die("/proc/vmstat: %s", strerror(errno));
	file_text[n] = 0;
	p = strstr(file_text, "\npswpin ");
	*in = p ? strtoull(p + 8, NULL, 10) : 0;
	p = strstr(file_text, "\npswpout ");
	*out = p ? strtoull(p + 9, NULL, 10) : 0;
}

/* Of the I/O queues of all NVMe drives ("nvme0q3"), all CPUs together. */
static uint64_t interrupts(void)
{
	uint64_t sum = 0;
	char line[8192];
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f)) {
		char *p = strstr(line, " nvme"), *end;
		unsigned int drive, queue;

		if (!p || sscanf(p, " nvme%uq%u", &drive, &queue) != 2 || !queue)
			continue;
		p = strchr(line, ':');
		for (p = p ? p + 1 : line; ; p = end) {
			uint64_t n = strtoull(p, &end, 10);

			if (end == p || (*end && *end != ' '))
				break;
			sum += n;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

static uint64_t anon_bytes(void)
{
	char path[256], buf[8192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/memory.stat", opt.cgroup);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n < 5 || strncmp(buf, "anon ", 5))
		die("cannot read %s", path);
	close(fd);
	buf[n] = 0;
	return strtoull(buf + 5, NULL, 10);
}

/* All of the group's pages out of memory. */
static void page_out(void)
{
	char path[256], text[32];
	int fd;

	snprintf(path, sizeof(path), "%s/memory.reclaim", opt.cgroup);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	/* EAGAIN: less than asked for; then what is left is next */
	for (int i = 0; i < 20; i++) {
		uint64_t left = anon_bytes();
		int n;

		if (left < opt.workers * opt.pages * PAGE / 200)
			break;
		n = snprintf(text, sizeof(text), "%llu", (unsigned long long)left);
		if (write(fd, text, n) < 0 && errno != EAGAIN && errno != EINTR)
			die("%s: %s", path, strerror(errno));
	}
	close(fd);
}

struct times {
	uint64_t n;
	double avg, p50, p99, p999, max;
};

/* Of the slowest `n` accesses, from the top. */
static struct times slowest(const uint64_t *hist, uint64_t n, double per_tick)
{
	struct times t = { 0 };
	double total = 0;

	for (int b = BUCKETS - 1; b >= 0 && t.n < n; b--) {
		uint64_t take = hist[b] < n - t.n ? hist[b] : n - t.n;
		double v = bucket_value(b) * per_tick;

		if (!take)
			continue;
		if (!t.max)
			t.max = v;
		t.n += take;
		total += v * take;
		/* rank from above: the p-quantile is where (1-p) of them are slower */
		if (!t.p999 && t.n * 1000 >= n)
			t.p999 = v;
		if (!t.p99 && t.n * 100 >= n)
			t.p99 = v;
		if (!t.p50 && t.n * 2 >= n)
			t.p50 = v;
	}
	t.avg = t.n ? total / t.n : 0;
	return t;
}

static void print_phase(const struct phase *p, uint64_t ns, uint64_t in, uint64_t out, uint64_t irqs)
{
	static uint64_t sum[BUCKETS];
	uint64_t touches = 0, faults = 0, majors = 0;
	struct times all, major;
	double per_tick = 0;
	uint64_t start = ~0ULL, end = 0;

	memset(sum, 0, sizeof(sum));
	if (p->kind != OUT) {
		/* from the first worker's start to the last one's end */
		for (unsigned int i = 0; i < opt.workers; i++) {
			const struct result *r = &results[i];

			start = r->start_ns < start ? r->start_ns : start;
			end = r->end_ns > end ? r->end_ns : end;
			per_tick += (double)(r->end_ns - r->start_ns) /
				    (r->end_tsc - r->start_tsc) / opt.workers;
		}
		if (opt.cpu_time)
			per_tick = 1;
		ns = end - start;
		for (unsigned int i = 0; i < opt.workers; i++) {
			touches += results[i].touches;
			faults += results[i].faults;
			majors += results[i].majors;
			for (unsigned int b = 0; b < BUCKETS; b++)
				sum[b] += results[i].hist[b];
		}
	}
	if (faults > touches)
		faults = touches;
	all = slowest(sum, faults, per_tick);
	major = slowest(sum, majors < faults ? majors : faults, per_tick);
	printf("phase {\"name\": \"%s\", \"passes\": %u, \"ns\": %llu, \"pages_in\": %llu, \"pages_out\": %llu, "
	       "\"touches\": %llu, \"faults\": %llu, \"fault_avg_ns\": %.0f, \"fault_p50_ns\": %.0f, "
	       "\"fault_p99_ns\": %.0f, \"fault_p999_ns\": %.0f, \"fault_max_ns\": %.0f, \"majors\": %llu, "
	       "\"major_avg_ns\": %.0f, \"major_p50_ns\": %.0f, \"major_p99_ns\": %.0f, "
	       "\"major_p999_ns\": %.0f, \"major_max_ns\": %.0f, \"nvme_irqs\": %llu, \"window\": %u}\n",
	       p->name, p->passes, (unsigned long long)ns, (unsigned long long)in, (unsigned long long)out,
	       (unsigned long long)touches, (unsigned long long)faults, all.avg, all.p50, all.p99,
	       all.p999, all.max, (unsigned long long)major.n, major.avg, major.p50, major.p99,
	       major.p999, major.max, (unsigned long long)irqs, p->window);
	fflush(stdout);
}

/* The others would wait for it at the barrier for ever. They end with the parent. */
static void worker_died(int sig, siginfo_t *info, void *context)
{
	static const char text[] = "swapload: ERROR: a worker was killed or failed; see dmesg for OOM kills\n";

	ssize_t n;

	(void)sig;
	(void)context;
	if (info->si_code == CLD_EXITED && !info->si_status)
		return;
	n = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)n;
	_exit(2);
}

static void watch_workers(void)
{
	struct sigaction act = { .sa_sigaction = worker_died, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP };

	if (sigaction(SIGCHLD, &act, NULL))
		die("sigaction: %s", strerror(errno));
}

static void clear_lock_stat(void)
{
	int fd = open(LOCK_STAT, O_WRONLY);

	if (fd < 0 || write(fd, "0", 1) != 1)
		die("%s: %s", LOCK_STAT, strerror(errno));
	close(fd);
}

/* While all workers wait: when they end, they free what they have, outside of any window. */
static void save_lock_stat(const char *path)
{
	int from = open(LOCK_STAT, O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n = -1;

	if (from < 0 || to < 0)
		die("%s, %s: %s", LOCK_STAT, path, strerror(errno));
	while ((n = read(from, file_text, sizeof(file_text))) > 0)
		if (write(to, file_text, n) != n)
			die("%s: cannot write", path);
	if (n < 0)
		die("%s: %s", LOCK_STAT, strerror(errno));
	close(from);
	close(to);
}

static void parent(pid_t *pids, pthread_t *threads)
{
	uint64_t wrong = 0, verified = 0;

	if (opt.threads)
		meet();
	/* the parent is not to be swapped either, nor on its way to a worker's CPU */
	if (mlockall(MCL_CURRENT))
		die("mlockall: %s", strerror(errno));
	if (opt.threads)
		meet();
	for (unsigned int i = 0; i < opt.nphases; i++) {
		const struct phase *p = &opt.phases[i];
		uint64_t t, in0, out0, in1, out1, irqs;

		meet();
		if (opt.read_before && pread(read_before_fd, file_text, sizeof(file_text), 0) <= 0)
			die("%s: %s", opt.read_before, strerror(errno));
		vmstat(&in0, &out0);
		irqs = interrupts();
		if (opt.lock_stat && !i)
			clear_lock_stat();
		meet();
		t = now_ns();
		if (p->kind == OUT) {
			mark(p->window);
			page_out();
			mark(0);
		}
		t = now_ns() - t;
		meet();
		if (opt.lock_stat && i == opt.nphases - 1)
			save_lock_stat(opt.lock_stat);
		meet();
		vmstat(&in1, &out1);
		print_phase(p, t, in1 - in0, out1 - out0, interrupts() - irqs);
	}
	mark(255);
	for (unsigned int i = 0; i < opt.workers; i++) {
		int status;

		if (opt.threads)
			pthread_join(threads[i], NULL);
		else if (waitpid(pids[i], &status, 0) < 0 || status)
			die("worker %u ended with status %#x", i, status);
		wrong += results[i].wrong;
		verified += results[i].verified;
	}
	printf("checked {\"verified\": %llu, \"wrong\": %llu}\n", (unsigned long long)verified,
	       (unsigned long long)wrong);
	fflush(stdout);
	exit(wrong ? 1 : 0);
}

/* --- fill an area ------------------------------------------------------------------ */

static uint64_t file_number(const char *dir, const char *name)
{
	char path[256], buf[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		die("cannot read %s", path);
	close(fd);
	buf[n] = 0;
	return strtoull(buf, NULL, 10);
}

/*
 * From our CPU, page out until its area is full; keep what is in there until killed.
 * Chunks are small near the end, for little to go to other areas.
 */
static void fill_area(void)
{
	uint64_t size = file_number(opt.fill_area, "pages"), used, done = 0;
	size_t most = size + size / 8 + 64;
	char *base;

	pin(opt.first_cpu);
	base = mmap(NULL, most * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	while ((used = file_number(opt.fill_area, "used")) < size && done < most) {
		size_t n = size - used;

		/* what was written and not yet paged out must not count twice */
		n = n > 1024 ? 512 : n > 64 ? n / 2 : n;
		if (n > most - done)
			n = most - done;
		for (size_t i = 0; i < n; i++)
			stamp((uint64_t *)(base + (done + i) * PAGE), 255, done + i, 1);
		if (madvise(base + done * PAGE, n * PAGE, MADV_PAGEOUT))
			die("MADV_PAGEOUT: %s", strerror(errno));
		done += n;
	}
	printf("filled {\"cpu\": %u, \"pages\": %llu, \"used\": %llu, \"written\": %llu}\n", opt.first_cpu,
	       (unsigned long long)size, (unsigned long long)file_number(opt.fill_area, "used"),
	       (unsigned long long)done);
	fflush(stdout);
	for (;;)
		pause();
}

/* --- start --------------------------------------------------------------------------- */

static void usage(void)
{
	fprintf(stderr,
		"usage: swapload --procs N | --threads N --pages PER-WORKER [--seed S] [--cgroup DIR]\n"
		"                [--cgroup-each DIR] [--read-before FILE] [--lock-stat FILE] [--cpu-time] PHASE...\n"
		"       swapload --cpu C --fill-area SYSFS-DIR\n"
		"PHASE is KIND[:PASSES][/PART][@WINDOW][=NAME]; each pass is over 1/PART of the pages; KIND is\n"
		"  fill     write every page, in order     read     read every page, in order\n"
		"  rewrite  check and rewrite, in order    shuffle  read, in random order\n"
		"  mix      check and rewrite, in random order\n"
		"  out      page everything out (with --cgroup)\n"
		"With --cgroup-each, process N is in the group DIR/N. FILE is read before each phase, such as\n"
		"memory.stat, which has the kernel add up its statistics. A window is what the plugins\n"
		"insncount.c and lines.c count between its markers, 1 to 29. --lock-stat writes what lock_stat\n"
		"counted in all phases.\n");
	exit(2);
}

static uint64_t number(const char *s, uint64_t max)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || *end || end == s || *s == '-' || v > max)
		die("'%s' is not a number up to %llu", s, (unsigned long long)max);
	return v;
}

static void add_phase(char *text)
{
	struct phase *p = &opt.phases[opt.nphases];
	char *s;

	if (opt.nphases == MAX_PHASES)
		die("too many phases");
	p->passes = 1;
	p->part = 1;
	s = strchr(text, '=');
	if (s) {
		*s = 0;
		snprintf(p->name, sizeof(p->name), "%s", s + 1);
	}
	s = strchr(text, '@');
	if (s) {
		*s = 0;
		p->window = number(s + 1, MAX_WINDOW);
	}
	s = strchr(text, '/');
	if (s) {
		*s = 0;
		p->part = number(s + 1, 1024);
		if (!p->part)
			die("no pass is over 1/0 of the pages");
		opt.parts |= p->part > 1;
	}
	s = strchr(text, ':');
	if (s) {
		*s = 0;
		p->passes = number(s + 1, 200);
	}
	for (p->kind = FILL; p->kind <= OUT; p->kind++)
		if (!strcmp(text, kinds[p->kind]))
			break;
	if (p->kind > OUT)
		die("no phase is called '%s'", text);
	if (!*p->name)
		snprintf(p->name, sizeof(p->name), "%s", text);
	opt.nphases++;
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t attr;
	pthread_attr_t small;
	pthread_t threads[MAX_WORKERS];
	pid_t pids[MAX_WORKERS];
	size_t len;

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--", 2)) {
			add_phase(argv[i]);
			continue;
		}
		if (!strcmp(argv[i], "--cpu-time")) {
			opt.cpu_time = true;
			continue;
		}
		if (i + 1 == argc)
			usage();
		if (!strcmp(argv[i], "--procs"))
			opt.workers = number(argv[++i], MAX_WORKERS);
		else if (!strcmp(argv[i], "--threads")) {
			opt.workers = number(argv[++i], MAX_WORKERS);
			opt.threads = true;
		} else if (!strcmp(argv[i], "--pages"))
			opt.pages = number(argv[++i], 1UL << 31);
		else if (!strcmp(argv[i], "--seed"))
			opt.seed = number(argv[++i], ~0ULL);
		else if (!strcmp(argv[i], "--cpu"))
			opt.first_cpu = number(argv[++i], 1023);
		else if (!strcmp(argv[i], "--cgroup"))
			opt.cgroup = argv[++i];
		else if (!strcmp(argv[i], "--cgroup-each"))
			opt.cgroup_each = argv[++i];
		else if (!strcmp(argv[i], "--read-before"))
			opt.read_before = argv[++i];
		else if (!strcmp(argv[i], "--lock-stat"))
			opt.lock_stat = argv[++i];
		else if (!strcmp(argv[i], "--fill-area"))
			opt.fill_area = argv[++i];
		else
			usage();
	}
	if (opt.fill_area)
		fill_area();
	if (!opt.workers || !opt.pages || !opt.nphases || (opt.threads && opt.cgroup_each))
		usage();
	for (unsigned int i = 0; i < opt.nphases; i++)
		if (opt.phases[i].kind == OUT && !opt.cgroup)
			die("phase 'out' needs --cgroup");
	vmstat_fd = open("/proc/vmstat", O_RDONLY);
	if (opt.read_before)
		read_before_fd = open(opt.read_before, O_RDONLY);
	/* the barrier, then lines of their own for the counter and for each result */
	len = sizeof(*barrier) + 128 + opt.workers * sizeof(*results);
	barrier = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (barrier == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	if (mlock(barrier, len))
		die("mlock: %s", strerror(errno));
	inside = (unsigned int *)(((uintptr_t)(barrier + 1) + 63) & ~63UL);
	results = (struct result *)((char *)inside + 64);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (pthread_barrier_init(barrier, &attr, opt.workers + 1))
		die("cannot make a barrier");
	/* stacks are locked as well, and the usual 8 MB each are more than the pages are */
	pthread_attr_init(&small);
	if (pthread_attr_setstacksize(&small, 65536))
		die("cannot have stacks of 64 KB");
	watch_workers();
	for (unsigned int i = 0; i < opt.workers; i++) {
		if (opt.threads) {
			errno = pthread_create(&threads[i], &small, thread, (void *)(uintptr_t)i);
			if (errno)
				die("pthread_create: %s", strerror(errno));
			continue;
		}
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[i]) {
			worker(i);
			_exit(0);
		}
	}
	parent(pids, threads);
}
