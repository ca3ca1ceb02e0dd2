# SPDX-License-Identifier: GPL-2.0
"""Which kernels a benchmark has built: those of its own columns."""
import os
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, BENCH)

import evict  # noqa: E402
import fault  # noqa: E402
import lib as b  # noqa: E402
import scale  # noqa: E402


class Stop(Exception):
    """Raised where the benchmark would go on with kernels that this test does not build."""


def asked_for(program, *args):
    """The names that kernel.sh is called with."""
    steps = []

    def step(*words):
        if words[0] == "initramfs.sh":
            raise Stop
        steps.append(words)
    with mock.patch.object(b, "step", step), mock.patch.object(sys, "argv", [program.__name__, *args]), \
            mock.patch.object(scale, "COLUMNS", scale.COLUMNS), mock.patch.object(program.signal, "signal"):
        try:
            program.main()
        except Stop:
            pass
    return {words[1] for words in steps if words[0] == "kernel.sh"}


class Kernels(unittest.TestCase):
    def test_fault(self):
        self.assertEqual(asked_for(fault, "--part", "instr"), {"base-test", "test"})

    def test_evict(self):
        self.assertEqual(asked_for(evict), {"base-test", "test", "base-lockstat", "lockstat"})
        self.assertEqual(asked_for(evict, "--part", "fault", "--columns", "base"), {"base-test"})


if __name__ == "__main__":
    unittest.main()
