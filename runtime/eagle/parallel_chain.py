"""The phases of a chain round whose routed experts lie on the ranks of an exchange.

They are those of `chain.py`, with the forwards taken apart where rows go to other ranks. Buffers between
them are float32, which holds every activation of exact arithmetic without loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import Chain, newest_of
from plait.runtime.exchange.base import Received
from plait.runtime.exchange.places import Handle
from plait.runtime.models.plan import Plan
from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.split import SplitLayer, SplitModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

KEPT = ("first", "build_tree", "plan_verify", "accept", "plan_extend", "publish")
"""Phases that touch no expert."""
LAYERS = ("nextn.layer", "target.layers", "extended.layer")
"""Calls of the spec's module `layer`, as the names of bodies begin."""


class ParallelChain(Chain):
    def __init__(self, model: SplitModel, slots: int, span: int, rows: int, opaque: Iterable[str]):
        """`opaque`: names of the opaque buffers of the schedule."""
        super().__init__(model, slots, span, rows)
        self._opaque = tuple(opaque)
        self.split = model
        self.exchange = model.exchange
        self._here = torch.zeros(1, dtype=torch.int64)

    def bodies(self) -> dict[str, Callable[..., None]]:
        whole = super().bodies()
        found: dict[str, Callable[..., None]] = {name: whole[name] for name in KEPT}
        found |= {
            "nextn.enter": self.enter_nextn,
            "nextn.leave": self.leave_nextn,
            "target.embed": self.embed,
            "target.head": self.head,
            "extended.enter": self.enter_extended,
            "extended.leave": self.leave_extended,
        }
        for call in LAYERS:
            layer_of = self._target_layer if call == "target.layers" else self._nextn_layer
            found |= {
                f"{call}.attention": partial(self.attention, layer_of),
                f"{call}.gate": partial(self.gate, layer_of),
                f"{call}.dispatch": self.dispatch,
                f"{call}.shared_expert": partial(self.shared_expert, layer_of),
                f"{call}.experts": partial(self.experts, layer_of),
                f"{call}.combine": self.combine,
                f"{call}.add": self.add,
            }
        return found

    def opaque(self) -> dict[str, Any]:
        """Those of calls by what their names begin and end with."""
        makers = {"meta": self._meta, "recv": self._received, "y": self._made}
        found = super().opaque()
        for name in self._opaque:
            part = name.rpartition(".")[2]
            if name not in found and part in makers:
                found[name] = partial(makers[part], 1 if name.startswith("nextn") else self.rows)
        return found

    # Draft

    def enter_nextn(
        self, token: Tensor, seq_lens: Tensor, hidden: Tensor, x: Tensor, meta: Plan, index: int
    ) -> None:
        self.planner.fill(meta, (seq_lens + (index - 1)).unsqueeze(1), self._here)
        x.copy_(self.model.nextn_input(hidden.to(self.model.dtype), token))

    def leave_nextn(self, x: Tensor, hidden: Tensor, draft_tokens: Tensor, index: int) -> None:
        hidden.copy_(x)
        draft_tokens.copy_(self.model.logits(x.to(self.model.dtype)).argmax(-1))

    # Verify

    def embed(self, tree: Tensor, x: Tensor) -> None:
        x.copy_(self.model.tokens(tree).view(x.shape))

    def head(self, x: Tensor, logits: Tensor, rows_hidden: Tensor) -> None:
        rows_hidden.copy_(x.view(rows_hidden.shape))
        logits.copy_(self.model.logits(rows_hidden.to(self.model.dtype)))

    # Extend

    def enter_extended(self, accepted: Tensor, rows_hidden: Tensor, x: Tensor) -> None:
        before = rows_hidden.to(self.model.dtype)
        x.copy_(self.model.nextn_input(before, accepted.clamp(min=0)).view(x.shape))

    def leave_extended(
        self, x: Tensor, accepted: Tensor, candidate: Tensor, hidden: Tensor
    ) -> None:
        newest = newest_of(x.view(*accepted.shape, -1), accepted)
        hidden.copy_(newest)
        candidate[:, 0] = self.model.logits(newest.to(self.model.dtype)).argmax(-1)

    # A layer

    def attention(
        self,
        layer_of: Callable[[int | None], SplitLayer],
        meta: Plan,
        x: Tensor,
        kv: Tensor,
        index: int | None = None,
    ) -> None:
        before = x.to(self.model.dtype).view(*meta.positions.shape, -1)
        x.copy_(layer_of(index).attention(before, meta, kv).view(x.shape))

    def gate(
        self,
        layer_of: Callable[[int | None], SplitLayer],
        x: Tensor,
        z: Tensor,
        ids: Tensor,
        weights: Tensor,
        index: int | None = None,
    ) -> None:
        layer = layer_of(index)
        rows = layer.rows(x.to(self.model.dtype))
        z.copy_(rows)
        chosen, share = layer.chosen(rows)
        ids.copy_(chosen)
        weights.copy_(share)

    def dispatch(self, z: Tensor, ids: Tensor, recv: Received, index: int | None = None) -> None:
        came = self.exchange.exchange(z, ids, z.shape[0])
        recv.rows.copy_(came.rows)
        recv.counts.copy_(came.counts)
        for into, out_of in zip(recv.handle, came.handle, strict=True):
            into.copy_(out_of)

    def shared_expert(
        self,
        layer_of: Callable[[int | None], SplitLayer],
        z: Tensor,
        shared: Tensor,
        index: int | None = None,
    ) -> None:
        shared.copy_(layer_of(index).shared(z.to(self.model.dtype)))

    def experts(
        self,
        layer_of: Callable[[int | None], SplitLayer],
        recv: Received,
        y: Tensor,
        index: int | None = None,
    ) -> None:
        y.copy_(layer_of(index).own_experts(recv.rows.to(self.model.dtype)))

    def combine(
        self,
        y: Tensor,
        recv: Received,
        ids: Tensor,
        weights: Tensor,
        back: Tensor,
        index: int | None = None,
    ) -> None:
        share = weights.to(self.model.dtype)  # the sum is as wide as they are
        summed = self.exchange.exchange_back(y, ids, share, recv.handle)
        back.copy_(self.model.arithmetic.grid(summed))

    def add(self, shared: Tensor, back: Tensor, x: Tensor, index: int | None = None) -> None:
        x.add_(back + shared)

    def _target_layer(self, index: int | None) -> SplitLayer:
        assert index is not None
        return self.split.layers[index]

    def _nextn_layer(self, index: int | None) -> SplitLayer:
        return self.split.nextn_layer

    def _meta(self, rows: int, **sizes: int) -> Plan:
        (requests,) = sizes.values()
        return self.planner.empty(requests, rows)

    def _received(self, rows: int, **sizes: int) -> Received:
        (requests,) = sizes.values()
        s, capacity = self.exchange.sizes, requests * rows
        place = torch.zeros(capacity * s.choices, dtype=torch.int64)
        packed = torch.zeros(s.experts * capacity, dtype=torch.int64)
        counts = torch.zeros(s.local, dtype=torch.int32)
        return Received(self._made(rows, **sizes), counts, Handle(place, packed))

    def _made(self, rows: int, **sizes: int) -> Tensor:
        (requests,) = sizes.values()
        exchange = self.exchange
        return torch.zeros(exchange.flavour.received(exchange.sizes, requests * rows))


def check_split(schedule: Schedule, shape: Shape) -> None:
    """Raises BindError for a round that has not the model's layers, or not its experts of a row."""
    layers = {p.name: p.place for p in schedule.phases if p.body == "target.layers.attention"}
    if len(layers) != shape.layers:
        where = schedule.place_of(next(iter(layers.values()), None))
        raise BindError(
            f"{where}: {len(layers)} layers of the target; the model has {shape.layers}"
        )
    for buffer, sizes in zip(schedule.buffers, schedule.widest.shapes, strict=True):
        if buffer.name.endswith("layer.ids") and sizes and sizes[-1] != shape.experts_per_token:
            raise BindError(
                f"{schedule.place_of(buffer.place)}: a row goes to {sizes[-1]} experts; the model's router "
                f"chooses {shape.experts_per_token}"
            )
