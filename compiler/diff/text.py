"""A diff for a terminal: a sentence, the figures, hazards, rows, and orders gained and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from plait.compiler.diff.amounts import Amount, rounded_percent, written
from plait.compiler.diff.diff import Diff
from plait.compiler.diff.gates import Failure
from plait.compiler.diff.orders import Pair
from plait.compiler.diff.told import INDEX, NOUNS, alike, row_text
from plait.dsl.render.figures import counted
from plait.dsl.render.printable import printable

MOST_COUNTS = 6
"""Of a sentence that tells what was added apart from what was removed."""
MOST_ORDERS = 12
MOST_ROWS = 40
MARKS = {"added": "+", "removed": "-", "renamed": "=", "moved": ">", "changed": "~"}


def text(found: Diff) -> str:
    if not found:
        return (
            printable(f"{found.before} and {found.after}: no difference{_both_take(found)}") + "\n"
        )
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
    return "; ".join(clauses(found)) + "."


def clauses(found: Diff) -> list[str]:
    """How long it takes first, then how many things differ."""
    said = [_pace(found), _edge(found), *_counts(found)]
    new = len(found.new_hazards)
    if new:
        said.append(counted(new, "new hazard"))
    if gone := len(found.hazards) - new:
        said.append(f"{counted(gone, 'hazard')} gone")
    return list(filter(None, said))


def _pace(found: Diff) -> str:
    for title, stuck in zip((found.before, found.after), found.stuck, strict=True):
        if stuck:
            return f"{title} waits in a circle, and never ends a round"
    amount = found.amount("round")
    if amount is None:
        return ""
    if not amount.change:
        return f"{found.after} takes as long a round, {written(amount.after, 'ns')}"
    share = "" if amount.share is None else f" ({rounded_percent(amount.share)})"
    way = "faster" if amount.change < 0 else "slower"
    return f"{found.after} is {written(abs(amount.change), 'ns')}{share} {way} a round"


def _edge(found: Diff) -> str:
    row, amount = found.one_edge, found.amount("round")
    if row is None or amount is None or not amount.change:
        return ""
    cost = "cost" if row.change == "removed" else "costs"
    return f"that is what the edge {row.name} {cost}"


def _counts(found: Diff) -> Iterator[str]:
    kinds = Counter((row.kind, row.change) for row in found.rows)
    told = [f"{_counted(count, kind)} {change}" for (kind, change), count in kinds.items()]
    if len(told) > MOST_COUNTS:
        whole = Counter(row.kind for row in found.rows)
        told = [_counted(count, kind) for kind, count in whole.items()]
        told[-1] += " differ"
    if told:
        yield ", ".join(told)
    orders = found.orders
    if orders.gained or orders.lost:
        said = [f"{counted(orders.gained, 'order')} gained"] * bool(orders.gained)
        said += [
            f"{orders.lost:,} lost" if said else f"{counted(orders.lost, 'order')} lost"
        ] * bool(orders.lost)
        yield ", ".join(said)
    elif found.rows:
        yield "the phases that both have keep their order"


def _counted(count: int, kind: str) -> str:
    return counted(count, NOUNS.get(kind, kind))


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
    change, judged = verdict(one)
    before, after = written(one.before, one.unit), written(one.after, one.unit)
    return f"{before} -> {after}   ({change})   {judged}".rstrip()


def verdict(one: Amount) -> tuple[str, str]:
    """The change with its sign, and what to think of it."""
    if not one.change:
        return "0", "same"
    sign = "+" if one.change > 0 else "-"
    share = "" if one.share is None else f", {sign}{rounded_percent(one.share)}"
    judged = "" if one.verdict == "other" else one.verdict
    return f"{sign}{written(abs(one.change), one.unit)}{share}", judged


def _rows(found: Diff) -> Iterator[str]:
    if found.rows:
        yield "what differs"
    told = alike(found.rows)
    for row, count in told[:MOST_ROWS]:
        more = f"   ({count} alike)" if count > 1 else ""
        yield f"  {MARKS[row.change]} {row_text(row)}{more}"
    if len(told) > MOST_ROWS:
        yield f"  and {len(told) - MOST_ROWS:,} more"


def _orders(found: Diff) -> Iterator[str]:
    orders = found.orders
    whole = orders.gained + orders.lost
    if whole:
        yield "orders between phases"
    told = _alike_pairs(orders.pairs)[:MOST_ORDERS]
    for pair, line, count in told:
        more = f"   ({count} alike)" if count > 1 else ""
        yield f"  {'+' if pair.gained else '-'} {line}{more}"
    if more := whole - sum(count for _, _, count in told):
        yield f"  and {more:,} more"


def _alike_pairs(pairs: Sequence[Pair]) -> list[tuple[Pair, str, int]]:
    """Pairs with what is said of each; those that differ in indices alone as one."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(INDEX.sub("[*]", pair_text(pair)), []).append(pair)
    return [
        (some[0], line if len(some) > 1 else pair_text(some[0]), len(some))
        for line, some in groups.items()
    ]


def pair_text(pair: Pair) -> str:
    first, second, before, after = pair_texts(pair)
    return f"{first} before {second}: {before} -> {after}"


def pair_texts(pair: Pair) -> tuple[str, str, str, str]:
    """Both phases, by the names of the second side, and what each side makes of them."""
    return pair.first[1], pair.second[1], _since(pair.before), _since(pair.after)


def _since(rounds: int | None) -> str:
    if rounds is None:
        return "no order"
    return (
        ("in the round", "from the next round on")[rounds]
        if rounds < 2
        else f"{rounds} rounds later"
    )


def failed_text(failed: Sequence[Failure]) -> str:
    """What fails, a line each behind an empty one."""
    lines = [printable(f"fails {one.gate}: {one.why}") for one in failed]
    return "\n".join(["", *lines, ""]) if lines else ""
