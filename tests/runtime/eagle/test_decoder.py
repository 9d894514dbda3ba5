"""Requests on caches in pages: plain decoding's tokens and logits, wherever pages lie and who shares them."""

from __future__ import annotations

import asyncio
import random
import re
from functools import cache
from pathlib import Path

import pytest
import torch

from drawing.batching import Batch, Text
from drawing.judged import Judged, judged_by_plain
from plait import Engine
from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.span import Source
from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.replayers import VARIABLE
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.prefilling import PART
from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.prompt import Prompt, Sampling
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

pytestmark = pytest.mark.usefixtures("one_thread")

SPEC = Path(__file__).parents[3] / "examples" / "service.spec"
MOST = 16
"""New tokens."""


@cache
def model() -> TinyModel:
    return load_checkpoint().model("exact")


@cache
def service(**settings) -> Schedule:
    asked = {"buckets": [2, 4], "most_pages": 6, **settings}
    return compile_source(read_source(SPEC), Asked(settings=asked, environment={}))


@cache
def judged() -> list[Judged]:
    """Prompts of different lengths, some of which begin alike, with plain decoding's tokens and logits."""
    checkpoint = load_checkpoint()
    texts = [one.prompt for one in requests_for(checkpoint, list(checkpoint.prompts)[:3], MOST)]
    first, second, third = (text[: 21 + 9 * number] for number, text in enumerate(texts))
    prompts = [first, second, third, [*first[:17], 5, 6], third[:33], third]
    return judged_by_plain(model(), prompts, MOST)


def check(text: Text) -> None:
    """What it has is what plain decoding gave it."""
    assert next(one for one in judged() if one.prompt.tokens == text.prompt.tokens).agrees(text)


def scattered(decoder: TinyDecoder, seed: int) -> None:
    """Pages are given out in a random order from now on."""
    random.Random(seed).shuffle(decoder.memory.rows.pages._free)


REPORTED = ("logprobs", "top_tokens", "out_logprobs", "out_top_tokens")


def test_a_round_that_reports_nothing_gives_the_same_tokens() -> None:
    """It has none of the buffers of log probabilities, and whoever asks for those is refused."""
    text = re.sub(rf"(?m)^  buffer ({'|'.join(REPORTED)}) +:.*\n", "", SPEC.read_text())
    text = re.sub(rf", (prev )?({'|'.join(REPORTED)})\b", "", text)
    asked = Asked(settings={"buckets": [4], "most_pages": 6}, environment={})
    schedule = compile_source(Source("quiet.spec", text), asked)
    assert not {buffer.name for buffer in schedule.buffers} & set(REPORTED)

    async def answers() -> list[list[int]]:
        async with Engine(TinyDecoder(schedule, model())) as engine:
            with pytest.raises(RequestError, match="quiet.spec gives no log probabilities"):
                engine.submit(Prompt((1,), 1, logprobs=0))
            streams = [engine.submit(prompt) for prompt, _, _ in judged()[:3]]
            return [list((await stream.whole()).tokens) for stream in streams]

    assert asyncio.run(answers()) == [tokens for _, tokens, _ in judged()[:3]]


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_tokens_and_logits_whatever_comes_and_goes(steps: int) -> None:
    """Requests join, leave, give up and are restored at random, on fewer pages than they would like."""
    chance = random.Random(steps)
    decoder = TinyDecoder(service(num_steps=steps), model(), pages=10)
    scattered(decoder, steps)
    batch, ended, refused = Batch(decoder), 0, 0
    waiting = [Text(one[0]) for one in judged() * 2]
    chance.shuffle(waiting)
    while waiting or batch.texts:
        while waiting and len(batch.texts) < 4 and chance.random() < 0.8:
            if not batch.join(waiting[-1]):
                refused += 1
                break
            waiting.pop()
        if batch.texts:
            batch.round()
        for row in reversed(range(len(batch.texts))):
            text = batch.texts[row]
            check(text)
            if text.done or chance.random() < 0.05:
                batch.leave(row)
                ended += 1
            elif chance.random() < 0.05:
                waiting.append(batch.leave(row, keep=False))
    assert ended == 12 and refused
    batch.close()
    assert decoder.held()["kept"] and decoder.memory.rows.pages.room == 9
    decoder.forget()
    assert set(decoder.held().values()) == {0}


def test_pages_may_lie_anywhere() -> None:
    """The same rounds bit for bit with pages in order and in none, and rows that move keep their pages."""
    found = []
    for seed in (None, 1):
        decoder = TinyDecoder(service(), model())
        if seed is not None:
            scattered(decoder, seed)
        batch = Batch(decoder)
        for prompt, *_ in judged()[:3]:
            assert batch.join(Text(prompt))
        batch.round()
        table = decoder.memory.rows.table(2)
        batch.leave(0)
        assert decoder.memory.rows.table(0) == table
        for _ in range(3):
            batch.round()
        found.append([text.logits for text in batch.texts])
        batch.close()
    for one, other in zip(*found, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[place], other[place]) for place in one)


def test_a_row_without_a_request_writes_to_no_page() -> None:
    """Though it still stands in the table where its pages were, which another request has by now."""
    batch = Batch(TinyDecoder(service(), model()))
    short, longer, *others = (Text(judged()[number][0]) for number in (0, 2, 1, 4))
    for text in (others[0], others[1], longer, short):
        batch.join(text)
    batch.round()
    batch.leave(0, keep=False)
    batch.leave(0, keep=False)
    stale = set(batch.runner.buffer("pages")[3].tolist())
    last = Text(judged()[2][0])
    batch.join(last)
    assert stale & set(batch.runner.buffer("pages")[2].tolist()) - {0}
    while not last.done:
        batch.round()
    check(last)
    batch.close()


def test_what_is_known_is_not_run_again() -> None:
    """Behind a prefix that is reused all is as if the prompt had been run whole, in NextN's cache too."""
    prompt = judged()[2][0]
    fresh, used = (TinyDecoder(service(), model()) for _ in range(2))
    batch = Batch(used)
    first = Text(judged()[5][0])
    batch.join(first)
    while not first.done:
        batch.round()
    batch.leave(0)
    entered, again = (decoder.enter(0, prompt, ()) for decoder in (fresh, used))
    assert (entered.reused, again.reused) == (0, (len(prompt.tokens) - 1) // 16 * 16)
    longer = (*prompt.tokens, *first.tokens)
    assert used.enter(1, Prompt(longer, 1), ()).reused == (len(longer) - 1) // 16 * 16
    assert entered.token == again.token
    for name in ("seq_lens", "bonus", "candidate", "hidden"):
        assert torch.equal(entered.carried[name], again.carried[name])
    keys = [
        [cache[entry.carried["pages"]].flatten(0, 1)[: len(prompt.tokens)] for cache in caches]
        for entry, caches in (
            (one, decoder.memory.target_cache + decoder.memory.nextn_cache)
            for one, decoder in ((entered, fresh), (again, used))
        )
    ]
    assert all(torch.equal(one, other) for one, other in zip(*keys, strict=True))
    batch.close()


def test_a_prompt_in_parts() -> None:
    """Run beside rounds, it holds its pages from the beginning, and enters as if it had been run whole."""
    schedule = service(most_pages=16)
    prompt = Prompt(tuple((7 * n) % 900 for n in range(2 * PART + 30)), 20)
    whole = TinyDecoder(schedule, model()).enter(0, prompt, ())
    decoder = TinyDecoder(schedule, model(), pages=14)
    begun = decoder.prefill(prompt, ())
    assert begun is not None and decoder.held()["pages"] == 12
    assert not decoder.has_room(Prompt((1,), 20), ())
    assert not decoder.has_room(prompt, ()) and decoder.prefill(prompt, ()) is None
    assert [begun.advance(), begun.advance()] == [True, False]
    assert decoder.has_room(prompt, ()) and not decoder.has_room(Prompt(prompt.tokens, 40), ())
    entered = decoder.enter(0, prompt, ())
    begun.close()
    assert entered.token == whole.token
    assert torch.equal(entered.carried["hidden"], whole.carried["hidden"])
    assert decoder.held() == {"rows": 1, "prompts": 0, "pages": 12, "kept": 0}
    decoder.leave(0, ())
    other = decoder.prefill(Prompt(tuple(range(PART + 1)), 20), ())
    assert other is not None
    other.close()
    assert not other.advance()
    assert decoder.held() == {"rows": 0, "prompts": 0, "pages": 0, "kept": 7}


def test_parts_are_shared_at_once() -> None:
    """A prompt that begins as another that is still under way runs only what that has not run."""
    decoder = TinyDecoder(service(most_pages=16), model())
    tokens = tuple((7 * n) % 900 for n in range(2 * PART + 30))
    begun = decoder.prefill(Prompt(tokens, 20), ())
    assert begun is not None and begun.advance()
    assert decoder.enter(0, Prompt((*tokens[: PART + 9], 5, 6), 4), ()).reused == PART
    begun.close()
    assert decoder.enter(1, Prompt(tokens, 20), ()).reused == PART


def test_a_seed_decides_alone() -> None:
    """Sampled tokens and log probabilities are the same in every batch, by chains and one by one."""
    asked = [Sampling(0.8, seed=3), Sampling(1.2, top_k=40, top_p=0.9, seed=3), Sampling()]
    texts = []
    for steps, alone in ((2, False), (0, False), (2, True), (3, False)):
        decoder = TinyDecoder(service(num_steps=steps), model())
        batch = Batch(decoder)
        mine = [Text(Prompt(judged()[0][0].tokens, MOST, one, logprobs=0)) for one in asked]
        texts.append(mine)
        for text in mine:
            batch.join(text)
            while alone and not text.done:
                batch.round()
            if alone:
                batch.leave(0)
        while not all(text.done for text in mine):
            batch.round()
        batch.close()
    first = texts[0]
    check(first[2])
    assert first[0].tokens != first[1].tokens != first[2].tokens
    for others in texts[1:]:
        assert [text.tokens for text in others] == [text.tokens for text in first]
        assert [text.logprobs[1:] for text in others] == [text.logprobs[1:] for text in first]
    for text in first:
        rows = torch.stack([row.double() for row in text.logits.values()]).log_softmax(-1)
        wanted = rows.gather(1, torch.tensor(text.tokens[1:]).unsqueeze(1))[:, 0]
        assert torch.allclose(torch.tensor(text.logprobs[1:]).double(), wanted, atol=1e-5)


def test_other_steps_between_two_rounds() -> None:
    """Schedules of another number of steps take over the memory and the rows, and no token differs."""
    schedules = [service(num_steps=steps) for steps in (2, 0, 3)]
    decoder = TinyDecoder(schedules[0], model())
    batches = [Batch(decoder.for_schedule(one)) for one in schedules]
    texts = [Text(one[0]) for one in judged()[:3]]
    for text in texts:
        batches[0].join(text)
    turn = 0
    while not all(text.done for text in texts):
        here, turn = batches[turn % 3], turn + 1
        here.round()
        after = batches[turn % 3]
        after.texts = here.texts
        for name in (
            "seq_lens",
            "bonus",
            "candidate",
            "hidden",
            "pages",
            "temperature",
            "top_k",
            "top_p",
            "seed",
        ):
            after.runner.buffer(name).copy_(here.runner.buffer(name))
    for text in texts:
        check(text)
    for batch in batches:
        batch.close()


@pytest.mark.parametrize(
    ("device", "kind", "checked"),
    [("cpu", "interpreter", False), ("cpu", "python", True), ("adversary", "native", False)],
)
def test_on_any_device(
    device: str, kind: str, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However graphs are launched, whatever order a schedule leaves open; and no body does what its phase
    has not declared."""
    monkeypatch.setenv(VARIABLE, kind)
    batch = Batch(TinyDecoder(service(), model()), device, checked=checked)
    texts = [Text(one[0]) for one in judged()[:3]]
    for text in texts:
        batch.join(text)
    while not all(text.done for text in texts):
        batch.round()
    for text in texts:
        check(text)
    batch.close()


def test_a_round_that_fails_takes_no_token_and_no_page_with_it() -> None:
    """Behind `accept`, where rows have counted tokens on that nobody was given."""
    decoder = TinyDecoder(service(), model())
    batch = Batch(decoder)
    texts = [Text(one[0]) for one in judged()[:3]]
    for text in texts:
        batch.join(text)
    batch.round()
    chain, fill = decoder.chain, decoder.chain.paged.fill
    calls = iter([fill, None])

    def failing(*given) -> None:
        found = next(calls, fill)
        if found is None:
            raise ArithmeticError("on purpose")
        found(*given)

    chain.paged.fill = failing  # type: ignore[method-assign]
    with pytest.raises(PhaseError, match="on purpose"):
        batch.round()
    while batch.texts:
        batch.leave(len(batch.texts) - 1, keep=False)
    assert decoder.held()["rows"] == decoder.held()["pages"] == 0
    for text in texts:
        batch.join(text)
    while not all(text.done for text in texts):
        batch.round()
    for text in texts:
        check(text)
    batch.close()


def test_nothing_is_left_of_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt in the middle of which the model raises has no page afterwards."""
    decoder = TinyDecoder(service(), model())
    monkeypatch.setattr(decoder.memory, "nextn", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decoder.enter(0, judged()[0][0], ())
    assert set(decoder.held().values()) == {0}


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        (Prompt((), 1), "a prompt has one token or more, from 0 to 1023"),
        (Prompt((1024,), 1), "a prompt has one token or more, from 0 to 1023"),
        (Prompt((1,) * 60, 37), "of 60 tokens that asks for 37 more; the context is 96"),
        (Prompt((1,) * 40, 40), "80 tokens need more than the 4 pages of 16 that there are"),
    ],
)
def test_what_can_never_be_served(prompt: Prompt, what: str) -> None:
    """It is refused with what would do."""
    with pytest.raises(RequestError, match=what):
        TinyDecoder(service(), model(), pages=5).enter(0, prompt, ())


def test_a_round_that_is_another() -> None:
    """It says what is missing."""
    other = compile_source(read_source(SPEC.with_name("eagle.spec")), Asked(environment={}))
    with pytest.raises(BindError, match="it has no param `page_size`, the positions of a page"):
        TinyDecoder(other, model())
    with pytest.raises(BindError, match="6 pages of 16 a request; the cache was made for 7 of 16"):
        TinyDecoder(service(most_pages=7), model()).for_schedule(service())
