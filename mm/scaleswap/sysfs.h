/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: what the files that make up /sys/kernel/mm/scaleswap share.
 */
#ifndef _MM_SCALESWAP_SYSFS_H
#define _MM_SCALESWAP_SYSFS_H

#include <linux/sysfs.h>
#include <linux/types.h>

struct kobject;
struct ssw_area;

/**
 * struct ssw_area_attr - a file in areas/N
 * @attr: its name and mode
 * @show: writes what it says, a string, and returns its length or a negative errno
 * @store: takes what was written, and returns how much or a negative errno; NULL if it is not
 *	   writable
 */
struct ssw_area_attr {
	struct attribute attr;
	ssize_t (*show)(struct ssw_area *area, char *buf);
	ssize_t (*store)(struct ssw_area *area, const char *buf, size_t count);
};

ssize_t ssw_tunable_store(const char *buf, size_t count, const char *name, unsigned int min,
			  unsigned int max, unsigned int *value);
ssize_t ssw_switch_store(const char *buf, size_t count, const char *name, bool *value);

/* sysfs-defrag.c */
extern const struct attribute_group ssw_area_defrag_group;
int ssw_sysfs_defrag(struct kobject *root);

#endif /* _MM_SCALESWAP_SYSFS_H */
