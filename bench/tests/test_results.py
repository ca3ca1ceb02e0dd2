# SPDX-License-Identifier: GPL-2.0
"""What the README files say was measured: each figure is computed again from bench/results.

The tables between markers are those that bench/tables.py makes, and each file of results is
in one of them or named. In README.md's section of measurements, a paragraph that has figures
names the file that they are from. The file names a commit and a command, and every number in
the paragraph is one that FIGURES below takes from the data (or a condition of the
measurement, which stands there as well). So a figure without data cannot stay, nor can one
whose data have changed.
"""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import lib as b  # noqa: E402
import stages  # noqa: E402
import tables  # noqa: E402
from tables import command, commits, data  # noqa: E402

ROOT, RESULTS = b.ROOT, tables.RESULTS
NAMED = re.compile(r"`(?:bench/results/)?([\w.-]+\.(?:json|log))`")
COMMIT = re.compile(r"\b([0-9a-f]{7,40})(-dirty)?\b")


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
    assert not d["table5"], "table5 is there, as it is in locks-2cpus.json: show one of them"
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


def upstream(name="upstream-selftests.json"):
    d = data(name)
    assert d["verdict"] == "pass"
    return {n(v) for t in d["totals"].values() for v in t.values()}


def soak():
    out = set()
    for r in data("long-runs.json")["runs"]:
        assert (r["verdict"], r["exit_status"]) == ("good", 0), r["log"]
        if r["what"] == "soak":
            assert (r["counters"]["wrong"], r["swap_left_kb"]) == (0, 0), r["log"]
            out |= {n(r["counters"]["verified"]), str(r["cpus"])}
    return out


FIGURES = {
    "locks.json": locks, "locks-own-group.json": own_group, "instructions.json": instructions,
    "table6.json": table6, "throughput.json": throughput, "fault.json": fault,
    "upstream-selftests.json": upstream, "upstream-mglru.json": lambda: upstream("upstream-mglru.json"),
    "long-runs.json": soak,
}


def paragraphs():
    with open(os.path.join(ROOT, "README.md")) as f:
        section = re.search(r"^## (?:What was measured|What it gains).*?\n(.*?)^## ", f.read(), re.M | re.S)[1]
    section = tables.BLOCK.sub("", section)
    return [" ".join(p.split()) for p in re.split(r"\n\n|\n(?=- )", section) if p.strip()]


def numbers(paragraph):
    """Those a reader would take for figures: not in code, not a commit, not Table 5."""
    text = re.sub(r"`[^`]*`", "", paragraph)
    text = COMMIT.sub("", text)
    text = re.sub(r"\b(Table|Figure) \d+", "", text)
    return re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?\b", text)


class Tables(unittest.TestCase):
    """What stands between the markers of the README files."""

    def test_each_table_is_what_the_data_say(self):
        self.assertGreater(len(tables.readmes()), 5)
        for path in tables.readmes():
            with self.subTest(os.path.relpath(path, ROOT)), open(path) as f:
                text = f.read()
                self.assertEqual(text.splitlines(), tables.filled(text).splitlines(), "run bench/report.py --readme")

    def test_each_table_is_shown(self):
        shown = [m[1] for path in tables.readmes() for m in tables.BLOCK.finditer(self.read(path))]
        self.assertEqual(sorted(set(tables.names()) - set(shown)), [])

    def test_each_file_is_shown(self):
        text = "".join(self.read(path) for path in tables.readmes() if "/bench/" in path)
        self.assertEqual([f for f in sorted(os.listdir(RESULTS)) if not re.search(rf"[`/]{re.escape(f)}[`)]", text)], [])

    def test_each_file_names_commit_and_command(self):
        for name in os.listdir(RESULTS):
            if name.endswith((".json", ".log")):
                with self.subTest(name):
                    self.assertTrue(commits(name), "names no commit")
                    self.assertTrue(command(name), "names no command")

    def test_no_figure_stands_in_the_text(self):
        for path in tables.readmes():
            if path != f"{ROOT}/README.md":
                text = re.sub(r"`[^`]*`", "", tables.BLOCK.sub("", self.read(path)))
                with self.subTest(os.path.relpath(path, ROOT)):
                    self.assertEqual(re.findall(r"\d,\d{3}|\d\.\d|\d ?%", text), [])

    def read(self, path):
        with open(path) as f:
            return f.read()


class Stages(unittest.TestCase):
    """Instructions by stage: none is lost, and none counts twice."""

    def test_each_stage_is_shown(self):
        titles = [title for title, _ in stages.STAGES]
        self.assertEqual(sorted(stages.SHOWN), sorted([*titles, stages.NONE, stages.USER]))

    def test_they_sum_up_to_what_was_counted(self):
        for name in ("peer-instructions.json", "peer-instructions-full.json"):
            d = data(name)
            runs = {r["kernel"]: r for r in d["runs"]}
            for line in d["stages"]:
                if line["what"] != "swap_in_clean":
                    with self.subTest(f"{name}: {line['kernel']}, {line['what']}"):
                        counted = runs[line["kernel"]][line["what"].replace("swap", "counter")]
                        self.assertAlmostEqual(sum(line["a_page"].values()), counted, delta=1.5)
                        # a root that is not found moves its instructions there
                        self.assertLess(line["a_page"].get(stages.NONE, 0), counted / 100)


class Results(unittest.TestCase):
    def test_files_that_are_named_exist(self):
        with open(os.path.join(ROOT, "README.md")) as f:
            names = sorted(set(NAMED.findall(f.read())))
        self.assertGreater(len(names), 3)
        for name in names:
            with self.subTest(name):
                self.assertTrue(os.path.exists(os.path.join(RESULTS, name)), "no such file")

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
            before, block = re.search(r"\n## (?:Two commands|Try it)\n(.*?)```\n(.*?)```\n", f.read(), re.S).groups()
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
        self.assertEqual(name, tables.newest_demo())


if __name__ == "__main__":
    unittest.main()
