"""A Schedule bound to callables on a device: generates the program and runs it."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.base import Device
from plait.runtime.devices.named import device as named
from plait.runtime.fallback import Fallback
from plait.runtime.marks import marked, marker_named
from plait.runtime.program import program_text
from plait.runtime.runner import BindError, Runner
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
    marks: str | None = None,
    checked: bool | None = None,
    strict: bool = False,
    prepare: bool | Callable[[str], None] = False,
    ranks: Ranks | None = None,
) -> Runner:
    """A Runner of the schedule on a device, by its name or as it is made.

    With `trace`, everything that runs on a device by name is noted in it. Without `arena` every buffer
    has memory of its own. A capture that fails is told of once, through the log `plait`, and its phases run
    one by one; `strict` raises its CaptureError instead. With `prepare`, every bucket is captured now, the
    largest first, and a callable is told each; else a bucket is when a round first needs it. `checked`: what
    phases declare is held against what they do, strictly and without an arena; None: if PLAIT_CHECK=1
    asks for it. With `ranks`, all of them bind this schedule, strictly, and agree in each round. `marks`
    names everything that runs in a profiler's trace: see `marks.py`; nothing of the adversary's, which must
    know each job for what it is.

    Raises BindError when bodies or buffers do not fit or ranks have other schedules, DeviceError for a
    device that is not here, and RankError when a rank does not come.
    """
    for buffer in schedule.buffers:
        if buffer.pad is not None and () in buffer.live:
            raise BindError(
                f"{schedule.place_of(buffer.place)}: `{buffer.name}` is padded, but how many of its rows are "
                "live cannot be told: let its size be one dim, times a number, plus a number"
            )
    made = named(device, trace) if isinstance(device, str) else device
    told = getattr(made, "told", None)
    if (marker := marker_named(marks)) is not None:
        if told is not None:
            raise BindError(f"marks: the {made.name} keeps no time that a profiler could show")
        made = marked(made, marker, schedule.name)
    checker = peers = None
    if asked_for() if checked is None else checked:
        if told is not None:
            what = "gives bodies copies, by which checked mode (PLAIT_CHECK) cannot tell what they touch"
            raise BindError(f"the {made.name} {what}: check on the cpu")
        from plait.runtime.checked.checker import Checker

        checker = Checker(schedule, made)
        made, arena, strict = checker.device(), False, True
    if ranks is not None:
        from plait.runtime.ranks.peers import Peers

        peers = Peers(schedule, ranks, made.name, checker is not None)
    fallback = None if strict or peers is not None else Fallback()
    around = None if told is None else told(schedule)
    try:
        runner = Runner(
            load_program(schedule), bodies, opaque, made, arena, fallback, peers, around
        )
    except BaseException as error:
        if peers is not None:
            peers.failed(error)
            peers.close()
        raise
    if checker is not None:
        checker.knows(runner.copies())
    if prepare:
        try:
            runner.prepare(prepare if callable(prepare) else lambda bucket: None)
        except BaseException:
            runner.close()
            raise
    return runner


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
