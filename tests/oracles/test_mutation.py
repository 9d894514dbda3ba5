"""Edits of the examples and of the standard library: the rules refuse those that break a needed order."""

from __future__ import annotations

from pathlib import Path
from random import Random

from oracles.mutation import cases, tried
from soak.__main__ import commit

LARGE = "eagle_full"
OF_LARGE, OF_OTHERS = 12, 300
"""So many edits are tried, other ones for every commit; `make soak` tries all."""
DISAGREED: dict[str, str] = {}
"""Edits that the judges do not agree on, each with the reason: at most five."""


def test_each_edit_that_breaks_a_needed_order_is_refused_and_no_other(tmp_path: Path) -> None:
    """By the interleavings where they are few, else by the sanitizer; and the plain list says the same."""
    every = list(cases())
    large = [case for case in every if case.example == LARGE]
    others = [case for case in every if case.example != LARGE]
    random = Random(commit())
    some = random.sample(large, OF_LARGE) + random.sample(others, OF_OTHERS)
    seen = tried(some, tmp_path, commit())
    assert [one for one in seen.disagreed if one.rpartition(": ")[0] not in DISAGREED] == []
    assert len(DISAGREED) <= 5
    assert seen.counts["refused"] >= 40
    assert seen.counts["passes"] >= 40
