"""What the networks are made of that training sees."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plait.runtime.models.arithmetic import NORM_EPSILON


class Norm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, NORM_EPSILON)


def matrix(*sizes: int) -> nn.Parameter:
    """A matrix, or a stack of them, scaled by its inner size (the last)."""
    return nn.Parameter(torch.randn(*sizes) / math.sqrt(sizes[-1]))
