"""Another name for a symbol, everywhere it is meant."""

from __future__ import annotations

import re

from plait.dsl.build import LONGEST_NAME
from plait.dsl.diagnostic import Edit
from plait.dsl.symbols import Names, Symbol
from plait.dsl.words import DTYPES, RESERVED

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refusal(names: Names, symbol: Symbol, new: str) -> str:
    """Why the symbol cannot have that name; empty where it can."""
    if new in RESERVED or new == "_":
        return f"`{new}` is a reserved word, so it cannot be a name"
    if not _NAME.fullmatch(new):
        return f"{new!r} is not a name: letters, digits and `_`, no digit first"
    if len(new) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} characters, and this {len(new):,}"
    sorts = {sort for _, sort in symbol.homes}
    if "point" in sorts and new == "host":
        return "`host` is built in"
    if "value" in sorts and new in (*DTYPES, "opaque"):
        return f"`{new}` is a type of buffer"
    if new != symbol.name and any((home, new) in names.taken for home in symbol.homes):
        return f"`{new}` already names something else here"
    return ""


def renamed(symbol: Symbol, new: str) -> list[Edit]:
    """What has to be written, file after file, for the symbol to have that name."""
    return [one.edit(new) for one in symbol.occurrences if new != symbol.name]
