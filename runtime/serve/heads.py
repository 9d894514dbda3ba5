"""Connections that ask for nothing are closed, so that they take no place of those that do."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

BESIDE = 64
"""Connections beyond those that are served, which are told so; one more is closed unheard."""


def patient(seconds: float) -> type[H11Protocol]:
    """HTTP as uvicorn speaks it, with so long for the head of each request to come."""

    class Heads(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > (self.limit_concurrency or 0) + BESIDE:
                transport.abort()
            else:
                self._late = self.loop.call_later(seconds, self._give_up)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._in_time()
            elif self._late is None:  # a part of the next head, for which uvicorn waits without end
                self._late = self.loop.call_later(seconds, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._in_time()
            super().connection_lost(exc)

        def _in_time(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _give_up(self) -> None:
            self._late = None
            self.transport.abort()

    return Heads
