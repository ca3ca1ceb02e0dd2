#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What reclaim in the faulting task costs: TLB flushes, reclaims, instructions, locks.

What the pool of evictors is to do away with, without it, and with it. One file,
bench/results/evict.json. The parts:
  threads    4 threads of one process on 4 CPUs: TLB flushes that are sent and received, locks
  procs      a process a CPU, 4, 8 and 16 CPUs: the same
  group      how often a task reclaims, of a memory cgroup at its limit, for each 100,000 faults
  global     the same, of all memory
  fault      instructions of each fault, as far as its own thread executes them; one CPU
  instr      instructions of all CPUs, for each page out and in

The columns: base; noevict: ours, with all but evictors; on: with as many evictors as CPUs. Counts, not times; emulated, with QEMU's
instruction clock, so a busy host changes nothing. It can be stopped at any time and goes on from
there, as bench/scale.py does. Ends with 0 if every guest ended well and every page was right,
else 1; 2: could not run.
"""
import argparse
import os
import signal
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import scale as sc  # noqa: E402

ALL = dict(guest="evict.py", columns=["base", "noevict", "on"], device="null")
LOCKS = dict(ALL, what="counts", config="lockstat", rounds=1, mem=1280, shift=4, total_mb=336, pages=24576, max_mb=48,
             passes=4, timeout=1500)
COUNTS = dict(ALL, config="test", rounds=3, mem=768, shift=4, total_mb=256, pages=16384, max_mb=32)
PARTS = {
    "threads": dict(LOCKS, cpus=[4], workers="--threads"),
    "procs": dict(LOCKS, cpus=[4, 8, 16], workers="--procs"),
    "group": dict(COUNTS, what="reclaims", pressure="group", cpus=[4], phases=["fill", "mix:12"]),
    "global": dict(COUNTS, what="reclaims", pressure="global", cpus=[4], phases=["fill", "mix:12"]),
    # an instruction is 1 ns
    "fault": dict(COUNTS, cpus=[1], shift=0, phases=["fill=swap_out", "mix:4=both"]),
    "instr": dict(COUNTS, cpus=[4], plugin=True, phases=["fill", "mix:2@1=both"]),
}
QUICK = dict(rounds=1, pages=4096, max_mb=8, total_mb=64)
COLUMNS = {
    "base": dict(prefix="base-", append="", how="striped"),
    "noevict": dict(prefix="", append="scaleswap=core,lru,fault", how="percore"),
    "on": dict(prefix="", append="scaleswap=on", how="percore", evict=True),
}


def figures(part, r):
    """The figures of one guest."""
    v = r["vmstat"]
    if part in ("threads", "procs"):
        pages, out = r["pages_in"] + r["pages_out"], v.get("pgsteal_anon", 0)
        of = {"tlb_sends_per_page": v.get("nr_tlb_remote_flush", 0) / out,
              "tlb_receipts_per_page": v.get("nr_tlb_remote_flush_received", 0) / out,
              "zone_lock_per_page": r["locks"]["zone->lock"]["acquisitions"] / pages}
        for name, key in (("ptl", "ptl"), ("zone_lock", "zone->lock"), ("lru_lock", "lru_lock")):
            of[f"{name}_contentions"] = r["locks"][key]["contentions"]
        return dict(of, swapped_in=r["pages_in"])
    if part in ("group", "global"):
        return {"reclaims_per_100k": r["reclaims"] * 100000 / v["pgfault"], "faults": v["pgfault"], "swapped_in": v["pswpin"]}
    both = next(p for p in r["phases"] if p["name"] == "both")
    if part == "fault":
        return {f"instructions_{k}": both[f"fault_{k}_ns"] for k in ("p50", "p99", "p999", "max", "avg")}
    # a page that was swapped in and another one that was swapped out for it
    return {"instructions_per_page": r["counts"]["1"]["all"] / both["pages_in"], "swapped_in": both["pages_in"]}


def brief(part, r):
    return ", ".join(f"{k} {v:,.4g}" if v < 10 else f"{k} {v:,.0f}" for k, v in figures(part, r).items())


# --- results ------------------------------------------------------------------------------

NOTES = [
    "threads, procs: of a load in a memory cgroup, after one round of it. A send is one request to all CPUs that it "
    "takes (NR_TLB_REMOTE_FLUSH), a receipt that of one CPU; pages are those that reclaim took (pgsteal_anon). "
    "zone_lock_per_page: how often zone->lock was taken, for each page out or in.",
    "reclaims_per_100k: trace events mm_vmscan_memcg_reclaim_begin (group) and mm_vmscan_direct_reclaim_begin (global), "
    "for each 100,000 faults of all kinds (pgfault) of the whole load, fill included.",
    "fault: of the slowest accesses, as many as the kernel counted faults (bench/load/swapload.c); by the thread's "
    "CPU clock, where an instruction takes 1 ns; the two system calls that read it are in. Drives are null_blk, which "
    "ends a request in the same task or soft interrupt. So nothing of it is waiting, and interrupts are in it.",
    "instr: instructions of the kernel and of processes, on all CPUs, by a QEMU plugin, while every CPU checks and "
    "rewrites its pages, for each page that was swapped in (and about one that was swapped out for it).",
]


def result(all_rows, kernels, parts):
    rows = [r for v in all_rows.values() for r in v]
    configs = sorted({PARTS[p]["config"] for p in all_rows})
    m = {}
    for config in configs:
        mine = [r for p, v in all_rows.items() if PARTS[p]["config"] == config for r in v]
        m[config] = sc.meta("evict", {"config": config, "columns": sorted({c for c, *_ in mine})}, kernels, mine)
    rec = {"meta": dict(next(iter(m.values())), how={p: parts[p] for p in all_rows}, notes=NOTES,
                        kernels={k: v for one in m.values() for k, v in one["kernels"].items()},
                        date=max(r[3]["date"] for r in rows), begun=min(r[3]["date"] for r in rows),
                        command=sorted({r[3]["command"] for r in rows}),
                        repository=sorted({r[3]["repository"] for r in rows}))}
    found = {}
    for part, part_rows in all_rows.items():
        for column, cpus, _, row in part_rows:
            for k, v in figures(part, row["result"]).items():
                found.setdefault((part, cpus), {}).setdefault(k, {}).setdefault(column, []).append(v)
    median = lambda part, cpus, k: {c: statistics.median(v) for c, v in found.get((part, cpus), {}).get(k, {}).items()}
    rec["tlb_sends_per_page"] = median("threads", 4, "tlb_sends_per_page")
    rec["tlb_receipts_per_page"] = median("procs", 4, "tlb_receipts_per_page")
    rec["direct_reclaims_per_100k"] = {k: median(k, 4, "reclaims_per_100k") for k in ("group", "global")}
    rec["fault_instructions_p999"] = median("fault", 1, "instructions_p999")
    rec["instructions_per_page"] = median("instr", 4, "instructions_per_page")
    for k in ("ptl_contentions", "zone_lock_contentions", "zone_lock_per_page", "lru_lock_contentions"):
        rec[k] = {str(n): median("procs", n, k) for n in PARTS["procs"]["cpus"]}
    rec["swapped_in"] = {f"{p}, {n} CPUs": median(p, n, "swapped_in") for (p, n), v in found.items() if "swapped_in" in v}
    rec["all"] = [{"part": p, "cpus": n, "figure": k, **{c: sc.spread(v) for c, v in by.items()}}
                  for (p, n), of in found.items() for k, by in of.items()]
    rec["runs"] = [{"part": part, "kernel": column, "round": nr, "cpus": cpus, "date": row["date"],
                    **{k: row["result"][k] for k in ("accel", "host_seconds", "load_average", "vmstat", "phases", "locks",
                                                     "reclaims", "held_pages", "rooms") if k in row["result"]},
                    **figures(part, row["result"])}
                   for part, part_rows in all_rows.items() for column, cpus, nr, row in part_rows]
    sc.write_json("evict.json", rec, ["all", "runs"])


def main():
    ap = argparse.ArgumentParser(prog="bench/evict.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", action="append", choices=list(PARTS), help="only this one (can be repeated)")
    ap.add_argument("--columns", metavar="C,C…", help=f"only these, of {', '.join(COLUMNS)}")
    ap.add_argument("--rounds", type=int, metavar="N", help="instead of " + ", ".join(f"{p['rounds']} ({k})" for k, p in PARTS.items()))
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
        parts[name] = dict(p, **(QUICK if o.quick else {}))
        if o.quick and name == "global":
            # a small load would fit into what else the kernel frees
            parts[name] = dict(p, rounds=1)
        if o.rounds:
            parts[name]["rounds"] = o.rounds
        if o.columns:
            parts[name]["columns"] = [c for c in p["columns"] if c in o.columns.split(",")]
    wanted = [name for name in PARTS if not o.report and name in (o.part or PARTS)]
    fine, rows = True, {}
    with b.Workplace() as work:
        kernels = sc.prepare(work, {n: p for n, p in parts.items() if n in wanted or o.report}, o.no_build or o.report)
        stores = {name: sc.Store(f"evict-{name}", o.fresh and name in wanted) for name in PARTS}
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
