// SPDX-License-Identifier: GPL-2.0
/*
 * page_util.c - pages for the ScaleSwap selftests: stamped, swapped out, found in areas
 */
#include <signal.h>
#include <sys/wait.h>

#include "page_util.h"

/* --- memory -------------------------------------------------------------- */

/* Pages of anonymous memory; order 0 unless @huge asks for more. */
char *ssw_map(size_t pages, bool huge)
{
	size_t len = pages * SSW_PAGE, align = 2UL << 20;
	char *p = mmap(NULL, len + align, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	/* Fails where the kernel has no huge pages: then there is nothing to ask. */
	madvise(p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return p;
}

/* --- stamps -------------------------------------------------------------- */

uint64_t ssw_word(const char *page, uint64_t gen)
{
	uint64_t x = (uintptr_t)page ^ (gen << 48) ^ 0x5353575355ULL;

	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static const uint16_t ssw_words[] = { 0, 1, 63, 64, 200, 256, 400, 510, 511 };

/* Stamp pages with their own address and @gen. */
void ssw_stamp(char *p, size_t pages, uint64_t gen)
{
	for (size_t i = 0; i < pages; i++, p += SSW_PAGE)
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++)
			((uint64_t *)p)[ssw_words[w]] = ssw_word(p, gen) + w;
}

/* As ssw_stamp(), for an address other than the page's own. */
void ssw_stamp_as(char *p, size_t pages, uint64_t gen, const char *as)
{
	for (size_t i = 0; i < pages; i++, p += SSW_PAGE, as += SSW_PAGE)
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++)
			((uint64_t *)p)[ssw_words[w]] = ssw_word(as, gen) + w;
}

/* How many pages do not carry their stamp; says which, for the first few. */
long ssw_wrong(const char *p, size_t pages, uint64_t gen)
{
	const char *base = p;
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE) {
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++) {
			uint64_t want = ssw_word(p, gen) + w;
			uint64_t seen = ((const uint64_t *)p)[ssw_words[w]];

			if (want == seen)
				continue;
			if (wrong++ < 3) {
				printf("# page %zu word %u: %#llx where %#llx was written", i,
				       ssw_words[w], (unsigned long long)seen,
				       (unsigned long long)want);
				for (size_t j = 0; j < pages; j++)
					if (seen == ssw_word(base + j * SSW_PAGE, gen) + w)
						printf(" (the stamp of page %zu)", j);
				printf("\n");
			}
			break;
		}
	}
	return wrong;
}

long ssw_wrong_as(const char *p, size_t pages, uint64_t gen, const char *as)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE, as += SSW_PAGE) {
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++) {
			uint64_t seen = ((const uint64_t *)p)[ssw_words[w]];

			if (seen == ssw_word(as, gen) + w)
				continue;
			if (wrong++ < 3)
				printf("# page %zu word %u: %#llx where %#llx was written\n", i,
				       ssw_words[w], (unsigned long long)seen,
				       (unsigned long long)(ssw_word(as, gen) + w));
			break;
		}
	}
	return wrong;
}

/* Pages that are not all zeroes. */
long ssw_not_zero(const char *p, size_t pages)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE)
		for (size_t w = 0; w < SSW_PAGE / 8; w++)
			if (((const uint64_t *)p)[w]) {
				wrong++;
				break;
			}
	return wrong;
}

/* --- where pages are ----------------------------------------------------- */

uint64_t ssw_pagemap(const void *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t e = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &e, 8, (uintptr_t)addr / SSW_PAGE * 8) != 8)
		e = 0;
	close(fd);
	return e;
}

/* The documented encoding: 8 bits in bits 0-4 and 52-54. */
unsigned int ssw_pm_code(uint64_t e)
{
	return (e & 31) | ((e >> 52) & 7) << 5;
}

/* The swap type, or -1 for the codes that are no area's. */
int ssw_pm_type(uint64_t e)
{
	unsigned int code = ssw_pm_code(e);

	if (code < 23)
		return code;
	return code >= 32 ? (int)code - 9 : -1;
}

uint64_t ssw_pm_offset(uint64_t e)
{
	return (e >> 5) & ((1ULL << 47) - 1);
}

/*
 * How many of the pages are in which area: @per[type], present ones in
 * @per[256], anything else in @per[257].
 */
int ssw_where(const char *p, size_t pages, long per[258])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t e[512];

	memset(per, 0, 258 * sizeof(*per));
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < pages; ) {
		size_t n = pages - i < 512 ? pages - i : 512;

		if (pread(fd, e, n * 8, ((uintptr_t)p / SSW_PAGE + i) * 8) != (ssize_t)(n * 8)) {
			close(fd);
			return -EIO;
		}
		for (size_t j = 0; j < n; j++) {
			if (e[j] & SSW_PM_PRESENT)
				per[256]++;
			else if ((e[j] & SSW_PM_SWAP) && ssw_pm_type(e[j]) >= 0)
				per[ssw_pm_type(e[j])]++;
			else
				per[257]++;
		}
		i += n;
	}
	close(fd);
	return 0;
}

/*
 * Swap the pages out, as far as it goes. The number of pages not in memory.
 *
 * Pages that were read back keep their slots as long as these are in the swap
 * cache: a test of where pages go needs a fresh mapping.
 */
long ssw_pageout(char *p, size_t pages)
{
	long per[258];

	/* Reclaim passes over a page that is just in use: so, some tries. */
	for (int i = 0; i < 3; i++) {
		madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
		if (ssw_where(p, pages, per))
			return -1;
		if (!per[256])
			break;
		/*
		 * Pages that were touched on another CPU may wait in that CPU's batch, off
		 * the LRU, where reclaim does not find them. Dropping clean caches drains
		 * the batches of all CPUs.
		 */
		ssw_write("/proc/sys/vm/drop_caches", "1");
	}
	return pages - per[256];
}

/* --- load in the background ---------------------------------------------- */

struct ssw_load *ssw_loads(int n)
{
	void *p = mmap(NULL, n * sizeof(struct ssw_load), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Swap @pages out and in for ever, on @cpu (-1: anywhere), until told to stop. */
int ssw_load_start(struct ssw_load *l, int cpu, size_t pages)
{
	pid_t pid;
	char *p;

	memset(l, 0, sizeof(*l));
	pid = ssw_fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		l->pid = pid;
		return 0;
	}
	if (cpu >= 0)
		ssw_pin(cpu);
	p = ssw_map(pages, false);
	if (!p)
		_exit(1);
	while (!l->stop) {
		long wrong, out;

		ssw_stamp(p, pages, l->rounds + 1);
		out = ssw_pageout(p, pages);
		if (out > 0)
			l->out += out;
		wrong = ssw_wrong(p, pages, l->rounds + 1);
		l->wrong += wrong;
		/* A page that was read back keeps its slot: every other round takes new ones. */
		if (l->rounds % 2 == 0)
			madvise(p, pages * SSW_PAGE, MADV_DONTNEED);
		l->rounds++;
		if (wrong)
			break;
	}
	fflush(stdout);
	_exit(l->wrong ? 1 : 0);
}

/* Wait until it did @rounds more. False: it ended, or got stuck. */
bool ssw_load_more(struct ssw_load *l, long rounds)
{
	long target = l->rounds + rounds;

	/* Ten minutes: a guard against hangs, not a measure. */
	for (int i = 0; i < 60000 && l->rounds < target; i++) {
		if (kill(l->pid, 0) || waitpid(l->pid, NULL, WNOHANG) == l->pid)
			return false;
		usleep(10000);
	}
	return l->rounds >= target;
}

/* The number of wrong pages it saw, or -1 when it was killed. */
long ssw_load_stop(struct ssw_load *l)
{
	int status;

	l->stop = 1;
	if (waitpid(l->pid, &status, 0) == l->pid && WIFSIGNALED(status))
		return -1;
	return l->wrong;
}
