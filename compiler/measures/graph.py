"""What every span of a simulation had to wait for, and so what surely comes before what.

The hosts' instructions are gone through once more, as they were issued; a span is known by its lane and
its place on it. A lane is a stream, a side stream of a graph, or a host: -1 - its number, as in spans.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from plait.compiler.timing.engine import Block, Instruction, Issue, Key, Record, Span, Wait, Work
from plait.compiler.timing.issue import Issuer
from plait.compiler.timing.simulate import Simulation

How: TypeAlias = Literal["stream", "event", "issue"]
"""The one before it on its lane; one that a record stands for; the host's span that issued it."""


class Source(NamedTuple):
    """Something that a span waited for."""

    span: int
    how: How


Known: TypeAlias = "tuple[int, ...]"
"""For each lane, how many of its spans are surely over."""


class Graph:
    """Spans by number; those that a span waited for have lower numbers than its own."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        self.spans: tuple[Span, ...] = simulation.spans
        self.lanes: dict[int, list[int]] = {}
        """Of each, its spans in order."""
        self.place: list[int] = []
        """Of each span, how many are before it on its lane."""
        for number, span in enumerate(self.spans):
            lane = self.lanes.setdefault(span.stream, [])
            self.place.append(len(lane))
            lane.append(number)
        self.issued: list[int] = []
        """Spans as they were issued."""
        self.works: dict[int, Work] = {}
        """Of each operation of a stream what it would take alone, and what it uses."""
        self.sources: list[tuple[Source, ...]] = _Walk(self).sources()
        """Of each lane the newest."""

    @cached_property
    def begins(self) -> list[int]:
        """When each began to work: a part of a collective when the last had come."""
        return [max(span.start, self.spans[span.met].start) for span in self.spans]

    @cached_property
    def after(self) -> list[list[int]]:
        """The spans that waited for each."""
        found: list[list[int]] = [[] for _ in self.spans]
        for number, sources in enumerate(self.sources):
            for one in sources:
                found[one.span].append(number)
        return found

    @cached_property
    def known(self) -> list[Known]:
        """Of every span, what is surely over when it begins. O(spans x lanes)."""
        found: list[Known] = []
        nothing = (0,) * len(self.lanes)
        for sources in self.sources:
            clock = nothing
            for one in sources:
                clock = tuple(map(max, clock, found[one.span]))
            known = list(clock)
            for one in sources:
                lane = self._numbers[self.spans[one.span].stream]
                known[lane] = max(known[lane], self.place[one.span] + 1)
            found.append(tuple(known))
        return found

    def before(self, earlier: int, later: int) -> bool:
        """Whether one is surely over when the other begins, whatever each takes."""
        lane = self._numbers[self.spans[earlier].stream]
        return self.known[later][lane] > self.place[earlier]

    def decisive(self, span: int) -> Source | None:
        """That which it began right after."""
        return max(
            self.sources[span], key=lambda one: (self.spans[one.span].end, one), default=None
        )

    def parts(self, span: int) -> list[int]:
        """The span of a phase, and of an exchange the one behind it in which it is on its way."""
        lane, place = self.lanes[self.spans[span].stream], self.place[span] + 1
        follows = lane[place : place + 1]
        return [span, *(one for one in follows if self.spans[one].what.kind == "link")]

    def last_of(self, span: int) -> int:
        return self.parts(span)[-1]

    def first_of(self, span: int) -> int:
        """Of the part of an exchange on its way, the kernel before it."""
        on_its_way = self.spans[span].what.kind == "link"
        return self.lanes[self.spans[span].stream][self.place[span] - 1] if on_its_way else span

    def during(self, start: int, end: int) -> Iterator[int]:
        """What ran then on any lane, in the order of lanes."""
        for spans in self.lanes.values():
            first = bisect_right(spans, start, key=lambda one: self.spans[one].end)
            for one in islice(spans, first, None):
                if self.spans[one].start >= end:
                    break
                yield one

    def beside(self, span: int, start: int, end: int) -> Iterator[int]:
        """Spans that are neither before it nor after it, whatever each takes, and that ran in that time."""
        own, at = self._numbers[self.spans[span].stream], self.place[span]
        for lane, spans in self.lanes.items():
            if lane == self.spans[span].stream:
                continue
            first = self.known[span][self._numbers[lane]]
            first = bisect_right(spans, start, first, key=lambda one: self.spans[one].end)
            for one in islice(spans, first, None):
                if self.spans[one].start >= end or self.known[one][own] > at:
                    break
                yield one

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {lane: number for number, lane in enumerate(self.lanes)}


class _Past:
    """What a lane, or whoever waits for a record, comes after: of each lane the newest span."""

    def __init__(self) -> None:
        self.newest: dict[int, Source] = {}
        self.keys: dict[Key, None] = {}
        """Records that were not gone through yet."""

    def add(self, lane: int, one: Source) -> None:
        known = self.newest.get(lane)
        if known is None or one.span > known.span:
            self.newest[lane] = one

    def wait(self, other: _Past) -> None:
        for lane, one in other.newest.items():
            self.add(lane, Source(one.span, "event"))
        self.keys |= other.keys

    def copy(self) -> _Past:
        made = _Past()
        made.newest, made.keys = dict(self.newest), dict(self.keys)
        return made


class _Walk:
    """Goes through what the hosts issue, span by span."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.left = {lane: iter(spans) for lane, spans in graph.lanes.items()}
        self.pasts: dict[int, _Past] = defaultdict(_Past)
        """Of each lane, what comes next on it."""
        self.reached: dict[Key, _Past] = {}
        self.found: list[_Past] = [_Past()] * len(graph.spans)
        self.meetings: dict[Key, list[int]] = defaultdict(list)

    def sources(self) -> list[tuple[Source, ...]]:
        simulation = self.graph.simulation
        ranks = 1 + max((rank for rank, _, _ in simulation.lanes.places), default=0)
        for rank in range(ranks):
            issuer = Issuer(simulation.schedule, simulation.profile, simulation.lanes, rank, ranks)
            for one in issuer.rounds(simulation.buckets):
                self.instruction(-1 - rank, one)
        for parts in self.meetings.values():
            for part in parts:
                for other in parts:
                    if other != part:
                        self.found[part].wait(self.found[other])
        return [self.settled(past) for past in self.found]

    def instruction(self, host: int, one: Instruction) -> None:
        if type(one) is Issue:
            if one.time:
                self.span(host)
            for item in one.issued:
                self.item(host, item)
        elif type(one) is Record:
            self.reached[one.key] = self.pasts[host].copy()
        elif type(one) is Block:
            self.wait(host, one.key)
            self.span(host)

    def item(self, host: int, item: Work | Record | Wait) -> None:
        lane = item.stream
        for number, one in self.pasts[host].newest.items():
            self.pasts[lane].add(number, Source(one.span, "issue"))
        if type(item) is Wait:
            self.wait(lane, item.key)
        if type(item) is Work or item.time:
            span = self.span(lane)
            if type(item) is Work:
                self.graph.works[span] = item
                if item.meeting is not None:
                    self.meetings[item.meeting[0]].append(span)
        if type(item) is Record:
            self.reached[item.key] = self.pasts[lane].copy()

    def span(self, lane: int) -> int:
        """The next span of a lane, which comes after what there is to wait for on it."""
        number = next(self.left[lane])
        self.graph.issued.append(number)
        self.found[number] = self.pasts[lane]
        self.pasts[lane] = _Past()
        self.pasts[lane].add(lane, Source(number, "stream"))
        return number

    def wait(self, lane: int, key: Key) -> None:
        if (known := self.reached.get(key)) is not None:
            self.pasts[lane].wait(known)
        else:
            self.pasts[lane].keys[key] = None

    def settled(self, past: _Past) -> tuple[Source, ...]:
        """With records in place of the keys that they were gone through after."""
        left, seen = list(past.keys), set(past.keys)
        while left:
            inner = self.reached[left.pop()]
            left += [key for key in inner.keys if key not in seen]
            seen.update(inner.keys)
            past.wait(inner)
        return tuple(sorted(past.newest.values()))
