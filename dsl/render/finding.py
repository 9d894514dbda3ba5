"""What a check found in files, as every format is given it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plait.dsl.diagnostic import Diagnostic
from plait.dsl.record import Record
from plait.dsl.span import Source, Span


class Finding(Record):
    """A diagnostic, and the file, pipeline and variant that show it first."""

    path: str
    """Of the file that was asked for, as it was given."""
    source: Source | None
    """What was read there; None where nothing could be."""
    diagnostic: Diagnostic
    pipeline: str | None = None
    variant: str | None = None
    where: str = ""
    """The variant, as it is called in a file of one pipeline or of several."""

    def file(self, span: Span) -> str | None:
        """The file that a span is in; None for a text that is no file, such as a `--set`."""
        return self.path if span.source is self.source else None

    def each(self) -> Iterator[Finding]:
        """This one, then those that follow from it."""
        for diagnostic in self.diagnostic.with_following():
            yield self.replace(diagnostic=diagnostic)


@dataclass(frozen=True)
class Checked:
    findings: list[Finding]
    sound: list[str]
    """A line for every file without an error."""
    meanings: Mapping[str, tuple[str, str]]
    """Of every code there is: what it says in a line, and why."""
    version: str
    """Of the program that checked."""

    @property
    def wrong(self) -> bool:
        return any(finding.diagnostic.severity == "error" for finding in self.findings)

    def each(self) -> Iterator[Finding]:
        """Every finding by itself, with none below another."""
        for finding in self.findings:
            yield from finding.each()
