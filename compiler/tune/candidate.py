"""A text on the way to a better one: how it was come by, what bounds it, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from plait.compiler.tune.bounds import Bound
from plait.compiler.tune.meaning import Meaning
from plait.compiler.tune.move import Move
from plait.compiler.tune.price import Price
from plait.dsl.record import Record
from plait.dsl.span import Source


class Step(Record):
    """A move, and the edges that came and went with it."""

    move: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    price: Price | None = None
    """Of the text after it."""

    def __str__(self) -> str:
        parts = [self.move]
        if self.added:
            parts.append("with " + " and ".join(f"`{edge}`" for edge in self.added))
        return ", ".join([*parts, *self.dropped])


@dataclass(frozen=True)
class Candidate:
    source: Source
    steps: tuple[Step, ...]
    bound: Bound
    """Of all schedules of the same phases at the same buckets."""
    least: Fraction
    """Nanoseconds of a round that this one cannot beat."""
    meanings: tuple[dict[str, Meaning], ...]
    """What it computes on every route: as it was asked for, then in every other variant."""
    noted: frozenset[str] = frozenset()
    """Edges that no data needs and that were there at the start."""
    spare: tuple[Move, ...] = field(default=(), repr=False)
    """Those left out, or narrowed."""
    price: Price | None = None
    """None: its bound says that it is no better than what there is."""


def price_of(one: Candidate) -> Price:
    """Of one that surely has a price: the start, the best, any of the front."""
    assert one.price is not None
    return one.price
