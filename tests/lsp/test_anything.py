"""No text, however broken, and no place in it makes the server fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from drawing.texts import WHOLE_LANGUAGE, texts
from editing.client import Client
from plait.dsl.span import Span
from plait.lsp.actions import actions
from plait.lsp.completion import completions
from plait.lsp.definitions import definitions, highlights, references
from plait.lsp.diagnostics import shown
from plait.lsp.hover import hover
from plait.lsp.judge import judged
from plait.lsp.positions import Lines
from plait.lsp.reading import Reading, source_of
from plait.lsp.rename import NoRename, rename, renameable
from plait.lsp.symbols import outline

ROOT = Path(__file__).parent.parent.parent
SPECS = [
    WHOLE_LANGUAGE,
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.spec"))),
]
ENCODINGS = ["utf-8", "utf-16", "utf-32"]


def ask_everything(text: str, offset: int) -> None:
    uri = "untitled:any"
    reading = Reading(uri, source_of(uri, text), "utf-16")
    hover(reading, offset)
    completions(reading, offset)
    definitions(reading, offset)
    references(reading, offset, True)
    highlights(reading, offset)
    if reading.library is not None:
        outline(reading.library.file, reading.lines)
    try:
        place, name = renameable(reading, offset)
        edits = rename(reading, offset, "quite_another_name")
        assert any(edit.range == place for edit in edits[uri]) and name
    except NoRename:
        pass
    found = shown(reading, judged(reading.source))
    actions(reading, found, reading.lines.whole)


@st.composite
def half_written(draw: st.DrawFn) -> tuple[str, int]:
    """A spec cut off somewhere, or with a piece cut out of it, and a place near the cut."""
    text = draw(st.sampled_from(SPECS))
    first = draw(st.integers(0, len(text)))
    last = draw(st.one_of(st.just(len(text)), st.integers(first, min(len(text), first + 40))))
    return text[:first] + text[last:], max(0, first - draw(st.integers(0, 3)))


@given(half_written())
@settings(max_examples=150)
def test_a_spec_that_is_half_written_answers_everything(drawn: tuple[str, int]) -> None:
    """With an answer or with none."""
    ask_everything(*drawn)


@given(texts(), st.integers(0, 100))
@settings(max_examples=150)
def test_any_text_answers_everything(text: str, offset: int) -> None:
    """Pieces of the language in any order, and texts of anything, lone surrogates among it."""
    ask_everything(text, min(offset, len(text)))


@given(st.text(st.sampled_from("a\n\r#é中😀\u2028\x0c")), st.sampled_from(ENCODINGS), st.data())
def test_every_place_comes_back(text: str, encoding: str, data) -> None:
    """From offset to line and column and back, but within an end of line of two characters."""
    lines = Lines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    position = lines.position(offset)
    within = text[max(0, offset - 1) : offset + 1] == "\r\n"
    assert lines.offset(position) == offset - within
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    assert position.line == before.count("\n") or within
    if not within:
        units = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        encoded = before.rpartition("\n")[2].encode(
            {"utf-8": "utf-8"}.get(encoding, f"{encoding}-le")
        )
        assert position.character == len(encoded) // units


def test_a_place_outside_is_the_nearest_inside() -> None:
    """As the protocol says of columns; a place within a character is before it."""
    lines = Lines("😀a\r\nb", "utf-16")
    assert lines.offset(types.Position(0, 1)) == 0
    assert lines.offset(types.Position(0, 99)) == 2
    assert lines.offset(types.Position(9, 0)) == len(lines.text)
    assert lines.whole == types.Range(types.Position(0, 0), types.Position(1, 1))
    assert lines.range(Span(source_of("untitled:x", ""), 0, 99)).end == types.Position(1, 1)


def test_the_real_server_answers_for_every_prefix(tmp_path: Path) -> None:
    """Typed through, a spec brings no error, and nothing but the protocol to stdout."""
    editor = Client(tmp_path)
    text = SPECS[1]
    uri = editor.open("typed.spec", "")
    for end in range(0, len(text), 97):
        editor.change(uri, text[:end])
        editor.ask("textDocument/documentSymbol", textDocument={"uri": uri})
        for method in ("hover", "completion", "definition", "documentHighlight"):
            editor.at(method, uri, text[:end], end)
    editor.change(uri, text + "# \ud800")
    assert editor.findings(uri) == []
    assert editor.end() == 0
    assert editor.errors == []


@pytest.mark.parametrize(
    "text", ["", "\n", "}", "{" * 500, "spec 1\npipeline p {" + "when 1 {" * 300]
)
def test_texts_at_the_limits_answer_everything(text: str) -> None:
    """Nothing, too much, too deep."""
    ask_everything(text, len(text))
