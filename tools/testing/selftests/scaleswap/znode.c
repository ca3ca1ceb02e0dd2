// SPDX-License-Identifier: GPL-2.0
/*
 * Pages in zswap count for the node whose memory they were in, whichever CPU has stored them: the
 * shrinker, which is called for a node that is short of memory, writes those of this node back.
 */
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "zbatch_harness.h"

#define SHRINKER	"/sys/kernel/debug/shrinker/mm-zswap-*"
#define LARGE		SSW_THP "/hugepages-64kB/"

#define PAGES	512
/* linux/mempolicy.h */
#define BIND	2

FIXTURE(znode) { struct zswap_was zswap; struct ssw_areas areas; };

/* The files of zswap's shrinker; the node on which the test runs, and another one */
static glob_t files;
static int here, there;

FIXTURE_SETUP(znode)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_BDEV);

	if (!why)
		why = zswap_start(&self->zswap);
	if (why)
		SKIP(return, "%s", why);
	if (glob(SHRINKER, 0, NULL, &files))
		SKIP(return, "a kernel without CONFIG_SHRINKER_DEBUG");
	here = ssw_node_of(0);
	there = !here;
	if (here < 0 || here > 1 || access(SSW_NODES "/node1", R_OK))
		SKIP(return, "one node");
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_write(ZSWAP "shrinker_enabled", "1"));
	ASSERT_EQ(0, ssw_write(ZBATCH "load_batch", "1"));
}

FIXTURE_TEARDOWN(znode)
{
	ssw_write(LARGE "enabled", "never");
	ssw_write(ZBATCH "load_batch", "32");
	zswap_end(_metadata, &self->zswap);
	globfree(&files);
	ssw_end();
}

static unsigned long group_ino(void)
{
	struct stat st;

	return stat(SSW_CG "/ssw", &st) ? 0 : st.st_ino;
}

/* What the shrinker says that it could free of the group's pages of a node */
static long freeable(int node)
{
	unsigned long ino, on[2];
	char line[256], path[256];
	long nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/count", files.gl_pathv[0]);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lu %lu %lu", &ino, &on[0], &on[1]) == 3 && ino == group_ino())
			nr = on[node];
	}
	fclose(f);
	return nr;
}

/* Have it look at so many of them. Return how many it has written back. */
static long long shrunk(int node, int nr)
{
	long long back = ssw_vmstat("zswpwb");
	char path[256], val[64];

	snprintf(path, sizeof(path), "%s/scan", files.gl_pathv[0]);
	snprintf(val, sizeof(val), "%lu %d %d", group_ino(), node, nr);
	return ssw_write(path, val) ? -1 : ssw_vmstat("zswpwb") - back;
}

enum kind { SMALL_FOLIOS, LARGE_FOLIOS, SHARED_MEMORY };

/* Pages on a node, all of which zswap has. Only those of shared memory are stored one by one. */
static char *stored_of(struct __test_metadata *_metadata, int node, enum kind kind)
{
	long long had = ssw_vmstat("zswpout"), lane = ssw_num(ZBATCH "lane_stored");
	long long large = ssw_num(ZBATCH "stored"), got;
	unsigned long mask = 1UL << node;
	char *p;

	ssw_write(LARGE "enabled", kind == LARGE_FOLIOS ? "madvise" : "never");
	p = kind != SHARED_MEMORY ? ssw_map(PAGES, kind == LARGE_FOLIOS) :
	    mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(p && p != MAP_FAILED);
	ASSERT_EQ(0, syscall(SYS_mbind, p, PAGES * SSW_PAGE, BIND, &mask, 64, 0));
	ssw_stamp(p, PAGES, 1);
	ssw_pageout(p, PAGES);
	got = ssw_vmstat("zswpout") - had;
	lane = ssw_num(ZBATCH "lane_stored") - lane;
	large = ssw_num(ZBATCH "stored") - large;
	TH_LOG("node %d: %lld pages stored, %lld in lanes, %lld of large folios", node, got, lane,
	       large);
	EXPECT_EQ(PAGES, got);
	EXPECT_EQ(PAGES, kind == SMALL_FOLIOS ? lane : kind == LARGE_FOLIOS ? large :
		  got - lane - large);
	return p;
}

static void of_their_node(struct __test_metadata *_metadata, enum kind kind)
{
	char *p, *q;

	ssw_pin(0);
	p = stored_of(_metadata, there, kind);
	EXPECT_EQ(0, freeable(here));
	EXPECT_LT(0, freeable(there));
	/* They leave their list when they are loaded, one by one. */
	q = stored_of(_metadata, here, SMALL_FOLIOS);
	EXPECT_LT(0, freeable(here));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(0, freeable(there));
	EXPECT_LT(0, freeable(here));
	munmap(p, PAGES * SSW_PAGE);

	p = stored_of(_metadata, there, kind);
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 1));
	/* The first look at an entry makes it old, and the second one frees it. */
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, shrunk(here, PAGES));
	EXPECT_EQ(0, shrunk(there, PAGES));
	EXPECT_EQ(PAGES, shrunk(there, PAGES));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/* A CPU of one node stores pages of the other one: in lanes, as large folios, and one by one. */
SSW_BODY(znode, small_folios)
{
	of_their_node(_metadata, SMALL_FOLIOS);
}

SSW_BODY(znode, large_folios)
{
	if (access(LARGE "enabled", W_OK))
		SKIP(_exit(0), "the kernel has no huge pages of 64 KiB");
	of_their_node(_metadata, LARGE_FOLIOS);
}

SSW_BODY(znode, shared_memory)
{
	of_their_node(_metadata, SHARED_MEMORY);
}

TEST_HARNESS_MAIN
