// SPDX-License-Identifier: GPL-2.0
/*
 * Slots of shared memory and tmpfs move while they are in use: to other slots of their area, to
 * another area, and out of an area that is turned off. Notes in their words say where they are.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "drain_harness.h"
#include "fault_util.h"

SSW_FIXTURE(move_shmem, SSW_NEED_ON | SSW_NEED_BDEV)

#define ZSWAP	"/sys/module/zswap/parameters/"
#define HUGE	SSW_THP "/hugepages-64kB/"
/* Pages of a large folio */
#define LARGE	16

/* Swap shared memory out, and see that it is nowhere else. */
static void shared_out(struct __test_metadata *_metadata, char *p, size_t pages)
{
	ASSERT_EQ(0, madvise(p, pages * SSW_PAGE, MADV_PAGEOUT));
	ssw_evict("ssw");
}

/* Of a file without a name, which is closed when it is not mapped any more */
static char *shared(struct __test_metadata *_metadata, size_t pages, uint64_t gen)
{
	char *p = mmap(NULL, pages * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	if (gen)
		ssw_stamp(p, pages, gen);
	else
		for (size_t i = 0; i < pages; i++)
			p[i * SSW_PAGE] = 0;
	shared_out(_metadata, p, pages);
	return p;
}

static void hole(char *p, size_t pages)
{
	madvise(p, pages * SSW_PAGE, MADV_REMOVE);
}

/* Keep each NTH page. */
static void shared_thin(char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i += NTH)
		hole(p + (i + 1) * SSW_PAGE, i + NTH <= pages ? NTH - 1 : pages - i - 1);
}

/* The slots in use go to few clusters, with what belongs to them. */
SSW_BODY(move_shmem, gains_clusters)
{
	long long charged, after, count, used, clusters;
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = shared(_metadata, PAGES, 1);
	EXPECT_LE(PAGES, ssw_area(type, "used"));
	shared_thin(p, PAGES);
	charged = ssw_num(SSW_CG "/ssw/memory.swap.current");
	used = ssw_area(type, "used");
	clusters = ssw_area(type, "free_clusters");
	EXPECT_LE(KEPT, used);
	count = ssw_num(DEFRAG "moved");
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(DEFRAG "moved") - count);
	EXPECT_LE(clusters + 6, ssw_area(type, "free_clusters"));
	after = ssw_num(SSW_CG "/ssw/memory.swap.current");
	/* Counters of a group are a few pages late. */
	EXPECT_GE(64 * (long long)SSW_PAGE, llabs(charged - after));
	/* They are where the file says, and nowhere twice. */
	EXPECT_EQ(0, thin_wrong(p, PAGES, 1));
	shared_out(_metadata, p, PAGES);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 1));
	for (size_t i = 0; i < PAGES; i++) {
		if (i % NTH)
			ASSERT_EQ(0, ssw_not_zero(p + i * SSW_PAGE, 1)) TH_LOG("page %zu", i);
	}
	munmap(p, PAGES * SSW_PAGE);
	/* The fixture's end sees that nothing is left. */
}

/* Pages of zeros, and those that zswap has, move without the device being used. */
SSW_BODY(move_shmem, without_the_device)
{
	static const char * const kind[] = { "moved_zero", "moved_zswap" };
	long long read, written, n;
	char path[128];
	char *p;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	for (int zswap = 0; zswap < 2; zswap++) {
		if (zswap && ssw_write(ZSWAP "enabled", "1"))
			SKIP(return, "no zswap");
		p = shared(_metadata, PAGES, zswap ? 3 : 0);
		shared_thin(p, PAGES);
		snprintf(path, sizeof(path), DEFRAG "%s", kind[zswap]);
		n = ssw_num(path);
		read = ssw_num(DEFRAG "bytes_read");
		written = ssw_num(DEFRAG "bytes_written");
		ASSERT_EQ(0, compact("1"));
		EXPECT_LE(KEPT - SSW_SLACK, ssw_num(path) - n);
		/* Pages of programs may be there. */
		EXPECT_GE(SSW_SLACK * (long long)SSW_PAGE, ssw_num(DEFRAG "bytes_read") - read);
		EXPECT_GE(SSW_SLACK * (long long)SSW_PAGE,
			  ssw_num(DEFRAG "bytes_written") - written);
		if (zswap) {
			EXPECT_EQ(0, thin_wrong(p, PAGES, 3));
		} else {
			EXPECT_EQ(0, ssw_not_zero(p, PAGES));
		}
		munmap(p, PAGES * SSW_PAGE);
	}
	ssw_write(ZSWAP "enabled", "0");
}

/* Private pages and shared ones are in the same batch, whose mm and inode have the same number. */
SSW_BODY(move_shmem, with_others)
{
	enum { FILES = 400, EACH = 8 };
	char *p, *q[FILES];
	long long count;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* More inodes than mms have been given a number. */
	for (int i = 0; i < FILES; i++) {
		q[i] = mmap(NULL, EACH * SSW_PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, q[i]);
		ssw_stamp(q[i], EACH, 20 + i);
		ASSERT_EQ(0, madvise(q[i], EACH * SSW_PAGE, MADV_PAGEOUT));
	}
	p = ssw_map(SLOTS, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, SLOTS, 19);
	out(_metadata, p, SLOTS);
	thin(p, SLOTS);
	for (int i = 0; i < FILES; i++)
		hole(q[i] + SSW_PAGE, EACH - 1);
	/* One that is full follows: the cluster that is being filled stays. */
	munmap(shared(_metadata, SLOTS, 18), SLOTS * SSW_PAGE);
	count = ssw_num(DEFRAG "moved");
	ASSERT_EQ(0, compact("1"));
	TH_LOG("%lld moved", ssw_num(DEFRAG "moved") - count);
	EXPECT_LE(FILES + SLOTS / NTH - SSW_SLACK, ssw_num(DEFRAG "moved") - count);
	EXPECT_EQ(0, thin_wrong(p, SLOTS, 19));
	for (int i = 0; i < FILES; i++) {
		EXPECT_EQ(0, ssw_wrong(q[i], 1, 20 + i)) TH_LOG("file %d", i);
		munmap(q[i], EACH * SSW_PAGE);
	}
}

#define PART	(PAGES / 8)

/* While the mover waits, pages are removed, looked at, and their file is gone. It leaves them. */
SSW_BODY(move_shmem, users_win)
{
	enum { REMOVED, LOOKED_AT, READ_AHEAD };
	char *p, *part[8], *zero, *gone, name[64];
	long long raced, stale, count, mm_gone, faults;
	pthread_t mover, looks[8];
	int err = 1;

	if (dm_linear(ssw_bdev(0), SECTORS, name, sizeof(name)))
		SKIP(return, "no device mapper");
	area_on(_metadata, name);
	ASSERT_EQ(0, ssw_write("/proc/sys/vm/page-cluster", "0"));
	/* All of it is one batch. */
	ASSERT_EQ(0, ssw_write(DEFRAG "batch_pages", "512"));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	gone = shared(_metadata, PART / 2, 6);
	shared_thin(gone, PART / 2);
	zero = shared(_metadata, PART, 0);
	shared_thin(zero, PART);
	/* The last ones are in a cluster that is still being filled, and stay there. */
	p = shared(_metadata, PAGES, 5);
	shared_thin(p, PAGES);
	for (int i = 0; i < 8; i++)
		part[i] = p + i * PART * SSW_PAGE;
	raced = ssw_num(SKIPPED "raced");
	stale = ssw_num(SKIPPED "stale");
	mm_gone = ssw_num(SKIPPED "mm_gone");
	count = ssw_num(DEFRAG "moved");

	compact_waits(_metadata, &mover, &err);
	/* A page of zeros needs no device, and its fault does not wait for the mover. */
	EXPECT_EQ(0, zero[0]);
	hole(part[REMOVED], PART);
	ssw_stamp(part[REMOVED], PART, 8);
	munmap(gone, PART / 2 * SSW_PAGE);
	faults = ssw_vmstat("pgmajfault");
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_create(&looks[i], NULL, look,
					    kept(p, LOOKED_AT * PART + i * NTH)));
	/* They wait for the device, too. */
	EXPECT_TRUE(major_faults(faults + 8));
	/* These get into the swap cache, and their slots stay in use. */
	ASSERT_EQ(0, madvise(part[READ_AHEAD], PART * SSW_PAGE, MADV_WILLNEED));
	usleep(100000);
	EXPECT_EQ(1, err) TH_LOG("the mover has not waited");
	ASSERT_EQ(0, dm_suspend(false));

	ASSERT_EQ(0, pthread_join(mover, NULL));
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, pthread_join(looks[i], NULL));
	EXPECT_EQ(0, err);
	TH_LOG("%lld moved, %lld raced, %lld stale, %lld gone", ssw_num(DEFRAG "moved") - count,
	       ssw_num(SKIPPED "raced") - raced, ssw_num(SKIPPED "stale") - stale,
	       ssw_num(SKIPPED "mm_gone") - mm_gone);
	EXPECT_LE(PART / NTH, ssw_num(SKIPPED "raced") - raced);
	EXPECT_LE(PART / NTH, ssw_num(SKIPPED "stale") - stale);
	EXPECT_LT(mm_gone, ssw_num(SKIPPED "mm_gone"));
	EXPECT_EQ(0, ssw_wrong(part[REMOVED], PART, 8));
	for (size_t i = LOOKED_AT * PART; i < PAGES; i++) {
		if (i % NTH == 0)
			ASSERT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 5)) TH_LOG("%zu", i);
	}
	EXPECT_EQ(0, ssw_not_zero(zero, PART));
	munmap(p, PAGES * SSW_PAGE);
	munmap(zero, PART * SSW_PAGE);
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_EQ(0, dm_gone());
	ssw_write("/proc/sys/vm/page-cluster", "3");
	ssw_write(DEFRAG "batch_pages", "128");
}

/* A large entry stays. It is drained, and turned off, by its first page. */
SSW_BODY(move_shmem, large)
{
	static const char enabled[] = HUGE "shmem_enabled";
	long long whole, shmem, count, tried;
	char had[64], *p, *s;

	if (ssw_read(enabled, had, sizeof(had)) <= 0)
		SKIP(return, "the kernel has no huge pages of 64 KiB for shared memory");
	s = strchr(had, '[');
	ASSERT_NE(NULL, s);
	s[strcspn(s, "]")] = 0;
	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, ssw_write(enabled, "always"));
	whole = ssw_num(HUGE "stats/swpout");
	p = shared(_metadata, PAGES, 9);
	ASSERT_EQ(0, ssw_write(enabled, s + 1));
	whole = ssw_num(HUGE "stats/swpout") - whole;
	/* Each NTH of the large ones stays. */
	for (size_t i = 0; i < PAGES; i += NTH * LARGE) {
		size_t rest = PAGES - i > NTH * LARGE ? NTH * LARGE : PAGES - i;

		hole(p + (i + LARGE) * SSW_PAGE, rest - LARGE);
	}
	TH_LOG("%lld large folios were swapped out whole", whole);
	ASSERT_LT(PAGES / LARGE / 2, whole);
	shmem = ssw_num(SKIPPED "shmem");
	count = ssw_num(DEFRAG "moved");
	tried = ssw_num(DEFRAG "bytes_read");
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(PAGES / NTH - SSW_SLACK, ssw_num(SKIPPED "shmem") - shmem);
	EXPECT_GE(SSW_SLACK, ssw_num(DEFRAG "moved") - count);
	TH_LOG("%lld skipped, %lld moved, %lld bytes read", ssw_num(SKIPPED "shmem") - shmem,
	       ssw_num(DEFRAG "moved") - count, ssw_num(DEFRAG "bytes_read") - tried);
	/* They are not read in vain again. */
	tried = ssw_num(DEFRAG "bytes_read");
	ASSERT_EQ(0, compact("1"));
	EXPECT_GE(SSW_SLACK * (long long)SSW_PAGE, ssw_num(DEFRAG "bytes_read") - tried);
	for (size_t i = 0; i < PAGES / 2; i += NTH * LARGE) {
		EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, LARGE, 9)) TH_LOG("page %zu", i);
	}
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	for (size_t i = 0; i < PAGES; i += NTH * LARGE) {
		EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, LARGE, 9)) TH_LOG("page %zu", i);
	}
	shared_out(_metadata, p, PAGES);
	ASSERT_EQ(0, drain(type, "0"));
	ASSERT_EQ(0, ssw_swapoff(ssw_bdev(1)));
	for (size_t i = 0; i < PAGES; i += NTH * LARGE) {
		EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, LARGE, 9)) TH_LOG("page %zu", i);
	}
}

/* Slots go to another area, and none of them to memory. */
SSW_BODY(move_shmem, drained)
{
	long long moved = ssw_num(DEFRAG "drained"), in = ssw_num(DEFRAG "drained_in");
	char *p, *zero;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = shared(_metadata, PAGES, 10);
	zero = shared(_metadata, SLOTS, 0);
	EXPECT_LE(PAGES + SLOTS, ssw_area(type, "used"));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(PAGES + SLOTS - SSW_SLACK, ssw_num(DEFRAG "drained") - moved);
	EXPECT_GE(SSW_SLACK, ssw_num(DEFRAG "drained_in") - in);
	EXPECT_LE(PAGES + SLOTS - SSW_SLACK, ssw_area(other, "used"));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 10));
	EXPECT_EQ(0, ssw_not_zero(zero, SLOTS));
}

/* Those in the swap cache come to memory. */
SSW_BODY(move_shmem, cached)
{
	long long in = ssw_num(DEFRAG "drained_in");
	char *p;

	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = shared(_metadata, PAGES, 11);
	/* Read ahead, which is all that is asked for. */
	ASSERT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(PAGES / 2, ssw_num(DEFRAG "drained_in") - in);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 11));
}

static sigjmp_buf after_bus;

static void on_bus(int sig)
{
	siglongjmp(after_bus, sig);
}

/*
 * What cannot be read stays where it is, and holds up no other page. It is lost for who asks for
 * it, as on the base kernel.
 */
SSW_BODY(move_shmem, unreadable)
{
	struct sigaction sa = { .sa_handler = on_bus };
	volatile int bus = 0;
	char drive[64], *p;

	if (!fault_drive("ssw-bad", drive, sizeof(drive)))
		SKIP(return, "no drive with the serial number ssw-bad");
	area_on(_metadata, drive);
	other_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	/* Fill the area: two of its slots cannot be read. */
	p = mmap(NULL, (AREA - 1) * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (size_t i = 0; i < AREA - 1; i += SLOTS) {
		size_t n = i + SLOTS < AREA ? SLOTS : AREA - 1 - i;

		ssw_stamp(p + i * SSW_PAGE, n, 13);
		madvise(p + i * SSW_PAGE, n * SSW_PAGE, MADV_PAGEOUT);
	}
	ssw_evict("ssw");
	ASSERT_EQ(ssw_area(type, "pages"), ssw_area(type, "used"));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "unreadable"));
	EXPECT_EQ(2, ssw_area(type, "drain_unreadable"));
	EXPECT_EQ(2, ssw_area(type, "used"));
	/* In the swap cache they are no more readable. */
	ASSERT_EQ(0, madvise(p, (AREA - 1) * SSW_PAGE, MADV_WILLNEED));
	ASSERT_EQ(0, drain(type, "0"));
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "unreadable"));
	EXPECT_EQ(2, ssw_area(type, "used"));
	ASSERT_EQ(0, sigaction(SIGBUS, &sa, NULL));
	for (size_t i = 0; i < AREA - 1; i++) {
		if (sigsetjmp(after_bus, 1))
			bus++;
		else
			EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 13)) TH_LOG("page %zu", i);
	}
	EXPECT_EQ(2, bus);
	/* The fault has put a marker in its place. */
	ASSERT_TRUE(gets(type, "empty"));
}

/* swapoff finds each page by its note; no other file is looked at. */
SSW_BODY(move_shmem, turned_off)
{
	long long noted = ssw_stat("swapoff_noted"), scanned = ssw_stat("swapoff_scanned"), others;
	char *p, *q;

	area_on(_metadata, ssw_bdev(0));
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	p = shared(_metadata, PAGES, 14);
	q = shared(_metadata, PAGES, 15);
	shared_thin(q, PAGES);
	others = ssw_area(type, "used") - PAGES - KEPT;
	EXPECT_LE(0, others);
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_LE(PAGES + KEPT, ssw_stat("swapoff_noted") - noted);
	EXPECT_GE(others, ssw_stat("swapoff_scanned") - scanned);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 14));
	EXPECT_EQ(0, thin_wrong(q, PAGES, 15));
}

/*
 * An index that does not fit is not noted. Such slots stay, come to memory when their area is
 * drained, and swapoff searches for them.
 */
SSW_BODY(move_shmem, without_a_note)
{
	const off_t far = (off_t)1 << 48;
	long long no_note = ssw_stat("fallback/no_rmap"), scanned, in, shmem;
	int fd = memfd_create("far", 0);
	char *p;

	ASSERT_LE(0, fd);
	two_on(_metadata);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, ftruncate(fd, far + PAGES * SSW_PAGE));
	p = mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, far);
	ASSERT_NE(MAP_FAILED, p);
	ssw_stamp(p, PAGES, 16);
	shared_out(_metadata, p, PAGES);
	EXPECT_LE(PAGES, ssw_stat("fallback/no_rmap") - no_note);
	shared_thin(p, PAGES);
	shmem = ssw_num(SKIPPED "shmem");
	ASSERT_EQ(0, compact("1"));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(SKIPPED "shmem") - shmem);
	in = ssw_num(DEFRAG "drained_in");
	ASSERT_EQ(0, drain(type, "1"));
	ASSERT_TRUE(gets(type, "empty"));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_num(DEFRAG "drained_in") - in);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 16));
	ASSERT_EQ(0, drain(type, "0"));
	shared_out(_metadata, p, PAGES);
	scanned = ssw_stat("swapoff_scanned");
	ASSERT_EQ(0, ssw_swapoff(dev));
	EXPECT_LE(KEPT - SSW_SLACK, ssw_stat("swapoff_scanned") - scanned);
	EXPECT_EQ(0, thin_wrong(p, PAGES, 16));
	close(fd);
}

/* --- under load ------------------------------------------------------------------- */

struct churn {
	volatile long ops;
	volatile int stop;
	volatile long wrong;
};

/* Use a file: write, check, cut, punch, give up and begin another, and push pages out. */
static void churn(struct churn *c, int nr)
{
	static uint64_t gen[PAGES];
	uint64_t last = (nr + 1) * 10000000ULL;
	unsigned int seed = nr + 1;
	const size_t n = 32;
	char *p = MAP_FAILED;
	int fd = -1;

	ssw_pin(nr % 2);
	while (!c->stop) {
		size_t i = rand_r(&seed) % (PAGES - n);
		int what = rand_r(&seed) % 100;

		if (fd < 0 || !what) {
			if (fd >= 0) {
				munmap(p, PAGES * SSW_PAGE);
				close(fd);
			}
			memset(gen, 0, sizeof(gen));
			fd = memfd_create("ssw", 0);
			if (fd < 0 || ftruncate(fd, PAGES * SSW_PAGE))
				_exit(2);
			p = mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (p == MAP_FAILED)
				_exit(2);
		}
		for (size_t k = i; k < i + n; k++) {
			char *page = p + k * SSW_PAGE;

			if (gen[k] ? ssw_wrong(page, 1, gen[k]) : what % 2 && ssw_not_zero(page, 1))
				c->wrong++;
		}
		if (what < 5) {
			if (ftruncate(fd, i * SSW_PAGE) || ftruncate(fd, PAGES * SSW_PAGE))
				_exit(2);
			memset(gen + i, 0, (PAGES - i) * sizeof(*gen));
		} else if (what < 15) {
			hole(p + i * SSW_PAGE, n);
			memset(gen + i, 0, n * sizeof(*gen));
		} else if (what < 70) {
			for (size_t k = i; k < i + n; k++) {
				gen[k] = ++last;
				ssw_stamp(p + k * SSW_PAGE, 1, gen[k]);
			}
		}
		madvise(p + i * SSW_PAGE, n * SSW_PAGE, MADV_PAGEOUT);
		c->ops++;
	}
	_exit(c->wrong ? 1 : 0);
}

/* Processes use files and check them while their slots move, in the area and to another. */
SSW_BODY(move_shmem, under_load)
{
	struct churn *c = ssw_shared(3 * sizeof(*c));
	long long count = ssw_num(DEFRAG "moved"), drained = ssw_num(DEFRAG "drained");
	int turn = 0, err;
	pid_t pid[3];

	two_on(_metadata);
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
		err = compact("1");
		ASSERT_TRUE(!err || err == (turn % 2 ? -EBUSY : 0)) TH_LOG("%d", err);
		if (i % 5 == 4)
			ASSERT_EQ(0, drain(type, turn++ % 2 ? "0" : "1"));
		if (i % 23 == 22) {
			ASSERT_EQ(0, ssw_swapoff(ssw_bdev(1)));
			other = ssw_on_cpu(ssw_bdev(1), 1);
			ASSERT_LE(0, other);
		}
		for (int k = 1; k < 3; k++)
			least = c[k].ops < least ? c[k].ops : least;
		if (i > 40 && least >= 1500 && ssw_num(DEFRAG "moved") - count > 1000 &&
		    ssw_num(DEFRAG "drained") - drained > 1000)
			break;
	}
	for (int i = 0; i < 3; i++) {
		c[i].stop = 1;
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("process %d", i);
		EXPECT_EQ(0, c[i].wrong);
	}
	TH_LOG("%ld operations, %lld moved, %lld of them drained", c[0].ops,
	       ssw_num(DEFRAG "moved") - count, ssw_num(DEFRAG "drained") - drained);
	EXPECT_LT(1000, ssw_num(DEFRAG "moved") - count);
	EXPECT_LT(1000, ssw_num(DEFRAG "drained") - drained);
}

TEST_HARNESS_MAIN
