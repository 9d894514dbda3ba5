"""A discrete-event simulation of streams, in whole nanoseconds: the same input gives the same times.

The host issues instructions one after another, each of which takes it some time. A stream does in order
what it was issued, once it was issued; a wait holds it until its record is reached. Operations that run
at once share resources (`sharing.py`), and one ends at the first whole nanosecond by which its work is
done. Ranks have streams, hosts and resources of their own, and meet in collectives: each holds its
stream from when it gets there, and works from when the last of its group does.

Every span names what it started right after, its cause, so the longest path is there to be walked.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple, TypeAlias

from plait.compiler.timing.sharing import FULL, Uses, speeds

Key: TypeAlias = "tuple[int, ...]"
"""By which a record is known to those that wait for it."""


class Work(NamedTuple):
    """An operation of a stream."""

    stream: int
    time: int
    """Nanoseconds at full speed."""
    uses: Uses
    what: Any
    """Handed on to its span."""
    meeting: tuple[Key, int] | None = None
    """A collective that this is a part of, and how many parts it has."""


class Record(NamedTuple):
    stream: int
    key: Key
    time: int = 0
    what: Any = None
    """Of its span, if it takes time."""


class Wait(NamedTuple):
    stream: int
    key: Key
    time: int = 0
    what: Any = None


class Issue(NamedTuple):
    """The host takes so long; then what is with it is issued."""

    time: int
    what: Any
    issued: tuple[Work | Record | Wait, ...] = ()


class Block(NamedTuple):
    """The host waits for a record, and goes on so much later."""

    key: Key
    time: int
    what: Any


Instruction: TypeAlias = "Issue | Block | Record"
"""Of a host. A record of it is reached when the host comes to it."""


class Span(NamedTuple):
    """Something that took time, on a stream or on a host, which is stream -1 - its number."""

    stream: int
    start: int
    end: int
    what: Any
    issued: int
    """When the host had issued it."""
    cause: int
    """The span whose end it started right after, of all that it had to wait for; -1: of none."""
    met: int
    """Of a part of a collective, the span of the part that came last; else its own."""


class Stuck(Exception):
    """Nothing can go on: each waits for what comes only after another."""


@dataclass(slots=True)
class _Stream:
    items: deque[tuple[Work | Record | Wait, int, int]] = field(default_factory=deque)
    """What it was issued, when, and the host's span by which it was."""
    busy: bool = False
    free: int = 0
    """From when its next item could be done, as far as is known."""
    cause: int = -1
    """The span that says so."""


@dataclass(slots=True)
class _Running:
    uses: Uses
    spans: tuple[int, ...]
    """Of an operation, or of all parts of a collective."""
    left: int
    """Work to be done, in nanoseconds x `FULL`."""
    since: int
    speed: int = FULL
    turn: int = 0
    """How often its end was worked out anew."""


@contextmanager
def _without_collections() -> Iterator[None]:
    """Spans are many and in no circles, and each collection would go through all of them."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


class Engine:
    """Simulates hosts, each of which starts at its own time and issues its instructions."""

    def __init__(self, streams: int, hosts: Iterable[tuple[int, Iterable[Instruction]]]):
        self.streams = [_Stream() for _ in range(streams)]
        self.hosts: list[Iterator[Instruction]] = []
        self.issuers: list[int] = []
        """Of every host, its newest span."""
        self.spans: list[list[Any]] = []
        """As of `Span`, filled in as they end."""
        self.reached: dict[Key, tuple[int, int]] = {}
        """When each record was, and right after which span."""
        self.waiting: dict[Key, list[int]] = {}
        """Streams, and hosts as -1 - their numbers."""
        self.blocked: dict[int, tuple[Block, int]] = {}
        """Hosts that wait, and since when."""
        self.meetings: dict[Key, list[tuple[int, Uses]]] = {}
        """Parts of collectives that have come: their spans, and what they use."""
        self.records: dict[int, Key] = {}
        """Of records that take time, by their spans, which are reached when those end."""
        self.running: dict[int, _Running] = {}
        """By the number of their first span."""
        self.heap: list[tuple[int, int, int, int]] = []
        """When, how many were before, whose (of an operation the first span), and its turn, or -1."""
        self.moments = 0
        for number, (start, program) in enumerate(hosts):
            self.hosts.append(iter(program))
            self.issuers.append(-1)
            self.at(start, -1 - number)

    def run(self) -> list[Span]:
        """All spans, in the order in which they began. Raises Stuck."""
        with _without_collections():
            self.simulate()
        if self.blocked or any(stream.items or stream.busy for stream in self.streams):
            raise Stuck
        return [Span(*span) for span in self.spans]

    def simulate(self) -> None:
        """Goes from moment to moment until nothing is left that could happen."""
        heap = self.heap
        while heap:
            now, _, whose, turn = heappop(heap)
            if turn >= 0:
                one = self.running.get(whose)
                if one is not None and one.turn == turn:
                    self.ended(whose, one, now)
            elif whose >= 0:
                self.advance(whose, now)
            else:
                self.issue(-1 - whose, now)

    def at(self, when: int, whose: int, turn: int = -1) -> None:
        self.moments += 1
        heappush(self.heap, (when, self.moments, whose, turn))

    # Hosts

    def issue(self, number: int, now: int) -> None:
        """Goes on until the host has nothing left, or waits for a record."""
        if (held := self.blocked.pop(number, None)) is not None:
            block, since = held
            _, span = self.reached[block.key]
            cause = span if now > since else self.issuers[number]
            now = self.on_host(number, now, block.time, block.what, cause)
        for one in self.hosts[number]:
            if type(one) is Issue:
                if one.time:
                    now = self.on_host(number, now, one.time, one.what, self.issuers[number])
                for item in one.issued:
                    stream = self.streams[item.stream]
                    stream.items.append((item, now, self.issuers[number]))
                    if len(stream.items) == 1 and not stream.busy:
                        self.at(now, item.stream)
            elif type(one) is Record:
                self.reach(one.key, now, self.issuers[number])
            elif type(one) is Block:
                if one.key in self.reached:
                    now = self.on_host(number, now, one.time, one.what, self.issuers[number])
                    continue
                self.blocked[number] = one, now
                self.waiting.setdefault(one.key, []).append(-1 - number)
                return

    def on_host(self, number: int, now: int, time: int, what: Any, cause: int) -> int:
        self.issuers[number] = len(self.spans)
        self.spans.append([-1 - number, now, now + time, what, now, cause, len(self.spans)])
        return now + time

    def reach(self, key: Key, now: int, span: int) -> None:
        self.reached[key] = now, span
        for one in self.waiting.pop(key, ()):
            self.at(max(now, self.blocked[-1 - one][1]) if one < 0 else now, one)

    # Streams

    def advance(self, number: int, now: int) -> None:
        """Does what is next on a stream, until an operation runs or something is to be waited for."""
        stream = self.streams[number]
        items = stream.items
        while items and not stream.busy:
            item, issued, by = items[0]
            if issued > now:
                self.at(issued, number)
                return
            if issued > stream.free:
                stream.free, stream.cause = issued, by
            if type(item) is Wait:
                if item.key not in self.reached:
                    self.waiting.setdefault(item.key, []).append(number)
                    return
                when, span = self.reached[item.key]
                if when > stream.free:
                    stream.free, stream.cause = when, span
            items.popleft()
            if type(item) is Work:
                self.begin(number, stream, item, issued, now)
            elif item.time:
                work = Work(number, item.time, (), item.what)
                self.begin(number, stream, work, issued, now)
                if type(item) is Record:
                    self.records[len(self.spans) - 1] = item.key
            elif type(item) is Record:
                self.reach(item.key, now, stream.cause)

    def begin(self, number: int, stream: _Stream, work: Work, issued: int, now: int) -> None:
        span = len(self.spans)
        self.spans.append([number, now, now, work.what, issued, stream.cause, span])
        stream.busy = True
        spans, uses = (span,), work.uses
        if work.meeting is not None:
            key, parts = work.meeting
            here = self.meetings.setdefault(key, [])
            here.append((span, uses))
            if len(here) < parts:
                return
            del self.meetings[key]
            spans = tuple(span for span, _ in here)
            uses = tuple(use for _, each in here for use in each)
        one = _Running(uses, spans, work.time * FULL, now)
        self.running[spans[0]] = one
        if uses:
            self.share(now)
        if one.turn == 0:
            self.at(now + work.time, spans[0], 0)

    def ended(self, first: int, one: _Running, now: int) -> None:
        del self.running[first]
        last = one.spans[-1]
        for number in one.spans:
            span = self.spans[number]
            span[2], span[6] = now, last
            stream = self.streams[span[0]]
            stream.busy = False
            stream.free, stream.cause = now, number
            if (key := self.records.pop(number, None)) is not None:
                self.reach(key, now, number)
        if one.uses:
            self.share(now)
        for number in one.spans:
            self.advance(self.spans[number][0], now)

    def share(self, now: int) -> None:
        """Works out the ends of all that runs anew where its speed has changed."""
        sharing = [(first, one) for first, one in self.running.items() if one.uses]
        for (first, one), speed in zip(
            sharing, speeds(tuple(one.uses for _, one in sharing)), strict=True
        ):
            if speed != one.speed:
                one.left -= one.speed * (now - one.since)
                one.since, one.speed = now, speed
                one.turn += 1
                self.at(now + -(-max(one.left, 0) // speed), first, one.turn)
