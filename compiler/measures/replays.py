"""Rows that graphs replay, and how many of them are anyone's: a graph is as wide as its bucket."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from plait.compiler.round import Round
from plait.compiler.rows.extent import Extent
from plait.dsl.record import Record


class Replay(Record):
    """One graph of a round at a bucket."""

    capture: str
    live: int | None
    """Rows of the sizes that are live; None where their number is not a line in one dim."""
    rows: int
    """That are replayed."""

    @property
    def padded(self) -> int | None:
        return None if self.live is None else self.rows - self.live


def replays(round: Round, live: Mapping[str, int]) -> list[Replay]:
    """The graphs of a round, with so much live of each of its dims; of a dim not named, all of it."""
    return [
        Replay(one.name, live_rows(one.extent, one.rows, live), one.rows) for one in round.captures
    ]


def live_rows(extent: Extent | None, rows: int, live: Mapping[str, int]) -> int | None:
    """Of a count of rows at a bucket, those at sizes that are padded to it."""
    if extent is None or not extent.dims & live.keys():
        return rows
    if extent.line is None:
        return None
    dim, times, more = extent.line
    return min(live[dim] * times + more, rows)


def share_live(round: Round, live: Mapping[str, int]) -> Fraction:
    """Of the sizes of a bucket, what is live: by how much rows are fewer where they are in proportion."""
    found = Fraction(1)
    for dim, size in round.sizes.items():
        if size:
            found *= Fraction(min(live.get(dim, size), size), size)
    return found
