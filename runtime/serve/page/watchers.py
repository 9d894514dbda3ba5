"""Who watches: each is told the newest there is, and what one is too slow for, it is never told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.page.feed import Feed

MOST = 8
"""At a time."""
EVERY = 0.25
"""Seconds from one look to the next."""
BEAT = 15.0
"""Seconds of silence after which an empty line is sent."""

Client = tuple[str, int]


class Seat:
    """One who watches."""

    def __init__(self, client: Client | None):
        self.client = client
        self.left = False
        self.news = asyncio.Event()


class Watchers:
    """One text for all of them. Looks run on the event loop, and only while somebody watches.

    `cut` breaks the connection of a client that has not taken all it was sent.
    """

    def __init__(
        self,
        feed: Feed,
        look: Callable[[], dict[str, Any]],
        cut: Callable[[Client], None],
        *,
        most: int = MOST,
    ):
        self.feed = feed
        self.most = most
        self.seats: set[Seat] = set()
        self._look = look
        self._cut = cut
        self._text = ""
        self._ended = False
        self._task: asyncio.Task[None] | None = None

    def end(self) -> None:
        """Sends everybody away, now."""
        self._ended = True
        for seat in self.seats:
            seat.news.set()
            if seat.client is not None:
                self._cut(seat.client)

    @contextmanager
    def seat(self, client: Client | None) -> Iterator[Seat]:
        """Raises ApiError where there is none."""
        if self._ended or len(self.seats) >= self.most:
            why = "the server ends" if self._ended else f"{self.most} watch already"
            raise ApiError(503, f"{why}: try again later", headers={"Retry-After": "5"})
        if not self.seats:
            self.feed.begin()
            self._text = ""
            self._task = asyncio.ensure_future(self._run())
        seat = Seat(client)
        self.seats.add(seat)
        if self._text:
            seat.news.set()
        try:
            yield seat
        finally:
            self.seats.discard(seat)
            if not self.seats and self._task is not None:
                self._task.cancel()
                self.feed.rest()

    async def next(self, seat: Seat) -> str | None:
        """What is to be sent next; None when that is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT):
                await seat.news.wait()
        if self._ended or seat.left:
            return None
        if not seat.news.is_set():
            return ":\n\n"
        seat.news.clear()
        return self._text

    async def _run(self) -> None:
        while True:
            text = f"data: {json.dumps(self._look(), separators=(',', ':'))}\n\n"
            if text != self._text:
                for seat in self.seats:
                    seat.news.set()
            self._text = text
            await asyncio.sleep(EVERY)


class Watching(Response):
    """Server-sent events, until one of both ends it."""

    def __init__(self, watchers: Watchers):
        self.watchers = watchers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.watchers.seat(scope.get("client")) as seat:
            headers = [
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-store"),
                (b"x-accel-buffering", b"no"),
                (b"x-content-type-options", b"nosniff"),
            ]
            leaving = asyncio.ensure_future(_leaves(seat, receive))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                while (text := await self.watchers.next(seat)) is not None:
                    message = {"type": "http.response.body", "body": text.encode()}
                    await send(message | {"more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                leaving.cancel()
                await asyncio.wait([leaving])


async def _leaves(seat: Seat, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    seat.left = True
    seat.news.set()
