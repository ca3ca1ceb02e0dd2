// SPDX-License-Identifier: GPL-2.0
/*
 * An area for the tests, and the checks of it when it is at rest.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/bug.h>
#include <linux/kernel.h>

#include "area.h"
#include "shim.h"

struct ssw_slots *test_slots_new(unsigned int nr_slots, const unsigned int *bad,
				 unsigned int nr_bad)
{
	struct ssw_slots *slots;
	unsigned int i;

	slots = aligned_alloc(__alignof__(*slots), sizeof(*slots));
	*slots = (struct ssw_slots) {
		.nr_slots = nr_slots,
		.nr_clusters = DIV_ROUND_UP(nr_slots, SSW_CLUSTER_SLOTS),
		.nr_bad = nr_bad,
	};
	slots->cluster = aligned_alloc(__alignof__(*slots->cluster),
				       slots->nr_clusters * sizeof(*slots->cluster));
	memset(slots->cluster, 0, slots->nr_clusters * sizeof(*slots->cluster));
	slots->bad = calloc(nr_bad + 1, sizeof(*slots->bad));
	for (i = 0; i < nr_bad; i++) {
		ssw_check(!i || bad[i - 1] < bad[i], "not sorted");
		slots->bad[i] = bad[i];
		ssw_slot_cluster(slots, bad[i])->nr_bad++;
	}
	if (nr_slots % SSW_CLUSTER_SLOTS)
		slots->cluster[slots->nr_clusters - 1].nr_bad +=
			SSW_CLUSTER_SLOTS - nr_slots % SSW_CLUSTER_SLOTS;
	ssw_slots_lists_init(slots);
	ssw_token_init(slots);
	return slots;
}

void test_slots_free(struct ssw_slots *slots)
{
	for (unsigned int i = 0; i < slots->nr_clusters; i++)
		ssw_table_free(slots->cluster[i].table);
	free(slots->cluster);
	free(slots->bad);
	free(slots);
}

unsigned int test_slots_capacity(const struct ssw_slots *slots)
{
	return slots->nr_slots - slots->nr_bad;
}

enum ssw_result test_alloc(struct ssw_slots *slots, bool home, unsigned int order,
			   unsigned int lane, u64 word, unsigned int *slot,
			   void (*meanwhile)(void *), void *arg)
{
	struct ssw_request req = { .word = word, .order = order, .lane = lane };

	for (;;) {
		if (home && ssw_token_trylock(slots)) {
			if (!llist_empty(&slots->queue) || slots->backlog)
				ssw_drain(slots, NULL, SSW_BY_HOLDER);
			ssw_cluster_alloc(slots, &req);
			ssw_token_release(slots);
		} else {
			ssw_request_delegate(slots, &req, meanwhile, arg);
		}
		if (req.result != SSW_NO_TABLE)
			break;
		req.table = ssw_table_alloc(__GFP_HIGH);
		if (!req.table)
			req.no_table = true;
	}
	ssw_table_free(req.table);
	*slot = req.slot;
	return req.result;
}

void test_drain(struct ssw_slots *slots)
{
	unsigned int nr;

	do {
		ssw_token_get(slots);
		nr = ssw_drain(slots, NULL, SSW_BY_DELEGATOR);
		ssw_token_release(slots);
	} while (nr);
}

static unsigned int test_count(const struct list_head *head)
{
	const struct list_head *at;
	unsigned int nr = 0;

	for (at = head->next; at != head; at = at->next) {
		ssw_check(at->next->prev == at, "list is corrupted");
		nr++;
	}
	return nr;
}

static bool test_listed(const struct list_head *head, const struct ssw_cluster *ci)
{
	const struct list_head *at;

	for (at = head->next; at != head; at = at->next) {
		if (at == &ci->list)
			return true;
	}
	return false;
}

static unsigned int test_words(struct ssw_slots *slots, struct ssw_cluster *ci,
			       unsigned int *busy)
{
	unsigned int nr_free = 0;

	*busy = 0;
	for (unsigned int i = 0; i < SSW_CLUSTER_SLOTS; i++) {
		u64 word = atomic64_read(&ci->table->word[i]);

		if (word == SSW_WORD_FREE)
			nr_free++;
		else if (word != SSW_WORD_BAD)
			(*busy)++;
	}
	return nr_free;
}

static bool test_cursor(const struct ssw_slots *slots, const struct ssw_cluster *ci)
{
	for (unsigned int i = 0; i < SSW_NR_CURSORS; i++) {
		if (slots->cursor[i].cluster == ci)
			return true;
	}
	return false;
}

/* Return true if there is a free block of the cluster's order. */
static bool test_block(struct ssw_slots *slots, struct ssw_cluster *ci)
{
	unsigned int nr = 1U << ci->order, at, i;

	for (at = 0; at < SSW_CLUSTER_SLOTS; at += nr) {
		for (i = 0; i < nr; i++) {
			if (atomic64_read(&ci->table->word[at + i]) != SSW_WORD_FREE)
				break;
		}
		if (i == nr)
			return true;
	}
	return false;
}

void test_slots_check(struct ssw_slots *slots)
{
	unsigned int n = slots->nr_clusters, tables = 0, queued = 0, all_free = 0;
	unsigned int listed;

	ssw_check(!atomic_read(&slots->token.held), "token is held");
	ssw_check(!slots->dead, "tables were forgotten");
	for (struct llist_node *at = slots->queue.first; at; at = at->next)
		queued++;
	for (struct llist_node *at = slots->backlog; at; at = at->next)
		queued++;
	ssw_check(queued == (unsigned int)atomic_read(&slots->nr_queued),
		  "%u in the queue, counted %d", queued, atomic_read(&slots->nr_queued));

	listed = test_count(&slots->free) + test_count(&slots->discard) + test_count(&slots->held);
	if (slots->reserve)
		ssw_check(slots->reserve->state == SSW_CL_RESERVE, "the reserve is in state %u",
			  slots->reserve->state);
	for (unsigned int o = 0; o < SSW_NR_ORDERS; o++)
		listed += test_count(&slots->nonfull[o]) + test_count(&slots->frag[o]);

	for (unsigned int i = 0; i < n; i++) {
		struct ssw_cluster *ci = &slots->cluster[i];
		unsigned int cap = SSW_CLUSTER_SLOTS - ci->nr_bad;
		unsigned int used = atomic_read(&ci->used);
		unsigned int busy, nr_free;
		bool on = !list_empty(&ci->list);

		listed -= on;
		queued -= !!atomic_read(&ci->queued);
		if (!ci->table) {
			ssw_check(!used, "cluster %u: no table, %u used", i, used);
			ssw_check(!test_cursor(slots, ci), "cluster %u", i);
			if (!cap)
				continue;
			all_free += cap;
			if (ci->state == SSW_CL_FREE)
				ssw_check(test_listed(&slots->free, ci), "cluster %u", i);
			else if (ci->state == SSW_CL_DISCARD)
				ssw_check(test_listed(&slots->discard, ci), "cluster %u", i);
			else if (ci->state == SSW_CL_RESERVE)
				ssw_check(slots->reserve == ci && !on, "cluster %u", i);
			else
				ssw_check(ci->state == SSW_CL_DISCARDING && !on,
					  "cluster %u: no table, state %u", i, ci->state);
			continue;
		}
		tables++;
		nr_free = test_words(slots, ci, &busy);
		ssw_check(busy + nr_free == cap, "cluster %u: %u busy, %u free of %u",
			  i, busy, nr_free, cap);
		ssw_check(busy == used, "cluster %u: %u busy, %u used", i, busy, used);
		all_free += nr_free;
		if (ci->state == SSW_CL_NONFULL) {
			ssw_check(test_listed(&slots->nonfull[ci->order], ci) ||
				  test_listed(&slots->frag[ci->order], ci),
				  "cluster %u is in use, but not on its list", i);
			ssw_check(nr_free || atomic_read(&ci->queued),
				  "cluster %u has no free slot, but is on a list", i);
		} else if (ci->state == SSW_CL_HELD) {
			/* Invariant 4: at rest only moves can go on there. */
			ssw_check(test_listed(&slots->held, ci) && test_cursor(slots, ci),
				  "cluster %u is held for ever", i);
		} else {
			ssw_check(ci->state == SSW_CL_FULL && !on,
				  "cluster %u: state %u, on a list: %d", i, ci->state, on);
			/* Invariant 4. */
			ssw_check(!nr_free || atomic_read(&ci->queued),
				  "cluster %u is lost: on no list, not queued, %u free slots",
				  i, nr_free);
		}
		/* Barrier F. */
		ssw_check(!slots->quiet || ci->seen != slots->search ||
			  !test_block(slots, ci),
			  "cluster %u: said to have no block of order %u", i, ci->order);
		ssw_check(used || atomic_read(&ci->queued) || test_cursor(slots, ci),
			  "cluster %u is empty, but keeps its table", i);
	}
	ssw_check(!listed, "%d strangers on the lists", (int)listed);
	ssw_check(!queued, "%d entries of the queue are no clusters", (int)queued);
	ssw_check(tables == slots->nr_tables, "%u tables, counted %u", tables,
		  slots->nr_tables);
	/* Barrier E. */
	ssw_check(!slots->full || !all_free, "said to be full with %u free slots", all_free);
}
