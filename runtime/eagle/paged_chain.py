"""The phases of a chain round on caches in pages, for requests that each sample as they ask.

They are those of `chain.py`, but that positions are looked up in a request's table of pages, which it
brings along. Rejected positions lie in pages of the request's own and are overwritten by the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import Chain, count_of, only_root
from plait.runtime.eagle.memory import Memory
from plait.runtime.models.paged import PagedPlan
from plait.runtime.sampling.bodies import accept_chain, publish


class PagedChain:
    """Bodies and opaque buffers for a memory of pages, `rows` verified a request.

    Where nobody samples, `accept` does not put all tokens in order; a graph that holds it does, for
    whoever may come: `captured`.
    """

    def __init__(self, memory: Memory, rows: int, captured: bool):
        self.memory = memory
        self.paged = memory.planner
        self.chain = Chain(memory.model, 1, 1, rows)
        self.rows = rows
        self._along = torch.arange(rows)
        self.captured = captured

    def bodies(self) -> dict[str, Callable[..., None]]:
        """By phase name; `commit` belongs to whoever takes the tokens."""
        return self.chain.bodies() | {
            "nextn": self.nextn,
            "only_root": only_root,
            "plan_verify": self.plan_verify,
            "accept": self.accept,
            "plan_extend": self.plan_extend,
            "publish": publish,
        }

    def opaque(self) -> dict[str, Any]:
        return {
            "target_kv": self.memory.target_cache,
            "draft_kv": self.memory.nextn_cache,
            "verify_meta": self._empty_plan,
            "extend_meta": self._empty_plan,
        }

    def _empty_plan(self, **sizes: int) -> PagedPlan:
        (requests,) = sizes.values()
        return self.paged.empty(requests, self.chain.rows)

    def nextn(
        self,
        token: Tensor,
        seq_lens: Tensor,
        pages: Tensor,
        hidden: Tensor,
        draft_kv: list[Tensor],
        draft_tokens: Tensor,
        index: int,
    ) -> None:
        position = (seq_lens + (index - 1)).clamp_(max=self.paged.span - 1)
        plan = self.paged.of(position.unsqueeze(1), pages)
        self.chain.step(token, plan, hidden, draft_kv, draft_tokens)

    def plan_verify(
        self, tree: Tensor, seq_lens: Tensor, pages: Tensor, verify_meta: PagedPlan
    ) -> None:
        self.paged.fill(verify_meta, seq_lens.unsqueeze(1), self._along, pages)

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        seq_lens: Tensor,
        accepted: Tensor,
        bonus: Tensor,
        **sampling: Tensor,
    ) -> None:
        if self.captured or self.memory.requests.sampling:
            accept_chain(logits, tree, seq_lens, accepted=accepted, bonus=bonus, **sampling)
        else:
            self.chain.accept(logits, tree, seq_lens, accepted, bonus)

    def plan_extend(
        self, accepted: Tensor, seq_lens: Tensor, pages: Tensor, extend_meta: PagedPlan
    ) -> None:
        start = seq_lens.unsqueeze(1) - count_of(accepted)
        self.paged.fill(extend_meta, start, self._along, pages)

    def drafted(self, hidden: Tensor) -> dict[str, Tensor]:
        """What the draft begins with, from NextN's state of one request."""
        return self.chain.drafted(hidden)
