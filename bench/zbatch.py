#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What zswap in batches costs and saves, with compressors in software. One file,
bench/results/zbatch.json. The parts:
  mix-COMPRESSOR   instructions for each page, out and in, of pages at random; no readahead
  read-COMPRESSOR  the same of pages one after the other, with readahead of 8
  mix-none, read-none  without zswap
  mix-iaa-N, read-iaa-N  the same as on a simulated IAA device, with N pages in a request, without the device's own work
  locks            how often the locks of zswap are taken, and TLB flushes, for each page in; readahead of 8

The columns: base; off: ours, with all but zbatch; on: scaleswap=on; iaa: that, with a simulated device. Counts, not times; emulated, with QEMU's
instruction clock, so a busy host changes nothing. It can be stopped at any time and goes on from
there, as bench/scale.py does. Ends with 0 if every guest ended well and every page was right,
else 1; 2: could not run.
"""
import argparse
import json
import os
import signal
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import scale as sc  # noqa: E402

COMPRESSORS = ("lzo-rle", "lz4", "zstd", "deflate")
ALL = dict(guest="zbatch.py", columns=["base", "off", "on"], device="null", mem=768, shift=4, cpus=[4])
COUNTS = dict(ALL, what="instr", config="test", rounds=3, total_mb=256, pages=16384, max_mb=32, plugin=True)
MIX = dict(COUNTS, page_cluster=0, phases=["fill", "mix:2@1=both"])
READ = dict(COUNTS, page_cluster=3, phases=["fill", "read:2@1=both"])
# What the device does is known of the whole load, so all of it is counted.
IAA = dict(columns=["iaa"], compressor="deflate-iaa", qemu="-device e1000e,addr=0x10", pages=4096, max_mb=8, total_mb=64)
IAA_PHASES = {"mix": ["fill@1=fill", "mix:2@1=both"], "read": ["fill@1=fill", "read:2@1=both"]}
PARTS = {
    **{f"mix-{c}": dict(MIX, compressor=c) for c in COMPRESSORS}, "mix-none": MIX,
    **{f"read-{c}": dict(READ, compressor=c) for c in COMPRESSORS}, "read-none": READ,
    **{f"{kind}-iaa-{n}": dict(part, **IAA, iaa=n, phases=IAA_PHASES[kind]) for n in (1, 8) for kind, part in (("mix", MIX), ("read", READ))},
    "locks": dict(ALL, what="locks", config="lockstat", rounds=1, mem=1024, total_mb=256, pages=16384, max_mb=32,
                  page_cluster=3, phases=["fill", "read:4"], compressor="lzo-rle", timeout=1500),
}
QUICK = dict(rounds=1, pages=4096, max_mb=8, total_mb=64)
COLUMNS = {
    "base": dict(prefix="base-", append="", how="striped"),
    "off": dict(prefix="", append="scaleswap=core,lru,fault,evict", how="percore", evict=True),
    "on": dict(prefix="", append="scaleswap=on", how="percore", evict=True),
    "iaa": dict(prefix="", append="scaleswap=on idxd.sim=0000:00:10.0", how="percore", evict=True),
}


def figures(part, r):
    """The figures of one guest."""
    v, z = r["vmstat"], r["zbatch"]
    fill = {}
    if z.get("lanes"):
        fill["lane_fill"] = z["lane_pages"] / z["lanes"]
    if z.get("load_groups"):
        fill["group_fill"] = z["loaded"] / z["load_groups"]
    if part == "locks":
        pages = v["zswpin"]
        return dict(fill, list_lru_locks_per_page=r["locks"]["list_lru"]["acquisitions"] / pages,
                    tree_locks_per_page=r["locks"]["other_xa_lock"]["acquisitions"] / pages,
                    tlb_sends_per_page=v.get("nr_tlb_remote_flush", 0) / pages, pages_in=pages)
    # Nothing is read while the memory is filled. A page that was swapped in and another one that was swapped out for it
    pages = v.get("zswpin") or v["pswpin"]
    every = r["counts"]["1"]["all"]
    if "device" not in r:
        flushes = {"tlb_flushes_per_page_out": v.get("nr_tlb_remote_flush", 0) / v["zswpout"]} if v.get("zswpout") else {}
        return dict(fill, instructions_per_page=every / pages, **flushes, pages_in=pages)
    # With QEMU's instruction clock a cycle is a nanosecond, of which so many are an instruction.
    device = r["device"]["at_once_cycles"] / 2**MIX["shift"]
    moved = v["zswpin"] + v["zswpout"]
    return dict(fill, instructions_per_move=(every - device) / moved, device_instructions_per_move=device / moved,
                pages_in=pages, pages_out=v["zswpout"], descriptors_per_move=r["device"]["done"] / moved)


def brief(part, r):
    return ", ".join(f"{k} {v:,.4g}" if v < 10 else f"{k} {v:,.0f}" for k, v in figures(part, r).items())


NOTES = [
    "mix, read: instructions of the kernel and of processes, on all CPUs, by a QEMU plugin, while every CPU checks its pages "
    "(mix: at random, and rewrites them), for each page that was swapped in (and about one that was swapped out for it). "
    "Pages are four stamps and zeroes, so compressing them costs little beside the rest.",
    "iaa: the simulated device works at the doorbell, on the CPU that submits, and takes its time by the same clock; "
    "instructions_per_move, of a page out or in, is without that. What a device takes itself, and how long a CPU waits for it, is in neither.",
    "locks: list_lru is the class of all list_lrus, tree of all xarrays but the swap cache; both have few other users here. "
    "tlb_sends: NR_TLB_REMOTE_FLUSH.",
    "lane_fill: pages that reclaim put aside, by times that it stored them; group_fill: pages loaded together, by groups.",
]


# What the other measurements of zswap on IAA found, by the name that it has here
ELSEWHERE = {
    "in_flight_first_poll": ("iaa-model.json", lambda d: d["in_flight_first_poll"]),
    "submit_reap_ratio": ("iaa-model.json", lambda d: d["submit_reap_ratio"]),
    "model_max_error": ("iaa-model.json", lambda d: d["model_max_error"]),
    "compression": ("zswap-ratio.json", lambda d: {k.replace("deflate-iaa-", "").replace("deflate-iaa", "fixed"): of["mix"]["ratio"]
                                                   for k, of in d["table"].items()}),
    "iaa_batch_by_single": ("zbatch-iaa.json", lambda d: d["iaa_batch_by_single"]),
}


def elsewhere():
    """The figures of ELSEWHERE, and whence each is; those that were not measured are left out."""
    found, whence = {}, {}
    for name, (file, of) in ELSEWHERE.items():
        try:
            with open(f"{sc.RESULTS}/{file}") as f:
                found[name] = of(json.load(f))
            whence[name] = file
        except (OSError, KeyError):
            pass
    return found, whence


def tlb_flushes(median, part):
    """TLB flushes for a page that was swapped out, with scaleswap=on, as a share of the base's"""
    of = median[part].get("tlb_flushes_per_page_out", {})
    return of["on"] / of["base"] if {"on", "base"} <= set(of) else None


def result(all_rows, kernels, parts):
    configs = sorted({PARTS[p]["config"] for p in all_rows})
    m, rows = {}, [r for v in all_rows.values() for r in v]
    for config in configs:
        mine = [r for p, v in all_rows.items() if PARTS[p]["config"] == config for r in v]
        m[config] = sc.meta("zbatch", {"config": config, "columns": sorted({c for c, *_ in mine})}, kernels, mine)
    rec = {"meta": dict(next(iter(m.values())), how={p: parts[p] for p in all_rows}, notes=NOTES,
                        kernels={k: v for one in m.values() for k, v in one["kernels"].items()},
                        date=max(r[3]["date"] for r in rows), begun=min(r[3]["date"] for r in rows),
                        command=sorted({r[3]["command"] for r in rows}),
                        repository=sorted({r[3]["repository"] for r in rows}))}
    found = {}
    for part, part_rows in all_rows.items():
        for column, _, _, row in part_rows:
            for k, v in figures(part, row["result"]).items():
                found.setdefault(part, {}).setdefault(k, {}).setdefault(column, []).append(v)
    median = {p: {k: {c: statistics.median(v) for c, v in by.items()} for k, by in of.items()} for p, of in found.items()}
    ratio = lambda p, k, c: median[p][k][c] / median[p][k]["base"] if p in median and {c, "base"} <= set(median[p][k]) else None
    rec["software"] = {n: {kind: {c: ratio(f"{kind}-{n}", "instructions_per_page", c) for c in ("off", "on")}
                           for kind in ("mix", "read")} for n in (*COMPRESSORS, "none") if f"mix-{n}" in median}
    rec["iaa_batch_by_single"] = {kind: median[f"{kind}-iaa-8"]["instructions_per_move"]["iaa"] /
                                  median[f"{kind}-iaa-1"]["instructions_per_move"]["iaa"]
                                  for kind in ("mix", "read") if {f"{kind}-iaa-1", f"{kind}-iaa-8"} <= set(median)}
    for k in ("list_lru_locks_per_page", "tree_locks_per_page", "tlb_sends_per_page"):
        rec[k] = median.get("locks", {}).get(k, {})
    rec["tlb_flush_ratio"] = {p: tlb_flushes(median, p) for p in median if "tlb_flushes_per_page_out" in median[p]}
    found_elsewhere, rec["meta"]["elsewhere"] = elsewhere()
    rec.update({k: v for k, v in found_elsewhere.items() if not rec.get(k)})
    rec["lane_fill"] = {p: of["lane_fill"]["on"] for p, of in median.items() if "on" in of.get("lane_fill", {})}
    rec["all"] = [{"part": p, "figure": k, **{c: sc.spread(v) for c, v in by.items()}}
                  for p, of in found.items() for k, by in of.items()]
    rec["runs"] = [{"part": part, "kernel": column, "round": nr, "cpus": cpus, "date": row["date"],
                    **{k: row["result"][k] for k in ("accel", "host_seconds", "load_average", "vmstat", "zbatch", "phases",
                                                     "locks", "device") if k in row["result"]}, **figures(part, row["result"])}
                   for part, part_rows in all_rows.items() for column, cpus, nr, row in part_rows]
    sc.write_json("zbatch.json", rec, ["all", "runs"])


def main():
    ap = argparse.ArgumentParser(prog="bench/zbatch.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", action="append", choices=list(PARTS), help="only this one (can be repeated)")
    ap.add_argument("--rounds", type=int, metavar="N", help="instead of 3, and of 1 for locks")
    ap.add_argument("--quick", action="store_true", help="small and once, to see that all works; results go below BUILD")
    ap.add_argument("--no-build", action="store_true", help="take the kernels that are there")
    ap.add_argument("--fresh", action="store_true", help="measure anew what was measured before")
    ap.add_argument("--report", action="store_true", help="boot nothing; the file from what is there")
    ap.add_argument("--out", metavar="DIR", help="instead of bench/results")
    o = ap.parse_args()
    signal.signal(signal.SIGTERM, lambda n, _: sys.exit(128 + n))
    sc.OUT = os.path.abspath(o.out or (f"{sc.STORE}/quick" if o.quick else sc.RESULTS))
    sc.COLUMNS = COLUMNS
    parts = {}
    for name, p in PARTS.items():
        parts[name] = dict(p, **(QUICK if o.quick else {}), **({"rounds": o.rounds} if o.rounds else {}))
    wanted = [name for name in PARTS if not o.report and name in (o.part or PARTS)]
    fine, rows = True, {}
    with b.Workplace() as work:
        kernels = sc.prepare(work, {n: p for n, p in parts.items() if n in wanted or o.report and p["config"] == "test"},
                             o.no_build or o.report)
        stores = {name: sc.Store(f"zbatch-{name}", o.fresh and name in wanted) for name in PARTS}
        try:
            for name in wanted:
                fine = sc.run_missing(work, name, parts[name], kernels, stores[name], sc.measure, brief) and fine
        finally:
            # also when it is stopped; parts that were not asked for are what they were
            for name, p in parts.items():
                if all(COLUMNS[c]["prefix"] + p["config"] in kernels for c in p["columns"]):
                    found = sc.collect(name, p, kernels, stores[name])
                    if found:
                        rows[name] = found
            if rows:
                result(rows, kernels, parts)
            else:
                sc.say("nothing has been measured with these kernels")
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
