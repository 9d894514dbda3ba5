"""Renames over a text and the files it uses."""

from __future__ import annotations

from lsprotocol import types

from plait.dsl.library import STANDARD
from plait.dsl.renaming import refusal, renamed
from plait.dsl.symbols import Occurrence, Symbol
from plait.lsp.reading import Reading


class NoRename(Exception):
    """Why not, in one line."""


def renameable(reading: Reading, offset: int) -> tuple[types.Range, str]:
    """What would be renamed there, and its name. Raises NoRename."""
    symbol, found = _symbol(reading, offset)
    return reading.lines.range(found.span), symbol.name


def rename(reading: Reading, offset: int, name: str) -> dict[str, list[types.TextEdit]]:
    """The edits of each document. Raises NoRename."""
    symbol, _ = _symbol(reading, offset)
    assert reading.names is not None
    if reason := refusal(reading.names, symbol, name):
        raise NoRename(reason)
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in renamed(symbol, name):
        place = reading.location(edit.span)
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, edit.text))
    return changes


def _symbol(reading: Reading, offset: int) -> tuple[Symbol, Occurrence]:
    found = reading.at(offset)
    if found is None or reading.names is None:
        raise NoRename("there is no name here that a spec declares")
    symbol = reading.names.of(found)
    if not symbol.declarations:
        raise NoRename(f"`{symbol.name}` is declared nowhere here")
    if any(one.span.source.folder == STANDARD for one in symbol.occurrences):
        raise NoRename(f"`{symbol.name}` is of the standard library")
    return symbol, found
