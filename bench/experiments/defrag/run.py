#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What does moving slots gain in an area that has aged, and what does it cost?

In a guest eight processes fill an area of 256 clusters in turns, and then drop all pages but a few, at
random. Counts the clusters that are free then, and after a pass with scaleswap=on; then how many of 1,024
folios of 64 KiB go out whole; the instructions, requests and bytes of the pass; and the instructions of
a page on its way out and in where nothing is to be moved, without the mechanism, with it, and with
defrag/enabled, where who frees tells the thread of sparse clusters.

  bench/experiments/defrag/run.py [--columns base,off,nodefrag,on,enabled] [--out FILE]

Environment: BUILD. Kernels: test and base-test, as scripts/build/kernel.sh builds them. Emulated:
one CPU, QEMU's instruction clock, in which the task's time counts instructions, its waits not. Writes
bench/results/defrag.json.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from rows import ROOT, booted, keep  # noqa: E402

ICOUNT = "-icount shift=0,sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"
COLUMNS = {"base": ("base-test", ""), "off": ("test", "scaleswap=off"), "nodefrag": ("test", "scaleswap=core,lru,evict,fault,zbatch"),
           "on": ("test", "scaleswap=on"), "enabled": ("test", "scaleswap=on")}


def boot(column):
    """Boot one guest; its rows."""
    kernel, append = COLUMNS[column]
    return booted("defrag", kernel, "--cpus", "1", "--nodes", "1", "--mem", "2048", "--timeout", "3600",
                  "--qemu", ICOUNT, "--append", f"{append} nokaslr norandmaps kunit.enable=0", f"{HERE}/guest.py", column)


def elsewhere():
    """What swapoff.json has of the notes that moves follow, and whence it is."""
    try:
        with open(f"{ROOT}/bench/results/swapoff.json") as f:
            d = json.load(f)
    except OSError:
        return {}
    return {"notes_resolved": d["notes_resolved"]["on"], "swapoff_per_foreign_page": d["swapoff_per_foreign_page"],
            "swapoff_per_own_page": d["swapoff_per_own_page"],
            "elsewhere": {"notes_resolved, swapoff_*": f"swapoff.json, {d['repository']}"}}


def mean(rows, key):
    way = next(r for r in rows if r["what"] == "way")["rounds"]
    return sum(r[key] for r in way) / len(way)


def whole(row):
    return row["large"]["swpout"] / row["large"]["anon_fault_alloc"]


def summary(runs):
    """What the issue asks for, as far as these columns have it"""
    of = {c: {r["percent"]: r for r in rows if r["what"] == "aged"} for c, rows in runs.items()}
    found = {"whole_64k": {c: whole(rows[25]) for c, rows in of.items() if 25 in rows}}
    found["clusters"] = {c: {str(p): r["free"] / r["possible"] for p, r in rows.items()} for c, rows in of.items() if rows}
    if "on" in of:
        found["free_clusters"] = found["clusters"]["on"]
        rows = of["on"].values()
        found["instructions_per_move"] = sum(r["instructions"] for r in rows) / sum(r["moved"] for r in rows)
        zero = next(r for r in runs["on"] if r["what"] == "zero")
        found["instructions_per_zero_move"] = zero["instructions"] / zero["moved_zero"]
        found["bytes_written_per_live"] = max(r["bytes_written"] / (4096 * r["live"]) for r in rows)
        # A bio of 128 slots, and one more where a cluster is filled
        found["writes_per_allowed"] = max(r["disk"]["writes"] / (r["moved"] / 128 + -(-r["moved"] // 512)) for r in rows)
        found["out_and_in"] = mean(runs["on"], "out") + mean(runs["on"], "in")
    if "on" in runs and "nodefrag" in runs:
        found["idle_cost"] = {k: mean(runs["on"], k) / mean(runs["nodefrag"], k) for k in ("out", "in")}
    if "enabled" in runs and "nodefrag" in runs:
        found["enabled_cost"] = {k: mean(runs["enabled"], k) / mean(runs["nodefrag"], k) for k in ("out", "in")}
    if "off" in runs and "base" in runs:
        found["off_cost"] = {k: mean(runs["off"], k) / mean(runs["base"], k) for k in ("out", "in")}
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--columns", default="base,off,nodefrag,on,enabled")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/defrag.json", metavar="FILE")
    o = ap.parse_args()
    runs = {c: boot(c) for c in o.columns.split(",")}
    for c, rows in runs.items():
        for r in rows:
            print(c, json.dumps(r))
    found = summary(runs)
    keep(o.out, "defrag", {"emulated": "QEMU TCG, one CPU, -icount shift=0; null_blk with its data in memory", **found, **elsewhere(),
                           "runs": runs})
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
