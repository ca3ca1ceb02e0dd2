// SPDX-License-Identifier: GPL-2.0
/*
 * LRU shards: the shard that a page is in, its return to that shard, no page lost between
 * shards, and reclaim from all of them.
 *
 * The tests read from debugfs where pages are: it has the sizes of each shard (see
 * mm/scaleswap/debugfs.c). The pages are those of processes in a group of their own, so
 * that no other pages are counted.
 *
 * SSW_LRU_ANYWAY=1 runs the tests without shards, too: the numbers that those of reclaim
 * print can be compared then; the others fail.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lru_harness.h"

SSW_FIXTURE(lru_folio, 0)

/* --- interfaces ------------------------------------------------------------ */

static bool on_command_line(const char *word)
{
	static char line[4096];

	return ssw_read("/proc/cmdline", line, sizeof(line)) > 0 && strstr(line, word);
}

SSW_TEST_F(lru_folio, values)
{
	static const char * const names[] = {
		"shards", "allocated", "shard_bytes", "returned", "moved", "foreign", "small",
	};
	int cpus = ssw_nr_possible();
	char path[128];

	if (access(LRU, F_OK))
		SKIP(return, "a kernel without CONFIG_SCALESWAP_LRU");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct stat st;

		snprintf(path, sizeof(path), LRU "%s", names[i]);
		ASSERT_EQ(0, stat(path, &st)) TH_LOG("%s", path);
		EXPECT_EQ(0, st.st_mode & 0222) TH_LOG("%s is writable", path);
		EXPECT_GT(0, ssw_write(path, "0")) TH_LOG("%s can be written", path);
		EXPECT_LE(0, value(names[i])) TH_LOG("%s: %lld", path, value(names[i]));
	}
	if (value("shards") == 0) {
		EXPECT_FALSE(on_command_line("scaleswap=on"));
		EXPECT_EQ(0, value("allocated"));
		EXPECT_EQ(0, value("returned"));
		EXPECT_EQ(0, value("moved"));
		EXPECT_EQ(0, value("foreign"));
		EXPECT_EQ(0, value("small"));
		return;
	}
	EXPECT_FALSE(on_command_line("scaleswap=core ") || on_command_line("scaleswap=off"));
	if (!on_command_line("scaleswap_lru_shards=")) {
		EXPECT_EQ(cpus < 63 ? cpus : 63, value("shards"));
	}
	EXPECT_LE(1, value("allocated"));
	EXPECT_LT(500, value("shard_bytes"));
	EXPECT_GE(16384, value("shard_bytes"));
	EXPECT_EQ(0, value("shard_bytes") % 8);
}

/* Each shard that is there is in the dump once, and counted. */
SSW_TEST_F(lru_folio, dump_is_complete)
{
	long shards = 0;

	NEED_SHARDS();
	ssw_for_looks(i) {
		long long allocated = value("allocated");

		ASSERT_EQ(0, dump());
		shards = 0;
		for (int j = 0; j < nr_rows; j++) {
			ASSERT_LE(0, rows[j].shard);
			ASSERT_GE(value("shards"), rows[j].shard);
			shards += rows[j].shard > 0;
			for (int l = 0; l < LISTS; l++) {
				ASSERT_LE(0, rows[j].size[l]);
			}
			/* Memcgs that are on their way out have lost their number, 0. */
			for (int k = 0; k < j && rows[j].memcg; k++) {
				ASSERT_FALSE(rows[k].memcg == rows[j].memcg &&
					     rows[k].nid == rows[j].nid &&
					     rows[k].shard == rows[j].shard);
			}
		}
		if (shards == allocated)
			return;
		usleep(100000);
	}
	EXPECT_EQ(value("allocated"), shards);
}

/* The totals that reclaim goes by are what all shards have posted, and nearly what they have. */
SSW_BODY(lru_folio, totals_are_posted)
{
	long sizes = 0, posted = 0, total = 0;
	struct mate m[2];
	int cpu[2];

	NEED_SHARDS();
	NEED_TWO(cpu[0], cpu[1]);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], PAGES, false));
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
	}
	/* Some of them leave again, page by page and all at once. */
	for (int page = 0; page < 100; page++)
		tell(&m[0], DROP, 3 * page, 1, 0);
	tell(&m[1], DROP, 0, PAGES / 2, 0);
	ssw_for_looks(i) {
		drain();
		ASSERT_EQ(0, dump());
		sizes = 0;
		posted = 0;
		total = 0;
		for (int j = 0; j < nr_rows; j++) {
			if (rows[j].memcg != memcg)
				continue;
			if (!rows[j].shard) {
				total += rows[j].posted;
				continue;
			}
			posted += rows[j].posted;
			for (int l = 0; l < LISTS; l++)
				sizes += rows[j].size[l];
		}
		if (posted == total)
			break;
	}
	TH_LOG("%ld pages in shards, %ld posted, total %ld", sizes, posted, total);
	EXPECT_EQ(posted, total);
	EXPECT_LT(PAGES, total);
	/* Less than a batch of each list and zone of two shards, of which two lists are in use. */
	EXPECT_GT(2 * 2 * 2 * 32, labs(sizes - total));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, mate_end(&m[i]));
	group_ends(_metadata);
}

/* --- which shard a page is in ---------------------------------------------- */

/* First touched on A, and read back on B: A's. A new one of B's: B's. */
SSW_BODY(lru_folio, pages_return)
{
	struct ssw_areas areas;
	long long returned;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, cg_fresh());
		ASSERT_TRUE(mate_start(&m, a, 3 * PAGES, false));
		tell(&m, STAMP, 0, PAGES, 1);
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(0, at(b, ANON));
		/* Swapped out by either of them. */
		tell_all(&m, PIN, round ? b : a);
		EXPECT_EQ(PAGES, tell(&m, OUT, 0, PAGES, 0));
		EXPECT_GE(OWN, evict(OWN / 2));
		EXPECT_ABOUT(0, at(a, ANON));
		returned = value("returned");
		tell_all(&m, PIN, b);
		EXPECT_EQ(0, tell(&m, CHECK, 0, PAGES, 1));
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(0, at(b, ANON));
		EXPECT_LE(PAGES - OWN, value("returned") - returned);
		/* The other way round, with new ones. */
		tell(&m, STAMP, PAGES, 2 * PAGES, 2);
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(2 * PAGES, at(b, ANON));
		EXPECT_GE(OWN, in_dump(memcg, ANY, 0, ANON));
		/* Written on the other's CPU, and again out and in: no change. */
		tell(&m, STAMP, 0, PAGES, 3);
		tell_all(&m, OUT, 0);
		EXPECT_GE(OWN, evict(OWN / 2));
		tell_all(&m, PIN, a);
		EXPECT_EQ(0, tell(&m, CHECK, 0, PAGES, 3));
		EXPECT_EQ(0, tell(&m, CHECK, PAGES, 2 * PAGES, 2));
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(2 * PAGES, at(b, ANON));
		/* Freed: a page that comes next in its place is new. */
		tell(&m, DROP, PAGES, PAGES, 0);
		tell(&m, STAMP, PAGES, PAGES, 4);
		EXPECT_ABOUT(2 * PAGES, at(a, ANON));
		EXPECT_ABOUT(PAGES, at(b, ANON));
		EXPECT_EQ(0, mate_end(&m));
		group_ends(_metadata);
	}
}

/* Brought back by another CPU, a page stays; by others twice in a row, it moves. */
SSW_BODY(lru_folio, pages_follow)
{
	/* Who brings the pages back: 'a' had them first, so they are its to begin with. */
	static const char by[] = "bbaabababb", owner[] = "abbaaaaaab";
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, PAGES, false));
	tell_all(&m, STAMP, 1);
	for (int i = 0; by[i]; i++) {
		bool moves = owner[i] != (i ? owner[i - 1] : 'a');
		long long moved = value("moved");

		EXPECT_EQ(PAGES, tell_all(&m, OUT, 0));
		EXPECT_GE(OWN, evict(OWN / 2));
		tell_all(&m, PIN, by[i] == 'a' ? a : b);
		EXPECT_EQ(0, tell_all(&m, CHECK, 1));
		TH_LOG("brought back %d times, last by %c: %c's", i + 1, by[i], owner[i]);
		EXPECT_ABOUT(PAGES, at(owner[i] == 'a' ? a : b, ANON));
		EXPECT_ABOUT(0, at(owner[i] == 'a' ? b : a, ANON));
		moved = value("moved") - moved;
		EXPECT_LE(moves ? PAGES - OWN : 0, moved);
		/* Other programs of the guest may have pages that move. */
		EXPECT_GE(moves ? PAGES + OWN : OWN, moved);
	}
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
}

/* Freed in swap: the slot's next page does not come back to the former one's shard. */
SSW_BODY(lru_folio, slots_forget)
{
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, PAGES, false));
	for (int round = 1; round <= 3; round++) {
		int cpu = round & 1 ? a : b;

		tell_all(&m, PIN, cpu);
		tell_all(&m, STAMP, round);
		EXPECT_ABOUT(PAGES, at(cpu, ANON));
		EXPECT_EQ(PAGES, tell_all(&m, OUT, 0));
		EXPECT_GE(OWN, evict(OWN / 2));
		if (round == 3) {
			EXPECT_EQ(0, tell_all(&m, CHECK, round));
			EXPECT_ABOUT(PAGES, at(cpu, ANON));
		}
		tell_all(&m, DROP, 0);
	}
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
}

/* The same for a file's pages, which leave their shadows in the page cache. */
SSW_BODY(lru_folio, files_return)
{
	char page[SSW_PAGE] __attribute__((aligned(8)));
	const char *path = ssw_file(900);
	const char *base = (const char *)(1UL << 20);
	bool no_shadows = false;
	long long refaults = 0;
	int a, b, keep;
	struct mate m;
	pid_t pid;

	NEED_SHARDS();
	NEED_TWO(a, b);
	if (ssw_start(SSW_NEED_DIR))
		SKIP(return, "%s", ssw_start(SSW_NEED_DIR));
	ASSERT_EQ(0, ssw_cgroup_enter("ssw"));
	ASSERT_EQ(0, cg_fresh());
	unlink(path);
	/*
	 * An inode that no process has open may go, and its shadows with it. They go, too,
	 * where there are more of them than pages. No swap: these pages stay.
	 */
	ASSERT_TRUE(mate_start(&m, a, PAGES, false));
	tell_all(&m, STAMP, 1);
	keep = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, keep);
	for (int step = 0; step < 2; step++) {
		pid = ssw_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			long wrong = 0;

			if (ssw_cgroup_enter(GROUP) || fd < 0)
				_exit(50);
			ssw_pin(step ? b : a);
			posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
			for (size_t i = 0; i < PAGES; i++) {
				const char *as = base + i * SSW_PAGE;

				if (step) {
					if (pread(fd, page, SSW_PAGE, i * SSW_PAGE) != SSW_PAGE)
						_exit(51);
					wrong += ssw_wrong_as(page, 1, 1, as);
				} else {
					ssw_stamp_as(page, 1, 1, as);
					if (pwrite(fd, page, SSW_PAGE, i * SSW_PAGE) != SSW_PAGE)
						_exit(51);
				}
			}
			if (!step && fsync(fd))
				_exit(52);
			_exit(wrong ? 1 : 0);
		}
		EXPECT_EQ(0, ssw_join(pid));
		if (step && ssw_vmstat("workingset_refault_file") - refaults < PAGES / 2) {
			no_shadows = true;
			break;
		}
		/* No drain(), which would drop them without a trace. */
		ASSERT_EQ(0, dump());
		EXPECT_LE(PAGES - OWN, in_dump(memcg, ANY, shard_of(a), FILES))
			TH_LOG("step %d", step);
		EXPECT_GE(OWN, in_dump(memcg, ANY, shard_of(b), FILES)) TH_LOG("step %d", step);
		if (!__test_passed(_metadata))
			show_group();
		/* How many shadows may stay depends on statistics, which come late. */
		ssw_for_looks(i) {
			if (step || ssw_cgroup_stat(GROUP, "inactive_file") > PAGES * 3000LL)
				break;
			usleep(100000);
		}
		ssw_for_looks(i) {
			if (step)
				break;
			cg_reclaim(GROUP, PAGES);
			ASSERT_EQ(0, dump());
			if (in_dump(memcg, ANY, ANY, FILES) < OWN)
				break;
			usleep(20000);
		}
		if (!step) {
			EXPECT_GE(OWN, in_dump(memcg, ANY, ANY, FILES))
				TH_LOG("the file's pages cannot be reclaimed");
			refaults = ssw_vmstat("workingset_refault_file");
		}
	}
	EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	EXPECT_EQ(0, mate_end(&m));
	close(keep);
	unlink(path);
	group_ends(_metadata);
	if (no_shadows)
		SKIP(return, "the shrinker took the shadow entries: nothing is tested");
}

/* --- splits and migration ---------------------------------------------------- */

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

SSW_BODY(lru_folio, split_keeps_the_shard)
{
	const size_t pages = 4 * 512;
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	if (thp_only(2048))
		SKIP(return, "the kernel has no huge pages of 2 MiB");
	if (access("/sys/kernel/debug/split_huge_pages", W_OK))
		SKIP(return, "there is no split_huge_pages in debugfs");
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, pages, true));
	tell_all(&m, STAMP, 1);
	EXPECT_ABOUT(pages, at(a, ANON));
	if (cg(GROUP, "memory.stat", "anon_thp") < (2 << 20)) {
		sleep(3);	/* until the statistics are flushed */
		EXPECT_LE(2 << 20, cg(GROUP, "memory.stat", "anon_thp"))
			TH_LOG("no huge pages were used: nothing is tested");
	}
	/* Split on B: the parts are where the whole was. */
	tell_all(&m, PIN, b);
	EXPECT_EQ(0, tell(&m, SPLIT, 0, 2 * 512, 0));
	EXPECT_ABOUT(pages, at(a, ANON));
	EXPECT_ABOUT(0, at(b, ANON));
	/* Split by reclaim that takes a part, and by unmapping every other page. */
	tell(&m, OUT, 2 * 512 + 100, 300, 0);
	for (int i = 1; i < 512; i += 2)
		tell(&m, DROP, 3 * 512 + i, 1, 0);
	evict(OWN / 2);
	EXPECT_EQ(0, tell(&m, CHECK, 0, 3 * 512, 1));
	for (int i = 0; i < 512; i += 2)
		EXPECT_EQ(0, tell(&m, CHECK, 3 * 512 + i, 1, 1));
	EXPECT_ABOUT(pages - 256, at(a, ANON));
	EXPECT_ABOUT(0, at(b, ANON));
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
	thp_only(0);
}

/* Small pages of A that are put together on B stay A's. */
SSW_BODY(lru_folio, collapse_keeps_the_shard)
{
	const size_t pages = 4 * 512;
	struct ssw_areas areas;
	struct mate m;
	long done;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	if (thp_only(2048))
		SKIP(return, "the kernel has no huge pages of 2 MiB");
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, pages, false));
	tell_all(&m, STAMP, 1);
	/* The first page of a huge page may be missing, or another one. */
	tell(&m, DROP, 512, 3, 0);
	tell_all(&m, PIN, b);
	tell(&m, STAMP, 514, 1, 1);
	EXPECT_ABOUT(pages, at(a, ANON));
	/* Free memory may be in pieces on one of the nodes. */
	done = tell_all(&m, COLLAPSE, 0);
	if (done == -ENOMEM || done == -EAGAIN) {
		EXPECT_EQ(0, mate_end(&m));
		group_ends(_metadata);
		thp_only(0);
		SKIP(return, "there was no huge page to be had: %s", strerror(-done));
	}
	EXPECT_EQ(0, done);
	/* The second one's first page is B's. */
	EXPECT_ABOUT(pages - 512, at(a, ANON));
	EXPECT_ABOUT(512, at(b, ANON));
	tell(&m, STAMP, 512, 2, 1);
	EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
	thp_only(0);
}

SSW_BODY(lru_folio, migration_keeps_the_shard)
{
	struct ssw_areas areas;
	unsigned long from, to;
	int a, b, na, nb;
	struct mate m;

	NEED_SHARDS();
	NEED_TWO(a, b);
	na = ssw_node_of(a);
	nb = ssw_node_of(b);
	if (na < 0 || nb < 0 || na == nb)
		SKIP(return, "the machine has one node");
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, PAGES, false));
	tell_all(&m, STAMP, 1);
	tell_all(&m, PIN, b);
	for (int round = 0; round < 4; round++) {
		int node = round & 1 ? na : nb;

		/* Active ones, too. */
		if (round == 2)
			tell(&m, USE, 0, PAGES / 2, 0);
		EXPECT_GE(OWN, tell_all(&m, MOVE, node));
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(PAGES, in_dump(memcg, node, shard_of(a), ANON));
		EXPECT_ABOUT(0, in_dump(memcg, ANY, shard_of(b), ANON));
		EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	}
	/* The whole process, by another one; and locked ones. */
	EXPECT_EQ(0, tell(&m, LOCK, 0, PAGES / 2, 0));
	from = 1UL << na;
	to = 1UL << nb;
	EXPECT_LE(0, syscall(SYS_migrate_pages, m.pid, 64UL, &from, &to));
	EXPECT_ABOUT(PAGES, at(a, ANON | LOCKED));
	EXPECT_ABOUT(PAGES, in_dump(memcg, nb, shard_of(a), ANON | LOCKED));
	EXPECT_ABOUT(0, in_dump(memcg, ANY, shard_of(b), ANON | LOCKED));
	EXPECT_EQ(0, tell_all(&m, UNLOCK, 0));
	/* Swapped out on one node, read back on the other. */
	tell_all(&m, OUT, 0);
	EXPECT_GE(OWN, evict(OWN / 2));
	tell_all(&m, PIN, a);
	EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	EXPECT_ABOUT(PAGES, at(a, ANON));
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
}

/* Compaction moves pages about: each stays in its shard, and on its node. */
SSW_BODY(lru_folio, compaction_keeps_the_shard)
{
	struct row was[4][8];
	struct ssw_areas areas;
	long long moved, failed;
	bool few = false;
	struct mate m[4];
	cpu_set_t set;
	int n = 0, cpu[4];

	NEED_SHARDS();
	if (access("/proc/sys/vm/compact_memory", W_OK))
		SKIP(return, "a kernel without CONFIG_COMPACTION");
	NEED_AREAS(&areas);
	ASSERT_EQ(0, ssw_online(&set));
	ASSERT_EQ(0, cg_fresh());
	for (int c = 0; c < CPU_SETSIZE && n < 4; c++) {
		if (!CPU_ISSET(c, &set))
			continue;
		ASSERT_TRUE(mate_start(&m[n], c, 2 * PAGES, false));
		cpu[n++] = c;
	}
	/*
	 * Alternately, so that the pages that one process frees lie between those of
	 * others; with holes.
	 */
	for (long at = 0; at < 2 * PAGES; at += 20)
		for (int i = 0; i < n; i++)
			ASSERT_EQ(0, tell(&m[i], STAMP, at, 20, i + 1));
	for (int i = 0; i < n; i++)
		ASSERT_EQ(0, tell_all(&m[i], HOLES, 0));
	drain();
	/* Active and locked ones, too. */
	ASSERT_EQ(0, tell(&m[0], USE, 0, 300, 0));
	ASSERT_EQ(0, tell(&m[1 % n], LOCK, 1000, 1, 0));
	drain();
	for (int pass = 0; pass < 2; pass++) {
		ASSERT_EQ(0, dump());
		for (int i = 0; i < n; i++) {
			for (int node = 0; node < 8; node++) {
				struct row now;

				for (int l = 0; l < LISTS; l++)
					now.size[l] = in_dump(memcg, node, shard_of(cpu[i]),
							      1 << l);
				for (int l = 0; l < LISTS && pass; l++) {
					EXPECT_EQ(was[i][node].size[l], now.size[l])
						TH_LOG("%s of CPU %d on node %d", list_name[l],
						       cpu[i], node);
				}
				was[i][node] = now;
			}
		}
		if (pass)
			break;
		show_group();
		moved = ssw_vmstat("pgmigrate_success");
		failed = ssw_vmstat("pgmigrate_fail");
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, ssw_write("/proc/sys/vm/compact_memory", "1"));
		drain();
		moved = ssw_vmstat("pgmigrate_success") - moved;
		failed = ssw_vmstat("pgmigrate_fail") - failed;
		TH_LOG("%lld pages were moved, %lld could not be", moved, failed);
		/* One that loses its shard is one that is missing above. */
		few = moved < 10;
	}
	for (int i = 0; i < n; i++)
		EXPECT_EQ(0, tell_all(&m[i], EVEN, i + 1));
	EXPECT_EQ(0, sums_differ(true));
	/* They can be swapped out from there. */
	EXPECT_EQ(0, tell(&m[1 % n], UNLOCK, 1000, 1, 0));
	EXPECT_GE(OWN, evict(OWN / 2));
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(0, tell_all(&m[i], EVEN, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
	/* Where free pages lie together already there is nothing to do. */
	if (few)
		SKIP(return, "compaction moved hardly any page: nothing is tested");
}

/* From list to list, active, cold, locked, by another CPU: within the shard. */
SSW_BODY(lru_folio, lists_of_one_page)
{
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(&m, a, PAGES, false));
	tell_all(&m, STAMP, 1);
	EXPECT_ABOUT(PAGES, at(a, ANON));
	if (!ssw_generations())
		EXPECT_ABOUT(0, in_dump(memcg, ANY, shard_of(a), 1 << ACTIVE_ANON));

	/* Active, then cold: on B, and they stay in A's shard. */
	tell_all(&m, PIN, b);
	EXPECT_EQ(0, tell_all(&m, USE, 0));
	EXPECT_ABOUT(PAGES, at(a, ssw_generations() ? ANON : 1 << ACTIVE_ANON));
	EXPECT_ABOUT(0, at(b, ANON));
	EXPECT_EQ(0, tell_all(&m, COLD, 0));
	EXPECT_ABOUT(PAGES, at(a, ssw_generations() ? ANON : 1 << INACTIVE_ANON));
	if (!ssw_generations())
		EXPECT_ABOUT(0, in_dump(memcg, ANY, shard_of(a), 1 << ACTIVE_ANON));
	EXPECT_ABOUT(0, at(b, ANON));

	/* Locked on B, then on A; unlocked on either. */
	for (int i = 0; i < 2; i++) {
		tell_all(&m, PIN, i ? a : b);
		EXPECT_EQ(0, tell_all(&m, LOCK, 0));
		EXPECT_ABOUT(PAGES, at(a, LOCKED));
		EXPECT_EQ(0, at(b, LOCKED));
		EXPECT_ABOUT(0, at(a, ANON));
		EXPECT_GE(OWN, tell_all(&m, OUT, 0)) TH_LOG("locked pages are swapped out");
		tell_all(&m, PIN, i ? b : a);
		EXPECT_EQ(0, tell_all(&m, UNLOCK, 0));
		EXPECT_EQ(0, at(ANY, LOCKED));
		EXPECT_ABOUT(PAGES, at(a, ANON));
		EXPECT_ABOUT(0, at(b, ANON));
		EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	}
	/* Locked while in swap: read back at once, to A. */
	EXPECT_EQ(PAGES, tell_all(&m, OUT, 0));
	EXPECT_GE(OWN, evict(OWN / 2));
	tell_all(&m, PIN, b);
	EXPECT_EQ(0, tell_all(&m, LOCK, 0));
	EXPECT_EQ(PAGES, tell_all(&m, RESIDENT, 0));
	EXPECT_ABOUT(PAGES, at(a, ANON | LOCKED));
	EXPECT_ABOUT(0, at(b, ANON));
	EXPECT_EQ(0, in_dump(memcg, ANY, shard_of(b), LOCKED));
	/* The base kernel lets reclaim find out that a page it swapped in is locked. */
	ssw_for_looks(i) {
		if (at(a, LOCKED) >= PAGES)
			break;
		cg_reclaim(GROUP, 2 * PAGES);
	}
	EXPECT_ABOUT(PAGES, at(a, LOCKED));
	EXPECT_EQ(0, in_dump(memcg, ANY, shard_of(b), LOCKED));
	/* Freed while locked. */
	EXPECT_EQ(0, tell_all(&m, CHECK, 1));
	tell(&m, UNLOCK, 0, PAGES / 2, 0);
	EXPECT_ABOUT(PAGES / 2, at(a, LOCKED));
	EXPECT_EQ(0, mate_end(&m));
	EXPECT_EQ(0, at(ANY, LOCKED));

	/* New and locked at once. */
	ASSERT_TRUE(mate_start(&m, b, PAGES, false));
	EXPECT_EQ(0, tell_all(&m, LOCK_NEW, 5));
	EXPECT_ABOUT(PAGES, at(b, LOCKED));
	EXPECT_EQ(0, at(a, LOCKED));
	EXPECT_EQ(0, in_dump(memcg, ANY, 0, LOCKED));
	tell_all(&m, PIN, a);
	EXPECT_EQ(0, tell_all(&m, UNLOCK, 0));
	EXPECT_ABOUT(PAGES, at(b, ANON));
	EXPECT_EQ(0, at(ANY, LOCKED));
	EXPECT_EQ(0, tell_all(&m, CHECK, 5));
	EXPECT_EQ(0, mate_end(&m));
	group_ends(_metadata);
}

/* --- small groups -------------------------------------------------------------- */

static int shards_of_group(void)
{
	int n = 0;

	for (int i = 0; i < nr_rows; i++)
		n += rows[i].memcg == memcg && rows[i].shard;
	return n;
}

/*
 * A group has four shards, whatever its size, and one more when it has 64 pages for each that it
 * has. Pages of other CPUs are on the lists that all share; new ones are on the CPU's own as soon
 * as the group is large enough.
 */
SSW_BODY(lru_folio, small_groups_have_few)
{
	const long few = 4, share = 64, pages = 1500;
	/* What a shard has not posted: less than a batch of each list */
	const long slack = few * 2 * 32 + 64;
	struct mate m[6];
	int cpu[6], n = 0;
	long long small;
	cpu_set_t set;

	NEED_SHARDS();
	ASSERT_EQ(0, ssw_online(&set));
	for (int c = 0; c < CPU_SETSIZE && n < 6; c++)
		if (CPU_ISSET(c, &set) && (!n || shard_of(c) > shard_of(cpu[n - 1])))
			cpu[n++] = c;
	if (n < 6)
		SKIP(return, "needs six CPUs with a shard each");
	ASSERT_EQ(0, cg_fresh());
	small = value("small");
	for (int i = 0; i < n; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], pages, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, ssw_node_of(cpu[0])));
		ASSERT_EQ(0, tell(&m[i], STAMP, 0, 4, i + 1));
	}
	drain();
	ASSERT_EQ(0, dump());
	EXPECT_EQ(few, shards_of_group());
	EXPECT_EQ(0, in_dump(memcg, ANY, shard_of(cpu[5]), ANON));
	EXPECT_LE(4, in_dump(memcg, ANY, 0, ANON));
	EXPECT_LE(small + 4, value("small"));
	/* It grows, by a CPU that has no shard. */
	ASSERT_EQ(0, tell(&m[5], STAMP, 4, pages - 4, 6));
	EXPECT_LE(pages - few * share - slack, at(cpu[5], ANON));
	EXPECT_LE(few * share / 2, in_dump(memcg, ANY, 0, ANON));
	EXPECT_EQ(few + 1, shards_of_group());
	EXPECT_EQ(0, sums_differ(true));
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(0, tell(&m[i], CHECK, 0, i == 5 ? pages : 4, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	group_ends(_metadata);
}

/* --- sums ---------------------------------------------------------------------- */

/* By how many pages of a list the statistics of all zones exceed those of all nodes */
static long long zones_less_nodes(int list)
{
	char node[32], zone[32];

	snprintf(node, sizeof(node), "nr_%s", list_name[list]);
	snprintf(zone, sizeof(zone), "nr_zone_%s", list_name[list]);
	return ssw_vmstat(zone) - ssw_vmstat(node);
}

SSW_BODY(lru_folio, sums)
{
	struct mate m[4];
	struct ssw_areas areas;
	int n = 0, cpu[4];
	long long sum;
	cpu_set_t set;

	NEED_SHARDS();
	NEED_AREAS(&areas);
	ASSERT_EQ(0, ssw_online(&set));
	ASSERT_EQ(0, cg_fresh());
	/* The first that fails ends the test: each looks for SSW_PATIENCE. */
	ASSERT_EQ(0, sums_differ(true)) TH_LOG("before");
	for (int c = 0; c < CPU_SETSIZE && n < 4; c++) {
		if (!CPU_ISSET(c, &set))
			continue;
		ASSERT_TRUE(mate_start(&m[n], c, PAGES, n == 3));
		tell_all(&m[n], STAMP, n + 1);
		cpu[n++] = c;
	}
	tell(&m[0], USE, 0, PAGES / 3, 0);
	tell(&m[0], LOCK, PAGES / 2, 200, 0);
	ASSERT_EQ(0, sums_differ(true)) TH_LOG("touched, some active, some locked");
	for (int i = 0; i < n; i++) {
		/* Swapped out, and read back, by another CPU. */
		EXPECT_EQ(0, tell(&m[i], PIN, 0, 0, cpu[(i + 1) % n]));
		EXPECT_EQ(cpu[(i + 1) % n], tell(&m[i], WHERE, 0, 0, 0));
		EXPECT_EQ(700, tell(&m[i], OUT, i * 100, 700, 0));
	}
	cg_reclaim(GROUP, PAGES);
	for (int i = 0; i < n; i++)
		EXPECT_EQ(0, tell(&m[i], CHECK, 0, PAGES / 2, i + 1));
	ASSERT_EQ(0, sums_differ(true)) TH_LOG("partly swapped");
	/* And of the hierarchy, memory.stat. */
	sum = 0;
	ssw_for_looks(i) {
		drain();
		ASSERT_EQ(0, dump());
		sum = ssw_cgroup_stat(GROUP, "inactive_anon") / (long long)SSW_PAGE -
		      in_dump(memcg, ANY, ANY, 1 << INACTIVE_ANON);
		if (!sum)
			break;
		usleep(100000);
	}
	ASSERT_EQ(0, sum);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i + 1));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	ASSERT_EQ(0, sums_differ(true)) TH_LOG("after their processes ended");
	group_ends(_metadata);
	/* /proc/meminfo has the same. */
	ssw_for_looks(i) {
		ssw_write("/proc/sys/vm/stat_refresh", "1");
		ASSERT_EQ(0, dump());
		sum = in_dump(ANY, ANY, ANY, ANON) * 4 - ssw_meminfo("Active(anon)") -
		      ssw_meminfo("Inactive(anon)");
		if (!sum)
			break;
		usleep(50000);
	}
	ASSERT_EQ(0, sum);
	/* Nodes' statistics and those of their zones are of the same pages. */
	for (int l = 0; l < LISTS; l++) {
		ssw_for_looks(i) {
			ssw_write("/proc/sys/vm/stat_refresh", "1");
			sum = zones_less_nodes(l);
			if (!sum)
				break;
			usleep(50000);
		}
		ASSERT_EQ(0, sum) TH_LOG("list %d: zones have %lld pages more", l, sum);
	}
}

TEST_HARNESS_MAIN
