"""Eight requests through the engine against a decoding loop written by hand, on one model and schedule.

f32, greedy, examples/service.spec. The loop puts the same eight prompts into rows of the same decoder, and
steps the same runner until all have their tokens; it knows no queue, no event loop and no other request. At
most 1.05 times it is the aim. Then how long rounds stand still when a long prompt comes among them.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import torch

from plait.bench.paired import Pair, paired
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.bind import bind
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.engine.decoder import NO_TOKEN
from plait.runtime.engine.engine import Engine
from plait.runtime.engine.observer import Observer, Round
from plait.runtime.engine.piece import Piece, joined
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.stream import Stream
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule

Read = Callable[[Stream], Coroutine[Any, Any, Piece]]

REQUESTS = 8
TOKENS = 96
LONG = 400
"""Tokens of the prompt that comes among them."""
EXAMPLE = Path(__file__).parent.parent / "examples" / "service.spec"


def run(turns: int = 20) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    checkpoint = load_checkpoint()
    model = checkpoint.model("f32")
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    texts = requests_for(checkpoint, list(checkpoint.prompts[:REQUESTS]), TOKENS)
    prompts = [Prompt(tuple(one.prompt), TOKENS) for one in texts]
    with asyncio.Runner() as loop:
        engine = Engine(TinyDecoder(schedule, model))
        loop.run(engine.__aenter__())
        hand = Hand(TinyDecoder(schedule, model))

        def ours(read: Read) -> float:
            start = time.perf_counter()
            found = loop.run(_all(engine, prompts, read))
            took = time.perf_counter() - start
            assert [list(piece.tokens) for piece in found] == expected
            return took

        # Told once: were it told at each turn, the hand-written loop would always find its own caches warm.
        expected = hand(prompts)[1]
        ours(Stream.whole)
        yield paired(
            f"{REQUESTS} requests, engine / hand-written loop",
            lambda: ours(Stream.whole),
            lambda: hand(prompts)[0],
            turns,
            most=1.05,
        )
        yield paired(
            f"{REQUESTS} requests read piece by piece, engine / hand-written loop",
            lambda: ours(_by_pieces),
            lambda: hand(prompts)[0],
            turns,
        )
        loop.run(engine.close())
        hand.runner.close()
        yield _long_prompt(loop, schedule, model, prompts[: REQUESTS // 2], turns)


async def _all(engine: Engine, prompts: list[Prompt], read: Read) -> list[Piece]:
    """Until the rows are free again, as the other side has it."""
    found = await asyncio.gather(*(read(engine.submit(prompt)) for prompt in prompts))
    await engine.held()
    return found


async def _by_pieces(stream: Stream) -> Piece:
    return joined([piece async for piece in stream])


class Hand:
    """The loop that someone would write for a batch that neither grows nor shrinks before it is done."""

    def __init__(self, decoder: TinyDecoder):
        self.decoder = decoder
        self.texts: list[list[int]] = []
        bodies = {**decoder.bodies(), "commit": self._commit}
        self.runner = bind(decoder.schedule, bodies, opaque=decoder.opaque(), prepare=True)

    def _commit(self, out_tokens: torch.Tensor, **others: torch.Tensor) -> None:
        for text, row in zip(self.texts, out_tokens.tolist(), strict=False):
            text += [token for token in row if token != NO_TOKEN]

    def __call__(self, prompts: list[Prompt]) -> tuple[float, list[list[int]]]:
        start = time.perf_counter()
        texts = []
        for row, prompt in enumerate(prompts):
            entered = self.decoder.enter(row, prompt, ())
            for name, value in entered.carried.items():
                self.runner.buffer(name)[row] = value
            texts.append([entered.token])
        for copy in self.runner.copies()["out_tokens"]:
            copy.fill_(NO_TOKEN)
        self.texts = texts
        while any(
            len(text) < prompt.max_tokens for text, prompt in zip(texts, prompts, strict=True)
        ):
            self.runner.step(bs=len(prompts))
        self.runner.drain()
        for row in reversed(range(len(prompts))):
            self.decoder.leave(row, (*prompts[row].tokens, *texts[row]))
        took = time.perf_counter() - start
        return took, [
            text[: prompt.max_tokens] for text, prompt in zip(texts, prompts, strict=True)
        ]


class Whole:
    """A decoder that runs every prompt at once."""

    def __init__(self, decoder: TinyDecoder):
        self._decoder = decoder

    def __getattr__(self, name: str) -> Any:
        if name == "prefill":
            raise AttributeError(name)
        return getattr(self._decoder, name)


class Pauses(Observer):
    def __init__(self) -> None:
        self.longest = 0.0
        self._last = 0.0

    def begin(self) -> None:
        self.longest, self._last = 0.0, time.perf_counter()

    def round(self, told: Round) -> None:
        now = time.perf_counter()
        self.longest, self._last = max(self.longest, now - self._last), now


def _long_prompt(
    loop: asyncio.Runner, schedule: Schedule, model: TinyModel, prompts: list[Prompt], turns: int
) -> Pair:
    """The longest time between two rounds of some texts, when a long prompt comes among them."""

    sides = [
        Paused(loop, TinyDecoder(schedule, model)),
        Paused(loop, Whole(TinyDecoder(schedule, model))),
    ]
    found = paired(
        f"pause of {len(prompts)} texts at a prompt of {LONG} tokens, in parts / at once",
        lambda: sides[0](prompts),
        lambda: sides[1](prompts),
        turns,
        most=1.0,
    )
    for side in sides:
        loop.run(side.engine.close())
    return found


class Paused:
    """An engine that some texts and one long prompt meet in."""

    def __init__(self, loop: asyncio.Runner, decoder: Any):
        self.loop = loop
        self.vocab = decoder.vocab
        self.pauses = Pauses()
        self.engine = Engine(decoder, observers=[self.pauses])
        self.draw = random.Random(0)
        loop.run(self.engine.__aenter__())

    def __call__(self, prompts: list[Prompt]) -> float:
        return self.loop.run(self._turn(prompts))

    async def _turn(self, prompts: list[Prompt]) -> float:
        streams = [self.engine.submit(prompt) for prompt in prompts]
        for stream in streams:
            await anext(stream)
        long = Prompt(tuple(self.draw.choices(range(self.vocab), k=LONG)), 4)
        self.pauses.begin()
        await anext(self.engine.submit(long))
        longest = self.pauses.longest
        for stream in streams:
            await stream.whole()
        return longest


if __name__ == "__main__":
    for pair in run():
        print(pair)
