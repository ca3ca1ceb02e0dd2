#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest: how long requests of several pages take on a device that takes so long. See run.py.

  guest.py units, or numbers of pages in a request
"""
import json
import os
import statistics
import sys

FUNCTION = "0000:00:10.0"
SIM = f"/sys/kernel/debug/idxd_sim/{FUNCTION}"
DSA = "/sys/bus/dsa"
TIME = "/sys/kernel/debug/acomp_time"
NAME = "deflate-iaa"
ROUNDS, REPEATS = 4, 11
PAGES, ENGINES, TIMES = (1, 2, 4, 8, 16, 32), (1, 4, 8), (1, 2, 4, 8, 16)


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def read(path):
    with open(path) as f:
        return f.read().strip()


def device_down(nr):
    for driver, what in (("crypto", f"wq{nr}.0"), ("idxd", f"iax{nr}")):
        if os.path.exists(f"{DSA}/drivers/{driver}/{what}"):
            write(f"{DSA}/drivers/{driver}/unbind", what)


def device_up(nr, engines):
    """One queue, so many engines, and nothing is verified."""
    device_down(nr)
    write(f"{DSA}/drivers/crypto/verify_compress", 0)
    for name, value in (("group_id", 0), ("mode", "dedicated"), ("size", 64), ("type", "kernel"),
                        ("driver_name", "crypto"), ("name", "iaa"), ("priority", 10)):
        write(f"{DSA}/devices/wq{nr}.0/{name}", value)
    for i in range(8):
        write(f"{DSA}/devices/engine{nr}.{i}/group_id", 0 if i < engines else -1)
    write(f"{DSA}/drivers/idxd/bind", f"iax{nr}")
    write(f"{SIM}/at_once", 1)
    write(f"{DSA}/drivers/crypto/bind", f"wq{nr}.0")


def own():
    return int(read(f"{SIM}/at_once_cycles"))


def once(what, pages, rounds):
    """Cycles of some requests, and those of the simulation in the meantime"""
    before = own()
    write(TIME, f"{what} {NAME} {pages} {rounds}")
    cycles, wrong = map(int, read(TIME).split())
    if wrong:
        sys.exit(f"iaa-model: {wrong} pages are wrong")
    return cycles, own() - before


def measure(what, pages, rounds=ROUNDS, of=statistics.median):
    """
    Cycles of a request, without those of the simulation, of several measurements. One round comes before those that are
    timed; all have the device do the same.
    """
    # What is decompressed was compressed before, once, which is not in the cycles.
    before = once("compress", pages, 1)[1] / 2 if what == "decompress" else 0
    found = []
    for _ in range(REPEATS):
        cycles, mine = once(what, pages, rounds)
        found.append((cycles - (mine - before) * rounds / (rounds + 1)) / rounds)
    return of(found)


def main():
    # The driver is not to bind a queue before the device works at its doorbell: the base's one does not let go of the CPU.
    write(f"{DSA}/drivers_autoprobe", 0)
    write(f"/sys/bus/pci/devices/{FUNCTION}/driver_override", "idxd")
    write("/sys/bus/pci/drivers/idxd/bind", FUNCTION)
    nr = next(n for n in os.listdir(f"{DSA}/devices") if n.startswith("iax"))[3:]
    if sys.argv[1] != "units":
        device_up(nr, 8)
        for what in ("compress", "decompress"):
            for pages in map(int, sys.argv[1].split(",")):
                # A round that is shorter than a tick, and the least: one without the clock's interrupt
                print("row", json.dumps({"what": what, "engines": 8, "latency": 0, "pages": pages, "cycles": measure(what, pages, 1, min)}),
                      flush=True)
        return
    for engines in ENGINES:
        device_up(nr, engines)
        for what in ("compress", "decompress"):
            write(f"{SIM}/latency", 0)
            s = measure(what, 8) / 8
            for times in (0, *TIMES):
                latency = round(times * s)
                write(f"{SIM}/latency", latency)
                for pages in PAGES:
                    write(f"{SIM}/most", 0)
                    cycles = measure(what, pages)
                    print("row", json.dumps({"what": what, "engines": engines, "times": times, "latency": latency, "pages": pages,
                                             "cycles": cycles, "most": int(read(f"{SIM}/most"))}), flush=True)


main()
