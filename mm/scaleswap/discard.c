// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: discards of clusters that have become empty.
 */

/**
 * DOC: Discards
 *
 * A discard waits for the device, and a device may not answer for a long time: a suspended
 * dm table, a controller in reset, any drive while the system sleeps. So each area has a
 * work item for discards, on an unbound workqueue. CPU offline, suspend and hibernation do
 * not wait for it. A device that does not answer delays the discards of its own area only.
 *
 * The workqueue is not freezable: the freezer would wait for the work in progress, and so
 * for the device. While devices sleep the work sleeps in the block layer, as
 * si->discard_work of a plain area does.
 *
 * Nothing waits for a discard except swapoff, which waits for the one in flight. An
 * allocation that finds no clean cluster takes one that was not discarded.
 */
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/workqueue.h>

#include "internal.h"

static void ssw_discard_work(struct work_struct *work)
{
	struct ssw_area *area = container_of(work, struct ssw_area, discard);
	struct ssw_slots *slots = area->slots;
	struct ssw_cluster *ci;

	/* The reference keeps swapoff from closing the device meanwhile. */
	if (!percpu_ref_tryget_live(&area->si->users))
		return;
	while (!READ_ONCE(slots->closed)) {
		ssw_token_get(slots);
		ci = ssw_cluster_to_discard(slots);
		ssw_token_release(slots);
		if (!ci)
			break;
		swap_area_discard(area->si, (ci - slots->cluster) * SSW_CLUSTER_SLOTS,
				  SSW_CLUSTER_SLOTS);
		ssw_cluster_discarded(slots, ci);
		ssw_token_get(slots);
		ssw_drain(slots, NULL, SSW_BY_HOLDER);
		ssw_token_release(slots);
		cond_resched();
	}
	percpu_ref_put(&area->si->users);
}

/**
 * ssw_discard_area_init - prepare an area's discards
 * @area: the area
 *
 * Context: before any other CPU can see @area.
 */
void ssw_discard_area_init(struct ssw_area *area)
{
	INIT_WORK(&area->discard, ssw_discard_work);
}

/**
 * ssw_discard_queue - start the discard of the clusters that wait for it
 * @area: a per-core area; the caller holds a reference on its si->users
 *
 * Context: any; does not wait.
 */
void ssw_discard_queue(struct ssw_area *area)
{
	queue_work(system_unbound_wq, &area->discard);
}

/**
 * ssw_discard_area_exit - end an area's discards
 * @area: the area; its si->users is dead, or it was never enabled
 *
 * Work that still runs gets no reference any more, so it only returns.
 *
 * Context: process context, may sleep.
 */
void ssw_discard_area_exit(struct ssw_area *area)
{
	disable_work_sync(&area->discard);
}
