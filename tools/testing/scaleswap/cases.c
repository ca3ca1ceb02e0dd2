// SPDX-License-Identifier: GPL-2.0
/*
 * Single interleavings, played by one thread: between two steps of one CPU it plays
 * the steps of others. Each is a bug that was there, or nearly was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bug.h>
#include <linux/kernel.h>

#include "area.h"
#include "shim.h"

static unsigned int get_as(struct ssw_slots *slots, unsigned int order, unsigned int lane)
{
	unsigned int slot;

	ssw_check(test_alloc(slots, true, order, lane, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_OK, "order %u", order);
	return slot;
}

static unsigned int get(struct ssw_slots *slots, unsigned int order)
{
	return get_as(slots, order, 0);
}

/* Free the words only; the cluster does not count them yet. */
static void put_words(struct ssw_slots *slots, unsigned int slot, unsigned int nr)
{
	for (; nr; slot++, nr--) {
		u64 word;

		ssw_check(!ssw_slot_put(slots, slot, &word), "slot %u", slot);
		ssw_check(word == SSW_WORD_FREEING, "slot %u", slot);
		ssw_slot_free(slots, slot);
	}
}

static void put(struct ssw_slots *slots, unsigned int slot, unsigned int nr)
{
	put_words(slots, slot, nr);
	ssw_cluster_freed(slots, ssw_slot_cluster(slots, slot), nr);
}

/* Swap one page out and in repeatedly: one table is enough. */
static void case_one_by_one(void)
{
	struct ssw_slots *slots = test_slots_new(16 * SSW_CLUSTER_SLOTS, NULL, 0);

	for (unsigned int i = 0; i < 4 * SSW_CLUSTER_SLOTS; i++) {
		put(slots, get(slots, 0), 1);
		test_slots_check(slots);
	}
	test_drain(slots);
	ssw_token_get(slots);
	ssw_slots_trim(slots);
	ssw_token_release(slots);
	test_slots_check(slots);
	ssw_check(!slots->nr_tables, "%u tables left", slots->nr_tables);
	test_slots_free(slots);
}

/*
 * A cluster is at the end of one order's cursor, and another order fills it. All of
 * it is freed before the owner looks into the queue.
 */
static void case_two_cursors(void)
{
	struct ssw_slots *slots = test_slots_new(SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int i;

	for (i = 0; i < SSW_CLUSTER_SLOTS; i += 8) {
		ssw_check(get(slots, 3) == i, "not in sequence");
		if (!i)
			continue;
		/* So that the last one does not fill it. */
		if (i == 8)
			put(slots, 0, 8);
	}
	for (i = 0; i < 8; i++)
		ssw_check(get(slots, 0) == i, "not in sequence");
	put(slots, 0, SSW_CLUSTER_SLOTS);
	ssw_check(get(slots, 3) == 0, "not from the start");
	put(slots, 0, 8);
	test_drain(slots);
	test_slots_check(slots);
	test_slots_free(slots);
}

/*
 * A lane has a cluster of its own as long as there is an empty one, and then shares
 * the rest. If two cursors are in a cluster that ends, both leave it.
 */
static void case_lanes(void)
{
	struct ssw_slots *slots = test_slots_new(3 * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int own, lane, i;

	own = get_as(slots, 0, 0) / SSW_CLUSTER_SLOTS;
	lane = get_as(slots, 0, 1) / SSW_CLUSTER_SLOTS;
	ssw_check(own != lane, "both in cluster %u", own);
	for (i = 1; i < SSW_CLUSTER_SLOTS; i++) {
		unsigned int slot = get_as(slots, 0, i % 4 == 3);

		ssw_check(slot / SSW_CLUSTER_SLOTS == (i % 4 == 3 ? lane : own),
			  "slot %u", slot);
	}
	test_slots_check(slots);
	/* A huge block ignores the lane: one cluster is left. */
	i = get_as(slots, SSW_CLUSTER_SHIFT, 1);
	put(slots, i, SSW_CLUSTER_SLOTS);
	test_drain(slots);
	/* Take all slots. At the end both cursors take from the same cluster. */
	for (i = SSW_CLUSTER_SLOTS + 1; i < 3 * SSW_CLUSTER_SLOTS; i++)
		get_as(slots, 0, i % 2);
	ssw_check(test_alloc(slots, true, 0, 1, SSW_WORD_ONE, &i, NULL, NULL) == SSW_FULL,
		  "not full");
	test_slots_check(slots);
	put(slots, 5, 3);
	test_drain(slots);
	ssw_check(get_as(slots, 0, 1) == 5 && get_as(slots, 0, 0) == 6,
		  "not what was freed");
	put(slots, 5, 2);
	for (i = 0; i < 3; i++) {
		unsigned int skip = i ? 0 : 8;

		if (!i)
			put(slots, 0, 5);
		put(slots, i * SSW_CLUSTER_SLOTS + skip, SSW_CLUSTER_SLOTS - skip);
	}
	test_drain(slots);
	test_slots_check(slots);
	ssw_token_get(slots);
	ssw_slots_trim(slots);
	ssw_token_release(slots);
	ssw_check(!slots->nr_tables, "%u tables left", slots->nr_tables);
	test_slots_check(slots);
	test_slots_free(slots);
}

/*
 * The owner takes freed slots again before the frees are counted. Then too many slots
 * are counted as used, and the cluster looks full.
 */
static void case_counted_twice(void)
{
	struct ssw_slots *slots = test_slots_new(SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_cluster *ci = slots->cluster;
	unsigned int slot;

	for (unsigned int i = 0; i < SSW_CLUSTER_SLOTS - 4; i += 2)
		get(slots, 1);
	ssw_check(get(slots, 0) == SSW_CLUSTER_SLOTS - 4, "not in sequence");
	ssw_check(get(slots, 1) == SSW_CLUSTER_SLOTS - 2, "not in sequence");
	put(slots, 100, 1);
	put_words(slots, 0, 2);
	ssw_check(get(slots, 1) == 0, "not those");
	ssw_check(ci->state == SSW_CL_FULL, "state %u", ci->state);
	/* The cursor still leads there. */
	ssw_check(get(slots, 0) == SSW_CLUSTER_SLOTS - 3, "not the next");
	ssw_check(atomic_read(&ci->used) == SSW_CLUSTER_SLOTS + 1, "used %d",
		  atomic_read(&ci->used));
	ssw_cluster_freed(slots, ci, 2);
	test_drain(slots);
	test_slots_check(slots);
	ssw_check(get(slots, 0) == 100, "not that");
	ssw_check(test_alloc(slots, true, 0, 0, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_FULL,
		  "not full");
	put(slots, 0, SSW_CLUSTER_SLOTS);
	test_drain(slots);
	test_slots_check(slots);
	test_slots_free(slots);
}

/*
 * Two CPUs free slots of a full cluster. The first one has lowered the count, and is
 * slow to queue the cluster. The second queues it, the owner finds it empty, and its
 * discard begins. Now the first queues it, too: that must not end the discard.
 */
static void case_late_notice(void)
{
	struct ssw_slots *slots = test_slots_new(SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_cluster *ci = slots->cluster;
	unsigned int slot;

	slots->use_discard = true;
	for (unsigned int i = 0; i < SSW_CLUSTER_SLOTS; i++)
		get(slots, 0);
	put_words(slots, 0, 1);
	atomic_sub_return(1, &ci->used);
	ssw_check(ci->state == SSW_CL_FULL, "state %u", ci->state);

	put(slots, 1, SSW_CLUSTER_SLOTS - 1);
	test_drain(slots);
	ssw_check(ci->state == SSW_CL_DISCARD, "state %u", ci->state);
	ssw_token_get(slots);
	ssw_check(ssw_cluster_to_discard(slots) == ci, "no cluster to discard");
	ssw_token_release(slots);

	ssw_cluster_queue(slots, ci);
	test_drain(slots);
	ssw_check(test_alloc(slots, true, 0, 0, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_FULL,
		  "slot %u was allocated while it is being discarded", slot);

	ssw_cluster_discarded(slots, ci);
	test_drain(slots);
	get(slots, 0);
	put(slots, 0, 1);
	test_drain(slots);
	test_slots_check(slots);
	test_slots_free(slots);
}

/* Take all slots in pairs, and free one of each: free slots, but no pair. */
static struct ssw_slots *halves(unsigned int clusters)
{
	struct ssw_slots *slots = test_slots_new(clusters * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int slot;

	for (unsigned int i = 0; i < clusters * SSW_CLUSTER_SLOTS / 2; i++)
		get(slots, 1);
	for (slot = 1; slot < slots->nr_slots; slot += 2)
		put(slots, slot, 1);
	test_drain(slots);
	test_slots_check(slots);
	return slots;
}

static void halves_gone(struct ssw_slots *slots)
{
	for (unsigned int slot = 0; slot < slots->nr_slots; slot += 2)
		put(slots, slot, 1);
	test_drain(slots);
	ssw_token_get(slots);
	ssw_slots_trim(slots);
	ssw_token_release(slots);
	test_slots_check(slots);
	test_slots_free(slots);
}

static enum ssw_result get_pair(struct ssw_slots *slots, unsigned int *slot)
{
	enum ssw_result result;

	slots->scanned = 0;
	result = test_alloc(slots, true, 1, 0, SSW_WORD_ONE, slot, NULL, NULL);
	test_slots_check(slots);
	return result;
}

/*
 * Requests search for a pair a few clusters at a time. Then it is known that there is
 * none, until a slot is freed. Single slots are found meanwhile.
 */
static void case_no_block(void)
{
	struct ssw_slots *slots = halves(40);
	unsigned int slot, again, i;

	for (int round = 0; round < 3; round++) {
		unsigned int words = 0;

		for (i = 0; i < 40; i++) {
			ssw_check(get_pair(slots, &slot) == SSW_NO_BLOCK, "a pair at %u", slot);
			if (!slots->scanned)
				break;
			words += slots->scanned;
			ssw_check(slots->scanned <= SSW_DRAIN_WORDS, "%u words",
				  slots->scanned);
		}
		ssw_check(i > 1 && i < 40, "known after %u requests", i);
		ssw_check(words == slots->nr_slots, "%u words read of %u", words,
			  slots->nr_slots);
		/* No reason to search again, since no slot was freed. */
		slot = get(slots, 0);
		ssw_check(slot % 2, "slot %u", slot);
		ssw_check(get_pair(slots, &again) == SSW_NO_BLOCK && !slots->scanned,
			  "%u words", slots->scanned);
		put(slots, slot, 1);
	}
	/* Free one in the cluster that was searched first. */
	put(slots, 20, 1);
	for (i = 0; get_pair(slots, &slot) != SSW_OK; i++)
		ssw_check(i < 40, "the pair is not found");
	ssw_check(slot == 20, "slot %u", slot);
	put(slots, 21, 1);
	halves_gone(slots);
}

/* Requests that read many words are not all served in one drain. */
static void case_scan_limit(void)
{
	struct ssw_slots *slots = halves(20 * 8);
	struct ssw_request req[20];
	unsigned int done = 0, nr;

	for (int i = 0; i < 20; i++) {
		req[i] = (struct ssw_request){
			.node.is_request = true, .order = 1, .word = SSW_WORD_ONE,
		};
		llist_add(&req[i].node.link, &slots->queue);
	}
	for (int i = 0; done < 20; i++) {
		ssw_token_get(slots);
		nr = ssw_drain(slots, NULL, SSW_BY_HOLDER);
		ssw_check(nr && slots->scanned <= 2 * SSW_DRAIN_WORDS, "%u requests, %u words",
			  nr, slots->scanned);
		ssw_token_release(slots);
		ssw_check(i || nr < 20, "all done at once");
		done += nr;
	}
	for (int i = 0; i < 20; i++)
		ssw_check(req[i].done && req[i].result == SSW_NO_BLOCK, "request %d", i);
	halves_gone(slots);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "one_by_one", case_one_by_one },
	{ "two_cursors", case_two_cursors },
	{ "lanes", case_lanes },
	{ "counted_twice", case_counted_twice },
	{ "late_notice", case_late_notice },
	{ "no_block", case_no_block },
	{ "scan_limit", case_scan_limit },
};

int main(int argc, char **argv)
{
	ssw_thread_begin();
	ssw_table_init();
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		printf("case %s\n", cases[i].name);
		rcu_read_lock();
		cases[i].run();
		rcu_read_unlock();
		rcu_barrier();
		ssw_check(!ssw_allocated(), "%ld allocations left", ssw_allocated());
	}
	ssw_thread_end();
	return 0;
}
