#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run all tests: scripts/test/run.py test|debug

Builds what is missing, runs the user tool's tests here, then boots a few guests with
the selftests of tools/testing/selftests/scaleswap and reads their KTAP, and the KUnit
suites' from the kernel console. Prints a line a test and ends with one line
"N passed, N failed, N skipped". Exit status 1 when anything failed: a test, a kernel
splat, a guest that hung, a test that did not report.

Environment:
  TESTS=PATTERN   only tests whose GUEST/TEST.CASE contains it, or matches it as a shell
                  pattern ("bind", "load/*", "*.auto_*"); "kunit", "tool", "bench", "boot",
                  "order"
  TEST_JOBS=N     guests at a time (default: the processors, at most 2)
  SSW_HIBERNATE=1 also run tests that hibernate, which take minutes
  TEST_TIMEOUT=N  end a guest that reports nothing for N seconds of its own time
"""
import fnmatch
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from guests import GUESTS  # noqa: E402
from paths import BUILD, ROOT  # noqa: E402

SELFTESTS = f"{ROOT}/tools/testing/selftests/scaleswap"

# Hang guards: seconds of a guest's own time (see scripts/guest/boot.py) without a line that matches.
# Notes do not count, as a test that hangs may go on to print them.
TIMEOUT = {"test": 420, "debug": 2400}
PROGRESS = r"^(# )?(# +(RUN|OK|FAIL|SKIP) |(not )?ok \d|1\.\.\d|TAP version|selftests: )"

# Unit tests that boot guests themselves
BOOTING = {"boot": f"{ROOT}/scripts/test/unit", "order": f"{ROOT}/scripts/test/order"}

# When this is stopped from outside, such as by the time limit of a CI system: guests are ended,
# and what was running or did not run is reported.
STOPPED, RUNNING = threading.Event(), []

RESULT = re.compile(r"^(not ok|ok) (\d+) ?-? ?(.*?)\s*(?:#\s*(SKIP|XFAIL|XPASS|TODO)\b\s*(.*)|#.*)?$")


class Report:
    """Counts and prints results, from several guests at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures = []
        self.start = time.monotonic()

    def add(self, what, name, why="", details=()):
        """`what` is passed, failed or skipped; `details` say why it failed."""
        with self.lock:
            self.count[what] += 1
            took = time.monotonic() - self.start
            word = {"passed": "ok", "failed": "FAILED", "skipped": "skip"}[what]
            print(f"[{sum(self.count.values()):4d} {took:5.0f}s] {word:6s} {name}"
                  + (f" ({why})" if why else ""))
            if what == "failed":
                self.failures.append((name + (f" ({why})" if why else ""), details))
                for line in details:
                    print(f"               {line}")
            sys.stdout.flush()

    def say(self, text):
        with self.lock:
            print(f"test: {text}")
            sys.stdout.flush()


class Held:
    """Results of a guest that may have to be started again, until it is known."""

    def __init__(self, report):
        self.report, self.say, self.held = report, report.say, []

    def add(self, *args, **kw):
        self.held.append((args, kw))

    def failed_by_itself(self, guest):
        """Is there a failure besides those that the end of the guest made?"""
        return any(what == "failed" and name != guest and "the guest ended" not in "".join(why[:1])
                   for (what, name, *why), _ in self.held)

    def release(self):
        for args, kw in self.held:
            self.report.add(*args, **kw)


def wanted(name):
    pattern = os.environ.get("TESTS")
    return not pattern or pattern in name or fnmatch.fnmatchcase(name, pattern)


class Ktap:
    """One program's KTAP lines, as they come."""

    def __init__(self, report, prefix):
        self.report, self.prefix = report, prefix
        self.plan, self.seen, self.failed = None, 0, 0
        self.notes = []
        self.at = "its start"	# the case that runs, or where that is not known the last one

    def line(self, text):
        m = re.match(r"1\.\.(\d+)(.*)", text)
        if m and self.plan is None:
            self.plan = int(m[1])
            skip = re.search(r"#\s*SKIP\s*(.*)", m[2])
            if skip:
                self.report.add("skipped", self.prefix, skip[1])
            return
        m = RESULT.match(text)
        if not m:
            run = re.match(r"#\s+RUN\s+(\S+)", text)
            if run:
                self.notes, self.at = [], run[1]
            elif not re.match(r"#\s+(OK|FAIL|SKIP)\s|# (Starting|PASSED|FAILED|Totals|Bail)|TAP version|KTAP", text):
                self.notes.append(re.sub(r"^# ?", "", text))
            return
        ok, _, name, directive, why = m.groups()
        self.seen += 1
        # "bind.values_read_back" already says bind
        self.at = f"what comes after {name}"
        guest, _, prog = self.prefix.rpartition("/")
        name = f"{guest}/{name}" if name.startswith(prog + ".") else f"{self.prefix}.{name}"
        if directive == "SKIP":
            self.report.add("skipped", name, why)
        elif ok == "ok":
            self.report.add("passed", name)
        else:
            self.failed += 1
            self.report.add("failed", name, details=self.notes[-40:])
        self.notes = []

    def end(self, status):
        """The program ended: has everything that was announced been reported?"""
        if self.plan is None:
            self.report.add("failed", self.prefix, f"{status}: no test plan", self.notes[-40:])
        elif self.seen < self.plan:
            self.report.add("failed", self.prefix,
                            f"{status}: {self.plan - self.seen} of {self.plan} tests did not report",
                            self.notes[-40:])
        elif status.startswith("not ok") and not self.failed:
            self.report.add("failed", self.prefix, f"{status}, though each test passed",
                            self.notes[-40:])


def old_qemu(log):
    """Was it one with the defect below, and with a thread for each CPU?"""
    with open(log.removesuffix("console") + "err", errors="replace") as f:
        multi = "accel tcg,thread=multi" in f.read()
    said = subprocess.run(["qemu-system-x86_64", "--version"], stdout=subprocess.PIPE, text=True).stdout
    m = re.search(r"version (\d+)\.(\d+)", said)
    return multi and bool(m) and (int(m[1]), int(m[2])) < (8, 1)


def ran_stale_code(log):
    """Did a CPU stop at a breakpoint where memory has none?

    A defect of QEMU before 8.1 with thread=multi, seen with the unpatched base kernel,
    too: a CPU that translates code while another one patches it (a static key) can keep
    the int3 of the patching for good. Where the kernel shows the code of the trap, the
    byte before RIP is then not an int3 (cc), and the kernel is not at fault.
    """
    if not os.path.exists(log):
        return False
    with open(log, errors="replace") as f:
        m = re.search(r"Oops: int3:.*?Code: [0-9a-f ]*?([0-9a-f]{2}) <", f.read(), re.S)
    return bool(m) and m[1] != "cc"


def run_guest(report, kernel, name, guest, tests):
    """Run a guest's tests, again if the emulator failed, which is said and not a result."""
    if guest.get("thread") != "multi":
        return boot_guest(report, kernel, name, guest, tests)
    for left in 2, 1, 0:
        held = Held(report)
        log = boot_guest(held, kernel, name, guest, tests)
        if not (left and old_qemu(log) and ran_stale_code(log)) or held.failed_by_itself(f"{name}/guest"):
            break
        for suffix in "console", "ktap", "err":
            path = f"{BUILD}/logs/test-{kernel}-{name}.{suffix}"
            if os.path.exists(path):
                os.replace(path, f"{path}.stale-code-{left}")
        report.say(f"guest {name}: QEMU ran code that was no longer in memory (int3): "
                   f"all of its tests again; the console is in {log}.stale-code-{left}")
    held.release()
    return log


def boot_guest(report, kernel, name, guest, tests):
    """Boot one guest and report what its tests say."""
    logs = f"{BUILD}/logs"
    log, err = f"{logs}/test-{kernel}-{name}.console", f"{logs}/test-{kernel}-{name}.err"
    for old in (log, err):
        if os.path.exists(old):
            os.unlink(old)
    limit = os.environ.get("TEST_TIMEOUT") or str(TIMEOUT[kernel])
    # What the kernel does not know is in the environment of the guest's first program.
    append = guest["append"] + (" SSW_HIBERNATE=1" if os.environ.get("SSW_HIBERNATE") == "1" else "")
    args = [f"{ROOT}/scripts/guest/boot.py", "--kernel", kernel, "--cpus", str(guest["cpus"]),
            "--nodes", str(guest["nodes"]),
            "--mem", str(guest.get("mem") or (1024 if kernel == "debug" else 512)),
            "--nvme", "4", "--nvme-size", "1024" if guest["cpus"] > 16 else "512", "--log", log,
            "--timeout", limit, "--progress", PROGRESS, "--append", append]
    if "thread" in guest:
        args += ["--thread", guest["thread"]]
    # Images of drives that scripts/guest/boot.py does not make; next to its own, and removed with it
    files = tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-", dir=f"{BUILD}/run")
    for file in guest.get("files", ()):
        with open(f"{files.name}/{file}", "wb") as f:
            f.truncate(256 << 20)
    if "qemu" in guest:
        args += ["--qemu", guest["qemu"].format(dir=files.name)]
    args += [f"{SELFTESTS}/run-in-guest.sh", *tests]
    report.say(f"guest {name}: {guest['cpus']} CPUs, {guest['nodes']} node(s), "
               f"'{append}': {' '.join(tests)}")
    with open(err, "w") as errors:
        boot = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=errors, text=True,
                                errors="replace", stdin=subprocess.DEVNULL)
        RUNNING.append(boot)
        if STOPPED.is_set():
            boot.terminate()
        current, done, raw = None, set(), []
        for line in boot.stdout:
            line = line.rstrip("\n")
            raw.append(line)
            m = re.match(r"# selftests: scaleswap: (\S+)", line)
            if m:
                current = Ktap(report, f"{name}/{m[1].removesuffix('.sh')}")
                current.name = m[1]
                continue
            m = re.match(r"((?:not )?ok \d+) selftests: scaleswap: (\S+)(.*)", line)
            if m and current:
                done.add(m[2])
                exit_status = re.search(r"exit=\d+", m[3])
                current.end(m[1] + (f" {exit_status[0]}" if exit_status else ""))
                current = None
            elif current and line.startswith("# "):
                current.line(line[2:])
        status = boot.wait()
    files.cleanup()
    with open(f"{logs}/test-{kernel}-{name}.ktap", "w") as f:
        f.write("\n".join(raw) + "\n")
    with open(err, errors="replace") as f:
        said = [l.rstrip() for l in f]
    RUNNING.remove(boot)
    if current:
        current.end(f"the guest ended in the middle of {current.at}")
        done.add(current.name)
    missing = [t for t in dict.fromkeys(t.split(":")[0] for t in tests) if t not in done]
    if status not in (0, 1):
        why = {97: "kernel splat", 98: f"hung: no result for {limit} s of its own time",
               99: "the guest ended without a report"}.get(status, f"scripts/guest/boot.py: status {status}")
        why = "stopped from outside" if STOPPED.is_set() else why
        report.add("failed", f"{name}/guest", why, said[-60:])
    elif missing:
        report.add("failed", f"{name}/guest", "tests that never ran: " + " ".join(missing), said[-20:])
    accel = re.search(r"accel (\S+)", "\n".join(said))
    report.say(f"guest {name} ended: {accel[1] if accel else 'accelerator unknown'}, console in {log}")
    return log


def report_kunit(report, log):
    """The scaleswap* suites in a kernel console, which KUnit ran at boot."""
    suites, suite, notes, plan, seen = 0, None, [], None, 0
    with open(log, errors="replace") as f:
        for line in f:
            line = re.sub(r"^(<\d+>)?\[\s*\d+\.\d+\] ?", "", line.rstrip("\r\n"))
            m = re.match(r"    # Subtest: (\S+)", line)
            if m:
                suite = m[1] if m[1].startswith("scaleswap") else None
                suites += bool(suite)
                notes, plan, seen = [], None, 0
                continue
            if not suite:
                continue
            m = re.match(r"    1\.\.(\d+)", line)
            if m:
                plan = int(m[1])
                continue
            if re.match(r"(not ok|ok) \d+ ", line):
                if plan is not None and seen < plan:
                    report.add("failed", f"kunit/{suite}", f"{plan - seen} cases did not report")
                suite = None
                continue
            m = RESULT.match(line[4:]) if line.startswith("    ") and line[4:5] in "on" else None
            if not m:
                notes.append(line.strip())
                continue
            ok, _, name, directive, why = m.groups()
            seen += 1
            if directive == "SKIP":
                report.add("skipped", f"kunit/{suite}.{name}", why)
            elif ok == "ok":
                report.add("passed", f"kunit/{suite}.{name}")
            else:
                report.add("failed", f"kunit/{suite}.{name}", details=notes[-30:])
            notes = []
    if suite:
        report.add("failed", f"kunit/{suite}", "the suite did not end")
    if not suites:
        report.add("failed", "kunit", f"no suite scaleswap* ran: see {log}")


def run_unittests(report, what, tests, kernel):
    """The unit tests in a directory, on this machine."""
    if not os.path.isdir(tests):
        report.add("failed", what, f"{tests} does not exist")
        return
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", SSW_KERNEL=kernel)
    r = subprocess.run([sys.executable, "-m", "unittest", "discover", "-v", "-s", os.path.basename(tests)],
                       cwd=os.path.dirname(tests), env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seen = 0
    # "test_x (tests.test_y.Z.test_x)", perhaps its docstring on a line, "... ok"
    for m in re.finditer(r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*?)?? \.\.\.(?:.*\n)??.*?(ok|FAIL|ERROR|skipped '?(.*?)'?|expected failure)$",
                         r.stdout, re.M):
        seen += 1
        cls = m[2].split(".")
        cls = cls[-2] if cls[-1] == m[1] and len(cls) > 1 else cls[-1]
        name = f"{what}/{cls}.{m[1]}"
        if m[3].startswith("skipped"):
            report.add("skipped", name, m[4])
        elif m[3] in ("FAIL", "ERROR"):
            part = re.search(r"={60,}\n%s: %s .*?(?=\n={60,}|\n-{60,}\nRan)" % (m[3], m[1]), r.stdout, re.S)
            report.add("failed", name, details=(part[0] if part else r.stdout).splitlines()[-40:])
        else:
            report.add("passed", name)
    ran = re.search(r"^Ran (\d+) tests?", r.stdout, re.M)
    if not ran or int(ran[1]) == 0 or r.returncode and not re.search(r"^FAILED", r.stdout, re.M):
        report.add("failed", what, "the tests did not run", r.stdout.splitlines()[-20:])
    elif int(ran[1]) != seen:
        # Its form of output changed: the total still counts.
        report.add("failed" if r.returncode else "passed", f"{what}/all-{ran[1]}",
                   f"{seen} of {ran[1]} results could be read", r.stdout.splitlines()[-30:])


def build(kernel):
    for step in (["deps.sh"], ["tree.py"], ["kernel.sh", kernel],
                 ["initramfs.sh", "base", "python", "stress-ng", "tool", "selftests"]):
        print(f"test: scripts/build/{' '.join(step)}", flush=True)
        r = subprocess.run([f"{ROOT}/scripts/build/{step[0]}", *step[1:]], stdin=subprocess.DEVNULL)
        if r.returncode:
            print(f"test: ERROR: scripts/build/{' '.join(step)} failed (status {r.returncode})", file=sys.stderr)
            return False
    return True


def select(name, guest):
    """The programs of a guest that TESTS asks for; `prog:case` narrows a C test down."""
    pattern = os.environ.get("TESTS") or ""
    progs = guest["tests"].split()
    if guest.get("only") and not pattern.startswith(name):
        return []
    if not pattern:
        return progs
    chosen = []
    for p in progs:
        stem = p.replace(".sh", "").replace(":", ".")
        source = f"{SELFTESTS}/{stem}.c"
        if wanted(f"{name}/{stem}"):
            chosen.append(p)
        elif p in ("workload.sh", "stress.sh"):
            with open(f"{SELFTESTS}/{p}") as f:
                cases = re.search(r'^TESTS="(.*?)"', f.read(), re.M | re.S)[1].split()
            chosen += [f"{p}:{c}" for c in cases if wanted(f"{name}/{stem}.{c}")]
        elif os.path.exists(source):
            with open(source) as f:
                cases = re.findall(r"^SSW_(?:TEST_F|BODY)\(%s, (\w+)\)" % re.escape(stem), f.read(), re.M)
            chosen += [f"{stem}:{c}" for c in cases if wanted(f"{name}/{stem}.{c}")]
    return chosen


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in TIMEOUT:
        print(__doc__, file=sys.stderr)
        return 2
    kernel = sys.argv[1]
    if not build(kernel):
        print("0 passed, 1 failed, 0 skipped")
        return 1
    for name in ("logs", "run"):
        os.makedirs(f"{BUILD}/{name}", exist_ok=True)
    report = Report()
    if wanted("tool/"):
        run_unittests(report, "tool", f"{ROOT}/tools/mm/scaleswap/tests", kernel)
    if wanted("bench/"):
        run_unittests(report, "bench", f"{ROOT}/bench/tests", kernel)

    guests = GUESTS
    if kernel == "debug":
        guests = {n: {**g, **g.get("debug", {})} for n, g in GUESTS.items()
                  if g.get("debug", {}) is not None}
    # The longest first, so that the last one to end is a short one.
    todo = [(n, g, t) for n, g in guests.items() if (t := select(n, g))]
    if wanted("kunit/") and not todo:
        todo = [("wide", GUESTS["wide"], ["param.sh"])]
    long = ("load", "areas", "users", "fault", "stress8", "wide", "smp")
    todo.sort(key=lambda x: x[0] not in long)
    # They boot guests themselves. When guests are cut off does not depend on the kernel; and the debug
    # kernel has another clock of instructions.
    todo += [(name, None, []) for name in BOOTING if wanted(f"{name}/") and kernel == "test"]
    logs, lock = [], threading.Lock()

    def worker():
        while True:
            with lock:
                if not todo:
                    return
                name, guest, tests = todo.pop(0)
            if STOPPED.is_set():
                report.add("failed", f"{name}/guest", "never began: stopped from outside")
                continue
            try:
                if not guest:
                    run_unittests(report, name, BOOTING[name], kernel)
                    continue
                logs.append((name, run_guest(report, kernel, name, guest, tests)))
            except Exception as e:  # a bug here must not look like success
                report.add("failed", f"{name}/guest", f"scripts/test/run.py: {e!r}")

    def stop(*_):
        STOPPED.set()
        for boot in list(RUNNING):
            boot.terminate()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    jobs = int(os.environ.get("TEST_JOBS") or min(2, os.cpu_count() or 1))
    threads = [threading.Thread(target=worker, daemon=True) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if wanted("kunit/"):
        # They run at every boot alike: one console will do, that of the guest with the
        # most CPUs, since some want several.
        whole = [(GUESTS[n]["cpus"], log) for n, log in logs if os.path.exists(log)]
        if whole:
            report_kunit(report, max(whole)[1])
        else:
            report.add("failed", "kunit", "no guest left a console")

    if report.failures:
        # Once more, since of a long output perhaps only the end is kept
        print("\nFailed:")
        for name, details in report.failures:
            print(f"  {name}")
            for line in details[-12:]:
                print(f"               {line}")
    c = report.count
    print(f"\n{kernel}: {time.monotonic() - report.start:.0f} s after the build; "
          f"KTAP, consoles and errors of the guests are in {BUILD}/logs/test-{kernel}-*")
    if not sum(c.values()):
        print(f"test: ERROR: TESTS={os.environ.get('TESTS')} selects nothing", file=sys.stderr)
        c["failed"] = 1
    print(f"{c['passed']} passed, {c['failed']} failed, {c['skipped']} skipped")
    return 1 if c["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
