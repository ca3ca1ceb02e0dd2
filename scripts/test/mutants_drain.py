# SPDX-License-Identifier: GPL-2.0
"""Mutants of draining an area, in the form of mutate.py's."""

DRAIN = "mm/scaleswap/drain.c"

MUTANTS = {
    # what is free
    "drain-not-withheld": ("mm/scaleswap/internal.h", "	if (likely(!READ_ONCE(area->drain.withhold)))", "	if (1)", "defrag/drain.empties"),
    "drain-free-stays-free": (DRAIN, "	ssw_nr_swap_add(-d->kept);\n", "", "defrag/drain.empties"),
    "drain-not-given-back": (DRAIN, "	ssw_nr_swap_add(ssw_withheld(d));\n", "", "defrag/drain.taken_back"),
    "drain-frees-not-given-back": (DRAIN, "	return d->kept + atomic_long_read(&d->withheld) - d->since;", "	return d->kept;",
                                   "defrag/drain.taken_back"),
    "drain-given-back-twice": (DRAIN, "	d->since = atomic_long_read(&d->withheld);\n", "", "defrag/drain.taken_back"),
    "drain-withheld-in-swapoff": ("mm/scaleswap/area.c", "		ssw_drain_closed(slots->area);\n", "", "defrag/drain.empties"),
    # no new slots
    "drain-reopened": ("mm/scaleswap/area.c", "		if (!ssw_drain_wanted(area))\n", "		if (1)\n", "defrag/drain.after_swapoff"),
    "drain-left-after-swapoff": ("mm/scaleswap/area.c", "	ssw_drain_opened(area);\n", "", "defrag/drain.after_swapoff"),
    "drain-not-closed": (DRAIN, "		WRITE_ONCE(area->slots->closed, true);\n", "", "defrag/drain.empties"),
    "drain-stays-closed": (DRAIN, "		smp_store_release(&area->slots->closed, false);", "		;", "defrag/drain.taken_back"),
    # what is moved, and what is not
    "drain-to-the-old-device": ("mm/scaleswap/move.c", "op_is_write(opf) ? m->to->si->bdev : m->area->si->bdev,", "m->area->si->bdev,",
                                "defrag/drain.empties"),
    "drain-zero-bit-of-the-old": ("mm/scaleswap/move.c", "			set_bit(mv->to, m->to->si->zeromap);",
                                  "			set_bit(mv->to, m->area->si->zeromap);", "defrag/drain.without_the_device"),
    "drain-rest-left": (DRAIN, "		gained = ssw_drain_rest(area);", "		;", "defrag/drain.what_has_no_note"),
    "drain-rest-not-mapped": (DRAIN, "		ssw_rest_map(area);\n", "		;\n", "defrag/drain.what_has_no_note"),
    "drain-shmem-left": (DRAIN, "		shmem_unuse(area->si->type);\n", "		;\n", "defrag/drain.what_has_no_note"),
    "drain-first-area-only": (DRAIN, "				room = false;", "				;", "defrag/drain.blocked"),
    "drain-takes-all-memory": (DRAIN, "	return fits;\n}\n\n/* The same, of a page", "	return true;\n}\n\n/* The same, of a page",
                               "defrag/drain.blocked"),
    "drain-broken-tried-again": ("mm/scaleswap/move.c", "				m->broken = m->to;\n", "				;\n", "defrag/drain.cannot_be_written"),
    # pages that cannot be read
    "drain-unreadable-mapped": ("mm/swapfile.c", "		     scaleswap_drains(swp_swap_info(entry)))) {", "		     0)) {",
                                "defrag/drain.unreadable"),
    "drain-reads-for-all": ("mm/swapfile.c", "		if (!folio && scaleswap_drains(si))", "		if (0)", "defrag/drain.blocked"),
    "drain-unreadable-kept": (DRAIN, "			xa_erase(&d->unreadable, slot);", "			nr++;", "defrag/drain.unreadable"),
}
