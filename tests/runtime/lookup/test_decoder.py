"""Rounds that look up what they draft: plain decoding's tokens and logits, bit for bit, on two models."""

from __future__ import annotations

import asyncio
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from drawing.batching import Batch, Text
from drawing.judged import Judged, judged_by_plain
from plait import Engine, Prompt, Sampling
from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.span import Source
from plait.runtime.eagle.compare import decode, requests_for
from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Checks, Decoder, ForSchedules
from plait.runtime.lookup.decoder import LookupDecoder
from plait.runtime.models.shipped import load
from plait.runtime.models.target import Target
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

pytestmark = pytest.mark.usefixtures("one_thread")

EXAMPLES = Path(__file__).parents[3] / "examples"
MOST = 16
"""New tokens."""


@cache
def model(name: str = "small-llama") -> Target:
    return load(name).model("exact")


def lookup(**settings: Any) -> Schedule:
    asked = {"buckets": [1, 2, 4], "most_pages": 6, **settings}
    source = read_source(EXAMPLES / "lookup.spec")
    return compile_source(source, Asked(settings=asked, environment={}))


@cache
def judged(name: str) -> list[Judged]:
    """Prompts of different lengths, two of which begin alike, with plain decoding's tokens and logits."""
    checkpoint = load(name)
    texts = [one.prompt for one in requests_for(checkpoint, list(checkpoint.prompts)[:4], MOST)]
    prompts = [text[: 21 + 9 * number] for number, text in enumerate(texts)]
    return judged_by_plain(model(name), [*prompts, [*prompts[3][:33], 5, 6]], MOST)


def check(text: Text, name: str) -> None:
    """What it has is what plain decoding gave it."""
    assert next(one for one in judged(name) if one.prompt.tokens == text.prompt.tokens).agrees(text)


CASES = [*(("small-llama", steps) for steps in (0, 1, 3, 6)), ("tiny", 3)]


@pytest.mark.parametrize(("name", "steps"), CASES)
def test_tokens_and_logits_whatever_comes_and_goes(name: str, steps: int) -> None:
    """Requests join, leave, give up and are restored at random, on fewer pages than they would like."""
    chance = random.Random(steps)
    decoder = LookupDecoder(lookup(num_steps=steps), model(name), pages=13)
    batch, ended = Batch(decoder), 0
    waiting = [Text(one[0]) for one in judged(name) * 2]
    chance.shuffle(waiting)
    while waiting or batch.texts:
        while waiting and len(batch.texts) < 4 and batch.join(waiting[-1]):
            waiting.pop()
        if batch.texts:
            batch.round()
        for row in reversed(range(len(batch.texts))):
            text = batch.texts[row]
            check(text, name)
            if text.done or chance.random() < 0.05:
                batch.leave(row)
                ended += 1
            elif chance.random() < 0.05:
                waiting.append(batch.leave(row, keep=False))
    assert ended == 10
    batch.close()
    assert decoder.held()["kept"] and decoder.rows.pages.room == 12
    decoder.forget()
    assert set(decoder.held().values()) == {0}


def test_more_than_one_token_comes_of_a_round() -> None:
    """Of held-out prompts, captured rounds in slots that are refilled give plain decoding's tokens."""
    checkpoint = load("small-llama")
    schedule = lookup(buckets=[1, 2, 4, 8], most_pages=8)
    texts = list(checkpoint.prompts)
    outcome = decode(
        schedule, checkpoint.model("exact"), lambda: requests_for(checkpoint, texts, 48)
    )
    assert outcome.identical
    accepted = outcome.speculative.accepted
    assert sum(n * times for n, times in accepted.items()) > 1.5 * sum(accepted.values())


def test_a_request_samples_the_same_alone_and_with_others() -> None:
    """By seed and position: looked up or not, with others in the batch or none."""
    prompts = [
        Prompt(one[0].tokens, MOST, Sampling(0.8, 40, 0.95, seed), logprobs=2)
        for seed, one in enumerate(judged("small-llama")[:4])
    ]
    found = []
    for steps, together in ((0, False), (3, True), (6, False)):
        texts = [Text(prompt) for prompt in prompts]
        for part in [texts] if together else [[text] for text in texts]:
            batch = Batch(LookupDecoder(lookup(num_steps=steps), model()))
            assert all(batch.join(text) for text in part)
            while not all(text.done for text in part):
                batch.round()
            batch.close()
        found.append([(text.tokens, text.logprobs) for text in texts])
    assert found[0] == found[1] == found[2]
    assert any(
        text[0] != one[1] for text, one in zip(found[0], judged("small-llama"), strict=False)
    )


def test_what_is_known_is_not_run_again() -> None:
    """Behind a beginning that is reused all is as if the prompt had been run whole."""
    (long, *_), (short, *_) = judged("small-llama")[3], judged("small-llama")[4]
    decoder = LookupDecoder(lookup(), model())
    fresh = LookupDecoder(lookup(), model()).enter(0, short, ())
    assert decoder.enter(0, long, ()).reused == 0
    entered = decoder.enter(1, short, ())
    assert (entered.reused, entered.token) == (32, fresh.token)
    texts = entered.carried["text"]
    assert texts[: len(short.tokens)].tolist() == list(short.tokens)
    assert torch.equal(texts, fresh.carried["text"])


def test_it_has_what_an_engine_asks() -> None:
    """The protocol and two of the things beside it, found by their names."""
    decoder: Decoder = LookupDecoder(lookup(), model())
    assert isinstance(decoder, Checks) and isinstance(decoder, ForSchedules)


def test_an_engine_serves_it() -> None:
    """Five requests over four rows while schedules change: each has plain decoding's tokens."""
    name, made = "small-llama", LookupDecoder(lookup(), model())

    async def work() -> list[list[int]]:
        async with Engine(made) as engine:
            streams = [engine.submit(one[0]) for one in judged(name)]
            first = asyncio.gather(*(stream.whole() for stream in streams))
            await engine.swap(lookup(num_steps=0))
            again = asyncio.gather(*(engine.submit(one[0]).whole() for one in judged(name)))
            await engine.swap(lookup(num_steps=2))
            return [list(piece.tokens) for piece in (*await first, *await again)]

    assert asyncio.run(asyncio.wait_for(work(), 60)) == [one[1] for one in judged(name)] * 2
    made.forget()
    assert set(made.held().values()) == {0}


def service(**settings: Any) -> Schedule:
    asked = {"buckets": [1, 2, 4], "most_pages": 6, **settings}
    source = read_source(EXAMPLES / "service.spec")
    return compile_source(source, Asked(settings=asked, environment={}))


def test_what_cannot_be_served_is_refused() -> None:
    """A prompt without tokens, with strange ones, or over the context."""
    decoder = LookupDecoder(lookup(), model(), pages=4)
    for prompt, says in (
        (Prompt((), 1), "a prompt has one token or more, from 0 to 1023"),
        (Prompt((1024,), 1), "a prompt has one token or more, from 0 to 1023"),
        (Prompt((1, 2), 95), "a prompt of 2 tokens that asks for 95 more; the context is 96"),
        (Prompt((1, 2), 60), "62 tokens need more than the 3 pages of 16 that there are"),
    ):
        with pytest.raises(RequestError, match=says):
            decoder.enter(0, prompt, ())
        assert set(decoder.held().values()) == {0}


def test_rounds_that_do_not_fit_are_refused() -> None:
    """Another round, texts of another width, a width of none, and EAGLE on a model without its head."""
    text = (EXAMPLES / "lookup.spec").read_text(encoding="utf-8")

    def refused(old: str, new: str, says: str) -> None:
        assert old in text
        source = Source("mine.spec", text.replace(old, new))
        schedule = compile_source(source, Asked(environment={}))
        with pytest.raises(BindError, match=says):
            LookupDecoder(schedule, model())

    refused("page_size * most_pages]", "500]", "mine.spec: `text` is 500 wide; .* 512 positions")
    refused("longest          = 3", "longest          = 0", "its param `longest` is 0; .* 1 to 512")
    refused("phase lookup ", "phase guess ", "`guess` is no phase of the round that is bound here")
    with pytest.raises(BindError, match="a buffer `text` of two axes"):
        LookupDecoder(service(), model())
    with pytest.raises(BindError, match="drafts with a NextN head, which this model has not"):
        decode(service(), model(), list)
    decoder = LookupDecoder(lookup(), model())
    with pytest.raises(BindError, match="5 pages of 16 a request; the cache was made for 6 of 16"):
        decoder.for_schedule(lookup(most_pages=5))
