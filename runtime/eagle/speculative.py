"""Continues texts by speculative rounds: one compiled schedule, slots that never wait for each other.

Every request advances by what its own round accepted. When one ends, the last one moves into its slot
or a waiting one is prefilled there, so rows stay dense and the smallest bucket that holds them runs.

A round that fails takes no request with it: what they hold on the device is thrown away, and each is
prefilled again from its prompt and the tokens it has.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from plait.runtime.bind import bind
from plait.runtime.devices.base import Device
from plait.runtime.devices.job import PhaseError
from plait.runtime.eagle.chain import NOT_ACCEPTED, Chain
from plait.runtime.eagle.kept_logits import KeptLogits
from plait.runtime.eagle.request import Request, span_for
from plait.runtime.eagle.sizes import check_fits, check_room, dim_of, rows_of
from plait.runtime.engine.taken import check_taken
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace

if TYPE_CHECKING:
    from plait.runtime.ranks.group import Ranks

PATIENCE = 3
"""Failures without a whole round between them that are mended; the next one is raised."""


class Bound(Protocol):
    """What a round is bound to."""

    def bodies(self) -> Mapping[str, Callable[..., object]]: ...

    def opaque(self) -> Mapping[str, Any]: ...


class Speculative:
    """Raises RequestError, BindError, DeviceError when made; from `advance` a PhaseError it cannot mend.

    `on_tokens(request, count)` is called when a request has new tokens, `count` of them, and
    `on_fault(error)` when a round has failed and its requests are prefilled again. With `prepare` the
    buckets that are needed at first are captured now, and a callable is told each; `strict` as in `bind`.
    """

    def __init__(
        self,
        schedule: Schedule,
        model: TinyModel,
        requests: list[Request],
        *,
        device: str | Device = "cpu",
        prepare: bool | Callable[[str], None] = True,
        strict: bool = False,
        trace: Trace | None = None,
        keep_logits: bool = False,
        on_tokens: Callable[[Request, int], None] = lambda request, count: None,
        on_fault: Callable[[PhaseError], None] = lambda error: None,
        ranks: Ranks | None = None,
    ):
        self.rows = self.rows_of(schedule)
        self.most = self.most_of(schedule)
        """Tokens that a round may commit of a request."""
        self.dim = dim_of(schedule)
        self.slots = dict(schedule.widest.sizes)[self.dim]
        self.waiting = list(reversed(requests))
        self.live: list[Request] = []
        """By slot."""
        self.seconds = 0.0
        """Spent in rounds, prefill not included."""
        self.accepted: Counter[int] = Counter()
        """How many rounds of a request committed so many tokens."""
        self.live_rows: Counter[int] = Counter()
        """Requests that were live in the rounds of each bucket, by its number."""
        self.faults: list[str] = []
        """What failed in each round that did."""
        self.on_tokens = on_tokens
        self.on_fault = on_fault
        self._in_a_row = 0
        self._refused = False
        """Whether whoever takes the tokens failed, which no other round would mend."""
        self._in_flight: list[Request] = []
        self._kept: KeptLogits | None = None
        span = span_for(requests, self.rows, model.shape.context)
        check_room(schedule, model, self.slots, span)
        bound = self._bound(schedule, model, span)
        bodies = {**bound.bodies(), "commit": self._commit}
        check_fits(schedule, model, bodies)
        check_taken(schedule)
        if keep_logits:
            self._kept = KeptLogits(bodies["accept"], self._by_request, model.dtype)
            bodies["accept"] = self._kept.accept
        self.runner = bind(
            schedule,
            bodies,
            opaque=bound.opaque(),
            device=device,
            trace=trace,
            strict=strict,
            ranks=ranks,
        )
        self._noted: Trace | None = getattr(self.runner.device, "trace", None)
        if prepare:
            progress = prepare if callable(prepare) else lambda bucket: None
            self.prepare(progress, min(len(requests), self.slots))
        self._carried = [b.name for b in schedule.buffers if b.carried and not b.opaque]
        self._copies = sum(b.copies for b in schedule.buffers if b.name == "out_tokens")
        self._discard_all()

    def rows_of(self, schedule: Schedule) -> int:
        """Rows verified a request. Raises BindError for a round that is not this one."""
        return rows_of(schedule)

    def most_of(self, schedule: Schedule) -> int:
        return self.rows

    def chain_of(self, model: TinyModel, span: int) -> Chain:
        return Chain(model, self.slots, span, self.rows)

    def _bound(self, schedule: Schedule, model: TinyModel, span: int) -> Bound:
        self.chain = self.chain_of(model, span)
        return self.chain

    def prepare(self, progress: Callable[[str], None], count: int) -> None:
        """Binds the buckets that so many requests need."""
        self.runner.prepare(progress, **{self.dim: count})

    def advance(self, rounds: int) -> bool:
        """Runs up to so many rounds and waits for them; whether any request is left."""
        with torch.no_grad():
            self._refill()
            for _ in range(rounds):
                if not self.live:
                    break
                self._do(self._round)
                if any(request.done for request in self.live):
                    self._do(self._settle)
                    self._refill()
            self._do(self._settle)
            self._refill()
        return bool(self.live)

    def close(self) -> None:
        self.runner.close()

    def _round(self) -> None:
        sizes = self._sizes()
        self.runner.step(**sizes)
        self.live_rows[self.runner.bucket_for(**sizes)] += len(self.live)
        self._in_flight = list(self.live)

    def _sizes(self) -> dict[str, int]:
        """What a round is stepped with."""
        return {self.dim: len(self.live)}

    def _commit(self, out_tokens: Tensor, **others: Tensor) -> None:
        """The body of `commit`: the tokens of the round before."""
        self._take(out_tokens, self.runner.rounds - 1)

    def _take(self, out_tokens: Tensor, round: int) -> None:
        rows = out_tokens[: len(self._in_flight)].tolist()
        committed = 0
        logits = None if self._kept is None else self._kept.take(round)
        for slot, (request, row) in enumerate(zip(self._in_flight, rows, strict=True)):
            tokens = [token for token in row if token != NOT_ACCEPTED]
            if request.done or not tokens:
                continue
            self.accepted[len(tokens)] += 1
            count = request.take(tokens)
            committed += len(tokens)
            if logits is not None:
                request.logits += list(logits[slot, :count])
            self._tell(request, count)
        if self._in_flight:
            self._in_a_row = 0
            if self._noted is not None:
                self._noted.committed[round] = committed
        self._in_flight = []

    def _settle(self) -> None:
        """Waits for the round in flight and takes its tokens now instead of a round later."""
        self.runner.drain()
        if self._in_flight:
            self._take(self.runner.buffer("out_tokens"), self.runner.rounds - 1)
            self._discard(0)

    def _discard_all(self) -> None:
        for copy in range(self._copies):
            self._discard(copy)

    def _discard(self, rounds_back: int) -> None:
        """Marks published tokens as taken, so that the next round's commit finds none."""
        self.runner.buffer("out_tokens", rounds_back).fill_(NOT_ACCEPTED)

    def _refill(self) -> None:
        """Takes out what has ended and puts in what waits. Nothing may be in flight."""
        self._take_out()
        while self.waiting and len(self.live) < self.slots:
            self._put_in(self.waiting.pop())

    def _take_out(self) -> None:
        for slot in reversed(range(len(self.live))):
            if self.live[slot].done:
                self._leave(slot)
                last = self.live.pop()
                if slot < len(self.live):
                    self._move(len(self.live), slot)
                    self.live[slot] = last

    def _put_in(self, request: Request) -> None:
        self._prefill(request, len(self.live))
        if not request.done:
            self.live.append(request)

    def _prefill(self, request: Request, slot: int) -> None:
        """Puts a request into a slot, from its prompt and the tokens it has, and gives it one more."""
        token, logits, carried = self._enter(request, slot)
        for name, value in carried.items():
            self.runner.buffer(name)[slot] = value
        count = request.take([token])
        if self._kept is not None and logits is not None:
            request.logits += [logits] * count
        self._tell(request, count)

    def _enter(
        self, request: Request, slot: int
    ) -> tuple[int, Tensor | None, Mapping[str, Tensor]]:
        """A new token, its logits, and what the carried buffers have for the slot."""
        return self.chain.prefill([*request.prompt, *request.tokens], slot)

    def _leave(self, slot: int) -> None:
        """Gives up what is held for a slot. Here that is nothing: who comes next writes over it."""

    def _tell(self, request: Request, count: int) -> None:
        try:
            self.on_tokens(request, count)
        except Exception:
            self._refused = True
            raise

    def _do(self, work: Callable[[], None]) -> None:
        """A part of a round; when one has failed, what was live in it is restored."""
        began = time.perf_counter()
        failure = None
        try:
            work()
        except PhaseError as error:
            if self._refused or self._in_a_row == PATIENCE or self.runner.peers is not None:
                raise  # with other ranks it runs no more: they are ahead
            failure = error
        self.seconds += time.perf_counter() - began
        if failure is not None:
            self._restore(failure)

    def _restore(self, error: PhaseError) -> None:
        """Prefills again what was live in a round that failed. Nothing is in flight."""
        self._in_a_row += 1
        self.faults.append(str(error))
        self.on_fault(error)
        self._in_flight = []
        if self._kept is not None:
            self._kept.start_again(self.runner.rounds)
        self._discard_all()
        for slot, request in enumerate(self.live):
            if not request.done:
                self._prefill(request, slot)

    def _move(self, source: int, target: int) -> None:
        self._shift(source, target)
        for name in self._carried:
            buffer = self.runner.buffer(name)
            buffer[target] = buffer[source]

    def _shift(self, source: int, target: int) -> None:
        self.chain.move(source, target)

    def _by_request(self, logits: Tensor, accepting: Mapping[str, Tensor]) -> Tensor:
        """Logits of the tokens that may be committed, `[B, D, vocab]`, in their order."""
        return logits
