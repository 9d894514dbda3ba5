"""The buckets that pad fewest rows, against every list there is."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.buckets.fewest import even_padding, fewest, padded, seen_padding

SEEN = st.dictionaries(st.integers(1, 60), st.integers(0, 9), min_size=1, max_size=9)


def by_hand(sizes: list[int], counts: dict[int, int]) -> int:
    """Each round at the first bucket that holds it."""
    return sum(
        times * (next(size for size in sizes if size >= live) - live)
        for live, times in counts.items()
    )


@given(SEEN, st.sets(st.integers(1, 60), max_size=3))
def test_no_list_of_that_length_pads_fewer(counts: dict[int, int], more: set[int]) -> None:
    """For every length the list is as good as the best of all lists, and pads what it says."""
    sizes = sorted({size for size in {*counts, *more} if size <= max(counts)})
    found = list(fewest(len(sizes), len(sizes), seen_padding(sizes, counts)))
    assert len(found) == len(sizes)
    for kept, (rows, places) in enumerate(found, 1):
        chosen = [sizes[place] for place in places]
        assert len(chosen) == kept
        assert rows == by_hand(chosen, counts)
        assert rows == min(
            by_hand([*some, sizes[-1]], counts) for some in combinations(sizes[:-1], kept - 1)
        )


@given(SEEN)
def test_more_buckets_never_pad_more(counts: dict[int, int]) -> None:
    """One more bucket is never worse, and a bucket for every size pads nothing."""
    sizes = sorted(counts)
    rows = [rows for rows, _ in fewest(len(sizes), len(sizes), seen_padding(sizes, counts))]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] == 0


@given(SEEN)
def test_the_largest_size_is_always_held(counts: dict[int, int]) -> None:
    """Whatever the length, the last bucket is the largest size."""
    sizes = sorted(counts)
    found = fewest(len(sizes), len(sizes), seen_padding(sizes, counts))
    assert all(places[-1] == len(sizes) - 1 for _, places in found)


@given(st.sets(st.integers(1, 40), min_size=1))
def test_even_padding_is_every_size_once(chosen: set[int]) -> None:
    """What is reckoned without a histogram is what a histogram of ones gives."""
    sizes = sorted(chosen)
    ones = dict.fromkeys(range(1, sizes[-1] + 1), 1)
    assert padded(sizes, even_padding(sizes)) == padded(sizes, seen_padding(sizes, ones))
    assert padded(sizes, even_padding(sizes)) == by_hand(sizes, ones)
