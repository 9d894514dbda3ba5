"""Renames over a text, the files it uses, and the open documents that use it."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from plait.dsl.library import STANDARD
from plait.dsl.renaming import refusal, renamed
from plait.dsl.symbols import Occurrence, Symbol
from plait.lsp.elsewhere import elsewhere
from plait.lsp.reading import Reading


class NoRename(Exception):
    """Why not, in one line."""


def renameable(reading: Reading, offset: int) -> tuple[types.Range, str]:
    """What would be renamed there, and its name. Raises NoRename."""
    symbol, found = _symbol(reading, offset)
    return reading.lines.range(found.span), symbol.name


def rename(
    reading: Reading, offset: int, name: str, others: Iterable[Reading] = ()
) -> dict[str, list[types.TextEdit]]:
    """The edits of each document, other open ones that use this one among them. Raises NoRename."""
    symbol, _ = _symbol(reading, offset)
    assert reading.names is not None
    if reason := refusal(reading.names, symbol, name):
        raise NoRename(reason)
    changes: dict[str, list[types.TextEdit]] = {}
    edits = [(reading, edit) for edit in renamed(symbol, name)]
    edits += [(one, place.edit(name)) for one, place in elsewhere(reading, symbol, others)]
    for one, edit in edits:
        place = one.location(edit.span)
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
