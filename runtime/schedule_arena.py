"""Whether the arena of a schedule can be what its compiler laid out.

That those who share memory are ordered is proven where it is planned. Here it is asked that places lie
in the arena and are in its steps, that only buffers of a round's own are there, and that no program
issues work for two that overlap before it has issued all work for one of them.
"""

from __future__ import annotations

from bisect import bisect, insort

from plait.runtime.schedule import ALIGNMENT, PHASE_OPS, Bucket, Schedule
from plait.runtime.schedule_memory import rooms


def arena_fault(schedule: Schedule) -> tuple[str, str] | None:
    """Where the first fault is, and what is wrong there."""
    sizes = rooms(schedule)
    placed = {n: b.offset for n, b in enumerate(schedule.buffers) if b.offset is not None}
    for number, offset in placed.items():
        buffer, where = schedule.buffers[number], f"buffers[{number}].offset"
        lasting = buffer.carried or buffer.static or buffer.task or buffer.copies > 1
        if lasting or buffer.memory != "device" or buffer.pool is not None or not sizes[number]:
            return where, f"is given, but {buffer.name} cannot share memory"
        if offset % ALIGNMENT:
            return where, f"is {offset}, which is not a multiple of {ALIGNMENT}"
        if offset + sizes[number] > schedule.arena:
            return where, f"is {offset}: {buffer.name} ends behind the arena"
    if schedule.arena > sum(sizes[number] for number in placed):
        return "arena", "is larger than all that lies in it"
    for number, bucket in enumerate(schedule.buckets if placed else ()):
        if (pair := _overlap(schedule, bucket, placed, sizes)) is not None:
            names = " and ".join(schedule.buffers[one].name for one in pair)
            return f"buckets[{number}]", f"use {names} side by side, which share memory"
    return None


def _overlap(
    schedule: Schedule, bucket: Bucket, placed: dict[int, int], sizes: list[int]
) -> tuple[int, int] | None:
    """Two buffers that share memory, of which one is accessed between accesses of the other."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, phase in enumerate(_phases(schedule, bucket)):
        for argument in schedule.phases[phase].arguments:
            if argument.buffer in placed:
                first.setdefault(argument.buffer, step)
                last[argument.buffer] = step
    moments = [(step, 0, buffer) for buffer, step in first.items()]
    moments += [(step, 1, buffer) for buffer, step in last.items()]
    held: list[tuple[int, int]] = []
    """The places in use, by offset; no two overlap."""
    for _, over, buffer in sorted(moments):
        entry = placed[buffer], buffer
        place = bisect(held, entry)
        if over:
            del held[place - 1]
            continue
        for offset, other in held[max(place - 1, 0) : place + 1]:
            if offset < entry[0] + sizes[buffer] and entry[0] < offset + sizes[other]:
                return other, buffer
        insort(held, entry)
    return None


def _phases(schedule: Schedule, bucket: Bucket) -> list[int]:
    """Every phase of a program, in the order of issue."""
    found: list[int] = []
    for one in schedule.program_of(bucket):
        if one.op in PHASE_OPS:
            found.append(one.of)
        elif one.op == "replay":
            found += schedule.captures[one.of].phases
    return found
