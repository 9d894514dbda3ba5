"""What the buffers of a schedule take, in bytes."""

from __future__ import annotations

from plait.runtime.schedule import Schedule, room


def rooms(schedule: Schedule) -> list[int]:
    """Of every buffer, what one copy takes at its largest; 0 for an opaque one."""
    return [
        0 if buffer.opaque or not shape else room(buffer.dtype, shape)
        for buffer, shape in zip(schedule.buffers, schedule.largest(), strict=True)
    ]


def saved(schedule: Schedule) -> int:
    """Bytes that the arena saves: what those in it would take apart, less the arena."""
    counted = zip(rooms(schedule), schedule.buffers, strict=True)
    return sum(size for size, buffer in counted if buffer.offset is not None) - schedule.arena
