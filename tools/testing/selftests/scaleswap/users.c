// SPDX-License-Identifier: GPL-2.0
/*
 * Every user of swap over per-core areas, one by one: private and shared
 * memory, tmpfs, zswap, huge pages, the calls that push pages out, move, lock
 * and unmap them. Each ends with nothing left in swap.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "harness.h"

SSW_FIXTURE(users, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	600

/* Areas with room, and a mapping of stamped pages, all of them swapped out. */
static char *swapped(struct __test_metadata *_metadata, struct ssw_areas *a, size_t pages,
		     uint64_t gen)
{
	char *p = ssw_map(pages, false);

	if (a)
		ASSERT_EQ(0, ssw_areas_on(a, 4096, SSW_MANY));
	ASSERT_NE(NULL, p);
	ssw_stamp(p, pages, gen);
	ASSERT_EQ((long)pages, ssw_pageout(p, pages));
	ssw_evict("ssw");
	return p;
}

static long in_swap(const char *p, size_t pages)
{
	long per[258], n = 0;

	if (ssw_where(p, pages, per))
		return -1;
	for (int t = 0; t < 256; t++)
		n += per[t];
	return n;
}

/* --- private memory ------------------------------------------------------ */

/* A process on each CPU: out there, checked on the next CPU, rewritten, ended in swap. */
SSW_BODY(users, anonymous)
{
	struct ssw_areas a;
	pid_t kids[SSW_MANY];

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	for (int i = 0; i < a.n; i++) {
		kids[i] = ssw_fork();
		ASSERT_LE(0, kids[i]);
		if (!kids[i]) {
			char *p = ssw_map(PAGES, false);
			long wrong = 0, per[258];

			for (int gen = 1; gen <= 4; gen++) {
				ssw_pin(a.cpu[(i + gen) % a.n]);
				ssw_stamp(p, PAGES, gen);
				if (ssw_pageout(p, PAGES) != PAGES)
					_exit(2);
				ssw_pin(a.cpu[(i + gen + 1) % a.n]);
				/* A quarter is dropped in swap, the rest read on another CPU. */
				for (int j = gen % 4; j < PAGES; j += 4)
					madvise(p + j * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
				for (int j = 0; j < PAGES; j++) {
					const char *q = p + j * SSW_PAGE;

					wrong += j % 4 == gen % 4 ? ssw_not_zero(q, 1) :
								    ssw_wrong(q, 1, gen);
				}
				if (gen == 1 && (ssw_where(p, PAGES, per) || per[256] != PAGES))
					_exit(3);
			}
			ssw_stamp(p, PAGES, 9);
			ssw_pageout(p, PAGES);
			fflush(stdout);
			_exit(wrong ? 1 : 0);	/* with its pages in swap */
		}
	}
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, ssw_join(kids[i])) TH_LOG("process %d", i);
	}
}

/* A page of zeroes takes a slot but no room; then the slot holds something else. */
SSW_BODY(users, zero_pages)
{
	struct ssw_areas a;
	char *p = ssw_map(PAGES, false);

	ASSERT_EQ(0, ssw_areas_on(&a, 1024, 2));
	ssw_pin(a.cpu[0]);
	for (int round = 1; round <= 3; round++) {
		ssw_stamp(p, PAGES, round);
		for (int i = round % 2; i < PAGES; i += 2)
			memset(p + i * SSW_PAGE, 0, SSW_PAGE);
		ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
		ssw_evict("ssw");
		for (int i = 0; i < PAGES; i++) {
			const char *q = p + i * SSW_PAGE;

			ASSERT_EQ(0, i % 2 == round % 2 ? ssw_not_zero(q, 1) :
				     ssw_wrong(q, 1, round))
				TH_LOG("round %d page %d", round, i);
		}
		/* All slots free, the next round gets the same ones. */
		munmap(p, PAGES * SSW_PAGE);
		p = ssw_map(PAGES, false);
	}
}

/* Half of it unmapped in pieces, the other half read, some of it by another process. */
SSW_BODY(users, munmap_in_pieces)
{
	struct ssw_areas a;
	char *p = swapped(_metadata, &a, PAGES, 1), *copy = ssw_map(PAGES, false);
	long long used = ssw_sum("used");
	struct iovec to, from;

	ASSERT_LE(PAGES, used);
	for (int i = 0; i < PAGES; i += 8) {
		ASSERT_EQ(0, munmap(p + i * SSW_PAGE, 4 * SSW_PAGE));
	}
	EXPECT_GE(used - PAGES / 2 + SSW_SLACK,
		  ssw_used_at_most(used - PAGES / 2 + SSW_SLACK))
		TH_LOG("unmapping swapped pages does not free their slots");
	/* Swap in by another process' access, as a debugger does. */
	for (int i = 4; i < PAGES; i += 16) {
		to.iov_base = copy + i * SSW_PAGE;
		from.iov_base = p + i * SSW_PAGE;
		from.iov_len = 4 * SSW_PAGE;
		to.iov_len = from.iov_len;
		ASSERT_EQ(4 * SSW_PAGE, process_vm_readv(getpid(), &to, 1, &from, 1, 0));
		EXPECT_EQ(0, ssw_wrong_as(to.iov_base, 4, 1, from.iov_base));
	}
	for (int i = 4; i < PAGES; i += 8) {
		EXPECT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 4, 1));
	}
}

/* Killed in the middle of swapping out, many times. */
SSW_BODY(users, killed_while_swapping)
{
	struct ssw_areas a;
	uint64_t rnd = 42;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	for (int round = 0; round < 30; round++) {
		pid_t pid = ssw_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			char *p = ssw_map(PAGES, false);

			ssw_pin(a.cpu[round % a.n]);
			for (int gen = 1;; gen++) {
				ssw_stamp(p, PAGES, gen);
				madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
				if (ssw_wrong(p, PAGES, gen))
					_exit(1);
			}
		}
		usleep(20000 + ssw_random(&rnd) % 60000);
		kill(pid, SIGKILL);
		EXPECT_EQ(1000 + SIGKILL, ssw_join(pid));
	}
}

/* --- shared memory and tmpfs ---------------------------------------------- */

SSW_BODY(users, shared_memory)
{
	struct ssw_areas a;
	long long used;
	pid_t pid;
	char *p;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	p = mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (int round = 1; round <= 3; round++) {
		ssw_pin(a.cpu[round % a.n]);
		ssw_stamp(p, PAGES, round);
		madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
		ssw_evict("ssw");
		used = ssw_sum("used");
		EXPECT_LE(PAGES / 2, used) TH_LOG("shared memory was not swapped out");
		/* Another process on another CPU reads half and writes a quarter. */
		pid = ssw_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			long wrong;

			ssw_pin(a.cpu[(round + 1) % a.n]);
			wrong = ssw_wrong(p, PAGES / 2, round);
			ssw_stamp(p, PAGES / 4, round + 100);
			madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
			fflush(stdout);
			_exit(wrong ? 1 : 0);
		}
		EXPECT_EQ(0, ssw_join(pid));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, PAGES / 4, round + 100));
		EXPECT_EQ(0, ssw_wrong(p + PAGES / 4 * SSW_PAGE, PAGES - PAGES / 4, round));
	}
	/* Freed while in swap. */
	ssw_stamp(p, PAGES, 7);
	madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
	used = ssw_sum("used");
	EXPECT_LE(PAGES / 2, used);
	ASSERT_EQ(0, madvise(p + 100 * SSW_PAGE, 300 * SSW_PAGE, MADV_REMOVE));
	EXPECT_EQ(0, ssw_not_zero(p + 100 * SSW_PAGE, 300));
	EXPECT_EQ(0, ssw_wrong(p, 100, 7));
	EXPECT_EQ(0, ssw_wrong(p + 400 * SSW_PAGE, PAGES - 400, 7));
}

/* Push a file's pages out. No process maps them, so by reclaim. */
static long long reclaim_file(long long want)
{
	long long used = 0;

	for (int i = 0; i < 20; i++) {
		ssw_write(SSW_CG "/ssw/memory.reclaim", "4M");
		used = ssw_sum("used");
		if (used >= want)
			break;
	}
	return used;
}

SSW_BODY(users, tmpfs)
{
	static const char dir[] = "/tmp/ssw-users";
	char path[64], page[SSW_PAGE] __attribute__((aligned(8)));
	struct ssw_areas a;
	long long used;
	int fd;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	mkdir(dir, 0700);
	if (mount("ssw", dir, "tmpfs", 0, "size=64m"))
		SKIP(return, "cannot mount a tmpfs (%s)", strerror(errno));
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ASSERT_LE(0, fd);
	/* Stamped as if it lay at address 1 MiB. */
#define AT(i)	((const char *)(1UL << 20) + (size_t)(i) * SSW_PAGE)
	for (int i = 0; i < PAGES; i++) {
		ssw_stamp_as(page, 1, 1, AT(i));
		ASSERT_EQ((ssize_t)SSW_PAGE, pwrite(fd, page, SSW_PAGE, i * SSW_PAGE));
	}
	EXPECT_LE(PAGES / 2, reclaim_file(PAGES / 2)) TH_LOG("the file was not swapped out");
	for (int i = 0; i < PAGES; i += 3) {
		ASSERT_EQ((ssize_t)SSW_PAGE, pread(fd, page, SSW_PAGE, i * SSW_PAGE));
		EXPECT_EQ(0, ssw_wrong_as(page, 1, 1, AT(i)));
	}
	used = reclaim_file(PAGES / 2);
	/* Cut, punched and overwritten, all in swap. */
	ASSERT_EQ(0, ftruncate(fd, PAGES / 2 * SSW_PAGE));
	EXPECT_GT(used, ssw_used_at_most(used - 1)) TH_LOG("truncation frees no slots");
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 50 * SSW_PAGE,
			       70 * SSW_PAGE));
	for (int i = 200; i < 220; i++) {
		ssw_stamp_as(page, 1, 2, AT(i));
		ASSERT_EQ((ssize_t)SSW_PAGE, pwrite(fd, page, SSW_PAGE, i * SSW_PAGE));
	}
	ASSERT_EQ(0, ftruncate(fd, PAGES * SSW_PAGE));
	reclaim_file(100);
	for (int i = 0; i < PAGES; i++) {
		ASSERT_EQ((ssize_t)SSW_PAGE, pread(fd, page, SSW_PAGE, i * SSW_PAGE));
		if ((i >= 50 && i < 120) || i >= PAGES / 2) {
			EXPECT_EQ(0, ssw_not_zero(page, 1)) TH_LOG("page %d", i);
		} else {
			EXPECT_EQ(0, ssw_wrong_as(page, 1, i >= 200 && i < 220 ? 2 : 1, AT(i)))
				TH_LOG("page %d", i);
		}
	}
	/* Part of a page at the end of a cut: the rest of it reads as zeroes. */
	reclaim_file(100);
	ASSERT_EQ(0, ftruncate(fd, 150 * SSW_PAGE + 8));
	ASSERT_EQ(0, ftruncate(fd, 151 * SSW_PAGE));
	ASSERT_EQ((ssize_t)SSW_PAGE, pread(fd, page, SSW_PAGE, 150 * SSW_PAGE));
	EXPECT_EQ(ssw_word(AT(150), 1), *(uint64_t *)page);
	memset(page, 0, 8);
	EXPECT_EQ(0, ssw_not_zero(page, 1));
	/* Gone while in swap, and still open. */
	reclaim_file(100);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ((ssize_t)SSW_PAGE, pread(fd, page, SSW_PAGE, 20 * SSW_PAGE));
	EXPECT_EQ(0, ssw_wrong_as(page, 1, 1, AT(20)));
	close(fd);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* --- zswap ---------------------------------------------------------------- */

#define ZSWAP	"/sys/module/zswap/parameters/"

/* Stored in zswap, shared by a fork, freed there, and written back to its area. */
SSW_BODY(users, zswap)
{
	struct ssw_areas a;
	long long before, out, back;
	char *p, *q;
	pid_t pid;

	if (access(ZSWAP "enabled", W_OK))
		SKIP(return, "the kernel has no zswap");
	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	ASSERT_EQ(0, ssw_write(ZSWAP "enabled", "1"));
	p = ssw_map(PAGES, false);
	ssw_pin(a.cpu[a.n - 1]);
	before = ssw_vmstat("zswpout");
	ssw_stamp(p, PAGES, 1);
	EXPECT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	out = ssw_vmstat("zswpout") - before;
	EXPECT_LE(PAGES / 2, out) TH_LOG("zswap took %lld of %d pages", out, PAGES);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		long wrong;

		ssw_pin(a.cpu[0]);
		wrong = ssw_wrong(p, PAGES / 2, 1);
		ssw_stamp(p, PAGES / 2, 2);
		wrong += ssw_wrong(p, PAGES / 2, 2);
		fflush(stdout);
		_exit(wrong ? 1 : 0);
	}
	EXPECT_EQ(0, ssw_join(pid));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));

	/* Some freed in zswap; the others pushed out of it by a limit of nothing. */
	q = ssw_map(PAGES, false);
	ssw_stamp(q, PAGES, 3);
	EXPECT_EQ(PAGES, ssw_pageout(q, PAGES));
	ssw_evict("ssw");
	for (int i = 0; i < PAGES; i += 3)
		madvise(q + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	back = ssw_vmstat("zswpwb");
	ssw_write(ZSWAP "shrinker_enabled", "1");
	ssw_cgroup_set("ssw", "memory.zswap.max", 0);
	for (int i = 0; i < 5; i++)
		ssw_write(SSW_CG "/ssw/memory.reclaim", "2M");
	TH_LOG("%lld pages stored in zswap, %lld written back", out, ssw_vmstat("zswpwb") - back);
	ssw_write(ZSWAP "shrinker_enabled", "0");
	for (int i = 0; i < PAGES; i++) {
		const char *page = q + i * SSW_PAGE;

		EXPECT_EQ(0, i % 3 ? ssw_wrong(page, 1, 3) : ssw_not_zero(page, 1));
	}
	/* Out with zswap, in without it. */
	ssw_cgroup_set("ssw", "memory.zswap.max", -1);
	ssw_stamp(q, PAGES, 4);
	EXPECT_EQ(PAGES, ssw_pageout(q, PAGES));
	ssw_evict("ssw");
	ASSERT_EQ(0, ssw_write(ZSWAP "enabled", "0"));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 4));
	/* And swapoff with pages in zswap. */
	ASSERT_EQ(0, ssw_write(ZSWAP "enabled", "1"));
	ssw_stamp(p, PAGES, 5);
	EXPECT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, ssw_swapoff(a.path[i]));
	}
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 5));
	ASSERT_EQ(0, ssw_write(ZSWAP "enabled", "0"));
}

/* --- huge pages ------------------------------------------------------------ */

static int thp_only(int kb)
{
	char path[160];
	int ret = -ENOENT;

	for (int k = 16; k <= 2048; k *= 2) {
		snprintf(path, sizeof(path), SSW_THP "/hugepages-%dkB/enabled", k);
		if (!ssw_write(path, k == kb ? "madvise" : "never") && k == kb)
			ret = 0;
	}
	return ret;
}

/*
 * Huge pages in swap, taken apart there: every other page dropped, a part
 * unmapped, a part moved, a part rewritten by a child, and the rest read.
 */
static void taken_apart(struct __test_metadata *_metadata, int kb, size_t folios)
{
	const size_t per = kb / 4, pages = per * folios;
	struct ssw_areas a;
	long long used;
	pid_t pid;
	char *p, *q;

	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	if (thp_only(kb))
		SKIP(return, "the kernel has no huge pages of %d KiB", kb);
	ASSERT_EQ(0, ssw_areas_on(&a, 16000, 1));
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	p = ssw_map(pages, true);
	ssw_stamp(p, pages, 1);
	ASSERT_EQ((long)pages, ssw_pageout(p, pages));
	ssw_evict("ssw");
	used = ssw_sum("used");
	ASSERT_LE((long)pages, used);

	/* In each block: every other page of the first half goes. */
	for (size_t f = 0; f < folios; f++)
		for (size_t i = 0; i < per / 2; i += 2)
			ASSERT_EQ(0, madvise(p + (f * per + i) * SSW_PAGE, SSW_PAGE,
					     MADV_DONTNEED));
	used += SSW_SLACK - (long long)(pages / 4);
	EXPECT_GE(used, ssw_used_at_most(used));
	/* In the first block: the last quarter is unmapped, while a child has it. */
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		long wrong = 0;

		usleep(50000);
		wrong = ssw_wrong(p + per / 2 * SSW_PAGE, per / 2, 1);
		ssw_stamp(p + per / 2 * SSW_PAGE, per / 2, 2);
		ssw_pageout(p, pages);
		wrong += ssw_wrong(p + per / 2 * SSW_PAGE, per / 2, 2);
		wrong += ssw_wrong(p + (pages - per / 2) * SSW_PAGE, per / 2, 1);
		fflush(stdout);
		_exit(wrong ? 1 : 0);
	}
	ASSERT_EQ(0, munmap(p + per * 3 / 4 * SSW_PAGE, per / 4 * SSW_PAGE));
	/* In the last one: half of it moves elsewhere. */
	q = ssw_map(per, false);
	ASSERT_EQ(q, mremap(p + (pages - per / 2) * SSW_PAGE, per / 2 * SSW_PAGE,
			    per / 2 * SSW_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	EXPECT_EQ(0, ssw_wrong_as(q, per / 2, 1, p + (pages - per / 2) * SSW_PAGE));
	EXPECT_EQ(0, ssw_join(pid));
	for (size_t f = 0; f < folios; f++)
		for (size_t i = 0; i < per; i++) {
			char *page = p + (f * per + i) * SSW_PAGE;

			if ((f == 0 && i >= per * 3 / 4) || (f == folios - 1 && i >= per / 2))
				continue;
			EXPECT_EQ(0, i < per / 2 && i % 2 == 0 ? ssw_not_zero(page, 1) :
				  ssw_wrong(page, 1, 1)) TH_LOG("block %zu page %zu", f, i);
			if (!__test_passed(_metadata))
				return;
		}
}

SSW_BODY(users, huge_64k_taken_apart)
{
	taken_apart(_metadata, 64, 40);
}

SSW_BODY(users, huge_2m_taken_apart)
{
	taken_apart(_metadata, 2048, 3);
}

/* Huge in memory, one page of it in swap: the block is split, the rest stays right. */
SSW_BODY(users, huge_partly_out)
{
	const size_t per = 512, folios = 3;
	struct ssw_areas a;
	char *p;

	if (thp_only(2048))
		SKIP(return, "the kernel has no huge pages of 2 MiB");
	ASSERT_EQ(0, ssw_areas_on(&a, 16000, SSW_MANY));
	p = ssw_map(per * folios, true);
	for (int round = 1; round <= 2; round++) {
		ssw_stamp(p, per * folios, round);
		for (size_t f = 0; f < folios; f++)
			madvise(p + (f * per + 17 + f) * SSW_PAGE, 5 * SSW_PAGE, MADV_PAGEOUT);
		EXPECT_LE(5, in_swap(p, per * folios));
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, per * folios, round));
		/* Then all of it, in pieces. */
		ssw_pageout(p, per * folios);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, per * folios, round));
	}
}

/* --- madvise, process_madvise, mremap, mlock -------------------------------- */

/* All other tests use MADV_PAGEOUT for their own pages; here another process' pages. */
SSW_BODY(users, process_madvise)
{
	struct ssw_areas a;
	struct iovec iov;
	volatile int *step;
	int pidfd;
	long ret, per = 0;
	pid_t pid;
	char *p;

	ASSERT_EQ(0, ssw_areas_on(&a, 4096, SSW_MANY));
	step = ssw_shared(SSW_PAGE);
	p = ssw_map(PAGES, false);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		long where[258], wrong = 0;

		ssw_pin(a.cpu[0]);
		for (int gen = 1; gen <= 3; gen++) {
			ssw_stamp(p, PAGES, gen);
			*step = gen * 2 - 1;
			while (*step != gen * 2)
				usleep(1000);
			if (ssw_where(p, PAGES, where))
				_exit(2);
			/* In the area of the CPU that asked for it. */
			step[1] = where[a.type[a.n - 1]];
			wrong += ssw_wrong(p, PAGES, gen);
		}
		*step = 7;
		fflush(stdout);
		_exit(wrong ? 1 : 0);
	}
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	ASSERT_LE(0, pidfd);
	ASSERT_EQ(0, ssw_pin(a.cpu[a.n - 1]));
	iov.iov_base = p;
	iov.iov_len = PAGES * SSW_PAGE;
	for (int gen = 1; gen <= 3; gen++) {
		while (*step != gen * 2 - 1 && !kill(pid, 0))
			usleep(1000);
		ssw_write("/proc/sys/vm/drop_caches", "1");
		ret = syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_PAGEOUT, 0);
		EXPECT_EQ((long)(PAGES * SSW_PAGE), ret) TH_LOG("%s", strerror(errno));
		*step = gen * 2;
	}
	EXPECT_EQ(0, ssw_join(pid));
	per = step[1];
	EXPECT_LE(PAGES / 2, per) TH_LOG("%ld of %d pages went to the area of the caller's CPU",
					 per, PAGES);
	close(pidfd);
}

SSW_BODY(users, mremap)
{
	struct ssw_areas a;
	char *p = swapped(_metadata, &a, 1200, 1), *q, *r;

	/* To an unaligned place, so that entries move one by one. */
	q = ssw_map(1500, false) + 3 * SSW_PAGE;
	ASSERT_EQ(q, mremap(p, 1200 * SSW_PAGE, 1200 * SSW_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	EXPECT_LE(1200 - SSW_SLACK, in_swap(q, 1200));
	EXPECT_EQ(0, ssw_wrong_as(q, 600, 1, p));
	ssw_pageout(q, 1200);
	/* Grown, cut, and moved with whole page tables. */
	r = ssw_map(2048, false);
	ASSERT_EQ(r, mremap(q, 1000 * SSW_PAGE, 2048 * SSW_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, r));
	EXPECT_EQ(0, ssw_wrong_as(r, 1000, 1, p));
	EXPECT_EQ(0, ssw_not_zero(r + 1000 * SSW_PAGE, 1048));
	EXPECT_EQ(0, ssw_wrong_as(q + 1000 * SSW_PAGE, 200, 1, p + 1000 * SSW_PAGE));
	ssw_pageout(r, 1000);
	ssw_evict("ssw");
	q = ssw_map(1024, false);
	ASSERT_EQ(q, mremap(r, 1024 * SSW_PAGE, 1024 * SSW_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	/* A copy that leaves an empty mapping behind. */
	r = mremap(q, 512 * SSW_PAGE, 512 * SSW_PAGE, MREMAP_MAYMOVE | 4 /* DONTUNMAP */, NULL);
	ASSERT_NE(MAP_FAILED, r);
	EXPECT_EQ(0, ssw_not_zero(q, 512));
	EXPECT_EQ(0, ssw_wrong_as(r, 512, 1, p));
	EXPECT_EQ(0, ssw_wrong_as(q + 512 * SSW_PAGE, 488, 1, p + 512 * SSW_PAGE));
}

SSW_BODY(users, mlock)
{
	struct ssw_areas a;
	char *p = swapped(_metadata, &a, PAGES, 1);

	ASSERT_EQ(0, mlock(p + 100 * SSW_PAGE, 300 * SSW_PAGE));
	EXPECT_EQ(0, in_swap(p + 100 * SSW_PAGE, 300));
	/* A locked page gives its slot back. */
	EXPECT_GE(PAGES - 300 + SSW_SLACK, ssw_used_at_most(PAGES - 300 + SSW_SLACK));
	/* MADV_PAGEOUT refuses a locked mapping, so by reclaim. */
	ssw_write(SSW_CG "/ssw/memory.reclaim", "4M");
	EXPECT_EQ(0, in_swap(p + 100 * SSW_PAGE, 300)) TH_LOG("locked pages were swapped out");
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ASSERT_EQ(0, munlock(p + 150 * SSW_PAGE, 200 * SSW_PAGE));
	ssw_stamp(p, PAGES, 2);
	ssw_pageout(p + 150 * SSW_PAGE, 200);
	EXPECT_LE(200 - SSW_SLACK, in_swap(p + 150 * SSW_PAGE, 200));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	/* Lock on the first touch only, over pages that are out. */
	ASSERT_EQ(0, munlock(p, PAGES * SSW_PAGE));
	EXPECT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	ASSERT_EQ(0, mlock2(p, PAGES * SSW_PAGE, 1 /* MLOCK_ONFAULT */));
	EXPECT_LE(PAGES - SSW_SLACK, in_swap(p, PAGES));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	EXPECT_EQ(0, ssw_pageout(p, PAGES));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* Protection changed while out; MADV_FREE before it goes, MADV_WILLNEED back. */
SSW_BODY(users, mprotect_and_advice)
{
	struct ssw_areas a;
	char *p = swapped(_metadata, &a, PAGES, 1);

	ASSERT_EQ(0, mprotect(p, 300 * SSW_PAGE, PROT_READ));
	EXPECT_EQ(0, ssw_wrong(p, 300, 1));
	ASSERT_EQ(0, mprotect(p, 300 * SSW_PAGE, PROT_NONE));
	ssw_pageout(p, 300);
	ASSERT_EQ(0, mprotect(p, 300 * SSW_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ssw_pageout(p, PAGES);
	ssw_evict("ssw");
	EXPECT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ssw_pageout(p, PAGES);
	ssw_evict("ssw");
	EXPECT_EQ(0, madvise(p, PAGES * SSW_PAGE, MADV_POPULATE_READ));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	/* Freed while out: zeroes or the old contents, never anything else. */
	ssw_pageout(p, PAGES);
	ssw_evict("ssw");
	ASSERT_EQ(0, madvise(p, 300 * SSW_PAGE, MADV_FREE));
	for (int i = 0; i < 300; i++) {
		EXPECT_TRUE(!ssw_not_zero(p + i * SSW_PAGE, 1) ||
			    !ssw_wrong(p + i * SSW_PAGE, 1, 1));
	}
	EXPECT_EQ(0, ssw_wrong(p + 300 * SSW_PAGE, PAGES - 300, 1));
}

/* --- hibernation ------------------------------------------------------------ */

#define SNAP_FREE_SWAP		_IO('3', 9)
#define SNAP_SET_AREA		_IOW('3', 13, struct snap_area)
#define SNAP_AVAIL		_IOR('3', 19, int64_t)
#define SNAP_ALLOC		_IOR('3', 20, int64_t)

struct snap_area {
	int64_t offset;
	uint32_t dev;
} __attribute__((packed));

/*
 * What hibernation does with an area, without hibernating: it is refused, or
 * its slots are taken and given back, and the area is as before.
 */
SSW_BODY(users, hibernation)
{
	struct snap_area set = { };
	struct ssw_areas a;
	struct stat st;
	char *p, state[128] = "";
	int64_t where;
	int fd, got = 0;

	ssw_read("/sys/power/state", state, sizeof(state));
	if (!strstr(state, "disk"))
		SKIP(return, "the kernel cannot hibernate (CONFIG_HIBERNATION; /sys/power/state: '%s')",
		     state);
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	fd = open("/dev/snapshot", O_RDONLY);
	if (fd < 0)
		SKIP(return, "no /dev/snapshot (CONFIG_HIBERNATION_SNAPSHOT_DEV)");
	ASSERT_EQ(0, ssw_areas_on(&a, 2000, 1));
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	p = ssw_map(PAGES, false);
	ssw_stamp(p, PAGES, 1);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ASSERT_EQ(0, stat(a.path[0], &st));
	set.dev = st.st_rdev;
	if (ioctl(fd, SNAP_SET_AREA, &set)) {
		TH_LOG("refused: %s", strerror(errno));
		EXPECT_TRUE(errno == ENODEV || errno == EOPNOTSUPP || errno == EINVAL ||
			    errno == EPERM);
	} else {
		while (got < 3000 && !ioctl(fd, SNAP_ALLOC, &where)) {
			EXPECT_LT(0, where / (int64_t)SSW_PAGE);
			EXPECT_GE(2000, where / (int64_t)SSW_PAGE);
			for (int i = 0; i < PAGES; i += 37) {
				uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

				if (e & SSW_PM_SWAP)
					EXPECT_NE(ssw_pm_offset(e), where / SSW_PAGE);
			}
			got++;
		}
		TH_LOG("%d slots taken, then: %s", got, strerror(errno));
		EXPECT_TRUE(got == 0 || got >= 2000 - PAGES - SSW_SLACK);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, PAGES / 2, 1));
		EXPECT_EQ(0, ioctl(fd, SNAP_FREE_SWAP));
	}
	close(fd);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ssw_stamp(p, PAGES, 2);
	EXPECT_EQ(PAGES, ssw_pageout(p, PAGES));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/*
 * The whole way there and back, with a per-core area to take the image: the
 * kernel's own test mode writes it, reads it again and resumes from it. Or it is
 * refused, and nothing has changed. Only when asked for (SSW_HIBERNATE=1): it
 * takes minutes in an emulated guest, and wakes all its devices anew.
 */
SSW_BODY(users, hibernated_and_back)
{
	char state[128] = "", disk[128] = "", dev[32];
	struct ssw_areas a;
	struct stat st;
	int ret;
	char *p;

	if (!getenv("SSW_HIBERNATE"))
		SKIP(return, "set SSW_HIBERNATE=1 for it");
	ssw_read("/sys/power/state", state, sizeof(state));
	ssw_read("/sys/power/disk", disk, sizeof(disk));
	if (!strstr(state, "disk") || !strstr(disk, "test_resume"))
		SKIP(return, "the kernel cannot hibernate (CONFIG_HIBERNATION; /sys/power/state: '%s', disk: '%s')",
		     state, disk);
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ASSERT_EQ(0, ssw_areas_on(&a, 100000, 1));
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	p = ssw_map(2 * PAGES, false);
	ssw_stamp(p, 2 * PAGES, 1);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	/* Where to write to. It also looks for an image there, and finds none. */
	ASSERT_EQ(0, stat(a.path[0], &st));
	snprintf(dev, sizeof(dev), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	ssw_write("/sys/power/resume", dev);
	ssw_write("/sys/power/image_size", "0");
	ssw_write("/proc/sys/vm/drop_caches", "3");
	ASSERT_EQ(0, ssw_write("/sys/power/disk", "test_resume"));
	ret = ssw_write("/sys/power/state", "disk");
	if (ret)
		TH_LOG("refused: %s", strerror(-ret));
	else
		TH_LOG("hibernated and back");
	EXPECT_TRUE(!ret || ret == -ENODEV || ret == -ENOSPC || ret == -EOPNOTSUPP || ret == -EPERM)
		TH_LOG("%s", strerror(-ret));
	EXPECT_EQ(1, ssw_area_count());
	EXPECT_EQ(0, ssw_wrong(p, 2 * PAGES, 1));
	ssw_stamp(p, 2 * PAGES, 2);
	EXPECT_EQ(2 * PAGES, ssw_pageout(p, 2 * PAGES));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 2 * PAGES, 2));
	munmap(p, 2 * PAGES * SSW_PAGE);
	/* No slot of the image is left behind. */
	EXPECT_GE(4 * SSW_SLACK, ssw_used_at_most(4 * SSW_SLACK));
}

TEST_HARNESS_MAIN
