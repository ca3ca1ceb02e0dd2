// SPDX-License-Identifier: GPL-2.0
/*
 * Folios that change while they are in the swap cache of a per-core area: one that moves to
 * another node, and a large one that is split. Another process has only swap entries, and has
 * to find what is in the swap cache then, not what was there.
 */
#include <sys/syscall.h>

#include "harness.h"

SSW_FIXTURE(cache, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES		64
#define FRAME(e)	((e) & ((1ULL << 55) - 1))

/* Bits of /proc/kpageflags */
#define KPF_SWAPCACHE	(1ULL << 13)
#define KPF_COMPOUND	(3ULL << 15)

#define SPLIT		"/sys/kernel/debug/split_huge_pages"
#define HUGE_64K	SSW_THP "/hugepages-64kB/enabled"

struct child {
	pid_t pid;
	int go[2];
	uint64_t *frame;
};

/* A process that reads all pages when it is told to, and notes where they are in memory. */
static bool child_start(struct child *c, const char *p, size_t pages)
{
	char told;

	c->frame = ssw_shared(pages * sizeof(*c->frame));
	if (pipe(c->go))
		return false;
	c->pid = ssw_fork();
	if (c->pid)
		return c->pid > 0;
	if (read(c->go[0], &told, 1) != 1 || ssw_wrong(p, pages, 1))
		_exit(1);
	for (size_t i = 0; i < pages; i++)
		c->frame[i] = FRAME(ssw_pagemap(p + i * SSW_PAGE));
	_exit(0);
}

static int child_reads(struct child *c)
{
	return write(c->go[1], "!", 1) == 1 ? ssw_join(c->pid) : -1;
}

/* Count pages that have a flag in /proc/kpageflags; -1 if that cannot be read. */
static long with_flag(const char *p, size_t pages, uint64_t flag)
{
	int fd = open("/proc/kpageflags", O_RDONLY);
	long n = 0;

	for (size_t i = 0; i < pages && n >= 0; i++) {
		uint64_t flags, frame = FRAME(ssw_pagemap(p + i * SSW_PAGE));

		if (pread(fd, &flags, 8, frame * 8) != 8)
			n = -1;
		else
			n += !!(flags & flag);
	}
	close(fd);
	return n;
}

static long same_frames(const struct child *c, const char *p, size_t pages)
{
	long n = 0;

	for (size_t i = 0; i < pages; i++)
		n += c->frame[i] == FRAME(ssw_pagemap(p + i * SSW_PAGE));
	return n;
}

SSW_BODY(cache, migrated)
{
	int node[PAGES], status[PAGES], to = -1;
	struct ssw_areas a;
	void *at[PAGES];
	struct child c;
	long moved = 0;
	char *p;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	for (int i = 1; i < a.n; i++)
		if (ssw_node_of(a.cpu[i]) != ssw_node_of(a.cpu[0]))
			to = ssw_node_of(a.cpu[i]);
	if (to < 0)
		SKIP(return, "the machine has one node");
	ssw_pin(a.cpu[0]);
	p = ssw_map(PAGES, false);
	ssw_stamp(p, PAGES, 1);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	ASSERT_TRUE(child_start(&c, p, PAGES));
	ASSERT_EQ(0, ssw_wrong(p, PAGES, 1));
	ASSERT_EQ(PAGES, with_flag(p, PAGES, KPF_SWAPCACHE));
	for (int i = 0; i < PAGES; i++) {
		at[i] = p + i * SSW_PAGE;
		node[i] = to;
		status[i] = -1;
	}
	ASSERT_LE(0, syscall(SYS_move_pages, 0, PAGES, at, node, status, 2 /* MPOL_MF_MOVE */));
	for (int i = 0; i < PAGES; i++)
		moved += status[i] == to;
	EXPECT_LE(PAGES / 2, moved);
	EXPECT_EQ(PAGES, with_flag(p, PAGES, KPF_SWAPCACHE));
	EXPECT_EQ(0, child_reads(&c));
	EXPECT_EQ(PAGES, same_frames(&c, p, PAGES));
}

/*
 * Pages that are swapped out together and come back from the swap cache, in which they stay
 * until they are reclaimed once more. NULL if they are not large then.
 */
static char *large_in_cache(struct child *c, size_t pages)
{
	for (int i = 0; i < 10; i++) {
		char *p = ssw_map(pages, true);

		ssw_stamp(p, pages, 1);
		if (ssw_pageout(p, pages) != (long)pages || !child_start(c, p, pages))
			return NULL;
		if (!ssw_wrong(p, pages, 1) && with_flag(p, pages, KPF_COMPOUND) == (long)pages &&
		    with_flag(p, pages, KPF_SWAPCACHE) == (long)pages)
			return p;
		child_reads(c);
		munmap(p, pages * SSW_PAGE);
	}
	return NULL;
}

SSW_BODY(cache, split)
{
	const size_t pages = 4 * 16;
	struct ssw_areas a;
	struct child c;
	char text[100];
	char *p;

	if (ssw_write(HUGE_64K, "madvise"))
		SKIP(return, "the kernel has no huge pages of 64 kB");
	if (access(SPLIT, W_OK))
		SKIP(return, "there is no split_huge_pages in debugfs");
	if (!ssw_bdev(0))
		SKIP(return, "there is no drive, and a file takes no large folios");
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ssw_pin(a.cpu[0]);
	p = large_in_cache(&c, pages);
	ASSERT_NE(NULL, p);
	snprintf(text, sizeof(text), "%d,0x%lx,0x%lx", getpid(), (unsigned long)p,
		 (unsigned long)p + pages * SSW_PAGE);
	ASSERT_EQ(0, ssw_write(SPLIT, text));
	EXPECT_EQ(0, with_flag(p, pages, KPF_COMPOUND));
	EXPECT_EQ((long)pages, with_flag(p, pages, KPF_SWAPCACHE));
	EXPECT_EQ(0, child_reads(&c));
	EXPECT_EQ((long)pages, same_frames(&c, p, pages));
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
	ssw_write(HUGE_64K, "never");
}

TEST_HARNESS_MAIN
