"""One runner after another: a service goes over to another schedule between two rounds, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from plait.runtime.runner import Runner
from plait.runtime.schedule import Schedule


@dataclass(frozen=True)
class Switched:
    """What became of the buffers that a later round may read."""

    moved: tuple[str, ...]
    """They have the values that the last round of the schedule before left."""
    fresh: tuple[str, ...]
    """The schedule before had none of that name, type and shape: they are as they were bound."""
    dropped: tuple[str, ...]
    """The new schedule has none of that name, type and shape."""


class Switching:
    """The schedule that rounds go to, which one thread may change while another steps.

    `make` binds a schedule; what it raises leaves everything as it is.
    """

    def __init__(self, schedule: Schedule, make: Callable[[Schedule], Runner]):
        self._make = make
        self._lock = threading.RLock()
        self._now = schedule, make(schedule)

    @property
    def schedule(self) -> Schedule:
        return self._now[0]

    @property
    def runner(self) -> Runner:
        return self._now[1]

    def step(self, /, **live: Any) -> int:
        """As `Runner.step`. Rounds are counted on from one schedule to the next."""
        with self._lock:
            return self.runner.step(**live)

    def drain(self) -> None:
        """As `Runner.drain`."""
        with self._lock:
            self.runner.drain()

    def switch(self, schedule: Schedule, /, **live: Any) -> Switched:
        """Goes over to a schedule, with its buckets prepared: all, or up to the one that holds these sizes.

        It is bound while rounds go on. They stand still while those in flight end, the buckets are
        prepared, for captures touch what is bound to both, and what a later round may read moves over.
        Raises what any of these raises, and then the next round is one of the schedule before.
        """
        made = self._make(schedule)
        try:
            with self._lock:
                before, old = self._now
                old.drain()
                made.prepare(**live)
                found = moved(before, old, schedule, made)
                made.follow(old)
                self._now = schedule, made
        finally:
            if self._now[1] is not made:
                made.close()
        old.close()
        return found

    def close(self) -> None:
        """As `Runner.close`."""
        with self._lock:
            self.runner.close()

    def __enter__(self) -> Switching:
        return self

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self.runner.__exit__(*error)


def moved(before: Schedule, old: Runner, after: Schedule, new: Runner) -> Switched:
    """Takes what a later round may read over from one runner to another. Nothing may be in flight."""
    had, have = _kept(before), _kept(after)
    held, holds = old.copies(), new.copies()
    found = []
    for name in had.keys() & have.keys():
        out_of = [old.device.tensors(copy) for copy in held[name]]
        into = [new.device.tensors(copy) for copy in holds[name]]
        if had[name] == have[name] and _shapes(out_of) == _shapes(into):
            for one, other in zip(chain(*into), chain(*out_of), strict=True):
                if one is not other:
                    one.copy_(other)
            found.append(name)
    return Switched(
        tuple(name for name in have if name in found),
        tuple(name for name in have if name not in found),
        tuple(name for name in had if name not in found),
    )


def _kept(schedule: Schedule) -> dict[str, tuple[Any, ...]]:
    """The buffers that a later round may read, each with its type and shape."""
    sizes = list(schedule.largest())
    return {
        buffer.name: (buffer.dtype, buffer.copies, sizes[number])
        for number, buffer in enumerate(schedule.buffers)
        if buffer.carried or (buffer.copies > 1 and not buffer.opaque)
    }


def _shapes(copies: list[list[Any]]) -> list[list[Any]]:
    return [[(tensor.dtype, tensor.shape) for tensor in copy] for copy in copies]
