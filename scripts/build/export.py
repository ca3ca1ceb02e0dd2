#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the whole (overlay and hooks) as series for `git am` on the pristine base.

  OUT=DIR scripts/build/export.py      default $BUILD/export

For each mechanism the overlay comes first, a commit a piece, then its band of hooks. The
patches of a mechanism are numbered as a set of its own, [PATCH n/m], which cover-SET.txt
introduces: SET.md of patches/covers with the list of patches and the diffstat. The files' own
numbers go on through all sets, so `git am OUT/*.patch` takes the whole.

All is then applied to a fresh repository of the base files it touches, and what comes out is
compared with the assembled tree, file by file.
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

# The sets that are posted, and their bands of hooks; patches/covers/ has a letter for each.
SETS = {"core": "012", "lru": "3", "fault": "4", "evict": "5", "zbatch": "6", "defrag": "7",
        "tools": "9"}

# The overlay's commits: band of hooks that they go in front of, paths (a prefix, the first
# match counts), subject, body. A file that nothing names is an error.
PIECES = (
    (1, ("Kconfig.scaleswap", "include/linux/scaleswap.h"),
     "mm/scaleswap: add the option, and what the rest of the kernel calls",
     "Mechanisms of ScaleSwap are options of their own, which come with the\n"
     "hooks that they need. Nothing calls this yet."),
    (2, ("mm/scaleswap/slot",),
     "mm/scaleswap: add the word of a swap slot",
     "What refers to a swap slot is kept in swap_map, in continuations of it,\n"
     "in the swap cache and in swap_cgroup, under several locks.\n"
     "\n"
     "Keep all of it in one 64-bit word a slot that any CPU changes by compare\n"
     "and exchange, in tables that exist only for clusters in use. Nothing\n"
     "calls this yet."),
    (2, ("mm/scaleswap/cluster.c", "mm/scaleswap/deleg.c"),
     "mm/scaleswap: add clusters, the owner's token and delegation",
     "Which slot to hand out is decided by lists of clusters. Only the owner\n"
     "of an area changes these: the CPU that holds the area's token. No\n"
     "allocation waits for it: a CPU that does not get the token queues a\n"
     "request, and the holder serves it."),
    (2, ("mm/scaleswap/internal.h", "mm/scaleswap/boot.c",
         "mm/scaleswap/core.c", "mm/scaleswap/area.c",
         "mm/scaleswap/arealist.c", "mm/scaleswap/move.h", "mm/scaleswap/drain.h"),
     "mm/scaleswap: add areas with a home CPU",
     "On a machine with many cores all of them allocate swap slots from the\n"
     "same few areas, and contend for their locks. Let an area have a home\n"
     "CPU, and give each CPU a list of areas in the order in which it tries\n"
     "them: its own, those of its node, remote ones."),
    (2, ("mm/scaleswap/alloc.c", "mm/scaleswap/nr_swap.c", "mm/scaleswap/delegd.c",
         "mm/scaleswap/discard.c"),
     "mm/scaleswap: allocate from the local area first",
     "Allocate slots over all areas of a CPU's list, count what is left in\n"
     "per-CPU batches, and let a kthread a CPU service areas whose home CPU\n"
     "does not swap at the moment. Discards are work items of their own: the\n"
     "kthread never waits for a device, as CPU offline waits for it."),
    (2, ("mm/scaleswap/hooks.h", "mm/scaleswap/memcg_hooks.h", "mm/scaleswap/evict_hooks.h",
         "mm/scaleswap/lru_hooks.h", "mm/scaleswap/zbatch_hooks.h", "include/linux/scaleswap_lru.h"),
     "mm/scaleswap: declare what mm calls",
     "Declare the calls that hooks make, with stubs for !CONFIG_SCALESWAP. A\n"
     "call costs a static branch as long as ScaleSwap is off."),
    (2, ("mm/scaleswap/swapmap.c", "mm/scaleswap/swapcache.c", "mm/scaleswap/rmap.c",
         "mm/scaleswap/shadow.c", "mm/scaleswap/unuse.c", "mm/scaleswap/shmem-note.c"),
     "mm/scaleswap: answer mm's questions about slots",
     "Count references, say what is only in the swap cache, keep the cgroup's\n"
     "records, number mms, keep shadow nodes of the swap cache on lists of\n"
     "their own, and map pages for swapoff where words say who has them."),
    (2, ("mm/scaleswap/stock.c",),
     "mm/scaleswap: keep swap charges of memory cgroups in stock",
     "A swap slot is charged to a memory cgroup: a page in the counters of all\n"
     "levels, and a reference on the cgroup's id. Let each CPU keep some charges\n"
     "of the cgroup for which it swaps, as memcg_stock does for memory."),
    (2, ("mm/scaleswap/pressure.c",),
     "mm/scaleswap: add up memory pressure without a lock",
     "What reclaim has scanned and reclaimed of a cgroup is summed up under one\n"
     "lock. Keep both sums in one word that any CPU exchanges."),
    (2, ("mm/scaleswap/shrinkref",),
     "mm/scaleswap: count references on shrinkers on each CPU",
     "Reclaim takes a reference on each shrinker that it calls, for every few\n"
     "pages. Let each CPU count for itself, and let shrinker_free() sum up."),
    (2, ("mm/scaleswap/anon_vma.h",),
     "mm/scaleswap: lock an anon_vma without a loop",
     "Threads that share a VMA have one anon_vma, whose lock reclaim takes for\n"
     "each page. Let CPUs that take it for reading not make each other try again."),
    (2, ("mm/scaleswap/io.c", "mm/scaleswap/evict.h"),
     "mm/scaleswap: write adjacent pages in one bio",
     "A CPU's own area gives reclaim slots that are adjacent on the device.\n"
     "Collect such pages in one bio instead of making a bio and a request of\n"
     "each for the plug to merge. Reads by such bios come with critical reads."),
    (2, ("mm/scaleswap/stat", "mm/scaleswap/sysctl.c", "mm/scaleswap/sysfs.c", "mm/scaleswap/sysfs.h",
         "mm/scaleswap/zbatch.h", "mm/scaleswap/debugfs.c", "mm/scaleswap/Makefile", "include/trace/events/scaleswap.h"),
     "mm/scaleswap: add counters, tunables and trace events",
     "Show in sysfs what was allocated where and why a CPU had to fall back,\n"
     "and add the sysctl by which swapon binds an area."),
    (2, ("mm/scaleswap/tests/",),
     "mm/scaleswap: add KUnit tests",
     "Tests of what is pure logic: parsing, choice of a home, area lists, the\n"
     "slot's word, clusters."),
    (2, ("tools/testing/scaleswap/",),
     "tools/testing/scaleswap: run the lockless parts in user space",
     "Build slots, clusters and delegation as a program, under ThreadSanitizer\n"
     "and AddressSanitizer, and check models of their barriers with spin."),
    (3, ("mm/scaleswap/lru", "mm/scaleswap/vmscan-lru", "mm/scaleswap/Kconfig.lru"),
     "mm/scaleswap: add LRU shards",
     "All folios of a memcg on a node are on the lists of one lruvec, under one\n"
     "lru_lock. Give it shards, a lruvec for each CPU, and let reclaim take\n"
     "what it would scan from one shard after the other."),
    (4, ("mm/scaleswap/fault", "mm/scaleswap/Kconfig.fault"),
     "mm/scaleswap: read the page that a fault waits for first",
     "Submit the read that a thread waits for first and poll for it. Of other\n"
     "pages, adjacent ones are read by one bio."),
    (4, ("drivers/nvme/",),
     "nvme-pci: add private poll queues for swap reads",
     "A read that a fault waits for needs neither bio nor request. Let the\n"
     "driver map a page, submit the command on a queue that only swap uses,\n"
     "and look for its completion."),
    (5, ("arch/x86/", "mm/scaleswap/Kconfig.evict"),
     "x86/mm: flush TLBs of a batch without waiting",
     "arch_tlbbatch_flush() spins until each CPU has flushed. Let its caller go on\n"
     "meanwhile, and learn by a count when the last CPU has."),
    (5, ("mm/scaleswap/evict", "mm/scaleswap/vmscan-evict", "mm/scaleswap/page_alloc-evict",
         "include/linux/scaleswap_evict.h"),
     "mm/scaleswap: evict in batches",
     "Unmap pages, flush, write and free them in batches, with several on their\n"
     "way at a time. Kernel threads do so for memcgs that are nearly at a limit,\n"
     "and for nodes that have little memory, and tasks that need memory wait for\n"
     "them. A file in debugfs has a task do so."),
    (6, ("mm/scaleswap/zbatch.c", "mm/scaleswap/zswap-batch.c", "mm/scaleswap/list_lru-batch.c",
         "mm/scaleswap/vmscan-zbatch.c", "mm/scaleswap/zswap-load.c",
         "mm/scaleswap/zswap-units.c", "include/crypto/acompress-batch.h",
         "mm/scaleswap/tests/batchcomp.c", "mm/scaleswap/Kconfig.zbatch"),
     "mm/scaleswap: zswap in batches",
     "zswap stores and loads page by page, and no large folios. Store and load\n"
     "in groups, for which it allocates, charges and takes its locks once."),
    (6, ("drivers/dma/idxd/",),
     "dmaengine: idxd: a simulated device",
     "No machine with IAA is at hand. Have registers, commands, interrupts and\n"
     "engines as a device has them, and a compressor and a decompressor that\n"
     "work as it does; the test in tools/testing/scaleswap compares these with\n"
     "zlib. Nothing uses them yet."),
    (6, ("drivers/crypto/intel/iaa/",),
     "crypto: iaa: a driver that takes several units in one request",
     "Submit all units of a request before the first is waited for, end each\n"
     "whatever the device does, and decompress in software what it does not.\n"
     "Nothing compiles it yet."),
    (7, ("mm/scaleswap/move.c", "mm/scaleswap/defrag.c", "mm/scaleswap/defragd.c", "mm/scaleswap/drain.c", "mm/scaleswap/sysfs-defrag.c",
         "mm/scaleswap/zswap-move.c", "mm/scaleswap/Kconfig.defrag"),
     "mm/scaleswap: move slots that are in use",
     "Slots in use get spread over many clusters, so that large folios find no\n"
     "block and each cluster keeps its memory. Tag slots in sparse clusters, copy\n"
     "what they hold to slots in one cluster, and have page table entries refer\n"
     "to these, where the slot was not used meanwhile. A file in sysfs asks for\n"
     "that."),
    (9, ("tools/mm/",),
     "tools/mm: add the scaleswap tool",
     "Set up one swap area a core, show how they are used, take them down."),
    (9, ("tools/testing/selftests/",),
     "selftests/scaleswap: add tests",
     "Test what ScaleSwap shows to user space, in guests with NVMe drives."),
    (9, ("Documentation/",),
     "Documentation: describe scaleswap",
     "For operators, for developers, and the ABI."),
    (9, ("MAINTAINERS",),
     "MAINTAINERS: add scaleswap",
     "Say who looks after the files that the series adds."),
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
    for i, (_, prefixes, _, _) in enumerate(PIECES):
        if name.startswith(prefixes):
            return i
    raise t.Error(f"{name} belongs to no piece of the series; name it in PIECES of {sys.argv[0]}")


def steps(groups, names):
    """Pieces and hooks in order: a band's pieces, then its hooks."""
    queue = sorted(groups)
    for n in names:
        while queue and PIECES[queue[0]][0] <= int(n[0]):
            yield queue[0], None
            queue.pop(0)
        yield None, n
    for i in queue:
        yield i, None


def set_of(band):
    for name, bands in SETS.items():
        if str(band) in bands:
            return name
    raise t.Error(f"band {band}xx belongs to no set; name it in SETS of {sys.argv[0]}")


def number(series, sets):
    """Number the patches of each set, 1/m to m/m."""
    for path, (at, of) in zip(series, ((sets[:i].count(s) + 1, sets.count(s)) for i, s in enumerate(sets))):
        with open(path) as f:
            text = f.read()
        text, n = re.subn(r"^Subject: \[PATCH\] ", f"Subject: [PATCH {at:0{len(str(of))}}/{of}] ", text,
                          count=1, flags=re.M)
        if not n:
            raise t.Error(f"{os.path.basename(path)} has no Subject: [PATCH]")
        with open(path, "w") as f:
            f.write(text)


def cover(repo, name, commits, who):
    """The letter in front of a set: its text, what is in it, how large it is."""
    path = os.path.join(t.ROOT, "patches/covers", name + ".md")
    try:
        with open(path) as f:
            title, text = f.read().split("\n", 1)
    except FileNotFoundError:
        raise t.Error(f"{path} is missing: the letter in front of that set") from None
    text = re.sub(r"^<!-- .* -->\n", "", text, flags=re.M).strip()
    subjects = git(repo, "log", "--reverse", "--format=  %s", f"{commits[0]}^..{commits[-1]}")
    stat = git(repo, "diff", "--stat=80", "--no-renames", f"{commits[0]}^", commits[-1])
    return (f"From: {who['GIT_AUTHOR_NAME']} <{who['GIT_AUTHOR_EMAIL']}>\nDate: {who['GIT_AUTHOR_DATE']}\n"
            f"Subject: [PATCH {0:0{len(str(len(commits)))}}/{len(commits)}] {title.removeprefix('# ')}\n\n"
            f"{text}\n\n{subjects}\n{stat}")


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
    other = [f for f in os.listdir(out) if not re.fullmatch(r"\d{4}-.*\.patch|cover-.*\.txt", f)]
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
        groups, sets = {}, []
        for f, (kind, src) in files.items():
            if kind in ("overlay", "append"):
                groups.setdefault(piece_of(f), []).append((f, src))
        for i, n in steps(groups, want.names):
            sets.append(set_of(PIECES[i][0] if n is None else int(n[0])))
            if n is None:
                for f, src in groups[i]:
                    dst = os.path.join(repo, f)
                    os.makedirs(os.path.dirname(dst), exist_ok=True)
                    shutil.copy(src, dst)
                    os.chmod(dst, 0o755 if os.access(src, os.X_OK) and
                             os.stat(src).st_mode & 0o100 else 0o644)
                git(repo, "add", "-Af", ".")
                _, _, subject, body = PIECES[i]
                git(repo, "commit", "-q", "-F", "-", env=who,
                    input=f"{subject}\n\n{body}\n\nSigned-off-by: {name} <{mail}>\n".encode())
                continue
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
        for f in glob.glob(os.path.join(out, "*.patch")) + glob.glob(os.path.join(out, "cover-*.txt")):
            os.unlink(f)
        root, *commits = git(repo, "rev-list", "--reverse", "HEAD").split()
        git(repo, "format-patch", "-q", "--zero-commit", "--no-signature", "--full-index",
            "--no-renames", "--no-numbered", "-o", out, root + "..HEAD")
        number(sorted(glob.glob(os.path.join(out, "*.patch"))), sets)
        for s in SETS:
            of = [c for c, its in zip(commits, sets) if its == s]
            with open(os.path.join(out, f"cover-{s}.txt"), "w") as f:
                f.write(cover(repo, s, of, who))

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
