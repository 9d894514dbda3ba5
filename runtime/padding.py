"""Rows past the live ones of a round, filled with what their buffer is padded with.

Depends on the standard library alone: a schedule emitted as Python carries this file.

A round is issued before it runs, so a fill is made when it is issued, with the sizes of its round, and
given to the stream whose work it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plait.runtime.devices.job import job

Axis = tuple[int | None, int, str, int, int]
"""Of a tensor: the axis (None: its region has dropped it), where the region begins there, and of how
many rows are live the dim, and what to multiply it by and to add."""


class Fill:
    """Fills rows that only pad, if its round has any."""

    def __init__(
        self,
        name: str,
        place: str,
        parts: Sequence[tuple[Any, Any, Sequence[Axis], int]],
    ) -> None:
        self.name = name
        self.place = place
        self.parts = parts
        """Tensors, what to fill them with, where (with no axes, all of it), and of how many rounds back they
        are: rows that were nobody's then hold nothing either."""

    def __call__(self, stream: Any, lives: Sequence[Mapping[str, int]]) -> None:
        """`lives` are the sizes of this round and of those before, the newest first."""
        found = [
            (rows, value)
            for tensor, value, axes, back in self.parts
            for rows in (_past(tensor, axes, lives, back) if axes else [tensor])
        ]
        if found:
            stream.run(job(self.name, self.place, _fill, found))


def _past(
    tensor: Any, axes: Sequence[Axis], lives: Sequence[Mapping[str, int]], back: int
) -> list[Any]:
    """The parts of a tensor that no request has, or none had so many rounds back."""
    found = []
    for axis, begin, dim, by, plus in axes:
        live = lives[0][dim]
        if back < len(lives):
            live = min(live, lives[back][dim])
        first = max(by * live + plus - begin, 0)
        if axis is None:
            found += [] if first else [tensor]
        elif first < tensor.shape[axis]:
            found.append(tensor.narrow(axis, first, tensor.shape[axis] - first))
    return found


def _fill(found: list[tuple[Any, Any]]) -> None:
    for rows, value in found:
        rows.fill_(value)
