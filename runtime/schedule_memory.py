"""What the buffers of a schedule take, in bytes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.runtime.schedule import Schedule

WIDTHS = {
    "bool": 1,
    "u8": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Bytes of an element."""
ALIGNMENT = 512
"""Bytes: what torch's allocators round to on CUDA (`kMinBlockSize`) and on Ascend."""


def room(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of a buffer, rounded up so that another may begin behind it."""
    return -(-prod(shape) * WIDTHS[dtype] // ALIGNMENT) * ALIGNMENT


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
