"""The thread behind an engine: requests come and go between rounds, and rounds go on.

Rows change only while nothing is in flight; for that, tokens of the newest round are taken at once
instead of a round later.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.one_thread import one_thread
from plait.runtime.engine import logprobs as log
from plait.runtime.engine import observer as told
from plait.runtime.engine.admission import Admission, Prepared
from plait.runtime.engine.bound import Binder, Bound
from plait.runtime.engine.decoder import Decoder, Entered
from plait.runtime.engine.flights import Flights
from plait.runtime.engine.leading import Leader
from plait.runtime.engine.outbox import Call, Outbox
from plait.runtime.engine.piece import End
from plait.runtime.engine.policy import Policy
from plait.runtime.engine.raised import tellable, words
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.schedules import Schedules
from plait.runtime.engine.ticket import Ticket
from plait.runtime.ranks.error import RankError
from plait.runtime.schedule import Schedule

LONGEST_REST = 3600.0
"""Seconds, which is less than a deadline may be, and than a thread can wait."""
AT_ONCE = 4
"""Requests that come into rows between two rounds when others are there already."""


@dataclass(frozen=True)
class Swap:
    bound: Bound
    done: Callable[[BaseException | None], None]


class Rounds:
    """`say` takes calls to the thread of the event loop, all of a round at once."""

    def __init__(
        self,
        decoder: Decoder,
        *,
        schedules: Sequence[Schedule],
        policy: Policy | None,
        binder: Callable[[Callable[..., None]], Binder],
        prepare: bool | Callable[[str], None],
        say: Callable[[list[Call]], None],
        watch: Callable[[str, Any], None] | None,
    ):
        self.decoder = decoder
        self.binder = binder(self._commit)
        self._given = schedules or [decoder.schedule]
        self._schedules = Schedules(policy)
        self._prepare = prepare
        self._out = Outbox(say, watch)
        self._inbox: deque[Call] = deque()
        self._awake = threading.Event()
        self._stopping = False
        self._called_off = False
        """Whether somebody has cancelled since that was looked into."""
        self._ends = False
        """Whether a request in a row is to end before it is done."""
        self._swaps: deque[Swap] = deque()

    # From any thread

    @property
    def schedule(self) -> Schedule:
        """That of the newest round."""
        return self.rows.bound.schedule if hasattr(self, "rows") else self.decoder.schedule

    @property
    def asked_to_end(self) -> bool:
        """Whether another rank wants all of them to end."""
        return hasattr(self, "_leader") and self._leader.asked_to_end

    def ask(self, call: Call) -> None:
        """Has something done between two rounds."""
        self._inbox.append(call)
        self._awake.set()

    def bound_to(self, decoder: Decoder, schedule: Schedule) -> Bound:
        """Raises as `Binder.of`."""
        try:
            return self.binder.of(decoder, schedule)
        except StopIteration as error:
            raise tellable(error) from None

    # On this one

    def run(self, begun: Call, ended: Callable[[BaseException | None], None]) -> None:
        """Until it is told to stop, or can run no more."""
        one_thread()  # prompts run beside streams, on the same terms
        failure: BaseException | None = None
        with torch.no_grad():
            try:
                self._begin()
                self._out.say(begun)
                self._out.post()
                while not self._stopping:
                    self._turn()
            except BaseException as error:
                failure = tellable(error)
            try:
                failure = self._close(failure)
            except BaseException as error:
                failure = failure or tellable(error)
        self._out.say(partial(ended, failure))
        self._out.post()

    def submit(self, ticket: Ticket) -> None:
        self._admission.submit(ticket)

    def cancel(self) -> None:
        """Some ticket is marked as cancelled."""
        self._called_off = True

    def swap(self, swap: Swap) -> None:
        self._swaps.append(swap)

    def stop(self) -> None:
        self._stopping = True

    def held(self, answer: Callable[[dict[str, int]], None]) -> None:
        """What the decoder has in use, when no round is in flight and what has ended is gone."""
        self._guarded(self._flights.settle)
        self._arrange(self.rows.bound)
        self._out.say(partial(answer, dict(self.decoder.held())))

    def _begin(self) -> None:
        for schedule in self._given:
            bound = self.binder.of(self.decoder, schedule)
            self._schedules.add(bound)
            if self._prepare:
                tell = self._prepare if callable(self._prepare) else lambda bucket: None
                bound.runner.prepare(tell)
        first = self._schedules.first(self.decoder.schedule)
        self._leader = Leader.of(first)
        self.rows = Rows(first, self._leader.around)
        self._admission = Admission(self.rows, self._out)
        self._flights = Flights(self.rows, self._leader, self._schedules, self._out)

    def _turn(self) -> None:
        while self._inbox:
            self._inbox.popleft()()
        if self._stopping:
            return
        self._end_early()
        self._admission.admit()
        chosen = self._schedules.next(self.rows.bound, len(self.rows.live))
        if chosen is not self.rows.bound or self._rows_change():
            self._guarded(self._flights.settle)
            self._arrange(chosen)
        if self.rows.live:
            self._guarded(self._flights.issue)
        elif self._admission.empty and not self._swaps:
            self._out.post()
            self._rest()
        self._admission.run_a_part()
        self._out.post()

    def _rest(self) -> None:
        """Waits for something to do."""
        times = (self._leader.beat, self._admission.next_due)
        until = min((time for time in times if time is not None), default=None)
        if until is not None:
            until = min(until, LONGEST_REST)
        if not self._inbox and not self._awake.wait(until):
            self._leader.nothing()
        self._awake.clear()

    def _end_early(self) -> None:
        """Looks for what was cancelled, and for what has no time left."""
        now = time.monotonic()
        if self._admission.pass_dues(now) or self._called_off:
            self._called_off = False
            self._ends = any(ticket.called_off(now) for ticket in self.rows.live)
            self._admission.end_early(now)

    def _close(self, failure: BaseException | None) -> BaseException | None:
        """Gives everything back; what has failed by then. Whoever still waits is told by the engine."""
        if failure is None:
            failure = self._end_with_the_others()
        self._schedules.close()
        for swap in self._swaps:
            swap.bound.runner.close()
            error = failure or RuntimeError("the engine was closed before it went over")
            self._out.say(partial(swap.done, error))
        if hasattr(self, "rows"):
            self._admission.close()
            self.rows.empty()
        return failure

    def _end_with_the_others(self) -> BaseException | None:
        """Lets the round in flight end, which other ranks are in too; what has failed meanwhile."""
        try:
            self._flights.land()
            self._leader.end()
        except Exception as error:
            return error
        return None

    # A round

    def _commit(
        self,
        out_tokens: Tensor,
        out_logprobs: Tensor | None = None,
        out_top_tokens: Tensor | None = None,
        **others: object,
    ) -> None:
        """The body of `commit`: the tokens of the round before."""
        self._flights.take(out_tokens, out_logprobs, out_top_tokens)

    def _guarded(self, work: Call) -> None:
        """A part of a round; when it has failed, what was live in it is restored."""
        try:
            work()
        except PhaseError as error:
            if self.rows.bound.runner.peers is not None:
                raise  # with other ranks it runs no more: they are ahead
            self._restore(error)

    def _restore(self, error: PhaseError) -> None:
        """Prefills again what was live in a round that failed, or lets it fail. Nothing is in flight."""
        mend = self._flights.failed()
        self._out.tell("fault", told.Fault(words(error), mend))
        for ticket in self.rows.empty():
            if ticket.end is None and not mend:
                self._out.finish(ticket, End.FAILED, words(error))
            elif ticket.end is None:
                self._enter_again(ticket)

    # Rows

    def _rows_change(self) -> bool:
        return bool(
            self._ends
            or self._swaps
            or any(ticket.end is not None for ticket in self.rows.live)
            or self._admission.next() is not None
        )

    def _arrange(self, chosen: Bound) -> None:
        """Takes out what has ended, goes over to another schedule, puts in what is ready."""
        self._take_out()
        if chosen is not self.rows.bound:
            self._go_over(chosen, "policy")
        while self._swaps:
            self._do_swap(self._swaps.popleft())
        most = AT_ONCE if self.rows.live else self.rows.bound.slots
        for _ in range(most):
            if (one := self._admission.next()) is None:
                break
            self._admission.remove(one)
            self._put_in(one)

    def _take_out(self) -> None:
        now = time.monotonic()
        self._ends = False
        for row in reversed(range(len(self.rows.live))):
            ticket = self.rows.live[row]
            if ticket.end is None and (why := ticket.called_off(now)):
                self._out.finish(ticket, why)
            if ticket.end is not None:
                self.rows.leave(row)

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

    def _enter_again(self, ticket: Ticket) -> None:
        if (entered := self._enter(ticket)) is not None:
            self._give_first(ticket, entered)

    def _enter(self, ticket: Ticket) -> Entered | None:
        """Puts a request into the next row; None: it has failed there."""
        try:
            return self.rows.enter(ticket)
        except RankError:
            raise
        except Exception as error:
            self._out.finish(ticket, End.FAILED, words(error))
            return None

    def _give_first(self, ticket: Ticket, entered: Entered) -> None:
        self._out.give(ticket, [entered.token], log.of_prompt(ticket.prompt, entered))
        if ticket.end is not None:
            self.rows.leave(len(self.rows.live) - 1)

    def _do_swap(self, swap: Swap) -> None:
        try:
            self.rows.check_fits(swap.bound)
            if self._prepare:
                swap.bound.runner.prepare()
            elif self.rows.live:
                swap.bound.runner.prepare(**swap.bound.sizes(len(self.rows.live)))
        except Exception as error:
            swap.bound.runner.close()
            self._out.say(partial(swap.done, tellable(error)))
            return
        self._go_over(swap.bound, "asked")
        self._schedules.swap(swap.bound)
        self._out.say(partial(swap.done, None))

    def _go_over(self, bound: Bound, why: str) -> None:
        again = bool(not self.rows.go_over(bound) and self.rows.live)
        if again:
            for ticket in self.rows.empty(keep=True):
                self._enter_again(ticket)
        event = told.Swapped(bound.schedule.name, bound.settings, why, again)
        self._out.tell("swapped", event)
