#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does each file that is named exist: scripts/test/check/paths.py ROOT [TREE]

Reads the Markdown files of the repository at ROOT, and all programs that are not part of the
kernel tree, comments included. What they name below a folder of the repository has to be there,
or, for folders of the kernel, in the assembled tree at TREE (without it, these are passed over).
So do links, and file names in `backquotes` of the Markdown files. NNN, NAME, DATE and * stand
for anything. Unit tests may name what is not there, and programs a file of bench/results that
they write.

And the default of BUILD stands in one shell file and one Python file, and nowhere else.
Prints what is wrong; exit status 1 if anything is.
"""
import functools
import glob
import os
import re
import subprocess
import sys

OURS = ("scripts", "bench", "patches", "configs", "docs", ".ci")
KERNELS = ("arch", "mm", "include", "drivers", "fs", "tools", "Documentation", "kernel", "lib", "block")
# Not behind a path of something else, such as $TREE/scripts/checkpatch.pl
BEFORE = r"(?:(?<=ROOT/)|(?<=ROOT}/)|(?<![\w/.}$~*-]))"
PATH = re.compile(BEFORE + r"((?:%s)/[\w./*-]*)" % "|".join(map(re.escape, OURS + KERNELS)))
ANY = re.compile(r"NNN|NAME|DATE|\*")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NAME = re.compile(r"`([\w-]+\.(?:py|sh|c|h|awk|json|log|svg|md|rst|patch|config))`")
TABLE = re.compile(r"^<!-- table [\w-]+ -->$.*?^<!-- end -->$", re.M | re.S)
DEFAULT = re.compile(r"[.]cache/scaleswap")
DEFAULT_IN = ["scripts/build/lib.sh", "scripts/build/paths.py"]
# Where bare names of kernel files are looked for
SEARCHED = ("mm", "include/linux", "include/trace", "drivers/nvme", "drivers/block", "block", "fs/proc", "kernel",
            "arch/x86", "tools/mm", "tools/testing/selftests/mm")


def repo_files(root):
    out = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    return sorted(f for f in set(out.split("\0")) if f and os.path.isfile(f"{root}/{f}"))


def there(path, *roots):
    pattern = ANY.sub("*", path)
    return any(glob.glob(f"{r}/{pattern}") or os.path.lexists(f"{r}/{path}") for r in roots if r)


@functools.cache
def names(root, tree):
    """The bare names of all files that a reader could look for."""
    out = {os.path.basename(f) for f in repo_files(root)}
    for top in SEARCHED if tree else ():
        for _, _, files in os.walk(f"{tree}/{top}"):
            out.update(files)
    return out


def wrong_paths(root, tree, name, text):
    markdown = name.endswith(".md")
    for m in PATH.finditer(text):
        path = m[1].rstrip(".-")
        # what stands behind is not shown as a path: scripts/build/{name}
        cut = text[m.end():m.end() + 1] in ("{", "$", "<", "%")
        if cut:
            path = os.path.dirname(path)
        ours = path.split("/")[0] in OURS
        if path.startswith("bench/results/") and not markdown or not ours and not tree:
            continue
        # an object of a kernel file, or what its makefile builds
        if not (there(path, root) if ours else there(re.sub(r"\.o$", ".c", path), root, tree) or there(f"{path}.*", tree)):
            yield m.start(), path
    if not markdown:
        return
    for m in LINK.finditer(text):
        if not os.path.lexists(os.path.join(root, os.path.dirname(name), m[1])):
            yield m.start(), m[1]
    for m in NAME.finditer(text):
        if not ANY.search(m[1]) and m[1] not in names(root, tree) and (tree or not m[1].endswith((".c", ".h"))):
            yield m.start(), m[1]


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    root, tree = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    wrong, defaults = [], []
    for name in repo_files(root):
        top = name.split("/")[0]
        if top in KERNELS or name.startswith("bench/results/") or name.endswith((".patch", ".svg")) or name == "COPYING":
            continue
        with open(f"{root}/{name}", errors="replace") as f:
            # A table of results gives commands as they were; programs had other names then
            text = TABLE.sub(lambda m: "\n" * m[0].count("\n"), f.read())
        if not os.path.basename(name).startswith("test_"):
            wrong += [f"{name}:{text.count(chr(10), 0, at) + 1}: {path} does not exist"
                      for at, path in wrong_paths(root, tree, name, text)]
        if DEFAULT.search(text) and not name.endswith(".md"):
            defaults.append(name)
    if defaults != DEFAULT_IN:
        wrong.append(f"the default of BUILD stands in {', '.join(defaults)}, not in {' and '.join(DEFAULT_IN)} alone")
    print("\n".join(wrong), end="\n" * bool(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
