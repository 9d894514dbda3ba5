"""The thread behind an engine: requests come and go between rounds, and rounds go on.

A request is waiting, then being prepared (its prompt runs in parts beside rounds), ready, in a row,
and ended. They leave the queue in its order, and what is long in preparation is passed by what is short.
Rows change only while nothing is in flight; for that, tokens of the newest round are taken at once
instead of a round later.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plait.runtime.devices.job import PhaseError
from plait.runtime.engine import observer as told
from plait.runtime.engine.bound import Binder, Bound
from plait.runtime.engine.decoder import NO_TOKEN, Decoder, InParts, Prefill
from plait.runtime.engine.leading import Leader
from plait.runtime.engine.piece import End, Logprob
from plait.runtime.engine.policy import Policy
from plait.runtime.engine.raised import tellable, words
from plait.runtime.engine.rows import Rows
from plait.runtime.engine.ticket import Ticket
from plait.runtime.engine.traced import taken_out
from plait.runtime.ranks.error import RankError
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

PATIENCE = 3
"""Failures without a whole round between them that are mended; what is live at the next one fails."""
FEW = 64
"""Deadlines that are kept in any case."""
LONGEST_REST = 3600.0
"""Seconds, which is less than a deadline may be, and than a thread can wait."""
AT_ONCE = 4
"""Requests that come into rows between two rounds when others are there already."""


class Flight(NamedTuple):
    """A round that was issued and whose tokens nobody has taken."""

    round: int
    tickets: tuple[Ticket, ...]
    bucket: int
    """Requests it has room for."""
    route: str
    issued: int


class Prepared(NamedTuple):
    ticket: Ticket
    prefill: Prefill | None


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
        say: Callable[[list[Callable[[], None]]], None],
        watch: Callable[[str, Any], None] | None,
    ):
        self.decoder = decoder
        self.schedules = schedules
        self.policy = policy
        self.binder = binder(self._commit)
        self._prepare = prepare
        self._send = say
        self._watch = watch
        self._inbox: deque[Callable[[], None]] = deque()
        self._awake = threading.Event()
        self._stopping = False
        self._said: list[Callable[[], None]] = []
        self._waiting: list[Ticket] = []
        self._preparing: deque[Prepared] = deque()
        self._ready: deque[Prepared] = deque()
        self._dues: list[tuple[float, int, Ticket]] = []
        self._room_for_dues = FEW
        """When there are more, those that have ended are forgotten."""
        self._called_off = False
        """Whether somebody has cancelled since that was looked into."""
        self._ends = False
        """Whether a request in a row is to end before it is done."""
        self._swaps: deque[Swap] = deque()
        self._flight: Flight | None = None
        self._taken = 0
        """When tokens of a round were taken last, in nanoseconds."""
        self._failed_in_a_row = 0
        self._bounds: list[Bound] = []
        """One a schedule of the policy."""

    # From any thread

    @property
    def schedule(self) -> Schedule:
        """That of the newest round."""
        return self.rows.bound.schedule if hasattr(self, "rows") else self.decoder.schedule

    @property
    def asked_to_end(self) -> bool:
        """Whether another rank wants all of them to end."""
        return hasattr(self, "leader") and self.leader.asked_to_end

    def ask(self, call: Callable[[], None]) -> None:
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

    def run(self, begun: Callable[[], None], ended: Callable[[BaseException | None], None]) -> None:
        """Until it is told to stop, or can run no more."""
        torch.set_num_threads(1)  # of this thread: prompts run beside streams, on the same terms
        failure: BaseException | None = None
        with torch.no_grad():
            try:
                self._begin()
                self._send([begun])
                while not self._stopping:
                    self._turn()
            except BaseException as error:
                failure = tellable(error)
            try:
                failure = self._close(failure)
            except BaseException as error:
                failure = failure or tellable(error)
        self._said.append(partial(ended, failure))
        self._post()

    def submit(self, ticket: Ticket) -> None:
        heapq.heappush(self._waiting, ticket)
        if ticket.due is not None:
            heapq.heappush(self._dues, (ticket.due, ticket.number, ticket))
            if len(self._dues) > self._room_for_dues:
                self._dues = [one for one in self._dues if one[-1].end is None]
                heapq.heapify(self._dues)
                self._room_for_dues = FEW + 2 * len(self._dues)

    def cancel(self) -> None:
        """Some ticket is marked as cancelled."""
        self._called_off = True

    def swap(self, swap: Swap) -> None:
        self._swaps.append(swap)

    def stop(self) -> None:
        self._stopping = True

    def held(self, answer: Callable[[dict[str, int]], None]) -> None:
        """What the decoder has in use, when no round is in flight and what has ended is gone."""
        self._guarded(self._settle)
        self._arrange(self.rows.bound)
        self._said.append(partial(answer, dict(self.decoder.held())))

    def _begin(self) -> None:
        schedules = self.schedules or [self.decoder.schedule]
        self._bounds = []
        for schedule in schedules:
            bound = self.binder.of(self.decoder, schedule)
            self._bounds.append(bound)
            if self._prepare:
                tell = self._prepare if callable(self._prepare) else lambda bucket: None
                bound.runner.prepare(tell)
        if len({bound.slots for bound in self._bounds}) > 1:
            raise BindError("the schedules of a policy should have one largest bucket")
        own = next(
            (b for b in self._bounds if b.schedule == self.decoder.schedule), self._bounds[0]
        )
        self.leader = Leader.of(own)
        self.rows = Rows(own, self.leader.around)

    def _turn(self) -> None:
        while self._inbox:
            self._inbox.popleft()()
        if self._stopping:
            return
        self._end_early()
        self._admit()
        chosen = self._chosen()
        if chosen is not self.rows.bound or self._rows_change():
            self._guarded(self._settle)
            self._arrange(chosen)
        if self.rows.live:
            self._guarded(self._round)
            self._run_a_part()
        elif self._preparing:
            self._run_a_part()
        elif not (self._waiting or self._ready or self._swaps):
            self._post()
            self._rest()
        self._post()

    def _rest(self) -> None:
        """Waits for something to do."""
        until = self.leader.beat
        if self._dues:
            due = max(self._dues[0][0] - time.monotonic(), 0.0)
            until = min(due, LONGEST_REST if until is None else until)
        if not self._inbox and not self._awake.wait(until):
            self.leader.nothing()
        self._awake.clear()

    def _end_early(self) -> None:
        """Looks for what was cancelled, and for what has no time left."""
        now = time.monotonic()
        if not self._called_off and not (self._dues and self._dues[0][0] <= now):
            return
        self._called_off = False
        while self._dues and self._dues[0][0] <= now:
            heapq.heappop(self._dues)
        self._ends = any(ticket.called_off(now) for ticket in self.rows.live)
        kept = [ticket for ticket in self._waiting if not self._finished_early(ticket, now)]
        if len(kept) < len(self._waiting):
            self._waiting = kept
            heapq.heapify(self._waiting)
        for queue in (self._preparing, self._ready):
            for one in [one for one in queue if self._finished_early(one.ticket, now)]:
                queue.remove(one)
                self._let_go(one)

    def _finished_early(self, ticket: Ticket, now: float) -> bool:
        why = ticket.called_off(now)
        if why is not None:
            self._finish(ticket, why)
        return why is not None

    def _admit(self) -> None:
        """Takes from the queue what there will be a row for; nobody passes one that lacks room only."""
        decoder = self.rows.bound.decoder
        while self._waiting and self.rows.free > len(self._preparing) + len(self._ready):
            ticket = self._waiting[0]
            others = [one.ticket for one in self._ready]
            someone = self.rows.live or others or self._preparing
            if someone and not all(map(self._has_room, (ticket, *others))):
                return
            heapq.heappop(self._waiting)
            try:
                prefill = (
                    decoder.prefill(ticket.prompt, ticket.tokens)
                    if isinstance(decoder, InParts)
                    else None
                )
            except Exception as error:
                self._finish(ticket, End.FAILED, words(error))
                continue
            prepared = Prepared(ticket, prefill)
            (self._ready if prefill is None else self._preparing).append(prepared)

    def _run_a_part(self) -> None:
        """Of one prompt; those under way take turns."""
        if not self._preparing:
            return
        one = self._preparing.popleft()
        assert one.prefill is not None
        try:
            more = one.prefill.advance()
        except Exception as error:
            self._let_go(one)
            self._finish(one.ticket, End.FAILED, words(error))
            return
        (self._preparing if more else self._ready).append(one)

    def _rows_change(self) -> bool:
        return bool(
            self._ends
            or self._swaps
            or any(ticket.end is not None for ticket in self.rows.live)
            or self._next() is not None
        )

    def _next(self) -> Prepared | None:
        """The first that is ready and has room; where nobody else is, its own error is to come out."""
        if not self.rows.free:
            return None
        fits = (one for one in self._ready if self._has_room(one.ticket))
        if (found := next(fits, None)) is not None:
            return found
        alone = not (self.rows.live or self._preparing)
        return self._ready[0] if self._ready and alone else None

    def _has_room(self, ticket: Ticket) -> bool:
        return self.rows.bound.decoder.has_room(ticket.prompt, ticket.tokens)

    def _arrange(self, chosen: Bound) -> None:
        """Takes out what has ended, goes over to another schedule, puts in what is ready."""
        now = time.monotonic()
        self._ends = False
        for row in reversed(range(len(self.rows.live))):
            ticket = self.rows.live[row]
            if ticket.end is None and (why := ticket.called_off(now)):
                self._finish(ticket, why)
            if ticket.end is not None:
                self.rows.leave(row)
        while self._swaps:
            self._do_swap(self._swaps.popleft())
        if self.policy is not None and chosen is not self.rows.bound:
            self._go_over(chosen, "policy")
        most = AT_ONCE if self.rows.live else self.rows.bound.slots
        for _ in range(most):
            if (one := self._next()) is None:
                break
            self._ready.remove(one)
            self._put_in(one)

    def _put_in(self, one: Prepared) -> None:
        ticket = one.ticket
        began = time.monotonic()
        try:
            entered = self.rows.enter(ticket)
        except RankError:
            raise
        except Exception as error:
            self._finish(ticket, End.FAILED, words(error))
            return
        finally:
            self._let_go(one)
        ticket.reused = entered.reused
        if self._watch is not None:
            now = time.monotonic()
            event = told.Entered(
                told.Request(ticket.number, ticket.prompt),
                began - ticket.given,
                now - began,
                entered.reused,
            )
            self._said.append(partial(self._watch, "entered", event))
        self._give(
            ticket, [entered.token], _first_logprobs(ticket, entered.token, entered.logprobs)
        )
        if ticket.end is not None:
            self.rows.leave(len(self.rows.live) - 1)

    def _let_go(self, one: Prepared) -> None:
        if one.prefill is not None:
            one.prefill.close()

    # A round

    def _round(self) -> None:
        bound = self.rows.bound
        sizes = bound.sizes(len(self.rows.live))
        self.leader.round()
        issued = time.perf_counter_ns()
        round = bound.runner.step(**sizes)
        number = bound.runner.bucket_for(**sizes)
        bucket = bound.runner.sizes[number][bound.decoder.dim]
        self._flight = Flight(round, tuple(self.rows.live), bucket, bound.route(number), issued)

    def _commit(
        self,
        out_tokens: Tensor,
        out_logprobs: Tensor | None = None,
        out_top_tokens: Tensor | None = None,
        **others: object,
    ) -> None:
        """The body of `commit`: the tokens of the round before."""
        self._take(out_tokens, out_logprobs, out_top_tokens)

    def _settle(self) -> None:
        """Waits for the round in flight and takes its tokens now instead of a round later."""
        bound = self.rows.bound
        if self._flight is None:
            return
        bound.runner.drain()
        self._take(*bound.published())

    def _take(self, tokens: Tensor, logprobs: Tensor | None, tops: Tensor | None) -> None:
        flight, self._flight = self._flight, None
        if flight is None:
            return
        self._failed_in_a_row = 0
        committed = []
        rows = tokens[: len(flight.tickets)].tolist()
        for row, (ticket, given) in enumerate(zip(flight.tickets, rows, strict=True)):
            found = given[: given.index(NO_TOKEN)] if NO_TOKEN in given else given
            committed.append(len(found))
            if ticket.end is None and found:
                self._give(ticket, found, _logprobs(ticket, row, len(found), logprobs, tops))
        now = time.perf_counter_ns()
        took = now - max(flight.issued, self._taken)
        self._taken = now
        bound = self.rows.bound
        if self.policy is not None:
            self.policy.saw(self._bounds.index(bound), flight.bucket, committed, took)
        if self._watch is None:
            return
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
        self._said.append(partial(self._watch, "round", event))

    def _guarded(self, work: Callable[[], None]) -> None:
        """A part of a round; when it has failed, what was live in it is restored."""
        try:
            work()
        except PhaseError as error:
            if self.rows.bound.runner.peers is not None:
                raise  # with other ranks it runs no more: they are ahead
            self._restore(error)

    def _restore(self, error: PhaseError) -> None:
        """Prefills again what was live in a round that failed, or lets it fail. Nothing is in flight."""
        self._flight = None
        self._failed_in_a_row += 1
        mend = self._failed_in_a_row <= PATIENCE
        if self._watch is not None:
            self._said.append(partial(self._watch, "fault", told.Fault(words(error), mend)))
        for ticket in self.rows.empty():
            if ticket.end is None and not mend:
                self._finish(ticket, End.FAILED, words(error))
            elif ticket.end is None:
                self._enter_again(ticket)
        if not mend:
            self._failed_in_a_row = 0

    def _enter_again(self, ticket: Ticket) -> None:
        try:
            entered = self.rows.enter(ticket)
        except RankError:
            raise
        except Exception as error:
            self._finish(ticket, End.FAILED, words(error))
            return
        self._give(
            ticket, [entered.token], _first_logprobs(ticket, entered.token, entered.logprobs)
        )
        if ticket.end is not None:
            self.rows.leave(len(self.rows.live) - 1)

    # Schedules

    def _chosen(self) -> Bound:
        """The schedule that the next round is to have."""
        now = self.rows.bound
        if self.policy is None or not self.rows.live:
            return now
        live = len(self.rows.live)
        buckets = [
            one.runner.sizes[one.runner.bucket_for(**one.sizes(live))][one.decoder.dim]
            for one in self._bounds
        ]
        chosen = self.policy.choose(buckets)
        if type(chosen) is not int or not 0 <= chosen < len(self._bounds):
            raise ValueError(
                f"the policy chose {chosen!r}: should be the number of a schedule, from 0 to "
                f"{len(self._bounds) - 1}"
            )
        return self._bounds[chosen]

    def _do_swap(self, swap: Swap) -> None:
        old = self.rows.bound
        try:
            self.rows.check_fits(swap.bound)
            if self._prepare:
                swap.bound.runner.prepare()
            elif self.rows.live:
                swap.bound.runner.prepare(**swap.bound.sizes(len(self.rows.live)))
        except Exception as error:
            swap.bound.runner.close()
            self._said.append(partial(swap.done, tellable(error)))
            return
        self._go_over(swap.bound, "asked")
        self._bounds = [swap.bound]
        old.runner.close()
        self._said.append(partial(swap.done, None))

    def _go_over(self, bound: Bound, why: str) -> None:
        again = bool(not self.rows.go_over(bound) and self.rows.live)
        if again:
            for ticket in self.rows.empty(keep=True):
                self._enter_again(ticket)
        if self._watch is not None:
            event = told.Swapped(bound.schedule.name, bound.settings, why, again)
            self._said.append(partial(self._watch, "swapped", event))

    # What is told

    def _give(self, ticket: Ticket, tokens: list[int], logprobs: Sequence[Logprob]) -> None:
        piece = ticket.take(tokens, logprobs)
        if piece is not None:
            self._said.append(partial(ticket.put, piece))

    def _finish(self, ticket: Ticket, end: End, error: str = "") -> None:
        self._said.append(partial(ticket.put, ticket.close(end, error)))

    def _post(self) -> None:
        if self._said:
            said, self._said = self._said, []
            self._send(said)

    def _close(self, failure: BaseException | None) -> BaseException | None:
        """Gives everything back; what has failed by then. Whoever still waits is told by the engine."""
        if failure is None:
            failure = self._end_with_the_others()
        for bound in self._bounds:
            bound.runner.close()
        for one in (*self._preparing, *self._ready):
            self._let_go(one)
        for swap in self._swaps:
            swap.bound.runner.close()
            error = failure or RuntimeError("the engine was closed before it went over")
            self._said.append(partial(swap.done, error))
        if hasattr(self, "rows"):
            self.rows.empty()
        return failure

    def _end_with_the_others(self) -> BaseException | None:
        """Lets the round in flight end, which other ranks are in too; what has failed meanwhile."""
        try:
            if self._flight is not None:
                self.rows.bound.runner.drain()
            self.leader.end()
        except Exception as error:
            return error
        return None


def _logprobs(
    ticket: Ticket, row: int, count: int, logprobs: Tensor | None, tops: Tensor | None
) -> list[Logprob]:
    """Those of tokens that a round gave, where they are asked for and go out."""
    wanted = ticket.prompt.logprobs
    if wanted is None or logprobs is None:
        return []
    values = logprobs[row, :count, : 1 + wanted].tolist()
    ids = tops[row, :count, :wanted].tolist() if tops is not None and wanted else [[]] * count
    return [
        Logprob(chosen, tuple(zip(tokens, likely, strict=True)))
        for (chosen, *likely), tokens in zip(values, ids, strict=True)
    ]


def _first_logprobs(ticket: Ticket, token: int, logprobs: Tensor | None) -> list[Logprob]:
    """Those of the token that a prompt gives."""
    wanted = ticket.prompt.logprobs
    if wanted is None or logprobs is None:
        return []
    likely = logprobs.topk(wanted) if wanted else None
    top = () if likely is None else tuple(zip(likely[1].tolist(), likely[0].tolist(), strict=True))
    return [Logprob(float(logprobs[token]), top)]
