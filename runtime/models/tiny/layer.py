"""One decoder layer, part by part: each part is what a phase of a finer spec would be bound to.

    down ─┬─ key_value ── (cache) ─┐
          └─ query ────────────────┴─ attend ─┬─ shared_expert ──┬─ add
                                              └─ routed_experts ─┘

Shapes: B requests, R rows each, H heads. Activations are `[B, R, ...]`. The key and value
up-projections are absorbed into query and output, so the cache holds one latent a token.
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
from plait.runtime.models.tiny.shape import Shape


class Layer:
    def __init__(
        self, shape: Shape, arithmetic: Arithmetic, weights: Mapping[str, Tensor], prefix: str
    ):
        def weight(name: str) -> Tensor:
            return arithmetic.weight(weights[f"{prefix}.{name}"])

        self.shape = shape
        self.arithmetic = arithmetic
        self.attention_norm = weight("attention.norm.weight")

        def matrix(name: str) -> Tensor:
            return arithmetic.matrix(weights[f"{prefix}.{name}"])

        narrow = [matrix("attention.query_down"), matrix("attention.latent_down")]
        self.down_weight = torch.cat(narrow, 1)
        self.query_norm = weight("attention.query_norm.weight")
        self.query_up = matrix("attention.query_up")
        self.latent_norm = weight("attention.latent_norm.weight")
        self.key_up = weight("attention.key_up").view(shape.heads, shape.nope, shape.latent)
        value_up = weight("attention.value_up").view(shape.heads, shape.value, shape.latent)
        self.value_up = value_up.transpose(1, 2).contiguous()
        self.out = matrix("attention.out")
        self.experts_norm = weight("experts.norm.weight")
        self.router = matrix("experts.router")
        self.balance = weights[f"{prefix}.experts.balance"].to(arithmetic.dtype)
        up = weight("experts.up")
        self.expert_up = up.flatten(0, 1).t().contiguous()
        self.expert_down = weight("experts.down").transpose(1, 2).contiguous()

    def __call__(self, x: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        """The whole layer. `x` is `[B, R, hidden]`; `cache` is updated."""
        low = self.down(x)
        self.key_value(low, plan, cache)
        x = self.attend(x, self.query(low, plan), plan, cache)
        rows = self.rows(x)
        outputs = self.experts(rows)
        return self.add(x, outputs[-1], self.routed(rows, outputs))

    # Attention

    def down(self, x: Tensor) -> Tensor:
        """`[B, R, query_rank + cached]`: both narrow branches at once."""
        return self.arithmetic.linear(
            self.arithmetic.norm(x, self.attention_norm), self.down_weight
        )

    def key_value(self, low: Tensor, plan: AnyPlan, cache: Tensor) -> None:
        """Writes each row's latent and rotated key at its position."""
        s, a = self.shape, self.arithmetic
        latent, key = low[..., s.query_rank :].split([s.latent, s.rope], -1)
        key = a.grid(rotate(key, plan.cos(s.rope), plan.sin(s.rope)))
        entry = torch.cat([a.norm(latent, self.latent_norm), key], -1)
        plan.write(cache, entry)

    def query(self, low: Tensor, plan: AnyPlan) -> Tensor:
        """`[B, R, H, cached]`: queries against latents and rotated keys as the cache holds them."""
        s, a = self.shape, self.arithmetic
        batch, rows, _ = low.shape
        query = a.linear(a.norm(low[..., : s.query_rank], self.query_norm), self.query_up)
        query = query.view(batch, rows, s.heads, s.query_head)
        plain, rotated = query.split([s.nope, s.rope], -1)
        by_head = plain.view(batch * rows, s.heads, s.nope).transpose(0, 1)
        plain = a.grid(torch.bmm(by_head, self.key_up)).transpose(0, 1)
        cos, sin = plan.cos(s.rope).unsqueeze(2), plan.sin(s.rope).unsqueeze(2)
        rotated = a.grid(rotate(rotated, cos, sin))
        return torch.cat([plain.view(batch, rows, s.heads, s.latent), rotated], -1)

    def attend(self, x: Tensor, query: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        """`x` with what attention adds to it."""
        s, a = self.shape, self.arithmetic
        batch, rows = query.shape[:2]
        keys = plan.keys(cache)
        scores = torch.bmm(query.view(batch, rows * s.heads, s.cached), keys.transpose(1, 2))
        scores = scores.view(batch, rows, s.heads, -1) / math.sqrt(s.query_head)
        scores = scores + plan.mask(s.rope).unsqueeze(2)
        share = a.softmax(scores).view(batch, rows * s.heads, -1)
        mixed = a.grid(torch.bmm(share, keys[..., : s.latent]))
        mixed = mixed.view(batch * rows, s.heads, s.latent).transpose(0, 1)
        value = a.grid(torch.bmm(mixed, self.value_up)).transpose(0, 1)
        return x + a.linear(value.reshape(batch, rows, -1), self.out)

    # Experts

    def shared_expert(self, x: Tensor) -> Tensor:
        """What the shared expert makes of attention's output, `[B * R, hidden]`."""
        return self.experts(self.rows(x), first=self.shape.routed_experts)[0]

    def routed_experts(self, x: Tensor) -> Tensor:
        """What the chosen experts make of it, weighted, `[B * R, hidden]`."""
        rows = self.rows(x)
        return self.routed(rows, self.experts(rows, last=self.shape.routed_experts))

    def add(self, x: Tensor, shared: Tensor, routed: Tensor) -> Tensor:
        return x + (routed + shared).view(x.shape)

    def rows(self, x: Tensor) -> Tensor:
        """`[B * R, hidden]`: what router and experts see."""
        return self.arithmetic.norm(x, self.experts_norm).view(-1, self.shape.hidden)

    def experts(self, rows: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """`[experts, B * R, hidden]`: every expert from first up to last on every row.

        All rows through all experts: at this size that is two kernels, where sorting rows by expert
        is many, and no shape depends on data, so the layer can be captured.
        """
        s, a = self.shape, self.arithmetic
        width = 2 * s.expert_hidden
        weight = self.expert_up[:, first * width : None if last is None else last * width]
        up = a.linear(rows, weight).view(rows.shape[0], -1, 2, s.expert_hidden)
        hidden = a.fine(F.silu(up[:, :, 0]) * up[:, :, 1])
        return a.grid(torch.bmm(hidden.transpose(0, 1), self.expert_down[first:last]))

    def routed(self, rows: Tensor, outputs: Tensor) -> Tensor:
        """The outputs of each row's chosen experts, weighted by its router, `[B * R, hidden]`."""
        share = self.share(rows)
        weighted = share.t().unsqueeze(-1) * outputs[: self.shape.routed_experts]
        return self.arithmetic.grid(weighted.sum(0))

    def share(self, rows: Tensor) -> Tensor:
        """The weight of every routed expert for each row, 0 of those not chosen, `[B * R, experts]`."""
        a = self.arithmetic
        score = torch.sigmoid(a.linear(rows, self.router))
        balanced = score + self.balance
        least = balanced.topk(self.shape.experts_per_token, -1).values[:, -1:]
        chosen = score * (balanced >= least)
        return a.grid(chosen / chosen.sum(-1, keepdim=True))
