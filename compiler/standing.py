"""Routes of mixed structure: the edges between queues that stand in their programs, the fewest that do.

A round does not know which round was before it, nor which comes next. So an edge may be left out only
where every sequence of routes keeps its order without it. What one round implies by itself is seen in
that round. Beyond it, each edge is left out for a trial: whatever was before something else must still
be, in the round itself and, by the coordinates of `summary.py`, in all that may follow. No edge of what
is left can go, as with fewer edges less is known. Trials go through at most MOST_STEPS items and states;
an edge beyond stands, which costs a wait and is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property

from plait.compiler.order import Order, order
from plait.compiler.round import HOST, Edge, Open, Phase, Round
from plait.compiler.summary import Coordinates, Summary, coordinates_of, passed

MOST_STEPS = 400_000


def standing(rounds: list[Round]) -> list[frozenset[int]]:
    """Of each round the places of its edges between two queues, outside captures, that are not implied."""
    different = list({round.structure: round for round in rounds}.values())
    found = dict(zip((one.structure for one in different), _standing(different), strict=True))
    return [found[round.structure] for round in rounds]


def _standing(rounds: list[Round]) -> Iterator[frozenset[int]]:
    coordinates = coordinates_of(rounds)
    written = [asked(round) for round in rounds]
    alone = [order(round, 1) for round in rounds]
    views = [
        _View(one.round, coordinates, edges & _implied(one))
        for one, edges in zip(alone, written, strict=True)
    ]
    steps = 0
    for number, round in enumerate(rounds):
        left = written[number] - views[number].without
        for place in sorted(left - _needed(alone[number]), reverse=True):
            if steps > MOST_STEPS:
                break
            trial = views.copy()
            trial[number] = _View(round, coordinates, views[number].without | {place})
            kept, states = _kept(views, trial, number)
            steps += len(round.items) + states
            if kept:
                views = trial
    yield from (edges - view.without for edges, view in zip(written, views, strict=True))


def asked(round: Round) -> frozenset[int]:
    """The edges between two queues, outside captures."""
    return frozenset(
        place
        for place, item in enumerate(round.items)
        if isinstance(item, Edge)
        and item.capture is None
        and round.origin(item.source) not in (HOST, item.target)
    )


def _implied(alone: Order) -> set[int]:
    """Edges that what else is in the same round implies."""
    implied = {one.edge for one in alone.dropped if one.source is not None}
    implied -= {place for one in alone.waits for place in one.edges}
    return implied - _of_earlier_rounds(alone.round)


def _of_earlier_rounds(round: Round) -> set[int]:
    """Edges from what a stream was issued so far where it may be work of rounds before this one.

    That is so where the stream has none in this round, or waits by then for what may be in another.
    """
    issued: set[int] = set()
    waiting: set[int] = set()
    found: set[int] = set()
    for place, item in enumerate(round.items):
        if isinstance(item, Edge):
            source = item.source
            if source.kind == "stream" and (
                source.number not in issued or source.number in waiting
            ):
                found.add(place)
            waiting.add(item.target)
        elif isinstance(item, Open | Phase) and (stream := round.stream_outside(item)) is not None:
            issued.add(stream)
            waiting.discard(stream)
    return found


def _needed(alone: Order) -> set[int]:
    """Edges that alone give their target what it needs of this round: no trial is needed for them."""
    passing = {one.target for one in (*alone.waits, *alone.dropped) if len(one.edges) > 1}
    return {
        one.edge
        for one in alone.waits
        if one.target not in passing and not isinstance(alone.round.items[one.target], Edge)
    }


class _View:
    """A round seen from its ends, as if some of its edges were not there."""

    def __init__(self, round: Round, coordinates: Coordinates, without: frozenset[int]):
        self.without = without
        self.count = coordinates.count
        self.seen = passed(round, coordinates, without)
        known, issued = self.seen.known, self.seen.issued
        self.work = [place for place in known if not isinstance(round.items[place], Edge)]
        waits = sum(1 << self.count + p for p in known if isinstance(round.items[p], Edge))
        self.known = [mask & ~waits for p in self.work for mask in (known[p], issued[p])]
        """Of every item and its issue, the coordinates and the items that it comes after."""

    @cached_property
    def summary(self) -> Summary:
        return self.seen.summary()

    @cached_property
    def left(self) -> list[int]:
        """Of every item, the coordinates that come after it at the end."""
        return [self.summary.left[place] for place in self.work]

    @cached_property
    def after(self) -> Callable[[int], int]:
        return cache(self.summary.after)


def _kept(views: list[_View], trial: list[_View], changed: int) -> tuple[bool, int]:
    """Whether any sequence of the rounds keeps its order with one of them changed; and states seen."""
    count = views[0].count
    entry = (1 << count) - 1
    ours, theirs = views[changed], trial[changed]
    pairs = set(zip(ours.known, theirs.known, strict=True))
    if any((known & ~less) >> count for known, less in pairs):
        return False, 0
    less_known = {(a & entry, b & entry) for a, b in pairs}
    known = {(mask & entry, mask & entry) for view in views for mask in set(view.known)}
    known |= less_known
    less_known = {(a, b) for a, b in less_known if a != b}
    states = {
        pair
        for view, other in zip(views, trial, strict=True)
        for pair in zip(view.left, other.left, strict=True)
    }
    waiting = list(states)
    while waiting:
        left, less = waiting.pop()
        for one, other in less_known if left == less else known:
            if one & left and not other & less:
                return False, len(states)
        for view, other in zip(views, trial, strict=True):
            after = view.after(left), other.after(less)
            if after not in states:
                states.add(after)
                waiting.append(after)
    return True, len(states)
