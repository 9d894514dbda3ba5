"""A schedule's rounds, simulated: when everything began and ended, and what decided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from plait.compiler.timing.costs import Profile
from plait.compiler.timing.engine import Engine, Span
from plait.compiler.timing.issue import Doing, Issuer, Lanes, kind_of
from plait.compiler.timing.path import Segment, critical_path
from plait.runtime.schedule import Schedule


@dataclass(frozen=True)
class Simulation:
    schedule: Schedule
    profile: Profile
    buckets: tuple[int, ...]
    """The bucket of every round."""
    lanes: Lanes
    spans: tuple[Span, ...]
    """What each is stands in `what`, a `Doing`."""

    @property
    def end(self) -> int:
        """Nanoseconds from the first host's start to the end of all."""
        return max((span.end for span in self.spans), default=0)

    @cached_property
    def ends(self) -> list[int]:
        """When the last that each round issued was over."""
        found = [0] * len(self.buckets)
        for span in self.spans:
            doing: Doing = span.what
            found[doing.round] = max(found[doing.round], span.end)
        return found

    def round_times(self) -> list[int]:
        """Of every round, the nanoseconds from the end of the one before it to its own."""
        return [end - before for before, end in zip([0, *self.ends], self.ends, strict=False)]

    def unpriced(self) -> list[str]:
        """Phases of these rounds that nothing says the cost of: they take no time."""
        found = []
        for number, phase in enumerate(self.schedule.phases):
            works = [self.schedule.buckets[bucket].work[number] for bucket in set(self.buckets)]
            said = next((cost for _, cost in works if cost is not None), None)
            known = self.profile.known(phase.name, phase.body, said, kind_of(self.schedule, phase))
            if known is None and any(rows for rows, _ in works):
                found.append(phase.name)
        return found

    def path(self) -> list[Segment]:
        return critical_path(self.spans)


def simulate(
    schedule: Schedule,
    profile: Profile,
    buckets: Sequence[int],
    skews: Sequence[int] = (0,),
) -> Simulation:
    """Rounds at those buckets, by number, on as many ranks as there are skews.

    A rank's host begins so many nanoseconds after 0. Raises Stuck where a round waits in a circle.
    """
    lanes = Lanes(schedule, len(skews))
    hosts = [
        (skew, Issuer(schedule, profile, lanes, rank, len(skews)).rounds(buckets))
        for rank, skew in enumerate(skews)
    ]
    spans = Engine(len(lanes.places), hosts).run()
    return Simulation(schedule, profile, tuple(buckets), lanes, tuple(spans))
