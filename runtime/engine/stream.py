"""What `submit` returns: the pieces of one request, as they come."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from plait.runtime.engine.piece import Piece, joined
from plait.runtime.engine.ticket import Ticket


class Mailbox:
    """Pieces between the engine, which puts them, and one reader. On one event loop."""

    def __init__(self) -> None:
        self.pieces: deque[Piece] = deque()
        self.ended = False
        """Whether the last piece has been put."""
        self._reader: asyncio.Future[None] | None = None

    def put(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.ended = piece.end is not None
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for a piece."""
        return self._reader is not None

    async def get(self) -> Piece:
        """Raises RuntimeError when somebody waits already, who would wait for ever."""
        if self.awaited:
            raise RuntimeError("somebody reads this stream already: it is for one reader")
        while not self.pieces:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self.pieces.popleft()


class Stream:
    """An async iterator over Pieces; the last one says why it ended. For one reader.

    A request ends as cancelled when its stream is cancelled, when `async with` is left, when a task that
    waits for a piece is cancelled, and when nothing refers to the stream any more, as after `break`.
    """

    def __init__(
        self,
        number: int,
        mailbox: Mailbox,
        ticket: Ticket,
        cancel: Callable[[], None],
        accepted: asyncio.Future[None],
    ):
        self.number = number
        """Of all requests of the engine, in the order of `submit`."""
        self._mailbox = mailbox
        self._ticket = ticket
        self._cancel = cancel
        self._accepted = accepted
        self._read = False

    async def accepted(self) -> None:
        """Waits until it has a place in the queue, or has ended."""
        await asyncio.shield(self._accepted)

    def cancel(self) -> None:
        """Ends it as it stands; its last piece still comes."""
        if not self._mailbox.ended:
            self._cancel()

    async def whole(self) -> Piece:
        """All that is left, in one piece. No piece between the first and the last wakes the event loop."""
        self._ticket.read_whole = not self._mailbox.awaited
        return joined([piece async for piece in self])

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Piece:
        if self._read:
            raise StopAsyncIteration
        try:
            piece = await self._mailbox.get()
        except asyncio.CancelledError:
            self.cancel()
            raise
        self._read = piece.end is not None
        return piece

    async def aclose(self) -> None:
        """Cancels it, as leaving `async with` does."""
        self.cancel()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if hasattr(self, "_mailbox"):
            self.cancel()
