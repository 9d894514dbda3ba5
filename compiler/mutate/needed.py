"""Orders that are needed and not there, by listing for everything all that is over when it begins.

This judges the rules, so it shares none of their algorithms: it takes a sequence of rounds, goes
through them once, and compares every two accesses of a buffer. What is over is a whole number, a bit
for each thing that ends. It costs the square of what a round does; the rules do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from plait.compiler.round import (
    HOST,
    Access,
    Axis,
    Close,
    Edge,
    Open,
    Phase,
    Round,
    Vote,
    rounds_before,
)
from plait.dsl.record import Record

MOST_ITEMS = 100_000
"""Over all sequences of routes; beyond it, only those in which one route follows another once."""

Queue = tuple[str | None, str]
"""A stream, by name; a side stream within a capture is none of those outside."""
ON_HOST: Queue = (None, "host")


class Unordered(Record):
    """Two accesses that meet in memory, of which the later may begin before the earlier has ended."""

    earlier: str
    later: str
    buffer: str
    apart: int

    def __str__(self) -> str:
        ago = f" of {rounds_before(self.apart)}" if self.apart else ""
        return f"`{self.later}` may meet `{self.earlier}`{ago} in `{self.buffer}`"


class _Touch(Record):
    name: str
    access: Access
    round: int
    begin: int
    """What is over when it begins."""
    end: int
    """The bit of what ends it."""
    run: object
    """What two touches of one thing have in common: they are not compared."""


def unordered(routes: Sequence[Round]) -> Iterator[Unordered]:
    """Pairs that some sequence of these routes leaves without an order."""
    different = list({route.meeting: route for route in routes}.values())
    for sequence in sequences(different):
        yield from _unordered_in(sequence)


def begins(round: Round, rounds: int = 1) -> list[tuple[int, int, int, int]]:
    """Of all that happens, in issue order: its round and place, what is over when it begins, its bit."""
    walk = Walk()
    for number in range(rounds):
        walk.round(number, round)
    return walk.begins


def sequences(routes: list[Round]) -> Iterator[tuple[Round, ...]]:
    copies = max((buffer.copies for route in routes for buffer in route.buffers), default=1)
    back = max((edge.source.rounds_back for route in routes for edge in route.edges), default=0)
    length = 2 + max(copies, back)
    items = max((len(route.items) for route in routes), default=0)
    if len(routes) ** length * length * items <= MOST_ITEMS:
        yield from product(routes, repeat=length)
        return
    for first, second in product(routes, repeat=2):
        for at in range(1, length):
            yield (first,) * at + (second,) * (length - at)


def _unordered_in(sequence: tuple[Round, ...]) -> Iterator[Unordered]:
    walk = Walk()
    for number, round in enumerate(sequence):
        walk.round(number, round)
    for touches in walk.touches.values():
        for place, later in enumerate(touches):
            for earlier in touches[:place]:
                if earlier.end & later.begin or earlier.run == later.run:
                    continue
                if _meet(sequence[later.round], earlier.access, later.access):
                    apart = later.round - earlier.round
                    buffer = sequence[later.round].buffers[later.access.buffer].name
                    yield Unordered(earlier.name, later.name, buffer, apart)


def _meet(round: Round, a: Access, b: Access) -> bool:
    return (a.writes or b.writes) and may_meet(round, a, b)


def may_meet(round: Round, a: Access, b: Access) -> bool:
    """Whether their regions have something in common, for all that the author vouches for."""
    vouched = {(a.buffer, a.region), (b.buffer, b.region)}
    if any(set(parts) == vouched for parts in round.disjoint):
        return False
    pairs = zip(a.region or (), b.region or (), strict=False)
    return all(
        _span(one)[0] < _span(other)[1] and _span(other)[0] < _span(one)[1] for one, other in pairs
    )


def _span(axis: Axis) -> tuple[float, float]:
    if axis is None:
        return 0, float("inf")
    return axis if isinstance(axis, tuple) else (axis, axis + 1)


class Walk:
    def __init__(self) -> None:
        self.count = 0
        self.tails: dict[Queue, int] = {ON_HOST: 0}
        """Of each queue, all that is over once it has done what it was issued."""
        self.pending: dict[Queue, int] = {}
        self.points: dict[tuple[str, str, int], int] = {}
        """Of each point by its name, stream and round, what was over when it had ended."""
        self.ends: list[dict[Queue, int]] = []
        """Of each round, the tails it left."""
        self.touches: dict[tuple, list[_Touch]] = {}
        self.begins: list[tuple[int, int, int, int]] = []

    def round(self, number: int, round: Round) -> None:
        self.number, self.of = number, round
        graph: Graph | None = None
        for self.place, item in enumerate(round.items):
            match item:
                case Edge():
                    self.edge(item)
                case Vote():
                    self.begun(ON_HOST)
                case Open():
                    graph = self.opened(item.capture)
                case Close():
                    assert graph is not None
                    self.closed(graph)
                    graph = None
                case Phase():
                    self.phase(item, graph)
        queues = {*self.tails, *self.pending}
        self.ends.append({q: self.tails.get(q, 0) | self.pending.get(q, 0) for q in queues})

    def begun(self, queue: Queue) -> tuple[int, int]:
        """What is over when the next thing on a queue begins, and its own bit."""
        past = self.tails.get(queue, 0) | self.tails[ON_HOST] | self.pending.pop(queue, 0)
        bit = 1 << self.count
        self.count += 1
        self.tails[queue] = past | bit
        self.begins.append((self.number, self.place, past, bit))
        return past, bit

    def queue(self, capture: int | None, stream: int) -> Queue:
        round = self.of
        name = round.streams[stream].name
        if stream == HOST:
            return ON_HOST
        if capture is None or stream == round.captures[capture].stream:
            return None, name
        return round.captures[capture].name, name

    # Points

    def ended(self, name: str, stream: int, over: int) -> None:
        self.points[name, self.of.streams[stream].name, self.number] = over

    def source(self, edge: Edge) -> int:
        """What is over where an edge starts; a point that had no part in a round is where it ended."""
        source, round = edge.source, self.of
        if source.kind == "stream":
            queue = self.queue(edge.capture, source.number)
            return self.tails.get(queue, 0) | self.pending.get(queue, 0)  # a wait is passed on
        past = self.number - source.rounds_back
        name = round.source_name(source.replace(rounds_back=0))
        stream = round.streams[round.origin(source)].name
        if past < 0 or (name, stream, past) in self.points:
            return self.points.get((name, stream, past), 0)
        return self.ends[past].get((None, stream), 0) if source.rounds_back else 0

    def edge(self, edge: Edge) -> None:
        over = self.source(edge)
        if edge.target == HOST:
            self.tails[ON_HOST] |= over
        else:
            queue = self.queue(edge.capture, edge.target)
            self.pending[queue] = self.pending.get(queue, 0) | over

    # Work

    def phase(self, phase: Phase, graph: Graph | None) -> None:
        issued = self.tails[ON_HOST]
        past, bit = self.begun(self.queue(phase.capture, phase.stream))
        self.ended(phase.name, phase.stream, past | bit)
        run = object()
        for access in phase.accesses:
            buffer = self.of.buffers[access.buffer]
            early = buffer.place == "host" and phase.stream != HOST and access.reads
            if graph is None:
                self.touch(phase, access, issued if early else past, bit, run)
                continue
            if graph.takes_in(access):
                begin = graph.issued if early else graph.past
                self.touch(phase, access, begin, graph.bit, graph.run)
                continue
            graph.held.append((phase, access, past if buffer.task else graph.past))
            self.touch(phase, access, past, bit, run, graph.run)
        if graph is not None:
            graph.written |= {access.buffer for access in phase.accesses if access.writes}

    def opened(self, capture: int) -> Graph:
        round = self.of
        made = round.captures[capture]
        issued = self.tails[ON_HOST]
        past, bit = self.begun((None, round.streams[made.stream].name))
        self.ended(f"{made.name}.loaded", made.stream, past | bit)
        for stream in {p.stream for p in round.phases if p.capture == capture} | {
            e.target for e in round.edges if e.capture == capture
        }:
            queue = self.queue(capture, stream)
            if queue[0] is not None:
                self.tails[queue] = past | bit
                self.pending.pop(queue, None)
        return Graph(round, capture, issued, past, bit)

    def closed(self, graph: Graph) -> None:
        made = graph.round.captures[graph.capture]
        origin = (None, graph.round.streams[made.stream].name)
        for queue in [one for one in self.tails if one[0] == made.name]:
            self.tails[origin] |= self.tails.pop(queue)
        past, bit = self.begun(origin)
        self.ended(made.name, made.stream, past | bit)
        for phase, access, begin in graph.held:
            self.touch(phase, access, begin, bit, graph.run)

    def touch(
        self, phase: Phase, access: Access, begin: int, end: int, run: object, within: object = None
    ) -> None:
        buffer = self.of.buffers[access.buffer]
        slot = (self.number - access.rounds_back) % buffer.copies
        seen = self.touches.setdefault((buffer.name, slot, within), [])
        seen.append(_Touch(phase.name, access, self.number, begin, end, run))


class Graph:
    """A replay: what it takes in when it is loaded, and what its phases touch until it ends."""

    def __init__(self, round: Round, capture: int, issued: int, past: int, bit: int):
        self.round, self.capture = round, capture
        self.issued, self.past, self.bit = issued, past, bit
        self.run = object()
        self.written: set[int] = set()
        self.held: list[tuple[Phase, Access, int]] = []
        self.static = self.kept()

    def kept(self) -> set[int]:
        """Buffers that it has the address of."""
        round = self.round
        changed: set[int] = set()
        given: set[int] = set()
        for phase in round.phases:
            if phase.capture == self.capture:
                reads = {a.buffer for a in phase.accesses if a.reads and not a.rounds_back}
                given |= reads - changed
                changed |= {a.buffer for a in phase.accesses if a.writes}
        carried = {n for n, buffer in enumerate(round.buffers) if buffer.carried}
        fixed = {n for n, buffer in enumerate(round.buffers) if buffer.static or buffer.task}
        return fixed | changed & (carried | given)

    def takes_in(self, access: Access) -> bool:
        own = access.buffer in self.written and not access.rounds_back
        return access.reads and access.buffer not in self.static and not own
