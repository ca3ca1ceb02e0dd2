// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: reclaim over the LRU shards of a memcg and node.
 *
 * mm/vmscan.c includes this file, which uses its static functions and struct scan_control.
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
 * - A single list has the oldest page at its tail. With many lists, each shard has a clock
 *   that counts how often its inactive pages were scanned. Direct reclaim compares its own
 *   clock with that of one other shard, round-robin, and begins there if that one is behind.
 *   So shards of idle CPUs lose their cold pages as fast as a busy one's. CPUs that are
 *   equally busy stay with their own shards.
 * - If a shard has enough pages of one type but none of the other, reclaim takes the other
 *   type from other shards. Page cache and anonymous memory are balanced over all shards.
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
 * Compare the sizes of the anonymous lists when reclaim of a memcg is forced to deactivate,
 * after passes without progress.
 *
 * inactive_is_low() uses statistics that are up to two seconds old. If they show inactive
 * pages that have all been activated since, the base kernel scans nothing. It tries
 * seventeen times within two milliseconds, and then kills a process. The sizes of the lists
 * are always current.
 *
 * Return: true if reclaim is forced to, and more pages are active than inactive.
 */
static bool ssw_lists_are_low(struct lruvec *lruvec, struct scan_control *sc)
{
	return scaleswap_on() && sc->force_deactivate && cgroup_reclaim(sc) &&
	       lruvec_lru_size(lruvec, LRU_INACTIVE_ANON, sc->reclaim_idx) <
	       lruvec_lru_size(lruvec, LRU_ACTIVE_ANON, sc->reclaim_idx);
}

/*
 * Let reclaim of a memcg at its limit that made no progress try again, once, and deactivate
 * pages by the sizes of the lists. *@again is true if the caller has done so already.
 *
 * Only a charge at the limit ends in a kill. Reclaim for memory.high continues as long as it
 * makes progress, in each task that returns to user space. So it stays as it is.
 *
 * Inline, since a later patch of the series calls it than the one that includes this file.
 *
 * Return: true if the caller has to try again.
 */
static inline bool scaleswap_reclaim_retry(struct scan_control *sc, bool *again)
{
	struct mem_cgroup *memcg = sc->target_mem_cgroup;

	if (!scaleswap_on() || !cgroup_reclaim(sc) || sc->proactive || *again)
		return false;
	/* No charge of more than SWAP_CLUSTER_MAX pages ends in a kill. */
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

/* Advance of a shard's clock for a scan of as many pages as it has inactive */
#define SSW_LRU_ROUND	1048576L
/*
 * Direct reclaim begins at another shard if that is more than this behind the CPU's own. The
 * value is small, so that pages have as long to be used again in one shard as in another.
 * But CPUs that are about equally busy should stay with their own shards. With a quarter of
 * a round, two of them contended twice as often.
 */
#define SSW_LRU_SLACK	(SSW_LRU_ROUND / 2)
/* No clock is further behind, so a shard that was idle for long is not emptied at once. */
#define SSW_LRU_LAG	(8 * SSW_LRU_ROUND)

/* How many pages to scan of each list, and whether to age anonymous pages */
struct scaleswap_targets {
	unsigned long nr[NR_LRU_LISTS];
	bool age;
};

static const struct scaleswap_targets ssw_active_anon = {
	.nr = { [LRU_ACTIVE_ANON] = 1 },
};

/* Find a shard's lists by its number; 0 is the memcg's own. NULL if there is no such shard. */
static struct lruvec *ssw_lru_list(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				   unsigned int id)
{
	struct scaleswap_shard *shard;

	if (!id)
		return mlruvec;
	shard = READ_ONCE(shards->shard[id]);
	return shard ? &shard->lruvec : NULL;
}

/* Count the pages of a list. Inlined, as it runs many times for each reclaimed page. */
static __always_inline
unsigned long ssw_lru_pages(struct lruvec *lruvec, enum lru_list lru, int zone_idx)
{
	struct mem_cgroup_per_node *mz = container_of(lruvec, struct mem_cgroup_per_node, lruvec);
	unsigned long size = 0;
	int zid;

	for (zid = 0; zid <= zone_idx; zid++)
		size += READ_ONCE(*(lruvec->shard ? &lruvec->shard->size[lru].zone[zid] :
						    &mz->lru_zone_size[zid][lru]));
	return size;
}

static unsigned long ssw_lru_evictable(struct lruvec *lruvec)
{
	return ssw_lru_pages(lruvec, LRU_INACTIVE_ANON, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_INACTIVE_FILE, MAX_NR_ZONES - 1) +
	       ssw_lru_pages(lruvec, LRU_ACTIVE_FILE, MAX_NR_ZONES - 1);
}

/* Check whether a shard has pages to be scanned. The first list usually decides. */
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
 * Update and return a shard's clock. Pages added since the last update count as new, so a
 * shard that was idle and fills up does not look old. A shard that was emptied and fills
 * up does not look younger than others.
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
	/* The shard may be another CPU's: write only what has changed. */
	if (newest - behind != time)
		WRITE_ONCE(*clock, newest - behind);
	if (pages != seen)
		WRITE_ONCE(*ssw_lru_seen(l, shards), pages);
	return newest - behind;
}

/*
 * Advance a shard's clock: @scanned of @pages were scanned, the inactive pages of the types
 * to be scanned. If clocks keep pace, an inactive page has as long to be used again in one
 * shard as in another. That holds even where most pages are active.
 */
static void ssw_lru_scanned(struct lruvec *l, struct scaleswap_shards *shards,
			    unsigned long scanned, unsigned long pages)
{
	unsigned long *clock = ssw_lru_clock(l, shards);
	unsigned long time;

	/* Round up, or 32 pages of 128 GB would count as nothing. */
	time = READ_ONCE(*clock) + DIV_ROUND_UP(min(scanned, pages) * SSW_LRU_ROUND, pages + 1);
	WRITE_ONCE(*clock, time);
	if ((long)(time - READ_ONCE(shards->newest)) > 0)
		WRITE_ONCE(shards->newest, time);
	/* Reclaimed pages have left, and the others are as old as they were. */
	WRITE_ONCE(*ssw_lru_seen(l, shards), ssw_lru_evictable(l));
}

/*
 * Advance *@cursor to the next shard, other than @own, that has pages to be scanned. Return
 * its number, or @own if there is none.
 */
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
			/* Lost updates do not matter: the cursor only has to go round. */
			WRITE_ONCE(*cursor, id);
			return id;
		}
	}
	return own;
}

/*
 * Find the shard with pages to be scanned whose clock is furthest behind. If several are
 * equal, such as all that are SSW_LRU_LAG behind, each call returns a different one.
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
 * Choose the shard to begin with. Set *@own to this CPU's shard, and *@next to the one to
 * continue with, which is not always the same.
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
		/* No shard counts as this CPU's own. */
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

/* Check whether a shard has too many active anonymous pages, by its own lists alone. */
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

/* Check whether shrink_lruvec() has to deactivate anonymous pages. */
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

/* Check whether shrink_lruvec() would continue, as it does not for active anonymous pages. */
static bool ssw_targets_left(const struct scaleswap_targets *g)
{
	return g->nr[LRU_INACTIVE_ANON] || g->nr[LRU_ACTIVE_FILE] || g->nr[LRU_INACTIVE_FILE];
}

/*
 * Set @left, after enough was reclaimed, so that anonymous memory and page cache are scanned
 * in proportion to @targets. shrink_lruvec() applies the same rule to a whole lruvec, and
 * leaves it to this function for a shard.
 *
 * Return: true if there is more to scan.
 */
static bool ssw_targets_level(const struct scaleswap_targets *targets,
			      struct scaleswap_targets *left)
{
	unsigned long anon = ssw_targets_sum(left, false), file = ssw_targets_sum(left, true);
	bool smaller = file <= anon;
	unsigned long percent;
	enum lru_list lru;

	/* One type is scanned completely: that must not make the other one be scanned more. */
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
 * @own: number of the CPU's own shard, UINT_MAX if that does not matter
 * @next: number of the shard to continue with after these
 * @left: pages that are still to be scanned
 */
struct ssw_reclaim {
	struct lruvec *mlruvec;
	struct scaleswap_shards *shards;
	unsigned int first;
	unsigned int own;
	unsigned int next;
	struct scaleswap_targets left;
};

/* Scan a shard, at most as many pages of each list as are left to scan. */
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
		/* A list that is not asked for is not scanned, so it does not count. */
		if (!is_active_lru(lru) && r->left.nr[lru])
			inactive += size;
		/*
		 * Do not scan all of another CPU's small shard just because the memory is
		 * large.
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
	/* now.nr is what shrink_lruvec() did not scan. */
	for_each_evictable_lru(lru) {
		r->left.nr[lru] -= asked.nr[lru] - now.nr[lru];
		done += asked.nr[lru] - now.nr[lru];
	}
	/* Advance the clock even if no page could be scanned: others have their turn. */
	if (r->shards)
		ssw_lru_scanned(lruvec, r->shards, (sc->nr_scanned - scanned) ?: done,
				inactive ?: pages);
}

/*
 * Scan one shard after the other until nothing is left to scan. With @enough, stop when so
 * much was reclaimed that shrink_lruvec() would look at proportions.
 *
 * Return: true if it stopped for that reason.
 */
static bool ssw_shrink_round(struct ssw_reclaim *r, bool enough, struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;
	unsigned int nr = r->shards ? ssw_lru_shards + 2 : 0;
	unsigned int i;

	for (i = 0; i <= nr; i++) {
		unsigned int id = r->first;

		/* If the CPU's own shard was not the first, it comes next, then all others. */
		if (i == 1)
			id = r->own;
		else if (i > 1)
			id = (r->next + i - 2) % (nr - 1);
		if (id == UINT_MAX || (i && id == r->first) || (i > 1 && id == r->own))
			continue;
		ssw_shrink_shard(r, id, sc);
		/* As in shrink_lruvec(), direct global reclaim goes on at DEF_PRIORITY. */
		if (enough && sc->nr_reclaimed - before >= sc->nr_to_reclaim &&
		    (cgroup_reclaim(sc) || current_is_kswapd() || sc->priority != DEF_PRIORITY))
			return true;
		if (!ssw_targets_left(&r->left))
			break;
	}
	return false;
}

/*
 * Deactivate anonymous pages if ssw_shrink_round() scanned too few active ones.
 *
 * The round scans only shards that have inactive pages or page cache. A shard that has only
 * active anonymous pages would never give any, and the memcg would be out of memory with
 * all of them there. shrink_lruvec() scans one batch of active pages with each batch of the
 * longest other list. This function does so over all shards with active pages, round-robin.
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

/* Choose a shard with too many active anonymous pages; NULL if there is none. */
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

/* Rebalance active and inactive anonymous pages, as shrink_lruvec() does at its end. */
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
		/* Do not begin at a shard where no page would be scanned. */
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

/* Do for a memcg and node, with all its shards, what shrink_lruvec() does for one lruvec. */
static __always_inline void scaleswap_shrink_lruvec(struct lruvec *mlruvec, struct scan_control *sc)
{
	if (scaleswap_lru_on())
		ssw_shrink_shards(mlruvec, sc);
	else
		shrink_lruvec(mlruvec, sc);
}

/* Load into @nr what shrink_lruvec() has to scan, if ssw_shrink_shards() called it. */
static bool scaleswap_scan_targets_load(struct scan_control *sc, unsigned long *nr)
{
	if (!scaleswap_lru_on() || !sc->shard_targets)
		return false;
	memcpy(nr, sc->shard_targets->nr, sizeof(sc->shard_targets->nr));
	return true;
}

/* Check whether shrink_lruvec() works on a shard, for which ssw_targets_level() balances. */
static bool scaleswap_scan_is_shard(struct scan_control *sc)
{
	return scaleswap_lru_on() && sc->shard_targets;
}

/* Store from @nr what shrink_lruvec() did not scan of that. */
static void scaleswap_scan_targets_store(struct scan_control *sc, const unsigned long *nr)
{
	if (scaleswap_lru_on() && sc->shard_targets)
		memcpy(sc->shard_targets->nr, nr, sizeof(sc->shard_targets->nr));
}

/* Choose the lists that kswapd ages next, one shard at a time. */
static struct lruvec *scaleswap_next_lruvec(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards;
	unsigned int id;

	if (!scaleswap_lru_on())
		return mlruvec;
	shards = READ_ONCE(mlruvec->shards);
	if (!shards)
		return mlruvec;
	/* Leave out no CPU's shard. The memcg's own lists have their turn, too. */
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

