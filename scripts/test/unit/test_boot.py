# SPDX-License-Identifier: GPL-2.0
"""scripts/guest/boot.py ends a guest that makes no progress, and no other, however busy the host is.

The guests boot the kernel that SSW_KERNEL names (default: test). `make test` runs this.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/scripts/guest")
import boot  # noqa: E402

KERNEL = f"{boot.BUILD}/out/{os.environ.get('SSW_KERNEL', 'test')}/arch/x86/boot/bzImage"
HUNG = 98
# Nothing in such a guest runs any more but interrupts: its one CPU is taken for good.
TAKE_CPU = "echo -1 >/proc/sys/kernel/sched_rt_runtime_us\nexec chrt -f 99 sh -c 'while :; do :; done'"
SPIN = "while [ $((EPOCHSECONDS - t)) -lt %d ]; do :; done"
BUSY = 5	# endless loops beside a guest


class Run:
    """One guest, with all that it printed."""

    def __init__(self, script, *options, cpu=None, beside=0):
        """Run `script`. With `cpu`, on this CPU of the host alone; and `beside` endless loops
        on it, too, from the guest's first line on."""
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
            f.write(script)
            f.flush()
            pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
            p = subprocess.Popen([f"{ROOT}/scripts/guest/boot.py", "--kernel", KERNEL, "--cpus", "1", "--mem", "256",
                                  "--minimal", "--accel", "tcg", *options, f.name],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, preexec_fn=pin)
            err = []
            reader = threading.Thread(target=lambda: err.append(p.stderr.read()))
            reader.start()
            self.out, loops = p.stdout.readline(), []
            try:
                for _ in range(beside):
                    loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=pin))
                self.out += p.stdout.read()
                self.status = p.wait()
            finally:
                for l in loops:
                    l.kill()
                    l.wait()
            reader.join()
            p.stdout.close()
            p.stderr.close()
            self.err = err[0]
        m = re.search(r"own time (\d+) s of (\d+) s", self.err)
        self.own, self.took = (int(m[1]), int(m[2])) if m else (None, None)


class Cutoff(unittest.TestCase):
    """Guests, all at the same time, as most of them only wait."""

    RUNS = {
        "hangs_with_output": lambda: Run("echo ok 1\nwhile :; do echo note; sleep 0.2; done",
                                         "--timeout", "10", "--progress", "^ok"),
        "hangs_asleep": lambda: Run("echo ok 1\nsleep 100000", "--timeout", "10"),
        "guest_hangs": lambda: Run(f"echo ok 1\n{TAKE_CPU}", "--timeout", "10", "--progress", "^ok"),
        # three times as long as the time-out
        "is_slow": lambda: Run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo ok $i; sleep 2; done",
                               "--timeout", "10", "--progress", "^ok"),
        "is_too_long": lambda: Run("while :; do echo ok; sleep 1; done", "--timeout", "10", "--limit", "25"),
    }

    @classmethod
    def setUpClass(cls):
        cls.run_of = {}
        threads = [threading.Thread(target=lambda n=n, f=f: cls.run_of.update({n: f()}))
                   for n, f in cls.RUNS.items()]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def hung(self, r, last):
        self.assertEqual(r.status, HUNG, r.err)
        self.assertRegex(r.err, rf"no progress for \d+ s of its own time .* after '{last}'")

    def test_hangs_with_output(self):
        r = self.run_of["hangs_with_output"]
        self.hung(r, "ok 1")
        self.assertIn("note\n", r.out)

    def test_hangs_asleep(self):
        r = self.run_of["hangs_asleep"]
        # Any line counts, and the kernel may say something later, of its clock for one.
        self.hung(r, r"(ok 1|\[ *\d+\.\d+\] .*)")
        self.assertIn("ok 1\n", r.out)

    def test_guest_hangs(self):
        self.hung(self.run_of["guest_hangs"], "ok 1")

    def test_is_slow(self):
        r = self.run_of["is_slow"]
        self.assertEqual(r.status, 0, r.err)
        self.assertEqual(len(r.out.splitlines()), 15)

    def test_is_too_long(self):
        r = self.run_of["is_too_long"]
        self.assertEqual(r.status, HUNG, r.err)
        self.assertRegex(r.err, "longer than 25 s of its own time")


class Leaves(unittest.TestCase):
    """A guest that reboots or powers off by itself ends QEMU, without a report."""

    def ends(self, command):
        r = Run(f"echo ok 1\n{command}\nsleep 5\nexit 7", "--timeout", "60")
        self.assertEqual(r.status, boot.LOST_STATUS, r.err)
        self.assertIn("without a report (QEMU status 0)", r.err)

    def test_reboot(self):
        self.ends("reboot")

    def test_reboot_at_once(self):
        self.ends("reboot -f")

    def test_poweroff(self):
        self.ends("poweroff")


class BusyHost(unittest.TestCase):
    """A guest and endless loops on one CPU of the host: it has a sixth of it."""

    def setUp(self):
        if not os.path.exists("/proc/self/schedstat"):
            self.skipTest("this host does not count how long threads wait")
        self.cpu = max(os.sched_getaffinity(0))

    def test_silent_for_long(self):
        # Silent for three times the time-out by the host's clock, which is the guest's
        r = Run(f"echo ok 1\nt=$EPOCHSECONDS\n{SPIN % 30}\necho ok 2", "--timeout", "10", cpu=self.cpu, beside=BUSY)
        self.assertEqual(r.status, 0, r.err)
        self.assertIn("ok 2", r.out)

    def test_guest_hangs(self):
        # So slow a guest may still say "hrtimer: interrupt took 18358992 ns": that is no progress
        r = Run(f"echo ok 1\n{TAKE_CPU}", "--timeout", "4", "--progress", "^ok", cpu=self.cpu, beside=BUSY)
        self.assertEqual(r.status, HUNG, r.err)
        m = re.search(r"no progress for 4 s of its own time \((\d+) s of the host's\) after 'ok 1'", r.err)
        self.assertIsNotNone(m, r.err)
        self.assertGreater(int(m[1]), 2 * 4)


class Defects(unittest.TestCase):
    """What is a splat; klog.awk leaves out two that the base is known for, and no other."""

    DYING = ["------------[ cut here ]------------", "Dying CPU not properly vacated!",
             "WARNING: CPU: 2 PID: 25 at kernel/sched/core.c:8365 sched_cpu_dying+0x66/0x190",
             "Call Trace:", " take_cpu_down+0x5c/0x80", "---[ end trace 0000000000000000 ]---"]
    OFFLINE = "smpboot: CPU 2 is now offline"
    STOPPER, OTHER = "\tpid: 25, name: migration/2", "\tpid: 31, name: ssw_deleg/2"

    def shown(self, *lines):
        return boot.defects([f"[ {i:4}.000000] {line}" for i, line in enumerate(lines)])

    def test_nothing(self):
        self.assertEqual(boot.defects([]), [])

    def test_fair_server_alone(self):
        self.assertEqual(self.shown(*self.DYING, "CPU2 enqueued tasks (2 total):", self.STOPPER,
                                    self.OFFLINE), [])

    def test_another_splat_after_it(self):
        shown = self.shown(*self.DYING, "CPU2 enqueued tasks (2 total):", self.STOPPER, self.OFFLINE,
                           "BUG: Bad page state in process", "more")
        self.assertEqual(len(shown), 2)
        self.assertIn("Bad page state", shown[0])

    def test_twice(self):
        block = (*self.DYING, "CPU2 enqueued tasks (2 total):", self.STOPPER, self.OFFLINE)
        self.assertEqual(self.shown(*block, *block), [])

    def test_a_thread_left(self):
        for tasks in ((self.STOPPER, self.OTHER), (self.OTHER, self.STOPPER), (self.OTHER,), ()):
            with self.subTest(tasks):
                shown = self.shown(*self.DYING, "CPU2 enqueued tasks (2 total):", *tasks, self.OFFLINE)
                self.assertIn("WARNING: CPU: 2", shown[0])
                self.assertIn(self.OFFLINE, shown[-1])

    def test_more_than_the_server(self):
        self.assertTrue(self.shown(*self.DYING, "CPU2 enqueued tasks (3 total):", self.STOPPER, self.OFFLINE))

    def test_stopper_of_another_cpu(self):
        self.assertTrue(self.shown(*self.DYING, "CPU1 enqueued tasks (2 total):", self.STOPPER, self.OFFLINE))

    def test_no_list(self):
        self.assertTrue(self.shown(*self.DYING, self.OFFLINE))
        self.assertTrue(self.shown(*self.DYING, *["more"] * 200, "CPU2 enqueued tasks (2 total):",
                                   self.STOPPER, self.OFFLINE))

    def test_fair_server_stopped_twice(self):
        warning = "WARNING: CPU: 1 PID: 20 at kernel/sched/deadline.c:428 task_non_contending+0x23f/0x2d0"
        end = "---[ end trace 0000000000000000 ]---"
        known = ("------------[ cut here ]------------", warning, "Call Trace:", " dl_server_stop+0x1d/0x30",
                 " sched_cpu_dying+0x12d/0x190", " take_cpu_down+0x5c/0x80", end)
        self.assertEqual(self.shown(*known, self.OFFLINE), [])
        self.assertIn("Bad page", self.shown(*known, self.OFFLINE, "BUG: Bad page state in process")[0])
        for trace in ((" dl_server_stop+0x1d/0x30", " dequeue_entities+0x5c/0x80"), (" sched_cpu_dying+0x12d/0x190",), ()):
            with self.subTest(trace):
                self.assertIn("WARNING", self.shown(warning, "Call Trace:", *trace, end, self.OFFLINE)[0])
        self.assertIn("WARNING", self.shown(*known[:-1])[0])

    def test_in_a_guest(self):
        said = ("------------[ cut here ]------------", "[ 1.000000] Dying CPU not properly vacated!",
                "[ 1.000000] WARNING: CPU: 2 PID: 25 at kernel/sched/core.c:8365 sched_cpu_dying+0x66/0x190",
                "[ 1.000000] CPU2 enqueued tasks (%d total):", "[ 1.000000] \tpid: 25, name: migration/2",
                "[ 1.000000] smpboot: CPU 2 is now offline")
        for total, status in ((2, 0), (3, 97)):
            with self.subTest(total):
                lines = [line % total if "%d" in line else line for line in said]
                # One record: nothing else that the kernel says comes between.
                r = Run("printf '<4>%s\\n' '" + "\n".join(lines) + "' >/dev/kmsg\n")
                self.assertEqual(r.status, status, r.err)
                self.assertIs("klog: left out" in r.err, total == 2)


class Splats(unittest.TestCase):
    """The tests' own view of the kernel log: ssw_splats() of the selftests, which klog.awk helps."""

    WARNING = "WARNING: CPU: 1 PID: 20 at kernel/sched/deadline.c:428 task_non_contending+0x23f/0x2d0"
    END = "---[ end trace 0000000000000000 ]---"
    KNOWN = (WARNING, "Call Trace:", " dl_server_stop+0x1d/0x30", " sched_cpu_dying+0x12d/0x190", END)

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        tests = f"{boot.ROOT}/tools/testing/selftests/scaleswap"
        with open(f"{cls.dir.name}/main.c", "w") as f:
            f.write('#include "util.h"\nint main(void) { return ssw_splats(0); }\n')
        subprocess.run(["gcc", "-Wall", "-D_GNU_SOURCE", "-pthread", f"-I{tests}", f"{cls.dir.name}/main.c",
                        f"{tests}/util.c", "-o", f"{cls.dir.name}/main"], check=True)
        shutil.copy(f"{tests}/klog.awk", cls.dir.name)

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def found(self, *lines):
        log = "".join(f"4,{7907 + i},289341{i:04},-;{line}\n" for i, line in enumerate(lines))
        r = subprocess.run([f"{self.dir.name}/main"], input=log, stdout=subprocess.PIPE, text=True)
        return r.returncode, r.stdout

    def test_nothing(self):
        self.assertEqual(self.found(), (0, ""))
        self.assertEqual(self.found("smpboot: CPU 2 is now offline"), (0, ""))

    def test_known(self):
        found, said = self.found(*self.KNOWN)
        self.assertEqual(found, 0)
        self.assertIn("left out", said)

    def test_known_and_another(self):
        found, said = self.found(*self.KNOWN, "BUG: Bad page state in process", *self.KNOWN)
        self.assertEqual(found, 1)
        self.assertIn("Bad page state", said)

    def test_not_from_there(self):
        self.assertEqual(self.found(self.WARNING, "Call Trace:", " dequeue_entities+0x5c/0x80", self.END)[0], 1)
        self.assertEqual(self.found(*self.KNOWN[:-1])[0], 1)

    def test_cannot_be_judged(self):
        os.rename(f"{self.dir.name}/klog.awk", f"{self.dir.name}/gone")
        try:
            found, said = self.found()
        finally:
            os.rename(f"{self.dir.name}/gone", f"{self.dir.name}/klog.awk")
        self.assertEqual(found, 1)
        self.assertIn("cannot be judged", said)


class OwnTime(unittest.TestCase):
    """The arithmetic, with a made-up process."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.now = 100
        self.threads(a=(5, 5), b=(0, 0))
        self.own = boot.OwnTime(7, self.dir.name, lambda: self.now)

    def tearDown(self):
        self.dir.cleanup()

    def threads(self, **times):
        for name, (ran, waited) in times.items():
            os.makedirs(f"{self.dir.name}/7/task/{name}", exist_ok=True)
            with open(f"{self.dir.name}/7/task/{name}/schedstat", "w") as f:
                f.write(f"{ran * 10**9} {waited * 10**9} 3\n")

    def after(self, seconds, **times):
        self.now += seconds
        self.threads(**times)
        return self.own.seconds()

    def test_asleep(self):
        self.assertEqual(self.after(60), 60)

    def test_ran_all_the_time(self):
        self.assertEqual(self.after(60, a=(65, 5)), 60)

    def test_waited_most_of_the_time(self):
        self.assertEqual(self.after(60, a=(15, 55)), 10)

    def test_two_waited_at_the_same_time(self):
        self.assertEqual(self.after(60, a=(25, 45), b=(20, 40)), 20)

    def test_waited_and_slept(self):
        self.assertEqual(self.after(60, a=(6, 15)), 50)

    def test_a_new_thread(self):
        self.assertEqual(self.after(60, c=(10, 50)), 10)

    def test_a_thread_ended(self):
        self.after(60, a=(15, 55))
        os.unlink(f"{self.dir.name}/7/task/a/schedstat")
        self.assertEqual(self.own.seconds(), 10)

    def test_from_the_mark_on(self):
        self.after(60, a=(15, 55))
        self.own.mark()
        self.assertEqual(self.after(8, a=(16, 60)), 3)

    def test_host_does_not_count(self):
        own = boot.OwnTime(8, self.dir.name, lambda: self.now)
        self.now += 60
        self.assertEqual(own.seconds(), 60)


if __name__ == "__main__":
    unittest.main()
