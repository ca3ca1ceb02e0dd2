// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: /sys/kernel/debug/scaleswap, dumps for debugging.
 *
 * slots lists the slots in use of all per-core areas, one per line:
 *
 *   <type> <slot> <kind> <cached> <count> <mm id> <virtual page, hex> <memcg id>
 *
 * A field that does not apply is "-". The values may have changed meanwhile.
 *
 * lru shows the sizes of the LRU lists, one line for each memcg, node and shard. Shard 0 is
 * the memcg's lruvec, which all CPUs share. vmscan-lru.c explains the clock.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/* Position in the file: type in the high bits, slot in the low ones. */
#define SSW_POS_SHIFT	32

static const char *ssw_kind_name(u64 word)
{
	static const char * const names[] = {
		[SSW_KIND_NONE] = "none",
		[SSW_KIND_FREEING] = "freeing",
		[SSW_KIND_EXCL] = "excl",
		[SSW_KIND_SHARED] = "shared",
		[SSW_KIND_SHMEM] = "shmem",
		[SSW_KIND_BAD] = "bad",
	};
	enum ssw_kind kind = ssw_word_kind(word);

	if (kind == SSW_KIND_EXCL && word & SSW_WORD_PAIR)
		return "pair";
	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

/* Find the next slot in use from a position on. Drop the RCU read side often. */
static loff_t ssw_slots_find(loff_t pos)
{
	unsigned int type = pos >> SSW_POS_SHIFT;
	unsigned int slot = pos;

	for (; type < MAX_SWAPFILES; type++, slot = 0) {
		bool more = true;

		while (more) {
			struct ssw_area *area;
			u64 word = SSW_WORD_FREE;

			rcu_read_lock();
			area = rcu_dereference(ssw_areas[type]);
			more = area && area->slots && slot < area->slots->nr_slots;
			if (more) {
				slot = ssw_slot_next(area->slots, slot);
				word = ssw_slot_read(area->slots, slot);
			}
			rcu_read_unlock();
			if (word != SSW_WORD_FREE && word != SSW_WORD_BAD)
				return (loff_t)type << SSW_POS_SHIFT | slot;
			cond_resched();
		}
	}
	return -1;
}

static void *ssw_slots_start(struct seq_file *m, loff_t *pos)
{
	*pos = ssw_slots_find(*pos);
	return *pos < 0 ? NULL : pos;
}

static void *ssw_slots_next(struct seq_file *m, void *v, loff_t *pos)
{
	*pos = ssw_slots_find(*pos + 1);
	return *pos < 0 ? NULL : pos;
}

static void ssw_slots_stop(struct seq_file *m, void *v)
{
}

static int ssw_slots_show(struct seq_file *m, void *v)
{
	unsigned int type = *(loff_t *)v >> SSW_POS_SHIFT;
	unsigned int slot = *(loff_t *)v;
	u64 word = SSW_WORD_FREE;
	struct ssw_area *area;

	rcu_read_lock();
	area = rcu_dereference(ssw_areas[type]);
	if (area && area->slots)
		word = ssw_slot_read(area->slots, slot);
	rcu_read_unlock();

	seq_printf(m, "%u %u %s %d %llu ", type, slot,
		   ssw_kind_name(word),
		   !!(word & SSW_WORD_CACHE), ssw_word_count(word));
	if (ssw_word_kind(word) == SSW_KIND_EXCL)
		seq_printf(m, "%u %llx ", ssw_word_mm(word), ssw_word_vpn(word));
	else
		seq_puts(m, "- - ");
	seq_printf(m, "%u\n", IS_ENABLED(CONFIG_MEMCG) ?
		   scaleswap_cgroup_id(swp_entry(type, slot)) : 0);
	return 0;
}

static const struct seq_operations ssw_slots_sops = {
	.start	= ssw_slots_start,
	.next	= ssw_slots_next,
	.stop	= ssw_slots_stop,
	.show	= ssw_slots_show,
};
DEFINE_SEQ_ATTRIBUTE(ssw_slots);

#ifdef CONFIG_SCALESWAP_LRU
static int ssw_lru_show(struct seq_file *m, void *v)
{
	ssw_lru_dump(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ssw_lru);
#endif

static int __init ssw_debugfs_init(void)
{
	struct dentry *dir;

	if (!static_key_enabled(&scaleswap_key))
		return 0;
	dir = debugfs_create_dir("scaleswap", NULL);
	debugfs_create_file("slots", 0400, dir, NULL, &ssw_slots_fops);
#ifdef CONFIG_SCALESWAP_LRU
	debugfs_create_file("lru", 0400, dir, NULL, &ssw_lru_fops);
#endif
	return 0;
}
late_initcall(ssw_debugfs_init);
