"""Who is let in: with a token, those that have it; without one, those that ask for this very host."""

from __future__ import annotations

import hmac
from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from plait.runtime.serve.errors import ApiError

OPEN = ("/healthz", "/readyz")
"""What whoever watches over processes asks, and gives nothing away."""

PAGE = ("/", "/page.css", "/page.js")
"""The page asks for the token itself, and knows nothing before it has it."""


class Guard:
    """`hosts`: names that a request may be sent to where there is no token.

    A page of a browser cannot read this server then by a name of its own that leads here.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Collection[str]):
        self.app = app
        self.token = token
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            try:
                self._check(Request(scope))
            except ApiError as error:
                response = JSONResponse(error.body, error.status, dict(error.headers))
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, request: Request) -> None:
        """Raises ApiError."""
        if self.token is not None:
            if request.scope["path"] in PAGE:
                return
            given = request.headers.get("authorization", "")
            wanted = f"Bearer {self.token}"
            if not hmac.compare_digest(given.encode("latin-1"), wanted.encode("latin-1")):
                raise ApiError(
                    401,
                    "give the server's token: `Authorization: Bearer TOKEN`, or as the client's API key",
                    code="invalid_api_key",
                    headers={"WWW-Authenticate": "Bearer"},
                )
        elif host_of(request.headers.get("host", "")) not in self.hosts:
            raise ApiError(
                403,
                "this server has no token, so it answers to its own address only: "
                f"{', '.join(sorted(self.hosts))}",
            )


def host_of(header: str) -> str:
    """`[::1]:8000` and `localhost:8000` without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()
