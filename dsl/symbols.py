"""What names stand for: symbols, and every place in a text that means one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from plait.dsl import syntax
from plait.dsl.diagnostic import Edit
from plait.dsl.record import Record
from plait.dsl.span import Source, Span

# fmt: off
Kind: TypeAlias = Literal[
    "pipeline", "module", "variant", "file",
    "param", "flag", "dim", "guard", "loop", "value",
    "group", "pool", "stream", "buffer",
    "phase", "launch", "capture", "call", "argument",
]
# fmt: on
Home: TypeAlias = tuple[int, str]
"""A scope, and the sort of names that are distinct in it."""


class Occurrence(Record):
    """One place that means a symbol."""

    span: Span
    symbol: int
    """Its number in `Names.symbols`."""
    declares: bool = False
    role: str = ""
    """Of a buffer in a clause, what is done to it: `reads`, `updates`, `writes`."""
    phase: syntax.Phase | None = None
    """The phase it stands in."""
    before: str = ""
    after: str = ""
    """What has to be written around another name, where this one is only implied."""
    implied: bool = False
    """Whether nothing is written here: a call takes what has the name of its formal."""

    def edit(self, name: str) -> Edit:
        """What gives it another name."""
        return Edit(self.span, f"{self.before}{name}{self.after}")


class Symbol(Record):
    name: str
    kind: Kind
    node: syntax.Node
    """Its first declaration."""
    owner: syntax.Pipeline | syntax.Module | None
    """What it is declared in."""
    homes: frozenset[Home]
    occurrences: tuple[Occurrence, ...]

    @property
    def declarations(self) -> list[Occurrence]:
        """One, or, where branches exclude each other, one in each."""
        return [one for one in self.occurrences if one.declares]


@dataclass(frozen=True)
class Names:
    symbols: tuple[Symbol, ...]
    occurrences: tuple[Occurrence, ...]
    """In the order of the text, file after file."""
    unknown: tuple[syntax.Name, ...]
    """Names that mean nothing where they stand."""
    taken: frozenset[tuple[Home, str]]

    def at(self, source: Source, offset: int) -> Occurrence | None:
        """What is written there, or ends there."""
        found = [
            one
            for one in self.occurrences
            if not one.implied
            and one.span.source is source
            and one.span.start <= offset <= one.span.end
        ]
        return max(found, key=lambda one: one.span.start, default=None)

    def of(self, occurrence: Occurrence) -> Symbol:
        return self.symbols[occurrence.symbol]
