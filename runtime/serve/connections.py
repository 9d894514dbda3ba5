"""How many connections there may be, and that none is held by who neither asks for anything nor takes it."""

from __future__ import annotations

import asyncio
import json
import resource

import h11
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from plait.runtime.serve.errors import error_body

CONNECTIONS = 768
"""At a time; one more is answered with 503."""
AT_ONCE = 128
"""Connections that are taken in before the next look at how many there are."""


def room() -> tuple[int, int]:
    """How many connections may be there, and come at once: a part of the files that a process may open.

    asyncio logs without end while there is none left.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return CONNECTIONS, AT_ONCE
    return min(CONNECTIONS, files // 2), min(AT_ONCE, files // 8)


def protocol(seconds: float, most: int, crowded: ASGIApp) -> type[H11Protocol]:
    """HTTP as uvicorn speaks it, with so long for the head of each request to come.

    Who takes nothing of what waits for it is given as long. Of more connections than `most`, an eighth
    are answered by `crowded`, and further ones closed unheard.
    """

    class Connection(H11Protocol):
        _late: asyncio.TimerHandle | None = None
        _stuck: asyncio.TimerHandle | None = None
        _too_many = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # writing pauses when anything waits to be taken
            there = len(self.connections)
            if 8 * there > 9 * most:
                transport.abort()
                return
            self._too_many = there > most
            self._late = self.loop.call_later(seconds, self._give_up)

        def data_received(self, data: bytes) -> None:
            self._too_many = self._too_many and len(self.connections) > most
            self.app = crowded if self._too_many else self.config.loaded_app
            super().data_received(data)
            if not self._between_requests:
                self._in_time()
            elif self._late is None:  # a part of what uvicorn waits for without end
                self._late = self.loop.call_later(seconds, self._give_up)

        @property
        def _between_requests(self) -> bool:
            """Whether the next head is waited for, or the rest of a body that was answered unread."""
            state = self.conn.their_state
            answered = self.cycle is not None and self.cycle.response_complete
            return state is h11.IDLE or (state is h11.SEND_BODY and answered)

        def connection_lost(self, exc: Exception | None) -> None:
            self._in_time()
            self._unstick()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_whether_taken(self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            self._unstick()
            super().resume_writing()

        def _watch_whether_taken(self, waits: int) -> None:
            self._stuck = self.loop.call_later(seconds, self._look_whether_taken, waits)

        def _look_whether_taken(self, waited: int) -> None:
            waits = self.transport.get_write_buffer_size()
            if waits < waited:  # slowly, but it reads
                self._watch_whether_taken(waits)
            else:
                self._stuck = None
                self.transport.abort()

        def _unstick(self) -> None:
            if self._stuck is not None:
                self._stuck.cancel()
                self._stuck = None

        def send_400_response(self, msg: str) -> None:
            """As uvicorn, but in the API's form, and nothing where an answer has begun or ended."""
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.abort()
                return
            why = "what came is no HTTP request, or its head is too long"
            body = json.dumps(error_body(400, why)).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _in_time(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _give_up(self) -> None:
            self._late = None
            self.transport.abort()

    return Connection
