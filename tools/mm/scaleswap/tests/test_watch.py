# SPDX-License-Identifier: GPL-2.0
"""watch: golden rates of a recording, areas that come and go, bad arguments."""
import os
import unittest

import fake
import ssw_watch

RECORDING = os.path.join(fake.DATA, 'watch.rec')


class Watch(fake.Case):
    def tool(self, line, replace=False):
        return super().tool(line, replace)

    def test_golden(self):
        self.golden('watch.txt', self.works('watch --replay ' + RECORDING))

    def test_count(self):
        out = self.works('watch --count 1 --replay ' + RECORDING)
        self.assertEqual(out.count('after '), 1)
        with open(os.path.join(fake.DATA, 'watch.txt')) as file:
            self.assertTrue(file.read().startswith(out))

    def test_record_and_replay(self):
        # A tree stands still: all rates are 0.
        tree = self.root + '/tree'
        frames = 0
        with open(RECORDING) as file:
            for line in file:
                frames += line.startswith('@')
                if line.startswith('/') and frames == 1:
                    name, _, value = line.rstrip('\n').partition(' ')
                    os.makedirs(os.path.dirname(tree + name), exist_ok=True)
                    with open(tree + name, 'w') as one:
                        one.write(value + '\n')
        path = self.root + '/x.rec'
        live = self.works('watch --interval 0.01 --count 2 --root %s --record %s' % (tree, path))
        self.assertEqual(self.works('watch --replay ' + path), live)
        self.assertIn('alloc_own 0,', live)

    def test_older_kernel(self):
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_new(line)]
        path = self.root + '/old.rec'
        with open(path, 'w') as file:
            file.writelines(old)
        out = self.works('watch --count 1 --replay ' + path)
        self.assertNotIn('events/s', out)
        self.assertNotIn('LRU', out)
        self.assertNotIn('awaited', out)
        self.assertNotIn('moved', out)
        self.assertRegex(out, r'   0    0  7\.8M     3%       -    1000 ')
        self.assertRegex(out, r' all       9\.0M     0%       -    1100 ')

    def test_lru(self):
        out = self.works('watch --count 1 --replay ' + RECORDING)
        self.assertIn('LRU lists/s: lru/returned 300, lru/foreign 1, fallback/no_shard 0; '
                      'shards 48, 74.2K\n', out)
        self.assertNotIn('lru/shard', out)

    def test_lru_not_sharded(self):
        with open(RECORDING) as file:
            text = file.read().replace('/lru/shards 4', '/lru/shards 0')
        path = self.root + '/core.rec'
        with open(path, 'w') as file:
            file.write(text)
        self.assertNotIn('LRU', self.works('watch --replay ' + path))

    def test_fault(self):
        out = self.works('watch --count 1 --replay ' + RECORDING)
        self.assertIn('awaited pages/s: fault/reads_direct 1000, fault/reads_bio 0, '
                      'fault/reads_irq 5, fault/reads_late 1, fault/reads_retried 0, '
                      'fallback/no_poll 0, fallback/poll_busy 4, fallback/poll_down 1, '
                      'fallback/poll_unfit 0, fallback/poll_limited 0; mode direct\n', out)
        self.assertNotIn('poll_us', out)

    def test_moves(self):
        out = self.works('watch --count 1 --replay ' + RECORDING)
        self.assertIn('moved slots/s: defrag/moved 500, defrag/skipped 3\n', out)

    def test_maximum_has_no_rate(self):
        out = self.works('watch --replay ' + RECORDING)
        self.assertNotIn('deleg_queue_max', out)
        self.assertIn('longest queue since boot 9\n', out)

    def test_interrupt_is_the_usual_end(self):
        import ssw_io
        real = ssw_io.Replay.sleep

        def sleep(io, seconds):
            raise KeyboardInterrupt
        ssw_io.Replay.sleep = sleep
        try:
            self.assertEqual(self.tool('watch --replay ' + RECORDING), (0, '', ''))
        finally:
            ssw_io.Replay.sleep = real

    def test_one_frame(self):
        self.fails('watch --count 1 --replay %s/status.rec' % fake.DATA, 2, 'one frame')

    def test_bad_arguments(self):
        for text in ('0', '-1', 'x', 'nan', 'inf', '1e9', ''):
            self.fails(['watch', '--interval=' + text, '--replay', RECORDING], 2, 'bad interval')
        for text in ('0', '-1', '1.5', 'x'):
            self.fails(['watch', '--count=' + text, '--replay', RECORDING], 2, 'bad count')

    def test_counter_that_fell(self):
        self.assertEqual(ssw_watch.grown(10, 4), 6)
        self.assertEqual(ssw_watch.grown(3, 4), 3)

    def test_no_time_passed(self):
        self.assertEqual(ssw_watch.per_second(5, 0), '-')


if __name__ == '__main__':
    unittest.main()
