"""Plait's own trace, of `plait run --trace`: phases, captures, waits and rounds by their names."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

from plait.compiler.traces.arrows import arrows
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.model import Kind, Round, Trace
from plait.compiler.traces.numbers import LATEST, nanoseconds, whole
from plait.compiler.traces.rows import HOST, Rows, Wait

KINDS: dict[str, Kind] = {
    "phase": "compute",
    "load": "copy",
    "capture": "replay",
    "wait": "wait",
    "launch": "launch",
}
MOST_DIMS = 64
PROCESS = 1
"""Of what ran; others show something about it."""


def read_own(file: str, data: Any, events: list[Any]) -> Trace:
    """Raises TraceError."""
    rows = Rows(file, "Plait")
    about = data.get("plait") if isinstance(data, dict) else None
    if isinstance(about, dict):
        rows.about = _about(about)
    ends: list[tuple[Any, Any, bool]] = []
    records: dict[str, tuple[int, int]] = {}
    arrived: dict[tuple[int, int], str] = {}
    waits: list[tuple[int, int, int]] = []
    rounds: dict[int, dict[str, Any]] = {}
    replays: dict[int, list[tuple[int, int, int]]] = {}
    inside: list[int] = []
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
                    replays.setdefault(lane, []).append((at, end, number))
                    rows.graph_names[number] = name
                elif "capture" in arguments:
                    inside.append(number)
                elif kind == "wait":
                    waits.append((lane, at, end))
            else:
                rows.unknown[f"events of ph {what!r:.20}"] += 1
        except (KeyError, TypeError, ValueError, AttributeError):
            rows.unknown["events without the fields of one"] += 1
    for lane, at, end in waits:
        source, reached = records.get(arrived.get((lane, end), ""), (-1, -1))
        rows.waits.append(Wait(lane, at, end, source, record_at=reached))
    _hold(rows, replays, inside)
    rows.arrows = arrows(ends, rows.unknown)
    if isinstance(about, dict):
        _rounds_said(rows, about, rounds)
    rows.rounds = [_told(number, told) for number, told in sorted(rounds.items())]
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


def _hold(rows: Rows, replays: dict[int, list[tuple[int, int, int]]], inside: list[int]) -> None:
    """Gives phases that a graph holds their replay; one in which nothing was looked at holds its own row."""
    held: set[int] = set()
    for of_lane in replays.values():
        of_lane.sort()
    for number in inside:
        start, end, _, lane, *_ = rows.rows[number]
        of_lane = replays.get(lane, [])
        at = bisect_right(of_lane, (start, LATEST, 0)) - 1
        if at >= 0 and end <= of_lane[at][1]:
            rows.graphs[number] = of_lane[at][2]
            held.add(of_lane[at][2])
        else:
            rows.unknown["phases of a capture outside of its replays"] += 1
    for of_lane in replays.values():
        for _, _, number in of_lane:
            rows.whole_replays[number] = number
            if number not in held:
                rows.graphs[number] = number


def _about(given: dict[str, Any]) -> dict[str, str]:
    """What the schedule that stands there says of itself."""
    schedule = given.get("schedule")
    if not isinstance(schedule, dict):
        return {}
    facts: dict[str, Any] = {"schedule": schedule.get("name"), "variant": schedule.get("variant")}
    for key, digest in (("source", "sha256"), ("target", "")):
        fact = schedule.get(key)
        if isinstance(fact, list) and len(fact) == 2:
            facts |= {key: fact[0]} | ({digest: fact[1]} if digest else {})
    settings = schedule.get("settings")
    if isinstance(settings, list):
        pairs = [one for one in settings if isinstance(one, list) and len(one) == 2]
        facts["settings"] = ", ".join(f"{name} = {json.dumps(value)}" for name, value in pairs)
    return {key: str(fact) for key, fact in facts.items() if fact not in (None, "")}


def _rounds_said(rows: Rows, about: dict[str, Any], rounds: dict[int, dict[str, Any]]) -> None:
    """What stands beside the events of rounds that have any."""
    said = about.get("rounds")
    for one in said if isinstance(said, list) else ():
        number = whole(one.get("number")) if isinstance(one, dict) else -1
        if number in rounds:
            rounds[number]["args"] = one
        elif number < 0:
            rows.unknown["rounds without a number"] += 1


def _round(rounds: dict[int, dict[str, Any]], event: Any, begins: bool, at: int) -> None:
    number = whole(event["id"])
    if number < 0:
        raise ValueError(f"{event['id']!r:.40} is no round")
    told = rounds.setdefault(number, {})
    told["start" if begins else "end"] = at
    if begins and isinstance(event.get("args"), dict):
        told["args"] = event["args"]


def _told(number: int, told: dict[str, Any]) -> Round:
    given = told.get("args", {})
    live = given.get("live")
    dims = list(live.items())[:MOST_DIMS] if isinstance(live, dict) else []
    start = told.get("start", told.get("end", 0))
    accepted = whole(given.get("accepted"))
    return Round(
        number,
        start,
        told.get("end", start),
        str(given.get("bucket", "")),
        tuple((str(dim), whole(size)) for dim, size in dims),
        accepted if accepted >= 0 else None,
        given.get("idle") is True,
    )
