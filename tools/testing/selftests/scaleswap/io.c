// SPDX-License-Identifier: GPL-2.0
/*
 * Bios of several pages: which pages are written or read ahead by one bio, how many of them,
 * and which group is charged. Devices that make a bio wait are in fault_bio.c, writes that
 * fail in fault_write.c.
 */
#include <sys/stat.h>

#include "fault_harness.h"

FAULT_FIXTURE(io, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	FAULT_PAGES
#define OTHERS	FAULT_OTHERS

/* These are there with each mechanism. */
SSW_TEST_F(io, tunables)
{
	static const char * const counters[] = { "batches", "batched" };
	char path[128];
	struct stat st;

	EXPECT_EQ(128, io_num("bio_pages"));
	ssw_taken(_metadata, "io/bio_pages", "1", "1");
	ssw_taken(_metadata, "io/bio_pages", "256\n", "256");
	ssw_refused(_metadata, "io/bio_pages", "0", EINVAL);
	ssw_refused(_metadata, "io/bio_pages", "257", EINVAL);
	ssw_refused(_metadata, "io/bio_pages", "-1", EINVAL);
	ssw_refused(_metadata, "io/bio_pages", "many", EINVAL);
	EXPECT_EQ(-EINVAL, ssw_write_n(IO "bio_pages", "1\0002", 3));
	ASSERT_EQ(0, stat(IO "bio_pages", &st));
	EXPECT_EQ(0644, st.st_mode & 0777);
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		snprintf(path, sizeof(path), IO "%s", counters[i]);
		EXPECT_LE(0, ssw_num(path)) TH_LOG("%s", counters[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0444, st.st_mode & 0777) TH_LOG("%s", counters[i]);
	}
}

struct disk_stat {
	long long reads, read_merges, writes, write_merges, sectors;
};

static struct disk_stat disk_stat(const char *dev, const struct disk_stat *from)
{
	char path[128], line[512];
	struct disk_stat s = { };
	long long skip;

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", strrchr(dev, '/') + 1);
	if (ssw_read(path, line, sizeof(line)) < 0 ||
	    sscanf(line, "%lld %lld %lld %lld %lld %lld %lld", &s.reads, &s.read_merges, &skip,
		   &skip, &s.writes, &s.write_merges, &s.sectors) != 7)
		s.writes = SSW_NO_VALUE;
	if (from) {
		s.reads -= from->reads;
		s.read_merges -= from->read_merges;
		s.writes -= from->writes;
		s.write_merges -= from->write_merges;
		s.sectors -= from->sectors;
	}
	return s;
}

/*
 * Neighbours on the device are written by one bio, and read ahead by one: few commands,
 * and nothing for the block layer to merge. With one page in a bio it is the block layer
 * that does it, as in the base kernel.
 */
SSW_BODY(io, batches)
{
	static const char * const most[] = { "128", "8", "1" };

	NEED_FAULT();
	ON_ONE_DRIVE();
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		int n = atoi(most[m]);
		struct disk_stat s;
		long long batches, batched;
		char *p;

		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
		batches = io_num("batches");
		batched = io_num("batched");
		s = disk_stat(ssw_bdev(0), NULL);
		p = fault_out(PAGES, m + 1, false);
		ASSERT_NE(NULL, p);
		s = disk_stat(ssw_bdev(0), &s);
		batches = io_num("batches") - batches;
		batched = io_num("batched") - batched;
		printf("# %s pages in a bio: %lld bios of %lld pages; %lld writes, %lld merges, %lld pages\n",
		       most[m], batches, batched, s.writes, s.write_merges, s.sectors / 8);
		EXPECT_ABOUT(PAGES, s.sectors / 8);
		if (n > 1) {
			EXPECT_ABOUT(PAGES, batched);
			EXPECT_ABOUT(PAGES / n, batches);
			EXPECT_ABOUT(PAGES / n, s.writes);
			EXPECT_GE(OTHERS, s.write_merges);
		} else {
			EXPECT_EQ(0, batched);
			EXPECT_LE(PAGES / 2, s.write_merges);
		}

		/* One page in eight is waited for, seven are read ahead. */
		batched = io_num("batched");
		s = disk_stat(ssw_bdev(0), NULL);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, m + 1));
		s = disk_stat(ssw_bdev(0), &s);
		batched = io_num("batched") - batched;
		printf("# %lld pages read ahead by bios of several; %lld reads, %lld merges\n",
		       batched, s.reads, s.read_merges);
		EXPECT_GE(PAGES / 2, s.reads);
		if (n > 1) {
			EXPECT_LE(PAGES / 2, batched);
			EXPECT_GE(OTHERS, s.read_merges);
		} else {
			EXPECT_EQ(0, batched);
			EXPECT_LE(PAGES / 2, s.read_merges);
		}
		munmap(p, PAGES * SSW_PAGE);
	}
}

/*
 * The writes of a per-core area are collected whatever scaleswap= names. Those of a plain
 * area, and readahead, are left to the block layer without fault in it.
 */
SSW_BODY(io, batches_of_the_core)
{
	static const struct {
		const char *what;
		bool core;
	} areas[] = { { "per-core area", true }, { "plain area", false } };
	bool all = !fault_set("mode", "auto");

	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		bool collects = all || areas[i].core;
		struct disk_stat s;
		long long batched;
		char *p;

		ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 8000));
		ASSERT_LE(0, areas[i].core ? ssw_on_cpu(ssw_bdev(0), 0) : ssw_swapon(ssw_bdev(0)));
		ASSERT_EQ(0, ssw_pin(0));
		batched = io_num("batched");
		s = disk_stat(ssw_bdev(0), NULL);
		p = fault_out(PAGES, i + 1, false);
		ASSERT_NE(NULL, p);
		s = disk_stat(ssw_bdev(0), &s);
		batched = io_num("batched") - batched;
		printf("# %s: %lld pages in bios of several; %lld writes, %lld merges, %lld pages\n",
		       areas[i].what, batched, s.writes, s.write_merges, s.sectors / 8);
		EXPECT_ABOUT(PAGES, s.sectors / 8);
		EXPECT_GE(PAGES / 2, s.writes);
		if (collects) {
			EXPECT_ABOUT(PAGES, batched);
			EXPECT_GE(OTHERS, s.write_merges);
		} else {
			EXPECT_EQ(0, batched);
			EXPECT_LE(PAGES / 2, s.write_merges);
		}

		batched = io_num("batched");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		batched = io_num("batched") - batched;
		if (all) {
			EXPECT_LE(PAGES / 2, batched);
		} else {
			EXPECT_EQ(0, batched);
		}
		munmap(p, PAGES * SSW_PAGE);
		EXPECT_EQ(0, fault_swapoff(ssw_bdev(0), 120));
	}
}

/*
 * One bio can read only adjacent slots: not pages that are adjacent in memory but far from
 * one another on the device, nor pages of two areas, even if the sector of one follows that
 * of the other by its number.
 */
SSW_BODY(io, not_neighbours)
{
	static const char * const modes[] = { "auto", "off" };
	int type[2];

	NEED_FAULT();
	if (!ssw_bdev(1))
		SKIP(return, "SSW_BDEVS names no second block device");
	mlockall(MCL_CURRENT);
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		const uint64_t gen = 700 + m;
		long long batched;
		char *p, *q;

		ASSERT_EQ(0, fault_set("mode", modes[m]));
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, ssw_mkswap(ssw_bdev(i), 8000));
			type[i] = ssw_on_cpu(ssw_bdev(i), i);
			ASSERT_LE(0, type[i]);
		}
		ASSERT_EQ(0, ssw_pin(0));
		p = ssw_map(PAGES, false);
		ASSERT_NE(NULL, p);
		ssw_stamp(p, PAGES, gen);
		for (int i = 0; i < PAGES; i++)
			ssw_pageout(p + i * 37 % PAGES * SSW_PAGE, 1);
		EXPECT_EQ(0, fault_evict("ssw"));
		batched = io_num("batched");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, gen)) TH_LOG("%s: far apart", modes[m]);
		EXPECT_LE(PAGES / 2, io_num("batched") - batched)
			TH_LOG("no readahead: nothing was tested");
		munmap(p, PAGES * SSW_PAGE);
		/* Two that begin with the same slots */
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(0, fault_swapoff(ssw_bdev(i), 120));
			ASSERT_EQ(0, ssw_mkswap(ssw_bdev(i), 8000));
			type[i] = ssw_on_cpu(ssw_bdev(i), i);
			ASSERT_LE(0, type[i]);
		}
		/* Readahead begins with a full window there. */
		p = fault_map_alone(8, false);
		q = ssw_map(4, false);
		ASSERT_TRUE(p && q);
		/* The second area's first slots are for others. */
		ASSERT_TRUE(fault_out_by(0, type[0], p, 4, gen));
		ASSERT_TRUE(fault_out_by(1, type[1], q, 4, gen));
		ASSERT_TRUE(fault_out_by(1, type[1], p + 4 * SSW_PAGE, 4, gen));
		EXPECT_EQ(0, fault_evict("ssw"));
		for (int i = 1; i < 8; i++) {
			EXPECT_EQ(ssw_pm_offset(ssw_pagemap(p)) + i,
				  ssw_pm_offset(ssw_pagemap(p + i * SSW_PAGE)))
				TH_LOG("page %d: nothing is tested", i);
		}
		batched = io_num("batched");
		EXPECT_EQ(0, ssw_wrong(p, 8, gen)) TH_LOG("%s: two areas", modes[m]);
		EXPECT_LE(4, io_num("batched") - batched)
			TH_LOG("no readahead: nothing was tested");
		EXPECT_EQ(0, ssw_wrong(q, 4, gen));
		munmap(p, 8 * SSW_PAGE);
		munmap(q, 4 * SSW_PAGE);
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(0, fault_swapoff(ssw_bdev(i), 120));
		}
	}
}

/*
 * A thread that swaps out adjacent pages of two groups submits a bio for each group, which
 * is charged to that group. The control: one page in a bio, where the base kernel charges
 * it.
 */
SSW_BODY(io, charged_to_its_group)
{
	static const char * const most[] = { "128", "1" };
	static const char * const groups[] = { "ssw", "ssw2" };
	const size_t half = 32;

	NEED_FAULT();
	ssw_write(SSW_CG "/cgroup.subtree_control", "+io");
	if (access(SSW_CG "/ssw/io.stat", R_OK))
		SKIP(return, "the kernel has no io controller (CONFIG_BLK_CGROUP)");
	ON_ONE_DRIVE();
	mlockall(MCL_CURRENT);
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		long long bytes[2], ios[2], batched = io_num("batched");
		char *p = ssw_map(2 * half, false);

		ASSERT_NE(NULL, p);
		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		for (int g = 0; g < 2; g++) {
			ASSERT_EQ(0, ssw_cgroup_enter(groups[g]));
			ssw_stamp(p + g * half * SSW_PAGE, half, m + 1);
		}
		for (int g = 0; g < 2; g++) {
			bytes[g] = fault_group_io(groups[g], ssw_bdev(0), "wbytes=");
			ios[g] = fault_group_io(groups[g], ssw_bdev(0), "wios=");
		}
		EXPECT_EQ((long)half * 2, ssw_pageout(p, 2 * half));
		for (int g = 0; g < 2; g++) {
			bytes[g] = fault_group_io(groups[g], ssw_bdev(0), "wbytes=") - bytes[g];
			ios[g] = fault_group_io(groups[g], ssw_bdev(0), "wios=") - ios[g];
			printf("# %s pages in a bio, %s: %lld pages written by %lld bios\n",
			       most[m], groups[g], bytes[g] / (long long)SSW_PAGE, ios[g]);
			EXPECT_EQ((long long)(half * SSW_PAGE), bytes[g]) TH_LOG("%s", groups[g]);
			EXPECT_LT(0, ios[g]);
		}
		EXPECT_EQ(ssw_pm_offset(ssw_pagemap(p + (half - 1) * SSW_PAGE)) + 1,
			  ssw_pm_offset(ssw_pagemap(p + half * SSW_PAGE)))
			TH_LOG("no neighbours: nothing was tested");
		if (!m) {
			EXPECT_LE((long long)half * 2, io_num("batched") - batched);
		}
		EXPECT_EQ(0, ssw_cgroup_enter("ssw"));
		EXPECT_EQ(0, ssw_wrong(p, 2 * half, m + 1));
		munmap(p, 2 * half * SSW_PAGE);
	}
	/*
	 * Pages left in the swap cache are charged to their group, and only its reclaim
	 * takes them.
	 */
	for (int i = 0; i < 100 && ssw_sum("used"); i++) {
		ssw_write(SSW_CG "/ssw/memory.reclaim", "16M");
		ssw_write(SSW_CG "/ssw2/memory.reclaim", "16M");
		usleep(50000);
	}
	rmdir(SSW_CG "/ssw2");
}

TEST_HARNESS_MAIN
