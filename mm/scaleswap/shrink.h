/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: how reclaim goes over the LRU shards of a memcg and node.
 *
 * A part of mm/vmscan.c, which includes it: it needs what is private there.
 *
 * What is to be scanned is computed as in the base kernel, for the memcg and
 * node as a whole, and then taken from one shard after the other until there is
 * enough. So priorities, proportions, protection and vmpressure are as they
 * were. Where to begin decides who meets whom on a lock, and what is old:
 *
 * - Direct reclaim begins at its own CPU's shard, others take turns.
 * - One list has the oldest page of all at its tail. To have about that with
 *   many, each shard has a clock that counts how often its lists were scanned.
 *   The reclaimer compares its own with that of one other, in turn, and begins
 *   there if that is behind: so shards of idle CPUs lose their cold pages
 *   as fast as a busy one's, and where all are as busy nobody leaves his own.
 * - All shards are visited before no progress is reported.
 */
#ifndef _MM_SCALESWAP_SHRINK_H
#define _MM_SCALESWAP_SHRINK_H

#ifdef CONFIG_SCALESWAP_LRU

#include "internal.h"

/* Of a clock: one scan of all pages of a shard */
#define SSW_LRU_ROUND	1024UL
/* A shard that is this much behind is taken first. */
#define SSW_LRU_SLACK	(SSW_LRU_ROUND / 8)

static void shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc);

/* Shards by number; 0 is the whole's own lists. NULL where there is none. */
static struct lruvec *ssw_lru_list(struct lruvec *whole, struct scaleswap_shards *shards,
				   unsigned int id)
{
	struct scaleswap_shard *shard;

	if (!id)
		return whole;
	shard = READ_ONCE(shards->shard[id]);
	return shard ? &shard->lruvec : NULL;
}

static unsigned long ssw_lru_pages(struct lruvec *lruvec, enum lru_list lru, int zone_idx)
{
	unsigned long size = 0;
	int zid;

	for (zid = 0; zid <= zone_idx; zid++)
		size += mem_cgroup_get_zone_lru_size(lruvec, lru, zid);
	return size;
}

static unsigned long ssw_lru_evictable(struct lruvec *lruvec)
{
	unsigned long size = 0;
	enum lru_list lru;

	for_each_evictable_lru(lru)
		size += ssw_lru_pages(lruvec, lru, MAX_NR_ZONES - 1);
	return size;
}

static unsigned long *ssw_lru_clock(struct lruvec *l, struct scaleswap_shards *shards)
{
	return l->shard ? &l->shard->clock : &shards->clock;
}

static unsigned long *ssw_lru_seen(struct lruvec *l, struct scaleswap_shards *shards)
{
	return l->shard ? &l->shard->seen : &shards->seen;
}

/*
 * A shard's clock, after what joined it since the last look has been given the
 * time of now: a shard that was idle and then fills up is not old.
 *
 * Clocks are hints: they are read and written without a lock.
 */
static unsigned long ssw_lru_time(struct lruvec *l, struct scaleswap_shards *shards,
				  unsigned long now)
{
	unsigned long pages = ssw_lru_evictable(l);
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long seen = READ_ONCE(*ssw_lru_seen(l, shards));
	unsigned long time = READ_ONCE(*clock);

	/* Nobody is further behind than a round. */
	if ((long)(now - time) > (long)SSW_LRU_ROUND)
		time = now - SSW_LRU_ROUND;
	if (pages > seen && (long)(now - time) > 0)
		time += (now - time) * (pages - seen) / pages;
	WRITE_ONCE(*clock, time);
	WRITE_ONCE(*ssw_lru_seen(l, shards), pages);
	return time;
}

static void ssw_lru_scanned(struct lruvec *l, struct scaleswap_shards *shards,
			    unsigned long scanned)
{
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long pages = ssw_lru_evictable(l);

	WRITE_ONCE(*clock, READ_ONCE(*clock) + scanned * SSW_LRU_ROUND / (pages + 1));
	WRITE_ONCE(*ssw_lru_seen(l, shards), pages);
}

/* The number of the shard to begin with. */
static unsigned int ssw_lru_first(struct lruvec *whole, struct scaleswap_shards *shards)
{
	unsigned int own = ssw_lru_own(), turn;
	struct lruvec *mine, *other;
	unsigned long now;

	/* Lost updates do not matter: it only has to go round. */
	turn = READ_ONCE(shards->cursor) % (ssw_lru_shards + 1);
	WRITE_ONCE(shards->cursor, turn + 1);
	if (current_is_kswapd())
		return turn;
	mine = ssw_lru_list(whole, shards, own);
	if (!mine || !ssw_lru_evictable(mine))
		return turn;
	other = ssw_lru_list(whole, shards, turn);
	if (!other || other == mine || !ssw_lru_evictable(other))
		return own;
	now = READ_ONCE(*ssw_lru_clock(mine, shards));
	if ((long)(now - ssw_lru_time(other, shards, now)) > (long)SSW_LRU_SLACK) {
		ssw_stat_add(SSW_LRU_FOREIGN, 1);
		return turn;
	}
	return own;
}

/* Is a shard short of inactive anonymous pages? By its own lists alone. */
static bool ssw_inactive_is_low(struct lruvec *lruvec)
{
	unsigned long inactive, active, ratio, gb;

	if (!scaleswap_lru_on())
		return inactive_is_low(lruvec, LRU_INACTIVE_ANON);
	inactive = ssw_lru_pages(lruvec, LRU_INACTIVE_ANON, MAX_NR_ZONES - 1);
	active = ssw_lru_pages(lruvec, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1);
	/* The ratio depends on how much memory there is, not on how it is sharded. */
	gb = (lruvec_page_state(lruvec, NR_INACTIVE_ANON) +
	      lruvec_page_state(lruvec, NR_ACTIVE_ANON)) >> (30 - PAGE_SHIFT);
	ratio = gb ? int_sqrt(10 * gb) : 1;
	return inactive * ratio < active;
}

/* shrink_lruvec() for a memcg and node */
static void ssw_shrink_lruvec(struct lruvec *whole, struct scan_control *sc)
{
	unsigned long left[NR_LRU_LISTS], goals[NR_LRU_LISTS];
	unsigned long reclaimed = sc->nr_reclaimed;
	struct scaleswap_shards *shards;
	unsigned int id, first, i;
	enum lru_list lru;

	if (!scaleswap_lru_on()) {
		shrink_lruvec(whole, sc);
		return;
	}

	get_scan_count(whole, sc, left);
	sc->shard_goals = goals;
	shards = READ_ONCE(whole->shards);
	first = shards ? ssw_lru_first(whole, shards) : 0;
	for (i = 0; i <= (shards ? ssw_lru_shards : 0); i++) {
		struct lruvec *lruvec;
		unsigned long scanned = sc->nr_scanned, todo = 0, pages = 0;

		id = (first + i) % (ssw_lru_shards + 1);
		lruvec = shards ? ssw_lru_list(whole, shards, id) : whole;
		if (!lruvec)
			continue;
		memset(goals, 0, sizeof(goals));
		for_each_evictable_lru(lru) {
			unsigned long size = ssw_lru_pages(lruvec, lru, sc->reclaim_idx);

			goals[lru] = min(left[lru], size);
			left[lru] -= goals[lru];
			todo += left[lru];
			pages += size;
		}
		/* One is visited even if nothing is to be scanned: to be aged. */
		if (!pages)
			continue;
		shrink_lruvec(lruvec, sc);
		if (shards)
			ssw_lru_scanned(lruvec, shards, sc->nr_scanned - scanned);
		if (!todo)
			break;
		/* As in shrink_lruvec(), where direct global reclaim goes on once. */
		if (sc->nr_reclaimed - reclaimed >= sc->nr_to_reclaim &&
		    (cgroup_reclaim(sc) || current_is_kswapd() ||
		     sc->priority != DEF_PRIORITY))
			break;
	}
	sc->shard_goals = NULL;
}

/* What shrink_lruvec() is to scan, if ssw_shrink_lruvec() calls it. */
static bool ssw_shard_goals(struct scan_control *sc, unsigned long *nr)
{
	if (!scaleswap_lru_on())
		return false;
	memcpy(nr, sc->shard_goals, NR_LRU_LISTS * sizeof(*nr));
	return true;
}

/* Which lists kswapd is to age next: it takes one shard at a time. */
static struct lruvec *ssw_lru_next(struct lruvec *whole)
{
	struct scaleswap_shards *shards;
	unsigned int i, id;

	if (!scaleswap_lru_on())
		return whole;
	shards = READ_ONCE(whole->shards);
	for (i = 0; shards && i <= ssw_lru_shards; i++) {
		struct lruvec *l;

		id = READ_ONCE(shards->cursor) % (ssw_lru_shards + 1);
		WRITE_ONCE(shards->cursor, id + 1);
		l = ssw_lru_list(whole, shards, id);
		if (l && ssw_lru_pages(l, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1))
			return l;
	}
	return whole;
}

#else /* CONFIG_SCALESWAP_LRU */

#define ssw_shard_goals(sc, nr)		false
#define ssw_inactive_is_low(lruvec)	inactive_is_low(lruvec, LRU_INACTIVE_ANON)
#define ssw_shrink_lruvec(lruvec, sc)	shrink_lruvec(lruvec, sc)
#define ssw_lru_next(lruvec)		(lruvec)

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _MM_SCALESWAP_SHRINK_H */
