// SPDX-License-Identifier: GPL-2.0
/*
 * hold MB CPUS READY-FILE - memory in use, for tests that take memory away.
 *
 * One process a CPU fills its share of anonymous memory, each page stamped, there (so
 * that with LRU shards every shard has some of it), and checks it over and over until
 * SIGTERM. Exit status 1: a page was not what it should be.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define MAX_CPUS 256

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

static int hold(int cpu, unsigned long pages, int ready)
{
	unsigned long i, want, rounds = 0;
	cpu_set_t set;
	char *mem;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("hold: sched_setaffinity");
		return 2;
	}
	mem = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED) {
		perror("hold: mmap");
		return 2;
	}
	for (i = 0; i < pages; i++)
		*(unsigned long *)(mem + i * PAGE) = (unsigned long)(cpu + 1) << 32 | i;
	if (write(ready, "+", 1) != 1)
		return 2;
	/* once more after SIGTERM: all that was done is to be seen */
	for (int last = 0; !last; rounds++) {
		last = stop;
		for (i = 0; i < pages; i++) {
			want = (unsigned long)(cpu + 1) << 32 | i;
			if (*(volatile unsigned long *)(mem + i * PAGE) != want) {
				fprintf(stderr, "hold: CPU %d: page %lu of %lu is %#lx\n", cpu, i,
					pages, *(unsigned long *)(mem + i * PAGE));
				return 1;
			}
		}
		usleep(20000);
	}
	fprintf(stderr, "# hold: CPU %d: %lu pages checked %lu times\n", cpu, pages, rounds);
	return 0;
}

int main(int argc, char **argv)
{
	int i, fd, status, worst = 0, cpus, fds[2];
	pid_t pid[MAX_CPUS];
	unsigned long pages;
	char c;

	if (argc != 4 || (cpus = atoi(argv[2])) < 1 || cpus > MAX_CPUS)
		return 2;
	pages = atol(argv[1]) * 256 / cpus;
	signal(SIGTERM, on_term);
	if (pipe(fds))
		return 2;
	for (i = 0; i < cpus; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			return 2;
		if (!pid[i]) {
			close(fds[0]);
			_exit(hold(i, pages, fds[1]));
		}
	}
	close(fds[1]);
	for (i = 0; i < cpus && read(fds[0], &c, 1) == 1; i++)
		;
	fd = i == cpus ? open(argv[3], O_CREAT | O_WRONLY, 0600) : -1;
	if (fd < 0)
		worst = 2;
	while (!stop && !worst)
		usleep(20000);
	for (i = 0; i < cpus; i++)
		kill(pid[i], SIGTERM);
	for (i = 0; i < cpus; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i] || !WIFEXITED(status))
			worst = 2;
		else if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	}
	return worst;
}
