// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: allocation of swap space, over all areas.
 *
 * A CPU tries its own areas and then the others in its area list. It takes slots
 * from its own areas itself, unless another CPU holds the token. For other areas it
 * delegates (deleg.c). Whether an area is full can be read without its token. This
 * is a hint, and the area decides.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

#include <trace/events/scaleswap.h>

/*
 * A CPU without room in its own areas stays with a remote area for this many pages,
 * a cluster. So it writes sequentially and searches seldom. Then it looks again
 * for room in a nearer area.
 */
#define SSW_SPILL_PAGES		512

/* Own areas of equal priority are used round-robin; log2 of the allocations of a turn. */
#define SSW_TURN_SHIFT		6

/*
 * How often to look if the area list changes while nothing is found. It may change
 * all the time.
 */
#define SSW_AREALIST_TRIES		3

/*
 * A slot with nothing but its swap cache can be freed by dropping the cache. How
 * many slots to scan for such ones, how many to free, and in how many areas if all
 * are full.
 */
#define SSW_RECLAIM_SCAN	(2 * SSW_CLUSTER_SLOTS)
#define SSW_RECLAIM_PAGES	SWAP_CLUSTER_MAX
#define SSW_RECLAIM_AREAS	4

static void ssw_area_count(struct ssw_area *area, bool home, unsigned int pages)
{
	if (home)
		this_cpu_add(area->stat->home, pages);
	else
		this_cpu_add(area->stat->foreign, pages);
}

/* Drain the queues of a CPU's own areas while it waits for another CPU's area. */
static void ssw_meanwhile(void *arg)
{
	const struct ssw_arealist *list = &((struct ssw_arealist_cpu *)arg)->list;
	unsigned int nr_own = READ_ONCE(list->nr_own);

	for (unsigned int at = 0; at < nr_own; at++) {
		struct ssw_area *area;

		area = rcu_dereference(ssw_areas[READ_ONCE(list->type[at])]);
		if (!area || !area->slots || llist_empty(&area->slots->queue) ||
		    !ssw_token_trylock(area->slots))
			continue;
		ssw_drain(area->slots, NULL, SSW_BY_HOLDER);
		ssw_token_release(area->slots);
	}
}

/* Allocate through the queue of the area. */
static void ssw_area_delegate(struct ssw_area *area, int cpu, struct ssw_request *req)
{
	u64 start = 0;
	bool waited;

	if (trace_scaleswap_delegate_enabled())
		start = local_clock();
	waited = ssw_request_delegate(area->slots, req, ssw_meanwhile,
				      per_cpu_ptr(ssw_arealists, cpu));
	/* A request that is retried with a table is counted then. */
	if (req->result == SSW_NO_TABLE)
		return;
	ssw_deleg_add((enum ssw_deleg_item)req->by);
	if (waited)
		ssw_deleg_add(SSW_DELEG_WAITS);
	trace_scaleswap_delegate(area->si->type, cpu, req->order, req->by,
				 start ? local_clock() - start : 0);
}

/*
 * ssw_area_alloc - allocate slots from one area
 * @area: a per-core area; RCU read side
 * @cpu: the CPU that allocates
 * @home: whether it is the home CPU, which works on the area itself if it can
 * @order: how many, as a power of two
 * @lane: as in struct ssw_request
 * @word: what their words become
 * @more: flags for the allocation of a table, beside those of ssw_table_alloc()
 * @slot: the first one
 *
 * Context: any but interrupts; does not sleep. No token held.
 * Return: SSW_OK; SSW_FULL or SSW_NO_BLOCK if there were none.
 */
static __always_inline
enum ssw_result ssw_area_alloc(struct ssw_area *area, int cpu, bool home,
			       unsigned int order, unsigned int lane, u64 word,
			       gfp_t more, unsigned int *slot)
{
	struct ssw_slots *slots = area->slots;
	struct ssw_request req;

	/* The owner that serves the request sets the rest. */
	req.word = word;
	req.order = order;
	req.lane = lane;
	req.table = NULL;
	req.no_table = false;

	for (;;) {
		if (home && likely(ssw_token_trylock(slots))) {
			if (unlikely(!llist_empty(&slots->queue) || slots->backlog))
				ssw_drain(slots, NULL, SSW_BY_HOLDER);
			ssw_cluster_alloc(slots, &req);
			ssw_token_release(slots);
		} else {
			ssw_area_delegate(area, cpu, &req);
		}
		if (likely(req.result != SSW_NO_TABLE))
			break;
		/* The table is allocated without the token, and goes with the request. */
		req.table = ssw_table_alloc(more);
		if (!req.table) {
			req.no_table = true;
			ssw_fallback(cpu, SSW_FB_NO_TABLE, order);
		}
	}
	if (unlikely(req.table))
		ssw_table_free(req.table);
	if (likely(req.result == SSW_OK)) {
		*slot = req.slot;
		ssw_nr_swap_add(-(1L << order));
		ssw_area_count(area, home, 1U << order);
	}
	return req.result;
}

/**
 * ssw_area_reclaim - free slots that only the swap cache refers to
 * @area: a per-core area; its si->users is held
 *
 * Context: process context, may sleep. Does not wait for a folio lock.
 * Return: true if it freed any.
 */
bool ssw_area_reclaim(struct ssw_area *area)
{
	struct ssw_slots *slots = area->slots;
	unsigned int slot = READ_ONCE(area->reclaim);
	unsigned int scanned = 0;
	unsigned int freed = 0;

	while (scanned < min(SSW_RECLAIM_SCAN, slots->nr_slots) &&
	       freed < SSW_RECLAIM_PAGES) {
		unsigned int next;
		u64 word;

		if (slot >= slots->nr_slots)
			slot = 0;
		rcu_read_lock();
		next = ssw_slot_next(slots, slot);
		word = ssw_slot_read(slots, next);
		rcu_read_unlock();
		scanned += next + 1 - slot;
		slot = next + 1;
		if (word == SSW_WORD_CACHE) {
			int nr = swap_area_reclaim(area->si, next);

			if (nr > 0)
				freed += nr;
		}
	}
	WRITE_ONCE(area->reclaim, slot);
	return freed;
}

/*
 * Take one block of slots from an area. An area in swapoff counts as full, as does
 * one whose type a plain area has got since the list was read. To learn that it is
 * full is not worth a queue entry, so check that first.
 */
static __always_inline
enum ssw_result ssw_try_area(unsigned int type, int cpu, bool home, int order,
			     unsigned int lane, swp_entry_t *entry)
{
	const unsigned int flags = SWP_BLKDEV | SWP_SOLIDSTATE;
	enum ssw_result result = SSW_FULL;
	struct ssw_slots *slots;
	unsigned int slot;

	rcu_read_lock();
	slots = rcu_dereference(ssw_area_slots[type]);
	if (unlikely(!slots || READ_ONCE(slots->full) || READ_ONCE(slots->closed)))
		goto out;
	/* A large folio needs contiguous space on the device. */
	if (order && (data_race(slots->area->si->flags) & flags) != flags) {
		result = SSW_NO_BLOCK;
		goto out;
	}
	result = ssw_area_alloc(slots->area, cpu, home, order, lane, SSW_WORD_CACHE,
				__GFP_HIGH, &slot);
	if (likely(result == SSW_OK))
		*entry = swp_entry(type, slot);
out:
	rcu_read_unlock();
	return result;
}

static noinline
enum ssw_result ssw_try_foreign(unsigned int type, int cpu, int order,
				swp_entry_t *entry)
{
	bool home = READ_ONCE(scaleswap_home[type]) == cpu;

	return ssw_try_area(type, cpu, home, order, home ? 0 : 1 + cpu % SSW_NR_LANES,
			    entry);
}

/* Make room in an area that was full, and allocate from it. */
static enum ssw_result ssw_try_reclaim(unsigned int type, int cpu, int order,
				       swp_entry_t *entry)
{
	enum ssw_result result = SSW_FULL;
	struct swap_info_struct *si;
	struct ssw_area *area;

	if (type >= MAX_SWAPFILES)
		return SSW_FULL;
	si = swp_swap_info(swp_entry(type, 0));
	if (!si || !percpu_ref_tryget_live(&si->users))
		return SSW_FULL;
	area = ssw_area_held(type);
	if (area && area->slots && ssw_area_reclaim(area))
		result = ssw_try_foreign(type, cpu, order, entry);
	percpu_ref_put(&si->users);
	return result;
}

/*
 * Allocate from own areas: the highest priority first, and round-robin among equal
 * priorities, as the base kernel does.
 */
static enum ssw_result ssw_alloc_own(struct ssw_arealist_cpu *o, int cpu, int order,
				     unsigned int lane, swp_entry_t *entry)
{
	const struct ssw_arealist *list = &o->list;
	unsigned int nr_own = READ_ONCE(list->nr_own);
	enum ssw_result result = SSW_FULL;
	unsigned int begin, end, turn;
	u32 n = READ_ONCE(o->turn);

	if (nr_own > 1)
		WRITE_ONCE(o->turn, n + 1);
	for (begin = 0; begin < nr_own; begin = end) {
		/* A rebuild may tear the list: stay inside the array, and make progress. */
		end = clamp(READ_ONCE(list->group_end[begin]), begin + 1, nr_own);
		turn = end - begin > 1 ? (n >> SSW_TURN_SHIFT) % (end - begin) : 0;
		for (unsigned int i = 0; i < end - begin; i++) {
			unsigned int at = begin + turn + i;
			enum ssw_result one;

			if (at >= end)
				at -= end - begin;
			one = ssw_try_area(READ_ONCE(list->type[at]), cpu, true,
					   order, lane, entry);
			if (likely(one == SSW_OK)) {
				ssw_stat_add(SSW_ALLOC_OWN, 1U << order);
				return SSW_OK;
			}
			if (one == SSW_NO_BLOCK)
				result = SSW_NO_BLOCK;
		}
	}
	return result;
}

static void ssw_count_foreign(const struct ssw_arealist *list, unsigned int at, int cpu,
			      int order)
{
	ssw_stat_add(at < READ_ONCE(list->nr_own) ? SSW_ALLOC_OWN :
		     at < READ_ONCE(list->nr_node) ? SSW_ALLOC_NODE :
		     SSW_ALLOC_REMOTE, 1U << order);
	if (at >= READ_ONCE(list->nr_own))
		ssw_fallback(cpu, READ_ONCE(list->nr_own) ? SSW_FB_OWN_FULL :
			     SSW_FB_NO_AREA, order);
}

static enum ssw_result ssw_alloc_foreign(struct ssw_arealist_cpu *o, int cpu, int order,
					 swp_entry_t *entry)
{
	const struct ssw_arealist *list = &o->list;
	unsigned int first = READ_ONCE(list->nr_own);
	unsigned int nr = READ_ONCE(list->nr);
	unsigned int left = READ_ONCE(o->spill_left);
	unsigned int at = READ_ONCE(o->spill_index);
	enum ssw_result result = SSW_FULL;
	unsigned int tried = U16_MAX;
	unsigned int pages = 1U << order;
	enum ssw_result one;

	if (left && at >= first && at < nr) {
		one = ssw_try_foreign(READ_ONCE(list->type[at]), cpu, order, entry);
		if (one == SSW_OK) {
			WRITE_ONCE(o->spill_left, left - min(left, pages));
			goto found;
		}
		if (one == SSW_NO_BLOCK)
			result = SSW_NO_BLOCK;
		else
			WRITE_ONCE(o->spill_left, 0);
		tried = at;
	} else if (left) {
		/* The area list has changed; see __scaleswap_alloc_swap(). */
		WRITE_ONCE(o->spill_left, 0);
	}
	for (at = first; at < nr; at++) {
		if (at == tried)
			continue;
		one = ssw_try_foreign(READ_ONCE(list->type[at]), cpu, order, entry);
		if (one == SSW_OK) {
			WRITE_ONCE(o->spill_index, at);
			WRITE_ONCE(o->spill_left, SSW_SPILL_PAGES - pages);
			goto found;
		}
		if (one == SSW_NO_BLOCK)
			result = SSW_NO_BLOCK;
	}
	return result;
found:
	ssw_count_foreign(list, at, cpu, order);
	return SSW_OK;
}

/* Make room in a few full areas, round-robin: in own ones, or in the others. */
static enum ssw_result ssw_alloc_reclaim(struct ssw_arealist_cpu *o, int cpu, int order,
					 swp_entry_t *entry, bool own)
{
	const struct ssw_arealist *list = &o->list;
	unsigned int first = own ? 0 : READ_ONCE(list->nr_own);
	unsigned int nr = own ? READ_ONCE(list->nr_own) : READ_ONCE(list->nr);
	unsigned int turn = READ_ONCE(o->reclaim_turn);

	if (order || !vm_swap_full() || nr <= first)
		return SSW_FULL;
	WRITE_ONCE(o->reclaim_turn, turn + SSW_RECLAIM_AREAS);
	for (unsigned int i = 0; i < min(nr - first, SSW_RECLAIM_AREAS); i++) {
		unsigned int at = first + (turn + i) % (nr - first);

		if (ssw_try_reclaim(READ_ONCE(list->type[at]), cpu, order,
				    entry) == SSW_OK) {
			ssw_count_foreign(list, at, cpu, order);
			return SSW_OK;
		}
	}
	return SSW_FULL;
}

/*
 * See scaleswap_alloc_swap(). The CPU is read once. If the task migrates, it uses
 * the old CPU's area once, which is harmless. An evictor allocates in the place of the CPU whose
 * page it is, also where it takes a token.
 *
 * A large folio goes to another CPU's area only if the own ones are full. If
 * they are merely fragmented, splitting it and staying in the own area is better
 * than scattering.
 */
bool __scaleswap_alloc_swap(struct folio *folio, swp_entry_t *entry)
{
	int order = folio_order(folio);
	int cpu = scaleswap_evicts() ? ssw_lru_swapper(folio) : raw_smp_processor_id();
	unsigned int lane = ssw_lru_lane(folio, cpu);
	enum ssw_result result;
	struct ssw_arealist_cpu *o;
	unsigned int seq;
	bool own_reclaimed;
	bool changed;
	int tries = 0;

	if (!READ_ONCE(ssw_nr_bound))
		return false;
	if (order && !IS_ENABLED(CONFIG_THP_SWAP)) {
		ssw_fallback(cpu, SSW_FB_NO_BLOCK, order);
		return true;
	}

	o = per_cpu_ptr(ssw_arealists, cpu);
	do {
		seq = read_seqcount_begin(&o->seq);
		result = ssw_alloc_own(o, cpu, order, lane, entry);
		/* Not for each page that spills to a remote area because they are full. */
		own_reclaimed = !READ_ONCE(o->spill_left);
		if (result == SSW_FULL && own_reclaimed)
			result = ssw_alloc_reclaim(o, cpu, order, entry, true);
		if (result == SSW_FULL)
			result = ssw_alloc_foreign(o, cpu, order, entry);
		/* Always, so that the section ends if something was found, too. */
		changed = read_seqcount_retry(&o->seq, seq);
	} while (result == SSW_FULL && changed && ++tries < SSW_AREALIST_TRIES);

	if (result == SSW_FULL && !own_reclaimed)
		result = ssw_alloc_reclaim(o, cpu, order, entry, true);
	if (result == SSW_FULL)
		result = ssw_alloc_reclaim(o, cpu, order, entry, false);
	if (result == SSW_OK)
		return true;
	if (result == SSW_NO_BLOCK) {
		ssw_fallback(cpu, SSW_FB_NO_BLOCK, order);
		return true;
	}
	ssw_fallback(cpu, SSW_FB_ALL_FULL, order);
	/* Readers of nr_swap_pages should now see how much is left. */
	ssw_nr_swap_flush();
	/* Without plain areas, do not even touch the lock that they share. */
	if (READ_ONCE(ssw_nr_plain))
		return false;
	ssw_stat_add(SSW_ALLOC_FAIL, 1U << order);
	return true;
}

/* See scaleswap_alloc_plain(). */
void __scaleswap_alloc_plain(struct folio *folio, swp_entry_t entry)
{
	unsigned int pages = folio_nr_pages(folio);

	ssw_nr_swap_check();
	if (!entry.val) {
		ssw_stat_add(SSW_ALLOC_FAIL, pages);
		return;
	}
	ssw_stat_add(SSW_ALLOC_PLAIN, pages);
	ssw_area_count(ssw_area_held(swp_type(entry)), true, pages);
}

/**
 * scaleswap_alloc_type - allocate a slot of a given area, for hibernation
 * @type: type of a per-core area
 *
 * The slot has one reference and is not in the swap cache.
 *
 * Context: process context.
 * Return: the entry, .val is 0 if there was none.
 */
swp_entry_t scaleswap_alloc_type(unsigned int type)
{
	int cpu = raw_smp_processor_id();
	swp_entry_t entry = {};
	struct ssw_slots *slots;
	unsigned int slot;

	rcu_read_lock();
	slots = rcu_dereference(ssw_area_slots[type]);
	if (slots && ssw_area_alloc(slots->area, cpu, false, 0, 0, SSW_WORD_ONE,
				    __GFP_HIGH, &slot) == SSW_OK)
		entry = swp_entry(type, slot);
	rcu_read_unlock();
	return entry;
}

#ifdef CONFIG_SCALESWAP_DEFRAG
static bool ssw_try_elsewhere(struct ssw_area *area, int cpu, unsigned int *slot)
{
	struct ssw_slots *slots = area->slots;

	if (!slots || area->fs_ops || READ_ONCE(slots->full) || READ_ONCE(slots->closed))
		return false;
	return ssw_area_alloc(area, cpu, false, 0, 1 + cpu % SSW_NR_LANES, SSW_WORD_FREEING, 0,
			      slot) == SSW_OK;
}

/**
 * ssw_alloc_elsewhere - allocate a slot to which one of another area is moved
 * @from: that area
 * @not: an area not to take it from, or NULL
 * @to: the area to take it from; if NULL, it is set to one, with its si->users held. Areas are
 *	tried in the order of the home CPU of @from
 * @slot: set to the slot, which is in SSW_KIND_FREEING and the caller's
 *
 * Context: process context; does not sleep.
 * Return: true if there is one.
 */
bool ssw_alloc_elsewhere(const struct ssw_area *from, const struct ssw_area *not,
			 struct ssw_area **to, unsigned int *slot)
{
	int cpu = max_t(int, READ_ONCE(scaleswap_home[from->si->type]), 0);
	const struct ssw_arealist *list = &per_cpu_ptr(ssw_arealists, cpu)->list;
	bool found = false;

	rcu_read_lock();
	if (*to)
		found = ssw_try_elsewhere(*to, cpu, slot);
	for (unsigned int at = 0; !*to && at < READ_ONCE(list->nr); at++) {
		unsigned int type = READ_ONCE(list->type[at]);
		struct swap_info_struct *si;
		struct ssw_area *area;

		if (type >= MAX_SWAPFILES || type == from->si->type)
			continue;
		si = swp_swap_info(swp_entry(type, 0));
		if (!si || !percpu_ref_tryget_live(&si->users))
			continue;
		area = rcu_dereference(ssw_areas[type]);
		found = area && area != not && ssw_try_elsewhere(area, cpu, slot);
		if (found)
			*to = area;
		else
			percpu_ref_put(&si->users);
	}
	rcu_read_unlock();
	return found;
}
#endif

#if defined(CONFIG_MEMCG) && defined(CONFIG_BLK_CGROUP)
/* See scaleswap_throttle(). */
bool __scaleswap_throttle(void)
{
	struct ssw_arealist_cpu *o = per_cpu_ptr(ssw_arealists, raw_smp_processor_id());
	const struct ssw_arealist *list = &o->list;
	unsigned int nr = READ_ONCE(list->nr);
	bool found = false;

	for (unsigned int at = 0; at < nr && !found; at++) {
		unsigned int type = READ_ONCE(list->type[at]);
		struct swap_info_struct *si;
		struct ssw_area *area;

		if (type >= MAX_SWAPFILES)
			break;
		si = swp_swap_info(swp_entry(type, 0));
		if (!si || !percpu_ref_tryget_live(&si->users))
			continue;
		area = ssw_area_held(type);
		if (area && area->slots && !READ_ONCE(area->slots->full) && si->bdev) {
			blkcg_schedule_throttle(si->bdev->bd_disk, true);
			found = true;
		}
		percpu_ref_put(&si->users);
	}
	return found;
}
#endif
