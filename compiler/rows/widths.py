"""How many rows of a buffer an access is about, and whether a count of rows fits it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from plait.compiler.round import Access, Buffer, Phase, Round
from plait.compiler.rows.extent import Extent
from plait.dsl.record import Record


class Width(Record):
    """An access to a buffer with rows: the sizes of the axes it keeps, and the one that a dim sizes."""

    buffer: Buffer
    access: Access
    sizes: tuple[int, ...]
    rows: Extent

    @property
    def counts(self) -> set[int]:
        """What may be called its rows: sizes of axes, and of neighbours taken together."""
        found = set()
        for start in range(len(self.sizes)):
            product = 1
            for size in self.sizes[start:]:
                product *= size
                found.add(product)
        return found

    @property
    def most(self) -> int:
        """The most that may be called its rows: features of a row are fractions, and no rows."""
        return int(self.rows.size) if self.of_features else math.prod(self.sizes)

    @property
    def of_features(self) -> bool:
        """Whether what a row has are fractions."""
        return self.buffer.dtype.startswith(("f", "bf"))


def widths(round: Round, phases: Iterable[Phase]) -> list[Width]:
    """Of the accesses of some phases, those whose buffer has an axis that a dim sizes."""
    found = []
    for phase in phases:
        for access in phase.accesses:
            buffer = round.buffers[access.buffer]
            if buffer.shape is None or not any(buffer.axes) or buffer.dtype == "opaque":
                continue
            region = access.region or (None,) * len(buffer.shape)
            sizes, rows = [], None
            for axis, size, extent in zip(region, buffer.shape, buffer.axes, strict=True):
                if axis is None:
                    sizes.append(size)
                    rows = rows or extent
                elif isinstance(axis, tuple):
                    sizes.append(axis[1] - axis[0])
            if rows is not None:
                found.append(Width(buffer, access, tuple(sizes), rows))
    return found
