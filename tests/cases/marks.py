"""What a text says is found in it: a line on which findings stand ends in a comment with their codes."""

from __future__ import annotations

import re

from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Source

MARK = re.compile(r"# ((?:PL\d+ ?)+)$")


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
