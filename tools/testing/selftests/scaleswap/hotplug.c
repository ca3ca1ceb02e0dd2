// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs going offline and coming back while their areas are in use.
 */
#include "harness.h"

SSW_FIXTURE(hotplug, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

static int last_cpu(void)
{
	return ssw_nr_possible() - 1;
}

/* A CPU can go offline here; it is online when this returns. */
static bool can_offline(int cpu)
{
	return cpu > 0 && !ssw_set_online(cpu, false) && !ssw_set_online(cpu, true);
}

SSW_TEST_F(hotplug, while_swapping)
{
	int last = last_cpu(), cpus = last + 1, t[8];
	struct ssw_load *l;

	if (!can_offline(last))
		SKIP(return, "CPU %d cannot be taken offline", last);
	if (cpus > 8)
		SKIP(return, "needs 8 CPUs at most");
	l = ssw_loads(cpus);
	ASSERT_NE(NULL, l);
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(c), 2048));
		t[c] = ssw_on_cpu(ssw_file(c), c);
		ASSERT_LE(0, t[c]);
	}
	/* Half of them pinned (the kernel breaks that), half free to move. */
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_load_start(&l[c], c == last || c % 2 ? c : -1, 200));
	}
	for (int round = 0; round < 4; round++) {
		int cpu = round % 2 && last > 1 ? last - 1 : last;

		ASSERT_TRUE(ssw_load_more(&l[cpu], 1));
		ASSERT_EQ(0, ssw_set_online(cpu, false)) TH_LOG("round %d", round);
		for (int c = 0; c < cpus; c++) {
			ASSERT_TRUE(ssw_load_more(&l[c], 1))
				TH_LOG("no progress with CPU %d offline", cpu);
		}
		EXPECT_EQ(cpu, ssw_area(t[cpu], "cpu"));
		ASSERT_EQ(0, ssw_set_online(cpu, true));
		EXPECT_EQ(cpu, ssw_area(t[cpu], "cpu"));
	}
	for (int c = 0; c < cpus; c++) {
		EXPECT_EQ(0, ssw_load_stop(&l[c])) TH_LOG("load %d", c);
		EXPECT_LT(0, l[c].out);
	}
	EXPECT_EQ(cpus, ssw_area_count());
}

/* Pages in the area of a CPU that is gone can be read. */
SSW_TEST_F(hotplug, swap_in_from_offline)
{
	char *p = ssw_map(500, false);
	int last = last_cpu(), t;
	long per[258];

	if (!can_offline(last))
		SKIP(return, "CPU %d cannot be taken offline", last);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2048));
	t = ssw_on_cpu(ssw_file(0), last);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(last));
	ssw_stamp(p, 500, 1);
	ASSERT_EQ(500, ssw_pageout(p, 500));
	ssw_evict("ssw");
	ASSERT_EQ(0, ssw_where(p, 500, per));
	EXPECT_EQ(500, per[t]);
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, ssw_set_online(last, false));
	EXPECT_EQ(0, ssw_wrong(p, 500, 1));
	EXPECT_EQ(0, ssw_set_online(last, true));
}

/* The area of an offline CPU is for spill-over only; its own again afterwards. */
SSW_TEST_F(hotplug, spill_over_only)
{
	int last = last_cpu(), cpus = last + 1, t[16], moved = 0;
	char *p = ssw_map(400, false), *q;
	long long home, foreign;
	long per[258];
	size_t total;

	if (!can_offline(last))
		SKIP(return, "CPU %d cannot be taken offline", last);
	if (cpus > 8)
		SKIP(return, "needs 8 CPUs at most");
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(c), 500));
		t[c] = ssw_on_cpu(ssw_file(c), c);
		ASSERT_LE(0, t[c]);
	}
	ASSERT_EQ(0, ssw_set_online(last, false));

	/* Room elsewhere: not touched. */
	for (int c = 0; c < last; c++) {
		ASSERT_EQ(0, ssw_pin(c));
		ssw_stamp(p, 400, c + 1);
		ASSERT_EQ(400, ssw_pageout(p, 400));
		ASSERT_EQ(0, ssw_where(p, 400, per));
		EXPECT_EQ(400, per[t[c]]) TH_LOG("CPU %d", c);
		EXPECT_EQ(0, ssw_wrong(p, 400, c + 1));
		munmap(p, 400 * SSW_PAGE);
		p = ssw_map(400, false);
	}
	EXPECT_EQ(0, ssw_area(t[last], "allocs_home"));
	EXPECT_EQ(0, ssw_area(t[last], "allocs_foreign"))
		TH_LOG("the area of the offline CPU was used though others had room");

	/* No room elsewhere: used, as anybody's. */
	total = cpus * 500 - 100;
	q = ssw_map(total, false);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(q, total, 7);
	ssw_pageout(q, total);
	ASSERT_EQ(0, ssw_where(q, total, per));
	EXPECT_LT(300, per[t[last]]) TH_LOG("the area of the offline CPU took no spill-over");
	EXPECT_LT(0, ssw_area(t[last], "allocs_foreign"));
	EXPECT_EQ(0, ssw_area(t[last], "allocs_home"));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(q, total, 7));
	munmap(q, total * SSW_PAGE);

	/* Back online: its own again. */
	ASSERT_EQ(0, ssw_set_online(last, true));
	ASSERT_EQ(0, ssw_pin(last));
	home = ssw_area(t[last], "allocs_home");
	foreign = ssw_area(t[last], "allocs_foreign");
	ssw_stamp(p, 100, 9);
	ASSERT_EQ(100, ssw_pageout(p, 100));
	ASSERT_EQ(0, ssw_where(p, 100, per));
	moved = per[t[last]];
	EXPECT_LT(100 - SSW_SLACK, moved);
	EXPECT_LE(moved, ssw_area(t[last], "allocs_home") - home);
	EXPECT_EQ(foreign, ssw_area(t[last], "allocs_foreign"));
	EXPECT_EQ(0, ssw_wrong(p, 100, 9));
}

/* Only the area of an offline CPU is on: everybody uses it, as spill-over. */
SSW_TEST_F(hotplug, only_offline_area)
{
	char *p = ssw_map(300, false);
	int last = last_cpu(), t;
	long per[258];

	if (!can_offline(last))
		SKIP(return, "CPU %d cannot be taken offline", last);
	ASSERT_EQ(0, ssw_set_online(last, false));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 1024));
	t = ssw_on_cpu(ssw_file(0), last);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 300, 1);
	EXPECT_EQ(300, ssw_pageout(p, 300));
	ASSERT_EQ(0, ssw_where(p, 300, per));
	EXPECT_EQ(300, per[t]);
	EXPECT_LE(300, ssw_area(t, "allocs_foreign"));
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 300, 1));
	/* When the CPU comes it finds an area bound to it. */
	ASSERT_EQ(0, ssw_set_online(last, true));
	ASSERT_EQ(0, ssw_pin(last));
	p = ssw_map(300, false);
	ssw_stamp(p, 300, 2);
	EXPECT_EQ(300, ssw_pageout(p, 300));
	EXPECT_LE(300, ssw_area(t, "allocs_home"));
	EXPECT_EQ(0, ssw_wrong(p, 300, 2));
}

/* swapon and swapoff between offline and online of their CPU, under load. */
SSW_TEST_F(hotplug, with_swapon_and_swapoff)
{
	int last = last_cpu();
	struct ssw_load *l = ssw_loads(1);

	if (!can_offline(last))
		SKIP(return, "CPU %d cannot be taken offline", last);
	ASSERT_NE(NULL, l);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 2048));
	}
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	ASSERT_LE(0, ssw_on_cpu(ssw_file(1), last));
	ASSERT_EQ(0, ssw_load_start(&l[0], last, 200));
	for (int round = 0; round < 3; round++) {
		ASSERT_TRUE(ssw_load_more(&l[0], 1));
		ASSERT_EQ(0, ssw_set_online(last, false));
		ASSERT_EQ(0, ssw_swapoff(ssw_file(1)));
		ASSERT_EQ(0, ssw_set_online(last, true));
		ASSERT_TRUE(ssw_load_more(&l[0], 1));
		ASSERT_EQ(0, ssw_set_online(last, false));
		ASSERT_LE(0, ssw_on_cpu(ssw_file(1), last));
		ASSERT_EQ(0, ssw_set_online(last, true));
	}
	EXPECT_EQ(0, ssw_load_stop(&l[0]));
}

TEST_HARNESS_MAIN
