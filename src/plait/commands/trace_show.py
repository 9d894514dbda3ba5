"""`plait trace show`: what stands in a trace, and what of it was not understood."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.traces.model import Trace

DESCRIPTION = (
    "Say what stands in a trace: its span, how long each stream worked, waited and idled, replays of graphs, "
    "waits between streams, rounds and ranges, and what was not understood."
)
EXAMPLE = "for example: `plait trace show trace_view.json`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a file that a profiler wrote; gzip too")
    add_most_bytes(parser)
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")


def add_most_bytes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--most-bytes",
        type=int,
        metavar="N",
        help="read a trace of up to so many bytes, expanded; default 1 GiB",
    )


def run(options: argparse.Namespace) -> int:
    from plait.compiler.traces.summary import summary

    found = summary(trace_asked(options, options.trace))
    if options.json:
        from plait.compiler.traces.data import as_data

        print(json.dumps(as_data(found), indent=2))
    else:
        from plait.compiler.traces.shown import text

        print(text(found), end="")
    return FINE


def most_asked(options: argparse.Namespace) -> int:
    """Bytes. Raises Refused."""
    from plait.compiler.traces.expanded import MOST_BYTES

    most = MOST_BYTES if options.most_bytes is None else options.most_bytes
    if most < 1:
        raise Refused(f"--most-bytes {most}: ask for one at least")
    return most


def trace_asked(options: argparse.Namespace, path: str) -> Trace:
    """Raises Refused, OSError."""
    from plait.compiler.traces.read import read_trace
    from plait.compiler.traces.trace_error import TraceError

    try:
        return read_trace(path, most_asked(options))
    except TraceError as error:
        raise Refused(str(error)) from None
