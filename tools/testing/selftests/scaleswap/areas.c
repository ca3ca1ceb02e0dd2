// SPDX-License-Identifier: GPL-2.0
/*
 * Areas in sysfs: they come and go with swapon and swapoff, and every
 * attribute says the truth, for files, devices and partitions of any size.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness.h"

#define PAGES	512

SSW_FIXTURE(areas, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

/*
 * The node of the disk under @path, -1 unknown. The NVMe driver shows its
 * own; a disk without a device behind it (null_blk, loop) may show nothing.
 */
static bool disk_node(const char *path, long long *node)
{
	char p[256];
	struct stat st;
	dev_t dev;

	if (stat(path, &st))
		return false;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	snprintf(p, sizeof(p), "/sys/dev/block/%u:%u/device/numa_node", major(dev), minor(dev));
	*node = ssw_num(p);
	if (*node == SSW_NO_VALUE) {
		/* A partition: its disk is the directory above. */
		snprintf(p, sizeof(p), "/sys/dev/block/%u:%u/../device/numa_node", major(dev),
			 minor(dev));
		*node = ssw_num(p);
	}
	return *node != SSW_NO_VALUE;
}

/* Every attribute of one area against /proc/swaps and the rest of the system. */
static void check_area(struct __test_metadata *_metadata, const char *path, int cpu,
		       unsigned int pages)
{
	static struct ssw_swap s[300];
	static const struct { const char *name; int mode; } attrs[] = {
		{ "cpu", 0644 }, { "node", 0444 }, { "device_node", 0444 }, { "path", 0444 },
		{ "pages", 0444 }, { "used", 0444 }, { "priority", 0444 },
		{ "allocs_home", 0444 }, { "allocs_foreign", 0444 },
	};
	int n = ssw_proc_swaps(s, 300), i, t;
	char buf[512];
	struct stat st;
	long long node;

	ASSERT_LT(0, n);
	i = ssw_find_swap(s, n, path);
	ASSERT_LE(0, i) TH_LOG("%s is not in /proc/swaps", path);
	t = ssw_type_of(path);
	ASSERT_LE(0, t) TH_LOG("%s is not in " SSW_SYS "/areas", path);
	EXPECT_EQ(cpu, ssw_area(t, "cpu"));
	EXPECT_EQ(cpu < 0 ? -1 : ssw_node_of(cpu), ssw_area(t, "node"));
	EXPECT_EQ(pages, ssw_area(t, "pages")) TH_LOG("%s", path);
	EXPECT_EQ(s[i].kb, ssw_area(t, "pages") * 4) TH_LOG("%s", path);
	EXPECT_EQ(s[i].used_kb, ssw_area(t, "used") * 4) TH_LOG("%s", path);
	EXPECT_EQ(s[i].prio, ssw_area(t, "priority")) TH_LOG("%s", path);
	EXPECT_LE(-1, ssw_area(t, "device_node"));
	if (disk_node(path, &node)) {
		EXPECT_EQ(node, ssw_area(t, "device_node")) TH_LOG("%s", path);
	}
	EXPECT_LE(0, ssw_area(t, "allocs_home"));
	EXPECT_LE(0, ssw_area(t, "allocs_foreign"));

	for (size_t a = 0; a < ARRAY_SIZE(attrs); a++) {
		ssw_area_path(buf, sizeof(buf), t, attrs[a].name);
		ASSERT_EQ(0, stat(buf, &st)) TH_LOG("no %s", buf);
		EXPECT_EQ(attrs[a].mode, st.st_mode & 07777) TH_LOG("%s", buf);
		/* Read-only ones take nothing, not even from root. */
		if (attrs[a].mode == 0444) {
			EXPECT_GT(0, ssw_write(buf, "1")) TH_LOG("%s could be written", buf);
		}
	}
}

SSW_TEST_F(areas, top_level)
{
	struct stat st;

	EXPECT_EQ(1, ssw_num(SSW_SYS "/enabled"));
	EXPECT_EQ(SSW_MAX_AREAS, ssw_num(SSW_SYS "/areas_max"));
	EXPECT_EQ(0, ssw_area_count());
	ASSERT_EQ(0, stat(SSW_SYS "/enabled", &st));
	EXPECT_EQ(0444, st.st_mode & 07777);
	EXPECT_GT(0, ssw_write(SSW_SYS "/enabled", "0"));
	EXPECT_GT(0, ssw_write(SSW_SYS "/areas_max", "1"));
	EXPECT_EQ(1, ssw_num(SSW_SYS "/enabled"));
}

SSW_TEST_F(areas, come_and_go)
{
	int t;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
	}
	for (int i = 0; i < 3; i++) {
		t = ssw_on_cpu(ssw_file(i), 0);
		ASSERT_EQ(i, t) TH_LOG("the lowest free type is %d", i);
		EXPECT_EQ(i + 1, ssw_area_count());
	}
	ASSERT_EQ(0, ssw_swapoff(ssw_file(1)));
	EXPECT_FALSE(ssw_area_exists(1));
	EXPECT_EQ(2, ssw_area_count());
	EXPECT_EQ(-1, ssw_type_of(ssw_file(1)));
	/* The hole is used again. */
	ASSERT_EQ(1, ssw_on(ssw_file(1), "off"));
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	ASSERT_EQ(0, ssw_swapoff(ssw_file(2)));
	ASSERT_EQ(0, ssw_swapoff(ssw_file(1)));
	EXPECT_EQ(0, ssw_area_count());
}

/* An attribute that is held open across swapoff gives an error, not old memory. */
SSW_TEST_F(areas, held_open_over_swapoff)
{
	char path[256], buf[64];
	int fd, dir;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_on_cpu(ssw_file(0), 0));
	ssw_area_path(path, sizeof(path), 0, "used");
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	ssw_area_path(path, sizeof(path), 0, NULL);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, dir);
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(-1, pread(fd, buf, sizeof(buf), 0));
	EXPECT_EQ(-1, openat(dir, "cpu", O_RDONLY));
	/* The same name comes back with new contents while the old is still held. */
	ASSERT_EQ(0, ssw_on(ssw_file(0), "off"));
	EXPECT_EQ(-1, ssw_area(0, "cpu"));
	close(fd);
	close(dir);
}

SSW_TEST_F(areas, sizes_and_attributes)
{
	static const unsigned int sizes[] = { 10, 255, 511, 512, 513, 4095, 10000 };
	int cpus = ssw_nr_possible(), n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), sizes[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_LE(0, ssw_on_cpu(ssw_file(i), i % cpus));
		n++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_area(_metadata, ssw_file(i), i % cpus, sizes[i]);
	EXPECT_EQ(n, ssw_area_count());
}

SSW_TEST_F(areas, used_follows)
{
	char *p = ssw_map(200, false);
	int t;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	EXPECT_EQ(0, ssw_area(t, "used"));
	ssw_stamp(p, 200, 1);
	ASSERT_EQ(200, ssw_pageout(p, 200));
	EXPECT_LE(200, ssw_area(t, "used"));
	EXPECT_LE(200, ssw_area(t, "allocs_home"));
	EXPECT_EQ(0, ssw_area(t, "allocs_foreign"));
	check_area(_metadata, ssw_file(0), 0, PAGES);
	EXPECT_EQ(0, ssw_wrong(p, 200, 1));
	/* Counters start at nought with a new area of the same type. */
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	ASSERT_EQ(t, ssw_on_cpu(ssw_file(0), 0));
	EXPECT_EQ(0, ssw_area(t, "used"));
	EXPECT_EQ(0, ssw_area(t, "allocs_home"));
}

SSW_TEST_F(areas, priority)
{
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), PAGES));
	ASSERT_EQ(0, ssw_bind("0"));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(0), 7));
	ASSERT_EQ(0, ssw_swapon_prio(ssw_file(1), 32767));
	ASSERT_EQ(0, ssw_bind("off"));
	EXPECT_EQ(7, ssw_area(ssw_type_of(ssw_file(0)), "priority"));
	EXPECT_EQ(32767, ssw_area(ssw_type_of(ssw_file(1)), "priority"));
	check_area(_metadata, ssw_file(0), 0, PAGES);
	check_area(_metadata, ssw_file(1), 0, PAGES);
}

SSW_TEST_F(areas, rehome)
{
	static const char * const bad[] = {
		"\n", "-1", "-2", "1x", "garbage", "auto", "off", "4294967296",
		"18446744073709551616", "2147483648", "0 1",
	};
	int cpus = ssw_nr_possible(), t;
	long per[258];
	char past[16];

	if (cpus < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), PAGES));
	/* The second one: others would use the first anyway, when they spill over. */
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	t = ssw_on_cpu(ssw_file(1), 0);
	ASSERT_LE(0, t);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, ssw_rehome(t, bad[i])) TH_LOG("'%s'", bad[i]);
		EXPECT_EQ(0, ssw_area(t, "cpu")) TH_LOG("after '%s'", bad[i]);
	}
	snprintf(past, sizeof(past), "%d", cpus);
	EXPECT_EQ(-EINVAL, ssw_rehome(t, past));
	EXPECT_EQ(0, ssw_area(t, "cpu"));

	/* Each CPU in turn: the pages it swaps then go there. */
	for (int c = cpus - 1; c >= 0 && c >= cpus - 4; c--) {
		char val[16], *p = ssw_map(100, false);

		snprintf(val, sizeof(val), "%d\n", c);
		ASSERT_EQ(0, ssw_rehome(t, val));
		EXPECT_EQ(c, ssw_area(t, "cpu"));
		EXPECT_EQ(ssw_node_of(c), ssw_area(t, "node"));
		if (!c)
			continue;
		ASSERT_EQ(0, ssw_pin(c));
		ssw_stamp(p, 100, c);
		ASSERT_EQ(100, ssw_pageout(p, 100));
		ASSERT_EQ(0, ssw_where(p, 100, per));
		EXPECT_EQ(100, per[t]) TH_LOG("CPU %d does not use the area moved to it", c);
		EXPECT_EQ(0, ssw_wrong(p, 100, c));
		munmap(p, 100 * SSW_PAGE);
	}
}

SSW_TEST_F(areas, block_device)
{
	const char *dev = ssw_bdev(0);

	if (!dev)
		SKIP(return, "SSW_BDEVS names no spare block device");
	ASSERT_EQ(0, ssw_mkswap(dev, 4095));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	check_area(_metadata, dev, 0, 4095);
	EXPECT_EQ(-EBUSY, ssw_swapon(dev));
}

SSW_TEST_F(areas, partition)
{
	const char *dev = ssw_bdev(0);
	char part[2][80];

	if (!dev)
		SKIP(return, "SSW_BDEVS names no spare block device");
	for (int i = 0; i < 2; i++) {
		ssw_partition(dev, i + 1, 0, 0);
		ASSERT_EQ(0, ssw_partition(dev, i + 1, (1LL + 16 * i) << 20, 16LL << 20));
		snprintf(part[i], sizeof(part[i]), "%sp%d", dev, i + 1);
	}
	for (int i = 0; i < 2; i++) {
		char *p = ssw_map(300, false);
		long per[258];
		int t;

		ASSERT_EQ(0, ssw_mkswap(part[i], 4095)) TH_LOG("%s", part[i]);
		t = ssw_on_cpu(part[i], 0);
		ASSERT_LE(0, t);
		check_area(_metadata, part[i], 0, 4095);
		ASSERT_EQ(0, ssw_pin(0));
		ssw_stamp(p, 300, 1);
		ASSERT_EQ(300, ssw_pageout(p, 300));
		ASSERT_EQ(0, ssw_where(p, 300, per));
		EXPECT_EQ(300, per[0] + per[1]);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, 300, 1));
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, ssw_swapoff(part[i]));
		EXPECT_EQ(0, ssw_partition(dev, i + 1, 0, 0));
	}
}

TEST_HARNESS_MAIN
