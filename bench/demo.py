#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The main job: swap twice a guest's memory on per-core areas, and check every page.

Builds this kernel, then boots a guest with 4 CPUs and 4 NVMe drives twice, with
scaleswap=off and scaleswap=on. Each runs the same workload, whose pages are stamped and
checked on the way back. Prints one table and what came out. Only then builds the base
kernel, measures it in the same way, and prints the table with all three; --no-base leaves
that out. Nothing is measured while something is built.

--full builds all three kernels with lock_stat first, and measures them in turn, in several
rounds. There are two setups, because neither can answer all under emulation:
  cpus4  4 CPUs that QEMU runs one at a time: counts, and time as ratios between kernels
  smp2   2 CPUs that run at the same time: which locks they contend for
All raw numbers go to bench/results/demo-DATE.json, and bench/report.py shows them again.
Five rounds of both take about 40 minutes on two quiet cores.

Ends with the verdict on correctness, which is also the exit status: 0 all is right, 1 not,
2 it could not run.
"""
import argparse
import datetime
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402

SETUPS = [
    {"name": "cpus4", "cpus": 4, "drives": 4, "thread": "single"},
    {"name": "smp2", "cpus": 2, "drives": 2, "thread": "multi"},
]
SETUP = SETUPS[0]
# files in configs/
CONFIG, FULL_CONFIG = "demo", "lockstat"
FIRST = ("off", "on")
# About what each step takes on two cores that have nothing else to do, with no compiler cache.
MINUTES = {"prepare": 0.8, "kernel": 4, "guest": 1.1}


def plan(o):
    """[(what, minutes)] of all steps, in order; what is no step has no minutes."""
    build = [] if o.no_build else [
        ("install packages, unpack the base kernel, put the patched tree together", MINUTES["prepare"]),
        ("build this kernel", MINUTES["kernel"])]
    guests = [(f"boot a guest with {b.TITLES[c]}, swap, check", MINUTES["guest"] * o.rounds) for c in FIRST]
    out = [*build, *guests, ("print the table of these two", None)]
    if o.base:
        out += [] if o.no_build else [("build the base kernel", MINUTES["kernel"])]
        out += [("boot a guest with the base kernel, swap, check", MINUTES["guest"] * o.rounds),
                ("print the table of all three", None)]
    return out


def plan_lines(o):
    """The plan for a reader, with the minutes that have passed when a table comes."""
    lines = ["what it will do, and about how long on two cores with nothing else to do "
             "(kernels that are built already take seconds):"]
    total = 0
    for what, minutes in plan(o):
        total += minutes or 0
        lines.append(f"  {what:<76}" + (f"{minutes:4.1f} min" if minutes else f"after {total:.0f} min"))
    if o.base:
        lines.append("  'make demo BASE=0' leaves the base kernel out")
    return lines


class Steps:
    """Does one step after another, says and remembers how long each took."""

    def __init__(self):
        self.took = []

    def __call__(self, name, do, *args):
        with b.Spent() as spent:
            value = do(*args)
        self.took.append({"step": name, "seconds": round(spent.seconds, 1),
                          "cpu_seconds": round(spent.cpu_seconds, 1), "load_average": os.getloadavg()[0]})
        return value

    def lines(self):
        return [f"  {s['step']:<32}{s['seconds']:5.0f} s, CPU time {s['cpu_seconds']:5.0f} s" for s in self.took]


def prepare(o):
    if not o.no_build:
        b.step("deps.sh")
        b.step("tree.py")
    b.step("initramfs.sh", *b.LAYERS)


def build(o, work, columns):
    """Build and stage the kernel of these columns."""
    if not o.no_build:
        for name in b.kernel_names(columns, CONFIG):
            b.step("kernel.sh", name)
    return b.stage_kernels(work, columns, CONFIG)


def show(o, results):
    print()
    print("\n".join(b.conditions(results, SETUP, o)))
    print()
    print("\n".join(b.table(results)))
    print(flush=True)


def run(o, work):
    """All steps; the verdict's points."""
    steps, results = Steps(), []
    raw = f"{b.BUILD}/results/demo.json"
    steps("prepare", prepare, o)
    b.stage_root(work)
    kernels = steps("build this kernel", build, o, work, FIRST)
    steps("measure scaleswap=off and on", b.rounds, work, CONFIG, o, SETUP, results, FIRST)
    b.write_record(raw, b.record(o, kernels, [(SETUP, results)], steps.took))
    show(o, results)
    if o.base:
        b.print_points(b.judge(results))
        print()
        b.say("the base kernel is still to come; Ctrl-C if the above was all you wanted")
        kernels.update(steps("build the base kernel", build, o, work, ("base",)))
        steps("measure the base kernel", b.rounds, work, CONFIG, o, SETUP, results, ("base",))
        b.write_record(raw, b.record(o, kernels, [(SETUP, results)], steps.took))
        show(o, results)
    b.say(f"all numbers are in {raw}; it took")
    print("\n".join(steps.lines()))
    print()
    return b.judge(results)


def run_full(o):
    """Measure each kernel in each round; the exit status."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d-%H%M")
    path = os.path.abspath(o.out or f"{b.ROOT}/bench/results/demo-{date}.json")
    setups = [(s, []) for s in SETUPS if o.setup in (None, s["name"])]
    with b.Workplace() as work:
        kernels = b.prepare(work, o.no_build, b.COLUMNS, FULL_CONFIG)
        try:
            for setup, results in setups:
                b.say(f"setup {setup['name']}: {setup['cpus']} CPUs, thread={setup['thread']}, {o.rounds} rounds")
                b.rounds(work, FULL_CONFIG, o, setup, results)
        finally:
            # also when it is stopped: whole rounds are good numbers
            setups = [(s, r) for s, r in setups if r]
            if setups:
                b.write_record(path, b.record(o, kernels, setups))
                b.say(f"raw numbers are in {path}")
    b.report(path)
    return max(b.print_verdict(b.judge(r)) for _, r in setups)


def options(argv):
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--full", action="store_true",
                       help="all three kernels in turn, in several rounds and two setups; the numbers are kept")
    full = first.parse_known_args(argv)[0].full
    ap = argparse.ArgumentParser(prog="bench/demo.py", description=__doc__, parents=[first],
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    # without --full it is to be over soon; --help shows these defaults, or with --full the others
    b.add_options(ap, *((5,) if full else (1, 320, 1)))
    ap.add_argument("--no-base", dest="base", action="store_false", help="without the base kernel (not with --full)")
    ap.add_argument("--setup", choices=[s["name"] for s in SETUPS], help="only this one (--full)")
    ap.add_argument("--out", metavar="FILE", help="instead of bench/results/demo-DATE.json (--full)")
    o = ap.parse_args(argv)
    if o.full and not o.base or not o.full and (o.setup or o.out):
        ap.error("--no-base is not for --full; --setup and --out are for --full only")
    b.check_options(o)
    return o


def main(argv=None):
    o = options(argv)
    signal.signal(signal.SIGTERM, lambda n, _: sys.exit(128 + n))
    if o.full:
        return run_full(o)
    for line in plan_lines(o):
        b.say(line)
    with b.Workplace() as work:
        points = run(o, work)
    return b.print_verdict(points)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
