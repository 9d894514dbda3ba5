"""A round seen from its ends: what each item knows of the rounds before, and what is left known to the next.

Rounds of different routes follow each other in any sequence. What one knows of another goes through a
few coordinates: each stream, the host, and the newest record of each point that some edge names by
`prev`. At the beginning of a round a coordinate stands for all that has ended on it by then, so a set
of coordinates says what an item comes after; at the end, each says which of them, and which items of
this round, it comes after in turn. Sets are whole numbers, a bit a member: one pass over the items
gives all of it, and a few where a graph waits for a rebind further down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from plait.compiler.round import HOST, Close, Edge, Item, Open, Phase, Round, Source, Vote

Slot = tuple[str, str, int]
"""The newest record of a point, on a stream, of a round so many rounds ago or earlier."""


@dataclass(frozen=True)
class Coordinates:
    """What all routes of a pipeline have in common at the ends of their rounds."""

    streams: dict[str, int]
    """The bit of every stream, by name."""
    slots: dict[Slot, int]

    @property
    def count(self) -> int:
        return len(self.streams) + len(self.slots)


def coordinates_of(rounds: Iterable[Round]) -> Coordinates:
    streams: dict[str, int] = {}
    depths: dict[tuple[str, str], int] = {}
    for round in rounds:
        for stream in round.streams:
            streams.setdefault(stream.name, len(streams))
        for edge in round.edges:
            if edge.source.rounds_back:
                point = _point(round, edge.source)
                depths[point] = max(depths.get(point, 0), edge.source.rounds_back)
    slots: dict[Slot, int] = {}
    for (name, stream), depth in depths.items():
        for back in range(1, depth + 1):
            slots[name, stream, back] = len(streams) + len(slots)
    return Coordinates(streams, slots)


def _point(round: Round, source: Source) -> tuple[str, str]:
    """A point by names that hold on every route."""
    return round.source_name(source.replace(rounds_back=0)), round.stream_name(round.origin(source))


@dataclass(frozen=True)
class Summary:
    knows: dict[int, int]
    """Of each item that ends on a queue, the coordinates that it comes after."""
    issued: dict[int, int]
    """The same of its issue."""
    left: dict[int, int]
    """Of each such item, the coordinates that come after it at the end of the round."""
    through: tuple[int, ...]
    """Of each coordinate at the end, those at the beginning that it comes after."""

    def after(self, known: int) -> int:
        """The coordinates that come after those, one round of this route later."""
        return sum(1 << bit for bit, mask in enumerate(self.through) if mask & known)


def summary(round: Round, coordinates: Coordinates) -> Summary:
    """One pass over the round: linear in items, with sets as whole numbers."""
    return passed(round, coordinates).summary()


def passed(round: Round, coordinates: Coordinates, without: frozenset[int] = frozenset()) -> Pass:
    """The pass itself, which has this round's items as well; as if edges at some places were not there."""
    foreseen: dict[int, int] = {}
    while True:
        found = Pass(round, coordinates, foreseen, without)
        found.run()
        if not round.waits_ahead or found.known == foreseen:
            return found
        # Of a rebind further down, it takes another pass to know what is before it.
        foreseen = found.known


class Pass:
    """Of everything, the coordinates at the beginning that it comes after and, above them, the items."""

    def __init__(
        self,
        round: Round,
        coordinates: Coordinates,
        foreseen: dict[int, int],
        without: frozenset[int],
    ):
        self.without = without
        self.foreseen = foreseen
        self.round = round
        self.coordinates = coordinates
        self.tails: dict[tuple[int | None, int], int] = {
            (None, number): 1 << coordinates.streams[stream.name]
            for number, stream in enumerate(round.streams)
        }
        self.pending: dict[tuple[int | None, int], int] = {}
        self.known: dict[int, int] = {}
        self.issued: dict[int, int] = {}

    def run(self) -> None:
        for place, item in enumerate(self.round.items):
            if place not in self.without:
                self.item(place, item)
        for key, mask in self.pending.items():  # whatever comes next there, in a later round, waits
            self.tails[key] |= mask

    def summary(self) -> Summary:
        through = self.exits()
        count = self.coordinates.count
        entry = (1 << count) - 1
        left = dict.fromkeys(self.known, 0)
        for bit, mask in enumerate(through):
            items = mask >> count
            while items:
                lowest = items & -items
                left[lowest.bit_length() - 1] |= 1 << bit
                items ^= lowest
        return Summary(
            {place: mask & entry for place, mask in self.known.items()},
            {place: mask & entry for place, mask in self.issued.items()},
            left,
            tuple(mask & entry for mask in through),
        )

    def exits(self) -> list[int]:
        """What each coordinate comes after at the end. A point that did not run is recorded there, too."""
        found = [1 << bit for bit in range(self.coordinates.count)]
        numbers = {stream.name: number for number, stream in enumerate(self.round.streams)}
        for name, number in numbers.items():
            found[self.coordinates.streams[name]] = self.tails[None, number]
        ran = {
            (self.round.item_name(place), self.stream_of(place)): mask | self.own(place)
            for place, mask in self.known.items()
            if not self.within_graph(place)
        }
        for (name, stream, back), bit in self.coordinates.slots.items():
            if back > 1:
                found[bit] = 1 << self.coordinates.slots[name, stream, back - 1]
            elif (name, stream) in ran:
                found[bit] = ran[name, stream]
            elif stream in numbers:
                found[bit] = self.tails[None, numbers[stream]]
        return found

    def within_graph(self, place: int) -> bool:
        """Whether an item has no record of its own outside, as it is a part of a replay."""
        item = self.round.items[place]
        return isinstance(item, Phase) and item.capture is not None

    def stream_of(self, place: int) -> str:
        item = self.round.items[place]
        if isinstance(item, Phase):
            return self.round.stream_name(item.stream)
        if isinstance(item, Open | Close):
            return self.round.stream_name(self.round.captures[item.capture].stream)
        return self.round.stream_name(HOST)

    def item(self, place: int, item: Item) -> None:
        if isinstance(item, Edge):
            key = self.key(item.capture, item.target)
            self.pending[key] = self.pending.get(key, 0) | self.source(item)
            if item.target == HOST:
                self.moment(place, (None, HOST))
        elif isinstance(item, Phase):
            self.moment(place, self.key(item.capture, item.stream))
        elif isinstance(item, Vote):
            self.moment(place, (None, HOST))
        else:
            origin = (None, self.round.captures[item.capture].stream)
            if isinstance(item, Close):
                for key in [key for key in self.tails if key[0] == item.capture]:
                    self.tails[origin] |= self.tails.pop(key)
                for key in [key for key in self.pending if key[0] == item.capture]:
                    del self.pending[key]  # nothing came after that edge
            self.moment(place, origin)

    def key(self, capture: int | None, stream: int) -> tuple[int | None, int]:
        if capture is None or stream in (HOST, self.round.captures[capture].stream):
            return None, stream
        return capture, stream

    def source(self, edge: Edge) -> int:
        source = edge.source
        if source.kind == "stream":
            key = self.key(edge.capture, source.number)
            return self.tails.get(key, 0) | self.pending.get(key, 0)
        if source.rounds_back:
            slot = (*_point(self.round, source), source.rounds_back)
            return 1 << self.coordinates.slots[slot]
        place = self.round.places[source.kind, source.number]
        return self.known.get(place, self.foreseen.get(place, 0)) | self.own(place)

    def own(self, place: int) -> int:
        return 1 << (self.coordinates.count + place)

    def moment(self, place: int, key: tuple[int | None, int]) -> None:
        issued = self.tails[None, HOST]
        tail = self.tails.get(key)
        if tail is None:  # a side stream of a graph begins at its load
            assert key[0] is not None
            opened = self.round.places["loaded", key[0]]
            tail = self.known[opened] | self.own(opened)
        known = tail | issued | self.pending.pop(key, 0)
        self.known[place], self.issued[place] = known, issued
        self.tails[key] = known | self.own(place)
