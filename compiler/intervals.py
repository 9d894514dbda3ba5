"""Stretches of time: what several cover together, and what is left of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Interval(NamedTuple):
    """Nanoseconds from a start up to an end."""

    start: int
    end: int

    @property
    def time(self) -> int:
        return self.end - self.start


def together(many: Iterable[tuple[int, int]]) -> list[Interval]:
    """What they cover, in order, without what is covered twice.

    >>> together([(5, 7), (0, 3), (2, 4)])
    [Interval(start=0, end=4), Interval(start=5, end=7)]
    """
    found: list[Interval] = []
    for start, end in sorted(many):
        if end <= start:
            continue
        if found and start <= found[-1].end:
            found[-1] = Interval(found[-1].start, max(end, found[-1].end))
        else:
            found.append(Interval(start, end))
    return found


def left(start: int, end: int, covered: Iterable[Interval]) -> list[Interval]:
    """What of a stretch no interval covers; they are in order.

    >>> left(0, 9, together([(2, 4), (8, 12)]))
    [Interval(start=0, end=2), Interval(start=4, end=8)]
    """
    found = []
    for one in covered:
        if one.end <= start:
            continue
        if one.start >= end:
            break
        if one.start > start:
            found.append(Interval(start, one.start))
        start = one.end
    if start < end:
        found.append(Interval(start, end))
    return found


def total(many: Iterable[Interval]) -> int:
    return sum(one.time for one in many)


def shared(some: Sequence[Interval], others: Sequence[Interval]) -> int:
    """Nanoseconds that both cover; each is in order, without overlap.

    >>> shared(together([(0, 3), (5, 9)]), together([(2, 6)]))
    2
    """
    found = i = j = 0
    while i < len(some) and j < len(others):
        a, b = some[i], others[j]
        found += max(0, min(a.end, b.end) - max(a.start, b.start))
        if a.end < b.end:
            i += 1
        else:
            j += 1
    return found
