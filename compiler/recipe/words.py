"""A shell text cut into words and the ends of commands, each with its place. Nothing is expanded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NoReturn

from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.record import Record
from plait.dsl.span import Source, Span

LARGEST = 1 << 20
"""Characters of a recipe."""

_PIECE = re.compile(
    r"""(?P<single>'[^']*+')
      | (?P<double>"(?:[^"\\]|\\.)*+")
      | (?P<escaped>\\(?:\r\n|.))
      | (?P<substituted>\$\((?:[^()]++|\([^()]*+\))*+\) | \$\{[^}\n]{0,256}\} | `[^`]*+`)
      | (?P<plain>[^\s'"\\`;&|()<>])""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(f"(?:{re.sub(r'[?]P<[a-z]+>', '?:', _PIECE.pattern)})++", _PIECE.flags)
_BLANK = re.compile(r"(?:[^\S\n]|\\\r?\n)++|#[^\n]*+")
_REDIRECT = re.compile(r"(?:[0-9]*+|&)(?:<<<|<<-?|>>|<>|[<>])[&|]?")
_END = re.compile(r"[;&|()\n]")


class Word(Record):
    span: Span

    def from_(self, start: int) -> Word:
        """The word without its first characters."""
        return Word(self.span._replace(start=self.span.start + start))

    @property
    def text(self) -> str:
        return self.span.text

    @property
    def value(self) -> str | None:
        """The word as a command gets it; None where only running the recipe would tell."""
        for piece in _PIECE.finditer(self.text):
            if piece.lastgroup == "substituted" or piece[0] in ("$", "\\"):
                return None
            if piece.lastgroup == "double" and re.search("[$`]", re.sub(r"\\.", "", piece[0])):
                return None
        return "".join(shlex.split(re.sub(r"\\\r?\n", "", self.text)))


def commands(source: Source) -> Iterator[list[Word]]:
    """The words of every simple command, without redirections. Raises SpecError."""
    text = source.text
    if len(text) > LARGEST:
        _fail(f"a recipe has at most {LARGEST:,} characters", Span(source, 0, 0))
    if (null := text.find("\0")) >= 0:
        _fail("a recipe holds no NUL character", Span(source, null, null + 1))
    words: list[Word] = []
    documents: list[str] = []
    redirected = ""
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif redirect := _REDIRECT.match(text, at):
            redirected, at = redirect[0], redirect.end()
        elif end := _END.match(text, at):
            yield words
            words, redirected, at = [], "", end.end()
            if end[0] == "\n":
                at = _behind(text, at, documents)
                documents = []
        elif word := _WORD.match(text, at):
            found = Word(Span(source, at, word.end()))
            at = word.end()
            if not redirected:
                words.append(found)
            elif redirected.endswith(("<<", "<<-")):
                documents.append(found.value or "")
            redirected = ""
        else:
            _unfinished(source, at)
    yield words


def _behind(text: str, at: int, documents: list[str]) -> int:
    """Where the here-documents that begin at a line are over."""
    for mark in documents:
        while at < len(text):
            end = text.find("\n", at) % (len(text) + 1)
            line, at = text[at:end], end + 1
            if line.strip() == mark:
                break
    return at


def _unfinished(source: Source, at: int) -> NoReturn:
    sign = source.text[at]
    if sign == "\\":
        _fail("a recipe does not end in a backslash", Span(source, at, at + 1))
    names = {"'": "quote", '"': "double quote", "`": "backtick"}
    _fail(f"this {names[sign]} is never closed", Span(source, at, at + 1))


def _fail(message: str, span: Span) -> NoReturn:
    help = "a recipe is a shell text; of it, exports and the options of the server are read"
    raise SpecError([Diagnostic("PL708", message, span, help=help)])
