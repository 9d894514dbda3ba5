"""Long lines of a page for a terminal, broken at a blank and gone on further in."""

from __future__ import annotations

import re
import textwrap

WIDTH = 100
HEAD = re.compile(r"\s*(\d+  )?")
"""What a line begins with: blanks, and perhaps the number of a line in a spec."""


def folded(page: str) -> str:
    """The page with no line wider than WIDTH, but for words that are."""
    return "".join(f"{part}\n" for line in page.splitlines() for part in _parts(line))


def _parts(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    head = HEAD.match(line)
    assert head is not None
    further = " " * (head.end() + 4)
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )
