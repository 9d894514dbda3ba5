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


def blame(board: Board, lane: Lane, waited: float | None) -> Blame | None:
    """Who did not come to what this rank came to last on a lane; None: nobody is known to be missing.

    `waited`: the seconds that ranks wait, if it has waited for as long; else others may be on their way.
    """
    others = [rank for rank in lane.ranks if rank != board.rank]
    first = {rank: board.read(rank) for rank in others}
    until = time.monotonic() + BEATS * board.beat
    while True:
        now = {rank: board.read(rank) for rank in others}
        if found := _told(now, board.rank):
            return found
        silent = [rank for rank in others if _beats(now[rank]) == _beats(first[rank])]
        if time.monotonic() > until or not (silent or waited is None):
            break
        time.sleep(board.beat / 4)
    if board.lost:
        return Blame((), "the store cannot be reached, so nothing is known of the other ranks")
    absent = [rank for rank in others if waited and _count(now[rank], lane) < lane.count]
    late = sorted({*silent, *absent})
    if not late:
        return None
    why = (_why(rank, now[rank], None if rank in silent else waited) for rank in late)
    return Blame(tuple(late), "; ".join(why))


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


def _why(rank: int, said: dict[str, Any] | None, waited: float | None) -> str:
    last = said["last"] if said else "nothing"
    if waited is None:
        return f"rank {rank} did not come, and is not heard of since {last}"
    return f"rank {rank} did not come within {waited:g} s; it came last to {last}"


def _beats(said: dict[str, Any] | None) -> int:
    return said["beats"] if said else -1


def _count(said: dict[str, Any] | None, lane: Lane) -> int:
    return said["counts"].get(lane.name, 0) if said else 0
