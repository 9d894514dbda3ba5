"""What changes between two rounds: requests leave rows and come into them, and a schedule follows another."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from plait.runtime.engine import logprobs as log
from plait.runtime.engine import observer as told
from plait.runtime.engine.admission import Admission, Prepared
from plait.runtime.engine.bound import Bound
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.outbox import Outbox
from plait.runtime.engine.piece import End
from plait.runtime.engine.raised import tellable, words
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.schedules import Schedules
from plait.runtime.engine.ticket import Ticket
from plait.runtime.ranks.error import RankError

AT_ONCE = 4
"""Requests that come into rows between two rounds when others are there already."""


@dataclass(frozen=True)
class Swap:
    bound: Bound
    done: Callable[[BaseException | None], None]


class Changes:
    """Nothing may be in flight when any is made. `prepare`: whether a schedule is captured before it runs."""

    def __init__(
        self, rows: Rows, admission: Admission, schedules: Schedules, out: Outbox, prepare: bool
    ):
        self._rows = rows
        self._admission = admission
        self._schedules = schedules
        self._out = out
        self._prepare = prepare
        self.ends = False
        """Whether a request in a row is to end before it is done."""
        self.swaps: deque[Swap] = deque()
        """That were asked for."""

    def due(self) -> bool:
        """Whether there are any to make."""
        return bool(
            self.ends
            or self.swaps
            or any(ticket.end is not None for ticket in self._rows.live)
            or self._admission.next() is not None
        )

    def make(self, chosen: Bound) -> None:
        """Takes out what has ended, goes over to another schedule, puts in what is ready."""
        self._take_out()
        if chosen is not self._rows.bound:
            self._go_over(chosen, "policy")
        while self.swaps:
            self._do_swap(self.swaps.popleft())
        most = AT_ONCE if self._rows.live else self._rows.bound.slots
        for _ in range(most):
            if (one := self._admission.next()) is None:
                break
            self._admission.remove(one)
            self._put_in(one)

    def enter_again(self, ticket: Ticket) -> None:
        """One that was in a row, with all the tokens it has."""
        if (entered := self._enter(ticket)) is not None:
            self._give_first(ticket, entered)

    def close(self, failure: BaseException | None) -> None:
        """Gives up the swaps that were not made; `failure` is why, if anything has failed."""
        for swap in self.swaps:
            swap.bound.runner.close()
            error = failure or RuntimeError("the engine was closed before it went over")
            self._out.say(partial(swap.done, error))

    def _take_out(self) -> None:
        now = time.monotonic()
        self.ends = False
        for row in reversed(range(len(self._rows.live))):
            ticket = self._rows.live[row]
            if ticket.end is None and (why := ticket.called_off(now)):
                self._out.finish(ticket, why)
            if ticket.end is not None:
                self._rows.leave(row)

    def _put_in(self, one: Prepared) -> None:
        ticket = one.ticket
        began = time.monotonic()
        try:
            entered = self._enter(ticket)
        finally:
            one.close()
        if entered is None:
            return
        ticket.reused = entered.reused
        request = told.Request(ticket.number, ticket.prompt)
        took = time.monotonic() - began
        event = told.Entered(request, began - ticket.given, took, entered.reused)
        self._out.tell("entered", event)
        self._give_first(ticket, entered)

    def _enter(self, ticket: Ticket) -> Entered | None:
        """Puts a request into the next row; None: it has failed there."""
        try:
            return self._rows.enter(ticket)
        except RankError:
            raise
        except Exception as error:
            self._out.finish(ticket, End.FAILED, words(error))
            return None

    def _give_first(self, ticket: Ticket, entered: Entered) -> None:
        self._out.give(ticket, [entered.token], log.of_prompt(ticket.prompt, entered))
        if ticket.end is not None:
            self._rows.leave(len(self._rows.live) - 1)

    def _do_swap(self, swap: Swap) -> None:
        try:
            self._rows.check_fits(swap.bound)
            if self._prepare:
                swap.bound.runner.prepare()
            elif self._rows.live:
                swap.bound.runner.prepare(**swap.bound.sizes(len(self._rows.live)))
        except Exception as error:
            swap.bound.runner.close()
            self._out.say(partial(swap.done, tellable(error)))
            return
        self._go_over(swap.bound, "asked")
        self._schedules.swap(swap.bound)
        self._out.say(partial(swap.done, None))

    def _go_over(self, bound: Bound, why: str) -> None:
        again = bool(not self._rows.go_over(bound) and self._rows.live)
        if again:
            for ticket in self._rows.empty(keep=True):
                self.enter_again(ticket)
        event = told.Swapped(bound.schedule.name, bound.settings, why, again)
        self._out.tell("swapped", event)
