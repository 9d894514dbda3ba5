"""Figures as people read them: times, sizes, shares and counts; and as JSON has them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


def shown(time: int) -> str:
    """Nanoseconds in the largest unit that leaves a digit before the point: `8.42 ms`.

    >>> shown(8_415_000), shown(999_999), shown(1_500), shown(12)
    ('8.42 ms', '1,000 us', '1.5 us', '12 ns')
    """
    return _in_units(time, UNITS)


def in_words(size: int) -> str:
    """Bytes, likewise.

    >>> in_words(12), in_words(65 << 10), in_words(3 << 29)
    ('12 B', '65 KiB', '1.5 GiB')
    """
    return _in_units(size, SIZES)


def _in_units(amount: int, units: Sequence[tuple[str, int]]) -> str:
    """With three digits, or all that are before the point."""
    least = abs(amount)
    unit, each = next(one for one in units if least >= one[1] or one[1] == 1)
    digits = 2 if least < 10 * each else 1 if least < 100 * each else 0
    whole, rest = divmod((least * 10**digits + each // 2) // each, 10**digits)
    told = f"{whole:,}.{rest:0{digits}}".rstrip("0").rstrip(".") if digits else f"{whole:,}"
    return f"{'-' * (amount < 0)}{told} {unit}"


def percent(share: Fraction | float, sign: str = "") -> str:
    """A part of a whole, with `+` as the sign also where it is more than nothing.

    >>> percent(Fraction(1, 8)), percent(0.5, "+")
    ('12.5 %', '+50.0 %')
    """
    return f"{float(100 * share):{sign}.1f} %"


def as_number(value: Fraction) -> int | float:
    """For JSON: exact where it is whole.

    >>> as_number(Fraction(6, 2)), as_number(Fraction(3, 2))
    (3, 1.5)
    """
    return value.numerator if value.denominator == 1 else float(value)


def counted(count: int, one: str, several: str = "") -> str:
    """How many of something there are.

    >>> counted(1, "wait"), counted(1_200, "launch", "launches")
    ('1 wait', '1,200 launches')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"
