// SPDX-License-Identifier: GPL-2.0
/*
 * Discards that a device does not answer: CPU offline, suspend, hibernation and other areas
 * must not wait for them, and swapoff has to.
 *
 * The device is a suspended dm-linear. It keeps the discard until it is resumed, so nothing
 * here depends on speed.
 */
#include <dirent.h>

#include "dm_util.h"
#include "harness.h"

FIXTURE(discard) {
	char dev[64];	/* the device that stalls */
	int home;	/* CPU of the area on it; the pages are swapped out there */
	int type;
	char *p;
};

#ifndef SWAP_FLAG_DISCARD
#define SWAP_FLAG_DISCARD	0x10000
#endif
#ifndef SWAP_FLAG_DISCARD_PAGES
#define SWAP_FLAG_DISCARD_PAGES	0x40000
#endif

/* Enough for the base kernel, too, which first keeps freed slots back. */
#define PAGES		8000
#define POWER		"/sys/power/"

/* A guard against hangs, in steps of 20 ms: a minute, in which nothing times out. */
#define TRIES		3000

/*
 * How many threads wait in a discard; of those whose name begins with @comm. The
 * stacks that are not to be had any more are those of threads that have ended.
 */
static int discarding(const char *comm)
{
	DIR *d = opendir("/proc");
	char path[300], buf[8192];
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stack", e->d_name);
		if (ssw_read(path, buf, sizeof(buf)) <= 0 || !strstr(buf, "blkdev_issue_discard"))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (ssw_read(path, buf, sizeof(buf)) > 0 && !strncmp(buf, comm, strlen(comm)))
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

static bool wait_discarding(int nr)
{
	for (int i = 0; i < TRIES; i++) {
		if (discarding("") == nr)
			return true;
		usleep(20000);
	}
	return false;
}

/* Does the child end by itself? Its exit status, or -1. */
static int ended(pid_t pid)
{
	int status;

	for (int i = 0; i < TRIES; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		usleep(20000);
	}
	return -1;
}

static pid_t child(int (*what)(const char *), const char *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(-what(arg));
	return pid;
}

static int go_offline(const char *cpu)
{
	return ssw_set_online(atoi(cpu), false);
}

static int area_on(const char *dev, int cpu, int flags)
{
	int ret = cpu < 0 ? ssw_bind("off") : ssw_bind_cpu(cpu);

	if (!ret)
		ret = ssw_mkswap(dev, 3 * PAGES);
	if (!ret)
		ret = ssw_swapon_flags(dev, flags | SWAP_FLAG_DISCARD | SWAP_FLAG_DISCARD_PAGES);
	ssw_bind("off");
	return ret ? ret : ssw_type_of(dev);
}

FIXTURE_SETUP(discard)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_BDEV);
	const char *spare = ssw_bdev(0);
	long long sectors;
	char params[128];

	self->home = ssw_nr_possible() - 1;
	if (!why && access("/proc/self/stack", R_OK))
		why = "no /proc/PID/stack (CONFIG_STACKTRACE)";
	if (!why && (self->home < 1 || ssw_set_online(self->home, true)))
		why = "no CPU can go offline";
	if (why || !spare)
		SKIP(return, "%s", why);
	snprintf(params, sizeof(params), "/sys/block/%s/size", strrchr(spare, '/') + 1);
	sectors = ssw_num(params);
	snprintf(params, sizeof(params), "%s 0", spare);
	if (sectors < 4 * PAGES * 8 ||
	    dm_make("linear", params, sectors, self->dev, sizeof(self->dev)))
		SKIP(return, "no dm-linear over a spare device of 125 MB");
}

FIXTURE_TEARDOWN(discard)
{
	if (self->dev[0])
		dm_suspend(false);
	ssw_all_online();
	ssw_swapoff_all();
	if (self->dev[0])
		dm_gone();
	ssw_end();
}

/*
 * Swap out, stall the device, free: a discard waits then. @cpu is the area's home,
 * -1 for a plain one.
 */
#define STALL(cpu) do {							\
	self->type = area_on(self->dev, cpu, 0);			\
	ASSERT_LE(0, self->type);					\
	ASSERT_EQ(0, ssw_pin(self->home));				\
	self->p = ssw_map(PAGES, false);				\
	ssw_stamp(self->p, PAGES, 1);					\
	ASSERT_LT(PAGES * 9 / 10, ssw_pageout(self->p, PAGES));		\
	ASSERT_EQ(0, ssw_pin(0));					\
	ASSERT_EQ(0, discarding(""));					\
	ASSERT_EQ(0, dm_suspend(true));					\
	munmap(self->p, PAGES * SSW_PAGE);				\
	ASSERT_TRUE(wait_discarding(1)) TH_LOG("nothing was to be discarded"); \
} while (0)

/* The discard has waited all the time; now it ends, and so does swapoff. */
#define UNSTALL() do {							\
	EXPECT_LE(1, discarding("")) TH_LOG("the device did not stall");	\
	ASSERT_EQ(0, dm_suspend(false));				\
	EXPECT_TRUE(wait_discarding(0)) TH_LOG("discards do not end");	\
	EXPECT_EQ(0, ssw_swapoff(self->dev));				\
} while (0)

/* A thread that CPU offline parks may not do I/O. */
SSW_TEST_F(discard, not_by_the_delegator)
{
	STALL(self->home);
	EXPECT_EQ(0, discarding("ssw_deleg"));
	UNSTALL();
}

static void offline(struct __test_metadata *_metadata, int home)
{
	char cpu[16];
	pid_t pid;
	int ret;

	snprintf(cpu, sizeof(cpu), "%d", home);
	pid = child(go_offline, cpu);
	ASSERT_LT(0, pid);
	ret = ended(pid);
	EXPECT_NE(-1, ret) TH_LOG("CPU %d does not go offline while a device stalls", home);
	/* Or no later test would ever run. */
	if (ret == -1)
		dm_suspend(false);
	else
		EXPECT_EQ(0, ret) TH_LOG("offline: %s", strerror(ret));
}

SSW_TEST_F(discard, cpu_offline)
{
	STALL(self->home);
	offline(_metadata, self->home);
	UNSTALL();
	EXPECT_EQ(0, ssw_set_online(self->home, true));
}

SSW_TEST_F(discard, cpu_offline_plain)
{
	STALL(-1);
	offline(_metadata, self->home);
	UNSTALL();
	EXPECT_EQ(0, ssw_set_online(self->home, true));
}

/* Another area of the same CPU gets its tables back, and its discards. */
SSW_TEST_F(discard, other_area)
{
	const char *other = ssw_bdev(1);
	long long before, now = 0;
	int t, tables = -1;
	char *p;

	if (!other)
		SKIP(return, "needs two spare devices");
	STALL(self->home);
	/* The priority keeps pages off the area that cannot write them. */
	t = area_on(other, self->home, SWAP_FLAG_PREFER | 1);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(self->home));
	p = ssw_map(PAGES, false);
	ssw_stamp(p, PAGES, 2);
	ASSERT_LT(PAGES * 9 / 10, ssw_pageout(p, PAGES));
	ASSERT_EQ(0, ssw_pin(0));
	EXPECT_LT(0, ssw_area(t, "tables"));
	before = ssw_discarded(other);
	munmap(p, PAGES * SSW_PAGE);
	for (int i = 0; i < TRIES; i++) {
		tables = ssw_area(t, "tables");
		now = ssw_discarded(other);
		if (!tables && now > before)
			break;
		usleep(20000);
	}
	EXPECT_EQ(0, tables) TH_LOG("its tables wait for another area's discards");
	EXPECT_LT(before, now) TH_LOG("its discards wait for another area's");
	UNSTALL();
	EXPECT_EQ(0, ssw_swapoff(other));
}

/* swapoff waits for the discard in flight, and for no other. */
SSW_TEST_F(discard, swapoff)
{
	pid_t pid;
	int ret;

	STALL(self->home);
	pid = child(ssw_swapoff, self->dev);
	ASSERT_LT(0, pid);
	/* It closes the area first; that is when it is not shown as writable any more. */
	for (int i = 0; i < TRIES && ssw_meminfo("SwapTotal"); i++)
		usleep(20000);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG)) TH_LOG("swapoff did not wait");
	ASSERT_EQ(0, dm_suspend(false));
	ret = ended(pid);
	EXPECT_EQ(0, ret) TH_LOG("swapoff: %d", ret);
	EXPECT_EQ(0, discarding(""));
	EXPECT_FALSE(ssw_area_exists(self->type));
}

/*
 * Down to where all CPUs but one are offline, and back. A kernel that fails here
 * does not come back, so these are the last, and have a guest of their own.
 */
static void sleeps(struct __test_metadata *_metadata, const char *state)
{
	char states[64];

	if (access(POWER "pm_test", W_OK) ||
	    ssw_read(POWER "state", states, sizeof(states)) <= 0 || !strstr(states, state))
		SKIP(return, "the kernel does not know '%s' (CONFIG_SUSPEND, CONFIG_HIBERNATION, CONFIG_PM_DEBUG)",
		     state);
	ssw_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	/* Neither may want the device that stalls, by a sync or by swapping out. */
	ssw_write(POWER "sync_on_suspend", "0");
	ssw_write(POWER "image_size", "4000000000");
	ASSERT_EQ(0, ssw_write(POWER "pm_test", "processors"));
	EXPECT_EQ(0, ssw_write(POWER "state", state));
	EXPECT_EQ(0, ssw_write(POWER "pm_test", "none"));
}

SSW_TEST_F(discard, suspend_plain)
{
	STALL(-1);
	sleeps(_metadata, "mem");
	UNSTALL();
}

SSW_TEST_F(discard, hibernation_plain)
{
	STALL(-1);
	sleeps(_metadata, "disk");
	UNSTALL();
}

SSW_TEST_F(discard, suspend)
{
	STALL(self->home);
	sleeps(_metadata, "mem");
	UNSTALL();
}

SSW_TEST_F(discard, hibernation)
{
	STALL(self->home);
	sleeps(_metadata, "disk");
	UNSTALL();
}

TEST_HARNESS_MAIN
