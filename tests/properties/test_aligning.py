"""Traces with a known truth, damaged: most kernels are given to their nodes, and nothing said is wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.aligning import disagreements, given_right

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_an_undamaged_trace_shows_is_found_whole(seed: int) -> None:
    """Every kernel, every end of a round, every join, every path."""
    assert disagreements(Random(seed), damage=False) == []


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_what_is_said_of_a_damaged_trace_is_true(seed: int) -> None:
    """Who was last, how long others waited and what is on the path: as it was, or not known."""
    assert disagreements(Random(seed), damage=True) == []


def test_nearly_all_that_survives_is_given_to_its_node(tmp_path: Path) -> None:
    """A twentieth of the kernels dropped, a twentieth inserted, a tenth renamed, however they are marked."""
    found: Counter[str] = Counter()
    for seed in range(60):
        found.update(given_right(Random(seed)))
    assert 100 * found["right"] >= 98 * found["surviving"], found
