#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Who is killed at a limit that is small, and how soon where nothing can be reclaimed?

8 CPUs, an NVMe drive of each, and cgroup v2 groups, one after the other:

  small   2 MB; 8 processes, one on each CPU, stamp and check 12 MB four times. There is room in
          swap, so none is to be killed.
  locked  8 MB; a process locks half of it, then as much as all of it. It is to be killed. Counted
          are the time it took, and the pages that reclaim looked at.

On the base kernel, and on this one booted off, without evictors and with all, with both LRUs.

  bench/experiments/oom-limits/run.py [--runs N]     N groups of each kind a column; default 20

Environment: BUILD; KERNEL and BASE, names of kernels that scripts/build/kernel.sh built, or
bzImages (default test and base-test). Emulated: TCG, one host thread, CPUs in turns: a time is
good for its order of magnitude. Writes bench/results/oom-limits.json.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "scripts", "build"))
from paths import ROOT  # noqa: E402

KERNEL = os.environ.get("KERNEL", "test")
BASE = os.environ.get("BASE", "base-test")
KINDS = {"base": (BASE, ""), "off": (KERNEL, "scaleswap=off"),
         "noevict": (KERNEL, "scaleswap=core,lru,fault"), "on": (KERNEL, "scaleswap=on")}
COLUMNS = {k + lru: v for lru in ("", "-mglru") for k, v in KINDS.items()}
FIGURES = ("kills", "limit_met", "scanned", "freed", "ms")


def boot(stamp, column, runs):
    """Boot one guest; its rows."""
    kernel, append = COLUMNS[column]
    cmd = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", "8", "--mem", "640", "--nvme", "8",
           "--nvme-size", "64", "--append", f"{append} kunit.enable=0", "--add", f"{stamp}:/stamp",
           f"{HERE}/guest.py", "/stamp", str(runs), "7" if "mglru" in column else "0"]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"oom-limits: guest {column} ended with status {done.returncode}")
    return [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("row ")]


def table(rows):
    """{kind: {figure: [median, min, max]}}, and what is to be so in each run"""
    out = {}
    for kind in ("small", "locked"):
        of = [r for r in rows if r["kind"] == kind]
        out[kind] = {f: [statistics.median(v), min(v), max(v)] for f in FIGURES if (v := [r[f] for r in of if f in r])}
        out[kind]["runs"] = len(of)
    out["small"]["runs_that_ended_badly"] = sum(bool(r["status"]) for r in rows if r["kind"] == "small")
    out["locked"]["runs_that_were_killed"] = sum(r["killed"] for r in rows if r["kind"] == "locked")
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--runs", type=int, default=20, metavar="N", help="groups of each kind a column")
    ap.add_argument("--columns", default=":".join(COLUMNS), help="separated by colons")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/oom-limits.json", metavar="FILE")
    o = ap.parse_args()
    columns = o.columns.split(":")
    with tempfile.TemporaryDirectory() as work:
        stamp = f"{work}/stamp"
        subprocess.run(["gcc", "-O2", "-static", "-pthread", "-o", stamp,
                        f"{ROOT}/tools/testing/selftests/scaleswap/stamp.c"], check=True)
        data = {
            "command": " ".join(["bench/experiments/oom-limits/run.py", *sys.argv[1:]]),
            "kernels": {c: " ".join(COLUMNS[c]).strip() for c in columns},
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "repository": subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                         stdout=subprocess.PIPE).stdout.strip(),
            "emulated": "QEMU TCG, one host thread, 8 vCPUs, 640 MB, eight NVMe drives of 64 MB",
            "table": {}, "runs": {}}
        for c in columns:
            data["runs"][c] = boot(stamp, c, o.runs)
            data["table"][c] = table(data["runs"][c])
            print(c, json.dumps(data["table"][c]), flush=True)
    with open(o.out, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
