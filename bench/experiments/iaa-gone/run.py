#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What becomes of pages in zswap when the device goes that has compressed them?

  bench/experiments/iaa-gone/run.py KERNEL [--out FILE]

KERNEL is one with CONFIG_CRYPTO_DEV_IAA_BATCH=n, that is, with the base's driver; the other is
"test". zswap compresses pages on a simulated device, whose queue is then unbound, and each page is
read. Environment: BUILD. Emulated; counts. Writes bench/results/iaa-gone.json.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from rows import ROOT, boot, keep  # noqa: E402


def reads(kernel):
    """Boot one guest; its row."""
    status, rows, _ = boot(kernel, "--cpus", "2", "--mem", "512", "--nvme", "1", "--timeout", "90", "--qemu",
                           "-device e1000e,addr=0x10", "--append", "scaleswap=on idxd.sim=0000:00:10.0 kunit.enable=0",
                           f"{HERE}/guest.py")
    return dict(rows[0] if rows else {}, status=status)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("kernel", metavar="KERNEL")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/iaa-gone.json", metavar="FILE")
    o = ap.parse_args()
    data = {
        "emulated": "QEMU TCG, two CPUs; a simulated device that works at its doorbell",
        "base": reads(o.kernel), "ours": reads("test")}
    keep(o.out, "iaa-gone", data)
    print(json.dumps(data["base"]), json.dumps(data["ours"]))


if __name__ == "__main__":
    main()
