"""What is said about a spec: data first. Renderers stand apart (`dsl/render/`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from plait.dsl.record import Record
from plait.dsl.span import Source, Span

Severity = Literal["error", "note"]
"""A note changes no exit code, and may be silenced in the text (`dsl/allow.py`)."""


class Label(Record):
    """A second place that matters, and why."""

    span: Span
    text: str


class Edit(Record):
    """Replace the text of a span; an empty span inserts."""

    span: Span
    text: str


class Fix(Record):
    """A mend a person may take as it stands."""

    title: str
    edits: tuple[Edit, ...] = ()


class Overlap(Record):
    """Two phases that some run has at once, though they meet in memory."""

    earlier: str
    later: str
    apart: int
    """How many rounds the later one's round is after the earlier one's."""
    routes: tuple[str, ...] = ()
    """Those of the rounds from the earlier to the later, in the words of messages."""


class Diagnostic(Record):
    """One finding. `message` is one sentence without a full stop, with names as in the text."""

    code: str
    message: str
    span: Span
    severity: Severity = "error"
    label: str = ""
    """What is said under the caret."""
    labels: tuple[Label, ...] = ()
    witness: tuple[str, ...] = ()
    """A run that shows the fault, one step a line."""
    facts: tuple[tuple[str, str], ...] = ()
    """Named values of the finding (`buffer`, `missing edge`, ...), for people and programs alike."""
    help: str = ""
    """How to mend it, in words."""
    fix: Fix | None = None
    because: tuple[Diagnostic, ...] = ()
    """Findings that follow from this one: mending it mends them."""
    overlap: Overlap | None = None
    """What the witness comes to, for programs that run it."""

    def with_following(self) -> Iterator[Diagnostic]:
        """This one, then those that follow from it."""
        yield self
        for inner in self.because:
            yield from inner.with_following()

    @property
    def place(self) -> tuple[str, int]:
        return (self.span.source.name, self.span.start)


class SpecError(Exception):
    """The spec is wrong. `diagnostics` says how, in the order of the text."""

    def __init__(self, diagnostics: list[Diagnostic]):
        self.diagnostics = sorted(diagnostics, key=lambda d: d.place)
        super().__init__(diagnostics)

    def __str__(self) -> str:
        return "\n".join(f"{d.span}: {d.severity}[{d.code}]: {d.message}" for d in self.diagnostics)


@dataclass
class Report:
    """Findings as they are made. Raising is left to whoever needs a sound spec to go on."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "error"]

    def stop_on_errors(self) -> None:
        """Raises SpecError with everything found so far when any of it is an error."""
        if self.errors:
            raise SpecError(self.diagnostics)


def end_of(source: Source) -> Span:
    """The empty span behind the last character that is not white space."""
    end = len(source.text.rstrip())
    return Span(source, end, end)
