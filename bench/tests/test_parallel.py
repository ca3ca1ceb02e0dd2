# SPDX-License-Identifier: GPL-2.0
"""Tests of bench/parallel.py."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import parallel  # noqa: E402


class Settings(unittest.TestCase):
    def test_those_of_each_load_make_a_run(self):
        for load in parallel.LOADS:
            for cpus in (1, 64):
                here = parallel.settings(parallel.SETTINGS, "on", load, 1)
                self.assertIn("fill@1=swap_out", parallel.options(here, "on", load, cpus)["phases"])

    def test_over_all_pages(self):
        here = parallel.settings(dict(parallel.SETTINGS, mix=4), "on", "shared", 1)
        self.assertIn("mix:4@2=both", parallel.options(here, "on", "shared", 64)["phases"])
