"""Rows past the live ones of a round, where no pad says what they hold: to whoever reads them, poison.

Floats become no number. Whole numbers, which may be positions and tokens, become those of the first
request: a phase that keeps rows apart does no harm with them, and one that does not is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from plait.runtime.devices.adversary.poison import poison
from plait.runtime.schedule import Argument, Region, Schedule


class Rows(NamedTuple):
    axis: int
    begin: int
    """Where the access begins along the axis."""
    dim: str
    by: int
    plus: int
    rounds_back: int


def rows_of(schedule: Schedule, phase: int, place: int) -> tuple[Rows, ...]:
    """Of an access, if they are the same in every bucket; none of what others may read by right.

    A collective is left out, as what other ranks make of rows is their own; and so are updates of what is
    carried, where the rows of a request that has no part in this round may lie.
    """
    argument = schedule.phases[phase].arguments[place]
    buffer = schedule.buffers[argument.buffer]
    kept = argument.kind == "updates" and buffer.carried
    if buffer.pad is not None or kept or schedule.phases[phase].collective is not None:
        return ()
    found = {
        _along(schedule, argument, bucket.regions[phase][place])
        for bucket in schedule.buckets
        if bucket.regions[phase]
    }
    return found.pop() if len(found) == 1 else ()


def _along(schedule: Schedule, argument: Argument, region: Region) -> tuple[Rows, ...]:
    found, axis = [], 0
    for number, live in enumerate(schedule.buffers[argument.buffer].live):
        here = region[number] if region else None
        if isinstance(here, int):
            continue
        if live:
            found.append(Rows(axis, here[0] if here else 0, *live, argument.rounds_back))
        axis += 1
    return tuple(found)


def poison_past(tensor: torch.Tensor, rows: Rows, sizes: Sequence[Mapping[str, int]]) -> None:
    """`sizes` are those of this round and of those before: what either has is live."""
    live = max(one[rows.dim] for one in (sizes[0], *sizes[rows.rounds_back :][:1]))
    first = rows.by * live + rows.plus - rows.begin
    past = tensor.shape[rows.axis] - max(first, 0)
    if past <= 0:
        return
    part = tensor.narrow(rows.axis, max(first, 0), past)
    if part.dtype.is_floating_point:
        poison(part)
    elif first > 0:
        part.copy_(tensor.narrow(rows.axis, 0, 1).expand_as(part))
