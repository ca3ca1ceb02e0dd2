// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: when to empty clusters.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

/**
 * DOC: Defragmentation by itself
 *
 * defragd, one kthread a machine, empties sparse clusters of an area when few are free, and its
 * device is idle, as VSwap does. It begins with the cheapest ones:
 *
 * - Below ``free_high`` percent of free clusters, those with at most 5 % of their slots in use.
 *   A cluster with k slots in use costs k / (1 - k / 512) moves for each cluster that is gained.
 * - Below ``free_low`` percent, those with at most 25 %.
 * - When a large folio found no block, those with at most half.
 *
 * It goes on in this way until ``free_high`` is reached again, or nothing can be gained. Only
 * clusters count that are marked as sparse (ssw_cluster_freed()), and have as many slots in use as
 * ``idle_ms`` ago.
 *
 * The device is idle if there were at most ``idle_ios`` requests in each of the last looks, 100 ms
 * apart, for ``idle_ms``, and none is under way. Requests are those of the whole disk, but for the
 * area's own discards. As some
 * devices count none, slots of the area that were allocated or freed count, too. A pause comes
 * after each batch, at least a short look, in which others' requests are seen: it has none of its
 * own then. If the device is not idle, the pass ends, so that at most one batch is in the way.
 *
 * Nothing is looked at while no cluster is sparse, or enough are free: whoever frees, or takes one
 * of the last free clusters, wakes defragd then (barrier H).
 *
 * All memory that moves need is got when defragd is enabled, but for the page tables of further
 * clusters that are filled. If there is none for these, the pass ends.
 */
#include <linux/blkdev.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/part_stat.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/workqueue.h>

#include "internal.h"

#include <trace/events/scaleswap.h>

/* Between two looks, and how long a look between batches takes at least, in milliseconds */
#define SSW_LOOK_MS		100
#define SSW_GLANCE_MS		10

/*
 * When to try again if nothing could be gained: folios may have left the swap cache. If the device
 * has failed, the time doubles so many times at most, to an hour.
 */
#define SSW_DEFRAG_AGAIN	(30UL * HZ)
#define SSW_DEFRAG_DOUBLE	7U

/* Clusters that are emptied in a pass, at most */
#define SSW_DEFRAG_PICKS	1024

/* Percent of the clusters: below what there are few free ones, and up to what some are gained */
unsigned int ssw_defrag_free_low = 12;
unsigned int ssw_defrag_free_high = 25;
/* How long a device has to be idle, in milliseconds, and a cluster's slots in use be the same */
unsigned int ssw_defrag_idle_ms = 1000;
/* Requests in 100 ms with which a device is idle */
unsigned int ssw_defrag_idle_ios = 8;
/* What is read and written at most, in MiB a second */
unsigned int ssw_defrag_mb_s = 64;

/* Protects whether defragd is enabled, and what follows from that: the thread, and its memory. */
static DEFINE_MUTEX(ssw_defragd_mutex);
static struct task_struct *ssw_defragd_task;
static struct ssw_mover *ssw_defragd_mover;
static struct ssw_picks *ssw_defragd_picks;
static bool ssw_defragd_enabled;

/* Something has changed that defragd has not seen. */
static bool ssw_defragd_kicked;

/* How often tunables were changed: then what was in vain before may be no longer. */
static unsigned int ssw_defrag_changes;

/**
 * ssw_defrag_enabled - see if defragd may move anything
 *
 * Context: any.
 * Return: true if so.
 */
bool ssw_defrag_enabled(void)
{
	return READ_ONCE(ssw_defragd_enabled);
}

/* Have defragd look at all areas. */
static void ssw_defrag_kick(void)
{
	struct task_struct *task = READ_ONCE(ssw_defragd_task);

	/* What has changed comes first. Pairs with smp_store_mb() in ssw_defragd(). */
	smp_mb();
	WRITE_ONCE(ssw_defragd_kicked, true);
	/* The barrier is in wake_up_process(). It pairs with that of set_current_state(). */
	if (task)
		wake_up_process(task);
}

/**
 * ssw_defrag_changed - have defragd look at all areas, as a tunable has changed
 *
 * Context: process context.
 */
void ssw_defrag_changed(void)
{
	WRITE_ONCE(ssw_defrag_changes, ssw_defrag_changes + 1);
	ssw_defrag_kick();
}

/**
 * ssw_slots_kick - tell defragd what it waits for
 * @slots: the slots of an area
 *
 * Context: any but interrupts; RCU read side or the token.
 */
void ssw_slots_kick(struct ssw_slots *slots)
{
	WRITE_ONCE(slots->kick_sparse, 0);
	WRITE_ONCE(slots->kick_at, 0);
	ssw_defrag_kick();
}

/**
 * ssw_defrag_stops - see if defragd is to leave an area alone
 * @area: the area
 *
 * Context: defragd.
 * Return: true if it is disabled or to be frozen, somebody waits for a compact, or the area is
 * being turned off.
 */
bool ssw_defrag_stops(const struct ssw_area *area)
{
	return !ssw_defrag_enabled() || freezing(current) || ssw_compact_waits() ||
	       READ_ONCE(area->slots->closed);
}

static const char * const ssw_defrag_states[] = {
	[SSW_DEFRAG_OFF]	= "off",
	[SSW_DEFRAG_ENOUGH]	= "enough",
	[SSW_DEFRAG_NOTHING]	= "nothing",
	[SSW_DEFRAG_BLIND]	= "blind",
	[SSW_DEFRAG_WATCHING]	= "watching",
	[SSW_DEFRAG_MOVING]	= "moving",
};

static_assert(ARRAY_SIZE(ssw_defrag_states) == SSW_NR_DEFRAG_STATES);

static enum ssw_defrag_state ssw_defrag_state(const struct ssw_area *area)
{
	if (!ssw_defrag_enabled() || ssw_drain_wanted(area))
		return SSW_DEFRAG_OFF;
	return READ_ONCE(area->defrag.state);
}

/**
 * ssw_defrag_state_name - say what defragd does
 * @area: about this area, which cannot go away; NULL for the one about which it does most
 *
 * Context: any.
 * Return: a word, see ssw_defrag_states[].
 */
const char *ssw_defrag_state_name(const struct ssw_area *area)
{
	enum ssw_defrag_state most = SSW_DEFRAG_OFF;

	if (area)
		return ssw_defrag_states[ssw_defrag_state(area)];
	rcu_read_lock();
	for (unsigned int type = 0; type < MAX_SWAPFILES; type++) {
		area = rcu_dereference(ssw_areas[type]);
		if (area)
			most = max(most, ssw_defrag_state(area));
	}
	rcu_read_unlock();
	return ssw_defrag_states[most];
}

static unsigned int ssw_clusters_free(const struct ssw_slots *slots)
{
	return slots->nr_clusters - min(slots->nr_clusters, READ_ONCE(slots->nr_tables));
}

static void ssw_defrag_set(struct ssw_area *area, enum ssw_defrag_state state)
{
	if (area->defrag.state == state)
		return;
	WRITE_ONCE(area->defrag.state, state);
	trace_scaleswap_defrag_state(area->si->type, state, area->defrag.cap,
				     ssw_clusters_free(area->slots));
}

/* --- whether there is need ------------------------------------------------------ */

/* The most slots in use that a cluster may have to be worth emptying; 0 if enough are free. */
static unsigned int ssw_defrag_cap(struct ssw_area *area)
{
	struct ssw_slots *slots = area->slots;
	struct ssw_defrag *d = &area->defrag;
	u64 free = 100ULL * ssw_clusters_free(slots);
	unsigned int no_blocks = READ_ONCE(slots->no_blocks);
	unsigned int cap = SSW_CLUSTER_SLOTS / 20;

	if (free >= (u64)slots->nr_clusters * READ_ONCE(ssw_defrag_free_high)) {
		d->cap = 0;
		d->no_blocks = no_blocks;
		return 0;
	}
	if (no_blocks != d->no_blocks)
		cap = SSW_SPARSE;
	else if (free < (u64)slots->nr_clusters * READ_ONCE(ssw_defrag_free_low))
		cap = SSW_CLUSTER_SLOTS / 4;
	d->cap = max(d->cap, cap);
	return d->cap;
}

/* How many clusters have to be free for there to be enough */
static unsigned int ssw_clusters_enough(const struct ssw_slots *slots)
{
	return DIV_ROUND_UP_ULL((u64)slots->nr_clusters * READ_ONCE(ssw_defrag_free_high), 100);
}

static unsigned int ssw_defrag_wanted(const struct ssw_slots *slots)
{
	unsigned int free = ssw_clusters_free(slots), enough = ssw_clusters_enough(slots);

	return enough > free ? enough - free : 0;
}

/* Have whoever changes it tell. Return for how long to sleep: not at all if it has just changed. */
static long ssw_defrag_arm(struct ssw_area *area)
{
	struct ssw_slots *slots = area->slots;

	if (area->defrag.cap) {
		WRITE_ONCE(slots->kick_sparse, 1);
		/* Barrier H. */
		smp_mb();
		return READ_ONCE(slots->sparse) ? 0 : MAX_SCHEDULE_TIMEOUT;
	}
	/* One more cluster in use than there may be */
	WRITE_ONCE(slots->kick_at, slots->nr_clusters - ssw_clusters_enough(slots) + 1);
	/* Barrier H. */
	smp_mb();
	return ssw_defrag_cap(area) ? 0 : MAX_SCHEDULE_TIMEOUT;
}

/* --- whether the device is idle --------------------------------------------------- */

/* See if a device counts requests. Some disks in memory do not, and nobody has to wait for them. */
static bool ssw_disk_counts(struct block_device *bdev)
{
	return blk_queue_io_stat(bdev_get_queue(bdev)) || bdev_synchronous(bdev);
}

/* See if a request is under way, to whatever part of the disk. */
static bool ssw_disk_in_flight(const struct block_device *bdev)
{
	struct block_device *part;
	unsigned long i;
	long sum = 0;

	rcu_read_lock();
	xa_for_each(&bdev->bd_disk->part_tbl, i, part) {
		int cpu;

		for_each_possible_cpu(cpu)
			sum += part_stat_local_read_cpu(part, in_flight[0], cpu) +
			       part_stat_local_read_cpu(part, in_flight[1], cpu);
	}
	rcu_read_unlock();
	return sum > 0;
}

static void ssw_look(const struct ssw_area *area, struct ssw_look *look)
{
	look->when = jiffies;
	/* Not discards: an area's own come after the clusters that were emptied. */
	look->ios = part_stat_read(bdev_whole(area->si->bdev), ios[STAT_READ]) +
		    part_stat_read(bdev_whole(area->si->bdev), ios[STAT_WRITE]);
	/* As many again were freed as are not in use. */
	look->slots = 2 * READ_ONCE(area->slots->allocated) - ssw_area_used(area);
}

/* See if there was little to do since the last look, and nothing is under way. */
static bool ssw_look_idle(struct ssw_area *area, struct ssw_look *look)
{
	struct ssw_look was = *look;
	unsigned long took, may;

	ssw_look(area, look);
	/* What is between two looks that are far apart, as at another area, is one look. */
	took = min(look->when - was.when, (unsigned long)HZ);
	may = mult_frac((unsigned long)READ_ONCE(ssw_defrag_idle_ios), jiffies_to_msecs(took),
			SSW_LOOK_MS);
	return look->ios - was.ios <= may && look->slots - was.slots <= may &&
	       (work_busy(&area->discard) || !ssw_disk_in_flight(area->si->bdev));
}

/* After a batch: keep to the bandwidth, and see if somebody else wants to use the device. */
static int ssw_defrag_pause(struct ssw_mover *m)
{
	unsigned int mb_s = READ_ONCE(ssw_defrag_mb_s);
	u64 ms = div_u64(m->bytes * MSEC_PER_SEC >> 20, mb_s);
	unsigned long until = m->begun + msecs_to_jiffies(ms);
	unsigned long least = jiffies + msecs_to_jiffies(SSW_GLANCE_MS);
	struct ssw_look look;

	if (time_before(until, least))
		until = least;
	ssw_look(m->area, &look);
	for (;;) {
		unsigned long now = jiffies;

		if (!time_before(now, until))
			return 0;
		schedule_timeout_idle(min(until - now, msecs_to_jiffies(SSW_LOOK_MS)));
		if (ssw_defrag_stops(m->area))
			return -EINTR;
		if (!ssw_look_idle(m->area, &look))
			return -EAGAIN;
	}
}

/* --- the thread --------------------------------------------------------------------- */

/* Begin to watch. Return when to look. */
static long ssw_defrag_watch(struct ssw_area *area)
{
	ssw_look(area, &area->defrag.look);
	area->defrag.idle = 0;
	ssw_defrag_set(area, SSW_DEFRAG_WATCHING);
	return msecs_to_jiffies(SSW_LOOK_MS);
}

static long ssw_defrag_try(struct ssw_area *area, struct ssw_mover *m, struct ssw_picks *p)
{
	unsigned int changes = READ_ONCE(ssw_defrag_changes);
	struct ssw_defrag *d = &area->defrag;
	int err;

	m->area = area;
	m->pause = ssw_defrag_pause;
	ssw_mover_set_batch(m, READ_ONCE(ssw_move_batch));
	p->cap = d->cap;
	p->wanted = ssw_defrag_wanted(area->slots);
	p->by_itself = true;
	m->moved = 0;
	ssw_defrag_set(area, SSW_DEFRAG_MOVING);
	err = ssw_defrag_pass(m, p);
	d->failures = err == -EIO ? min(d->failures + 1, SSW_DEFRAG_DOUBLE) : 0;
	if (!err && m->moved) {
		/* The device was idle so far. */
		long next = ssw_defrag_watch(area);

		d->idle = DIV_ROUND_UP(READ_ONCE(ssw_defrag_idle_ms), SSW_LOOK_MS) - 1;
		return next;
	}
	if ((!err && p->used_lately) || err == -EBUSY || err == -EINTR || err == -EAGAIN)
		return ssw_defrag_watch(area);
	/* There is nothing to gain, or no place for it: need is judged anew. */
	d->cap = 0;
	d->no_blocks = READ_ONCE(area->slots->no_blocks);
	d->again = (jiffies + (SSW_DEFRAG_AGAIN << d->failures)) | 1;
	d->changes = changes;
	return 0;
}

/* Do what there is to do about an area. Return for how many jiffies to leave it alone then. */
static long ssw_defrag_area(struct ssw_area *area, struct ssw_mover *m, struct ssw_picks *p)
{
	struct ssw_slots *slots = area->slots;
	struct ssw_defrag *d = &area->defrag;
	unsigned int cap = ssw_defrag_cap(area);
	/* This thread may be preempted for long, and must not compute a time that has passed. */
	unsigned long now = jiffies, due;

	if (!cap || !READ_ONCE(slots->sparse)) {
		d->again = 0;
		ssw_defrag_set(area, cap ? SSW_DEFRAG_NOTHING : SSW_DEFRAG_ENOUGH);
		return ssw_defrag_arm(area);
	}
	if (d->again && time_before(now, d->again) &&
	    d->changes == READ_ONCE(ssw_defrag_changes)) {
		ssw_defrag_set(area, SSW_DEFRAG_NOTHING);
		return d->again - now;
	}
	d->again = 0;
	if (!ssw_disk_counts(area->si->bdev)) {
		ssw_defrag_set(area, SSW_DEFRAG_BLIND);
		return HZ;
	}
	if (d->state != SSW_DEFRAG_WATCHING)
		return ssw_defrag_watch(area);
	due = d->look.when + msecs_to_jiffies(SSW_LOOK_MS);
	if (time_before(now, due))
		return due - now;
	if (!ssw_look_idle(area, &d->look)) {
		d->idle = 0;
		return msecs_to_jiffies(SSW_LOOK_MS);
	}
	if (++d->idle * SSW_LOOK_MS < READ_ONCE(ssw_defrag_idle_ms))
		return msecs_to_jiffies(SSW_LOOK_MS);
	return ssw_defrag_try(area, m, p);
}

/* Look at all areas. Return for how many jiffies there is nothing to do. */
static long ssw_defrag_round(struct ssw_mover *m, struct ssw_picks *p)
{
	long timeout = MAX_SCHEDULE_TIMEOUT;

	for (unsigned int type = 0; type < MAX_SWAPFILES; type++) {
		struct swap_info_struct *si = swp_swap_info(swp_entry(type, 0));
		struct ssw_area *area;

		/* The reference keeps a swapoff from completing meanwhile. */
		if (!si || !percpu_ref_tryget_live(&si->users))
			continue;
		area = ssw_area_held(type);
		if (area && area->slots && !area->fs_ops && !READ_ONCE(area->slots->closed))
			timeout = min(timeout, ssw_defrag_area(area, m, p));
		percpu_ref_put(&si->users);
		if (freezing(current))
			break;
	}
	return timeout;
}

/* Give memory back if defragd was disabled. Return false if so. */
static bool ssw_defragd_has(struct ssw_mover **m, struct ssw_picks **p)
{
	mutex_lock(&ssw_defragd_mutex);
	if (!ssw_defragd_enabled) {
		ssw_mover_free(ssw_defragd_mover);
		kvfree(ssw_defragd_picks);
		ssw_defragd_mover = NULL;
		ssw_defragd_picks = NULL;
	}
	*m = ssw_defragd_mover;
	*p = ssw_defragd_picks;
	mutex_unlock(&ssw_defragd_mutex);
	return *m;
}

static int ssw_defragd(void *unused)
{
	set_user_nice(current, MAX_NICE);
	set_freezable();
	for (;;) {
		long timeout = MAX_SCHEDULE_TIMEOUT;
		struct ssw_mover *m;
		struct ssw_picks *p;

		/* Pairs with smp_mb() in ssw_defrag_kick(). */
		smp_store_mb(ssw_defragd_kicked, false);
		if (ssw_defragd_has(&m, &p))
			timeout = ssw_defrag_round(m, p);
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		if (!READ_ONCE(ssw_defragd_kicked))
			schedule_timeout(timeout);
		__set_current_state(TASK_RUNNING);
		try_to_freeze();
	}
	return 0;
}

static int ssw_defragd_start(void)
{
	if (!ssw_defragd_task) {
		struct task_struct *task = kthread_run(ssw_defragd, NULL, "ssw_defragd");

		if (IS_ERR(task))
			return PTR_ERR(task);
		WRITE_ONCE(ssw_defragd_task, task);
	}
	if (!ssw_defragd_mover) {
		struct ssw_picks *p = kvmalloc(struct_size(p, pick, SSW_DEFRAG_PICKS), GFP_KERNEL);
		struct ssw_mover *m = ssw_mover_alloc(READ_ONCE(ssw_move_batch));

		if (!m || !p) {
			ssw_mover_free(m);
			kvfree(p);
			return -ENOMEM;
		}
		p->max = SSW_DEFRAG_PICKS;
		ssw_defragd_mover = m;
		ssw_defragd_picks = p;
	}
	return 0;
}

/**
 * ssw_defrag_enable - enable or disable defragd
 * @enable: whether it is to be enabled
 *
 * Disabling does not wait for what is being moved: defragd ends with that batch.
 *
 * Context: process context, sleeps.
 * Return: 0; -EOPNOTSUPP if slots cannot be moved on this machine; -ENOMEM, or what kthread_run()
 * returns.
 */
int ssw_defrag_enable(bool enable)
{
	int err = 0;

	if (!ssw_defrag_on)
		return enable ? -EOPNOTSUPP : 0;
	mutex_lock(&ssw_defragd_mutex);
	if (enable)
		err = ssw_defragd_start();
	if (!err)
		WRITE_ONCE(ssw_defragd_enabled, enable);
	mutex_unlock(&ssw_defragd_mutex);
	ssw_defrag_changed();
	return err;
}
