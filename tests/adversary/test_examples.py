"""Every example on the adversary: the tokens of the CPU where there is a model, and the same digests."""

from __future__ import annotations

import pytest

from adversary.examples import NAMES, WITH_A_MODEL, Tokens, example
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.mixing.narrow import narrow
from plait.runtime.mixing.outcome import Trial

SEEDS = 20
ROUNDS = 6


@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_the_tokens_are_those_of_the_cpu(name: str) -> None:
    """In exact mode, whatever interleaving the seed leads to, and whatever lies in the row that only pads."""
    decoding = Tokens(name, prompts=3, tokens=6)
    expected = decoding.on("cpu")
    assert [seed for seed in range(SEEDS) if decoding.on(Adversary(seed)) != expected] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_digest_is_that_of_the_text(name: str) -> None:
    """On the CPU, and for every seed, down to what each phase has read; with graphs, routes and buckets."""
    trial = Trial(narrow(example(name)), ROUNDS)
    text = trial.text()
    assert trial.run(Cpu()).digest == text.digest
    for seed in range(SEEDS):
        found = trial.run(Adversary(seed))
        assert trial.parting(text, found) is None, seed
        assert found.digest == text.digest
