"""A diff for a terminal: a sentence, the figures, hazards, rows, and orders gained and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from plait.compiler.diff.amounts import Amount, percent, written
from plait.compiler.diff.diff import Diff
from plait.compiler.diff.orders import Pair
from plait.compiler.diff.row import Row
from plait.compiler.views.counted import counted
from plait.dsl.render.printable import printable

MOST_ORDERS = 12
MARKS = {"added": "+", "removed": "-", "renamed": "=", "moved": ">", "changed": "~"}
NOUNS = {"issue": "issue order", "vote": "vote"}
"""Of kinds whose word alone would not say what they are."""


def text(found: Diff) -> str:
    if not found:
        return f"{_titles(found)}: no difference{_both_take(found)}\n"
    parts = [[f"{_titles(found)}{_at(found)}", summary(found)]]
    parts += [list(part(found)) for part in (_hazards, _amounts, _rows, _orders)]
    return "\n\n".join("\n".join(map(printable, lines)) for lines in parts if lines) + "\n"


def _titles(found: Diff) -> str:
    return f"{found.before} -> {found.after}"


def _at(found: Diff) -> str:
    before, after = found.at
    if before == after:
        return "" if after == "any" else f" at {after}"
    return f", {before} against {after}"


def _both_take(found: Diff) -> str:
    amount = found.amount("round")
    if amount is None:
        return ""
    return f"; both take {written(amount.after, 'ns')} a round with the costs of {found.costs[0]}"


def summary(found: Diff) -> str:
    """One sentence: what the second side is against the first."""
    said = [_pace(found), *_counts(found)]
    new = len(found.new_hazards)
    if new:
        said.append(counted(new, "new hazard"))
    if gone := len(found.hazards) - new:
        said.append(f"{counted(gone, 'hazard')} gone")
    return "; ".join(filter(None, said)) + "."


def _pace(found: Diff) -> str:
    for title, stuck in zip((found.before, found.after), found.stuck, strict=True):
        if stuck:
            return f"{title} waits in a circle, and never ends a round"
    amount = found.amount("round")
    if amount is None:
        return ""
    if not amount.change:
        return f"{found.after} takes as long a round, {written(amount.after, 'ns')}"
    share = "" if amount.share is None else f" ({percent(amount.share)})"
    way = "faster" if amount.change < 0 else "slower"
    return f"{found.after} is {written(abs(amount.change), 'ns')}{share} {way} a round"


def _counts(found: Diff) -> Iterator[str]:
    kinds = Counter((row.kind, row.change) for row in found.rows)
    told = [
        f"{counted(count, NOUNS.get(kind, kind))} {change}" for (kind, change), count in kinds.items()
    ]
    if told:
        yield ", ".join(told)
    orders = found.orders
    if orders.gained or orders.lost:
        said = [f"{counted(orders.gained, 'order')} gained"] * bool(orders.gained)
        said += [f"{orders.lost:,} lost" if said else f"{counted(orders.lost, 'order')} lost"] * bool(orders.lost)
        yield ", ".join(said)


def _hazards(found: Diff) -> Iterator[str]:
    if found.hazards:
        yield "hazards"
    for row in found.hazards:
        said = ("new", row.now, row.after) if row.now else ("gone", row.was, row.before)
        yield f"  {'!' if row.now else '-'} {said[0]} {said[1]}: {said[2]}"


def _amounts(found: Diff) -> Iterator[str]:
    if not found.amounts:
        return
    before, after = found.costs
    yield f"foretold with the costs of {before}" + (f", then of {after}" if after != before else "")
    changed = [one for one in found.amounts if one.change]
    width = max((len(one.name) for one in changed), default=0)
    for one in changed:
        yield f"  {one.name:<{width}}  {amount_text(one)}"
    if not changed:
        yield "  no figure changes"


def amount_text(one: Amount) -> str:
    """Both sides, the change with its sign, and what to think of it."""
    sign = "+" if one.change > 0 else "-"
    share = "" if one.share is None else f", {sign}{percent(one.share)}"
    verdict = "" if one.verdict == "other" else f"   {one.verdict}"
    return (
        f"{written(one.before, one.unit)} -> {written(one.after, one.unit)}   "
        f"({sign}{written(abs(one.change), one.unit)}{share}){verdict}"
    )


def _rows(found: Diff) -> Iterator[str]:
    if found.rows:
        yield "what differs"
    for row in found.rows:
        yield f"  {MARKS[row.change]} {row_text(row)}"


def row_text(row: Row) -> str:
    kind = NOUNS.get(row.kind, row.kind)
    if row.change == "added":
        return f"{kind} {row.now}: {row.after}"
    if row.change == "removed":
        return f"{kind} {row.was}: {row.before}"
    if row.change == "renamed":
        return f"{kind} {row.was} is called {row.now}"
    return f"{kind} {row.name}: {row.before} -> {row.after}"


def _orders(found: Diff) -> Iterator[str]:
    orders = found.orders
    whole = orders.gained + orders.lost
    if whole:
        yield "orders between phases"
    for pair in orders.pairs[:MOST_ORDERS]:
        yield f"  {'+' if pair.gained else '-'} {pair_text(pair)}"
    if whole > MOST_ORDERS:
        yield f"  and {whole - MOST_ORDERS:,} more"


def pair_text(pair: Pair) -> str:
    first, second = pair.first[1], pair.second[1]
    return f"{first} before {second}: {_since(pair.before)} -> {_since(pair.after)}"


def _since(rounds: int | None) -> str:
    if rounds is None:
        return "no order"
    return ("in the round", "from the next round on")[rounds] if rounds < 2 else f"{rounds} rounds later"
