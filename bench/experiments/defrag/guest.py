#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: what moving slots gains, and what it costs. See run.py.

  guest.py COLUMN
"""
import ctypes
import json
import mmap
import os
import random
import sys
import time

NULLB = "/sys/kernel/config/nullb"
SYS = "/sys/kernel/mm/scaleswap"
BIND = "/proc/sys/vm/scaleswap/bind"
THP = "/sys/kernel/mm/transparent_hugepage"
GROUP = "/sys/fs/cgroup/defrag"
DEV = "ssw0"
# The area: clusters of 2 MiB, its first page the header
CLUSTERS, SLOTS = 256, 512
PAGES = CLUSTERS * SLOTS - 1
PROCESSES, PERCENT = 8, (2, 5, 10, 25)
# Pages that a process swaps out at a time, in turns with the others
TURN = 512
FOLIO, FOLIOS = 16, 1024
# Pages whose way out and in is measured
WAY = 8192
PAGE, PAGEOUT, DONTNEED, HUGE = 4096, 21, 4, 14
libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def call(name, *args):
    if getattr(libc, name)(*args):
        e = ctypes.get_errno()
        sys.exit(f"defrag: {name}: {os.strerror(e)}")


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def number(path):
    with open(path) as f:
        return int(f.read())


def drive(mb):
    """A drive in memory, formatted; it has memory for what is written."""
    at = f"{NULLB}/{DEV}"
    os.mkdir(at)
    for key, value in (("size", mb), ("blocksize", PAGE), ("max_sectors", 2048), ("memory_backed", 1), ("queue_mode", 2), ("irqmode", 0), ("power", 1)):
        write(f"{at}/{key}", value)
    if os.system(f"mkswap /dev/{DEV} >/dev/null"):
        sys.exit("defrag: mkswap")


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


class Memory:
    """Anonymous memory of this process, page by page"""

    def __init__(self, pages, huge=False):
        self.pages = pages
        self.map = mmap.mmap(-1, pages * PAGE + (1 << 21), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.skip = -at % (1 << 21) if huge else 0
        self.at = at + self.skip
        libc.madvise(self.at, pages * PAGE, HUGE if huge else mmap.MADV_NOHUGEPAGE)

    def fill(self, first, nr, byte=7):
        """The byte makes it no page of zeroes, which would not be written."""
        begin = self.skip + first * PAGE
        self.map[begin:begin + nr * PAGE:PAGE] = bytes([byte]) * nr

    def advise(self, first, nr, what):
        if libc.madvise(self.at + first * PAGE, nr * PAGE, what):
            sys.exit(f"defrag: madvise: {os.strerror(ctypes.get_errno())}")

    def keep(self, chosen):
        """Drop all pages but these, in order."""
        at = 0
        for page in [*chosen, self.pages]:
            if page > at:
                self.advise(at, page - at, DONTNEED)
            at = page + 1

    def entries(self):
        """By page, its slot, or None"""
        with open("/proc/self/pagemap", "rb", buffering=0) as f:
            raw = os.pread(f.fileno(), 8 * self.pages, self.at // PAGE * 8)
        for i in range(0, len(raw), 8):
            e = int.from_bytes(raw[i:i + 8], "little")
            # Bit 62: in swap; bits 5 to 51 the slot (54 in the base kernel, which has no more)
            yield e >> 5 & (1 << 47) - 1 if e >> 62 & 1 else None


class Process:
    """A process that does what it is told, one thing after the other"""

    def __init__(self, pages, zero):
        self.ask, mine = os.pipe()
        theirs, self.tell = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(mine)
            os.close(theirs)
            return
        os.close(self.ask)
        os.close(self.tell)
        write(f"{GROUP}/cgroup.procs", os.getpid())
        memory = Memory(pages)
        while True:
            line = b""
            while not line.endswith(b"\n"):
                line += os.read(theirs, 1)
            word, *args = line.decode().split()
            answer = getattr(self, "do_" + word)(memory, zero, *map(int, args))
            os.write(mine, json.dumps(answer).encode() + b"\n")

    def do_out(self, memory, zero, first, nr):
        memory.fill(first, nr, 0 if zero else 7)
        memory.advise(first, nr, PAGEOUT)

    def do_thin(self, memory, _zero, percent, seed):
        chosen = sorted(random.Random(seed).sample(range(memory.pages), memory.pages * percent // 100))
        memory.keep(chosen)
        return len(chosen)

    def do_slots(self, memory, _zero):
        return sorted(s for s in memory.entries() if s is not None)

    def do_end(self, _memory, _zero):
        os._exit(0)

    def send(self, *what):
        os.write(self.tell, (" ".join(map(str, what)) + "\n").encode())

    def answer(self):
        text = b""
        while not text.endswith(b"\n"):
            some = os.read(self.ask, 1 << 16)
            if not some:
                sys.exit("defrag: a process has ended")
            text += some
        return json.loads(text)

    def tell_and_wait(self, *what):
        self.send(*what)
        return self.answer()

    def end(self):
        self.send("end")
        os.waitpid(self.pid, 0)
        os.close(self.ask)
        os.close(self.tell)


def disk():
    """Requests and bytes written to the drive"""
    with open(f"/sys/block/{DEV}/stat") as f:
        n = f.read().split()
    return {"writes": int(n[4]), "bytes": int(n[6]) * 512}


def counters():
    names = ("moved", "moved_zero", "bytes_read", "bytes_written", "clusters_freed")
    return {name: number(f"{SYS}/defrag/{name}") for name in names}


def since(now, before):
    return {k: v - before[k] for k, v in now.items()}


def clusters(slots):
    """How many clusters no slot of these is in"""
    return CLUSTERS - len({s // SLOTS for s in slots})


def spent(what):
    """Nanoseconds of this task for it, with QEMU's instruction clock as many instructions"""
    before = time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)
    what()
    return time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) - before


def large():
    """Folios of 64 KiB that go out whole, of so many"""
    stats = {k: f"{THP}/hugepages-64kB/stats/{k}" for k in ("anon_fault_alloc", "swpout", "swpout_fallback")}
    write(f"{THP}/hugepages-64kB/enabled", "always")
    memory = Memory(FOLIOS * FOLIO, huge=True)
    had = {k: number(v) for k, v in stats.items()}
    memory.fill(0, memory.pages)
    memory.advise(0, memory.pages, PAGEOUT)
    got = since({k: number(v) for k, v in stats.items()}, had)
    write(f"{THP}/hugepages-64kB/enabled", "never")
    memory.advise(0, memory.pages, DONTNEED)
    return got


def aged(column, percent, zero=False):
    """An area that was full, of which so much is left; then what is free there, before and after a pass"""
    share = PAGES // PROCESSES
    if column != "base" and column != "off":
        write(BIND, 0)
    call("swapon", f"/dev/{DEV}".encode(), 0x8001)
    processes = [Process(share, zero) for _ in range(PROCESSES)]
    for first in range(0, share, TURN):
        for p in processes:
            p.tell_and_wait("out", first, min(TURN, share - first))
    evict()
    live = sum(p.tell_and_wait("thin", percent, seed) for seed, p in enumerate(processes))
    evict()
    slots = [s for p in processes for s in p.tell_and_wait("slots")]
    row = {"what": "zero" if zero else "aged", "percent": percent, "live": live, "in_swap": len(slots), "free_before": clusters(slots),
           "possible": CLUSTERS - -(-len(slots) // SLOTS)}
    compact = f"{SYS}/areas/0/compact"
    if os.path.exists(compact) and column == "on":
        moves, io = counters(), disk()
        row["instructions"] = spent(lambda: write(compact, 1))
        row |= since(counters(), moves)
        row["disk"] = since(disk(), io)
    slots = [s for p in processes for s in p.tell_and_wait("slots")]
    row["free"] = clusters(slots)
    if not zero:
        row["large"] = large()
    print("row", json.dumps(row), flush=True)
    for p in processes:
        p.end()
    call("swapoff", f"/dev/{DEV}".encode())


def way(column):
    """Instructions a page out, and in, one after the other. Nothing is sparse before the way in."""
    if column == "enabled":
        write(f"{SYS}/defrag/enabled", 1)
    if column != "base" and column != "off":
        write(BIND, 0)
    call("swapon", f"/dev/{DEV}".encode(), 0x8001)
    memory = Memory(WAY)
    write("/proc/sys/vm/page-cluster", 0)
    rounds = []
    # The first one warms up.
    for _ in range(3):
        memory.fill(0, WAY)
        out = spent(lambda: memory.advise(0, WAY, PAGEOUT))
        evict()
        rounds.append({"out": out / WAY, "in": spent(lambda: memory.fill(0, WAY)) / WAY})
    print("row", json.dumps({"what": "way", "rounds": rounds[1:]}), flush=True)
    memory.advise(0, WAY, DONTNEED)
    call("swapoff", f"/dev/{DEV}".encode())


def main():
    column = sys.argv[1]
    os.system("mount -t configfs none /sys/kernel/config 2>/dev/null")
    os.mkdir(GROUP)
    write(f"{GROUP}/cgroup.procs", os.getpid())
    # Huge pages are of 64 KiB, or none.
    write(f"{THP}/hugepages-2048kB/enabled", "never")
    drive(CLUSTERS * SLOTS * PAGE >> 20)
    way(column)
    if column in ("nodefrag", "enabled"):
        return
    for percent in PERCENT:
        aged(column, percent)
    if column == "on":
        aged(column, PERCENT[2], zero=True)


main()
