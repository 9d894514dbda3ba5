"""Log probabilities are those that were asked for, of as many tokens, at every token of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from plait import Adaptive, BindError, Engine, Prompt, RequestError
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.engine.decoder import Entered
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.schedule import Schedule

EXAMPLE = Path(__file__).parents[3] / "examples" / "service.spec"
ASKED = Prompt((0, 5, 9), 8, logprobs=3)


@cache
def giving(most: int) -> Schedule:
    """Rounds that give log probabilities of so many tokens."""
    settings = {"num_steps": 0, "buckets": [1], "top_logprobs": most}
    return compile_source(read_source(EXAMPLE), Asked(settings=settings))


class Even(TinyDecoder):
    """All tokens are alike to it when a prompt has run."""

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        entered = super().enter(row, prompt, known)
        return replace(entered, logprobs=torch.zeros(self.vocab))


def test_more_than_rounds_give_is_refused() -> None:
    """By `submit`, by `swap` and where a policy is to choose; what is in flight has all it asked for."""
    few, many = giving(3), giving(5)

    async def work() -> list[str]:
        async with Engine(
            TinyDecoder(few, load_checkpoint().model("f32")), prepare=False
        ) as engine:
            with pytest.raises(RequestError) as asked:
                engine.submit(replace(ASKED, logprobs=4))
            stream = engine.submit(ASKED)
            await anext(stream)
            await engine.swap(many)
            await engine.swap(few)
            with pytest.raises(BindError) as swapped:
                await engine.swap(giving(2))
            assert {len(one.top) for one in (await stream.whole()).logprobs} == {3}
            with pytest.raises(BindError) as chosen:
                Engine(engine.decoder, schedules=[few, giving(2)], policy=Adaptive([0, 2]))
        return [str(one.value) for one in (asked, swapped, chosen)]

    said = (
        "service.spec: it gives log probabilities of the 2 likeliest tokens; requests may ask for log "
        "probabilities of the 3 likeliest tokens, which service.spec gives: begin with this schedule, or "
        "give it as many"
    )
    assert asyncio.run(work()) == [
        "log probabilities of the 4 likeliest tokens: service.spec gives log probabilities of the 3 "
        "likeliest tokens: ask for what it gives, or for none",
        said,
        said,
    ]


def test_of_equally_likely_tokens_the_lower_comes_first() -> None:
    """Of the token that a prompt gives as of those that rounds give."""

    async def work() -> list[int]:
        async with Engine(Even(giving(5), load_checkpoint().model("f32")), prepare=False) as engine:
            first = await anext(engine.submit(replace(ASKED, logprobs=5)))
        return [token for token, _ in first.logprobs[0].top]

    assert asyncio.run(work()) == [0, 1, 2, 3, 4]
