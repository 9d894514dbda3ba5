"""Sound rounds on the adversary: whatever it does, what comes out is what the text gives."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, mended, round_texts
from drawing.running import lowered
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.mixing.outcome import Trial

ROUNDS = 5


@given(round_texts(), st.lists(st.integers(0, 10_000), min_size=4, max_size=4))
@settings(max_examples=30)
def test_a_sound_round_has_one_result(text: str, seeds: list[int]) -> None:
    """Random rounds, mended until no race is left, for any seed, and on threads."""
    trial = Trial(lowered(mended(elaborated(text))), ROUNDS)
    expected = trial.text()
    assert trial.run(Cpu()).digest == expected.digest, text
    for seed in seeds:
        assert trial.parting(expected, trial.run(Adversary(seed))) is None, (text, seed)
