#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check what headers hold, and that internal names stay inside.

  scripts/test/check/headers.py REPOSITORY

  bodies   no header of mm/scaleswap, include/linux or drivers defines a function that is
           not static inline: code that another file has to include is a .c file
  stubs    what hooks.h declares inline with an option has a stub without it
  names    ssw_* and SSW_* are internal to mm/scaleswap: neither hooks nor headers for the
           rest of the kernel nor drivers use them. Trace events show them, so those do

Prints one line a fault, "FILE:LINE: what", and exits with 1 if there is any.
"""
import glob
import os
import re
import sys

BODY = re.compile(r"^(?!static (?:__always_)?inline\b|#|\s|/|\*)(\w[^;{}()=]*\([^;{}]*\))\n\{", re.M)
INTERNAL = re.compile(r"\b(?:ssw|SSW)_\w+")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def blank(m):
    return re.sub(r"[^\n]", " ", m.group(0))


def faults(root):
    def files(ends, *folders):
        return sorted(f for d in folders for f in glob.glob(os.path.join(root, d, "**"), recursive=True)
                      if f.endswith(ends))

    for path in files(".h", "mm/scaleswap", "include/linux", "drivers"):
        name = os.path.relpath(path, root)
        with open(path) as f:
            text = COMMENT.sub(blank, f.read())
        for m in BODY.finditer(text):
            line = text.count("\n", 0, m.start()) + 1
            yield f"{name}:{line}: a function body that is not static inline: {' '.join(m[1].split())}"
    for path in files("hooks.h", "mm/scaleswap"):
        with open(path) as f:
            text = COMMENT.sub(blank, f.read())
        for option, with_it, without in re.findall(r"^#ifdef (CONFIG_SCALESWAP\w*)\n(.*?)^#else\b(.*?)^#endif",
                                                   text, re.M | re.S):
            inline = re.compile(r"^static inline [^;{}()]*?(\w+)\(", re.M)
            for call in sorted(set(inline.findall(with_it)) - set(inline.findall(without))):
                yield f"{os.path.relpath(path, root)}: {call}() has no stub without {option}"
    for path in files((".c", ".h"), "include/linux", "drivers"):
        name = os.path.relpath(path, root)
        with open(path) as f:
            text = COMMENT.sub(blank, f.read())
        for number, line in enumerate(text.splitlines(), 1):
            for m in INTERNAL.finditer(line):
                yield f"{name}:{number}: {m[0]} is internal to mm/scaleswap"
    for path in files(".patch", "patches"):
        with open(path) as f:
            for number, line in enumerate(f, 1):
                if re.match(r"\+(?!\+\+)", line):
                    for m in INTERNAL.finditer(line):
                        yield f"{os.path.relpath(path, root)}:{number}: {m[0]} is internal to mm/scaleswap"


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    found = list(faults(sys.argv[1]))
    print("\n".join(found) if found else "headers: nothing to report")
    return bool(found)


sys.exit(main())
