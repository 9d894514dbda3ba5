"""The tiny model with its routed experts on the ranks of an exchange: what each rank then computes.

Attention, router and shared expert are on every rank, for its own rows. In exact arithmetic the split
changes no bit: a row's outputs of experts, its weights and the sum over them are what one rank has.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.exchange.base import Exchange
from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.tiny.layer import Layer
from plait.runtime.models.tiny.model import TinyModel


class SplitLayer(Layer):
    """A layer that holds the routed experts of one rank."""

    def __init__(self, layer: Layer, exchange: Exchange):
        vars(self).update(vars(layer))
        self.exchange = exchange
        shape, own = layer.shape, exchange.sizes.own
        width = 2 * shape.expert_hidden
        up = layer.expert_up.view(shape.hidden, shape.routed_experts + 1, width).transpose(0, 1)
        down = layer.expert_down
        self.expert_up, self.expert_down = up[own].contiguous(), down[own].clone()
        self.shared_up, self.shared_down = up[-1:].contiguous(), down[-1:].clone()

    def __call__(self, x: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        """The whole layer, its rows exchanged in normal form, by every rank at once."""
        x = self.attention(x, plan, cache)
        rows = self.rows(x)
        return self.add(x, self.shared(rows), self.exchanged(rows))

    def attention(self, x: Tensor, plan: AnyPlan, cache: Tensor) -> Tensor:
        low = self.down(x)
        self.key_value(low, plan, cache)
        return self.attend(x, self.query(low, plan), plan, cache)

    def chosen(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Of each row its experts, `i64[B * R, choices]`, and their weights."""
        weights, ids = self.share(rows).topk(self.shape.experts_per_token, -1)
        return ids, weights

    def shared(self, rows: Tensor) -> Tensor:
        """What the shared expert makes of rows, `[B * R, hidden]`."""
        return self.through(rows.unsqueeze(0), self.shared_up, self.shared_down)[0]

    def own_experts(self, rows: Tensor) -> Tensor:
        """What this rank's experts make of the rows that each received, `[local, N, hidden]`."""
        return self.through(rows, self.expert_up, self.expert_down)

    def through(self, rows: Tensor, up: Tensor, down: Tensor) -> Tensor:
        a = self.arithmetic
        gate, value = a.grid(torch.bmm(rows, up)).chunk(2, -1)
        return a.grid(torch.bmm(a.fine(F.silu(gate) * value), down))

    def exchanged(self, rows: Tensor) -> Tensor:
        """Rows to their experts and back in normal form, weighted, `[B * R, hidden]`."""
        ids, weights = self.chosen(rows)
        there = self.exchange.dispatch(rows, ids, weights)
        assert there.ids is not None and there.weights is not None, "rows are made here by row"
        local = torch.arange(self.exchange.sizes.local)
        share = ((there.ids.unsqueeze(-1) == local) * there.weights.unsqueeze(-1)).sum(1)
        every = there.rows.expand(len(local), -1, -1)
        made = (share.t().unsqueeze(-1) * self.own_experts(every)).sum(0)
        return self.arithmetic.grid(self.exchange.combine(made, there.handle))


class SplitModel(TinyModel):
    """Of the routed experts it holds those of one rank. Forwards are by all ranks at once."""

    def __init__(self, model: TinyModel, exchange: Exchange):
        vars(self).update(vars(model))
        self.exchange = exchange
        self.layers: list[SplitLayer] = [SplitLayer(layer, exchange) for layer in model.layers]
        self.nextn_layer: SplitLayer = SplitLayer(model.nextn_layer, exchange)

    def pass_by(self) -> None:
        """What a rank without rows does where the others run a prompt: its experts work for them."""
        nothing = torch.zeros(0, self.shape.hidden, dtype=self.dtype)
        for layer in (*self.layers, self.nextn_layer):
            layer.exchanged(nothing)
