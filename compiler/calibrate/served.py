"""Whole rounds as they were measured, against what the costs of their parts come to.

What is left over may be once a round (what serves it), in proportion (clocks, tracing), or nothing. Each
way is judged by how it foretells the rounds of a bucket from those of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import median_low

from plait.compiler.calibrate.laws import line_of
from plait.compiler.calibrate.samples import MOST, Samples
from plait.compiler.timing.costs import Law, Profile, StreamCosts
from plait.compiler.timing.engine import Stuck
from plait.compiler.timing.steady import steady
from plait.dsl.render.figures import percent
from plait.runtime.schedule import Schedule

Place = tuple[int, int]
"""A schedule and one of its buckets."""
Way = Callable[[Profile, Sequence[tuple[int, int]]], Profile]
"""A profile and, of each place, what was foretold and what was measured: the profile put right."""

FEWEST = 5
"""Rounds of a bucket that count."""
WHOLE = 1000
FURTHEST = 2
"""By how much rounds may differ from their parts in proportion, either way."""
BETTER = Fraction(9, 10)
"""Of the error of a simpler way: from there on another is worth it."""


def measured(samples: Samples) -> dict[Place, int]:
    """Nanoseconds of a round by place: of those that were not traced, where there are enough."""
    found: dict[Place, int] = {}
    for place in sorted({(one.schedule, one.bucket) for one in samples.rounds}):
        here = [
            one
            for one in samples.rounds
            if (one.schedule, one.bucket) == place and 0 < one.time <= MOST
        ]
        quiet = [one.time for one in here if not one.noted]
        times = quiet if len(quiet) >= FEWEST else [one.time for one in here]
        if len(times) >= FEWEST:
            found[place] = median_low(times)
    return found


def foretold(schedules: Sequence[Schedule], profile: Profile, place: Place) -> int:
    """Nanoseconds; 0 for a round that waits in a circle."""
    try:
        return int(steady(schedules[place[0]], profile, place[1]).mean)
    except Stuck:
        return 0


def served(samples: Samples, profile: Profile) -> tuple[Profile, str]:
    """The profile put right by whole rounds, and what was done to it."""
    rounds = measured(samples)
    if not rounds:
        return profile, "no rounds followed each other, so none say what is left over"
    seen = {
        place: (foretold(samples.schedules, profile, place), time) for place, time in rounds.items()
    }
    scored: list[tuple[Fraction, str, Way]] = []
    for said, way, least in WAYS:
        if len(seen) < least:
            continue
        error = _missed(samples.schedules, profile, way, seen)
        if not scored or error < scored[-1][0] * BETTER:
            scored.append((error, said, way))
    error, said, way = scored[-1]
    made = way(profile, list(seen.values()))
    if len(seen) == 1:
        return made, f"{said}: rounds of one bucket say so, and no others whether it holds"
    told = f"{said}: a bucket foretold by the others is {percent(error)} off"
    if way is not _nothing:
        told += f", {percent(scored[0][0])} without"
    return made, told


def _missed(
    schedules: Sequence[Schedule],
    profile: Profile,
    way: Way,
    seen: Mapping[Place, tuple[int, int]],
) -> Fraction:
    """The mean error with which a place is foretold by all others; of a single one, by itself."""
    missed = Fraction(0)
    for left_out, (_, time) in seen.items():
        others = [both for place, both in seen.items() if place != left_out]
        made = way(profile, others or [seen[left_out]])
        missed += Fraction(abs(foretold(schedules, made, left_out) - time), time)
    return missed / len(seen)


def _nothing(profile: Profile, seen: Sequence[tuple[int, int]]) -> Profile:
    return profile


def _once(profile: Profile, seen: Sequence[tuple[int, int]]) -> Profile:
    left = median_low([time - found for found, time in seen])
    return profile.replace(stream=profile.stream.replace(round=max(left, 0)))


def _factor(profile: Profile, seen: Sequence[tuple[int, int]]) -> Profile:
    by = median_low([time * WHOLE // max(found, 1) for found, time in seen])
    return scaled(profile, by) if _near(by) else _once(profile, seen)


def _both(profile: Profile, seen: Sequence[tuple[int, int]]) -> Profile:
    line = line_of(sorted(seen))
    if not _near(line.row):  # the buckets are too much alike to tell
        return _once(profile, seen)
    made = scaled(profile, line.row)
    return made.replace(stream=made.stream.replace(round=line.fixed))


def _near(by: int) -> bool:
    return WHOLE // FURTHEST <= by <= WHOLE * FURTHEST


WAYS: list[tuple[str, Way, int]] = [
    ("nothing is added to its parts", _nothing, 1),
    ("what is left over is added once a round", _once, 1),
    ("what is left over is in proportion", _factor, 2),
    ("what is left over is in proportion and once a round", _both, 4),
]
"""The simplest first: in words, the way, and how many places it needs."""


def scaled(profile: Profile, by: int) -> Profile:
    """All that streams take, in thousandths of what it was."""
    stream = StreamCosts(
        **{name: getattr(profile.stream, name) * by // WHOLE for name in StreamCosts.fields()}
    )
    phases = tuple(
        (
            name,
            cost.replace(
                law=_scaled(cost.law, by),
                eager=None if cost.eager is None else _scaled(cost.eager, by),
            ),
        )
        for name, cost in profile.phases
    )
    return profile.replace(stream=stream, phases=phases)


def _scaled(law: Law, by: int) -> Law:
    points = tuple((rows, time * by // WHOLE) for rows, time in law.points)
    return Law(law.fixed * by // WHOLE, law.row * by // WHOLE, points)
