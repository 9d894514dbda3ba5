"""What a text says is found in it: a line on which findings stand ends in a comment with their codes."""

from __future__ import annotations

import re

from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Source

MARK = re.compile(r"# ((?:PL\d+ ?)+)$")
HIDES_NOTHING = "PL903"


def judged(found: list[Diagnostic]) -> list[Diagnostic]:
    """Without the note that nothing runs beside a branch: cut down to what fails, there is nothing left."""
    return [one for one in found if one.code != HIDES_NOTHING]


def marks(source: Source) -> set[tuple[int, str]]:
    """Lines, each with a code."""
    found = set()
    for number, line in enumerate(source.text.splitlines(), 1):
        if mark := MARK.search(line):
            found |= {(number, code) for code in mark[1].split()}
    return found


def places(found: list[Diagnostic], source: Source) -> set[tuple[int, str]]:
    """Where findings stand in a text; not where they stand elsewhere, as in a recipe."""
    return {(one.span.line, one.code) for one in found if one.span.source.name == source.name}
