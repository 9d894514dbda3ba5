"""The sizes of a model, as they travel with its checkpoint: read back only if they are whole and fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Self

LARGEST = 1 << 20
"""Of any size. A checkpoint's weights are bounded beside it."""


@dataclass(frozen=True)
class Sizes:
    """What is a shape has them as its fields, all of them whole numbers."""

    @classmethod
    def from_dict(cls, sizes: object) -> Self:
        """Raises ValueError for what is no shape of this model: which size, and what it should be."""
        names = {field.name for field in fields(cls)}
        if not isinstance(sizes, dict) or sizes.keys() != names:
            raise ValueError(f"a shape has the sizes {', '.join(sorted(names))}")
        for name, size in sizes.items():
            if type(size) is not int or not 1 <= size <= LARGEST:
                raise ValueError(f"{name} is {size!r}; it is a whole number from 1 to {LARGEST:,}")
        shape = cls(**sizes)
        shape.check()
        return shape

    def check(self) -> None:
        """Raises ValueError for sizes that do not fit each other."""

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
