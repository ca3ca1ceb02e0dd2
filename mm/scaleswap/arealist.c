// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: in which order a CPU tries the areas.
 *
 * Every CPU has its own list, so that an allocation (alloc.c) shares nothing with
 * other CPUs. The lists are rebuilt when an area comes, goes or changes its home.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/topology.h>

#include "internal.h"

static int ssw_cpu_to_node(int cpu)
{
	return cpu_to_node(cpu);
}

static int ssw_node_distance(int from, int to)
{
	return node_distance(from, to);
}

const struct ssw_topology ssw_topology = {
	.cpu_node = ssw_cpu_to_node,
	.distance = ssw_node_distance,
};

struct ssw_arealist_cpu __percpu *ssw_arealists;

/* Scratch of ssw_arealists_rebuild(), too large for the stack; under ssw_mutex. */
static struct ssw_candidate ssw_candidates[MAX_SWAPFILES];
static struct ssw_arealist ssw_scratch;

struct ssw_key {
	u64 key;
	u8 type;
	bool own;
	bool near;
	s16 prio;
};

static struct ssw_key ssw_keys[MAX_SWAPFILES];

static int ssw_key_cmp(const void *a, const void *b)
{
	const struct ssw_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (int)x->type - (int)y->type;
}

/*
 * Compute the place of an area: first the CPU's own areas by priority, then those of
 * its node, then the other nodes by distance. A node's areas begin at the next higher
 * CPU number, so that its CPUs do not all spill to the same one.
 */
static u64 ssw_key(int cpu, const struct ssw_candidate *cand, bool *near,
		   const struct ssw_topology *topo)
{
	unsigned int distance, cyclic;
	int from, to;

	*near = true;
	if (cand->home == cpu)
		return S16_MAX - cand->prio;

	from = topo->cpu_node(cpu);
	to = topo->cpu_node(cand->home);
	*near = from == to;
	if (*near)
		distance = 1;
	else if (from == NUMA_NO_NODE || to == NUMA_NO_NODE)
		distance = U16_MAX;
	else
		distance = clamp(topo->distance(from, to), 2, U16_MAX - 1);
	cyclic = cand->home > cpu ? cand->home - cpu : cand->home - cpu + S16_MAX;

	return (u64)distance << 48 | (u64)cyclic << 32 | (S16_MAX - cand->prio);
}

/**
 * ssw_arealist_build - make the area list of one CPU
 * @list: where it goes
 * @cpu: the CPU
 * @cand: the per-core areas, in any order
 * @nr: how many, MAX_SWAPFILES at most
 * @topo: the machine
 *
 * Context: ssw_mutex held, for the scratch space.
 */
void ssw_arealist_build(struct ssw_arealist *list, int cpu,
			const struct ssw_candidate *cand, unsigned int nr,
			const struct ssw_topology *topo)
{
	unsigned int i, j;

	lockdep_assert_held(&ssw_mutex);

	for (i = 0; i < nr; i++) {
		ssw_keys[i].key = ssw_key(cpu, &cand[i], &ssw_keys[i].near, topo);
		ssw_keys[i].type = cand[i].type;
		ssw_keys[i].own = cand[i].home == cpu;
		ssw_keys[i].prio = cand[i].prio;
	}
	sort(ssw_keys, nr, sizeof(ssw_keys[0]), ssw_key_cmp, NULL);

	memset(list, 0, sizeof(*list));
	list->nr = nr;
	for (i = 0; i < nr; i++) {
		list->type[i] = ssw_keys[i].type;
		list->nr_own += ssw_keys[i].own;
		list->nr_node += ssw_keys[i].near;
	}
	for (i = 0; i < list->nr_own; i = j) {
		for (j = i + 1; j < list->nr_own; j++) {
			if (ssw_keys[j].prio != ssw_keys[i].prio)
				break;
		}
		memset(list->group_end + i, j, j - i);
	}
}

/**
 * ssw_arealists_rebuild - bring all area lists up to date
 *
 * Cannot fail, so that neither swapoff nor CPU hotplug can.
 *
 * Context: process context, ssw_mutex held.
 */
void ssw_arealists_rebuild(void)
{
	unsigned int nr = 0;
	int type, cpu;

	lockdep_assert_held(&ssw_mutex);

	for (type = 0; type < MAX_SWAPFILES; type++) {
		struct ssw_area *area = ssw_area_locked(type);

		if (!area || !area->enabled || scaleswap_home[type] < 0)
			continue;
		ssw_candidates[nr].type = type;
		ssw_candidates[nr].home = scaleswap_home[type];
		ssw_candidates[nr].prio = READ_ONCE(area->si->prio);
		nr++;
	}

	for_each_possible_cpu(cpu) {
		struct ssw_arealist_cpu *order = per_cpu_ptr(ssw_arealists, cpu);

		ssw_arealist_build(&ssw_scratch, cpu, ssw_candidates, nr,
				   &ssw_topology);
		/* A reader on this CPU must not find the writer preempted. */
		preempt_disable();
		write_seqcount_begin(&order->seq);
		order->list = ssw_scratch;
		order->node = ssw_topology.cpu_node(cpu);
		write_seqcount_end(&order->seq);
		preempt_enable();
		WRITE_ONCE(order->spill_left, 0);
		cond_resched();
	}
}

/**
 * ssw_arealists_outdated - check if a CPU had another node when the lists were made
 * @cpu: the CPU
 * @topo: the machine as it is now
 *
 * Context: process context, ssw_mutex held.
 * Return: true if the area lists were made with @cpu on another node.
 */
bool ssw_arealists_outdated(int cpu, const struct ssw_topology *topo)
{
	lockdep_assert_held(&ssw_mutex);

	return per_cpu_ptr(ssw_arealists, cpu)->node != topo->cpu_node(cpu);
}

/**
 * ssw_arealists_init - allocate the area lists
 *
 * Context: boot.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_arealists_init(void)
{
	int cpu;

	ssw_arealists = alloc_percpu(struct ssw_arealist_cpu);
	if (!ssw_arealists)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		seqcount_init(&per_cpu_ptr(ssw_arealists, cpu)->seq);
		per_cpu_ptr(ssw_arealists, cpu)->node = ssw_topology.cpu_node(cpu);
	}
	return 0;
}
