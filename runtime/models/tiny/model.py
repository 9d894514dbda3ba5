"""The tiny model for inference: the target, its NextN head, and the parts both are made of."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.arithmetic import Arithmetic
from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.plan import Planner
from plait.runtime.models.rotary import rotation_table
from plait.runtime.models.tiny.layer import Layer
from plait.runtime.models.tiny.shape import Shape


class TinyModel:
    """Stateless: caches and plans are handed in. Rows of a request are consecutive positions."""

    def __init__(self, shape: Shape, weights: Mapping[str, Tensor], arithmetic: Arithmetic):
        self.shape = shape
        self.arithmetic = arithmetic
        self.embed = arithmetic.weight(weights["embed"])
        self.head = arithmetic.matrix(weights["embed"])
        self.layers = [
            Layer(shape, arithmetic, weights, f"layers.{number}") for number in range(shape.layers)
        ]
        self.norm = arithmetic.weight(weights["norm.weight"])
        self.nextn_hidden_norm = arithmetic.weight(weights["nextn.hidden_norm.weight"])
        self.nextn_token_norm = arithmetic.weight(weights["nextn.token_norm.weight"])
        self.nextn_project = arithmetic.matrix(weights["nextn.project"])
        self.nextn_layer = Layer(shape, arithmetic, weights, "nextn.layer")

    @property
    def dtype(self) -> torch.dtype:
        return self.arithmetic.dtype

    def planner(self, span: int) -> Planner:
        """For caches of `span` positions."""
        cos, sin = rotation_table(span, self.shape.rope, self.dtype)
        return Planner(self.arithmetic.grid(cos), self.arithmetic.grid(sin))

    def target_cache(self, slots: int, span: int) -> list[Tensor]:
        """A latent cache `[slots, span, cached]` for every layer of the target."""
        return [self.nextn_cache(slots, span)[0] for _ in self.layers]

    def nextn_cache(self, slots: int, span: int) -> list[Tensor]:
        """The cache of the NextN layer, as a list of one."""
        return [torch.zeros(slots, span, self.shape.cached, dtype=self.dtype)]

    def tokens(self, tokens: Tensor) -> Tensor:
        """Token ids to embeddings `[..., hidden]`."""
        return F.embedding(tokens, self.embed)

    def target(self, tokens: Tensor, plan: AnyPlan, cache: list[Tensor]) -> Tensor:
        """Tokens `i64[B, R]` to hidden states `[B, R, hidden]`; updates the first B slots."""
        x = self.tokens(tokens)
        for layer, slots in zip(self.layers, cache, strict=True):
            x = layer(x, plan, slots)
        return x

    def nextn(self, hidden: Tensor, tokens: Tensor, plan: AnyPlan, cache: list[Tensor]) -> Tensor:
        """The hidden state at a position and the token after it to that of one position further.

        `hidden` is `[B, R, hidden]`, `tokens` `i64[B, R]`; updates the first B slots.
        """
        return self.nextn_layer(self.nextn_input(hidden, tokens), plan, cache[0])

    def nextn_input(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """What the layer of NextN gets, `[..., hidden]`."""
        a = self.arithmetic
        both = [
            a.norm(hidden, self.nextn_hidden_norm),
            a.norm(self.tokens(tokens), self.nextn_token_norm),
        ]
        return a.linear(torch.cat(both, -1), self.nextn_project)

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states `[..., hidden]` to logits `[..., vocab]`."""
        return self.arithmetic.linear(self.arithmetic.norm(hidden, self.norm), self.head)
