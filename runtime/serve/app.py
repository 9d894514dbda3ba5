"""The paths of the server, over an engine."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.engine import Engine, EngineClosed, QueueFull
from plait.runtime.engine.piece import End, Piece, joined
from plait.runtime.engine.raised import words
from plait.runtime.engine.stream import Stream
from plait.runtime.serve.asked import Asked, Reader
from plait.runtime.serve.body import read_json
from plait.runtime.serve.errors import ApiError, error_body
from plait.runtime.serve.guard import Guard
from plait.runtime.serve.log import requests as log
from plait.runtime.serve.log import say
from plait.runtime.serve.metrics import Metrics
from plait.runtime.serve.page.feed import Feed
from plait.runtime.serve.replies import REASONS, Chat, Completion, Reply
from plait.runtime.serve.served import Limits, Served

LONGEST_WAIT = 60
"""Seconds after which a client is told to try again at most."""
GONE = 499
"""What the log calls a response that nobody waited for."""
CLOSED = "the server takes no requests now: it is starting or ending"


@dataclass
class Service:
    engine: Engine
    """It has the metrics among its observers, and decodes as the served texts do."""
    served: Served
    metrics: Metrics
    limits: Limits = field(default_factory=Limits)
    log_prompts: bool = False
    feed: Feed | None = None
    """Of the page at `/`, among the engine's observers too; None: there is no page."""
    ready: bool = False
    """Whether requests are taken: set when the engine has begun, unset when the server is to end."""

    def __post_init__(self) -> None:
        self.reader = Reader(self.served, self.limits, self.engine.decoder.context)
        self.born = int(time.time())
        self.open: set[Stream] = set()
        """Of the answers under way."""
        self.cut_off = 0
        """Requests that were ended because the server did."""

    def cut(self) -> None:
        """Ends what is under way as it stands."""
        for stream in self.open:
            stream.cancel()
        self.cut_off += len(self.open)
        self.open.clear()

    async def completions(self, request: Request) -> Response:
        asked = self.reader.completion(await read_json(request, self.limits))
        return self._answer(request, asked, Completion)

    async def chat(self, request: Request) -> Response:
        asked = self.reader.chat(await read_json(request, self.limits))
        return self._answer(request, asked, Chat)

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        if request.path_params["name"] != self.served.name:
            raise ApiError(404, f"there is one model, {self.served.name!r}", code="model_not_found")
        return JSONResponse(self._model())

    async def health(self, request: Request) -> Response:
        """Whether the process is any good."""
        failure = self.engine.failure
        if failure is not None:
            raise ApiError(503, f"the engine has failed: {words(failure)}")
        return JSONResponse({"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        """Whether requests are taken now."""
        self._check_ready()
        return JSONResponse({"status": "ready"})

    async def scrape(self, request: Request) -> Response:
        held: dict[str, int] = {}
        if self.ready:
            with suppress(EngineClosed):
                held = dict(await self.engine.held())
        text = self.metrics.text(self.engine.waiting, self.engine.live, held)
        return Response(text, media_type="text/plain; version=0.0.4")

    def _model(self) -> dict[str, Any]:
        return {
            "id": self.served.name,
            "object": "model",
            "created": self.born,
            "owned_by": "plait",
        }

    def _check_ready(self) -> None:
        """Raises ApiError."""
        if (failure := self.engine.failure) is not None:
            raise ApiError(503, f"the engine has failed: {words(failure)}", code="engine_failed")
        if not self.ready:
            raise ApiError(503, CLOSED, headers={"Retry-After": "1"})

    def _answer(self, request: Request, asked: Asked, kind: type[Reply]) -> Response:
        self._check_ready()
        try:
            stream = self.engine.submit(asked.prompt)
        except QueueFull as error:
            headers = {"Retry-After": str(self._wait())}
            raise ApiError(429, str(error), code="queue_full", headers=headers) from None
        except EngineClosed:
            raise ApiError(503, CLOSED, headers={"Retry-After": "1"}) from None
        except RequestError as error:
            raise ApiError(400, str(error)) from None
        prompt = len(asked.prompt.tokens)
        reply = kind(self.served.name, self.served.texts, prompt, asked.usage)
        return Answer(self, asked, stream, reply)

    def _wait(self) -> int:
        """Seconds until somebody is likely to have ended."""
        expected = math.ceil(self.metrics.seconds / max(self.engine.live, 1))
        return min(max(expected, 1), LONGEST_WAIT)


class Answer(Response):
    """What comes of one request. It ends as cancelled when the client is gone."""

    def __init__(self, service: Service, asked: Asked, stream: Stream, reply: Reply):
        self.service = service
        self.asked = asked
        self.stream = stream
        self.reply = reply
        self.began = time.perf_counter()
        self.first: float | None = None
        self.newest = self.began
        self.tokens = 0
        self.reused = 0
        self.gone = False
        """Whether the client left before the end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        end, error = End.CANCELLED, ""
        status = GONE
        self.service.open.add(self.stream)
        try:
            async with self._watched(receive):
                if self.asked.stream:
                    piece, status = await self._events(scope, receive, send)
                else:
                    piece, status = await self._whole(scope, receive, send)
            end, error = piece.end or end, piece.error
            if self.gone and end is End.CANCELLED:
                status = GONE
        finally:
            self.stream.cancel()
            self.service.open.discard(self.stream)
            self._log(scope, status, end, error)

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> tuple[Piece, int]:
        piece = joined([piece async for piece in self._pieces()])
        if piece.end in REASONS:
            response = JSONResponse(self.reply.whole(piece))
        else:
            failed = self._failed(piece)
            response = JSONResponse(failed.body, failed.status)
        await response(scope, receive, send)
        return piece, response.status_code

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> tuple[Piece, int]:
        pieces = self._pieces()
        # A request that fails at once is answered as such, so nothing is sent before its first piece.
        piece = await anext(pieces)
        if piece.end is not None and piece.end not in REASONS and not piece.tokens:
            failed = self._failed(piece)
            await JSONResponse(failed.body, failed.status)(scope, receive, send)
            return piece, failed.status
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _send(send, self.reply.opening())
        while piece.end is None or piece.end in REASONS:
            await _send(send, self.reply.chunk(piece))
            if piece.end is not None:
                await _send(send, self.reply.closing(self.tokens, self.reused))
                await _send_text(send, "data: [DONE]\n\n")
                break
            piece = await anext(pieces)
        else:
            await _send(send, [self._failed(piece).body])
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return piece, 200

    def _failed(self, piece: Piece) -> ApiError:
        """Of a request that ended before it was done."""
        if piece.end is End.DEADLINE:
            return ApiError(504, "the request took longer than the server allows", code="deadline")
        if piece.end is End.CANCELLED:
            return ApiError(503, "the server ended before the request did: try again")
        if (failure := self.service.engine.failure) is not None:
            return ApiError(503, f"the engine has failed: {words(failure)}", code="engine_failed")
        return ApiError(500, f"the request has failed: {piece.error}")

    @asynccontextmanager
    async def _watched(self, receive: Receive) -> AsyncIterator[None]:
        """Cancels the request when its client goes away meanwhile."""

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.gone = True
            self.stream.cancel()

        task = asyncio.ensure_future(watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _pieces(self) -> AsyncIterator[Piece]:
        metrics = self.service.metrics
        async for piece in self.stream:
            now = time.perf_counter()
            if piece.tokens and self.first is None:
                self.first = now - self.began
                metrics.first_token.observe(self.first)
            elif piece.tokens:
                share = (now - self.newest) / len(piece.tokens)
                for _ in piece.tokens:
                    metrics.between_tokens.observe(share)
            if piece.tokens:
                self.newest = now
            self.tokens += len(piece.tokens)
            self.reused = max(self.reused, piece.reused)
            yield piece

    def _log(self, scope: Scope, status: int, end: End, error: str) -> None:
        path = scope["path"]
        self.service.metrics.responses.labels(path, str(status)).inc()
        fields: dict[str, object] = {
            "id": self.reply.id,
            "path": path,
            "status": status,
            "end": str(end),
            "stream": self.asked.stream,
            "prompt_tokens": len(self.asked.prompt.tokens),
            "reused_tokens": self.reused,
            "new_tokens": self.tokens,
            "first_token_s": None if self.first is None else round(self.first, 6),
            "seconds": round(time.perf_counter() - self.began, 6),
        }
        if error:
            fields["error"] = error
        if self.service.log_prompts:
            fields["prompt"] = self.asked.text or list(self.asked.prompt.tokens)
        say("request", **fields)


def app(
    service: Service,
    token: str | None = None,
    hosts: Collection[str] = ("localhost", "127.0.0.1", "::1"),
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """All paths; `routes` are more of them. `hosts`: what it is called where there is no token."""
    made = Starlette(
        routes=[
            Route("/v1/completions", service.completions, methods=["POST"]),
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
            Route("/v1/models", service.models),
            Route("/v1/models/{name:path}", service.model),
            Route("/healthz", service.health),
            Route("/readyz", service.readiness),
            Route("/metrics", service.scrape),
            *routes,
        ],
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
        exception_handlers={
            ApiError: _refuser(service),
            HTTPException: _no_such_path,
            ClientDisconnect: _gone,
            Exception: _broken,
        },
    )
    made.router.redirect_slashes = False  # it would send a client where its Host header says
    return made


def _refuser(service: Service) -> Callable[[Request, Exception], Response]:
    def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        if request.url.path.startswith("/v1/"):
            # By what it was refused for, not by the path, of which a client may make up as many as it likes.
            service.metrics.responses.labels("refused", str(error.status)).inc()
            say("refused", path=request.url.path[:100], status=error.status, error=error.message)
        return JSONResponse(error.body, error.status, dict(error.headers))

    return refuse


def _no_such_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "there is no such path", 405: "this path takes another method"}
    message = (
        f"{words.get(error.status_code, error.detail)}: {request.method} {request.url.path[:100]}"
    )
    return JSONResponse(
        error_body(error.status_code, message), error.status_code, dict(error.headers or {})
    )


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


def _broken(request: Request, error: Exception) -> Response:
    log.error("a request has failed", exc_info=error, extra={"fields": {"path": request.url.path}})
    return JSONResponse(error_body(500, "the server has failed; its log says why"), 500)


async def _send(send: Send, chunks: Sequence[dict[str, Any]]) -> None:
    for chunk in chunks:
        await _send_text(send, f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n")


async def _send_text(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
