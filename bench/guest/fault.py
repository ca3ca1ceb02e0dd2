#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of bench/fault.py that runs in the guest.

  fault.py OPTIONS     (JSON: part, modes, clusters, threads, pages, seed, ...)

Prints "result " and one line of JSON. One drive, one area; `modes` are what is written
to .../fault/mode one after the other, or [""] for a kernel that has no such file.
"""
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, "/ssw")
import demo as g  # noqa: E402
import scale as s  # noqa: E402

FAULT = f"{g.SYS}/fault"
# The same pages in no order, then in order; the second `out` has nothing to write.
LATENCY = ["fill", "out", "shuffle=shuffle", "out", "read=read"]


def reads():
    out = {os.path.basename(p): int(g.read(p)) for p in glob.glob(f"{FAULT}/reads_*")}
    out.update({k: v for k, v in g.counters().items() if "fallback/poll" in k or "no_poll" in k})
    return out


def set_mode(mode, o):
    if not mode:
        return
    s.write(f"{FAULT}/mode", mode)
    if o.get("poll_us") is not None:
        s.write(f"{FAULT}/poll_us", o["poll_us"])


def swapload(o, seed, threads, phases):
    """Its phases by name, and what it checked."""
    command = [s.LOAD, "--threads", str(threads), "--pages", str(o["pages"] // threads), "--seed", str(seed),
               "--cgroup", s.GROUP, *phases]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=s.into(s.GROUP))
    found, checked = {}, None
    for line in p.stdout:
        word, _, text = line.partition(" ")
        if word == "phase":
            ph = json.loads(text)
            found[ph["name"]] = ph
        elif word == "checked":
            checked = json.loads(text)
    if p.wait() or not checked:
        g.fail(f"{' '.join(command)}: status {p.returncode}")
    return found, checked


def run(o, mode, cluster, threads, phases, seed):
    set_mode(mode, o)
    s.write("/proc/sys/vm/page-cluster", cluster)
    before = reads(), g.vmstat()
    found, checked = swapload(o, seed, threads, phases)
    moved = g.delta(g.vmstat(), before[1])
    return {"mode": mode, "page_cluster": cluster, "threads": threads,
            "phases": {k: v for k, v in found.items() if k in ("shuffle", "read")},
            "verified": checked["verified"], "wrong": checked["wrong"],
            "pages_in": moved["pswpin"], "majors": moved["pgmajfault"],
            "reads": {k: v for k, v in g.delta(reads(), before[0]).items() if v}}


def part_latency(o):
    runs = []
    modes = o["modes"]
    for i, (threads, cluster) in enumerate((t, c) for t in o["threads"] for c in o["clusters"]):
        # they turn, so that none is always after the same one
        n = (i + o["seed"]) % len(modes)
        for mode in modes[n:] + modes[:n]:
            runs.append(run(o, mode, cluster, threads, LATENCY, o["seed"]))
    return {"runs": runs}


def part_instr(o):
    # Windows 1 to 3: page-cluster 0; 3 in no order; 3 in order. Pages have been in once
    # before, so that nothing is left to be written by the last `out`.
    warm = ["fill", "out", "read=warm", "out"]
    runs = [run(o, o["modes"][0], 0, 1, [*warm, "shuffle@1=shuffle"], o["seed"]),
            run(o, o["modes"][0], 3, 1, [*warm, "shuffle@2=shuffle", "out", "read@3=read"], o["seed"])]
    return {"runs": runs}


def part_device(o):
    return {"runs": [run(o, o["modes"][0], 0, 1, LATENCY[:3], o["seed"])]}


PARTS = {"latency": part_latency, "instr": part_instr, "device": part_device}


def main():
    o = json.loads(sys.argv[1])
    s.write("/proc/self/oom_score_adj", "-1000")
    devs = glob.glob("/dev/nvme*n1")
    if len(devs) != 1:
        g.fail(f"{len(devs)} NVMe drives, one is wanted")
    g.run("mkswap", devs[0])
    g.run("/sbin/swapon", devs[0])
    s.make_group(s.GROUP)
    queues = {os.path.basename(p): g.read(p).strip() for p in glob.glob("/sys/class/nvme/nvme0/swap_*")}
    print("begin", flush=True)
    result = PARTS[o["part"]](o)
    print("end", flush=True)
    result["driver"] = {"before": queues, "after": {
        os.path.basename(p): g.read(p).strip() for p in glob.glob("/sys/class/nvme/nvme0/swap_*")}}
    result["nvme"] = subprocess.run("dmesg | grep -i 'nvme\\|scaleswap'", shell=True, stdout=subprocess.PIPE,
                                    text=True).stdout.splitlines()[-30:]
    result["swap_after"] = s.areas_off()
    u = os.uname()
    result.update(release=u.release, version=u.version, guest_cpus=os.cpu_count())
    print("result " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
