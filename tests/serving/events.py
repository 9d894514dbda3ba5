"""A client of few lines that reads a stream event by event, and can leave at any of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def asked(
    port: int, data: bytes, path: str = "/v1/completions", kind: str = "application/json"
) -> AsyncIterator[asyncio.StreamReader]:
    """What a server answers to a body. HTTP/1.0, so that it ends where the connection does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        yield reader
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def status_of(reader: asyncio.StreamReader) -> int:
    """Reads over the headers. Raises ConnectionError where there are none."""
    line = await reader.readline()
    if not line:
        raise ConnectionError("nothing came")
    while (await reader.readline()).strip():
        pass
    return int(line.split()[1])


async def events(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any] | None]:
    """Objects as they come, and None for the mark of the end. Ends early where the connection does."""
    while line := await reader.readline():
        if line.startswith(b"data: ") and line.endswith(b"\n"):
            text = line[len(b"data: ") :].strip()
            yield None if text == b"[DONE]" else json.loads(text)
