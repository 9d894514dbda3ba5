"""The two sides of `plait diff`: files, variants, schedules, git revisions, each under its own settings."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from plait.commands.asked import asked_for, compiled, refuse, spec_source, split_variant
from plait.commands.costs import bucket_asked, live_asked, profile_asked, tell_unpriced
from plait.commands.revision import checked_out, read_revision, revision_of, split_revision
from plait.exit import Refused

if TYPE_CHECKING:
    from plait.compiler.diff.side import Hazard, Side
    from plait.runtime.schedule import Schedule

LETTERS = ("a", "b")


def add_side_arguments(parser: argparse.ArgumentParser) -> None:
    for letter in LETTERS:
        side = letter.upper()
        group = parser.add_argument_group(f"of {side} alone, beside what is said of both")
        group.add_argument(
            f"--set-{letter}",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a param or flag, in place of what --set says",
        )
        group.add_argument(f"--costs-{letter}", metavar="FILE", help="a cost profile")
        group.add_argument(f"--target-{letter}", metavar="NAME", help="a target's name or file")


def sides_asked(options: argparse.Namespace) -> tuple[Side, Side]:
    """Prints what keeps a spec from being lowered at all, and raises Refused."""
    from plait.compiler.diff.side import apart

    named = _names(options)
    asked = [_of_side(options, letter) for letter in LETTERS]
    found = [_lowered(one, name) for one, name in zip(asked, named, strict=True)]
    if any(schedule.unchecked for schedule, _ in found):  # which nothing is laid out for
        found = [(apart(schedule), hazards) for schedule, hazards in found]
    first, second = (
        _side(one, title, *parts)
        for one, title, parts in zip(asked, _titles(options, named), found, strict=True)
    )
    return first, second


def _names(options: argparse.Namespace) -> tuple[str, str]:
    """With one argument: under its own settings on each side, else as it was committed and as it is."""
    if options.after is not None:
        return options.before, options.after
    if any(_own(options, letter) for letter in LETTERS):
        return options.before, options.before
    path, _ = split_variant(options.before)
    if split_revision(options.before) or Path(path).is_absolute():
        raise Refused(f"{options.before}: what is it to be compared with? name a second one")
    return f"HEAD:./{options.before}", options.before


def _own(options: argparse.Namespace, letter: str) -> list[str]:
    """The options that are of one side alone, as they were typed but for the letter."""
    given = vars(options)
    found = [f"--set {one}" for one in given[f"set_{letter}"]]
    return found + [
        f"--{name} {given[f'{name}_{letter}']}"
        for name in ("costs", "target")
        if given[f"{name}_{letter}"] is not None
    ]


def _titles(options: argparse.Namespace, named: tuple[str, str]) -> list[str]:
    return [
        " ".join([name, *_own(options, letter)])
        for name, letter in zip(named, LETTERS, strict=True)
    ]


def _of_side(options: argparse.Namespace, letter: str) -> argparse.Namespace:
    given = vars(options)
    own = {"set": [*options.set, *given[f"set_{letter}"]], "unchecked": True}
    for name in ("costs", "target"):
        if given[f"{name}_{letter}"] is not None:
            own[name] = given[f"{name}_{letter}"]
    return argparse.Namespace(**given | own)


def _lowered(options: argparse.Namespace, name: str) -> tuple[Schedule, tuple[Hazard, ...]]:
    """A schedule, proven or not, and what `check` has against it."""
    from plait.compiler.compile import lowered, prove, read_source
    from plait.compiler.diff.side import Hazard, hazards_of
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    if name.endswith(".json"):
        schedule = _loaded(options, name)
        return schedule, hazards_of(schedule)
    path, variant = split_variant(name)
    revision = revision_of(path) if split_revision(path) else None
    try:
        with checked_out(revision) if revision else nullcontext() as file:
            source = spec_source(path) if file is None else read_source(file)
            asked = replace(asked_for(options, variant), unchecked=True)
            proven = prove(source, asked)
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 text (byte {error.start})") from None
    hazards = tuple(
        Hazard(one.code, one.message, f"{one.span.source.name}:{one.span.line}")
        for one in proven.passed_over
    )
    return lowered(proven, asked), hazards


def _loaded(options: argparse.Namespace, name: str) -> Schedule:
    """A schedule from JSON, of a file or of a revision."""
    if not split_revision(name):
        return compiled(options, name)
    from plait.runtime.schedule_check import ScheduleError
    from plait.runtime.schedule_reader import from_json

    if options.set or options.variant or options.env:
        raise Refused(
            f"{name}: is compiled already; --set, --variant and --env are for a .spec file"
        )
    try:
        return from_json(read_revision(revision_of(name)).decode("utf-8"), name)
    except UnicodeDecodeError:
        raise Refused(f"{name}: is not UTF-8 text, so no schedule") from None
    except ScheduleError as error:
        raise Refused(str(error)) from None


def _side(
    options: argparse.Namespace, title: str, schedule: Schedule, hazards: tuple[Hazard, ...]
) -> Side:
    from plait.compiler.diff.padding import padded
    from plait.compiler.diff.side import Side
    from plait.compiler.measures.communication import exchanges
    from plait.compiler.measures.measures import measured
    from plait.compiler.measures.window import window
    from plait.compiler.timing.engine import Stuck

    bucket = bucket_asked(options, schedule)
    asked = live_asked(options)
    live = {dim: asked[dim] for dim, _ in schedule.buckets[bucket].sizes if dim in asked}
    rows = padded(schedule, schedule.buckets[bucket], live)
    profile = profile_asked(options, schedule)
    side = Side(title, schedule, bucket, hazards, profile, padded=rows)
    try:
        found = window(schedule, profile, bucket)
    except Stuck:
        return side.replace(stuck=True)
    tell_unpriced(options, profile, found.steady.simulation.unpriced(), f" in {title}")
    return side.replace(measures=measured(found, exchanges(found)))
