/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the 64-bit word of a swap slot means and how it may change.
 */

/**
 * DOC: The word of a slot
 *
 * All that is known of a slot is in one word. So every change is one compare-and-exchange,
 * which any CPU may do without a lock::
 *
 *   bit 0      the slot has a folio in the swap cache, or is about to
 *   bits 1-3   what refers to the slot: none, freeing, excl, shared, shmem, bad
 *   bits 4-63  excl: bits 4-39 virtual page number, bits 40-63 id of the mm
 *              shared: the number of references
 *
 * Only the owner takes a word out of *free*. The CPU that moved a word to *freeing* tears
 * down the state attached to the slot, and then moves the word to *free*. In between every
 * other operation on the slot fails.
 *
 * The functions here only compute the next word; slot.c exchanges it. They need nothing of
 * the kernel but types and errno. So KUnit and the user-space tests run them unchanged.
 */
#ifndef _MM_SCALESWAP_WORD_H
#define _MM_SCALESWAP_WORD_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * enum ssw_kind - what refers to a slot, apart from the swap cache
 * @SSW_KIND_NONE: nothing; without the cache bit, the slot is free
 * @SSW_KIND_FREEING: nothing any more, and it is being torn down
 * @SSW_KIND_EXCL: one page table entry, and the mm and address at which it was
 *                 when the page was unmapped. mremap() may have moved it since,
 *                 so it has to be looked at under its lock
 * @SSW_KIND_SHARED: a number of page table entries
 * @SSW_KIND_SHMEM: one entry in the page cache of a shmem inode
 * @SSW_KIND_BAD: the slot must not be used
 */
enum ssw_kind {
	SSW_KIND_NONE,
	SSW_KIND_FREEING,
	SSW_KIND_EXCL,
	SSW_KIND_SHARED,
	SSW_KIND_SHMEM,
	SSW_KIND_BAD,
};

#define SSW_WORD_CACHE		1ULL
#define SSW_WORD_KIND_SHIFT	1
#define SSW_WORD_KIND_MASK	7ULL
#define SSW_WORD_DATA_SHIFT	4
#define SSW_WORD_VPN_BITS	36
#define SSW_WORD_MM_BITS	24

#define SSW_WORD_FREE		0ULL
#define SSW_WORD_FREEING	((u64)SSW_KIND_FREEING << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_BAD		((u64)SSW_KIND_BAD << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_SHMEM		((u64)SSW_KIND_SHMEM << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_ONE		(((u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT) | \
				 (1ULL << SSW_WORD_DATA_SHIFT))
#define SSW_WORD_COUNT_MAX	((1ULL << (64 - SSW_WORD_DATA_SHIFT)) - 1)

static inline enum ssw_kind ssw_word_kind(u64 word)
{
	return (word >> SSW_WORD_KIND_SHIFT) & SSW_WORD_KIND_MASK;
}

static inline u64 ssw_word_data(u64 word)
{
	return word >> SSW_WORD_DATA_SHIFT;
}

/**
 * ssw_word_excl - the word of a slot that one page table entry refers to
 * @mm: id of the mm, 1 to 2^24 - 1; 0 if it has none
 * @vpn: virtual page number
 *
 * Return: the word, without the cache bit; a count of one if @mm or @vpn
 * cannot be expressed.
 */
static inline u64 ssw_word_excl(u32 mm, u64 vpn)
{
	if (!mm || mm >> SSW_WORD_MM_BITS || vpn >> SSW_WORD_VPN_BITS)
		return SSW_WORD_ONE;
	return (u64)SSW_KIND_EXCL << SSW_WORD_KIND_SHIFT |
	       vpn << SSW_WORD_DATA_SHIFT |
	       (u64)mm << (SSW_WORD_DATA_SHIFT + SSW_WORD_VPN_BITS);
}

static inline u32 ssw_word_mm(u64 word)
{
	return word >> (SSW_WORD_DATA_SHIFT + SSW_WORD_VPN_BITS);
}

static inline u64 ssw_word_vpn(u64 word)
{
	return ssw_word_data(word) & ((1ULL << SSW_WORD_VPN_BITS) - 1);
}

/**
 * ssw_word_count - how many references there are, not counting the cache
 * @word: the word
 *
 * Return: the number; 0 for a slot that is free, bad or being torn down.
 */
static inline u64 ssw_word_count(u64 word)
{
	switch (ssw_word_kind(word)) {
	case SSW_KIND_EXCL:
	case SSW_KIND_SHMEM:
		return 1;
	case SSW_KIND_SHARED:
		return ssw_word_data(word);
	default:
		return 0;
	}
}

/**
 * ssw_word_dup - one more reference
 * @old: the word
 * @first: what it becomes, without the cache bit, if this is the first one
 * @new: the next word
 *
 * Return: 0; -ENOENT if the slot is free, bad or being torn down; -EINVAL if
 * it is shmem's, or gets that beside other references; -EOVERFLOW if the
 * count cannot grow.
 */
static inline int ssw_word_dup(u64 old, u64 first, u64 *new)
{
	u64 cache = old & SSW_WORD_CACHE;
	u64 count;

	switch (ssw_word_kind(old)) {
	case SSW_KIND_NONE:
		if (!cache)
			return -ENOENT;
		*new = first | cache;
		return 0;
	case SSW_KIND_EXCL:
	case SSW_KIND_SHARED:
		if (ssw_word_kind(first) == SSW_KIND_SHMEM)
			return -EINVAL;
		count = ssw_word_count(old);
		if (count == SSW_WORD_COUNT_MAX)
			return -EOVERFLOW;
		*new = (u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT |
		       (count + 1) << SSW_WORD_DATA_SHIFT | cache;
		return 0;
	case SSW_KIND_SHMEM:
		return -EINVAL;
	default:
		return -ENOENT;
	}
}

/**
 * ssw_word_put - one reference less
 * @old: the word
 * @new: the next word, SSW_WORD_FREEING if nothing refers to the slot any more
 *
 * Of two references that became one it is not known which is left, so the
 * count stays one.
 *
 * Return: 0, or -ENOENT if there is no reference.
 */
static inline int ssw_word_put(u64 old, u64 *new)
{
	u64 cache = old & SSW_WORD_CACHE;
	u64 count = ssw_word_count(old);

	if (!count)
		return -ENOENT;
	if (count > 1)
		*new = (u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT |
		       (count - 1) << SSW_WORD_DATA_SHIFT | cache;
	else
		*new = cache ? cache : SSW_WORD_FREEING;
	return 0;
}

/**
 * ssw_word_cache - the slot gets into the swap cache
 * @old: the word
 * @new: the next word
 *
 * Return: 0; -EEXIST if it is there; -ENOENT if the slot is free, bad or being
 * torn down.
 */
static inline int ssw_word_cache(u64 old, u64 *new)
{
	if (old & SSW_WORD_CACHE)
		return -EEXIST;
	if (!ssw_word_count(old))
		return -ENOENT;
	*new = old | SSW_WORD_CACHE;
	return 0;
}

/**
 * ssw_word_uncache - the slot leaves the swap cache
 * @old: the word
 * @new: the next word, SSW_WORD_FREEING if nothing refers to the slot any more
 *
 * Return: 0, or -ENOENT if it is not there.
 */
static inline int ssw_word_uncache(u64 old, u64 *new)
{
	if (!(old & SSW_WORD_CACHE))
		return -ENOENT;
	*new = old & ~SSW_WORD_CACHE;
	if (!*new)
		*new = SSW_WORD_FREEING;
	return 0;
}

#endif /* _MM_SCALESWAP_WORD_H */
