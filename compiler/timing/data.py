"""A simulation as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from plait.compiler.timing.simulate import Simulation
from plait.compiler.timing.timeline import decisive, lanes


def as_data(found: Simulation) -> dict[str, Any]:
    """Times are nanoseconds from the beginning."""
    schedule = found.schedule
    return {
        "schedule": schedule.name,
        "costs": found.profile.name,
        "buckets": [schedule.buckets[number].name for number in found.buckets],
        "end": found.end,
        "rounds": found.round_times(),
        "path": [
            {"start": one.start, "end": one.end, **_what(found, one.span)} for one in found.path()
        ],
        "decisive": [
            {"kind": kind, "name": name, "time": time}
            for kind, name, time in decisive(found, found.path())
        ],
        "lanes": [
            {
                "name": lane.name,
                "spans": [
                    {
                        "name": bar.name,
                        "kind": bar.kind,
                        "round": bar.round,
                        "start": bar.start,
                        "end": bar.end,
                        "on_path": bar.on_path,
                        "spec": bar.where,
                    }
                    for bar in lane.bars
                ],
            }
            for lane in lanes(found)
        ],
    }


def _what(found: Simulation, span: int | None) -> dict[str, Any]:
    if span is None:
        return {"kind": "idle", "name": "", "round": None}
    doing = found.spans[span].what
    return {"kind": doing.kind, "name": doing.name, "round": doing.round}
