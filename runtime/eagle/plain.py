"""Plain greedy decoding: one token a step, one capture a bucket, in a loop of its own.

It shares the model's forward with speculative decoding and nothing else, which makes it the judge of
both its tokens and its speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from plait.runtime.devices.graph import capture
from plait.runtime.devices.job import job
from plait.runtime.devices.replayers import replayer
from plait.runtime.eagle.request import Request, span_for
from plait.runtime.models.target import Target


class Plain:
    """Steps of up to `buckets[-1]` requests, padded to the smallest bucket that holds them."""

    def __init__(
        self,
        model: Target,
        requests: list[Request],
        buckets: Sequence[int],
        *,
        captured: bool = True,
        keep_logits: bool = False,
    ):
        self.model = model
        self.buckets = list(buckets)
        self.slots = self.buckets[-1]
        self.captured = captured
        self.keep_logits = keep_logits
        self.waiting = list(reversed(requests))
        self.live: list[Request] = []
        self.seconds = 0.0
        """Spent in steps, prefill not included."""
        self.steps = 0
        span = span_for(requests, 1, model.shape.context)
        self.planner = model.planner(span)
        self.cache = model.target_cache(self.slots, span)
        self.token = torch.zeros(self.slots, dtype=torch.int64)
        self.position = torch.zeros(self.slots, dtype=torch.int64)
        self.logits = torch.zeros(self.slots, model.shape.vocab, dtype=model.dtype)
        needed = next((b for b in self.buckets if b >= len(requests)), self.slots)
        self._step_of = {b: self._bound(b) for b in self.buckets if b <= needed}

    def advance(self, steps: int) -> bool:
        """Runs up to so many steps; whether any request is left."""
        with torch.no_grad():
            self._refill()
            began = time.perf_counter()
            for _ in range(steps):
                if not self.live:
                    break
                self._step()
                if any(request.done for request in self.live):
                    self.seconds += time.perf_counter() - began
                    self._refill()
                    began = time.perf_counter()
            self.seconds += time.perf_counter() - began
        return bool(self.live)

    def _step(self) -> None:
        batch = next(bucket for bucket in self.buckets if bucket >= len(self.live))
        self._step_of[batch]()
        self.steps += 1
        for slot, (request, token) in enumerate(zip(self.live, self.token.tolist(), strict=False)):
            count = request.take([token])
            if self.keep_logits:
                request.logits += [self.logits[slot].clone()] * count

    def _bound(self, batch: int) -> Callable[[], Any]:
        call = job(f"decode {batch}", "plain", self._forward, batch)
        if not self.captured:
            return call
        written = [*self.cache, self.token, self.position, self.logits]
        return capture(call.name, call.place, [call], written, replayer()).replay

    def _forward(self, batch: int) -> None:
        token, position, logits = self.token[:batch], self.position[:batch], self.logits[:batch]
        plan = self.planner.of(position.unsqueeze(1))
        hidden = self.model.target(token.unsqueeze(1), plan, self.cache)
        logits.copy_(self.model.logits(hidden[:, 0]))
        token.copy_(logits.argmax(-1))
        position.add_(1).clamp_(max=self.planner.span - 1)

    def _refill(self) -> None:
        for slot in reversed(range(len(self.live))):
            if self.live[slot].done:
                last = self.live.pop()
                if slot < len(self.live):
                    self.live[slot] = last
                    for tensor in (*self.cache, self.token, self.position):
                        tensor[slot] = tensor[len(self.live)]
        while self.waiting and len(self.live) < self.slots:
            request = self.waiting.pop()
            token, logits = self._prefill(request.prompt, len(self.live))
            count = request.take([token])
            if self.keep_logits:
                request.logits += [logits] * count
            if not request.done:
                self.live.append(request)

    def _prefill(self, prompt: list[int], slot: int) -> tuple[int, Tensor]:
        plan = self.planner.of(torch.arange(len(prompt)).unsqueeze(0))
        cache = [slots[slot : slot + 1] for slots in self.cache]
        hidden = self.model.target(torch.tensor([prompt]), plan, cache)
        logits = self.model.logits(hidden[:, -1])[0]
        token = logits.argmax(-1)
        self.token[slot] = token
        self.position[slot] = len(prompt)
        return int(token), logits
