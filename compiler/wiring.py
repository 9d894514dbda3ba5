"""The account of a round's waits: what each is for, what makes the others needless, and the fewest there are.

The least wiring is worked out from the declarations alone. Each access needs the end of the newest one
on every queue that it meets; a graph is one item to what is outside, which is the least any legal wiring
can say; and of what is needed, newest first, only what is not yet known is waited for. What starts and
ends a launch is structure, and so are the begin and the end of a graph's streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from plait.compiler.clock import Clock, latest
from plait.compiler.order import Builder, Dropped, Moment, Order, Wait, order
from plait.compiler.races.conflicts import Race, Touch, inner_touches, races, touches
from plait.compiler.round import HOST, Close, Edge, Open, Round
from plait.compiler.rules import never_comes_back
from plait.dsl.record import Record

MOST_ITEMS = 200_000
"""Items of rounds that are ordered anew to say what a wait is for where no access meets it at both ends."""


class Pair(Record):
    """Two accesses that meet, of phases by number."""

    earlier: Touch
    later: Touch
    rounds_back: int


class Needed(Record):
    """A wait of the least wiring, and the accesses that it is for; none where it is structure."""

    source: int
    target: int
    """Items. Where the host waits, what it issues next."""
    rounds_back: int
    blocks: bool
    pair: Pair | None


class Reason(Record):
    """What a wait of the round is for."""

    wait: Wait
    pairs: tuple[Pair, ...]
    structure: str = ""
    """In words, where no two accesses need it."""


class Cover(Record):
    """What makes an edge needless: an item that its target comes after, and that comes after its source."""

    dropped: Dropped
    item: int | None
    rounds_back: int = 0


@dataclass(frozen=True)
class Account:
    round: Round
    written: int
    """Edges between two queues."""
    kept: tuple[Reason, ...]
    dropped: tuple[Cover, ...]
    least: tuple[Needed, ...]

    @property
    def least_records(self) -> int:
        """One a source."""
        return len({one.source for one in self.least})


def account(found: Order) -> Account:
    """Every wait of a round that is sound, with what it is for."""
    round = found.round
    written = sum(_between(round, place) for place in range(len(round.items)))
    needed = least(found)
    apart = [one for one in found.dropped if _between(round, one.edge)]
    return Account(
        round,
        written,
        tuple(_reasons(found, needed)),
        tuple(_cover(found, one) for one in apart),
        needed,
    )


def _between(round: Round, place: int) -> bool:
    """Whether an item is an edge between two queues."""
    item = round.items[place]
    return isinstance(item, Edge) and item.target != round.origin(item.source)


def least(found: Order) -> tuple[Needed, ...]:
    """The fewest waits in steady state that order all accesses that meet, whatever the text asks for."""
    builder = _Least(found)
    builder.build()
    return tuple(builder.needed)


def missing(found: Order) -> list[Race]:
    """The fewest races that it takes to be ordered for none to be left, with the edges there are."""
    builder = _Least(found, with_edges=True)
    builder.build()
    pairs = [one.pair for one in builder.needed if one.pair is not None]
    return [Race(pair.earlier, pair.later) for pair in pairs]


class _Least(Builder):
    """The round in which accesses ask for what they need: without the edges of the text, or with them."""

    def __init__(self, found: Order, with_edges: bool = False):
        super().__init__(found.round, found.rounds, found.moments)
        self.with_edges = with_edges
        self.needed: list[Needed] = []
        self.begins: dict[int, list[Touch]] = {}
        self.ends: dict[int, list[Touch]] = {}
        last = found.rounds - 1
        seen = [touches(found, [last])]
        seen += [inner_touches(found, capture.number) for capture in found.round.captures]
        met = [touch for some in seen for touch in some]
        written = {touch.access.buffer for touch in met if touch.access.writes}
        for touch in met:
            if touch.access.buffer in written:
                since = touch.item if touch.within else touch.since
                self.begins.setdefault(since, []).append(touch)
                self.ends.setdefault(touch.end.item, []).append(touch)
        self.behind: dict[tuple[int, int, bool], dict[int, list[tuple[Touch, Moment]]]] = {}
        """Of a buffer, as a replay's own phases touch it or all others, and whether it is written: by
        queue, what has touched it, in the order it ends."""

    def edge(self, number: int, place: int, edge: Edge) -> None:
        if self.with_edges or edge.word in ("launch", "await"):
            super().edge(number, place, edge)

    def moment(self, number: int, place: int, coordinate: int) -> None:
        begins = self.begins.get(place, [])
        by_issue = [one for one in begins if one.from_issue]
        host, blocked = self.tails[HOST], self.wanted(number, by_issue, self.tails[HOST])
        for source, pair in blocked:
            if host[source.coordinate] < source.index:
                host = self.take(host, source, place, number, pair, blocks=True)
        self.tails[HOST] = host
        super().moment(number, place, coordinate)
        made = self.moments[number][place]
        for touch in self.ends.get(place, ()):
            graph = -1 if not touch.within else touch.phase.capture or 0
            key = (touch.access.buffer, graph, touch.access.writes)
            entry = (touch.replace(round=number), made)
            self.behind.setdefault(key, {}).setdefault(coordinate, []).append(entry)

    def take_pending(self, number: int, place: int, coordinate: int, known: Clock) -> Clock:
        begins = [one for one in self.begins.get(place, ()) if not one.from_issue]
        if self.with_edges:
            known = super().take_pending(number, place, coordinate, known)
        asked: list[tuple[Moment, Pair | None]] = list(self.wanted(number, begins, known))
        asked += [(one.source, None) for one in self.pending[coordinate] if one.source]
        self.pending[coordinate].clear()
        asked.sort(key=lambda one: (one[0].round, one[0].item), reverse=True)
        for source, pair in asked:
            if known[source.coordinate] < source.index:
                known = self.take(known, source, place, number, pair, blocks=coordinate == HOST)
        return known

    def take(
        self,
        known: Clock,
        source: Moment,
        place: int,
        number: int,
        pair: Pair | None,
        blocks: bool,
    ) -> Clock:
        if self.settled:
            back = number - source.round
            self.needed.append(Needed(source.item, place, back, blocks, pair))
        return latest(known, source.ended)

    def wanted(self, number: int, begins: list[Touch], known: Clock) -> list[tuple[Moment, Pair]]:
        """Of every queue the newest access that each of these meets and that is not known to be over."""
        found = []
        for touch in (one.replace(round=number) for one in begins):
            graph = -1 if not touch.within else touch.phase.capture or 0
            for written in (True, False) if touch.access.writes else (True,):
                queues = self.behind.get((touch.access.buffer, graph, written), {})
                for coordinate, entries in queues.items():
                    for earlier, end in reversed(entries):
                        if end.index <= known[coordinate]:
                            break
                        if _own(touch, earlier) or _ahead(touch, earlier):
                            continue
                        if earlier.meets(touch, self.round):
                            pair = Pair(earlier, touch, number - earlier.round)
                            found.append((end, pair))
                            break
        found.sort(key=lambda one: (one[0].round, one[0].item), reverse=True)
        return found


def _own(touch: Touch, earlier: Touch) -> bool:
    """Whether both are of one run, to which its own order is another matter."""
    if touch.round != earlier.round:
        return touch.within  # a graph's own phases only meet within one replay
    if touch.within or touch.phase.capture is None:
        return touch.item == earlier.item
    return touch.phase.capture == earlier.phase.capture


def _ahead(touch: Touch, earlier: Touch) -> bool:
    """Whether what is issued later is over first, as a rebind that a graph above it waits for."""
    return touch.round == earlier.round and touch.before(earlier)


def _reasons(found: Order, needed: tuple[Needed, ...]) -> Iterator[Reason]:
    """What each wait is for: accesses at both its ends, or else what would have no order without it."""
    tight = {_place(one): one for one in needed}
    items = 0
    for wait in found.waits:
        same = tight.get(_asked(found.round, wait))
        if same is not None and same.pair is not None:
            yield Reason(wait, (same.pair,))
            continue
        edge = found.round.items[wait.edge]
        assert isinstance(edge, Edge)
        if edge.word in ("launch", "await"):
            yield Reason(wait, (), f"what `{edge.word}` says")
            continue
        items += len(found.round.items) * found.rounds
        if items > MOST_ITEMS:
            yield Reason(wait, (), "not looked for: the round is very large")
        else:
            yield _lost(found, wait, edge)


def _lost(found: Order, wait: Wait, edge: Edge) -> Reason:
    """What would have no order without a wait's edge, and those at its target that cost no wait."""
    round = found.round
    gone = {wait.edge, *(one.edge for one in found.dropped if one.target == wait.target)}
    items = tuple(item for place, item in enumerate(round.items) if place not in gone)
    without = replace(round, items=items)
    shorter = order(without, found.rounds)
    pairs = tuple(Pair(race.earlier, race.later, race.distance) for race in races(shorter))
    if pairs:
        return Reason(wait, pairs)
    if never_comes_back.check(without, shorter):
        return Reason(wait, (), "the branch comes back by it")
    if edge.capture is not None:
        return Reason(wait, (), "the structure of the graph")
    return Reason(wait, (), "no data needs it")


def _asked(round: Round, wait: Wait) -> tuple[int, int, int, bool]:
    """A wait as the least wiring would have it: the host waits for the next thing it issues."""
    target, blocks = wait.target, False
    while isinstance(round.items[target], Edge) and target + 1 < len(round.items):
        target, blocks = target + 1, True
    return wait.source, target, wait.rounds_back, blocks or _on_host(round, target)


def _on_host(round: Round, place: int) -> bool:
    item = round.items[place]
    return getattr(item, "stream", None) == HOST or not hasattr(item, "capture")


def _place(one: Needed) -> tuple[int, int, int, bool]:
    return one.source, one.target, one.rounds_back, one.blocks


def _cover(found: Order, dropped: Dropped) -> Cover:
    """What the target comes after anyway: on its own stream, by what the host waited for, or a graph's own
    streams, or another wait of its."""
    if dropped.source is None:
        return Cover(dropped, None)
    last = found.rounds - 1
    target = found.at(last, dropped.target)
    source = found.at(last - dropped.rounds_back, dropped.source)
    for one in _before(found, target):
        if one is source or one.after(source):
            return Cover(dropped, one.item, last - one.round)
    raise AssertionError(dropped)


def _before(found: Order, target: Moment) -> Iterator[Moment]:
    """What comes right before an item: on its stream, in its graph, then what else it waits for, and
    what the host did before it was issued."""
    last = found.rounds - 1
    queue = found.queues[target.coordinate]
    if target.index > 1:
        yield queue[target.index - 2]
    item = found.round.items[target.item]
    if isinstance(item, Close) or found.coordinates[target.coordinate][0] is not None:
        graph = item.capture if isinstance(item, Close) else found.coordinates[target.coordinate][0]
        yield found.at(last, found.round.items.index(Open(graph or 0)))
        for number, (capture, _) in enumerate(found.coordinates):
            if capture == graph and isinstance(item, Close):
                yield from (one for one in found.queues[number][-1:] if one.round == last)
    for wait in found.waits:
        if wait.target == target.item:
            yield found.at(last - wait.rounds_back, wait.source)
    host = found.queues[HOST]
    yield from reversed(host[: target.issued[HOST]])
