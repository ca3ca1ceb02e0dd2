#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Keep what long runs came to: bench/longruns.py LOG...

Each LOG is what scripts/test/longrun.sh wrote, of a run that has ended. Adds a record of it
to bench/results/long-runs.json: what ran, when, on which kernel, for how long, the counters
at its end, the verdict. What a log does not say is null. A log that is there already is
replaced.
"""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib as b  # noqa: E402

FILE = f"{b.ROOT}/bench/results/long-runs.json"
# The line in which a run says what it came to, and what in it is a counter, by name
NUMBERS = {
    "soak": (r"# end (t=.*)", {}),
    "iaa": (r"# end (t=.*)", {}),
    "fault": (r"# fault: (\w+ \d+ times, .*)",
              {"times": r"(\d+) times", "cpus_away": r"(\d+) CPUs away"}),
    "churn": (r"# churn: (\d+ workloads, .*)",
              {"workloads": r"(\d+) workloads", "ended": r"(\d+) ended", "oom_kills": r"(\d+) OOM kills",
               "moves": r"(\d+) moves", "kills": r"(\d+) kills", "groups_made_anew": r"(\d+) groups",
               "cpus_offline": r"(\d+) CPUs", "blocks_offline": r"and (\d+) of", "blocks_tried": r"of (\d+) blocks",
               "mglru_switched": r"MGLRU switched (\d+) times",
               "shards_at_most": r"(\d+) at the most"}),
}
LOAD = {"rounds": r"(\d+) rounds", "pages_touched": r"(\d+) pages touched", "wrong": r"(\d+) wrong",
        "lost": r"(\d+) lost", "longest_ms": r"longest (\d+) ms"}


def find(pattern, text):
    m = re.search(pattern, text, re.M)
    return m and m[1]


def counters(run, text):
    line, named = NUMBERS[run]
    said = find(f"^{line}$", text) or ""
    out = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", said)}
    if run == "iaa":
        # Of descriptors. In other runs what is lost is pages.
        out.update({f"descriptors_{k}": out.pop(k) for k in ("done", "failed", "lost") if k in out})
    # as in "direct 267185 bio 47176"
    out.update({k: int(v) for k, v in re.findall(r"(\w+) (\d+)(?= \w+ \d|$)", said.partition("; ")[2])})
    out.update({k: int(find(p, said)) for k, p in named.items() if find(p, said)})
    load = find(r"^# # fault_?load: (.*)$", text)
    out.update({k: int(find(p, load)) for k, p in LOAD.items() if load and find(p, load)})
    return out


def record(path):
    """What the log at `path` says."""
    with open(path, errors="replace") as f:
        text = f.read()
    status = find(r"^\w+: exit status (\d+)\s*\Z", text)
    run = find(r"^# (soak|churn|fault|iaa) (?:good|BAD)$", text)
    if not status or not run:
        b.die(f"{path} is no log of scripts/test/longrun.sh, or the run has not ended")
    kind = find(r"^# fault: (reset|remove|timeout), ", text)
    script = find(r"^# selftests: scaleswap: (\S+)", text)
    name, date = re.search(r"/([\w.-]+)-(\d{8}-\d{6})\.console$", text, re.M).groups()
    kernel = find(r"^# longrun: .*?, kernel (\S+),", text) or name
    cpus = find(r"^# longrun: .*, (\d+) CPUs,", text) or find(r"cpus=(\d+)", text)
    bad = find(r"^# (?:soak|churn|fault|iaa) (good|BAD)$", text) == "BAD"
    return {
        "what": f"{run} {kind}" if kind else run,
        "log": os.path.basename(path),
        "date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[9:11]}:{date[11:13]}:{date[13:]}+00:00",
        "command": script and f"{script} {kind}" if kind else script,
        "repository": find(r"^# longrun: repository (\S+),", text),
        "kernel": kernel, "bzimage_sha256": find(r"bzImage sha256 (\w+)", text),
        "accel": find(r"^boot: accel (\S+)", text),
        "cpus": cpus and int(cpus),
        "seconds": int(find(r"(?:seconds=|, )(\d+)(?: s,| cpus)", text)),
        "seed": find(r"seed[= ](\d+)", text),
        "counters": counters(run, text),
        "swap_left_kb": int(left) if (left := find(r"SwapFree=\d+kB used=(\d+)", text)) else None,
        "verdict": "BAD" if bad or status != "0" else "good",
        "exit_status": int(status),
    }


def load():
    try:
        with open(FILE) as f:
            return json.load(f)["runs"]
    except OSError:
        return []


def save(runs):
    rec = {"format": 1, "what": "scripts/test/longrun.sh: long runs, what each came to", "runs": [
        f"@{i}" for i in range(len(runs))]}
    text = json.dumps(rec, indent=1, ensure_ascii=False)
    for i, r in enumerate(runs):
        text = text.replace(f'"@{i}"', json.dumps(r, ensure_ascii=False))
    with open(FILE + ".new", "w") as f:
        f.write(text + "\n")
    os.rename(FILE + ".new", FILE)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    new = [record(path) for path in sys.argv[1:]]
    names = {r["log"] for r in new}
    save(sorted([r for r in load() if r["log"] not in names] + new, key=lambda r: r["date"]))
    for r in new:
        b.say(f"{r['log']}: {r['what']}, {r['seconds']} s, {r['verdict']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
