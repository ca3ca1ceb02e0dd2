// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of one process that share their memory: page i is first touched by thread
 * i % THREADS, then all use all pages, nine times in ten one of the hot quarter.
 *
 *   hotcold THREADS PAGES ACCESSES [SEED]
 *
 * Each page has its number in it, which is checked at each access. Prints pages swapped
 * in and out during the accesses, and the time they took by the guest's clock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static unsigned long nr_threads, nr_pages, nr_accesses, seed, wrong;
static char *mem;
static pthread_barrier_t barrier;

static unsigned long vmstat(const char *name)
{
	char line[128];
	unsigned long v = 0;
	FILE *f = fopen("/proc/vmstat", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ')
			v = strtoul(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return v;
}

static void *worker(void *arg)
{
	unsigned long nr = (unsigned long)arg, i, x = (seed * 256 + nr) * 2654435761u + 1;
	unsigned long in = 0, out = 0;
	struct timespec a, b;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(nr, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (i = nr; i < nr_pages; i += nr_threads)
		*(volatile unsigned long *)(mem + i * 4096) = i;
	pthread_barrier_wait(&barrier);
	if (!nr) {
		in = vmstat("pswpin");
		out = vmstat("pswpout");
		clock_gettime(CLOCK_MONOTONIC, &a);
	}
	pthread_barrier_wait(&barrier);
	for (i = 0; i < nr_accesses / nr_threads; i++) {
		unsigned long p, r;

		x ^= x << 13; x ^= x >> 7; x ^= x << 17;
		r = x >> 11;
		/* a hot page is each fourth */
		p = r % (nr_pages / 4) * 4;
		if (r / nr_pages % 10 == 0)
			p += 1 + r / nr_pages / 10 % 3;
		if (*(volatile unsigned long *)(mem + p * 4096) != p)
			__sync_fetch_and_add(&wrong, 1);
	}
	pthread_barrier_wait(&barrier);
	if (!nr) {
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("hotcold {\"in\": %lu, \"out\": %lu, \"ns\": %lu, \"wrong\": %lu}\n", vmstat("pswpin") - in,
		       vmstat("pswpout") - out, (b.tv_sec - a.tv_sec) * 1000000000ul + b.tv_nsec - a.tv_nsec, wrong);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[256];

	if (argc != 4 && argc != 5)
		return 2;
	nr_threads = strtoul(argv[1], NULL, 10);
	nr_pages = strtoul(argv[2], NULL, 10);
	nr_accesses = strtoul(argv[3], NULL, 10);
	seed = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	mem = mmap(NULL, nr_pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || !nr_threads || nr_threads > 256)
		return 2;
	madvise(mem, nr_pages * 4096, MADV_NOHUGEPAGE);
	pthread_barrier_init(&barrier, NULL, nr_threads);
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(t[i], NULL);
	return wrong ? 1 : 0;
}
