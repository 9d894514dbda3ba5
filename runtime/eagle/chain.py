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

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.plan import Plan
from plait.runtime.models.target import Target
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

NOT_ACCEPTED = -1
"""Stands in `accepted` and `out_tokens` behind the last accepted token."""

COPIES = 4
"""Of the caches: the round's, plain decoding's, and two that are kept while the round is captured."""


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
            "build_tree": self.build_tree,
            "plan_verify": self.plan_verify,
            "target": self.target,
            "accept": self.accept,
            "plan_extend": self.plan_extend,
            "nextn_extend": self.nextn_extend,
            "publish": self.publish,
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

    def build_tree(
        self, draft_tokens: Tensor, bonus: Tensor, seq_lens: Tensor, tree: Tensor
    ) -> None:
        torch.cat([bonus.unsqueeze(1), draft_tokens], 1, out=tree)

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
        before = rows_hidden.to(self.model.dtype)
        after = self.model.nextn(before, accepted.clamp(min=0), extend_meta, draft_kv)
        last = (count_of(accepted) - 1).unsqueeze(2).expand(-1, 1, after.shape[-1])
        newest = after.gather(1, last)[:, 0]  # the head runs on the last accepted row only
        hidden.copy_(newest)
        candidate[:, 0] = self.model.logits(newest).argmax(-1)

    def publish(self, accepted: Tensor, out_tokens: Tensor) -> None:
        out_tokens.copy_(accepted)

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


TOKENS = "tokens"
"""The dim that counts rows of a ragged verify."""


def dim_of(schedule: Schedule) -> str:
    """The dim that counts requests, beside that of a ragged verify.

    Raises BindError for a round that has none, or others.
    """
    dims = [name for name, _ in schedule.buckets[-1].sizes if name != TOKENS]
    if len(dims) != 1:
        raise BindError(
            f"{schedule.source.name}: its dims are {', '.join(dims) or 'none'}; the round that is "
            "bound here has one, of requests"
        )
    return dims[0]


def check_room(schedule: Schedule, model: Target, slots: int, span: int) -> None:
    """Raises BindError when caches for so many requests would not leave this machine room to work."""
    numbers = slots * span * model.shape.cached * (model.shape.layers + 1)
    needed = COPIES * numbers * torch.empty(0, dtype=model.dtype).element_size()
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise BindError(
            f"{schedule.source.name}: a bucket of {slots:,} requests needs {needed / 2**30:,.0f} GiB for "
            f"caches; this machine has {there / 2**30:,.0f}"
        )


def rows_of(schedule: Schedule) -> int:
    """D, the rows verified a request. Raises BindError for a round that is not this one."""
    widths = {}
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if sizes is not None and len(sizes) == 2:
            widths[buffer.name] = (sizes[1], schedule.place_of(buffer.place))
    for name in ("tree", "draft_tokens", "candidate"):
        if name not in widths:
            raise BindError(
                f"{schedule.source.name}: this runs rounds of EAGLE, which have a buffer `{name}` of "
                "two axes; bind your own phases with `schedule.bind`"
            )
    (rows, place), (steps, _) = widths["tree"], widths["draft_tokens"]
    topk, where = widths["candidate"]
    if topk != 1:
        raise BindError(
            f"{where}: {topk} candidates a request; what is bound here drafts a chain, of one (topk = 1)"
        )
    if rows != steps + 1:
        raise BindError(
            f"{place}: a chain of {steps} drafted tokens verifies {steps + 1} rows a request, not {rows}"
        )
    return rows


def check_fits(schedule: Schedule, model: Target, bodies: Mapping[str, object]) -> None:
    """Raises BindError for a phase that is not the chain's, or a buffer that has not the model's sizes."""
    for phase in schedule.phases:
        if phase.body not in bodies:
            raise BindError(
                f"{schedule.place_of(phase.place)}: `{phase.name}` is no phase of the round that is "
                f"bound here ({', '.join(bodies)}); bind your own phases with `schedule.bind`"
            )
    shape = model.shape
    wanted = {"hidden": shape.hidden, "rows_hidden": shape.hidden, "logits": shape.vocab}
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if buffer.name in wanted and (sizes is None or sizes[-1] != wanted[buffer.name]):
            found = "opaque" if sizes is None else f"{sizes[-1]} wide"
            raise BindError(
                f"{schedule.place_of(buffer.place)}: `{buffer.name}` is {found}; "
                f"the model needs a last axis of {wanted[buffer.name]}"
            )
