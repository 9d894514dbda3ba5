"""A text that was given captures, judged; what a replay would overwrite too early is made to last.

What a graph leaves in its pool lives until the next replay. Where others read it longer, the buffer is
declared `static`, which places it outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from plait.compiler.compile import Asked, prove_all
from plait.compiler.rules import graph_memory
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix, SpecError
from plait.dsl.edits import edited
from plait.dsl.format import formatted
from plait.dsl.span import Source, Span


@dataclass(frozen=True, slots=True)
class Lasting:
    source: Source
    """Laid out."""
    static: tuple[str, ...]
    """Buffers that were declared so."""
    wrong: str | None
    """What is wrong with it in any pipeline or variant, if anything."""


def lasting(
    source: Source, body: Iterable[syntax.Statement], fixes: list[Fix], asked: Asked
) -> Lasting:
    """The text with fixes made in it, and buffers of the pipeline's body static as they need be."""
    buffers = {node.name.text: node for node in body if isinstance(node, syntax.Buffer)}
    static: dict[str, None] = {}
    while True:
        text, _ = edited(source, [*fixes, *(_static(buffers[name]) for name in static)])
        made = Source(source.name, text.text, source.folder)
        try:
            made = Source(source.name, formatted(made), source.folder)
            judged = prove_all(made, replace(asked, variant=None))
            found = [one for group in judged for one in group.findings]
        except SpecError as error:
            found = error.diagnostics
        errors = [one for one in found if one.severity == "error"]
        kept = {
            name
            for one in errors
            if one.code == graph_memory.RULE.code
            for fact, name in one.facts
            if fact == "kept" and name in buffers and name not in static
        }
        if not kept:
            wrong = f"{errors[0].code}: {errors[0].message}" if errors else None
            return Lasting(made, tuple(static), wrong)
        static |= dict.fromkeys(sorted(kept))


def _static(node: syntax.Buffer) -> Fix:
    end = node.span.end
    return Fix("make it last", (Edit(Span(node.span.source, end, end), " static"),))


def lines(nodes: Sequence[syntax.Statement]) -> tuple[int, int]:
    """The first and the last that statements stand on."""
    last = nodes[-1].span
    return nodes[0].span.line, last.source.place(max(last.end - 1, last.start))[0]


def line_end(source: Source, place: int) -> int:
    """Behind the remark that stands behind a statement."""
    end = source.text.find("\n", place)
    rest = source.text[place:end].strip() if end >= 0 else "more"
    return end if not rest or rest.startswith("#") else place
