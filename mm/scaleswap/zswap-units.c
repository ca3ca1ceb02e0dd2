// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: zswap gives several pages to a compressor that takes batches.
 *
 * mm/zswap.c includes this file, which uses its static functions.
 *
 * A pool whose compressor takes batches has buffers and scatterlists for one on each CPU. The
 * context of that CPU, which the caller has locked, is locked until the request has ended: nobody
 * else takes its buffers, and CPU hotplug does not free them.
 */

#ifdef CONFIG_SCALESWAP_ZBATCH

#include <crypto/acompress-batch.h>
#include <linux/delay.h>

#include "internal.h"
#include "zbatch.h"

/* How long a task sleeps at a time that waits for a batch */
#define SSW_ZPOLL_MIN_US	50
#define SSW_ZPOLL_MAX_US	100

/*
 * Wait for a batch to end. @err is what submitting it returned. The compressor bounds how long that
 * takes.
 */
static int ssw_zunits_wait(struct crypto_acomp_ctx *ctx, int err)
{
	ktime_t start;

	if (err != -EINPROGRESS)
		return err;
	start = ktime_get();
	while (crypto_acomp_poll(ctx->req) == -EAGAIN) {
		if (!need_resched() &&
		    ktime_us_delta(ktime_get(), start) < READ_ONCE(ssw_zbatch_spin)) {
			cpu_relax();
			continue;
		}
		ssw_stat_add(SSW_ZBATCH_SLEEPS, 1);
		usleep_range(SSW_ZPOLL_MIN_US, SSW_ZPOLL_MAX_US);
	}
	return crypto_wait_req(-EINPROGRESS, &ctx->wait);
}

/* Compress pages into @ctx's buffers. Of each the result is its length, or an error. */
static void ssw_zunits_compress(struct crypto_acomp_ctx *ctx, struct page **page, unsigned int nr,
				int *result)
{
	struct scaleswap_zunits *units = ctx->units;
	int err;

	sg_init_table(units->in, nr);
	sg_init_table(units->out, nr);
	for (unsigned int i = 0; i < nr; i++) {
		sg_set_page(&units->in[i], page[i], PAGE_SIZE, 0);
		sg_set_buf(&units->out[i], units->buffer[i], PAGE_SIZE);
	}
	acomp_request_set_params(ctx->req, units->in, units->out, nr * PAGE_SIZE, nr * PAGE_SIZE);
	acomp_request_set_unit_size(ctx->req, PAGE_SIZE);
	ssw_stat_add(SSW_ZBATCH_REQUESTS, 1);
	ssw_stat_add(SSW_ZBATCH_UNITS, nr);
	err = ssw_zunits_wait(ctx, crypto_acomp_compress(ctx->req));
	for (unsigned int i = 0; i < nr; i++)
		result[i] = err ?: acomp_unit_result(&units->out[i]);
}

/*
 * Decompress pages of one pool in one request, if its compressor takes batches.
 *
 * Return: a bit for each page that is right now. Others are as they were, or hold anything.
 */
static unsigned long ssw_zunits_decompress(struct folio **folio, struct zswap_entry **entry,
					   unsigned int nr)
{
	struct zswap_pool *pool = entry[0]->pool;
	struct crypto_acomp_ctx *ctx = acomp_ctx_get_cpu_lock(pool);
	unsigned int at[SSW_ZBATCH_MAX], n = 0, len = 0;
	struct scaleswap_zunits *units = ctx->units;
	unsigned long right = 0;
	int err;

	/* Those that are as long as a page are not compressed. */
	for (unsigned int i = 0; units && i < nr; i++) {
		if (entry[i]->length < PAGE_SIZE)
			at[n++] = i;
	}
	if (n < 2)
		goto out;
	sg_init_table(units->in, n);
	sg_init_table(units->out, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct zswap_entry *e = entry[at[i]];
		void *src = zpool_map_handle(pool->zpool, e->handle, ZPOOL_MM_RO);

		/* No other handle can be mapped meanwhile, and nobody may sleep. */
		memcpy(units->buffer[i], src, e->length);
		zpool_unmap_handle(pool->zpool, e->handle);
		sg_set_buf(&units->in[i], units->buffer[i], e->length);
		sg_set_folio(&units->out[i], folio[at[i]], PAGE_SIZE, 0);
		len += e->length;
	}
	acomp_request_set_params(ctx->req, units->in, units->out, len, n * PAGE_SIZE);
	acomp_request_set_unit_size(ctx->req, PAGE_SIZE);
	ssw_stat_add(SSW_ZBATCH_REQUESTS, 1);
	ssw_stat_add(SSW_ZBATCH_UNITS, n);
	err = ssw_zunits_wait(ctx, crypto_acomp_decompress(ctx->req));
	for (unsigned int i = 0; i < n; i++) {
		if (!err && acomp_unit_result(&units->out[i]) == PAGE_SIZE)
			__set_bit(at[i], &right);
		else
			ssw_fallback(raw_smp_processor_id(), SSW_FB_ZBATCH_UNIT, 0);
	}
out:
	acomp_ctx_put_unlock(ctx);
	return right;
}

#endif /* CONFIG_SCALESWAP_ZBATCH */
