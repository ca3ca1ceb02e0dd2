// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: several items to a list_lru at a time.
 *
 * mm/list_lru.c includes this file, which uses its static functions.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

/**
 * scaleswap_list_lru_add - add items that are on no list
 * @lru: where to
 * @items: the items, in the order in which list_lru_add() would get them; empty afterwards
 * @nr: how many there are, 1 at least
 * @nid: their node
 * @memcg: their memcg, or NULL. The caller keeps it from going away, by RCU if by nothing else.
 *
 * Context: any but interrupts. Takes the lock of the node's lists once.
 */
void scaleswap_list_lru_add(struct list_lru *lru, struct list_head *items, long nr, int nid,
			    struct mem_cgroup *memcg)
{
	struct list_lru_node *nlru = &lru->node[nid];
	struct list_lru_one *l;

	spin_lock(&nlru->lock);
	l = list_lru_from_memcg_idx(lru, nid, memcg_kmem_id(memcg));
	list_splice_tail_init(items, &l->list);
	if (!l->nr_items)
		set_shrinker_bit(memcg, nid, lru_shrinker_id(lru));
	l->nr_items += nr;
	nlru->nr_items += nr;
	spin_unlock(&nlru->lock);
}

/**
 * scaleswap_list_lru_del - take items off their list
 * @lru: where from
 * @items: the items, each of which is on the list of @memcg
 * @nr: how many there are
 * @nid: their node
 * @memcg: as for scaleswap_list_lru_add()
 *
 * Context: any but interrupts. Takes the lock of the node's lists once.
 */
void scaleswap_list_lru_del(struct list_lru *lru, struct list_head **items, unsigned int nr,
			    int nid, struct mem_cgroup *memcg)
{
	struct list_lru_node *nlru = &lru->node[nid];
	struct list_lru_one *l;

	spin_lock(&nlru->lock);
	l = list_lru_from_memcg_idx(lru, nid, memcg_kmem_id(memcg));
	for (unsigned int i = 0; i < nr; i++)
		list_del_init(items[i]);
	l->nr_items -= nr;
	nlru->nr_items -= nr;
	spin_unlock(&nlru->lock);
}

#endif /* CONFIG_SCALESWAP_ZBATCH */
