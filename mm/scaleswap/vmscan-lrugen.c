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
 * - a CPU's own, if it has folios in the oldest generation. So CPUs that are equally busy do
 *   not contend. But shards from which nobody takes any as its own go first.
 * - Otherwise one that has such folios, by turns.
 * - When no shard has any, the oldest generation ends, in all shards at the same time.
 */

static int evict_folios(struct lruvec *lruvec, struct scan_control *sc, int swappiness,
			int type, int tier);

#ifdef CONFIG_SCALESWAP_LRU

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

/* Check whether a shard has not got beyond a generation, under the lock of the memcg's lruvec. */
static bool scaleswap_lru_gen_in_use(struct lruvec *lruvec, int type, unsigned long seq)
{
	struct lruvec *l;
	unsigned int id;

	if (!scaleswap_lru_on() || !lruvec->shards)
		return false;
	for (id = 1; id <= ssw_lru_shards; id++) {
		l = ssw_gen_lruvec(lruvec, id);
		if (l && READ_ONCE(l->lrugen.min_seq[type]) <= seq)
			return true;
	}
	return false;
}

/* Begin generation @seq + 1 in all shards, before it begins in the memcg's lruvec. */
static void scaleswap_inc_max_seq(struct lruvec *lruvec, unsigned long seq, bool can_swap,
				  bool force_scan)
{
	struct lruvec *l;
	unsigned int id;

	if (!scaleswap_lru_on() || !READ_ONCE(lruvec->shards))
		return;
	for (id = 1; id <= ssw_lru_shards; id++) {
		l = ssw_gen_lruvec(lruvec, id);
		if (l)
			inc_max_seq(l, seq, can_swap, force_scan);
	}
}

/* Check for a shard that came while scaleswap_inc_max_seq() ran, under the lock. */
static bool scaleswap_max_seq_lags(struct lruvec *lruvec, unsigned long seq)
{
	struct lruvec *l;
	unsigned int id;

	if (!scaleswap_lru_on() || !lruvec->shards)
		return false;
	for (id = 1; id <= ssw_lru_shards; id++) {
		l = ssw_gen_lruvec(lruvec, id);
		if (l && READ_ONCE(l->lrugen.max_seq) <= seq)
			return true;
	}
	return false;
}

/* Turn MGLRU on or off in the shards, after the memcg's lruvec. */
static void scaleswap_lru_gen_change(struct lruvec *lruvec, bool enabled)
{
	struct lruvec *l;
	unsigned int id;

	if (!scaleswap_lru_on() || !READ_ONCE(lruvec->shards))
		return;
	for (id = 1; id <= ssw_lru_shards; id++) {
		l = ssw_gen_lruvec(lruvec, id);
		if (l)
			lru_gen_change_lruvec(l, enabled);
	}
}

/* --- eviction ----------------------------------------------------------------------- */

/* Check whether a lruvec has folios in its oldest generation; without the lock a hint. */
static bool ssw_gen_is_empty(struct lruvec *lruvec, int type)
{
	int zone, gen = lru_gen_from_seq(READ_ONCE(lruvec->lrugen.min_seq[type]));

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		if (!list_empty(&lruvec->lrugen.folios[gen][type][zone]))
			return false;
	return true;
}

/* Check whether a shard has folios in the oldest generation of the memcg and node, too. */
static bool ssw_gen_is_oldest(struct lruvec *mlruvec, struct lruvec *l, int type)
{
	return READ_ONCE(l->lrugen.min_seq[type]) == READ_ONCE(mlruvec->lrugen.min_seq[type]) &&
	       !ssw_gen_is_empty(l, type);
}

/* End the oldest generation of some types in a shard. Return false if it has folios of it. */
static bool ssw_gen_end(struct lruvec *mlruvec, struct lruvec *l, const bool *ends)
{
	bool success = true;
	int type;

	spin_lock_irq(&l->lru_lock);
	for (type = 0; type < ANON_AND_FILE; type++) {
		unsigned long min_seq = l->lrugen.min_seq[type];

		/* Another CPU may have been here, or a new generation needed room. */
		if (!ends[type] || min_seq != READ_ONCE(mlruvec->lrugen.min_seq[type]) ||
		    l->lrugen.max_seq < min_seq + MIN_NR_GENS)
			continue;
		if (ssw_gen_is_empty(l, type))
			WRITE_ONCE(l->lrugen.min_seq[type], min_seq + 1);
		else
			success = false;
	}
	spin_unlock_irq(&l->lru_lock);
	return success;
}

/*
 * End the oldest generation of the memcg and node if it has no folios. So it ends in all shards at
 * the same time: what comes back as the oldest, or next to it, is of the same age in each.
 */
static bool ssw_gen_advance(struct lruvec *mlruvec, bool can_swap)
{
	bool ends[ANON_AND_FILE] = { can_swap, true };
	struct lruvec *l;
	unsigned int id;
	bool success;
	int type;

	for (type = 0; type < ANON_AND_FILE; type++) {
		if (READ_ONCE(mlruvec->lrugen.max_seq) <
		    READ_ONCE(mlruvec->lrugen.min_seq[type]) + MIN_NR_GENS)
			ends[type] = false;
		for (id = 0; ends[type] && id <= ssw_lru_shards; id++) {
			l = ssw_gen_lruvec(mlruvec, id);
			if (l && ssw_gen_is_oldest(mlruvec, l, type))
				ends[type] = false;
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
	for (id = 1; id <= ssw_lru_shards; id++) {
		l = ssw_gen_lruvec(mlruvec, id);
		if (l && !ssw_gen_end(mlruvec, l, ends))
			return false;
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

/* Check whether nobody takes folios of the oldest generation from its own shard @id. */
static bool ssw_gen_is_idle(struct lruvec *mlruvec, unsigned int id, int type)
{
	struct lruvec *l = ssw_gen_lruvec(mlruvec, id);
	unsigned long used;

	if (!l || !ssw_gen_is_oldest(mlruvec, l, type))
		return false;
	if (!id)
		return true;
	/* 0 if none has since the shard was made */
	used = READ_ONCE(l->shard->gen_used);
	return !used || used + MAX_NR_GENS <= READ_ONCE(l->lrugen.max_seq);
}

/*
 * Look at one other shard, round-robin, and at the last one that was found idle. Return its number,
 * or @own if neither is.
 *
 * Generations are few, so folios of an idle CPU are in the same one as many that a busy CPU uses.
 * With one list they go first if they are older, and with shards a busy CPU would take its own.
 */
static unsigned int ssw_gen_idle(struct lruvec *mlruvec, unsigned int own, int type)
{
	struct scaleswap_age *looked = ssw_gen_looked(ssw_gen_lruvec(mlruvec, own), type);
	unsigned int id = READ_ONCE(looked->cursor);

	id = id < ssw_lru_shards ? id + 1 : 0;
	/* Lost updates do not matter: the cursor only has to go round. */
	WRITE_ONCE(looked->cursor, id);
	if (id != own && ssw_gen_is_idle(mlruvec, id, type)) {
		WRITE_ONCE(looked->other, id);
		return id;
	}
	id = READ_ONCE(looked->other);
	return id != own && ssw_gen_is_idle(mlruvec, id, type) ? id : own;
}

/*
 * Choose the shard to evict folios of a type from; @own is this CPU's, or UINT_MAX. Return UINT_MAX
 * if the oldest generation has none.
 */
static unsigned int ssw_gen_begin(struct lruvec *mlruvec, unsigned int own, int type)
{
	struct lruvec *l, *mine = own == UINT_MAX ? NULL : ssw_gen_lruvec(mlruvec, own);
	unsigned int *cursor, i, id;

	if (mine && ssw_gen_is_oldest(mlruvec, mine, type))
		return ssw_gen_idle(mlruvec, own, type);
	cursor = &ssw_gen_looked(mine ?: mlruvec, type)->cursor;
	id = READ_ONCE(*cursor);
	for (i = 0; i <= ssw_lru_shards; i++) {
		id = id < ssw_lru_shards ? id + 1 : 0;
		l = ssw_gen_lruvec(mlruvec, id);
		if (l && ssw_gen_is_oldest(mlruvec, l, type)) {
			WRITE_ONCE(*cursor, id);
			return id;
		}
	}
	return UINT_MAX;
}

/* Evict folios of a type from one shard. Return 0 if no shard has any that can be. */
static int ssw_gen_evict(struct lruvec *mlruvec, struct scan_control *sc, int swappiness, int type,
			 int tier)
{
	unsigned int id, visits, own = current_is_kswapd() ? UINT_MAX : ssw_lru_own();
	unsigned long max_seq = READ_ONCE(mlruvec->lrugen.max_seq);
	struct lruvec *l;
	int scanned;

	if (get_nr_gens(mlruvec, type) == MIN_NR_GENS)
		return 0;
	for (visits = 0; visits <= ssw_lru_shards; visits++) {
		id = ssw_gen_begin(mlruvec, own, type);
		if (id == UINT_MAX)
			break;
		if (own != UINT_MAX && id != own)
			ssw_stat_add(SSW_LRU_FOREIGN, 1);
		l = ssw_gen_lruvec(mlruvec, id);
		if (id == own && l->shard && READ_ONCE(l->shard->gen_used) != max_seq)
			WRITE_ONCE(l->shard->gen_used, max_seq);
		scanned = evict_folios(l, sc, swappiness, type, tier);
		if (scanned) {
			if (ssw_gen_is_empty(l, type))
				ssw_gen_advance(mlruvec, swappiness);
			return scanned;
		}
		/* Nothing of it could be isolated. */
		if (id == own)
			own = UINT_MAX;
	}
	return ssw_gen_advance(mlruvec, swappiness);
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

static int scaleswap_evict_folios(struct lruvec *lruvec, struct scan_control *sc, int swappiness)
{
	return evict_folios(lruvec, sc, swappiness, -1, -1);
}

#endif /* CONFIG_SCALESWAP_LRU */
