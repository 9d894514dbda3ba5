"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round, in a sound pipeline, or in what it takes from outside. Adding one means
adding it to `MODULES`, `ACROSS`, `NOTES` here, to a family in `families.py`,
or to `OUTSIDE` in `outside.py`.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from plait.compiler.order import Order
from plait.compiler.rules import (
    carried_shape,
    host_in_capture,
    narrower_edge,
    never_comes_back,
    overlap,
    prev_not_kept,
    race,
    read_before_write,
    switch,
    too_many_streams,
    unneeded_edge,
)
from plait.compiler.rules.families import FAMILIES, modules
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.codes import CODES
from plait.dsl.diagnostic import Diagnostic

OF_ORDER = (
    race,
    overlap,
    prev_not_kept,
    never_comes_back,
    host_in_capture,
)
"""Rules that find the same in all rounds that meet alike, whatever the sizes."""
OF_SIZES = (read_before_write,)
"""Rules that look at the sizes of a bucket, too."""
MODULES = (*OF_ORDER, *OF_SIZES)
"""Rules that judge a round by itself."""
ACROSS = (carried_shape, switch)
"""Rules that judge the routes of a round together, where each is right by itself."""
NOTES = (unneeded_edge, narrower_edge)
"""Rules that judge a sound pipeline as a whole, by the order of every variant and route."""


def notes(orders: list[Order], target: Target, written: bool) -> list[Diagnostic]:
    """What may be said of a sound pipeline; of what is written only where that is all there is."""
    looking: list[ModuleType] = []
    for family in FAMILIES:
        names = (*family.notes, *(family.written if written else ()))
        if names and any(family.concerns(order.round) for order in orders):
            looking += modules(names)
    found = [note for module in NOTES for note in module.check(orders, target)]
    found += [note for module in looking for note in module.check(orders)]
    # What is to go need not be narrower, and what runs beside a fork is seen once it is as it should be.
    for mended, less in (
        (unneeded_edge.RULE, (narrower_edge.RULE.code, "PL903")),
        (narrower_edge.RULE, ("PL903",)),
    ):
        spans = {note.span for note in found if note.code == mended.code}
        found = [note for note in found if note.code not in less or note.span not in spans]
    return found


if TYPE_CHECKING:
    RULES: tuple[Rule, ...]


def __getattr__(name: str) -> tuple[Rule, ...]:
    # Late, so that a round on a target without runtimes loads no rule about them.
    if name == "RULES":
        from plait.compiler.rules.outside import OUTSIDE

        late = modules(name for one in FAMILIES for name in one.names)
        found = (*MODULES, *ACROSS, *late, *OUTSIDE, too_many_streams, *NOTES)
        return tuple(module.RULE for module in found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def meanings() -> dict[str, tuple[str, str]]:
    """Every code there is, with what it says in a line, and why."""
    found = {code: (meaning, "") for code, meaning in CODES.items()}
    found |= {rule.code: (rule.title, rule.why) for rule in __getattr__("RULES")}
    return dict(sorted(found.items()))
