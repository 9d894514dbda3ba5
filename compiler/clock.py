"""A clock: of each queue, the index of the newest entry that is surely over.

A tuple where queues are few. Where each of thousands of operations in flight has a queue, one entry
changes a handful of them: then a clock is made of parts, and shares with the one before it all parts that
are alike.
"""

from __future__ import annotations

from typing import TypeAlias

PART = 64
"""Queues of a part; as many have a plain tuple."""
_NOTHING = (0,) * PART


class Wide:
    """Indexed like a tuple of all entries of its parts. Never changed."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[tuple[int, ...], ...]):
        self.parts = parts

    def __getitem__(self, coordinate: int) -> int:
        return self.parts[coordinate // PART][coordinate % PART]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wide) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


Clock: TypeAlias = tuple[int, ...] | Wide


def zero(width: int) -> Clock:
    """Nothing is over."""
    if width <= PART:
        return (0,) * width
    return Wide((_NOTHING,) * -(-width // PART))


def latest(a: Clock, b: Clock) -> Clock:
    """What either knows."""
    if a is b:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(max, a, b))
    assert isinstance(a, Wide) and isinstance(b, Wide)
    return Wide(tuple(map(_later, a.parts, b.parts)))


def earliest(a: Clock, b: Clock) -> Clock:
    """What both know."""
    if a is b:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(min, a, b))
    assert isinstance(a, Wide) and isinstance(b, Wide)
    parts = zip(a.parts, b.parts, strict=True)
    return Wide(tuple(one if one is other else tuple(map(min, one, other)) for one, other in parts))


def _later(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """One of them, where it says it all, so that clocks stay alike."""
    if one is other or other is _NOTHING:
        return one
    if one is _NOTHING:
        return other
    part = tuple(map(max, one, other))
    return one if part == one else other if part == other else part


def advanced(clock: Clock, coordinate: int, index: int) -> Clock:
    """The same, with another index for one queue."""
    if isinstance(clock, tuple):
        return (*clock[:coordinate], index, *clock[coordinate + 1 :])
    number, within = divmod(coordinate, PART)
    part, parts = clock.parts[number], clock.parts
    part = (*part[:within], index, *part[within + 1 :])
    return Wide((*parts[:number], part, *parts[number + 1 :]))
