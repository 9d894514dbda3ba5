"""A picture in the trace-event form that Perfetto opens: a group is a process, a lane a thread.

Slices of one thread never overlap, and every end is the exact decimal of whole nanoseconds. What is known
of a slice stands in its `args`; what a program may want of the whole, in a section `plait` of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plait.compiler.emit.picture import Bar, Group, Lane, Picture, stacked
from plait.dsl.render.printable import printable

SCHEMA = 1
"""Of the section `plait`."""
IDLE = ("wait", "record", "idle")
"""Kinds during which a stream is not busy."""

Event = dict[str, Any]


def perfetto(picture: Picture) -> str:
    """The whole file. Times are microseconds from the beginning of the picture's axis."""
    writer = _Writer(picture)
    for group in picture.groups:
        writer.group(group)
    rounds = [
        {
            "group": printable(group.name),
            "name": printable(one.name),
            "start": one.start,
            "end": one.end,
        }
        for group in picture.groups
        for one in group.rounds
    ]
    section = {
        "schema": SCHEMA,
        "title": printable(picture.title),
        "notes": [printable(note) for note in picture.notes],
        **{name: _said(value) for name, value in picture.about},
        "rounds": rounds,
    }
    whole = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "traceEvents": writer.events,
        "plait": section,
    }
    return json.dumps(whole, separators=(",", ":"))


class _Writer:
    def __init__(self, picture: Picture):
        self.picture = picture
        self.events: list[Event] = []
        self.processes = 0
        self.threads = 0
        self.flows = 0
        self.rounds = 0

    def group(self, group: Group) -> None:
        self.process(group.name)
        if group.rounds:
            self.thread("rounds")
            for one in group.rounds:
                for form, at in (("b", one.start), ("e", one.end)):
                    self.event(form, one.name, cat="round", id=self.rounds, ts=at / 1000)
                self.rounds += 1
        threads: dict[int, tuple[int, Bar]] = {}
        for lane in group.lanes:
            for depth, row in enumerate(stacked(lane.bars), 1):
                self.thread(lane.name if depth == 1 else f"{lane.name} ({depth})")
                for bar in row:
                    self.slice(bar)
                    threads[bar.number] = self.threads, bar
        for arrow in group.arrows:
            if arrow.source in threads and arrow.target in threads:
                self.flow(threads[arrow.source], threads[arrow.target])
        for at, busy in _busy(group.lanes):
            self.event("C", "busy streams", ts=at / 1000, args={"streams": busy})
        if group.path:
            several = len(self.picture.groups) > 1
            self.process("critical path" + f" of {group.name}" * several)
            self.thread("critical path")
            for bar in group.path:
                if bar.kind != "idle":
                    self.slice(bar)

    def process(self, name: str) -> None:
        self.processes += 1
        self.threads = 0
        self.event("M", "process_name", tid=0, args={"name": printable(name)})
        self.event("M", "process_sort_index", tid=0, args={"sort_index": self.processes})

    def thread(self, name: str) -> None:
        self.threads += 1
        self.event("M", "thread_name", args={"name": printable(name)})
        self.event("M", "thread_sort_index", args={"sort_index": self.threads})

    def slice(self, bar: Bar) -> None:
        args = dict(_fact(name, value) for name, value in bar.facts)
        args |= {"on_path": True} if bar.on_path else {}
        args |= {"changed": True} if bar.changed else {}
        took = bar.end - bar.start
        self.event(
            "X", bar.name, cat=printable(bar.kind), ts=bar.start / 1000, dur=took / 1000, args=args
        )

    def flow(self, source: tuple[int, Bar], target: tuple[int, Bar]) -> None:
        """From the last nanosecond of one slice to the first of another, so that both lie within."""
        self.flows += 1
        (left, before), (right, after) = source, target
        same = {"cat": "wait", "id": self.flows}
        self.event("s", "wait", tid=left, ts=max(before.end - 1, before.start) / 1000, **same)
        self.event("f", "wait", tid=right, ts=after.start / 1000, bp="e", **same)

    def event(self, form: str, name: str, **rest: Any) -> None:
        where = {"pid": self.processes, "tid": rest.pop("tid", self.threads)}
        self.events.append({"name": printable(name), "ph": form, **where, **rest})


def _fact(name: str, value: str | int) -> tuple[str, str | int | float]:
    if name.endswith("_ns") and isinstance(value, int):
        return f"{name.removesuffix('_ns')}_us", value / 1000
    return printable(name), _said(value)


def _said(value: str | int) -> str | int:
    return printable(value) if isinstance(value, str) else value


def _busy(lanes: tuple[Lane, ...]) -> Iterator[tuple[int, int]]:
    """How many streams of the device work at once, from each moment at which that changes."""
    changes: dict[int, int] = {}
    for lane in lanes:
        for bar in stacked(lane.bars)[0] if lane.device else ():
            if bar.kind not in IDLE:
                changes[bar.start] = changes.get(bar.start, 0) + 1
                changes[bar.end] = changes.get(bar.end, 0) - 1
    busy = 0
    for at, change in sorted(changes.items()):
        if change:
            busy += change
            yield at, busy
