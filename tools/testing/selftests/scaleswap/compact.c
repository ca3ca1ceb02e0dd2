// SPDX-License-Identifier: GPL-2.0
/*
 * Slots move while they are in use: areas/<type>/compact.
 *
 * A device that is suspended lets a test do something after slots were tagged, and before they are
 * moved: the mover waits for the device.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "dm_util.h"
#include "fault_util.h"
#include "move_harness.h"

SSW_FIXTURE(compact, SSW_NEED_ON | SSW_NEED_BDEV)

#define ZSWAP	"/sys/module/zswap/parameters/"
#define SOFT_DIRTY	(1ULL << 55)

/* What is spread over clusters gets into one, and the others are free. */
SSW_BODY(compact, gains_clusters)
{
	long long had, used, swap, count = ssw_num(DEFRAG "moved"), left;
	uint64_t was[KEPT];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	EXPECT_EQ(32, ssw_area(type, "free_clusters"));
	EXPECT_EQ(0, ssw_area(type, "frag_index"));
	p = sparse(_metadata, 1);
	had = ssw_area(type, "free_clusters");
	EXPECT_LE(8, ssw_area(type, "sparse_clusters"));
	EXPECT_LT(100, ssw_area(type, "frag_index"));
	where(p, was);
	used = ssw_area(type, "used");
	swap = ssw_meminfo("SwapFree");
	ASSERT_EQ(0, compact("1"));
	/* Besides, pages of programs are in the area, and some are freed meanwhile. */
	EXPECT_LE(had + 7, ssw_area(type, "free_clusters"));
	EXPECT_GE(used, ssw_area(type, "used"));
	EXPECT_LE(swap, ssw_meminfo("SwapFree"));
	EXPECT_LE(KEPT - SSW_SLACK, moved(p, was));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(DEFRAG "moved") - count);
	EXPECT_GT(100, ssw_area(type, "frag_index"));
	/* There is nothing to gain any more. */
	count = ssw_num(DEFRAG "moved");
	ASSERT_EQ(0, compact("1"));
	EXPECT_EQ(count, ssw_num(DEFRAG "moved"));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 1));
	/* Again, where the swap cache may have some: it has their slots until they are dirty. */
	ssw_pageout(p, PAGES);
	ASSERT_EQ(0, compact("1"));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	left = ssw_used_at_most(used - KEPT);
	EXPECT_GE(used - KEPT, left);
}

/* What the page table entry says beside the slot stays: first written pages, then clean ones. */
SSW_BODY(compact, keeps_soft_dirty)
{
	area_on(_metadata, ssw_bdev(0));
	for (int clean = 0; clean < 2; clean++) {
		char *p = ssw_map(PAGES, false);
		uint64_t was[KEPT];

		ASSERT_NE(NULL, p);
		/* All of a new mapping counts as written until bits are cleared. */
		ASSERT_EQ(0, ssw_write("/proc/self/clear_refs", "4"));
		ssw_stamp(p, PAGES, 2);
		out(_metadata, p, PAGES);
		thin(p, PAGES);
		if (!(ssw_pagemap(p) & SOFT_DIRTY))
			SKIP(return, "no soft-dirty bits");
		if (clean)
			ASSERT_EQ(0, ssw_write("/proc/self/clear_refs", "4"));
		where(p, was);
		ASSERT_EQ(0, compact("1"));
		EXPECT_LE(KEPT - SSW_SLACK, moved(p, was));
		for (size_t i = 0; i < PAGES; i += NTH) {
			ASSERT_EQ(!clean, !!(ssw_pagemap(p + i * SSW_PAGE) & SOFT_DIRTY))
				TH_LOG("page %zu", i);
		}
		EXPECT_EQ(0, thin_wrong(p, PAGES, 2));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* Pages of zeros, and those that zswap has, move without the device being used. */
SSW_BODY(compact, without_the_device)
{
	static const char * const kind[] = { "moved_zero", "moved_zswap" };
	long long read, written, n;
	char path[128];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	/* A page of zeros that is read from the device after all is to be wrong. */
	p = ssw_map(AREA, false);
	ASSERT_NE(NULL, p);
	for (size_t at = 0; at < AREA; at += SLOTS) {
		ssw_stamp(p + at * SSW_PAGE, SLOTS, 3);
		ssw_pageout(p + at * SSW_PAGE, SLOTS);
	}
	ASSERT_EQ(ssw_area(type, "pages"), ssw_area(type, "used"));
	munmap(p, AREA * SSW_PAGE);
	for (int zswap = 0; zswap < 2; zswap++) {
		uint64_t was[KEPT];

		if (zswap && ssw_write(ZSWAP "enabled", "1"))
			SKIP(return, "no zswap");
		p = ssw_map(PAGES, false);
		ASSERT_NE(NULL, p);
		for (size_t i = 0; i < PAGES; i++)
			p[i * SSW_PAGE] = 0;
		if (zswap)
			ssw_stamp(p, PAGES, 3);
		ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
		thin(p, PAGES);
		where(p, was);
		snprintf(path, sizeof(path), DEFRAG "%s", kind[zswap]);
		n = ssw_num(path);
		read = ssw_num(DEFRAG "bytes_read");
		written = ssw_num(DEFRAG "bytes_written");
		ASSERT_EQ(0, compact("1"));
		EXPECT_EQ(KEPT, moved(p, was));
		EXPECT_EQ(KEPT, ssw_num(path) - n);
		EXPECT_EQ(read, ssw_num(DEFRAG "bytes_read"));
		EXPECT_EQ(written, ssw_num(DEFRAG "bytes_written"));
		if (zswap) {
			EXPECT_EQ(0, thin_wrong(p, PAGES, 3));
		} else {
			EXPECT_EQ(0, ssw_not_zero(p, PAGES));
		}
		munmap(p, PAGES * SSW_PAGE);
	}
	ssw_write(ZSWAP "enabled", "0");
}

/* The charge goes along, and is given back once. */
SSW_BODY(compact, keeps_the_charge)
{
	long long charged, after;
	uint64_t was[KEPT];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	p = sparse(_metadata, 4);
	where(p, was);
	charged = ssw_num(SSW_CG "/ssw/memory.swap.current");
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(KEPT - SSW_SLACK, moved(p, was));
	after = ssw_num(SSW_CG "/ssw/memory.swap.current");
	/* Counters of a group are a few pages late. */
	EXPECT_GE(64 * (long long)SSW_PAGE, llabs(charged - after));
	munmap(p, PAGES * SSW_PAGE);
	/* The fixture's end sees that nothing is left. */
}

/* --- what happens between tag and commit ------------------------------------------ */

#define PART	(PAGES / 8)

/*
 * While the mover waits, pages are shared, unmapped, moved, dropped, written to, and looked at. It
 * leaves all of these alone, and what it has been told by stale notes is not there.
 */
SSW_BODY(compact, users_win)
{
	enum { SHARED, UNMAPPED, MOVED, DROPPED, LOOKED_AT, REST, ZERO };
	char *p, *part[8], *other, *zero, name[64];
	pthread_t mover, looks[8];
	long long raced, stale, count, faults;
	int err = 1, end[2];
	long sectors = 8 * (AREA + 64);
	pid_t pid;
	char c;

	if (dm_linear(ssw_bdev(0), sectors, name, sizeof(name)))
		SKIP(return, "no device mapper");
	area_on(_metadata, name);
	ASSERT_EQ(0, ssw_write("/proc/sys/vm/page-cluster", "0"));
	/* Nothing but these is to be there, or this task would wait for its own stack. */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 5);
	zero = ssw_map(PART, false);
	for (int i = 0; i < PART; i++)
		zero[i * SSW_PAGE] = 0;
	ASSERT_EQ(PART, ssw_pageout(zero, PART));
	thin(zero, PART);
	for (int i = 0; i < 8; i++)
		part[i] = p + i * PART * SSW_PAGE;
	raced = ssw_num(SKIPPED "raced");
	stale = ssw_num(SKIPPED "stale");
	count = ssw_num(DEFRAG "moved");
	ASSERT_EQ(0, pipe(end));

	compact_waits(_metadata, &mover, &err);
	/* A page of zeros needs no device, and its fault does not wait for the mover. */
	EXPECT_EQ(0, zero[0]);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(end[1]);
		munmap(p + PART * SSW_PAGE, PAGES * SSW_PAGE - PART * SSW_PAGE);
		if (read(end[0], &c, 1))
			_exit(2);
		_exit(thin_wrong(p, PART, 5) ? 1 : 0);
	}
	close(end[0]);
	munmap(part[UNMAPPED], PART * SSW_PAGE);
	other = mmap(part[UNMAPPED], PART * SSW_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ(part[UNMAPPED], other);
	ssw_stamp(other, PART, 6);
	/* The old address has other pages now. */
	other = mmap(NULL, PART * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, other);
	ASSERT_EQ(other, mremap(part[MOVED], PART * SSW_PAGE, PART * SSW_PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, other));
	ASSERT_EQ(part[MOVED], mmap(part[MOVED], PART * SSW_PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ssw_stamp(part[MOVED], PART, 7);
	ASSERT_EQ(0, madvise(part[DROPPED], PART * SSW_PAGE, MADV_DONTNEED));
	ssw_stamp(part[DROPPED], PART, 8);
	faults = ssw_vmstat("pgmajfault");
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&looks[i], NULL, look,
					    kept(p, LOOKED_AT * PART + i * NTH)));
	EXPECT_TRUE(major_faults(faults + 8));
	usleep(100000);
	EXPECT_EQ(1, err) TH_LOG("the mover has not waited");
	ASSERT_EQ(0, dm_suspend(false));

	ASSERT_EQ(0, pthread_join(mover, NULL));
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_join(looks[i], NULL));
	EXPECT_EQ(0, err);
	EXPECT_LT(raced, ssw_num(SKIPPED "raced"));
	EXPECT_LT(stale, ssw_num(SKIPPED "stale"));
	TH_LOG("%lld moved, %lld raced, %lld stale", ssw_num(DEFRAG "moved") - count,
	       ssw_num(SKIPPED "raced") - raced, ssw_num(SKIPPED "stale") - stale);
	EXPECT_EQ(0, thin_wrong(part[SHARED], PART, 5));
	EXPECT_EQ(0, ssw_wrong(part[UNMAPPED], PART, 6));
	EXPECT_EQ(0, ssw_wrong(part[MOVED], PART, 7));
	for (int i = 0; i < PART; i++) {
		if ((MOVED * PART + i) % NTH == 0)
			ASSERT_EQ(0, ssw_wrong_as(other + i * SSW_PAGE, 1, 5,
						  part[MOVED] + i * SSW_PAGE)) TH_LOG("%d", i);
	}
	EXPECT_EQ(0, ssw_wrong(part[DROPPED], PART, 8));
	for (size_t i = LOOKED_AT * PART; i < PAGES; i++) {
		if (i % NTH == 0)
			ASSERT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 5)) TH_LOG("%zu", i);
	}
	EXPECT_EQ(0, ssw_not_zero(zero, PART));
	close(end[1]);
	EXPECT_EQ(0, ssw_join(pid));
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_EQ(0, dm_gone());
	ssw_write("/proc/sys/vm/page-cluster", "3");
}

/* Say what slots were not moved for. */
static void why(const char *when)
{
	static const char * const reason[] = {
		"raced", "stale", "shared", "shmem", "cached", "mm_gone", "mm_busy", "no_slot",
		"no_memory", "read_error", "write_error",
	};
	char path[128];

	printf("# %s: %lld moved", when, ssw_num(DEFRAG "moved"));
	for (size_t i = 0; i < ARRAY_SIZE(reason); i++) {
		snprintf(path, sizeof(path), SKIPPED "%s", reason[i]);
		printf(", %s %lld", reason[i], ssw_num(path));
	}
	printf("; %lld clusters free, %lld sparse\n", ssw_area(type, "free_clusters"),
	       ssw_area(type, "sparse_clusters"));
}

/* --- a device that fails -------------------------------------------------------------- */

/*
 * The drive ssw-bad (QEMU's blkdebug) fails to read slots 1124 and 1224, and slot 1324 once; it
 * fails to write slot 1424, and slot 1474 once. All are in cluster 2.
 */
#define BAD	2

/*
 * Fill the area, and keep only 230 pages each in clusters 5 and 6, and @bad in that with bad
 * sectors; none in cluster 7 if @room. Return where they are in @at, by slot.
 */
static char *around_bad(struct __test_metadata *_metadata, char **at, int bad, bool room)
{
	char *p = ssw_map(AREA - 1, false);

	ASSERT_NE(NULL, p);
	memset(at, 0, AREA * sizeof(*at));
	/* A page whose slot cannot be written stays in memory, and has its slot. */
	for (size_t i = 0; i < AREA - 1; i += SLOTS) {
		size_t n = i + SLOTS < AREA ? SLOTS : AREA - 1 - i;

		ssw_stamp(p + i * SSW_PAGE, n, 9);
		ssw_pageout(p + i * SSW_PAGE, n);
	}
	ssw_evict("ssw");
	for (size_t i = 0; i < AREA - 1; i++) {
		char *page = p + i * SSW_PAGE;
		uint64_t e = ssw_pagemap(page);
		unsigned long slot = e & SSW_PM_SWAP ? ssw_pm_offset(e) : 0;
		int in = slot / SLOTS, n = SLOTS;

		if (in == BAD)
			n = bad;
		else if (in == 5 || in == 6)
			n = 230;
		else if (in == 7 && room)
			n = 0;
		if (slot && slot % SLOTS < (unsigned long)n)
			at[slot] = page;
		else
			madvise(page, SSW_PAGE, MADV_DONTNEED);
	}
	ssw_evict("ssw");
	return p;
}

/* What cannot be read stays where it is, and nothing else does. One failure is no failure. */
SSW_BODY(compact, cannot_be_read)
{
	static char *at[AREA];
	long long failed = ssw_num(SKIPPED "read_error");
	char drive[64], *p;
	int left = 0;

	if (!fault_drive("ssw-bad", drive, sizeof(drive)))
		SKIP(return, "no drive with the serial number ssw-bad");
	area_on(_metadata, drive);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* More than half of the slots of cluster 2 are not: until 1224 */
	p = around_bad(_metadata, at, 210, true);
	ASSERT_NE(NULL, at[1124]);
	ASSERT_NE(NULL, at[1224]);
	ASSERT_EQ(0, compact("1"));
	why("after the pass");
	EXPECT_EQ(2, ssw_num(SKIPPED "read_error") - failed);
	for (int slot = 0; slot < AREA; slot++) {
		if (!at[slot])
			continue;
		if (ssw_pm_offset(ssw_pagemap(at[slot])) / SLOTS == BAD)
			left++;
		if (slot != 1124 && slot != 1224)
			ASSERT_EQ(0, ssw_wrong(at[slot], 1, 9)) TH_LOG("slot %d", slot);
	}
	EXPECT_EQ((uint64_t)1124, ssw_pm_offset(ssw_pagemap(at[1124])));
	EXPECT_EQ((uint64_t)1224, ssw_pm_offset(ssw_pagemap(at[1224])));
	EXPECT_EQ(2, left);
	munmap(p, (AREA - 1) * SSW_PAGE);
	ASSERT_EQ(0, ssw_swapoff(dev));
}

/* What cannot be written stays where it was. */
SSW_BODY(compact, cannot_be_written)
{
	static char *at[AREA];
	long long failed = ssw_num(SKIPPED "write_error"), no_slot = ssw_num(SKIPPED "no_slot");
	char drive[64], *p;
	int into = 0, stay = 0;

	if (!fault_drive("ssw-bad", drive, sizeof(drive)))
		SKIP(return, "no drive with the serial number ssw-bad");
	area_on(_metadata, drive);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* Cluster 2 is the only one that is empty. The reserve of a full area is in use. */
	p = around_bad(_metadata, at, 0, false);
	ASSERT_EQ(0, compact("1"));
	why("after the pass");
	for (int slot = 0; slot < AREA; slot++) {
		uint64_t now;

		if (!at[slot])
			continue;
		now = ssw_pm_offset(ssw_pagemap(at[slot]));
		into += now / SLOTS == BAD;
		stay += now == (uint64_t)slot;
		EXPECT_NE(1424, now);
		/* This drive takes these, and will not give them back. */
		if (now != 1124 && now != 1224)
			ASSERT_EQ(0, ssw_wrong(at[slot], 1, 9)) TH_LOG("slot %d", slot);
	}
	TH_LOG("%d in the cluster with bad sectors, %d stay", into, stay);
	EXPECT_LE(400, into) TH_LOG("nothing is tested");
	EXPECT_EQ(1, ssw_num(SKIPPED "write_error") - failed);
	EXPECT_EQ(no_slot, ssw_num(SKIPPED "no_slot"));
	munmap(p, (AREA - 1) * SSW_PAGE);
	ASSERT_EQ(0, ssw_swapoff(dev));
}

/* --- what stays --------------------------------------------------------------------------- */

/* In a process that keeps pages: until a pipe is closed; then how many are wrong */
static long keep(const char *p, uint64_t gen, const int end[2])
{
	char c;

	close(end[1]);
	return read(end[0], &c, 1) ? -1 : thin_wrong(p, PAGES, gen);
}

/* Slots with several references stay. With one left they move, if the note says whose it is. */
SSW_BODY(compact, shared_stay)
{
	long long n = ssw_num(SKIPPED "shared");
	uint64_t was[KEPT];
	int end[2];
	pid_t pid;
	char *p;

	area_on(_metadata, ssw_bdev(0));
	p = sparse(_metadata, 12);
	where(p, was);
	ASSERT_EQ(0, pipe(end));
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(keep(p, 12, end) ? 1 : 0);
	ASSERT_EQ(0, compact("1"));
	EXPECT_EQ(0, moved(p, was));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(SKIPPED "shared") - n);
	close(end[1]);
	EXPECT_EQ(0, ssw_join(pid));
	/* It has read them, and so they are in the swap cache. */
	ssw_evict("ssw");
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(KEPT - SSW_SLACK, moved(p, was));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 12));
}

/* So do those whose note names a process that is gone, and cached ones. */
SSW_BODY(compact, others_stay)
{
	long long gone = ssw_num(SKIPPED "mm_gone"), cached = ssw_num(SKIPPED "cached"), count;
	volatile long *wrong = ssw_shared(sizeof(*wrong));
	char *p, c = 0;
	int end[2];
	pid_t pid;

	ASSERT_NE(NULL, wrong);
	*wrong = -2;
	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, pipe(end));
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		p = ssw_map(PAGES, false);
		if (!p)
			_exit(2);
		ssw_stamp(p, PAGES, 13);
		if (ssw_pageout(p, PAGES) != PAGES)
			_exit(2);
		thin(p, PAGES);
		/* The slots' notes name this process. Its child has the pages. */
		pid = fork();
		if (!pid)
			*wrong = keep(p, 13, end);
		_exit(pid < 0 ? 2 : 0);
	}
	ASSERT_EQ(0, ssw_join(pid));
	ssw_evict("ssw");
	count = ssw_num(DEFRAG "moved");
	ASSERT_EQ(0, compact("1"));
	why("of a process that is gone");
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(SKIPPED "mm_gone") - gone);
	EXPECT_EQ(count, ssw_num(DEFRAG "moved"));
	close(end[1]);
	ssw_for_looks(i) {
		if (*wrong != -2)
			break;
		usleep(10000);
	}
	EXPECT_EQ(0, *wrong);

	p = sparse(_metadata, 15);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 15));
	/* Clean, and in the swap cache: they have no reference, and are freed. */
	count = ssw_num(DEFRAG "cached_freed");
	ssw_pageout(p, PAGES);
	for (size_t i = 0; i < PAGES; i += NTH)
		c += *(volatile char *)(p + i * SSW_PAGE);
	ASSERT_EQ(0, compact("1"));
	why("in the swap cache");
	EXPECT_LT(count + cached, ssw_num(DEFRAG "cached_freed") + ssw_num(SKIPPED "cached"));
	EXPECT_EQ(0, thin_wrong(p, PAGES, 15));
}

/* What was not moved since its note is wrong is not read again, nor are others moved for it. */
SSW_BODY(compact, stale_only_once)
{
	long long read, count, stale = ssw_num(SKIPPED "stale"), freed;
	char *p, *other = ssw_map(PAGES, false);

	ASSERT_NE(NULL, other);
	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = sparse(_metadata, 16);
	/* One page of each cluster */
	for (size_t i = 0; i < PAGES; i += 51 * NTH) {
		char *to = other + i * SSW_PAGE;

		ASSERT_EQ(to, mremap(p + i * SSW_PAGE, SSW_PAGE, SSW_PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	}
	ASSERT_EQ(0, compact("1"));
	why("the first pass");
	EXPECT_LE(stale + 8, ssw_num(SKIPPED "stale"));
	/* One more may gather what the first one has left. */
	ASSERT_EQ(0, compact("1"));
	read = ssw_num(DEFRAG "bytes_read");
	count = ssw_num(DEFRAG "moved");
	freed = ssw_num(DEFRAG "clusters_freed");
	for (int n = 0; n < 4; n++) {
		ASSERT_EQ(0, compact("1"));
	}
	why("the last pass");
	EXPECT_EQ(read, ssw_num(DEFRAG "bytes_read"));
	EXPECT_EQ(count, ssw_num(DEFRAG "moved"));
	EXPECT_EQ(freed, ssw_num(DEFRAG "clusters_freed"));
	for (size_t i = 0; i < PAGES; i += NTH) {
		const char *at = i % (51 * NTH) ? p : other;

		ASSERT_EQ(0, ssw_wrong_as(at + i * SSW_PAGE, 1, 16, p + i * SSW_PAGE))
			TH_LOG("page %zu", i);
	}
}

/* --- many times --------------------------------------------------------------------- */

/* What processes do that use pages while slots move; shared with them */
struct churn {
	volatile int stop;
	volatile long ops, wrong;
};

#define CHURN	1500

/* Look at pages that are out, write them anew, drop some: few are left, all over the area. */
static void churn(struct churn *c, int cpu)
{
	static uint32_t gen[CHURN];
	uint64_t rnd = cpu + 1;
	char *p = ssw_map(CHURN, false);

	if (!p || ssw_pin(cpu))
		_exit(2);
	while (!c->stop) {
		size_t i = ssw_random(&rnd) % (CHURN - 8);
		int n = 1 + ssw_random(&rnd) % 8;
		bool drop = ssw_random(&rnd) % 4;

		for (size_t k = i; k < i + n; k++) {
			char *page = p + k * SSW_PAGE;

			if (gen[k] && ssw_wrong(page, 1, gen[k]))
				c->wrong++;
			if (drop) {
				madvise(page, SSW_PAGE, MADV_DONTNEED);
				gen[k] = 0;
			} else {
				ssw_stamp(page, 1, ++gen[k]);
			}
		}
		if (!drop)
			ssw_pageout(p + i * SSW_PAGE, n);
		c->ops++;
	}
	_exit(c->wrong ? 1 : 0);
}

/* Processes use their pages and check them while slots move. */
SSW_BODY(compact, under_load)
{
	struct churn *c = ssw_shared(3 * sizeof(*c));
	long long count = ssw_num(DEFRAG "moved");
	pid_t pid[3];

	area_on(_metadata, ssw_bdev(0));
	ASSERT_NE(NULL, c);
	for (int i = 0; i < 3; i++) {
		pid[i] = ssw_fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			churn(&c[i], i);
	}
	ASSERT_EQ(0, ssw_pin(3));
	ssw_for_looks(i) {
		long least = c[0].ops;

		/* Without need of memory what was swapped out stays in the swap cache. */
		ssw_evict("ssw");
		ASSERT_EQ(0, compact("1"));
		for (int k = 1; k < 3; k++)
			least = c[k].ops < least ? c[k].ops : least;
		if (least >= 3000 && ssw_num(DEFRAG "moved") - count > 1000)
			break;
	}
	for (int i = 0; i < 3; i++) {
		c[i].stop = 1;
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("process %d", i);
		EXPECT_EQ(0, c[i].wrong);
	}
	TH_LOG("%ld operations, %lld moved", c[0].ops, ssw_num(DEFRAG "moved") - count);
	EXPECT_LT(1000, ssw_num(DEFRAG "moved") - count);
}

/* After many passes over an area that is half full, all of it can be used. */
SSW_BODY(compact, no_cluster_is_lost)
{
	long long used, count = ssw_num(DEFRAG "moved");
	uint64_t rnd = 1;
	char *p, *more;

	area_on(_metadata, ssw_bdev(0));
	p = ssw_map(AREA / 2, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, AREA / 2, 1);
	ASSERT_LE(AREA / 2 - SSW_SLACK, ssw_pageout(p, AREA / 2));
	for (int n = 0; n < 100; n++) {
		/* Pages here and there get new slots, so that clusters become sparse. */
		for (int i = 0; i < 256; i++) {
			char *page = p + ssw_random(&rnd) % (AREA / 2) * SSW_PAGE;

			madvise(page, SSW_PAGE, MADV_DONTNEED);
			ssw_stamp(page, 1, 1);
			ssw_pageout(page, 1);
		}
		ssw_evict("ssw");
		ASSERT_EQ(0, compact("1"));
	}
	TH_LOG("%lld moved", ssw_num(DEFRAG "moved") - count);
	EXPECT_LT(1000, ssw_num(DEFRAG "moved") - count);
	EXPECT_EQ(0, ssw_wrong(p, AREA / 2, 1));
	/* More than there is room for */
	more = ssw_map(AREA, false);
	ASSERT_NE(NULL, more);
	for (size_t at = 0; at < AREA; at += SLOTS) {
		ssw_stamp(more + at * SSW_PAGE, SLOTS, 2);
		ssw_pageout(more + at * SSW_PAGE, SLOTS);
	}
	ssw_pageout(p, AREA / 2);
	used = ssw_area(type, "used");
	EXPECT_EQ(ssw_area(type, "pages"), used);
	EXPECT_EQ(0, ssw_area(type, "free_clusters"));
	EXPECT_EQ(0, ssw_wrong(p, AREA / 2, 1));
	EXPECT_EQ(0, ssw_wrong(more, AREA, 2));
}

/*
 * Fill the area but for @spare clusters, and keep two of five pages. Return them, and how many
 * there were in @pages.
 */
static char *spread(struct __test_metadata *_metadata, int spare, size_t *pages)
{
	char *p = ssw_map(AREA, false);
	size_t n = 0;

	ASSERT_NE(NULL, p);
	while (n < AREA && ssw_area(type, "free_clusters") > spare) {
		ssw_stamp(p + n * SSW_PAGE, 64, 11);
		ssw_pageout(p + n * SSW_PAGE, 64);
		n += 64;
	}
	for (size_t i = 0; i < n; i++) {
		if (i % 5 > 1)
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
	ssw_evict("ssw");
	*pages = n;
	return p;
}

static long spread_wrong(const char *p, size_t pages)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i++) {
		if (i % 5 < 2)
			wrong += ssw_wrong(p + i * SSW_PAGE, 1, 11);
	}
	return wrong;
}

/* Compact an area that is full but for @spare clusters, and of which two of five pages are left. */
static void compact_spread(struct __test_metadata *_metadata, int spare, int most)
{
	long long no_slot = ssw_num(SKIPPED "no_slot");
	size_t pages;
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = spread(_metadata, spare, &pages);
	ASSERT_GE(most, ssw_area(type, "free_clusters"));
	ASSERT_EQ(0, compact("1"));
	why("after the pass");
	/* The current cluster is not emptied. */
	EXPECT_LE(32 * 3 / 5 - 3, ssw_area(type, "free_clusters"));
	EXPECT_EQ(no_slot, ssw_num(SKIPPED "no_slot"));
	EXPECT_EQ(0, spread_wrong(p, pages));
	munmap(p, AREA * SSW_PAGE);
}

/* Where all clusters are in use the reserve is enough to begin with. */
SSW_BODY(compact, from_the_reserve)
{
	compact_spread(_metadata, 1, 4);
}

/* Without any empty cluster a sparse one is filled up first. */
SSW_BODY(compact, from_a_sparse_cluster)
{
	compact_spread(_metadata, -1, 0);
}

/* --- the file ------------------------------------------------------------------------- */

SSW_BODY(compact, bad_input)
{
	static const char * const bad[] = { "0", "2x", "maybe", "-1" };

	area_on(_metadata, ssw_bdev(0));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, compact(bad[i])) TH_LOG("'%s'", bad[i]);
	}
	EXPECT_EQ(0, compact("1"));
	EXPECT_EQ(-EINVAL, ssw_write(DEFRAG "batch_pages", "15"));
	EXPECT_EQ(-EINVAL, ssw_write(DEFRAG "batch_pages", "513"));
	EXPECT_EQ(128, ssw_num(DEFRAG "batch_pages"));
	ASSERT_EQ(0, ssw_swapoff(dev));
	type = ssw_on(dev, "off");
	ASSERT_LE(0, type);
	EXPECT_EQ(-EOPNOTSUPP, compact("1"));
	EXPECT_EQ(0, ssw_area(type, "free_clusters"));
}

/* Batches of any size */
SSW_BODY(compact, batches)
{
	static const char * const size[] = { "16", "17", "512" };

	area_on(_metadata, ssw_bdev(0));
	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		uint64_t was[KEPT];
		char *p = sparse(_metadata, i);

		ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", size[i]));
		where(p, was);
		ASSERT_EQ(0, compact("1"));
		EXPECT_LE(KEPT - SSW_SLACK, moved(p, was));
		EXPECT_EQ(0, thin_wrong(p, PAGES, i));
		munmap(p, PAGES * SSW_PAGE);
	}
	ssw_write(DEFRAG "batch_pages", "128");
}

TEST_HARNESS_MAIN
