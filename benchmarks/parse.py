"""Text to typed syntax with spans against lark's own lexing of the same 10,000 lines: at most 3 times it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lark import Lark

import plait.dsl.parser
from plait.bench.paired import Pair, paired, timed
from plait.dsl.span import Source

LINES = 10_000
EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"
GRAMMAR = Path(plait.dsl.parser.__file__).with_name("grammar.lark")


def run(turns: int = 15) -> Iterator[Pair]:
    source = Source("lines.spec", example_lines(LINES))
    lark = Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", start="file")
    plain = list(lark.lex("spec 1"))
    assert len(plain) == 2
    yield paired(
        f"{source.text.count(chr(10)):,} lines to typed syntax / lark's lexing of them",
        lambda: timed(lambda: plait.dsl.parser.parse(source)),
        lambda: timed(lambda: sum(1 for _ in lark.lex(source.text))),
        turns,
    )


def example_lines(lines: int) -> str:
    """The example's pipeline, as often as it takes to have so many lines."""
    pipeline = EXAMPLE.read_text(encoding="utf-8").removeprefix("spec 1\n")
    return "spec 1\n" + pipeline * -(-lines // pipeline.count("\n"))
