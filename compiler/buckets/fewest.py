"""Which of some sizes to keep as buckets, so that fewest rows are padded: for every count, the best list.

The best list of k buckets that ends at size j ends a best list of k - 1 at some size i before it. The
larger j, the larger the best i, as widening a step costs more the wider it is (the quadrangle
inequality); so each half of the sizes is searched on its own side of the best i of the middle one, and
n sizes take O(n log n) a count instead of O(n^2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

Padding = Callable[[int, int], int]
"""Rows padded when size j, by its place, serves all sizes above place i: -1 for all there are."""


def fewest(count: int, most: int, padding: Padding) -> Iterator[tuple[int, list[int]]]:
    """For 1 to `most` buckets: rows padded, and the places of the sizes kept, the last one always."""
    best = [padding(-1, place) for place in range(count)]
    steps: list[list[int]] = []
    yield best[-1], [count - 1]
    for kept in range(2, min(most, count) + 1):
        best, step = _one_more(best, kept - 1, padding)
        steps.append(step)
        places = [count - 1]
        for before in reversed(steps):
            places.append(before[places[-1]])
        yield best[-1], places[::-1]


def _one_more(best: list[int], first: int, padding: Padding) -> tuple[list[int], list[int]]:
    """The same with a bucket more, for sizes from `first` on; and the place of the bucket before."""
    count = len(best)
    found, step = list(best), [0] * count
    spans = [(first, count - 1, first - 1, count - 2)]
    while spans:
        low, high, left, right = spans.pop()
        if low > high:
            continue
        middle = (low + high) // 2
        tries = range(left, min(middle - 1, right) + 1)
        found[middle], step[middle] = min((best[i] + padding(i, middle), i) for i in tries)
        spans += [(low, middle - 1, left, step[middle]), (middle + 1, high, step[middle], right)]
    return found, step


def seen_padding(sizes: Sequence[int], counts: dict[int, int]) -> Padding:
    """Of sizes seen so many times each, none above the last of `sizes`."""
    seen = sorted(counts)
    times = [0, *accumulate(counts[size] for size in seen)]
    rows = [0, *accumulate(counts[size] * size for size in seen)]
    served = [0, *(bisect_left(seen, size + 1) for size in sizes)]

    def padding(before: int, place: int) -> int:
        first, last = served[before + 1], served[place + 1]
        return sizes[place] * (times[last] - times[first]) - (rows[last] - rows[first])

    return padding


def even_padding(sizes: Sequence[int]) -> Padding:
    """Of every size from 1 to the largest, once each."""

    def padding(before: int, place: int) -> int:
        width = sizes[place] - (sizes[before] if before >= 0 else 0)
        return width * (width - 1) // 2

    return padding


def padded(sizes: Sequence[int], padding: Padding) -> int:
    """Rows padded when all of them are buckets."""
    return sum(padding(place - 1, place) for place in range(len(sizes)))
