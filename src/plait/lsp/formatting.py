"""The one layout, where this version has it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from lsprotocol import types

from plait.dsl.diagnostic import SpecError
from plait.lsp.reading import Reading

LAYOUT = "plait.dsl.format"


def can_format() -> bool:
    return find_spec(LAYOUT) is not None


def formatting(reading: Reading) -> list[types.TextEdit]:
    """One edit for the whole text; none where nothing changes, or the text cannot be read."""
    try:
        text = import_module(LAYOUT).formatted(reading.source)
    except SpecError:
        return []
    return [] if text == reading.source.text else [types.TextEdit(reading.lines.whole, text)]
