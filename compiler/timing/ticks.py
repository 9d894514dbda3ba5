"""Where the marks of a time axis stand, and what they say."""

from __future__ import annotations

from collections.abc import Iterator

from plait.dsl.render.figures import UNITS


def ticks(end: int, most: int) -> Iterator[tuple[int, str]]:
    """From 0 on, at most so many and a first: every 1, 2 or 5 of a power of ten nanoseconds, in one unit.

    >>> list(ticks(1_200, 3))
    [(0, '0.0 us'), (500, '0.5 us'), (1000, '1.0 us')]
    """
    least, ten = max(-(-end // max(most, 1)), 1), 1
    while 10 * ten <= least:
        ten *= 10
    each = next(by * ten for by in (1, 2, 5, 10) if by * ten >= least)
    unit, size = next(one for one in UNITS if end >= one[1] or one[1] == 1)
    digits = next(digits for digits in range(10) if each * 10**digits % size == 0)
    for at in range(0, end + 1, each):
        yield at, f"{_decimal(at, size, digits)} {unit}"


def _decimal(at: int, size: int, digits: int) -> str:
    whole, rest = divmod(at, size)
    return f"{whole}.{rest * 10**digits // size:0{digits}}" if digits else str(whole)
