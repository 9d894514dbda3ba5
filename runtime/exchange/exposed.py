"""Exposed communication: the time for which a stream that computes waits for exchanges, from a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace


def exposed(
    schedule: Schedule, trace: Trace, stream: str, receives: Collection[str] = ()
) -> dict[int, int]:
    """Nanoseconds of every round that `stream` spends on exchanges: waiting for streams that carry them,
    in exchanges of its own, and in the phases `receives`, which wait for what was sent before."""
    exchanges = [phase for phase in schedule.phases if phase.collective is not None]
    own = {*receives, *(phase.name for phase in exchanges)}
    carriers = {schedule.streams[phase.stream].name for phase in exchanges} - {stream}
    awaited = {record.number for name in carriers for record in trace.records.get(name, ())}
    found: dict[int, int] = defaultdict(int)
    for one in trace.lanes[stream]:
        if one.record in awaited or (one.kind == "phase" and one.name in own):
            found[one.round] += one.end - one.start
    return dict(found)


def spent(trace: Trace, stream: str, phases: Collection[str]) -> dict[int, int]:
    """Nanoseconds of every round that a stream spends in phases."""
    found: dict[int, int] = defaultdict(int)
    for one in trace.lanes[stream]:
        if one.kind == "phase" and one.name in phases:
            found[one.round] += one.end - one.start
    return dict(found)
