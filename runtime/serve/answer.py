"""What comes of one request for tokens, whole or as events, and what the log and the metrics have of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from plait.runtime.engine.piece import End, Piece, joined
from plait.runtime.engine.stream import Stream
from plait.runtime.serve.asked import Asked
from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.log import say
from plait.runtime.serve.replies import REASONS, Reply
from plait.runtime.serve.service import Service

GONE = 499
"""What the log calls a response that nobody waited for."""


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
        return self.service.failed or ApiError(500, f"the request has failed: {piece.error}")

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


async def _send(send: Send, chunks: Sequence[dict[str, Any]]) -> None:
    for chunk in chunks:
        await _send_text(send, f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n")


async def _send_text(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
