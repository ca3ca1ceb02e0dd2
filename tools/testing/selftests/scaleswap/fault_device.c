// SPDX-License-Identifier: GPL-2.0
/*
 * Critical faults and their devices: those that can be polled and those that cannot,
 * limits, resets, CPUs that go, and drives that are pulled out under load. The last
 * tests leave the machine with a drive less: they stand at the end.
 */
#include <glob.h>
#include <limits.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fault_harness.h"

FAULT_FIXTURE(fault_device, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	FAULT_PAGES
#define OTHERS	FAULT_OTHERS
#define LOADS	6

/* --- which device can do what ------------------------------------------------- */

/* A file system that leaves the I/O to the block layer is as good as the drive. */
SSW_BODY(fault_device, ext4_file)
{
	static const struct fault_way ways[] = {
		{ "direct", .direct = true }, { "off" },
	};

	NEED_QUEUES();
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2000));
	fault_reads(_metadata, ssw_file(0), ways, ARRAY_SIZE(ways));
	unlink(ssw_file(0));
}

/* Sectors of a partition do not begin with those of the drive. */
SSW_BODY(fault_device, partition)
{
	static const struct fault_way ways[] = {
		{ "direct", .direct = true }, { "bio", .bio = true }, { "off" },
	};
	char dev[80];
	int ret;

	NEED_QUEUES();
	ret = ssw_partition(ssw_bdev(0), 7, 40LL << 20, 32LL << 20);
	ASSERT_EQ(0, ret);
	snprintf(dev, sizeof(dev), "%sp7", ssw_bdev(0));
	EXPECT_EQ(0, ssw_mkswap(dev, 8000));
	fault_reads(_metadata, dev, ways, ARRAY_SIZE(ways));
	EXPECT_EQ(0, ssw_partition(ssw_bdev(0), 7, 0, 0));
}

/* It is a queue of its own, but has no poll queues. */
SSW_BODY(fault_device, loop_device)
{
	static const struct fault_way ways[] = {
		{ "auto", .irq = true, .no_poll = true },
		{ "direct", .irq = true, .no_poll = true },
		{ "bio", .irq = true, .no_poll = true },
		{ "off" },
	};
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC), nr, loop, file;
	char dev[32];

	NEED_FAULT();
	if (ctl < 0)
		SKIP(return, "no loop devices");
	nr = ioctl(ctl, LOOP_CTL_GET_FREE);
	ASSERT_LE(0, nr);
	snprintf(dev, sizeof(dev), "/dev/loop%d", nr);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2000));
	file = open(ssw_file(0), O_RDWR | O_CLOEXEC);
	loop = open(dev, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, file);
	ASSERT_LE(0, loop);
	ASSERT_EQ(0, ioctl(loop, LOOP_SET_FD, file));
	fault_reads(_metadata, dev, ways, ARRAY_SIZE(ways));
	EXPECT_EQ(0, ioctl(loop, LOOP_CLR_FD, 0));
	close(loop);
	close(file);
	close(ctl);
	unlink(ssw_file(0));
}

SSW_BODY(fault_device, null_blk_with_poll_queues)
{
	static const struct fault_way ways[] = {
		{ "auto", .bio = true }, { "bio", .bio = true },
		/* It has no private queues, and its poll queues were not asked for. */
		{ "direct", .irq = true, .no_poll = true }, { "off" },
	};
	int ret;

	NEED_FAULT();
	ret = fault_nullb("2", NULL, NULL);
	if (ret)
		SKIP(return, "no null_blk device with poll queues (%s)", strerror(-ret));
	EXPECT_TRUE(fault_can_bio(FAULT_NULLB));
	fault_reads(_metadata, FAULT_NULLB, ways, ARRAY_SIZE(ways));
	fault_nullb_gone();
}

SSW_BODY(fault_device, null_blk_without)
{
	static const struct fault_way ways[] = {
		{ "auto", .irq = true, .no_poll = true },
		{ "bio", .irq = true, .no_poll = true }, { "off" },
	};
	int ret;

	NEED_FAULT();
	ret = fault_nullb("0", NULL, NULL);
	if (ret)
		SKIP(return, "no null_blk device (%s)", strerror(-ret));
	EXPECT_FALSE(fault_can_bio(FAULT_NULLB));
	fault_reads(_metadata, FAULT_NULLB, ways, ARRAY_SIZE(ways));
	fault_nullb_gone();
}

/* A synchronous device is done before anybody could poll; it counts nothing. */
SSW_BODY(fault_device, ram_disk)
{
	struct fault_count c;
	char *p;

	NEED_FAULT();
	if (access("/dev/ram0", W_OK))
		SKIP(return, "no RAM disk (brd.rd_nr=1 brd.rd_size=KB)");
	ASSERT_EQ(0, ssw_mkswap("/dev/ram0", 2000));
	ASSERT_LE(0, ssw_on_cpu("/dev/ram0", 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = fault_out(PAGES, 1, false);
	ASSERT_NE(NULL, p);
	fault_read(&c, "");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	c = fault_since(&c, "");
	fault_print("ram0", &c);
	EXPECT_LE(PAGES * 9 / 10, c.pswpin);
	EXPECT_GE(OTHERS, c.direct + c.bio + c.irq);
	munmap(p, PAGES * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff("/dev/ram0", 120));
}

/* --- resets and CPUs -------------------------------------------------------------- */

static void reset_under_load(struct __test_metadata *_metadata, const char *mode, const char *us)
{
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	long long longest = 0, end;
	int resets = 0, cpu = ssw_nr_possible() - 1;
	struct fault_count c;
	struct ssw_areas a;
	uint64_t rnd = 5;
	bool away = false;

	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, fault_set("mode", mode));
	ASSERT_EQ(0, fault_set("poll_us", us));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	ASSERT_EQ(0, fault_load_start(l, LOADS, false, 200, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	fault_read(&c, "");
	end = fault_now() + 12000000000LL;
	/* On a slow machine: at least so many. */
	for (int i = 0; fault_now() < end || i < 6; i++) {
		EXPECT_EQ(0, fault_reset(fault_ctrl(a.path[i % a.n])))
			TH_LOG("%s", a.path[i % a.n]);
		resets++;
		/*
		 * CPUs come and go, but not during a reset: in the base kernel, too, that
		 * waits for CPU hotplug with queues frozen, hotplug for the mmap_lock of
		 * every task (cpusets), and tasks with it for queues.
		 */
		if (i % 3 == 2)
			away = !ssw_set_online(cpu, away) && !away;
		for (int j = 0; j < 4; j++) {
			usleep(20000 + ssw_random(&rnd) % 80000);
			if (fault_load_longest(l, LOADS) > longest)
				longest = fault_load_longest(l, LOADS);
		}
	}
	ssw_all_online();
	c = fault_since(&c, "");
	fault_print(mode, &c);
	TH_LOG("%d resets, longest fault %lld ms", resets, longest / 1000000);
	EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("they do not go on");
	fault_judge(_metadata, mode, l, LOADS, false);
	EXPECT_LT(0, strcmp(mode, "bio") ? c.direct : c.bio);
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120));
	}
	if (!strcmp(mode, "direct")) {
		/* Not once in so many resets was a queue away: then nothing was tested. */
		EXPECT_LT(0, c.again + c.down);
	}
}

SSW_BODY(fault_device, resets_direct)
{
	NEED_QUEUES();
	reset_under_load(_metadata, "direct", "100");
}

/* Reads that were handed over are in flight longer, so more of them are when the reset comes. */
SSW_BODY(fault_device, resets_handed_over)
{
	NEED_QUEUES();
	reset_under_load(_metadata, "direct", "0");
}

SSW_BODY(fault_device, resets_bio)
{
	NEED_QUEUES();
	reset_under_load(_metadata, "bio", "100");
}

/* --- a drive that does not answer ----------------------------------------------------- */

#define IO_TIMEOUT	"/sys/module/nvme_core/parameters/io_timeout"

/*
 * Not allowed to access memory, a drive can neither see commands nor complete any. The
 * reset that the driver makes when it has waited for too long allows it again.
 */
static int mute(const char *dev)
{
	char path[128];
	uint16_t command;
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/sys/class/block/%s/device/device/config",
		 strrchr(dev, '/') + 1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &command, 2, 4) != 2)
		ret = -EIO;
	command &= ~4;
	if (!ret && pwrite(fd, &command, 2, 4) != 2)
		ret = -EIO;
	close(fd);
	return ret;
}

static void queue_timeout(const char *dev, const char *ms)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/block/%s/queue/io_timeout",
		 strrchr(dev, '/') + 1);
	ssw_write(path, ms);
}

SSW_BODY(fault_device, stops_answering)
{
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	char was[32], queue_was[32], path[128];
	long long timeouts, before;
	struct fault_count c;
	struct ssw_areas a;

	NEED_QUEUES();
	ASSERT_NE(NULL, l);
	ASSERT_LT(0, ssw_read(IO_TIMEOUT, was, sizeof(was)));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	snprintf(path, sizeof(path), "/sys/class/block/%s/queue/io_timeout",
		 strrchr(a.path[0], '/') + 1);
	ASSERT_LT(0, ssw_read(path, queue_was, sizeof(queue_was)));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	ASSERT_EQ(0, fault_load_start(l, LOADS, false, 200, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	before = fault_dev(a.path[0], "device/swap_timeouts");
	ASSERT_EQ(0, ssw_write(IO_TIMEOUT, "2"));
	for (int i = 0; i < a.n; i++)
		queue_timeout(a.path[i], "2000");
	fault_read(&c, "");
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, mute(a.path[0]));
		usleep(3000000);
		EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("they do not go on");
	}
	ssw_write(IO_TIMEOUT, was);
	for (int i = 0; i < a.n; i++)
		queue_timeout(a.path[i], queue_was);
	c = fault_since(&c, "");
	fault_print("does not answer", &c);
	timeouts = fault_dev(a.path[0], "device/swap_timeouts") - before;
	TH_LOG("%lld reads timed out", timeouts);
	/* If the driver knows by itself that the controller is dead, it need not wait. */
	EXPECT_LT(0, timeouts + c.again) TH_LOG("nothing was tested");
	fault_judge(_metadata, "does not answer", l, LOADS, false);
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120));
	}
}

/* --- drives that go ------------------------------------------------------------------ */

/* The drive's PCI device, which is removed and found again. */
static int pci_of(const char *dev, char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/block/%s/device/device", strrchr(dev, '/') + 1);
	return realpath(path, pci) ? 0 : -errno;
}

static int pull(const char *pci)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/remove", pci);
	return ssw_write(path, "1");
}

/*
 * Find it again. As long as an area is on it, the old one keeps both its numbers: the new
 * one may be nvme4n1, or, of the same subsystem, nvme3n2 behind the controller nvme4.
 */
static int plug(const char *pci, char *dev, size_t len)
{
	char pattern[PATH_MAX + 32];

	if (ssw_write("/sys/bus/pci/rescan", "1"))
		return -errno;
	snprintf(pattern, sizeof(pattern), "%s/nvme/nvme*/nvme*n[0-9]*", pci);
	for (int i = 0; i < 500; i++) {
		glob_t found;
		int ret = -ENODEV;

		if (!glob(pattern, 0, NULL, &found)) {
			snprintf(dev, len, "/dev/%s", strrchr(found.gl_pathv[0], '/') + 1);
			ret = access(dev, W_OK);
		}
		globfree(&found);
		if (!ret)
			return 0;
		usleep(20000);
	}
	return -ENODEV;
}

/* The last drive, which is none of the first two spare ones, by its name of now. */
static bool third_drive(char *dev, size_t len)
{
	for (int nr = 64 * 8 - 1; nr >= 8; nr--) {
		snprintf(dev, len, "/dev/nvme%dn%d", nr / 8, nr % 8 + 1);
		if (!access(dev, W_OK))
			return ssw_bdev(2) && strcmp(dev, ssw_bdev(0)) && strcmp(dev, ssw_bdev(1));
	}
	return false;
}

/*
 * The drive goes in the middle of a swapoff, which has the device open and can end. Pages
 * that were there are lost, all others are right.
 */
SSW_BODY(fault_device, swapoff_of_a_drive_that_goes)
{
	const size_t pages = 12000;
	struct fault_load *l = ssw_shared(sizeof(*l));
	char pci[PATH_MAX], dev[64], *p;
	long long used;
	int status, t, ret;
	pid_t pid;

	NEED_QUEUES();
	if (!third_drive(dev, sizeof(dev)))
		SKIP(return, "needs three spare drives");
	ASSERT_EQ(0, pci_of(dev, pci));
	ASSERT_EQ(0, ssw_mkswap(dev, 14000));
	t = ssw_on_cpu(dev, 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	p = fault_out(pages, 1, false);
	ASSERT_NE(NULL, p);
	used = ssw_area(t, "used");
	ASSERT_LE((long long)pages / 2, used);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-ssw_swapoff(dev));
	/* It brings pages in, and has come some way. */
	for (int i = 0; i < 2000; i++) {
		if (!ssw_area_exists(t) || ssw_area(t, "used") <= used * 98 / 100)
			break;
		usleep(500);
	}
	TH_LOG("removed with %lld of %lld pages in use", ssw_area(t, "used"), used);
	EXPECT_EQ(0, pull(pci));
	/* Ends, with pages or without; if not for now then the test's own guard says so. */
	for (int i = 0; i < 12000 && !waitpid(pid, &status, WNOHANG); i++)
		usleep(10000);
	ret = kill(pid, 0);
	EXPECT_NE(0, ret) TH_LOG("swapoff does not end");
	if (ret) {
		EXPECT_TRUE(WIFEXITED(status));
		TH_LOG("swapoff ended with %d", WEXITSTATUS(status));
	}
	fault_may_lose(l, p, p + pages * SSW_PAGE);
	for (size_t i = 0; i < pages; i++)
		fault_touch(p + i * SSW_PAGE, 1, false, false);
	fault_load_print("swapoff of a removed drive", l, 1);
	EXPECT_EQ(0, l->wrong);
	EXPECT_GT(FAULT_HANG_NS, l->max_ns);
	munmap(p, pages * SSW_PAGE);
	ASSERT_EQ(0, plug(pci, dev, sizeof(dev)));
	TH_LOG("it is %s now", dev);
}

/*
 * A drive goes while processes swap to it and to the other drives. A process that has pages
 * on it gets SIGBUS, as in the base kernel; nothing hangs, and swapping to the others goes
 * on. The area stays, also as there: swapoff(2) has to open the device, which is gone.
 */
SSW_BODY(fault_device, removed)
{
	struct fault_load *l = ssw_shared((LOADS + 1) * sizeof(*l)), *own = l + LOADS;
	char pci[PATH_MAX], dev[64], *p;
	struct fault_count c;
	struct ssw_areas a;
	int t, ret;

	NEED_QUEUES();
	if (!third_drive(dev, sizeof(dev)))
		SKIP(return, "needs three spare drives");
	ASSERT_EQ(0, pci_of(dev, pci));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	t = ssw_on_cpu(dev, 2);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(2));
	p = fault_out(PAGES, 1, false);
	ASSERT_NE(NULL, p);
	/* Three of four CPUs have an area; pages of the fourth's go everywhere. */
	ASSERT_EQ(0, fault_load_start(l, LOADS, true, 150, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	fault_read(&c, "");
	EXPECT_EQ(0, pull(pci));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("the others do not go on");
	fault_may_lose(own, p, p + PAGES * SSW_PAGE);
	for (int i = 0; i < PAGES; i++)
		fault_touch(p + i * SSW_PAGE, 1, false, false);
	fault_load_print("pages on it", own, 1);
	EXPECT_EQ(0, own->wrong);
	EXPECT_LE(PAGES / 2, own->lost) TH_LOG("pages come from a drive that is gone");
	EXPECT_GT(FAULT_HANG_NS, own->max_ns);
	munmap(p, PAGES * SSW_PAGE);
	c = fault_since(&c, "");
	fault_print("removed", &c);
	fault_judge(_metadata, "removed", l, LOADS, true);
	/* Fails, but does not hang. */
	ret = fault_swapoff(dev, 60);
	TH_LOG("swapoff of it: %s", strerror(-ret));
	EXPECT_NE(-ETIMEDOUT, ret);
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120)) TH_LOG("%s", a.path[i]);
	}
	/* A new drive in its place can be used, in each way. */
	ASSERT_EQ(0, plug(pci, dev, sizeof(dev)));
	TH_LOG("it is %s now", dev);
	EXPECT_TRUE(fault_can_direct(dev));
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = fault_out(PAGES, 2, false);
	ASSERT_NE(NULL, p);
	fault_read(&c, "");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	c = fault_since(&c, "");
	EXPECT_LT(0, c.direct);
	munmap(p, PAGES * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
}

/* --- limits -------------------------------------------------------------------------- */

/*
 * A limit that the administrator sets is kept: reads that it applies to do not bypass it.
 * The drive keeps the code for limits enabled until it goes, so this is the last test.
 */
SSW_BODY(fault_device, limited)
{
	char limit[96], dev[64], *p;
	struct fault_count c;
	struct stat st;

	NEED_QUEUES();
	if (!third_drive(dev, sizeof(dev)))
		SKIP(return, "needs three spare drives");
	ssw_write(SSW_CG "/cgroup.subtree_control", "+io");
	if (access(SSW_CG "/ssw/io.max", W_OK))
		SKIP(return, "no io.max (CONFIG_BLK_DEV_THROTTLING)");
	ASSERT_EQ(0, stat(dev, &st));
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (int limits = 0; limits <= 1; limits++) {
		if (limits) {
			/* Far more than an emulated drive does: it is there, that is all. */
			snprintf(limit, sizeof(limit), "%u:%u rbps=2000000000",
				 major(st.st_rdev), minor(st.st_rdev));
			ASSERT_EQ(0, ssw_write(SSW_CG "/ssw/io.max", limit));
		}
		ASSERT_EQ(0, fault_set("mode", "direct"));
		p = fault_out(PAGES, 1, false);
		ASSERT_NE(NULL, p);
		fault_read(&c, "");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
		c = fault_since(&c, "");
		fault_print(limits ? "limited" : "not limited", &c);
		EXPECT_LE(PAGES * 9 / 10, c.major);
		EXPECT_ABOUT(limits ? c.major : 0, c.limited);
		EXPECT_ABOUT(limits ? 0 : c.major, c.direct);
		EXPECT_ABOUT(limits ? c.major : 0, c.irq);
		munmap(p, PAGES * SSW_PAGE);
	}
	/* A polled bio passes through the limit. */
	ASSERT_EQ(0, fault_set("mode", "auto"));
	p = fault_out(PAGES, 2, false);
	ASSERT_NE(NULL, p);
	fault_read(&c, "");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	c = fault_since(&c, "");
	EXPECT_ABOUT(c.major, c.bio);
	EXPECT_ABOUT(c.major, c.limited);
	munmap(p, PAGES * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
}

TEST_HARNESS_MAIN
