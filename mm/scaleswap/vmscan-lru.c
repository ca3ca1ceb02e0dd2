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
 * - A single list has the oldest page at its tail. With many, each knows how old its tail is
 *   (mm/scaleswap/lruage.c). Direct reclaim looks at one other shard, round-robin, remembers
 *   the oldest that it saw, and begins there if the tail of that is older than the tail of its
 *   own CPU's shard by some part of an age. So shards of idle CPUs lose their cold pages as those
 *   of a single list would be lost. CPUs whose pages are about as old stay with their own shards.
 * - It does so for each list by itself: who has the oldest anonymous page may have no page
 *   cache, or only new one. Page cache and anonymous memory are balanced over all shards.
 * - kswapd, and a CPU whose own shard has no pages of that list, begin at the oldest shard.
 * - If the memcg and node have too many active anonymous pages, one batch a call is
 *   deactivated, as with one list: of the shard where active pages are oldest, in the same way.
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

/* Check whether anonymous pages have to be deactivated. */
static inline bool scaleswap_inactive_is_low(struct lruvec *lruvec, struct scan_control *sc)
{
	return inactive_is_low(lruvec, LRU_INACTIVE_ANON) || ssw_lists_are_low(lruvec, sc);
}

#if defined(CONFIG_SCALESWAP_EVICTOR) && defined(CONFIG_LRU_GEN)
/* Check whether kswapd is to find out that there is not enough memory. */
static bool ssw_gen_has_ttl(void)
{
	return READ_ONCE(lru_gen_min_ttl);
}
#endif

#ifdef CONFIG_SCALESWAP_LRU

/* How many pages to scan of each list */
struct scaleswap_targets {
	unsigned long nr[NR_LRU_LISTS];
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

static struct scaleswap_age *ssw_lru_age(struct lruvec *l, struct scaleswap_shards *shards,
					 enum lru_list lru)
{
	return l->shard ? &l->shard->size[lru].age : &shards->age[lru];
}

/*
 * Advance *@cursor to the next shard, other than @own, that has pages in a list. Return its
 * number, or @own if there is none.
 */
static unsigned int ssw_lru_turn(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				 u16 *cursor, unsigned int own, enum lru_list lru,
				 int zone_idx)
{
	struct lruvec *l = ssw_lru_list(mlruvec, shards, READ_ONCE(*cursor));
	unsigned int i, id, nr = READ_ONCE(shards->nr);

	for (i = 0; i <= nr; i++) {
		l = ssw_lru_after(mlruvec, shards, l);
		id = ssw_lru_number(l);
		if (id != own && ssw_lru_pages(l, lru, zone_idx)) {
			/* Lost updates do not matter: the cursor only has to go round. */
			WRITE_ONCE(*cursor, id);
			return id;
		}
	}
	return own;
}

/*
 * Find the shard with the oldest pages of a list; UINT_MAX if no shard has any. If several are
 * equal, each call returns a different one.
 */
static unsigned int ssw_lru_oldest(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				   enum lru_list lru, int zone_idx)
{
	u16 *cursor = &shards->age[lru].cursor;
	unsigned int i, nr = READ_ONCE(shards->nr), oldest = UINT_MAX;
	struct lruvec *l = ssw_lru_list(mlruvec, shards, READ_ONCE(*cursor));
	long behind, most = -1;

	for (i = 0; i <= nr; i++) {
		l = ssw_lru_after(mlruvec, shards, l);
		if (!ssw_lru_pages(l, lru, zone_idx))
			continue;
		behind = ssw_lru_has_next(l, lru) ? INT_MAX : ssw_lru_steps(l, lru);
		if (behind > most) {
			most = behind;
			oldest = ssw_lru_number(l);
		}
	}
	if (oldest != UINT_MAX)
		WRITE_ONCE(*cursor, oldest);
	return oldest;
}

/*
 * Check whether to take pages of a list from @other rather than from the CPU's own shard, @mine.
 *
 * Among pages of about the same age CPUs stay with their own shards, so that those that are equally
 * busy do not contend: ssw_lru_stay(). But a small shard may be turned over several times within
 * an age: pages of a shard that has many more of them are probably older.
 */
static bool ssw_lru_before(struct lruvec *other, struct lruvec *mine, enum lru_list lru,
			   int zone_idx)
{
	int older = ssw_lru_steps(other, lru) - ssw_lru_steps(mine, lru);

	if (older < 0)
		return false;
	if (older >= (int)ssw_lru_stay(other, mine, lru))
		return true;
	return ssw_lru_pages(other, lru, zone_idx) / 2 > ssw_lru_pages(mine, lru, zone_idx);
}

/*
 * Choose the shard to take pages of a list from, if @own is that of this CPU, or UINT_MAX if no
 * shard counts as its own. Return UINT_MAX if no shard has any.
 */
static unsigned int ssw_lru_begin(struct lruvec *mlruvec, struct scaleswap_shards *shards,
				  enum lru_list lru, unsigned int own, int zone_idx)
{
	struct lruvec *mine, *other, *last;
	struct scaleswap_age *age;
	unsigned int turn, was;

	mine = own == UINT_MAX ? NULL : ssw_lru_list(mlruvec, shards, own);
	if (!mine || !ssw_lru_pages(mine, lru, zone_idx))
		return ssw_lru_oldest(mlruvec, shards, lru, zone_idx);
	age = ssw_lru_age(mine, shards, lru);
	ssw_lru_begun(mine, lru);
	if (ssw_lru_has_next(mine, lru))
		return own;
	/* Once: CPUs that share this shard write it. */
	was = READ_ONCE(age->other);
	last = ssw_lru_list(mlruvec, shards, was);
	if (last == mine || (last && !ssw_lru_pages(last, lru, zone_idx)))
		last = NULL;
	/* What this CPU, or one like it, has written there can be freed now. */
	if (last && ssw_lru_has_next(last, lru))
		return was;
	turn = ssw_lru_turn(mlruvec, shards, &age->cursor, own, lru, zone_idx);
	if (turn == own)
		return own;
	other = ssw_lru_list(mlruvec, shards, turn);
	/* Stay with one that is older than others; those that are equal take turns. */
	if (last && ssw_lru_steps(last, lru) > ssw_lru_steps(other, lru)) {
		turn = was;
		other = last;
	}
	if (!ssw_lru_before(other, mine, lru, zone_idx))
		return own;
	if (turn != was)
		WRITE_ONCE(age->other, turn);
	return turn;
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
 * in proportion to @targets. shrink_lruvec() applies the same rule to one lruvec. Here all shards
 * are asked for one more batch of each list at most.
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
			left->nr[lru] = min(due - min(due, done), SWAP_CLUSTER_MAX);
	}
	return ssw_targets_left(left);
}

/* All lists, and those that shards are visited for: see ssw_shrink_active() */
#define SSW_LISTS_ALL	(BIT(LRU_UNEVICTABLE) - 1)
#define SSW_LISTS_VISIT	(SSW_LISTS_ALL & ~BIT(LRU_ACTIVE_ANON))

/**
 * struct ssw_reclaim - reclaim from a memcg and node
 * @mlruvec: its lruvec
 * @shards: its shards, or NULL
 * @own: number of the CPU's own shard, UINT_MAX if that does not matter
 * @first: number of the shard to begin with, by list; UINT_MAX if there is none
 * @from: position of the oldest pages of @first when it was found to have the oldest of all; one
 *	that it has left already, if it was chosen for what has been written there
 * @targets: pages that are to be scanned
 * @left: those of them that still are
 * @batch: what the batch of each list is short of, from 1 to %SWAP_CLUSTER_MAX pages
 */
struct ssw_reclaim {
	struct lruvec *mlruvec;
	struct scaleswap_shards *shards;
	unsigned int own;
	unsigned int first[LRU_UNEVICTABLE];
	unsigned int from[LRU_UNEVICTABLE];
	struct scaleswap_targets targets;
	struct scaleswap_targets left;
	struct scaleswap_targets batch;
};

/* Check whether so much was reclaimed that shrink_lruvec() would look at proportions. */
static bool ssw_is_enough(unsigned long before, struct scan_control *sc)
{
	/* As in shrink_lruvec(), direct global reclaim goes on at DEF_PRIORITY. */
	return sc->nr_reclaimed - before >= sc->nr_to_reclaim &&
	       (cgroup_reclaim(sc) || current_is_kswapd() || sc->priority != DEF_PRIORITY);
}

/*
 * Note that pages of a list were scanned.
 *
 * A batch may begin in one shard and end in others. Otherwise reclaim would evict more than was
 * asked for, by up to a batch less one, whenever one of them has just a few of the oldest pages.
 */
static void ssw_shrink_scanned(struct ssw_reclaim *r, enum lru_list lru, unsigned long nr)
{
	r->left.nr[lru] -= nr;
	r->batch.nr[lru] -= min(nr, r->batch.nr[lru]);
	if (!r->batch.nr[lru])
		r->batch.nr[lru] = SWAP_CLUSTER_MAX;
}

/*
 * Scan some lists of a shard, what their batches are short of, or with @whole all pages, but no
 * more than are left to scan. They are scanned in batches by turns until enough was reclaimed, as
 * shrink_lruvec() scans those of a lruvec. The balance of the two types is for all shards:
 * ssw_targets_level().
 *
 * Return: true if anything was scanned.
 */
static bool ssw_shrink_shard(struct ssw_reclaim *r, unsigned int id, unsigned int lists,
			     bool whole, struct scan_control *sc)
{
	struct scaleswap_targets now = { };
	unsigned long before = sc->nr_reclaimed;
	struct lruvec *lruvec;
	struct blk_plug plug;
	enum lru_list lru;

	lruvec = r->shards ? ssw_lru_list(r->mlruvec, r->shards, id) : r->mlruvec;
	if (!lruvec)
		return false;
	for_each_evictable_lru(lru) {
		if (!(lists & BIT(lru)) || !r->left.nr[lru])
			continue;
		now.nr[lru] = min3(r->left.nr[lru], whole ? ULONG_MAX : r->batch.nr[lru],
				   ssw_lru_pages(lruvec, lru, sc->reclaim_idx));
	}
	if (!ssw_targets_left(&now))
		return false;
	blk_start_plug(&plug);
	do {
		for_each_evictable_lru(lru) {
			unsigned long nr = min(now.nr[lru], SWAP_CLUSTER_MAX);

			if (!nr)
				continue;
			now.nr[lru] -= nr;
			sc->nr_short = 0;
			sc->nr_reclaimed += shrink_list(lru, nr, lruvec, sc);
			ssw_shrink_scanned(r, lru, nr - sc->nr_short);
		}
		cond_resched_tasks_rcu_qs();
	} while (ssw_targets_left(&now) && !ssw_is_enough(before, sc));
	blk_finish_plug(&plug);
	return true;
}

/* Check whether this CPU has pages of a list of its own. */
static bool ssw_shrink_has_own(const struct ssw_reclaim *r, enum lru_list lru, int zone_idx)
{
	struct lruvec *mine;

	mine = r->own == UINT_MAX ? NULL : ssw_lru_list(r->mlruvec, r->shards, r->own);
	return mine && ssw_lru_pages(mine, lru, zone_idx);
}

/*
 * Check whether the shard to begin with still has pages of a list as old as were found there.
 * kswapd, and a CPU that has no pages of its own, look at all shards to find the oldest ones. They
 * do so again when they have got to pages that are newer.
 */
static bool ssw_shrink_stays(const struct ssw_reclaim *r, enum lru_list lru, int zone_idx)
{
	unsigned int id = r->first[lru];
	struct lruvec *first;

	if (id == UINT_MAX || ssw_shrink_has_own(r, lru, zone_idx))
		return false;
	first = ssw_lru_list(r->mlruvec, r->shards, id);
	ssw_lru_settle(first, lru);
	return ssw_lru_pages(first, lru, zone_idx) && !ssw_lru_has_next(first, lru) &&
	       (int)(ssw_lru_position(first, lru) - r->from[lru]) < SSW_LRU_AGAIN;
}

/* Choose a shard by the age of its oldest pages, and once more if these have turned out newer. */
static unsigned int ssw_shrink_choose(const struct ssw_reclaim *r, enum lru_list lru, int zone_idx)
{
	unsigned int id = ssw_lru_begin(r->mlruvec, r->shards, lru, r->own, zone_idx);

	if (id != UINT_MAX && ssw_lru_settle(ssw_lru_list(r->mlruvec, r->shards, id), lru))
		id = ssw_lru_begin(r->mlruvec, r->shards, lru, r->own, zone_idx);
	if (id != UINT_MAX && id != r->own && ssw_shrink_has_own(r, lru, zone_idx))
		ssw_stat_add(SSW_LRU_FOREIGN, 1);
	return id;
}

/* Set for each list that has something left to scan the shard to begin with. */
static void ssw_shrink_begin(struct ssw_reclaim *r, struct scan_control *sc)
{
	int zone_idx = sc->reclaim_idx;
	enum lru_list lru;

	for_each_evictable_lru(lru) {
		bool skipped = lru == LRU_ACTIVE_FILE && !(sc->may_deactivate & DEACTIVATE_FILE);
		struct lruvec *first;
		unsigned int id;

		if (!r->left.nr[lru] || !(SSW_LISTS_VISIT & BIT(lru))) {
			r->first[lru] = UINT_MAX;
			continue;
		}
		/* Do not begin at a shard where no page would be scanned. */
		if (skipped && r->first[LRU_INACTIVE_FILE] != UINT_MAX) {
			r->first[lru] = r->first[LRU_INACTIVE_FILE];
			continue;
		}
		if (ssw_shrink_stays(r, lru, zone_idx))
			continue;
		id = ssw_shrink_choose(r, lru, zone_idx);
		r->first[lru] = id;
		if (id == UINT_MAX)
			continue;
		first = ssw_lru_list(r->mlruvec, r->shards, id);
		r->from[lru] = ssw_lru_position(first, lru);
		/*
		 * Chosen for what has been written, which is no older than it was. Who stayed for
		 * the rest would have more written, and come back for that, again and again.
		 */
		if (ssw_lru_has_next(first, lru))
			r->from[lru] -= SSW_LRU_AGAIN;
	}
}

/*
 * Deactivate anonymous pages, at most @nr, where they are oldest. Return how many were not looked
 * at, since no shard has any.
 */
static unsigned long ssw_deactivate(const struct ssw_reclaim *r, unsigned long nr,
				    struct scan_control *sc)
{
	while (nr) {
		unsigned long batch = min(nr, SWAP_CLUSTER_MAX);
		unsigned int id = ssw_shrink_choose(r, LRU_ACTIVE_ANON, sc->reclaim_idx);

		if (id == UINT_MAX)
			break;
		sc->nr_short = 0;
		shrink_active_list(batch, ssw_lru_list(r->mlruvec, r->shards, id), sc,
				   LRU_ACTIVE_ANON);
		nr -= batch - sc->nr_short;
	}
	return nr;
}

/*
 * Deactivate anonymous pages, where visits of shards scan none.
 *
 * Only shards that have inactive pages or page cache are visited. A shard that has only
 * active anonymous pages would never give any, and the memcg would be out of memory with
 * all of them there. shrink_lruvec() scans one batch of active pages with each batch of the
 * longest other list. This function does so where active pages are oldest. It runs after each
 * visit, so that pages join the inactive lists in the order of one list: those that were to be
 * evicted and have been used, and those that are deactivated.
 */
static void ssw_shrink_active(struct ssw_reclaim *r, struct scan_control *sc)
{
	unsigned long left = r->left.nr[LRU_ACTIVE_ANON], due = 0;
	unsigned long done = r->targets.nr[LRU_ACTIVE_ANON] - left;
	enum lru_list lru;

	if (!r->shards || !left)
		return;
	if (!(sc->may_deactivate & DEACTIVATE_ANON)) {
		sc->skipped_deactivate = 1;
		return;
	}
	for_each_evictable_lru(lru) {
		if (lru != LRU_ACTIVE_ANON)
			due = max(due, r->targets.nr[lru] - r->left.nr[lru]);
	}
	due = round_up(due, SWAP_CLUSTER_MAX);
	due = min(due - min(due, done), left);
	r->left.nr[LRU_ACTIVE_ANON] -= due - ssw_deactivate(r, due, sc);
}

/*
 * Visit the shards to begin with, each for the lists that begin there, until enough was reclaimed
 * or there is no more to scan.
 *
 * Each visit scans at most a batch of each list, and then the oldest pages may be elsewhere: a
 * shard may have just a few of these. With @enough, pages are deactivated as well.
 */
static void ssw_shrink_first(struct ssw_reclaim *r, bool enough, unsigned long before,
			     struct scan_control *sc)
{
	bool scanned;

	do {
		unsigned int lists[LRU_UNEVICTABLE] = { };
		enum lru_list lru, l;

		ssw_shrink_begin(r, sc);
		for_each_evictable_lru(lru) {
			if (r->first[lru] == UINT_MAX)
				continue;
			/* The first of those that begin at the same shard stands for all. */
			for (l = 0; r->first[l] != r->first[lru]; l++)
				;
			lists[l] |= BIT(lru);
		}
		scanned = false;
		for_each_evictable_lru(lru) {
			if (lists[lru])
				scanned |= ssw_shrink_shard(r, r->first[lru], lists[lru],
							    false, sc);
		}
		if (enough)
			ssw_shrink_active(r, sc);
	} while (scanned && !ssw_is_enough(before, sc));
}

/*
 * Scan one shard after the other until nothing is left to scan. With @enough, stop when enough
 * was reclaimed.
 *
 * Return: true if it stopped for that reason.
 */
static bool ssw_shrink_round(struct ssw_reclaim *r, bool enough, struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;
	unsigned int i, id, from;

	if (!r->shards) {
		ssw_shrink_shard(r, 0, SSW_LISTS_ALL, true, sc);
		return enough && ssw_is_enough(before, sc);
	}
	ssw_shrink_first(r, enough, before, sc);
	if (enough && ssw_is_enough(before, sc))
		return true;
	/* The CPU's own shard comes next, then those after it. */
	from = r->own == UINT_MAX ? READ_ONCE(r->shards->age[0].cursor) : r->own;
	for (i = 0; i <= ssw_lru_shards && ssw_targets_left(&r->left); i++) {
		id = (from + i) % (ssw_lru_shards + 1);
		ssw_shrink_shard(r, id, SSW_LISTS_VISIT, true, sc);
		if (enough && ssw_is_enough(before, sc))
			return true;
	}
	return false;
}

/* Rebalance active and inactive anonymous pages, as shrink_lruvec() does at its end. */
static void ssw_shrink_age(struct ssw_reclaim *r, struct scan_control *sc)
{
	struct lruvec *l = r->mlruvec;

	if (!can_age_anon_pages(lruvec_pgdat(l), sc))
		return;
	if (!scaleswap_inactive_is_low(l, sc))
		return;
	if (r->shards)
		ssw_deactivate(r, SWAP_CLUSTER_MAX, sc);
	else
		shrink_active_list(SWAP_CLUSTER_MAX, l, sc, LRU_ACTIVE_ANON);
}

static noinline void ssw_shrink_shards(struct lruvec *mlruvec, struct scan_control *sc)
{
	struct ssw_reclaim r = { .mlruvec = mlruvec, .shards = READ_ONCE(mlruvec->shards) };
	enum lru_list lru;
	bool enough;

	get_scan_count(mlruvec, sc, r.targets.nr);
	r.left = r.targets;
	for_each_evictable_lru(lru)
		r.batch.nr[lru] = SWAP_CLUSTER_MAX;
	memset(r.first, 0xff, sizeof(r.first));
	r.own = current_is_kswapd() ? UINT_MAX : ssw_lru_own();
	if (ssw_targets_left(&r.targets)) {
		enough = ssw_shrink_round(&r, true, sc);
		ssw_shrink_active(&r, sc);
		if (enough && ssw_targets_level(&r.targets, &r.left))
			ssw_shrink_round(&r, false, sc);
	}
	ssw_shrink_age(&r, sc);
}

/* Do for a memcg and node, with all its shards, what shrink_lruvec() does for one lruvec. */
static __always_inline void scaleswap_shrink_lruvec(struct lruvec *mlruvec, struct scan_control *sc)
{
	/* With MGLRU, scaleswap_evict_folios() chooses the shard. */
	if (scaleswap_lru_on() && !lru_gen_enabled())
		ssw_shrink_shards(mlruvec, sc);
	else
		shrink_lruvec(mlruvec, sc);
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
	id = ssw_lru_oldest(mlruvec, shards, LRU_ACTIVE_ANON, MAX_NR_ZONES - 1);
	return id == UINT_MAX ? mlruvec : ssw_lru_list(mlruvec, shards, id);
}

#else /* CONFIG_SCALESWAP_LRU */

static inline void scaleswap_shrink_lruvec(struct lruvec *lruvec, struct scan_control *sc)
{
	shrink_lruvec(lruvec, sc);
}

static inline struct lruvec *scaleswap_next_lruvec(struct lruvec *lruvec)
{
	return lruvec;
}

#endif /* CONFIG_SCALESWAP_LRU */

