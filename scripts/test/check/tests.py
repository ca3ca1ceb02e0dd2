#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is each selftest run, and with all that it needs: scripts/test/check/tests.py ROOT

The selftests' Makefile is the list of programs. Each of them has to run in a guest of
scripts/test/guests.py, whole: a guest that runs single cases is not enough. A guest names
nothing that is not there, and each mutant's pattern selects a test. Each mechanism of Kconfig.scaleswap, and all else in the selftests'
own `config`, is in the kernel that `make test` boots; each mechanism is in that `config`, too.
Prints what is wrong; exit status 1 if anything is.
"""
import fnmatch
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from guests import GUESTS  # noqa: E402
from mutate import MUTANTS  # noqa: E402
from run import BOOTING  # noqa: E402

# Has no line in configs/: this one selects it
SELECTED = {"CONFIG_SYSCTL": "CONFIG_PROC_SYSCTL"}
SELFTESTS = "tools/testing/selftests/scaleswap"


def read(path):
    with open(path) as f:
        return f.read()


def programs(makefile):
    """The test programs that a kselftest Makefile lists."""
    text = read(makefile).replace("\\\n", " ")
    return [w for names in re.findall(r"^(?:TEST_PROGS|TEST_GEN_PROGS) *[:+]?= *(.*)$", text, re.M)
            for w in names.split()]


def cases(root, prog):
    """The cases of a program, by its source."""
    shell = prog.endswith(".sh")
    text = read(f"{root}/{SELFTESTS}/{prog if shell else prog + '.c'}")
    if shell:
        m = re.search(r'^TESTS="(.*?)"', text, re.M | re.S)
        return m[1].split() if m else []
    return re.findall(r"^(?:SSW_)?(?:TEST|BODY)\w*\((?:\w+, *)?(\w+)", text, re.M)


def options(*configs):
    return {s for path in configs for s in re.findall(r"^(CONFIG_\w+)=[^n]", read(path), re.M)}


def wrong_guests(root):
    listed = programs(f"{root}/{SELFTESTS}/Makefile")
    run = {}
    for guest, g in GUESTS.items():
        whole = g["tests"].split()
        for test in whole + (g.get("debug") or {}).get("tests", "").split():
            prog, _, case = test.partition(":")
            if prog not in listed:
                yield f"guests.py: {guest} runs {prog}, which {SELFTESTS}/Makefile does not list"
            elif case and case not in cases(root, prog):
                yield f"guests.py: {guest} runs {test}, but {prog} has no such case"
            if test in whole and not g.get("only"):
                run.setdefault(prog, set()).add(case)
    for path in sorted(glob.glob(f"{root}/{SELFTESTS}/*.c") + glob.glob(f"{root}/{SELFTESTS}/*.sh")):
        name = os.path.basename(path)
        if re.search(r"^TEST_HARNESS_MAIN$|^TESTS=", read(path), re.M) and name.removesuffix(".c") not in listed:
            yield f"{SELFTESTS}/Makefile: {name} is a test, and not listed"
    for prog in listed:
        if prog not in run:
            yield f"guests.py: no guest runs {prog}"
        elif "" not in run[prog]:
            yield f"guests.py: no guest runs all of {prog}, only " + ", ".join(sorted(run[prog]))


def wrong_mutants(root):
    """As scripts/test/run.py selects tests, but for KUnit's, which run in any guest."""
    tests = {f"{name}/" for name in BOOTING}
    for guest, g in GUESTS.items():
        for test in g["tests"].split():
            prog, _, only = test.partition(":")
            stem = f"{guest}/{prog.removesuffix('.sh')}"
            found = [only] if only else cases(root, prog)
            tests |= {f"{stem}.{case}" for case in found} | (set() if only else {stem})
    for name, (_, _, _, pattern) in MUTANTS.items():
        if pattern != "BUILD" and not pattern.startswith("kunit") and \
                not any(pattern in t or fnmatch.fnmatchcase(t, pattern) for t in tests):
            yield f"mutate.py: {name} wants {pattern} to fail, which is no test"


def wrong_config(root):
    own = options(f"{root}/{SELFTESTS}/config")
    booted = options(*(f"{root}/configs/{n}.config" for n in ("base", "scaleswap", "test")))
    kconfig = dict(m for f in [f"{root}/Kconfig.scaleswap"] + glob.glob(f"{root}/mm/scaleswap/Kconfig.*")
                   for m in re.findall(r"^(?:menu)?config (\w+)\n\t(\w+)", read(f), re.M))
    # A number is no mechanism, and `make test` alone runs the KUnit suites
    mechanisms = {f"CONFIG_{s}" for s, kind in kconfig.items() if kind == "bool" and not s.endswith("_KUNIT_TEST")}
    for s in sorted(mechanisms - own):
        yield f"{SELFTESTS}/config: {s} of Kconfig is missing; its tests would be skipped"
    for s in sorted({SELECTED.get(s, s) for s in own | mechanisms} - booted):
        yield f"configs: {s}, which the selftests want, is not in base, scaleswap or test.config"
    for s in sorted(s for s in own if s.startswith("CONFIG_SCALESWAP") and s[len("CONFIG_"):] not in kconfig):
        yield f"{SELFTESTS}/config: no Kconfig file has {s}"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wrong = [*wrong_guests(sys.argv[1]), *wrong_mutants(sys.argv[1]), *wrong_config(sys.argv[1])]
    print("\n".join(wrong), end="\n" * bool(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
