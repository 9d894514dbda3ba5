"""What the rounds have to say on the event loop, kept until a round's worth of it is sent at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from plait.runtime.engine.piece import End, Logprob
from plait.runtime.engine.ticket import Ticket

Call = Callable[[], None]


class Outbox:
    """`send` takes calls to the thread of the event loop; `watch` is called there, where there is one."""

    def __init__(
        self, send: Callable[[list[Call]], None], watch: Callable[[str, Any], None] | None
    ):
        self._send = send
        self._watch = watch
        self._said: list[Call] = []
        self._awaited = False
        """Whether somebody waits for any of it."""

    @property
    def watched(self) -> bool:
        """Whether anybody hears of events."""
        return self._watch is not None

    def say(self, call: Call) -> None:
        self._said.append(call)
        self._awaited = True

    def tell(self, what: str, event: object) -> None:
        """An event, to whoever watches."""
        if self._watch is not None:
            self.say(partial(self._watch, what, event))

    def give(self, ticket: Ticket, tokens: Iterable[int], logprobs: Iterable[Logprob]) -> None:
        """New tokens of a request, up to its end."""
        first = not ticket.tokens
        piece = ticket.take(tokens, logprobs)
        if piece is None:
            return
        self._said.append(partial(ticket.put, piece))
        if first or piece.end is not None or not ticket.read_whole:
            self._awaited = True

    def finish(self, ticket: Ticket, end: End, error: str = "") -> None:
        """Ends a request as it stands."""
        self.say(partial(ticket.put, ticket.close(end, error)))

    def post(self) -> None:
        """Sends what was said, once somebody waits for any of it: to wake the loop takes time of rounds."""
        if self._awaited:
            said, self._said, self._awaited = self._said, [], False
            self._send(said)
