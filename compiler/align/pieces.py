"""What did work on a device, or on its host under a phase's name: what an alignment gives to nodes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from plait.compiler.align.names import NOTHING, Names, Said, token
from plait.compiler.traces.model import Slice, Trace

WORK = ("compute", "communication", "copy")
NO_WORK = frozenset(("launch", "wait", "record"))
HOST = "host"


class Piece(NamedTuple):
    slice: int
    lane: int
    start: int
    end: int
    issued: int
    """When its launch began; -1: the trace does not say."""
    token: str
    replay: int
    """Of the trace; -1: launched by itself."""
    said: Said
    """What the trace, or its own name, says of it."""


def pieces(trace: Trace, names: Names, device: str) -> list[Piece]:
    """By start; of one device, and of hosts what bears the name of a phase of the host.

    In a trace without a device they are the marks themselves, as are those on streams that hold nothing.
    """
    tokens: dict[str, str] = {}
    found: list[Piece] = []
    new = tuple.__new__
    own = [lane.device == device for lane in trace.lanes]
    bare = {window.mark for window in trace.windows if window.how == "device" and not window.slices}
    known: dict[tuple[str, str, int], Said] = {}
    for number, one in enumerate(trace.slices):
        if one.kind in NO_WORK:
            continue
        if one.kind == "compute" and own[one.lane] and not one.phase:
            said = names.of(one.name)
        elif own[one.lane] and number in bare:
            said = _marked(names, one)
        else:
            said = _said(trace, names, one, number, own[one.lane], bool(device))
        if said is None:
            continue
        if one.round >= 0 and said.round != one.round:
            key = one.phase, one.name, one.round
            if key not in known:
                known[key] = said._replace(round=one.round)
            said = known[key]
        name = tokens.get(one.name)
        if name is None:
            name = tokens[one.name] = token(one.name)
        issued = one.start if trace.lanes[one.lane].device == HOST else one.issued
        values = (number, one.lane, one.start, one.end, issued, name, one.replay, said)
        found.append(new(Piece, values))
    return found


def _marked(names: Names, one: Slice) -> Said | None:
    """Of a mark on a stream that holds nothing: what was at work then is lost."""
    said = names.of(one.phase or one.name)
    return said if said.strength == "A" and said.nodes else None


def _said(
    trace: Trace, names: Names, one: Slice, number: int, own: bool, on_device: bool
) -> Said | None:
    """None of what is no piece."""
    kind = one.kind
    if own and on_device:
        if kind == "replay":
            held = trace.replays[one.replay].slices if one.replay >= 0 else ()
            if held and held != (number,):
                return None
        elif kind not in WORK:
            return None
        if one.phase:
            said = names.of(one.phase)
            return said if said.strength == "A" else NOTHING
        said = names.of(one.name)
        return NOTHING if kind == "copy" and said.strength != "A" else said
    if kind != "range" and not (one.phase and kind in (HOST, *WORK)):
        return None
    if trace.lanes[one.lane].device not in (HOST, "cpu"):
        return None
    said = names.of(one.phase or one.name)
    if said.strength != "A" or not said.nodes:
        return None
    return said if not on_device or names.on_host.issuperset(said.nodes) else None


def busiest(trace: Trace) -> str:
    """The device that works longest, by name where two do; empty where none is in the trace."""
    times: Counter[str] = Counter()
    for one in trace.slices:
        if one.kind in WORK or one.kind == "replay":
            times[trace.lanes[one.lane].device] += one.end - one.start
    return min(times, key=lambda name: (name == HOST, -times[name], name)) if times else ""
