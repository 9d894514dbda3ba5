"""Who has no row yet: requests that wait, those whose prompt is under way, and those that are ready.

They leave the queue in its order, and what is long in preparation is passed by what is short.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from typing import NamedTuple

from plait.runtime.engine.decoder import InParts, Prefill
from plait.runtime.engine.outbox import Outbox
from plait.runtime.engine.piece import End
from plait.runtime.engine.raised import words
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.ticket import Ticket

FEW = 64
"""Deadlines that are kept in any case."""


class Prepared(NamedTuple):
    """A request that has left the queue; where its prompt is long, that runs in parts beside rounds."""

    ticket: Ticket
    prefill: Prefill | None

    def close(self) -> None:
        """Gives up what its prompt holds."""
        if self.prefill is not None:
            self.prefill.close()


class Admission:
    """For the rows there are; who ends before that is told through `out`."""

    def __init__(self, rows: Rows, out: Outbox):
        self._rows = rows
        self._out = out
        self._waiting: list[Ticket] = []
        self._preparing: deque[Prepared] = deque()
        self._ready: deque[Prepared] = deque()
        self._dues: list[tuple[float, int, Ticket]] = []
        """When requests have no time left, with their numbers; those that are in rows too."""
        self._room_for_dues = FEW
        """When there are more, those that have ended are forgotten."""

    def submit(self, ticket: Ticket) -> None:
        heapq.heappush(self._waiting, ticket)
        if ticket.due is not None:
            heapq.heappush(self._dues, (ticket.due, ticket.number, ticket))
            if len(self._dues) > self._room_for_dues:
                self._dues = [one for one in self._dues if one[-1].end is None]
                heapq.heapify(self._dues)
                self._room_for_dues = FEW + 2 * len(self._dues)

    @property
    def empty(self) -> bool:
        return not (self._waiting or self._preparing or self._ready)

    def pass_dues(self, now: float) -> bool:
        """Forgets when those were due that are by now; whether there are any."""
        before = len(self._dues)
        while self._dues and self._dues[0][0] <= now:
            heapq.heappop(self._dues)
        return len(self._dues) < before

    @property
    def next_due(self) -> float | None:
        """Seconds until the first has no time left; None: all take any time."""
        return max(self._dues[0][0] - time.monotonic(), 0.0) if self._dues else None

    def end_early(self, now: float) -> None:
        """Ends what was cancelled, or has no time left."""
        kept = [ticket for ticket in self._waiting if not self._finished_early(ticket, now)]
        if len(kept) < len(self._waiting):
            self._waiting = kept
            heapq.heapify(self._waiting)
        for queue in (self._preparing, self._ready):
            for one in [one for one in queue if self._finished_early(one.ticket, now)]:
                queue.remove(one)
                one.close()

    def admit(self) -> None:
        """Takes from the queue what there will be a row for; nobody passes one that lacks room only."""
        while self._waiting and self._rows.free > len(self._preparing) + len(self._ready):
            ticket = self._waiting[0]
            others = [one.ticket for one in self._ready]
            someone = self._rows.live or others or self._preparing
            if someone and not all(map(self._rows.has_room, (ticket, *others))):
                return
            heapq.heappop(self._waiting)
            try:
                prefill = self._prefill(ticket)
            except Exception as error:
                self._out.finish(ticket, End.FAILED, words(error))
                continue
            prepared = Prepared(ticket, prefill)
            (self._ready if prefill is None else self._preparing).append(prepared)

    def run_a_part(self) -> None:
        """Of one prompt, if any is under way; they take turns."""
        if not self._preparing:
            return
        one = self._preparing.popleft()
        assert one.prefill is not None
        try:
            more = one.prefill.advance()
        except Exception as error:
            one.close()
            self._out.finish(one.ticket, End.FAILED, words(error))
            return
        (self._preparing if more else self._ready).append(one)

    def next(self) -> Prepared | None:
        """The first that is ready and has room; where nobody else is, its own error is to come out."""
        if not self._rows.free:
            return None
        fits = (one for one in self._ready if self._rows.has_room(one.ticket))
        if (found := next(fits, None)) is not None:
            return found
        alone = not (self._rows.live or self._preparing)
        return self._ready[0] if self._ready and alone else None

    def remove(self, one: Prepared) -> None:
        """It gets its row."""
        self._ready.remove(one)

    def close(self) -> None:
        """Gives up what prompts hold."""
        for one in (*self._preparing, *self._ready):
            one.close()

    def _prefill(self, ticket: Ticket) -> Prefill | None:
        decoder = self._rows.bound.decoder
        if not isinstance(decoder, InParts):
            return None
        return decoder.prefill(ticket.prompt, ticket.tokens)

    def _finished_early(self, ticket: Ticket, now: float) -> bool:
        why = ticket.called_off(now)
        if why is not None:
            self._out.finish(ticket, why)
        return why is not None
