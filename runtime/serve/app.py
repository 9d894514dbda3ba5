"""The paths of the server, over an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from plait.runtime.engine.engine import EngineClosed
from plait.runtime.engine.raised import words
from plait.runtime.serve.answer import GONE, Answer
from plait.runtime.serve.asked import Asked
from plait.runtime.serve.body import read_json
from plait.runtime.serve.errors import ApiError, error_body
from plait.runtime.serve.guard import Guard
from plait.runtime.serve.log import requests as log
from plait.runtime.serve.log import say
from plait.runtime.serve.replies import Chat, Completion, Reply
from plait.runtime.serve.service import Service


class Paths:
    def __init__(self, service: Service):
        self.service = service

    async def completions(self, request: Request) -> Response:
        body = await read_json(request, self.service.limits)
        return self._answer(self.service.reader.completion(body), Completion)

    async def chat(self, request: Request) -> Response:
        body = await read_json(request, self.service.limits)
        return self._answer(self.service.reader.chat(body), Chat)

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        name = self.service.served.name
        if request.path_params["name"] != name:
            raise ApiError(404, f"there is one model, {name!r}", code="model_not_found")
        return JSONResponse(self._model())

    async def health(self, request: Request) -> Response:
        """Whether the process is any good."""
        failure = self.service.engine.failure
        if failure is not None:
            raise ApiError(503, f"the engine has failed: {words(failure)}")
        return JSONResponse({"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        """Whether requests are taken now."""
        self.service.check_ready()
        return JSONResponse({"status": "ready"})

    async def scrape(self, request: Request) -> Response:
        engine = self.service.engine
        held: dict[str, int] = {}
        if self.service.ready:
            with suppress(EngineClosed):
                held = dict(await engine.held())
        text = self.service.metrics.text(engine.waiting, engine.live, held)
        return Response(text, media_type="text/plain; version=0.0.4")

    def _model(self) -> dict[str, Any]:
        return {
            "id": self.service.served.name,
            "object": "model",
            "created": self.service.born,
            "owned_by": "plait",
        }

    def _answer(self, asked: Asked, kind: type[Reply]) -> Response:
        stream = self.service.submit(asked.prompt)
        served = self.service.served
        reply = kind(served.name, served.texts, len(asked.prompt.tokens), asked.usage)
        return Answer(self.service, asked, stream, reply)


def app(
    service: Service,
    token: str | None = None,
    hosts: Collection[str] = ("localhost", "127.0.0.1", "::1"),
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """All paths; `routes` are more of them. `hosts`: what it is called where there is no token."""
    paths = Paths(service)
    made = Starlette(
        routes=[
            Route("/v1/completions", paths.completions, methods=["POST"]),
            Route("/v1/chat/completions", paths.chat, methods=["POST"]),
            Route("/v1/models", paths.models),
            Route("/v1/models/{name:path}", paths.model),
            Route("/healthz", paths.health),
            Route("/readyz", paths.readiness),
            Route("/metrics", paths.scrape),
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


def crowded(service: Service) -> ASGIApp:
    """What answers on a connection that is one too many."""
    refuse = _refuser(service)
    headers = {"Retry-After": "1", "Connection": "close"}
    error = ApiError(503, "there are as many connections as may be: try again", headers=headers)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(Request(scope), error)(scope, receive, send)

    return answer


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
    known = {404: "there is no such path", 405: "this path takes another method"}
    message = (
        f"{known.get(error.status_code, error.detail)}: {request.method} {request.url.path[:100]}"
    )
    return JSONResponse(
        error_body(error.status_code, message), error.status_code, dict(error.headers or {})
    )


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


def _broken(request: Request, error: Exception) -> Response:
    log.error("a request has failed", exc_info=error, extra={"fields": {"path": request.url.path}})
    return JSONResponse(error_body(500, "the server has failed; its log says why"), 500)
