# SPDX-License-Identifier: GPL-2.0
"""The demo without a guest: its table, its verdict, and in which order it does what."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, BENCH)

import demo  # noqa: E402
import lib as b  # noqa: E402


def result(column, **changes):
    """What a guest of this column reports when all is well; numbers that tell columns apart."""
    base = {"base": 1000, "off": 2000, "on": 3000}[column]
    percore = column == "on"
    locks = {key: {"acquisitions": 0 if percore and key == "swap_avail_lock" else base + n,
                   "contentions": n} for n, key in enumerate(b.LOCKS)}
    areas = {str(t): {"cpu": t, "pages": 1 << 16, "allocs_home": base + t, "allocs_foreign": 0}
             for t in range(2)} if percore else {}
    return dict({
        "kernel": "6.12.117", "how": "percore" if percore else "striped", "cpus": 2, "drives": 2,
        "memory_kb": 100 << 10, "workload_mb": 220, "status": 0,
        "stamp": {"verified": base + 1, "wrong": 0}, "wrong_pages": [],
        "seconds": base / 100, "host_cpu_seconds": base / 200, "pages_out": 60000 + base,
        "pages_in": 50000 + base, "written_pages": [base, base], "areas": areas,
        "swap_avail_lock_control": 4, "lock_stat_works": True, "locks": locks,
        "accel": "tcg,thread=single", "load_average": [0.5, 0.4, 0.3],
    }, **changes)


def one_round(*columns, **changed):
    return [{c: changed.get(c) or result(c) for c in columns}]


FAILED = {"error": "kernel splat", "column": "on", "log": "x", "said": [], "result": None}


class Table(unittest.TestCase):
    def head(self, *columns):
        lines = b.table(one_round(*columns))
        # the ruler under the titles says where each column ends
        ends, at = [], 0
        for rule in lines[1].split("  "):
            ends.append((at, at + len(rule)))
            at += len(rule) + 2
        return [lines[0][first:last].strip() for first, last in ends], lines

    def test_titles_are_what_was_booted(self):
        for columns in (("base", "off", "on"), ("off", "on"), ("base",), ("base", "on")):
            titles, _ = self.head(*columns)
            self.assertEqual(titles, ["", *[b.COLUMNS[c]["append"] or "base kernel" for c in columns]])

    def test_numbers_stand_under_their_title(self):
        for columns in (("base", "off", "on"), ("off", "on")):
            _, lines = self.head(*columns)
            row = next(line for line in lines if line.startswith("pages swapped out"))
            self.assertEqual(row.split()[3:], [f"{result(c)['pages_out']:,}" for c in columns])

    def test_base_is_not_mentioned_without_it(self):
        everything = one_round("off", "on")
        text = "\n".join([*b.table(everything), *[t for _, t in b.judge(everything)]])
        self.assertNotIn("base", text)

    def test_order_does_not_depend_on_what_came_first(self):
        titles, _ = self.head("on", "base", "off")
        self.assertEqual(titles[1:], ["base kernel", "scaleswap=off", "scaleswap=on"])

    def test_failed_guest(self):
        lines = b.table(one_round("off", "on", on=FAILED))
        self.assertTrue(all(line.endswith("failed") for line in lines[2:] if line.strip()
                            and not line.startswith("lock acq")))

    def test_ratio_table(self):
        lines = b.ratio_table(one_round("base", "off", "on"))
        self.assertRegex(lines[0], r"^ratio to the base kernel +off / base +on / base$")
        self.assertRegex("\n".join(lines), r"(?m)^pages swapped out +1\.02 +1\.03$")


class Verdict(unittest.TestCase):
    def verdict(self, *columns, **changed):
        """(is all well, the points' text)"""
        points = b.judge(one_round(*columns, **changed))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = b.print_verdict(points)
        self.assertIn(": PASS" if status == 0 else ": FAIL", out.getvalue())
        return status == 0, out.getvalue()

    def test_good(self):
        good, text = self.verdict("base", "off", "on")
        self.assertTrue(good)
        self.assertIn("3 of 3", text)
        self.assertIn("6,003 checked, 0 wrong", text)
        self.assertIn("scaleswap=on: 0 (base kernel: 1,000, scaleswap=off: 2,000)", text)

    def test_good_without_base(self):
        good, text = self.verdict("off", "on")
        self.assertTrue(good)
        self.assertIn("2 of 2", text)
        self.assertIn("5,002 checked, 0 wrong", text)
        self.assertIn("scaleswap=on: 0 (scaleswap=off: 2,000)", text)

    def test_bad(self):
        taken = result("on")
        taken["locks"]["swap_avail_lock"]["acquisitions"] = 1
        unused = result("on")
        unused["areas"]["1"]["allocs_home"] = 0
        lost = result("on")
        del lost["areas"]["1"]
        for columns in (("base", "off", "on"), ("off", "on")):
            for column, bad in (
                    ("on", FAILED), ("off", dict(FAILED, column="off")),
                    ("on", taken), ("on", unused), ("on", lost),
                    ("on", result("on", status=1)),
                    ("on", result("on", stamp={"verified": 9, "wrong": 1})),
                    ("off", result("off", stamp={"verified": 9, "wrong": 1})),
                    ("off", result("off", stamp={})),
                    ("on", result("on", pages_out=100)),
                    ("on", result("on", workload_mb=150)),
                    ("off", result("off", lock_stat_works=False)),
                    ("on", result("on", swap_avail_lock_control=0))):
                good, text = self.verdict(*columns, **{column: bad})
                self.assertFalse(good, text)
        self.assertFalse(self.verdict("base", "off", "on", base=dict(FAILED, column="base"))[0])

    def test_failed_rival_is_no_zero(self):
        _, text = self.verdict("base", "off", "on", base=dict(FAILED, column="base"))
        self.assertIn("(base kernel: failed, scaleswap=off: 2,000)", text)


class Order(unittest.TestCase):
    """What the demo does, with all that takes long replaced."""

    def demo(self, *args, bad=(), rounds=1):
        done = []

        def measure(_work, column, config, *_):
            self.assertEqual(config, demo.CONFIG)
            done.append(column)
            return dict(FAILED, column=column) if column in bad else result(column)

        def kernels(_work, columns, _config):
            return dict.fromkeys(columns, {})
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as build, contextlib.ExitStack() as stack:
            for name, value in (
                    ("BUILD", build), ("measure", measure), ("stage_root", lambda work: None),
                    ("stage_kernels", kernels), ("step", lambda *words: done.append(" ".join(words)))):
                stack.enter_context(mock.patch.object(b, name, value))
            table = b.table
            stack.enter_context(mock.patch.object(
                b, "table", lambda r: (done.append("table " + " ".join(b.measured(r))), table(r))[1]))
            stack.enter_context(mock.patch.object(demo.signal, "signal"))
            stack.enter_context(contextlib.redirect_stdout(out))
            status = demo.main(["--rounds", str(rounds), *args])
        return status, done, out.getvalue()

    PREPARE = ["deps.sh", "tree.py", "initramfs.sh " + " ".join(b.LAYERS)]
    FIRST = [*PREPARE, "kernel.sh demo", "off", "on", "table off on"]

    def test_base_comes_last(self):
        status, done, text = self.demo()
        self.assertEqual(done, [*self.FIRST, "kernel.sh base-demo", "base", "table base off on"])
        self.assertEqual(status, 0)
        self.assertEqual(text.count("PASS"), 1)
        self.assertTrue(text.endswith("PASS\n"))

    def test_without_base(self):
        status, done, text = self.demo("--no-base")
        self.assertEqual(done, self.FIRST)
        self.assertEqual(status, 0)
        self.assertTrue(text.endswith("PASS\n"))
        self.assertNotIn("base kernel:", text)

    def test_rounds_get_their_base_later(self):
        _, done, text = self.demo(rounds=2)
        self.assertEqual(done[4:], ["off", "on", "on", "off", "table off on",
                                    "kernel.sh base-demo", "base", "base", "table base off on"])
        self.assertIn("6 of 6", text)

    def test_failure_shows(self):
        for bad in ("off", "on", "base"):
            status, _, text = self.demo(bad=(bad,))
            self.assertEqual(status, 1)
            self.assertTrue(text.endswith("FAIL\n"))
        # what failed before the base kernel was measured still counts
        self.assertEqual(self.demo("--no-base", bad=("on",))[0], 1)

    def test_full_measures_all_kernels_in_turn(self):
        done = []

        def measure(_work, column, config, _o, setup, _log):
            self.assertEqual(config, demo.FULL_CONFIG)
            done.append((setup["name"], column))
            return result(column)
        with tempfile.TemporaryDirectory() as build, contextlib.ExitStack() as stack:
            for name, value in (("BUILD", build), ("measure", measure), ("prepare", lambda *_: {}),
                                ("report", lambda path: self.assertTrue(os.path.exists(path)))):
                stack.enter_context(mock.patch.object(b, name, value))
            stack.enter_context(mock.patch.object(demo.signal, "signal"))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            self.assertEqual(demo.main(["--full", "--rounds", "2", "--out", f"{build}/demo.json"]), 0)
        one = ["base", "off", "on", "off", "on", "base"]
        self.assertEqual(done, [(s, c) for s in ("cpus4", "smp2") for c in one])

    def test_plan_comes_first_and_names_each_step(self):
        for args, steps in (((), 6), (("--no-base",), 4), (("--no-build",), 3),
                            (("--no-build", "--no-base"), 2)):
            status, done, text = self.demo(*args)
            self.assertEqual(status, 0)
            plan = text[:text.index("round 1")].splitlines()
            self.assertEqual(sum(line.endswith(" min") and "after" not in line for line in plan), steps)
            self.assertEqual("BASE=0" in text, "--no-base" not in args)


if __name__ == "__main__":
    unittest.main()
