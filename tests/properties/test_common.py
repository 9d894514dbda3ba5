"""The longest common subsequence, and what it is for, held against the plain way to find them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.align.consensus import consensus
from plait.compiler.align.lcs import LARGEST, common

tokens = st.lists(st.sampled_from("abcd"), max_size=14)


def longest(a: Sequence[str], b: Sequence[str]) -> int:
    """By the table that every textbook has."""
    row = [0] * (len(b) + 1)
    for one in a:
        before = row
        row = [0]
        for place, other in enumerate(b):
            row.append(before[place] + 1 if one == other else max(row[-1], before[place + 1]))
    return row[-1]


@given(tokens, tokens)
def test_what_two_lists_share_is_in_order_and_longest(a: list[str], b: list[str]) -> None:
    """Without anchors exactly; each token that is doubled is none."""
    pairs = common(a * 2, b * 2)
    assert all((a * 2)[i] == (b * 2)[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) == longest(a * 2, b * 2)


def test_long_lists_are_aligned_window_by_window() -> None:
    """Far above what is compared whole, with a twentieth dropped and a twentieth inserted."""
    random = Random(1)
    a = [str(random.randrange(30)) for _ in range(6 * LARGEST)]
    b = [token for token in a if random.random() > 0.05]
    for _ in range(len(a) // 20):
        b.insert(random.randrange(len(b)), "inserted")
    pairs = common(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) > 0.99 * (len(b) - len(a) // 20)


@given(st.integers(0, 2**32))
def test_the_operations_of_a_node_are_learned_from_damaged_rounds(seed: int) -> None:
    """A twentieth dropped, a tenth renamed, a twentieth inserted: in twelve rounds all are seen, in order."""
    random = Random(seed)
    whole = tuple(f"k{number}" for number in range(random.randrange(2, 12)))
    seen = []
    for _ in range(12):
        made: list[str] = []
        for one in whole:
            chance = random.random()
            if chance > 0.05:
                made.append(one if chance > 0.15 else f"other{random.random()}")
            if random.random() < 0.05:
                made.append(f"stranger{random.random()}")
        seen.append(tuple(made))
    known = {token for one in seen for token in one}
    often = [token for token in whole if sum(token in one for one in seen) > 3]
    if len(often) == len(whole) and known:
        assert consensus(seen) == whole
