"""The middle of whole numbers, and how far they stray from it."""

from __future__ import annotations

from collections.abc import Sequence


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
