// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: in which order a CPU tries the areas, and the allocation itself.
 *
 * Every CPU has its own list, rebuilt when an area comes, goes or changes its
 * home, so an allocation shares nothing with other CPUs: it reads its list and
 * takes the lock of the first area that has room, which is nearly always its
 * own. How full an area is can be read without its lock; that is a hint, and
 * the area decides.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/*
 * A CPU without room of its own stays with a foreign area for that many pages,
 * a cluster, so it writes sequentially and searches seldom; then it looks again
 * whether something nearer has room.
 */
#define SSW_SPILL_PAGES		512

/* Own areas of equal priority take turns; log2 of the allocations of a turn. */
#define SSW_TURN_SHIFT		6

/*
 * How often to look again because the order changed while nothing was found.
 * Somebody may be changing it all the time.
 */
#define SSW_ORDER_TRIES		3

enum ssw_try {
	SSW_TRY_OK,
	SSW_TRY_FULL,
	SSW_TRY_NO_BLOCK,
};

static struct ssw_order __percpu *ssw_orders;

/* Scratch of ssw_order_rebuild(), too large for the stack; under ssw_mutex. */
static struct ssw_candidate ssw_candidates[MAX_SWAPFILES];
static struct ssw_list ssw_scratch;

struct ssw_key {
	u64 key;
	u8 type;
	bool own;
	bool near;
	s16 prio;
};

static struct ssw_key ssw_keys[MAX_SWAPFILES];

static int ssw_key_cmp(const void *a, const void *b)
{
	const struct ssw_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (int)x->type - (int)y->type;
}

/*
 * Own areas by priority; then the areas of the own node, beginning with the
 * next higher CPU number so that neighbours do not all spill to the same one;
 * then the other nodes by distance.
 */
static u64 ssw_key(int cpu, const struct ssw_candidate *cand, bool *near,
		   const struct ssw_topology *topo)
{
	unsigned int distance, cyclic;
	int from, to;

	*near = true;
	if (cand->home == cpu)
		return S16_MAX - cand->prio;

	from = topo->cpu_node(cpu);
	to = topo->cpu_node(cand->home);
	*near = from == to;
	if (*near)
		distance = 1;
	else if (from == NUMA_NO_NODE || to == NUMA_NO_NODE)
		distance = U16_MAX;
	else
		distance = clamp(topo->distance(from, to), 2, U16_MAX - 1);
	cyclic = cand->home > cpu ? cand->home - cpu : cand->home - cpu + S16_MAX;

	return (u64)distance << 48 | (u64)cyclic << 32 | (S16_MAX - cand->prio);
}

/**
 * ssw_list_build - make the search order of one CPU
 * @list: where it goes
 * @cpu: the CPU
 * @cand: the per-core areas, in any order
 * @nr: how many, MAX_SWAPFILES at most
 * @topo: the machine
 *
 * Context: ssw_mutex held, for the scratch space.
 */
void ssw_list_build(struct ssw_list *list, int cpu,
		    const struct ssw_candidate *cand, unsigned int nr,
		    const struct ssw_topology *topo)
{
	unsigned int i, j;

	lockdep_assert_held(&ssw_mutex);

	for (i = 0; i < nr; i++) {
		ssw_keys[i].key = ssw_key(cpu, &cand[i], &ssw_keys[i].near, topo);
		ssw_keys[i].type = cand[i].type;
		ssw_keys[i].own = cand[i].home == cpu;
		ssw_keys[i].prio = cand[i].prio;
	}
	sort(ssw_keys, nr, sizeof(ssw_keys[0]), ssw_key_cmp, NULL);

	memset(list, 0, sizeof(*list));
	list->nr = nr;
	for (i = 0; i < nr; i++) {
		list->type[i] = ssw_keys[i].type;
		list->nr_own += ssw_keys[i].own;
		list->nr_node += ssw_keys[i].near;
	}
	for (i = 0; i < list->nr_own; i = j) {
		for (j = i + 1; j < list->nr_own; j++) {
			if (ssw_keys[j].prio != ssw_keys[i].prio)
				break;
		}
		memset(list->group_end + i, j, j - i);
	}
}

/**
 * ssw_order_rebuild - bring all search orders up to date
 *
 * Cannot fail, so that neither swapoff nor CPU hotplug can.
 *
 * Context: process context, ssw_mutex held.
 */
void ssw_order_rebuild(void)
{
	unsigned int nr = 0;
	int type, cpu;

	lockdep_assert_held(&ssw_mutex);

	for (type = 0; type < MAX_SWAPFILES; type++) {
		struct ssw_area *area = ssw_areas[type];

		if (!area || !area->enabled || scaleswap_home[type] < 0)
			continue;
		ssw_candidates[nr].type = type;
		ssw_candidates[nr].home = scaleswap_home[type];
		ssw_candidates[nr].prio = READ_ONCE(area->si->prio);
		nr++;
	}

	for_each_possible_cpu(cpu) {
		struct ssw_order *order = per_cpu_ptr(ssw_orders, cpu);

		ssw_list_build(&ssw_scratch, cpu, ssw_candidates, nr,
			       &ssw_topology);
		/* A reader on this CPU must not find the writer preempted. */
		preempt_disable();
		write_seqcount_begin(&order->seq);
		order->list = ssw_scratch;
		write_seqcount_end(&order->seq);
		preempt_enable();
		WRITE_ONCE(order->spill_left, 0);
		cond_resched();
	}
}

/**
 * ssw_order_init - allocate the search orders
 *
 * Context: boot.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_order_init(void)
{
	int cpu;

	ssw_orders = alloc_percpu(struct ssw_order);
	if (!ssw_orders)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		seqcount_init(&per_cpu_ptr(ssw_orders, cpu)->seq);
	return 0;
}

static bool ssw_has_room(const struct swap_info_struct *si)
{
	return (data_race(si->flags) & SWP_WRITEOK) &&
	       READ_ONCE(si->inuse_pages) < READ_ONCE(si->pages);
}

static void ssw_area_count(unsigned int type, bool home, unsigned int pages)
{
	struct ssw_area_stat __percpu *stat = READ_ONCE(ssw_areas[type])->stat;

	if (home)
		this_cpu_add(stat->home, pages);
	else
		this_cpu_add(stat->foreign, pages);
}

/*
 * Take one block of slots from an area. The checks before the lock are what
 * makes a walk over many full areas cheap. An area that is being turned off,
 * or whose number has been given to a plain one since the list was read, is
 * as good as full.
 *
 * The reference keeps a swapoff that has begun meanwhile from ending, and so
 * the next swapon from setting up si->lock anew under us.
 */
static enum ssw_try ssw_try_area(unsigned int type, int cpu, int order,
				 swp_entry_t *entry)
{
	enum ssw_try result = SSW_TRY_FULL;
	struct swap_info_struct *si;
	int home;

	if (type >= MAX_SWAPFILES)
		return SSW_TRY_FULL;
	si = swp_swap_info(swp_entry(type, 0));
	if (!si || !ssw_has_room(si) || !percpu_ref_tryget_live(&si->users))
		return SSW_TRY_FULL;

	home = READ_ONCE(scaleswap_home[type]);
	if (home < 0)
		goto out;
	/* The base kernel allocates blocks from block devices with clusters. */
	if (order && (!(data_race(si->flags) & SWP_BLKDEV) || !si->cluster_info)) {
		result = SSW_TRY_NO_BLOCK;
	} else if (swap_area_alloc(si, entry, order)) {
		ssw_area_count(type, home == cpu, 1U << order);
		result = SSW_TRY_OK;
	} else if (order && ssw_has_room(si)) {
		result = SSW_TRY_NO_BLOCK;
	}
out:
	percpu_ref_put(&si->users);
	return result;
}

/*
 * Own areas: from the highest priority on, and among equal ones in turns, as
 * the base kernel does with equal priorities.
 */
static enum ssw_try ssw_alloc_own(struct ssw_order *o, int cpu, int order,
				  swp_entry_t *entry)
{
	const struct ssw_list *list = &o->list;
	unsigned int nr_own = READ_ONCE(list->nr_own);
	enum ssw_try result = SSW_TRY_FULL;
	unsigned int begin, end, turn;
	u32 n = READ_ONCE(o->turn);

	WRITE_ONCE(o->turn, n + 1);
	for (begin = 0; begin < nr_own; begin = end) {
		/* May be torn by a rebuild; never outside the array, or stuck. */
		end = clamp(READ_ONCE(list->group_end[begin]), begin + 1, nr_own);
		turn = end - begin > 1 ? (n >> SSW_TURN_SHIFT) % (end - begin) : 0;
		for (unsigned int i = 0; i < end - begin; i++) {
			unsigned int at = begin + (turn + i) % (end - begin);

			switch (ssw_try_area(READ_ONCE(list->type[at]), cpu,
					     order, entry)) {
			case SSW_TRY_OK:
				ssw_stat_add(SSW_ALLOC_OWN, 1U << order);
				return SSW_TRY_OK;
			case SSW_TRY_NO_BLOCK:
				result = SSW_TRY_NO_BLOCK;
				break;
			case SSW_TRY_FULL:
				break;
			}
		}
	}
	return result;
}

static enum ssw_try ssw_alloc_foreign(struct ssw_order *o, int cpu, int order,
				      swp_entry_t *entry)
{
	const struct ssw_list *list = &o->list;
	unsigned int first = READ_ONCE(list->nr_own);
	unsigned int nr = READ_ONCE(list->nr);
	unsigned int left = READ_ONCE(o->spill_left);
	unsigned int at = READ_ONCE(o->spill_index);
	enum ssw_try result = SSW_TRY_FULL;
	unsigned int tried = U16_MAX;
	unsigned int pages = 1U << order;
	enum ssw_try one;

	if (left && at >= first && at < nr) {
		one = ssw_try_area(READ_ONCE(list->type[at]), cpu, order, entry);
		if (one == SSW_TRY_OK) {
			WRITE_ONCE(o->spill_left, left - min(left, pages));
			goto found;
		}
		if (one == SSW_TRY_NO_BLOCK)
			result = SSW_TRY_NO_BLOCK;
		else
			WRITE_ONCE(o->spill_left, 0);
		tried = at;
	}
	for (at = first; at < nr; at++) {
		if (at == tried)
			continue;
		one = ssw_try_area(READ_ONCE(list->type[at]), cpu, order, entry);
		if (one == SSW_TRY_OK) {
			WRITE_ONCE(o->spill_index, at);
			WRITE_ONCE(o->spill_left, SSW_SPILL_PAGES - pages);
			goto found;
		}
		if (one == SSW_TRY_NO_BLOCK)
			result = SSW_TRY_NO_BLOCK;
	}
	return result;
found:
	ssw_stat_add(at < READ_ONCE(list->nr_node) ? SSW_ALLOC_NODE : SSW_ALLOC_REMOTE,
		     pages);
	ssw_fallback(cpu, first ? SSW_FB_OWN_FULL : SSW_FB_NO_AREA, order);
	return SSW_TRY_OK;
}

/*
 * See scaleswap_alloc_swap(). The CPU is read once. The task may move to
 * another one meanwhile, and then writes a page to the area of the CPU that it
 * came from, which is no worse than having been a moment faster.
 *
 * A large folio goes to another CPU's area only if the own ones are full. If
 * they are merely fragmented, splitting it and keeping to the own area is
 * better than scattering.
 */
bool __scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry)
{
	int order = folio_order(folio);
	int cpu = raw_smp_processor_id();
	struct ssw_order *o;
	enum ssw_try result;
	unsigned int seq;
	bool changed;
	int tries = 0;

	if (!READ_ONCE(ssw_nr_bound))
		return false;
	if (order && !IS_ENABLED(CONFIG_THP_SWAP)) {
		ssw_fallback(cpu, SSW_FB_NO_BLOCK, order);
		return true;
	}

	o = per_cpu_ptr(ssw_orders, cpu);
	do {
		seq = read_seqcount_begin(&o->seq);
		result = ssw_alloc_own(o, cpu, order, entry);
		if (result == SSW_TRY_FULL)
			result = ssw_alloc_foreign(o, cpu, order, entry);
		/* Always, so that a section that found something ends, too. */
		changed = read_seqcount_retry(&o->seq, seq);
	} while (result == SSW_TRY_FULL && changed && ++tries < SSW_ORDER_TRIES);

	if (result == SSW_TRY_OK)
		return true;
	if (result == SSW_TRY_NO_BLOCK) {
		ssw_fallback(cpu, SSW_FB_NO_BLOCK, order);
		return true;
	}
	ssw_fallback(cpu, SSW_FB_ALL_FULL, order);
	/* Without plain areas do not even look at the lock that they share. */
	if (READ_ONCE(ssw_nr_plain))
		return false;
	ssw_stat_add(SSW_ALLOC_FAIL, 1U << order);
	return true;
}

/* See scaleswap_alloc_plain(). */
void __scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry)
{
	unsigned int pages = folio_nr_pages(folio);

	if (!entry.val) {
		ssw_stat_add(SSW_ALLOC_FAIL, pages);
		return;
	}
	ssw_stat_add(SSW_ALLOC_PLAIN, pages);
	ssw_area_count(swp_type(entry), true, pages);
}

#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
/* See scaleswap_throttle(). */
bool __scaleswap_throttle(void)
{
	struct ssw_order *o = per_cpu_ptr(ssw_orders, raw_smp_processor_id());
	const struct ssw_list *list = &o->list;
	unsigned int nr = READ_ONCE(list->nr);
	bool found = false;

	for (unsigned int at = 0; at < nr && !found; at++) {
		unsigned int type = READ_ONCE(list->type[at]);
		struct swap_info_struct *si;

		if (type >= MAX_SWAPFILES)
			break;
		si = swp_swap_info(swp_entry(type, 0));
		if (!si || !ssw_has_room(si) ||
		    !percpu_ref_tryget_live(&si->users))
			continue;
		if (READ_ONCE(scaleswap_home[type]) >= 0 && si->bdev) {
			blkcg_schedule_throttle(si->bdev->bd_disk, true);
			found = true;
		}
		percpu_ref_put(&si->users);
	}
	return found;
}
#endif
