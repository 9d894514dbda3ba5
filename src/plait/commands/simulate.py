"""`plait simulate`: rounds as costs foretell them, on a timeline, with what decides how long they take."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait.commands.asked import add_spec_arguments, compiled, write_whole
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.timing.costs import Profile
    from plait.runtime.schedule import Schedule

MOST_ROUNDS = 10_000
MOST_RANKS = 64
DESCRIPTION = (
    "Simulate rounds of a schedule: the host issues, streams do what they are given in order, a graph is one "
    "launch, and what runs at once shares what it needs. The costs come from a profile, and of phases that "
    "it does not name from the spec's own `cost`."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC", help="a .spec file, SPEC@VARIANT, or a schedule's .json"
    )
    parser.add_argument("--costs", metavar="FILE", help="a cost profile, a .toml file")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument(
        "--live",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the live size of a dim, or the value of a guard or run-time param: the bucket follows",
    )
    parser.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="as many ranks, which meet in collectives"
    )
    parser.add_argument(
        "--skew",
        default="0us",
        metavar="TIME",
        help="how much later each rank begins than the one before",
    )
    parser.add_argument("--perfetto", metavar="FILE", help="write the timeline for Perfetto")
    parser.add_argument("--json", action="store_true", help="print every span as JSON")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.timing.drawn import drawn
    from plait.compiler.timing.engine import Stuck
    from plait.compiler.timing.simulate import simulate

    if not 1 <= options.rounds <= MOST_ROUNDS:
        raise Refused(f"--rounds {options.rounds}: from 1 to {MOST_ROUNDS:,}")
    if not 1 <= options.ranks <= MOST_RANKS:
        raise Refused(f"--ranks {options.ranks}: from 1 to {MOST_RANKS}")
    schedule = compiled(options, options.spec)
    profile, skew = _profile(options, schedule)
    bucket = _bucket(options.live, schedule)
    skews = [rank * skew for rank in range(options.ranks)]
    try:
        found = simulate(schedule, profile, [bucket] * options.rounds, skews)
    except Stuck:
        raise Refused(f"{options.spec}: a round waits in a circle") from None
    if options.perfetto:
        from plait.compiler.emit.perfetto import perfetto

        write_whole(options.perfetto, perfetto(found))
    if options.json:
        from plait.compiler.timing.data import as_data

        print(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        print(drawn(found), end="")
    return FINE


def _profile(options: argparse.Namespace, schedule: Schedule) -> tuple[Profile, int]:
    """The costs, and the skew in nanoseconds."""
    from plait.compiler.target_file import TargetError
    from plait.compiler.timing.costs import HostCosts, Profile, StreamCosts
    from plait.compiler.timing.costs_file import load_profile, time_of

    try:
        skew = time_of(options.skew, "plait", "--skew")
        if options.costs is not None:
            return load_profile(Path(options.costs)), skew
    except TargetError as error:
        raise Refused(str(error)) from None
    return Profile("the spec alone", schedule.target.name, (), HostCosts(), StreamCosts(), ()), skew


def _bucket(given: list[str], schedule: Schedule) -> int:
    """By number: of what is live, or the widest."""
    if not given:
        return schedule.buckets.index(schedule.widest)
    live: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise Refused(f"--live {one}: write it as NAME=VALUE")
        words = {"true": True, "false": False}
        live[name.strip()] = (
            words[value] if value in words else int(value) if value.isdecimal() else value
        )
    try:
        return schedule.buckets.index(schedule.bucket_for(**live))
    except ValueError as error:
        raise Refused(f"--live: {error}") from None
