#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the whole (overlay and hooks) as one series for `git am` on the pristine base.

  OUT=DIR scripts/build/export.py      default $BUILD/export

The overlay comes first, in one commit a piece, then the hooks as they are in patches/.
The series is then applied to a fresh repository of the base files it touches, and what
comes out is compared with the assembled tree, file by file.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
from email.utils import parseaddr

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree_lib as t  # noqa: E402

# The overlay's commits in order: paths (a prefix, the first match counts), subject, body.
# `None` collects what nothing else names.
PIECES = (
    (("mm/scaleswap/tests/",),
     "mm/scaleswap: add KUnit tests",
     "Tests of the parts that are pure logic: parsing, choice of an area, search\n"
     "order, encoding of the swap type."),
    (("mm/scaleswap/", "include/linux/scaleswap.h", "include/trace/events/scaleswap.h",
      "Kconfig.scaleswap"),
     "mm/scaleswap: add per-core swap areas",
     "On a machine with many cores all of them allocate swap slots from the same\n"
     "few areas and meet on their locks. Add areas that are bound to a CPU: each\n"
     "CPU allocates from its own, and goes to others only when that is full.\n"
     "\n"
     "Nothing calls this yet; the hooks into the existing code follow."),
    (("arch/x86/",),
     "x86/mm: add asynchronous TLB shootdown for scaleswap",
     "Lets reclaim unmap one batch while the flush of another is in flight."),
    (("drivers/nvme/",),
     "nvme: add a fast path for swap reads",
     "Submits the read that a fault waits for on a poll queue."),
    (("drivers/crypto/",),
     "crypto: iaa: add batching for scaleswap",
     "Compresses and decompresses several pages at once."),
    (("drivers/dma/",),
     "dmaengine: idxd: add a simulated IAA device",
     "For machines without one."),
    (None,
     "scaleswap: add further files",
     "Parts of scaleswap outside mm/."),
    (("tools/mm/",),
     "tools/mm: add the scaleswap tool",
     "Sets up one swap area a core, shows how they are used, takes them down."),
    (("tools/testing/selftests/",),
     "selftests/scaleswap: add tests",
     "Tests of what scaleswap shows to user space: binding, sysfs, sysctl,\n"
     "pagemap, swapon and swapoff in all variants."),
    (("Documentation/",),
     "Documentation: describe scaleswap",
     "For operators, for developers, and the ABI."),
    (("MAINTAINERS",),
     "MAINTAINERS: add scaleswap",
     "Says who looks after the files that the series adds."),
)


def git(repo, *args, **kw):
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null",
               LC_ALL="C", GIT_COMMITTER_NAME="export", GIT_COMMITTER_EMAIL="export@localhost",
               **kw.pop("env", {}))
    for k in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        env.pop(k, None)
    res = subprocess.run(["git", "-C", repo, "-c", "core.autocrlf=false", "-c", "gc.auto=0",
                          "-c", "commit.gpgsign=false", *args],
                         env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
    out = res.stdout.decode(errors="replace")
    if res.returncode:
        raise t.Error(f"git {args[0]} failed:\n" + "\n".join(out.splitlines()[-12:]))
    return out


def new_repo(where, names):
    """A repository with the given base files as its only commit."""
    os.makedirs(where)
    git(where, "init", "-q")
    for f in names:
        t.copy_in(t.BASE, f, where)
    git(where, "add", "-Af", ".")
    git(where, "commit", "-q", "--allow-empty", "-m", "base",
        env={"GIT_AUTHOR_NAME": "base", "GIT_AUTHOR_EMAIL": "base@localhost"})


def identity(want):
    """Who the overlay's commits are from: the author of the first hook, else git's user."""
    for n in want.names:
        m = re.search(r"^From:((?: .*\n)+)", want.texts[n], re.M)
        name, mail = parseaddr(" ".join(m.group(1).split())) if m else ("", "")
        if mail:
            return name, mail
    out = [subprocess.run(["git", "-C", t.ROOT, "config", k], capture_output=True,
                          text=True).stdout.strip() for k in ("user.name", "user.email")]
    return out[0] or "ScaleSwap", out[1] or "scaleswap@localhost"


def piece_of(name):
    for i, (prefixes, _, _) in enumerate(PIECES):
        if prefixes and name.startswith(prefixes):
            return i
    return next(i for i, p in enumerate(PIECES) if p[0] is None)


def main():
    t.build_lock()
    if subprocess.run([os.path.join(t.ROOT, "scripts/build/tree.py")], stdout=subprocess.DEVNULL).returncode:
        return 1
    edits = t.hand_edits()
    if edits:
        raise t.Error(f"{t.TREE} has edits that are not in the repository "
                      f"({', '.join(sorted(edits)[:5])}); run 'make refresh' first")
    out = os.path.abspath(os.environ.get("OUT") or os.path.join(t.BUILD, "export"))
    os.makedirs(out, exist_ok=True)
    other = [f for f in os.listdir(out) if not re.fullmatch(r"\d{4}-.*\.patch", f)]
    if other:
        raise t.Error(f"OUT={out} holds other files ({other[0]}); give an empty directory")

    with t.staging() as stage:
        want = t.Wanted(os.path.join(stage, "want"))
        files = want.files()
        touched = sorted(f for f in files if os.path.exists(os.path.join(t.BASE, f)))

        # Make the series.
        repo = os.path.join(stage, "make")
        new_repo(repo, touched)
        name, mail = identity(want)
        date = subprocess.run(["git", "-C", t.ROOT, "log", "-1", "--format=%aI"],
                              capture_output=True, text=True).stdout.strip() or \
            "2026-01-01T00:00:00+00:00"
        who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail,
               "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        groups = {}
        for f, (kind, src) in files.items():
            if kind in ("overlay", "append"):
                groups.setdefault(piece_of(f), []).append((f, src))
        # The tests' Makefile line is in mm/scaleswap/Makefile: the code goes first.
        for i in sorted(groups, key=lambda i: (PIECES[i][0] == ("mm/scaleswap/tests/",) and i + 1.5
                                               or i)):
            for f, src in groups[i]:
                os.makedirs(os.path.dirname(os.path.join(repo, f)), exist_ok=True)
                shutil.copy(src, os.path.join(repo, f))
                os.chmod(os.path.join(repo, f), 0o755 if os.access(src, os.X_OK) and
                         os.stat(src).st_mode & 0o100 else 0o644)
            git(repo, "add", "-Af", ".")
            _, subject, body = PIECES[i]
            git(repo, "commit", "-q", "-F", "-", env=who,
                input=f"{subject}\n\n{body}\n\nSigned-off-by: {name} <{mail}>\n".encode())
        for n in want.names:
            text = want.texts[n]
            if not re.search(r"^Date: ", text, re.M):
                text = re.sub(r"^(Subject: )", f"Date: {date}\n\\1", text, count=1, flags=re.M)
            if not re.search(r"^From: ", text, re.M) or not re.search(r"^Subject: ", text, re.M):
                raise t.Error(f"patches/{n} has no From: or no Subject: line")
            try:
                # Plain git am: neither fuzz nor a merge.
                git(repo, "am", "-q", "--keep-cr", env={"GIT_COMMITTER_DATE": date},
                    input=text.encode())
            except t.Error as err:
                raise t.Error(f"patches/{n}: {err}") from None
        for f in glob.glob(os.path.join(out, "*.patch")):
            os.unlink(f)
        root = git(repo, "rev-list", "--max-parents=0", "HEAD").strip()
        git(repo, "format-patch", "-q", "--zero-commit", "--no-signature", "--full-index",
            "--no-renames", "-o", out, root + "..HEAD")

        # And see that it gives the tree again.
        series = sorted(glob.glob(os.path.join(out, "*.patch")))
        repo = os.path.join(stage, "verify")
        new_repo(repo, touched)
        git(repo, "am", "-q", "--keep-cr", *series)
        got = set(git(repo, "ls-files").split("\n")) - {""}
        bad = sorted(got ^ {f for f in files if files[f][1]})
        for f in sorted(got):
            tree = os.path.join(t.TREE, f)
            if not t.same(os.path.join(repo, f), tree) or \
                    os.access(tree, os.X_OK) != os.access(os.path.join(repo, f), os.X_OK):
                bad.append(f)
        if bad:
            raise t.Error("the series does not give the assembled tree; these differ:" +
                          "".join("\n  " + f for f in bad))
    version = dict(l.split("=", 1) for l in t.base_id().splitlines())["version"]
    t.say(f"{len(series)} patches in {out}: applied to {version} they give the assembled tree "
          f"({len(got)} files compared)")


t.run_main(main)
