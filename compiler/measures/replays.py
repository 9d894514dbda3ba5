"""Rows that graphs replay, and how many of them are anyone's: a graph is as wide as its bucket."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from plait.compiler.round import Round
from plait.compiler.rows.extent import Extent
from plait.dsl.record import Record


class Rows(Record):
    """Of a graph at a bucket, or of a phase in it that has a count of its own."""

    name: str
    live: int | None
    """Rows of the sizes that are live; None where their number is not a line in one dim."""
    rows: int
    """That are replayed."""
    each: tuple[int, str] | None
    """How many for each one of a dim, where that is all there is to it."""

    @property
    def padded(self) -> int | None:
        return None if self.live is None else self.rows - self.live


class Replay(Rows):
    """One graph of a round at a bucket."""

    inner: tuple[Rows, ...] = ()
    """Its phases that have other rows than it has, in the order of the text."""


def replays(round: Round, live: Mapping[str, int]) -> list[Replay]:
    """The graphs of a round, with so much live of each of its dims; of a dim not named, all of it."""
    return [
        Replay(
            one.name,
            live_rows(one.extent, one.rows, live),
            one.rows,
            _each(one.extent),
            tuple(
                Rows(
                    phase.name,
                    live_rows(phase.extent, phase.rows, live),
                    phase.rows,
                    _each(phase.extent),
                )
                for phase in round.phases
                if phase.capture == one.number and phase.rows not in (None, one.rows)
            ),
        )
        for one in round.captures
    ]


def _each(extent: Extent | None) -> tuple[int, str] | None:
    line = None if extent is None else extent.line
    return None if line is None or line[2] else (line[1], line[0])


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
