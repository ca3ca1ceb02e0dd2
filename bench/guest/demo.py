#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of the demo and the benchmarks that runs in the guest; see bench/lib.py.

  demo.py percore|striped SIZE-MB FACTOR [STAMP-OPTION...]

Makes an ext4 on each NVMe drive and a swap file of SIZE MB on each: set up by the tool,
one a core (percore), or by plain swapon at one priority, so that the kernel stripes over
them (striped). Then runs the stamped workload with FACTOR times the guest's memory and
prints what the kernel counted meanwhile, as one line of JSON after "result ". The lines
"begin" and "end" tell the host when the measured window opens and closes.
"""
import glob
import json
import mmap
import os
import re
import subprocess
import sys
import time

STAMP = "/ssw/stamp"
SYS = "/sys/kernel/mm/scaleswap"
LOCK_STAT = "/proc/lock_stat"
MADV_PAGEOUT = 21
PAGE = 4096
SEQ_READS = 300
CALIBRATE_PAGES = 2048


def fail(text):
    print(f"guest: ERROR: {text}", file=sys.stderr, flush=True)
    sys.exit(2)


def read(path):
    with open(path) as f:
        return f.read()


def run(*command):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        fail(f"{' '.join(command)}: status {r.returncode}: {r.stdout.strip()}")
    return r.stdout


def vmstat():
    return {k: int(v) for k, v in (line.split() for line in read("/proc/vmstat").splitlines())}


def parameter():
    """The word scaleswap=... that this kernel was booted with, or nothing."""
    return " ".join(w for w in read("/proc/cmdline").split() if w.startswith("scaleswap="))


def mem_total_kb():
    return int(re.search(r"^MemTotal:\s+(\d+)", read("/proc/meminfo"), re.M)[1])


# --- lock_stat --------------------------------------------------------------------

def lock_reset():
    with open(LOCK_STAT, "w") as f:
        f.write("0")


def lock_stat(path=LOCK_STAT):
    """{name: [contentions, acquisitions, [places that waited], us waited]}, and whether it
    still counts.

    Lines of one name are added up: the read and the write side of a lock, and classes
    from the tenth of a name on, whose number the kernel cuts off.
    """
    text = read(path)
    locks = {}
    name = None
    for line in text.splitlines():
        # a class: the name, then ten numbers with two digits or none after the point
        m = re.match(r"\s*(\S.*?):\s+(\d+)\s+(\d+)((?:\s+[\d.]+){4})\s+(\d+)\s+(\d+)(?:\s+[\d.]+){4}$", line)
        if m:
            name = re.sub(r"-[WR]$", "", m[1])
            lock = locks.setdefault(name, [0, 0, [], 0.0])
            lock[0] += int(m[3])
            lock[1] += int(m[6])
            # of the four in between: shortest, longest, in all, on average
            lock[3] += float(m[4].split()[2])
            continue
        m = re.match(r"\s*(\S.*?)\s+(\d+)\s+\[<[^>]*>\] (\S+?)\+", line)
        if m and name:
            locks[name][2].append([m[3], int(m[2])])
    return locks, "lock debugging disabled" not in text


def same_base(name, base):
    return name == base or name.startswith(base + "#")


def most_taken(locks, base, at_least, but=()):
    """The class called `base`, whatever its number, with the most acquisitions."""
    found = [(v[1], k) for k, v in locks.items()
             if same_base(k, base) and k not in but and v[1] >= at_least]
    return max(found)[1] if found else None


def page_out_some():
    """Swap out CALIBRATE_PAGES pages of our own, and nothing else."""
    area = mmap.mmap(-1, CALIBRATE_PAGES * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(CALIBRATE_PAGES):
        area[i * PAGE:i * PAGE + 8] = i.to_bytes(8, "little")
    before = vmstat()["pswpout"]
    area.madvise(MADV_PAGEOUT)
    return area, vmstat()["pswpout"] - before


def plain_area(path, mb):
    with open(path, "wb") as f:
        os.posix_fallocate(f.fileno(), 0, mb << 20)
    os.chmod(path, 0o600)
    run("mkswap", path)
    run("swapon", path)


def calibrate(path):
    """Which class of lock_stat is which lock.

    Several locks of the kernel have one name: "&p->lock" is si->lock of a swap area and
    the mutex of a seq_file, "&xa->xa_lock" is in the swap cache, in the page cache and
    elsewhere. The kernel tells them apart by a number, given in the order of first use,
    which differs from boot to boot. So each is found by what takes it: SEQ_READS reads
    of a seq_file take the one, swapping CALIBRATE_PAGES pages out takes the others. To a
    plain area, which is made for it: per-core ones do not take all of them.
    """
    lock_reset()
    for _ in range(SEQ_READS):
        read("/proc/self/mounts")
    locks, _ = lock_stat()
    seq_file = most_taken(locks, "&p->lock", SEQ_READS)
    plain_area(path, 4 * CALIBRATE_PAGES * PAGE >> 20)
    lock_reset()
    area, paged_out = page_out_some()
    locks, _ = lock_stat()
    area.close()
    run("swapoff", path)
    os.unlink(path)
    if paged_out < CALIBRATE_PAGES * 3 // 4:
        fail(f"only {paged_out} of {CALIBRATE_PAGES} pages were swapped out on demand")
    return {
        "seq_file": seq_file,
        "paged_out": paged_out,
        "swap_avail_lock": "swap_avail_lock",
        # taken once a page, or once for the 64 slots of a CPU's cache
        "si_lock": most_taken(locks, "&p->lock", paged_out // 64 // 2, but=(seq_file,)),
        "cluster_lock": most_taken(locks, "&cluster_info[i].lock", paged_out // 2),
        "swap_cache": most_taken(locks, "&xa->xa_lock", paged_out),
        "swap_cgroup": most_taken(locks, "&ctrl->lock", paged_out // 2),
        "lru_lock": most_taken(locks, "&lruvec->lru_lock", 1),
        "zone_lock": most_taken(locks, "&zone->lock", 1),
    }


def control(path):
    """swap_avail_lock as lock_stat counts it while a plain area comes and goes: if this
    is 0, the 0 that is measured later means nothing."""
    lock_reset()
    plain_area(path, 4)
    run("swapoff", path)
    locks, _ = lock_stat()
    os.unlink(path)
    return locks.get("swap_avail_lock", [0, 0])[1]


# --- areas ------------------------------------------------------------------------

def drives():
    """The NVMe drives with an ext4 on each, as (name, directory)."""
    out = []
    for dev in sorted(glob.glob("/dev/nvme*n1"), key=lambda d: int(re.sub(r"\D", "", d[:-1]))):
        name = os.path.basename(dev)
        place = f"/mnt/{name}"
        os.makedirs(place, exist_ok=True)
        # nothing that goes on in the background: it would be measured too
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "nodiscard", dev)
        run("mount", "-t", "ext4", "-o", "noinit_itable", dev, place)
        out.append((name, place))
    return out


def setup(how, places, size_mb):
    """A swap file on each drive, switched on."""
    if how == "percore":
        text = run("scaleswap", "setup", "--per-core", "--dir", *places, "--size", f"{size_mb}M")
        print(text.rstrip(), file=sys.stderr, flush=True)
        return
    for i, place in enumerate(places):
        path = f"{place}/plain{i}.swap"
        with open(path, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, size_mb << 20)
        os.chmod(path, 0o600)
        run("mkswap", path)
        run("swapon", "-p", "10", path)


def areas():
    """Per-core areas as sysfs shows them, by type; none without ScaleSwap."""
    out = {}
    for d in glob.glob(f"{SYS}/areas/*"):
        out[os.path.basename(d)] = {n: int(read(f"{d}/{n}")) for n in
                                    ("cpu", "pages", "allocs_home", "allocs_foreign")}
    return out


def counters():
    out = {}
    for d in (f"{SYS}/stats", f"{SYS}/stats/fallback"):
        for path in sorted(glob.glob(f"{d}/*")):
            if os.path.isfile(path):
                out[os.path.relpath(path, SYS)] = int(read(path))
    return out


def written_pages(names):
    """Pages written to each drive so far."""
    return [int(read(f"/sys/block/{n}/stat").split()[6]) * 512 // PAGE for n in names]


def delta(after, before):
    return {k: after[k] - before.get(k, 0) for k in after}


# --- the measured window ----------------------------------------------------------

def main():
    how, size_mb, factor = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("-1000")
    if not os.path.exists(LOCK_STAT):
        fail("this kernel has no /proc/lock_stat")
    zswap = "/sys/module/zswap/parameters/enabled"
    # writing even an N would set zswap up
    if os.path.exists(zswap) and open(zswap).read().strip() == "Y":
        with open(zswap, "w") as f:
            f.write("N")

    disks = drives()
    avail_control = control(f"{disks[0][1]}/control.swap")
    calibration = calibrate(f"{disks[0][1]}/control.swap")
    setup(how, [place for _, place in disks], size_mb)
    swaps = read("/proc/swaps")
    # what the calibration leaves behind is not to be measured
    os.sync()
    time.sleep(0.5)

    memory = mem_total_kb()
    workload_mb = int(memory * factor / 1024) + 1
    cpus = os.cpu_count()
    command = [STAMP, "--size", str(workload_mb), "--procs", str(cpus), "--pin", *sys.argv[4:]]
    names = [name for name, _ in disks]

    before = vmstat(), areas(), counters(), written_pages(names)
    print("begin", flush=True)
    lock_reset()
    start = time.monotonic()
    stamp = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    locks, lock_stat_works = lock_stat()
    print("end", flush=True)
    after = vmstat(), areas(), counters(), written_pages(names)

    counts = dict(re.findall(r"^(\w+)=([\d.]+)$", stamp.stdout, re.M))
    named = {}
    for key, name in calibration.items():
        if key in ("seq_file", "paged_out"):
            continue
        contentions, acquisitions, places = locks.get(name, [0, 0, []])[:3] if name else [None, None, []]
        named[key] = {"class": name, "contentions": contentions, "acquisitions": acquisitions,
                      "places": places}
    top = sorted(locks.items(), key=lambda x: -x[1][1])[:40]
    moved = delta(after[0], before[0])
    result = {
        "kernel": os.uname().release, "parameter": parameter(), "how": how, "cpus": cpus, "drives": len(disks),
        "memory_kb": memory, "workload_mb": workload_mb, "file_mb": size_mb,
        "command": " ".join(command), "status": stamp.returncode,
        "stamp": {k: float(v) if "." in v else int(v) for k, v in counts.items()},
        "wrong_pages": re.findall(r"^wrong_page.*$", stamp.stdout, re.M)[:8],
        "seconds": round(seconds, 3),
        "pages_out": moved["pswpout"], "pages_in": moved["pswpin"],
        "vmstat": {k: v for k, v in moved.items() if v and k.startswith(
            ("pswp", "pgsteal", "pgscan", "pgmajfault", "allocstall", "swap_ra", "workingset"))},
        "written_pages": [a - b for a, b in zip(after[3], before[3])],
        "areas": {t: dict(a, allocs_home=a["allocs_home"] - before[1][t]["allocs_home"],
                          allocs_foreign=a["allocs_foreign"] - before[1][t]["allocs_foreign"])
                  for t, a in after[1].items()},
        "counters": {k: v for k, v in delta(after[2], before[2]).items() if v},
        "swap_avail_lock_control": avail_control, "lock_stat_works": lock_stat_works,
        "calibration": calibration, "locks": named,
        "locks_most_taken": {k: v[:2] for k, v in top}, "proc_swaps": swaps,
    }
    # After the window: what is left must come back from swap, too.
    if how == "percore":
        run("scaleswap", "teardown")
    else:
        run("swapoff", "-a")
    if read("/proc/swaps").count("\n") > 1:
        fail("areas are still on after teardown:\n" + read("/proc/swaps"))
    print("result " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
