#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of bench/zbatch.py that runs in the guest.

  zbatch.py OPTIONS     (JSON; see PARTS at the end)

Prints "result " and one line of JSON.
"""
import sys

sys.path.insert(0, "/ssw")
import demo as g  # noqa: E402
import scale as s  # noqa: E402

ZSWAP = "/sys/module/zswap/parameters"
ZBATCH = "/sys/kernel/mm/scaleswap/zbatch"
# What is kept of /proc/vmstat
KEPT = ("pswp", "zswp", "pgsteal", "pgscan", "pgmaj", "swap_ra", "nr_tlb")
# The simulated IAA device
FUNCTION = "0000:00:10.0"
DEVICE = f"/sys/kernel/debug/idxd_sim/{FUNCTION}"
s.LOCKS["list_lru"] = ("&lru->node[i].lock", None)


def device_up(pages):
    """A simulated device, which works at its doorbell, and zswap that gives it so many pages at a time."""
    s.write(f"/sys/bus/pci/devices/{FUNCTION}/driver_override", "idxd")
    s.write("/sys/bus/pci/drivers/idxd/bind", FUNCTION)
    s.write(f"{DEVICE}/at_once", 1)
    s.write(f"{ZBATCH}/store_batch", pages)
    s.write(f"{ZBATCH}/load_batch", 32 if pages > 1 else 1)


def device():
    return {k: int(g.read(f"{DEVICE}/{k}")) for k in ("at_once_cycles", "done", "failed")}


def ready(o):
    """Areas, and zswap in front of them; a group at its limit, which has filled both once."""
    if o.get("iaa"):
        device_up(o["iaa"])
    s.write("/proc/sys/vm/page-cluster", o["page_cluster"])
    if o.get("compressor"):
        s.write(f"{ZSWAP}/zpool", "zsmalloc")
        s.write(f"{ZSWAP}/compressor", o["compressor"])
        s.write(f"{ZSWAP}/max_pool_percent", "50")
        s.write(f"{ZSWAP}/enabled", "1")
        chosen = g.read(f"{ZSWAP}/compressor").strip()
        if chosen != o["compressor"]:
            g.fail(f"zswap uses {chosen} instead of {o['compressor']}")
    s.make_group(s.GROUP, o["max_mb"])
    s.load(o, o["seed"] + 1000, ["fill", "mix"])


def batches():
    """The counters of zbatch/, which the base kernel does not have."""
    try:
        return {k: int(g.read(f"{ZBATCH}/{k}")) for k in ("lanes", "lane_pages", "lane_stored", "loaded", "load_groups", "load_late")}
    except OSError:
        return {}


def moved(before, had):
    zbatch = batches()
    return {"vmstat": {k: v for k, v in g.delta(g.vmstat(), before).items() if v and k.startswith(KEPT)},
            "zbatch": {k: v - had[k] for k, v in zbatch.items()}}


def done(o, run, more):
    """All pages are to have come from zswap, and none from a device."""
    if o.get("compressor") and (not more["vmstat"].get("zswpin") or more["vmstat"].get("pswpin")):
        g.fail(f"not all pages came from zswap: {more['vmstat']}")
    result = dict(run, **more)
    result["swap_after"] = s.areas_off()
    return result


def part_instr(o):
    s.areas_on(o, s.drives(o))
    ready(o)
    before, had = g.vmstat(), batches()
    worked = device() if o.get("iaa") else {}
    run = s.load(o, o["seed"], o["phases"])
    more = moved(before, had)
    if worked:
        more["device"] = {k: v - worked[k] for k, v in device().items()}
        if more["device"]["failed"]:
            g.fail(f"the device did not do all: {more['device']}")
    return done(o, run, more)


def part_locks(o):
    devs = s.drives(o)
    names, control = s.calibrate(devs[0])
    s.areas_on(o, devs)
    ready(o)
    before, had = g.vmstat(), batches()
    run = s.load(o, o["seed"], o["phases"], more=["--lock-stat", s.SAVED])
    locks, works = g.lock_stat(s.SAVED)
    if not works:
        g.fail("lock_stat ended itself meanwhile")
    more = moved(before, had)
    return done(o, run, dict(more, locks=s.pick(locks, names), classes=names, control=control))


PARTS = {"instr": part_instr, "locks": part_locks}

if __name__ == "__main__":
    s.PARTS = PARTS
    s.main()
