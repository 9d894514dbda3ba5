"""How many rows each request verifies next, where verify is ragged: by how sure its last candidates were.

Requests are known by their rows, which are dense, and keep what is known of them when they move. What a
round finds out belongs to those that were in its rows, of which some may have left by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 0.2
"""Nearer to no saving than to no loss: a row more of a tier costs little, and a token less much."""


@dataclass(eq=False)
class _Request:
    sure: Sequence[float] | None = None
    """Of its last candidates, that each and those before it are the target's; None: it is new."""


class Lengths:
    """`least`: what a candidate of the round before was sure of, for another to be verified."""

    def __init__(self, least: float = LEAST):
        self.least = least
        self._rows: dict[int, _Request] = {}
        self._newest: tuple[object, tuple[_Request, ...]] = None, ()
        """Whose round was begun last, and who was in it."""
        self._before = self._newest

    def enter(self, row: int) -> None:
        self._rows[row] = _Request()

    def move(self, source: int, target: int) -> None:
        self._rows[target] = self._rows.pop(source)

    def leave(self, row: int) -> None:
        del self._rows[row]

    def of(self, live: int, most: int) -> list[int]:
        """Of so many requests; of a new one `most`, and never more."""
        return [self._length(self._rows[row], most) for row in range(live)]

    def begin(self, whose: object, live: int) -> None:
        """A round of so many requests begins. `whose`: rounds of one schedule follow each other."""
        self._before = self._newest
        self._newest = whose, tuple(self._rows[row] for row in range(live))

    def learn(self, whose: object, sure: Sequence[Sequence[float]]) -> None:
        """By row what the round before the newest found out, if it was one of the same schedule."""
        schedule, requests = self._before
        if schedule is whose:
            for request, row in zip(requests, sure, strict=False):
                request.sure = row

    def _length(self, request: _Request, most: int) -> int:
        if request.sure is None:
            return most
        return min(1 + sum(one >= self.least for one in request.sure), most)
