"""The round that all figures are of: one that repeats, with a round before it and one after it simulated."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from plait.compiler.measures.graph import Graph
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.engine import Span
from plait.compiler.timing.issue import Doing
from plait.compiler.timing.path import Segment
from plait.compiler.timing.steady import Steady, steady
from plait.runtime.schedule import HOST, Bucket, Phase, Schedule

WORKING = ("phase", "link")
"""Kinds of spans that are of a phase."""


class Window:
    def __init__(self, found: Steady):
        """`found` is as simulated; the round looked at is a period before its last."""
        back = found.period or 1
        self.period = back
        self.steady = found.replace(round=found.round - back)
        self.mean = found.mean if found.period else self.steady.mean
        self.round = self.steady.round
        self.start, self.end = self.steady.start, self.steady.end
        self.schedule: Schedule = found.simulation.schedule
        self.profile: Profile = found.simulation.profile
        self.number = found.simulation.buckets[self.round]
        self.bucket: Bucket = self.schedule.buckets[self.number]
        self.spans = found.simulation.spans

    @property
    def time(self) -> int:
        return self.end - self.start

    @property
    def time_of_period(self) -> int:
        return int(self.mean * self.period)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.steady.simulation)

    @cached_property
    def path(self) -> list[Segment]:
        """Segments that tile the time from `start` to `end`."""
        return self.steady.path()

    @cached_property
    def on_path(self) -> Counter[int]:
        """Of each span its nanoseconds on that path."""
        found: Counter[int] = Counter()
        for one in self.path:
            if one.span is not None:
                found[one.span] += one.end - one.start
        return found

    @cached_property
    def of_round(self) -> list[int]:
        """The spans that the round issued, the hosts' included, as they began."""
        return [n for n, span in enumerate(self.spans) if span.what.round == self.round]

    def phase(self, span: Span) -> Phase | None:
        """That a span is of, on a stream or on a host; None where the host only issues it."""
        doing: Doing = span.what
        if doing.kind not in WORKING:
            return None
        phase = self.schedule.phases[doing.number]
        return phase if span.stream >= 0 or phase.stream == HOST else None

    def communicates(self, span: Span) -> bool:
        phase = self.phase(span)
        return span.stream >= 0 and phase is not None and phase.collective is not None

    def computes(self, span: Span) -> bool:
        """Whether it is work of the device's own, which may hide communication: no copy, no exchange."""
        phase = self.phase(span)
        if span.stream < 0 or phase is None or phase.collective is not None:
            return False
        return self.schedule.streams[phase.stream].kind != "copy"

    def worked(self, number: int) -> int | None:
        """The newest span on its lane, itself perhaps, that is more than a record or a wait."""
        lane = self.graph.lanes[self.spans[number].stream]
        for place in range(self.graph.place[number], -1, -1):
            if self.spans[lane[place]].what.kind not in ("record", "wait"):
                return lane[place]
        return None


def window(schedule: Schedule, profile: Profile, bucket: int) -> Window:
    """Raises Stuck as `simulate`."""
    return Window(steady(schedule, profile, bucket))
