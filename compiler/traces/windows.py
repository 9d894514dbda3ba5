"""Named ranges, and what of each lane lies in them: of a host's ranges what was launched in them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import accumulate, takewhile

from plait.compiler.traces.model import How, Round, Trace, Window
from plait.compiler.traces.numbers import LATEST
from plait.compiler.traces.rows import DEVICE_WORK, HOST

DEEPEST = 32
"""Ranges in ranges; what is deeper has no window."""
PHASE = re.compile(r"[^/#]+/(?P<phase>[^#]+) #(?P<round>[0-9]{1,18})")
"""A mark by Plait of a phase or a capture: see `runtime/marks.py`."""
ROUND = re.compile(r"[^/#]+ #(?P<round>[0-9]{1,18})")
STEP = re.compile(r"ProfilerStep#(?P<round>[0-9]{1,18})")


def marked(trace: Trace, issuers: list[tuple[int, int, int]], unknown: Counter[str]) -> None:
    """Adds windows, and rounds and phases by those whose names say them.

    Issuers are, of what devices did, when and by which lane it was asked for, and its place.
    """
    ranges = [place for place, one in enumerate(trace.slices) if one.kind == "range"]
    if not ranges:
        return
    depths = _depths(trace, ranges)
    kept = [place for place in ranges if depths[place] < DEEPEST]
    if len(kept) < len(ranges):
        unknown[f"ranges more than {DEEPEST} deep in others"] += len(ranges) - len(kept)
    on_host = [place for place in kept if trace.lanes[trace.slices[place].lane].device == HOST]
    on_device = [place for place in kept if trace.lanes[trace.slices[place].lane].device != HOST]
    windows = _of_device(trace, on_device, depths) + _of_graphs(trace, on_device, depths)
    if issuers:
        known = {trace.slices[place].name for place in on_device}
        asked = [place for place in on_host if trace.slices[place].name not in known]
        windows += _projected(trace, asked, depths, issuers)
    elif not on_device:
        windows += [_alone(trace, place, depths[place]) for place in on_host]
    windows.sort(key=lambda one: (one.start, one.depth, -one.end, one.lane, one.mark))
    trace.windows = windows
    _say_phases(trace)
    if not trace.rounds:
        trace.rounds = _rounds(trace, ROUND) or _rounds(trace, STEP)


def _depths(trace: Trace, ranges: list[int]) -> dict[int, int]:
    """Of each range, around how many of its lane it is not over yet."""
    found: dict[int, int] = {}
    around: dict[int, list[int]] = {}
    for place in sorted(ranges, key=lambda p: (trace.slices[p].start, -trace.slices[p].end, p)):
        one = trace.slices[place]
        open = around.setdefault(one.lane, [])
        open[:] = [end for end in open if end > one.start][-DEEPEST:]
        found[place] = len(open)
        open.append(one.end)
    return found


def _of_device(trace: Trace, ranges: list[int], depths: dict[int, int]) -> list[Window]:
    """What lies in a range on the range's own stream."""
    by_lane: dict[int, list[int]] = {trace.slices[place].lane: [] for place in ranges}
    for place, one in enumerate(trace.slices):
        if one.lane in by_lane and one.kind in DEVICE_WORK:
            by_lane[one.lane].append(place)
    starts = {
        lane: [trace.slices[place].start for place in of_lane] for lane, of_lane in by_lane.items()
    }
    found = []
    for place in ranges:
        one = trace.slices[place]
        first = bisect_left(starts[one.lane], one.start)
        behind = bisect_left(starts[one.lane], one.end)
        held = tuple(p for p in by_lane[one.lane][first:behind] if trace.slices[p].end <= one.end)
        found.append(
            Window(one.name, one.lane, one.start, one.end, held, "device", place, depths[place])
        )
    return found


def _of_graphs(trace: Trace, ranges: list[int], depths: dict[int, int]) -> list[Window]:
    """What graphs that a stream launched in a range of its own ran on other streams."""
    by_lane: dict[int, list[int]] = {}
    for place in ranges:
        by_lane.setdefault(trace.slices[place].lane, []).append(place)
    launched: dict[int, list[tuple[int, int, int]]] = {}
    for replay in trace.replays:
        if replay.launch >= 0 and (lane := trace.slices[replay.launch].lane) in by_lane:
            at = trace.slices[replay.launch].start
            others = [place for place in replay.slices if trace.slices[place].lane != lane]
            launched.setdefault(lane, []).extend((at, lane, place) for place in others)
    found: list[Window] = []
    for lane, issuers in sorted(launched.items()):
        found += _projected(trace, by_lane[lane], depths, issuers, "device")
    return found


def _projected(
    trace: Trace,
    ranges: list[int],
    depths: dict[int, int],
    issuers: list[tuple[int, int, int]],
    how: How = "projected",
) -> list[Window]:
    """What was launched while a range of a host was open: by whatever thread, unless another has one open
    that is neither around nor within; then by its own, or it is nobody's."""
    slices = trace.slices
    held: dict[tuple[int, int], list[int]] = {}
    waiting = iter(sorted(ranges, key=lambda p: (slices[p].start, -slices[p].end, p)))
    coming = next(waiting, None)
    open: list[int] = []
    shared: list[int] = []
    until = -1
    nobodys = 0
    for when, who, place in sorted(issuers):
        if (coming is not None and slices[coming].start <= when) or until <= when:
            while coming is not None and slices[coming].start <= when:
                open.append(coming)
                coming = next(waiting, None)
            open = [mark for mark in open if slices[mark].end > when]
            until = min((slices[mark].end for mark in open), default=LATEST)
            shared = _around_all(trace, open)
        around = shared
        if len(shared) < len(open):
            own = [mark for mark in open if slices[mark].lane == who]
            nobodys += not own
            around = sorted({*shared, *own})
        for mark in around:
            held.setdefault((mark, slices[place].lane), []).append(place)
    if nobodys:
        trace.notes.append(
            f"{nobodys:,} slices were launched by a thread without a range while several others had one "
            "open; they are in the window of none of these"
        )
    return [
        Window(
            slices[mark].name,
            lane,
            min(slices[place].start for place in places),
            max(slices[place].end for place in places),
            tuple(sorted(places)),
            how,
            mark,
            depths[mark],
        )
        for (mark, lane), places in held.items()
    ]


def _around_all(trace: Trace, open: list[int]) -> list[int]:
    """Of open ranges by start those from the first on that end after all that began later."""
    ends = [trace.slices[mark].end for mark in open]
    latest = list(accumulate(reversed(ends), max))[::-1]
    around = takewhile(lambda both: both[0] == both[1], zip(ends, latest, strict=True))
    return open[: len(list(around))]


def _alone(trace: Trace, place: int, depth: int) -> Window:
    one = trace.slices[place]
    return Window(one.name, one.lane, one.start, one.end, (), "host", place, depth)


def _say_phases(trace: Trace) -> None:
    """Of every slice the phase and the round of the innermost window that names one."""
    for window in trace.windows:
        match = PHASE.fullmatch(window.name)
        if match is None:
            continue
        phase, round = match["phase"], int(match["round"])
        for place in (*window.slices, window.mark):
            trace.slices[place] = trace.slices[place]._replace(phase=phase, round=round)


def _rounds(trace: Trace, name: re.Pattern[str]) -> list[Round]:
    """Of ranges of such a name, from the first to the last of their windows."""
    spans: dict[int, tuple[int, int]] = {}
    for window in trace.windows:
        match = name.fullmatch(window.name)
        if match is None:
            continue
        number = int(match["round"])
        start, end = spans.get(number, (window.start, window.end))
        spans[number] = min(start, window.start), max(end, window.end)
    return [Round(number, start, end) for number, (start, end) in sorted(spans.items())]
