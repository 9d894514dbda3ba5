"""What is done about a capture that fails: its phases run one by one, and it is said why, once.

A graph is lost for many reasons: a body that cannot be captured, no memory for it, a device that has
no streams left. What it would have done is known, step by step, so its bucket is bound once more with
streams that issue those steps where a graph would be replayed. Other buckets do not notice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from plait.runtime.devices.base import Job, Step
from plait.runtime.devices.refusals import CaptureError

log = logging.getLogger("plait")


@dataclass
class Lost:
    """A capture that is no graph in one bucket."""

    capture: str
    place: str
    why: str
    phases: int
    """That are run one by one instead."""
    rounds: int = 0
    """That did so."""


@dataclass
class Eager:
    """Stands for a graph that could not be captured: its steps, issued again in every round."""

    lost: Lost
    name: str
    phases: tuple[str, ...]
    steps: list[Step]
    events: dict[int, Any]
    """Its own, by number."""
    kernels: int = 0
    replays: int = 0
    taken: int = 0

    @property
    def jobs(self) -> list[Any]:
        return [what for op, _, what, _ in self.steps if op in ("run", "task")]

    @property
    def ran(self) -> int:
        return min(job.ran for job in self.jobs)

    def issue(self) -> None:
        self.lost.rounds += 1
        for op, stream, what, _ in self.steps:
            if op == "record":
                stream.record(self.events[what])
            elif op == "wait":
                stream.wait(self.events[what])
            else:
                stream.run(what)


class Fallback:
    """Binds buckets, and keeps serving those that lose a graph."""

    def __init__(self) -> None:
        self.lost: dict[str, list[Lost]] = {}
        """By the sizes and the route of the bucket, in words."""

    def bind(
        self,
        bucket: str,
        bind: Callable,
        device: Any,
        bodies: Any,
        buffers: Any,
        opaque: Any,
        streams: list[Any],
        events: list[Any],
    ) -> Any:
        """What `bind`, a bucket's function of a program text, returns: an Eager for each graph that is lost.

        Raises what `bind` raises, and CaptureError where steps cannot stand for a graph either.
        """
        lost: dict[str, Lost] = {}
        try:
            capturing = _Capturing(device, lost, lenient=False)
            return bind(capturing, bodies, buffers, opaque, streams, events)
        except _Missed:
            pass  # behind this clause nothing holds what the capture made
        capturing = _Capturing(device, lost, lenient=True)
        issuing = [_Issuing(stream) for stream in streams]
        found = bind(capturing, bodies, buffers, opaque, issuing, events)
        for one in lost.values():
            log.warning(
                "%s: `%s` is no graph at %s, so every round there issues its phases one by one, %d of "
                "them: %s",
                *(one.place, one.capture, bucket, one.phases, one.why),
            )
        self.lost[bucket] = list(lost.values())
        return found

    def in_bucket(self, bucket: str) -> list[dict[str, Any]]:
        """What was lost there, as JSON values."""
        return [asdict(one) for one in self.lost.get(bucket, ())]


class _Missed(Exception):
    """A capture has failed, and what it was is noted."""


class _Capturing:
    """A device whose captures that fail are noted."""

    def __init__(self, device: Any, lost: dict[str, Lost], lenient: bool) -> None:
        self.device = device
        self.lost = lost
        self.lenient = lenient
        """Whether an Eager stands for a graph that failed, now or before."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def capture(
        self, name: str, place: str, steps: list[Step], written: list[Any], pool: int | None = None
    ) -> Any:
        if self.lenient:
            steps = [(op, stream.stream, what, tasks) for op, stream, what, tasks in steps]
        if name not in self.lost:
            try:
                return self.device.capture(name, place, steps, written, pool)
            except Exception as error:
                phases = sum(op in ("run", "task") for op, *_ in steps)
                self.lost[name] = Lost(name, place, _why(error), phases)
        if not self.lenient:
            raise _Missed
        return self._eager(name, steps)

    def _eager(self, name: str, steps: list[Step]) -> Eager:
        lost = self.lost[name]
        if any(op == "external" for op, *_ in steps):
            raise CaptureError(
                f"{lost.place}: `{name}` is no graph, and its phases cannot be issued one by one, as one of "
                f"them waits for what is issued later: {lost.why}"
            )
        numbers = sorted({what for op, _, what, _ in steps if op == "record"})
        events = {number: self.device.events(f"{name} {number}", 1)[0] for number in numbers}
        phases = tuple(what.name for op, _, what, _ in steps if op in ("run", "task"))
        return Eager(lost, name, phases, steps, events)


def _why(error: Exception) -> str:
    if isinstance(error, CaptureError):
        return str(error)
    return f"{type(error).__name__}: {error}"


class _Issuing:
    """A stream that issues the steps of a lost graph where it would replay the graph."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def replay(self, graph: Any) -> None:
        if isinstance(graph, Eager):
            graph.issue()
        else:
            self.stream.replay(graph)

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.stream.rebind(job, [one for one in tasks if not isinstance(one[0], Eager)])
