/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: the word of a swap slot, and every change of it.
 */

/**
 * DOC: The word of a slot
 *
 * All that is known of a slot is in one word. So every change is one compare-and-exchange,
 * which any CPU may do without a lock::
 *
 *   bit 0      the slot has a folio in the swap cache, or is about to
 *   bits 1-3   what refers to the slot: none, freeing, excl, shared, shmem, bad
 *   bits 4-63  excl: bits 4-39 virtual page number, bits 40-61 number of the mm: the note
 *              where the reference is. Bit 62, pair: there is another one, nobody knows where.
 *              Bit 63, moving: a mover has tagged the slot, and nothing was done to it since
 *              shmem: bits 4-39 index of the page in its file, bits 40-61 number of the inode, 0
 *              if it has none: where the reference is. Bit 63 as with excl
 *              shared: the number of references
 *
 * Only the owner takes a word out of *free*. The CPU that moved a word to *freeing* tears
 * down the state attached to the slot, and then moves the word to *free*. In between every
 * other operation on the slot fails.
 *
 * The functions ssw_word_*() compute the next word, the functions ssw_slot_*() exchange it.
 * The former need nothing of the kernel but types and errno. So KUnit and the user-space
 * tests run them unchanged.
 */
#ifndef _MM_SCALESWAP_SLOT_H
#define _MM_SCALESWAP_SLOT_H

#include <linux/errno.h>
#include <linux/types.h>

#include "slot_types.h"

/**
 * enum ssw_kind - what refers to a slot, apart from the swap cache
 * @SSW_KIND_NONE: nothing; without the cache bit, the slot is free
 * @SSW_KIND_FREEING: nothing any more, and it is being torn down
 * @SSW_KIND_EXCL: one page table entry, or two if the word is a pair; the word has the mm and
 *                 address that one had when the page was unmapped. mremap() may have moved it
 *                 since, or it is gone and the other one is left. So the entry has to be checked
 *                 under its lock
 * @SSW_KIND_SHARED: a number of page table entries
 * @SSW_KIND_SHMEM: one entry in the page cache of a shmem inode. The word says which one, but a
 *                  large entry is that of its first page
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
#define SSW_WORD_MM_BITS	22
/* PID_MAX_LIMIT allows no more tasks, and so hardly more mms. */
#define SSW_WORD_MM_MAX		((1U << SSW_WORD_MM_BITS) - 1)
#define SSW_WORD_PAIR		((u64)1 << 62)
#define SSW_WORD_MOVING		((u64)1 << 63)

#define SSW_WORD_FREE		0ULL
#define SSW_WORD_FREEING	((u64)SSW_KIND_FREEING << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_BAD		((u64)SSW_KIND_BAD << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_SHMEM		((u64)SSW_KIND_SHMEM << SSW_WORD_KIND_SHIFT)
#define SSW_WORD_ONE		(((u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT) | \
				 (1ULL << SSW_WORD_DATA_SHIFT))
/* It leaves the bit of SSW_WORD_MOVING alone, which operations clear in any word. */
#define SSW_WORD_COUNT_MAX	((1ULL << (63 - SSW_WORD_DATA_SHIFT)) - 1)

static inline enum ssw_kind ssw_word_kind(u64 word)
{
	return (word >> SSW_WORD_KIND_SHIFT) & SSW_WORD_KIND_MASK;
}

static inline u64 ssw_word_data(u64 word)
{
	return word >> SSW_WORD_DATA_SHIFT;
}

/**
 * ssw_word_excl - make the word of a slot that one page table entry refers to
 * @mm: number of the mm, 1 to SSW_WORD_MM_MAX; 0 if it has none
 * @vpn: virtual page number
 *
 * Return: the word, without the cache bit; a count of one if @mm is 0, or @mm or
 * @vpn does not fit.
 */
static inline u64 ssw_word_excl(u32 mm, u64 vpn)
{
	if (!mm || mm >> SSW_WORD_MM_BITS || vpn >> SSW_WORD_VPN_BITS)
		return SSW_WORD_ONE;
	return (u64)SSW_KIND_EXCL << SSW_WORD_KIND_SHIFT |
	       vpn << SSW_WORD_DATA_SHIFT |
	       (u64)mm << (SSW_WORD_DATA_SHIFT + SSW_WORD_VPN_BITS);
}

/**
 * ssw_word_shmem - make the word of a slot that a shmem inode refers to
 * @inode: number of the inode, 1 to SSW_WORD_MM_MAX; 0 if it has none
 * @index: index of the page in the file
 *
 * Return: the word, without the cache bit; without a note if @inode is 0, or @inode or @index does
 * not fit.
 */
static inline u64 ssw_word_shmem(u32 inode, u64 index)
{
	if (!inode || inode >> SSW_WORD_MM_BITS || index >> SSW_WORD_VPN_BITS)
		return SSW_WORD_SHMEM;
	return SSW_WORD_SHMEM | index << SSW_WORD_DATA_SHIFT |
	       (u64)inode << (SSW_WORD_DATA_SHIFT + SSW_WORD_VPN_BITS);
}

/* Number of the mm, or of the shmem inode */
static inline u32 ssw_word_mm(u64 word)
{
	return word >> (SSW_WORD_DATA_SHIFT + SSW_WORD_VPN_BITS) & SSW_WORD_MM_MAX;
}

/* Virtual page number, or the index in the file */
static inline u64 ssw_word_vpn(u64 word)
{
	return ssw_word_data(word) & ((1ULL << SSW_WORD_VPN_BITS) - 1);
}

/**
 * ssw_word_has_note - check whether a word says where its reference is
 * @word: the word
 *
 * Return: true if it does.
 */
static inline bool ssw_word_has_note(u64 word)
{
	return (ssw_word_kind(word) == SSW_KIND_EXCL || ssw_word_kind(word) == SSW_KIND_SHMEM) &&
	       ssw_word_mm(word);
}

/**
 * ssw_word_count - count the references, without the swap cache
 * @word: the word
 *
 * Return: the number; 0 for a slot that is free, bad or being torn down.
 */
static inline u64 ssw_word_count(u64 word)
{
	switch (ssw_word_kind(word)) {
	case SSW_KIND_EXCL:
		return word & SSW_WORD_PAIR ? 2 : 1;
	case SSW_KIND_SHMEM:
		return 1;
	case SSW_KIND_SHARED:
		return ssw_word_data(word);
	default:
		return 0;
	}
}

/**
 * ssw_word_dup - add a reference
 * @old: the word
 * @first: what it becomes, without the cache bit, if this is the first one
 * @new: the next word
 *
 * A slot that has a note keeps it with a second reference, as that mostly goes before the first
 * one: it is a child's, which exits or executes a program. With a third one the note is gone.
 *
 * Return: 0; -ENOENT if the slot is free, bad or being torn down; -EINVAL if
 * it is shmem's, or @first is shmem's and there are other references; -EOVERFLOW
 * if the count cannot grow.
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
		if (ssw_word_kind(old) == SSW_KIND_EXCL && count == 1) {
			*new = (old & ~SSW_WORD_MOVING) | SSW_WORD_PAIR;
			return 0;
		}
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
 * ssw_word_put - drop a reference
 * @old: the word
 * @new: the next word, SSW_WORD_FREEING if nothing refers to the slot any more
 *
 * When one of two references is dropped, it is not known which one is left. A pair keeps its note,
 * which is a guess from then on; a count becomes a count of one.
 *
 * Return: 0, or -ENOENT if there is no reference.
 */
static inline int ssw_word_put(u64 old, u64 *new)
{
	u64 cache = old & SSW_WORD_CACHE;
	u64 count = ssw_word_count(old);

	if (!count)
		return -ENOENT;
	if (ssw_word_kind(old) == SSW_KIND_EXCL && count > 1)
		*new = old & ~SSW_WORD_PAIR;
	else if (count > 1)
		*new = (u64)SSW_KIND_SHARED << SSW_WORD_KIND_SHIFT |
		       (count - 1) << SSW_WORD_DATA_SHIFT | cache;
	else
		*new = cache ? cache : SSW_WORD_FREEING;
	return 0;
}

/**
 * ssw_word_cache - put the slot into the swap cache
 * @old: the word
 * @new: the next word
 *
 * Return: 0; -EEXIST if it is there already; -ENOENT if the slot is free, bad or
 * being torn down.
 */
static inline int ssw_word_cache(u64 old, u64 *new)
{
	if (old & SSW_WORD_CACHE)
		return -EEXIST;
	if (!ssw_word_count(old))
		return -ENOENT;
	*new = (old & ~SSW_WORD_MOVING) | SSW_WORD_CACHE;
	return 0;
}

/**
 * ssw_word_uncache - take the slot out of the swap cache
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

/**
 * ssw_word_tag - tag a slot that is to be moved
 * @old: the word
 * @new: the next word
 *
 * The tag reserves nothing. Every other operation makes a word without it. What a slot holds
 * changes only by whoever has it in the swap cache, or after it was freed. So as long as a word has
 * its tag, the slot holds what it held when it was tagged.
 *
 * A tag is left behind where the note is wrong, or the slot could not be read. That is so until
 * something is done to the slot, and so long no mover tries again.
 *
 * Return: 0; -EEXIST if it is in the swap cache; -EMLINK if there are several references; -ENOENT
 * if there is none, or it has no note; -EALREADY if it has a tag.
 */
static inline int ssw_word_tag(u64 old, u64 *new)
{
	if (old & SSW_WORD_CACHE)
		return -EEXIST;
	if (ssw_word_count(old) > 1)
		return -EMLINK;
	if (!ssw_word_has_note(old))
		return -ENOENT;
	if (old & SSW_WORD_MOVING)
		return -EALREADY;
	*new = old | SSW_WORD_MOVING;
	return 0;
}

/**
 * ssw_slot_cluster - get the cluster of a slot
 * @slots: the area's slots
 * @slot: a slot, below ssw_slots.nr_slots
 *
 * Context: any.
 * Return: the cluster.
 */
static inline struct ssw_cluster *ssw_slot_cluster(struct ssw_slots *slots,
						   unsigned long slot)
{
	return &slots->cluster[slot >> SSW_CLUSTER_SHIFT];
}

/**
 * ssw_slot_table - get the table that has a slot's word
 * @slots: the area's slots
 * @slot: a slot, which need not exist
 *
 * Context: RCU read side.
 * Return: the table, or NULL if the slot does not exist or its whole cluster
 * is free.
 */
static inline struct ssw_table *ssw_slot_table(struct ssw_slots *slots,
					       unsigned long slot)
{
	if (unlikely(slot >= slots->nr_slots))
		return NULL;
	return rcu_dereference(ssw_slot_cluster(slots, slot)->table);
}

/**
 * ssw_slot_word - find a slot's word
 * @slots: the area's slots
 * @slot: a slot, which need not exist
 *
 * Context: RCU read side.
 * Return: the word, NULL if there is none: the slot is free or does not exist.
 */
static inline atomic64_t *ssw_slot_word(struct ssw_slots *slots,
					unsigned long slot)
{
	struct ssw_table *table = ssw_slot_table(slots, slot);

	return likely(table) ? &table->word[slot % SSW_CLUSTER_SLOTS] : NULL;
}

/**
 * ssw_slot_read - read a slot's word
 * @slots: the area's slots
 * @slot: a slot, which need not exist
 *
 * Context: RCU read side.
 * Return: the word, as it is at the moment.
 */
static inline u64 ssw_slot_read(struct ssw_slots *slots, unsigned long slot)
{
	atomic64_t *word = ssw_slot_word(slots, slot);

	return word ? atomic64_read(word) : SSW_WORD_FREE;
}

/*
 * Change a slot's word by compare-and-exchange. @next computes @new from `old`, and is
 * computed again if another CPU has changed the word. The value is 0, -ENOENT if the slot
 * has no table, or the errno that @next gave.
 */
#define ssw_slot_update(slots, slot, next, new)					\
({										\
	atomic64_t *__word = ssw_slot_word(slots, slot);			\
	int __err = -ENOENT;							\
										\
	if (__word) {								\
		s64 old = atomic64_read(__word);				\
										\
		do {								\
			__err = (next);						\
		} while (!__err && !atomic64_try_cmpxchg(__word, &old, new));	\
	}									\
	__err;									\
})

/**
 * ssw_slot_dup - add a reference to a slot
 * @slots: the area's slots
 * @slot: the slot
 * @first: the word to become if it is the first reference
 *
 * Context: RCU read side.
 * Return: 0, or an errno as of ssw_word_dup().
 */
static inline int ssw_slot_dup(struct ssw_slots *slots, unsigned long slot,
			       u64 first)
{
	u64 new;

	return ssw_slot_update(slots, slot, ssw_word_dup(old, first, &new), new);
}

/**
 * ssw_slot_put - drop a reference to a slot
 * @slots: the area's slots
 * @slot: the slot
 * @new: what the word became
 *
 * If @new is SSW_WORD_FREEING, the caller has to tear the slot down and then call
 * ssw_slot_free().
 *
 * Context: RCU read side.
 * Return: 0, or -ENOENT if there was no reference.
 */
static inline int ssw_slot_put(struct ssw_slots *slots, unsigned long slot,
			       u64 *new)
{
	return ssw_slot_update(slots, slot, ssw_word_put(old, new), *new);
}

/**
 * ssw_slot_cache - announce that a slot gets into the swap cache
 * @slots: the area's slots
 * @slot: the slot, which need not exist or be in use
 *
 * Context: RCU read side.
 * Return: 0, or an errno as of ssw_word_cache().
 */
static inline int ssw_slot_cache(struct ssw_slots *slots, unsigned long slot)
{
	u64 new;

	return ssw_slot_update(slots, slot, ssw_word_cache(old, &new), new);
}

/**
 * ssw_slot_uncache - note that a slot has left the swap cache
 * @slots: the area's slots
 * @slot: the slot
 * @new: what the word became; see ssw_slot_put()
 *
 * Context: RCU read side.
 * Return: 0, or -ENOENT if the slot was not in the swap cache.
 */
static inline int ssw_slot_uncache(struct ssw_slots *slots, unsigned long slot,
				   u64 *new)
{
	return ssw_slot_update(slots, slot, ssw_word_uncache(old, new), *new);
}

/**
 * ssw_slot_free - free a slot that is in SSW_KIND_FREEING
 * @slots: the area's slots
 * @slot: the slot, which the caller brought into that state and has torn down
 *
 * The caller then has to count it with ssw_cluster_freed().
 *
 * Context: RCU read side.
 */
static inline void ssw_slot_free(struct ssw_slots *slots, unsigned long slot)
{
	/* Barrier A. No other CPU changes a word in this state. */
	atomic64_set_release(ssw_slot_word(slots, slot), SSW_WORD_FREE);
}

/**
 * ssw_slot_tag - tag a slot that is to be moved
 * @slots: the area's slots
 * @slot: the slot
 * @new: what the word became
 *
 * Context: RCU read side; one mover.
 * Return: 0, or an errno as of ssw_word_tag().
 */
static inline int ssw_slot_tag(struct ssw_slots *slots, unsigned long slot, u64 *new)
{
	return ssw_slot_update(slots, slot, ssw_word_tag(old, new), *new);
}

/**
 * ssw_slot_untag - take back a tag, so that the slot may be moved another time
 * @slots: the area's slots
 * @slot: the slot
 * @word: its word when it was tagged
 *
 * Context: RCU read side.
 */
static inline void ssw_slot_untag(struct ssw_slots *slots, unsigned long slot, u64 word)
{
	atomic64_t *at = ssw_slot_word(slots, slot);
	s64 old = word;

	if (at)
		atomic64_try_cmpxchg(at, &old, word & ~SSW_WORD_MOVING);
}

/**
 * ssw_slot_claim - take a slot that has kept its tag
 * @slots: the area's slots
 * @slot: the slot
 * @word: its word when it was tagged
 *
 * This decides whether a slot is moved. From then on it is in SSW_KIND_FREEING, and the caller's.
 *
 * Context: RCU read side. Its page table entry, or its entry in the page cache, is locked and
 * refers to it.
 * Return: true if the caller has it.
 */
static inline bool ssw_slot_claim(struct ssw_slots *slots, unsigned long slot, u64 word)
{
	atomic64_t *at = ssw_slot_word(slots, slot);
	s64 old = word;

	return at && atomic64_try_cmpxchg(at, &old, SSW_WORD_FREEING);
}

/**
 * ssw_slot_arrive - take a slot into use that something was moved to
 * @slots: the area's slots
 * @slot: the slot, in SSW_KIND_FREEING and the caller's
 * @word: what it becomes
 *
 * Context: RCU read side.
 */
static inline void ssw_slot_arrive(struct ssw_slots *slots, unsigned long slot, u64 word)
{
	/* Barrier G. */
	atomic64_set_release(ssw_slot_word(slots, slot), word);
}

/* cluster.c: mostly owner only, see there */
void ssw_cluster_alloc(struct ssw_slots *slots, struct ssw_request *req);
void ssw_cluster_returned(struct ssw_slots *slots, struct ssw_cluster *ci);
struct ssw_cluster *ssw_cluster_to_discard(struct ssw_slots *slots);
void ssw_cluster_discarded(struct ssw_slots *slots, struct ssw_cluster *ci);
void ssw_slots_trim(struct ssw_slots *slots);
bool ssw_cluster_can_hold(const struct ssw_slots *slots, const struct ssw_cluster *ci,
			  unsigned int cap);
bool ssw_cluster_hold(struct ssw_slots *slots, struct ssw_cluster *ci, unsigned int cap);
void ssw_cluster_unhold(struct ssw_slots *slots, struct ssw_cluster *ci);
bool ssw_cluster_begin_moves(struct ssw_slots *slots, struct ssw_cluster *ci, unsigned int cap);
unsigned int ssw_cluster_alloc_moved(struct ssw_slots *slots, unsigned int nr,
				     struct ssw_table **table, unsigned int *slot);
void ssw_cluster_end_moves(struct ssw_slots *slots);
void ssw_slots_lists_init(struct ssw_slots *slots);

unsigned int ssw_cluster_freed(struct ssw_slots *slots, struct ssw_cluster *ci,
			       unsigned int nr);
unsigned int ssw_cluster_queue(struct ssw_slots *slots, struct ssw_cluster *ci);

/* defragd.c */
#ifdef CONFIG_SCALESWAP_DEFRAG
void ssw_slots_kick(struct ssw_slots *slots);
#else
/* Nobody asks to be told. */
static inline void ssw_slots_kick(struct ssw_slots *slots)
{
}
#endif

/* deleg.c */
#define SSW_DELEG_BATCH_DEFAULT	64
#define SSW_DELEG_BATCH_MAX		256
/* As many words as one request may read. A drain reads at most twice as many. */
#define SSW_DRAIN_WORDS		(16 * SSW_CLUSTER_SLOTS)
extern unsigned int ssw_deleg_batch;
void ssw_token_init(struct ssw_slots *slots);
bool ssw_token_trylock(struct ssw_slots *slots);
void ssw_token_get(struct ssw_slots *slots);
void ssw_token_release(struct ssw_slots *slots);
unsigned int ssw_drain(struct ssw_slots *slots, const struct ssw_request *own,
		       enum ssw_by by);
bool ssw_request_delegate(struct ssw_slots *slots, struct ssw_request *req,
			  void (*meanwhile)(void *), void *arg);

/* slot.c */
int ssw_table_init(void);
struct ssw_table *ssw_table_alloc(gfp_t more);
void ssw_table_free(struct ssw_table *table);
void ssw_table_free_rcu(struct ssw_table *table);
unsigned long ssw_slot_next(struct ssw_slots *slots, unsigned long slot);

#endif /* _MM_SCALESWAP_SLOT_H */
