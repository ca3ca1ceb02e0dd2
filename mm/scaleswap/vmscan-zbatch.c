// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: reclaim stores several folios in zswap together.
 *
 * mm/vmscan.c includes this file, which uses its static functions and struct scan_control.
 *
 * Where shrink_folio_list() would flush TLBs and write a folio of anonymous memory, it puts the
 * folio aside, unlocked. When there are enough, or no others are left, TLBs are flushed once for
 * all, and those that are still to be written are locked and stored in zswap. Their memory can be
 * freed then: they go through shrink_folio_list() again, in the same pass. What zswap does not take
 * is written to its area.
 *
 * Nobody else has the folios meanwhile: they are isolated. But others can lock one, and have it in
 * their page tables again.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

#include "internal.h"
#include "zbatch.h"

/* Reclaim leaves a folio as it is. */
static void ssw_lane_back(struct scaleswap_lane *lane, struct folio *folio)
{
	list_add(&folio->lru, lane->back);
}

/* Have a folio go through shrink_folio_list() again, which is to free it. It counts once. */
static void ssw_lane_again(struct scaleswap_lane *lane, struct folio *folio)
{
	lane->sc->nr_scanned--;
	list_add_tail(&folio->lru, lane->again);
}

/* A folio was stored, or is being written: the end of pageout() and what its caller does then. */
static void ssw_lane_written(struct scaleswap_lane *lane, struct folio *folio)
{
	if (!folio_test_writeback(folio))
		folio_clear_reclaim(folio);
	trace_mm_vmscan_write_folio(folio);
	node_stat_add_folio(folio, NR_VMSCAN_WRITE);
	lane->stat->nr_pageout++;
	if (folio_test_writeback(folio) || folio_test_dirty(folio))
		ssw_lane_back(lane, folio);
	else
		ssw_lane_again(lane, folio);
}

/*
 * Lock a folio and see whether it is still to be written, as pageout() does.
 * Return: true if so. Otherwise it was sent on, and is not locked.
 */
static bool ssw_lane_prepare(struct scaleswap_lane *lane, struct folio *folio)
{
	struct address_space *mapping;
	int ret;

	if (!folio_trylock(folio)) {
		ssw_lane_back(lane, folio);
		return false;
	}
	mapping = folio_mapping(folio);
	if (folio_mapped(folio) || !mapping || folio_test_writeback(folio) ||
	    !is_page_cache_freeable(folio)) {
		folio_unlock(folio);
		ssw_lane_back(lane, folio);
		return false;
	}
	if (!folio_clear_dirty_for_io(folio)) {
		folio_unlock(folio);
		ssw_lane_again(lane, folio);
		return false;
	}
	folio_set_reclaim(folio);
	ret = swap_prepare_write(folio);
	if (!ret)
		return true;
	folio_unlock(folio);
	if (ret < 0)
		handle_write_error(mapping, folio, ret);
	ssw_lane_written(lane, folio);
	return false;
}

/* Keep a folio in memory that zswap does not take and that is not to be written. */
static void ssw_lane_activate(struct scaleswap_lane *lane, struct folio *folio)
{
	folio_mark_dirty(folio);
	folio_clear_reclaim(folio);
	if (mem_cgroup_swap_full(folio) || folio_test_mlocked(folio))
		folio_free_swap(folio);
	if (!folio_test_mlocked(folio)) {
		folio_set_active(folio);
		lane->stat->nr_activate[0]++;
		count_memcg_folio_events(folio, PGACTIVATE, 1);
	}
	folio_unlock(folio);
	ssw_lane_back(lane, folio);
}

/* Write a folio that zswap does not take. */
static void ssw_lane_write(struct scaleswap_lane *lane, struct folio *folio)
{
	struct writeback_control wbc = {
		.sync_mode = WB_SYNC_NONE,
		.nr_to_write = SWAP_CLUSTER_MAX,
		.range_start = 0,
		.range_end = LLONG_MAX,
		.for_reclaim = 1,
		.swap_plug = lane->plug,
	};

	if (!mem_cgroup_zswap_writeback_enabled(folio_memcg(folio))) {
		ssw_lane_activate(lane, folio);
		return;
	}
	__swap_writepage(folio, &wbc);
	ssw_lane_written(lane, folio);
}

/* See scaleswap_lane_store(). */
static noinline void ssw_lane_store(struct scaleswap_lane *lane)
{
	struct folio *folio, *next;
	LIST_HEAD(stored);
	LIST_HEAD(folios);

	list_splice_init(&lane->folios, &folios);
	ssw_stat_add(SSW_ZBATCH_LANES, 1);
	ssw_stat_add(SSW_ZBATCH_LANE_PAGES, lane->nr);
	lane->nr = 0;
	/* A CPU may still write to them by an old entry. They are copied next. */
	try_to_unmap_flush_dirty();
	list_for_each_entry_safe(folio, next, &folios, lru) {
		list_del(&folio->lru);
		if (ssw_lane_prepare(lane, folio))
			list_add_tail(&folio->lru, &lane->folios);
	}
	scaleswap_zswap_store_some(&lane->folios, &stored);
	list_for_each_entry_safe(folio, next, &stored, lru) {
		list_del(&folio->lru);
		folio_unlock(folio);
		ssw_lane_written(lane, folio);
	}
	list_for_each_entry_safe(folio, next, &lane->folios, lru) {
		list_del(&folio->lru);
		ssw_lane_write(lane, folio);
	}
}

/* See scaleswap_lane_add(). */
static noinline bool ssw_lane_add(struct scaleswap_lane *lane, struct folio *folio)
{
	if (!zswap_is_enabled() || folio_test_large(folio) || !folio_test_anon(folio) ||
	    !folio_test_swapcache(folio))
		return false;
	folio_unlock(folio);
	list_add_tail(&folio->lru, &lane->folios);
	if (++lane->nr >= READ_ONCE(ssw_zbatch_store))
		ssw_lane_store(lane);
	return true;
}

/*
 * Put a folio aside that is locked, not mapped, dirty and could be written now. Return false if it
 * is not for zswap. Else the caller has it no more.
 */
static inline bool scaleswap_lane_add(struct scaleswap_lane *lane, struct folio *folio)
{
	return scaleswap_zbatch_on() && ssw_lane_add(lane, folio);
}

/* Nothing else is left to reclaim: store what was put aside. Return true if there is again. */
static inline bool scaleswap_lane_store(struct scaleswap_lane *lane)
{
	if (!scaleswap_zbatch_on() || !lane->nr)
		return false;
	ssw_lane_store(lane);
	return !list_empty(lane->again);
}

#else /* CONFIG_SCALESWAP_ZBATCH */

static inline bool scaleswap_lane_add(struct scaleswap_lane *lane, struct folio *folio)
{
	return false;
}

static inline bool scaleswap_lane_store(struct scaleswap_lane *lane)
{
	return false;
}

#endif /* CONFIG_SCALESWAP_ZBATCH */
