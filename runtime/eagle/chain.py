"""The phases of a chain round (K = 1, greedy) on the tiny model.

A request that has committed n tokens to the target's cache has a bonus token at position n, the
candidate for position n + 1, and NextN's hidden state for position n - 1. One round then:

    draft     candidates for n + 1 ... n + S: the first is there, each further one costs a NextN step
    verify    the target on the bonus token and the S candidates, at n ... n + S: D = S + 1 rows
    accept    candidates that the target would have chosen, up to the first that it would not, and one
              token of the target's own behind them: the new bonus
    extend    NextN on what was accepted, with the target's hidden states: the next round's candidate

Rejected positions of both caches are overwritten by the next round before anything looks at them, so
rolling back is only not counting them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.plan import Plan
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.sampling.bodies import publish

NOT_ACCEPTED = -1
"""Stands in `accepted` and `out_tokens` behind the last accepted token."""


class Chain:
    """Bodies, opaque buffers and prefill for `slots` requests and caches of `span` positions."""

    carried: tuple[str, ...] = ("seq_lens", "bonus", "candidate", "hidden")
    """Buffers with a row a request that `prefill` gives the first values of."""

    def __init__(self, model: TinyModel, slots: int, span: int, rows: int):
        """`rows` is D, the rows verified for each request."""
        self.model = model
        self.rows = rows
        self.planner = model.planner(span)
        self.target_cache = model.target_cache(slots, span)
        self.nextn_cache = model.nextn_cache(slots, span)
        self._along = torch.arange(rows)
        self._not_accepted = torch.tensor(NOT_ACCEPTED)

    def bodies(self) -> dict[str, Callable[..., None]]:
        """By phase name; `commit` belongs to whoever takes the tokens."""
        return {
            "first": self.first,
            "nextn": self.nextn,
            "build_tree": build_tree,
            "plan_verify": self.plan_verify,
            "target": self.target,
            "accept": self.accept,
            "plan_extend": self.plan_extend,
            "nextn_extend": self.nextn_extend,
            "publish": publish,
        }

    def opaque(self) -> dict[str, Any]:
        return {
            "target_kv": self.target_cache,
            "draft_kv": self.nextn_cache,
            "verify_meta": self._empty_plan,
            "extend_meta": self._empty_plan,
        }

    def _empty_plan(self, **sizes: int) -> Plan:
        (requests,) = sizes.values()
        return self.planner.empty(requests, self.rows)

    # Draft

    def first(self, candidate: Tensor, draft_tokens: Tensor) -> None:
        draft_tokens.copy_(candidate[:, 0])

    def nextn(
        self,
        token: Tensor,
        seq_lens: Tensor,
        hidden: Tensor,
        draft_kv: list[Tensor],
        draft_tokens: Tensor,
        index: int,
    ) -> None:
        position = (seq_lens + (index - 1)).clamp_(max=self.planner.span - 1)
        self.step(token, self.planner.of(position.unsqueeze(1)), hidden, draft_kv, draft_tokens)

    def step(
        self,
        token: Tensor,
        plan: AnyPlan,
        hidden: Tensor,
        draft_kv: list[Tensor],
        draft_tokens: Tensor,
    ) -> None:
        """One candidate more."""
        before = hidden.to(self.model.dtype).unsqueeze(1)
        after = self.model.nextn(before, token.unsqueeze(1), plan, draft_kv)[:, 0]
        hidden.copy_(after)
        draft_tokens.copy_(self.model.logits(after).argmax(-1))

    # Verify

    def plan_verify(self, tree: Tensor, seq_lens: Tensor, verify_meta: Plan) -> None:
        self.planner.fill(verify_meta, seq_lens.unsqueeze(1), self._along[: tree.shape[1]])

    def target(
        self,
        tree: Tensor,
        verify_meta: AnyPlan,
        target_kv: list[Tensor],
        logits: Tensor,
        rows_hidden: Tensor,
    ) -> None:
        hidden = self.model.target(tree, verify_meta, target_kv)
        rows_hidden.copy_(hidden)
        logits.copy_(self.model.logits(hidden))

    def accept(
        self, logits: Tensor, tree: Tensor, seq_lens: Tensor, accepted: Tensor, bonus: Tensor
    ) -> None:
        chosen = logits.argmax(-1)
        agrees = chosen[:, :-1] == tree[:, 1:]
        agreed = agrees.cumprod(1).sum(1, keepdim=True)
        torch.where(self._along <= agreed, chosen, self._not_accepted, out=accepted)
        torch.gather(chosen, 1, agreed, out=bonus.unsqueeze(1))
        seq_lens.add_(agreed[:, 0]).add_(1)

    # Extend

    def plan_extend(self, accepted: Tensor, seq_lens: Tensor, extend_meta: Plan) -> None:
        start = seq_lens.unsqueeze(1) - count_of(accepted)
        self.planner.fill(extend_meta, start, self._along)

    def nextn_extend(
        self,
        accepted: Tensor,
        rows_hidden: Tensor,
        extend_meta: AnyPlan,
        draft_kv: list[Tensor],
        candidate: Tensor,
        hidden: Tensor,
    ) -> None:
        newest = self.extended(accepted, rows_hidden, extend_meta, draft_kv)
        hidden.copy_(newest)
        candidate[:, 0] = self.model.logits(newest).argmax(-1)

    def extended(
        self, accepted: Tensor, rows_hidden: Tensor, extend_meta: AnyPlan, draft_kv: list[Tensor]
    ) -> Tensor:
        """NextN over what was accepted: of each request the newest state, the only one the head runs on."""
        before = rows_hidden.to(self.model.dtype)
        after = self.model.nextn(before, accepted.clamp(min=0), extend_meta, draft_kv)
        return newest_of(after, accepted)

    # Before the first round

    def prefill(self, prompt: list[int], slot: int) -> tuple[int, Tensor, dict[str, Tensor]]:
        """Runs a prompt into a slot of both caches.

        Returns the first new token, its logits `[vocab]`, and the values of the carried buffers for
        the slot, by name.
        """
        tokens = torch.tensor([prompt])
        plan = self.planner.of(torch.arange(len(prompt)).unsqueeze(0))
        cache = [slots[slot : slot + 1] for slots in self.target_cache]
        states = self.model.target(tokens, plan, cache)
        logits = self.model.logits(states[:, -1])[0]
        bonus = logits.argmax(-1)
        following = torch.cat([tokens[:, 1:], bonus.view(1, 1)], 1)
        cache = [slots[slot : slot + 1] for slots in self.nextn_cache]
        hidden = self.model.nextn(states, following, plan, cache)[0, -1]
        lens = torch.tensor(len(prompt))
        carried = {"seq_lens": lens, "bonus": bonus, "hidden": hidden, **self.drafted(hidden)}
        return int(bonus), logits, carried

    def drafted(self, hidden: Tensor) -> dict[str, Tensor]:
        """What the draft begins with, from NextN's state of one request."""
        return {"candidate": self.model.logits(hidden).argmax(-1, keepdim=True)}

    def move(self, source: int, target: int) -> None:
        """Takes a request's rows of both caches to another slot."""
        for cache in (*self.target_cache, *self.nextn_cache):
            cache[target] = cache[source]


def count_of(accepted: Tensor) -> Tensor:
    """Accepted tokens of each request, `i64[B, 1]`."""
    return (accepted >= 0).sum(1, keepdim=True)


def newest_of(states: Tensor, accepted: Tensor) -> Tensor:
    """Of each request the state of its last accepted token, `[B, hidden]`."""
    last = (count_of(accepted) - 1).unsqueeze(2).expand(-1, 1, states.shape[-1])
    return states.gather(1, last)[:, 0]


def build_tree(draft_tokens: Tensor, bonus: Tensor, tree: Tensor, **others: Tensor) -> None:
    """Of a chain: each token hangs on the one before."""
    torch.cat([bonus.unsqueeze(1), draft_tokens], 1, out=tree)


def only_root(bonus: Tensor, tree: Tensor) -> None:
    """Of a chain that drafts none."""
    tree.copy_(bonus.unsqueeze(1))
