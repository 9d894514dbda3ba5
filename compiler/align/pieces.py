"""What did work on a device, or on its host under a phase's name: what an alignment gives to nodes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from plait.compiler.align.names import NOTHING, Names, Said, token
from plait.compiler.traces.model import Trace

WORK = ("compute", "communication", "copy")


class Piece(NamedTuple):
    slice: int
    lane: int
    start: int
    end: int
    issued: int
    """When its launch began; -1: the trace does not say."""
    thread: int
    """The lane it was launched from; -1: the trace does not say."""
    token: str
    replay: int
    """Of the trace; -1: launched by itself."""
    said: Said
    """What the trace, or its own name, says of it."""


def pieces(trace: Trace, names: Names, device: str) -> list[Piece]:
    """By start; of one device, and of hosts what bears a phase's name and runs on no device."""
    launched = {
        one.correlation: number
        for number, one in enumerate(trace.slices)
        if one.kind == "launch" and one.correlation >= 0
    }
    held = {number for replay in trace.replays for number in replay.slices}
    own = [lane.device == device for lane in trace.lanes]
    tokens: dict[str, str] = {}
    found = []
    for number, one in enumerate(trace.slices):
        kind, lane = one.kind, one.lane
        works = kind in WORK or (kind == "replay" and number not in held and not _holds(trace, one))
        host = not own[lane] and kind in ("host", *WORK) and one.phase and is_host(trace, lane)
        if not (works and own[lane]) and not host:
            continue
        if one.phase:
            said = names.of(one.phase)
            said = said._replace(round=one.round if one.round >= 0 else said.round, strength="A")
        else:
            said = names.of(one.name) if kind != "copy" else NOTHING
            if one.round >= 0:
                said = said._replace(round=one.round)
        launch = launched.get(one.correlation, -1)
        if launch < 0 and one.replay >= 0:
            launch = trace.replays[one.replay].launch
        issued = trace.slices[launch].start if launch >= 0 else -1
        thread = trace.slices[launch].lane if launch >= 0 else -1
        name = tokens.get(one.name)
        if name is None:
            name = tokens[one.name] = token(one.name)
        found.append(
            Piece(number, lane, one.start, one.end, issued, thread, name, one.replay, said)
        )
    return found


def _holds(trace: Trace, one: object) -> bool:
    """Whether what a replay holds is in the trace."""
    replay = getattr(one, "replay", -1)
    return replay >= 0 and bool(trace.replays[replay].slices)


def is_host(trace: Trace, lane: int) -> bool:
    return trace.lanes[lane].device in ("host", "cpu") or trace.lanes[lane].stream == "host"


def busiest(trace: Trace) -> str:
    """The device that works longest; by name where two do."""
    times: Counter[str] = Counter()
    for one in trace.slices:
        if one.kind in WORK or one.kind == "replay":
            times[trace.lanes[one.lane].device] += one.end - one.start
    return min(times, key=lambda name: (-times[name], name)) if times else ""
