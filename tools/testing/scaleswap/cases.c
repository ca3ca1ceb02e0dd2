// SPDX-License-Identifier: GPL-2.0
/*
 * Single interleavings, played by one thread: what a CPU does between two of
 * its own steps, others do in between. Each is a fault that was, or nearly was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bug.h>
#include <linux/kernel.h>

#include "area.h"
#include "shim.h"

static unsigned int get_as(struct ssw_space *space, unsigned int order, unsigned int lane)
{
	unsigned int slot;

	ssw_check(test_alloc(space, true, order, lane, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_OK, "order %u", order);
	return slot;
}

static unsigned int get(struct ssw_space *space, unsigned int order)
{
	return get_as(space, order, 0);
}

/* The words only; the cluster does not know yet. */
static void put_words(struct ssw_space *space, unsigned int slot, unsigned int nr)
{
	for (; nr; slot++, nr--) {
		u64 word;

		ssw_check(!ssw_slot_put(space, slot, &word), "slot %u", slot);
		ssw_check(word == SSW_WORD_FREEING, "slot %u", slot);
		ssw_slot_free(space, slot);
	}
}

static void put(struct ssw_space *space, unsigned int slot, unsigned int nr)
{
	put_words(space, slot, nr);
	ssw_cluster_freed(space, ssw_slot_cluster(space, slot), nr);
}

/* One page out, one in, again and again: one table is enough. */
static void case_one_by_one(void)
{
	struct ssw_space *space = test_space_new(16 * SSW_CLUSTER_SLOTS, NULL, 0);

	for (unsigned int i = 0; i < 4 * SSW_CLUSTER_SLOTS; i++) {
		put(space, get(space, 0), 1);
		test_space_check(space);
	}
	test_drain(space);
	test_token_get(space);
	ssw_space_trim(space);
	ssw_token_release(space);
	test_space_check(space);
	ssw_check(!space->nr_tables, "%u tables left", space->nr_tables);
	test_space_free(space);
}

/*
 * A cluster is at the end of one order's cursor, another order fills it, and
 * all of it is freed before the owner looks into the queue.
 */
static void case_two_cursors(void)
{
	struct ssw_space *space = test_space_new(SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int i;

	for (i = 0; i < SSW_CLUSTER_SLOTS; i += 8) {
		ssw_check(get(space, 3) == i, "not in sequence");
		if (!i)
			continue;
		/* So that the last one does not fill it. */
		if (i == 8)
			put(space, 0, 8);
	}
	for (i = 0; i < 8; i++)
		ssw_check(get(space, 0) == i, "not in sequence");
	put(space, 0, SSW_CLUSTER_SLOTS);
	ssw_check(get(space, 3) == 0, "not from the start");
	put(space, 0, 8);
	test_drain(space);
	test_space_check(space);
	test_space_free(space);
}

/*
 * A lane has a cluster of its own as long as there is an empty one, and then shares
 * what is left; one that two cursors are in is given up by both.
 */
static void case_lanes(void)
{
	struct ssw_space *space = test_space_new(3 * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int own, lane, i;

	own = get_as(space, 0, 0) / SSW_CLUSTER_SLOTS;
	lane = get_as(space, 0, 1) / SSW_CLUSTER_SLOTS;
	ssw_check(own != lane, "both in cluster %u", own);
	for (i = 1; i < SSW_CLUSTER_SLOTS; i++) {
		unsigned int slot = get_as(space, 0, i % 4 == 3);

		ssw_check(slot / SSW_CLUSTER_SLOTS == (i % 4 == 3 ? lane : own),
			  "slot %u", slot);
	}
	test_space_check(space);
	/* Huge, whosever it is: there is one place left. */
	i = get_as(space, SSW_CLUSTER_SHIFT, 1);
	put(space, i, SSW_CLUSTER_SLOTS);
	test_drain(space);
	/* All that there is, and both at the end take from the same cluster. */
	for (i = SSW_CLUSTER_SLOTS + 1; i < 3 * SSW_CLUSTER_SLOTS; i++)
		get_as(space, 0, i % 2);
	ssw_check(test_alloc(space, true, 0, 1, SSW_WORD_ONE, &i, NULL, NULL) == SSW_FULL,
		  "not full");
	test_space_check(space);
	put(space, 5, 3);
	test_drain(space);
	ssw_check(get_as(space, 0, 1) == 5 && get_as(space, 0, 0) == 6,
		  "not what was freed");
	put(space, 5, 2);
	for (i = 0; i < 3; i++) {
		unsigned int skip = i ? 0 : 8;

		if (!i)
			put(space, 0, 5);
		put(space, i * SSW_CLUSTER_SLOTS + skip, SSW_CLUSTER_SLOTS - skip);
	}
	test_drain(space);
	test_space_check(space);
	test_token_get(space);
	ssw_space_trim(space);
	ssw_token_release(space);
	ssw_check(!space->nr_tables, "%u tables left", space->nr_tables);
	test_space_check(space);
	test_space_free(space);
}

/*
 * Slots are freed and before that is counted, the owner uses them again: more
 * are counted as used than are, and the cluster is taken to be full.
 */
static void case_counted_twice(void)
{
	struct ssw_space *space = test_space_new(SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_cluster *ci = space->cluster;
	unsigned int slot;

	for (unsigned int i = 0; i < SSW_CLUSTER_SLOTS - 4; i += 2)
		get(space, 1);
	ssw_check(get(space, 0) == SSW_CLUSTER_SLOTS - 4, "not in sequence");
	ssw_check(get(space, 1) == SSW_CLUSTER_SLOTS - 2, "not in sequence");
	put(space, 100, 1);
	put_words(space, 0, 2);
	ssw_check(get(space, 1) == 0, "not those");
	ssw_check(ci->state == SSW_CL_FULL, "state %u", ci->state);
	/* The cursor still leads there. */
	ssw_check(get(space, 0) == SSW_CLUSTER_SLOTS - 3, "not the next");
	ssw_check(atomic_read(&ci->used) == SSW_CLUSTER_SLOTS + 1, "used %d",
		  atomic_read(&ci->used));
	ssw_cluster_freed(space, ci, 2);
	test_drain(space);
	test_space_check(space);
	ssw_check(get(space, 0) == 100, "not that");
	ssw_check(test_alloc(space, true, 0, 0, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_FULL,
		  "not full");
	put(space, 0, SSW_CLUSTER_SLOTS);
	test_drain(space);
	test_space_check(space);
	test_space_free(space);
}

/*
 * Two free slots of a full cluster. The first one has lowered the count, and is
 * slow to queue the cluster. The second queues it, it is found empty and goes
 * to be discarded. Now the first queues it, too: that must not end the discard.
 */
static void case_late_notice(void)
{
	struct ssw_space *space = test_space_new(SSW_CLUSTER_SLOTS, NULL, 0);
	struct ssw_cluster *ci = space->cluster;
	unsigned int slot;

	space->discard = true;
	for (unsigned int i = 0; i < SSW_CLUSTER_SLOTS; i++)
		get(space, 0);
	put_words(space, 0, 1);
	atomic_sub_return(1, &ci->used);
	ssw_check(ci->state == SSW_CL_FULL, "state %u", ci->state);

	put(space, 1, SSW_CLUSTER_SLOTS - 1);
	test_drain(space);
	ssw_check(ci->state == SSW_CL_STALE, "state %u", ci->state);
	test_token_get(space);
	ssw_check(ssw_cluster_stale(space) == ci, "no stale cluster");
	ssw_token_release(space);

	ssw_cluster_queue(space, ci);
	test_drain(space);
	ssw_check(test_alloc(space, true, 0, 0, SSW_WORD_ONE, &slot, NULL, NULL) ==
		  SSW_FULL,
		  "slot %u was allocated while it is being discarded", slot);

	ssw_cluster_discarded(space, ci);
	test_drain(space);
	get(space, 0);
	put(space, 0, 1);
	test_drain(space);
	test_space_check(space);
	test_space_free(space);
}

/* Take all in pairs, and give back one of each: free slots, but no pair. */
static struct ssw_space *halves(unsigned int clusters)
{
	struct ssw_space *space = test_space_new(clusters * SSW_CLUSTER_SLOTS, NULL, 0);
	unsigned int slot;

	for (unsigned int i = 0; i < clusters * SSW_CLUSTER_SLOTS / 2; i++)
		get(space, 1);
	for (slot = 1; slot < space->nr_slots; slot += 2)
		put(space, slot, 1);
	test_drain(space);
	test_space_check(space);
	return space;
}

static void halves_gone(struct ssw_space *space)
{
	for (unsigned int slot = 0; slot < space->nr_slots; slot += 2)
		put(space, slot, 1);
	test_drain(space);
	test_token_get(space);
	ssw_space_trim(space);
	ssw_token_release(space);
	test_space_check(space);
	test_space_free(space);
}

static enum ssw_result get_pair(struct ssw_space *space, unsigned int *slot)
{
	enum ssw_result result;

	space->scanned = 0;
	result = test_alloc(space, true, 1, 0, SSW_WORD_ONE, slot, NULL, NULL);
	test_space_check(space);
	return result;
}

/*
 * That there is no pair is found out a few clusters at a time, and then known until
 * a slot is freed. Single slots are found meanwhile.
 */
static void case_no_block(void)
{
	struct ssw_space *space = halves(40);
	unsigned int slot, again, i;

	for (int round = 0; round < 3; round++) {
		unsigned int words = 0;

		for (i = 0; i < 40; i++) {
			ssw_check(get_pair(space, &slot) == SSW_NO_BLOCK, "a pair at %u", slot);
			if (!space->scanned)
				break;
			words += space->scanned;
			ssw_check(space->scanned <= SSW_DRAIN_WORDS, "%u words",
				  space->scanned);
		}
		ssw_check(i > 1 && i < 40, "known after %u requests", i);
		ssw_check(words == space->nr_slots, "%u words read of %u", words,
			  space->nr_slots);
		/* Not a reason to look again, as nothing was freed. */
		slot = get(space, 0);
		ssw_check(slot % 2, "slot %u", slot);
		ssw_check(get_pair(space, &again) == SSW_NO_BLOCK && !space->scanned,
			  "%u words", space->scanned);
		put(space, slot, 1);
	}
	/* One is freed, in the cluster that was looked at first. */
	put(space, 20, 1);
	for (i = 0; get_pair(space, &slot) != SSW_OK; i++)
		ssw_check(i < 40, "the pair is not found");
	ssw_check(slot == 20, "slot %u", slot);
	put(space, 21, 1);
	halves_gone(space);
}

/* Requests that read much are not all done with the token held once. */
static void case_scan_limit(void)
{
	struct ssw_space *space = halves(20 * 8);
	struct ssw_task task[20];
	unsigned int done = 0, nr;

	for (int i = 0; i < 20; i++) {
		task[i] = (struct ssw_task){ .node.task = true, .order = 1, .word = SSW_WORD_ONE };
		llist_add(&task[i].node.link, &space->queue);
	}
	for (int i = 0; done < 20; i++) {
		test_token_get(space);
		nr = ssw_drain(space, NULL, SSW_BY_HOLDER);
		ssw_check(nr && space->scanned <= 2 * SSW_DRAIN_WORDS, "%u requests, %u words",
			  nr, space->scanned);
		ssw_token_release(space);
		ssw_check(i || nr < 20, "all done at once");
		done += nr;
	}
	for (int i = 0; i < 20; i++)
		ssw_check(task[i].done && task[i].result == SSW_NO_BLOCK, "request %d", i);
	halves_gone(space);
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
