"""Gates: what a second schedule must not do against the first, written as `slower>2%`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from plait.compiler.diff.amounts import Amount, Unit, rounded_percent, written
from plait.compiler.diff.diff import Diff
from plait.dsl.record import Record
from plait.dsl.render.figures import SIZES, UNITS

AMOUNTS = {
    "slower": "round",
    "cost": "cost per token",
    "exposed": "exposed on the path",
    "memory": "memory",
    "streams": "streams",
    "records": "records",
    "waits": "waits",
}
"""Of each gate, the figure that must not grow."""
HAZARD = "hazard"
KNOWN: dict[str, tuple[Unit, int]] = {
    **{unit: ("ns", each) for unit, each in reversed(UNITS)},
    **{unit: ("B", each) for unit, each in reversed(SIZES)},
    "": ("", 1),
}
"""Units of a limit, the smallest first: what each counts, and how many of it make one."""
FORM = re.compile(
    r"([a-z]+)(?:\s*>\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(%|[A-Za-z]{0,3}))?", re.ASCII
)


class GateError(Exception):
    """A text that is no gate."""


class Gate(Record):
    text: str
    figure: str
    """Empty: it is about hazards, which are always looked at."""
    limit: Fraction = Fraction(0)
    """How much it may grow."""
    relative: bool = False
    """Whether the limit is a share of what it was."""


class Failure(Record):
    gate: str
    why: str


def read_gate(text: str) -> Gate:
    """Raises GateError."""
    found = FORM.fullmatch(text.strip())
    names = ", ".join((*AMOUNTS, HAZARD))
    if found is None:
        raise GateError(f"{text:.60}: write it as slower>2%, exposed>5us, memory>1MiB or waits")
    name, number, unit = found.groups()
    if name == HAZARD and number is None:
        return Gate(text, "")
    if name not in AMOUNTS:
        asked = (
            "takes no amount" if name == HAZARD else f"there is no gate {name}; there are {names}"
        )
        raise GateError(f"{text:.60}: {asked}")
    if number is None:
        return Gate(text, AMOUNTS[name])
    if unit == "%":
        return Gate(text, AMOUNTS[name], Fraction(number) / 100, True)
    wanted = _unit_of(name)
    known, size = KNOWN.get(unit, (None, 0))
    if known != wanted:
        units = [one for one, (of, _) in KNOWN.items() if of == wanted and one]
        raise GateError(
            f"{text:.60}: {name} is told in {', '.join([*units, '%']) if units else 'a count or %'}"
        )
    return Gate(text, AMOUNTS[name], Fraction(number) * size)


def _unit_of(name: str) -> Unit:
    if name == "memory":
        return "B"
    return "ns" if name in ("slower", "cost", "exposed") else ""


def failures(found: Diff, gates: Sequence[Gate]) -> tuple[Failure, ...]:
    """What fails: every new hazard, asked for or not, then each gate that does."""
    failed = [Failure(HAZARD, f"{row.now}: {row.after}") for row in found.new_hazards]
    if found.stuck[1] and not found.stuck[0]:
        failed.append(Failure(HAZARD, f"{found.after} waits in a circle"))
    for gate in gates:
        if gate.figure and (why := _why(found, gate)):
            failed.append(Failure(gate.text, why))
    return tuple(failed)


def _why(found: Diff, gate: Gate) -> str:
    """Why a gate fails; empty where it does not."""
    amount = found.amount(gate.figure)
    if amount is None:
        return f"nobody knows the {gate.figure} of both sides"
    limit = gate.limit * amount.before if gate.relative else gate.limit
    if amount.change <= limit:
        return ""
    return f"{amount.name}: {_growth(amount)} more"


def _growth(amount: Amount) -> str:
    share = "" if amount.share is None else f" ({rounded_percent(amount.share)})"
    return f"{written(amount.change, amount.unit)}{share}"
