"""Muon: momentum made orthogonal, for the matrices of a network.

Keller Jordan's optimiser; the five Newton-Schulz steps and their coefficients are from
https://kellerjordan.github.io/posts/muon/. Matrices of one shape share one batched iteration.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


def orthogonalise(stack: Tensor) -> Tensor:
    """Every matrix of `[n, rows, columns]` to the nearest one with singular values near 1."""
    tall = stack.shape[-2] > stack.shape[-1]
    x = stack.mT if tall else stack
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if tall else x


class Muon:
    def __init__(self, parameters: Iterable[Tensor], momentum: float = 0.95, decay: float = 0.05):
        self.momentum = momentum
        self.decay = decay
        self.groups: dict[tuple[int, int], list[Tensor]] = {}
        for parameter in parameters:
            self.groups.setdefault((parameter.shape[-2], parameter.shape[-1]), []).append(parameter)
        self.average = {p: torch.zeros_like(p) for group in self.groups.values() for p in group}

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for (rows, columns), parameters in self.groups.items():
            nudges = []
            for parameter in parameters:
                average, gradient = self.average[parameter], parameter.grad
                assert gradient is not None
                average.mul_(self.momentum).add_(gradient)
                nudges.append((gradient + self.momentum * average).reshape(-1, rows, columns))
            update = orthogonalise(torch.cat(nudges)) * max(1.0, rows / columns) ** 0.5
            start = 0
            for parameter in parameters:
                count = parameter.numel() // (rows * columns)
                change = update[start : start + count].reshape(parameter.shape)
                parameter.mul_(1 - rate * self.decay).add_(change, alpha=-rate)
                start += count
