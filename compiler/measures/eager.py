"""A schedule with one of its graphs taken apart: what it holds is issued piece by piece instead."""

from __future__ import annotations

from dataclasses import replace

from plait.runtime.schedule import Event, Instruction, Schedule


def without_graph(schedule: Schedule, capture: int) -> Schedule:
    """On the rows of each bucket, as eager phases have them too. Only for its times: nothing runs it."""
    held = schedule.captures[capture]
    first = len(schedule.events)
    own = 1 + max((one.of for one in held.program if one.op in ("record", "wait")), default=-1)
    events = tuple(Event(f"{held.name}.{number}", 1) for number in range(own))
    inner = tuple(_outside(one, first) for one in held.program)
    programs = tuple(
        tuple(step for one in program for step in _apart(one, capture, inner))
        for program in schedule.programs
    )
    return replace(schedule, events=schedule.events + events, programs=programs)


def _outside(one: Instruction, first: int) -> Instruction:
    if one.op in ("record", "wait"):
        return replace(one, of=first + one.of)
    return replace(one, op="wait") if one.op == "external" else one


def _apart(
    one: Instruction, capture: int, inner: tuple[Instruction, ...]
) -> tuple[Instruction, ...]:
    if one.of != capture or one.op not in ("load", "replay"):
        return (one,)
    return inner if one.op == "replay" else ()
