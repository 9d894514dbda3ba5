"""Rotary positions."""

from __future__ import annotations

import torch
from torch import Tensor

BASE = 10000.0


def rotation_table(
    length: int, width: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Cosines and sines `[length, width / 2]`, computed in float64 whatever they are kept in."""
    frequency = BASE ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates pairs (i, i + width / 2) of the last axis."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
