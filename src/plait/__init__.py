"""Plait: a language, a compiler and a runtime for the schedule of one speculative-decoding round.

    schedule = plait.compile("eagle.spec", settings={"num_steps": 3})
    print(plait.diff(plait.compile("eagle.spec"), schedule))
    with schedule.bind({"first": first, "nextn": nextn, ...}, opaque={"target_kv": cache, ...}) as runner:
        runner.step(bs=4)

`docs/embedding.md` says what bodies are given and what is bound to what.

Importing this, compiling and diffing need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

from plait._version import __version__

if TYPE_CHECKING:
    from plait.compiler.diff.diff import Diff
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.values import Value
    from plait.runtime.devices.base import DeviceError
    from plait.runtime.devices.job import PhaseError
    from plait.runtime.devices.refusals import CaptureError
    from plait.runtime.eagle.request import RequestError
    from plait.runtime.engine.decoder import Decoder
    from plait.runtime.engine.engine import Engine, EngineClosed, QueueFull
    from plait.runtime.engine.observer import Observer
    from plait.runtime.engine.piece import End, Logprob, Piece
    from plait.runtime.engine.policy import Adaptive, Policy
    from plait.runtime.engine.prompt import Prompt, Sampling
    from plait.runtime.engine.stream import Stream
    from plait.runtime.ranks.error import RankError
    from plait.runtime.runner import BindError, Runner
    from plait.runtime.schedule import Schedule
    from plait.runtime.schedule_check import ScheduleError

__all__ = [
    "Adaptive",
    "BindError",
    "CaptureError",
    "Decoder",
    "DeviceError",
    "Diff",
    "End",
    "Engine",
    "EngineClosed",
    "Logprob",
    "Observer",
    "PhaseError",
    "Piece",
    "Policy",
    "Prompt",
    "QueueFull",
    "RankError",
    "RequestError",
    "Runner",
    "Sampling",
    "Schedule",
    "ScheduleError",
    "SpecError",
    "Stream",
    "TargetError",
    "__version__",
    "compile",
    "diff",
    "load",
]


def compile(
    path: str | PathLike[str],
    *,
    target: str = "cpu",
    settings: Mapping[str, Value] | None = None,
    variant: str | None = None,
    pipeline: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Schedule:
    """The Schedule of a spec file, proven.

    `settings` are values of params and flags; `environment` stands for the process's own. Raises
    SpecError with everything that is wrong in the spec, TargetError for a target that is not there,
    OSError for a file that cannot be read.
    """
    from plait.compiler.compile import Asked, compile_source, read_source

    asked = Asked(
        pipeline=pipeline,
        variant=variant,
        settings=settings,
        target=target,
        environment=environment,
    )
    return compile_source(read_source(path), asked)


def load(path: str | PathLike[str]) -> Schedule:
    """A Schedule from its JSON file, checked again. Raises ScheduleError, OSError."""
    from pathlib import Path

    from plait.runtime.schedule_check import ScheduleError
    from plait.runtime.schedule_reader import from_json

    name = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScheduleError(name, f"is not UTF-8 text (byte {error.start})") from None
    return from_json(text, name)


def diff(before: Schedule, after: Schedule) -> Diff:
    """What differs between two schedules: data that prints itself, and is false when nothing does."""
    from plait.compiler.diff.diff import diff

    return diff(before, after)


_LATE = {
    "Diff": "plait.compiler.diff.diff",
    "SpecError": "plait.dsl.diagnostic",
    "TargetError": "plait.compiler.target",
    "Schedule": "plait.runtime.schedule",
    "ScheduleError": "plait.runtime.schedule_check",
    "BindError": "plait.runtime.runner",
    "CaptureError": "plait.runtime.devices.refusals",
    "DeviceError": "plait.runtime.devices.base",
    "PhaseError": "plait.runtime.devices.job",
    "RankError": "plait.runtime.ranks.error",
    "RequestError": "plait.runtime.eagle.request",
    "Runner": "plait.runtime.runner",
    "Adaptive": "plait.runtime.engine.policy",
    "Decoder": "plait.runtime.engine.decoder",
    "End": "plait.runtime.engine.piece",
    "Engine": "plait.runtime.engine.engine",
    "EngineClosed": "plait.runtime.engine.engine",
    "Logprob": "plait.runtime.engine.piece",
    "Observer": "plait.runtime.engine.observer",
    "Piece": "plait.runtime.engine.piece",
    "Policy": "plait.runtime.engine.policy",
    "Prompt": "plait.runtime.engine.prompt",
    "QueueFull": "plait.runtime.engine.engine",
    "Sampling": "plait.runtime.engine.prompt",
    "Stream": "plait.runtime.engine.stream",
}


def __getattr__(name: str) -> type:
    # Late, so that `import plait` costs nothing, and no torch: each is looked up where it is used.
    if name in _LATE:
        globals()[name] = found = getattr(import_module(_LATE[name]), name)
        return found
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
