"""A diff as a picture: rounds of both sides on one axis, what differs marked, and all of it in tables."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.diff.amounts import written
from plait.compiler.diff.diff import Diff
from plait.compiler.diff.side import Side
from plait.compiler.diff.text import clauses, pair_texts, verdict
from plait.compiler.diff.told import alike, row_texts
from plait.compiler.emit.foretold import group, named
from plait.compiler.emit.picture import Bar, Group, Picture, Table
from plait.compiler.timing.simulate import simulate

ROUNDS = 2
"""Of each side: one that begins, and one after another."""


def picture(found: Diff, before: Side, after: Side) -> Picture:
    """Of a side that waits in a circle, or whose costs nobody gave, there is no timeline."""
    sides = (("A", before, _gone(found)), ("B", after, _new(found)))
    groups = [made for name, side, names in sides if (made := _group(name, side, names))]
    costs = " and ".join(dict.fromkeys(filter(None, found.costs)))
    first, *others = clauses(found) or ["no difference"]
    notes = [f"{first}.", *(f"{one[:1].upper()}{one[1:]}." for one in others)]
    if groups:
        notes.append(f"Simulated with the costs of {costs}; nothing here was measured.")
    about = [
        (f"{name}_{key}", text) for name, side, _ in sides for key, text in named(side.schedule)
    ]
    return Picture(
        f"{found.before} -> {found.after}",
        tuple(groups),
        tuple(notes),
        tuple(table for table in _tables(found) if table.rows),
        tuple(about),
    )


def _group(name: str, side: Side, names: set[str]) -> Group | None:
    if side.stuck or side.profile is None:
        return None
    simulation = simulate(side.schedule, side.profile, [side.bucket] * ROUNDS)
    made = group(simulation, f"{name}: {side.title}")
    lanes = tuple(
        lane.replace(bars=tuple(_marked(bar, names) for bar in lane.bars)) for lane in made.lanes
    )
    return made.replace(lanes=lanes, path=tuple(_marked(bar, names) for bar in made.path))


def _marked(bar: Bar, names: set[str]) -> Bar:
    return bar.replace(changed=True) if bar.name in names else bar


def _gone(found: Diff) -> set[str]:
    """What the first side calls that which the second has not, or has otherwise."""
    return {row.was for row in found.rows if row.kind in ("phase", "capture")} - {""}


def _new(found: Diff) -> set[str]:
    return {row.now for row in found.rows if row.kind in ("phase", "capture")} - {""}


def _tables(found: Diff) -> Iterator[Table]:
    yield Table("Figures of a round", ("", "A", "B", "change", ""), tuple(_figures(found)))
    hazards = (
        ("new", row.now, row.after) if row.now else ("gone", row.was, row.before)
        for row in found.hazards
    )
    yield Table("Hazards", ("", "code", "says"), tuple(hazards))
    rows = (
        (row.change, kind, name, before, after, f"{count} alike" if count > 1 else "")
        for row, count in alike(found.rows)
        for kind, name, before, after in (row_texts(row),)
    )
    yield Table("What differs", ("", "of", "name", "A", "B", ""), tuple(rows))
    orders = found.orders
    pairs = (
        ("gained" if pair.gained else "lost", f"{first} before {second}", before, after)
        for pair in orders.pairs
        for first, second, before, after in (pair_texts(pair),)
    )
    shown, whole = len(orders.pairs), orders.gained + orders.lost
    more = f", {shown} of {whole:,}" if whole > shown else ""
    yield Table(f"Orders between phases{more}", ("", "order", "A", "B"), tuple(pairs))


def _figures(found: Diff) -> Iterator[tuple[str, ...]]:
    for one in found.amounts:
        sides = written(one.before, one.unit), written(one.after, one.unit)
        yield one.name, *sides, verdict(one)[0], verdict(one)[1]
