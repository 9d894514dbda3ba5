"""The operations of a node, from what was seen of it in several rounds, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cmp_to_key

from plait.compiler.align.lcs import common

MOST_LOOKED_AT = 15
PASSES = 4
RARE = 4

Tokens = tuple[str, ...]


def consensus(seen: Sequence[Tokens]) -> Tokens:
    """What more than one in `RARE` of the instances hold at each place; of two instances, the longer.

    That one is rare is no reason to leave it out: where it is the last, a node without it has no known end.
    """
    if len(seen) < 3:
        return max(seen, key=len, default=())
    mode, times = Counter(seen).most_common(1)[0]
    if RARE * (len(seen) - times) < len(seen):
        return mode
    step = -(-len(seen) // MOST_LOOKED_AT)
    looked = seen[::step]
    base = sorted(looked, key=len)[len(looked) // 2]
    often = Counter(token for one in looked for token in set(one))
    base = tuple(token for token in base if _counts(often[token], looked))
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
    gaps: list[tuple[int, int, list[tuple[str, int]]]] = []
    """From and up to which place of the base something stands in one that is not in the base."""
    for one in seen:
        after, behind = 0, 0
        for i, j in [*common(base, one), (len(base), len(one))]:
            if i < len(base):
                held[i] += 1
            if behind < j:
                often: Counter[str] = Counter()
                gap = list[tuple[str, int]]()
                for token in one[behind:j]:
                    gap.append((token, often[token]))
                    often[token] += 1
                gaps.append((after, i, gap))
            after, behind = i + 1, j + 1
    between: list[list[list[tuple[str, int]]]] = [[] for _ in range(len(base) + 1)]
    sure: list[set[tuple[str, int]]] = [set() for _ in range(len(base) + 1)]
    for first, last, gap in gaps:
        if first == last:
            between[first].append(gap)
            sure[first].update(gap)
    for first, last, gap in gaps:
        if first < last:  # what the base has there is lost: where others have it
            split: dict[int, list[tuple[str, int]]] = {}
            for token in gap:
                for place in range(first, last + 1):
                    if token in sure[place]:
                        split.setdefault(place, []).append(token)
                        break
            for place, part in split.items():
                between[place].append(part)
    made: list[str] = []
    for place in range(len(base) + 1):
        made += _agreed(between[place], seen)
        if place < len(base) and _counts(held[place], seen):
            made.append(base[place])
    return tuple(made)


def _agreed(gaps: Sequence[Sequence[tuple[str, int]]], seen: Sequence[Tokens]) -> list[str]:
    """Of what stands in gaps what enough of them hold, as most of those with both have it in order."""
    times = Counter(one for gap in gaps for one in gap)
    kept = [one for one in times if _counts(times[one], seen)]
    if len(kept) < 2:
        return [token for token, _ in kept]
    places = [{one: place for place, one in enumerate(gap)} for gap in gaps]

    def later(a: tuple[str, int], b: tuple[str, int]) -> int:
        both = [(held[a], held[b]) for held in places if a in held and b in held]
        return sum(1 if x > y else -1 for x, y in both) or (1 if a > b else -1)

    return [token for token, _ in sorted(kept, key=cmp_to_key(later))]
