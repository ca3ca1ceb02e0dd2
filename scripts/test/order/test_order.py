# SPDX-License-Identifier: GPL-2.0
"""Pages are evicted in the order of one list, as an experiment shows, with an instruction clock.

How much an evictor ages too early depends on how fast others use pages. So a guest with the host's
clock does not tell, and the selftest lru_gen.evictors_age_late notices gross cases only. This runs
one case of bench/experiments/lru-order at a time, in a guest that boots the kernel that SSW_KERNEL
names (default: test).
`make test` runs this.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def runs_of(case, n):
    """What one boot with evictors and generations says about a case, an entry for each of n runs."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        r = subprocess.run([sys.executable, f"{ROOT}/bench/experiments/lru-order/run.py", "--cases", case,
                            "--columns", "on-mglru", "--runs", str(n), "--each", str(n), "--out", out.name],
                           env=dict(os.environ, KERNEL=os.environ.get("SSW_KERNEL", "test")), text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if r.returncode:
            raise AssertionError(r.stdout[-3000:])
        return json.load(out)["runs"][case]["on-mglru"]


class Order(unittest.TestCase):
    def test_idle_pages_go_first(self):
        """Turnover: of 34,944 pages, few are in swap before the process frees them.

        21 runs had 0 to 446. Five with evictors that age as soon as they find little had 5,800 or more.
        Of those that walked page tables again for the second of two generations, one run in seven had
        3,300 or more.
        """
        runs = runs_of("turnover", 13)
        self.assertEqual(len(runs), 13)
        self.assertLess(max(r["were_out"] for r in runs), 3000, runs)

    def test_the_oldest_shard_goes_first(self):
        """Idle pages of one shard go before pages in use of another: no page in use comes back.

        Evictors that began with the first shard that came had 63 swapped in, boot after boot. Those
        that did not wait for each other's walks had 700 in one run of 60, and those that left a
        locked shard for any other one 255 in one run of 360.
        """
        runs = runs_of("idle_first", 10)
        self.assertEqual(len(runs), 10)
        self.assertEqual([r["swapped_in"] for r in runs], [0] * 10, runs)


if __name__ == "__main__":
    unittest.main()
