#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Puts runs that one program made with several --out into one file of results.

  bench/merge.py FILE NEW...

FILE may be there, and what no NEW file has stays in it. Files of bench/parallel.py: a run takes the
place of that of the same kernel, load, number of CPUs, seed, T and Q, and FILE then names the
commits and commands of its runs alone; a NEW file is the work of one command. Files of the part
`locks` of bench/scale.py: all rounds of a kernel and number of CPUs take the place of those that
were there. Runs of before they named their commit are of any that FILE names.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scale as s  # noqa: E402

KEY = ("kernel", "load", "cpus", "seed", "t_ns", "quantum")


def key_of(run):
    return tuple(run[k] for k in KEY)


def merged(files):
    """The record of all; of runs with one key the last is taken."""
    runs, metas = {}, [f["meta"] for f in files]
    for f in files:
        ran = f["meta"].get("command", [])
        for run in f["runs"]:
            # which of the commands made it is known of files that have one, or were merged here
            runs[key_of(run)] = run if "command" in run else {**run, "command": "; ".join(ran)}
    runs = [runs[k] for k in sorted(runs, key=lambda k: (k[2], *k))]
    names = {r["kernel"] for r in runs}
    meta = {**metas[0], **metas[-1],
            "date": max(m["date"] for m in metas), "begun": min(m["begun"] for m in metas),
            "command": sorted({r["command"] for r in runs}), "repository": sorted({r["commit"] for r in runs}),
            "columns": {c: v for m in metas for c, v in m["columns"].items() if c in names}}
    meta["kernels"] = {}
    for m in metas:
        for name, k in m["kernels"].items():
            mine = meta["kernels"].setdefault(name, {"release": k["release"], "sha256": []})
            mine["sha256"] += [h for h in k["sha256"] if h not in mine["sha256"]]
    return {"meta": meta, "runs": runs}


def merged_locks(files):
    """The same for locks.json."""
    runs, metas = {}, [f["meta"] for f in files]
    for f in files:
        rounds = {}
        for run in f["runs"]:
            rounds.setdefault((run["kernel"], run["cpus"]), []).append(run)
        runs.update(rounds)
    every = lambda key: sorted({v for m in metas for v in m[key]})
    meta = {**metas[0], "date": max(m["date"] for m in metas), "begun": min(m["begun"] for m in metas),
            "command": every("command"), "repository": every("repository"), "accel": every("accel"),
            "notes": list(dict.fromkeys(n for m in metas for n in m["notes"])),
            "kernels": metas[-1]["kernels"], "columns": {c: v for m in metas for c, v in m["columns"].items()}}
    return s.locks_record(meta, [r for rounds in runs.values() for r in rounds])


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    out, *new = sys.argv[1:]
    files = []
    for name in [out] * os.path.exists(out) + new:
        with open(name) as f:
            files.append(json.load(f))
    s.OUT = os.path.dirname(os.path.abspath(out))
    locks = files[0]["meta"].get("part") == "locks"
    rec = (merged_locks if locks else merged)(files)
    s.write_json(os.path.basename(out), rec, [k for k in rec if k != "meta"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
