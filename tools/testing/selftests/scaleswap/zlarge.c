// SPDX-License-Identifier: GPL-2.0
/*
 * Large folios in zswap: all pages of one are stored, in groups, or it goes to its area as a whole.
 */
#include <glob.h>
#include <pthread.h>
#include <sys/wait.h>

#include "zbatch_harness.h"

#define KB	64
#define PER	16		/* pages of a folio */
#define FOLIOS	20
#define PAGES	(FOLIOS * PER)
/* Of a folio's pages so many may be such that do not get shorter. */
#define RAW	(PER / 8)

FIXTURE(zlarge) { struct zswap_was zswap; };

static void only(int kb)
{
	char path[160];

	for (int k = 16; k <= 2048; k *= 2) {
		snprintf(path, sizeof(path), SSW_THP "/hugepages-%dkB/enabled", k);
		ssw_write(path, k == kb ? "madvise" : "never");
	}
}

FIXTURE_SETUP(zlarge)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_BDEV);

	if (!why)
		why = zswap_start(&self->zswap);
	if (why)
		SKIP(return, "%s", why);
	if (access(SSW_THP "/hugepages-64kB/enabled", W_OK))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	only(KB);
}

FIXTURE_TEARDOWN(zlarge)
{
	only(0);
	zswap_end(_metadata, &self->zswap);
	ssw_end();
}

/* --- pages, some of which do not get shorter ------------------------------ */

/* Make @bad of each folio's pages such: the last ones, so that others are stored before. */
static void fill(char *p, int bad, int gen)
{
	ssw_stamp(p, PAGES, gen);
	for (int i = 0; i < PAGES; i++) {
		uint64_t rnd = gen * 100000 + i + 1, *word = (uint64_t *)(p + i * SSW_PAGE);

		for (int j = 0; i % PER >= PER - bad && j < SSW_PAGE / 8; j++)
			word[j] = ssw_random(&rnd);
	}
}

static long wrong(const char *p, int bad, int gen)
{
	long n = 0;

	for (int i = 0; i < PAGES; i++) {
		uint64_t rnd = gen * 100000 + i + 1;
		const uint64_t *word = (const uint64_t *)(p + i * SSW_PAGE);

		if (i % PER < PER - bad) {
			n += ssw_wrong(p + i * SSW_PAGE, 1, gen);
			continue;
		}
		for (int j = 0; j < SSW_PAGE / 8; j++) {
			if (word[j] != ssw_random(&rnd)) {
				n++;
				break;
			}
		}
	}
	return n;
}

struct counts { long long out, stored, groups, raw, poor, limit, memory, disk, entries; };

static struct counts counts(void)
{
	return (struct counts) {
		.out = ssw_vmstat("zswpout"),
		.stored = ssw_num(ZBATCH "stored"),
		.groups = ssw_num(ZBATCH "groups"),
		.raw = ssw_num(ZBATCH "raw"),
		.poor = ssw_stat("fallback/zbatch_poor"),
		.limit = ssw_stat("fallback/zbatch_limit"),
		.memory = ssw_stat("fallback/zbatch_no_memory"),
		.disk = ssw_vmstat("pswpout"),
		.entries = ssw_num(COUNTS "stored_pages"),
	};
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.out - then.out, now.stored - then.stored, now.groups - then.groups,
		now.raw - then.raw, now.poor - then.poor, now.limit - then.limit,
		now.memory - then.memory, now.disk - then.disk, now.entries - then.entries,
	};
}

/* An area that takes large folios, and memory of such */
static char *ready(struct __test_metadata *_metadata)
{
	long long had = ssw_num(SSW_THP "/hugepages-64kB/stats/anon_fault_alloc");
	char *p;

	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 16384 - 1));
	ASSERT_LE(0, ssw_on_cpu(ssw_bdev(0), 0));
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(PAGES, true);
	ASSERT_NE(NULL, p);
	fill(p, 0, 1);
	ASSERT_EQ(FOLIOS, ssw_num(SSW_THP "/hugepages-64kB/stats/anon_fault_alloc") - had)
		TH_LOG("could not get folios of 64 KiB");
	return p;
}

/* Swap out, which nobody hinders, and count. What reclaim does afterwards does not count. */
static struct counts out(struct __test_metadata *_metadata, char *p)
{
	struct counts c = counts();

	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	c = since(c);
	ssw_evict("ssw");
	return c;
}

/* Large folios anew: what was swapped in came page by page. */
static char *anew(struct __test_metadata *_metadata, char *p, int bad, int gen)
{
	munmap(p, PAGES * SSW_PAGE);
	p = ssw_map(PAGES, true);
	ASSERT_NE(NULL, p);
	fill(p, bad, gen);
	return p;
}

/* All pages are stored, in groups of a size that can be chosen, and none is written. */
SSW_BODY(zlarge, stored_in_groups)
{
	static const int batches[] = { 8, 1, 3 };
	char *p = ready(_metadata);

	for (int i = 0; i < 3; i++) {
		int batch = batches[i];
		struct counts c;
		char val[8];

		snprintf(val, sizeof(val), "%d", batch);
		ASSERT_EQ(0, ssw_write(ZBATCH "store_batch", val));
		p = anew(_metadata, p, 0, 10 + i);
		c = out(_metadata, p);
		EXPECT_EQ(PAGES, c.out);
		EXPECT_EQ(PAGES, c.stored);
		EXPECT_EQ(PAGES, c.entries);
		EXPECT_EQ(FOLIOS * ((PER + batch - 1) / batch), c.groups);
		EXPECT_EQ(0, c.raw + c.poor + c.limit + c.memory + c.disk);
		EXPECT_EQ(PAGES * SSW_PAGE, ssw_cgroup_stat("ssw", "zswapped"));
		EXPECT_LT(0, ssw_cgroup_stat("ssw", "zswap"));
		EXPECT_EQ(0, wrong(p, 0, 10 + i));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswapped"));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswap"));
	}
}

/* A folio as large as all that a tree of zswap stands for */
SSW_BODY(zlarge, two_megabytes)
{
	static const char got[] = SSW_THP "/hugepages-2048kB/stats/anon_fault_alloc";
	const int per = 512, pages = 2 * per;
	long long folios;
	struct counts c;
	char *p;

	munmap(ready(_metadata), PAGES * SSW_PAGE);
	only(2048);
	folios = ssw_num(got);
	p = ssw_map(pages, true);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, pages, 1);
	folios = ssw_num(got) - folios;
	if (!folios)
		SKIP(return, "could not get folios of 2 MiB");
	c = counts();
	ASSERT_EQ(pages, ssw_pageout(p, pages));
	c = since(c);
	EXPECT_EQ(folios * per, c.stored);
	EXPECT_EQ(folios * per / 8, c.groups);
	EXPECT_EQ(0, c.poor + c.limit + c.memory);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
}

/* One page in eight may be kept as it is. With one more the folio goes to its area, whole. */
SSW_BODY(zlarge, some_do_not_get_shorter)
{
	static const char in_zswap[] = SSW_THP "/hugepages-64kB/stats/zswpout";
	char *p = ready(_metadata);
	long long whole, kept;
	struct counts c;

	p = anew(_metadata, p, RAW, 1);
	kept = ssw_num(in_zswap);
	c = out(_metadata, p);
	EXPECT_EQ(FOLIOS, ssw_num(in_zswap) - kept);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(FOLIOS * RAW, c.raw);
	EXPECT_EQ(0, c.poor + c.disk);
	EXPECT_EQ(0, wrong(p, RAW, 1));

	p = anew(_metadata, p, RAW + 1, 2);
	whole = ssw_num(SSW_THP "/hugepages-64kB/stats/swpout");
	c = out(_metadata, p);
	EXPECT_EQ(0, c.stored + c.entries + c.out + c.raw);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(PAGES, c.disk);
	EXPECT_EQ(FOLIOS, ssw_num(SSW_THP "/hugepages-64kB/stats/swpout") - whole);
	EXPECT_EQ(FOLIOS, ssw_num(in_zswap) - kept);
	EXPECT_EQ(0, wrong(p, RAW + 1, 2));
}

/* Pages that were kept as they are, and others, are written back. */
SSW_BODY(zlarge, written_back)
{
	char *p = ready(_metadata);
	long long back;

	p = anew(_metadata, p, RAW, 3);
	out(_metadata, p);
	back = ssw_vmstat("zswpwb");
	ASSERT_EQ(0, ssw_write(ZSWAP "shrinker_enabled", "1"));
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", 0));
	for (int i = 0; i < 20 && ssw_num(COUNTS "stored_pages"); i++)
		ssw_write(SSW_CG "/ssw/memory.reclaim", "2M");
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	back = ssw_vmstat("zswpwb") - back;
	TH_LOG("%lld of %d pages written back", back, PAGES);
	EXPECT_LT(PAGES / 2, back);
	EXPECT_EQ(0, wrong(p, RAW, 3));
}

/* A full zswap takes none of a folio. With memory.zswap.writeback=0 nothing is written, either. */
SSW_BODY(zlarge, limits)
{
	char *p = ready(_metadata);
	struct counts c;

	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", 0));
	c = out(_metadata, p);
	EXPECT_EQ(0, c.stored + c.entries);
	EXPECT_EQ(PAGES, c.limit);
	EXPECT_EQ(PAGES, c.disk);
	EXPECT_EQ(0, wrong(p, 0, 1));

	p = anew(_metadata, p, 0, 2);
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.writeback", 0));
	c = counts();
	ssw_pageout(p, PAGES);
	c = since(c);
	EXPECT_EQ(0, c.stored + c.entries + c.disk);
	EXPECT_LE(PAGES, c.limit);
	EXPECT_EQ(0, wrong(p, 0, 2));
	/* It had to be split or kept in memory, and goes out when there is room. */
	ssw_cgroup_set("ssw", "memory.zswap.writeback", 1);
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	p = anew(_metadata, p, 0, 3);
	EXPECT_EQ(PAGES, out(_metadata, p).stored);
	EXPECT_EQ(0, wrong(p, 0, 3));
}

/* Each compressor and each pool */
SSW_BODY(zlarge, compressors)
{
	static const char * const zpool[] = { "zsmalloc", "zbud" };
	static const char * const name[] = {
		"lzo", "lzo-rle", "lz4", "zstd", "deflate", "batchcomp"
	};
	char *p = ready(_metadata);
	int gen = 10, tried = 0;

	for (int i = 0; i < 2; i++) {
		if (ssw_write(ZSWAP "zpool", zpool[i])) {
			TH_LOG("a kernel without %s", zpool[i]);
			continue;
		}
		for (int j = 0; j < 5; j++) {
			struct counts c;
			int bad = i ? 0 : RAW;

			if (ssw_write(ZSWAP "compressor", name[j])) {
				TH_LOG("a kernel without %s", name[j]);
				continue;
			}
			p = anew(_metadata, p, bad, ++gen);
			c = out(_metadata, p);
			EXPECT_EQ(PAGES, c.stored) TH_LOG("%s in %s", name[j], zpool[i]);
			EXPECT_EQ(0, c.disk);
			EXPECT_EQ(0, wrong(p, bad, gen)) TH_LOG("%s in %s", name[j], zpool[i]);
			tried++;
		}
	}
	TH_LOG("%d pools", tried);
	EXPECT_LT(0, tried);
	/* zbud has no place for a whole page. */
	if (!ssw_write(ZSWAP "zpool", "zbud")) {
		struct counts c;

		p = anew(_metadata, p, 1, ++gen);
		c = out(_metadata, p);
		EXPECT_EQ(0, c.stored + c.entries);
		EXPECT_EQ(PAGES, c.poor);
		EXPECT_EQ(0, wrong(p, 1, gen));
	}
}

/*
 * Single pages that compress to about a page: one to exactly as many bytes as one that was kept as
 * it is, and all are right. Random bytes come last: lzo looks for other ones less and less closely.
 */
SSW_BODY(zlarge, about_a_page)
{
	const int pages = 300;
	char *p;

	ready(_metadata);
	only(0);
	p = ssw_map(pages, false);
	ASSERT_NE(NULL, p);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < pages; i++) {
			uint64_t rnd = 1000 * round + i + 1;

			memset(p + i * SSW_PAGE, 0, SSW_PAGE);
			for (int j = pages - i; j < SSW_PAGE; j++)
				p[i * SSW_PAGE + j] = ssw_random(&rnd);
		}
		ASSERT_EQ(pages, ssw_pageout(p, pages));
		ssw_evict("ssw");
		for (int i = 0; i < pages; i++) {
			uint64_t rnd = 1000 * round + i + 1;
			int bad = 0;

			for (int j = 0; j < SSW_PAGE; j++)
				bad += p[i * SSW_PAGE + j] !=
				       (j >= pages - i ? (char)ssw_random(&rnd) : 0);
			EXPECT_EQ(0, bad) TH_LOG("%d random bytes", (int)SSW_PAGE - pages + i);
		}
	}
}

#define USED	32	/* folios of a process */

static long wrong_folios(const char *p, const uint64_t *gen)
{
	long n = 0;

	for (int i = 0; i < USED; i++)
		n += !!ssw_wrong(p + i * PER * SSW_PAGE, PER, gen[i]);
	return n;
}

/*
 * Use memory in folios of 64 KiB at random, most of which is swapped out, and check it. It is all
 * swapped out once before @go is set.
 */
static int user(int nr, volatile int *go)
{
	uint64_t rnd = nr + 1, gen[USED];
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid;
	ssw_pin(nr % ssw_nr_possible());
	p = ssw_map(USED * PER, true);
	for (int i = 0; i < USED; i++) {
		gen[i] = i + 1;
		ssw_stamp(p + i * PER * SSW_PAGE, PER, gen[i]);
	}
	for (int turn = 0; turn < 60; turn++) {
		int i = ssw_random(&rnd) % USED, some = ssw_random(&rnd) % PER;
		char *f = p + i * PER * SSW_PAGE;

		madvise(p, USED * PER * SSW_PAGE, MADV_PAGEOUT);
		while (!*go)
			usleep(1000);
		if (ssw_wrong(f, PER, gen[i]))
			_exit(1);
		switch (ssw_random(&rnd) % 4) {
		case 0:
			/* A new large folio */
			madvise(f, PER * SSW_PAGE, MADV_DONTNEED);
			gen[i] += USED;
			ssw_stamp(f, PER, gen[i]);
			break;
		case 1:
			/* Some pages are freed where they are. */
			madvise(f, some * SSW_PAGE, MADV_DONTNEED);
			ssw_stamp(f, some, gen[i]);
			break;
		case 2: {
			pid_t child = ssw_fork();

			if (!child)
				_exit(wrong_folios(p, gen) ? 1 : 0);
			if (ssw_join(child))
				_exit(2);
			break;
		}
		}
	}
	_exit(wrong_folios(p, gen) ? 1 : 0);
}

/* All at once: compressors and pools change, zswap is full at times, and pages are written back. */
SSW_BODY(zlarge, used_at_random)
{
	static const char * const name[] = { "lzo", "zstd", "lz4" };
	volatile int *go = ssw_shared(sizeof(*go));
	char *p = ready(_metadata);
	struct counts c = counts();
	pid_t pid[4];
	int left = 4;

	munmap(p, PAGES * SSW_PAGE);
	ASSERT_EQ(0, ssw_write(ZSWAP "shrinker_enabled", "1"));
	/* What they swap out first finds no room, and what they do next finds some. */
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", 0));
	for (int i = 0; i < 4; i++) {
		pid[i] = user(i, go);
		ASSERT_LT(0, pid[i]);
	}
	ssw_for_looks(i) {
		if (since(c).limit)
			break;
		usleep(1000);
	}
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", -1));
	*go = 1;
	ssw_for_looks(i) {
		if (since(c).stored)
			break;
		usleep(1000);
	}
	for (int turn = 0; left; turn++) {
		ssw_write(ZSWAP "compressor", name[turn % 3]);
		ssw_write(ZSWAP "zpool", turn % 4 ? "zsmalloc" : "zbud");
		ssw_cgroup_set("ssw", "memory.zswap.max", turn % 3 ? -1 : 100 * 1024);
		ssw_write(SSW_CG "/ssw/memory.reclaim", "1M");
		usleep(20000);
		for (int i = 0; i < 4; i++) {
			int status;

			if (!pid[i] || waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			EXPECT_EQ(0, status) TH_LOG("process %d: 1: a page is wrong", i);
			pid[i] = 0;
			left--;
		}
	}
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	c = since(c);
	TH_LOG("%lld pages stored of large folios; not: %lld limit, %lld poor; %lld to disk",
	       c.stored, c.limit, c.poor, c.disk);
	EXPECT_LT(0, c.stored);
	EXPECT_LT(0, c.limit);
}

/* Pools that exist, in use or not: each has a cache of handles. */
static int pools(void)
{
	glob_t found;
	int n;

	if (glob("/sys/kernel/slab/zs_handle-zswap*", 0, NULL, &found))
		return 0;
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

/*
 * No memory for an entry, or for a node of the tree: a folio goes to its area, and nothing is left
 * of it, nor of the pool, once another one has taken its place.
 */
SSW_BODY(zlarge, no_memory)
{
	static const char * const cache[] = { "zswap_entry", "radix_tree_node" };
	char *p = ready(_metadata);
	int had, failed = 0;

	if (access(SLAB "cache-filter", W_OK))
		SKIP(return, "a kernel without CONFIG_FAILSLAB");
	ASSERT_EQ(0, ssw_write(ZSWAP "zpool", "zsmalloc"));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "lzo"));
	had = pools();
	ASSERT_LT(0, had);
	for (int i = 0, tries = 0; i < 2 && tries < 50; tries++) {
		int gen = 40 + tries;
		char path[128];
		struct counts c;

		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", cache[i]);
		if (access(path, W_OK))
			SKIP(return, "no failslab of the cache %s", cache[i]);
		p = anew(_metadata, p, 0, gen);
		ASSERT_EQ(0, ssw_write(path, "1"));
		c = counts();
		slab_fails("30");
		ssw_pageout(p, PAGES);
		ssw_write(SLAB "probability", "0");
		ssw_write(path, "0");
		c = since(c);
		TH_LOG("%s: %lld pages stored, %lld not", cache[i], c.stored, c.memory);
		EXPECT_EQ(c.stored, c.entries);
		EXPECT_EQ(c.stored, c.out);
		EXPECT_LE(c.memory, c.disk);
		EXPECT_EQ(0, wrong(p, 0, gen));
		/* A node is needed for many pages: perhaps none failed. */
		failed += c.memory > 0;
		i += c.memory > 0;
	}
	EXPECT_EQ(2, failed);
	munmap(p, PAGES * SSW_PAGE);
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "lzo-rle"));
	ssw_for_looks(i) {
		if (pools() <= had)
			break;
		usleep(50000);
	}
	EXPECT_GE(had, pools()) TH_LOG("a pool is not given back");
}

static volatile bool stop;

/* Use each folio again and again. What is written is no stamp. */
static void *used(void *arg)
{
	char *p = arg;

	while (!stop) {
		for (int i = 0; i < FOLIOS; i++)
			((volatile uint64_t *)(p + i * PER * SSW_PAGE))[3]++;
	}
	return NULL;
}

/*
 * A folio that is used as soon as zswap has it stays in memory, and gives all of its slots back at
 * once. In a plain area, too, zswap has nothing of it any more, as the end of each test expects.
 */
SSW_BODY(zlarge, slots_given_back_at_once)
{
	static const char * const bind[] = { "0", "off" };

	for (int i = 0; i < 2; i++) {
		long long stored = ssw_num(ZBATCH "stored");
		pthread_t thread;
		char *p;

		ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 16384 - 1));
		ASSERT_LE(0, ssw_on(ssw_bdev(0), bind[i]));
		p = ssw_map(PAGES, true);
		ASSERT_NE(NULL, p);
		stop = false;
		fill(p, 0, 30 + i);
		ASSERT_EQ(0, pthread_create(&thread, NULL, used, p));
		/*
		 * What was swapped in comes page by page, so folios are made anew. How many of them
		 * are stored before they are used again is up to the host.
		 */
		for (int n = 0; n < 6000; n++) {
			if (n >= 60 && ssw_num(ZBATCH "stored") - stored >= PAGES)
				break;
			ssw_pageout(p, PAGES);
			if (n % 3 == 2)
				madvise(p, PAGES * SSW_PAGE, MADV_DONTNEED);
		}
		stop = true;
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_LE(PAGES, ssw_num(ZBATCH "stored") - stored);
		munmap(p, PAGES * SSW_PAGE);
		ASSERT_EQ(0, ssw_swapoff(ssw_bdev(0)));
		EXPECT_EQ(0, ssw_num(COUNTS "stored_pages")) TH_LOG("area: %s", bind[i]);
	}
}

TEST_HARNESS_MAIN
