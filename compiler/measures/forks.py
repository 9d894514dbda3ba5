"""Every branch of a round in time: how long it is, what runs beside it, and whether it comes back last."""

from __future__ import annotations

from collections.abc import Sequence

from plait.compiler.intervals import left, together, total
from plait.compiler.measures.joins import arrived
from plait.compiler.measures.needs import Needs
from plait.compiler.measures.started import Started
from plait.compiler.measures.window import WORKING, Window
from plait.dsl.record import Record


class Fork(Record):
    """Times are nanoseconds, moments from the start of the round."""

    started: Started
    begins: int
    ends: int
    work: int
    """Of its phases."""
    beside: int
    """Of that, when other streams of the device worked too."""
    slack: int
    """How much longer it may take in every round before rounds do."""
    path: int
    """Of the critical path."""
    waited: int
    """For the others where it comes back; less than 0: they waited for it, as it was last."""
    needs: str
    """What it needs last, in words; empty where that is nothing."""
    needed_by: str
    """What needs it first."""

    @property
    def exposed(self) -> int:
        return self.work - self.beside


def forks(
    found: Window, begun: Sequence[Started], slack: dict[int, int], needs: Needs
) -> list[Fork]:
    """Those of the branches that ran in the round."""
    ran = _Ran(found)
    made = []
    for one in begun:
        spans = [number for name in one.steps for number in ran.of(name, one.capture)]
        if spans:
            made.append(_fork(found, one, sorted(spans), slack, needs, ran))
    return made


class _Ran:
    """Spans of the round by the names of what they are of."""

    def __init__(self, found: Window):
        self.spans = found.spans
        self.phases: dict[str, list[int]] = {}
        self.captures: dict[str, list[int]] = {}
        for number in found.of_round:
            span = found.spans[number]
            doing = span.what
            if span.stream < 0:
                continue
            if doing.kind in WORKING:
                self.phases.setdefault(doing.name, []).append(number)
            if doing.kind in ("load", "replay"):
                self.captures.setdefault(doing.name, []).append(number)
            elif doing.capture is not None and doing.kind in WORKING:
                name = found.schedule.captures[doing.capture].name
                self.captures.setdefault(name, []).append(number)

    def of(self, name: str, capture: str) -> list[int]:
        return (
            self.captures.get(name, [])
            if not capture and name in self.captures
            else self.phases.get(name, [])
        )


def _works(found: Window, number: int) -> bool:
    span = found.spans[number]
    return span.stream >= 0 and span.what.kind in WORKING and span.end > span.start


def _fork(
    found: Window, one: Started, mine: list[int], slack: dict[int, int], needs: Needs, ran: _Ran
) -> Fork:
    spans, own = found.spans, set(mine)
    begins, ends = spans[mine[0]].start, max(spans[number].end for number in mine)
    near = found.graph.during(begins, ends)
    others = together(
        (spans[number].start, spans[number].end)
        for number in near
        if number not in own and _works(found, number)
    )
    work = together((spans[n].start, spans[n].end) for n in mine if spans[n].what.kind in WORKING)
    bare = sum(total(left(part.start, part.end, others)) for part in work)
    last = max(mine, key=lambda number: (spans[number].end, number))
    first = [number for number in mine if number in needs.before]
    return Fork(
        one,
        begins - found.start,
        ends - found.start,
        total(work),
        total(work) - bare,
        min(slack[number] for number in mine if found.spans[number].what.kind in WORKING),
        sum(found.on_path[number] for number in own),
        _waited(found, last),
        _needs(found, needs, first, own),
        _needed_by(found, needs, first, own),
    )


def _waited(found: Window, last: int) -> int:
    """Where the branch comes back, from its end to that of the last of the others."""
    spans, graph = found.spans, found.graph
    backs: list[int] = []
    passed = [last]
    while passed:
        for number in graph.after[passed.pop()]:
            if spans[number].what.kind in ("record", "wait") and spans[number].stream >= 0:
                passed.append(number)
            elif spans[number].stream != spans[last].stream:
                backs.append(number)
    if not backs:
        return 0
    back = min(backs)
    lane = spans[last].stream
    came = [(spans[one].stream == lane, spans[one].end) for one in arrived(found, back)]
    own = max((end for mine, end in came if mine), default=spans[last].end)
    return max((end for mine, end in came if not mine), default=own) - own


def _needs(found: Window, needs: Needs, mine: Sequence[int], own: set[int]) -> str:
    """What the first of them that needs something of another needs last."""
    for number in mine:
        before = [one for one in needs.before[number] if one not in own]
        if before:
            return needs.said(number, max(before, key=lambda one: (needs.end(one), one)))
    return ""


def _needed_by(found: Window, needs: Needs, mine: Sequence[int], own: set[int]) -> str:
    after = [
        (need.overwrites, found.spans[one].start, one, number)
        for number in mine
        for one, need in needs.after.get(number, {}).items()
        if one not in own
    ]
    if not after:
        return ""
    _, _, later, earlier = min(after)
    return needs.said(later, earlier)
