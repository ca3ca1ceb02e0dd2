#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Are pages evicted in the order of one list, with LRU shards, classic and MGLRU?

Cases in which shards once had another order than the base kernel, and such in which they were not
known to (order.c, README.md), on the base kernel and on this one, each with both LRUs. Boots of the
columns alternate. One case, walks, has MGLRU only: how often it walks page tables, and what it
finds there.

  bench/experiments/lru-order/run.py [--runs N] [--oom-runs N] [--cases ...] [--columns ...] [--keep]

Environment: BUILD; KERNEL and BASE, names of kernels that scripts/build/kernel.sh built, or
bzImages (default test and base-test). Emulated: TCG with an instruction clock, so a busy host
changes nothing; each run has a seed of its own. Counts of pages and of kills, no times.
Writes bench/results/lru-order.json, or --out.
"""
import argparse
import concurrent.futures
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
# kernel, boot parameter, MGLRU
COLUMNS = {"base": (BASE, "", "n"), "on": (KERNEL, "scaleswap=on", "n"),
           "base-mglru": (BASE, "", "y"), "on-mglru": (KERNEL, "scaleswap=on", "y"),
           # without evictors; asked for by --columns
           "noevict": (KERNEL, "scaleswap=core,lru,fault", "n"),
           "noevict-mglru": (KERNEL, "scaleswap=core,lru,fault", "y"),
           # one list, and all else that scaleswap=on has; asked for by --columns
           "core": (KERNEL, "scaleswap=core,fault", "n"), "core-mglru": (KERNEL, "scaleswap=core,fault", "y")}
DEFAULT = ["base", "on", "base-mglru", "on-mglru"]
# whose walks are compared, and their names in the results
WALKS = {"core-mglru": "one list", "noevict-mglru": "shards", "base-mglru": "base", "on-mglru": "evictors"}
# What of a run is the case's figure
CASES = {"oom": "kills", "turnover": "were_out", "file_and_anon": "swapped_in", "idle_first": "swapped_in",
         "idle_first_less": "swapped_in", "inactive_first": "swapped_in", "stream": "were_out", "loops": "swapped_in",
         "skewed": "swapped_in", "uneven": "swapped_in", "moves": "swapped_in", "walks": "walks",
         "crowd_uneven": "swapped_in", "crowd_skewed": "swapped_in", "crowd_small": "swapped_in"}
ICOUNT = "-icount shift=0,sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"

GUEST = r"""#!/bin/bash
case=$1 lru_gen=$2
shift 2
echo $lru_gen >/sys/kernel/mm/lru_gen/enabled || exit 2
echo 0 >/proc/sys/vm/page-cluster
echo 100 >/proc/sys/vm/swappiness
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkswap /dev/ram0 >/dev/null && /sbin/swapon /dev/ram0 || exit 2
# max_seq; entries of page tables that walks saw, and saw young; tables, and those of them that the
# next walk looks at again; in a group's life
walked() {
	awk '/^memcg/ { mine = $3 == "/order" }
	     mine && NF == 4 && $1 ~ /^[0-9]+$/ { seq = $1 }
	     mine && $1 ~ /^[0-9]+T$/ && $2 ~ /^[0-9]+Y$/ { seen = $1 + 0; young = $2 + 0; tables = $3 + 0; kept = $4 + 0 }
	     END { print seq + 0, seen + 0, young + 0, tables + 0, kept + 0 }' /sys/kernel/debug/lru_gen_full
}
killed=0
walks() {
	local from to in out
	mount -t debugfs none /sys/kernel/debug 2>/dev/null
	mkdir /sys/fs/cgroup/order && echo 40M >/sys/fs/cgroup/order/memory.max || exit 3
	read -r -a from < <(walked)
	(echo "$BASHPID" >/sys/fs/cgroup/order/cgroup.procs; exec /hotcold 8 24576 1000000 "$1") >/hotcold.out
	case $? in
	0) ;;
	# A kernel that kills it, though swap is free, gets other random numbers.
	137) rmdir /sys/fs/cgroup/order; killed=$((killed + 1)); walks $(($1 + 100)); return ;;
	*) exit 3 ;;
	esac
	read -r -a to < <(walked)
	read -r in out < <(sed -n 's/.*"in": \([0-9]*\), "out": \([0-9]*\).*/\1 \2/p' /hotcold.out)
	echo "result {\"walks\": $((to[0] - from[0])), \"entries\": $((to[1] - from[1]))," \
		"\"young\": $((to[2] - from[2])), \"tables\": $((to[3] - from[3]))," \
		"\"dropped\": $((to[3] - from[3] - to[4] + from[4])), \"swapped_in\": $in, \"swapped_out\": $out, \"killed\": $killed}"
}
for seed; do
	if [ "$case" = walks ]; then
		walks "$seed"
		continue
	fi
	/order "$case" "$seed" || exit 3
	for ((i = 0; i < 100; i++)); do rmdir /sys/fs/cgroup/order 2>/dev/null && break; sleep 0.1; done
done
"""


def boot(script, programs, column, case, seeds):
    """Boot one guest; a list of runs, one for each seed."""
    kernel, append, lru_gen = COLUMNS[column]
    cpus, mem = ("8", 1024) if case == "walks" else ("16", 768) if case.startswith("crowd") else ("4", 768)
    # All boots of a kernel would otherwise be the same, and so would be what boot leaves in all of them
    mem = str(mem + seeds[0] - 1)
    cmd = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", cpus, "--mem", mem, "--accel", "tcg",
           "--timeout", "1800", "--add", f"{programs}/order:/order", "--add", f"{programs}/hotcold:/hotcold",
           "--qemu", ICOUNT,
           "--append", f"{append} nokaslr norandmaps lpj=4000000 kunit.enable=0 brd.rd_nr=2 brd.rd_size=163840",
           script, case, lru_gen, *map(str, seeds)]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"lru-order: guest {column}, {case} ended with status {done.returncode}")
    runs = [json.loads(line.split(" ", 1)[1]) for line in done.stdout.splitlines() if line.startswith("result ")]
    if len(runs) != len(seeds):
        sys.exit(f"lru-order: guest {column}, {case} made {len(runs)} runs of {len(seeds)}")
    return runs


def summary(runs, commands):
    """What the file of results says of the runs, {case: {column: [run]}}."""
    made = [r for of in runs.values() for mine in of.values() for r in mine]
    commits = sorted({r["commit"] for r in made})
    data = {"command": [c for of in commits for c in commands[of]],
            "commands": {of: commands[of] for of in commits},
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "repository": commits,
            "kernels": {c: " ".join([*COLUMNS[c][:2], "lru_gen=" + COLUMNS[c][2]])
                        for c in COLUMNS if any(c in of for of in runs.values())},
            "emulated": "QEMU TCG, -icount shift=0, 4 vCPUs, 768 MB (walks: 8, 1 GB; crowd: 16), swap on brd"}
    for case in runs:
        figures = {c: [r[CASES[case]] for r in of] for c, of in runs[case].items()}
        if case == "oom":
            data[case] = {**{c: sum(v) for c, v in figures.items()}, "runs": max(map(len, figures.values()))}
        elif case == "walks":
            data[case] = {WALKS[c]: statistics.median(v) for c, v in figures.items()}
            for key in ("young", "tables", "dropped", "swapped_in"):
                data[case][key] = {WALKS[c]: statistics.median(r[key] for r in of) for c, of in runs[case].items()}
            data[case]["spread"] = {WALKS[c]: [min(v), max(v)] for c, v in figures.items()}
        else:
            data[case] = {c: statistics.median(v) for c, v in figures.items()}
            data[case]["spread"] = {c: [min(v), max(v)] for c, v in figures.items()}
            if case == "file_and_anon":
                data[case]["later"] = {c: statistics.median(r["later"] for r in of) for c, of in runs[case].items()}
    data["runs"] = runs
    return data


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--runs", type=int, default=5, metavar="N", help="boots of a case and column")
    ap.add_argument("--oom-runs", type=int, default=40, metavar="N", help="runs of oom")
    ap.add_argument("--each", type=int, metavar="N", help="runs in a boot (default: 5 of oom, 1 of others)")
    ap.add_argument("--jobs", type=int, default=1, metavar="N", help="guests at once")
    ap.add_argument("--cases", default=":".join(CASES), help="separated by colons")
    ap.add_argument("--columns", default=":".join(DEFAULT), help="separated by colons")
    ap.add_argument("--keep", action="store_true", help="keep what --out has of other cases and columns")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/lru-order.json", metavar="FILE")
    o = ap.parse_args()
    cases, columns = o.cases.split(":"), o.columns.split(":")
    for name, known in [(c, CASES) for c in cases] + [(c, COLUMNS) for c in columns]:
        if name not in known:
            ap.error(f"'{name}' is none of {', '.join(known)}")
    if o.keep:
        # before anything is measured: an hour is lost if it cannot be read
        with open(o.out) as f:
            old = json.load(f)
        if not old.get("commands"):
            ap.error(f"{o.out} does not say which command made its runs: measure all anew")
    runs = {case: {} for case in cases}
    with tempfile.TemporaryDirectory() as tmp:
        script = os.path.join(tmp, "guest.sh")
        for source in (f"{HERE}/order.c", f"{ROOT}/bench/load/hotcold.c"):
            subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o",
                            os.path.join(tmp, os.path.basename(source)[:-2]), source], check=True)
        with open(script, "w") as f:
            f.write(GUEST)
        todo = []
        for case in cases:
            total, each = (o.oom_runs, o.each or 5) if case == "oom" else (o.runs, o.each or 1)
            for first in range(0, total, each):
                seeds = range(first + 1, min(first + each, total) + 1)
                todo += [(c, case, seeds) for c in (WALKS if case == "walks" else columns)]
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for (c, case, _), new in zip(todo, pool.map(lambda job: boot(script, tmp, *job), todo)):
                runs[case].setdefault(c, []).extend(new)
                print(f"{case} {c}: {[r[CASES[case]] for r in new]}", flush=True)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    commands = {commit: [" ".join(["bench/experiments/lru-order/run.py", *sys.argv[1:]])]}
    for of in runs.values():
        for made in of.values():
            for run in made:
                run["commit"] = commit
    if o.keep:
        for case, of in old["runs"].items():
            runs[case] = {**of, **runs.get(case, {})}
        for of, ran in old["commands"].items():
            commands[of] = sorted({*ran, *commands.get(of, [])})
    data = summary(runs, commands)
    with open(o.out, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    print(json.dumps({case: data[case] for case in cases}, indent=1))


if __name__ == "__main__":
    main()
