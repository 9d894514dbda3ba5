"""A Schedule bound to callables on a device: generates the program and runs it."""

from __future__ import annotations

import linecache
import os
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
    checked: bool | None = None,
) -> Runner:
    """A Runner of the schedule on a device, by its name or as it is made.

    With `trace`, everything that runs on a device by name is noted in it. Without `arena` every buffer
    has memory of its own. With `ranks`, all of them bind this schedule, and agree in each round.
    `checked`: what phases declare is held against what they do, without an arena; None: if PLAIT_CHECK=1
    asks for it.

    Raises BindError when bodies or buffers do not fit or ranks have other schedules, DeviceError for a
    device that is not here, and RankError when a rank does not come.
    """
    made = named(device, trace) if isinstance(device, str) else device
    checked = asked_for() if checked is None else checked
    peers = None
    if ranks is not None:
        from plait.runtime.ranks.peers import Peers

        peers = Peers(schedule, ranks, made.name, checked)
    try:
        if not checked:
            return Runner(load_program(schedule), bodies, opaque, made, arena, peers)
        from plait.runtime.checked.checker import Checker

        checker = Checker(schedule, made)
        program = load_program(schedule)
        runner = Runner(program, bodies, opaque, checker.device(), arena=False, peers=peers)
        checker.knows(runner.copies())
        return runner
    except BaseException as error:
        if peers is not None:
            peers.failed(error)
            peers.close()
        raise


def asked_for() -> bool:
    """Whether the environment asks for checked mode."""
    return os.environ.get("PLAIT_CHECK", "").lower() in ("1", "true", "yes", "on")


def load_program(schedule: Schedule) -> dict[str, Any]:
    """The namespace of a schedule's program text."""
    text = program_text(schedule)
    name = f"<schedule {schedule.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    program: dict[str, Any] = {"__name__": f"plait_schedule_{schedule.name}"}
    exec(compile(text, name, "exec"), program)
    return program
