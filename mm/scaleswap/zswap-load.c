// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap loads pages in batches.
 *
 * mm/zswap.c includes this file, which uses its static functions.
 *
 * Readahead reads pages one after the other. Those that zswap has are put aside, and loaded in
 * groups when there are enough, or at the end of readahead. Rules:
 *
 * 1. A page that a fault waits for is not put aside if it is read first, as scaleswap=fault does.
 * 2. A folio that was put aside is locked, and the swap cache has its slot. So its entry stays:
 *    the slot is in use, who stores needs the lock, and writeback finds the slot in the swap cache.
 * 3. Folios that were put aside are known to the plug of their task, and to nobody else. A task
 *    that is about to sleep hands them to a worker. Before a task reclaims, it loads them itself:
 *    others may wait for them.
 * 4. An entry leaves the tree before its folio is unlocked. Who has the lock next may store the
 *    page anew.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

#include <linux/blkdev.h>
#include <linux/delayacct.h>
#include <linux/psi.h>

#include "internal.h"
#include "zbatch.h"

/**
 * struct ssw_zload - folios to be loaded
 * @cb: in the plug of the task that reads ahead
 * @work: loads them if the task sleeps
 * @nr: how many there are
 * @folio: the folios, locked
 * @entry: their entries
 */
struct ssw_zload {
	struct blk_plug_cb cb;
	struct work_struct work;
	unsigned int nr;
	struct folio *folio[SSW_ZLOAD_MAX];
	struct zswap_entry *entry[SSW_ZLOAD_MAX];
};

/* Take entries out of their trees, which nobody looks for: their folios are locked. */
static void ssw_zload_erase(struct zswap_entry **entry, unsigned int nr)
{
	unsigned int i = 0;

	while (i < nr) {
		struct xarray *tree = swap_zswap_tree(entry[i]->swpentry);
		XA_STATE(xas, tree, swap_cache_index(entry[i]->swpentry));

		xas_lock(&xas);
		for (;;) {
			xas_store(&xas, NULL);
			if (++i == nr || swap_zswap_tree(entry[i]->swpentry) != tree)
				break;
			xas_set(&xas, swap_cache_index(entry[i]->swpentry));
		}
		xas_unlock(&xas);
	}
}

/* Take entries off their LRU list, which have one node and object cgroup. */
static void ssw_zload_del(struct zswap_entry **entry, unsigned int nr)
{
	struct list_head *item[SSW_ZBATCH_MAX];

	for (unsigned int i = 0; i < nr; i++)
		item[i] = &entry[i]->lru;
	/* As zswap_lru_del(): under RCU, the memcg or its parent has them. */
	rcu_read_lock();
	scaleswap_list_lru_del(&zswap_list_lru, item, nr, entry[0]->nid,
			       mem_cgroup_from_entry(entry[0]));
	rcu_read_unlock();
}

/* Free entries that are in no tree any more. */
static void ssw_zload_free(struct zswap_entry **entry, unsigned int nr)
{
	unsigned int i, n;

	for (i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && entry[i + n]->nid == entry[i]->nid &&
		     entry[i + n]->objcg == entry[i]->objcg; n++)
			;
		ssw_zload_del(entry + i, n);
	}
	for (i = 0; i < nr; i++) {
		struct obj_cgroup *objcg = entry[i]->objcg;

		zpool_free(entry[i]->pool->zpool, entry[i]->handle);
		zswap_pool_put(entry[i]->pool);
		if (objcg) {
			obj_cgroup_uncharge_zswap(objcg, entry[i]->length);
			obj_cgroup_put(objcg);
		}
	}
	kmem_cache_free_bulk(zswap_entry_cache, nr, (void **)entry);
	atomic_sub(nr, &zswap_stored_pages);
}

/* Load folios whose entries are in one pool. One that cannot be loaded leaves others alone. */
static void ssw_zload_group(struct folio **folio, struct zswap_entry **entry, unsigned int nr,
			    bool late)
{
	unsigned long right = ssw_zunits_decompress(folio, entry, nr);
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		/* If it fails alone, too, who reads it gets an I/O error. The entry stays. */
		if (!test_bit(i, &right) && zswap_decompress(entry[i], folio[i])) {
			folio_unlock(folio[i]);
			continue;
		}
		folio[n] = folio[i];
		entry[n++] = entry[i];
	}
	trace_scaleswap_zload(nr, n, late);
	if (!n)
		return;
	ssw_zload_erase(entry, n);
	for (i = 0; i < n; i++) {
		bool ahead = folio_test_readahead(folio[i]);

		folio_mark_dirty(folio[i]);
		/* Readahead has marked it already, which that takes back. */
		if (ahead)
			folio_set_readahead(folio[i]);
		folio_mark_uptodate(folio[i]);
		folio_unlock(folio[i]);
		if (entry[i]->objcg)
			count_objcg_events(entry[i]->objcg, ZSWPIN, 1);
	}
	count_vm_events(ZSWPIN, n);
	count_vm_events(SCALESWAP_ZSWAP_LOADED, n);
	ssw_stat_add(SSW_ZBATCH_LOADED, n);
	ssw_stat_add(SSW_ZBATCH_LOAD_GROUPS, 1);
	ssw_zload_free(entry, n);
}

/* Load all, in groups. */
static void ssw_zload_run(struct ssw_zload *load, bool late)
{
	unsigned int i, n;

	for (i = 0; i < load->nr; i += n) {
		for (n = 1; n < SSW_ZBATCH_MAX && i + n < load->nr &&
		     load->entry[i + n]->pool == load->entry[i]->pool; n++)
			;
		ssw_zload_group(load->folio + i, load->entry + i, n, late);
	}
	kfree(load);
}

/* Load all in the task that reads ahead, within swap_read_folio() or as if it were. */
static void ssw_zload_here(struct ssw_zload *load)
{
	bool workingset = false, in_thrashing;
	unsigned long pflags;

	for (unsigned int i = 0; i < load->nr; i++)
		workingset |= folio_test_workingset(load->folio[i]);
	if (workingset) {
		delayacct_thrashing_start(&in_thrashing);
		psi_memstall_enter(&pflags);
	}
	ssw_zload_run(load, false);
	if (workingset) {
		delayacct_thrashing_end(&in_thrashing);
		psi_memstall_leave(&pflags);
	}
}

/* It counts as a stall, as it does one by one. */
static void ssw_zload_end(struct ssw_zload *load)
{
	delayacct_swapin_start();
	ssw_zload_here(load);
	delayacct_swapin_end();
}

static void ssw_zload_work(struct work_struct *work)
{
	ssw_zload_run(container_of(work, struct ssw_zload, work), true);
}

static void ssw_zload_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct ssw_zload *load = container_of(cb, struct ssw_zload, cb);

	if (!from_schedule) {
		ssw_zload_end(load);
		return;
	}
	ssw_stat_add(SSW_ZBATCH_LOAD_LATE, load->nr);
	INIT_WORK(&load->work, ssw_zload_work);
	queue_work(ssw_zload_wq, &load->work);
}

static struct ssw_zload *ssw_zload_find(void)
{
	struct blk_plug_cb *cb;

	list_for_each_entry(cb, &current->plug->cb_list, list) {
		if (cb->callback == ssw_zload_unplug)
			return container_of(cb, struct ssw_zload, cb);
	}
	return NULL;
}

/*
 * See scaleswap_zswap_flush().
 */
void __scaleswap_zswap_flush(void)
{
	struct ssw_zload *load = ssw_zload_find();

	if (!load)
		return;
	list_del(&load->cb.list);
	ssw_zload_end(load);
}

/*
 * See scaleswap_zswap_defer().
 */
bool __scaleswap_zswap_defer(struct folio *folio, struct swap_iocb **plug)
{
	unsigned int most = READ_ONCE(ssw_zbatch_load);
	struct zswap_entry *entry;
	struct ssw_zload *load;

	if (zswap_never_enabled() || most < 2 || *plug == SSW_CRITICAL || !current->plug ||
	    !ssw_zload_wq || folio_test_large(folio) || !folio_test_swapcache(folio))
		return false;
	entry = xa_load(swap_zswap_tree(folio->swap), swap_cache_index(folio->swap));
	if (!entry)
		return false;
	load = ssw_zload_find();
	if (!load) {
		load = kmalloc(sizeof(*load), GFP_NOWAIT | __GFP_NOWARN);
		if (!load) {
			ssw_fallback(raw_smp_processor_id(), SSW_FB_ZBATCH_ALONE, 0);
			return false;
		}
		load->cb.callback = ssw_zload_unplug;
		load->nr = 0;
		list_add(&load->cb.list, &current->plug->cb_list);
	}
	load->folio[load->nr] = folio;
	load->entry[load->nr] = entry;
	if (++load->nr >= min(most, SSW_ZLOAD_MAX)) {
		list_del(&load->cb.list);
		ssw_zload_here(load);
	}
	return true;
}

#endif /* CONFIG_SCALESWAP_ZBATCH */
