"""One line a finding: `file:line:column: CODE message`, for grep and for editors."""

from __future__ import annotations

from plait.dsl.render.finding import Finding
from plait.dsl.render.printable import printable


def line(finding: Finding) -> str:
    diagnostic = finding.diagnostic
    span = diagnostic.span
    name = finding.file(span) or span.source.name
    kind = "" if diagnostic.severity == "error" else f"{diagnostic.severity}: "
    text = f"{name}:{span.line}:{span.column}: {diagnostic.code} {kind}{diagnostic.message}"
    return printable(text)
