// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how much memory evictors are to keep free on a node.
 *
 * mm/page_alloc.c has the part that allocates: page_alloc-evict.c.
 */

/**
 * DOC: Evictors of a node
 *
 * Without evictors, kswapd begins when the zones that an allocation may use are below their low
 * watermarks. A task that finds them below their min watermarks reclaims.
 *
 * - Evictors begin when less can be allocated from these zones, until kswapd is woken, than half of
 *   what is between their low and high watermarks. They free as much of each node, and two batches
 *   more. kswapd is woken only if they are too slow. While that much cannot be had, since all is in
 *   use, they go on: a known defect, they swap more than kswapd does then.
 * - All zones count, and those of other nodes, since tasks use up what is free there first.
 * - A boosted watermark does not count: kswapd answers that, by reclaim without swap.
 * - There is one evictor at first, and there are the more, the nearer the node is to its min
 *   watermark.
 * - A task that finds no memory waits, as at a limit of a memcg.
 * - Evictors serve allocations of single pages, from any zone. All others, as of DMA memory or of
 *   several pages, are left to kswapd and reclaim by tasks. Evictors leave the node to these also
 *   while lru_gen/min_ttl_ms is set, since kswapd decides by it what is out of memory.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/slab.h>

#include "evict.h"
#include "internal.h"

/* What allocations may use that evictors serve */
#define SSW_NODE_IDX	ZONE_MOVABLE
/* Pages that evictors free above what is to be there, at most */
#define SSW_NODE_ABOVE	(2 * SSW_BATCH_PAGES)
/* A zone with so many times the pages between its watermarks needs no others to be looked at */
#define SSW_NODE_PLENTY	8

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
 * ssw_zone_room - add what can be allocated from a zone until kswapd is woken
 * @zone: the zone
 * @highest_zoneidx: the highest zone that the allocations may use
 * @room: pages above its low watermark are added to that
 * @gap: pages between the low and the high watermark are added to that
 *
 * The boost of watermarks does not count.
 *
 * Context: any.
 * Return: true if the zone has far more than its high watermark.
 */
bool ssw_zone_room(struct zone *zone, enum zone_type highest_zoneidx, long *room, long *gap)
{
	long low = zone->_watermark[WMARK_LOW], high = zone->_watermark[WMARK_HIGH];
	long above = (long)zone_page_state(zone, NR_FREE_PAGES) -
		     zone->lowmem_reserve[highest_zoneidx] - low;

	*room += max(above, 0);
	*gap += high - low;
	return above > SSW_NODE_PLENTY * (high - low);
}

/* How many pages are to be freed of a node, to have up to @above more than what is to be there */
static long ssw_node_lacks(int nid, long above)
{
	long room = 0, gap = 0;
	struct zone *zone;

	for (zone = ssw_node_zone(nid, NULL); zone; zone = ssw_node_zone(nid, zone))
		ssw_zone_room(zone, SSW_NODE_IDX, &room, &gap);
	return gap ? gap / 2 + min(above, gap) - room : 0;
}

/**
 * ssw_node_is_due - check whether evictors are to begin on a node
 * @nid: the node
 *
 * Context: any.
 * Return: true if it has less than evictors keep free.
 */
bool ssw_node_is_due(int nid)
{
	return ssw_node_lacks(nid, 0) > 0 && !ssw_evict_node_is_kswapds();
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
	return ssw_evict_node_is_kswapds() ? 0 : max(ssw_node_lacks(nid, SSW_NODE_ABOVE), 0);
}

/**
 * ssw_node_allowed - compute how many evictors a node is to have, if nobody waits
 * @nid: the node
 * @most: evictors that it has
 *
 * Context: any.
 * Return: from 1, if all its zones have their high watermarks, to @most, at their min watermarks.
 */
unsigned int ssw_node_allowed(int nid, unsigned int most)
{
	unsigned long below = 0, range = 0;
	struct zone *zone;

	for (zone = ssw_node_zone(nid, NULL); zone; zone = ssw_node_zone(nid, zone)) {
		long min = zone->_watermark[WMARK_MIN], high = zone->_watermark[WMARK_HIGH];
		long free = (long)zone_page_state(zone, NR_FREE_PAGES) -
			    zone->lowmem_reserve[SSW_NODE_IDX];

		below += high - clamp(free, min, high);
		range += high - min;
	}
	return range ? max(most * below / range, 1) : 1;
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
