// SPDX-License-Identifier: GPL-2.0
/*
 * In which order are pages evicted, when one CPU needs memory and another one's pages are older
 * or younger? Runs in a guest that has nothing else to do, as root:
 *
 *   order CASE SEED
 *
 * Each case has a cgroup v2 group at its limit, with process A on CPU 0, which makes the pressure,
 * and process B on CPU 1; in a crowd A makes others on more CPUs. Each page has a stamp that is
 * checked whenever the page is used. Prints a line of JSON. See README.md for the cases.
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
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096L
#define GROUP	"/sys/fs/cgroup/order/"
#define FILE_ON	"/dev/ram1"

/* What the two tell each other */
static struct {
	volatile long resident, gone, were_out, cold_left, in, later, step;
} *shared;
static uint64_t lcg;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(3);
}

static void put(const char *path, long value)
{
	FILE *f = fopen(path, "we");

	if (!f || fprintf(f, "%ld", value) < 0 || fclose(f))
		die("%s", path);
}

/* The number after @key in a file of lines of a key and a number. */
static long get(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[128];
	long value = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
			value = atol(line + strlen(key));
	if (!f || value < 0)
		die("%s: %s", path, key);
	fclose(f);
	return value;
}

static long swapped_in(void)
{
	return get("/proc/vmstat", "pswpin");
}

static long random_below(long n)
{
	lcg = lcg * 6364136223846793005ULL + 1442695040888963407ULL;
	return (lcg >> 33) % n;
}

static void enter(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("CPU %d", cpu);
	put(GROUP "cgroup.procs", getpid());
}

/* Put pages that are in a batch of some CPU on their lists. */
static void drain(void)
{
	put("/proc/sys/vm/drop_caches", 1);
}

static char *map(long pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, pages * PAGE, MADV_NOHUGEPAGE))
		die("%ld pages", pages);
	return p;
}

static int stats = -1;

/*
 * Called for each page used. The kernel decides what to deactivate by statistics of the group, which
 * it makes every two seconds, and a case takes less. So what a kernel evicts would depend on when in
 * a case that is. Reading cpu.stat makes them.
 */
static void used(void)
{
	static unsigned int n;
	char buf[512];

	if (stats >= 0 && ++n % 64 == 0 && pread(stats, buf, sizeof(buf), 0) <= 0)
		die(GROUP "cpu.stat");
}

static void stamp(char *p, long from, long n)
{
	for (long i = from; i < from + n; i++, used())
		*(volatile long *)(p + i * PAGE) = i + 1;
}

static void check(char *p, long i)
{
	if (*(volatile long *)(p + i * PAGE) != i + 1) {
		errno = 0;
		die("page %ld is wrong", i);
	}
	used();
}

/*
 * Use pages as read() would: the kernel marks them as accessed at once, not when it scans. All are read
 * into one page, as a buffer would be memory that no case is about.
 */
static void touch(char *p, long n)
{
	static char to[PAGE];
	struct iovec local[64];

	for (long i = 0; i < 64; i++)
		local[i] = (struct iovec){ to, PAGE };
	for (long i = 0; i < n; i += 64) {
		long some = n - i < 64 ? n - i : 64;
		struct iovec remote = { p + i * PAGE, some * PAGE };

		if (process_vm_readv(getpid(), local, some, &remote, 1, 0) != some * PAGE)
			die("process_vm_readv");
	}
}

/* Put pages into pipes: reclaim cannot take them. */
static void hold(char *p, long n)
{
	static size_t room;
	static int ends[2];

	for (size_t left = n * PAGE; left; ) {
		struct iovec v = { p, left };
		ssize_t done;

		if (!room) {
			room = 256 * PAGE;
			if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, (int)room) < 0)
				die("a pipe");
		}
		if (v.iov_len > room)
			v.iov_len = room;
		done = vmsplice(ends[1], &v, 1, SPLICE_F_NONBLOCK);
		if (done <= 0)
			die("vmsplice");
		p += done;
		left -= done;
		room -= done;
	}
}

static long resident(char *p, long n)
{
	static int fd = -1;
	uint64_t entry;
	long sum = 0;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	for (long i = 0; i < n; i++) {
		if (pread(fd, &entry, 8, ((uintptr_t)p / PAGE + i) * 8) != 8)
			die("pagemap");
		sum += entry >> 63;
	}
	return sum;
}

/* --- turns ----------------------------------------------------------------- */

static int to_b[2], to_a[2];

static void pass(int *to)
{
	if (write(to[1], "", 1) != 1)
		die("a turn");
}

static void await(int *from)
{
	char c;

	if (read(from[0], &c, 1) != 1)
		exit(0);	/* The other one has ended. */
}

/* Let B have a turn. */
static void other(void)
{
	pass(to_b);
	await(to_a);
}

/* --- cases ----------------------------------------------------------------- */

/* B's pages are active, and it sleeps. */
static void b_sleeps(long pages)
{
	char *p = map(pages);

	stamp(p, 0, pages);
	drain();
	touch(p, pages);
	touch(p, pages);
	for (;;) {
		await(to_b);
		shared->resident = resident(p, pages);
		pass(to_a);
	}
}

static void oom_b(void)
{
	b_sleeps(3072);
}

static void oom_a(void)
{
	const long all = 24000, held = 9024, step = 64;
	char *p;

	put("/proc/self/oom_score_adj", 500);
	p = map(all);
	for (int sweep = 0; sweep < 2; sweep++)
		stamp(p, 0, all);
	munmap(p, all * PAGE);
	p = map(held);
	for (long i = 0; i < held; i += step) {
		stamp(p, i, step);
		if (madvise(p + i * PAGE, step * PAGE, 20 /* MADV_COLD */))
			die("MADV_COLD");
		hold(p + i * PAGE, step);
		shared->step = i + step;
		usleep(80000);
	}
	other();
}

/* B's memory is replaced all the time. */
static void turnover_b(void)
{
	const long chunk = 128;
	char *ring[16] = {};

	for (long n = 0; ; n++) {
		char **p = &ring[n % 16];

		await(to_b);
		if (*p) {
			shared->were_out += chunk - resident(*p, chunk);
			shared->gone += chunk;
			munmap(*p, chunk * PAGE);
		}
		*p = map(chunk);
		stamp(*p, 0, chunk);
		pass(to_a);
	}
}

static void turnover_a(void)
{
	const long pages = 14000, between = 256, warm = 60, steps = 332;
	long at = random_below(pages);
	char *p = map(pages);

	for (long s = 0; s <= steps + 1; s++) {
		for (long i = 0; i < between; i++, at = (at + 1) % pages)
			stamp(p, at, 1);
		other();
		if (s == warm)
			shared->gone = shared->were_out = 0;
		if (s == warm)
			shared->in = swapped_in();
	}
	shared->in = swapped_in() - shared->in;
}

/* B uses 64 of its pages whenever A has read some of a file. A has pages that it never uses again. */
#define PIECE	64

static void file_and_anon_b(void)
{
	const long pages = 3072;
	char *p = map(pages);
	long at = 0;

	stamp(p, 0, pages);
	for (;;) {
		await(to_b);
		for (long i = 0; i < PIECE; i++, at = (at + 1) % pages)
			check(p, at);
		pass(to_a);
	}
}

static void file_and_anon_a(void)
{
	const long cold = 3072, file = 16384, reads = 24576 / (3072 / PIECE), cycles = 12;
	static char page[PAGE];
	char *p = map(cold);
	int fd = open(FILE_ON, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(FILE_ON);
	for (long i = 0; i < file; i++)
		if (pwrite(fd, page, PAGE, i * PAGE) != PAGE)
			die(FILE_ON);
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		die(FILE_ON);
	stamp(p, 0, cold);
	shared->in = swapped_in();
	/* shared->step: cycles until all of the cold pages have gone */
	for (long s = 1; s <= cycles; s++) {
		for (long piece = 0; piece < 3072 / PIECE; piece++) {
			for (long i = 0; i < reads; i++, used())
				if (pread(fd, page, PAGE, random_below(file) * PAGE) != PAGE)
					die(FILE_ON);
			other();
		}
		shared->cold_left = resident(p, cold);
		if (s == cycles / 2)
			shared->later = swapped_in();
		if (!shared->cold_left && !shared->step)
			shared->step = s;
	}
	shared->in = swapped_in() - shared->in;
	shared->later = swapped_in() - shared->later;
}

/* B's active pages are idle. A's are active and in use, and it needs some more. */
static void idle_b(void)
{
	b_sleeps(4096);
}

static void sweeps(char *p, long pages)
{
	const long n = 40;

	shared->in = swapped_in();
	for (long s = 0; s < n; s++)
		for (long i = 0; i < pages; i++)
			check(p, random_below(pages));
	shared->in = swapped_in() - shared->in;
	other();
}

static void idle_a(void)
{
	const long pages = 8700, active = 7400;
	char *p = map(pages);

	stamp(p, 0, active);
	touch(p, active);
	touch(p, active);
	drain();
	sleep(3);
	stamp(p, active, pages - active);
	sweeps(p, pages);
}

/* The same, but A's are inactive at first. */
static void inactive_a(void)
{
	const long pages = 9500;
	char *p = map(pages);

	stamp(p, 0, pages);
	sweeps(p, pages);
}

/* --- cases in which the base kernel and shards were not known to differ --------- */

/* B uses all of its 8 MB whenever A has written 2 MB, which it never uses again. */
static void hot_b(void)
{
	const long pages = 2048;
	char *p = map(pages);

	stamp(p, 0, pages);
	for (;;) {
		await(to_b);
		shared->were_out += pages - resident(p, pages);
		for (long i = 0; i < pages; i++)
			check(p, i);
		pass(to_a);
	}
}

static void stream_a(void)
{
	const long pages = 40000, piece = 512;
	char *p = map(pages);

	shared->in = swapped_in();
	for (long i = 0; i + piece <= pages; i += piece) {
		stamp(p, i, piece);
		other();
	}
	shared->in = swapped_in() - shared->in;
}

/* A and B take turns of 128 pages, of 7,000 that each of them has. */
#define MINE	7000
#define TURN	128

/* One of @n pages: the fewer there are before it, the more often */
static long skewed(long n)
{
	while (n > 16 && random_below(3))
		n = n / 4 + 1;
	return random_below(n);
}

static void loop(char *p)
{
	static long at;

	for (long i = 0; i < TURN; i++, at = (at + 1) % MINE)
		check(p, at);
}

static void skew(char *p)
{
	for (long i = 0; i < TURN; i++)
		check(p, skewed(MINE));
}

static void turns_b(void (*turn)(char *p))
{
	char *p = map(MINE);

	lcg++;
	stamp(p, 0, MINE);
	for (;;) {
		await(to_b);
		turn(p);
		pass(to_a);
	}
}

static void turns_a(void (*turn)(char *p), long turns)
{
	char *p = map(MINE);

	stamp(p, 0, MINE);
	shared->in = swapped_in();
	for (long s = 0; s < turns; s++) {
		turn(p);
		other();
	}
	shared->in = swapped_in() - shared->in;
}

static void loops_b(void)
{
	turns_b(loop);
}

static void loops_a(void)
{
	turns_a(loop, 300);
}

static void skewed_b(void)
{
	turns_b(skew);
}

static void skewed_a(void)
{
	turns_a(skew, 500);
}

/* B has a tenth of A's pages, and uses a tenth as many. */
static void uneven_b(void)
{
	const long pages = 1200;
	char *p = map(pages);

	lcg++;
	stamp(p, 0, pages);
	for (;;) {
		await(to_b);
		for (long i = 0; i < 12; i++) {
			long at = random_below(pages);

			shared->were_out += 1 - resident(p + at * PAGE, 1);
			check(p, at);
		}
		pass(to_a);
	}
}

static void uneven_a(void)
{
	const long pages = 12000;
	char *p = map(pages);

	stamp(p, 0, pages);
	shared->in = swapped_in();
	for (long s = 0; s < 500; s++) {
		for (long i = 0; i < 120; i++)
			check(p, random_below(pages));
		other();
	}
	shared->in = swapped_in() - shared->in;
}

/* A goes from CPU to CPU. B does nothing. */
static void moves_b(void)
{
	for (;;) {
		await(to_b);
		pass(to_a);
	}
}

static void moves_a(void)
{
	const long pages = 13000;
	char *p = map(pages);

	stamp(p, 0, pages);
	shared->in = swapped_in();
	for (long s = 0; s < 500; s++) {
		enter(s % 4);
		for (long i = 0; i < TURN; i++)
			check(p, skewed(pages));
	}
	shared->in = swapped_in() - shared->in;
}

/*
 * One process on each of 16 CPUs, with as many pages. All use some of theirs at the same time, and
 * then wait for each other. A counts.
 */
#define CROWD	16
#define MEMBER	400

static pthread_barrier_t *barrier;

static void meet(void)
{
	int err = pthread_barrier_wait(barrier);

	if (err && err != PTHREAD_BARRIER_SERIAL_THREAD)
		die("barrier");
}

static void member(int cpu, char *p, bool skew, long turns)
{
	long uses = skew || cpu % 2 ? 32 : 4;

	for (long s = 0; s < turns; s++) {
		for (long i = 0; i < uses; i++)
			check(p, skew ? skewed(MEMBER) : random_below(MEMBER));
		meet();
	}
}

static void crowd(bool skew, long turns)
{
	pthread_barrierattr_t attr;
	int cpu;
	char *p;

	barrier = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (barrier == MAP_FAILED || pthread_barrierattr_init(&attr) ||
	    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	    pthread_barrier_init(barrier, &attr, CROWD))
		die("barrier");
	for (cpu = CROWD - 1; cpu; cpu--) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			break;
	}
	if (cpu) {
		/* A has statistics made. */
		stats = -1;
		lcg += cpu;
		enter(cpu);
	}
	p = map(MEMBER);
	stamp(p, 0, MEMBER);
	meet();
	if (!cpu)
		shared->in = swapped_in();
	member(cpu, p, skew, turns);
	if (cpu)
		exit(0);
	shared->in = swapped_in() - shared->in;
	while (wait(NULL) > 0)
		;
}

static void crowd_uneven_a(void)
{
	crowd(false, 500);
}

static void crowd_skewed_a(void)
{
	crowd(true, 500);
}

static const struct {
	const char *name;
	long limit;
	void (*a)(void), (*b)(void);
	bool b_first, fresh;	/* A begins when B is done; statistics are made all the time */
} cases[] = {
	{ "oom", 10240, oom_a, oom_b, true, false },
	{ "turnover", 10240, turnover_a, turnover_b, false, true },
	{ "file_and_anon", 10240, file_and_anon_a, file_and_anon_b, false, true },
	{ "idle_first", 12288, idle_a, idle_b, true, true },
	/* Less by about what evictors keep below a limit */
	{ "idle_first_less", 12288 - 115, idle_a, idle_b, true, true },
	{ "inactive_first", 12288, inactive_a, idle_b, true, true },
	{ "stream", 10240, stream_a, hot_b, true, true },
	{ "loops", 10240, loops_a, loops_b, true, true },
	{ "skewed", 10240, skewed_a, skewed_b, true, true },
	{ "uneven", 10240, uneven_a, uneven_b, true, true },
	{ "moves", 10240, moves_a, moves_b, false, true },
	{ "crowd_uneven", 4000, crowd_uneven_a, moves_b, false, true },
	{ "crowd_skewed", 4000, crowd_skewed_a, moves_b, false, true },
	{ "crowd_small", 2500, crowd_uneven_a, moves_b, false, true },
};

int main(int argc, char **argv)
{
	unsigned int c, n = sizeof(cases) / sizeof(cases[0]);
	int status = 0;
	long limit;
	pid_t a, b;

	for (c = 0; argc == 3 && c < n && strcmp(argv[1], cases[c].name); c++)
		;
	if (argc != 3 || c == n) {
		fprintf(stderr, "usage: order CASE SEED\n");
		return 2;
	}
	lcg = strtoull(argv[2], NULL, 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || mkdir(GROUP, 0755) || pipe(to_a) || pipe(to_b))
		die(GROUP);
	limit = cases[c].limit;
	/* How much of B is out depends on when generations begin, between its turns. */
	if (cases[c].a == stream_a)
		limit += random_below(1025) - 512;
	put(GROUP "memory.max", limit * PAGE);
	if (cases[c].fresh) {
		stats = open(GROUP "cpu.stat", O_RDONLY | O_CLOEXEC);
		if (stats < 0)
			die(GROUP "cpu.stat");
	}
	b = fork();
	if (!b) {
		close(to_b[1]);
		enter(1);
		cases[c].b();
	}
	if (cases[c].b_first) {
		/* Its pages are there, on their lists, and statistics have caught up. */
		other();
		drain();
		sleep(3);
	}
	a = fork();
	if (!a) {
		enter(0);
		cases[c].a();
		exit(0);
	}
	if (a < 0 || b < 0 || waitpid(a, &status, 0) != a)
		die("a process");
	printf("result {\"case\": \"%s\", \"seed\": %s, \"status\": %d, \"kills\": %ld, \"held\": %ld, \"b_resident\": %ld, "
	       "\"gone\": %ld, \"were_out\": %ld, \"cold_left\": %ld, \"swapped_in\": %ld, \"later\": %ld}\n",
	       cases[c].name, argv[2], status, get(GROUP "memory.events", "oom_kill"), shared->step,
	       shared->resident, shared->gone, shared->were_out, shared->cold_left, shared->in,
	       shared->later);
	fflush(stdout);
	kill(b, 9);
	return 0;
}
