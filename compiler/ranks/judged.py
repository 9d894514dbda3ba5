"""Ranks judged once for all the rules about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from plait.compiler.order import Order
from plait.compiler.ranks.behaviours import Behaviours, behaviours
from plait.compiler.ranks.matching import Mismatch, mismatches
from plait.compiler.ranks.progress import Ring, ring


@dataclass(frozen=True, eq=False)
class Judged:
    """What is wrong between ranks that take these routes."""

    orders: list[Order]

    @cached_property
    def behaviours(self) -> Behaviours | None:
        return behaviours(order.round for order in self.orders)

    @cached_property
    def mismatches(self) -> list[Mismatch]:
        return list(mismatches(self.behaviours)) if self.behaviours else []

    @cached_property
    def ring(self) -> Ring | None:
        """Only where all ranks exchange the same: else what meets what is not known."""
        found = self.behaviours
        if found is None or len(found.communicators) < 2 or self.mismatches:
            return None
        return ring(found, self.orders)


def judged(orders: list[Order]) -> Judged:
    """Kept with the first round, as a property of it would be: every rule asks about the same list."""
    kept = vars(orders[0].round)
    if "judged" not in kept or kept["judged"].orders is not orders:
        kept["judged"] = Judged(orders)
    return kept["judged"]
