#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Break one mechanism at a time and see a test fail: scripts/test/mutate.py [NAME...]

A test that has never failed proves nothing. Each entry below damages one line of the
assembled tree, builds the `test` kernel, and runs the tests that are meant to notice.
The damage is found if scripts/test/run.py reports at least one failure among them; a mutant
that lives means that a test is missing. Afterwards the tree is as before.

Takes about a minute a mutant, so it is run by hand and not by CI. --list names them;
--check sees whether each can be applied to the assembled tree, and builds nothing.
It works in a build directory of its own, $BUILD-mutants.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from paths import BUILD as ORIGINAL, ROOT  # noqa: E402

BUILD = ORIGINAL + "-mutants"
os.environ["BUILD"] = BUILD

# name: (file in the tree, what stands there, what to put instead, TESTS pattern)
MUTANTS = {
    "type-signed": ("include/linux/swap.h", "	unsigned char	type;",
                    "	signed char	type;", "BUILD"),
    "x86-type-narrow": ("arch/x86/include/asm/pgtable_64.h", "#define SWP_TYPE_BITS		8",
                        "#define SWP_TYPE_BITS		7", "BUILD"),
    "type-mixed-up": ("include/linux/swapops.h", "	return (entry.val >> SWP_TYPE_SHIFT);",
                      "	return (entry.val >> SWP_TYPE_SHIFT) & 0x7f;", "wide/wide*"),
    "pagemap-plain": ("include/linux/scaleswap.h", "		return type + nr_special;",
                      "		return type;", "*pagemap*"),
    "pagemap-special": ("include/linux/scaleswap.h",
                        "	return type - (1 << MAX_SWAPFILES_SHIFT) + nr_codes;",
                        "	return type;", "*pagemap*"),
    "own-not-first": ("mm/scaleswap/arealist.c", "		return S16_MAX - cand->prio;",
                      "		return (u64)U16_MAX << 48 | cand->type;", "*own*"),
    "own-no-priority": ("mm/scaleswap/arealist.c", "		return S16_MAX - cand->prio;",
                        "		return cand->prio - S16_MIN;", "*priority*"),
    "not-cyclic": ("mm/scaleswap/arealist.c",
                   "	cyclic = cand->home > cpu ? cand->home - cpu : cand->home - cpu + S16_MAX;",
                   "	cyclic = cand->home;", "*order*"),
    "no-distance": ("mm/scaleswap/arealist.c",
                    "		distance = clamp(topo->distance(from, to), 2, U16_MAX - 1);",
                    "		distance = to + 2;", "*distance*"),
    "node-not-kept": ("mm/scaleswap/arealist.c", "		order->node = ssw_topology.cpu_node(cpu);",
                      "		order->node = NUMA_NO_NODE;", "kunit/*"),
    "node-not-first": ("mm/scaleswap/arealist.c", "		distance = 1;",
                       "		distance = U16_MAX;", "*alloc*"),
    "no-spill": ("mm/scaleswap/alloc.c", "	for (at = first; at < nr; at++) {",
                 "	for (at = nr; at < nr; at++) {", "areas/alloc*"),
    "no-plain": ("mm/scaleswap/alloc.c", "	if (READ_ONCE(ssw_nr_plain))",
                 "	if (0)", "areas/*"),
    "home-foreign": ("mm/scaleswap/alloc.c", "		ssw_area_count(area, home, 1U << order);",
                     "		ssw_area_count(area, !home, 1U << order);", "areas/*"),
    "no-fallback-count": ("mm/scaleswap/stat.c", "	this_cpu_add(ssw_fallback_stat[reason], 1UL << order);",
                          "", "areas/alloc*"),
    "plain-not-counted": ("mm/scaleswap/alloc.c", "	ssw_area_count(ssw_area_held(swp_type(entry)), true, pages);",
                          "", "areas/*"),
    "no-blocks": ("mm/scaleswap/alloc.c", "	if (order && (data_race(slots->area->si->flags) & flags) != flags) {",
                  "	if (order) {", "load/large*"),
    "block-in-file": ("mm/scaleswap/alloc.c", "	const unsigned int flags = SWP_BLKDEV | SWP_SOLIDSTATE;",
                      "	const unsigned int flags = SWP_SOLIDSTATE;", "load/large*"),
    "block-from-file": ("mm/swapfile.c", "		if (!(si->flags & SWP_BLKDEV) || !si->cluster_info)\n			return 0;",
                        "", "load/large*"),
    "free-too-high": ("mm/scaleswap/alloc.c", "		ssw_nr_swap_add(-(1L << order));",
                      "", "areas/*"),
    "free-inexact": ("mm/scaleswap/nr_swap.c", "		sum += atomic_long_read(per_cpu_ptr(&ssw_nr_swap, cpu));",
                     "		;", "areas/*"),
    "no-uncharge": ("mm/scaleswap/swapmap.c", "	ssw_uncharge(area, table, slot, nr);",
                    "", "users/group*"),
    "stock-refused-early": ("mm/scaleswap/stock.c", "		if (ssw_stock_any(limit))\n			ssw_stock_drain(limit);\n",
                            "", "users/stock.limit_is_reached"),
    "half-never-used-up": ("mm/memcontrol.c", "		if (limit != PAGE_COUNTER_MAX &&\n", "		if (0 &&\n", "users/group*"),
    "high-never-over": ("mm/memcontrol.c", "	return high != PAGE_COUNTER_MAX && page", "	return high == PAGE_COUNTER_MAX && page",
                        "users/stock*"),
    "stock-no-flag-above": ("mm/scaleswap/stock.c", "	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {\n"
                            "		if (!test_bit", "	{\n		if (!test_bit", "users/stock*"),
    "stock-no-descendants": ("mm/scaleswap/stock.c", "old && mem_cgroup_is_descendant(old, memcg)",
                             "old == memcg", "users/stock.limit_is_reached"),
    "stock-online-only": ("mm/scaleswap/stock.c", "	for_each_possible_cpu(cpu) {", "	for_each_online_cpu(cpu) {",
                          "users/stock.cpu_offline"),
    "stock-of-any-group": ("mm/scaleswap/stock.c", "	taken = stock->memcg == memcg && stock->nr >= nr;",
                           "	taken = stock->memcg && stock->nr >= nr;", "users/stock*"),
    "stock-of-the-dead": ("mm/scaleswap/stock.c", "!css_is_dying(&memcg->css) && ", "",
                          "users/stock.removed_with_slots"),
    "stock-near-limit": ("mm/scaleswap/stock.c", " && ssw_stock_room(&memcg->swap, ssw_stock_slack())",
                         "", "users/stock.taken*"),
    "stock-no-references": ("mm/scaleswap/stock.c", "	mem_cgroup_id_get_many(memcg, SSW_STOCK_BATCH);\n", "",
                            "kunit/*"),
    "tlb-not-flushed": ("arch/x86/mm/tlb_async.c", "	flush_tlb_func(&req->info);\n	/*", "	/*", "kunit/*"),
    "tlb-own-not-flushed": ("arch/x86/mm/tlb_async.c", "		flush_tlb_func(&req->info);\n", "", "kunit/*"),
    "tlb-offline-counted": ("arch/x86/mm/tlb_async.c", "!cpu_online(cpu) || ", "", "kunit/*"),
    "tlb-lazy-interrupted": ("arch/x86/mm/tlb_async.c", " || !should_flush_tlb(cpu, &req->info)", "", "kunit/*"),
    "evict-not-flushed": ("mm/scaleswap/vmscan-evict.c", "		batch->flush = true;", "",
                          "evict/evict.while*"),
    "evict-early": ("mm/scaleswap/evict.c", "		if (time_before(jiffies, batch->unsent))\n			return false;",
                    "		if (time_before(jiffies, batch->unsent))\n			return true;",
                    "evict/evict.while*"),
    "evict-not-put-back": ("mm/scaleswap/vmscan-evict.c",
                           "			    folio_test_dirty(folio) || !folio_test_swapcache(folio))",
                           "			    folio_test_dirty(folio))\n				list_del_init(&folio->lru);\n			if (0)",
                           "evict/evict.while*"),
    "evict-page-by-page": ("mm/scaleswap/vmscan-evict.c", "	if (!pipe || pipe->other)",
                           "	if (1)", "evict/evict.interrupts*"),
    "evict-alone": ("mm/scaleswap/boot.c", "				*mechs |= BIT(SSW_MECH_LRU);", "				;",
                    "kunit/*"),
    "evict-isolated": ("mm/scaleswap/vmscan-evict.c",
                       "NR_ISOLATED_ANON, -(long)seg->nr_taken);",
                       "NR_ISOLATED_ANON, -(long)seg->nr_freed);", "evict/evict.while*"),
    "evict-span-lost": ("mm/scaleswap/io.c", "	ssw_span_get(span);", "	batch->span = NULL;",
                        "evict/evict.in_batches"),
    "evict-waits-for-ever": ("mm/scaleswap/evict.c", "		left = io_schedule_timeout(left);",
                             "		io_schedule_timeout(left);", "evict/evict.slow*"),
    "evict-refilled": ("mm/scaleswap/vmscan-evict.c", "	batch->state = SSW_BATCH_LATE;",
                       "	batch->state = SSW_BATCH_FREE;", "evict/evict.slow*"),
    "evict-held-not-waited": ("mm/vmscan.c", "	return nr_reclaimed ?: scaleswap_evict_last(&sc);",
                              "	return nr_reclaimed;", "evict/evict.held*"),
    # for a second they count only from here on
    "evict-held-late": ("mm/scaleswap/vmscan-evict.c", "	pipe->isolated -= nr_taken;",
                        "	ssw_evict_hold(seg->memcg, lruvec_pgdat(lruvec)->node_id, -(long)pipe->isolated);\n"
                        "	schedule_timeout_uninterruptible(HZ);\n"
                        "	ssw_evict_hold(seg->memcg, lruvec_pgdat(lruvec)->node_id, pipe->isolated);\n"
                        "	pipe->isolated -= nr_taken;", "evict/evict.held*"),
    "evict-held-backwards": ("mm/scaleswap/vmscan-evict.c", "	list_add(&folio->lru, &pipe->held);",
                             "	list_add_tail(&folio->lru, &pipe->held);", "evict/evict.in_batches"),
    "evict-move-not-flushed": ("mm/userfaultfd.c", "	if (scaleswap_evict_on())", "	if (0)",
                               "evict/evict.entry*"),
    "evict-batch-ignored": ("mm/scaleswap/vmscan-evict.c", "filling->nr_pages >= most",
                            "filling->nr_pages >= SSW_BATCH_PAGES", "evict/evict.size*"),
    "evict-no-span-alone": ("mm/scaleswap/io.c", "max > 1 || ssw_span_current() ? max : 0;", "max > 1 ? max : 0;",
                            "evict/evict.stacked*"),
    "evict-memcg-kept": ("mm/scaleswap/vmscan-evict.c", "		css_put(&seg->memcg->css);",
                         "		;", "evict/evict.in_batches"),
    "pool-own-areas": ("mm/scaleswap/alloc.c", "scaleswap_evicts() ? ssw_lru_swapper(folio) : raw_smp_processor_id();",
                       "raw_smp_processor_id();", "pool/evict_pool.areas*"),
    "pool-uncounted": ("mm/scaleswap/evictroom.c", "		ssw_stat_add(SSW_EVICT_WAITS, 1);", "		;",
                       "pool/evict_pool.device*"),
    "pool-late-mark": ("mm/scaleswap/evictroom.c", "READ_ONCE(ssw_evict_threads) && ssw_evict_is_due(&memcg->evict)",
                       "0", "pool/evict_pool.before*"),
    "pool-max-only": ("mm/scaleswap/evictroom.c", "min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));",
                      "READ_ONCE(memcg->memory.max);", "pool/evict_pool.at_high"),
    "pool-nobody-waits": ("mm/scaleswap/evictroom.c", "	if (!READ_ONCE(ssw_evict_threads))\n		return 0;",
                          "	return 0;", "pool/evict_pool.at_the*"),
    "pool-never-stuck": ("mm/scaleswap/evictroom.c", "	WRITE_ONCE(t->stuck, (jiffies + backoff) | 1);", "",
                         "pool/evict_pool.locked*"),
    "pool-waits-for-ever": ("mm/scaleswap/evictroom.c", "		w->left -= slice - schedule_timeout(slice);",
                            "		schedule_timeout(slice);", "pool/evict_pool.slow*"),
    "pool-killed-late": ("mm/scaleswap/evictroom.c", "	if (fatal_signal_pending(current))", "	if (0)",
                         "pool/evict_pool.slow*"),
    "pool-low-taken": ("mm/scaleswap/vmscan-evict.c", "	return scaleswap_evicts() && !sc->proactive;", "	return false;",
                       "pool/evict_pool.protected*"),
    "pool-kthreads-kill": ("mm/scaleswap/evictroom.c", "(held ? never : never | PF_KTHREAD)", "(never | PF_KTHREAD)", "kunit/*"),
    "pool-all-at-once": ("mm/scaleswap/evictroom.c", "		     clamp(threads * nodes, 1, SSW_EVICT_THREADS_MAX));",
                         "		     SSW_EVICT_THREADS_MAX);", "kunit/*"),
    "given-without-limit": ("mm/scaleswap/page_alloc-evict.c", "	return min_t(unsigned long, most, owed);",
                            "	return most;", "evict/evict.circulation"),
    "given-again": ("mm/scaleswap/page_alloc-evict.c", "	WRITE_ONCE(*got, ((long)(least - *got) > 0 ? least : *got) + nr);\n", "",
                    "evict/evict.circulation"),
    "given-never": ("mm/scaleswap/page_alloc-evict.c", "	if (cpu == smp_processor_id())", "	if (1)",
                    "evict/evict.circulation"),
    "given-to-itself": ("mm/scaleswap/page_alloc-evict.c", "	if (cpu == smp_processor_id())", "	if (0)",
                        "evict/evict.circulation"),
    "given-always": ("mm/scaleswap/page_alloc-evict.c", "!READ_ONCE(ssw_evict_circulate) ||", "",
                     "evict/evict.circulation"),
    "given-uncounted": ("mm/scaleswap/page_alloc-evict.c", "	pcp->count += nr;\n", "", "evict/evict.circulation"),
    "evict-small-batches": ("mm/scaleswap/vmscan-evict.c", "		if (seg->lruvec == lruvec && seg->target == target)", "		if (0)",
                            "evict/evict.few_*"),
    "evict-soon": ("mm/scaleswap/vmscan-evict.c", "	     filling->isolated >= SSW_BATCH_TRIES * most))",
                   "	     filling->isolated >= most))", "evict/evict.few_*"),
    "evict-whenever": ("mm/scaleswap/vmscan-evict.c", "	     filling->isolated >= SSW_BATCH_TRIES * most))",
                       "	     0))", "evict/evict.fewer*"),
    "pool-ages-soon": ("mm/scaleswap/vmscan-evict.c", "	return scaleswap_evicts() && sc->priority == DEF_PRIORITY - 1;",
                       "	return false;", "order/*"),
    "pool-old-sizes": ("mm/scaleswap/vmscan-evict.c", "	if (!scaleswap_evicts() || !scaleswap_is_leaf(lruvec_memcg(lruvec)))", "	if (1)",
                       "lru/lru_reclaim.evictor*"),
    "pool-all-wait": ("mm/scaleswap/evictroom.c", "		   (high || nr_pages <= SWAP_CLUSTER_MAX)) {",
                      "		   1) {", "pool/evict_pool.huge*"),
    "pool-memcg-kept": ("mm/scaleswap/evictroom.c", "	if (was)\n		ssw_evict_put(t);", "",
                        "pool/evict_pool.group*"),
    "pool-never-forgets": ("mm/scaleswap/evictroom.c", "		if (nr)\n			break;", "		break;",
                           "pool/evict_pool.none_while*"),
    "pool-cpu-lost": ("mm/scaleswap/evictd.c", "	mutex_lock(&ssw_evict_mutex);\n	ssw_evict_place();",
                      "	mutex_lock(&ssw_evict_mutex);", "pool/evict_pool.cpus"),
    "pool-late-is-stuck": ("mm/scaleswap/evictd.c", "				return ssw_evict_is_late(ev, t);", "				return false;",
                           "pool/evict_pool.device_stalls"),
    "pool-late-for-all": ("mm/scaleswap/evictd.c", "	if (!READ_ONCE(t->late))\n		return false;\n", "",
                          "pool/evict_pool.device_stalls"),
    "pool-late-scans": ("mm/scaleswap/vmscan-evict.c", "	sc.may_swap = proactive || !ssw_pipe_is_late(pipe);\n", "", "pool/evict_pool.device_stalls"),
    "pool-late-unnoticed": ("mm/scaleswap/vmscan-evict.c", "				late = true;\n", "", "pool/evict_pool.device_stalls"),
    "node-first-try": ("mm/scaleswap/page_alloc-evict.c", " || !(gfp_mask & __GFP_DIRECT_RECLAIM))\n		return;", ")\n		return;",
                       "node/evict_node.prefers*"),
    "node-none-for-waiters": ("mm/scaleswap/evictnode.c", " + waiting * SWAP_CLUSTER_MAX;", ";", "kunit/*"),
    "node-no-cpuset": ("mm/scaleswap/page_alloc-evict.c", "		if (!managed_zone(zone) || !cpuset_zone_allowed(zone, gfp_mask) ||",
                       "		if (!managed_zone(zone) ||", "node/evict_node.cpuset"),
    "node-nobody-waits": ("mm/scaleswap/page_alloc-evict.c", "	if (!order && ssw_evict_may_wait(gfp_mask, false)) {", "	if (0) {",
                          "node/evict_node.tasks*"),
    "node-as-kswapd": ("mm/scaleswap/evictnode.c", "	return min(max(threads * SSW_NODE_HEADROOM, SSW_NODE_HEADROOM_MIN), gap / 2);",
                       "	return 5 * gap / 4;",
                       "pool/evict_node.kswapd*"),
    "pool-pause-ignored": ("mm/scaleswap/evict.c", 'debugfs_create_bool("evict_pause", 0600, dir, &ssw_evict_paused);',
                           '{ static bool off; debugfs_create_bool("evict_pause", 0600, dir, &off); }', "pool/evict_pool.paused"),
    "node-not-kswapds": ("mm/scaleswap/vmscan-evict.c", "	return lru_gen_enabled() && ssw_gen_has_ttl();", "	return false;",
                         "node/*"),
    "node-unprotected": ("mm/scaleswap/vmscan-evict.c", "		mem_cgroup_calculate_protection(NULL, memcg);\n		cond", "		cond",
                         "node/*"),
    "tlb-waited-for": ("arch/x86/mm/tlb_async.c", "req, false);", "req, true);", "kunit/*"),
    "stock-without-end": ("mm/scaleswap/stock.c", "		if (stock->nr > SSW_STOCK_MAX)", "		if (0)", "kunit/*"),
    "stock-high-ignored": ("mm/scaleswap/stock.c", "		    min(READ_ONCE(counter->max), READ_ONCE(counter->high)))",
                           "		    READ_ONCE(counter->max))", "kunit/*"),
    "stock-own-level-only": ("mm/scaleswap/stock.c", "	for (; counter; counter = counter->parent) {",
                             "	{", "kunit/*"),
    "stock-at-offline": ("mm/memcontrol.c", "	drain_all_stock(memcg);\n	scaleswap_stock_drain(memcg);",
                         "	drain_all_stock(memcg);", "users/stock.removed"),
    "stock-in-current": ("mm/memcontrol.c", "(u64)scaleswap_stock_usage(memcg, 0)",
                         "(u64)page_counter_read(&memcg->swap)", "users/stock*"),
    "stock-in-high": ("mm/memcontrol.c", "scaleswap_stock_usage(memcg, high), high);",
                      "page_counter_read(&memcg->swap), high);", "users/stock.high"),
    "stock-in-left": ("mm/memcontrol.c", "max - scaleswap_stock_usage(memcg, max));",
                      "max - page_counter_read(&memcg->swap));", "users/stock.left_for_reclaim"),
    "stock-above-max": ("mm/memcontrol.c", "	xchg(&memcg->swap.max, max);\n	scaleswap_stock_drain(memcg);",
                        "	xchg(&memcg->swap.max, max);", "users/stock.limit_is_lowered"),
    "pressure-for-ever": ("mm/scaleswap/pressure.c", "		new = sum_scanned < full ? sum_reclaimed << 32 | sum_scanned : 0;",
                          "		new = sum_reclaimed << 32 | sum_scanned;", "kunit/*"),
    "pressure-of-the-last": ("mm/scaleswap/pressure.c", "lower_32_bits(old) + (u64)*scanned", "(u64)*scanned", "kunit/*"),
    "pressure-overflow": ("mm/scaleswap/pressure.c", "(u64)*reclaimed, U32_MAX);", "(u64)*reclaimed, U64_MAX);", "kunit/*"),
    "pressure-never": ("mm/vmpressure.c", "		goto taken;", "		return;", "cgroup1/cgroup1.pressure"),
    "shadow-without-table": ("mm/scaleswap/swapcache.c", "	table = ssw_slot_table(slots, slot);\n	if (table)\n",
                             "	table = ssw_slot_table(slots, slot);\n", "kunit/*"),
    "distance-below-0": ("mm/scaleswap/hooks.h", "	return distance > mask - SCALESWAP_LRU_BATCH ? 0 : distance;\n",
                         "	return distance;\n", "kunit/*"),
    "shrinkref-no-wait": ("mm/scaleswap/shrinkref.c",
                          "	wait_var_event(shrinker, !ssw_shrinker_refs(shrinker));\n", "",
                          "kunit/*"),
    "shrinkref-not-drained": ("mm/shrinker.c", "		scaleswap_shrinker_drain(shrinker);\n", "", "kunit/*"),
    "shrinkref-given-late": ("mm/scaleswap/shrinkref.c", "	live = refcount_read(&shrinker->refcount);",
                             "	live = true;", "kunit/*"),
    "rwsem-not-taken-back": ("kernel/locking/rwsem.c", "		tmp = atomic_long_add_return_release(-RWSEM_READER_BIAS, &sem->count);\n"
                             "		if (unlikely((tmp & (RWSEM_LOCK_MASK | RWSEM_FLAG_WAITERS)) ==\n"
                             "			      RWSEM_FLAG_WAITERS)) {", "		if (0) {", "kunit/*"),
    "rwsem-beside-a-writer": ("kernel/locking/rwsem.c", "	ret = rwsem_read_trylock(sem, &tmp);\n	if (!ret) {",
                              "	ret = rwsem_read_trylock(sem, &tmp) || 1;\n	if (!ret) {", "kunit/*"),
    "anon-vma-tries-beside-a-writer": ("mm/scaleswap/anon_vma.h", "!scaleswap_anon_vma_awaited(root) && ", "", "kunit/*"),
    "anon-vma-tries-beside-a-sleeper": ("mm/scaleswap/anon_vma.h", "	return rwsem_is_contended(&root->rwsem);",
                                        "	return false;", "kunit/*"),
    "anon-vma-tries-beside-a-spinner": ("mm/scaleswap/anon_vma.h", "	if (osq_is_locked(&root->rwsem.osq))",
                                        "	if (0)", "kunit/*"),
    "shrinkref-no-wake": ("mm/scaleswap/shrinkref.c", "	if (unlikely(!refcount_read(&shrinker->refcount)))\n"
                          "		wake_up_var(shrinker);\n", "", "kunit/*"),
    "shrinkref-stays": ("mm/scaleswap/shrinkref.c", "	if (!live)\n"
                        "		this_cpu_dec(*shrinker->scaleswap_refs);\n", "", "kunit/*"),
    "shrinkref-taken-back-unseen": ("mm/scaleswap/shrinkref.c", "	if (!live)\n"
                                    "		ssw_shrinker_wake(shrinker);\n", "", "kunit/*"),
    "shrinkref-online-only": ("mm/scaleswap/shrinkref.c", "	for_each_possible_cpu(cpu)",
                              "	for_each_online_cpu(cpu)", "kunit/*"),
    "shrinkref-of-this-cpu": ("mm/scaleswap/shrinkref.c", "	for_each_possible_cpu(cpu)\n"
                              "		sum += READ_ONCE(*per_cpu_ptr(shrinker->scaleswap_refs, cpu));\n",
                              "	cpu = 0;\n	sum = READ_ONCE(*raw_cpu_ptr(shrinker->scaleswap_refs));\n", "kunit/*"),
    "record-not-exchanged": ("mm/scaleswap/swapmap.c", "	old = xchg(at, id);",
                             "	old = *at;\n	for (int i = 0; i < 10000; i++)\n		cpu_relax();\n"
                             "	WRITE_ONCE(*at, id);", "kunit/*"),
    "move-not-exchanged": ("mm/scaleswap/swapmap.c", "	if (at && cmpxchg(at, old, new) == old)\n		ret = old;",
                           "	if (at && READ_ONCE(*at) == old) {\n		for (int i = 0; i < 10000; i++)\n"
                           "			cpu_relax();\n		WRITE_ONCE(*at, new);\n		ret = old;\n	}",
                           "kunit/*"),
    "move-never": ("mm/scaleswap/swapmap.c", "	if (at && cmpxchg(at, old, new) == old)", "	if (0)", "kunit/*"),
    "used-above-all": ("mm/scaleswap/swapmap.c", "	return min_t(u64, used, READ_ONCE(area->si->pages));",
                       "	return used;", "kunit/*"),
    "free-above-total": ("mm/scaleswap/nr_swap.c", "	return clamp_t(long, sum, 0, total);",
                         "	return max(sum, 0L);", "kunit/*"),
    "zero-kept": ("mm/scaleswap/swapmap.c", "		if (test_bit(slot + i, si->zeromap))", "		if (0)", "users/users*"),
    "zswap-unused-counted": ("mm/zswap.c", "	if (zswap_never_enabled())\n		return;\n\n	if (folio) {",
                             "	if (folio) {", "kunit*"),
    "zswap-on-the-line": ("include/linux/mmzone.h", "	CACHELINE_PADDING(_scaleswap_pad_);\n", "", "BUILD"),
    "zswap-kept": ("mm/scaleswap/swapmap.c", "	if (!zswap_never_enabled()) {", "	if (0) {", "users/users*"),
    "bad-used": ("mm/scaleswap/cluster.c", "	ssw_cluster_mark_bad(slots, ci, table);", "", "users/device*"),
    "no-discard": ("mm/scaleswap/cluster.c", "	if (slots->use_discard && !ci->nr_bad && !READ_ONCE(slots->closed)) {",
                   "	if (0) {", "users/device*"),
    "discard-in-delegator": ("mm/scaleswap/delegd.c", "		ssw_discard_queue(area);",
                             "		area->discard.func(&area->discard);", "discard/discard.not_by*"),
    "discard-one-item": ("mm/scaleswap/discard.c", "	queue_work(system_unbound_wq, &area->discard);",
                         "	static DEFINE_MUTEX(one);\n\n	mutex_lock(&one);\n	area->discard.func(&area->discard);\n"
                         "	mutex_unlock(&one);", "discard/discard.other_area"),
    "no-trim": ("mm/scaleswap/delegd.c", "		ssw_slots_trim(slots);", "", "users/deleg*"),
    "no-timer": ("mm/scaleswap/delegd.c", "	if (!timer_pending(&area->timer))", "	if (0)", "users/deleg*"),
    "rmap-off-by-one": ("mm/scaleswap/swapmap.c", "addr >> PAGE_SHIFT);", "(addr >> PAGE_SHIFT) + 1);", "users/slots*"),
    "mm-id-shared": ("mm/scaleswap/rmap.c", "	mm->scaleswap_id = 0;", "", "users/slots*"),
    "cached-lost": ("mm/scaleswap/alloc.c", "		if (word == SSW_WORD_CACHE) {", "		if (0) {", "users/slots*"),
    "close-ignored": ("mm/scaleswap/cluster.c", "	if (READ_ONCE(slots->closed))\n		return;", "", "kunit/*"),
    "on-avail-list": ("mm/swapfile.c", "	int nid;\n\n	if (scaleswap_bound(si->type))\n		return;\n",
                      "	int nid;\n\n", "*"),
    "auto-highest": ("mm/scaleswap/area.c", "nr_areas[cpu] < nr_areas[best] ||",
                     "nr_areas[cpu] <= nr_areas[best] ||", "*bind*"),
    "label-ignored": ("mm/scaleswap/area.c", "	if (home >= 0 && cpu_online(home))", "	if (0)",
                      "areas/bind.auto_takes_the_cpu*"),
    "label-offline": ("mm/scaleswap/area.c", "	if (home >= 0 && cpu_online(home))", "	if (home >= 0)",
                      "areas/bind.offline*"),
    "label-no-number": ("mm/scaleswap/area.c", "	if (!len || !isdigit(text[len]) || ", "	if (!len || ",
                        "kunit/*"),
    "refused-twice": ("mm/scaleswap/sysctl.c", "	return !again;", "	return true;", "areas/bind.refused*"),
    "refused-for-good": ("mm/scaleswap/sysctl.c", "	ssw_bind_refused.pid = 0;\n", "",
                         "areas/bind.refused*"),
    "auto-no-node": ("mm/scaleswap/area.c", "near && !best_near))", "0))", "kunit*"),
    "bind-not-possible": ("mm/scaleswap/sysctl.c", "	    cpu >= nr_cpu_ids || !cpu_possible(cpu))",
                          "	    cpu >= NR_CPUS)", "*bad_values*"),
    "bind-ignored": ("mm/scaleswap/area.c", "	home = ssw_bind;", "	home = SSW_BIND_OFF;", "areas/bind*"),
    "bind-while-off": ("mm/scaleswap/sysctl.c", "	if (bind != SSW_BIND_OFF && !static_key_enabled(&scaleswap_key)) {",
                       "	if (0) {", "off/*"),
    "rehome-plain": ("mm/scaleswap/area.c", "	if (scaleswap_home[type] < 0) {\n		err = -EOPNOTSUPP;",
                     "	if (0) {\n		err = -EOPNOTSUPP;", "areas/areas*"),
    "rehome-no-rebuild": ("mm/scaleswap/area.c", "		ssw_set_home(type, cpu);\n		ssw_arealists_rebuild();",
                          "		ssw_set_home(type, cpu);", "areas/*"),
    "swapoff-forgotten": ("mm/swapfile.c", "	scaleswap_swapoff(p);\n", "", "areas/*"),
    "swapon-leak": ("mm/swapfile.c", "	scaleswap_swapoff(si);\n	free_percpu(si->percpu_cluster);",
                    "	free_percpu(si->percpu_cluster);", "areas/badinput*"),
    "failed-swapoff-order": ("mm/swapfile.c", "	spin_unlock(&swap_lock);\n	scaleswap_enabled_area(si);\n",
                             "	spin_unlock(&swap_lock);\n", "load/swapoff*"),
    "table-full-silent": ("mm/scaleswap/area.c", "	pr_warn_ratelimited(\"all %d swap areas",
                          "	if (0)\n		pr_warn_ratelimited(\"all %d swap areas", "wide/wide*"),
    "path-unescaped": ("mm/scaleswap/sysfs.c", "	end = mangle_path(buf, path, \"\\n\\\\\");",
                       "	end = mangle_path(buf, path, \"\");", "areas/areas*"),
    # the swap cache in the tables
    "cache-not-migrated": ("mm/migrate.c", "	i = scaleswap_cache_replace(mapping, xas.xa_index, newfolio, entries);\n",
                           "	i = 0;\n", "users/cache.migrated"),
    "cache-not-split": ("mm/huge_memory.c", "scaleswap_cache_replace(swap_cache, offset + i,\n"
                        "						    page_folio(head + i), 1)) {",
                        "scaleswap_cached(swap_cache)) {", "users/cache.split"),
    "cache-not-cleared": ("mm/scaleswap/swapmap.c", "			WRITE_ONCE(at[i], NULL);", "			continue;",
                          "users/cache*"),
    "cache-wrong-slot": ("mm/scaleswap/swapcache.c", "has its flags. */\n		smp_store_release(&at[i], folio);",
                         "has its flags. */\n		smp_store_release(&at[0], folio);",
                         "load/large*"),
    # LRU shards: which one a folio is in
    "lru-not-split": ("mm/huge_memory.c", "			 LRU_GEN_MASK | LRU_REFS_MASK | SCALESWAP_LRU_MASK));",
                      "			 LRU_GEN_MASK | LRU_REFS_MASK));", "lru/lru_folio.split*"),
    "lru-not-migrated": ("mm/migrate.c", "	scaleswap_lru_copy(newfolio, folio);\n", "",
                         "lru/lru_folio.*keeps_the_shard"),
    "lru-not-returned": ("mm/workingset.c", "	scaleswap_lru_refault(folio, shadow);\n", "", "lru/lru_folio.*return"),
    "lru-no-shadow": ("mm/scaleswap/hooks.h", "				   (unsigned long)scaleswap_lru_id(folio) << SCALESWAP_LRU_SHADOW);",
                      "				   0);", "lru/lru_folio.*return"),
    "lru-not-cleared": ("include/linux/page-flags.h", "LRU_GEN_MASK | LRU_REFS_MASK | \\\n	 SCALESWAP_LRU_MASK)",
                        "LRU_GEN_MASK | LRU_REFS_MASK)", "lru/lru_folio.pages_return"),
    "lru-rejoin": ("mm/scaleswap/lru.c", "	unsigned int id = had ?: ssw_lru_own();",
                   "	unsigned int id = ssw_lru_own();", "lru/lru_folio.lists*"),
    "lru-not-for-locked": ("mm/mlock.c", "	scaleswap_lru_assign(folio);\n", "", "lru/lru_folio.lists*"),
    "lru-mixed-up": ("include/linux/memcontrol.h", "	       scaleswap_lru_matches(folio, lruvec);",
                     "	       true;", "lru/lru_folio.*"),
    "lru-no-shard-yet": ("mm/scaleswap/lru.c", "	if (id && !ssw_shard_ensure(mlruvec, id))\n		id = 0;",
                         "	if (id && !ssw_shard_ensure(mlruvec, id))\n		;", "lru/lru_pressure.no_memory*"),
    "lru-shard-for-a-page": ("mm/scaleswap/lru.c", "	if (!ssw_shard(mlruvec, id) && !ssw_shard_is_due(mlruvec)) {", "	if (0) {",
                             "wide/lru_folio.small*"),
    "lru-small-for-ever": ("mm/scaleswap/lru.c", "	return pages >= nr * SSW_LRU_SHARE;", "	return false;",
                           "wide/lru_folio.small*"),
    "lru-not-above": ("mm/scaleswap/lru.c", "	for (up = parent_lruvec(mlruvec); up && !ssw_shard(up, id);",
                      "	for (up = NULL; up && !ssw_shard(up, id);", "lru/lru_pressure.groups*"),
    "lru-not-freed": ("mm/memcontrol.c", "	scaleswap_lru_free(&pn->lruvec);\n", "", "lru/lru_pressure.shards*"),
    # pages that move to another CPU's shard, and who pays for shards
    "lru-moves-at-once": ("mm/scaleswap/lru.c", "	} else if (number == id) {", "	} else if (0) {", "lru/lru_folio.pages_*"),
    "lru-never-moves": ("mm/scaleswap/lru.c", "			number = own;\n			moves = true;", "			;", "lru/lru_folio.pages_*"),
    "lru-strays-for-ever": ("mm/scaleswap/lru.c", "		if (id == own) {\n			number = own;", "		if (id == own) {\n			;",
                            "lru/lru_folio.pages_*"),
    "lru-strays-unroomed": ("mm/scaleswap/lru.c", "	return 2 * nr <= max ? nr : 0;", "	return nr;", "kunit/*"),
    "lru-place-modulo": ("mm/scaleswap/lru.c", "	return 1 + cpu % cpus * nr / cpus;", "	return 1 + cpu % nr;", "kunit/*"),
    "lru-collapse-moves": ("mm/khugepaged.c", "		scaleswap_lru_inherit(folio, page_folio(src_page));\n", "",
                           "lru/lru_folio.collapse*"),
    "lru-collapse-last": ("mm/scaleswap/hooks.h", "	if (scaleswap_lru_on() && !scaleswap_lru_id(new))\n",
                          "	if (scaleswap_lru_on())\n", "lru/lru_folio.collapse*"),
    "lru-uncharged": ("mm/scaleswap/lru.c", " | __GFP_ACCOUNT", "", "lru/lru_pressure.parent*"),
    "lru-itself-charged": ("mm/scaleswap/lru.c", "set_active_memcg(parent ?: root_mem_cgroup)",
                           "set_active_memcg(lruvec_memcg(mlruvec))", "lru/lru_pressure.parent*"),
    "lru-distance-wraps": ("mm/scaleswap/hooks.h", "	mask = ((mask + 1) << order) - 1;\n", "", "kunit/*"),
    "shadow-share-all": ("mm/scaleswap/shadow.c", "	return ours ? min(nr, ", "	return ours ? max(nr, ", "kunit/*"),
    # and reclaim from them
    "lru-first-only": ("mm/scaleswap/vmscan-lru.c", "	for (i = 0; i <= ssw_lru_shards && ssw_targets_left(&r->left); i++) {",
                       "	for (i = 0; i < 1; i++) {", "lru/*"),
    "lru-total-short": ("mm/scaleswap/lru.c", "		for (zid = 0; zid <= zone_idx; zid++)\n			sum",
                        "		for (zid = 0; zid <= zone_idx && &shard->node != shards->list.first; zid++)\n			sum", "kunit/*"),
    "lru-totals-by-possible": ("mm/scaleswap/lru.c", "			off += SCALESWAP_LRU_BATCH * nr;",
                               "			off += SCALESWAP_LRU_BATCH * ssw_lru_shards;", "kunit/*"),
    "lru-total-rough": ("mm/scaleswap/lru.c", "	return ssw_lru_sum(shards, lru, zone_idx);", "	return total;", "lru/*"),
    "lru-vmstat-soon": ("mm/scaleswap/lru.c", "SSW_LRU_VMSTAT_TIMES * threshold,", "threshold,", "kunit/*"),
    "lru-vmstat-too-late": ("mm/scaleswap/lru.c", "SSW_LRU_VMSTAT_MOST	125", "SSW_LRU_VMSTAT_MOST	500", "kunit/*"),
    "lru-vmstat-twice": ("mm/scaleswap/lru.c", "	*diff = 0;\n	return sum;", "	return sum;", "kunit/*"),
    "lru-posted-twice": ("mm/scaleswap/lruage.c", "lru[lru]);\n		unposted = 0;\n", "lru[lru]);\n", "lru/lru_folio.totals*"),
    "lru-sums-by-possible": ("mm/scaleswap/lrugen.c", "2L * SCALESWAP_LRU_BATCH * READ_ONCE(shards->nr)",
                             "2L * SCALESWAP_LRU_BATCH * ssw_lru_shards", "kunit/*"),
    "lru-ages-stand": ("mm/scaleswap/lruage.c", "	cmpxchg(&shards->seq[lru], seq, seq + 1);\n", "", "lru/lru_order.*"),
    "lru-ages-swapped": ("mm/scaleswap/lruage.c", "		list_splice_tail_init(ssw_older(a, oldest),",
                         "		list_splice_init(ssw_older(a, oldest),", "kunit/*"),
    "lru-ages-lost": ("mm/scaleswap/lruage.c", "		oldest = first;\n", "		oldest = seq;\n", "kunit/*"),
    "lru-ages-not-skipped": ("mm/scaleswap/lruage.c", "	WRITE_ONCE(a->age->oldest, oldest);\n	a->age->taken = 0;\n	ssw",
                             "	a->age->taken = 0;\n	ssw", "kunit/*"),
    "lru-part-stays": ("mm/scaleswap/lruage.c", "	a->age->taken = 0;\n	ssw_ages_part", "	ssw_ages_part", "kunit/*"),
    "lru-part-not-again": ("mm/scaleswap/lruage.c", "	ssw_ages_skip(a);\n	ssw_ages_part(a);\n", "	ssw_ages_skip(a);\n", "kunit/*"),
    "lru-came-not-added": ("mm/scaleswap/lruage.c", "		*ssw_came(a, oldest + 1) += *ssw_came(a, oldest);\n", "", "kunit/*"),
    "lru-came-left": ("mm/scaleswap/lruage.c", "		*ssw_came(a, oldest++) = 0;", "		oldest++;", "kunit/*"),
    "lru-came-not-moved": ("mm/scaleswap/lruage.c", "			*ssw_came(a, first) = *ssw_came(a, oldest);\n", "", "kunit/*"),
    "lru-came-twice": ("mm/scaleswap/lruage.c", "	a->age->came = -a->age->joined;", "	a->age->came = 0;", "kunit/*"),
    "lru-took-next": ("mm/scaleswap/lruage.c", "	if (tail != &a.older->next) {\n		a.age->taken", "	if (1) {\n		a.age->taken", "kunit/*"),
    "lru-rests-older": ("mm/scaleswap/lruage.c", "min(behind, SCALESWAP_LRU_AGES - 1U)", "behind", "kunit/*"),
    "lru-took-nothing": ("mm/vmscan.c", "	scaleswap_lru_took(lruvec, lru, tail, total_scan, nr_to_scan - scan, &sc->nr_short);\n", "", "lru/lru_order.both*"),
    "lru-stay-half-a-batch": ("mm/scaleswap/lruage.c", "ssw_ages_steps(&a, SWAP_CLUSTER_MAX);", "ssw_ages_steps(&a, SWAP_CLUSTER_MAX / 2);", "kunit/*"),
    "lru-busy-for-ever": ("mm/scaleswap/lruage.c", "o.age->begun)) >= SSW_LRU_PARTS)", "o.age->begun)) >= 256)", "kunit/*"),
    "lru-all-idle": ("mm/scaleswap/vmscan-lru.c", "	ssw_lru_begun(mine, lru);\n", "", "lru/lru_pressure.own*"),
    "lru-born-busy": ("mm/scaleswap/lruage.c", "		age->begun = age->seq - SSW_LRU_PARTS;\n", "", "kunit/*"),
    "lru-ages-by-one": ("mm/scaleswap/lruage.c", "max(pages / SSW_LRU_PARTS,", "max(0 / SSW_LRU_PARTS,", "kunit/*"),
    "lru-next-looks-full": ("mm/scaleswap/lruage.c", " &&\n	       !list_empty(&a.older->next);", ";", "kunit/*"),
    "lru-written-then-young": ("mm/scaleswap/lruage.c", "		if (scanned)\n			return false;\n	}", "	}",
                               "kunit/*"),
    "lru-batch-goes-on": ("mm/scaleswap/lruage.c", "	if (scanned && !ssw_ages_alone(lruvec, lru, shards))", "	if (0)", "kunit/*"),
    "lru-alone-never": ("mm/scaleswap/lruage.c", "	if (scanned && !ssw_ages_alone(lruvec, lru, shards))", "	if (scanned)", "kunit/*"),
    "lru-alone-unposted": ("mm/scaleswap/lruage.c", "zone[zid] - shard->size[lru].unposted[zid];", "zone[zid];", "kunit/*"),
    "lru-alone-but-own": ("mm/scaleswap/lruage.c", "		others += READ_ONCE(mz->lru_zone_size[zid][lru]);\n", "", "kunit/*"),
    "lru-took-of-both": ("mm/scaleswap/lruage.c", "	if (*tail != was)\n		a.age->taken -= scanned;\n", "", "kunit/*"),
    "lru-took-of-neither": ("mm/scaleswap/lruage.c", "	if (*tail != was)\n		a.age", "	a.age", "kunit/*"),
    "lru-alone-unseen": ("mm/scaleswap/lruage.c", "	return mine > 0 && others <= 0;", "	return others <= 0;", "kunit/*"),
    "lru-batch-anew": ("mm/scaleswap/vmscan-lru.c", "	if (!r->batch.nr[lru])\n		r->batch", "	r->batch", "lru/lru_reclaim.goal*"),
    "lru-short-forgotten": ("mm/scaleswap/lruage.c", "		*nr_short += left;", "		;", "kunit/*"),
    "lru-short-of-all": ("mm/scaleswap/lruage.c", "	if (nr_pages && left > 0", "	if (left > 0", "kunit/*"),
    "lru-short-at-the-end": ("mm/scaleswap/lruage.c", " && !list_empty(__scaleswap_lru_tail(lruvec, lru)))\n		*nr", ")\n		*nr", "kunit/*"),
    "lru-front-is-stale": ("mm/scaleswap/lruage.c", "	if (ssw_ages_of(lruvec, lru, &a, &shards))\n		ssw_ages_begin(", "	if (ssw_ages_of(lruvec, lru, &a, &shards) && 0)\n		ssw_ages_begin(",
                           "kunit/*"),
    "lru-stays-for-ever": ("mm/scaleswap/vmscan-lru.c", " &&\n	       (int)(ssw_lru_position(first, lru) - r->from[lru]) < SSW_LRU_AGAIN;", ";", "lru/lru_reclaim.lower_limit*"),
    "lru-newest-first": ("mm/scaleswap/lruage.c", "	return a.age->oldest == a.age->seq ? a.newest :", "	return 1 ? a.newest :", "kunit/*"),
    "gen-no-turns": ("mm/scaleswap/vmscan-lrugen.c", "	struct lruvec *l = ssw_gen_lruvec(mlruvec, READ_ONCE(*cursor));",
                     "	struct lruvec *l = mlruvec;",
                     "lrugen/*"),
    "lru-own-first": ("mm/scaleswap/vmscan-lru.c", "		return true;\n	return ssw_lru_pages", "		return false;\n	return ssw_lru_pages", "lru/lru_order.*"),
    "lru-one-for-all-lists": ("mm/scaleswap/vmscan-lru.c", "		if (skipped && r->first[LRU_INACTIVE_FILE] != UINT_MAX) {\n"
                              "			r->first[lru] = r->first[LRU_INACTIVE_FILE];",
                              "		if (lru && r->first[LRU_INACTIVE_ANON] != UINT_MAX) {\n"
                              "			r->first[lru] = r->first[LRU_INACTIVE_ANON];", "lru/lru_reclaim.both_sorts*"),
    "lru-own-aged-first": ("mm/scaleswap/vmscan-lru.c", "		unsigned int id = ssw_shrink_choose(r, LRU_ACTIVE_ANON, sc->reclaim_idx);",
                           "		unsigned int id = ssw_lru_own();", "lru/lru_order.*"),
    "lru-deactivated-last": ("mm/scaleswap/vmscan-lru.c", "		if (enough)\n			ssw_shrink_active(r, sc);\n", "",
                             "lru/lru_reclaim.deactivated*"),
    "lru-short-unscanned": ("mm/scaleswap/vmscan-lru.c", "			ssw_shrink_scanned(r, lru, nr - sc->nr_short);", "			ssw_shrink_scanned(r, lru, nr);",
                            "lru/lru_reclaim.goal*"),
    "lru-own-last": ("mm/scaleswap/vmscan-lru.c", "	if (!ssw_lru_before(other, mine, lru, zone_idx))\n		return own;",
                     "	if (!ssw_lru_before(other, mine, lru, zone_idx))\n		return turn;", "lru/lru_pressure.own*"),
    "lru-drained-one-by-one": ("mm/scaleswap/vmscan-lru.c", "	if (last && ssw_lru_steps(last, lru) > ssw_lru_steps(other, lru)) {",
                               "	if (last && ssw_lru_before(last, mine, lru, zone_idx)) {", "lru/lru_pressure.idle_cpus_in_turn"),
    "lru-not-oldest": ("mm/scaleswap/vmscan-lru.c", "		if (behind > most) {", "		if (most < 0) {", "lru/lru_pressure.reclaim*"),
    "lru-oldest-whole": ("mm/scaleswap/vmscan-lru.c", "			oldest = ssw_lru_number(l);\n", "",
                         "lru/*"),
    "lru-same-turn": ("mm/scaleswap/vmscan-lru.c", "			WRITE_ONCE(*cursor, id);", "			;",
                      "lru/lru_pressure.idle_cpus_in_turn"),
    "lru-foreign-uncounted": ("mm/scaleswap/vmscan-lru.c", "	ssw_stat_add(SSW_LRU_FOREIGN, 1);\n", "",
                              "lru/lru_pressure.idle_cpus_give_way"),
    "lru-not-level": ("mm/scaleswap/vmscan-lru.c", "		if (enough && ssw_targets_level(&r.targets, &r.left))",
                      "		if (enough && ssw_targets_level(&r.targets, &r.left) && 0)",
                      "lru/lru_reclaim.both_sorts*"),
    "lru-never-enough": ("mm/scaleswap/vmscan-lru.c", "	} while (scanned && !ssw_is_enough(before, sc));", "	} while (scanned);",
                         "lru/lru_reclaim.both_sorts*"),
    "lru-aged-always": ("mm/scaleswap/vmscan-lru.c", "	if (!scaleswap_inactive_is_low(l, sc))\n		return;", "	if (0)\n		return;",
                        "lru/lru_reclaim.aged*"),
    "lru-never-aged": ("mm/scaleswap/vmscan-lru.c", "	ssw_shrink_age(&r, sc);", "	;", "lru/lru_reclaim.aged*"),
    "lru-active-invisible": ("mm/scaleswap/vmscan-lru.c", "	if (!r->shards || !left)\n		return;", "	if (1)\n		return;",
                             "lru/lru_reclaim.active_shards*"),
    # generations; a pattern that leaves lru_gen.turned_on out would run without them
    "gen-own-always": ("mm/scaleswap/vmscan-lrugen.c", "	if (mine && (!other || !ssw_gen_is_older(other, mine, type)))",
                       "	if (mine)", "lrugen/*"),
    "gen-own-alone": ("mm/scaleswap/vmscan-lrugen.c", "		found = l != mine && ssw_gen_is_oldest(mlruvec, l, type);",
                      "		found = false;", "lrugen/*"),
    "gen-one-by-one": ("mm/scaleswap/vmscan-lrugen.c", "	WRITE_ONCE(*cursor, ssw_lru_number(l));\n", "", "lrugen/*"),
    "gen-first-came": ("mm/scaleswap/lrugen.c", "	return gone <= 0 ? 0 :", "	return 1 ? 0 :", "kunit/*"),
    "gen-marks-end": ("mm/scaleswap/lrugen.c", "		g->marks = i;\n		return came;", "		return came;", "kunit/*"),
    "gen-marks-of-the-gone": ("mm/scaleswap/lrugen.c", "	if (!drop) {", "	if (1) {", "kunit/*"),
    "gen-other-tail": ("mm/scaleswap/lrugen.c", "	g->gone = came > tail ? div_u64(", "	g->gone = 0 ? div_u64(", "kunit/*"),
    "gen-stray-counts": ("mm/scaleswap/lrugen.c", "	if (marks && came < SCALESWAP_LRU_BATCH)", "	if (0)", "kunit/*"),
    "gen-late-count": ("mm/scaleswap/lrugen.c", "	if (g->marks > 1 && left >= g->mark[1].came / 8 &&", "	if (g->marks > 1 &&", "kunit/*"),
    "gen-folded-are-new": ("mm/scaleswap/lrugen.c", "(u32)jiffies - ssw_lru_gen_age(shard, old_gen, type), nr_pages, left);",
                           "(u32)jiffies, nr_pages, left);", "kunit/*"),
    "gen-written-are-gone": ("include/linux/scaleswap_lru.h", "		shard->gen[gen][type].gone -= nr_pages;", "		;", "kunit/*"),
    "gen-replaced-is-old": ("include/linux/scaleswap_lru.h", "		shard->gen[old_gen][type].gone += nr_pages;", "		;",
                            "lrugen/*"),
    "gen-walks-uncounted": ("mm/scaleswap/lrugen.c", "	long pages = READ_ONCE(shard->gen[gen][type].pages) +\n"
                            "		     atomic_long_read(&shard->promoted[gen][type]);",
                            "	long pages = READ_ONCE(shard->gen[gen][type].pages);", "kunit/*"),
    "lru-stats-lost": ("mm/scaleswap/lru.c", "		__mod_memcg_lruvec_state(&shard->lruvec, NR_LRU_BASE + lru, nr_pages);", "		;",
                       "lru/lru_folio.sums"),
    "lru-stats-node-lost": ("mm/scaleswap/lru.c", "		node_page_state_add(sum, pgdat, NR_LRU_BASE + lru);", "		;",
                            "lru/lru_folio.sums"),
    "lru-stats-zone-lost": ("mm/scaleswap/lru.c", "		zone_page_state_add(sum, zone, NR_ZONE_LRU_BASE + lru);", "		;",
                            "lru/lru_folio.sums"),
    "lru-stats-twice": ("mm/scaleswap/lru.c", "		shard->stats[i] = 0;", "		;", "lru/lru_folio.sums"),
    "lru-stats-not-posted": ("include/linux/memcontrol.h", "	scaleswap_lru_stats_end(lruvec);\n", "", "lru/lru_folio.sums"),
    "gen-first-that-comes": ("mm/scaleswap/vmscan-lrugen.c", "		turn = ssw_gen_oldest(mlruvec, turn, type);", "		;",
                             "order/*"),
    "gen-looks-at-one": ("mm/scaleswap/vmscan-lrugen.c", "	if (turn && turn != other && (!other || !ssw_gen_is_older(other, turn, type))) {",
                     "	if (turn && !other) {", "lrugen/*"),
    "gen-never-ends": ("mm/scaleswap/lrugen.c", "			WRITE_ONCE(l->lrugen.min_seq[type], min_seq + 1);", "			;",
                       "lrugen/*"),
    "gen-anon-ahead": ("mm/scaleswap/lrugen.c", "		    (type == LRU_GEN_FILE || min_seq < l->lrugen.min_seq[LRU_GEN_FILE]))",
                       "		    1)", "kunit/*"),
    "gen-own-size": ("mm/scaleswap/lrugen.c", "	long size = ssw_gen_posted(mlruvec, shards, gen, type);",
                     "	long size = ssw_gen_posted(mlruvec, shards = NULL, gen, type);",
                     "kunit/*"),
    "lru-not-settled": ("mm/scaleswap/lruage.c", "	ssw_ages_skip(&a);\n	newer", "	newer", "kunit/*"),
    "gen-aged-early": ("mm/scaleswap/internal.h", "young * (MIN_NR_GENS + 1) > total * MIN_NR_GENS ||",
                       "young * MIN_NR_GENS > total ||", "kunit/*"),
    "gen-not-posted": ("include/linux/scaleswap_lru.h", "		atomic_long_add(unposted, &shard->mlruvec->shards->gen[gen][type]);",
                       "		;", "lrugen/lru_gen.*"),
    "gen-not-copied": ("mm/scaleswap/lrugen.c", "	to->max_seq = from->max_seq;\n", "", "lrugen/lru_gen.*"),
    "gen-off-in-shards": ("mm/scaleswap/lrugen.c", "	to->enabled = from->enabled;\n", "	to->enabled = false;\n", "lrugen/lru_gen.*"),
    "gen-ages-left": ("mm/scaleswap/lruage.c", "			list_splice_tail_init(ssw_older(&a, seq - 1), a.newest);", "			;",
                      "lrugen/lru_gen.evicts*"),
    "gen-switch-one-list": ("mm/scaleswap/vmscan-lrugen.c", "		lru_gen_change_lruvec(&shard->lruvec, enabled);", "		;",
                            "lrugen/lru_gen.evicts*"),
    "gen-refault-lost": ("mm/workingset.c", "	if (lruvec != scaleswap_memcg_lruvec(folio_lruvec(folio)))",
                         "	if (lruvec != folio_lruvec(folio))", "lrugen/lru_gen.refaults*"),
    "gen-shadow-lost": ("mm/workingset.c", "	return scaleswap_lru_shadow(folio, eviction_shadow(folio, target_memcg, true));",
                        "	return eviction_shadow(folio, target_memcg, true);", "lrugen/lru_gen.refaults*"),
    "oom-by-statistics": ("mm/scaleswap/vmscan-lru.c", "	return scaleswap_on() && sc->force_deactivate &&",
                          "	return 0 && sc->force_deactivate &&", "lru/lru_oom.*"),
    "oom-again-for-high": ("mm/scaleswap/vmscan-lru.c", "+ SWAP_CLUSTER_MAX <= READ_ONCE(memcg->memory.max))",
                           "+ SWAP_CLUSTER_MAX < 0)", "lru/lru_oom.*"),
    "lru-costs-kept": ("mm/scaleswap/lru.c", "	if (a + b <= most)\n", "	if (1)\n", "kunit/*"),
    "lru-costs-apart": ("mm/scaleswap/lru.c", "	while (!atomic_long_try_cmpxchg(other, &b, b / 2))\n		;\n", "", "kunit/*"),
    # lanes: pages that other CPUs will want back, in other clusters
    "lane-of-all": ("mm/scaleswap/lru.c", "	return id && id != ssw_lru_home(cpu) ? 1 + id % SSW_NR_LANES : 0;",
                    "	return id && id != ssw_lru_home(cpu) ? 0 : 0;", "lru/lru_lanes.*apart"),
    "lane-of-others": ("mm/scaleswap/lru.c", "? 1 + id % SSW_NR_LANES : 0;", "? 1 : 0;", "lru/lru_lanes.*apart"),
    "lane-of-askers": ("mm/scaleswap/alloc.c", "home ? 0 : 1 + cpu % SSW_NR_LANES,", "0,", "lru/lru_lanes.*apart"),
    "lane-lost": ("mm/scaleswap/alloc.c", "	result = ssw_area_alloc(slots->area, cpu, home, order, lane, SSW_WORD_CACHE,",
                  "	result = ssw_area_alloc(slots->area, cpu, home, order, 0, SSW_WORD_CACHE,", "lru/lru_lanes.*apart"),
    "lane-unused": ("mm/scaleswap/cluster.c", "	return &slots->cursor[req->lane && !req->order ?",
                    "	return &slots->cursor[0 && !req->order ?", "lru/lru_lanes.*apart"),
    # fault.c and io.c: pages that are neighbours on the device, in one bio
    "io-not-adjacent": ("mm/scaleswap/io.c", "batch->cb.data == si && bio_end_sector(&batch->bio) == sector &&",
                        "batch->cb.data == si &&", "fault/*not_neighbours"),
    "io-areas-mixed": ("mm/scaleswap/io.c", "		if (batch->cb.data == si && bio_end_sector",
                       "		if (bio_end_sector", "fault/*not_neighbours"),
    "io-groups-mixed": ("mm/scaleswap/io.c", "		    batch->memcg == memcg && batch->span", "		    batch->span",
                        "fault/*charged_to_its_group"),
    "io-not-charged": ("mm/scaleswap/io.c", "		ssw_charge(&batch->bio, folio);", "		;",
                       "fault/*charged_to_its_group"),
    "io-max-ignored": ("mm/scaleswap/io.c", "	max = min3(max, ", "	max = min3(256U, ",
                       "fault/*.batches"),
    "io-plain-too": ("mm/scaleswap/hooks.h", "	       (scaleswap_fault_on() || scaleswap_bound(si->type)) &&\n", "",
                     "load/*.batches_of_the_core"),
    "io-with-faults-only": ("mm/scaleswap/hooks.h", "(scaleswap_fault_on() || scaleswap_bound(si->type))",
                            "scaleswap_fault_on()", "load/*.batches_of_the_core"),
    "io-bios-not-counted": ("mm/scaleswap/io.c", "	ssw_stat_add(SSW_IO_BATCHES, 1);\n", "", "fault/*.batches"),
    "io-pages-not-counted": ("mm/scaleswap/io.c", "	ssw_stat_add(SSW_IO_BATCHED, 1);\n", "", "fault/*.batches"),
    "io-all-unwritten": ("mm/scaleswap/io.c", "	if (unlikely(bio->bi_status) && bio->bi_vcnt > 1) {",
                         "	if (0) {", "*.bad_sectors_written"),
    "io-error-forgotten": ("mm/scaleswap/io.c", "	folio_mark_dirty(folio);\n", "", "*.bad_sectors_written"),
    "io-never-written": ("mm/scaleswap/io.c", "		ssw_write_failed(folio, bio);\n	folio_end_writeback(folio);",
                         "		ssw_write_failed(folio, bio);\n	else\n		folio_end_writeback(folio);",
                         "*.bad_sectors_written"),
    "io-all-unread": ("mm/scaleswap/io.c", "		INIT_WORK(&batch->work, ssw_reads_retry);\n"
                      "		queue_work(ssw_io_retry_wq, &batch->work);\n",
                      "		bio_for_each_folio_all(fi, bio)\n			folio_unlock(fi.folio);\n"
                      "		bio_put(bio);\n", "stack/*.bad_sectors"),
    "io-merged-again": ("mm/scaleswap/io.c", "		opf |= REQ_NOMERGE;", "		;", "fault/*.batches"),
    "io-other-priority": ("mm/scaleswap/io.c", "	bio->bi_ioprio = get_current_ioprio();\n", "",
                          "stack/*.sleeps_with_pages_collected"),
    "io-two-spans": ("mm/scaleswap/io.c", "			return batch;\n		ssw_bio_batch_submit(batch);\n",
                     "			return batch;\n", "stack/*.areas_apart"),
    "io-submits-asleep": ("mm/scaleswap/io.c", "	if (from_schedule)\n", "	if (0)\n", "stack/*.sleeps_with_pages_collected"),
    "io-no-reserves": ("mm/scaleswap/io.c", "	flags = memalloc_noreclaim_save();\n	submit_bio(&batch->bio);",
                       "	flags = memalloc_flags_save(0);\n	submit_bio(&batch->bio);",
                       "stack/*.sleeps_with_pages_collected"),
    "fault-polls-on": ("mm/scaleswap/fault.c",
                       "		if (need_resched() || !single_task_running() || local_clock() > limit)",
                       "		if (0)",
                       "fault/fault.handed_over"),
    "io-any-queue": ("mm/scaleswap/io.c", "	if (max > 1 && !queue_is_mq(", "	if (0 && !queue_is_mq(",
                     "stack/*.dm_in_flight"),
    "io-alone-not-counted": ("mm/scaleswap/io.c", "	ssw_fallback(raw_smp_processor_id(), SSW_FB_NO_BATCH, 0);\n",
                             "", "stack/*.multipath_write_error"),
    "io-retry-elsewhere": ("mm/scaleswap/io.c", "		bio = bio_alloc(si->bdev, 1,",
                           "		bio = bio_alloc(bdev_whole(si->bdev), 1,", "stack/*.written_again_as_before"),
    "io-retry-as-root": ("mm/scaleswap/io.c", "		ssw_charge(bio, fi.folio);\n", "",
                         "stack/*.written_again_as_before"),
    "fault-retry-as-root": ("mm/scaleswap/io.c", "	ssw_charge(bio, folio);\n", "",
                            "stack/*.read_retried_as_its_group"),
    "fault-retries-in-turn": ("mm/scaleswap/fault.c",
                              "alloc_workqueue(\"scaleswap_retry\", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);",
                              "alloc_workqueue(\"scaleswap_retry\", WQ_MEM_RECLAIM | WQ_UNBOUND, 1);",
                              "stack/*.devices_apart"),
    "fault-retry-early-put": ("mm/scaleswap/fault.c", "	scaleswap_read_retry(folio);\n	/* Not before,",
                              "	bio_put(&rb->bio);\n	scaleswap_read_retry(folio);\n	return;\n	/* Not before,",
                              "stack/*.devices_apart"),
    "fault-others-wait": ("mm/scaleswap/fault.c", "need_resched() || !single_task_running() ||", "need_resched() ||",
                          "stack/*.gives_way"),
    "fault-worker-blocked": ("mm/scaleswap/fault.c", "		wait_event_interruptible_hrtimeout(",
                             "		wait_event_hrtimeout(", "stack/*.worker_is_idle"),
    "fault-flush-late": ("mm/scaleswap/fault.c", "	ssw_bio_batch_flush(true);\n", "", "stack/*.sleeps_at_its_end"),
    "fault-behind-writes": ("mm/scaleswap/fault.c", "	ssw_bio_batch_flush(false);\n", "", "stack/*.reads_before_it_submits"),
    "fault-sleeps-alone": ("mm/scaleswap/fault.c", "		list_add_tail(&read->cb.list, &current->plug->cb_list);",
                           "		;", "stack/*.sleeps_before_it_polls"),
    # pages moved for the same accesses
    "fault-ahead-by-slot": ("mm/scaleswap/fault.c",
                            "	folio = vma_readahead ? vma_readahead(entry, gfp, mpol, ilx, vmf) :\n"
                            "				swap_cluster_readahead(entry, gfp, mpol, ilx);\n"
                            "	if (folio)",
                            "	folio = swap_cluster_readahead(entry, gfp, mpol, ilx);\n	if (folio)",
                            "fault/moved.ahead_by_address"),
    "slots-apart": ("mm/scaleswap/cluster.c", "	cursor->next = at + (1U << req->order);",
                    "	cursor->next = at + (3U << req->order);", "fault/moved.ahead_*"),
    "seems-full": ("mm/scaleswap/nr_swap.c", "	left = atomic_long_add_return(kept, &nr_swap_pages);",
                   "	left = atomic_long_add_return(6 * kept, &nr_swap_pages);", "fault/moved.at_the_limit"),
}


def call(args, **kwargs):
    return subprocess.run(args, cwd=ROOT, stdin=subprocess.DEVNULL, **kwargs)


def assemble():
    call(["scripts/build/tree.py"], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, FORCE="1"))


def places(name, build):
    """In how many places of the tree in this build directory the mutant could be applied."""
    path, old, _, _ = MUTANTS[name]
    try:
        with open(f"{build}/tree/{path}") as f:
            return f.read().count(old)
    except OSError:
        return 0


def run(name):
    """Return what noticed the mutant, or None."""
    path, old, new, tests = MUTANTS[name]
    if places(name, BUILD) != 1:
        return f"?? {path} has {places(name, BUILD)} places to damage; fix scripts/test/mutate.py"
    full = f"{BUILD}/tree/{path}"
    with open(full) as f:
        text = f.read()
    with open(full, "w") as f:
        f.write(text.replace(old, new))
    build = call(["scripts/build/kernel.sh", "test"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if build.returncode:
        return "the build" if "BUILD_BUG_ON" in build.stdout or "error:" in build.stdout else "?? " + build.stdout[-300:]
    if tests == "BUILD":
        return None
    # scripts/test/run.py keeps edits made by hand in the tree, and so the mutant
    test = call(["scripts/test/run.py", "test"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=dict(os.environ, TESTS=tests))
    failed = re.findall(r"^\[[^]]*\] FAILED (\S+)", test.stdout, re.M)
    if not re.search(r"^\d+ passed, \d+ failed", test.stdout, re.M):
        return "?? scripts/test/run.py did not finish: " + test.stdout[-300:]
    return ", ".join(failed[:4]) + (f" and {len(failed) - 4} more" if len(failed) > 4 else "") if failed else None


def main():
    names = sys.argv[1:] or list(MUTANTS)
    if names == ["--list"]:
        print("\n".join(MUTANTS))
        return 0
    if names == ["--check"]:
        wrong = [f"mutate: {n}: {MUTANTS[n][0]} has {c} places to damage, not one"
                 for n in MUTANTS if (c := places(n, ORIGINAL)) != 1]
        with open(__file__) as f:
            written = re.findall(r'^    "([\w-]+)": \(', f.read(), re.M)
        wrong += [f"mutate: there are several mutants {n}" for n in sorted(set(written)) if written.count(n) > 1]
        print("\n".join(wrong or [f"mutate: each of {len(MUTANTS)} mutants can be applied"]))
        return 1 if wrong else 0
    unknown = [n for n in names if n not in MUTANTS]
    if unknown:
        print(f"mutate: no mutant is called {' '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    lived = wrong = 0
    os.makedirs(BUILD, exist_ok=True)
    if not os.path.exists(f"{BUILD}/base"):
        call(["scripts/build/fetch.sh"], check=True)
    try:
        for name in names:
            assemble()
            found = run(name)
            lived += found is None
            wrong += bool(found) and found.startswith("??")
            print(f"{name:22s} {'LIVED' if found is None else 'found by ' + found}", flush=True)
    finally:
        assemble()
    print(f"mutate: {len(names) - lived - wrong} found, {lived} lived, {wrong} could not be tried")
    return 1 if lived or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
