# SPDX-License-Identifier: GPL-2.0
"""The command line: picks the command, turns every error into a message and an exit code."""
import argparse
import sys

import ssw_io
from ssw_util import EXIT_BAD_TARGET, EXIT_FAILED, EXIT_HELP, EXIT_INTERRUPTED, EXIT_USAGE, \
    ToolError

VERSION = '0.2'

COMMANDS = {
    'setup': 'make, format and activate one swap area a core',
    'teardown': 'switch those areas off and remove the files setup made',
    'status': 'show areas, use and counters once',
    'watch': 'show rates, again and again',
}


def formatter(prog):
    # A given width keeps argparse from importing shutil, which costs more than
    # all the rest of the tool, at every start.
    return argparse.RawDescriptionHelpFormatter(prog, width=80)


def build_parser(chosen):
    parser = argparse.ArgumentParser(
        prog='scaleswap', formatter_class=formatter, allow_abbrev=False,
        description='Sets up, shows and removes the per-core swap areas of ScaleSwap.',
        epilog='"scaleswap COMMAND --help" says more.\n\n' + EXIT_HELP)
    parser.add_argument('--version', action='version', version='scaleswap ' + VERSION)
    sub = parser.add_subparsers(dest='command', metavar='COMMAND', prog='scaleswap')
    for name, text in COMMANDS.items():
        module = __import__('ssw_' + name) if name == chosen else None
        child = sub.add_parser(name, help=text, formatter_class=formatter, allow_abbrev=False,
                               description=module.DESCRIPTION if module else None,
                               epilog=module.EPILOG if module else None)
        if module:
            module.add_arguments(child)
            child.set_defaults(run=module.run)
    return parser


def make_io(args):
    """The live system, or what --root and --replay put in its place."""
    root = getattr(args, 'root', None)
    replay = getattr(args, 'replay', None)
    dry = getattr(args, 'dry_run', False)
    if root and replay:
        raise ToolError(EXIT_USAGE, '--root and --replay exclude each other')
    if replay:
        if args.record:
            raise ToolError(EXIT_USAGE, '--replay and --record exclude each other')
        return ssw_io.Replay(replay)
    if root:
        if args.command in ('setup', 'teardown') and not dry:
            raise ToolError(EXIT_USAGE, '--root is for looking only', 'add --dry-run')
        io = ssw_io.IO(root, dry)
        if not io.is_dir(''):
            raise ToolError(EXIT_BAD_TARGET, '%s is not a directory' % root)
        return io
    return ssw_io.IO('', dry)


def complain(prog, error):
    text = '%s: error: %s\n' % (prog, error.message)
    if error.advice:
        text += '  %s\n' % error.advice
    sys.stdout.flush()
    sys.stderr.write(text)


def main(argv, io=None):
    """Run one command; io replaces the system in tests. Returns the exit status."""
    prog = 'scaleswap'
    try:
        chosen = next((word for word in argv if not word.startswith('-')), None)
        parser = build_parser(chosen)
        args = parser.parse_args(argv)
        if not args.command:
            parser.print_help(sys.stderr)
            return EXIT_USAGE
        prog += ' ' + args.command
        if io is not None:
            io.dry = getattr(args, 'dry_run', False)
        args.run(args, io or make_io(args))
        sys.stdout.flush()
        return 0
    except ToolError as error:
        complain(prog, error)
        return error.code
    except KeyboardInterrupt:
        complain(prog, ToolError(EXIT_INTERRUPTED, 'interrupted'))
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away: no error, but stop Python from
        # complaining when it flushes at exit.
        import os
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        complain(prog, ToolError(EXIT_FAILED, '%s: %s' % (error.filename, error.strerror)
                                 if error.filename else error.strerror or str(error)))
        return EXIT_FAILED
