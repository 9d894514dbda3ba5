"""The phases of a lookup round, for any model that verifies, on a cache in pages.

A request that has committed n tokens to the cache has all tokens up to n, its bonus, in `text`. One round
looks up candidates for n + 1 ... n + S, verifies them behind the bonus, and puts what was accepted behind
the text. Rejected positions lie in pages of the request's own and are overwritten by the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import build_tree, count_of, only_root
from plait.runtime.eagle.paged_rows import PagedRows
from plait.runtime.lookup.look_up import look_up, put_behind
from plait.runtime.models.paged import PagedPlan, PagedPlanner
from plait.runtime.models.target import Target
from plait.runtime.sampling.bodies import accept_chain, publish
from plait.runtime.sampling.following import follow_chain


class LookupRound:
    """Bodies and opaque buffers; `rows` are verified a request, up to `longest` tokens are looked for.

    While nobody samples, `accept` does not put all tokens in order. A graph that holds it does, for
    whoever may come: `captured`.
    """

    def __init__(
        self,
        model: Target,
        planner: PagedPlanner,
        cache: list[Tensor],
        requests: PagedRows,
        *,
        rows: int,
        longest: int,
        captured: bool,
    ):
        self.model = model
        self.planner = planner
        self.cache = cache
        self.requests = requests
        self.rows = rows
        self.longest = longest
        self.captured = captured
        self._along = torch.arange(rows)

    def bodies(self) -> dict[str, Callable[..., None]]:
        """By phase name; `commit` belongs to whoever takes the tokens."""
        return {
            "lookup": self.lookup,
            "build_tree": build_tree,
            "only_root": only_root,
            "plan_verify": self.plan_verify,
            "target": self.target,
            "accept": self.accept,
            "remember": self.remember,
            "publish": publish,
        }

    def opaque(self) -> dict[str, Any]:
        return {"target_kv": self.cache, "verify_meta": self._empty_plan}

    def _empty_plan(self, **sizes: int) -> PagedPlan:
        (requests,) = sizes.values()
        return self.planner.empty(requests, self.rows)

    def lookup(self, text: Tensor, seq_lens: Tensor, draft_tokens: Tensor) -> None:
        newest = seq_lens.clamp(max=text.shape[1] - 1)
        draft_tokens.copy_(look_up(text, newest, draft_tokens.shape[1], self.longest))

    def plan_verify(self, seq_lens: Tensor, pages: Tensor, verify_meta: PagedPlan) -> None:
        self.planner.fill(verify_meta, seq_lens.unsqueeze(1), self._along, pages)

    def target(
        self, tree: Tensor, verify_meta: PagedPlan, target_kv: list[Tensor], logits: Tensor
    ) -> None:
        logits.copy_(self.model.logits(self.model.target(tree, verify_meta, target_kv)))

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        seq_lens: Tensor,
        accepted: Tensor,
        bonus: Tensor,
        **sampling: Tensor,
    ) -> None:
        if self.captured or self.requests.sampling:
            accept_chain(logits, tree, seq_lens, accepted=accepted, bonus=bonus, **sampling)
        else:
            follow_chain(logits.argmax(-1), tree).commit(seq_lens, accepted, bonus)

    def remember(self, accepted: Tensor, seq_lens: Tensor, text: Tensor) -> None:
        put_behind(text, accepted, count_of(accepted)[:, 0], seq_lens)
