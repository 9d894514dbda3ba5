"""The body of a request: so many bytes at most, within a time, and JSON."""

from __future__ import annotations

import asyncio
import json

from starlette.requests import Request

from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.fields import short
from plait.runtime.serve.served import Limits

SLACK = 8
"""Times the limit that is read and thrown away, so that a client hears why before its pipe breaks."""


async def read_json(request: Request, limits: Limits) -> object:
    """Raises ApiError, and ClientDisconnect when nobody is there any more."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(415, "send JSON: `Content-Type: application/json`")
    try:
        async with asyncio.timeout(limits.patience):
            data = await _read(request, limits.body)
    except TimeoutError:
        raise ApiError(
            408,
            f"the body did not come within {limits.patience:g} s",
            headers={"Connection": "close"},
        ) from None
    try:
        return json.loads(data.decode(), parse_constant=_refuse, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise ApiError(400, f"the body is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError(400, f"the body is not JSON ({where}: {error.msg})") from None
    except (ValueError, RecursionError):
        raise ApiError(
            400, "the body is no JSON that is read: too deep, or a number that is none or too long"
        ) from None


async def _read(request: Request, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        elif size > SLACK * most:
            break
    if size > most:
        raise ApiError(
            413, f"the body has more than {most} bytes: shorten it", headers={"Connection": "close"}
        )
    return b"".join(parts)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Raises ApiError for a name that stands there twice: whoever read it before may count the other."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            said = short(name)
            raise ApiError(400, f"{said}: is given twice, and only one of them can count", said)
        found[name] = value
    return found


def _refuse(constant: str) -> object:
    raise ValueError(constant)
