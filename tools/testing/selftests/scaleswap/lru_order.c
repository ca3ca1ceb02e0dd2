// SPDX-License-Identifier: GPL-2.0
/*
 * In which order pages of several CPUs are evicted: as those of a single list, or nearly.
 *
 * With SSW_LRU_ANYWAY=1 these tests run on a kernel with one list, too, so that the bounds can be
 * compared with what that does.
 */
#include <limits.h>

#include "lru_harness.h"

SSW_FIXTURE(lru_order, 0)

/*
 * One CPU's memory lives a short time, and is replaced by as much. The other one goes over more
 * memory than fits. With one list the first one's pages are freed long before they get to its end.
 */
SSW_BODY(lru_order, replaced_memory_is_new)
{
	const long max = 5120, stream = 7000, per = 128, chunk = 64, live = 16;
	const long steps = 300, warm = 60;
	long at = 0, out = 0, went = 0;
	struct ssw_areas areas;
	struct mate p, q;
	int a, b;

	/* With generations one in five goes, with one list, too. */
	NEED_LISTS();
	NEED_TWO(a, b);
	NEED_INSTANT(&areas, 6000, ssw_node_of(a));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	ASSERT_TRUE(mate_start(&p, a, stream, false));
	ASSERT_TRUE(mate_start(&q, b, live * chunk, false));
	ASSERT_EQ(0, tell(&p, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell(&q, NODE, 0, 0, ssw_node_of(a)));
	for (long s = 0; s < steps; s++) {
		const long from = s % live * chunk;

		ASSERT_EQ(0, stamp_on(&p, &at, per, stream, 1));
		if (s >= live + warm) {
			went += chunk;
			out += chunk - tell(&q, RESIDENT, from, chunk, 0);
		}
		ASSERT_EQ(0, tell(&q, DROP, from, chunk, 0));
		ASSERT_EQ(0, tell(&q, STAMP, from, chunk, 2));
	}
	TH_LOG("of %ld pages that went, %ld had been swapped out", went, out);
	show_group();
	/* None with one list; one in six where only the growth of a shard counted. */
	EXPECT_GE(went / 25, out);
	EXPECT_EQ(0, tell_all(&p, CHECK, 1));
	EXPECT_EQ(0, tell_all(&q, CHECK, 2));
	EXPECT_EQ(0, mate_end(&p));
	EXPECT_EQ(0, mate_end(&q));
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

/*
 * A CPU that reads files all the time has anonymous pages that it never uses again. They go
 * first, and not those of another CPU, which are used from time to time.
 */
SSW_BODY(lru_order, cold_pages_beside_a_stream)
{
	const long cold = 768, other = 768, max = 2560, file = 4096, reads = 6144, piece = 64;
	const int cycles = 6;
	struct ssw_areas areas;
	long left = 0, in;
	struct mate p, q;
	char had[32];
	int a, b;

	/* With generations the cold pages stay, with one list, too. */
	NEED_LISTS();
	NEED_TWO(a, b);
	NEED_INSTANT(&areas, 6000, ssw_node_of(a));
	ASSERT_LT(0, ssw_read("/proc/sys/vm/swappiness", had, sizeof(had)));
	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	ASSERT_TRUE(mate_start(&p, a, cold, false));
	ASSERT_TRUE(mate_start(&q, b, other, false));
	ASSERT_EQ(0, tell(&p, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell(&q, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell(&p, FILE_NEW, 0, file, 0));
	drain();
	ASSERT_EQ(0, ssw_write("/proc/sys/vm/swappiness", "100"));
	ASSERT_EQ(0, tell_all(&q, STAMP, 2));
	ASSERT_EQ(0, tell_all(&p, STAMP, 1));
	for (int c = 0; c < cycles; c++) {
		in = tell(&q, FAULTS, 0, 0, 0);
		for (long i = 0; i < other; i += piece) {
			ASSERT_EQ(0, tell(&p, FILE_RANDOM, file, reads / (other / piece), 0));
			ASSERT_EQ(0, tell(&q, CHECK, i, piece, 2));
		}
		left = tell_all(&p, RESIDENT, 0);
		TH_LOG("cycle %d: the other CPU had %ld faults; %ld of %ld cold pages are left", c,
		       tell(&q, FAULTS, 0, 0, 0) - in, left, cold);
	}
	EXPECT_EQ(0, ssw_write("/proc/sys/vm/swappiness", had));
	show_group();
	/* None after three cycles with one list. */
	EXPECT_GE(cold / 20, left);
	EXPECT_EQ(0, tell_all(&p, CHECK, 1));
	EXPECT_EQ(0, tell_all(&q, CHECK, 2));
	EXPECT_EQ(0, mate_end(&p));
	EXPECT_EQ(0, mate_end(&q));
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

/*
 * All pages of CPU @b are active, and it is asleep. @a uses @used pages all the time, and needs
 * some more. Return how many of these came back.
 */
static long use_beside_idle(struct __test_metadata *_metadata, int a, int b, long used)
{
	const long max = 6144, asleep = 2048, grown = used + 650;
	struct mate m, idle;
	long faults;

	ASSERT_EQ(0, cg_fresh());
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	ASSERT_TRUE(mate_start(&idle, b, asleep, false));
	ASSERT_EQ(0, tell(&idle, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell_all(&idle, STAMP, 1));
	drain();
	ASSERT_EQ(0, tell_all(&idle, USE, 0));
	ASSERT_EQ(0, kill(idle.pid, SIGSTOP));
	ASSERT_TRUE(mate_start(&m, a, grown, false));
	ASSERT_EQ(0, tell(&m, NODE, 0, 0, ssw_node_of(a)));
	ASSERT_EQ(0, tell(&m, STAMP, 0, used, 2));
	drain();
	ASSERT_EQ(0, tell(&m, USE, 0, used, 0));
	drain();
	EXPECT_TRUE(stats_caught_up());
	show_group();
	faults = tell(&m, FAULTS, 0, 0, 0);
	for (int sweep = 0; sweep < 9; sweep++) {
		ASSERT_EQ(0, tell(&m, CHECK, 0, used, 2));
		ASSERT_EQ(0, sweep ? tell(&m, CHECK, used, grown - used, 3) :
				     tell(&m, STAMP, used, grown - used, 3));
	}
	faults = tell(&m, FAULTS, 0, 0, 0) - faults;
	TH_LOG("%ld pages came back in nine rounds", faults);
	show_group();
	EXPECT_EQ(0, kill(idle.pid, SIGCONT));
	EXPECT_EQ(0, tell_all(&idle, CHECK, 1));
	EXPECT_EQ(0, mate_end(&m));
	EXPECT_EQ(0, mate_end(&idle));
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
	return faults;
}

/*
 * A CPU that needs more memory gets it from one that is asleep, and loses none of the pages that
 * it uses. None come back with one list. A busy host may stop a CPU until its pages look idle, so
 * it is tried three times.
 */
SSW_BODY(lru_order, used_pages_outlive_idle_ones)
{
	const long used = 3700;
	struct ssw_areas areas;
	long faults = LONG_MAX;
	int a, b;

	NEED_SHARDS();
	NEED_TWO(a, b);
	NEED_INSTANT(&areas, 6000, ssw_node_of(a));
	for (int i = 0; i < 3 && faults > used / 25; i++)
		faults = use_beside_idle(_metadata, a, b, used);
	EXPECT_GE(used / 25, faults);
}

/*
 * Pages of two CPUs came at the same time, as many of each. Whichever CPU reclaims some of them,
 * the other one has to lose its part, too.
 */
SSW_BODY(lru_order, both_lose_a_part)
{
	const long pages = 2000, piece = 50, take = 192;
	struct ssw_areas areas;
	struct mate m[2];
	long lost[2];
	int cpu[2];

	NEED_LISTS();
	NEED_TWO(cpu[0], cpu[1]);
	NEED_INSTANT(&areas, 6000, ssw_node_of(cpu[0]));
	for (int reclaims = 0; reclaims < 2; reclaims++) {
		ASSERT_EQ(0, cg_fresh());
		for (int i = 0; i < 2; i++) {
			ASSERT_TRUE(mate_start(&m[i], cpu[i], pages, false));
			ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, ssw_node_of(cpu[0])));
		}
		for (long at = 0; at < pages; at += piece) {
			for (int i = 0; i < 2; i++)
				ASSERT_EQ(0, tell(&m[i], STAMP, at, piece, i));
		}
		drain();
		/* Else reclaim would find them all in use, and take none in the first round. */
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, tell_all(&m[i], COLD, 0));
		EXPECT_TRUE(stats_caught_up());
		show_group();
		ASSERT_EQ(0, ssw_pin(cpu[reclaims]));
		cg_reclaim(GROUP, take);
		for (int i = 0; i < 2; i++)
			lost[i] = pages - tell_all(&m[i], RESIDENT, 0);
		TH_LOG("CPU %d reclaims: %ld and %ld pages lost", reclaims, lost[0], lost[1]);
		show_group();
		/*
		 * A half with one list, a third here; and a sixth if only whole ages are told
		 * apart, the oldest of which has about as many pages of each CPU as are taken.
		 */
		EXPECT_LE(take / 4, lost[!reclaims]);
		EXPECT_LE(take / 4, lost[reclaims]);
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
			EXPECT_EQ(0, mate_end(&m[i]));
		}
		EXPECT_EQ(0, kills());
		group_ends(_metadata);
	}
}

/*
 * One of two CPUs reads its pages four times as often as the other, and neither has all of
 * them in memory. Both CPUs' pages have equally long to be used again.
 */
SSW_BODY(lru_order, ages_keep_pace)
{
	const long max = 2400, busy = 2400, slow = 1200, piece = 64;
	long most = 0, sum = 0, looks = 0, in[2] = { };
	struct ssw_areas areas;
	struct mate m[2];
	int cpu[4], node;

	NEED_LISTS();
	NEED_FOUR(cpu);
	node = ssw_node_of(cpu[0]);
	NEED_INSTANT(&areas, 6000, node);
	ASSERT_EQ(0, cg_fresh());
	for (int i = 0; i < 2; i++) {
		ASSERT_TRUE(mate_start(&m[i], cpu[i], i ? slow : busy, false));
		ASSERT_EQ(0, tell(&m[i], NODE, 0, 0, node));
	}
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.max", max * SSW_PAGE));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tell_all(&m[i], STAMP, i));
		in[i] = tell(&m[i], FAULTS, 0, 0, 0);
	}
	for (long at = 0, n = 0; n < 12 * busy; n += piece, at += piece) {
		const long b = at % (busy / piece * piece);
		const long s = at / 4 % (slow / (piece / 4) * (piece / 4));
		long apart;

		ASSERT_EQ(0, tell(&m[0], CHECK, b, piece, 0));
		ASSERT_EQ(0, tell(&m[1], CHECK, s, piece / 4, 1));
		/* Let them settle first. */
		if (n < 4 * busy || n / piece % 4)
			continue;
		ASSERT_EQ(0, dump());
		if (age_of(cpu[0], INACTIVE_ANON) < 0 || age_of(cpu[1], INACTIVE_ANON) < 0)
			continue;
		apart = labs(age_of(cpu[0], INACTIVE_ANON) - age_of(cpu[1], INACTIVE_ANON));
		sum += apart;
		most = apart > most ? apart : most;
		looks++;
	}
	for (int i = 0; i < 2; i++)
		in[i] = tell(&m[i], FAULTS, 0, 0, 0) - in[i];
	TH_LOG("%ld and %ld faults; in %ld looks ages were %ld hundredths apart on average, %ld at most",
	       in[0], in[1], looks, looks ? sum * 100 / looks : 0, most);
	/* Both were in use. */
	EXPECT_LE(busy, in[0]);
	EXPECT_LE(slow / 4, in[1]);
	ASSERT_LT(50, looks);
	EXPECT_GE(looks, sum);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, tell_all(&m[i], CHECK, i));
		EXPECT_EQ(0, mate_end(&m[i]));
	}
	EXPECT_EQ(0, kills());
	group_ends(_metadata);
}

TEST_HARNESS_MAIN
