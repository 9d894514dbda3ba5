"""Where a name is declared, and everywhere it is meant."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from plait.dsl import syntax
from plait.dsl.names import used_as
from plait.lsp.elsewhere import elsewhere
from plait.lsp.reading import Reading


def definitions(reading: Reading, offset: int) -> list[types.Location]:
    """The declarations of the name there; of a used file, the file."""
    found = reading.at(offset)
    if found is None or reading.names is None or reading.library is None:
        return []
    symbol = reading.names.of(found)
    used = reading.library.used
    if isinstance(symbol.node, syntax.Use) and used_as(symbol.node) in used:
        file = used[used_as(symbol.node)].file
        return [reading.location(file.span._replace(end=0))]
    declared = symbol.declarations
    near = [one for one in declared if one.span.source is found.span.source] or declared
    return [reading.location(one.span) for one in near]


def references(
    reading: Reading, offset: int, declared: bool, others: Iterable[Reading] = ()
) -> list[types.Location]:
    """In this text, in what it uses, and in other open documents that use it."""
    found = reading.at(offset)
    if found is None or reading.names is None:
        return []
    symbol = reading.names.of(found)
    places = [(reading, one) for one in symbol.occurrences]
    return [
        one.location(place.span)
        for one, place in [*places, *elsewhere(reading, symbol, others)]
        if not place.implied and (declared or not place.declares)
    ]


def highlights(reading: Reading, offset: int) -> list[types.DocumentHighlight]:
    """The places in this text, told apart by whether something is written there."""
    found = reading.at(offset)
    if found is None or reading.names is None:
        return []
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(
            reading.lines.range(one.span),
            kinds.Write if one.declares or one.role in ("updates", "writes") else kinds.Read,
        )
        for one in reading.names.of(found).occurrences
        if not one.implied and one.span.source is found.span.source
    ]
