#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: how much memory zswap needs for pages of real programs. See run.py.

  guest.py COMPRESSOR... -- FILE...
"""
import json
import mmap
import os
import subprocess
import sys
import time

PAGE = 4096
GROUP = "/sys/fs/cgroup/ratio"
ZSWAP, COUNTS = "/sys/module/zswap/parameters", "/sys/kernel/debug/zswap"
FUNCTION = "0000:00:10.0"
DSA = "/sys/bus/dsa"
PAGEOUT = 21
WAIT = 600


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def read(path):
    with open(path) as f:
        return f.read().strip()


def count(name):
    return int(read(f"{COUNTS}/{name}"))


def memcg(name):
    return next(int(line.split()[1]) for line in read(f"{GROUP}/memory.stat").split("\n") if line.split()[0] == name)


def device_up():
    """A simulated device: one queue, all engines."""
    # No unit fails because this host is slow.
    write("/sys/module/iaa_crypto/parameters/abort_ms", 60000)
    write(f"/sys/bus/pci/devices/{FUNCTION}/driver_override", "idxd")
    write("/sys/bus/pci/drivers/idxd/bind", FUNCTION)
    # The driver of the queues has its own defaults; what is there is taken down, and set up with all engines.
    iax = next(n for n in os.listdir(f"{DSA}/devices") if n.startswith("iax"))
    nr = iax[3:]
    for driver, what in (("crypto", f"wq{nr}.0"), ("idxd", iax)):
        if os.path.exists(f"{DSA}/drivers/{driver}/{what}"):
            write(f"{DSA}/drivers/{driver}/unbind", what)
    for name, value in (("group_id", 0), ("mode", "dedicated"), ("size", 64), ("type", "kernel"),
                        ("driver_name", "crypto"), ("name", "iaa"), ("priority", 10)):
        write(f"{DSA}/devices/wq{nr}.0/{name}", value)
    for i in range(8):
        write(f"{DSA}/devices/engine{nr}.{i}/group_id", 0)
    write(f"{DSA}/drivers/idxd/bind", iax)
    write(f"{DSA}/drivers/crypto/bind", f"wq{nr}.0")


def vmstat(name):
    return next(int(line.split()[1]) for line in read("/proc/vmstat").split("\n") if line.startswith(name + " "))


def measure(compressor, names):
    """Swap these pages out, see what zswap has of them, and read them again."""
    write(f"{ZSWAP}/compressor", compressor)
    if read(f"{ZSWAP}/compressor") != compressor:
        sys.exit(f"ratio: zswap does not use {compressor}")
    data = b"".join(open(name, "rb").read() for name in names)
    memory = mmap.mmap(-1, len(data), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = data
    pages = len(data) // PAGE
    poor, out = count("reject_compress_poor") + count("reject_compress_fail"), vmstat("pswpout")
    zero = sum(not any(data[i:i + PAGE]) for i in range(0, len(data), PAGE))
    write("/proc/sys/vm/drop_caches", 1)
    for _ in range(WAIT):
        memory.madvise(PAGEOUT)
        stored = count("stored_pages")
        # What has gone to the device is no longer in the swap cache, either.
        if stored + vmstat("pswpout") - out + zero >= pages:
            break
        time.sleep(.1)
    # The group's counters are brought up to date every two seconds.
    time.sleep(5)
    row = {"compressor": compressor, "pages": pages, "zero": zero, "stored": stored,
           "poor": count("reject_compress_poor") + count("reject_compress_fail") - poor, "bytes": memcg("zswap"),
           "pool": count("pool_total_size")}
    row["right"] = memory[:] == data
    memory.close()
    for _ in range(WAIT):
        if not count("stored_pages"):
            break
        time.sleep(.1)
    row["left"] = count("stored_pages")
    print("row", json.dumps(dict(row, set="+".join(os.path.basename(n) for n in names))), flush=True)


def main():
    at = sys.argv.index("--")
    compressors, files = sys.argv[1:at], sys.argv[at + 1:]
    write("/proc/sys/vm/scaleswap/bind", "auto")
    write("/proc/sys/vm/page-cluster", 3)
    subprocess.run(["mkswap", "/dev/nvme0n1"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["/sbin/swapon", "/dev/nvme0n1"], check=True)
    write(f"{ZSWAP}/zpool", "zsmalloc")
    write(f"{ZSWAP}/max_pool_percent", 50)
    write(f"{ZSWAP}/enabled", 1)
    device_up()
    os.mkdir(GROUP)
    write(f"{GROUP}/cgroup.procs", os.getpid())
    for compressor in compressors:
        for names in [[f] for f in files] + [files]:
            measure(compressor, names)


main()
