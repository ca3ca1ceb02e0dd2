// SPDX-License-Identifier: GPL-2.0
/*
 * UFFDIO_MOVE moves a page that reclaim has put aside for zswap: unmapped, not locked, and before
 * TLBs were flushed. Nothing is written to it by its old address afterwards.
 *
 * This needs two CPUs that run at the same time: one reclaims while the other one moves.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "zbatch_harness.h"

/* As in include/uapi/linux/userfaultfd.h; the system's own may be older. */
#define MOVE_FEATURE	(1 << 16)
#define MOVE_IOCTL	_IOWR(UFFDIO, 0x05, struct move)

struct move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};

/* The page that is moved is put aside first, then some others, fewer than are stored at once. */
#define ASIDE	7
/*
 * Reclaim then takes its time for these, in which the others are aside: it unmaps them, sees that
 * somebody else has them as well, which is a pipe, and maps them again. It flushes for none.
 */
#define HELD	250
#define PAGES	(ASIDE + HELD)
/* So many moves that were surely in time */
#define MOVES	5

FIXTURE(zmove) { struct zswap_was zswap; struct ssw_areas areas; };

FIXTURE_SETUP(zmove)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (!why)
		why = zswap_start(&self->zswap);
	if (!why && ssw_nr_possible() < 2)
		why = "one CPU";
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
}

FIXTURE_TEARDOWN(zmove)
{
	zswap_end(_metadata, &self->zswap);
	ssw_end();
}

/* A descriptor for moves to a page, or -errno */
static int move_fd(char *to)
{
	struct uffdio_api api = { .api = UFFD_API, .features = MOVE_FEATURE };
	struct uffdio_register reg = {
		.range = { (uintptr_t)to, SSW_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &reg))
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

struct round {
	char *p;
	int pipe;
	volatile int ready, go, done;
};

/* Have pages on the lists of this CPU's reclaim, and reclaim them when told to. */
static void *reclaims(void *arg)
{
	struct round *r = arg;
	struct iovec held = { r->p + ASIDE * SSW_PAGE, HELD * SSW_PAGE };

	ssw_pin(0);
	ssw_stamp(r->p, PAGES, 1);
	if (vmsplice(r->pipe, &held, 1, 0) == HELD * SSW_PAGE)
		madvise(held.iov_base, held.iov_len, MADV_FREE);
	r->ready = 1;
	while (!r->go)
		sched_yield();
	madvise(r->p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	r->done = 1;
	return NULL;
}

/* Move a page as soon as it is unmapped. Return whether this was before TLBs were flushed. */
static bool moved_in_time(struct __test_metadata *_metadata)
{
	struct round r = { .p = ssw_map(PAGES, false) };
	char *p = r.p, *q = ssw_map(1, false);
	struct move move = { .dst = (uintptr_t)q, .src = (uintptr_t)p, .len = SSW_PAGE };
	int fd = move_fd(q), ends[2];
	bool moved = false;
	pthread_t thread;
	long long lanes;

	ASSERT_TRUE(p && q);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(ends));
	ASSERT_LE(HELD * SSW_PAGE, fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
	r.pipe = ends[1];
	ASSERT_EQ(0, pthread_create(&thread, NULL, reclaims, &r));
	while (!r.ready)
		sched_yield();
	lanes = ssw_num(ZBATCH "lanes");
	/* Now this CPU may write to the page, as long as its TLB says so. */
	ssw_stamp(p, 1, 1);
	r.go = 1;
	while (!r.done && !(ssw_pagemap(p) & SSW_PM_SWAP))
		;
	if (!r.done)
		moved = !ioctl(fd, MOVE_IOCTL, &move);
	/* To the page that was moved, or to a new one */
	ssw_stamp(p, 1, 2);
	lanes = ssw_num(ZBATCH "lanes") - lanes;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, ssw_wrong(p, 1, 2));
	if (moved)
		EXPECT_EQ(0, ssw_wrong_as(q, 1, 1, p)) TH_LOG("written to by its old address");
	close(fd);
	close(ends[0]);
	close(ends[1]);
	munmap(p, PAGES * SSW_PAGE);
	munmap(q, SSW_PAGE);
	return moved && !lanes;
}

SSW_BODY(zmove, before_the_flush)
{
	int fd = move_fd(ssw_map(1, false)), moves = 0, rounds = 0;

	if (fd < 0)
		SKIP(_exit(0), "no UFFDIO_MOVE (%s)", strerror(-fd));
	close(fd);
	ssw_pin(1);
	ssw_for_looks(i) {
		rounds++;
		moves += moved_in_time(_metadata);
		if (moves == MOVES)
			break;
	}
	TH_LOG("%d of %d pages were moved before the flush", moves, rounds);
	/* Or nothing was tried. */
	EXPECT_EQ(MOVES, moves);
}

TEST_HARNESS_MAIN
