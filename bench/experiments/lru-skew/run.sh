#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Do hot pages of one CPU stay, though cold ones of idle CPUs are in other LRU shards?
#
# A group of 48 MB. Three processes on CPUs 1 to 3 touch 8 MB each and sleep. A fourth on
# CPU 0 reads 30 MB at random, again and again: with one LRU list the cold pages go and
# the hot ones stay. What counts is how many pages were swapped in by 16 sweeps: on the
# base kernel, with one list (scaleswap=core), with shards and no evictors, and with both
# (scaleswap=on), each with both LRUs, in interleaved boots.
#
#   bench/experiments/lru-skew/run.sh [ROUNDS]     default 5; writes bench/results/lru-skew.json;
#                                         KERNEL=NAME|BZIMAGE, default test; BASE likewise,
#                                         default base-test
#
# Emulated (TCG, one host thread, 4 vCPUs in turns); counts, no times.
set -euo pipefail
cd "$(dirname "$0")/../../.."
rounds=${1:-5}
guest=$(mktemp) out=$(mktemp)
trap 'rm -f "$guest" "$out"' EXIT
cat >"$guest" <<'END2'
#!/bin/bash
exec python3 - <<'PY'
import mmap, os, random, time, json, glob, subprocess
PAGE = 4096
CG = "/sys/fs/cgroup/skew"
def write(p, s):
    with open(p, "w") as f: f.write(str(s))
def stat(names):
    d = dict(l.split() for l in open("/proc/vmstat"))
    return {n: int(d[n]) for n in names}
write("/sys/kernel/mm/lru_gen/enabled", "y" if "mglru" in open("/proc/cmdline").read() else "n")
if os.path.exists("/proc/sys/vm/scaleswap/bind"):
    write("/proc/sys/vm/scaleswap/bind", "auto")
for d in sorted(glob.glob("/dev/nvme?n1")):
    subprocess.run(["mkswap", d], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["/sbin/swapon", d], check=True)
os.makedirs(CG, exist_ok=True)
write(CG + "/memory.max", 48 << 20)
def child(cpu, pages, work):
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w); os.read(r, 1); return pid, r
    os.close(r)
    write(CG + "/cgroup.procs", os.getpid())
    os.sched_setaffinity(0, {cpu})
    m = mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(pages):
        m[i * PAGE:i * PAGE + 8] = (cpu << 32 | i).to_bytes(8, "little")
    os.write(w, b"x")
    work(m, pages, cpu, w)
    os._exit(0)
def sleeper(m, pages, cpu, w):
    time.sleep(100000)
def hot(m, pages, cpu, w):
    rnd = random.Random(1)
    order = list(range(pages))
    rows = []
    for sweep in range(16):
        rnd.shuffle(order)
        a = stat(["pswpin", "pswpout"])
        for i in order:
            if m[i * PAGE:i * PAGE + 8] != (cpu << 32 | i).to_bytes(8, "little"):
                os._exit(3)
        b = stat(["pswpin", "pswpout"])
        rows.append([b[k] - a[k] for k in ("pswpin", "pswpout")])
    print("rows " + json.dumps(rows), flush=True)
kids = [child(c, 2048, sleeper) for c in (1, 2, 3)]
pid, r = child(0, 7680, hot)
_, status = os.waitpid(pid, 0)
lru = {os.path.basename(f): open(f).read().strip() for f in glob.glob("/sys/kernel/mm/scaleswap/lru/*")}
lru["lru_gen"] = open("/sys/kernel/mm/lru_gen/enabled").read().strip()
print("lru " + json.dumps(lru))
print("events " + open(CG + "/memory.events").read().replace("\n", " "))
for k, _ in kids: os.kill(k, 9)
os._exit(1 if status else 0)
PY
END2
for ((i = 0; i < rounds; i++)); do
	for how in base core noevict on base-mglru core-mglru noevict-mglru on-mglru; do
		echo "how $how"
		case $how in
		base*) kernel=${BASE:-base-test} append= ;;
		core*) kernel=${KERNEL:-test} append="scaleswap=core" ;;
		noevict*) kernel=${KERNEL:-test} append="scaleswap=core,lru,fault" ;;
		on*) kernel=${KERNEL:-test} append="scaleswap=on" ;;
		esac
		scripts/guest/boot.py --kernel "$kernel" --cpus 4 --mem 512 --nvme 4 --nvme-size 64 --with base --with python \
			--timeout 300 --append "$append how=$how kunit.enable=0" "$guest"
	done
done | tee "$out"
python3 - "$out" "$rounds" <<'PY'
import datetime, json, statistics, subprocess, sys
runs, how = [], None
for line in open(sys.argv[1]):
    word, _, rest = line.strip().partition(" ")
    if word == "how":
        how = rest
    elif word == "rows":
        rows = json.loads(rest)
        runs.append({"scaleswap": how, "swapped_in": [r[0] for r in rows], "swapped_out": [r[1] for r in rows]})
    elif word == "lru":
        runs[-1]["lru"] = json.loads(rest)
    elif word == "events":
        runs[-1]["events"] = rest
total = {h: [sum(r["swapped_in"]) for r in runs if r["scaleswap"] == h] for h in dict.fromkeys(r["scaleswap"] for r in runs)}
data = {"command": f"bench/experiments/lru-skew/run.sh {sys.argv[2]}", "kernels": {"base": "base-test", "core": "test scaleswap=core", "noevict": "test scaleswap=core,lru,fault",
                    "on": "test scaleswap=on", "-mglru": "lru_gen/enabled y, else n"},
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": subprocess.run(["git", "describe", "--always", "--dirty"], text=True, stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, one host thread, 4 vCPUs, NVMe drives emulated",
        "swapped_in_16_sweeps": {h: {"median": statistics.median(v), "min": min(v), "max": max(v)} for h, v in total.items() if v},
        "runs": runs}
with open("bench/results/lru-skew.json", "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
print(json.dumps(data["swapped_in_16_sweeps"]))
PY
