# SPDX-License-Identifier: GPL-2.0
"""The one layer through which the tool touches the machine.

Reading goes to the live system, to a directory that holds a copy of it (root),
or to a recording (one text file). Every change is a method here, and in a dry
run says what it would do instead. Nothing else in the tool opens a file or
makes a system call, so tests replace this layer and need no root.
"""
import errno
import os
import sys

from ssw_util import (EXIT_BAD_TARGET, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NO_FEATURE,
                      EXIT_NO_PROGRAM, EXIT_NO_SPACE, EXIT_NOT_ROOT, EXIT_TOO_MANY,
                      EXIT_USAGE, BIND, SYS, ToolError, human, unescape)

LOCK = '/run/scaleswap.lock'
STATE = '/run/scaleswap/state.json'
RECORDING_HEAD = '# scaleswap recording 1'

SWAP_MAGICS = (b'SWAPSPACE2', b'SWAP-SPACE')
SWAP_FLAG_PREFER = 0x8000
FS_IOC_FIEMAP = 0xc020660b
FIEMAP_FLAG_SYNC = 1
FIEMAP_EXTENT_LAST = 1
# Long enough for the superblock of every file system, RAID and volume manager
# that keeps it at the start (the last one is btrfs, at 64 KiB).
SIGNATURE_AREA = 128 << 10


class Signals:
    """Holds Ctrl-C, SIGTERM and SIGHUP back until a point where undoing is right.

    A signal between a step and the note that it was done would leave an area
    behind; so handlers only take note, and check() raises between steps.
    """

    def __init__(self):
        self.got = 0
        self._old = {}

    def __enter__(self):
        import signal
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_):
        import signal
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number, _frame):
        self.got = number

    def check(self):
        if self.got:
            raise ToolError(EXIT_INTERRUPTED, 'interrupted')


class IO:
    """The live system, or (root) a directory laid out like it."""

    def __init__(self, root='', dry=False, out=None, err=None):
        self.root = root.rstrip('/')
        self.dry = dry
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.recorded = None
        self._lock_fd = None

    # ---- output ----

    def say(self, text):
        self.out.write(text + '\n')
        self.out.flush()

    def warn(self, text):
        self.out.flush()
        self.err.write('scaleswap: %s\n' % text)
        self.err.flush()

    # ---- reading ----

    def at(self, path):
        return self.root + path

    def read(self, path):
        """The text of a file, without the final newline."""
        fd = os.open(self.at(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while True:
                part = os.read(fd, 65536)
                if not part:
                    break
                parts.append(part)
        finally:
            os.close(fd)
        text = b''.join(parts).decode('utf-8', 'surrogateescape')
        if text.endswith('\n'):
            text = text[:-1]
        if self.recorded is not None:
            self.recorded.append((path, text))
        return text

    def listdir(self, path):
        return os.listdir(self.at(path))

    def is_dir(self, path):
        return os.path.isdir(self.at(path))

    def lexists(self, path):
        return os.path.lexists(self.at(path))

    def is_block_device(self, path):
        import stat
        try:
            return stat.S_ISBLK(os.stat(self.at(path)).st_mode)
        except OSError:
            return False

    def realpath(self, path):
        """The path the kernel will show; inside a root there is nothing to resolve."""
        return os.path.normpath(path) if self.root else os.path.realpath(path)

    def page_size(self):
        if self.root:
            try:
                return int(self.read('/page_size'))
            except OSError:
                pass
        size = os.sysconf('SC_PAGE_SIZE')
        if self.recorded is not None:
            self.recorded.append(('/page_size', str(size)))
        return size

    def time(self):
        import time
        now = time.monotonic()
        if self.recorded is not None:
            self.recorded.append(('@', '%.6f' % now))
        return now

    def sleep(self, seconds):
        import time
        time.sleep(seconds)

    def next_frame(self):
        """True as long as there may be something new to read (a recording ends)."""
        return True

    def is_root_user(self):
        return os.geteuid() == 0

    def filesystem(self, path):
        """(type, mount point) of the file system a directory is on."""
        best = ('unknown', '')
        for line in self.read('/proc/self/mountinfo').split('\n'):
            fields, _, tail = line.partition(' - ')
            fields = fields.split()
            if len(fields) < 5 or not tail:
                continue
            point = unescape(fields[4])
            inside = path == point or path.startswith(point.rstrip('/') + '/')
            # >=: of several mounts on one point the last one is seen.
            if inside and len(point) >= len(best[1]):
                best = (tail.split()[0], point)
        return best

    def device_of(self, directory):
        """A number that is equal for directories that share their free space."""
        return os.stat(self.at(directory)).st_dev

    def free_bytes(self, directory):
        info = os.statvfs(self.at(directory))
        return info.f_bavail * info.f_frsize

    def active_swaps(self):
        """Paths in /proc/swaps, in its order."""
        paths = []
        for line in self.read('/proc/swaps').split('\n')[1:]:
            if line.strip():
                paths.append(unescape(line.split()[0]))
        return paths

    def identity(self, path):
        """[device, inode] of a regular file; None when it is missing or something else."""
        import stat
        try:
            info = os.lstat(self.at(path))
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(info.st_mode):
            return None
        return [info.st_dev, info.st_ino]

    def find_program(self, name):
        # A root shell from su may lack the sbin directories.
        places = os.environ.get('PATH', '').split(':') + ['/usr/sbin', '/sbin']
        for place in places:
            program = os.path.join(place, name)
            if place and os.path.isfile(program) and os.access(program, os.X_OK):
                return program
        raise ToolError(EXIT_NO_PROGRAM, 'the program %s is missing' % name,
                        'install util-linux')

    # ---- what a file or device is like ----

    def _has_swap_signature(self, fd):
        page = self.page_size()
        return os.pread(fd, 10, page - 10) in SWAP_MAGICS

    def check_reusable(self, path):
        """Size of an existing file that may become a swap file; ToolError if it may not."""
        import stat
        try:
            fd = os.open(self.at(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise ToolError(EXIT_BAD_TARGET, '%s cannot be reused: %s' % (path, error.strerror),
                            'remove it, or choose another directory')
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise ToolError(EXIT_BAD_TARGET, '%s is not a regular file' % path,
                                'remove it, or choose another directory')
            hole = self._first_hole(fd, info.st_size)
            if hole is not None:
                raise ToolError(EXIT_BAD_TARGET, '%s has a hole at byte %d; the kernel cannot '
                                'swap to a file with holes' % (path, hole),
                                'remove it and run setup again: setup makes files without holes')
            if not self._has_swap_signature(fd):
                raise ToolError(EXIT_BAD_TARGET, '%s exists and is not a swap file' % path,
                                'move it away; setup does not overwrite other data')
            return info.st_size
        finally:
            os.close(fd)

    def _first_hole(self, fd, size):
        """Offset of the first byte without a block on disk, or None.

        FIEMAP, not SEEK_HOLE: blocks that fallocate() reserved are a hole to
        SEEK_HOLE until they are written, but swapon takes them.
        """
        import fcntl
        import struct
        count = 128
        end = 0
        while end < size:
            request = bytearray(struct.pack('=QQIIII', end, size - end, FIEMAP_FLAG_SYNC,
                                            0, count, 0) + bytes(56 * count))
            try:
                fcntl.ioctl(fd, FS_IOC_FIEMAP, request)
            except OSError as error:
                if error.errno not in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL):
                    raise
                hole = os.lseek(fd, 0, os.SEEK_HOLE)
                return hole if hole < size else None
            mapped = struct.unpack_from('=I', request, 20)[0]
            if not mapped:
                return end
            for i in range(mapped):
                logical, _, length = struct.unpack_from('=QQQ', request, 32 + 56 * i)
                flags = struct.unpack_from('=I', request, 32 + 56 * i + 40)[0]
                if logical > end:
                    return end
                end = max(end, logical + length)
                if flags & FIEMAP_EXTENT_LAST:
                    return end if end < size else None
        return None

    def check_device(self, path, force):
        """Size of a block device nobody uses; ToolError if used, or not blank (unless force)."""
        mode = os.O_RDONLY if self.dry else os.O_RDWR
        try:
            # O_EXCL without O_CREAT: EBUSY when mounted, swap, in a RAID, or a
            # partition of it is.
            fd = os.open(self.at(path), mode | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise ToolError(EXIT_BAD_TARGET, '%s is in use (mounted, swap, or part of '
                                'another device)' % path, 'see lsblk and /proc/swaps')
            if self.dry and error.errno in (errno.EACCES, errno.EPERM):
                self.warn('%s cannot be looked at: not root' % path)
                return None
            raise ToolError(EXIT_BAD_TARGET, '%s cannot be opened: %s' % (path, error.strerror))
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
            head = os.pread(fd, SIGNATURE_AREA, 0)
            if not force and head.count(0) != len(head) and not self._has_swap_signature(fd):
                raise ToolError(EXIT_BAD_TARGET, '%s holds data' % path,
                                '--force overwrites it; look twice (lsblk -f)')
            return size
        finally:
            os.close(fd)

    # ---- changes; a dry run only says them ----

    def take_lock(self):
        """One setup or teardown at a time; waits for the other one."""
        if self.dry:
            return
        import fcntl
        os.makedirs(os.path.dirname(self.at(LOCK)), exist_ok=True)
        fd = os.open(self.at(LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._lock_fd = fd
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            self.warn('waiting for another scaleswap to finish')
            fcntl.flock(fd, fcntl.LOCK_EX)

    def drop_lock(self):
        # The file stays: removing it would let two runs lock two files.
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def load_state(self):
        """What setup has made and teardown has not removed yet."""
        empty = {'version': 1, 'complete': True, 'bind_before': None, 'areas': []}
        try:
            text = self.read(STATE)
        except FileNotFoundError:
            return empty
        import json
        try:
            state = json.loads(text)
            if state['version'] != 1:
                raise ValueError
            # A state that lacks a field must not fail half-way through a teardown.
            for area in state['areas']:
                area['path'], area['cpu'], area['kind'], area['created'], area['id']
            state['complete'], state['bind_before']
        except (ValueError, KeyError, TypeError):
            raise ToolError(EXIT_FAILED, '%s is damaged' % STATE,
                            'switch areas off with "scaleswap teardown --all --forget", '
                            'and remove the files by hand')
        return state

    def save_state(self, state):
        if self.dry:
            return
        import json
        path = self.at(STATE)
        if not state['areas']:
            self.forget_state()
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path + '.new', os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                     | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, 'w') as file:
            file.write(json.dumps(state) + '\n')
        os.rename(path + '.new', path)

    def forget_state(self):
        if self.dry:
            return
        try:
            os.unlink(self.at(STATE))
        except FileNotFoundError:
            pass

    def write(self, path, text):
        if self.dry:
            self.say('would write "%s" to %s' % (text, path))
            return
        fd = os.open(self.at(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, (text + '\n').encode())
        finally:
            os.close(fd)

    def create_file(self, path, size):
        """Create a file, mode 0600, with all its blocks; the file is gone again on error."""
        if self.dry:
            self.say('would create %s, %s' % (path, human(size)))
            return
        try:
            fd = os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                         | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ToolError(EXIT_NO_SPACE if error.errno == errno.ENOSPC else EXIT_BAD_TARGET,
                            '%s cannot be created: %s' % (path, error.strerror))
        try:
            os.fchmod(fd, 0o600)
            self.allocate(fd, size)
        except BaseException as error:
            os.unlink(self.at(path))
            if not isinstance(error, OSError):
                raise
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ToolError(EXIT_NO_SPACE, '%s: no space: %s needed, %s available' % (
                    path, human(size), human(self.free_bytes(os.path.dirname(path)))),
                    'give a smaller --size')
            raise ToolError(EXIT_BAD_TARGET, '%s cannot be allocated: %s'
                            % (path, error.strerror))
        finally:
            os.close(fd)

    def allocate(self, fd, size):
        # Unwritten extents are fine for swapon on ext4 and XFS; where the file
        # system has no fallocate (ext2, ext3) libc writes to each block.
        os.posix_fallocate(fd, 0, size)

    def secure_file(self, path):
        """Give a reused file the mode setup gives to new ones."""
        if not self.dry:
            os.chmod(self.at(path), 0o600)

    def unlink(self, path):
        if self.dry:
            self.say('would remove %s' % path)
            return
        os.unlink(self.at(path))

    def mkswap(self, program, path, label, force):
        command = ['mkswap', '-L', label] + (['-f'] if force else []) + [path]
        if self.dry:
            self.say('would run %s' % ' '.join(command))
            return
        status, text = self.run(program, command)
        if status:
            raise ToolError(EXIT_FAILED, 'mkswap %s failed: %s' % (
                path, ' '.join(text.split()) or 'exit status %d' % status))

    def run(self, program, command):
        """(exit status, output) of a program. Not subprocess: that is slow to import."""
        reader, writer = os.pipe()
        try:
            pid = os.posix_spawn(program, command, os.environ, file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, writer, 2)])
        finally:
            os.close(writer)
        parts = []
        while True:
            part = os.read(reader, 65536)
            if not part:
                break
            parts.append(part)
        os.close(reader)
        status = os.waitpid(pid, 0)[1]
        text = b''.join(parts).decode('utf-8', 'replace')
        return (os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status),
                text)

    def swapon(self, path, prio):
        if self.dry:
            self.say('would swapon %s%s' % (path, '' if prio is None else ', priority %d' % prio))
            return
        flags = 0 if prio is None else SWAP_FLAG_PREFER | prio
        self.syscall_swapon(path, flags)

    def swapoff(self, path):
        if self.dry:
            self.say('would swapoff %s' % path)
            return
        self.syscall_swapoff(path)

    def syscall_swapon(self, path, flags):
        self._libc('swapon', path, flags)

    def syscall_swapoff(self, path):
        self._libc('swapoff', path)

    @staticmethod
    def _libc(name, path, *rest):
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if getattr(libc, name)(ctypes.c_char_p(os.fsencode(path)), *rest):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)


class Replay(IO):
    """A recording: one text file with the files that were read, in frames.

    '@ SECONDS' starts a frame; '/path value' is a file. A frame holds all the
    files of its moment. It is what "status --record" and "watch --record" write.
    """

    def __init__(self, path, out=None, err=None):
        super().__init__(root='/nonexistent', out=out, err=err)
        with open(path, encoding='utf-8', errors='surrogateescape') as file:
            lines = file.read().split('\n')
        if lines[0] != RECORDING_HEAD:
            raise ToolError(EXIT_USAGE, '%s is not a recording of this tool' % path)
        self.frames = []
        for number, line in enumerate(lines[1:], 2):
            name, _, value = line.partition(' ')
            if name == '@':
                try:
                    self.frames.append((float(value), {}))
                except ValueError:
                    raise ToolError(EXIT_USAGE, '%s, line %d: bad time' % (path, number))
            elif name.startswith('/') and self.frames:
                self.frames[-1][1][name] = value
            elif line and not line.startswith('#'):
                raise ToolError(EXIT_USAGE, '%s, line %d: neither a frame nor a file'
                                % (path, number))
        if not self.frames:
            raise ToolError(EXIT_USAGE, '%s is an empty recording' % path)
        self.now = 0

    def read(self, path):
        try:
            return self.frames[self.now][1][path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def listdir(self, path):
        path += '/'
        return sorted({name[len(path):].split('/')[0]
                       for name in self.frames[self.now][1] if name.startswith(path)})

    def is_dir(self, path):
        return bool(self.listdir(path))

    def time(self):
        return self.frames[self.now][0]

    def sleep(self, seconds):
        pass

    def next_frame(self):
        self.now += 1
        return self.now < len(self.frames)


def start_recording(io):
    io.recorded = []


def save_recording(io, path):
    """Write what was read since start_recording(). Values are one line each."""
    with open(path, 'w', encoding='utf-8', errors='surrogateescape') as file:
        file.write(RECORDING_HEAD + '\n')
        for name, value in io.recorded:
            file.write('%s %s\n' % (name, value.replace('\n', '\\n')))


def require_root(io):
    if not io.dry and not io.is_root_user():
        raise ToolError(EXIT_NOT_ROOT, 'this needs root', 'run it with sudo; --dry-run does not')


def require_feature(io):
    """ToolError unless the running kernel has ScaleSwap, switched on."""
    if not io.is_dir(SYS):
        if not io.is_dir('/sys/kernel'):
            raise ToolError(EXIT_NO_FEATURE, 'there is no /sys/kernel',
                            'mount sysfs: mount -t sysfs sysfs /sys')
        raise ToolError(EXIT_NO_FEATURE, 'this kernel has no ScaleSwap: there is no %s' % SYS,
                        'boot a kernel built with CONFIG_SCALESWAP=y and scaleswap=on')
    if io.read(SYS + '/enabled') != '1':
        raise ToolError(EXIT_NO_FEATURE, 'ScaleSwap is in this kernel, but off',
                        'add scaleswap=on to the kernel command line and boot again')


def explain_swapon(path, error):
    """A ToolError for an errno of swapon(2)."""
    code, why, advice = EXIT_FAILED, error.strerror, None
    if error.errno == errno.EINVAL:
        code = EXIT_BAD_TARGET
        advice = 'the kernel log (dmesg) says what is wrong with it'
    elif error.errno == errno.EBUSY:
        code, why = EXIT_BAD_TARGET, 'it is in use already'
    elif error.errno == errno.EPERM:
        # Root gets EPERM only when the kernel has no swap type left.
        code, why = EXIT_TOO_MANY, 'the kernel has no room for another swap area'
        advice = 'switch some off; %s/areas_max is the limit' % SYS
    return ToolError(code, 'swapon %s: %s' % (path, why), advice)


def explain_bind(cpu, error):
    """A ToolError for an errno of a write to vm.scaleswap.bind."""
    advice = None
    if error.errno == errno.EINVAL:
        advice = 'CPU %s is not a possible CPU of this kernel' % cpu
    elif error.errno == errno.EOPNOTSUPP:
        advice = 'boot with scaleswap=on'
    return ToolError(EXIT_FAILED, 'cannot write %s to %s: %s' % (cpu, BIND, error.strerror),
                     advice)
