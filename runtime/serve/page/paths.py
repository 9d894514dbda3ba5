"""Where the page is: its three files, which hold nothing of anybody's, and the events that it draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from plait.runtime.engine.raised import words
from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.page.feed import Feed
from plait.runtime.serve.page.timeline import said
from plait.runtime.serve.page.watchers import Watchers, Watching

if TYPE_CHECKING:
    from plait.runtime.serve.service import Service

LINE = 400
"""Letters of what is longer than a name."""
HERE = Path(__file__).parent
FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes(watchers: Watchers) -> Sequence[BaseRoute]:
    async def rounds(request: Request) -> Response:
        # A page of elsewhere cannot read them, and is not to take a seat either.
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise ApiError(403, "only the server's own page may ask for this in a browser")
        return Watching(watchers)

    return [*(_file(path, *of) for path, of in FILES.items()), Route("/rounds", rounds)]


def state(service: Service, feed: Feed) -> dict[str, Any]:
    """All that the page shows."""
    engine = service.engine
    schedule = engine.schedule
    return {
        "model": said(service.served.name),
        "schedule": said(schedule.name),
        "settings": said(", ".join(f"{name}={value}" for name, value in schedule.settings), LINE),
        "ready": service.ready,
        "failure": "" if engine.failure is None else said(words(engine.failure), LINE),
        "waiting": engine.waiting,
        "live": engine.live,
        "rows": dict(schedule.widest.sizes)[engine.decoder.dim],
        **feed.look(),
    }


def _file(path: str, name: str, kind: str) -> Route:
    body = (HERE / name).read_bytes()

    async def answer(request: Request) -> Response:
        return Response(body, media_type=kind, headers=HEADERS)

    return Route(path, answer)
