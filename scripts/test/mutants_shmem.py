# SPDX-License-Identifier: GPL-2.0
"""Mutants of moving slots of shmem, in the form of mutate.py's."""

MOVE = "mm/scaleswap/move.c"
NOTE = "mm/scaleswap/shmem-note.c"
DRAIN = "mm/scaleswap/drain.c"

MUTANTS = {
    "shmem-claimed-by-force": (MOVE, "	claimed = ssw_slot_claim(s->m->area->slots, s->mv->from, s->mv->word);",
                               "	ssw_slot_claim(s->m->area->slots, s->mv->from, s->mv->word);\n	claimed = true;",
                               "defrag/move_shmem.users_win"),
    "shmem-rest-left": (MOVE, "		else\n			ssw_move_rest(s->m, s->mv);", "", "defrag/move_shmem.gains_clusters"),
    "shmem-zswap-left": (MOVE, "	ssw_move_rest(m, mv);\n	/* The page may be gone", "	/* The page may be gone",
                         "defrag/move_shmem.without_the_device"),
    "shmem-zswap-seen-early": (MOVE, "			word |= SSW_WORD_CACHE;", "			ssw_slot_cache(s->m->to->slots, s->mv->to);",
                               "defrag/move_shmem.without_the_device"),
    "shmem-large-moved": (NOTE, "		if (xa_is_value(entry) && xas_get_order(&xas))", "		if (0)", "defrag/move_shmem.large"),
    "shmem-large-tried-again": (MOVE, "reason != SSW_MOVE_MM_GONE && reason != SSW_MOVE_SHMEM &&",
                                "reason != SSW_MOVE_MM_GONE &&", "defrag/move_shmem.large"),
    "shmem-number-kept": (NOTE, "	xa_erase(&ssw_inodes, info->scaleswap_id);\n", "", "defrag/move_shmem.users_win"),
    "shmem-number-not-noted": (NOTE, "	ssw_dup_shmem(entry, nr, id, index);", "	ssw_dup_shmem(entry, nr, 0, index);",
                               "defrag/move_shmem.drained"),
    "shmem-index-not-noted": ("mm/scaleswap/swapmap.c", "	for (; nr; nr--, entry.val++, index++) {", "	for (; nr; nr--, entry.val++) {",
                              "defrag/move_shmem.large"),
    "shmem-swapoff-scans": ("mm/scaleswap/unuse.c", "		err = ssw_unuse_shmem(u, base);", "		err = 0;", "defrag/move_shmem.turned_off"),
    "shmem-drained-unread": (DRAIN, "	    folio_test_uptodate(held->folio) && ssw", "	    ssw", "defrag/move_shmem.unreadable"),
    "shmem-holds-up-others": (DRAIN, "		ssw_rest_shmem(area, &held[i]);", "		;", "defrag/move_shmem.cached"),
    "shmem-misfit-not-told": (NOTE, "	if (!ssw_word_has_note(ssw_word_shmem(id, index + nr - 1)))", "	if (!id)", "defrag/move_shmem.without_a_note"),
}
