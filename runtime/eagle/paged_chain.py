"""The phases of a chain round on caches in pages, for requests that each sample as they ask.

They are those of `chain.py`, but that positions are looked up in a request's table of pages, which it
brings along. Rejected positions lie in pages of the request's own and are overwritten by the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import Chain, count_of
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.paged import PagedPlan, PagedPlanner
from plait.runtime.sampling.bodies import accept_chain


class PagedChain(Chain):
    """Bodies and opaque buffers for caches of `count` pages of `size` positions, up to `most` a request."""

    def __init__(self, model: TinyModel, count: int, size: int, most: int, rows: int):
        super().__init__(model, count, size, rows)
        self.planner = model.planner(size * most)
        self.paged = PagedPlanner(self.planner, size, most)
        self.sampling = True
        """Whether any request of the round samples, or wants log probabilities; else the likeliest token is
        found without putting all in order. Looked at when `accept` runs, so for it outside of captures."""

    def bodies(self) -> dict[str, Callable[..., None]]:
        return super().bodies() | {"only_root": self.only_root}

    def _empty_plan(self, **sizes: int) -> PagedPlan:  # type: ignore[override]
        (requests,) = sizes.values()
        return self.paged.empty(requests, self.rows)

    def nextn(  # type: ignore[override]
        self,
        token: Tensor,
        seq_lens: Tensor,
        pages: Tensor,
        hidden: Tensor,
        draft_kv: list[Tensor],
        draft_tokens: Tensor,
        index: int,
    ) -> None:
        position = (seq_lens + (index - 1)).clamp_(max=self.planner.span - 1)
        plan = self.paged.of(position.unsqueeze(1), pages)
        self.step(token, plan, hidden, draft_kv, draft_tokens)

    def only_root(self, bonus: Tensor, tree: Tensor) -> None:
        tree.copy_(bonus.unsqueeze(1))

    def plan_verify(  # type: ignore[override]
        self, tree: Tensor, seq_lens: Tensor, pages: Tensor, verify_meta: PagedPlan
    ) -> None:
        self.paged.fill(verify_meta, seq_lens.unsqueeze(1), self._along, pages)

    def accept(  # type: ignore[override]
        self,
        logits: Tensor,
        tree: Tensor,
        seq_lens: Tensor,
        accepted: Tensor,
        bonus: Tensor,
        **sampling: Tensor,
    ) -> None:
        if self.sampling:
            accept_chain(logits, tree, seq_lens, accepted=accepted, bonus=bonus, **sampling)
        else:
            super().accept(logits, tree, seq_lens, accepted, bonus)

    def plan_extend(  # type: ignore[override]
        self, accepted: Tensor, seq_lens: Tensor, pages: Tensor, extend_meta: PagedPlan
    ) -> None:
        start = seq_lens.unsqueeze(1) - count_of(accepted)
        self.paged.fill(extend_meta, start, self._along, pages)

    def publish(  # type: ignore[override]
        self,
        accepted: Tensor,
        logprobs: Tensor,
        top_tokens: Tensor,
        out_tokens: Tensor,
        out_logprobs: Tensor,
        out_top_tokens: Tensor,
    ) -> None:
        out_tokens.copy_(accepted)
        out_logprobs.copy_(logprobs)
        out_top_tokens.copy_(top_tokens)

    # Before the first round

    def forward(self, tokens: list[int], start: int, end: int, pages: list[int]) -> Tensor:
        """The target over the tokens from `start` up to `end`: their hidden states, `[end - start, hidden]`."""
        plan = self._plan(start, end, pages)
        return self.model.target(torch.tensor([tokens[start:end]]), plan, self.target_cache)[0]

    def extend(self, states: Tensor, following: list[int], start: int, pages: list[int]) -> Tensor:
        """NextN over the states of the target from `start` on, and the token after each: as many states."""
        plan = self._plan(start, start + len(following), pages)
        tokens = torch.tensor([following])
        return self.model.nextn(states.unsqueeze(0), tokens, plan, self.nextn_cache)[0]

    def _plan(self, start: int, end: int, pages: list[int]) -> PagedPlan:
        return self.paged.of(torch.arange(start, end).unsqueeze(0), torch.tensor([pages]))
