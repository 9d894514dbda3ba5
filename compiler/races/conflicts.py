"""Pairs of accesses that meet in memory, and those of them that nothing orders: the races.

An access lasts from when memory may first be touched to when it surely is no longer:

- an eager phase: its own run; where it reads an `on host` buffer: from its issue, as the host's side
  of a copy may read the memory when it is issued. What it writes there comes in stream order
- a captured input that is copied in: until the capture is loaded; of an `on host` buffer, as above, from
  its issue. What a graph itself reads there it reads in stream order
- host parameters of a captured task: from the phase that reads them to the end of the replay
- everything else a capture touches: the whole replay

Between accesses of one replay only the replay's own order counts, where each phase lasts its own run.
Memory that no buffer stands for (`hidden.py`) is touched like a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from plait.compiler.clock import Clock
from plait.compiler.order import Moment, Order
from plait.compiler.races.hidden import Hidden, communicator, left_by_graphs, memory_of
from plait.compiler.round import HOST, Access, Axis, Close, Open, Part, Phase, Round
from plait.dsl.record import Record

MOST_RACES = 10_000
"""Where a spec has more, these are enough to mend it by."""


class Touch(Record):
    """One access of one phase in one round, with the interval it lasts."""

    phase: Phase
    access: Access
    round: int
    item: int
    begin: Clock
    """What is surely over when the interval begins, by coordinate."""
    end: Moment
    from_issue: bool = False
    """Whether the interval begins when the host issues the phase."""
    loads: bool = False
    """Whether the interval ends when the capture has copied it in."""
    within: bool = False
    """Whether it is the phase's own run within a replay."""
    since: int = -1
    """The item that the interval begins with: the phase, or the capture's load."""
    hidden: Hidden | None = None
    """What it touches, if no buffer."""
    queue: str = ""
    """The stream in whose order it enters an exchange."""

    def meets(self, other: Touch, round: Round) -> bool:
        """Whether one issued later touches the same memory and one of them writes it."""
        if not (self.access.writes or other.access.writes):
            return False
        if self.hidden:
            return self.meets_hidden(other)
        copies = round.buffers[self.access.buffer].copies
        if (self.slot - other.slot) % copies:
            return False
        if not regions_meet(self.access.region, other.access.region):
            return False
        a, b = self.access, other.access
        return not vouched(round, (a.buffer, a.region), (b.buffer, b.region))

    def meets_hidden(self, other: Touch) -> bool:
        """The same of what no buffer stands for.

        Exchanges enter in the order of the stream that starts them, also where several are in flight.
        What a replay issued before a read does to what is read there is no matter of order.
        """
        assert self.hidden
        if self.hidden.kind == "communicator":
            return self.queue != other.queue
        return other.access.writes

    def before(self, other: Touch) -> bool:
        """Whether it is surely over when the other begins, as a rebind may be for a graph above it."""
        return other.begin[self.end.coordinate] >= self.end.index

    @property
    def slot(self) -> int:
        return self.round - self.access.rounds_back


class Race(Record):
    earlier: Touch
    """Issued first. A run may still be in it when the later one begins."""
    later: Touch

    @property
    def buffer(self) -> int:
        return self.later.access.buffer

    @property
    def distance(self) -> int:
        """Rounds from the earlier to the later."""
        return self.later.round - self.earlier.round

    @property
    def hidden(self) -> Hidden | None:
        """What the two meet in, if no buffer."""
        return self.later.hidden

    @property
    def words(self) -> str:
        return self.hidden.words if self.hidden else ""

    @property
    def waits_on_host(self) -> bool:
        """Whether only the host can wait for the earlier in time."""
        return self.later.phase.stream == HOST or self.later.from_issue


def regions_meet(a: tuple[Axis, ...] | None, b: tuple[Axis, ...] | None) -> bool:
    if a is None or b is None:
        return True
    return all(map(_axes_meet, a, b))  # an axis that one of them leaves out is whole


def _axes_meet(a: Axis, b: Axis) -> bool:
    if a is None or b is None:
        return True
    (first, last), (start, stop) = bounds(a), bounds(b)
    return first < stop and start < last


def bounds(axis: tuple[int, int] | int) -> tuple[int, int]:
    """From and up to, not including."""
    return axis if isinstance(axis, tuple) else (axis, axis + 1)


def vouched(round: Round, a: Part, b: Part) -> bool:
    """Whether the author says that the two parts never meet."""
    return (a, b) in round.disjoint or (b, a) in round.disjoint


def static_in(round: Round, capture: int) -> set[int]:
    """Buffers whose address is baked into the graph."""
    return static_by_capture(round)[capture]


def static_by_capture(round: Round) -> dict[int, set[int]]:
    """Of every capture, the buffers whose address is baked into the graph.

    Those declared so, and tasks'; and whatever it changes that has a value from elsewhere, carried from
    another round or taken in: a copy of it would be changed in its place.
    """
    declared = {number for number, one in enumerate(round.buffers) if one.static or one.task}
    written: dict[int, set[int]] = {one.number: set() for one in round.captures}
    taken: dict[int, set[int]] = {one.number: set() for one in round.captures}
    for phase in round.phases:
        if phase.capture is None:
            continue
        own, outer = written[phase.capture], taken[phase.capture]
        for access in phase.accesses:
            if access.reads and not access.rounds_back and access.buffer not in own:
                outer.add(access.buffer)
        own |= {access.buffer for access in phase.accesses if access.writes}
    return {
        capture: declared | {n for n in own if round.buffers[n].carried or n in taken[capture]}
        for capture, own in written.items()
    }


def copied_in(round: Round, capture: int) -> list[tuple[int, int]]:
    """What a capture takes in: buffers and how many rounds back, in the order they are read.

    These are read before the capture itself writes them, and the graph does not hold their address.
    """
    static = static_in(round, capture)
    written: set[int] = set()
    inputs: list[tuple[int, int]] = []
    for phase in round.phases:
        if phase.capture != capture:
            continue
        for access in phase.accesses:
            key = (access.buffer, access.rounds_back)
            if _is_input(access, static, written) and key not in inputs:
                inputs.append(key)
        written |= {access.buffer for access in phase.accesses if access.writes}
    return inputs


def _is_input(access: Access, static: set[int], written: set[int]) -> bool:
    own = access.buffer in written and access.rounds_back == 0
    return access.reads and access.buffer not in static and not own


def races(order: Order, most: int = MOST_RACES) -> list[Race]:
    """Every pair that meets without an order, the nearest rounds of it, by text; at most so many."""
    found: dict[tuple[int, int, int], Race] = {}
    _search(order, touches(order, range(order.rounds)), found, most)
    forked = {capture for capture, _ in order.coordinates}
    for capture in order.round.captures:
        if capture.number in forked:  # one stream is in order
            _search(order, inner_touches(order, capture.number), found, most)
    # Where a buffer of the text is met too, the edge is missed for its sake.
    return sorted(
        found.values(),
        key=lambda r: (r.distance, r.later.item, -r.earlier.item, r.hidden is not None),
    )


def _search(
    order: Order,
    given: Iterable[Touch],
    found: dict[tuple[int, int, int], Race],
    most: int,
) -> None:
    """Adds every pair of the touches, given in issue order, that meets without an order."""
    behind: dict[int, _Behind] = {}
    for _, group in groupby(given, _replay):
        # What one replay, or one phase, does to itself is another matter: only then does it count.
        own = list(group)
        for touch in own:
            number = touch.access.buffer
            for earlier in behind[number].running(touch) if number in behind else ():
                if earlier.meets(touch, order.round) and not touch.before(earlier):
                    key = (earlier.item, touch.item, number)
                    found.setdefault(key, Race(earlier, touch))
                    if len(found) >= most:
                        return
        for touch in own:
            behind.setdefault(touch.access.buffer, _Behind()).add(touch)


class _Behind:
    """What has touched one buffer so far."""

    def __init__(self) -> None:
        self.all: dict[tuple[int, bool], list[Touch]] = {}
        """By the queue it ends on, and whether that is a load: each list ends things in order."""
        self.since: dict[tuple[int, bool], list[Touch]] = {}
        """The same of what is not known to be over when the turn began."""
        self.turn: Touch | None = None
        """A touch that came after all others: whoever comes after it need not look at them."""
        self.next: Touch | None = None

    def running(self, touch: Touch) -> Iterator[Touch]:
        """All that may not have ended when a touch begins."""
        begin, turn = touch.begin, self.turn
        after = turn is not None and turn.end.index <= begin[turn.end.coordinate]
        candidates = self.since if after else self.all
        alone = after or turn is None
        for key in sorted(candidates):
            over = begin[key[0]]
            for earlier in reversed(candidates[key]):
                if earlier.end.index <= over:
                    break
                alone = False
                yield earlier
        if alone:
            self.next = touch

    def add(self, touch: Touch) -> None:
        if self.next is not None:
            self.turn, self.next, self.since = self.next, None, {}
        key = touch.end.coordinate, touch.loads
        self.all.setdefault(key, []).append(touch)
        self.since.setdefault(key, []).append(touch)


def _replay(touch: Touch) -> tuple[int, int | None, int]:
    """What touches of one run share: a phase's, or, seen from outside, a replay's."""
    graph = None if touch.within else touch.phase.capture
    return touch.round, graph, touch.item if graph is None else -1


def touches(order: Order, rounds: Iterable[int]) -> Iterator[Touch]:
    """Every access of those rounds, in issue order, as it is seen from outside captures."""
    round = order.round
    static = static_by_capture(round)
    left = left_by_graphs(round, static)
    for number in rounds:
        load, last = None, None
        written: set[int] = set()
        for place, item in enumerate(round.items):
            if isinstance(item, Open):
                load, last, written = order.at(number, place), None, set()
            elif isinstance(item, Close) and last is not None:
                assert load is not None
                yield _overwrite(order, load, order.at(number, place), last)
            if not isinstance(item, Phase):
                continue
            last, own = item, order.at(number, place)
            for access in item.accesses:
                buffer = round.buffers[access.buffer]
                if item.capture is None:
                    by_issue = buffer.place == "host" and item.stream != HOST and access.reads
                    begin = own.issued if by_issue else own.known
                    touch = Touch(item, access, number, place, begin, own, by_issue, since=place)
                else:
                    assert load is not None
                    loads = _is_input(access, static[item.capture], written)
                    end = load if loads else order.at(number, round.places["capture", item.capture])
                    by_issue = buffer.place == "host" and loads
                    since = own if buffer.task else load
                    begin = since.issued if by_issue else since.known
                    touch = Touch(
                        item, access, number, place, begin, end, by_issue, loads, since=since.item
                    )
                yield touch
                kept = left.get(access.buffer)
                if kept and item.capture not in kept.by_capture:
                    for memory in kept.memories:
                        read = memory.access("reads", access.span, buffer.name)
                        yield touch.replace(access=read, hidden=memory)
            written |= {access.buffer for access in item.accesses if access.writes}
            if item.collective is not None and item.stream != HOST:
                if item.capture is None:
                    yield _exchange(round, item, own, own, item.stream)
                else:
                    assert load is not None
                    capture = round.captures[item.capture]
                    end = order.at(number, round.places["capture", item.capture])
                    yield _exchange(round, item, load, end, capture.stream).replace(item=place)


def _exchange(round: Round, phase: Phase, first: Moment, end: Moment, stream: int) -> Touch:
    """What a collective does to the communicator of its group."""
    assert phase.collective
    window = communicator(round, phase.collective.group)
    access = window.access("updates", phase.collective.span)
    since = first.item
    return Touch(
        *(phase, access, first.round, since, first.known, end),
        since=since,
        hidden=window,
        queue=round.stream_name(round.issuer(stream)),
    )


def _overwrite(order: Order, load: Moment, end: Moment, last: Phase) -> Touch:
    """What a replay does to the memory that its graph keeps things in, under the name of its last phase."""
    assert last.capture is not None
    capture = order.round.captures[last.capture]
    memory = memory_of(order.round, capture)
    access = memory.access("writes", capture.span)
    place = order.round.places["phase", last.number]
    return Touch(last, access, load.round, place, load.known, end, since=load.item, hidden=memory)


def inner_touches(order: Order, capture: int) -> Iterator[Touch]:
    """Every access of one replay, as its phases see each other."""
    round, last = order.round, order.rounds - 1
    for place in round.inside.get(capture, ()):
        item, own = round.items[place], order.at(last, place)
        assert isinstance(item, Phase)
        for access in item.accesses:
            yield Touch(item, access, last, place, own.known, own, within=True)
        if item.collective is not None and item.stream != HOST:
            yield _exchange(round, item, own, own, item.stream).replace(within=True)
