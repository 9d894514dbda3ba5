"""The middle of whole numbers, and how far they stray from it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low


def median(values: Sequence[int]) -> int:
    """Of an even number of them the mean of the two in the middle, rounded down; 0 of none."""
    if not values:
        return 0
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) // 2


def mad(values: Sequence[int]) -> int:
    """The median of how far each is from the median."""
    middle = median(values)
    return median([abs(value - middle) for value in values])


def mad_low(values: Sequence[int]) -> int:
    """Likewise, of the lower of two in the middle, which is a value that was seen."""
    middle = median_low(values)
    return median_low([abs(value - middle) for value in values])
