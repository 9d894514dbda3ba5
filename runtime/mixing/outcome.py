"""What a run of mixing bodies has left, as one digest, and where two runs part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from plait.runtime.bind import load_program
from plait.runtime.devices.adversary.declared import scratch_of
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.base import Device, DeviceError
from plait.runtime.devices.job import PhaseError
from plait.runtime.mixing.bodies import Mixing, Read
from plait.runtime.runner import Runner
from plait.runtime.schedule import PHASE_OPS, Bucket, Schedule

SIZES = 2
"""Buckets of one program that take turns: the smallest ones."""


@dataclass(frozen=True)
class Outcome:
    read: dict[str, list[Read]]
    """By the name of a phase, what it read each time it ran; without those of graphs that do not say."""
    left: dict[str, str]
    """Of every buffer that outlives a round, or that only someone outside reads: a digest of all copies."""
    outside: frozenset[str] = frozenset()
    """Phases that are in no graph on any route."""
    failed: str | None = None
    """What went wrong on the way."""

    @property
    def digest(self) -> str:
        """Of what is left, and of all that phases outside graphs read."""
        read = {name: reads for name, reads in self.read.items() if name in self.outside}
        return _digest(sorted(self.left.items()), sorted(read.items()), self.failed)


@dataclass(frozen=True)
class Parting:
    """Where a run parts from another."""

    round: int
    buffer: str
    phases: tuple[str, ...]
    """Those that touch it, the one that read it first."""
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return self.why
        return f"round {self.round}, `{self.buffer}`, touched by {', '.join(self.phases)}"


def rounds_for(schedule: Schedule, count: int) -> list[Bucket]:
    """So many rounds, by chance but always the same: every program, at its smallest sizes."""
    programs: dict[int, list[Bucket]] = {}
    for bucket in schedule.buckets:
        programs.setdefault(bucket.program, []).append(bucket)
    some = [bucket for buckets in programs.values() for bucket in buckets[:SIZES]]
    random = Random(schedule.name)
    first = random.sample(some, min(len(some), count))
    return first + random.choices(some, k=count - len(first))


class Trial:
    """So many rounds of a schedule with mixing bodies, on one device after another."""

    def __init__(self, schedule: Schedule, count: int):
        self.schedule = schedule
        self.rounds = rounds_for(schedule, count)
        self._program = load_program(schedule)

    def run(self, device: Device) -> Outcome:
        """On a new device, which it closes. Raises BindError, CaptureError; PhaseError, but not of the
        adversary: of that, what went wrong is an outcome."""
        watched = isinstance(device, Adversary)
        mixing = Mixing(self.schedule, watched)
        around = device.told(self.schedule) if watched else None
        runner = Runner(self._program, mixing.bodies, mixing.opaque, device, around=around)
        failed, left = None, {}
        try:
            for bucket in self.rounds:
                runner.step(**dict(bucket.sizes), **dict(bucket.route))
            runner.drain()
        except (PhaseError, DeviceError) as error:
            if not watched:
                raise
            failed = str(error)
        else:
            left = _left(self.schedule, runner, self.rounds[-1])
        finally:
            runner.close()
        return Outcome(mixing.read, left, mixing.outside, failed)

    def text(self) -> Outcome:
        """What the text gives, one phase after another."""
        return self.run(Adversary(None))

    def parting(self, expected: Outcome, found: Outcome) -> Parting | None:
        """Where the second first differs from the first, which has noted no less; None: nowhere."""
        if (parting := self._first_read(expected, found)) is not None:
            return parting
        if found.failed is not None:
            return Parting(0, "", (), found.failed)
        for name, digest in expected.left.items():
            if found.left.get(name) != digest:
                return Parting(len(self.rounds) - 1, name, _touching(self.schedule, name))
        return None

    def _first_read(self, expected: Outcome, found: Outcome) -> Parting | None:
        runs = self._runs()
        seen = []
        for name, reads in found.read.items():
            pairs = zip(expected.read[name], reads, strict=False)
            for at, (one, other) in zip(runs.get(name, ()), pairs, strict=False):
                if one != other:
                    argument = next(key for key in one if one[key] != other.get(key))
                    seen.append((at, name, argument))
                    break
        if not seen:
            return None
        (round, _), name, argument = min(seen)
        buffer = next(
            self.schedule.buffers[one.buffer].name
            for phase in self.schedule.phases
            if phase.name == name
            for one in phase.arguments
            if one.name == argument
        )
        phases = dict.fromkeys([name, *_touching(self.schedule, buffer)])
        return Parting(round, buffer, tuple(phases))

    def _runs(self) -> dict[str, list[tuple[int, int]]]:
        """Of every phase, each round that it ran in, with its place there."""
        found: dict[str, list[tuple[int, int]]] = {}
        for round, bucket in enumerate(self.rounds):
            for place, phase in enumerate(_phases(self.schedule, bucket)):
                found.setdefault(self.schedule.phases[phase].name, []).append((round, place))
        return found


def _touching(schedule: Schedule, buffer: str) -> tuple[str, ...]:
    numbers = {n for n, one in enumerate(schedule.buffers) if one.name == buffer}
    found = [p.name for p in schedule.phases if any(a.buffer in numbers for a in p.arguments)]
    return tuple(dict.fromkeys(found))


def _phases(schedule: Schedule, bucket: Bucket) -> Iterator[int]:
    """Those of a round, in the order of issue."""
    for one in schedule.program_of(bucket):
        if one.op in PHASE_OPS:
            yield one.of
        elif one.op == "replay":
            yield from schedule.captures[one.of].phases


def _left(schedule: Schedule, runner: Runner, last: Bucket) -> dict[str, str]:
    """What a captured result has left lasts to the next replay, so it is looked at as wide as that was."""
    captured = {
        argument.buffer
        for phase in schedule.phases
        if phase.capture is not None
        for argument in phase.arguments
        if argument.kind != "reads"
    }
    read = {a.buffer for p in schedule.phases for a in p.arguments if a.kind != "writes"}
    scratch = scratch_of(schedule)
    found = {}
    for number, buffer in enumerate(schedule.buffers):
        lasting = buffer.carried or buffer.memory != "device" or number not in read
        if not lasting or buffer.offset is not None or number in scratch:
            continue
        if buffer.pool is not None:
            continue  # a replay may have written over it
        if buffer.opaque and not buffer.carried:
            continue  # made for every bucket anew
        copies = [runner.buffer(buffer.name, back) for back in range(buffer.copies)]
        if number in captured and not (buffer.carried or buffer.static):
            if not (shape := last.shapes[number]):
                continue
            copies = [copies[0][tuple(map(slice, shape))]]
        found[buffer.name] = _digest(*(copy.contiguous().tolist() for copy in copies))
    return found


def _digest(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
