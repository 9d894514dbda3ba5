"""Faults put into a run on purpose: which, in which phase and round. For tests, and to see what comes of one.

They are given as jobs of their own in front of the phase's, in its name and on its stream, or fail the
capture that is named, so the runtime meets them as it would any other.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch

from plait.runtime.devices.around import Around, AroundStream
from plait.runtime.devices.base import Device, Step
from plait.runtime.devices.job import job
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.schedule import Schedule

FORMS = "raise:PHASE@ROUND, slow:PHASE@ROUND:SECONDS, kill:PHASE@ROUND, capture:NAME, memory:NAME"
MOST_SECONDS = 60.0
TOO_MUCH = 1 << 60
"""Bytes that no machine has."""


class InjectedFault(Exception):
    """What `raise` raises."""


class InjectError(ValueError):
    """No fault that could be injected: what is wrong with it, and what would do."""


@dataclass(frozen=True)
class Fault:
    kind: Literal["raise", "slow", "kill", "capture", "memory"]
    where: str
    """A phase, or a capture."""
    round: int = -1
    seconds: float = 0.0

    def __str__(self) -> str:
        at = f"@{self.round}" if self.round >= 0 else ""
        return f"{self.kind}:{self.where}{at}" + (f":{self.seconds:g}" if self.seconds else "")

    def happen(self) -> None:
        if self.kind == "raise":
            raise InjectedFault(f"injected by {self}")
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)


def fault(text: str, schedule: Schedule) -> Fault:
    """The fault that a text names, in a phase or a capture of the schedule. Raises InjectError."""
    kind, _, rest = text.partition(":")
    captures = [one.name for one in schedule.captures]
    if kind in ("capture", "memory"):
        _known(text, rest, captures)
        return Fault(kind, rest)
    where, at, when = rest.partition("@")
    round, colon, seconds = when.partition(":")
    if kind not in ("raise", "slow", "kill") or not at or bool(colon) != (kind == "slow"):
        raise InjectError(f"{text}: write it as one of {FORMS}")
    _known(text, where, [*(one.name for one in schedule.phases), *captures])
    if not (round.isascii() and round.isdecimal() and len(round) <= 9):
        raise InjectError(f"{text}: the round is a number, from 0; here: {round or 'none'}")
    if kind != "slow":
        return Fault(kind, where, int(round))
    try:
        length = float(seconds)
    except ValueError:
        length = math.nan
    if not 0 < length <= MOST_SECONDS:
        raise InjectError(
            f"{text}: a phase is slowed by seconds, up to {MOST_SECONDS:g}; here: {seconds or 'none'}"
        )
    return Fault(kind, where, int(round), length)


def _known(text: str, name: str, names: Iterable[str]) -> None:
    known = dict.fromkeys(names)
    if name not in known:
        raise InjectError(
            f"{text}: there is no `{name}` here; there is {', '.join(known) or 'none'}"
        )


def injected(device: Device, faults: Iterable[Fault]) -> Device:
    """The device, with these faults happening on it."""
    return cast(Device, _Injected(device, faults))


class _Injected(Around):
    """Faults in front of what is given to a device."""

    def __init__(self, device: Device, faults: Iterable[Fault]):
        super().__init__(device)
        self.faults = list(faults)
        self.name = f"{device.name} with {len(self.faults)} injected faults"

    def before(self, inner: Any) -> _Stream:
        return _Stream(inner, self.faults)

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Any:
        steps = self.behind(steps)
        for one in self.faults:
            if one.where == name and one.kind == "capture":
                raise CaptureError(f"{place}: `{name}` cannot be captured: injected by {one}")
            if one.where == name and one.kind == "memory" and hasattr(self.device, "told"):
                _lacking(name, place)  # the adversary runs nothing while it captures
            if one.where == name and one.kind == "memory":
                steps.insert(1, ("run", steps[0][1], job(name, place, _too_much), ()))
        return self.device.capture(name, place, steps, written, pool)


def _lacking(name: str, place: str) -> None:
    try:
        _too_much()
    except RuntimeError as error:
        raise CaptureError(f"{place}: `{name}` cannot be captured: {error}") from error


def _too_much() -> None:
    torch.empty(TOO_MUCH, dtype=torch.uint8)


class _Stream(AroundStream):
    """A stream, or the host, with faults in front of what is given to it."""

    def __init__(self, inner: Any, faults: list[Fault]):
        super().__init__(inner)
        self.faults = faults

    def run(self, job: Any) -> None:
        self._before(job.place, job.name)
        self.inner.run(job)

    def rebind(self, job: Any, tasks: Iterable[tuple[Any, int]]) -> None:
        self._before(job.place, job.name)
        self.inner.rebind(job, tasks)

    def replay(self, graph: Any) -> None:
        self._before(graph.place, graph.name, *graph.phases)
        self.inner.replay(graph)

    def _before(self, place: str, *names: str) -> None:
        for one in self.faults:
            if one.round == self.round and one.where in names:
                self.inner.run(job(names[0], place, one.happen))
