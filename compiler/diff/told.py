"""What a line says of a row, and which rows one line stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plait.compiler.diff.row import Row

MOST_BUCKETS = 3
LONGEST = 240
"""Characters of what one side says in a row."""
INDEX = re.compile(r"\[[0-9]+\]")
NOUNS = {"issue": "issue order", "same": "same value", "apart": "vouched part"}
"""Of kinds whose word alone would not say what they are."""


def alike(rows: Sequence[Row]) -> list[tuple[Row, int]]:
    """Rows that differ in nothing but indices are one, with how many there are: `layers[*].query`."""
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        was, now = (INDEX.sub("[*]", name) for name in (row.was, row.now))
        before, after = (INDEX.sub("[*]", said) for said in (row.before, row.after))
        groups.setdefault(Row(row.kind, was, now, before, after, row.parts), []).append(row)
    told = [(one if len(some) > 1 else some[0], len(some)) for one, some in groups.items()]
    return _fewer_buckets(told)


def _fewer_buckets(told: list[tuple[Row, int]]) -> list[tuple[Row, int]]:
    """Of many buckets that one side alone has, one row: the first and the last."""
    found: list[tuple[Row, int]] = []
    for change in ("removed", "added"):
        some = [row for row, _ in told if row.kind == "bucket" and row.change == change]
        if len(some) > MOST_BUCKETS:
            first, last = some[0].name, some[-1].name
            name = f"{first}, ... {last}"
            was, now = (name, "") if change == "removed" else ("", name)
            found.append((Row("bucket", was, now, "", ""), len(some)))
            told = [one for one in told if one[0] not in some]
    start = next(
        (n for n, (row, _) in enumerate(told) if row.kind not in ("target", "setting")), len(told)
    )
    return told[:start] + found + told[start:]


def row_text(row: Row) -> str:
    kind, name, before, after = row_texts(row)
    if row.change == "renamed":
        return f"{kind} {row.was} is called {row.now}"
    what, _, where = before.partition(" at ")
    other, _, there = after.partition(" at ")
    if where and where == there:  # of the same buckets
        said = f"{what} -> {other} at {where}"
    else:
        said = " -> ".join(filter(None, (before, after)))
    return f"{kind} {name}" + (f": {said}" if said else "")


def row_texts(row: Row) -> tuple[str, str, str, str]:
    """What it is of, its name, and what each side says, as short as a line needs it."""
    before, after = row.before, row.after
    if row.kind == "issue" and before and after:
        before, after = _lists(before.split(", "), after.split(", "))
    return NOUNS.get(row.kind, row.kind), row.name, _short(before), _short(after)


def _lists(before: list[str], after: list[str]) -> tuple[str, str]:
    """Two lists from a name in front of what differs to one behind it."""
    most = min(len(before), len(after))
    start = next((n for n in range(most) if before[n] != after[n]), most)
    end = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    first, last = max(start - 1, 0), max(end - 1, 0)
    before, after = (side[first : len(side) - last] for side in (before, after))
    lead, trail = ["..."] * (first > 0), ["..."] * (last > 0)
    return ", ".join(lead + before + trail), ", ".join(lead + after + trail)


def _short(text: str) -> str:
    """A text that a line can hold: of a longer one both ends."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} ... {text[-half:]}"
