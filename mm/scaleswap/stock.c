// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: swap charges of memory cgroups, kept in stock by each CPU.
 */

/**
 * DOC: Stocks of swap charges
 *
 * A swap slot is charged to a memory cgroup. The base kernel counts the page in the swap
 * counter of the cgroup and of all cgroups above it, and takes a reference on the cgroup's
 * id; freeing the slot undoes both. All CPUs that swap pages of a cgroup meet in these lines.
 *
 * Here each CPU has a stock: up to 64 charges of one cgroup, each a page in the counters and
 * a reference on the id, that no slot uses. A swap-out takes its charge from there, and a
 * freed slot leaves its charge there. Only an empty or an overfull stock goes to the counters,
 * for 32 charges at a time. This is for all areas, plain ones included, and for cgroup v2;
 * the counters of v1 are for memory and swap together.
 */

/**
 * DOC: Rules of stocks of swap charges
 *
 * 1. A charge that is counted and not used by a slot is in a stock, and moves between counter
 *    and stock under the lock of that stock. So taking all locks in turn finds every charge.
 *    References on ids follow after the lock is dropped, since the last one frees the id.
 * 2. A counter is never too low. So a charge that a stock has may be used without looking at
 *    the limits. What reads a counter reads too much, by 64 pages a CPU at most.
 * 3. Where these pages could matter, a drain gives them back first: before a charge is refused,
 *    before memory.swap.current is read or memory.swap.peak is reset, after memory.swap.max or
 *    high is set. So it is where usage is compared with high for throttling, or with max to see
 *    how much swap a cgroup has left, if the two are near. mem_cgroup_swap_full() does not
 *    drain. It asks whether half of a limit is used, to free slots earlier, and may say so
 *    early, by these pages, which are a quarter of the limit at most.
 * 4. No CPU begins a stock where a limit is near: nearer than 256 pages for each possible CPU,
 *    four times what all stocks together can have. So a cgroup at its limit works as without
 *    stocks, and a drain is not undone at once.
 * 5. A bit in ssw_stocked, by the number of a cgroup's id, says that a CPU may have a stock of
 *    that cgroup or of one below it. So a cgroup without stocks is not searched for them. A
 *    CPU sets it under its lock when it begins a stock, and a drain clears it before it takes
 *    the first lock. A CPU that begins a stock after the drain has passed thus sees it cleared
 *    and sets it. While a drain is under way, the bit is already cleared and charges are still
 *    there, so ssw_stock_draining counts drains. It does so by the lowest bits of the number:
 *    if drains of all cgroups were counted in one, those at their limits would keep each other
 *    draining. A bit that is set in vain costs one drain.
 * 6. A stock's references keep its cgroup from being freed. mem_cgroup_css_offline() drains,
 *    and no CPU begins a stock of a cgroup that is dying, which it is since before an RCU
 *    grace period that ended before.
 * 7. Any CPU drains the stock of any other, also of one that is offline. So CPU hotplug needs
 *    to do nothing.
 *
 * The peak in memory.swap.peak is that of the counter. It may be too high by what was in
 * stocks, 64 pages a CPU, and is never above the limit.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/page_counter.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "../memcontrol-v1.h"
#include "internal.h"

/* Charges that are moved from the counters or back at a time. */
#define SSW_STOCK_BATCH		32
/* Charges that a stock has at most: a CPU may free or allocate a batch from the middle. */
#define SSW_STOCK_MAX		(2 * SSW_STOCK_BATCH)
/* Counts of drains under way; a power of two. */
#define SSW_STOCK_DRAINS	64

/**
 * struct ssw_stock - swap charges that a CPU keeps
 * @lock: protects the rest. Taken by the CPU itself and by drains; a raw lock, since it is
 *        taken in every context in which slots are freed. Nothing is taken under it
 * @nr: charges; 0 if there is no @memcg
 * @memcg: charged with them, or NULL; the charges' references on its id keep it
 */
struct ssw_stock {
	raw_spinlock_t lock;
	unsigned int nr;
	struct mem_cgroup *memcg;
};

static DEFINE_PER_CPU_SHARED_ALIGNED(struct ssw_stock, ssw_stocks) = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(ssw_stocks.lock),
};

/* Rule 5. */
static DECLARE_BITMAP(ssw_stocked, 1 << MEM_CGROUP_ID_SHIFT);
static atomic_t ssw_stock_draining[SSW_STOCK_DRAINS];

static unsigned long ssw_stock_slack(void)
{
	return 4UL * SSW_STOCK_MAX * nr_cpu_ids;
}

/**
 * ssw_stock_room - check whether a cgroup is far from its limits on swap
 * @counter: its swap counter
 * @slack: pages that have to be left at each level
 *
 * Context: any.
 * Return: true if usage, max and high of each level leave that much.
 */
bool ssw_stock_room(struct page_counter *counter, unsigned long slack)
{
	for (; counter; counter = counter->parent) {
		if (page_counter_read(counter) + slack >
		    min(READ_ONCE(counter->max), READ_ONCE(counter->high)))
			return false;
	}
	return true;
}

/* Rules 4 and 6. Under the lock of the stock, so that a drain sees the stock or its cause. */
static bool ssw_stock_may_begin(struct mem_cgroup *memcg)
{
	return !css_is_dying(&memcg->css) && ssw_stock_room(&memcg->swap, ssw_stock_slack());
}

/* The root's pages are not counted in a limit, but its id has references. */
static bool ssw_stock_try_count(struct mem_cgroup *memcg, unsigned int nr,
				struct page_counter **fail)
{
	return mem_cgroup_is_root(memcg) || page_counter_try_charge(&memcg->swap, nr, fail);
}

/*
 * Take charges out of a stock and uncount their pages. The caller puts as many references on
 * the id after it has dropped the lock.
 */
static unsigned int ssw_stock_uncount(struct ssw_stock *stock, unsigned int nr)
{
	lockdep_assert_held(&stock->lock);
	if (nr && !mem_cgroup_is_root(stock->memcg))
		page_counter_uncharge(&stock->memcg->swap, nr);
	stock->nr -= nr;
	if (!stock->nr)
		stock->memcg = NULL;
	return nr;
}

static void ssw_stock_begin(struct ssw_stock *stock, struct mem_cgroup *memcg)
{
	lockdep_assert_held(&stock->lock);
	stock->memcg = memcg;
	/* Mostly set; do not write to a line that other CPUs share. */
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		if (!test_bit(mem_cgroup_id(memcg), ssw_stocked))
			set_bit(mem_cgroup_id(memcg), ssw_stocked);
	}
}

static atomic_t *ssw_stock_drains(unsigned short id)
{
	return &ssw_stock_draining[id % SSW_STOCK_DRAINS];
}

/* Give all stocks of a cgroup and of those below it back. */
static void ssw_stock_drain(struct mem_cgroup *memcg)
{
	unsigned short id = mem_cgroup_id(memcg);
	atomic_t *draining = ssw_stock_drains(id);
	int cpu;

	atomic_inc(draining);
	/* Pairs with smp_rmb() in ssw_stock_any(): a CPU that sees it cleared sees the drain. */
	smp_mb__after_atomic();
	clear_bit(id, ssw_stocked);
	/* An offline cgroup may have lost its id meanwhile, and a new one may have got it. */
	smp_mb__after_atomic();
	if (mem_cgroup_id(memcg) != id)
		set_bit(id, ssw_stocked);
	for_each_possible_cpu(cpu) {
		struct ssw_stock *stock = per_cpu_ptr(&ssw_stocks, cpu);
		struct mem_cgroup *old;
		unsigned int nr = 0;

		raw_spin_lock(&stock->lock);
		old = stock->memcg;
		if (old && mem_cgroup_is_descendant(old, memcg))
			nr = ssw_stock_uncount(stock, stock->nr);
		raw_spin_unlock(&stock->lock);
		if (nr)
			mem_cgroup_id_put_many(old, nr);
	}
	/* Pairs with smp_rmb() in ssw_stock_any(): no drain means that its pages are uncounted. */
	smp_mb__before_atomic();
	atomic_dec(draining);
}

/*
 * Is there possibly a stock of a cgroup, or of one below it? If not, a counter that is read
 * afterwards has no pages of stocks that were there before.
 */
static bool ssw_stock_any(struct mem_cgroup *memcg)
{
	unsigned short id = mem_cgroup_id(memcg);

	if (test_bit(id, ssw_stocked))
		return true;
	/* Pairs with the barriers in ssw_stock_drain(). */
	smp_rmb();
	if (atomic_read(ssw_stock_drains(id)))
		return true;
	/* Also: the caller reads the counter after this. */
	smp_rmb();
	return false;
}

/* See scaleswap_stock_take(). */
bool __scaleswap_stock_take(struct mem_cgroup *memcg, unsigned int nr)
{
	struct ssw_stock *stock = raw_cpu_ptr(&ssw_stocks);
	bool taken;

	raw_spin_lock(&stock->lock);
	taken = stock->memcg == memcg && stock->nr >= nr;
	if (taken) {
		stock->nr -= nr;
		if (!stock->nr)
			stock->memcg = NULL;
	}
	raw_spin_unlock(&stock->lock);
	return taken;
}

/* Charge, and charge a batch for the stock with it. False: charge without. */
static bool ssw_stock_refill(struct mem_cgroup *memcg, unsigned int nr)
{
	struct ssw_stock *stock = raw_cpu_ptr(&ssw_stocks);
	struct mem_cgroup *old = NULL;
	struct page_counter *fail;
	unsigned int put = 0;
	bool done = false;

	raw_spin_lock(&stock->lock);
	if (stock->memcg == memcg && stock->nr > SSW_STOCK_MAX - SSW_STOCK_BATCH)
		goto out;
	if (!ssw_stock_may_begin(memcg) ||
	    !ssw_stock_try_count(memcg, nr + SSW_STOCK_BATCH, &fail))
		goto out;
	/* The caller's reference keeps the id, so these cannot be the first. */
	mem_cgroup_id_get_many(memcg, SSW_STOCK_BATCH);
	if (stock->memcg != memcg) {
		old = stock->memcg;
		put = ssw_stock_uncount(stock, stock->nr);
		ssw_stock_begin(stock, memcg);
	}
	stock->nr += SSW_STOCK_BATCH;
	done = true;
out:
	raw_spin_unlock(&stock->lock);
	if (put)
		mem_cgroup_id_put_many(old, put);
	return done;
}

/* See scaleswap_stock_charge(). */
bool __scaleswap_stock_charge(struct mem_cgroup *memcg, unsigned int nr)
{
	struct mem_cgroup *limit, *drained = NULL;
	int levels = memcg->css.cgroup->level;
	struct page_counter *fail;

	if (nr <= SSW_STOCK_BATCH && ssw_stock_refill(memcg, nr))
		return true;
	/*
	 * Refused only if it is refused again after the stocks were drained, or after it was seen
	 * that there are none: a drain by another CPU may have ended since the first time. Each
	 * level may refuse for its stocks once. What others charge meanwhile may make two levels
	 * refuse in turn, but not for longer.
	 */
	while (!ssw_stock_try_count(memcg, nr, &fail)) {
		limit = mem_cgroup_from_counter(fail, swap);
		if (limit == drained || !levels--)
			return false;
		if (ssw_stock_any(limit))
			ssw_stock_drain(limit);
		drained = limit;
	}
	return true;
}

/* See scaleswap_stock_put(). */
bool __scaleswap_stock_put(struct mem_cgroup *memcg, unsigned int nr)
{
	struct ssw_stock *stock;
	struct mem_cgroup *old;
	unsigned int put = 0;
	bool kept = true;

	if (nr > SSW_STOCK_BATCH || do_memsw_account())
		return false;
	stock = raw_cpu_ptr(&ssw_stocks);
	raw_spin_lock(&stock->lock);
	old = stock->memcg;
	if (old == memcg) {
		stock->nr += nr;
		if (stock->nr > SSW_STOCK_MAX)
			put = ssw_stock_uncount(stock, stock->nr - SSW_STOCK_BATCH);
	} else if (ssw_stock_may_begin(memcg)) {
		put = ssw_stock_uncount(stock, stock->nr);
		ssw_stock_begin(stock, memcg);
		stock->nr = nr;
	} else {
		kept = false;
	}
	raw_spin_unlock(&stock->lock);
	if (put)
		mem_cgroup_id_put_many(old, put);
	return kept;
}

/* See scaleswap_stock_usage(). */
unsigned long __scaleswap_stock_usage(struct mem_cgroup *memcg, unsigned long limit)
{
	unsigned long usage = page_counter_read(&memcg->swap);

	if (do_memsw_account() || usage + ssw_stock_slack() <= limit)
		return usage;
	if (ssw_stock_any(memcg))
		ssw_stock_drain(memcg);
	return page_counter_read(&memcg->swap);
}

/* See scaleswap_stock_drain(). */
void __scaleswap_stock_drain(struct mem_cgroup *memcg)
{
	ssw_stock_drain(memcg);
}
