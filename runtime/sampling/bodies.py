"""Bodies of a round's `accept`, of what is told of it, and of phases that draft, for requests that each
sample as they ask.

They hold nothing and read nothing back, so captures can hold them. A request that has committed n tokens
to the cache has a bonus token at position n: the row of a node at depth d chooses for n + d + 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from plait.runtime.sampling import logprobs as log
from plait.runtime.sampling.choosing import chosen
from plait.runtime.sampling.counter import DRAFT
from plait.runtime.sampling.filtering import Ranked, kept, ranked
from plait.runtime.sampling.following import follow_chain, follow_tree
from plait.runtime.sampling.rejecting import reject_tree

REPORTED = ("logprobs", "top_tokens")


def accept_chain(
    logits: Tensor,
    tree: Tensor,
    seq_lens: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    seed: Tensor,
    accepted: Tensor,
    bonus: Tensor,
    logprobs: Tensor | None = None,
    top_tokens: Tensor | None = None,
) -> None:
    """`logprobs` is of the accepted token and of the `top_tokens` of each row."""
    ranks = ranked(logits)
    weights = kept(ranks, temperature, top_k, top_p)
    position = seq_lens.unsqueeze(1) + _from_one(tree)
    found = follow_chain(chosen(weights, seed.unsqueeze(1), position), tree)
    found.commit(seq_lens, accepted, bonus)
    if logprobs is not None and top_tokens is not None:
        _report(logits, ranks, found.tokens, logprobs, top_tokens)


def publish(accepted: Tensor, out_tokens: Tensor, **reported: Tensor) -> None:
    """Of a round that reports log probabilities, those too: each `out_` what is read by its name."""
    out_tokens.copy_(accepted)
    for name in REPORTED:
        if name in reported:
            reported[f"out_{name}"].copy_(reported[name])


def draft(
    logits: Tensor,
    position: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    seed: Tensor,
    draw: int = DRAFT,
) -> Tensor:
    """One token for each request, at a position, of `logits` `[requests, vocab]`.

    Drawn as DRAFT for `accept_drawn`; as TARGET it is a good guess at what the target will choose.
    """
    return chosen(kept(ranked(logits), temperature, top_k, top_p), seed, position, draw)


class DrawnTree:
    """Trees of one shape, which is settled before anything is drawn, as rejection needs it.

    `parents` has the number of each node's parent, none lower than that before; -1 for the root, node 0.
    """

    def __init__(self, parents: list[int]):
        if (
            parents[:1] != [-1]
            or parents != sorted(parents)
            or not all(0 <= parent < node for node, parent in enumerate(parents) if node)
        ):
            raise ValueError(
                f"parents = {parents}: node 0 is the root, of parent -1; each other node stands behind "
                "its parent, and behind the children of lower ones"
            )
        depth = [0] * len(parents)
        for node, parent in enumerate(parents[1:], 1):
            depth[node] = depth[parent] + 1
        self.parents = torch.tensor(parents)
        self.depth = torch.tensor(depth)
        self.levels = max(depth)
        self._families: list[list[tuple[int, list[int]]]] = [[] for _ in range(self.levels + 1)]
        for parent in sorted(set(parents[1:])):
            nodes = [node for node, above in enumerate(parents) if above == parent]
            self._families[depth[parent] + 1].append((parent, nodes))

    def families(self, depth: int) -> list[tuple[int, list[int]]]:
        """Nodes of that depth by their parent; their numbers follow each other."""
        return self._families[depth]

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        seq_lens: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        top_p: Tensor,
        seed: Tensor,
        accepted: Tensor,
        bonus: Tensor,
    ) -> None:
        """By following: whatever is drafted, and however."""
        weights = kept(ranked(logits), temperature, top_k, top_p)
        target = chosen(weights, seed.unsqueeze(1), self._positions(seq_lens))
        found = follow_tree(target, tree, self.parents.expand_as(tree), self.levels)
        found.commit(seq_lens, accepted, bonus)

    def accept_drawn(
        self,
        logits: Tensor,
        draft_logits: Tensor,
        tree: Tensor,
        seq_lens: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        top_p: Tensor,
        seed: Tensor,
        accepted: Tensor,
        bonus: Tensor,
    ) -> None:
        """By rejection: each node's children were drawn of its `draft_logits`, `[requests, nodes, vocab]`."""
        weights = kept(ranked(logits), temperature, top_k, top_p)
        drafted = kept(ranked(draft_logits), temperature, top_k, top_p)
        parents, position = self.parents.expand_as(tree), self._positions(seq_lens)
        found = reject_tree(weights, drafted, tree, parents, seed, position)
        found.commit(seq_lens, accepted, bonus)

    def _positions(self, seq_lens: Tensor) -> Tensor:
        return seq_lens.unsqueeze(1) + self.depth + 1


def chain_of(rows: int) -> DrawnTree:
    """A chain is a tree in which each node has one child."""
    return DrawnTree(list(range(-1, rows - 1)))


def _report(
    logits: Tensor, ranks: Ranked, tokens: Tensor, logprobs: Tensor, top_tokens: Tensor
) -> None:
    most = top_tokens.shape[-1]
    logprobs.copy_(log.of_both(logits, ranks, tokens, most))
    top_tokens.copy_(ranks.tokens[..., :most])


def _from_one(tree: Tensor) -> Tensor:
    return torch.arange(1, tree.shape[1] + 1, device=tree.device)
