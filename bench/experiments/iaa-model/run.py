#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much of a device's time does the driver use, with several pages in a request?

A simulated IAA device works at its doorbell, and withholds what it has done until engines that
take a latency L for a page would have done it. One CPU submits requests of 1 to 32 pages and polls,
for L of 0 to 16 times what a page costs the CPU, with 1, 4 and 8 engines. Compared with a model,
see model(), in which what a page and a request cost the CPU is fitted to what 8 engines take.

  bench/experiments/iaa-model/run.py [--single KERNEL] [--out FILE]

--single: a kernel with CONFIG_CRYPTO_DEV_IAA_BATCH=n, that is, with the base's driver. With that a page
by itself is compared with one of eight in a request of ours. Environment: BUILD; KERNEL, a kernel that scripts/build/kernel.sh built, or a bzImage (default test). Emulated: one CPU,
QEMU's instruction clock, so a cycle is an instruction, and a busy host changes nothing. Writes
bench/results/iaa-model.json.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from rows import ROOT, booted, keep  # noqa: E402

KERNEL = os.environ.get("KERNEL", "test")
ICOUNT = "-icount shift=0,sleep=off -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"
# Units of a request that the driver submits at a time
WINDOW = 8


def boot(kernel, what):
    """Boot one guest; its rows."""
    return booted("iaa-model", kernel, "--cpus", "1", "--mem", "512", "--timeout", "3600", "--qemu", "-device e1000e,addr=0x10",
                  "--qemu", ICOUNT, "--append", "scaleswap=on idxd.sim=0000:00:10.0 kunit.enable=0", f"{HERE}/guest.py", what)


def model(costs, latency, engines, pages):
    """
    How long a request takes: c for itself, a for each page until the device has it, r when it has ended; an engine has a
    page for L; no more than WINDOW pages are submitted and not reaped. With engines enough, and up to WINDOW pages, that
    is c + n*a + L + r.
    """
    c, a, r = costs
    now, free, due = c, [0.0] * engines, []
    left = pages
    while left or due:
        if left and len(due) < WINDOW:
            now += a
            engine = min(range(engines), key=free.__getitem__)
            free[engine] = max(now, free[engine]) + latency
            due.append(free[engine])
            left -= 1
        else:
            now = max(now, due.pop(0)) + r
    return now


def fitted(rows):
    """The costs with which the model is nearest to these rows"""
    off = lambda costs: sum((r["cycles"] / model(costs, r["latency"], r["engines"], r["pages"]) - 1) ** 2 for r in rows)
    costs, step = [500.0, 1000.0, 300.0], 200.0
    while step > 1:
        tried = [[max(1.0, v + step * sign * (i == k)) for i, v in enumerate(costs)] for k in range(3) for sign in (1, -1)]
        best = min(tried, key=off)
        if off(best) < off(costs):
            costs = best
        else:
            step /= 2
    return costs


def compared(rows):
    """For each row what the model says of it, and how far that is off. Its costs are those with 8 engines."""
    out = []
    for what in ("compress", "decompress"):
        of = [r for r in rows if r["what"] == what and r["times"]]
        costs = fitted([r for r in of if r["engines"] == 8])
        for r in of:
            says = model(costs, r["latency"], r["engines"], r["pages"])
            out.append(dict(r, costs=costs, model=says, error=r["cycles"] / says - 1))
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--single", metavar="KERNEL", help="with the base's driver")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/iaa-model.json", metavar="FILE")
    o = ap.parse_args()
    rows = boot(KERNEL, "units")
    single = boot(o.single, "1") if o.single else []
    few = boot(KERNEL, "1,2,4") if o.single else []
    points = compared(rows)
    # A latency of 16 pages' work: none of eight has ended when the last is submitted, and then the driver polls first.
    first = [r["most"] for r in rows if r["pages"] >= WINDOW and r["times"] == 16 and r["engines"] == 8]
    data = {
        "emulated": "QEMU TCG, one CPU, -icount shift=0; a simulated device whose completions are withheld",
        "model_max_error": max(abs(p["error"]) for p in points),
        "in_flight_first_poll": sum(first) / len(first),
        "within_5_percent": sum(abs(p["error"]) <= .05 for p in points) / len(points),
        "points": points, "runs": rows, "single": single, "few": few}
    if single:
        # Eight pages to compress take the simulation longer than a tick, and have its interrupt in them. What a page
        # adds to a request is the same from one to four.
        of = {(r["what"], r["pages"]): r["cycles"] for r in few}
        eight = lambda what: of[what, 1] + (WINDOW - 1) * (of[what, 4] - of[what, 1]) / 3
        data["submit_reap_ratio"] = {r["what"]: eight(r["what"]) / WINDOW / r["cycles"] for r in single}
    keep(o.out, "iaa-model", data)
    for p in points:
        print(f"{p['what']:10} {p['engines']} engines, L = {p['times']:2} s, {p['pages']:2} pages: {p['cycles']:9.0f} cycles, "
              f"model {p['model']:9.0f}, {100 * p['error']:+.1f} %")
    print("worst", data["model_max_error"], "within 5 %", data["within_5_percent"], "by the base's driver", data.get("submit_reap_ratio"), single)


if __name__ == "__main__":
    main()
