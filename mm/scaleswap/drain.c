// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: emptying an area in use.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

/**
 * DOC: Draining an area
 *
 * swapoff empties an area into memory, so there has to be enough of that, and whoever calls it
 * waits. Draining moves the area's slots to other areas while they are in use, as move.c does. The
 * area stays on meanwhile, but nothing is allocated from it. When it is empty, swapoff has nothing
 * to do.
 *
 * One kthread, ssw_draind, sweeps through an area until nothing is in use:
 *
 * 1. What a slot's note finds moves to another per-core area, in the order of the area's home CPU.
 * 2. What is in the swap cache is mapped where its note says, or freed if nothing refers to it.
 * 3. If a sweep gains nothing, what is left is read into the swap cache, as far as there is memory,
 *    and mapped: by a walk of all mms, and for tmpfs by the notes. These pages may be swapped out
 *    again, to other areas.
 *
 * It allocates memory so that neither the machine nor a memory cgroup gets an OOM kill by it. While
 * an area is drained, unuse_pte_range() maps only what is in the swap cache (scaleswap_drains()).
 * If nothing can be gained, it waits, and tries again.
 *
 * A page that cannot be read stays in its slot, is remembered, and reported once. Others go on.
 *
 * Free slots of the area are no free swap space: they are taken out of nr_swap_pages
 * (ssw_withhold()), and so is what is freed later. swapoff and an end of draining give them back.
 */
#include <linux/blkdev.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/oom.h>
#include <linux/page_counter.h>
#include <linux/pagemap.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swap_cgroup.h>
#include <linux/swapops.h>

#include "../swap.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

/* When to try again after a round in vain, at first and at last */
#define SSW_DRAIN_DELAY		HZ
#define SSW_DRAIN_DELAY_MAX	(8 * HZ)

/* When to try for the lock of moves again, and how often to look whether to end, in a pause */
#define SSW_DRAIN_POLL_MS	20
#define SSW_DRAIN_LOOK_MS	100

/* Pages that are read into the swap cache at a time, at most */
#define SSW_DRAIN_HELD		65536U
/* Memory that is left to others meanwhile: this part of all, or of a memcg's limit */
#define SSW_DRAIN_SPARE		32
/* Of an mm, what is looked through without a break, in bytes */
#define SSW_DRAIN_PART		SZ_1G
/* So few pages of free swap space, or of a memcg's limit, may be gone before the next look. */
#define SSW_DRAIN_FEW		128

/* What is read and written at most, in MiB a second; 0 for no limit */
unsigned int ssw_drain_mb_s;

/* Protects whether areas are drained, what is withheld, and the thread with its memory. */
static DEFINE_MUTEX(ssw_drain_mutex);
static struct task_struct *ssw_draind_task;
static struct ssw_mover *ssw_draind_mover;

/* Areas whose free slots are withheld */
static unsigned int ssw_nr_withheld;

/* Something has changed that the thread has not seen. */
static bool ssw_draind_kicked;

/* A slot whose page is in the swap cache */
struct ssw_held {
	struct folio *folio;
	unsigned int slot;
	u64 word;
};

static const char * const ssw_drain_states[] = {
	[SSW_DRAIN_OFF]		= "off",
	[SSW_DRAIN_MOVING]	= "moving",
	[SSW_DRAIN_BLOCKED]	= "blocked",
	[SSW_DRAIN_UNREADABLE]	= "unreadable",
	[SSW_DRAIN_EMPTY]	= "empty",
};

static_assert(ARRAY_SIZE(ssw_drain_states) == SSW_NR_DRAIN_STATES);

/**
 * ssw_drain_state_name - say how far an area has been emptied
 * @area: the area, which cannot go away
 *
 * Context: any.
 * Return: a word, see ssw_drain_states[].
 */
const char *ssw_drain_state_name(const struct ssw_area *area)
{
	return ssw_drain_states[READ_ONCE(area->drain.state)];
}

static void ssw_drain_state(struct ssw_area *area, enum ssw_drain_state state)
{
	if (area->drain.state == state)
		return;
	WRITE_ONCE(area->drain.state, state);
	trace_scaleswap_drain_area(area->si->type, state, ssw_area_used(area));
}

/* --- free swap space -------------------------------------------------------------- */

/* Have free slots of an area not count as free swap space. Nothing is allocated there any more. */
static void ssw_withhold(struct ssw_area *area)
{
	struct ssw_area_drain *d = &area->drain;
	u64 freed = 0;
	int cpu;

	lockdep_assert_held(&ssw_drain_mutex);
	if (d->withhold)
		return;
	d->since = atomic_long_read(&d->withheld);
	WRITE_ONCE(d->withhold, true);
	/*
	 * All that was allocated, or freed without seeing the flag, has been counted after that:
	 * both are on the RCU read side. So the sums below do not change.
	 */
	synchronize_rcu();
	for_each_possible_cpu(cpu)
		freed += READ_ONCE(per_cpu_ptr(area->stat, cpu)->freed);
	d->kept = area->si->pages - (long)(READ_ONCE(area->slots->allocated) - freed - d->since);
	ssw_nr_swap_add(-d->kept);
	ssw_nr_swap_flush();
	WRITE_ONCE(ssw_nr_withheld, ssw_nr_withheld + 1);
}

static long ssw_withheld(const struct ssw_area_drain *d)
{
	return d->kept + atomic_long_read(&d->withheld) - d->since;
}

/* Have them count again, also those that were freed meanwhile. */
static void ssw_withhold_end(struct ssw_area *area)
{
	struct ssw_area_drain *d = &area->drain;

	lockdep_assert_held(&ssw_drain_mutex);
	if (!d->withhold)
		return;
	WRITE_ONCE(d->withhold, false);
	/* Frees that have seen the flag have counted after that. */
	synchronize_rcu();
	WRITE_ONCE(ssw_nr_withheld, ssw_nr_withheld - 1);
	ssw_nr_swap_add(ssw_withheld(d));
	ssw_nr_swap_flush();
}

/**
 * ssw_drain_withheld - count what swapoff has taken from nr_swap_pages, and is withheld, too
 *
 * Context: swap_lock held.
 * Return: pages.
 */
long ssw_drain_withheld(void)
{
	long sum = 0;

	if (likely(!READ_ONCE(ssw_nr_withheld)))
		return 0;
	rcu_read_lock();
	for (unsigned int type = 0; type < MAX_SWAPFILES; type++) {
		struct ssw_area *area = rcu_dereference(ssw_areas[type]);

		if (area && READ_ONCE(area->drain.withhold) &&
		    !(data_race(area->si->flags) & SWP_WRITEOK))
			sum += ssw_withheld(&area->drain);
	}
	rcu_read_unlock();
	return sum;
}

/* --- the thread's rules -------------------------------------------------------------- */

static void ssw_drain_kick(void)
{
	struct task_struct *task = READ_ONCE(ssw_draind_task);

	/* What has changed comes first. Pairs with smp_store_mb() in ssw_draind(). */
	smp_mb();
	WRITE_ONCE(ssw_draind_kicked, true);
	/* The barrier is in wake_up_process(). It pairs with that of set_current_state(). */
	if (task)
		wake_up_process(task);
}

/* See if the thread is to leave an area alone. */
static bool ssw_drain_stops(const struct ssw_area *area)
{
	return !READ_ONCE(area->drain.wanted) || freezing(current) || ssw_compact_waits() ||
	       !(data_race(area->si->flags) & SWP_WRITEOK);
}

/* Keep to the bandwidth. */
static int ssw_drain_pause(struct ssw_mover *m)
{
	unsigned int mb_s = READ_ONCE(ssw_drain_mb_s);
	unsigned long until = m->begun;

	if (mb_s)
		until += msecs_to_jiffies(div_u64(m->bytes * MSEC_PER_SEC >> 20, mb_s));
	for (;;) {
		unsigned long now = jiffies;

		if (ssw_drain_stops(m->area))
			return -EINTR;
		if (!time_before(now, until))
			return 0;
		schedule_timeout_idle(min(until - now, msecs_to_jiffies(SSW_DRAIN_LOOK_MS)));
	}
}

static int ssw_drain_place(struct ssw_mover *m, unsigned int *slot)
{
	/* One that cannot be written rests until the next sweep. */
	return ssw_alloc_elsewhere(m->area, m->broken, &m->to, slot) ? 1 : -ENOSPC;
}

/* --- pages that cannot be read ---------------------------------------------------------- */

static void ssw_drain_report(struct ssw_area *area, unsigned int slot, u64 word)
{
	unsigned long addr = 0;
	struct mm_struct *mm = NULL;
	pid_t pid = 0;

	if (xa_load(&area->drain.unreadable, slot))
		return;
	/* Without memory for it, it is read, and reported, another time. */
	if (xa_is_err(xa_store(&area->drain.unreadable, slot, xa_mk_value(1),
			       GFP_NOWAIT | __GFP_NOWARN)))
		return;
	area->drain.nr_unreadable++;
	if (ssw_word_kind(word) == SSW_KIND_EXCL) {
		addr = ssw_word_vpn(word) << PAGE_SHIFT;
		mm = ssw_mm_get(ssw_word_mm(word));
	}
#ifdef CONFIG_MEMCG
	if (mm) {
		const struct task_struct *owner;

		rcu_read_lock();
		owner = rcu_dereference(mm->owner);
		pid = owner ? task_tgid_nr((struct task_struct *)owner) : 0;
		rcu_read_unlock();
	}
#endif
	if (mm)
		mmput_async(mm);
	ssw_stat_add(SSW_DRAIN_UNREAD, 1);
	trace_scaleswap_drain_unreadable(area->si->type, slot, pid, addr);
	if (ssw_word_kind(word) == SSW_KIND_SHMEM)
		pr_warn_ratelimited("swap area %u: the device fails to read slot %u, page %llu of a file of tmpfs or of shared memory; it stays there\n",
				    area->si->type, slot, ssw_word_vpn(word));
	else
		pr_warn_ratelimited("swap area %u: the device fails to read slot %u, of process %d at 0x%lx; the page stays there\n",
				    area->si->type, slot, pid, addr);
}

static void ssw_drain_unreadable(struct ssw_mover *m, const struct ssw_move *mv)
{
	ssw_drain_report(m->area, mv->from, mv->word);
}

/* Forget those that were freed since. */
static void ssw_drain_forget(struct ssw_area *area)
{
	struct ssw_area_drain *d = &area->drain;
	unsigned int nr = 0;
	unsigned long slot;
	void *entry;

	xa_for_each(&d->unreadable, slot, entry) {
		u64 word;

		rcu_read_lock();
		word = ssw_slot_read(area->slots, slot);
		rcu_read_unlock();
		if (ssw_word_count(word))
			nr++;
		else
			xa_erase(&d->unreadable, slot);
	}
	WRITE_ONCE(d->nr_unreadable, nr);
}

/* --- sweeps ---------------------------------------------------------------------------- */

/* Memory to read pages into: how many */
static unsigned int ssw_drain_room(void)
{
	long room = si_mem_available() - totalram_pages() / SSW_DRAIN_SPARE;

	return clamp_t(long, room, 0, SSW_DRAIN_HELD);
}

/*
 * See if pages of a memcg, or NULL, may be mapped. In the swap cache they can be dropped; mapped
 * they have to be swapped out first. If that cannot be done, memory is to be left for their owners:
 * else they have an OOM kill. RCU read side.
 */
static bool ssw_memcg_fits(struct mem_cgroup *memcg)
{
	bool fits;

	if (mem_cgroup_get_nr_swap_pages(memcg) > SSW_DRAIN_FEW)
		return true;
	fits = ssw_drain_room();
#ifdef CONFIG_MEMCG
	for (; memcg && fits; memcg = parent_mem_cgroup(memcg)) {
		unsigned long max = READ_ONCE(memcg->memory.max);

		fits = page_counter_read(&memcg->memory) + max / SSW_DRAIN_SPARE + SSW_DRAIN_FEW <
		       max;
	}
#endif
	return fits;
}

/* The same, of a page in the swap cache. */
static bool ssw_drain_fits(struct folio *folio)
{
	bool fits;

	rcu_read_lock();
	fits = ssw_memcg_fits(folio_memcg(folio));
	rcu_read_unlock();
	return fits;
}

/* The same, of a slot. */
static bool ssw_rest_fits(swp_entry_t entry)
{
	bool fits;

	rcu_read_lock();
	fits = ssw_memcg_fits(mem_cgroup_from_id(lookup_swap_cgroup_id(entry)));
	rcu_read_unlock();
	return fits;
}

/* Map a page that is in the swap cache where its note says. Return true if that was done. */
static bool ssw_drain_map(struct ssw_area *area, unsigned long slot, u64 word)
{
	swp_entry_t entry = swp_entry(area->si->type, slot);
	unsigned long addr = ssw_word_vpn(word) << PAGE_SHIFT;
	struct mm_struct *mm;
	struct folio *folio;
	bool mapped = false;

	folio = filemap_get_folio(swap_address_space(entry), swap_cache_index(entry));
	/* Another task is about to put it there. */
	if (IS_ERR(folio))
		return false;
	mm = ssw_drain_fits(folio) ? ssw_mm_get(ssw_word_mm(word)) : NULL;
	if (mm && mmap_read_trylock(mm)) {
		if (!check_stable_address_space(mm))
			swap_area_unuse(mm, area->si->type, addr, addr + PAGE_SIZE);
		mmap_read_unlock(mm);
		rcu_read_lock();
		mapped = !ssw_word_count(ssw_slot_read(area->slots, slot));
		rcu_read_unlock();
	}
	/* The last reference: freeing all that it maps is not this thread's work. */
	if (mm)
		mmput_async(mm);
	folio_put(folio);
	if (mapped)
		ssw_stat_add(SSW_DRAIN_MAPPED, 1);
	return mapped;
}

/*
 * Go through the area once. Return how many slots were moved, mapped or freed. The lock of moves is
 * held.
 */
static unsigned long ssw_drain_sweep(struct ssw_area *area, struct ssw_mover *m)
{
	struct ssw_slots *slots = area->slots;
	unsigned long slot, gained = 0;
	bool room = true;

	m->area = area;
	m->place = ssw_drain_place;
	m->unreadable = ssw_drain_unreadable;
	m->pause = ssw_drain_pause;
	m->moved = 0;
	m->broken = NULL;
	ssw_mover_set_batch(m, READ_ONCE(ssw_move_batch));
	for (slot = 0; !ssw_drain_stops(area); slot++) {
		unsigned long placed = m->placed;
		u64 word;
		int err;

		cond_resched();
		rcu_read_lock();
		slot = ssw_slot_next(slots, slot);
		word = ssw_slot_read(slots, slot);
		rcu_read_unlock();
		if (slot >= slots->nr_slots)
			break;
		if (word == SSW_WORD_CACHE) {
			gained += swap_area_reclaim(area->si, slot) > 0;
		} else if (ssw_word_kind(word) == SSW_KIND_EXCL && (word & SSW_WORD_CACHE)) {
			gained += ssw_drain_map(area, slot, word);
		} else if (room) {
			err = ssw_move_slot(m, slot);
			/* Else the area that it took from is full, and another may not be. */
			if ((err == -ENOSPC || err == -ENOMEM) && m->placed == placed)
				room = false;
		}
	}
	ssw_move_flush(m);
	ssw_stat_add(SSW_DRAIN_MOVED, m->moved);
	return gained + m->moved;
}

/* --- the rest --------------------------------------------------------------------------- */

/*
 * Read what is in use into the swap cache, @max pages at most. Return how many are there. Set
 * @shmem if all that are tmpfs's are, and one of them has no note.
 */
static unsigned int ssw_rest_read(struct ssw_area *area, struct ssw_held *held, unsigned int max,
				  bool *shmem)
{
	/* Reclaim may be tried, but nothing is killed for it: of the machine, or of a memcg. */
	const gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_NOWARN;
	struct swap_iocb *splug = NULL;
	unsigned int nr = 0;
	struct blk_plug plug;
	bool all = true;

	*shmem = false;
	blk_start_plug(&plug);
	for (unsigned long slot = 0; ; slot++) {
		struct folio *folio;
		swp_entry_t entry;
		bool read;
		u64 word;

		cond_resched();
		rcu_read_lock();
		slot = ssw_slot_next(area->slots, slot);
		word = ssw_slot_read(area->slots, slot);
		rcu_read_unlock();
		if (slot >= area->slots->nr_slots)
			break;
		if (!ssw_word_count(word))
			continue;
		if (nr == max || ssw_drain_stops(area)) {
			all = false;
			break;
		}
		entry = swp_entry(area->si->type, slot);
		if (xa_load(&area->drain.unreadable, slot) || !ssw_rest_fits(entry)) {
			all &= ssw_word_kind(word) != SSW_KIND_SHMEM;
			continue;
		}
		folio = __read_swap_cache_async(entry, gfp, get_task_policy(current),
						NO_INTERLEAVE_INDEX, &read, false);
		if (!folio) {
			/* It was freed, or there is no memory. */
			if (!scaleswap_count(entry))
				continue;
			all = false;
			break;
		}
		if (read)
			swap_read_folio(folio, &splug);
		*shmem |= ssw_word_kind(word) == SSW_KIND_SHMEM && !ssw_word_has_note(word);
		held[nr].folio = folio;
		held[nr].slot = slot;
		held[nr++].word = word;
	}
	blk_finish_plug(&plug);
	swap_read_unplug(splug);
	/* Push new pages onto the LRU. */
	lru_add_drain();
	for (unsigned int i = 0; i < nr; i++) {
		folio_wait_locked(held[i].folio);
		if (folio_test_uptodate(held[i].folio) ||
		    !scaleswap_count(swp_entry(area->si->type, held[i].slot)))
			continue;
		all &= ssw_word_kind(held[i].word) != SSW_KIND_SHMEM;
		ssw_drain_report(area, held[i].slot, held[i].word);
	}
	*shmem &= all;
	return nr;
}

/* Map what is in the swap cache, in one mm. It is locked for a part at a time. */
static void ssw_rest_map_mm(struct ssw_area *area, struct mm_struct *mm)
{
	unsigned long addr = 0;

	while (!ssw_drain_stops(area) && mmap_read_trylock(mm)) {
		struct vm_area_struct *vma = NULL;

		if (!check_stable_address_space(mm))
			vma = find_vma(mm, addr);
		if (vma) {
			unsigned long from = max(addr, vma->vm_start);

			addr = min(vma->vm_end - from, SSW_DRAIN_PART) + from;
			swap_area_unuse(mm, area->si->type, from, addr);
		}
		mmap_read_unlock(mm);
		if (!vma)
			break;
		cond_resched();
	}
}

/* Map what is in the swap cache, in all mms that have ever swapped. */
static void ssw_rest_map(struct ssw_area *area)
{
	struct list_head *at = &init_mm.mmlist;
	struct mm_struct *mm, *last = NULL;

	spin_lock(&mmlist_lock);
	while (!ssw_drain_stops(area) && (at = at->next) != &init_mm.mmlist) {
		mm = list_entry(at, struct mm_struct, mmlist);
		if (!mmget_not_zero(mm))
			continue;
		spin_unlock(&mmlist_lock);
		/* It has kept its place in the list until now. */
		if (last)
			mmput_async(last);
		last = mm;
		ssw_rest_map_mm(area, mm);
		cond_resched();
		spin_lock(&mmlist_lock);
	}
	spin_unlock(&mmlist_lock);
	if (last)
		mmput_async(last);
}

/*
 * Have a page that is in the swap cache back in its file of tmpfs, where its note says. One that
 * could not be read stays where it is.
 */
static void ssw_rest_shmem(struct ssw_area *area, const struct ssw_held *held)
{
	/* While it is held, it is not dropped from the swap cache. So nothing is read. */
	if (ssw_word_kind(held->word) == SSW_KIND_SHMEM && ssw_word_has_note(held->word) &&
	    folio_test_uptodate(held->folio) && ssw_drain_fits(held->folio))
		scaleswap_shmem_swapin(swp_entry(area->si->type, held->slot), held->word);
}

/* Map what could not be moved. Return how many slots are not in use any more. */
static unsigned long ssw_drain_rest(struct ssw_area *area)
{
	unsigned int max = min(ssw_area_used(area), ssw_drain_room()), nr, gained = 0;
	struct ssw_held *held = NULL;
	bool shmem;

	if (max)
		held = kvmalloc_array(max, sizeof(*held),
				      GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (!held)
		return 0;
	nr = ssw_rest_read(area, held, max, &shmem);
	if (nr)
		ssw_rest_map(area);
	for (unsigned int i = 0; i < nr && !ssw_drain_stops(area); i++)
		ssw_rest_shmem(area, &held[i]);
	/* It would read the others as well, with memory that there is not. */
	if (shmem && !ssw_drain_stops(area))
		shmem_unuse(area->si->type);
	for (unsigned int i = 0; i < nr; i++) {
		u64 word;

		folio_put(held[i].folio);
		rcu_read_lock();
		word = ssw_slot_read(area->slots, held[i].slot);
		rcu_read_unlock();
		gained += !ssw_word_count(word);
		if (word == SSW_WORD_CACHE)
			swap_area_reclaim(area->si, held[i].slot);
	}
	kvfree(held);
	ssw_stat_add(SSW_DRAIN_MAPPED, gained);
	return gained;
}

/* --- the thread -------------------------------------------------------------------------- */

/* Do what there is to do about an area. Return for how many jiffies to leave it alone then. */
static long ssw_drain_area(struct ssw_area *area, struct ssw_mover *m)
{
	struct ssw_area_drain *d = &area->drain;
	unsigned long gained, now = jiffies;
	unsigned int used;

	if (READ_ONCE(d->anew)) {
		WRITE_ONCE(d->anew, false);
		d->again = 0;
		d->delay = SSW_DRAIN_DELAY;
	}
	if (d->again && time_before(now, d->again))
		return d->again - now;
	d->again = 0;
	used = ssw_area_used(area);
	if (!used) {
		ssw_drain_state(area, SSW_DRAIN_EMPTY);
		return MAX_SCHEDULE_TIMEOUT;
	}
	if (!mutex_trylock(&ssw_move_mutex))
		return msecs_to_jiffies(SSW_DRAIN_POLL_MS);
	ssw_drain_forget(area);
	if (d->nr_unreadable < used && d->state != SSW_DRAIN_BLOCKED)
		ssw_drain_state(area, SSW_DRAIN_MOVING);
	gained = ssw_drain_sweep(area, m);
	mutex_unlock(&ssw_move_mutex);
	if (!gained && !ssw_drain_stops(area))
		gained = ssw_drain_rest(area);
	if (ssw_drain_stops(area))
		return msecs_to_jiffies(SSW_DRAIN_POLL_MS);
	if (gained) {
		d->delay = SSW_DRAIN_DELAY;
		ssw_drain_state(area, SSW_DRAIN_MOVING);
		return 0;
	}
	ssw_drain_forget(area);
	used = ssw_area_used(area);
	if (!used)
		return 0;
	ssw_drain_state(area, d->nr_unreadable >= used ? SSW_DRAIN_UNREADABLE : SSW_DRAIN_BLOCKED);
	d->again = (jiffies + d->delay) | 1;
	gained = d->delay;
	d->delay = min(2 * d->delay, SSW_DRAIN_DELAY_MAX);
	return gained;
}

/* Look at all areas. Return for how many jiffies there is nothing to do. */
static long ssw_drain_round(struct ssw_mover *m)
{
	long timeout = MAX_SCHEDULE_TIMEOUT;

	for (unsigned int type = 0; type < MAX_SWAPFILES && !freezing(current); type++) {
		struct swap_info_struct *si = swp_swap_info(swp_entry(type, 0));
		struct ssw_area *area;

		/* The reference keeps a swapoff from completing meanwhile. */
		if (!si || !percpu_ref_tryget_live(&si->users))
			continue;
		area = ssw_area_held(type);
		if (area && READ_ONCE(area->drain.wanted) &&
		    (data_race(si->flags) & SWP_WRITEOK))
			timeout = min(timeout, ssw_drain_area(area, m));
		percpu_ref_put(&si->users);
	}
	return timeout;
}

static int ssw_draind(void *unused)
{
	set_freezable();
	for (;;) {
		long timeout;

		/* Pairs with smp_mb() in ssw_drain_kick(). */
		smp_store_mb(ssw_draind_kicked, false);
		timeout = ssw_drain_round(ssw_draind_mover);
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		if (timeout && !READ_ONCE(ssw_draind_kicked))
			schedule_timeout(timeout);
		__set_current_state(TASK_RUNNING);
		cond_resched();
		try_to_freeze();
	}
	return 0;
}

/* The thread stays, and so does its memory, less than a megabyte. */
static int ssw_draind_start(void)
{
	struct task_struct *task;

	lockdep_assert_held(&ssw_drain_mutex);
	if (!ssw_draind_mover)
		ssw_draind_mover = ssw_mover_alloc(READ_ONCE(ssw_move_batch));
	if (!ssw_draind_mover)
		return -ENOMEM;
	if (ssw_draind_task)
		return 0;
	task = kthread_run(ssw_draind, NULL, "ssw_draind");
	if (IS_ERR(task))
		return PTR_ERR(task);
	WRITE_ONCE(ssw_draind_task, task);
	return 0;
}

static int ssw_drain_begin(struct ssw_area *area)
{
	struct ssw_area_drain *d = &area->drain;
	int err = ssw_draind_start();

	if (err)
		return err;
	mutex_lock(&ssw_mutex);
	/* swapoff closes it after that, and then waits for ssw_drain_mutex. */
	if (READ_ONCE(area->si->flags) & SWP_WRITEOK) {
		WRITE_ONCE(area->slots->closed, true);
		WRITE_ONCE(d->wanted, true);
	} else {
		err = -EBUSY;
	}
	mutex_unlock(&ssw_mutex);
	if (err)
		return err;
	/* What could not be read before may be readable now. */
	xa_destroy(&d->unreadable);
	WRITE_ONCE(d->nr_unreadable, 0);
	WRITE_ONCE(d->anew, true);
	ssw_withhold(area);
	return 0;
}

static void ssw_drain_end(struct ssw_area *area)
{
	mutex_lock(&ssw_mutex);
	WRITE_ONCE(area->drain.wanted, false);
	mutex_unlock(&ssw_mutex);
	ssw_withhold_end(area);
	mutex_lock(&ssw_mutex);
	if (READ_ONCE(area->si->flags) & SWP_WRITEOK)
		/* Pairs with the acquire of the token by the first allocation. */
		smp_store_release(&area->slots->closed, false);
	mutex_unlock(&ssw_mutex);
	WRITE_ONCE(area->drain.state, SSW_DRAIN_OFF);
}

/**
 * ssw_drain_set - begin or end to drain an area
 * @area: the area; the caller holds a kernfs active reference on it
 * @on: whether to drain it
 *
 * Afterwards nothing is allocated from it, or it is in use again. Slots are moved later.
 *
 * Context: process context; waits for an RCU grace period, not for the device.
 * Return: 0; -EOPNOTSUPP if its slots cannot be moved; -EBUSY if it is being turned off; -ENOMEM,
 * or what kthread_run() returns.
 */
int ssw_drain_set(struct ssw_area *area, bool on)
{
	int err = 0;

	if (!ssw_defrag_on || !area->slots || area->fs_ops)
		return on ? -EOPNOTSUPP : 0;
	mutex_lock(&ssw_drain_mutex);
	if (on && !area->drain.wanted)
		err = ssw_drain_begin(area);
	else if (!on && area->drain.wanted)
		ssw_drain_end(area);
	mutex_unlock(&ssw_drain_mutex);
	ssw_drain_kick();
	return err;
}

/**
 * ssw_drain_closed - give back what draining withholds, as swapoff takes all of the area
 * @area: the area, which is closed
 *
 * Context: process context, sleeps. swapoff has cleared SWP_WRITEOK.
 */
void ssw_drain_closed(struct ssw_area *area)
{
	if (!READ_ONCE(area->drain.wanted) && !READ_ONCE(area->drain.withhold))
		return;
	mutex_lock(&ssw_drain_mutex);
	ssw_withhold_end(area);
	mutex_unlock(&ssw_drain_mutex);
}

/**
 * ssw_drain_opened - go on to drain an area after a swapoff that has failed
 * @area: the area
 *
 * Context: process context, sleeps.
 */
void ssw_drain_opened(struct ssw_area *area)
{
	if (!READ_ONCE(area->drain.wanted))
		return;
	mutex_lock(&ssw_drain_mutex);
	if (area->drain.wanted && (READ_ONCE(area->si->flags) & SWP_WRITEOK))
		ssw_withhold(area);
	mutex_unlock(&ssw_drain_mutex);
	ssw_drain_kick();
}

/**
 * ssw_drain_init - set up what draining keeps of an area
 * @area: the area
 *
 * Context: swapon.
 */
void ssw_drain_init(struct ssw_area *area)
{
	xa_init(&area->drain.unreadable);
}

/**
 * ssw_drain_exit - free it
 * @area: the area, whose si->users nobody holds any more
 *
 * Context: swapoff.
 */
void ssw_drain_exit(struct ssw_area *area)
{
	xa_destroy(&area->drain.unreadable);
}
