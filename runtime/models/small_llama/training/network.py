"""The small Llama as training sees it: whole sequences, gradients, no cache."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plait.runtime.models.rotary import rotate, rotation_table
from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.training.parts import Norm, matrix


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.norm = Norm(shape.hidden)
        self.query = matrix(shape.heads * shape.head, shape.hidden)
        self.key = matrix(shape.key_heads * shape.head, shape.hidden)
        self.value = matrix(shape.key_heads * shape.head, shape.hidden)
        self.out = matrix(shape.hidden, shape.heads * shape.head)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        x = self.norm(x)

        def heads(weight: Tensor) -> Tensor:
            return F.linear(x, weight).view(batch, length, -1, self.shape.head).transpose(1, 2)

        mixed = F.scaled_dot_product_attention(
            rotate(heads(self.query), cos, sin),
            rotate(heads(self.key), cos, sin).repeat_interleave(self.shape.group, 1),
            heads(self.value).repeat_interleave(self.shape.group, 1),
            is_causal=True,
        )
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, -1), self.out)


class Gated(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.norm = Norm(shape.hidden)
        self.up = matrix(2 * shape.gated, shape.hidden)
        self.down = matrix(shape.hidden, shape.gated)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = F.linear(self.norm(x), self.up).chunk(2, -1)
        return F.linear(F.silu(gate) * value, self.down)


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.attention = Attention(shape)
        self.gated = Gated(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(x, cos, sin)
        return x + self.gated(x)


class Network(nn.Module):
    """Parameter names are the checkpoint's names."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.embed = nn.Parameter(torch.randn(shape.vocab, shape.hidden) * 0.08)
        layers = [Layer(shape) for _ in range(shape.layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = Norm(shape.hidden)
        self.head = nn.Parameter(torch.randn(shape.vocab, shape.hidden) * 0.08)
        cos, sin = rotation_table(shape.context, shape.rope)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        with torch.no_grad():  # so that a fresh layer adds little to the residual stream
            for layer in layers:
                layer.attention.out.mul_(0.4)
                layer.gated.down.mul_(0.4)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens `i64[batch, length]` to logits `f32[batch, length, vocab]`."""
        length = tokens.shape[1]
        x = F.embedding(tokens, self.embed)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return F.linear(self.norm(x), self.head)
