"""Sampling on the embedded model, in exact mode: a request's tokens are those of plain decoding, alone."""

from __future__ import annotations

import pytest
import torch

from drawing.batching import Batch, Text
from drawing.sampled import SERVICE, compiled
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.engine.prompt import Prompt, Sampling
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.models.tiny.model import TinyModel

ASKED = [
    Sampling(),
    Sampling(temperature=0.7, seed=1),
    Sampling(temperature=1.0, top_k=40, seed=2),
    Sampling(temperature=1.0, top_p=0.9, seed=-(2**63)),
    Sampling(temperature=1.3, top_k=50, top_p=0.8, seed=2**63 - 1),
]
NEW = 10


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return load_checkpoint().model("exact")


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    checkpoint = load_checkpoint()
    texts = [checkpoint.tokenizer.encode(text)[:8] for text in checkpoint.prompts[: len(ASKED)]]
    return [
        Prompt(tuple(text), NEW, asked, logprobs=0)
        for text, asked in zip(texts, ASKED, strict=True)
    ]


def decoded(model: TinyModel, steps: int, prompts: list[Prompt]) -> list[Text]:
    schedule = compiled(SERVICE, False, num_steps=steps, buckets=[len(prompts)])
    batch = Batch(TinyDecoder(schedule, model))
    texts = [Text(prompt) for prompt in prompts]
    with torch.no_grad():
        assert all(batch.join(text) for text in texts)
        while not all(text.done for text in texts):
            batch.round()
    batch.close()
    return texts


@pytest.fixture(scope="module")
def plain(model, prompts) -> list[Text]:
    """One token a round, each request alone."""
    return [decoded(model, 0, [prompt])[0] for prompt in prompts]


@pytest.mark.parametrize("steps", [1, 3])
def test_sampled_tokens_and_logprobs_are_those_of_plain_decoding(
    steps: int, model, prompts, plain
) -> None:
    """Five requests in one batch, whatever is drafted for them and whoever is beside them."""
    found = decoded(model, steps, prompts)
    assert [text.tokens for text in found] == [text.tokens for text in plain]
    assert [text.logprobs for text in found] == [text.logprobs for text in plain]


def test_the_way_to_sample_makes_a_difference(prompts, plain) -> None:
    """Else the test above would show little: all but the greedy one leave the likeliest tokens."""
    for prompt, text in zip(prompts, plain, strict=True):
        likeliest = {place: int(logits.argmax()) for place, logits in text.logits.items()}
        greedy = all(text.tokens[place] == token for place, token in likeliest.items())
        assert greedy == (prompt.sampling.temperature == 0)
