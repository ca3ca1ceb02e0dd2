# SPDX-License-Identifier: GPL-2.0
"""docs.py finds each sort of fault, planted into a small repository, and nothing else.

Called as any unit test: python3 -m unittest discover -s scripts/test/unit -p test_docs.py
"""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check", "docs.py")

GOOD = {
    "repo/Kconfig.scaleswap": "config SCALESWAP_X\n",
    "repo/Documentation/mm/scaleswap/index.rst": """\
Calls ssw_there() and vmscan_there(), with CONFIG_SCALESWAP_X, see mm/scaleswap/a.c, b.h
and Documentation/mm/scaleswap/index.rst. Not a path of ours: /sys/kernel/mm/scaleswap/x.

.. toctree::
   :maxdepth: 2

   more

====== =====
One    Two
====== =====
a      b, and
       more
c
====== =====

.. kernel-doc:: mm/scaleswap/a.c
   :doc: A rule
""",
    "repo/Documentation/mm/scaleswap/more.rst": "More.\n",
    "repo/mm/scaleswap/a.c": """\
/**
 * DOC: A rule
 *
 * Checked by scripts/kernel-doc. See tools/perf/bench/ of another tree.
 */
static void ssw_there(void)
{
	pr_info("ssw_only_string()");
	/* ssw_only_comment() is gone */
}
""",
    "repo/mm/scaleswap/b.h": "",
    "repo/tools/x/Makefile": "# make test: runs it\nall check: x\ntest: x\n",
    "tree/mm/vmscan.c": "void vmscan_there(void) { }\n",
    "tree/scripts/kernel-doc": "",
}
INDEX = "repo/Documentation/mm/scaleswap/index.rst"
CODE = "repo/mm/scaleswap/a.c"

# what is appended to which file (or put instead of what), and what has to be reported
PLANTED = {
    "a function that is nowhere": (INDEX, "ssw_gone()\n", "ssw_gone() is not in the sources"),
    "a function of the base that is nowhere": (INDEX, "gone_too()\n", "gone_too() is not"),
    "a function that only a comment names": (INDEX, "ssw_only_comment()\n", "ssw_only_comment() is not"),
    "a function that only a string names": (INDEX, "ssw_only_string()\n", "ssw_only_string() is not"),
    "an identifier": (INDEX, "``struct ssw_nothing``\n", "ssw_nothing is not"),
    "an option": (INDEX, "``CONFIG_SCALESWAP_Y``\n", "CONFIG_SCALESWAP_Y is not"),
    "a path": (INDEX, "mm/scaleswap/gone.c\n", "mm/scaleswap/gone.c does not exist"),
    "a bare file name": (INDEX, "in gone.h\n", "no file is called gone.h"),
    "a script's name": (INDEX, "in gone.sh\n", "no file is called gone.sh"),
    "a document's path in code": (CODE, "/* Documentation/mm/gone.rst */\n", "gone.rst does not exist"),
    "an entry of a toctree": (INDEX, ("   more\n", "   less\n"), "less.rst does not exist"),
    "a title": (INDEX, (":doc: A rule", ":doc: The rule"), "has no block 'DOC: The rule'"),
    "a block that is not used": (CODE, "/**\n * DOC: Another\n */\n", "'DOC: Another' is in no document"),
    "a file of kernel-doc": (INDEX, ".. kernel-doc:: mm/scaleswap/gone.c\n", "kernel-doc: mm/scaleswap/gone.c"),
    "a shifted row of a table": (INDEX, ("a      b", "a bb     b"), "does not begin where"),
    "a row over the margin": (INDEX, ("a      b", "aaaaaaab"), "in the margin"),
    "bench": (CODE, "/* see bench/scale */\n", "names bench/"),
    "patches": (CODE, "/* see patches/910 */\n", "names patches/"),
    "docs": (CODE, "/* see docs/artifact.md */\n", "names docs/"),
    "make": (CODE, "/* see `make test` */\n", "names a make target"),
    "BUILD": (CODE, "/* see $BUILD/tree */\n", "names $BUILD"),
    "scripts": (CODE, "/* see scripts/mutate */\n", "names scripts/mutate"),
}


class Docs(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as top:
            for name, text in files.items():
                path = os.path.join(top, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, "-B", PROGRAM, f"{top}/repo", f"{top}/tree"],
                                  capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_good(self):
        self.assertEqual(self.run_on(GOOD), (0, "docs: 2 files, 0 faults\n"))

    def test_planted(self):
        for what, (name, text, report) in PLANTED.items():
            with self.subTest(what):
                old = GOOD[name]
                if isinstance(text, tuple):
                    self.assertIn(text[0], old)
                    new = old.replace(*text)
                else:
                    new = old + text
                rc, out = self.run_on({**GOOD, name: new})
                self.assertEqual(rc, 1)
                self.assertIn(report, out)


if __name__ == "__main__":
    unittest.main()
