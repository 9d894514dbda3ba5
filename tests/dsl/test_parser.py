"""Text to syntax: what parses, and what is said of what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.dsl import syntax
from plait.dsl.diagnostic import SpecError
from plait.dsl.parser import MAX_CHARACTERS, parse, parse_expression
from plait.dsl.span import Source
from plait.dsl.words import FORMS, RESERVED, SILENT


def parsed(text: str) -> syntax.File:
    return parse(Source("test.spec", text))


def test_the_canonical_round_parses(root: Path) -> None:
    """The design's own eagle.spec, word for word, is in the language."""
    text = (root / "tests" / "specs" / "canonical_eagle.spec").read_text(encoding="utf-8")
    file = parsed(text)
    assert [pipeline.name.text for pipeline in file.pipelines] == ["eagle"]
    assert [variant.name.text for variant in file.variants] == ["serial", "deep"]
    assert sum(isinstance(node, syntax.Capture) for node in file.pipelines[0].body) == 3


def test_every_node_knows_its_text() -> None:
    """A span covers a construct from its first character to its last."""
    text = "spec 1\npipeline p {\n  buffer x : i64[n, 2 * n] carried copies 2\n}\n"
    (buffer,) = parsed(text).pipelines[0].body
    assert isinstance(buffer, syntax.Buffer) and buffer.shape is not None
    assert buffer.span.text == "buffer x : i64[n, 2 * n] carried copies 2"
    assert (buffer.span.line, buffer.span.column) == (3, 3)
    assert buffer.shape[1].span.text == "2 * n"
    assert str(buffer.name.span) == "test.spec:3:10"


def test_columns_count_characters_beyond_ascii() -> None:
    """A Chinese comment in front moves a column by its characters, not its bytes."""
    (stream,) = parsed("pipeline p { # 验证\n stream a }").pipelines[0].body
    assert (stream.span.line, stream.span.column) == (2, 2)
    with pytest.raises(SpecError) as caught:
        parsed("pipeline 验证 { }")
    assert caught.value.diagnostics[0].span.column == 10


def test_equal_texts_give_equal_syntax_whatever_the_layout() -> None:
    """Where a node stands does not count in comparing it."""
    assert parsed("pipeline p { stream a }") == parsed("pipeline p {\n\n   stream a # here\n}")


def test_operators_bind_as_they_do_in_python() -> None:
    """Products before sums, comparisons before not, and, or; equal ones from the left."""
    one = parse_expression(Source("e", "1 - 2 - 3 * 4 == n and not a or b"))
    other = parse_expression(Source("e", "((((1 - 2) - (3 * 4)) == n) and (not a)) or b"))
    assert one == other


def test_there_are_52_reserved_words() -> None:
    """The list is closed: a spec written today stays valid."""
    assert len(RESERVED) == 52
    assert set(FORMS) <= RESERVED


def test_every_reserved_word_is_a_terminal_of_its_own(root: Path) -> None:
    """By the name that a token of it is given, so that no name is ever one."""
    grammar = (root / "dsl" / "grammar.lark").read_text(encoding="utf-8")
    for word in RESERVED:
        terminal = f"_{word.upper()}" if word in SILENT else word.upper()
        assert f"\n{terminal}.1: /{word}\\b/\n" in grammar


@pytest.mark.parametrize("word", sorted(RESERVED - {"in"}))
def test_no_reserved_word_is_a_name(word: str) -> None:
    """A reserved word as a name is refused, as a reserved word where that can be seen."""
    with pytest.raises(SpecError) as caught:
        parsed(f"pipeline p {{ stream {word} }}")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PL001"
    assert f"`{word}` is a reserved word" in diagnostic.message + diagnostic.help


def test_too_large_and_too_deep_are_errors_of_their_own() -> None:
    """The stated limits hold, for texts, expressions and blocks, without a traceback."""
    for text in (
        "#" * (MAX_CHARACTERS + 1),
        "pipeline p { param n = " + "not " * 5000 + "true }",
        "pipeline p { param n = " + "(" * 5000 + "1" + ")" * 5000 + "}",
        "pipeline p { param n = " + "1 + " * 5000 + "1 }",
        "pipeline p { " + "when true { " * 5000 + "} " * 5000 + "}",
        "pipeline p { param n = " + "[" * 5000 + "]" * 5000 + "}",
    ):
        with pytest.raises(SpecError) as caught:
            parsed(text)
        assert caught.value.diagnostics[0].code == "PL002"
