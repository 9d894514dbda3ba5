"""How many tokens are drafted follows what was measured, and not every turn of it."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from plait import Adaptive

STEPS = [0, 1, 3]


def play(
    policy: Adaptive,
    rounds: int,
    accepts: Fraction,
    cost: list[int],
    bucket: int = 4,
    rows: int = 4,
) -> list[int]:
    """Rounds of so many rows; a draft is accepted so often, each schedule has its cost in microseconds."""
    draw, found = random.Random(1), []
    for _ in range(rounds):
        now = policy.choose([bucket] * len(STEPS))
        committed = []
        for _ in range(rows):
            count = 1
            while count <= STEPS[now] and draw.random() < accepts:
                count += 1
            committed.append(count)
        policy.saw(now, bucket, committed, cost[now] * 1000)
        found.append(now)
    return found


def test_it_drafts_where_drafts_are_accepted() -> None:
    """Nine of ten accepted, and a long round little dearer: three tokens are drafted in the end."""
    assert set(play(Adaptive(STEPS), 200, Fraction(9, 10), [100, 120, 150])[-100:]) == {2}


def test_it_drafts_none_where_none_are_accepted() -> None:
    """One in twenty accepted: it begins with three, and comes back to none."""
    assert set(play(Adaptive(STEPS, first=2), 300, Fraction(1, 20), [100, 120, 150])[-100:]) == {0}


def test_it_drafts_fewer_where_rounds_are_dear() -> None:
    """Where rows are computed one after the other, a draft that is accepted half the time does not pay."""
    assert set(play(Adaptive(STEPS), 300, Fraction(1, 2), [100, 200, 400])[-100:]) == {0}


def test_what_is_nearly_as_good_changes_nothing() -> None:
    """Two schedules within a tenth of each other: it stays with the one that it is at."""
    for first in (0, 1):
        policy = Adaptive(STEPS[:2], first=first)
        policy.saw(0, 4, [1] * 4, 100_000)
        policy.saw(1, 4, [2, 2, 1, 1], 150_000)
        assert {policy.choose([4, 4]) for _ in range(50)} == {first}


def test_each_bucket_has_its_own_times() -> None:
    """Long rounds pay for one request and not for eight, so the bucket decides."""
    policy = Adaptive(STEPS)
    few, many = [], []
    for _ in range(3):
        few = play(policy, 150, Fraction(8, 10), [100, 105, 120], bucket=1, rows=1)
        many = play(policy, 150, Fraction(8, 10), [100, 250, 600], bucket=8, rows=8)
    assert set(few[-50:]) == {2}
    assert set(many[-50:]) == {0}


def test_it_follows_what_changes() -> None:
    """A text whose drafts were accepted and then are not: it stops drafting, and begins again."""
    policy = Adaptive(STEPS)
    cost = [100, 120, 150]
    assert play(policy, 200, Fraction(9, 10), cost)[-1] == 2
    assert play(policy, 600, Fraction(0), cost)[-1] == 0
    assert play(policy, 1500, Fraction(9, 10), cost)[-1] == 2


def test_steps_are_told_in_order() -> None:
    """Schedules are given fewest steps first, none twice."""
    with pytest.raises(ValueError, match="should be of each schedule another, fewest first"):
        Adaptive([1, 0])


def test_expected_tokens_follow_from_what_was_accepted() -> None:
    """Half of the first and all of the second: 1 + 1/2 + 1/2, and the third as the second."""
    policy = Adaptive(STEPS, first=2)
    policy.saw(2, 4, [1, 1, 4, 4], 1000)
    assert [policy.tokens(steps) for steps in (0, 1, 3)] == [1, Fraction(3, 2), Fraction(5, 2)]
