/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iaa_harness.h - simulated IAA devices, and zswap on one: what its tests set and look at
 */
#ifndef SSW_IAA_HARNESS_H
#define SSW_IAA_HARNESS_H

#include <dirent.h>

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

static inline int put(const char *base, const char *file, const char *val)
{
	char path[160];

	snprintf(path, sizeof(path), "%s%s", base, file);
	return ssw_write(path, val);
}

static inline long long get(const char *file)
{
	char path[160];

	snprintf(path, sizeof(path), "%s%s", dir, file);
	return ssw_num(path);
}

/* A number of the driver's statistics */
static inline long long stat_of(const char *name)
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
static inline int number_of(void)
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

static inline int bind_to(const char *driver, const char *what, bool on)
{
	return put(driver, on ? "bind" : "unbind", what);
}

static inline char *name_of(const char *format, int id)
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
static inline void dev_down(void)
{
	bind_to(CRYPTO, WQ, false);
	bind_to(DSA "drivers/idxd/", IAX, false);
}

/* Configure the queue. Its size, and in which group it is, are set while the device is off. */
static inline int queue_set(void)
{
	static const char * const set[][2] = {
		{ "mode", "dedicated" }, { "type", "kernel" }, { "driver_name", "crypto" },
		{ "name", "iaa" }, { "priority", "10" },
	};
	char base[64];
	int err = 0;

	snprintf(base, sizeof(base), DSA "devices/%s/", WQ);
	for (size_t i = 0; !err && i < ARRAY_SIZE(set); i++)
		err = put(base, set[i][0], set[i][1]);
	return err;
}

/* Configure the device: one queue of so many descriptors, and so many engines. */
static inline int dev_up(const char *size, int engines)
{
	char base[64];
	int err;

	snprintf(base, sizeof(base), DSA "devices/%s/", WQ);
	err = put(base, "group_id", "0") ?: queue_set() ?: put(base, "size", size);
	for (int i = 0; !err && i < engines; i++) {
		snprintf(base, sizeof(base), DSA "devices/%s/", name_of("engine%d.%d", i));
		err = put(base, "group_id", "0");
	}
	return err ?: bind_to(DSA "drivers/idxd/", IAX, true) ?: bind_to(CRYPTO, WQ, true);
}

/* Look for a PCI function that is to be a device. Return NULL, or why there is none. */
static inline const char *dev_find(void)
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
static inline int dev_anew(const char *size, int engines)
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

/* How zswap and readahead were set, and what areas there are */
struct iaa_was { struct zswap_was zswap; struct ssw_areas areas; long long cluster; };

/* A device, areas, and zswap with it. Return NULL, or why there can be none. */
static inline const char *iaa_start(struct __test_metadata *_metadata, struct iaa_was *was)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	was->cluster = ssw_num(CLUSTER);
	if (!why)
		why = zswap_start(&was->zswap);
	if (!why && access(CRYPTO, F_OK))
		why = "a kernel without CONFIG_CRYPTO_DEV_IAA_CRYPTO";
	if (!why)
		why = dev_find();
	if (why)
		return why;
	/* No test is to depend on how fast its host is. */
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	ASSERT_EQ(0, ssw_write(DEAD, "600000"));
	ASSERT_EQ(0, dev_anew("64", ENGINES));
	ASSERT_EQ(0, ssw_areas_on(&was->areas, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa"));
	return NULL;
}

static inline void iaa_end(struct __test_metadata *_metadata, const struct iaa_was *was)
{
	char val[24];

	snprintf(val, sizeof(val), "%lld", was->cluster);
	ssw_write(CLUSTER, val);
	ssw_all_online();
	zswap_end(_metadata, &was->zswap);
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

static inline struct counts counts(void)
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

static inline struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.batches - then.batches, now.units - then.units, now.stored - then.stored,
		now.loaded - then.loaded, now.alone - then.alone, now.poor - then.poor,
		now.disk - then.disk, now.done - then.done, now.failed - then.failed,
		now.lost - then.lost, now.flipped - then.flipped, now.soft - then.soft,
	};
}

static inline struct counts out(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	return since(c);
}

static inline struct counts in(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
	return since(c);
}

static inline char *pages_of(struct __test_metadata *_metadata, int gen)
{
	char *p = ssw_map(PAGES, false);

	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, gen);
	/* Pages on a CPU's batch for the LRU are not reclaimed. */
	ssw_write("/proc/sys/vm/drop_caches", "1");
	return p;
}

/* Have one of @interval descriptors go wrong in a way, @times times; -1 for ever, 0 no more. */
static inline void wrong(const char *how, int interval, int times)
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

#endif /* SSW_IAA_HARNESS_H */
