// SPDX-License-Identifier: GPL-2.0
/*
 * Writes, where one page cannot be written, or where the device holds the bios back. A
 * retried write goes to the same place and is charged to the same group as the first, and
 * no more pages are in flight than the device mapper allows.
 *
 * The guest "stack" has the drives. Each test has a control, which shows
 * that the failure would be seen.
 */
#include <sys/resource.h>

#include "dm_util.h"
#include "fault_harness.h"

FAULT_FIXTURE(fault_write, SSW_NEED_ON | SSW_NEED_DIR)

static const char * const most[] = { "1", "128" };

/* Touch all pages, but not those in two slots that cannot be read. */
static void look(char *p, size_t pages, uint64_t gen, unsigned long bad1, unsigned long bad2)
{
	for (size_t i = 0; i < pages; i++, p += SSW_PAGE)
		if (fault_in_slot(p, 1, bad1) && fault_in_slot(p, 1, bad2))
			fault_touch(p, gen, false, false);
}

/* --- how much is in flight ----------------------------------------------------------- */

#define DM_LIMIT	"/sys/module/dm_mod/parameters/swap_bios"
/* Pages of other processes that may be under writeback, too */
#define DM_OTHERS	64

/* Pages under writeback once it stands: @pid sleeps, and there are no more of them. */
static long long in_flight(pid_t pid)
{
	long long now, was = -1;
	int same = 0;

	/* A minute, as a guard. */
	for (int i = 0; i < 3000 && same < 50; i++) {
		char state = fault_state(pid);

		now = ssw_meminfo("Writeback") / 4;
		same = now && now == was && (state == 'D' || state == 'S') ? same + 1 : 0;
		was = now;
		usleep(20000);
	}
	return same < 50 ? -ETIMEDOUT : was;
}

/* As the process: have all pages written, and wait to be told to look at them. */
static void write_all(int go, size_t pages)
{
	char byte, *p;

	ssw_pin(0);
	mlockall(MCL_CURRENT);
	p = ssw_map(pages, false);
	if (!p)
		_exit(78);
	ssw_stamp(p, pages, 1);
	if (read(go, &byte, 1) != 1)
		_exit(79);
	madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
	if (read(go, &byte, 1) != 1)
		_exit(79);
	_exit(ssw_wrong(p, pages, 1) ? 1 : 0);
}

/*
 * dm-crypt needs memory for each write, so the device mapper limits the number of swap bios
 * in flight, which are of one page. No write completes here, so all accepted pages are in
 * flight; the limit holds for each number of pages in a bio.
 */
SSW_BODY(fault_write, dm_in_flight)
{
	const long long limit = ssw_num(DM_LIMIT);
	const size_t pages = 3 * limit;
	long long seen[ARRAY_SIZE(most)];
	char params[256], low[32], high[32], *p;

	NEED_FAULT();
	if (access("/dev/mapper/control", W_OK))
		SKIP(return, "the kernel has no device mapper");
	ASSERT_LT(0, limit);
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		int go[2], ret;
		pid_t pid;

		dm_name = "sswlow";
		snprintf(params, sizeof(params), "%s 64", ssw_bdev(0));
		ASSERT_EQ(0, dm_make("linear", params, 128 << 20 >> 9, low, sizeof(low)));
		p = params + sprintf(params, "capi:xts(aes)-plain64 ");
		for (int i = 0; i < 64; i++)
			p += sprintf(p, "%02x", i * 37 & 255);
		sprintf(p, " 0 %s 0", low);
		dm_name = "sswdm";
		ret = dm_make("crypt", params, 128 << 20 >> 9, high, sizeof(high));
		dm_name = "sswlow";
		if (ret == -EINVAL) {
			EXPECT_EQ(0, dm_gone());
			SKIP(return, "the kernel has no dm-crypt, or not this cipher");
		}
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		ASSERT_EQ(0, ssw_mkswap(high, 30000));
		ASSERT_LE(0, ssw_on_cpu(high, 0));
		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, ssw_pin(1));
		/* Nothing of this process is to be behind it. */
		mlockall(MCL_CURRENT);
		pid = ssw_fork();
		if (!pid)
			write_all(go[0], pages);

		EXPECT_EQ(0, dm_suspend(true));
		EXPECT_EQ(1, write(go[1], "", 1));
		seen[m] = in_flight(pid);
		EXPECT_EQ(0, dm_suspend(false));
		printf("# %s pages in a bio: %lld of %zu pages in flight, limit %lld\n", most[m],
		       seen[m], pages, limit);
		EXPECT_LE(limit, seen[m]) TH_LOG("the limit was not reached");
		EXPECT_GE(limit + DM_OTHERS, seen[m]) TH_LOG("%s pages in a bio", most[m]);

		EXPECT_EQ(1, write(go[1], "", 1));
		EXPECT_EQ(0, ssw_join(pid));
		close(go[0]);
		close(go[1]);
		EXPECT_EQ(0, fault_swapoff(high, 120));
		dm_name = "sswdm";
		EXPECT_EQ(0, dm_gone());
		dm_name = "sswlow";
		EXPECT_EQ(0, dm_gone());
	}
	EXPECT_GE(seen[0] + DM_OTHERS, seen[1]) TH_LOG("more than with one page in a bio");
}

/* --- charged to which group ------------------------------------------------------------ */

#define NEED_IO_GROUP()							\
	do {								\
		ssw_write(SSW_CG "/cgroup.subtree_control", "+io");	\
		if (access(SSW_CG "/ssw/io.stat", R_OK))		\
			SKIP(return, "the kernel has no io controller (CONFIG_BLK_CGROUP)"); \
	} while (0)

/* How often this process has slept while it asked for a page to be reclaimed */
static long reclaim_sleeps(void)
{
	struct rusage was, now;

	getrusage(RUSAGE_SELF, &was);
	ssw_write(SSW_CG "/ssw/memory.reclaim", "4096");
	getrusage(RUSAGE_SELF, &now);
	return now.ru_nvcsw - was.ru_nvcsw;
}

/*
 * A slot cannot be written: the pages that were in the bio with it are written again, to
 * their places in the partition, and that is charged to the group that they belong to, too.
 * With one page in a bio nothing is written again by itself. Who asks for it to be reclaimed, which
 * tries 16 times, does not wait each time until it was written in vain.
 */
SSW_BODY(fault_write, written_again_as_before)
{
	/* The partition begins with the 16th page of the drive. */
	const size_t pages = 500, few = 16, slot = 384;
	struct fault_load *l = ssw_shared(sizeof(*l));
	char disk[64], dev[80], *p;

	NEED_FAULT();
	if (!fault_drive("ssw-bad", disk, sizeof(disk)))
		SKIP(return, "no drive with the serial number ssw-bad");
	NEED_IO_GROUP();
	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_partition(disk, 7, few * SSW_PAGE, 40LL << 20));
	snprintf(dev, sizeof(dev), "%sp7", disk);
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		long dirty, sleeps;
		long long bytes;

		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		ASSERT_EQ(0, ssw_mkswap(dev, 8000));
		ASSERT_LE(0, ssw_on_cpu(dev, 0));
		ASSERT_EQ(0, ssw_pin(0));
		mlockall(MCL_CURRENT);
		p = ssw_map(pages, false);
		ASSERT_NE(NULL, p);
		ssw_stamp(p, pages, m + 1);
		bytes = fault_group_io("ssw", disk, "wbytes=");
		dirty = fault_write_out(p, pages);
		bytes = (fault_group_io("ssw", disk, "wbytes=") - bytes) / SSW_PAGE;
		printf("# %s pages in a bio: %ld not written, %lld of %zu charged\n", most[m],
		       dirty, bytes, pages);
		EXPECT_LE(1, dirty) TH_LOG("no write has failed: nothing was tested");
		if (!m) {
			EXPECT_LE((long long)pages, bytes);
			EXPECT_GE((long long)(pages + few), bytes);
		} else {
			/* A bio has up to 128, and that with the bad slot many. */
			EXPECT_LE((long long)(pages + 4 * few), bytes);
		}
		EXPECT_LE(0, fault_in_slot(p, pages, slot)) TH_LOG("nothing was tested");
		fault_evict("ssw");
		/* The control: there is a page that it tries to write. */
		EXPECT_LT(0, ssw_cgroup_stat("ssw", "swapcached"));
		sleeps = reclaim_sleeps();
		TH_LOG("it slept %ld times", sleeps);
		EXPECT_GE(8, sleeps);
		memset(l, 0, sizeof(*l));
		fault_may_lose(l, p, p + pages * SSW_PAGE);
		look(p, pages, m + 1, slot - 300, slot - 200);
		EXPECT_EQ(0, l->wrong);
		/* One more slot cannot be read once. */
		EXPECT_GE(1, l->lost);
		munmap(p, pages * SSW_PAGE);
		EXPECT_EQ(0, fault_swapoff(dev, 120));
	}
	EXPECT_EQ(0, ssw_partition(disk, 7, 0, 0));
}

/*
 * The block layer does not see a direct read, so it is charged to no group. If it fails, an
 * ordinary bio reads the page again, and that is charged to the page's group.
 */
SSW_BODY(fault_write, read_retried_as_its_group)
{
	char dir[128], path[160], was[32];

	NEED_QUEUES();
	NEED_IO_GROUP();
	snprintf(dir, sizeof(dir), "/sys/kernel/debug/%s/fail_scaleswap_read",
		 fault_ctrl(ssw_bdev(0)));
	snprintf(path, sizeof(path), "%s/times", dir);
	if (ssw_write(path, "-1"))
		SKIP(return, "there is no %s", dir);
	/* Not a word of each in the kernel log. */
	snprintf(path, sizeof(path), "%s/verbose", dir);
	ssw_write(path, "0");
	snprintf(path, sizeof(path), "%s/probability", dir);
	ASSERT_LT(0, ssw_read(path, was, sizeof(was)));
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 8000));
	ASSERT_LE(0, ssw_on_cpu(ssw_bdev(0), 0));
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	for (int fail = 0; fail <= 1; fail++) {
		struct fault_count c;
		long long bytes;
		char *p;

		p = fault_out(FAULT_PAGES, fail + 1, false);
		ASSERT_NE(NULL, p);
		bytes = fault_group_io("ssw", ssw_bdev(0), "rbytes=");
		fault_read(&c, "");
		ASSERT_EQ(0, ssw_write(path, fail ? "100" : was));
		EXPECT_EQ(0, ssw_wrong(p, FAULT_PAGES, fail + 1));
		ASSERT_EQ(0, ssw_write(path, was));
		c = fault_since(&c, "");
		bytes = (fault_group_io("ssw", ssw_bdev(0), "rbytes=") - bytes) / SSW_PAGE;
		fault_print(fail ? "made to fail" : "good", &c);
		printf("# %lld pages charged\n", bytes);
		EXPECT_LE(FAULT_PAGES * 9 / 10, c.direct);
		EXPECT_LE(fail ? c.direct : 0, c.again);
		EXPECT_LE(c.again, bytes);
		EXPECT_GE(c.again + FAULT_OTHERS, bytes);
		munmap(p, FAULT_PAGES * SSW_PAGE);
	}
	EXPECT_EQ(0, fault_swapoff(ssw_bdev(0), 120));
}

TEST_HARNESS_MAIN
