"""A change of a text that may make its rounds shorter, and the text that it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from plait.compiler.compile import Asked
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.edits import edited
from plait.dsl.parser import parse
from plait.dsl.record import Record
from plait.dsl.settings import choose_pipeline
from plait.dsl.span import Source, Span

Body = tuple[syntax.Statement, ...]
EDGES = syntax.Fork | syntax.Join
ISSUED = EDGES | syntax.Await | syntax.Phase | syntax.Capture | syntax.Call | syntax.Interleave
ISSUED = ISSUED | syntax.For | syntax.When
"""Statements whose place among each other says something."""


class Move(Record):
    what: str
    """In a plain sentence, without the edges that it then needs."""
    text: str
    other_work: bool = False
    """Whether the round may then do other work, because that was asked for."""


@dataclass(frozen=True)
class Space:
    """What may be changed, beyond what every text offers."""

    asked: Asked
    vary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values of settings that may be taken although the round then does other work."""
    streams: int | None = None
    """Device streams at most; None: one more than there are at the start."""
    histogram: tuple[tuple[int, int], ...] = ()
    """Sizes of a dim, each with how often it was seen: the buckets may change."""
    dim: str | None = None
    kinds: tuple[str, ...] | None = None
    """Sorts of moves, by name; None: all."""


@dataclass(frozen=True)
class View:
    """A text to be changed."""

    source: Source
    space: Space

    @cached_property
    def file(self) -> syntax.File:
        return parse(self.source)

    @cached_property
    def pipeline(self) -> syntax.Pipeline:
        asked = self.space.asked
        return choose_pipeline(self.file, asked.pipeline, asked.variant)

    @property
    def bodies(self) -> Iterator[tuple[Body, syntax.Capture | None]]:
        """Every list of statements, with the capture around it, the outermost first."""
        waiting: list[tuple[Body, syntax.Capture | None]] = [(self.pipeline.body, None)]
        while waiting:
            body, graph = waiting.pop(0)
            yield body, graph
            for one in body:
                if isinstance(one, syntax.Capture):
                    waiting.append((one.body, one))
                elif isinstance(one, syntax.For):
                    waiting.append((one.body, graph))
                elif isinstance(one, syntax.When):
                    waiting += [(one.body, graph), (one.otherwise, graph)]

    def text(self, *edits: Edit) -> str:
        return edited(self.source, [Fix("", edits)])[0].text


def lines_of(span: Span) -> Span:
    """A statement with the comments right above it and behind it, as whole lines; or, where its lines
    hold other statements too, alone."""
    text = span.source.text
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end) + 1
    behind = text[span.end : end].strip()
    if not end or text[start : span.start].strip() or (behind and not behind.startswith("#")):
        return span
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return Span(span.source, start, end)


def carried_over(one: Span, other: Span, above: bool) -> tuple[Edit, ...]:
    """A statement put right above another, or right below it."""
    taken, place = lines_of(one), lines_of(other)
    whole = taken.text.endswith("\n") and place.text.endswith("\n")
    if not whole:
        taken, place = one, other
    at = place.start if above else place.end
    text = taken.text if whole else f"{taken.text}  " if above else f"  {taken.text}"
    return Edit(taken, ""), Edit(Span(one.source, at, at), text)
