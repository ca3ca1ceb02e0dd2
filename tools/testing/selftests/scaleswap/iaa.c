// SPDX-License-Identifier: GPL-2.0
/*
 * zswap on IAA devices: pages are right whatever the devices do. The devices are simulated, of PCI
 * functions in idxd.sim=; the drivers are those of real ones.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "cg_util.h"
#include "zbatch_harness.h"

#define SIM	"/sys/module/idxd/parameters/sim"
#define PCI	"/sys/bus/pci/devices/"
#define DSA	"/sys/bus/dsa/"
#define CRYPTO	DSA "drivers/crypto/"
#define STATS	"/sys/kernel/debug/iaa_crypto/global_stats"
#define CLUSTER	"/proc/sys/vm/page-cluster"
#define ABORT	"/sys/module/iaa_crypto/parameters/abort_ms"
#define DEAD	"/sys/module/iaa_crypto/parameters/dead_ms"
#define PATIENT	"60000"
#define AT_ONCE	"100"
#define SOON	"1000"

#define PAGES	512
#define UNITS	8
#define ENGINES	8

/* The device: its PCI function, its number in the driver's names, and its directory in debugfs */
static char fn[16], dir[64];
static int nr;

FIXTURE(iaa) { struct zswap_was zswap; struct ssw_areas areas; long long cluster; };

static int put(const char *base, const char *file, const char *val)
{
	char path[160];

	snprintf(path, sizeof(path), "%s%s", base, file);
	return ssw_write(path, val);
}

static long long get(const char *file)
{
	char path[160];

	snprintf(path, sizeof(path), "%s%s", dir, file);
	return ssw_num(path);
}

/* A number of the driver's statistics */
static long long stat_of(const char *name)
{
	FILE *f = fopen(STATS, "re");
	long long val = -1;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, name);

		if (at)
			val = atoll(at + strlen(name) + 1);
	}
	if (f)
		fclose(f);
	return val;
}

/* The number that the driver has given the function: N of iaxN */
static int number_of(void)
{
	char path[64];
	struct dirent *d;
	int n = -1;
	DIR *at;

	snprintf(path, sizeof(path), PCI "%s", fn);
	at = opendir(path);
	while (at && (d = readdir(at)))
		if (sscanf(d->d_name, "iax%d", &n) == 1)
			break;
	if (at)
		closedir(at);
	return n;
}

static int bind_to(const char *driver, const char *what, bool on)
{
	return put(driver, on ? "bind" : "unbind", what);
}

static char *name_of(const char *format, int id)
{
	static char name[4][32];
	static int i;

	i = (i + 1) % 4;
	snprintf(name[i], sizeof(name[i]), format, nr, id);
	return name[i];
}

#define WQ	name_of("wq%d.%d", 0)
#define IAX	name_of("iax%d", 0)

/* Have the driver let go of the device, as far as it has it. */
static void dev_down(void)
{
	bind_to(CRYPTO, WQ, false);
	bind_to(DSA "drivers/idxd/", IAX, false);
}

/* Configure the device: one queue of so many descriptors, and so many engines. */
static int dev_up(const char *size, int engines)
{
	static const char * const set[][2] = {
		{ "group_id", "0" }, { "mode", "dedicated" }, { "size", NULL },
		{ "type", "kernel" }, { "driver_name", "crypto" }, { "name", "iaa" },
		{ "priority", "10" },
	};
	char base[64];
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(set); i++) {
		snprintf(base, sizeof(base), DSA "devices/%s/", WQ);
		err = put(base, set[i][0], set[i][1] ?: size);
	}
	for (int i = 0; !err && i < engines; i++) {
		snprintf(base, sizeof(base), DSA "devices/%s/", name_of("engine%d.%d", i));
		err = put(base, "group_id", "0");
	}
	return err ?: bind_to(DSA "drivers/idxd/", IAX, true) ?: bind_to(CRYPTO, WQ, true);
}

/* Look for a PCI function that is to be a device. Return NULL, or why there is none. */
static const char *dev_find(void)
{
	char path[64];

	if (ssw_read(SIM, fn, sizeof(fn)) < 12)
		return "no idxd.sim=, or a kernel without CONFIG_INTEL_IDXD_SIM";
	fn[12] = '\0';
	snprintf(dir, sizeof(dir), "/sys/kernel/debug/idxd_sim/%s/", fn);
	snprintf(path, sizeof(path), PCI "%s", fn);
	return access(path, F_OK) ? "no such PCI function" : NULL;
}

/* A new device, with nothing of what was done to the old one */
static int dev_anew(const char *size, int engines)
{
	char base[64];
	int err;

	snprintf(base, sizeof(base), PCI "%s/", fn);
	err = put(base, "driver_override", "idxd");
	if (!err && number_of() >= 0)
		err = put("/sys/bus/pci/drivers/idxd/", "unbind", fn);
	if (!err)
		err = put("/sys/bus/pci/drivers/idxd/", "bind", fn);
	if (err)
		return err;
	nr = number_of();
	dev_down();
	return dev_up(size, engines);
}

FIXTURE_SETUP(iaa)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	self->cluster = ssw_num(CLUSTER);
	if (!why)
		why = zswap_start(&self->zswap);
	if (!why && access(CRYPTO, F_OK))
		why = "a kernel without CONFIG_CRYPTO_DEV_IAA_CRYPTO";
	if (!why)
		why = dev_find();
	if (why)
		SKIP(return, "%s", why);
	/* No test is to depend on how fast its host is. */
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	ASSERT_EQ(0, ssw_write(DEAD, "600000"));
	ASSERT_EQ(0, dev_anew("64", ENGINES));
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa"));
}

FIXTURE_TEARDOWN(iaa)
{
	char val[24];

	snprintf(val, sizeof(val), "%lld", self->cluster);
	ssw_write(CLUSTER, val);
	ssw_all_online();
	zswap_end(_metadata, &self->zswap);
	ssw_write(ABORT, AT_ONCE);
	ssw_write(DEAD, "5000");
	if (number_of() >= 0) {
		EXPECT_EQ(0, get("bad_dma"));
		EXPECT_EQ(0, get("dropped"));
		dev_down();
		put(CRYPTO, "verify_compress", "1");
	}
	ssw_end();
}

struct counts {
	long long batches, units, stored, loaded, alone, poor, disk;
	long long done, failed, lost, flipped, soft;
};

static struct counts counts(void)
{
	return (struct counts) {
		.batches = ssw_num(ZBATCH "requests"),
		.units = ssw_num(ZBATCH "units"),
		.stored = ssw_num(ZBATCH "lane_stored"),
		.loaded = ssw_num(ZBATCH "loaded"),
		.alone = ssw_stat("fallback/zbatch_unit"),
		.poor = ssw_stat("fallback/zbatch_poor"),
		.disk = ssw_vmstat("pswpout"),
		.done = get("done"),
		.failed = get("failed"),
		.lost = get("lost"),
		.flipped = get("flipped"),
		.soft = stat_of("total_sw_decomp_calls"),
	};
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.batches - then.batches, now.units - then.units, now.stored - then.stored,
		now.loaded - then.loaded, now.alone - then.alone, now.poor - then.poor,
		now.disk - then.disk, now.done - then.done, now.failed - then.failed,
		now.lost - then.lost, now.flipped - then.flipped, now.soft - then.soft,
	};
}

static struct counts out(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	return since(c);
}

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

/* Have one of @interval descriptors go wrong in a way, @times times; -1 for ever, 0 no more. */
static void wrong(const char *how, int interval, int times)
{
	char base[96], val[16];

	snprintf(base, sizeof(base), "%s%s/", dir, how);
	snprintf(val, sizeof(val), "%d", interval);
	put(base, "interval", val);
	snprintf(val, sizeof(val), "%d", times);
	put(base, "times", val);
	put(base, "probability", times ? "100" : "0");
}

/* How a device can compress */
static const char * const mode[] = {
	"deflate-iaa", "deflate-iaa-canned", "deflate-iaa-dynamic",
};

/* Each page is compressed and decompressed by a device, in one request with seven others. */
SSW_BODY(iaa, by_a_device)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(mode); i++) {
		int verify = i % 2;

		dev_down();
		ASSERT_EQ(0, put(CRYPTO, "verify_compress", verify ? "1" : "0"));
		ASSERT_EQ(0, dev_up("64", ENGINES));
		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i / 2]));
		p = pages_of(_metadata, i + 1);
		c = out(p);
		EXPECT_EQ(PAGES, c.stored) TH_LOG("%s, verified: %d", mode[i / 2], verify);
		EXPECT_EQ(PAGES, c.units);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ((1 + verify) * PAGES, c.done);
		EXPECT_EQ(0, c.failed + c.poor + c.disk);
		c = in(p);
		EXPECT_EQ(PAGES, c.loaded);
		EXPECT_EQ(PAGES, c.done);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ(0, c.alone + c.soft + c.failed);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* All units of a request are with the device before its task waits for the first. */
SSW_BODY(iaa, all_at_once)
{
	static const int engines[] = { 1, ENGINES };
	struct counts c;
	char *p;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		dev_down();
		ASSERT_EQ(0, dev_up("64", engines[i]));
		ASSERT_EQ(0, put(dir, "delay_ms", "2"));
		p = pages_of(_metadata, i + 1);
		/* None ends while others are submitted. */
		wrong("delay", 1, -1);
		for (int load = 0; load < 2; load++) {
			ASSERT_EQ(0, put(dir, "most", "0"));
			c = load ? in(p) : out(p);
			EXPECT_EQ(PAGES, c.units);
			EXPECT_EQ(UNITS, get("most")) TH_LOG("%d engines", engines[i]);
		}
		wrong("delay", 0, 0);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* Without a device nothing is compressed any more, and what was is read all the same. */
SSW_BODY(iaa, no_device_any_more)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(mode); i++) {
		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i]));
		p = pages_of(_metadata, 1);
		c = out(p);
		ASSERT_EQ(PAGES, c.stored) TH_LOG("%s", mode[i]);
		q = pages_of(_metadata, 2);
		dev_down();
		c = out(q);
		EXPECT_EQ(0, c.stored + c.done) TH_LOG("%s", mode[i]);
		EXPECT_EQ(PAGES, c.poor);
		EXPECT_EQ(PAGES, c.disk);
		c = in(p);
		EXPECT_EQ(PAGES, c.loaded) TH_LOG("%s", mode[i]);
		EXPECT_EQ(PAGES, c.soft);
		EXPECT_EQ(0, c.alone + c.done);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 1)) TH_LOG("%s", mode[i]);
		EXPECT_EQ(0, ssw_wrong(q, PAGES, 2));
		munmap(p, PAGES * SSW_PAGE);
		munmap(q, PAGES * SSW_PAGE);
		/* It comes again, and the same handle uses it. */
		ASSERT_EQ(0, dev_up("64", ENGINES));
		p = pages_of(_metadata, 3);
		c = out(p);
		EXPECT_EQ(PAGES, c.stored) TH_LOG("%s", mode[i]);
		EXPECT_EQ(2 * PAGES, c.done);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* A device that cannot read the header of canned pages does the rest. */
SSW_BODY(iaa, header_not_read)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa-canned"));
	p = pages_of(_metadata, 1);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	dev_down();
	/* Algorithms were tested when they were registered, so the header comes first. */
	ASSERT_EQ(0, put(dir, "fail_status", "4"));
	wrong("fail", 1, 1);
	c = counts();
	ASSERT_EQ(0, dev_up("64", ENGINES));
	EXPECT_EQ(1, since(c).failed);
	wrong("fail", 0, 0);
	q = pages_of(_metadata, 2);
	c = out(q);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(0, c.stored + c.done + c.failed);
	c = in(p);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(PAGES, c.soft);
	EXPECT_EQ(0, c.alone + c.done + c.failed);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 2));
	munmap(p, PAGES * SSW_PAGE);
	munmap(q, PAGES * SSW_PAGE);
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa"));
	p = pages_of(_metadata, 3);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
	munmap(p, PAGES * SSW_PAGE);
	/* It can, the next time. */
	dev_down();
	ASSERT_EQ(0, dev_up("64", ENGINES));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa-canned"));
	p = pages_of(_metadata, 4);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 4));
}

/* The half of a page of which nothing is said twice, and how many pages have another one */
static long half(char *p, bool set)
{
	unsigned int x = 2463534242u;
	long wrong = 0;

	for (long i = 0; i < PAGES; i++) {
		bool same = true;

		for (long at = SSW_PAGE / 2; at < SSW_PAGE; at++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			if (set)
				p[i * SSW_PAGE + at] = x;
			else
				same &= p[i * SSW_PAGE + at] == (char)x;
		}
		wrong += !same;
	}
	return wrong;
}

/* What a device compresses wrong is found, and is not stored. */
SSW_BODY(iaa, compressed_wrong)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	half(p, true);
	wrong("flip", 4, -1);
	c = out(p);
	wrong("flip", 0, 0);
	TH_LOG("%lld stored, %lld not", c.stored, c.poor);
	EXPECT_LT(0, c.flipped);
	EXPECT_EQ(c.flipped, c.poor);
	EXPECT_EQ(PAGES - c.flipped, c.stored);
	EXPECT_EQ(c.poor, c.disk);
	EXPECT_EQ(0, half(p, false));
}

/*
 * Whatever a device says of a unit it has not done, others are right, and so is that one: it goes
 * to its area, or software decompresses it.
 */
SSW_BODY(iaa, each_status)
{
	/* Status and error code << 8, as IAA has them */
	static const int status[] = {
		0x04, 0x190a, 0x020a, 0x0b, 0x10, 0x13, 0x1a, 0x1f, 0x21, 0x24, 0x34, 0xff,
	};
	struct counts c;
	char val[16], *p;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(status); i++) {
		/* Units of all places in a request, in turn */
		int interval = 5 + i % 4;

		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i % ARRAY_SIZE(mode)]));

		snprintf(val, sizeof(val), "%d", status[i]);
		ASSERT_EQ(0, put(dir, "fail_status", val));
		p = pages_of(_metadata, i + 1);
		wrong("fail", interval, -1);
		c = out(p);
		wrong("fail", 0, 0);
		EXPECT_LT(0, c.failed) TH_LOG("status %#x", status[i]);
		EXPECT_EQ(c.failed, c.poor);
		EXPECT_EQ(PAGES, c.stored + c.poor);
		EXPECT_EQ(c.poor, c.disk);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1)) TH_LOG("status %#x", status[i]);
		munmap(p, PAGES * SSW_PAGE);
		p = pages_of(_metadata, i + 1);
		c = out(p);
		ASSERT_EQ(PAGES, c.stored);
		wrong("fail", interval, -1);
		c = in(p);
		wrong("fail", 0, 0);
		EXPECT_LT(0, c.failed) TH_LOG("status %#x", status[i]);
		EXPECT_EQ(c.failed, c.soft);
		EXPECT_EQ(PAGES, c.loaded);
		EXPECT_EQ(0, c.alone);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1)) TH_LOG("status %#x", status[i]);
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* A device that says it has done what it has not */
SSW_BODY(iaa, says_it_is_done)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	ASSERT_EQ(0, put(dir, "fail_status", "1"));
	p = pages_of(_metadata, 1);
	wrong("fail", 7, -1);
	c = out(p);
	wrong("fail", 0, 0);
	EXPECT_LT(0, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 2);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	wrong("fail", 7, -1);
	c = in(p);
	wrong("fail", 0, 0);
	EXPECT_LT(0, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, c.alone);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* A descriptor that never ends: its queue is aborted, and it is as if it had failed. */
SSW_BODY(iaa, lost)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, SOON));
	wrong("lose", 37, 4);
	c = out(p);
	wrong("lose", 0, 0);
	/* Two engines may lose the last one at a time. */
	EXPECT_LE(4, c.lost);
	EXPECT_LE(c.lost, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, SOON));
	wrong("lose", 37, 4);
	c = in(p);
	wrong("lose", 0, 0);
	EXPECT_LE(4, c.lost);
	EXPECT_LE(c.lost, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	/* One abort for each, though its task looks all the time. */
	EXPECT_EQ(0, get("needless"));
}

/*
 * A descriptor that takes longer than the driver waits: as if it were lost. What it would have
 * written does not come later, into pages that are used for something else.
 */
SSW_BODY(iaa, late)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	ASSERT_EQ(0, put(dir, "delay_ms", "400"));
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, AT_ONCE));
	wrong("delay", 61, 6);
	c = out(p);
	wrong("delay", 0, 0);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	EXPECT_LE(6, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 2);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, AT_ONCE));
	wrong("delay", 61, 6);
	c = in(p);
	wrong("delay", 0, 0);
	EXPECT_LE(6, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	ssw_stamp(p, PAGES, 3);
	usleep(500000);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
}

#define TASKS	6

/* Processes that swap out and in, some rounds at least, and until they are to end */
static pid_t pid[TASKS];
static volatile int *enough;

/* Whether their memory is shared: zswap stores that page by page */
static bool shared;

static pid_t swaps(int cpu)
{
	pid_t pid = ssw_fork();
	long wrong = 0;
	char *p;

	if (pid)
		return pid;
	ssw_pin(cpu);
	p = shared ? mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0) : ssw_map(PAGES, false);
	if (p == MAP_FAILED)
		_exit(9);
	for (int i = 1; p && (i <= 2 || !*enough); i++) {
		ssw_stamp(p, PAGES, i);
		madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
		if (i % 2)
			madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		wrong += ssw_wrong(p, PAGES, i);
	}
	_exit(p && !wrong ? 0 : 1);
}

static void all_swap(struct __test_metadata *_metadata)
{
	cpu_set_t online;

	ASSERT_EQ(0, ssw_online(&online));
	enough = ssw_shared(sizeof(*enough));
	ASSERT_NE(NULL, enough);
	for (int i = 0; i < TASKS; i++)
		pid[i] = swaps(i % CPU_COUNT(&online));
}

static void all_join(struct __test_metadata *_metadata)
{
	*enough = 1;
	for (int i = 0; i < TASKS; i++)
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("1: a page is wrong");
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
}

/* Descriptors that others overtake */
SSW_BODY(iaa, out_of_order)
{
	struct counts c = counts();

	wrong("delay", 9, -1);
	ASSERT_EQ(0, put(dir, "delay_ms", "4"));
	all_swap(_metadata);
	all_join(_metadata);
	wrong("delay", 0, 0);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_EQ(0, c.failed + c.lost);
}

/* Fewer descriptors than tasks ask for at a time */
SSW_BODY(iaa, small_queue)
{
	struct counts c;

	dev_down();
	ASSERT_EQ(0, dev_up("4", 1));
	c = counts();
	all_swap(_metadata);
	all_join(_metadata);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_EQ(0, c.failed + c.lost + c.poor);
}

/* Aborts all the time, of a queue in which others have units that are compressed, or verified */
SSW_BODY(iaa, aborted_often)
{
	struct counts c;

	dev_down();
	ASSERT_EQ(0, dev_up("16", ENGINES));
	ASSERT_EQ(0, ssw_write(ABORT, "10"));
	ASSERT_EQ(0, put(dir, "delay_ms", "9"));
	c = counts();
	wrong("delay", 2, -1);
	wrong("lose", 60, -1);
	all_swap(_metadata);
	sleep(12);
	all_join(_metadata);
	wrong("delay", 0, 0);
	wrong("lose", 0, 0);
	c = since(c);
	TH_LOG("%lld done, %lld lost, %lld by software", c.done, c.lost, c.soft);
	EXPECT_LT(0, c.lost);
	EXPECT_LT(0, c.soft + c.poor);
}

/* No descriptor for long, with one page or several at a time: nobody waits for ever. */
SSW_BODY(iaa, no_descriptor)
{
	struct counts c;

	for (int i = 0; i < 2; i++) {
		dev_down();
		ASSERT_EQ(0, dev_up("1", 1));
		shared = i;
		ASSERT_EQ(0, ssw_write(ABORT, "10"));
		c = counts();
		wrong("lose", 1, -1);
		all_swap(_metadata);
		sleep(2);
		wrong("lose", 0, 0);
		all_join(_metadata);
		c = since(c);
		EXPECT_LT(0, c.lost);
	}
}

/* The queue comes and goes while tasks swap. */
SSW_BODY(iaa, comes_and_goes)
{
	struct counts c = counts(), then;

	all_swap(_metadata);
	for (int i = 0; i < 8; i++) {
		usleep(100000);
		dev_down();
		/* Until somebody has missed it */
		then = counts();
		ssw_for_looks(n) {
			struct counts more = since(then);

			if (more.soft + more.poor)
				break;
			usleep(20000);
		}
		EXPECT_EQ(0, dev_up(i % 2 ? "64" : "16", 1 + i % ENGINES));
	}
	all_join(_metadata);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_LT(0, c.soft + c.poor);
}

/*
 * The device stops while tasks swap, and never ends what it has. With a software reset (0) or a
 * function level reset (1) it would go on; the driver does neither, so there is a new one.
 */
static void halts(struct __test_metadata *_metadata, const char *reset)
{
	all_swap(_metadata);
	for (int i = 0; i < 6; i++) {
		usleep(100000);
		EXPECT_EQ(0, put(dir, "halt", reset));
		usleep(50000);
		if (i % 2)
			dev_down();
		EXPECT_EQ(0, dev_anew("64", ENGINES));
	}
	all_join(_metadata);
}

SSW_BODY(iaa, halts_for_a_reset)
{
	halts(_metadata, "0");
}

SSW_BODY(iaa, halts_for_a_function_reset)
{
	halts(_metadata, "1");
}

/* It halts while its queue goes, and that waits for a descriptor. */
SSW_BODY(iaa, halts_as_it_goes)
{
	pid_t goes;

	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, ssw_write(ABORT, "3000"));
		all_swap(_metadata);
		wrong("lose", 1, -1);
		usleep(300000);
		goes = ssw_fork();
		ASSERT_LE(0, goes);
		if (!goes) {
			dev_down();
			_exit(0);
		}
		usleep(300000);
		EXPECT_EQ(0, put(dir, "halt", i % 2 ? "0" : "1"));
		EXPECT_EQ(0, ssw_join(goes));
		wrong("lose", 0, 0);
		EXPECT_EQ(0, dev_anew("64", ENGINES));
		all_join(_metadata);
	}
}

/*
 * A device that loses a descriptor, and then executes no commands: it is kept off memory, and nobody
 * waits for it. What it has begun it does not write later.
 */
SSW_BODY(iaa, deaf)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, "20"));
	ASSERT_EQ(0, ssw_write(DEAD, "1000"));
	ASSERT_EQ(0, put(dir, "deaf", "1"));
	ASSERT_EQ(0, put(dir, "delay_ms", "4000"));
	/* Two of the same request */
	wrong("delay", 3 * UNITS + 3, 1);
	wrong("lose", 3 * UNITS + 7, 1);
	c = in(p);
	EXPECT_EQ(1, c.lost);
	EXPECT_LT(1, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, c.alone);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ssw_stamp(p, PAGES, 2);
	q = pages_of(_metadata, 3);
	c = out(q);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(0, c.stored);
	sleep(5);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 3));
	munmap(p, PAGES * SSW_PAGE);
	munmap(q, PAGES * SSW_PAGE);
	ASSERT_EQ(0, put(dir, "deaf", "0"));
	wrong("delay", 0, 0);
	wrong("lose", 0, 0);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	ASSERT_EQ(0, dev_anew("64", ENGINES));
	p = pages_of(_metadata, 4);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 4));
}

/* CPUs go offline, and another compressor is used meanwhile. */
SSW_BODY(iaa, cpus_and_compressors)
{
	cpu_set_t online;
	int last;

	ASSERT_EQ(0, ssw_online(&online));
	last = CPU_COUNT(&online) - 1;
	all_swap(_metadata);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(0, ssw_set_online(last, i % 2));
		EXPECT_EQ(0, ssw_write(ZSWAP "compressor", i % 4 == 3 ? "lzo-rle" : mode[i % 4]));
		usleep(200000);
	}
	all_join(_metadata);
}

/* What tasks have met since a device was new */
static void add_up(struct counts *sum)
{
	sum->done += get("done");
	sum->failed += get("failed");
	sum->lost += get("lost");
}

/*
 * All of that, at random, for SSW_IAA_SECONDS: the queue goes, the device halts, another one
 * comes, descriptors fail, are lost or are late, codes and other compressors, CPUs.
 */
SSW_BODY(iaa, everything)
{
	static const char * const how[] = { "fail", "lose", "delay" };
	static const int status[] = { 0x04, 0x190a, 0x0b, 0x1f, 0x01 };
	const char *seconds = getenv("SSW_IAA_SECONDS"), *seed = getenv("SSW_SEED");
	unsigned int rnd = seed ? atoi(seed) : getpid();
	time_t end = time(NULL) + (seconds ? atol(seconds) : 15);
	long unbound = 0, halts = 0, codes = 0, cpus = 0, wrongs = 0;
	struct counts sum = { }, c;
	cpu_set_t online;
	char val[16];
	int last;

	TH_LOG("seed %u", rnd);
	ASSERT_EQ(0, ssw_online(&online));
	last = CPU_COUNT(&online) - 1;
	c = counts();
	all_swap(_metadata);
	while (time(NULL) < end) {
		int i = rand_r(&rnd), engines = 1 + rand_r(&rnd) % ENGINES;
		const char *size = i & 64 ? "64" : i & 128 ? "16" : "4";

		ASSERT_EQ(0, ssw_write(ABORT, i & 256 ? "100" : "1000"));
		switch (rand_r(&rnd) % 8) {
		case 0:
			dev_down();
			usleep(rand_r(&rnd) % 200000);
			EXPECT_EQ(0, dev_up(size, engines));
			unbound++;
			break;
		case 1:
			EXPECT_EQ(0, put(dir, "halt", i % 2 ? "0" : "1"));
			usleep(rand_r(&rnd) % 200000);
			add_up(&sum);
			EXPECT_EQ(0, dev_anew(size, engines));
			halts++;
			break;
		case 2:
			EXPECT_EQ(0, ssw_set_online(last, false));
			usleep(rand_r(&rnd) % 200000);
			EXPECT_EQ(0, ssw_set_online(last, true));
			cpus++;
			break;
		case 3:
		case 4:
			i %= ARRAY_SIZE(mode) + 1;
			EXPECT_EQ(0, ssw_write(ZSWAP "compressor",
					       i < (int)ARRAY_SIZE(mode) ? mode[i] : "lzo-rle"));
			codes++;
			break;
		default:
			snprintf(val, sizeof(val), "%d", status[i % ARRAY_SIZE(status)]);
			put(dir, "fail_status", val);
			snprintf(val, sizeof(val), "%d", 1 + i % 300);
			put(dir, "delay_ms", val);
			wrong(how[i % ARRAY_SIZE(how)], 1 + rand_r(&rnd) % 100, 1 + i % 50);
			usleep(rand_r(&rnd) % 300000);
			wrong(how[i % ARRAY_SIZE(how)], 0, 0);
			wrongs++;
		}
		usleep(rand_r(&rnd) % 200000);
	}
	all_join(_metadata);
	add_up(&sum);
	c = since(c);
	printf("end t=%s unbound=%ld halts=%ld cpus=%ld codes=%ld wrongs=%ld ",
	       seconds ?: "15", unbound, halts, cpus, codes, wrongs);
	printf("done=%lld failed=%lld lost=%lld software=%lld stored=%lld loaded=%lld\n",
	       sum.done, sum.failed, sum.lost, c.soft, c.stored, c.loaded);
	EXPECT_LT(PAGES, sum.done);
	EXPECT_LT(0, c.soft);
}

/* A function that is not in idxd.sim= is none, even if one gives it to the driver. */
SSW_BODY(iaa, function_is_not_named)
{
	static const char other[] = "0000:00:11.0";

	if (access(PCI "0000:00:11.0", F_OK))
		SKIP(_exit(0), "no other PCI function");
	ASSERT_EQ(0, put(PCI "0000:00:11.0/", "driver_override", "idxd"));
	EXPECT_EQ(-ENODEV, put("/sys/bus/pci/drivers/idxd/", "bind", other));
	EXPECT_EQ(0, put(PCI "0000:00:11.0/", "driver_override", "\n"));
}

/* One that is named, but has no interrupts that a device needs */
SSW_BODY(iaa, function_without_interrupts)
{
	static const char other[] = "0000:00:1f.3";
	char names[64] = "";

	ssw_read(SIM, names, sizeof(names));
	if (!strstr(names, other) || access(PCI "0000:00:1f.3", F_OK))
		SKIP(_exit(0), "no such PCI function in idxd.sim=");
	ASSERT_EQ(0, put(PCI "0000:00:1f.3/", "driver_override", "idxd"));
	EXPECT_EQ(-ENODEV, put("/sys/bus/pci/drivers/idxd/", "bind", other));
	EXPECT_EQ(0, put(PCI "0000:00:1f.3/", "driver_override", "\n"));
}

/* What can be set says no to what it does not know, and what is simulated says so. */
SSW_BODY(iaa, values)
{
	char path[96];

	snprintf(path, sizeof(path), PCI "%s/simulated", fn);
	EXPECT_EQ(1, ssw_num(path));
	/* While there is a device, handles have what it was set to. */
	EXPECT_EQ(-EBUSY, put(CRYPTO, "verify_compress", "0"));
	EXPECT_EQ(0, put(CRYPTO, "sync_mode", "sync"));
	EXPECT_EQ(-EINVAL, put(CRYPTO, "sync_mode", "async_irq"));
	EXPECT_EQ(-EINVAL, put(dir, "halt", "2"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "9"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "60001"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "soon"));
	EXPECT_EQ(60000, ssw_num(ABORT));
	EXPECT_EQ(-EINVAL, ssw_write(DEAD, "999"));
	EXPECT_EQ(-EINVAL, ssw_write(DEAD, "600001"));
	EXPECT_EQ(600000, ssw_num(DEAD));
	dev_down();
	EXPECT_EQ(-EINVAL, put(CRYPTO, "verify_compress", "perhaps"));
	EXPECT_EQ(0, put(CRYPTO, "verify_compress", "1"));
	/* Neither more descriptors than there are, nor none */
	EXPECT_NE(0, dev_up("129", ENGINES));
	EXPECT_NE(0, dev_up("16", 0));
}

TEST_HARNESS_MAIN
