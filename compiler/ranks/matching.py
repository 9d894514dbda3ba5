"""Whether the ranks of a communicator exchange the same, in the same order.

Two behaviours may meet in a communicator when they have one key: equal answers to all that its ranks
agree on. Then their sequences have to be equal. Behaviours are all combinations of answers, so where
two differ, some two differ that are equal in all answers but one: that one is named. The work is
behaviours x (length + answers), by hashing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from plait.compiler.ranks.behaviours import Behaviour, Behaviours, differences
from plait.compiler.ranks.sequences import Communicator, Exchange, communicator_name, sequence
from plait.compiler.round import Choice


@dataclass(frozen=True, eq=False)
class Mismatch:
    """Two ranks of one communicator whose sequences differ."""

    behaviours: Behaviours
    communicator: Communicator
    one: Behaviour
    other: Behaviour
    cause: Choice | None
    """What alone makes them differ; None: being idle."""

    @property
    def idle(self) -> bool:
        return self.cause is None

    @property
    def busy(self) -> Behaviour:
        """One of the two that is not idle, if they differ in that."""
        return self.other if self.one.idle else self.one

    @property
    def sequences(self) -> tuple[list[Exchange], list[Exchange]]:
        of = self.communicator
        one, other = self.one, self.other
        return sequence(one.round, of, one.idle), sequence(other.round, of, other.idle)

    @property
    def first(self) -> tuple[int, Exchange | None, Exchange | None]:
        """The first place where they differ, from 0, and what each has there."""
        pairs = enumerate(zip_longest(*self.sequences))
        return next((place, one, other) for place, (one, other) in pairs if one != other)

    def witness(self) -> tuple[str, ...]:
        """Both ranks' sequences, side by side, around the first difference."""
        at, _, _ = self.first
        name = communicator_name(self.one.round, self.communicator)
        heads = differences(self.behaviours, self.one, self.other)
        rows = [(name, *(f"a rank {'with' if ' = ' in one else 'that is'} {one}" for one in heads))]
        columns = self.sequences
        for place in range(max(at - 2, 0), min(at + 3, max(map(len, columns)))):
            shown = [column[place] if place < len(column) else None for column in columns]
            rows.append((str(place + 1), *_texts(*shown)))
        width = [max(len(row[n]) for row in rows) for n in (0, 1)]
        lines = [f"{a.ljust(width[0])}  {b.ljust(width[1])}  {c}" for a, b, c in rows]
        mark = 1 + at - max(at - 2, 0)
        return tuple(f"{line}  <- differ" if n == mark else line for n, line in enumerate(lines))


def _texts(one: Exchange | None, other: Exchange | None) -> tuple[str, str]:
    """With their sizes where nothing else tells them apart."""
    texts = ["nothing more" if side is None else side.text for side in (one, other)]
    if one != other and texts[0] == texts[1] and one is not None and other is not None:
        texts = [
            f"{side.text}, {side.sizes}" if one.sizes != other.sizes else f"{side.text}, {what}"
            for side, what in ((one, _types(one)), (other, _types(other)))
        ]
    return texts[0], texts[1]


def _types(one: Exchange) -> str:
    return " ".join(one.dtypes)


def mismatches(found: Behaviours) -> Iterator[Mismatch]:
    """One for every communicator and cause."""
    busy = [one for one in found.all if not one.idle]
    idle = len(found.choices)
    for of in found.communicators:
        own = [place for place, agreed in enumerate(found.agreed(of)) if not agreed]
        for place in own:
            # What only idle ranks do differently comes of what they leave out.
            compared = busy if place != idle and idle in own else found.all
            if pair := _differ(compared, of, place):
                cause = None if place == idle else found.choices[place]
                yield Mismatch(found, of, *pair, cause)


def _differ(
    compared: list[Behaviour], of: Communicator, free: int
) -> tuple[Behaviour, Behaviour] | None:
    """The first two behaviours of unequal sequence that are equal in all answers but that."""
    first: dict[tuple[Hashable, ...], Behaviour] = {}
    for one in compared:
        other = first.setdefault((*one.answers[:free], *one.answers[free + 1 :]), one)
        if other.signatures.get(of) != one.signatures.get(of):
            return other, one
    return None
