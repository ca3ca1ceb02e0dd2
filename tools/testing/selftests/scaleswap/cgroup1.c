// SPDX-License-Identifier: GPL-2.0
/*
 * The memory controller of cgroup v1. It charges memory and swap together, so it
 * gives a slot's charge back at swap-in already; and it can move the charges of a
 * task that moves to another group, those of its swapped-out pages, too, under the
 * page table lock alone. Both change the record of which group a slot is charged to.
 *
 * The guest needs cgroup.memory=nokmem: charges of slab objects come and go at their
 * own time.
 */
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zbatch_harness.h"

#define V1		"/tmp/ssw-cgroup1"
#define EVICTORS	SSW_SYS "/evict/threads"
#define PAGES		600
#define MOVES		60

FIXTURE(cgroup1) {
	bool mounted, zswap_on;
	struct zswap_was zswap;
	long long evictors;
};

static int v1_write(const char *group, const char *file, const char *val)
{
	char path[256];

	snprintf(path, sizeof(path), V1 "/%s/%s", group, file);
	return ssw_write(path, val);
}

static long long v1_num(const char *group, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), V1 "/%s/%s", group, file);
	return ssw_num(path);
}

static int v1_enter(const char *group, pid_t pid)
{
	char val[16];

	snprintf(val, sizeof(val), "%d", pid);
	return v1_write(group, "cgroup.procs", val);
}

/* Memory groups that there are, those included that are removed, but still charged. */
static int v1_groups(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[256], name[64];
	int n, nr = -1;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %*d %d", name, &n) == 2 && !strcmp(name, "memory"))
			nr = n;
	}
	if (f)
		fclose(f);
	return nr;
}

/* Empty @group, as far as it goes; the bytes of memory and swap that it is still charged. */
static long long v1_empty(const char *group)
{
	long long left = -1;

	/* CPUs keep charges back, and give them up when they get to it. */
	ssw_for_looks(i) {
		v1_write(group, "memory.force_empty", "0");
		left = v1_num(group, "memory.memsw.usage_in_bytes");
		if (!left)
			break;
		usleep(20000);
	}
	return left;
}

/* The same, when only @want are left, or after a long time. */
static int v1_groups_left(int want)
{
	int nr = -1;

	/* A CPU that has no charges left may have a reference. */
	if (mkdir(V1 "/c", 0755) || ssw_charge_on_each_cpu(V1 "/c/cgroup.procs") ||
	    v1_empty("c") || rmdir(V1 "/c"))
		return -1;
	ssw_for_looks(i) {
		nr = v1_groups();
		if (nr == want)
			break;
		usleep(20000);
	}
	return nr;
}

FIXTURE_SETUP(cgroup1)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);
	char line[4096];

	if (!why && (ssw_read("/proc/cmdline", line, sizeof(line)) < 0 || !strstr(line, "nokmem")))
		why = "not booted with cgroup.memory=nokmem";
	if (why)
		SKIP(return, "%s", why);
	/* It can be in one hierarchy only, and leaves the other a while after the last group. */
	ssw_write(SSW_CG "/cgroup.subtree_control", "-memory");
	mkdir(V1, 0755);
	ssw_for_looks(i) {
		self->mounted = !mount("cgroup", V1, "cgroup", 0, "memory");
		if (self->mounted || errno != EBUSY)
			break;
		usleep(20000);
	}
	if (!self->mounted)
		SKIP(return, "no memory controller of cgroup v1 (CONFIG_MEMCG_V1): %s",
		     strerror(errno));
	if (access(V1 "/memory.memsw.usage_in_bytes", R_OK))
		SKIP(return, "cgroup v1 does not count swap");
}

FIXTURE_TEARDOWN(cgroup1)
{
	char val[24];

	rmdir(V1 "/a");
	rmdir(V1 "/b");
	if (self->zswap_on) {
		snprintf(val, sizeof(val), "%lld", self->evictors);
		ssw_write(EVICTORS, val);
		zswap_end(_metadata, &self->zswap);
	}
	if (self->mounted)
		umount(V1);
	rmdir(V1);
	ssw_write(SSW_CG "/cgroup.subtree_control", "+memory");
	ssw_clean();
}

/*
 * A task swaps out and in, with readahead, and moves between two groups that take its
 * charges along. Then nothing may be left: a charge that was given back twice is
 * missing ("page_counter underflow" on the console), one that was not stays, and a
 * reference that was dropped twice or not at all frees a group too early or never.
 */
static void moves(struct __test_metadata *_metadata, const char *bind)
{
	struct ssw_load *l = ssw_loads(2);
	int before = v1_groups();

	ASSERT_NE(NULL, l);
	ASSERT_LT(0, before);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 4 * PAGES));
	ASSERT_LE(0, ssw_on(ssw_file(0), bind));
	ASSERT_EQ(0, mkdir(V1 "/a", 0755));
	ASSERT_EQ(0, mkdir(V1 "/b", 0755));
	/*
	 * Only pages that a task allocates in a group may move: those that it shares with
	 * this process since fork() would go along, and stay charged as long as this one
	 * lives.
	 */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_load_start(&l[i], i, PAGES));
		ASSERT_EQ(0, v1_enter(i ? "b" : "a", l[i].pid));
		ASSERT_TRUE(ssw_load_more(&l[i], 4));
	}
	ASSERT_EQ(0, v1_write("a", "memory.move_charge_at_immigrate", "1"));
	ASSERT_EQ(0, v1_write("b", "memory.move_charge_at_immigrate", "1"));
	for (int i = 0; i < MOVES; i++) {
		for (int j = 0; j < 2; j++) {
			ASSERT_EQ(0, v1_enter((i + j) % 2 ? "a" : "b", l[j].pid));
		}
		/* Not slower than they swap, nor so fast that they get nowhere. */
		if (i % 8 == 7) {
			ASSERT_TRUE(ssw_load_more(&l[0], 1));
			ASSERT_TRUE(ssw_load_more(&l[1], 1));
		}
	}
	for (int j = 0; j < 2; j++) {
		EXPECT_EQ(0, ssw_load_stop(&l[j]));
		EXPECT_LT(0, l[j].out);
	}
	/*
	 * CPUs keep up to 64 freed slots of a plain area each, with their charges, until
	 * there are more of them or swapoff comes.
	 */
	if (!strcmp(bind, "off")) {
		EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	}
	EXPECT_EQ(0, v1_empty("a")) TH_LOG("a: memory and swap");
	EXPECT_EQ(0, v1_empty("b")) TH_LOG("b: memory and swap");
	EXPECT_EQ(0, rmdir(V1 "/a"));
	EXPECT_EQ(0, rmdir(V1 "/b"));
	EXPECT_EQ(before, v1_groups_left(before)) TH_LOG("removed groups stay");
}

SSW_TEST_F(cgroup1, charges_move)
{
	moves(_metadata, "0");
}

SSW_TEST_F(cgroup1, charges_move_plain)
{
	moves(_metadata, "off");
}

/* Pages of a task that stays: memory and swap are counted together. */
SSW_TEST_F(cgroup1, memsw)
{
	struct ssw_load *l = ssw_loads(1);
	int before = v1_groups();

	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 4 * PAGES));
	ASSERT_LE(0, ssw_on(ssw_file(0), "0"));
	ASSERT_EQ(0, mkdir(V1 "/a", 0755));
	ASSERT_EQ(0, ssw_load_start(&l[0], -1, PAGES));
	ASSERT_EQ(0, v1_enter("a", l[0].pid));
	ASSERT_TRUE(ssw_load_more(&l[0], 4));
	EXPECT_LE((long long)(PAGES * SSW_PAGE), v1_num("a", "memory.memsw.max_usage_in_bytes"));
	EXPECT_EQ(0, ssw_load_stop(&l[0]));
	EXPECT_EQ(0, v1_empty("a"));
	EXPECT_EQ(0, rmdir(V1 "/a"));
	EXPECT_EQ(before, v1_groups_left(before)) TH_LOG("the removed group stays");
}

/* Reclaim that scans many pages sends an event, and without reclaim there is none. */
SSW_TEST_F(cgroup1, pressure)
{
	struct pollfd p = { .events = POLLIN };
	const size_t pages = 3000;
	uint64_t events;
	char val[64];
	int level, more = -1;
	pid_t pid;
	char *m;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2 * pages));
	ASSERT_LE(0, ssw_on(ssw_file(0), "0"));
	ASSERT_EQ(0, mkdir(V1 "/a", 0755));
	m = ssw_map(pages, false);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* Until it is in the group that is to be charged. */
		raise(SIGSTOP);
		ssw_stamp(m, pages, 1);
		/* Or it would need memory, and reclaim, beyond the limit below. */
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	ASSERT_EQ(0, v1_enter("a", pid));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	p.fd = eventfd(0, EFD_NONBLOCK);
	level = open(V1 "/a/memory.pressure_level", O_RDONLY);
	snprintf(val, sizeof(val), "%d %d low", p.fd, level);
	ASSERT_EQ(0, v1_write("a", "cgroup.event_control", val));
	EXPECT_EQ(0, poll(&p, 1, 200)) TH_LOG("an event without reclaim");
	snprintf(val, sizeof(val), "%zd", pages / 6 * SSW_PAGE);
	for (int i = 0; i < 10 && v1_write("a", "memory.limit_in_bytes", val); i++)
		usleep(20000);
	EXPECT_EQ(1, poll(&p, 1, SSW_PATIENCE * 1000)) TH_LOG("no event");
	ASSERT_EQ(sizeof(events), read(p.fd, &events, sizeof(events)));
	/*
	 * No bound by the pages that were scanned: each fall of reclaim's priority below a
	 * third counts as a window without success. What a window is, is for KUnit.
	 */
	EXPECT_LT(0, events);
	/*
	 * Events end as reclaim does. A worker sends them, and evictors may still reclaim, so one
	 * or two can come after the limit was written.
	 */
	ssw_for_looks(i) {
		more = poll(&p, 1, 200);
		if (more < 1)
			break;
		ASSERT_EQ(sizeof(events), read(p.fd, &events, sizeof(events)));
	}
	EXPECT_EQ(0, more) TH_LOG("events without reclaim");
	close(level);
	close(p.fd);
	kill(pid, SIGKILL);
	ssw_join(pid);
	EXPECT_EQ(0, v1_empty("a"));
	EXPECT_EQ(0, rmdir(V1 "/a"));
}

/* Pages that one step frees: more than half of the window after which there is an event */
#define STEP	280
#define STEPS	20

/*
 * A page that zswap takes counts once as scanned, though reclaim looks at it twice: when it puts
 * the page aside, and when it frees the memory. An event says that 512 pages or more were scanned,
 * so all are freed in so many steps that it takes two for an event.
 */
SSW_TEST_F(cgroup1, zswap_counts_once)
{
	struct pollfd p = { .fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN };
	const long pages = (STEPS + 5) * STEP;
	int level, steps = 0;
	long long lanes, usage;
	uint64_t events = 0;
	const char *why;
	char val[64];
	pid_t pid;
	char *m;

	why = zswap_start(&self->zswap);
	if (why)
		SKIP(return, "%s", why);
	self->zswap_on = true;
	/* Evictors would free pages as well, without a step. */
	self->evictors = ssw_num(EVICTORS);
	ssw_write(EVICTORS, "0");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2 * pages));
	ASSERT_LE(0, ssw_on(ssw_file(0), "0"));
	ASSERT_EQ(0, mkdir(V1 "/a", 0755));
	m = ssw_map(pages, false);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* Until it is in the group that is to be charged. */
		raise(SIGSTOP);
		ssw_pin(0);
		ssw_stamp(m, pages, 1);
		/* Or reclaim would look at each, and see that it was used. */
		madvise(m, pages * SSW_PAGE, MADV_COLD);
		raise(SIGSTOP);
		_exit(ssw_wrong(m, pages, 1) ? 1 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	ASSERT_EQ(0, v1_enter("a", pid));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	ssw_write("/proc/sys/vm/drop_caches", "1");
	level = open(V1 "/a/memory.pressure_level", O_RDONLY);
	snprintf(val, sizeof(val), "%d %d low", p.fd, level);
	ASSERT_EQ(0, v1_write("a", "cgroup.event_control", val));
	lanes = ssw_num(ZBATCH "lane_stored");
	usage = v1_num("a", "memory.usage_in_bytes");
	for (int i = 0; i < STEPS; i++) {
		uint64_t n;

		usage -= STEP * SSW_PAGE;
		snprintf(val, sizeof(val), "%lld", usage);
		steps += !v1_write("a", "memory.limit_in_bytes", val);
		/* One that comes later is lost in the next one: there are fewer, not more. */
		if (poll(&p, 1, 100) == 1 && read(p.fd, &n, sizeof(n)) == sizeof(n))
			events += n;
	}
	lanes = ssw_num(ZBATCH "lane_stored") - lanes;
	TH_LOG("%llu events in %d steps, %lld pages stored", (unsigned long long)events, steps,
	       lanes);
	EXPECT_EQ(STEPS, steps);
	EXPECT_LT(STEPS * STEP / 2, lanes);
	EXPECT_GE(STEPS * 3 / 4, events);
	if (!events)
		EXPECT_EQ(1, poll(&p, 1, SSW_PATIENCE * 1000)) TH_LOG("no event");
	close(level);
	close(p.fd);
	v1_write("a", "memory.limit_in_bytes", "-1");
	kill(pid, SIGCONT);
	EXPECT_EQ(0, ssw_join(pid));
	EXPECT_EQ(0, v1_empty("a"));
	EXPECT_EQ(0, rmdir(V1 "/a"));
}

TEST_HARNESS_MAIN
