"""How many requests an engine takes at a time, who has a place among them, and who waits for one."""

from __future__ import annotations

import asyncio

from plait.runtime.engine.piece import Piece
from plait.runtime.engine.stream import Mailbox
from plait.runtime.engine.ticket import Ticket


class Places:
    """On one event loop. Requests that have not ended are open, those that have no place too."""

    def __init__(self, count: int):
        self.count = count
        self._open: dict[int, tuple[Ticket, Mailbox]] = {}
        """By the number of the request."""
        self._silent: set[int] = set()
        """Those of which nothing has come yet."""
        self._outside: dict[int, asyncio.Future[None]] = {}
        """Those that are more than there are places, as they came, with what tells that there is one."""
        self._empty: asyncio.Future[None] | None = None

    @property
    def open(self) -> list[Ticket]:
        return [ticket for ticket, _ in self._open.values()]

    @property
    def waiting(self) -> int:
        """Requests that are in no row yet."""
        return len(self._silent)

    @property
    def live(self) -> int:
        """Requests that are in rows."""
        return len(self._open) - len(self._silent)

    @property
    def full(self) -> bool:
        return len(self._open) - len(self._outside) >= self.count

    def add(self, ticket: Ticket, mailbox: Mailbox) -> asyncio.Future[None]:
        """What is done when the request has a place, or needs none any more."""
        accepted = asyncio.get_running_loop().create_future()
        if self.full:
            self._outside[ticket.number] = accepted
        else:
            accepted.set_result(None)
        self._open[ticket.number] = ticket, mailbox
        self._silent.add(ticket.number)
        return accepted

    def deliver(self, number: int, piece: Piece) -> Ticket | None:
        """A piece to whoever reads; the last one frees a place. None: the request has ended before."""
        if number not in self._open:
            return None
        ticket, mailbox = self._open[number]
        mailbox.put(piece)
        self._silent.discard(number)
        _let_in(self._outside.pop(number, None))
        if piece.end is not None:
            del self._open[number]
            while self._outside and not self.full:
                _let_in(self._outside.pop(next(iter(self._outside))))
            if not self._open and self._empty is not None and not self._empty.done():
                self._empty.set_result(None)
        return ticket

    async def emptied(self) -> None:
        """Returns when no request is open."""
        if self._open:
            if self._empty is None or self._empty.done():
                self._empty = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._empty)


def _let_in(accepted: asyncio.Future[None] | None) -> None:
    if accepted is not None and not accepted.done():
        accepted.set_result(None)
