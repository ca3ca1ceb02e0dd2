#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Show what was measured.

  bench/report.py [FILE]            what bench/demo.py --full measured: medians with
                                    [min-max], and ratios to the base kernel
  bench/report.py --readme          write the tables of README.md, bench/README.md and
                                    bench/experiments/*/README.md anew from bench/results
  bench/report.py --table NAME...   print these of the tables

A ratio is taken inside each round, then the median of the rounds. Draws the ratios next to
FILE as .svg if matplotlib can be imported. --readme --check writes nothing, and ends with 1
if a table is not what the data say.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import tables as t  # noqa: E402


def readme(check):
    """Write the tables; the exit status."""
    stale = []
    for path in t.readmes():
        with open(path) as f:
            text = f.read()
        new = t.filled(text)
        if new == text:
            continue
        stale.append(os.path.relpath(path, b.ROOT))
        if not check:
            with open(path, "w") as f:
                f.write(new)
    for name in stale:
        b.say(f"{name}: " + ("a table is not what bench/results say; run bench/report.py --readme" if check
                             else "tables written"))
    return 1 if check and stale else 0


def main():
    ap = argparse.ArgumentParser(prog="bench/report.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file", nargs="?", metavar="FILE", help="default: the newest demo-*.json in bench/results")
    ap.add_argument("--no-svg", action="store_true", help="no picture")
    ap.add_argument("--readme", action="store_true", help="write the tables of the README files")
    ap.add_argument("--check", action="store_true", help="with --readme: only compare")
    ap.add_argument("--table", nargs="+", metavar="NAME", help="print tables: " + ", ".join(t.names()))
    o = ap.parse_args()
    if o.check and not o.readme:
        ap.error("--check is for --readme only")
    if o.readme:
        return readme(o.check)
    if o.table:
        print("\n\n".join("\n".join(t.table(name)) for name in o.table))
        return 0
    b.report(o.file or f"{t.RESULTS}/{t.newest_demo()}", svg=not o.no_svg)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(1)
