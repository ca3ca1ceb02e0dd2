// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that readahead loads from zswap together: each is right, nobody waits for one for ever, and
 * one that cannot be loaded leaves others alone.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "evict_harness.h"
#include "zbatch_harness.h"

#define CLUSTER	"/proc/sys/vm/page-cluster"
#define INJECT	"/sys/kernel/debug/fail_function/"
#define FUNC	"zswap_acomp_decompress"

#define PAGES	512
#define LEAST	1024
/* What ssw_join() says of a process that SIGBUS has ended */
#define BUS	(1000 + SIGBUS)

FIXTURE(zload) { struct zswap_was zswap; struct ssw_areas areas; long long cluster, wait_ms; };

FIXTURE_SETUP(zload)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	self->cluster = ssw_num(CLUSTER);
	self->wait_ms = ssw_num(EVICT "wait_ms");
	if (!why)
		why = zswap_start(&self->zswap);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, ssw_areas_on(&self->areas, 8192, SSW_MANY));
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
}

FIXTURE_TEARDOWN(zload)
{
	char val[24];

	snprintf(val, sizeof(val), "%lld", self->cluster);
	ssw_write(CLUSTER, val);
	ssw_write(ZBATCH "load_batch", "32");
	ssw_write(PAUSE, "N");
	if (self->wait_ms > 0)
		put("wait_ms", self->wait_ms);
	ssw_write(INJECT "inject", "");
	zswap_end(_metadata, &self->zswap);
	ssw_end();
}

struct counts { long long in, loaded, groups, late, alone, disk; };

static struct counts counts(void)
{
	return (struct counts) {
		.in = ssw_vmstat("zswpin"),
		.loaded = ssw_num(ZBATCH "loaded"),
		.groups = ssw_num(ZBATCH "load_groups"),
		.late = ssw_num(ZBATCH "load_late"),
		.alone = ssw_stat("fallback/zbatch_alone"),
		.disk = ssw_vmstat("pswpin"),
	};
}

static struct counts since(struct counts then)
{
	struct counts now = counts();

	return (struct counts) {
		now.in - then.in, now.loaded - then.loaded, now.groups - then.groups,
		now.late - then.late, now.alone - then.alone, now.disk - then.disk,
	};
}

/* Pages that zswap has, all of them */
static char *stored(struct __test_metadata *_metadata, int gen)
{
	char *p = ssw_map(PAGES, false);
	long long had = ssw_vmstat("zswpout");

	ASSERT_NE(NULL, p);
	ssw_stamp(p, PAGES, gen);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ASSERT_EQ(PAGES, ssw_vmstat("zswpout") - had);
	return p;
}

/* Readahead loads what it reads in groups. Nothing of it is left in zswap, or charged. */
SSW_BODY(zload, in_groups)
{
	static const char * const clusters[] = { "3", "5" };
	struct counts c;
	char *p;

	ssw_pin(0);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_write(CLUSTER, clusters[i]));
		p = stored(_metadata, i + 1);
		c = counts();
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		c = since(c);
		TH_LOG("page-cluster %s: %lld pages in %lld groups", clusters[i], c.loaded,
		       c.groups);
		EXPECT_EQ(PAGES, c.in);
		EXPECT_LT(PAGES / 2, c.loaded);
		EXPECT_LT(c.groups * 4, c.loaded);
		EXPECT_EQ(0, c.late + c.alone + c.disk);
		EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswapped"));
		EXPECT_EQ(0, ssw_cgroup_stat("ssw", "zswap"));
		munmap(p, PAGES * SSW_PAGE);
	}
	/* One by one */
	ASSERT_EQ(0, ssw_write(ZBATCH "load_batch", "1"));
	p = stored(_metadata, 3);
	c = counts();
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
	c = since(c);
	EXPECT_EQ(PAGES, c.in);
	EXPECT_EQ(0, c.loaded + c.groups + c.late + c.disk);
}

/* What is asked for in advance, by a task that has to make room for it, and so sleeps */
SSW_BODY(zload, asked_for)
{
	struct counts c;
	long long room;
	char *p;

	ssw_pin(0);
	p = stored(_metadata, 1);
	c = counts();
	ASSERT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED));
	c = since(c);
	EXPECT_EQ(PAGES, c.in);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(PAGES / 8, c.groups);
	EXPECT_EQ(0, c.disk);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);

	p = stored(_metadata, 2);
	room = ssw_num(SSW_CG "/ssw/memory.current") + PAGES / 4 * SSW_PAGE;
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.max", room));
	c = counts();
	for (int i = 0; i < 20; i++) {
		madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	}
	c = since(c);
	TH_LOG("%lld pages loaded in %lld groups, %lld of them by a worker", c.loaded, c.groups,
	       c.late);
	EXPECT_LT(PAGES, c.loaded);
	ssw_cgroup_set("ssw", "memory.max", -1);
}

/*
 * A task has put pages aside, finds no room for the next one, and sleeps until evictors make some,
 * which do nothing. A worker loads what it has put aside.
 */
SSW_BODY(zload, sleeps_meanwhile)
{
	struct counts c = counts();
	char *other = ssw_map(LEAST, false);
	long long room;

	ASSERT_NE(NULL, other);
	if (access(PAUSE, W_OK))
		SKIP(_exit(0), "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS");
	ssw_pin(0);
	put("wait_ms", 20);
	for (int i = 1; i <= 20 && !since(c).late; i++) {
		char *p = stored(_metadata, i);

		/* Evictors have nothing to do with groups that have very little. */
		ssw_stamp(other, LEAST, 1);
		ssw_write(PAUSE, "Y");
		room = ssw_num(SSW_CG "/ssw/memory.current") + (80 + i) * SSW_PAGE;
		ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.max", room));
		madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		ssw_write(PAUSE, "N");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i));
		ssw_cgroup_set("ssw", "memory.max", -1);
		munmap(p, PAGES * SSW_PAGE);
	}
	c = since(c);
	TH_LOG("%lld of %lld pages loaded by a worker", c.late, c.loaded);
	EXPECT_LT(0, c.late);
}

/* Touch pages from one on in a process of its own, and end with 1 if they are wrong. */
static pid_t reads(const char *p, int first, int n, int gen)
{
	pid_t pid = ssw_fork();

	if (!pid)
		_exit(ssw_wrong(p + first * SSW_PAGE, n, gen) ? 1 : 0);
	return pid;
}

/* While pages cannot be decompressed, who reads one gets SIGBUS. Later, all are there. */
SSW_BODY(zload, some_fail)
{
	static const char * const percent[] = { "100", "30" };
	char *p;

	if (access(INJECT "inject", W_OK))
		SKIP(_exit(0), "no " INJECT " (CONFIG_FAIL_FUNCTION)");
	ssw_pin(0);
	for (int i = 0; i < 2; i++) {
		int killed = 0;

		p = stored(_metadata, i + 1);
		ssw_write(INJECT "inject", FUNC);
		ssw_write(INJECT "interval", "1");
		ssw_write(INJECT "times", "-1");
		ssw_write(INJECT "verbose", "0");
		ssw_write(INJECT FUNC "/retval", "0xfffffffffffffffb");
		ssw_write(INJECT "probability", percent[i]);
		for (int at = 0; at < PAGES; at += 16) {
			int ret = ssw_join(reads(p, at, 16, i + 1));

			EXPECT_TRUE(!ret || ret == BUS) TH_LOG("status %d", ret);
			killed += ret == BUS;
		}
		ssw_write(INJECT "inject", "");
		TH_LOG("%s %%: %d of %d readers killed", percent[i], killed, PAGES / 16);
		EXPECT_LT(0, killed);
		/* What could not be read stays in the swap cache until it is reclaimed. */
		for (int k = 0; k < 5; k++)
			ssw_write(SSW_CG "/ssw/memory.reclaim", "8M");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* Areas go while pages of theirs are in zswap, and are read ahead. */
SSW_BODY(zload, swapped_off)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = stored(_metadata, 1);
	c = counts();
	ssw_swapoff_all();
	c = since(c);
	TH_LOG("%lld of %lld pages loaded in groups", c.loaded, c.in);
	EXPECT_EQ(PAGES, c.in);
	EXPECT_LT(0, c.loaded);
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/* --- one that stores what another one loads ------------------------------------- */

/* Write to each page and store it anew, on the CPU of the task that loads them. */
static void *stores_anew(void *arg)
{
	char *p = arg;

	ssw_pin(0);
	for (int i = 0; i < PAGES; i++) {
		char *page = p + i * SSW_PAGE;

		/* A page that is only read at first keeps its slot, and so its place in zswap. */
		(void)*(volatile char *)page;
		ssw_stamp(page, 1, 2);
		madvise(page, SSW_PAGE, MADV_PAGEOUT);
	}
	return NULL;
}

/*
 * Each page is stored anew as soon as it was loaded: in its slot, with other contents. If the task
 * that loads it still had something to do for its old entry, it would do so to the new one. Both
 * are on one CPU: what is stored next waits for the folio's lock until then.
 */
SSW_BODY(zload, stored_anew_at_once)
{
	struct counts c;
	long long out;
	pthread_t thread;
	char *p;

	ssw_pin(0);
	for (int i = 0; i < 4; i++) {
		p = stored(_metadata, 1);
		c = counts();
		out = ssw_vmstat("zswpout");
		ASSERT_EQ(0, pthread_create(&thread, NULL, stores_anew, p));
		madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		pthread_join(thread, NULL);
		c = since(c);
		out = ssw_vmstat("zswpout") - out;
		TH_LOG("%lld pages loaded, %lld of them in groups; %lld stored anew", c.in,
		       c.loaded, out);
		EXPECT_LT(PAGES / 2, c.loaded);
		EXPECT_LT(PAGES / 2, out);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* --- many who read the same pages, and write to them -------------------------- */

#define USERS	4
#define ROUNDS	400

/* Words of pages that several processes share: each writes its own, and checks it. */
static pid_t user(char *p, int nr)
{
	uint64_t rnd = nr + 1, mine[PAGES] = { 0 };
	pid_t pid = ssw_fork();

	if (pid)
		return pid;
	ssw_pin(nr % ssw_nr_possible());
	for (int i = 0; i < ROUNDS * 20; i++) {
		int at = ssw_random(&rnd) % PAGES;
		volatile uint64_t *word = (uint64_t *)(p + at * SSW_PAGE) + nr;

		if (*word != mine[at])
			_exit(1);
		if (ssw_random(&rnd) % 2)
			*word = mine[at] = i + 1;
		if (i % 64 == 0)
			madvise(p, PAGES * SSW_PAGE, i % 128 ? MADV_PAGEOUT : MADV_COLD);
	}
	_exit(0);
}

/* Pages that one process loads, and others change and store again */
SSW_BODY(zload, shared)
{
	struct counts c = counts();
	pid_t pid[USERS];
	char *p;

	ASSERT_EQ(0, ssw_write(CLUSTER, "5"));
	p = mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (int i = 0; i < USERS; i++) {
		pid[i] = user(p, i);
		ASSERT_LT(0, pid[i]);
	}
	for (int i = 0; i < USERS; i++)
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("1: a page is wrong");
	c = since(c);
	TH_LOG("%lld pages loaded in %lld groups", c.loaded, c.groups);
	EXPECT_LT(0, c.loaded);
}

TEST_HARNESS_MAIN
