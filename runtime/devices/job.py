"""A call on a stream: what it is named in messages, and the error when it fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class PhaseError(RuntimeError):
    """A phase failed. The original error is its `__cause__`."""


WORTH_WAKING = 100e-6
"""Seconds: some wake-ups of a thread. Work that took less is over before another thread is awake."""


class Job(partial):
    """A call that knows its name in the spec, the line it stands on, and how long it took last."""

    name: str
    place: str
    took: float = WORTH_WAKING


def job(name: str, place: str, function: Callable, /, *arguments: Any, **named: Any) -> Job:
    made = Job(function, *arguments, **named)
    made.name, made.place = name, place
    return made


def explained(error: BaseException, job: Any, stream: str, round: int) -> BaseException:
    """The error with the phase, its line, the stream and the round said in front."""
    name = getattr(job, "name", None)
    if name is None or isinstance(error, PhaseError):
        return error
    where = f"{job.place}: `{name}` failed on {stream} in round {round}"
    found = PhaseError(f"{where}: {type(error).__name__}: {error}")
    found.__cause__ = error
    return found
