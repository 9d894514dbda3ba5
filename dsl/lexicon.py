"""What each word and sign of the language is to a reader: the one table that colours are made from.

`highlight.py` makes a lexer for Pygments of it, `textmate.py` a grammar for editors. A rule holds
within a line, which is all an editor sees at a time. Words that are not reserved mean something only
at their place: a region says where its attributes stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from plait.dsl.words import (
    BUFFER_ATTRIBUTES,
    COLLECTIVES,
    DTYPES,
    PHASE_ATTRIBUTES,
    RESERVED,
    STREAM_KINDS,
    UNITS,
)

# Reserved words by class; those that nobody sorts are statements.
_CLASSES = {
    "declaration": "buffer capture dim flag group guard launch module param phase pipeline pool "
    "require spec stream use variant",
    "clause": "as by capacity collective cost disjoint from in into of on over prev reads rows same "
    "updates writes",
    "logic": "and not or",
    "truth": "false true",
}
_CLASS = {word: kind for kind, words in _CLASSES.items() for word in words.split()}
_GO_ON = frozenset(["on", "in", "and", "or", "not", "true", "false"])
"""Reserved words that can stand in the middle of a declaration's line."""

FUNCTIONS = ("env", "len", "min", "max", "ceil_div")
MEMBERS = ("live", "loaded")


def word_class(word: str) -> str:
    """The class of a reserved word: declaration, statement, clause, logic or truth."""
    return _CLASS.get(word, "statement")


@dataclass(frozen=True)
class Rule:
    """A pattern whose groups cover all it matches, and the kind of each; "" is white space."""

    pattern: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Region:
    """From `begin` to `end`, which only looks ahead, or to `close`; in it, its own rules come first."""

    name: str
    begin: Rule
    inside: tuple[Rule | str, ...]
    """Rules, and names of regions, this one's perhaps."""
    end: str
    close: Rule | None = None


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words))


def _words(words: Iterable[str], kind: str) -> Rule:
    return Rule(rf"\b({_any(words)})\b", (kind,))


_GAP = "([ \\t]+)"
_SPACE = "([ \\t]*)"
_NAME = rf"(?!(?:{_any(RESERVED)}|_)\b)[A-Za-z_][A-Za-z0-9_]*"


def _named(words: str, kind: str) -> Rule:
    """A word and the name that it gives, a name of that kind."""
    introducers = words.split()
    (word_kind,) = {word_class(word) for word in introducers}
    return Rule(rf"\b({_any(introducers)}){_GAP}({_NAME})", (word_kind, "", kind))


def _stream() -> Rule:
    """A stream, its name, and perhaps its class behind a colon."""
    named = _named("stream", "thing")
    sort = rf"(?:{_SPACE}(:){_SPACE}({_any(STREAM_KINDS)})\b)?"
    return Rule(named.pattern + sort, (*named.kinds, "", "punctuation", "", "type"))


PLAIN = (
    Rule(r"(#[^\n]*)", ("comment",)),
    Rule(r'("[^"\n]*"?)', ("string",)),
    Rule(rf"([0-9]+(?:\.[0-9]+)?(?:(?:{_any(UNITS)})\b)?)", ("number",)),
    _named("pipeline module variant use", "part"),
    _named("of", "part"),
    Rule(rf"\b(call){_GAP}({_NAME}(?:\.{_NAME})*)", ("statement", "", "part")),
    _named("capture", "leaf"),
    _named("param flag dim guard group pool", "thing"),
    _named("for set", "thing"),
    _stream(),
    Rule(rf"\b(collective){_GAP}({_any(COLLECTIVES)})\b", ("clause", "", "type")),
    *(
        _words((word for word in RESERVED if word_class(word) == kind), kind)
        for kind in ("declaration", "statement", "clause", "logic", "truth")
    ),
    Rule(rf"(?<=[A-Za-z0-9_\]]\.)({_any(MEMBERS)})\b", ("builtin",)),
    Rule(rf"\b({_any(FUNCTIONS)})(?=[ \t]*\()", ("function",)),
    _words(DTYPES, "type"),
    _words(["host"], "builtin"),
    Rule(r"(_)\b", ("operator",)),
    Rule(r"([A-Za-z_][A-Za-z0-9_]*)", ("name",)),
    Rule(r"(==|!=|<=|>=|\.\.|//|[-+*/%<>=])", ("operator",)),
    Rule(r"([{}()\[\],:.])", ("punctuation",)),
)
"""What holds everywhere, first match first. Between them they leave no sign of the language out."""

_END = rf"(?=[{{}}(),]|\b(?:{_any(RESERVED - _GO_ON)})\b)"

REGIONS = (
    Region(
        "buffer",
        _named("buffer", "thing"),
        (
            "brackets",
            _words(["opaque"], "type"),
            _words((*BUFFER_ATTRIBUTES, "pinned"), "attribute"),
        ),
        _END,
    ),
    Region(
        "phase",
        _named("phase launch", "leaf"),
        ("brackets", _words(PHASE_ATTRIBUTES, "attribute")),
        _END,
    ),
    # In brackets an attribute's word is a name like any other. One left open ends with the statement.
    Region(
        "brackets",
        Rule(r"(\[)", ("punctuation",)),
        ("brackets",),
        rf"(?=[{{}}]|\b(?:{_any(RESERVED - _GO_ON)})\b)",
        Rule(r"(\])", ("punctuation",)),
    ),
)
OUTERMOST = ("buffer", "phase")
"""The regions that begin anywhere."""
