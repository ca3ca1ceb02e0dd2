// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the calls of the swap code, answered for per-core areas.
 *
 * swapfile.c and swap_cgroup.c look up the type of an entry. For a per-core area
 * they call these functions, instead of using si->swap_map under the lock of a
 * cluster or of the area. Each call means the same as in the base kernel; only
 * where the data is kept differs.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/blkdev.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/ratelimit.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/zswap.h>

#include "../swap.h"
#include "internal.h"

/*
 * Get the slots of an entry's area, NULL if there are none. While the entry is in
 * use they cannot go away; otherwise RCU keeps them.
 */
static struct ssw_slots *ssw_entry_slots(swp_entry_t entry)
{
	return rcu_dereference(ssw_area_slots[swp_type(entry)]);
}

/* Get the area of an entry that is in use. */
static struct ssw_area *ssw_entry_area(swp_entry_t entry)
{
	return ssw_area_held(swp_type(entry));
}

static void ssw_bad_entry(const char *what, swp_entry_t entry)
{
	pr_err_ratelimited("%s: bad swap entry %lx; a page table or the swap map is corrupted\n",
			   what, entry.val);
}

/*
 * Remove the shadows of slots from the swap cache. No CPU adds one to a slot that is being
 * torn down.
 */
static __always_inline void ssw_clear_shadows(struct ssw_table *table, unsigned long slot,
					      unsigned int nr)
{
	void **at = &table->cache[slot % SSW_CLUSTER_SLOTS];

	for (unsigned int i = 0; i < nr; i++) {
		if (at[i])
			WRITE_ONCE(at[i], NULL);
	}
}

/* Uncharge slots from the memory cgroups that they are charged to. */
static __always_inline void ssw_uncharge(struct ssw_area *area, struct ssw_table *table,
					 unsigned long slot, unsigned int nr)
{
#ifdef CONFIG_MEMCG
	u16 *id = &table->memcg[slot % SSW_CLUSTER_SLOTS];

	if (mem_cgroup_disabled())
		return;
	while (nr) {
		unsigned int same = 1;

		while (same < nr && id[same] == id[0])
			same++;
		if (id[0])
			mem_cgroup_uncharge_swap(swp_entry(area->si->type, slot), same);
		id += same;
		slot += same;
		nr -= same;
	}
#endif
}

/*
 * Tear down slots of one cluster that the caller has brought into
 * SSW_KIND_FREEING, and free them. RCU read side.
 */
static __always_inline void __ssw_release(struct ssw_area *area, unsigned long slot,
					  unsigned int nr)
{
	void (*notify)(struct block_device *, unsigned long) = NULL;
	struct swap_info_struct *si = area->si;
	struct ssw_slots *slots = area->slots;
	struct ssw_table *table = ssw_slot_table(slots, slot);
	unsigned int queued;
	unsigned int i;

	if (data_race(si->flags) & SWP_BLKDEV)
		notify = si->bdev->bd_disk->fops->swap_slot_free_notify;
	/* zswap takes the lock of its tree even if it does not have the slot. */
	if (!zswap_never_enabled()) {
		for (i = 0; i < nr; i++)
			zswap_invalidate(swp_entry(si->type, slot + i));
	}
	for (i = 0; i < nr; i++) {
		/* Mostly clear; do not write to a line that other CPUs share. */
		if (test_bit(slot + i, si->zeromap))
			clear_bit(slot + i, si->zeromap);
		arch_swap_invalidate_page(si->type, slot + i);
		if (notify)
			notify(si->bdev, slot + i);
	}
	ssw_clear_shadows(table, slot, nr);
	ssw_uncharge(area, table, slot, nr);

	for (i = 0; i < nr; i++)
		ssw_slot_free(slots, slot + i);
	queued = ssw_cluster_freed(slots, ssw_slot_cluster(slots, slot), nr);
	if (unlikely(queued))
		ssw_delegd_notify(area, queued);
	/*
	 * A full barrier, before swapoff may see that the slots are not used. It
	 * pairs with the smp_mb() at the end of try_to_unuse().
	 */
	if (unlikely(ssw_drain_freed(area, nr)))
		return;
	ssw_nr_swap_add(nr);
	this_cpu_add(area->stat->freed, nr);
}

/* Mostly it is one slot, for which the compiler leaves out the loops. */
static void ssw_release(struct ssw_area *area, unsigned long slot, unsigned int nr)
{
	if (likely(nr == 1))
		__ssw_release(area, slot, 1);
	else
		__ssw_release(area, slot, nr);
}

/**
 * ssw_run_flush - tear down what was collected, and free it
 * @run: the slots
 *
 * Context: any but interrupts, RCU read side; a page table lock may be held.
 */
void ssw_run_flush(struct ssw_run *run)
{
	if (run->nr)
		ssw_release(ssw_entry_area(run->entry), swp_offset(run->entry), run->nr);
	run->nr = 0;
}

/**
 * ssw_run_add - collect a slot that is to be freed
 * @run: the slots so far. If this one is not next to them, they are freed first
 * @entry: the slot, which the caller has brought into SSW_KIND_FREEING
 *
 * Context: any but interrupts, RCU read side until ssw_run_flush(); a page table lock may be held.
 */
void ssw_run_add(struct ssw_run *run, swp_entry_t entry)
{
	if (run->nr && (run->entry.val + run->nr != entry.val ||
			!(swp_offset(entry) % SSW_CLUSTER_SLOTS)))
		ssw_run_flush(run);
	if (!run->nr++)
		run->entry = entry;
}

/**
 * scaleswap_uncache - take slots out of the swap cache
 * @entry: the first entry
 * @nr: how many
 *
 * See swapcache_clear() and put_swap_folio(). A slot that nothing refers to any
 * more is freed.
 *
 * Context: any but interrupts, a page table lock may be held. The slots are in
 * the swap cache on behalf of the caller.
 */
void scaleswap_uncache(swp_entry_t entry, unsigned int nr)
{
	struct ssw_run run = { .nr = 0 };
	struct ssw_slots *slots;
	u64 word;

	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	for (;; entry.val++) {
		if (unlikely(!slots || ssw_slot_uncache(slots, swp_offset(entry), &word)))
			ssw_bad_entry("uncache", entry);
		else if (word == SSW_WORD_FREEING)
			ssw_run_add(&run, entry);
		if (!--nr)
			break;
	}
	ssw_run_flush(&run);
	rcu_read_unlock();
}

/**
 * scaleswap_duplicate - add references to slots
 * @entry: the first entry
 * @usage: SWAP_HAS_CACHE, SWAP_MAP_SHMEM or 1
 * @nr: how many
 *
 * See swap_duplicate(), swap_shmem_alloc() and swapcache_prepare(). With
 * SWAP_HAS_CACHE it is all or nothing.
 *
 * Context: any but interrupts, a page table lock may be held.
 * Return: 0, -ENOENT, -EEXIST, -EINVAL; never -ENOMEM.
 */
int scaleswap_duplicate(swp_entry_t entry, unsigned char usage, int nr)
{
	u64 first = usage == SWAP_MAP_SHMEM ? SSW_WORD_SHMEM : SSW_WORD_ONE;
	struct ssw_slots *slots;
	int err = -EINVAL;

	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	for (int i = 0; i < nr; i++) {
		unsigned long slot = swp_offset(entry) + i;

		if (unlikely(!slots))
			break;
		if (usage == SWAP_HAS_CACHE)
			err = ssw_slot_cache(slots, slot);
		else
			err = ssw_slot_dup(slots, slot, first);
		if (err) {
			if (usage == SWAP_HAS_CACHE && i)
				scaleswap_uncache(entry, i);
			break;
		}
	}
	rcu_read_unlock();
	return err;
}

/* See scaleswap_dup_mapped(). */
int __scaleswap_dup_mapped(swp_entry_t entry, struct mm_struct *mm,
			   unsigned long addr)
{
	u64 first = ssw_word_excl(ssw_mm_id(mm), addr >> PAGE_SHIFT);
	struct ssw_slots *slots;

	if (first == SSW_WORD_ONE)
		ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_RMAP, 0);
	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	if (unlikely(!slots || ssw_slot_dup(slots, swp_offset(entry), first)))
		ssw_bad_entry("duplicate", entry);
	rcu_read_unlock();
	return 0;
}

/**
 * ssw_dup_shmem - have shmem refer to slots, with a note of where
 * @entry: the first entry
 * @nr: how many
 * @inode: number of the inode, or 0 for no note
 * @index: index of the first page in the file
 *
 * Context: any but interrupts. The slots are in the swap cache on behalf of the caller, and have no
 * reference.
 */
void ssw_dup_shmem(swp_entry_t entry, unsigned int nr, u32 inode, pgoff_t index)
{
	struct ssw_slots *slots;

	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	for (; nr; nr--, entry.val++, index++) {
		if (unlikely(!slots || ssw_slot_dup(slots, swp_offset(entry),
						    ssw_word_shmem(inode, index))))
			ssw_bad_entry("duplicate", entry);
	}
	rcu_read_unlock();
}

/**
 * scaleswap_free - drop a reference to each of some slots
 * @entry: the first entry
 * @nr: how many
 *
 * See swap_free_nr() and free_swap_and_cache_nr(). A slot that nothing refers to
 * any more is freed.
 *
 * Context: any but interrupts, a page table lock may be held.
 * Return: true if a slot is left with nothing but its swap cache.
 */
bool scaleswap_free(swp_entry_t entry, unsigned int nr)
{
	struct ssw_run run = { .nr = 0 };
	bool only_cache = false;
	struct ssw_slots *slots;
	u64 word;

	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	for (;; entry.val++) {
		if (unlikely(!slots || ssw_slot_put(slots, swp_offset(entry), &word)))
			ssw_bad_entry("free", entry);
		else if (word == SSW_WORD_FREEING)
			ssw_run_add(&run, entry);
		else if (word == SSW_WORD_CACHE)
			only_cache = true;
		if (!--nr)
			break;
		/* Hibernation frees millions at once. */
		if (unlikely(!((swp_offset(entry) + 1) % SSW_CLUSTER_SLOTS))) {
			ssw_run_flush(&run);
			rcu_read_unlock();
			rcu_read_lock();
			slots = ssw_entry_slots(entry);
		}
	}
	ssw_run_flush(&run);
	rcu_read_unlock();
	return only_cache;
}

static u64 ssw_entry_read(swp_entry_t entry)
{
	struct ssw_slots *slots;
	u64 word = SSW_WORD_FREE;

	rcu_read_lock();
	slots = ssw_entry_slots(entry);
	if (likely(slots))
		word = ssw_slot_read(slots, swp_offset(entry));
	rcu_read_unlock();
	return word;
}

/**
 * scaleswap_count - count the references of a slot
 * @entry: the entry
 *
 * The swap cache does not count.
 *
 * Context: any.
 * Return: the number of references.
 */
int scaleswap_count(swp_entry_t entry)
{
	return min_t(u64, ssw_word_count(ssw_entry_read(entry)), INT_MAX);
}

/**
 * scaleswap_has_cache - check if a slot is in the swap cache
 * @entry: the entry
 *
 * Context: any.
 * Return: true if it is in the swap cache.
 */
bool scaleswap_has_cache(swp_entry_t entry)
{
	return ssw_entry_read(entry) & SSW_WORD_CACHE;
}

/**
 * scaleswap_only_cache - check if slots can be freed by dropping their swap cache
 * @entry: the first entry
 * @nr: how many
 *
 * Context: any; stable while the caller holds the lock of the folio.
 * Return: true if all of them have nothing but their swap cache.
 */
bool scaleswap_only_cache(swp_entry_t entry, unsigned int nr)
{
	for (; nr; entry.val++, nr--) {
		if (ssw_entry_read(entry) != SSW_WORD_CACHE)
			return false;
	}
	return true;
}

/**
 * scaleswap_swapped - check if there is a reference to any of some slots
 * @entry: the first entry
 * @nr: how many
 *
 * Context: any.
 * Return: true if there is a reference to any of them.
 */
bool scaleswap_swapped(swp_entry_t entry, unsigned int nr)
{
	for (; nr; entry.val++, nr--) {
		if (ssw_word_count(ssw_entry_read(entry)))
			return true;
	}
	return false;
}

/**
 * ssw_area_used - count the slots of an area that are in use
 * @area: a per-core area
 *
 * Frees are summed up before allocations are read, so a slot that is allocated and
 * freed again in between counts as used. While both go on, the result may be too
 * high, but at most the size of the area. It is zero only if no slot was in use.
 *
 * Context: any in which @area cannot go away.
 * Return: slots, at most all.
 */
unsigned int ssw_area_used(const struct ssw_area *area)
{
	u64 freed = 0, used;
	int cpu;

	for_each_possible_cpu(cpu)
		freed += READ_ONCE(per_cpu_ptr(area->stat, cpu)->freed);
	freed += ssw_drain_nr_freed(area);
	/* Pairs with the full barrier in ssw_release() before it counts. */
	smp_rmb();
	used = READ_ONCE(area->slots->allocated) - freed;
	return min_t(u64, used, READ_ONCE(area->si->pages));
}

/* See scaleswap_inuse(). */
unsigned int __scaleswap_inuse(const struct swap_info_struct *si)
{
	struct ssw_area *area;
	unsigned int used = 0;

	rcu_read_lock();
	area = rcu_dereference(ssw_areas[si->type]);
	if (area && area->slots)
		used = ssw_area_used(area);
	rcu_read_unlock();
	return used;
}

/**
 * scaleswap_next_inuse - find the next slot in use, for swapoff
 * @si: the area
 * @prev: the slot after which to look
 *
 * Context: process context, may sleep; the area is not allocated from.
 * Return: the slot, 0 if there is none.
 */
unsigned int scaleswap_next_inuse(struct swap_info_struct *si, unsigned int prev)
{
	struct ssw_slots *slots = ssw_area_held(si->type)->slots;
	unsigned long slot = prev + 1UL;

	while (slot < slots->nr_slots) {
		unsigned long next;
		u64 word;

		rcu_read_lock();
		next = ssw_slot_next(slots, slot);
		word = ssw_slot_read(slots, next);
		rcu_read_unlock();
		if (word != SSW_WORD_FREE && word != SSW_WORD_BAD)
			return next;
		slot = next;
		cond_resched();
	}
	return 0;
}

#ifdef CONFIG_MEMCG
static u16 *ssw_memcg(swp_entry_t entry)
{
	unsigned long slot = swp_offset(entry);
	struct ssw_slots *slots = ssw_entry_slots(entry);
	struct ssw_table *table = slots ? ssw_slot_table(slots, slot) : NULL;

	return table ? &table->memcg[slot % SSW_CLUSTER_SLOTS] : NULL;
}

/**
 * scaleswap_cgroup_record - record a memory cgroup for slots
 * @entry: the first entry
 * @id: id of a memory cgroup, or 0
 * @nr: how many; all in one cluster and with the same id before
 *
 * No other caller records for these slots meanwhile: they are in the swap cache
 * with their folio locked, or they are being torn down. But while they are in the
 * swap cache, moving charges (cgroup v1) may change a record that is still the
 * expected one: see scaleswap_cgroup_cmpxchg(). So each record is exchanged. Either
 * this returns the id that the charge was moved to, or the move does not happen.
 *
 * Context: any but interrupts.
 * Return: the id before.
 */
unsigned short scaleswap_cgroup_record(swp_entry_t entry, unsigned short id,
				       unsigned int nr)
{
	unsigned short old = 0;
	u16 *at;

	rcu_read_lock();
	at = ssw_memcg(entry);
	if (WARN_ON_ONCE(!at))
		goto out;
	old = xchg(at, id);
	while (--nr) {
		unsigned short other = xchg(++at, id);

		VM_WARN_ON_ONCE(other != old);
	}
out:
	rcu_read_unlock();
	return old;
}

/**
 * scaleswap_cgroup_cmpxchg - change a slot's memory cgroup if it is the expected one
 * @entry: the entry
 * @old: id that it must have
 * @new: id to be set
 *
 * Context: any but interrupts.
 * Return: @old, or 0 if it had another.
 */
unsigned short scaleswap_cgroup_cmpxchg(swp_entry_t entry, unsigned short old,
					unsigned short new)
{
	unsigned short ret = 0;
	u16 *at;

	rcu_read_lock();
	at = ssw_memcg(entry);
	if (at && cmpxchg(at, old, new) == old)
		ret = old;
	rcu_read_unlock();
	return ret;
}

/**
 * scaleswap_cgroup_id - get a slot's memory cgroup
 * @entry: the entry
 *
 * Context: any.
 * Return: the id, 0 if there is none.
 */
unsigned short scaleswap_cgroup_id(swp_entry_t entry)
{
	unsigned short id;
	u16 *at;

	rcu_read_lock();
	at = ssw_memcg(entry);
	id = at ? READ_ONCE(*at) : 0;
	rcu_read_unlock();
	return id;
}
#endif /* CONFIG_MEMCG */
