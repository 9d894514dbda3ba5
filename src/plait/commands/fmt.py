"""`plait fmt`: the one layout, written into the files."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path

from plait.exit import DIFFERS, FINE, WRONG_INPUT, Refused

DESCRIPTION = (
    "Write specs in the one layout. Nothing is lost: only blanks, line ends and the order of a "
    "phase's clauses change. A byte order mark goes, and lines end in LF. Exit 0; with --check or "
    "--diff, 1 when something would change; 2 when a text does not parse, which is left as it is."
)
EXAMPLE = "for example: `plait fmt --check *.spec`"
STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help="a .spec file, or - for stdin to stdout"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; list what would change"
    )
    parser.add_argument("--diff", action="store_true", help="write nothing; show what would change")


def run(options: argparse.Namespace) -> int:
    only_look = options.check or options.diff
    codes = {FINE}
    for path in options.file:
        changes = _lay_out(path, options)
        if changes is None:
            codes.add(WRONG_INPUT)
        elif changes and only_look:
            codes.add(DIFFERS)
    return max(codes)


def _lay_out(path: str, options: argparse.Namespace) -> bool | None:
    """Whether a file is laid out in another way; None where it does not parse. Raises Refused, OSError."""
    from plait.commands.asked import show
    from plait.commands.difference import show_difference
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.format import formatted
    from plait.dsl.render.printable import printable
    from plait.dsl.span import Source

    name = "<stdin>" if path == STDIN else printable(path)
    data = _read(path)
    try:
        before = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{name}: is not UTF-8 text (byte {error.start})") from None
    try:
        after = formatted(Source(name, before.removeprefix("\ufeff")))
    except SpecError as error:
        show(error.diagnostics)
        return None
    if options.diff:
        show_difference(name, before, after)
    if options.check and before != after:
        print(f"would format {name}", file=sys.stderr if options.diff else sys.stdout)
    if not (options.check or options.diff):
        if path == STDIN:
            sys.stdout.buffer.write(after.encode())
        elif before != after:
            _write(path, data, after)
            print(f"formatted {name}")
    return before != after


def _read(path: str) -> bytes:
    """At most a little more than a text may have, which is then refused. Raises OSError."""
    from plait.dsl.parser import MAX_CHARACTERS

    most = 4 * MAX_CHARACTERS + 4
    if path == STDIN:
        data = sys.stdin.buffer.read(most + 1)
    else:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise Refused(f"{path}: has more than {most:,} bytes, so it is no spec")
    return data


def _write(path: str, before: bytes, after: str) -> None:
    """Writes the file anew, with its own mode and place behind a link. Raises Refused, OSError."""
    from plait.commands.asked import write_whole

    real = os.path.realpath(path)
    with open(real, "r+b") as file:  # so that one that may not be written is refused
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if Path(real).read_bytes() != before:
        raise Refused(f"{path}: was changed while it was read; format it again")
    write_whole(real, after, mode=mode)
