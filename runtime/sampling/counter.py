"""Random numbers by what they are for: a hash of a seed, a position and whatever else tells two apart.

No state is carried and nothing else goes in, so a number is the same whatever shares the batch, and in a
graph: it is made of whole-number operations on tensors, which wrap at 64 bits. The mixing steps are
those of SplitMix64.
"""

from __future__ import annotations

import torch
from torch import Tensor

TARGET = 0
"""The draw that chooses a token from the target's distribution."""
DRAFT = 1
"""That which drafts one from the drafter's."""
ACCEPT = 2
"""That which decides whether a drafted token is accepted."""
RESIDUAL = 3
"""That which chooses where none was."""

_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_FRACTION = 52
"""Bits of a number between 0 and 1: half a step more is still a double, so that neither end is met."""


def bits(seed: Tensor, *names: Tensor | int) -> Tensor:
    """64 random bits for each combination of whole numbers, which are broadcast."""
    state = _mixed(seed + _STEP)
    for name in names:
        state = _mixed((state ^ name) + _STEP)
    return state


def uniform(random: Tensor) -> Tensor:
    """Bits as doubles between 0 and 1, both left out."""
    return (_shifted(random, 64 - _FRACTION).double() + 0.5) * 2.0**-_FRACTION


def exponential(seed: Tensor, position: Tensor, draw: int, vocab: int) -> Tensor:
    """`[..., vocab]`: of each token a number above 0, exponentially distributed."""
    tokens = torch.arange(vocab, device=seed.device)
    return -torch.log(uniform(bits(seed.unsqueeze(-1), position.unsqueeze(-1), draw, tokens)))


def _mixed(state: Tensor) -> Tensor:
    state = (state ^ _shifted(state, 30)) * _FIRST
    state = (state ^ _shifted(state, 27)) * _SECOND
    return state ^ _shifted(state, 31)


def _shifted(state: Tensor, by: int) -> Tensor:
    """To the right, with zeros from the left, which `>>` of signed numbers has not."""
    return (state >> by) & ((1 << (64 - by)) - 1)
