"""The graphs of a round at what is live, as text and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plait.compiler.measures.replays import Replay, replays
from plait.compiler.round import Round


def replays_data(
    round: Round, live: Mapping[str, int], requests: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """One entry a graph. `requests`: of each rank of a group, of which the largest is what is live."""
    many = [replays(round, {**live, "bs": one}) for one in requests] if len(requests) > 1 else []
    return [
        {
            "capture": one.capture,
            **live,
            "bucket": _bucket(round),
            **_rows(one),
            **(
                {
                    "ranks": [
                        {"bs": bs, **_rows(rank[number])}
                        for bs, rank in zip(requests, many, strict=True)
                    ]
                }
                if many
                else {}
            ),
        }
        for number, one in enumerate(replays(round, live))
    ]


def _bucket(round: Round) -> int | dict[str, int]:
    sizes = list(round.sizes.values())
    return sizes[0] if len(sizes) == 1 else round.sizes


def _rows(one: Replay) -> dict[str, int | None]:
    return {"rows_real": one.live, "rows_replayed": one.rows, "rows_padded": one.padded}


def replays_text(round: Round, live: Mapping[str, int], requests: Sequence[int] = ()) -> list[str]:
    """Lines; none where the round has no graph."""
    data = replays_data(round, live, requests)
    if not data:
        return []
    at = ", ".join(f"{name} = {size}" for name, size in live.items()) or "any size"
    many = "" if len(requests) < 2 else f", the most of {', '.join(map(str, requests))}"
    bucket = ", ".join(f"{name} = {size}" for name, size in round.sizes.items()) or "any"
    lines = [f"graphs at {at}{many}: the bucket is {bucket}", ""]
    width = max(len(one["capture"]) for one in data)
    for one in data:
        name = one["capture"].ljust(width)
        lines.append(f"       {name}  {_counted(one)}")
        lines += [
            f"       {'':{width}}  rank of {r['bs']}: {_counted(r)}" for r in one.get("ranks", ())
        ]
    return [*lines, ""]


def _counted(one: Mapping[str, Any]) -> str:
    if one["rows_real"] is None:
        return f"{one['rows_replayed']} rows replayed"
    return f"{one['rows_real']} rows, {one['rows_replayed']} replayed, {one['rows_padded']} of them padding"
