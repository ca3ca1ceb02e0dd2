#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: groups at small limits, and groups that can't be reclaimed. See run.py.

  guest.py STAMP RUNS LRU     LRU: 0 for the classic lists, 7 for MGLRU
"""
import ctypes
import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import time

GROUP = "/sys/fs/cgroup/limits"
SMALL, LOCKED = 2 << 20, 8 << 20
PROT, FLAGS = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def numbers(name):
    with open(f"{GROUP}/{name}") as f:
        return {k: int(v) for k, v in (line.split() for line in f)}


def remove():
    """Remove the group, once what is left of it in the swap cache is reclaimed."""
    for _ in range(100):
        try:
            write(f"{GROUP}/memory.reclaim", "64M")
        except OSError:
            pass
        try:
            os.rmdir(GROUP)
            return
        except OSError:
            time.sleep(.1)
    sys.exit("limits: the group can't be removed")


def row(kind, **more):
    events, stat = numbers("memory.events"), numbers("memory.stat")
    print("row", json.dumps({"kind": kind, "kills": events["oom_kill"], "limit_met": events["max"],
                             "out_of_memory": events["oom"], "scanned": stat["pgscan"], "freed": stat["pgsteal"], **more}),
          flush=True)


def small(stamp):
    """8 processes on 8 CPUs, of 12 MB in all, in a group of 2 MB"""
    os.mkdir(GROUP)
    write(f"{GROUP}/memory.max", SMALL)
    end = subprocess.run(["/bin/bash", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', GROUP, stamp, "--quiet", "--pin",
                          "--procs", "8", "--size", "12", "--passes", "4", "--rewrite"], stdout=subprocess.DEVNULL)
    row("small", status=end.returncode)
    remove()


def locked():
    """A process that locks more memory than its group may have; how long it lives from then on"""
    libc = ctypes.CDLL(None, use_errno=True)
    os.mkdir(GROUP)
    write(f"{GROUP}/memory.max", LOCKED)
    begin_r, begin_w = os.pipe()
    pid = os.fork()
    if not pid:
        write(f"{GROUP}/cgroup.procs", os.getpid())
        # What is mapped from now on. The interpreter's own memory may be swapped.
        if libc.mlockall(2):
            os._exit(9)
        # Half of what it may have, which costs no reclaim.
        have = mmap.mmap(-1, LOCKED // 2, flags=FLAGS, prot=PROT)
        os.write(begin_w, b"x")
        more = mmap.mmap(-1, LOCKED, flags=FLAGS, prot=PROT)
        os._exit(0 if have and more else 8)
    os.close(begin_w)
    os.read(begin_r, 1)
    begun = time.monotonic()
    status = os.waitpid(pid, 0)[1]
    ms = round(1000 * (time.monotonic() - begun), 3)
    os.close(begin_r)
    row("locked", ms=ms, killed=os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    remove()


def main():
    stamp, runs, lru = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    try:
        write("/proc/sys/vm/scaleswap/bind", "auto")
    except OSError as e:
        # The base kernel; booted off
        if e.errno not in (errno.ENOENT, errno.EOPNOTSUPP):
            raise
    write("/sys/kernel/mm/lru_gen/enabled", lru)
    for i in range(8):
        drive = f"/dev/nvme{i}n1"
        subprocess.run(["mkswap", drive], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["/sbin/swapon", drive], check=True)
    for _ in range(runs):
        small(stamp)
    for _ in range(runs):
        locked()


main()
