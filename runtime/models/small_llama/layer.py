"""One decoder layer: grouped-query attention with rotary positions, then a gated hidden layer.

Shapes: B requests, R rows each, K heads of keys and G heads of queries that share one. The cache holds
of each token its rotated keys, and behind them its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.arithmetic import Arithmetic
from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.rotary import rotate
from plait.runtime.models.small_llama.shape import Shape


class Layer:
    def __init__(
        self, shape: Shape, arithmetic: Arithmetic, weights: Mapping[str, Tensor], prefix: str
    ):
        def weight(name: str) -> Tensor:
            return arithmetic.weight(weights[f"{prefix}.{name}"])

        def matrix(name: str) -> Tensor:
            return arithmetic.matrix(weights[f"{prefix}.{name}"])

        self.shape = shape
        self.arithmetic = arithmetic
        self.attention_norm = weight("attention.norm.weight")
        three = [matrix(f"attention.{name}") for name in ("query", "key", "value")]
        self.three = torch.cat(three, 1)
        self.out = matrix("attention.out")
        self.gated_norm = weight("gated.norm.weight")
        self.up = matrix("gated.up")
        self.down = matrix("gated.down")

    def __call__(self, x: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        """`x` is `[B, R, hidden]`; the cache is updated."""
        x = x + self.attention(x, plan, cache)
        return x + self.gated(x)

    def attention(self, x: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        s, a = self.shape, self.arithmetic
        batch, rows, _ = x.shape
        three = a.linear(a.norm(x, self.attention_norm), self.three)
        heads = three.view(batch, rows, s.heads + 2 * s.key_heads, s.head)
        turned, value = heads.split([s.heads + s.key_heads, s.key_heads], 2)
        cos, sin = plan.cos(s.rope).unsqueeze(2), plan.sin(s.rope).unsqueeze(2)
        turned = a.grid(rotate(turned, cos, sin))
        query, key = turned.split([s.heads, s.key_heads], 2)
        plan.write(cache, torch.cat([key, value], 2).flatten(2))

        span = plan.keys(cache).view(batch, -1, 2, s.key_heads, s.head)
        keys, values = span.permute(2, 0, 3, 1, 4)
        query = query.view(batch, rows, s.key_heads, s.group, s.head).transpose(1, 2).flatten(2, 3)
        scores = torch.matmul(query, keys.transpose(2, 3)) / math.sqrt(s.head)
        scores = scores.view(batch, s.key_heads, rows, s.group, -1)
        scores = scores + plan.mask(s.rope)[:, None, :, None]
        mixed = a.grid(torch.matmul(a.softmax(scores).flatten(2, 3), values))
        mixed = mixed.view(batch, s.key_heads, rows, s.group, s.head).transpose(1, 2)
        return a.linear(mixed.reshape(batch, rows, -1), self.out)

    def gated(self, x: Tensor) -> Tensor:
        a = self.arithmetic
        gate, value = a.linear(a.norm(x, self.gated_norm), self.up).chunk(2, -1)
        return a.linear(a.fine(F.silu(gate) * value), self.down)
