# SPDX-License-Identifier: GPL-2.0
"""The program as it is started: help, version, bad commands, symbolic link, closed pipe."""
import os
import subprocess
import sys
import unittest

import fake

PROGRAM = os.path.join(fake.TOOL, 'scaleswap')
RECORDING = os.path.join(fake.DATA, 'status.rec')


def start(*words, program=PROGRAM):
    done = subprocess.run([sys.executable, '-B', program, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


class Program(fake.Case):
    def test_version(self):
        status, out, _ = start('--version')
        self.assertEqual(status, 0)
        self.assertRegex(out, r'^scaleswap \d+\.\d+\n$')

    def test_help(self):
        status, out, _ = start('--help')
        self.assertEqual(status, 0)
        for name in ('setup', 'teardown', 'status', 'watch', 'exit status'):
            self.assertIn(name, out)

    def test_help_of_each_command(self):
        for name, word in (('setup', '--per-core'), ('teardown', '--keep-files'),
                           ('status', '--json'), ('watch', '--interval')):
            status, out, _ = start(name, '--help')
            self.assertEqual(status, 0, name)
            self.assertIn(word, out)

    def test_no_command(self):
        status, out, err = start()
        self.assertEqual((status, out), (2, ''))
        self.assertIn('usage:', err)

    def test_unknown_command(self):
        status, _, err = start('sutus')
        self.assertEqual(status, 2)
        self.assertIn("invalid choice: 'sutus'", err)

    def test_through_a_symbolic_link(self):
        link = self.root + '/scaleswap'
        os.symlink(PROGRAM, link)
        self.assertEqual(start('--version', program=link)[0], 0)

    def test_executable(self):
        self.assertTrue(os.access(PROGRAM, os.X_OK))

    def test_same_output_as_in_process(self):
        status, out, err = start('status', '--replay', RECORDING)
        self.assertEqual((status, err), (0, ''))
        self.golden('status.txt', out)

    def test_reader_gone(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.Popen([sys.executable, '-B', PROGRAM, 'status', '--replay', RECORDING],
                                stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        err = done.communicate()[1]
        self.assertEqual((done.returncode, err), (0, b''))

    def test_heavy_modules_stay_out(self):
        done = subprocess.run(
            [sys.executable, '-BISX', 'importtime', PROGRAM, 'status', '--replay', RECORDING],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
        names = {line.split('|')[-1].strip() for line in done.stderr.split('\n')}
        self.assertIn('argparse', names)
        self.assertEqual(names & {'shutil', 'subprocess', 'tempfile', 'pathlib', 'typing',
                                  'dataclasses', 'ctypes', 'json', 'ssw_setup'}, set())


if __name__ == '__main__':
    unittest.main()
