"""The longest common subsequence of two lists: anchors first, exact between them, windowed where too long.

A token that stands once in each list is an anchor, if the anchors are in one order: the longest such row
of them is kept. Between two anchors the subsequence is found exactly, a row of bits for each element of
the first list. Above `LARGEST` elements it is found in windows along the diagonal, of each of which the
first half is kept, so the time stays linear.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

LARGEST = 2048
"""Elements of either list that are compared whole."""


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places at which the two hold the same, in order."""
    if a == b:
        return [(place, place) for place in range(len(a))]
    found: list[tuple[int, int]] = []
    i = j = 0
    for k, m in [*_anchors(a, b), (len(a), len(b))]:
        if i < k and j < m:
            found += _between(a, b, i, k, j, m)
        found.append((k, m))
        i, j = k + 1, m + 1
    found.pop()
    return found


def _anchors(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Tokens that stand once in each, as many of them as keep one order."""
    once, place = Counter(a), Counter(b)
    once = {token for token, times in once.items() if times == 1 and place.get(token) == 1}
    place = {token: j for j, token in enumerate(b) if token in once}
    pairs = [(i, place[token]) for i, token in enumerate(a) if token in once]
    if all(one[1] < two[1] for one, two in pairwise(pairs)):
        return pairs
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest row of pairs whose second numbers rise."""
    lows: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(lows, j)
        before.append(tops[length - 1] if length else -1)
        lows[length : length + 1] = [j]
        tops[length : length + 1] = [number]
    row = []
    number = tops[-1] if tops else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def _between(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, k: int, j: int, m: int
) -> Iterator[tuple[int, int]]:
    while i < k and j < m and a[i] == b[j]:
        yield i, j
        i, j = i + 1, j + 1
    while max(k - i, m - j) > LARGEST and i < k and j < m:
        rows, columns = min(k - i, LARGEST), min(m - j, LARGEST)
        kept = [
            (x, y)
            for x, y in _exact(a[i : i + rows], b[j : j + columns])
            if x < LARGEST // 2 and y < LARGEST // 2
        ]
        yield from ((i + x, j + y) for x, y in kept)
        x, y = kept[-1] if kept else (LARGEST // 2, LARGEST // 2)
        i, j = i + x + 1, j + y + 1
    yield from ((i + x, j + y) for x, y in _exact(a[i:k], b[j:m]))


def _exact(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """By rows of bits: bit j of row i is 0 where one more of `b` makes the subsequence longer."""
    if not a or not b:
        return []
    holds: dict[Hashable, int] = {}
    for j, token in enumerate(b):
        holds[token] = holds.get(token, 0) | 1 << j
    full = (1 << len(b)) - 1
    row, rows = full, []
    for token in a:
        met = row & holds.get(token, 0)
        row = ((row + met) | (row - met)) & full
        rows.append(row)
    found = []
    i, j = len(a), len(b)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
            continue
        i -= 1
        if i and not rows[i - 1] >> (j - 1) & 1:
            continue
        j -= 1
        found.append((i, j))
    return found[::-1]
