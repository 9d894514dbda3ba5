"""What a careless embedder does to an engine: it is told so, and nobody else's request suffers."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import time
from typing import Any

import pytest

from drawing.counted import Counted, counted, plain
from plait import Engine, EngineClosed, Observer, Prompt, RequestError, Sampling
from plait.runtime.engine.piece import End

SCHEDULE = counted()
SLIPS: list[tuple[dict[str, Any], str]] = [
    ({"tokens": [1, 2]}, r"tokens should be a tuple of whole numbers, and not \[1, 2\]"),
    ({"tokens": (1.5,)}, r"tokens should be a tuple of whole numbers, and not \(1.5,\)"),
    ({"max_tokens": 3.5}, "max_tokens should be a whole number, and not 3.5"),
    ({"sampling": None}, "sampling should be a Sampling, and not None"),
    ({"sampling": Sampling(math.nan)}, "sampling.temperature should be a number from 0 to 1000000"),
    ({"sampling": Sampling(1.0, top_p=7)}, "sampling.top_p should be a number from 0 to 1, and not 7"),
    ({"sampling": Sampling(1.0, top_k=-1)}, r"sampling.top_k should be a whole number from 0 up to 2\^63"),
    ({"sampling": Sampling(1.0, seed=1 << 63)}, r"sampling.seed should be a whole number from -2\^63 up to"),
    ({"stop_tokens": None}, "stop_tokens should be a frozenset of tokens, and not None"),
    ({"stop_texts": "ab"}, "stop_texts should be a tuple of texts, and not 'ab'"),
    ({"priority": None}, "priority should be a whole number, and not None"),
    ({"deadline": math.nan}, "deadline should be a number of seconds or None, and not nan"),
]  # fmt: skip


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 60))


def test_a_prompt_that_is_none_is_refused() -> None:
    """Each field is looked at before a round can fail by it; an endless deadline is none."""

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            for fields, words in SLIPS:
                with pytest.raises(RequestError, match=f"^{words}"):
                    engine.submit(Prompt(**{"tokens": (1,), "max_tokens": 2} | fields))
            endless = engine.submit(Prompt((1,), 4000, deadline=math.inf))
            await anext(endless)
            endless.cancel()
            await asyncio.sleep(0.02)  # nothing is left to do but to wait for that
            found = await engine.submit(Prompt((2,), 5)).whole()
            assert list(found.tokens) == plain(Prompt((2,), 5))

    run(work)


def test_deadlines_of_what_has_ended_are_forgotten() -> None:
    """However far off they are, they do not pile up."""

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            for _ in range(20):
                prompts = [Prompt((n,), 1, deadline=1e6) for n in range(40)]
                await asyncio.gather(*(engine.submit(one).whole() for one in prompts))
            assert len(engine._rounds._admission._dues) < 300

    run(work)


def test_another_thread_is_sent_to_the_engine_s_own() -> None:
    """It is told how; and two who read one stream are told that it is for one."""

    async def work() -> None:
        async with Engine(Counted(SCHEDULE)) as engine:
            loop = asyncio.get_running_loop()

            async def whole() -> Any:
                return await engine.submit(Prompt((1,), 5)).whole()

            def elsewhere() -> Any:
                for ask in (
                    lambda: engine.submit(Prompt((1,), 5)),
                    lambda: asyncio.run(engine.drain()),
                ):
                    with pytest.raises(RuntimeError, match="`asyncio.run_coroutine_threadsafe`"):
                        ask()
                return asyncio.run_coroutine_threadsafe(whole(), loop).result(30)

            found = await asyncio.to_thread(elsewhere)
            assert list(found.tokens) == plain(Prompt((1,), 5))
            stream = engine.submit(Prompt((2,), 5))
            both = await asyncio.gather(stream.whole(), stream.whole(), return_exceptions=True)
            assert [str(one) for one in both if isinstance(one, Exception)] == [
                "somebody reads this stream already: it is for one reader"
            ]

    run(work)


def test_an_observer_that_is_cancelled_takes_no_piece_with_it() -> None:
    """Whatever it raises, the request gets its last piece."""

    class Cancelled(Observer):
        def round(self, told: Any) -> None:
            raise asyncio.CancelledError

        entered = ended = round

    async def work() -> None:
        async with Engine(Counted(SCHEDULE), observers=[Cancelled()]) as engine:
            assert len((await engine.submit(Prompt((1,), 20)).whole()).tokens) == 20

    run(work)


class Slow(Counted):
    """Takes its time to be bound."""

    def bodies(self) -> Any:
        time.sleep(0.1)
        return super().bodies()

    def for_schedule(self, schedule: Any) -> Counted:
        time.sleep(0.1)
        return super().for_schedule(schedule)


def test_one_closed_while_it_is_prepared_does_not_begin() -> None:
    """Closed by another task or cancelled: no request is taken that nobody would serve."""

    async def work() -> None:
        for close in (True, False):
            engine = Engine(Slow(SCHEDULE))
            beginning = asyncio.ensure_future(engine.__aenter__())
            await asyncio.sleep(0.01)
            if close:
                await asyncio.gather(engine.close(), engine.close())
            else:
                beginning.cancel()
            (found,) = await asyncio.gather(beginning, return_exceptions=True)
            assert isinstance(found, EngineClosed if close else asyncio.CancelledError)
            with pytest.raises(EngineClosed, match="the engine is closed"):
                engine.submit(Prompt((1,), 5))

    run(work)


def test_a_schedule_bound_too_late_is_given_back() -> None:
    """The engine is closed while another schedule is bound: no stream of it lives on."""

    async def work() -> None:
        before = set(threading.enumerate())
        async with Engine(Slow(SCHEDULE)) as engine:
            swapping = asyncio.ensure_future(engine.swap(counted(buckets=[1])))
            await asyncio.sleep(0.01)
            await engine.close()
            with pytest.raises(EngineClosed):
                await swapping
        left = {one.name for one in set(threading.enumerate()) - before}
        assert all(name.startswith("asyncio") for name in left), left

    run(work)


def test_a_swap_that_nobody_waits_for_fails_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Its caller was cancelled; that it does not fit is then nobody's news."""

    async def work() -> None:
        async with Engine(Slow(SCHEDULE)) as engine:
            streams = [engine.submit(Prompt((n,), 4000)) for n in range(4)]
            await asyncio.gather(*map(anext, streams))
            swapping = asyncio.ensure_future(engine.swap(counted(buckets=[1])))
            await asyncio.sleep(0.01)
            swapping.cancel()
            await asyncio.sleep(0.3)
            await engine.close()

    run(work)
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize("number", [-1, 2, 0.0, None])
def test_a_policy_that_chooses_no_schedule_is_told_so(number: Any) -> None:
    """The engine fails by what it chose, and each request with the same words."""

    class Odd:
        def saw(self, *told: Any, **more: Any) -> None:
            pass

        def choose(self, bucket_of: Any) -> Any:
            return number

    async def work() -> None:
        schedules = [counted(most=most) for most in (1, 3)]
        engine = Engine(Counted(schedules[0]), schedules=schedules, policy=Odd())
        async with engine:
            found = await engine.submit(Prompt((1,), 9)).whole()
        words = f"the policy chose {number}: should be the number of a schedule, from 0 to 1"
        assert (found.end, found.error) == (End.FAILED, words)

    run(work)


ON_ITS_THREAD = ("bodies", "prefill", "enter", "leave", "held", "has_room")


@pytest.mark.parametrize(
    ("method", "raised"),
    [
        *((method, AssertionError()) for method in ON_ITS_THREAD),
        *((method, StopIteration(7)) for method in (*ON_ITS_THREAD, "for_schedule")),
        *((method, SystemExit("planted")) for method in ON_ITS_THREAD),
    ],
)
def test_whatever_a_decoder_raises_every_request_ends(method: str, raised: BaseException) -> None:
    """In each of its methods, and of any kind: with words, once, and nobody waits for ever."""
    decoder = Counted(SCHEDULE)
    broken = method == "bodies"
    right = getattr(decoder, method)

    def wrong(*given: Any) -> Any:
        if broken:
            raise raised
        return right(*given)

    setattr(decoder, method, wrong)

    async def work() -> None:
        nonlocal broken
        engine = Engine(decoder)
        if broken:
            with pytest.raises((Exception, SystemExit)):
                await engine.__aenter__()
            assert engine.failure is not None
            return
        async with engine:
            streams = [engine.submit(Prompt((n,) * 9, 100)) for n in range(9)]
            await anext(streams[0])
            broken = True
            asks = (engine.held(), engine.swap(counted(buckets=[1, 8])))
            await asyncio.gather(*asks, return_exceptions=True)
            for stream in streams:
                last = await stream.whole()
                assert last.end is End.LENGTH or (last.end is End.FAILED and last.error)

    run(work)
