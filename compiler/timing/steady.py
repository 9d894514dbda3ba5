"""The round that repeats: what a schedule settles into when one round follows another."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from plait.compiler.timing.costs import Profile
from plait.compiler.timing.path import Segment, clipped, critical_path
from plait.compiler.timing.simulate import Simulation, simulate
from plait.dsl.record import Record
from plait.runtime.schedule import Schedule

FIRST_ROUNDS = 8
MOST_ROUNDS = 128
LONGEST_PERIOD = 4
"""Rounds after which times repeat, or twice as many as a wait reaches back, where that is more: buffers
with copies may let every second round start earlier."""


class Steady(Record):
    simulation: Simulation
    round: int
    """Number of the round that stands for all: the last that was over while every stream had more to do."""
    period: int | None
    """After how many rounds times repeat; None: not within `MOST_ROUNDS`."""

    @property
    def start(self) -> int:
        """When the round before it was over, in nanoseconds of the simulation."""
        return self.simulation.ends[self.round - 1]

    @property
    def end(self) -> int:
        return self.simulation.ends[self.round]

    @property
    def time(self) -> int:
        """Nanoseconds from the end of the round before it to its own."""
        return self.end - self.start

    @property
    def mean(self) -> Fraction:
        """Nanoseconds a round, over a whole period."""
        rounds = self.period or 1
        return Fraction(self.end - self.simulation.ends[self.round - rounds], rounds)

    def path(self) -> list[Segment]:
        """What decided that time: segments that follow each other from `start` to `end` without a gap.

        None where rounds issue nothing.
        """
        spans, end = self.simulation.spans, self.end
        of_round = [n for n, span in enumerate(spans) if span.what.round == self.round]
        last = [number for number in of_round if spans[number].end == end][-1:]
        return clipped(critical_path(spans, *last), self.start, end) if last else []


def steady(
    schedule: Schedule, profile: Profile, bucket: int, skews: Sequence[int] = (0,)
) -> Steady:
    """Rounds at one bucket, by number, until their times repeat. Raises Stuck as `simulate`."""
    program = schedule.program_of(schedule.buckets[bucket])
    reach = max((one.rounds_back for one in program), default=0)
    rounds = FIRST_ROUNDS
    while True:
        found = simulate(schedule, profile, [bucket] * rounds, skews)
        judged = _fed(found)
        period = _period(found.round_times()[1:judged], reach)
        if period is not None or rounds >= MOST_ROUNDS:
            return Steady(found, judged - 1, period)
        rounds *= 2


def _fed(found: Simulation) -> int:
    """Of how many rounds no stream had run dry yet: what would be next shares with what is.

    A stream that waits for no other may be many rounds ahead.
    """
    dry: dict[int, int] = {}
    for span in found.spans:
        if span.stream >= 0:
            dry[span.stream] = max(dry.get(span.stream, 0), span.end)
    first = min(dry.values(), default=found.end + 1)
    rounds = sum(1 for end in found.ends if end < first)
    return max(rounds, 3)


def _period(times: Sequence[int], reach: int) -> int | None:
    """The fewest rounds by which the last of them repeat, seen twice over.

    Where waits reach back so many rounds, several may be alike before the one that has to wait: then it
    is seen for longer.
    """
    for rounds in range(1, max(LONGEST_PERIOD, 2 * reach) + 1):
        seen = rounds + max(rounds, 2 * (reach - 1))
        if len(times) >= seen and times[-seen + rounds :] == times[-seen:-rounds]:
            return rounds
    return None
