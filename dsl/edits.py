"""Fixes made in a text."""

from __future__ import annotations

from collections.abc import Iterable

from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.span import Source


def edited(source: Source, fixes: Iterable[Fix]) -> tuple[Source, list[Fix]]:
    """The text with fixes made in it, and those that were made.

    A fix is made whole or not at all: not where one of its edits meets another's, or is of another text.
    New lines end as the line they are written in does.
    """
    made: list[Fix] = []
    edits: list[Edit] = []
    for fix in fixes:
        ours = all(edit.span.source is source for edit in fix.edits)
        if ours and fix.edits and not any(_meet(a, b) for a in fix.edits for b in edits):
            made.append(fix)
            edits += fix.edits
    text = source.text
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        end = source.text.find("\n", edit.span.end)
        new = edit.text
        if source.text[max(end - 1, 0) : end + 1] == "\r\n":
            new = new.replace("\n", "\r\n")
        text = text[: edit.span.start] + new + text[edit.span.end :]
    return Source(source.name, text, source.folder), made


def _meet(a: Edit, b: Edit) -> bool:
    """Whether two edits overlap or touch: of two that touch, which comes first would be a guess."""
    return a.span.start <= b.span.end and b.span.start <= a.span.end
