"""What a schedule keeps of a device's memory, in bytes."""

from __future__ import annotations

from plait.runtime.schedule import Bucket, Schedule, room


def memory(schedule: Schedule) -> int:
    """The arena, buffers outside it with their copies, and what graphs copy in."""
    apart = sum(
        room(buffer.dtype, shape) * buffer.copies
        for buffer, shape in zip(schedule.buffers, schedule.largest(), strict=True)
        if shape and not buffer.opaque and buffer.memory == "device" and buffer.offset is None
    )
    return schedule.arena + apart + _inputs(schedule)


def _inputs(schedule: Schedule) -> int:
    """What all graphs copy in, of each capture one for each size at which it is replayed."""
    graphs: dict[tuple[int, tuple[tuple[str, int], ...]], Bucket] = {}
    for bucket in schedule.buckets:
        for one in schedule.program_of(bucket):
            if one.op == "replay":
                graphs.setdefault((one.of, bucket.sizes), bucket)
    return sum(
        room(schedule.buffers[number].dtype, shape)
        for (capture, _), bucket in graphs.items()
        for number, _ in schedule.captures[capture].copied_in
        if (shape := bucket.shapes[number])
    )
