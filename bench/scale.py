#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How swap scales: base kernel, scaleswap=off and scaleswap=on, in interleaved rounds.

Four parts, each with a file in bench/results, pictures beside it:
  instr       instructions a page, one CPU: swap out, swap in, by stage (stages.py), and of that
              the part from allocating to freeing a slot            (instructions.json)
  locks       lock_stat of every lock on the swap path, 2 to 64 CPUs; how long CPUs
              wait for locks, 2 CPUs; faults                              (locks.json)
  throughput  swap-out and swap-in, and how long faults take, 1 to 16 CPUs
                                                                    (throughput.json)
  table6      8 CPUs of which 0, 1, 2, 4, 6 have full areas             (table6.json)

On two quiet cores: instr 3 min, locks more than 60 min, throughput 25 min, table6 8 min (kernels
that must be built first not counted). It can be stopped at any time: what was measured
is kept below BUILD, and the same command goes on from there, unless the kernels changed.
--report writes files and pictures from what is there.

The guest runs under emulation with QEMU's instruction clock (-icount, one host thread) in
all parts but `locks` at 2 CPUs: an instruction of any of its CPUs, which take turns, is
1 ns of the guest's clock in `instr`, and 16 ns elsewhere (then a turn is at most 250,000
instructions long, and CPUs meet inside locks). So a busy host changes nothing; parallel
speed-up is not to be seen; what is compared is the work that a page costs all CPUs,
waiting included. `locks` at 2 CPUs uses two host threads, for true concurrency.
Ends with 0 if every guest ended well and every page was right, else 1; 2: could not run.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import stages  # noqa: E402

COLUMNS = {
    "base": dict(prefix="base-", append="", how="striped"),
    # the base kernel, with its other LRU
    "mglru": dict(prefix="base-", append="", how="striped", mglru=True),
    "off": dict(prefix="", append="scaleswap=off", how="striped"),
    # LRU shards alone: no area has a home
    "lru": dict(prefix="", append="scaleswap=lru", how="striped"),
    "on": dict(prefix="", append="scaleswap=on", how="percore", evict=True),
    # the same with the other LRU
    "on-mglru": dict(prefix="", append="scaleswap=on", how="percore", mglru=True, evict=True),
    # and all but shards
    "on-less-lru": dict(prefix="", append="scaleswap=core,fault", how="percore"),
    "core-mglru": dict(prefix="", append="scaleswap=core,fault", how="percore", mglru=True),
    # areas with a home alone: without and with bios of several pages; asked for by --set columns
    "core1": dict(prefix="", append="scaleswap=core", how="percore", bio_pages=1),
    "core": dict(prefix="", append="scaleswap=core", how="percore"),
    # what the file PEER or PEER=DIR names; asked for by --set columns, too
    "peer": dict(prefix="peer-", append="", how="striped"),
}
TITLES = dict(b.TITLES, mglru="base kernel, MGLRU", core1="scaleswap=core, a bio a page", core="scaleswap=core",
              peer="peer kernel", **{"on-mglru": "scaleswap=on, MGLRU", "on-less-lru": "scaleswap=core,fault",
                                     "core-mglru": "scaleswap=core,fault, MGLRU"})
THREE = ["base", "off", "on"]
LAYERS = ["base", "python"]
STORE = f"{b.BUILD}/results/scale"
RESULTS = f"{b.ROOT}/bench/results"
# idle time passes at once (sleep=off), and nothing random comes from the host
ICOUNT = "-icount shift={shift},sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"
APPEND = "nokaslr norandmaps kunit.enable=0"
# with ICOUNT the kernel's clock has 1 GHz; to measure that and to wait for CPUs to start,
# it would spin for long, and each PAUSE costs QEMU a microsecond
APPEND_ICOUNT = " lpj=4000000 cpu_init_udelay=0"

PARTS = {
    # config: the kernels are base-CONFIG and CONFIG. total_mb: of all areas together
    "instr": dict(config="test", cpus=[1], columns=[*THREE, "mglru"], rounds=2, mem=768, shift=0,
                  device="null", total_mb=160, pages=16384, plugin=True),
    # In the order of what counts most, since two true CPUs take long on a busy host. Only
    # there are times worth something, and they scatter.
    "locks": dict(config="lockstat", cpus=[16, 8, 4, 2, 64],
                  columns=["base", "mglru", "off", "lru", "on", "on-mglru"], rounds=1, mem=1280,
                  shift=4, device="null", total_mb=336, pages=24576, max_mb=48, passes=4, timeout=1500,
                  at={2: dict(rounds=5, columns=["base", "lru", "on"]),
                      64: dict(mem=4096, total_mb=768, shift=None,
                               columns=["base", "mglru", "lru", "on", "on-mglru"])}),
    "throughput": dict(config="test", cpus=[1, 2, 4, 8, 16], columns=THREE, rounds=5, mem=1024,
                       shift=4, device="null", total_mb=256, pages=16384, max_mb=32, page_cluster=3),
    "table6": dict(config="test", cpus=[8], columns=["on"], rounds=5, mem=1280, shift=4, device="null",
                   total_mb=384, pages=16384, max_mb=32, page_cluster=3, full=[0, 1, 2, 4, 6], passes=2),
}
QUICK = {
    "instr": dict(rounds=1, pages=4096, total_mb=40),
    "locks": dict(cpus=[2, 8], rounds=1, at={}, pages=8192, max_mb=16, total_mb=128, passes=2),
    "throughput": dict(rounds=1, cpus=[1, 4], pages=8192, max_mb=16, total_mb=128),
    "table6": dict(rounds=1, full=[0, 4, 6], pages=8192, max_mb=16, total_mb=192, passes=1),
}


# of a whole part, on two quiet cores, with kernels that are there
MINUTES = {"instr": 3, "locks": 60, "throughput": 25, "table6": 8}


def say(text):
    b.say(time.strftime("%H:%M:%S ", time.gmtime()) + text)


def setting(p, cpus):
    """The settings of a part for this number of CPUs."""
    return {**{k: v for k, v in p.items() if k != "at"}, **p.get("at", {}).get(cpus, {})}


# --- what is needed -------------------------------------------------------------------

def prepare(work, parts, no_build, columns=None):
    """Kernels, root, workloads; {kernel: what it is}. Without `columns`, those of this module, which others set."""
    columns = columns or COLUMNS
    names = sorted({columns[c]["prefix"] + p["config"] for p in parts.values() for c in p["columns"]})
    if not no_build:
        b.step("deps.sh")
        b.step("tree.py")
        if any(name.startswith("peer-") for name in names):
            b.step("peer.sh")
        for name in names:
            b.step("kernel.sh", name)
    b.step("initramfs.sh", *LAYERS)
    kernels = {}
    for name in names:
        out = f"{b.BUILD}/out/{name}"
        image = f"{out}/arch/x86/boot/bzImage"
        if not os.path.exists(image):
            b.die(f"{image} is missing; run without --no-build")
        shutil.copy(image, f"{work}/{name}")
        shutil.copy(f"{out}/System.map", f"{work}/{name}.map")
        with open(image, "rb") as f:
            kernels[name] = {"sha256": hashlib.sha256(f.read()).hexdigest(),
                             "built": datetime.datetime.fromtimestamp(
                                 os.stat(image).st_mtime, datetime.timezone.utc).isoformat(timespec="seconds")}
    with open(f"{work}/root.cpio", "wb") as root:
        for layer in LAYERS:
            with open(f"{b.BUILD}/initramfs/{layer}.cpio", "rb") as f:
                shutil.copyfileobj(f, root)
            root.write(b"\0" * (-root.tell() % 512))
    here = f"{b.ROOT}/bench/load"
    for command in (["-static", "-pthread", "-o", f"{work}/swapload", f"{here}/swapload.c"],
                    ["-shared", "-fPIC", "-fvisibility=hidden", "-o", f"{work}/insncount.so", f"{here}/insncount.c"]):
        if subprocess.run(["gcc", "-O2", *command]).returncode:
            b.die(f"{command[-1]} does not compile")
    return kernels


# --- instructions by function ---------------------------------------------------------

# Where slots are allocated, counted, cached and freed; names as in mm/. What reclaim,
# the swap cache and I/O do is not in it: see PAUSES.
ENTRIES = """folio_alloc_swap swap_duplicate swap_free_nr put_swap_folio swapcache_prepare
swapcache_clear __swap_count swap_swapcount swp_swapcount swap_shmem_alloc free_swap_and_cache_nr
folio_free_swap get_swap_device get_swap_pages free_swap_slot swapcache_free_entries swp_swap_info
swap_cgroup_record swap_cgroup_cmpxchg lookup_swap_cgroup_id add_swap_count_continuation""".split()
# not what belongs to the LRU
OURS = re.compile(r"(__)?(ssw|scaleswap)_(?!test|cache_|cached|lru|shrink|shadow|shard|targets|inactive|scan_|next_lruvec|swapin|read|fault|reap|poll|submit|hand|retry|write|bio_batch|charge|can_batch|io_)")
# the folio's way out of the swap cache, and pages that are reclaimed to get at their slots
PAUSES = """delete_from_swap_cache __delete_from_swap_cache __try_to_reclaim_swap
folio_unlock folio_mark_dirty folio_lock""".split()


def function_map(system_map, path):
    """What insncount.so wants to know of a kernel."""
    seen = {}
    with open(system_map) as f:
        for line in f:
            addr, kind, name = line.split()
            if kind not in "tTwW":
                continue
            plain = name.split(".")[0]
            if plain in ENTRIES or OURS.match(plain):
                kind = "E"
            elif plain in PAUSES:
                kind = "P"
            elif re.match(r"asm_(sysvec|exc|common_interrupt|spurious)", plain):
                kind = "I"
            elif plain == "__schedule":
                kind = "S"
            else:
                kind = "F"
            # more names for one address: the one that means something counts
            if kind != "F" or int(addr, 16) not in seen:
                seen[int(addr, 16)] = kind, name
    with open(path, "w") as f:
        for addr in sorted(seen):
            kind, name = seen[addr]
            f.write("%x %s%s %s\n" % (addr, kind, "+" if stages.stage_of(name) else "", name))
    return {name.split(".")[0] for kind, name in seen.values() if kind == "E"}


def read_counts(path):
    """{window: {"all": n, "self": {function: n}, "entries": {function: [calls, n, dropped, n]},
    "inside": {function: n}, "stage": {root: {function: n}}}}; root "-" is none"""
    out = {}
    with open(path) as f:
        lines = f.read().split("\n")
    if "end" not in lines:
        raise ValueError(f"{path} is not complete")
    for line in lines:
        word, *rest = line.split() or [""]
        if word not in ("all", "self", "inside", "entry", "stage"):
            continue
        w = out.setdefault(rest[0], {"all": 0, "self": {}, "inside": {}, "entries": {}, "stage": {}})
        if word == "all":
            w["all"] = int(rest[1])
        elif word in ("self", "inside"):
            w[word][rest[2]] = w[word].get(rest[2], 0) + int(rest[1])
        elif word == "stage":
            of = w["stage"].setdefault(rest[2], {})
            of[rest[3]] = of.get(rest[3], 0) + int(rest[1])
        else:
            w["entries"][rest[5]] = [int(v) for v in rest[1:5]]
    return out


# --- one guest ------------------------------------------------------------------------

def measure(work, p, part, column, cpus, nr, log):
    """Boot a guest; its result, or {"error": why}. `guest` and `what` of a part: another script, and its part."""
    c = COLUMNS[column]
    p = setting(p, cpus)
    kernel = c["prefix"] + p["config"]
    multi = part == "locks" and cpus == 2
    icount = p["shift"] is not None and not multi
    nvme = p["device"] == "nvme" or multi and p.get("nvme_at_2")
    options = {k: v for k, v in p.items() if k not in ("config", "columns", "rounds", "mem", "shift", "plugin")}
    options["area_mb"] = p["total_mb"] // cpus
    options.update(part=p.get("what", part), how=c["how"], mglru=c.get("mglru", False), bio_pages=c.get("bio_pages"),
                   evict=c.get("evict", False), seed=nr + 1, device="nvme" if nvme else p["device"])
    command = [f"{b.ROOT}/scripts/guest/boot.py", "--kernel", f"{work}/{kernel}", "--cpus", str(cpus),
               "--mem", str(p["mem"]), "--initramfs", f"{work}/root.cpio",
               "--add", f"{work}/swapload:/ssw/swapload", "--add", f"{b.ROOT}/bench/guest/demo.py:/ssw/demo.py",
               "--timeout", str(p.get("timeout", 900)), "--accel", "tcg",
               "--thread", "multi" if multi else "single", "--log", log,
               "--append", f"{APPEND}{APPEND_ICOUNT if icount else ''} {c['append']}".strip()]
    if nvme:
        command += ["--nvme", str(cpus), "--nvme-size", str(options["area_mb"] + 8)]
    if icount:
        command += ["--qemu", ICOUNT.format(shift=p["shift"])]
    counts = f"{work}/{column}.counts"
    if p.get("plugin"):
        function_map(f"{work}/{kernel}.map", f"{work}/{kernel}.functions")
        command += ["--qemu", f"-plugin {work}/insncount.so,map={work}/{kernel}.functions,out={counts}"]
    if "qemu" in p:
        command += ["--qemu", p["qemu"]]
    if "guest" in p:
        command += ["--add", f"{b.ROOT}/bench/guest/scale.py:/ssw/scale.py"]
    command += [f"{b.ROOT}/bench/guest/{p.get('guest', 'scale.py')}", json.dumps(options)]
    result = run_guest(command, log)
    if "error" in result:
        return result
    if p.get("plugin"):
        result["counts"] = read_counts(counts)
    result["accel"] += f",icount shift={p['shift']}" if icount else ""
    result.update(drives="QEMU NVMe" if nvme else "null_blk, in memory", kernel_name=kernel)
    return result


def run_guest(command, log):
    """scripts/guest/boot.py with a script that prints "result " and JSON: that, or {"error": why}."""
    start = time.monotonic()
    boot = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace")
    said, result, cpu = [], None, {}
    drain = threading.Thread(target=lambda: said.extend(boot.stderr), daemon=True)
    drain.start()
    try:
        for line in boot.stdout:
            word = line.split(" ", 1)[0].strip()
            if word in ("begin", "end"):
                cpu[word] = b.qemu_cpu_seconds(boot.pid)
            elif word == "result":
                result = json.loads(line.split(" ", 1)[1])
        status = boot.wait()
    finally:
        # also on Ctrl-C: QEMU dies with it
        if boot.poll() is None:
            boot.terminate()
            boot.wait()
    drain.join(5)
    if status or not result:
        why = {97: "kernel splat", 98: "time-out", 99: "the guest ended without a report"}
        print("".join(said[-40:]), file=sys.stderr, flush=True)
        return {"error": why.get(status, f"status {status}"), "log": log, "said": said[-40:]}
    if None not in (cpu.get("begin"), cpu.get("end")):
        result["host_cpu_seconds"] = round(cpu["end"] - cpu["begin"], 2)
    accel = re.search(r"accel (\S+)", "".join(said))
    result.update(accel=accel[1] if accel else "?", host_seconds=round(time.monotonic() - start, 1),
                  load_average=os.getloadavg()[0])
    return result


# --- many guests, and what is left of an earlier run -------------------------------------

class Store:
    """Results of one part, as lines of JSON, by what was measured how."""

    def __init__(self, part, fresh):
        self.path = f"{STORE}/{part}.jsonl"
        os.makedirs(STORE, exist_ok=True)
        self.rows = []
        if fresh and os.path.exists(self.path):
            os.rename(self.path, self.path + ".old")
        try:
            with open(self.path) as f:
                for line in f:
                    try:
                        self.rows.append(json.loads(line))
                    except ValueError:
                        pass    # the last line of a run that was killed
        except OSError:
            pass

    def get(self, key):
        """The newest result that is one."""
        return next((r for r in reversed(self.rows) if r["key"] == key and "error" not in r["result"]), None)

    def add(self, key, result):
        row = {"key": key, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "repository": b.output_of("git", "describe", "--always", "--dirty"),
               "command": " ".join([f"bench/{b.ME}.py", *sys.argv[1:]]), "result": result}
        self.rows.append(row)
        with open(self.path, "a") as f:
            f.write(json.dumps(row) + "\n")


def key_of(p, part, column, cpus, nr, kernels):
    what = {k: v for k, v in setting(p, cpus).items() if k not in ("rounds", "columns", "cpus", "timeout")}
    return {"part": part, "column": column, "cpus": cpus, "round": nr, "how": what,
            "kernel": kernels[COLUMNS[column]["prefix"] + p["config"]]["sha256"]}


def plan(p):
    """What is to be measured, in order: kernels turn from round to round."""
    for nr in range(max(setting(p, cpus)["rounds"] for cpus in p["cpus"])):
        for cpus in p["cpus"]:
            here = setting(p, cpus)
            if nr < here["rounds"]:
                n = nr % len(here["columns"])
                for column in here["columns"][n:] + here["columns"][:n]:
                    yield column, cpus, nr


def last_measured(p, part, kernels, store):
    """For --report: what counts are the kernels of the newest results, not those in BUILD."""
    for column in p["columns"]:
        name = COLUMNS[column]["prefix"] + p["config"]
        for row in reversed(store.rows):
            k = row["key"]
            if (k["column"] == column and "error" not in row["result"] and
                    k["how"] == key_of(p, part, column, k["cpus"], 0, kernels)["how"]):
                if k["kernel"] != kernels[name]["sha256"]:
                    kernels[name] = {"sha256": k["kernel"]}
                break


def run_part(work, part, p, kernels, store):
    """Measure what is missing. Returns False if something went wrong."""
    todo = [(c, n, r) for c, n, r in plan(p) if not store.get(key_of(p, part, c, n, r, kernels))]
    whole = dict(PARTS[part])
    share = len(todo) / max(1, len(list(plan(whole)))) * p["pages"] / whole["pages"]
    say(f"{part}: {len(todo)} guests to boot, {len(list(plan(p))) - len(todo)} are there already; about "
        f"{max(1, round(share * MINUTES[part]))} min on two quiet cores")
    fine = True
    for i, (column, cpus, nr) in enumerate(todo):
        log = f"{b.BUILD}/logs/scale-{part}-{column}-{cpus}.console"
        os.makedirs(os.path.dirname(log), exist_ok=True)
        r = measure(work, p, part, column, cpus, nr, log)
        store.add(key_of(p, part, column, cpus, nr, kernels), r)
        fine = fine and "error" not in r
        say(f"{part} {i + 1}/{len(todo)}: round {nr + 1}, {cpus} CPUs, {TITLES[column]}: " +
            (f"FAILED: {r['error']}; console in {log}" if "error" in r else
             f"{r['host_seconds']:.0f} s ({r.get('host_cpu_seconds') or 0:.0f} s of host CPU), {brief(part, r)}"))
    return fine


def brief(part, r):
    if part == "locks":
        return f"{r['pages']} pages; " + ", ".join(
            f"{k} {v['acquisitions']}/{v['contentions']}" for k, v in r["locks"].items()
            if k in ("si->lock", "swap_avail_lock", "swap_cgroup", "cluster", "lru_lock"))
    if part == "instr":
        return ", ".join(f"{k} {v:,.0f}" for k, v in instr_of(r).items() if v)
    if part == "throughput":
        v = values_of(r)
        return ", ".join(f"{k} {v[k]:,.0f}" for k in ("swap_out_pages_s", "swap_in_pages_s", "fault_avg_ns"))
    return ", ".join(f"{l['full']} full {rate(l['phases'][1]):,.0f}/s" for l in r["levels"])


def run_missing(work, part, p, kernels, store, measure, brief):
    """The same for another benchmark, with its own way to measure. Returns False if something went wrong."""
    todo = [(c, n, r) for c, n, r in plan(p) if not store.get(key_of(p, part, c, n, r, kernels))]
    say(f"{part}: {len(todo)} guests to boot, {len(list(plan(p))) - len(todo)} are there already")
    fine = True
    for i, (column, cpus, nr) in enumerate(todo):
        log = f"{b.BUILD}/logs/{b.ME}-{part}-{column}-{cpus}.console"
        os.makedirs(os.path.dirname(log), exist_ok=True)
        r = measure(work, p, part, column, cpus, nr, log)
        store.add(key_of(p, part, column, cpus, nr, kernels), r)
        fine = fine and "error" not in r
        say(f"{part} {i + 1}/{len(todo)}: round {nr + 1}, {cpus} CPUs, {column}: " +
            (f"FAILED: {r['error']}; console in {log}" if "error" in r else f"{r['host_seconds']:.0f} s, {brief(part, r)}"))
    return fine


# --- results --------------------------------------------------------------------------

def rate(phase):
    """Pages in and out a second of the guest."""
    return (phase["pages_in"] + phase["pages_out"]) * 1e9 / phase["ns"]


def values_of(r):
    """The numbers of one throughput run."""
    ph = {p["name"]: p for p in r["phases"]}
    out = {
        "swap_out_pages_s": ph["swap_out"]["pages_out"] * 1e9 / ph["swap_out"]["ns"],
        "swap_in_pages_s": ph["swap_in"]["pages_in"] * 1e9 / ph["swap_in"]["ns"],
        "both_pages_s": rate(ph["both"]),
    }
    # a fault that brings a page in and must put another one out, as in a system under load
    for k in ("avg", "p50", "p99", "p999", "max"):
        out[f"fault_{k}_ns"] = ph["both"][f"fault_{k}_ns"]
    return out


def instr_of(r):
    """Instructions a page of one run, by the clock and by the counter."""
    w = r["counts"]
    phase = {p["window"]: p for p in r["phases"] if p["window"]}
    pages = {n: p["pages_out"] or p["pages_in"] for n, p in phase.items()}
    slots = lambda n: sum(v[1] for v in w[str(n)]["entries"].values()) / pages[n]
    return {
        "swap_out": phase[1]["ns"] / pages[1], "swap_in": phase[2]["ns"] / pages[2],
        "alloc_free": slots(1) + slots(2), "alloc_free_out": slots(1), "alloc_free_in": slots(2),
        "swap_in_clean": phase[6]["ns"] / pages[6],
        "swap_out_2nd": phase[3]["ns"] / pages[3], "swap_in_2nd": phase[4]["ns"] / pages[4],
        "alloc_free_2nd": slots(3) + slots(4),
        "counter_out": w["1"]["all"] / pages[1], "counter_in": w["2"]["all"] / pages[2],
        "dropped_calls": sum(v[2] for n in "12" for v in w[n]["entries"].values()),
    }


def spread(values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def collect(part, p, kernels, store):
    """[(column, cpus, round, row)] of what is there."""
    out = []
    for column, cpus, nr in plan(p):
        row = store.get(key_of(p, part, column, cpus, nr, kernels))
        if row:
            out.append((column, cpus, nr, row))
    return out


def meta(part, p, kernels, rows):
    """Command, kernels, date, conditions."""
    used = {COLUMNS[c]["prefix"] + p["config"] for c, _, _, _ in rows}
    info = {}
    for name in sorted(used):
        r = next(row["result"] for c, _, _, row in rows if COLUMNS[c]["prefix"] + p["config"] == name)
        info[name] = dict(kernels[name], release=r["release"], version=r["version"])
    return {
        "format": 1, "part": part,
        "date": max(row["date"] for *_, row in rows), "begun": min(row["date"] for *_, row in rows),
        # of the measuring, which may have been some runs of it; not of a later --report
        "command": sorted({row.get("command", f"bench/{b.ME}.py --part {part}") for *_, row in rows}),
        "repository": sorted({row["repository"] for *_, row in rows}),
        "kernels": info, "columns": {c: COLUMNS[c] for c in p["columns"]},
        "how": {k: v for k, v in p.items()},
        "accel": sorted({f"{n} CPUs: {row['result']['accel']}, {row['result']['drives']}"
                         for _, n, _, row in rows}),
        "host": {"cpus": os.cpu_count(), "kernel": os.uname().release,
                 "qemu": b.output_of("qemu-system-x86_64", "--version").split("\n")[0]},
    }


def write_json(name, rec, lines):
    """Readable: the keys in `lines` get one line an element."""
    short = dict(rec)
    for key in lines:
        short[key] = [f"@{key}.{i}" for i in range(len(rec[key]))]
    text = json.dumps(short, indent=1, ensure_ascii=False)
    for key in lines:
        for i, v in enumerate(rec[key]):
            text = text.replace(f'"@{key}.{i}"', json.dumps(v, ensure_ascii=False), 1)
    path = f"{OUT}/{name}"
    os.makedirs(OUT, exist_ok=True)
    with open(path + ".new", "w") as f:
        f.write(text + "\n")
    os.rename(path + ".new", path)
    say(f"wrote {os.path.relpath(path)}")


FAULTS = ("pgfault", "pgmajfault", "workingset_refault_anon")


def table5(runs):
    """Where CPUs truly run at the same time: how much of their time they wait for locks."""
    out = []
    for kernel in COLUMNS:
        mine = [r for r in runs if r["kernel"] == kernel and "thread=multi" in r["accel"] and r["all_wait_us"] is not None]
        if not mine:
            continue
        share = lambda r, us: 100 * us / (r["seconds"] * 1e6 * r["cpus"])
        wait = {"lru_lock": lambda r: r["locks"]["lru_lock"]["wait_us"],
                "si_lock": lambda r: r["locks"]["si->lock"]["wait_us"], "all locks": lambda r: r["all_wait_us"]}
        wait["other locks"] = lambda r: r["all_wait_us"] - wait["lru_lock"](r) - wait["si_lock"](r)
        out.append({"kernel": kernel, "cpus": mine[0]["cpus"], "percent": {
            k: spread([share(r, us(r)) for r in mine]) for k, us in wait.items()}})
    return out


def lru_lock(runs):
    """Its contentions for a million pages swapped, and how long that was, beside the base's."""
    out = []
    for cpus in sorted({r["cpus"] for r in runs}):
        rate = {}
        for kernel in COLUMNS:
            mine = [r for r in runs if r["kernel"] == kernel and r["cpus"] == cpus]
            pages = sum(r["pages"] for r in mine)
            if pages:
                rate[kernel] = [sum(r["locks"]["lru_lock"][k] for r in mine) * 1e6 / pages
                                for k in ("contentions", "wait_us")]
        for kernel, (n, us) in rate.items():
            base = rate.get("base", [0, 0])
            out.append({"cpus": cpus, "kernel": kernel, "contentions": round(n, 1), "wait_us": round(us),
                        "over_base": n / base[0] if base[0] else None,
                        "wait_over_base": us / base[1] if base[1] else None})
    return out


def fault_counts(runs):
    """Faults for the same accesses, beside the base's of the same round."""
    out = []
    for cpus in sorted({r["cpus"] for r in runs}):
        base = {r["round"]: r["faults"] for r in runs if r["kernel"] == "base" and r["cpus"] == cpus}
        for kernel in COLUMNS:
            mine = [r for r in runs if r["kernel"] == kernel and r["cpus"] == cpus and r["round"] in base]
            if mine and kernel != "base":
                out.append({"cpus": cpus, "kernel": kernel, "over_base": {
                    k: spread([r["faults"][k] / base[r["round"]][k] for r in mine if base[r["round"]][k]])
                    for k in FAULTS if any(base[r["round"]][k] for r in mine)}})
    return out


def locks_record(m, runs):
    """What locks.json is to have, by its runs."""
    runs = sorted(runs, key=lambda r: (r["cpus"], r["round"]))
    return {"meta": m, "table5": table5(runs), "lru_lock": lru_lock(runs), "faults": fault_counts(runs), "runs": runs}


def result_locks(p, kernels, rows, m):
    runs = []
    for column, cpus, nr, row in rows:
        r = row["result"]
        runs.append({"kernel": column, "commit": row["repository"], "cpus": cpus, "pages": r["pages"], "round": nr, "locks": r["locks"],
                     "pages_out": r["pages_out"], "pages_in": r["pages_in"], "seconds": r["seconds"],
                     "faults": {k: r["vmstat"].get(k, 0) for k in FAULTS}, "all_wait_us": r.get("all_wait_us"),
                     "accel": r["accel"], "drives": r["drives"], "workload": r["workload"],
                     "verified": r["verified"], "wrong": r["wrong"], "date": row["date"],
                     "control": r["control"], "counters": r["counters"], "areas": r["areas"],
                     "most_contended": r["most_contended"], "swap_after": r["swap_after"]})
    m["notes"] = [
        "acquisitions and contentions as /proc/lock_stat counts them from when all processes have begun until all are "
        "done, without their start and end; "
        "areas are on before, off after; as many as CPUs, but on the base kernel 23 at most, its limit",
        "control: acquisitions of the same classes while pages of a plain area were swapped out just before, in the "
        "same boot; it shows that a 0 is one",
        "wait_us is of the emulated clock; where CPUs take turns it says how long the holder had to wait for its turn",
        "table5: what lock_stat counts as waiting, of the time of all CPUs, in % of it; only where CPUs run at the same "
        "time (two, on the host's two); locks that put the waiter to sleep are among `other locks`",
        "lru_lock: contentions and microseconds for a million pages swapped; ratios of these to the base kernel's",
        "faults: for the same accesses in the same order, in ratios to the base kernel's run of the same round"]
    rec = locks_record(m, runs)
    write_json("locks.json", rec, [k for k in rec if k != "meta"])
    for l in rec["table5"]:
        print(f"{l['kernel']:6} {l['cpus']} CPUs, share of their time: " + ", ".join(
            f"{k} {v['median']:.2f} % [{v['min']:.2f}–{v['max']:.2f}]" for k, v in l["percent"].items()))
    for l in rec["lru_lock"]:
        print(f"{l['kernel']:6} {l['cpus']:2} CPUs, lru_lock for a million pages: {l['contentions']:,.0f} contentions" +
              (f", {l['over_base']:.4f} of the base's, wait {l['wait_over_base']:.4f}" if l["over_base"] is not None else ""))
    for l in rec["faults"]:
        print(f"{l['kernel']:6} {l['cpus']:2} CPUs, faults over the base's: " + ", ".join(
            f"{k} {v['median']:.3f} [{v['min']:.3f}–{v['max']:.3f}]" for k, v in l["over_base"].items()))
    print(f"\n{'acquisitions / contentions':28}" + "".join(f"{c:>22}" for c in COLUMNS))
    for cpus in sorted(p["cpus"]):
        at = {c: [r for r in runs if r["cpus"] == cpus and r["kernel"] == c] for c in COLUMNS}
        print(f"{cpus} CPUs, pages" .ljust(28) + "".join(
            f"{at[c][-1]['pages'] if at[c] else '-':>22}" for c in COLUMNS))
        for lock in dict.fromkeys(k for rs in at.values() for r in rs for k in r["locks"]):
            cells = []
            for c in COLUMNS:
                v = [r["locks"].get(lock) for r in at[c] if lock in r["locks"]]
                cells.append(f"{v[-1]['acquisitions']:,} / {v[-1]['contentions']:,}" if v else "-")
            print(f"  {lock:26}" + "".join(f"{x:>22}" for x in cells))


def stages_of(counts, pages, name):
    """Instructions a page of one window by stage, and by function in each stage."""
    found = {}
    for root, functions in counts["stage"].items():
        stage = found.setdefault(stages.NONE if root == "-" else stages.stage_of(root), {})
        for function, n in functions.items():
            stage[function.split(".")[0]] = stage.get(function.split(".")[0], 0) + n / pages
    found[stages.USER] = {"(user)": counts["self"].get("(user)", 0) / pages}
    return {"what": name, "pages": pages,
            "a_page": {k: round(sum(found[k].values()), 1) for k in stages.SHOWN if k in found},
            "functions_a_page": {k: {f: round(n, 2) for f, n in sorted(found[k].items(), key=lambda x: -x[1]) if n >= 0.5}
                                 for k in stages.SHOWN if k in found}}


def result_instr(p, kernels, rows, m):
    runs = [dict(kernel=c, round=nr, date=row["date"], **instr_of(row["result"])) for c, _, nr, row in rows]
    for r in runs:
        # the peer has other entry points
        if r["kernel"] == "peer":
            r.update({k: None for k in r if k.startswith("alloc_free")})
    rec = {"meta": m}
    for key in ("swap_out", "swap_in", "swap_in_clean", "alloc_free"):
        rec[key] = {c: round(statistics.median(r[key] for r in runs if r["kernel"] == c), 1)
                    for c in COLUMNS if any(r["kernel"] == c and r[key] is not None for r in runs)}
    entries, functions, by_stage = [], [], []
    for column in p["columns"]:
        r = next((row["result"] for c, _, _, row in rows if c == column), None)
        if not r:
            continue
        for w in ("1", "2", "6"):
            phase = next(x for x in r["phases"] if str(x["window"]) == w)
            pages = phase["pages_out"] or phase["pages_in"]
            per = lambda n: round(n / pages, 2)
            found = r["counts"][w]
            entries.append({"kernel": column, "what": phase["name"], "pages": pages,
                            "calls_and_instructions_a_page": {k: [per(v[0]), per(v[1])] for k, v in sorted(
                                found["entries"].items(), key=lambda x: -x[1][1])}})
            functions.append({"kernel": column, "what": phase["name"], **{f"{kind}_a_page": {
                k: per(v) for k, v in sorted(found[kind].items(), key=lambda x: -x[1])[:60]}
                for kind in ("inside", "self")}})
            if found["stage"]:
                by_stage.append({"kernel": column, **stages_of(found, pages, phase["name"])})
    m["notes"] = [
        "guest nanoseconds under -icount shift=0, one CPU: one is one instruction. swap_out: memory.reclaim of dirty "
        "anonymous pages, with all that reclaim and the block layer (null_blk) do; swap_in: a write fault a page, "
        "page-cluster 0, which frees the slot; the workload's own check of the page is in it, alike for all",
        "alloc_free: instructions inside the entry points in `entries`, from entry to return with what they call, without "
        "interrupts, and without the folio's way out of the swap cache; both windows added, so that a slot goes from "
        "allocation to its end on the free list; by a QEMU plugin (bench/load/insncount.c) that counts translated blocks",
        "stages: a function's instructions count for the stage of the innermost function of bench/stages.py that called it; "
        "swap_in_clean: a read fault a page, which keeps the slot",
        "with held_mb, another process holds so much of the swap space, so that it is more than half full all the time: "
        "then every kernel frees the slot when a page comes in"]
    rec.update(runs=runs, entries=entries, functions=functions, stages=by_stage)
    write_json("instructions.json", rec, ["runs", "entries", "functions", "stages"])
    print()
    for key in ("swap_out", "swap_in", "swap_in_clean", "alloc_free"):
        base = rec[key].get("base")
        print(f"{key:12}" + "".join(f"  {c} {v:10,.1f}" + (f" ({v / base:.3f})" if base else "")
                                    for c, v in rec[key].items()))
    spreads = [abs(a[k] - x[k]) / x[k] for a in runs for x in runs if a["kernel"] == x["kernel"]
               for k in ("swap_out", "swap_in", "alloc_free") if x[k]]
    print(f"boots of one kernel differ by at most {100 * max(spreads):.2f} %")


def result_throughput(p, kernels, rows, m):
    at = {}
    for column, cpus, nr, row in rows:
        at.setdefault((cpus, nr), {})[column] = row
    pairs = []
    for (cpus, nr), found in sorted(at.items()):
        pair = {"cpus": cpus, "round": nr}
        for c, row in found.items():
            pair[c] = {k: round(v) for k, v in values_of(row["result"]).items()}
            pair[c].update(date=row["date"], host_cpu_seconds=row["result"].get("host_cpu_seconds"))
        pairs.append(pair)
    summary = []
    for cpus in p["cpus"]:
        mine = [x for x in pairs if x["cpus"] == cpus]
        for key in values_of(rows[0][3]["result"]):
            line = {"cpus": cpus, "what": key}
            for c in p["columns"]:
                line[c] = spread([x[c][key] for x in mine if c in x])
            for over in [c for c in p["columns"] if c != "base"]:
                line[f"{over}/base"] = spread([x[over][key] / x["base"][key] for x in mine
                                               if over in x and "base" in x and x["base"][key]])
            summary.append(line)
    runs = [{"kernel": c, "cpus": n, "round": nr, "date": row["date"],
             **{k: row["result"][k] for k in ("phases", "checked", "counters", "accel", "host_seconds")}}
            for c, n, nr, row in rows]
    m["notes"] = [
        "swap_out: first touch of all pages under a memory limit of half of them; swap_in: reading them again in order "
        "while memory holds clean ones, so that nothing is written; both: check and rewrite in random order",
        "pages a second of the guest's clock, on which all CPUs' instructions add up (they take turns): so a kernel that "
        "does the same with half the instructions, spinning included, has twice the throughput; parallel speed-up is "
        "not to be seen",
        "fault latency: time stamp counter before and after the access in phase `both`, read by the workload; the slowest F "
        "accesses are the faults, F by getrusage; includes the turns of other CPUs, which is most of p99 and above "
        "with more than one CPU",
        "rounds differ in the seed of the random order; kernels of a round have the same seed"]
    write_json("throughput.json", {"meta": m, "pairs": pairs, "summary": summary, "runs": runs},
               ["pairs", "summary", "runs"])
    print()
    cell = lambda s, f: (f"{f.format(s['median'])} [{f.format(s['min'])}–{f.format(s['max'])}]" if s else "-")
    for line in summary:
        if line["what"] in ("fault_p50_ns", "fault_max_ns"):
            continue
        print(f"{line['cpus']:3} CPUs {line['what']:17}" + "".join(
            f"  {c} {cell(line[c], '{:,.0f}')}" for c in p["columns"]) +
            "".join(f"  {k} {cell(line[k], '{:.3f}')}" for k in line if k.endswith("/base")))


def result_table6(p, kernels, rows, m):
    runs, levels = [], []
    for _, cpus, nr, row in rows:
        first = None
        for i, l in enumerate(row["result"]["levels"]):
            mix = l["phases"][1]
            first = first or rate(mix)
            t = l["traced"] or {}
            c = l["counters"]
            runs.append({
                "round": nr, "areas": l["areas"], "full": l["full"], "again": bool(i and not l["full"]),
                "pages_s": round(rate(mix)), "kept": round(rate(mix) / first, 4),
                "pages_out": l["pages_out"], "pages_in": l["pages_in"],
                "deleg_allocs": c.get("stats/deleg_allocs", 0), "deleg_frees": c.get("stats/deleg_frees", 0),
                "fault_avg_ns": mix["fault_avg_ns"], "fault_p999_ns": mix["fault_p999_ns"],
                "deleg_avg_ns": t.get("avg_ns"), "deleg_p50_ns": t.get("p50_ns"), "deleg_p99_ns": t.get("p99_ns"),
                "deleg_p999_ns": t.get("p999_ns"), "deleg_max_ns": t.get("max_ns"), "deleg_traced": t.get("n"),
                "deleg_by": t.get("by"), "trace_lost": t.get("lost"), "counters": c, "filled": l["filled"],
                "used_before": l["used_before"], "date": row["date"]})
    for full in dict.fromkeys(r["full"] for r in runs):
        mine = [r for r in runs if r["full"] == full and not r["again"]]
        levels.append({"full": full, "percent": 100 * full / runs[0]["areas"], **{
            k: spread([r[k] for r in mine]) for k in ("kept", "pages_s", "deleg_allocs", "deleg_avg_ns", "deleg_p50_ns", "deleg_p999_ns",
                                                      "fault_avg_ns", "fault_p999_ns", "pages_out")}})
    m["notes"] = [
        "full: a process on the area's own CPU has paged out until the area had no free slot, and stays so; "
        "then 8 workers, one a CPU, with room for all they swap in the areas that are left",
        "kept: pages a second in and out while checking and rewriting in random order, relative to none full in the same boot; "
        "`again` is none full at the end of the boot: what changes on its own account",
        "delegation time: tracepoint scaleswap:scaleswap_delegate (enqueue to done), in a pass of its own after the measured one; "
        "the clock runs while other CPUs have their turn",
        "deleg_allocs: stats/deleg_allocs during the measured pass"]
    write_json("table6.json", {"meta": m, "levels": levels, "runs": runs}, ["levels", "runs"])
    print()
    show = lambda s, f="{:,.0f}": f"{f.format(s['median'])} [{f.format(s['min'])}–{f.format(s['max'])}]" if s else "-"
    for l in levels:
        print(f"{l['percent']:5.1f} % full: kept {show(l['kept'], '{:.3f}')}, {show(l['deleg_allocs'])} delegated, "
              f"on average {show(l['deleg_avg_ns'])} ns, p99.9 {show(l['deleg_p999_ns'])} ns")
    again = [r["kept"] for r in runs if r["again"]]
    if again:
        print(f"none full again: kept {show(spread(again), '{:.3f}')}")


def main():
    global OUT
    ap = argparse.ArgumentParser(prog="bench/scale.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", action="append", choices=list(PARTS), help="only this one (can be repeated)")
    ap.add_argument("--rounds", type=int, metavar="N", help="instead of " + ", ".join(
        f"{p['rounds']} ({k})" for k, p in PARTS.items()))
    ap.add_argument("--cpus", metavar="N,N…", help="only these CPU counts (locks, throughput)")
    ap.add_argument("--quick", action="store_true",
                    help="small and once, to see that all works; results go below BUILD")
    ap.add_argument("--no-build", action="store_true", help="take the kernels that are there")
    ap.add_argument("--fresh", action="store_true", help="measure anew what was measured before")
    ap.add_argument("--report", action="store_true", help="boot nothing; files and pictures from what is there")
    ap.add_argument("--out", metavar="DIR", help="instead of bench/results")
    ap.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="another value of a part's setting")
    o = ap.parse_args()
    signal.signal(signal.SIGTERM, lambda n, _: sys.exit(128 + n))
    OUT = os.path.abspath(o.out or (f"{STORE}/quick" if o.quick else RESULTS))
    parts = {}
    for name in o.part or PARTS:
        p = dict(PARTS[name], **(QUICK[name] if o.quick else {}))
        for s in o.set:
            k, _, v = s.partition("=")
            p[k] = json.loads(v)
        if o.rounds:
            p["rounds"] = o.rounds
            p["at"] = {n: {k: v for k, v in here.items() if k != "rounds"} for n, here in p.get("at", {}).items()}
        if o.cpus and name in ("locks", "throughput"):
            p["cpus"] = [int(n) for n in o.cpus.split(",")]
        parts[name] = p
    fine = True
    with b.Workplace() as work:
        kernels = prepare(work, parts, o.no_build or o.report)
        for name, p in parts.items():
            store = Store(name, o.fresh and not o.report)
            if o.report:
                last_measured(p, name, kernels, store)
            try:
                if not o.report:
                    fine = run_part(work, name, p, kernels, store) and fine
            finally:
                # also when it is stopped
                rows = collect(name, p, kernels, store)
                if rows:
                    globals()["result_" + name](p, kernels, rows, meta(name, p, kernels, rows))
                else:
                    say(f"{name}: nothing has been measured with these kernels")
    draw(OUT)
    return 0 if fine else 1


def draw(where, *names):
    # Debian's package is for Debian's python3, which need not be the first in PATH
    plot = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plot.py")
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
            if subprocess.run([python, plot, where, *names]).returncode:
                b.die("bench/plot.py failed")
            return
    b.say("NOTICE: no pictures, since matplotlib is missing (Debian package python3-matplotlib)")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
