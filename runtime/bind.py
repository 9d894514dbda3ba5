"""A Schedule bound to callables on a device: generates the program and runs it."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any

from plait.runtime.devices.base import Device
from plait.runtime.devices.named import device as named
from plait.runtime.program import program_text
from plait.runtime.runner import Runner
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace


def bind(
    schedule: Schedule,
    bodies: Mapping[str, Callable[..., object]],
    *,
    opaque: Mapping[str, Any] | None = None,
    device: str | Device = "cpu",
    trace: Trace | None = None,
    arena: bool = True,
) -> Runner:
    """A Runner of the schedule on a device, by its name or as it is made.

    With `trace`, everything that runs on a device by name is noted in it. Without `arena` every buffer
    has memory of its own.

    Raises BindError when bodies or buffers do not fit, DeviceError for a device that is not here.
    """
    made = named(device, trace) if isinstance(device, str) else device
    told = getattr(made, "told", None)
    around = None if told is None else told(schedule)
    return Runner(load_program(schedule), bodies, opaque, made, arena, around=around)


def load_program(schedule: Schedule) -> dict[str, Any]:
    """The namespace of a schedule's program text."""
    text = program_text(schedule)
    name = f"<schedule {schedule.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    program: dict[str, Any] = {"__name__": f"plait_schedule_{schedule.name}"}
    exec(compile(text, name, "exec"), program)
    return program
