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
 * - Direct reclaim begins at its own CPU's shard, kswapd and whoever has no
 *   pages of his own at the oldest.
 * - One list has the oldest page of all at its tail. To have about that with
 *   many, each shard has a clock that counts how often its lists were scanned.
 *   Direct reclaim compares its own with that of one other, in turn, and begins
 *   there if that is behind: so shards of idle CPUs lose their cold pages
 *   as fast as a busy one's, and where all are as busy nobody leaves his own.
 * - Where the shard has enough pages of one sort, but none of the other, others
 *   are asked for those: the balance between page cache and anonymous memory is
 *   the whole's.
 * - All shards are visited before no progress is reported.
 */
#ifndef _MM_SCALESWAP_SHRINK_H
#define _MM_SCALESWAP_SHRINK_H

#ifdef CONFIG_SCALESWAP_LRU

#include <linux/bitfield.h>
#include <linux/jiffies.h>

#include "internal.h"

/* Of a clock: one scan of all pages of a shard */
#define SSW_LRU_ROUND	1048576L
/*
 * A shard that is this much behind a CPU's own is taken first: little if it is not
 * used. One into which pages come has a CPU that reclaims from it itself.
 */
#define SSW_LRU_SLACK_IDLE	(SSW_LRU_ROUND / 4)
#define SSW_LRU_SLACK_USED	(4 * SSW_LRU_ROUND)
/* Rounds in which a shard makes up for what it is behind */
#define SSW_LRU_MAKE_UP	(4 * SSW_LRU_ROUND)
/* Nobody is further behind, so what was long idle is not drained at once. */
#define SSW_LRU_LAG	(8 * SSW_LRU_ROUND)

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

/* Asked for many times for each page that is reclaimed, so without a call */
static __always_inline
unsigned long ssw_lru_pages(struct lruvec *lruvec, enum lru_list lru, int zone_idx)
{
	unsigned long (*own)[NR_LRU_LISTS];
	unsigned long size = 0;
	int zid;

	own = lruvec->shard ? lruvec->shard->size :
	      container_of(lruvec, struct mem_cgroup_per_node, lruvec)->lru_zone_size;
	for (zid = 0; zid <= zone_idx; zid++)
		size += READ_ONCE(own[zid][lru]);
	return size;
}

static unsigned long ssw_lru_evictable(struct lruvec *lruvec)
{
	return ssw_lru_pages(lruvec, LRU_INACTIVE_ANON, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_INACTIVE_FILE, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_ACTIVE_FILE, MAX_NR_ZONES - 1);
}

/* Has it any? To know that, most of the time the first sizes do. */
static bool ssw_lru_has_pages(struct lruvec *lruvec)
{
	enum lru_list lru;

	for_each_evictable_lru(lru) {
		if (ssw_lru_pages(lruvec, lru, MAX_NR_ZONES - 1))
			return true;
	}
	return false;
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
 * Of the last look: pages, when it was, and when one had last found more pages
 * than a look up to a second before; times in jiffies. A shard is in use if that
 * was within a second. Times wrap, and may then be taken for new once.
 */
#define SSW_SEEN_PAGES	GENMASK_ULL(31, 0)
#define SSW_SEEN_WHEN	GENMASK_ULL(47, 32)
#define SSW_SEEN_GREW	GENMASK_ULL(63, 48)
#define SSW_SEEN_RECENT	min(HZ, (int)U16_MAX / 2)

static void ssw_lru_look(struct lruvec *l, struct scaleswap_shards *shards,
			 unsigned long pages)
{
	unsigned long *seen = ssw_lru_seen(l, shards), old = READ_ONCE(*seen);
	u16 now = jiffies, grew = FIELD_GET(SSW_SEEN_GREW, old);

	pages = min(pages, SSW_SEEN_PAGES);
	if ((u16)(now - (u16)FIELD_GET(SSW_SEEN_WHEN, old)) > SSW_SEEN_RECENT)
		grew = now - SSW_SEEN_RECENT;
	else if (pages > FIELD_GET(SSW_SEEN_PAGES, old))
		grew = now;
	WRITE_ONCE(*seen, FIELD_PREP(SSW_SEEN_GREW, grew) |
			  FIELD_PREP(SSW_SEEN_WHEN, now) | pages);
}

static bool ssw_lru_used(struct lruvec *l, struct scaleswap_shards *shards)
{
	u16 grew = FIELD_GET(SSW_SEEN_GREW, READ_ONCE(*ssw_lru_seen(l, shards)));

	return (u16)((u16)jiffies - grew) < SSW_SEEN_RECENT;
}

/*
 * A shard's clock, after what joined it since the last look has been given the
 * time of now: a shard that was idle and then fills up is not old, and one that
 * was emptied and fills up is no younger than others.
 *
 * Clocks are hints: they are read and written without a lock.
 */
static unsigned long ssw_lru_time(struct lruvec *l, struct scaleswap_shards *shards)
{
	unsigned long pages = ssw_lru_evictable(l);
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long seen = FIELD_GET(SSW_SEEN_PAGES, READ_ONCE(*ssw_lru_seen(l, shards)));
	long behind = READ_ONCE(shards->newest) - READ_ONCE(*clock);

	behind = clamp(behind, 0, SSW_LRU_LAG);
	if (pages > seen)
		behind = behind * (long)seen / (long)pages;
	WRITE_ONCE(*clock, READ_ONCE(shards->newest) - behind);
	ssw_lru_look(l, shards, pages);
	return READ_ONCE(*clock);
}

/*
 * Of @pages that a shard had, @scanned were looked at.
 *
 * With each round a shard makes up for a part of what it is behind, so one whose
 * CPU is a bit slower than others stays within the slack: down to half of
 * their speed, as then it falls behind as fast as it makes up for it.
 */
static void ssw_lru_scanned(struct lruvec *l, struct scaleswap_shards *shards,
			    unsigned long scanned, unsigned long pages)
{
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long time = READ_ONCE(*clock);
	long behind = clamp((long)(READ_ONCE(shards->newest) - time), 0, SSW_LRU_LAG);
	long step = min(scanned, pages) * SSW_LRU_ROUND / (pages + 1);

	time += step + behind * step / SSW_LRU_MAKE_UP;
	WRITE_ONCE(*clock, time);
	if ((long)(time - READ_ONCE(shards->newest)) > 0)
		WRITE_ONCE(shards->newest, time);
	/* What is reclaimed leaves, what stays is as old as it was. */
	ssw_lru_look(l, shards, min(pages, ssw_lru_evictable(l)));
}

/* The next number after *@cursor with pages, but for @own; @own if there is none. */
static unsigned int ssw_lru_turn(struct lruvec *whole, struct scaleswap_shards *shards,
				 unsigned int *cursor, unsigned int own)
{
	unsigned int i, id = READ_ONCE(*cursor);

	for (i = 0; i <= ssw_lru_shards; i++) {
		struct lruvec *l;

		id = id < ssw_lru_shards ? id + 1 : 0;
		l = ssw_lru_list(whole, shards, id);
		if (id != own && l && ssw_lru_has_pages(l)) {
			/* Lost updates do not matter: it only has to go round. */
			WRITE_ONCE(*cursor, id);
			return id;
		}
	}
	return own;
}

/* The number of the shard with pages that is furthest behind. */
static unsigned int ssw_lru_oldest(struct lruvec *whole, struct scaleswap_shards *shards)
{
	unsigned int id, oldest = 0;
	long behind, most = -1;

	for (id = 0; id <= ssw_lru_shards; id++) {
		struct lruvec *l = ssw_lru_list(whole, shards, id);

		if (!l || !ssw_lru_has_pages(l))
			continue;
		behind = READ_ONCE(shards->newest) - ssw_lru_time(l, shards);
		if (behind > most) {
			most = behind;
			oldest = id;
		}
	}
	return oldest;
}

/* The number of the shard to begin with; *@own is set to this CPU's. */
static unsigned int ssw_lru_first(struct lruvec *whole, struct scaleswap_shards *shards,
				  unsigned int *own)
{
	struct lruvec *mine, *other;
	unsigned int turn;
	long ahead;

	*own = ssw_lru_own();
	mine = ssw_lru_list(whole, shards, *own);
	if (current_is_kswapd() || !mine || !ssw_lru_has_pages(mine)) {
		/* Nothing is his own. */
		*own = UINT_MAX;
		return ssw_lru_oldest(whole, shards);
	}
	turn = ssw_lru_turn(whole, shards, &shards->cursor, *own);
	if (turn == *own)
		return turn;
	other = ssw_lru_list(whole, shards, turn);
	ahead = ssw_lru_time(mine, shards) - ssw_lru_time(other, shards);
	if (ahead <= (ssw_lru_used(other, shards) ? SSW_LRU_SLACK_USED : SSW_LRU_SLACK_IDLE))
		return *own;
	ssw_stat_add(SSW_LRU_FOREIGN, 1);
	return turn;
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

struct ssw_goals {
	unsigned long nr[NR_LRU_LISTS];
};

static unsigned long ssw_goals_sum(const struct ssw_goals *g, bool file)
{
	enum lru_list lru = file ? LRU_FILE : LRU_BASE;

	return g->nr[lru] + g->nr[lru + LRU_ACTIVE];
}

/*
 * Enough was reclaimed. If of one sort less of its goal was scanned than of the
 * other, since the shards visited had little of it, then leave in @left what
 * makes up for it, as shrink_lruvec() does for one lruvec.
 *
 * Return: false if there is nothing more to do.
 */
static bool ssw_goals_level(const struct ssw_goals *goals, struct ssw_goals *left)
{
	unsigned long goal[ANON_AND_FILE], percent[ANON_AND_FILE];
	enum lru_list lru;
	bool file, less;

	for (file = false; ; file = true) {
		goal[file] = ssw_goals_sum(goals, file);
		if (!goal[file])
			return false;
		percent[file] = (goal[file] - ssw_goals_sum(left, file)) * 100 / goal[file];
		if (file)
			break;
	}
	less = percent[1] < percent[0];
	for_each_evictable_lru(lru) {
		unsigned long done = goals->nr[lru] - left->nr[lru];
		unsigned long due = goals->nr[lru] * percent[!less] / 100;

		if (is_file_lru(lru) != less)
			left->nr[lru] = 0;
		else
			left->nr[lru] = due > done ? due - done : 0;
	}
	return ssw_goals_sum(left, less);
}

static noinline void ssw_shrink_shards(struct lruvec *whole, struct scan_control *sc)
{
	unsigned long reclaimed = sc->nr_reclaimed;
	unsigned int own = 0, first = 0, i;
	struct scaleswap_shards *shards;
	struct ssw_goals goals, left, now;
	bool levelled = false;
	enum lru_list lru;

	get_scan_count(whole, sc, goals.nr);
	left = goals;
	shards = READ_ONCE(whole->shards);
	if (shards)
		first = ssw_lru_first(whole, shards, &own);
	for (i = 0; i <= (shards ? ssw_lru_shards + 1 : 0); i++) {
		unsigned int id = first;
		unsigned long scanned = sc->nr_scanned, pages = 0;
		struct lruvec *lruvec;

		/* After a first one of somebody else's comes the own. */
		if (i) {
			id = ((own == UINT_MAX ? first : own) + i - 1) % (ssw_lru_shards + 1);
			if (id == first)
				continue;
		}
		lruvec = shards ? ssw_lru_list(whole, shards, id) : whole;
		if (!lruvec)
			continue;
		for (lru = 0; lru < NR_LRU_LISTS; lru++)
			now.nr[lru] = 0;
		for_each_evictable_lru(lru) {
			unsigned long size = ssw_lru_pages(lruvec, lru, sc->reclaim_idx);

			pages += size;
			/*
			 * A small shard of others is not to be scanned whole
			 * because the memory is large.
			 */
			if (shards && id != own)
				size = min(size, max(size >> min(sc->priority, 3),
						     SWAP_CLUSTER_MAX));
			now.nr[lru] = min(left.nr[lru], size);
			left.nr[lru] -= now.nr[lru];
		}
		/* The first is visited even if nothing is to be scanned: to be aged. */
		if (!pages)
			continue;
		sc->shard_goals = now.nr;
		shrink_lruvec(lruvec, sc);
		sc->shard_goals = NULL;
		/* now.nr is what shrink_lruvec() left. */
		for_each_evictable_lru(lru)
			left.nr[lru] += now.nr[lru];
		if (shards)
			ssw_lru_scanned(lruvec, shards, sc->nr_scanned - scanned, pages);
		if (!ssw_goals_sum(&left, false) && !ssw_goals_sum(&left, true))
			break;
		/* As in shrink_lruvec(), where direct global reclaim goes on once. */
		if (sc->nr_reclaimed - reclaimed < sc->nr_to_reclaim ||
		    (!cgroup_reclaim(sc) && !current_is_kswapd() &&
		     sc->priority == DEF_PRIORITY))
			continue;
		if (levelled || !ssw_goals_level(&goals, &left))
			break;
		levelled = true;
	}
}

/* shrink_lruvec() for a memcg and node */
static __always_inline void ssw_shrink_lruvec(struct lruvec *whole, struct scan_control *sc)
{
	if (scaleswap_lru_on())
		ssw_shrink_shards(whole, sc);
	else
		shrink_lruvec(whole, sc);
}

/* What shrink_lruvec() is to scan, if ssw_shrink_shards() calls it. */
static bool ssw_shard_goals(struct scan_control *sc, unsigned long *nr)
{
	if (!scaleswap_lru_on() || !sc->shard_goals)
		return false;
	memcpy(nr, sc->shard_goals, NR_LRU_LISTS * sizeof(*nr));
	return true;
}

/* What it did not scan of that. */
static void ssw_shard_left(struct scan_control *sc, const unsigned long *nr)
{
	if (scaleswap_lru_on() && sc->shard_goals)
		memcpy(sc->shard_goals, nr, NR_LRU_LISTS * sizeof(*nr));
}

/* Which lists kswapd is to age next: it takes one shard at a time. */
static struct lruvec *ssw_lru_next(struct lruvec *whole)
{
	struct scaleswap_shards *shards;
	unsigned int id;

	if (!scaleswap_lru_on())
		return whole;
	shards = READ_ONCE(whole->shards);
	if (!shards)
		return whole;
	/* Nobody's own is left out, and the whole's lists have their turn, too. */
	id = ssw_lru_turn(whole, shards, &shards->aged, UINT_MAX);
	return id == UINT_MAX ? whole : ssw_lru_list(whole, shards, id);
}

#else /* CONFIG_SCALESWAP_LRU */

static void shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc);

static inline bool ssw_shard_goals(struct scan_control *sc, unsigned long *nr)
{
	return false;
}

static inline void ssw_shard_left(struct scan_control *sc, const unsigned long *nr)
{
}

static inline bool ssw_inactive_is_low(struct lruvec *lruvec)
{
	return inactive_is_low(lruvec, LRU_INACTIVE_ANON);
}

static inline void ssw_shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc)
{
	shrink_lruvec(lruvec, sc);
}

static inline struct lruvec *ssw_lru_next(struct lruvec *lruvec)
{
	return lruvec;
}

#endif /* CONFIG_SCALESWAP_LRU */

#endif /* _MM_SCALESWAP_SHRINK_H */
