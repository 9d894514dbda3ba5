"""The graphs of a round at what is live, as text and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plait.compiler.measures.replays import Rows, replays
from plait.compiler.round import Round


def replays_data(
    round: Round, live: Mapping[str, int], requests: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """One entry a graph. `requests`: of each rank of a group, of which the largest is what is live."""
    sizes = list(round.sizes.values())
    bucket = sizes[0] if len(sizes) == 1 else round.sizes
    made = [
        {
            "capture": one.name,
            **live,
            "bucket": bucket,
            **_rows(one),
            "phases": [{"name": inner.name, **_rows(inner)} for inner in one.inner],
        }
        for one in replays(round, live)
    ]
    if len(requests) > 1:
        for bs in requests:
            for entry, rank in zip(made, replays(round, {**live, "bs": bs}), strict=True):
                entry.setdefault("ranks", []).append({"bs": bs, **_rows(rank)})
    return made


def _rows(one: Rows) -> dict[str, Any]:
    return {
        "rows_real": one.live,
        "rows_replayed": one.rows,
        "rows_padded": one.padded,
        "rows_for_each": None if one.each is None else {one.each[1]: one.each[0]},
    }


def replays_text(round: Round, live: Mapping[str, int], requests: Sequence[int] = ()) -> list[str]:
    """Lines; none where the round has no graph."""
    made = replays(round, live)
    if not made:
        return []
    at = _at(live)
    at += f" (the most of {', '.join(map(str, requests))})" if len(requests) > 1 else ""
    lines = [f"rows of its graphs at {at}, in the bucket {_at(round.sizes)}", ""]
    rows = [one for graph in made for one in (graph, *graph.inner)]
    width = max(len(one.name) for one in rows)
    lines += [f"       {one.name.ljust(width)}  {_counted(one)}" for one in rows]
    for bs in requests if len(requests) > 1 else ():
        padded = [
            f"{one.name} {one.padded}"
            for one in replays(round, {**live, "bs": bs})
            if one.padded is not None
        ]
        lines.append(f"       a rank of {bs} pads {', '.join(padded)}")
    return lines


def _at(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "any"


def _counted(one: Rows) -> str:
    each = "" if one.each is None else f"{one.each[0]} for each {one.each[1]}: "
    if one.live is None:
        return f"{each}{one.rows} replayed"
    return f"{each}{one.live} rows, {one.rows} replayed, {one.padded} of them padding"
