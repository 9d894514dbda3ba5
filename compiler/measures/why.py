"""Why nothing hides an exchange while it is exposed: what else there was to run, and what held it up.

Something could have hidden it if it needs nothing of the exchange, the exchange needs nothing of it, and
what it needs itself was there in time. If there was such work and it ran later, the reason is what it
began right after; if it ran earlier, what the exchange did. Without such work the reason is the data.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import islice
from typing import Literal, TypeAlias

from plait.compiler.intervals import Interval
from plait.compiler.measures.communication import Exchange
from plait.compiler.measures.named import lane_named
from plait.compiler.measures.needs import Needs
from plait.compiler.measures.window import Window
from plait.compiler.timing.sharing import WHOLE
from plait.dsl.record import Record

Kind: TypeAlias = Literal["data", "stream", "edge", "launch", "contention", "budget"]
"""A data edge; the order of one stream; an edge that no data asks for; the host, which had not issued it;
something that what ran at once had to share; the same stream, as the target has no more of them."""


class Why(Record):
    """Nanoseconds of an exchange in which nothing hid it, from a start up to an end, for one reason."""

    start: int
    end: int
    kind: Kind
    text: str
    """In words, with the names of what is meant."""

    @property
    def time(self) -> int:
        return self.end - self.start


class Whys:
    def __init__(self, found: Window, needs: Needs, streams: int | None = None):
        """`streams`: how many the target has, if that is known."""
        self.found = found
        self.spans = found.spans
        self.needs = needs
        self.streams = streams

    def of(self, one: Exchange) -> list[Why]:
        """The reasons, which tile what is exposed of it."""
        found: list[Why] = []
        slowed, resource = self.slowed(one)
        related = self.needs.related(one.span) if one.exposed else set()
        for bare in reversed(one.exposed):
            shared = min(slowed, bare.time)
            slowed -= shared
            if shared:
                longer = f"it took {shared:,} ns longer than alone, as others used {resource}"
                found.append(Why(bare.end - shared, bare.end, "contention", longer))
            if shared < bare.time:
                rest = Interval(bare.start, bare.end - shared)
                found.append(self.alone(one, rest, related))
        return found[::-1]

    def slowed(self, one: Exchange) -> tuple[int, str]:
        """How much longer it took for what it had to share, and the name of that."""
        graph, slowed, resource = self.found.graph, 0, ""
        for part in graph.parts(one.span):
            work, span = graph.works[part], self.spans[part]
            longer = span.end - graph.begins[part] - work.time
            if longer > 0:
                slowed += longer
                resource = self.fullest(part)
        return slowed, resource

    def fullest(self, part: int) -> str:
        """Of what it uses, that of which most was asked for at once while it ran."""
        graph, span = self.found.graph, self.spans[part]
        asked = dict(graph.works[part].uses)
        for other in graph.during(span.start, span.end):
            if other != part and other in graph.works:
                for resource, share in graph.works[other].uses:
                    if resource in asked:
                        asked[resource] += share
        full = max(asked, key=lambda one: (asked[one] > WHOLE, asked[one], -one))
        return self.found.profile.resources[full % len(self.found.profile.resources)]

    def alone(self, one: Exchange, bare: Interval, related: set[int]) -> Why:
        later = self.later(bare, related)
        ready = self.needs.ready(one.span)
        held = None
        if later is not None:
            held = self.held(later, bare)
        elif self.ran_before(one, ready, related):
            held = self.held(one.span, bare)
        return held or Why(bare.start, bare.end, "data", self.data(one))

    def later(self, bare: Interval, related: set[int]) -> int | None:
        """The first that could have run then, and ran only afterwards."""
        first = bisect_left(self.computing, bare.end, key=lambda one: self.spans[one].start)
        for number in islice(self.computing, first, None):
            if number not in related and self.needs.ready(number) < bare.end:
                return number
        return None

    def ran_before(self, one: Exchange, ready: int, related: set[int]) -> bool:
        """Whether something had run that would have hidden it, had it begun when it could."""
        return any(
            number not in related and self.found.computes(self.spans[number])
            for number in self.found.graph.during(ready, one.start)
        )

    @cached_property
    def computing(self) -> list[int]:
        """What computes in the round and in the one after it, as it began."""
        rounds = self.found.round, self.found.round + 1
        return [
            number
            for number, span in enumerate(self.spans)
            if span.what.round in rounds and span.end > span.start and self.found.computes(span)
        ]

    def held(self, number: int, bare: Interval) -> Why | None:
        """What it began right after; None: that was its data."""
        how, before = self.gate(number)
        if before in self.needs.before[number]:
            return None
        name, behind = self.named(number), self.spans[before].what.name
        if how == "issue":
            late = self.spans[number].issued - self.needs.ready(number)
            text = f"the host issued {name} {late:,} ns after it could have begun"
            return Why(bare.start, bare.end, "launch", text)
        if how == "event" and not self.waited_for(before, number):
            text = f"{name} waits for {behind} by an edge that no data asks for"
            return Why(bare.start, bare.end, "edge", text)
        wait = "the wait for " if how == "event" else ""
        text = f"{name} is behind {wait}{behind} on {lane_named(self.found, number)}"
        if self.streams is not None and self.used >= self.streams:
            return Why(bare.start, bare.end, "budget", f"{text}, and all {self.streams} are taken")
        return Why(bare.start, bare.end, "stream", text)

    def named(self, number: int) -> str:
        doing = self.spans[number].what
        return doing.name + " of the next round" * (doing.round > self.found.round)

    def gate(self, number: int) -> tuple[str, int]:
        """How it was held up last, over waits and what a graph begins with, and by which phase."""
        graph, how = self.found.graph, ""
        while (one := graph.decisive(number)) is not None:
            how = how if how == "event" else one.how
            number = one.span
            if how == "issue" or self.found.phase(self.spans[number]) is not None:
                return how, graph.first_of(number)
        return "issue", number

    def waited_for(self, source: int, number: int) -> bool:
        """Whether something behind it on its stream needs what that stream waited for."""
        spans, place = self.spans, self.found.graph.place
        return any(
            spans[one].stream == spans[number].stream and place[one] > place[number]
            for one in self.needs.after.get(source, ())
        )

    @cached_property
    def used(self) -> int:
        return len({span.stream for span in self.spans if span.stream >= 0})

    def data(self, one: Exchange) -> str:
        """What needs it first; or else what it needs."""
        mine, after = one.span, self.needs.after.get(one.span, {})
        if after:
            return self.needs.said(min(after, key=lambda o: (self.spans[o].start, o)), mine)
        if before := self.needs.before[mine]:
            return self.needs.said(mine, max(before, key=lambda o: (self.spans[o].end, o)))
        return f"nothing else is left to run beside {self.spans[mine].what.name}"
