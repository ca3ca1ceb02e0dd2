#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What evictors cost where there are none: a kernel that is built without them beside ours.

  bench/experiments/evict-off/run.py [OUT]     default: bench/results/evict-off.json

Counts instructions a page as `bench/scale.py --part instr` does: one emulated CPU, QEMU's
instruction clock, 16,384 pages swapped out and in. Of the kernels test and noevictor, which
is the same with CONFIG_SCALESWAP_EVICTOR off: booted with scaleswap=off, and with all but
evictors, with both LRUs.
"""
import datetime
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import lib as b  # noqa: E402
import scale  # noqa: E402

NOEVICT = dict(prefix="", append="scaleswap=core,lru,fault", how="percore")
scale.COLUMNS.update({"noevict": NOEVICT, "noevict-mglru": dict(NOEVICT, mglru=True)})
COLUMNS = {"off": "booted off", "noevict": "no evictors", "noevict-mglru": "no evictors, MGLRU"}
scale.TITLES.update(COLUMNS)
WINDOWS = {"1": "swap_out", "2": "swap_in"}

data = {"command": "bench/experiments/evict-off/run.py",
        "emulated": "QEMU TCG, one CPU, -icount shift=0, null_blk; instructions a page",
        "kernels": {"test": "with evictors", "noevictor": "CONFIG_SCALESWAP_EVICTOR=n"},
        "columns": {c: scale.COLUMNS[c]["append"] + ("; MGLRU" if "mglru" in c else "") for c in COLUMNS}}
fine = True
with b.Workplace() as work:
    for config in data["kernels"]:
        part = dict(scale.PARTS["instr"], config=config, columns=list(COLUMNS), rounds=1)
        kernels = scale.prepare(work, {"instr": part}, False)
        store = scale.Store("evict-off-" + config, False)
        fine = scale.run_part(work, "instr", part, kernels, store) and fine
        for *_, row in scale.collect("instr", part, kernels, store):
            for phase in row["result"]["phases"]:
                what = WINDOWS.get(str(phase["window"]))
                if what:
                    pages = phase["pages_out"] or phase["pages_in"]
                    count = row["result"]["counts"][str(phase["window"])]["all"]
                    data.setdefault(what, {}).setdefault(row["key"]["column"], {})[config] = round(count / pages, 1)
            data["repository"] = sorted({*data.get("repository", ()), row["repository"]})
data["date"] = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
with open(sys.argv[1] if len(sys.argv) > 1 else f"{scale.RESULTS}/evict-off.json", "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
print(json.dumps({what: data[what] for what in WINDOWS.values()}, indent=1))
sys.exit(0 if fine else 1)
