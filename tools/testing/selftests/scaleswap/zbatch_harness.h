/* SPDX-License-Identifier: GPL-2.0 */
/*
 * zbatch_harness.h - what tests of zswap in batches set and look at; see harness.h
 */
#ifndef SSW_ZBATCH_HARNESS_H
#define SSW_ZBATCH_HARNESS_H

#include "harness.h"

#define ZSWAP	"/sys/module/zswap/parameters/"
#define COUNTS	"/sys/kernel/debug/zswap/"
#define ZBATCH	SSW_SYS "/zbatch/"
#define SLAB	"/sys/kernel/debug/failslab/"

/* How zswap was set */
struct zswap_was { char zpool[32], compressor[32]; };

static inline void keep(const char *file, char *val, size_t len)
{
	if (ssw_read(file, val, len) > 0)
		val[strcspn(val, "\n")] = '\0';
}

/* Turn zswap on. Return NULL, or why there can be no batches. */
static inline const char *zswap_start(struct zswap_was *was)
{
	if (access(ZBATCH "store_batch", W_OK))
		return "a kernel without CONFIG_SCALESWAP_ZBATCH";
	keep(ZSWAP "zpool", was->zpool, sizeof(was->zpool));
	keep(ZSWAP "compressor", was->compressor, sizeof(was->compressor));
	return ssw_write(ZSWAP "enabled", "1") ? "zswap cannot be turned on" : NULL;
}

/* Turn it off again. No entry may be left over: the body has ended, and nothing is in swap. */
static inline void zswap_end(struct __test_metadata *_metadata, const struct zswap_was *was)
{
	/* Other tests have other allocations fail. */
	ssw_write(SLAB "probability", "0");
	ssw_write(SLAB "cache-filter", "N");
	ssw_write(ZBATCH "store_batch", "8");
	ssw_write(ZSWAP "shrinker_enabled", "0");
	ssw_write(ZSWAP "enabled", "0");
	if (was->zpool[0]) {
		ssw_write(ZSWAP "zpool", was->zpool);
		ssw_write(ZSWAP "compressor", was->compressor);
	}
	if (!access(COUNTS "stored_pages", R_OK)) {
		EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
		EXPECT_EQ(0, ssw_num(COUNTS "pool_total_size"));
	}
}

/* Have each allocation from caches fail whose file failslab says so, with a probability in %. */
static inline void slab_fails(const char *percent)
{
	ssw_write(SLAB "cache-filter", "Y");
	ssw_write(SLAB "task-filter", "N");
	ssw_write(SLAB "ignore-gfp-wait", "0");
	ssw_write(SLAB "verbose", "0");
	ssw_write(SLAB "times", "-1");
	ssw_write(SLAB "interval", "1");
	ssw_write(SLAB "probability", percent);
}

/* Add up a number that each event of a kind has in the trace, as in "stored=8". -errno */
static inline long long traced(const char *event, const char *key)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	long long sum = 0;
	char line[512];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, event);

		at = at ? strstr(at, key) : NULL;
		if (at)
			sum += atoll(at + strlen(key));
	}
	fclose(f);
	return sum;
}

#endif /* SSW_ZBATCH_HARNESS_H */
