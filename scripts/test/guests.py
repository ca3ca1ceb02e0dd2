# SPDX-License-Identifier: GPL-2.0
"""The guests in which scripts/test/run.py runs the tests: GUESTS.

A guest is two things at once: what is tested, and on which machine. Guests are small, so
that one that hangs or splats spoils little, and two run side by side. Its fields:
  tests    programs of tools/testing/selftests/scaleswap in their order; prog:case for one case
  cpus, nodes, mem (MB), thread, append, qemu    options of scripts/guest/boot.py
  files    images of drives that `qemu` names as {dir}/FILE, 256 MB each
  debug    what differs with the debug kernel; None: not at all
  only     only when TESTS begins with the guest's name

The debug kernel takes minutes to boot where drives sit on two nodes (ACPI's interrupt
routing under KASAN): one such guest is enough.
"""
GUESTS = {
    # two nodes: the order of spilling over; the areas' own interfaces
    "areas": dict(cpus=4, nodes=2, append="scaleswap=on",
                  tests="param.sh bind areas alloc badinput plain notes tools.sh"),
    # everything that swaps for long
    "load": dict(cpus=4, nodes=2, append="scaleswap=core", debug=dict(nodes=1),
                 tests="large swapoff hotplug workload.sh lru_folio:values fault:tunables "
                 "fault:off_without_the_mechanism io:tunables io:batches_of_the_core"),
    # every user of swap, delegation, devices
    "users": dict(cpus=4, nodes=2, append="scaleswap=on", debug=dict(nodes=1),
                  tests="users zbatch zlarge zlane zload zunits znode cache shared uffd group stock counts deleg device slots"),
    # LRU shards; memory blocks that can go offline
    "lru": dict(cpus=4, nodes=2, mem=832,
                append="scaleswap=on movablecore=540M", debug=dict(nodes=1, mem=1024),
                tests="lru_folio lru_pressure lru_lanes lru_reclaim lru_order lru_oom "
                "lru_gen:switched_under_load"),
    # the same with generations
    "lrugen": dict(cpus=4, nodes=2, mem=1024,
                   append="scaleswap=on movablecore=540M", debug=dict(nodes=1, mem=1280),
                   tests="lru_gen lru_folio lru_pressure lru_lanes lru_reclaim lru_order lru_oom "
                   "lru_gen:switched_under_load"),
    # shards without evictors
    "noevict": dict(cpus=4, nodes=1, append="scaleswap=core,lru,fault",
                    tests="lru_reclaim lru_order lru_gen:turned_on lru_reclaim:kswapd_takes_from_all "
                    "lru_order:used_pages_outlive_idle_ones"),
    # evictors, first with active and inactive lists, then with generations
    "evict": dict(cpus=4, nodes=1, append="scaleswap=on",
                  tests="evict lru_gen:turned_on evict"),
    # the pool of evictors, in the same way
    "pool": dict(cpus=4, nodes=1, append="scaleswap=on", debug=dict(mem=1024),
                 tests="evict_stock evict_own evict_pool evict_node:kswapd_alone lru_gen:turned_on evict_pool "
                 "evict_node:kswapd_alone"),
    # the pool where the memory of nodes is short
    "node": dict(cpus=4, nodes=2, mem=768, append="scaleswap=on", debug=dict(mem=2048),
                 tests="evict_node lru_gen:turned_on evict_node"),
    # the pages that faults wait for: private queues, and poll queues for bios. fault_device last:
    # the area of a drive that it removes stays, and takes pages that never get out
    "fault": dict(cpus=4, nodes=1, append="scaleswap=on nvme.poll_queues=2 "
                  "brd.rd_nr=1 brd.rd_size=16384", debug=dict(mem=1280), tests="io fault moved fault_device"),
    # slots move while they are in use; a drive of which two slots cannot be read, and one once
    # cannot; and one cannot be written, and one once cannot
    "defrag": dict(cpus=4, nodes=1, mem=640, append="scaleswap=on brd.rd_nr=1 brd.rd_size=66560",
                   tests="compact defrag drain move_shmem", files=("bad",),
                   qemu="-drive if=none,id=bad,driver=raw,cache=unsafe,file.driver=blkdebug,"
                   "file.image.driver=file,file.image.filename={dir}/bad,"
                   + ",".join(f"file.inject-error.{i}.event=none,file.inject-error.{i}.iotype={what},"
                              f"file.inject-error.{i}.sector={8 * slot},file.inject-error.{i}.once={once}"
                              for i, (what, slot, once) in enumerate((
                                  ("read", 1124, "off"), ("read", 1224, "off"), ("read", 1324, "on"),
                                  ("write", 1424, "off"), ("write", 1474, "on"))))
                   + " -device nvme,id=bad,serial=ssw-bad,drive=bad,max_ioqpairs=12,msix_qsize=13"),
    # two PCI functions: one is a simulated IAA device
    "iaa": dict(cpus=4, nodes=1, append="scaleswap=on idxd.sim=0000:00:10.0,0000:00:1f.3",
                qemu="-device e1000e,addr=0x10 -device e1000e,addr=0x11", tests="iaa iaa_races"),
    # none of either
    "nopoll": dict(cpus=4, nodes=1, append="scaleswap=on nvme.swap_queues=0 nvme.poll_queues=0",
                   tests="fault:tunables fault:critical_first_by_interrupt fault:without_queues"),
    # every transfer through a bounce buffer
    "swiotlb": dict(cpus=4, nodes=1, mem=640, append="scaleswap=fault,zbatch nvme.poll_queues=2 "
                    "swiotlb=force idxd.sim=0000:00:10.0", qemu="-device e1000e,addr=0x10",
                    debug=None, tests="fault:ways fault:many fault:handed_over iaa:by_a_device "
                    "iaa:compressed_wrong iaa:lost iaa_races:comes_and_goes"),
    # what may lie between swap and a drive: the device mapper, two paths to one
    # namespace, of which a sector behind 64 MB cannot be written; a drive of which two
    # sectors cannot be read, and a third once cannot; and one cannot be written, and one
    # once cannot; a drive that does twenty commands a second
    "stack": dict(cpus=4, nodes=1, mem=640, append="scaleswap=on nvme.poll_queues=2", debug=None,
                  files=("paths", "bad", "slow"), qemu="-device nvme-subsys,id=sub,nqn=ssw-paths "
                  "-device nvme,id=p0,serial=ssw-paths,subsys=sub,max_ioqpairs=12,msix_qsize=13 "
                  "-device nvme,id=p1,serial=ssw-paths,subsys=sub,max_ioqpairs=12,msix_qsize=13 "
                  "-drive if=none,id=paths,driver=raw,cache=unsafe,file.driver=blkdebug,"
                  "file.image.driver=file,file.image.filename={dir}/paths,"
                  "file.inject-error.0.event=none,file.inject-error.0.iotype=write,"
                  f"file.inject-error.0.sector={(64 << 20 >> 9) + 8 * 400},file.inject-error.0.once=off "
                  "-device nvme-ns,bus=p1,drive=paths,nsid=1,shared=on "
                  "-drive if=none,id=bad,driver=raw,cache=unsafe,file.driver=blkdebug,"
                  "file.image.driver=file,file.image.filename={dir}/bad,"
                  + ",".join(f"file.inject-error.{i}.event=none,file.inject-error.{i}.iotype={what},"
                             f"file.inject-error.{i}.sector={8 * slot},file.inject-error.{i}.once={once}"
                             for i, (what, slot, once) in enumerate((
                                 ("read", 100, "off"), ("read", 200, "off"), ("read", 300, "on"),
                                 ("write", 400, "off"), ("write", 450, "on"))))
                  + " -device nvme,id=bad,serial=ssw-bad,drive=bad,max_ioqpairs=12,msix_qsize=13 "
                  "-drive if=none,id=slow,file={dir}/slow,format=raw,cache=unsafe,throttling.iops-total=20 "
                  "-device nvme,id=slow,serial=ssw-slow,drive=slow,max_ioqpairs=12,msix_qsize=13",
                  tests="fault_stack fault_bio fault_write fault_slow"),
    # an IOMMU, which does not let drives access what is not, or no longer, theirs
    "iommu": dict(cpus=4, nodes=1, mem=640, append="scaleswap=on nvme.poll_queues=2 "
                  "intel_iommu=on iommu.strict=1 idxd.sim=0000:00:10.0", debug=None,
                  qemu="-device intel-iommu,intremap=off -device e1000e,addr=0x10",
                  tests="fault:ways fault:many fault:handed_over iaa:by_a_device "
                  "iaa:compressed_wrong iaa:lost iaa_races:comes_and_goes iaa_races:halts_for_a_reset iaa_races:aborted_often "
                  "fault_device:resets_direct fault_device:resets_handed_over "
                  "fault_stack:no_stray_dma"),
    # everything at once, with CPUs and areas that come and go
    "stress8": dict(cpus=8, nodes=1, append="scaleswap=on", mem=768,
                    debug=dict(mem=1536, tests="stress.sh"), tests="stress.sh deleg"),
    "stress16": dict(cpus=16, nodes=1, append="scaleswap=on", mem=1024,
                     debug=dict(mem=2048), tests="stress.sh:for_a_while evict_stock:few_are_written"),
    # discards that a device does not answer. A kernel that fails may not come back from
    # suspend, so nothing else is in this guest
    "discard": dict(cpus=2, nodes=1, append="scaleswap=on", tests="discard"),
    # the memory controller in a hierarchy of cgroup v1
    "cgroup1": dict(cpus=4, nodes=1, append="scaleswap=on cgroup.memory=nokmem", tests="cgroup1"),
    # 247 areas; a name that no mechanism has
    "wide": dict(cpus=8, nodes=1, append="scaleswap=core,lru,nosuchthing",
                 tests="param.sh wide pagemap bind alloc lru_folio:small_groups_have_few"),
    # two processors that really run at the same time
    "smp": dict(cpus=2, nodes=1, append="scaleswap=on", thread="multi",
                tests="swapoff hotplug alloc workload.sh:pinned_use_own_area "
                "workload.sh:threads_that_move workload.sh:copy_on_write deleg:crowd "
                "deleg:crowd_with_batch_1 deleg:busy_area_goes evict:while_written_to "
                "evict:entry_moved_before_the_flush compact:users_win compact:no_cluster_is_lost "
                "stress.sh:for_a_while stress.sh:with_evictors"),
    # two of them without evictors, which flush where zswap's lanes need it, too
    "smpz": dict(cpus=2, nodes=1, append="scaleswap=core,zbatch", thread="multi",
                 tests="zmove zlane:written_to_meanwhile zload:stored_anew_at_once zload:shared"),
    "off": dict(cpus=4, nodes=2, append="scaleswap=off", debug=dict(nodes=1),
                tests="param.sh off.sh plain vmap"),
    "bad": dict(cpus=2, nodes=1, append="scaleswap=nosuchthing", debug=None,
                tests="param.sh off.sh"),
    "noparam": dict(cpus=2, nodes=1, append="", debug=None, tests="param.sh off.sh"),
    # only when TESTS begins with its name: 64 CPUs take minutes to boot
    "big": dict(cpus=64, nodes=4, append="scaleswap=on", mem=2048, only=True,
                tests="bind workload.sh:pinned_use_own_area wide:stamped_workload"),
}
