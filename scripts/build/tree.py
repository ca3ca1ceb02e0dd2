#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Assemble $BUILD/tree: base kernel, overlay, hooks.

Only files whose content changes are touched, so that make rebuilds little. Edits made by
hand in the tree are kept and named, unless the repository changed the same file.

  scripts/build/tree.py            assemble or update
  FORCE=1 scripts/build/tree.py    and drop edits made by hand in the tree
"""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree_lib as t  # noqa: E402

TREE_STAMP = os.path.join(t.BUILD, "tree.stamp")


def put(src, name):
    """Write src to TREE/name, with a new time; False if it is there already."""
    dst = os.path.join(t.TREE, name)
    mode = 0o755 if os.access(src, os.X_OK) and os.stat(src).st_mode & 0o100 else 0o644
    if t.same(src, dst):
        if os.stat(dst).st_mode & 0o777 != mode:
            os.chmod(dst, mode)
        return False
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    tmp = dst + ".ssw-tmp"
    shutil.copyfile(src, tmp)
    os.chmod(tmp, mode)
    os.rename(tmp, dst)
    return True


def drop(name):
    """Take a file out of the tree, back to the base's if it has one."""
    src, dst = os.path.join(t.BASE, name), os.path.join(t.TREE, name)
    if os.path.isfile(src):
        return put(src, name)
    if os.path.lexists(dst):
        os.unlink(dst)
        d = os.path.dirname(dst)
        while d != t.TREE and not os.listdir(d):
            os.rmdir(d)
            d = os.path.dirname(d)
        return True
    return False


def base_into_tree():
    """TREE becomes a real copy of BASE where it is missing or from another base."""
    stamp = t.read(TREE_STAMP).decode() if os.path.exists(TREE_STAMP) else ""
    if os.path.isdir(t.TREE) and stamp == t.base_id():
        return
    if os.path.isdir(t.TREE) and t.load_manifest() is not None:
        t.say("the base changed; updating the tree's files that differ")
        mine = set(t.load_manifest()) | set(t.load_manifest(t.PENDING) or {})
        keep = [f for f in mine if os.path.lexists(os.path.join(t.TREE, f))]
        # No times: a file that differs gets a new one, or make would not see it.
        subprocess.run(["rsync", "-rlpc", "--delete", "--exclude-from=-",
                        t.BASE + "/", t.TREE + "/"],
                       input="".join("/" + f + "\n" for f in keep), text=True, check=True, stdout=subprocess.DEVNULL)
    else:
        t.say("copying the base, about 10 s")
        new = t.TREE + ".new"
        for d in (new, t.TREE):
            if os.path.islink(d):
                os.unlink(d)
            elif os.path.exists(d):
                shutil.rmtree(d)
        for f in (t.MANIFEST, t.PENDING):
            if os.path.exists(f):
                os.unlink(f)
        # The dot: base may be a symbolic link (shared by several BUILDs), and copying
        # the link would make the tree and somebody else's base one and the same.
        subprocess.run(["cp", "-a", "--reflink=auto", t.BASE + "/.", new], check=True)
        os.rename(new, t.TREE)
    shutil.copyfile(t.STAMP, TREE_STAMP)


def main():
    t.build_lock()
    t.fetch()
    if os.path.realpath(t.TREE) == os.path.realpath(t.BASE):
        raise t.Error(f"{t.TREE} and {t.BASE} are the same directory; remove the link {t.TREE}")
    force = os.environ.get("FORCE", "") not in ("", "0")
    with t.staging() as stage:
        want = t.Wanted(stage)          # raises before anything is touched
        for name, offs in want.offsets.items():
            t.notice(f"patches/{name} applies with offsets: {'; '.join(offs)}")
        files = want.files()
        fresh = not os.path.isdir(t.TREE)
        edits, old = {}, {}
        if not fresh and t.load_manifest() is not None:
            if t.read(TREE_STAMP).decode() == t.base_id():
                edits = t.hand_edits()
            old = t.load_manifest()
            old.update({f: v for f, v in (t.load_manifest(t.PENDING) or {}).items()
                        if f not in old})
        if force:
            for f in edits:
                drop(f)
            edits = {}
        # An edit by hand stays, unless the repository wants something new there.
        clash = []
        for f in list(edits):
            kind, src = files.get(f, (None, None))
            now = os.path.join(t.TREE, f)
            goal = os.path.join(t.BASE, f) if kind is None else src or ""
            if t.same(goal, now) or not (os.path.lexists(goal) or os.path.lexists(now)):
                del edits[f]            # the repository caught up with it
                continue
            was = old.get(f, (None, None))[1]
            if (t.sha(src) if src else "-" if kind else None) != was:
                clash.append(f)
        if clash:
            raise t.Error("edited both in the repository and in " + t.TREE + ":" +
                          "".join("\n  " + f for f in sorted(clash)) +
                          "\n'make tree FORCE=1' drops the edits in the tree; "
                          "undo one side by hand to keep the other")
        base_into_tree()
        t.save_manifest(files, t.PENDING)
        changed = []
        for f, (kind, src) in sorted(files.items()):
            if f in edits:
                continue
            if kind == "gone":
                p = os.path.join(t.TREE, f)
                if os.path.exists(p):
                    os.unlink(p)
                    changed.append(f)
            elif put(src, f):
                changed.append(f)
        for f in sorted(set(old) - set(files) - set(edits)):
            if drop(f):
                changed.append(f)
        os.rename(t.PENDING, t.MANIFEST)
    if edits:
        shown = "".join(f"\n  {edits[f]}: {f}" for f in sorted(edits)[:20])
        t.notice(f"{len(edits)} edits in {t.TREE} are not in the repository "
                 f"('make refresh' brings them back, 'make tree FORCE=1' drops them):{shown}")
    version = dict(l.split("=", 1) for l in t.base_id().splitlines())["version"]
    what = f"{len(want.overlay)} overlay files, {len(want.names)} hooks on {version}"
    if not changed:
        t.say(f"up to date: {what}")
    elif fresh:
        t.say(f"assembled {t.TREE}: {what}")
    else:
        for f in changed[:10]:
            t.say(f"  {f}")
        t.say(f"updated {len(changed)} files in {t.TREE}: {what}")


t.run_main(main)
