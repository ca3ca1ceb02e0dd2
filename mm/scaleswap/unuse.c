// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: swapoff by the notes of slots.
 *
 * The base kernel walks the page tables of each mm that ever swapped, to find the entries of one
 * area, and then in those of each shmem inode that has pages swapped out. Mostly the word of a slot
 * says where its entry is. So swapoff goes from cluster to cluster, reads the pages of each in the
 * order of slots, and maps each where its word says, or has the page cache of a file get it. The
 * base's scan comes after that, for what is left: counts, notes that are no longer right. If
 * nothing is left, no other mm is looked at, and no other inode.
 *
 * A note is a hint. unuse_pte() maps a page under the lock of the page table, and only where the
 * slot's entry is. So a wrong note costs a look at an address, and the mm that it names is walked
 * once at the end, since what mremap() and UFFDIO_MOVE have moved is still there.
 */
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../swap.h"
#include "internal.h"

/* As many mms are walked as a whole. With more of them the scan of all mms comes anyway. */
#define SSW_UNUSE_STRAYS	64

/**
 * struct ssw_unuse - a swapoff by notes
 * @si: the area
 * @slots: its slots
 * @noted: references that a note has found, in pages
 * @stale: notes that have found none
 * @nr_strays: mms with such notes, up to SSW_UNUSE_STRAYS + 1
 * @stray: their numbers
 * @nr: notes in work: those of page table entries in a cluster, then those of shmem
 * @key: for each of them the number of the mm, or inode, and the slot in the cluster, in this order
 * @word: by slot in the cluster, its word
 */
struct ssw_unuse {
	struct swap_info_struct *si;
	struct ssw_slots *slots;
	unsigned int noted;
	unsigned int stale;
	unsigned int nr_strays;
	u32 stray[SSW_UNUSE_STRAYS];
	unsigned int nr;
	u32 key[SSW_CLUSTER_SLOTS];
	u64 word[SSW_CLUSTER_SLOTS];
};

static_assert(SSW_WORD_MM_BITS + SSW_CLUSTER_SHIFT < 32);

static int ssw_key_cmp(const void *a, const void *b)
{
	/* They have 31 bits. */
	return *(const int *)a - *(const int *)b;
}

static u32 ssw_key_mm(u32 key)
{
	return key >> SSW_CLUSTER_SHIFT;
}

static u64 ssw_note(const struct ssw_unuse *u, unsigned int i)
{
	return u->word[u->key[i] % SSW_CLUSTER_SLOTS];
}

static unsigned long ssw_note_addr(const struct ssw_unuse *u, unsigned int i)
{
	return ssw_word_vpn(ssw_note(u, i)) << PAGE_SHIFT;
}

/* Gather the notes of one kind in a cluster, by mm or inode, and then by slot. */
static void ssw_notes_get(struct ssw_unuse *u, unsigned long base, enum ssw_kind kind)
{
	struct ssw_table *table;
	bool sorted = true;

	u->nr = 0;
	rcu_read_lock();
	table = ssw_slot_table(u->slots, base);
	for (unsigned int at = 0; table && at < SSW_CLUSTER_SLOTS; at++) {
		u64 word = atomic64_read(&table->word[at]);

		if (ssw_word_kind(word) != kind || !ssw_word_has_note(word))
			continue;
		u->word[at] = word;
		u->key[u->nr] = ssw_word_mm(word) << SSW_CLUSTER_SHIFT | at;
		sorted = sorted && (!u->nr || u->key[u->nr - 1] < u->key[u->nr]);
		u->nr++;
	}
	rcu_read_unlock();
	if (!sorted)
		sort(u->key, u->nr, sizeof(*u->key), ssw_key_cmp, NULL);
}

/*
 * Read pages of an mm ahead, as many as there is memory for: the mm is locked for reading, so this
 * does not wait for reclaim. It ends early, too, at a slot that was freed meanwhile. What is not
 * read here is read when it is mapped.
 */
static void ssw_notes_read(struct ssw_unuse *u, struct mm_struct *mm, unsigned long base,
			   unsigned int from, unsigned int to)
{
	const gfp_t gfp = (GFP_HIGHUSER_MOVABLE & ~__GFP_DIRECT_RECLAIM) | __GFP_NOWARN;
	struct vm_area_struct *vma = NULL;
	struct swap_iocb *splug = NULL;
	struct blk_plug plug;

	blk_start_plug(&plug);
	for (unsigned int i = from; i < to; i++) {
		unsigned long slot = base + u->key[i] % SSW_CLUSTER_SLOTS;
		unsigned long addr = ssw_note_addr(u, i);
		struct folio *folio;

		if (ssw_note(u, i) & SSW_WORD_CACHE)
			continue;
		if (!vma || addr < vma->vm_start || addr >= vma->vm_end)
			vma = vma_lookup(mm, addr);
		if (!vma)
			continue;
		folio = read_swap_cache_async(swp_entry(u->si->type, slot), gfp, vma, addr, &splug);
		if (!folio)
			break;
		folio_put(folio);
	}
	blk_finish_plug(&plug);
	swap_read_unplug(splug);
	/* Push new pages onto the LRU. */
	lru_add_drain();
}

/* Map what the notes of one mm say, adjacent addresses at once. */
static int ssw_notes_map(struct ssw_unuse *u, struct mm_struct *mm, unsigned long base,
			 unsigned int from, unsigned int to)
{
	int err = 0;

	mmap_read_lock(mm);
	if (check_stable_address_space(mm))
		goto unlock;
	ssw_notes_read(u, mm, base, from, to);
	while (from < to && !err) {
		unsigned long start = ssw_note_addr(u, from++);
		unsigned long end = start + PAGE_SIZE;

		while (from < to && ssw_note_addr(u, from) == end) {
			end += PAGE_SIZE;
			from++;
		}
		err = swap_area_unuse(mm, u->si->type, start, end);
	}
unlock:
	mmap_read_unlock(mm);
	return err;
}

/* Count the notes of one mm that have found a reference, and those that have not. */
static void ssw_notes_count(struct ssw_unuse *u, unsigned long base, unsigned int from,
			    unsigned int to, bool walk)
{
	unsigned int stale = 0;

	rcu_read_lock();
	for (unsigned int i = from; i < to; i++) {
		u64 word = ssw_slot_read(u->slots, base + u->key[i] % SSW_CLUSTER_SLOTS);

		if (!((word ^ ssw_note(u, i)) & ~(SSW_WORD_CACHE | SSW_WORD_MOVING)))
			stale++;
	}
	rcu_read_unlock();
	u->noted += to - from - stale;
	u->stale += stale;
	if (!stale || !walk || u->nr_strays > SSW_UNUSE_STRAYS)
		return;
	for (unsigned int i = 0; i < u->nr_strays; i++) {
		if (u->stray[i] == ssw_key_mm(u->key[from]))
			return;
	}
	if (u->nr_strays < SSW_UNUSE_STRAYS)
		u->stray[u->nr_strays] = ssw_key_mm(u->key[from]);
	u->nr_strays++;
}

/* Have files get back what the notes of shmem say. Each read brings neighbours with it. */
static int ssw_unuse_shmem(struct ssw_unuse *u, unsigned long base)
{
	int err = 0;

	ssw_notes_get(u, base, SSW_KIND_SHMEM);
	for (unsigned int i = 0; i < u->nr && err != -ENOMEM; i++) {
		swp_entry_t entry = swp_entry(u->si->type, base + u->key[i] % SSW_CLUSTER_SLOTS);

		if (signal_pending(current))
			return -EINTR;
		/* As with shmem_unuse(), what cannot be read is no error. */
		err = scaleswap_shmem_swapin(entry, ssw_note(u, i));
		ssw_notes_count(u, base, i, i + 1, false);
		cond_resched();
	}
	return err == -ENOMEM ? err : 0;
}

static int ssw_unuse_cluster(struct ssw_unuse *u, unsigned long base)
{
	unsigned int from, to;
	int err = 0;

	ssw_notes_get(u, base, SSW_KIND_EXCL);
	for (from = 0; from < u->nr && !err; from = to) {
		u32 id = ssw_key_mm(u->key[from]);
		struct mm_struct *mm;

		for (to = from + 1; to < u->nr && ssw_key_mm(u->key[to]) == id; to++)
			;
		if (signal_pending(current))
			return -EINTR;
		mm = ssw_mm_get(id);
		if (mm) {
			err = ssw_notes_map(u, mm, base, from, to);
			mmput(mm);
		}
		ssw_notes_count(u, base, from, to, mm);
	}
	if (!err)
		err = ssw_unuse_shmem(u, base);
	/* What has no reference any more, but is in the swap cache */
	for (unsigned int at = 0; at < SSW_CLUSTER_SLOTS && !err; at++) {
		u64 word;

		rcu_read_lock();
		word = ssw_slot_read(u->slots, base + at);
		rcu_read_unlock();
		if (word == SSW_WORD_CACHE)
			swap_area_reclaim(u->si, base + at);
	}
	return err;
}

/* Walk the mms whose notes have not found what they name. */
static int ssw_unuse_strays(struct ssw_unuse *u)
{
	int err = 0;

	if (u->nr_strays > SSW_UNUSE_STRAYS)
		return 0;
	for (unsigned int i = 0; i < u->nr_strays && __scaleswap_inuse(u->si) && !err; i++) {
		struct mm_struct *mm;

		if (signal_pending(current))
			return -EINTR;
		mm = ssw_mm_get(u->stray[i]);
		if (!mm)
			continue;
		mmap_read_lock(mm);
		if (!check_stable_address_space(mm))
			err = swap_area_unuse(mm, u->si->type, 0, ULONG_MAX);
		mmap_read_unlock(mm);
		mmput(mm);
	}
	return err;
}

/* See scaleswap_unuse(). */
int __scaleswap_unuse(struct swap_info_struct *si)
{
	struct ssw_slots *slots = ssw_area_held(si->type)->slots;
	struct ssw_unuse *u;
	unsigned int left;
	int err = 0;

	u = kmalloc(sizeof(*u), GFP_KERNEL);
	/* Then the scan of all mms does all. */
	if (!u)
		goto out;
	u->si = si;
	u->slots = slots;
	u->noted = 0;
	u->stale = 0;
	u->nr_strays = 0;
	for (unsigned int i = 0; i < slots->nr_clusters && !err; i++) {
		if (atomic_read(&slots->cluster[i].used))
			err = ssw_unuse_cluster(u, (unsigned long)i << SSW_CLUSTER_SHIFT);
		cond_resched();
	}
	if (!err)
		err = ssw_unuse_strays(u);
	ssw_stat_add(SSW_SWAPOFF_NOTED, u->noted);
	ssw_stat_add(SSW_SWAPOFF_STALE, u->stale);
	kfree(u);
out:
	left = __scaleswap_inuse(si);
	if (!left)
		return 0;
	if (!err)
		ssw_stat_add(SSW_SWAPOFF_SCANNED, left);
	return err;
}
