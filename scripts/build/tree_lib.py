# SPDX-License-Identifier: GPL-2.0
"""What tree.py, refresh.py, export.py and scripts/test/check.sh know about the assembled tree.

The assembled tree is $BUILD/base plus three kinds of files, listed with the sha256 of
what was written in $BUILD/tree.manifest:
  overlay  a file of the repository at its in-tree path
  hook     a base file changed by the patches of patches/series
  append   MAINTAINERS: the base's, then ours
and `gone`, a base file that a hook removes. Everything is put together in a staging
directory first, so that a hook that does not apply leaves the tree as it was.
"""

import contextlib
import fcntl
import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from paths import BUILD, ROOT  # noqa: E402

BASE = os.path.join(BUILD, "base")
TREE = os.path.join(BUILD, "tree")
STAMP = os.path.join(BUILD, "base.stamp")
MANIFEST = os.path.join(BUILD, "tree.manifest")
PENDING = MANIFEST + ".next"
PATCHES = os.path.join(ROOT, "patches")
SERIES = os.path.join(PATCHES, "series")

# Top-level pieces of the repository that are kernel files; nothing else is overlaid.
OVERLAY_DIRS = ("arch", "mm", "include", "drivers", "fs", "tools", "Documentation",
                "kernel", "lib", "block")
OVERLAY_FILES = ("Kconfig.scaleswap",)
APPENDED = "MAINTAINERS"

ME = os.path.splitext(os.path.basename(sys.argv[0]))[0]


class Error(Exception):
    """Something the user has to put right; the text says what."""


def say(text):
    print(f"{ME}: {text}", flush=True)


def notice(text):
    print(f"{ME}: NOTICE: {text}", file=sys.stderr, flush=True)


def run_main(main):
    """Run main() and turn an Error into one plain line and exit status 1."""
    try:
        sys.exit(main() or 0)
    except Error as err:
        print(f"{ME}: ERROR: {err}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def build_lock():
    """Same lock as build_lock of lib.sh. Held until the process ends."""
    os.makedirs(BUILD, exist_ok=True)
    if os.environ.get("SSW_LOCKED") == BUILD:
        return
    fd = os.open(os.path.join(BUILD, ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another run that uses {BUILD}")
        fcntl.flock(fd, fcntl.LOCK_EX)
    os.environ["SSW_LOCKED"] = BUILD


def fetch():
    """Have scripts/build/fetch.sh bring $BUILD/base up to date."""
    env = dict(os.environ, BUILD=BUILD)
    if subprocess.run([os.path.join(ROOT, "scripts/build/fetch.sh")], env=env).returncode:
        sys.exit(1)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def sha(path):
    return hashlib.sha256(read(path)).hexdigest()


def base_id():
    return read(STAMP).decode()


# ---- what should be in the tree ----

def overlay_files():
    """Repository files to overlay: {in-tree path: path in the repository}."""
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co",
                              "--exclude-standard", "--", *OVERLAY_DIRS, *OVERLAY_FILES],
                             capture_output=True, check=True).stdout
        names = [n for n in out.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        # Not a git checkout (an unpacked archive): take all but the usual litter.
        names = [n for n in OVERLAY_FILES if os.path.exists(os.path.join(ROOT, n))]
        for top in OVERLAY_DIRS:
            for d, dirs, files in os.walk(os.path.join(ROOT, top)):
                dirs[:] = [x for x in dirs if x != "__pycache__"]
                names += [os.path.relpath(os.path.join(d, f), ROOT) for f in files
                          if not f.endswith((".o", ".pyc", ".orig", ".rej", "~"))]
    result = {}
    for name in sorted(set(names)):
        path = os.path.join(ROOT, name)
        if not os.path.lexists(path):
            continue            # tracked, but deleted in the working tree
        if os.path.islink(path) or not os.path.isfile(path):
            raise Error(f"{name} is not a plain file; the overlay holds only plain files")
        if os.path.lexists(os.path.join(BASE, name)):
            raise Error(f"overlay file {name} would overwrite a file of the base kernel; "
                        "change base files with a patch in patches/")
        result[name] = path
    return result


def series():
    """Names of the hooks in order."""
    if not os.path.exists(SERIES):
        raise Error("patches/series is missing")
    names = []
    for line in read(SERIES).decode().splitlines():
        name = line.split("#")[0].strip()
        if not name:
            continue
        if not os.path.isfile(os.path.join(PATCHES, name)):
            raise Error(f"patches/series names {name}, which is not in patches/")
        if name in names:
            raise Error(f"patches/series names {name} twice")
        names.append(name)
    stray = sorted(n for n in os.listdir(PATCHES)
                   if n.endswith(".patch") and n not in names)
    if stray:
        notice("not in patches/series, so not applied: " + " ".join(stray))
    return names


def patch_files(text, name):
    """Files a patch touches, from its ---/+++ pairs: [(old or None, new or None)]."""
    if re.search(r"^(rename|copy) from |^GIT binary patch", text, re.M):
        raise Error(f"patches/{name}: renames, copies and binary files are not supported")
    found = []
    for old, new in re.findall(r"^--- (\S+).*\n\+\+\+ (\S+).*\n@@ ", text, re.M):
        pair = []
        for side in (old, new):
            if side == "/dev/null":
                pair.append(None)
                continue
            pair.append(side.split("/", 1)[-1])
        found.append(tuple(pair))
    if not found:
        raise Error(f"patches/{name}: no change in it (--- a/FILE, +++ b/FILE, @@)")
    return found


def split_patch(text):
    """A patch as (header up to the --- line, diff). The header always ends in '---'."""
    m = re.search(r"^(diff --git |--- \S+.*\n\+\+\+ )", text, re.M)
    head, diff = text[:m.start()], text[m.start():]
    head = re.split(r"^---\s*$", head, maxsplit=1, flags=re.M)[0].rstrip("\n") + "\n---\n"
    return head, diff


def touched(names, texts):
    """All files that the hooks touch."""
    files = set()
    for name in names:
        for pair in patch_files(texts[name], name):
            files.update(p for p in pair if p)
    return files


def apply_patch(name, text, stage):
    """Apply one hook in stage; no fuzz. Returns patch's lines on offsets."""
    cmd = ["patch", "-p1", "--fuzz=0", "--forward", "--batch", "--silent",
           "--no-backup-if-mismatch", "--remove-empty-files", "--reject-file=-"]
    env = dict(os.environ, LC_ALL="C")
    # First dry, file by file, only to be able to name what fails.
    cmd.remove("--silent")
    res = subprocess.run(cmd + ["-d", stage], input=text.encode(), env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out = res.stdout.decode(errors="replace")
    where, bad, offsets = "", [], []
    for line in out.splitlines():
        m = re.match(r"(?:patching|checking) file (.*)", line)
        if m:
            where = m.group(1).strip("'")
        elif re.search(r"FAILED|ignored|malformed|can't find file|already exists", line):
            bad.append(f"{where}: {line}" if where else line)
        elif "offset" in line or "fuzz" in line:
            offsets.append(f"{where}: {line}")
    if res.returncode or bad:
        raise Error(f"patches/{name} does not apply" +
                    "".join("\n  " + b for b in (bad or out.splitlines()[-3:])))
    return offsets


class Wanted:
    """The desired result: files() maps an in-tree path to (kind, path of the content).

    stage holds the hooked files and MAINTAINERS; kind `gone` has no content.
    """

    def __init__(self, stage):
        self.stage = stage
        os.makedirs(stage, exist_ok=True)
        self.overlay = overlay_files()
        self.names = series()
        self.texts = {n: read(os.path.join(PATCHES, n)).decode() for n in self.names}
        self.offsets = {}
        self.hooked = touched(self.names, self.texts)
        for f in sorted(self.hooked):
            if f in self.overlay:
                raise Error(f"a hook touches {f}, which is an overlay file; edit the file itself")
            if f == APPENDED:
                raise Error(f"a hook touches {f}; put the entry into the repository's own {f}")
            copy_in(BASE, f, stage)
        for n in self.names:
            for old, _ in patch_files(self.texts[n], n):
                if old and not os.path.exists(os.path.join(stage, old)):
                    raise Error(f"patches/{n} does not apply\n  {old}: no such file in the base")
            offs = apply_patch(n, self.texts[n], stage)
            if offs:
                self.offsets[n] = offs
        self.append()

    def append(self):
        ours = os.path.join(ROOT, APPENDED)
        if os.path.exists(ours):
            text = b"".join(l for l in read(ours).splitlines(True)
                            if not l.startswith(b"# "))
            with open(os.path.join(self.stage, APPENDED), "wb") as f:
                f.write(read(os.path.join(BASE, APPENDED)).rstrip(b"\n") + b"\n\n" +
                        text.strip(b"\n") + b"\n")
            shutil.copymode(os.path.join(BASE, APPENDED), os.path.join(self.stage, APPENDED))

    def files(self):
        result = {f: ("overlay", p) for f, p in self.overlay.items()}
        for f in self.hooked:
            p = os.path.join(self.stage, f)
            result[f] = ("hook", p) if os.path.exists(p) else ("gone", None)
        p = os.path.join(self.stage, APPENDED)
        if os.path.exists(p):
            result[APPENDED] = ("append", p)
        return result


def copy_in(src, name, dst):
    """Copy src/name to dst/name, if it is there, making directories."""
    s, d = os.path.join(src, name), os.path.join(dst, name)
    if os.path.isfile(s):
        os.makedirs(os.path.dirname(d), exist_ok=True)
        shutil.copy(s, d)


@contextlib.contextmanager
def staging():
    with tempfile.TemporaryDirectory(prefix=".stage-", dir=BUILD) as d:
        yield d


# ---- what is in the tree ----

def load_manifest(path=MANIFEST):
    """{path: (kind, sha)}, or None if there is none. First line: the base's stamp's sha."""
    if not os.path.exists(path):
        return None
    lines = read(path).decode().splitlines()
    return {f: (k, s) for k, s, f in (l.split(" ", 2) for l in lines)}


def save_manifest(wanted, path):
    with open(path + ".tmp", "w") as f:
        for name, (kind, src) in sorted(wanted.items()):
            f.write(f"{kind} {sha(src) if src else '-'} {name}\n")
    os.rename(path + ".tmp", path)


LITTER = re.compile(r"(\.o|\.o\.d|\.a|\.ko|\.cmd|\.pyc|\.orig|\.rej|\.mod|~|\.sw[a-p])$|"
                    r"(^|/)(__pycache__/|cscope\.|tags$|TAGS$|GPATH$|GRTAGS$|GTAGS$|\.git/|\.cache/|"
                    r"compile_commands\.json$)")


def same(a, b):
    return os.path.isfile(a) and os.path.isfile(b) and filecmp.cmp(a, b, shallow=False)


def is_text(path):
    with open(path, "rb") as f:
        return b"\0" not in f.read(8192)


def hand_edits():
    """Edits made in the tree since it was assembled: {path: 'edited'|'new'|'deleted'}."""
    manifests = [m for m in (load_manifest(MANIFEST), load_manifest(PENDING)) if m]
    ours = {}
    for m in manifests:
        for f, (_, s) in m.items():
            ours.setdefault(f, set()).add(s)
    edits = {}
    for f, shas in ours.items():
        p = os.path.join(TREE, f)
        now = sha(p) if os.path.isfile(p) else "-"
        # After an interrupted run a file may still be as in the base.
        if now not in shas and not (len(manifests) > 1 and
                                    same(p, os.path.join(BASE, f)) | (now == "-")):
            edits[f] = "deleted" if now == "-" else "edited"
    out = subprocess.run(["rsync", "-rlni", "--times", "--delete", "--out-format=%i %n",
                          BASE + "/", TREE + "/"],
                         capture_output=True, check=True).stdout.decode(errors="replace")
    for line in out.splitlines():
        what, f = line.split(None, 1)
        if f.endswith("/"):
            continue            # its files are listed too
        if f in ours or LITTER.search(f):
            continue
        p = os.path.join(TREE, f)
        if what == "*deleting":
            if os.path.isfile(p) and not os.path.islink(p) and is_text(p):
                edits[f] = "new"
        elif not os.path.lexists(p):
            edits[f] = "deleted"
        elif os.path.islink(p) or same(p, os.path.join(BASE, f)):
            continue
        else:
            edits[f] = "edited"
    return edits
