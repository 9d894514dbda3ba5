"""How long a training is, on how much at a time, and how fast it learns."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

LAST_RATE = 0.02
"""Of the peak, reached by a half cosine on the last step."""
HELD_OUT_WINDOWS = 48
"""What is evaluated, always the same ones."""


@dataclass(frozen=True)
class Plan:
    steps: int
    batch: int = 4
    length: int = 512
    """Tokens of one sequence."""
    warm_up: int = 50
    seed: int = 1234

    def rate(self, step: int) -> float:
        """Share of the peak learning rate at a step."""
        cosine = 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return min(1.0, (step + 1) / self.warm_up) * (LAST_RATE + (1 - LAST_RATE) * cosine)

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    def batch_of(self, tokens: Tensor, ahead: int, generator: torch.Generator) -> Tensor:
        """Sequences out of a corpus `i64[n]`, each with the `ahead` tokens behind it."""
        width = self.length + ahead
        start = torch.randint(0, len(tokens) - width + 1, (self.batch, 1), generator=generator)
        return tokens[start + torch.arange(width)]

    def held_out(self, tokens: Tensor, ahead: int) -> list[Tensor]:
        """Batches to evaluate on."""
        generator = torch.Generator().manual_seed(99)
        return [
            self.batch_of(tokens, ahead, generator) for _ in range(0, HELD_OUT_WINDOWS, self.batch)
        ]
