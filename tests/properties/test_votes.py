"""A vote's outcome, over any number of ranks that say anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.runtime.ranks.votes import OutOfStep, Vote

VOTE = Vote(0, ("size", "willing", "seeded"), "any.spec:1")
WISH = st.fixed_dictionaries(
    {"size": st.integers(0, 1 << 40), "willing": st.booleans(), "seeded": st.booleans()}
)


def most(numbers: list[list[int]]) -> list[int]:
    """What a collective gives every rank."""
    return [max(column) for column in zip(*numbers, strict=True)]


@given(st.lists(WISH, min_size=1, max_size=8), st.integers(0, 1 << 40))
def test_a_guard_needs_all_ranks_and_a_size_the_largest(wishes: list[dict], round: int) -> None:
    """Every rank reads the same from one row of numbers, whatever it said itself."""
    reduced = most([VOTE.wishes(round, wish) for wish in wishes])
    expected = {
        "size": max(wish["size"] for wish in wishes),
        "willing": all(wish["willing"] for wish in wishes),
        "seeded": all(wish["seeded"] for wish in wishes),
    }
    for wish in wishes:
        found = VOTE.outcome(round, reduced, wish)
        assert found == expected
        assert [type(value) for value in found.values()] == [int, bool, bool]


@given(st.lists(WISH, min_size=1, max_size=8))
def test_an_idle_rank_changes_nothing(wishes: list[dict]) -> None:
    """No size and yes to all is what nobody else's answer depends on."""
    idle = {"size": 0, "willing": True, "seeded": True}
    without = most([VOTE.wishes(7, wish) for wish in wishes])
    assert most([VOTE.wishes(7, wish) for wish in (*wishes, idle)]) == without


@given(st.lists(st.integers(0, 1 << 40), min_size=2, max_size=8, unique=True), WISH)
def test_ranks_in_different_rounds_are_found_out(rounds: list[int], wish: dict) -> None:
    """Whoever votes for another round than the rest is out of step, and so are they."""
    reduced = most([VOTE.wishes(round, wish) for round in rounds])
    said = f"ranks are in rounds {min(rounds)} to {max(rounds)}, this one in {rounds[0]}"
    with pytest.raises(OutOfStep, match=said):
        VOTE.outcome(rounds[0], reduced, wish)
