// SPDX-License-Identifier: GPL-2.0
/*
 * Large folios swap out to per-core areas in whole blocks, where the area is
 * a device, and split where it is a file or no block is free.
 */
#include "harness.h"

SSW_FIXTURE(large, SSW_NEED_ON | SSW_NEED_BDEV | SSW_NEED_DIR | SSW_NEED_CG)

static int thp_set(int kb, const char *val)
{
	char path[160];

	snprintf(path, sizeof(path), SSW_THP "/hugepages-%dkB/enabled", kb);
	return ssw_write(path, val);
}

static long long thp_stat(int kb, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), SSW_THP "/hugepages-%dkB/stats/%s", kb, name);
	return ssw_num(path);
}

/* Enable only folios of @kb, so that the test knows the size that is swapped out. 0: none. */
static int thp_only(int kb)
{
	for (int k = 16; k <= 2048; k *= 2)
		thp_set(k, k == kb ? "madvise" : "never");
	return kb ? thp_stat(kb, "swpout") < 0 ? -ENOENT : 0 : 0;
}

/* The pages of every folio lie in a row, in one area, aligned to their size. */
static long blocks_not_whole(const char *p, size_t pages, size_t per_folio, int type)
{
	long bad = 0;

	for (size_t i = 0; i < pages; i += per_folio) {
		uint64_t first = ssw_pagemap(p + i * SSW_PAGE);

		for (size_t j = 0; j < per_folio; j++) {
			uint64_t e = ssw_pagemap(p + (i + j) * SSW_PAGE);

			if (!(e & SSW_PM_SWAP) || ssw_pm_type(e) != type ||
			    ssw_pm_offset(e) != ssw_pm_offset(first) + j ||
			    ssw_pm_offset(first) % per_folio) {
				if (!bad++)
					printf("# folio at page %zu, page %zu: type %d offset %llu, first %llu\n",
					       i, j, ssw_pm_type(e),
					       (unsigned long long)ssw_pm_offset(e),
					       (unsigned long long)ssw_pm_offset(first));
				break;
			}
		}
	}
	return bad;
}

static void whole_blocks(struct __test_metadata *_metadata, int kb, size_t folios)
{
	const size_t per = kb / 4, pages = folios * per;
	long long out, fallback, in;
	char *p;
	int t;

	if (thp_only(kb))
		SKIP(return, "the kernel has no huge pages of %d KiB", kb);
	/* Another area with room: a folio must not go there. */
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 8192));
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), ssw_nr_possible() - 1));
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 16384 - 1));
	t = ssw_on_cpu(ssw_bdev(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));

	for (int round = 1; round <= 3; round++) {
		p = ssw_map(pages, true);
		in = thp_stat(kb, "anon_fault_alloc");
		ssw_stamp(p, pages, round);
		ASSERT_EQ(folios, thp_stat(kb, "anon_fault_alloc") - in)
			TH_LOG("could not get folios of %d KiB", kb);
		out = thp_stat(kb, "swpout");
		fallback = thp_stat(kb, "swpout_fallback");
		ASSERT_EQ(pages, ssw_pageout(p, pages));
		EXPECT_EQ(folios, thp_stat(kb, "swpout") - out);
		EXPECT_EQ(0, thp_stat(kb, "swpout_fallback") - fallback)
			TH_LOG("folios were split though the area has room");
		EXPECT_EQ(0, blocks_not_whole(p, pages, per, t));
		EXPECT_LE(pages, ssw_area(t, "allocs_home"));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, pages, round));
		/* Write: it comes back into memory, and out again. */
		ssw_stamp(p, pages, round + 10);
		ASSERT_EQ(pages, ssw_pageout(p, pages));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, pages, round + 10));
		munmap(p, pages * SSW_PAGE);
	}
	thp_only(0);
}

SSW_TEST_F(large, mthp_64k)
{
	whole_blocks(_metadata, 64, 48);
}

SSW_TEST_F(large, mthp_16k)
{
	whole_blocks(_metadata, 16, 64);
}

SSW_TEST_F(large, pmd_2m)
{
	whole_blocks(_metadata, 2048, 3);
}

SSW_TEST_F(large, file_splits)
{
	const size_t pages = 20 * 16;
	long long out, fallback;
	long per[258];
	char *p;
	int t;

	if (thp_only(64))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 4096));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(pages, true);
	ssw_stamp(p, pages, 1);
	out = thp_stat(64, "swpout");
	fallback = thp_stat(64, "swpout_fallback");
	ASSERT_EQ(pages, ssw_pageout(p, pages));
	EXPECT_EQ(0, thp_stat(64, "swpout") - out);
	EXPECT_LE(20, thp_stat(64, "swpout_fallback") - fallback);
	ASSERT_EQ(0, ssw_where(p, pages, per));
	EXPECT_EQ(pages, per[t]);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
	thp_only(0);
}

/*
 * An own area with room but without a free block: the folio is split, counted
 * in no_block, and its pages stay in the own area, though another one has
 * free blocks.
 */
SSW_TEST_F(large, no_block)
{
	const size_t fill = 4 * 512 - 1;
	long long no_block, fallback;
	int own, other;
	long per[258];
	char *p, *q;

	if (thp_only(64))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), fill));
	own = ssw_on_cpu(ssw_bdev(0), 0);
	ASSERT_LE(0, own);
	if (ssw_bdev(1)) {
		ASSERT_EQ(0, ssw_mkswap(ssw_bdev(1), 8191));
		other = ssw_on_cpu(ssw_bdev(1), ssw_nr_possible() - 1);
	} else {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 8191));
		other = ssw_on_cpu(ssw_file(0), ssw_nr_possible() - 1);
	}
	ASSERT_LE(0, other);
	ASSERT_EQ(0, ssw_pin(0));

	/* Fill it with single pages, then free every other one. */
	p = ssw_map(fill, false);
	ssw_stamp(p, fill, 1);
	ASSERT_EQ(fill, ssw_pageout(p, fill));
	ssw_evict("ssw");
	ASSERT_EQ(0, ssw_where(p, fill, per));
	ASSERT_LE(fill - SSW_SLACK, per[own]);
	for (size_t i = 0; i < fill; i += 2) {
		ASSERT_EQ(0, madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED));
	}
	ASSERT_GE(fill / 2 + SSW_SLACK + 2, ssw_area(own, "used"));

	q = ssw_map(10 * 16, true);
	ssw_stamp(q, 10 * 16, 2);
	no_block = ssw_stat("fallback/no_block");
	fallback = thp_stat(64, "swpout_fallback");
	ASSERT_EQ(160, ssw_pageout(q, 160));
	EXPECT_LT(0, ssw_stat("fallback/no_block") - no_block);
	EXPECT_EQ(10, thp_stat(64, "swpout_fallback") - fallback);
	ASSERT_EQ(0, ssw_where(q, 160, per));
	EXPECT_EQ(160, per[own]) TH_LOG("pages of a split folio left the own area");
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(q, 160, 2));
	for (size_t i = 1; i < fill; i += 2) {
		EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 1));
	}
	thp_only(0);
}

/* An own area that is full to the last page: whole blocks elsewhere. */
SSW_TEST_F(large, full_goes_elsewhere)
{
	long long out;
	int own, other;
	long per[258];
	char *p, *q;

	if (thp_only(64))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	if (!ssw_bdev(1))
		SKIP(return, "needs a second block device in SSW_BDEVS");
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 1023));
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(1), 8191));
	own = ssw_on_cpu(ssw_bdev(0), 0);
	other = ssw_on_cpu(ssw_bdev(1), ssw_nr_possible() - 1);
	ASSERT_LE(0, own);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(1200, false);
	ssw_stamp(p, 1200, 1);
	ASSERT_EQ(1200, ssw_pageout(p, 1200));
	if (ssw_area(own, "used") != 1023)
		SKIP(return, "could not fill the area to the last page");

	q = ssw_map(160, true);
	ssw_stamp(q, 160, 2);
	out = thp_stat(64, "swpout");
	ASSERT_EQ(160, ssw_pageout(q, 160));
	EXPECT_EQ(10, thp_stat(64, "swpout") - out);
	ASSERT_EQ(0, ssw_where(q, 160, per));
	EXPECT_EQ(160, per[other]);
	EXPECT_EQ(0, blocks_not_whole(q, 160, 16, other));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(q, 160, 2));
	EXPECT_EQ(0, ssw_wrong(p, 1200, 1));
	thp_only(0);
}

TEST_HARNESS_MAIN
