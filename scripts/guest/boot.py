#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel under QEMU, run one script in it, and return the script's exit status.

Three serial ports: the kernel's console, the script's stdout and its stderr. The guest
reports the status in a kernel message with a nonce (see scripts/guest/init), so nothing
that the script prints can be taken for it. Everything temporary lies in one directory
below $BUILD/run, which is always removed.

A guest ends early for lack of progress, not for its length: --timeout is how long it may
print no line. That time is the guest's own: the host's, less the time in which QEMU's
threads waited for one of the host's CPUs. (The guest cannot measure this: its clock, emulated
or not, is the host's.) So a busy host makes a guest slower, but ends none.

Exit status: the script's own, or
  97  the script ended, but the console shows a kernel splat (printed)
  98  no progress for --timeout seconds, or longer than --limit
  99  the guest never reported: panic, early exit, QEMU failed
  2   wrong usage, or something needed is missing
"""
import argparse
import ctypes
import math
import os
import re
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from paths import BUILD, ROOT  # noqa: E402

LAYERS = ["base", "python", "stress-ng", "tool", "selftests"]
SPLAT_STATUS, TIMEOUT_STATUS, LOST_STATUS = 97, 98, 99
PROBE_SECONDS = 10

# Only what the kernel prints counts: a script may well say "WARNING:". A time stamp
# need not begin the line, since init's output shares the console. Stack dumps alone
# (sysrq, OOM, injected faults) are no splats.
SPLAT = re.compile(r"""\[\s*\d+\.\d+\].*?(
    \bBUG:|\bBUG\ (at|in)\b|\bkernel\ BUG\b|\bWARNING:|\bOops\b|\bKASAN:|\bUBSAN:|\bKCSAN:|\bKFENCE:
    |\bgeneral\ protection|\bstack\ segment:|\bdouble\ fault|\bKernel\ panic
    |\b[Uu]nable\ to\ handle\ (kernel|page\ fault)|\binvalid\ opcode:
    |\bsoft\ lockup|\bhard\ LOCKUP|\bdetected\ (expedited\ )?stalls?|\bself-detected\ stall
    |\brcu_\w+\ kthread\ (starved|timer)|blocked\ for\ more\ than\ \d+\ seconds
    |\bDEBUG_LOCKS_WARN_ON|\btrying\ to\ register\ non-static\ key|\bturning\ off\ the\ locking\ correctness
    |\bMAX_LOCKDEP_\w+\ too\ low|\bMAX_STACK_TRACE_ENTRIES\ too\ low
    |\bpossible\ (recursive|circular|irq)|\binconsistent\ lock\ state|\bsuspicious\ RCU
    |\bsleeping\ function\ called|\bscheduling\ while\ atomic|\bODEBUG:|\brefcount_t:
    |\blist_(add|del)\ corruption|\bBad\ (page|rss)|\b(Bad|Unused)\ swap\ (file|offset)|\bbad\ swap\ entry
    |\bmemory\ leak)""", re.X)


def defects(console):
    """The first splat in `console`, with up to 39 lines behind it, or [] if there is none.

    A warning that klog.awk knows as the base's does not count; how often it came is printed.
    `console` begins with the line before its first splat, by which klog.awk tells them apart."""
    if not console:
        return []
    text = subprocess.run(["awk", "-f", f"{ROOT}/tools/testing/selftests/scaleswap/klog.awk"],
                          input="\n".join(console) + "\n", stdout=subprocess.PIPE, text=True,
                          check=True).stdout.splitlines()
    known = [line for line in text if line.startswith("klog: ")]
    if known:
        say(f"{known[0]}, {len(known)} times")
    first = next((i for i, line in enumerate(text) if SPLAT.search(line)), None)
    return text[first:first + 40] if first is not None else []


def host_tsc_khz():
    """What the TSC of an x86 host counts in a millisecond; None if not to be known."""
    try:
        with open("/proc/cpuinfo") as f:
            m = re.search(r"^cpu MHz\s*:\s*(\d+)\.(\d{3})", f.read(), re.M)
    except OSError:
        return None
    # The core's speed, which is the TSC's only where it does not change.
    return int(m[1] + m[2]) if m and not os.path.exists("/sys/devices/system/cpu/cpufreq/policy0") else None


def say(text):
    print(f"boot: {text}", file=sys.stderr, flush=True)


def die(text, status=2):
    print(f"boot: ERROR: {text}", file=sys.stderr, flush=True)
    sys.exit(status)


def options(argv):
    ap = argparse.ArgumentParser(
        prog="scripts/guest/boot.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__)
    ap.add_argument("--kernel", required=True, metavar="NAME|BZIMAGE",
                    help="a kernel built by scripts/build/kernel.sh, or a bzImage")
    ap.add_argument("--cpus", type=int, default=4, metavar="N")
    ap.add_argument("--maxcpus", type=int, metavar="M",
                    help="CPUs in all; those above --cpus are offline at first (default: --cpus)")
    ap.add_argument("--mem", type=int, default=512, metavar="MB")
    ap.add_argument("--nvme", type=int, default=0, metavar="K", help="number of NVMe drives")
    ap.add_argument("--nvme-size", type=int, default=1024, metavar="MB")
    ap.add_argument("--nodes", type=int, default=1, metavar="N",
                    help="NUMA nodes; CPUs and drives in blocks, distance 10 a step")
    ap.add_argument("--append", action="append", default=[], metavar="STR",
                    help="more kernel parameters")
    ap.add_argument("--timeout", type=float, default=180, metavar="S",
                    help="end a guest that prints no line for S seconds of its own time")
    ap.add_argument("--progress", type=re.compile, metavar="REGEX",
                    help="once the script has printed something, only lines of its stdout that "
                    "match count as progress (default: each line of any output)")
    ap.add_argument("--limit", type=float, default=math.inf, metavar="S",
                    help="end a guest after S seconds of its own time in any case (default: never)")
    ap.add_argument("--accel", choices=["auto", "kvm", "tcg"],
                    default=os.environ.get("SSW_ACCEL", "auto"))
    ap.add_argument("--emulator", default="qemu-system-x86_64", metavar="QEMU",
                    help="another one than the installed QEMU, such as that of scripts/build/qemu.sh")
    ap.add_argument("--thread", choices=["single", "multi"],
                    help="TCG: one host thread for all CPUs, or one each (default: single; "
                    "multi starves guests of more than 2 CPUs)")
    ap.add_argument("--add", action="append", default=[], metavar="FILE:/PATH",
                    help="put a file or a directory into the guest")
    ap.add_argument("--with", action="append", default=[], dest="with_", metavar="LAYER",
                    help="more of scripts/build/initramfs.sh, such as fio (85 MB of guest memory)")
    ap.add_argument("--minimal", action="store_true",
                    help="no python, stress-ng, tool: saves 45 MB of guest memory")
    ap.add_argument("--initramfs", metavar="FILE", help="instead of scripts/build/initramfs.sh's layers")
    ap.add_argument("--qemu", action="append", default=[], metavar="ARGS", help="more QEMU arguments")
    ap.add_argument("--log", metavar="FILE", help="the kernel console")
    ap.add_argument("--out", metavar="FILE", help="a copy of the script's stdout")
    ap.add_argument("script", metavar="SCRIPT")
    ap.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS")
    o = ap.parse_args(argv)
    o.maxcpus = o.maxcpus or o.cpus
    if not 1 <= o.cpus <= o.maxcpus <= 255:
        die(f"--cpus {o.cpus} --maxcpus {o.maxcpus}: must be 1 to 255, and maxcpus not below cpus")
    if not 1 <= o.nodes <= min(8, o.cpus) or o.mem % o.nodes:
        die(f"--nodes {o.nodes}: must be 1 to 8, at most --cpus, and divide --mem evenly")
    if o.mem < 64 or o.nvme < 0 or o.nvme > 24 or o.nvme_size < 1 or o.timeout <= 0 or o.limit <= 0:
        die("--mem must be at least 64, --nvme 0 to 24, --nvme-size, --timeout and --limit above 0")
    if not os.path.isfile(o.script):
        die(f"script {o.script} does not exist")
    return o


def kernel_image(name):
    if "/" in name or os.path.isfile(name):
        image, hint = name, ""
    else:
        image = f"{BUILD}/out/{name}/arch/x86/boot/bzImage"
        hint = f"; build it with 'scripts/build/kernel.sh {name}'"
    if not os.path.isfile(image):
        die(f"kernel {image} does not exist{hint}")
    return image


# --- the root file system ---------------------------------------------------------

def cpio_entry(f, path, mode, data=b"", ino=[1]):
    """One file in newc form; `data` is bytes."""
    name = path.lstrip("/").encode() + b"\0"
    ino[0] += 1
    f.write(b"070701" + b"".join(b"%08X" % v for v in (
        ino[0], mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)))
    f.write(name + b"\0" * (-(110 + len(name)) % 4) + data + b"\0" * (-len(data) % 4))


def cpio_add(f, source, dest, seen):
    """`source` of the host as `dest` in the guest, with the directories above it."""
    above = os.path.dirname(dest.rstrip("/")).strip("/")
    for i in range(len(above.split("/")) if above else 0):
        d = "/".join(above.split("/")[:i + 1])
        # the merged /usr: an archive must not replace these links by directories
        if d not in seen and d not in ("bin", "sbin", "lib", "lib64"):
            cpio_entry(f, d, stat.S_IFDIR | 0o755)
        seen.add(d)
    if os.path.isdir(source):
        cpio_entry(f, dest, stat.S_IFDIR | 0o755)
        for name in sorted(os.listdir(source)):
            cpio_add(f, os.path.join(source, name), dest.rstrip("/") + "/" + name, seen)
    else:
        with open(source, "rb") as s:
            cpio_entry(f, dest, stat.S_IFREG | (os.stat(source).st_mode & 0o777), s.read())


def make_initrd(o, path, nonce):
    """All layers, then what is for this run only."""
    if o.initramfs:
        parts = [o.initramfs]
    else:
        layers = (["base", "selftests"] if o.minimal else LAYERS) + o.with_
        r = subprocess.run([f"{ROOT}/scripts/build/initramfs.sh", *layers], stdout=sys.stderr)
        if r.returncode:
            die("the guest's root file system could not be built")
        parts = [f"{BUILD}/initramfs/{l}.cpio" for l in layers]
    with open(path, "wb") as f:
        for p in parts:
            with open(p, "rb") as part:
                shutil.copyfileobj(part, f)
            f.write(b"\0" * (-f.tell() % 4))
        cpio_entry(f, "ssw", stat.S_IFDIR | 0o755)
        cpio_entry(f, "ssw/nonce", stat.S_IFREG | 0o644, nonce.encode() + b"\n")
        with open(o.script, "rb") as s:
            # under its own name, which it may use in messages
            name = "/ssw/script/" + os.path.basename(o.script)
            cpio_entry(f, "ssw/script", stat.S_IFDIR | 0o755)
            cpio_entry(f, name, stat.S_IFREG | 0o755, s.read())
        words = " ".join(shlex.quote(w) for w in [name, *o.args])
        # a shell starts it, so that a script without #! runs too
        cpio_entry(f, "ssw/run", stat.S_IFREG | 0o755, f"#!/bin/bash\n{words}\n".encode())
        seen = set()
        for add in o.add:
            source, sep, dest = add.rpartition(":")
            if not sep or not dest.startswith("/"):
                die(f"--add {add}: must be FILE:/path/in/guest")
            if not os.path.exists(source):
                die(f"--add {add}: {source} does not exist")
            cpio_add(f, source, dest, seen)
        cpio_entry(f, "TRAILER!!!", 0)


# --- QEMU -------------------------------------------------------------------------

def shares(n, parts):
    """[0, n) in `parts` blocks as even as can be, as (first, last)."""
    edges = [n * i // parts for i in range(parts + 1)]
    return [(edges[i], edges[i + 1] - 1) for i in range(parts)]


def fence_args(o, accel):
    """QEMU before 8.1 drops the guest's barriers with one thread for all CPUs, but devices
    have a thread of their own; see scripts/guest/fence.c. Instructions are counted without."""
    if accel != "tcg,thread=single" or any("icount" in q for q in o.qemu):
        return []
    version = subprocess.run([o.emulator, "--version"], stdout=subprocess.PIPE, text=True).stdout
    m = re.search(r"version (\d+)\.(\d+)", version)
    if not m or (int(m[1]), int(m[2])) >= (8, 1):
        return []
    source, plugin = f"{ROOT}/scripts/guest/fence.c", f"{BUILD}/run/fence.so"
    if not os.path.exists(plugin) or os.stat(plugin).st_mtime < os.stat(source).st_mtime:
        new = f"{plugin}.{os.getpid()}"
        os.makedirs(f"{BUILD}/run", exist_ok=True)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", new, source], check=True)
        os.rename(new, plugin)
    return ["-plugin", plugin]


def qemu_args(o, accel, tmp, image, fds):
    kvm = accel == "kvm"
    a = [o.emulator, "-nodefaults", "-no-user-config", "-display", "none",
         "-no-reboot", "-machine", "q35,usb=off,vmport=off,smm=off",
         "-accel", accel, "-cpu", "host" if kvm else "max", "-m", str(o.mem)]
    smp = f"cpus={o.maxcpus}"
    # one socket a node where that works out: a socket across nodes makes Linux complain
    smp += (f",sockets={o.nodes},cores={o.maxcpus // o.nodes},threads=1"
            if o.maxcpus % o.nodes == 0 else f",sockets={o.maxcpus},cores=1,threads=1")
    a += ["-smp", smp]
    if o.nodes > 1:
        for n, (first, last) in enumerate(shares(o.maxcpus, o.nodes)):
            a += ["-object", f"memory-backend-ram,id=m{n},size={o.mem // o.nodes}M",
                  "-numa", f"node,nodeid={n},cpus={first}-{last},memdev=m{n}"]
        for i in range(o.nodes):
            for j in range(i):
                a += ["-numa", f"dist,src={i},dst={j},val={10 + 10 * (i - j)}"]
        # a host bridge a node, so that a drive knows where it is
        for n in range(o.nodes if o.nvme else 0):
            a += ["-device", f"pxb-pcie,id=pxb{n},bus=pcie.0,bus_nr={64 + 16 * n},numa_node={n}"]
    for i in range(o.nvme):
        drive = f"{tmp}/nvme{i}.raw"
        with open(drive, "wb") as f:
            f.truncate(o.nvme_size << 20)
        bus = ""
        if o.nodes > 1:
            a += ["-device", f"pcie-root-port,id=rp{i},bus=pxb{i * o.nodes // o.nvme},chassis={i + 1},slot={i}"]
            bus = f",bus=rp{i}"
        # a queue for every CPU, the poll queues, and another for every CPU: swap's own
        queues = 2 * o.maxcpus + 4
        a += ["-drive", f"if=none,id=d{i},file={drive},format=raw,cache=unsafe,discard=unmap",
              "-device", f"nvme,id=n{i},serial=ssw{i},drive=d{i},max_ioqpairs={queues},"
              f"msix_qsize={queues + 1}{bus}"]
    for name, fd in zip(("con", "out", "err"), fds):
        a += ["-chardev", f"file,id={name},path=/dev/fd/{fd},append=on"]
    a += ["-serial", "chardev:con", "-serial", "chardev:out",
          # COM3 shares COM1's interrupt by convention, which ISA cannot do
          "-device", "isa-serial,index=2,iobase=0x3e8,irq=5,chardev=err"]
    append = ["console=ttyS0,115200", "panic=-1", "rdinit=/init",
              # pages of a ramfs root stay in memory; tmpfs would be swapped out with the rest
              "rootfstype=ramfs", "printk.devkmsg=on", "random.trust_cpu=on",
              "nvme.poll_queues=1", "null_blk.nr_devices=0"]
    if accel == "tcg,thread=multi" and o.cpus > 1:
        # QEMU before 8.1 may run what was in memory before another CPU patched it, which
        # the kernel does as it boots (sched_clock_init_late()). So it boots with one CPU,
        # and init has the others come.
        append += ["maxcpus=1", f"ssw_cpus={o.cpus}"]
    elif o.maxcpus > o.cpus:
        append += [f"maxcpus={o.cpus}"]
    if not kvm:
        # emulated CPUs read one clock: the check finds nothing but a busy host
        append += ["tsc=reliable", "no_timer_check"]
        # Nor may the guest measure its speed: on a busy host it once found 306 MHz
        # for 2596, and its clock ran eight times too fast. With -icount it is right.
        khz = host_tsc_khz()
        if khz and not any("icount" in q for q in o.qemu):
            append += [f"tsc_early_khz={khz}"]
    a += ["-kernel", image, "-initrd", f"{tmp}/initrd", "-append", " ".join(append + o.append)]
    a += fence_args(o, accel)
    for q in o.qemu:
        a += shlex.split(q)
    return a


class OwnTime:
    """How long a process ran or slept, since the last mark: the host's time, less the time in
    which its threads waited for a CPU.

    Two threads may wait at the same time, so all waits together can be longer than the time
    that went by. But the process was not slower than its busiest thread ran.
    """

    def __init__(self, pid, proc="/proc", clock=time.monotonic):
        self.tasks, self.clock, self.seen = f"{proc}/{pid}/task", clock, {}
        self.mark()

    def read(self):
        """Read (ran, waited) in ns of each thread; those that ended keep their last values."""
        try:
            tids = os.listdir(self.tasks)
        except OSError:
            tids = []
        for tid in tids:
            try:
                with open(f"{self.tasks}/{tid}/schedstat") as f:
                    self.seen[tid] = tuple(map(int, f.read().split()[:2]))
            except OSError:
                # It ended just now; or the host's kernel does not count (CONFIG_SCHED_INFO),
                # and then the host's time is all that is known
                pass

    def mark(self):
        self.read()
        self.then, self.start = dict(self.seen), self.clock()

    def seconds(self):
        self.read()
        ran = waited = 0
        for tid, (r, w) in self.seen.items():
            r0, w0 = self.then.get(tid, (0, 0))
            ran, waited = max(ran, r - r0), waited + w - w0
        return max(self.clock() - self.start - waited / 1e9, ran / 1e9)


class Guest:
    """One run of QEMU with its three outputs."""

    def __init__(self, o, accel, image, quiet=False):
        self.nonce = secrets.token_hex(8)
        self.status, self.splats, self.tail = None, [], []
        self.quiet, self.late = quiet, ""
        self.done = threading.Event()
        # Progress, which the readers note: that there was some, the last line, how to know it
        self.moved, self.last, self.progress, self.began = False, "", o.progress, False
        self.own = self.silent = 0
        self.log = open(o.log, "wb") if o.log and not quiet else None
        self.out = open(o.out, "wb") if o.out and not quiet else None
        os.makedirs(f"{BUILD}/run", exist_ok=True)
        self.tmp = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=f"{BUILD}/run")
        try:
            self.run(o, accel, image)
        finally:
            shutil.rmtree(self.tmp, ignore_errors=True)
            for f in (self.log, self.out):
                if f:
                    f.close()

    def run(self, o, accel, image):
        make_initrd(o, f"{self.tmp}/initrd", self.nonce)
        pipes = [os.pipe() for _ in range(3)]
        args = qemu_args(o, accel, self.tmp, image, [w for _, w in pipes])
        libc = ctypes.CDLL(None)
        # QEMU dies with us, however we end
        qemu = subprocess.Popen(args, stdin=subprocess.DEVNULL, pass_fds=[w for _, w in pipes],
                                preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),
                                stdout=sys.stderr, stderr=None if not self.quiet else subprocess.DEVNULL)
        for _, w in pipes:
            os.close(w)
        readers = [threading.Thread(target=f, args=(r,), daemon=True) for f, (r, _) in
                   zip((self.read_console, self.read_out, self.read_err), pipes)]
        try:
            for t in readers:
                t.start()
            # ended, reported or late, whichever is first
            time_of = OwnTime(qemu.pid)
            look = start = since = time.monotonic()
            while qemu.poll() is None and not self.late and not self.done.wait(0.05):
                now = time.monotonic()
                if now < look:
                    continue
                look, took = now + 0.5, time_of.seconds()
                self.silent = max(self.silent, took)
                if self.own + took > o.limit:
                    self.late = f"longer than {o.limit:g} s of its own time ({now - start:.0f} s of the host's)"
                elif self.moved:
                    self.moved, since = False, now
                    self.own += took
                    time_of.mark()
                elif took > o.timeout:
                    self.late = (f"no progress for {o.timeout:g} s of its own time ({now - since:.0f} s "
                                 f"of the host's) after {self.last!r}")
            self.own += time_of.seconds()
            if self.done.is_set():
                # it powers off by itself; if that hangs, the report counts all the same
                try:
                    qemu.wait(10)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            qemu.kill()
            qemu.wait()
            for t in readers:
                t.join(10)
        self.qemu_status = qemu.returncode

    def read_console(self, fd):
        mark = re.compile(r"ssw-status %s (\d+)" % self.nonce)
        rest = b""
        while True:
            data = os.read(fd, 65536)
            if self.log:
                self.log.write(data)
                self.log.flush()
            *lines, rest = (rest + data).split(b"\n")
            if not data and rest:
                lines.append(rest)
            for line in lines:
                text = line.decode(errors="replace").rstrip("\r")
                self.note(text)
                self.tail = self.tail[-59:] + [text]
                m = mark.search(text)
                if m:
                    self.status = int(m[1])
                    self.done.set()
                # With the line before it, by which klog.awk knows one; and all that follows:
                # behind one that the base is known for there may be another
                if not self.splats and SPLAT.search(text):
                    self.splats = self.tail[-2:]
                elif self.splats and not m:
                    self.splats.append(text)
            if not data:
                os.close(fd)
                return

    def note(self, text, script=False):
        """A line came, perhaps from the script's stdout: is it progress?"""
        if self.progress:
            self.began = self.began or script
            if self.began and not (script and self.progress.search(text)):
                return
        self.moved, self.last = True, text[:200]

    def copy(self, fd, to, also=None, script=False):
        rest = b""
        while True:
            data = os.read(fd, 65536)
            if not data:
                os.close(fd)
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.note(line.decode(errors="replace").rstrip("\r"), script)
            rest = rest[-65536:]
            for f in (to, also):
                if f and not self.quiet:
                    try:
                        f.write(data)
                        f.flush()
                    except BrokenPipeError:
                        to = None

    def read_out(self, fd):
        self.copy(fd, sys.stdout.buffer, self.out, script=True)

    def read_err(self, fd):
        self.copy(fd, sys.stderr.buffer)


# --- which accelerator ------------------------------------------------------------

def kvm_works(o, image):
    """/dev/kvm may exist and still hang the guest, so boot one and see. Remembered until
    the host boots anew or QEMU changes."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with open("/proc/sys/kernel/random/boot_id") as f:
        key = f.read().strip()
    key += f" {os.stat(shutil.which('qemu-system-x86_64')).st_mtime_ns}"
    cache = f"{BUILD}/kvm-probe"
    try:
        with open(cache) as f:
            known, _, answer = f.read().strip().rpartition(" ")
        if known == key:
            return answer == "yes"
    except OSError:
        pass
    say(f"probing KVM (at most {PROBE_SECONDS} s)")
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write("#!/bin/sh\nexit 42\n")
        script.flush()
        probe = options(["--kernel", image, "--cpus", "2", "--mem", "256", "--minimal",
                         "--limit", str(PROBE_SECONDS), script.name])
        works = Guest(probe, "kvm", image, quiet=True).status == 42
    os.makedirs(BUILD, exist_ok=True)
    with open(f"{cache}.{os.getpid()}", "w") as f:
        f.write(f"{key} {'yes' if works else 'no'}\n")
    os.rename(f"{cache}.{os.getpid()}", cache)
    return works


def clean_leftovers():
    """Directories of runs that were killed hard."""
    try:
        for name in os.listdir(f"{BUILD}/run"):
            pid = name.split("-")[0]
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                shutil.rmtree(f"{BUILD}/run/{name}", ignore_errors=True)
    except OSError:
        pass


def main():
    def stop(number, _):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    o = options(sys.argv[1:])
    if not shutil.which("qemu-system-x86_64"):
        die("qemu-system-x86_64 is missing; run 'make deps'")
    if not shutil.which(o.emulator):
        die(f"{o.emulator} is missing; scripts/build/qemu.sh builds one")
    image = kernel_image(o.kernel)
    clean_leftovers()
    kvm = o.accel == "kvm" or o.accel == "auto" and kvm_works(o, image)
    accel = "kvm" if kvm else f"tcg,thread={o.thread or 'single'}"
    say(f"accel {accel}")
    start = time.monotonic()
    g = Guest(o, accel, image)
    took = f"{time.monotonic() - start:.0f} s"

    splats = defects(g.splats)
    if splats:
        say("the kernel console shows:")
        print("\n".join(splats), file=sys.stderr)
    elif g.status is None:
        say("end of the kernel console:")
        print("\n".join(g.tail[-40:]), file=sys.stderr)
    if o.log:
        say(f"the whole console is in {o.log}")
    say(f"own time {g.own:.0f} s of {took}, the longest without progress {g.silent:.0f} s")
    if g.status is None and g.late:
        die(f"{g.late}: the script did not end", TIMEOUT_STATUS)
    if g.status is None:
        die(f"the guest ended after {took} without a report (QEMU status {g.qemu_status})", LOST_STATUS)
    if splats:
        die(f"kernel splat (the script's exit status was {g.status})", SPLAT_STATUS)
    say(f"exit status {g.status} after {took}")
    sys.exit(g.status)


if __name__ == "__main__":
    main()
