# SPDX-License-Identifier: GPL-2.0
"""scaleswap watch: rates of allocation per area and of each counter, repeated."""
import ssw_io
import ssw_status
from ssw_util import EXIT_USAGE, ToolError, escape, human, table

DESCRIPTION = """\
Shows, every interval, how many pages a second each area gave to its home CPU
and to other CPUs, the memory for its slots and for LRU shards, and how fast
the counters grow. Ctrl-C ends it. Needs no root."""

EPILOG = """\
A recording is replayed as fast as it can be printed, by the times in it.
"""


def add_arguments(parser):
    parser.add_argument('--interval', metavar='S', default='2', help='seconds (default 2)')
    parser.add_argument('--count', metavar='N', help='stop after N intervals (default: never)')
    ssw_status.add_source_arguments(parser)


def parse_interval(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    # The upper limit also rules inf and nan out.
    if not 0.01 <= value <= 86400:
        raise ToolError(EXIT_USAGE, "bad interval '%s'" % text,
                        'give seconds, from 0.01 to 86400')
    return value


def parse_count(text):
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text)):
        raise ToolError(EXIT_USAGE, "bad count '%s'" % text, 'give a number above 0')
    return int(text)


def grown(new, old):
    """Growth of a counter; one that fell is of a new area and started at 0."""
    return new - old if new >= old else new


def per_second(count, seconds):
    return '%.0f' % (count / seconds) if seconds > 0 else '-'


def rates(before, after, seconds):
    """Text with the growth of each counter; of a maximum there is none."""
    before = dict(before)
    return ', '.join('%s %s' % (name, per_second(grown(value, before.get(name, 0)), seconds))
                     for name, value in after if name != ssw_status.QUEUE_MAX)


def memory(area):
    """Bytes for the slots, of an area or in total; plain areas keep theirs elsewhere."""
    size = area['table_bytes']
    return '-' if size is None or area.get('cpu', 0) < 0 else human(size)


def moves(status):
    """Slots that were moved, and that were not, as (name, number); none on older kernels."""
    values = [(name, value) for name, value in ssw_status.defrag(status) if name == 'defrag/moved']
    if status['skipped']:
        values.append(('defrag/skipped', sum(status['skipped'].values())))
    return values


def render(before, after, seconds):
    """The lines of one interval."""
    page = after['page_size']
    # An area is another one when its type was given to another file.
    old = {(area['type'], area['path']): area for area in before['areas']}
    rows = [['TYPE', 'CPU', 'USED', 'USED%', 'MEMORY', 'HOME/s', 'FOREIGN/s', 'PATH']]
    home_total = foreign_total = 0
    for area in after['areas']:
        earlier = old.get((area['type'], area['path']), {})
        home = grown(area['allocs_home'], earlier.get('allocs_home', 0))
        foreign = grown(area['allocs_foreign'], earlier.get('allocs_foreign', 0))
        home_total += home
        foreign_total += foreign
        rows.append([str(area['type']), ssw_status.dash(area['cpu']),
                     human(area['used'] * page), ssw_status.percent(area['used'], area['pages']),
                     memory(area), per_second(home, seconds), per_second(foreign, seconds),
                     escape(area['path'])])
    totals = after['totals']
    rows.append(['all', '', human(totals['used'] * page),
                 ssw_status.percent(totals['used'], totals['pages']), memory(totals),
                 per_second(home_total, seconds), per_second(foreign_total, seconds), ''])
    lines = table(rows, left=(7,))
    lines.append('pages/s: ' + rates(ssw_status.pages(before), ssw_status.pages(after), seconds))
    events = ssw_status.delegation(after)
    longest = after['stats'].get(ssw_status.QUEUE_MAX)
    if events:
        lines.append('events/s: ' + rates(ssw_status.delegation(before), events, seconds) +
                     ('' if longest is None else '; longest queue since boot %d' % longest))
    events = ssw_status.reclaim(after)
    if events:
        lines.append('reclaim, events/s: ' + rates(ssw_status.reclaim(before), events, seconds))
    found = ssw_status.swapoff(after)
    if found:
        lines.append('swapoff, pages/s: ' + rates(ssw_status.swapoff(before), found, seconds))
    shards = ssw_status.lru(after)
    if shards:
        size = after['lru'].get('bytes')
        lines.append('LRU lists/s: ' + rates(ssw_status.lru(before), shards, seconds) +
                     ('' if size is None else '; shards %d, %s' %
                      (after['lru']['allocated'], human(size))))
    moved = moves(after)
    if moved:
        lines.append('moved slots/s: ' + rates(moves(before), moved, seconds))
    reads = ssw_status.fault(after)
    if reads:
        lines.append('awaited pages/s: ' + rates(ssw_status.fault(before), reads, seconds) +
                     '; mode %s' % after['fault'].get(ssw_status.MODE, '-'))
    return lines


def run(args, io):
    interval = parse_interval(args.interval)
    count = parse_count(args.count)
    if args.record:
        ssw_io.start_recording(io)
    shown = 0
    try:
        start = earlier = io.time()
        before = ssw_status.collect(io)
        while count is None or shown < count:
            io.sleep(interval)
            if not io.next_frame():
                break
            now = io.time()
            after = ssw_status.collect(io)
            shown += 1
            io.say('%safter %.1f s' % ('\n' if shown > 1 else '', now - start))
            io.say('\n'.join(render(before, after, now - earlier)))
            before, earlier = after, now
    except KeyboardInterrupt:
        pass    # the usual way to end it
    finally:
        if args.record:
            ssw_io.save_recording(io, args.record)
    if not shown and count is not None:
        raise ToolError(EXIT_USAGE, 'the recording has one frame only: no rates',
                        'record with "scaleswap watch --record FILE"')
