#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that the documents name only what exists, and the overlay only what is a kernel's.

  scripts/test/check/docs.py REPOSITORY TREE

TREE is the assembled kernel tree (a plain base tree will do, too, if only the overlay is
new). Prints one line a fault, "FILE:LINE: what", and exits with 1 if there is any.

Documents are those of Documentation/, docs/*.md, patches/README.md and patches/covers/*.md.

  names      each name() in a document is in C code, and each identifier of ours (ssw_*,
             scaleswap_*, SSW_*, nvme_swap_*, CONFIG_SCALESWAP*) in some source; comments
             do not count
  paths      each kernel file named in a document, and each Documentation/ path named
             anywhere in the overlay, exists; so does each entry of a toctree
  doc        each `:doc:` title exists, each DOC: block is used, each file of a
             kernel-doc directive exists
  tables     rows of tables keep to their columns, which a renamed word may shift
  kernel     no overlay file names what a kernel tree does not have: our bench/,
             patches/, docs/, scripts, make targets (but for those of a
             Makefile beside the file) and $BUILD
"""

import glob
import os
import re
import sys

OVERLAY = ("arch", "mm", "include", "drivers", "fs", "tools", "Documentation", "kernel",
           "lib", "block")
# Where to look for a name or a bare file name, the likely places first.
PLACES = ("mm", "include/linux", "block", "drivers/nvme/host", "kernel", "fs", "include",
          "lib", "arch/x86", "drivers/block", "drivers/md", "drivers/base")
# A comment, or a string or character, which may hold what looks like one.
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|/\*.*?\*/|//[^\n]*', re.S)

STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"[A-Za-z_]\w+")

CALL = re.compile(r"(?<![\w.`-])([A-Za-z_]\w+)\(\)")
OURS = re.compile(r"(?<![\w/.-])((?:ssw_|scaleswap_|nvme_swap_|SSW_|CONFIG_SCALESWAP)\w*)(?<!_)(?![\w*/])")
TOP = r"(?:Documentation|arch|block|drivers|fs|include|kernel|lib|mm|net|tools)"
# not within a longer path, such as /sys/kernel/mm or usr/include
PATH = re.compile(rf"(?<![\w/.<-])({TOP}/[\w./*+-]*[\w*/])")
BARE = re.compile(r"(?<![\w/.*-])([\w-]+\.(?:c|h|rst|pml|awk))(?![\w/])")
SHELL = re.compile(r"(?<![\w/.*-])([\w-]+\.sh)(?![\w/])")
DIRECTIVE = re.compile(r"^\.\. kernel-doc:: +(\S+)\n((?:[ \t]+:.*\n)*)", re.M)
BORDER = re.compile(r"^\s*=+( +=+)+ *$")
BLOCK = re.compile(r"^\s*\* DOC: *(.*?) *$", re.M)

FOREIGN = (
    (re.compile(r"(?<![\w/.-])bench/(?:\w|(?=[\s`.,)]))"), "bench/"),
    (re.compile(r"(?<![\w/.-])patches/(?:\w|(?=[\s`.,)]))"), "patches/"),
    (re.compile(r"(?<![\w/.-])docs/"), "docs/"),
    (re.compile(r"\bmake (?:test(?:-\w+)?|check|bench(?:-\w+)?|demo|boot|refresh|export|tree|deb|"
                r"mutate|lockless|longrun)\b"), "a make target"),
    (re.compile(r"\$\{?BUILD\b"), "$BUILD"),
)
SCRIPT = re.compile(r"(?<![\w/.-])scripts/([\w./-]*\w)")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


class Check:
    def __init__(self, root, tree):
        self.root, self.tree = root, tree
        self.faults = []
        self.cache = {}
        self.overlay = sorted(
            os.path.relpath(os.path.join(d, f), root)
            for top in OVERLAY for d, _, files in os.walk(os.path.join(root, top))
            for f in files if "__pycache__" not in d)
        self.overlay += ["Kconfig.scaleswap"]
        self.docs = [f for f in self.overlay if f.startswith("Documentation/")]
        # Ours, never overlaid: they name files of the repository as well.
        self.pages = [os.path.relpath(f, root) for name in ("docs/*.md", "patches/README.md", "patches/covers/*.md")
                      for f in glob.glob(os.path.join(root, name))]
        self.code = [f for f in self.overlay if f not in self.docs]

    def fault(self, name, line, what):
        self.faults.append((name, line, what))

    def read(self, path):
        if path not in self.cache:
            with open(path, "rb") as f:
                data = f.read()
            self.cache[path] = "" if b"\0" in data else data.decode(errors="replace")
        return self.cache[path]

    def text(self, name):
        return self.read(os.path.join(self.root, name))

    def exists(self, name):
        for top in (self.root, self.tree):
            if glob.glob(os.path.join(top, name.rstrip("/"))):
                return True
        return False

    # ---- names ----

    def sources(self):
        """(C code, all text) of source files, the likely ones first, without comments."""
        for f in self.code:
            text = self.text(f)
            if f.endswith((".c", ".h")):
                text = COMMENT.sub(lambda m: m.group(1) or " ", text)
                yield STRING.sub('""', text), text
            else:
                yield "", text
        for place in PLACES:
            for d, _, files in os.walk(os.path.join(self.tree, place)):
                for f in sorted(files):
                    if f.endswith((".c", ".h")):
                        with open(os.path.join(d, f), errors="replace") as source:
                            text = COMMENT.sub(lambda m: m.group(1) or " ", source.read())
                        yield STRING.sub('""', text), text

    def names(self):
        calls, ours = {}, {}
        for f in self.docs + self.pages:
            text = self.text(f)
            for regex, wanted in ((CALL, calls), (OURS, ours)):
                for m in regex.finditer(text):
                    wanted.setdefault(m.group(1), (f, line_of(text, m.start())))
        left = dict(calls), {name: at for name, at in ours.items() if name not in calls}
        for texts in self.sources():
            if not left[0] and not left[1]:
                break
            for names, text in zip(left, texts):
                if names:
                    for word in WORD.findall(text):
                        names.pop(word, None)
        for name in left[0]:
            self.fault(*calls[name], f"{name}() is not in the sources")
        for name in left[1]:
            if not re.search(rf"^(?:menu)?config {name.removeprefix('CONFIG_')}$",
                             self.text("Kconfig.scaleswap"), re.M):
                self.fault(*ours[name], f"{name} is not in the sources")

    # ---- paths ----

    def paths(self):
        every = None
        for f in self.overlay + self.pages:
            text = self.text(f)
            doc = f.endswith(".rst") or f in self.docs + self.pages
            for m in PATH.finditer(text):
                name = m.group(1)
                if not doc and not name.startswith("Documentation/"):
                    continue
                if not self.exists(name):
                    self.fault(f, line_of(text, m.start()), f"{name} does not exist")
            if not doc:
                continue
            if every is None:
                every = self.basenames()
            for regex in (BARE, SHELL):
                for m in regex.finditer(text):
                    if m.group(1) not in every:
                        self.fault(f, line_of(text, m.start()), f"no file is called {m.group(1)}")
            self.toctree(f, text)

    def basenames(self):
        names = {os.path.basename(f) for f in self.overlay}
        for place in PLACES + ("Documentation/admin-guide/mm", "Documentation/mm"):
            for _, _, files in os.walk(os.path.join(self.tree, place)):
                names.update(files)
        return names

    def toctree(self, f, text):
        for m in re.finditer(r"^\.\. toctree::\n((?:[ \t]+.*\n|\n)*)", text, re.M):
            for line in m.group(1).splitlines():
                entry = line.strip()
                if not entry or entry.startswith(":"):
                    continue
                if not self.exists(os.path.join(os.path.dirname(f), entry + ".rst")):
                    self.fault(f, line_of(text, m.start()), f"toctree: {entry}.rst does not exist")

    # ---- DOC blocks ----

    def blocks(self):
        there, used = {}, set()
        for f in self.code:
            if f.endswith((".c", ".h")):
                text = self.text(f)
                for m in BLOCK.finditer(text):
                    there[f, m.group(1)] = line_of(text, m.start())
        for f in self.docs:
            text = self.text(f)
            for m in DIRECTIVE.finditer(text):
                line = line_of(text, m.start())
                if not self.exists(m.group(1)):
                    self.fault(f, line, f"kernel-doc: {m.group(1)} does not exist")
                for title in re.findall(r":doc: *(.*?) *$", m.group(2), re.M):
                    used.add((m.group(1), title))
                    if m.group(1) in self.code and (m.group(1), title) not in there:
                        self.fault(f, line, f"{m.group(1)} has no block 'DOC: {title}'")
        for block in sorted(set(there) - used):
            self.fault(block[0], there[block], f"'DOC: {block[1]}' is in no document")

    # ---- tables ----

    def tables(self):
        for f in self.docs:
            columns = None
            lines = self.text(f).splitlines()
            for i, line in enumerate(lines, 1):
                if BORDER.match(line):
                    columns = [m.span() for m in re.finditer("=+", line)]
                    if i == len(lines) or not lines[i].strip():
                        columns = None
                elif columns and line.strip():
                    self.row(f, i, line, columns)

    def row(self, f, i, line, columns):
        for (_, end), (start, _) in zip(columns, columns[1:]):
            if line[end:start].strip():
                self.fault(f, i, "a table's text is in the margin between two columns")
                return
        if not line[slice(*columns[0])].strip():
            return      # goes on with the row above it
        for start, end in columns[1:]:
            end = None if (start, end) == columns[-1] else end
            if line[start:end].strip() and line[start] == " ":
                self.fault(f, i, "a table's text does not begin where its column does")
                return

    # ---- what a kernel tree has not ----

    def own_target(self, f, target):
        """Whether the Makefile beside a file of the overlay has that target."""
        makefile = os.path.join(os.path.dirname(f), "Makefile")
        return makefile in self.code and \
            re.search(rf"^[^#\t\n:=]*\b{target}\b[^\n:=]*:", self.text(makefile), re.M)

    def kernel(self):
        for f in self.overlay:
            text = self.text(f)
            for regex, what in FOREIGN:
                for m in regex.finditer(text):
                    if what == "a make target" and self.own_target(f, m.group().split()[1]):
                        continue
                    self.fault(f, line_of(text, m.start()), f"names {what}, which no kernel tree has")
            for m in SCRIPT.finditer(text):
                name = "scripts/" + m.group(1)
                if not os.path.exists(os.path.join(self.tree, name)):
                    self.fault(f, line_of(text, m.start()), f"names {name}, which no kernel tree has")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    check = Check(*map(os.path.abspath, sys.argv[1:]))
    if not os.path.isdir(os.path.join(check.tree, "mm")):
        sys.exit(f"{check.tree} is no kernel tree")
    for part in (check.names, check.paths, check.blocks, check.tables, check.kernel):
        part()
    for name, line, what in sorted(check.faults):
        print(f"{name}:{line}: {what}")
    print(f"docs: {len(check.docs)} files, {len(check.faults)} faults")
    return bool(check.faults)


if __name__ == "__main__":
    sys.exit(main())
