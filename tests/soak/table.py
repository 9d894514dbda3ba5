"""Tables of the soak's page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(says: Sequence[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """What was tried, in lines as they are to stand, and below them what was seen."""
    lines = [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]
    return "\n".join([*says, "", *lines, ""])


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
