# SPDX-License-Identifier: GPL-2.0
"""A machine for the tests: a directory tree, and a kernel that lives in it.

FakeIO replaces only what needs root or a kernel (swapon, swapoff, mkswap, block
devices, free space); files are made and looked at by the real code, under a
temporary root.
"""
import contextlib
import errno
import io
import os
import shutil
import sys
import tempfile
import unittest

# Before the tool is imported: testing leaves nothing in the source tree.
sys.dont_write_bytecode = True
TOOL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')
sys.path.insert(0, TOOL)

import ssw_cli  # noqa: E402
import ssw_io  # noqa: E402
import ssw_util  # noqa: E402,F401
from ssw_util import unescape  # noqa: E402

PAGE = 4096
BIND = '/proc/sys/vm/scaleswap/bind'
AREAS = '/sys/kernel/mm/scaleswap/areas'
SWAPS_HEAD = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n'
MOUNTS = '''\
1 1 254:0 / / rw - overlay overlay rw
20 1 259:0 / /mnt/a rw,relatime shared:1 - ext4 /dev/nvme0n1 rw
21 1 259:1 / /mnt/b rw,relatime - xfs /dev/nvme1n1 rw
25 1 0:33 / /mnt/back\\134slash rw - ext4 /dev/sdd rw
22 1 0:30 / /mnt/mem rw - tmpfs tmpfs rw
23 1 0:31 / /mnt/cow rw - btrfs /dev/sdb rw
24 1 0:32 / /mnt/with\\040blank rw - ext4 /dev/sdc rw
'''


def is_new(line):
    """Is this line of a recording a file that kernels without slot tables lack?"""
    name = line.split(' ')[0]
    return (name.rpartition('/')[2] in ('tables', 'table_bytes', 'no_table', 'no_rmap') or
            '/stats/deleg_' in name or '/stats/reclaim_' in name or
            '/stats/swapoff_' in name or
            '/scaleswap/deleg/' in name or is_lru(line) or is_poll(line) or
            is_io(line))


def is_lru(line):
    """Is this line of a recording a file that kernels without LRU shards lack?"""
    name = line.split(' ')[0]
    return '/scaleswap/lru/' in name or name.endswith('/fallback/no_shard')


def is_poll(line):
    """Is this line of a recording a file that kernels without polled reads lack?"""
    name = line.split(' ')[0]
    return '/scaleswap/fault/' in name or name.rpartition('/')[2] in (
        'no_poll', 'poll_busy', 'poll_down', 'poll_unfit', 'poll_limited')


def is_io(line):
    """Is this line of a recording a file that kernels without bios of several pages lack?"""
    name = line.split(' ')[0]
    return ('/scaleswap/io/' in name or name.endswith('/fallback/no_batch') or
            is_evict(line))


def is_evict(line):
    """Is this line of a recording a file that kernels without evictors lack?"""
    name = line.split(' ')[0]
    return ('/scaleswap/evict/' in name or name.endswith('/fallback/pipe_full') or
            '/fallback/evict_' in name or is_zbatch(line))


def is_zbatch(line):
    """Is this line of a recording a file that kernels without batches of zswap lack?"""
    name = line.split(' ')[0]
    return ('/scaleswap/zbatch/' in name or '/fallback/zbatch_' in name or
            is_defrag(line))


def is_defrag(line):
    """Is this line of a recording a file that kernels without defragmentation lack?"""
    name = line.split(' ')[0]
    return '/scaleswap/defrag/' in name or name.rpartition('/')[2] in (
        'free_clusters', 'sparse_clusters', 'frag_index', 'drain_state', 'drain_unreadable')


class FakeIO(ssw_io.IO):
    """IO on a temporary root, with a kernel of four CPUs and 247 areas."""

    def __init__(self, root):
        super().__init__(root, out=io.StringIO(), err=io.StringIO())
        self.user_is_root = True
        self.free = 10 << 30
        self.devices = {}           # path: error number of an exclusive open, or 0
        self.log = []               # every change, in order
        self.fail = {}              # (step, path): errno, or a function to call
        self.has_mkswap = True
        self.labels = {}
        self.binds = True           # False: a kernel that binds to the wrong CPU
        for path in ('/mnt/a', '/mnt/b', '/mnt/mem', '/mnt/cow', '/mnt/with blank',
                     '/mnt/back\\slash', '/dev',
                     AREAS, '/run'):
            os.makedirs(root + path)
        for path, text in {
                '/sys/kernel/mm/scaleswap/enabled': '1',
                '/sys/kernel/mm/scaleswap/areas_max': '247',
                '/sys/devices/system/cpu/online': '0-3',
                '/sys/devices/system/cpu/possible': '0-7',
                BIND: 'auto',
                '/page_size': str(PAGE),
                '/proc/swaps': SWAPS_HEAD.strip('\n'),
                '/proc/meminfo': 'MemTotal:        1048576 kB',
                '/proc/self/mountinfo': MOUNTS.strip('\n')}.items():
            self.put(path, text)

    # ---- for tests ----

    def put(self, path, text):
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        with open(self.root + path, 'w') as file:
            file.write(text + '\n')

    def add_area(self, path, cpu):
        """What the kernel shows once an area is on."""
        kind = next(i for i in range(1000) if not self.lexists('%s/%d' % (AREAS, i)))
        # Escapes as mangle_path() makes them.
        self.put('%s/%d/path' % (AREAS, kind), path.replace('\\', '\\134'))
        self.put('%s/%d/cpu' % (AREAS, kind), str(cpu))
        line = path.replace('\\', '\\134').replace(' ', '\\040') + '\tfile\t\t1024\t\t0\t\t-2'
        self.put('/proc/swaps', self.read('/proc/swaps') + '\n' + line)

    def add_device(self, path, content=bytes(1 << 20), error=0):
        self.devices[path] = error
        with open(self.root + path, 'wb') as file:
            file.write(content)

    def _step(self, step, path):
        self.log.append((step, path))
        failure = self.fail.get((step, path))
        if callable(failure):
            failure()
        elif failure:
            raise OSError(failure, os.strerror(failure), path)

    # ---- the kernel and the superuser ----

    def is_root_user(self):
        return self.user_is_root

    def device_of(self, directory):
        return directory

    def free_bytes(self, directory):
        return self.free

    def is_block_device(self, path):
        return path in self.devices

    def find_program(self, name):
        if self.has_mkswap:
            return '/sbin/' + name
        old, os.environ['PATH'] = os.environ.get('PATH', ''), ''
        try:
            return super().find_program('no-such-' + name)
        finally:
            os.environ['PATH'] = old

    def check_device(self, path, force):
        if self.devices[path]:
            # As open(O_EXCL) of a real one.
            with EachOpenFails(self.devices[path]):
                return super().check_device(path, force)
        return super().check_device(path, force)

    def allocate(self, fd, size):
        self._step('allocate', os.readlink('/proc/self/fd/%d' % fd)[len(self.root):])
        super().allocate(fd, size)
        # tmpfs shows reserved blocks as holes; written ones are none anywhere.
        if os.fstat(fd).st_blocks * 512 >= size:
            os.pwrite(fd, bytes(size), 0)

    def run(self, program, command):
        path = command[-1]
        assert command[1] == '-L'
        self.labels[path] = command[2]
        self.log.append(('mkswap', path) + tuple(command[3:-1]))
        failure = self.fail.get(('mkswap', path))
        if callable(failure):
            return failure()
        if failure:
            return 1, 'mkswap: %s\n' % os.strerror(failure)
        with open(self.at(path), 'r+b') as file:
            file.seek(PAGE - 10)
            file.write(b'SWAPSPACE2')
        return 0, 'Setting up swapspace\n'

    def write(self, path, text):
        if not self.dry:
            self._step('bind', text)
            os.truncate(self.at(path), 0)       # a sysctl holds what was written last
        super().write(path, text)

    def unlink(self, path):
        if not self.dry:
            self._step('unlink', path)
        super().unlink(path)

    def syscall_swapon(self, path, flags):
        self._step('swapon', path)
        self.flags = flags
        bind = self.read(BIND)
        with open(self.at(path), 'rb') as file:
            file.seek(PAGE - 10)
            if file.read(10) != b'SWAPSPACE2':
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        self.add_area(path, -1 if bind == 'off' else bind if self.binds else 7)

    def syscall_swapoff(self, path):
        self._step('swapoff', path)
        lines = self.read('/proc/swaps').split('\n')
        kept = [line for line in lines
                if unescape(line.split('\t')[0]) != path]
        if len(kept) == len(lines):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        self.put('/proc/swaps', '\n'.join(kept))
        for kind in self.listdir(AREAS):
            if unescape(self.read('%s/%s/path' % (AREAS, kind))) == path:
                shutil.rmtree(self.at('%s/%s' % (AREAS, kind)))


class EachOpenFails:
    """Inside it os.open() fails."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.real = os.open

        def fail(path, *_args, **_kw):
            raise OSError(self.number, os.strerror(self.number), path)
        os.open = fail

    def __exit__(self, *_):
        os.open = self.real


class Case(unittest.TestCase):
    """A test with a machine of its own."""

    maxDiff = None

    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix='scaleswap-test-'))
        self.addCleanup(shutil.rmtree, self.root)
        self.io = FakeIO(self.root + '/machine')

    def tool(self, line, replace=True):
        """Run the tool on the machine: (exit status, standard output, standard error)."""
        words = line.split() if isinstance(line, str) else line
        out, err = io.StringIO(), io.StringIO()
        machine = self.io if replace else None
        if machine:
            machine.out, machine.err = out, err
            machine.log.clear()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = ssw_cli.main(words, machine)
            except SystemExit as leave:     # argparse
                status = leave.code
        self.assertNotIn('Traceback', err.getvalue())
        return status, out.getvalue(), err.getvalue()

    def works(self, line):
        status, out, err = self.tool(line)
        self.assertEqual((status, err), (0, ''))
        return out

    def fails(self, line, code, *texts):
        """The tool ends with this code and a message with these texts."""
        status, out, err = self.tool(line)
        self.assertEqual(status, code, out + err)
        for text in texts:
            self.assertIn(text, err)
        return err

    def golden(self, name, text):
        path = os.path.join(DATA, name)
        if os.environ.get('SCALESWAP_UPDATE_GOLDEN'):
            with open(path, 'w') as file:
                file.write(text)
        with open(path) as file:
            self.assertEqual(text, file.read(), 'SCALESWAP_UPDATE_GOLDEN=1 renews %s' % name)

    def steps(self, *kinds):
        return [entry for entry in self.io.log if entry[0] in kinds]

    def files(self):
        """Swap files there are on the machine."""
        found = []
        for place in ('/mnt/a', '/mnt/b', '/mnt/with blank', '/mnt/back\\slash'):
            found += ['%s/%s' % (place, name) for name in sorted(os.listdir(self.io.at(place)))]
        return found
