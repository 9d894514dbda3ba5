"""Every example on the adversary: the tokens of the CPU where there is a model, else the same digests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.eagle.compare import decode, requests_for
from plait.runtime.mixing.narrow import narrow
from plait.runtime.mixing.outcome import Trial
from plait.runtime.models.tiny.checkpoint import SHIPPED, Checkpoint, load_checkpoint
from plait.runtime.schedule import Schedule

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.spec"))
WITH_A_MODEL = ("eagle", "eagle_serial")
FEWER = {"layers": 4, "count": 2}
"""Of what is alike, layers."""
SEEDS = 20
ROUNDS = 6
TOKENS = 6


def example(name: str, variant: str | None = None) -> Schedule:
    source = read_source(FOLDER / f"{name}.spec")
    settings = {
        param: value
        for param, value in FEWER.items()
        if re.search(rf"^  param {param} ", source.text, re.MULTILINE)
    }
    return compile_source(source, Asked(variant=variant, settings=settings, environment={}))


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(SHIPPED)


@pytest.mark.parametrize("name", WITH_A_MODEL)
def test_the_tokens_are_those_of_the_cpu(name: str, checkpoint: Checkpoint) -> None:
    """In exact mode, whatever interleaving the seed leads to."""
    schedule, model = example(name), checkpoint.model("exact")
    prompts = list(checkpoint.prompts)[:2]

    def tokens(device) -> list[list[int]]:
        found = decode(
            schedule,
            model,
            lambda: requests_for(checkpoint, prompts, TOKENS),
            with_plain=False,
            device=device,
        )
        return [request.tokens for request in found.requests]

    expected = tokens("cpu")
    differ = [seed for seed in range(SEEDS) if tokens(Adversary(seed)) != expected]
    assert differ == []


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
