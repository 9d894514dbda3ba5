"""Rows that a graph replays and no request has: what they may cost at most."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plait.compiler.align.aligned import Aligned
from plait.compiler.spread import median


def padding(made: Aligned) -> list[dict[str, Any]]:
    """Of every capture and every live size that the trace tells, rows replayed, rows real, and the
    share of the replay's time that goes with the others: an upper bound."""
    live = {one.number: dict(one.live) for one in made.trace.rounds if one.live}
    counted = Counter(tuple(sorted(live[r].items())) for r in made.rounds if r in live)
    found = []
    for number, node in enumerate(made.declared.nodes):
        if node.kind != "capture":
            continue
        for sizes, times in sorted(counted.items()):
            rows = _rows(made, node.number, dict(sizes))
            if rows is None:
                continue
            raw, replayed = rows
            spans = [
                one.end - one.start
                for one in made.instances(number)
                if tuple(sorted(live.get(one.round, {}).items())) == sizes
            ]
            padded = replayed - raw
            found.append(
                {
                    "capture": node.name,
                    "live": dict(sizes),
                    "rounds": times,
                    "rows_replayed": replayed,
                    "rows_real": raw,
                    "rows_padded": padded,
                    "at_most": median(spans) * padded // replayed if replayed else 0,
                }
            )
    return found


def _rows(made: Aligned, capture: int, live: dict[str, int]) -> tuple[int, int] | None:
    """Real and replayed, of the bucket that holds what is live; None where rows do not go by one dim."""
    schedule = made.schedule
    dims = [dim for dim, _ in made.bucket.sizes]
    if len(dims) != 1 or dims[0] not in live:
        return None
    (dim,) = dims
    try:
        bucket = schedule.bucket_for(**dict(made.bucket.route), **{dim: live[dim]})
    except ValueError:
        return None
    replayed, size = bucket.rows[capture], dict(bucket.sizes)[dim]
    if replayed % size:
        return None
    return replayed // size * live[dim], replayed
