# SPDX-License-Identifier: GPL-2.0
"""Pages are evicted in the order of one list, as an experiment shows, with an instruction clock.

How much an evictor ages too early depends on how fast others use pages. So a guest with the host's
clock does not tell, and the selftest lru_gen.evictors_age_late notices gross cases only. This runs
one case of bench/experiments/lru-order, in a guest that boots the kernel that SSW_KERNEL names (default: test).
`make test` runs this.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


class Order(unittest.TestCase):
    def test_idle_pages_go_first(self):
        """Turnover, generations, evictors: of 34,944 pages, few are in swap before the process frees them.

        Eight boots had 0; five with evictors that age as soon as they find little had 5,800 or more.
        """
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            r = subprocess.run([sys.executable, f"{ROOT}/bench/experiments/lru-order/run.py", "--cases", "turnover",
                                "--columns", "on-mglru", "--runs", "1", "--out", out.name],
                               env=dict(os.environ, KERNEL=os.environ.get("SSW_KERNEL", "test")), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(r.returncode, 0, r.stdout[-3000:])
            runs = json.load(out)["runs"]["turnover"]["on-mglru"]
        self.assertEqual(len(runs), 1)
        self.assertLess(runs[0]["were_out"], 3000, runs)


if __name__ == "__main__":
    unittest.main()
