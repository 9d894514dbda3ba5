"""The waits of a round as edges: what each is for, and what begins after it."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.diff.names import Thing
from plait.compiler.views.steps import Step, steps
from plait.dsl.record import Record
from plait.runtime.schedule import PHASE_OPS, Bucket, Capture, Schedule


class Edge(Record):
    """`source` ends before `target` begins, so many rounds later."""

    source: Thing
    target: Thing
    rounds_back: int
    capture: str | None = None
    """The graph that the wait stands in, if one does."""


def edges(schedule: Schedule, bucket: Bucket) -> Iterator[Edge]:
    """Those outside graphs, then those of each graph that is replayed."""
    found, between = steps(schedule, bucket)
    for one in between:
        if one.waits:
            target = ("host", "host") if one.target is None else _thing(found[one.target])
            yield Edge(_thing(found[one.source]), target, one.rounds_back)
    for number in _replayed(schedule, bucket):
        yield from _inside(schedule, schedule.captures[number])


def _thing(step: Step) -> Thing:
    return ("phase" if step.rows is None else "capture"), step.name


def _replayed(schedule: Schedule, bucket: Bucket) -> Iterator[int]:
    program = schedule.program_of(bucket)
    yield from dict.fromkeys(one.of for one in program if one.op == "replay")


def _inside(schedule: Schedule, capture: Capture) -> Iterator[Edge]:
    """Waits within a graph; its side streams begin with it and it ends with them, which takes none."""
    newest: dict[int, Thing] = {}
    recorded: dict[int, Thing] = {}
    asked: dict[int, list[tuple[Thing, int]]] = {}
    begins, ends = ("capture", f"start of {capture.name}"), ("capture", f"end of {capture.name}")
    for one in capture.program:
        if one.op == "record":
            recorded[one.of] = newest.get(one.on, begins)
        elif one.op == "wait":
            asked.setdefault(one.on, []).append((recorded.get(one.of, begins), 0))
        elif one.op == "external":
            event = "event", schedule.events[one.of].name
            asked.setdefault(one.on, []).append((event, one.rounds_back))
        elif one.op in PHASE_OPS:
            phase = "phase", schedule.phases[one.of].name
            for source, back in asked.pop(one.on, ()):
                yield Edge(source, phase, back, capture.name)
            newest[one.on] = phase
    for waiting in asked.values():
        for source, back in waiting:
            yield Edge(source, ends, back, capture.name)
