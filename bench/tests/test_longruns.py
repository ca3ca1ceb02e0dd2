# SPDX-License-Identifier: GPL-2.0
"""What bench/longruns.py reads from the log of a long run."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import longruns  # noqa: E402

HEAD = """# longrun: {log}, kernel test, 60 s, {cpus} CPUs, scaleswap=on
# longrun: repository 1234567-dirty, bzImage sha256 00ff
boot: accel tcg,thread=single
"""
TAIL = """boot: the whole console is in /b/results/{log}-test-20270101-010203.console
longrun: exit status {status}
"""
LOGS = {
    "soak": """# selftests: scaleswap: soak.sh
# stress seed=18 seconds=60 cpus=8 areas=8 workers=16 pages=2048 soak=1
# minute t=60s steps=1 verified=2 wrong=0
# end t=61s steps=3 verified=4 wrong=0 swapoffs=5 (refused 0) swap_used=0kB
# SwapTotal=524288kB SwapFree=524288kB used=0 tables=0
# soak good
""",
    "churn": """# selftests: scaleswap: lru-churn.sh
# churn: 200 groups, 8 processes, 60 s, seed 7
# churn: 65 s: 9 started, 1 moved, 0 killed
# churn: 87 workloads, 86 ended, 1 of them by 2 OOM kills under writeback, 37 moves, 7 kills, 85 groups made anew, \
23 CPUs and 11 of 26 blocks offline; 4 shards at the start, 88 at the most
# churn good
""",
    "iaa": """# selftests: scaleswap: iaaloop.sh
# # iaa_races.c:1:everything:seed 20
# end t=60 unbound=1 halts=2 cpus=3 codes=4 wrongs=5 done=6 failed=7 lost=8 software=9 stored=10 loaded=11
# iaa good
""",
    "fault-reset": """# selftests: scaleswap: fault-loop.sh
# fault: reset, 60 s, 6 processes of 250 pages, seed 9
# # faultload: 12 rounds, 13 pages touched, 0 wrong, 14 lost, longest 15 ms
# fault: reset 16 times, 17 CPUs away; direct 18 bio 19 irq 0 poll_unfit 20
# fault: nvme1: 77 reads, 0 again, 0 timeouts;
# fault BAD
""",
}


class Records(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def log(self, log, status=0, cpus=8, cut=None):
        path = f"{self.dir.name}/{log}.log"
        with open(path, "w") as f:
            f.write((HEAD + LOGS[log] + TAIL).format(log=log, status=status, cpus=cpus)[:cut])
        return path

    def test_iaa(self):
        r = longruns.record(self.log("iaa"))
        self.assertEqual(("iaa", "good", 60, 10, 8), (r["what"], r["verdict"], r["seconds"], r["counters"]["stored"],
                                                      r["counters"]["descriptors_lost"]))
        self.assertNotIn("lost", r["counters"])

    def test_soak(self):
        r = longruns.record(self.log("soak"))
        self.assertEqual((r["what"], r["kernel"], r["repository"], r["bzimage_sha256"], r["cpus"], r["seconds"], r["seed"]),
                         ("soak", "test", "1234567-dirty", "00ff", 8, 60, "18"))
        self.assertEqual((r["date"], r["swap_left_kb"], r["verdict"]), ("2027-01-01T01:02:03+00:00", 0, "good"))
        self.assertEqual(r["counters"], {"t": 61, "steps": 3, "verified": 4, "wrong": 0, "swapoffs": 5, "swap_used": 0})

    def test_churn(self):
        r = longruns.record(self.log("churn", cpus=4))
        self.assertEqual((r["what"], r["command"], r["cpus"], r["seed"], r["swap_left_kb"]), ("churn", "lru-churn.sh", 4, "7", None))
        self.assertEqual(r["counters"], {
            "workloads": 87, "ended": 86, "oom_kills": 2, "moves": 37, "kills": 7, "groups_made_anew": 85,
            "cpus_offline": 23, "blocks_offline": 11, "blocks_tried": 26, "shards_at_most": 88})

    def test_fault(self):
        r = longruns.record(self.log("fault-reset", status=1))
        self.assertEqual((r["what"], r["command"], r["verdict"], r["exit_status"]),
                         ("fault reset", "fault-loop.sh reset", "BAD", 1))
        self.assertEqual(r["counters"], {
            "direct": 18, "bio": 19, "irq": 0, "poll_unfit": 20, "times": 16, "cpus_away": 17,
            "rounds": 12, "pages_touched": 13, "wrong": 0, "lost": 14, "longest_ms": 15})

    def test_a_splat_is_bad(self):
        self.assertEqual(longruns.record(self.log("soak", status=97))["verdict"], "BAD")

    def test_a_run_that_has_not_ended(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            longruns.record(self.log("soak", cut=-20))

    def test_a_log_is_replaced(self):
        with mock.patch.object(longruns, "FILE", f"{self.dir.name}/long-runs.json"), \
                contextlib.redirect_stdout(io.StringIO()):
            for status in (97, 0):
                logs = [self.log("soak", status=status), self.log("churn")]
                with mock.patch.object(sys, "argv", ["longruns.py", *logs]):
                    self.assertEqual(longruns.main(), 0)
            self.assertEqual([(r["what"], r["verdict"]) for r in longruns.load()], [("soak", "good"), ("churn", "good")])


if __name__ == "__main__":
    unittest.main()
