"""Where other open documents, which use this one's file, mean its names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from plait.dsl.symbols import Occurrence, Symbol
from plait.lsp.reading import Reading


def elsewhere(
    reading: Reading, symbol: Symbol, others: Iterable[Reading]
) -> Iterator[tuple[Reading, Occurrence]]:
    """Occurrences in files that this one does not see, each with the document it was found from."""
    ours = _declared(reading, symbol)
    seen = _documents(reading)
    for other in others:
        if other is reading or other.names is None:
            continue
        for same in other.names.symbols:
            if (same.name, same.kind) == (symbol.name, symbol.kind) and ours & _declared(
                other, same
            ):
                places = [
                    one for one in same.occurrences if other.uri_of(one.span.source) not in seen
                ]
                yield from ((other, one) for one in places)
        seen |= _documents(other)


def _declared(reading: Reading, symbol: Symbol) -> set[tuple[str, str]]:
    """The documents that declare a symbol, with the pipeline or module it is declared in."""
    owner = symbol.owner.name.text if symbol.owner else ""
    return {(reading.uri_of(one.span.source), owner) for one in symbol.declarations}


def _documents(reading: Reading) -> set[str]:
    return {reading.uri_of(one) for one in reading.library.sources} if reading.library else set()
