"""Words in memory that streams write and wait for: steps in an order in which they can happen.

A graph may wait for a word that is written by what is issued below it. Its queue then stands still in the
log's order, and so does whoever waits for what that queue has yet to do.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from oracles.sanitizer import Conflict
from oracles.trace import Queue, Record, Run, Step, Wait


class Filled(NamedTuple):
    """A word is written: that record is whose wait comes next."""

    queue: Queue
    word: str
    first: bool
    """Before the first round, when words are written that no graph waits for yet."""


class Taken(NamedTuple):
    queue: Queue
    word: str


Issued: TypeAlias = "Run | Record | Wait | Filled | Taken"


class Words:
    def __init__(self) -> None:
        self.lost: list[Conflict] = []
        self.filled: set[str] = set()
        self.held: dict[Queue, deque[Issued]] = {}
        self.unmade: Counter[object] = Counter()
        """Of events, the records that are held."""

    def in_order(self, steps: Iterable[Issued]) -> Iterator[Step]:
        for step in steps:
            if step.queue in self.held or not self.can(step):
                self.held.setdefault(step.queue, deque()).append(step)
                if isinstance(step, Record):
                    self.unmade[step.event] += 1
            else:
                yield from self.do(step)
        for queue, left in self.held.items():
            self.lost.append(Conflict(str(left[0]), f"holds up {queue} for ever"))

    def can(self, step: Issued) -> bool:
        match step:
            case Taken(word=word):
                return word in self.filled
            case Wait(event=event):
                return not self.unmade[event]
        return True

    def do(self, step: Issued) -> Iterator[Step]:
        match step:
            case Filled(queue, word, first):
                if word in self.filled and not first:
                    self.lost.append(Conflict(word, "is written again before it was waited for"))
                self.filled.add(word)
                yield Record(queue, word)
                yield from self.released()
            case Taken(queue, word):
                self.filled.discard(word)
                yield Wait(queue, word)
            case Record():
                yield step
                yield from self.released()
            case _:
                yield step

    def released(self) -> Iterator[Step]:
        for queue, steps in list(self.held.items()):
            while steps and self.can(steps[0]):
                step = steps.popleft()
                if isinstance(step, Record):
                    self.unmade[step.event] -= 1
                yield from self.do(step)
            if not steps:
                self.held.pop(queue, None)
