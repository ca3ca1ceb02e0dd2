// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: core-affine LRU shards (ScaleSwap, FAST '26, "core-centric LRU").
 */

/**
 * DOC: LRU shards
 *
 * A memcg and node has the base kernel's lruvec, called the *memcg's lruvec*. Beside it, each
 * CPU that has put folios on a list has a *shard*, or shares one with other CPUs. The flags
 * of a folio hold the number of its shard, from when the folio first joins a list until it
 * is freed. The number goes with the folio through splits and migration, and through eviction
 * in the shadow entry. So a page that is swapped in returns to the lists of the core that had
 * it first, whichever CPU swaps it in. If other CPUs swap it in twice in a row, it moves to the
 * shard of the second one: its task has moved, or other tasks use it now.
 *
 * With N shards, numbers from 1 to N are those of shards. A page of shard i that came back on
 * another CPU the last time has the number N + i: a *stray*. Both numbers lead to the same shard.
 */

/**
 * DOC: Invariants of LRU shards
 *
 * 1. While a folio is on a list, or in a batch on its way to one, its number does not change.
 *    If the number is not 0, the folio's memcg and node have that shard. So folio_lruvec()
 *    gives one answer, and its lock is the lock of the list that the folio is on.
 *    __scaleswap_lru_assign() ensures this, in folio_add_lru() and mlock_new_folio(). Every
 *    folio that is new or was taken off a list passes one of them. The exception is a folio
 *    that is put back under the lock under which it was taken off.
 * 2. A visible shard stays until its memcg is freed. No folio of it and no reclaimer outlives
 *    that. So ``shards`` and ``shard[]`` are read without a lock or RCU.
 * 3. Numbers are given out only after all CPUs run with the static key on: ssw_lru_cpu is
 *    set after static_branch_enable(), and ssw_lru_shards before it. A CPU that saw a number but
 *    not the key would take the lock of the memcg's lruvec for a folio on a shard's list.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_lru_key);

/* The highest number that fits into the field in the folio's flags; 0 is no shard. */
#define SSW_LRU_MAX		((1U << SCALESWAP_LRU_WIDTH) - 1)

unsigned int ssw_lru_shards __read_mostly;
static unsigned int ssw_lru_wanted __initdata;
/* Shard of each CPU; 0 for none yet */
static DEFINE_PER_CPU_READ_MOSTLY(unsigned int, ssw_lru_cpu);
/* CPUs that were present at boot */
static unsigned int ssw_lru_cpus __read_mostly;
/* Folios that an evictor on this CPU has swapped out, and log2 of how many make a turn */
static DEFINE_PER_CPU(unsigned int, ssw_lru_turn);
#define SSW_LRU_TURN_SHIFT	6
static struct kmem_cache *ssw_shard_cache __ro_after_init;
static atomic_long_t ssw_lru_nr;

static int __init ssw_lru_setup(char *arg)
{
	if (!arg || kstrtouint(arg, 0, &ssw_lru_wanted) || !ssw_lru_wanted ||
	    ssw_lru_wanted > SSW_LRU_MAX) {
		pr_err("bad value in scaleswap_lru_shards=%s; use 1 to %u\n",
		       arg ? arg : "", SSW_LRU_MAX);
		ssw_lru_wanted = 0;
	}
	return 0;
}
early_param("scaleswap_lru_shards", ssw_lru_setup);

/* Return the number of the shard that new folios of a CPU go to, or 0. */
static unsigned int ssw_lru_home(unsigned int cpu)
{
	return READ_ONCE(per_cpu(ssw_lru_cpu, cpu));
}

/**
 * ssw_lru_place - choose the shard of a CPU
 * @cpu: the CPU
 * @cpus: CPUs that were present at boot, numbered from 0 or nearly so
 * @nr: shards
 *
 * CPUs with numbers near each other share a shard: these are the likeliest to share a cache, too.
 *
 * Context: any.
 * Return: from 1 to @nr.
 */
unsigned int ssw_lru_place(unsigned int cpu, unsigned int cpus, unsigned int nr)
{
	return 1 + cpu % cpus * nr / cpus;
}

/**
 * ssw_lru_spare - return how many numbers there are for strays
 * @nr: shards
 * @max: highest number
 *
 * Context: any.
 * Return: as many as shards; 0 if they do not fit, and pages do not move to other shards.
 */
unsigned int ssw_lru_spare(unsigned int nr, unsigned int max)
{
	return 2 * nr <= max ? nr : 0;
}

static unsigned int ssw_lru_strays(void)
{
	return ssw_lru_spare(ssw_lru_shards, SSW_LRU_MAX);
}

/* Return the shard of a folio's number. */
static unsigned int ssw_lru_shard_of(unsigned int number)
{
	return number > ssw_lru_shards ? number - ssw_lru_shards : number;
}

/**
 * ssw_lru_own - return the number of this CPU's shard
 *
 * Context: any; a hint if the task may migrate.
 * Return: from 1; 0 as long as there are no shards.
 */
unsigned int ssw_lru_own(void)
{
	return raw_cpu_read(ssw_lru_cpu);
}

/**
 * ssw_lru_lane - choose the lane of an area to swap a folio out to
 * @folio: the folio
 * @cpu: home CPU of the area
 *
 * Context: any.
 * Return: 0 if the folio is in that CPU's shard or in none. Else 1 to SSW_NR_LANES, by its
 * shard, since a CPU of that shard is likely to want the folio back.
 */
unsigned int ssw_lru_lane(const struct folio *folio, unsigned int cpu)
{
	unsigned int id;

	if (!scaleswap_lru_on())
		return 0;
	id = ssw_lru_shard_of(scaleswap_lru_id(folio));
	return id && id != ssw_lru_home(cpu) ? 1 + id % SSW_NR_LANES : 0;
}

/**
 * ssw_lru_member - name a CPU of a shard
 * @id: the shard
 * @cpus: CPUs that were present at boot
 * @nr: shards
 * @turn: a number; successive ones name all CPUs by turns
 *
 * Context: any.
 * Return: a CPU that ssw_lru_place() places there; UINT_MAX if there is none.
 */
unsigned int ssw_lru_member(unsigned int id, unsigned int cpus, unsigned int nr, unsigned int turn)
{
	unsigned int first = DIV_ROUND_UP((id - 1) * cpus, nr);
	unsigned int count = DIV_ROUND_UP(id * cpus, nr) - first;

	return count ? first + turn % count : UINT_MAX;
}

/**
 * ssw_lru_swapper - choose the CPU in whose place an evictor swaps a folio out
 * @folio: the folio
 *
 * Without evictors the CPU of the folio's shard would do so, and the folio be in that CPU's area.
 * CPUs that share a shard take turns.
 *
 * Context: any.
 * Return: an online CPU of that shard; this one if there is none.
 */
unsigned int ssw_lru_swapper(const struct folio *folio)
{
	unsigned int cpu, id = ssw_lru_shard_of(scaleswap_lru_id(folio));

	if (!id)
		return raw_smp_processor_id();
	cpu = ssw_lru_member(id, ssw_lru_cpus, ssw_lru_shards,
			     this_cpu_inc_return(ssw_lru_turn) >> SSW_LRU_TURN_SHIFT);
	return cpu < nr_cpu_ids && cpu_online(cpu) ? cpu : raw_smp_processor_id();
}

/* --- shards --------------------------------------------------------------- */

/* Never wait for memory: on allocation failure, the memcg's lruvec serves instead. */
#define SSW_LRU_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC | __GFP_ACCOUNT)

static struct scaleswap_shards *ssw_shards_create(struct lruvec *mlruvec, int nid)
{
	struct scaleswap_shards *shards, *old;

	shards = kzalloc_node(struct_size(shards, shard, ssw_lru_shards + ssw_lru_strays() + 1),
			      SSW_LRU_GFP, nid);
	if (!shards)
		return NULL;
	ssw_lru_ages_init(shards->age, sizeof(shards->age[0]), shards->older, shards->seq);
	old = cmpxchg(&mlruvec->shards, NULL, shards);
	if (!old)
		return shards;
	kfree(shards);
	return old;
}

static bool ssw_shard_add(struct lruvec *mlruvec, struct scaleswap_shards *shards, unsigned int id)
{
	struct pglist_data *pgdat = lruvec_pgdat(mlruvec);
	struct scaleswap_shard *shard, *was;
	unsigned long flags;
	enum lru_list lru;

	shard = kmem_cache_alloc_node(ssw_shard_cache, SSW_LRU_GFP | __GFP_ZERO,
				      pgdat->node_id);
	if (!shard)
		return false;
	lruvec_init(&shard->lruvec);
	shard->lruvec.pgdat = pgdat;
	shard->lruvec.shard = shard;
	shard->mlruvec = mlruvec;
	shard->id = id;
	ssw_lru_ages_init(&shard->size[0].age, sizeof(shard->size[0]), shard->older, shards->seq);
	/* CPUs look for older pages in the shards after their own, not all in the same ones. */
	for (lru = 0; lru < LRU_UNEVICTABLE; lru++)
		shard->size[lru].age.cursor = id;
	/* Under the lock, generations do not change between here and where others see the shard. */
	spin_lock_irqsave(&mlruvec->lru_lock, flags);
	ssw_lru_gen_init(shard);
	/* Pairs with the dependent reads in scaleswap_lruvec_of(). */
	was = cmpxchg(&shards->shard[id], NULL, shard);
	if (!was) {
		/* Pairs with the dependent reads of those who go over the list. */
		llist_add(&shard->node, &shards->list);
		WRITE_ONCE(shards->nr, shards->nr + 1);
	}
	spin_unlock_irqrestore(&mlruvec->lru_lock, flags);
	if (was)
		kmem_cache_free(ssw_shard_cache, shard);
	else
		atomic_long_inc(&ssw_lru_nr);
	return true;
}

/*
 * Create the shard that a number leads to, and let the number lead to it. The parent of the memcg
 * is charged for it, as for what the base kernel keeps of a memcg for each CPU: whoever may create
 * groups cannot have the memory of others for it.
 */
static bool ssw_shard_create(struct lruvec *mlruvec, unsigned int number)
{
	struct mem_cgroup *parent = parent_mem_cgroup(lruvec_memcg(mlruvec));
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	unsigned int id = ssw_lru_shard_of(number);
	struct mem_cgroup *charged;
	bool made;

	charged = set_active_memcg(parent ?: root_mem_cgroup);
	if (!shards)
		shards = ssw_shards_create(mlruvec, lruvec_pgdat(mlruvec)->node_id);
	made = shards && (READ_ONCE(shards->shard[id]) || ssw_shard_add(mlruvec, shards, id));
	set_active_memcg(charged);
	if (made && id != number)
		cmpxchg(&shards->shard[number], NULL, READ_ONCE(shards->shard[id]));
	return made;
}

static struct scaleswap_shard *ssw_shard(struct lruvec *mlruvec, unsigned int id)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);

	return id && shards ? READ_ONCE(shards->shard[id]) : NULL;
}

/*
 * Check that a memcg and node has enough pages for one more shard: SSW_LRU_SHARE for each that it
 * has, if these are not few. Shards of fewer pages would take much memory for what is in them,
 * and a batch of reclaim would be all of one.
 *
 * A hint: shards have some pages each that they have not posted, and several CPUs may ask at once.
 */
static bool ssw_shard_is_due(struct lruvec *mlruvec)
{
	struct mem_cgroup_per_node *mz = container_of(mlruvec, struct mem_cgroup_per_node, lruvec);
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
	struct mem_cgroup *memcg = lruvec_memcg(mlruvec);
	long nr = shards ? READ_ONCE(shards->nr) : 0, pages = 0;
	enum lru_list lru;
	int zid;

	if (nr < SSW_LRU_FEW || !memcg || mem_cgroup_is_root(memcg))
		return true;
	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		for_each_lru(lru)
			pages += atomic_long_read(&shards->total[zid].lru[lru]) +
				 READ_ONCE(mz->lru_zone_size[zid][lru]);
	}
#ifdef CONFIG_LRU_GEN
	pages += ssw_lru_gen_posted(mlruvec);
#endif
	return pages >= nr * SSW_LRU_SHARE;
}

/*
 * Ensure that a memcg and node has a shard, and its ancestors, too. The ages of non-resident pages
 * are counted up to the root, and each CPU collects some in its shard first.
 */
static bool ssw_shard_ensure(struct lruvec *mlruvec, unsigned int number)
{
	unsigned int id = ssw_lru_shard_of(number);
	struct lruvec *up;

	if (ssw_shard(mlruvec, number))
		return true;
	if (!ssw_shard(mlruvec, id) && !ssw_shard_is_due(mlruvec)) {
		ssw_stat_add(SSW_LRU_SMALL, 1);
		return false;
	}
	if (!ssw_shard_create(mlruvec, number)) {
		ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_SHARD, 0);
		return false;
	}
	for (up = parent_lruvec(mlruvec); up && !ssw_shard(up, id); up = parent_lruvec(up)) {
		if (!ssw_shard_create(up, id))
			break;
	}
	return true;
}

/* Apart, so that the usual case saves no registers. */
static noinline void ssw_lru_assign(struct folio *folio, struct lruvec *mlruvec, unsigned int had)
{
	unsigned int id = had ?: ssw_lru_own();

	if (id && !ssw_shard_ensure(mlruvec, id))
		id = 0;
	if (id != had)
		set_mask_bits(&folio->flags, SCALESWAP_LRU_MASK,
			      (unsigned long)id << SCALESWAP_LRU_PGOFF);
}

void __scaleswap_lru_assign(struct folio *folio)
{
	struct lruvec *mlruvec = mem_cgroup_lruvec(folio_memcg(folio), folio_pgdat(folio));
	unsigned int had = scaleswap_lru_id(folio);

	if (!ssw_shard(mlruvec, had))
		ssw_lru_assign(folio, mlruvec, had);
}

/* Check that the lists are empty: a folio left on one would be linked to freed memory. */
static void ssw_shard_check_empty(struct scaleswap_shard *shard)
{
	enum lru_list lru;
	int i;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	/* Unevictable folios are only counted; they are on no list. */
	for_each_evictable_lru(lru) {
		VM_WARN_ON_ONCE(!list_empty(&shard->lruvec.lists[lru]));
		for (i = 0; i < SCALESWAP_LRU_AGES; i++)
			VM_WARN_ON_ONCE(!list_empty(&shard->older[lru].age[i]));
		VM_WARN_ON_ONCE(!list_empty(&shard->older[lru].next));
	}
	for_each_lru(lru) {
		struct scaleswap_list_size *size = &shard->size[lru];

		VM_WARN_ON_ONCE(memchr_inv(size->zone, 0, sizeof(size->zone)));
	}
}

/* Check that nothing is posted but what is unposted, since all shards are empty. */
static void ssw_totals_check_empty(struct scaleswap_shards *shards)
{
	struct scaleswap_shard *shard;
	enum lru_list lru;
	int zid;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		for_each_lru(lru) {
			long left = atomic_long_read(&shards->total[zid].lru[lru]);

			llist_for_each_entry(shard, READ_ONCE(shards->list.first), node)
				left += shard->size[lru].unposted[zid];
			VM_WARN_ON_ONCE(left);
		}
	}
}

void __scaleswap_lru_free(struct lruvec *mlruvec)
{
	struct scaleswap_shards *shards = mlruvec->shards;
	struct scaleswap_shard *shard, *next;

	if (!shards)
		return;
	ssw_totals_check_empty(shards);
	llist_for_each_entry_safe(shard, next, shards->list.first, node) {
		ssw_shard_check_empty(shard);
		kmem_cache_free(ssw_shard_cache, shard);
		atomic_long_dec(&ssw_lru_nr);
	}
	mlruvec->shards = NULL;
	kfree(shards);
}

/**
 * DOC: Totals of LRU shards
 *
 * Reclaim asks for the size of each list over all shards, for each batch of pages. To read
 * the sizes of all shards, a CPU would fetch a few cache lines from each other CPU, and those
 * CPUs would fetch them back at their next change. So each shard posts its changes to a
 * total of the memcg and node once they add up to SCALESWAP_LRU_BATCH pages. Lists that are
 * empty or short are still counted by shard: their sizes hardly change.
 *
 * So a total is off by less than SCALESWAP_LRU_BATCH pages for each shard. A memcg whose
 * shards have hardly more than that is counted exactly, by its shards: otherwise it could
 * seem to be empty, and be out of memory.
 */

/* Sum up the size of a list over all shards, exactly but for what changes meanwhile. */
static unsigned long ssw_lru_sum(struct scaleswap_shards *shards, enum lru_list lru,
				 int zone_idx)
{
	struct scaleswap_shard *shard;
	unsigned long sum = 0;
	int zid;

	llist_for_each_entry(shard, READ_ONCE(shards->list.first), node) {
		for (zid = 0; zid <= zone_idx; zid++)
			sum += READ_ONCE(shard->size[lru].zone[zid]);
	}
	return sum;
}

unsigned long __scaleswap_lru_total(struct lruvec *lruvec, enum lru_list lru,
				    int zone_idx)
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	long posted, total = 0, off = 0;
	unsigned int nr;
	int zid;

	if (!shards)
		return 0;
	nr = READ_ONCE(shards->nr);
	/* There may be zones above the last one, all of them empty. */
	zone_idx = min(zone_idx, READ_ONCE(lruvec_pgdat(lruvec)->nr_zones) - 1);
	for (zid = 0; zid <= zone_idx; zid++) {
		posted = atomic_long_read(&shards->total[zid].lru[lru]);
		if (posted)
			off += SCALESWAP_LRU_BATCH * nr;
		total += posted;
	}
	/* At least half of what it says is there. */
	if (off && total >= 2 * off)
		return total;
	return ssw_lru_sum(shards, lru, zone_idx);
}

/* --- statistics ----------------------------------------------------------- */

/**
 * DOC: Statistics of LRU shards
 *
 * The base kernel counts each folio that joins or leaves a list for the node, the zone, the memcg,
 * and the memcg on the node. It takes the lock once for a batch of folios, though. So if they are a
 * shard's, it counts them once, too, when the lock is dropped: from scaleswap_lru_stats_begin() to
 * scaleswap_lru_stats_end(), scaleswap_lru_stat() only adds them up. While no CPU holds the lock,
 * nothing waits to be counted.
 *
 * Of a node and a zone, each CPU counts for itself up to a threshold, and then for all. Reclaim
 * takes up to 64 pages off a shard's lists, and about as many come to them before it does so again.
 * With few CPUs or little memory the threshold is less than that: CPUs would take the counters from
 * each other each time, without need. So the sizes of lists have a threshold of their own.
 */

/* How many times vmstat's threshold that of sizes of lists is, and at most: it has to fit an s8 */
#define SSW_LRU_VMSTAT_TIMES	4
#define SSW_LRU_VMSTAT_MOST	125

/**
 * ssw_lru_vmstat - add pages to what a CPU has counted for itself
 * @diff: what it has counted
 * @threshold: vmstat's threshold for it
 * @nr_pages: how many came; less than 0 if they went
 *
 * Context: any; nobody else changes @diff meanwhile.
 * Return: pages that the caller has to add for all CPUs; @diff does not have them any more.
 */
long ssw_lru_vmstat(s8 *diff, int threshold, long nr_pages)
{
	long sum = *diff + nr_pages;

	if (abs(sum) <= min(SSW_LRU_VMSTAT_TIMES * threshold, SSW_LRU_VMSTAT_MOST)) {
		*diff = sum;
		return 0;
	}
	*diff = 0;
	return sum;
}

void __scaleswap_lru_stat(struct scaleswap_shard *shard, enum lru_list lru, int zid, int nr_pages)
{
	struct pglist_data *pgdat = lruvec_pgdat(&shard->lruvec);
	struct zone *zone = &pgdat->node_zones[zid];
	struct per_cpu_nodestat *node_diffs;
	struct per_cpu_zonestat *zone_diffs;
	long sum;

	lockdep_assert_held(&shard->lruvec.lru_lock);
	/* vmstat's worker does not fold what is on this CPU meanwhile, with PREEMPT_RT either. */
	preempt_disable_nested();
	node_diffs = this_cpu_ptr(pgdat->per_cpu_nodestats);
	sum = ssw_lru_vmstat(&node_diffs->vm_node_stat_diff[NR_LRU_BASE + lru],
			     node_diffs->stat_threshold, nr_pages);
	if (sum)
		node_page_state_add(sum, pgdat, NR_LRU_BASE + lru);
	zone_diffs = this_cpu_ptr(zone->per_cpu_zonestats);
	sum = ssw_lru_vmstat(&zone_diffs->vm_stat_diff[NR_ZONE_LRU_BASE + lru],
			     zone_diffs->stat_threshold, nr_pages);
	if (sum)
		zone_page_state_add(sum, zone, NR_ZONE_LRU_BASE + lru);
	preempt_enable_nested();
	if (!mem_cgroup_disabled())
		__mod_memcg_lruvec_state(&shard->lruvec, NR_LRU_BASE + lru, nr_pages);
}

void __scaleswap_lru_stats_post(struct scaleswap_shard *shard)
{
	unsigned long waiting = shard->stats_waiting;
	unsigned int i;

	for_each_set_bit(i, &waiting, MAX_NR_ZONES * NR_LRU_LISTS) {
		__scaleswap_lru_stat(shard, i % NR_LRU_LISTS, i / NR_LRU_LISTS, shard->stats[i]);
		shard->stats[i] = 0;
	}
	shard->stats_waiting = 0;
}

/* --- eviction and return -------------------------------------------------- */

void __scaleswap_lru_refault(struct folio *folio, void *shadow)
{
	unsigned long number = xa_to_value(shadow) >> SCALESWAP_LRU_SHADOW;
	unsigned int id, own = ssw_lru_own();
	bool moves = false;

	VM_WARN_ON_ONCE_FOLIO(folio_test_lru(folio), folio);
	if (!number)
		return;
	/* Mostly a page comes back to the CPU whose shard it was in. */
	if (number != own) {
		if (number > ssw_lru_shards + ssw_lru_strays())
			return;
		id = ssw_lru_shard_of(number);
		if (id == own) {
			number = own;
		} else if (number == id) {
			number += ssw_lru_strays();
		} else {
			number = own;
			moves = true;
		}
	}
	set_mask_bits(&folio->flags, SCALESWAP_LRU_MASK, number << SCALESWAP_LRU_PGOFF);
	this_cpu_add(ssw_stat[moves ? SSW_LRU_MOVED : SSW_LRU_RETURNED], folio_nr_pages(folio));
}

/* --- age of non-resident pages -------------------------------------------- */

/*
 * How long a page was away is measured by how many pages have left since. All CPUs would
 * change that one count for each page, at each level of the hierarchy. So the CPU's shard
 * collects SCALESWAP_LRU_BATCH pages first.
 */
void __scaleswap_lru_age(struct lruvec *lruvec, unsigned long nr_pages)
{
	struct scaleswap_shard *shard;

	lruvec = scaleswap_memcg_lruvec(lruvec);
	shard = ssw_shard(lruvec, ssw_lru_own());
	if (shard) {
		atomic_long_t *age = &shard->lruvec.nonresident_age;

		if (atomic_long_add_return(nr_pages, age) < SCALESWAP_LRU_BATCH)
			return;
		nr_pages = atomic_long_xchg(age, 0);
	}
	/* As workingset_age_nonresident() does: a memcg's pages are also those of its ancestors. */
	do {
		atomic_long_add(nr_pages, &lruvec->nonresident_age);
	} while ((lruvec = parent_lruvec(lruvec)));
}

unsigned long __scaleswap_lru_age_read(struct lruvec *mlruvec)
{
	unsigned long age = atomic_long_read(&mlruvec->nonresident_age);
	struct scaleswap_shard *shard = ssw_shard(mlruvec, ssw_lru_own());

	return shard ? age + atomic_long_read(&shard->lruvec.nonresident_age) : age;
}

/* --- cost of reclaim ------------------------------------------------------ */

/**
 * scaleswap_lru_costs - return the cost of reclaiming from a memcg and node
 * @mlruvec: its lruvec
 * @anon: set to that of anonymous memory, as in lru_note_cost()
 * @file: set to that of the page cache
 *
 * Context: any. Takes no lock, since it only reads.
 */
void scaleswap_lru_costs(struct lruvec *mlruvec, unsigned long *anon, unsigned long *file)
{
	struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);

	*anon = shards ? atomic_long_read(&shards->anon_cost) : READ_ONCE(mlruvec->anon_cost);
	*file = shards ? atomic_long_read(&shards->file_cost) : READ_ONCE(mlruvec->file_cost);
}

/* As lru_note_cost() does, for a memcg and node for whose shards there was no memory yet. */
static void ssw_cost_add_own(struct lruvec *mlruvec, bool file, unsigned long cost,
			     unsigned long most)
{
	spin_lock_irq(&mlruvec->lru_lock);
	if (file)
		mlruvec->file_cost += cost;
	else
		mlruvec->anon_cost += cost;
	if (mlruvec->anon_cost + mlruvec->file_cost > most) {
		mlruvec->anon_cost /= 2;
		mlruvec->file_cost /= 2;
	}
	spin_unlock_irq(&mlruvec->lru_lock);
}

/**
 * ssw_cost_add - note a cost for all shards of a memcg and node
 * @shards: the shards
 * @file: true for page cache, false for anonymous memory
 * @cost: the cost
 * @most: what the costs of both types may add up to; above that, both are halved
 *
 * There is one sum of each type for all shards, so both types are halved at once, as with one
 * list. If each shard halved its own, a CPU that has page cache and another one that has
 * anonymous memory would have costs by the sizes of their shards, whatever reclaim costs.
 *
 * Context: any; takes no lock.
 */
void ssw_cost_add(struct scaleswap_shards *shards, bool file, unsigned long cost,
		  unsigned long most)
{
	atomic_long_t *larger = &shards->anon_cost, *other = &shards->file_cost;
	long a, b;

	atomic_long_add(cost, file ? &shards->file_cost : &shards->anon_cost);
	a = atomic_long_read(larger);
	b = atomic_long_read(other);
	if (a + b <= most)
		return;
	if (a < b) {
		swap(larger, other);
		swap(a, b);
	}
	/*
	 * Of the CPUs that see the same sums, the one that halves the larger one halves both.
	 * That is not 0, so none of the others succeeds. All may fail if a cost was added
	 * meanwhile: then whoever adds the next one halves.
	 */
	if (!atomic_long_try_cmpxchg(larger, &a, a / 2))
		return;
	while (!atomic_long_try_cmpxchg(other, &b, b / 2))
		;
}

/**
 * scaleswap_lru_note_cost - note the cost of reclaim, up to the root
 * @lruvec: lists that were reclaimed from, or refaulted to
 * @file: true for page cache, false for anonymous memory
 * @cost: as lru_note_cost() computes it
 *
 * Older costs count less and less, as in the base kernel.
 *
 * Context: may take lru_lock, so the caller must not hold one; interrupts are on.
 */
void scaleswap_lru_note_cost(struct lruvec *lruvec, bool file, unsigned long cost)
{
	struct lruvec *mlruvec;

	for (mlruvec = scaleswap_memcg_lruvec(lruvec); mlruvec; mlruvec = parent_lruvec(mlruvec)) {
		struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);
		unsigned long pages;

		pages = lruvec_page_state(mlruvec, NR_INACTIVE_ANON) +
			lruvec_page_state(mlruvec, NR_ACTIVE_ANON) +
			lruvec_page_state(mlruvec, NR_INACTIVE_FILE) +
			lruvec_page_state(mlruvec, NR_ACTIVE_FILE);
		/* Average over at least 64 page-outs; statistics may be old. */
		pages = max(pages, 4 * 64 * SWAP_CLUSTER_MAX);
		if (shards)
			ssw_cost_add(shards, file, cost, pages / 4);
		else
			ssw_cost_add_own(mlruvec, file, cost, pages / 4);
	}
}

/* --- interfaces ----------------------------------------------------------- */

/**
 * ssw_lru_allocated - count the shards of all memcgs and nodes
 *
 * Context: any.
 * Return: number of shards, each of ssw_lru_bytes() bytes.
 */
unsigned long ssw_lru_allocated(void)
{
	return atomic_long_read(&ssw_lru_nr);
}

/**
 * ssw_lru_bytes - return the size of a shard
 *
 * Context: any.
 * Return: bytes of memory; 0 if lists are not sharded.
 */
unsigned int ssw_lru_bytes(void)
{
	return ssw_shard_cache ? kmem_cache_size(ssw_shard_cache) : 0;
}

static void ssw_lru_dump_one(struct seq_file *m, struct mem_cgroup *memcg, int nid,
			     struct lruvec *lruvec, unsigned int id)
{
	struct scaleswap_shards *shards = READ_ONCE(lruvec->shards);
	unsigned int oldest[LRU_UNEVICTABLE] = {};
	long size[NR_LRU_LISTS] = {};
	enum lru_list lru;
	long posted = 0;
	int zid;

	for_each_evictable_lru(lru)
		oldest[lru] = ssw_lru_behind(lruvec, lru);
	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		for_each_lru(lru) {
			long pages = mem_cgroup_get_zone_lru_size(lruvec, lru, zid);

			size[lru] += pages;
			if (lruvec->shard)
				posted += pages - lruvec->shard->size[lru].unposted[zid];
			else if (shards)
				posted += atomic_long_read(&shards->total[zid].lru[lru]);
		}
	}
	if (ssw_lru_gen_on(lruvec))
		posted += ssw_lru_gen_count(lruvec, size);
	/* With generations only the sum of two lists is right: see lrugen.c. */
	for (lru = LRU_INACTIVE_ANON; lru < LRU_UNEVICTABLE; lru += LRU_INACTIVE_FILE) {
		long sum = size[lru] + size[lru + LRU_ACTIVE];

		size[lru] = clamp(size[lru], 0L, max(sum, 0L));
		size[lru + LRU_ACTIVE] = sum - size[lru];
	}
	seq_printf(m, "%u %d %u %ld %ld %ld %ld %ld %ld %u %u %u %u\n", mem_cgroup_id(memcg), nid,
		   id, size[LRU_INACTIVE_ANON], size[LRU_ACTIVE_ANON],
		   size[LRU_INACTIVE_FILE], size[LRU_ACTIVE_FILE],
		   size[LRU_UNEVICTABLE], posted,
		   oldest[LRU_INACTIVE_ANON], oldest[LRU_ACTIVE_ANON],
		   oldest[LRU_INACTIVE_FILE], oldest[LRU_ACTIVE_FILE]);
}

/**
 * ssw_lru_dump - show the sizes of all lists
 * @m: file to show them in
 *
 * Context: process context, may sleep.
 */
void ssw_lru_dump(struct seq_file *m)
{
	struct mem_cgroup *memcg;
	unsigned int id;
	int nid;

	seq_puts(m, "memcg nid shard inactive_anon active_anon inactive_file active_file unevictable posted age_ia age_aa age_if age_af\n");
	for (memcg = mem_cgroup_iter(NULL, NULL, NULL); memcg;
	     memcg = mem_cgroup_iter(NULL, memcg, NULL)) {
		for_each_online_node(nid) {
			struct lruvec *mlruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));
			struct scaleswap_shards *shards = READ_ONCE(mlruvec->shards);

			ssw_lru_dump_one(m, memcg, nid, mlruvec, 0);
			for (id = 1; shards && id <= ssw_lru_shards; id++) {
				struct scaleswap_shard *shard = READ_ONCE(shards->shard[id]);

				if (shard)
					ssw_lru_dump_one(m, memcg, nid, &shard->lruvec, id);
			}
		}
		cond_resched();
	}
}

static bool __init ssw_lru_booted(void)
{
	return ssw_boot_has(SSW_MECH_LRU) && scaleswap_on();
}

/**
 * scaleswap_lru_shadow_limits - correct how workingset_init() divides a shadow entry
 * @timestamp_bits: bits for the time of eviction, fewer because of the shard's number
 * @max_order: power of two of the pages that leave during the life of an entry
 *
 * An entry lives until up to eight times the pages of memory have left: there are nodes with 64
 * entries each for an eighth of them. The base kernel has bits to spare, and reckons with once the
 * memory, beyond which a distance does not matter. With fewer bits distances would wrap.
 *
 * Context: boot.
 */
void __init scaleswap_lru_shadow_limits(unsigned int *timestamp_bits, unsigned int *max_order)
{
	if (!ssw_lru_booted() || mem_cgroup_disabled())
		return;
	*timestamp_bits -= SCALESWAP_LRU_WIDTH;
	*max_order += ilog2(8);
}

static int __init ssw_lru_init(void)
{
	/*
	 * Possible CPUs may be many more than there ever are, as in a guest. Those online may
	 * be one of many, with maxcpus=1.
	 */
	unsigned int cpu, nr, cpus = num_present_cpus();

	BUILD_BUG_ON(SCALESWAP_LRU_PGOFF < NR_PAGEFLAGS);
	BUILD_BUG_ON(SCALESWAP_LRU_MASK & (LRU_GEN_MASK | LRU_REFS_MASK));
	BUILD_BUG_ON(offsetof(struct scaleswap_shard, lruvec));
	/* folio_lruvec() reads shards; each swap-in writes zswap_lruvec_state. */
	BUILD_BUG_ON(IS_ENABLED(CONFIG_SMP) &&
		     offsetof(struct lruvec, shards) / SMP_CACHE_BYTES ==
		     offsetof(struct lruvec, zswap_lruvec_state) / SMP_CACHE_BYTES);

	if (!ssw_lru_booted())
		return 0;
	if (mem_cgroup_disabled()) {
		pr_warn("lru needs the memory controller, which cgroup_disable= has off; leaving it out\n");
		return 0;
	}
	ssw_shard_cache = KMEM_CACHE(scaleswap_shard, SLAB_HWCACHE_ALIGN);
	if (!ssw_shard_cache)
		return -ENOMEM;
	nr = ssw_lru_wanted ?: min(nr_cpu_ids, SSW_LRU_MAX);
	WRITE_ONCE(ssw_lru_cpus, cpus);
	WRITE_ONCE(ssw_lru_shards, nr);
	static_branch_enable(&scaleswap_lru_key);
	/* Invariant 3: all CPUs run with the key on from here on. */
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(ssw_lru_cpu, cpu), ssw_lru_place(cpu, cpus, nr));
	pr_info("LRU lists are sharded, %u ways, %u bytes a shard\n", nr, ssw_lru_bytes());
	return 0;
}
late_initcall(ssw_lru_init);
