// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap in batches.
 *
 * mm/zswap.c includes this file, which uses its static functions.
 *
 * Pages are stored in groups, of a large folio, or of several others that reclaim has put aside.
 * All of a large folio's pages are stored, or none is: it is not split. Of those that do not get
 * shorter a few are kept as they are: their entries have the length PAGE_SIZE, which no compressed
 * page has while this is on.
 *
 * The caller has locked the folios, and the swap cache has their slots. So nobody else stores,
 * loads or invalidates entries of these slots, and writeback, which needs their place in the swap
 * cache, lets them be. The shrinker may look at them as soon as they are on an LRU list, which is
 * where a group comes last.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

#include "internal.h"
#include "zbatch.h"

#include <trace/events/scaleswap.h>

/* A large folio may have one page in so many that does not get shorter. */
#define SSW_RAW_SHARE	8

static int shrink_memcg(struct mem_cgroup *memcg);

/**
 * struct ssw_zgroup - pages that are stored at a time
 * @pool: with a reference for each entry
 * @objcg: that of all pages, or NULL, with a reference for each entry
 * @nid: node of all pages
 * @nr: pages
 * @whole: they are of a large folio, so one that cannot be stored fails all
 * @bytes: that they take compressed
 * @raw: how many pages may still be kept as they are, of @whole's folio
 * @nr_raw: how many of this group are
 * @page: the pages
 * @entry: their entries
 */
struct ssw_zgroup {
	struct zswap_pool *pool;
	struct obj_cgroup *objcg;
	int nid;
	unsigned int nr;
	bool whole;
	unsigned long bytes;
	long raw;
	unsigned int nr_raw;
	struct page *page[SSW_ZBATCH_MAX];
	struct zswap_entry *entry[SSW_ZBATCH_MAX];
};

/* Whether an entry is a page that was not compressed */
static bool scaleswap_zswap_is_raw(const struct zswap_entry *entry)
{
	return scaleswap_zbatch_on() && entry->length == PAGE_SIZE;
}

/* Read such a page. */
static void scaleswap_zswap_read_raw(const struct zswap_entry *entry, struct folio *folio)
{
	struct zpool *zpool = entry->pool->zpool;
	void *src = zpool_map_handle(zpool, entry->handle, ZPOOL_MM_RO);

	memcpy_to_folio(folio, 0, src, PAGE_SIZE);
	zpool_unmap_handle(zpool, entry->handle);
}

/*
 * How many of @nr pages limits let be stored. At the memcg's limit an older page has to be written
 * back for each. So the list is walked once for each, as if they came one by one: a walk that
 * writes nothing back makes an entry older, and without such walks none ever would be.
 */
static unsigned int ssw_zswap_allowed(struct obj_cgroup *objcg, unsigned int nr)
{
	unsigned int allowed = nr;

	if (objcg && !obj_cgroup_may_zswap(objcg)) {
		struct mem_cgroup *memcg = get_mem_cgroup_from_objcg(objcg);

		allowed = 0;
		for (unsigned int i = 0; i < nr; i++)
			allowed += !shrink_memcg(memcg);
		mem_cgroup_put(memcg);
	}
	return !allowed || zswap_check_limits() ? 0 : allowed;
}

/* Compress a page into @ctx's buffer. Return its length, or an error. */
static int ssw_zswap_compress(struct crypto_acomp_ctx *ctx, struct page *page)
{
	struct scatterlist input, output;
	int err;

	sg_init_table(&input, 1);
	sg_set_page(&input, page, PAGE_SIZE, 0);
	/* As zswap_compress() does: some compressors do not look how much room there is. */
	sg_init_one(&output, ctx->buffer, PAGE_SIZE * 2);
	acomp_request_set_params(ctx->req, &input, &output, PAGE_SIZE, PAGE_SIZE);
	err = crypto_wait_req(crypto_acomp_compress(ctx->req), &ctx->wait);
	return err ?: ctx->req->dlen;
}

/*
 * Give a page a place in the pool, as it is or compressed. @result is the length of what is in
 * @buffer, or why nothing is.
 */
static int ssw_zswap_put(struct ssw_zgroup *g, struct page *page, struct zswap_entry *entry,
			 const void *buffer, int result)
{
	struct zpool *zpool = g->pool->zpool;
	gfp_t gfp = __GFP_NORETRY | __GFP_NOWARN | __GFP_KSWAPD_RECLAIM;
	unsigned int len = result;
	int err = 0;
	void *to;

	if (zpool_malloc_support_movable(zpool))
		gfp |= __GFP_HIGHMEM | __GFP_MOVABLE;
	if (result < 0 || len >= PAGE_SIZE) {
		/* Compressors in software have no own error for what does not get shorter. */
		len = PAGE_SIZE;
		err = g->nr_raw < g->raw ? 0 : -ENOSPC;
		g->nr_raw++;
	}
	err = err ?: zpool_malloc(zpool, len, gfp, &entry->handle);
	/* As zswap_compress() counts, which need not know whether a page got no shorter */
	if (err == -ENOSPC && result < 0 && result != -ENOSPC)
		zswap_reject_compress_fail++;
	else if (err == -ENOSPC)
		zswap_reject_compress_poor++;
	else if (err)
		zswap_reject_alloc_fail++;
	if (err)
		return err;
	to = zpool_map_handle(zpool, entry->handle, ZPOOL_MM_WO);
	if (len == PAGE_SIZE)
		memcpy_from_page(to, page, 0, PAGE_SIZE);
	else
		memcpy(to, buffer, len);
	zpool_unmap_handle(zpool, entry->handle);
	entry->swpentry = page_swap_entry(page);
	entry->length = len;
	entry->objcg = g->objcg;
	entry->pool = g->pool;
	entry->referenced = true;
	entry->nid = g->nid;
	g->bytes += len;
	return 0;
}

/* What a group's entries refer to: the pool and the object cgroup, once an entry each */
static void ssw_zgroup_get(const struct ssw_zgroup *g)
{
	percpu_ref_get_many(&g->pool->ref, g->nr);
#ifdef CONFIG_MEMCG
	if (g->objcg)
		obj_cgroup_get_many(g->objcg, g->nr);
#endif
}

static void ssw_zgroup_put(const struct ssw_zgroup *g, unsigned int nr)
{
	percpu_ref_put_many(&g->pool->ref, nr);
	for (unsigned int i = 0; i < nr; i++)
		obj_cgroup_put(g->objcg);
}

/* Put entries into the tree of the first, as long as they are of that one. Return how many. */
static unsigned int ssw_zgroup_insert_some(const struct ssw_zgroup *g, unsigned int first,
					   struct zswap_entry *old[SSW_ZBATCH_MAX])
{
	struct xarray *tree = swap_zswap_tree(g->entry[first]->swpentry);
	XA_STATE(xas, tree, swap_cache_index(g->entry[first]->swpentry));
	unsigned int n = first;

	do {
		xas_lock(&xas);
		for (;;) {
			swp_entry_t swp;

			old[n] = xas_store(&xas, g->entry[n]);
			if (xas_error(&xas) || ++n == g->nr)
				break;
			swp = g->entry[n]->swpentry;
			if (swap_zswap_tree(swp) != tree)
				break;
			if (swap_cache_index(swp) == xas.xa_index + 1)
				xas_next(&xas);
			else
				xas_set(&xas, swap_cache_index(swp));
		}
		xas_unlock(&xas);
	} while (xas_nomem(&xas, GFP_KERNEL));
	return n - first;
}

/* Put a group's entries into their trees. Return how many are there, of @g->nr. */
static unsigned int ssw_zgroup_insert(const struct ssw_zgroup *g)
{
	struct zswap_entry *old[SSW_ZBATCH_MAX];
	unsigned int n = 0, some;

	do {
		some = ssw_zgroup_insert_some(g, n, old);
		n += some;
	} while (some && n < g->nr);
	/* The folio stayed in memory after it was stored before, and was written to. */
	for (unsigned int i = 0; i < n; i++) {
		if (old[i])
			zswap_entry_free(old[i]);
	}
	return n;
}

/* The pages of a group are stored: account for them. */
static void ssw_zgroup_stored(struct ssw_zgroup *g)
{
	LIST_HEAD(items);

	if (g->objcg)
		obj_cgroup_charge_zswap(g->objcg, g->bytes, g->nr);
	for (unsigned int i = 0; i < g->nr; i++)
		list_add_tail(&g->entry[i]->lru, &items);
	/* As zswap_lru_add(): under RCU, the memcg or its parent gets them. */
	rcu_read_lock();
	scaleswap_list_lru_add(&zswap_list_lru, &items, g->nr, g->nid,
			       mem_cgroup_from_entry(g->entry[0]));
	rcu_read_unlock();
	atomic_add(g->nr, &zswap_stored_pages);
	g->raw -= g->nr_raw;
}

/* Keep the first @n pages of a group, which are in their trees, and give back what others have. */
static void ssw_zgroup_cut(struct ssw_zgroup *g, unsigned int n)
{
	unsigned int nr = g->nr - n;

	for (unsigned int i = n; i < g->nr; i++) {
		g->bytes -= g->entry[i]->length;
		zpool_free(g->pool->zpool, g->entry[i]->handle);
	}
	ssw_zgroup_put(g, nr);
	kmem_cache_free_bulk(zswap_entry_cache, nr, (void **)(g->entry + n));
	g->nr = n;
}

/*
 * Give some pages of a group their places in the pool, whose results and buffers these are. The
 * first is @page[@at].
 */
static int ssw_zgroup_keep(struct ssw_zgroup *g, unsigned int at, unsigned int nr, u8 **buffer,
			   const int *result)
{
	int err = 0;

	for (unsigned int i = 0; i < nr && !(g->whole && err); i++) {
		int failed = ssw_zswap_put(g, g->page[at + i], g->entry[g->nr], buffer[i],
					   result[i]);

		if (failed) {
			err = failed;
			continue;
		}
		swap(g->page[g->nr], g->page[at + i]);
		g->nr++;
	}
	return err;
}

/*
 * Compress the pages of a group, and give them their places in the pool. @g->nr is how many have
 * one. They come first afterwards. Return 0, or the error of the last one that has none.
 */
static int ssw_zgroup_compress(struct ssw_zgroup *g, unsigned int nr)
{
	int result[SSW_ZBATCH_MAX], err = 0, failed;
	unsigned int n;

	for (unsigned int at = 0; at < nr && !(g->whole && err); at += n) {
		struct crypto_acomp_ctx *ctx = acomp_ctx_get_cpu_lock(g->pool);

		if (ctx->units) {
			/* All that is left: another CPU's driver may have taken single pages. */
			n = nr - at;
			ssw_zunits_compress(ctx, g->page + at, n, result);
			failed = ssw_zgroup_keep(g, at, n, ctx->units->buffer, result);
		} else {
			/* A fault may wait for this CPU's context: it need not wait for all. */
			n = 1;
			result[0] = ssw_zswap_compress(ctx, g->page[at]);
			failed = ssw_zgroup_keep(g, at, 1, &ctx->buffer, result);
		}
		acomp_ctx_put_unlock(ctx);
		err = failed ?: err;
	}
	/* A page without a place has no use for its entry. */
	if (g->nr < nr)
		kmem_cache_free_bulk(zswap_entry_cache, nr - g->nr, (void **)(g->entry + g->nr));
	return err;
}

/*
 * Store the pages of a group. Of a large folio all are stored, or none is. @g->nr is how many are
 * stored. They come first afterwards.
 *
 * Return: 0, or for the last one that is not stored -EDQUOT, -ENOSPC or -ENOMEM.
 */
static int ssw_zgroup_try(struct ssw_zgroup *g)
{
	unsigned int n, nr = ssw_zswap_allowed(g->objcg, g->nr);
	int err = nr < g->nr ? -EDQUOT : 0;

	if (err && g->whole)
		nr = 0;
	g->nr = 0;
	g->bytes = 0;
	g->nr_raw = 0;
	if (!nr)
		return err;
	if (!kmem_cache_alloc_bulk(zswap_entry_cache, GFP_KERNEL, nr, (void **)g->entry)) {
		zswap_reject_kmemcache_fail++;
		return -ENOMEM;
	}
	err = ssw_zgroup_compress(g, nr) ?: err;
	if (!g->nr)
		return err;
	ssw_zgroup_get(g);
	if (g->whole && err) {
		ssw_zgroup_cut(g, 0);
		return err;
	}
	n = ssw_zgroup_insert(g);
	if (n < g->nr) {
		zswap_reject_alloc_fail++;
		err = -ENOMEM;
		while (g->whole && n) {
			swp_entry_t swp = g->entry[--n]->swpentry;

			xa_erase(swap_zswap_tree(swp), swap_cache_index(swp));
		}
		ssw_zgroup_cut(g, n);
	}
	if (g->nr)
		ssw_zgroup_stored(g);
	return err;
}

/* See ssw_zgroup_try(). */
static int ssw_zgroup_store(struct ssw_zgroup *g)
{
	unsigned int nr = g->nr;
	int err = ssw_zgroup_try(g);

	trace_scaleswap_zstore(g->whole, nr, g->nr, err);
	return err;
}

/* Have the memcg's list of entries, without which none of its pages is stored. */
static int ssw_zswap_list(struct obj_cgroup *objcg)
{
	struct mem_cgroup *memcg;
	int err;

	if (!IS_ENABLED(CONFIG_MEMCG) || !objcg)
		return 0;
	memcg = get_mem_cgroup_from_objcg(objcg);
	err = memcg_list_lru_alloc(memcg, &zswap_list_lru, GFP_KERNEL);
	mem_cgroup_put(memcg);
	return err;
}

static void ssw_zswap_count(struct obj_cgroup *objcg, long nr)
{
	count_vm_events(ZSWPOUT, nr);
	count_vm_events(SCALESWAP_ZSWAP_STORED, nr);
	if (objcg)
		count_objcg_events(objcg, ZSWPOUT, nr);
}

/* Drop all entries of a folio: what was stored of it, and those of before. */
static void ssw_zswap_drop(struct folio *folio)
{
	for (long i = 0; i < folio_nr_pages(folio); i++) {
		swp_entry_t swp = page_swap_entry(folio_page(folio, i));
		struct zswap_entry *entry;

		entry = zswap_tree_erase(swap_zswap_tree(swp), swap_cache_index(swp));
		if (entry)
			zswap_entry_free(entry);
	}
}

/* Count folios that go to their area, for the error that zswap gave. */
static void ssw_zswap_refused(int err, unsigned int nr, unsigned int order)
{
	enum ssw_fallback why = SSW_FB_ZBATCH_NO_MEMORY;

	if (err == -ENOSPC)
		why = SSW_FB_ZBATCH_POOR;
	else if (err == -EDQUOT)
		why = SSW_FB_ZBATCH_LIMIT;
	while (nr--)
		ssw_fallback(raw_smp_processor_id(), why, order);
	if (zswap_pool_reached_full)
		queue_work(shrink_wq, &zswap_shrink_work);
}

/**
 * scaleswap_zswap_store - store a large folio
 * @folio: locked, in the swap cache, dirty
 *
 * Intel's white paper on zswap with IAA found batches of 8 pages, of large folios, the fastest.
 *
 * Context: reclaim; sleeps.
 * Return: true if all pages are stored. Else none is, and the caller writes the folio to its area.
 */
static bool scaleswap_zswap_store(struct folio *folio)
{
	long nr = folio_nr_pages(folio), at;
	struct ssw_zgroup g = { .nid = folio_nid(folio), .whole = true, .raw = nr / SSW_RAW_SHARE };
	unsigned int most = READ_ONCE(ssw_zbatch_store), groups = 0;
	struct obj_cgroup *objcg;
	int err = -ENOMEM;

	if (!scaleswap_zbatch_on())
		return false;
	if (!zswap_enabled)
		goto drop;
	objcg = get_obj_cgroup_from_folio(folio);
	g.objcg = objcg;
	g.pool = zswap_pool_current_get();
	if (g.pool)
		err = ssw_zswap_list(objcg);
	for (at = 0; at < nr && !err; at += g.nr) {
		g.nr = min_t(long, most, nr - at);
		for (unsigned int i = 0; i < g.nr; i++)
			g.page[i] = folio_page(folio, at + i);
		err = ssw_zgroup_store(&g);
		groups++;
		cond_resched();
	}
	if (!err) {
		ssw_zswap_count(objcg, nr);
		count_mthp_stat(folio_order(folio), MTHP_STAT_ZSWPOUT);
	}
	if (g.pool)
		zswap_pool_put(g.pool);
	obj_cgroup_put(objcg);
	if (!err) {
		ssw_stat_add(SSW_ZBATCH_GROUPS, groups);
		ssw_stat_add(SSW_ZBATCH_STORED, nr);
		ssw_stat_add(SSW_ZBATCH_RAW, nr / SSW_RAW_SHARE - g.raw);
		return true;
	}
	ssw_zswap_refused(err, 1, folio_order(folio));
drop:
	ssw_zswap_drop(folio);
	return false;
}

/* Store folios of one memcg and node. Move those that are stored to @stored. */
static void ssw_zswap_store_run(struct ssw_zgroup *g, struct list_head *stored)
{
	struct folio *first = page_folio(g->page[0]);
	struct obj_cgroup *objcg = get_obj_cgroup_from_folio(first);
	unsigned int nr = g->nr;
	int err = -ENOMEM;

	g->objcg = objcg;
	g->nid = folio_nid(first);
	g->nr = 0;
	g->pool = zswap_pool_current_get();
	if (g->pool)
		err = ssw_zswap_list(objcg);
	if (!err) {
		g->nr = nr;
		err = ssw_zgroup_store(g);
		ssw_zswap_count(objcg, g->nr);
	}
	if (g->pool)
		zswap_pool_put(g->pool);
	obj_cgroup_put(objcg);
	if (err)
		ssw_zswap_refused(err, nr - g->nr, 0);
	for (unsigned int i = 0; i < g->nr; i++)
		list_move_tail(&page_folio(g->page[i])->lru, stored);
	ssw_stat_add(SSW_ZBATCH_LANE_STORED, g->nr);
}

/**
 * scaleswap_zswap_store_some - store folios of one page
 * @folios: the folios: locked, in the swap cache, dirty, isolated from the LRU. Those that are not
 *	stored stay here.
 * @stored: where those that are stored go
 *
 * One that cannot be stored does not keep others from it.
 *
 * Context: reclaim; sleeps.
 */
void scaleswap_zswap_store_some(struct list_head *folios, struct list_head *stored)
{
	unsigned int most = READ_ONCE(ssw_zbatch_store);
	struct folio *folio, *first;
	LIST_HEAD(refused);

	while (zswap_enabled && !list_empty(folios)) {
		struct ssw_zgroup g = { .nr = 0 };
		LIST_HEAD(run);

		first = list_first_entry(folios, struct folio, lru);
		while (g.nr < most && !list_empty(folios)) {
			folio = list_first_entry(folios, struct folio, lru);
			if (folio_memcg(folio) != folio_memcg(first) ||
			    folio_nid(folio) != folio_nid(first))
				break;
			g.page[g.nr++] = &folio->page;
			list_move_tail(&folio->lru, &run);
		}
		ssw_zswap_store_run(&g, stored);
		list_splice_tail(&run, &refused);
		cond_resched();
	}
	list_splice(&refused, folios);
	/* Or writeback would write what is older over what is written now. */
	list_for_each_entry(folio, folios, lru)
		ssw_zswap_drop(folio);
}

#else /* CONFIG_SCALESWAP_ZBATCH */

static inline bool scaleswap_zswap_is_raw(const struct zswap_entry *entry)
{
	return false;
}

static inline void scaleswap_zswap_read_raw(const struct zswap_entry *entry, struct folio *folio)
{
}

static inline bool scaleswap_zswap_store(struct folio *folio)
{
	return false;
}

#endif /* CONFIG_SCALESWAP_ZBATCH */
