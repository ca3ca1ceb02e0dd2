// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: what evictors are to keep above the min watermarks of a node.
 *
 * mm/page_alloc.c has the part that allocates: page_alloc-evict.c.
 */

/**
 * DOC: Evictors of a node
 *
 * Without evictors, kswapd begins when the zones that an allocation may use are below their low
 * watermarks. A task that finds them below their min watermarks reclaims.
 *
 * - kswapd is as it was, from the low to the high watermarks. If it is too slow, memory falls to
 *   the min watermarks, as the usage of a memcg grows to its limit. Evictors keep a headroom above
 *   these: 128 pages for each of them, 512 at least, and up to two batches more; but they begin no
 *   higher than half way to the low watermarks, and end below these. So they do what tasks would,
 *   just before tasks would.
 * - Tasks first use what is free elsewhere. So evictors begin only if all nodes together that an
 *   allocation may use lack headroom.
 * - They do not keep more free than that. A working set that fits above the min watermarks has to
 *   stay in memory. kswapd wants more, but is one thread, and does not get it. Evictors would.
 * - A boosted watermark counts only while tasks wait. kswapd answers it, by reclaim without swap.
 *   So it is with free CMA pages: only some tasks cannot use them, and these wait.
 * - There is one evictor at first, and there are the more, the nearer the node is to its min
 *   watermark; all, when half of the headroom is left.
 * - A task that finds no memory waits, as at a limit of a memcg. For each one, evictors free
 *   %SWAP_CLUSTER_MAX pages more, what it would have reclaimed by itself, and there is one evictor
 *   for as many. With small watermarks, few evictors would have something to do otherwise, while
 *   all tasks wait.
 * - Evictors serve allocations of single pages, from any zone. All others, as of DMA memory or of
 *   several pages, are left to kswapd and reclaim by tasks. Evictors leave the node to these also
 *   while lru_gen/min_ttl_ms is set, since kswapd decides by it what is out of memory.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "evict.h"
#include "internal.h"

/* What allocations may use that evictors serve */
#define SSW_NODE_IDX	ZONE_MOVABLE
/* Pages above the min watermarks at which evictors begin: for each evictor, and at least */
#define SSW_NODE_HEADROOM	128
#define SSW_NODE_HEADROOM_MIN	(2 * SSW_BATCH_PAGES)
/* Pages that evictors free above that, at most */
#define SSW_NODE_ABOVE		(2 * SSW_BATCH_PAGES)

static struct scaleswap_evict_target *ssw_node_targets[MAX_NUMNODES];

/* Find the first zone of a node that has memory, or the next one after @zone; or NULL. */
static struct zone *ssw_node_zone(int nid, struct zone *zone)
{
	struct zone *zones = NODE_DATA(nid)->node_zones;

	for (zone = zone ? zone + 1 : zones; zone <= zones + SSW_NODE_IDX; zone++) {
		if (managed_zone(zone))
			return zone;
	}
	return NULL;
}

/**
 * ssw_node_target - get what evictors need to know of a node
 * @nid: the node, or %NUMA_NO_NODE
 *
 * Context: any.
 * Return: NULL if the node has had no evictors. Never freed.
 */
struct scaleswap_evict_target *ssw_node_target(int nid)
{
	/* Pairs with smp_store_release() in ssw_node_init(). */
	return nid == NUMA_NO_NODE ? NULL : smp_load_acquire(&ssw_node_targets[nid]);
}

/**
 * ssw_node_init - have evictors care for a node
 * @nid: the node, which has evictors now
 *
 * Context: process context, one at a time.
 * Return: 0 or -ENOMEM.
 */
int ssw_node_init(int nid)
{
	struct scaleswap_evict_target *t;

	if (ssw_node_targets[nid])
		return 0;
	t = kzalloc_node(sizeof(*t), GFP_KERNEL, nid);
	if (!t)
		return -ENOMEM;
	ssw_evict_target_init(t, nid);
	/* Pairs with ssw_node_target(). */
	smp_store_release(&ssw_node_targets[nid], t);
	return 0;
}

/**
 * ssw_node_headroom - compute how far above the min watermarks of a node evictors begin
 * @gap: pages between its min and low watermarks
 * @threads: evictors that it has
 *
 * Context: any.
 * Return: pages.
 */
unsigned long ssw_node_headroom(unsigned long gap, unsigned int threads)
{
	return min(max(threads * SSW_NODE_HEADROOM, SSW_NODE_HEADROOM_MIN), gap / 2);
}

/**
 * ssw_node_above - compute how much more than the headroom evictors free
 * @gap: pages between its min and low watermarks
 * @waiting: tasks that wait for memory of it
 *
 * Context: any.
 * Return: pages.
 */
unsigned long ssw_node_above(unsigned long gap, unsigned int waiting)
{
	return min(SSW_NODE_ABOVE, gap / 8) + waiting * SWAP_CLUSTER_MAX;
}

/* What tasks can have of a node before they reclaim, and how much evictors see to */
struct ssw_node_room {
	unsigned long room;
	unsigned long headroom;
	unsigned long above;
};

static struct ssw_node_room ssw_node_look(int nid)
{
	/* A hint, no barrier: who begins to wait asks again. */
	unsigned int waiting = atomic_read(&ssw_node_target(nid)->waiting);
	struct ssw_node_room r = {};
	unsigned long gap = 0;
	struct zone *zone;

	for (zone = ssw_node_zone(nid, NULL); zone; zone = ssw_node_zone(nid, zone)) {
		long min = READ_ONCE(zone->_watermark[WMARK_MIN]);
		long above = ssw_zone_usable(zone, !waiting) -
			     zone->lowmem_reserve[SSW_NODE_IDX] - min;

		/* Both may be changed meanwhile. */
		gap += max((long)READ_ONCE(zone->_watermark[WMARK_LOW]) - min, 0);
		if (waiting)
			above -= READ_ONCE(zone->watermark_boost);
		r.room += max(above, 0);
	}
	r.headroom = ssw_node_headroom(gap, READ_ONCE(ssw_evict_threads));
	r.above = ssw_node_above(gap, waiting);
	return r;
}

/**
 * ssw_node_lacks - compute how much less a node has than the headroom
 * @nid: the node
 *
 * Context: any.
 * Return: pages; negative if it has more above its min watermarks; 0 if it is left to kswapd.
 */
long ssw_node_lacks(int nid)
{
	struct ssw_node_room r = ssw_node_look(nid);

	return ssw_evict_node_is_kswapds() ? 0 : (long)r.headroom - (long)r.room;
}

/**
 * ssw_node_over - count the pages that evictors are to free of a node
 * @nid: the node
 *
 * Context: any.
 * Return: pages, or 0 if there is as much as there is to be.
 */
unsigned long ssw_node_over(int nid)
{
	struct ssw_node_room r = ssw_node_look(nid);

	if (ssw_evict_node_is_kswapds() || r.room >= r.headroom + r.above)
		return 0;
	return r.headroom + r.above - r.room;
}

/**
 * ssw_node_allowed - compute how many evictors a node is to have, if nobody waits
 * @nid: the node
 * @most: evictors that it has
 *
 * Context: any.
 * Return: from 1, if the whole headroom is left, to @most, if nothing is.
 */
unsigned int ssw_node_allowed(int nid, unsigned int most)
{
	struct ssw_node_room r = ssw_node_look(nid);

	return ssw_evictors_for(most, r.headroom, r.room);
}

/**
 * ssw_node_serves - check whether evictors of a node free memory for an allocation
 * @nid: the node
 * @highest_zoneidx: the highest zone that the allocation may use
 *
 * Context: any.
 * Return: false if there are none, or the node has memory that it may not use.
 */
bool ssw_node_serves(int nid, enum zone_type highest_zoneidx)
{
	struct zone *zone;

	if (!READ_ONCE(ssw_evict_threads) || !ssw_node_target(nid) || ssw_evict_node_is_kswapds())
		return false;
	for (zone = ssw_node_zone(nid, NULL); zone; zone = ssw_node_zone(nid, zone)) {
		if (zone_idx(zone) > highest_zoneidx)
			return false;
	}
	return true;
}
