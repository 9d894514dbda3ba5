"""What a schedule costs: the time of a round that repeats, its memory, its streams."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from plait.compiler.timing.costs import Profile
from plait.compiler.timing.steady import steady
from plait.dsl.record import Record
from plait.runtime.schedule import HOST, Schedule

Objective = Literal["time", "memory", "token"]


class Load(Record):
    """What is live in a round, each with how often it was seen."""

    seen: tuple[tuple[tuple[tuple[str, Any], ...], int], ...]

    def buckets(self, schedule: Schedule) -> dict[int, int]:
        """Of every bucket by number, how often it serves. Raises ValueError for what none holds."""
        found: dict[int, int] = {}
        for live, times in self.seen:
            number = schedule.buckets.index(schedule.bucket_for(**dict(live)))
            found[number] = found.get(number, 0) + times
        return found

    def mean(self, buckets: dict[int, int], of: Callable[[int], Fraction | int]) -> Fraction:
        """Of a figure of every bucket, over all rounds seen."""
        whole = sum(times * of(number) for number, times in sorted(buckets.items()))
        return Fraction(whole) / sum(buckets.values())


class Price(Record):
    time: Fraction
    """Nanoseconds of a round."""
    memory: int
    """Bytes of the device."""
    streams: int
    tokens: Fraction | None = None
    """Committed in a round, where that is known."""

    @property
    def token(self) -> Fraction:
        """Nanoseconds for a token."""
        assert self.tokens is not None
        return self.time / self.tokens

    @property
    def figures(self) -> tuple[Fraction, int, int]:
        """What the Pareto front is of."""
        return (self.time if self.tokens is None else self.token), self.memory, self.streams


def priced(schedule: Schedule, profile: Profile, load: Load, tokens: Fraction | None) -> Price:
    """Raises ValueError for a size that no bucket holds, Stuck for a round that waits in a circle."""
    buckets = load.buckets(schedule)
    time = load.mean(buckets, lambda number: steady(schedule, profile, number).mean)
    return Price(time, schedule.arena, _streams(schedule), tokens)


def _streams(schedule: Schedule) -> int:
    steps = [one for program in schedule.programs for one in program]
    steps += [one for capture in schedule.captures for one in capture.program]
    return len({one.on for one in steps} - {HOST})
