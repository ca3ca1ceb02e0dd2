// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that are no part of a large folio, which reclaim puts aside and zswap stores together: each
 * is stored, or written to its area, and none of them both.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "cg_util.h"
#include "zbatch_harness.h"

/* As many as a page table has, so that one call reclaims them in one go */
#define PAGES	512
/* Every such page gets no shorter. */
#define EVERY	3
#define BAD	((PAGES + EVERY - 1) / EVERY)

#define CURRENT	SSW_CG "/ssw/memory.current"

FIXTURE(zlane) { struct zswap_was zswap; struct ssw_areas areas; };

FIXTURE_SETUP(zlane)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (!why)
		why = zswap_start(&self->zswap);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
}

FIXTURE_TEARDOWN(zlane)
{
	zswap_end(_metadata, &self->zswap);
	ssw_end();
}

/* --- pages, some of which get no shorter ---------------------------------- */

/* Stamp pages, and fill every @every'th with random bytes, if that is not 0. */
static void fill(char *p, int every, int gen)
{
	ssw_stamp(p, PAGES, gen);
	for (int i = 0; every && i < PAGES; i += every) {
		uint64_t rnd = gen * 100000 + i + 1, *word = (uint64_t *)(p + i * SSW_PAGE);

		for (int j = 0; j < SSW_PAGE / 8; j++)
			word[j] = ssw_random(&rnd);
	}
}

static long wrong(const char *p, int every, int gen)
{
	long n = 0;

	for (int i = 0; i < PAGES; i++) {
		uint64_t rnd = gen * 100000 + i + 1;
		const uint64_t *word = (const uint64_t *)(p + i * SSW_PAGE);

		if (!every || i % every) {
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

/* Pages of one page table, which are in none of a CPU's batches but on the lists of reclaim */
static char *pages_of(struct __test_metadata *_metadata, int every, int gen)
{
	char *p = mmap(NULL, 2 * PAGES * SSW_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

	ASSERT_NE(MAP_FAILED, p);
	at = (char *)(((uintptr_t)p + PAGES * SSW_PAGE - 1) & -(PAGES * SSW_PAGE));
	madvise(at, PAGES * SSW_PAGE, MADV_NOHUGEPAGE);
	fill(at, every, gen);
	ssw_write("/proc/sys/vm/drop_caches", "1");
	return at;
}

struct counts {
	long long out, lanes, pages, stored, poor, limit, memory, disk, entries, refused, groups;
};

static struct counts counts(void)
{
	return (struct counts) {
		.out = ssw_vmstat("zswpout"),
		.lanes = ssw_num(ZBATCH "lanes"),
		.pages = ssw_num(ZBATCH "lane_pages"),
		.stored = ssw_num(ZBATCH "lane_stored"),
		.poor = ssw_stat("fallback/zbatch_poor"),
		.limit = ssw_stat("fallback/zbatch_limit"),
		.memory = ssw_stat("fallback/zbatch_no_memory"),
		.disk = ssw_vmstat("pswpout"),
		.entries = ssw_num(COUNTS "stored_pages"),
		/* By compressor one or the other */
		.refused = ssw_num(COUNTS "reject_compress_poor") +
			   ssw_num(COUNTS "reject_compress_fail"),
		.groups = ssw_num(ZBATCH "groups"),
	};
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.out - then.out, now.lanes - then.lanes, now.pages - then.pages,
		now.stored - then.stored, now.poor - then.poor, now.limit - then.limit,
		now.memory - then.memory, now.disk - then.disk, now.entries - then.entries,
		now.refused - then.refused, now.groups - then.groups,
	};
}

/* How many of the pages are in memory */
static long in_memory(const char *p)
{
	long per[258];

	return ssw_where(p, PAGES, per) ? -1 : per[256];
}

/* One pass of reclaim over all pages, and what it counts */
static struct counts out(char *p)
{
	struct counts c = counts();

	madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	return since(c);
}

/* Each page is stored, with so many others, and its memory is freed by the same pass of reclaim. */
SSW_BODY(zlane, stored_together)
{
	static const int batches[] = { 8, 1, 3 };
	struct counts c;
	long long had;
	char *p;

	ssw_pin(0);
	for (int i = 0; i < 3; i++) {
		int batch = batches[i];
		char val[8];

		snprintf(val, sizeof(val), "%d", batch);
		ASSERT_EQ(0, ssw_write(ZBATCH "store_batch", val));
		p = pages_of(_metadata, 0, 10 + i);
		had = ssw_num(CURRENT);
		c = out(p);
		EXPECT_EQ(0, in_memory(p));
		EXPECT_LT(PAGES / 2 * SSW_PAGE, had - ssw_num(CURRENT));
		EXPECT_EQ(PAGES, c.pages);
		EXPECT_EQ(PAGES, c.stored);
		EXPECT_EQ(PAGES, c.out);
		EXPECT_EQ(PAGES, c.entries);
		EXPECT_EQ((PAGES + batch - 1) / batch, c.lanes);
		EXPECT_EQ(0, c.poor + c.limit + c.memory + c.disk + c.groups);
		EXPECT_EQ(PAGES * SSW_PAGE, ssw_cgroup_stat("ssw", "zswapped"));
		EXPECT_LT(0, ssw_cgroup_stat("ssw", "zswap"));
		EXPECT_EQ(0, wrong(p, 0, 10 + i));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswapped"));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswap"));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* Totals in /proc/vmstat, and trace events of groups, say the same as counters. */
SSW_BODY(zlane, told)
{
	static const char * const events[] = {
		"scaleswap/scaleswap_zstore", "scaleswap/scaleswap_zload", NULL
	};
	long long stored, loaded, zload;
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, EVERY, 1);
	if (access(SSW_TRACE "events/scaleswap", R_OK))
		SKIP(_exit(0), "the kernel has no tracing");
	ASSERT_EQ(0, ssw_trace_start(events));
	stored = ssw_vmstat("scaleswap_zswap_stored");
	loaded = ssw_vmstat("scaleswap_zswap_loaded");
	zload = ssw_num(ZBATCH "loaded");
	c = out(p);
	EXPECT_EQ(0, wrong(p, EVERY, 1));
	ssw_trace_stop();
	zload = ssw_num(ZBATCH "loaded") - zload;
	EXPECT_LT(0, c.stored);
	EXPECT_LT(0, zload);
	EXPECT_EQ(c.stored, ssw_vmstat("scaleswap_zswap_stored") - stored);
	EXPECT_EQ(zload, ssw_vmstat("scaleswap_zswap_loaded") - loaded);
	EXPECT_EQ(c.stored, traced(" scaleswap_zstore: ", "stored="));
	EXPECT_EQ(PAGES, traced(" scaleswap_zstore: ", "nr="));
	EXPECT_EQ(zload, traced(" scaleswap_zload: ", "loaded="));
}

/* What gets no shorter is written to its area, after one try, and keeps no other from zswap. */
SSW_BODY(zlane, some_get_no_shorter)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, EVERY, 1);
	c = out(p);
	EXPECT_EQ(PAGES, c.pages);
	EXPECT_EQ(PAGES - BAD, c.stored);
	EXPECT_EQ(PAGES - BAD, c.entries);
	EXPECT_EQ(BAD, c.poor);
	EXPECT_EQ(BAD, c.refused);
	EXPECT_EQ(BAD, c.disk);
	/* Those that are written go when the writes are done. */
	ssw_evict("ssw");
	EXPECT_EQ(0, wrong(p, EVERY, 1));
	/* All of them */
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 1, 2);
	c = out(p);
	EXPECT_EQ(0, c.stored + c.entries + c.out);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(PAGES, c.disk);
	ssw_evict("ssw");
	EXPECT_EQ(0, wrong(p, 1, 2));
}

/* A page of zeroes is put aside with others, and is neither stored nor written. */
SSW_BODY(zlane, zeroes)
{
	struct counts c;
	long long had;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 0, 1);
	for (int i = 0; i < PAGES; i += 2)
		memset(p + i * SSW_PAGE, 0, SSW_PAGE);
	had = ssw_num(CURRENT);
	c = out(p);
	EXPECT_EQ(PAGES, c.pages);
	EXPECT_EQ(PAGES / 2, c.stored);
	EXPECT_EQ(PAGES / 2, c.entries);
	EXPECT_EQ(0, c.poor + c.limit + c.memory + c.disk);
	EXPECT_EQ(0, in_memory(p));
	EXPECT_LT(PAGES / 4 * 3 * SSW_PAGE, had - ssw_num(CURRENT));
	for (int i = 0; i < PAGES; i += 2) {
		EXPECT_EQ(0, ssw_not_zero(p + i * SSW_PAGE, 1));
		EXPECT_EQ(0, ssw_wrong(p + (i + 1) * SSW_PAGE, 1, 1));
	}
}

/* A full zswap takes none. With memory.zswap.writeback=0 pages stay in memory, and in use. */
SSW_BODY(zlane, limits)
{
	long long active, had;
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 0, 1);
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", 0));
	c = out(p);
	EXPECT_EQ(0, c.stored + c.entries + c.out);
	EXPECT_EQ(PAGES, c.limit);
	EXPECT_EQ(PAGES, c.disk);
	ssw_evict("ssw");
	EXPECT_EQ(0, wrong(p, 0, 1));
	munmap(p, PAGES * SSW_PAGE);

	p = pages_of(_metadata, EVERY, 2);
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", -1));
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.writeback", 0));
	active = ssw_cgroup_stat("ssw", "pgactivate");
	had = ssw_num(CURRENT);
	c = out(p);
	EXPECT_EQ(PAGES - BAD, c.stored);
	EXPECT_EQ(BAD, c.poor);
	EXPECT_EQ(0, c.disk);
	/* Without a place in page tables, but there */
	EXPECT_GE((PAGES - BAD) * SSW_PAGE, had - ssw_num(CURRENT));
	EXPECT_EQ(BAD, ssw_cgroup_stat("ssw", "pgactivate") - active);
	EXPECT_EQ(0, wrong(p, EVERY, 2));
	ssw_cgroup_set("ssw", "memory.zswap.writeback", 1);
}

/*
 * At its limit a group has older pages written back for what it swaps out: one in, one out, once
 * each of the older ones was passed over.
 */
SSW_BODY(zlane, makes_room)
{
	static const char zswpwb[] = "zswpwb";
	char *p[4];
	long long half, back, limited;
	struct counts c;

	ssw_pin(0);
	p[0] = pages_of(_metadata, 0, 1);
	c = out(p[0]);
	ASSERT_EQ(PAGES, c.stored);
	half = ssw_cgroup_stat("ssw", "zswap") / 2;
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.zswap.max", half));
	back = ssw_cgroup_stat("ssw", zswpwb);
	limited = ssw_stat("fallback/zbatch_limit");
	for (int i = 1; i < 4; i++) {
		p[i] = pages_of(_metadata, 0, i + 1);
		c = out(p[i]);
		TH_LOG("%lld of %d pages stored, %lld written back until then", c.stored, PAGES,
		       ssw_cgroup_stat("ssw", zswpwb) - back);
	}
	back = ssw_cgroup_stat("ssw", zswpwb) - back;
	limited = ssw_stat("fallback/zbatch_limit") - limited;
	/* There were as many pages as it takes to pass each over twice. */
	EXPECT_LT(PAGES / 2, back);
	EXPECT_LT(0, limited);
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	ssw_evict("ssw");
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, wrong(p[i], 0, i + 1));
}

/* Each compressor and each pool */
SSW_BODY(zlane, compressors)
{
	static const char * const zpool[] = { "zsmalloc", "zbud" };
	static const char * const name[] = {
		"lzo", "lzo-rle", "lz4", "zstd", "deflate", "batchcomp"
	};
	int gen = 10, tried = 0;

	ssw_pin(0);
	for (int i = 0; i < 10; i++) {
		struct counts c;
		char *p;

		if (ssw_write(ZSWAP "zpool", zpool[i / 5]) ||
		    ssw_write(ZSWAP "compressor", name[i % 5])) {
			TH_LOG("a kernel without %s or %s", name[i % 5], zpool[i / 5]);
			continue;
		}
		p = pages_of(_metadata, EVERY, ++gen);
		c = out(p);
		EXPECT_EQ(PAGES - BAD, c.stored) TH_LOG("%s in %s", name[i % 5], zpool[i / 5]);
		EXPECT_EQ(BAD, c.disk);
		ssw_evict("ssw");
		EXPECT_EQ(0, wrong(p, EVERY, gen)) TH_LOG("%s in %s", name[i % 5], zpool[i / 5]);
		munmap(p, PAGES * SSW_PAGE);
		tried++;
	}
	TH_LOG("%d pools", tried);
	EXPECT_LT(0, tried);
}

/* Pages of two groups that are put aside together are charged to their own group. */
SSW_BODY(zlane, of_two_groups)
{
	const long half = PAGES / 2;
	struct counts c;
	char *p;

	if (cg_make("ssw-lane"))
		SKIP(_exit(0), "no cgroup v2");
	ssw_pin(0);
	p = pages_of(_metadata, 0, 1);
	/* Every other run of five pages is of the other group. */
	for (int turn = 0; turn < 2; turn++) {
		ASSERT_EQ(0, cg_move(turn ? "ssw-lane" : "ssw", 0));
		for (int i = turn * 5; i < PAGES; i += 10) {
			int n = i + 5 < PAGES ? 5 : PAGES - i;

			madvise(p + i * SSW_PAGE, n * SSW_PAGE, MADV_DONTNEED);
			ssw_stamp(p + i * SSW_PAGE, n, 1);
		}
	}
	ASSERT_EQ(0, cg_move("ssw", 0));
	ssw_write("/proc/sys/vm/drop_caches", "1");
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(PAGES / 8, c.lanes);
	EXPECT_LE(half - 5, ssw_cgroup_stat("ssw-lane", "zswapped") / (long)SSW_PAGE);
	EXPECT_EQ(PAGES, (ssw_cgroup_stat("ssw", "zswapped") +
			  ssw_cgroup_stat("ssw-lane", "zswapped")) / (long)SSW_PAGE);
	EXPECT_EQ(0, wrong(p, 0, 1));
	EXPECT_EQ(0, ssw_cgroup_stat("ssw-lane", "zswapped"));
	EXPECT_EQ(0, ssw_cgroup_stat("ssw-lane", "zswap"));
	munmap(p, PAGES * SSW_PAGE);
	EXPECT_EQ(0, cg_remove("ssw-lane"));
}

/* No memory for an entry or a node of the tree: pages go to their area, others are stored. */
SSW_BODY(zlane, no_memory)
{
	static const char * const cache[] = { "zswap_entry", "radix_tree_node" };
	int failed = 0;

	if (access(SLAB "cache-filter", W_OK))
		SKIP(_exit(0), "a kernel without CONFIG_FAILSLAB");
	ssw_pin(0);
	for (int i = 0, tries = 0; i < 2 && tries < 50; tries++) {
		int gen = 40 + tries;
		char path[128], *p;
		struct counts c;

		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", cache[i]);
		if (access(path, W_OK))
			SKIP(_exit(0), "no failslab of the cache %s", cache[i]);
		p = pages_of(_metadata, EVERY, gen);
		ASSERT_EQ(0, ssw_write(path, "1"));
		slab_fails("30");
		c = out(p);
		ssw_write(SLAB "probability", "0");
		ssw_write(path, "0");
		TH_LOG("%s: %lld pages stored, %lld not", cache[i], c.stored, c.memory);
		EXPECT_EQ(c.stored, c.entries);
		EXPECT_EQ(c.stored, c.out);
		EXPECT_EQ(c.pages, c.stored + c.memory + c.poor);
		ssw_evict("ssw");
		EXPECT_EQ(0, wrong(p, EVERY, gen));
		munmap(p, PAGES * SSW_PAGE);
		/* A node is needed for many pages: perhaps none failed. */
		failed += c.memory > 0;
		i += c.memory > 0;
	}
	EXPECT_EQ(2, failed);
}

/* --- a CPU that writes meanwhile -------------------------------------------- */

/*
 * An emulator that runs one CPU after the other turns to the next one after 100 ms. To have this
 * in the middle of what is tested, it has to take longer: many pages, and a slow compressor.
 */
#define WRITTEN	(4 * PAGES)

struct writer {
	volatile uint64_t *word;
	uint64_t mine[WRITTEN];
	volatile int stop;
	volatile long bad;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;

	ssw_pin(1);
	while (!w->stop) {
		for (int i = 0; i < WRITTEN; i++) {
			/* One word of each page, which nobody else writes */
			volatile uint64_t *word = w->word + i * (SSW_PAGE / 8);

			w->bad += *word != w->mine[i];
			*word = ++w->mine[i];
		}
	}
	return NULL;
}

/*
 * A CPU that writes to pages while they are put aside and stored: what it has written last is what
 * it reads. If its TLB were not flushed before a page is copied, it would write to the old one.
 */
SSW_BODY(zlane, written_to_meanwhile)
{
	static struct writer w;
	struct counts c = counts();
	pthread_t thread;
	char *p;

	ssw_pin(0);
	if (ssw_write(ZSWAP "compressor", "deflate"))
		TH_LOG("a kernel without deflate");
	p = ssw_map(WRITTEN, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, WRITTEN, 1);
	w.word = (volatile uint64_t *)p;
	for (int i = 0; i < WRITTEN; i++)
		w.word[i * (SSW_PAGE / 8)] = w.mine[i];
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_on, &w));
	for (int i = 0; i < 12; i++) {
		madvise(p, WRITTEN * SSW_PAGE, MADV_PAGEOUT);
		usleep(1000);
	}
	w.stop = 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < WRITTEN; i++)
		w.bad += w.word[i * (SSW_PAGE / 8)] != w.mine[i];
	EXPECT_EQ(0, w.bad) TH_LOG("pages lacked what was written last %ld times", w.bad);
	c = since(c);
	TH_LOG("%lld pages put aside, %lld stored", c.pages, c.stored);
	EXPECT_LT(0, c.stored);
}

/* --- all at once ------------------------------------------------------------ */

#define USED	800
#define USERS	4

/* Use pages at random, more than memory.max leaves room for, and check them. */
static pid_t user(int nr)
{
	uint64_t rnd = nr + 1, gen[USED];
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid;
	ssw_pin(nr % ssw_nr_possible());
	p = ssw_map(USED, false);
	for (int i = 0; i < USED; i++) {
		gen[i] = i + 1;
		ssw_stamp(p + i * SSW_PAGE, 1, gen[i]);
	}
	for (int turn = 0; turn < 6000; turn++) {
		int i = ssw_random(&rnd) % USED;
		char *page = p + i * SSW_PAGE;
		unsigned int what;

		if (ssw_wrong(page, 1, gen[i]))
			_exit(1);
		what = ssw_random(&rnd) % 8;
		if (what == 0)
			madvise(page, SSW_PAGE, MADV_DONTNEED);
		if (what <= 2) {
			gen[i] += USED;
			ssw_stamp(page, 1, gen[i]);
		} else if (what == 3) {
			madvise(page, SSW_PAGE, MADV_PAGEOUT);
		}
	}
	for (int i = 0; i < USED; i++) {
		if (ssw_wrong(p + i * SSW_PAGE, 1, gen[i]))
			_exit(1);
	}
	_exit(0);
}

/*
 * At a memory.max, with evictors where there are such: compressors and pools change, zswap is full
 * at times, the size of batches changes, and pages are written back.
 */
SSW_BODY(zlane, used_at_random)
{
	static const char * const name[] = { "lzo", "zstd", "lz4" };
	struct counts c = counts();
	pid_t pid[USERS];
	int left = USERS;

	ASSERT_EQ(0, ssw_write(ZSWAP "shrinker_enabled", "1"));
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.max", USERS * USED / 2 * SSW_PAGE));
	for (int i = 0; i < USERS; i++) {
		pid[i] = user(i);
		ASSERT_LT(0, pid[i]);
	}
	for (int turn = 0; left; turn++) {
		char batch[8];

		snprintf(batch, sizeof(batch), "%d", 1 + turn * 7 % 8);
		ssw_write(ZBATCH "store_batch", batch);
		ssw_write(ZSWAP "compressor", name[turn % 3]);
		ssw_write(ZSWAP "zpool", turn % 4 ? "zsmalloc" : "zbud");
		ssw_write(ZSWAP "enabled", turn % 5 ? "1" : "0");
		ssw_cgroup_set("ssw", "memory.zswap.max", turn % 3 ? -1 : 100 * 1024);
		usleep(20000);
		for (int i = 0; i < USERS; i++) {
			int status;

			if (!pid[i] || waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			EXPECT_EQ(0, status) TH_LOG("process %d: 1: a page is wrong", i);
			pid[i] = 0;
			left--;
		}
	}
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	ssw_cgroup_set("ssw", "memory.max", -1);
	c = since(c);
	TH_LOG("%lld pages stored in %lld lanes of %lld; %lld limit, %lld poor; %lld to disk",
	       c.stored, c.lanes, c.pages, c.limit, c.poor, c.disk);
	EXPECT_LT(0, c.stored);
}

TEST_HARNESS_MAIN
