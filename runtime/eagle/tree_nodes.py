"""A draft tree as tensors: how it grows, which of its nodes are verified, and who stands above whom.

Node 0 is the root, the last committed token; the candidates are 1, 2, ... step by step, those of one step
branch by branch. So a node's number is above that of the node it hangs on, and its score, the product of
the draft's probabilities down to it, is never above that one's: the best nodes always hang together.
"""

from __future__ import annotations

import torch
from torch import Tensor

NOBODY = -1
"""Stands above the root."""


def grown(scores: Tensor, weights: Tensor) -> Tensor:
    """Scores of what is hung on a beam, `[B, K * K]`: of its nodes, `[B, K]`, times `weights` `[B, K, K]`."""
    return (scores.unsqueeze(2) * weights).flatten(1)


def best(last: Tensor, count: int) -> Tensor:
    """Places of the best of a step's scores, `i64[B, count]`, the best first; of equals the first."""
    return last.sort(dim=1, descending=True, stable=True).indices[:, :count]


def beam(last: Tensor, step: int, topk: int) -> tuple[Tensor, Tensor]:
    """Of the nodes of a step above 0 the best K, `i64[B, K]`, and the branch that each hangs on."""
    place = best(last, topk)
    return place + 1 + topk + (step - 1) * topk * topk, place // topk


def chosen(scores: Tensor, count: int) -> Tensor:
    """Candidates to verify, `i64[B, count]` from 0, in the order of their numbers."""
    return best(scores, count).sort(dim=1).values


def parents(chosen: Tensor, above: Tensor) -> Tensor:
    """Of each verified node the one it hangs on, `i64[B, D]`, both by place; the root's is NOBODY.

    `above` has the number of that node for every candidate.
    """
    number = above.gather(1, chosen)
    place = (chosen.unsqueeze(1) < number.unsqueeze(2)).sum(2)
    return torch.cat([torch.full_like(place[:, :1], NOBODY), place], 1)


def ancestors(parents: Tensor) -> Tensor:
    """Of each node those on its path, itself included, `bool[B, D, D]`: each turn doubles how far it sees."""
    places = torch.arange(parents.shape[1])
    near = (parents.unsqueeze(2) == places) | (places.unsqueeze(1) == places)
    found = near.float()
    for _ in range((parents.shape[1] - 1).bit_length()):
        found = torch.bmm(found, found).clamp(max=1)
    return found > 0


def depths(ancestors: Tensor) -> Tensor:
    """Steps from the root, `i64[B, D]`."""
    return ancestors.sum(2) - 1


def in_order(path: Tensor, rows: Tensor) -> Tensor:
    """Rows `[B, D, N]` in the order of a path, `i64[B, D]`."""
    return rows.gather(1, path.unsqueeze(2).expand(-1, -1, rows.shape[2]))
