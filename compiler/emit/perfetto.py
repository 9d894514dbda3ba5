"""A simulation in Perfetto's trace-event form: a thread a lane, the critical path a process of its own."""

from __future__ import annotations

import json
from typing import Any

from plait.compiler.timing.simulate import Simulation
from plait.compiler.timing.timeline import lanes

SIMULATED, PATH = 1, 2
"""Processes."""


def perfetto(found: Simulation) -> str:
    """Microseconds from the beginning, as the format has them."""
    title = f"{found.schedule.name}, simulated with the costs of {found.profile.name}"
    events = [_named("process_name", SIMULATED, 0, title)]
    events.append(_named("process_name", PATH, 0, "critical path"))
    for thread, lane in enumerate(lanes(found), 1):
        events.append(_named("thread_name", SIMULATED, thread, lane.name))
        for bar in lane.bars:
            args = {"round": bar.round, "spec": bar.where, "on_path": bar.on_path}
            events.append(_slice(bar.name, bar.kind, SIMULATED, thread, bar.start, bar.end, args))
    for one in found.path():
        if one.span is not None:
            doing = found.spans[one.span].what
            args = {"round": doing.round}
            events.append(_slice(doing.name, doing.kind, PATH, 1, one.start, one.end, args))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _slice(
    name: str, kind: str, process: int, thread: int, start: int, end: int, args: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": kind,
        "ph": "X",
        "pid": process,
        "tid": thread,
        "ts": start / 1000,
        "dur": (end - start) / 1000,
        "args": args,
    }
