#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What LRU shards cost where they are off: instructions by function, base against off.

  bench/experiments/lru-off/run.py [OUT]     default: bench/results/lru-off.json

Reads what `bench/scale.py --part instr` has counted (BUILD/results/scale/instr.jsonl): every
instruction of 16,384 pages swapped out and in, on one emulated CPU with QEMU's instruction
clock, by the function that it is in. Prints, for the functions that LRU shards have hooks
in or that these are inlined into, instructions a page in the base kernel and in ours booted
with scaleswap=off, and writes all functions that differ. Beside them stands how many static
branches a function has: each that runs and is not taken is one instruction.
"""
import bisect
import datetime
import hashlib
import json
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "build"))
from paths import BUILD  # noqa: E402

# Hot: what runs for each page or each batch of pages
HOT = """lru_add lru_activate lru_move_tail lru_deactivate lru_lazyfree folio_batch_move_lru
folio_batch_add_and_move folio_add_lru __page_cache_release release_pages folios_put_refs
folio_lruvec_lock folio_lruvec_lock_irq folio_lruvec_lock_irqsave lru_note_cost
isolate_lru_folios move_folios_to_lru shrink_lruvec get_scan_count shrink_active_list
shrink_inactive_list shrink_folio_list inactive_is_low lruvec_lru_size shrink_node
mem_cgroup_update_lru_size __mod_lruvec_state __mod_memcg_lruvec_state __lruvec_stat_mod_folio
lruvec_page_state workingset_refault workingset_eviction workingset_test_recent
workingset_update_node folio_mark_accessed __remove_mapping lru_gen_add_folio
lru_gen_del_folio.constprop.0 workingset_age_nonresident age_nonresident""".split()
# One function of the base kernel that is two of ours, as it has a second caller
TOGETHER = {"shrink_lruvec": ["shrink_lruvec", "get_scan_count", "ssw_shrink_lruvec"]}



def command(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def static_branches(kernel, sha256):
    """How many static branches each function has: entries of the kernel's jump table, on x86-64"""
    with open(f"{BUILD}/out/{kernel}/arch/x86/boot/bzImage", "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != sha256:
            sys.exit(f"lru-off: ERROR: {kernel} was built anew; run 'bench/scale.py --part instr' again")
    vmlinux = f"{BUILD}/out/{kernel}/vmlinux"
    symbols = [line.split() for line in command("nm", vmlinux).splitlines()]
    symbols = [(int(s[0], 16), s[1], s[2]) for s in symbols if len(s) == 3]
    first, last = (next(a for a, _, n in symbols if n == f"__{end}___jump_table") for end in ("start", "stop"))
    section = next(line for line in command("readelf", "-SW", vmlinux).splitlines() if " .rodata " in line)
    address, offset = (int(x, 16) for x in section.split("PROGBITS")[1].split()[:2])
    with open(vmlinux, "rb") as file:
        file.seek(offset + first - address)
        table = file.read(last - first)
    text = sorted((a, n) for a, kind, n in symbols if kind in "tT")
    starts = [a for a, _ in text]
    found = {}
    for at in range(0, len(table), 16):
        # struct jump_entry: where the branch is and where it goes to, both relative, and its key
        code = first + at + struct.unpack_from("<i", table, at)[0]
        name = text[bisect.bisect_right(starts, code) - 1][1]
        found[name] = found.get(name, 0) + 1
    return found


rows = [json.loads(line) for line in open(f"{BUILD}/results/scale/instr.jsonl")]
off = [r for r in rows if r["key"]["column"] == "off"][-1]
base = [r for r in rows if r["key"]["column"] == "base" and r["key"]["how"] == off["key"]["how"]][-1]
functions = {}
for window, what in (("1", "swap_out"), ("2", "swap_in")):
    counts = {}
    for name, row in (("base", base), ("off", off)):
        phase = next(p for p in row["result"]["phases"] if str(p["window"]) == window)
        pages = phase["pages_out"] or phase["pages_in"]
        counts[name] = {f: n / pages for f, n in row["result"]["counts"][window]["self"].items()}
    for f in sorted(set(counts["base"]) | set(counts["off"])):
        b, o = (counts[c].get(f, 0) for c in ("base", "off"))
        if f in HOT or abs(b - o) >= 0.5:
            functions.setdefault(f, {})[what] = {"base": round(b, 2), "off": round(o, 2)}
branches = {"base": static_branches("base-test", base["key"]["kernel"]),
            "off": static_branches("test", off["key"]["kernel"])}
for f, v in functions.items():
    v["static_branches"] = {c: branches[c].get(f, 0) for c in branches}
data = {"command": "bench/experiments/lru-off/run.py, after bench/scale.py --part instr",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "measured": {c: {"date": r["date"], "kernel_sha256": r["key"]["kernel"],
                         "repository": r["repository"]} for c, r in (("base", base), ("off", off))},
        "emulated": "QEMU TCG, one CPU, -icount shift=0, null_blk; instructions a page, by function",
        "hot": HOT, "functions": functions}
out = sys.argv[1] if len(sys.argv) > 1 else "bench/results/lru-off.json"
with open(out, "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
WHAT = ("swap_out", "swap_in", "static_branches")
print(f"{'function':30}{'swap_out base':>14}{'off':>9}{'swap_in base':>14}{'off':>9}{'branches base':>15}{'off':>6}")
sums = [0] * 6
for f in HOT:
    parts = TOGETHER.get(f, [f])
    if f not in functions or any(f in v[1:] for v in TOGETHER.values()):
        continue
    cells = [sum(functions.get(p, {}).get(w, {}).get(c, 0) for p in parts)
             for w in WHAT for c in ("base", "off")]
    if any(cells):
        print(f"{f:30}{cells[0]:14.2f}{cells[1]:9.2f}{cells[2]:14.2f}{cells[3]:9.2f}{cells[4]:15}{cells[5]:6}")
        sums = [a + b for a, b in zip(sums, cells)]
print(f"{'sum':30}{sums[0]:14.2f}{sums[1]:9.2f}{sums[2]:14.2f}{sums[3]:9.2f}{sums[4]:15}{sums[5]:6}")
