// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads do to a few small areas all that CPUs do to per-core ones.
 *
 * Each worker is local to one area and remote to the others. It allocates blocks
 * of all orders, refers to slots, puts them into the swap cache and takes them out.
 * It passes references on to other workers, and frees a slot that loses its last
 * one. It looks at slots that it knows nothing of, as readahead does. It moves slots
 * to which it has the only reference, and empties clusters so. One thread is
 * the delegator, with discards. One turns areas off and on.
 *
 * The thread that allocated a slot notes that in plain memory, which stands for the
 * data on the device. So a slot that is handed out twice, freed twice or freed while
 * referred to is found. If only ordering is missing, ThreadSanitizer sees two
 * accesses that nothing orders. Every now and then all threads stop, and the areas
 * at rest are checked.
 *
 *   stress [-t THREADS] [-s SECONDS] [-m NTH] [-n NTH] [-b BATCH] [-r SEED]
 *
 * -m: every NTH allocation of memory fails; -n: at every NTH atomic operation, on
 * average, the thread yields to another one; -b: as deleg/batch in sysfs.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/processor.h>

#include "area.h"
#include "shim.h"

#define NR_AREAS	5
#define NR_BOXES	64
#define MAX_HELD	200
#define MAX_THREADS	60
#define DISCARDING	(~0u)

/* Stands for a per-core area; ssw_areas[type]. */
struct area {
	struct ssw_slots *slots;
	unsigned int *shadow;	/* by slot: the thread that has it; plain on purpose */
	int off;		/* hint: in swapoff, so workers free their slots */
};

static struct area *areas[NR_AREAS];

/* Stands for the reference on si->users, which makes swapoff wait for the delegator. */
static pthread_mutex_t users[NR_AREAS];

/* ssw_move_mutex, but one for each area */
static pthread_mutex_t movers[NR_AREAS];

/* A reference to, or the swap cache of, some slots of one cluster. */
struct held {
	unsigned int type;
	unsigned int slot;
	unsigned int nr;
	unsigned int gen;
	bool cache;
	bool shmem;
};

static struct held *boxes[NR_BOXES];

struct worker {
	pthread_t thread;
	unsigned int id;
	unsigned int home;
	unsigned int gen;
	u64 rand;
	bool fill;
	struct held *held[MAX_HELD];
	unsigned int nr_held;
	unsigned long ops, allocs, full, no_block, freed, waited, ahead, moved, raced;
};

static struct worker workers[MAX_THREADS];
static unsigned int nr_workers = 6;
static pthread_barrier_t barrier;
static int stop, finish, lean;
static unsigned long nr_swapoff, nr_swapoff_failed, nr_discards, nr_drained;

static unsigned int below(u64 *rand, unsigned int n)
{
	*rand ^= *rand << 13;
	*rand ^= *rand >> 7;
	*rand ^= *rand << 17;
	return (*rand >> 11) % n;
}

static struct area *area_get(unsigned int type)
{
	return rcu_dereference(areas[type]);
}

/* Return true if a slot is bad. The areas differ in this. */
static bool is_bad(unsigned int type, unsigned int slot, u64 *rand)
{
	switch (type) {
	case 1:		/* many, and a part of a cluster at the end */
		return !slot || !below(rand, 30);
	case 2:		/* none */
		return false;
	case 3:		/* so many that a cluster is full and empty all the time */
		return slot % SSW_CLUSTER_SLOTS < 500 || slot % 4;
	case 4:		/* a whole cluster, and one more */
		return !slot || slot / SSW_CLUSTER_SLOTS == 2 || slot == 2500;
	default:	/* the header */
		return !slot;
	}
}

static struct area *area_new(unsigned int type, u64 *rand)
{
	static const unsigned int size[NR_AREAS] = { 1536, 700, 1024, 3072, 3072 };
	struct area *area = calloc(1, sizeof(*area));
	unsigned int *bad = calloc(size[type], sizeof(*bad));
	unsigned int nr_bad = 0;

	for (unsigned int i = 0; i < size[type]; i++) {
		if (is_bad(type, i, rand))
			bad[nr_bad++] = i;
	}
	area->slots = test_slots_new(size[type], bad, nr_bad);
	free(bad);
	/* No cluster with a bad slot is discarded. */
	area->slots->use_discard = !(type & 1);
	/* The first cluster that ends. Areas 0 and 3 have none. */
	area->slots->use_reserve = type % 3;
	area->shadow = calloc(size[type], sizeof(*area->shadow));
	return area;
}

/* ---- workers ---- */

static void hold(struct worker *w, unsigned int type, unsigned int slot,
		 unsigned int nr, unsigned int gen, bool cache, bool shmem)
{
	struct held *h = malloc(sizeof(*h));

	*h = (struct held) { type, slot, nr, gen, cache, shmem };
	ssw_check(w->nr_held < MAX_HELD, "thread %u", w->id);
	w->held[w->nr_held++] = h;
}

/* Free slots in SSW_KIND_FREEING, as ssw_release() of swapmap.c does. */
static void release(struct worker *w, struct area *area, unsigned int slot,
		    unsigned int nr, unsigned int gen)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		ssw_check(area->shadow[slot + i] == gen, "slot %u is %#x's, not %#x's",
			  slot + i, area->shadow[slot + i], gen);
		area->shadow[slot + i] = 0;
	}
	for (i = 0; i < nr; i++)
		ssw_slot_free(area->slots, slot + i);
	ssw_cluster_freed(area->slots, ssw_slot_cluster(area->slots, slot), nr);
	w->freed += nr;
}

static void drop(struct worker *w, struct held *h)
{
	unsigned int run = 0, i;
	struct area *area;
	u64 word = 0;
	int err;

	rcu_read_lock();
	area = area_get(h->type);
	for (i = 0; i < h->nr; i++) {
		unsigned int slot = h->slot + i;

		ssw_check(area->shadow[slot] == h->gen, "slot %u is %#x's, not %#x's",
			  slot, area->shadow[slot], h->gen);
		err = h->cache ? ssw_slot_uncache(area->slots, slot, &word) :
				 ssw_slot_put(area->slots, slot, &word);
		ssw_check(!err, "slot %u, cache %d: %d", slot, h->cache, err);
		if (word == SSW_WORD_FREEING) {
			run++;
			continue;
		}
		if (run)
			release(w, area, slot - run, run, h->gen);
		run = 0;
	}
	if (run)
		release(w, area, h->slot + i - run, run, h->gen);
	rcu_read_unlock();
	free(h);
}

static void drop_at(struct worker *w, unsigned int at)
{
	struct held *h = w->held[at];

	w->held[at] = w->held[--w->nr_held];
	drop(w, h);
}

/* As ssw_meanwhile() of alloc.c. */
static void meanwhile(void *arg)
{
	struct worker *w = arg;
	struct area *area = area_get(w->home);

	if (!area || llist_empty(&area->slots->queue) || !ssw_token_trylock(area->slots))
		return;
	ssw_drain(area->slots, NULL, SSW_BY_HOLDER);
	ssw_token_release(area->slots);
}

static void allocate(struct worker *w)
{
	unsigned int type = below(&w->rand, 2) ? w->home : below(&w->rand, NR_AREAS);
	unsigned int order = below(&w->rand, 6) ? below(&w->rand, 5) * below(&w->rand, 2) :
						  below(&w->rand, SSW_NR_ORDERS);
	unsigned int slot, nr, gen, refs, i;
	struct ssw_slots *slots;
	enum ssw_result result;
	struct area *area;
	bool shmem;
	u64 first;

	if (type == 3)
		order = 0;
	nr = 1U << order;
	rcu_read_lock();
	area = area_get(type);
	if (!area)
		goto out;
	slots = area->slots;
	if (READ_ONCE(slots->full) || READ_ONCE(slots->closed))
		goto out;
	result = test_alloc(slots, type == w->home, order,
			    type != w->home ? 1 + w->id % SSW_NR_LANES :
			    below(&w->rand, 2) * below(&w->rand, SSW_NR_LANES + 1),
			    SSW_WORD_CACHE, &slot,
			    meanwhile, w);
	if (result != SSW_OK) {
		w->full += result == SSW_FULL;
		w->no_block += result == SSW_NO_BLOCK;
		goto out;
	}
	w->allocs++;
	gen = w->id << 24 | (++w->gen & 0xffffff);
	ssw_check(slot % nr == 0 && slot + nr <= slots->nr_slots, "slot %u", slot);
	for (i = 0; i < nr; i++) {
		ssw_check(!area->shadow[slot + i], "slot %u is %#x's", slot + i,
			  area->shadow[slot + i]);
		area->shadow[slot + i] = gen;
	}
	hold(w, type, slot, nr, gen, true, false);

	refs = below(&w->rand, 8) ? 1 + below(&w->rand, 3) : 0;
	shmem = refs == 1 && !below(&w->rand, 4);
	if (shmem)
		first = ssw_word_shmem(below(&w->rand, 2) * (w->id + 1), gen & 0xffff);
	else
		first = below(&w->rand, 2) ? SSW_WORD_ONE : ssw_word_excl(w->id + 1, gen & 0xffff);
	while (refs--) {
		for (i = 0; i < nr; i++)
			ssw_check(!ssw_slot_dup(slots, slot + i, first), "slot %u", slot + i);
		hold(w, type, slot, nr, gen, false, shmem);
	}
out:
	rcu_read_unlock();
}

/* Add a reference, as fork does. */
static void fork_one(struct worker *w, struct held *h)
{
	struct area *area;
	unsigned int i;

	if (h->cache || h->shmem)
		return;
	rcu_read_lock();
	area = area_get(h->type);
	for (i = 0; i < h->nr; i++)
		ssw_check(!ssw_slot_dup(area->slots, h->slot + i, SSW_WORD_ONE), "fork");
	rcu_read_unlock();
	hold(w, h->type, h->slot, h->nr, h->gen, false, false);
}

/* Put a slot that is referred to into the swap cache. */
static void cache_one(struct worker *w, struct held *h)
{
	unsigned int slot = h->slot + below(&w->rand, h->nr);
	struct area *area;
	int err;

	if (h->cache)
		return;
	rcu_read_lock();
	area = area_get(h->type);
	err = ssw_slot_cache(area->slots, slot);
	ssw_check(!err || err == -EEXIST, "slot %u: %d", slot, err);
	if (!err)
		hold(w, h->type, slot, 1, h->gen, true, false);
	rcu_read_unlock();
}

/* Put slots that the caller knows nothing of into the swap cache. */
static void readahead(struct worker *w)
{
	unsigned int type = below(&w->rand, NR_AREAS), slot;
	struct area *area;

	rcu_read_lock();
	area = area_get(type);
	if (!area)
		goto out;
	slot = below(&w->rand, area->slots->nr_slots + 20);
	for (unsigned int i = 0; i < 8; i++, slot++) {
		if (ssw_slot_cache(area->slots, slot))
			continue;
		w->ahead++;
		ssw_check(area->shadow[slot] && area->shadow[slot] != DISCARDING,
			  "slot %u is nobody's", slot);
		hold(w, type, slot, 1, area->shadow[slot], true, false);
		if (below(&w->rand, 2))
			drop_at(w, w->nr_held - 1);
	}
out:
	rcu_read_unlock();
}

/* Look for a slot in use, as swapoff does. */
static void scan(struct worker *w)
{
	struct area *area;

	rcu_read_lock();
	area = area_get(below(&w->rand, NR_AREAS));
	if (area) {
		unsigned int slot = ssw_slot_next(area->slots,
						  below(&w->rand, area->slots->nr_slots));

		ssw_check(ssw_word_kind(ssw_slot_read(area->slots, slot)) <= SSW_KIND_BAD,
			  "slot %u", slot);
	}
	rcu_read_unlock();
}

/* Become the owner, so that swapoff waits as it does where preemption is off. */
static void own(struct ssw_slots *slots)
{
	rcu_read_lock();
	while (!ssw_token_trylock(slots))
		sched_yield();
}

static void disown(struct ssw_slots *slots)
{
	ssw_token_release(slots);
	rcu_read_unlock();
}

/* Move a slot whose only reference is this worker's, who has its page table entry locked. */
static bool move_one(struct worker *w, struct area *area, struct held *h, u64 word,
		     unsigned int to)
{
	struct ssw_slots *slots = area->slots;
	unsigned int from = h->slot;
	bool moved;

	rcu_read_lock();
	ssw_check(!area->shadow[to], "slot %u is %#x's", to, area->shadow[to]);
	area->shadow[to] = h->gen;
	moved = ssw_slot_claim(slots, from, word);
	if (moved) {
		h->slot = to;
		ssw_slot_arrive(slots, to, word & ~SSW_WORD_MOVING);
		release(w, area, from, 1, h->gen);
		w->moved++;
	} else {
		release(w, area, to, 1, h->gen);
		w->raced++;
	}
	rcu_read_unlock();
	return moved;
}

/* Move what this worker can, and hold the cluster of the first of them, as a mover does. */
static void move_some(struct worker *w, struct held *first)
{
	struct held *some[16] = { first };
	unsigned int type = first->type, n = 0, nr = 1, slot, got, at;
	struct ssw_table *table;
	struct ssw_cluster *ci;
	struct ssw_slots *slots;
	struct area *area;
	u64 word[16];
	bool held;

	if (first->cache || first->shmem || first->nr > 1 || pthread_mutex_trylock(&movers[type]))
		return;
	rcu_read_lock();
	area = area_get(type);
	rcu_read_unlock();
	/* The reference keeps the area. */
	slots = area->slots;
	ci = ssw_slot_cluster(slots, first->slot);
	own(slots);
	held = ssw_cluster_hold(slots, ci, 1 + below(&w->rand, SSW_CLUSTER_SLOTS));
	disown(slots);

	for (at = 0; at < w->nr_held && nr < 16; at++) {
		struct held *h = w->held[at];

		if (h != first && h->type == type && h->nr == 1 && !h->cache && !h->shmem)
			some[nr++] = h;
	}
	for (at = 0; at < nr; at++) {
		int err;

		rcu_read_lock();
		err = ssw_slot_tag(slots, some[at]->slot, &word[n]);
		rcu_read_unlock();
		ssw_check(!err || err == -EEXIST || err == -EMLINK || err == -ENOENT ||
			  err == -EALREADY, "%d", err);
		if (!err)
			some[n++] = some[at];
	}
	if (below(&w->rand, 2))
		sched_yield();
	for (at = 0; at < n; at += got) {
		table = ssw_table_alloc(__GFP_HIGH);
		own(slots);
		got = ssw_cluster_alloc_moved(slots, n - at, &table, &slot);
		disown(slots);
		ssw_table_free(table);
		if (!got)
			break;
		for (unsigned int i = 0; i < got; i++)
			move_one(w, area, some[at + i], word[at + i], slot + i);
	}
	for (; at < n; at++) {
		rcu_read_lock();
		ssw_slot_untag(slots, some[at]->slot, word[at]);
		rcu_read_unlock();
	}
	own(slots);
	if (held)
		ssw_cluster_unhold(slots, ci);
	if (!below(&w->rand, 3))
		ssw_cluster_end_moves(slots);
	disown(slots);
	pthread_mutex_unlock(&movers[type]);
}

static struct held *box_swap(u64 *rand, struct held *h)
{
	return __atomic_exchange_n(&boxes[below(rand, NR_BOXES)], h, __ATOMIC_ACQ_REL);
}

/* Pass a reference on to another thread. */
static void pass_on(struct worker *w, unsigned int at)
{
	struct held *h = box_swap(&w->rand, w->held[at]);

	if (h)
		w->held[at] = h;
	else
		w->held[at] = w->held[--w->nr_held];
}

static void split(struct worker *w, struct held *h)
{
	unsigned int nr;

	if (h->nr == 1)
		return;
	nr = 1 + below(&w->rand, h->nr - 1);
	hold(w, h->type, h->slot + nr, h->nr - nr, h->gen, h->cache, h->shmem);
	h->nr = nr;
}

static void drop_off(struct worker *w)
{
	unsigned int at = 0;

	while (at < w->nr_held) {
		bool off;

		rcu_read_lock();
		off = READ_ONCE(area_get(w->held[at]->type)->off);
		rcu_read_unlock();
		if (off)
			drop_at(w, at);
		else
			at++;
	}
}

static void step(struct worker *w)
{
	unsigned int at;

	if (!below(&w->rand, 300))
		w->fill = !w->fill;
	if (!(++w->ops % 32))
		drop_off(w);
	while (w->nr_held > MAX_HELD - 16)
		drop_at(w, below(&w->rand, w->nr_held));
	/* Let clusters become empty from time to time. */
	if (READ_ONCE(lean) && below(&w->rand, 2)) {
		struct held *h = box_swap(&w->rand, NULL);

		if (h)
			drop(w, h);
		if (w->nr_held > 2)
			drop_at(w, below(&w->rand, w->nr_held));
	}
	if (!w->nr_held || below(&w->rand, 10) < (w->fill ? 4 : 1)) {
		allocate(w);
		return;
	}
	at = below(&w->rand, w->nr_held);
	switch (below(&w->rand, 13)) {
	case 12:
		move_some(w, w->held[at]);
		break;
	case 0:
		readahead(w);
		break;
	case 1:
		scan(w);
		break;
	case 2:
		fork_one(w, w->held[at]);
		break;
	case 3:
	case 4:
		cache_one(w, w->held[at]);
		break;
	case 5:
	case 6:
		pass_on(w, at);
		break;
	case 7:
		split(w, w->held[at]);
		break;
	default:
		drop_at(w, at);
		break;
	}
}

/* All threads wait here after each round, and the main thread checks meanwhile. */
static bool round_end(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return !READ_ONCE(finish);
}

static void *worker_fn(void *arg)
{
	struct worker *w = arg;

	ssw_thread_begin();
	do {
		while (!READ_ONCE(stop))
			step(w);
	} while (round_end());
	while (w->nr_held)
		drop_at(w, w->nr_held - 1);
	ssw_thread_end();
	return NULL;
}

/* ---- the delegator: delegd.c ---- */

static void discard(struct area *area, struct ssw_cluster *ci)
{
	unsigned int base = (ci - area->slots->cluster) * SSW_CLUSTER_SLOTS;
	unsigned int *at = area->shadow + base, i;

	for (i = 0; i < SSW_CLUSTER_SLOTS; i++) {
		ssw_check(!at[i], "slot %u is %#x's", base + i, at[i]);
		at[i] = DISCARDING;
	}
	sched_yield();
	for (i = 0; i < SSW_CLUSTER_SLOTS; i++) {
		ssw_check(at[i] == DISCARDING, "slot %u is %#x's", base + i, at[i]);
		at[i] = 0;
	}
	nr_discards++;
}

static void service(struct area *area)
{
	struct ssw_slots *slots = area->slots;
	struct ssw_cluster *ci;
	unsigned int nr;

	do {
		ssw_token_get(slots);
		nr = ssw_drain(slots, NULL, SSW_BY_DELEGATOR);
		ssw_slots_trim(slots);
		ssw_token_release(slots);
		nr_drained += nr;
	} while (nr && !READ_ONCE(stop));
	while (slots->use_discard) {
		ssw_token_get(slots);
		ci = ssw_cluster_to_discard(slots);
		ssw_token_release(slots);
		if (!ci)
			break;
		discard(area, ci);
		ssw_cluster_discarded(slots, ci);
		ssw_token_get(slots);
		ssw_drain(slots, NULL, SSW_BY_DELEGATOR);
		ssw_token_release(slots);
	}
}

static void *delegator_fn(void *arg)
{
	u64 rand = 0x9e3779b97f4a7c15ULL ^ (long)arg;

	ssw_thread_begin();
	do {
		while (!READ_ONCE(stop)) {
			unsigned int type = below(&rand, NR_AREAS);

			pthread_mutex_lock(&users[type]);
			if (areas[type])
				service(areas[type]);
			pthread_mutex_unlock(&users[type]);
			if (!below(&rand, 8))
				rcu_barrier();
			usleep(below(&rand, 200));
		}
	} while (round_end());
	ssw_thread_end();
	return NULL;
}

/* ---- swapoff and swapon ---- */

static unsigned int slots_used(struct ssw_slots *slots)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < slots->nr_clusters; i++)
		used += atomic_read(&slots->cluster[i].used);
	return used;
}

static void area_free(struct area *area)
{
	for (unsigned int i = 0; i < area->slots->nr_slots; i++)
		ssw_check(!area->shadow[i], "slot %u is %#x's", i, area->shadow[i]);
	test_slots_check(area->slots);
	test_slots_free(area->slots);
	free(area->shadow);
	free(area);
}

static void swapoff(struct worker *w, unsigned int type)
{
	struct area *area = areas[type];
	u64 allocated;

	WRITE_ONCE(area->slots->closed, true);
	synchronize_rcu();
	allocated = READ_ONCE(area->slots->allocated);
	WRITE_ONCE(area->off, 1);
	while (slots_used(area->slots) && !READ_ONCE(stop)) {
		struct held *h = box_swap(&w->rand, NULL);

		if (h)
			drop(w, h);
		else
			sched_yield();
	}
	ssw_check(READ_ONCE(area->slots->allocated) == allocated,
		  "allocated from an area that is off");
	if (slots_used(area->slots)) {
		nr_swapoff_failed++;
		WRITE_ONCE(area->off, 0);
		WRITE_ONCE(area->slots->closed, false);
		return;
	}
	pthread_mutex_lock(&users[type]);
	WRITE_ONCE(areas[type], NULL);
	pthread_mutex_unlock(&users[type]);
	synchronize_rcu();
	area_free(area);
	nr_swapoff++;

	area = area_new(type, &w->rand);
	pthread_mutex_lock(&users[type]);
	rcu_assign_pointer(areas[type], area);
	pthread_mutex_unlock(&users[type]);
}

static void *swapoff_fn(void *arg)
{
	struct worker *w = arg;

	ssw_thread_begin();
	do {
		while (!READ_ONCE(stop)) {
			usleep(1000 + below(&w->rand, 20000));
			if (!READ_ONCE(stop))
				swapoff(w, below(&w->rand, NR_AREAS));
		}
	} while (round_end());
	ssw_thread_end();
	return NULL;
}

/* ---- rest ---- */

static void check_all(void)
{
	for (unsigned int t = 0; t < NR_AREAS; t++) {
		struct area *area = areas[t];
		unsigned int i, nr = 0;

		for (i = 0; i < area->slots->nr_slots; i++)
			nr += !!area->shadow[i];
		ssw_check(nr == slots_used(area->slots), "area %u: %u slots in use, counted %u",
			  t, nr, slots_used(area->slots));
		test_slots_check(area->slots);
	}
}

/* Check that no slot is in use, and that each can be allocated, and only once. */
static void check_empty(struct worker *w, unsigned int type)
{
	struct area *area = areas[type];
	struct ssw_slots *slots = area->slots;
	unsigned int slot, nr = 0, i;
	enum ssw_result result;

	WRITE_ONCE(stop, 0);
	service(area);
	ssw_check(!slots_used(slots), "area %u", type);
	ssw_check(!slots->nr_tables, "area %u: %u tables", type, slots->nr_tables);
	for (i = 0; i < slots->nr_clusters; i++)
		ssw_check(slots->cluster[i].state == SSW_CL_FREE ||
			  slots->cluster[i].state == SSW_CL_RESERVE ||
			  slots->cluster[i].nr_bad == SSW_CLUSTER_SLOTS,
			  "area %u, cluster %u: state %u", type, i, slots->cluster[i].state);
	test_slots_check(slots);

	rcu_read_lock();
	while ((result = test_alloc(slots, true, 0, nr % 3, SSW_WORD_CACHE, &slot, NULL,
				    NULL)) == SSW_OK) {
		ssw_check(!area->shadow[slot], "slot %u was given out twice", slot);
		area->shadow[slot] = 1;
		nr++;
	}
	ssw_check(result == SSW_FULL && slots->full, "result %d", result);
	ssw_check(nr == test_slots_capacity(slots), "area %u: %u slots of %u", type, nr,
		  test_slots_capacity(slots));
	for (i = 0; i < slots->nr_slots; i++) {
		if (area->shadow[i])
			drop(w, memcpy(malloc(sizeof(struct held)),
				       &(struct held) { type, i, 1, 1, true, false },
				       sizeof(struct held)));
	}
	rcu_read_unlock();
	service(area);
	ssw_check(!slots->nr_tables, "area %u: %u tables", type, slots->nr_tables);
	area_free(area);
}

static void report(unsigned int rounds)
{
	struct worker sum = {};

	for (unsigned int i = 0; i < nr_workers; i++) {
		sum.ops += workers[i].ops;
		sum.allocs += workers[i].allocs;
		sum.full += workers[i].full;
		sum.no_block += workers[i].no_block;
		sum.freed += workers[i].freed;
		sum.ahead += workers[i].ahead;
		sum.moved += workers[i].moved;
		sum.raced += workers[i].raced;
	}
	printf("%u rounds: %lu steps, %lu blocks allocated, %lu times full, %lu no block,\n"
	       "%lu slots freed, %lu read ahead, %lu moved, %lu used before they were moved;\n"
	       "%lu entries drained by the delegator,\n"
	       "%lu discards, areas turned off %lu times, failed %lu times\n",
	       rounds, sum.ops, sum.allocs, sum.full, sum.no_block, sum.freed, sum.ahead,
	       sum.moved, sum.raced, nr_drained, nr_discards, nr_swapoff, nr_swapoff_failed);
}

int main(int argc, char **argv)
{
	unsigned int seconds = 5, rounds = 0, nr_threads = 8, i;
	struct worker *self;
	pthread_t deleg, off;
	u64 seed = 1;
	time_t end;
	int opt;

	while ((opt = getopt(argc, argv, "t:s:m:n:r:b:")) != -1) {
		switch (opt) {
		case 't':
			nr_threads = atoi(optarg);
			break;
		case 's':
			seconds = atoi(optarg);
			break;
		case 'm':
			ssw_fail_nth = atoi(optarg);
			break;
		case 'n':
			ssw_noise_nth = atoi(optarg);
			break;
		case 'r':
			seed = atoi(optarg);
			break;
		case 'b':
			ssw_deleg_batch = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	ssw_check(nr_threads > 2 && nr_threads < MAX_THREADS, "-t 3 to %u", MAX_THREADS - 1);
	nr_workers = nr_threads - 2;
	if (!ssw_noise_nth)
		ssw_noise_nth = 100;
	ssw_thread_begin();
	ssw_table_init();
	self = &workers[nr_workers];
	for (i = 0; i <= nr_workers; i++) {
		workers[i].id = i + 1;
		workers[i].home = i % NR_AREAS;
		workers[i].rand = (seed * 1000 + i + 1) * 0x9e3779b97f4a7c15ULL;
	}
	for (i = 0; i < NR_AREAS; i++) {
		pthread_mutex_init(&users[i], NULL);
		pthread_mutex_init(&movers[i], NULL);
		areas[i] = area_new(i, &self->rand);
	}
	pthread_barrier_init(&barrier, NULL, nr_threads + 1);
	for (i = 0; i < nr_workers; i++)
		pthread_create(&workers[i].thread, NULL, worker_fn, &workers[i]);
	pthread_create(&deleg, NULL, delegator_fn, (void *)(long)seed);
	pthread_create(&off, NULL, swapoff_fn, self);

	end = time(NULL) + seconds;
	while (!finish) {
		usleep(100000);
		WRITE_ONCE(stop, 1);
		pthread_barrier_wait(&barrier);
		check_all();
		WRITE_ONCE(lean, ++rounds % 3 == 2);
		if (time(NULL) >= end)
			WRITE_ONCE(finish, 1);
		else
			WRITE_ONCE(stop, 0);
		pthread_barrier_wait(&barrier);
	}
	for (i = 0; i < nr_workers; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(deleg, NULL);
	pthread_join(off, NULL);
	for (i = 0; i < NR_BOXES; i++) {
		if (boxes[i])
			drop(self, boxes[i]);
	}
	check_all();
	ssw_fail_nth = 0;
	for (i = 0; i < NR_AREAS; i++)
		check_empty(self, i);
	rcu_barrier();
	ssw_check(!ssw_allocated(), "%ld allocations left", ssw_allocated());
	report(rounds);
	ssw_thread_end();
	return 0;
}
