// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: allocations that have evictors free memory, and wait for it; and the CPU to which
 * evictors free a page.
 *
 * mm/page_alloc.c includes this file, which uses its static functions. See evictnode.c.
 */

#ifdef CONFIG_SCALESWAP_EVICTOR

#include "evict.h"
#include "internal.h"

static struct page *get_page_from_freelist(gfp_t gfp_mask, unsigned int order, int alloc_flags,
					   const struct alloc_context *ac);

/**
 * ssw_zone_usable - count the free pages of a zone that allocations of single pages may use
 * @zone: the zone
 * @cma: whether pages count that are kept for contiguous memory
 *
 * Context: any.
 * Return: pages; above a watermark, if there are more than that.
 */
long ssw_zone_usable(struct zone *zone, bool cma)
{
	return (long)zone_page_state(zone, NR_FREE_PAGES) -
	       __zone_watermark_unusable_free(zone, 0, cma ? ALLOC_CMA : 0);
}

/*
 * Count what the nodes lack that an allocation may use. Have evictors look at them if @ask is set.
 */
static long ssw_evict_nodes(gfp_t gfp_mask, const struct alloc_context *ac, bool ask)
{
	pg_data_t *last_pgdat = NULL;
	struct zoneref *z;
	struct zone *zone;
	long sum = 0;

	for_each_zone_zonelist_nodemask(zone, z, ac->zonelist, ac->highest_zoneidx, ac->nodemask) {
		int nid = zone_to_nid(zone);
		long lacks;

		if (!managed_zone(zone) || zone->zone_pgdat == last_pgdat ||
		    !cpuset_zone_allowed(zone, gfp_mask) ||
		    !ssw_node_serves(nid, ac->highest_zoneidx))
			continue;
		last_pgdat = zone->zone_pgdat;
		lacks = ssw_node_lacks(nid);
		sum += lacks;
		if (ask && lacks > 0)
			ssw_evict_request(ssw_node_target(nid));
	}
	return sum;
}

/*
 * An allocation has found no zone above its low watermark, and wakes kswapd. Have evictors begin,
 * if little is left of all nodes, and it would reclaim. One that would not may be a first try: the
 * next one looks at more nodes.
 */
static void scaleswap_evict_low(gfp_t gfp_mask, const struct alloc_context *ac)
{
	if (!scaleswap_evict_on() || !(gfp_mask & __GFP_DIRECT_RECLAIM))
		return;
	/* Pairs with the barrier in ssw_evict_done(): it sees what was allocated, or is asked. */
	smp_mb();
	if (ssw_evict_nodes(gfp_mask, ac, false) > 0)
		ssw_evict_nodes(gfp_mask, ac, true);
}

/**
 * struct ssw_alloc_wait - an allocation that waits
 * @wait: until it has a page
 * @order: of the allocation
 * @alloc_flags: of the allocation
 * @ac: of the allocation
 */
struct ssw_alloc_wait {
	struct ssw_evict_wait wait;
	unsigned int order;
	unsigned int alloc_flags;
	const struct alloc_context *ac;
};

static bool ssw_alloc_wait_over(const struct ssw_evict_wait *wait)
{
	const struct ssw_alloc_wait *w = container_of(wait, struct ssw_alloc_wait, wait);
	const struct alloc_context *ac = w->ac;
	struct zoneref *z;
	struct zone *zone;

	for_each_zone_zonelist_nodemask(zone, z, ac->zonelist, ac->highest_zoneidx, ac->nodemask) {
		if (cpusets_enabled() && (w->alloc_flags & ALLOC_CPUSET) &&
		    !__cpuset_zone_allowed(zone, wait->gfp_mask))
			continue;
		if (managed_zone(zone) &&
		    zone_watermark_ok(zone, w->order,
				      wmark_pages(zone, w->alloc_flags & ALLOC_WMARK_MASK),
				      ac->highest_zoneidx, w->alloc_flags))
			return true;
	}
	return false;
}

static struct ssw_alloc_wait ssw_alloc_wait_of(gfp_t gfp_mask, unsigned int order,
					       unsigned int alloc_flags,
					       const struct alloc_context *ac)
{
	return (struct ssw_alloc_wait) {
		.wait.over = ssw_alloc_wait_over,
		.wait.gfp_mask = gfp_mask,
		.wait.why = SSW_FB_EVICT_UNFIT,
		.order = order,
		.alloc_flags = alloc_flags,
		.ac = ac,
	};
}

/* Wait for a page, as long as there is time. */
static struct page *ssw_alloc_wait(struct ssw_alloc_wait *w)
{
	struct page *page;

	while (ssw_evict_wait(&w->wait)) {
		page = get_page_from_freelist(w->wait.gfp_mask, w->order, w->alloc_flags, w->ac);
		if (page)
			return page;
		/* Others have taken it, or it is not for this allocation. */
		schedule_timeout_killable(1);
	}
	return NULL;
}

/*
 * Choose the node to wait for, of those that an allocation may use: the nearest one of which
 * evictors can free something. NULL if there is none; *@why is set if all are stuck.
 */
static struct scaleswap_evict_target *ssw_alloc_target(gfp_t gfp_mask,
						       const struct alloc_context *ac,
						       enum ssw_fallback *why)
{
	struct zoneref *z;
	struct zone *zone;

	for_each_zone_zonelist_nodemask(zone, z, ac->zonelist, ac->highest_zoneidx, ac->nodemask) {
		int nid = zone_to_nid(zone);

		if (!managed_zone(zone) || !cpuset_zone_allowed(zone, gfp_mask) ||
		    !ssw_node_serves(nid, ac->highest_zoneidx))
			continue;
		if (!ssw_evict_is_stuck(ssw_node_target(nid)))
			return ssw_node_target(nid);
		*why = SSW_FB_EVICT_STUCK;
	}
	return NULL;
}

/* Wait for a page of the nearest node, or of another one if nothing of that can be freed. */
static struct page *ssw_alloc_wait_any(struct ssw_alloc_wait *w)
{
	struct scaleswap_evict_target *t;
	struct page *page;

	while ((t = ssw_alloc_target(w->wait.gfp_mask, w->ac, &w->wait.why))) {
		w->wait.target = t;
		w->wait.freed = atomic_long_read(&t->freed);
		page = ssw_alloc_wait(w);
		if (page || w->wait.why != SSW_FB_EVICT_STUCK)
			return page;
	}
	return NULL;
}

/*
 * Wait for a page, instead of reclaim. Return NULL if the task has to reclaim; why is counted.
 */
static struct page *scaleswap_evict_page(gfp_t gfp_mask, unsigned int order,
					 unsigned int alloc_flags, const struct alloc_context *ac)
{
	struct ssw_alloc_wait w = ssw_alloc_wait_of(gfp_mask, order, alloc_flags, ac);
	struct page *page = NULL;

	if (!scaleswap_evict_on() || !READ_ONCE(ssw_evict_threads))
		return NULL;
	if (!order && ssw_evict_may_wait(gfp_mask, false)) {
		/* Pages that only this CPU knows of */
		lru_add_drain();
		page = ssw_alloc_wait_any(&w);
	}
	ssw_evict_waited(&w.wait, 1 << order, page);
	return page;
}

/*
 * Wait for what evictors hold of the nodes that an allocation may use. Return false if they hold
 * nothing, or freed nothing meanwhile.
 */
static bool ssw_evict_wait_last(gfp_t gfp_mask, unsigned int order, unsigned int alloc_flags,
				const struct alloc_context *ac)
{
	struct ssw_alloc_wait w = ssw_alloc_wait_of(gfp_mask, order, alloc_flags, ac);
	pg_data_t *last_pgdat = NULL;
	bool good = false;
	struct zoneref *z;
	struct zone *zone;
	long freed = 0;

	w.wait.held = true;
	for_each_zone_zonelist_nodemask(zone, z, ac->zonelist, ac->highest_zoneidx, ac->nodemask) {
		struct scaleswap_evict_target *t = ssw_node_target(zone_to_nid(zone));

		if (!t || zone->zone_pgdat == last_pgdat || !cpuset_zone_allowed(zone, gfp_mask))
			continue;
		last_pgdat = zone->zone_pgdat;
		if (!ssw_evict_in_flight(t))
			continue;
		w.wait.target = t;
		freed -= atomic_long_read(&t->freed);
		good = ssw_evict_wait(&w.wait);
		freed += atomic_long_read(&t->freed);
		if (good)
			break;
	}
	if (!w.wait.began)
		return false;
	ssw_evict_waited(&w.wait, 1 << order, good);
	return good || freed;
}

/*
 * Reclaim has freed nothing: wait for what evictors hold, before the system is out of memory. If
 * others take what is freed, as often as stock code reclaims in vain.
 * Return NULL if they hold nothing, or there is no page after that.
 */
static struct page *scaleswap_evict_last_page(gfp_t gfp_mask, unsigned int order,
					      unsigned int alloc_flags,
					      const struct alloc_context *ac)
{
	struct page *page = NULL;
	int i;

	if (!scaleswap_evict_on() || !ssw_evict_may_wait(gfp_mask, true))
		return NULL;
	for (i = 0; i < MAX_RECLAIM_RETRIES && !page; i++) {
		if (!ssw_evict_wait_last(gfp_mask, order, alloc_flags, ac))
			break;
		page = get_page_from_freelist(gfp_mask, order, alloc_flags, ac);
	}
	return page;
}

/* --- circulation ----------------------------------------------------------------------- */

/**
 * DOC: Circulation
 *
 * A CPU that swaps in takes a free page for each page that evictors free for it. These are on the
 * lists of the evictor's CPU, which returns them to the zone, and the CPU fills its own lists from
 * there: both under the zone's lock, at which all CPUs meet. So an evictor puts what it frees on
 * the lists of the CPU in whose shard it was, as if that CPU had reclaimed. See MAGE (SOSP '25),
 * circulation of pages.
 *
 * A CPU gets no more pages than it took since it last got some, and what it took long ago is
 * forgotten. So lists of idle CPUs do not fill up: pages on these do not count as free. It gets
 * none if its lists have what it may hold, if somebody works on them, or if the zone is below its
 * low watermark.
 */

/* Pages that a CPU took and may get later at most, in batches of its lists */
#define SSW_GIVE_BATCHES	8

/* Of the pages that a CPU has taken, by zone, those that it got back, or that are forgotten */
static DEFINE_PER_CPU(unsigned long [MAX_NR_ZONES], ssw_got_back);

/* Pages that a CPU has taken from such zones; none if nobody counts them. */
static unsigned long ssw_pcp_took(const struct zone *zone, unsigned int cpu)
{
#ifdef CONFIG_VM_EVENT_COUNTERS
	const struct vm_event_state *events = per_cpu_ptr(&vm_event_states, cpu);

	return READ_ONCE(events->event[PGALLOC_NORMAL - ZONE_NORMAL + zone_idx(zone)]);
#else
	return 0;
#endif
}

/*
 * How many pages a CPU may get that has taken @took: what it is owed, as far as its lists may have
 * so many. It is exact under the lock of these lists. The count of what a CPU got is shared by its
 * lists of all nodes, though: it may miss some pages that two evictors give at the same time.
 */
static unsigned int ssw_pcp_room(const struct zone *zone, unsigned int cpu, unsigned long took)
{
	unsigned long owed = took - READ_ONCE(per_cpu(ssw_got_back, cpu)[zone_idx(zone)]);
	const struct per_cpu_pages *pcp = per_cpu_ptr(zone->per_cpu_pageset, cpu);
	int least = READ_ONCE(pcp->high_min), max_high = READ_ONCE(pcp->high_max);
	int most, batch = READ_ONCE(pcp->batch);

	/* Lists that are not to be used: see zone_pcp_disable(). */
	if (!max_high)
		return 0;
	/* These may have been set since the CPU last looked. */
	most = clamp(READ_ONCE(pcp->high), min(least, max_high), max_high);
	/* Memory is short, as nr_pcp_high() has it. */
	if (test_bit(ZONE_RECLAIM_ACTIVE, &zone->flags))
		most = min(most, 4 * batch);
	if (test_bit(ZONE_BELOW_HIGH, &zone->flags))
		most = min(most, least);
	most = max(most - READ_ONCE(pcp->count), 0);
	owed = min(owed, SSW_GIVE_BATCHES * (unsigned long)batch);
	return min_t(unsigned long, most, owed);
}

/*
 * Put prepared pages of a zone on the lists of a CPU; return how many. Preemption is off: a CPU
 * that is online stays so, and its lists are drained if it goes offline after that.
 */
static unsigned int ssw_pcp_give(struct zone *zone, unsigned int cpu, struct page **pages,
				 const u8 *types, unsigned int nr)
{
	struct per_cpu_pages *pcp = per_cpu_ptr(zone->per_cpu_pageset, cpu);
	unsigned long *got = &per_cpu(ssw_got_back, cpu)[zone_idx(zone)];
	unsigned long took = ssw_pcp_took(zone, cpu), least;
	unsigned int i;

	if (!spin_trylock(&pcp->lock))
		return 0;
	nr = min(nr, ssw_pcp_room(zone, cpu, took));
	for (i = 0; i < nr; i++) {
		trace_mm_page_free_batched(pages[i]);
		/* At the end: other pages on the list may still be in that CPU's caches. */
		list_add_tail(&pages[i]->pcp_list, &pcp->lists[order_to_pindex(types[i], 0)]);
	}
	pcp->count += nr;
	/* What is owed beyond that is forgotten. */
	least = took - SSW_GIVE_BATCHES * (unsigned long)READ_ONCE(pcp->batch);
	WRITE_ONCE(*got, ((long)(least - *got) > 0 ? least : *got) + nr);
	spin_unlock(&pcp->lock);
	__count_vm_events(PGFREE, nr);
	return nr;
}

/**
 * ssw_circulate - put folios that an evictor frees on the lists of the CPU that used them
 * @folios: what free_unref_folios() is about to free; what is left is the caller's to free
 *
 * Takes single pages of one zone, all for the CPU in whose shard the first of them was: reclaim
 * frees folios of one shard at a time.
 *
 * Context: process context; takes no lock for which it would wait, but the zone's in a race.
 */
void ssw_circulate(struct folio_batch *folios)
{
	struct page *pages[PAGEVEC_SIZE];
	unsigned int cpu, i, left = 0, nr = 0, given, room;
	struct zone *zone;
	u8 types[PAGEVEC_SIZE];

	/* On RT the lock may sleep, and it is not known whether the CPU stays online. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !READ_ONCE(ssw_evict_circulate) ||
	    !folio_batch_count(folios))
		return;
	zone = folio_zone(folios->folios[0]);
	if (zone_page_state(zone, NR_FREE_PAGES) < low_wmark_pages(zone))
		return;
	preempt_disable();
	cpu = ssw_lru_swapper(folios->folios[0]);
	if (cpu == smp_processor_id())
		goto out;
	room = ssw_pcp_room(zone, cpu, ssw_pcp_took(zone, cpu));
	if (!room)
		goto out;
	for (i = 0; i < folio_batch_count(folios); i++) {
		struct folio *folio = folios->folios[i];
		int type = get_pfnblock_migratetype(&folio->page, folio_pfn(folio));

		if (nr == room || folio_test_large(folio) || folio_zone(folio) != zone ||
		    is_migrate_isolate(type)) {
			folios->folios[left++] = folio;
			continue;
		}
		if (!free_pages_prepare(&folio->page, 0))
			continue;
		types[nr] = type < MIGRATE_PCPTYPES ? type : MIGRATE_MOVABLE;
		pages[nr++] = &folio->page;
	}
	folios->nr = left;
	given = ssw_pcp_give(zone, cpu, pages, types, nr);
	ssw_stat_add(SSW_EVICT_GIVEN, given);
	/* The CPU has just begun to work on its lists, or has filled them. */
	for (i = given; i < nr; i++)
		free_one_page(zone, pages[i], page_to_pfn(pages[i]), 0, FPI_NONE);
out:
	preempt_enable();
}

#else /* CONFIG_SCALESWAP_EVICTOR */

static inline void scaleswap_evict_low(gfp_t gfp_mask, const struct alloc_context *ac)
{
}

static inline struct page *scaleswap_evict_page(gfp_t gfp_mask, unsigned int order,
						unsigned int alloc_flags,
						const struct alloc_context *ac)
{
	return NULL;
}

static inline struct page *scaleswap_evict_last_page(gfp_t gfp_mask, unsigned int order,
						     unsigned int alloc_flags,
						     const struct alloc_context *ac)
{
	return NULL;
}

#endif /* CONFIG_SCALESWAP_EVICTOR */
