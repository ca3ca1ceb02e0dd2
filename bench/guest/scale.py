#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of bench/scale.py that runs in the guest.

  scale.py OPTIONS     (JSON; see PARTS at the end)

Prints "result " and one line of JSON. What swapload prints goes into it.
"""
import ctypes
import glob
import json
import math
import mmap
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, "/ssw")
import demo as g  # noqa: E402

LOAD = "/ssw/swapload"
GROUP = "/sys/fs/cgroup/w"
FILLERS = "/sys/fs/cgroup/fill"
NULLB = "/sys/kernel/config/nullb"
TRACE = "/sys/kernel/tracing"
SAVED = "/lock_stat"
BIND = "/proc/sys/vm/scaleswap/bind"
# the base kernel has no more types than that
PLAIN_AREAS = 23
MCL_CURRENT = 1
HELD_PAGES = 256

# name in locks.json -> (class, None: all classes of this name are the lock;
# or how often a page takes it at least in the calibration)
LOCKS = {
    "si->lock": ("&p->lock", 1 / 128),
    "swap_avail_lock": ("swap_avail_lock", None),
    "swap_cgroup": ("&ctrl->lock", 1 / 2),
    "swap_cache": ("&xa->xa_lock", 1),
    "lru_lock": ("&lruvec->lru_lock", None),
    "zone->lock": ("&zone->lock", None),
    "cluster": ("&cluster_info[i].lock", 1 / 2),
    "ptl": ("ptlock_ptr(ptdesc)", None),
    "slot_cache_alloc": ("&cache->alloc_lock", None),
    "slot_cache_free": ("&cache->free_lock", None),
}


def write(path, text):
    try:
        with open(path, "w") as f:
            f.write(str(text))
    except OSError as e:
        g.fail(f"cannot write {text!r} to {path}: {e.strerror}")


def cpus():
    return os.cpu_count()


# --- areas --------------------------------------------------------------------------

def null_drives(n, size_mb, irqmode=1, completion_ns=None, depth=128, max_sectors=None):
    out = []
    for i in range(n):
        d = f"{NULLB}/nullb{i}"
        os.makedirs(d, exist_ok=True)
        for name, value in (("size", size_mb), ("blocksize", 4096), ("memory_backed", 1),
                            ("queue_mode", 2), ("irqmode", irqmode), ("completion_nsec", completion_ns), ("max_sectors", max_sectors),
                            ("submit_queues", cpus()), ("hw_queue_depth", depth), ("power", 1)):
            if value is not None:
                write(f"{d}/{name}", value)
        out.append(f"/dev/nullb{i}")
        # null_blk allocates at the first write: once for all here, or it is measured
        g.run("dd", "if=/dev/zero", f"of={out[-1]}", "bs=1M", "oflag=direct", f"count={size_mb}")
    return out


def drives(o):
    """Block devices for swap, formatted; one a CPU."""
    if o["device"] == "nvme":
        devs = sorted(glob.glob("/dev/nvme*n1"), key=lambda d: int(re.sub(r"\D", "", d[:-1])))
    else:
        devs = null_drives(cpus(), o["area_mb"])
    if len(devs) != cpus():
        g.fail(f"{len(devs)} drives for {cpus()} CPUs")
    for d in devs:
        g.run("mkswap", d)
    return devs


def areas_on(o, devs):
    if o["how"] == "percore":
        for cpu, d in enumerate(devs):
            write(BIND, cpu)
            g.run("/sbin/swapon", "-p", "10", d)
        write(BIND, "off")
        homes = sorted(a["cpu"] for a in g.areas().values())
        if homes != list(range(cpus())):
            g.fail(f"the areas' homes are {homes}, not one a CPU")
    else:
        for d in devs if os.path.exists(g.SYS) else devs[:PLAIN_AREAS]:
            g.run("/sbin/swapon", "-p", "10", d)


def areas_off():
    g.run("/sbin/swapoff", "-a")
    with open("/proc/meminfo") as f:
        info = dict(re.findall(r"^(Swap\w+):\s+(\d+)", f.read(), re.M))
    return {k: int(v) for k, v in info.items()}


def make_group(path, max_mb=None):
    os.makedirs(path, exist_ok=True)
    if max_mb:
        write(f"{path}/memory.max", int(max_mb * (1 << 20)))


def into(path):
    """What a child does first: join the group."""
    def join():
        with open(f"{path}/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
    return join


def counters():
    out = g.counters()
    for name in ("lru/returned", "lru/foreign", "lru/allocated", "evict/freed", "evict/given", "evict/waits"):
        path = f"{g.SYS}/{name}"
        if os.path.exists(path):
            out[name] = int(g.read(path))
    for d in glob.glob(f"{g.SYS}/areas/*"):
        for name in ("tables", "table_bytes"):
            if os.path.exists(f"{d}/{name}"):
                out[name] = out.get(name, 0) + int(g.read(f"{d}/{name}"))
    return out


def area_delta(before):
    out = {}
    for t, a in g.areas().items():
        b = before.get(t, {})
        out[t] = dict(a, allocs_home=a["allocs_home"] - b.get("allocs_home", 0),
                      allocs_foreign=a["allocs_foreign"] - b.get("allocs_foreign", 0))
    return out


def load(o, seed, phases, group=GROUP, workers="--procs", more=()):
    """Run swapload; its phases, and what it checked. Fails on a wrong page."""
    n = o.get("tasks", cpus())
    command = [LOAD, workers, str(n), "--pages", str(o["pages"] // n),
               "--seed", str(seed), "--cgroup", group, *more, *phases]
    r = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=into(group))
    lines = [l.split(" ", 1) for l in r.stdout.splitlines()]
    checked = [json.loads(t) for w, t in lines if w == "checked"]
    if r.returncode or not checked:
        g.fail(f"{' '.join(command)}: status {r.returncode}, {r.stdout[-400:]}")
    return {"command": " ".join(command), "phases": [json.loads(t) for w, t in lines if w == "phase"],
            "checked": checked[0]}


# --- lock_stat ------------------------------------------------------------------------

def calibrate(dev):
    """{name: class}, found by what a plain area takes; and how often that was."""
    g.lock_reset()
    for _ in range(g.SEQ_READS):
        g.read("/proc/self/mounts")
    seq_file = g.most_taken(g.lock_stat()[0], "&p->lock", g.SEQ_READS)
    g.lock_reset()
    g.run("/sbin/swapon", dev)
    area, paged_out = g.page_out_some()
    locks, works = g.lock_stat()
    area.close()
    g.run("/sbin/swapoff", dev)
    if paged_out < g.CALIBRATE_PAGES * 3 // 4 or not works:
        g.fail(f"only {paged_out} of {g.CALIBRATE_PAGES} pages were swapped out on demand, "
               f"or lock_stat does not work")
    names = {}
    for key, (base, per_page) in LOCKS.items():
        if per_page is not None:
            names[key] = g.most_taken(locks, base, paged_out * per_page, but=(seq_file,))
    control = {k: v["acquisitions"] for k, v in pick(locks, names).items()}
    return names, dict(control, pages=paged_out)


def pick(locks, names):
    """The locks of locks.json. An absent class was never taken: 0."""
    out = {}
    for key, (base, per_page) in LOCKS.items():
        if per_page is None:
            found = [v for k, v in locks.items() if g.same_base(k, base)]
        else:
            found = [locks[names[key]]] if names[key] in locks else []
        out[key] = {"acquisitions": sum(v[1] for v in found), "contentions": sum(v[0] for v in found),
                    "wait_us": round(sum(v[3] for v in found), 1)}
    # zswap has a tree for each area, which a slot's end looks into even when zswap is off
    found = [v for k, v in locks.items() if g.same_base(k, "&xa->xa_lock") and k != names["swap_cache"]]
    out["other_xa_lock"] = {"acquisitions": sum(v[1] for v in found), "contentions": sum(v[0] for v in found),
                            "wait_us": round(sum(v[3] for v in found), 1)}
    # whatever of our own has a name; seqcounts are no locks, but lock_stat lists them
    for k, v in locks.items():
        if re.search(r"ssw|scaleswap", k) and not k.endswith("->seq"):
            out[k] = {"acquisitions": v[1], "contentions": v[0], "wait_us": round(v[3], 1)}
    return out


def part_locks(o):
    devs = drives(o)
    names, control = calibrate(devs[0])
    areas_on(o, devs)
    make_group(GROUP, o["max_mb"])
    # fills the slot caches, clusters and tables once: a system that has run for a while
    workers = o.get("workers", "--procs")
    warm = load(o, o["seed"] + 1000, ["fill", "mix"], workers=workers)
    before = g.vmstat(), g.areas(), counters()
    start = time.monotonic()
    # Not their start: as many processes lock the same pages of libc then, in the same order, which
    # is much of what there is of lru_lock's contentions where swap itself causes few.
    run = load(o, o["seed"], ["fill", f"mix:{o['passes']}"], workers=workers, more=["--lock-stat", SAVED])
    seconds = time.monotonic() - start
    locks, works = g.lock_stat(SAVED)
    if not works:
        g.fail("lock_stat ended itself meanwhile")
    moved = g.delta(g.vmstat(), before[0])
    result = {
        "pages": moved["pswpout"] + moved["pswpin"], "pages_out": moved["pswpout"], "pages_in": moved["pswpin"],
        "seconds": round(seconds, 3), "workload": run["command"], "verified": run["checked"]["verified"],
        "wrong": run["checked"]["wrong"], "warmed_up": warm["checked"]["verified"],
        "vmstat": {k: v for k, v in moved.items() if v and k.startswith(
            ("pswp", "swp", "pgsteal", "pgscan", "pgmaj", "pgfault", "allocstall", "swap_ra", "workingset", "zsw", "nr_tlb"))},
        "locks": pick(locks, names), "all_wait_us": round(sum(v[3] for v in locks.values()), 1), "classes": names, "control": control,
        "most_contended": [[k, v[1], v[0], v[2][:12]] for k, v in
                           sorted(locks.items(), key=lambda x: -x[1][0])[:16]],
        "areas": area_delta(before[1]),
        "counters": {k: v for k, v in g.delta(counters(), before[2]).items() if v},
    }
    result["swap_after"] = areas_off()
    return result


# --- throughput -----------------------------------------------------------------------

def part_throughput(o):
    areas_on(o, drives(o))
    make_group(GROUP, o["max_mb"])
    write("/proc/sys/vm/page-cluster", o["page_cluster"])
    before = g.areas(), counters()
    # twice the same, and only the second counts: then slot caches, tables and clusters
    # are as in a system that has run for a while
    warm = load(o, o["seed"] + 1000, ["fill", "mix"])
    run = load(o, o["seed"], ["fill=swap_out", "read=settle", "read=swap_in", "mix=both"])
    result = dict(run, warm_up=warm["phases"], areas=area_delta(before[0]),
                  counters={k: v for k, v in g.delta(counters(), before[1]).items() if v})
    result["swap_after"] = areas_off()
    return result


# --- parallel time --------------------------------------------------------------------

class Held:
    """Memory that is locked, so that less is left for the load."""

    def __init__(self, libc, size):
        self.libc, self.maps, self.pages = libc, [], 0
        # this program itself is not to be swapped, as if it were memory to be had
        libc.mlockall(MCL_CURRENT)
        self.add(size)

    def add(self, pages):
        """Lock more pages; give some back if it is below 0."""
        while pages < 0 and self.maps:
            pages += len(self.maps.pop()) // g.PAGE
        while pages > 0:
            n = min(pages, HELD_PAGES)
            held = mmap.mmap(-1, n * g.PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            at = ctypes.addressof(ctypes.c_char.from_buffer(held))
            if self.libc.mlock(ctypes.c_void_p(at), ctypes.c_size_t(n * g.PAGE)):
                g.fail(f"mlock: {os.strerror(ctypes.get_errno())}")
            self.maps.append(held)
            pages -= n
        self.pages = sum(len(m) for m in self.maps) // g.PAGE


def hold_all_but(mb):
    with open("/proc/meminfo") as f:
        available = int(re.search(r"^MemAvailable:\s+(\d+)", f.read(), re.M)[1])
    size = available // 4 - math.ceil(mb * 256)
    if size <= 0:
        g.fail(f"only {available >> 10} MB are available, and {mb} MB are to be left")
    return Held(ctypes.CDLL(None, use_errno=True), size)


def part_parallel(o):
    # a group that is too small for the load is to end the guest, not to look for a victim for ever
    write("/proc/self/oom_score_adj", 0)
    n = cpus() if o["how"] == "percore" else min(cpus(), PLAIN_AREAS)
    devs = null_drives(n, -(-o["total_mb"] // n), irqmode=2 if o["device_us"] else 0,
                       completion_ns=o["device_us"] * 1000 or None, depth=o["depth"],
                       max_sectors=o.get("max_sectors"))
    for d in devs:
        g.run("mkswap", d)
    names, control = calibrate(devs[0]) if o["locks"] else (None, None)
    areas_on(o, devs)
    write("/proc/sys/vm/page-cluster", 0)
    if "watermark_scale_factor" in o:
        write("/proc/sys/vm/watermark_scale_factor", o["watermark_scale_factor"])
    more, held = [], None
    if o["load"] == "apart":
        make_group(GROUP)
        write(f"{GROUP}/cgroup.subtree_control", "+memory")
        os.makedirs(f"{GROUP}/start")
        for nr in range(cpus()):
            make_group(f"{GROUP}/{nr}", (o["max_mb"] + o["own_mb"]) / cpus())
        more = ["--cgroup-each", GROUP]
    elif o["load"] == "global":
        make_group(GROUP)
        held = hold_all_but(o["max_mb"] + o["own_mb"])
    else:
        make_group(GROUP, o["max_mb"] + o["own_mb"])
    workers = "--threads" if o["load"] == "threads" else "--procs"
    group = f"{GROUP}/start" if o["load"] == "apart" else GROUP
    before = g.areas(), counters()
    # slot caches, tables and clusters as in a system that has run for a while
    warm = load(o, o["seed"] + 1000, ["fill"], group, workers, more)
    if held:
        # what else a kernel could free is its own affair: half of the pages are to be in memory
        held.add(o["pages"] - int(o["max_mb"] * 256) - warm["phases"][0]["pages_out"])
    # Reclaim flushes statistics, for each batch of pages, if the last flush of all groups is over
    # 4 s ago. Usually a kworker does it every 2 s, but its timer does not wake an idle CPU, and
    # guests idle before this: some were late and others not. And after some steps without a flush
    # reclaim sees no inactive pages any more, and kernels kill (experiments/oom-stress). So each
    # step begins with a flush of all groups.
    more += ["--read-before", "/sys/fs/cgroup/memory.stat"]
    at_start = g.vmstat()
    if o["locks"]:
        more += ["--lock-stat", SAVED]
    result = load(o, o["seed"], o["phases"], group, workers, more)
    if o["locks"]:
        locks, works = g.lock_stat(SAVED)
        if not works:
            g.fail("lock_stat ended itself meanwhile")
        result.update(locks=pick(locks, names), control=control, all_wait_us=round(sum(v[3] for v in locks.values()), 1),
                      most_waited=[[k, v[1], v[0], round(v[3], 1), v[2][:12]] for k, v in sorted(locks.items(), key=lambda x: -x[1][3])[:24]])
    moved = g.delta(g.vmstat(), at_start)
    result.update(warm_up=warm["phases"], held_pages=held.pages if held else 0,
                  areas={"n": len(devs), "foreign": sum(a["allocs_foreign"] for a in area_delta(before[0]).values())},
                  vmstat={k: v for k, v in moved.items() if v and k.startswith(
                      ("pswp", "pgsteal", "pgscan", "pgmaj", "pgfault", "allocstall", "workingset", "oom"))},
                  counters={k: v for k, v in g.delta(counters(), before[1]).items() if v})
    return result


# --- instructions ---------------------------------------------------------------------

def hold(mb):
    """Swap out so much of a process that does nothing; its pid. Of swap that is more than half
    full, every kernel frees a page's slot when the page comes in."""
    make_group(FILLERS)
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        into(FILLERS)()
        pages = mmap.mmap(-1, mb << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, mb << 20, 4096):
            pages[at] = 1
        os.write(tell, b"!")
        while True:
            signal.pause()
    os.read(told, 1)
    try:
        with open(f"{FILLERS}/memory.reclaim", "w") as f:
            f.write(f"{mb}M")
    except OSError:
        pass    # what Python itself has is less easily had
    if int(g.read(f"{FILLERS}/memory.swap.current")) < (mb << 20) * 95 // 100:
        g.fail(f"less than {mb} MB could be swapped out")
    return pid


def part_instr(o):
    areas_on(o, drives(o))
    holder = hold(o["held_mb"]) if o.get("held_mb") else None
    make_group(GROUP)
    # one page a fault: the number has a plain meaning then
    write("/proc/sys/vm/page-cluster", 0)
    # Two rounds of it before the first window. Windows 1 and 2 are the result; 3 and 4
    # repeat them, to see that the system does not drift; 5 and 6 are for pages that stay
    # clean when they come in, so that their slots are kept.
    result = load(o, o["seed"], ["fill", "out", "rewrite", "out", "rewrite",
                                 "out@1=swap_out", "rewrite@2=swap_in",
                                 "out@3=swap_out", "rewrite@4=swap_in",
                                 "out@5=swap_out", "read@6=swap_in_clean"])
    if holder:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    result["counters"] = {k: v for k, v in counters().items() if v}
    result["swap_after"] = areas_off()
    return result


# --- areas that are full ----------------------------------------------------------------

def delegations(seed, o):
    """One pass with the tracepoint on: how long each delegated allocation took, in ns."""
    event = f"{TRACE}/events/scaleswap/scaleswap_delegate"
    if not os.path.isdir(event):
        return None
    write(f"{TRACE}/buffer_size_kb", 4096)
    write(f"{TRACE}/trace", "")
    write(f"{event}/enable", 1)
    run = load(o, seed, ["fill", "mix"])
    write(f"{event}/enable", 0)
    times, by = [], {}
    with open(f"{TRACE}/trace") as f:
        for line in f:
            m = re.search(r"scaleswap_delegate:.*\bby=(\w+).*\bns=(\d+)", line)
            if m:
                times.append(int(m[2]))
                by[m[1]] = by.get(m[1], 0) + 1
    lost = sum(int(n) for path in glob.glob(f"{TRACE}/per_cpu/cpu*/stats")
               for n in re.findall(r"^(?:overrun|dropped events): (\d+)", g.read(path), re.M))
    times.sort()
    rank = lambda q: times[min(len(times) - 1, int(len(times) * q))] if times else None
    return {"n": len(times), "by": by, "lost": lost, "phases": run["phases"],
            "avg_ns": sum(times) / len(times) if times else None, "p50_ns": rank(0.5),
            "p99_ns": rank(0.99), "p999_ns": rank(0.999), "max_ns": times[-1] if times else None}


def fill(o, cpu):
    """Fill the area of `cpu` by a process on that CPU, which keeps it full."""
    area = next(d for d in glob.glob(f"{g.SYS}/areas/*") if int(g.read(f"{d}/cpu")) == cpu)
    p = subprocess.Popen([LOAD, "--cpu", str(cpu), "--fill-area", area], stdout=subprocess.PIPE,
                         text=True, preexec_fn=into(FILLERS))
    line = p.stdout.readline()
    if not line.startswith("filled "):
        g.fail(f"the area of CPU {cpu} could not be filled")
    return p, json.loads(line.split(" ", 1)[1])


def fullness():
    return {g.read(f"{d}/cpu").strip(): [int(g.read(f"{d}/used")), int(g.read(f"{d}/pages"))]
            for d in glob.glob(f"{g.SYS}/areas/*")}


def part_table6(o):
    areas_on(o, drives(o))
    make_group(GROUP, o["max_mb"])
    make_group(FILLERS)
    write("/proc/sys/vm/page-cluster", o["page_cluster"])
    fillers, levels = {}, []
    load(o, o["seed"] + 1000, ["fill", "mix"])
    # the last one is none full again: what has changed meanwhile on its own account
    for n in [*o["full"], 0]:
        if n < len(fillers):
            for p, _ in fillers.values():
                p.kill()
                p.wait()
            fillers = {}
        # every second core first, for the full ones to have neighbours with room
        for cpu in [*range(0, cpus(), 2), *range(1, cpus(), 2)][:n]:
            if cpu not in fillers:
                fillers[cpu] = fill(o, cpu)
        try:
            # what they paged out may still be in memory, too
            with open(f"{FILLERS}/memory.reclaim", "w") as f:
                f.write("1G")
        except OSError:
            pass    # there was less than that
        at_start = fullness()
        before = g.areas(), counters(), g.vmstat()
        run = load(o, o["seed"], ["fill", f"mix:{o['passes']}@{len(levels) + 1}"])
        moved = g.delta(g.vmstat(), before[2])
        level = {"full": n, "areas": cpus(), "used_before": at_start, "phases": run["phases"],
                 "checked": run["checked"], "pages_out": moved["pswpout"], "pages_in": moved["pswpin"],
                 "area_allocs": area_delta(before[0]),
                 "counters": {k: v for k, v in g.delta(counters(), before[1]).items() if v},
                 "filled": {c: f for c, (_, f) in fillers.items()}}
        level["traced"] = delegations(o["seed"] + 2000, o)
        levels.append(level)
        print(f"{n} full done", file=sys.stderr, flush=True)
    for p, _ in fillers.values():
        p.kill()
        p.wait()
    return {"levels": levels, "command": run["command"], "swap_after": areas_off()}


PARTS = {"locks": part_locks, "throughput": part_throughput, "instr": part_instr, "table6": part_table6,
         "parallel": part_parallel}


def evictors(o):
    """Have as many evictors as CPUs, if they are to be there; they idle unless they are needed. Where tasks leave
    CPUs spare, one on each of these."""
    if o.get("evict"):
        where = "/sys/kernel/mm/scaleswap/evict"
        tasks = o.get("tasks", 0)
        write(f"{where}/threads", str(min(64, cpus() - tasks)))
        if tasks:
            write(f"{where}/cpus", f"{tasks}-{cpus() - 1}")
        # emulated CPUs take turns: a flush is acknowledged when each has had one
        write(f"{where}/wait_ms", "10000")
        if o.get("circulate"):
            write(f"{where}/circulate", "1")


def main():
    o = json.loads(sys.argv[1])
    write("/proc/self/oom_score_adj", "-1000")
    zswap = "/sys/module/zswap/parameters/enabled"
    # writing even an N would set zswap up
    if os.path.exists(zswap) and open(zswap).read().strip() == "Y":
        write(zswap, "N")
    lru_gen = "/sys/kernel/mm/lru_gen/enabled"
    if o.get("mglru"):
        write(lru_gen, "y")
    elif os.path.exists(lru_gen) and g.read(lru_gen).strip() != "0x0000":
        g.fail("MGLRU is on")
    if o.get("bio_pages"):
        write("/sys/kernel/mm/scaleswap/io/bio_pages", str(o["bio_pages"]))
    evictors(o)
    print("begin", flush=True)
    result = PARTS[o["part"]](o)
    print("end", flush=True)
    u = os.uname()
    result.update(release=u.release, version=u.version, guest_cpus=cpus())
    print("result " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
