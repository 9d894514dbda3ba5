"""Text to syntax.

Lark builds the tables from `grammar.lark`; `build.py` makes the nodes while it parses, so no tree is
built in between. Tables are kept for the next run (`tables.py`). A mistake does not end the reading:
`recovery.py` goes on at the next statement, so one run reports all, at most 100.

Limits, each an error of its own: 1,048,576 characters, nesting 100 deep.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from lark import UnexpectedCharacters, UnexpectedToken

from plait.dsl import syntax
from plait.dsl.build import Build
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.span import Source, Span
from plait.dsl.tables import load_parser
from plait.dsl.words import TOP_LEVEL

MAX_CHARACTERS = 1 << 20
MOST_MISTAKES = 100


def parse(source: Source) -> syntax.File:
    """The file's syntax. Raises SpecError with every mistake in it."""
    return _parse(source, "file")


def parse_expression(source: Source, at: int = 0) -> syntax.Expression:
    """The syntax of the one expression that a text holds from `at` on. Raises SpecError."""
    return _parse(source, "expression", at)


def readable(source: Source) -> syntax.File | None:
    """What of a file can be read, with statements that are wrong left out; None where too much is."""
    try:
        return _read(source, "file")[0]
    except SpecError:
        return None


def expected(source: Source) -> set[str]:
    """What may stand where a text ends: names of the grammar's terminals; empty where nobody can say."""
    from plait.dsl.recovery import go_on

    with _LOCK:
        build, parser = _shared()
        build.begin(source)
        read = partial(parser.parse, source.text, start="file")
        for _ in range(MOST_MISTAKES):
            try:
                read()
                return {word.upper() for word in TOP_LEVEL}
            except (UnexpectedToken, UnexpectedCharacters) as error:
                if isinstance(error, UnexpectedToken) and error.token.type == "$END":
                    return set(error.accepts or error.expected)
                if not go_on(source.text, error):
                    return set()
                read = error.interactive_parser.resume_parse  # type: ignore[union-attr]
            except SpecError:
                return set()
    return set()


def _parse(source: Source, start: str, at: int = 0) -> Any:
    parsed, mistakes = _read(source, start, at)
    if mistakes:
        raise SpecError(mistakes)
    return parsed


def _read(source: Source, start: str, at: int = 0) -> tuple[Any, list[Diagnostic]]:
    """What the text holds, as far as it can be read, and its mistakes."""
    if len(source.text) > MAX_CHARACTERS:
        limit = f"the text has {len(source.text):,} characters; the most is {MAX_CHARACTERS:,}"
        raise SpecError([Diagnostic("PL002", limit, Span(source, 0, 0), help="split the file")])
    with _LOCK:
        build, parser = _shared()
        build.begin(source)
        # Blanks for what is skipped, so that every offset is one of the source.
        text = " " * at + source.text[at:]
        try:
            parsed = parser.parse(text, start=start)
        except (UnexpectedToken, UnexpectedCharacters) as error:
            parsed = _all_mistakes(build, error)
        return parsed, build.mistakes[:MOST_MISTAKES]


def _all_mistakes(build: Any, error: UnexpectedToken | UnexpectedCharacters) -> Any:
    """Notes the mistake and every other one that can be told apart from it; returns what is left."""
    from plait.dsl.mistakes import mistake
    from plait.dsl.recovery import go_on

    while len(build.mistakes) < MOST_MISTAKES:
        build.mistakes.append(mistake(build.source, error))
        if not go_on(build.source.text, error):
            return None
        try:
            return error.interactive_parser.resume_parse()  # type: ignore[union-attr]
        except (UnexpectedToken, UnexpectedCharacters) as another:
            error = another
    return None


_LOCK = threading.Lock()
_PARSER: tuple[Any, Any] | None = None


def _shared() -> tuple[Any, Any]:
    """The one builder and its parser; `_LOCK` is held by whoever uses them."""
    global _PARSER
    if _PARSER is None:
        build = Build()
        _PARSER = build, load_parser(build)
    return _PARSER
