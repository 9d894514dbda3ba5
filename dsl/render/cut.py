"""Names in as many columns as there are for them."""

from __future__ import annotations

from plait.dsl.render.printable import printable


def cut(text: str, columns: int, least: int = 2) -> str:
    """As much of a text as has room, but of one that is too long nothing in less than so many columns.

    >>> cut("draft", 5), cut("draft_extend", 6), cut("draft", 3, least=4)
    ('draft', 'draft…', '')
    """
    from rich.cells import cell_len, set_cell_size

    text = printable(text)
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, columns - 1).rstrip() + "…" if columns >= least else ""
