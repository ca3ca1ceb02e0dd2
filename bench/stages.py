# SPDX-License-Identifier: GPL-2.0
"""The stages of a swap-out and of a swap-in, for bench/scale.py.

A function that matches is a root: it and all that it calls belong to its stage, up to the
next root. So a helper such as xas_load() or memset() counts where it was called. The names are
those of the base kernel, of the series and of the peer; a name that a kernel lacks does no harm.
The first stage whose pattern matches a function has it; SHOWN is the order of tables.
"""
import re

STAGES = [
    # what all others call, and is to be seen apart
    ("statistics", r"(__)?(mod|inc|dec)_(memcg_)?(lruvec|node|zone|memcg)(_page|_kmem)?_(state|stat)|(__)?(lruvec|node)_stat_"
     r"(mod|add)_folio|mod_(node|zone)_page_state|(__)?count_memcg_(folio_)?events?|memcg_rstat_updated|css_rstat_updated|"
     r"__cgroup_rstat_updated|lruvec_page_state(_local)?|mod_lruvec_|mod_memcg_|mem_cgroup_update_lru_size|memcg_page_state|"
     r"folio_memcg_(un)?lock|count_swpout_vm_event"),
    ("memory cgroup", r"mem_cgroup_swapin_charge_folio|__mem_cgroup_charge|charge_memcg|mem_cgroup_commit_charge|try_charge_memcg|"
     r"__mem_cgroup_uncharge(_folios)?|uncharge_(folio|batch)|__?_?mem_cgroup_(un)?(try_)?charge_swap|mem_cgroup_swapin_uncharge_swap|"
     r"mem_cgroup_swap_full|mem_cgroup_get_nr_swap_pages|swap_cgroup_|lookup_swap_cgroup_id|scaleswap_cgroup_|memcg1_|"
     r"mem_cgroup_id_|mem_cgroup_private_id|page_counter_|__memcg1_|mem_cgroup_from_id|mem_cgroup_charge_skmem|drain_obj_stock|"
     r"refill_obj_stock|get_mem_cgroup_from_mm"),
    ("working set", r"workingset_(?!update_node)|__?scaleswap_lru_(refault|shadow)|lru_gen_(refault|eviction)"),
    ("zswap", r"zswap_"),
    ("unmapping: rmap walks, TLB", r"try_to_unmap|folio_referenced|rmap_walk|flush_tlb|arch_tlbbatch|folio_lock_anon_vma|"
     r"native_flush_tlb|ptep_clear_flush|set_tlb_ubc|should_defer|page_vma_mapped_walk|folio_mkclean"),
    ("rmap of the new or unmapped page", r"folio_add_new_anon_rmap|folio_add_anon_rmap|folio_remove_rmap|folio_move_anon_rmap"),
    ("swap cache", r"add_to_swap_cache|__?_?delete_from_swap_cache|swap_cache_|__swap_cache_|swap_cache_get_folio|filemap_get_(folio|entry)|"
     r"__filemap_get_folio|get_shadow_from_swap_cache|clear_shadow_from_swap_cache|workingset_update_node|ssw_clear_shadows|"
     r"filemap_get_incore|__scaleswap_shadow_lru|free_swap_cache"),
    ("slots", r"folio_alloc_swap|swap_duplicate|__swap_duplicate|swap_free_nr|put_swap_folio|swapcache_prepare|swapcache_clear|__swap_count|"
     r"swap_swapcount|swp_swapcount|free_swap_and_cache_nr|folio_free_swap|folio_swapped|get_swap_device|swp_swap_info|"
     r"swap_entry_range_free|get_swap_pages|free_swap_slot|folio_dup_swap|folio_put_swap|swap_put_entries|swap_dup_entr|swap_entry_swapped|"
     r"__swap_cluster_|swap_free|swp_swapcount|cluster_alloc|alloc_swap_scan_cluster|refill_swap_slots|swapcache_free_entries|"
     r"(__)?(ssw|scaleswap)_(alloc_swap|request|cluster|drain|token|slot|table|release|uncache|duplicate|dup_mapped|free|count|has_cache|"
     r"only_cache|swapped|run|nr_swap|area|mm_id)"),
    ("LRU lists", r"folio_add_lru|lru_add|__?folio_batch_|folio_batch_move_lru|lru_move_tail|folio_(activate|deactivate|rotate)|lru_(gen|deactivate|"
     r"activate)_|isolate_lru_folios|move_folios_to_lru|folio_lruvec_(re)?lock|__?scaleswap_lru_assign|__page_cache_release|"
     r"scaleswap_lru_list|lru_note_cost|scaleswap_lru_note_cost|lru_add_drain|folio_mark_accessed"),
    ("page allocator", r"__alloc_(pages|frozen_pages)|alloc_pages_mpol|folio_alloc_mpol|vma_alloc_folio|alloc_frozen_pages|free_unref_|"
     r"__folio_put|folios_put_refs|free_frozen|get_page_from_freelist|free_pages_and_swap_cache|free_unref_folios"),
    ("shrinkers of slabs", r"shrink_slab"),
    ("drive (null_blk)", r"null_"),
    ("block layer", r"submit_bio|bio_|__?blk_|blk_|__submit_bio|__swap_writepage|swap_writepage|swap_writeout|swap_read_folio|swap_read_unplug|"
     r"__swap_read_unplug|end_swap_bio|__end_swap_bio|swap_write_unplug|__?scaleswap_(read|write)_submit|ssw_(bio|write|read|submit|poll|hand)|"
     r"bio_poll|mempool_|sbitmap_|blk_finish_plug|__blk_flush_plug|scaleswap_io"),
    ("folio states", r"folio_(start|end)_writeback|__folio_(start|end)_writeback|folio_(un)?lock|__folio_lock|folio_end_read|folio_mark_dirty|"
     r"folio_clear_dirty_for_io|folio_wait|noop_dirty_folio|folio_wake|__folio_lock_or_retry"),
    ("reclaim itself", r"try_to_free_mem_cgroup_pages|do_try_to_free_pages|shrink_(node|lruvec|folio_list|inactive|active|one)|ssw_shrink|pageout|"
     r"__remove_mapping|remove_mapping|vmpressure|__?scaleswap_lru_(total|costs)|prepare_scan|get_scan_count|mem_cgroup_iter|ssw_|"
     r"scaleswap_lru|__scaleswap_lru|memory_reclaim|user_proactive_reclaim|add_to_swap|throttle_direct"),
    ("swap fault itself", r"do_swap_page|swapin_readahead|swap_cluster_readahead|read_swap_cache_async|__read_swap_cache_async|"
     r"__?scaleswap_swapin|swap_vma_readahead|swapin_sync|swap_update_readahead"),
    ("fault entry and exit", r"asm_exc_page_fault|exc_page_fault|do_user_addr_fault|handle_mm_fault|lock_vma_under_rcu|__handle_mm_fault|"
     r"handle_pte_fault|error_entry|error_return|mas_walk|irqentry_"),
    ("interrupts, scheduler", r"asm_(?!exc_page_fault)\w+|__?schedule|handle_softirqs|__do_softirq|try_to_wake_up|wake_up_|io_schedule|"
     r"do_idle|ret_from_fork|worker_thread|process_one_work|tick_|rcu_core|entry_SYSCALL_64"),
]
# where there is none, and where the CPU was in user space
NONE, USER = "other", "workload"
SHOWN = [USER, "fault entry and exit", "swap fault itself", "reclaim itself", "swap cache", "slots", "memory cgroup",
         "working set", "zswap", "LRU lists", "page allocator", "unmapping: rmap walks, TLB",
         "rmap of the new or unmapped page", "folio states", "block layer", "drive (null_blk)", "statistics",
         "shrinkers of slabs", "interrupts, scheduler", NONE]
_STAGES = [(title, re.compile(f"(?:{pattern})")) for title, pattern in STAGES]


def stage_of(name):
    """The stage of a root, None for any other function."""
    return next((title for title, pattern in _STAGES if pattern.match(name)), None)
