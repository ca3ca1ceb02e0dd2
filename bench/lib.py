# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: kernels, guests, the demo's table and verdict, records.

One measurement is one boot of one kernel with bench/guest/demo.py in it. A round is one
measurement of each column; the order turns from round to round, so that a host that
gets slower or busier meanwhile does not count against one of them. bench/demo.py without
--full measures the base kernel later than the other columns, or not at all.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "build"))
from paths import BUILD, ROOT  # noqa: E402

ME = os.path.splitext(os.path.basename(sys.argv[0]))[0]

# column -> what the kernel's name begins with (the rest is a file in configs/), kernel
# parameter, how the areas are set up. The rivals get the same files at one priority: then
# the base kernel stripes over them, which is its best.
COLUMNS = {
    "base": dict(prefix="base-", append="", how="striped"),
    "off": dict(prefix="", append="scaleswap=off", how="striped"),
    "on": dict(prefix="", append="scaleswap=on", how="percore"),
}
# "lru" is a column of bench/scale.py only
TITLES = {"base": "base kernel", "off": "scaleswap=off", "lru": "scaleswap=lru", "on": "scaleswap=on"}
LOCKS = {
    "swap_avail_lock": "swap_avail_lock",
    "si_lock": "si->lock, all areas",
    "cluster_lock": "cluster lock",
    "swap_cache": "swap cache xa_lock",
    "swap_cgroup": "swap_cgroup lock",
    "lru_lock": "lruvec->lru_lock",
    "zone_lock": "zone->lock",
}
LAYERS = ["base", "python", "tool"]
FACTOR = 2.2        # of the guest's memory
NEED_GB = 6         # disk for the drives of one guest, initramfs, kernels


def say(text):
    print(f"{ME}: {text}", flush=True)


def die(text):
    print(f"{ME}: ERROR: {text}", file=sys.stderr, flush=True)
    sys.exit(2)


def stamp_options(o):
    """The workload's: how often each page is checked and rewritten."""
    return ["--passes", str(o.passes), "--rewrite"]


def add_options(ap, rounds, mem=384, passes=2):
    ap.add_argument("--rounds", type=int, default=os.environ.get("ROUNDS") or rounds, metavar="N",
                    help=f"measure each kernel N times, in turn (default {rounds}, or $ROUNDS)")
    ap.add_argument("--mem", type=int, default=mem, metavar="MB", help=f"guest memory (default {mem})")
    ap.add_argument("--passes", type=int, default=passes, metavar="N",
                    help=f"check and rewrite all pages N times (default {passes})")
    ap.add_argument("--factor", type=float, default=FACTOR, metavar="X",
                    help=f"workload, in guest memories (default {FACTOR})")
    ap.add_argument("--accel", choices=["auto", "kvm", "tcg"], default=os.environ.get("SSW_ACCEL", "auto"))
    ap.add_argument("--timeout", type=int, default=600, metavar="S", help="end a guest that prints nothing for S seconds of its own time (default 600)")
    ap.add_argument("--no-build", action="store_true",
                    help="take the kernels that are there, though sources may have changed")


def check_options(o):
    if o.rounds < 1 or o.passes < 1 or o.mem < 256 or not 2.0 <= o.factor <= 20 or o.timeout < 1:
        die("--rounds and --passes must be at least 1, --mem 256, --factor 2 to 20, --timeout above 0")


# --- building ---------------------------------------------------------------------

def step(*command):
    """One of scripts/build/, with its progress shown."""
    say(" ".join(["scripts/build/" + command[0], *command[1:]]))
    if subprocess.run([f"{ROOT}/scripts/build/{command[0]}", *command[1:]],
                      stdin=subprocess.DEVNULL).returncode:
        die(f"scripts/build/{' '.join(command)} failed")


def kernel_names(columns, config):
    return sorted({COLUMNS[c]["prefix"] + config for c in columns})


def prepare(work, no_build, columns, config):
    """Build all that these columns need and stage it; {kernel: what it is}."""
    if not no_build:
        step("deps.sh")
        step("tree.py")
        for kernel in kernel_names(columns, config):
            step("kernel.sh", kernel)
    step("initramfs.sh", *LAYERS)
    stage_root(work)
    return stage_kernels(work, columns, config)


def stage_kernels(work, columns, config):
    """Copy the kernels to `work`, so that another build that runs meanwhile does not
    change what is measured."""
    kernels = {}
    for name in kernel_names(columns, config):
        image = f"{BUILD}/out/{name}/arch/x86/boot/bzImage"
        if not os.path.exists(image):
            die(f"{image} is missing; run without --no-build")
        shutil.copy(image, f"{work}/{name}")
        with open(image, "rb") as f:
            kernels[name] = {"sha256": hashlib.sha256(f.read()).hexdigest()}
    return kernels


def stage_root(work):
    """The guest's root and the workload, in `work` for the same reason."""
    # one small root: every MB of it is guest memory
    with open(f"{work}/root.cpio", "wb") as out:
        for layer in LAYERS:
            with open(f"{BUILD}/initramfs/{layer}.cpio", "rb") as f:
                shutil.copyfileobj(f, out)
            out.write(b"\0" * (-out.tell() % 512))
    r = subprocess.run(["gcc", "-O2", "-pthread", "-o", f"{work}/stamp",
                        f"{ROOT}/tools/testing/selftests/scaleswap/stamp.c"])
    if r.returncode:
        die("the workload (selftests/scaleswap/stamp.c) does not compile")
    free = shutil.disk_usage(BUILD).free >> 30
    if free < NEED_GB:
        die(f"{BUILD} has {free} GB free, {NEED_GB} are needed for the guest's drives")


class Spent:
    """How long something took, and how much CPU time its processes: a busy host changes
    the first, and hardly the second."""

    def __enter__(self):
        self.start = time.monotonic(), self.cpu()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.start[0]
        self.cpu_seconds = self.cpu() - self.start[1]

    @staticmethod
    def cpu():
        use = resource.getrusage(resource.RUSAGE_CHILDREN)
        return use.ru_utime + use.ru_stime


# --- measuring --------------------------------------------------------------------

def qemu_cpu_seconds(boot_pid):
    """CPU time of the QEMU that scripts/guest/boot.py runs. A busy host makes a guest slow, but
    hardly makes it use more of this."""
    tick = os.sysconf("SC_CLK_TCK")
    try:
        for task in os.listdir(f"/proc/{boot_pid}/task"):
            with open(f"/proc/{boot_pid}/task/{task}/children") as f:
                for pid in f.read().split():
                    with open(f"/proc/{pid}/stat") as s:
                        name, rest = s.read().rsplit(")", 1)
                    if "qemu" in name:
                        fields = rest.split()
                        return (int(fields[11]) + int(fields[12])) / tick
    except (OSError, ValueError, IndexError):
        pass
    return None


def measure(work, column, config, o, setup, log):
    """Boot one guest; what it counted, or {"error": why}."""
    c = COLUMNS[column]
    # All of it would fit into one area: reclaim is not spread evenly over CPUs, and a full
    # area would make another picture. The drives are sparse files.
    size = max(512, int(o.mem * o.factor * 1.25))
    command = [f"{ROOT}/scripts/guest/boot.py", "--kernel", f"{work}/{c['prefix']}{config}",
               "--cpus", str(setup["cpus"]), "--mem", str(o.mem), "--nvme", str(setup["drives"]),
               "--nvme-size", str(size + 128), "--initramfs", f"{work}/root.cpio",
               "--add", f"{work}/stamp:/ssw/stamp", "--timeout", str(o.timeout),
               "--accel", o.accel, "--thread", setup["thread"], "--log", log]
    if c["append"]:
        command += ["--append", c["append"]]
    command += [f"{ROOT}/bench/guest/demo.py", c["how"], str(size), str(o.factor), *stamp_options(o)]
    boot = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace")
    said = []
    drain = threading.Thread(target=lambda: said.extend(boot.stderr), daemon=True)
    drain.start()
    result, cpu = None, {}
    try:
        for line in boot.stdout:
            word = line.split(" ", 1)[0].strip()
            if word in ("begin", "end"):
                cpu[word] = qemu_cpu_seconds(boot.pid), time.monotonic()
                if word == "begin":
                    say(f"{TITLES[column]}: booted, areas are on; swapping")
            elif word == "result":
                result = json.loads(line.split(" ", 1)[1])
        status = boot.wait()
    finally:
        # also on Ctrl-C: QEMU dies with it
        if boot.poll() is None:
            boot.terminate()
            boot.wait()
    drain.join(5)
    why = {97: "kernel splat", 98: f"nothing printed for {o.timeout} s", 99: "the guest ended without a report"}
    fault = why.get(status, f"status {status}") if status or not result else None
    # the titles of the table say what was booted
    if not fault and result["parameter"] != c["append"]:
        fault = f"booted with '{result['parameter']}', not with '{c['append']}'"
    if fault:
        text = "".join(said[-60:])
        print(text, file=sys.stderr, flush=True)
        return {"error": fault, "column": column, "log": log,
                "said": text.splitlines()[-60:], "result": result}
    accel = re.search(r"accel (\S+)", "".join(said))
    result["accel"] = accel[1] if accel else "unknown"
    if len(cpu) == 2 and None not in (cpu["begin"][0], cpu["end"][0]):
        result["host_cpu_seconds"] = round(cpu["end"][0] - cpu["begin"][0], 2)
        result["host_seconds"] = round(cpu["end"][1] - cpu["begin"][1], 2)
    result["load_average"] = os.getloadavg()
    return result


def rounds(work, config, o, setup, out, columns=tuple(COLUMNS)):
    """Measure these columns, o.rounds times, into the rounds in `out`.

    Rounds that are there already get further columns, others are added: whole, and at
    once, so that what was measured is not lost if this is stopped.
    """
    order = list(columns)
    os.makedirs(f"{BUILD}/logs", exist_ok=True)
    for n in range(o.rounds):
        results = {}
        for column in order[n % len(order):] + order[:n % len(order)]:
            log = f"{BUILD}/logs/{ME}-{column}.console"
            with Spent() as spent:
                r = measure(work, column, config, o, setup, log)
            results[column] = r
            what = (f"FAILED: {r['error']}; console in {log}" if "error" in r else
                    f"{r['pages_out']} pages out, {r['pages_in']} in, in {r['seconds']:.0f} s")
            say(f"round {n + 1} of {o.rounds}, {TITLES[column]}: {what} "
                f"({spent.seconds:.0f} s with boot, {spent.cpu_seconds:.0f} s of CPU time)")
        if n < len(out):
            results.update(out.pop(n))
        out.insert(n, {c: results[c] for c in COLUMNS if c in results})


class Workplace:
    """A directory of this run, in the place where scripts/guest/boot.py clears up after the dead."""

    def __enter__(self):
        os.makedirs(f"{BUILD}/run", exist_ok=True)
        self.dir = tempfile.mkdtemp(prefix=f"{os.getpid()}-bench-", dir=f"{BUILD}/run")
        return self.dir

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)


# --- what the numbers mean --------------------------------------------------------

def moved(r):
    return r["pages_out"] + r["pages_in"]


def measured(all_rounds):
    """The columns that were measured, in their order."""
    return [c for c in COLUMNS if any(c in r for r in all_rounds)]


def good(all_rounds, column):
    return [r[column] for r in all_rounds if column in r and "error" not in r[column]]


def share(parts):
    total = sum(parts)
    return " ".join(f"{100 * p / total:.0f}" for p in parts) if total else "-"


def spread(values, form="{:,.0f}"):
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    mid = form.format(statistics.median(values))
    low, high = form.format(min(values)), form.format(max(values))
    return mid if low == high else f"{mid} [{low}–{high}]"


def by_cpu(r):
    return sorted(r["areas"].values(), key=lambda a: a["cpu"])


def lock_cell(results, key):
    acq = [r["locks"][key]["acquisitions"] for r in results]
    con = [r["locks"][key]["contentions"] for r in results]
    if None in acq:
        return "not told apart"
    return f"{spread(acq)} ({spread(con)})"


def table(all_rounds):
    """The table as lines: a column for each that was measured."""
    columns = measured(all_rounds)
    rows = []

    def row(title, cell):
        cells = []
        for c in columns:
            results = good(all_rounds, c)
            cells.append(cell(results, c) if results else "failed")
        rows.append([title, *cells])

    row("kernel", lambda rs, c: rs[0]["kernel"] + ("" if c == "base" else " + series"))
    row("swap areas", lambda rs, c: "one a core" if rs[0]["how"] == "percore" else "plain, striped")
    row("guest memory, MB", lambda rs, c: spread([r["memory_kb"] / 1024 for r in rs]))
    row("workload, MB (x memory)", lambda rs, c: "%s (%.2f)" % (
        spread([r["workload_mb"] for r in rs]),
        statistics.median(r["workload_mb"] * 1024 / r["memory_kb"] for r in rs)))
    row("pages checked", lambda rs, c: spread([r["stamp"].get("verified", 0) for r in rs]))
    row("  wrong", lambda rs, c: spread([r["stamp"].get("wrong", 0) for r in rs]))
    row("pages swapped out", lambda rs, c: spread([r["pages_out"] for r in rs]))
    row("  x guest memory", lambda rs, c: spread([r["pages_out"] * 4 / r["memory_kb"] for r in rs], "{:.2f}"))
    row("pages swapped in", lambda rs, c: spread([r["pages_in"] for r in rs]))
    row("seconds", lambda rs, c: spread([r["seconds"] for r in rs], "{:.1f}"))
    row("pages/s, out and in", lambda rs, c: spread([moved(r) / r["seconds"] for r in rs]))
    row("host CPU µs/page", lambda rs, c: spread(
        [r["host_cpu_seconds"] * 1e6 / moved(r) if "host_cpu_seconds" in r else None for r in rs], "{:.1f}"))
    # much more than the host has CPUs: others worked on it, and seconds mean little
    row(f"host load average ({os.cpu_count()} CPUs)", lambda rs, c: spread(
        [r["load_average"][0] for r in rs], "{:.1f}"))
    row("balance: % written to each drive", lambda rs, c: share(
        [sum(p) for p in zip(*(r["written_pages"] for r in rs))]))

    def homes(rs, c):
        if rs[0]["how"] != "percore":
            return "-"
        return share([sum(a["allocs_home"] for a in areas) for areas in zip(*map(by_cpu, rs))])

    def foreign(rs, c):
        if rs[0]["how"] != "percore":
            return "-"
        return spread([sum(a["allocs_foreign"] for a in r["areas"].values()) for r in rs])

    row("  % allocated by each core, own area", homes)
    row("  pages from areas of other cores", foreign)
    rows.append(["lock acquisitions (contentions)", *[""] * len(columns)])
    for key, title in LOCKS.items():
        row("  " + title, lambda rs, c, key=key: lock_cell(rs, key))
    return aligned(["", *[TITLES[c] for c in columns]], rows)


def aligned(head, rows):
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]

    def line(cells):
        return "  ".join([cells[0].ljust(widths[0]),
                          *[c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)]]).rstrip()
    return [line(head), "  ".join("-" * w for w in widths), *map(line, rows)]


def conditions(all_rounds, setup, o):
    """Under which conditions, in two or three lines."""
    accels = sorted({r["accel"] for c in measured(all_rounds) for r in good(all_rounds, c)}) or ["unknown"]
    emulated = any(a.startswith("tcg") for a in accels)
    lines = [f"Guests of {setup['cpus']} CPUs and {setup['drives']} NVMe drives (QEMU, accel {' '.join(accels)}), "
             f"ext4, {o.rounds} round{'' if o.rounds == 1 else 's, median [min–max] where they differ'};"]
    lines.append(f"lock_stat on in every kernel; {setup['cpus']} processes, one a CPU, "
                 f"stamp {' '.join(stamp_options(o))}.")
    if emulated:
        lines.append("CPUs and drives are emulated" +
                     (", CPUs one at a time" if "tcg,thread=single" in accels else "") +
                     ": counts are what they are, times are no forecast for hardware.")
    return lines


def judge(all_rounds):
    """[(passed, text)]: the verdict on correctness, point by point."""
    out = []
    results = [r[c] for r in all_rounds for c in COLUMNS if c in r]
    failed = [r for r in results if "error" in r]
    fine = [r for r in results if "error" not in r]
    out.append((not failed, "every guest ended well, no kernel splat: %d of %d%s" % (
        len(fine), len(results), "".join(f"; {TITLES[r['column']]}: {r['error']}" for r in failed))))
    checked = sum(r["stamp"].get("verified", 0) for r in fine)
    wrong = sum(r["stamp"].get("wrong", 0) for r in fine)
    bad = [r for r in fine if r["status"] or not r["stamp"].get("verified")]
    out.append((bool(fine) and not wrong and not bad, "every page came back right: %s checked, %d wrong%s" % (
        f"{checked:,}", wrong, f"; workload status {bad[0]['status']}" if bad else "")))
    out += [(False, w) for w in [w for r in bad for w in r["wrong_pages"]][:4]]
    least = min((r["pages_out"] * 4 / r["memory_kb"] for r in fine), default=0)
    ws = min((r["workload_mb"] * 1024 / r["memory_kb"] for r in fine), default=0)
    out.append((least >= 2 and ws >= 2, f"swapped out at least 2x the guest's memory: {least:.2f}x "
                f"(workload {ws:.2f}x)"))
    on = good(all_rounds, "on")
    used = [a["allocs_home"] for r in on for a in r["areas"].values()]
    complete = all(sorted(a["cpu"] for a in r["areas"].values()) == list(range(r["cpus"])) for r in on)
    out.append((bool(used) and complete and min(used) > 0,
                "with scaleswap=on every core used its own area: at least %s pages each%s" % (
                    f"{min(used, default=0):,}", "" if complete else "; but areas are not one a core")))
    blind = [r for r in fine if not r["lock_stat_works"] or not r["swap_avail_lock_control"]]
    taken = sum(r["locks"]["swap_avail_lock"]["acquisitions"] for r in on)
    rivals = []
    for c in measured(all_rounds):
        counts = [r["locks"]["swap_avail_lock"]["acquisitions"] for r in good(all_rounds, c)]
        if c != "on":
            rivals.append(f"{TITLES[c]}: " + (f"{statistics.median(counts):,.0f}" if counts else "failed"))
    out.append((bool(on) and not taken and not blind,
                f"swap_avail_lock acquisitions with scaleswap=on: {taken:,} ({', '.join(rivals)})"
                + ("; but lock_stat did not see it at swapon either" if blind else "")))
    return out


def print_points(points):
    for passed, text in points:
        print(f"  {'ok  ' if passed else 'FAIL'}  {text}", flush=True)


def print_verdict(points):
    print_points(points)
    good_ = all(p for p, _ in points)
    print(f"{ME}: {'PASS' if good_ else 'FAIL'}", flush=True)
    return 0 if good_ else 1


# --- ratios -----------------------------------------------------------------------

def metrics():
    """(title, function of a result, is it worth a picture)"""
    out = [("pages/s", lambda r: moved(r) / r["seconds"], True),
           ("host CPU time a page", lambda r: r["host_cpu_seconds"] / moved(r), True),
           ("pages swapped out", lambda r: r["pages_out"], False),
           ("pages swapped in", lambda r: r["pages_in"], False)]
    for key, title in LOCKS.items():
        out.append((f"{title}: acquisitions a page",
                    lambda r, k=key: r["locks"][k]["acquisitions"] / moved(r), True))
        out.append((f"{title}: contentions a page",
                    lambda r, k=key: r["locks"][k]["contentions"] / moved(r), False))
    return out


def ratios(all_rounds, metric, over):
    """The ratio to the base kernel in each round; rounds where it has no meaning left out."""
    out = []
    for r in all_rounds:
        try:
            out.append(metric(r[over]) / metric(r["base"]))
        except (KeyError, TypeError, ZeroDivisionError):
            continue
    return out


def ratio_table(all_rounds):
    rows = [["ratio to the base kernel", "off / base", "on / base"]]
    for title, metric, _ in metrics():
        cells = []
        for over in ("off", "on"):
            cells.append(spread(ratios(all_rounds, metric, over), "{:.2f}"))
        rows.append([title, *cells])
    return aligned(rows[0], rows[1:])


# --- records ----------------------------------------------------------------------

def write_record(path, rec):
    """As JSON that a person can still look through: one line a measurement."""
    setups = [dict(s, rounds=[f"@{i}.{n}" for n in range(len(s["rounds"]))])
              for i, s in enumerate(rec["setups"])]
    text = json.dumps(dict(rec, setups=setups), indent=1, ensure_ascii=False)
    for i, s in enumerate(rec["setups"]):
        for n, r in enumerate(s["rounds"]):
            lines = ",\n".join(f"     {json.dumps(c)}: {json.dumps(r[c], ensure_ascii=False)}" for c in r)
            text = text.replace(f'"@{i}.{n}"', "{\n" + lines + "\n    }")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as f:
        f.write(text + "\n")
    os.rename(path + ".new", path)


def output_of(*command):
    try:
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def record(o, kernels, setups, steps=()):
    """All of a run, as what goes into a file. `setups`: [(setup, rounds)]; `steps`: how
    long each took"""
    return {
        "format": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": [os.path.relpath(os.path.abspath(sys.argv[0]), ROOT), *sys.argv[1:]],
        "options": {k: v for k, v in vars(o).items() if not callable(v)},
        "repository": output_of("git", "describe", "--always", "--dirty"),
        "kernels": kernels,
        "host": {"cpus": os.cpu_count(), "kernel": os.uname().release,
                 "qemu": output_of("qemu-system-x86_64", "--version").split("\n")[0]},
        "steps": list(steps),
        "setups": [dict(setup, rounds=results) for setup, results in setups],
    }


def report(path, svg=True):
    """Print a file that bench/demo.py --full wrote, and draw its ratios."""
    try:
        with open(path) as f:
            rec = json.load(f)
        if rec["format"] != 1:
            die(f"{path} has format {rec['format']}; this reads format 1")
    except (OSError, ValueError, KeyError, TypeError) as e:
        die(f"{path} is no file of bench/demo.py --full: {e!r}")
    print(f"\n{rec['date']}, {rec['repository']}, {rec['host']['qemu']}, {rec['host']['cpus']} host CPUs")
    for setup in rec["setups"]:
        o = argparse.Namespace(**{"passes": 2, **rec["options"], "rounds": len(setup["rounds"])})
        print(f"\n== {setup['name']}\n")
        shown = [conditions(setup["rounds"], setup, o), table(setup["rounds"])]
        if "base" in measured(setup["rounds"]):
            shown.append(ratio_table(setup["rounds"]))
        for lines in shown:
            print("\n".join(lines) + "\n")
    if not svg:
        return
    try:
        import matplotlib
    except ImportError:
        print(f"{ME}: NOTICE: no picture, since matplotlib is missing (Debian package python3-matplotlib)",
              file=sys.stderr)
        return
    matplotlib.use("svg")
    draw(rec, os.path.splitext(path)[0] + ".svg")


def draw(rec, path):
    """The ratios as bars, with min and max."""
    import matplotlib
    from matplotlib import pyplot
    # the same file for the same numbers
    matplotlib.rcParams["svg.hashsalt"] = "scaleswap"
    shown = [(t, m) for t, m, picture in metrics() if picture]
    fig, axes = pyplot.subplots(1, len(rec["setups"]), squeeze=False, sharey=True,
                                figsize=(7 * len(rec["setups"]), 0.5 * len(shown) + 1.5))
    for ax, setup in zip(axes[0], rec["setups"]):
        for side, (over, color) in enumerate((("off", "#9aa5b1"), ("on", "#2b6cb0"))):
            for y, (_, metric) in enumerate(shown):
                values = ratios(setup["rounds"], metric, over)
                if not values:
                    continue
                mid = statistics.median(values)
                ax.barh(y + 0.2 - 0.4 * side, mid, 0.36, color=color,
                        label=TITLES[over] if y == 0 else None)
                ax.plot([min(values), max(values)], [y + 0.2 - 0.4 * side] * 2, color="black", lw=1)
                ax.text(max(values), y + 0.2 - 0.4 * side, f" {mid:.2f}", va="center", fontsize=8)
        ax.set_xscale("symlog", linthresh=2)
        ax.margins(x=0.15)
        ax.axvline(1, color="black", lw=0.8, ls=":")
        ax.set_title(f"{setup['name']}: {setup['cpus']} CPUs, thread={setup['thread']}, "
                     f"{len(setup['rounds'])} rounds", fontsize=10)
        ax.set_xlabel("ratio to the base kernel, median; line: min to max")
        ax.legend(fontsize=8)
    axes[0][0].set_yticks(range(len(shown)), [t for t, _ in shown])
    axes[0][0].invert_yaxis()
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    say(f"picture: {path}")
