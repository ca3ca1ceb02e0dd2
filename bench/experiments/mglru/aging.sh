#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What it would cost to give each LRU shard generations of its own: MGLRU's aging walks
# the page tables of a memory cgroup's processes once for each new generation of a
# lruvec. Instructions of such a walk by mapped page, base kernel, one CPU, once with all
# pages touched since the last walk, and once with none.
#
#   bench/experiments/mglru/aging.sh [KERNEL]   default: base-test; writes
#                                          bench/results/mglru-aging.json
#
# Emulated (TCG, -icount shift=0: a nanosecond of the guest is an instruction).
set -euo pipefail
cd "$(dirname "$0")/../../.."
kernel=${1:-base-test}
guest=$(mktemp)
trap 'rm -f "$guest"' EXIT
cat >"$guest" <<'END'
#!/usr/bin/env python3
import json, mmap, os, re, signal, time
PAGE = 4096
DEBUG = "/sys/kernel/debug/lru_gen"
CG = "/sys/fs/cgroup/aged"

def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))

def read(path):
    with open(path) as f:
        return f.read()

if not os.path.exists(DEBUG):
    os.system("mount -t debugfs none /sys/kernel/debug")
write("/sys/kernel/mm/lru_gen/enabled", "7")
os.makedirs(CG, exist_ok=True)

def newest():
    """(memcg id, max_seq) of the group on node 0"""
    block = re.search(r"^memcg +(\d+) /aged\n((?: .*\n)+)", read(DEBUG), re.M)
    return int(block[1]), max(int(m[1]) for m in re.finditer(r"^ +(\d+) +\d+ +\d+ +\d+ *$", block[2], re.M))

def aged():
    """Instructions of one more generation."""
    memcg, seq = newest()
    start = time.monotonic_ns()
    write(DEBUG, f"+ {memcg} 0 {seq} 1 1")
    took = time.monotonic_ns() - start
    if newest()[1] != seq + 1:
        raise SystemExit("there is no new generation")
    return took

rows = []
for pages in (8192, 32768):
    go, went = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        write(CG + "/cgroup.procs", os.getpid())
        area = mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        area.madvise(mmap.MADV_NOHUGEPAGE)
        while os.read(go[0], 1):
            for i in range(pages):
                area[i * PAGE] = i & 255
            os.write(went[1], b"x")
        os._exit(0)
    for turn in range(6):
        os.write(go[1], b"x")
        os.read(went[0], 1)
        touched = aged()
        untouched = aged()
        # the first ones find new pages, and set things up
        if turn:
            rows.append({"pages": pages, "touched": touched, "untouched": untouched})
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print("rows " + json.dumps(rows))
print("kernel " + " ".join(os.uname()[2:4]))
END
out=$(scripts/guest/boot.py --kernel "$kernel" --cpus 1 --mem 512 --with base --with python --accel tcg --timeout 300 \
	--append "nokaslr norandmaps lpj=4000000 kunit.enable=0" \
	--qemu "-icount shift=0,sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm" "$guest")
KERNEL=$kernel python3 -c '
import datetime, json, os, re, statistics, subprocess, sys
text = sys.stdin.read()
rows = json.loads(re.search(r"^rows (.*)$", text, re.M)[1])
spread = lambda v: {"median": round(statistics.median(v), 1), "min": round(min(v), 1), "max": round(max(v), 1), "n": len(v)}
size = sorted({r["pages"] for r in rows})
per = {str(n): {k: spread([r[k] / n for r in rows if r["pages"] == n]) for k in ("touched", "untouched")} for n in size}
data = {"command": "bench/experiments/mglru/aging.sh " + os.environ["KERNEL"],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": re.search(r"^kernel (.*)$", text, re.M)[1],
        "repository": subprocess.run(["git", "describe", "--always", "--dirty"], text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, -icount shift=0, one CPU",
        "instructions_a_page_and_generation": per, "runs": rows}
with open("bench/results/mglru-aging.json", "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
print(json.dumps(per))
' <<<"$out"
