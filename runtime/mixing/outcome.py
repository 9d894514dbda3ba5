"""What a run of mixing bodies has left, as one digest, and where two runs part."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random
from typing import Any

from plait.runtime.bind import bind
from plait.runtime.devices.adversary.declared import scratch_of
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.base import Device, DeviceError
from plait.runtime.devices.job import PhaseError
from plait.runtime.mixing.bodies import Mixing, Read
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


def mixed(schedule: Schedule, device: str | Device, count: int, *, arena: bool = True) -> Outcome:
    """So many rounds of mixing bodies on a device. Raises BindError, CaptureError, DeviceError."""
    mixing = Mixing(schedule, watched=isinstance(device, Adversary))
    runner = bind(schedule, mixing.bodies, opaque=mixing.opaque, device=device, arena=arena)
    failed = None
    with runner:
        try:
            for bucket in rounds_for(schedule, count):
                runner.step(**dict(bucket.sizes), **dict(bucket.route))
            runner.drain()
        except (PhaseError, DeviceError) as error:
            if not isinstance(device, Adversary):
                raise
            failed = str(error)
        left = {} if failed else _left(schedule, runner)
    return Outcome(mixing.read, left, mixing.outside, failed)


def parting(schedule: Schedule, count: int, expected: Outcome, found: Outcome) -> Parting | None:
    """Where the second first differs from the first, which has noted no less; None: nowhere."""
    runs = _runs(schedule, count)
    seen = []
    for name, reads in found.read.items():
        known = expected.read.get(name)
        for turn, (one, other) in enumerate(zip(known or (), reads, strict=False)):
            if one != other:
                at = runs[name][turn]
                argument = next(key for key in one if one[key] != other.get(key))
                seen.append((at, name, argument))
                break
    if seen:
        (round, _), name, argument = min(seen)
        buffer = next(
            schedule.buffers[one.buffer].name
            for phase in schedule.phases
            if phase.name == name
            for one in phase.arguments
            if one.name == argument
        )
        return Parting(round, buffer, tuple(dict.fromkeys([name, *_touching(schedule, buffer)])))
    if found.failed is not None:
        return Parting(0, "", (), found.failed)
    for name, digest in expected.left.items():
        if found.left.get(name) != digest:
            return Parting(count - 1, name, _touching(schedule, name))
    return None


def _touching(schedule: Schedule, buffer: str) -> tuple[str, ...]:
    numbers = {n for n, one in enumerate(schedule.buffers) if one.name == buffer}
    found = [p.name for p in schedule.phases if any(a.buffer in numbers for a in p.arguments)]
    return tuple(dict.fromkeys(found))


def _runs(schedule: Schedule, count: int) -> dict[str, list[tuple[int, int]]]:
    """Of every phase, each round that it ran in, with its place there."""
    found: dict[str, list[tuple[int, int]]] = {}
    for round, bucket in enumerate(rounds_for(schedule, count)):
        place = 0
        for one in schedule.program_of(bucket):
            phases: tuple[int, ...] = (one.of,) if one.op in PHASE_OPS else ()
            phases = schedule.captures[one.of].phases if one.op == "replay" else phases
            for phase in phases:
                found.setdefault(schedule.phases[phase].name, []).append((round, place))
                place += 1
    return found


def _left(schedule: Schedule, runner: Any) -> dict[str, str]:
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
        found[buffer.name] = _digest(*(copy.contiguous().tolist() for copy in copies))
    return found


def _digest(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
