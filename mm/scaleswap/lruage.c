// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: ages of pages in LRU shards.
 */

/**
 * DOC: Ages of pages in LRU shards
 *
 * A single list is in order: whoever reclaims takes the page at its tail, which is the one that
 * joined first. With a list for each shard, reclaim has to know which of the tails joined first.
 *
 * So each list of a memcg and node, such as that of inactive anonymous pages, has an *age*: a
 * number that all shards share, and that grows by one whenever as many pages have joined the
 * list, in any shard, as an eighth of it holds (SSW_LRU_PARTS). That is the time in which pages
 * of a single list move on by an eighth of its length. A shard keeps pages of different age
 * on different lists. The newest are on the lruvec's own list. When the age has grown, the
 * shard moves all of these to ``older`` at once, before the next folio joins. A folio that
 * leaves needs no look at its age: the list that it is on becomes shorter, and the shard's
 * oldest age is that of the first of these lists that is not empty.
 *
 * Within an age, pages that joined first leave first. So if a shard has lost a half of those that
 * came to it in its oldest age, what is left is as new as what another shard has left when it has
 * lost a half of its own: ``part`` says how far reclaim has come. This supposes that pages came
 * evenly. With smaller ages that would matter less. But SCALESWAP_LRU_AGES of them would then not
 * reach back to the oldest pages of a list that has grown to several times its size.
 *
 * Freed pages, pages that are used again and pages that reclaim puts back change the ages of
 * what is left just as they change the tail of a single list. Pages that were written and shall be
 * freed next (folio_rotate_reclaimable()) are on a list apart, ``next``, and do not change how
 * old a shard is: else all CPUs would come for them. Ages of anonymous memory and
 * page cache, and of active and inactive pages, have nothing to do with each other.
 */

/**
 * DOC: Invariants of ages
 *
 * All under the lock of the shard's lruvec:
 *
 * 1. ``seq`` - ``oldest`` is less than SCALESWAP_LRU_AGES. Pages of an age from ``oldest`` to
 *    ``seq`` - 1 are on ``older.age``, at the age modulo SCALESWAP_LRU_AGES; those of age ``seq``
 *    are on the lruvec's own list; all other lists of ``older.age`` are empty. So two ages never
 *    share a list. Of pages that are older than that, only their order is known: they count as if
 *    they had that many ages less one.
 * 2. On the lists, taken from ``seq`` to ``oldest``, folios are in the order in which they
 *    joined, last ones first, but for those that the base kernel would put elsewhere, too.
 * 3. If ``older.next`` has a folio, ``has_next`` is set. The reverse need not hold.
 * 4. ``older.came`` is 0 for all ages but those from ``oldest`` to ``seq`` - 1, for which it is how
 *    many pages joined. Of age ``seq``, ``came`` and ``joined`` are, together.
 */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>

#include "internal.h"

struct ssw_ages {
	struct scaleswap_age *age;
	struct scaleswap_older *older;
	struct list_head *newest;
};

static bool ssw_ages_of(struct lruvec *lruvec, enum lru_list lru, struct ssw_ages *a,
			struct scaleswap_shards **shards)
{
	struct scaleswap_shard *shard = lruvec->shard;

	*shards = READ_ONCE((shard ? shard->mlruvec : lruvec)->shards);
	if (!*shards)
		return false;
	a->age = shard ? &shard->size[lru].age : &(*shards)->age[lru];
	a->older = shard ? &shard->older[lru] : &(*shards)->older[lru];
	a->newest = &lruvec->lists[lru];
	return true;
}

static struct list_head *ssw_older(const struct ssw_ages *a, unsigned int seq)
{
	return &a->older->age[seq % SCALESWAP_LRU_AGES];
}

/* How many pages have come to an age that has ended. */
static unsigned int *ssw_came(const struct ssw_ages *a, unsigned int seq)
{
	return &a->older->came[seq % SCALESWAP_LRU_AGES];
}

/* How much of the oldest age some pages are, at most all. Without the lock it is a hint. */
static unsigned int ssw_ages_steps(const struct ssw_ages *a, unsigned int nr_pages)
{
	unsigned int oldest = READ_ONCE(a->age->oldest);
	int came;

	if (oldest == READ_ONCE(a->age->seq))
		came = READ_ONCE(a->age->came) + READ_ONCE(a->age->joined);
	else
		came = READ_ONCE(*ssw_came(a, oldest));
	came = max(came, 1);
	if (nr_pages >= came)
		return SCALESWAP_LRU_STEPS;
	return div_u64((u64)nr_pages * SCALESWAP_LRU_STEPS, came);
}

/* Find out how far reclaim has come in the oldest age. */
static void ssw_ages_part(struct ssw_ages *a)
{
	unsigned int part = ssw_ages_steps(a, a->age->taken);

	part = min(part, SCALESWAP_LRU_STEPS - 1U);
	if (part != READ_ONCE(a->age->part))
		WRITE_ONCE(a->age->part, part);
}

/* Skip ages of which no page is left. */
static void ssw_ages_skip(struct ssw_ages *a)
{
	unsigned int oldest = a->age->oldest;

	while (oldest != a->age->seq && list_empty(ssw_older(a, oldest)))
		*ssw_came(a, oldest++) = 0;
	if (oldest == a->age->oldest)
		return;
	WRITE_ONCE(a->age->oldest, oldest);
	a->age->taken = 0;
	ssw_ages_part(a);
}

/* From now on pages that join have the age @seq. */
static void ssw_ages_begin(struct ssw_ages *a, unsigned int seq)
{
	unsigned int oldest, first = seq - (SCALESWAP_LRU_AGES - 1);

	if (a->age->seq == seq)
		return;
	list_splice_init(a->newest, ssw_older(a, a->age->seq));
	/* Those of @joined are counted again when they are added to @came. */
	*ssw_came(a, a->age->seq) = a->age->came + a->age->joined;
	a->age->came = -a->age->joined;
	ssw_ages_skip(a);
	oldest = a->age->oldest;
	/* What is too old to be told apart, in its order: older pages are nearer to the tail. */
	while ((int)(first - oldest) > 0 && oldest != a->age->seq) {
		list_splice_tail_init(ssw_older(a, oldest), ssw_older(a, oldest + 1));
		*ssw_came(a, oldest + 1) += *ssw_came(a, oldest);
		*ssw_came(a, oldest) = 0;
		oldest++;
	}
	if ((int)(first - oldest) > 0) {
		if (oldest % SCALESWAP_LRU_AGES != first % SCALESWAP_LRU_AGES) {
			list_splice_init(ssw_older(a, oldest), ssw_older(a, first));
			*ssw_came(a, first) = *ssw_came(a, oldest);
			*ssw_came(a, oldest) = 0;
		}
		oldest = first;
	}
	WRITE_ONCE(a->age->oldest, oldest);
	a->age->seq = seq;
	ssw_ages_skip(a);
	ssw_ages_part(a);
}

/* Begin a new age of a list if a part of its pages has joined since the last one began. */
static void ssw_clock_add(struct scaleswap_shards *shards, enum lru_list lru, long nr_pages)
{
	atomic_long_t *clock = &shards->clock[is_file_lru(lru)].joined[is_active_lru(lru)];
	unsigned int seq = READ_ONCE(shards->seq[lru]);
	long joined = atomic_long_add_return(nr_pages, clock);
	long pages = 0;
	int zid;

	/* A part of what the list holds now: within an age it may shrink to a tenth. */
	for (zid = 0; zid < MAX_NR_ZONES; zid++)
		pages += atomic_long_read(&shards->total[zid].lru[lru]);
	/* One of those that come here at the same time succeeds, or the next one does. */
	if (joined < max(pages / SSW_LRU_PARTS, (long)SCALESWAP_LRU_BATCH) ||
	    !atomic_long_try_cmpxchg(clock, &joined, 0))
		return;
	/* It never goes back, however long this CPU was away since it read it. */
	cmpxchg(&shards->seq[lru], seq, seq + 1);
}

/**
 * ssw_lru_join - count pages that join a list, of which its ages are made
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: the list
 * @nr_pages: how many pages
 *
 * Context: under @lruvec's lock.
 */
void ssw_lru_join(struct lruvec *lruvec, enum lru_list lru, int nr_pages)
{
	struct scaleswap_shards *shards;
	unsigned int joined;
	struct ssw_ages a;

	if (lru == LRU_UNEVICTABLE || !ssw_ages_of(lruvec, lru, &a, &shards))
		return;
	/* Generations are the ages then, and the list stays empty. */
	if (ssw_lru_gen_on(lruvec)) {
		a.age->joined = 0;
		a.age->came = 0;
		return;
	}
	joined = a.age->joined + nr_pages;
	if (joined >= SCALESWAP_LRU_BATCH)
		ssw_clock_add(shards, lru, joined);
	ssw_ages_skip(&a);
	ssw_ages_begin(&a, READ_ONCE(shards->seq[lru]));
	/* Those that join now are of the age that has begun. */
	if (joined >= SCALESWAP_LRU_BATCH) {
		a.age->came += joined;
		joined = 0;
	}
	a.age->joined = joined;
}

/* Change what a shard counts of a list. Return where the size of the list is. */
static unsigned long *ssw_shard_resize(struct scaleswap_shard *shard, int zid, enum lru_list lru,
				       int nr_pages)
{
	struct scaleswap_list_size *size = &shard->size[lru];
	int unposted = size->unposted[zid] + nr_pages;

	if (abs(unposted) >= SCALESWAP_LRU_BATCH) {
		atomic_long_add(unposted, &shard->mlruvec->shards->total[zid].lru[lru]);
		unposted = 0;
	}
	size->unposted[zid] = unposted;
	if (nr_pages <= 0 || lru == LRU_UNEVICTABLE)
		return &size->zone[zid];
	if (size->age.joined + nr_pages >= SCALESWAP_LRU_BATCH ||
	    size->age.seq != READ_ONCE(shard->mlruvec->shards->seq[lru]))
		ssw_lru_join(&shard->lruvec, lru, nr_pages);
	else
		size->age.joined += nr_pages;
	return &size->zone[zid];
}

void __scaleswap_lru_resize(struct lruvec *lruvec, enum lru_list lru, int zid, int nr_pages,
			    unsigned long *own)
{
	struct scaleswap_shard *shard = lruvec->shard;
	long size;

	if (shard)
		own = ssw_shard_resize(shard, zid, lru, nr_pages);
	else if (nr_pages > 0)
		ssw_lru_join(lruvec, lru, nr_pages);
	size = *own + nr_pages;
	WARN_ONCE(size < 0, "list %d of %p has %ld pages, with %d more\n", lru, lruvec, size,
		  nr_pages);
	*own = max(size, 0L);
}

struct list_head *__scaleswap_lru_tail(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return &lruvec->lists[lru];
	if (!list_empty(&a.older->next))
		return &a.older->next;
	if (a.age->has_next)
		WRITE_ONCE(a.age->has_next, false);
	ssw_ages_skip(&a);
	return a.age->oldest == a.age->seq ? a.newest : ssw_older(&a, a.age->oldest);
}

struct list_head *__scaleswap_lru_last(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return &lruvec->lists[lru];
	if (!a.age->has_next)
		WRITE_ONCE(a.age->has_next, true);
	return &a.older->next;
}

/*
 * Reclaim for a lower zone moves all pages of higher ones there. Without this, their age would be
 * that of the page that was the last to join this shard, perhaps long ago, and this shard would
 * lose all of them before another one lost any.
 */
void __scaleswap_lru_front(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (ssw_ages_of(lruvec, lru, &a, &shards))
		ssw_ages_begin(&a, READ_ONCE(shards->seq[lru]));
}

/*
 * Check whether no other shard has pages of a list, but for a few that are not posted. A shard that
 * has not posted any itself cannot tell.
 */
static bool ssw_ages_alone(struct lruvec *lruvec, enum lru_list lru,
			   struct scaleswap_shards *shards)
{
	struct scaleswap_shard *shard = lruvec->shard;
	struct mem_cgroup_per_node *mz;
	long posted, mine = 0, others = 0;
	int zid;

	if (!shard)
		return false;
	mz = container_of(shard->mlruvec, struct mem_cgroup_per_node, lruvec);
	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		posted = (long)shard->size[lru].zone[zid] - shard->size[lru].unposted[zid];
		mine += posted;
		others += atomic_long_read(&shards->total[zid].lru[lru]) - posted;
		others += READ_ONCE(mz->lru_zone_size[zid][lru]);
	}
	return mine > 0 && others <= 0;
}

/*
 * A batch ends with the age, however small it is. Pages of the next one are newer, and there may be
 * older ones in another shard. It goes on if all pages are in this shard.
 *
 * It also ends after pages that shall leave before all others. These are often few, that were
 * written and are freed now, while the next ones may be the newest pages. These would be
 * written in their turn, and bring reclaim back to this shard until it has none.
 */
bool __scaleswap_lru_next(struct lruvec *lruvec, enum lru_list lru, struct list_head **tail,
			  unsigned long scanned)
{
	struct list_head *was = *tail;
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return false;
	if (was == &a.older->next) {
		WRITE_ONCE(a.age->has_next, false);
		if (scanned)
			return false;
	}
	if (scanned && !ssw_ages_alone(lruvec, lru, shards))
		return false;
	*tail = __scaleswap_lru_tail(lruvec, lru);
	/* They were not of the age that is the oldest one now: see __scaleswap_lru_took(). */
	if (*tail != was)
		a.age->taken -= scanned;
	return !list_empty(*tail);
}

/*
 * What is left of an age is newer the more of it is gone. This counts what reclaim takes at the
 * tail: pages that were freed or used again were anywhere in the list. Folios of zones that reclaim
 * is not for may be of the age before.
 *
 * Reclaim has a goal of pages to scan, and scans elsewhere what a batch is short of. Otherwise it
 * would scan a part of that goal where shards have just a few pages of each age.
 */
void __scaleswap_lru_took(struct lruvec *lruvec, enum lru_list lru, struct list_head *tail,
			  unsigned long nr_pages, long left, unsigned int *nr_short)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return;
	if (tail != &a.older->next) {
		a.age->taken += nr_pages;
		ssw_ages_part(&a);
	}
	if (nr_pages && left > 0 && !list_empty(__scaleswap_lru_tail(lruvec, lru)))
		*nr_short += left;
}

#ifdef CONFIG_LRU_GEN
void __scaleswap_lru_flatten(struct lruvec *lruvec)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;
	enum lru_list lru;
	unsigned int seq;

	for_each_evictable_lru(lru) {
		if (!ssw_ages_of(lruvec, lru, &a, &shards))
			return;
		ssw_ages_skip(&a);
		for (seq = a.age->seq; seq != a.age->oldest; seq--)
			list_splice_tail_init(ssw_older(&a, seq - 1), a.newest);
		list_splice_tail_init(&a.older->next, a.newest);
		memset(a.older->came, 0, sizeof(a.older->came));
		WRITE_ONCE(a.age->oldest, a.age->seq);
		a.age->came = -a.age->joined;
		a.age->taken = 0;
		WRITE_ONCE(a.age->part, 0);
		WRITE_ONCE(a.age->has_next, false);
	}
}
#endif

/**
 * ssw_lru_ages_init - prepare the ages of a shard, or of a memcg's own lists
 * @age: its age, or the first of several
 * @stride: bytes from one to the next
 * @older: its lists of older pages
 * @seq: age of the pages that join now, by list
 *
 * Context: any; nobody else sees them yet.
 */
void ssw_lru_ages_init(struct scaleswap_age *age, size_t stride,
		       struct scaleswap_older *older, const unsigned int *seq)
{
	unsigned int lru, i;

	for (lru = 0; lru < LRU_UNEVICTABLE; lru++, age = (void *)age + stride) {
		age->seq = READ_ONCE(seq[lru]);
		age->oldest = age->seq;
		age->begun = age->seq - SSW_LRU_PARTS;
		for (i = 0; i < SCALESWAP_LRU_AGES; i++)
			INIT_LIST_HEAD(&older[lru].age[i]);
		INIT_LIST_HEAD(&older[lru].next);
	}
}

/**
 * ssw_lru_behind - return how old the oldest pages of a list are
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * Context: any; a hint without @lruvec's lock.
 * Return: ages that have begun since they joined: 0 if they are of those that join now, or if
 * @lruvec has no shards beside it. With MGLRU, generations. It may be wrong, too high, if the
 * last pages of an age have left: see ssw_lru_settle().
 */
unsigned int ssw_lru_behind(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return 0;
#ifdef CONFIG_LRU_GEN
	if (READ_ONCE(lruvec->lrugen.enabled))
		return READ_ONCE(lruvec->lrugen.max_seq) -
		       READ_ONCE(lruvec->lrugen.min_seq[is_file_lru(lru)]);
#endif
	return READ_ONCE(shards->seq[lru]) - READ_ONCE(a.age->oldest);
}

/**
 * ssw_lru_position - return how far the oldest pages of a list are from the first that ever joined
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * Context: any; a hint without @lruvec's lock. Not with MGLRU.
 * Return: the position, %SCALESWAP_LRU_STEPS for each age, of which the difference matters; 0 if
 * @lruvec has no shards beside it.
 */
unsigned int ssw_lru_position(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return 0;
	return READ_ONCE(a.age->oldest) * SCALESWAP_LRU_STEPS + READ_ONCE(a.age->part);
}

/**
 * ssw_lru_steps - return how old the oldest pages of a list are, within their age, too
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * Pages of the oldest age that is told apart may be older than that. So they are equal in all
 * shards, also where none has joined for long.
 *
 * Context: any; a hint without @lruvec's lock. Not with MGLRU.
 * Return: from 1 to %SCALESWAP_LRU_AGES * %SCALESWAP_LRU_STEPS, %SCALESWAP_LRU_STEPS for each age;
 * 0 if @lruvec has no shards beside it.
 */
unsigned int ssw_lru_steps(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	unsigned int behind;
	struct ssw_ages a;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return 0;
	behind = READ_ONCE(shards->seq[lru]) - READ_ONCE(a.age->oldest);
	/* An age may have begun since its number was read. */
	behind = (int)behind < 0 ? 0 : min(behind, SCALESWAP_LRU_AGES - 1U);
	return (behind + 1) * SCALESWAP_LRU_STEPS - READ_ONCE(a.age->part);
}

/**
 * ssw_lru_begun - note that a CPU reclaims from a list whose own shard this is
 * @lruvec: lruvec of the shard
 * @lru: list, not the unevictable one
 *
 * The age is kept modulo 256: a CPU that is idle for longer counts as busy for %SSW_LRU_PARTS of
 * these ages, and others are then more reluctant to take its pages.
 *
 * Context: any. Not with MGLRU.
 */
void ssw_lru_begun(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;
	u8 seq;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return;
	seq = READ_ONCE(shards->seq[lru]);
	if (READ_ONCE(a.age->begun) != seq)
		WRITE_ONCE(a.age->begun, seq);
}

/**
 * ssw_lru_stay - return by how much others' pages have to be older before a CPU takes them
 * @other: lruvec of another shard
 * @mine: lruvec of the CPU's own shard
 * @lru: list, not the unevictable one
 *
 * CPUs that are equally busy shall stay with their own shards. They are one batch apart, which is
 * much of an age if the shard is small. A CPU that has not reclaimed while the list was replaced
 * once is idle. Its pages leave in their order, since others alone take them.
 *
 * Context: any; a hint without the locks. Not with MGLRU.
 * Return: from 1 to 1 + %SCALESWAP_LRU_STEPS; as in ssw_lru_steps(). 0 if @mine has no shards
 * beside it.
 */
unsigned int ssw_lru_stay(struct lruvec *other, struct lruvec *mine, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a, o;

	if (!ssw_ages_of(mine, lru, &a, &shards) || !ssw_ages_of(other, lru, &o, &shards))
		return 0;
	if ((u8)(READ_ONCE(shards->seq[lru]) - READ_ONCE(o.age->begun)) >= SSW_LRU_PARTS)
		return 1;
	return 1 + ssw_ages_steps(&a, SWAP_CLUSTER_MAX);
}

/**
 * ssw_lru_settle - find out how old the oldest pages of a list are
 * @lruvec: lruvec of a shard or a memcg's, with active and inactive lists
 * @lru: list, not the unevictable one
 *
 * The last pages of an age may have left, by reclaim or because they were freed, and then the pages
 * of this shard count as older than they are, until more join. Whoever chose it for its age may
 * find just new ones.
 *
 * Context: takes @lruvec's lock if there is something to find out; interrupts enabled.
 * Return: true if the pages are newer than ssw_lru_behind() said.
 */
bool ssw_lru_settle(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;
	unsigned int was;
	bool newer;

	if (!ssw_ages_of(lruvec, lru, &a, &shards))
		return false;
	was = READ_ONCE(a.age->oldest);
	/* Without the lock, since it is rare. Whoever looks next finds what is missed here. */
	if (was == READ_ONCE(a.age->seq) || !list_empty(ssw_older(&a, was)))
		return false;
	spin_lock_irq(&lruvec->lru_lock);
	ssw_ages_skip(&a);
	newer = a.age->oldest != was;
	spin_unlock_irq(&lruvec->lru_lock);
	return newer;
}

/**
 * ssw_lru_has_next - check whether a list has folios that shall leave before all others
 * @lruvec: lruvec of a shard or a memcg's
 * @lru: list, not the unevictable one
 *
 * Context: any; a hint without @lruvec's lock.
 * Return: true if so.
 */
bool ssw_lru_has_next(struct lruvec *lruvec, enum lru_list lru)
{
	struct scaleswap_shards *shards;
	struct ssw_ages a;

	/* Whoever finds the list empty clears has_next: the last batch may not have looked. */
	return ssw_ages_of(lruvec, lru, &a, &shards) && READ_ONCE(a.age->has_next) &&
	       !list_empty(&a.older->next);
}
