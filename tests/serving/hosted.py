"""A server on a thread of this process, over a decoder without a model."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from drawing.counted import Counted, counted
from plait import Engine
from plait.runtime.serve.address import listening
from plait.runtime.serve.metrics import Metrics
from plait.runtime.serve.page.feed import Feed
from plait.runtime.serve.served import Limits, Served
from plait.runtime.serve.service import Service
from plait.runtime.serve.serving import Server

FIRST = 0x100


class Letters:
    """A letter of two bytes a token."""

    def encode(self, text: str) -> Sequence[int]:
        return [ord(letter) % 97 for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(FIRST + token) for token in ids)

    def spelt(self, token: int) -> bytes:
        return self.decode([token]).encode()


class Gated(Counted):
    """Its rounds run when they may."""

    def __init__(self, **settings: Any):
        super().__init__(counted(**settings))
        self.gate = threading.Event()

    def advance(self, last: Tensor, place: Tensor, given: Tensor) -> None:
        self.gate.wait(30)
        super().advance(last, place, given)


class Hosted:
    def __init__(self, decoder: Counted, queue: int, served: Served, how: dict[str, Any]):
        self.decoder = decoder
        self.metrics = Metrics()
        self.feed = Feed()
        limits = how.pop("limits", Limits())
        log_prompts = how.pop("log_prompts", False)
        engine = Engine(
            decoder,
            queue=queue,
            decode=served.texts.decode,
            observers=[self.metrics, self.feed],
            trace=True,
        )
        self.service = Service(engine, served, self.metrics, limits, log_prompts, self.feed)
        self.server = Server(self.service, **how)
        self.socket = listening("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.peaceful: bool | None = None
        self.failure: BaseException | None = None
        """What it has ended by, if by that."""
        self._begun = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.thread.start()
        self._begun.wait(30)
        while self.get("/readyz")[0] != 200:
            pass

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        try:
            self.peaceful = await self.server.run(self.socket)
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        """Tells it to end, as a signal does."""
        self._loop.call_soon_threadsafe(self.server.stop)

    def call(self, what: Callable[[], object]) -> None:
        """Has something done on its event loop."""
        self._loop.call_soon_threadsafe(what)

    def connect(self, request: bytes) -> socket.socket:
        """One who has asked, and reads as it likes: little is kept for it on the way."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(30)
        made.connect(("127.0.0.1", self.port))
        made.sendall(request)
        return made

    def waited_for(self) -> bool:
        """Whether a client has yet to take what it was sent."""
        there = list(self.server._uvicorn.server_state.connections)
        return any(one.transport.get_write_buffer_size() for one in there if one.transport)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        return self.ask("GET", path, None, headers)[:2]

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        return self.ask("POST", path, body, headers)[:2]

    def ask(
        self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, body as JSON if it is JSON, and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            sent = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = answer.getheader("content-type") == "application/json"
            return answer.status, json.loads(text) if is_json else text, dict(answer.getheaders())
        finally:
            connection.close()


@contextmanager
def hosted(
    decoder: Counted | None = None, queue: int = 64, served: Served | None = None, **how: Any
) -> Iterator[Hosted]:
    """Until it has ended in peace, or was told to end twice."""
    served = served or Served("counted", Letters())
    found = Hosted(decoder or Counted(counted()), queue, served, how)
    try:
        yield found
    finally:
        if found.thread.is_alive():
            found.stop()
        found.thread.join(60)
    assert not found.thread.is_alive()
