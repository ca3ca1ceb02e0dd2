// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: how reclaim goes over the LRU shards of a memcg and node.
 *
 * A part of mm/vmscan.c, which includes it, since it needs what is private there.
 */

/**
 * DOC: Reclaim over LRU shards
 *
 * The numbers of pages to scan are computed as in the base kernel, for the memcg and node as
 * a whole. They are then taken from one shard after the other until enough is reclaimed. So
 * priorities, proportions, protection and vmpressure are unchanged. The shard to begin with
 * decides which CPUs contend for a lock, and which pages count as old:
 *
 * - Direct reclaim begins at the shard of its own CPU. kswapd, and a CPU whose own shard has
 *   no pages of the type to be scanned, begin at the oldest shard that has some.
 * - One list has the oldest page of all at its tail. With many lists, each shard has a clock
 *   that counts how often its inactive pages were scanned. Direct reclaim compares its own
 *   clock with that of one other shard, round-robin, and begins there if that one is behind.
 *   So shards of idle CPUs lose their cold pages as fast as a busy one's, and CPUs that are
 *   equally busy stay with their own shards.
 * - If a shard has enough pages of one type but none of the other, others are asked for
 *   those. The balance between page cache and anonymous memory is the whole's.
 * - If the memcg and node have too many active anonymous pages, one batch a call is
 *   deactivated, as with one list. It comes from the CPU's own shard or from another one,
 *   round-robin, that has too many by itself.
 * - All shards with inactive pages are visited before reclaim reports no progress. Shards
 *   that have only active pages have some of them deactivated.
 */

static void shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc);

#ifdef CONFIG_SCALESWAP
#include "internal.h"
#endif

#if defined(CONFIG_SCALESWAP) && defined(CONFIG_MEMCG)

/*
 * Are there more active than inactive anonymous pages, in the last pass before reclaim of
 * a memcg reports that there was no progress?
 *
 * inactive_is_low() goes by statistics that are up to two seconds old. If they show
 * inactive pages that have all been activated since, the base kernel scans nothing at
 * all, seventeen times within two milliseconds, and kills. The sizes of the lists are
 * right at any time.
 */
static bool ssw_lists_are_low(struct lruvec *lruvec, struct scan_control *sc)
{
	return scaleswap_on() && sc->force_deactivate && cgroup_reclaim(sc) &&
	       lruvec_lru_size(lruvec, LRU_INACTIVE_ANON, sc->reclaim_idx) <
	       lruvec_lru_size(lruvec, LRU_ACTIVE_ANON, sc->reclaim_idx);
}

/*
 * Let reclaim of a memcg at its limit that made no progress try again, once, and
 * deactivate pages by the sizes of the lists. @again is true if that was done already.
 *
 * Only a charge at the limit ends in a kill. Reclaim for memory.high goes on for as long
 * as it makes progress, in each task that returns to user space. So it stays as it is.
 *
 * Return true if the caller has to try again.
 */
static bool scaleswap_reclaim_retry(struct scan_control *sc, bool *again)
{
	struct mem_cgroup *memcg = sc->target_mem_cgroup;

	if (!scaleswap_on() || !cgroup_reclaim(sc) || sc->proactive || *again)
		return false;
	/* No charge of more pages than this ends in a kill. */
	if (page_counter_read(&memcg->memory) + SWAP_CLUSTER_MAX <= READ_ONCE(memcg->memory.max))
		return false;
	ssw_stat_add(SSW_RECLAIM_RETRIED, 1);
	*again = true;
	sc->force_deactivate = 1;
	return true;
}

#else /* CONFIG_SCALESWAP && CONFIG_MEMCG */

static inline bool ssw_lists_are_low(struct lruvec *lruvec, struct scan_control *sc)
{
	return false;
}

static inline bool scaleswap_reclaim_retry(struct scan_control *sc, bool *again)
{
	return false;
}

#endif /* CONFIG_SCALESWAP && CONFIG_MEMCG */

#ifdef CONFIG_SCALESWAP_LRU

/* Of a clock: one scan of as many pages as a shard's inactive lists hold */
#define SSW_LRU_ROUND	1048576L
/*
 * A shard that is this much behind a CPU's own is taken first. Small, so that pages
 * have as long to be used again in one shard as in another, but CPUs that are about
 * as busy as each other are to stay with their own: with a quarter of a round two
 * of them met twice as often.
 */
#define SSW_LRU_SLACK	(SSW_LRU_ROUND / 2)
/* Nobody is further behind, so what was long idle is not drained at once. */
#define SSW_LRU_LAG	(8 * SSW_LRU_ROUND)

/* How much is to be scanned of each list; and whether there is to be ageing. */
struct scaleswap_targets {
	unsigned long nr[NR_LRU_LISTS];
	bool age;
};

static const struct scaleswap_targets ssw_active_anon = {
	.nr = { [LRU_ACTIVE_ANON] = 1 },
};

/* Shards by number; 0 is the memcg's own lists. NULL where there is none. */
static struct lruvec *ssw_lru_list(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				   unsigned int id)
{
	struct scaleswap_shard *shard;

	if (!id)
		return mlruvec;
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

/* Has it any that are wanted? To know that, most of the time the first sizes do. */
static bool ssw_lru_has(struct lruvec *lruvec, const struct scaleswap_targets *want, int zone_idx)
{
	enum lru_list lru;

	for_each_evictable_lru(lru) {
		if (want->nr[lru] && ssw_lru_pages(lruvec, lru, zone_idx))
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
	unsigned long seen = READ_ONCE(*ssw_lru_seen(l, shards));
	unsigned long newest = READ_ONCE(shards->newest), time = READ_ONCE(*clock);
	long behind = clamp((long)(newest - time), 0, SSW_LRU_LAG);

	if (pages > seen)
		behind = behind * (long)seen / (long)pages;
	/* It may be another CPU's: not written without need. */
	if (newest - behind != time)
		WRITE_ONCE(*clock, newest - behind);
	if (pages != seen)
		WRITE_ONCE(*ssw_lru_seen(l, shards), pages);
	return newest - behind;
}

/*
 * Of @pages in the lists that are scanned, those of inactive pages, @scanned were
 * looked at. So clocks that keep pace mean that an inactive page has as long to be
 * used again in one shard as in another, few as they may be where most are active.
 */
static void ssw_lru_scanned(struct lruvec *l, struct scaleswap_shards *shards,
			    unsigned long scanned, unsigned long pages)
{
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long time;

	/* Rounded up, or 32 pages of 128 GB would be nothing. */
	time = READ_ONCE(*clock) + DIV_ROUND_UP(min(scanned, pages) * SSW_LRU_ROUND, pages + 1);
	WRITE_ONCE(*clock, time);
	if ((long)(time - READ_ONCE(shards->newest)) > 0)
		WRITE_ONCE(shards->newest, time);
	/* What is reclaimed leaves, what stays is as old as it was. */
	WRITE_ONCE(*ssw_lru_seen(l, shards), ssw_lru_evictable(l));
}

/* The next number after *@cursor with pages, but for @own; @own if there is none. */
static unsigned int ssw_lru_turn(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				 unsigned int *cursor, unsigned int own,
				 const struct scaleswap_targets *want, int zone_idx)
{
	unsigned int i, id = READ_ONCE(*cursor);

	for (i = 0; i <= ssw_lru_shards; i++) {
		struct lruvec *l;

		id = id < ssw_lru_shards ? id + 1 : 0;
		l = ssw_lru_list(mlruvec, shards, id);
		if (id != own && l && ssw_lru_has(l, want, zone_idx)) {
			/* Lost updates do not matter: it only has to go round. */
			WRITE_ONCE(*cursor, id);
			return id;
		}
	}
	return own;
}

/*
 * The number of the shard with pages that is furthest behind. Of equals, such as all
 * that are as far behind as can be, it is another one each time.
 */
static unsigned int ssw_lru_oldest(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				   const struct scaleswap_targets *want, int zone_idx)
{
	unsigned int i, id = READ_ONCE(shards->cursor), oldest = 0;
	long behind, most = -1;

	for (i = 0; i <= ssw_lru_shards; i++) {
		struct lruvec *l;

		id = id < ssw_lru_shards ? id + 1 : 0;
		l = ssw_lru_list(mlruvec, shards, id);
		if (!l || !ssw_lru_has(l, want, zone_idx))
			continue;
		behind = READ_ONCE(shards->newest) - ssw_lru_time(l, shards);
		if (behind > most) {
			most = behind;
			oldest = id;
		}
	}
	WRITE_ONCE(shards->cursor, oldest);
	return oldest;
}

/*
 * The number of the shard to begin with; *@own is set to this CPU's, *@next to where
 * to go on: not always with the same neighbour.
 */
static unsigned int ssw_lru_first(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				  unsigned int *own, unsigned int *next,
				  const struct scaleswap_targets *want, int zone_idx)
{
	struct lruvec *mine, *other;
	unsigned int turn;
	long ahead;

	*own = ssw_lru_own();
	mine = ssw_lru_list(mlruvec, shards, *own);
	if (current_is_kswapd() || !mine || !ssw_lru_has(mine, want, zone_idx)) {
		/* Nothing is his own. */
		*own = UINT_MAX;
		*next = ssw_lru_oldest(mlruvec, shards, want, zone_idx);
		return *next;
	}
	turn = ssw_lru_turn(mlruvec, shards, &shards->cursor, *own, want, zone_idx);
	*next = turn;
	if (turn == *own)
		return turn;
	other = ssw_lru_list(mlruvec, shards, turn);
	ahead = ssw_lru_time(mine, shards) - ssw_lru_time(other, shards);
	if (ahead <= SSW_LRU_SLACK)
		return *own;
	ssw_stat_add(SSW_LRU_FOREIGN, 1);
	return turn;
}

/* Does a shard have too many active anonymous pages? By its own lists alone. */
static bool ssw_shard_is_low(struct lruvec *lruvec)
{
	unsigned long inactive, active, ratio, gb;

	inactive = ssw_lru_pages(lruvec, LRU_INACTIVE_ANON, MAX_NR_ZONES - 1);
	active = ssw_lru_pages(lruvec, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1);
	/* The ratio depends on how much memory there is, not on how it is sharded. */
	gb = (lruvec_page_state(lruvec, NR_INACTIVE_ANON) +
	      lruvec_page_state(lruvec, NR_ACTIVE_ANON)) >> (30 - PAGE_SHIFT);
	ratio = gb ? int_sqrt(10 * gb) : 1;
	return inactive * ratio < active;
}

/* Is shrink_lruvec() to deactivate anonymous pages? */
static bool scaleswap_inactive_is_low(struct lruvec *lruvec, struct scan_control *sc)
{
	if (scaleswap_lru_on() && sc->shard_targets)
		return sc->shard_targets->age;
	return inactive_is_low(lruvec, LRU_INACTIVE_ANON) || ssw_lists_are_low(lruvec, sc);
}

static unsigned long ssw_targets_sum(const struct scaleswap_targets *g, bool file)
{
	enum lru_list lru = file ? LRU_FILE : LRU_BASE;

	return g->nr[lru] + g->nr[lru + LRU_ACTIVE];
}

/* Is there what shrink_lruvec() goes on for? Active anonymous pages are not. */
static bool ssw_targets_left(const struct scaleswap_targets *g)
{
	return g->nr[LRU_INACTIVE_ANON] || g->nr[LRU_ACTIVE_FILE] || g->nr[LRU_INACTIVE_FILE];
}

/*
 * Enough was reclaimed. Leave in @left what has to be scanned for page cache and
 * anonymous memory to have been scanned in proportion to @targets: shrink_lruvec()
 * does this within one lruvec, by the same rule, and not if it has but a shard.
 *
 * Return: false if there is nothing more to do.
 */
static bool ssw_targets_level(const struct scaleswap_targets *targets,
			      struct scaleswap_targets *left)
{
	unsigned long anon = ssw_targets_sum(left, false), file = ssw_targets_sum(left, true);
	bool smaller = file <= anon;
	unsigned long percent;
	enum lru_list lru;

	/* All of the one was scanned: that must not drive the other on. */
	if (!anon || !file)
		return false;
	percent = min(anon, file) * 100 / (ssw_targets_sum(targets, smaller) + 1);
	for_each_evictable_lru(lru) {
		unsigned long done = targets->nr[lru] - left->nr[lru];
		unsigned long due = targets->nr[lru] * (100 - percent) / 100;

		if (is_file_lru(lru) == smaller)
			left->nr[lru] = 0;
		else
			left->nr[lru] = due - min(due, done);
	}
	return ssw_targets_left(left);
}

/**
 * struct ssw_reclaim - reclaim from a memcg and node
 * @mlruvec: its lruvec
 * @shards: its shards, or NULL
 * @first: number of the shard to begin with
 * @own: number of the CPU's own, UINT_MAX if that does not matter
 * @next: number of the one to go on with after these
 * @left: of what is to be scanned, what was not yet
 */
struct ssw_reclaim {
	struct lruvec *mlruvec;
	struct scaleswap_shards *shards;
	unsigned int first;
	unsigned int own;
	unsigned int next;
	struct scaleswap_targets left;
};

/* Scan of a shard what it has of what is left to scan. */
static void ssw_shrink_shard(struct ssw_reclaim *r, unsigned int id, struct scan_control *sc)
{
	unsigned long scanned = sc->nr_scanned, pages = 0, inactive = 0, done = 0;
	struct scaleswap_targets now = { }, asked;
	struct lruvec *lruvec;
	enum lru_list lru;

	lruvec = r->shards ? ssw_lru_list(r->mlruvec, r->shards, id) : r->mlruvec;
	if (!lruvec)
		return;
	for_each_evictable_lru(lru) {
		unsigned long size = ssw_lru_pages(lruvec, lru, sc->reclaim_idx);

		pages += size;
		/* Of what is not asked for, nothing is scanned: it does not count. */
		if (!is_active_lru(lru) && r->left.nr[lru])
			inactive += size;
		/*
		 * A small shard of others is not to be scanned whole because the
		 * memory is large.
		 */
		if (r->shards && id != r->own)
			size = min(size, max(size >> min(sc->priority, 3), SWAP_CLUSTER_MAX));
		now.nr[lru] = min(r->left.nr[lru], size);
	}
	if (!ssw_targets_left(&now))
		return;
	asked = now;
	sc->shard_targets = &now;
	shrink_lruvec(lruvec, sc);
	sc->shard_targets = NULL;
	/* now.nr is what shrink_lruvec() left. */
	for_each_evictable_lru(lru) {
		r->left.nr[lru] -= asked.nr[lru] - now.nr[lru];
		done += asked.nr[lru] - now.nr[lru];
	}
	/* If none of it could be looked at, its time passes, too: others have their turn. */
	if (r->shards)
		ssw_lru_scanned(lruvec, r->shards, (sc->nr_scanned - scanned) ?: done,
				inactive ?: pages);
}

/*
 * Go over the shards until what is to be scanned was scanned, or with @enough
 * until so much was reclaimed that shrink_lruvec() would look at proportions.
 *
 * Return: true if that was so.
 */
static bool ssw_shrink_round(struct ssw_reclaim *r, bool enough, struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;
	unsigned int nr = r->shards ? ssw_lru_shards + 2 : 0;
	unsigned int i;

	for (i = 0; i <= nr; i++) {
		unsigned int id = r->first;

		/* After a first one of somebody else's comes the own, then all others. */
		if (i == 1)
			id = r->own;
		else if (i > 1)
			id = (r->next + i - 2) % (nr - 1);
		if (id == UINT_MAX || (i && id == r->first) || (i > 1 && id == r->own))
			continue;
		ssw_shrink_shard(r, id, sc);
		/* As in shrink_lruvec(), where direct global reclaim goes on once. */
		if (enough && sc->nr_reclaimed - before >= sc->nr_to_reclaim &&
		    (cgroup_reclaim(sc) || current_is_kswapd() || sc->priority != DEF_PRIORITY))
			return true;
		if (!ssw_targets_left(&r->left))
			break;
	}
	return false;
}

/*
 * Deactivate what ssw_shrink_round() left of the goal of active anonymous pages.
 *
 * The round visits only shards that have inactive pages or page cache. A shard that has
 * active pages alone would never give any, and the group would be out of memory with all
 * of them there. shrink_lruvec() scans one batch of active pages with each batch of the
 * longest other list; so does this, over all shards that have active pages, in turn.
 */
static void ssw_shrink_active(struct ssw_reclaim *r, const struct scaleswap_targets *targets,
			      struct scan_control *sc)
{
	unsigned long *left = &r->left.nr[LRU_ACTIVE_ANON];
	unsigned long done = targets->nr[LRU_ACTIVE_ANON] - *left, due = 0;
	enum lru_list lru;

	if (!r->shards || !*left)
		return;
	if (!(sc->may_deactivate & DEACTIVATE_ANON)) {
		sc->skipped_deactivate = 1;
		return;
	}
	for_each_evictable_lru(lru) {
		if (lru != LRU_ACTIVE_ANON)
			due = max(due, targets->nr[lru] - r->left.nr[lru]);
	}
	due = round_up(due, SWAP_CLUSTER_MAX);
	due = min(due - min(due, done), *left);
	while (due) {
		unsigned int id = ssw_lru_turn(r->mlruvec, r->shards, &r->shards->aged, UINT_MAX,
					       &ssw_active_anon, sc->reclaim_idx);
		unsigned long nr = min(due, SWAP_CLUSTER_MAX);

		if (id == UINT_MAX)
			break;
		shrink_active_list(nr, ssw_lru_list(r->mlruvec, r->shards, id), sc,
				   LRU_ACTIVE_ANON);
		*left -= nr;
		due -= nr;
	}
}

/* Which shard is to have active pages deactivated; NULL if there is none. */
static struct lruvec *ssw_lru_to_age(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				     int zone_idx)
{
	unsigned int own = current_is_kswapd() ? UINT_MAX : ssw_lru_own();
	unsigned int i, id, first = UINT_MAX;
	struct lruvec *l;

	l = own == UINT_MAX ? NULL : ssw_lru_list(mlruvec, shards, own);
	if (l && ssw_shard_is_low(l))
		return l;
	for (i = 0; i <= ssw_lru_shards; i++) {
		id = ssw_lru_turn(mlruvec, shards, &shards->aged, UINT_MAX, &ssw_active_anon,
				  zone_idx);
		if (id == UINT_MAX || id == first)
			break;
		if (!i)
			first = id;
		l = ssw_lru_list(mlruvec, shards, id);
		if (ssw_shard_is_low(l))
			return l;
	}
	return NULL;
}

/* As at the end of shrink_lruvec(): rebalance active and inactive anonymous pages. */
static void ssw_shrink_age(struct lruvec *mlruvec, struct scaleswap_shards *shards,
			   struct scan_control *sc)
{
	struct scaleswap_targets none = { .age = true };
	struct lruvec *l = mlruvec;

	if (!inactive_is_low(mlruvec, LRU_INACTIVE_ANON) && !ssw_lists_are_low(mlruvec, sc))
		return;
	if (shards)
		l = ssw_lru_to_age(mlruvec, shards, sc->reclaim_idx);
	if (!l)
		return;
	sc->shard_targets = &none;
	shrink_lruvec(l, sc);
	sc->shard_targets = NULL;
}

static noinline void ssw_shrink_shards(struct lruvec *mlruvec, struct scan_control *sc)
{
	struct ssw_reclaim r = { .mlruvec = mlruvec, .shards = READ_ONCE(mlruvec->shards) };
	struct scaleswap_targets targets = { }, want;
	bool enough;

	get_scan_count(mlruvec, sc, targets.nr);
	if (ssw_targets_left(&targets)) {
		/* Where nothing would be looked at there is no point in beginning. */
		want = targets;
		want.nr[LRU_ACTIVE_ANON] = 0;
		if (!(sc->may_deactivate & DEACTIVATE_FILE) && want.nr[LRU_INACTIVE_FILE])
			want.nr[LRU_ACTIVE_FILE] = 0;
		r.left = targets;
		if (r.shards)
			r.first = ssw_lru_first(mlruvec, r.shards, &r.own, &r.next, &want,
						sc->reclaim_idx);
		enough = ssw_shrink_round(&r, true, sc);
		ssw_shrink_active(&r, &targets, sc);
		if (enough && ssw_targets_level(&targets, &r.left))
			ssw_shrink_round(&r, false, sc);
	}
	ssw_shrink_age(mlruvec, r.shards, sc);
}

/* shrink_lruvec() for a memcg and node */
static __always_inline void scaleswap_shrink_lruvec(struct lruvec *mlruvec, struct scan_control *sc)
{
	if (scaleswap_lru_on())
		ssw_shrink_shards(mlruvec, sc);
	else
		shrink_lruvec(mlruvec, sc);
}

/* What shrink_lruvec() is to scan, if ssw_shrink_shards() calls it. */
static bool scaleswap_scan_targets_load(struct scan_control *sc, unsigned long *nr)
{
	if (!scaleswap_lru_on() || !sc->shard_targets)
		return false;
	memcpy(nr, sc->shard_targets->nr, sizeof(sc->shard_targets->nr));
	return true;
}

/* Is shrink_lruvec() to leave it to ssw_targets_level() what is in proportion? */
static bool scaleswap_scan_is_shard(struct scan_control *sc)
{
	return scaleswap_lru_on() && sc->shard_targets;
}

/* What it did not scan of that. */
static void scaleswap_scan_targets_store(struct scan_control *sc, const unsigned long *nr)
{
	if (scaleswap_lru_on() && sc->shard_targets)
		memcpy(sc->shard_targets->nr, nr, sizeof(sc->shard_targets->nr));
}

/* Which lists kswapd is to age next: it takes one shard at a time. */
static struct lruvec *scaleswap_next_lruvec(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards;
	unsigned int id;

	if (!scaleswap_lru_on())
		return mlruvec;
	shards = READ_ONCE(mlruvec->shards);
	if (!shards)
		return mlruvec;
	/* No CPU's own is left out, and the memcg's own lists have their turn, too. */
	id = ssw_lru_turn(mlruvec, shards, &shards->aged, UINT_MAX, &ssw_active_anon,
			  MAX_NR_ZONES - 1);
	return id == UINT_MAX ? mlruvec : ssw_lru_list(mlruvec, shards, id);
}

#else /* CONFIG_SCALESWAP_LRU */

static inline bool scaleswap_scan_targets_load(struct scan_control *sc, unsigned long *nr)
{
	return false;
}

static inline bool scaleswap_scan_is_shard(struct scan_control *sc)
{
	return false;
}

static inline void scaleswap_scan_targets_store(struct scan_control *sc, const unsigned long *nr)
{
}

static inline bool scaleswap_inactive_is_low(struct lruvec *lruvec, struct scan_control *sc)
{
	return inactive_is_low(lruvec, LRU_INACTIVE_ANON) || ssw_lists_are_low(lruvec, sc);
}

static inline void scaleswap_shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc)
{
	shrink_lruvec(lruvec, sc);
}

static inline struct lruvec *scaleswap_next_lruvec(struct lruvec *lruvec)
{
	return lruvec;
}

#endif /* CONFIG_SCALESWAP_LRU */

