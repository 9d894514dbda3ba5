"""Two schedules side by side: what one has and the other has not. Data first, then text.

This first form compares settings, streams, phases, edges, captures, buffers and buckets. It says
nothing about time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from plait.compiler.views.counted import counted
from plait.compiler.views.steps import steps
from plait.runtime.schedule import Schedule, Setting


@dataclass(frozen=True, slots=True)
class Row:
    """One difference. `before` or `after` is empty where the thing is not there."""

    kind: str
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Diff:
    before: str
    after: str
    rows: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.before} and {self.after}: no difference\n"
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.kind] = counts.get(row.kind, 0) + 1
        says = ", ".join(counted(count, kind) for kind, count in counts.items())
        lines = [f"{self.before} -> {self.after}: {says} differ", ""]
        for row in self.rows:
            if not row.before:
                lines.append(f"  + {row.kind} {row.name}: {row.after}")
            elif not row.after:
                lines.append(f"  - {row.kind} {row.name}: {row.before}")
            else:
                lines.append(f"  ~ {row.kind} {row.name}: {row.before} -> {row.after}")
        return "\n".join(lines) + "\n"


def diff(before: Schedule, after: Schedule) -> Diff:
    """What differs, in a fixed order: equal schedules give no rows, swapped ones mirrored rows."""
    tables = [_facts(schedule) for schedule in (before, after)]
    rows = []
    for kind in tables[0]:
        first, second = tables[0][kind], tables[1][kind]
        for name in dict.fromkeys([*first, *second]):
            if first.get(name) != second.get(name):
                rows.append(Row(kind, name, first.get(name, ""), second.get(name, "")))
    return Diff(_title(before), _title(after), tuple(rows))


def _title(schedule: Schedule) -> str:
    variant = f"@{schedule.variant}" if schedule.variant else ""
    return f"{schedule.source.name}{variant}"


def _facts(schedule: Schedule) -> dict[str, dict[str, str]]:
    """Everything compared, as names and texts."""
    found, edges = steps(schedule, schedule.widest)
    phases = {}
    for phase in schedule.phases:
        stream = schedule.streams[phase.stream].name
        inside = "" if phase.capture is None else f" in {schedule.captures[phase.capture].name}"
        arguments = ", ".join(
            f"{a.kind} {'prev ' * a.rounds_back}{schedule.buffers[a.buffer].name}"
            for a in phase.arguments
        )
        phases[phase.name] = f"on {stream}{inside}: {arguments}"
    waits = {}
    for edge in edges:
        if edge.waits:
            target = "host" if edge.target is None else found[edge.target].name
            ago = "" if not edge.rounds_back else f", {edge.rounds_back} rounds back"
            waits[f"{found[edge.source].name} -> {target}"] = f"one wait{ago}"
    captures = {}
    for number, capture in enumerate(schedule.captures):
        rows = _list(bucket.rows[number] for bucket in schedule.buckets)
        captures[capture.name] = f"{counted(len(capture.phases), 'phase')}, rows {rows}"
    buffers = {}
    for number, buffer in enumerate(schedule.buffers):
        shape = schedule.widest.shapes[number]
        words = [
            buffer.dtype + ("" if shape is None else f"[{_list(shape)}]"),
            f"on {buffer.memory}",
        ]
        words += [word for word in ("carried", "static") if getattr(buffer, word)]
        words += [f"copies {buffer.copies}"] * (buffer.copies > 1)
        buffers[buffer.name] = " ".join(words)
    order: dict[str, list[str]] = {}
    for step in found:
        order.setdefault(step.stream, []).append(step.name)
    return {
        "setting": {name: _setting(value) for name, value in schedule.settings},
        "stream": {stream.name: stream.kind for stream in schedule.streams},
        "phase": phases,
        "order": {stream: ", ".join(names) for stream, names in order.items()},
        "edge": waits,
        "capture": captures,
        "buffer": buffers,
        "bucket": {bucket.name: "there" for bucket in schedule.buckets},
    }


def _setting(value: Setting) -> str:
    if isinstance(value, list):
        return f"[{_list(map(_setting, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
