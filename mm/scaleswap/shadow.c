// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: shadow nodes of the swap cache.
 */

/**
 * DOC: Shadow nodes of the swap cache
 *
 * An evicted page leaves a shadow entry in the swap cache. Tree nodes that have only such
 * entries are put on a list, so that they can be freed when memory is short. The base
 * kernel has one such list a NUMA node, for the swap cache and the page cache together.
 * With random access a node of the swap cache goes onto it and comes off once or twice a
 * page. Once CPUs no longer contend for lru_lock and si->lock, they contend for the lock of
 * this list.
 *
 * Here nodes of swap address spaces are on lists of their own, chosen by the address space.
 * An address space of a per-core area is one cluster, which mostly one CPU uses. So CPUs
 * contend only by chance.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/shrinker.h>

#include "internal.h"

#define SSW_SHADOW_BITS	7
#define SSW_SHADOW_LISTS	BIT(SSW_SHADOW_BITS)

static struct list_lru ssw_shadow[SSW_SHADOW_LISTS];
/* Nests in the i_pages lock, as that of shadow_nodes does. */
static struct lock_class_key ssw_shadow_key;

/**
 * __scaleswap_shadow_lru - where a swap address space has its shadow nodes
 * @mapping: the swap address space
 *
 * Context: any.
 * Return: the list; the same for as long as @mapping exists.
 */
struct list_lru *__scaleswap_shadow_lru(const struct address_space *mapping)
{
	return &ssw_shadow[hash_ptr(mapping, SSW_SHADOW_BITS)];
}

/* The swap cache's nodes are nobody's: they are counted and freed for the root. */
static bool ssw_shadow_wanted(const struct shrink_control *sc)
{
	return !sc->memcg || mem_cgroup_is_root(sc->memcg);
}

/**
 * __scaleswap_shadow_count - how many shadow nodes the swap cache has
 * @sc: which NUMA node, and for which memcg
 *
 * Context: a shrinker's count callback.
 * Return: tree nodes that could be freed.
 */
unsigned long __scaleswap_shadow_count(struct shrink_control *sc)
{
	unsigned long nodes = 0;
	int i;

	for (i = 0; i < SSW_SHADOW_LISTS && ssw_shadow_wanted(sc); i++)
		nodes += list_lru_shrink_count(&ssw_shadow[i], sc);
	return nodes;
}

/**
 * __scaleswap_shadow_scan - free shadow nodes of the swap cache
 * @sc: which NUMA node, for which memcg, and how many to look at
 * @isolate: frees one
 *
 * Context: a shrinker's scan callback.
 * Return: tree nodes freed.
 */
unsigned long __scaleswap_shadow_scan(struct shrink_control *sc, list_lru_walk_cb isolate)
{
	static unsigned int next;
	unsigned long freed = 0;
	unsigned int i, first = READ_ONCE(next);

	if (!ssw_shadow_wanted(sc))
		return 0;
	for (i = 0; i < SSW_SHADOW_LISTS && sc->nr_to_scan; i++)
		freed += list_lru_shrink_walk_irq(&ssw_shadow[(first + i) % SSW_SHADOW_LISTS],
						  sc, isolate, NULL);
	/* Racing updates do not matter: it only has to go round. */
	WRITE_ONCE(next, first + i);
	return freed;
}

/**
 * ssw_shadow_init - make the lists
 *
 * Context: boot, before there are swap areas.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_shadow_init(void)
{
	int i, err;

	for (i = 0; i < SSW_SHADOW_LISTS; i++) {
		err = __list_lru_init(&ssw_shadow[i], false, &ssw_shadow_key, NULL);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		list_lru_destroy(&ssw_shadow[i]);
	return err;
}
