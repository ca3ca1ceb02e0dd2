# SPDX-License-Identifier: GPL-2.0
"""Tests of bench/parallel.py: what it tells a guest, and how it reads what bench/load/lines.c counted."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import parallel  # noqa: E402

COUNTS = """window 2 400 60 1000
total 2 3 180
insn 2 2 120 folio_add.part.0
insn 2 1 60 folio_add
kind 2 task 300 120 2 5 folio_add.part.0
kind 2 task 100 60 1 1 folio_add
kind 2 evictor 700 0 0 2 shrink
end
"""


class Settings(unittest.TestCase):
    def test_those_of_each_load_make_a_run(self):
        for load in parallel.LOADS:
            for cpus in (1, 64):
                here = parallel.settings(parallel.SETTINGS, "on", load, 1)
                self.assertIn("fill@1=swap_out", parallel.options(here, "on", load, cpus)["phases"])

    def test_over_all_pages(self):
        here = parallel.settings(dict(parallel.SETTINGS, mix=4), "on", "shared", 1)
        self.assertIn("mix:4@2=both", parallel.options(here, "on", "shared", 64)["phases"])


class Profile(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(text)
            f.flush()
            return parallel.read_lines(f.name, {2: ("both", 60, 400)})[2]

    def test_parts_are_added_up(self):
        found = self.read(COUNTS)
        self.assertEqual(found["insn"], {"folio_add": [3, 180]})
        self.assertEqual(found["kinds"]["task"], {"folio_add": [400, 180, 3, 6]})

    def test_percent_of_all_cpus(self):
        p = parallel.profile(self.read(COUNTS)["kinds"], 2 * 1000)
        self.assertEqual(p["task"], {"instructions": 20, "lines": 9, "functions": {"folio_add": [20, 9, 6]}})
        self.assertEqual(p["evictor"]["instructions"], 35)

    def test_not_asked_for(self):
        self.assertNotIn("kinds", self.read("".join(l + "\n" for l in COUNTS.splitlines() if not l.startswith("kind"))))

    def test_incomplete(self):
        with self.assertRaises(ValueError):
            self.read(COUNTS[:-4])
