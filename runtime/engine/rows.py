"""The live requests by row, dense, with what rounds carry of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.runtime.engine.bound import Bound
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.ticket import Ticket
from plait.runtime.runner import BindError
from plait.runtime.switching import moved


class Rows:
    """Nothing may be in flight when any of this is called."""

    def __init__(self, bound: Bound, around: Callable[[Callable[[], Entered]], Entered]):
        """`around` is given each call of the decoder that runs a prompt."""
        self.bound = bound
        self.live: list[Ticket] = []
        self._around = around
        self._carried: tuple[str, ...] = ()

    @property
    def free(self) -> int:
        return self.bound.slots - len(self.live)

    def has_room(self, ticket: Ticket) -> bool:
        """Whether the decoder's memory has room for it now; it may lack a row all the same."""
        return self.bound.decoder.has_room(ticket.prompt, ticket.tokens)

    def enter(self, ticket: Ticket) -> Entered:
        """Puts a request into the next row. Raises what the decoder raises; then it is in none."""
        row = len(self.live)
        decoder = self.bound.decoder
        entered = self._around(lambda: decoder.enter(row, ticket.prompt, tuple(ticket.tokens)))
        self._carried = tuple(entered.carried)
        for name, value in entered.carried.items():
            self.bound.runner.buffer(name)[row] = value
        self.live.append(ticket)
        return entered

    def leave(self, row: int, keep: bool = True) -> None:
        """Takes a request out of a row, into which the last one moves; what it held may be worth keeping."""
        ticket, last = self.live[row], len(self.live) - 1
        self.bound.decoder.leave(row, ticket.known if keep else ())
        self.live[row] = self.live[last]
        self.live.pop()
        if row == last:
            return
        self.bound.decoder.move(last, row)
        for name in self._carried:
            buffer: Any = self.bound.runner.buffer(name)
            buffer[row] = buffer[last]

    def empty(self, keep: bool = False) -> list[Ticket]:
        """Takes out all; they are told in the order of their rows."""
        found = list(self.live)
        while self.live:
            self.leave(len(self.live) - 1, keep)
        return found

    def check_fits(self, bound: Bound) -> None:
        """Raises BindError for a schedule without a row for each."""
        if len(self.live) > bound.slots:
            raise BindError(
                f"{bound.schedule.source.name}: it holds {bound.slots} requests, and {len(self.live)} are "
                "in rows: compile it with a bucket that holds them, or swap when fewer are there"
            )

    def go_over(self, bound: Bound) -> bool:
        """To another schedule, with what rounds carry; False: it carries it otherwise, so nothing moved."""
        old = self.bound
        bound.runner.follow(old.runner)
        found = moved(old.schedule, old.runner, bound.schedule, bound.runner)
        self.bound = bound
        return set(self._carried) <= set(found.moved)
