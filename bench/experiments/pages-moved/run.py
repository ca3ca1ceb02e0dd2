#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Are more pages moved with ScaleSwap on, for the same accesses, and if so which?

bench/load/slabload.c (threads of one process that get and set values of 1 to 4 KB, as a cache
server's do) runs in a cgroup v2 group that may have half of its memory, with swap on four
NVMe drives. What its threads access is the same in each run. What is counted is what came
and went meanwhile: pages that a fault had to read, pages read ahead and how many of these
were used, refaults, scans, and this project's own counters.

Columns are the base kernel and this one with scaleswap=off, core, core,lru, core,fault and
on; the latter two with fault/mode auto, and with page-cluster 3 also with off. Boots of
the columns alternate. In each boot each case runs once, in a new group: four threads on
four CPUs or on two, pinned or not, page-cluster 0 and 3, values of equal and of unequal
(zipf) popularity.

  bench/experiments/pages-moved/run.py [--boots N]    default 5; half a minute a boot on a quiet host

Environment: BUILD; KERNEL and BASE, names of kernels that scripts/build/kernel.sh built, or
bzImages (default test and base-test). Emulated: TCG, one host thread, CPUs in turns;
counts, no times. Writes bench/results/pages-moved.json.
"""
import argparse
import datetime
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "build"))
from paths import BUILD, ROOT  # noqa: E402

KERNEL = os.environ.get("KERNEL", "test")
BASE = os.environ.get("BASE", "base-test")
# kernel, boot parameter, modes of fault/mode
COLUMNS = {"base": (BASE, "", ("-",)), "off": (KERNEL, "scaleswap=off", ("-",)),
           "core": (KERNEL, "scaleswap=core", ("-",)), "core,lru": (KERNEL, "scaleswap=core,lru", ("-",)),
           "core,fault": (KERNEL, "scaleswap=core,fault", ("auto", "off")),
           "on": (KERNEL, "scaleswap=on", ("auto", "off"))}
THREADS, PAGES, LIMIT = 4, 16384, 32 << 20
ACCESSES = {"uniform": 13000, "zipf": 26000}
# CPUs: page-cluster, popularity, threads
CASES = {4: [(0, "uniform", "free"), (0, "zipf", "free"), (3, "zipf", "free"), (3, "zipf", "pinned")],
         2: [(0, "zipf", "free"), (3, "zipf", "free")]}
COUNTED = ("pswpin", "pswpout", "pgmajfault", "swap_ra", "swap_ra_hit", "pgscan_anon", "pgsteal_anon",
           "pgactivate", "pgdeactivate", "pgrefill", "workingset_refault_anon", "workingset_activate_anon",
           "workingset_restore_anon")

# A line of JSON a run
GUEST = r"""#!/bin/bash
exec python3 - "$@" <<'PY'
import glob, json, os, subprocess, sys, time

conf = json.loads(CONF_HERE)
SYS = "/sys/kernel/mm/scaleswap"
GROUP = "/sys/fs/cgroup/slab"


def read(path):
    with open(path) as f:
        return f.read()


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def counters():
    out = {k: int(v) for k, v in map(str.split, read("/proc/vmstat").splitlines()) if k in conf["counted"]}
    for path in glob.glob(SYS + "/stats/*") + glob.glob(SYS + "/stats/fallback/*") + glob.glob(SYS + "/fault/reads_*"):
        if os.path.isfile(path):
            out["ssw/" + os.path.relpath(path, SYS)] = int(read(path))
    out.update({"group/" + k: int(v) for k, v in map(str.split, read(GROUP + "/memory.events").splitlines())})
    return out


def once(mode, cluster, dist, pin):
    if mode != "-":
        write(SYS + "/fault/mode", mode)
    write("/proc/sys/vm/page-cluster", cluster)
    os.mkdir(GROUP)
    write(GROUP + "/memory.max", conf["limit"])
    p = subprocess.Popen(["/ssw/slabload", str(conf["threads"]), str(conf["pages"]), str(conf["accesses"][dist]),
                          dist, pin, str(conf["seed"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         preexec_fn=lambda: write(GROUP + "/cgroup.procs", os.getpid()))
    if p.stdout.readline() != "filled\n":
        sys.exit("slabload did not fill its memory")
    before = counters()
    p.stdin.write("\n")
    p.stdin.flush()
    done = p.stdout.readline().split()
    after = counters()
    p.stdin.write("\n")
    p.stdin.flush()
    if p.wait() or not done:
        sys.exit(f"slabload ended with status {p.returncode}: {done}")
    moved = {k: after[k] - before.get(k, 0) for k in after}
    print("run " + json.dumps({"mode": mode, "page_cluster": cluster, "dist": dist, "pin": pin, "wrong": int(done[1]),
                               "counts": {k: v for k, v in moved.items() if v or k in conf["counted"]}}), flush=True)
    for _ in range(600):
        try:
            os.rmdir(GROUP)
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the group does not go")


if os.path.exists(SYS + "/enabled") and int(read(SYS + "/enabled")):
    write("/proc/sys/vm/scaleswap/bind", "auto")
for d in sorted(glob.glob("/dev/nvme?n1")):
    subprocess.run(["mkswap", d], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["/sbin/swapon", "-p", "10", d], check=True)
print("swaps " + json.dumps(read("/proc/swaps")), flush=True)
print("lru_gen " + read("/sys/kernel/mm/lru_gen/enabled").strip(), flush=True)
for mode in conf["modes"]:
    for case in conf["cases"]:
        if mode != "off" or case[0]:
            once(mode, *case)
PY
"""


def checksum(kernel):
    path = kernel if os.path.isfile(kernel) else f"{BUILD}/out/{kernel}/arch/x86/boot/bzImage"
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def boot(work, column, cpus, boot_nr):
    """Boot one guest; a list of runs."""
    kernel, append, modes = COLUMNS[column]
    conf = {"counted": COUNTED, "limit": LIMIT, "threads": THREADS, "pages": PAGES, "seed": 1,
            "accesses": ACCESSES, "modes": modes, "cases": CASES[cpus]}
    guest = f"{work}/guest.sh"
    with open(guest, "w") as f:
        f.write(GUEST.replace("CONF_HERE", repr(json.dumps(conf))))
    cmd = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", str(cpus), "--mem", "512", "--nvme", "4",
           "--nvme-size", "200", "--timeout", "600", "--thread", "single", "--add", f"{work}/slabload:/ssw/slabload",
           "--append", f"{append} kunit.enable=0", guest]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"pages-moved: guest {column} ended with status {done.returncode}")
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    gen = [rest for word, _, rest in lines if word == "lru_gen"]
    return [dict(column=column, boot=boot_nr, cpus=cpus, lru_gen=gen[0], **json.loads(rest))
            for word, _, rest in lines if word == "run"]


def table(runs):
    """Medians by case and column, and each column's pages in against base's."""
    out = {}
    for r in runs:
        case = f"{r['cpus']} CPUs, {r['dist']}, {r['pin']}, page-cluster {r['page_cluster']}"
        column = r["column"] + ("" if r["mode"] == "-" else f" (mode {r['mode']})")
        out.setdefault(case, {}).setdefault(column, []).append(r["counts"])
    for case, columns in out.items():
        for column, counts in columns.items():
            med = {k: statistics.median(c[k] for c in counts) for k in COUNTED}
            # critical pages and read-ahead ones
            med["demanded"] = statistics.median(c["pswpin"] - c["swap_ra"] for c in counts)
            med["ra_unused"] = statistics.median(c["swap_ra"] - c["swap_ra_hit"] for c in counts)
            med["pswpin_each"] = sorted(c["pswpin"] for c in counts)
            med["boots"] = len(counts)
            columns[column] = med
        for med in columns.values():
            for k in "pswpin", "pswpout":
                if columns.get("base", {}).get(k):
                    med[f"{k}_to_base"] = round(med[k] / columns["base"][k], 3)
    return out


def save(o, repository, runs):
    data = {
        "command": " ".join(["bench/experiments/pages-moved/run.py", *sys.argv[1:]]),
        "workload": f"slabload {THREADS} {PAGES} {ACCESSES}", "memory_max": LIMIT,
        "kernels": {c: " ".join(v[:2]).strip() for c, v in COLUMNS.items()},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": repository, "kernel_checksums": {k: checksum(k) for k in sorted({KERNEL, BASE})},
        "emulated": f"QEMU TCG, one host thread, 512 MB, four NVMe drives of 200 MB",
        "medians": table(runs), "runs": runs}
    with open(o.out, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    return data


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--boots", type=int, default=5, metavar="N", help="boots a column")
    ap.add_argument("--columns", default=":".join(COLUMNS), help="separated by colons")
    ap.add_argument("--cpus", type=int, choices=CASES, default=4, help="of the guests")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/pages-moved.json", metavar="FILE")
    o = ap.parse_args()
    repository = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                stdout=subprocess.PIPE).stdout.strip()
    runs = []
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-static", "-pthread", "-o", f"{work}/slabload",
                        f"{ROOT}/bench/load/slabload.c", "-lm"], check=True)
        for nr in range(o.boots):
            for column in o.columns.split(":"):
                new = boot(work, column, o.cpus, nr)
                if not new:
                    sys.exit(f"pages-moved: guest {column} made no run")
                runs += new
                print(f"{column}: " + " ".join(str(r["counts"]["pswpin"]) for r in new), flush=True)
            save(o, repository, runs)
    data = save(o, repository, runs)
    for case, columns in data["medians"].items():
        print(case)
        for column, m in columns.items():
            print(f"  {column:20s} in {m['pswpin']:7.0f} demanded {m['demanded']:7.0f} ahead {m['swap_ra']:6.0f} "
                  f"unused {m['ra_unused']:6.0f} out {m['pswpout']:7.0f} refaults {m['workingset_refault_anon']:7.0f} "
                  f"activated {m['workingset_activate_anon']:7.0f} scanned {m['pgscan_anon']:7.0f} "
                  f"in/base {m.get('pswpin_to_base', '-')}")


if __name__ == "__main__":
    main()
