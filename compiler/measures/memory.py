"""What a schedule keeps of a device's memory, in bytes."""

from __future__ import annotations

from plait.runtime.schedule import Schedule, room


def memory(schedule: Schedule) -> int:
    """The arena, buffers outside it with their copies, and what graphs copy in."""
    apart = sum(
        room(buffer.dtype, shape) * buffer.copies
        for buffer, shape in zip(schedule.buffers, schedule.largest(), strict=True)
        if shape and not buffer.opaque and buffer.memory == "device" and buffer.offset is None
    )
    return schedule.arena + apart + sum(inputs(schedule).values())


def inputs(schedule: Schedule) -> dict[int, int]:
    """Of every capture, what its graphs copy in, one graph for each size at which it is replayed."""
    found: dict[int, int] = {}
    seen: set[tuple[int, tuple[tuple[str, int], ...]]] = set()
    for bucket in schedule.buckets:
        for one in schedule.program_of(bucket):
            if one.op == "replay" and (one.of, bucket.sizes) not in seen:
                seen.add((one.of, bucket.sizes))
                copied = [number for number, _ in schedule.captures[one.of].copied_in]
                sizes = [
                    room(schedule.buffers[number].dtype, shape)
                    for number in copied
                    if (shape := bucket.shapes[number])
                ]
                found[one.of] = found.get(one.of, 0) + sum(sizes)
    return found
