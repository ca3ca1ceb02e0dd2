// SPDX-License-Identifier: GPL-2.0
/*
 * Slots with many references: thousands by fork and by KSM, dropped in random order, while
 * some of the sharers write.
 *
 * A count above 62 needs a continuation in the base kernel; 3000 is far above any count
 * that a byte or two small fields could hold.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "harness.h"

SSW_FIXTURE(shared, SSW_NEED_ON | SSW_NEED_DIR)

#define REFS	3000

#ifndef MADV_MERGEABLE
#define MADV_MERGEABLE		12
#define MADV_UNMERGEABLE	13
#endif

#define KSM	"/sys/kernel/mm/ksm/"

static uint64_t seed(void)
{
	const char *s = getenv("SSW_SEED");

	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return s ? strtoull(s, NULL, 0) : (uint64_t)now.tv_nsec;
}

/* The child's part, once it is its turn. */
enum { WAIT, LEAVE, READ, WRITE, OUT };

struct family {
	volatile int ready;
	volatile int wrong;
	volatile int todo[];
};

/*
 * One child of many. It touches as little as it can before its turn, so that thousands fit,
 * and reports by its exit status only.
 */
static void child(struct family *fam, int me, char *p, size_t pages, uint64_t gen, int cpus)
{
	long wrong = 0;
	int todo;

	__sync_fetch_and_add(&fam->ready, 1);
	while ((todo = fam->todo[me]) == WAIT)
		syscall(SYS_futex, &fam->todo[me], FUTEX_WAIT, WAIT, NULL, NULL, 0);
	if (todo == LEAVE)
		_exit(0);
	ssw_pin(me % cpus);
	wrong = ssw_wrong(p, pages, gen);
	if (todo == WRITE || todo == OUT) {
		/* One page in two is its own from now on. */
		for (size_t i = me % 2; i < pages; i += 2)
			ssw_stamp(p + i * SSW_PAGE, 1, gen + me + 1);
		if (todo == OUT)
			madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
		for (size_t i = 0; i < pages; i++)
			wrong += ssw_wrong(p + i * SSW_PAGE, 1,
					   i % 2 == (size_t)me % 2 ? gen + me + 1 : gen);
	}
	if (wrong)
		__sync_fetch_and_add(&fam->wrong, 1);
	_exit(wrong ? 1 : 0);
}

static void turn(struct family *fam, int nr, int what)
{
	fam->todo[nr] = what;
	syscall(SYS_futex, &fam->todo[nr], FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Let the children run one by one, in random order, and wait for each. */
static void in_turn(struct __test_metadata *_metadata, struct family *fam, pid_t *kids, int n,
		    uint64_t rnd)
{
	int *order = malloc(n * sizeof(*order));

	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int j = ssw_random(&rnd) % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (int i = 0; i < n; i++) {
		unsigned int r = ssw_random(&rnd) % 16;

		turn(fam, order[i], r < 9 ? LEAVE : r < 12 ? READ : r < 15 ? WRITE : OUT);
		/* Some at the same time, and only so many. */
		if (i >= 8) {
			ASSERT_EQ(0, ssw_join(kids[order[i - 8]])) TH_LOG("child %d", order[i - 8]);
		}
	}
	for (int i = n < 8 ? 0 : n - 8; i < n; i++) {
		ASSERT_EQ(0, ssw_join(kids[order[i]])) TH_LOG("child %d", order[i]);
	}
	EXPECT_EQ(0, fam->wrong);
	free(order);
}

static struct family *new_family(int n)
{
	return ssw_shared(sizeof(struct family) + n * sizeof(int));
}

/* Forks as many as fit into half of what memory is available, up to @n. */
static int forks(struct family *fam, pid_t *kids, int n, char *p, size_t pages, uint64_t gen,
		 int cpus)
{
	long long enough = ssw_meminfo("MemAvailable") / 2;

	for (int i = 0; i < n; i++) {
		if (i % 64 == 63 && ssw_meminfo("MemAvailable") < enough)
			return i;
		kids[i] = ssw_fork();
		if (kids[i] < 0)
			return i;
		if (!kids[i])
			child(fam, i, p, pages, gen, cpus);
		/* They must not all be new at once: each is small once it waits. */
		while (fam->ready < i - 8)
			usleep(1000);
	}
	return n;
}

/* Thousands of processes, or as many as fit, with references to the same slots. */
SSW_BODY(shared, fork)
{
	int n = REFS, cpus = ssw_nr_possible(), made;
	const size_t pages = 8;
	struct family *fam = new_family(n);
	uint64_t rnd = seed();
	struct ssw_areas a;
	pid_t *kids = calloc(n, sizeof(*kids));
	char *p;

	ASSERT_NE(NULL, fam);
	ASSERT_NE(NULL, kids);
	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	p = ssw_map(pages, false);
	ssw_stamp(p, pages, 1);
	ASSERT_EQ((long)pages, ssw_pageout(p, pages));
	ssw_evict("ssw");
	made = forks(fam, kids, n, p, pages, 1, cpus);
	TH_LOG("%d processes share %zu slots, seed %llu", made, pages, (unsigned long long)rnd);
	ASSERT_LE(100, made);
	in_turn(_metadata, fam, kids, made, rnd);
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
	/* The last one: out, in and rewritten again. */
	ssw_pageout(p, pages);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
	ssw_stamp(p, pages, 2);
	ssw_pageout(p, pages);
	EXPECT_EQ(0, ssw_wrong(p, pages, 2));
}

/* A child's child's child: each forks while its pages are in swap, and writes some. */
SSW_BODY(shared, generations)
{
	const size_t pages = 64;
	struct ssw_areas a;
	char *p;
	int status = 0;

	ASSERT_EQ(0, ssw_areas_on(&a, 8192, SSW_MANY));
	p = ssw_map(pages, false);
	ssw_stamp(p, pages, 100);
	for (int depth = 0; depth < 40; depth++) {
		pid_t pid;

		ssw_pin(a.cpu[depth % a.n]);
		ssw_pageout(p, pages);
		pid = ssw_fork();
		if (pid < 0)
			_exit(3);
		if (pid) {
			status = ssw_join(pid);
			/* Its own view has not changed: pages before @depth are its own. */
			for (size_t i = 0; i < pages; i++)
				if (ssw_wrong(p + i * SSW_PAGE, 1,
					      i < (size_t)depth ? 100 + i + 1 : 100))
					status |= 1;
			fflush(stdout);
			if (depth)
				_exit(status);
			break;
		}
		ssw_stamp(p + depth * SSW_PAGE, 1, 100 + depth + 1);
		if (depth == 39)
			_exit(0);
	}
	EXPECT_EQ(0, status);
}

/* --- KSM ------------------------------------------------------------------ */

static bool ksm_on(void)
{
	if (access(KSM "run", W_OK))
		return false;
	ssw_write(KSM "run", "2");	/* forget what was merged before */
	ssw_write(KSM "max_page_sharing", "100000");
	ssw_write(KSM "use_zero_pages", "0");
	ssw_write(KSM "pages_to_scan", "20000");
	ssw_write(KSM "sleep_millisecs", "20");
	return !ssw_write(KSM "run", "1");
}

static void ksm_off(void)
{
	ssw_write(KSM "run", "2");
	ssw_write(KSM "run", "0");
}

/* Wait until @sharing pages are merged into others. */
static long long ksm_wait(long long sharing)
{
	long long n = 0;

	for (int i = 0; i < 1200; i++) {
		n = ssw_num(KSM "pages_sharing");
		if (n >= sharing)
			break;
		usleep(100000);
	}
	return n;
}

/* Two regions with the same contents merge, go out, come apart again. */
SSW_BODY(shared, ksm_merge)
{
	const size_t n = 400;
	struct ssw_areas a;
	char *p, *q;
	long same = 0;

	if (!ksm_on())
		SKIP(return, "the kernel has no KSM");
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	p = ssw_map(n, false);
	q = ssw_map(n, false);
	ASSERT_EQ(0, madvise(p, n * SSW_PAGE, MADV_MERGEABLE));
	ASSERT_EQ(0, madvise(q, n * SSW_PAGE, MADV_MERGEABLE));
	ssw_stamp(p, n, 1);
	ssw_stamp_as(q, n, 1, p);
	EXPECT_LE((long long)n * 9 / 10, ksm_wait(n)) TH_LOG("pages were not merged");
	ssw_write(KSM "run", "0");
	ssw_write(SSW_CG "/ssw/memory.reclaim", "8M");
	ssw_pageout(p, n);
	ssw_pageout(q, n);
	ssw_evict("ssw");
	for (size_t i = 0; i < n; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE), f = ssw_pagemap(q + i * SSW_PAGE);

		same += (e & SSW_PM_SWAP) && ssw_pm_code(e) == ssw_pm_code(f) &&
			ssw_pm_offset(e) == ssw_pm_offset(f);
	}
	EXPECT_LE((long)n / 2, same) TH_LOG("%ld of %zu merged pages share a slot", same, n);
	TH_LOG("%ld of %zu pairs share a slot", same, n);
	/* One writes, the other must not see it. */
	ssw_stamp(q, n / 4, 2);
	EXPECT_EQ(0, ssw_wrong(p, n, 1));
	EXPECT_EQ(0, ssw_wrong(q, n / 4, 2));
	EXPECT_EQ(0, ssw_wrong_as(q + n / 4 * SSW_PAGE, n - n / 4, 1, p + n / 4 * SSW_PAGE));
	/* Merged ones apart again while they are out. */
	ssw_pageout(p, n);
	ssw_pageout(q, n);
	ssw_evict("ssw");
	ASSERT_EQ(0, madvise(q, n * SSW_PAGE, MADV_UNMERGEABLE));
	EXPECT_EQ(0, ssw_wrong(p, n, 1));
	EXPECT_EQ(0, ssw_wrong(q, n / 4, 2));
	EXPECT_EQ(0, ssw_wrong_as(q + n / 4 * SSW_PAGE, n - n / 4, 1, p + n / 4 * SSW_PAGE));
	ksm_off();
}

/*
 * One page, merged from hundreds and swapped out, in a process that then forks:
 * thousands of references to one slot from a few processes. (Merged from more
 * than about a thousand, a page is not swapped out by the base kernel either.)
 */
SSW_BODY(shared, ksm_thousands)
{
	enum { KIDS = 12, MERGED = 300 };
	struct family *fam = new_family(KIDS);
	long out = 0, in_first = 0, per[258];
	uint64_t rnd = seed(), first = 0;
	struct ssw_areas a;
	pid_t kids[KIDS];
	long long merged;
	char *p;

	_Static_assert(MERGED * (KIDS + 1) > REFS, "too few references");
	if (!ksm_on())
		SKIP(return, "the kernel has no KSM");
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	p = ssw_map(MERGED, false);
	ASSERT_EQ(0, madvise(p, MERGED * SSW_PAGE, MADV_MERGEABLE));
	for (int i = 0; i < MERGED; i++)
		ssw_stamp_as(p + i * SSW_PAGE, 1, 5, p);
	merged = ksm_wait(MERGED - 1);
	EXPECT_LE(MERGED * 9 / 10, merged);
	ssw_write(KSM "run", "0");
	/*
	 * MADV_PAGEOUT passes over a page with many mappings, reclaim does not.
	 * If the page is on the active list it takes a while: whether to look
	 * there is decided by the group's statistics, which for so few pages
	 * are brought up to date only every two seconds.
	 */
	ssw_for_looks(i) {
		ASSERT_EQ(0, ssw_where(p, MERGED, per));
		if (per[256] <= MERGED / 10)
			break;
		ssw_write("/proc/sys/vm/drop_caches", "1");
		ssw_write(SSW_CG "/ssw/memory.reclaim", "8M swappiness=200");
		if (i > 10)
			usleep(100000);
	}
	for (int i = 0; i < MERGED; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if (!(e & SSW_PM_SWAP))
			continue;
		if (!out++)
			first = e;
		in_first += ssw_pm_offset(e) == ssw_pm_offset(first) &&
			    ssw_pm_code(e) == ssw_pm_code(first);
	}
	TH_LOG("%lld pages merged, %ld out, %ld of them in one slot, seed %llu", merged, out,
	       in_first, (unsigned long long)rnd);
	EXPECT_LE(MERGED * 9 / 10, in_first);
	for (int i = 0; i < KIDS; i++) {
		kids[i] = ssw_fork();
		ASSERT_LE(0, kids[i]);
		if (!kids[i]) {
			long wrong = 0;

			while (!fam->todo[i])
				syscall(SYS_futex, &fam->todo[i], FUTEX_WAIT, WAIT, NULL, NULL, 0);
			if (fam->todo[i] == LEAVE)
				_exit(0);
			ssw_pin(a.cpu[i % a.n]);
			for (int j = i; j < MERGED; j += 7)
				wrong += ssw_wrong_as(p + j * SSW_PAGE, 1, 5, p);
			for (int j = i; j < MERGED; j += 5)
				ssw_stamp(p + j * SSW_PAGE, 1, i);
			madvise(p, MERGED * SSW_PAGE, MADV_PAGEOUT);
			for (int j = 0; j < MERGED; j++)
				wrong += j >= i && (j - i) % 5 == 0 ?
					 ssw_wrong(p + j * SSW_PAGE, 1, i) :
					 ssw_wrong_as(p + j * SSW_PAGE, 1, 5, p);
			fflush(stdout);
			_exit(wrong ? 1 : 0);
		}
	}
	/* Half of the parent's own go first. */
	for (int i = 0; i < MERGED; i += 2)
		ASSERT_EQ(0, madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED));
	for (int i = 0; i < KIDS; i++)
		turn(fam, i, ssw_random(&rnd) % 3 ? READ : LEAVE);
	for (int i = 0; i < KIDS; i++) {
		EXPECT_EQ(0, ssw_join(kids[i])) TH_LOG("child %d", i);
	}
	for (int i = 1; i < MERGED; i += 2) {
		ASSERT_EQ(0, ssw_wrong_as(p + i * SSW_PAGE, 1, 5, p));
	}
	ksm_off();
}

TEST_HARNESS_MAIN
