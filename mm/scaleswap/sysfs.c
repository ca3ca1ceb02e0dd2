// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: /sys/kernel/mm/scaleswap.
 *
 * This file is a client of the others: it shows their values and hands them checked ones.
 * Documentation/ABI/testing/sysfs-kernel-mm-scaleswap describes the attributes.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bio.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/ratelimit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/topology.h>

#include "evict.h"
#include "zbatch.h"
#include "internal.h"
#include "sysfs.h"

struct kobject *ssw_areas_kobj;

/**
 * ssw_tunable_store - set a tunable to the number that was written
 * @buf: what was written
 * @count: its length
 * @name: of the tunable, such as "deleg/batch"
 * @min: the least that it may be
 * @max: the most that it may be
 * @value: the tunable
 *
 * Context: process context.
 * Return: @count, or -EINVAL.
 */
ssize_t ssw_tunable_store(const char *buf, size_t count, const char *name, unsigned int min,
			  unsigned int max, unsigned int *value)
{
	unsigned int v;

	if (memchr(buf, '\0', count) || kstrtouint(buf, 0, &v) || v < min || v > max) {
		pr_warn_ratelimited("%s takes a number from %u to %u\n", name, min, max);
		return -EINVAL;
	}
	WRITE_ONCE(*value, v);
	return count;
}

/**
 * ssw_switch_store - set a switch to what was written
 * @buf: what was written
 * @count: its length
 * @name: of the switch, such as "fault/readahead"
 * @value: the switch
 *
 * Context: process context.
 * Return: @count, or -EINVAL.
 */
ssize_t ssw_switch_store(const char *buf, size_t count, const char *name, bool *value)
{
	bool v;

	if (memchr(buf, '\0', count) || kstrtobool(buf, &v)) {
		pr_warn_ratelimited("%s takes 0 or 1\n", name);
		return -EINVAL;
	}
	WRITE_ONCE(*value, v);
	return count;
}

/* /sys/kernel/mm/scaleswap/ */

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", static_key_enabled(&scaleswap_key));
}

static struct kobj_attribute enabled_attr = __ATTR_RO(enabled);

static ssize_t areas_max_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%d\n", MAX_SWAPFILES);
}

static struct kobj_attribute areas_max_attr = __ATTR_RO(areas_max);

static struct attribute *ssw_root_attrs[] = {
	&enabled_attr.attr,
	&areas_max_attr.attr,
	NULL,
};

static const struct attribute_group ssw_root_group = {
	.attrs = ssw_root_attrs,
};

/* stats/ and stats/fallback/ */

#define SSW_STAT_ATTR(_name, _read)					\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%llu\n", _read);			\
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

#define SSW_STAT_FILE(_item, _name)	SSW_STAT_ATTR(_name, ssw_stat_read(SSW_##_item));
#define SSW_DELEG_FILE(_item, _name)	SSW_STAT_ATTR(_name, ssw_deleg_read(SSW_##_item));
#define SSW_FB_FILE(_item, _name)	SSW_STAT_ATTR(_name, ssw_fallback_read(SSW_FB_##_item));
#define SSW_FILE(_item, _name)		&_name##_attr.attr,

SSW_ALLOC_STATS(SSW_STAT_FILE)
SSW_RECLAIM_STATS(SSW_STAT_FILE)
SSW_SWAPOFF_STATS(SSW_STAT_FILE)
SSW_DELEG_STATS(SSW_DELEG_FILE)
SSW_STAT_ATTR(deleg_allocs, ssw_deleg_read(SSW_DELEG_REQUESTER) +
			    ssw_deleg_read(SSW_DELEG_HOLDER) +
			    ssw_deleg_read(SSW_DELEG_DELEGATOR));
SSW_STAT_ATTR(deleg_queue_max, (u64)ssw_queue_max_read());

static struct attribute *ssw_stat_attrs[] = {
	SSW_ALLOC_STATS(SSW_FILE)
	SSW_RECLAIM_STATS(SSW_FILE)
	SSW_SWAPOFF_STATS(SSW_FILE)
	SSW_DELEG_STATS(SSW_FILE)
	&deleg_allocs_attr.attr,
	&deleg_queue_max_attr.attr,
	NULL,
};

static const struct attribute_group ssw_stat_group = {
	.attrs = ssw_stat_attrs,
};

SSW_FALLBACKS(SSW_FB_FILE)

static struct attribute *ssw_fallback_attrs[] = {
	SSW_FALLBACKS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_fallback_group = {
	.name = "fallback",
	.attrs = ssw_fallback_attrs,
};

/* lru/ */

#ifdef CONFIG_SCALESWAP_LRU
SSW_STAT_ATTR(shards, (u64)READ_ONCE(ssw_lru_shards));
SSW_STAT_ATTR(allocated, (u64)ssw_lru_allocated());
SSW_STAT_ATTR(shard_bytes, (u64)ssw_lru_bytes());
SSW_LRU_STATS(SSW_STAT_FILE)

static struct attribute *ssw_lru_attrs[] = {
	&shards_attr.attr,
	&allocated_attr.attr,
	&shard_bytes_attr.attr,
	SSW_LRU_STATS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_lru_group = {
	.name = "lru",
	.attrs = ssw_lru_attrs,
};
#endif

/* evict/ */

#ifdef CONFIG_SCALESWAP_EVICTOR
static ssize_t threads_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_evict_threads));
}

static ssize_t threads_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int v;
	int err;

	if (memchr(buf, '\0', count) || kstrtouint(buf, 0, &v) || v > SSW_EVICT_THREADS_MAX) {
		pr_warn_ratelimited("evict/threads takes a number from 0 to %u\n",
				    SSW_EVICT_THREADS_MAX);
		return -EINVAL;
	}
	if (!scaleswap_evict_on() && v) {
		pr_warn_ratelimited("evict/threads stays 0; boot with scaleswap=on or scaleswap=evict\n");
		return -EOPNOTSUPP;
	}
	err = ssw_evict_set_threads(v);
	return err ?: count;
}

static struct kobj_attribute threads_attr = __ATTR_RW(threads);

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return ssw_evict_show_cpus(buf);
}

static ssize_t cpus_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	struct cpumask *mask = kzalloc(sizeof(*mask), GFP_KERNEL);
	int err;

	if (!mask)
		return -ENOMEM;
	err = memchr(buf, '\0', count) ? -EINVAL : cpulist_parse(buf, mask);
	if (!err)
		err = ssw_evict_set_cpus(mask);
	kfree(mask);
	if (err && err != -ENOMEM)
		pr_warn_ratelimited("evict/cpus takes a list of CPUs, one of them online, or none\n");
	return err ?: count;
}

static struct kobj_attribute cpus_attr = __ATTR_RW(cpus);

static ssize_t wait_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_evict_wait_ms));
}

static ssize_t wait_ms_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "evict/wait_ms", 1, SSW_EVICT_WAIT_MS_MAX,
				 &ssw_evict_wait_ms);
}

static struct kobj_attribute wait_ms_attr = __ATTR_RW(wait_ms);

static ssize_t evict_batch_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_evict_batch));
}

static ssize_t evict_batch_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "evict/batch", 1, SSW_BATCH_PAGES,
				 &ssw_evict_batch);
}

static struct kobj_attribute evict_batch_attr =
	__ATTR(batch, 0644, evict_batch_show, evict_batch_store);

static ssize_t circulate_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(ssw_evict_circulate));
}

static ssize_t circulate_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return ssw_switch_store(buf, count, "evict/circulate", &ssw_evict_circulate);
}

static struct kobj_attribute circulate_attr = __ATTR_RW(circulate);

SSW_EVICT_STATS(SSW_STAT_FILE)

static struct attribute *ssw_evict_attrs[] = {
	&threads_attr.attr,
	&cpus_attr.attr,
	&wait_ms_attr.attr,
	&evict_batch_attr.attr,
	&circulate_attr.attr,
	SSW_EVICT_STATS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_evict_group = {
	.name = "evict",
	.attrs = ssw_evict_attrs,
};
#endif

/* io/ */

static ssize_t bio_pages_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_bio_pages));
}

static ssize_t bio_pages_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "io/bio_pages", 1, SSW_BIO_PAGES_MAX,
				 &ssw_bio_pages);
}

static struct kobj_attribute bio_pages_attr = __ATTR_RW(bio_pages);

SSW_IO_STATS(SSW_STAT_FILE)

static struct attribute *ssw_io_attrs[] = {
	&bio_pages_attr.attr,
	SSW_IO_STATS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_io_group = {
	.name = "io",
	.attrs = ssw_io_attrs,
};

/* fault/ */

#ifdef CONFIG_SCALESWAP_FAULT
SSW_FAULT_STATS(SSW_STAT_FILE)

static const char * const ssw_fault_modes[SSW_NR_FAULT_MODES] = {
	[SSW_FAULT_OFF] = "off",
	[SSW_FAULT_BIO] = "bio",
	[SSW_FAULT_DIRECT] = "direct",
	[SSW_FAULT_AUTO] = "auto",
};

static ssize_t mode_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", scaleswap_fault_on() ?
			  ssw_fault_modes[READ_ONCE(ssw_fault_mode)] : "off");
}

static ssize_t mode_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	int mode = memchr(buf, '\0', count) ? -EINVAL : sysfs_match_string(ssw_fault_modes, buf);

	if (mode < 0) {
		pr_warn_ratelimited("fault/mode takes off, bio, direct or auto\n");
		return -EINVAL;
	}
	if (!scaleswap_fault_on() && mode != SSW_FAULT_OFF) {
		pr_warn_ratelimited("fault/mode stays off; boot with scaleswap=on or scaleswap=fault\n");
		return -EOPNOTSUPP;
	}
	WRITE_ONCE(ssw_fault_mode, mode);
	return count;
}

static struct kobj_attribute mode_attr = __ATTR_RW(mode);

static ssize_t poll_us_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_fault_poll_us));
}

static ssize_t poll_us_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "fault/poll_us", 0, SSW_FAULT_POLL_US_MAX,
				 &ssw_fault_poll_us);
}

static struct kobj_attribute poll_us_attr = __ATTR_RW(poll_us);

static ssize_t readahead_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(ssw_fault_readahead));
}

static ssize_t readahead_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return ssw_switch_store(buf, count, "fault/readahead", &ssw_fault_readahead);
}

static struct kobj_attribute readahead_attr = __ATTR_RW(readahead);

static struct attribute *ssw_fault_attrs[] = {
	&mode_attr.attr,
	&poll_us_attr.attr,
	&readahead_attr.attr,
	SSW_FAULT_STATS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_fault_group = {
	.name = "fault",
	.attrs = ssw_fault_attrs,
};
#endif

/* deleg/ */

static ssize_t wake_threshold_show(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_wake_threshold));
}

static ssize_t wake_threshold_store(struct kobject *kobj,
				    struct kobj_attribute *attr,
				    const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "deleg/wake_threshold", 1, SSW_WAKE_MAX,
				 &ssw_wake_threshold);
}

static struct kobj_attribute wake_threshold_attr = __ATTR_RW(wake_threshold);

static ssize_t batch_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_deleg_batch));
}

static ssize_t batch_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "deleg/batch", 1, SSW_DELEG_BATCH_MAX,
				 &ssw_deleg_batch);
}

static struct kobj_attribute batch_attr = __ATTR_RW(batch);

static struct attribute *ssw_deleg_attrs[] = {
	&wake_threshold_attr.attr,
	&batch_attr.attr,
	NULL,
};

static const struct attribute_group ssw_deleg_group = {
	.name = "deleg",
	.attrs = ssw_deleg_attrs,
};

/* areas/<type>/ */

static struct ssw_area *to_area(struct kobject *kobj)
{
	return container_of(kobj, struct ssw_area, kobj);
}

static int ssw_area_home(const struct ssw_area *area)
{
	return READ_ONCE(scaleswap_home[area->si->type]);
}

static ssize_t cpu_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%d\n", ssw_area_home(area));
}

static ssize_t cpu_store(struct ssw_area *area, const char *buf, size_t count)
{
	int cpu, err;

	/* The parser would not see what follows a zero byte. */
	err = memchr(buf, '\0', count) ? -EINVAL : ssw_parse_bind(buf, &cpu);
	if (err || cpu < 0) {
		pr_warn_ratelimited("areas/%u/cpu takes the number of a possible CPU (%*pbl)\n",
				    area->si->type,
				    cpumask_pr_args(cpu_possible_mask));
		return -EINVAL;
	}
	err = ssw_area_rehome(area, cpu);
	return err ? err : count;
}

static ssize_t node_show(struct ssw_area *area, char *buf)
{
	int cpu = ssw_area_home(area);

	return sysfs_emit(buf, "%d\n", cpu < 0 ? NUMA_NO_NODE : cpu_to_node(cpu));
}

static ssize_t device_node_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%d\n", area->dev_node);
}

/*
 * Show the path of an area's file. swapoff clears swap_file early, but closes it only after
 * this attribute is gone: see the order of scaleswap_swapoff() and filp_close() there.
 */
static ssize_t path_show(struct ssw_area *area, char *buf)
{
	struct file *file = READ_ONCE(area->si->swap_file);
	char *path, *end;

	if (!file)
		return -ENODEV;
	path = file_path(file, buf, PAGE_SIZE);
	if (IS_ERR(path))
		return PTR_ERR(path);
	/* Keep any name on one line, with the escapes of /proc/swaps. */
	end = mangle_path(buf, path, "\n\\");
	if (!end || end >= buf + PAGE_SIZE - 1)
		return -ENAMETOOLONG;
	*end++ = '\n';
	return end - buf;
}

static ssize_t pages_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(area->si->pages));
}

static ssize_t used_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%u\n", scaleswap_inuse(area->si));
}

static ssize_t tables_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  area->slots ? READ_ONCE(area->slots->nr_tables) : 0);
}

static ssize_t table_bytes_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%zu\n",
			  area->slots ? ssw_slots_bytes(area->slots) : 0);
}

static ssize_t priority_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(area->si->prio));
}

static ssize_t allocs_home_show(struct ssw_area *area, char *buf)
{
	struct ssw_area_stat sum;

	ssw_area_stat_read(area, &sum);
	return sysfs_emit(buf, "%llu\n", sum.home);
}

static ssize_t allocs_foreign_show(struct ssw_area *area, char *buf)
{
	struct ssw_area_stat sum;

	ssw_area_stat_read(area, &sum);
	return sysfs_emit(buf, "%llu\n", sum.foreign);
}

static struct ssw_area_attr cpu_attr = __ATTR_RW(cpu);
static struct ssw_area_attr node_attr = __ATTR_RO(node);
static struct ssw_area_attr device_node_attr = __ATTR_RO(device_node);
static struct ssw_area_attr path_attr = __ATTR_RO(path);
static struct ssw_area_attr pages_attr = __ATTR_RO(pages);
static struct ssw_area_attr used_attr = __ATTR_RO(used);
static struct ssw_area_attr priority_attr = __ATTR_RO(priority);
static struct ssw_area_attr allocs_home_attr = __ATTR_RO(allocs_home);
static struct ssw_area_attr allocs_foreign_attr = __ATTR_RO(allocs_foreign);
static struct ssw_area_attr tables_attr = __ATTR_RO(tables);
static struct ssw_area_attr table_bytes_attr = __ATTR_RO(table_bytes);

static struct attribute *ssw_area_attrs[] = {
	&cpu_attr.attr,
	&node_attr.attr,
	&device_node_attr.attr,
	&path_attr.attr,
	&pages_attr.attr,
	&used_attr.attr,
	&priority_attr.attr,
	&allocs_home_attr.attr,
	&allocs_foreign_attr.attr,
	&tables_attr.attr,
	&table_bytes_attr.attr,
	NULL,
};

static const struct attribute_group ssw_area_group = {
	.attrs = ssw_area_attrs,
};

static const struct attribute_group *ssw_area_groups[] = {
	&ssw_area_group,
#ifdef CONFIG_SCALESWAP_DEFRAG
	&ssw_area_defrag_group,
#endif
	NULL,
};

static ssize_t ssw_area_attr_show(struct kobject *kobj, struct attribute *attr,
				  char *buf)
{
	return container_of(attr, struct ssw_area_attr, attr)->show(to_area(kobj), buf);
}

static ssize_t ssw_area_attr_store(struct kobject *kobj, struct attribute *attr,
				   const char *buf, size_t count)
{
	struct ssw_area_attr *a = container_of(attr, struct ssw_area_attr, attr);

	return a->store ? a->store(to_area(kobj), buf, count) : -EIO;
}

static const struct sysfs_ops ssw_area_sysfs_ops = {
	.show = ssw_area_attr_show,
	.store = ssw_area_attr_store,
};

static void ssw_area_release(struct kobject *kobj)
{
	struct ssw_area *area = to_area(kobj);

	free_percpu(area->stat);
	kfree(area);
}

const struct kobj_type ssw_area_ktype = {
	.release = ssw_area_release,
	.sysfs_ops = &ssw_area_sysfs_ops,
	.default_groups = ssw_area_groups,
};

/* zbatch/ */

#ifdef CONFIG_SCALESWAP_ZBATCH
static ssize_t store_batch_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_zbatch_store));
}

static ssize_t store_batch_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "zbatch/store_batch", 1, SSW_ZBATCH_MAX,
				 &ssw_zbatch_store);
}

static struct kobj_attribute store_batch_attr = __ATTR_RW(store_batch);

static ssize_t load_batch_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_zbatch_load));
}

static ssize_t load_batch_store(struct kobject *kobj, struct kobj_attribute *attr,
				const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "zbatch/load_batch", 1, SSW_ZLOAD_MAX,
				 &ssw_zbatch_load);
}

static struct kobj_attribute load_batch_attr = __ATTR_RW(load_batch);

static ssize_t spin_us_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_zbatch_spin));
}

static ssize_t spin_us_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			     size_t count)
{
	return ssw_tunable_store(buf, count, "zbatch/spin_us", 0, SSW_ZSPIN_MAX,
				 &ssw_zbatch_spin);
}

static struct kobj_attribute spin_us_attr = __ATTR_RW(spin_us);

SSW_ZBATCH_STATS(SSW_STAT_FILE)

static struct attribute *ssw_zbatch_attrs[] = {
	&store_batch_attr.attr,
	&load_batch_attr.attr,
	&spin_us_attr.attr,
	SSW_ZBATCH_STATS(SSW_FILE)
	NULL,
};

static const struct attribute_group ssw_zbatch_group = {
	.name = "zbatch",
	.attrs = ssw_zbatch_attrs,
};
#endif

/**
 * ssw_sysfs_init - create /sys/kernel/mm/scaleswap
 *
 * Context: boot, after mm_kobj.
 * Return: 0 or a negative errno, with nothing left behind.
 */
int __init ssw_sysfs_init(void)
{
	struct kobject *root, *stats;
	int err = -ENOMEM;

	root = kobject_create_and_add("scaleswap", mm_kobj);
	if (!root)
		return -ENOMEM;
	ssw_areas_kobj = kobject_create_and_add("areas", root);
	if (!ssw_areas_kobj)
		goto err_root;
	stats = kobject_create_and_add("stats", root);
	if (!stats)
		goto err_areas;
	err = sysfs_create_group(root, &ssw_root_group);
	if (!err)
		err = sysfs_create_group(root, &ssw_deleg_group);
	if (!err)
		err = sysfs_create_group(root, &ssw_io_group);
#ifdef CONFIG_SCALESWAP_LRU
	if (!err)
		err = sysfs_create_group(root, &ssw_lru_group);
#endif
#ifdef CONFIG_SCALESWAP_EVICTOR
	if (!err)
		err = sysfs_create_group(root, &ssw_evict_group);
#endif
#ifdef CONFIG_SCALESWAP_FAULT
	if (!err)
		err = sysfs_create_group(root, &ssw_fault_group);
#endif
#ifdef CONFIG_SCALESWAP_ZBATCH
	if (!err)
		err = sysfs_create_group(root, &ssw_zbatch_group);
#endif
	if (!err)
		err = sysfs_create_group(stats, &ssw_stat_group);
	if (!err)
		err = sysfs_create_group(stats, &ssw_fallback_group);
#ifdef CONFIG_SCALESWAP_DEFRAG
	if (!err)
		err = ssw_sysfs_defrag(root);
#endif
	if (!err)
		return 0;

	kobject_put(stats);
err_areas:
	kobject_put(ssw_areas_kobj);
err_root:
	kobject_put(root);
	return err;
}
