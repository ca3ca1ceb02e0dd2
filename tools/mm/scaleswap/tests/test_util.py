# SPDX-License-Identifier: GPL-2.0
"""Sizes, CPU lists, and the escapes of /proc."""
import unittest

import fake  # noqa: F401  (sets the path up)
import ssw_util


class Size(unittest.TestCase):
    def test_good(self):
        for text, size in (('1', 1), ('4096', 4096), ('1K', 1024), ('512M', 512 << 20),
                           ('512m', 512 << 20), ('8G', 8 << 30), ('8GB', 8 << 30),
                           ('8GiB', 8 << 30), ('2T', 2 << 40), ('1.5G', 3 << 29),
                           ('0.1K', 102), (' 3M ', 3 << 20)):
            self.assertEqual(ssw_util.parse_size(text), size, text)

    def test_bad(self):
        for text in ('', ' ', '0', '0M', '-1', '+1', 'M', 'G1', '1X', '1MM', '1.5', '1.M', '.5M',
                     '12B', 'B', 'iB', '1e3', '0x10', '1_000', '\u0661', '\u00b2', '1,5G',
                     'inf', 'nan', '99999999T', '1.5.5M', '1 M x', '5%'):
            with self.assertRaises(ssw_util.ToolError, msg=text) as caught:
                ssw_util.parse_size(text)
            self.assertEqual(caught.exception.code, 2)


class CpuList(unittest.TestCase):
    def test_good(self):
        for text, cpus in (('0', [0]), ('0-3', [0, 1, 2, 3]), ('8,0-1', [0, 1, 8]),
                           ('1,1,0-1', [0, 1]), ('5-5\n', [5])):
            self.assertEqual(ssw_util.parse_cpulist(text), cpus)

    def test_bad(self):
        for text in ('', ',', '1,', 'x', '3-1', '-1', '1-', '1-2-3', '0x1', '\u00b2',
                     '0-99999999999'):
            with self.assertRaises(ValueError, msg=text):
                ssw_util.parse_cpulist(text)

    def test_back(self):
        self.assertEqual(ssw_util.format_cpulist([8, 0, 1, 2]), '0-2,8')
        self.assertEqual(ssw_util.format_cpulist([]), '')


class Text(unittest.TestCase):
    def test_human(self):
        for size, text in ((0, '0B'), (1023, '1023B'), (1024, '1.0K'), (40960, '40.0K'),
                           ((1 << 20) - 1, '1.0M'), (3 << 29, '1.5G'), (5 << 50, '5120.0T')):
            self.assertEqual(ssw_util.human(size), text)

    def test_unescape(self):
        self.assertEqual(ssw_util.unescape('/a\\040b\\134c'), '/a b\\c')
        self.assertEqual(ssw_util.unescape('/\\303\\244'), '/\u00e4')
        self.assertEqual(ssw_util.unescape('/a\\9'), '/a\\9')


if __name__ == '__main__':
    unittest.main()
