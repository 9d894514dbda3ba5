"""Happens-before by vector clocks: what is surely over when something begins.

Non-goals: ranks. One route is repeated here; what follows from switching between routes is the matter
of `switches.py`.

A coordinate is a queue that ends things in order: the host (0), every device stream, and every side
stream within a capture, which is none of the streams outside. A moment is one entry of one: an eager
phase, a capture's load, a phase inside it, a capture's end, a host phase, a host wait, a vote.
Everything knows, for each coordinate, the newest moment that surely ended before it
began, so "a before b" is one comparison and the whole order is O((items + edges) x streams) a round.

A graph may wait for the rebind of a task that is issued further down. Then what the rebind comes after
is not known in one pass, and passes are made until nothing more is learned; a round that waits in a
circle is found by `rules/cycle.py`.

How many rounds. Edges never go to an earlier round and are the same in every round, so a path from
a in round r to b in round r + d runs within those rounds, and exists for every r if it does for
one. Accesses to a buffer with k copies meet at distances d, d + k, ... with d <= k, and instances
of one item are ordered among themselves; so races show within 1 + max(copies) rounds, and whether a
wait of distance d is kept within 1 + d. `docs/order.md` says it at length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plait.compiler.clock import Clock, advanced, latest, zero
from plait.compiler.round import HOST, Edge, Item, Open, Phase, Round, Vote
from plait.dsl.record import Record


class Moment(Record):
    """Something that ends on a queue."""

    round: int
    item: int
    """Its place in `round.items`."""
    coordinate: int
    index: int
    """Its place among everything that ends on this coordinate, over all rounds, from 1."""
    known: Clock
    """For each coordinate, the index of the newest moment over when this begins."""
    issued: Clock
    """The same for the moment the host issued it."""

    def after(self, other: Moment) -> bool:
        """Whether the other is surely over when this begins."""
        return self.known[other.coordinate] >= other.index

    @property
    def ended(self) -> Clock:
        """What is known to whoever waits for its end."""
        return advanced(self.known, self.coordinate, self.index)


class Wait(Record):
    """One needed cross-queue order in steady state: before `target`, on the end of `source`."""

    source: int
    target: int
    """Items. A target that is an edge is a host wait."""
    rounds_back: int
    edges: tuple[int, ...]
    """The item of the edge that asks for it. Where a stream passes on what it was to wait for itself,
    with nothing of its own in between, all edges on the way: the one that names the source first."""

    @property
    def edge(self) -> int:
        """The edge that leads to the target."""
        return self.edges[-1]


class Dropped(Record):
    """An edge that adds nothing: what its target waits for is over by then anyway."""

    edges: tuple[int, ...]
    """As of a wait."""
    target: int
    source: int | None
    """None: the stream it names was never issued anything."""
    rounds_back: int

    @property
    def edge(self) -> int:
        return self.edges[-1]


class Asked(Record):
    """A wait that the next item of a stream is to take."""

    source: Moment | None
    edges: tuple[int, ...]

    @property
    def newness(self) -> tuple[int, int]:
        return (self.source.round, self.source.item) if self.source else (-1, -1)


@dataclass(frozen=True)
class Order:
    round: Round
    rounds: int
    moments: list[dict[int, Moment]]
    """Of each round, by item. Edges have one only where the host waits."""
    queues: list[list[Moment]]
    """Of each coordinate, in the order they end: index 1 stands first."""
    waits: tuple[Wait, ...]
    dropped: tuple[Dropped, ...]
    coordinates: tuple[tuple[int | None, int], ...]
    """Of each coordinate, the capture it lies in, if any, and the stream."""

    def queue_name(self, coordinate: int) -> str:
        capture, stream = self.coordinates[coordinate]
        name = self.round.stream_name(stream)
        return name if capture is None else f"{name} in {self.round.captures[capture].name}"

    def at(self, round: int, item: int) -> Moment:
        return self.moments[round][item]


def rounds_needed(round: Round) -> int:
    """How many rounds show every race and settle every edge: one more than the longest distance."""
    copies = max((buffer.copies for buffer in round.buffers), default=1)
    return 1 + max(copies, _farthest(round))


def _farthest(round: Round) -> int:
    """A bound on how many rounds a wait reaches back.

    As many as its edge says, or one where a stream's frontier is that of the round before; one more
    where the next item of the target comes in the next round; and for each stream that passes the wait
    on from the end of a round, one where that is to the top of the next, or as many as an edge says that
    follows a point which is not in the round.
    """
    back = max((edge.source.rounds_back for edge in round.edges), default=0)
    issued: set[int] = set()
    early: set[int] = set()
    waiting: set[int] = set()
    asked: dict[int, int] = {}
    for item in round.items:
        if isinstance(item, Edge):
            if item.source.kind == "elsewhere":
                stream, since = item.source.number, item.source.rounds_back
                asked[stream] = max(since, asked.get(stream, 0))
            if item.capture is None:
                if item.target != HOST:
                    waiting.add(item.target)
                if item.source.kind == "stream" and item.source.number not in issued:
                    early.add(item.source.number)
        elif (stream := round.stream_outside(item)) is not None:
            issued.add(stream)
            waiting.discard(stream)
    passed = sum(asked.get(stream, 0) + (stream in early) for stream in waiting)
    return max(back, bool(early)) + bool(waiting) + passed


def order(round: Round, rounds: int | None = None) -> Order:
    """The order of the round repeated, over as many rounds as are needed to see all of it."""
    rounds = rounds or rounds_needed(round)
    found = Builder(round, rounds).build()
    while round.waits_ahead:
        # What comes before a rebind further down is known a pass later; clocks only grow, so this ends.
        again = Builder(round, rounds, found.moments).build()
        if again.moments == found.moments:
            break
        found = again
    return found


class Builder:
    """Walks the items of round after round. What asks for an order may be told otherwise: `wiring.py`."""

    def __init__(
        self, round: Round, rounds: int, foreseen: Sequence[Mapping[int, Moment]] | None = None
    ):
        self.foreseen = foreseen or ({},) * rounds
        """Of each round, what a pass before this one knew of its moments."""
        self.round = round
        self.rounds = rounds
        self.coordinates = _coordinates(round)
        self.numbers = {place: number for number, place in enumerate(self.coordinates)}
        self.side_streams: dict[int, list[int]] = {}
        for (capture, _), number in self.numbers.items():
            if capture is not None:
                self.side_streams.setdefault(capture, []).append(number)
        width = len(self.coordinates)
        self.tails: list[Clock] = [zero(width)] * width
        """What is known on each coordinate after its newest moment, that one included."""
        self.queues: list[list[Moment]] = [[] for _ in range(width)]
        self.pending: list[list[Asked]] = [[] for _ in range(width)]
        """Edges whose target stream has not been issued its next item; it may come next round."""
        self.left: list[dict[int, list[Asked]]] = []
        """Of each round, what was pending at its end on the streams whose frontier then is asked for."""
        self.moments: list[dict[int, Moment]] = []
        self.waits: list[Wait] = []
        self.dropped: list[Dropped] = []

    def build(self) -> Order:
        for number in range(self.rounds):
            self.moments.append({})
            # Only the last round is in steady state: what it keeps and drops is what is emitted.
            self.settled = number == self.rounds - 1
            for place, item in enumerate(self.round.items):
                self.item(number, place, item)
            self.left.append({one: list(self.pending[one]) for one in asked_at_end(self.round)})
        waits, dropped = tuple(self.waits), tuple(self.dropped)
        coordinates = tuple(self.coordinates)
        return Order(
            self.round, self.rounds, self.moments, self.queues, waits, dropped, coordinates
        )

    def item(self, number: int, place: int, item: Item) -> None:
        if isinstance(item, Edge):
            self.edge(number, place, item)
        elif isinstance(item, Phase):
            self.moment(number, place, self.coordinate(item.capture, item.stream))
        elif isinstance(item, Vote):
            self.moment(number, place, HOST)
        else:
            origin = self.round.captures[item.capture].stream
            inner = self.side_streams.get(item.capture, [])
            if isinstance(item, Open):
                self.moment(number, place, origin)
                for one in inner:  # a graph's streams begin at its load
                    self.tails[one] = self.tails[origin]
            else:
                for one in inner:  # and it ends when all of them have
                    self.tails[origin] = latest(self.tails[origin], self.tails[one])
                    self.pending[one].clear()
                self.moment(number, place, origin)

    def coordinate(self, capture: int | None, stream: int) -> int:
        """Of a stream as it is named in a capture, or outside of all."""
        return self.numbers.get((capture, stream), stream)

    def edge(self, number: int, place: int, edge: Edge) -> None:
        source = self.source(number, place, edge)
        target = self.coordinate(edge.capture, edge.target)
        passed: list[Asked] = []
        # What a stream waits for by then is part of its frontier.
        if edge.source.kind == "stream":
            coordinate = self.coordinate(edge.capture, edge.source.number)
            passed = passed_on(self.pending[coordinate], place)
        elif edge.source.kind == "elsewhere" and number >= edge.source.rounds_back:
            past = self.left[number - edge.source.rounds_back]
            passed = passed_on(past[edge.source.number], place)
        if source is not None or not passed:
            passed.append(Asked(source, (place,)))
        self.pending[target] += passed
        if edge.target == HOST:  # the host waits at the edge's own line
            self.moment(number, place, HOST)

    def source(self, number: int, place: int, edge: Edge) -> Moment | None:
        source = edge.source
        if source.kind == "elsewhere":
            past = number - source.rounds_back
            queue = reversed(self.queues[source.number])
            return next((moment for moment in queue if moment.round <= past), None)
        if source.kind == "stream":
            queue = self.queues[self.coordinate(edge.capture, source.number)]
            newest = queue[-1] if queue else None
            if newest and edge.capture is not None and newest.round != number:
                return None  # within a graph, only what this replay has issued counts
            return newest
        item = self.round.places[source.kind, source.number]
        back = number - source.rounds_back
        if back == number and item > place:
            return self.foreseen[number].get(item)
        return self.moments[back].get(item) if back >= 0 else None

    def moment(self, number: int, place: int, coordinate: int) -> None:
        issued = self.tails[HOST]
        known = latest(self.tails[coordinate], issued)
        known = self.take_pending(number, place, coordinate, known)
        index = len(self.queues[coordinate]) + 1
        moment = Moment(number, place, coordinate, index, known, issued)
        self.moments[number][place] = moment
        self.queues[coordinate].append(moment)
        self.tails[coordinate] = advanced(known, coordinate, index)

    def take_pending(self, number: int, place: int, coordinate: int, known: Clock) -> Clock:
        """Joins in what the waiting edges bring, newest source first, which keeps the fewest."""
        pending = self.pending[coordinate]
        if not pending:
            return known
        pending.sort(key=lambda one: one.newness, reverse=True)
        for source, edges in ((one.source, one.edges) for one in pending):
            if source is None:
                if self.settled:
                    self.dropped.append(Dropped(edges, place, None, 0))
                continue
            needed = known[source.coordinate] < source.index
            if needed:
                known = latest(known, source.ended)
            if self.settled:
                back = number - source.round
                if needed:
                    self.waits.append(Wait(source.item, place, back, edges))
                else:
                    self.dropped.append(Dropped(edges, place, source.item, back))
        pending.clear()
        return known


def asked_at_end(round: Round) -> frozenset[int]:
    """The streams whose frontier at the end of a round is waited for, as a point that is not in it."""
    sources = (edge.source for edge in round.edges)
    return frozenset(source.number for source in sources if source.kind == "elsewhere")


def passed_on(pending: Sequence[Asked], edge: int) -> list[Asked]:
    """What a stream is to wait for, as an edge from it asks for it: of each queue the newest."""
    newest: dict[int, Asked] = {}
    for one in sorted(pending, key=lambda one: one.newness):
        if one.source is not None:
            newest[one.source.coordinate] = one
    return [one.replace(edges=(*one.edges, edge)) for one in newest.values()]


def _coordinates(round: Round) -> list[tuple[int | None, int]]:
    """The streams, then the side streams of every capture."""
    found: dict[tuple[int | None, int], None] = {}
    for stream in range(len(round.streams)):
        found[None, stream] = None
    for item in round.items:
        if isinstance(item, Phase | Edge) and item.capture is not None:
            origin = round.captures[item.capture].stream
            streams = [item.stream] if isinstance(item, Phase) else [item.target]
            if isinstance(item, Edge) and item.source.kind == "stream":
                streams.append(item.source.number)
            for stream in streams:
                if stream not in (origin, HOST):
                    found[item.capture, stream] = None
    return list(found)
