"""Times of traces as whole nanoseconds, from the decimals that stand in the file."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

LATEST = 2**63
"""Nanoseconds: no trace has a time or a number that large."""


def nanoseconds(microseconds: Any) -> int:
    """Of whole microseconds, or of a text of decimals, which are rounded to the next nanosecond.

    Never through a float: of those there are four in a microsecond of this century. Raises ValueError.
    """
    if type(microseconds) is int:
        found = microseconds * 1000
    elif type(microseconds) is str:
        whole, _, part = microseconds.strip().partition(".")
        if len(part) == 3 and part.isdecimal() and len(whole) < 20:
            found = int(whole + part)
        else:
            found = _rounded(microseconds)
    else:
        raise ValueError(f"{microseconds!r:.40} is no time")
    if not -LATEST < found < LATEST:
        raise ValueError(f"{microseconds!r:.40} is no time")
    return found


def _rounded(text: str) -> int:
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{text!r:.40} is no time") from None
    if not found.is_finite() or found.adjusted() > 20 or len(text) > 64:
        raise ValueError(f"{text!r:.40} is no time")
    return int((found * 1000).to_integral_value(ROUND_HALF_UP))


def whole(value: Any, otherwise: int = -1) -> int:
    """A whole number as a file has it, or as a text; what is none of a size that counts is as otherwise."""
    if type(value) is str:
        text = value.strip()
        if not (0 < len(text) < 20 and text.lstrip("-").isdecimal()):
            return otherwise
        try:
            value = int(text)
        except ValueError:
            return otherwise
    return value if type(value) is int and -LATEST < value < LATEST else otherwise


def is_time(start: Any, end: Any) -> bool:
    """Whether a database has whole nanoseconds in both places, in order."""
    return type(start) is int and type(end) is int and 0 <= start <= end < LATEST


def identity(value: Any) -> int:
    """A number by which a database ties rows together; -1: there is none."""
    return value if type(value) is int and value >= 0 else -1
