"""Which names of two schedules mean the same thing: equal ones, and those that were only renamed.

A name that only one side has is given to one of the other side that stands in the same place: of the
same sort, and with the same neighbours (the stream a phase runs on, the buffers it touches, the phase
before it), as colour refinement tells them apart. Where as many of one side as of the other cannot be
told apart, they are taken in the order of their tables; where more are, none is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from plait.compiler.measures.measures import instructions
from plait.runtime.schedule import PHASE_OPS, Schedule

Thing: TypeAlias = "tuple[str, str]"
"""A kind (`stream`, `buffer`, `phase`, `capture`, `bucket`, ...) and a name."""
PASSES = 4
"""Of refinement: as far as a difference in the neighbourhood is seen."""


def matched(before: Schedule, after: Schedule) -> dict[Thing, str]:
    """Of everything that both sides have, by the first side's name, the name that the second gives it."""
    sides = _Things(before), _Things(after)
    same = {thing: thing[1] for thing in sides[0].sorts if thing in sides[1].sorts}
    left = [[thing for thing in side.sorts if thing not in same] for side in sides]
    if not all(left):
        return same
    numbers: dict[Hashable, int] = {}
    groups: list[dict[int, list[Thing]]] = []
    for side, things in zip(sides, left, strict=True):
        colours = side.colours(things, numbers)
        found: dict[int, list[Thing]] = {}
        for thing in things:
            found.setdefault(colours[thing], []).append(thing)
        groups.append(found)
    for colour, things in groups[0].items():
        others = groups[1].get(colour, [])
        if len(things) == len(others):
            same |= {thing: name for thing, (_, name) in zip(things, others, strict=True)}
    return same


class _Things:
    """Everything in a schedule that has a name, with what it is and what it touches."""

    def __init__(self, schedule: Schedule):
        self.sorts: dict[Thing, list[Hashable]] = {}
        """What each is, names left out; of several entries under one name, of each."""
        self.beside: dict[Thing, list[tuple[Hashable, Thing]]] = {}
        """What each touches, and how."""
        for stream in schedule.streams:
            self.add("stream", stream.name, stream.kind)
        for group in schedule.groups:
            self.add("group", group.name, group.size)
        for pool in schedule.pools:
            self.add("pool", pool.name, pool.size)
        self.buckets(schedule)
        self.buffers(schedule)
        self.captures(schedule)
        self.phases(schedule)
        self.order(schedule)

    def add(self, kind: str, name: str, *sort: Hashable) -> Thing:
        thing = kind, name
        self.sorts.setdefault(thing, []).append(sort)
        return thing

    def link(self, role: Hashable, one: Thing, other: Thing) -> None:
        self.beside.setdefault(one, []).append(((role, "to"), other))
        self.beside.setdefault(other, []).append(((role, "from"), one))

    def buckets(self, schedule: Schedule) -> None:
        for bucket in schedule.buckets:
            sizes = tuple(size for _, size in bucket.sizes)
            self.add("bucket", bucket.name, sizes, tuple(str(value) for _, value in bucket.route))

    def buffers(self, schedule: Schedule) -> None:
        for number, one in enumerate(schedule.buffers):
            sort = one.dtype, one.memory, one.carried, one.static, one.copies, one.task, one.pad
            shapes = tuple(bucket.shapes[number] for bucket in schedule.buckets)
            buffer = self.add("buffer", one.name, sort, shapes)
            if one.pool is not None:
                self.link("in", buffer, ("pool", schedule.pools[one.pool].name))

    def captures(self, schedule: Schedule) -> None:
        for number, one in enumerate(schedule.captures):
            rows = tuple(bucket.rows[number] for bucket in schedule.buckets)
            capture = self.add("capture", one.name, rows)
            self.link("on", capture, ("stream", schedule.streams[one.stream].name))
            if one.pool is not None:
                self.link("in", capture, ("pool", schedule.pools[one.pool].name))

    def phases(self, schedule: Schedule) -> None:
        for one in schedule.phases:
            collective = one.collective
            phase = self.add(
                "phase", one.name, one.index, one.attributes, collective and collective.kind
            )
            self.link("on", phase, ("stream", schedule.streams[one.stream].name))
            if one.capture is not None:
                self.link("in", phase, ("capture", schedule.captures[one.capture].name))
            if collective is not None:
                self.link("over", phase, ("group", schedule.groups[collective.group].name))
            for argument in one.arguments:
                role = argument.kind, argument.rounds_back
                self.link(role, phase, ("buffer", schedule.buffers[argument.buffer].name))

    def order(self, schedule: Schedule) -> None:
        """Each phase with the one before it on its stream, in the widest bucket."""
        newest: dict[int, Thing] = {}
        for one in instructions(schedule, schedule.widest):
            if one.op in PHASE_OPS:
                phase = "phase", schedule.phases[one.of].name
                if one.on in newest:
                    self.link("after", phase, newest[one.on])
                newest[one.on] = phase

    def colours(self, left: Iterable[Thing], numbers: dict[Hashable, int]) -> Mapping[Thing, int]:
        """Of everything a number; two that are left have one if nothing around them tells them apart."""

        def number(what: Hashable) -> int:
            return numbers.setdefault(what, len(numbers))

        left = list(left)
        colours = {thing: number(("named", *thing)) for thing in self.sorts}
        for thing in left:
            colours[thing] = number(("left", thing[0], tuple(self.sorts[thing])))
        for _ in range(PASSES):
            around = {
                thing: tuple(
                    sorted(
                        number((role, colours[other])) for role, other in self.beside.get(thing, ())
                    )
                )
                for thing in left
            }
            colours |= {thing: number((colours[thing], around[thing])) for thing in left}
        return colours
