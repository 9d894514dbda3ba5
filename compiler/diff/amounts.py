"""What a round takes on each side, as figures: which way each went, by how much, and what to think of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from plait.compiler.diff.side import Side
from plait.compiler.measures.measures import Measures
from plait.dsl.record import Record
from plait.dsl.render.figures import in_words, shown

Unit = Literal["ns", "B", ""]
UNITS: tuple[Unit, ...] = ("ns", "B", "")
Verdict = Literal["better", "worse", "other", "same"]


class Amount(Record):
    name: str
    unit: Unit
    before: Fraction
    after: Fraction
    polarity: Literal["less", "none"] = "less"
    """Whether less of it is better, or neither is."""

    @property
    def change(self) -> Fraction:
        return self.after - self.before

    @property
    def share(self) -> Fraction | None:
        """Of what it was; None: it was nothing."""
        return self.change / self.before if self.before else None

    @property
    def verdict(self) -> Verdict:
        if not self.change:
            return "same"
        if self.polarity == "none":
            return "other"
        return "better" if self.change < 0 else "worse"


def amounts(before: Side, after: Side, accepted: Fraction | None) -> tuple[Amount, ...]:
    """Every figure that both sides have: times, memory, then counts, and of each what changes most first."""
    if before.measures is None or after.measures is None:
        return ()
    pairs = zip(
        _figures(before.measures, accepted), _figures(after.measures, accepted), strict=True
    )
    found = [
        Amount(name, unit, Fraction(one), Fraction(other), polarity)
        for (name, unit, one, polarity), (_, _, other, _) in pairs
    ]
    if before.padded is not None and after.padded is not None:
        padded = Fraction(before.padded), Fraction(after.padded)
        found.append(Amount("rows of padding", "", *padded))
    return tuple(sorted(found, key=lambda one: (UNITS.index(one.unit), -abs(one.change))))


Figure = tuple[str, Unit, int | Fraction, Literal["less", "none"]]


def _figures(of: Measures, accepted: Fraction | None) -> Iterator[Figure]:
    yield "round", "ns", of.round, "less"
    if accepted is not None:
        yield "cost per token", "ns", of.per_token(accepted), "less"
    yield "communication", "ns", of.communication, "less"
    yield "exposed, no independent work beside", "ns", of.exposed.beside, "less"
    yield "exposed device-wide", "ns", of.exposed.device, "less"
    yield "exposed on the path", "ns", of.exposed.path, "less"
    yield "memory", "B", of.memory, "less"
    yield "streams", "", of.streams, "less"
    yield "records", "", of.records, "less"
    yield "waits", "", of.waits, "less"
    yield "replays", "", of.replays, "none"
    yield "rows replayed", "", of.rows, "less"


def written(value: Fraction, unit: Unit) -> str:
    """A figure with its unit, its sign if it is less than nothing."""
    if value < 0:
        return f"-{written(-value, unit)}"
    if unit == "ns":
        return shown(round(value))
    if unit == "":
        return f"{round(value):,}"
    return in_words(round(value))


def rounded_percent(share: Fraction) -> str:
    """Without its sign: `8 %`, `0.3 %`."""
    of_hundred = abs(100 * share)
    return f"{float(of_hundred):.2g} %" if of_hundred < 10 else f"{round(of_hundred):,} %"
