# SPDX-License-Identifier: GPL-2.0
"""scaleswap status: areas, use and counters, as a table or JSON.

collect() is also what watch reads.
"""
import errno

import ssw_io
from ssw_util import BIND, EXIT_FAILED, SYS, ToolError, escape, human, table, unescape

DESCRIPTION = """\
Shows each swap area (per-core and plain), how full it is, how many pages its
home CPU and other CPUs allocated from it, the memory that the kernel keeps for
the slots of per-core areas and for LRU shards, how pages that faults wait for
are read, how free space is spread, and the counters of the kernel. Needs no
root."""

EPILOG = """\
columns:
  TYPE     number of the area in the kernel      CPU    home CPU, - for a plain area
  NODE     NUMA node of the CPU / of the device  PRIO   swap priority
  HOME     pages allocated by the home CPU       FOREIGN  by other CPUs
  TABLES   slot tables, one for each cluster of 512 slots that is in use
  MEMORY   of the tables and of what is there whether slots are in use or not
  B/SLOT   MEMORY by the size of the area        B/USED   by the pages in use

LRU lists:
  lru/shards     in how many ways                lru/memory    of all shards there are
  lru/allocated  shards there are, of all memory cgroups and nodes
  lru/returned   pages that came back to the shard they had been in
  lru/moved      pages that came back to another shard
  lru/foreign    times that a CPU reclaimed from another one's shard first
  lru/small      folios for which their group was too small for one more shard

pages that faults wait for:
  fault/mode          how they are read          fault/poll_us    for how long to poll
  fault/readahead     1: neighbours are read     fault/reads_*    read directly, by a
                      behind them                polled bio, by interrupt; of all these:
                                                 handed over (late), read twice (retried)

bios of several pages, for writes and readahead:
  io/bio_pages   most pages in one bio           io/batched    pages in such bios (io/batches)
  fallback/no_batch   pages that had a bio each, since their device passes bios on

evictors, in pages:
  evict/held   unmapped, in so many batches (evict/flushed)
  evict/freed  of these; others were put back, some of them late, while being written
  evict/threads, cpus  how many there are on a node, and where
  evict/wait_ms, batch  how long tasks wait for them; pages they flush from TLBs together
  evict/given  pages freed to the CPU that used them, if evict/circulate is 1
  evict/waits  times that tasks waited, and got memory; held_waits: that they found nothing to reclaim, and
               waited for what evictors held
  fallback/evict_*    times that they reclaimed instead: nothing could be freed (stuck), not in
                      time (late), they must not wait (unfit), killed
  fallback/pipe_full  times that all batches waited for writes

zswap in batches of up to zbatch/store_batch, in pages:
  zbatch/stored  of large folios; zbatch/raw: of these, kept as they are, as they get no shorter
  zbatch/groups  in which they were stored
  zbatch/lane_pages   of other folios, which reclaim put aside; lane_stored: of these, in zswap
  zbatch/lanes        times that it stored what it had put aside
  zbatch/loaded       read ahead, up to zbatch/load_batch put aside, in load_groups
  zbatch/load_late    of these, loaded by a worker, since their task slept
  fallback/zbatch_*   of folios that went to their area: (too many) pages get no shorter (poor),
                      zswap or the memory cgroup was full (limit), no memory;
                      read one by one, as there was no memory to put them aside (alone), or as they
                      could not be decompressed with others (unit)
  zbatch/units        given to compressors that take several, in so many requests; sleeps: times that tasks
                      slept until these had ended, after zbatch/spin_us microseconds

clusters of per-core areas, of 512 slots, and defragmentation, in pages:
  FREE   clusters without a slot in use          SPARSE  with some, at most half of them
  FRAG   how much of the free space is in clusters in use, of 1000; "echo 1" into areas/TYPE/compact
         moves slots together
  defrag/moved  to another slot; of these, all zeroes (moved_zero) and in zswap (moved_zswap)
  defrag/bytes_read, bytes_written   for that, in bytes
  defrag/clusters_freed   clusters that moves have emptied
  defrag/cached_freed     freed instead, as only the swap cache had them
  defrag/drained          moved to another area, from one that is being emptied (areas/TYPE/drain);
                          drained_in: mapped instead; drain_unreadable: the device fails to read them
  defrag/skipped/*        not moved: used meanwhile (raced), not where the slot says (stale), shared,
                          shmem's, in the swap cache (cached), of a process that is exiting (mm_gone)
                          or changes its address space (mm_busy); no empty cluster (no_slot), no
                          memory, errors of the device
"""

NUMBERS = ('cpu', 'node', 'device_node', 'pages', 'used', 'priority', 'allocs_home',
           'allocs_foreign')
# Files that a kernel without slot tables does not have; its areas have None.
MEMORY = ('tables', 'table_bytes')
# Files of areas that a kernel without defragmentation does not have.
CLUSTERS = ('free_clusters', 'sparse_clusters', 'frag_index')
# The same; how far an area has been emptied is a word.
DRAIN = 'drain_state'
UNREADABLE = 'drain_unreadable'
# The order to print in; counters a newer kernel has come after these, by name.
STATS = ('alloc_own', 'alloc_node', 'alloc_remote', 'alloc_plain', 'alloc_fail',
         'deleg_allocs', 'deleg_requester', 'deleg_holder', 'deleg_delegator', 'deleg_waits',
         'deleg_frees', 'deleg_queue_max', 'reclaim_retried', 'swapoff_noted', 'swapoff_stale',
         'swapoff_scanned')
FALLBACK = ('own_full', 'no_area', 'no_block', 'all_full', 'no_table', 'no_rmap', 'no_shard',
            'no_poll', 'poll_busy', 'poll_down', 'poll_unfit', 'poll_limited', 'no_batch',
            'pipe_full', 'evict_stuck', 'evict_late', 'evict_unfit', 'evict_killed', 'evict_walk',
            'zbatch_poor', 'zbatch_limit', 'zbatch_no_memory', 'zbatch_alone', 'zbatch_unit')
# This one counts folios, and is about LRU lists.
NO_SHARD = 'no_shard'
# These are about reading pages, not about slots.
POLL = ('no_poll', 'poll_busy', 'poll_down', 'poll_unfit', 'poll_limited')
# This one is about bios of several pages.
NO_BATCH = 'no_batch'
FAULT = ('mode', 'poll_us', 'readahead', 'reads_direct', 'reads_bio', 'reads_irq', 'reads_late',
         'reads_retried')
IO = ('bio_pages', 'batches', 'batched')
EVICT = ('threads', 'cpus', 'wait_ms', 'batch', 'circulate', 'waits', 'held_waits', 'flushed', 'held', 'freed',
         'put_back', 'late', 'given')
# How evictors are set; the second one is a list of CPUs.
EVICT_SET = ('threads', 'cpus', 'wait_ms', 'batch', 'circulate')
CPUS = 'cpus'
# These are about evictors.
EVICTORS = ('pipe_full', 'evict_stuck', 'evict_late', 'evict_unfit', 'evict_killed', 'evict_walk')
ZBATCH = ('store_batch', 'stored', 'groups', 'raw', 'lanes', 'lane_pages', 'lane_stored', 'load_batch', 'loaded',
          'load_groups', 'load_late', 'spin_us', 'requests', 'units', 'sleeps')
# These are about zswap.
ZSWAP = ('zbatch_poor', 'zbatch_limit', 'zbatch_no_memory', 'zbatch_alone', 'zbatch_unit')
# How zswap in batches is set
ZBATCH_SET = ('store_batch', 'load_batch', 'spin_us')
# How defragmentation is set, and what it does by itself, a word
DEFRAG_SET = ('batch_pages', 'enabled', 'free_low', 'free_high', 'idle_ms', 'idle_ios', 'max_mb_s',
              'drain_mb_s')
STATE = 'state'
DEFRAG = DEFRAG_SET + (
    STATE, 'moved', 'moved_zero', 'moved_zswap', 'bytes_read', 'bytes_written', 'clusters_freed', 'cached_freed',
    'drained', 'drained_in', 'drain_unreadable')
SKIPPED = ('raced', 'stale', 'shared', 'shmem', 'cached', 'mm_gone', 'mm_busy', 'no_slot', 'no_memory',
           'read_error', 'write_error')
# The only one of reads that is a word.
MODE = 'mode'
READS = 'reads_'
LRU = ('shards', 'allocated', 'shard_bytes', 'returned', 'moved', 'foreign', 'small')
TUNABLES = ('wake_threshold', 'batch')
# These count events, not pages; the last one is no counter, but a maximum.
DELEG = 'deleg_'
RECLAIM = 'reclaim_'
# These count pages that come back.
SWAPOFF = 'swapoff_'
QUEUE_MAX = 'deleg_queue_max'


def add_source_arguments(parser):
    parser.add_argument('--root', metavar='DIR', help='read a copy of /sys and /proc under DIR')
    parser.add_argument('--replay', metavar='FILE', help='read a recording')
    parser.add_argument('--record', metavar='FILE', help='save all that is read to a recording')


def add_arguments(parser):
    parser.add_argument('--json', action='store_true', help='print JSON')
    add_source_arguments(parser)


def number(path, text):
    try:
        return int(text)
    except ValueError:
        raise ToolError(EXIT_FAILED, "%s: '%s' is not a number" % (path, text),
                        'do the tool and the kernel belong together?')


def read_counters(io, directory, order, words=()):
    """The numbers in a directory, and @words; none if the kernel is too old to have it."""
    if not io.is_dir(directory):
        return {}
    names = [name for name in io.listdir(directory) if not io.is_dir(directory + '/' + name)]
    names.sort(key=lambda n: (order.index(n) if n in order else len(order), n))
    texts = {name: io.read(directory + '/' + name) for name in names}
    return {name: text if name in words else number(directory + '/' + name, text)
            for name, text in texts.items()}


def read_optional(io, path, word=False):
    """A number, or a word; None when there is no such file."""
    try:
        return io.read(path) if word else number(path, io.read(path))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return None


def read_area(io, kind):
    """One area as a dict; None when it was switched off meanwhile."""
    place = '%s/areas/%s/' % (SYS, kind)
    area = {'type': number(place, kind)}
    try:
        for name in NUMBERS:
            area[name] = number(place + name, io.read(place + name))
        for name in MEMORY + CLUSTERS + (UNREADABLE,):
            area[name] = read_optional(io, place + name)
        area[DRAIN] = read_optional(io, place + DRAIN, word=True)
        area['path'] = unescape(io.read(place + 'path'))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV) and not io.is_dir(place[:-1]):
            return None
        raise
    return area


def read_lru(io):
    """What there is about LRU shards, and their memory; none if they are not built in."""
    lru = read_counters(io, SYS + '/lru', LRU)
    if 'allocated' in lru and 'shard_bytes' in lru:
        lru['bytes'] = lru['allocated'] * lru['shard_bytes']
    return lru


def collect(io):
    """All there is to show, as a dict that can be printed as JSON."""
    ssw_io.require_feature(io)
    page_size = io.page_size()
    areas = []
    for kind in sorted(io.listdir(SYS + '/areas'), key=lambda n: number(SYS + '/areas', n)):
        area = read_area(io, kind)
        if area:
            areas.append(area)
    totals = {name: sum(area[name] for area in areas)
              for name in ('pages', 'used', 'allocs_home', 'allocs_foreign')}
    for name in MEMORY:
        known = [area[name] for area in areas if area[name] is not None]
        totals[name] = sum(known) if known else None
    totals['per_core'] = sum(area['cpu'] >= 0 for area in areas)
    totals['plain'] = len(areas) - totals['per_core']
    return {
        'enabled': True,
        'bind': io.read(BIND),
        'areas_max': number('areas_max', io.read(SYS + '/areas_max')),
        'page_size': page_size,
        'areas': areas,
        'totals': totals,
        'stats': read_counters(io, SYS + '/stats', STATS),
        'fallback': read_counters(io, SYS + '/stats/fallback', FALLBACK),
        'deleg': read_counters(io, SYS + '/deleg', TUNABLES),
        'lru': read_lru(io),
        'fault': read_counters(io, SYS + '/fault', FAULT, (MODE,)),
        'io': read_counters(io, SYS + '/io', IO),
        'evict': read_counters(io, SYS + '/evict', EVICT, (CPUS,)),
        'zbatch': read_counters(io, SYS + '/zbatch', ZBATCH),
        'defrag': read_counters(io, SYS + '/defrag', DEFRAG, (STATE,)),
        'skipped': read_counters(io, SYS + '/defrag/skipped', SKIPPED),
    }


def dash(value):
    return '-' if value < 0 else str(value)


def nodes(area):
    return '%s/%s' % (dash(area['node']), dash(area['device_node']))


def percent(part, whole):
    return '%d%%' % (100 * part // whole) if whole else '-'


def quotient(part, whole):
    return '%.2f' % (part / whole) if whole else '-'


def memory(status):
    """The lines about memory for slots; plain areas keep theirs elsewhere."""
    areas = [area for area in status['areas']
             if area['cpu'] >= 0 and area['table_bytes'] is not None]
    if not areas:
        return []
    total = {'type': 'all', 'cpu': ''}
    for name in ('tables', 'table_bytes', 'pages', 'used'):
        total[name] = sum(area[name] or 0 for area in areas)
    rows = [['TYPE', 'CPU', 'TABLES', 'MEMORY', 'B/SLOT', 'B/USED']]
    for area in areas + [total]:
        rows.append([str(area['type']), str(area['cpu']),
                     '-' if area['tables'] is None else str(area['tables']),
                     human(area['table_bytes']), quotient(area['table_bytes'], area['pages']),
                     quotient(area['table_bytes'], area['used'])])
    return ['', 'memory for the slots of per-core areas:'] + table(rows)


def pages(status):
    """Counters in pages, as (name, number)."""
    return ([(name, value) for name, value in status['stats'].items()
             if not name.startswith((DELEG, RECLAIM, SWAPOFF))] +
            [('fallback/' + name, value) for name, value in status['fallback'].items()
             if name not in (NO_SHARD, NO_BATCH) and name not in POLL + EVICTORS + ZSWAP])


def delegation(status):
    """Counters of events in the queues of areas, as (name, number)."""
    return [(name, value) for name, value in status['stats'].items() if name.startswith(DELEG)]


def reclaim(status):
    """Counters of events in reclaim, as (name, number)."""
    return [(name, value) for name, value in status['stats'].items() if name.startswith(RECLAIM)]


def swapoff(status):
    """Counters of what swapoff found how, in pages, as (name, number)."""
    return [(name, value) for name, value in status['stats'].items() if name.startswith(SWAPOFF)]


def lru(status):
    """Counters of LRU shards, as (name, number); none while lists are not sharded."""
    if not status['lru'].get('shards'):
        return []
    values = [('lru/' + name, value) for name, value in status['lru'].items()
              if name not in ('shards', 'allocated', 'shard_bytes', 'bytes')]
    if NO_SHARD in status['fallback']:
        values.append(('fallback/' + NO_SHARD, status['fallback'][NO_SHARD]))
    return values


def lru_lines(status):
    """The lines about LRU shards."""
    now = status['lru']
    if not now:
        return []
    if not now.get('shards'):
        return ['', 'LRU lists: not sharded']
    rows = [['lru/' + name, str(now[name])] for name in LRU[:3] if name in now]
    if 'bytes' in now:
        rows.append(['lru/memory', human(now['bytes'])])
    rows += [[name, str(value)] for name, value in lru(status)]
    return ['', 'LRU lists, sharded by CPU:'] + ['  ' + line for line in table(rows, left=(0,))]


def fault(status):
    """Counters of pages that faults waited for, as (name, number); none if all is off."""
    values = [('fault/' + name, value) for name, value in status['fault'].items()
              if name.startswith(READS)]
    values += [('fallback/' + name, value) for name, value in status['fallback'].items()
               if name in POLL]
    off = status['fault'].get(MODE, 'off') == 'off'
    return [] if off and not any(value for _, value in values) else values


def fault_lines(status):
    """The lines about pages that faults wait for."""
    now = status['fault']
    if not now:
        return []
    values = fault(status)
    if not values:
        return ['', 'pages that faults wait for: read as in the base kernel']
    rows = [['fault/' + name, str(value)] for name, value in now.items()
            if not name.startswith(READS)]
    rows += [[name, str(value)] for name, value in values]
    return ['', 'pages that faults wait for, reads since boot:'] + [
        '  ' + line for line in table(rows, left=(0,))]


def bios(status):
    """Counters of bios of several pages, as (name, number)."""
    values = [('io/' + name, value) for name, value in status['io'].items() if name != IO[0]]
    if NO_BATCH in status['fallback']:
        values.append(('fallback/' + NO_BATCH, status['fallback'][NO_BATCH]))
    return values


def bio_lines(status):
    """The lines about bios of several pages."""
    rows = [['io/' + name, str(value)] for name, value in status['io'].items() if name == IO[0]]
    rows += [[name, str(value)] for name, value in bios(status)]
    if not rows:
        return []
    return ['', 'bios of several pages, for writes and readahead, since boot:'] + [
        '  ' + line for line in table(rows, left=(0,))]


def evictors(status):
    """Counters of evictors, as (name, number)."""
    values = [('evict/' + name, value) for name, value in status['evict'].items()
              if name not in EVICT_SET]
    return values + [('fallback/' + name, status['fallback'][name]) for name in EVICTORS
                     if name in status['fallback']]


def evictor_lines(status):
    """The lines about evictors, if there are or have been any."""
    now = status['evict']
    rows = [[name, str(value)] for name, value in evictors(status)]
    lines = []
    if now.get('threads'):
        lines = ['', 'evictors: %d a memory node, on CPUs %s; tasks wait %d ms at most; batches of %d' %
                 (now['threads'], now.get(CPUS) or 'of the node', now.get('wait_ms', 0),
                  now.get('batch', 0))]
    if any(value for name, value in now.items() if name not in EVICT_SET):
        lines += ['', 'evictors, since boot:'] + ['  ' + line for line in table(rows, left=(0,))]
    return lines


def batches(status):
    """Counters of zswap in batches, as (name, number)."""
    values = [('zbatch/' + name, value) for name, value in status['zbatch'].items() if name not in ZBATCH_SET]
    return values + [('fallback/' + name, status['fallback'][name]) for name in ZSWAP
                     if name in status['fallback']]


def batch_lines(status):
    """The lines about zswap in batches, if there have been any."""
    values = batches(status)
    if not any(value for _, value in values):
        return []
    return ['', 'zswap in batches of up to %d pages, since boot:' %
            status['zbatch'].get(ZBATCH[0], 0)] + [
                '  ' + line for line in table([[name, str(value)] for name, value in values], left=(0,))]


def clusters(status):
    """The lines about clusters; plain areas have none."""
    areas = [area for area in status['areas']
             if area['cpu'] >= 0 and area['free_clusters'] is not None]
    if not areas:
        return []
    rows = [['TYPE', 'CPU', 'FREE', 'SPARSE', 'FRAG']]
    for area in areas:
        rows.append([str(area['type']), str(area['cpu'])] +
                    ['-' if area[name] is None else str(area[name]) for name in CLUSTERS])
    rows.append(['all', ''] + [str(sum(area[name] or 0 for area in areas)) for name in CLUSTERS[:2]] + [''])
    return ['', 'clusters of per-core areas:'] + table(rows) + drained(areas)


def drained(areas):
    """A line for each area that is being emptied."""
    return ['area %d is drained: %s, %d pages left, %d of them unreadable' % (
        area['type'], area[DRAIN], area['used'], area[UNREADABLE] or 0)
        for area in areas if area[DRAIN] not in (None, 'off')]


def defrag(status):
    """Counters of slots that were moved, or not, as (name, number)."""
    return ([('defrag/' + name, value) for name, value in status['defrag'].items()
             if name not in DEFRAG_SET and name != STATE] +
            [('defrag/skipped/' + name, value) for name, value in status['skipped'].items()])


def defrag_lines(status):
    """The lines about slots that were moved, or not, if there are any."""
    values = counted(defrag(status))
    lines = []
    if status['defrag'].get('enabled'):
        lines = ['', 'defragmentation by itself: %s' % status['defrag'][STATE]]
    if not values:
        return lines
    return lines + ['', 'defragmentation since boot, what is not 0:'] + [
        '  ' + line for line in table([[name, str(value)] for name, value in values], left=(0,))]


def counted(values):
    """What is not 0 of (name, number) pairs."""
    return [(name, value) for name, value in values if value]


def render_empty(status):
    """The lines without any area: what to do, and what there is all the same."""
    lines = ['no swap area is active; "scaleswap setup --per-core --dir DIRECTORY" makes one '
             'for each CPU']
    if status['bind'] == 'off':
        lines.append('vm.scaleswap.bind is off: swapon(8) by itself makes plain areas')
    now = status['lru']
    if now:
        text = 'not sharded'
        if now.get('shards'):
            text = 'sharded by CPU in %d ways' % now['shards']
            if 'bytes' in now:
                text += ', %s in use' % human(now['bytes'])
        lines += ['', 'LRU lists: ' + text]
    if MODE in status['fault']:
        lines.append('pages that faults wait for: mode %s' % status['fault'][MODE])
    # The areas that were there before have left their marks.
    values = counted(pages(status) + delegation(status) + reclaim(status) + swapoff(status) +
                     lru(status) + fault(status) + bios(status) + evictors(status) + batches(status) +
                     defrag(status))
    if values:
        lines += ['', 'since boot, what is not 0:']
        lines += ['  ' + line for line in table([[name, str(value)] for name, value in values],
                                                left=(0,))]
    return lines


def render(status):
    """The lines of the table."""
    totals = status['totals']
    page = status['page_size']
    lines = ['ScaleSwap on, bind: %s, areas: %d per-core, %d plain, at most %d' % (
        status['bind'], totals['per_core'], totals['plain'], status['areas_max']), '']
    if not status['areas']:
        return lines + render_empty(status)
    rows = [['TYPE', 'CPU', 'NODE', 'PRIO', 'SIZE', 'USED', 'USED%', 'HOME', 'FOREIGN', 'PATH']]
    for area in status['areas']:
        rows.append([str(area['type']), dash(area['cpu']), nodes(area),
                     str(area['priority']), human(area['pages'] * page),
                     human(area['used'] * page), percent(area['used'], area['pages']),
                     str(area['allocs_home']), str(area['allocs_foreign']),
                     escape(area['path'])])
    rows.append(['all', '', '', '', human(totals['pages'] * page),
                 human(totals['used'] * page), percent(totals['used'], totals['pages']),
                 str(totals['allocs_home']), str(totals['allocs_foreign']), ''])
    lines += table(rows, left=(9,))
    lines += memory(status)
    counters = [('pages allocated since boot, and why not from an own area:', pages(status)),
                ('delegation since boot, in events:', delegation(status)),
                ('reclaim since boot, in events:', reclaim(status)),
                ('pages that swapoff found since boot:', swapoff(status)),
                ('tunables:', [('deleg/' + name, value)
                               for name, value in status['deleg'].items()])]
    for title, values in counters:
        if values:
            lines += ['', title]
            rows = [[name, str(value)] for name, value in values]
            lines += ['  ' + line for line in table(rows, left=(0,))]
    return (lines + lru_lines(status) + fault_lines(status) + bio_lines(status) +
            evictor_lines(status) + batch_lines(status) + clusters(status) + defrag_lines(status))


def run(args, io):
    if args.record:
        ssw_io.start_recording(io)
        io.time()
    status = collect(io)
    if args.record:
        ssw_io.save_recording(io, args.record)
    if args.json:
        import json
        io.say(json.dumps(status, indent=2))
    else:
        io.say('\n'.join(render(status)))
