#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: a device goes that has compressed pages. See run.py."""
import ctypes
import json
import mmap
import os
import sys

FUNCTION = "0000:00:10.0"
DSA = "/sys/bus/dsa"
ZSWAP = "/sys/module/zswap/parameters"
DRIVE = "/dev/nvme0n1"
PAGES, PAGE, PAGEOUT = 512, 4096, 21
libc = ctypes.CDLL(None, use_errno=True)


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def vmstat(name):
    with open("/proc/vmstat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(f"{name} "))


def device_up():
    write(f"/sys/bus/pci/devices/{FUNCTION}/driver_override", "idxd")
    write("/sys/bus/pci/drivers/idxd/bind", FUNCTION)
    nr = next(n for n in os.listdir(f"{DSA}/devices") if n.startswith("iax"))[3:]
    if os.path.exists(f"{DSA}/drivers/crypto/wq{nr}.0"):
        return nr
    for name, value in (("group_id", 0), ("mode", "dedicated"), ("size", 64), ("type", "kernel"),
                        ("driver_name", "crypto"), ("name", "iaa"), ("priority", 10)):
        write(f"{DSA}/devices/wq{nr}.0/{name}", value)
    for i in range(8):
        write(f"{DSA}/devices/engine{nr}.{i}/group_id", 0)
    # The base's driver never lets another task run while it polls.
    write(f"/sys/kernel/debug/idxd_sim/{FUNCTION}/at_once", 1)
    write(f"{DSA}/drivers/idxd/bind", f"iax{nr}")
    write(f"{DSA}/drivers/crypto/bind", f"wq{nr}.0")
    return nr


def page(i):
    return (i.to_bytes(8, "little") + bytes(range(24))) * (PAGE // 32)


def main():
    nr = device_up()
    for name, value in (("zpool", "zsmalloc"), ("compressor", "deflate-iaa"), ("enabled", 1)):
        write(f"{ZSWAP}/{name}", value)
    if os.system(f"mkswap {DRIVE} >/dev/null && echo 0 >/proc/sys/vm/scaleswap/bind && swapon {DRIVE}"):
        sys.exit("iaa-gone: no area")
    m = mmap.mmap(-1, PAGES * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(PAGES):
        m[i * PAGE:(i + 1) * PAGE] = page(i)
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    stored = vmstat("zswpout")
    if libc.madvise(at, PAGES * PAGE, PAGEOUT):
        sys.exit("iaa-gone: madvise")
    stored = vmstat("zswpout") - stored
    write(f"{DSA}/drivers/crypto/unbind", f"wq{nr}.0")
    found = {"right": 0, "wrong": 0, "unreadable": 0}
    mem = os.open("/proc/self/mem", os.O_RDONLY)
    for i in range(PAGES):
        try:
            found["right" if os.pread(mem, PAGE, at + i * PAGE) == page(i) else "wrong"] += 1
        except OSError:
            found["unreadable"] += 1
    print("row", json.dumps({"stored": stored, **found}), flush=True)


main()
