"""The small Llama for inference: a target that verifies, and nothing that drafts."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.arithmetic import Arithmetic
from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.plan import Planner
from plait.runtime.models.rotary import rotation_table
from plait.runtime.models.small_llama.layer import Layer
from plait.runtime.models.small_llama.shape import Shape


class SmallLlama:
    """Stateless: caches and plans are handed in. Rows of a request are consecutive positions."""

    def __init__(self, shape: Shape, weights: Mapping[str, Tensor], arithmetic: Arithmetic):
        self.shape = shape
        self.arithmetic = arithmetic
        self.embed = arithmetic.weight(weights["embed"])
        self.layers = [
            Layer(shape, arithmetic, weights, f"layers.{number}") for number in range(shape.layers)
        ]
        self.norm = arithmetic.weight(weights["norm.weight"])
        self.head = arithmetic.matrix(weights["head"])

    @property
    def dtype(self) -> torch.dtype:
        return self.arithmetic.dtype

    def planner(self, span: int) -> Planner:
        """For caches of `span` positions."""
        cos, sin = rotation_table(span, self.shape.rope, self.dtype)
        return Planner(self.arithmetic.grid(cos), self.arithmetic.grid(sin))

    def target_cache(self, slots: int, span: int) -> list[Tensor]:
        """Of every layer a cache `[slots, span, cached]`; or of pages, `[pages, size, cached]`."""
        return [torch.zeros(slots, span, self.shape.cached, dtype=self.dtype) for _ in self.layers]

    def target(self, tokens: Tensor, plan: AnyPlan, cache: list[Tensor]) -> Tensor:
        """Tokens `i64[B, R]` to hidden states `[B, R, hidden]`; updates the caches."""
        x = F.embedding(tokens, self.embed)
        for layer, slots in zip(self.layers, cache, strict=True):
            x = layer(x, plan, slots)
        return x

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states `[..., hidden]` to logits `[..., vocab]`."""
        return self.arithmetic.linear(self.arithmetic.norm(hidden, self.norm), self.head)
