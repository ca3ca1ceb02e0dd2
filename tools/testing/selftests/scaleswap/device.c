// SPDX-License-Identifier: GPL-2.0
/*
 * What an area's device adds: discard, bad blocks; and allocations that fail
 * while pages are on their way to it.
 */
#include <sys/stat.h>

#include "harness.h"

SSW_FIXTURE(device, SSW_NEED_ON | SSW_NEED_DIR)

#ifndef SWAP_FLAG_DISCARD
#define SWAP_FLAG_DISCARD	0x10000
#endif
#ifndef SWAP_FLAG_DISCARD_ONCE
#define SWAP_FLAG_DISCARD_ONCE	0x20000
#define SWAP_FLAG_DISCARD_PAGES	0x40000
#endif

/* --- discard ------------------------------------------------------------------- */

#define NULLB	"/sys/kernel/config/nullb/sswdev"
#define DEV	"/dev/sswdev"

static void nullb_gone(void)
{
	swapoff(DEV);
	ssw_write(NULLB "/power", "0");
	rmdir(NULLB);
}

/* A RAM device of @mb MB that keeps written pages and forgets discarded ones. */
static int nullb_make(int mb)
{
	static const char * const set[][2] = {
		{ "blocksize", "4096" }, { "memory_backed", "1" }, { "discard", "1" },
		{ "power", "1" },
	};
	char path[128], val[16];
	int ret;

	nullb_gone();
	if (mkdir(NULLB, 0755))
		return -errno;
	snprintf(val, sizeof(val), "%d", mb);
	ret = ssw_write(NULLB "/size", val);
	for (size_t i = 0; i < ARRAY_SIZE(set) && !ret; i++) {
		snprintf(path, sizeof(path), NULLB "/%s", set[i][0]);
		ret = ssw_write(path, set[i][1]);
	}
	if (!ret && ssw_num("/sys/block/sswdev/queue/discard_max_bytes") <= 0)
		ret = -EOPNOTSUPP;
	if (ret)
		nullb_gone();
	return ret;
}

static int on_with(const char *path, int flags)
{
	int ret = ssw_bind("0");

	if (!ret)
		ret = ssw_swapon_flags(path, flags);
	ssw_bind("off");
	return ret ? ret : ssw_type_of(path);
}

/*
 * Clusters that empty are discarded; and never one that has pages in it, which
 * would read back as zeroes.
 */
SSW_BODY(device, discard_pages)
{
	const size_t pages = 5000;
	long long before;
	char *p, *keep;
	int t, ret = nullb_make(64);

	if (ret)
		SKIP(return, "no null_blk device with discard (%s)", strerror(-ret));
	ASSERT_EQ(0, ssw_mkswap(DEV, 12000));
	t = on_with(DEV, SWAP_FLAG_DISCARD | SWAP_FLAG_DISCARD_PAGES);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	/* One page in 50 stays, so that some clusters never empty. */
	keep = ssw_map(100, false);
	for (int round = 1; round <= 4; round++) {
		before = ssw_discarded(DEV);
		p = ssw_map(pages, false);
		ssw_stamp(p, pages, round);
		ssw_stamp(keep, 100, round);
		for (int i = 0; i < 100; i++) {
			ssw_pageout(p + i * 50 * SSW_PAGE, 50);
			if (i < 30)
				ssw_pageout(keep + i * SSW_PAGE, 1);
		}
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, 1000, round)) TH_LOG("round %d", round);
		munmap(p, pages * SSW_PAGE);
		ssw_for_looks(i) {
			if (ssw_discarded(DEV) != before)
				break;
			ssw_evict("ssw");
			usleep(20000);
		}
		EXPECT_LT(before, ssw_discarded(DEV))
			TH_LOG("round %d: nothing was discarded", round);
		EXPECT_EQ(0, ssw_wrong(keep, 100, round)) TH_LOG("round %d", round);
	}
	TH_LOG("%lld sectors discarded", ssw_discarded(DEV));
	/* Allocating, reading and freeing while clusters are being discarded. */
	for (int round = 10; round < 30; round++) {
		p = ssw_map(1200, false);
		ssw_stamp(p, 1200, round);
		ssw_pageout(p, 1200);
		for (int i = 0; i < 1200; i += 2)
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
		ssw_stamp(p, 300, round + 1);
		ssw_pageout(p, 300);
		ASSERT_EQ(0, ssw_wrong(p, 300, round + 1)) TH_LOG("round %d", round);
		for (int i = 301; i < 1200; i += 2) {
			ASSERT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, round))
				TH_LOG("round %d", round);
		}
		munmap(p, 1200 * SSW_PAGE);
	}
	/* Full to the last slot: slots that wait for their discard must not be lost room. */
	ssw_stamp(keep, 100, 99);
	p = ssw_map(11900, false);
	ssw_stamp(p, 11900, 98);
	EXPECT_LE(11900 - SSW_SLACK, ssw_pageout(p, 11900));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 11900, 98));
	EXPECT_EQ(0, ssw_wrong(keep, 100, 99));
	munmap(p, 11900 * SSW_PAGE);
	munmap(keep, 100 * SSW_PAGE);
	EXPECT_GE(SSW_SLACK, ssw_used_at_most(SSW_SLACK));
	nullb_gone();
}

/* All of it once, at swapon, if that was asked for; nothing otherwise. */
SSW_BODY(device, discard_once_or_not)
{
	const size_t pages = 2000;
	long long before;
	char *p;
	int ret = nullb_make(32);

	if (ret)
		SKIP(return, "no null_blk device with discard (%s)", strerror(-ret));
	ASSERT_EQ(0, ssw_mkswap(DEV, 8000));
	before = ssw_discarded(DEV);
	ASSERT_LE(0, on_with(DEV, SWAP_FLAG_DISCARD | SWAP_FLAG_DISCARD_ONCE));
	EXPECT_LE(before + 8000 * 8 - 8, ssw_discarded(DEV)) TH_LOG("swapon did not discard");
	for (int round = 0; round < 2; round++) {
		before = ssw_discarded(DEV);
		ASSERT_EQ(0, ssw_pin(0));
		p = ssw_map(pages, false);
		ssw_stamp(p, pages, 1);
		EXPECT_EQ((long)pages, ssw_pageout(p, pages));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, pages / 2, 1));
		munmap(p, pages * SSW_PAGE);
		EXPECT_GE(SSW_SLACK, ssw_used_at_most(SSW_SLACK));
		usleep(300000);
		EXPECT_EQ(before, ssw_discarded(DEV)) TH_LOG("discards that nobody asked for");
		ASSERT_EQ(0, ssw_swapoff(DEV));
		if (!round)
			ASSERT_LE(0, on_with(DEV, 0));
	}
	nullb_gone();
}

/* --- bad blocks ------------------------------------------------------------------ */

static bool is_bad(const struct ssw_header *h, uint64_t offset)
{
	for (unsigned int i = 0; i < h->nr_badpages; i++)
		if (h->badpages[i] == offset)
			return true;
	return !offset || offset > h->last_page;
}

/*
 * Bad slots all over: at cluster borders, a whole cluster, the last one. The
 * area is filled completely, several times, by single pages and by huge ones.
 */
SSW_BODY(device, bad_blocks)
{
	const unsigned int last = 7 * 512 + 100;
	const size_t pages = last + 200;
	static struct ssw_header h;
	static uint8_t seen[8 * 512 + 512];
	char path[160], *p;
	long per[258], twice, bad;
	unsigned int n = 0, usable;
	int t;

	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ssw_fill_header(&h, last);
	h.badpages[n++] = 1;
	for (unsigned int i = 512; i < 1024; i++)	/* a cluster with nothing good */
		h.badpages[n++] = i;
	for (unsigned int i = 1536; i < 1600; i += 2)
		h.badpages[n++] = i;
	h.badpages[n++] = 2047;
	h.badpages[n++] = 2048;
	for (unsigned int i = 2600; i < 2650; i++)
		h.badpages[n++] = i;
	h.badpages[n++] = last;
	h.nr_badpages = n;
	usable = last - n;
	ASSERT_EQ(0, ssw_put_header(ssw_bdev(0), &h));
	t = ssw_on_cpu(ssw_bdev(0), 0);
	ASSERT_LE(0, t);
	EXPECT_EQ(usable, ssw_area(t, "pages"));
	EXPECT_EQ(0, ssw_area(t, "used"));
	ASSERT_EQ(0, ssw_pin(0));

	snprintf(path, sizeof(path), SSW_THP "/hugepages-64kB/enabled");
	for (int round = 1; round <= 4; round++) {
		bool huge = round % 2 == 0;

		if (huge && ssw_write(path, "madvise"))
			continue;
		ssw_write(SSW_THP "/hugepages-2048kB/enabled", "never");
		p = ssw_map(pages, huge);
		ssw_stamp(p, pages, round);
		ssw_pageout(p, pages);
		ssw_write(path, "never");
		ASSERT_EQ(0, ssw_where(p, pages, per));
		EXPECT_GE((long)usable, per[t]);
		/* Huge pages that find no block are split, so it fills either way. */
		EXPECT_LE((long)usable - SSW_SLACK, per[t]) TH_LOG("round %d", round);
		EXPECT_GE((long long)usable, ssw_area(t, "used"));
		memset(seen, 0, sizeof(seen));
		twice = 0;
		bad = 0;
		for (size_t i = 0; i < pages; i++) {
			uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

			if (!(e & SSW_PM_SWAP))
				continue;
			bad += is_bad(&h, ssw_pm_offset(e));
			if (ssw_pm_offset(e) < sizeof(seen))
				twice += seen[ssw_pm_offset(e)]++;
		}
		EXPECT_EQ(0, bad) TH_LOG("round %d: bad slots were used", round);
		EXPECT_EQ(0, twice) TH_LOG("round %d: a slot was given to two pages", round);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, pages, round)) TH_LOG("round %d", round);
		munmap(p, pages * SSW_PAGE);
		EXPECT_GE(SSW_SLACK, ssw_used_at_most(SSW_SLACK));
	}
}

/* --- failing allocations ------------------------------------------------------------ */

static const char * const attrs[] = { "failslab", "fail_page_alloc" };

/* Let @percent of the allocations fail, in tasks that ask for it. 0 or -errno. */
static int faults(int percent)
{
	static const char * const fixed[][2] = {
		{ "ignore-gfp-wait", "N" }, { "task-filter", "Y" }, { "interval", "1" },
		{ "space", "0" }, { "verbose", "0" }, { "times", "-1" },
	};
	char path[128], val[16];
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(fixed); j++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", attrs[i],
				 fixed[j][0]);
			if (ssw_write(path, fixed[j][1]))
				ret = -ENOENT;
		}
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/min-order", attrs[i]);
		ssw_write(path, "0");	/* only fail_page_alloc has it */
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/probability", attrs[i]);
		snprintf(val, sizeof(val), "%d", percent);
		ssw_write(path, val);
	}
	return ret;
}

/* For this process. The file is opened once: that too could fail. */
static int me(bool fails)
{
	static int fd = -1;
	static pid_t pid;

	if (pid != getpid() || fd < 0) {
		fd = open("/proc/self/make-it-fail", O_WRONLY | O_CLOEXEC);
		pid = getpid();
	}
	return pwrite(fd, fails ? "1" : "0", 1, 0) == 1 ? 0 : -errno;
}

SSW_BODY(device, failing_allocations)
{
	static const int percent[] = { 5, 30, 70, 100 };
	const size_t pages = 600;
	long long no_table = ssw_stat("fallback/no_table");
	struct ssw_areas a;
	char *p;
	long out;

	if (faults(0) || me(false))
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, ssw_areas_on(&a, 2048, SSW_MANY));
	for (size_t i = 0; i < ARRAY_SIZE(percent); i++) {
		for (int c = 0; c < a.n; c++) {
			ASSERT_EQ(0, ssw_pin(a.cpu[c]));
			p = ssw_map(pages, false);
			ssw_stamp(p, pages, i + 1);
			faults(percent[i]);
			ASSERT_EQ(0, me(true));
			out = 0;
			for (int tries = 0; tries < 3; tries++)
				madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
			ASSERT_EQ(0, me(false));
			faults(0);
			out = ssw_pageout(p, pages);
			EXPECT_EQ((long)pages, out)
				TH_LOG("%d %%, CPU %d: cannot swap out any more", percent[i], c);
			ssw_evict("ssw");
			ASSERT_EQ(0, ssw_wrong(p, pages, i + 1)) TH_LOG("%d %%", percent[i]);
			munmap(p, pages * SSW_PAGE);
		}
	}
	if (no_table == SSW_NO_VALUE)
		return;
	TH_LOG("%lld times without a table", ssw_stat("fallback/no_table") - no_table);
	EXPECT_LT(0, ssw_stat("fallback/no_table") - no_table)
		TH_LOG("a table that could not be allocated was not counted");
}

/* The same for swapping in, forking and moving: failures, never wrong pages. */
SSW_BODY(device, failing_allocations_elsewhere)
{
	const size_t pages = 200;
	struct ssw_areas a;
	char *p;
	int failed = 0;

	if (faults(0) || me(false))
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, ssw_areas_on(&a, 2048, SSW_MANY));
	ssw_pin(a.cpu[0]);
	p = ssw_map(pages, false);
	for (int i = 0; i < 60; i++) {
		pid_t pid;

		ssw_stamp(p, pages, i);
		ssw_pageout(p, pages);
		ssw_evict("ssw");
		faults(1);
		ASSERT_EQ(0, me(true));
		pid = ssw_fork();
		if (!pid) {
			long wrong;

			/* Its own file, and that may take some tries. */
			while (me(false))
				;
			wrong = ssw_wrong(p, pages, i);
			ssw_stamp(p, pages / 2, i + 1);
			fflush(stdout);
			_exit(wrong ? 1 : 0);
		}
		/* A few pages in while it fails: the kernel tries again. */
		madvise(p, 16 * SSW_PAGE, MADV_WILLNEED);
		ASSERT_EQ(0, me(false));
		faults(0);
		if (pid < 0) {
			failed++;
		} else {
			ASSERT_EQ(0, ssw_join(pid));
		}
		ASSERT_EQ(0, ssw_wrong(p, pages, i)) TH_LOG("round %d", i);
	}
	TH_LOG("%d of 60 forks failed", failed);
}

TEST_HARNESS_MAIN
