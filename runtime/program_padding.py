"""Where a program fills rows that only pad: behind each load, and before who looks at what was left.

A fill is a write, and nothing but what is declared is known to be ordered. So it belongs to a phase that
writes the rows anyway: behind a host phase, which has loaded the live ones, and before an exchange, which
brings as many as come, or a phase that changes what an earlier round left. One that only reads that gets
a copy of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from plait.runtime.schedule import HOST, PHASE_OPS, Argument, Bucket, Phase, Region, Schedule

EXCHANGES = ("all_to_all", "low_latency")

Axis = tuple[int | None, int, str, int, int]
"""As in `padding.py`."""


@dataclass
class Part:
    """What is filled of one access."""

    buffer: int
    rounds_back: int
    region: Region
    axes: tuple[Axis, ...]
    """None: all of it."""
    own: int | None = None
    """Which copy of the phase's own, or of its capture's."""


@dataclass
class Filled:
    """Around a phase, or before the replay of a capture."""

    before: list[Part] = field(default_factory=list)
    after: list[Part] = field(default_factory=list)
    own: dict[int, Argument] = field(default_factory=dict)
    """Arguments, by their place, that a phase gets as copies."""


class Padding:
    """Of one bucket."""

    def __init__(self, schedule: Schedule, bucket: Bucket):
        self.schedule = schedule
        self.bucket = bucket
        self.written: set[int] = set()
        """Buffers that a phase above has written all of."""
        self.phases: dict[int, Filled] = {}
        self.captures: dict[int, Filled] = {}
        self.taken: dict[int, list[tuple[int, int]]] = {}
        """Of a capture, what it takes a copy of beyond what its schedule says."""
        self.newer: set[tuple[int, str]] = set()
        """Reads of captured phases, by argument, of what a phase above them in the capture has written."""
        for one in schedule.program_of(bucket):
            if one.op in PHASE_OPS:
                self.phase(one.of)
            elif one.op == "replay":
                self.capture(one.of)

    def padded(self, number: int) -> Iterator[tuple[int, Argument, Region]]:
        """The accesses of a phase whose buffer is padded."""
        phase = self.schedule.phases[number]
        regions = self.bucket.regions[number]
        for place, (argument, region) in enumerate(zip(phase.arguments, regions, strict=True)):
            buffer = self.schedule.buffers[argument.buffer]
            if buffer.pad is not None and buffer.live and self.bucket.shapes[argument.buffer]:
                yield place, argument, region

    def left(self, argument: Argument) -> bool:
        """Whether an access sees what an earlier round left."""
        return argument.rounds_back > 0 or argument.buffer not in self.written

    def phase(self, number: int) -> None:
        phase, filled = self.schedule.phases[number], Filled()
        for place, argument, region in self.padded(number):
            part = self.part(argument, region)
            if argument.kind == "reads":
                if self.left(argument):
                    part.own = len(filled.own)
                    filled.own[place] = argument
                    filled.before.append(part)
            elif phase.stream == HOST:
                filled.after.append(part)
            elif exchanges(phase) and argument.kind == "writes":
                filled.before.append(self.part(argument, region, whole=True))
            elif argument.kind == "updates" and self.left(argument):
                filled.before.append(part)
        self.note(number)
        self.phases[number] = filled

    def capture(self, number: int) -> None:
        capture, filled = self.schedule.captures[number], Filled()
        taken: list[tuple[int, int]] = []
        changed: set[tuple[int, int]] = set()
        for inner in capture.phases:
            phase = self.schedule.phases[inner]
            for _, argument, region in self.padded(inner):
                key = (argument.buffer, argument.rounds_back)
                if argument.kind == "reads":
                    if key in changed:
                        self.newer.add((inner, argument.name))
                    elif self.left(argument):
                        if key not in capture.copied_in and key not in taken:
                            taken.append(key)
                        part = self.part(argument, None)
                        part.own = [*capture.copied_in, *taken].index(key)
                        filled.before.append(part)
                elif exchanges(phase) and argument.kind == "writes":
                    filled.before.append(self.part(argument, region, whole=True))
                elif argument.kind == "updates" and self.left(argument):
                    filled.before.append(self.part(argument, region))
            changed |= {(a.buffer, 0) for a in phase.arguments if a.kind != "reads"}
            self.note(inner)
        self.captures[number] = filled
        self.taken[number] = taken

    def note(self, number: int) -> None:
        """What a phase has written all of."""
        phase = self.schedule.phases[number]
        for argument, region in zip(phase.arguments, self.bucket.regions[number], strict=True):
            if argument.kind != "reads" and not any(axis is not None for axis in region or ()):
                self.written.add(argument.buffer)

    def part(self, argument: Argument, region: Region, whole: bool = False) -> Part:
        live = self.schedule.buffers[argument.buffer].live
        axes: list[Axis] = []
        kept = 0
        for number, axis in enumerate(live):
            here = region[number] if region else None
            dropped = isinstance(here, int)
            if axis and not whole:
                begin = here if isinstance(here, int) else here[0] if here else 0
                axes.append((None if dropped else kept, begin, *axis))
            kept += not dropped
        return Part(argument.buffer, argument.rounds_back, region, tuple(axes))


def exchanges(phase: Phase) -> bool:
    """Whether it brings as many rows as come, so that the others have to be filled before it."""
    return phase.collective is not None and phase.collective.kind in EXCHANGES
