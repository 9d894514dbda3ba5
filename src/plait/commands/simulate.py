"""`plait simulate`: rounds as costs foretell them, on a timeline, with the critical path."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, compiled
from plait.commands.costs import (
    accepted_asked,
    add_cost_arguments,
    bucket_asked,
    profile_asked,
    tell_unpriced,
)
from plait.commands.outputs import outputs_asked, read_by
from plait.commands.pictures import pictures_asked, write_pictures
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.timing.simulate import Simulation

MOST_ROUNDS = 10_000
MOST_RANKS = 64
MOST_DRAWN = 200_000
"""Spans of a picture: what a browser still takes."""
DESCRIPTION = (
    "Simulate rounds of a schedule: the host issues, streams do what they are given in order, a graph is one "
    "launch, and what runs at once shares what it needs. The costs come from a profile, and of phases that "
    "it does not name from the spec's own `cost`; without one, those that are assumed of the target."
)
EXAMPLE = "for example: `plait simulate round.spec --costs die.toml --bs 5 --html round.html`"


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
        help="how much later each rank begins than the one before: 20us",
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
    from plait.compiler.timing.drawn import drawn
    from plait.compiler.timing.engine import Stuck
    from plait.compiler.timing.simulate import simulate
    from plait.dsl.render.figures import shown

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
    tell_unpriced(options, profile, found.unpriced())
    if pictures_asked(options):
        _draw(options, found)
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
            print(f"\n{shown(each)} a token at {accepted}")
    return FINE


def _draw(options: argparse.Namespace, found: Simulation) -> None:
    """The pictures that are asked for."""
    from plait.compiler.emit.foretold import foretold

    if len(found.spans) > MOST_DRAWN:
        raise Refused(
            f"--rounds {options.rounds}: a picture of {len(found.spans):,} spans is more than anything "
            f"shows, at most {MOST_DRAWN:,}; ask for fewer rounds"
        )
    write_pictures(options, foretold(found))


def _columns() -> int:
    """Of the terminal, where the timeline goes to one."""
    from plait.compiler.timing.drawn import COLUMNS

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else COLUMNS


def _skew(text: str) -> int:
    """Nanoseconds."""
    from plait.compiler.target_file import TargetError
    from plait.compiler.timing.costs_file import time_of

    try:
        return time_of(text, "", "--skew")
    except TargetError:
        raise Refused(f"--skew {text:.40}: write a time with its unit, as 20us") from None
