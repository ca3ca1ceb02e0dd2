# SPDX-License-Identifier: GPL-2.0
"""setup: dry run, what it makes, undoing, and each error with its exit code."""
import errno
import json
import os
import signal
import unittest

import fake
from fake import AREAS, BIND, PAGE

FOUR = 'setup --per-core --dir /mnt/a /mnt/b --size 1M'
FILES = ['/mnt/a/scaleswap-cpu0.swap', '/mnt/b/scaleswap-cpu1.swap',
         '/mnt/a/scaleswap-cpu2.swap', '/mnt/b/scaleswap-cpu3.swap']
STATE = '/run/scaleswap/state.json'


class SetupCase(fake.Case):
    def homes(self):
        """{path: CPU} of the areas that are on."""
        return {self.io.read('%s/%s/path' % (AREAS, kind)):
                int(self.io.read('%s/%s/cpu' % (AREAS, kind)))
                for kind in self.io.listdir(AREAS)}

    def assert_untouched(self, bind='auto'):
        """Nothing is left of a setup that failed."""
        self.assertEqual(self.files(), [])
        self.assertEqual(self.homes(), {})
        self.assertEqual(self.io.read(BIND), bind)
        self.assertFalse(self.io.lexists(STATE))


class DryRun(SetupCase):
    def test_golden(self):
        before = sorted(os.walk(self.io.root))
        self.golden('setup-dry.txt', self.works(FOUR + ' --prio 10 --dry-run'))
        self.assertEqual(self.io.log, [])
        self.assertEqual(sorted(os.walk(self.io.root)), before)

    def test_needs_no_root(self):
        self.io.user_is_root = False
        self.golden('setup-dry.txt', self.works(FOUR + ' --prio 10 --dry-run'))

    def test_devices(self):
        self.io.add_device('/dev/n0')
        self.io.add_device('/dev/n1', b'data' * 300000)
        out = self.works('setup --per-core --device /dev/n0 /dev/n1 --force --dry-run')
        self.golden('setup-devices-dry.txt', out)
        self.assertEqual(self.io.log, [])

    def test_errors_are_found(self):
        self.io.free = 100
        self.fails(FOUR + ' --dry-run', 5)

    def test_root_option_wants_dry_run(self):
        status, _, err = self.tool(FOUR + ' --root ' + self.io.root, replace=False)
        self.assertEqual(status, 2)
        self.assertIn('add --dry-run', err)


class Good(SetupCase):
    def test_files(self):
        out = self.works(FOUR)
        self.assertEqual(self.homes(), dict(zip(FILES, range(4))))
        self.assertEqual(sorted(self.files()), sorted(FILES))
        self.assertIn('CPU 2: /mnt/a/scaleswap-cpu2.swap, 1.0M\n', out)
        self.assertIn('4 areas, 4.0M\n', out)
        for path in FILES:
            info = os.stat(self.io.at(path))
            self.assertEqual((info.st_size, info.st_mode & 0o7777), (1 << 20, 0o600))
            self.assertGreaterEqual(info.st_blocks * 512, 1 << 20)

    def test_labels_name_the_cpus(self):
        # By them the kernel finds the homes again at the next boot.
        out = self.works(FOUR)
        self.assertEqual(self.io.labels, {path: 'ssw-cpu%d' % cpu for cpu, path in enumerate(FILES)})
        self.assertIn('reboot', out)
        self.works('teardown')
        self.assertNotIn('reboot', self.works(FOUR + ' --dry-run'))

    def test_labels_of_devices(self):
        for name in ('/dev/n0', '/dev/n1'):
            self.io.add_device(name)
        self.works('setup --per-core --device /dev/n0 /dev/n1 --cpus 2-3')
        self.assertEqual(self.io.labels, {'/dev/n0': 'ssw-cpu2', '/dev/n1': 'ssw-cpu3'})

    def test_bind_is_restored_after_each(self):
        self.works(FOUR)
        self.assertEqual(self.steps('bind', 'swapon')[:6], [
            ('bind', '0'), ('swapon', FILES[0]), ('bind', 'auto'),
            ('bind', '1'), ('swapon', FILES[1]), ('bind', 'auto')])
        self.assertEqual(self.io.read(BIND), 'auto')

    def test_priority(self):
        self.works(FOUR + ' --prio 32767')
        self.assertEqual(self.io.flags, 0x8000 | 32767)

    def test_no_priority(self):
        self.works(FOUR)
        self.assertEqual(self.io.flags, 0)

    def test_cpus(self):
        self.works(FOUR + ' --cpus 1,3,7')      # 7 is possible, but offline
        self.assertEqual(sorted(self.homes().values()), [1, 3, 7])

    def test_blank_in_path(self):
        self.assertEqual(self.tool(['setup', '--per-core', '--dir', '/mnt/with blank', '--cpus',
                                    '2', '--size', '40K'])[0], 0)
        self.assertEqual(self.homes(), {'/mnt/with blank/scaleswap-cpu2.swap': 2})
        self.works('teardown')
        self.assertEqual((self.homes(), self.files()), ({}, []))

    def test_backslash_in_path(self):
        self.assertEqual(self.tool(['setup', '--per-core', '--dir', '/mnt/back\\slash', '--cpus',
                                    '2', '--size', '40K'])[0:3:2], (0, ''))
        self.assertEqual(len(self.homes()), 1)
        os.unlink(self.io.at(STATE))
        self.works('teardown --all')
        self.assertEqual(self.homes(), {})

    def test_devices(self):
        self.io.add_device('/dev/n0')
        self.io.add_device('/dev/n1')
        out = self.works('setup --per-core --device /dev/n0 /dev/n1')
        self.assertEqual(self.homes(), {'/dev/n0': 0, '/dev/n1': 1})
        self.assertIn('CPUs without an area of their own: 2-3', out)

    def test_device_as_dir_and_files_for_the_rest(self):
        self.io.add_device('/dev/n0')
        out = self.works('setup --per-core --dir /dev/n0 /mnt/a /mnt/b --size 1M')
        self.assertEqual(self.homes(), {
            '/dev/n0': 0, '/mnt/a/scaleswap-cpu1.swap': 1, '/mnt/b/scaleswap-cpu2.swap': 2,
            '/mnt/a/scaleswap-cpu3.swap': 3})
        self.assertNotIn('without', out)

    def test_more_devices_than_cpus(self):
        for name in ('/dev/n0', '/dev/n1', '/dev/n2'):
            self.io.add_device(name)
        self.works('setup --per-core --device /dev/n0 /dev/n1 /dev/n2 --cpus 1-2')
        self.assertEqual(self.homes(), {'/dev/n0': 1, '/dev/n1': 2, '/dev/n2': 1})

    def test_force_reaches_mkswap_for_devices_only(self):
        self.io.add_device('/dev/n0', b'data' * 300000)
        self.works('setup --per-core --device /dev/n0 --dir /mnt/a --size 1M --cpus 0-1 --force')
        self.assertEqual(self.steps('mkswap'), [
            ('mkswap', '/dev/n0', '-f'), ('mkswap', '/mnt/a/scaleswap-cpu1.swap')])

    def test_device_with_old_swap_needs_no_force(self):
        self.io.add_device('/dev/n0', bytes(PAGE - 10) + b'SWAPSPACE2' + bytes(1 << 20))
        self.works('setup --per-core --device /dev/n0')

    def test_default_size_from_free_space(self):
        self.io.free = 100 << 20        # two files on each of two file systems
        out = self.works('setup --per-core --dir /mnt/a /mnt/b --dry-run')
        self.assertEqual(out.count(', 45.0M\n'), 4)

    def test_default_size_shares_a_file_system(self):
        self.io.free = 100 << 20
        self.io.device_of = lambda directory: 1
        out = self.works('setup --per-core --dir /mnt/a /mnt/b --dry-run')
        self.assertEqual(out.count(', 22.0M\n'), 4)

    def test_default_size_is_capped_by_memory(self):
        self.io.free = 1 << 40          # the machine has 1 GiB: twice that over four areas
        out = self.works('setup --per-core --dir /mnt/a /mnt/b --dry-run')
        self.assertEqual(out.count(', 512.0M\n'), 4)

    def test_two_setups_one_state(self):
        self.works(FOUR + ' --cpus 0')
        self.works(FOUR + ' --cpus 1-2')
        state = json.loads(self.io.read(STATE))
        self.assertEqual([area['cpu'] for area in state['areas']], [0, 1, 2])
        self.assertTrue(state['complete'])

    def test_setting_left_by_a_killed_run(self):
        self.io.put(BIND, '3')
        self.io.put(STATE, json.dumps({
            'version': 1, 'complete': False, 'bind_before': 'off', 'areas': [
                {'path': '/mnt/a/x', 'cpu': 3, 'kind': 'file', 'created': True, 'id': None}]}))
        # Even when this run ends before it has bound anything.
        self.io.fail['allocate', FILES[0]] = errno.ENOSPC
        self.fails(FOUR, 5)
        self.assertEqual(self.io.read(BIND), 'off')
        self.io.fail = {}
        self.works(FOUR)
        self.assertEqual(self.io.read(BIND), 'off')


class Reuse(SetupCase):
    PATH = '/mnt/a/scaleswap-cpu0.swap'
    LINE = 'setup --per-core --dir /mnt/a --cpus 0'

    def make(self, size=1 << 20, hole=False, magic=b'SWAPSPACE2'):
        with open(self.io.at(self.PATH), 'wb') as file:
            if hole:
                file.truncate(size)
            else:
                file.write(b'x' * size)
            file.seek(PAGE - 10)
            file.write(magic)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(self.io.at(self.PATH), 0o644)

    def test_refused_without(self):
        self.make()
        self.fails(self.LINE + ' --size 1M', 6, 'exists already', '--reuse')
        self.assertEqual(self.files(), [self.PATH])

    def test_taken(self):
        self.make()
        self.works(self.LINE + ' --reuse')
        self.assertEqual(self.homes(), {self.PATH: 0})
        self.assertEqual(os.stat(self.io.at(self.PATH)).st_mode & 0o7777, 0o600)
        self.assertEqual(self.steps('allocate'), [])
        self.assertFalse(json.loads(self.io.read(STATE))['areas'][0]['created'])

    def test_preallocated_but_unwritten_is_no_hole(self):
        with open(self.io.at(self.PATH), 'wb') as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)
            file.seek(PAGE - 10)
            file.write(b'SWAPSPACE2')
        probe = fake.ssw_io.IO().filesystem(self.root)[0]
        if probe not in ('ext4', 'xfs'):
            self.skipTest('the temporary directory is on %s' % probe)
        self.works(self.LINE + ' --reuse')

    def test_hole(self):
        self.make(hole=True)
        self.fails(self.LINE + ' --reuse', 6, 'has a hole at byte', 'remove it and run setup')
        self.assertEqual(self.steps('mkswap', 'swapon'), [])

    def test_hole_at_the_end(self):
        self.make()
        os.truncate(self.io.at(self.PATH), 2 << 20)
        self.fails(self.LINE + ' --reuse', 6, 'hole at byte 1048576')

    def test_hole_in_the_middle(self):
        self.make(size=64 << 10)
        with open(self.io.at(self.PATH), 'r+b') as file:
            file.seek(1 << 20)
            file.write(b'x' * (64 << 10))
            file.flush()
            os.fsync(file.fileno())
        self.fails(self.LINE + ' --reuse', 6, 'hole at byte 65536')

    def test_file_made_since_the_look(self):
        self.io.put(self.PATH, 'precious')
        with self.assertRaises(fake.ssw_util.ToolError) as caught:
            self.io.create_file(self.PATH, 4096)
        self.assertEqual(caught.exception.code, 6)
        self.assertEqual(self.io.read(self.PATH), 'precious')

    def test_other_data(self):
        self.make(magic=b'my letters')
        self.fails(self.LINE + ' --reuse', 6, 'is not a swap file')

    def test_other_size(self):
        self.make()
        self.fails(self.LINE + ' --reuse --size 2M', 6, 'is 1.0M, not 2.0M')

    def test_symbolic_link(self):
        self.io.put('/mnt/a/victim', 'x')
        os.symlink('victim', self.io.at(self.PATH))
        self.fails(self.LINE + ' --reuse', 6, 'cannot be reused')
        self.fails(self.LINE + ' --size 1M', 6, 'exists already')

    def test_directory_in_the_way(self):
        os.mkdir(self.io.at(self.PATH))
        self.fails(self.LINE + ' --reuse', 6, 'is not a regular file')

    def test_active(self):
        self.works(self.LINE + ' --size 1M')
        self.fails(self.LINE + ' --reuse', 6, 'is active already')
        self.assertEqual(self.homes(), {self.PATH: 0})

    def test_failure_keeps_the_file(self):
        self.make()
        self.io.fail['swapon', self.PATH] = errno.EINVAL
        self.fails(self.LINE + ' --reuse', 6)
        self.assertEqual(self.files(), [self.PATH])


class Undo(SetupCase):
    """Each step fails once, at the third area; nothing may be left."""

    def check(self, step, failure, code, *texts, key=None):
        self.io.fail[step, key or FILES[2]] = failure
        err = self.fails(FOUR, code, *texts)
        self.assert_untouched()
        return err

    def test_space_runs_out(self):
        self.check('allocate', errno.ENOSPC, 5, '1.0M needed', '10.0G available')

    def test_quota(self):
        self.check('allocate', errno.EDQUOT, 5, 'no space')

    def test_allocation_fails(self):
        self.check('allocate', errno.EIO, 6, 'cannot be allocated')

    def test_mkswap_fails(self):
        self.check('mkswap', errno.EIO, 1, 'mkswap %s failed: mkswap: Input' % FILES[2])

    def test_bind_fails(self):
        self.check('bind', errno.EINVAL, 1, 'not a possible CPU', key='2')

    def test_bind_unsupported(self):
        self.check('bind', errno.EOPNOTSUPP, 1, 'boot with scaleswap=on', key='2')

    def test_swapon_bad_file(self):
        self.check('swapon', errno.EINVAL, 6, 'dmesg')
        self.assertEqual(self.steps('bind')[-1], ('bind', 'auto'))

    def test_swapon_busy(self):
        self.check('swapon', errno.EBUSY, 6, 'in use')

    def test_swapon_no_type_left(self):
        self.check('swapon', errno.EPERM, 7, 'no room for another swap area')

    def test_swapon_no_memory(self):
        self.check('swapon', errno.ENOMEM, 1, 'Cannot allocate memory')

    def test_bound_to_the_wrong_cpu(self):
        self.io.binds = False
        self.fails(FOUR, 1, 'was bound to CPU 7, not 0')
        self.assert_untouched()

    def test_a_bug_of_ours_is_undone_too(self):
        def bug():
            raise ZeroDivisionError
        self.io.fail['swapon', FILES[2]] = bug
        with self.assertRaises(ZeroDivisionError):
            self.tool(FOUR)
        self.assert_untouched()

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for step in ('allocate', 'swapon'):
                self.io.fail = {(step, FILES[2]): lambda: os.kill(os.getpid(), number)}
                self.fails(FOUR, 130, 'interrupted')
                self.assert_untouched()

    def test_signal_in_the_last_swapon(self):
        self.io.fail['swapon', FILES[3]] = lambda: os.kill(os.getpid(), signal.SIGINT)
        self.fails(FOUR, 130)
        self.assert_untouched()

    def test_signal_that_kills_mkswap(self):
        def killed():
            os.kill(os.getpid(), signal.SIGINT)
            return 130, ''
        err = self.check('mkswap', killed, 130, 'interrupted')
        self.assertNotIn('mkswap', err)

    def test_handlers_are_restored(self):
        before = signal.getsignal(signal.SIGINT)
        self.works(FOUR)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_earlier_setup_stays(self):
        self.works(FOUR + ' --cpus 0')
        self.io.fail['swapon', '/mnt/a/scaleswap-cpu3.swap'] = errno.EINVAL
        self.fails(FOUR + ' --cpus 1-3', 6)
        self.assertEqual(self.homes(), {FILES[0]: 0})
        state = json.loads(self.io.read(STATE))
        self.assertEqual([area['path'] for area in state['areas']], [FILES[0]])

    def test_what_cannot_be_undone_is_left_to_teardown(self):
        self.io.fail = {('swapon', FILES[2]): errno.EINVAL, ('swapoff', FILES[0]): errno.ENOMEM}
        self.fails(FOUR, 6, 'cannot be undone', 'teardown')
        self.assertEqual(self.homes(), {FILES[0]: 0})
        self.io.fail = {}
        self.works('teardown')
        self.assert_untouched()


class Errors(SetupCase):
    def refused(self, line, code, *texts):
        self.fails(line, code, *texts)
        self.assertEqual(self.io.log, [])
        self.assert_untouched()

    def test_not_root(self):
        self.io.user_is_root = False
        self.refused(FOUR, 3, 'needs root', 'sudo')

    def test_no_feature(self):
        os.rename(self.io.at('/sys/kernel/mm'), self.io.at('/sys/kernel/xx'))
        self.fails(FOUR, 4, 'CONFIG_SCALESWAP=y')

    def test_switched_off(self):
        self.io.put('/sys/kernel/mm/scaleswap/enabled', '0')
        self.refused(FOUR, 4, 'add scaleswap=on')

    def test_no_mkswap(self):
        self.io.has_mkswap = False
        self.refused(FOUR, 8, 'mkswap is missing', 'util-linux')

    def test_no_space(self):
        self.io.free = (2 << 20) - 1
        self.refused(FOUR, 5, '2 x 1.0M = 2.0M needed', '2.0M available', '--size')

    def test_no_space_shared_file_system(self):
        self.io.device_of = lambda directory: 1
        self.io.free = 3 << 20
        self.refused(FOUR, 5, '/mnt/a, /mnt/b', '4 x 1.0M = 4.0M needed, 3.0M available')

    def test_exact_space_is_enough(self):
        self.io.free = 2 << 20
        self.works(FOUR)

    def test_no_space_for_any_default(self):
        self.io.free = 1 << 20
        self.refused('setup --per-core --dir /mnt/a', 5, 'need 1.0M each')

    def test_wrong_file_systems(self):
        self.refused('setup --per-core --dir /mnt/mem', 6, 'is on tmpfs', 'in memory')
        self.refused('setup --per-core --dir /mnt/cow', 6, 'is on btrfs', 'copy-on-write')
        self.refused('setup --per-core --dir /run', 6, 'is on overlay (mounted at /)')
        self.refused('setup --per-core --dir /mnt/a /mnt/mem', 6, '/mnt/mem is on tmpfs')

    def test_mounted_over(self):
        self.io.put('/proc/self/mountinfo', fake.MOUNTS
                    + '30 20 0:40 / /mnt/a rw - fuse.sshfs host rw')
        self.refused('setup --per-core --dir /mnt/a', 6, 'fuse.sshfs', 'through FUSE')

    def test_similar_mount_point_is_another(self):
        os.mkdir(self.io.at('/mnt/abc'))        # /mnt/a is ext4, but not this
        self.refused('setup --per-core --dir /mnt/abc', 6, 'is on overlay')

    def test_missing_directory(self):
        self.refused('setup --per-core --dir /mnt/nowhere', 6, 'does not exist', 'make it')

    def test_file_as_directory(self):
        self.refused('setup --per-core --dir /proc/swaps', 6, 'neither a directory nor')

    def test_directory_as_device(self):
        self.refused('setup --per-core --device /mnt/a', 6, 'not a block device')

    def test_missing_device(self):
        self.refused('setup --per-core --device /dev/nix', 6, 'does not exist')

    def test_device_in_use(self):
        self.io.add_device('/dev/n0', error=errno.EBUSY)
        self.refused('setup --per-core --device /dev/n0', 6, 'in use')

    def test_device_read_only(self):
        self.io.add_device('/dev/n0', error=errno.EROFS)
        self.refused('setup --per-core --device /dev/n0', 6, 'Read-only')

    def test_device_with_data(self):
        for content in (b'x' + bytes(1 << 20), bytes(65600) + b'_BHRfS_M' + bytes(1 << 20)):
            self.io.add_device('/dev/n0', content)
            self.refused('setup --per-core --device /dev/n0', 6, 'holds data', '--force')

    def test_device_too_small(self):
        self.io.add_device('/dev/n0', bytes(10 * PAGE - 1))
        self.refused('setup --per-core --device /dev/n0', 6, 'too small')

    def test_too_many(self):
        self.io.put('/sys/kernel/mm/scaleswap/areas_max', '4')
        self.io.add_area('/swapfile', -1)
        self.fails(FOUR, 7, '4 more on top of 1 active', 'takes 4')
        self.assertEqual(self.files(), [])
        self.works(FOUR + ' --cpus 0-2')

    def test_bad_sizes(self):
        for size in ('x', '0', '-5M', '1.5', '10%', '39K', '1'):
            self.refused(['setup', '--per-core', '--dir', '/mnt/a', '--size=' + size], 2, 'size')

    def test_bad_size_is_seen_without_root(self):
        self.io.user_is_root = False
        self.refused('setup --per-core --dir /mnt/a --size x', 2, "bad size 'x'")

    def test_bad_cpus(self):
        self.refused(FOUR + ' --cpus 8', 2, 'there is no CPU 8', 'CPUs 0-7')
        self.refused(FOUR + ' --cpus 6-9', 2, 'there is no CPU 8-9')
        for text in ('x', '1-', '3-1', ''):
            self.refused(FOUR.split() + ['--cpus=' + text], 2, 'bad CPU list')

    def test_bad_priorities(self):
        for text in ('-1', '32768', 'x', '1.5', ''):
            self.refused(FOUR.split() + ['--prio=' + text], 2, 'bad priority')

    def test_nowhere(self):
        self.refused('setup --per-core', 2, 'give --dir or --device')

    def test_per_core_is_required(self):
        self.refused('setup --dir /mnt/a', 2, '--per-core')

    def test_given_twice(self):
        self.refused('setup --per-core --dir /mnt/a /mnt/b/../a', 2, 'given twice')

    def test_size_with_devices_only(self):
        self.io.add_device('/dev/n0')
        self.refused('setup --per-core --device /dev/n0 --size 1M', 2, '--size is for files')

    def test_damaged_state(self):
        for text in ('{', '[]', '{}', '{"version": 2, "areas": []}',
                     '{"version": 1, "areas": [{}], "complete": true, "bind_before": null}'):
            self.io.put(STATE, text)
            self.fails(FOUR, 1, 'state.json is damaged')
            self.assertEqual(self.files(), [])

    def test_no_mem_total(self):
        self.io.put('/proc/meminfo', 'Nothing: 1 kB')
        self.refused('setup --per-core --dir /mnt/a', 1, 'MemTotal')


class Lock(SetupCase):
    def test_second_run_waits(self):
        import fcntl
        import threading
        fd = os.open(self.io.at('/run/scaleswap.lock'), os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        seen = []
        threading.Timer(0.3, lambda: (seen.append(self.files()), os.close(fd))).start()
        status, _, err = self.tool(FOUR)
        self.assertEqual((status, seen), (0, [[]]))
        self.assertIn('waiting for another', err)

    def test_is_dropped_after_success_and_failure(self):
        self.works(FOUR)
        self.assertNotIn('waiting', self.fails(FOUR, 6))
        self.works('teardown')


if __name__ == '__main__':
    unittest.main()
