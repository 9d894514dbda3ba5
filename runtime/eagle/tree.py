"""The phases of a tree round on the tiny model: K candidates a step, S steps, D nodes verified.

A request that has committed n tokens to the target's cache has a bonus token at position n: the root. The
last extend left the likeliest tokens for position n + 1; each further step runs NextN on a beam of the K
best nodes of the step before and hangs K candidates on each. One round then:

    draft     S steps, S - 1 of them NextN forwards of K rows; the D - 1 best nodes of all are chosen
    verify    the target on root and nodes, each at its depth, seeing its ancestors alone
    accept    the longest path that the target would have chosen, and one token of its own behind it
    extend    that path's rows brought together, and NextN on them: the candidates of the next round

Of the target's cache a round uses n ... n + D - 1, a node a position, of NextN's n ... n + (S - 1) K - 1:
a request needs pages for that many positions behind its last.
With K = 1 this is a chain, and with S = 0 it is plain decoding: the root alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle import tree_nodes
from plait.runtime.eagle.chain import count_of
from plait.runtime.eagle.paged_chain import PagedChain
from plait.runtime.eagle.tree_plan import fill, plan_of
from plait.runtime.models.paged import PagedPlan
from plait.runtime.sampling import logprobs as log
from plait.runtime.sampling.choosing import chosen as drawn
from plait.runtime.sampling.filtering import Ranked, kept, ranked
from plait.runtime.sampling.following import follow_tree


class PagedTree:
    """Bodies and opaque buffers; what is not of a tree is the chain's, as many rows are verified.

    It is a tree of `steps`, and `most` candidates are carried.
    """

    def __init__(self, chain: PagedChain, steps: int, most: int):
        self.chain = chain
        self.memory = chain.memory
        self.model = chain.memory.model
        self.paged = chain.paged
        self.steps = steps
        self.most = most
        self.rope = self.model.shape.rope
        self._along = torch.arange(chain.rows)

    def bodies(self) -> dict[str, Callable[..., None]]:
        """By phase name; `commit` belongs to whoever takes the tokens."""
        return self.chain.bodies() | {
            "first": self.first,
            "spread": self.spread,
            "descend": self.descend,
            "nextn": self.nextn,
            "choose": self.choose,
            "build_tree": self.build_tree,
            "only_root": self.only_root,
            "plan_verify": self.plan_verify,
            "accept": self.accept,
            "compact": self.compact,
            "nextn_extend": self.nextn_extend,
        }

    def opaque(self) -> dict[str, Any]:
        return self.chain.opaque()

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
        nodes, branches = tree_nodes.beam(last, index - 1, topk)
        branch = branches.unsqueeze(2)
        beam.copy_(nodes)
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
        pages: Tensor,
        beam_hidden: Tensor,
        draft_kv: list[Tensor],
        tokens: Tensor,
        scores: Tensor,
        above: Tensor,
        index: int,
    ) -> None:
        topk = beam.shape[1]
        start, first = seq_lens.unsqueeze(1), (index - 1) * topk
        plan = plan_of(self.paged, self.rope, start, first, index - 1, seen, pages)
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
        parents: Tensor,
        ancestors: Tensor,
    ) -> None:
        torch.cat([bonus.unsqueeze(1), tokens.gather(1, chosen)], 1, out=tree)
        parents.copy_(tree_nodes.parents(chosen, above))
        ancestors.copy_(tree_nodes.ancestors(parents))

    def only_root(self, bonus: Tensor, tree: Tensor, parents: Tensor, ancestors: Tensor) -> None:
        tree.copy_(bonus.unsqueeze(1))
        parents.fill_(tree_nodes.NOBODY)
        ancestors.fill_(True)

    # Verify

    def plan_verify(
        self, ancestors: Tensor, seq_lens: Tensor, pages: Tensor, verify_meta: PagedPlan
    ) -> None:
        start, depths = seq_lens.unsqueeze(1), tree_nodes.depths(ancestors)
        fill(verify_meta, plan_of(self.paged, self.rope, start, 0, depths, ancestors, pages))

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        parents: Tensor,
        ancestors: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        top_p: Tensor,
        seed: Tensor,
        seq_lens: Tensor,
        accepted: Tensor,
        bonus: Tensor,
        path: Tensor,
        logprobs: Tensor,
        top_tokens: Tensor,
    ) -> None:
        ranks = ranked(logits) if self.chain.captured or self.memory.requests.sampling else None
        if ranks is not None:
            weights = kept(ranks, temperature, top_k, top_p)
            position = seq_lens.unsqueeze(1) + tree_nodes.depths(ancestors) + 1
            wanted = drawn(weights, seed.unsqueeze(1), position)
        else:
            wanted = logits.argmax(-1)
        found = follow_tree(wanted, tree, parents, self.steps)
        found.commit(seq_lens, accepted, bonus)
        path.copy_(torch.where(found.path < 0, self._along, found.path))
        if ranks is not None:
            most = top_tokens.shape[2]
            passed = Ranked(*(tree_nodes.in_order(path, part) for part in ranks))
            logprobs[..., 0] = log.of_tokens(
                tree_nodes.in_order(path, logits), passed, found.tokens
            )
            logprobs[..., 1:] = log.of_likeliest(passed, most)
            top_tokens.copy_(passed.tokens[..., :most])

    # Extend

    def compact(
        self,
        path: Tensor,
        accepted: Tensor,
        seq_lens: Tensor,
        pages: Tensor,
        target_kv: list[Tensor],
        rows_hidden: Tensor,
    ) -> None:
        """NextN's cache needs none of it: extending writes the path anew, from the target's states."""
        start = seq_lens.unsqueeze(1) - count_of(accepted)
        out_of = self._places(start + path, pages)
        into = self._places(start + self._along, pages)
        for cache in target_kv:
            entries = cache.flatten(0, 1)
            entries.index_copy_(0, into, entries.index_select(0, out_of))
        rows_hidden.copy_(tree_nodes.in_order(path, rows_hidden))

    def _places(self, positions: Tensor, pages: Tensor) -> Tensor:
        positions = positions.clamp(0, self.paged.span - 1)
        return self.paged.places(positions, pages)

    def nextn_extend(
        self,
        accepted: Tensor,
        rows_hidden: Tensor,
        extend_meta: PagedPlan,
        draft_kv: list[Tensor],
        candidate: Tensor,
        weight: Tensor,
        hidden: Tensor,
    ) -> None:
        newest = self.chain.chain.extended(accepted, rows_hidden, extend_meta, draft_kv)
        hidden.copy_(newest)
        tokens, weights = self.likeliest(newest, self.most)
        candidate.copy_(tokens)
        weight.copy_(weights)

    # Before the first round

    def drafted(self, hidden: Tensor) -> dict[str, Tensor]:
        tokens, weights = self.likeliest(hidden, self.most)
        return {"candidate": tokens, "weight": weights}
