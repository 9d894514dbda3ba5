"""Continues texts by speculative rounds: one compiled schedule, slots that never wait for each other.

Every request advances by what its own round accepted. When one ends, the last one moves into its slot
or a waiting one is prefilled there, so rows stay dense and the smallest bucket that holds them runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from plait.runtime.bind import bind
from plait.runtime.devices.base import Device
from plait.runtime.eagle.chain import (
    NOT_ACCEPTED,
    Chain,
    check_fits,
    check_room,
    dim_of,
    rows_of,
)
from plait.runtime.eagle.request import Request, span_for
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace

CARRIED = ("seq_lens", "bonus", "candidate", "hidden")


class Speculative:
    """Raises RequestError, BindError, DeviceError when made; PhaseError from `advance`.

    `on_tokens(request, count)` is called when a request has new tokens, `count` of them.
    """

    def __init__(
        self,
        schedule: Schedule,
        model: TinyModel,
        requests: list[Request],
        *,
        device: str | Device = "cpu",
        trace: Trace | None = None,
        keep_logits: bool = False,
        on_tokens: Callable[[Request, int], None] = lambda request, count: None,
    ):
        self.rows = rows_of(schedule)
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
        self.on_tokens = on_tokens
        self.keep_logits = keep_logits
        self._in_flight: list[Request] = []
        self._logits: dict[int, Tensor] = {}
        span = span_for(requests, self.rows, model.shape.context)
        check_room(schedule, model, self.slots, span)
        self.chain = Chain(model, self.slots, span, self.rows)
        bodies = self.chain.bodies() | {"commit": self._commit}
        check_fits(schedule, model, bodies)
        if keep_logits:
            bodies["accept"] = self._accept_keeping_logits
        self.runner = bind(schedule, bodies, opaque=self.chain.opaque(), device=device, trace=trace)
        self.runner.prepare(**{self.dim: min(len(requests), self.slots)})
        for buffer in schedule.buffers:
            if buffer.name == "out_tokens":
                for copy in range(buffer.copies):
                    self._discard(copy)

    def advance(self, rounds: int) -> bool:
        """Runs up to so many rounds and waits for them; whether any request is left."""
        with torch.no_grad():
            self._refill()
            began = time.perf_counter()
            for _ in range(rounds):
                if not self.live:
                    break
                self._round()
                if any(request.done for request in self._in_flight):
                    self._settle()
                    self.seconds += time.perf_counter() - began
                    self._refill()
                    began = time.perf_counter()
            self._settle()
            self.seconds += time.perf_counter() - began
            self._refill()
        return bool(self.live)

    def close(self) -> None:
        self.runner.close()

    def _round(self) -> None:
        sizes = {self.dim: len(self.live)}
        self.live_rows[self.runner.bucket_for(**sizes)] += len(self.live)
        self.runner.step(**sizes)
        self._in_flight = list(self.live)

    def _commit(self, out_tokens: Tensor) -> None:
        """The body of `commit`: the tokens of the round before."""
        self._take(out_tokens, self.runner.rounds - 1)

    def _take(self, out_tokens: Tensor, round: int) -> None:
        rows = out_tokens[: len(self._in_flight)].tolist()
        logits = self._logits.pop(round, None)
        for slot, (request, row) in enumerate(zip(self._in_flight, rows, strict=True)):
            tokens = [token for token in row if token != NOT_ACCEPTED]
            if request.done or not tokens:
                continue
            self.accepted[len(tokens)] += 1
            count = request.take(tokens)
            if logits is not None:
                request.logits += list(logits[slot, :count])
            self.on_tokens(request, count)
        self._in_flight = []

    def _settle(self) -> None:
        """Waits for the round in flight and takes its tokens now instead of a round later."""
        self.runner.drain()
        if self._in_flight:
            self._take(self.runner.buffer("out_tokens"), self.runner.rounds - 1)
            self._discard(0)

    def _discard(self, rounds_back: int) -> None:
        """Marks published tokens as taken, so that the next round's commit finds none."""
        self.runner.buffer("out_tokens", rounds_back).fill_(NOT_ACCEPTED)

    def _refill(self) -> None:
        """Takes out what has ended and puts in what waits. Nothing may be in flight."""
        for slot in reversed(range(len(self.live))):
            if self.live[slot].done:
                last = self.live.pop()
                if slot < len(self.live):
                    self._move(len(self.live), slot)
                    self.live[slot] = last
        while self.waiting and len(self.live) < self.slots:
            request = self.waiting.pop()
            token, logits, carried = self.chain.prefill(request.prompt, len(self.live))
            for name in CARRIED:
                self.runner.buffer(name)[len(self.live)] = carried[name]
            count = request.take([token])
            if self.keep_logits:
                request.logits += [logits] * count
            self.on_tokens(request, count)
            if not request.done:
                self.live.append(request)

    def _move(self, source: int, target: int) -> None:
        self.chain.move(source, target)
        for name in CARRIED:
            buffer = self.runner.buffer(name)
            buffer[target] = buffer[source]

    def _accept_keeping_logits(self, logits: Tensor, **others: Tensor) -> None:
        self._logits[self._accepting] = logits.to(self.chain.model.dtype, copy=True)
        self._accepting += 1
        self.chain.accept(logits, **others)

    _accepting = 0
