"""The page without a browser: what it is told, who may watch it, and what that costs the others."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from plait.compiler.emit.palette import DARK, LIGHT, variables
from plait.runtime.engine.observer import Fault, Round
from plait.runtime.serve.page import watchers as pace
from plait.runtime.serve.page.feed import LONGEST, Feed
from plait.runtime.serve.page.timeline import LETTERS, MOST, timeline
from plait.runtime.serve.page.watchers import Watchers
from plait.runtime.serve.served import Limits
from plait.runtime.trace import Slice
from serving.events import events, status_of
from serving.hosted import Hosted, hosted

BODY = {"model": "counted", "prompt": [1, 2], "max_tokens": 60}


def slice_of(name: str, start: int, end: int, stream: str = "main", round: int = 1) -> Slice:
    return Slice(stream, "phase", name, "", round, start, end)


def round_of(number: int, *slices: Slice, committed: tuple[int, ...] = (2, 1, 1)) -> Round:
    exposed = 0.25e-6 if slices else None
    return Round(number, "counted", "", 4, len(committed), committed, 1e-3, slices, exposed)


def watchers_of(host: Hosted) -> Watchers:
    assert host.server.watchers is not None
    return host.server.watchers


def until(so: Callable[[], object]) -> None:
    """Waits for something to be so."""
    end = time.monotonic() + 30
    while not so():
        assert time.monotonic() < end
        time.sleep(0.005)


@asynccontextmanager
async def watching(host: Hosted, **headers: str) -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
    try:
        lines = {"Host": "localhost", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"GET /rounds HTTP/1.0\r\n{head}\r\n".encode())
        yield reader
    finally:
        writer.close()


WATCH = b"GET /rounds HTTP/1.1\r\nHost: localhost\r\n\r\n"


def flood(host: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every look give another long event, and hundreds of them a second."""
    monkeypatch.setattr(pace, "EVERY", 0.002)
    numbers = iter(range(1 << 30))
    look = host.feed.look
    monkeypatch.setattr(
        host.feed, "look", lambda: look() | {"long": f"{next(numbers)}" + "x" * 9000}
    )


def test_the_feed_adds_up_what_is_told_while_somebody_watches() -> None:
    """Rounds before that are not in it, nor is anything kept when they have gone."""
    feed = Feed()
    feed.round(round_of(1, slice_of("early", 0, 9)))
    feed.fault(Fault("early", True))
    feed.begin()
    feed.round(
        round_of(2, slice_of("advance", 1000, 1500), slice_of("publish", 1750, 2000, "copy"))
    )
    feed.round(round_of(3, committed=(3, 40)))
    feed.fault(Fault("a phase", True))
    found = feed.look()
    assert found.pop("tokens_a_second") > 0 and found.pop("rounds_a_second") > 0
    bars = {
        "copy": [[750, 1000, "publish", "phase", 1]],
        "main": [[0, 500, "advance", "phase", 1]],
    }
    assert found == {
        "mean_accepted": 9.4,
        "accepted": [0, 2, 1, 1] + [0] * (LONGEST - 4) + [1],
        "buckets": [[4, 2, 5]],
        "exposed": 0.25,
        "faults": 1,
        "route": "",
        "timeline": {
            "end": 1000,
            "rounds": [[2, 4, 3, 4]],
            "lanes": [["copy", bars["copy"]], ["main", bars["main"]]],
            "left_out": 0,
        },
    }
    feed.rest()
    feed.begin()
    assert feed.look()["buckets"] == [] and feed.look()["timeline"] is None


def test_a_timeline_is_bounded() -> None:
    """Of too many bars the newest are kept, of a long name the beginning, without what steers a page."""
    name = "\u202e\x1b[31m" + "n" * 200
    many = [slice_of(name, 10 * n, 10 * n + 5, "host" if n % 2 else "a") for n in range(MOST + 7)]
    found = timeline([round_of(5, *many)])
    assert found is not None and found["left_out"] == 7
    assert [lane for lane, _ in found["lanes"]] == ["host", "a"]
    bars = [bar for _, lane in found["lanes"] for bar in lane]
    assert len(bars) == MOST and min(bar[0] for bar in bars) == 70
    assert {bar[2] for bar in bars} == {"??[31m" + "n" * (LETTERS - 7) + "…"}


@pytest.mark.parametrize(("pause", "shown"), [(90, [1, 2]), (110, [2])])
def test_rounds_before_a_pause_are_not_shown(pause: int, shown: list[int]) -> None:
    """One longer than the newest round would leave nothing to see."""
    first = round_of(1, slice_of("one", 0, 50))
    second = round_of(2, slice_of("two", 50 + pause, 150 + pause))
    found = timeline([first, second])
    assert found is not None and [row[0] for row in found["rounds"]] == shown


def test_a_watcher_is_told_of_rounds_as_they_run() -> None:
    """Whoever comes while nothing runs is told at once too, and of what ran since when it does."""

    async def watch(host: Hosted) -> tuple[dict[str, Any], dict[str, Any]]:
        async with watching(host) as reader:
            assert await status_of(reader) == 200
            told = events(reader)
            first = await anext(told)
            answer = await asyncio.to_thread(host.post, "/v1/completions", BODY)
            assert answer[0] == 200
            async for event in told:
                assert first is not None and event is not None
                if event["timeline"] and event["timeline"]["rounds"][-1][0] > 3:
                    return first, event
        raise AssertionError("it has ended")

    with hosted() as host:
        first, later = asyncio.run(watch(host))
        until(lambda: not host.feed.watched)
    assert (first["model"], first["schedule"], first["settings"]) == (
        "counted",
        "counted",
        "most=3, buckets=[1, 2, 4], apart=True",
    )
    assert (first["ready"], first["live"], first["rows"], first["buckets"]) == (True, 0, 4, [])
    [[bucket, rounds, live]] = later["buckets"]
    assert (bucket, live) == (1, rounds) and sum(later["accepted"]) == rounds
    assert {lane for lane, _ in later["timeline"]["lanes"]} == {"host", "main", "copy"}
    assert 1 <= len(later["timeline"]["rounds"]) <= 3


def test_one_who_reads_nothing_is_cut_off_and_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rounds go on, others are told, and no more is kept for it than one event beyond what a socket takes."""

    async def read_on(host: Hosted) -> int:
        async with watching(host) as reader:
            assert await status_of(reader) == 200
            count, most = 0, 0
            async for _ in events(reader):
                held = host.server._uvicorn.server_state.connections
                sizes = [one.transport.get_write_buffer_size() for one in held if one.transport]
                most = max(most, *sizes)
                count += 1
                if count > 100 and len(watchers_of(host).seats) == 1:
                    return most
        raise AssertionError("it has ended")

    with hosted(limits=Limits(patience=0.5)) as host:
        flood(host, monkeypatch)
        with host.connect(WATCH):
            until(host.waited_for)
            assert host.post("/v1/completions", BODY)[0] == 200
            most = asyncio.run(asyncio.wait_for(read_on(host), 30))
        until(lambda: not host.feed.watched)
        until(lambda: not host.server._uvicorn.server_state.tasks)
    assert 0 < most < (1 << 16) + 20_000


def test_so_many_may_watch_and_a_place_is_free_when_one_goes() -> None:
    """One more is told to come again; whoever closes their page leaves nothing behind."""

    async def crowd(host: Hosted) -> None:
        most = watchers_of(host).most
        async with watching(host) as last:
            async with asyncio.TaskGroup() as group:
                group.create_task(fill(host, most - 1))
            assert await status_of(last) == 200
            await asyncio.to_thread(until, lambda: len(watchers_of(host).seats) == 1)

    async def fill(host: Hosted, count: int) -> None:
        if count:
            async with watching(host) as reader:
                assert await status_of(reader) == 200
                return await fill(host, count - 1)
        async with watching(host) as reader:
            assert await status_of(reader) == 503
            message = json.loads(await reader.read())["error"]["message"]
            assert message == "8 watch already: try again later"

    with hosted() as host:
        asyncio.run(crowd(host))
        until(lambda: not watchers_of(host).seats)
        assert not host.feed.watched


def test_watchers_do_not_keep_a_server_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one who reads nor one who does not, however long requests may take to end."""

    async def watch(host: Hosted) -> None:
        async with watching(host) as reader:
            assert await status_of(reader) == 200
            host.call(host.server.stop)
            assert all([event async for event in events(reader)])

    with hosted(grace=1000) as host:
        flood(host, monkeypatch)
        with host.connect(WATCH):
            until(host.waited_for)
            asyncio.run(watch(host))
            host.thread.join(60)
            assert host.peaceful


def test_a_watcher_that_has_not_taken_the_last_news_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor when none come after it."""
    look = {"long": "x" * 200_000}
    with hosted(grace=1000) as host:
        monkeypatch.setattr(host.feed, "look", lambda: look)
        with host.connect(WATCH):
            until(host.waited_for)
            start = time.monotonic()
            host.stop()
            host.thread.join(60)
            assert host.peaceful and time.monotonic() - start < 20


def test_the_page_asks_for_nothing_but_its_own() -> None:
    """No script, style or request of elsewhere; what stands in it is not a copy that grows old."""
    with hosted() as host:
        for path, kind in (("/", "html"), ("/page.js", "javascript"), ("/page.css", "css")):
            status, text, headers = host.ask("GET", path, None)
            assert (status, headers["content-type"]) == (200, f"text/{kind}; charset=utf-8")
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            for word in (
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "document.write",
                "eval(",
                "http:",
            ):
                assert word not in text
        assert host.get("/page.js.map")[0] == 404


def test_with_a_token_the_page_is_open_and_what_it_shows_is_not() -> None:
    """Its files know nothing; rounds are for those who have it, and no name of a host goes around that."""
    with hosted(token="open sesame") as host:
        assert [host.get(path)[0] for path in ("/", "/page.css", "/page.js")] == [200] * 3
        assert host.get("/rounds")[0] == 401
        spoofed = {"Host": "localhost/page.css?"}
        assert host.get("/v1/models", spoofed)[0] == 401

        async def status(**headers: str) -> int:
            async with watching(host, **headers) as reader:
                return await status_of(reader)

        assert asyncio.run(status(Authorization="Bearer open sesame")) == 200


def test_without_a_token_pages_of_elsewhere_may_not_watch() -> None:
    """Neither by a name of their own that leads here, nor as part of a page of another host."""
    with hosted() as host:
        assert host.get("/", {"Host": "elsewhere"})[0] == 403
        assert host.get("/rounds", {"Host": "elsewhere"})[0] == 403
        assert host.get("/rounds", {"Sec-Fetch-Site": "cross-site"})[0] == 403
        assert not watchers_of(host).seats


def test_the_page_has_the_colours_of_the_other_pages(root: Path) -> None:
    """The runtime knows nothing of the compiler, so it has them written out."""
    style = (root / "runtime" / "serve" / "page" / "page.css").read_text(encoding="utf-8")
    assert variables(LIGHT) in style and style.count(variables(DARK)) == 2
