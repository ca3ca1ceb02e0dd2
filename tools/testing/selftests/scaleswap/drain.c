// SPDX-License-Identifier: GPL-2.0
/*
 * An area is emptied while it is in use: areas/<type>/drain.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "drain_harness.h"
#include "fault_util.h"

SSW_FIXTURE(drain, SSW_NEED_ON | SSW_NEED_BDEV)

#define ZSWAP	"/sys/module/zswap/parameters/"
#define KB	(SSW_PAGE / 1024)

/* Free swap space is what is free in the other area. Programs may change it between two looks. */
static bool only_other_is_free(void)
{
	long long is = 0, should = 0;

	/* So many looks, not so long: most mutants would take hours. */
	for (int i = 0; i < 200; i++) {
		long long used = ssw_area(other, "used");

		is = ssw_meminfo("SwapFree");
		should = (ssw_area(other, "pages") - used) * KB;
		if (used == ssw_area(other, "used") && is == should)
			return true;
		usleep(20000);
	}
	printf("# SwapFree is %lld kB, not %lld\n", is, should);
	return false;
}

static char *filled(struct __test_metadata *_metadata, size_t pages, uint64_t gen)
{
	char *p = ssw_map(pages, false);

	ASSERT_NE(NULL, p);
	ssw_stamp(p, pages, gen);
	out(_metadata, p, pages);
	return p;
}

static long long oom_kills(void)
{
	return ssw_proc_num(SSW_CG "/ssw/memory.events", "oom_kill");
}

/* Slots move to the other area, new ones are there, and swapoff has nothing to do. */
SSW_BODY(drain, empties)
{
	long long count = ssw_num(DEFRAG "drained"), read = ssw_num(DEFRAG "bytes_read");
	char *p, *q;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	EXPECT_TRUE(is(type, "off"));
	p = filled(_metadata, PAGES, 1);
	ASSERT_LE(PAGES - SSW_SLACK, in(p, PAGES, type));
	ASSERT_EQ(0, drain(type, "1"));
	EXPECT_EQ(1, ssw_area(type, "drain"));
	EXPECT_TRUE(only_other_is_free());
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_EQ(0, ssw_area(type, "used"));
	EXPECT_EQ(0, ssw_area(type, "drain_unreadable"));
	EXPECT_LE(PAGES - SSW_SLACK, ssw_num(DEFRAG "drained") - count);
	EXPECT_LE((PAGES - SSW_SLACK) * (long long)SSW_PAGE, ssw_num(DEFRAG "bytes_read") - read);
	EXPECT_LE(PAGES - SSW_SLACK, in(p, PAGES, other));
	EXPECT_TRUE(only_other_is_free());
	q = filled(_metadata, PAGES, 2);
	EXPECT_EQ(0, in(q, PAGES, type));
	EXPECT_EQ(0, ssw_area(type, "used"));
	EXPECT_TRUE(only_other_is_free());
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 2));
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_TRUE(only_other_is_free());
	EXPECT_EQ(ssw_area(other, "pages") * KB, ssw_meminfo("SwapTotal"));
}

/* 0 takes it back, whatever was moved until then. */
SSW_BODY(drain, taken_back)
{
	long long total;
	char *p, *q;

	two_on(_metadata);
	total = ssw_meminfo("SwapTotal");
	p = filled(_metadata, PAGES, 3);
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, drain(type, "1"));
		usleep(i * 5000);
		/* Some are freed while they do not count. */
		madvise(p + i * 16 * SSW_PAGE, 8 * SSW_PAGE, MADV_DONTNEED);
		ASSERT_EQ(0, drain(type, "0"));
		EXPECT_TRUE(is(type, "off"));
	}
	EXPECT_EQ(total, ssw_meminfo("SwapTotal"));
	for (int i = 0; i < 200; i++) {
		if (total - ssw_meminfo("SwapFree") ==
		    (ssw_area(type, "used") + ssw_area(other, "used")) * KB)
			break;
		usleep(20000);
	}
	EXPECT_EQ((ssw_area(type, "used") + ssw_area(other, "used")) * KB,
		  total - ssw_meminfo("SwapFree"));
	q = filled(_metadata, SLOTS, 4);
	EXPECT_LE(SLOTS - SSW_SLACK, in(q, SLOTS, type));
	EXPECT_EQ(0, ssw_wrong(p + 128 * SSW_PAGE, PAGES - 128, 3));
	EXPECT_EQ(0, ssw_wrong(q, SLOTS, 4));
}

/* Without another area pages come into memory, if there is some. */
SSW_BODY(drain, into_memory)
{
	long long count = ssw_num(DEFRAG "drained_in");
	char *p;

	area_on(_metadata, ssw_bdev(0));
	p = filled(_metadata, PAGES, 5);
	ASSERT_EQ(0, drain(type, "1"));
	EXPECT_EQ(0, ssw_meminfo("SwapFree"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(PAGES - SSW_SLACK, ssw_num(DEFRAG "drained_in") - count);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 5));
	ASSERT_EQ(0, ssw_swapoff(dev));
}

/* There is no room: it waits, says so, and kills nothing. Then there is room. */
SSW_BODY(drain, blocked)
{
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 6);
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.max",
				    ssw_num(SSW_CG "/ssw/memory.current") + 512 * SSW_PAGE));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "blocked"));
	EXPECT_LE(PAGES / 2, ssw_area(type, "used"));
	EXPECT_EQ(0, oom_kills());
	other_on(_metadata);
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_TRUE(only_other_is_free());
	ASSERT_EQ(0, ssw_write(SSW_CG "/ssw/memory.max", "max"));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 6));
	EXPECT_EQ(0, oom_kills());
}

/* Shared pages and those of tmpfs, and such whose notes are wrong, come to memory. */
SSW_BODY(drain, what_has_no_note)
{
	char *p, *shmem, *moved, c;
	pid_t pid[3];
	int end[2];

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 7);
	shmem = mmap(NULL, SLOTS * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, shmem);
	ssw_stamp(shmem, SLOTS, 8);
	madvise(shmem, SLOTS * SSW_PAGE, MADV_PAGEOUT);
	ssw_evict("ssw");
	ASSERT_EQ(0, pipe(end));
	for (int i = 0; i < 3; i++) {
		pid[i] = ssw_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i]) {
			close(end[1]);
			munmap(p, PAGES / 2 * SSW_PAGE);
			if (read(end[0], &c, 1))
				_exit(2);
			_exit(ssw_wrong(p + PAGES / 2 * SSW_PAGE, PAGES / 2, 7) ? 1 : 0);
		}
	}
	close(end[0]);
	moved = mmap(NULL, SLOTS * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, moved);
	ASSERT_EQ(moved, mremap(p, SLOTS * SSW_PAGE, SLOTS * SSW_PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_TRUE(only_other_is_free());
	EXPECT_EQ(0, ssw_wrong_as(moved, SLOTS, 7, p));
	EXPECT_EQ(0, ssw_wrong(p + SLOTS * SSW_PAGE, PAGES - SLOTS, 7));
	EXPECT_EQ(0, ssw_wrong(shmem, SLOTS, 8));
	close(end[1]);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
}

/* Pages of zeros, and those that zswap has, change their area without the device. */
SSW_BODY(drain, without_the_device)
{
	long long read = ssw_num(DEFRAG "bytes_read"), zero = ssw_num(DEFRAG "moved_zero");
	long long zswap = ssw_num(DEFRAG "moved_zswap");
	char *p, *q;

	if (ssw_write(ZSWAP "enabled", "1"))
		SKIP(return, "no zswap");
	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = ssw_map(PAGES, false);
	ASSERT_NE(NULL, p);
	for (size_t i = 0; i < PAGES; i++)
		p[i * SSW_PAGE] = 0;
	out(_metadata, p, PAGES);
	q = filled(_metadata, PAGES, 9);
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	ssw_write(ZSWAP "enabled", "0");
	EXPECT_LE(PAGES - SSW_SLACK, ssw_num(DEFRAG "moved_zero") - zero);
	EXPECT_LE(PAGES - SSW_SLACK, ssw_num(DEFRAG "moved_zswap") - zswap);
	EXPECT_GE(SSW_SLACK * (long long)SSW_PAGE, ssw_num(DEFRAG "bytes_read") - read);
	EXPECT_EQ(0, ssw_not_zero(p, PAGES));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 9));
}

/* The charge goes along. */
SSW_BODY(drain, keeps_the_charge)
{
	long long charged, after;
	char *p;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 10);
	charged = ssw_num(SSW_CG "/ssw/memory.swap.current");
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(PAGES - SSW_SLACK, in(p, PAGES, other));
	after = ssw_num(SSW_CG "/ssw/memory.swap.current");
	EXPECT_GE(64 * (long long)SSW_PAGE, llabs(charged - after));
}

static volatile bool off_done;

static void on_usr1(int sig)
{
	(void)sig;
}

static void *signals(void *arg)
{
	while (!off_done) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		usleep(1000);
	}
	return NULL;
}

/* A swapoff that a signal ends leaves the area as it was: nothing is allocated from it. */
SSW_BODY(drain, after_swapoff)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	pthread_t self = pthread_self(), sender;
	char *p, *q;
	int ret;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 11);
	/* It cannot end by itself. */
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.max",
				    ssw_num(SSW_CG "/ssw/memory.current") + 512 * SSW_PAGE));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "blocked"));
	ASSERT_EQ(0, ssw_write(SSW_CG "/ssw/memory.max", "max"));
	other_on(_metadata);
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, pthread_create(&sender, NULL, signals, &self));
	ret = ssw_swapoff(dev);
	off_done = true;
	ASSERT_EQ(0, pthread_join(sender, NULL));
	if (!ret)
		SKIP(return, "swapoff was faster than the signal");
	EXPECT_EQ(-EINTR, ret);
	EXPECT_EQ(1, ssw_area(type, "drain"));
	EXPECT_TRUE(only_other_is_free());
	q = filled(_metadata, SLOTS, 12);
	EXPECT_EQ(0, in(q, SLOTS, type));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_TRUE(only_other_is_free());
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 11));
	EXPECT_EQ(0, ssw_wrong(q, SLOTS, 12));
	ASSERT_EQ(0, ssw_swapoff(dev));
}

static sigjmp_buf after_bus;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(after_bus, 1);
}

/*
 * The drive ssw-bad fails to read slots 1124 and 1224, and slot 1324 once. The two stay, and are
 * counted; whoever uses them gets SIGBUS; all others are right.
 */
SSW_BODY(drain, unreadable)
{
	struct sigaction sa = { .sa_handler = on_bus };
	static char *at[AREA];
	long long told = ssw_num(DEFRAG "drain_unreadable");
	char drive[64], *p;
	volatile int bus = 0;
	int stay = 0;

	if (!fault_drive("ssw-bad", drive, sizeof(drive)))
		SKIP(return, "no drive with the serial number ssw-bad");
	area_on(_metadata, drive);
	other_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* Fill the area, to have pages in its first clusters, whichever are filled first. */
	p = ssw_map(AREA - 1, false);
	ASSERT_NE(NULL, p);
	for (size_t i = 0; i < AREA - 1; i += SLOTS) {
		size_t n = i + SLOTS < AREA ? SLOTS : AREA - 1 - i;

		ssw_stamp(p + i * SSW_PAGE, n, 13);
		ssw_pageout(p + i * SSW_PAGE, n);
	}
	ssw_evict("ssw");
	for (size_t i = 0; i < AREA - 1; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if ((e & SSW_PM_SWAP) && ssw_pm_type(e) == type && ssw_pm_offset(e) < PAGES)
			at[ssw_pm_offset(e)] = p + i * SSW_PAGE;
		else
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
	/* What is in the swap cache need not be read. */
	ssw_evict("ssw");
	ASSERT_NE(NULL, at[1124]);
	ASSERT_NE(NULL, at[1224]);
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "unreadable"));
	EXPECT_EQ(2, ssw_area(type, "drain_unreadable"));
	EXPECT_EQ(2, ssw_area(type, "used"));
	EXPECT_TRUE(only_other_is_free());
	/* They are tried again if somebody asks for it. */
	EXPECT_EQ(2, ssw_num(DEFRAG "drain_unreadable") - told);
	ASSERT_EQ(0, drain(type, "0"));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "unreadable"));
	EXPECT_EQ(4, ssw_num(DEFRAG "drain_unreadable") - told);
	ASSERT_EQ(0, sigaction(SIGBUS, &sa, NULL));
	for (size_t i = 0; i < PAGES; i++) {
		char *page = at[i];
		uint64_t e;

		if (!page)
			continue;
		e = ssw_pagemap(page);
		if ((e & SSW_PM_SWAP) && ssw_pm_type(e) == type)
			stay++;
		if (sigsetjmp(after_bus, 1)) {
			EXPECT_TRUE(page == at[1124] || page == at[1224]) TH_LOG("slot %zu", i);
			bus++;
		} else {
			EXPECT_EQ(0, ssw_wrong(page, 1, 13)) TH_LOG("slot %zu", i);
		}
	}
	EXPECT_EQ(2, stay);
	EXPECT_EQ(2, bus);
	/* One of them goes with its owner. swapoff ends the other as the base kernel does. */
	ASSERT_EQ(0, madvise(at[1124], SSW_PAGE, MADV_DONTNEED));
	EXPECT_EQ(1, ssw_used_at_most(1 + ssw_area(other, "used")) - ssw_area(other, "used"));
	ssw_for_looks(i) {
		if (ssw_area(type, "drain_unreadable") == 1)
			break;
		usleep(20000);
	}
	EXPECT_EQ(1, ssw_area(type, "drain_unreadable"));
	ASSERT_EQ(0, ssw_swapoff(dev));
	if (sigsetjmp(after_bus, 1))
		bus++;
	else
		(void)*(volatile char *)at[1224];
	EXPECT_EQ(3, bus);
}

/* Programs swap, fork and exit meanwhile, and the area is drained and used again. */
SSW_BODY(drain, under_load)
{
	struct ssw_load *l = ssw_loads(4);
	char *p;

	ASSERT_NE(NULL, l);
	two_on(_metadata);
	p = filled(_metadata, PAGES, 14);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, ssw_load_start(&l[i], i % 2, SLOTS));
	for (int turn = 0; turn < 6; turn++) {
		pid_t pid;

		ASSERT_TRUE(ssw_load_more(&l[0], 2));
		ASSERT_EQ(0, drain(type, "1"));
		pid = ssw_fork();
		if (!pid)
			_exit(ssw_wrong(p, PAGES, 14) ? 1 : 0);
		ASSERT_TRUE(ssw_load_more(&l[1], 2));
		ASSERT_TRUE(gets(type, "empty"));
		EXPECT_EQ(0, ssw_area(type, "used"));
		EXPECT_EQ(0, ssw_join(pid));
		if (turn % 2) {
			ASSERT_EQ(0, ssw_swapoff(dev));
			type = ssw_on_cpu(dev, 0);
			ASSERT_LE(0, type);
		} else {
			ASSERT_EQ(0, drain(type, "0"));
		}
		ssw_pageout(p, PAGES);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, ssw_load_stop(&l[i]));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 14));
}

/* Areas that are drained at the same time do not move slots to each other. */
SSW_BODY(drain, both)
{
	char *p;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 15);
	ASSERT_EQ(0, drain(other, "1"));
	ASSERT_EQ(0, drain(type, "1"));
	EXPECT_EQ(0, ssw_meminfo("SwapFree"));
	ASSERT_TRUE(gets(type, "empty"));
	ASSERT_TRUE(gets(other, "empty"));
	EXPECT_EQ(0, in(p, PAGES, type) + in(p, PAGES, other));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 15));
	ASSERT_EQ(0, drain(type, "0"));
	EXPECT_EQ(ssw_area(type, "pages") * KB, ssw_meminfo("SwapFree"));
}

/* Not more than drain_mb_s is read and written; and who turns the area off need not wait. */
SSW_BODY(drain, bandwidth)
{
	long long n = count(), bytes;
	double from;
	char *p;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, SLOTS, 16);
	ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", "16"));
	ASSERT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "1"));
	bytes = ssw_num(DEFRAG "bytes_read") + ssw_num(DEFRAG "bytes_written");
	from = seconds();
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	bytes = ssw_num(DEFRAG "bytes_read") + ssw_num(DEFRAG "bytes_written") - bytes;
	TH_LOG("%lld bytes in %f seconds", bytes, seconds() - from);
	EXPECT_LE(2 * (SLOTS - SSW_SLACK) * (long long)SSW_PAGE, bytes);
	/* The last batch is not followed by a pause, and jiffies are coarse. */
	EXPECT_LE((bytes - 32 * SSW_PAGE) / 1e6 * 0.8, seconds() - from);
	EXPECT_EQ(0, ssw_wrong(p, SLOTS, 16));
	ASSERT_EQ(0, drain(type, "0"));

	n = count();
	p = filled(_metadata, PAGES, 17);
	ASSERT_EQ(0, drain(type, "1"));
	EXPECT_TRUE(moves(n + 1));
	/* A write to compact of the other area does not wait, nor does a swapoff. */
	type = other;
	ASSERT_EQ(0, compact("1"));
	ASSERT_EQ(0, ssw_swapoff(dev));
	TH_LOG("%lld moved before swapoff", count() - n);
	EXPECT_GT(PAGES / 2, count() - n);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 17));
	ASSERT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "0"));
	ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", "128"));
}

SSW_BODY(drain, is_frozen)
{
	long long n = count();
	char *p;

	if (access(POWER "pm_test", W_OK))
		SKIP(return, "no /sys/power/pm_test (CONFIG_SUSPEND, CONFIG_PM_DEBUG)");
	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES / 2, 18);
	ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", "16"));
	ASSERT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "2"));
	ASSERT_EQ(0, drain(type, "1"));
	frozen(_metadata, n + PAGES / 2 - SSW_SLACK);
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_EQ(0, ssw_wrong(p, PAGES / 2, 18));
	ASSERT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "0"));
	ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", "128"));
}

/* The device does not answer: it waits, and whoever asks for something else does not. */
SSW_BODY(drain, device_waits)
{
	char *p, name[64];

	if (dm_linear(ssw_bdev(0), SECTORS, name, sizeof(name)))
		SKIP(return, "no device mapper");
	area_on(_metadata, name);
	other_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 19);
	ASSERT_EQ(0, dm_suspend(true));
	ASSERT_EQ(0, drain(type, "1"));
	/* The mover has places, and waits. */
	ssw_for_looks(i) {
		if (ssw_area(other, "used") >= 16)
			break;
		usleep(10000);
	}
	EXPECT_LE(16, ssw_area(other, "used"));
	stalled(_metadata);
	ASSERT_EQ(0, drain(type, "0"));
	EXPECT_TRUE(is(type, "off"));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_EQ(0, dm_suspend(false));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 19));
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_EQ(0, dm_gone());
}

/* Another area's device fails to write: slots go to a third one. */
SSW_BODY(drain, cannot_be_written)
{
	long long failed = ssw_num(SKIPPED "write_error");
	char *p, name[64];
	int broken;

	if (dm_linear(ssw_bdev(2), SECTORS, name, sizeof(name)))
		SKIP(return, "no device mapper");
	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 20);
	/* The first that is tried, as it has the same home. */
	ASSERT_EQ(0, ssw_mkswap(name, AREA - 1));
	broken = ssw_on_cpu(name, 0);
	ASSERT_LE(0, broken);
	if (fail_writes(ssw_bdev(2), SECTORS))
		SKIP(goto out, "no dm-flakey");
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LT(0, ssw_num(SKIPPED "write_error") - failed);
	/* A batch at the begin of each sweep */
	EXPECT_GT(PAGES / 2, ssw_num(SKIPPED "write_error") - failed);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 20));
out:
	ASSERT_EQ(0, heal(ssw_bdev(2), SECTORS));
	ASSERT_EQ(0, ssw_swapoff(name));
	EXPECT_EQ(0, dm_gone());
}

/* Pages that are in the swap cache are mapped, and not read. */
SSW_BODY(drain, cached)
{
	long long in = ssw_num(DEFRAG "drained_in"), read;
	char *p;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = filled(_metadata, PAGES, 21);
	/* Read ahead, without being mapped. */
	ASSERT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED));
	read = ssw_num(DEFRAG "bytes_read");
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(PAGES - SSW_SLACK, ssw_num(DEFRAG "drained_in") - in);
	EXPECT_GE(SSW_SLACK * (long long)SSW_PAGE, ssw_num(DEFRAG "bytes_read") - read);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 21));
}

SSW_BODY(drain, bad_input)
{
	static const char * const bad[] = { "2x", "maybe", "-1", "" };

	area_on(_metadata, ssw_bdev(0));
	for (size_t i = 0; i < ARRAY_SIZE(bad) - 1; i++) {
		EXPECT_EQ(-EINVAL, drain(type, bad[i])) TH_LOG("'%s'", bad[i]);
	}
	EXPECT_EQ(0, ssw_area(type, "drain"));
	EXPECT_EQ(0, drain(type, "0"));
	EXPECT_EQ(-EINVAL, ssw_write(DEFRAG "drain_mb_s", "65537"));
	EXPECT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "65536"));
	EXPECT_EQ(0, ssw_write(DEFRAG "drain_mb_s", "0"));
	EXPECT_EQ(0, compact("1"));
	/* Nothing can be moved in an area that is not allocated from. */
	ASSERT_EQ(0, drain(type, "1"));
	EXPECT_EQ(-EBUSY, compact("1"));
	ASSERT_EQ(0, drain(type, "0"));
	EXPECT_EQ(0, compact("1"));
	ASSERT_EQ(0, ssw_swapoff(dev));
	type = ssw_on(dev, "off");
	ASSERT_LE(0, type);
	EXPECT_EQ(-EOPNOTSUPP, drain(type, "1"));
	EXPECT_EQ(0, drain(type, "0"));
	EXPECT_TRUE(is(type, "off"));
}

TEST_HARNESS_MAIN
