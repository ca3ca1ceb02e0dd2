#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""MGLRU and LRU shards: what each does, and what the two would do together.

  bench/experiments/mglru/shards.py [--cpus N,N...] [--no-build] [--missing]    default 8,16

Builds $BUILD-mglru with the patch beside this file, in which each shard has generations of
its own, and boots base kernel and ours with either LRU. Two loads in a cgroup at its limit:
  apart    swapload: processes, each with memory and a CPU of its own, random order
  shared   hotcold: threads of one process that all use all of its memory; a quarter is hot
Writes bench/results/mglru-shards.json: pages in and out, scans, contentions of lru_lock,
and, of the patched kernel, how often and how far page tables were walked.

Emulated (TCG, -icount, CPUs in turns): counts, no times. About a minute a boot on a quiet
host; kernels "lockstat", "base-lockstat" have to be built before.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "build"))
from paths import BUILD, ROOT  # noqa: E402

PATCHED = BUILD + "-mglru"
ICOUNT = "-icount shift=4,sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"
# name: (kernel, command line, MGLRU on?)
COLUMNS = {
    "base": ("base-lockstat", "", False),
    "base, MGLRU": ("base-lockstat", "", True),
    "shards": ("lockstat", "scaleswap=on", False),
    "one list, MGLRU": (PATCHED, "scaleswap=core", True),
    "shards, MGLRU": (PATCHED, "scaleswap=on", True),
}
GUEST = r"""#!/bin/bash
set -eu
for fs in debugfs:/sys/kernel/debug configfs:/sys/kernel/config; do
	mount -t "${fs%%:*}" none "${fs#*:}" 2>/dev/null || true
done
n=$(nproc)
[ "$(cat /sys/kernel/mm/lru_gen/enabled)" = "$GEN" ] || echo "$GEN" >/sys/kernel/mm/lru_gen/enabled
echo "gen $(cat /sys/kernel/mm/lru_gen/enabled)"
[ ! -e /proc/sys/vm/scaleswap/bind ] || echo auto >/proc/sys/vm/scaleswap/bind
for ((i = 0; i < n; i++)); do
	d=/sys/kernel/config/nullb/nullb$i
	mkdir -p "$d"
	for v in size:$((192 / n)) blocksize:4096 memory_backed:1 power:1; do echo "${v#*:}" >"$d/${v%%:*}"; done
	mkswap "/dev/nullb$i" >/dev/null
	/sbin/swapon -p 10 "/dev/nullb$i"
done
echo 0 >/proc/sys/vm/page-cluster
mkdir -p /sys/fs/cgroup/w
echo 40M >/sys/fs/cgroup/w/memory.max
join() { echo "$BASHPID" >/sys/fs/cgroup/w/cgroup.procs; }
for f in walks ptes young; do
	[ ! -e "/sys/kernel/debug/mg_$f" ] || echo 0 >"/sys/kernel/debug/mg_$f"
done
echo 0 >/proc/lock_stat
sed 's/^/before /' /proc/vmstat
if [ "$LOAD" = apart ]; then
	(join; exec /ssw/swapload --procs "$n" --pages $((24576 / n)) --seed 1 --cgroup /sys/fs/cgroup/w fill mix:2)
else
	(join; exec /ssw/hotcold "$n" 24576 1000000)
fi
sed 's/^/after /' /proc/vmstat
for f in walks ptes young; do
	[ ! -e "/sys/kernel/debug/mg_$f" ] || echo "mg $f $(cat "/sys/kernel/debug/mg_$f")"
done
# contentions and acquisitions, of all classes of the name
awk -F: '/lruvec->lru_lock(#[0-9]+)?:/ && NF > 1 { split($NF, v, " "); c += v[2]; a += v[8] }
	END { print "lru_lock", c + 0, a + 0 }' /proc/lock_stat
uname -rv | sed 's/^/kernel /'
"""


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def commit():
    r = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True)
    return r.stdout.strip()


def build():
    """The patched kernel; its bzImage."""
    env = dict(os.environ, BUILD=PATCHED)
    os.makedirs(PATCHED, exist_ok=True)
    if not os.path.exists(f"{PATCHED}/base"):
        subprocess.run([f"{ROOT}/scripts/build/fetch.sh"], check=True, env=env)
    subprocess.run([f"{ROOT}/scripts/build/tree.py"], check=True, env=dict(env, FORCE="1"), stdout=subprocess.DEVNULL)
    subprocess.run(["patch", "-p1", "-s", "-d", f"{PATCHED}/tree", "-i", f"{ROOT}/bench/experiments/mglru/shards.patch"],
                   check=True)
    out = f"{PATCHED}/out/lockstat"
    subprocess.run([f"{ROOT}/scripts/build/kernel.sh", "lockstat"], check=True, env=env)
    # MGLRU has to be on when shards come into being; there is no fragment for that
    subprocess.run([f"{PATCHED}/tree/scripts/config", "--file", f"{out}/.config", "-e", "LRU_GEN_ENABLED"], check=True)
    subprocess.run([f"{ROOT}/scripts/build/kernel.sh", "lockstat"], check=True, env=env)
    return f"{out}/arch/x86/boot/bzImage"


def measure(work, image, name, load, cpus):
    kernel, append, gen = COLUMNS[name]
    guest = f"{work}/guest.sh"
    with open(guest, "w") as f:
        f.write(GUEST.replace("set -eu\n", f"set -eu\nLOAD={load} GEN={'0x0007' if gen else '0x0000'}\n", 1))
    r = subprocess.run([f"{ROOT}/scripts/guest/boot.py", "--kernel", image if kernel == PATCHED else kernel, "--cpus", str(cpus),
                        "--mem", "1024", "--with", "base", "--add", f"{work}/hotcold:/ssw/hotcold",
                        "--add", f"{work}/swapload:/ssw/swapload", "--timeout", "900", "--accel", "tcg",
                        "--thread", "single", "--qemu", ICOUNT, "--append",
                        f"nokaslr norandmaps kunit.enable=0 lpj=4000000 cpu_init_udelay=0 {append}".strip(), guest],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if r.returncode:
        sys.exit(f"{name}, {load}, {cpus} CPUs: status {r.returncode}\n{r.stdout[-2000:]}\n{r.stderr[-2000:]}")
    stat = {w: {k: int(v) for k, v in re.findall(rf"^{w} (\w+) (\d+)$", r.stdout, re.M)} for w in ("before", "after")}
    lock = re.search(r"^lru_lock (\d+) (\d+)$", r.stdout, re.M)
    row = {"kernel": name, "load": load, "cpus": cpus, "date": now(), "repository": commit(),
           "lru_gen": re.search(r"^gen (\S+)", r.stdout, re.M)[1],
           "lru_lock": {"contentions": int(lock[1]), "acquisitions": int(lock[2])},
           "walked": {k: int(v) for k, v in re.findall(r"^mg (\w+) (\d+)$", r.stdout, re.M)},
           **{k: stat["after"][k] - stat["before"][k] for k in ("pswpin", "pswpout", "pgscan_anon", "pgsteal_anon",
                                                                "workingset_refault_anon")},
           "release": re.search(r"^kernel (.*)$", r.stdout, re.M)[1]}
    print(json.dumps(row), flush=True)
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cpus", default="8,16")
    ap.add_argument("--missing", action="store_true", help="measure only what the results lack")
    ap.add_argument("--no-build", action="store_true", help="take the patched kernel that is there")
    o = ap.parse_args()
    image = f"{PATCHED}/out/lockstat/arch/x86/boot/bzImage" if o.no_build else build()
    path = f"{ROOT}/bench/results/mglru-shards.json"
    runs = []
    if o.missing:
        with open(path) as f:
            runs = json.load(f)["runs"]
    have = {(r["kernel"], r["load"], r["cpus"]) for r in runs}
    with tempfile.TemporaryDirectory() as work:
        for name in ("hotcold", "swapload"):
            subprocess.run(["gcc", "-O2", "-static", "-pthread", "-o", f"{work}/{name}", f"{ROOT}/bench/load/{name}.c"], check=True)
        for cpus in map(int, o.cpus.split(",")):
            for load in ("apart", "shared"):
                runs += [measure(work, image, name, load, cpus) for name in COLUMNS if (name, load, cpus) not in have]
    with open(path, "w") as f:
        json.dump({"command": "bench/experiments/mglru/shards.py " + " ".join(sys.argv[1:]), "date": now(),
                   "emulated": f"QEMU TCG, {ICOUNT}; drives are null_blk",
                   "columns": {k: [os.path.basename(v[0]), *v[1:]] for k, v in COLUMNS.items()}, "runs": runs}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    sys.exit(main())
