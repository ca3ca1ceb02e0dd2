#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build every prefix of the exported series, with ScaleSwap on and off.

  scripts/test/prefixes.py [--from N] [--to N]     patches by their number in the export

A reviewer bisects: each commit of the series has to compile and link. Patch after patch
goes onto a copy of the base; after each one two small kernels are built as far as vmlinux,
with all options of ScaleSwap that the prefix offers, and with CONFIG_SCALESWAP=n. Patches
that only touch Documentation/, tools/ or MAINTAINERS change no kernel and are not built.
Small: what a hook touches and no more; `make check` builds the whole in many ways.

Hours the first time; make and ccache know what did not change. --write keeps how long
each took.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build"))
import tree_lib as t  # noqa: E402

OUT = os.path.join(t.BUILD, "prefixes")
# All that a hook is compiled into; see patches/.
CONFIG = """
64BIT SMP NUMA ACPI PCI PCI_MSI X86_64_ACPI_NUMA PRINTK BUG PM SUSPEND HIBERNATION PROC_FS
PROC_SYSCTL PROC_PAGE_MONITOR SYSFS DEBUG_FS TMPFS SHMEM SWAP ZSWAP CGROUPS MEMCG MEMCG_V1
BLK_CGROUP BLK_DEV_THROTTLING LRU_GEN TRANSPARENT_HUGEPAGE THP_SWAP MIGRATION COMPACTION KSM
USERFAULTFD NUMA_BALANCING VM_EVENT_COUNTERS SPARSEMEM_VMEMMAP MEMORY_FAILURE MEMORY_HOTPLUG
MEMORY_HOTREMOVE ZONE_DEVICE DEVICE_PRIVATE X86_MCE BLOCK BLK_DEV BLK_DEV_NVME NVME_MULTIPATH FUSE_FS
KUNIT TRACEPOINTS FTRACE EVENT_TRACING KALLSYMS MULTIUSER BINFMT_ELF FUTEX EPOLL
SCALESWAP_LRU SCALESWAP_FAULT SCALESWAP_KUNIT_TEST
CC_OPTIMIZE_FOR_SIZE=n WERROR
""".split()
QUIET = ("Documentation/", "tools/", "MAINTAINERS")


def fragment(on):
    """The configuration as KCONFIG_ALLCONFIG wants it; what a prefix lacks is ignored."""
    lines = ["CONFIG_" + (c if "=" in c else c + "=y") for c in CONFIG]
    return "\n".join(lines + [f"CONFIG_SCALESWAP={'y' if on else 'n'}", ""])


def make(tree, out, *args, log):
    env = dict(os.environ, KBUILD_BUILD_TIMESTAMP="2026-01-01", KBUILD_BUILD_USER="scaleswap",
               KBUILD_BUILD_HOST="scaleswap", KBUILD_BUILD_VERSION="1",
               CCACHE_NOHASHDIR="1", CCACHE_BASEDIR=t.BUILD)
    cmd = ["make", "-s", "-C", tree, "O=" + out, "-j" + os.environ.get("JOBS", str(os.cpu_count())),
           "CC=ccache gcc", "HOSTCC=ccache gcc", *args]
    with open(log, "a") as f:
        return subprocess.run(cmd, env=env, stdin=subprocess.DEVNULL, stdout=f,
                              stderr=subprocess.STDOUT).returncode


def build(tree, kind, configure, log):
    """Build one kernel; an error's text, or None."""
    out = os.path.join(OUT, kind)
    os.makedirs(out, exist_ok=True)
    if configure or not os.path.exists(out + "/.config"):
        frag = os.path.join(OUT, kind + ".fragment")
        with open(frag, "w") as f:
            f.write(fragment(kind == "on"))
        if make(tree, out, "KCONFIG_ALLCONFIG=" + frag, "allnoconfig", log=log):
            return "configuring failed"
    return "building failed" if make(tree, out, "vmlinux", log=log) else None


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--from", dest="first", type=int, default=1, metavar="N",
                    help="build from this patch on; those before are only applied")
    ap.add_argument("--to", dest="last", type=int, default=9999, metavar="N",
                    help="stop after this patch")
    ap.add_argument("--write", metavar="FILE", help="write what was built, and how long it took")
    args = ap.parse_args()

    t.fetch()
    series, tree = os.path.join(OUT, "series"), os.path.join(OUT, "tree")
    shutil.rmtree(series, ignore_errors=True)
    os.makedirs(series)
    if subprocess.run([os.path.join(t.ROOT, "scripts/build/export.py")],
                      env=dict(os.environ, BUILD=t.BUILD, OUT=series)).returncode:
        return 1
    # No times: what a patch changes gets a new one, or make would not see it.
    subprocess.run(["rsync", "-rlpc", "--delete", t.BASE + "/", tree + "/"], check=True)

    rows, begin = [], time.monotonic()
    for path in sorted(glob.glob(series + "/*.patch")):
        name = os.path.basename(path)
        number = int(name[:4])
        if number > args.last:
            break
        with open(path) as f:
            text = f.read()
        res = subprocess.run(["patch", "-p1", "--fuzz=0", "--batch", "--forward", "-d", tree],
                             input=text.encode(), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        if res.returncode:
            raise t.Error(f"{name} does not apply:\n{res.stdout.decode()}")
        files = [new or old for old, new in t.patch_files(text, name)]
        if number < args.first or all(f.startswith(QUIET) for f in files):
            t.say(f"{name}: applied, no kernel built")
            continue
        configure = any("Kconfig" in f for f in files)
        row = {"patch": name[:-6]}
        for kind in ("on", "off"):
            log = os.path.join(OUT, f"{name[:4]}-{kind}.log")
            open(log, "w").close()
            start = time.monotonic()
            error = build(tree, kind, configure, log)
            row[kind] = round(time.monotonic() - start)
            with open(log) as f:
                out = f.read()
            if not error and re.search(r"\bwarning:", out, re.I):
                error = "warnings"
            if error:
                print("\n".join(out.splitlines()[-20:]), file=sys.stderr)
                raise t.Error(f"{name}, ScaleSwap {kind}: {error}; {log}")
        rows.append(row)
        t.say(f"{name}: on {row['on']} s, off {row['off']} s")
    spent = round(time.monotonic() - begin)
    t.say(f"{len(rows)} prefixes built, on and off, in {spent} s")
    if args.write:
        commit = subprocess.run(["git", "-C", t.ROOT, "rev-parse", "--short", "HEAD"],
                                capture_output=True, text=True).stdout.strip()
        with open(args.write, "w") as f:
            json.dump({"commit": commit, "cpus": os.cpu_count(), "seconds": spent,
                       "prefixes": rows}, f, indent=1)
            f.write("\n")
    return 0


t.run_main(main)
