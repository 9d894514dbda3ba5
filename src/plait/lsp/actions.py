"""What can be done about a finding: its fix, or for a note the comment that answers it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsprotocol import types

from plait.dsl.diagnostic import Diagnostic, Fix
from plait.lsp.diagnostics import Shown
from plait.lsp.positions import Lines
from plait.lsp.reading import Reading


def actions(reading: Reading, found: Iterable[Shown], asked: types.Range) -> list[types.CodeAction]:
    """Those for the findings of this text that lie in a range, or touch it."""
    made = []
    uri, lines = reading.uri, reading.lines
    for finding, published in found:
        if not _meet(published.range, asked) or finding.span.source is not reading.source:
            continue
        if finding.fix and finding.fix.edits and _is_here(finding.fix, reading):
            edits = [_edit(lines, e.span.start, e.span.end, e.text) for e in finding.fix.edits]
            made.append(_action(uri, finding.fix.title, published, edits, True))
        if finding.severity == "note":
            title = f"Allow {finding.code} here, for a reason to be written"
            made.append(_action(uri, title, published, [_allow(lines, finding)], False))
    return made


def _action(
    uri: str,
    title: str,
    published: types.Diagnostic,
    edits: list[types.TextEdit],
    preferred: bool,
) -> types.CodeAction:
    return types.CodeAction(
        title,
        types.CodeActionKind.QuickFix,
        diagnostics=[published],
        is_preferred=preferred,
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )


def _is_here(fix: Fix, reading: Reading) -> bool:
    return all(edit.span.source is reading.source for edit in fix.edits)


def _edit(lines: Lines, start: int, end: int, text: str) -> types.TextEdit:
    text = text.replace("\n", lines.line_end(end))
    return types.TextEdit(types.Range(lines.position(start), lines.position(end)), text)


def _allow(lines: Lines, finding: Diagnostic) -> types.TextEdit:
    """The comment on a line of its own; without a reason it is an error that asks for one."""
    start = finding.span.source.line_starts[finding.span.line - 1]
    indent = re.compile(r"[ \t]*").match(lines.text, start)
    blank = indent[0] if indent else ""
    return _edit(lines, start, start, f"{blank}# allow {finding.code}:\n")


def _meet(a: types.Range, b: types.Range) -> bool:
    return _key(a.start) <= _key(b.end) and _key(b.start) <= _key(a.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
