"""`plait simulate`: rounds as costs foretell them, on a timeline, with what decides how long they take."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, compiled, write_whole
from plait.commands.costs import accepted_asked, add_cost_arguments, bucket_asked, profile_asked
from plait.commands.outputs import outputs_asked, read_by
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.timing.simulate import Simulation

MOST_ROUNDS = 10_000
MOST_RANKS = 64
MOST_NAMED = 8
MOST_DRAWN = 200_000
"""Spans of a picture: what a browser still takes."""
DESCRIPTION = (
    "Simulate rounds of a schedule: the host issues, streams do what they are given in order, a graph is one "
    "launch, and what runs at once shares what it needs. The costs come from a profile, and of phases that "
    "it does not name from the spec's own `cost`; without one, those that are assumed of the target."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC", help="a .spec file, SPEC@VARIANT, or a schedule's .json"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="as many ranks, which meet in collectives"
    )
    parser.add_argument(
        "--skew",
        default="0us",
        metavar="TIME",
        help="how much later each rank begins than the one before",
    )
    parser.add_argument("--html", metavar="FILE", help="write it as a page to zoom into")
    parser.add_argument("--svg", metavar="FILE", help="write it as a drawing")
    parser.add_argument("--perfetto", metavar="FILE", help="write it for Perfetto")
    parser.add_argument(
        "--against",
        metavar="TRACE",
        help="print instead what is foretold of phases and rounds, against a trace of `plait run --trace`",
    )
    parser.add_argument("--json", action="store_true", help="print every span as JSON")
    add_cost_arguments(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.timing.drawn import drawn, shown
    from plait.compiler.timing.engine import Stuck
    from plait.compiler.timing.simulate import simulate

    if not 1 <= options.rounds <= MOST_ROUNDS:
        raise Refused(f"--rounds {options.rounds}: from 1 to {MOST_ROUNDS:,}")
    if not 1 <= options.ranks <= MOST_RANKS:
        raise Refused(f"--ranks {options.ranks}: from 1 to {MOST_RANKS}")
    outputs_asked(options, ("html", "svg", "perfetto"), read_by(options, options.spec))
    schedule = compiled(options, options.spec)
    accepted = accepted_asked(options)
    profile, bucket = profile_asked(options, schedule), bucket_asked(options, schedule)
    if options.against:
        from plait.commands.calibrate import run_against

        run_against(options.against, schedule, profile, options.json)
        return FINE
    skew = _skew(options.skew)
    skews = [rank * skew for rank in range(options.ranks)]
    try:
        found = simulate(schedule, profile, [bucket] * options.rounds, skews)
    except Stuck:
        raise Refused(f"{options.spec}: a round waits in a circle") from None
    if unpriced := found.unpriced():
        names = ", ".join(unpriced[:MOST_NAMED]) + (", ..." if len(unpriced) > MOST_NAMED else "")
        print(
            f"plait simulate: {profile.name} has no cost of {names}: they take no time",
            file=sys.stderr,
        )
    if options.html or options.svg or options.perfetto:
        _write(options, found)
    if options.json:
        from plait.compiler.timing.data import as_data

        data = as_data(found)
        if accepted is not None:
            data["accepted"] = float(accepted.mean)
            data["per_token"] = float(found.round_times()[-1] / accepted.mean)
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print(drawn(found, _columns()), end="")
        if accepted is not None:
            each = round(found.round_times()[-1] / accepted.mean)
            print(f"\nat {accepted}: {shown(each)} a token")
    return FINE


def _write(options: argparse.Namespace, found: Simulation) -> None:
    """The pictures that are asked for."""
    from plait.compiler.emit.foretold import foretold

    if len(found.spans) > MOST_DRAWN:
        raise Refused(
            f"--rounds {options.rounds}: a picture of {len(found.spans):,} spans is more than anything "
            f"shows, at most {MOST_DRAWN:,}; ask for fewer rounds"
        )
    picture = foretold(found)
    if options.html:
        from plait.compiler.emit.page.page import page

        write_whole(options.html, page(picture))
    if options.svg:
        from plait.compiler.emit.svg import svg

        write_whole(options.svg, svg(picture))
    if options.perfetto:
        from plait.compiler.emit.perfetto import perfetto

        write_whole(options.perfetto, perfetto(picture))


def _columns() -> int:
    """Of the terminal, where the timeline goes to one."""
    from plait.compiler.timing.drawn import COLUMNS

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else COLUMNS


def _skew(text: str) -> int:
    """Nanoseconds."""
    from plait.compiler.target_file import TargetError
    from plait.compiler.timing.costs_file import time_of

    try:
        return time_of(text, "plait", "--skew")
    except TargetError as error:
        raise Refused(str(error)) from None
