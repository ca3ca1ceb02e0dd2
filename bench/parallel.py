#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How swap scales with CPUs, in simulated parallel time.

QEMU runs the CPUs of a guest in lock step (scripts/build/qemu.sh): each has its own clock,
an instruction takes 1 ns, and a cache line that another CPU has takes T ns (bench/load/lines.c;
`make test-model` shows how exact that is). So CPUs wait for each other as on a machine, and the
result is the same on any host. What the model leaves out: bench/README.md.

Each guest is one kernel, load and number of CPUs. A process a CPU (or a thread, in `threads`)
has its own pages; memory holds half of all. The load is
  shared    one memory cgroup for all, with a limit
  apart     a cgroup each, with a limit each
  global    no limit: the guest's memory is short
  threads   threads of one process, in one cgroup with a limit
  slow      as shared, with drives that take 10 us (null_blk)
and it first writes all pages (swap_out), checks and rewrites them in random order (both), and
reads them in order while those in memory are clean (swap_in). The second step is repeated with
other T, and with other Q, by which CPUs' clocks may differ; with few CPUs also other seeds.

Writes bench/results/parallel.json and parallel.svg; with --set 'config="lockstat"', for the time that CPUs
wait for locks, parallel-locks.json. With --set profile=1 a run also says in which functions tasks, evictors
and others spend the CPUs' time. It can be stopped at any time: what was
measured is kept below BUILD, and the same command goes on from there, unless the kernels
changed. As many guests as the host has CPUs run at once.
Ends with 0 if every guest ended well and every page was right, else 1; 2: could not run.
"""
import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import scale as s  # noqa: E402

ON = dict(prefix="", how="percore")
COLUMNS = {
    "base": dict(prefix="base-", how="striped"),
    "mglru": dict(prefix="base-", how="striped", mglru=True),
    "linux-7.2": dict(prefix="peer-", how="striped"),
    "on": dict(ON, append="scaleswap=on", evict=True),
    "on-less-core": dict(prefix="", how="striped", append="scaleswap=lru,fault"),
    "on-less-lru": dict(ON, append="scaleswap=core,fault"),
    "on-less-fault": dict(ON, append="scaleswap=core,lru,evict", evict=True),
    "on-less-evict": dict(ON, append="scaleswap=core,lru,fault"),
    # asked for by --kernels
    "on-mglru": dict(ON, append="scaleswap=on", evict=True, mglru=True),
    "on-less-evict-mglru": dict(ON, append="scaleswap=core,lru,fault", mglru=True),
    "on-circulation": dict(ON, append="scaleswap=on", evict=True, circulate=True),
    "core": dict(ON, append="scaleswap=core,fault"),
    "core-mglru": dict(ON, append="scaleswap=core,fault", mglru=True),
    "off": dict(prefix="", how="striped", append="scaleswap=off"),
}
DEFAULT = [c for c in COLUMNS
           if c not in ("off", "on-mglru", "on-less-evict-mglru", "on-circulation", "core", "core-mglru")]
LOADS = ["shared", "threads", "apart", "global", "slow"]
CPUS = [1, 2, 4, 8, 16, 32, 64, 128]
MAIN = (60, 400)    # T, Q
# lists, as JSON gives them back when a run goes on
OTHERS = [[0, 400], [120, 400], [60, 100], [60, 200]]
# the first T, Q is measured in all steps, the others while CPUs check and rewrite
SETTINGS = dict(config="test", pages=1024, all_pages=8192, device_us=0, global_pages=32768, depth=32, others=OTHERS, seed=1,
                other_seeds=[2, 3], spare=0, watermarks=0, request_pages=0, mix=0, profile=0)
QUICK = dict(pages=512, all_pages=2048, others=[], other_seeds=[])
# what is measured with other T, Q and seeds, too; seeds up to this number of CPUs, where single waits count most
COMPARED = ("base", "linux-7.2", "on")
SEEDS_CPUS = 16
QUICK_CPUS = [1, 8]
QUICK_LOADS = ["shared"]
QUICK_KERNELS = ["base", "on"]
QEMU = ("-icount shift=0,sleep=off,quantum=20000 -cpu max,-rdrand,-rdseed "
        "-rtc base=2026-01-01,clock=vm -seed 1")
APPEND = "nokaslr norandmaps kunit.enable=0 lpj=4000000 cpu_init_udelay=0"
MOST_KILLS = 4
LEAST = 0.02        # transfers a fault, below which a function is not kept
# how many of those are: all that matter where loads are compared by function, else a few
TOP = {"shared": 120}
TOP_ELSE = 20
# of each kind of thread, in a profile
TOP_PROFILE = 30


def part(cpus):
    return max(1, cpus // 32)


def with_locks(p):
    """lock_stat is not cleared between steps, and a step that is not in parallel time would be in it."""
    return p["config"] == "lockstat"


def phases(p, cpus):
    """What swapload does; the window of each, as {window: (what, T, Q)}."""
    # many CPUs go over a part of their pages, unless it is said how often they are to go over all
    mix = f"mix:{p['mix']}" if p.get("mix") else f"mix/{part(cpus)}"
    steps = ["fill@1=swap_out", f"{mix}@2=both"]
    windows = {1: ("swap_out", *MAIN), 2: ("both", *MAIN)}
    for w, (t, q) in enumerate(p["others"], 4):
        steps.append(f"{mix}@{w}=both")
        windows[w] = ("both", t, q)
    if with_locks(p):
        return steps, windows
    # after it, what is in memory is clean
    steps += ["read=settle", f"read/{part(cpus)}@3=swap_in"]
    windows[3] = ("swap_in", *MAIN)
    return steps, windows


def symbols(system_map, path):
    """What lines.so wants to know of a kernel: functions and data."""
    seen = {}
    with open(system_map) as f:
        for line in f:
            addr, kind, name = line.split()
            if kind in "tTwWdDbBrRvV":
                seen.setdefault(int(addr, 16), ("F" if kind in "tTwW" else "D", name))
    with open(path, "w") as f:
        for addr in sorted(seen):
            f.write("%x %s %s\n" % (addr, *seen[addr]))


def prepare(work, columns, p, no_build):
    """Kernels, root, load and plugin; {kernel: what it is}."""
    names = sorted({COLUMNS[c]["prefix"] + p["config"] for c in columns})
    if not no_build:
        b.step("qemu.sh")
    kernels = s.prepare(work, {"parallel": dict(p, columns=columns)}, no_build, COLUMNS)
    for name in names:
        symbols(f"{work}/{name}.map", f"{work}/{name}.symbols")
    if subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", f"{work}/lines.so",
                       f"{b.ROOT}/bench/load/lines.c"]).returncode:
        b.die("bench/load/lines.c does not compile")
    if not os.path.exists(f"{b.BUILD}/qemu/bin/qemu-system-x86_64"):
        b.die("QEMU is not built; run without --no-build")
    return kernels


# --- one guest ------------------------------------------------------------------------

def options(p, column, load, cpus):
    """What bench/guest/scale.py is told."""
    c = COLUMNS[column]
    # few CPUs have more pages, for enough faults
    pages = max(p["pages"], p["all_pages"] // cpus)
    if load == "global":
        # kernels differ by some megabytes that they can still free: not to be much of it all
        pages = max(pages, p["global_pages"] // cpus)
    pages_mb = pages * cpus / 256
    tasks = cpus - int(cpus * p.get("spare", 0))
    some = {"tasks": tasks} if tasks != cpus else {}
    if p.get("request_pages"):
        some["max_sectors"] = 8 * p["request_pages"]
    if load == "global" and p.get("watermarks"):
        some["watermark_scale_factor"] = p["watermarks"]
    if "circulate" in c:
        some["circulate"] = c["circulate"]
    return dict(some, part="parallel", how=c["how"], mglru=c.get("mglru", False), evict=c.get("evict", False), load=load, seed=p["seed"],
                device_us=10 if load == "slow" else p["device_us"], depth=p["depth"],
                # an area holds all pages of its CPU, and some that are cached twice
                total_mb=max(16, math.ceil(2 * pages_mb * cpus / tasks)), max_mb=pages_mb / 2, pages=pages * cpus,
                # what processes lock: code, stack, results, page tables
                own_mb=1 + 0.5 * cpus, locks=with_locks(p),
                phases=phases(p, cpus)[0])


def memory(o, cpus):
    """Megabytes that a guest needs, and some that differ with the seed: all guests of a kernel would otherwise
    be the same machine until the load begins, and a phase that by chance is bad for one kernel be in each."""
    drives = cpus if o["how"] == "percore" else min(cpus, 23)
    requests = drives * cpus * o["depth"] * 640 / (1 << 20)
    return round(280 + 4 * cpus + 1.1 * o["total_mb"] + 2 * o["max_mb"] + requests) + o["seed"] % 100 - 1


def function(name):
    """Parts that the compiler split off count for the function."""
    return re.sub(r"\.(part|constprop|isra|cold)\.?\d*.*", "", name)


def read_lines(path, windows):
    """{window: {"transfers", "ns", "insn": {function: [transfers, ns]}, "data": ...}}"""
    out = {}
    with open(path) as f:
        text = f.read()
    if not text.endswith("end\n"):
        raise ValueError(f"{path} is not complete")
    for line in text.splitlines():
        word, *rest = line.split()
        if word in ("window", "total", "insn", "data", "kind"):
            w = out.setdefault(int(rest[0]), {"insn": {}, "data": {}})
        if word == "window":
            w["q"], w["t"], w["open_ns"] = int(rest[1]), int(rest[2]), int(rest[3])
        elif word == "total":
            w["transfers"], w["ns"] = int(rest[1]), int(rest[2])
        elif word in ("insn", "data"):
            n = w[word].setdefault(function(rest[3]), [0, 0])
            n[0] += int(rest[1])
            n[1] += int(rest[2])
        elif word == "kind":
            n = w.setdefault("kinds", {}).setdefault(rest[1], {}).setdefault(function(rest[6]), [0, 0, 0, 0])
            for i in range(4):
                n[i] += int(rest[2 + i])
    for n, (_, t, q) in windows.items():
        if n not in out or (out[n]["t"], out[n]["q"]) != (t, q):
            raise ValueError(f"{path}: window {n} is missing, or is another one")
    return out


def was_killed(log):
    with open(log, errors="replace") as f:
        return "ut of memory: Killed process" in f.read()


def measure(work, p, column, load, cpus, seed, log):
    """As measure_once(). A kernel that kills the load for want of memory, though swap is free
    (bench/experiments/oom-stress), gets other random numbers; "killed" says how often."""
    for killed in range(MOST_KILLS + 1):
        result = measure_once(work, dict(p, seed=seed + 100 * killed), column, load, cpus, seed, log)
        if "error" not in result or not was_killed(log):
            break
    return dict(result, killed=killed)


def measure_once(work, p, column, load, cpus, seed, log):
    """Boot a guest; its result, or {"error": why}."""
    c = COLUMNS[column]
    kernel = c["prefix"] + p["config"]
    o = options(p, column, load, cpus)
    windows = phases(p, cpus)[1]
    counts = f"{work}/{column}-{load}-{cpus}-{seed}.lines"
    plugin = f"-plugin {work}/lines.so,map={work}/{kernel}.symbols,out={counts}"
    plugin += "".join(f",set={w}:{q}:{t}" for w, (_, t, q) in windows.items())
    plugin += ",kinds=on" if p.get("profile") else ""
    command = [f"{b.ROOT}/scripts/guest/boot.py", "--kernel", f"{work}/{kernel}", "--cpus", str(cpus),
               "--mem", str(memory(o, cpus)), "--initramfs", f"{work}/root.cpio",
               "--add", f"{work}/swapload:/ssw/swapload", "--add", f"{b.ROOT}/bench/guest/demo.py:/ssw/demo.py",
               "--timeout", "3000", "--accel", "tcg", "--thread", "single", "--log", log,
               "--emulator", f"{b.BUILD}/qemu/bin/qemu-system-x86_64", "--qemu", QEMU, "--qemu", plugin,
               "--append", f"{APPEND} {c.get('append', '')}".strip(),
               f"{b.ROOT}/bench/guest/scale.py", json.dumps(o)]
    result = s.run_guest(command, log)
    if "error" in result:
        return result
    try:
        lines = read_lines(counts, windows)
    except ValueError as e:
        return {"error": str(e)}
    os.unlink(counts)
    for w in lines.values():
        for kind in ("insn", "data"):
            most = sorted(w[kind].items(), key=lambda x: -x[1][0])[:TOP["shared"]]
            w[kind] = dict(most)
    result["lines"] = {str(w): lines[w] for w in windows}
    bad = [ph["name"] for ph in result["phases"] if ph["window"] and not (ph["faults"] and ph["pages_out"] + ph["pages_in"])]
    return {"error": f"nothing was swapped in {', '.join(bad)}"} if bad else result


# --- what comes of it -------------------------------------------------------------------

def profile(kinds, cpu_ns):
    """Where the CPUs' time went, in percent: {kind of thread: {"instructions", "lines", "functions": those that
    cost most, {name: [instructions, lines, calls]}}}. What is missing are CPUs without work."""
    percent = lambda ns: round(100 * ns / cpu_ns, 3)
    return {kind: {"instructions": percent(sum(f[0] for f in functions.values())),
                   "lines": percent(sum(f[1] for f in functions.values())),
                   "functions": {name: [percent(f[0]), percent(f[1]), f[3]] for name, f in sorted(
                       functions.items(), key=lambda x: -x[1][0] - x[1][1])[:TOP_PROFILE]}}
            for kind, functions in sorted(kinds.items())}



def rows_of(column, load, cpus, seed, result, commit=None):
    """A run of the result file for each T and Q."""
    out = []
    steps = {ph["window"]: ph for ph in result["phases"] if ph["window"]}
    for w, ph in steps.items():
        if ph["name"] != "both":
            continue
        found = result["lines"][str(w)]
        faults, top = ph["faults"], TOP.get(load, TOP_ELSE)
        each = lambda kind, i, least=LEAST: {k: round(v[i] / faults, 3) for k, v in sorted(
            found[kind].items(), key=lambda x: -x[1][0])[:top] if v[0] / faults >= least}
        row = {"kernel": column, "commit": commit, "load": load, "cpus": cpus, "seed": seed, "t_ns": found["t"], "quantum": found["q"],
               "kfaults_s": round(faults * 1e6 / ph["ns"], 1),
               "pages_out_s": round(ph["pages_out"] * 1e9 / ph["ns"]), "pages_in_s": round(ph["pages_in"] * 1e9 / ph["ns"]),
               "faults": faults, "pages_out": ph["pages_out"], "pages_in": ph["pages_in"]}
        for k in ("avg", "p50", "p99", "p999", "max"):
            row[f"{k}_us"] = round(ph[f"fault_{k}_ns"] / 1000, 2)
        row["lines_per_fault"] = round(found["transfers"] / faults, 2)
        row["line_us_per_fault"] = round(found["ns"] / faults / 1000, 3)
        if w == 2:
            row["killed"] = result["killed"]
            evicted = result.get("counters", {})
            if evicted.get("evict/freed"):
                row.update(waits=evicted.get("evict/waits", 0), evicted=evicted["evict/freed"], given=evicted.get("evict/given", 0))
            row["lines_by_function"] = each("insn", 0)
            row["line_ns_by_function"] = each("insn", 1)
            row["lines_by_data"] = each("data", 0)
            if "kinds" in found:
                row["profile"] = profile(found["kinds"], cpus * found["open_ns"])
            for name, moved in ((1, "pages_out"), (3, "pages_in")):
                if name not in steps:
                    continue
                step, lines = steps[name], result["lines"][str(name)]
                row[step["name"]] = {
                    "kpages_s": round(step[moved] * 1e6 / step["ns"], 1), "pages": step[moved],
                    **{f"{k}_us": round(step[f"fault_{k}_ns"] / 1000, 2) for k in ("avg", "p50", "p99", "p999")},
                    "lines_per_page": round(lines["transfers"] / step[moved], 2) if step[moved] else None}
            if "locks" in result:
                # of both steps, that is
                ns = cpus * sum(x["ns"] for x in steps.values())
                row["waiting_percent"] = {k: round(v["wait_us"] * 1e5 / ns, 3) for k, v in result["locks"].items()}
                row["waiting_percent"]["all locks"] = round(result["all_wait_us"] * 1e5 / ns, 3)
                row["contentions"] = {k: v["contentions"] for k, v in result["locks"].items()}
        out.append(row)
    return out


def key_of(p, column, load, cpus, kernels):
    return {"part": "parallel", "column": column, "load": load, "cpus": cpus,
            "how": {k: v for k, v in p.items()}, "kernel": kernels[COLUMNS[column]["prefix"] + p["config"]]["sha256"]}


def plan(p, columns, loads, cpus, whole):
    """What is to be measured: what counts most first. What parts are worth: of one load, unless @whole."""
    for load in loads:
        for n in sorted(cpus):
            for column in columns:
                if whole or load == "shared" or not column.startswith("on-less-"):
                    yield column, load, n, p["seed"]
    for seed in p["other_seeds"] if "shared" in loads and not with_locks(p) else ():
        for n in sorted(cpus):
            for column in columns:
                if n <= SEEDS_CPUS and column in COMPARED:
                    yield column, "shared", n, seed


def settings(p, column, load, seed):
    """Other T and Q where they decide something: it takes twice as long."""
    here = dict(p, seed=seed)
    del here["other_seeds"]
    for name in ("spare", "watermarks", "request_pages", "mix", "profile"):
        if not here[name]:
            del here[name]
    if load != "shared" or column not in COMPARED or seed != p["seed"] or with_locks(p):
        here["others"] = []
    return here


def guest_seconds(p, column, cpus):
    """About how long a guest takes: a guide, from what some took. Waiting for locks has to be simulated, too."""
    slow = column not in ("on", "on-less-core", "on-less-fault")
    pages = max(p["pages"] * cpus, p["all_pages"])
    return 8 + pages / 1024 * (1 + slow * cpus / 100) * (1 + 0.35 * len(p["others"])) / part(cpus) ** 0.5


def run(work, p, todo, kernels, store, jobs):
    """Measure. Returns False if something went wrong."""
    lock, done, fine = threading.Lock(), 0, True
    say = lambda text: s.say(text)
    seconds = sum(guest_seconds(settings(p, c, load, seed), c, n) for c, load, n, seed in todo)
    say(f"parallel: {len(todo)} guests to boot, about {max(1, round(seconds / jobs / 60))} min on {jobs} quiet CPUs")
    os.makedirs(f"{b.BUILD}/logs", exist_ok=True)

    def one(job):
        nonlocal done, fine
        column, load, n, seed = job
        here = settings(p, *job[:2], seed)
        log = f"{b.BUILD}/logs/parallel-{column}-{load}-{n}-{seed}.console"
        r = measure(work, here, *job, log)
        with lock:
            store.add(key_of(here, column, load, n, kernels), r)
            done += 1
            fine = fine and "error" not in r
            if "error" in r:
                text = f"FAILED: {r['error']}; console in {log}"
            else:
                row = next(x for x in rows_of(*job, r) if (x["t_ns"], x["quantum"]) == MAIN)
                text = (f"{r['host_seconds']:.0f} s, {row['kfaults_s']:,.1f} kfaults/s, avg {row['avg_us']} us, "
                        f"p50 {row['p50_us']}, out {row['swap_out']['kpages_s']:,.1f} k/s, "
                        f"in {row.get('swap_in', {}).get('kpages_s', 0):,.1f} k/s, "
                        f"{row['lines_per_fault']} lines a fault")
            say(f"parallel {done}/{len(todo)}: {column}, {load}, {n} CPUs, seed {seed}: {text}")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(one, todo))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return fine


def write(out, p, rows):
    """parallel.json; rows: [(column, load, cpus, seed, row of the store)]"""
    info = {}
    for c, *_, row in rows:
        kernel = info.setdefault(COLUMNS[c]["prefix"] + p["config"], {"release": row["result"]["release"], "sha256": []})
        if row["key"]["kernel"] not in kernel["sha256"]:
            kernel["sha256"].append(row["key"]["kernel"])
    meta = {
        "format": 1, "date": max(r["date"] for *_, r in rows), "begun": min(r["date"] for *_, r in rows),
        "command": sorted({r["command"] for *_, r in rows}), "repository": sorted({r["repository"] for *_, r in rows}),
        "kernels": info, "columns": {c: COLUMNS[c] for c in COLUMNS if any(x[0] == c for x in rows)},
        "how": p, "main": dict(zip(("t_ns", "quantum"), MAIN)), "emulator": "QEMU of scripts/qemu, TCG, lock step",
        "host": {"cpus": os.cpu_count(), "kernel": os.uname().release},
        "notes": [
            "simulated parallel time: an instruction is 1 ns, a cache line of another CPU takes t_ns, CPUs' clocks differ by "
            "at most quantum ns where they meet; kernel addresses alone have lines",
            "seed: of the load's random order; a guest has seed - 1 MB more memory, so that its boot differs, too",
            "spare: the part of the CPUs that has no tasks, for evictors alone. If it is 0, evictors run on all CPUs, beside tasks",
            "watermarks: vm.watermark_scale_factor in global, if it is not 0. A guest has little memory, so its watermarks are nearer "
            "to each other than those of a machine with so many CPUs",
            "request_pages: pages that a drive takes in one request, if it is not 0. null_blk copies all pages of a request under one "
            "lock of the drive, and a read waits for that, which drives do not have",
            "mix: how often each process goes over all its pages in both; 0: once, and with more than 32 CPUs over a part of them. "
            "With 64 CPUs that is 20 ms of simulated time, in which single events decide",
            "both, in each run: check and rewrite in random order. kfaults_s: faults of all CPUs, thousands a second; avg_us to max_us: of a "
            "fault, by the time stamp counter; lines: transfers of a line from another CPU, over the number of faults",
            "killed: how many guests before this one ended because their kernel killed the load for want of memory; each time, "
            "100 is added to the seed of the load's random numbers",
            "waits: times that a task waited for evictors, in all steps; evicted: pages that they freed; given: of all that they freed, "
            "what went to the CPU that had used it",
            "swap_out: all pages are written for the first time; swap_in: read in order while those in memory are clean",
            "waiting_percent (kernels with lock_stat): of the time of all CPUs in swap_out and both"],
    }
    runs = [x for *job, r in rows for x in rows_of(*job, r["result"], r["repository"])]
    s.OUT = out
    s.write_json("parallel-locks.json" if with_locks(p) else "parallel.json", {"meta": meta, "runs": runs}, ["runs"])


def numbers(text):
    return [int(n) for n in text.split(",")]


def chosen(text, known, what):
    out = text.split(",")
    for name in out:
        if name not in known:
            b.die(f"there is no {what} {name!r}; there are: {', '.join(known)}")
    return out


def main():
    ap = argparse.ArgumentParser(prog="bench/parallel.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kernels", metavar="NAME,…", help=f"only these of {', '.join(COLUMNS)}")
    ap.add_argument("--loads", metavar="NAME,…", help=f"only these of {', '.join(LOADS)}")
    ap.add_argument("--cpus", type=numbers, metavar="N,N…", help="only these CPU counts")
    ap.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="guests at once (the host's CPUs)")
    ap.add_argument("--quick", action="store_true",
                    help="small, two kernels, to see that all works: a few minutes; results go below BUILD")
    ap.add_argument("--no-build", action="store_true", help="take the kernels that are there")
    ap.add_argument("--fresh", action="store_true", help="measure anew what was measured before; the rest stays")
    ap.add_argument("--report", action="store_true", help="boot nothing; file and picture from what is there")
    ap.add_argument("--out", metavar="DIR", help="instead of bench/results")
    ap.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="another value of a setting: " +
                    ", ".join(SETTINGS))
    o = ap.parse_args()
    signal.signal(signal.SIGTERM, lambda n, _: sys.exit(128 + n))
    p = dict(SETTINGS, **(QUICK if o.quick else {}))
    for text in o.set:
        k, _, v = text.partition("=")
        if k not in p:
            b.die(f"there is no setting {k!r}")
        p[k] = json.loads(v)
    if not 0 <= p["spare"] < 1:
        b.die("spare: a part of the CPUs, from 0 to less than 1")
    columns = chosen(o.kernels, COLUMNS, "kernel") if o.kernels else QUICK_KERNELS if o.quick else DEFAULT
    loads = chosen(o.loads, LOADS, "load") if o.loads else QUICK_LOADS if o.quick else LOADS
    cpus = o.cpus or (QUICK_CPUS if o.quick else CPUS)
    if any(not 1 <= n <= 128 for n in cpus):
        b.die("--cpus: from 1 to 128")
    out = os.path.abspath(o.out or (f"{s.STORE}/quick" if o.quick else s.RESULTS))
    fine = True
    with b.Workplace() as work:
        kernels = prepare(work, columns, p, o.no_build or o.report)
        store = s.Store("parallel", False)
        jobs = list(plan(p, columns, loads, cpus, bool(o.kernels)))
        key = lambda c, load, n, seed: key_of(settings(p, c, load, seed), c, load, n, kernels)

        def found(job):
            """What was measured of these kernels; for --report the newest of any, with its commit."""
            k = key(*job)
            if not o.report:
                return store.get(k)
            same = lambda row: {**row["key"], "kernel": 0} == {**k, "kernel": 0}
            return next((row for row in reversed(store.rows) if same(row) and "error" not in row["result"]), None)

        try:
            if not o.report:
                fine = run(work, p, [j for j in jobs if o.fresh or not store.get(key(*j))], kernels, store, o.jobs)
        finally:
            rows = [(*j, found(j)) for j in jobs if found(j)]
            if rows:
                write(out, p, rows)
            else:
                s.say("parallel: nothing has been measured with these kernels")
    s.draw(out, "parallel")
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
