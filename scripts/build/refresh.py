#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bring edits made in $BUILD/tree back into the repository.

Overlay files are copied back. The change of a base file goes into the last hook of the
series that touches that file, or into PATCH=NNN-subsystem-what.patch (a new one is made
if there is none of that name). Hooks that follow are rebased onto it, and hooks that
applied with offsets are written anew. Nothing is written unless all of it works out;
afterwards scripts/build/tree.py has nothing to do.
"""

import bisect
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree_lib as t  # noqa: E402

# New files that appear in the tree are ours when their path says so.
OURS = re.compile(r"(^|/)scaleswap([/._-]|$)|(^|/)[^/]*-scaleswap$|\.scaleswap$")

TEMPLATE = """From: {author}
Subject: [PATCH] {subsys}: {what}

FIXME: context: what the base kernel does here. Problem: what is wrong with
that. Solution: what this calls, and what changes for plain areas and with
ScaleSwap off.

Signed-off-by: {author}
---
"""


def git_author():
    def get(key):
        return subprocess.run(["git", "-C", t.ROOT, "config", key],
                              capture_output=True, text=True).stdout.strip()
    return f"{get('user.name') or 'ScaleSwap'} <{get('user.email') or 'scaleswap@localhost'}>"


def diff(old, new, path, stage):
    """Unified diff of two contents (None: no such file) in git's form, without index."""
    names = []
    os.makedirs(os.path.join(stage, "diff"), exist_ok=True)
    for side, content in (("a", old), ("b", new)):
        d = os.path.join(stage, "diff", side)
        shutil.rmtree(d, ignore_errors=True)
        if content is None:
            names.append("/dev/null")
            continue
        f = os.path.join(d, path)
        os.makedirs(os.path.dirname(f))
        with open(f, "wb") as fh:
            fh.write(content)
        base = os.path.join(t.BASE, path)
        if os.path.exists(base):
            shutil.copymode(base, f)
        names.append(f"{side}/{path}")
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", HOME="/nonexistent", LC_ALL="C",
               GIT_CEILING_DIRECTORIES=t.BUILD)
    out = subprocess.run(["git", "-c", "diff.algorithm=myers", "diff", "--no-index",
                          "--no-prefix", "--no-ext-diff", "--no-color", "-U3", *names],
                         cwd=os.path.join(stage, "diff"), env=env,
                         stdout=subprocess.PIPE).stdout.decode()
    return "".join(l for l in out.splitlines(True) if not l.startswith("index "))


def plain(text):
    """A diff as diff() makes it: without index lines and git's signature."""
    text = re.sub(r"^-- \n.*\Z", "", text, flags=re.M | re.S)
    return re.sub(r"^index .*\n", "", text, flags=re.M)


def diffstat(body):
    return subprocess.run(["git", "apply", "--stat", "--summary"], input=body.encode(),
                          stdout=subprocess.PIPE, cwd="/").stdout.decode()


def merge(ours, base, theirs, stage, what):
    """Three-way merge; Error on a conflict. Any of them may be equal, that is quick."""
    if ours == base:
        return theirs
    if theirs == base or ours == theirs:
        return ours
    if None in (ours, base, theirs):
        raise t.Error(f"{what}: made or removed on one side and changed on the other")
    paths = []
    for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
        paths.append(os.path.join(stage, name))
        with open(paths[-1], "wb") as f:
            f.write(content)
    res = subprocess.run(["git", "merge-file", "-p", *paths], capture_output=True)
    if res.returncode:
        raise t.Error(f"{what}: the edit overlaps what a later hook changes; "
                      "edit that file of patches/ by hand, or name the later hook in PATCH=")
    return res.stdout


def read_opt(path):
    return t.read(path) if os.path.isfile(path) else None


def main():
    t.build_lock()
    t.fetch()
    manifest = t.load_manifest()
    if manifest is None:
        raise t.Error("there is no assembled tree; run 'make tree' first")
    target = os.path.basename(os.environ.get("PATCH", ""))
    if target and not re.fullmatch(r"\d{3}-[a-z0-9]+(-[a-z0-9_]+)+\.patch", target):
        raise t.Error(f"PATCH={target}: name it NNN-subsystem-what-it-does.patch, in small letters")

    edits = t.hand_edits()
    with t.staging() as stage:
        want = t.Wanted(os.path.join(stage, "want"))
        files = want.files()
        writes, removes, hooks = {}, [], {}
        for f, how in sorted(edits.items()):
            kind = manifest.get(f, (None, None))[0]
            now = read_opt(os.path.join(t.TREE, f))
            mine = files.get(f, (None, None))[1]
            if mine and now == t.read(mine):
                continue                # brought back already
            if kind and (t.sha(mine) if mine else "-") != manifest[f][1]:
                raise t.Error(f"{f} was edited in the repository too since 'make tree'; "
                              "undo one of the two edits by hand")
            if kind == "append":
                raise t.Error(f"{f} of the tree was edited; edit {f} of the repository instead")
            if kind == "overlay":
                if how == "deleted":
                    removes.append(f)
                else:
                    writes[f] = now
            elif how == "new":
                if OURS.search(f) and f.startswith(tuple(d + "/" for d in t.OVERLAY_DIRS)) or \
                        f in t.OVERLAY_FILES:
                    writes[f] = now
                elif target:
                    hooks[f] = now
                else:
                    t.notice(f"{f} is new in the tree and not brought back: its path does not say "
                             "scaleswap; copy it into the repository by hand")
            else:
                hooks[f] = now

        # States of every hooked file after 0, 1, … patches.
        names, texts = list(want.names), dict(want.texts)
        new_patch = False
        if target and hooks and target not in texts:
            new_patch = True
            names.insert(bisect.bisect(names, target), target)
        watch = sorted(want.hooked | set(hooks))
        work = os.path.join(stage, "work")
        os.makedirs(work)
        for f in watch:
            t.copy_in(t.BASE, f, work)

        def snap():
            return {f: read_opt(os.path.join(work, f)) for f in watch}
        states = [snap()]
        for n in names:
            if n in texts:
                t.apply_patch(n, texts[n], work)
            states.append(snap())

        dest = {}
        homeless = []
        for f in hooks:
            if target:
                dest[f] = names.index(target)
                continue
            users = [i for i, n in enumerate(names)
                     if any(f in p for p in t.patch_files(texts[n], n))]
            if users:
                dest[f] = users[-1]
            else:
                homeless.append(f)
        if homeless:
            raise t.Error("edited, but no hook touches it yet; say which one with "
                          "PATCH=NNN-subsystem-what.patch:" +
                          "".join("\n  " + f for f in homeless))

        new = [dict(s) for s in states]
        for f, k in dest.items():
            # States before patch k stay; from there on the edit is carried along.
            last = states[-1][f]
            new[k + 1][f] = merge(states[k + 1][f], last, hooks[f], stage, f"{names[k]}: {f}")
            for i in range(k + 1, len(names)):
                new[i + 1][f] = merge(new[i][f], states[i][f], states[i + 1][f], stage,
                                      f"{names[i]}: {f}")
            if new[-1][f] != hooks[f]:
                raise t.Error(f"{f}: rebasing the later hooks gives something else than "
                              "the edited file; name the last hook in PATCH=")

        for i, n in enumerate(names):
            made = new_patch and n == target
            moved = any((new[i][f], new[i + 1][f]) != (states[i][f], states[i + 1][f]) and
                        (new[i][f] != new[i + 1][f] or states[i][f] != states[i + 1][f])
                        for f in dest)
            if not (made or moved or n in want.offsets):
                continue
            if made:
                sub, what = re.fullmatch(r"\d{3}-([a-z0-9]+)-(.*)\.patch", n).groups()
                head = TEMPLATE.format(author=git_author(), subsys=sub,
                                       what=what.replace("-", " "))
            else:
                head = t.split_patch(texts[n])[0]
            body = "".join(diff(new[i][f], new[i + 1][f], f, stage) for f in watch
                           if new[i][f] != new[i + 1][f])
            if not body:
                raise t.Error(f"{n} would become empty; take it out of patches/series first")
            if made or plain(t.split_patch(texts[n])[1]) != body:
                writes["patches/" + n] = (head + diffstat(body) + "\n" + body).encode()

        if not writes and not removes:
            t.say("nothing to bring back")
            return
        if new_patch:
            lines = t.read(t.SERIES).decode().splitlines()
            after = names[names.index(target) - 1] if names[0] != target else None
            at = (1 + max(i for i, l in enumerate(lines) if l.split("#")[0].strip() == after)
                  if after else next((i for i, l in enumerate(lines)
                                      if l.split("#")[0].strip()), len(lines)))
            lines.insert(at, target)
            writes["patches/series"] = ("\n".join(lines) + "\n").encode()

        for f, content in writes.items():
            dst = os.path.join(t.ROOT, f)
            os.makedirs(os.path.dirname(dst), exist_ok=True)
            with open(dst + ".ssw-tmp", "wb") as fh:
                fh.write(content)
            src = dst if os.path.exists(dst) else os.path.join(t.TREE, f)
            if os.path.exists(src):
                shutil.copymode(src, dst + ".ssw-tmp")
            os.rename(dst + ".ssw-tmp", dst)
            t.say(f"wrote {f}")
        for f in removes:
            os.unlink(os.path.join(t.ROOT, f))
            t.say(f"removed {f}")
        if new_patch:
            t.notice(f"patches/{target} has a FIXME in its message; write it")
    return subprocess.run([os.path.join(t.ROOT, "scripts/build/tree.py")]).returncode


t.run_main(main)
