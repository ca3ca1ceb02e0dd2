// SPDX-License-Identifier: GPL-2.0
/*
 * zswap where a page cannot be decompressed, as with a device that was taken away: who reads the
 * page gets an I/O error, no other page is touched, and it is there again when it can be
 * decompressed.
 */
#include <signal.h>

#include "harness.h"

#define ZSWAP	"/sys/module/zswap/parameters/"
#define COUNTS	"/sys/kernel/debug/zswap/"
#define INJECT	"/sys/kernel/debug/fail_function/"
#define FUNC	"zswap_acomp_decompress"

/* What ssw_join() says of a process that SIGBUS has ended */
#define BUS	(1000 + SIGBUS)

/* More than a tree has slots, so that several have the same index. */
#define PAGES	1200
/* Every such page is read while none can be decompressed. */
#define EVERY	40

FIXTURE(zbatch) { int unused; };

static void fails(bool on)
{
	ssw_write(INJECT "inject", on ? FUNC : "");
	if (!on)
		return;
	ssw_write(INJECT "probability", "100");
	ssw_write(INJECT "interval", "1");
	ssw_write(INJECT "times", "-1");
	ssw_write(INJECT "verbose", "0");
	/* -EIO */
	ssw_write(INJECT FUNC "/retval", "0xfffffffffffffffb");
}

FIXTURE_SETUP(zbatch)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (why)
		SKIP(return, "%s", why);
	if (access(ZSWAP "enabled", W_OK))
		SKIP(return, "the kernel has no zswap");
	if (access(INJECT "inject", W_OK))
		SKIP(return, "no " INJECT " (CONFIG_FAIL_FUNCTION)");
	ASSERT_EQ(0, ssw_write(ZSWAP "enabled", "1"));
}

FIXTURE_TEARDOWN(zbatch)
{
	fails(false);
	ssw_write(ZSWAP "shrinker_enabled", "0");
	ssw_write(ZSWAP "enabled", "0");
	/* The body has ended, so nothing is in swap, and no entry may be left over. */
	if (!access(COUNTS "stored_pages", R_OK))
		EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
	ssw_end();
}

/* Areas, and pages that zswap has */
static char *stored(struct __test_metadata *_metadata, struct ssw_areas *a, int gen)
{
	long long before = ssw_vmstat("zswpout");
	char *p = ssw_map(PAGES, false);

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, ssw_areas_on(a, 4096, SSW_MANY));
	ssw_pin(a->cpu[0]);
	ssw_stamp(p, PAGES, gen);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	ASSERT_EQ(PAGES, ssw_vmstat("zswpout") - before);
	ASSERT_EQ(PAGES, ssw_num(COUNTS "stored_pages"));
	return p;
}

/* Read one page in a process of its own: as ssw_join(), and 1 if it is wrong. */
static int read_alone(const char *page, int gen)
{
	pid_t pid = ssw_fork();

	if (!pid) {
		signal(SIGBUS, SIG_DFL);
		_exit(ssw_wrong(page, 1, gen) ? 1 : 0);
	}
	return ssw_join(pid);
}

/* SIGBUS for who reads a page, then and again; and right when it can be decompressed. */
SSW_BODY(zbatch, fails_to_read)
{
	struct ssw_areas a;
	char *p = stored(_metadata, &a, 1);
	long long failed = ssw_num(COUNTS "decompress_fail");

	fails(true);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < PAGES; i += EVERY) {
			ASSERT_EQ(BUS, read_alone(p + i * SSW_PAGE, 1)) TH_LOG("page %d", i);
		}
	}
	failed = ssw_num(COUNTS "decompress_fail") - failed;
	EXPECT_LE(PAGES / EVERY, failed);
	EXPECT_EQ(PAGES, ssw_num(COUNTS "stored_pages"));
	fails(false);
	/* As with a device, what could not be read is in the swap cache until it is reclaimed. */
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/* A page that cannot be written back stays where it is. */
SSW_BODY(zbatch, fails_to_write_back)
{
	struct ssw_areas a;
	char *p = stored(_metadata, &a, 2);
	long long failed = ssw_num(COUNTS "decompress_fail"), back = ssw_vmstat("zswpwb");

	ASSERT_EQ(0, ssw_write(ZSWAP "shrinker_enabled", "1"));
	fails(true);
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", 0));
	for (int i = 0; i < 5; i++)
		ssw_write(SSW_CG "/ssw/memory.reclaim", "2M");
	EXPECT_LT(0, ssw_num(COUNTS "decompress_fail") - failed);
	EXPECT_EQ(0, ssw_vmstat("zswpwb") - back);
	EXPECT_EQ(PAGES, ssw_num(COUNTS "stored_pages"));
	fails(false);
	for (int i = 0; i < 5; i++)
		ssw_write(SSW_CG "/ssw/memory.reclaim", "2M");
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	EXPECT_LT(0, ssw_vmstat("zswpwb") - back);
	TH_LOG("%lld pages written back", ssw_vmstat("zswpwb") - back);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* swapoff ends, as with a device that cannot be read, and zswap keeps nothing of the area. */
SSW_BODY(zbatch, fails_at_swapoff)
{
	struct ssw_areas a;
	char *p = stored(_metadata, &a, 3);

	fails(true);
	for (int i = 0; i < a.n; i++)
		EXPECT_EQ(0, ssw_swapoff(a.path[i]));
	fails(false);
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
	for (int i = 0; i < PAGES; i += EVERY)
		EXPECT_EQ(BUS, read_alone(p + i * SSW_PAGE, 3));
	/* The addresses can be used again. */
	EXPECT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, ssw_not_zero(p, PAGES));
}

TEST_HARNESS_MAIN
