#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: what turning an area off costs. See run.py.

  guest.py base | off | on
"""
import ctypes
import json
import mmap
import os
import signal
import sys
import time

NULLB = "/sys/kernel/config/nullb"
STATS = "/sys/kernel/mm/scaleswap/stats"
BIND = "/proc/sys/vm/scaleswap/bind"
GROUP = "/sys/fs/cgroup/swapoff"
# Pages in the area that is turned off, and those that others have in another one
OWN, OTHERS = (0, 1024, 4096), (0, 65536, 262144)
CHILDREN = 10
CHUNK = 16384
PAGE, PAGEOUT, PREFER = 4096, 21, 0x8000
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    if getattr(libc, name)(*args):
        e = ctypes.get_errno()
        sys.exit(f"swapoff: {name}: {os.strerror(e)}")


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def drive(name, mb):
    """A drive in memory, formatted; it has memory for what is written."""
    at = f"{NULLB}/{name}"
    os.mkdir(at)
    for key, value in (("size", mb), ("blocksize", PAGE), ("memory_backed", 1), ("queue_mode", 2), ("irqmode", 0), ("power", 1)):
        write(f"{at}/{key}", value)
    if os.system(f"mkswap /dev/{name} >/dev/null"):
        sys.exit("swapoff: mkswap")
    return f"/dev/{name}".encode()


def area_on(dev, priority):
    if sys.argv[1] == "on":
        write(BIND, 0)
    call("swapon", dev, PREFER | priority)


def counters():
    try:
        return {k: int(open(f"{STATS}/swapoff_{k}").read()) for k in ("noted", "stale", "scanned")}
    except OSError:
        return {}


def evict():
    """What was swapped out is in the swap cache no more."""
    for _ in range(20):
        with open(f"{GROUP}/memory.stat") as f:
            cached = next(int(line.split()[1]) for line in f if line.startswith("swapcached "))
        if not cached:
            return
        try:
            write(f"{GROUP}/memory.reclaim", cached)
        except OSError:
            # It has not found as much as that.
            pass


def process(pages, byte, children=0):
    """A process that has so many pages out, all of them of this byte; ends when it is killed."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        if os.read(r, 1) != b"y":
            sys.exit("swapoff: a process could not swap")
        os.close(r)
        evict()
        return pid
    write(f"{GROUP}/cgroup.procs", os.getpid())
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    # A page of each is touched before the next one is there, so that memory suffices.
    held = []
    for at in range(0, pages, CHUNK):
        n = min(CHUNK, pages - at)
        m = mmap.mmap(-1, n * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        where = ctypes.addressof(ctypes.c_char.from_buffer(m))
        libc.madvise(where, n * PAGE, mmap.MADV_NOHUGEPAGE)
        m[::PAGE] = bytes([byte]) * n
        libc.madvise(where, n * PAGE, PAGEOUT)
        held.append(m)
    for _ in range(children):
        if os.system("exit 0"):
            os._exit(1)
    os.write(w, b"y")
    signal.pause()
    os._exit(0)


def used(dev):
    with open("/proc/swaps") as f:
        for line in f:
            name, _, _, kb, _ = line.split()
            if name == dev.decode():
                return int(kb) * 1024 // PAGE
    return 0


def pages_read():
    with open("/proc/vmstat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("pswpin "))


def off(dev):
    """Nanoseconds of this task for it, with QEMU's instruction clock as many instructions"""
    before = time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)
    call("swapoff", dev)
    return time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) - before


def measure(dev, other, own, others, children=0):
    area_on(dev, 1)
    # The byte is none of a page of zeroes, which is not read from a device.
    pids = [process(own, 7, children)] if own else []
    in_area = used(dev)
    if others:
        area_on(other, 2)
        pids.append(process(others, 0))
    had, read = counters(), pages_read()
    instructions = off(dev)
    read = pages_read() - read
    row = {"own": own, "others": others, "children": children, "used": in_area, "others_used": used(other), "read": read, "instructions": instructions,
           **{k: v - had[k] for k, v in counters().items()}}
    print("row", json.dumps(row), flush=True)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if others:
        call("swapoff", other)


def main():
    os.system("mount -t configfs none /sys/kernel/config 2>/dev/null")
    os.mkdir(GROUP)
    dev, other = drive("ssw0", 64), drive("ssw1", 1200)
    measure(dev, other, OWN[1], 0)
    for own in OWN:
        measure(dev, other, own, 0)
    for others in OTHERS[1:]:
        measure(dev, other, OWN[1], others)
    measure(dev, other, OWN[1], 0, CHILDREN)


main()
