"""Findings as an editor shows them."""

from __future__ import annotations

from lsprotocol import types

from plait.compiler.compile import Judged
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.names import used_as
from plait.dsl.span import Source, Span
from plait.lsp.positions import Lines
from plait.lsp.reading import Reading, uri_of

SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "note": types.DiagnosticSeverity.Information,
}
Shown = tuple[Diagnostic, types.Diagnostic]
"""A finding, and how it was published."""


def shown(reading: Reading, judged: list[Judged]) -> list[Shown]:
    """Every finding with those that follow from it, in the order of the text."""
    found = []
    for one in judged:
        for finding in one.findings:
            for each in finding.with_following():
                found.append((each, _published(reading, each, one.variant and one.name)))
    return sorted(found, key=lambda pair: (pair[1].range.start.line, pair[1].range.start.character))


def _published(reading: Reading, one: Diagnostic, variant: str | None) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(_location(reading, label.span), label.text)
        for label in one.labels
    ]
    span = one.span
    if not _is_ours(reading, span.source):
        here = types.DiagnosticRelatedInformation(_location(reading, span), one.message)
        related.insert(0, here)
        span = _use_of(reading, span.source)
    return types.Diagnostic(
        range=reading.lines.range(span),
        message=_message(one, variant),
        severity=SEVERITIES[one.severity],
        code=one.code,
        source="plait",
        related_information=related or None,
    )


def _message(one: Diagnostic, variant: str | None) -> str:
    lines = [one.message if variant is None else f"in variant {variant}: {one.message}"]
    missing = [value for name, value in one.facts if name == "missing edge"]
    lines += [f"missing edge: {value}" for value in missing]
    if one.witness:
        lines += ["a run that shows it:", *(f"  {step}" for step in one.witness)]
    if one.help:
        lines.append(f"help: {one.help}")
    return "\n".join(lines)


def _is_ours(reading: Reading, source: Source) -> bool:
    """Findings are made of the text itself; only what it uses has another place."""
    return source is reading.source or uri_of(source) in (None, uri_of(reading.source))


def _location(reading: Reading, span: Span) -> types.Location:
    if _is_ours(reading, span.source):
        return types.Location(reading.uri, reading.lines.range(span))
    lines = Lines(span.source.text, reading.encoding)
    return types.Location(uri_of(span.source) or reading.uri, lines.range(span))


def _use_of(reading: Reading, source: Source) -> Span:
    """Where this text brings the other in."""
    library = reading.library
    for use in library.file.uses if library else ():
        used = library.used.get(used_as(use)) if library else None
        if used and uri_of(source) in map(uri_of, used.sources):
            return use.span
    return Span(reading.source, 0, 0)
