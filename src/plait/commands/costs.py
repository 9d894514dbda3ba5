"""What several verbs take costs, a bucket and accept lengths from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait.exit import Refused

if TYPE_CHECKING:
    from plait.compiler.timing.accepted import Accepted
    from plait.compiler.timing.costs import Profile
    from plait.runtime.schedule import Schedule

MOST_OF_A_GROUP = 4096
MOST_NAMED = 8


def add_cost_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what time is foretold from")
    group.add_argument(
        "--costs",
        metavar="FILE",
        help="a cost profile, a .toml file; default the assumed costs of the target",
    )
    group.add_argument(
        "--live",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the live size of a dim, or the value of a guard or run-time param: the bucket follows",
    )
    group.add_argument(
        "--bs",
        metavar="N[,N...]",
        help="short for --live bs=N; of several, the requests of each rank of a group, the largest counts",
    )
    group.add_argument(
        "--accept",
        metavar="LENGTHS",
        help="tokens that a round commits: a mean (2.3), or counts with weights (1:0.2,2:0.5,3:0.3)",
    )


def profile_asked(options: argparse.Namespace, schedule: Schedule) -> Profile:
    from plait.compiler.target import TargetError, load_target
    from plait.compiler.timing.costs_file import load_profile
    from plait.compiler.timing.profiles import default_profile, profile_of

    try:
        if options.costs is not None:
            return _told(load_profile(Path(options.costs)), options.verb, schedule)
        if options.target.endswith(".toml"):
            return profile_of(load_target(options.target))
        return default_profile(schedule.target.name)
    except TargetError as error:
        raise Refused(str(error)) from None


def tell_unpriced(
    options: argparse.Namespace, profile: Profile, unpriced: Sequence[str], where: str = ""
) -> None:
    """On stderr, what a simulation had no cost of; nothing where it had all."""
    from plait.dsl.render.printable import printable

    if unpriced:
        names = ", ".join(unpriced[:MOST_NAMED]) + ", ..." * (len(unpriced) > MOST_NAMED)
        line = f"{profile.name} has no cost of {names}: they take no time{where}"
        print(printable(f"plait {options.verb}: {line}"), file=sys.stderr)


def _told(profile: Profile, verb: str, schedule: Schedule) -> Profile:
    """A profile of another target may be meant, and may be a slip."""
    from plait.dsl.render.printable import printable

    if profile.target != schedule.target.name:
        line = (
            f"plait {verb}: {profile.name} has costs of {profile.target}, and {schedule.name} is compiled "
            f"for {schedule.target.name}"
        )
        print(printable(line), file=sys.stderr)
    return profile


def requests_asked(options: argparse.Namespace) -> tuple[int, ...]:
    """The requests of each rank that `--bs` names; none where it is not given."""
    if options.bs is None:
        return ()
    found = options.bs.split(",")
    if len(found) > MOST_OF_A_GROUP or not all(_count(one) for one in found):
        raise Refused(f"--bs {options.bs:.40}: write a count of requests, or several as 5,2,7,1")
    return tuple(map(int, found))


def _count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


def live_asked(options: argparse.Namespace) -> dict[str, Any]:
    live: dict[str, Any] = {}
    for one in options.live:
        name, equals, value = one.partition("=")
        if not equals:
            raise Refused(f"--live {one}: write it as NAME=VALUE")
        words = {"true": True, "false": False}
        live[name.strip()] = (
            words[value] if value in words else int(value) if _count(value) else value
        )
    if requests := requests_asked(options):
        if "bs" in live:
            raise Refused("--bs and --live bs say the same thing: keep one")
        live["bs"] = max(requests)
    return live


def bucket_asked(options: argparse.Namespace, schedule: Schedule) -> int:
    """By number: of what is live, or the widest; guards and params that are not named are as by default."""
    live = live_asked(options)
    if not live:
        return schedule.buckets.index(schedule.widest)
    try:
        route = dict(schedule.widest.route)
        return schedule.buckets.index(schedule.bucket_for(**{**route, **live}))
    except ValueError as error:
        option = "--bs" if options.bs and not options.live else "--live"
        raise Refused(f"{option}: {error}") from None


def accepted_asked(options: argparse.Namespace) -> Accepted | None:
    from plait.compiler.timing.accepted import AcceptedError, read_accepted

    if options.accept is None:
        return None
    try:
        return read_accepted(options.accept)
    except AcceptedError as error:
        raise Refused(f"--accept {error}") from None
