"""Workflow commands of GitHub Actions: each finding becomes an annotation of its line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from plait.dsl.render.finding import Finding
from plait.dsl.render.printable import printable
from plait.dsl.span import Span

COMMANDS = {"error": "error", "note": "notice"}


def command(finding: Finding) -> str:
    diagnostic = finding.diagnostic
    file = finding.file(diagnostic.span)
    place = {} if file is None else {"file": file, **_columns(diagnostic.span)}
    properties = {**place, "title": diagnostic.code}
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    lines = [diagnostic.message if file is not None else f"{diagnostic.span}: {diagnostic.message}"]
    lines += [f"help: {diagnostic.help}"] if diagnostic.help else []
    lines += [f"fix: {diagnostic.fix.title}"] if diagnostic.fix else []
    text = _escaped("\n".join(lines))
    return printable(f"::{COMMANDS[diagnostic.severity]} {shown}::{text}")


def _columns(span: Span) -> dict[str, str]:
    """A place as GitHub takes it, which knows columns only within one line."""
    (line, column), (end_line, end_column) = (
        span.source.place(at) for at in (span.start, span.end)
    )
    if line != end_line:
        return {"line": str(line), "endLine": str(end_line)}
    return {"line": str(line), "col": str(column), "endColumn": str(end_column)}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
