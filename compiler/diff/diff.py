"""Two schedules compared: all that differs, as data that prints itself."""

from __future__ import annotations

from fractions import Fraction

from plait.compiler.diff.amounts import Amount, amounts
from plait.compiler.diff.names import matched
from plait.compiler.diff.orders import Orders, orders
from plait.compiler.diff.row import Row
from plait.compiler.diff.rows import rows
from plait.compiler.diff.side import Side, hazards, side_of
from plait.dsl.record import Record
from plait.runtime.schedule import Schedule

NO_TIME = frozenset({"target", "setting", "same", "pool", "buffer", "apart"})
"""Kinds of rows that do not bear on what a round takes."""


class Diff(Record):
    """False where nothing differs."""

    before: str
    after: str
    at: tuple[str, str]
    """The bucket of each side that orders and amounts are of."""
    costs: tuple[str, str]
    """Names of the profiles that times are from; empty without."""
    rows: tuple[Row, ...]
    orders: Orders
    hazards: tuple[Row, ...]
    """New ones, then those that are gone."""
    stuck: tuple[bool, bool]
    """Which side waits in a circle, and so takes no time that could be told."""
    amounts: tuple[Amount, ...]
    """By impact, and of one unit those that are the same last; none where times were not asked for."""

    def __bool__(self) -> bool:
        changed = any(one.change for one in self.amounts)
        counted = self.orders.gained + self.orders.lost
        return bool(self.rows or counted or self.hazards or changed)

    @property
    def new_hazards(self) -> tuple[Row, ...]:
        return tuple(row for row in self.hazards if row.change == "added")

    def amount(self, name: str) -> Amount | None:
        return next((one for one in self.amounts if one.name == name), None)

    @property
    def one_edge(self) -> Row | None:
        """The edge that alone decides what a round takes otherwise, where it is one edge that does."""
        deciding = [row for row in self.rows if _decides(row)]
        alike = self.costs[0] == self.costs[1] and self.at[0] == self.at[1]
        return deciding[0] if alike and [row.kind for row in deciding] == ["edge"] else None

    def __str__(self) -> str:
        from plait.compiler.diff.text import text

        return text(self)


def diff(before: Side | Schedule, after: Side | Schedule, accepted: Fraction | None = None) -> Diff:
    """What differs, in a fixed order: equal sides give nothing, swapped ones the same mirrored."""
    first, second = (one if isinstance(one, Side) else side_of(one) for one in (before, after))
    names = matched(first.schedule, second.schedule)
    found = rows(first, second, names)
    ordered = Orders((), 0, 0)
    if found or first.bucket != second.bucket:
        ordered = orders((first.schedule, first.at), (second.schedule, second.at), names)
    return Diff(
        first.title,
        second.title,
        (first.at.name, second.at.name),
        (first.costs, second.costs),
        tuple(found),
        ordered,
        hazards(first, second),
        (first.stuck, second.stuck),
        amounts(first, second, accepted),
    )


def _decides(row: Row) -> bool:
    """Whether a round may take longer or shorter by it."""
    if row.kind in NO_TIME or row.change == "renamed":
        return False
    return row.kind != "phase" or row.parts != ("accesses",)
