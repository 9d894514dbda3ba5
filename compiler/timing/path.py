"""The critical path: from the end of a simulation back to its beginning, each span right after its cause."""

from __future__ import annotations

from collections.abc import Sequence

from plait.compiler.timing.engine import Span
from plait.dsl.record import Record


class Segment(Record):
    """A part of the path, in nanoseconds; they follow each other without a gap."""

    start: int
    end: int
    span: int | None
    """The number of what ran; None: nothing had begun."""


def critical_path(spans: Sequence[Span], last: int | None = None) -> list[Segment]:
    """What decided when a span ended, first to last; by default the one that ended last of all.

    The segments tile the time from 0 to its end.
    """
    if last is None:
        if not spans:
            return []
        last = max(range(len(spans)), key=lambda number: (spans[number].end, number))
    number = spans[last].met
    found: list[Segment] = []
    while number >= 0:
        span = spans[number]
        if span.end > span.start:
            found.append(Segment(span.start, span.end, number))
        before = spans[span.cause].met if span.cause >= 0 else -1
        ended = spans[before].end if before >= 0 else 0
        if ended < span.start:
            found.append(Segment(ended, span.start, None))
        number = before
    found.reverse()
    return found


def clipped(path: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """The part of a path between two moments."""
    return [
        Segment(max(one.start, start), min(one.end, end), one.span)
        for one in path
        if one.end > start and one.start < end
    ]
