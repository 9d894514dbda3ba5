"""Who comes last where streams meet, and how long the others waited for it."""

from __future__ import annotations

from plait.compiler.measures.named import lane_named
from plait.compiler.measures.window import Window
from plait.compiler.timing.timeline import where
from plait.dsl.record import Record


class Arrival(Record):
    """Of one stream, or of the host."""

    stream: str
    name: str
    """What it had to end last; empty for the host."""
    time: int
    """In nanoseconds from the start of the round; less than 0 where that was in an earlier one."""
    waited: int
    """Nanoseconds for the last."""


class Join(Record):
    """Something that waited for more than one stream, none of which was surely there before the other."""

    name: str
    stream: str
    spec: str
    """`file:line` of it."""
    begins: int
    """In nanoseconds from the start of the round."""
    arrivals: tuple[Arrival, ...]
    """The last first."""


def joins(found: Window) -> list[Join]:
    """Of the round, as they began. O(spans x lanes)."""
    made = []
    for number in found.of_round:
        span = found.spans[number]
        if span.what.kind in ("wait", "record"):
            continue
        came = _apart(found, arrived(found, number))
        if len(came) > 1:
            last = max(found.spans[one].end for one in came)
            arrivals = sorted(
                (_arrival(found, one, last) for one in came), key=lambda one: one.waited
            )
            begins = span.start - found.start
            stream = lane_named(found, number)
            spec = where(found.steady.simulation, span.what)
            made.append(Join(span.what.name, stream, spec, begins, tuple(arrivals)))
    return made


def arrived(found: Window, number: int) -> list[int]:
    """What a span waited for on its own lane and on others, over waits that take time; not its issue."""
    graph = found.graph
    came: set[int] = set()
    events = False
    left = [one for one in graph.sources[number] if one.how != "issue"]
    while left:
        one = left.pop()
        if one.how == "stream" and found.spans[one.span].what.kind == "wait":
            left += [other for other in graph.sources[one.span] if other.how != "issue"]
        else:
            events = events or one.how == "event"
            came.add(one.span)
    return sorted(came) if events else []


def _apart(found: Window, came: list[int]) -> list[int]:
    """Those that come before no other, whatever each takes."""
    return [
        one
        for one in came
        if not any(other != one and found.graph.before(one, other) for other in came)
    ]


def _arrival(found: Window, number: int, last: int) -> Arrival:
    end = found.spans[number].end
    working = found.worked(number)
    name = ""
    if working is not None and found.spans[working].stream >= 0:
        name = found.spans[working].what.name
    return Arrival(lane_named(found, number), name, end - found.start, last - end)
