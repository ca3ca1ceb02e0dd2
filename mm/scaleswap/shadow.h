/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: shadow nodes of the swap cache, for mm/workingset.c alone.
 */
#ifndef _MM_SCALESWAP_SHADOW_H
#define _MM_SCALESWAP_SHADOW_H

#include <linux/list_lru.h>
#include <linux/scaleswap.h>

struct list_lru *__scaleswap_shadow_lru(const struct address_space *mapping);
unsigned long __scaleswap_shadow_count(struct shrink_control *sc);
unsigned long __scaleswap_shadow_scan(struct shrink_control *sc, list_lru_walk_cb isolate);

/**
 * scaleswap_shadow_lru - where a mapping has its shadow nodes
 * @mapping: of a file, or a swap address space, which has no inode
 * @lru: where without ScaleSwap
 *
 * Context: any.
 * Return: the list; the same for as long as @mapping exists.
 */
static inline struct list_lru *scaleswap_shadow_lru(const struct address_space *mapping,
						    struct list_lru *lru)
{
	if (scaleswap_on() && !mapping->host)
		return __scaleswap_shadow_lru(mapping);
	return lru;
}

/**
 * scaleswap_shadow_count - shadow nodes that are on ScaleSwap's lists
 * @sc: as the shrinker got it
 *
 * Context: a shrinker's count callback.
 * Return: tree nodes.
 */
static inline unsigned long scaleswap_shadow_count(struct shrink_control *sc)
{
	return scaleswap_on() ? __scaleswap_shadow_count(sc) : 0;
}

/**
 * scaleswap_shadow_scan - free shadow nodes from ScaleSwap's lists
 * @sc: as the shrinker got it, with what is left to scan
 * @isolate: frees one
 *
 * Context: a shrinker's scan callback.
 * Return: tree nodes freed.
 */
static inline unsigned long scaleswap_shadow_scan(struct shrink_control *sc,
						  list_lru_walk_cb isolate)
{
	return scaleswap_on() ? __scaleswap_shadow_scan(sc, isolate) : 0;
}

#endif /* _MM_SCALESWAP_SHADOW_H */
