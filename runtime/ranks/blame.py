"""Who is to blame when ranks do not come together, from what all have said of themselves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plait.runtime.ranks.board import Board
from plait.runtime.ranks.lane import Lane

BEATS = 5
"""A rank that has not said anything for as many beats is not there any more."""


@dataclass(frozen=True)
class Blame:
    late: tuple[int, ...]
    why: str


def blame(board: Board, lane: Lane, in_time: bool) -> Blame | None:
    """Who did not come to what this rank came to last on a lane; None: nobody is known to be missing.

    `in_time`: whether it has waited for less than ranks wait, so that others may be on their way.
    """
    others = [rank for rank in lane.ranks if rank != board.rank]
    first = {rank: board.read(rank) for rank in others}
    until = time.monotonic() + BEATS * board.beat
    while True:
        now = {rank: board.read(rank) for rank in others}
        if found := _told(now, board.rank):
            return found
        silent = [rank for rank in others if _beats(now[rank]) == _beats(first[rank])]
        if time.monotonic() > until or not (silent or in_time):
            break
        time.sleep(board.beat / 4)
    if board.lost:
        return Blame((), "the store cannot be reached, so nothing is known of the other ranks")
    absent = [] if in_time else [rank for rank in others if _count(now[rank], lane) < lane.count]
    late = sorted({*silent, *absent})
    if not late:
        return None
    return Blame(
        tuple(late), "; ".join(_why(rank, now[rank], lane, rank in silent) for rank in late)
    )


def _told(found: Mapping[int, dict[str, Any] | None], own: int) -> Blame | None:
    """What a rank that has given up, or has ended, says itself."""
    for rank, said in found.items():
        if said is None:
            continue
        if failure := said.get("failed"):
            message, why, late = failure
            if own in late:
                return Blame((own,), f"this rank came too late: rank {rank} has given up on it")
            if late:
                return Blame(tuple(late), why)
            return Blame((rank,), f"rank {rank} has failed: {message}")
    for rank, said in found.items():
        if said is not None and said.get("ended"):
            return Blame((rank,), f"rank {rank} has closed its runner")
    return None


def _why(rank: int, said: dict[str, Any] | None, lane: Lane, silent: bool) -> str:
    last = said["lanes"].get(lane.name, [0, "nothing"])[1] if said else "nothing"
    heard = "did not come, and nothing is heard of it" if silent else "did not come in time"
    return f"rank {rank} {heard}; it came last to {last}"


def _beats(said: dict[str, Any] | None) -> int:
    return said["beats"] if said else -1


def _count(said: dict[str, Any] | None, lane: Lane) -> int:
    return said["lanes"].get(lane.name, [0])[0] if said else 0
