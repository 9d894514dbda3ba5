"""Random rounds, other ones for every commit, before judges that are not ours."""

from __future__ import annotations

from oracles.soundness import soundness
from soak.__main__ import commit

ROUNDS = 10_000
DISAGREED: dict[str, str] = {}
"""Texts of rounds that the judges do not agree on, each with the reason: at most five."""


def test_what_is_accepted_runs_as_the_text_and_what_is_refused_does_not() -> None:
    """Every interleaving of an accepted round has the result of the text, the run of each witness another."""
    seen = soundness(commit(), ROUNDS)
    assert [text for text in seen.failures if text not in DISAGREED] == []
    assert len(DISAGREED) <= 5
    assert seen.rounds == ROUNDS
    assert seen.accepted >= 3_000
    assert seen.refused >= 3_000
    assert seen.every >= 0.9 * (seen.rounds - seen.refused)
