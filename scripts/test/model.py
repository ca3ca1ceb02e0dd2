#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the model that bench/ measures parallel time with: QEMU in lock step, and cache
lines that cost time (scripts/qemu, bench/load/lines.c). `make test-model`

Boots a guest, twice, whose only load is scripts/test/model.c, and compares what it measures
with what can be calculated, for each quantum Q and each cost T of a line:
  nothing  N CPUs that share nothing: each does its work in the time that one needs alone
  readers  N CPUs read a word that one of them has written: one after the other, T each
  counter  N CPUs add to one word: an increment takes T, however many they are
  lock     N CPUs take an MCS lock: as often as the queueing model says
  skew     no CPU reads the time of another one that is more than Q ahead of its own, nor,
           where lines are modelled, one that is ahead at all
  same     both guests have measured exactly the same, to the last ns and the last line
A minute on two quiet cores, once QEMU is built, which takes a quarter of an hour.
Prints a line for each check; exit status 1 if any failed, 2 if something is missing.
"""
import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from paths import BUILD, ROOT  # noqa: E402

QUANTA, COSTS, CPUS = [100, 200, 400], [0, 60, 120], [1, 2, 4, 8, 16, 32, 64]
NO_LINES = -1  # instead of T: in lock step and nothing else
BOUNDS = {"nothing": 0.01, "counter": 0.05, "lock": 0.10}
WORK = f"{BUILD}/model"
APPEND = "nokaslr norandmaps kunit.enable=0 lpj=4000000 cpu_init_udelay=0"
QEMU = "-icount shift=0,sleep=off,quantum=20000 -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm -seed 1"


def die(text):
    print(f"model: ERROR: {text}", file=sys.stderr)
    sys.exit(2)


def build(o):
    """What the guest needs; the kernel's image."""
    os.makedirs(WORK, exist_ok=True)
    steps = [[f"{ROOT}/scripts/build/qemu.sh"],
             [f"{ROOT}/scripts/build/initramfs.sh", "base"],
             ["gcc", "-O2", "-Wall", "-Wextra", "-static", "-pthread", "-o", f"{WORK}/model",
              f"{ROOT}/scripts/test/model.c"],
             ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden",
              "-o", f"{WORK}/lines.so", f"{ROOT}/bench/load/lines.c"]]
    if "/" not in o.kernel:
        steps.append([f"{ROOT}/scripts/build/kernel.sh", o.kernel])
    for step in steps:
        if subprocess.run(step).returncode:
            die(f"failed: {shlex.join(step)}")


def boot(o, windows, cpus, name):
    """One guest; its lines as (what, {word: number}), and all that came out of it."""
    script, counts, log = f"{WORK}/run.sh", f"{WORK}/{name}.lines", f"{BUILD}/logs/model-{name}.console"
    os.makedirs(f"{BUILD}/logs", exist_ok=True)
    with open(script, "w") as f:
        f.write(f"#!/bin/sh\nexec /model {len(windows)} {' '.join(map(str, cpus))}\n")
    # only what the load itself shares; kernel addresses cost nothing here
    plugin = f"-plugin {WORK}/lines.so,range=0-0,user=on,out={counts}"
    plugin += "".join(f",set={w}:{q}:{t}" for w, (q, t) in enumerate(windows, 1))
    command = [f"{ROOT}/scripts/guest/boot.py", "--kernel", o.kernel, "--cpus", str(max(cpus)),
               "--mem", str(256 + 8 * max(cpus)),
               "--initramfs", f"{BUILD}/initramfs/base.cpio", "--accel", "tcg", "--thread", "single",
               "--emulator", f"{BUILD}/qemu/bin/qemu-system-x86_64", "--timeout", "600", "--log", log,
               "--append", APPEND, "--add", f"{WORK}/model:/model", "--qemu", QEMU, "--qemu", plugin, script]
    start = time.monotonic()
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if r.returncode or not r.stdout.endswith("end\n"):
        sys.stderr.write(r.stdout[-1000:] + r.stderr[-2000:])
        print(f"FAIL the guest ended with {r.returncode}; its console is {log}")
        sys.exit(1)
    print(f"guest {name}: {max(cpus)} CPUs, {time.monotonic() - start:.0f} s", flush=True)
    rows = []
    for line in r.stdout.splitlines()[:-1]:
        what, rest = line.split(" ", 1)
        rows.append((what, {k: int(v) for k, v in re.findall(r"(\w+) (-?\d+)", rest)}))
    with open(counts) as f:
        return rows, r.stdout + f.read()


def lock_rate(n, section, think, t):
    """Sections a ns of n CPUs: the machine-repairman model, solved exactly.

    What an MCS lock adds. To think: the instructions around it and, with others, the line of
    the tail and that of the own node, which the one before has written. To a section: a few
    instructions, and if another CPU waits, the lock is handed over: two transfers of its
    node, one by each CPU. A PAUSE adds nothing: the one that waits is behind, so it has
    read the lock already when it is given back, and waits until that time.
    """
    think += 25 + (2 * t if n > 1 else 0)
    alone, handed = section + 5, section + 14 + 2 * t
    p = [1.0]
    for k in range(1, n + 1):
        p.append(p[-1] * (n - k + 1) / think * (alone if k == 1 else handed))
    return sum(v / (alone if k == 1 else handed) for k, v in enumerate(p) if k) / sum(p)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def line(self, fine, text):
        self.passed, self.failed = self.passed + fine, self.failed + (not fine)
        print(f"{'ok  ' if fine else 'FAIL'} {text}", flush=True)

    def within(self, what, where, errors):
        """`errors`: {N: relative error}"""
        bound = BOUNDS[what]
        fine = bool(errors) and all(abs(e) <= bound for e in errors.values())
        self.line(fine, f"{what:8}{where} within {bound:.0%}: " +
                  ", ".join(f"{n}: {e:+.1%}" for n, e in errors.items()))


def check(checks, rows, window, q, t):
    where = f"Q {q:3} T {t:3}"
    here = {}
    for what, r in rows:
        if r["window"] == window:
            here.setdefault(what, {}).setdefault(r["cpus"], []).append(r)

    def median(what, value):
        """Of three runs, since a tick may fall into one: then the others have no rival meanwhile."""
        return {n: statistics.median(value(r) for r in rs) for n, rs in here[what].items()}

    time_of = median("nothing", lambda r: r["last"])
    checks.within("nothing", where, {n: v / time_of[1] - 1 for n, v in time_of.items() if n > 1})

    if t > 0:
        # they do not begin at the same ns, but at most a PAUSE apart
        over = {n: v - (n - 1) * t for n, v in median("readers", lambda r: r["last"]).items()}
        checks.line(all(abs(v) <= 100 for v in over.values()),
                    f"readers {where} (N - 1) * T within 100 ns: " + ", ".join(f"{n}: {v:+}" for n, v in over.items()))
        each = median("counter", lambda r: r["last"] / r["count"])
        checks.within("counter", where, {n: v / t - 1 for n, v in each.items() if n > 1})

    if t >= 0:
        errors = {}
        for n, (r,) in here["lock"].items():
            rate = lock_rate(n, r["held"] / r["count"], r["thought"] / r["count"], t)
            errors[n] = r["count"] / r["time"] / rate - 1
        checks.within("lock", where, errors)

    ahead = {n: rs[0]["ahead"] for n, rs in here["skew"].items() if n > 1}
    limit = q if t < 0 else 0
    checks.line(bool(ahead) and all(v <= limit for v in ahead.values()),
                f"skew    {where} at most {limit} ns: " + ", ".join(f"{n}: {v}" for n, v in ahead.items()))


def main():
    ap = argparse.ArgumentParser(prog="scripts/test/model.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kernel", default="test", metavar="NAME|BZIMAGE",
                    help="a kernel that scripts/build/kernel.sh builds, or a bzImage (test)")
    ap.add_argument("--quick", action="store_true", help="Q 200, T 0 and 60, at most 8 CPUs")
    o = ap.parse_args()
    windows = [(200, t) for t in (NO_LINES, 0, 60)] if o.quick else [(q, t) for q in QUANTA for t in (NO_LINES, *COSTS)]
    cpus = [n for n in CPUS if n <= 8] if o.quick else CPUS
    build(o)
    rows, first = boot(o, windows, cpus, "first")
    checks = Checks()
    for window, (q, t) in enumerate(windows, 1):
        check(checks, rows, window, q, t)
    _, second = boot(o, windows, cpus, "second")
    differ = [a for a, b in zip(first.splitlines(), second.splitlines()) if a != b]
    checks.line(first == second, "same    two runs: " + (f"{len(first.splitlines())} lines are equal"
                if first == second else f"the first of {len(differ)} lines that differ: {(differ or ['(length)'])[0]}"))
    print(f"model: {checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
