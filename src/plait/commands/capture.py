"""`plait capture`: captures written around the phases that graphs can hold."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.commands.difference import show_difference
from plait.commands.fixing import rewrite
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.segments import Captured

DESCRIPTION = (
    "Find the runs of phases that one graph can hold, and show the spec with captures around them, "
    "with what that costs and saves. What would bring an error is left alone, and said."
)
ROWS = re.compile(r"[A-Za-z0-9_ */+()-]{1,100}\Z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument("--write", action="store_true", help="write it into the file")
    parser.add_argument("--rows", metavar="COUNT", help="of every capture; default the first dim")
    parser.add_argument("--singles", action="store_true", help="capture single phases, too")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.segments import captured
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    if options.rows is not None and not ROWS.match(options.rows):
        raise Refused(f"--rows {options.rows}: a count is written as in a spec, such as `bs * 3`")
    path, variant = split_variant(options.spec)
    source = spec_source(path)
    try:
        found = captured(source, asked_for(options, variant), options.rows, options.singles)
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    if found.segments and options.write:
        rewrite(path, source.text, found.source.text, "--write")
    elif found.segments:
        show_difference(path, source.text, found.source.text)
    print(_report(found), end="")
    return FINE


def _report(found: Captured) -> str:
    out = [
        f"lines {one.first} to {one.last}: {one.name} on {one.stream}, {one.launches} launches as 1"
        for one in found.segments
    ]
    out += [f"lines {one.first} to {one.last} stay: {one.why}" for one in found.left]
    out += [
        f"{name} is static now: it is read while the next replay may run" for name in found.static
    ]
    before, after = found.launches
    graphs = len(found.segments) * found.buckets
    out.append(f"a round: {before} launches, with the captures {after}; {graphs} more graphs")
    out += [f"no longer side by side: {one} and {other}" for one, other in found.apart]
    return "\n".join(out) + "\n"
