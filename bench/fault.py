#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a fault that waits for a page on NVMe costs: base kernel, and ours in three modes.

Three parts, one file, bench/results/fault.json, and a picture beside it, fault.svg:
  instr    instructions of a fault, from its first one to the store that rings the doorbell
           (submit), and from the completion's being noticed to user space (complete);
           one CPU, -icount shift=0, by stopwatches in QEMU (bench/load/insncount.c, watch=on)
  latency  of each fault by the thread's clock, 1 to 8 threads on 8 CPUs that take turns,
           page-cluster 0 and 3; and interrupts a fault; in interleaved rounds
  device   what QEMU's drive takes itself, from doorbell to completion, by QEMU's trace

The columns: base; off, bio, direct: ours, with that in /sys/kernel/mm/scaleswap/fault/mode.
On two quiet cores: instr 5 min, latency 15 min, device 1 min. It can be stopped at any
time and goes on from there, as bench/scale.py does. Ends with 0 if every guest ended well
and every page was right, else 1; 2: could not run.
"""
import argparse
import json
import os
import re
import signal
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402
import scale as sc  # noqa: E402

MODES = ["off", "bio", "direct"]
ICOUNT = "-icount shift=0,sleep=on -cpu max,-rdrand,-rdseed -rtc base=2026-01-01,clock=vm"
WINDOWS = {1: "page_cluster_0", 2: "page_cluster_3_shuffle", 3: "page_cluster_3_read"}

PARTS = {
    # poll_us: so that it is the completion that ends the polling, not the limit. bps: of the
    # host's clock, so that a completion seldom comes before the thread waits, which with
    # an emulated CPU it often would, and with a real drive never does
    "instr": dict(config="", columns=["base", *MODES], rounds=2, cpus=[1], mem=512, pages=2048,
                  clusters=[0, 3], threads=[1], poll_us=100000, bps=400 * 4096, timeout=600),
    # ours are one guest, with the modes in turns
    "latency": dict(config="", columns=["base", "ours"], rounds=5, cpus=[8], mem=640, pages=2048,
                    clusters=[0, 3], threads=[1, 2, 4, 8], poll_us=None, timeout=900),
    "device": dict(config="", columns=["base", "direct"], rounds=1, cpus=[1], mem=512, pages=2048,
                   clusters=[0], threads=[1], poll_us=None, timeout=300),
}
QUICK = {
    "instr": dict(rounds=1, pages=1024),
    "latency": dict(rounds=1, pages=512, threads=[1, 4], cpus=[4]),
    "device": dict(pages=512),
}

# --- stopwatches ------------------------------------------------------------------------

ANY = {"X": ["asm_exc_page_fault"], "I": ["asm_common_interrupt"], "Q": ["nvme_irq"],
       "W": ["wake_page_function"], "S": ["__schedule"]}
# Kind: names, of which the first that the kernel has counts. A function that is always
# called through a pointer cannot be inlined; static ones with one caller may be.
POLLED = {
    "bio": [{"Y": ["bio_poll"]}, {"H": ["nvme_poll_cq"]}],
    "direct": [{"Y": ["nvme_swap_poll"]},
               # K: the entry of the poll call that led to it, so the look at the ring is in
               {"C": ["nvme_swap_complete", "nvme_swap_reap_locked"], "K": ["scaleswap_read_done"]}],
}


def watch_map(system_map, path, column):
    """What insncount.so wants to know; {function: kind}. Dies if one is missing."""
    known = {}
    with open(system_map) as f:
        for line in f:
            addr, kind, name = line.split()
            # parts that are seldom run have addresses of their own, and are no entries
            if kind in "tTwW":
                known.setdefault(int(addr, 16), []).append(name)
    plain = {}
    for addr, names in known.items():
        for n in names:
            if ".cold" not in n and ".part." not in n:
                plain.setdefault(n.split(".")[0], []).append((addr, n))
    wanted = {}
    for choice in [{k: v} for k, v in ANY.items()] + POLLED.get(column, []):
        found = next(((kind, n) for kind, names in choice.items() for n in names if n in plain), None)
        if not found:
            names = ", ".join(n for v in choice.values() for n in v)
            b.die(f"{system_map} has none of {names}: inlined or renamed; see POLLED and ANY in bench/fault.py")
        wanted[found[1]] = found[0]
    marks = {addr: (kind, n) for name, kind in wanted.items() for addr, n in plain[name]}
    with open(path, "w") as f:
        for addr in sorted(known):
            name = known[addr][0]
            kind = "T" if re.match(r"asm_(sysvec|spurious)", name) else "F"
            kind, name = marks.get(addr, (kind, name))
            f.write(f"{addr:x} {kind} {name}\n")
    return wanted


MARKS = ["first", "last", "poll", "sleep", "caught", "woken", "irq", "end", "doorbells", "irqs", "ticks", "switches"]


def read_faults(path, column):
    """{window's name: summary}"""
    rows, rest = {}, {}
    with open(path) as f:
        lines = f.read().split("\n")
    if "end" not in lines:
        raise ValueError(f"{path} is not complete")
    for line in lines:
        word, *nums = line.split() or [""]
        if word == "fault":
            rows.setdefault(int(nums[0]), []).append(dict(zip(MARKS, map(int, nums[1:]))))
        elif word in ("others", "dropped"):
            rest.setdefault(int(nums[0]), {})[word] = int(nums[1])
    return {WINDOWS[w]: dict(summary(rows[w], column in POLLED), **rest.get(w, {})) for w in rows}


def summary(faults, polled):
    parts = {k: [] for k in ("submit", "complete", "after", "polled", "asleep", "total")}
    left, doorbells, irqs, ticks = {}, {}, 0, 0

    def leave(why):
        left.setdefault(why, []).append(f["end"])
    for f in faults:
        doorbells[f["doorbells"]] = doorbells.get(f["doorbells"], 0) + 1
        if polled:
            if not f["poll"] or not f["caught"]:
                leave("not polled to its end" if f["poll"] else "not polled")
                continue
            if f["switches"]:
                leave("another task ran meanwhile")
                continue
            # rings first for the page that the thread waits for
            submit, rest, noticed = f["first"], f["poll"], f["caught"]
            parts["polled"].append(noticed - rest)
        else:
            if not f["woken"]:
                leave("there before the thread slept")
                continue
            if f["woken"] < f["sleep"] or not f["sleep"]:
                leave("interrupt and sleep out of order")
                continue
            # with readahead: the last before it waits, of one plug that is flushed at once
            submit, rest, noticed = f["last"], f["sleep"], f["woken"]
            parts["asleep"].append(noticed - rest)
        parts["submit"].append(submit)
        parts["after"].append(rest - submit)
        parts["complete"].append(f["end"] - noticed)
        parts["total"].append(f["end"])
        irqs += f["irqs"]
        ticks += f["ticks"]
    out = {k: dict(sc.spread(v), mean=round(statistics.fmean(v), 1)) if v else None for k, v in parts.items()}
    return dict(out, faults=len(faults), doorbells=doorbells, irqs=irqs, ticks=ticks,
                left_out={k: {"faults": len(v), "total": statistics.median(v)} for k, v in left.items()})


# --- guests -----------------------------------------------------------------------------

def measure(work, p, part, column, cpus, nr, log):
    """Boot a guest; its result, or {"error": why}."""
    kernel = sc.COLUMNS[column]["prefix"]
    modes = [""] if column == "base" else MODES if column == "ours" else [column]
    options = {k: p[k] for k in ("pages", "clusters", "threads", "poll_us")}
    options.update(part=part, modes=modes, seed=nr + 1)
    queues = 3 * cpus + 1
    append = [sc.APPEND, sc.COLUMNS[column]["append"], f"nvme.poll_queues={cpus}"]
    command = [f"{b.ROOT}/scripts/guest/boot.py", "--kernel", f"{work}/{kernel}", "--cpus", str(cpus), "--mem", str(p["mem"]),
               "--initramfs", f"{work}/root.cpio", "--nvme", "1", "--nvme-size", "64",
               # one for each CPU of each sort
               "--qemu", f"-set device.n0.max_ioqpairs={queues} -set device.n0.msix_qsize={queues + 1}",
               "--add", f"{work}/swapload:/ssw/swapload", "--add", f"{b.ROOT}/bench/guest/demo.py:/ssw/demo.py",
               "--add", f"{b.ROOT}/bench/guest/scale.py:/ssw/scale.py",
               "--timeout", str(p["timeout"]), "--accel", "tcg", "--thread", "single", "--log", log]
    counts, trace = f"{work}/{column}.counts", f"{work}/trace"
    if part == "instr":
        append.append(sc.APPEND_ICOUNT.strip())
        functions_path = f"{work}/{kernel}-{column}.functions"
        functions = watch_map(f"{work}/{kernel}.map", functions_path, column)
        command += ["--qemu", ICOUNT,
                    "--qemu", f"-set drive.d0.throttling.bps-total={p['bps']}",
                    "--qemu", f"-plugin {work}/insncount.so,map={functions_path},out={counts},watch=on"]
    if part == "device":
        command += ["--qemu", f"-msg timestamp=on -D {trace} " + " ".join(f"-trace {e}" for e in EVENTS)]
    command += ["--append", " ".join(a for a in append if a), f"{b.ROOT}/bench/guest/fault.py", json.dumps(options)]
    r = sc.run_guest(command, log)
    if "error" in r:
        return r
    for x in r["runs"]:
        # or something else would be measured than is told
        if x["mode"] in POLLED and x["reads"].get(f"reads_{x['mode']}", 0) < 0.9 * x["majors"]:
            return {"error": f"mode {x['mode']}: {x['reads']} for {x['majors']} faults", "log": log, "said": r["nvme"]}
    if part == "instr":
        r.update(instructions=read_faults(counts, column), functions=functions)
        r["accel"] += ",icount shift=0"
    if part == "device":
        r["device_us"] = read_trace(trace)
    r.update(drives="QEMU NVMe", kernel_name=kernel)
    return dict(r, error="wrong pages") if any(x["wrong"] for x in r["runs"]) else r


EVENTS = ["pci_nvme_mmio_doorbell_sq", "pci_nvme_io_cmd", "pci_nvme_rw_complete_cb", "pci_nvme_enqueue_req_completion"]


def read_trace(path):
    """How long QEMU's drive takes for a read of 4 KB that is alone, in us of the host's clock."""
    steps = {"doorbell_to_fetch": [], "fetch_to_backend": [], "backend_to_completion": [], "doorbell_to_completion": []}
    at = {}
    with open(path, errors="replace") as f:
        for line in f:
            m = re.search(r"(\d+)[@:](\d+\.\d+):(pci_nvme_\w+) (.*)", line)
            stamp = None
            if m:
                stamp, event, rest = float(m[2]) * 1e6, m[3], m[4]
            else:
                m = re.match(r"(\S+Z) (pci_nvme_\w+) (.*)", line)
                if not m:
                    continue
                h, mi, s = m[1].rstrip("Z").split("T")[1].split(":")
                stamp, event, rest = (int(h) * 3600 + int(mi) * 60 + float(s)) * 1e6, m[2], m[3]
            if event == "pci_nvme_mmio_doorbell_sq":
                # a new one; what was not finished was not alone
                at = {"queue": re.search(r"sqid (\d+)", rest)[1], "doorbell": stamp}
            elif event == "pci_nvme_io_cmd" and at:
                # only reads: writes are swap-out
                read = re.search(r"opname .?NVME_NVM_CMD_READ|opc 0x2\b", rest)
                at = dict(at, fetch=stamp) if read and "fetch" not in at else {}
            elif event == "pci_nvme_rw_complete_cb" and at.get("fetch"):
                at["backend"] = stamp
            elif event == "pci_nvme_enqueue_req_completion" and at.get("backend"):
                steps["doorbell_to_fetch"].append(at["fetch"] - at["doorbell"])
                steps["fetch_to_backend"].append(at["backend"] - at["fetch"])
                steps["backend_to_completion"].append(stamp - at["backend"])
                steps["doorbell_to_completion"].append(stamp - at["doorbell"])
                at = {}
    out = {}
    for k, v in steps.items():
        v.sort()
        out[k] = {"n": len(v), **{q: round(v[min(len(v) - 1, int(len(v) * x))], 1) for q, x in
                                  (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))}} if v else None
    return out


def brief(part, r):
    if part == "instr":
        show = lambda v: "-" if not v else f"{v['median']:,.0f}"
        return "; ".join(f"{k}: submit {show(v['submit'])}, complete {show(v['complete'])} of {v['faults']}"
                         for k, v in r["instructions"].items())
    if part == "device":
        d = r["device_us"]["doorbell_to_completion"]
        return f"{d['p50']} us from doorbell to completion, {d['n']} reads" if d else "no read was traced"
    one = [x for x in r["runs"] if x["threads"] == 1 and x["page_cluster"] == 0]
    return ", ".join(f"{x['mode'] or 'base'} p50 {x['phases']['shuffle']['major_p50_ns'] / 1000:.0f} us" for x in one)


# --- results ------------------------------------------------------------------------------

QUANTILES = {"p50": "p50", "p99": "p99", "p99.9": "p999"}


def latencies(rows):
    """[{"threads", "page_cluster", "order", column: {"p50": spread, …}, "direct/base": …}], us"""
    at = {}
    for column, _, nr, row in rows:
        for r in row["result"]["runs"]:
            c = r["mode"] or "base"
            for order, ph in r["phases"].items():
                by = at.setdefault((r["threads"], r["page_cluster"], order), {})
                by.setdefault(c, {})[nr] = dict(ph, reads=r["reads"])
    out = []
    for (threads, cluster, order), by in sorted(at.items(), key=lambda x: (x[0][0], x[0][1], x[0][2] != "shuffle")):
        line = {"threads": threads, "page_cluster": cluster, "order": order}
        for c, rounds in by.items():
            line[c] = {q: us(r[f"major_{n}_ns"] for r in rounds.values()) for q, n in QUANTILES.items()}
            line[c]["all_faults_avg"] = us(r["fault_avg_ns"] for r in rounds.values())
            majors = sum(r["majors"] for r in rounds.values())
            irqs = sum(r["nvme_irqs"] for r in rounds.values())
            line[c].update(majors=majors, faults=sum(r["faults"] for r in rounds.values()),
                           irqs_per_fault=round(irqs / majors, 4) if majors else None)
            if c == "base":
                continue
            # of both orders together
            line[c]["reads"] = {k: sum(r["reads"].get(k, 0) for r in rounds.values())
                                for k in sorted({k for r in rounds.values() for k in r["reads"]})}
            both = [(r, by["base"][nr]) for nr, r in rounds.items() if nr in by.get("base", {})]
            line[f"{c}/base"] = {
                q: sc.spread([round(r[f"major_{n}_ns"] / x[f"major_{n}_ns"], 4) for r, x in both
                              if x[f"major_{n}_ns"]]) for q, n in QUANTILES.items()}
        out.append(line)
    return out


def us(values):
    s = sc.spread([round(v / 1000, 1) for v in values])
    return s


NOTES = [
    "All is QEMU: CPUs emulated by TCG, on a host of two cores that other work shares; the drive is QEMU's NVMe "
    "on a sparse file in the host's page cache. meta.device_us is what that drive takes for one read that is "
    "alone, from the store to the doorbell to the completion entry, on the host's clock, with QEMU's trace on; "
    "nothing of it is subtracted anywhere. So a latency here is to a large part QEMU's, and the paper's -78 % "
    "cannot be seen in it. A CPU that polls also takes host time from the threads that are the drive, where one "
    "that sleeps gives it to them: compare device_us of base and direct.",
    "instructions: of the kernel, a median over faults, of the last round (all are in runs); submit is from the first instruction of "
    "asm_exc_page_fault to the store to the doorbell of the command for the page that the thread waits for: the "
    "last doorbell before it waits in base and off (requests are in a plug, flushed at once: see doorbells, how "
    "many faults rang how often), the first one in bio and direct. complete is from the completion's being "
    "noticed to the first instruction in user space: in base and off from the entry of the interrupt "
    "(asm_common_interrupt) whose handler nvme_irq woke the thread, with the context switch; in bio from "
    "nvme_poll_cq's entry; in direct from the function under meta.functions.",
    "instructions_all: the same with min, max and mean, and what is in neither of the two: `after` is from the "
    "doorbell to the first look (bio, direct: readahead is there) or to the entry of the scheduler; `polled` is "
    "what polling took until the completion was noticed, which depends on how fast QEMU's drive is; `asleep` is "
    "what the CPU executed while the thread slept, other tasks and idle loop; `total` is all from first to last. "
    "left_out: faults that are in none of these. `others`: faults without a command to the drive. An instruction "
    "that is repeated (rep) counts each time. In this part poll_us was 100000, so that few reads are handed "
    "over, and the drive was throttled to 400 pages a second (QEMU's throttling.bps-total, host's clock): without that "
    "the completion often came within the 350 instructions between the doorbell and the sleep.",
    "latency_us: of faults that had to wait for a read (major), by the time stamp counter before and after the "
    "access, in user space (bench/load/swapload.c); the wall clock of a guest whose CPUs take turns on one host "
    "thread, so beyond one thread it is mostly the others' turns. Threads are of one process. At the top of a "
    "column: one thread, page-cluster 0, random order; all in `latency`, the median, min and max over rounds. "
    "latency_over_base: median, min and max of the rounds' ratios. "
    "poll_us was the default.",
    "irqs_per_fault: /proc/interrupts of the I/O queues over the major faults of the same run, page-cluster 0, "
    "one thread.",
]


def result(all_rows, kernels, columns_of):
    rows = [r for v in all_rows.values() for r in v]
    m = sc.meta("fault", {"config": "", "columns": sorted({c for c, *_ in rows})}, kernels, rows)
    m["how"] = {part: PARTS[part] if part not in columns_of else columns_of[part] for part in all_rows}
    m["notes"] = NOTES
    m["device_us"] = {c: row["result"]["device_us"] for c, _, _, row in all_rows.get("device", ())}
    m["functions"] = {c: row["result"]["functions"] for c, _, _, row in all_rows.get("instr", ())}
    rec = {"meta": m}
    lat = latencies(all_rows.get("latency", ()))
    top = next((l for l in lat if l["threads"] == 1 and l["page_cluster"] == 0 and l["order"] == "shuffle"), {})
    for c in ["base", *MODES]:
        one = {}
        found = [row["result"]["instructions"] for col, _, _, row in all_rows.get("instr", ()) if col == c]
        if found:
            # the last round; the others are in `runs`
            one["instructions_all"] = found[-1]
            zero = found[-1].get("page_cluster_0", {})
            one["instructions"] = {k: zero[k]["median"] if zero.get(k) else None
                                   for k in ("submit", "complete", "after", "polled", "asleep", "total")}
        if c in top:
            one["irqs_per_fault"] = top[c]["irqs_per_fault"]
            one["latency_us"] = {q: top[c][q]["median"] for q in QUANTILES}
            if f"{c}/base" in top:
                # of the pairs of a round each, which the host's other work hits alike
                one["latency_over_base"] = top[f"{c}/base"]
        if one:
            rec[c] = one
    rec["latency"] = lat
    rec["runs"] = []
    for part, part_rows in all_rows.items():
        for column, cpus, nr, row in part_rows:
            r = row["result"]
            rec["runs"].append({"part": part, "kernel": column, "round": nr, "cpus": cpus, "date": row["date"],
                                **{k: r[k] for k in ("accel", "host_seconds", "load_average", "driver", "runs",
                                                     "instructions", "device_us") if k in r}})
    sc.write_json("fault.json", rec, ["latency", "runs"])
    show(rec)


def show(rec):
    print(f"\n{'':10}{'submit':>9}{'complete':>9}{'polled':>9}{'total':>9}   irqs/fault   p50 / p99 / p99.9 us")
    base = rec.get("base", {}).get("instructions")
    for c in ["base", *MODES]:
        one = rec.get(c)
        if not one:
            continue
        i, l = one.get("instructions") or {}, one.get("latency_us") or {}
        num = lambda v: f"{v:9,.0f}" if v is not None else f"{'-':>9}"
        both = ""
        if base and i.get("submit") and base.get("submit"):
            both = f"   submit+complete {(i['submit'] + i['complete']) / (base['submit'] + base['complete']):.2f} of base"
        print(f"{c:10}" + "".join(num(i.get(k)) for k in ("submit", "complete", "polled", "total")) +
              f"   {one.get('irqs_per_fault', '-'):>10}   " + " / ".join(str(l.get(q, '-')) for q in QUANTILES) + both)


def main():
    ap = argparse.ArgumentParser(prog="bench/fault.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", action="append", choices=list(PARTS), help="only this one (can be repeated)")
    ap.add_argument("--kernel", default="test", metavar="NAME", help="ours (default test)")
    ap.add_argument("--base", default="base-test", metavar="NAME", help="the base's (default base-test)")
    ap.add_argument("--rounds", type=int, metavar="N", help="instead of " + ", ".join(
        f"{p['rounds']} ({k})" for k, p in PARTS.items()))
    ap.add_argument("--columns", metavar="C,C…",
                    help="only these, of base, off, bio, direct and (latency) ours")
    ap.add_argument("--quick", action="store_true",
                    help="small and once, to see that all works; results go below BUILD")
    ap.add_argument("--no-build", action="store_true", help="take the kernels that are there")
    ap.add_argument("--fresh", action="store_true", help="measure anew what was measured before")
    ap.add_argument("--report", action="store_true",
                    help="boot nothing; file and picture from what is there")
    ap.add_argument("--out", metavar="DIR", help="instead of bench/results")
    o = ap.parse_args()
    signal.signal(signal.SIGTERM, lambda n, _: sys.exit(128 + n))
    sc.OUT = os.path.abspath(o.out or (f"{sc.STORE}/quick" if o.quick else sc.RESULTS))
    ours = dict(prefix=o.kernel, append="scaleswap=fault")
    sc.COLUMNS = {"base": dict(prefix=o.base, append=""), **{c: ours for c in [*MODES, "ours"]}}
    parts = {}
    for name in PARTS:
        if o.part and name not in o.part and not o.report:
            continue
        p = dict(PARTS[name], **(QUICK[name] if o.quick else {}))
        if o.rounds:
            p["rounds"] = o.rounds if name != "device" else 1
        if o.columns:
            p["columns"] = [c for c in p["columns"] if c in o.columns.split(",")]
        parts[name] = p
    fine, rows = True, {}
    with b.Workplace() as work:
        kernels = sc.prepare(work, parts, o.no_build or o.report)
        stores = {name: sc.Store(f"fault-{name}", o.fresh and not o.report and name in parts) for name in PARTS}
        try:
            for name, p in parts.items():
                if not o.report:
                    fine = sc.run_missing(work, name, p, kernels, stores[name], measure, brief) and fine
        finally:
            # also when it is stopped; parts that were not asked for are what they were
            for name in PARTS:
                p = parts.get(name) or dict(PARTS[name], **(QUICK[name] if o.quick else {}))
                p["columns"] = [c for c in p["columns"] if sc.COLUMNS[c]["prefix"] in kernels]
                found = sc.collect(name, p, kernels, stores[name])
                if found:
                    rows[name] = found
            if rows:
                result(rows, kernels, parts)
            else:
                sc.say("nothing has been measured with these kernels")
    if rows:
        sc.draw(sc.OUT, "fault")
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
