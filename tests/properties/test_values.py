"""Values that may be alive at once, against every choice of them."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings

from drawing.rounds import elaborated, round_texts
from plait.compiler.order import order
from plait.compiler.values import Value, too_many, values


@given(round_texts())
@settings(max_examples=300)
def test_a_pool_is_too_small_just_when_so_many_values_have_no_order(text: str) -> None:
    """One more than it holds, of which no two are ordered and none waits for the slot that is written."""
    round = elaborated(text)
    found = values(order(round), {number: number for number in range(len(round.buffers))})[:12]
    for most in (1, 2, 3):
        assert bool(too_many(found, most)) == bool(_beside(found, most)), (text, most)


@given(round_texts())
@settings(max_examples=300)
def test_what_is_named_is_alive_at_once(text: str) -> None:
    """Of the values that a finding names no two are ordered, and one use of each may be late."""
    round = elaborated(text)
    found = values(order(round), {number: number for number in range(len(round.buffers))})
    for most in (1, 2, 3):
        full = too_many(found, most)
        if full is None:
            continue
        value, alive = full
        assert len(alive) == most
        assert all(one.late(value) for one in alive)
        assert not any(one.over(other) for one, other in combinations(alive, 2))


def _beside(found: list[Value], most: int) -> list[tuple[Value, ...]]:
    return [
        others
        for place, value in enumerate(found)
        for others in combinations([one for one in found[:place] if one.slot != value.slot], most)
        if not any(one.over(other) for one, other in combinations((*others, value), 2))
    ]


def test_the_rounds_drawn_fill_pools_and_do_not() -> None:
    """Many of each."""
    seen = {"full": 0, "enough": 0}

    @given(round_texts())
    @settings(max_examples=300, database=None)
    def look(text: str) -> None:
        round = elaborated(text)
        found = values(order(round), {number: number for number in range(len(round.buffers))})
        seen["full" if too_many(found, 2) else "enough"] += len(found) > 2

    look()
    assert all(count >= 20 for count in seen.values()), seen
