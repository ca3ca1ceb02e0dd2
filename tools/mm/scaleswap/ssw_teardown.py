# SPDX-License-Identifier: GPL-2.0
"""scaleswap teardown: switch per-core areas off, remove the files setup made."""
import errno

import ssw_io
from ssw_util import BIND, EXIT_FAILED, EXIT_USAGE, SYS, ToolError, unescape

DESCRIPTION = """\
Switches off the areas that setup made, and removes the files that it created.
Files it found and reused, and devices, stay. Pages come back into memory (or
to other swap), which may take a while; Ctrl-C stops, and teardown can be run
again."""

EPILOG = None


def add_arguments(parser):
    parser.add_argument('--all', action='store_true',
                        help='every per-core area of the kernel, not only those of setup; '
                        'other files are switched off but not removed')
    parser.add_argument('--keep-files', action='store_true', help='remove no file')
    parser.add_argument('--forget', action='store_true',
                        help='with --all: do not read the notes of setup (when they are '
                        'damaged); removes no file')
    parser.add_argument('--dry-run', action='store_true',
                        help='say what would be done, change nothing')
    parser.add_argument('--root', metavar='DIR',
                        help='with --dry-run: look at a copy of /sys, /proc and /run under DIR')


def per_core_areas(io):
    """Paths of the areas in sysfs that have a home CPU, by type."""
    paths = []
    for kind in sorted(io.listdir(SYS + '/areas'), key=int):
        place = '%s/areas/%s/' % (SYS, kind)
        try:
            if io.read(place + 'cpu') != '-1':
                paths.append(unescape(io.read(place + 'path')))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise
    return paths


def switch_off(io, path):
    """swapoff; True when done. Says why not, and leaves it to the caller to go on."""
    try:
        io.swapoff(path)
        return True
    except OSError as error:
        why = error.strerror
        if error.errno == errno.ENOMEM:
            why = 'not enough memory to bring its pages back; stop some programs and try again'
        elif error.errno == errno.EINTR:
            why = 'interrupted'
        io.warn('swapoff %s: %s' % (path, why))
        return False


def remove(io, area):
    """Remove a file of setup, if it is still the one setup made."""
    path = area['path']
    found = io.identity(path)
    if found is None:
        return
    if area['id'] is not None and area['id'] != found:
        io.warn('%s is not the file that setup made: not removed' % path)
        return
    io.unlink(path)


def run(args, io):
    if args.forget and not args.all:
        raise ToolError(EXIT_USAGE, '--forget goes with --all')
    ssw_io.require_root(io)
    if args.all:
        ssw_io.require_feature(io)
    io.take_lock()
    try:
        teardown(io, args)
    finally:
        io.drop_lock()


def teardown(io, args):
    if args.forget:
        state = {'version': 1, 'complete': True, 'bind_before': None, 'areas': []}
    else:
        state = io.load_state()
    mine = {area['path']: area for area in state['areas']}
    paths = list(mine)
    if args.all:
        paths += [path for path in per_core_areas(io) if path not in mine]
    if not state['complete'] and state['bind_before'] is not None:
        # A setup was killed half-way and could not restore the setting.
        try:
            io.write(BIND, state['bind_before'])
        except OSError as error:
            io.warn('cannot restore %s: %s' % (BIND, error.strerror))
    active = set(io.active_swaps())
    off = failed = 0
    left = []
    with ssw_io.Signals() as signals:
        for path in paths:
            area = mine.get(path)
            if signals.got:
                left.append(path)
                continue
            if path in active:
                if not switch_off(io, path):
                    left.append(path)
                    failed += 1
                    continue
                off += 1
                if not io.dry:
                    io.say('off: %s' % path)
            if area and area['created'] and not args.keep_files:
                try:
                    remove(io, area)
                except OSError as error:
                    io.warn('cannot remove %s: %s' % (path, error.strerror))
                    left.append(path)
                    failed += 1
        stay = [area for area in state['areas'] if area['path'] in left]
        if args.forget:
            io.forget_state()
        else:
            io.save_state({'version': 1, 'complete': True, 'bind_before': None, 'areas': stay})
    io.say('%s%d area%s%s' % ('would switch off ' if io.dry else '', off,
                              '' if off == 1 else 's', '' if io.dry else ' switched off'))
    signals.check()
    if failed:
        raise ToolError(EXIT_FAILED, '%d of %d could not be torn down' % (failed, len(paths)),
                        'run teardown again when the reason above is gone')
