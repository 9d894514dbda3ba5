"""Requests come and go, and each ends once, with the tokens that it would have had alone."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

import pytest

from drawing.counted import SPEC, Counted, counted, plain
from plait import (
    BindError,
    Engine,
    EngineClosed,
    Observer,
    Prompt,
    QueueFull,
    RequestError,
    Sampling,
)
from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.runtime.engine.piece import End, Piece

SCHEDULE = counted()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def prompt(*tokens: int, max_tokens: int = 8, **how: Any) -> Prompt:
    return Prompt(tokens, max_tokens, **how)


class Noted(Observer):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def round(self, told: Any) -> None:
        self.events.append(told)

    entered = ended = fault = swapped = round

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if type(event).__name__ == kind]


def test_a_request_gives_its_tokens_piece_by_piece() -> None:
    """The first token comes of the prompt, the others of rounds, and the last piece says why it ended."""

    async def work() -> list[Piece]:
        async with Engine(Counted(SCHEDULE)) as engine:
            return [piece async for piece in engine.submit(prompt(1, 2, max_tokens=6))]

    pieces = run(work())
    assert [token for piece in pieces for token in piece.tokens] == plain(
        prompt(1, 2, max_tokens=6)
    )
    assert len(pieces[0].tokens) == 1
    assert [piece.end for piece in pieces if piece.end] == [pieces[-1].end] == [End.LENGTH]


def test_more_requests_than_rows_share_them() -> None:
    """Thirty requests over four rows: each has its own tokens, and nothing is held when they are done."""
    decoder = Counted(SCHEDULE)
    prompts = [
        prompt(n % 7, n, max_tokens=1 + n % 9, stop_tokens=frozenset({n})) for n in range(30)
    ]

    async def work() -> list[Piece]:
        async with Engine(decoder) as engine:
            return await asyncio.gather(*(engine.submit(one).whole() for one in prompts))

    assert [list(piece.tokens) for piece in run(work())] == [plain(one) for one in prompts]
    assert decoder.held() == {"rows": 0, "prompts": 0}


def test_the_lower_priority_is_served_first_and_then_who_came_first() -> None:
    """What waits is entered by priority, and of one priority in the order of `submit`."""
    decoder = Counted(counted(buckets=[1]))

    async def work() -> None:
        async with Engine(decoder) as engine:
            first = engine.submit(prompt(1, max_tokens=40))
            await anext(first)
            streams = [engine.submit(prompt(n, max_tokens=2, priority=n % 3)) for n in range(2, 8)]
            await asyncio.gather(*(stream.whole() for stream in streams))

    run(work())
    assert [tokens[0] for tokens in decoder.entered] == [1, 3, 6, 4, 7, 2, 5]


def test_a_full_queue_refuses_or_lets_wait() -> None:
    """One too many is QueueFull; with `wait` it is accepted when another has ended, and is served."""

    async def work() -> None:
        async with Engine(Counted(counted(buckets=[1])), queue=1) as engine:
            first, second = engine.submit(prompt(1, max_tokens=60)), engine.submit(prompt(2))
            with pytest.raises(
                QueueFull,
                match="there are 2 requests, as many as are taken at a time: try again later",
            ):
                engine.submit(prompt(3))
            third = engine.submit(prompt(4), wait=True)
            waiting = asyncio.ensure_future(third.accepted())
            await asyncio.sleep(0)
            assert not waiting.done()
            assert (await first.whole()).end is End.LENGTH
            await waiting
            assert list((await third.whole()).tokens) == plain(prompt(4))
            assert list((await second.whole()).tokens) == plain(prompt(2))

    run(work())


def test_what_is_left_is_cancelled() -> None:
    """By `cancel`, by `break`, by leaving `async with`, by a cancelled task: all end, and nothing is held."""
    decoder, noted = Counted(SCHEDULE), Noted()

    async def read(engine: Engine, began: asyncio.Event) -> None:
        async for _ in engine.submit(prompt(4, max_tokens=4000)):
            began.set()

    async def work() -> None:
        async with Engine(decoder, observers=[noted]) as engine:
            stream = engine.submit(prompt(1, max_tokens=4000))
            await anext(stream)
            stream.cancel()
            last = await stream.whole()
            assert last.end is End.CANCELLED
            assert list(last.tokens) == plain(prompt(1, max_tokens=4000))[1 : 1 + len(last.tokens)]
            async for _ in engine.submit(prompt(2, max_tokens=4000)):
                break
            async with engine.submit(prompt(3, max_tokens=4000)) as stream:
                await anext(stream)
            began = asyncio.Event()
            task = asyncio.ensure_future(read(engine, began))
            await began.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await engine.drain()
            assert await engine.held() == {"rows": 0, "prompts": 0}

    run(work())
    assert [event.end for event in noted.of("Ended")] == [End.CANCELLED] * 4


def test_a_deadline_ends_a_request_as_it_stands() -> None:
    """In the queue with no token, in a row with those it has."""
    decoder = Counted(counted(buckets=[1]))

    async def work() -> None:
        async with Engine(decoder) as engine:
            with_time = engine.submit(prompt(1, max_tokens=60))
            late = engine.submit(prompt(2, deadline=0.0))
            assert await late.whole() == Piece(end=End.DEADLINE)
            assert list((await with_time.whole()).tokens) == plain(prompt(1, max_tokens=60))

    run(work())
    assert [tokens[0] for tokens in decoder.entered] == [1]


def test_a_deadline_in_a_row_keeps_what_came_before_it() -> None:
    """The beginning of its tokens, and an end that says so."""

    async def work() -> Piece:
        async with Engine(Counted(SCHEDULE)) as engine:
            return await engine.submit(prompt(1, max_tokens=4000, deadline=0.05)).whole()

    found = run(work())
    assert found.end is End.DEADLINE
    assert list(found.tokens) == plain(prompt(1, max_tokens=4000))[: len(found.tokens)]


def test_a_long_prompt_holds_up_nobody() -> None:
    """While it runs in parts, a text that is there goes on to its end, and one that came later passes it."""
    decoder = Counted(SCHEDULE)
    long = Prompt(tuple(n % 97 for n in range(2000)), 4)
    noted = Noted()

    async def work() -> None:
        async with Engine(decoder, observers=[noted]) as engine:
            there = engine.submit(prompt(1, max_tokens=60))
            await anext(there)
            came = engine.submit(long)
            later = engine.submit(prompt(2, max_tokens=60))
            assert list((await there.whole()).tokens) == plain(prompt(1, max_tokens=60))[1:]
            assert list((await later.whole()).tokens) == plain(prompt(2, max_tokens=60))
            assert list((await came.whole()).tokens) == plain(long)

    run(work())
    # The rounds do not wait for who reads, so it is asked what they did first.
    (ended,) = [one for one in noted.of("Ended") if one.request.prompt == prompt(2, max_tokens=60)]
    (entered,) = [one for one in noted.of("Entered") if one.request.prompt == long]
    assert noted.events.index(ended) < noted.events.index(entered)
    assert [len(tokens) for tokens in decoder.entered] == [1, 1, 2000]


def test_an_engine_that_cannot_begin_says_why() -> None:
    """A round from which no tokens could be taken: BindError when it is entered, and it takes no request."""
    text = SPEC.replace("out_tokens", "other")
    schedule = compile_source(Source("other.spec", text), Asked())

    async def work() -> None:
        engine = Engine(Counted(schedule))
        with pytest.raises(BindError, match="tokens are taken from a host buffer `out_tokens`"):
            await engine.__aenter__()
        with pytest.raises(
            EngineClosed, match="the engine has failed: other.spec: tokens are taken"
        ):
            engine.submit(prompt(1))

    run(work())


def test_a_drained_engine_takes_no_more_and_ends_what_it_has() -> None:
    """`drain` waits for what was accepted, and refuses what comes after."""

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            streams = [engine.submit(prompt(n, max_tokens=20)) for n in range(9)]
            await engine.drain()
            with pytest.raises(EngineClosed, match="the engine drains"):
                engine.submit(prompt(1))
            for n, stream in enumerate(streams):
                assert list((await stream.whole()).tokens) == plain(prompt(n, max_tokens=20))
        with pytest.raises(EngineClosed, match="the engine is closed"):
            await engine.swap(SCHEDULE)

    run(work())


def test_an_engine_that_is_left_by_an_error_ends_all() -> None:
    """Nobody waits for an answer any more: what is live and what waits is cancelled."""
    streams = []

    async def work() -> None:
        with pytest.raises(ZeroDivisionError):
            async with Engine(Counted(SCHEDULE)) as engine:
                streams.extend(engine.submit(prompt(n, max_tokens=4000)) for n in range(6))
                raise ZeroDivisionError
        for stream in streams:
            assert (await stream.whole()).end is End.CANCELLED

    run(work())


def test_requests_that_could_never_be_served_are_refused() -> None:
    """Each with one sentence of what is wrong and what would do."""
    said = []

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            for wrong in (
                prompt(),
                prompt(1, max_tokens=0),
                prompt(1, max_tokens=4096),
                prompt(97),
                prompt(1, stop_texts=("end",)),
                prompt(1, logprobs=0),
                prompt(1, sampling=Sampling(math.inf)),
                prompt(1, sampling=Sampling(1.0, top_p=math.nan)),
                prompt(1, sampling=Sampling(1.0, top_k=1 << 63)),
                prompt(1, sampling=Sampling(1.0, seed=1 << 63)),
                prompt(1, deadline=math.nan),
            ):
                with pytest.raises(RequestError) as refused:
                    engine.submit(wrong)
                said.append(str(refused.value))
            assert engine.live == engine.waiting == 0

    run(work())
    assert said == [
        "a prompt without tokens: give at least the one that opens a text",
        "0 new tokens: ask for at least one",
        "a prompt of 1 tokens that asks for 4096 more; the context is 4096: shorten it, or ask for "
        "fewer new tokens",
        "token 97: there are tokens 0 to 96",
        "stop texts: this engine has no `decode`, so it knows tokens only; give stop tokens",
        "log probabilities of the 0 likeliest tokens: counted.spec gives no log probabilities: ask for what "
        "it gives, or for none",
        "sampling.temperature should be a number from 0 to 1000000, and not inf",
        "sampling.top_p should be a number from 0 to 1, and not nan",
        "sampling.top_k should be a whole number from 0 up to 2^63 - 1, and not 9223372036854775808",
        "sampling.seed should be a whole number from -2^63 up to 2^63 - 1, and not 9223372036854775808",
        "deadline should be a number of seconds or None, and not nan",
    ]


def test_a_prompt_that_fails_takes_nobody_with_it() -> None:
    """One that the decoder cannot run fails by itself; the others have their tokens."""
    decoder = Counted(SCHEDULE, room=40)

    async def work() -> list[Piece]:
        async with Engine(decoder) as engine:
            given = [prompt(1), prompt(2, name="never"), prompt(3, max_tokens=60), prompt(4)]
            return await asyncio.gather(*(engine.submit(one).whole() for one in given))

    found = run(work())
    assert [list(found[n].tokens) for n in (0, 3)] == [plain(prompt(1)), plain(prompt(4))]
    assert found[1] == Piece(end=End.FAILED, error="a prompt that nobody can run")
    assert found[2] == Piece(end=End.FAILED, error="there is room for 40 tokens")


def test_a_round_that_fails_is_made_up_for() -> None:
    """What was live is restored from its tokens, which are as they would have been; it is told of once."""
    decoder, noted = Counted(SCHEDULE), Noted()
    decoder.broken = {3, 4, 9}
    prompts = [prompt(n, max_tokens=20) for n in range(6)]

    async def work() -> list[Piece]:
        async with Engine(decoder, observers=[noted]) as engine:
            return await asyncio.gather(*(engine.submit(one).whole() for one in prompts))

    assert [list(piece.tokens) for piece in run(work())] == [plain(one) for one in prompts]
    assert [fault.restored for fault in noted.of("Fault")] == [True] * 3
    assert "`advance` failed on main" in noted.of("Fault")[0].error


def test_rounds_that_fail_without_end_fail_their_requests_and_no_other() -> None:
    """After four failures in a row what is live fails with the phase's error; the next request is served."""
    decoder = Counted(SCHEDULE)
    decoder.broken = {1, 2, 3, 4}

    async def work() -> None:
        async with Engine(decoder) as engine:
            failed = await engine.submit(prompt(1, max_tokens=60)).whole()
            assert failed.end is End.FAILED
            assert failed.error.endswith("ValueError: as it was told")
            assert list(failed.tokens) == plain(prompt(1, max_tokens=60))[: len(failed.tokens)]
            assert list((await engine.submit(prompt(2)).whole()).tokens) == plain(prompt(2))

    run(work())


def test_a_schedule_is_swapped_in_flight() -> None:
    """Rounds go over to one that commits more, one with other buckets and back; no token is another."""
    decoder, noted = Counted(SCHEDULE), Noted()
    prompts = [prompt(n, max_tokens=40) for n in range(6)]

    async def work() -> list[Piece]:
        async with Engine(decoder, observers=[noted]) as engine:
            answers = asyncio.gather(*(engine.submit(one).whole() for one in prompts))
            for other in (counted(most=5), counted(buckets=[1, 4]), SCHEDULE):
                await engine.swap(other)
                assert engine.schedule == other
            return await answers

    assert [list(piece.tokens) for piece in run(work())] == [plain(one) for one in prompts]
    assert [swap.settings for swap in noted.of("Swapped")] == [
        "most=5, buckets=[1, 2, 4], apart=True",
        "most=3, buckets=[1, 4], apart=True",
        "most=3, buckets=[1, 2, 4], apart=True",
    ]


def test_a_swap_that_cannot_be_leaves_rounds_as_they_are() -> None:
    """A schedule without a row for each live request is refused, and they go on."""

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            streams = [engine.submit(prompt(n, max_tokens=2000)) for n in range(4)]
            for stream in streams:
                await anext(stream)
            with pytest.raises(Exception, match="it holds 2 requests, and 4 are in rows"):
                await engine.swap(counted(buckets=[2]))
            for n, stream in enumerate(streams):
                assert list((await stream.whole()).tokens) == plain(prompt(n, max_tokens=2000))[1:]

    run(work())


def test_two_engines_share_nothing() -> None:
    """Of two in one process, each serves its own, and one goes on when the other fails."""
    prompts = [prompt(n, max_tokens=20) for n in range(12)]

    async def work() -> list[Piece]:
        async with Engine(Counted(SCHEDULE)) as one, Engine(Counted(counted(most=2))) as other:
            both = (one, other) * 6
            return await asyncio.gather(
                *(engine.submit(asked).whole() for engine, asked in zip(both, prompts, strict=True))
            )

    assert [list(piece.tokens) for piece in run(work())] == [plain(one) for one in prompts]


def test_text_comes_with_the_tokens_and_ends_at_a_stop_text() -> None:
    """Pieces have text; a stop text ends a request before it, though it comes in parts."""

    def decode(tokens: Any) -> str:
        return "".join(f"{token}." for token in tokens)

    asked = prompt(1, max_tokens=8)
    want = decode(plain(asked))
    cut = want.index(f".{plain(asked)[3]}.")

    async def work() -> tuple[Piece, Piece]:
        async with Engine(Counted(SCHEDULE), decode=decode) as engine:
            stop = want[cut : cut + 4]
            stopped = engine.submit(prompt(1, max_tokens=8, stop_texts=(stop,)))
            return await engine.submit(asked).whole(), await stopped.whole()

    whole, stopped = run(work())
    assert (whole.text, whole.end) == (want, End.LENGTH)
    assert (stopped.text, stopped.end) == (want[:cut], End.STOP)


def test_an_observer_that_fails_is_logged_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its errors reach neither requests nor rounds."""

    class Broken(Observer):
        def round(self, told: Any) -> None:
            raise KeyError("round")

    async def work() -> Piece:
        async with Engine(Counted(SCHEDULE), observers=[Broken()]) as engine:
            return await engine.submit(prompt(5)).whole()

    assert list(run(work()).tokens) == plain(prompt(5))
    assert "failed when it was told that round" in caplog.text


def test_observers_are_told_of_every_round() -> None:
    """Bucket, live rows, padding and what each request was given add up to the tokens of all."""
    noted = Noted()
    prompts = [prompt(n, max_tokens=9) for n in range(3)]

    async def work() -> None:
        async with Engine(Counted(SCHEDULE), observers=[noted], trace=True) as engine:
            await asyncio.gather(*(engine.submit(one).whole() for one in prompts))

    run(work())
    rounds = noted.of("Round")
    assert {event.bucket for event in rounds if event.live == 3} == {4}
    assert {event.padding for event in rounds if event.live == 3} == {0.25}
    assert all(len(event.committed) == event.live for event in rounds)
    assert sum(sum(event.committed) for event in rounds) >= sum(len(plain(p)) - 1 for p in prompts)
    assert all({one.name for one in event.slices} >= {"advance", "publish"} for event in rounds)
    assert all(event.exposed >= 0 and event.seconds > 0 for event in rounds)
    assert [event.request.number for event in noted.of("Entered")] == [0, 1, 2]
    assert sorted(event.tokens for event in noted.of("Ended")) == [9, 9, 9]
