"""What lanes show that no schedule may do, and what they do that is not in the schedule."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plait.compiler.align.aligned import Aligned

MOST_STRANGERS = 5


def overlapping(made: Aligned) -> list[dict[str, Any]]:
    """Lanes on which work overlaps, which a stream never does: their times cannot be trusted."""
    last: dict[int, int] = {}
    times: Counter[int] = Counter()
    pairs: Counter[int] = Counter()
    for piece in made.pieces:
        until = last.get(piece.lane, 0)
        if until - piece.start > made.tolerance:
            pairs[piece.lane] += 1
            times[piece.lane] += min(until, piece.end) - piece.start
        last[piece.lane] = max(until, piece.end)
    return [
        {"lane": _lane(made, lane), "pairs": pairs[lane], "time": times[lane]}
        for lane in sorted(pairs)
    ]


def strangers(made: Aligned) -> list[dict[str, Any]]:
    """Work of no node, by lane and name, the longest first."""
    times: Counter[tuple[int, str]] = Counter()
    counts: Counter[tuple[int, str]] = Counter()
    for number, piece in enumerate(made.pieces):
        if made.found.nodes[number] < 0:
            key = piece.lane, piece.token
            times[key] += piece.end - piece.start
            counts[key] += 1
    longest = sorted(times, key=lambda one: (-times[one], one))
    return [
        {
            "lane": _lane(made, lane),
            "name": name,
            "times": counts[lane, name],
            "time": times[lane, name],
        }
        for lane, name in longest[:MOST_STRANGERS]
    ] + (
        [
            {
                "lane": "",
                "name": f"{len(longest) - MOST_STRANGERS} more",
                "times": sum(counts[one] for one in longest[MOST_STRANGERS:]),
                "time": sum(times[one] for one in longest[MOST_STRANGERS:]),
            }
        ]
        if len(longest) > MOST_STRANGERS
        else []
    )


def _lane(made: Aligned, lane: int) -> str:
    one = made.trace.lanes[lane]
    return one.name.strip() or one.stream
