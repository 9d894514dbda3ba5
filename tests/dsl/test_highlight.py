"""Colours of specs: every sign has its kind, and no text is lost on the way."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from pygments.lexers import get_lexer_for_filename
from pygments.token import Error, Token, Whitespace

from drawing.texts import WHOLE_LANGUAGE, texts
from plait.dsl import lexicon, values
from plait.dsl.highlight import TOKENS, PlaitLexer
from plait.dsl.words import RESERVED

KINDS = {token: kind for kind, token in TOKENS.items()}


def coloured(text: str) -> list[str]:
    """`text:kind` of all that is not white space."""
    found = PlaitLexer(stripnl=False).get_tokens(text)
    return [f"{value}:{KINDS[token]}" for token, value in found if token is not Whitespace]


def test_a_line_has_the_colours_of_its_parts() -> None:
    """Words by class, names by what they name, attributes, types, units and the places of regions."""
    assert coloured(
        "phase nextn[i] on main host_sync { reads tokens[_, 0 .. i - 1] as t  cost 35us }  # why"
    ) == [
        *("phase:declaration", "nextn:leaf", "[:punctuation", "i:name", "]:punctuation"),
        *("on:clause", "main:name", "host_sync:attribute", "{:punctuation"),
        *("reads:clause", "tokens:name", "[:punctuation", "_:operator", ",:punctuation"),
        *("0:number", "..:operator", "i:name", "-:operator", "1:number", "]:punctuation"),
        *("as:clause", "t:name", "cost:clause", "35us:number", "}:punctuation", "# why:comment"),
    ]
    assert coloured("buffer kv : bf16[bs] on pinned carried copies 2 pad -1 in ll") == [
        *("buffer:declaration", "kv:thing", "::punctuation", "bf16:type"),
        *("[:punctuation", "bs:name", "]:punctuation", "on:clause", "pinned:attribute"),
        *("carried:attribute", "copies:attribute", "2:number"),
        *("pad:attribute", "-:operator", "1:number", "in:clause", "ll:name"),
    ]
    assert coloured('flag on_plan = env("X", false) and not n.live == 1') == [
        *("flag:declaration", "on_plan:thing", "=:operator", "env:function", "(:punctuation"),
        *('"X":string', ",:punctuation", "false:truth", "):punctuation", "and:logic", "not:logic"),
        *("n:name", ".:punctuation", "live:builtin", "==:operator", "1:number"),
    ]
    assert coloured("join prev 2 g.loaded into host  call m.part(x = y)  variant v of p") == [
        *("join:statement", "prev:clause", "2:number", "g:name", ".:punctuation"),
        *("loaded:builtin", "into:clause", "host:builtin", "call:statement", "m.part:part"),
        *("(:punctuation", "x:name", "=:operator", "y:name", "):punctuation"),
        *("variant:declaration", "v:part", "of:clause", "p:part"),
    ]


def test_a_word_that_is_not_reserved_is_a_name_away_from_its_place() -> None:
    """`task`, `raw`, `copy` and `min` name what a spec likes, and are coloured as names there."""
    assert coloured("buffer task : i64[task, min]  phase raw on copy { reads task, static }") == [
        *("buffer:declaration", "task:thing", "::punctuation", "i64:type", "[:punctuation"),
        *("task:name", ",:punctuation", "min:name", "]:punctuation"),
        *("phase:declaration", "raw:leaf", "on:clause", "copy:name", "{:punctuation"),
        *("reads:clause", "task:name", ",:punctuation", "static:name", "}:punctuation"),
    ]


def test_what_is_half_written_colours_what_follows_as_ever() -> None:
    """An open bracket or a missing name ends with its statement, an open text with its line."""
    follows = ["stream:declaration", "copy:thing", "::punctuation", "copy:type"]
    for half in ("buffer x : i64[bs, (", "phase", "phase p[", 'require n > 1, "why'):
        assert coloured(f"{half}\nstream copy : copy")[-4:] == follows


def test_examples_and_the_whole_language_have_no_strange_sign(root: Path) -> None:
    """Each construct of the language is coloured, those included that the compiler does not read yet."""
    for text in [
        *(path.read_text() for path in (root / "examples").glob("*.spec")),
        WHOLE_LANGUAGE,
    ]:
        assert not [value for token, value in PlaitLexer().get_tokens(text) if token is Error]
    assert set(RESERVED) <= set(WHOLE_LANGUAGE.split())
    kinds = {item.rpartition(":")[2] for item in coloured(WHOLE_LANGUAGE)}
    assert kinds == {kind for kind in TOKENS if kind}


@given(texts())
def test_no_text_is_lost(text: str) -> None:
    """The tokens of any text, joined, are the text, each where it says."""
    at = 0
    for place, _, value in PlaitLexer().get_tokens_unprocessed(text):
        assert place == at and text.startswith(value, at)
        at += len(value)
    assert at == len(text)


def test_each_kind_has_a_colour_of_its_own() -> None:
    """No two kinds share a token, and every token is one of Pygments' own, so that themes know it."""
    assert len(KINDS) == len(TOKENS)
    from pygments.token import STANDARD_TYPES

    assert all(token in STANDARD_TYPES for token in KINDS) and Token not in KINDS


def test_all_that_the_compiler_takes_has_a_colour() -> None:
    """A function that is new there is missing here; words of other sorts stand in `words.py` alone."""
    assert {"env", *values._FUNCTIONS} <= set(lexicon.FUNCTIONS)


def test_every_word_that_has_a_class_is_reserved() -> None:
    """The words themselves stand in `words.py` alone; each class has some of them."""
    assert set(lexicon._CLASS) <= RESERVED
    assert {*map(lexicon.word_class, RESERVED)} == {*lexicon._CLASS.values(), "statement"}


RPM = "Name: plait\nVersion: 1\n%description\npipeline\n"


def test_pygments_finds_the_lexer_and_leaves_packages_of_rpm_alone(
    root: Path, eagle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the entry point. Files of RPM end in `.spec` too: a text that is not like ours is not taken."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, value),) = project["entry-points"]["pygments.lexers"].items()
    entry = EntryPoint(name, value, "pygments.lexers")
    monkeypatch.setattr("pygments.plugin.iter_entry_points", lambda group: [entry])
    assert get_lexer_for_filename("round.spec", eagle.text).name == "Plait"
    assert get_lexer_for_filename("round.spec", "# why\npipeline p {\n}\n").name == "Plait"
    assert get_lexer_for_filename("plait.spec", RPM).name == "RPMSpec"
    assert get_lexer_for_filename("plait.spec").name == "RPMSpec"
