// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap in batches.
 *
 * mm/zswap.c includes this file, which uses its static functions.
 *
 * The pages of a large folio are stored in groups. All of a folio's pages are stored, or none is:
 * it is not split. Of those that do not get shorter a few are kept as they are: their entries have
 * the length PAGE_SIZE, which no compressed page has while this is on.
 *
 * The caller has locked the folio, and the swap cache has its slots. So nobody else stores, loads
 * or invalidates entries of these slots, and writeback, which needs their place in the swap cache,
 * lets them be. The shrinker may look at them as soon as they are on an LRU list, which is where a
 * group comes last.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

#include "zbatch.h"

/* A large folio may have one page in so many that does not get shorter. */
#define SSW_RAW_SHARE	8

static int shrink_memcg(struct mem_cgroup *memcg);

/**
 * struct ssw_zgroup - pages of a folio that are stored at a time
 * @folio: the folio
 * @pool: with a reference for each entry
 * @objcg: the folio's, or NULL, with a reference for each entry
 * @first: number of the first page in the folio
 * @nr: pages
 * @bytes: that they take compressed
 * @raw: how many of the folio's pages may still be kept as they are
 * @nr_raw: how many of this group are
 * @entry: their entries
 */
struct ssw_zgroup {
	struct folio *folio;
	struct zswap_pool *pool;
	struct obj_cgroup *objcg;
	long first;
	unsigned int nr;
	unsigned long bytes;
	long raw;
	unsigned int nr_raw;
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

/* Whether limits let more be stored */
static bool ssw_zswap_allowed(struct obj_cgroup *objcg)
{
	if (objcg && !obj_cgroup_may_zswap(objcg)) {
		struct mem_cgroup *memcg = get_mem_cgroup_from_objcg(objcg);
		int err = shrink_memcg(memcg);

		mem_cgroup_put(memcg);
		if (err)
			return false;
	}
	return !zswap_check_limits();
}

/* Compress a page, or take it as it is, and give it a place in the pool. */
static int ssw_zswap_put(struct ssw_zgroup *g, unsigned int i)
{
	struct page *page = folio_page(g->folio, g->first + i);
	struct zpool *zpool = g->pool->zpool;
	gfp_t gfp = __GFP_NORETRY | __GFP_NOWARN | __GFP_KSWAPD_RECLAIM;
	struct zswap_entry *entry = g->entry[i];
	struct scatterlist input, output;
	struct crypto_acomp_ctx *ctx;
	int failed, err;
	unsigned int len;
	void *to;

	if (zpool_malloc_support_movable(zpool))
		gfp |= __GFP_HIGHMEM | __GFP_MOVABLE;
	ctx = acomp_ctx_get_cpu_lock(g->pool);
	sg_init_table(&input, 1);
	sg_set_page(&input, page, PAGE_SIZE, 0);
	/* As zswap_compress() does: some compressors do not look how much room there is. */
	sg_init_one(&output, ctx->buffer, PAGE_SIZE * 2);
	acomp_request_set_params(ctx->req, &input, &output, PAGE_SIZE, PAGE_SIZE);
	failed = crypto_wait_req(crypto_acomp_compress(ctx->req), &ctx->wait);
	len = ctx->req->dlen;
	if (failed || len >= PAGE_SIZE) {
		/* Compressors in software have no own error for what does not get shorter. */
		len = PAGE_SIZE;
		err = g->nr_raw < g->raw ? 0 : -ENOSPC;
		g->nr_raw++;
	} else {
		err = 0;
	}
	err = err ?: zpool_malloc(zpool, len, gfp, &entry->handle);
	if (!err) {
		to = zpool_map_handle(zpool, entry->handle, ZPOOL_MM_WO);
		if (len == PAGE_SIZE)
			memcpy_from_page(to, page, 0, PAGE_SIZE);
		else
			memcpy(to, ctx->buffer, len);
		zpool_unmap_handle(zpool, entry->handle);
	}
	acomp_ctx_put_unlock(ctx);
	/* As zswap_compress() counts, which need not know whether a page got no shorter */
	if (err == -ENOSPC && failed && failed != -ENOSPC)
		zswap_reject_compress_fail++;
	else if (err == -ENOSPC)
		zswap_reject_compress_poor++;
	else if (err)
		zswap_reject_alloc_fail++;
	entry->length = len;
	return err;
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

static void ssw_zgroup_put(const struct ssw_zgroup *g)
{
	percpu_ref_put_many(&g->pool->ref, g->nr);
	for (unsigned int i = 0; i < g->nr; i++)
		obj_cgroup_put(g->objcg);
}

/* Put a group's entries into the tree. Return how many are there, of @g->nr. */
static unsigned int ssw_zgroup_insert(const struct ssw_zgroup *g)
{
	swp_entry_t first = swp_entry(swp_type(g->folio->swap),
				      swp_offset(g->folio->swap) + g->first);
	XA_STATE(xas, swap_zswap_tree(first), swap_cache_index(first));
	struct zswap_entry *old[SSW_ZBATCH_MAX];
	unsigned int n = 0;

	do {
		xas_lock(&xas);
		for (;;) {
			old[n] = xas_store(&xas, g->entry[n]);
			if (xas_error(&xas) || ++n == g->nr)
				break;
			xas_next(&xas);
		}
		xas_unlock(&xas);
	} while (xas_nomem(&xas, GFP_KERNEL));
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
	scaleswap_list_lru_add(&zswap_list_lru, &items, g->nr, folio_nid(g->folio),
			       mem_cgroup_from_entry(g->entry[0]));
	rcu_read_unlock();
	atomic_add(g->nr, &zswap_stored_pages);
	g->raw -= g->nr_raw;
}

/*
 * Store the pages of a group: all of them, or none.
 * Return: 0; -ENOSPC if too many do not get shorter, -ENOMEM.
 */
static int ssw_zgroup_store(struct ssw_zgroup *g)
{
	unsigned int i, n = 0;
	int err = 0;

	if (!kmem_cache_alloc_bulk(zswap_entry_cache, GFP_KERNEL, g->nr, (void **)g->entry)) {
		zswap_reject_kmemcache_fail++;
		return -ENOMEM;
	}
	g->bytes = 0;
	g->nr_raw = 0;
	for (i = 0; i < g->nr; i++) {
		struct zswap_entry *entry = g->entry[i];

		err = ssw_zswap_put(g, i);
		if (err)
			goto fail;
		entry->swpentry = page_swap_entry(folio_page(g->folio, g->first + i));
		entry->objcg = g->objcg;
		entry->pool = g->pool;
		entry->referenced = true;
		entry->nid = folio_nid(g->folio);
		g->bytes += entry->length;
	}
	ssw_zgroup_get(g);
	n = ssw_zgroup_insert(g);
	if (n == g->nr) {
		ssw_zgroup_stored(g);
		return 0;
	}
	zswap_reject_alloc_fail++;
	err = -ENOMEM;
	while (n--) {
		swp_entry_t swp = g->entry[n]->swpentry;

		xa_erase(swap_zswap_tree(swp), swap_cache_index(swp));
	}
	ssw_zgroup_put(g);
fail:
	while (i--)
		zpool_free(g->pool->zpool, g->entry[i]->handle);
	kmem_cache_free_bulk(zswap_entry_cache, g->nr, (void **)g->entry);
	return err;
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
	struct ssw_zgroup g = { .folio = folio, .raw = nr / SSW_RAW_SHARE };
	enum ssw_fallback why = SSW_FB_ZBATCH_NO_MEMORY;
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
	if (!g.pool)
		goto fail;
	/* NULL without CONFIG_MEMCG, which the compiler does not know of g.objcg */
	if (objcg) {
		struct mem_cgroup *memcg = get_mem_cgroup_from_objcg(objcg);

		err = memcg_list_lru_alloc(memcg, &zswap_list_lru, GFP_KERNEL);
		mem_cgroup_put(memcg);
		if (err)
			goto fail;
	}
	for (at = 0; at < nr; at += g.nr) {
		err = -EDQUOT;
		if (!ssw_zswap_allowed(objcg))
			break;
		g.first = at;
		g.nr = min_t(long, most, nr - at);
		err = ssw_zgroup_store(&g);
		if (err)
			break;
		groups++;
		cond_resched();
	}
	if (!err) {
		count_vm_events(ZSWPOUT, nr);
		if (objcg)
			count_objcg_events(objcg, ZSWPOUT, nr);
		ssw_stat_add(SSW_ZBATCH_GROUPS, groups);
		ssw_stat_add(SSW_ZBATCH_STORED, nr);
		ssw_stat_add(SSW_ZBATCH_RAW, nr / SSW_RAW_SHARE - g.raw);
	}
fail:
	if (g.pool)
		zswap_pool_put(g.pool);
	obj_cgroup_put(objcg);
	if (!err)
		return true;
	if (err == -ENOSPC)
		why = SSW_FB_ZBATCH_POOR;
	else if (err == -EDQUOT)
		why = SSW_FB_ZBATCH_LIMIT;
	ssw_fallback(raw_smp_processor_id(), why, folio_order(folio));
	if (zswap_pool_reached_full)
		queue_work(shrink_wq, &zswap_shrink_work);
drop:
	ssw_zswap_drop(folio);
	return false;
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
