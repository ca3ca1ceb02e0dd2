# SPDX-License-Identifier: GPL-2.0
"""The tables of README files that are from bench/results/parallel.json; see bench/tables.py."""
import statistics

import tables as t

FILE = "parallel.json"
LOCKS_FILE = "parallel-locks.json"
EVICT_FILE = "parallel-evict.json"
SPARE_FILE = "parallel-spare.json"
LRU_FILE = "parallel-lru.json"
LOCKS = {"lru_lock": "`lru_lock`", "si->lock": "`si->lock`"}
KERNELS = {"base": "base kernel", "mglru": "base, MGLRU", "linux-7.2": "Linux 7.2", "on": "`scaleswap=on`",
           "on-less-core": "on, plain areas", "on-less-lru": "on, no LRU shards", "on-less-fault": "on, no critical faults",
           "on-less-evict": "on, no evictors"}
LOADS = {"shared": "processes, one cgroup", "threads": "threads of one process", "apart": "processes, a cgroup each",
         "global": "processes, no limit", "slow": "processes, one cgroup, drives of 10 µs"}
# LRU, and the kernels that have it: base, ours without evictors (for one load only), with them
EVICT = (("classic", ("base", "on-less-evict", "on")), ("MGLRU", ("mglru", "on-less-evict-mglru", "on-mglru")))
# LRU, and our kernels with one list and with shards
LRU = (("classic", "core", "on-less-evict"), ("MGLRU", "core-mglru", "on-less-evict-mglru"))
PEERS = ("base", "linux-7.2")
STAGES = (("swap out", lambda r: r["swap_out"]["kpages_s"]), ("swap in", lambda r: r["swap_in"]["kpages_s"]),
          ("both", lambda r: r["kfaults_s"]))
# What the paper says of 128 cores, over Linux 6.6.8
PAPER = (("throughput", "higher", 3.41), ("latency of a fault, average", "lower", 11.5),
         ("latency of a fault, p99.9", "lower", 27.2))
LINES_CPUS = 32


class Runs:
    """Of the file, by load, CPUs, kernel; and T, Q and seed, which are the main ones unless given."""

    def __init__(self):
        d = t.data(FILE)
        main = d["meta"]["main"]
        self.main = main["t_ns"], main["quantum"], d["meta"]["how"]["seed"]
        self.rows = {(r["load"], r["cpus"], r["kernel"], r["t_ns"], r["quantum"], r["seed"]): r for r in d["runs"]}

    def get(self, load, cpus, kernel, setting=None):
        return self.rows.get((load, cpus, kernel, *(setting or self.main)))

    def of(self, part):
        """All values of one part of the key, in order."""
        return sorted({k[part] for k in self.rows})

    def settings(self):
        """(T, Q, seed), the main one first, then those of its seed."""
        return sorted({k[3:] for k in self.rows}, key=lambda x: (x != self.main, x[2] != self.main[2], x))


def ratio(over, under, value=lambda r: r["kfaults_s"]):
    return f"{value(over) / value(under):.2f}" if over and under else ""


def head(runs, load):
    return [c for c in runs.of(1) if runs.get(load, c, "base")]


def cpu_titles(cpus):
    return [f"{c} CPU{'s' * (c > 1)}" for c in cpus]


def table_parallel():
    """Thousand faults a second, and the ratios, one cgroup."""
    runs = Runs()
    cpus = head(runs, "shared")
    rows = []
    for kernel in ("base", "linux-7.2", "on"):
        found = [runs.get("shared", c, kernel) for c in cpus]
        rows.append([f"{KERNELS[kernel]}: thousand faults a second", *[t.n(r["kfaults_s"]) if r else "" for r in found]])
    for peer in PEERS:
        rows.append([f"`scaleswap=on` over {KERNELS[peer]}",
                     *[ratio(runs.get("shared", c, "on"), runs.get("shared", c, peer)) for c in cpus]])
    return t.markdown(["", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_stages():
    runs = Runs()
    cpus = head(runs, "shared")
    rows = []
    for title, value in STAGES:
        for peer in PEERS:
            rows.append([f"{title}, over {KERNELS[peer]}",
                         *[ratio(runs.get("shared", c, "on"), runs.get("shared", c, peer), value) for c in cpus]])
    return t.markdown(["`scaleswap=on`", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_kernels():
    """All kernels in thousand faults a second: what each mechanism is worth."""
    runs = Runs()
    cpus = head(runs, "shared")
    rows = [[title, *[t.n(r["kfaults_s"]) if r else "" for r in (runs.get("shared", c, k) for c in cpus)]]
            for k, title in KERNELS.items() if any(runs.get("shared", c, k) for c in cpus)]
    return t.markdown(["thousand faults a second", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_latency():
    runs = Runs()
    cpus = head(runs, "shared")
    rows = []
    for key, title in (("avg_us", "average"), ("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9")):
        for kernel in ("base", "linux-7.2", "on"):
            found = [runs.get("shared", c, kernel) for c in cpus]
            rows.append([f"{title}: {KERNELS[kernel]}", *[f"{r[key]:,.0f}" if r else "" for r in found]])
    return t.markdown(["µs of a fault", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_loads():
    runs = Runs()
    cpus = head(runs, "shared")
    rows = []
    for load, title in LOADS.items():
        for peer in PEERS:
            cells = [ratio(runs.get(load, c, "on"), runs.get(load, c, peer)) for c in cpus]
            if any(cells):
                rows.append([f"{title}: over {KERNELS[peer]}", *cells])
    return t.markdown(["`scaleswap=on`, both", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_settings():
    """Do other T, Q and seeds say the same? The medians are over all of them."""
    runs = Runs()
    cpus = head(runs, "shared")
    rows = []
    for peer in PEERS:
        every = {c: [] for c in cpus}
        for t_ns, q, seed in runs.settings():
            cells = []
            for c in cpus:
                on, other = (runs.get("shared", c, k, (t_ns, q, seed)) for k in ("on", peer))
                cells.append(ratio(on, other))
                if on and other:
                    every[c].append(on["kfaults_s"] / other["kfaults_s"])
            rows.append([f"T {t_ns}, Q {q}{f', seed {seed}' if seed != runs.main[2] else ''}: over {KERNELS[peer]}", *cells])
        rows.append([f"**median: over {KERNELS[peer]}**",
                     *[f"{statistics.median(every[c]):.2f}" if every[c] else "" for c in cpus]])
    return t.markdown(["`scaleswap=on`, both", *cpu_titles(cpus)], rows) + t.source(FILE)


def table_parallel_lines():
    """Lines that a CPU fetches from another one, a fault, by function."""
    runs = Runs()
    kernels = ("base", "linux-7.2", "on")
    found = {k: runs.get("shared", LINES_CPUS, k) for k in kernels}
    if not all(found.values()):
        return [f"(not measured at {LINES_CPUS} CPUs)"] + t.source(FILE)
    names = set()
    for r in found.values():
        names |= set(list(r["lines_by_function"])[:14])
    most = lambda name: max(r["lines_by_function"].get(name, 0) for r in found.values())
    rows = [[f"`{name}`", *[f"{found[k]['lines_by_function'][name]:.1f}" if name in found[k]["lines_by_function"] else ""
                            for k in kernels]] for name in sorted(names, key=lambda x: (-most(x), x))]
    rows.append(["**all functions**", *[f"**{found[k]['lines_per_fault']:.1f}**" for k in kernels]])
    rows.append(["µs that a fault waits for them", *[f"{found[k]['line_us_per_fault']:.1f}" for k in kernels]])
    head_ = [f"lines a fault, {LINES_CPUS} CPUs", *[KERNELS[k] for k in kernels]]
    return t.markdown(head_, rows) + t.source(FILE)


def table_parallel_paper():
    """The median over all T and Q, with the lowest and highest: with so many CPUs these matter."""
    runs = Runs()
    cpus = max(head(runs, "shared"))
    pairs = [(runs.get("shared", cpus, "on", tq), runs.get("shared", cpus, "base", tq)) for tq in runs.settings()]
    pairs = [p for p in pairs if all(p)]
    rows = []
    for (what, how, paper), of in zip(PAPER, (lambda on, base: on["kfaults_s"] / base["kfaults_s"],
                                              lambda on, base: base["avg_us"] / on["avg_us"],
                                              lambda on, base: base["p999_us"] / on["p999_us"])):
        v = [of(*p) for p in pairs]
        rows.append([f"{what}: times {how}", paper,
                     t.spread({"median": statistics.median(v), "min": min(v), "max": max(v)}, "{:.1f}".format)])
    return t.markdown(["", "paper, 128 cores, over Linux 6.6.8", f"`scaleswap=on`, {cpus} CPUs, over the base kernel"], rows) + t.source(FILE)


def table_parallel_locks():
    """The paper's Table 5: of the time of all CPUs, what lock_stat counts as waiting."""
    runs = sorted(t.data(LOCKS_FILE)["runs"], key=lambda r: (r["cpus"], list(KERNELS).index(r["kernel"])))
    waits = [r["waiting_percent"] for r in runs]
    rows = [[title, *[f"{w[lock]:.1f}" for w in waits]] for lock, title in LOCKS.items()]
    rows.append(["other locks", *[f"{w['all locks'] - sum(w[k] for k in LOCKS):.1f}" for w in waits]])
    rows.append(["all locks", *[f"{w['all locks']:.1f}" for w in waits]])
    head_ = ["% of the CPUs' time", *[f"{KERNELS[r['kernel']]}, {r['cpus']} CPUs" for r in runs]]
    return t.markdown(head_, rows) + t.source(LOCKS_FILE)


def evict_rows(file):
    rows = []
    found = {}
    for r in t.data(file)["runs"]:
        found.setdefault((r["load"], r["cpus"], r["kernel"]), []).append(r)
    for load in sorted({k[0] for k in found}, key=list(LOADS).index):
        for cpus in sorted({k[1] for k in found}):
            for lru, kernels in EVICT:
                for kernel, title in zip(kernels, ("base kernel", "on, no evictors", "`scaleswap=on`")):
                    runs = found.get((load, cpus, kernel))
                    if runs:
                        rows.append([LOADS[load], cpus, lru, title,
                                     *[spread([r[k] for r in runs], 0)
                                       for k in ("kfaults_s", "avg_us", "p50_us", "p99_us", "p999_us")]])
    return rows


def table_parallel_evict():
    """With evictors and without: throughput, and how long a fault takes; a fault may wait for reclaim."""
    return latencies(EVICT_FILE)


def table_parallel_evict_long():
    """For the same accesses, several times over all pages, with evictors and without."""
    runs = {}
    for r in t.data(EVICT_FILE)["runs"]:
        runs.setdefault((r["load"], r["cpus"], r["kernel"]), []).append(r)
    rows = []
    for load, cpus in sorted({k[:2] for k in runs}, key=lambda x: (list(LOADS).index(x[0]), x[1])):
        for lru, (_, *kernels) in EVICT:
            found = [runs.get((load, cpus, k), []) for k in kernels]
            of = ((lambda r: r["faults"] / r["kfaults_s"], 1), (lambda r: r["pages_in"] / 1000, 0),
                  (lambda r: r["kfaults_s"], 0), (lambda r: r["avg_us"], 1), (lambda r: r["p99_us"], 0))
            if all(found):
                rows.append([LOADS[load], cpus, lru, *[spread([value(r) for r in rs], digits) for value, digits in of for rs in found]])
    what = ("ms for the accesses", "thousand pages swapped in", "thousand faults a second", "µs of a fault, average", "p99")
    return t.markdown(["", "CPUs", "LRU", *[x for w in what for x in (f"{w}: no evictors", "evictors")]], rows) + t.source(EVICT_FILE)


def table_parallel_spare():
    """The same where evictors have CPUs of their own."""
    return latencies(SPARE_FILE)


def latencies(file):
    return t.markdown(["", "CPUs", "LRU", "kernel", "thousand faults a second", "µs of a fault: average", "p50", "p99",
                       "p99.9"], evict_rows(file)) + t.source(file)


def spread(values, digits):
    """The median, and what is measured with several seeds from the least to the most."""
    text = f"{statistics.median(values):,.{digits}f}"
    return text + (f" ({min(values):,.{digits}f}-{max(values):,.{digits}f})" if len(values) > 1 else "")


def table_parallel_lru():
    """LRU shards and one list of the same kernel: throughput and cache lines."""
    rows = []
    runs = t.data(LRU_FILE)["runs"]
    for load, cpus in sorted({(r["load"], r["cpus"]) for r in runs}, key=lambda x: (list(LOADS).index(x[0]), x[1])):
        for lru, *kernels in LRU:
            found = [[r for r in runs if (r["load"], r["cpus"], r["kernel"]) == (load, cpus, k)] for k in kernels]
            of = (("kfaults_s", 0), ("avg_us", 1), ("lines_per_fault", 1))
            took = [spread([r["faults"] / r["kfaults_s"] for r in rs], 1) for rs in found]
            rows.append([LOADS[load], cpus, lru, *took,
                         *[spread([r[what] for r in rs], digits) for what, digits in of for rs in found]])
    return t.markdown(["", "CPUs", "LRU", "ms for the accesses: one list", "shards", "thousand faults a second: one list", "shards",
                       "µs of a fault, average: one list", "shards", "cache lines a fault: one list", "shards"],
                      rows) + t.source(LRU_FILE)
