# SPDX-License-Identifier: GPL-2.0
"""status: golden table and JSON of a recording, a tree, recording, and bad kernels."""
import json
import os
import re
import shutil
import unittest

import fake

RECORDING = os.path.join(fake.DATA, 'status.rec')
EMPTY = '''\
# scaleswap recording 1
@ 0
/sys/kernel/mm/scaleswap/enabled 1
/sys/kernel/mm/scaleswap/areas_max 247
/proc/sys/vm/scaleswap/bind off
/sys/kernel/mm/scaleswap/stats/alloc_own 0
/sys/kernel/mm/scaleswap/stats/fallback/own_full 0
'''
# With an area, so that all is shown.
ONE = EMPTY + ''.join('/sys/kernel/mm/scaleswap/areas/0/%s\n' % line for line in (
    'cpu -1', 'node -1', 'device_node -1', 'pages 100', 'used 0', 'priority -2',
    'allocs_home 0', 'allocs_foreign 0', 'path /swapfile'))


class Status(fake.Case):
    def tool(self, line, replace=False):
        return super().tool(line, replace)

    def make_tree(self):
        """The recording, laid out as files."""
        tree = self.root + '/tree'
        with open(RECORDING) as file:
            for line in file:
                if line.startswith('/'):
                    name, _, value = line.rstrip('\n').partition(' ')
                    os.makedirs(os.path.dirname(tree + name), exist_ok=True)
                    with open(tree + name, 'w') as one:
                        one.write(value + '\n')
        return tree

    def recording(self, text):
        path = self.root + '/x.rec'
        with open(path, 'w') as file:
            file.write(text)
        return path

    def test_table(self):
        self.golden('status.txt', self.works('status --replay ' + RECORDING))

    def test_json(self):
        text = self.works('status --json --replay ' + RECORDING)
        self.golden('status.json', text)
        status = json.loads(text)
        self.assertEqual(status['totals']['used'], sum(a['used'] for a in status['areas']))
        self.assertEqual([a['type'] for a in status['areas']], [0, 1, 2, 10, 31])

    def test_tree(self):
        self.golden('status.txt', self.works('status --root ' + self.make_tree()))

    def test_record_and_replay(self):
        path = self.root + '/again.rec'
        self.works('status --record %s --root %s' % (path, self.make_tree()))
        self.golden('status.txt', self.works('status --replay ' + path))

    def test_area_gone_while_reading(self):
        # swapoff between the listing and the reading: an empty directory that
        # is gone at the second look.
        import ssw_io
        tree = self.make_tree()
        real = ssw_io.IO.read

        def read(io, path):
            if path.endswith('/areas/2/cpu'):
                shutil.rmtree(tree + os.path.dirname(path))
            return real(io, path)
        ssw_io.IO.read = read
        try:
            status = json.loads(self.works('status --json --root ' + tree))
        finally:
            ssw_io.IO.read = real
        self.assertEqual([a['type'] for a in status['areas']], [0, 1, 10, 31])

    def test_file_of_an_area_missing(self):
        tree = self.make_tree()
        os.unlink(tree + '/sys/kernel/mm/scaleswap/areas/2/used')
        self.fails('status --root ' + tree, 1, 'areas/2/used')

    def test_older_kernel(self):
        # Before slot tables and delegation: what is missing is left out.
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_new(line)]
        path = self.recording(''.join(old))
        out = self.works('status --replay ' + path)
        for text in ('memory for', 'deleg', 'tunables', 'no_table', 'LRU', 'lru', 'fault/',
                     'poll', 'bios', 'clusters of', 'defrag'):
            self.assertNotIn(text, out)
        self.assertTrue(self.works('status --replay ' + RECORDING).startswith(
            out[:out.index('pages allocated')]))
        status = json.loads(self.works('status --json --replay ' + path))
        self.assertEqual({area['tables'] for area in status['areas']}, {None})
        self.assertIsNone(status['totals']['table_bytes'])
        self.assertEqual(status['deleg'], {})
        self.assertEqual(status['lru'], {})
        self.assertEqual(status['fault'], {})
        self.assertEqual(status['io'], {})

    def test_lru(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['lru']['bytes'], 97 * 1584)
        self.assertEqual(status['fallback']['no_shard'], 2)
        out = self.works('status --replay ' + RECORDING)
        self.assertRegex(out, r'lru/allocated +97\n')
        self.assertRegex(out, r'lru/memory +150\.0K\n')
        # It counts folios, so it is not among what counts pages.
        self.assertLess(out.index('LRU lists'), out.index('fallback/no_shard'))
        self.assertEqual(out.count('no_shard'), 1)

    def test_kernel_without_lru(self):
        with open(RECORDING) as file:
            old = [line for line in file
                   if not fake.is_lru(line) and not fake.is_poll(line) and
                   not fake.is_io(line)]
        out = self.works('status --replay ' + self.recording(''.join(old)))
        self.assertTrue(self.works('status --replay ' + RECORDING).startswith(out))
        self.assertNotIn('lru', out.lower())

    def test_lru_not_sharded(self):
        # scaleswap=core: the directory is there, and all in it is 0.
        text = ONE + ''.join('/sys/kernel/mm/scaleswap/lru/%s 0\n' % name for name in
                               ('shards', 'allocated', 'shard_bytes', 'returned', 'moved',
                                'foreign'))
        text += '/sys/kernel/mm/scaleswap/stats/fallback/no_shard 0\n'
        out = self.works('status --replay ' + self.recording(text))
        self.assertTrue(out.endswith('\nLRU lists: not sharded\n'))
        self.assertNotIn('lru/', out)

    def test_unknown_lru_counter(self):
        text = ONE + ('/sys/kernel/mm/scaleswap/lru/shards 4\n'
                        '/sys/kernel/mm/scaleswap/lru/zzz 8\n')
        out = self.works('status --replay ' + self.recording(text))
        self.assertRegex(out, r'lru/shards +4\n +lru/zzz +8\n')
        self.assertNotIn('lru/memory', out)

    def test_fault(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['fault']['mode'], 'auto')
        self.assertEqual(status['fault']['reads_direct'], 40211)
        self.assertEqual(status['fallback']['no_poll'], 290)
        out = self.works('status --replay ' + RECORDING)
        part = out[out.index('pages that faults wait for'):]
        self.assertRegex(part, r'fault/mode +auto\n +fault/poll_us +100\n')
        # About reading, not about slots, so not among what counts these.
        for name in ('no_poll', 'poll_busy', 'poll_down', 'poll_unfit', 'poll_limited'):
            self.assertEqual(out.count('fallback/' + name), 1)
            self.assertIn('fallback/' + name, part)

    def test_kernel_without_poll(self):
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_poll(line) and not fake.is_io(line)]
        out = self.works('status --replay ' + self.recording(''.join(old)))
        self.assertTrue(self.works('status --replay ' + RECORDING).startswith(out))
        self.assertNotIn('poll', out)
        self.assertNotIn('fault/', out)

    def test_fault_off(self):
        # scaleswap=core: the directory is there, the mode stays off, nothing counts.
        off = ONE + '/sys/kernel/mm/scaleswap/fault/mode off\n'
        off += ''.join('/sys/kernel/mm/scaleswap/fault/%s 0\n' % name
                       for name in ('poll_us', 'readahead', 'reads_direct', 'reads_irq'))
        off += '/sys/kernel/mm/scaleswap/stats/fallback/no_poll 0\n'
        out = self.works('status --replay ' + self.recording(off))
        self.assertTrue(out.endswith('\npages that faults wait for: read as in the base kernel\n'))
        self.assertNotIn('no_poll', out)
        # Switched off at run time, it has counted before.
        text = off.replace('reads_direct 0', 'reads_direct 5')
        out = self.works('status --replay ' + self.recording(text))
        self.assertRegex(out, r'fault/mode +off\n')
        self.assertRegex(out, r'fault/reads_direct +5\n')

    def test_unknown_fault_counter(self):
        text = ONE + ('/sys/kernel/mm/scaleswap/fault/mode bio\n'
                        '/sys/kernel/mm/scaleswap/fault/reads_zzz 8\n')
        out = self.works('status --replay ' + self.recording(text))
        self.assertRegex(out, r'fault/mode +bio\n +fault/reads_zzz +8\n')

    def test_io(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['io'], {'bio_pages': 32, 'batches': 2011, 'batched': 61440})
        out = self.works('status --replay ' + RECORDING)
        part = out[out.index('bios of several pages'):]
        self.assertRegex(part, r'io/bio_pages +32\n +io/batches +2011\n +io/batched +61440\n')
        self.assertRegex(part, r'fallback/no_batch +31\n')
        self.assertEqual(out.count('no_batch'), 1)

    def test_kernel_without_io(self):
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_io(line)]
        out = self.works('status --replay ' + self.recording(''.join(old)))
        self.assertTrue(self.works('status --replay ' + RECORDING).startswith(out))
        self.assertNotIn('bios', out)

    def test_io_without_areas(self):
        # What was counted before the last area went off is shown, the setting is not.
        out = self.works('status --replay ' + self.recording(
            EMPTY + '/sys/kernel/mm/scaleswap/io/bio_pages 128\n'
            '/sys/kernel/mm/scaleswap/io/batched 7\n'))
        self.assertRegex(out, r'io/batched +7\n')
        self.assertNotIn('bio_pages', out)

    def test_evictors(self):
        counts = {'threads': 2, 'cpus': '0-1', 'wait_ms': 200, 'batch': 128, 'circulate': 1, 'waits': 12,
                  'held_waits': 4, 'flushed': 3, 'held': 700, 'freed': 600, 'put_back': 100, 'late': 9, 'given': 480}
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['evict'], counts)
        out = self.works('status --replay ' + RECORDING)
        self.assertIn('evictors: 2 a memory node, on CPUs 0-1; tasks wait 200 ms at most; batches of 128\n', out)
        part = out[out.index('evictors, since boot'):]
        self.assertRegex(part, r'evict/waits +12\n +evict/held_waits +4\n')
        self.assertRegex(part, r'evict_stuck +5\n.*evict_late +6\n.*evict_unfit +7\n.*evict_killed +1\n.*evict_walk +4\n')
        self.assertEqual(out.count('evict_late'), 1)
        self.assertRegex(part, r'evict/flushed +3\n +evict/held +700\n +evict/freed +600\n')
        self.assertRegex(part, r'evict/put_back +100\n +evict/late +9\n +evict/given +480\n')
        self.assertRegex(part, r'fallback/pipe_full +2\n')
        self.assertEqual(out.count('pipe_full'), 1)
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_evict(line)]
        self.assertNotIn('evict', self.works('status --replay ' + self.recording(''.join(old))))
        # As long as there were none, there is nothing to say about them.
        with open(RECORDING) as file:
            text = re.sub(r'(/scaleswap/evict/\w+) [-\d]+', r'\1 0', file.read())
        self.assertNotIn('evictors', self.works('status --replay ' + self.recording(text)))
        # They run on the CPUs of their nodes by default.
        with open(RECORDING) as file:
            text = file.read().replace('/evict/cpus 0-1', '/evict/cpus ')
        self.assertIn('on CPUs of the node;', self.works('status --replay ' + self.recording(text)))

    def test_zbatch(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['zbatch'], {'store_batch': 8, 'stored': 4096, 'groups': 512, 'raw': 21,
                                            'lanes': 30, 'lane_pages': 222, 'lane_stored': 200, 'load_batch': 32,
                                            'loaded': 70, 'load_groups': 10, 'load_late': 6,
                                            'spin_us': 50, 'requests': 20, 'units': 150, 'sleeps': 9})
        out = self.works('status --replay ' + RECORDING)
        part = out[out.index('zswap in batches of up to 8 pages, since boot'):]
        self.assertRegex(part, r'zbatch/stored +4096\n +zbatch/groups +512\n +zbatch/raw +21\n +zbatch/lanes +30\n'
                                r' +zbatch/lane_pages +222\n +zbatch/lane_stored +200\n'
                                r' +zbatch/loaded +70\n +zbatch/load_groups +10\n +zbatch/load_late +6\n.*zbatch/requests +20\n +zbatch/units +150\n +zbatch/sleeps +9\n')
        self.assertRegex(part, r'zbatch_poor +64\n.*zbatch_limit +32\n.*zbatch_no_memory +16\n.*zbatch_alone +4\n.*zbatch_unit +2\n')
        self.assertEqual(out.count('zbatch_poor'), 1)
        # As long as there were none, there is nothing to say about them.
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_zbatch(line)]
        self.assertNotIn('zswap', self.works('status --replay ' + self.recording(''.join(old))))
        with open(RECORDING) as file:
            text = re.sub(r'(/zbatch[/_]\w+) \d+', r'\1 0', file.read())
        self.assertNotIn('zswap in', self.works('status --replay ' + self.recording(text)))

    def test_defrag(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['defrag'], {'batch_pages': 128, 'enabled': 1, 'free_low': 12, 'free_high': 25,
                                            'idle_ms': 1000, 'idle_ios': 8, 'max_mb_s': 64, 'drain_mb_s': 0, 'state': 'watching',
                                            'moved': 12011, 'moved_zero': 300, 'moved_zswap': 500,
                                            'bytes_read': 46125056, 'bytes_written': 45924352,
                                            'clusters_freed': 88, 'cached_freed': 17, 'drained': 3003,
                                            'drained_in': 41, 'drain_unreadable': 2})
        self.assertEqual(status['skipped'], {'raced': 49, 'stale': 3, 'shared': 25, 'shmem': 7, 'cached': 11,
                                             'mm_gone': 2, 'mm_busy': 0, 'no_slot': 0, 'no_memory': 1,
                                             'read_error': 0, 'write_error': 0})
        out = self.works('status --replay ' + RECORDING)
        self.assertIn('\ndefragmentation by itself: watching\n', out)
        # What is 0 is not shown, nor is the setting.
        part = out[out.index('defragmentation since boot'):]
        self.assertRegex(part, r'defrag/moved +12011\n +defrag/moved_zero +300\n +defrag/moved_zswap +500\n'
                               r' +defrag/bytes_read +46125056\n +defrag/bytes_written +45924352\n'
                               r' +defrag/clusters_freed +88\n +defrag/cached_freed +17\n +defrag/drained +3003\n'
                               r' +defrag/drained_in +41\n +defrag/drain_unreadable +2\n'
                               r' +defrag/skipped/raced +49\n.*stale +3\n.*shared +25\n.*shmem +7\n.*cached +11\n'
                               r'.*mm_gone +2\n.*no_memory +1\n$')
        self.assertNotIn('batch_pages', out)
        with open(RECORDING) as file:
            text = re.sub(r'(/defrag/\S+) \d+', r'\1 0', file.read())
        self.assertNotIn('defrag', self.works('status --replay ' + self.recording(text)))

    def test_clusters(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual([a['frag_index'] for a in status['areas']], [9, 0, 0, 604, 0])
        out = self.works('status --replay ' + RECORDING)
        part = out[out.index('clusters of per-core areas'):].split('\n\n')[0].split('\n')
        # Plain areas have none. Shares of different wholes have no sum.
        self.assertEqual([line.split() for line in part[1:]], [
            ['TYPE', 'CPU', 'FREE', 'SPARSE', 'FRAG'], ['0', '0', '126', '3', '9'], ['1', '1', '0', '0', '0'],
            ['2', '2', '2048', '0', '0'], ['10', '3', '200', '290', '604'], ['all', '2374', '293'],
            'area 10 is drained: moving, 4711 pages left, 2 of them unreadable'.split()])

    def test_kernel_without_defrag(self):
        with open(RECORDING) as file:
            old = [line for line in file if not fake.is_defrag(line)]
        path = self.recording(''.join(old))
        out = self.works('status --replay ' + path)
        self.assertTrue(self.works('status --replay ' + RECORDING).startswith(out))
        for text in ('defrag', 'clusters of', 'FRAG'):
            self.assertNotIn(text, out)
        status = json.loads(self.works('status --json --replay ' + path))
        self.assertEqual((status['defrag'], status['skipped']), ({}, {}))
        self.assertEqual({area['free_clusters'] for area in status['areas']}, {None})

    def test_memory(self):
        status = json.loads(self.works('status --json --replay ' + RECORDING))
        self.assertEqual(status['totals']['tables'], sum(a['tables'] for a in status['areas']))
        out = self.works('status --replay ' + RECORDING)
        memory = out[out.index('memory for'):out.index('pages allocated')].split('\n')
        # The plain area has no tables of this kind, so it is not there; nothing
        # is divided by zero used pages.
        self.assertEqual([line.split()[0] for line in memory[2:-2]], ['0', '1', '2', '10', 'all'])
        self.assertEqual(memory[4].split()[-2:], ['0.24', '-'])

    def test_plain_areas_only(self):
        tree = self.make_tree()
        for kind in (0, 1, 2, 10):
            shutil.rmtree('%s/sys/kernel/mm/scaleswap/areas/%d' % (tree, kind))
        out = self.works('status --root ' + tree)
        self.assertNotIn('memory for', out)
        self.assertIn('0 per-core, 1 plain', out)

    def without_areas(self):
        """The recording before the first swapon: settings as they are, all counters 0."""
        kept = []
        with open(RECORDING) as file:
            for line in file:
                if '/areas/' in line:
                    continue
                name, _, value = line.rstrip('\n').rpartition(' ')
                counts = '/stats/' in name or '/fault/reads_' in name or name.endswith(
                    ('/batches', '/batched', '/returned', '/moved', '/foreign'))
                kept.append('%s %s\n' % (name, '0' if counts else value))
        return kept

    def test_no_area(self):
        # What to do about it, and no column of zeros.
        text = ''.join(self.without_areas())
        self.assertGreater(text.count(' 0\n'), 30)
        out = self.works('status --replay ' + self.recording(text))
        self.golden('status-empty.txt', out)
        self.assertNotRegex(out, r'(?m) 0$')
        # For programs it is all there as always.
        status = json.loads(self.works('status --json --replay ' + self.recording(text)))
        self.assertEqual(status['stats']['alloc_own'], 0)

    def test_no_area_any_more(self):
        # Areas that are gone have left counters behind: those, and no others.
        text = ''.join(self.without_areas()).replace('alloc_own 0', 'alloc_own 51').replace(
            'own_full 0', 'own_full 3').replace('reads_bio 0', 'reads_bio 9').replace(
            'bind auto', 'bind off')
        out = self.works('status --replay ' + self.recording(text))
        self.golden('status-gone.txt', out)
        self.assertNotRegex(out, r'(?m) 0$')

    def test_no_area_and_older_kernel(self):
        out = self.works('status --replay ' + self.recording(EMPTY))
        self.assertIn('no swap area is active', out)
        self.assertIn('0 per-core, 0 plain, at most 247', out)
        for text in ('LRU', 'faults', 'boot'):
            self.assertNotIn(text, out)

    def test_no_area_nor_shards(self):
        for shards, text in ((0, 'LRU lists: not sharded'),
                             (4, 'LRU lists: sharded by CPU in 4 ways')):
            out = self.works('status --replay ' + self.recording(
                EMPTY + '/sys/kernel/mm/scaleswap/lru/shards %d\n' % shards))
            self.assertTrue(out.endswith(text + '\n'), out)

    def test_escaped_path(self):
        tree = self.make_tree()
        with open(tree + '/sys/kernel/mm/scaleswap/areas/2/path', 'w') as file:
            file.write('/a\\134b\\012c\n')
        status = json.loads(self.works('status --json --root ' + tree))
        self.assertEqual(status['areas'][2]['path'], '/a\\b\nc')
        self.assertIn('  /a\\134b\\012c\n', self.works('status --root ' + tree))

    def test_unknown_counter_is_shown_last(self):
        text = ONE + ('/sys/kernel/mm/scaleswap/stats/aaa 7\n'
                        '/sys/kernel/mm/scaleswap/stats/fallback/bbb 8\n')
        out = self.works('status --replay ' + self.recording(text))
        self.assertRegex(out, r'alloc_own +0\n +aaa +7\n')
        self.assertRegex(out, r'own_full +0\n +fallback/bbb +8\n')

    def test_not_a_number(self):
        text = EMPTY.replace('areas_max 247', 'areas_max many')
        self.fails('status --replay ' + self.recording(text), 1, "'many' is not a number")

    def test_no_feature(self):
        tree = self.make_tree()
        shutil.rmtree(tree + '/sys/kernel/mm/scaleswap')
        self.fails('status --root ' + tree, 4, 'no ScaleSwap', 'CONFIG_SCALESWAP=y')

    def test_no_sysfs(self):
        tree = self.make_tree()
        shutil.rmtree(tree + '/sys')
        self.fails('status --root ' + tree, 4, 'mount -t sysfs')

    def test_switched_off(self):
        text = EMPTY.replace('enabled 1', 'enabled 0')
        self.fails('status --replay ' + self.recording(text), 4, 'add scaleswap=on')

    def test_root_missing(self):
        self.fails('status --root %s/nowhere' % self.root, 6, 'is not a directory')

    def test_recording_missing(self):
        self.fails('status --replay %s/nowhere' % self.root, 1, 'No such file')

    def test_bad_recordings(self):
        for text in ('', 'hello\n', '# scaleswap recording 1\n',
                     '# scaleswap recording 1\n/a 1\n', '# scaleswap recording 1\n@ x\n',
                     '# scaleswap recording 1\n@ 1\nrubbish\n'):
            self.fails('status --replay ' + self.recording(text), 2)

    def test_sources_exclude_each_other(self):
        self.fails('status --root /x --replay /y', 2)
        self.fails('status --record /x --replay /y', 2)


if __name__ == '__main__':
    unittest.main()
