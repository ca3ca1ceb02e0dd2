#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of bench/evict.py that runs in the guest.

  evict.py OPTIONS     (JSON; see PARTS at the end)

Prints "result " and one line of JSON.
"""
import glob
import json
import re
import sys

sys.path.insert(0, "/ssw")
import demo as g  # noqa: E402
import scale as s  # noqa: E402

# A task that reclaims, of a group at its limit or of all memory
EVENTS = {"group": "mm_vmscan_memcg_reclaim_begin", "global": "mm_vmscan_direct_reclaim_begin"}
# Times that the memory which is left is measured, and how near to the wanted it is to be (pages)
TRIES, NEAR = 6, 256
# What is kept of /proc/vmstat
KEPT = ("pswp", "pgsteal", "pgscan", "pgfault", "pgmajfault", "allocstall", "workingset", "nr_tlb")


def moved(before):
    return {k: v for k, v in g.delta(g.vmstat(), before).items() if v and k.startswith(KEPT)}


def ready(o):
    s.areas_on(o, s.drives(o))
    s.write("/proc/sys/vm/page-cluster", 0)


def steady(o, more=()):
    """Slot caches, tables and clusters as in a system that has run for a while; then the load."""
    s.load(o, o["seed"] + 1000, ["fill", "mix"])
    before = g.vmstat()
    run = s.load(o, o["seed"], o["phases"], more=more)
    return dict(run, vmstat=moved(before))


def part_counts(o):
    return s.part_locks(o)


def part_fault(o):
    """Faults by the thread's own time, which is instructions where an instruction is 1 ns."""
    ready(o)
    s.make_group(s.GROUP, o["max_mb"])
    result = steady(o, ["--cpu-time"])
    result["swap_after"] = s.areas_off()
    return result


def part_instr(o):
    ready(o)
    s.make_group(s.GROUP, o["max_mb"])
    result = steady(o)
    result["swap_after"] = s.areas_off()
    return result


def traced(event):
    """How often an event was written, lost ones too."""
    return sum(int(n) for path in glob.glob(f"{s.TRACE}/per_cpu/cpu*/stats")
               for n in re.findall(r"^(?:entries|overrun): (\d+)", g.read(path), re.M))


def part_reclaims(o):
    """How often a task reclaims, for the faults of a load: one kind of event, as both are in one buffer."""
    ready(o)
    kind = o["pressure"]
    held, rooms = None, []
    s.make_group(s.GROUP, o["max_mb"] if kind == "group" else None)
    if kind == "global":
        held = s.hold_all_but(o["max_mb"])
    for n in range(TRIES):
        warm = s.load(o, o["seed"] + 1000 + n, ["fill", "mix"])
        if not held:
            break
        # what is in memory at the end: kernels keep more or less of other things while they reclaim
        moved_in = sum(p["pages_in"] for p in warm["phases"])
        rooms.append(o["pages"] + moved_in - sum(p["pages_out"] for p in warm["phases"]))
        if abs(rooms[-1] - o["max_mb"] * 256) <= NEAR:
            break
        held.add(rooms[-1] - int(o["max_mb"] * 256))
    event = f"{s.TRACE}/events/vmscan/{EVENTS[kind]}"
    s.write(f"{s.TRACE}/buffer_size_kb", 64)
    s.write(f"{s.TRACE}/trace", "")
    s.write(f"{event}/enable", 1)
    before, at = g.vmstat(), traced(event)
    run = s.load(o, o["seed"], o["phases"])
    count, stat = traced(event) - at, moved(before)
    if stat.get("pswpin", 0) < o["pages"]:
        g.fail(f"of a load of {o['pages']} pages only {stat.get('pswpin', 0)} were swapped in")
    s.write(f"{event}/enable", 0)
    result = dict(run, pressure=kind, reclaims=count, vmstat=stat, rooms=rooms, held_pages=held.pages if held else 0)
    result["swap_after"] = s.areas_off()
    return result


PARTS = {"counts": part_counts, "fault": part_fault, "instr": part_instr, "reclaims": part_reclaims}

if __name__ == "__main__":
    s.PARTS = PARTS
    s.main()
