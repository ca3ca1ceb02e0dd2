# SPDX-License-Identifier: GPL-2.0
"""teardown: what it removes, and above all what it does not."""
import errno
import json
import os
import signal
import unittest

import fake
from fake import AREAS, BIND
from test_setup import FILES, FOUR, STATE


class Teardown(fake.Case):
    def setUp(self):
        super().setUp()
        self.works(FOUR)

    def active(self):
        return self.io.active_swaps()

    def assert_gone(self):
        self.assertEqual((self.active(), self.files()), ([], []))
        self.assertFalse(self.io.lexists(STATE))

    def test_all_gone(self):
        out = self.works('teardown')
        self.assertIn('4 areas switched off\n', out)
        self.assert_gone()

    def test_golden_dry_run(self):
        self.golden('teardown-dry.txt', self.works('teardown --dry-run'))
        self.assertEqual(self.io.log, [])
        self.assertEqual(len(self.active()), 4)
        self.assertTrue(self.io.lexists(STATE))

    def test_again_does_nothing(self):
        self.works('teardown')
        self.assertEqual(self.works('teardown'), '0 areas switched off\n')
        self.assertEqual(self.io.log, [])

    def test_keep_files(self):
        self.works('teardown --keep-files')
        self.assertEqual((self.active(), sorted(self.files())), ([], sorted(FILES)))
        self.works(FOUR + ' --reuse')
        self.assertEqual(len(self.active()), 4)

    def test_other_areas_stay(self):
        self.io.put('/mnt/a/other', 'x')
        self.io.add_area('/mnt/a/other', 2)
        self.io.add_area('/mnt/a/plain', -1)
        self.works('teardown')
        self.assertEqual(self.active(), ['/mnt/a/other', '/mnt/a/plain'])

    def test_all(self):
        self.io.put('/mnt/a/other', 'x')
        self.io.add_area('/mnt/a/other', 2)
        self.io.add_area('/mnt/a/plain', -1)
        self.works('teardown --all')
        self.assertEqual(self.active(), ['/mnt/a/plain'])
        self.assertEqual(self.files(), ['/mnt/a/other'])       # not ours: not removed

    def test_reused_file_stays(self):
        self.works('teardown --keep-files')
        self.works(FOUR + ' --reuse')
        self.works('teardown')
        self.assertEqual(sorted(self.files()), sorted(FILES))

    def test_reused_after_a_reboot_is_still_ours(self):
        # The areas are off, the notes and the files are there.
        for path in FILES:
            self.io.syscall_swapoff(path)
        self.works(FOUR + ' --reuse')
        self.works('teardown')
        self.assert_gone()

    def test_device_stays(self):
        self.io.add_device('/dev/n0')
        self.works('teardown')
        self.works('setup --per-core --device /dev/n0')
        self.works('teardown')
        self.assertEqual(self.active(), [])
        self.assertTrue(self.io.lexists('/dev/n0'))

    def test_replaced_file_stays(self):
        self.io.syscall_swapoff(FILES[0])
        # Renamed over, so that the new file cannot get the old inode number.
        self.io.put('/mnt/a/new', 'precious')
        os.rename(self.io.at('/mnt/a/new'), self.io.at(FILES[0]))
        status, _, err = self.tool('teardown')
        self.assertEqual(status, 0)
        self.assertIn('not the file that setup made', err)
        self.assertEqual(self.files(), [FILES[0]])

    def test_removed_file_is_no_error(self):
        self.io.syscall_swapoff(FILES[0])
        os.unlink(self.io.at(FILES[0]))
        self.works('teardown')
        self.assert_gone()

    def test_failure_keeps_the_area_for_next_time(self):
        self.io.fail['swapoff', FILES[1]] = errno.ENOMEM
        self.fails('teardown', 1, 'not enough memory', '1 of 4')
        self.assertEqual((self.active(), self.files()), ([FILES[1]], [FILES[1]]))
        self.io.fail = {}
        self.works('teardown')
        self.assert_gone()

    def test_file_cannot_be_removed(self):
        self.io.fail['unlink', FILES[1]] = errno.EROFS
        self.fails('teardown', 1, 'cannot remove %s: Read-only' % FILES[1])
        self.io.fail = {}
        self.works('teardown')
        self.assert_gone()

    def test_interrupted(self):
        def stop():
            os.kill(os.getpid(), signal.SIGINT)
            raise OSError(errno.EINTR, 'Interrupted system call')
        self.io.fail['swapoff', FILES[1]] = stop
        self.fails('teardown', 130, 'interrupted')
        self.assertEqual(self.active(), FILES[1:])
        self.io.fail = {}
        self.works('teardown')
        self.assert_gone()

    def test_after_a_killed_setup(self):
        # As SIGKILL leaves it: notes from the plan, the setting, half the areas.
        state = json.loads(self.io.read(STATE))
        state['complete'] = False
        for area in state['areas']:
            area['id'] = None
        self.io.put(STATE, json.dumps(state))
        self.io.put(BIND, '2')
        for path in FILES[2:]:
            self.io.syscall_swapoff(path)
        os.unlink(self.io.at(FILES[3]))
        self.works('teardown')
        self.assert_gone()
        self.assertEqual(self.io.read(BIND), 'auto')

    def test_not_root(self):
        self.io.user_is_root = False
        self.fails('teardown', 3)
        self.assertEqual(len(self.active()), 4)

    def test_all_needs_the_feature(self):
        os.rename(self.io.at('/sys/kernel/mm'), self.io.at('/sys/kernel/xx'))
        self.fails('teardown --all', 4)

    def test_own_areas_need_no_feature(self):
        os.rename(self.io.at(AREAS), self.io.at('/sys/xx'))
        os.mkdir(self.io.at(AREAS))
        self.works('teardown')
        self.assert_gone()

    def test_damaged_state(self):
        self.io.put(STATE, 'rubbish')
        self.fails('teardown', 1, 'is damaged', '--forget')
        self.works('teardown --all --forget')
        self.assertEqual((self.active(), len(self.files())), ([], 4))
        self.assertFalse(self.io.lexists(STATE))

    def test_forget_alone(self):
        self.fails('teardown --forget', 2, '--all')


if __name__ == '__main__':
    unittest.main()
