#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Pictures of what bench/scale.py and bench/fault.py measured, beside what is known of the
papers' figures.

  bench/plot.py [DIR [NAME...]]   reads DIR/*.json (default bench/results), writes
                                    DIR/*.svg; of all, or figure12, tables_1_5, ...

Needs matplotlib (Debian package python3-matplotlib). The paper is ScaleSwap (FAST '26):
128 cores, 8 NVMe SSDs, Linux 6.6.8; of it, only what the text below names is known here.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
# the same file for the same numbers
matplotlib.rcParams.update({"svg.hashsalt": "scaleswap", "font.size": 9, "axes.titlesize": 10,
                            "legend.fontsize": 8})
from matplotlib import pyplot  # noqa: E402

COLORS = {"base": "#4a5568", "mglru": "#b7791f", "off": "#a0aec0", "lru": "#38a169", "on": "#2b6cb0", "paper": "#dd6b20"}
TITLES = {"base": "base kernel", "mglru": "base, MGLRU", "off": "scaleswap=off", "lru": "scaleswap=lru, plain areas", "on": "scaleswap=on"}
EMULATED = ("Emulated: QEMU, {accel}. CPUs take turns on the host, so parallel speed-up is not to be seen; "
            "drives are memory. {date}, {kernel}, {git}.")

# The paper's figures, as far as they are known here
PAPER_SHARE = {"Linux 6.6.8": {"lru_lock": 53.27, "si_lock": 1.43}, "ScaleSwap": {"lru_lock": 0.16, "si_lock": 0.0}}
PAPER_FULL = {12.5: 13.93 / 14.81, 25: 13.88 / 14.81, 50: 13.33 / 14.81, 75: 12.48 / 14.81}


def read(where, name):
    try:
        with open(f"{where}/{name}") as f:
            return json.load(f)
    except OSError:
        return None


def foot(fig, rec, text=""):
    m = rec["meta"]
    accel = sorted({a.split(": ", 1)[1] for a in m["accel"]})
    line = EMULATED.format(accel="; ".join(accel), date=m["date"][:10],
                           kernel=" / ".join(sorted({k["release"] for k in m["kernels"].values()})),
                           git=", ".join(m["repository"]))
    fig.text(0.01, 0.01, f"{text}\n{line}" if text else line, fontsize=7, va="bottom", wrap=True)


def save(fig, where, name, done):
    path = f"{where}/{name}"
    fig.savefig(path, metadata={"Date": None})
    pyplot.close(fig)
    done.append(path)


def spread_line(ax, x, points, column):
    """Medians as a line, with min and max."""
    at = [(n, p[column]) for n, p in zip(x, points) if p.get(column)]
    if not at:
        return
    xs = [n for n, _ in at]
    mid = [s["median"] for _, s in at]
    ax.errorbar(xs, mid, yerr=[[s["median"] - s["min"] for _, s in at], [s["max"] - s["median"] for _, s in at]],
                marker="o", ms=4, capsize=3, color=COLORS[column], label=TITLES[column])


def figure12(where, done):
    rec = read(where, "throughput.json")
    if not rec:
        return
    shown = [("swap_out_pages_s", "swap-out"), ("swap_in_pages_s", "swap-in"), ("both_pages_s", "both, random order"),
             ("fault_avg_ns", "fault latency, average"), ("fault_p99_ns", "p99"), ("fault_p999_ns", "p99.9")]
    fig, axes = pyplot.subplots(2, 3, figsize=(11, 7.2))
    for ax, (key, title) in zip(axes.flat, shown):
        lines = [s for s in rec["summary"] if s["what"] == key]
        cpus = [s["cpus"] for s in lines]
        for column in TITLES:
            spread_line(ax, cpus, lines, column)
        ax.set_xscale("log", base=2)
        ax.set_xticks(cpus, [str(n) for n in cpus])
        ax.set_xlabel("CPUs")
        ratio = [s.get("on/base") for s in lines]
        last = f", on/base at {cpus[-1]} CPUs: {ratio[-1]['median']:.2f}" if ratio and ratio[-1] else ""
        ax.set_title(title + last)
        if key.endswith("_s"):
            ax.set_ylabel("pages a second of the guest's clock")
            ax.set_ylim(bottom=0)
        else:
            ax.set_ylabel("ns of the guest's clock")
            ax.set_yscale("log")
        ax.grid(alpha=0.3)
    axes[0][0].legend()
    fig.suptitle("Throughput and fault latency by CPUs (the paper's Figure 12)")
    fig.tight_layout(rect=(0, 0.09, 1, 1))
    foot(fig, rec, "Paper, 128 cores: up to 3.41 times the throughput of Linux 6.6.8, 11.5 times lower average and 27.2 times lower "
         "p99.9 latency; its values by cores: not known here.\nMedian, min and max of the rounds; the clock counts the instructions "
         "of all CPUs, 16 ns each.")
    save(fig, where, "figure12.svg", done)


def tables_1_5(where, done):
    rec = read(where, "locks.json")
    if not rec:
        return
    runs = rec["runs"]
    cpus = sorted({r["cpus"] for r in runs})
    locks = ["si->lock", "swap_avail_lock", "swap_cgroup", "cluster", "slot_cache_alloc", "swap_cache", "lru_lock", "zone->lock", "ptl"]
    fig, axes = pyplot.subplots(1, 3, figsize=(14, 9), gridspec_kw={"width_ratios": [3, 3, 2]})
    columns = [c for c in TITLES if any(r["kernel"] == c for r in runs)]
    wide = 0.86 / len(columns)
    thin = wide / (len(cpus) + 0.5)
    for ax, what in zip(axes, ("acquisitions", "contentions")):
        for i, column in enumerate(columns):
            for j, n in enumerate(cpus):
                mine = [r for r in runs if r["kernel"] == column and r["cpus"] == n]
                if not mine:
                    continue
                ys = [k + (i - (len(columns) - 1) / 2) * wide + (j - (len(cpus) - 1) / 2) * thin for k in range(len(locks))]
                xs = [sum(r["locks"].get(l, {}).get(what, 0) for r in mine) * 1e4 / sum(r["pages"] for r in mine)
                      for l in locks]
                ax.barh(ys, xs, thin * 0.93, color=COLORS[column], label=TITLES[column] if not j else None)
                for y, x in zip(ys, xs):
                    if not x and column == "on":
                        ax.text(0, y, " 0", va="center", fontsize=5, color=COLORS[column])
        ax.set_xscale("symlog", linthresh=1)
        ax.set_yticks(range(len(locks)), locks if what == "acquisitions" else [])
        ax.invert_yaxis()
        ax.set_xlabel(f"{what} for 10,000 pages swapped")
        ax.set_title(f"{what}; thin bars from above: {', '.join(map(str, cpus))} CPUs")
        ax.grid(axis="x", alpha=0.3)
    axes[1].axvline(1, color="red", lw=0.8, ls=":")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="upper left", ncol=len(columns), bbox_to_anchor=(0.01, 0.965))
    ax = axes[2]
    bars = [(f"paper, 128 cores:\n{kernel}", share, None, COLORS["paper"]) for kernel, share in PAPER_SHARE.items()]
    bars += [(f"{l['cpus']} CPUs:\n{TITLES[l['kernel']]}", {k: l["percent"][k]["median"] for k in l["percent"]}, l["percent"],
              COLORS[l["kernel"]]) for l in rec.get("table5", ())]
    names = {"lru_lock": 1.0, "si_lock": 0.6, "other locks": 0.3}
    for i, (_, share, spread, color) in enumerate(bars):
        for j, (lock, alpha) in enumerate(names.items()):
            if lock not in share:
                continue
            y, v = i + (j - 1) * 0.27, share[lock]
            error = spread and [[v - spread[lock]["min"]], [spread[lock]["max"] - v]]
            ax.barh(y, v, 0.25, xerr=error, color=color, alpha=alpha, capsize=2, error_kw={"lw": 0.6})
            ax.text(max(v, spread[lock]["max"] if spread else 0), y, f" {lock.replace('_lock', '')} {v:.2f}", va="center", fontsize=6)
    ax.set_yticks(range(len(bars)), [t for t, *_ in bars], fontsize=7)
    ax.invert_yaxis()
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlim(0, 1000)
    ax.set_xlabel("waiting, % of the time of all CPUs")
    ax.set_title("Table 5: lru, si, other locks")
    fig.suptitle("Locks on the swap path (the paper's Tables 1 and 5)")
    fig.tight_layout(rect=(0, 0.07, 1, 0.96))
    foot(fig, rec, "Left and middle: counts, since times say nothing where CPUs take turns. Right: two CPUs that run at the same "
         "time, lock_stat's waiting times, median, min and max of the rounds. Red: 1 contention for 10,000 pages.\n"
         "Other values of the paper's two tables: not known here.")
    save(fig, where, "table1-5.svg", done)


def contentions(where, done):
    """The picture of README.md: how often CPUs contend, by how many there are."""
    rec = read(where, "locks.json")
    if not rec:
        return
    swap = ["si->lock", "swap_avail_lock", "swap_cgroup", "cluster", "slot_cache_alloc", "slot_cache_free", "swap_cache"]
    fig, axes = pyplot.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for ax, (locks, title) in zip(axes, ((["lru_lock"], "lru_lock"), (swap, "all locks of swap areas and the swap cache"))):
        for column in ("base", "off", "on"):
            at = {}
            for r in rec["runs"]:
                if r["kernel"] == column:
                    n = sum(r["locks"].get(l, {}).get("contentions", 0) for l in locks)
                    at.setdefault(r["cpus"], []).append(n * 1e4 / r["pages"])
            ax.plot(sorted(at), [sum(at[c]) / len(at[c]) for c in sorted(at)], marker="o", ms=4, color=COLORS[column],
                    label=TITLES[column])
        cpus = sorted({r["cpus"] for r in rec["runs"]})
        ax.set_xscale("log", base=2)
        ax.set_xticks(cpus, [str(c) for c in cpus])
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(0, 3e4)
        ax.set_xlabel("CPUs")
        ax.set_title(title)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("contentions for 10,000 pages swapped")
    axes[1].legend()
    fig.tight_layout(rect=(0, 0.1, 1, 1))
    foot(fig, rec)
    save(fig, where, "contentions.svg", done)


def table6(where, done):
    rec = read(where, "table6.json")
    if not rec:
        return
    levels = [l for l in rec["levels"] if l["kept"]]
    x = [l["percent"] for l in levels]
    fig, axes = pyplot.subplots(1, 3, figsize=(12, 5))
    ax = axes[0]
    kept = [l["kept"] for l in levels]
    ax.errorbar(x, [k["median"] for k in kept], yerr=[[k["median"] - k["min"] for k in kept],
                [k["max"] - k["median"] for k in kept]], marker="o", capsize=3, color=COLORS["on"],
                label=f"ours, {levels[0].get('areas', 8)} CPUs, emulated")
    ax.plot([0, *PAPER_FULL], [1, *PAPER_FULL.values()], marker="s", color=COLORS["paper"], label="paper, 128 cores")
    ax.axhline(0.84, color="red", lw=0.8, ls=":")
    ax.set_ylim(0, 1.15)
    ax.set_ylabel("throughput, none full = 1")
    ax.legend(loc="lower left")
    ax = axes[1]
    ax.bar(x, [100 * l["deleg_allocs"]["median"] / l["pages_out"]["median"] for l in levels], 6, color=COLORS["on"])
    ax.set_ylabel("delegated allocations, % of pages swapped out")
    ax.set_title("paper: not known")
    ax = axes[2]
    for key, title, mark in (("deleg_avg_ns", "average", "o"), ("deleg_p999_ns", "p99.9", "^")):
        at = [(p, l[key]["median"]) for p, l in zip(x, levels) if l[key]]
        if at:
            ax.plot(*zip(*at), marker=mark, color=COLORS["on"], label=title)
    ax.set_yscale("log")
    ax.set_ylabel("delegation time, ns of the guest's clock")
    ax.set_title("paper: not known")
    ax.legend()
    for ax in axes:
        ax.set_xlabel("% of the areas full")
        ax.set_xticks(x)
        ax.grid(alpha=0.3)
    fig.suptitle("Some areas full (the paper's Table 6)")
    fig.tight_layout(rect=(0, 0.08, 1, 1))
    foot(fig, rec, "16 ns is one instruction of any CPU; the time includes the turns of others. Red: 84 %.")
    save(fig, where, "table6.svg", done)


def instructions(where, done):
    rec = read(where, "instructions.json")
    if not rec:
        return
    fig, axes = pyplot.subplots(1, 3, figsize=(10, 4.2))
    for ax, (key, title) in zip(axes, (("swap_out", "swap out"), ("swap_in", "swap in"),
                                       ("alloc_free", "of both: slot, from allocating to freeing"))):
        bars = [(c, rec[key][c]) for c in TITLES if c in rec[key]]
        ax.bar([TITLES[c] for c, _ in bars], [v for _, v in bars], 0.6, color=[COLORS[c] for c, _ in bars])
        for i, (_, v) in enumerate(bars):
            ax.text(i, v, f"{v:,.0f}", ha="center", va="bottom", fontsize=8)
        ax.set_title(title)
        ax.set_ylabel("instructions a page")
        ax.tick_params(axis="x", labelsize=8, rotation=20)
    fig.suptitle("Instructions, order 0, one CPU")
    fig.tight_layout(rect=(0, 0.07, 1, 1))
    foot(fig, rec)
    save(fig, where, "instructions.svg", done)


def fault(where, done):
    rec = read(where, "fault.json")
    if not rec:
        return
    columns = [c for c in ("base", "off", "bio", "direct") if c in rec]
    colors = {"base": COLORS["base"], "off": COLORS["off"], "bio": COLORS["lru"], "direct": COLORS["on"]}
    titles = {"base": "base kernel", "off": "mode off", "bio": "bio", "direct": "direct"}
    fig, axes = pyplot.subplots(1, 3, figsize=(13, 5.4), gridspec_kw={"width_ratios": [3, 4, 2.4]})
    ax = axes[0]
    orders = [("page_cluster_0", "one page\na fault"), ("page_cluster_3_shuffle", "page-cluster 3,\nrandom"),
              ("page_cluster_3_read", "page-cluster 3,\nin order")]
    for i, c in enumerate(columns):
        for j, (key, _) in enumerate(orders):
            v = rec[c].get("instructions_all", {}).get(key)
            if not v or not v["submit"]:
                continue
            x = j + (i - (len(columns) - 1) / 2) * 0.2
            sub, com = v["submit"]["median"], v["complete"]["median"]
            ax.bar(x, sub, 0.18, color=colors[c], label=titles[c] if not j else None)
            ax.bar(x, com, 0.18, bottom=sub, color=colors[c], alpha=0.5)
            ax.text(x, sub + com, f"{sub + com:,.0f}", ha="center", va="bottom", fontsize=6, rotation=90)
    ax.margins(y=0.15)
    ax.set_xticks(range(len(orders)), [t for _, t in orders])
    ax.set_ylabel("instructions a fault, one CPU, median")
    ax.set_title("until the command is out (dark)\nand from its end (light)")
    ax.legend(loc="upper left")
    ax.grid(axis="y", alpha=0.3)
    ax = axes[1]
    for c in columns:
        for q, style in (("p50", "-"), ("p99", "--"), ("p99.9", ":")):
            at = [(l["threads"], l[c][q]) for l in rec.get("latency", ())
                  if l["page_cluster"] == 0 and l["order"] == "shuffle" and l.get(c)]
            if not at:
                continue
            xs = [t for t, _ in at]
            ax.errorbar(xs, [v["median"] for _, v in at],
                        yerr=[[v["median"] - v["min"] for _, v in at], [v["max"] - v["median"] for _, v in at]],
                        ls=style, marker="o", ms=3, capsize=2, color=colors[c], label=f"{titles[c]}, {q}")
    if ax.lines:
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        low, high = ax.get_ylim()
        # room for the legend
        ax.set_ylim(low, high * 30)
        ax.legend(fontsize=6, ncol=4, loc="upper center")
    ax.set_xlabel("threads (CPUs take turns)")
    ax.set_ylabel("µs a fault, wall clock, page-cluster 0")
    ax.set_title("latency")
    ax.grid(alpha=0.3)
    ax = axes[2]
    bars = [("paper,\npolled", -78, COLORS["paper"]), ("paper,\ninterrupt", -18, COLORS["paper"])]
    for c in columns[columns[:1] == ["base"]:]:
        n, base = (rec.get(k, {}).get("instructions") for k in (c, "base"))
        if n and base and n.get("submit") and base.get("submit"):
            bars.append((f"{c},\ninstr.", 100 * (n["submit"] + n["complete"]) / (base["submit"] + base["complete"]) - 100,
                         colors[c]))
        over = rec[c].get("latency_over_base")
        if over:
            bars.append((f"{c},\np50", 100 * over["p50"]["median"] - 100, colors[c]))
    ax.barh(range(len(bars)), [v for _, v, _ in bars], 0.7, color=[c for *_, c in bars])
    for i, (_, v, _) in enumerate(bars):
        ax.text(v, i, f" {v:+.0f} %", va="center", ha="left" if v > 0 else "right", fontsize=8)
    ax.set_yticks(range(len(bars)), [t for t, *_ in bars], fontsize=7)
    ax.invert_yaxis()
    ax.margins(x=0.35)
    ax.axvline(0, color="black", lw=0.6)
    ax.set_title("change against the base;\npaper: latency of a read")
    fig.suptitle("Faults that wait for a page on NVMe")
    fig.tight_layout(rect=(0, 0.11, 1, 1))
    cost = "".join(f" QEMU's drive itself takes {v['doorbell_to_completion']['p50']:.0f} µs of a read ({titles[c]}, median)."
                   for c, v in rec["meta"].get("device_us", {}).items() if v.get("doorbell_to_completion"))
    m = rec["meta"]
    fig.text(0.01, 0.01, "Paper (Ultraswap): Linux 5.4, Optane P4800X, direct requests against the block layer's; read latency "
             "-78 % polled, -18 % with interrupts.\nOurs: QEMU's NVMe drive, CPUs emulated (TCG), on two cores shared with other "
             f"work; nothing is subtracted.{cost}\n{m['date'][:10]}, {', '.join(sorted({k['release'] for k in m['kernels'].values()}))}, "
             f"{', '.join(m['repository'])}.", fontsize=7, va="bottom")
    save(fig, where, "fault.svg", done)


def parallel(where, done):
    """As the paper's Figure 12: throughput and latency by CPUs, in simulated parallel time."""
    rec = read(where, "parallel.json")
    if not rec:
        return
    m = rec["meta"]
    colors = {"base": COLORS["base"], "mglru": COLORS["mglru"], "linux-7.2": "#c53030", "on": COLORS["on"]}
    titles = {"base": "base kernel (6.12)", "mglru": "base, MGLRU", "linux-7.2": "Linux 7.2", "on": "scaleswap=on"}
    runs = [r for r in rec["runs"] if r["load"] == "shared" and (r["t_ns"], r["quantum"]) == tuple(m["main"].values())]
    shown = [("swap-out, thousand pages a second", lambda r: r["swap_out"]["kpages_s"]),
             ("swap-in, thousand pages a second", lambda r: r["swap_in"]["kpages_s"]),
             ("both, random order, thousand faults a second", lambda r: r["kfaults_s"]),
             ("a fault, average, µs", lambda r: r["avg_us"]), ("a fault, p99, µs", lambda r: r["p99_us"]),
             ("a fault, p99.9, µs", lambda r: r["p999_us"])]
    cpus = sorted({r["cpus"] for r in runs})
    fig, axes = pyplot.subplots(2, 3, figsize=(11, 7.4))
    for i, (ax, (title, value)) in enumerate(zip(axes.flat, shown)):
        for kernel, color in colors.items():
            points = sorted((r["cpus"], value(r)) for r in runs if r["kernel"] == kernel)
            if points:
                ax.plot(*zip(*points), marker="o", ms=4, color=color, label=titles[kernel])
        ax.set_xscale("log", base=2)
        ax.set_xticks(cpus, [str(n) for n in cpus])
        ax.set_xlabel("CPUs")
        ax.set_title(title)
        if i < 3:
            ax.set_ylim(bottom=0)
        else:
            ax.set_yscale("log")
        ax.grid(alpha=0.3)
    axes[0][0].legend()
    fig.suptitle("Throughput and fault latency by CPUs (as the paper's Figure 12), one memory cgroup")
    fig.tight_layout(rect=(0, 0.08, 1, 1))
    t, q = m["main"].values()
    fig.text(0.01, 0.01, f"Simulated parallel time: QEMU in lock step, an instruction takes 1 ns, a cache line of another CPU {t} ns, clocks "
             f"differ by at most {q} ns.\nDrives are memory (null_blk). The model has no cache capacity, memory bandwidth, NUMA or "
             f"hyperthreads. {m['date'][:10]}, {', '.join(m['repository'])}.", fontsize=7, va="bottom")
    save(fig, where, "parallel.svg", done)


def main():
    where = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
    done = []
    for draw in (contentions, figure12, parallel, tables_1_5, table6, instructions, fault):
        if len(sys.argv) <= 2 or draw.__name__ in sys.argv[2:]:
            draw(where, done)
    for path in done:
        print(f"plot: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
