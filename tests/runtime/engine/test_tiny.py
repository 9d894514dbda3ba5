"""The engine over the tiny model: its tokens are those of plain decoding, whatever shares the batch."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import torch

from plait import Engine, Observer, Prompt, Sampling
from plait.dsl.span import Source
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.plain import Plain
from plait.runtime.engine.piece import End, Piece
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.schedule import Schedule

CHECKPOINT = load_checkpoint()
MODEL = CHECKPOINT.model("exact")
TOKENS = 12


@pytest.fixture(scope="module")
def service(root, compiled) -> Any:
    """The round of a service, every phase by itself."""
    source = Source(
        "service.spec", (root / "examples" / "service.spec").read_text(encoding="utf-8")
    )

    def compile(**settings: Any) -> Schedule:
        return compiled(source, settings={"buckets": [1, 2, 4], **settings}, capture=False)

    return compile


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    texts = [text[: 20 + 30 * number] for number, text in enumerate(CHECKPOINT.prompts[:6])]
    return [Prompt(tuple(one.prompt), TOKENS) for one in requests_for(CHECKPOINT, texts, TOKENS)]


@pytest.fixture(scope="module")
def plain(prompts: list[Prompt]) -> list[list[int]]:
    from plait.runtime.eagle.request import Request

    judge = [Request(list(prompt.tokens), TOKENS, -1) for prompt in prompts]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        decoding = Plain(MODEL, judge, [8], captured=False)
        while decoding.advance(TOKENS):
            pass
    torch.set_num_threads(threads)
    return [request.tokens for request in judge]


async def served(engine: Engine, prompts: list[Prompt], apart: int = 0) -> list[Piece]:
    """All of them, so many pieces of another after each other."""
    answers = []
    for prompt in prompts:
        stream = engine.submit(prompt)
        first = [await anext(stream) for _ in range(min(apart, 1))]
        answers.append((first, asyncio.ensure_future(stream.whole())))
    return [
        replace(rest, tokens=(*(t for piece in first for t in piece.tokens), *rest.tokens))
        for first, answer in answers
        for rest in [await answer]
    ]


def test_tokens_are_those_of_plain_decoding(service, prompts, plain) -> None:
    """Six requests over four rows join and leave; drafting none or more of them in flight changes nothing."""
    decoder = TinyDecoder(service(), MODEL)

    async def work() -> None:
        async with Engine(decoder) as engine:
            together = asyncio.ensure_future(served(engine, prompts))
            for steps in (0, 3, 1):
                await asyncio.sleep(0.02)
                await engine.swap(service(num_steps=steps))
            one_by_one = served(engine, prompts, apart=1)
            for found in (await together, await one_by_one):
                assert [list(piece.tokens) for piece in found] == plain
                assert {piece.end for piece in found} == {End.LENGTH}
            held = dict(await engine.held())
            assert held.pop("kept") > 0 and set(held.values()) == {0}

    asyncio.run(work())
    decoder.forget()
    assert set(decoder.held().values()) == {0}


def test_the_same_seed_gives_the_same_tokens_and_logprobs_in_any_company(service, prompts) -> None:
    """Sampled alone, and sampled among others that come and go: token for token, number for number."""
    asked = [
        replace(prompt, sampling=Sampling(0.9, top_k=40, top_p=0.95, seed=seed), logprobs=3)
        for seed, prompt in enumerate(prompts)
    ]

    async def work() -> tuple[list[Piece], list[Piece]]:
        async with Engine(TinyDecoder(service(), MODEL)) as engine:
            together = await served(engine, asked)
        async with Engine(TinyDecoder(service(buckets=[1]), MODEL)) as engine:
            return together, [await engine.submit(prompt).whole() for prompt in asked]

    together, alone = asyncio.run(work())
    assert [replace(piece, reused=0) for piece in together] == [
        replace(piece, reused=0) for piece in alone
    ]
    for piece in alone:
        assert len(piece.logprobs) == len(piece.tokens) == TOKENS
        assert all(len(one.top) == 3 for one in piece.logprobs)
        assert all(one.top[0][1] >= one.logprob - 1e-6 for one in piece.logprobs)


def test_a_policy_changes_the_schedule_and_no_token(service, prompts, plain) -> None:
    """Among 0, 1 and 3 drafted tokens it goes over when it will; texts are those of plain decoding."""

    class Swaps(Observer):
        found: list[str] = []

        def swapped(self, told: Any) -> None:
            assert not told.entered_again
            self.found.append(told.why)

    class Each:
        """Another one every third round."""

        rounds = 0

        def saw(self, schedule: int, bucket: int, committed: Any, nanoseconds: int) -> None:
            self.rounds += 1

        def choose(self, bucket_of: Any) -> int:
            return self.rounds // 3 % 3

    schedules = [service(num_steps=steps) for steps in (0, 1, 3)]

    async def work() -> list[Piece]:
        decoder = TinyDecoder(schedules[0], MODEL)
        engine = Engine(decoder, schedules=schedules, policy=Each(), observers=[Swaps()])
        async with engine:
            return await served(engine, prompts)

    assert [list(piece.tokens) for piece in asyncio.run(work())] == plain
    assert len(Swaps.found) >= 3 and set(Swaps.found) == {"policy"}
