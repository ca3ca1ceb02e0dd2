// SPDX-License-Identifier: GPL-2.0
/*
 * swapon with bad headers, bad files and failing allocations: a clean errno,
 * and nothing left behind.
 */
#include <sys/stat.h>

#include "harness.h"

#define PAGES	256

SSW_FIXTURE(badinput, SSW_NEED_ON | SSW_NEED_DIR)

/* Nothing is on, and the next swapon gets the first type and the first CPU. */
static void expect_clean(struct __test_metadata *_metadata, const char *after)
{
	static struct ssw_swap s[300];
	int none[CPU_SETSIZE] = { };

	EXPECT_EQ(0, ssw_area_count()) TH_LOG("after %s", after);
	EXPECT_EQ(0, ssw_proc_swaps(s, 300)) TH_LOG("after %s", after);
	EXPECT_EQ(0, ssw_mkfile(ssw_file(99), PAGES));
	EXPECT_EQ(0, ssw_on(ssw_file(99), "auto"))
		TH_LOG("after %s the next area does not get type 0", after);
	EXPECT_EQ(ssw_auto_choice(none, ssw_area(0, "device_node")), ssw_area(0, "cpu"))
		TH_LOG("after %s auto counts an area that is not there", after);
	EXPECT_EQ(0, ssw_swapoff(ssw_file(99)));
	EXPECT_EQ(0, ssw_bind("auto"));
}

#define EXPECT_NO_SWAPON(path, err, what) do {				\
	EXPECT_EQ(0, ssw_bind("auto"));					\
	EXPECT_EQ(err, ssw_swapon(path)) TH_LOG("%s", what);		\
	expect_clean(_metadata, what);					\
} while (0)

/* A header for @path that does not pass: EINVAL. */
static void try_header(struct __test_metadata *_metadata, const char *path,
		       const struct ssw_header *h, const char *what)
{
	EXPECT_EQ(0, ssw_put_header(path, h));
	EXPECT_NO_SWAPON(path, -EINVAL, what);
}

static void bad_headers(struct __test_metadata *_metadata, const char *path)
{
	struct ssw_header h;

	memset(&h, 0, sizeof(h));
	try_header(_metadata, path, &h, "a header of zeroes");

	ssw_fill_header(&h, PAGES);
	memcpy(h.magic, "SWAP-SPACE", 10);
	try_header(_metadata, path, &h, "a version 0 signature");

	ssw_fill_header(&h, PAGES);
	h.version = 2;
	try_header(_metadata, path, &h, "version 2");

	ssw_fill_header(&h, 0);
	try_header(_metadata, path, &h, "a header with no page");

	ssw_fill_header(&h, PAGES);
	h.nr_badpages = 638;
	try_header(_metadata, path, &h, "more bad pages than a header holds");

	ssw_fill_header(&h, PAGES);
	h.nr_badpages = 1;
	h.badpages[0] = 0;
	try_header(_metadata, path, &h, "the header itself as bad page");

	ssw_fill_header(&h, 4);
	h.nr_badpages = 4;
	for (int i = 0; i < 4; i++)
		h.badpages[i] = i + 1;
	try_header(_metadata, path, &h, "an area of bad pages only");
}

SSW_TEST_F(badinput, bad_header_file)
{
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	bad_headers(_metadata, ssw_file(0));
}

SSW_TEST_F(badinput, bad_header_device)
{
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	bad_headers(_metadata, ssw_bdev(0));
}

/* Bad pages (on devices only, as in the base) are listed, and never used. */
SSW_TEST_F(badinput, bad_pages)
{
	char *p = ssw_map(PAGES, false);
	struct ssw_header h;
	long per[258];
	int t;

	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ssw_fill_header(&h, PAGES);
	h.nr_badpages = 3;
	h.badpages[0] = 1;
	h.badpages[1] = 100;
	h.badpages[2] = PAGES;
	ASSERT_EQ(0, ssw_put_header(ssw_bdev(0), &h));
	t = ssw_on_cpu(ssw_bdev(0), 0);
	ASSERT_LE(0, t);
	EXPECT_EQ(PAGES - 3, ssw_area(t, "pages"));
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, PAGES, 1);
	ssw_pageout(p, PAGES);
	ASSERT_EQ(0, ssw_where(p, PAGES, per));
	EXPECT_LE(PAGES - 3 - SSW_SLACK, per[t]);
	EXPECT_GE(PAGES - 3, per[t]);
	for (int i = 0; i < PAGES; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if (e & SSW_PM_SWAP) {
			EXPECT_NE(0, ssw_pm_offset(e));
			EXPECT_NE(1, ssw_pm_offset(e));
			EXPECT_NE(100, ssw_pm_offset(e));
			EXPECT_GT(PAGES, ssw_pm_offset(e));
		}
	}
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

SSW_TEST_F(badinput, bad_file)
{
	char path[256];
	int fd;

	strcpy(path, ssw_file(0));
	/* Shorter than its header says. */
	ASSERT_EQ(0, ssw_mkfile(path, PAGES));
	ASSERT_EQ(0, truncate(path, (PAGES / 2) * SSW_PAGE));
	EXPECT_NO_SWAPON(path, -EINVAL, "a truncated file");

	/* Holes: only the header is there. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, (PAGES + 1) * SSW_PAGE));
	ASSERT_EQ(0, ssw_mkswap(path, PAGES));
	EXPECT_NO_SWAPON(path, -EINVAL, "a file with holes");
	close(fd);

	/* A hole in the middle. */
	ASSERT_EQ(0, ssw_mkfile(path, PAGES));
	fd = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 50 * SSW_PAGE,
			       20 * SSW_PAGE));
	EXPECT_NO_SWAPON(path, -EINVAL, "a file with a hole in the middle");
	close(fd);

	/* Empty, a directory, not there. */
	ASSERT_EQ(0, truncate(path, 0));
	EXPECT_NO_SWAPON(path, -EINVAL, "an empty file");
	EXPECT_EQ(0, ssw_bind("auto"));
	EXPECT_GT(0, ssw_swapon(ssw_dir()));
	expect_clean(_metadata, "a directory");
	EXPECT_NO_SWAPON("/no/such/file", -ENOENT, "a path that does not exist");
	EXPECT_NO_SWAPON("/dev/null", -EINVAL, "a character device");
	/* A file of a file system that takes no swap files. */
	EXPECT_NO_SWAPON("/proc/version", -EINVAL, "a file of proc");
}

SSW_TEST_F(badinput, bad_call)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_bind("auto"));
	EXPECT_EQ(-EINVAL, ssw_swapon_flags(ssw_file(0), 0x1000000));
	expect_clean(_metadata, "an unknown flag");
	EXPECT_EQ(-EFAULT, ssw_swapon((char *)8));
	expect_clean(_metadata, "a bad pointer");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(ssw_swapon(ssw_file(0)) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	expect_clean(_metadata, "a call by a plain user");
}

SSW_TEST_F(badinput, twice)
{
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_on_cpu(ssw_file(0), 0));
	ASSERT_EQ(0, ssw_bind("auto"));
	EXPECT_EQ(-EBUSY, ssw_swapon(ssw_file(0)));
	EXPECT_EQ(1, ssw_area_count());
	EXPECT_EQ(0, ssw_area(0, "cpu"));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), PAGES));
	ASSERT_EQ(1, ssw_on(ssw_file(1), "auto"));
	if (ssw_nr_possible() > 1) {
		EXPECT_NE(0, ssw_area(1, "cpu"));
	}
}

/*
 * A device that cannot write: swapon fails as late as it can. The area is bound by then,
 * and swapon writes back the dirty pages of the device.
 */
SSW_TEST_F(badinput, device_that_fails)
{
	static const char dir[] = "/sys/kernel/config/nullb/sswbad";
	static const struct { const char *attr, *val; } set[] = {
		{ "size", "16" }, { "blocksize", "4096" }, { "memory_backed", "1" },
		{ "badblocks", "+8000-8007" }, { "power", "1" },
	};
	char path[128], page[SSW_PAGE] = "dirty";
	int fd = -1, ret = 0;

	rmdir(dir);
	if (mkdir(dir, 0755))
		SKIP(return, "no null_blk with configfs (%s)", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(set) && !ret; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, set[i].attr);
		ret = ssw_write(path, set[i].val);
	}
	if (!ret)
		ret = ssw_mkswap("/dev/sswbad", 3000);
	if (!ret) {
		/* Sector 8000 is page 1000. Open until the end: the last close writes. */
		fd = open("/dev/sswbad", O_RDWR);
		if (fd < 0 || pwrite(fd, page, sizeof(page), 1000 * SSW_PAGE) != sizeof(page))
			ret = -errno;
	}
	if (ret) {
		close(fd);
		rmdir(dir);
		SKIP(return, "cannot set a null_blk device up (%s)", strerror(-ret));
	}
	EXPECT_NO_SWAPON("/dev/sswbad", -EIO, "a device that cannot be written");
	close(fd);
	EXPECT_EQ(0, rmdir(dir)) TH_LOG("swapon keeps the device open");
}

/* --- failing allocations ------------------------------------------------ */

static const char * const attrs[] = { "failslab", "fail_page_alloc" };

static void faults(bool on)
{
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", attrs[i]);
		ssw_write(path, on ? "N" : "Y");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/min-order", attrs[i]);
		ssw_write(path, on ? "0" : "1");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", attrs[i]);
		ssw_write(path, "0");
	}
}

/* Let the @nth allocation from now fail. */
static int fail_nth(int nth)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%d", nth);
	return ssw_write("/proc/thread-self/fail-nth", buf);
}

/*
 * Let the first allocation of swapon fail, then the second, and so on, until swapon
 * succeeds without a failed one. Each time it either returns a clean errno and leaves
 * nothing behind, or sets up a whole area, where the failed allocation was optional.
 */
static void failing_swapon(struct __test_metadata *_metadata, const char *bind)
{
	char path[300];
	int failed = 0, tolerated = 0, home, nth;

	if (fail_nth(0))
		SKIP(return, "no /proc/thread-self/fail-nth (CONFIG_FAULT_INJECTION)");
	if (access("/sys/kernel/debug/failslab/ignore-gfp-wait", W_OK))
		SKIP(return, "no /sys/kernel/debug/failslab (CONFIG_FAILSLAB)");
	strcpy(path, ssw_file(0));
	ASSERT_EQ(0, ssw_mkfile(path, PAGES));
	ASSERT_EQ(0, ssw_bind(bind));
	/* Once without faults, so that caches are filled and the loop is short. */
	ASSERT_EQ(0, ssw_swapon(path));
	home = ssw_area(0, "cpu");
	ASSERT_EQ(0, ssw_swapoff(path));

	faults(true);
	for (nth = 1; nth < 2000; nth++) {
		long long left;
		int fd, ret;
		char buf[16] = "";

		fd = open("/proc/thread-self/fail-nth", O_RDWR);
		if (fd < 0)
			break;
		snprintf(buf, sizeof(buf), "%d", nth);
		if (write(fd, buf, strlen(buf)) < 0)
			break;
		ret = ssw_swapon(path);
		memset(buf, 0, sizeof(buf));
		if (pread(fd, buf, sizeof(buf) - 1, 0) < 0)
			buf[0] = 0;
		left = atoi(buf);
		if (pwrite(fd, "0", 1, 0) != 1)
			break;
		close(fd);

		if (ret) {
			failed++;
			EXPECT_EQ(-ENOMEM, ret) TH_LOG("allocation %d", nth);
			EXPECT_EQ(0, ssw_area_count())
				TH_LOG("allocation %d failed and left a directory", nth);
			EXPECT_FALSE(ssw_area_exists(0));
		} else {
			int t = ssw_type_of(path);

			tolerated += !left;
			EXPECT_EQ(0, t)
				TH_LOG("allocation %d: type %d instead of 0 (a type leaked?)", nth,
				       t);
			EXPECT_EQ(home, ssw_area(t, "cpu"))
				TH_LOG("allocation %d", nth);
			EXPECT_EQ(PAGES, ssw_area(t, "pages"));
			EXPECT_LE(0, ssw_area(t, "allocs_home"));
			EXPECT_EQ(0, ssw_swapoff(path));
			if (left)
				break;	/* none failed: that was all of them */
		}
		if (!__test_passed(_metadata))
			break;
	}
	faults(false);
	fail_nth(0);
	TH_LOG("bind=%s: %d allocations made to fail: %d gave ENOMEM, %d were done without",
	       bind, nth - 1, failed, tolerated);
	EXPECT_LT(0, failed) TH_LOG("no allocation of swapon could be made to fail");
	EXPECT_GT(2000, nth) TH_LOG("swapon never succeeded");
	expect_clean(_metadata, "failing allocations");
}

SSW_TEST_F(badinput, failing_allocations_auto)
{
	failing_swapon(_metadata, "auto");
}

SSW_TEST_F(badinput, failing_allocations_number)
{
	failing_swapon(_metadata, "0");
}

SSW_TEST_F(badinput, failing_allocations_plain)
{
	failing_swapon(_metadata, "off");
}

/* Failing allocations while pages are swapped out: the data stays right. */
SSW_TEST_F(badinput, failing_allocations_swap_out)
{
	/* A bio for each page, as many as they can be; and one for all. */
	static const char * const most[] = { "1", "128" };
	char *p = ssw_map(64, false), nth[16];
	int fd, failed = 0;

	/* Opened once: to open it needs memory. */
	fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no /proc/thread-self/fail-nth (CONFIG_FAULT_INJECTION)");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_on_cpu(ssw_file(0), 0));
	ASSERT_EQ(0, ssw_pin(0));
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		ssw_write("/sys/kernel/mm/scaleswap/io/bio_pages", most[m]);
		faults(true);
		for (int i = 1; i <= 40; i++) {
			char left[16] = "";

			ssw_stamp(p, 64, i);
			snprintf(nth, sizeof(nth), "%d", i);
			ASSERT_LT(0, pwrite(fd, nth, strlen(nth), 0));
			madvise(p, 64 * SSW_PAGE, MADV_PAGEOUT);
			ASSERT_LT(0, pread(fd, left, sizeof(left) - 1, 0));
			ASSERT_EQ(1, pwrite(fd, "0", 1, 0));
			failed += atoi(left) == 0;
			ASSERT_EQ(0, ssw_wrong(p, 64, i)) TH_LOG("allocation %d", i);
		}
		faults(false);
	}
	ssw_write("/sys/kernel/mm/scaleswap/io/bio_pages", "128");
	close(fd);
	TH_LOG("%d allocations made to fail", failed);
	EXPECT_LT(0, failed);
}

TEST_HARNESS_MAIN
