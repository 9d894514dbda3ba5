"""Diagnostics as JSON values."""

from __future__ import annotations

from typing import Any

from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Span


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic. Lines and columns count from 1, columns in characters, ends not included."""
    fix = diagnostic.fix
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "place": _place(diagnostic.span),
        "labels": [
            {"place": _place(label.span), "text": label.text} for label in diagnostic.labels
        ],
        "facts": dict(diagnostic.facts),
        "witness": list(diagnostic.witness),
        "help": diagnostic.help,
        "fix": None
        if fix is None
        else {
            "title": fix.title,
            "edits": [{"place": _place(edit.span), "text": edit.text} for edit in fix.edits],
        },
        "because": [as_json(inner) for inner in diagnostic.because],
    }


def _place(span: Span) -> dict[str, Any]:
    line, column = span.source.place(span.start)
    end_line, end_column = span.source.place(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
