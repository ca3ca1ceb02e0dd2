// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: generations of LRU shards.
 */

/**
 * DOC: Generations of LRU shards
 *
 * The multi-generational LRU (MGLRU) keeps folios in generations, by when they were last used.
 * With shards, what counts generations stays one for a memcg and node, in the memcg's lruvec:
 * ``max_seq``, ``min_seq``, when generations began, statistics of refaults, walks over page tables
 * with their Bloom filters, and the place among memcgs. A shard has lists of its own, with their
 * lock. So a generation number means the same in each shard, for anonymous memory and page cache.
 *
 * A shard's ``max_seq`` and ``min_seq`` are copies, so that functions which add folios to lists or
 * take them off need not know of shards.
 */

/**
 * DOC: Invariants of generations
 *
 * 1. ``max_seq`` of a shard is that of the memcg's lruvec, or one more while a CPU is in
 *    inc_max_seq(): that begins with the shards. A folio is promoted to the generation that the
 *    memcg's lruvec has as the youngest. So a shard never takes it for the oldest.
 * 2. ``min_seq`` of the memcg's lruvec is that of a shard, or one less while a CPU ends a
 *    generation: that begins with the shards, too. It is never more. So if there is room for
 *    another generation in the memcg's lruvec, there is in all shards.
 * 3. ``nr_pages`` is right as a sum over all shards and the memcg's own lists. A walk over page
 *    tables promotes folios of all shards, and counts them in the lruvec whose lock it holds. So
 *    that of a single shard may be wrong, and negative.
 */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>

#include "internal.h"

/**
 * ssw_lru_gen_init - set the generations of a new shard
 * @shard: the shard
 *
 * Context: under the lock of the memcg's lruvec.
 */
void ssw_lru_gen_init(struct scaleswap_shard *shard)
{
	struct lru_gen_folio *to = &shard->lruvec.lrugen, *from = &shard->mlruvec->lrugen;
	int type;

	to->max_seq = from->max_seq;
	for (type = 0; type < ANON_AND_FILE; type++)
		to->min_seq[type] = from->min_seq[type];
	to->enabled = from->enabled;
}

/**
 * scaleswap_lru_gen_size - sum up a generation over all shards
 * @mlruvec: lruvec of a memcg and node
 * @gen: generation
 * @type: 0 for anonymous memory, 1 for page cache
 *
 * Context: any.
 * Return: pages; off by less than %SCALESWAP_LRU_BATCH a shard if they are many.
 */
unsigned long scaleswap_lru_gen_size(struct lruvec *mlruvec, int gen, int type)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	unsigned int id;
	long size = 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		size += READ_ONCE(mlruvec->lrugen.nr_pages[gen][type][zone]);
	if (!shards)
		return max(size, 0L);
	size += atomic_long_read(&shards->gen[gen][type]);
	/* As in __scaleswap_lru_total(). */
	if (size < 2L * SCALESWAP_LRU_BATCH * ssw_lru_shards) {
		for (id = 1; id <= ssw_lru_shards; id++) {
			struct scaleswap_shard *shard = READ_ONCE(shards->shard[id]);

			if (shard)
				size += READ_ONCE(shard->gen_unposted[gen][type]);
		}
	}
	return max(size, 0L);
}

/**
 * scaleswap_lru_gen_fold - add up the sizes of generations in the memcg's lruvec
 * @mlruvec: lruvec of a memcg and node that has no folios any more
 *
 * So they are 0 if nothing was lost: see the third invariant.
 *
 * Context: any; nobody else uses @mlruvec.
 */
void scaleswap_lru_gen_fold(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	int gen, type, zone;
	unsigned int id;

	if (!scaleswap_lru_on() || !shards)
		return;
	for (id = 1; id <= ssw_lru_shards; id++) {
		struct scaleswap_shard *shard = shards->shard[id];

		for (gen = 0; shard && gen < MAX_NR_GENS; gen++)
			for (type = 0; type < ANON_AND_FILE; type++)
				for (zone = 0; zone < MAX_NR_ZONES; zone++)
					mlruvec->lrugen.nr_pages[gen][type][zone] +=
						shard->lruvec.lrugen.nr_pages[gen][type][zone];
	}
}

/**
 * ssw_lru_gen_count - count the folios of a lruvec's generations
 * @lruvec: lruvec of a shard or a memcg's
 * @size: by list; increased
 *
 * Context: any; a hint.
 * Return: of a shard, how many of these pages the totals of the memcg and node contain; of the
 * memcg's lruvec, the sum of these totals.
 */
long ssw_lru_gen_count(struct lruvec *lruvec, long size[NR_LRU_LISTS])
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	int gen, type, zone;
	long posted = 0;

	for (gen = 0; gen < MAX_NR_GENS; gen++) {
		for (type = 0; type < ANON_AND_FILE; type++) {
			int lru = type * LRU_INACTIVE_FILE + lru_gen_is_active(lruvec, gen);
			long pages = 0;

			for (zone = 0; zone < MAX_NR_ZONES; zone++)
				pages += READ_ONCE(lruvec->lrugen.nr_pages[gen][type][zone]);
			size[lru] += pages;
			if (lruvec->shard)
				posted += pages - READ_ONCE(lruvec->shard->gen_unposted[gen][type]);
			else if (shards)
				posted += atomic_long_read(&shards->gen[gen][type]);
		}
	}
	return posted;
}
