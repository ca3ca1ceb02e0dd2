// SPDX-License-Identifier: GPL-2.0
/*
 * A process of a group is killed for lack of memory only if nothing of the group can be
 * reclaimed, and not because statistics are old.
 */
#include <sys/uio.h>

#include "lru_harness.h"

SSW_FIXTURE(lru_oom, 0)

/* Have all memory of a process marked as accessed, twice: that makes it active. */
static void use_all(pid_t pid)
{
	static char buf[64 * SSW_PAGE];
	unsigned long from, to;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(path, "re");

		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%lx-%lx rw", &from, &to) != 2)
				continue;
			for (; from < to; from += sizeof(buf)) {
				size_t n = to - from < sizeof(buf) ? to - from : sizeof(buf);
				struct iovec there = { (void *)from, n }, here = { buf, n };

				/* What cannot be read is no memory. */
				process_vm_readv(pid, &here, 1, &there, 1, 0);
			}
		}
		if (f)
			fclose(f);
	}
}

/* A group of @pages, all of them active, of which statistics say that they are inactive. */
static void activated_since(struct __test_metadata *_metadata, struct mate *m, int cpu, long pages,
			    long more)
{
	ASSERT_EQ(0, cg_fresh());
	ASSERT_TRUE(mate_start(m, cpu, pages + more, false));
	ASSERT_EQ(0, tell(m, NODE, 0, 0, ssw_node_of(cpu)));
	ASSERT_EQ(0, tell(m, STAMP, 0, pages, 1));
	drain();
	EXPECT_TRUE(stats_caught_up());
	use_all(m->pid);
	drain();
}

/*
 * Statistics say that a group has inactive pages alone; since then all were activated, and
 * there is no other page. It must not be killed before statistics are right again.
 */
SSW_BODY(lru_oom, activated_since)
{
	const long more = 600;
	long pages = 3000;
	long long again = ssw_stat("reclaim_retried");
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	/*
	 * Statistics may happen to be made right at the wrong time: not always. A CPU charges
	 * 64 pages at a time; with many of these left, new pages are on the inactive list
	 * before the limit is met. So each round leaves another number.
	 */
	for (int round = 0; round < 12 && ssw_stat("reclaim_retried") == again; round++) {
		pages += 11;
		activated_since(_metadata, &m, a, pages, more);
		ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max",
					    cg(GROUP, "memory.current", NULL)));
		EXPECT_EQ(0, tell(&m, STAMP, pages, more, 2)) TH_LOG("round %d", round);
		EXPECT_EQ(0, tell(&m, CHECK, 0, pages, 1)) TH_LOG("round %d", round);
		EXPECT_EQ(0, tell(&m, CHECK, pages, more, 2)) TH_LOG("round %d", round);
		EXPECT_EQ(0, kills()) TH_LOG("round %d", round);
		EXPECT_EQ(0, mate_end(&m));
		group_ends(_metadata);
		if (!__test_passed(_metadata))
			break;
	}
	again = ssw_stat("reclaim_retried") - again;
	TH_LOG("reclaim was repeated %lld times", again);
	if (!again && __test_passed(_metadata))
		SKIP(return, "statistics were right in each round");
}

/*
 * No process is killed for memory.high, and reclaim for it repeats itself for as long as it
 * makes progress. So reclaim need not try again; it gives up as in the base kernel.
 */
SSW_BODY(lru_oom, not_for_memory_high)
{
	const long pages = 3000, high = 1500;
	long long again = ssw_stat("reclaim_retried");
	struct ssw_areas areas;
	bool over = false;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	for (int round = 0; round < 12 && !over; round++) {
		activated_since(_metadata, &m, a, pages, 0);
		ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", high * SSW_PAGE));
		/* Otherwise statistics happened to be made right, and it found pages. */
		over = cg(GROUP, "memory.current", NULL) > 2 * high * SSW_PAGE;
		EXPECT_EQ(again, ssw_stat("reclaim_retried")) TH_LOG("round %d", round);
		ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.high", -1));
		EXPECT_EQ(0, tell(&m, CHECK, 0, pages, 1)) TH_LOG("round %d", round);
		EXPECT_EQ(0, mate_end(&m));
		group_ends(_metadata);
		if (!__test_passed(_metadata))
			break;
	}
	if (!over && __test_passed(_metadata))
		SKIP(return, "statistics were right in each round");
}

/* Nothing can be reclaimed: the process is killed. */
SSW_BODY(lru_oom, nothing_left)
{
	const long pages = 3000, max = 1500;
	struct ssw_areas areas;
	struct mate m;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_AREAS(&areas);
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	ASSERT_TRUE(mate_start(&m, a, pages, false));
	EXPECT_EQ(DIED, tell_all(&m, LOCK_NEW, 1));
	EXPECT_EQ(1, kills());
	mate_end(&m);
	group_ends(_metadata);
}

TEST_HARNESS_MAIN
