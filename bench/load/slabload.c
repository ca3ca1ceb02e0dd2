// SPDX-License-Identifier: GPL-2.0
/*
 * slabload - the memory of a cache server: threads of one process that get and set
 * values of one to four KB, which lie one behind the other in shared memory.
 *
 *   slabload THREADS PAGES ACCESSES uniform|zipf pinned|free SEED
 *
 * Thread i fills each THREADS-th value, from value i on. Then each makes ACCESSES / THREADS
 * accesses, nine gets to a set, to values that only SEED and its number decide. So what is
 * accessed is the same in each run; in which order the threads take turns is not.
 * "zipf" has an exponent of 0.99, and popular values lie anywhere.
 *
 * Prints "filled" and waits for a line, then makes the accesses, prints "done WRONG NS"
 * and waits for a line. Each value has its number at its begin and its end, which each
 * get checks.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE		4096UL
#define MAX_THREADS	64
#define SET_ONE_IN	10

static unsigned long nr_threads, nr_pages, nr_accesses, nr_values, seed, wrong;
static int zipf, pinned;
static char *mem;
/* Where each value begins, and the end of the last one */
static uint32_t *start;
/* Of ranks, for "zipf": the share of accesses up to each, in 2^-32 */
static uint32_t *share;
static pthread_barrier_t barrier;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Not of the memory that is measured, and never swapped out */
static void *locked(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mlock(p, size)) {
		perror("slabload");
		exit(2);
	}
	return p;
}

static void layout(void)
{
	unsigned long at = 0, max = nr_pages * PAGE / 1024;
	double sum = 0, part = 0;

	start = locked((max + 1) * sizeof(*start));
	/* Multiples of 64 bytes, from 1,024 to 4,096 */
	while (at + 4096 <= nr_pages * PAGE) {
		start[nr_values] = at;
		at += 1024 + mix(nr_values++) % 49 * 64;
	}
	start[nr_values] = at;
	if (!zipf)
		return;
	share = locked(nr_values * sizeof(*share));
	for (unsigned long i = 0; i < nr_values; i++)
		sum += pow(i + 1, -0.99);
	for (unsigned long i = 0; i < nr_values; i++) {
		part += pow(i + 1, -0.99);
		share[i] = part / sum * UINT32_MAX;
	}
}

static unsigned long choose(uint64_t random)
{
	unsigned long lo = 0, hi = nr_values - 1;
	uint32_t want = random >> 32;

	if (!zipf)
		return random % nr_values;
	while (lo < hi) {
		unsigned long mid = (lo + hi) / 2;

		if (share[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return mix(lo) % nr_values;
}

static void set(unsigned long v)
{
	uint64_t stamp = mix(v);

	for (uint32_t at = start[v]; at < start[v + 1]; at += 64)
		*(volatile uint64_t *)(mem + at) = stamp;
	*(volatile uint64_t *)(mem + start[v + 1] - 8) = stamp;
}

static void get(unsigned long v)
{
	uint64_t stamp = mix(v);
	unsigned long bad = 0;

	for (uint32_t at = start[v]; at < start[v + 1]; at += 64)
		bad += *(volatile uint64_t *)(mem + at) != stamp;
	bad += *(volatile uint64_t *)(mem + start[v + 1] - 8) != stamp;
	if (bad)
		__sync_fetch_and_add(&wrong, bad);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void say(const char *what)
{
	char line[16];

	puts(what);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(2);
}

static void *worker(void *arg)
{
	unsigned long nr = (unsigned long)arg;
	uint64_t random, begin = 0;
	char what[64];
	cpu_set_t cpus;

	if (pinned) {
		CPU_ZERO(&cpus);
		CPU_SET(nr, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
			perror("slabload: affinity");
			exit(2);
		}
	}
	for (unsigned long v = nr; v < nr_values; v += nr_threads)
		set(v);
	pthread_barrier_wait(&barrier);
	if (!nr) {
		say("filled");
		begin = now();
	}
	pthread_barrier_wait(&barrier);
	for (unsigned long i = 0; i < nr_accesses / nr_threads; i++) {
		unsigned long v;

		random = mix(mix(seed << 40 | nr << 32) + i);
		v = choose(random);
		if (mix(random) % SET_ONE_IN)
			get(v);
		else
			set(v);
	}
	pthread_barrier_wait(&barrier);
	if (!nr) {
		snprintf(what, sizeof(what), "done %lu %llu", wrong,
			 (unsigned long long)(now() - begin));
		say(what);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_THREADS];

	if (argc != 7)
		return 2;
	nr_threads = strtoul(argv[1], NULL, 0);
	nr_pages = strtoul(argv[2], NULL, 0);
	nr_accesses = strtoul(argv[3], NULL, 0);
	zipf = !strcmp(argv[4], "zipf");
	pinned = !strcmp(argv[5], "pinned");
	seed = strtoul(argv[6], NULL, 0);
	if (!nr_threads || nr_threads > MAX_THREADS || nr_pages < 2 || nr_pages >= 1UL << 20)
		return 2;
	layout();
	mem = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || madvise(mem, nr_pages * PAGE, MADV_NOHUGEPAGE))
		return 2;
	if (pthread_barrier_init(&barrier, NULL, nr_threads))
		return 2;
	for (unsigned long i = 0; i < nr_threads; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)i))
			return 2;
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(t[i], NULL);
	return wrong ? 1 : 0;
}
