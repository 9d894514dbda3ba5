"""Which phases of simulated rounds need which others for their data, whatever streams and edges say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from plait.compiler.measures.window import Window
from plait.compiler.races.regions import Box, box
from plait.dsl.record import Record
from plait.runtime.schedule import Phase

ROUNDS_BEFORE = 3
"""Of the round that is looked at, from which on accesses are followed."""


class Access(Record):
    span: int
    writes: bool
    part: Box | None
    """None: all of the buffer."""


class Need(Record):
    """Why one phase comes after another: the one overwrites what the other uses, or reads what it wrote."""

    buffer: int
    overwrites: bool


class Needs:
    """Spans of phases; an exchange is known by that of its kernel."""

    def __init__(self, found: Window):
        self.found = found
        self.before: dict[int, dict[int, Need]] = {}
        """Of every phase, those that it comes after for the sake of data."""
        self.after: dict[int, dict[int, Need]] = defaultdict(dict)
        self.accesses: dict[tuple[int, int], list[Access]] = defaultdict(list)
        """By buffer and copy, those that a later one may have to come after."""
        for number in found.graph.issued:
            span = found.spans[number]
            phase = found.phase(span)
            recent = span.what.round >= found.round - ROUNDS_BEFORE
            if phase is not None and span.what.kind == "phase" and recent:
                self.phase(number, phase, span.what.round)

    def phase(self, number: int, phase: Phase, round: int) -> None:
        needed = self.before[number] = {}
        regions = self.found.bucket.regions[self.found.spans[number].what.number]
        made = []
        for one, region in zip(phase.arguments, regions, strict=True):
            copies = self.found.schedule.buffers[one.buffer].copies
            shape = self.found.bucket.shapes[one.buffer]
            slot = one.buffer, (round - one.rounds_back) % copies
            part = None if not shape or region is None else box(region, shape)
            for other in self.accesses[slot]:
                if (other.writes or one.kind != "reads") and _meet(other.part, part):
                    overwrites = one.kind == "writes" or not other.writes
                    if other.span not in needed or not overwrites:
                        needed[other.span] = Need(one.buffer, overwrites)
            made.append((slot, Access(number, one.kind != "reads", part)))
        for slot, access in made:
            self.add(slot, access)
        needed.pop(number, None)
        for other, need in needed.items():
            self.after[other][number] = need

    def add(self, slot: tuple[int, int], access: Access) -> None:
        known = self.accesses[slot]
        if access.writes:
            known[:] = [other for other in known if not _within(other.part, access.part)]
        known.append(access)

    def related(self, span: int) -> set[int]:
        """All that a phase needs, and all that need it, over others too."""
        return {span} | _reached(span, self.before) | _reached(span, self.after)

    def ready(self, span: int) -> int:
        """When all that it needs had ended."""
        return max((self.end(one) for one in self.before.get(span, ())), default=0)

    def said(self, later: int, earlier: int) -> str:
        """Why one comes after the other, in words."""
        need = self.before[later][earlier]
        names = (self.found.spans[one].what.name for one in (later, earlier))
        buffer = self.found.schedule.buffers[need.buffer].name
        middle = f"overwrites {buffer}, used by" if need.overwrites else f"needs {buffer} of"
        return f" {middle} ".join(names)

    def end(self, span: int) -> int:
        """Of an exchange, when it was no longer on its way."""
        return self.found.spans[self.found.graph.last_of(span)].end


def _reached(start: int, edges: Mapping[int, Iterable[int]]) -> set[int]:
    found: set[int] = set()
    left = [start]
    while left:
        for one in edges.get(left.pop(), ()):
            if one not in found:
                found.add(one)
                left.append(one)
    return found


def _meet(a: Box | None, b: Box | None) -> bool:
    if a is None or b is None:
        return True
    return all(max(p, r) < min(q, s) for (p, q), (r, s) in zip(a, b, strict=True))


def _within(a: Box | None, b: Box | None) -> bool:
    if b is None or a is None:
        return b is None
    return all(r <= p and q <= s for (p, q), (r, s) in zip(a, b, strict=True))
