// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: shadow nodes of the swap cache.
 */

/**
 * DOC: Shadow nodes of the swap cache
 *
 * An evicted page leaves a shadow entry in the swap cache. Tree nodes that have only such
 * entries are put on a list, so that they can be freed when memory is short. The base
 * kernel has one such list per NUMA node, for the swap cache and the page cache together.
 * With random access, a node of the swap cache joins this list and leaves it once or twice
 * per page. Once CPUs no longer contend for lru_lock and si->lock, they contend for the lock
 * of this list.
 *
 * Here nodes of swap address spaces are on separate lists, chosen by the address space.
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
/* The lists' locks nest in the i_pages lock, as that of shadow_nodes does. */
static struct lock_class_key ssw_shadow_key;

/**
 * __scaleswap_shadow_lru - choose the list for the shadow nodes of a swap address space
 * @mapping: the swap address space
 *
 * Context: any.
 * Return: the list, which is the same as long as @mapping exists.
 */
struct list_lru *__scaleswap_shadow_lru(const struct address_space *mapping)
{
	return &ssw_shadow[hash_ptr(mapping, SSW_SHADOW_BITS)];
}

/* Count and free nodes for the root memcg only: nodes of the swap cache belong to no memcg. */
static bool ssw_shadow_wanted(const struct shrink_control *sc)
{
	return !sc->memcg || mem_cgroup_is_root(sc->memcg);
}

/**
 * __scaleswap_shadow_count - count the shadow nodes of the swap cache
 * @sc: tells the NUMA node and the memcg
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
 * ssw_shadow_share - return how many nodes of the swap cache to scan
 * @nr: how many of all nodes
 * @ours: nodes of the swap cache that there are
 * @others: nodes of files that there are
 *
 * Context: any.
 * Return: up to @nr, in proportion; rounded up, so that few are not forgotten.
 */
unsigned long ssw_shadow_share(unsigned long nr, unsigned long ours, unsigned long others)
{
	return ours ? min(nr, DIV_ROUND_UP_ULL((u64)nr * ours, ours + others)) : 0;
}

/**
 * __scaleswap_shadow_scan - free shadow nodes of the swap cache
 * @sc: tells the NUMA node, the memcg, and how many nodes to scan; of these, @others' share is left
 * @others: list of the shadow nodes of files
 * @isolate: callback that frees one
 *
 * Context: a shrinker's scan callback.
 * Return: tree nodes freed.
 */
unsigned long __scaleswap_shadow_scan(struct shrink_control *sc, struct list_lru *others,
				      list_lru_walk_cb isolate)
{
	static unsigned int next;
	unsigned long rest, freed = 0;
	unsigned int i, first = READ_ONCE(next);

	if (!ssw_shadow_wanted(sc))
		return 0;
	rest = sc->nr_to_scan;
	sc->nr_to_scan = ssw_shadow_share(rest, __scaleswap_shadow_count(sc),
					  list_lru_shrink_count(others, sc));
	rest -= sc->nr_to_scan;
	for (i = 0; i < SSW_SHADOW_LISTS && sc->nr_to_scan; i++)
		freed += list_lru_shrink_walk_irq(&ssw_shadow[(first + i) % SSW_SHADOW_LISTS],
						  sc, isolate, NULL);
	/* Racing updates do not matter: next only has to go round the lists. */
	WRITE_ONCE(next, first + i);
	sc->nr_to_scan += rest;
	return freed;
}

/**
 * ssw_shadow_init - initialize the lists of shadow nodes
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
