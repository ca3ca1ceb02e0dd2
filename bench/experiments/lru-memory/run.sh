#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What LRU shards cost in memory: 1,000 memory cgroups on a machine of 64 CPUs.
#
# Each group gets a process that touches 16 pages on one CPU, then on 8 CPUs, then on all;
# after each step: how many shards there are, and the slab allocator's memory, which is
# compared with that of a boot without shards (scaleswap=core) that does the same.
#
#   bench/experiments/lru-memory/run.sh [GROUPS] [CPUS]     writes bench/results/lru-memory.json;
#                                                  KERNEL=NAME|BZIMAGE, default test
#
# Emulated (TCG, one host thread, CPUs in turns); sizes, no times.
set -euo pipefail
cd "$(dirname "$0")/../../.."
groups=${1:-1000} cpus=${2:-64} kernel=${KERNEL:-test}
guest=$(mktemp) out=$(mktemp)
trap 'rm -f "$guest" "$out"' EXIT
cat >"$guest" <<END2
#!/bin/bash
exec python3 - <<'PY'
import mmap, os, json
GROUPS, CPUS = $groups, $cpus
END2
cat >>"$guest" <<'END2'
LRU = "/sys/kernel/mm/scaleswap/lru/"
def write(p, s):
    with open(p, "w") as f: f.write(str(s))
def now(step):
    mem = dict(l.split(":") for l in open("/proc/meminfo"))
    lru = {n: int(open(LRU + n).read()) for n in ("shards", "allocated", "shard_bytes")}
    print("step " + json.dumps({"step": step, "lru": lru, **{k + "_kB": int(mem[k].split()[0]) for k in
                                ("SUnreclaim", "Slab", "Percpu", "MemFree")}}), flush=True)
def touch(m, cpu):
    os.sched_setaffinity(0, {cpu})
    a = mmap.mmap(-1, 16 * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(16):
        a[i * 4096] = 1
    m.append(a)
write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
now("before")
for g in range(GROUPS):
    os.mkdir(f"/sys/fs/cgroup/g{g}")
now("groups made")
me, keep = os.getpid(), []
for step, cpus in (("one CPU a group", 1), ("8 CPUs a group", 8), ("all CPUs a group", CPUS)):
    for g in range(GROUPS):
        write(f"/sys/fs/cgroup/g{g}/cgroup.procs", me)
        m = []
        for c in range(cpus):
            touch(m, (g + c) % CPUS)
        # The last would be gigabytes; shards stay without pages, too.
        if cpus < CPUS:
            keep.append(m)
    now(step)
PY
END2
for how in on core; do
	echo "how $how"
	scripts/guest/boot.py --kernel "$kernel" --cpus "$cpus" --mem 6144 --with base --with python \
		--timeout 2400 --append "scaleswap=$how kunit.enable=0" "$guest"
done | tee "$out"
python3 - "$out" "$groups" "$cpus" <<'PY'
import datetime, json, subprocess, sys
runs, how = {}, None
for line in open(sys.argv[1]):
    word, _, rest = line.strip().partition(" ")
    if word == "how":
        how = runs.setdefault(rest, [])
    elif word == "step":
        how.append(json.loads(rest))
rows = []
for core, on in zip(runs["core"], runs["on"]):
    grown = [s["SUnreclaim_kB"] - r[0]["SUnreclaim_kB"] for s, r in ((core, runs["core"]), (on, runs["on"]))]
    rows.append({"step": on["step"], "shards": on["lru"]["allocated"],
                 "shards_kB": on["lru"]["allocated"] * on["lru"]["shard_bytes"] // 1024,
                 "slab_grown_kB": grown[1], "slab_grown_without_shards_kB": grown[0]})
    print("%-18s %6d shards %7d kB; slab grew by %7d kB, without shards by %7d kB" % tuple(rows[-1].values()))
data = {"command": f"bench/experiments/lru-memory/run.sh {sys.argv[2]} {sys.argv[3]}", "kernel": "test",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": subprocess.run(["git", "describe", "--always", "--dirty"], text=True, stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, one host thread, CPUs in turns", "summary": rows, "runs": runs}
with open("bench/results/lru-memory.json", "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
PY
