"""A server from its first request to its last: begins the engine, and drains it when it is told to end."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

from plait.runtime.serve.app import app, crowded
from plait.runtime.serve.connections import protocol, room
from plait.runtime.serve.log import say
from plait.runtime.serve.page.paths import page_routes, state
from plait.runtime.serve.page.watchers import Watchers
from plait.runtime.serve.service import Service

LAST = 5
"""Seconds that responses have to be sent in when their requests were cut off."""
LOOK = 0.2
"""Seconds between two looks at whether the engine has failed."""


class Server:
    """`grace`: seconds that requests have to end in when the server is told to.

    Everything runs on one event loop, that of `run`.
    """

    def __init__(
        self,
        service: Service,
        *,
        token: str | None = None,
        hosts: Collection[str] = ("localhost", "127.0.0.1", "::1"),
        grace: float = 30.0,
        routes: Sequence[BaseRoute] = (),
    ):
        self.service = service
        self.grace = grace
        self.watchers: Watchers | None = None
        """Where there is a page."""
        if (feed := service.feed) is not None:
            self.watchers = Watchers(feed, lambda: state(service, feed), self._cut)
            routes = [*page_routes(self.watchers), *routes]
        most, at_once = room()
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                app(service, token, hosts, routes),
                lifespan="off",
                loop="asyncio",
                http=protocol(service.limits.patience, most, crowded(service)),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                backlog=at_once,
                timeout_graceful_shutdown=math.ceil(grace) + LAST,
            )
        )

    async def run(self, made: socket.socket, signals: bool = False) -> bool:
        """Serves until it is told to stop; whether every request had its end by then.

        Answers `/healthz` at once, and requests when the engine has begun. Raises what the engine raises.
        """
        if signals:
            for one in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(one, self.stop)
        served = asyncio.ensure_future(self._uvicorn.serve(sockets=[made]))
        engine = self.service.engine
        try:
            begun = asyncio.ensure_future(engine.__aenter__())
            await asyncio.wait([begun, served], return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                begun.cancel()
                await asyncio.wait([begun])
            else:
                begun.result()
                self.service.ready = True
                say("ready")
            while not served.done():
                await asyncio.wait([served], timeout=LOOK)
                if engine.failure is not None:
                    raise engine.failure
                if engine.asked_to_end and not self._uvicorn.should_exit:
                    self.stop()
            served.result()
        finally:
            if not self._uvicorn.should_exit:
                self.stop()
            await asyncio.wait([served])
            await engine.close()
        if engine.failure is not None:
            raise engine.failure
        say("ended", cut_off=self.service.cut_off)
        return not self.service.cut_off

    def stop(self) -> None:
        """Takes no more requests; ends when those it has have ended, or are cut off. Told twice, at once."""
        self.service.ready = False
        if self.watchers is not None:
            self.watchers.end()
        if self._uvicorn.should_exit:
            self.service.cut()
            return
        self._uvicorn.should_exit = True
        asyncio.get_running_loop().call_later(self.grace, self.service.cut)

    def _cut(self, client: tuple[str, int]) -> None:
        """Breaks the connection of a client that has not taken all it was sent."""
        for one in list(self._uvicorn.server_state.connections):
            ours = isinstance(one, H11Protocol) and one.client == client
            if ours and one.transport.get_write_buffer_size():
                one.transport.abort()


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # It would raise them again at its end, and the exit code would be that of a process killed.
        yield
