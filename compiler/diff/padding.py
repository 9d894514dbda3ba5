"""Rows that graphs replay for nobody: a graph is as wide as its bucket, whatever is live."""

from __future__ import annotations

from collections.abc import Mapping

from plait.runtime.schedule import Bucket, Schedule


def padded(schedule: Schedule, bucket: Bucket, live: Mapping[str, int]) -> int | None:
    """Of a round with so much live of each dim, all of it of a dim not named.

    None: rows of some graph are in no proportion to one of these dims, as its buckets show.
    """
    found = 0
    for one in schedule.program_of(bucket):
        if one.op == "replay" and (rows := bucket.rows[one.of]):
            share = _of_each(schedule, one.of, live)
            if share is None:
                return None
            dim, each = share
            found += rows - each * min(live[dim], dict(bucket.sizes)[dim]) if dim else 0
    return found


def _of_each(schedule: Schedule, capture: int, live: Mapping[str, int]) -> tuple[str, int] | None:
    """The dim that a graph's rows go with, and how many rows there are of each; none where none of these."""
    replayed = [bucket for bucket in schedule.buckets if bucket.rows[capture]]
    rows = [bucket.rows[capture] for bucket in replayed]
    for dim in live:
        sizes = [dict(bucket.sizes).get(dim, 0) for bucket in replayed]
        if all(sizes) and rows == [rows[0] // sizes[0] * size for size in sizes]:
            return dim, rows[0] // sizes[0]
    return ("", 0) if len(set(rows)) == 1 or not live else None
