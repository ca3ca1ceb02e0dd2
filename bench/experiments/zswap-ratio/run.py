#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much memory does zswap need for pages of text, programs and a compiler's memory?

Pages that no codes were made of (test-*: see tools/testing/scaleswap/canned.py) are swapped out
with each compressor, to zswap; the device of deflate-iaa* is simulated. Then they are read, and
compared. Counted are the bytes that compressed pages have, the memory of the pool, and the pages
that are not stored as they do not get shorter.

  bench/experiments/zswap-ratio/run.py PAGES [--out FILE]     PAGES: what canned.py has written

Environment: BUILD; KERNEL, a kernel that scripts/build/kernel.sh built, or a bzImage (default
test). Emulated: TCG. Which matches a device finds is not known: these are the simulation's.
Writes bench/results/zswap-ratio.json.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from rows import ROOT, booted, keep  # noqa: E402

KERNEL = os.environ.get("KERNEL", "test")
SETS = ("text", "elf", "heap")
COMPRESSORS = ("deflate-iaa", "deflate-iaa-canned", "deflate-iaa-dynamic", "lz4", "lzo-rle", "zstd", "deflate-scomp")


def boot(pages):
    """Boot one guest; its rows."""
    files = [f"test-{s}" for s in SETS]
    cmd = ["--cpus", "2", "--mem", "1024", "--nvme", "1",
           "--nvme-size", "256", "--timeout", "3600", "--qemu", "-device e1000e,addr=0x10",
           "--append", "scaleswap=on idxd.sim=0000:00:10.0 kunit.enable=0"]
    for name in files:
        cmd += ["--add", f"{pages}/{name}:/{name}"]
    cmd += [f"{HERE}/guest.py", *COMPRESSORS, "--", *(f"/{name}" for name in files)]
    return booted("zswap-ratio", KERNEL, *cmd)


def figures(row):
    """Ratios of a row: of what is stored, and of all that is not zero, with what the pool needs and what it does not take"""
    whole = (row["pages"] - row["zero"]) * 4096
    return {"ratio": row["stored"] * 4096 / row["bytes"], "pool_ratio": whole / (row["pool"] + row["poor"] * 4096)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("pages", metavar="PAGES")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/zswap-ratio.json", metavar="FILE")
    o = ap.parse_args()
    with open(f"{o.pages}/from") as f:
        source = f.read().splitlines()
    rows = boot(o.pages)
    bad = [r for r in rows if not r["right"] or r["left"] or r["stored"] + r["poor"] + r["zero"] != r["pages"]]
    table = {}
    for row in rows:
        name = "mix" if "+" in row["set"] else row["set"].removeprefix("test-")
        table.setdefault(row["compressor"], {})[name] = dict(figures(row), poor=row["poor"])
    data = {
        "emulated": "QEMU TCG, one host thread, 2 vCPUs; deflate-iaa* on a simulated device, whose matches are not a real one's",
        "pages": source, "table": table, "runs": rows}
    keep(o.out, "zswap-ratio", data)
    for name, of in table.items():
        print(f"{name:20}", "  ".join(f"{s} {v['ratio']:.2f} {v['pool_ratio']:.2f} {v['poor']}" for s, v in of.items()))
    for row in bad:
        print("zswap-ratio: not so:", json.dumps(row), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
