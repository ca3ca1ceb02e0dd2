// SPDX-License-Identifier: GPL-2.0
/*
 * defragd empties clusters by itself: when, how much, and when it does not.
 *
 * That nothing is moved is shown by what comes after it, too: as soon as the one thing that has
 * kept defragd from it is gone, all is moved.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "fault_util.h"
#include "move_harness.h"

#define FAIL_PAGE "/sys/kernel/debug/fail_page_alloc/"

static const struct {
	const char *name, *value;
} defaults[] = {
	{ "enabled", "0" }, { "free_low", "0" }, { "free_high", "25" }, { "free_low", "12" },
	{ "idle_ms", "1000" }, { "idle_ios", "8" }, { "max_mb_s", "64" }, { "batch_pages", "128" },
};

static int set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEFRAG "%s", name);
	return ssw_write(path, value);
}

static void set_defaults(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		set(defaults[i].name, defaults[i].value);
}

#ifndef SWAP_FLAG_DISCARD_PAGES
#define SWAP_FLAG_DISCARD_PAGES	0x40000
#endif

FIXTURE(defrag) { int unused; };
FIXTURE_SETUP(defrag)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_BDEV);

	if (why)
		SKIP(return, "%s", why);
	set_defaults();
}

FIXTURE_TEARDOWN(defrag)
{
	set_defaults();
	ssw_end();
}

/* There is always need, of clusters with at most 25 % in use; and no long wait until it is idle. */
static void always(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, set("free_high", "100"));
	ASSERT_EQ(0, set("free_low", "100"));
	ASSERT_EQ(0, set("idle_ms", "100"));
}

static bool state_is(const char *state)
{
	char path[128], text[32];

	ssw_area_path(path, sizeof(path), type, "defrag_state");
	return ssw_read(path, text, sizeof(text)) > 0 && !strcmp(text, state);
}

static bool gets(const char *state)
{
	ssw_for_looks(i) {
		if (state_is(state))
			return true;
		usleep(10000);
	}
	return false;
}

/* Unless it is enabled, nothing is moved. Then all is, and there is nothing left to do. */
SSW_BODY(defrag, by_itself)
{
	long long had, n = count(), freed = ssw_num(DEFRAG "clusters_freed");
	char *p, text[32];

	area_on(_metadata, ssw_bdev(0));
	p = sparse(_metadata, 1);
	had = ssw_area(type, "free_clusters");
	always(_metadata);
	EXPECT_TRUE(state_is("off"));
	usleep(500000);
	EXPECT_EQ(n, count());
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK)) TH_LOG("%lld moved", count() - n);
	EXPECT_TRUE(gets("nothing"));
	ASSERT_LT(0, ssw_read(DEFRAG "state", text, sizeof(text)));
	EXPECT_STREQ("nothing", text);
	EXPECT_LE(had + 7, ssw_area(type, "free_clusters"));
	EXPECT_LE(freed + 7, ssw_num(DEFRAG "clusters_freed"));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 1));
	ASSERT_EQ(0, set("enabled", "0"));
	EXPECT_TRUE(state_is("off"));
}

/* Nothing is moved without need; the cheapest with some; what has more in use with more. */
SSW_BODY(defrag, by_need)
{
	long long n = count();
	uint64_t was[KEPT];
	char *p, *cheap;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 2);
	where(p, was);
	/* One page of 40 */
	cheap = ssw_map(PAGES, false);
	ASSERT_NE(NULL, cheap);
	ssw_stamp(cheap, PAGES, 3);
	out(_metadata, cheap, PAGES);
	for (int i = 0; i < PAGES; i++) {
		if (i % 40)
			madvise(cheap + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
	ASSERT_EQ(0, set("idle_ms", "100"));
	ASSERT_EQ(0, set("enabled", "1"));
	/* At least half of the clusters are free, of which a fourth has to be. */
	EXPECT_TRUE(gets("enough"));
	EXPECT_EQ(n, count());
	ASSERT_EQ(0, set("free_low", "0"));
	ASSERT_EQ(0, set("free_high", "100"));
	/* But for those in a cluster with others, and in the current one */
	EXPECT_TRUE(moves(n + PAGES / 40 - 2 * SLOTS / 40));
	EXPECT_TRUE(gets("nothing"));
	EXPECT_EQ(0, moved(p, was));
	ASSERT_EQ(0, set("free_low", "100"));
	EXPECT_TRUE(moves(n + PAGES / 40 + KEPT - 2 * SLOTS / NTH));
	EXPECT_TRUE(gets("nothing"));
	EXPECT_LE(KEPT - 2 * SLOTS / NTH, moved(p, was));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 2));
	for (int i = 0; i < PAGES; i += 40)
		ASSERT_EQ(0, ssw_wrong(cheap + i * SSW_PAGE, 1, 3));
}

/* No more clusters are gained than are wanted, and the cheapest ones go first. */
SSW_BODY(defrag, up_to_enough)
{
	long long had, n = count();
	uint64_t was[KEPT];
	char *p, high[16];

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 4);
	where(p, was);
	had = ssw_area(type, "free_clusters");
	/* Three more */
	snprintf(high, sizeof(high), "%lld", ((had + 3) * 100) / 32);
	ASSERT_EQ(0, set("free_high", high));
	ASSERT_EQ(0, set("free_low", high));
	ASSERT_EQ(0, set("idle_ms", "100"));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("enough"));
	EXPECT_TRUE(moves(n + 1));
	EXPECT_TRUE(gets("enough"));
	TH_LOG("%lld clusters were free, %lld are; %lld moved", had,
	       ssw_area(type, "free_clusters"), count() - n);
	EXPECT_LE(had + 2, ssw_area(type, "free_clusters"));
	EXPECT_GE(had + 5, ssw_area(type, "free_clusters"));
	EXPECT_GT(KEPT - 51, moved(p, was));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 4));
}

#define HUGE_64K	SSW_THP "/hugepages-64kB/enabled"
#define HUGE_2M		SSW_THP "/hugepages-2048kB/enabled"

/* A large folio that finds no block makes clusters with up to half in use worth emptying. */
SSW_BODY(defrag, for_large_folios)
{
	long long n = count(), no_block, had;
	char *p, *q;

	if (ssw_write(HUGE_64K, "madvise"))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	ssw_write(HUGE_2M, "never");
	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* A third of each cluster is in use, and there is no block. */
	p = ssw_map(AREA - 1, false);
	ASSERT_NE(NULL, p);
	for (size_t i = 0; i < AREA - 1; i += SLOTS) {
		size_t some = i + SLOTS < AREA ? SLOTS : AREA - 1 - i;

		ssw_stamp(p + i * SSW_PAGE, some, 18);
		ssw_pageout(p + i * SSW_PAGE, some);
	}
	ssw_evict("ssw");
	for (size_t i = 0; i < AREA - 1; i++) {
		if (i % 3)
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
	ssw_evict("ssw");
	had = ssw_area(type, "free_clusters");
	ASSERT_GE(1, had);
	ASSERT_EQ(0, set("free_low", "0"));
	ASSERT_EQ(0, set("free_high", "100"));
	ASSERT_EQ(0, set("idle_ms", "100"));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("nothing"));
	EXPECT_EQ(n, count()) TH_LOG("up to 5 %% are to be moved");
	q = ssw_map(160, true);
	ASSERT_NE(NULL, q);
	ssw_stamp(q, 160, 19);
	no_block = ssw_stat("fallback/no_block");
	ASSERT_EQ(160, ssw_pageout(q, 160));
	ASSERT_LT(no_block, ssw_stat("fallback/no_block"));
	/* It would look again by itself after half a minute. */
	ASSERT_EQ(0, set("free_low", "0"));
	EXPECT_TRUE(moves(n + 4 * SLOTS));
	EXPECT_TRUE(gets("nothing"));
	TH_LOG("%lld moved, %lld clusters were free, %lld are", count() - n, had,
	       ssw_area(type, "free_clusters"));
	EXPECT_LE(had + 8, ssw_area(type, "free_clusters"));
	EXPECT_EQ(0, ssw_wrong(q, 160, 19));
	for (size_t i = 0; i < AREA - 1; i += 3)
		ASSERT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 18));
	ssw_write(HUGE_64K, "never");
}

/* --- while the device is in use ---------------------------------------------------------- */

static volatile bool reads_stop;
static volatile long reads[4];

/* Read from the device all the time. */
static void *reader(void *arg)
{
	volatile long *n = arg;
	int fd = open(dev, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *buf = NULL;

	ssw_pin(n - reads);
	if (fd < 0 || posix_memalign(&buf, SSW_PAGE, SSW_PAGE)) {
		*n = -1;
		return NULL;
	}
	while (!reads_stop && pread(fd, buf, SSW_PAGE, (*n % 1000) * SSW_PAGE) == SSW_PAGE)
		(*n)++;
	free(buf);
	close(fd);
	return NULL;
}

static void readers(struct __test_metadata *_metadata, pthread_t *t, bool start)
{
	reads_stop = !start;
	for (int i = 0; i < 4; i++) {
		if (start) {
			reads[i] = 0;
			ASSERT_EQ(0, pthread_create(&t[i], NULL, reader, (void *)&reads[i]));
		} else {
			ASSERT_EQ(0, pthread_join(t[i], NULL));
		}
	}
	ssw_for_looks(i) {
		if (!start || (reads[0] > 0 && reads[1] > 0 && reads[2] > 0 && reads[3] > 0))
			break;
		ASSERT_EQ(true, reads[0] >= 0 && reads[1] >= 0 && reads[2] >= 0 && reads[3] >= 0);
		usleep(1000);
	}
}

/* While others read from the device nothing is moved, and what has begun ends after a batch. */
SSW_BODY(defrag, gives_way)
{
	long long n = count(), at;
	pthread_t t[4];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 5);
	always(_metadata);
	ASSERT_EQ(0, set("idle_ios", "0"));
	ASSERT_EQ(0, set("batch_pages", "16"));
	/* An eighth of a second for a batch */
	ASSERT_EQ(0, set("max_mb_s", "1"));
	readers(_metadata, t, true);
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("watching"));
	sleep(2);
	EXPECT_TRUE(state_is("watching"));
	EXPECT_EQ(n, count());
	readers(_metadata, t, false);
	EXPECT_TRUE(moves(n + 16));
	readers(_metadata, t, true);
	at = count();
	EXPECT_TRUE(gets("watching"));
	TH_LOG("%lld moved before others read, %lld more", at - n, count() - at);
	EXPECT_GE(at + 16, count());
	at = count();
	sleep(1);
	EXPECT_EQ(at, count());
	EXPECT_GT(n + KEPT - SSW_SLACK, at) TH_LOG("nothing is tested");
	readers(_metadata, t, false);
	ASSERT_EQ(0, set("max_mb_s", "64"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 5));
}

/* A disk in memory counts no requests. That pages are swapped there is seen, all the same. */
SSW_BODY(defrag, gives_way_to_swap)
{
	long long n = count();
	char *p, *more;

	if (access("/dev/ram0", W_OK) && access("/dev/ram1", W_OK))
		SKIP(return, "no /dev/ram0");
	area_on(_metadata, access("/dev/ram0", W_OK) ? "/dev/ram1" : "/dev/ram0");
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 6);
	more = ssw_map(256, false);
	ASSERT_NE(NULL, more);
	always(_metadata);
	ASSERT_EQ(0, set("idle_ios", "0"));
	/* 50 looks: more than those that fall into a break between two pages */
	ASSERT_EQ(0, set("idle_ms", "5000"));
	ASSERT_EQ(0, set("enabled", "1"));
	ASSERT_TRUE(gets("watching"));
	for (double until = seconds() + 25; seconds() < until;) {
		ssw_stamp(more, 256, 7);
		ssw_pageout(more, 256);
		madvise(more, 256 * SSW_PAGE, MADV_DONTNEED);
	}
	EXPECT_EQ(n, count());
	EXPECT_TRUE(state_is("watching"));
	ASSERT_EQ(0, set("idle_ms", "100"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 6));
}

/* Where requests are not counted it says so, and does nothing. */
SSW_BODY(defrag, blind)
{
	const char *disk = strrchr(ssw_bdev(0), '/') + 1;
	long long n = count();
	char path[128], text[32];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	p = sparse(_metadata, 8);
	always(_metadata);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/iostats", disk);
	ASSERT_EQ(0, ssw_write(path, "0"));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("blind"));
	ASSERT_LT(0, ssw_read(DEFRAG "state", text, sizeof(text)));
	EXPECT_STREQ("blind", text);
	sleep(2);
	EXPECT_EQ(n, count());
	ASSERT_EQ(0, ssw_write(path, "1"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 8));
}

/* How often defragd has begun to move something */
static int passes(void)
{
	char buf[512];
	int n = 0;
	FILE *f = fopen(SSW_TRACE "trace", "r");

	while (f && fgets(buf, sizeof(buf), f))
		n += strstr(buf, "scaleswap_defrag_state: ") && strstr(buf, "state=moving");
	if (f)
		fclose(f);
	return n;
}

/* Discards of clusters that it has emptied are not somebody else's requests. */
SSW_BODY(defrag, own_discards)
{
	static const char * const events[] = { "scaleswap/scaleswap_defrag_state", NULL };
	long long n = count(), discarded = ssw_discarded(ssw_bdev(0));
	char *p;

	snprintf(dev, sizeof(dev), "%s", ssw_bdev(0));
	ASSERT_EQ(0, ssw_mkswap(dev, AREA - 1));
	ASSERT_EQ(0, ssw_bind_cpu(0));
	type = ssw_swapon_flags(dev, SWAP_FLAG_DISCARD | SWAP_FLAG_DISCARD_PAGES);
	ASSERT_LE(0, type);
	type = ssw_type_of(dev);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 17);
	always(_metadata);
	ASSERT_EQ(0, set("batch_pages", "16"));
	ASSERT_EQ(0, set("idle_ms", "1000"));
	ASSERT_EQ(0, ssw_trace_start(events));
	ssw_trace_empty(SSW_TRACE "set_event_pid");
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	ssw_trace_stop();
	TH_LOG("%d passes, %lld sectors discarded", passes(), ssw_discarded(dev) - discarded);
	if (ssw_discarded(dev) == discarded)
		SKIP(return, "the device has discarded nothing");
	EXPECT_GE(3, passes());
	EXPECT_EQ(0, thin_wrong(p, PAGES, 17));
}

/* --- how it sleeps --------------------------------------------------------------------------- */

static long long woken(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return ssw_proc_num(path, "voluntary_ctxt_switches");
}

/* While there is nothing to do defragd is not woken, and it is as soon as there is. */
SSW_BODY(defrag, sleeps)
{
	long long n = count(), w;
	pid_t pid;
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, set("idle_ms", "100"));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("enough"));
	pid = ssw_task("ssw_defragd");
	ASSERT_LT(0, pid);
	usleep(300000);
	w = woken(pid);
	ASSERT_LT(0, w);
	p = ssw_map(PAGES, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, 9);
	out(_metadata, p, PAGES);
	EXPECT_EQ(w, woken(pid)) TH_LOG("there are enough free clusters");
	/* There is need from now on, but nothing sparse. */
	ASSERT_EQ(0, set("free_high", "100"));
	ASSERT_EQ(0, set("free_low", "100"));
	EXPECT_TRUE(gets("nothing"));
	usleep(300000);
	w = woken(pid);
	sleep(2);
	EXPECT_EQ(w, woken(pid)) TH_LOG("nothing is sparse");
	thin(p, PAGES);
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 9));
	munmap(p, PAGES * SSW_PAGE);

	/* Enough, until more is in use. */
	ASSERT_EQ(0, set("free_low", "0"));
	ASSERT_EQ(0, set("free_high", "90"));
	ASSERT_EQ(0, set("free_low", "90"));
	EXPECT_TRUE(gets("enough"));
	n = count();
	p = ssw_map(PAGES, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, 10);
	out(_metadata, p, PAGES);
	ssw_for_looks(i) {
		if (!state_is("enough"))
			break;
		usleep(10000);
	}
	EXPECT_FALSE(state_is("enough"));
	thin(p, PAGES);
	EXPECT_TRUE(moves(n + 100));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 10));
}

/* Not more than max_mb_s is read and written. */
SSW_BODY(defrag, bandwidth)
{
	long long n = count(), bytes;
	double from;
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 11);
	always(_metadata);
	ASSERT_EQ(0, set("max_mb_s", "1"));
	ASSERT_EQ(0, set("batch_pages", "16"));
	bytes = ssw_num(DEFRAG "bytes_read") + ssw_num(DEFRAG "bytes_written");
	from = seconds();
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	bytes = ssw_num(DEFRAG "bytes_read") + ssw_num(DEFRAG "bytes_written") - bytes;
	TH_LOG("%lld bytes in %f seconds", bytes, seconds() - from);
	EXPECT_LE(2 * (KEPT - SSW_SLACK) * (long long)SSW_PAGE, bytes);
	/* The last batch is not followed by a pause, and jiffies are coarse. */
	EXPECT_LE((bytes - 32 * SSW_PAGE) / 1e6 * 0.8, seconds() - from);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 11));
}

/* --- at the same time ---------------------------------------------------------------- */

/* A write to compact does not wait until defragd is done, nor does a swapoff. */
SSW_BODY(defrag, others_come_first)
{
	long long n = count();
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 12);
	always(_metadata);
	ASSERT_EQ(0, set("batch_pages", "16"));
	ASSERT_EQ(0, set("max_mb_s", "1"));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(moves(n + 1));
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(n + KEPT - SSW_SLACK, count());
	EXPECT_EQ(0, thin_wrong(p, PAGES, 12));
	munmap(p, PAGES * SSW_PAGE);

	n = count();
	p = sparse(_metadata, 13);
	EXPECT_TRUE(moves(n + 1));
	ASSERT_EQ(0, ssw_swapoff(dev));
	TH_LOG("%lld moved before swapoff", count() - n);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 13));
}

/* Nothing is moved between freezing and thawing. */
SSW_BODY(defrag, frozen)
{
	long long n = count();
	char *p;

	if (access(POWER "pm_test", W_OK))
		SKIP(return, "no /sys/power/pm_test (CONFIG_SUSPEND, CONFIG_PM_DEBUG)");
	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 14);
	always(_metadata);
	ASSERT_EQ(0, set("batch_pages", "16"));
	ASSERT_EQ(0, set("max_mb_s", "1"));
	ASSERT_EQ(0, set("enabled", "1"));
	frozen(_metadata, n + KEPT - SSW_SLACK);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 14));
}

/* The device does not answer: that is no hung task, and others do not wait. */
SSW_BODY(defrag, device_waits)
{
	long long n = count(), used;
	char *p, name[64];

	if (dm_linear(ssw_bdev(0), SECTORS, name, sizeof(name)))
		SKIP(return, "no device mapper");
	area_on(_metadata, name);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 15);
	always(_metadata);
	used = ssw_area(type, "used");
	ASSERT_EQ(0, dm_suspend(true));
	ASSERT_EQ(0, set("enabled", "1"));
	/* It has places, and waits. */
	ssw_for_looks(i) {
		if (ssw_area(type, "used") > used)
			break;
		usleep(10000);
	}
	EXPECT_LT(used, ssw_area(type, "used"));
	stalled(_metadata);
	EXPECT_EQ(n, count());
	ASSERT_EQ(0, set("enabled", "0"));
	ASSERT_EQ(0, set("enabled", "1"));
	ASSERT_EQ(0, dm_suspend(false));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 15));
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_EQ(0, dm_gone());
}

/* The device fails to write: one batch is enough to know, and it is not tried again soon. */
SSW_BODY(defrag, cannot_be_written)
{
	long long n = count(), failed = ssw_num(SKIPPED "write_error");
	char *p, name[64];

	if (dm_linear(ssw_bdev(0), SECTORS, name, sizeof(name)))
		SKIP(return, "no device mapper");
	area_on(_metadata, name);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 16);
	always(_metadata);
	ASSERT_EQ(0, set("batch_pages", "16"));
	if (fail_writes(ssw_bdev(0), SECTORS)) {
		ASSERT_EQ(0, ssw_swapoff(dev));
		dm_gone();
		SKIP(return, "no dm-flakey");
	}
	EXPECT_EQ(-EIO, compact("1"));
	EXPECT_EQ(16, ssw_num(SKIPPED "write_error") - failed);
	ASSERT_EQ(0, set("enabled", "1"));
	ssw_for_looks(i) {
		if (ssw_num(SKIPPED "write_error") - failed > 16)
			break;
		usleep(10000);
	}
	EXPECT_TRUE(gets("nothing"));
	EXPECT_EQ(32, ssw_num(SKIPPED "write_error") - failed);
	EXPECT_EQ(n, count());
	ASSERT_EQ(0, heal(ssw_bdev(0), SECTORS));
	/* What is set makes it look again. */
	ASSERT_EQ(0, set("free_low", "99"));
	EXPECT_TRUE(moves(n + KEPT - SSW_SLACK));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 16));
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_EQ(0, dm_gone());
}

/* What moving needs was got when defragd was enabled. Without more, it fills a cluster. */
SSW_BODY(defrag, without_memory)
{
	long long n = count(), none = ssw_num(SKIPPED "no_memory");
	char path[64], *p;
	pid_t pid;

	if (access(FAIL_PAGE "probability", W_OK))
		SKIP(return, "no fail_page_alloc (CONFIG_FAIL_PAGE_ALLOC)");
	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, set("enabled", "1"));
	EXPECT_TRUE(gets("enough"));
	pid = ssw_task("ssw_defragd");
	ASSERT_LT(0, pid);
	snprintf(path, sizeof(path), "/proc/%d/make-it-fail", pid);
	ssw_write(FAIL_PAGE "task-filter", "1");
	ssw_write(FAIL_PAGE "ignore-gfp-wait", "0");
	ssw_write(FAIL_PAGE "min-order", "0");
	ssw_write(FAIL_PAGE "times", "-1");
	ssw_write(FAIL_PAGE "verbose", "0");
	ssw_write(FAIL_PAGE "probability", "100");
	ASSERT_EQ(0, ssw_write(path, "1"));
	p = ssw_map(3 * PAGES, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, 3 * PAGES, 15);
	out(_metadata, p, 3 * PAGES);
	thin(p, 3 * PAGES);
	always(_metadata);
	/* 1229 pages, for which three clusters are needed; memory is there for one. */
	EXPECT_TRUE(moves(n + SLOTS));
	ssw_for_looks(i) {
		if (ssw_num(SKIPPED "no_memory") > none)
			break;
		usleep(10000);
	}
	EXPECT_LT(none, ssw_num(SKIPPED "no_memory"));
	EXPECT_TRUE(gets("nothing"));
	EXPECT_EQ(n + SLOTS, count());
	ssw_write(FAIL_PAGE "probability", "0");
	EXPECT_EQ(0, ssw_write(path, "0"));
	ssw_write(FAIL_PAGE "task-filter", "0");
	EXPECT_EQ(0, thin_wrong(p, 3 * PAGES, 15));
}

/* --- the files ------------------------------------------------------------------ */

SSW_BODY(defrag, bad_input)
{
	static const struct {
		const char *name, *value;
	} bad[] = {
		{ "enabled", "2" }, { "enabled", "maybe" }, { "free_low", "26" },
		{ "free_high", "11" }, { "free_high", "101" }, { "free_high", "-1" },
		{ "idle_ms", "99" }, { "idle_ms", "600001" }, { "idle_ios", "100001" },
		{ "idle_ios", "few" }, { "max_mb_s", "0" }, { "max_mb_s", "65537" },
		{ "batch_pages", "15" },
	};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, set(bad[i].name, bad[i].value))
			TH_LOG("%s of %s", bad[i].value, bad[i].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (i == 1)	/* only a step to another one */
			continue;
		snprintf(path, sizeof(path), DEFRAG "%s", defaults[i].name);
		EXPECT_EQ(atoll(defaults[i].value), ssw_num(path)) TH_LOG("%s", defaults[i].name);
	}
	/* Enabling it twice, and disabling it at once, leaves nothing behind. */
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, set("enabled", "1"));
		ASSERT_EQ(0, set("enabled", i % 2 ? "1" : "0"));
	}
	EXPECT_EQ(1, ssw_num(DEFRAG "enabled"));
	EXPECT_LT(0, ssw_task("ssw_defragd"));
}

TEST_HARNESS_MAIN
