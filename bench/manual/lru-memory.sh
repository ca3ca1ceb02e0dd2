#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What LRU shards cost in memory: 1,000 memory cgroups on a machine of 64 CPUs.
#
# Each group gets a process that touches 16 pages on one CPU, then on 8 CPUs, then on all
# 64; after each step: shards, and what the slab allocator has for them.
#
#   bench/manual/lru-memory.sh [GROUPS] [CPUS]     writes bench/results/lru-memory.json
set -euo pipefail
cd "$(dirname "$0")/../.."
groups=${1:-1000} cpus=${2:-64}
guest=$(mktemp) out=$(mktemp)
trap 'rm -f "$guest" "$out"' EXIT
cat >"$guest" <<END2
#!/bin/bash
exec python3 - <<'PY'
import mmap, os, json
GROUPS, CPUS = $groups, $cpus
END2
cat >>"$guest" <<'END2'
def write(p, s):
    with open(p, "w") as f: f.write(str(s))
def now(step):
    mem = dict(l.split(":") for l in open("/proc/meminfo"))
    slab = {}
    for l in open("/proc/slabinfo"):
        f = l.split()
        if f[0] in ("scaleswap_shard", "kmalloc-1k", "kmalloc-512", "kmalloc-2k"):
            slab[f[0]] = {"active": int(f[1]), "objects": int(f[2]), "size": int(f[3])}
    lru = {n: int(open("/sys/kernel/mm/scaleswap/lru/" + n).read()) for n in ("shards", "allocated", "shard_bytes")}
    print("step " + json.dumps({"step": step, "lru": lru, "slab": slab, "Slab_kB": int(mem["Slab"].split()[0]),
                                "Percpu_kB": int(mem["Percpu"].split()[0]), "MemFree_kB": int(mem["MemFree"].split()[0])}), flush=True)
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
        if cpus < 64:
            keep.append(m)
    now(step)
PY
END2
scripts/boot --kernel test --cpus "$cpus" --mem 6144 --with base --with python --timeout 900 \
	--append "scaleswap=on kunit.enable=0" "$guest" | tee "$out"
python3 - "$out" "$groups" "$cpus" <<'PY'
import datetime, json, subprocess, sys
steps = [json.loads(l.partition(" ")[2]) for l in open(sys.argv[1]) if l.startswith("step ")]
data = {"command": f"bench/manual/lru-memory.sh {sys.argv[2]} {sys.argv[3]}", "kernel": "test",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": subprocess.run(["git", "describe", "--always", "--dirty"], text=True, stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG", "steps": steps}
json.dump(data, open("bench/results/lru-memory.json", "w"), indent=1)
PY
