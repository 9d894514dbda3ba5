"""A Schedule as JSON: the same bytes every time.

Encoding: UTF-8, one object, one entry of a table a line, so that a diff shows what changed. Dim
sizes, settings and environment are lists of pairs to keep their order. A place is
`[line, column, length]`, with the number of the file behind it where it is not in the spec itself; a
region is null or a list with, for each axis, null, an index, or `[from, up to]`. `digests` are SHA-256
of all that decided the schedule. `schedule_reader.py` reads it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from plait.runtime.schedule import VERSION, Instruction, Place, Region, Schedule

FORMAT = "plait schedule"


def to_json(schedule: Schedule) -> str:
    """The JSON text: equal schedules give equal bytes."""
    tables: dict[str, list[Any]] = {
        "streams": [[s.name, s.kind, _place(s.place)] for s in schedule.streams],
        "buffers": [
            {
                "name": b.name,
                "dtype": b.dtype,
                "memory": b.memory,
                "carried": b.carried,
                "static": b.static,
                "copies": b.copies,
                "task": b.task,
                "pad": b.pad,
                "pool": b.pool,
                "offset": b.offset,
                "live": [None if axis is None else list(axis) for axis in b.live],
                "place": _place(b.place),
            }
            for b in schedule.buffers
        ],
        "groups": [[g.name, g.size, g.inside] for g in schedule.groups],
        "pools": [[p.name, p.size] for p in schedule.pools],
        "votes": [[list(v.names), v.group, _place(v.place)] for v in schedule.votes],
        "same": [[list(s.names), s.group, _place(s.place)] for s in schedule.same],
        "events": [[e.name, e.depth] for e in schedule.events],
        "phases": [
            {
                "name": p.name,
                "body": p.body,
                "index": p.index,
                "stream": p.stream,
                "capture": p.capture,
                "arguments": [[a.name, a.buffer, a.kind, a.rounds_back] for a in p.arguments],
                "place": _place(p.place),
                "attributes": list(p.attributes),
                "collective": p.collective and [p.collective.kind, p.collective.group],
            }
            for p in schedule.phases
        ],
        "captures": [
            {
                "name": c.name,
                "stream": c.stream,
                "phases": list(c.phases),
                "copied_in": [list(taken) for taken in c.copied_in],
                "place": _place(c.place),
                "pool": c.pool,
                "program": [_instruction(i) for i in c.program],
            }
            for c in schedule.captures
        ],
        "buckets": [
            {
                "sizes": [list(size) for size in b.sizes],
                "route": [list(value) for value in b.route],
                "program": b.program,
                "shapes": [None if s is None else list(s) for s in b.shapes],
                "regions": [[_region(r) for r in regions] for regions in b.regions],
                "rows": list(b.rows),
                "disjoint": [[n, _region(one), _region(two)] for n, one, two in b.disjoint],
                "work": [list(work) for work in b.work],
            }
            for b in schedule.buckets
        ],
    }
    head = {
        "format": FORMAT,
        "version": VERSION,
        "name": schedule.name,
        "variant": schedule.variant,
        "compiler": schedule.compiler,
        "source": [schedule.source.name, schedule.source.sha256],
        "used": [[used.name, used.sha256] for used in schedule.used],
        "target": [schedule.target.name, schedule.target.sha256],
        "settings": [list(pair) for pair in schedule.settings],
        "environment": [list(pair) for pair in schedule.environment],
        "arena": schedule.arena,
    }
    if schedule.unchecked:
        head["unchecked"] = list(schedule.unchecked)
    head["digests"] = digests_of(head)
    lines = [f"  {json.dumps(key)}: {_line(value)}" for key, value in head.items()]
    lines += [f"  {json.dumps(key)}: {_table(rows)}" for key, rows in tables.items()]
    programs = [_table([_instruction(i) for i in p], "      ") for p in schedule.programs]
    lines.append('  "programs": [\n    ' + ",\n    ".join(programs) + "\n  ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digests_of(head: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of everything that decided the schedule, for a glance and against a torn file."""
    digests = {"source": head["source"][1], "target": head["target"][1]}
    for key in ("settings", "environment"):
        text = json.dumps(head[key], separators=(",", ":"))
        digests[key] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _table(rows: list[Any], indent: str = "    ") -> str:
    if not rows:
        return "[]"
    return "[\n" + ",\n".join(indent + _line(row) for row in rows) + f"\n{indent[:-2]}]"


def _place(place: Place | None) -> list[int] | None:
    if place is None:
        return None
    return [place.line, place.column, place.length, *([place.file] if place.file else [])]


def _region(region: Region) -> list[Any] | None:
    if region is None:
        return None
    return [list(axis) if isinstance(axis, tuple) else axis for axis in region]


def _instruction(one: Instruction) -> list[Any]:
    return [one.op, one.of, one.on, one.rounds_back, _place(one.place)]
