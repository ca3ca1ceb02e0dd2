// SPDX-License-Identifier: GPL-2.0
/*
 * zswap gives a compressor several pages in one request: each is right, whichever of them ends
 * first, fails, or comes late. The compressor is one for tests, "batchcomp".
 */
#include "cg_util.h"
#include "zbatch_harness.h"

#define COMP	"/sys/module/batchcomp/parameters/"
#define CLUSTER	"/proc/sys/vm/page-cluster"

#define PAGES	512
#define UNITS	8

FIXTURE(zunits) { struct zswap_was zswap; struct ssw_areas areas; long long cluster; };

FIXTURE_SETUP(zunits)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	self->cluster = ssw_num(CLUSTER);
	if (!why)
		why = zswap_start(&self->zswap);
	if (!why && access(COMP "polls", W_OK))
		why = "a kernel without CONFIG_SCALESWAP_ZBATCH_TEST";
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "batchcomp"));
}

FIXTURE_TEARDOWN(zunits)
{
	char val[24];

	snprintf(val, sizeof(val), "%lld", self->cluster);
	ssw_write(CLUSTER, val);
	ssw_write(COMP "polls", "0");
	ssw_write(COMP "backwards", "N");
	ssw_write(COMP "fail_unit", "-1");
	ssw_write(COMP "fail_submit", "N");
	ssw_write(COMP "fail_one", "N");
	ssw_write(ZBATCH "spin_us", "50");
	ssw_all_online();
	zswap_end(_metadata, &self->zswap);
	ssw_end();
}

struct counts {
	long long batches, units, slept, stored, loaded, in, alone, poor, disk, made, asked;
};

static struct counts counts(void)
{
	return (struct counts) {
		.batches = ssw_num(ZBATCH "requests"),
		.units = ssw_num(ZBATCH "units"),
		.slept = ssw_num(ZBATCH "sleeps"),
		.stored = ssw_num(ZBATCH "lane_stored"),
		.loaded = ssw_num(ZBATCH "loaded"),
		.in = ssw_vmstat("zswpin"),
		.alone = ssw_stat("fallback/zbatch_unit"),
		.poor = ssw_stat("fallback/zbatch_poor"),
		.disk = ssw_vmstat("pswpout"),
		/* What the compressor has seen of it */
		.made = ssw_num(COMP "batches"),
		.asked = ssw_num(COMP "units"),
	};
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.batches - then.batches, now.units - then.units, now.slept - then.slept,
		now.stored - then.stored, now.loaded - then.loaded, now.in - then.in,
		now.alone - then.alone, now.poor - then.poor, now.disk - then.disk,
		now.made - then.made, now.asked - then.asked,
	};
}

/* Swap all pages out. What the counts say of it */
static struct counts out(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	return since(c);
}

/* Have zswap load all pages, if it has any. */
static struct counts in(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
	return since(c);
}

static char *pages_of(struct __test_metadata *_metadata, int gen)
{
	char *p = ssw_map(PAGES, false);

	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, gen);
	/* Pages on a CPU's batch for the LRU are not reclaimed. */
	ssw_write("/proc/sys/vm/drop_caches", "1");
	return p;
}

/* All pages of a group are one request, in both directions, whatever its units' order and time. */
SSW_BODY(zunits, in_one_request)
{
	static const char * const polls[] = { "0", "3" };
	struct counts c;
	char *p;

	ssw_pin(0);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, ssw_write(COMP "polls", polls[i / 2]));
		ASSERT_EQ(0, ssw_write(COMP "backwards", i % 2 ? "Y" : "N"));
		p = pages_of(_metadata, i + 1);
		c = out(p);
		TH_LOG("%lld pages stored in %lld batches", c.units, c.batches);
		EXPECT_EQ(PAGES, c.stored);
		EXPECT_EQ(PAGES, c.units);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ(c.units, c.asked);
		EXPECT_EQ(c.batches, c.made);
		EXPECT_EQ(0, c.poor + c.disk);
		c = in(p);
		EXPECT_EQ(PAGES, c.in);
		EXPECT_EQ(PAGES, c.loaded);
		EXPECT_EQ(PAGES, c.units);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ(c.units, c.asked);
		EXPECT_EQ(0, c.alone);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
	EXPECT_EQ(UNITS, ssw_num(COMP "largest"));
}

/* A task spins for so long, and then sleeps until a batch has ended. */
SSW_BODY(zunits, sleeps)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	ASSERT_EQ(0, ssw_write(COMP "polls", "1"));
	ASSERT_EQ(0, ssw_write(ZBATCH "spin_us", "0"));
	p = pages_of(_metadata, 1);
	c = out(p);
	/* Each poll is in vain but that which ends the last unit, of two a unit. */
	EXPECT_EQ(c.batches * (2 * UNITS - 1), c.slept);
	EXPECT_EQ(PAGES, c.stored);
	c = in(p);
	EXPECT_EQ(c.batches * (2 * UNITS - 1), c.slept);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(-EINVAL, ssw_write(ZBATCH "spin_us", "1001"));
	EXPECT_EQ(-EINVAL, ssw_write(ZBATCH "spin_us", "-1"));
	EXPECT_EQ(-EINVAL, ssw_write(ZBATCH "spin_us", "soon"));
	EXPECT_EQ(0, ssw_write(ZBATCH "spin_us", "1000"));
	EXPECT_EQ(1000, ssw_num(ZBATCH "spin_us"));
}

/* A unit that cannot be compressed goes to its area, and no other does. */
SSW_BODY(zunits, one_is_not_compressed)
{
	struct counts c;
	char val[8], *p;

	ssw_pin(0);
	for (int unit = 0; unit < UNITS; unit++) {
		snprintf(val, sizeof(val), "%d", unit);
		ASSERT_EQ(0, ssw_write(COMP "fail_unit", val));
		ASSERT_EQ(0, ssw_write(COMP "backwards", unit % 2 ? "Y" : "N"));
		p = pages_of(_metadata, unit + 1);
		c = out(p);
		ASSERT_EQ(0, ssw_write(COMP "fail_unit", "-1"));
		EXPECT_EQ(PAGES - PAGES / UNITS, c.stored) TH_LOG("unit %d", unit);
		EXPECT_EQ(PAGES / UNITS, c.poor);
		EXPECT_EQ(PAGES / UNITS, c.disk);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, unit + 1)) TH_LOG("unit %d", unit);
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* A unit that cannot be decompressed is, alone, and others are right. */
SSW_BODY(zunits, one_is_not_decompressed)
{
	struct counts c;
	char val[8], *p;

	ssw_pin(0);
	for (int unit = 0; unit < UNITS; unit++) {
		p = pages_of(_metadata, unit + 1);
		c = out(p);
		ASSERT_EQ(PAGES, c.stored);
		snprintf(val, sizeof(val), "%d", unit);
		ASSERT_EQ(0, ssw_write(COMP "fail_unit", val));
		ASSERT_EQ(0, ssw_write(COMP "backwards", unit % 2 ? "Y" : "N"));
		c = in(p);
		ASSERT_EQ(0, ssw_write(COMP "fail_unit", "-1"));
		EXPECT_EQ(PAGES, c.loaded) TH_LOG("unit %d", unit);
		EXPECT_EQ(PAGES / UNITS, c.alone);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, unit + 1)) TH_LOG("unit %d", unit);
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* One that fails alone, too, is an I/O error, and stays in zswap until it can be read. */
SSW_BODY(zunits, one_fails_alone_too)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(COMP "fail_unit", "3"));
	ASSERT_EQ(0, ssw_write(COMP "fail_one", "Y"));
	c = in(p);
	EXPECT_EQ(PAGES - PAGES / UNITS, c.loaded);
	EXPECT_EQ(PAGES / UNITS, c.alone);
	EXPECT_EQ(PAGES / UNITS, ssw_num(COUNTS "stored_pages"));
	ASSERT_EQ(0, ssw_write(COMP "fail_unit", "-1"));
	ASSERT_EQ(0, ssw_write(COMP "fail_one", "N"));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/* A batch that cannot be submitted: none is stored, or all are loaded one by one. */
SSW_BODY(zunits, not_submitted)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(COMP "fail_submit", "Y"));
	c = out(p);
	EXPECT_EQ(0, c.stored + c.made);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(PAGES, c.disk);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);

	ASSERT_EQ(0, ssw_write(COMP "fail_submit", "N"));
	p = pages_of(_metadata, 2);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(COMP "fail_submit", "Y"));
	c = in(p);
	EXPECT_EQ(0, c.made);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(PAGES, c.alone);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* A process that swaps out and in for some time. How many pages are wrong */
static pid_t swaps(int cpu, int rounds)
{
	pid_t pid = ssw_fork();
	long wrong = 0;
	char *p;

	if (pid)
		return pid;
	ssw_pin(cpu);
	p = ssw_map(PAGES, false);
	for (int i = 1; p && i <= rounds; i++) {
		ssw_stamp(p, PAGES, i);
		madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
		if (i % 2)
			madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		wrong += ssw_wrong(p, PAGES, i);
	}
	_exit(p && !wrong ? 0 : 1);
}

/* A CPU goes offline while tasks wait for batches that they gave to its context. */
SSW_BODY(zunits, cpu_goes_offline)
{
	struct counts c = counts();
	cpu_set_t online;
	pid_t pid[4];
	int cpus, last;

	ASSERT_EQ(0, ssw_online(&online));
	cpus = CPU_COUNT(&online);
	if (cpus < 2)
		SKIP(_exit(0), "one CPU");
	last = cpus - 1;
	ASSERT_EQ(0, ssw_write(COMP "polls", "2"));
	ASSERT_EQ(0, ssw_write(ZBATCH "spin_us", "0"));
	for (int i = 0; i < 4; i++)
		pid[i] = swaps(i % 2 ? last : i % cpus, 12);
	for (int i = 0; i < 6; i++) {
		EXPECT_EQ(0, ssw_set_online(last, i % 2));
		usleep(300000);
	}
	EXPECT_EQ(0, ssw_set_online(last, true));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
	c = since(c);
	EXPECT_LT(PAGES, c.units);
	EXPECT_LT(0, c.slept);
}

/* Several processes, and another compressor meanwhile: entries of both pools come back right. */
SSW_BODY(zunits, another_compressor_meanwhile)
{
	struct counts c = counts();
	cpu_set_t online;
	pid_t pid[4];
	int cpus;

	ASSERT_EQ(0, ssw_online(&online));
	cpus = CPU_COUNT(&online);
	for (int i = 0; i < 4; i++)
		pid[i] = swaps(i % cpus, 16);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(0, ssw_write(ZSWAP "compressor", i % 2 ? "batchcomp" : "lzo-rle"));
		usleep(200000);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, ssw_join(pid[i]));
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
	c = since(c);
	/* Some with the one, and some with the other */
	EXPECT_LT(0, c.units);
	EXPECT_LT(c.units, c.stored + c.loaded);
}

TEST_HARNESS_MAIN
