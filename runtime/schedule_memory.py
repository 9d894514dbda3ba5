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


def own_bytes(schedule: Schedule) -> int:
    """Of all buffers if none shared memory with another."""
    counted = zip(rooms(schedule), schedule.buffers, strict=True)
    return sum(size * buffer.copies for size, buffer in counted)


def held_bytes(schedule: Schedule) -> int:
    """Of all buffers as they are laid out: the arena, and those that have memory of their own."""
    counted = zip(rooms(schedule), schedule.buffers, strict=True)
    return schedule.arena + sum(
        size * buffer.copies for size, buffer in counted if buffer.offset is None
    )
