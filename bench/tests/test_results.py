# SPDX-License-Identifier: GPL-2.0
"""What README.md says was measured: each figure is computed again from bench/results.

A paragraph that has figures names the file that they are from. The file names a commit and
a command, and every number in the paragraph is one that FIGURES below takes from the data
(or a condition of the measurement, which stands there as well). So a figure without data
cannot stay, nor can one whose data have changed.
"""
import json
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import lib as b  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "bench", "results")
NAMED = re.compile(r"`(?:bench/results/)?([\w.-]+\.(?:json|log))`")
COMMIT = re.compile(r"\b([0-9a-f]{7,40})(-dirty)?\b")


def text_of(name):
    with open(os.path.join(RESULTS, name)) as f:
        return f.read()


def data(name):
    return json.loads(text_of(name))


def commits(name):
    """The commits that a file names, as `git describe` says them."""
    if name.endswith(".log"):
        # in a remark on the first lines, or in the name of the kernel that was booted
        found = re.search(r"^# .*commit ([0-9a-f]{7,40})", text_of(name), re.M) or \
            re.search(r"/soak-\w+-([0-9a-f]{7})-\d{8}-\d{6}\.console", text_of(name))
        return [found[1]] if found else []
    d = data(name)
    meta = d.get("meta", d)
    given = meta.get("repository") or meta.get("commit") or []
    out = [given] if isinstance(given, str) else list(given)
    if meta.get("modified_files"):
        out = [f"{c[:7]}-dirty" for c in out]
    return out


def command(name):
    if name.endswith(".log"):
        found = re.search(r"^# selftests: scaleswap: (\S+)", text_of(name), re.M)
        return found and found[1]
    d = data(name)
    return d.get("meta", d).get("command")


# --- figures, by file ---------------------------------------------------------------

def n(value):
    return f"{value:,.0f}"


def locks():
    d = data("locks.json")
    runs = {(r["cpus"], r["kernel"]): r for r in d["runs"]}
    cpus = sorted({c for c, _ in runs})
    out = {str(c) for c in cpus} | {"4", "8", "16"}
    pages = [r["pages"] for r in d["runs"] if r["kernel"] in ("base", "lru", "on")]
    out |= {n(min(pages)), n(max(pages)), n(runs[16, "base"]["locks"]["cluster"]["acquisitions"])}
    for (c, kernel), r in runs.items():
        if kernel in ("base", "mglru", "lru", "on"):
            out.add(n(r["locks"]["lru_lock"]["contentions"]))
        if kernel in ("base", "on"):
            out.add(n(r["locks"]["swap_cache"]["contentions"]))
        if kernel == "on":
            out |= {n(l[2]) for l in r["most_contended"] if l[0] == "&vmpr->sr_lock"}
            # "not taken once"
            for lock in ("si->lock", "swap_avail_lock", "cluster", "slot_cache_alloc",
                         "slot_cache_free", "swap_cgroup"):
                assert not r["locks"].get(lock, {}).get("acquisitions"), (c, lock)
        if kernel == "base":
            areas = sum(line.startswith("/") for line in str(r["areas"]).split("\n"))
            assert not areas or areas <= 23
    out.add("23")       # areas that the base kernel takes
    for f in d["faults"]:
        if f["kernel"] == "on":
            out |= {f"{f['over_base'][k]['median']:.3f}" for k in ("pgfault", "pgmajfault")}
    assert not d["table5"], "table5 is there: say in README.md what came out, and add it here"
    return out


def own_group():
    d = data("locks-own-group.json")
    for lock, counts in d["locks"].items():
        if re.search(r"^(swap_avail|&p->lock|&cluster_info|&cache->|&ctrl->lock|&lruvec)", lock):
            assert not counts["contentions"], lock
    return {n(d["pages"])}


def instructions():
    d = data("instructions.json")
    wanted = [d["alloc_free"][k] for k in ("base", "off", "on")]
    wanted += [d["swap_out"][k] for k in ("base", "mglru", "off", "on")]
    wanted += [d["swap_in"][k] for k in ("base", "off", "on")]
    # half up, as a reader does it
    return {f"{int(v + 0.5):,}" for v in wanted}


def table6():
    d = data("table6.json")
    out = {str(c) for c in d["meta"]["how"]["cpus"]}
    for level in d["levels"][1:]:
        out |= {f"{level['percent']:g}", f"{100 * level['kept']['median']:.1f}"}
    return out


def throughput():
    d = data("throughput.json")
    out = {str(c) for c in d["meta"]["how"]["cpus"]}
    assert d["meta"]["how"]["rounds"] == 5
    for s in d["summary"]:
        if s["what"] in ("both_pages_s", "swap_in_pages_s", "swap_out_pages_s"):
            out.add(f"{s['on/base']['median']:.2f}")
    return out


def fault():
    d = data("fault.json")
    take = lambda kernel, how="page_cluster_0": [
        d[kernel]["instructions_all"][how][k]["median"] for k in ("submit", "complete")]
    out = {n(v) for kernel in ("base", "off", "bio", "direct") for v in take(kernel)}
    out |= {n(v) for kernel in ("base", "direct") for v in take(kernel, "page_cluster_3_read")}
    return out | {f"{100 * sum(take('direct')) / sum(take('base')):.1f}", "3"}


def upstream():
    d = data("upstream-selftests.json")
    assert d["verdict"] == "pass"
    return {n(v) for kernel in ("base", "on") for v in d["totals"][kernel].values()}


def soak(name):
    text = text_of(name)
    end = re.search(r"^# end t=\d+s .*?verified=(\d+) wrong=0 ", text, re.M)
    assert re.search(r"^soak: exit status 0$", text, re.M) and " used=0 " in text
    return {n(int(end[1])), re.search(r"cpus=(\d+)", text)[1]}


FIGURES = {
    "locks.json": locks, "locks-own-group.json": own_group, "instructions.json": instructions,
    "table6.json": table6, "throughput.json": throughput, "fault.json": fault,
    "upstream-selftests.json": upstream,
    "soak-20261121.log": lambda: soak("soak-20261121.log"),
    "soak-20261121-lru.log": lambda: soak("soak-20261121-lru.log"),
}


def paragraphs():
    with open(os.path.join(ROOT, "README.md")) as f:
        section = re.search(r"^## What was measured.*?\n(.*?)^## ", f.read(), re.M | re.S)[1]
    return [" ".join(p.split()) for p in re.split(r"\n\n|\n(?=- )", section) if p.strip()]


def numbers(paragraph):
    """Those a reader would take for figures: not in code, not a commit, not Table 5."""
    text = re.sub(r"`[^`]*`", "", paragraph)
    text = COMMIT.sub("", text)
    text = re.sub(r"\b(Table|Figure) \d+", "", text)
    return re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?\b", text)


class Results(unittest.TestCase):
    def test_files_exist_and_say_what_they_are_of(self):
        with open(os.path.join(ROOT, "README.md")) as f:
            names = sorted(set(NAMED.findall(f.read())))
        self.assertGreater(len(names), 5)
        for name in names:
            with self.subTest(name):
                self.assertTrue(os.path.exists(os.path.join(RESULTS, name)), "no such file")
                self.assertTrue(commits(name), "names no commit")
                self.assertTrue(command(name), "names no command")

    def test_commits_are_those_of_the_file(self):
        for p in paragraphs():
            named = NAMED.findall(p)
            known = {c.removesuffix("-dirty")[:7] + ("-dirty" if c.endswith("-dirty") else "")
                     for name in named for c in commits(name)}
            text = re.sub(r"`[^`]*`", "", p)
            for commit, dirty in COMMIT.findall(text):
                if re.search(r"[a-f]", commit) or named and len(commit) == 7:
                    with self.subTest(p[:50]):
                        self.assertIn(commit + dirty, known)
            if numbers(p) and named and "as above" not in p:
                with self.subTest(p[:50]):
                    self.assertRegex(text, COMMIT)

    def test_every_number_is_in_the_data(self):
        for p in paragraphs():
            found = numbers(p)
            if not found:
                continue
            with self.subTest(p[:50]):
                names = NAMED.findall(p)
                self.assertTrue(names, f"figures without a file: {found}")
                known = set().union(*(FIGURES[name]() for name in names))
                self.assertEqual([f for f in found if f.rstrip(",") not in known], [])

    def test_the_demos_table_is_that_of_its_file(self):
        with open(os.path.join(ROOT, "README.md")) as f:
            before, block = re.search(r"\n## Two commands\n(.*?)```\n(.*?)```\n", f.read(), re.S).groups()
        name, = NAMED.findall(before)
        rounds = data(name)["setups"][0]["rounds"]
        known = {*b.table(rounds), *[f"  ok    {text}" for ok, text in b.judge(rounds) if ok],
                 "demo: PASS", ""}
        self.assertEqual([line for line in block.splitlines() if line not in known], [])
        self.assertTrue(all(ok for ok, _ in b.judge(rounds)))
        # the titles are what was booted
        for r in rounds:
            for column, result in r.items():
                self.assertEqual(result["parameter"], b.COLUMNS[column]["append"])
        # bench/report.py shows the same
        self.assertEqual(name, max(f for f in os.listdir(RESULTS) if f.startswith("demo-")))


if __name__ == "__main__":
    unittest.main()
