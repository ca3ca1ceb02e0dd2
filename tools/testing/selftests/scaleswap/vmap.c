// SPDX-License-Identifier: GPL-2.0
/*
 * How many free areas vmalloc has in pools, as its shrinker tells: none when they are given up.
 */
#include <glob.h>
#include <sys/stat.h>

#include "fault_util.h"
#include "harness.h"

#define NAME	"sswvmap"
#define MB	"3600"	/* a page of its map for each 16 MB; only what is written is there */
#define PAGES	(3600 * 256 - 256)

FIXTURE(vmap) { glob_t count; };

FIXTURE_SETUP(vmap)
{
	const char *why = ssw_start(0);

	if (why)
		SKIP(return, "%s", why);
	if (glob("/sys/kernel/debug/shrinker/vmap-node-*/count", 0, NULL, &self->count))
		SKIP(return, "a kernel without CONFIG_SHRINKER_DEBUG");
}

FIXTURE_TEARDOWN(vmap)
{
	globfree(&self->count);
	fault_nullb_gone_at(NAME);
	ssw_end();
}

/* The line is for the root cgroup, and empty if there are none. */
static long long pooled(const char *path)
{
	char buf[128];
	long long nr = 0;

	if (ssw_read(path, buf, sizeof(buf)) < 0)
		return -1;
	sscanf(buf, "%*u %lld", &nr);
	return nr;
}

/* Have an area so often: its map of slots is in an area of vmalloc's, of almost 1 MB. */
static int many_maps(int rounds)
{
	int err = 0;

	for (int i = 0; !err && i < rounds; i++) {
		err = ssw_swapon("/dev/" NAME);
		if (err >= 0)
			err = ssw_swapoff("/dev/" NAME);
	}
	return err;
}

/* Areas come and go, and most are from the pools when there are some there. */
SSW_TEST_F(vmap, pools_are_counted)
{
	const char *path = self->count.gl_pathv[0];
	long long nr = 0;
	int rounds;

	if (mkdir(FAULT_NULLB_DIR NAME, 0755))
		SKIP(return, "no null_blk (%s)", strerror(errno));
	ASSERT_EQ(0, fault_nullb_set(NAME, "size", MB));
	ASSERT_EQ(0, fault_nullb_set(NAME, "blocksize", "4096"));
	ASSERT_EQ(0, fault_nullb_set(NAME, "memory_backed", "1"));
	ASSERT_EQ(0, fault_nullb_set(NAME, "power", "1"));
	ASSERT_EQ(0, ssw_mkswap("/dev/" NAME, PAGES));
	for (rounds = 0; rounds < 60; rounds++) {
		ASSERT_EQ(0, many_maps(20));
		nr = pooled(path);
		ASSERT_LE(0, nr);
		/* Some of those from the pools are in use again. */
		if (nr && rounds > 15)
			break;
	}
	TH_LOG("%lld areas in pools after %d rounds", nr, rounds);
	EXPECT_LT(0, nr);
	EXPECT_GT(60 * 20, nr);
	/* Others may give some back at that time. */
	for (int i = 0; nr && i < 100; i++) {
		ASSERT_EQ(0, ssw_write("/proc/sys/vm/drop_caches", "2"));
		nr = pooled(path);
	}
	EXPECT_EQ(0, nr);
}

TEST_HARNESS_MAIN
