"""A simulation as lanes: the host, then every stream, what ran on each, and what of it decides the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plait.compiler.timing.issue import Doing
from plait.compiler.timing.path import Segment, clipped
from plait.compiler.timing.simulate import Simulation
from plait.dsl.record import Record
from plait.runtime.schedule import HOST


class Bar(Record):
    """Something that took time, in nanoseconds from the beginning."""

    name: str
    kind: str
    round: int
    start: int
    end: int
    on_path: bool
    where: str
    """`file:line` of what it is in the spec; empty where there is no such line."""
    number: int
    """Of its span."""


class Wait(Record):
    """When a lane had something to do, and could not begin."""

    start: int
    end: int
    round: int
    on: str
    """What it had to wait for."""


@dataclass(frozen=True)
class Lane:
    name: str
    bars: tuple[Bar, ...]
    """By when they began."""
    host: bool
    waits: tuple[Wait, ...]
    """Between bars."""


def lanes(found: Simulation) -> list[Lane]:
    """Of every rank the host and each stream; what a graph has on a side stream is in a lane of its own."""
    schedule = found.schedule
    many = len({rank for rank, _, _ in found.lanes.places}) > 1
    decisive = {segment.span for segment in found.path()}
    bars: dict[tuple[int, int | None, int], list[Bar]] = {}
    for number, span in enumerate(found.spans):
        place = (
            found.lanes.places[span.stream] if span.stream >= 0 else (-1 - span.stream, None, HOST)
        )
        doing = span.what
        if span.end > span.start:
            bar = Bar(
                doing.name,
                doing.kind,
                doing.round,
                span.start,
                span.end,
                number in decisive,
                where(found, doing),
                number,
            )
            bars.setdefault(place, []).append(bar)
    names = [stream.name for stream in schedule.streams]
    made = []
    for rank, capture, stream in sorted(
        bars, key=lambda place: (place[0], place[2], place[1] is not None)
    ):
        inside = "" if capture is None else f" in {schedule.captures[capture].name}"
        name = f"{names[stream]}{inside}" + (f" of rank {rank}" if many else "")
        own = sorted(bars[rank, capture, stream], key=lambda bar: bar.start)
        made.append(Lane(name, tuple(own), stream == HOST, tuple(_waits(found, own))))
    return made


def _waits(found: Simulation, bars: Sequence[Bar]) -> Iterator[Wait]:
    """Before each bar, from when its lane was free and it was issued."""
    free = 0
    for bar in bars:
        span = found.spans[bar.number]
        since = max(free, min(span.issued, span.start)) if span.stream >= 0 else free
        if since < span.start and span.cause >= 0:
            what: Doing = found.spans[found.spans[span.cause].met].what
            yield Wait(since, span.start, bar.round, what.name)
        free = span.end


def where(found: Simulation, doing: Doing) -> str:
    """`file:line` in the spec; empty where there is no such line."""
    schedule = found.schedule
    if doing.kind in ("phase", "link"):
        return schedule.place_of(schedule.phases[doing.number].place)
    if doing.kind in ("load", "replay"):
        return schedule.place_of(schedule.captures[doing.number].place)
    return ""


def last_round(found: Simulation) -> list[Segment]:
    """Of the critical path, from the end of the last round but one to the end of all."""
    ends = found.ends
    start = ends[-2] if len(ends) > 1 and ends[-2] < found.end else 0
    return clipped(found.path(), start, found.end)


def decisive(found: Simulation, path: Sequence[Segment]) -> Iterator[tuple[str, str, int]]:
    """Of what is on a path, the kind, the name and the nanoseconds, the longest first."""
    total: dict[tuple[str, str], int] = {}
    for one in path:
        doing = None if one.span is None else found.spans[one.span].what
        key = ("idle", "") if doing is None else (doing.kind, doing.name)
        if doing is not None and found.spans[one.span or 0].stream < 0:
            key = ("host", doing.name)
        total[key] = total.get(key, 0) + one.end - one.start
    for (kind, name), time in sorted(total.items(), key=lambda one: -one[1]):
        yield kind, name, time
