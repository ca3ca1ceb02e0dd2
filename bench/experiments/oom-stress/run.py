#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How often is a process killed for want of memory, though swap is free?

A cgroup v2 group of 100 MB, 600 MB of swap on two NVMe drives, 2 CPUs, and in the group

    stress-ng --vm 2 --vm-bytes 200M --vm-keep --vm-populate --verify -t 5

which uses twice the memory that it may have. What counts is oom_kill in the group's
memory.events: on the base kernel, and on this one with scaleswap=off, core,fault and on.
Each boot makes a few runs, each run in a new group; boots of the kernels alternate.

  bench/experiments/oom-stress/run.py [--runs N]     N runs a column; default 40

Environment: BUILD; KERNEL and BASE, names of kernels that scripts/build/kernel.sh built, or
bzImages (default test and base-test). Emulated: TCG, one host thread, CPUs in turns.
Writes bench/results/oom-stress.json.
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
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "build"))
from paths import ROOT  # noqa: E402

KERNEL = os.environ.get("KERNEL", "test")
BASE = os.environ.get("BASE", "base-test")
COLUMNS = {"base": (BASE, ""), "off": (KERNEL, "scaleswap=off"),
           "core,fault": (KERNEL, "scaleswap=core,fault"), "on": (KERNEL, "scaleswap=on")}
LOAD = "stress-ng --vm 2 --vm-bytes 200M --vm-keep --vm-populate --verify -t 5"
LIMIT = 100 << 20

# A line a run: kills, how often the limit was met, pages swapped out and in, exit status
GUEST = r"""#!/bin/bash
runs=$1
G=/sys/fs/cgroup/stress
vmstat() { awk -v k="$1" '$1 == k { print $2 }' /proc/vmstat; }
[ ! -w /proc/sys/vm/scaleswap/bind ] || echo auto >/proc/sys/vm/scaleswap/bind
for d in /dev/nvme?n1; do
	mkswap "$d" >/dev/null && /sbin/swapon "$d" || exit 2
done
for ((i = 0; i < runs; i++)); do
	mkdir $G && echo LIMIT >$G/memory.max || exit 2
	out=$(vmstat pswpout) in=$(vmstat pswpin)
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $G LOAD >/tmp/log 2>&1
	ret=$?
	awk -v ret=$ret -v out=$(($(vmstat pswpout) - out)) -v in_=$(($(vmstat pswpin) - in)) \
		'{ v[$1] = $2 } END { print "run", v["oom_kill"], v["max"], out, in_, ret }' $G/memory.events
	grep -iE 'error|corrupt|fail:' /tmp/log >&2
	for ((j = 0; j < 100; j++)); do rmdir $G 2>/dev/null && break; sleep 0.1; done
done
""".replace("LIMIT", str(LIMIT)).replace("LOAD", LOAD)


def boot(script, column, runs):
    """Boot one guest; a list of runs."""
    kernel, append = COLUMNS[column]
    cmd = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", "2", "--mem", "512", "--nvme", "2",
           "--nvme-size", "300", "--timeout", str(60 + 90 * runs), "--append", f"{append} kunit.enable=0",
           script, str(runs)]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"oom-stress: guest {column} ended with status {done.returncode}")
    names = ("kills", "limit_met", "swapped_out", "swapped_in", "status")
    return [dict(zip(names, map(int, line.split()[1:])))
            for line in done.stdout.splitlines() if line.startswith("run ")]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--runs", type=int, default=40, metavar="N", help="runs a column")
    ap.add_argument("--each", type=int, default=5, metavar="N", help="runs a boot")
    ap.add_argument("--columns", default=":".join(COLUMNS), help="separated by colons")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/oom-stress.json", metavar="FILE")
    o = ap.parse_args()
    columns = o.columns.split(":")
    runs = {c: [] for c in columns}
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write(GUEST)
        script.flush()
        while min(map(len, runs.values())) < o.runs:
            for c in columns:
                new = boot(script.name, c, min(o.each, o.runs - len(runs[c])))
                if not new:
                    sys.exit(f"oom-stress: guest {c} made no run")
                runs[c] += new
                print(f"{c}: {[r['kills'] for r in new]}", flush=True)
    kills = {c: [r["kills"] for r in runs[c]] for c in columns}
    table = {c: {"runs": len(k), "kills": sum(k), "a_run": round(statistics.mean(k), 2),
                 "runs_with_a_kill": sum(map(bool, k))} for c, k in kills.items()}
    data = {
        "command": " ".join(["bench/experiments/oom-stress/run.py", *sys.argv[1:]]), "workload": LOAD,
        "memory_max": LIMIT, "kernels": {c: " ".join(COLUMNS[c]).strip() for c in columns},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, one host thread, 2 vCPUs, 512 MB, two NVMe drives of 300 MB",
        "table": table, "runs": runs}
    with open(o.out, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
