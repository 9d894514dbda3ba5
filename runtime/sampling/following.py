"""Accepting by following: each row has a token of the target's, and a drafted one is accepted if it is that.

What is kept are the target's tokens alone, whatever was drafted: sampled by seed and position they are
those of plain decoding, one for one. For a drafter that draws nothing this is rejection sampling.
"""

from __future__ import annotations

import torch
from torch import Tensor

from plait.runtime.sampling.accepted import NOT_ACCEPTED, Accepted, along


def follow_chain(target: Tensor, tokens: Tensor) -> Accepted:
    """`tokens` `[requests, rows]`: the root and what was drafted; `target`: what each row says comes next."""
    agreed = (target[:, :-1] == tokens[:, 1:]).cumprod(1).sum(1)
    place = torch.arange(tokens.shape[1], device=tokens.device)
    behind = place > agreed.unsqueeze(1)
    return Accepted(
        target.masked_fill(behind, NOT_ACCEPTED),
        place.expand_as(tokens).masked_fill(behind, NOT_ACCEPTED),
        agreed + 1,
        target.gather(1, agreed.unsqueeze(1))[:, 0],
    )


def follow_tree(target: Tensor, tokens: Tensor, parents: Tensor, levels: int) -> Accepted:
    """The same from the root down so many levels.

    `parents` are numbers of nodes, each lower than its child's; the root's is none of theirs.
    """
    place = torch.arange(tokens.shape[1], device=tokens.device)
    at = torch.zeros_like(tokens[:, :1])
    passed = (place == 0).expand_as(tokens)
    for _ in range(levels):
        next = (parents == at) & (tokens == target.gather(1, at)) & (place > 0)
        at = torch.where(next.any(1, keepdim=True), next.long().argmax(1, keepdim=True), at)
        passed = passed | (place == at)
    return along(passed, tokens, target.gather(1, at)[:, 0])
