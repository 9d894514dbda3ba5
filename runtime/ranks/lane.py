"""A communicator as one rank uses it: what the rank has come to, in order, and what is to come."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, NamedTuple

KEPT = 64
"""Of the newest exchanges of a communicator."""


class Exchange(NamedTuple):
    """A vote, a phase's collective, or a graph with collectives, in one round."""

    item: Hashable
    """By which the round and what runs in it know it as the same."""
    round: int
    what: str
    """`nextn[1]` (all_reduce over tp)."""
    place: str

    @property
    def words(self) -> str:
        return f"{self.what} of round {self.round}"


class Lane:
    """Used by one thread at a time, and looked at by others: order within it is the schedule's."""

    def __init__(self, name: str, ranks: list[int]):
        self.name = name
        self.ranks = ranks
        self.count = 0
        """Exchanges that this rank has come to."""
        self.within: Exchange | None = None
        """The exchange in which it waits for others."""
        self.seen: deque[Exchange] = deque(maxlen=KEPT)
        self._issued: deque[Exchange] = deque()

    def issue(self, one: Exchange) -> None:
        """It will come to this one after those before."""
        self._issued.append(one)

    def arrive(self, item: Hashable, otherwise: Exchange) -> Exchange:
        """The rank has come to an item. One that no round has issued is what `otherwise` says.

        What was issued before it, and did not say when it began, is over by now.
        """
        issued = self._issued
        one = otherwise
        if any(entry.item == item for entry in issued):
            while (one := issued.popleft()).item != item:
                self._note(one)
        self._note(one)
        self.within = one
        return one

    def leave(self) -> None:
        self.within = None

    def flush(self) -> None:
        """All that is issued counts as begun: on a device where nobody can see more."""
        while self._issued:
            self._note(self._issued.popleft())

    def said(self) -> list[Any]:
        """For others: how many it has come to, and the newest in words."""
        return [self.count, self.seen[-1].words if self.seen else "nothing"]

    def _note(self, one: Exchange) -> None:
        self.seen.append(one)
        self.count += 1
