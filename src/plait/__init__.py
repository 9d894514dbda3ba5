"""Plait: a language, a compiler and a runtime for the schedule of one speculative-decoding round.

    schedule = plait.compile("eagle.spec", settings={"num_steps": 3})
    print(plait.diff(plait.compile("eagle.spec"), schedule))
    with schedule.bind({"draft": draft, ...}, opaque={"kv": cache}) as runner:
        runner.step(bs=4)

Importing this, compiling and diffing need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

from plait._version import __version__

if TYPE_CHECKING:
    from plait.compiler.diff import Diff
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.values import Value
    from plait.runtime.schedule import Schedule
    from plait.runtime.schedule_reader import ScheduleError

__all__ = ["ScheduleError", "SpecError", "__version__", "compile", "diff", "load"]


def compile(
    path: str | PathLike[str],
    *,
    target: str = "cpu",
    settings: Mapping[str, Value] | None = None,
    variant: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Schedule:
    """The Schedule of a spec file, proven.

    `settings` are values of params and flags; `environment` stands for the process's own. Raises
    SpecError with everything that is wrong in the spec, OSError for a file that cannot be read.
    """
    from plait.compiler.compile import Asked, compile_source, read_source

    asked = Asked(variant=variant, settings=settings, target=target, environment=environment)
    return compile_source(read_source(path), asked)


def load(path: str | PathLike[str]) -> Schedule:
    """A Schedule from its JSON file, checked again. Raises ScheduleError, OSError."""
    from pathlib import Path

    from plait.runtime.schedule_reader import from_json

    return from_json(Path(path).read_text(encoding="utf-8"), Path(path).name)


def diff(before: Schedule, after: Schedule) -> Diff:
    """What differs between two schedules: data that prints itself, and is false when nothing does."""
    from plait.compiler.diff import diff

    return diff(before, after)


def __getattr__(name: str) -> type:
    # Late, so that `import plait` costs nothing: errors are looked up where they are caught.
    if name == "SpecError":
        from plait.dsl.diagnostic import SpecError

        return SpecError
    if name == "ScheduleError":
        from plait.runtime.schedule_reader import ScheduleError

        return ScheduleError
    raise AttributeError(f"module 'plait' has no attribute {name!r}")
