// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: ageing and eviction of the generations of LRU shards.
 *
 * mm/vmscan.c includes this file, which uses its static functions and struct scan_control. See
 * lrugen.c for what generations are with shards.
 */

/**
 * DOC: Eviction from generations of LRU shards
 *
 * The memcg and node as a whole decides how much to scan, when to age, and whether to evict
 * anonymous memory or page cache, with the same functions as without shards. Then
 * scaleswap_evict_folios() chooses the shard:
 *
 * - A CPU's own, if that has folios of the oldest generation. So CPUs that are equally busy do not
 *   contend. But a generation is long. If the end of another shard is much older, that one goes
 *   first: ssw_gen_begin().
 * - Otherwise one that has such folios, by turns.
 * - Of a small shard it takes a few, ssw_gen_share(), and then chooses again, until it has taken a
 *   batch. Or a batch would be all that the shard has in that generation, old and new.
 * - A shard that is locked is left for another one, if there is one whose end is not much newer.
 * - When no shard has any, the oldest generation ends, in all shards at the same time.
 */

static int scan_folios(struct lruvec *lruvec, struct scan_control *sc, int type, int tier,
		       struct list_head *list);
static int evict_folios(struct lruvec *lruvec, struct scan_control *sc, int swappiness,
			int type, int tier);

#ifdef CONFIG_SCALESWAP_LRU

#include <kunit/visibility.h>

#include "internal.h"

static bool try_to_inc_min_seq(struct lruvec *lruvec, bool can_swap);
static bool inc_max_seq(struct lruvec *lruvec, unsigned long seq, bool can_swap, bool force_scan);
static void lru_gen_change_lruvec(struct lruvec *lruvec, bool enabled);
static int get_tier_idx(struct lruvec *lruvec, int type);
static int get_type_to_isolate(struct lruvec *lruvec, struct scan_control *sc, int swappiness,
			       int *tier);

/* Lists of a shard by its number; 0 is the memcg's own. NULL if there is no such shard. */
static struct lruvec *ssw_gen_lruvec(struct lruvec *mlruvec, unsigned int id)
{
	struct scaleswap_shard *shard;

	if (!id)
		return mlruvec;
	shard = READ_ONCE(mlruvec->shards->shard[id]);
	return shard ? &shard->lruvec : NULL;
}

/* --- generations of the memcg and node ---------------------------------------------- */

/* Passes over all shards that leave out those whose lock is held, before one that waits for it */
#define SSW_GEN_PASSES	2

/* Check whether to go on with other shards first: who has the lock is done with it by then. */
static bool ssw_gen_is_busy(struct lruvec *l, int pass)
{
	return pass < SSW_GEN_PASSES && spin_is_locked(&l->lru_lock);
}

/* Check whether a shard has not got beyond a generation, under the lock of the memcg's lruvec. */
static bool scaleswap_lru_gen_in_use(struct lruvec *lruvec, int type, unsigned long seq)
{
	struct scaleswap_shard *shard;

	if (!scaleswap_lru_on() || !lruvec->shards)
		return false;
	llist_for_each_entry(shard, READ_ONCE(lruvec->shards->list.first), node)
		if (READ_ONCE(shard->lruvec.lrugen.min_seq[type]) <= seq)
			return true;
	return false;
}

/*
 * Check whether a memcg is in the young generation of memcgs already. Then it could only go to the
 * end of a random bin there, under a lock that all memcgs of the node share. The reads need no
 * lock: a change that they miss is as if it came after them.
 */
static bool scaleswap_lru_gen_is_young(struct lruvec *lruvec)
{
	unsigned long old;

	if (!scaleswap_lru_on())
		return false;
	old = READ_ONCE(lruvec_pgdat(lruvec)->memcg_lru.seq);
	return READ_ONCE(lruvec->lrugen.gen) == get_memcg_gen(old + 1) &&
	       !READ_ONCE(lruvec->lrugen.seg);
}

/*
 * Begin generation @seq + 1 in all shards, before it begins in the memcg's lruvec. Several CPUs may
 * do so at the same time, if one of them is interrupted: try_to_inc_max_seq().
 */
static void scaleswap_inc_max_seq(struct lruvec *lruvec, unsigned long seq, bool can_swap,
				  bool force_scan)
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	struct scaleswap_shard *shard;
	bool busy;
	int pass;

	if (!scaleswap_lru_on() || !shards)
		return;
	for (pass = 0, busy = true; busy; pass++) {
		busy = false;
		llist_for_each_entry(shard, READ_ONCE(shards->list.first), node) {
			if (READ_ONCE(shard->lruvec.lrugen.max_seq) > seq)
				continue;
			if (ssw_gen_is_busy(&shard->lruvec, pass))
				busy = true;
			else
				inc_max_seq(&shard->lruvec, seq, can_swap, force_scan);
		}
		if (busy)
			cpu_relax();
	}
}

/* Check for a shard that came while scaleswap_inc_max_seq() ran, under the lock. */
static bool scaleswap_max_seq_lags(struct lruvec *lruvec, unsigned long seq)
{
	struct scaleswap_shard *shard;

	if (!scaleswap_lru_on() || !lruvec->shards)
		return false;
	llist_for_each_entry(shard, READ_ONCE(lruvec->shards->list.first), node)
		if (READ_ONCE(shard->lruvec.lrugen.max_seq) <= seq)
			return true;
	return false;
}

/* Turn MGLRU on or off in the shards, after the memcg's lruvec. */
static void scaleswap_lru_gen_change(struct lruvec *lruvec, bool enabled)
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	struct scaleswap_shard *shard;

	if (!scaleswap_lru_on() || !shards)
		return;
	llist_for_each_entry(shard, READ_ONCE(shards->list.first), node)
		lru_gen_change_lruvec(&shard->lruvec, enabled);
}

/* --- eviction ----------------------------------------------------------------------- */

/* Check whether a shard has folios in the oldest generation of the memcg and node, too. */
static bool ssw_gen_is_oldest(struct lruvec *mlruvec, struct lruvec *l, int type)
{
	return READ_ONCE(l->lrugen.min_seq[type]) == READ_ONCE(mlruvec->lrugen.min_seq[type]) &&
	       !ssw_lru_gen_is_empty(l, type);
}

/*
 * End the oldest generation of the memcg and node if it has no folios. So it ends in all shards at
 * the same time: what comes back as the oldest, or next to it, is of the same age in each.
 */
static bool ssw_gen_advance(struct lruvec *mlruvec, bool can_swap)
{
	bool ends[ANON_AND_FILE] = { can_swap, true };
	struct scaleswap_shard *shard;
	bool success, busy;
	int type, pass;

	for (type = 0; type < ANON_AND_FILE; type++) {
		if (READ_ONCE(mlruvec->lrugen.max_seq) <
		    READ_ONCE(mlruvec->lrugen.min_seq[type]) + MIN_NR_GENS)
			ends[type] = false;
		if (!ends[type])
			continue;
		ends[type] = ssw_lru_gen_is_empty(mlruvec, type);
		llist_for_each_entry(shard, READ_ONCE(mlruvec->shards->list.first), node) {
			if (!ends[type])
				break;
			ends[type] = !ssw_gen_is_oldest(mlruvec, &shard->lruvec, type);
		}
	}
	/* Neither gets ahead of the other, as in try_to_inc_min_seq(), unless it did before. */
	if (can_swap) {
		unsigned long anon = READ_ONCE(mlruvec->lrugen.min_seq[LRU_GEN_ANON]);
		unsigned long file = READ_ONCE(mlruvec->lrugen.min_seq[LRU_GEN_FILE]);

		if (anon + ends[LRU_GEN_ANON] > file + ends[LRU_GEN_FILE])
			ends[LRU_GEN_ANON] = false;
		if (file + ends[LRU_GEN_FILE] > anon + ends[LRU_GEN_ANON])
			ends[LRU_GEN_FILE] = false;
	}
	if (!ends[LRU_GEN_ANON] && !ends[LRU_GEN_FILE])
		return false;
	for (pass = 0, busy = true; busy; pass++) {
		busy = false;
		llist_for_each_entry(shard, READ_ONCE(mlruvec->shards->list.first), node) {
			if (ssw_lru_gen_has_ended(mlruvec, &shard->lruvec, ends))
				continue;
			if (ssw_gen_is_busy(&shard->lruvec, pass))
				busy = true;
			else if (!ssw_lru_gen_end(mlruvec, &shard->lruvec, ends))
				return false;
		}
		if (busy)
			cpu_relax();
	}
	spin_lock_irq(&mlruvec->lru_lock);
	success = try_to_inc_min_seq(mlruvec, can_swap);
	spin_unlock_irq(&mlruvec->lru_lock);
	return success;
}

/* Where reclaimers whose own shard this is remember the ones that they looked at. */
static struct scaleswap_age *ssw_gen_looked(struct lruvec *lruvec, int type)
{
	enum lru_list lru = type * LRU_INACTIVE_FILE;

	return lruvec->shard ? &lruvec->shard->size[lru].age : &lruvec->shards->age[lru];
}

/*
 * Ages are estimates. So if one shard's folios are not older than another's by more than this part
 * of these, an eighth, CPUs stay with their own shards, and those that have none take turns.
 */
#define SSW_GEN_NEAR	8

/* Folios that are older than others by more than this part of these, a half, are worth a wait. */
#define SSW_GEN_FAR	2

/* Shards that a CPU looks at until one has folios of the oldest generation */
#define SSW_GEN_LOOKS	4U

/* How long ago the folio came that is the next to be evicted from a shard. */
static unsigned int ssw_gen_tail_age(struct lruvec *lruvec, int type)
{
	int gen = lru_gen_from_seq(READ_ONCE(lruvec->lrugen.min_seq[type]));

	/* The memcg's own lists are no CPU's. */
	if (!lruvec->shard)
		return INT_MAX;
	return min_t(u32, INT_MAX, ssw_lru_gen_age(lruvec->shard, gen, type));
}

/* Check whether a shard has folios of the oldest generation, and nobody is busy with it. */
static bool ssw_gen_is_ready(struct lruvec *mlruvec, struct lruvec *l, int type)
{
	return ssw_gen_is_oldest(mlruvec, l, type) && !spin_is_locked(&l->lru_lock);
}

/*
 * Advance *@cursor, over @tries shards at most, to the next one other than @mine that has folios of
 * the oldest generation, and is not locked unless @wait is set. Return NULL if there is none.
 */
static struct lruvec *ssw_gen_turn(struct lruvec *mlruvec, struct lruvec *mine,
				   u16 *cursor, unsigned int tries, int type, bool wait)
{
	struct lruvec *l = ssw_gen_lruvec(mlruvec, READ_ONCE(*cursor));
	bool found;

	do {
		l = ssw_lru_after(mlruvec, mlruvec->shards, l);
		found = l != mine && (wait ? ssw_gen_is_oldest(mlruvec, l, type) :
				      ssw_gen_is_ready(mlruvec, l, type));
	} while (!found && --tries);
	/* Lost updates do not matter: the cursor only has to go round. */
	WRITE_ONCE(*cursor, ssw_lru_number(l));
	return found ? l : NULL;
}

/* Check whether the next folio of one shard is older than that of another, by a part of that. */
static bool ssw_gen_is_older(struct lruvec *l, struct lruvec *than, int type, unsigned int part)
{
	unsigned int age = ssw_gen_tail_age(than, type);

	return ssw_gen_tail_age(l, type) > age + age / part;
}

/*
 * Look at all shards, and return the one whose next folio is the oldest; @turn if none is older
 * than that one, so that those that are equal take turns.
 */
static struct lruvec *ssw_gen_oldest(struct lruvec *mlruvec, struct lruvec *turn, int type)
{
	struct lruvec *oldest = ssw_gen_is_oldest(mlruvec, mlruvec, type) ? mlruvec : turn;
	struct scaleswap_shard *shard;

	llist_for_each_entry(shard, READ_ONCE(mlruvec->shards->list.first), node) {
		if (ssw_gen_is_oldest(mlruvec, &shard->lruvec, type) &&
		    ssw_gen_is_older(&shard->lruvec, oldest, type, SSW_GEN_NEAR))
			oldest = &shard->lruvec;
	}
	return oldest;
}

/*
 * Choose a shard instead of @first, which is locked. Who holds such a lock evicts from there,
 * mostly: so it is the turn of another shard. But folios of one that are much younger may be in
 * use, while @first has more old ones: wait for these. The memcg's own lists have no age.
 */
static struct lruvec *ssw_gen_instead(struct lruvec *mlruvec, struct lruvec *mine,
				      struct lruvec *first, u16 *cursor, int type)
{
	unsigned int nr = READ_ONCE(mlruvec->shards->nr);
	struct lruvec *l = ssw_gen_turn(mlruvec, first, cursor, nr + 1, type, false);

	if (mine && mine != first && !spin_is_locked(&mine->lru_lock) &&
	    (!l || !ssw_gen_is_older(l, mine, type, SSW_GEN_NEAR)))
		l = mine;
	if (!l || (first->shard && ssw_gen_is_older(first, l, type, SSW_GEN_FAR)))
		return first;
	return l;
}

/**
 * ssw_gen_begin - choose the shard to evict folios of a type from
 * @mlruvec: lruvec of a memcg and node
 * @mine: this CPU's shard, or NULL
 * @looked: the other shards that were looked at before; see ssw_gen_looked()
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Look at one other shard, round-robin, and at the oldest one of those that were looked at before.
 * If there is none to compare with, look at all. If the one whose next folio is the oldest is
 * locked, there may be another one to take folios from: ssw_gen_instead().
 *
 * Context: any in which the memcg is not freed; a hint without the locks of the shards.
 * Return: lists of a shard, or @mlruvec, locked or not; NULL if none has folios of the oldest
 *         generation.
 */
VISIBLE_IF_KUNIT struct lruvec *ssw_gen_begin(struct lruvec *mlruvec, struct lruvec *mine,
					      struct scaleswap_age *looked, int type)
{
	struct lruvec *turn, *other = ssw_gen_lruvec(mlruvec, READ_ONCE(looked->other));
	unsigned int nr = READ_ONCE(mlruvec->shards->nr);

	if (other && (other == mine || !ssw_gen_is_oldest(mlruvec, other, type)))
		other = NULL;
	if (mine && !ssw_gen_is_oldest(mlruvec, mine, type))
		mine = NULL;
	turn = ssw_gen_turn(mlruvec, mine, &looked->cursor,
			    mine || other ? min(nr + 1, SSW_GEN_LOOKS) : nr + 1, type, true);
	if (turn && !mine && !other)
		turn = ssw_gen_oldest(mlruvec, turn, type);
	if (turn && turn != other &&
	    (!other || !ssw_gen_is_older(other, turn, type, SSW_GEN_NEAR))) {
		other = turn;
		WRITE_ONCE(looked->other, ssw_lru_number(turn));
	}
	if (mine && (!other || !ssw_gen_is_older(other, mine, type, SSW_GEN_NEAR)))
		other = mine;
	if (!other || !spin_is_locked(&other->lru_lock))
		return other;
	return ssw_gen_instead(mlruvec, mine, other, &looked->cursor, type);
}

/* How many folios to isolate from a lruvec at a time. One shard alone is as a single list. */
static int scaleswap_lru_gen_share(struct lruvec *lruvec, int type)
{
	struct scaleswap_shard *shard = lruvec->shard;
	unsigned int gen, pages = 0;

	if (!scaleswap_lru_on() || !shard || READ_ONCE(shard->mlruvec->shards->nr) < 2)
		return MIN_LRU_BATCH;
	for (gen = 0; gen < MAX_NR_GENS; gen++)
		pages += ssw_lru_gen_pages(shard, gen, type);
	return ssw_gen_share(pages);
}

/*
 * Evict a batch of folios of a type, from as many shards as have them. Return how many were
 * scanned; 0 if no shard has any that can be evicted.
 */
static int ssw_gen_evict(struct lruvec *mlruvec, struct scan_control *sc, int swappiness, int type,
			 int tier)
{
	int vain = 0, nr = READ_ONCE(mlruvec->shards->nr);
	unsigned int own = current_is_kswapd() ? UINT_MAX : ssw_lru_own();
	struct lruvec *l, *mine = own == UINT_MAX ? NULL : ssw_gen_lruvec(mlruvec, own);
	struct scaleswap_age *looked = ssw_gen_looked(mine ?: mlruvec, type);
	int share, scanned, sum = 0, left = MIN_LRU_BATCH;

	if (get_nr_gens(mlruvec, type) == MIN_NR_GENS)
		return 0;
	while (left > 0 && vain <= nr) {
		l = vain ? NULL : ssw_gen_begin(mlruvec, mine, looked, type);
		if (!l)
			l = ssw_gen_turn(mlruvec, NULL, &looked->cursor, nr + 1, type, true);
		if (!l)
			break;
		if (own != UINT_MAX && l != mine)
			ssw_stat_add(SSW_LRU_FOREIGN, 1);
		share = scaleswap_lru_gen_share(l, type);
		scanned = evict_folios(l, sc, swappiness, type, tier);
		if (!scanned) {
			/* Nothing of it could be isolated. Do not begin there next time. */
			WRITE_ONCE(looked->other, 0);
			vain++;
			continue;
		}
		sum += scanned;
		if (ssw_lru_gen_is_empty(l, type) && ssw_gen_advance(mlruvec, swappiness))
			return sum;
		left -= min(scanned, share);
		vain = 0;
	}
	return sum ?: ssw_gen_advance(mlruvec, swappiness);
}

/*
 * Count what evict_folios() has freed, if it has no folios to put back in @folios: it need not lock
 * the lruvec for that. Of a small shard it takes a few at a time, and evictors hold these instead.
 * Return false if it has to lock.
 */
static bool scaleswap_evict_none_back(struct lruvec *lruvec, struct scan_control *sc,
				      const struct list_head *folios, int type, int reclaimed,
				      const struct reclaim_stat *stat)
{
	const struct lru_gen_mm_walk *walk = current->reclaim_state->mm_walk;
	enum vm_event_item item = PGSTEAL_KSWAPD + reclaimer_offset();

	/* What a walk has counted goes to a lruvec's generations under its lock. */
	if (!scaleswap_lru_is_shard(lruvec) || !list_empty(folios) || (walk && walk->batched))
		return false;
	mod_lruvec_state(lruvec, PGDEMOTE_KSWAPD + reclaimer_offset(), stat->nr_demoted);
	if (!cgroup_reclaim(sc))
		count_vm_events(item, reclaimed);
	count_memcg_events(lruvec_memcg(lruvec), item, reclaimed);
	count_vm_events(PGSTEAL_ANON + type, reclaimed);
	return true;
}

/* Isolate folios of a type from one shard, and count them in statistics at once. */
static int scaleswap_scan_folios(struct lruvec *lruvec, struct scan_control *sc, int type, int tier,
				 struct list_head *list)
{
	int scanned;

	scaleswap_lru_stats_begin(lruvec);
	scanned = scan_folios(lruvec, sc, type, tier, list);
	scaleswap_lru_stats_end(lruvec);
	return scanned;
}

/* Do for a memcg and node, with all its shards, what evict_folios() does for one lruvec. */
static int scaleswap_evict_folios(struct lruvec *lruvec, struct scan_control *sc, int swappiness)
{
	int i, type, scanned = 0, tier = -1;

	if (!scaleswap_lru_on() || !READ_ONCE(lruvec->shards))
		return evict_folios(lruvec, sc, swappiness, -1, -1);
	type = get_type_to_isolate(lruvec, sc, swappiness, &tier);
	for (i = !swappiness; i < ANON_AND_FILE; i++) {
		if (tier < 0)
			tier = get_tier_idx(lruvec, type);
		scanned = ssw_gen_evict(lruvec, sc, swappiness, type, tier);
		if (scanned)
			break;
		type = !type;
		tier = -1;
	}
	return get_nr_gens(lruvec, !swappiness) == MIN_NR_GENS ? 0 : scanned;
}

#else /* CONFIG_SCALESWAP_LRU */

static inline bool scaleswap_lru_gen_in_use(struct lruvec *lruvec, int type, unsigned long seq)
{
	return false;
}

static inline bool scaleswap_lru_gen_is_young(struct lruvec *lruvec)
{
	return false;
}

static inline int scaleswap_lru_gen_share(struct lruvec *lruvec, int type)
{
	return MIN_LRU_BATCH;
}

static inline void scaleswap_inc_max_seq(struct lruvec *lruvec, unsigned long seq, bool can_swap,
					 bool force_scan)
{
}

static inline bool scaleswap_max_seq_lags(struct lruvec *lruvec, unsigned long seq)
{
	return false;
}

static inline void scaleswap_lru_gen_change(struct lruvec *lruvec, bool enabled)
{
}

static inline bool scaleswap_evict_none_back(struct lruvec *lruvec, struct scan_control *sc,
					     const struct list_head *folios, int type,
					     int reclaimed, const struct reclaim_stat *stat)
{
	return false;
}

static int scaleswap_scan_folios(struct lruvec *lruvec, struct scan_control *sc, int type, int tier,
				 struct list_head *list)
{
	return scan_folios(lruvec, sc, type, tier, list);
}

static int scaleswap_evict_folios(struct lruvec *lruvec, struct scan_control *sc, int swappiness)
{
	return evict_folios(lruvec, sc, swappiness, -1, -1);
}

#endif /* CONFIG_SCALESWAP_LRU */
