// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the steps of an evictor's pipeline.
 *
 * mm/vmscan.c includes this file, which uses its static functions and struct scan_control. See
 * evict.c for what the pipeline is.
 */

#ifdef CONFIG_SCALESWAP_EVICTOR

#include <linux/blkdev.h>
#include <linux/freezer.h>

#include "evict.h"
#include "internal.h"

static unsigned int shrink_folio_list(struct list_head *folio_list, struct pglist_data *pgdat,
				      struct scan_control *sc, struct reclaim_stat *stat,
				      bool ignore_references);
static unsigned int move_folios_to_lru(struct lruvec *lruvec, struct list_head *list);
static unsigned long do_try_to_free_pages(struct zonelist *zonelist, struct scan_control *sc);
static void shrink_node(pg_data_t *pgdat, struct scan_control *sc);
static void snapshot_refaults(struct mem_cgroup *target_memcg, pg_data_t *pgdat);
#ifdef CONFIG_LRU_GEN
static bool ssw_gen_has_ttl(void);
#endif

/* The pipeline that reclaim holds folios in, if it does */
static struct scaleswap_pipe *ssw_pipe_of(const struct scan_control *sc)
{
	struct scaleswap_pipe *pipe;

	if (!scaleswap_evict_on())
		return NULL;
	pipe = sc->reclaim_state.pipe;
	return pipe && pipe->filling ? pipe : NULL;
}

/* Count the pages of folios. */
static unsigned long ssw_count_pages(const struct list_head *folios)
{
	struct folio *folio;
	unsigned long nr = 0;

	list_for_each_entry(folio, folios, lru)
		nr += folio_nr_pages(folio);
	return nr;
}

/* --- the first step, in shrink_folio_list() ------------------------------------------- */

/* Hooks are inline, and what they call is not: all who reclaim pass by them. */

/* See scaleswap_pipe_take(). */
static noinline void ssw_pipe_take(struct scaleswap_pipe *pipe, struct lruvec *lruvec,
				   const struct list_head *folios)
{
	pipe->isolated = ssw_count_pages(folios);
	if (pipe->filling && !pipe->filling->nr_segs)
		pipe->filling->isolated = 0;
	if (pipe->filling)
		pipe->filling->isolated += pipe->isolated;
	ssw_evict_hold(lruvec_memcg(lruvec), lruvec_pgdat(lruvec)->node_id, pipe->isolated);
}

/*
 * An evictor has isolated @folios. From here on reclaim by others does not find them, so they
 * count as held, until scaleswap_pipe_pump() counts out those that are not.
 *
 * Context: @lruvec's lru_lock.
 */
static inline void scaleswap_pipe_take(struct lruvec *lruvec, struct scan_control *sc,
				       const struct list_head *folios)
{
	if (scaleswap_evict_on() && sc->reclaim_state.pipe && !list_empty(folios))
		ssw_pipe_take(sc->reclaim_state.pipe, lruvec, folios);
}

/* Note that a folio is about to be unmapped. */
static void scaleswap_pipe_unmap(struct scan_control *sc, struct folio *folio)
{
	struct scaleswap_pipe *pipe = ssw_pipe_of(sc);

	if (!pipe)
		return;
	if (folio_is_file_lru(folio))
		pipe->other = true;
	else
		pipe->unmapping = folio;
}

/* Hold a folio that is unmapped and could be evicted. Return false if it is not to be held. */
static bool scaleswap_pipe_hold(struct scan_control *sc, struct folio *folio)
{
	struct scaleswap_pipe *pipe = ssw_pipe_of(sc);

	if (!pipe || folio_is_file_lru(folio))
		return false;
	/* shrink_folio_list() takes the last one first: so in the order of slots, for few bios. */
	list_add(&folio->lru, &pipe->held);
	pipe->nr_held += folio_nr_pages(folio);
	folio_unlock(folio);
	return true;
}

/* Keep a folio that is not to be evicted until TLBs are flushed, if it was unmapped in part. */
static bool scaleswap_pipe_keep(struct scan_control *sc, struct folio *folio)
{
	struct scaleswap_pipe *pipe = ssw_pipe_of(sc);

	if (!pipe || pipe->unmapping != folio)
		return false;
	list_add_tail(&folio->lru, &pipe->back);
	return true;
}

/* Check whether what was unmapped is flushed with a batch. */
static bool scaleswap_pipe_flush(struct scan_control *sc)
{
	struct scaleswap_pipe *pipe = ssw_pipe_of(sc);

	if (!pipe || pipe->other)
		return false;
	return true;
}

/* Find the part of a batch for folios of @lruvec, or add one. There is room for one. */
static struct ssw_seg *ssw_batch_seg(struct ssw_batch *batch, struct lruvec *lruvec,
				     struct mem_cgroup *target)
{
	struct ssw_seg *seg;

	for (seg = batch->seg; seg < batch->seg + batch->nr_segs; seg++) {
		if (seg->lruvec == lruvec && seg->target == target)
			return seg;
	}
	batch->nr_segs++;
	*seg = (struct ssw_seg) {
		.lruvec = lruvec,
		.memcg = lruvec_memcg(lruvec),
		.target = target,
		.held = LIST_HEAD_INIT(seg->held),
		.back = LIST_HEAD_INIT(seg->back),
	};
	if (seg->memcg)
		css_get(&seg->memcg->css);
	return seg;
}

/* See scaleswap_pipe_submit(). */
static noinline unsigned long ssw_pipe_submit(struct scaleswap_pipe *pipe, struct lruvec *lruvec,
					      struct scan_control *sc)
{
	struct tlbflush_unmap_batch *ubc = &current->tlb_ubc;
	unsigned long nr_held, nr_taken;
	struct ssw_batch *batch;
	struct ssw_seg *seg;

	nr_held = pipe->nr_held;
	pipe->nr_held = 0;
	pipe->taken += nr_held;
	pipe->unmapping = NULL;
	pipe->other = false;
	if (list_empty(&pipe->held) && list_empty(&pipe->back))
		return 0;
	nr_taken = nr_held + ssw_count_pages(&pipe->back);
	batch = pipe->filling;
	seg = ssw_batch_seg(batch, lruvec, sc->target_mem_cgroup);
	/* At the head, as above: what was unmapped first is written first. */
	list_splice_init(&pipe->held, &seg->held);
	list_splice_init(&pipe->back, &seg->back);
	seg->nr_taken += nr_taken;
	if (ubc->flush_required) {
		arch_tlbbatch_move(&batch->tlb, &ubc->arch);
		ubc->flush_required = false;
		ubc->writable = false;
		batch->flush = true;
	}
	batch->nr_pages += nr_taken;
	/* The caller takes off all that it has isolated. */
	mod_node_page_state(lruvec_pgdat(lruvec), NR_ISOLATED_ANON, nr_taken);
	/* They count as held since they were isolated. */
	pipe->isolated -= nr_taken;
	ssw_stat_add(SSW_EVICT_HELD, nr_taken);
	return nr_held;
}

/*
 * Add what shrink_folio_list() has held to the batch, as folios of @lruvec.
 *
 * Return: pages that are to be evicted. They are not freed yet.
 */
static inline unsigned long scaleswap_pipe_submit(struct lruvec *lruvec, struct scan_control *sc)
{
	struct scaleswap_pipe *pipe = ssw_pipe_of(sc);

	return pipe ? ssw_pipe_submit(pipe, lruvec, sc) : 0;
}

/* --- the other steps ------------------------------------------------------------------- */

/* What shrink_folio_list() may do to folios that are unmapped and flushed */
static struct scan_control ssw_seg_control(const struct ssw_seg *seg, bool may_write)
{
	return (struct scan_control) {
		.target_mem_cgroup = seg->target,
		/*
		 * Without __GFP_IO no slot is allocated: an anonymous folio that has none any more
		 * was in use again. With __GFP_FS it is written nevertheless.
		 */
		.gfp_mask = GFP_KERNEL & ~__GFP_IO,
		.reclaim_idx = MAX_NR_ZONES - 1,
		.may_writepage = may_write,
		.may_swap = 1,
		.no_demotion = 1,
	};
}

/* Have shrink_folio_list() do a step with the folios to evict. */
static void ssw_seg_shrink(struct scaleswap_pipe *pipe, struct ssw_seg *seg, bool may_write)
{
	struct pglist_data *pgdat = lruvec_pgdat(seg->lruvec);
	struct scan_control sc = ssw_seg_control(seg, may_write);
	enum vm_event_item item = PGSTEAL_KSWAPD + reclaimer_offset();
	struct reclaim_stat stat;
	unsigned int nr;

	if (list_empty(&seg->held))
		return;
	nr = shrink_folio_list(&seg->held, pgdat, &sc, &stat, true);
	seg->nr_io += stat.nr_pageout;
	seg->nr_freed += nr;
	pipe->freed += nr;
	if (!cgroup_reclaim(&sc))
		count_vm_events(item, nr);
	count_memcg_events(seg->memcg, item, nr);
	count_vm_events(PGSTEAL_ANON, nr);
	ssw_stat_add(SSW_EVICT_FREED, nr);
	count_vm_events(SCALESWAP_EVICT_FREED, nr);
	if (!nr)
		return;
	pipe->vain = 0;
	ssw_evict_freed(seg->memcg, pgdat->node_id, nr, 0);
}

/* As evict_folios() does: folios that reclaim did not want are not of the oldest generation. */
static void ssw_seg_reject(struct ssw_seg *seg)
{
#ifdef CONFIG_LRU_GEN
	struct folio *folio;

	if (!lru_gen_enabled())
		return;
	list_for_each_entry(folio, &seg->back, lru) {
		if (!folio_evictable(folio))
			continue;
		if (folio_test_reclaim(folio) &&
		    (folio_test_dirty(folio) || folio_test_writeback(folio))) {
			if (folio_test_workingset(folio))
				folio_set_referenced(folio);
			continue;
		}
		set_mask_bits(&folio->flags, LRU_REFS_MASK | LRU_REFS_FLAGS, BIT(PG_active));
	}
#endif
}

/* Put folios back on their lists that are not evicted. */
static void ssw_seg_put_back(struct scaleswap_pipe *pipe, struct ssw_seg *seg)
{
	unsigned long nr;

	if (list_empty(&seg->back))
		return;
	nr = ssw_count_pages(&seg->back);
	ssw_seg_reject(seg);
	while (!list_empty(&seg->back)) {
		LIST_HEAD(some);
		unsigned int i;

		for (i = 0; i < SSW_BACK_FOLIOS && !list_empty(&seg->back); i++)
			list_move(seg->back.prev, &some);
		spin_lock_irq(&seg->lruvec->lru_lock);
		move_folios_to_lru(seg->lruvec, &some);
		spin_unlock_irq(&seg->lruvec->lru_lock);
	}
	ssw_stat_add(SSW_EVICT_BACK, nr);
	pipe->vain += nr;
	ssw_evict_freed(seg->memcg, lruvec_pgdat(seg->lruvec)->node_id, 0, nr);
}

static void ssw_seg_end(struct ssw_seg *seg)
{
	/* MGLRU has no use for costs. */
	if (!lru_gen_enabled())
		lru_note_cost(seg->lruvec, false, seg->nr_io, seg->nr_taken - seg->nr_freed);
	mod_node_page_state(lruvec_pgdat(seg->lruvec), NR_ISOLATED_ANON, -(long)seg->nr_taken);
	ssw_evict_hold(seg->memcg, lruvec_pgdat(seg->lruvec)->node_id, -(long)seg->nr_taken);
	if (seg->memcg)
		css_put(&seg->memcg->css);
}

/* Second step: TLBs are flushed. Write, and free what need not be written. */
static void ssw_batch_write(struct ssw_batch *batch)
{
	struct scaleswap_pipe *pipe = batch->span.pipe;
	struct folio *folio, *next;
	struct blk_plug plug;
	unsigned int i;

	batch->state = SSW_BATCH_WRITING;
	ssw_span_begin(&batch->span);
	pipe->span = &batch->span;
	blk_start_plug(&plug);
	for (i = 0; i < batch->nr_segs; i++) {
		struct ssw_seg *seg = &batch->seg[i];

		ssw_seg_shrink(pipe, seg, true);
		/* Those that are or were written wait for the third step. */
		list_for_each_entry_safe(folio, next, &seg->held, lru) {
			if (folio_test_active(folio) || folio_mapped(folio) ||
			    folio_test_dirty(folio) || !folio_test_swapcache(folio))
				list_move_tail(&folio->lru, &seg->back);
		}
		ssw_seg_put_back(pipe, seg);
	}
	/* Bios may be in the plug of shrink_lruvec(). They begin now, not when this task sleeps. */
	blk_flush_plug(current->plug, false);
	blk_finish_plug(&plug);
	pipe->span = NULL;
	ssw_span_put(&batch->span);
}

/* Third step: bios are done, or late. Free what was written. */
static void ssw_batch_end(struct ssw_batch *batch)
{
	struct folio *folio, *next;
	unsigned int i;

	for (i = 0; i < batch->nr_segs; i++) {
		struct ssw_seg *seg = &batch->seg[i];
		bool late = false;

		/* Late, or not written by bios that count: PG_reclaim has it freed next. */
		list_for_each_entry_safe(folio, next, &seg->held, lru) {
			if (folio_test_writeback(folio)) {
				ssw_stat_add(SSW_EVICT_LATE, folio_nr_pages(folio));
				list_move_tail(&folio->lru, &seg->back);
				late = true;
			}
		}
		if (late)
			ssw_evict_was_late(seg->memcg, lruvec_pgdat(seg->lruvec)->node_id);
		ssw_seg_shrink(batch->span.pipe, seg, false);
		list_splice_init(&seg->held, &seg->back);
		ssw_seg_put_back(batch->span.pipe, seg);
		ssw_seg_end(seg);
	}
	batch->nr_segs = 0;
	batch->nr_pages = 0;
	batch->state = SSW_BATCH_LATE;
}

/* Do with a batch what can be done. Wait if @wait is set. Return true if it is free. */
static bool ssw_batch_step(struct ssw_batch *batch, bool wait)
{
	if (batch->state == SSW_BATCH_FLUSHING) {
		if (!ssw_batch_flushed(batch)) {
			if (!wait)
				return false;
			ssw_batch_wait_flushed(batch);
		}
		ssw_batch_write(batch);
	}
	if (batch->state == SSW_BATCH_WRITING) {
		if (!ssw_span_done(&batch->span)) {
			if (!wait)
				return false;
			ssw_span_wait(&batch->span);
		}
		ssw_batch_end(batch);
	}
	if (batch->state == SSW_BATCH_LATE && ssw_span_done(&batch->span))
		batch->state = SSW_BATCH_FREE;
	return batch->state == SSW_BATCH_FREE;
}

/* The batch with folios that was sent first, or NULL */
static struct ssw_batch *ssw_pipe_oldest(struct scaleswap_pipe *pipe)
{
	struct ssw_batch *oldest = NULL;
	unsigned int i;

	for (i = 0; i < SSW_PIPE_BATCHES; i++) {
		struct ssw_batch *batch = &pipe->batch[i];

		if ((batch->state == SSW_BATCH_FLUSHING || batch->state == SSW_BATCH_WRITING) &&
		    (!oldest || (int)(batch->seq - oldest->seq) < 0))
			oldest = batch;
	}
	return oldest;
}

/* Have a batch to fill, if one gets free in time. */
static void ssw_pipe_fill(struct scaleswap_pipe *pipe)
{
	struct ssw_batch *batch;
	unsigned int i;

	while (!pipe->filling) {
		for (i = 0; i < SSW_PIPE_BATCHES && !pipe->filling; i++) {
			if (ssw_batch_step(&pipe->batch[i], false))
				pipe->filling = &pipe->batch[i];
		}
		if (pipe->filling)
			break;
		batch = ssw_pipe_oldest(pipe);
		if (!batch) {
			ssw_fallback(raw_smp_processor_id(), SSW_FB_PIPE_FULL, 0);
			return;
		}
		ssw_batch_step(batch, true);
	}
	pipe->filling->state = SSW_BATCH_FILLING;
}

/* Flush what has been unmapped, if anything. */
static void ssw_pipe_send(struct scaleswap_pipe *pipe)
{
	if (pipe->filling && pipe->filling->nr_segs) {
		ssw_batch_send(pipe->filling);
		pipe->filling = NULL;
	}
}

/* Bring all folios to their end: they are freed, or back on their lists. */
static void ssw_pipe_drain(struct scaleswap_pipe *pipe)
{
	struct ssw_batch *batch;

	ssw_pipe_send(pipe);
	while ((batch = ssw_pipe_oldest(pipe)))
		ssw_batch_step(batch, true);
	ssw_pipe_fill(pipe);
}

/* Count the pages that the pipeline has, of a memcg and node or, if @mlruvec is NULL, of all. */
static unsigned long ssw_pipe_has(struct scaleswap_pipe *pipe, struct lruvec *mlruvec)
{
	unsigned long nr = 0;
	unsigned int i, j;

	for (i = 0; i < SSW_PIPE_BATCHES; i++) {
		struct ssw_batch *batch = &pipe->batch[i];

		for (j = 0; j < batch->nr_segs; j++) {
			struct ssw_seg *seg = &batch->seg[j];

			if (!mlruvec || scaleswap_memcg_lruvec(seg->lruvec) == mlruvec)
				nr += seg->nr_taken - seg->nr_freed;
		}
	}
	return nr;
}

/*
 * Check that evictors do not have too much of a memcg and node: an eighth of what is old. If there
 * are several, each has its share of it.
 */
static bool ssw_pipe_has_too_much(struct scaleswap_pipe *pipe, struct lruvec *lruvec,
				  struct mem_cgroup *target)
{
	struct lruvec *mlruvec = scaleswap_memcg_lruvec(lruvec);
	unsigned long old = lruvec_lru_size(mlruvec, LRU_INACTIVE_ANON, MAX_NR_ZONES - 1);
	struct scaleswap_evict_target *t = target ? &target->evict :
					   ssw_node_target(lruvec_pgdat(lruvec)->node_id);
	unsigned int evictors = t ? READ_ONCE(t->evictors) : 1;

	return ssw_pipe_has(pipe, mlruvec) > max(old / 8 / max(evictors, 1), SWAP_CLUSTER_MAX);
}

/* See scaleswap_pipe_pump(). */
static noinline void ssw_pipe_pump(struct scaleswap_pipe *pipe, struct lruvec *lruvec,
				   struct scan_control *sc)
{
	unsigned int i, most = READ_ONCE(ssw_evict_batch);
	struct ssw_batch *filling;

	/* The others were freed, or are on their lists again. */
	if (pipe->isolated)
		ssw_evict_hold(lruvec_memcg(lruvec), lruvec_pgdat(lruvec)->node_id,
			       -(long)pipe->isolated);
	pipe->isolated = 0;
	filling = pipe->filling;
	/* evict_folios() may add two at a time. */
	if (filling && filling->nr_segs &&
	    (filling->nr_pages >= most ||
	     filling->nr_segs >= SSW_BATCH_SEGS - 1 ||
	     filling->isolated >= SSW_BATCH_TRIES * most))
		ssw_pipe_send(pipe);
	if (ssw_pipe_has_too_much(pipe, lruvec, sc->target_mem_cgroup))
		ssw_pipe_drain(pipe);
	for (i = 0; i < SSW_PIPE_BATCHES; i++)
		ssw_batch_step(&pipe->batch[i], false);
	ssw_pipe_fill(pipe);
}

/* Continue with all batches, after folios of @lruvec were isolated. */
static inline void scaleswap_pipe_pump(struct lruvec *lruvec, struct scan_control *sc)
{
	if (scaleswap_evict_on() && sc->reclaim_state.pipe)
		ssw_pipe_pump(sc->reclaim_state.pipe, lruvec, sc);
}

/* --- who evicts ------------------------------------------------------------------------ */

/* Out of line, since all who reclaim have inactive_is_low() inlined */
static noinline void ssw_evict_sizes(struct lruvec *lruvec, enum lru_list inactive_lru,
				     unsigned long *inactive, unsigned long *active)
{
	if (!scaleswap_evicts() && !READ_ONCE(ssw_evict_threads))
		return;
	if (!scaleswap_is_leaf(lruvec_memcg(lruvec)))
		return;
	*inactive = lruvec_lru_size(lruvec, inactive_lru, MAX_NR_ZONES - 1);
	*active = lruvec_lru_size(lruvec, inactive_lru + LRU_ACTIVE, MAX_NR_ZONES - 1);
}

/*
 * Set the sizes of a pair of lists by which to decide whether to deactivate pages. Those that
 * statistics have may be two seconds old. In that time a task reclaims a few times, but an evictor
 * may do so hundreds of times, and would deactivate all that is used.
 *
 * So evictors leave just enough pages inactive. A task that sets a limit may take all of these in
 * one go. By statistics it would not see that, and would give up with the active pages left. So
 * where there are evictors, all look at the sizes.
 *
 * A memcg's statistics include those of its children. So where it has any, they stay.
 */
static void scaleswap_evict_sizes(struct lruvec *lruvec, enum lru_list inactive_lru,
				  unsigned long *inactive, unsigned long *active)
{
	if (scaleswap_evict_on())
		ssw_evict_sizes(lruvec, inactive_lru, inactive, active);
}

#ifdef CONFIG_LRU_GEN
/* See ssw_gen_is_low(): @young of a memcg and node's @total pages are of the youngest one. */
static bool scaleswap_evict_ages(unsigned long young, unsigned long old, unsigned long total)
{
	return ssw_gen_is_low(young, old, total);
}

static unsigned long lru_gen_size(struct lruvec *lruvec, int gen, int type);
static struct lru_gen_mm_list *get_mm_list(struct mem_cgroup *memcg);

/* See ssw_walk_is_new(). */
static noinline bool ssw_has_walked(struct lruvec *lruvec, struct lru_gen_mm_state *mm_state)
{
	int type, gen = lru_gen_from_seq(READ_ONCE(lruvec->lrugen.max_seq));
	unsigned long young = 0, began = READ_ONCE(lruvec->lrugen.timestamps[gen]);

	if (!scaleswap_evicts() || atomic_read(&mm_state->evictors))
		return false;
	/*
	 * Only if the youngest generation began with a walk, which is over, and nobody is in the
	 * middle of the next one. A generation without a walk leaves NULL here, so there are not
	 * two in a row. A hint: who begins a walk right now may have begun it for nothing.
	 */
	if (data_race(mm_state->head) != &get_mm_list(lruvec_memcg(lruvec))->fifo)
		return false;
	for (type = 0; type < ANON_AND_FILE; type++)
		young += lru_gen_size(lruvec, gen, type);
	return ssw_walk_is_new(young, jiffies - began);
}

/* Check whether an evictor is to begin a generation without a walk of page tables. */
static bool scaleswap_has_walked(struct lruvec *lruvec, struct lru_gen_mm_state *mm_state)
{
	return scaleswap_evict_on() && ssw_has_walked(lruvec, mm_state);
}

/* Several evictors walk the page tables of a memcg and node together, a process each at a time. */
static void scaleswap_walk_begin(struct lru_gen_mm_state *mm_state)
{
	if (scaleswap_evicts())
		atomic_inc(&mm_state->evictors);
}

/* Count that an evictor has waited for others in vain. */
static bool ssw_walk_ended(bool good)
{
	if (!good)
		ssw_fallback(raw_smp_processor_id(), SSW_FB_EVICT_WALK, 0);
	return good;
}

/* See ssw_walk_leave(). */
static void scaleswap_walk_end(struct lru_gen_mm_state *mm_state)
{
	if (scaleswap_evicts())
		ssw_walk_ended(ssw_walk_leave(&mm_state->evictors, SSW_WALK_WAIT));
}

/*
 * Wait until no evictor walks for the generation after @seq. Return false if that has begun
 * already, or if one walks nevertheless.
 */
static bool scaleswap_walk_join(struct lruvec *lruvec, struct lru_gen_mm_state *mm_state,
				unsigned long seq)
{
	if (!scaleswap_evicts())
		return true;
	/* Who walks now does so for a later generation. */
	if (seq != READ_ONCE(lruvec->lrugen.max_seq))
		return false;
	return ssw_walk_ended(ssw_walk_wait(&mm_state->evictors, SSW_WALK_WAIT));
}
#endif

/* What an evictor is to reclaim of a memcg, or of all */
static struct scan_control ssw_evict_control(struct scaleswap_pipe *pipe, struct mem_cgroup *memcg,
					     unsigned long nr_pages)
{
	return (struct scan_control) {
		.nr_to_reclaim = max(nr_pages, SWAP_CLUSTER_MAX),
		.gfp_mask = GFP_KERNEL | (GFP_HIGHUSER_MOVABLE & ~GFP_RECLAIM_MASK),
		.reclaim_idx = MAX_NR_ZONES - 1,
		.target_mem_cgroup = memcg,
		.priority = DEF_PRIORITY,
		.may_writepage = !laptop_mode,
		.may_unmap = 1,
		.may_swap = 1,
		.reclaim_state.pipe = pipe,
	};
}

/* Of @nr pages that reclaim has counted, count those that are freed. Others are held. */
static void ssw_evict_count(struct scaleswap_pipe *pipe, struct mem_cgroup *memcg, int nid,
			    unsigned long nr, unsigned long held)
{
	unsigned long freed = nr - min(nr, held);

	pipe->freed += freed;
	if (freed) {
		pipe->vain = 0;
		ssw_evict_freed(memcg, nid, freed, 0);
	}
}

/*
 * Check whether memory.low of groups below the one that is reclaimed holds even if nothing else
 * can be freed. Evictors make room before anybody needs it. Where they find none, tasks reclaim,
 * and take of such groups what they need.
 */
static bool scaleswap_spares_low(struct scan_control *sc)
{
	return scaleswap_evicts() && !sc->proactive;
}

/*
 * Check whether all batches wait for writes that take long. More writes would only add to these,
 * and pages that are being written would be looked at in vain. So an evictor of the pool takes page
 * cache alone.
 */
static bool ssw_pipe_is_late(struct scaleswap_pipe *pipe)
{
	unsigned int i;

	for (i = 0; i < SSW_PIPE_BATCHES; i++) {
		if (pipe->batch[i].state != SSW_BATCH_LATE || ssw_span_done(&pipe->batch[i].span))
			return false;
	}
	return true;
}

/*
 * Reclaim pages once. Anonymous memory and shmem is held in the pipeline, page cache is freed.
 *
 * Return: pages that were freed or are held; 0 if there was nothing to evict.
 */
static unsigned long ssw_evict_once(struct scaleswap_pipe *pipe, struct mem_cgroup *memcg,
				    unsigned long nr_pages, bool proactive)
{
	struct scan_control sc = ssw_evict_control(pipe, memcg, nr_pages);
	unsigned long nr, held = pipe->taken;

	sc.proactive = proactive;
	sc.may_swap = proactive || !ssw_pipe_is_late(pipe);
	set_task_reclaim_state(current, &sc.reclaim_state);
	nr = do_try_to_free_pages(node_zonelist(numa_node_id(), sc.gfp_mask), &sc);
	set_task_reclaim_state(current, NULL);
	ssw_evict_count(pipe, memcg, NUMA_NO_NODE, nr, pipe->taken - held);
	return nr;
}

/**
 * ssw_evict_some - evict some pages of a memcg, as reclaim at its limit does
 * @pipe: the pipeline of the calling task
 * @memcg: the memcg
 * @nr_pages: how many
 *
 * Context: an evictor; sleeps.
 * Return: pages that were freed or are held. 0 if there was nothing to evict.
 */
unsigned long ssw_evict_some(struct scaleswap_pipe *pipe, struct mem_cgroup *memcg,
			     unsigned long nr_pages)
{
	return ssw_evict_once(pipe, memcg, nr_pages, false);
}

/**
 * ssw_evict_node_is_kswapds - check whether nodes are left to kswapd
 *
 * kswapd decides what is out of memory by lru_gen/min_ttl_ms. That is not for evictors.
 *
 * Context: any.
 * Return: true while that is set.
 */
bool ssw_evict_node_is_kswapds(void)
{
#ifdef CONFIG_LRU_GEN
	return lru_gen_enabled() && ssw_gen_has_ttl();
#else
	return false;
#endif
}

/**
 * ssw_evict_node_begin - prepare to evict from a node
 * @nid: the node
 *
 * Context: an evictor; may sleep.
 */
void ssw_evict_node_begin(int nid)
{
	struct mem_cgroup *memcg;

	/* With active and inactive lists, shrink_node_memcgs() does so. */
	if (!lru_gen_enabled())
		return;
	for (memcg = mem_cgroup_iter(NULL, NULL, NULL); memcg;
	     memcg = mem_cgroup_iter(NULL, memcg, NULL)) {
		mem_cgroup_calculate_protection(NULL, memcg);
		cond_resched();
	}
}

/**
 * ssw_evict_node_some - evict some pages of a node, as reclaim by a task does
 * @pipe: the pipeline of the calling task
 * @nid: the node
 * @nr_pages: how many
 *
 * Other than a task, it leaves memory.low alone. If that is all there is, tasks reclaim.
 *
 * Context: an evictor; sleeps.
 * Return: pages that were freed or are held. 0 if there was nothing to evict.
 */
unsigned long ssw_evict_node_some(struct scaleswap_pipe *pipe, int nid, unsigned long nr_pages)
{
	struct scan_control sc = ssw_evict_control(pipe, NULL, nr_pages);
	unsigned long held = pipe->taken;

	sc.may_swap = !ssw_pipe_is_late(pipe);
	set_task_reclaim_state(current, &sc.reclaim_state);
retry:
	do {
		sc.nr_scanned = 0;
		shrink_node(NODE_DATA(nid), &sc);
		if (sc.nr_reclaimed >= sc.nr_to_reclaim)
			break;
		if (sc.priority < DEF_PRIORITY - 2)
			sc.may_writepage = 1;
	} while (--sc.priority >= 0 && !freezing(current));
	/* As in do_try_to_free_pages(): others may have taken all memcgs. */
	if (!sc.nr_reclaimed && !sc.memcg_full_walk) {
		sc.priority = DEF_PRIORITY;
		sc.memcg_full_walk = 1;
		goto retry;
	}
	snapshot_refaults(NULL, NODE_DATA(nid));
	set_task_reclaim_state(current, NULL);
	ssw_evict_count(pipe, NULL, nid, sc.nr_reclaimed, pipe->taken - held);
	return sc.nr_reclaimed;
}

/**
 * ssw_evict_await - wait for the batch of a pipeline that was filled first
 * @pipe: the pipeline of the calling task
 *
 * Context: an evictor; sleeps.
 * Return: false if the pipeline has no folios.
 */
bool ssw_evict_await(struct scaleswap_pipe *pipe)
{
	struct reclaim_state state = { .pipe = pipe };
	struct ssw_batch *batch;

	set_task_reclaim_state(current, &state);
	batch = ssw_pipe_oldest(pipe);
	if (!batch) {
		ssw_pipe_send(pipe);
		batch = ssw_pipe_oldest(pipe);
	}
	if (batch)
		ssw_batch_step(batch, true);
	ssw_pipe_fill(pipe);
	set_task_reclaim_state(current, NULL);
	return batch;
}

/**
 * ssw_evict_await_late - wait for writes that were not done in time for their batch
 * @pipe: the pipeline of the calling task
 * @patient: wait for %SSW_BATCH_IO_MS at most; if not set, for a fifth of that
 *
 * Their pages are back on their lists, and can be freed once the writes are done. If other
 * evictors have them, wait as long: to look again at once would take a CPU for nothing.
 *
 * Context: an evictor; sleeps.
 * Return: false if this pipeline has no such writes.
 */
bool ssw_evict_await_late(struct scaleswap_pipe *pipe, bool patient)
{
	struct ssw_batch *batch = NULL;
	unsigned int i;

	for (i = 0; i < SSW_PIPE_BATCHES && !batch; i++) {
		if (pipe->batch[i].state == SSW_BATCH_LATE)
			batch = &pipe->batch[i];
	}
	if (batch && patient)
		ssw_span_wait(&batch->span);
	else
		schedule_timeout_idle(msecs_to_jiffies(patient ? SSW_BATCH_IO_MS :
						       SSW_BATCH_IO_MS / 5));
	if (batch)
		ssw_batch_step(batch, false);
	return batch;
}

/**
 * ssw_evict_drain - bring all that a pipeline has to its end
 * @pipe: the pipeline of the calling task
 *
 * Context: an evictor; sleeps.
 */
void ssw_evict_drain(struct scaleswap_pipe *pipe)
{
	struct reclaim_state state = { .pipe = pipe };

	set_task_reclaim_state(current, &state);
	ssw_pipe_drain(pipe);
	set_task_reclaim_state(current, NULL);
}

/**
 * ssw_evict_memcg - evict pages of a memcg by a pipeline, in the calling task
 * @memcg: the memcg
 * @nr_pages: how many
 *
 * What memory.reclaim does, but for the pipeline.
 *
 * Context: process context, may sleep.
 * Return: pages that were freed; fewer than @nr_pages if there were no more, or after a signal.
 * -ENOMEM if there is no memory for the pipeline.
 */
long ssw_evict_memcg(struct mem_cgroup *memcg, unsigned long nr_pages)
{
	unsigned int noreclaim, tries = MAX_RECLAIM_RETRIES;
	struct scaleswap_pipe *pipe = ssw_pipe_create(current);
	unsigned long freed, was;

	if (!pipe)
		return -ENOMEM;
	noreclaim = memalloc_noreclaim_save();
	do {
		unsigned long sure = was = pipe->freed;

		/*
		 * In the same parts as memory.reclaim, as long as it seems to be enough. Pages that
		 * are in use may be taken again and again.
		 */
		while (sure < nr_pages && !signal_pending(current) &&
		       pipe->vain <= SSW_STUCK_PAGES &&
		       ssw_evict_once(pipe, memcg, (nr_pages - sure) / 4, true))
			sure = pipe->freed + ssw_pipe_has(pipe, NULL);
		/* Some of it may be in use again, and is put back. */
		ssw_evict_drain(pipe);
		if (pipe->freed > was)
			continue;
		pipe->vain = 0;
		lru_add_drain_all();
		tries--;
	} while (pipe->freed < nr_pages && tries && !signal_pending(current));
	memalloc_noreclaim_restore(noreclaim);
	freed = pipe->freed;
	ssw_pipe_put(pipe);
	return freed;
}

/*
 * Reclaim of a memcg has freed nothing: wait for what evictors hold of it, which may be all that
 * can be freed. Without evictors, reclaim would have found it, and a limit could be set, or no
 * task need be killed. Return how much of it was freed.
 *
 * Who writes to memory.reclaim has nobody killed, and does not wait for writes. A page that cannot
 * be written would be written, and fail, at each try.
 */
static unsigned long scaleswap_evict_last(struct scan_control *sc)
{
	/* Evictors swap. */
	if (!scaleswap_evict_on() || !sc->may_swap)
		return 0;
	return ssw_evict_wait_held(sc->target_mem_cgroup, sc->gfp_mask, !sc->proactive);
}

#else /* CONFIG_SCALESWAP_EVICTOR */

static inline void scaleswap_evict_sizes(struct lruvec *lruvec, enum lru_list inactive_lru,
					 unsigned long *inactive, unsigned long *active)
{
}

static inline bool scaleswap_evict_ages(unsigned long young, unsigned long old, unsigned long total)
{
	return false;
}

#ifdef CONFIG_LRU_GEN
static inline bool scaleswap_has_walked(struct lruvec *lruvec, struct lru_gen_mm_state *mm_state)
{
	return false;
}

static inline void scaleswap_walk_begin(struct lru_gen_mm_state *mm_state)
{
}

static inline bool scaleswap_walk_join(struct lruvec *lruvec, struct lru_gen_mm_state *mm_state,
				       unsigned long seq)
{
	return true;
}

static inline void scaleswap_walk_end(struct lru_gen_mm_state *mm_state)
{
}
#endif

static inline bool scaleswap_spares_low(struct scan_control *sc)
{
	return false;
}

static inline unsigned long scaleswap_evict_last(struct scan_control *sc)
{
	return 0;
}

static inline void scaleswap_pipe_take(struct lruvec *lruvec, struct scan_control *sc,
				       const struct list_head *folios)
{
}

static inline void scaleswap_pipe_unmap(struct scan_control *sc, struct folio *folio)
{
}

static inline bool scaleswap_pipe_hold(struct scan_control *sc, struct folio *folio)
{
	return false;
}

static inline bool scaleswap_pipe_keep(struct scan_control *sc, struct folio *folio)
{
	return false;
}

static inline bool scaleswap_pipe_flush(struct scan_control *sc)
{
	return false;
}

static inline unsigned long scaleswap_pipe_submit(struct lruvec *lruvec, struct scan_control *sc)
{
	return 0;
}

static inline void scaleswap_pipe_pump(struct lruvec *lruvec, struct scan_control *sc)
{
}

#endif /* CONFIG_SCALESWAP_EVICTOR */
