// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/pagemap for swapped pages: the documented encoding for the types
 * of the base kernel, bit for bit, and the decided one for the others.
 */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "harness.h"

#ifndef MADV_HWPOISON
#define MADV_HWPOISON	100
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#define PM_SOFT_DIRTY	(1ULL << 55)
#define PM_EXCLUSIVE	(1ULL << 56)
#define PM_UFFD_WP	(1ULL << 57)
#define PM_FILE		(1ULL << 61)

SSW_FIXTURE(pagemap, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

static const int types[] = {
	0, 1, 15, 16, 21, 22, 23, 24, 27, 30, 31, 32, 33, 54, 55, 63, 64, 118, 119, 127, 128, 129,
	150, 182, 183, 200, 222, 223, 245, 246,
};

/* All areas on and homed on CPU 1; the caller runs on CPU 0. */
static const char *all_on_one(void)
{
	if (ssw_nr_possible() < 2)
		return "needs two CPUs";
	if (wide_files(SSW_MAX_AREAS) || wide_on(SSW_MAX_AREAS, "1") || ssw_pin(0))
		return "cannot switch 247 areas on (see the tests of wide)";
	return NULL;
}

SSW_TEST_F(pagemap, encoding)
{
	const char *why = all_on_one();
	const size_t n = 5;
	char *p;

	if (why)
		SKIP(return, "%s", why);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int t = types[i];
		uint64_t seen[5];

		p = ssw_map(n, false);
		ASSERT_EQ(0, ssw_rehome(t, "0"));
		ssw_stamp(p, n, t);
		ASSERT_EQ(n, ssw_pageout(p, n));
		ssw_evict("ssw");
		for (size_t j = 0; j < n; j++) {
			uint64_t e = ssw_pagemap(p + j * SSW_PAGE);
			uint64_t off = ssw_pm_offset(e);
			unsigned int low = e & 31, high = (e >> 52) & 7;

			seen[j] = off;
			EXPECT_TRUE(e & SSW_PM_SWAP) TH_LOG("type %d: %#llx", t,
							    (unsigned long long)e);
			EXPECT_FALSE(e & (SSW_PM_PRESENT | PM_FILE | PM_UFFD_WP));
			/* No area has codes 58 to 60. */
			EXPECT_EQ(0, (e >> 58) & 7);
			EXPECT_LT(0, off);
			EXPECT_GE(WIDE_PAGES, off) TH_LOG("type %d: offset outside the area", t);
			for (size_t k = 0; k < j; k++) {
				EXPECT_NE(seen[k], off) TH_LOG("two pages in one slot");
			}
			if (t < 23) {
				EXPECT_EQ(t, low);
				EXPECT_EQ(0, high) TH_LOG("type %d differs from the base", t);
				/* The value as a reader of the documented form decodes it. */
				EXPECT_EQ(off, (e >> 5) & ((1ULL << 50) - 1));
			} else {
				EXPECT_EQ((t + 9) & 31, low) TH_LOG("type %d", t);
				EXPECT_EQ((t + 9) >> 5, high) TH_LOG("type %d", t);
				EXPECT_NE(0, high)
					TH_LOG("type %d looks like a migration entry", t);
			}
			EXPECT_EQ(t, ssw_pm_type(e));
		}
		EXPECT_LE(n, ssw_area(t, "used"));
		EXPECT_EQ(0, ssw_wrong(p, n, t)) TH_LOG("type %d", t);
		munmap(p, n * SSW_PAGE);
		ASSERT_EQ(0, ssw_rehome(t, "1"));
	}
}

/* Soft-dirty bits survive in the page table entry of every type. */
SSW_TEST_F(pagemap, soft_dirty)
{
	static const int some[] = { 0, 22, 23, 31, 63, 127, 128, 246 };
	const char *why = all_on_one();
	char *p;

	if (why)
		SKIP(return, "%s", why);
	p = ssw_map(2, false);
	ssw_stamp(p, 2, 1);
	ASSERT_EQ(0, ssw_write("/proc/self/clear_refs", "4"));
	if (ssw_pagemap(p) & PM_SOFT_DIRTY)
		SKIP(return, "the kernel has no soft-dirty bits");
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		int t = some[i];
		uint64_t clean, dirty;

		p = ssw_map(2, false);
		ASSERT_EQ(0, ssw_rehome(t, "0"));
		ssw_stamp(p, 2, t);
		ASSERT_EQ(0, ssw_write("/proc/self/clear_refs", "4"));
		ssw_stamp(p + SSW_PAGE, 1, t + 500);
		ASSERT_EQ(2, ssw_pageout(p, 2));
		clean = ssw_pagemap(p);
		dirty = ssw_pagemap(p + SSW_PAGE);
		EXPECT_EQ(t, ssw_pm_type(clean));
		EXPECT_EQ(t, ssw_pm_type(dirty));
		EXPECT_FALSE(clean & PM_SOFT_DIRTY) TH_LOG("type %d", t);
		EXPECT_TRUE(dirty & PM_SOFT_DIRTY) TH_LOG("type %d", t);
		/* Clearing it in the swap entry leaves type and offset alone. */
		ASSERT_EQ(0, ssw_write("/proc/self/clear_refs", "4"));
		EXPECT_EQ(dirty & ~PM_SOFT_DIRTY, ssw_pagemap(p + SSW_PAGE));
		EXPECT_EQ(0, ssw_wrong(p, 1, t));
		EXPECT_EQ(0, ssw_wrong(p + SSW_PAGE, 1, t + 500));
		munmap(p, 2 * SSW_PAGE);
		ASSERT_EQ(0, ssw_rehome(t, "1"));
	}
}

static int uffd_open(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int uffd_wp(int fd, void *p, size_t len)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, len }, .mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)p, len }, .mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	if (ioctl(fd, UFFDIO_REGISTER, &reg) || ioctl(fd, UFFDIO_WRITEPROTECT, &wp))
		return -errno;
	return 0;
}

/* So do the write-protect bits of userfaultfd. */
SSW_TEST_F(pagemap, uffd_wp)
{
	static const int some[] = { 0, 22, 23, 31, 63, 127, 128, 246 };
	const char *why = all_on_one();

	if (why)
		SKIP(return, "%s", why);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		int t = some[i], fd = uffd_open(UFFD_FEATURE_PAGEFAULT_FLAG_WP);
		char *p = ssw_map(2, false);
		uint64_t e;

		if (fd < 0)
			SKIP(return, "no userfaultfd with write protection");
		ASSERT_EQ(0, ssw_rehome(t, "0"));
		ssw_stamp(p, 2, t);
		ASSERT_EQ(0, uffd_wp(fd, p, SSW_PAGE));
		ASSERT_EQ(2, ssw_pageout(p, 2));
		e = ssw_pagemap(p);
		EXPECT_EQ(t, ssw_pm_type(e));
		EXPECT_TRUE(e & PM_UFFD_WP) TH_LOG("type %d", t);
		EXPECT_FALSE(ssw_pagemap(p + SSW_PAGE) & PM_UFFD_WP) TH_LOG("type %d", t);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, 2, t));
		EXPECT_TRUE(ssw_pagemap(p) & PM_UFFD_WP) TH_LOG("type %d: lost at swap-in", t);
		close(fd);
		munmap(p, 2 * SSW_PAGE);
		ASSERT_EQ(0, ssw_rehome(t, "1"));
	}
}

/* MADV_HWPOISON tells the process at once that it lost a page. */
static void on_sigbus(int sig)
{
	(void)sig;
}

/* Codes 23 to 31 are no areas' and mean the same as in the base kernel. */
SSW_TEST_F(pagemap, special_codes)
{
	int fd = uffd_open(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED);
	char *p = ssw_map(4, false);
	uint64_t e;

	if (fd < 0)
		SKIP(return, "no userfaultfd with WP_UNPOPULATED");
	/* A marker: code 31, bit 0 of the offset for write protection. */
	ASSERT_EQ(0, uffd_wp(fd, p, SSW_PAGE));
	e = ssw_pagemap(p);
	EXPECT_TRUE(e & SSW_PM_SWAP);
	EXPECT_TRUE(e & PM_UFFD_WP);
	EXPECT_EQ(31, ssw_pm_code(e)) TH_LOG("entry %#llx", (unsigned long long)e);
	EXPECT_EQ(0, (e >> 52) & 7);
	EXPECT_EQ(1, ssw_pm_offset(e));
	close(fd);

	/* A poisoned page: code 23, the page frame as offset. */
	signal(SIGBUS, on_sigbus);
	p = ssw_map(1, false);
	ssw_stamp(p, 1, 1);
	e = ssw_pagemap(p) & ((1ULL << 55) - 1);
	if (madvise(p, SSW_PAGE, MADV_HWPOISON)) {
		TH_LOG("no MADV_HWPOISON (%s): code 23 not looked at", strerror(errno));
		return;
	}
	EXPECT_EQ(23, ssw_pm_code(ssw_pagemap(p)));
	EXPECT_EQ(0, (ssw_pagemap(p) >> 52) & 7);
	EXPECT_EQ(e, ssw_pm_offset(ssw_pagemap(p)));
}

/* A plain user sees that a page is swapped, not where. */
SSW_TEST_F(pagemap, plain_user)
{
	const char *why = all_on_one();
	int status;
	pid_t pid;
	char *p;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, ssw_rehome(200, "0"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		uint64_t e;

		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		/* What setuid made root's is ours again. */
		prctl(PR_SET_DUMPABLE, 1);
		p = ssw_map(1, false);
		ssw_stamp(p, 1, 1);
		if (ssw_pageout(p, 1) != 1)
			_exit(3);
		e = ssw_pagemap(p);
		if (!(e & SSW_PM_SWAP))
			_exit(4);
		_exit(e & ((1ULL << 55) - 1) ? 5 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
