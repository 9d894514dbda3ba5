"""Regions of a buffer as boxes: which entries are left when others are taken away."""

from __future__ import annotations

from typing import TypeAlias

from plait.compiler.round import Axis

Box: TypeAlias = "tuple[tuple[int, int], ...]"
"""From and up to, not including, for every axis."""


def box(region: tuple[Axis, ...] | None, shape: tuple[int, ...]) -> Box:
    """The box of a region within a shape.

    >>> box((None, 2), (4, 8))
    ((0, 4), (2, 3))
    """
    if region is None:
        region = (None,) * len(shape)
    return tuple(
        (0, size) if axis is None else axis if isinstance(axis, tuple) else (axis, axis + 1)
        for axis, size in zip(region, shape, strict=True)
    )


def shown(part: Box) -> str:
    """As the text would name it.

    >>> shown(((0, 4), (2, 3)))
    '0 .. 3, 2'
    """
    return ", ".join(f"{a}" if b == a + 1 else f"{a} .. {b - 1}" for a, b in part)


def subtract(boxes: list[Box], taken: Box) -> list[Box]:
    """What of some disjoint boxes lies outside another, as disjoint boxes.

    >>> subtract([((0, 4), (0, 3))], ((0, 4), (1, 2)))
    [((0, 4), (0, 1)), ((0, 4), (2, 3))]
    """
    left: list[Box] = []
    for one in boxes:
        common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, taken, strict=True))
        if any(a >= b for a, b in common):
            left.append(one)
            continue
        inner = list(one)
        for axis, ((a, b), (c, d)) in enumerate(zip(one, common, strict=True)):
            for piece in ((a, c), (d, b)):
                if piece[0] < piece[1]:
                    left.append((*inner[:axis], piece, *inner[axis + 1 :]))
            inner[axis] = (c, d)
    return left
