"""What becomes of every mutant of a spec: refused, sound all the same, or wrong and let through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from plait.compiler.compile import Asked, every_route
from plait.compiler.mutate.edits import Mutant
from plait.compiler.mutate.needed import Unordered, unordered
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.record import Record
from plait.dsl.span import Source

Verdict = Literal["refused", "passes", "survives", "refused without need"]
ORDERS = ("PL201", "PL203")
"""Rules that say nothing but that an order is missing."""


class Scored(Record):
    what: str
    line: int
    verdict: Verdict
    code: str = ""
    """Of the first finding that refuses it, and its line."""
    at: int = 0
    order: str = ""
    """The needed order that is not there, or of one refused without need nothing."""

    @property
    def wrong(self) -> bool:
        return self.verdict in ("survives", "refused without need")


def scored(mutant: Mutant, asked: Asked) -> Scored:
    """Raises TargetError."""
    errors, missing = judged(mutant.source, asked)
    order = str(missing) if missing else ""
    if not errors:
        return Scored(mutant.what, mutant.line, "survives" if missing else "passes", order=order)
    first = next((one for one in errors if one.code not in ORDERS), errors[0])
    needless = missing is None and first.code in ORDERS
    verdict: Verdict = "refused without need" if needless else "refused"
    return Scored(mutant.what, mutant.line, verdict, first.code, first.span.line, order)


def judged(source: Source, asked: Asked) -> tuple[list[Diagnostic], Unordered | None]:
    """The errors in a spec, and an order that it needs and has not, if there is one."""
    errors: list[Diagnostic] = []
    missing: Unordered | None = None
    try:
        for orders, found in every_route(source, asked):
            errors += found
            rounds = [one.round for one in orders]
            missing = missing or next(unordered(rounds), None)
    except SpecError as error:
        errors += error.diagnostics
    return errors, missing


def chosen(mutants: Iterator[Mutant], most: int) -> tuple[list[Mutant], int]:
    """So many of them, from all of the text, and how many there are."""
    every = list(mutants)
    if len(every) <= most:
        return every, len(every)
    return [every[place * len(every) // most] for place in range(most)], len(every)
