"""Diagnostics for a terminal: the place, the lines with carets, the witness, the mend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from plait.dsl.diagnostic import Diagnostic
from plait.dsl.render.printable import printable
from plait.dsl.span import Source, Span

COLOURS = {"error": "bold red", "note": "bold blue"}
QUIET = "blue"
MOST_COLUMNS = 400
"""Of a line of the text: what no person wrote is cut behind them."""


def render(diagnostics: Iterable[Diagnostic], file: TextIO) -> None:
    """Writes diagnostics, in colour where the file is a terminal."""
    console = Console(file=file, highlight=False, soft_wrap=True)
    for diagnostic in diagnostics:
        console.print(rendered(diagnostic))


def rendered(diagnostic: Diagnostic) -> Text:
    """One diagnostic, with those that follow from it indented below."""
    text = Text()
    for line in _lines(diagnostic):
        text.append_text(line)
        text.append("\n")
    return text


def _lines(diagnostic: Diagnostic) -> Iterable[Text]:
    colour = COLOURS[diagnostic.severity]
    yield Text.assemble(
        (f"{diagnostic.severity}[{diagnostic.code}]", colour),
        (f": {printable(diagnostic.message)}", "bold"),
    )
    marks = [(diagnostic.span, diagnostic.label, "^", colour)]
    marks += [(label.span, label.text, "-", QUIET) for label in diagnostic.labels]
    yield from _excerpts(marks)
    if diagnostic.facts:
        width = max(len(name) for name, _ in diagnostic.facts)
        for name, value in diagnostic.facts:
            yield Text.assemble((f"   = {name.ljust(width)}: ", QUIET), printable(value))
    if diagnostic.witness:
        yield Text("   = a run that shows it:", QUIET)
        for step in diagnostic.witness:
            yield Text(f"       {printable(step)}")
    for name, value in (("help", diagnostic.help), ("fix", _fix(diagnostic))):
        if value:
            yield Text.assemble((f"   = {name}: ", "green"), printable(value))
    for inner in diagnostic.because:
        yield Text("   because of this:", QUIET)
        for line in _lines(inner):
            yield Text("   ").append_text(line)


def _fix(diagnostic: Diagnostic) -> str:
    return diagnostic.fix.title if diagnostic.fix else ""


def _excerpts(marks: list[tuple[Span, str, str, str]]) -> Iterable[Text]:
    """The marked lines, those of one text together, in the order of the text."""
    sources: list[Source] = []
    for span, *_ in marks:
        if span.source not in sources:
            sources.append(span.source)
    gutter = max(len(str(span.line)) for span, *_ in marks)
    for number, source in enumerate(sources):
        first = next(span for span, *_ in marks if span.source is source)
        yield Text.assemble(
            (" " * gutter + ("--> " if number == 0 else "::: "), QUIET), printable(str(first))
        )
        here = sorted(
            (mark for mark in marks if mark[0].source is source), key=lambda m: m[0].start
        )
        before = None
        for span, label, sign, style in here:
            line, column = source.place(span.start)
            if before is not None and line > before + 1:
                yield Text(" " * gutter + " ...", QUIET)
            if line != before:
                yield Text.assemble((f"{line:>{gutter}} | ", QUIET), _shown(source.line(line)))
            before = line
            yield _caret(source.line(line), column, span, label, sign, style, gutter)


def _shown(line: str) -> str:
    return printable(line[:MOST_COLUMNS]) + ("..." if len(line) > MOST_COLUMNS else "")


def _caret(
    line: str, column: int, span: Span, label: str, sign: str, style: str, gutter: int
) -> Text:
    start = cell_len(printable(line[: min(column - 1, MOST_COLUMNS)]))
    marked = line[column - 1 : column - 1 + max(span.end - span.start, 1)]
    width = min(max(cell_len(printable(marked)), 1), MOST_COLUMNS)
    under = sign * width + (f" {printable(label)}" if label else "")
    return Text.assemble((" " * gutter + " | ", QUIET), " " * start, (under, style))
