"""A communicator as one rank uses it: what the rank has come to, in order, and what is to come."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable
from typing import NamedTuple

KEPT = 64
"""Of the newest exchanges of a communicator."""


class Exchange(NamedTuple):
    """A vote, a phase's collective, or a graph with collectives, in one round."""

    item: Hashable
    """By which the round and what runs in it know it as the same."""
    round: int | None
    """None: before the rounds, or between them."""
    what: str
    """`nextn[1]` (all_reduce over tp)."""
    place: str

    @property
    def words(self) -> str:
        return self.what if self.round is None else f"{self.what} of round {self.round}"


class Lane:
    """The host issues exchanges, and a stream comes to them, in that order."""

    def __init__(self, name: str, ranks: list[int]):
        self.name = name
        self.ranks = ranks
        self.count = 0
        """Exchanges that this rank has come to."""
        self._seen: deque[Exchange] = deque(maxlen=KEPT)
        self._issued: deque[Exchange] = deque()
        self._lock = threading.Lock()

    def issue(self, one: Exchange) -> None:
        """It will come to this one after those before."""
        with self._lock:
            self._issued.append(one)

    def arrive(self, otherwise: Exchange) -> Exchange:
        """The rank has come to an item. One that no round has issued is what `otherwise` says.

        What was issued before it, and did not say when it began, is over by now.
        """
        with self._lock:
            one = otherwise
            if any(entry.item == one.item for entry in self._issued):
                while (one := self._issued.popleft()).item != otherwise.item:
                    self._note(one)
            self._note(one)
            return one

    def flush(self) -> None:
        """All that is issued counts as begun: on a device where nobody can see more."""
        with self._lock:
            while self._issued:
                self._note(self._issued.popleft())

    def log(self) -> list[str]:
        """The newest that it came to, each with its number and in words."""
        with self._lock:
            first = self.count - len(self._seen) + 1
            return [f"{self.name} {n}: {one.words}" for n, one in enumerate(self._seen, first)]

    def _note(self, one: Exchange) -> None:
        self._seen.append(one)
        self.count += 1
