# SPDX-License-Identifier: GPL-2.0
"""bench/merge.py: which run stays, and what the file says that its runs are of."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import merge  # noqa: E402


def made(commit, command, *runs):
    """A file of results: (kernel, CPUs, figure) of each run."""
    return {"meta": {"date": commit, "begun": commit, "command": [command], "repository": [commit],
                     "columns": {r[0]: {} for r in runs}, "kernels": {"test": {"release": "6", "sha256": [commit]}}},
            "runs": [{"kernel": k, "load": "shared", "cpus": n, "seed": 1, "t_ns": 60, "quantum": 400,
                      "commit": commit, "kfaults_s": v} for k, n, v in runs]}


class Merge(unittest.TestCase):
    def test_the_newer_run_stays(self):
        got = merge.merged([made("a", "one", ("on", 16, 1), ("core", 16, 2)), made("b", "two", ("on", 16, 3), ("on", 64, 4))])
        self.assertEqual([(r["kernel"], r["cpus"], r["kfaults_s"]) for r in got["runs"]],
                         [("core", 16, 2), ("on", 16, 3), ("on", 64, 4)])
        self.assertEqual(got["meta"]["repository"], ["a", "b"])
        self.assertEqual(got["meta"]["command"], ["one", "two"])

    def test_names_nothing_that_no_run_is_of(self):
        first = merge.merged([made("a", "one", ("on", 16, 1)), made("a", "other", ("core", 16, 2))])
        got = merge.merged([first, made("b", "two", ("on", 16, 3))])
        self.assertEqual(got["meta"]["repository"], ["a", "b"])
        self.assertEqual(got["meta"]["command"], ["other", "two"])
        self.assertEqual(sorted(got["meta"]["columns"]), ["core", "on"])
        self.assertEqual(got["meta"]["kernels"]["test"]["sha256"], ["a", "b"])

    def test_all_rounds_of_a_kernel_are_replaced(self):
        def locks(commit, *runs):
            meta = {"date": commit, "begun": commit, "command": [commit], "repository": [commit], "accel": [], "notes": [],
                    "kernels": {commit: {}}, "columns": {}}
            return {"meta": meta, "runs": [
                {"kernel": k, "cpus": n, "round": r, "pages": 1000000, "accel": "", "all_wait_us": None,
                 "faults": {f: 1 for f in merge.s.FAULTS}, "locks": {"lru_lock": {"contentions": v, "wait_us": v}}}
                for k, n, r, v in runs]}

        got = merge.merged_locks([locks("a", ("base", 4, 0, 8), ("base", 16, 0, 1), ("base", 16, 1, 2), ("on", 16, 0, 3)),
                                  locks("b", ("base", 16, 0, 40))])
        self.assertEqual([(r["kernel"], r["cpus"], r["locks"]["lru_lock"]["contentions"]) for r in got["runs"]],
                         [("base", 4, 8), ("base", 16, 40), ("on", 16, 3)])
        self.assertEqual([(l["kernel"], l["cpus"], l["over_base"]) for l in got["lru_lock"]],
                         [("base", 4, 1), ("base", 16, 1), ("on", 16, 3 / 40)])
        self.assertEqual((got["meta"]["repository"], got["meta"]["kernels"]), (["a", "b"], {"b": {}}))


if __name__ == "__main__":
    unittest.main()
