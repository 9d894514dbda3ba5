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
    from plait.compiler.graphs.breaking import Broken
    from plait.compiler.graphs.segments import Captured

DESCRIPTION = (
    "Find the runs of phases that one graph can hold, and show the spec with captures around them, "
    "with what that costs and saves. What would bring an error is left alone, and said. A capture that "
    "holds what no graph may hold is broken around it instead."
)
EXAMPLE = "for example: `plait capture round.spec --write`"
ROWS = re.compile(r"[A-Za-z0-9_ */+()-]{1,100}\Z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument("--write", action="store_true", help="write it into the file")
    parser.add_argument("--rows", metavar="COUNT", help="of every capture; default the first dim")
    parser.add_argument("--singles", action="store_true", help="capture single phases, too")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.graphs.breaking import Unbroken, broken
    from plait.compiler.graphs.segments import Captured, captured
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    if options.rows is not None and not ROWS.match(options.rows):
        raise Refused(f"--rows {options.rows}: a count is written as in a spec, such as `bs * 3`")
    path, variant = split_variant(options.spec)
    source = spec_source(path)
    try:
        asked = asked_for(options, variant)
        cut = broken(source, asked)
        found = cut or captured(source, asked, options.rows, options.singles)
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    except Unbroken as error:
        raise Refused(f"{path}: {error}") from None
    if found.source is not source and options.write:
        rewrite(path, source.text, found.source.text, "--write")
    elif found.source is not source:
        show_difference(path, source.text, found.source.text)
    lines = _report(found) if isinstance(found, Captured) else _broken(found)
    lines += [
        f"{name} is static now: it is read while the next replay may run" for name in found.static
    ]
    lines += [f"no longer side by side: {one} and {other}" for one, other in found.apart]
    print("\n".join(lines))
    return FINE


def _broken(found: Broken) -> list[str]:
    from plait.dsl.values import Measure

    out = []
    for one in found.breaks:
        out += [f"line {line}: {why}" for line, why in one.around]
        names = ", ".join(one.parts)
        more = f"{one.forks} forks and {one.joins} joins more, {one.left_out} edges left out"
        out.append(f"line {one.line}: {one.name} is now {names}; {more}")
    before, after = found.launches
    graphs = sum(len(one.parts) - 1 for one in found.breaks) * found.buckets
    out.append(f"a round: {before} launches as it stood, {after} broken; {graphs} more graphs")
    if found.longest:
        was, now = (str(Measure(one, "ns")) for one in found.longest)
        out.append(f"the longest way by declared costs: {was} as it stood, {now} broken")
    return out


def _report(found: Captured) -> list[str]:
    out = [
        f"lines {one.first} to {one.last}: {one.name} on {one.stream}, {one.launches} launches as 1"
        for one in found.segments
    ]
    out += [f"lines {one.first} to {one.last} stay: {one.why}" for one in found.left]
    before, after = found.launches
    graphs = len(found.segments) * found.buckets
    out.append(f"a round: {before} launches, with the captures {after}; {graphs} more graphs")
    return out
