"""Plait's own trace, of `plait run --trace`: phases, captures, waits and rounds by their names."""

from __future__ import annotations

from typing import Any

from plait.compiler.traces.arrows import arrows
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.model import Kind, Round, Trace
from plait.compiler.traces.numbers import nanoseconds, whole
from plait.compiler.traces.rows import HOST, Rows, Wait

KINDS: dict[str, Kind] = {
    "phase": "compute",
    "load": "copy",
    "capture": "replay",
    "wait": "wait",
    "launch": "launch",
}
ABOUT = ("schedule", "source", "sha256", "target", "settings")
MOST_DIMS = 64
PROCESS = 1
"""Of what ran; others show something about it."""


def read_own(file: str, data: Any, events: list[Any]) -> Trace:
    """Raises TraceError."""
    rows = Rows(file, "Plait")
    about = data.get("plait") if isinstance(data, dict) else None
    if isinstance(about, dict):
        rows.about = {key: str(about[key]) for key in ABOUT if key in about}
    ends: list[tuple[Any, Any, bool]] = []
    records: dict[str, tuple[int, int]] = {}
    arrived: dict[tuple[int, int], str] = {}
    waits: list[tuple[int, int, int]] = []
    rounds: dict[int, dict[str, Any]] = {}
    lanes = _lanes(rows, events)
    for event in events:
        try:
            what = event["ph"]
            if what == "M" or event["pid"] != PROCESS:
                continue
            at = nanoseconds(event["ts"])
            if what in "be":
                _round(rounds, event, what == "b", at)
            elif what in "sf":
                ends.append((event["cat"], event["id"], what == "s"))
                lane = lanes[event["tid"]]
                if what == "s":
                    records[str(event["id"])] = lane, at
                else:
                    arrived[lane, at] = str(event["id"])
            elif what == "X":
                end = at + nanoseconds(event["dur"])
                lane, arguments = lanes[event["tid"]], event["args"]
                kind = KINDS.get(event["cat"])
                if kind is None:
                    rows.unknown[f"category {event['cat']!r:.60}"] += 1
                    continue
                name = str(event["name"])
                number = rows.add(at, end, lane, name, kind)
                phase = name if kind in ("compute", "replay") else ""
                rows.phases[number] = phase, whole(arguments["round"])
                if kind == "replay":
                    rows.graphs[number] = number
                    rows.graph_names[number] = name
                elif kind == "wait":
                    waits.append((lane, at, end))
            else:
                rows.unknown[f"events of ph {what!r:.20}"] += 1
        except (KeyError, TypeError, ValueError, AttributeError):
            rows.unknown["events without the fields of one"] += 1
    for lane, at, end in waits:
        source, reached = records.get(arrived.get((lane, end), ""), (-1, -1))
        rows.waits.append(Wait(lane, at, end, source, -1, -1, reached))
    rows.arrows = arrows(ends, rows.unknown)
    first = min((row[0] for row in rows.rows), default=0)
    rows.rounds = [_told(number, told, first) for number, told in sorted(rounds.items())]
    return gathered(rows)


def _lanes(rows: Rows, events: list[Any]) -> dict[int, int]:
    """By thread."""
    found: dict[int, int] = {}
    for event in events:
        try:
            if event["name"] == "thread_name" and event["pid"] == PROCESS:
                name = str(event["args"]["name"])
                found[event["tid"]] = rows.lane(HOST if name == "host" else "cpu", name)
        except (KeyError, TypeError):
            continue  # counted with all others
    return found


def _round(rounds: dict[int, dict[str, Any]], event: Any, begins: bool, at: int) -> None:
    number = whole(event["id"])
    if number < 0:
        raise ValueError(f"{event['id']!r:.40} is no round")
    told = rounds.setdefault(number, {})
    told["start" if begins else "end"] = at
    if begins and isinstance(event.get("args"), dict):
        told["args"] = event["args"]


def _told(number: int, told: dict[str, Any], first: int) -> Round:
    given = told.get("args", {})
    live = given.get("live")
    dims = list(live.items())[:MOST_DIMS] if isinstance(live, dict) else []
    start = told.get("start", told.get("end", 0))
    accepted = whole(given.get("accepted"))
    return Round(
        number,
        start - first,
        told.get("end", start) - first,
        str(given.get("bucket", "")),
        tuple((str(dim), whole(size)) for dim, size in dims),
        accepted if accepted >= 0 else None,
        given.get("idle") is True,
    )
