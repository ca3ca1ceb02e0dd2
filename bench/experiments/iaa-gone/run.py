#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What becomes of pages in zswap when the device goes that has compressed them?

  bench/experiments/iaa-gone/run.py KERNEL [--out FILE]

KERNEL is one with CONFIG_CRYPTO_DEV_IAA_BATCH=n, that is, with the base's driver; the other is
"test". zswap compresses pages on a simulated device, whose queue is then unbound, and each page is
read. Environment: BUILD. Emulated; counts. Writes bench/results/iaa-gone.json.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "scripts", "build"))
from paths import ROOT  # noqa: E402


def boot(kernel):
    """Boot one guest; its row."""
    cmd = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", "2", "--mem", "512", "--nvme", "1", "--timeout", "90",
           "--qemu", "-device e1000e,addr=0x10", "--append", "scaleswap=on idxd.sim=0000:00:10.0 kunit.enable=0", f"{HERE}/guest.py"]
    done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("row ")]
    return dict(rows[0] if rows else {}, status=done.returncode)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("kernel", metavar="KERNEL")
    ap.add_argument("--out", default=f"{ROOT}/bench/results/iaa-gone.json", metavar="FILE")
    o = ap.parse_args()
    data = {
        "command": " ".join(["bench/experiments/iaa-gone/run.py", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "repository": subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, two CPUs; a simulated device that works at its doorbell",
        "base": boot(o.kernel), "ours": boot("test")}
    with open(o.out, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
    print(json.dumps(data["base"]), json.dumps(data["ours"]))


if __name__ == "__main__":
    main()
