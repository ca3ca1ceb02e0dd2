# SPDX-License-Identifier: GPL-2.0
"""Mutants of defragd, in the form of mutate.py's."""

DEFRAGD = "mm/scaleswap/defragd.c"

MUTANTS = {
    "defrag-no-block-unseen": (DEFRAGD, "	if (no_blocks != d->no_blocks)", "	if (0)", "defrag/defrag.for_large_folios"),
    "defrag-own-discards": (DEFRAGD, "ios[STAT_READ]) +", "ios[STAT_READ]) +\n		    part_stat_read(bdev_whole(area->si->bdev), ios[STAT_DISCARD]) * 100 +",
                            "defrag/defrag.own_discards"),
    "move-hung": ("mm/scaleswap/move.c", "	if (current->flags & PF_KTHREAD)\n		wait", "	if (0)\n		wait", "defrag/defrag.device_waits"),
    "move-fails-on": ("mm/scaleswap/move.c", "	return good ? 0 : -EIO;", "	return 0;", "defrag/defrag.cannot_be_written"),
    "defrag-always-idle": (DEFRAGD, "	return look->ios - was.ios <= may &&", "	if (may + 1)\n		return true;\n"
                           "	return look->ios - was.ios <= may &&", "defrag/defrag.gives_way"),
    "defrag-slots-unseen": (DEFRAGD, " && look->slots - was.slots <= may &&", " &&", "defrag/defrag.gives_way_to_swap"),
    "defrag-blind-goes-on": (DEFRAGD, "	if (!ssw_disk_counts(area->si->bdev)) {",
                             "	if (!ssw_disk_counts(area->si->bdev) && 0) {", "defrag/defrag.blind"),
    "defrag-not-frozen": (DEFRAGD, "	set_freezable();\n", "", "defrag/defrag.frozen"),
    "defrag-no-pace": (DEFRAGD, "	if (time_before(until, least))", "	if (1)", "defrag/defrag.bandwidth"),
    "defrag-cap-ignored": (DEFRAGD, "	p->cap = d->cap;", "	p->cap = SSW_SPARSE;", "defrag/defrag.by_need"),
    "defrag-without-end": (DEFRAGD, "ssw_defrag_wanted(area->slots);", "ssw_defrag_wanted(area->slots) | ~0U;",
                           "defrag/defrag.up_to_enough"),
    "defrag-polls": (DEFRAGD, "		return READ_ONCE(slots->sparse) ? 0 : MAX_SCHEDULE_TIMEOUT;",
                     "		return READ_ONCE(slots->sparse) ? 0 : 20;", "defrag/defrag.sleeps"),
    "defrag-sparse-not-told": ("mm/scaleswap/cluster.c", "	if (READ_ONCE(slots->kick_sparse))", "	if (0)",
                               "defrag/defrag.sleeps"),
    "defrag-need-not-told": ("mm/scaleswap/cluster.c", "	if (kick_at && slots->nr_tables >= kick_at)", "	if (0)",
                             "defrag/defrag.sleeps"),
}
