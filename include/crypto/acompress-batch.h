/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asynchronous compression of several units in one request
 *
 * A device that has several engines, and no descriptor for a batch, is busy only if one CPU submits
 * several pieces of work before it waits for the first. A request with a unit size is such a batch:
 *
 * - Its source is a scatterlist with an entry for each unit, and so is its destination. Entries of
 *   the side that is not compressed have the unit size, each.
 * - A length in the destination says how much room the unit has. When the request has ended, it is
 *   the unit's result, which acomp_unit_result() reads. A unit that fails leaves others alone.
 * - crypto_acomp_compress() and crypto_acomp_decompress() submit, and return -EINPROGRESS. With
 *   another error nothing was submitted, and no result is set.
 * - Whoever has submitted calls crypto_acomp_poll() until it no longer returns -EAGAIN. Units end
 *   in any order. With the last the request's callback is called, once, with 0.
 * - The algorithm bounds how long a unit takes. While a unit has not ended, its memory is in use.
 *
 * acomp_request_set_params() takes the unit size back: the next request is an ordinary one.
 * An algorithm without batches is never given one, and is called as if this did not exist.
 */
#ifndef _CRYPTO_ACOMPRESS_BATCH_H
#define _CRYPTO_ACOMPRESS_BATCH_H

#include <crypto/acompress.h>
#include <linux/scatterlist.h>

/**
 * crypto_acomp_batch_size() - how many units a batch is best made of
 * @tfm: the algorithm's handle
 *
 * This is a hint: more or fewer are right, too.
 *
 * Context: any.
 * Return: the number of units, or 1 if the algorithm takes no batches.
 */
static inline unsigned int crypto_acomp_batch_size(const struct crypto_acomp *tfm)
{
	return tfm->poll && tfm->batch_size ? tfm->batch_size : 1;
}

/**
 * acomp_request_set_unit_size() - make a batch of a request
 * @req: a request of an algorithm whose crypto_acomp_batch_size() is above 1, after
 *	acomp_request_set_params()
 * @unit_size: bytes of each unit that is not compressed
 *
 * Context: any.
 */
static inline void acomp_request_set_unit_size(struct acomp_req *req, unsigned int unit_size)
{
	req->unit_size = unit_size;
}

/**
 * crypto_acomp_poll() - look for units of a batch that have ended
 * @req: a batch that was submitted
 *
 * Context: who has submitted @req. Does not sleep.
 * Return: -EAGAIN while some have not ended. Otherwise 0: the callback was called, or is about to
 * be.
 */
static inline int crypto_acomp_poll(struct acomp_req *req)
{
	return crypto_acomp_reqtfm(req)->poll(req);
}

/**
 * acomp_unit_result() - how a unit has ended
 * @unit: its entry in the destination of a request that has ended
 *
 * Context: any.
 * Return: its length in bytes, or a negative error; for one that got no shorter -ENOSPC.
 */
static inline int acomp_unit_result(const struct scatterlist *unit)
{
	return unit->length;
}

#endif /* _CRYPTO_ACOMPRESS_BATCH_H */
