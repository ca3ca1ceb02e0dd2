// SPDX-License-Identifier: GPL-2.0
/*
 * Notes in the words of slots, which say whose page table entry refers to a slot; and swapoff,
 * which maps pages where they say. What is right after swapoff is in swapoff.c, too.
 */
#include <sys/prctl.h>

#include "harness.h"

SSW_FIXTURE(notes, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	600
#define SLOTS	"/sys/kernel/debug/scaleswap/slots"

/* What swapoff found how, in pages */
struct found {
	long long noted, stale, scanned;
};

static struct found found(void)
{
	return (struct found){ ssw_stat("swapoff_noted"), ssw_stat("swapoff_stale"),
			       ssw_stat("swapoff_scanned") };
}

static struct found since(struct found f)
{
	struct found now = found();

	return (struct found){ now.noted - f.noted, now.stale - f.stale, now.scanned - f.scanned };
}

/* The area of CPU 0, and this task there */
static int area_on(struct __test_metadata *_metadata)
{
	int type;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 8192));
	type = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, type);
	ASSERT_EQ(0, ssw_pin(0));
	return type;
}

/* Stamped pages, all of them there and not in memory */
static char *swapped(struct __test_metadata *_metadata, uint64_t gen)
{
	char *p = ssw_map(PAGES, false);

	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, gen);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	return p;
}

/*
 * Turn the area off, of which PAGES slots are the test's. Others are pages of programs, which
 * processes may share.
 */
static struct found off(struct __test_metadata *_metadata, int type, long long *others)
{
	struct found f = found();

	*others = ssw_area(type, "used") - PAGES;
	EXPECT_LE(0, *others);
	EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(0, ssw_area_count());
	return since(f);
}

/* A child that has the parent's pages until its pipe is closed, and may look at them then */
static pid_t sharer(const char *p, uint64_t gen, bool looks, int end[2])
{
	pid_t pid;
	char c;

	if (pipe(end))
		return -1;
	pid = ssw_fork();
	if (!pid) {
		close(end[1]);
		if (read(end[0], &c, 1))
			_exit(2);
		_exit(looks && ssw_wrong(p, PAGES, gen) ? 1 : 0);
	}
	close(end[0]);
	return pid;
}

/* Each page is found by its note; nothing is left to be searched for. */
SSW_BODY(notes, of_one_process)
{
	int type = area_on(_metadata);
	char *p = swapped(_metadata, 1);
	long long others;
	struct found f = off(_metadata, type, &others);

	EXPECT_LE(PAGES, f.noted);
	EXPECT_GE(others, f.stale);
	EXPECT_GE(others, f.scanned);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/* The notes of several processes are followed, whose pages come in turns. */
SSW_BODY(notes, of_several_processes)
{
	enum { KIDS = 6, EACH = PAGES / KIDS };
	int type = area_on(_metadata), go[KIDS][2], ready[2];
	long long others;
	pid_t kid[KIDS];
	struct found f;
	char c = 0;

	ASSERT_EQ(0, pipe(ready));
	for (int i = 0; i < KIDS; i++) {
		ASSERT_EQ(0, pipe(go[i]));
		kid[i] = ssw_fork();
		ASSERT_LE(0, kid[i]);
		if (!kid[i]) {
			char *p = ssw_map(EACH, false);

			close(go[i][1]);
			ssw_stamp(p, EACH, i);
			for (int at = 0; at < EACH; at += 10) {
				/* Ten pages each in turn */
				if (read(go[i][0], &c, 1) != 1 ||
				    ssw_pageout(p + at * SSW_PAGE, 10) != 10 ||
				    write(ready[1], &c, 1) != 1)
					_exit(2);
			}
			if (read(go[i][0], &c, 1) != 1)
				_exit(2);
			_exit(ssw_wrong(p, EACH, i) ? 1 : 0);
		}
	}
	for (int at = 0; at < EACH; at += 10) {
		for (int i = 0; i < KIDS; i++) {
			ASSERT_EQ(1, write(go[i][1], &c, 1));
			ASSERT_EQ(1, read(ready[0], &c, 1));
		}
	}
	ssw_evict("ssw");
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.noted);
	EXPECT_GE(others, f.stale);
	EXPECT_GE(others, f.scanned);
	for (int i = 0; i < KIDS; i++) {
		ASSERT_EQ(1, write(go[i][1], &c, 1));
		EXPECT_EQ(0, ssw_join(kid[i])) TH_LOG("process %d", i);
	}
}

/* A child that executes a program, or exits, takes no note along. */
SSW_BODY(notes, outlive_children)
{
	int type = area_on(_metadata);
	char *p = swapped(_metadata, 2);
	long long others;
	struct found f;

	for (int i = 0; i < 10; i++) {
		pid_t pid = ssw_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			if (i % 2)
				_exit(0);
			execl("/bin/sh", "sh", "-c", "exit 0", NULL);
			_exit(2);
		}
		ASSERT_EQ(0, ssw_join(pid));
	}
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.noted);
	EXPECT_GE(others, f.stale);
	EXPECT_GE(others, f.scanned);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* Of two references one has a note, and the other is searched for. */
SSW_BODY(notes, of_a_pair)
{
	int type = area_on(_metadata), end[2];
	char *p = swapped(_metadata, 3);
	pid_t pid = sharer(p, 3, true, end);
	long long others;
	struct found f;

	ASSERT_LE(0, pid);
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.noted);
	EXPECT_GE(others, f.stale);
	EXPECT_LE(PAGES, f.scanned);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
	close(end[1]);
	EXPECT_EQ(0, ssw_join(pid));
}

/* Three references are a count; two of them go, and one is left that nobody has noted. */
SSW_BODY(notes, of_three_are_gone)
{
	int type = area_on(_metadata), end[2][2];
	char *p = swapped(_metadata, 4);
	long long others;
	struct found f;
	pid_t pid[2];

	for (int i = 0; i < 2; i++) {
		pid[i] = sharer(p, 4, false, end[i]);
		ASSERT_LE(0, pid[i]);
	}
	/* The second one has the first one's pipe, too. */
	close(end[0][1]);
	close(end[1][1]);
	EXPECT_EQ(0, ssw_join(pid[1]));
	EXPECT_EQ(0, ssw_join(pid[0]));
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.scanned);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 4));
}

/* Pages that mremap() has moved are found by a walk of their own process alone. */
SSW_BODY(notes, of_moved_pages)
{
	int type = area_on(_metadata);
	char *p = swapped(_metadata, 5), *q;
	long long others;
	struct found f;

	q = ssw_map(PAGES, false);
	ASSERT_NE(NULL, q);
	ASSERT_EQ(q, mremap(p, PAGES * SSW_PAGE, PAGES * SSW_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			    q));
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.stale);
	EXPECT_GE(others, f.scanned);
	EXPECT_EQ(0, ssw_wrong_as(q, PAGES, 5, p));
}

/*
 * The first of two processes that share pages is gone. Its notes name nobody any more, and the
 * other one's entries are searched for.
 */
SSW_BODY(notes, of_nobody)
{
	int type = area_on(_metadata), end[2], ready[2];
	long long others;
	struct found f;
	pid_t first;
	char c = 0;

	ASSERT_EQ(0, pipe(end));
	ASSERT_EQ(0, pipe(ready));
	first = ssw_fork();
	ASSERT_LE(0, first);
	if (!first) {
		char *p = ssw_map(PAGES, false);
		pid_t pid;

		ssw_stamp(p, PAGES, 6);
		if (ssw_pageout(p, PAGES) != PAGES)
			_exit(2);
		ssw_evict("ssw");
		pid = fork();
		if (pid)
			_exit(pid < 0 ? 2 : 0);
		close(end[1]);
		if (write(ready[1], &c, 1) != 1 || read(end[0], &c, 1))
			_exit(2);
		c = ssw_wrong(p, PAGES, 6) ? 1 : 0;
		_exit(write(ready[1], &c, 1) != 1);
	}
	close(end[0]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, ssw_join(first));
	f = off(_metadata, type, &others);
	EXPECT_LE(PAGES, f.stale);
	EXPECT_LE(PAGES, f.scanned);
	close(end[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(0, c);
}

/* The number of the mm in the note of a slot of an area, of the mm that has most of them */
static long number(int type)
{
	static long seen[1024][2];
	unsigned int in, nr = 0;
	char line[256];
	long best = 0;
	FILE *f;

	f = fopen(SLOTS, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		unsigned int i = 0;
		long mm;

		if (sscanf(line, "%u %*u excl %*d %*u %ld", &in, &mm) != 2 ||
		    in != (unsigned int)type)
			continue;
		while (i < nr && seen[i][0] != mm)
			i++;
		if (i == 1024)
			continue;
		if (i == nr)
			seen[nr++][0] = mm;
		seen[i][1]++;
	}
	fclose(f);
	for (unsigned int i = 0; i < nr; i++) {
		if (seen[i][1] >= PAGES / 2)
			best = seen[i][0];
	}
	memset(seen, 0, sizeof(seen));
	return best;
}

/* A number that somebody had is not the next one's: a note may be left of the former. */
SSW_BODY(notes, name_no_successor)
{
	int type = area_on(_metadata);
	long had = 0;

	if (access(SLOTS, R_OK))
		SKIP(return, "no " SLOTS);
	for (int i = 0; i < 4; i++) {
		int go[2], ready[2];
		char c = 0;
		pid_t pid;
		long nr;

		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, pipe(ready));
		pid = ssw_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			char *p = ssw_map(PAGES, false);

			close(go[1]);
			ssw_stamp(p, PAGES, i);
			if (ssw_pageout(p, PAGES) != PAGES || write(ready[1], &c, 1) != 1 ||
			    read(go[0], &c, 1))
				_exit(2);
			_exit(ssw_wrong(p, PAGES, i) ? 1 : 0);
		}
		close(go[0]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		nr = number(type);
		EXPECT_LT(had, nr) TH_LOG("process %d", i);
		had = nr;
		close(go[1]);
		EXPECT_EQ(0, ssw_join(pid));
		close(ready[0]);
		close(ready[1]);
	}
}

/* Reads of a device since the last call */
static long long reads(const char *dev)
{
	static long long had;
	long long all = 0, more;
	char path[256], buf[256];

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", strrchr(dev, '/') + 1);
	if (ssw_read(path, buf, sizeof(buf)) < 0 || sscanf(buf, "%lld", &all) != 1)
		return -1;
	more = all - had;
	had = all;
	return more;
}

/* Pages are read many at a time, in the order in which they are on the device. */
SSW_BODY(notes, are_read_in_order)
{
	struct found f = found();
	char *p;

	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 8192));
	ASSERT_LE(0, ssw_on_cpu(ssw_bdev(0), 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = swapped(_metadata, 7);
	reads(ssw_bdev(0));
	ASSERT_EQ(0, ssw_swapoff(ssw_bdev(0)));
	EXPECT_GE(PAGES / 16, reads(ssw_bdev(0)));
	f = since(f);
	EXPECT_LE(PAGES, f.noted);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 7));
}

TEST_HARNESS_MAIN
