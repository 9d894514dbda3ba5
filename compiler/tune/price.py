"""What a schedule costs: the time of a round that repeats, its memory, its streams."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from plait.compiler.measures.measures import instructions, measures
from plait.compiler.measures.memory import memory
from plait.compiler.timing.costs import Profile
from plait.dsl.record import Record
from plait.runtime.schedule import HOST, Schedule

Objective = Literal["time", "memory", "token"]


class Load(Record):
    """What is live in a round, each with how often it was seen."""

    seen: tuple[tuple[tuple[tuple[str, Any], ...], int], ...]

    def buckets(self, schedule: Schedule) -> dict[int, int]:
        """Of every bucket that serves it, by number, how often. Raises ValueError for what none holds."""
        found: dict[int, int] = {}
        for live, times in self.seen:
            number = schedule.buckets.index(schedule.bucket_for(**dict(live)))
            found[number] = found.get(number, 0) + times
        return found


def mean(buckets: dict[int, int], of: Callable[[int], Fraction | int]) -> Fraction:
    """Of a figure of every bucket, over all rounds seen."""
    whole = sum((times * of(number) for number, times in sorted(buckets.items())), Fraction(0))
    return whole / Fraction(sum(buckets.values()))


class Price(Record):
    time: Fraction
    """Nanoseconds of a round."""
    memory: int
    """Bytes of the device."""
    streams: int
    tokens: Fraction = Fraction(1)
    """Committed in a round; 1 where nobody said."""

    @property
    def token(self) -> Fraction:
        """Nanoseconds for each token: a ratio of sums."""
        return self.time / self.tokens

    @property
    def figures(self) -> tuple[Fraction, int, int]:
        """What one is compared by: a round that commits more may take longer."""
        return self.token, self.memory, self.streams

    def as_good_as(self, other: Price) -> bool:
        """Whether it is nowhere worse."""
        return all(a <= b for a, b in zip(self.figures, other.figures, strict=True))

    def rank(self, objective: Objective, start: Price) -> tuple:
        """The best is the least. Memory is saved at no cost of time."""
        if objective == "memory":
            return self.token > start.token, self.memory, self.token, self.streams
        return False, *self.figures


def priced(schedule: Schedule, profile: Profile, load: Load, tokens: Fraction) -> Price:
    """Raises ValueError for a size that no bucket holds, Stuck for a round that waits in a circle."""
    buckets = load.buckets(schedule)
    found = {number: measures(schedule, profile, number) for number in buckets}
    time = mean(buckets, lambda number: found[number].round)
    return at_least(schedule, time, load, tokens)


def at_least(schedule: Schedule, time: Fraction, load: Load, tokens: Fraction) -> Price:
    """What a schedule would cost if its rounds took that time."""
    at = [schedule.buckets[number] for number in load.buckets(schedule)]
    streams = max(len({one.on for one in instructions(schedule, each)} - {HOST}) for each in at)
    return Price(time, memory(schedule), streams, tokens)
