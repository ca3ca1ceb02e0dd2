#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the base tree's own selftests of swap, LRU and groups; compare with the base kernel.

Programs of selftests/mm, selftests/cgroup (memcontrol, kmem, zswap) and memory-hotplug
are built from the pristine base tree and run, with four NVMe drives as swap, in guests
with four kernels:

  base      the pristine base
  off       the patched tree, CONFIG_SCALESWAP=n
  boot-off  the patched tree, booted with scaleswap=off
  on        the patched tree, booted with scaleswap=on, every drive bound to a CPU

Prints a table. Exit status 0: off and boot-off give each case the base's result, and on
has none worse (a case that passes on the base fails, is skipped or does not report).
1: not so, or a kernel splat, a hang, a program that did not really swap, a failure of the
base that KNOWN_FAILURES does not list (it would blind the comparison). 2: the tests could
not be run.

A program with a case that differs is run up to three times in both kernels. What most
runs say counts; what still varies is listed as flaky, with all results. Cases in TIMING
vary on the base, too: they count only if all runs of both speak against us.

--config debug: whether the debug kernel gives with scaleswap=on what it gives with
scaleswap=off, which takes the base's place (KASAN and lockdep take memory and time, and
change some results by themselves); longer time-outs.

--config mglru: with the multi-generational LRU turned on in all of them: base-mglru,
boot-off-mglru and on-mglru.

Environment: BUILD, JOBS as for make; TEST_JOBS=N guests at a time (default: the
processors, at most 2).
"""
import argparse
import collections
import concurrent.futures
import datetime
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from paths import BUILD, ROOT  # noqa: E402

UP = f"{BUILD}/upstream"
GUEST_FILES = f"{ROOT}/scripts/test/upstream"
OWN = ["hold.c", "memory-hotplug.sh"]
ROUNDS = 3

# Name -> scripts/build/kernel.sh name, kernel parameters, what the guest must find (see GUEST)
KERNELS = {
    "base": ("base-test", "", "none"),
    "off": ("off", "", "none"),
    "boot-off": ("test", "scaleswap=off", "off"),
    "on": ("test", "scaleswap=on", "on"),
    "debug-off": ("debug", "scaleswap=off", "off"),
    "debug": ("debug", "scaleswap=on", "on"),
    "base-mglru": ("base-test", "", "none-mglru"),
    "boot-off-mglru": ("test", "scaleswap=off", "off-mglru"),
    "on-mglru": ("test", "scaleswap=on", "on-mglru"),
}
ON = ("on", "debug", "on-mglru")
# What the others are compared with comes first.
CONFIGS = {"test": ["base", "off", "boot-off", "on"], "debug": ["debug-off", "debug"],
           "mglru": ["base-mglru", "boot-off-mglru", "on-mglru"]}
# khugepaged takes 1 GB of huge pages at once. KASAN takes memory for itself.
MEM_MB = {"debug": "3072", "debug-off": "3072"}
MEM_MB_ELSE = "2048"
# Every check costs: so many times the seconds of RUNS
SLOWER = {"debug": 5, "debug-off": 5}

# Name -> folder of selftests, what it is made of besides its own source, libraries
VM = ["vm_util.c", "thp_settings.c"]
PROGRAMS = {
    "cow": ("mm", VM, []),
    "khugepaged": ("mm", VM, []),
    "uffd-unit-tests": ("mm", [*VM, "uffd-common.c"], []),
    "uffd-stress": ("mm", [*VM, "uffd-common.c"], []),
    "droppable": ("mm", [], []),
    "mlock-random-test": ("mm", [], ["-lcap"]),
    "mlock2-tests": ("mm", [], []),
    "madv_populate": ("mm", VM, []),
    "mrelease_test": ("mm", VM, []),
    "mremap_dontunmap": ("mm", VM, []),
    "mkdirty": ("mm", VM, []),
    "soft-dirty": ("mm", VM, []),
    "pagemap_ioctl": ("mm", VM, []),
    "gup_longterm": ("mm", VM, []),
    "ksm_tests": ("mm", VM, ["-lnuma"]),
    "ksm_functional_tests": ("mm", VM, []),
    "split_huge_page_test": ("mm", VM, []),
    "transhuge-stress": ("mm", VM, []),
    "migration": ("mm", VM, ["-lnuma"]),
    "test_memcontrol": ("cgroup", ["cgroup_util.c"], []),
    "test_kmem": ("cgroup", ["cgroup_util.c"], []),
    "test_zswap": ("cgroup", ["cgroup_util.c"], []),
}

# Guest -> options of scripts/guest/boot.py, kernel parameters. A guest of its own for what needs
# another machine, or leaves much behind.
GUESTS = {
    "mm": ([], ""),
    "lru": ([], ""),
    "cgroup": ([], ""),
    "numa": (["--nodes", "2"], ""),
    # blocks of 128 MB; half of them can always be emptied
    "hotplug": ([], "movablecore=1024M"),
}

# Label -> guest, seconds, command. As run_vmtests.sh and kselftest run them, and
# khugepaged with files and shmem too (ksm_tests -H and -P with 20 MB, not 100: they take
# minutes). Hang guards: ten times what an idle machine needs.
RUNS = {
    "cow": ("mm", 900, "cow"),
    "khugepaged": ("mm", 600, "khugepaged all:anon"),
    "khugepaged -s 2": ("mm", 600, "khugepaged -s 2 all:anon"),
    "khugepaged shmem": ("mm", 600, "khugepaged all:shmem"),
    "khugepaged file": ("mm", 600, "khugepaged all:file /mnt"),
    "uffd-unit-tests": ("mm", 600, "uffd-unit-tests"),
    "droppable": ("mm", 120, "droppable"),
    "mlock-random-test": ("lru", 120, "mlock-random-test"),
    "mlock2-tests": ("lru", 120, "mlock2-tests"),
    "madv_populate": ("lru", 120, "madv_populate"),
    "mrelease_test": ("lru", 120, "mrelease_test"),
    "mremap_dontunmap": ("lru", 120, "mremap_dontunmap"),
    "mkdirty": ("lru", 120, "mkdirty"),
    "soft-dirty": ("lru", 120, "soft-dirty"),
    "pagemap_ioctl": ("lru", 300, "pagemap_ioctl"),
    "gup_longterm": ("lru", 120, "gup_longterm"),
    "uffd-stress anon": ("lru", 300, "uffd-stress anon 20 16"),
    "uffd-stress shmem": ("lru", 300, "uffd-stress shmem 20 16"),
    "ksm_tests -H": ("lru", 300, "ksm_tests -H -s 20"),
    "ksm_tests -P": ("lru", 300, "ksm_tests -P -s 20"),
    "ksm_tests -M": ("lru", 150, "ksm_tests -M -p 10"),
    "ksm_tests -U": ("lru", 150, "ksm_tests -U"),
    "ksm_tests -Z -z 0": ("lru", 150, "ksm_tests -Z -p 10 -z 0"),
    "ksm_tests -Z -z 1": ("lru", 150, "ksm_tests -Z -p 10 -z 1"),
    "ksm_functional_tests": ("lru", 300, "ksm_functional_tests"),
    # A folder that is not there: no file system here has large folios, and to find that out
    # for nine orders it writes 38 million bytes one by one
    "split_huge_page_test": ("lru", 300, "split_huge_page_test /no-large-folios"),
    "transhuge-stress": ("lru", 300, "transhuge-stress -d 20"),
    "migration": ("numa", 600, "migration"),
    "ksm_tests -N -m 1": ("numa", 150, "ksm_tests -N -m 1"),
    "ksm_tests -N -m 0": ("numa", 150, "ksm_tests -N -m 0"),
    "test_memcontrol": ("cgroup", 600, "test_memcontrol"),
    "test_kmem": ("cgroup", 600, "test_kmem"),
    "test_zswap": ("cgroup", 600, "test_zswap"),
    "memory-hotplug": ("hotplug", 600, "memory-hotplug.sh"),
}
# These page out anonymous memory: pswpout or swpout_zero must rise. (The rest need not:
# khugepaged with files and shmem collapses only, droppable memory is dropped ...)
MUST_SWAP = ["cow", "khugepaged", "khugepaged -s 2", "uffd-unit-tests", "test_memcontrol", "test_zswap"]

# What fails on the base kernel, too, in these guests: (label, start of the case) -> why.
# A case that fails on the base and is not here fails the whole: nothing would be compared.
KHUGE = "fails in every run of the base; the cause was not sought"
KNOWN_FAILURES = {
    ("khugepaged shmem", "collapse_full (khugepaged:shmem): Collapse multiple"): KHUGE,
    ("khugepaged shmem", "collapse_single_pte_entry (khugepaged:shmem)"): KHUGE,
    ("khugepaged shmem", "collapse_full_of_compound (khugepaged:shmem)"): KHUGE,
    ("khugepaged file", "collapse_full (khugepaged:file): Collapse multiple"): KHUGE,
    ("khugepaged file", "collapse_single_pte_entry (khugepaged:file)"): KHUGE,
    ("khugepaged file", "collapse_max_ptes_none (khugepaged:file)"): KHUGE,
    ("khugepaged file", "collapse_single_pte_entry_compound (khugepaged:file)"): KHUGE,
    ("khugepaged file", "collapse_full_of_compound (khugepaged:file)"): KHUGE,
    ("split_huge_page_test", "(plan)"): "stopped before the nine cases of the page cache; see RUNS",
    ("pagemap_ioctl", "(plan)"): "ends at the first of its files in hugetlbfs: no hugetlbfs",
    ("ksm_functional_tests", "(plan)"): "its child's execv can fail (argv has no NULL), and the child goes on",
    ("migration", "migration.private_anon_htlb"): "no hugetlbfs",
    ("migration", "migration.shared_anon_htlb"): "no hugetlbfs",
    ("test_memcontrol", "test_memcg_sock"): "no network",
    ("test_kmem", "test_percpu_basic"): "leaves the groups' slab memory out of what it expects",
}
# Cases that pass or fail by chance, on the base alike, under emulation: (label, start of
# the case) -> why. A difference in one counts only if it always passed on the base and
# never here, in all ROUNDS runs.
TIMING = {
    # 25 runs failed 11 times on the base and 6 with shards
    ("ksm_tests -N -m 1", "KSM NUMA merging"): "looks after two scans, whatever they did",
    # 25: 5 and 6
    ("ksm_tests -U", "KSM unmerging"): "looks after one scan, whatever it did",
    # 8: 2 and 2; 4 and 2
    ("migration", "migration.shared_anon"): "gives up after a hundred tries in a row, no pause between",
    ("migration", "migration.shared_anon_thp"): "gives up after a hundred tries in a row, no pause between",
    # 14: 6 and 6; 6: 3 and 2
    ("test_memcontrol", "test_memcg_min"): "usage must be within 3 and 10 %",
    ("test_memcontrol", "test_memcg_low"): "usage must be within 3 and 10 %",
    ("test_memcontrol", "test_memcg_reclaim"): "gives its children six seconds to fill 100 MB",
    ("test_kmem", "test_kmem_basic"): "gives the slab a second to shrink",
    ("test_zswap", "test_swapin_nozswap"): "the base OOM-killed it once, with its pages under writeback",
    ("test_zswap", "test_zswap_writeback_enabled"): "memory.reclaim may say EAGAIN",
    # Reads stored_pages, then the group's zswapped; "int delta < size_t" is false if that grew
    ("test_zswap", "test_no_kmem_bypass"): "fails if kswapd stores a page between its two reads",
}

GUEST = r"""#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: guest.sh none|off|on[-mglru] "LABEL|SECONDS|COMMAND"...
sys=/sys/kernel/mm/scaleswap
mode=${1%-mglru} lru_gen=n
[ "$mode" = "$1" ] || lru_gen=y
shift
die() { echo "upstream: ERROR: $*" >&2; exit 1; }

# A kernel that is not what it is taken for would make all comparison void
case $mode in
none) [ ! -e $sys ] || die "this kernel has $sys" ;;
off) [ "$(cat $sys/enabled)" = 0 ] || die "$sys/enabled is not 0" ;;
on)
	[ "$(cat $sys/enabled)" = 1 ] || die "$sys/enabled is not 1"
	[ "$(cat $sys/lru/shards)" -gt 0 ] || die "$sys/lru/shards is 0"
	;;
esac

echo $lru_gen >/sys/kernel/mm/lru_gen/enabled || die "MGLRU cannot be turned on or off"

for i in $(seq 100); do [ -b /dev/nvme4n1 ] && break; sleep 0.1; done
for d in /dev/nvme[0-3]n1; do
	mkswap $d >/dev/null || die "mkswap $d failed"
	[ $mode != on ] || echo auto >/proc/sys/vm/scaleswap/bind || die "bind failed"
	swapon -p 10 $d || die "swapon $d failed"
done
if [ $mode = on ]; then
	cpus=$(cat $sys/areas/*/cpu | sort -u | tr '\n' ' ')
	[ "$cpus" = "0 1 2 3 " ] || die "the areas' home CPUs are $cpus"
fi
mkfs.ext4 -q /dev/nvme4n1 && mkdir -p /mnt && mount /dev/nvme4n1 /mnt || die "no ext4 on /mnt"

counters() {
	sed -nE 's/^(pswpout|pswpin|swpout_zero|thp_swpout|thp_swpout_fallback) /\1=/p' /proc/vmstat
	[ $mode != on ] || for f in $sys/stats/alloc_*; do echo "${f##*/}=$(cat $f)"; done
}

echo "@@uname $(uname -r)"
for run; do
	IFS='|' read -r label limit cmd <<<"$run"
	# as run_vmtests.sh does: khugepaged needs huge pages
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
	sleep 1
	dir=/tmp
	case $cmd in
	# page cache: in tmpfs, holes that are read take no memory
	test_*) dir=/mnt ;;
	# it executes itself as ./ksm_functional_tests
	ksm_functional_tests) dir=/upstream ;;
	esac
	case $cmd in
	test_zswap) echo 1 >/sys/module/zswap/parameters/enabled || die "no zswap" ;;
	esac
	echo "@@begin $label"
	before=$(counters)
	start=${EPOCHREALTIME/./}
	(cd $dir && exec timeout -k 10 "$limit" /upstream/$cmd) 2>&1
	status=$?
	took=$(((${EPOCHREALTIME/./} - start) / 100000))
	echo 0 >/sys/module/zswap/parameters/enabled
	echo
	echo "@@before" $before
	echo "@@after" $(counters) tenths=$took
	echo "@@end $status"
done
while read -r l; do echo "@@swaps $l"; done </proc/swaps
if [ $mode = on ]; then
	for a in $sys/areas/*; do
		echo "@@area ${a##*/} cpu=$(cat $a/cpu) home=$(cat $a/allocs_home) foreign=$(cat $a/allocs_foreign)"
	done
	lru=$(cd $sys/lru && grep . shards allocated returned moved foreign | tr ':\n' '= ')
	echo "@@lru ${lru}no_shard=$(cat $sys/stats/fallback/no_shard)"
fi
swapoff -a || die "swapoff failed"
echo "@@done"
exit 0
"""


def say(text):
    print(f"upstream: {text}", flush=True)


class CannotRun(Exception):
    pass


# --- building ---------------------------------------------------------------------

def clean_env():
    """Without what a make above us would tell the make below."""
    return {k: v for k, v in os.environ.items()
            if k not in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL")}


def command(args, log=None, **kw):
    r = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, errors="replace", env=clean_env(), **kw)
    if log:
        with open(log, "a") as f:
            f.write(f"$ {' '.join(args)}\n{r.stdout}")
    if r.returncode:
        print(r.stdout[-3000:], file=sys.stderr)
        raise CannotRun(f"{args[0]} failed" + (f"; the whole log is {log}" if log else ""))
    return r.stdout


def build_programs():
    """Static programs in $BUILD/upstream/bin, from the base tree, which stays as it is."""
    base = os.path.realpath(f"{BUILD}/base")
    if not os.path.isfile(f"{base}/Makefile"):
        raise CannotRun(f"{BUILD}/base is missing; run 'make tree' first")
    os.makedirs(f"{UP}/bin", exist_ok=True)
    with open(f"{UP}/.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made_of = hashlib.sha256(gcc_version().encode())
        for name in (f"{BUILD}/base.stamp", os.path.abspath(__file__), *(f"{GUEST_FILES}/{n}" for n in OWN)):
            if os.path.exists(name):
                with open(name, "rb") as f:
                    made_of.update(f.read())
        made_of.update(base.encode())
        stamp = f"{UP}/stamp"
        if os.path.exists(stamp) and open(stamp).read() == made_of.hexdigest():
            return
        say("building the base tree's selftests")
        log = f"{BUILD}/logs/upstream-build.log"
        os.makedirs(f"{BUILD}/logs", exist_ok=True)
        open(log, "w").close()
        command(["make", "-C", base, f"O={UP}/obj", f"INSTALL_HDR_PATH={UP}/headers",
                 f"-j{os.environ.get('JOBS') or os.cpu_count()}", "headers_install"], log)
        # No liburing: cow then leaves its io_uring cases out, on every machine alike
        open(f"{UP}/local_config.h", "w").close()
        selftests = f"{base}/tools/testing/selftests"
        for name, (folder, more, libs) in PROGRAMS.items():
            # No -O in selftests/cgroup, as in its Makefile: it would leave out memory that is
            # filled and never read
            command(["gcc", "-static", "-O2" if folder == "mm" else "-O0", "-Wall", "-U_FORTIFY_SOURCE",
                     "-no-pie", "-D_GNU_SOURCE=",
                     # khugepaged.c uses it without kselftest.h
                     "-DKSFT_SKIP=4", "-pthread",
                     # Debian 12's own headers lack MAP_DROPPABLE, UFFD_FEATURE_MOVE ...
                     "-isystem", f"{UP}/headers/include",
                     # behind the kernel's, as in its Makefile
                     *(["-isystem", f"{base}/tools/include/uapi", f"-I{base}", f"-I{UP}"]
                       if folder == "mm" else []),
                     f"{name}.c", *more, "-o", f"{UP}/bin/{name}",
                     *libs, "-lrt", "-lpthread", "-lm"], log, cwd=f"{selftests}/{folder}")
        command(["gcc", "-static", "-O2", "-Wall", f"{GUEST_FILES}/hold.c", "-o", f"{UP}/bin/hold"], log)
        for script in (f"{GUEST_FILES}/memory-hotplug.sh", f"{selftests}/memory-hotplug/mem-on-off-test.sh"):
            shutil.copy(script, f"{UP}/bin/")
        with open(stamp, "w") as f:
            f.write(made_of.hexdigest())


def gcc_version():
    return command(["gcc", "--version"])


def build_kernels(kernels):
    for name in dict.fromkeys(KERNELS[k][0] for k in kernels):
        say(f"scripts/build/kernel.sh {name}")
        if subprocess.run([f"{ROOT}/scripts/build/kernel.sh", name], stdin=subprocess.DEVNULL).returncode:
            raise CannotRun(f"scripts/build/kernel.sh {name} failed")


# --- reading what the programs say ------------------------------------------------

def parse_tap(text):
    """cow's results are all called alike; the [RUN] line before says which it is."""
    run, plan, seen = None, None, 0
    for line in text.splitlines():
        m = re.match(r"# \[RUN\] (.*)", line)
        if m:
            run = m[1].strip()
        m = re.match(r"1\.\.(\d+)", line)
        if m:
            plan = int(m[1])
        m = re.match(r"(not ok|ok) \d+ ?-? ?(.*)", line)
        if m:
            seen += 1
            name, _, directive = m[2].partition(" # ")
            if not directive and name.startswith("# "):
                name, directive = "", name[2:]
            skip = directive.upper().startswith("SKIP")
            yield run or name.strip(), "skip" if skip else m[1], directive if skip else name
    # selftests/cgroup have no plan: what is not there is missing
    if seen != plan and not (plan is None and seen):
        yield "(plan)", "not ok", f"{seen} results, the plan says {plan}"


def parse_uffd(text):
    parts = re.split(r"^Testing ", text, flags=re.M)[1:]
    for part in parts:
        name, _, rest = part.partition("... ")
        m = re.search(r"(done|failed|skipped)(?: \[reason: (.*)\])?[ \t]*$", rest, re.M)
        if not m:
            yield name, "not ok", "no result: " + rest.strip()[:200]
        else:
            yield name, {"done": "ok", "failed": "not ok", "skipped": "skip"}[m[1]], m[2] or ""
    if not re.search(r"^Userfaults unit tests: pass=", text, re.M):
        yield "(summary)", "not ok", "the program did not get to its end"


def parse_khugepaged(text):
    """Not TAP: steps "what... OK" in colour, under "Run test: " headings."""
    test = "start"
    for m in re.finditer(r"^Run test: (.*)$|([^\n]*?)\.*[ ]*\x1b\[3(\d)m([^\x1b]*)\x1b\[0m", text, re.M):
        if m[1]:
            test = m[1].strip()
            continue
        # a counter is written over and over: only the last counts
        what = re.sub(r"\s*\d+/\d+$", "", m[2].split("\r")[-1]).strip(" .")
        yield f"{test}: {what}", {"2": "ok", "1": "not ok", "3": "skip"}[m[3]], m[4]


def parse_status(text, status):
    """Nothing but what the program exits with."""
    yield "(result)", {0: "ok", 4: "skip"}.get(status, "not ok"), f"exit status {status}"


def parse(label, text, status):
    """Ordered {case: (result, why)}. `status` is the program's."""
    prog = label.split()[0]
    reader = {"uffd-unit-tests": parse_uffd, "khugepaged": parse_khugepaged,
              "uffd-stress": lambda text: parse_status(text, status)}.get(prog, parse_tap)
    cases, seen = collections.OrderedDict(), collections.Counter()
    for name, result, why in reader(text.replace("\r\n", "\n")):
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} #{seen[name]}"
        cases[name] = (result, why)
    failed = sum(r == "not ok" for r, _ in cases.values())
    # A crash, a time-out, an early end: a status that the cases do not explain.
    # khugepaged's is the number of failures.
    if status >= 124 or (status != failed if prog == "khugepaged" else status not in (0, 4) and not failed):
        cases["(exit status)"] = ("not ok", f"exit status {status}")
    return cases


# --- guests -----------------------------------------------------------------------

class Run:
    """One program in one boot."""

    def __init__(self, label, text, status, before, after):
        self.label, self.text, self.status = label, text, status
        self.before, self.after = before, after
        self.seconds = after.pop("tenths", 0) / 10
        self.counters = {k: after[k] - before.get(k, 0) for k in after}
        self.cases = parse(label, text, status)


def boot(kernel, guest, labels, n):
    """Boots one guest; returns its facts and [Run]."""
    name, append, mode = KERNELS[kernel]
    options, more = GUESTS[guest]
    tag = f"{guest}-{n}"
    logs = f"{BUILD}/logs/upstream-{kernel}-{tag}"
    seconds = {l: RUNS[l][1] * SLOWER.get(kernel, 1) for l in labels}
    limit = 240 * SLOWER.get(kernel, 1) + max(seconds.values())
    args = [f"{ROOT}/scripts/guest/boot.py", "--kernel", f"{IMAGES}/{name}", "--cpus", "4",
            # our own selftests are not needed, and need not build
            "--initramfs", f"{BUILD}/initramfs/base.cpio",
            "--mem", MEM_MB.get(kernel, MEM_MB_ELSE), *options,
            "--nvme", "5", "--nvme-size", "512", "--timeout", str(limit), "--log", f"{logs}.console",
            "--out", f"{logs}.out", "--add", f"{UP}/bin:/upstream"]
    for a in (append, more):
        args += ["--append", a] if a else []
    args += [f"{UP}/guest.sh", mode, *(f"{l}|{seconds[l]}|{RUNS[l][2]}" for l in labels)]
    start = time.monotonic()
    r = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True, errors="replace")
    facts = {"kernel": name, "guest": guest, "n": n, "append": append,
             "console": f"{logs}.console", "boot_status": r.returncode,
             "seconds": round(time.monotonic() - start), "swaps": [], "areas": [], "lru": "",
             "accel": (re.search(r"accel (\S+)", r.stderr) or [None, "unknown"])[1],
             "command": " ".join(args)}
    for suffix, text in (("out", r.stdout), ("err", r.stderr)):
        with open(f"{logs}.{suffix}", "w") as f:
            f.write(text)
    runs, label, lines, before, after = [], None, [], {}, {}
    numbers = lambda words: {k: int(v) for k, _, v in (w.partition("=") for w in words)}
    for line in r.stdout.split("\n"):
        mark, _, rest = line.partition(" ")
        if mark == "@@begin":
            label, lines = rest, []
        elif mark == "@@before":
            before = numbers(rest.split())
        elif mark == "@@after":
            after = numbers(rest.split())
        elif mark == "@@end" and label:
            runs.append(Run(label, "\n".join(lines), int(rest), before, after))
            label = None
        elif mark == "@@uname":
            facts["release"] = rest
        elif mark == "@@swaps":
            facts["swaps"].append(rest)
        elif mark == "@@area":
            facts["areas"].append(rest)
        elif mark == "@@lru":
            facts["lru"] = rest
        elif label:
            lines.append(line)
    if label:
        # what it said before the guest ended counts
        runs.append(Run(label, "\n".join(lines), 255, {}, {}))
    missing = [l for l in labels if l not in [x.label for x in runs]]
    if r.returncode == 2 and not runs:
        # nothing that a kernel did
        raise CannotRun(f"guest {kernel} ({tag}) did not start:\n{r.stderr[-2000:]}")
    facts["error"] = None
    if r.returncode or missing:
        why = {97: "kernel splat", 98: "time-out", 99: "the guest ended without a report"}.get(
            r.returncode, f"status {r.returncode}")
        facts["error"] = why + (f"; never ran: {', '.join(missing)}" if missing else "")
        print(r.stderr[-3000:], file=sys.stderr)
    say(f"guest {kernel} ({tag}): {facts['accel']}, {facts['seconds']} s"
        + (f", {facts['error']}" if facts["error"] else ""))
    return facts, runs


def listed(table, label, case):
    """What the table says of this case, if anything."""
    return next((why for (l, c), why in table.items() if l == label and case.startswith(c)), None)


def worse(kernel, label, case, base, other):
    """Whether these results (of each run) are against the rule for this kernel."""
    b, o = majority(base), majority(other)
    if listed(TIMING, label, case):
        return len(other) >= ROUNDS and "ok" not in other and set(base) == {"ok"}
    if kernel in ON:
        return o != b and o != "ok" and b != "not ok"
    return o != b


def majority(results):
    """What most runs said; with no majority, what the first one said."""
    return max(results, key=lambda r: (results.count(r), -results.index(r)))


def result_of(run, case):
    """What a program itself is blamed for, such as (exit status), is only there if so."""
    return run.cases[case][0] if case in run.cases else "none" if case.startswith("(") else "missing"


def all_cases(label, *tables):
    return list(dict.fromkeys(c for t in tables for run in t[label] for c in run.cases))


def differing(label, base, other):
    """Cases whose results are not the same in all runs of both."""
    return [c for c in all_cases(label, base, other)
            if len({result_of(r, c) for t in (base, other) for r in t[label]}) > 1]


# --- the whole --------------------------------------------------------------------

def run_all(kernels, labels, jobs):
    """{kernel: {label: [Run]}}, {kernel: [facts]}"""
    ref = kernels[0]
    runs = {k: {l: [] for l in labels} for k in kernels}
    facts = {k: [] for k in kernels}

    def go(wanted, n):
        """`wanted`: [(kernel, labels)]; the kernels take turns, guest by guest"""
        todo = [(k, g, some) for g in GUESTS for k, ls in wanted
                if (some := [l for l in ls if RUNS[l][0] == g])]
        say(f"booting {len(todo)} guests, {jobs} at a time")
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for (k, *_), (f, got) in zip(todo, pool.map(lambda t: boot(*t, n), todo)):
                facts[k].append(f)
                for run in got:
                    runs[k][run.label].append(run)

    go([(k, labels) for k in kernels], 1)
    for n in range(2, ROUNDS + 1):
        again = collections.defaultdict(list)
        for l in labels:
            for k in kernels[1:]:
                if differing(l, runs[ref], runs[k]):
                    again[k].append(l)
            if any(l in again[k] for k in kernels[1:]) or unlisted(ref, l, runs[ref][l]):
                again[ref].append(l)
        if not again[ref]:
            break
        for k in kernels:
            if again[k]:
                say(f"{k}{f' differs from {ref}' if k != ref else ''}: {', '.join(again[k])}; run {n} of {ROUNDS}")
        go([(k, again[k]) for k in kernels if again[k]], n)
    return runs, facts


def unlisted(kernel, label, runs):
    """Cases that most of these runs of the base failed and KNOWN_FAILURES does not have.
    What the debug configuration makes fail is not listed, only told."""
    if kernel not in ("base", "base-mglru"):
        return []
    cases = list(dict.fromkeys(c for r in runs for c in r.cases))
    return [c for c in cases if majority([result_of(r, c) for r in runs]) == "not ok"
            and not listed(KNOWN_FAILURES, label, c) and not listed(TIMING, label, c)]


# scripts/guest/boot.py removes such folders of processes that are gone
IMAGES = f"{BUILD}/run/{os.getpid()}-upstream"


def take_images(kernels):
    """Copies: somebody may build a kernel while its guests run. {kernel: SHA-256}"""
    os.makedirs(IMAGES, exist_ok=True)
    sums = {}
    for k in kernels:
        copy = f"{IMAGES}/{KERNELS[k][0]}"
        if not os.path.exists(copy):
            shutil.copy(f"{BUILD}/out/{KERNELS[k][0]}/arch/x86/boot/bzImage", copy)
        with open(copy, "rb") as f:
            sums[k] = hashlib.sha256(f.read()).hexdigest()
    return sums


def report(kernels, labels, runs, facts):
    """Prints the table; returns what is to be saved, and whether all is as it should be."""
    good, differences, flaky, ref = True, [], [], kernels[0]
    verdict = {k: {l: {} for l in labels} for k in kernels}
    for l in labels:
        for c in all_cases(l, *(runs[k] for k in kernels)):
            for k in kernels:
                verdict[k][l][c] = majority([result_of(r, c) for r in runs[k][l]] or ["missing"])

    print(f"\n{'program':20s} {'kernel':9s} passed failed skipped differ  "
          "pswpout (before, after)  seconds  status (of each run)")
    for l in labels:
        for k in kernels:
            v = verdict[k][l]
            count = collections.Counter(v.values())
            bad = [c for c in v if v[c] != verdict[ref][l][c]]
            one = runs[k][l][0] if runs[k][l] else None
            before, after = (one.before.get("pswpout", 0), one.after.get("pswpout", 0)) if one else (0, 0)
            print(f"{l:20s} {k:9s} {count['ok']:6d} {count['not ok'] + count['missing']:6d} {count['skip']:7d} "
                  f"{'-' if k == ref else len(bad):>6} {after - before:8d} {f'({before}, {after})':17s} "
                  f"{one.seconds if one else 0:6.1f}  {' '.join(str(r.status) for r in runs[k][l])}")
            # pages full of zeroes are swapped out without being written
            if l in MUST_SWAP and not (one and one.counters.get("pswpout", 0) + one.counters.get("swpout_zero", 0)):
                good = False
                print(f"  ERROR: {l} did not swap in {k}")
    total = {}
    for k in kernels:
        count = collections.Counter(r for l in labels for r in verdict[k][l].values())
        total[k] = {"passed": count["ok"], "failed": count["not ok"] + count["missing"], "skipped": count["skip"]}
        print(f"{'all':20s} {k:9s} {total[k]['passed']:6d} {total[k]['failed']:6d} {total[k]['skipped']:7d}")

    for k in kernels[1:]:
        for l in labels:
            for c in differing(l, runs[ref], runs[k]):
                b, o = verdict[ref][l][c], verdict[k][l][c]
                d = {"kernel": k, "program": l, "case": c,
                     "base": [result_of(r, c) for r in runs[ref][l]],
                     "here": [result_of(r, c) for r in runs[k][l]],
                     "why": next((r.cases[c][1] for r in runs[k][l] if c in r.cases), "")}
                d["against_the_rule"] = worse(k, l, c, d["base"], d["here"])
                d["timing"] = listed(TIMING, l, c)
                (differences if b != o else flaky).append(d)
                good = good and not d["against_the_rule"]
    for title, found in (("Differences", differences), ("Flaky: what most runs say is the same", flaky)):
        print(f"\n{title}: {'none' if not found else len(found)}")
        for d in found[:40]:
            mark = "AGAINST THE RULE " if d["against_the_rule"] else "timing " if d["timing"] else ""
            print(f"  {mark}{d['kernel']}: {d['program']}: {d['case']}\n"
                  f"      {ref} {', '.join(d['base'])}; {d['kernel']} {', '.join(d['here'])} ({d['why']})")
        if len(found) > 40:
            print(f"  and {len(found) - 40} more: all are in the raw results")
    print(f"\nFail in {ref} too, so they are not compared:")
    for l in labels:
        for c in verdict[ref][l]:
            if verdict[ref][l][c] != "not ok":
                continue
            why = next((r.cases[c][1] for r in runs[ref][l] if c in r.cases), "")
            print(f"  {l}: {c} ({why}): {listed(KNOWN_FAILURES, l, c) or listed(TIMING, l, c) or 'NOT LISTED'}")
            good = good and c not in unlisted(ref, l, runs[ref][l])
    for (l, c), why in KNOWN_FAILURES.items():
        if l in labels and not any(case.startswith(c) and r == "not ok" for case, r in verdict[ref][l].items()):
            print(f"  {l}: {c}... is listed ({why}) but did not fail")
    for k in kernels:
        for f in facts[k]:
            if f["areas"] and f["n"] == 1:
                print(f"\n{k}, guest {f['guest']}: pages allocated per area, LRU shards")
                print("\n".join(f"  area {a}" for a in f["areas"]) + f"\n  lru {f['lru']}")
        if k in ON:
            sums = collections.Counter()
            for l in labels:
                for r in runs[k][l][:1]:
                    sums.update({n: v for n, v in r.counters.items() if n.startswith("alloc_")})
            print("  " + " ".join(f"{n}={v}" for n, v in sums.items()))
    for k in kernels:
        for f in facts[k]:
            if f["error"]:
                good = False
                print(f"\nERROR: guest {k}: {f['error']}")
    return good, {"totals": total, "differences": differences, "flaky": flaky}


def main():
    ap = argparse.ArgumentParser(prog="scripts/test/upstream.py", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--json", default=f"{BUILD}/results/upstream-selftests.json", metavar="FILE",
                    help="where the raw results go [%(default)s]")
    ap.add_argument("--no-build", action="store_true", help="take the kernels that are there")
    ap.add_argument("--config", choices=list(CONFIGS), default="test",
                    help="test: compare off, boot-off and on with base; mglru: the same with MGLRU; "
                    "debug: the debug kernel, scaleswap=on with scaleswap=off [%(default)s]")
    ap.add_argument("--kernels", metavar="LIST", help=f"compare only these with the first of the configuration: {', '.join(KERNELS)}")
    ap.add_argument("--programs", "--only", action="append", default=[], metavar="LIST",
                    help="run only these: guests, programs or the whole labels of the table, separated by commas. "
                    f"Guests: {', '.join(GUESTS)}; labels: {', '.join(RUNS)}")
    o = ap.parse_args()
    chosen = o.kernels.split(",") if o.kernels else CONFIGS[o.config]
    programs = [p.strip() for ps in o.programs for p in ps.split(",")]
    names = {l: (l, l.split()[0], RUNS[l][0]) for l in RUNS}
    wrong = [k for k in chosen if k not in KERNELS] + \
            [p for p in programs if not any(p in n for n in names.values())]
    for name in wrong:
        ap.error(f"there is no {name}; see --help")
    ref = CONFIGS[o.config][0]
    kernels = [ref] + [k for k in KERNELS if k in chosen and k != ref]
    labels = [l for l in RUNS if not programs or set(programs) & set(names[l])]
    jobs = int(os.environ.get("TEST_JOBS") or min(2, os.cpu_count() or 1))
    start = datetime.datetime.now(datetime.timezone.utc)
    try:
        os.makedirs(f"{BUILD}/logs", exist_ok=True)
        build_programs()
        if not o.no_build:
            build_kernels(kernels)
        with open(f"{UP}/guest.sh", "w") as f:
            f.write(GUEST)
        command([f"{ROOT}/scripts/build/initramfs.sh", "base"])
        images = take_images(kernels)
        runs, facts = run_all(kernels, labels, jobs)
    except (CannotRun, OSError) as e:
        print(f"upstream: ERROR: {e}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(IMAGES, ignore_errors=True)
    good, summary = report(kernels, labels, runs, facts)

    git = lambda *a: subprocess.run(["git", "-C", ROOT, *a], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    text=True).stdout.strip()
    saved = {
        "what": "the base tree's selftests of swap, LRU and groups, against the base kernel",
        "command": " ".join(["scripts/test/upstream.py", *sys.argv[1:]]),
        "date": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "seconds": round((datetime.datetime.now(
            datetime.timezone.utc) - start).total_seconds()),
        "commit": git("rev-parse", "HEAD"), "modified_files": git("status", "--short").splitlines(),
        "host": f"{os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs",
        "verdict": "pass" if good else "FAIL", **summary,
        "kernels": {k: {"name": KERNELS[k][0], "append": KERNELS[k][1], "release": facts[k][0].get("release"),
                        "accel": facts[k][0]["accel"], "bzimage_sha256": images[k], "boots": facts[k],
                        "runs": {l: [{"status": r.status, "seconds": r.seconds, "before": r.before, "after": r.after,
                                      "cases": {c: x[0] if x[0] == "ok" else ": ".join(x)
                                                for c, x in r.cases.items()}}
                                     for r in runs[k][l]] for l in labels}} for k in kernels},
    }
    os.makedirs(os.path.dirname(os.path.abspath(o.json)), exist_ok=True)
    with open(o.json + ".new", "w") as f:
        json.dump(saved, f, indent=1)
        f.write("\n")
    os.rename(o.json + ".new", o.json)
    print(f"\nkernel {saved['kernels'][ref]['release']}, {saved['kernels'][ref]['accel']}, "
          f"{saved['seconds']} s; raw results in {o.json}, what the programs said in {BUILD}/logs/upstream-*")
    print("upstream: " + ("PASS: nothing differs that should not" if good else "FAILED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
