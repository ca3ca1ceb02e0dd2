// SPDX-License-Identifier: GPL-2.0
/*
 * userfaultfd over pages that are in per-core areas: missing pages, moved
 * entries (UFFDIO_MOVE), write protection of entries.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "harness.h"

SSW_FIXTURE(uffd, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	400

/* As in include/uapi/linux/userfaultfd.h; the system's own may be older. */
#define MOVE_FEATURE	(1 << 16)
#define MOVE_IOCTL	_IOWR(UFFDIO, 0x05, struct move)
#define PM_UFFD_WP	(1ULL << 57)

struct move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};

struct handler {
	int fd;
	bool wp;			/* else: fill in missing pages */
	char *copy;			/* a page to fill in */
	volatile bool stop;
	volatile long events;
	volatile int error;
};

/* Answers faults: a stamped page, of generation 7, or leave to write. */
static void *handle(void *arg)
{
	struct handler *h = arg;
	struct uffd_msg msg;

	while (!h->stop) {
		struct pollfd pfd = { .fd = h->fd, .events = POLLIN };
		char *at;

		if (poll(&pfd, 1, 50) <= 0 || read(h->fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		if (msg.event != UFFD_EVENT_PAGEFAULT) {
			h->error = EPROTO;
			continue;
		}
		h->events++;
		at = (char *)(msg.arg.pagefault.address & ~(SSW_PAGE - 1));
		if (h->wp) {
			struct uffdio_writeprotect wp = { .range = { (uintptr_t)at, SSW_PAGE } };

			if (ioctl(h->fd, UFFDIO_WRITEPROTECT, &wp))
				h->error = errno;
		} else {
			struct uffdio_copy copy = {
				.dst = (uintptr_t)at, .src = (uintptr_t)h->copy, .len = SSW_PAGE,
			};

			ssw_stamp_as(h->copy, 1, 7, at);
			if (ioctl(h->fd, UFFDIO_COPY, &copy) && errno != EEXIST)
				h->error = errno;
		}
	}
	return NULL;
}

/* A descriptor with @features, or -errno. */
static int uffd_open(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

static int uffd_register(int fd, char *p, size_t pages, uint64_t mode)
{
	struct uffdio_register reg = { .range = { (uintptr_t)p, pages * SSW_PAGE }, .mode = mode };

	return ioctl(fd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

static int uffd_protect(int fd, char *p, size_t pages, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)p, pages * SSW_PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(fd, UFFDIO_WRITEPROTECT, &wp) ? -errno : 0;
}

static long marked(char *p, size_t pages, bool in_swap)
{
	long n = 0;

	for (size_t i = 0; i < pages; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		n += (e & PM_UFFD_WP) && (!in_swap || (e & SSW_PM_SWAP));
	}
	return n;
}

/* Missing pages filled in on the first touch; then they swap like any other. */
SSW_BODY(uffd, missing)
{
	struct handler h = { .copy = ssw_map(1, false) };
	struct ssw_areas a;
	pthread_t th;
	char *p;

	h.fd = uffd_open(0);
	if (h.fd < 0)
		SKIP(return, "no userfaultfd (%s)", strerror(-h.fd));
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	p = ssw_map(PAGES, false);
	ASSERT_EQ(0, uffd_register(h.fd, p, PAGES, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, pthread_create(&th, NULL, handle, &h));
	for (int round = 1; round <= 3; round++) {
		long before = h.events;

		EXPECT_EQ(0, ssw_wrong(p, PAGES, 7));
		EXPECT_EQ(PAGES, h.events - before) TH_LOG("round %d", round);
		EXPECT_LE(PAGES - SSW_SLACK, ssw_pageout(p, PAGES));
		ssw_evict("ssw");
		/* A page in swap is not missing. */
		before = h.events;
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 7));
		EXPECT_EQ(before, h.events) TH_LOG("a page in swap was reported as missing");
		/* Dropped in swap, it is. */
		ssw_pageout(p, PAGES);
		ASSERT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_DONTNEED));
	}
	h.stop = true;
	pthread_join(th, NULL);
	EXPECT_EQ(0, h.error) TH_LOG("%s", strerror(h.error));
	close(h.fd);
}

/* Entries move from one address to another, contents and slot with them. */
SSW_BODY(uffd, move_swapped)
{
	struct ssw_areas a;
	long per[258], moved = 0;
	char *src, *dst;
	int fd = uffd_open(MOVE_FEATURE);

	if (fd < 0)
		SKIP(return, "no userfaultfd with UFFDIO_MOVE (%s)", strerror(-fd));
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	src = ssw_map(PAGES, false);
	dst = ssw_map(PAGES, false);
	ASSERT_EQ(0, uffd_register(fd, dst, PAGES, UFFDIO_REGISTER_MODE_MISSING));
	for (int round = 1; round <= 2; round++) {
		struct move mv = { (uintptr_t)dst, (uintptr_t)src, PAGES * SSW_PAGE };

		ssw_pin(a.cpu[round % a.n]);
		ssw_stamp(src, PAGES, round);
		ASSERT_EQ(PAGES, ssw_pageout(src, PAGES));
		/* First with the pages still cached (where they are), then without. */
		if (round == 2)
			ssw_evict("ssw");
		while (mv.len) {
			mv.moved = 0;
			if (!ioctl(fd, MOVE_IOCTL, &mv)) {
				moved += mv.moved / (int64_t)SSW_PAGE;
				break;
			}
			ASSERT_TRUE(errno == EAGAIN || errno == EBUSY)
				TH_LOG("%s", strerror(errno));
			if (mv.moved > 0) {
				moved += mv.moved / (int64_t)SSW_PAGE;
				mv.dst += mv.moved;
				mv.src += mv.moved;
				mv.len -= mv.moved;
			}
		}
		EXPECT_EQ(PAGES * round, moved);
		if (round == 2) {
			ASSERT_EQ(0, ssw_where(dst, PAGES, per));
			EXPECT_LE(PAGES - SSW_SLACK, PAGES - per[256] - per[257])
				TH_LOG("the moved pages are not in swap any more");
		}
		/* They carry the stamps of where they were. */
		EXPECT_EQ(0, ssw_wrong_as(dst, PAGES, round, src));
		EXPECT_EQ(0, ssw_not_zero(src, PAGES));
		/* Out again from the new place. */
		EXPECT_LE(PAGES - SSW_SLACK, ssw_pageout(dst, PAGES));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong_as(dst, PAGES, round, src));
		ASSERT_EQ(0, madvise(dst, PAGES * SSW_PAGE, MADV_DONTNEED));
		ASSERT_EQ(0, madvise(src, PAGES * SSW_PAGE, MADV_DONTNEED));
	}
	close(fd);
}

/* Move pages while another process pushes the same pages out. */
SSW_BODY(uffd, move_while_swapping)
{
	struct ssw_areas a;
	struct iovec { void *base; size_t len; } iov;
	char *from, *to;
	int fd = uffd_open(MOVE_FEATURE), pidfd, rounds = 0;
	pid_t parent = getpid(), pid;
	char *x, *y;

	if (fd < 0)
		SKIP(return, "no userfaultfd with UFFDIO_MOVE (%s)", strerror(-fd));
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	x = ssw_map(64, false);
	y = ssw_map(64, false);
	ASSERT_EQ(0, uffd_register(fd, x, 64, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, uffd_register(fd, y, 64, UFFDIO_REGISTER_MODE_MISSING));
	pidfd = syscall(SYS_pidfd_open, parent, 0);
	ASSERT_LE(0, pidfd);
	/* A page that a child shares cannot be moved. */
	ASSERT_EQ(0, madvise(x, 64 * SSW_PAGE, MADV_DONTFORK));
	ASSERT_EQ(0, madvise(y, 64 * SSW_PAGE, MADV_DONTFORK));
	/* Filled through the descriptor: a touch would wait for a handler. */
	for (int i = 0; i < 64; i++) {
		char *page = ssw_map(1, false);
		struct uffdio_copy copy = {
			.dst = (uintptr_t)x + i * SSW_PAGE, .src = (uintptr_t)page, .len = SSW_PAGE,
		};

		ssw_stamp_as(page, 1, 1, x + i * SSW_PAGE);
		ASSERT_EQ(0, ioctl(fd, UFFDIO_COPY, &copy));
		munmap(page, SSW_PAGE);
	}
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ssw_pin(a.cpu[a.n - 1]);
		for (;;) {
			iov.base = x;
			iov.len = 64 * SSW_PAGE;
			syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_PAGEOUT, 0);
			iov.base = y;
			syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_PAGEOUT, 0);
			usleep(500);
		}
	}
	ssw_pin(a.cpu[0]);
	from = x;
	to = y;
	for (rounds = 0; rounds < 60; rounds++) {
		for (int i = 0; i < 64; i++) {
			struct move mv = { (uintptr_t)to + i * SSW_PAGE,
					   (uintptr_t)from + i * SSW_PAGE, SSW_PAGE };
			int tries = 0;

			while (ioctl(fd, MOVE_IOCTL, &mv)) {
				mv.moved = 0;
				ASSERT_TRUE(errno == EAGAIN || errno == EBUSY)
					TH_LOG("round %d page %d: %s", rounds, i, strerror(errno));
				ASSERT_GT(100000, tries++);
				sched_yield();
			}
		}
		ASSERT_EQ(0, ssw_wrong_as(to, 64, 1, x)) TH_LOG("round %d", rounds);
		from = to;
		to = to == x ? y : x;
	}
	kill(pid, SIGKILL);
	ssw_join(pid);
	close(pidfd);
	close(fd);
}

/* Write protection set on entries in swap, kept through swap-in and swap-out. */
SSW_BODY(uffd, write_protect)
{
	struct handler h = { .wp = true };
	struct ssw_areas a;
	pthread_t th;
	char *p;

	h.fd = uffd_open(UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	if (h.fd < 0)
		SKIP(return, "no userfaultfd with write protection (%s)", strerror(-h.fd));
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	p = ssw_map(PAGES, false);
	ASSERT_EQ(0, uffd_register(h.fd, p, PAGES, UFFDIO_REGISTER_MODE_WP));
	ssw_stamp(p, PAGES, 1);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	/* The first half is protected while it is out. */
	ASSERT_EQ(0, uffd_protect(h.fd, p, PAGES / 2, true));
	EXPECT_EQ(PAGES / 2, marked(p, PAGES, true));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(PAGES / 2, marked(p, PAGES, false)) TH_LOG("the mark is lost in swapping in");
	EXPECT_LE(PAGES - SSW_SLACK, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	EXPECT_EQ(PAGES / 2, marked(p, PAGES, false)) TH_LOG("the mark is lost in swapping out");
	/* Half of those are released while out. */
	ASSERT_EQ(0, uffd_protect(h.fd, p, PAGES / 4, false));
	EXPECT_EQ(PAGES / 4, marked(p, PAGES, false));
	/* A write to one that is out and protected is reported, the others not. */
	ASSERT_EQ(0, pthread_create(&th, NULL, handle, &h));
	ssw_stamp(p, PAGES, 2);
	EXPECT_EQ(PAGES / 4, h.events);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	EXPECT_LE(PAGES - SSW_SLACK, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	EXPECT_EQ(0, marked(p, PAGES, false));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	h.stop = true;
	pthread_join(th, NULL);
	EXPECT_EQ(0, h.error) TH_LOG("%s", strerror(h.error));
	close(h.fd);
}

TEST_HARNESS_MAIN
