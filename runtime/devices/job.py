"""A call on a stream: what it is named in messages, and the error when it fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class PhaseError(RuntimeError):
    """A phase failed. The original error is its `__cause__`; its notes say what became of the round."""

    phase: str = ""
    """Or the capture whose replay failed."""
    place: str = ""
    stream: str = ""
    round: int = -1
    finished: tuple[str, ...] | None = None
    """Phases of that round that came to their end; None where that is not known."""
    missed: dict[int, tuple[str, ...]]
    """Of that round and each one begun after it, the phases that did not run."""
    torn: tuple[str, ...] = ()
    """Buffers that a later round may read and the phase may have half written."""
    stale: tuple[str, ...] = ()
    """Those that phases which did not run would have written: they are as an earlier round left them."""
    others: tuple[BaseException, ...] = ()
    """What else had failed by then, on streams that did not wait for this."""


WORTH_WAKING = 100e-6
"""Seconds: some wake-ups of a thread. Work that took less is over before another thread is awake."""


class Job(partial):
    """A call that knows its name in the spec, its line, how long it took last, and in which round."""

    name: str
    place: str
    took: float = WORTH_WAKING
    ran: int = -1
    """The newest round in which it came to its end."""


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
    found.phase, found.place, found.stream, found.round = name, job.place, stream, round
    found.missed = {}
    found.__cause__ = error
    return found
