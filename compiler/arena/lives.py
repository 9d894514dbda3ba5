"""When the memory of a buffer is in use, by happens-before: from its first access in a round to its last.

Of all accesses of a buffer, a clock of what is over when any of them begins, and for each coordinate the
newest moment that one of them ends with. So "every access of x is before every access of y" costs as
much as one access: it is true when y's clock holds all moments of x.

Phases of one replay see each other by the replay's own order; all else sees the replay as a whole.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TypeVar

from plait.compiler.clock import Clock, earliest
from plait.compiler.order import Moment, Order
from plait.compiler.races.conflicts import Touch, touches
from plait.compiler.summary import Summary

Capture = TypeVar("Capture", int, int | None)
"""The number of one; None: outside of all."""


class Interval:
    """Of some accesses, the earliest begin and the latest end."""

    __slots__ = ("begin", "end")

    def __init__(self, begin: Clock, end: Moment):
        self.begin = begin
        self.end = {end.coordinate: end.index}

    def add(self, begin: Clock, end: Moment) -> None:
        self.begin = earliest(self.begin, begin)
        self.end[end.coordinate] = max(self.end.get(end.coordinate, 0), end.index)

    def before(self, other: Interval) -> bool:
        return all(other.begin[coordinate] >= index for coordinate, index in self.end.items())


class Life:
    """One buffer in the rounds of one route."""

    __slots__ = ("ended", "first", "inner", "known", "last", "left", "outer")

    def __init__(self, first: int):
        self.first = first
        """The item that accesses it first, and the one that does so last: the round issues them so."""
        self.last = first
        self.outer: dict[int | None, Interval] = {}
        """By capture; None: eager phases."""
        self.inner: dict[int, Interval] = {}
        """By capture, as phases of the same replay see it."""
        self.ended: dict[int, int] = {}
        """By coordinate, the newest moment of the round before."""
        self.known: set[int] = set()
        """Of its accesses, the sets of what they come after at the beginning of their round."""
        self.left: set[int] = set()
        """Of its accesses, the sets of what comes after them at the end of their round."""

    def before(self, other: Life) -> bool:
        """Whether every access is before every access of the other, of the same route and round."""
        if self.last >= other.first:
            return False
        for capture, mine in self.outer.items():
            for another, theirs in other.outer.items():
                if capture is not None and capture == another:
                    if not self.inner[capture].before(other.inner[capture]):
                        return False
                elif not mine.before(theirs):
                    return False
        return True

    def before_next(self, other: Life) -> bool:
        """Whether every access is before every access of the other in the next round, of any route."""
        if self.left:
            return all(left & known for left in self.left for known in other.known)
        return all(
            part.begin[coordinate] >= index
            for part in other.outer.values()
            for coordinate, index in self.ended.items()
        )


def lives(order: Order, wanted: Container[str], ends: Summary | None = None) -> dict[str, Life]:
    """The lives of buffers by name. `ends`: what the routes of a round know of each other, if several."""
    buffers = enumerate(order.round.buffers)
    names = {number: buffer.name for number, buffer in buffers if buffer.name in wanted}
    found: dict[str, Life] = {}
    last = order.rounds - 1
    for touch in touches(order, [last]):
        if (name := names.get(touch.access.buffer)) is not None:
            life = found.setdefault(name, Life(touch.item))
            life.last = touch.item
            _add(life, touch, order)
            if ends is not None:
                life.known.add(ends.knows[touch.since])
                life.left.add(ends.left[touch.end.item])
    for touch in touches(order, [last - 1]) if ends is None else ():
        if (name := names.get(touch.access.buffer)) is not None:
            ended, end = found[name].ended, touch.end
            ended[end.coordinate] = max(ended.get(end.coordinate, 0), end.index)
    return found


def _add(life: Life, touch: Touch, order: Order) -> None:
    capture = touch.phase.capture
    _extend(life.outer, capture, touch.begin, touch.end)
    if capture is not None:
        own = order.at(touch.round, touch.item)
        begin, end = (touch.begin, touch.end) if touch.loads else (own.known, own)
        _extend(life.inner, capture, begin, end)


def _extend(
    parts: dict[Capture, Interval],
    capture: Capture,
    begin: Clock,
    end: Moment,
) -> None:
    if (part := parts.get(capture)) is None:
        parts[capture] = Interval(begin, end)
    else:
        part.add(begin, end)
