"""What the rounds say goes to the event loop when somebody there waits for it."""

from __future__ import annotations

import asyncio

import pytest

from plait.runtime.engine.outbox import Call, Outbox
from plait.runtime.engine.piece import End, Piece
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.stream import Mailbox, Stream
from plait.runtime.engine.ticket import Ticket


class Loop:
    """Does at once what it is sent, and counts how often it was."""

    def __init__(self) -> None:
        self.sent = 0
        self.read: list[Piece] = []
        self.outbox = Outbox(self._send, None)

    def _send(self, calls: list[Call]) -> None:
        self.sent += 1
        for call in calls:
            call()

    def ticket(self, number: int, tokens: int, whole: bool) -> Ticket:
        ticket = Ticket(number, Prompt((1,), tokens), self.read.append, None)
        ticket.read_whole = whole
        return ticket

    def round(self, *given: tuple[Ticket, int]) -> None:
        for ticket, token in given:
            self.outbox.give(ticket, [token], ())
        self.outbox.post()


def test_a_reader_of_pieces_is_told_of_each_at_once() -> None:
    loop = Loop()
    ticket = loop.ticket(0, 4, whole=False)
    for token in range(5, 9):
        loop.round((ticket, token))
        assert loop.read[-1].tokens == (token,)
    assert loop.sent == 4


def test_a_reader_of_the_whole_is_told_that_it_began_and_when_it_has_ended() -> None:
    loop = Loop()
    ticket = loop.ticket(0, 4, whole=True)
    sent = []
    for token in range(5, 9):
        loop.round((ticket, token))
        sent.append(loop.sent)
    assert sent == [1, 1, 1, 2]
    assert [piece.tokens for piece in loop.read] == [(5,), (6,), (7,), (8,)]
    assert loop.read[-1].end is End.LENGTH


def test_what_waits_goes_out_in_its_order_with_what_somebody_waits_for() -> None:
    loop = Loop()
    whole, pieces = loop.ticket(0, 9, whole=True), loop.ticket(1, 9, whole=False)
    loop.round((whole, 1))
    loop.round((whole, 2))
    loop.round((whole, 3), (pieces, 4))
    assert [piece.tokens for piece in loop.read] == [(1,), (2,), (3,), (4,)]
    loop.round((whole, 5))
    loop.outbox.finish(whole, End.CANCELLED)
    loop.outbox.post()
    assert [piece.tokens for piece in loop.read[-2:]] == [(5,), ()]
    assert loop.read[-1].end is End.CANCELLED


def test_who_is_refused_as_a_second_reader_takes_nothing_from_the_first() -> None:
    async def readers() -> None:
        mailbox = Mailbox()
        ticket = Ticket(0, Prompt((1,), 4), mailbox.put, None)
        place = asyncio.get_running_loop().create_future()
        stream = Stream(0, mailbox, ticket, lambda: None, place)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="somebody reads this stream already"):
            await stream.whole()
        assert not ticket.read_whole
        mailbox.put(Piece((5,)))
        assert (await first).tokens == (5,)

    asyncio.run(readers())
