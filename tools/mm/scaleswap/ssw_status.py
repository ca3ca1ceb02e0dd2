# SPDX-License-Identifier: GPL-2.0
"""scaleswap status: areas, use and counters, as a table or JSON.

collect() is also what watch reads.
"""
import errno

import ssw_io
from ssw_util import BIND, EXIT_FAILED, SYS, ToolError, escape, human, table, unescape

DESCRIPTION = """\
Shows each swap area (per-core and plain), how full it is, how many pages its
home CPU and other CPUs allocated from it, and the counters of the kernel.
Needs no root."""

EPILOG = """\
columns:
  TYPE     number of the area in the kernel      CPU    home CPU, - for a plain area
  NODE     NUMA node of the CPU / of the device  PRIO   swap priority
  HOME     pages allocated by the home CPU       FOREIGN  by other CPUs
"""

NUMBERS = ('cpu', 'node', 'device_node', 'pages', 'used', 'priority', 'allocs_home',
           'allocs_foreign')
# The order to print in; counters a newer kernel has come after these, by name.
STATS = ('alloc_own', 'alloc_node', 'alloc_remote', 'alloc_plain', 'alloc_fail')
FALLBACK = ('own_full', 'no_area', 'no_block', 'all_full')


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


def read_counters(io, directory, order):
    names = [name for name in io.listdir(directory) if not io.is_dir(directory + '/' + name)]
    names.sort(key=lambda n: (order.index(n) if n in order else len(order), n))
    return {name: number(directory + '/' + name, io.read(directory + '/' + name))
            for name in names}


def read_area(io, kind):
    """One area as a dict; None when it was switched off meanwhile."""
    place = '%s/areas/%s/' % (SYS, kind)
    area = {'type': number(place, kind)}
    try:
        for name in NUMBERS:
            area[name] = number(place + name, io.read(place + name))
        area['path'] = unescape(io.read(place + 'path'))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV) and not io.is_dir(place[:-1]):
            return None
        raise
    return area


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
    }


def dash(value):
    return '-' if value < 0 else str(value)


def nodes(area):
    return '%s/%s' % (dash(area['node']), dash(area['device_node']))


def percent(part, whole):
    return '%d%%' % (100 * part // whole) if whole else '-'


def render(status):
    """The lines of the table."""
    totals = status['totals']
    page = status['page_size']
    lines = ['ScaleSwap on, bind: %s, areas: %d per-core, %d plain, at most %d' % (
        status['bind'], totals['per_core'], totals['plain'], status['areas_max']), '']
    if status['areas']:
        rows = [['TYPE', 'CPU', 'NODE', 'PRIO', 'SIZE', 'USED', 'USED%', 'HOME', 'FOREIGN',
                 'PATH']]
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
    else:
        lines.append('no swap area is active')
    lines += ['', 'pages allocated since boot, and why not from an own area:']
    rows = [[name, str(value)] for name, value in status['stats'].items()]
    rows += [['fallback/' + name, str(value)] for name, value in status['fallback'].items()]
    lines += ['  ' + line for line in table(rows, left=(0,))]
    return lines


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
