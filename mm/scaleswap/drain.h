/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: emptying an area in use.
 */
#ifndef _MM_SCALESWAP_DRAIN_H
#define _MM_SCALESWAP_DRAIN_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct ssw_area;

/**
 * enum ssw_drain_state - how far an area has been emptied
 * @SSW_DRAIN_OFF: nobody has asked for it
 * @SSW_DRAIN_MOVING: slots are being moved
 * @SSW_DRAIN_BLOCKED: there is no room for what is left, or its owners are busy; it is tried again
 * @SSW_DRAIN_UNREADABLE: the device fails to read all that is left
 * @SSW_DRAIN_EMPTY: nothing is left
 * @SSW_NR_DRAIN_STATES: number of the above
 */
enum ssw_drain_state {
	SSW_DRAIN_OFF,
	SSW_DRAIN_MOVING,
	SSW_DRAIN_BLOCKED,
	SSW_DRAIN_UNREADABLE,
	SSW_DRAIN_EMPTY,
	SSW_NR_DRAIN_STATES,
};

/**
 * struct ssw_area_drain - what draining keeps of an area
 * @wanted: somebody has asked for it; under ssw_mutex, and a hint without it
 * @withhold: the area's free slots do not count as free swap space. Frees read it on the RCU side
 * @anew: it was asked for since the last round
 * @state: enum ssw_drain_state; the thread's
 * @kept: free slots when @withhold was set, that are withheld
 * @since: @withheld, then
 * @withheld: slots that were freed while @withhold was set, ever; they are not in
 *	      &struct ssw_area_stat.freed
 * @delay: how long to wait after the next round in vain, in jiffies; the thread's
 * @again: when to try again, in jiffies; 0 for at once; the thread's
 * @unreadable: by slot, those that could not be read
 * @nr_unreadable: how many of them are in use; the thread's
 */
struct ssw_area_drain {
	bool wanted;
	bool withhold;
	bool anew;
	enum ssw_drain_state state;
	long kept;
	long since;
	atomic_long_t withheld;
	unsigned long delay;
	unsigned long again;
	struct xarray unreadable;
	unsigned int nr_unreadable;
};

#define SSW_DRAIN_MB_S_MAX	65536U

#ifdef CONFIG_SCALESWAP_DEFRAG
/* drain.c */
extern unsigned int ssw_drain_mb_s;
int ssw_drain_set(struct ssw_area *area, bool on);
const char *ssw_drain_state_name(const struct ssw_area *area);
void ssw_drain_init(struct ssw_area *area);
void ssw_drain_exit(struct ssw_area *area);
void ssw_drain_closed(struct ssw_area *area);
void ssw_drain_opened(struct ssw_area *area);
long ssw_drain_withheld(void);
#else
static inline void ssw_drain_init(struct ssw_area *area)
{
}

static inline void ssw_drain_exit(struct ssw_area *area)
{
}

static inline void ssw_drain_closed(struct ssw_area *area)
{
}

static inline void ssw_drain_opened(struct ssw_area *area)
{
}

static inline long ssw_drain_withheld(void)
{
	return 0;
}
#endif

#endif /* _MM_SCALESWAP_DRAIN_H */
