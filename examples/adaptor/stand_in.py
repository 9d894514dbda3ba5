"""A stand-in for a serving stack: the calls of its EAGLE worker, and the numbers of Plait's tiny model."""

from __future__ import annotations

from typing import NamedTuple

import torch
from plait.runtime.eagle.request import Request
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.plan import Plan
from torch import Tensor


class DraftInput(NamedTuple):
    """What a round begins with, a row a request."""

    bonus_tokens: Tensor
    topk_index: Tensor
    hidden_states: Tensor


class Batch(NamedTuple):
    seq_lens: Tensor
    spec_info: DraftInput


class ForwardBatch(NamedTuple):
    """The static inputs of a forward at one bucket."""

    input_ids: Tensor
    metadata: Plan


class Result(NamedTuple):
    predict: Tensor
    """`i64[bs, D]`: the target's tokens, of which the first `accept_lens` count."""
    accept_lens: Tensor


class StandInWorker:
    """Greedy chains for up to `slots` requests. Its caches are its own, as a worker's are."""

    def __init__(self, model: TinyModel, slots: int, span: int, num_steps: int):
        self.model = model
        self.num_steps = num_steps
        self.planner = model.planner(span)
        self.target_kv = model.target_cache(slots, span)
        self.draft_kv = model.nextn_cache(slots, span)
        self._along = torch.arange(num_steps + 1)

    def static_inputs(self, bs: int) -> ForwardBatch:
        rows = len(self._along)
        return ForwardBatch(torch.zeros(bs, rows, dtype=torch.int64), self.planner.empty(bs, rows))

    def draft(self, batch: Batch) -> Tensor:
        """`i64[bs, D]`: the bonus token, and behind it what was drafted."""
        bonus, topk, hidden = batch.spec_info
        tokens = [bonus, topk[:, 0]]
        for step in range(self.num_steps - 1):
            position = (batch.seq_lens + step).clamp(max=self.planner.span - 1).unsqueeze(1)
            before = hidden.to(self.model.dtype).unsqueeze(1)
            plan = self.planner.of(position)
            hidden = self.model.nextn(before, tokens[-1].unsqueeze(1), plan, self.draft_kv)[:, 0]
            tokens.append(self.model.logits(hidden).argmax(-1))
        return torch.stack(tokens, 1)

    def prepare_for_verify(self, draft_token: Tensor, seq_lens: Tensor, into: ForwardBatch) -> None:
        into.input_ids.copy_(draft_token)
        self.planner.fill(into.metadata, seq_lens.unsqueeze(1), self._along)

    def verify(self, batch: ForwardBatch) -> tuple[Tensor, Tensor]:
        """Logits and hidden states of every row."""
        hidden = self.model.target(batch.input_ids, batch.metadata, self.target_kv)
        return self.model.logits(hidden), hidden

    def sample(self, logits: Tensor, draft_token: Tensor) -> Result:
        predict = logits.argmax(-1)
        right = (predict[:, :-1] == draft_token[:, 1:]).cumprod(1)
        return Result(predict, right.sum(1) + 1)

    def prepare_for_draft_extend(
        self, result: Result, seq_lens: Tensor, into: ForwardBatch
    ) -> None:
        into.input_ids.copy_(result.predict)
        start = seq_lens - result.accept_lens
        self.planner.fill(into.metadata, start.unsqueeze(1), self._along)

    def forward_draft_extend(
        self, batch: ForwardBatch, rows_hidden: Tensor, accept_lens: Tensor
    ) -> tuple[Tensor, Tensor]:
        """`topk_index` and `hidden_states` of the next round's draft."""
        before = rows_hidden.to(self.model.dtype)
        after = self.model.nextn(before, batch.input_ids, batch.metadata, self.draft_kv)
        hidden = after[torch.arange(len(after)), accept_lens - 1]
        return self.model.logits(hidden).argmax(-1, keepdim=True), hidden

    def prefill(self, prompt: list[int], slot: int) -> DraftInput:
        """Runs a prompt into a slot of both caches; the bonus token is the first new one."""
        tokens = torch.tensor([prompt])
        plan = self.planner.of(torch.arange(len(prompt)).unsqueeze(0))
        target_kv = [cache[slot : slot + 1] for cache in self.target_kv]
        states = self.model.target(tokens, plan, target_kv)
        bonus = self.model.logits(states[:, -1]).argmax(-1)
        following = torch.cat([tokens[:, 1:], bonus.unsqueeze(1)], 1)
        draft_kv = [cache[slot : slot + 1] for cache in self.draft_kv]
        hidden = self.model.nextn(states, following, plan, draft_kv)[:, -1]
        return DraftInput(bonus, self.model.logits(hidden).argmax(-1, keepdim=True), hidden)

    def prefill_all(self, requests: list[Request]) -> Batch:
        """A batch of requests, each with its first new token."""
        made = [self.prefill(one.prompt, slot) for slot, one in enumerate(requests)]
        for request, one in zip(requests, made, strict=True):
            request.take(one.bonus_tokens.tolist())
        lens = torch.tensor([len(request.prompt) for request in requests])
        return Batch(lens, DraftInput(*(torch.cat(rows) for rows in zip(*made, strict=True))))

    def forward_batch_generation(self, batch: Batch) -> tuple[Result, Batch]:
        """A round on one stream, with waits for nobody: what the stack does without Plait."""
        inputs = self.static_inputs(len(batch.seq_lens))
        draft_token = self.draft(batch)
        self.prepare_for_verify(draft_token, batch.seq_lens, inputs)
        logits, rows_hidden = self.verify(inputs)
        result = self.sample(logits, draft_token)
        seq_lens = batch.seq_lens + result.accept_lens
        bonus = result.predict[torch.arange(len(seq_lens)), result.accept_lens - 1]
        self.prepare_for_draft_extend(result, seq_lens, inputs)
        carried = self.forward_draft_extend(inputs, rows_hidden, result.accept_lens)
        return result, Batch(seq_lens, DraftInput(bonus, *carried))


def process_batch_result(requests: list[Request], tokens: list[list[int]], lens: list[int]) -> None:
    """What the stack's scheduler does with a round's tokens."""
    for request, row, count in zip(requests, tokens, lens, strict=False):
        request.take(row[:count])


def by_hand(worker: StandInWorker, requests: list[Request]) -> int:
    """Runs a batch to its end without Plait; returns how many rounds that took."""
    batch, rounds = worker.prefill_all(requests), 0
    while not all(request.done for request in requests):
        result, batch = worker.forward_batch_generation(batch)
        process_batch_result(requests, result.predict.tolist(), result.accept_lens.tolist())
        rounds += 1
    return rounds
