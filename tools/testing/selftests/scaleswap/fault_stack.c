// SPDX-License-Identifier: GPL-2.0
/*
 * Critical faults with layers between swap and a drive, or events above it: dm-crypt and
 * dm-linear, multipath, an IOMMU, suspend, sectors that cannot be read, and queues that
 * make the thread sleep while it reads ahead. Resets and removal of drives are in
 * fault_device.c.
 *
 * Most need a special machine: see the guests "stack" and "iommu". Each
 * test has a control, which shows that the failure would be seen.
 */
#include <dirent.h>
#include <linux/aio_abi.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "dm_util.h"
#include "fault_harness.h"

#ifndef O_DIRECT
#define O_DIRECT	040000
#endif

FAULT_FIXTURE(fault_stack, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	FAULT_PAGES
#define OTHERS	FAULT_OTHERS
#define LOADS	6

static const char * const modes[] = { "auto", "bio", "direct" };

/* Under load in each mode; @c gets what was counted. */
static void load_in_each_mode(struct __test_metadata *_metadata, struct fault_count *c)
{
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));

	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	fault_read(c, "");
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		ASSERT_EQ(0, fault_set("mode", modes[m]));
		ASSERT_EQ(0, fault_load_start(l, LOADS, false, 150, "ssw"));
		EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("%s", modes[m]);
		fault_judge(_metadata, modes[m], l, LOADS, false);
	}
	*c = fault_since(c, "");
	fault_print("load", c);
}

/* --- device mapper ------------------------------------------------------------- */

/*
 * The dm device says that it can be polled, as the device below it can. But not every
 * target passes that on: a polled bio of dm-crypt would never be found complete.
 */
static void on_dm(struct __test_metadata *_metadata, const char *target, const char *params)
{
	static const struct fault_way ways[] = {
		{ "auto", .irq = true, .no_poll = true },
		{ "bio", .irq = true, .no_poll = true },
		{ "direct", .irq = true, .no_poll = true },
		{ "off" },
	};
	long long sectors = fault_dev(ssw_bdev(0), "size");
	struct fault_load l = { };
	struct fault_count c;
	char dev[32], *p;
	int ret;

	if (access("/dev/mapper/control", W_OK))
		SKIP(return, "the kernel has no device mapper");
	ret = dm_make(target, params, sectors - 64, dev, sizeof(dev));
	if (ret == -EINVAL)
		SKIP(return, "the kernel has no dm-%s, or not this cipher", target);
	ASSERT_EQ(0, ret);
	/* The control: only that it is no queue of its own keeps it from being polled. */
	EXPECT_TRUE(fault_can_bio(dev)) TH_LOG("nothing to be mistaken about");
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	/* One page first: half a minute each would be long for all of them. */
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = fault_out(1, 1, false);
	ASSERT_NE(NULL, p);
	fault_may_lose(&l, p, p + SSW_PAGE);
	fault_touch(p, 1, false, false);
	ASSERT_GT(FAULT_HANG_NS, l.max_ns);
	EXPECT_EQ(0, l.wrong + l.lost);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	fault_reads(_metadata, dev, ways, ARRAY_SIZE(ways));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	load_in_each_mode(_metadata, &c);
	EXPECT_LT(0, c.irq);
	EXPECT_EQ(c.irq, c.no_poll);
	EXPECT_EQ(0, c.direct + c.bio + c.late + c.again);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	EXPECT_EQ(0, dm_gone());
}

SSW_BODY(fault_stack, dm_crypt)
{
	char params[256], *p = params;

	NEED_QUEUES();
	p += sprintf(p, "capi:xts(aes)-plain64 ");
	for (int i = 0; i < 64; i++)
		p += sprintf(p, "%02x", i * 37 & 255);
	sprintf(p, " 0 %s 64", ssw_bdev(0));
	on_dm(_metadata, "crypt", params);
}

SSW_BODY(fault_stack, dm_linear)
{
	char params[64];

	NEED_QUEUES();
	snprintf(params, sizeof(params), "%s 64", ssw_bdev(0));
	on_dm(_metadata, "linear", params);
}

/* --- multipath ------------------------------------------------------------------ */

/* A namespace that is reached by two controllers. */
struct mpath {
	char dev[64], subsys[64];
	char ctrl[2][32], pci[2][PATH_MAX];
};

/* Its controllers, by their names of now; how many of them are live. */
static int mp_paths(struct mpath *mp)
{
	char path[128], state[32];
	struct dirent *e;
	int n = 0, nr;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/class/nvme-subsystem/%s", mp->subsys);
	d = opendir(path);
	while (d && (e = readdir(d)) && n < 2) {
		if (sscanf(e->d_name, "nvme%d", &nr) != 1 || strchr(e->d_name + 4, 'n') ||
		    strchr(e->d_name + 4, 'c'))
			continue;
		if (fault_nvme_str(e->d_name, "state", state, sizeof(state)) <= 0 ||
		    strcmp(state, "live"))
			continue;
		snprintf(mp->ctrl[n], sizeof(mp->ctrl[n]), "%.31s", e->d_name);
		snprintf(path, sizeof(path), "/sys/class/nvme/%.31s/device", e->d_name);
		if (realpath(path, mp->pci[n]))
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

/* Wait for both; with a namespace each, or there is no path through it. */
static bool mp_both(struct mpath *mp)
{
	for (int i = 0; i < 1500; i++) {
		char path[256];
		int good = 0, ctrl, head, ns;

		sscanf(mp->dev, "/dev/nvme%dn%d", &head, &ns);
		for (int c = 0, n = mp_paths(mp); c < n; c++) {
			sscanf(mp->ctrl[c], "nvme%d", &ctrl);
			snprintf(path, sizeof(path), "/sys/class/nvme/%s/nvme%dc%dn%d", mp->ctrl[c],
				 head, ctrl, ns);
			good += !access(path, F_OK);
		}
		if (good == 2)
			return true;
		usleep(20000);
	}
	return false;
}

static bool mp_find(struct mpath *mp)
{
	char path[160], real[PATH_MAX];

	for (int i = 0; ssw_bdev(i); i++) {
		snprintf(mp->dev, sizeof(mp->dev), "%s", ssw_bdev(i));
		/* The head belongs to the subsystem, which alone has a policy. */
		snprintf(path, sizeof(path), "/sys/class/block/%s/device/iopolicy",
			 strrchr(mp->dev, '/') + 1);
		if (access(path, F_OK))
			continue;
		*strrchr(path, '/') = 0;
		if (!realpath(path, real))
			continue;
		snprintf(mp->subsys, sizeof(mp->subsys), "%.63s", strrchr(real, '/') + 1);
		return true;
	}
	return false;
}

/* Reads and writes that went through a path, since it is there. */
static long long mp_through(const struct mpath *mp, int c)
{
	int ctrl, head, ns;
	char file[64], line[256];
	long long reads, writes;

	sscanf(mp->dev, "/dev/nvme%dn%d", &head, &ns);
	sscanf(mp->ctrl[c], "nvme%d", &ctrl);
	snprintf(file, sizeof(file), "nvme%dc%dn%d/stat", head, ctrl, ns);
	if (fault_nvme_str(mp->ctrl[c], file, line, sizeof(line)) <= 0 ||
	    sscanf(line, "%lld %*d %*d %*d %lld", &reads, &writes) != 2)
		return SSW_NO_VALUE;
	return reads + writes;
}

#define NEED_MPATH(mp)							\
	do {								\
		NEED_QUEUES();						\
		if (!mp_find(mp))					\
			SKIP(return, "no drive with two controllers, or no multipath");	\
		ASSERT_TRUE(mp_both(mp)) TH_LOG("a path is missing");	\
	} while (0)

static long long mp_direct(const struct mpath *mp)
{
	return fault_nvme_num(mp->ctrl[0], "swap_reads") + fault_nvme_num(mp->ctrl[1], "swap_reads");
}

/* A read on one path could not be moved to another, so none is made directly. */
SSW_BODY(fault_stack, multipath)
{
	static const struct fault_way ways[] = {
		{ "auto", .irq = true, .no_poll = true },
		{ "direct", .irq = true, .no_poll = true },
		{ "bio", .irq = true, .no_poll = true }, { "off" },
	};
	struct mpath mp;

	NEED_MPATH(&mp);
	/* The control: both paths can be polled, and the head says so. */
	EXPECT_LT(0, fault_nvme_num(mp.ctrl[0], "swap_queues"));
	EXPECT_LT(0, fault_nvme_num(mp.ctrl[1], "swap_queues"));
	EXPECT_TRUE(fault_can_bio(mp.dev));
	ASSERT_EQ(0, ssw_mkswap(mp.dev, 8000));
	fault_reads(_metadata, mp.dev, ways, ARRAY_SIZE(ways));
	EXPECT_EQ(0, mp_direct(&mp));
}

/* The pages in front of a partition: written, or looked at whether they are still the same. */
static long in_front(const char *disk, char *buf, size_t pages, bool write)
{
	int fd = open(disk, O_RDWR | O_DIRECT | O_CLOEXEC);
	ssize_t size = pages * SSW_PAGE, done;

	if (fd < 0)
		return -errno;
	if (write)
		ssw_stamp(buf, pages, 77);
	else
		memset(buf, 0, size);
	done = write ? pwrite(fd, buf, size, 0) : pread(fd, buf, size, 0);
	close(fd);
	if (done != size)
		return -EIO;
	return ssw_wrong(buf, pages, 77);
}

/*
 * A slot of a partition on the head cannot be written. The retried writes go to that
 * partition: the sectors in front of it stay as they are, and each page comes back.
 */
SSW_BODY(fault_stack, multipath_write_error)
{
	static const char * const most[] = { "1", "128" };
	const size_t pages = 500, front = 1024;
	struct fault_load *l = ssw_shared(sizeof(*l));
	char dev[80], *p, *before;
	struct mpath mp;

	NEED_MPATH(&mp);
	ASSERT_NE(NULL, l);
	/* Where the guest "stack" has the sector that cannot be written; in slot 400. */
	ASSERT_EQ(0, ssw_partition(mp.dev, 7, 64LL << 20, 40LL << 20));
	snprintf(dev, sizeof(dev), "%sp7", mp.dev);
	before = ssw_map(front, false);
	ASSERT_NE(NULL, before);
	ASSERT_EQ(0, in_front(mp.dev, before, front, true));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		long long batched = io_num("batched"), alone = ssw_stat("fallback/no_batch");
		long dirty;

		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		ASSERT_EQ(0, ssw_mkswap(dev, 8000));
		ASSERT_LE(0, ssw_on_cpu(dev, 0));
		ASSERT_EQ(0, ssw_pin(0));
		mlockall(MCL_CURRENT);
		p = ssw_map(pages, false);
		ASSERT_NE(NULL, p);
		/* Another stamp each time, so that earlier contents of the slots are wrong. */
		ssw_stamp(p, pages, m + 1);
		dirty = fault_write_out(p, pages);
		EXPECT_LE(1, dirty) TH_LOG("no write has failed: nothing was tested");
		EXPECT_LE(0, fault_in_slot(p, pages, 400)) TH_LOG("nothing was tested");
		EXPECT_EQ(0, in_front(mp.dev, before, front, false))
			TH_LOG("%s pages in a bio: written outside of the partition", most[m]);
		EXPECT_EQ(batched, io_num("batched")) TH_LOG("the head is no queue of its own");
		alone = ssw_stat("fallback/no_batch") - alone;
		EXPECT_LE(m ? (long long)pages : 0, alone);
		EXPECT_GE(m ? (long long)pages + OTHERS : 0, alone);
		fault_evict("ssw");
		memset(l, 0, sizeof(*l));
		fault_may_lose(l, p, p + pages * SSW_PAGE);
		for (size_t i = 0; i < pages; i++)
			fault_touch(p + i * SSW_PAGE, m + 1, false, false);
		printf("# %s pages in a bio: %ld not written, %ld wrong, %ld lost\n", most[m],
		       dirty, l->wrong, l->lost);
		EXPECT_EQ(0, l->wrong);
		EXPECT_EQ(0, l->lost);
		munmap(p, pages * SSW_PAGE);
		EXPECT_EQ(0, fault_swapoff(dev, 120));
	}
	EXPECT_EQ(0, ssw_partition(mp.dev, 7, 0, 0));
}

/* One path is reset, then the other, then each is taken away: nothing is lost. */
SSW_BODY(fault_stack, multipath_paths_go)
{
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	struct fault_count c;
	char path[PATH_MAX + 16];
	struct mpath mp;

	NEED_MPATH(&mp);
	ASSERT_NE(NULL, l);
	/* Swap to both alternately, so that either path has reads in flight when it goes. */
	snprintf(path, sizeof(path), "/sys/class/nvme-subsystem/%s/iopolicy", mp.subsys);
	ASSERT_EQ(0, ssw_write(path, "round-robin"));
	ASSERT_EQ(0, ssw_mkswap(mp.dev, 8000));
	ASSERT_LE(0, ssw_on_cpu(mp.dev, 0));
	ASSERT_EQ(0, fault_set("mode", "auto"));
	ASSERT_EQ(0, fault_load_start(l, LOADS, false, 150, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	fault_read(&c, "");
	for (int i = 0; i < 8; i++) {
		long long through = mp_through(&mp, i % 2);

		EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("they do not go on");
		EXPECT_LT(through, mp_through(&mp, i % 2)) TH_LOG("it was idle: nothing was tested");
		EXPECT_EQ(0, fault_reset(mp.ctrl[i % 2]));
	}
	EXPECT_TRUE(mp_both(&mp));
	for (int i = 0; i < 2; i++) {
		char gone[PATH_MAX];

		snprintf(gone, sizeof(gone), "%s", mp.pci[i]);
		snprintf(path, sizeof(path), "%s/remove", gone);
		EXPECT_EQ(0, ssw_write(path, "1"));
		EXPECT_EQ(1, mp_paths(&mp));
		EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("they do not go on");
		EXPECT_EQ(0, ssw_write("/sys/bus/pci/rescan", "1"));
		EXPECT_TRUE(mp_both(&mp)) TH_LOG("%s does not come back", gone);
	}
	c = fault_since(&c, "");
	fault_print("multipath", &c);
	fault_judge(_metadata, "multipath", l, LOADS, false);
	EXPECT_LT(0, c.irq);
	EXPECT_EQ(0, c.direct + c.bio);
	EXPECT_EQ(0, mp_direct(&mp));
	EXPECT_EQ(0, fault_swapoff(mp.dev, 120));
}

/* --- sectors that cannot be read --------------------------------------------------- */

/*
 * The drive ssw-bad (QEMU's blkdebug) is swapped to as a whole. It fails to read slots 100
 * and 200, and slot 300 once; it fails to write slot 400, and slot 450 once.
 */
static const unsigned long bad_slots[] = { 100, 200, 300 };

/*
 * Slot 400 cannot be written, and 450 once cannot: the one page stays in memory, and those
 * in the bio with it, which failed as a whole, go out at once. With one page in a bio, as in
 * the base kernel (the control), those that the block layer has merged with it stay, too,
 * until reclaim has tried often enough.
 */
SSW_BODY(fault_stack, bad_sectors_written)
{
	static const char * const most[] = { "128", "1" };
	const size_t pages = 500;
	struct fault_load *l = ssw_shared(sizeof(*l));
	struct fault_count c;
	char dev[64], *p;

	NEED_FAULT();
	if (!fault_drive("ssw-bad", dev, sizeof(dev)))
		SKIP(return, "no drive with the serial number ssw-bad");
	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(most); m++) {
		long skip[ARRAY_SIZE(bad_slots)], dirty;
		long long stay;

		ASSERT_EQ(0, io_set("bio_pages", most[m]));
		ASSERT_LE(0, ssw_on_cpu(dev, 0));
		ASSERT_EQ(0, ssw_pin(0));
		mlockall(MCL_CURRENT);
		p = ssw_map(pages, false);
		ASSERT_NE(NULL, p);
		ssw_stamp(p, pages, m + 1);
		/* Before reclaim tries again, which would hide it. */
		dirty = fault_write_out(p, pages);
		ASSERT_LE(0, dirty);
		fault_evict("ssw");
		EXPECT_LE(0, fault_in_slot(p, pages, 400)) TH_LOG("nothing is tested");
		EXPECT_LE(0, fault_in_slot(p, pages, 450)) TH_LOG("nothing is tested");
		stay = ssw_cgroup_stat("ssw", "swapcached") / SSW_PAGE;
		memset(l, 0, sizeof(*l));
		fault_may_lose(l, p, p + pages * SSW_PAGE);
		/* Not those that cannot be read, or once cannot: for the next test. */
		for (size_t i = 0; i < ARRAY_SIZE(bad_slots); i++)
			skip[i] = fault_in_slot(p, pages, bad_slots[i]);
		fault_read(&c, "");
		for (long i = 0; i < (long)pages; i++)
			if (i != skip[0] && i != skip[1] && i != skip[2])
				fault_touch(p + i * SSW_PAGE, m + 1, false, false);
		c = fault_since(&c, "");
		fault_print(most[m], &c);
		printf("# %s pages in a bio: %ld not written, %lld stay in memory\n", most[m],
		       dirty, stay);
		if (!m) {
			EXPECT_LE(1, dirty);
			EXPECT_GE(OTHERS, dirty);
			EXPECT_EQ(1, stay);
		} else {
			EXPECT_LT(OTHERS, dirty) TH_LOG("none failed with it");
			EXPECT_LE(1, stay);
		}
		EXPECT_LE((long long)pages - 4 - stay, c.pswpin);
		EXPECT_EQ(0, l->wrong);
		EXPECT_EQ(0, l->lost);
		munmap(p, pages * SSW_PAGE);
		EXPECT_EQ(0, fault_swapoff(dev, 120));
	}
}

/*
 * Whose page cannot be read gets SIGBUS, as in the base kernel (mode "off", the control),
 * after one more try by an ordinary bio. All others are right.
 */
SSW_BODY(fault_stack, bad_sectors)
{
	static const struct {
		const char *mode;
		int lost, again;
	} ways[] = {
		/* In this order: the slot that fails once is good from then on. */
		{ "direct", 2, 3 }, { "direct", 2, 2 }, { "auto", 2, 2 }, { "bio", 2, 0 },
		{ "off", 2, 0 },
	};
	const size_t pages = 380;
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	struct fault_count c;
	long long retries, batched;
	char dev[64], *p;

	NEED_QUEUES();
	if (!fault_drive("ssw-bad", dev, sizeof(dev)))
		SKIP(return, "no drive with the serial number ssw-bad");
	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_mkswap(dev, 8000));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(ways); m++) {
		ASSERT_EQ(0, fault_set("mode", ways[m].mode));
		/* Anew, so that it begins with the same slots. */
		ASSERT_LE(0, ssw_on_cpu(dev, 0));
		ASSERT_EQ(0, ssw_pin(0));
		p = fault_out(pages, m + 1, false);
		ASSERT_NE(NULL, p);
		for (size_t i = 0; i < ARRAY_SIZE(bad_slots); i++) {
			EXPECT_LE(0, fault_in_slot(p, pages, bad_slots[i]))
				TH_LOG("no page in slot %lu: nothing is tested", bad_slots[i]);
		}
		memset(l, 0, sizeof(*l));
		fault_may_lose(l, p, p + pages * SSW_PAGE);
		retries = fault_dev(dev, "device/swap_retries");
		fault_read(&c, "");
		for (size_t i = 0; i < pages; i++) {
			long page = fault_in_slot(p + i * SSW_PAGE, 1, bad_slots[0]) < 0 &&
				    fault_in_slot(p + i * SSW_PAGE, 1, bad_slots[1]) < 0;

			/* Exactly these are lost. */
			EXPECT_EQ(page, fault_touch(p + i * SSW_PAGE, m + 1, false, false));
		}
		c = fault_since(&c, "");
		retries = fault_dev(dev, "device/swap_retries") - retries;
		fault_print(ways[m].mode, &c);
		fault_load_print(ways[m].mode, l, 1);
		EXPECT_EQ(0, l->wrong);
		EXPECT_EQ(ways[m].lost, l->lost);
		EXPECT_EQ(ways[m].again, c.again);
		EXPECT_EQ(ways[m].again, retries);
		EXPECT_GT(FAULT_HANG_NS, l->max_ns);
		munmap(p, pages * SSW_PAGE);
		EXPECT_EQ(0, fault_swapoff(dev, 120));
	}

	/* Read ahead with others in one bio, they are not to take these along. */
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = fault_out(pages, 1, false);
	ASSERT_NE(NULL, p);
	EXPECT_LE(0, fault_in_slot(p, pages, bad_slots[0]));
	memset(l, 0, sizeof(*l));
	fault_may_lose(l, p, p + pages * SSW_PAGE);
	fault_read(&c, "");
	batched = io_num("batched");
	for (size_t i = 0; i < pages; i++)
		fault_touch(p + i * SSW_PAGE, 1, false, false);
	c = fault_since(&c, "");
	fault_print("read ahead", &c);
	EXPECT_LE((long long)pages / 2, io_num("batched") - batched);
	EXPECT_EQ(0, l->wrong);
	EXPECT_EQ(2, l->lost);
	/* At least one of them was in a bio with adjacent pages. */
	EXPECT_LE(4, c.again);
	munmap(p, pages * SSW_PAGE);

	/* Under load; a page that failed in readahead is lost to the process that touches it. */
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		ASSERT_EQ(0, fault_set("mode", modes[m]));
		ASSERT_EQ(0, fault_load_start(l, LOADS, true, 150, "ssw"));
		EXPECT_TRUE(fault_load_more(l, LOADS, 2)) TH_LOG("%s", modes[m]);
		fault_judge(_metadata, modes[m], l, LOADS, true);
	}
	/* And swapoff goes on past them; a page that it could not read is lost. */
	ASSERT_EQ(0, fault_set("mode", "direct"));
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = fault_out(pages, 1, false);
	ASSERT_NE(NULL, p);
	EXPECT_LE(0, fault_in_slot(p, pages, bad_slots[0]));
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	memset(l, 0, sizeof(*l));
	fault_may_lose(l, p, p + pages * SSW_PAGE);
	for (size_t i = 0; i < pages; i++)
		fault_touch(p + i * SSW_PAGE, 1, false, false);
	EXPECT_EQ(0, l->wrong);
	EXPECT_EQ(2, l->lost);
}

/* --- a thread that sleeps while it reads ahead --------------------------------------- */

/* Swap the pages out to slots that are adjacent or, with @scatter, far from one another. */
static void out_again(char *p, size_t pages, bool scatter)
{
	if (!scatter)
		madvise(p, pages * SSW_PAGE, MADV_PAGEOUT);
	for (size_t i = 0; scatter && i < pages; i++)
		madvise(p + i * 37 % pages * SSW_PAGE, SSW_PAGE, MADV_PAGEOUT);
	ssw_evict("ssw");
}

/*
 * Polling is without limit, for these reads, and each is there at the first look: a read
 * that is handed over can only be that of a thread which slept before it looked. It does
 * where readahead finds no room in the queue.
 */
SSW_BODY(fault_stack, sleeps_before_it_polls)
{
	static const struct {
		const char *what, *depth, *readahead;
		bool late;
	} ways[] = {
		{ "no room for readahead", "1", "1", true },
		/* The controls */
		{ "room", "64", "1", false },
		{ "no readahead", "1", "0", false },
	};

	NEED_FAULT();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int ret = fault_nullb("1", ways[i].depth, "2000000");
		struct fault_count c;
		char *p;

		if (ret)
			SKIP(return, "no null_blk device with poll queues (%s)", strerror(-ret));
		ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 0));
		ASSERT_EQ(0, ssw_pin(0));
		ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
		ASSERT_EQ(0, fault_set("mode", "bio"));
		ASSERT_EQ(0, fault_set("poll_us", "100000"));
		ASSERT_EQ(0, fault_set("readahead", ways[i].readahead));
		mlockall(MCL_CURRENT);
		p = ssw_map(PAGES, false);
		ASSERT_NE(NULL, p);
		ssw_stamp(p, PAGES, i + 1);
		out_again(p, PAGES, true);
		fault_evict("ssw");
		fault_read(&c, "");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		c = fault_since(&c, "");
		fault_print(ways[i].what, &c);
		EXPECT_ABOUT(c.major, c.bio);
		if (ways[i].late) {
			EXPECT_LE(PAGES / 16, c.late) TH_LOG("%s", ways[i].what);
		} else {
			EXPECT_GE(2, c.late) TH_LOG("%s", ways[i].what);
		}
		munmap(p, PAGES * SSW_PAGE);
		fault_nullb_gone();
	}
}

/* As a process of its own: touches its pages in order, so that others are read ahead. */
static int ahead_start(struct fault_load *l, int cpu, size_t pages, bool scatter)
{
	char *p;

	memset(l, 0, sizeof(*l));
	l->pid = ssw_fork();
	if (l->pid)
		return l->pid < 0 ? -errno : 0;
	ssw_pin(cpu);
	mlockall(MCL_CURRENT);
	p = ssw_map(pages, false);
	if (!p)
		_exit(78);
	fault_may_lose(l, p, p + pages * SSW_PAGE);
	while (!l->stop && !l->wrong) {
		madvise(p, pages * SSW_PAGE, MADV_DONTNEED);
		ssw_stamp(p, pages, l->rounds + 1);
		out_again(p, pages, scatter);
		for (size_t i = 0; i < pages && !l->stop; i++)
			fault_touch(p + i * SSW_PAGE, l->rounds + 1, false, false);
		l->rounds++;
	}
	fflush(stdout);
	_exit(l->wrong ? 1 : 0);
}

/*
 * A queue is frozen in between: the freeze waits for the reads in flight, and their threads
 * wait for the queue as they read ahead. One thread a drive, so that no other thread finds
 * a read complete by accident.
 */
SSW_BODY(fault_stack, frozen_while_it_reads_ahead)
{
	struct fault_load *l = ssw_shared(2 * sizeof(*l));
	char path[2][128], was[2][32];
	struct fault_count c;
	struct ssw_areas a;
	uint64_t rnd = 7;
	int freezes = 0;

	NEED_QUEUES();
	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, fault_set("mode", "bio"));
	ASSERT_EQ(0, fault_set("poll_us", "100000"));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	ASSERT_EQ(2, a.n);
	for (int i = 0; i < a.n; i++) {
		snprintf(path[i], sizeof(path[i]), "/sys/class/block/%s/queue/nr_requests",
			 strrchr(a.path[i], '/') + 1);
		ASSERT_LT(0, ssw_read(path[i], was[i], sizeof(was[i])));
	}
	/* On the CPUs that the areas belong to; this one elsewhere. */
	for (int i = 0; i < a.n; i++) {
		ASSERT_EQ(0, ahead_start(&l[i], a.cpu[i], 512, i));
	}
	ASSERT_EQ(0, ssw_pin(ssw_nr_possible() - 1));
	EXPECT_TRUE(fault_load_more(l, a.n, 1));
	fault_read(&c, "");
	/* Changing it freezes the queue. */
	for (int i = 0; i < 100 && fault_load_longest(l, a.n) < FAULT_HANG_NS; i++) {
		freezes += !ssw_write(path[i % a.n], i % 4 < 2 ? "64" : "65");
		usleep(ssw_random(&rnd) % 10000);
	}
	c = fault_since(&c, "");
	fault_print("frozen", &c);
	TH_LOG("frozen %d times", freezes);
	EXPECT_LT(0, freezes);
	EXPECT_LT(0, c.bio);
	EXPECT_TRUE(fault_load_more(l, a.n, 1)) TH_LOG("they do not go on");
	fault_judge(_metadata, "frozen", l, a.n, false);
	for (int i = 0; i < a.n; i++) {
		ssw_write(path[i], was[i]);
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120));
	}
}

/* --- suspend ------------------------------------------------------------------------- */

#define TEST_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

/* How often a drive was given queues for direct reads, since boot. */
static int said_queues(void)
{
	return fault_said("nvme", "poll queues for swap");
}

/*
 * Suspended down to a level, then at once resumed, while pages are read. From "devices" on
 * drives lose their queues and get new ones, which the kernel says; with "freezer", the
 * control, they keep them.
 */
SSW_BODY(fault_stack, suspend)
{
	static const struct {
		const char *level, *state;
		bool anew;
	} ways[] = {
		{ "freezer", "mem", false }, { "devices", "mem", true },
		{ "devices", "freeze", true }, { "platform", "mem", true },
		{ "core", "mem", true }, { "devices", "mem", true },
	};
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	struct fault_count c;
	struct ssw_areas a;
	char states[64];

	NEED_QUEUES();
	if (access("/sys/power/pm_test", W_OK))
		SKIP(return, "no /sys/power/pm_test (CONFIG_SUSPEND, CONFIG_PM_DEBUG)");
	ASSERT_NE(NULL, l);
	ASSERT_LT(0, ssw_read("/sys/power/state", states, sizeof(states)));
	ssw_write(TEST_DELAY, "0");
	ASSERT_EQ(0, fault_set("mode", "direct"));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	ASSERT_EQ(0, fault_load_start(l, LOADS, false, 200, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int said = said_queues(), more = 0, ret;

		if (!strstr(states, ways[i].state)) {
			TH_LOG("this machine does not know '%s'", ways[i].state);
			continue;
		}
		fault_set("poll_us", i % 2 ? "0" : "100");
		ASSERT_EQ(0, ssw_write("/sys/power/pm_test", ways[i].level));
		ret = ssw_write("/sys/power/state", ways[i].state);
		EXPECT_EQ(0, ssw_write("/sys/power/pm_test", "none"));
		EXPECT_EQ(0, ret) TH_LOG("%s, %s", ways[i].level, ways[i].state);
		/* A drive is reset when it resumes, and that goes on in the background. */
		for (int j = 0; j < 500 && ways[i].anew && more < a.n; j++) {
			usleep(10000);
			more = said_queues() - said;
		}
		if (ways[i].anew) {
			EXPECT_LE(a.n, more) TH_LOG("%s: no queue was made anew", ways[i].level);
		} else {
			EXPECT_EQ(said, said_queues());
		}
		for (int j = 0; j < a.n; j++) {
			for (int k = 0; k < 500 && !fault_can_direct(a.path[j]); k++)
				usleep(10000);
			EXPECT_TRUE(fault_can_direct(a.path[j])) TH_LOG("%s", a.path[j]);
		}
		fault_read(&c, "");
		EXPECT_TRUE(fault_load_more(l, LOADS, 1)) TH_LOG("they do not go on");
		c = fault_since(&c, "");
		fault_print(ways[i].level, &c);
		EXPECT_LT(0, c.direct) TH_LOG("no direct reads after %s", ways[i].level);
	}
	fault_judge(_metadata, "suspend", l, LOADS, false);
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120));
	}
}

/* --- an IOMMU -------------------------------------------------------------------------- */

static int dma_faults(void)
{
	return fault_said("DMAR:", "fault");
}

/* The drive's registers, and where they are. */
#define NVME_CC		(0x14 / 4)
#define NVME_CSTS	(0x1c / 4)
#define NVME_AQA	(0x24 / 4)
#define NVME_ASQ	(0x28 / 4)
#define NVME_ACQ	(0x30 / 4)
#define NVME_SQ0_TAIL	(0x1000 / 4)

static bool nvme_ready(volatile uint32_t *bar, bool want)
{
	for (int i = 0; i < 500; i++) {
		if ((bar[NVME_CSTS] & 1) == want)
			return true;
		usleep(10000);
	}
	return false;
}

/* Have a drive without a driver fetch a command from where no memory is mapped for it. */
static int stray_dma(const char *pci)
{
	const uint32_t nowhere = 0x12340000;
	volatile uint32_t *bar;
	char path[PATH_MAX + 16];
	int fd, ret = 0;
	uint16_t cmd;

	snprintf(path, sizeof(path), "%s/enable", pci);
	ret = ssw_write(path, "1");
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/config", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pread(fd, &cmd, 2, 4) != 2)
		return -errno;
	cmd |= 6;	/* memory, bus master */
	if (pwrite(fd, &cmd, 2, 4) != 2)
		ret = -errno;
	close(fd);
	snprintf(path, sizeof(path), "%s/resource0", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (ret || fd < 0)
		return ret ? ret : -errno;
	bar = mmap(NULL, 2 * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bar == MAP_FAILED)
		return -errno;
	bar[NVME_CC] = 0;
	if (!nvme_ready(bar, false))
		ret = -EBUSY;
	bar[NVME_AQA] = 31 | 31 << 16;
	bar[NVME_ASQ] = nowhere;
	bar[NVME_ASQ + 1] = 0;
	bar[NVME_ACQ] = nowhere + SSW_PAGE;
	bar[NVME_ACQ + 1] = 0;
	/* Enabled, with entries of 64 and 16 bytes */
	bar[NVME_CC] = 1 | 6 << 16 | 4 << 20;
	if (!ret && !nvme_ready(bar, true))
		ret = -ETIME;
	bar[NVME_SQ0_TAIL] = 1;
	usleep(200000);
	bar[NVME_CC] = 0;
	nvme_ready(bar, false);
	munmap((void *)bar, 2 * SSW_PAGE);
	snprintf(path, sizeof(path), "%s/enable", pci);
	ssw_write(path, "0");
	return ret;
}

/*
 * To come last: in all tests before, no drive has accessed a page that was not, or no
 * longer, its own. With iommu.strict=1 that is a fault at once. The control makes one.
 *
 * QEMU asks the IOMMU when it begins with a command, not with each access. So this test
 * sees a command whose page was unmapped, or never mapped so, before the drive began. Only
 * hardware would show one that was unmapped after that.
 */
SSW_BODY(fault_stack, no_stray_dma)
{
	char path[160], pci[PATH_MAX], type[32];

	NEED_QUEUES();
	if (!fault_booted_with("intel_iommu=on"))
		SKIP(return, "not booted with intel_iommu=on iommu.strict=1 (and an IOMMU)");
	for (int i = 0; ssw_bdev(i); i++) {
		snprintf(path, sizeof(path), "/sys/class/block/%s/device/device/iommu_group/type",
			 strrchr(ssw_bdev(i), '/') + 1);
		ASSERT_LT(0, ssw_read(path, type, sizeof(type)));
		/* Not "DMA-FQ", where a page can be accessed for a while after it was unmapped */
		EXPECT_STREQ("DMA", type);
	}
	ASSERT_EQ(0, dma_faults());

	snprintf(path, sizeof(path), "/sys/class/nvme/%s/device", fault_ctrl(ssw_bdev(0)));
	ASSERT_NE(NULL, realpath(path, pci));
	ASSERT_EQ(0, ssw_write("/sys/bus/pci/drivers/nvme/unbind", strrchr(pci, '/') + 1));
	EXPECT_EQ(0, stray_dma(pci));
	EXPECT_LT(0, dma_faults()) TH_LOG("the control makes no fault");
	EXPECT_EQ(0, ssw_write("/sys/bus/pci/drivers/nvme/bind", strrchr(pci, '/') + 1));
}

TEST_HARNESS_MAIN
