#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Collect pages of programs, and make the codes of deflate-iaa-canned of half of them.

  canned.py tables PAGES > drivers/crypto/intel/iaa/iaa_canned_tables.h
  canned.py pages PAGES      only collect

PAGES gets six files of whole pages: source text, programs, and memory of a compiler at work, once
to make the codes of (train-*) and once to measure compressors with (test-*). No file, package or
compilation is in both. PAGES/from says what they are of.

Programs are files of Debian packages that are installed. Text is of the kernel tree that this file
is in, or of --tree; --objects is where that was built, with gcc: the compiler is run with the
commands of there, and stopped.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import struct
import subprocess
import sys
import textwrap
import time

PAGE = 4096
HERE = pathlib.Path(__file__).resolve().parent
TEXT = {"train": ("fs", "kernel", "net/core"), "test": ("drivers/usb", "sound/core", "security")}
PROGRAMS = {"train": ("coreutils", "bash", "perl-base", "libc6", "libstdc++6", "tar", "gzip"),
            "test": ("libpython3.11-stdlib", "python3.11-minimal", "git", "openssh-client", "gdb")}
COMPILED = {"train": "fs/namei.o", "test": "mm/memory.o"}


def thin(pages, most):
    """As many of these, from all over."""
    return [pages[i * len(pages) // most] for i in range(most)] if len(pages) > most else pages


def pages_of_file(path):
    """The pages that a file's memory would have."""
    data = path.read_bytes()
    return [data[i:i + PAGE].ljust(PAGE, b"\0") for i in range(0, len(data), PAGE)]


def text(tree, dirs):
    """Pages of source text."""
    names = sorted(p for d in dirs for p in (tree / d).rglob("*.[ch]"))
    return [page for name in names for page in pages_of_file(name)]


def programs(packages):
    """Pages of programs and libraries. Return them, and the packages' versions."""
    pages, versions = [], []
    for package in packages:
        query = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], text=True,
                               capture_output=True, check=False)
        if query.returncode:
            raise SystemExit(f"canned.py: install {package}")
        versions.append(f"{package} {query.stdout}")
        files = subprocess.run(["dpkg-query", "-L", package], text=True, capture_output=True,
                               check=True).stdout.split("\n")
        for path in map(pathlib.Path, sorted(files)):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    if file.read(4) == b"\x7fELF":
                        pages += pages_of_file(path)
    return pages, versions


def memory_of(pid):
    """Pages of anonymous memory of a process that are there."""
    pages = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem, \
            open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        for line in maps:
            start, end, mode, rest = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \d+ *(.*)", line).groups()
            if mode != "rw-p" or rest not in ("", "[heap]"):
                continue
            start, end = int(start, 16), int(end, 16)
            pagemap.seek(start // PAGE * 8)
            there = pagemap.read((end - start) // PAGE * 8)
            for i, (entry,) in enumerate(struct.iter_unpack("<Q", there)):
                if entry >> 63:
                    mem.seek(start + i * PAGE)
                    pages.append(mem.read(PAGE))
    return pages


def child_of(pid, name):
    """A process's child that runs a program, once there is one."""
    while True:
        for other in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if os.readlink(f"/proc/{other}/exe").endswith(name):
                return int(other)
        time.sleep(0.01)


def compiler(objects, target):
    """Pages of a compiler's memory, at half of its work."""
    command = (objects / target).with_name(f".{pathlib.Path(target).name}.cmd").read_text()
    command = re.search(r"^savedcmd_\S+ := (.*)$", command, re.M)[1].split(";")[0]
    words = [word for word in shlex.split(command) if word != "ccache"]
    words[words.index("-o") + 1] = "/dev/null"
    words[words.index("-c")] = "-S"
    words = [word for word in words if not word.startswith("-Wp,-MMD")]
    began = time.monotonic()
    subprocess.run(words, cwd=objects, check=True)
    took = time.monotonic() - began
    with subprocess.Popen(words, cwd=objects, stderr=subprocess.DEVNULL) as gcc:
        pid = child_of(gcc.pid, "cc1")
        time.sleep(took / 2)
        os.kill(pid, signal.SIGSTOP)
        try:
            return memory_of(pid)
        finally:
            os.kill(pid, signal.SIGKILL)


def collect(args):
    """Write the files of pages, and what they are of."""
    said = [subprocess.run(["gcc", "--version"], text=True, capture_output=True,
                           check=True).stdout.split("\n")[0]]
    args.out.mkdir(parents=True, exist_ok=True)
    for use in ("train", "test"):
        elf, versions = programs(PROGRAMS[use])
        sets = {"text": (text(args.tree, TEXT[use]), "linux " + " ".join(TEXT[use])),
                "elf": (elf, ", ".join(versions)),
                "heap": (compiler(args.objects, COMPILED[use]), "cc1 of " + COMPILED[use])}
        for name, (pages, what) in sets.items():
            used = thin(pages, args.pages)
            (args.out / f"{use}-{name}").write_bytes(b"".join(used))
            said.append(f"{use}-{name}: {len(used)} of {len(pages)} pages: {what}")
    (args.out / "from").write_text("\n".join(said) + "\n")


def main():
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("tables", "pages"))
    parser.add_argument("out", type=pathlib.Path, metavar="PAGES")
    parser.add_argument("--tree", type=pathlib.Path, default=HERE.parents[2])
    parser.add_argument("--objects", type=pathlib.Path, required=True)
    parser.add_argument("--pages", type=int, default=2048, help="of a file, at most [2048]")
    args = parser.parse_args()
    if not (args.out / "from").exists():
        collect(args)
    if args.what == "pages":
        return
    program = args.out / "canned"
    subprocess.run(["make", "--no-print-directory", "-s", "-C", HERE, f"K={args.tree}",
                    f"O={args.out.resolve()}", program.resolve()], check=True, stdout=sys.stderr)
    print("""/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Codes of deflate-iaa-canned: see iaa_canned.c. Made by tools/testing/scaleswap/canned.py of:
 *""")
    for line in (args.out / "from").read_text().splitlines():
        if not line.startswith("test-"):
            for part in textwrap.wrap(line, 92):
                print(f" * {part}")
    print(" */", flush=True)
    subprocess.run([program, *(args.out / f"train-{name}" for name in ("text", "elf", "heap"))],
                   check=True)


if __name__ == "__main__":
    main()
