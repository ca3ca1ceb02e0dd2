#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Show what bench/demo.py --full measured: medians with [min–max], and ratios to the base kernel.

A ratio is taken inside each round, then the median of the rounds. Draws the ratios next to
FILE as .svg if matplotlib can be imported.
"""
import argparse
import glob
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402


def main():
    ap = argparse.ArgumentParser(prog="bench/report.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file", nargs="?", metavar="FILE", help="default: the newest demo-*.json in bench/results")
    ap.add_argument("--no-svg", action="store_true", help="no picture")
    o = ap.parse_args()
    files = sorted(glob.glob(f"{b.ROOT}/bench/results/demo-*.json"))
    if not o.file and not files:
        b.die("there is nothing in bench/results yet; run bench/demo.py --full")
    b.report(o.file or files[-1], svg=not o.no_svg)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
