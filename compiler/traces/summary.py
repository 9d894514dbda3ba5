"""What stands in a trace, counted: of every lane how long it worked, waited and idled."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from plait.compiler.intervals import Interval, shared, together, total
from plait.compiler.traces.model import Slice, Trace
from plait.compiler.traces.rows import DEVICE_WORK, HOST


class LaneTotals(NamedTuple):
    """Busy, wait and idle make the span: what waits while it works is busy."""

    lane: int
    slices: int
    busy: int
    wait: int
    idle: int


class KindTotals(NamedTuple):
    kind: str
    slices: int
    time: int
    """Of each slice; what ran at once counts twice."""


class Replays(NamedTuple):
    graph: str
    size: int
    """Slices in each."""
    times: int
    time: int


class Ranges(NamedTuple):
    name: str
    how: str
    windows: int
    slices: int
    time: int


class Summary(NamedTuple):
    trace: Trace
    start: int
    span: int
    """Of what the streams did: from the first of it to the last."""
    kinds: list[KindTotals]
    lanes: list[LaneTotals]
    """Those where something worked or waited."""
    threads: int
    """Of the host, and no streams."""
    replays: list[Replays]
    ranges: list[Ranges]
    """The longest first."""


def summary(trace: Trace) -> Summary:
    by_lane: dict[int, list[Slice]] = {}
    kinds: dict[str, list[int]] = {}
    start, end = trace.end, 0
    for place, one in enumerate(trace.slices):
        if one.kind not in DEVICE_WORK and one.kind != "wait":
            continue
        by_lane.setdefault(one.lane, []).append(one)
        if one.kind == "wait":
            continue
        start, end = min(start, one.start), max(end, one.end)
        if one.kind == "replay" and trace.is_around(place):
            continue  # what it holds is counted
        counted = kinds.setdefault(one.kind, [0, 0])
        counted[0] += 1
        counted[1] += one.end - one.start
    span = max(end - start, 0)
    lanes = []
    for lane, slices in sorted(by_lane.items()):
        work = [(one.start, one.end) for one in slices if one.kind != "wait"]
        busy = total(together(work))
        both = shared(together((one.start, one.end) for one in slices), [Interval(start, end)])
        lanes.append(
            LaneTotals(lane, len(slices), busy, max(both - busy, 0), span - max(both, busy))
        )
    hosts = sum(lane.device == HOST for lane in trace.lanes)
    hosts -= sum(trace.lanes[one.lane].device == HOST for one in lanes)
    return Summary(
        trace,
        start,
        span,
        [KindTotals(kind, *counted) for kind, counted in sorted(kinds.items())],
        lanes,
        hosts,
        _replays(trace),
        _ranges(trace),
    )


def _replays(trace: Trace) -> list[Replays]:
    found: dict[tuple[str, int], list[int]] = {}
    for replay in trace.replays:
        counted = found.setdefault((replay.graph, len(replay.slices)), [0, 0])
        counted[0] += 1
        counted[1] += replay.end - replay.start
    return [Replays(*key, *counted) for key, counted in sorted(found.items())]


def _ranges(trace: Trace) -> list[Ranges]:
    counts: Counter[tuple[str, str]] = Counter()
    slices: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    for window in trace.windows:
        key = window.name, window.how
        counts[key] += 1
        slices[key] += len(window.slices)
        times[key] += window.end - window.start
    found = [Ranges(*key, counts[key], slices[key], times[key]) for key in counts]
    return sorted(found, key=lambda one: (-one.time, one.name, one.how))
