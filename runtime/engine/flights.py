"""One round after another: issued, and its tokens taken a round later."""

from __future__ import annotations

import time
from typing import NamedTuple

from torch import Tensor

from plait.runtime.engine import logprobs as log
from plait.runtime.engine import observer as told
from plait.runtime.engine.decoder import NO_TOKEN
from plait.runtime.engine.leading import Leader
from plait.runtime.engine.outbox import Outbox
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.schedules import Schedules
from plait.runtime.engine.ticket import Ticket
from plait.runtime.engine.traced import taken_out

PATIENCE = 3
"""Failures without a whole round between them that are mended; what is live at the next one fails."""


class Flight(NamedTuple):
    """A round that was issued and whose tokens nobody has taken."""

    round: int
    tickets: tuple[Ticket, ...]
    bucket: int
    """Requests it has room for."""
    route: str
    issued: int


class Flights:
    """Of the requests in rows, under the schedule that those have."""

    def __init__(self, rows: Rows, leader: Leader, schedules: Schedules, out: Outbox):
        self._rows = rows
        self._leader = leader
        self._schedules = schedules
        self._out = out
        self._flight: Flight | None = None
        self._taken = 0
        """When tokens of a round were taken last, in nanoseconds."""
        self._failed_in_a_row = 0

    def issue(self) -> None:
        bound = self._rows.bound
        sizes = bound.sizes(len(self._rows.live))
        self._leader.round()
        issued = time.perf_counter_ns()
        round = bound.runner.step(**sizes)
        number = bound.runner.bucket
        assert number is not None
        bucket = bound.runner.sizes[number][bound.decoder.dim]
        self._flight = Flight(round, tuple(self._rows.live), bucket, bound.route(number), issued)

    def settle(self) -> None:
        """Waits for the round in flight and takes its tokens now instead of a round later."""
        if self._flight is not None:
            bound = self._rows.bound
            bound.runner.drain()
            self.take(*bound.published())

    def land(self) -> None:
        """Waits for the round in flight, whose tokens nobody wants any more."""
        if self._flight is not None:
            self._rows.bound.runner.drain()

    def failed(self) -> bool:
        """The newest round has failed, and nothing is in flight: whether what was live is to be mended."""
        self._flight = None
        self._failed_in_a_row += 1
        mend = self._failed_in_a_row <= PATIENCE
        if not mend:
            self._failed_in_a_row = 0
        return mend

    def take(self, tokens: Tensor, logprobs: Tensor | None, tops: Tensor | None) -> None:
        """What the round in flight has published, if there is one."""
        flight, self._flight = self._flight, None
        if flight is None:
            return
        self._failed_in_a_row = 0
        committed = []
        rows = tokens.tolist()[: len(flight.tickets)]
        for row, (ticket, given) in enumerate(zip(flight.tickets, rows, strict=True)):
            found = given[: given.index(NO_TOKEN)] if NO_TOKEN in given else given
            committed.append(len(found))
            if ticket.end is None and found:
                likely = log.of_round(ticket.prompt, row, len(found), logprobs, tops)
                self._out.give(ticket, found, likely)
        now = time.perf_counter_ns()
        took = now - max(flight.issued, self._taken)
        self._taken = now
        self._schedules.saw(self._rows.bound, flight.bucket, committed, took)
        if self._out.watched:
            self._tell(flight, committed, took)

    def _tell(self, flight: Flight, committed: list[int], took: int) -> None:
        bound = self._rows.bound
        slices, exposed = taken_out(bound.trace, flight.round)
        event = told.Round(
            flight.round,
            bound.schedule.name,
            bound.settings,
            flight.bucket,
            len(flight.tickets),
            tuple(committed),
            took / 1e9,
            slices,
            exposed,
            flight.route,
        )
        self._out.tell("round", event)
