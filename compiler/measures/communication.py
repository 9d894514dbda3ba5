"""What of a round's communication is hidden, and what is exposed: three figures, which differ.

Beside independent work: of each exchange, the time in which nothing ran that is neither before it nor
after it, whatever each takes. Device-wide: the time in which something is exchanged and nothing computes,
as `step_trace_time.csv` of an Ascend profile counts it (Communication(Not Overlapped)). On the path: the
time that exchanges have on the round's critical path.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.compiler.intervals import Interval, left, together, total
from plait.compiler.measures.window import Window
from plait.dsl.record import Record


class Exposed(Record):
    """Nanoseconds of a round."""

    beside: int
    """Of each exchange what no independent work ran beside, added up."""
    device: int
    """In which something was exchanged and nothing computed."""
    path: int
    """Of exchanges on the critical path."""


class Exchange(Record):
    """A collective of a round: its kernel, and its part on its way where it has one."""

    span: int
    """That of its kernel."""
    start: int
    end: int
    beside: tuple[int, ...]
    """Spans of independent work that ran at the same time, as they began."""
    exposed: tuple[Interval, ...]
    """When none did."""
    path: int
    """Nanoseconds of it on the critical path."""

    @property
    def time(self) -> int:
        return self.end - self.start

    @property
    def covered(self) -> int:
        return self.time - total(self.exposed)


def exchanges(found: Window) -> list[Exchange]:
    """Those of the round, as they began. O(exchanges x lanes x log spans), and what ran beside them."""
    made = []
    for number in found.of_round:
        span = found.spans[number]
        if not found.communicates(span) or span.what.kind == "link":
            continue
        parts = found.graph.parts(number)
        start, end = span.start, found.spans[parts[-1]].end
        beside = _beside(found, parts, start, end)
        covered = together((found.spans[n].start, found.spans[n].end) for n in beside)
        exposed = tuple(left(start, end, covered))
        path = sum(found.on_path[part] for part in parts)
        made.append(Exchange(number, start, end, beside, exposed, path))
    return made


def _beside(found: Window, parts: list[int], start: int, end: int) -> tuple[int, ...]:
    ran = {one for part in parts for one in found.graph.beside(part, start, end)}
    return tuple(sorted(one for one in ran if found.computes(found.spans[one])))


def communication(found: Window) -> int:
    """Nanoseconds of the round in which something is exchanged."""
    return total(_exchanging(found))


def exposed(found: Window, made: Sequence[Exchange]) -> Exposed:
    computing = together(
        _clipped(found, span.start, span.end) for span in found.spans if found.computes(span)
    )
    bare = sum(total(left(one.start, one.end, computing)) for one in _exchanging(found))
    path = sum(
        time for span, time in found.on_path.items() if found.communicates(found.spans[span])
    )
    return Exposed(sum(total(one.exposed) for one in made), bare, path)


def _exchanging(found: Window) -> list[Interval]:
    """When something is exchanged, from the round's start to its end."""
    return together(
        _clipped(found, span.start, span.end) for span in found.spans if found.communicates(span)
    )


def _clipped(found: Window, start: int, end: int) -> tuple[int, int]:
    return max(start, found.start), min(end, found.end)
