"""Choosing tokens by weights: a race that the heavier finish sooner, in times of a seed and a position.

Two distributions that are much alike are so chosen from alike: a drafter that uses the target's own
draw is agreed with more often than by its likeliest token, and what is chosen is no less the target's.
"""

from __future__ import annotations

from torch import Tensor

from plait.runtime.sampling.counter import TARGET, exponential


def chosen(weights: Tensor, seed: Tensor, position: Tensor, draw: int = TARGET) -> Tensor:
    """One token for each row of weights `[..., vocab]`; seed and position are those of each row."""
    return _speed(weights, seed, position, draw).argmax(-1)


def children(weights: Tensor, seed: Tensor, position: Tensor, count: int, draw: int) -> Tensor:
    """So many different tokens for each row, as if drawn one after the other without putting back."""
    return _speed(weights, seed, position, draw).topk(count, -1).indices


def _speed(weights: Tensor, seed: Tensor, position: Tensor, draw: int) -> Tensor:
    return weights / exponential(seed, position, draw, weights.shape[-1])
