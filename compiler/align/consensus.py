"""The operations of a node, from what was seen of it in several rounds, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from plait.compiler.align.lcs import common

MOST_LOOKED_AT = 15
PASSES = 3
RARE = 4

Tokens = tuple[str, ...]


def consensus(seen: Sequence[Tokens]) -> Tokens:
    """What more than one in `RARE` of the instances hold at each place; of two instances, the longer.

    That it is rare is no reason to leave one out: where it is the last, a node without it has no known end.
    """
    if len(seen) < 3:
        return max(seen, key=len, default=())
    often = Counter(seen).most_common(1)[0]
    if 2 * often[1] > len(seen):
        return often[0]
    step = -(-len(seen) // MOST_LOOKED_AT)
    looked = seen[::step]
    base = sorted(looked, key=len)[len(looked) // 2]
    for _ in range(PASSES):
        better = _voted(base, looked)
        if better == base:
            break
        base = better
    return base


def _counts(times: int, seen: Sequence[Tokens]) -> bool:
    return times > 1 and RARE * times > len(seen)


def _voted(base: Tokens, seen: Sequence[Tokens]) -> Tokens:
    """The base without what most lack, and with what most have between two of its places."""
    held = [0] * len(base)
    between = [Counter[Tokens]() for _ in range(len(base) + 1)]
    for one in seen:
        last = (-1, -1)
        for i, j in [*common(base, one), (len(base), len(one))]:
            if i < len(base):
                held[i] += 1
            if i == last[0] + 1 and j > last[1] + 1:
                between[i][one[last[1] + 1 : j]] += 1
            last = (i, j)
    made: list[str] = []
    for place in range(len(base) + 1):
        if between[place]:
            more, times = between[place].most_common(1)[0]
            if _counts(times, seen):
                made += more
        if place < len(base) and _counts(held[place], seen):
            made.append(base[place])
    return tuple(made)
