"""Logits of the next token by the last one alone: the target's table, and the drafter's, which errs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TableModel:
    target: Tensor
    """`[vocab, vocab]`: of the next token, for each last one."""
    drafter: Tensor

    @property
    def vocab(self) -> int:
        return self.target.shape[0]


def drawn_tables(vocab: int, seed: int, apart: float = 1.0) -> TableModel:
    """Tables of random logits; the drafter's differ from the target's by so many standard deviations."""
    generator = torch.Generator().manual_seed(seed)
    target, error = torch.randn(2, vocab, vocab, generator=generator)
    return TableModel(target, target + apart * error)
