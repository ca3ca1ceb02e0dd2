# SPDX-License-Identifier: GPL-2.0
"""The tables of the README files, computed from bench/results.

A README has `<!-- table NAME -->` and, on a line of its own below, `<!-- end -->`. Between
them stands what table_NAME() returns here: lines of Markdown. Each table ends with the file
that it is from, the commits and the date in that file, and the command: what is from an
older kernel shows in the commit. A number without data cannot be printed.
"""
import glob
import json
import os
import re
import statistics

import lib as b
import stages

RESULTS = f"{b.ROOT}/bench/results"
KERNELS = {"base": "base kernel", "mglru": "base, MGLRU", "off": "`scaleswap=off`",
           "lru": "`scaleswap=lru`", "core1": "`scaleswap=core`, a bio a page", "core": "`scaleswap=core`",
           "on": "`scaleswap=on`", "on-mglru": "`scaleswap=on`, MGLRU"}
# Names of locks in locks.json, in the order of a page's way out
LOCKS = {"swap_avail_lock": "`swap_avail_lock`", "si->lock": "`si->lock`, all areas", "cluster": "cluster",
         "slot_cache_alloc": "slot cache, allocation", "slot_cache_free": "slot cache, free",
         "swap_cgroup": "`swap_cgroup`", "swap_cache": "swap cache", "lru_lock": "`lru_lock`"}
# As lock_stat has them: queues of tasks that wait for a memcg or node, and of evictors with nothing to do
EVICT_LOCKS = ("&t->waiters", "&pool->idle", "ssw_evict_lock")


# --- the data -----------------------------------------------------------------------

def text_of(name):
    with open(f"{RESULTS}/{name}") as f:
        return f.read()


def data(name):
    return json.loads(text_of(name))


def commits(name):
    """The commits that a file names, as `git describe` says them."""
    if name.endswith(".log"):
        found = re.search(r"^# .*(?:commit|Kernel:) ([0-9a-f]{7,40})", text_of(name), re.M)
        return [found[1]] if found else []
    d = data(name)
    meta = d.get("meta", d)
    given = meta.get("repository") or meta.get("commit") or []
    out = [given] if isinstance(given, str) else list(given)
    if meta.get("modified_files"):
        out = [f"{c[:7]}-dirty" for c in out]
    # of the runs, or of what was measured for each kernel
    parts = d.get("runs", []) if not out else []
    parts = [*parts, *d.get("measured", {}).values()]
    return out + sorted({r["repository"] for r in parts if r.get("repository")})


def command(name):
    """The command that a file names; several are separated by semicolons."""
    if name.endswith(".log"):
        found = re.search(r"^# .*?(bench/\S+\.(?:py|sh))", text_of(name), re.M | re.S)
        return found and found[1]
    d = data(name)
    given = d.get("meta", d).get("command")
    if not given:
        given = sorted({r["command"] for r in d.get("runs", []) if r.get("command")})
    if isinstance(given, list):
        given = (" " if d.get("format") == 1 and "setups" in d else "; ").join(given)
    return given.strip()


def source(name):
    """The last line of a table: what it is from."""
    d = data(name) if name.endswith(".json") else {}
    date = d.get("meta", d).get("date", "")[:10]
    kernel = ", ".join(f"`{c}`" for c in commits(name)) or "unknown"
    return ["", f"`{name}`: kernel of {kernel}{'; ' + date if date else ''}; `{command(name)}`"]


# --- Markdown -------------------------------------------------------------------------

def n(value):
    """A count, rounded half up, as a reader does it."""
    return f"{int(value + 0.5):,}" if value >= 0 else f"{value:,.0f}"


def markdown(head, rows):
    """The first column to the left, the others to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return ["| " + " | ".join(str(c) for c in line) + " |" for line in lines]


def spread(s, form):
    """{"median", "min", "max"} as 1.02 (1.01-1.03)"""
    return f"{form(s['median'])} ({form(s['min'])}-{form(s['max'])})"


def median(runs, key):
    """Median, min and max of a count over runs."""
    v = [r[key] for r in runs]
    return spread({"median": statistics.median(v), "min": min(v), "max": max(v)}, n)


# --- the demo -------------------------------------------------------------------------

def newest_demo():
    found = [f for f in os.listdir(RESULTS) if re.fullmatch(r"demo-.*\.json", f)]
    return max(found) if found else b.die("there is no demo-*.json in bench/results; run bench/demo.py --full")


def table_demo():
    name = newest_demo()
    out = []
    for setup in data(name)["setups"]:
        points = [f"  {'ok  ' if passed else 'FAIL'}  {text}" for passed, text in b.judge(setup["rounds"])]
        out += ["```", *b.table(setup["rounds"]), "", *points, "```"]
    return out + source(name)


def table_summary():
    """What ScaleSwap gains, in a few rows; each is in one of the tables below, with its file."""
    instr, runs = data("instructions.json"), lock_runs()
    fault, cpus = data("fault.json"), 16
    three = ("base", "off", "on")
    rows = [[f"instructions a page, {title}", *[n(instr[key][k]) for k in three]]
            for key, title in (("alloc_free", "allocate to free a slot"), ("swap_out", "swap out"), ("swap_in", "swap in"))]
    for lock, what in (("cluster", "acquisitions"), ("lru_lock", "contentions"), ("swap_cache", "contentions")):
        rows.append([f"{LOCKS[lock]}{' lock' * ('`' not in LOCKS[lock])}: {what}, {cpus} CPUs",
                     *[n(runs[cpus, k]["locks"].get(lock, {}).get(what, 0)) for k in three]])
    done = next(s for s in data("throughput.json")["summary"] if (s["cpus"], s["what"]) == (cpus, "both_pages_s"))
    rows.append([f"throughput, out and in, {cpus} CPUs", "1.00", *[f"{done[f'{k}/base']['median']:.2f}" for k in three[1:]]])
    cost = {k: sum(fault[k]["instructions_all"]["page_cluster_0"][p]["median"] for p in ("submit", "complete"))
            for k in ("base", "direct")}
    rows.append(["instructions of a fault that waits for NVMe", n(cost["base"]), "", n(cost["direct"])])
    files = ("instructions.json", "locks.json", "throughput.json", "fault.json")
    kernels = "; ".join(f"`{f}`: kernel of " + ", ".join(f"`{c}`" for c in commits(f)) for f in files)
    return markdown(["", *[KERNELS[k] for k in three]], rows) + ["", kernels]


# --- bench/scale.py -------------------------------------------------------------------

def lock_runs():
    return {(r["cpus"], r["kernel"]): r for r in data("locks.json")["runs"]}


def lock_columns():
    runs = lock_runs()
    return runs, sorted({c for c, _ in runs})


def table_locks():
    """How often each lock is taken, base kernel and scaleswap=on."""
    runs, cpus = lock_columns()
    rows = [["pages swapped, out and in", *[n(runs[c, k]["pages"]) for c in cpus for k in ("base", "on")]]]
    for lock, title in LOCKS.items():
        rows.append([title, *[n(runs[c, k]["locks"].get(lock, {}).get("acquisitions", 0))
                              for c in cpus for k in ("base", "on")]])
    head = ["lock acquisitions", *[f"{k}, {c} CPUs" for c in cpus for k in ("base", "on")]]
    return markdown(head, rows) + source("locks.json")


def table_contentions():
    """Contentions of the locks that are still taken."""
    runs, cpus = lock_columns()
    rows = []
    for lock in ("lru_lock", "swap_cache"):
        for kernel, title in KERNELS.items():
            cells = [n(runs[c, kernel]["locks"][lock]["contentions"]) if (c, kernel) in runs else "" for c in cpus]
            rows += [[f"{LOCKS[lock]}: {title}", *cells]] if any(cells) else []
    for kernel in ("base", "on"):
        rows.append([f"`vmpressure`'s `sr_lock`: {KERNELS[kernel]}",
                     *[n(sum(l[2] for l in runs[c, kernel]["most_contended"] if l[0] == "&vmpr->sr_lock"))
                       for c in cpus]])
    for kernel in ("on", "on-mglru"):
        if any((c, kernel) in runs for c in cpus):
            rows.append([f"wait queues and `ssw_evict_lock` of evictors: {KERNELS[kernel]}",
                         *[n(sum(l[2] for l in runs[c, kernel]["most_contended"] if l[0] in EVICT_LOCKS))
                           if (c, kernel) in runs else "" for c in cpus]])
    return markdown(["lock contentions", *[f"{c} CPUs" for c in cpus]], rows) + source("locks.json")


def table_waiting():
    """The paper's Table 5, measured where two CPUs run at the same time."""
    lines = data("locks-2cpus.json")["table5"]
    parts = list(lines[0]["percent"])
    rows = [[KERNELS[l["kernel"]], *[spread(l["percent"][p], "{:.2f} %".format) for p in parts]] for l in lines]
    return markdown([f"{lines[0]['cpus']} CPUs", *parts], rows) + source("locks-2cpus.json")


def table_faults():
    """Faults for the same accesses, over the base kernel's."""
    lines = data("locks.json")["faults"]
    rows = []
    for kernel, title in KERNELS.items():
        mine = {l["cpus"]: l["over_base"] for l in lines if l["kernel"] == kernel}
        for key, what in (("pgfault", "all faults"), ("pgmajfault", "faults that read")):
            if mine:
                rows.append([f"{title}: {what}", *[f"{mine[c][key]['median']:.3f}" if c in mine else ""
                                                   for c in lock_columns()[1]]])
    return markdown(["over the base kernel's", *[f"{c} CPUs" for c in lock_columns()[1]]], rows) + source("locks.json")


def table_instructions():
    d = data("instructions.json")
    what = {"alloc_free": "allocate to free a slot", "swap_out": "swap out, all", "swap_in": "swap in, all"}
    kernels = [k for k in KERNELS if k in d["swap_out"]]
    rows = [[title, *[n(d[key][k]) for k in kernels]] for key, title in what.items()]
    return markdown(["instructions a page", *[KERNELS[k] for k in kernels]], rows) + source("instructions.json")


def table_peer_instructions():
    """Instructions by stage, beside the peer's; swap is more than half full, so that all do the same."""
    name, half = "peer-instructions-full.json", "peer-instructions.json"
    d = data(name)
    columns = {"base": "base", "on": "on", "peer": d["meta"]["kernels"]["peer-test"]["release"].split("-")[0]}
    at = {(r["what"], r["kernel"]): r["a_page"] for r in d["stages"]}
    both = [(what, k) for what in ("swap_in", "swap_out") for k in columns]
    rows = [[stage, *[n(at[key].get(stage, 0)) for key in both]] for stage in stages.SHOWN
            if any(at[key].get(stage, 0) >= 0.5 for key in both)]
    rows.append(["**all**", *[n(sum(at[key].values())) for key in both]])
    rows.append(["**all but the drive**", *[n(sum(v for k, v in at[key].items() if not k.startswith("drive"))) for key in both]])
    rows.append(["all, swap less than half full", *[n(data(half)[what][k]) for what, k in both]])
    head = ["instructions a page", *[f"{what.replace('_', ' ')}: {columns[k]}" for what, k in both]]
    return markdown(head, rows) + source(name) + source(half)


def throughput(name, columns, form):
    """Throughput of some columns over the base kernel's; `form` makes a cell of median, min and max."""
    d = data(name)
    cpus = d["meta"]["how"]["cpus"]
    what = {"swap_out_pages_s": "swap out", "swap_in_pages_s": "swap in", "both_pages_s": "out and in"}
    rows = []
    for over in columns:
        for key, title in what.items():
            at = {s["cpus"]: s[f"{over}/base"] for s in d["summary"] if s["what"] == key}
            rows.append([f"{title}: {KERNELS[over]}", *[form(at[c]) for c in cpus]])
    head = [f"over the base kernel's, {d['meta']['how']['rounds']} rounds", *[f"{c} CPU{'s' * (c > 1)}" for c in cpus]]
    return markdown(head, rows) + source(name)


def table_throughput():
    return throughput("throughput.json", ("off", "on"), lambda s: f"{s['median']:.2f}")


def table_core_throughput():
    return throughput("core-throughput.json", ("core1", "core"), lambda s: spread(s, "{:.2f}".format))


def table_full_areas():
    d = data("table6.json")
    rows = [[f"{l['percent']:g} %", n(l["pages_s"]["median"]), f"{100 * l['kept']['median']:.1f} %",
             n(l["deleg_allocs"]["median"])] for l in d["levels"]]
    cpus, = d["meta"]["how"]["cpus"]
    head = [f"areas that are full, {cpus} CPUs", "pages a second", "of none full", "pages delegated"]
    return markdown(head, rows) + source("table6.json")


# --- bench/fault.py -------------------------------------------------------------------

def table_fault():
    d = data("fault.json")
    hows = {"page_cluster_0": "page-cluster 0", "page_cluster_3_read": "page-cluster 3, in order"}
    rows = []
    for how, title in hows.items():
        parts = {k: [d[k]["instructions_all"][how][p]["median"] for p in ("submit", "complete")]
                 for k in ("base", "off", "bio", "direct")}
        for k, (submit, complete) in parts.items():
            rows.append([f"{title}: {KERNELS['base'] if k == 'base' else f'mode `{k}`'}", n(submit), n(complete),
                         n(submit + complete), f"{100 * (submit + complete) / sum(parts['base']):.1f} %",
                         f"{d[k]['irqs_per_fault']:g}" if how == "page_cluster_0" and "irqs_per_fault" in d[k] else ""])
    head = ["instructions of a fault, median", "to the doorbell", "from the completion", "sum", "of the base kernel's",
            "interrupts"]
    return markdown(head, rows) + source("fault.json")


def table_read_ops():
    """A direct read before and after two changes; page-cluster 0."""
    names = {"read-ops-before.json": "each read asks for the driver's operations",
             "read-ops-asked-once.json": "swapon asks once", "read-ops-limits.json": "and limits are asked for by a call"}
    rows, sources = [], []
    for name, title in names.items():
        cost = data(name)["direct"]["instructions_all"]["page_cluster_0"]
        rows.append([title, *[n(cost[p]["median"]) for p in ("submit", "complete", "after")]])
        sources += source(name)
    return markdown(["instructions of a fault read directly, median", "to the doorbell", "from the completion",
                     "from the doorbell to polling"], rows) + sources


# --- tests and long runs ----------------------------------------------------------------

def table_upstream():
    keys = ("passed", "failed", "skipped")
    out = []
    for name, lru in (("upstream-selftests.json", "active and inactive lists"), ("upstream-mglru.json", "MGLRU")):
        d = data(name)
        rows = [[KERNELS[k.removesuffix("-mglru")], *[n(t[key]) for key in keys]] for k, t in d["totals"].items()]
        out += ([""] if out else []) + markdown([f"the base kernel's own selftests, {lru}", *keys], rows)
        for what, lines in (("Cases that differ", d["differences"]), ("Cases that vary from run to run", d["flaky"])):
            names = sorted({f"`{l['program']}`: {l['case']}" for l in lines})
            out += ["", f"{what}: {'; '.join(names) or 'none'}."]
        out += [f"Verdict of the comparison: {d['verdict']}."] + source(name)
    return out


RUN_COUNTERS = {"soak": ("verified", "pages verified"), "churn": ("workloads", "workloads"),
                "fault": ("pages_touched", "pages looked at"), "iaa": ("stored", "pages stored")}


def table_long_runs():
    rows = []
    for r in data("long-runs.json")["runs"]:
        counter, title = RUN_COUNTERS[r["what"].split()[0]]
        c = r["counters"]
        left = {0: "nothing", None: ""}.get(r["swap_left_kb"], f"{r['swap_left_kb']} kB")
        rows.append([r["what"], r["date"][:10], f"`{r['repository'] or 'unknown'}`", f"`{r['kernel']}`", r["cpus"] or "",
                     n(r["seconds"]), f"{n(c[counter])} {title}", c.get("wrong", ""), c.get("lost", ""), left,
                     r["verdict"]])
    head = ["run", "date", "commit", "kernel booted", "CPUs", "seconds", "done", "wrong", "lost", "left in swap", "verdict"]
    return markdown(head, rows) + ["", "`long-runs.json`: `scripts/test/longrun.sh`, then `bench/longruns.py`"]


# --- experiments --------------------------------------------------------------------------

def table_own_group():
    d = data("locks-own-group.json")
    mine = r"^(swap_avail|&p->lock|&cluster_info|&cache->|&ctrl->lock|&lruvec)"
    rows = [[f"`{name}`", n(l["acquisitions"]), n(l["contentions"])]
            for name, l in sorted(d["locks"].items()) if re.search(mine, name)]
    most = max(d["locks"].items(), key=lambda x: x[1]["contentions"])
    rows.append([f"most contended: `{most[0]}`", n(most[1]["acquisitions"]), n(most[1]["contentions"])])
    return markdown([f"{n(d['pages'])} pages swapped", "acquisitions", "contentions"], rows) + source("locks-own-group.json")


def table_lru_memory():
    rows = [[s["step"], n(s["shards"]), n(s["shards_kB"]), n(s["slab_grown_kB"]), n(s["slab_grown_without_shards_kB"])]
            for s in data("lru-memory.json")["summary"]]
    head = ["1,000 groups", "shards", "shards, kB", "slab grew by, kB", "without shards, kB"]
    return markdown(head, rows) + source("lru-memory.json")


def table_lru_skew():
    d = data("lru-skew.json")
    titles = {"base": "base kernel", "core": "one list (`scaleswap=core`)", "noevict": "shards, no evictors",
              "on": "`scaleswap=on`"}
    titles.update({f"{k}-mglru": f"{v}, MGLRU" for k, v in titles.items()})
    rows = [[titles[k], spread(d["swapped_in_16_sweeps"][k], n), sum(r["scaleswap"] == k for r in d["runs"])]
            for k in titles if k in d["swapped_in_16_sweeps"]]
    return markdown(["kernel", "pages swapped in by 16 sweeps over 7,680", "boots"], rows) + source("lru-skew.json")


def table_lru_order():
    d = data("lru-order.json")
    titles = {"base": "base kernel", "noevict": "on, no evictors", "on": "`scaleswap=on`", "base-mglru": "base, MGLRU",
              "noevict-mglru": "on, no evictors, MGLRU", "on-mglru": "`scaleswap=on`, MGLRU"}
    columns = [c for c in titles if any(c in of for of in d.values() if isinstance(of, dict))]
    # what was not measured has no figure
    figure = lambda of, c: n(of[c]) if c in of else ""
    rows = [[f"`oom`: processes killed in {d['oom']['runs']} runs", *[figure(d["oom"], c) for c in columns]]]
    for case, what in (("turnover", "that were out"), ("file_and_anon", "swapped in"),
                       ("idle_first", "swapped in"), ("idle_first_less", "swapped in"),
                       ("inactive_first", "swapped in"), ("stream", "of B that were out"), ("loops", "swapped in"),
                       ("skewed", "swapped in"), ("uneven", "swapped in"), ("moves", "swapped in"),
                       ("crowd_uneven", "swapped in"), ("crowd_small", "swapped in"), ("crowd_skewed", "swapped in")):
        if case in d:
            boots = {c: len(of) for c, of in d["runs"][case].items()}
            usual = min(boots.values())
            # a column with more boots than the others says so
            cells = [f"{n(d[case][c])} ({n(d[case]['spread'][c][0])}-{n(d[case]['spread'][c][1])}"
                     + (f"; {boots[c]} boots)" if boots[c] != usual else ")") if c in d[case] else "" for c in columns]
            rows += [[f"`{case}`: pages {what}" + (f", {usual} boots" if usual != 5 else ""), *cells]]
        if case == "file_and_anon" and case in d:
            rows += [["... in the last six of twelve turns", *[figure(d["file_and_anon"]["later"], c) for c in columns]]]
    w = d["walks"]
    kinds = [c for c in ("base", "one list", "shards", "evictors") if c in w]
    walked = [[title, *[n(of[c]) for c in kinds]]
              for title, of in (("walks", w), ("entries found young", w["young"]), ("page tables looked at", w.get("tables")),
                                ("... and left out of the next walk", w.get("dropped")), ("pages swapped in", w["swapped_in"]))
              if of]
    return [*markdown(["median of five boots (min-max)", *[titles[c] for c in columns]], rows), "",
            *markdown(["`walks`, median of five boots", *[{"base": "base", "evictors": "shards, evictors"}.get(c, c) + ", MGLRU"
                                                            for c in kinds]], walked),
            *source("lru-order.json")]


def table_evict():
    d = data("evict.json")
    titles = {"base": "base kernel", "noevict": "`scaleswap=core,lru,fault`", "on": "`scaleswap=on`"}
    what = {("group", "reclaims_per_100k"): "reclaims by a task, for 100,000 faults at `memory.max`",
            ("global", "reclaims_per_100k"): "... where all memory is short",
            ("fault", "instructions_p50"): "instructions of a fault's thread, p50",
            ("fault", "instructions_p99"): "... p99", ("fault", "instructions_p999"): "... p99.9",
            ("instr", "instructions_per_page"): "instructions of all CPUs for a page out and in",
            ("threads", "tlb_sends_per_page"): "TLB flushes sent for a page, 4 threads of one process",
            ("procs", "tlb_receipts_per_page"): "TLB flushes received for a page, a process a CPU",
            ("procs", "ptl_contentions"): "contentions of page table locks",
            ("procs", "zone_lock_per_page"): "`zone->lock` taken for a page",
            ("procs", "lru_lock_contentions"): "contentions of `lru_lock`"}
    form = lambda v: n(v) if v >= 10 or v == int(v) else f"{v:.3g}"
    rows = []
    for key, title in what.items():
        rows += [[title, r["cpus"], *[spread(r[c], form) if c in r else "" for c in titles]]
                 for r in d["all"] if (r["part"], r["figure"]) == key]
    return markdown(["median (min-max)", "CPUs", *titles.values()], rows) + source("evict.json")


def table_zbatch():
    d = data("zbatch.json")
    titles = {"base": "base kernel", "off": "`scaleswap=core,lru,fault,evict`", "on": "`scaleswap=on`"}
    kinds = {"mix": "at random, no readahead", "read": "in order, readahead of 8"}
    figures = {"instructions_per_page": "instructions of all CPUs for a page out and in",
               "lane_fill": "pages that reclaim stores at a time", "group_fill": "pages that readahead loads at a time",
               "tlb_flushes_per_page_out": "TLB flushes sent for a page out"}
    form = lambda v: n(v) if v >= 10 or v == int(v) else f"{v:.3g}"
    rows = []
    for kind, how in kinds.items():
        for name in dict.fromkeys(r["part"].split("-", 1)[1] for r in d["all"] if r["part"].startswith(kind)):
            of = {r["figure"]: r for r in d["all"] if r["part"] == f"{kind}-{name}"}
            compressor = "without zswap" if name == "none" else name
            rows += [[compressor, how, title, *[spread(of[k][c], form) if c in of[k] else "" for c in titles]]
                     for k, title in figures.items() if k in of]
    locks = {"list_lru_locks_per_page": "`list_lru` lock taken for a page in", "tree_locks_per_page": "trees of zswap locked for a page in"}
    of = {r["figure"]: r for r in d["all"] if r["part"] == "locks"}
    rows += [["lzo-rle", kinds["read"], title, *[spread(of[k][c], form) if c in of[k] else "" for c in titles]]
             for k, title in locks.items() if k in of]
    return markdown(["compressor", "pages are read", "median (min-max)", *titles.values()], rows) + source("zbatch.json")


def table_zbatch_iaa():
    d = data("zbatch-iaa.json")
    of = {(r["part"], r["figure"]): r["iaa"] for r in d["all"]}
    form = lambda v: n(v) if v >= 10 else f"{v:.3g}"
    kinds = {"mix": "at random, no readahead", "read": "in order, readahead of 8"}
    figures = {"instructions_per_move": "instructions of all CPUs for a page out or in, without the device's",
               "lane_fill": "pages that reclaim stores at a time", "group_fill": "pages that readahead loads at a time",
               "descriptors_per_move": "descriptors for a page out or in", "device_instructions_per_move": "the simulated device's own instructions for it"}
    rows = [[how, title, *[spread(of[f"{kind}-iaa-{k}", fig], form) if (f"{kind}-iaa-{k}", fig) in of else "" for k in (1, 8)]]
            for kind, how in kinds.items() for fig, title in figures.items()]
    return markdown(["pages are read", "median (min-max)", "one page in a request", "up to eight"], rows) + source("zbatch-iaa.json")


def table_lru_off():
    d = data("lru-off.json")
    rows = []
    for what, title in (("swap_out", "swap out"), ("swap_in", "swap in")):
        both = [[f[what][k] for k in ("base", "off")] for f in d["functions"].values() if what in f]
        hot = [[f[what][k] for k in ("base", "off")] for name, f in d["functions"].items()
               if what in f and name in d["hot"]]
        for kind, cells in (("functions that LRU shards hook into", hot), ("all that differ", both)):
            base, off = (sum(c) for c in zip(*cells))
            rows.append([f"{title}: {kind}", f"{base:,.1f}", f"{off:,.1f}", f"{off - base:+.1f}"])
    return markdown(["instructions a page", "base kernel", "`scaleswap=off`", "more"], rows) + source("lru-off.json")


def table_evict_off():
    d = data("evict-off.json")
    titles = {"off": "`scaleswap=off`", "noevict": "all but evictors", "noevict-mglru": "all but evictors, MGLRU"}
    rows = []
    for what, title in (("swap_out", "swap out"), ("swap_in", "swap in")):
        for column, of in d[what].items():
            ours, without = of["test"], of["noevictor"]
            rows.append([f"{title}: {titles[column]}", f"{without:,.1f}", f"{ours:,.1f}", f"{(ours / without - 1) * 100:+.2f} %"])
    return markdown(["instructions a page", "built without evictors", "with", "more"], rows) + source("evict-off.json")


def table_mglru_aging():
    per = data("mglru-aging.json")["instructions_a_page_and_generation"]
    rows = [[f"{n(int(size))} pages", *[spread(v[k], "{:.1f}".format) for k in ("touched", "untouched")]]
            for size, v in per.items()]
    head = ["instructions a page, for a new generation", "touched since the last", "not touched"]
    return markdown(head, rows) + source("mglru-aging.json")


def table_mglru_shards():
    d = data("mglru-shards.json")
    at = {(r["load"], r["cpus"], r["kernel"]): r for r in d["runs"]}
    take = {"pages swapped in": lambda r: r["pswpin"], "pages scanned": lambda r: r["pgscan_anon"],
            "`lru_lock` contended": lambda r: r["lru_lock"]["contentions"], "walks": lambda r: r["walked"].get("walks"),
            "young entries found": lambda r: r["walked"].get("young")}
    rows = []
    for load, cpus in sorted({(l, c) for l, c, _ in at}, key=lambda x: (x[1], x[0])):
        for title, of in take.items():
            values = [of(at[load, cpus, k]) if (load, cpus, k) in at else None for k in d["columns"]]
            rows.append([f"{load}, {cpus} CPUs: {title}", *["" if v is None else n(v) for v in values]])
    return markdown(["one boot each", *d["columns"]], rows) + source("mglru-shards.json")


def table_oom_stress():
    """Kills by column, and how much the runs swapped."""
    d = data("oom-stress.json")
    titles = {**KERNELS, "core,fault": "`scaleswap=core,fault`"}
    rows = [[titles[c], t["runs"], n(t["kills"]), t["runs_with_a_kill"], *[median(d["runs"][c], k)
             for k in ("swapped_out", "limit_met")]] for c, t in d["table"].items()]
    head = ["kernel", "runs", "kills", "runs with a kill", "pages swapped out a run", "times the limit was met a run"]
    return markdown(head, rows) + source("oom-stress.json")


def table_oom_limits():
    """Who was killed at small limits, and what it took."""
    d = data("oom-limits.json")
    titles = {**KERNELS, "noevict": "without evictors"}
    of = {"small": [("runs_that_ended_badly", "2 MB: runs with a kill"), ("limit_met", "limit met"), ("scanned", "pages scanned")],
          "locked": [("runs_that_were_killed", "locked: killed"), ("limit_met", "limit met"), ("scanned", "pages scanned"),
                     ("ms", "ms until then")]}
    rows = []
    for column, t in d["table"].items():
        kind, _, lru = column.partition("-")
        rows.append([titles[kind] + (", MGLRU" if lru else ""), t["small"]["runs"],
                     *[(spread(dict(zip(("median", "min", "max"), v)), n) if isinstance(v := t[part][key], list) else n(v))
                       for part, keys in of.items() for key, _ in keys]])
    return markdown(["kernel", "runs", *[title for keys in of.values() for _, title in keys]], rows) + source("oom-limits.json")


def table_zswap_ratio():
    """Memory of pages in zswap, by compressor and kind of page."""
    d = data("zswap-ratio.json")
    sets = {"text": "text", "elf": "programs", "heap": "compiler's memory", "mix": "all"}
    rows = [[f"`{name}`", *[f"{of[s][k]:.2f}" for k in ("ratio", "pool_ratio") for s in sets], n(of["mix"]["poor"])]
            for name, of in d["table"].items()]
    return markdown(["compressor", *sets.values(), *[f"with the pool: {s}" for s in sets.values()], "not stored"], rows) + \
        source("zswap-ratio.json")


def table_iaa_model():
    """How long requests take on a device with a latency, and what the model says."""
    d = data("iaa-model.json")
    of = {(p["what"], p["engines"], p["times"], p["pages"]): p for p in d["points"]}
    at = {k: sorted({key[i] for key in of}) for i, k in enumerate(("what", "engines", "times", "pages"))}
    rows = [[what, engines, times, *[f"{of[what, engines, times, 1]['cycles'] * n_pages / (p := of[what, engines, times, n_pages])['cycles']:.2f} "
                                     f"({100 * p['error']:+.1f} %)" for n_pages in at["pages"]]]
            for what in at["what"] for engines in at["engines"] for times in at["times"]]
    rows += [[f"{what}, one of eight pages by one with the base's driver", 8, 0, *[f"{ratio:.2f} of its cycles" if k == 8 else "" for k in at["pages"]]]
             for what, ratio in d.get("submit_reap_ratio", {}).items()]
    # The white paper's gains of eight pages, and the L / s for which the model has them
    for what, gain, times in (("compress", 3.2, 3.67), ("decompress", 3.68, 4.96)):
        model = 8 * (1 + times) / (8 + times)
        rows.append([f"{what}, white paper", 8, times, *[f"{gain}; model {model:.2f}" if k == 8 else "" for k in at["pages"]]])
    return markdown(["", "engines", "L / s", *[f"{k} page{'s' * (k > 1)}" for k in at["pages"]]], rows) + source("iaa-model.json")


def table_iaa_gone():
    """What becomes of pages whose device goes."""
    d = data("iaa-gone.json")
    rows = [[what, *[n(d[k][key]) for k in ("base", "ours")]]
            for key, what in (("stored", "pages in zswap"), ("right", "read back right"), ("wrong", "read back wrong"),
                              ("unreadable", "I/O errors"))]
    return markdown(["", "the base's driver", "this one"], rows) + source("iaa-gone.json")


def table_swapoff():
    """What turning an area off costs."""
    d = data("swapoff.json")
    titles = {"base": "base kernel", "off": "`scaleswap=off`", "on": "`scaleswap=on`"}
    form = lambda v: f"{v:,.1f}".replace("-0.0", "0.0")
    rows = [[what, *[form(d[k][c]) for c in titles]]
            for k, what in (("swapoff_per_own_page", "instructions for each page in the area"),
                            ("swapoff_per_foreign_page", "instructions for each page that others have in another one"))]
    rows.append(["pages that were found where their slots say", "", "", f"{100 * d['notes_resolved']['on']:.1f} %"])
    return markdown(["", *titles.values()], rows) + source("swapoff.json")


def table_defrag():
    """What a pass of moves gains in an area that has aged."""
    d = data("defrag.json")
    titles = {"base": "base kernel", "off": "`scaleswap=off`", "on": "`scaleswap=on`, after a pass"}
    aged = {c: {r["percent"]: r for r in d["runs"][c] if r["what"] == "aged"} for c in titles}
    rows = [[f"clusters free, {p} % of the area in use; {r['possible']} are possible", *[str(aged[c][p]["free"]) for c in titles]]
            for p, r in aged["on"].items()]
    rows += [[f"folios of 64 KiB that go out whole, {p} % in use", *[f"{100 * v['swpout'] / v['anon_fault_alloc']:.1f} %" for v in
                                                                (aged[c][p]["large"] for c in titles)]] for p in aged["on"]]
    return markdown(["", *titles.values()], rows) + source("defrag.json")


def table_defrag_cost():
    """What moves cost."""
    d = data("defrag.json")
    rows = [["instructions of a move", n(d["instructions_per_move"])],
            ["of these, where the page is filled with zeros", n(d["instructions_per_zero_move"])],
            ["instructions of a page on its way out and in", n(d["out_and_in"])],
            ["bytes written, of what is in use", f"{100 * d['bytes_written_per_live']:.1f} %"],
            *[[f"write requests, {r['percent']} % of the area in use; {-(-r['moved'] // 128) + -(-r['moved'] // 512)} if the area were empty",
               str(r["disk"]["writes"])] for r in d["runs"]["on"] if r["what"] == "aged"],
            *[[f"instructions of a page {k}, with nothing to move, of those without the mechanism", f"{100 * v:.2f} %"]
              for k, v in d["idle_cost"].items()],
            *[[f"the same of a page {k}, with `defrag/enabled`", f"{100 * v:.2f} %"] for k, v in d.get("enabled_cost", {}).items()]]
    return markdown(["", "`scaleswap=on`"], rows) + source("defrag.json")


def table_oom_decisions():
    """What was on the lists when it was decided to kill, and what the statistics said."""
    lines = [l for l in text_of("oom-decisions.log").splitlines() if not l.startswith("#")]
    found = {}
    for line in lines:
        m = re.match(r"(\w+): .*lists: ia (\d+) aa (\d+) if (\d+) af (\d+); stats ia (\d+) aa (\d+)", line)
        found.setdefault(m[1], []).append([int(v) for v in m.groups()[1:]])
    rows = []
    for column in ("off", "on"):
        rows.append([KERNELS[column], len(found[column]),
                     *[f"{n(min(v))}-{n(max(v))}" if min(v) != max(v) else n(min(v))
                       for v in (([r[i] for r in found[column]]) for i in (0, 1, 4))],
                     sum(r[4] > 0 for r in found[column])])
    head = ["kernel", "decisions to kill", "inactive pages on lists", "active pages on lists", "inactive by statistics",
            "times that was more than none"]
    return markdown(head, rows) + source("oom-decisions.log")


def table_pages_moved():
    d = data("pages-moved.json")
    columns = list(dict.fromkeys(c for case in d["medians"].values() for c in case))
    rows = []
    for column in columns:
        cells = []
        for case in d["medians"].values():
            each = case.get(column, {}).get("pswpin_each")
            cells.append(f"{n(statistics.median(each))} ({n(min(each))}-{n(max(each))})" if each else "")
        rows.append([column, *cells])
    return markdown(["pages swapped in, median and range", *d["medians"]], rows) + ["", d["note"]] + source("pages-moved.json")


# --- into the README files ------------------------------------------------------------------

BLOCK = re.compile(r"(?m)^<!-- table ([\w-]+) -->\n(.*?)^<!-- end -->$", re.S)


def readmes():
    """README.md of the repository, those of bench/, and the letters in front of the sets."""
    out = [f"{b.ROOT}/README.md", *sorted(glob.glob(f"{b.ROOT}/patches/covers/*.md"))]
    for folder, _, files in sorted(os.walk(f"{b.ROOT}/bench")):
        out += [f"{folder}/README.md"] if "README.md" in files else []
    return [path for path in out if os.path.exists(path)]


def makers():
    """The functions that make tables, by the tables' names."""
    # it uses what is here
    import parallel_tables
    found = {**globals(), **vars(parallel_tables)}
    return {k.removeprefix("table_").replace("_", "-"): v for k, v in found.items() if k.startswith("table_")}


def names():
    return list(makers())


def table(name):
    if name not in names():
        b.die(f"there is no table called {name}; see bench/tables.py")
    return makers()[name]()


def filled(text):
    """The text of a README with its tables as the data have them."""
    def block(m):
        return f"<!-- table {m[1]} -->\n" + "\n".join(table(m[1])) + "\n<!-- end -->"
    if len(BLOCK.findall(text)) != text.count("<!-- table ") or text.count("<!-- end -->") != text.count("<!-- table "):
        b.die("a `<!-- table NAME -->` without its `<!-- end -->`, or the other way round")
    return BLOCK.sub(block, text)
