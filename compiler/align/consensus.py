"""The operations of a node, from what was seen of it in several rounds, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from plait.compiler.align.lcs import common

MOST_LOOKED_AT = 15
PASSES = 3
RARE = 4

Tokens = tuple[str, ...]


def consensus(seen: Sequence[Tokens]) -> Tokens:
    """What more than one in `RARE` of the instances hold at each place; of two instances, the longer.

    That one is rare is no reason to leave it out: where it is the last, a node without it has no known end.
    """
    if len(seen) < 3:
        return max(seen, key=len, default=())
    often = Counter(seen).most_common(1)[0]
    if RARE * (len(seen) - often[1]) < len(seen):
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
    """The base without what nearly all lack, and with what others have between two of its places."""
    held = [0] * len(base)
    between: list[dict[tuple[str, int], list[int]]] = [{} for _ in range(len(base) + 1)]
    """Before each place of the base what others have there, and which of it, with where in the gap."""
    for one in seen:
        behind = 0
        for i, j in [*common(base, one), (len(base), len(one))]:
            if i < len(base):
                held[i] += 1
            often: Counter[str] = Counter()
            for place, token in enumerate(one[behind:j]):
                between[i].setdefault((token, often[token]), []).append(place)
                often[token] += 1
            behind = j + 1
    made: list[str] = []
    for place in range(len(base) + 1):
        more = {
            token: Fraction(sum(places), len(places))
            for token, places in between[place].items()
            if _counts(len(places), seen)
        }
        made += [token for token, _ in sorted(more, key=lambda one: (more[one], one))]
        if place < len(base) and _counts(held[place], seen):
            made.append(base[place])
    return tuple(made)
