"""The two ways the tiny model computes: `f32` for speed, `exact` for bits that never change.

In `exact`, everything is float64 and every input of a sum is first rounded to a fixed-point grid, so
that all sums of the model fit in 53 bits and are exact. Then the order of a sum cannot matter, and
neither can shape, batch, padding, kernel, thread count or rank count: decoding one row at a time and
verifying three give the same bits. Rounding to multiples of 2^-k is (x + C) - C with C = 1.5 * 2^(52-k).

The bounds it stands on, for |x| < 2^8, |w| < 2^2 and sums of at most 1024 terms: an activation on the
2^-14 grid has 22 bits and a weight 16, a product 38, a sum of 256 products 46; a probability on the
2^-20 grid has 20 bits and a latent 22, a sum over 1024 positions 52. Activations on the grid also fit
a float32 without loss (22 of 24 bits), so buffers between phases may be float32 in both modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

Mode: TypeAlias = Literal["f32", "exact"]

GRID_BITS = 14
FINE_BITS = 20
"""For numbers below 1 that many small ones are summed from: probabilities, gated hidden values."""
LARGEST_ACTIVATION = 2.0**8
LARGEST_WEIGHT = 2.0**2
NORM_EPSILON = 1e-5


class BoundError(ArithmeticError):
    """A number is outside the bounds that exact sums stand on."""


@dataclass(frozen=True)
class Arithmetic:
    mode: Mode
    checked: bool = False
    """Whether every rounded activation is held against its bound. For tests: it reads values."""

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32 if self.mode == "f32" else torch.float64

    def matrix(self, tensor: Tensor) -> Tensor:
        """A weight `[out, in]` as `linear` wants it. Raises BoundError."""
        return self.weight(tensor).t().contiguous()

    def weight(self, tensor: Tensor) -> Tensor:
        """A weight as the model uses it. Raises BoundError."""
        value = tensor.to(self.dtype)
        if self.mode == "f32":
            return value.contiguous()
        value = _rounded(value, GRID_BITS).contiguous()
        _within(value, LARGEST_WEIGHT, "a weight")
        return value

    def grid(self, x: Tensor) -> Tensor:
        """An activation on the grid, where there is one."""
        if self.mode == "f32":
            return x
        if self.checked:
            _within(x, LARGEST_ACTIVATION, "an activation")
        return _rounded(x, GRID_BITS)

    def fine(self, x: Tensor) -> Tensor:
        """A number that is summed many times, on the fine grid, where there is one."""
        if self.mode == "f32":
            return x
        if self.checked:
            _within(x, LARGEST_ACTIVATION, "a value")
        return _rounded(x, FINE_BITS)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        """`x[..., in] @ weight[in, out]`. Weights lie that way round: for one to three rows, which is
        what decoding and verifying have, it is the quicker one by up to a third."""
        return self.grid(torch.matmul(x, weight))

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.mode == "f32":
            return F.rms_norm(x, (x.shape[-1],), weight, NORM_EPSILON)
        mean = x.square().sum(-1, keepdim=True) / x.shape[-1]
        return self.grid(x * torch.rsqrt(mean + NORM_EPSILON) * weight)

    def softmax(self, scores: Tensor) -> Tensor:
        if self.mode == "f32":
            return scores.softmax(-1)
        power = self.fine((scores - scores.amax(-1, keepdim=True)).exp())
        return self.fine(power / power.sum(-1, keepdim=True))


def _rounded(x: Tensor, bits: int) -> Tensor:
    shift = 1.5 * 2.0 ** (52 - bits)
    return (x + shift) - shift


def _within(x: Tensor, bound: float, what: str) -> None:
    largest = x.abs().max().item() if x.numel() else 0.0
    if not largest < bound:  # a NaN is outside too
        raise BoundError(f"{what} of {largest:g} is not below {bound:g}, so sums are not exact")
