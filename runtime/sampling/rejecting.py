"""Accepting by rejection: drafted tokens that were drawn from the drafter's own distribution.

A token x of probability q(x) is accepted with min(1, p(x) / q(x)); if it is not, p becomes what p has
above q, and the next sibling, drawn from q without x, is tried against that. What comes out has the
target's distribution, whatever q is, as long as which nodes there are does not depend on what was drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from plait.runtime.sampling.accepted import Accepted, along
from plait.runtime.sampling.choosing import chosen
from plait.runtime.sampling.counter import ACCEPT, RESIDUAL, bits, uniform


def reject_tree(
    target: Tensor,
    draft: Tensor,
    tokens: Tensor,
    parents: Tensor,
    seed: Tensor,
    position: Tensor,
) -> Accepted:
    """From the root down, siblings in the order of their numbers.

    `target` and `draft` are weights `[requests, nodes, vocab]`: of what comes after each node, and
    what its children were drawn from without putting back (of a node without any: whatever).
    `position` `[requests, nodes]` is that of what comes after. `parents`: see `follow_tree`.
    """
    nodes = tokens.shape[1]
    place = torch.arange(nodes, device=tokens.device)
    wanted, offered = _one(target), _one(draft)
    at = torch.zeros_like(tokens[:, 0])
    passed = (place == 0).expand_as(tokens)
    p, q = wanted[:, 0], offered[:, 0]
    for node in range(1, nodes):
        token = tokens[:, node : node + 1]
        here = position.gather(1, at.unsqueeze(1))[:, 0]
        luck = uniform(bits(seed, here, ACCEPT, node))
        share = q.gather(1, token)[:, 0]
        tried = (parents[:, node] == at) & (share > 0)
        taken = tried & _accepts(luck, p.gather(1, token)[:, 0], share)
        refused = (tried & ~taken).unsqueeze(1)
        p = torch.where(refused, _residual(p, q), p)
        q = torch.where(refused, _without(q, token), q)
        taken = taken.unsqueeze(1)
        p = torch.where(taken, wanted[:, node], p)
        q = torch.where(taken, offered[:, node], q)
        at = torch.where(taken[:, 0], node, at)
        passed = passed | (taken & (place == node))
    here = position.gather(1, at.unsqueeze(1))[:, 0]
    return along(passed, tokens, chosen(p, seed, here, RESIDUAL))


def _accepts(luck: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """With min(1, p / q)."""
    return luck * q < p


def _residual(p: Tensor, q: Tensor) -> Tensor:
    """What is left of p when q has been refused; if that is nothing, they are equal but for rounding."""
    left = (p - q).clamp(min=0.0)
    return torch.where(left.sum(-1, keepdim=True) > 0, _one(left), p)


def _without(q: Tensor, token: Tensor) -> Tensor:
    return _one(q.scatter(1, token, 0.0))


def _one(weights: Tensor) -> Tensor:
    """Made to add up to 1, unless all are 0."""
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)
