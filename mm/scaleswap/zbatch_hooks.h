/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the rest of mm asks about batches of zswap; a part of hooks.h.
 */
#ifndef _MM_SCALESWAP_ZBATCH_HOOKS_H
#define _MM_SCALESWAP_ZBATCH_HOOKS_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct list_head;
struct list_lru;
struct mem_cgroup;

#ifdef CONFIG_SCALESWAP_ZBATCH

DECLARE_STATIC_KEY_FALSE(scaleswap_zbatch_key);

/**
 * scaleswap_zbatch_on - check whether zswap works in batches
 *
 * If so, an entry of zswap whose length is %PAGE_SIZE is a page that was not compressed.
 *
 * Context: any. Changes only at boot.
 * Return: true with scaleswap=zbatch.
 */
static inline bool scaleswap_zbatch_on(void)
{
	return static_branch_unlikely(&scaleswap_zbatch_key);
}

void scaleswap_list_lru_add(struct list_lru *lru, struct list_head *items, long nr, int nid,
			    struct mem_cgroup *memcg);

#else

static inline bool scaleswap_zbatch_on(void)
{
	return false;
}

#endif

#endif /* _MM_SCALESWAP_ZBATCH_HOOKS_H */
