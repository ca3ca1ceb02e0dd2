// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ScaleSwap's pure logic: area list, choice of a home,
 * parsing, and the encodings that depend on the width of the swap type.
 *
 * The machine in these tests is made up: 16 CPUs, four a node, four nodes at
 * distances that are not in the order of their numbers.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include <linux/processor.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/zswap.h>

#include "../internal.h"

#define SSW_TEST_CPUS	16

static int ssw_test_cpu_node(int cpu)
{
	return cpu < SSW_TEST_CPUS ? cpu / 4 : NUMA_NO_NODE;
}

static int ssw_test_distance(int from, int to)
{
	static const u8 distance[4][4] = {
		{ 10, 40, 20, 30 },
		{ 40, 10, 30, 20 },
		{ 20, 30, 10, 40 },
		{ 30, 20, 40, 10 },
	};

	return distance[from][to];
}

static const struct ssw_topology ssw_test_topology = {
	.cpu_node = ssw_test_cpu_node,
	.distance = ssw_test_distance,
};

static void ssw_test_build(struct kunit *test, struct ssw_arealist *list, int cpu,
			   const struct ssw_candidate *cand, unsigned int nr)
{
	mutex_lock(&ssw_mutex);
	ssw_arealist_build(list, cpu, cand, nr, &ssw_test_topology);
	mutex_unlock(&ssw_mutex);
	KUNIT_ASSERT_EQ(test, list->nr, nr);
}

static struct ssw_arealist *ssw_test_list(struct kunit *test)
{
	struct ssw_arealist *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, list);
	return list;
}

/* Own area first, then the node's, then the nodes by distance, not by number. */
static void ssw_test_order_distance(struct kunit *test)
{
	struct ssw_arealist *list = ssw_test_list(test);
	static const u8 want_cpu[] = {
		5, 6, 7, 4, 12, 13, 14, 15, 8, 9, 10, 11, 0, 1, 2, 3,
	};
	struct ssw_candidate cand[SSW_TEST_CPUS];
	int i;

	/* Types count down as CPUs count up, so a mix-up of the two shows. */
	for (i = 0; i < SSW_TEST_CPUS; i++) {
		cand[i].type = 100 - i;
		cand[i].home = i;
		cand[i].prio = -i;
	}
	ssw_test_build(test, list, 5, cand, SSW_TEST_CPUS);
	KUNIT_EXPECT_EQ(test, list->nr_own, 1);
	KUNIT_EXPECT_EQ(test, list->nr_node, 4);
	for (i = 0; i < SSW_TEST_CPUS; i++)
		KUNIT_EXPECT_EQ_MSG(test, list->type[i], 100 - want_cpu[i],
				    "place %d", i);
}

/*
 * Within a node the search begins after the own CPU and wraps around. So CPUs
 * without an area of their own do not all begin with the same one, either.
 */
static void ssw_test_order_cyclic(struct kunit *test)
{
	struct ssw_arealist *list = ssw_test_list(test);
	struct ssw_candidate cand[] = {
		{ .type = 40, .home = 0 }, { .type = 41, .home = 1 },
		{ .type = 42, .home = 2 }, { .type = 43, .home = 3 },
	};
	static const u8 want_own[] = { 42, 43, 40, 41 };
	struct ssw_candidate few[] = {
		{ .type = 40, .home = 0 }, { .type = 42, .home = 2 },
	};
	int i;

	ssw_test_build(test, list, 2, cand, ARRAY_SIZE(cand));
	KUNIT_EXPECT_EQ(test, list->nr_own, 1);
	KUNIT_EXPECT_EQ(test, list->nr_node, 4);
	for (i = 0; i < ARRAY_SIZE(want_own); i++)
		KUNIT_EXPECT_EQ_MSG(test, list->type[i], want_own[i], "place %d", i);

	ssw_test_build(test, list, 1, few, ARRAY_SIZE(few));
	KUNIT_EXPECT_EQ(test, list->nr_own, 0);
	KUNIT_EXPECT_EQ(test, list->nr_node, 2);
	KUNIT_EXPECT_EQ(test, list->type[0], 42);
	ssw_test_build(test, list, 3, few, ARRAY_SIZE(few));
	KUNIT_EXPECT_EQ(test, list->nr_own, 0);
	KUNIT_EXPECT_EQ(test, list->type[0], 40);

	/* From another node, too: the next higher number first. */
	ssw_test_build(test, list, 15, few, ARRAY_SIZE(few));
	KUNIT_EXPECT_EQ(test, list->nr_node, 0);
	KUNIT_EXPECT_EQ(test, list->type[0], 40);
}

/* Own areas by priority, and groups of equal priority are marked. */
static void ssw_test_order_priority(struct kunit *test)
{
	struct ssw_arealist *list = ssw_test_list(test);
	struct ssw_candidate cand[] = {
		{ .type = 1, .home = 3, .prio = -2 },
		{ .type = 2, .home = 3, .prio = 5 },
		{ .type = 3, .home = 2, .prio = 32767 },
		{ .type = 4, .home = 3, .prio = 5 },
		{ .type = 5, .home = 3, .prio = -3 },
		{ .type = 6, .home = 3, .prio = 32767 },
	};
	static const u8 want[] = { 6, 2, 4, 1, 5, 3 };
	static const u8 want_end[] = { 1, 3, 3, 4, 5 };
	int i;

	ssw_test_build(test, list, 3, cand, ARRAY_SIZE(cand));
	KUNIT_EXPECT_EQ(test, list->nr_own, 5);
	KUNIT_EXPECT_EQ(test, list->nr_node, 6);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ_MSG(test, list->type[i], want[i], "place %d", i);
	for (i = 0; i < ARRAY_SIZE(want_end); i++)
		KUNIT_EXPECT_EQ_MSG(test, list->group_end[i], want_end[i],
				    "place %d", i);
}

/* A full table, and one that is empty. Every area is there exactly once. */
static void ssw_test_order_limits(struct kunit *test)
{
	struct ssw_arealist *list = ssw_test_list(test);
	struct ssw_candidate *cand;
	DECLARE_BITMAP(seen, MAX_SWAPFILES) = { 0 };
	int i;

	cand = kunit_kcalloc(test, MAX_SWAPFILES, sizeof(*cand), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cand);
	for (i = 0; i < MAX_SWAPFILES; i++) {
		cand[i].type = i;
		cand[i].home = i % SSW_TEST_CPUS;
		cand[i].prio = 1;
	}
	ssw_test_build(test, list, 6, cand, MAX_SWAPFILES);
	for (i = 0; i < MAX_SWAPFILES; i++) {
		KUNIT_EXPECT_FALSE(test, test_bit(list->type[i], seen));
		__set_bit(list->type[i], seen);
	}
	KUNIT_EXPECT_TRUE(test, bitmap_full(seen, MAX_SWAPFILES));
	KUNIT_EXPECT_EQ(test, list->nr_own, MAX_SWAPFILES / SSW_TEST_CPUS +
			(MAX_SWAPFILES % SSW_TEST_CPUS > 6));
	KUNIT_EXPECT_EQ(test, list->group_end[0], list->nr_own);

	ssw_test_build(test, list, 6, cand, 0);
	KUNIT_EXPECT_EQ(test, list->nr_own, 0);
	KUNIT_EXPECT_EQ(test, list->nr_node, 0);
}

/* A home on a CPU whose node is unknown comes last. */
static void ssw_test_order_no_node(struct kunit *test)
{
	struct ssw_arealist *list = ssw_test_list(test);
	struct ssw_candidate cand[] = {
		{ .type = 1, .home = SSW_TEST_CPUS }, { .type = 2, .home = 7 },
	};

	ssw_test_build(test, list, 0, cand, ARRAY_SIZE(cand));
	KUNIT_EXPECT_EQ(test, list->type[0], 2);
	KUNIT_EXPECT_EQ(test, list->type[1], 1);
	KUNIT_EXPECT_EQ(test, list->nr_node, 0);
}

static int ssw_test_pick(const u16 *nr_areas, const unsigned long *cpus, int node)
{
	return ssw_pick_home(nr_areas, cpus, SSW_TEST_CPUS, node, &ssw_test_topology);
}

static void ssw_test_pick_home(struct kunit *test)
{
	u16 nr_areas[SSW_TEST_CPUS] = { 0 };
	DECLARE_BITMAP(cpus, SSW_TEST_CPUS) = { 0 };
	int i;

	bitmap_set(cpus, 0, 8);

	/* The lowest, one after the other. */
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, NUMA_NO_NODE), i);
		nr_areas[i]++;
	}

	/* All alike again: back to the front, or to the device's node. */
	KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, NUMA_NO_NODE), 0);
	KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, 1), 4);
	nr_areas[4]++;
	KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, 1), 5);

	/* Fewer areas beat the nearer node. */
	nr_areas[0] = 0;
	KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, 1), 0);

	/* Only the CPUs that are offered. */
	bitmap_clear(cpus, 0, 1);
	KUNIT_EXPECT_EQ(test, ssw_test_pick(nr_areas, cpus, 0), 1);
}

static void ssw_test_label_home(struct kunit *test)
{
	/* As in a header: a label is padded with zeros, and has none if it fills the field. */
	static const u8 bad[][SSW_LABEL_LEN] = {
		"", "swap", "ssw-cpu", "ssw-cpu ", "ssw-cpu-1", "ssw-cpu+1", "ssw-cpu0x0",
		"ssw-cpu0 ", "ssw-cpuauto", "ssw-cpuoff", "SSW-CPU0", "xssw-cpu0", "ssw-cpu99999",
		{ 's', 's', 'w', '-', 'c', 'p', 'u', '9', '9', '9', '9', '9', '9', '9', '9', '9' },
	};
	static const u8 cpu0[SSW_LABEL_LEN] = "ssw-cpu0";
	static const u8 whole[SSW_LABEL_LEN] = {
		's', 's', 'w', '-', 'c', 'p', 'u', '0', '0', '0', '0', '0', '0', '0', '0', '0'
	};
	int cpu = cpumask_last(cpu_possible_mask);
	u8 label[SSW_LABEL_LEN] = { };
	int i;

	KUNIT_EXPECT_EQ(test, ssw_label_home(cpu0), 0);
	KUNIT_EXPECT_EQ(test, ssw_label_home(whole), 0);
	snprintf((char *)label, sizeof(label), "ssw-cpu%d", cpu);
	KUNIT_EXPECT_EQ(test, ssw_label_home(label), cpu);
	/* One past the last possible CPU. */
	snprintf((char *)label, sizeof(label), "ssw-cpu%d", cpu + 1);
	KUNIT_EXPECT_EQ(test, ssw_label_home(label), SSW_NO_HOME);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, ssw_label_home(bad[i]), SSW_NO_HOME, "'%.16s'", bad[i]);
}

static void ssw_test_parse_bind(struct kunit *test)
{
	static const char * const bad[] = {
		"", "\n", "-1", "-2", "1x", "x1", " ", "auto ", "AUTO", "on",
		"4294967296", "4294967295", "99999", "0x1", "1,2", "1.0",
		"+1", "0\n1", "0\n\n", "auto\nx",
	};
	int bind, i;

	bind = 77;
	KUNIT_EXPECT_EQ(test, ssw_parse_bind("auto", &bind), 0);
	KUNIT_EXPECT_EQ(test, bind, SSW_BIND_AUTO);
	KUNIT_EXPECT_EQ(test, ssw_parse_bind("off\n", &bind), 0);
	KUNIT_EXPECT_EQ(test, bind, SSW_BIND_OFF);
	KUNIT_EXPECT_EQ(test, ssw_parse_bind("0", &bind), 0);
	KUNIT_EXPECT_EQ(test, bind, 0);

	bind = 77;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, ssw_parse_bind(bad[i], &bind), -EINVAL,
				    "'%s'", bad[i]);
		KUNIT_EXPECT_EQ(test, bind, 77);
	}
}

static void ssw_test_parse_boot(struct kunit *test)
{
	static const struct {
		const char *arg;
		bool good;
		bool core;
	} want[] = {
		{ "on", true, true },
		{ "off", true, false },
		{ "core", true, true },
		{ "lru", true, true },
		{ "core,lru,evict,fault,zbatch,defrag", true, true },
		{ "", false, false },
		{ "yes", false, false },
		{ "cor", false, false },
		{ "coree", false, false },
		{ "ON", false, false },
		{ ",", false, false },
		{ "core,", false, true },
		{ "core,,lru", false, true },
		{ "core,bogus", false, true },
		{ "bogus,core", false, true },
		{ "off,core", false, true },
		{ NULL, false, false },
	};
	const unsigned int lru = IS_ENABLED(CONFIG_SCALESWAP_LRU) ? BIT(SSW_MECH_LRU) : 0;
	const unsigned int fault = IS_ENABLED(CONFIG_SCALESWAP_FAULT) ? BIT(SSW_MECH_FAULT) : 0;
	const unsigned int evict = IS_ENABLED(CONFIG_SCALESWAP_EVICTOR) ? BIT(SSW_MECH_EVICT) : 0;
	const unsigned int zbatch = IS_ENABLED(CONFIG_SCALESWAP_ZBATCH) ? BIT(SSW_MECH_ZBATCH) : 0;
	const unsigned int defrag = IS_ENABLED(CONFIG_SCALESWAP_DEFRAG) ? BIT(SSW_MECH_DEFRAG) : 0;
	unsigned int mechs;
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		mechs = ~0U;
		KUNIT_EXPECT_EQ_MSG(test, ssw_parse_boot(want[i].arg, &mechs, false),
				    want[i].good, "'%s'", want[i].arg);
		KUNIT_EXPECT_EQ_MSG(test, mechs & BIT(SSW_MECH_CORE),
				    want[i].core ? BIT(SSW_MECH_CORE) : 0, "'%s'",
				    want[i].arg);
	}
	ssw_parse_boot("on", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | lru | evict | fault | zbatch | defrag);
	ssw_parse_boot("defrag", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | defrag);
	ssw_parse_boot("zbatch", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | zbatch);
	ssw_parse_boot("fault", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | fault);
	/* Evictors need shards. */
	ssw_parse_boot("evict", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | (evict ? lru | evict : 0));
	ssw_parse_boot("lru", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE) | lru);
	ssw_parse_boot("core", &mechs, false);
	KUNIT_EXPECT_EQ(test, mechs, BIT(SSW_MECH_CORE));
}

/*
 * Through the page table and back, at the ends of both fields. The very last
 * offset is left out: it is stored inverted, so with type 0 it is an empty page
 * table entry, in the base kernel as well. No area is that large.
 */
static void ssw_test_entry_roundtrip(struct kunit *test)
{
	static const unsigned long offsets[] = {
		0, 1, U32_MAX, (1UL << 46) + 1, (1UL << 47) - 2,
	};
	unsigned int type;
	int i;

	for (type = 0; type < 1 << MAX_SWAPFILES_SHIFT; type++) {
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			swp_entry_t entry = swp_entry(type, offsets[i]);
			pte_t pte = swp_entry_to_pte(entry);
			swp_entry_t back = pte_to_swp_entry(pte);

			KUNIT_ASSERT_EQ(test, back.val, entry.val);
			KUNIT_ASSERT_EQ(test, swp_type(back), type);
			KUNIT_ASSERT_EQ(test, swp_offset(back), offsets[i]);
			KUNIT_ASSERT_FALSE(test, pte_present(pte));
			KUNIT_ASSERT_FALSE(test, pte_none(pte));
			KUNIT_ASSERT_FALSE(test, pte_swp_exclusive(pte));
			/* shmem keeps entries in an xarray. */
			back = radix_to_swp_entry(swp_to_radix_entry(entry));
			KUNIT_ASSERT_EQ(test, back.val, entry.val);
			/* And with all the flags that live beside it. */
			pte = pte_swp_mkexclusive(pte);
			pte = pte_swp_mksoft_dirty(pte);
			pte = pte_swp_mkuffd_wp(pte);
			KUNIT_ASSERT_TRUE(test, pte_swp_exclusive(pte));
			KUNIT_ASSERT_FALSE(test, pte_present(pte));
			KUNIT_ASSERT_EQ(test, pte_to_swp_entry(pte).val, entry.val);
		}
	}
	KUNIT_EXPECT_EQ(test, generic_max_swapfile_size(), 1UL << 47);
}

/*
 * L1TF: a page table entry of a swapped-out page must not look like the
 * address of memory. For every offset that the limit allows, the topmost
 * physical address bit of the machine has to be set.
 */
static void ssw_test_l1tf(struct kunit *test)
{
	unsigned long half = l1tf_pfn_limit();
	unsigned long limit = min_t(unsigned long, 1UL << 47,
				    half << (PAGE_SHIFT - SWP_OFFSET_FIRST_BIT));
	unsigned long offsets[] = { 0, 1, limit / 2, limit - 1 };
	bool limited = boot_cpu_has_bug(X86_BUG_L1TF) &&
		       l1tf_mitigation != L1TF_MITIGATION_OFF;
	unsigned int type;
	int i;

	KUNIT_EXPECT_EQ(test, arch_max_swapfile_size(), limited ? limit : 1UL << 47);
	KUNIT_EXPECT_EQ(test, swapfile_maximum_size, arch_max_swapfile_size());
	for (type = 0; type < MAX_SWAPFILES; type++) {
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			pte_t pte = swp_entry_to_pte(swp_entry(type, offsets[i]));

			KUNIT_ASSERT_NE_MSG(test,
					    pte_val(pte) & (u64)half << PAGE_SHIFT,
					    0, "type %u offset %lu", type, offsets[i]);
		}
	}
}

/* Decoded as the documentation says. */
static void ssw_test_pagemap(struct kunit *test)
{
	const unsigned int nr_special = (1 << MAX_SWAPFILES_SHIFT) - MAX_SWAPFILES;
	const u64 offset = (1ULL << 47) - 1;
	DECLARE_BITMAP(seen, 256) = { 0 };
	unsigned int type;

	/* With all special types configured, in numbers. */
	if (MAX_SWAPFILES == 247) {
		KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(22, 1), 0x36);
		KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(23, 1), 1ULL << 52 | 0x20);
		KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(246, 1), 7ULL << 52 | 0x3f);
		KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(247, 1), 0x37);
		KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(255, 1), 0x3f);
	}

	for (type = 0; type < 1 << MAX_SWAPFILES_SHIFT; type++) {
		u64 frame = scaleswap_pagemap_frame(type, offset);
		unsigned int code = (frame & 31) | (frame >> 52 & 7) << 5;
		unsigned int want;

		KUNIT_EXPECT_EQ(test, frame >> 55, 0);
		KUNIT_EXPECT_EQ(test, frame >> 5 & offset, offset);
		KUNIT_EXPECT_FALSE(test, test_bit(code, seen));
		__set_bit(code, seen);
		if (type < 32 - nr_special)
			want = type;
		else if (type >= MAX_SWAPFILES)
			want = 32 - nr_special + type - MAX_SWAPFILES;
		else
			want = type + nr_special;
		KUNIT_EXPECT_EQ_MSG(test, code, want, "type %u", type);
		/* A code that fits in 5 bits is in the low bits alone. */
		if (want < 32)
			KUNIT_EXPECT_EQ(test, scaleswap_pagemap_frame(type, 3),
					want | 3ULL << 5);
	}
}

/*
 * While slots come and go, a reader may miss frees. Then it counts more slots in use
 * than the area has, but must not report more.
 */
static void ssw_test_used(struct kunit *test)
{
	static const struct {
		u64 freed;
		unsigned int used;
	} cases[] = {
		{ 1000, 0 }, { 999, 1 }, { 901, 99 }, { 900, 100 }, { 899, 100 }, { 0, 100 },
	};
	struct swap_info_struct *si = kunit_kzalloc(test, sizeof(*si), GFP_KERNEL);
	struct ssw_slots *slots = kunit_kzalloc(test, sizeof(*slots), GFP_KERNEL);
	struct ssw_area *area = kunit_kzalloc(test, sizeof(*area), GFP_KERNEL);
	int cpu = cpumask_last(cpu_possible_mask);

	KUNIT_ASSERT_NOT_NULL(test, si);
	KUNIT_ASSERT_NOT_NULL(test, slots);
	KUNIT_ASSERT_NOT_NULL(test, area);
	area->stat = alloc_percpu(struct ssw_area_stat);
	KUNIT_ASSERT_TRUE(test, area->stat);
	area->si = si;
	area->slots = slots;
	si->pages = 100;
	slots->allocated = 1000;
	for (int i = 0; i < ARRAY_SIZE(cases); i++) {
		per_cpu_ptr(area->stat, cpu)->freed = cases[i].freed;
		KUNIT_EXPECT_EQ_MSG(test, ssw_area_used(area), cases[i].used,
				    "%llu freed", cases[i].freed);
	}
	free_percpu(area->stat);
}

/* The sum with what CPUs keep back is at least 0 and at most the total. */
static void ssw_test_free_pages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, __scaleswap_free_pages(1000000, 1000), 1000);
	KUNIT_EXPECT_EQ(test, __scaleswap_free_pages(-1000000L, 1000), 0);
	KUNIT_EXPECT_EQ(test, __scaleswap_free_pages(1000000, 0), 0);
}

static int ssw_test_next_node(int cpu)
{
	return ssw_topology.cpu_node(cpu) + 1;
}

/* A CPU that comes online needs the area lists rebuilt only if its node is a new one. */
static void ssw_test_order_outdated(struct kunit *test)
{
	static const struct ssw_topology moved = { .cpu_node = ssw_test_next_node };
	int cpu;

	if (!ssw_arealists)
		kunit_skip(test, "booted without scaleswap=");
	mutex_lock(&ssw_mutex);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_FALSE(test, ssw_arealists_outdated(cpu, &ssw_topology));
		KUNIT_EXPECT_TRUE(test, ssw_arealists_outdated(cpu, &moved));
	}
	ssw_arealists_rebuild();
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_FALSE(test, ssw_arealists_outdated(cpu, &ssw_topology));
	mutex_unlock(&ssw_mutex);
}

/*
 * A swap-in writes nothing to the lruvec while zswap is unused: every CPU that works
 * on a folio of the memcg reads lines of it.
 */
static void ssw_test_zswap_unused(struct kunit *test)
{
#if defined(CONFIG_ZSWAP) && defined(CONFIG_SHMEM)
	struct lruvec *lruvec;
	struct folio *folio;
	struct file *file;
	long before;

	if (!zswap_never_enabled())
		kunit_skip(test, "zswap is enabled");
	/* A page of a file is charged, like a page that is swapped in. */
	file = shmem_kernel_file_setup("scaleswap-kunit", PAGE_SIZE, VM_NORESERVE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	folio = shmem_read_folio(file->f_mapping, 0);
	if (!IS_ERR(folio)) {
		lruvec = scaleswap_memcg_lruvec(folio_lruvec(folio));
		before = atomic_long_read(&lruvec->zswap_lruvec_state.nr_disk_swapins);
		zswap_folio_swapin(folio);
		KUNIT_EXPECT_EQ(test, before,
				atomic_long_read(&lruvec->zswap_lruvec_state.nr_disk_swapins));
		folio_put(folio);
	}
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, folio);
	fput(file);
#else
	kunit_skip(test, "no zswap, or no shmem");
#endif
}

static struct kunit_case ssw_test_cases[] = {
	KUNIT_CASE(ssw_test_order_distance),
	KUNIT_CASE(ssw_test_order_cyclic),
	KUNIT_CASE(ssw_test_order_priority),
	KUNIT_CASE(ssw_test_order_limits),
	KUNIT_CASE(ssw_test_order_no_node),
	KUNIT_CASE(ssw_test_order_outdated),
	KUNIT_CASE(ssw_test_pick_home),
	KUNIT_CASE(ssw_test_label_home),
	KUNIT_CASE(ssw_test_parse_bind),
	KUNIT_CASE(ssw_test_parse_boot),
	KUNIT_CASE(ssw_test_entry_roundtrip),
	KUNIT_CASE(ssw_test_l1tf),
	KUNIT_CASE(ssw_test_pagemap),
	KUNIT_CASE(ssw_test_used),
	KUNIT_CASE(ssw_test_free_pages),
	KUNIT_CASE(ssw_test_zswap_unused),
	{}
};

static struct kunit_suite ssw_test_suite = {
	.name = "scaleswap",
	.test_cases = ssw_test_cases,
};

kunit_test_suite(ssw_test_suite);
