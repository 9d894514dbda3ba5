"""The thread behind an engine: requests come and go between rounds, and rounds go on.

Rows change only while nothing is in flight; for that, tokens of the newest round are taken at once
instead of a round later.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.one_thread import one_thread
from plait.runtime.engine import observer as told
from plait.runtime.engine.admission import Admission
from plait.runtime.engine.bound import Binder, Bound
from plait.runtime.engine.changes import Changes, Swap
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.flights import Flights
from plait.runtime.engine.leading import Leader
from plait.runtime.engine.outbox import Call, Outbox
from plait.runtime.engine.piece import End
from plait.runtime.engine.policy import Policy
from plait.runtime.engine.raised import tellable, words
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.schedules import Schedules
from plait.runtime.engine.ticket import Ticket
from plait.runtime.schedule import Schedule

LONGEST_REST = 3600.0
"""Seconds, which is less than a deadline may be, and than a thread can wait."""


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
        self._changes.swaps.append(swap)

    def stop(self) -> None:
        self._stopping = True

    def held(self, answer: Callable[[dict[str, int]], None]) -> None:
        """What the decoder has in use, when no round is in flight and what has ended is gone."""
        self._guarded(self._flights.settle)
        self._changes.make(self.rows.bound)
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
        self._changes = Changes(
            self.rows, self._admission, self._schedules, self._out, bool(self._prepare)
        )
        self._flights = Flights(self.rows, self._leader, self._schedules, self._out)

    def _turn(self) -> None:
        while self._inbox:
            self._inbox.popleft()()
        if self._stopping:
            return
        self._end_early()
        self._admission.admit()
        chosen = self._schedules.next(self.rows.bound, len(self.rows.live))
        if chosen is not self.rows.bound or self._changes.due():
            self._guarded(self._flights.settle)
            self._changes.make(chosen)
        if self.rows.live:
            self._guarded(self._flights.issue)
        elif self._admission.empty and not self._changes.swaps:
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
            self._changes.ends = any(ticket.called_off(now) for ticket in self.rows.live)
            self._admission.end_early(now)

    def _close(self, failure: BaseException | None) -> BaseException | None:
        """Gives everything back; what has failed by then. Whoever still waits is told by the engine."""
        if failure is None:
            failure = self._end_with_the_others()
        self._schedules.close()
        if hasattr(self, "rows"):
            self._changes.close(failure)
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
                self._changes.enter_again(ticket)
