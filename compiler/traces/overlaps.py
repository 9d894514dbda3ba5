"""Slices of one stream that ran at once: no stream does that, so the trace or its lanes are wrong."""

from __future__ import annotations

from plait.compiler.traces.model import Trace
from plait.compiler.traces.rows import DEVICE_WORK

ROUNDING = 1
"""Nanoseconds that two neighbours may share, as a start and a length are each rounded."""


def overlaps(trace: Trace) -> list[tuple[int, int]]:
    """Each slice that begins before one of its stream has ended, with that one; nested ones too."""
    found: list[tuple[int, int]] = []
    streams = [not lane.stream.startswith(("Group", "Plane")) for lane in trace.lanes]
    latest = [-1] * len(trace.lanes)
    ends = [-1] * len(trace.lanes)
    for place, one in enumerate(trace.slices):
        lane = one.lane
        if one.kind not in DEVICE_WORK or not streams[lane]:
            continue
        if one.kind == "replay" and trace.is_around(place):
            continue
        if one.start < ends[lane] - ROUNDING:
            found.append((latest[lane], place))
        if one.end > ends[lane]:
            ends[lane], latest[lane] = one.end, place
    return found
