// SPDX-License-Identifier: GPL-2.0
/*
 * How much swap space is used and free, read while slots come and go: no more than
 * there is. CPUs count for themselves, so a reader sees some later than others.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "harness.h"

SSW_FIXTURE(counts, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	2047

/*
 * A process of its own that swaps @pages out and frees them, @batch at a time, for
 * ever: the first on CPU 1, the latter on @freer.
 */
static pid_t churn(size_t pages, size_t batch, int freer, volatile long *rounds)
{
	pid_t parent = getpid(), pid;
	char *p;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	p = ssw_map(pages, false);
	for (;; ++*rounds) {
		for (size_t i = 0; i < pages; i += batch) {
			char *q = p + i * SSW_PAGE;

			ssw_pin(1);
			/* Their slots are freed as they are written to. */
			for (size_t j = 0; j < batch; j++)
				*(volatile size_t *)(q + j * SSW_PAGE) = i + j + 1;
			madvise(q, batch * SSW_PAGE, MADV_PAGEOUT);
			if (freer == 1)
				continue;
			ssw_pin(freer);
			madvise(q, batch * SSW_PAGE, MADV_DONTNEED);
		}
	}
}

SSW_TEST_F(counts, used)
{
	volatile long *rounds = mmap(NULL, SSW_PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long used, most = 0, over = 0, reads;
	pid_t pid;
	int t;

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_NE(MAP_FAILED, (void *)rounds);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	t = ssw_on_cpu(ssw_file(0), 1);
	ASSERT_LE(0, t);
	ASSERT_EQ(PAGES, ssw_area(t, "pages"));
	/* More than there is room for, so that nearly all is used all the time. */
	pid = churn(PAGES / 64 * 64 + 128, 64, 1, rounds);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, ssw_pin(0));
	for (reads = 0; reads < 20000 || *rounds < 4; reads++) {
		used = ssw_area(t, "used");
		ASSERT_LE(0, used);
		over += used > PAGES;
		if (used > most)
			most = used;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	TH_LOG("%lld reads, %ld rounds, %lld of %d pages at most", reads, *rounds, most, PAGES);
	EXPECT_EQ(0, over) TH_LOG("%lld times more than there is", over);
	EXPECT_LT(PAGES / 2, most);
}

SSW_TEST_F(counts, free)
{
	volatile long *rounds = mmap(NULL, SSW_PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long total, over = 0, reads;
	pid_t pid;

	if (ssw_nr_possible() < 3)
		SKIP(return, "needs three CPUs");
	ASSERT_NE(MAP_FAILED, (void *)rounds);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 8 * PAGES));
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 1));
	total = ssw_meminfo("SwapTotal");
	/* Less than a CPU keeps to itself; allocated on one CPU, freed on another. */
	pid = churn(60, 60, 2, rounds);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, ssw_pin(0));
	for (reads = 0; reads < 2000 || *rounds < 200; reads++)
		over += ssw_meminfo("SwapFree") > total;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(0, over) TH_LOG("of %lld reads", reads);
}

TEST_HARNESS_MAIN
