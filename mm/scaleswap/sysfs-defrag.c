// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: /sys/kernel/mm/scaleswap/defrag, and what areas/N has about defragmentation.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/kobject.h>
#include <linux/ratelimit.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "sysfs.h"

/* areas/N/ */

static ssize_t free_clusters_show(struct ssw_area *area, char *buf)
{
	unsigned int empty = 0, sparse;

	if (area->slots)
		ssw_clusters_count(area->slots, &empty, &sparse);
	return sysfs_emit(buf, "%u\n", empty);
}

static ssize_t sparse_clusters_show(struct ssw_area *area, char *buf)
{
	unsigned int empty, sparse = 0;

	if (area->slots)
		ssw_clusters_count(area->slots, &empty, &sparse);
	return sysfs_emit(buf, "%u\n", sparse);
}

static ssize_t frag_index_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%u\n", area->slots ? ssw_frag_index(area) : 0);
}

static ssize_t defrag_state_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%s\n", ssw_defrag_state_name(area));
}

static ssize_t compact_store(struct ssw_area *area, const char *buf, size_t count)
{
	bool v;
	int err;

	if (memchr(buf, '\0', count) || kstrtobool(buf, &v) || !v) {
		pr_warn_ratelimited("areas/%u/compact takes 1\n", area->si->type);
		return -EINVAL;
	}
	err = ssw_compact(area);
	if (err == -EOPNOTSUPP)
		pr_warn_ratelimited("areas/%u/compact: needs scaleswap=on or scaleswap=defrag, a per-core area, and a file system that leaves the I/O to swap\n",
				    area->si->type);
	else if (err == -ENOSPC)
		pr_warn_ratelimited("areas/%u/compact: no empty cluster to move slots to; add another area, or free some of this one\n",
				    area->si->type);
	return err ?: count;
}

static ssize_t drain_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(area->drain.wanted));
}

static ssize_t drain_store(struct ssw_area *area, const char *buf, size_t count)
{
	bool on;
	int err;

	if (memchr(buf, '\0', count) || kstrtobool(buf, &on)) {
		pr_warn_ratelimited("areas/%u/drain takes 0 or 1\n", area->si->type);
		return -EINVAL;
	}
	err = ssw_drain_set(area, on);
	if (err == -EOPNOTSUPP)
		pr_warn_ratelimited("areas/%u/drain: needs scaleswap=on or scaleswap=defrag, a per-core area, and a file system that leaves the I/O to swap\n",
				    area->si->type);
	return err ?: count;
}

static ssize_t drain_state_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%s\n", ssw_drain_state_name(area));
}

static ssize_t drain_unreadable_show(struct ssw_area *area, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(area->drain.nr_unreadable));
}

static struct ssw_area_attr drain_attr = __ATTR_RW(drain);
static struct ssw_area_attr drain_state_attr = __ATTR_RO(drain_state);
static struct ssw_area_attr drain_unreadable_attr = __ATTR_RO(drain_unreadable);
static struct ssw_area_attr free_clusters_attr = __ATTR_RO(free_clusters);
static struct ssw_area_attr sparse_clusters_attr = __ATTR_RO(sparse_clusters);
static struct ssw_area_attr frag_index_attr = __ATTR_RO(frag_index);
static struct ssw_area_attr defrag_state_attr = __ATTR_RO(defrag_state);
static struct ssw_area_attr compact_attr = __ATTR_WO(compact);

static struct attribute *ssw_area_defrag_attrs[] = {
	&free_clusters_attr.attr,
	&sparse_clusters_attr.attr,
	&frag_index_attr.attr,
	&defrag_state_attr.attr,
	&compact_attr.attr,
	&drain_attr.attr,
	&drain_state_attr.attr,
	&drain_unreadable_attr.attr,
	NULL,
};

const struct attribute_group ssw_area_defrag_group = {
	.attrs = ssw_area_defrag_attrs,
};

/* defrag/ and defrag/skipped/ */

static ssize_t batch_pages_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ssw_move_batch));
}

static ssize_t batch_pages_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "defrag/batch_pages", SSW_MOVE_BATCH_MIN,
				 SSW_MOVE_BATCH_MAX, &ssw_move_batch);
}

static struct kobj_attribute batch_pages_attr = __ATTR_RW(batch_pages);

static ssize_t defrag_enabled_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", ssw_defrag_enabled());
}

static ssize_t defrag_enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
				    const char *buf, size_t count)
{
	ssize_t err;
	bool enable;

	err = ssw_switch_store(buf, count, "defrag/enabled", &enable);
	if (err < 0)
		return err;
	err = ssw_defrag_enable(enable);
	if (err == -EOPNOTSUPP)
		pr_warn_ratelimited("defrag/enabled: boot with scaleswap=on or scaleswap=defrag\n");
	return err ?: count;
}

static struct kobj_attribute defrag_enabled_attr =
	__ATTR(enabled, 0644, defrag_enabled_show, defrag_enabled_store);

static ssize_t defrag_free_low_store(struct kobject *kobj, struct kobj_attribute *attr,
				     const char *buf, size_t count)
{
	ssize_t ret = ssw_tunable_store(buf, count, "defrag/free_low", 0,
					READ_ONCE(ssw_defrag_free_high), &ssw_defrag_free_low);

	ssw_defrag_changed();
	return ret;
}

static ssize_t defrag_free_high_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	ssize_t ret = ssw_tunable_store(buf, count, "defrag/free_high",
					READ_ONCE(ssw_defrag_free_low), 100, &ssw_defrag_free_high);

	ssw_defrag_changed();
	return ret;
}

static ssize_t defrag_idle_ms_store(struct kobject *kobj, struct kobj_attribute *attr,
				    const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "defrag/idle_ms", SSW_DEFRAG_IDLE_MS_MIN,
				 SSW_DEFRAG_IDLE_MS_MAX, &ssw_defrag_idle_ms);
}

static ssize_t defrag_idle_ios_store(struct kobject *kobj, struct kobj_attribute *attr,
				     const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "defrag/idle_ios", 0, SSW_DEFRAG_IDLE_IOS_MAX,
				 &ssw_defrag_idle_ios);
}

static ssize_t defrag_max_mb_s_store(struct kobject *kobj, struct kobj_attribute *attr,
				     const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "defrag/max_mb_s", 1, SSW_DEFRAG_MB_S_MAX,
				 &ssw_defrag_mb_s);
}

#define SSW_DEFRAG_TUNABLE(_name, _value)						\
static ssize_t defrag_##_name##_show(struct kobject *kobj,			\
				     struct kobj_attribute *attr, char *buf)	\
{										\
	return sysfs_emit(buf, "%u\n", READ_ONCE(_value));			\
}

SSW_DEFRAG_TUNABLE(free_low, ssw_defrag_free_low)
static struct kobj_attribute defrag_free_low_attr =
	__ATTR(free_low, 0644, defrag_free_low_show, defrag_free_low_store);

SSW_DEFRAG_TUNABLE(free_high, ssw_defrag_free_high)
static struct kobj_attribute defrag_free_high_attr =
	__ATTR(free_high, 0644, defrag_free_high_show, defrag_free_high_store);

SSW_DEFRAG_TUNABLE(idle_ms, ssw_defrag_idle_ms)
static struct kobj_attribute defrag_idle_ms_attr =
	__ATTR(idle_ms, 0644, defrag_idle_ms_show, defrag_idle_ms_store);

SSW_DEFRAG_TUNABLE(idle_ios, ssw_defrag_idle_ios)
static struct kobj_attribute defrag_idle_ios_attr =
	__ATTR(idle_ios, 0644, defrag_idle_ios_show, defrag_idle_ios_store);

SSW_DEFRAG_TUNABLE(max_mb_s, ssw_defrag_mb_s)
static struct kobj_attribute defrag_max_mb_s_attr =
	__ATTR(max_mb_s, 0644, defrag_max_mb_s_show, defrag_max_mb_s_store);

static ssize_t defrag_drain_mb_s_store(struct kobject *kobj, struct kobj_attribute *attr,
				       const char *buf, size_t count)
{
	return ssw_tunable_store(buf, count, "defrag/drain_mb_s", 0, SSW_DRAIN_MB_S_MAX,
				 &ssw_drain_mb_s);
}

SSW_DEFRAG_TUNABLE(drain_mb_s, ssw_drain_mb_s)
static struct kobj_attribute defrag_drain_mb_s_attr =
	__ATTR(drain_mb_s, 0644, defrag_drain_mb_s_show, defrag_drain_mb_s_store);

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", ssw_defrag_state_name(NULL));
}

static struct kobj_attribute state_attr = __ATTR_RO(state);

/* lru/ has a file of the same name. */
#define SSW_DEFRAG_FILE(_item, _name)						\
static ssize_t defrag_##_name##_show(struct kobject *kobj,			\
				     struct kobj_attribute *attr, char *buf)	\
{										\
	return sysfs_emit(buf, "%llu\n", ssw_stat_read(SSW_##_item));		\
}										\
static struct kobj_attribute defrag_##_name##_attr =				\
	__ATTR(_name, 0444, defrag_##_name##_show, NULL);
#define SSW_DEFRAG_ATTR(_item, _name)	&defrag_##_name##_attr.attr,

SSW_DEFRAG_STATS(SSW_DEFRAG_FILE)

static struct attribute *ssw_defrag_attrs[] = {
	&defrag_enabled_attr.attr,
	&defrag_free_low_attr.attr,
	&defrag_free_high_attr.attr,
	&defrag_idle_ms_attr.attr,
	&defrag_idle_ios_attr.attr,
	&defrag_max_mb_s_attr.attr,
	&defrag_drain_mb_s_attr.attr,
	&batch_pages_attr.attr,
	&state_attr.attr,
	SSW_DEFRAG_STATS(SSW_DEFRAG_ATTR)
	NULL,
};

static const struct attribute_group ssw_defrag_group = {
	.attrs = ssw_defrag_attrs,
};

SSW_SKIP_STATS(SSW_DEFRAG_FILE)

static struct attribute *ssw_skip_attrs[] = {
	SSW_SKIP_STATS(SSW_DEFRAG_ATTR)
	NULL,
};

static const struct attribute_group ssw_skip_group = {
	.name = "skipped",
	.attrs = ssw_skip_attrs,
};

/**
 * ssw_sysfs_defrag - create defrag/
 * @root: /sys/kernel/mm/scaleswap
 *
 * Context: boot.
 * Return: 0 or a negative errno, with nothing left behind.
 */
int __init ssw_sysfs_defrag(struct kobject *root)
{
	struct kobject *defrag = kobject_create_and_add("defrag", root);
	int err;

	if (!defrag)
		return -ENOMEM;
	err = sysfs_create_group(defrag, &ssw_defrag_group);
	if (!err)
		err = sysfs_create_group(defrag, &ssw_skip_group);
	if (err)
		kobject_put(defrag);
	return err;
}
