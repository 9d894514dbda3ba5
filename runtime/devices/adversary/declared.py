"""What a schedule says of the memory that a call is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from plait.runtime.devices.adversary.rows import Rows, rows_of
from plait.runtime.program_padding import exchanges
from plait.runtime.schedule import HOST, Argument, Capture, Kind, Phase, Schedule


@dataclass(frozen=True, slots=True)
class Access:
    kind: Kind = "updates"
    buffer: int | None = None
    """None: what is nobody else's, as a graph's own input."""
    early: bool = False
    """Whether it may be read as soon as it is issued: memory of the host, which reads it for a stream."""
    scratch: bool = False
    """Whether it holds nothing between phases, and serves one at a time."""
    pool: int | None = None
    """The pool of graphs that it is said to lie in."""
    rows: tuple[Rows, ...] = ()
    """Where its rows are those of requests, and hold nothing past the live ones."""


UNKNOWN = Access()


@dataclass(frozen=True, slots=True)
class Declared:
    name: str
    accesses: dict[str, Access]
    group: int | None = None
    """Whose communicator it uses, alone: not of what is launched, of which several are in flight."""
    results: tuple[str, ...] = ()
    """Of what a graph writes, that which lies in its pool."""


NOTHING = Declared("", {})


class Told:
    """A phase's body with what was declared of it."""

    def __init__(self, body: Callable[..., object], declared: Declared):
        self.body = body
        self.declared = declared

    def __call__(self, **given: Any) -> object:
        return self.body(**given)


def scratch_of(schedule: Schedule) -> frozenset[int]:
    """Buffers that hold nothing between phases: nobody reads them, and nobody writes them whole."""
    kinds: dict[int, set[str]] = {}
    for phase in schedule.phases:
        for argument in phase.arguments:
            kinds.setdefault(argument.buffer, set()).add(argument.kind)
    return frozenset(
        number
        for number, found in kinds.items()
        if found == {"updates"} and not schedule.buffers[number].carried
    )


def filled(schedule: Schedule, phase: Phase, argument: Argument) -> bool:
    """Whether it is filled with its pad before the phase, which brings some of its rows."""
    padded = schedule.buffers[argument.buffer].pad is not None
    return padded and argument.kind == "writes" and exchanges(phase)


def declared_of(schedule: Schedule) -> list[Declared]:
    """Of every phase."""
    scratch = scratch_of(schedule)
    programs = [*schedule.programs, *(capture.program for capture in schedule.captures)]
    launched = {one.of for program in programs for one in program if one.op == "launch"}
    found = []
    for number, phase in enumerate(schedule.phases):
        capture = None if phase.capture is None else schedule.captures[phase.capture]
        accesses = {
            argument.name: replace(
                _access(schedule, phase, argument, capture, scratch),
                rows=rows_of(schedule, number, place),
            )
            for place, argument in enumerate(phase.arguments)
        }
        alone = phase.collective is not None and number not in launched
        group = phase.collective.group if phase.collective is not None and alone else None
        results = () if capture is None else _results(schedule, phase, capture)
        found.append(Declared(phase.name, accesses, group, results))
    return found


def _access(
    schedule: Schedule,
    phase: Phase,
    argument: Argument,
    capture: Capture | None,
    scratch: frozenset[int],
) -> Access:
    buffer = schedule.buffers[argument.buffer]
    taken = () if capture is None else capture.copied_in
    if argument.kind == "reads" and (argument.buffer, argument.rounds_back) in taken:
        return Access("reads")
    kept = buffer.opaque or filled(schedule, phase, argument)
    kind = "updates" if kept and argument.kind == "writes" else argument.kind
    early = buffer.memory == "host" and phase.stream != HOST and capture is None
    pooled = buffer.pool is not None and schedule.pools[buffer.pool].size is None
    pool = buffer.pool if pooled else None
    return Access(kind, argument.buffer, early, argument.buffer in scratch, pool)


def _results(schedule: Schedule, phase: Phase, capture: Capture) -> tuple[str, ...]:
    """Arguments of a captured phase that it is the first to touch, and that have no place of their own."""
    own = capture.phases.index(schedule.phases.index(phase))
    before = {a.buffer for n in capture.phases[:own] for a in schedule.phases[n].arguments}
    found = []
    for argument in phase.arguments:
        buffer = schedule.buffers[argument.buffer]
        lasting = buffer.carried or buffer.static or buffer.task or buffer.opaque
        lasting = lasting or filled(schedule, phase, argument)
        if argument.kind == "writes" and not lasting and argument.buffer not in before:
            found.append(argument.name)
    return tuple(found)


def loads_of(schedule: Schedule) -> dict[tuple[str, str], list[Access] | None]:
    """Of every load, by its name and place, what it reads; None where two of one name differ."""
    found: dict[tuple[str, str], list[Access] | None] = {}
    for capture in schedule.captures:
        key = f"load {capture.name}", schedule.place_of(capture.place)
        reads = [
            Access("reads", number, schedule.buffers[number].memory == "host")
            for number, _ in capture.copied_in
        ]
        found[key] = reads if found.get(key, reads) == reads else None
    return found
