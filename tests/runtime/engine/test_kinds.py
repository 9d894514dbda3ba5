"""The engine over every kind of round: chains, trees, ragged verify, lookup, and none of them drafting.

Whatever the kind, and whatever rounds go over to, a request has the tokens of one token a round, alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from plait import Adaptive, BindError, Engine, Observer, Prompt, Sampling
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.forms import decoder_of
from plait.runtime.eagle.lengths import Lengths
from plait.runtime.eagle.prefilling import PART
from plait.runtime.eagle.ragged import PagedRagged
from plait.runtime.engine.piece import End, Piece
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule

pytestmark = pytest.mark.usefixtures("one_thread")

EXAMPLES = Path(__file__).parents[3] / "examples"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("service_tree", {"num_steps": 0}),
    "chain": ("service_tree", {"num_steps": 2, "topk": 1}),
    "tree": ("service_tree", {"num_steps": 3, "topk": 2}),
    "wide": ("service_tree", {"num_steps": 2, "topk": 4}),
    "ragged": ("service_ragged", {"num_steps": 3, "tiers": [4, 8, 16]}),
    "short": ("service_ragged", {"num_steps": 1, "tiers": [4, 8]}),
    "service": ("service", {"num_steps": 2, "most_pages": 33}),
    "lookup": ("lookup", {}),
}
MOST = 8
"""New tokens."""


@cache
def model() -> TinyModel:
    return load_checkpoint().model("exact")


@cache
def kind(name: str, most: int = 4) -> Schedule:
    """With room for so many requests."""
    spec, settings = KINDS[name]
    asked = {"buckets": [one for one in (1, 2, 4) if one <= most], **settings}
    source = read_source(EXAMPLES / f"{spec}.spec")
    return compile_source(source, Asked(settings=asked, capture=False, environment={}))


@cache
def prompts() -> list[Prompt]:
    """Of different lengths, every other one sampled, each with a way of its own."""
    checkpoint = load_checkpoint()
    found = []
    for number, ids in enumerate(checkpoint.tokenizer.encode_all(list(checkpoint.prompts[:6]))):
        tokens = (checkpoint.shape.bos, *ids[: 5 + 5 * number])
        sampled = Sampling(0.9, 40 * (number % 4 == 1), 0.95, seed=number)
        how = sampled if number % 2 else Sampling()
        found.append(Prompt(tokens, MOST, how, logprobs=2 if number % 3 == 1 else None))
    return found


def whole(first: Piece, rest: Piece) -> Piece:
    """Of two parts of an answer, but for what was in the cache."""
    tokens, logprobs = first.tokens + rest.tokens, first.logprobs + rest.logprobs
    return replace(rest, tokens=tokens, logprobs=logprobs, reused=0)


@cache
def alone() -> list[Piece]:
    """One token a round, one request at a time."""

    async def work() -> list[Piece]:
        async with Engine(TinyDecoder(kind("plain", 1), model())) as engine:
            return [whole(Piece(), await engine.submit(one).whole()) for one in prompts()]

    return asyncio.run(work())


@pytest.fixture(scope="module", autouse=True)
def judged(one_thread) -> None:
    """Before an event loop is there."""
    alone()


async def crowd(engine: Engine) -> list[Piece]:
    """All prompts; one joins when another has a piece. Some more leave: by cancel, by a deadline."""
    answers = []
    for number, prompt in enumerate(prompts()):
        stream = engine.submit(prompt)
        first = await anext(stream) if number % 2 else Piece()
        answers.append((first, asyncio.ensure_future(stream.whole())))
        leaving = engine.submit(replace(prompt, max_tokens=100))
        if number % 3 == 0:
            await anext(leaving)
            leaving.cancel()
        elif number % 3 == 1:
            late = await engine.submit(replace(prompt, deadline=0.0)).whole()
            assert late.end is End.DEADLINE
        leaving.cancel()
    return [whole(first, await rest) for first, rest in answers]


async def check(engine: Engine) -> None:
    """That a crowd has the tokens it should, and that nothing is held of it."""
    assert await crowd(engine) == alone()
    await engine.drain()
    held = dict(await engine.held())
    held.pop("kept")
    assert set(held.values()) == {0}


def stepping(decoder: TinyDecoder) -> list[Mapping[str, int]]:
    """The sizes of rounds to come."""
    found, sizes = [], decoder.sizes

    def noting(live: int) -> Mapping[str, int]:
        found.append(sizes(live))
        return found[-1]

    decoder.sizes = noting
    return found


class Noted(Observer):
    def __init__(self) -> None:
        self.rounds: list[Any] = []
        self.swaps: list[Any] = []

    def round(self, told: Any) -> None:
        self.rounds.append(told)

    def swapped(self, told: Any) -> None:
        self.swaps.append(told)


@pytest.mark.parametrize("name", ["plain", "chain", "tree", "ragged", "lookup"])
def test_tokens_are_those_of_one_a_round(name: str) -> None:
    """Greedy and sampled, with their log probabilities, whoever joins and leaves beside them."""
    noted, decoder = Noted(), decoder_of(kind(name), model())
    stepped: list[Mapping[str, int]] = []
    if isinstance(decoder, TinyDecoder):
        stepped = stepping(decoder)
        decoder.lengths.least = 0.9  # much of what is not verified would have been accepted

    async def work() -> None:
        async with Engine(decoder, observers=[noted]) as engine:
            await check(engine)

    asyncio.run(work())
    committed = [tokens for told in noted.rounds for tokens in told.committed]
    assert (max(committed) > 1) == (name != "plain")
    if name == "ragged":  # of some requests fewer rows than there are
        rows, requests = (sum(sizes[dim] for sizes in stepped) for dim in ("tokens", "bs"))
        assert requests < rows < 4 * requests


def test_rounds_go_over_from_kind_to_kind() -> None:
    """While requests are in flight: what rounds carry moves along, or else requests are entered again."""
    noted, alike = Noted(), ("ragged", "plain", "tree", "short", "chain")
    others = ("service", "tree")  # that one carries one candidate

    async def read(engine: Engine, number: int, done: asyncio.Event) -> None:
        while not done.is_set():
            found = await engine.submit(prompts()[number]).whole()
            assert whole(Piece(), found) == alone()[number]

    async def work() -> None:
        decoder, done = TinyDecoder(kind("tree"), model()), asyncio.Event()
        async with Engine(decoder, observers=[noted]) as engine:
            there = engine.submit(replace(prompts()[3], max_tokens=450))
            readers = asyncio.gather(*(read(engine, number, done) for number in range(3)))
            for name in (*alike, *others):
                await engine.swap(kind(name))
                seen = len(noted.rounds)
                while len(noted.rounds) < seen + 2 and not readers.done():
                    await asyncio.sleep(0.001)
            done.set()
            there.cancel()
            await readers
            assert (await there.whole()).tokens[:MOST] == alone()[3].tokens

    asyncio.run(work())
    assert [told.schedule for told in noted.swaps] == [KINDS[one][0] for one in (*alike, *others)]
    assert {told.settings for told in noted.rounds} >= {told.settings for told in noted.swaps}
    again = [told.entered_again for told in noted.swaps]
    assert not any(again[: len(alike)]) and any(again[len(alike) :])


def test_a_prompt_that_is_begun_as_a_tree_s_ends_as_a_chain_s() -> None:
    """What its row carries is of the schedule that it enters under, whatever it was begun under."""
    long, began = Prompt(tuple(range(1, 3 * PART)), MOST), TinyDecoder(kind("tree"), model())
    prefill = began.prefill(long, ())
    assert prefill is not None and prefill.advance()
    entered = began.for_schedule(kind("service")).enter(0, long, ())
    assert entered.carried["candidate"].shape == (1,) and "weight" not in entered.carried
    began.leave(0, ())
    began.forget()
    assert set(began.held().values()) == {0}


def test_what_writes_further_is_refused_where_pages_do_not_reach() -> None:
    """Begun as a ragged one, requests have no pages for a tree; begun as a tree, they have."""

    async def work() -> None:
        async with Engine(TinyDecoder(kind("ragged"), model())) as engine:
            with pytest.raises(
                BindError, match="it writes 16 positions behind a request's last token"
            ):
                await engine.swap(kind("tree"))

    asyncio.run(work())


class Turns:
    """Another of so many schedules every other round."""

    def __init__(self, schedules: int):
        self.order = (number // 2 % schedules for number in count())

    def saw(self, schedule: int, bucket: int, committed: Sequence[int], nanoseconds: int) -> None:
        assert sum(committed) >= len(committed) >= 1

    def choose(self, bucket_of: Sequence[int]) -> int:
        assert set(bucket_of) <= {1, 2, 4}
        return next(self.order)


POLICIES = {
    "turns": (["tree", "ragged", "plain", "short"], Turns(4)),
    "trees": (["plain", "wide", "tree"], Adaptive([0, 2, 3])),
    "ragged": (["plain", "short", "ragged"], Adaptive([0, 1, 3])),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_chooses_among_kinds(name: str) -> None:
    """How many are drafted follows what pays, over trees and over ragged rounds; no token is another."""
    names, policy = POLICIES[name]
    noted, schedules = Noted(), [kind(one) for one in names]

    async def work() -> None:
        decoder = TinyDecoder(kind("tree"), model())
        engine = Engine(decoder, schedules=schedules, policy=policy, observers=[noted])
        async with engine:
            await check(engine)

    asyncio.run(work())
    assert not any(told.entered_again for told in noted.swaps)
    if name == "turns":
        assert {told.settings for told in noted.rounds} == {told.settings for told in noted.swaps}


def test_a_ragged_round_that_fails_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was live is restored from its tokens, and verifies all rows at first, as what is new does."""
    unpack, calls, faults = PagedRagged.unpack, count(1), []

    def broken(self, states, verify_lens, rows_hidden) -> None:
        if next(calls) in (3, 4, 9):
            raise ValueError("as it was told")
        unpack(self, states, verify_lens, rows_hidden)

    class Faults(Observer):
        def fault(self, told: Any) -> None:
            faults.append(told.restored)

    async def work() -> None:
        decoder = TinyDecoder(kind("ragged"), model())
        async with Engine(decoder, observers=[Faults()]) as engine:
            await check(engine)

    monkeypatch.setattr(PagedRagged, "unpack", broken)
    asyncio.run(work())
    assert faults == [True] * 3


def test_what_a_round_finds_out_belongs_to_who_was_in_it() -> None:
    """Rows have changed by then: one has left, the last one has moved, a new one has come."""
    lengths, mine, others = Lengths(least=0.5), object(), object()
    for row in range(3):
        lengths.enter(row)
    assert lengths.of(3, 4) == [4, 4, 4]
    lengths.begin(mine, 3)
    lengths.leave(0)
    lengths.move(2, 0)
    lengths.enter(2)
    lengths.begin(mine, 3)
    lengths.learn(mine, [[0.9, 0.9, 0.9], [0.9, 0.4, 0.1], [0.5, 0.5, 0.4], [0.0] * 3])
    assert lengths.of(3, 4) == [3, 2, 4]
    assert lengths.of(2, 2) == [2, 2]
    lengths.begin(others, 3)
    lengths.learn(others, [[0.0] * 3] * 3)
    assert lengths.of(3, 4) == [3, 2, 4]
