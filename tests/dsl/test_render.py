"""How a diagnostic looks: places, carets, nothing that steers a terminal."""

from __future__ import annotations

from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.render.as_json import as_json
from plait.dsl.span import Source, Span


def test_carets_stand_under_wide_characters(shown) -> None:
    """Chinese characters take two columns in a terminal, so carets move by two."""
    source = Source("验证.spec", "x\n  阶段 是 here\n")
    start = source.text.index("是")
    one = Diagnostic("PL999", "this is it", Span(source, start, start + 1), label="here")
    assert shown([one]) == (
        "error[PL999]: this is it\n --> 验证.spec:2:6\n2 |   阶段 是 here\n  |        ^^ here\n"
    )


def test_a_text_cannot_steer_the_terminal(shown) -> None:
    """Escape codes in a spec or a message come out as question marks."""
    source = Source("a.spec", "bad \x1b[31m text\ttab\n")
    one = Diagnostic("PL999", "see \x1b[2J", Span(source, 4, 5), facts=(("name", "a\x07b"),))
    text = shown([one])
    assert "\x1b" not in text and "\x07" not in text
    assert "bad ?[31m text tab" in text and "see ?[2J" in text and "name: a?b" in text


def test_labels_of_other_texts_are_shown_apart(shown) -> None:
    """A setting on the command line and the line of the spec it meets are two excerpts."""
    first, second = Source("--set", "n=1"), Source("p.spec", "param n = true\n")
    one = Diagnostic(
        "PL999", "kinds", Span(first, 2, 3), labels=(Label(Span(second, 6, 7), "declared here"),)
    )
    assert shown([one]) == (
        "error[PL999]: kinds\n --> --set:1:3\n1 | n=1\n  |   ^\n"
        " ::: p.spec:1:7\n1 | param n = true\n  |       - declared here\n"
    )


def test_json_says_where_a_place_begins_and_ends() -> None:
    """Programs get start and end, lines and columns from 1, columns in characters."""
    source = Source("a.spec", "one\ntwo three\n")
    found = as_json(Diagnostic("PL999", "m", Span(source, 8, 13)))
    assert found["place"] == {
        "file": "a.spec",
        "line": 2,
        "column": 5,
        "end_line": 2,
        "end_column": 10,
    }
    assert found["severity"] == "error" and found["fix"] is None
