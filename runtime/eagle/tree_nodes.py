"""A draft tree as tensors: how it grows, which of its nodes are verified, and who stands above whom.

Node 0 is the root, the last committed token; the candidates are 1, 2, ... step by step, those of one step
branch by branch. So a node's number is above that of the node it hangs on, and its score, the product of
the draft's probabilities down to it, is never above that one's: the best nodes always hang together.
"""

from __future__ import annotations

import torch
from torch import Tensor


def grown(scores: Tensor, weights: Tensor) -> Tensor:
    """Scores of what is hung on the nodes of a beam, `[B, K * K]`: theirs `[B, K]` times `weights` `[B, K, K]`."""
    return (scores.unsqueeze(2) * weights).flatten(1)


def best(last: Tensor, count: int) -> Tensor:
    """Places of the best of the newest step's scores, `i64[B, count]`, the best first; of equals the first."""
    return last.sort(dim=1, descending=True, stable=True).indices[:, :count]


def chosen(scores: Tensor, count: int) -> Tensor:
    """Candidates to verify, `i64[B, count]` from 0, in the order of their numbers."""
    return best(scores, count).sort(dim=1).values


def parents(chosen: Tensor, above: Tensor) -> Tensor:
    """Of each verified node the one it hangs on, `i64[B, D]`, both by place; the root hangs on itself.

    `above` has the number of that node for every candidate.
    """
    number = above.gather(1, chosen)
    place = (chosen.unsqueeze(1) < number.unsqueeze(2)).sum(2)
    return torch.cat([torch.zeros_like(place[:, :1]), place], 1)


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


def agreed(tree: Tensor, wanted: Tensor, ancestors: Tensor) -> tuple[Tensor, Tensor]:
    """The longest path of tokens that the target would have chosen: its length and its places.

    `tree` are the tokens and `wanted` what the target chooses behind each, `i64[B, D]`. The length,
    `i64[B, 1]`, counts the root; places, `i64[B, D]`, are in the order of depth and, behind the length, a
    row's own. Siblings have different tokens, so there is one such path.
    """
    rows = tree.shape[1]
    own = torch.arange(rows)
    depth = depths(ancestors)
    # The deepest node above: whoever is on a node's path, less itself, and has the largest number.
    above = (ancestors & ~torch.eye(rows, dtype=torch.bool)) * own
    fits = tree == wanted.gather(1, above.amax(2))
    fits[:, 0] = True
    holds = (fits.unsqueeze(1) | ~ancestors).all(2)
    length = holds.sum(1, keepdim=True)
    at = (holds.unsqueeze(1) & (depth.unsqueeze(1) == own.view(1, -1, 1))) * own
    return length, torch.where(own < length, at.amax(2), own)
