"""Phases of worker.spec bound around the calls of a worker: what Plait's Runner drives in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from plait.runtime.eagle.request import Request
from stand_in import Batch, DraftInput, ForwardBatch, Result, StandInWorker, process_batch_result
from torch import Tensor

if TYPE_CHECKING:
    from plait.runtime.schedule import Schedule

CALLS = (
    "draft",
    "prepare_for_verify",
    "verify",
    "sample",
    "copy_result",
    "prepare_for_draft_extend",
    "forward_draft_extend",
    "process_batch_result",
)


class Adaptor:
    """The rounds of one worker. A phase takes its buffers by name, and changes in place what it writes."""

    def __init__(self, worker: StandInWorker, schedule: Schedule, **how: Any):
        self.worker = worker
        self.requests: list[Request] = []
        opaque = {
            "target_kv": worker.target_kv,
            "draft_kv": worker.draft_kv,
            "verify_batch": worker.static_inputs,
            "extend_batch": worker.static_inputs,
        }
        bodies = {name: getattr(self, name) for name in CALLS}
        self.runner = schedule.bind(bodies, opaque=opaque, **how)

    # Phases. The caches are the worker's own: `held` has them, so that Plait knows who uses them.

    def draft(
        self,
        bonus_tokens: Tensor,
        topk_index: Tensor,
        hidden_states: Tensor,
        seq_lens: Tensor,
        draft_token: Tensor,
        **held: Any,
    ) -> None:
        carried = DraftInput(bonus_tokens, topk_index, hidden_states)
        draft_token.copy_(self.worker.draft(Batch(seq_lens, carried)))

    def prepare_for_verify(
        self, draft_token: Tensor, seq_lens: Tensor, verify_batch: ForwardBatch
    ) -> None:
        self.worker.prepare_for_verify(draft_token, seq_lens, verify_batch)

    def verify(
        self, verify_batch: ForwardBatch, logits: Tensor, rows_hidden: Tensor, **held: Any
    ) -> None:
        found = self.worker.verify(verify_batch)
        logits.copy_(found[0])
        rows_hidden.copy_(found[1])

    def sample(
        self,
        logits: Tensor,
        draft_token: Tensor,
        seq_lens: Tensor,
        predict: Tensor,
        accept_lens: Tensor,
        bonus_tokens: Tensor,
    ) -> None:
        result = self.worker.sample(logits, draft_token)
        predict.copy_(result.predict)
        accept_lens.copy_(result.accept_lens)
        seq_lens.add_(accept_lens)
        bonus_tokens.copy_(predict.gather(1, accept_lens.unsqueeze(1) - 1)[:, 0])

    def copy_result(
        self, predict: Tensor, accept_lens: Tensor, next_tokens: Tensor, next_lens: Tensor
    ) -> None:
        next_tokens.copy_(predict)
        next_lens.copy_(accept_lens)

    def prepare_for_draft_extend(
        self, predict: Tensor, accept_lens: Tensor, seq_lens: Tensor, extend_batch: ForwardBatch
    ) -> None:
        self.worker.prepare_for_draft_extend(Result(predict, accept_lens), seq_lens, extend_batch)

    def forward_draft_extend(
        self,
        rows_hidden: Tensor,
        accept_lens: Tensor,
        extend_batch: ForwardBatch,
        topk_index: Tensor,
        hidden_states: Tensor,
        **held: Any,
    ) -> None:
        found = self.worker.forward_draft_extend(extend_batch, rows_hidden, accept_lens)
        topk_index.copy_(found[0])
        hidden_states.copy_(found[1])

    def process_batch_result(self, next_tokens: Tensor, next_lens: Tensor) -> None:
        """The round before; of the first there is none, and its lengths are 0."""
        process_batch_result(self.requests, next_tokens.tolist(), next_lens.tolist())

    # What the scheduler calls

    def run(self, requests: list[Request]) -> int:
        """Runs a batch to its end; returns how many rounds that took."""
        with torch.no_grad():
            batch = self.worker.prefill_all(requests)
        for name, rows in ({"seq_lens": batch.seq_lens} | batch.spec_info._asdict()).items():
            self.runner.buffer(name)[: len(rows)] = rows
        self.requests, before = requests, self.runner.rounds
        while not all(request.done for request in requests):
            self.runner.step(bs=len(requests))
        self.runner.drain()
        self.runner.buffer("next_lens").zero_()  # the newest round's: nobody asks for its tokens
        return self.runner.rounds - before
