# SPDX-License-Identifier: GPL-2.0
"""Errors, exit codes, and the small parsers and formatters all commands share."""

EXIT_FAILED = 1         # a step failed; what had been done was undone
EXIT_USAGE = 2          # bad arguments: size, CPU list, options (argparse uses 2 too)
EXIT_NOT_ROOT = 3
EXIT_NO_FEATURE = 4     # the kernel lacks ScaleSwap, or was booted without it
EXIT_NO_SPACE = 5
EXIT_BAD_TARGET = 6     # directory, device or file is not fit for swap
EXIT_TOO_MANY = 7       # more areas than areas_max
EXIT_NO_PROGRAM = 8     # mkswap is missing
EXIT_INTERRUPTED = 130  # Ctrl-C, SIGTERM or SIGHUP; what had been done was undone

EXIT_HELP = """\
exit status:
  0 done             1 a step failed          2 bad arguments
  3 not root         4 kernel without it      5 no space
  6 bad directory, device or file             7 too many areas
  8 mkswap missing   130 interrupted
"""

SYS = '/sys/kernel/mm/scaleswap'
BIND = '/proc/sys/vm/scaleswap/bind'


class ToolError(Exception):
    """An error the user can act on: a message, an advice and an exit code."""

    def __init__(self, code, message, advice=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


def parse_size(text):
    """Bytes from '512M', '1.5G', '4GiB' or '1048576'; units are powers of 1024."""
    bad = ToolError(EXIT_USAGE, "bad size '%s'" % text,
                    'give a number with K, M, G or T, for example 512M')
    number = text.strip().upper()
    shift = 0
    for tail in ('IB', 'B'):
        # '12B' is not accepted as bytes: it is more often a typing error.
        if number.endswith(tail) and number[:-len(tail)][-1:] in ('K', 'M', 'G', 'T'):
            number = number[:-len(tail)]
            break
    if number[-1:] in ('K', 'M', 'G', 'T') and number[:-1]:
        shift = 10 * (1 + 'KMGT'.index(number[-1]))
        number = number[:-1]
    whole, dot, fraction = number.partition('.')
    # isascii: int() would take digits of other scripts, and isdigit() superscripts.
    if not (whole.isascii() and whole.isdigit()):
        raise bad
    if dot and not (shift and fraction.isascii() and fraction.isdigit()):
        raise bad
    size = int(whole) << shift
    if dot:
        size += (int(fraction) << shift) // 10 ** len(fraction)
    if size <= 0 or size >= 1 << 63:
        raise bad
    return size


def parse_cpulist(text):
    """Sorted CPU numbers of a list like '0-3,8'. ValueError when it is not one."""
    cpus = set()
    for part in text.strip().split(','):
        first, dash, last = part.strip().partition('-')
        if not dash:
            last = first
        for number in (first, last):
            if not (number.isascii() and number.isdigit() and len(number) < 7):
                raise ValueError(part)
        if int(last) < int(first):
            raise ValueError(part)
        cpus.update(range(int(first), int(last) + 1))
    return sorted(cpus)


def format_cpulist(cpus):
    """The inverse of parse_cpulist: [0, 1, 2, 8] gives '0-2,8'."""
    ranges = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ','.join(str(a) if a == b else '%d-%d' % (a, b) for a, b in ranges)


def human(size):
    """A byte count in at most seven characters: '40.0K', '1023.9M'."""
    value = float(size)
    for unit in ('B', 'K', 'M', 'G', 'T'):
        if value < 1023.95 or unit == 'T':
            break
        value /= 1024
    return '%d%s' % (value, unit) if unit == 'B' else '%.1f%s' % (value, unit)


def unescape(text):
    r"""Undo the octal escapes (\040 for a blank) of /proc/swaps, mountinfo and sysfs."""
    if '\\' not in text:
        return text
    out = bytearray()
    raw = text.encode('utf-8', 'surrogateescape')
    at = 0
    while at < len(raw):
        octal = raw[at + 1:at + 4]
        if raw[at] == 0x5c and len(octal) == 3 and all(0x30 <= c <= 0x37 for c in octal):
            out.append(int(octal, 8) & 0xff)
            at += 4
        else:
            out.append(raw[at])
            at += 1
    return out.decode('utf-8', 'surrogateescape')


def escape(path):
    """A path on one line, as sysfs shows it."""
    return path.replace('\\', '\\134').replace('\n', '\\012')


def table(rows, left=()):
    """Lines of a table: columns right-aligned, except those whose index is in left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i in left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append('  '.join(cells).rstrip())
    return lines
