"""What names mean where they are written: in the pipeline, or in one call of a module.

A module sees its formals, what it declares and the phases it issues; groups and pools are the
pipeline's, whatever calls stand in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from plait.compiler.rows.extent import Extent, extent
from plait.dsl.diagnostic import Diagnostic, Label, SpecError
from plait.dsl.library import Library
from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.syntax import Expression, Name
from plait.dsl.values import Broken, Silenced, Value

What = Literal["stream", "buffer", "group", "pool", "value"]
ARTICLES = {"stream": "a stream", "buffer": "a buffer", "group": "a group", "pool": "a pool"}


class Named(Record):
    """What an edge may name: a phase, a capture, a call."""

    kind: Literal["phase", "launch", "capture", "call"]
    number: int
    span: Span
    loaded: int = -1
    """Of a capture that runs eagerly, the phase after which its inputs have been read."""
    scope: Scope | None = None
    """Of a call, what stands in it."""


@dataclass(eq=False)
class Scope:
    library: Library
    """The modules that can be called here."""
    prefix: str = ""
    """What stands before the names of phases and buffers: `layers[3].`."""
    base: str = ""
    """The same without indices: `layers.`."""
    index: int | None = None
    """Of the nearest call that has one."""
    caller: Scope | None = None
    values: dict[str, Value | Broken] = field(default_factory=dict)
    sized: dict[str, Extent] = field(default_factory=dict)
    """Of the values that depend on a dim, how."""
    numbers: dict[str, dict[str, int]] = field(
        default_factory=lambda: {"stream": {}, "buffer": {}, "group": {}, "pool": {}}
    )
    """For each sort of thing, the numbers that names stand for."""
    declared: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Where each sort of thing was declared, right or wrong."""
    points: dict[str, Named] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    """Names of phases, captures and calls that were wrong, without their index."""

    @property
    def pipeline(self) -> Scope:
        return self if self.caller is None else self.caller.pipeline

    def size(self, name: str, expression: Expression, written_in: Scope | None = None) -> None:
        """Notes how a value depends on dims, if it does, from its expression and the scope of that."""
        scope = written_in or self
        if scope.sized and (found := extent(expression, scope.values, scope.sized)):
            self.sized[name] = found

    def declare(self, what: What, name: Name) -> None:
        """Notes that a name is declared. Raises SpecError when it is already."""
        text = name.text
        if what == "stream" and text == "host":
            raise SpecError([Diagnostic("PL104", "`host` is built in", name.span)])
        first = self.declared.get((what, text))
        if first is not None:
            labels = (Label(first, "declared here first"),)
            message = f"`{text}` is declared twice"
            raise SpecError([Diagnostic("PL104", message, name.span, labels=labels)])
        self.declared[what, text] = name.span

    def find(self, what: What, name: Name) -> int:
        """The number of a stream, buffer, group or pool. Raises SpecError, Silenced."""
        scope = self.pipeline if what in ("group", "pool") else self
        known = scope.numbers[what]
        if name.text in known:
            return known[name.text]
        if (what, name.text) in scope.declared:
            raise Silenced  # its declaration was wrong, which has been said
        message = f"`{name.text}` is not {ARTICLES[what]}"
        help = did_you_mean(name.text, known)
        raise SpecError([Diagnostic("PL101", message, name.span, help=help)])

    def set_point(self, name: str, named: Named) -> None:
        """Notes what an edge may name. Raises SpecError when the name is taken."""
        first = self.points.get(name)
        if first is not None or name in self.numbers["stream"]:
            message = f"`{name}` already names a {first.kind if first else 'stream'}"
            help = "phases, captures, calls and streams share names"
            if named.kind == "call":
                help = "name each call, as in `call MODULE() as NAME`"
            labels = (Label(first.span, "the first"),) if first else ()
            found = Diagnostic("PL104", message, named.span, help=help, labels=labels)
            raise SpecError([found])
        self.points[name] = named

    def names(self) -> dict[str, Any]:
        """Everything an edge may name here, for suggestions."""
        return {**self.points, **self.numbers["stream"]}
