"""A Schedule bound to callables on a device: generates the program and runs it."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.base import Device
from plait.runtime.devices.named import device as named
from plait.runtime.program import program_text
from plait.runtime.runner import Runner
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace

if TYPE_CHECKING:
    from plait.runtime.ranks.group import Ranks


def bind(
    schedule: Schedule,
    bodies: Mapping[str, Callable[..., object]],
    *,
    opaque: Mapping[str, Any] | None = None,
    device: str | Device = "cpu",
    trace: Trace | None = None,
    arena: bool = True,
    ranks: Ranks | None = None,
) -> Runner:
    """A Runner of the schedule on a device, by its name or as it is made.

    With `trace`, everything that runs on a device by name is noted in it. Without `arena` every buffer
    has memory of its own. With `ranks`, all of them bind this schedule, and agree in each round.

    Raises BindError when bodies or buffers do not fit or ranks have other schedules, DeviceError for a
    device that is not here, and RankError when a rank does not come.
    """
    made = named(device, trace) if isinstance(device, str) else device
    if ranks is None:
        return Runner(load_program(schedule), bodies, opaque, made, arena)
    from plait.runtime.ranks.peers import Peers

    peers = Peers(schedule, ranks, made.name)
    try:
        return Runner(load_program(schedule), bodies, opaque, made, arena, peers)
    except BaseException as error:
        peers.failed(error)
        peers.close()
        raise


def load_program(schedule: Schedule) -> dict[str, Any]:
    """The namespace of a schedule's program text."""
    text = program_text(schedule)
    name = f"<schedule {schedule.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    program: dict[str, Any] = {"__name__": f"plait_schedule_{schedule.name}"}
    exec(compile(text, name, "exec"), program)
    return program
