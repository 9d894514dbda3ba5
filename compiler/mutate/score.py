"""What becomes of every mutant of a spec: refused, sound all the same, or wrong and let through."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Literal

from plait.compiler.compile import Asked, every_route
from plait.compiler.mutate.edits import Mutant
from plait.compiler.mutate.holding import Unfit, unfit
from plait.compiler.mutate.meeting import Unmatched, unmatched
from plait.compiler.mutate.needed import Unordered, unordered
from plait.compiler.mutate.spoiled import spoiled
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.record import Record
from plait.dsl.span import Source

Verdict = Literal["refused", "passes", "survives", "refused without need"]
ORDERS = ("PL201", "PL203")
"""Rules that say nothing but that an order is missing."""
RANKS = ("PL451", "PL452", "PL453", "PL454")
"""Rules that say nothing but that ranks do not meet."""
FITS = ("PL404", "PL851", "PL852")
"""Rules that say nothing but that something does not fit, or is used before its await."""
SPOILED = ("PL206", "PL303")
"""Rules that say nothing but that a replay overwrites what is still read."""
JUDGED = frozenset((*ORDERS, *RANKS, *FITS, *SPOILED))


class Scored(Record):
    what: str
    line: int
    verdict: Verdict
    code: str = ""
    """Of the first finding that refuses it, and its line."""
    at: int = 0
    missing: str = ""
    """What is needed and not there; of one refused without need nothing."""

    @property
    def wrong(self) -> bool:
        return self.verdict in ("survives", "refused without need")


def scored(mutant: Mutant, asked: Asked) -> Scored:
    """Raises TargetError."""
    judged_so = judged(mutant.source, asked)
    missing = str(judged_so.missing or "")
    if not judged_so.errors:
        return Scored(
            mutant.what, mutant.line, "survives" if missing else "passes", missing=missing
        )
    codes = {one.code for one in judged_so.errors}
    first = next((one for one in judged_so.errors if one.code not in JUDGED), judged_so.errors[0])
    needless = not missing and codes <= JUDGED
    verdict: Verdict = "refused without need" if needless else "refused"
    return Scored(mutant.what, mutant.line, verdict, first.code, first.span.line, missing)


class Judged(Record):
    errors: tuple[Diagnostic, ...]
    missing: Unordered | Unmatched | Unfit | None
    """Something that the spec needs and has not, if there is anything."""


def judged(source: Source, asked: Asked) -> Judged:
    errors: list[Diagnostic] = []
    missing: Unordered | Unmatched | Unfit | None = None
    try:
        for orders, found in every_route(source, asked):
            errors += found
            rounds = [one.round for one in orders]
            lists = chain(unordered(rounds), unmatched(rounds), unfit(rounds), spoiled(rounds))
            missing = missing or next(lists, None)
    except SpecError as error:
        errors += error.diagnostics
    return Judged(tuple(errors), missing)


def chosen(mutants: Iterator[Mutant], most: int) -> tuple[list[Mutant], int]:
    """So many of them, from all of the text, and how many there are."""
    every = list(mutants)
    if len(every) <= most:
        return every, len(every)
    return [every[place * len(every) // most] for place in range(most)], len(every)
