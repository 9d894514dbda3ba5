"""The phases of a tree round on the tiny model: K candidates a step, S steps, D nodes verified.

A request that has committed n tokens to the target's cache has a bonus token at position n: the root. The
last extend left the likeliest tokens for position n + 1; each further step runs NextN on a beam of the K
best nodes of the step before and hangs K candidates on each. One round then:

    draft     S steps, S - 1 of them NextN forwards of K rows; the D - 1 best nodes of all are chosen
    verify    the target on root and nodes, each at its depth, seeing its ancestors alone
    accept    the longest path that the target would have chosen, and one token of its own behind it
    extend    that path's rows brought together, and NextN on them: the candidates of the next round

Of the target's cache a round uses n ... n + D - 1, a node a position, of NextN's n ... n + (S - 1) K - 1.
With K = 1 this is a chain, and with S = 0 it is plain decoding: the root alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle import tree_nodes
from plait.runtime.eagle.chain import Chain, count_of
from plait.runtime.eagle.tree_plan import plan_of
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.plan import Plan


class Tree(Chain):
    carried = (*Chain.carried, "weight")

    def __init__(self, model: TinyModel, slots: int, span: int, rows: int, most: int):
        """`rows` is D, and `most` is how many candidates are carried."""
        super().__init__(model, slots, span, rows)
        self.most = most
        self.rope = model.shape.rope

    def bodies(self) -> dict[str, Callable[..., None]]:
        return super().bodies() | {
            "spread": self.spread,
            "descend": self.descend,
            "choose": self.choose,
            "root": self.root,
            "compact": self.compact,
        }

    # Draft

    def first(
        self, candidate: Tensor, weight: Tensor, tokens: Tensor, scores: Tensor, above: Tensor
    ) -> None:
        topk = tokens.shape[1]
        tokens.copy_(candidate[:, :topk])
        scores.copy_(weight[:, :topk])
        above.zero_()

    def spread(self, hidden: Tensor, beam: Tensor, beam_hidden: Tensor, seen: Tensor) -> None:
        topk = beam.shape[1]
        beam.copy_(torch.arange(1, topk + 1))
        beam_hidden.copy_(hidden.unsqueeze(1))
        seen.copy_(self._own(1, seen))

    def descend(
        self, last: Tensor, beam: Tensor, beam_hidden: Tensor, seen: Tensor, index: int
    ) -> None:
        topk = beam.shape[1]
        place = tree_nodes.best(last, topk)
        branch = (place // topk).unsqueeze(2)
        beam.copy_(place + (1 + topk + (index - 2) * topk * topk))
        beam_hidden.copy_(beam_hidden.gather(1, branch.expand_as(beam_hidden)))
        seen.copy_(seen.gather(1, branch.expand_as(seen)) | self._own(index, seen))

    def _own(self, step: int, seen: Tensor) -> Tensor:
        """Where a step's own rows lie in the window of NextN's cache, `bool[K, W]`."""
        _, topk, width = seen.shape
        return torch.arange(width) == torch.arange(topk).unsqueeze(1) + (step - 1) * topk

    def nextn(
        self,
        known: Tensor,
        before: Tensor,
        beam: Tensor,
        seen: Tensor,
        seq_lens: Tensor,
        beam_hidden: Tensor,
        draft_kv: list[Tensor],
        tokens: Tensor,
        scores: Tensor,
        above: Tensor,
        index: int,
    ) -> None:
        topk = beam.shape[1]
        start, first = seq_lens.unsqueeze(1), (index - 1) * topk
        plan = plan_of(self.planner, self.rope, start, first, index - 1, seen)
        token = known.gather(1, beam - 1)
        after = self.model.nextn(beam_hidden.to(self.model.dtype), token, plan, draft_kv)
        beam_hidden.copy_(after)
        likely, weights = self.likeliest(after, topk)
        tokens.copy_(likely.flatten(1))
        scores.copy_(tree_nodes.grown(before.gather(1, beam - 1), weights))
        above.copy_(beam.unsqueeze(2).expand_as(likely).flatten(1))

    def likeliest(self, hidden: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The likeliest tokens behind hidden states `[..., hidden]`, and their probabilities."""
        logits = self.model.logits(hidden)
        tokens = logits.topk(count, -1).indices
        return tokens, self.model.arithmetic.softmax(logits).gather(-1, tokens)

    def choose(self, scores: Tensor, chosen: Tensor) -> None:
        chosen.copy_(tree_nodes.chosen(scores, chosen.shape[1]))

    def build_tree(
        self,
        chosen: Tensor,
        tokens: Tensor,
        above: Tensor,
        bonus: Tensor,
        tree: Tensor,
        ancestors: Tensor,
    ) -> None:
        torch.cat([bonus.unsqueeze(1), tokens.gather(1, chosen)], 1, out=tree)
        ancestors.copy_(tree_nodes.ancestors(tree_nodes.parents(chosen, above)))

    def root(self, bonus: Tensor, tree: Tensor, ancestors: Tensor) -> None:
        tree.copy_(bonus.unsqueeze(1))
        ancestors.fill_(True)

    # Verify

    def plan_verify(self, ancestors: Tensor, seq_lens: Tensor, verify_meta: Plan) -> None:
        start, depths = seq_lens.unsqueeze(1), tree_nodes.depths(ancestors)
        made = plan_of(self.planner, self.rope, start, 0, depths, ancestors)
        for into, out_of in zip(verify_meta, made, strict=True):
            into.copy_(out_of)

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        ancestors: Tensor,
        seq_lens: Tensor,
        accepted: Tensor,
        bonus: Tensor,
        path: Tensor,
    ) -> None:
        wanted = logits.argmax(-1)
        length, places = tree_nodes.agreed(tree, wanted, ancestors)
        along = wanted.gather(1, places)
        torch.where(self._along < length, along, self._not_accepted, out=accepted)
        torch.gather(along, 1, length - 1, out=bonus.unsqueeze(1))
        path.copy_(places)
        seq_lens.add_(length[:, 0])

    # Extend

    def compact(
        self,
        path: Tensor,
        accepted: Tensor,
        seq_lens: Tensor,
        target_kv: list[Tensor],
        rows_hidden: Tensor,
    ) -> None:
        """NextN's cache needs none of it: extending writes the path anew, from the target's states."""
        start, last = seq_lens.unsqueeze(1) - count_of(accepted), self.planner.span - 1
        out_of = (start + path).clamp(0, last).unsqueeze(2)
        into = (start + self._along).clamp(0, last).unsqueeze(2)
        for cache in target_kv:
            slots = cache[: path.shape[0]]
            shape = (*path.shape, cache.shape[2])
            slots.scatter_(1, into.expand(shape), slots.gather(1, out_of.expand(shape)))
        rows_hidden.copy_(rows_hidden.gather(1, path.unsqueeze(2).expand_as(rows_hidden)))

    def nextn_extend(
        self,
        accepted: Tensor,
        rows_hidden: Tensor,
        extend_meta: Plan,
        draft_kv: list[Tensor],
        candidate: Tensor,
        weight: Tensor,
        hidden: Tensor,
    ) -> None:
        before = rows_hidden.to(self.model.dtype)
        after = self.model.nextn(before, accepted.clamp(min=0), extend_meta, draft_kv)
        last = (count_of(accepted) - 1).unsqueeze(2).expand(-1, 1, after.shape[-1])
        newest = after.gather(1, last)[:, 0]  # the head runs on the last accepted row only
        hidden.copy_(newest)
        tokens, weights = self.likeliest(newest, self.most)
        candidate.copy_(tokens)
        weight.copy_(weights)

    # Before the first round

    def drafted(self, hidden: Tensor) -> dict[str, Tensor]:
        tokens, weights = self.likeliest(hidden, self.most)
        return {"candidate": tokens, "weight": weights}

