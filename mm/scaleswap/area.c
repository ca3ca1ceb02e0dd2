// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: areas and their home CPUs.
 *
 * A per-core area is an ordinary swap area with an entry in scaleswap_home[].
 * The home is a mapping of its own. So it depends neither on the number that
 * swapon happened to hand out nor on the CPU being online. The base kernel asks
 * scaleswap_bound(): a bound area stays off the list that get_swap_pages() walks
 * under swap_avail_lock.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/blkdev.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "internal.h"

/* A label that names a home CPU begins with this; the CPU's number follows. */
#define SSW_LABEL	"ssw-cpu"

#define CREATE_TRACE_POINTS
#include <trace/events/scaleswap.h>

/*
 * Protects homes, area lists, counts of areas and ssw_bind. An allocation never
 * takes it.
 */
DEFINE_MUTEX(ssw_mutex);

/*
 * Home CPU by swap type, SSW_NO_HOME for a plain area. Written under ssw_mutex.
 * Has the types that are no swap areas, too: a corrupted entry may have one.
 */
s16 scaleswap_home[1 << MAX_SWAPFILES_SHIFT] = {
	[0 ... (1 << MAX_SWAPFILES_SHIFT) - 1] = SSW_NO_HOME
};

/*
 * Areas by swap type. Set and cleared under ssw_mutex; a cleared area is freed after
 * an RCU grace period.
 */
struct ssw_area __rcu *ssw_areas[MAX_SWAPFILES];

/*
 * The slots of per-core areas by swap type, as ssw_areas[]->slots, for callers that
 * need nothing else. A corrupted entry may have a type that is no swap area.
 */
struct ssw_slots __rcu *ssw_area_slots[1 << MAX_SWAPFILES_SHIFT];

/* How many enabled areas are bound and how many are plain. */
unsigned int ssw_nr_bound;
unsigned int ssw_nr_plain;

/* See scaleswap_has_areas(). */
bool __scaleswap_has_areas(void)
{
	return READ_ONCE(ssw_nr_bound);
}

/* See scaleswap_table_full(). */
void __scaleswap_table_full(void)
{
	pr_warn_ratelimited("all %d swap areas are in use; turn one off with swapoff before adding another\n",
			    MAX_SWAPFILES);
}

/**
 * ssw_device_node - get the NUMA node of the device under an area
 * @si: the area, with its file open
 *
 * Context: any.
 * Return: the node, NUMA_NO_NODE if unknown.
 */
static int ssw_device_node(const struct swap_info_struct *si)
{
	struct block_device *bdev = si->bdev;

	if (!bdev)
		bdev = file_inode(si->swap_file)->i_sb->s_bdev;
	return bdev ? bdev->bd_disk->node_id : NUMA_NO_NODE;
}

/**
 * ssw_pick_home - choose a home for vm.scaleswap.bind=auto
 * @nr_areas: by CPU, how many areas are homed there
 * @cpus: bitmap of the CPUs to choose from, not empty
 * @nr_cpus: bits in @cpus
 * @dev_node: NUMA node of the device, NUMA_NO_NODE if it does not matter
 * @topo: the machine
 *
 * Context: any.
 * Return: among the CPUs with the fewest areas the lowest one that is on
 * @dev_node, or else simply the lowest one.
 */
int ssw_pick_home(const u16 *nr_areas, const unsigned long *cpus,
		  unsigned int nr_cpus, int dev_node,
		  const struct ssw_topology *topo)
{
	bool best_near = false;
	int best = -1;
	int cpu;

	for_each_set_bit(cpu, cpus, nr_cpus) {
		bool near = dev_node != NUMA_NO_NODE &&
			    topo->cpu_node(cpu) == dev_node;

		if (best < 0 || nr_areas[cpu] < nr_areas[best] ||
		    (nr_areas[cpu] == nr_areas[best] && near && !best_near)) {
			best = cpu;
			best_near = near;
		}
	}
	return best;
}

/**
 * ssw_label_home - read the home that the label of a swap area names
 * @label: label in the header, padded with zeros if it is shorter
 *
 * "ssw-cpu3" names CPU 3. An area with such a label has the same home after
 * each boot, in whatever order areas are switched on.
 *
 * Context: any.
 * Return: a possible CPU, SSW_NO_HOME if the label names none.
 */
int ssw_label_home(const u8 label[SSW_LABEL_LEN])
{
	char text[SSW_LABEL_LEN + 1] = { };
	size_t len;
	int cpu;

	memcpy(text, label, SSW_LABEL_LEN);
	len = str_has_prefix(text, SSW_LABEL);
	/* isdigit(): "auto" and "off" are no CPUs. */
	if (!len || !isdigit(text[len]) || ssw_parse_bind(text + len, &cpu))
		return SSW_NO_HOME;
	return cpu;
}

/* Choose a home for bind=auto. @nr_areas is scratch space: nr_cpu_ids zeros. */
static int ssw_auto_home(u16 *nr_areas, int dev_node, const union swap_header *header)
{
	int type, home;

	lockdep_assert_held(&ssw_mutex);
	BUILD_BUG_ON(sizeof(header->info.sws_volume) != SSW_LABEL_LEN);

	home = ssw_label_home(header->info.sws_volume);
	if (home >= 0 && cpu_online(home))
		return home;
	for (type = 0; type < MAX_SWAPFILES; type++) {
		if (scaleswap_home[type] >= 0)
			nr_areas[scaleswap_home[type]]++;
	}
	/* The CPU may go offline meanwhile; then the home is an offline CPU. */
	return ssw_pick_home(nr_areas, cpumask_bits(cpu_online_mask), nr_cpu_ids,
			     dev_node, &ssw_topology);
}

static void ssw_set_home(unsigned int type, int cpu)
{
	lockdep_assert_held(&ssw_mutex);
	if (scaleswap_home[type] == cpu)
		return;
	trace_scaleswap_bind(type, scaleswap_home[type], cpu);
	WRITE_ONCE(scaleswap_home[type], cpu);
}

static int ssw_bad_cmp(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Set the bad slots: slot 0, the header, and those it lists. Duplicates count once. */
static int ssw_slots_set_bad(struct ssw_slots *slots, const u32 *bad,
			     unsigned int nr_bad)
{
	unsigned int i, nr = 0;

	slots->bad = kvmalloc_array(nr_bad + 1, sizeof(*slots->bad), GFP_KERNEL);
	if (!slots->bad)
		return -ENOMEM;
	slots->bad[nr++] = 0;
	for (i = 0; i < nr_bad; i++) {
		if (bad[i] < slots->nr_slots)
			slots->bad[nr++] = bad[i];
	}
	sort(slots->bad, nr, sizeof(*slots->bad), ssw_bad_cmp, NULL);
	for (i = 0; i < nr; i++) {
		if (i && slots->bad[i] == slots->bad[i - 1])
			continue;
		slots->bad[slots->nr_bad++] = slots->bad[i];
		ssw_slot_cluster(slots, slots->bad[i])->nr_bad++;
	}
	/* The last cluster is counted as whole. */
	i = slots->nr_slots % SSW_CLUSTER_SLOTS;
	if (i)
		slots->cluster[slots->nr_clusters - 1].nr_bad += SSW_CLUSTER_SLOTS - i;
	return 0;
}

/**
 * ssw_slots_free - free the slots of an area
 * @slots: the slots, which no other CPU can see any more; or NULL
 *
 * Context: process context.
 */
void ssw_slots_free(struct ssw_slots *slots)
{
	unsigned int i, used = 0;

	if (!slots)
		return;
	for (i = 0; slots->cluster && i < slots->nr_clusters; i++) {
		struct ssw_cluster *ci = &slots->cluster[i];

		used += atomic_read(&ci->used);
		ssw_table_free(rcu_dereference_protected(ci->table, 1));
	}
	WARN_ONCE(used, "scaleswap: %u slots still in use\n", used);
	kvfree(slots->cluster);
	kvfree(slots->bad);
	kfree(slots);
}

/**
 * ssw_slots_alloc - set up the slots of an area, all free
 * @nr_slots: how many, with the header and bad ones
 * @bad: numbers of bad slots, in any order
 * @nr_bad: how many
 *
 * Context: process context, may sleep.
 * Return: the slots, or ERR_PTR(-ENOMEM).
 */
struct ssw_slots *ssw_slots_alloc(unsigned int nr_slots, const u32 *bad,
				  unsigned int nr_bad)
{
	struct ssw_slots *slots;

	slots = kzalloc(sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return ERR_PTR(-ENOMEM);
	slots->nr_slots = nr_slots;
	slots->nr_clusters = DIV_ROUND_UP(nr_slots, SSW_CLUSTER_SLOTS);
	slots->use_reserve = IS_ENABLED(CONFIG_SCALESWAP_DEFRAG) && ssw_defrag_on &&
			     slots->nr_clusters >= SSW_RESERVE_MIN;
	slots->cluster = kvcalloc(slots->nr_clusters, sizeof(*slots->cluster),
				  GFP_KERNEL);
	if (!slots->cluster || ssw_slots_set_bad(slots, bad, nr_bad)) {
		ssw_slots_free(slots);
		return ERR_PTR(-ENOMEM);
	}
	/* Closed until the area is enabled. */
	slots->closed = true;
	ssw_slots_lists_init(slots);
	ssw_token_init(slots);
	return slots;
}

/**
 * ssw_slots_bytes - compute how much memory the slots of an area take
 * @slots: the slots
 *
 * Context: any in which @slots cannot go away.
 * Return: bytes, with the bitmap of zero-filled slots and the address spaces of
 * the swap cache that each area has.
 */
size_t ssw_slots_bytes(const struct ssw_slots *slots)
{
	size_t table = sizeof(struct ssw_table) +
		       SSW_CLUSTER_SLOTS * sizeof(atomic64_t) + PAGE_SIZE;

	return sizeof(*slots) + slots->nr_clusters * sizeof(*slots->cluster) +
	       (slots->nr_bad + 1) * sizeof(*slots->bad) +
	       BITS_TO_LONGS(slots->nr_slots) * sizeof(long) +
	       slots->nr_clusters * sizeof(struct address_space) +
	       READ_ONCE(slots->nr_tables) * table;
}

/* Set up the slots, without the bad ones that the header lists. */
static int ssw_area_setup(struct ssw_area *area, const union swap_header *header)
{
	unsigned int nr_bad = header->info.nr_badpages;
	struct swap_info_struct *si = area->si;
	struct ssw_slots *slots;
	unsigned int nr_slots;
	unsigned int i;

	for (i = 0; i < nr_bad; i++) {
		if (!header->info.badpages[i] ||
		    header->info.badpages[i] > header->info.last_page)
			return -EINVAL;
	}
	/* The end of the last cluster has to fit into unsigned int, too. */
	nr_slots = min(si->max, ALIGN_DOWN(UINT_MAX, SSW_CLUSTER_SLOTS));
	slots = ssw_slots_alloc(nr_slots, header->info.badpages, nr_bad);
	if (IS_ERR(slots))
		return PTR_ERR(slots);
	slots->area = area;
	/*
	 * Set up all of it before the pointers to it: area lists may still
	 * have the type from its last use. Pairs with the dependent reads of
	 * CPUs that follow these pointers under RCU.
	 */
	smp_store_release(&area->slots, slots);
	rcu_assign_pointer(ssw_area_slots[si->type], slots);
	/* The header is a bad slot, too, but has not been counted as a page. */
	si->pages -= si->max - nr_slots + slots->nr_bad - 1;
	if (!si->pages) {
		pr_warn("swap area %u has no good page; run mkswap again\n", si->type);
		return -EINVAL;
	}
	return 0;
}

/*
 * See scaleswap_swapon(). The home is fixed here, before the base kernel sets
 * up a swap map and decides whether to put the area on its list of available areas.
 */
int __scaleswap_swapon(struct swap_info_struct *si, const union swap_header *header)
{
	struct ssw_area *area;
	u16 *nr_areas;
	int home;
	int err;

	/* Allocate all memory before the mutex: reclaim may take long. */
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	nr_areas = kcalloc(nr_cpu_ids, sizeof(*nr_areas), GFP_KERNEL);
	if (!area || !nr_areas)
		goto err_free;
	area->si = si;
	area->dev_node = ssw_device_node(si);
	ssw_delegd_area_init(area);
	ssw_discard_area_init(area);
	ssw_fault_area_init(area);
	ssw_drain_init(area);
	area->stat = alloc_percpu(struct ssw_area_stat);
	if (!area->stat)
		goto err_free;

	mutex_lock(&ssw_mutex);
	home = ssw_bind;
	if (home == SSW_BIND_AUTO)
		home = ssw_auto_home(nr_areas, area->dev_node, header);
	else if (home == SSW_BIND_OFF)
		home = SSW_NO_HOME;
	ssw_set_home(si->type, home);
	rcu_assign_pointer(ssw_areas[si->type], area);
	mutex_unlock(&ssw_mutex);
	kfree(nr_areas);

	/* From here on scaleswap_swapoff() cleans up. */
	kobject_init(&area->kobj, &ssw_area_ktype);
	err = home >= 0 ? ssw_area_setup(area, header) : 0;
	if (!err)
		err = kobject_add(&area->kobj, ssw_areas_kobj, "%u", si->type);
	if (err)
		__scaleswap_swapoff(si);
	return err;

err_free:
	kfree(nr_areas);
	kfree(area);
	return -ENOMEM;
}

static unsigned int *ssw_counter(const struct ssw_area *area)
{
	return scaleswap_home[area->si->type] >= 0 ? &ssw_nr_bound : &ssw_nr_plain;
}

/*
 * See scaleswap_enabled_area(). Called again if swapoff fails, since that may have
 * given the area another priority.
 */
void __scaleswap_enabled(struct swap_info_struct *si)
{
	struct ssw_area *area;
	int home;

	mutex_lock(&ssw_mutex);
	area = ssw_area_locked(si->type);
	home = scaleswap_home[si->type];
	if (home >= 0 && !area->enabled)
		pr_info("swap area %u is bound to CPU %d\n", si->type, home);
	/*
	 * A swapoff may have begun meanwhile. It clears SWP_WRITEOK before it
	 * closes the area under the mutex, so the area is not opened again here.
	 */
	if (area->slots && (READ_ONCE(si->flags) & SWP_WRITEOK)) {
		ssw_cache_init(area);
		area->slots->use_discard = si->flags & SWP_PAGE_DISCARD;
		if (!ssw_drain_wanted(area))
			/* Pairs with the acquire of the token by the first allocation. */
			smp_store_release(&area->slots->closed, false);
	}
	if (!area->enabled) {
		area->enabled = true;
		WRITE_ONCE(*ssw_counter(area), *ssw_counter(area) + 1);
	}
	if (home >= 0)
		ssw_arealists_rebuild();
	mutex_unlock(&ssw_mutex);
	ssw_drain_opened(area);
}

/*
 * See scaleswap_shown(). swapoff clears si->swap_file under swapon_mutex, a while
 * before it removes the area.
 */
bool __scaleswap_shown(const struct swap_info_struct *si)
{
	struct ssw_area *area;
	bool shown;

	mutex_lock(&ssw_mutex);
	area = ssw_area_locked(si->type);
	shown = si->swap_file && area && area->enabled;
	mutex_unlock(&ssw_mutex);
	return shown;
}

/*
 * See scaleswap_close(). Owners allocate with preemption off. So after a grace
 * period no owner is left that saw the area open.
 */
void __scaleswap_close(struct swap_info_struct *si)
{
	struct ssw_slots *slots;

	mutex_lock(&ssw_mutex);
	slots = ssw_area_locked(si->type)->slots;
	if (slots)
		WRITE_ONCE(slots->closed, true);
	mutex_unlock(&ssw_mutex);
	if (slots) {
		synchronize_rcu();
		ssw_drain_closed(slots->area);
	}
	/* There may be little swap space left all of a sudden. */
	ssw_nr_swap_flush();
}

/* See scaleswap_swapoff(). */
void __scaleswap_swapoff(struct swap_info_struct *si)
{
	struct ssw_area *area;

	mutex_lock(&ssw_mutex);
	area = ssw_area_locked(si->type);
	RCU_INIT_POINTER(ssw_areas[si->type], NULL);
	RCU_INIT_POINTER(ssw_area_slots[si->type], NULL);
	mutex_unlock(&ssw_mutex);
	if (!area)
		return;

	/* This waits for readers and writers of its files, so without the mutex. */
	if (area->kobj.state_in_sysfs)
		kobject_del(&area->kobj);

	mutex_lock(&ssw_mutex);
	if (area->enabled) {
		area->enabled = false;
		WRITE_ONCE(*ssw_counter(area), *ssw_counter(area) - 1);
	}
	if (scaleswap_home[si->type] >= 0) {
		ssw_set_home(si->type, SSW_NO_HOME);
		ssw_arealists_rebuild();
	}
	if (area->slots)
		ssw_queue_max_keep(area->slots->queue_max);
	mutex_unlock(&ssw_mutex);

	/* Wait for allocations that found it in an area list, for the timer, for discards. */
	synchronize_rcu();
	timer_shutdown_sync(&area->timer);
	ssw_discard_area_exit(area);
	ssw_drain_exit(area);
	ssw_slots_free(area->slots);
	kobject_put(&area->kobj);
}

/**
 * ssw_area_rehome - give a per-core area another home CPU
 * @area: the area; the caller holds a kernfs active reference on it
 * @cpu: the new home, a possible CPU
 *
 * Pages already in the area stay there; only new ones come from the new home.
 *
 * Context: process context, takes ssw_mutex.
 * Return: 0, -EOPNOTSUPP for a plain area (it is on the base kernel's list,
 * which it leaves only by swapoff).
 */
int ssw_area_rehome(struct ssw_area *area, int cpu)
{
	unsigned int type = area->si->type;
	int err = 0;

	mutex_lock(&ssw_mutex);
	if (scaleswap_home[type] < 0) {
		err = -EOPNOTSUPP;
	} else if (scaleswap_home[type] != cpu) {
		ssw_set_home(type, cpu);
		ssw_arealists_rebuild();
	}
	mutex_unlock(&ssw_mutex);
	if (err)
		pr_warn_ratelimited("swap area %u is a plain one; to bind it, swapoff, set vm.scaleswap.bind, swapon\n",
				    type);
	return err;
}
