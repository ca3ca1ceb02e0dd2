#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What does it cost to turn an area off, if others have much in other areas?

In a guest one process has some pages in an area, another one up to 1 GiB of zeroes in another area.
Counts the instructions of swapoff(2) of the first area: for each page in it, and for each page of the
other process. Then for a process that has begun programs meanwhile: how many of its pages are found
where their slots say.

  bench/experiments/swapoff/run.py [--columns base,off,on] [--out FILE]

Environment: BUILD. Kernels: test and base-test, as scripts/build/kernel.sh builds them. Emulated:
one CPU, QEMU's instruction clock, in which the task's time counts instructions, its waits not. Writes
bench/results/swapoff.json.
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
COLUMNS = {"base": ("base-test", ""), "off": ("test", "scaleswap=off"), "on": ("test", "scaleswap=on")}


def boot(column):
    """Boot one guest; its rows. The first of them has warmed up caches."""
    kernel, append = COLUMNS[column]
    return booted("swapoff", kernel, "--cpus", "1", "--nodes", "1", "--mem", "1536", "--timeout", "3600", "--qemu", ICOUNT, "--append",
                  f"{append} nokaslr norandmaps kunit.enable=0", f"{HERE}/guest.py", column)[1:]


def figures(rows):
    """Instructions for a page of its own, and of others, and the share of notes that are right"""
    of = {(r["own"], r["others"], r["children"]): r for r in rows}
    own = sorted({r["own"] for r in rows})
    others = sorted({r["others"] for r in rows})
    cost = lambda a, b, pages: (of[b]["instructions"] - of[a]["instructions"]) / pages
    found = {"own_page": cost((own[-2], 0, 0), (own[-1], 0, 0), own[-1] - own[-2]),
             "foreign_page": cost((own[1], 0, 0), (own[1], others[-1], 0), others[-1])}
    child = next(r for r in rows if r["children"])
    if "noted" in child:
        found["notes_resolved"] = child["noted"] / child["used"]
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--columns", default="base,off,on")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/swapoff.json", metavar="FILE")
    o = ap.parse_args()
    columns = o.columns.split(",")
    runs = {c: boot(c) for c in columns}
    found = {c: figures(rows) for c, rows in runs.items()}
    data = {
        "emulated": "QEMU TCG, one CPU, -icount shift=0; null_blk with its data in memory",
        "swapoff_per_own_page": {c: f["own_page"] for c, f in found.items()},
        "swapoff_per_foreign_page": {c: f["foreign_page"] for c, f in found.items()},
        "notes_resolved": {c: f["notes_resolved"] for c, f in found.items() if "notes_resolved" in f},
        "runs": runs}
    keep(o.out, "swapoff", data)
    for c, f in found.items():
        print(c, json.dumps(f))
    for c, rows in runs.items():
        for r in rows:
            print(c, json.dumps(r))


if __name__ == "__main__":
    main()
