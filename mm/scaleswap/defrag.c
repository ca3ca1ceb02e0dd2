// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: which clusters to empty.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/delay.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

#include <trace/events/scaleswap.h>

/* How often to see whether another pass has ended, in milliseconds */
#define SSW_MOVE_POLL_MS	20

bool ssw_defrag_on __ro_after_init;

/* Slots that are moved at a time */
unsigned int ssw_move_batch = SSW_MOVE_BATCH;

/* One mover a machine: tags are not one mover's or another's. */
DEFINE_MUTEX(ssw_move_mutex);

/* Writes to compact that wait for the mutex, or have it: defragd gives way. */
static atomic_t ssw_compacts;

static int ssw_pick_cmp(const void *a, const void *b)
{
	const struct ssw_pick *x = a, *y = b;

	return (int)x->used - (int)y->used;
}

/* See if a slot keeps its cluster from being emptied. Return the reason, or SSW_MOVE_MOVED. */
static enum ssw_stat_item ssw_slot_stays(u64 word)
{
	u64 new;

	switch (ssw_word_tag(word, &new)) {
	case 0:
		return SSW_MOVE_MOVED;
	case -EEXIST:
		return SSW_MOVE_CACHED;
	case -EALREADY:
		/* An earlier pass has left it behind, and nothing was done to it since. */
		return SSW_MOVE_STALE;
	default:
		break;
	}
	switch (ssw_word_kind(word)) {
	case SSW_KIND_EXCL:
	case SSW_KIND_SHARED:
		return SSW_MOVE_SHARED;
	case SSW_KIND_SHMEM:
		return SSW_MOVE_SHMEM;
	default:
		/* Free, bad, or about to be free */
		return SSW_MOVE_MOVED;
	}
}

/*
 * Look through a sparse cluster. What only the swap cache has is freed, which is cheapest. Return
 * how many slots are to be moved; 0 if there are none, or one has to stay: then there is nothing
 * to be gained. Set @for_long if one has to stay for another reason than that it is in the swap
 * cache: then defragd does not look again until a slot of the cluster is freed.
 */
static unsigned int ssw_cluster_to_move(struct ssw_area *area, struct ssw_cluster *ci,
					bool *for_long)
{
	unsigned int base = (ci - area->slots->cluster) << SSW_CLUSTER_SHIFT;
	unsigned int nr = 0, stay = 0;

	*for_long = false;
	for (unsigned long slot = base; ; slot++) {
		enum ssw_stat_item why;
		u64 word;

		rcu_read_lock();
		slot = ssw_slot_next(area->slots, slot);
		word = ssw_slot_read(area->slots, slot);
		rcu_read_unlock();
		if (slot >= base + SSW_CLUSTER_SLOTS)
			break;
		if (word == SSW_WORD_CACHE) {
			int freed = swap_area_reclaim(area->si, slot);

			if (freed > 0) {
				ssw_stat_add(SSW_MOVE_CACHE_FREED, freed);
				continue;
			}
		}
		why = ssw_slot_stays(word);
		if (why != SSW_MOVE_MOVED) {
			ssw_stat_add(why, 1);
			trace_scaleswap_move_skip(area->si->type, slot, why);
			/* Its folio may be dropped from the swap cache, which does nothing else. */
			*for_long |= why != SSW_MOVE_CACHED;
			stay++;
		} else if (ssw_word_count(word)) {
			nr++;
		}
	}
	return stay ? 0 : nr;
}

/* How many clusters are free if the first of some are emptied that have so many slots in use. */
static unsigned int ssw_gain(unsigned int clusters, unsigned long used)
{
	return clusters - min_t(unsigned long, clusters, DIV_ROUND_UP(used, SSW_CLUSTER_SLOTS));
}

static bool ssw_can_pick(struct ssw_slots *slots, const struct ssw_cluster *ci)
{
	bool can;

	ssw_token_get(slots);
	can = ssw_cluster_can_hold(slots, ci, SSW_SPARSE);
	ssw_token_release(slots);
	return can;
}

/* Take back the mark of a cluster, before a look that decides whether it is set again. */
static void ssw_sparse_clear(struct ssw_cluster *ci)
{
	WRITE_ONCE(ci->sparse, false);
	/* Barrier H. */
	smp_mb();
}

/* See if defragd may pick a cluster: it is marked, and has been left alone for a while. */
static bool ssw_may_pick(struct ssw_picks *p, struct ssw_cluster *ci, unsigned int used)
{
	if (!READ_ONCE(ci->sparse))
		return false;
	if (!used || used > SSW_SPARSE) {
		ssw_sparse_clear(ci);
		used = atomic_read(&ci->used);
		if (used && used <= SSW_SPARSE)
			WRITE_ONCE(ci->sparse, true);
		return false;
	}
	if (ci->looked == used)
		return true;
	ci->looked = used;
	p->used_lately |= used <= p->cap;
	return false;
}

/* Pick clusters to empty, the cheapest first, as long as a cluster is gained, and wanted. */
static void ssw_pick(struct ssw_area *area, struct ssw_picks *p)
{
	struct ssw_slots *slots = area->slots;
	unsigned long used = 0;
	unsigned int last;

	p->nr = 0;
	p->used_lately = false;
	for (unsigned int i = 0; i < slots->nr_clusters; i++) {
		struct ssw_cluster *ci = &slots->cluster[i];
		unsigned int in_use = atomic_read(&ci->used);
		bool for_long;

		cond_resched();
		if (p->by_itself ? ssw_defrag_stops(area) :
		    signal_pending(current) || READ_ONCE(slots->closed))
			break;
		if (p->by_itself && !ssw_may_pick(p, ci, in_use))
			continue;
		if (!in_use || in_use > p->cap || !ssw_can_pick(slots, ci))
			continue;
		/* What is freed meanwhile marks it again. */
		if (p->by_itself)
			ssw_sparse_clear(ci);
		in_use = ssw_cluster_to_move(area, ci, &for_long);
		if (p->by_itself && !for_long)
			WRITE_ONCE(ci->sparse, true);
		if (!in_use)
			continue;
		if (p->nr == p->max) {
			sort(p->pick, p->nr, sizeof(*p->pick), ssw_pick_cmp, NULL);
			for (p->nr /= 2, last = p->nr; last < p->max; last++)
				used -= p->pick[last].used;
		}
		p->pick[p->nr].cluster = i;
		p->pick[p->nr++].used = in_use;
		used += in_use;
	}
	sort(p->pick, p->nr, sizeof(*p->pick), ssw_pick_cmp, NULL);
	while (p->nr) {
		last = p->pick[p->nr - 1].used;
		if (ssw_gain(p->nr - 1, used - last) < min(p->wanted, ssw_gain(p->nr, used)))
			break;
		used -= last;
		p->nr--;
	}
}

/*
 * Have clusters that were full, and have free slots now, on lists, from which they can be taken.
 * Each of them is in the queue at most once.
 */
static void ssw_drain_all(struct ssw_slots *slots)
{
	unsigned int nr = 1;

	for (unsigned int sum = 0; nr && sum <= slots->nr_clusters; sum += nr) {
		ssw_token_get(slots);
		nr = ssw_drain(slots, NULL, SSW_BY_HOLDER);
		ssw_token_release(slots);
		cond_resched();
	}
}

/* Empty what was picked. */
static int ssw_move_picked(struct ssw_mover *m, const struct ssw_picks *p)
{
	struct ssw_slots *slots = m->area->slots;
	unsigned int nr = p->nr;
	int err = 0, ended;

	if (nr) {
		/* The one that has most in use is the dearest to empty. */
		struct ssw_cluster *last = &slots->cluster[p->pick[nr - 1].cluster];

		ssw_token_get(slots);
		if (ssw_cluster_begin_moves(slots, last, p->cap))
			nr--;
		ssw_token_release(slots);
	}
	for (unsigned int i = 0; i < nr && !err; i++) {
		err = ssw_move_cluster(m, &slots->cluster[p->pick[i].cluster], p->cap);
		if (!err && signal_pending(current))
			err = -ERESTARTSYS;
		cond_resched();
	}
	ended = ssw_move_flush(m);
	if (!err)
		err = ended;
	ssw_token_get(slots);
	ssw_cluster_end_moves(slots);
	ssw_token_release(slots);
	return err;
}

/* Empty what is sparse. The area's si->users and the mutex are held. */
static int ssw_compact_area(struct ssw_area *area)
{
	struct ssw_slots *slots = area->slots;
	struct ssw_picks *p = kvmalloc(struct_size(p, pick, slots->nr_clusters), GFP_KERNEL);
	struct ssw_mover *m = ssw_mover_alloc(READ_ONCE(ssw_move_batch));
	int err = -ENOMEM;

	if (p && m) {
		p->cap = SSW_SPARSE;
		p->wanted = UINT_MAX;
		p->by_itself = false;
		p->max = slots->nr_clusters;
		m->area = area;
		ssw_drain_all(slots);
		ssw_pick(area, p);
		err = ssw_move_picked(m, p);
		if (!err && signal_pending(current))
			err = -ERESTARTSYS;
		/* swapoff does the rest. */
		if (READ_ONCE(slots->closed))
			err = -EBUSY;
	}
	ssw_mover_free(m);
	kvfree(p);
	return err;
}

/**
 * ssw_compact - move what is in an area's sparse clusters together
 * @area: the area; the caller holds a kernfs active reference on it
 *
 * A cluster is sparse if at most half of its slots are in use. Those are picked, the cheapest
 * first, whose emptying gains clusters.
 *
 * Context: process context, sleeps. Waits for another call, and for the device.
 * Return: 0, also if there was nothing to move; -EOPNOTSUPP if the area's slots cannot be moved;
 * -EBUSY if it is being turned off; -ENOSPC if there was no empty cluster to move to; -ENOMEM; -EIO
 * if the device has failed all of a batch;
 * -ERESTARTSYS if there is a signal. What was moved until then stays moved.
 */
int ssw_compact(struct ssw_area *area)
{
	int err = -EBUSY;

	if (!ssw_defrag_on || !area->slots || area->fs_ops)
		return -EOPNOTSUPP;
	atomic_inc(&ssw_compacts);
	/* A swapoff of this area waits for this task, and must not wait for a pass elsewhere. */
	while (!mutex_trylock(&ssw_move_mutex)) {
		if (READ_ONCE(area->slots->closed))
			goto out;
		if (msleep_interruptible(SSW_MOVE_POLL_MS)) {
			err = -ERESTARTSYS;
			goto out;
		}
	}
	if (!READ_ONCE(area->slots->closed) && percpu_ref_tryget_live(&area->si->users)) {
		err = ssw_compact_area(area);
		percpu_ref_put(&area->si->users);
	}
	mutex_unlock(&ssw_move_mutex);
out:
	atomic_dec(&ssw_compacts);
	return err;
}

/**
 * ssw_compact_waits - see if somebody has asked for an area to be compacted
 *
 * Context: any.
 * Return: true if so, and it is not done yet.
 */
bool ssw_compact_waits(void)
{
	return atomic_read(&ssw_compacts);
}

/**
 * ssw_defrag_pass - empty sparse clusters that have been left alone for a while
 * @m: defragd's mover, with an area whose si->users is held
 * @p: where to pick clusters, with what limits that; says afterwards which they were
 *
 * Context: defragd. Waits for the device.
 * Return: 0, also if there was nothing to move; -EBUSY if there is another mover; -ENOSPC or
 * -ENOMEM if there was no place for all of it; -EIO if the device has failed all of a batch; -EINTR
 * if defragd is to leave the area alone; or what the mover's pause said.
 */
int ssw_defrag_pass(struct ssw_mover *m, struct ssw_picks *p)
{
	struct ssw_slots *slots = m->area->slots;
	bool left = false;
	int err;

	if (!mutex_trylock(&ssw_move_mutex))
		return -EBUSY;
	WRITE_ONCE(slots->sparse, 0);
	/* Barrier H. */
	smp_mb();
	ssw_drain_all(slots);
	ssw_pick(m->area, p);
	err = ssw_defrag_stops(m->area) ? -EINTR : ssw_move_picked(m, p);
	/* Those that are dear, used too lately, or in the swap cache in part keep their mark. */
	for (unsigned int i = 0; i < slots->nr_clusters && !left; i++)
		left = READ_ONCE(slots->cluster[i].sparse);
	if (left)
		WRITE_ONCE(slots->sparse, 1);
	mutex_unlock(&ssw_move_mutex);
	return err;
}

/**
 * ssw_clusters_count - count the clusters that are empty, and those that are sparse
 * @slots: the slots of an area
 * @empty: set to how many have no slot in use, but some that can be
 * @sparse: set to how many have few slots in use, at most half
 *
 * Context: any in which @slots cannot go away. Both may be off while slots are allocated.
 */
void ssw_clusters_count(const struct ssw_slots *slots, unsigned int *empty, unsigned int *sparse)
{
	*empty = 0;
	*sparse = 0;
	for (unsigned int i = 0; i < slots->nr_clusters; i++) {
		const struct ssw_cluster *ci = &slots->cluster[i];
		unsigned int used = atomic_read(&ci->used);

		*empty += !used && ci->nr_bad < SSW_CLUSTER_SLOTS;
		*sparse += used && used <= SSW_SPARSE;
	}
}

/**
 * ssw_frag_index - say how much of an area's free space is in clusters that are in use
 * @area: a per-core area
 *
 * Context: any in which @area cannot go away.
 * Return: thousandths; 0 if all free slots are in empty clusters, 1000 if none are.
 */
unsigned int ssw_frag_index(const struct ssw_area *area)
{
	unsigned int pages = READ_ONCE(area->si->pages);
	unsigned long unused = pages - ssw_area_used(area);
	unsigned int empty, sparse;
	u64 whole;

	ssw_clusters_count(area->slots, &empty, &sparse);
	/* A cluster with bad slots has fewer. */
	whole = min((u64)empty * SSW_CLUSTER_SLOTS, (u64)unused);
	return unused ? 1000 - div64_ul(whole * 1000, unused) : 0;
}

/* After core.c has said that ScaleSwap is on, before an area is. */
static int __init ssw_defrag_init(void)
{
	int err;

	if (!ssw_boot_has(SSW_MECH_DEFRAG) || !scaleswap_on())
		return 0;
	err = ssw_move_init();
	if (err)
		pr_err("no memory: swap space in use is not defragmented\n");
	ssw_defrag_on = !err;
	return err;
}
fs_initcall(ssw_defrag_init);
