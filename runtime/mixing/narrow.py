"""A schedule with less in its buffers: what waits for what is the same, and there is less to mix."""

from __future__ import annotations

from dataclasses import replace

from plait.runtime.schedule import Bucket, Schedule

WIDTH = 4
"""Of an axis that no bucket changes and no region cuts, such as that of a hidden state."""


def narrow(schedule: Schedule) -> Schedule:
    """The schedule, where no axis that only bodies know of is wider than that."""
    kept = _kept(schedule)
    return replace(schedule, buckets=tuple(_narrow(bucket, kept) for bucket in schedule.buckets))


def _kept(schedule: Schedule) -> set[tuple[int, int]]:
    """Buffers, each with an axis whose size matters."""
    found = set()
    seen: dict[tuple[int, int], int] = {}
    for bucket in schedule.buckets:
        for number, shape in enumerate(bucket.shapes):
            for axis, size in enumerate(shape or ()):
                if seen.setdefault((number, axis), size) != size:
                    found.add((number, axis))
        for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
            for argument, region in zip(phase.arguments, regions, strict=False):
                cut = [axis for axis, part in enumerate(region or ()) if part is not None]
                found |= {(argument.buffer, axis) for axis in cut}
    return found


def _narrow(bucket: Bucket, kept: set[tuple[int, int]]) -> Bucket:
    shapes = [
        shape
        and tuple(
            size if (number, axis) in kept else min(size, WIDTH) for axis, size in enumerate(shape)
        )
        for number, shape in enumerate(bucket.shapes)
    ]
    return replace(bucket, shapes=tuple(shapes))
