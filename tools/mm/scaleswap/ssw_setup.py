# SPDX-License-Identifier: GPL-2.0
"""scaleswap setup: make, format and activate one swap area a core.

First everything is checked and planned, then it is done; what was done is
undone when a step fails or a signal comes.
"""
import ssw_io
from ssw_util import (BIND, EXIT_BAD_TARGET, EXIT_FAILED, EXIT_NO_SPACE, EXIT_TOO_MANY,
                      EXIT_USAGE, SYS, ToolError, format_cpulist, human, parse_cpulist,
                      parse_size, unescape)

DESCRIPTION = """\
Makes one swap area a core: a file in the given directories (in turn), or a
whole block device or partition each. Files have all their blocks (no holes)
and mode 0600. Each area is bound to its core through vm.scaleswap.bind, which
has its earlier value again afterwards. If a step fails, or on Ctrl-C, all
that was done is undone.

Nothing is switched on at the next boot by itself. Areas that are then switched
on from /etc/fstab with vm.scaleswap.bind=auto get the CPUs that they have now:
the label of each, such as ssw-cpu2, names it."""

EPILOG = """\
Directories must be on ext2, ext3, ext4 or XFS. Files are named
scaleswap-cpuN.swap.

Without --size a file gets the smaller of
  - 90 % of the free space of its file system, shared by the files on it;
  - twice the memory of the machine, shared by all areas
rounded down to 1 MiB.

With fewer devices than CPUs, devices go to the first CPUs, one each; the rest
get files if a directory is given too, and no area otherwise. With more devices
than CPUs, CPUs get several.

examples:
  scaleswap setup --per-core --dir /mnt/nvme0 /mnt/nvme1 --size 8G
  scaleswap setup --per-core --device /dev/nvme0n1p3 /dev/nvme1n1p3 --cpus 0-1
"""

GOOD_FS = ('ext2', 'ext3', 'ext4', 'xfs')
# Why not, for those a user is likely to try.
IN_MEMORY = 'its files are in memory themselves'
BAD_FS = {
    'tmpfs': IN_MEMORY, 'ramfs': IN_MEMORY, 'rootfs': IN_MEMORY, 'devtmpfs': IN_MEMORY,
    'btrfs': 'swap files there need copy-on-write and checksums off',
    'overlay': 'the kernel cannot swap through overlayfs',
    'zfs': 'the kernel cannot swap to ZFS files',
    'f2fs': 'its garbage collection moves file blocks',
    'nfs': 'swap over the network needs its own set-up', 'nfs4':
    'swap over the network needs its own set-up',
    '9p': 'the kernel cannot swap to 9p files', 'virtiofs': 'the kernel cannot swap through it',
    'fuse': 'the kernel cannot swap through FUSE', 'fuseblk': 'the kernel cannot swap through FUSE',
}

# By it vm.scaleswap.bind=auto knows the CPU again, at the next boot.
LABEL = 'ssw-cpu%d'
MIN_PAGES = 10      # what mkswap takes at least
MIB = 1 << 20


def add_arguments(parser):
    parser.add_argument('--per-core', action='store_true', required=True,
                        help='one area a core (the only kind of set-up so far)')
    parser.add_argument('--dir', nargs='+', action='extend', default=[], metavar='DIR',
                        help='directories for the files, used in turn; a block device is '
                        'taken as with --device')
    parser.add_argument('--device', nargs='+', action='extend', default=[], metavar='DEV',
                        help='block devices or partitions, each one area as a whole; '
                        'what is on them is lost')
    parser.add_argument('--size', metavar='S', help='size of each file: 512M, 8G, 1.5T')
    parser.add_argument('--cpus', metavar='LIST',
                        help='CPUs that get an area: 0-3,8 (default: all online)')
    parser.add_argument('--prio', metavar='N', help='swap priority, 0 to 32767')
    parser.add_argument('--reuse', action='store_true',
                        help='use swap files of the same name that exist')
    parser.add_argument('--force', action='store_true',
                        help='overwrite devices that hold data')
    parser.add_argument('--dry-run', action='store_true',
                        help='check everything, say what would be done, change nothing')
    parser.add_argument('--root', metavar='DIR', help='with --dry-run: look at a copy of '
                        '/sys, /proc and the directories under DIR')


def parse_prio(text):
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= 32767):
        raise ToolError(EXIT_USAGE, "bad priority '%s'" % text, 'give a number from 0 to 32767')
    return int(text)


def choose_cpus(io, text):
    base = '/sys/devices/system/cpu/'
    if text is None:
        return parse_cpulist(io.read(base + 'online'))
    try:
        cpus = parse_cpulist(text)
    except ValueError:
        raise ToolError(EXIT_USAGE, "bad CPU list '%s'" % text, 'give numbers and ranges: 0-3,8')
    possible = io.read(base + 'possible')
    missing = set(cpus) - set(parse_cpulist(possible))
    if missing:
        raise ToolError(EXIT_USAGE, 'there is no CPU %s' % format_cpulist(missing),
                        'this machine has CPUs %s' % possible)
    return cpus


def sort_targets(io, args):
    """(directories, devices), by what they are, each as the kernel will name it."""
    dirs, devices = [], []
    for given, want_device in [(d, False) for d in args.dir] + [(d, True) for d in args.device]:
        path = io.realpath(given)
        if not path.startswith('/'):
            raise ToolError(EXIT_USAGE, "'%s' is not an absolute path" % given)
        if io.is_block_device(path):
            chosen = devices
        elif want_device:
            raise ToolError(EXIT_BAD_TARGET, '%s is not a block device' % given
                            if io.lexists(path) else '%s does not exist' % given)
        elif io.is_dir(path):
            chosen = dirs
        elif io.lexists(path):
            raise ToolError(EXIT_BAD_TARGET, '%s is neither a directory nor a block device'
                            % given)
        else:
            raise ToolError(EXIT_BAD_TARGET, 'directory %s does not exist' % given,
                            'make it first, on the disk that is meant to hold the swap')
        if path in chosen:
            raise ToolError(EXIT_USAGE, '%s is given twice' % given)
        chosen.append(path)
    return dirs, devices


def check_filesystem(io, directory):
    kind, point = io.filesystem(directory)
    if kind in GOOD_FS:
        return
    why = BAD_FS.get(kind) or BAD_FS.get(kind.split('.')[0])
    raise ToolError(EXIT_BAD_TARGET, '%s is on %s (mounted at %s), which cannot hold these swap '
                    'files%s' % (directory, kind, point, ': ' + why if why else ''),
                    'use a directory on ext4 or XFS, or a block device')


def assign(cpus, dirs, devices):
    """The areas to make, as dicts, without sizes; CPUs that get none."""
    areas = []
    for i, device in enumerate(devices):
        areas.append({'path': device, 'cpu': cpus[i % len(cpus)], 'kind': 'device',
                      'created': False, 'id': None})
    rest = cpus[len(devices):]
    if not dirs:
        return areas, rest
    for i, cpu in enumerate(rest):
        directory = dirs[i % len(dirs)]
        areas.append({'path': '%s/scaleswap-cpu%d.swap' % (directory.rstrip('/'), cpu),
                      'cpu': cpu, 'kind': 'file', 'created': True, 'id': None,
                      'dir': directory})
    return areas, []


def memory_bytes(io):
    for line in io.read('/proc/meminfo').split('\n'):
        if line.startswith('MemTotal:'):
            return int(line.split()[1]) * 1024
    raise ToolError(EXIT_FAILED, 'no MemTotal in /proc/meminfo', 'give --size')


def choose_sizes(io, areas, size):
    """Set the size of each file, and see that each file system has room for its files."""
    by_fs = {}
    for area in areas:
        if area['kind'] == 'file' and not area['reused']:
            by_fs.setdefault(io.device_of(area['dir']), []).append(area)
    for files in by_fs.values():
        free = io.free_bytes(files[0]['dir'])
        places = ', '.join(sorted({area['dir'] for area in files}))
        each = size
        if size is None:
            each = min(free * 9 // 10 // len(files), 2 * memory_bytes(io) // len(areas))
            each = each // MIB * MIB
            if not each:
                raise ToolError(EXIT_NO_SPACE, 'no space in %s: %d files need 1.0M each, %s '
                                'available' % (places, len(files), human(free)),
                                'free some, or use another directory')
        elif each * len(files) > free:
            raise ToolError(EXIT_NO_SPACE, 'no space in %s: %d x %s = %s needed, %s available'
                            % (places, len(files), human(each), human(each * len(files)),
                               human(free)), 'give a smaller --size, or fewer --cpus')
        for area in files:
            area['size'] = each


def check_existing(io, areas, args, size):
    """See that no file is in the way; with --reuse take the ones that can be used."""
    active = set(io.active_swaps())
    for area in areas:
        path = area['path']
        area['reused'] = False
        if path in active:
            raise ToolError(EXIT_BAD_TARGET, '%s is active already' % path,
                            'run "scaleswap teardown" first, or "swapoff %s"' % path)
        if area['kind'] == 'device':
            area['size'] = io.check_device(path, args.force)
            if area['size'] is not None and area['size'] < MIN_PAGES * io.page_size():
                raise ToolError(EXIT_BAD_TARGET, '%s is too small: %s'
                                % (path, human(area['size'])))
            continue
        if not io.lexists(path):
            continue
        if not args.reuse:
            raise ToolError(EXIT_BAD_TARGET, '%s exists already' % path,
                            '--reuse uses it, if it is a swap file; or remove it')
        area['size'] = io.check_reusable(path)
        area['reused'] = True
        area['created'] = False
        if size is not None and area['size'] != size:
            raise ToolError(EXIT_BAD_TARGET, '%s is %s, not %s' % (
                path, human(area['size']), human(size)),
                'leave --size out, or remove the file')


def plan(io, args):
    """Check all that can be checked and return (areas, CPUs without one)."""
    size = None
    page = io.page_size()
    if args.size is not None:
        size = parse_size(args.size) // page * page
        if size < MIN_PAGES * page:
            raise ToolError(EXIT_USAGE, "size '%s' is too small" % args.size,
                            'a swap area needs at least %s' % human(MIN_PAGES * page))
    if not args.dir and not args.device:
        raise ToolError(EXIT_USAGE, 'nowhere to put the areas', 'give --dir or --device')
    cpus = choose_cpus(io, args.cpus)
    dirs, devices = sort_targets(io, args)
    if size is not None and not dirs:
        raise ToolError(EXIT_USAGE, '--size is for files; a device is used whole')
    for directory in dirs:
        check_filesystem(io, directory)
    areas, without = assign(cpus, dirs, devices)
    active = len(io.listdir(SYS + '/areas'))
    most = int(io.read(SYS + '/areas_max'))
    if active + len(areas) > most:
        raise ToolError(EXIT_TOO_MANY, 'too many areas: %d more on top of %d active, and the '
                        'kernel takes %d' % (len(areas), active, most),
                        'choose fewer CPUs with --cpus')
    check_existing(io, areas, args, size)
    choose_sizes(io, areas, size)
    return areas, without


def for_state(area):
    return {key: area[key] for key in ('path', 'cpu', 'kind', 'created', 'id')}


def activate(io, area, prio, before):
    """Bind and swapon one area. The sysctl is set for as short as can be: another
    program's swapon in between would be bound too."""
    path, cpu = area['path'], area['cpu']
    try:
        io.write(BIND, str(cpu))
    except OSError as error:
        raise ssw_io.explain_bind(cpu, error)
    try:
        io.swapon(path, prio)
        area['on'] = True
    except OSError as error:
        raise ssw_io.explain_swapon(path, error)
    finally:
        io.write(BIND, before)


def verify(io, areas):
    """See in sysfs that each area is bound as asked; another program may have set bind."""
    homes = {}
    for kind in io.listdir(SYS + '/areas'):
        try:
            path = unescape(io.read('%s/areas/%s/path' % (SYS, kind)))
            homes[path] = io.read('%s/areas/%s/cpu' % (SYS, kind))
        except OSError:
            continue    # switched off by somebody meanwhile
    for area in areas:
        home = homes.get(area['path'])
        if home is None:
            io.warn('%s is not to be seen in %s/areas' % (area['path'], SYS))
        elif home != str(area['cpu']):
            raise ToolError(EXIT_FAILED, '%s was bound to CPU %s, not %d' % (
                area['path'], home, area['cpu']),
                'does another program write to vm.scaleswap.bind?')


def undo(io, areas, old_state):
    """Take back what was done, last first. What cannot be is left to teardown."""
    left = []
    for area in reversed(areas):
        try:
            if area.get('on'):
                io.swapoff(area['path'])
            if area.get('made'):
                io.unlink(area['path'])
        except OSError as error:
            io.warn('%s: cannot be undone: %s; try "scaleswap teardown"' % (
                area['path'], error.strerror))
            left.append(for_state(area))
    stay = {area['path'] for area in left}
    io.save_state(dict(old_state, areas=[
        area for area in old_state['areas'] if area['path'] not in stay] + left))


def carry_out(io, areas, args, prio, mkswap, before, signals):
    for area in areas:
        path = area['path']
        signals.check()
        if area['kind'] == 'file':
            if area['reused']:
                io.secure_file(path)
            else:
                io.create_file(path, area['size'])
                area['made'] = True
                area['id'] = None if io.dry else io.identity(path)
            signals.check()
        io.mkswap(mkswap, path, LABEL % area['cpu'], args.force and area['kind'] == 'device')
        signals.check()
        activate(io, area, prio, before)
        if not io.dry:
            io.say('CPU %d: %s, %s' % (area['cpu'], path, human(area['size'])))
    signals.check()
    if not io.dry:
        verify(io, areas)


def run(args, io):
    # Bad arguments first: they need no root to be seen.
    prio = parse_prio(args.prio)
    if args.size is not None:
        parse_size(args.size)
    ssw_io.require_root(io)
    ssw_io.require_feature(io)
    mkswap = io.find_program('mkswap')
    io.take_lock()
    try:
        areas, without = plan(io, args)
        old_state = io.load_state()
        # A run that was killed has left its own bind setting: what was there
        # before it counts.
        before = io.read(BIND)
        if not old_state['complete'] and old_state['bind_before'] is not None:
            before = old_state['bind_before']
            io.write(BIND, before)
        planned = {area['path'] for area in areas}
        known = {area['path']: area for area in old_state['areas']}
        for area in areas:
            if area['reused'] and area['path'] in known:
                area['created'] = known[area['path']]['created']
                area['id'] = known[area['path']]['id']
        others = [area for area in old_state['areas'] if area['path'] not in planned]
        state = {'version': 1, 'complete': False, 'bind_before': before,
                 'areas': others + [for_state(area) for area in areas]}
        # From the plan, before the first step: if this run is killed, teardown
        # knows what it may have left.
        io.save_state(state)
        with ssw_io.Signals() as signals:
            try:
                carry_out(io, areas, args, prio, mkswap, before, signals)
            except BaseException as error:
                undo(io, areas, dict(old_state, complete=True))
                # Ctrl-C also kills a running mkswap: that is not its failure.
                if isinstance(error, ToolError):
                    signals.check()
                raise
            state['complete'] = True
            state['areas'] = others + [for_state(area) for area in areas]
            io.save_state(state)
    finally:
        io.drop_lock()
    total = sum(area['size'] or 0 for area in areas)
    io.say('%s%d area%s, %s' % ('would set up ' if io.dry else '', len(areas),
                                '' if len(areas) == 1 else 's', human(total)))
    if without:
        io.say('CPUs without an area of their own: %s (fewer devices than CPUs)'
               % format_cpulist(without))
    if not io.dry:
        io.say('to have them after a reboot, with the same CPUs: "At boot" in '
               'Documentation/admin-guide/mm/scaleswap/index.rst')
